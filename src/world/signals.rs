//! The signals that ask the program to stop, as values.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{self, SignalKind, signal};

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, for the first time.
    Interrupt,
    /// SIGINT once more: whoever pressed it does not want to wait.
    InterruptAgain,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

/// Listens from when it is made; the signals no longer end the process by themselves.
#[derive(Debug)]
pub struct Signals {
    interrupt: Option<unix::Signal>,
    terminate: Option<unix::Signal>,
    hang_up: Option<unix::Signal>,
    /// Kept, not waited for: heard, it is no end, and a write past the bound on file sizes fails as on a full disk.
    _too_large: Option<unix::Signal>,
    interrupted: bool,
}

impl Signals {
    /// Begins to listen, but not to a signal that whoever started us had ignored (`nohup`, a job put in the
    /// background by a script). Needs a runtime.
    pub fn listen() -> io::Result<Self> {
        let listen = |kind: SignalKind| match is_ignored(kind) {
            true => Ok(None),
            false => signal(kind).map(Some),
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            _too_large: listen(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
            interrupted: false,
        })
    }

    /// Waits for the next signal. A dropped future loses none.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|cx| {
            let mut arrived = |stream: &mut Option<unix::Signal>| {
                stream
                    .as_mut()
                    .is_some_and(|stream| stream.poll_recv(cx) == Poll::Ready(Some(())))
            };
            if arrived(&mut self.interrupt) {
                let again = std::mem::replace(&mut self.interrupted, true);
                return Poll::Ready(match again {
                    true => Signal::InterruptAgain,
                    false => Signal::Interrupt,
                });
            }
            if arrived(&mut self.terminate) {
                return Poll::Ready(Signal::Terminate);
            }
            if arrived(&mut self.hang_up) {
                return Poll::Ready(Signal::HangUp);
            }
            Poll::Pending
        })
        .await
    }
}

/// Only Linux tells this without a foreign-function call; elsewhere every signal is listened to.
fn is_ignored(kind: SignalKind) -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| has_bit(&status, kind.as_raw_value()))
}

fn has_bit(status: &str, signal: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read_by_number() {
        let status =
            "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\tff\n";
        let ignored: Vec<i32> = (1..=31).filter(|s| has_bit(status, *s)).collect();
        assert_eq!(ignored, [1, 13]);
        assert!(!has_bit("Name:\tx\n", 1));
    }
}
