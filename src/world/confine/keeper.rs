//! The keeper: starts the one program it was given, takes in whoever loses its parent below it, and leaves nothing of
//! them behind, whether the program ends or the console dies.
//!
//! It stays in the program's process group: what the terminal sends to the one it sends to the other, which does nothing
//! with it. Only the death of its own parent, which comes as SIGTERM (see `world/pty.rs`), makes it end the rest.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{self as system, Pid, Signal, WaitOptions, WaitStatus};

use super::{ConfineError, Order};
use crate::limits;
use crate::world::process::{self, ProcessId};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// As the keeper inside a namespace tells the one outside.
    pub(super) fn encode(self) -> [u8; 5] {
        let (kind, number) = match self {
            Self::Code(code) => (b'c', code),
            Self::Signal(signal) => (b's', signal),
        };
        let [a, b, c, d] = number.to_be_bytes();
        [kind, a, b, c, d]
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let [kind, number @ ..] = bytes else {
            return None;
        };
        let number = i32::from_be_bytes(number.try_into().ok()?);
        match kind {
            b'c' => Some(Self::Code(number)),
            b's' => Some(Self::Signal(number)),
            _ => None,
        }
    }

    fn of(status: WaitStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }

    /// Ends this process the way the program ended.
    pub fn repeat(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            Self::Signal(number) => {
                let signal = nix::sys::signal::Signal::try_from(number);
                // No core of this one on top of that of the program.
                let _ = system::setrlimit(
                    system::Resource::Core,
                    system::Rlimit {
                        current: Some(0),
                        maximum: Some(0),
                    },
                );
                if let Ok(signal) = signal {
                    let mut set = SigSet::empty();
                    set.add(signal);
                    // Rust's own handler for a bad address steps aside at the first one. Where neither ends this
                    // process, the shell's way to say it does.
                    let _ = nix::sys::signal::raise(signal);
                    let _ = nix::sys::signal::raise(signal);
                    let _ = set.thread_unblock();
                }
                u8::try_from(128 + number).unwrap_or(u8::MAX)
            }
        }
    }
}

/// Starts the program, keeps it to its end, and ends everything below this process behind it.
pub fn keep(order: &Order) -> Result<Ended, ConfineError> {
    system::set_child_subreaper(Some(system::getpid()))
        .map_err(|error| ConfineError::lock("orphans cannot be taken in", error))?;
    let ended = run(order)?;
    end_rest();
    Ok(ended)
}

/// The same as the first process of a namespace, with which everything in it ends. How the program ended is told to the
/// keeper outside, through the descriptor of this number.
pub fn keep_inside(order: &Order, tell: u32) -> Result<Ended, ConfineError> {
    let opened = File::options()
        .write(true)
        .open(format!("/proc/self/fd/{tell}"));
    let mut tell = opened.map_err(ConfineError::Wait)?;
    // The one it was given stays out of the program's hands.
    process::keep_descriptors();
    let ended = run(order)?;
    // Nobody is left to be told when the keeper outside is gone.
    let _ = tell.write_all(&ended.encode());
    Ok(ended)
}

fn run(order: &Order) -> Result<Ended, ConfineError> {
    let signals = Signals::block().map_err(ConfineError::Wait)?;
    let started = start(&mut order.command(), &signals, || Ok(()));
    let child = started.map_err(|source| ConfineError::Start {
        program: order.program.clone(),
        source,
    })?;
    signals.wait(child, end_rest)
}

/// Starts a program with the signals as they were, which dies with this process. `prepare` runs in it before.
pub(super) fn start(
    command: &mut Command,
    signals: &Signals,
    mut prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<Pid> {
    let (mask, parent) = (signals.before, system::getpid());
    let ready = move || {
        system::set_parent_process_death_signal(Some(Signal::KILL))?;
        // One that is the first of its namespace sees no parent.
        if system::getppid().is_some_and(|now| now != parent) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        prepare()?;
        mask.thread_set_mask()?;
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "only between fork and exec can a child ask to die with its parent"
    )]
    // SAFETY: this process has one thread, so that nothing in the child can be held by another one.
    unsafe {
        command.pre_exec(ready);
    }
    let child = command.spawn()?;
    Ok(Pid::from_child(&child))
}

/// The signals a keeper listens to in place of obeying them.
pub(super) struct Signals {
    listened: SignalFd,
    before: SigSet,
    /// The parent this process was started by; none inside a namespace of its own.
    parent: Option<Pid>,
}

impl Signals {
    pub(super) fn block() -> io::Result<Self> {
        use nix::sys::signal::Signal;
        let mut set = SigSet::empty();
        for signal in [
            Signal::SIGCHLD,
            Signal::SIGHUP,
            Signal::SIGINT,
            Signal::SIGQUIT,
            Signal::SIGTERM,
            Signal::SIGUSR1,
            Signal::SIGUSR2,
        ] {
            set.add(signal);
        }
        let before = SigSet::thread_get_mask()?;
        set.thread_block()?;
        Ok(Self {
            listened: SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?,
            before,
            parent: system::getppid(),
        })
    }

    /// Waits for the end of `child`, and reaps whoever else ends. When this process's own parent is gone, `end` is to
    /// end the rest.
    pub(super) fn wait(&self, child: Pid, end: impl FnOnce()) -> Result<Ended, ConfineError> {
        loop {
            if let Some(ended) = reap(child).map_err(ConfineError::Wait)? {
                return Ok(ended);
            }
            let number = match self.listened.read_signal() {
                Ok(signal) => signal.map(|signal| signal.ssi_signo),
                Err(nix::errno::Errno::EINTR) => None,
                Err(error) => return Err(ConfineError::Wait(error.into())),
            };
            let is_told = number == Some(Signal::TERM.as_raw().unsigned_abs());
            if is_told && system::getppid() != self.parent {
                end();
                return Ok(Ended::Signal(Signal::KILL.as_raw()));
            }
        }
    }
}

/// Takes in everyone that has ended; tells how `child` did when it is among them.
fn reap(child: Pid) -> io::Result<Option<Ended>> {
    let mut ended = None;
    loop {
        match system::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => ended = Ended::of(status).or(ended),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(ended),
            Err(rustix::io::Errno::CHILD) if ended.is_some() => return Ok(ended),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills everything below this process, and waits until it is gone.
fn end_rest() {
    let Some(own) = ProcessId::of(system::getpid().as_raw_nonzero().get()) else {
        return;
    };
    let deadline = Instant::now() + limits::KILL_TIME;
    loop {
        let rest = process::descendants(own);
        if rest.is_empty() || Instant::now() > deadline {
            return;
        }
        for one in rest {
            // One that is gone already, or that changed its user, cannot be signalled.
            let _ = one.id.send(Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
        // Whose end is still to come is looked for again above.
        while let Ok(Some(_)) = system::wait(WaitOptions::NOHANG) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_through_a_pipe() {
        for ended in [Ended::Code(0), Ended::Code(255), Ended::Signal(9)] {
            assert_eq!(Ended::decode(&ended.encode()), Some(ended));
        }
        assert_eq!(Ended::decode(b""), None);
        assert_eq!(Ended::decode(b"c00"), None);
        assert_eq!(Ended::decode(b"x\0\0\0\0"), None);
    }
}
