//! The outer terminal: the one the console is drawn on. Raw while the console runs, and given back as it was found,
//! also after a panic.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use rustix::fs::{Mode, OFlags};
use rustix::termios::{self, OptionalActions, Termios};
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Flags of the kitty protocol that are in force from the beginning: keys are told apart (1), with what Shift makes of
/// them and their place on the standard layout (4).
pub const KEY_FLAGS: u8 = 5;
/// Puts the terminal into the console's hands: its own screen, nothing wrapped where it counts columns in another way,
/// pastes, the focus and a change of its colours told, keys told apart.
const ENTER: &[u8] =
    b"\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?1004h\x1b[?2031h\x1b[>5u\x1b[>4;1m\x1b[?25l";
/// Gives it back, whatever was switched on meanwhile.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l\x1b[?1004l\x1b[?2031l\x1b[?2004l\x1b[<1u\x1b[>4;0m\x1b[0m\x1b[0 q\x1b[?25h\x1b[?7h\x1b[?1049l";
/// Presses, releases and drags of the mouse, in decimal.
const MOUSE: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
/// What is asked of it: colours, those of its palette too, keyboard flags, name, synchronized frames, the size of a
/// cell; the last question is one that every terminal answers.
const ASK: &[u8] = b"\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]4;0;?;1;?;2;?;3;?;4;?;5;?;6;?;7;?;8;?;9;?;10;?;11;?;12;?;13;?;14;?;15;?\x1b\\\x1b[?u\x1b[>0q\x1b[?2026$p\x1b[16t\x1b[c";
/// Bytes that may wait for a terminal that takes none: what is more is a frame nobody could follow.
const PENDING: usize = 4 << 20;

/// How the terminal was found, for whoever has to give it back.
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);
/// Whether the terminal is in the console's hands.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Why there is no console.
#[derive(Debug, thiserror::Error)]
pub enum OuterError {
    /// Standard input or output is no terminal.
    #[error("the console needs a terminal; use --headless where there is none")]
    NoTerminal,
    /// The terminal can do nothing.
    #[error(
        "the console needs a terminal that can place its cursor, and TERM says `{0}`; use --headless"
    )]
    Dumb(String),
    /// It cannot be opened or set up.
    #[error("the terminal cannot be used")]
    Broken(#[from] io::Error),
}

/// The outer terminal.
#[derive(Debug)]
pub struct Outer {
    tty: AsyncFd<File>,
    pending: Vec<u8>,
    mouse: bool,
}

impl Outer {
    /// Opens the terminal on standard input and output; nothing of it is changed yet. Needs a runtime.
    pub fn open(mouse: bool) -> Result<Self, OuterError> {
        use std::io::IsTerminal;
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(OuterError::NoTerminal);
        }
        let term = std::env::var("TERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return Err(OuterError::Dumb(term));
        }
        // An opening of our own: that it never blocks is nobody else's affair.
        let name = termios::ttyname(rustix::stdio::stdin(), Vec::new()).map_err(io::Error::from)?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: OwnedFd =
            rustix::fs::open(name, flags, Mode::empty()).map_err(io::Error::from)?;
        #[expect(
            unsafe_code,
            reason = "tokio cannot see for itself that a descriptor stays open"
        )]
        // SAFETY: the file is owned by what is returned, and is neither closed nor replaced before that is dropped.
        let tty = unsafe { AsyncFd::register(File::from(file)) }.map_err(io::Error::from)?;
        Ok(Self {
            tty,
            pending: Vec::new(),
            mouse,
        })
    }

    /// Takes the terminal: raw, on its other screen, asked what it can do.
    pub fn enter(&mut self) -> io::Result<()> {
        let found = termios::tcgetattr(self.tty.get_ref())?;
        let mut raw = found.clone();
        raw.make_raw();
        if let Ok(mut kept) = FOUND.lock() {
            kept.get_or_insert(found);
        }
        termios::tcsetattr(self.tty.get_ref(), OptionalActions::Now, &raw)?;
        ENTERED.store(true, Ordering::SeqCst);
        guard_panics();
        self.pending.clear();
        self.queue(ENTER);
        if self.mouse {
            self.queue(MOUSE);
        }
        self.ask();
        Ok(())
    }

    /// Gives the terminal back.
    pub fn leave(&mut self) {
        self.pending.clear();
        restore();
    }

    /// Columns and rows; what cannot be told counts as 80 by 24.
    pub fn size(&self) -> (u16, u16) {
        let size = termios::tcgetwinsize(self.tty.get_ref());
        size.map_or((80, 24), |size| (size.ws_col, size.ws_row))
    }

    /// Asks it what it can do and what colours it has.
    pub fn ask(&mut self) {
        self.queue(ASK);
    }

    /// Takes bytes to be shown.
    pub fn queue(&mut self, bytes: &[u8]) {
        if self.pending.len() + bytes.len() <= PENDING {
            self.pending.extend_from_slice(bytes);
        }
        // Most of the time it takes them at once; an error shows when it is read from.
        let _ = self.write_some();
    }

    /// Whether all that was to be shown has been taken.
    pub fn is_clear(&self) -> bool {
        self.pending.is_empty()
    }

    fn write_some(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            match self.tty.get_ref().write(&self.pending) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.pending.drain(..count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for what the person types, appends it, and writes meanwhile what is to be shown. Returns false when all
    /// of that was taken, and nothing typed; an error when the terminal is gone.
    pub async fn next(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        poll_fn(|cx| self.poll_next(cx, into)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<io::Result<bool>> {
        if !self.pending.is_empty() {
            while let Poll::Ready(guard) = self.tty.poll_write_ready(cx) {
                let mut guard = guard?;
                match guard.try_io(|tty| tty.get_ref().write(&self.pending)) {
                    Ok(Ok(count)) => {
                        self.pending.drain(..count);
                    }
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(Err(error)) => return Poll::Ready(Err(error)),
                    Err(_) => {}
                }
                if self.pending.is_empty() {
                    return Poll::Ready(Ok(false));
                }
            }
        }
        loop {
            let mut guard = ready!(self.tty.poll_read_ready(cx))?;
            let mut bytes = [0; 16 * 1024];
            match guard.try_io(|tty| tty.get_ref().read(&mut bytes)) {
                Ok(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Ok(Ok(count)) => {
                    into.extend_from_slice(&bytes[..count]);
                    return Poll::Ready(Ok(true));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_) => {}
            }
        }
    }
}

/// News of the terminal's size.
#[derive(Debug)]
pub struct Resizes(Signal);

impl Resizes {
    /// Listens from now on. Needs a runtime.
    pub fn listen() -> io::Result<Self> {
        signal(SignalKind::window_change()).map(Self)
    }

    /// Waits until the terminal may have another size. A dropped future loses nothing.
    pub async fn next(&mut self) {
        self.0.recv().await;
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        restore();
    }
}

/// Has a panic give the terminal back before it is told, so that the message can be read. The emulator's own guard,
/// which silences panics it survives, is put before this one: the terminal is entered before there is an emulator.
fn guard_panics() {
    static GUARDED: AtomicBool = AtomicBool::new(false);
    if GUARDED.swap(true, Ordering::SeqCst) {
        return;
    }
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        told(panic);
    }));
}

/// Gives the terminal back as it was found; does nothing when it is not in the console's hands.
fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let stdout = rustix::stdio::stdout();
    let mut rest = LEAVE;
    while let Ok(count @ 1..) = rustix::io::write(stdout, rest) {
        rest = &rest[count..];
    }
    let found = FOUND.lock().ok().and_then(|mut kept| kept.take());
    if let Some(found) = found {
        // What the person typed last is read by nobody; a terminal that is gone cannot be given back.
        let _ = termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_begins_with_the_flags_that_are_counted_on() {
        let begins = format!("\x1b[>{KEY_FLAGS}u");
        assert!(String::from_utf8_lossy(ENTER).contains(&begins));
    }
}
