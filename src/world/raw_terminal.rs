//! The terminal this process itself runs in, in raw mode: read, write, size. Dropping it gives the terminal back as it
//! was found.

use std::io;
use std::thread;

use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc;

/// Reads that may wait to be taken before the reading stops.
const READS: usize = 64;

/// A terminal in raw mode.
#[derive(Debug)]
pub struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Switches the terminal on standard input to raw mode.
    pub fn open() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }

    /// Columns and rows of the window; `None` where it has no size.
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(stdout()).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
    }

    /// Reads on a thread of its own until the terminal is gone, which closes the channel. The thread waits in `read`
    /// and so lasts as long as the process.
    pub fn reads(&self) -> io::Result<mpsc::Receiver<Vec<u8>>> {
        let (sender, receiver) = mpsc::channel(READS);
        thread::Builder::new()
            .name("terminal-input".to_owned())
            .spawn(move || {
                let mut buffer = [0; 4096];
                loop {
                    match rustix::io::read(stdin(), &mut buffer) {
                        Ok(count) if count > 0 => {
                            if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                                return;
                            }
                        }
                        Err(Errno::INTR) => {}
                        // Linux answers EIO when the master of a pseudo-terminal is closed.
                        Ok(_) | Err(_) => return,
                    }
                }
            })?;
        Ok(receiver)
    }

    /// Writes all of it.
    pub fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(stdout(), bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // The window may be gone already; there is nobody left to tell.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
