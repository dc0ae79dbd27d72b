//! Processes: who one is beyond its number, who descends from it, and a signal that cannot reach a stranger.
//!
//! Process numbers are used again. A number alone is never signalled here: its start time must still be the one that
//! was seen. Only Linux tells these things without a foreign-function call; elsewhere the listing is empty.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{Pid, Signal};

/// A process beyond doubt: its number and when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// The process number.
    pub pid: i32,
    /// Clock ticks from boot to its start; 0 where the system does not tell.
    pub start: u64,
}

/// One process as the system lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Who it is.
    pub id: ProcessId,
    /// Number of its parent.
    pub parent: i32,
    /// Number of its process group.
    pub group: i32,
    /// Number of its session.
    pub session: i32,
    /// Its short name, at most 15 bytes on Linux.
    pub name: String,
    /// Whether it has ended and only waits to be reaped.
    pub ended: bool,
}

impl ProcessId {
    /// Identifies the process that has this number now.
    pub fn of(pid: i32) -> Option<Self> {
        if cfg!(target_os = "linux") {
            Some(Process::of(pid)?.id)
        } else {
            rustix::process::test_kill_process(Pid::from_raw(pid)?).ok()?;
            Some(Self { pid, start: 0 })
        }
    }

    /// Tells whether the process is still there and has not ended.
    pub fn is_running(self) -> bool {
        if cfg!(target_os = "linux") {
            Process::of(self.pid).is_some_and(|found| found.id == self && !found.ended)
        } else {
            Self::of(self.pid) == Some(self)
        }
    }

    /// Sends a signal to exactly this process; false when it is gone.
    pub fn send(self, signal: Signal) -> io::Result<bool> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(false);
        };
        match self.send_checked(pid, signal) {
            Ok(sent) => Ok(sent),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    #[cfg(target_os = "linux")]
    fn send_checked(self, pid: Pid, signal: Signal) -> rustix::io::Result<bool> {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        // The descriptor holds on to one process: once the start time has been compared *behind* it, the number can
        // no longer pass to another one between the check and the signal.
        let held = match pidfd_open(pid, PidfdFlags::empty()) {
            // A filter may forbid the call (old containers): then the check alone has to do.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => None,
            held => Some(held?),
        };
        if !self.is_running() {
            return Ok(false);
        }
        match held {
            Some(held) => pidfd_send_signal(held, signal)?,
            None => rustix::process::kill_process(pid, signal)?,
        }
        Ok(true)
    }

    #[cfg(not(target_os = "linux"))]
    fn send_checked(self, pid: Pid, signal: Signal) -> rustix::io::Result<bool> {
        rustix::process::kill_process(pid, signal)?;
        Ok(true)
    }
}

impl Process {
    /// Looks one process up.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse_stat(&stat)
    }

    /// Tells whether the environment it was started with holds this entry, where that may be read.
    pub fn was_given(&self, entry: &[u8]) -> bool {
        std::fs::read(format!("/proc/{}/environ", self.id.pid))
            .is_ok_and(|all| all.split(|b| *b == 0).any(|one| one == entry))
    }
}

/// Lists every process this one may see.
pub fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::of)
        .collect()
}

/// Lists the running processes that descend from `root`, without it.
pub fn descendants(root: ProcessId) -> Vec<Process> {
    let mut family = vec![root];
    let mut found = Vec::new();
    let mut rest = all();
    loop {
        let (new, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|process| {
            let parent =
                |one: &ProcessId| one.pid == process.parent && one.start <= process.id.start;
            process.id != root && family.iter().any(parent)
        });
        if new.is_empty() {
            return found;
        }
        family.extend(new.iter().map(|process| process.id));
        found.extend(new.into_iter().filter(|process| !process.ended));
        rest = others;
    }
}

/// A process and those it descends from, itself first, as far as they may be seen. Nothing where that cannot be told: it
/// has ended, or its parents end one after the other while they are looked at.
pub fn line_of(pid: i32) -> Vec<Process> {
    line_by(pid, Process::of)
}

/// How often a line is looked at anew whose processes end meanwhile.
const LOOKS: usize = 50;

fn line_by(pid: i32, of: impl Fn(i32) -> Option<Process>) -> Vec<Process> {
    for _ in 0..LOOKS {
        if let Some(line) = whole_line(pid, &of) {
            return line;
        }
    }
    Vec::new()
}

/// The line of a process; none when one of it ended before its parent was found.
fn whole_line(pid: i32, of: &impl Fn(i32) -> Option<Process>) -> Option<Vec<Process>> {
    let mut line = vec![of(pid)?];
    loop {
        let last = line.last()?;
        let next = last.parent;
        // A number that was used again may close a ring.
        if next == 0 || line.iter().any(|known| known.id.pid == next) {
            return Some(line);
        }
        let parent = of(next);
        // One whose parent has ended meanwhile has another one now, which the line has to lead to.
        let again = of(last.id.pid)?;
        if again.id != last.id || again.parent != next {
            return None;
        }
        match parent {
            Some(parent) => line.push(parent),
            // It runs, and may not be seen.
            None => return Some(line),
        }
    }
}

/// Returns the short name of a process.
pub fn name(pid: i32) -> Option<String> {
    Process::of(pid).map(|process| process.name)
}

/// Has a child asked to end when this program dies, however that comes; what it started it ends itself.
pub fn ask_to_end_with_us(command: &mut Command) {
    let parent = rustix::process::getpid();
    let ask = move || {
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "only between fork and exec can a child ask to die with its parent"
    )]
    // SAFETY: between fork and exec it makes two system calls, and neither of them allocates or takes a lock.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Sees to it that no child inherits a descriptor beyond the standard three.
///
/// What this program opens is closed in its children anyway; what it was itself given by whoever started it is not.
pub fn keep_descriptors() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<RawFd>().ok();
    for raw in entries.flatten().filter_map(number).filter(|raw| *raw > 2) {
        #[expect(
            unsafe_code,
            reason = "a descriptor that was inherited has no owner in this program"
        )]
        // SAFETY: it is open, as the listing says, and is borrowed for these two calls only; one that was closed in
        // between makes them fail.
        let descriptor = unsafe { BorrowedFd::borrow_raw(raw) };
        if let Ok(flags) = fcntl_getfd(descriptor) {
            let _ = fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC);
        }
    }
}

/// Reads `/proc/PID/stat`. The name stands in parentheses and may hold blanks and parentheses itself.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let stat = String::from_utf8_lossy(stat);
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    // After the name comes field 3 (state); parent, group and session follow, and the start is field 22.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Process {
        id: ProcessId {
            pid: pid.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        },
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        name: name.to_owned(),
        ended: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

/// Stops this process as a shell's job; returns when it is continued.
pub fn suspend() {
    use rustix::process::{Signal, getpgrp, getpid, kill_process_group};
    // The whole job, as the terminal's own key would; a process alone where there is no such group.
    if kill_process_group(getpgrp(), Signal::TSTP).is_err() {
        // It could not be stopped; it goes on.
        let _ = rustix::process::kill_process(getpid(), Signal::TSTP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of a made-up system.
    fn process(pid: i32, parent: i32) -> Process {
        Process {
            id: ProcessId {
                pid,
                start: u64::from(pid.unsigned_abs()),
            },
            parent,
            group: pid,
            session: pid,
            name: String::new(),
            ended: false,
        }
    }

    #[test]
    fn a_parent_that_ends_while_it_is_looked_at_does_not_cut_the_line() {
        // 30 descends from 20, which ends as soon as it was looked for; 30 is 10's from then on.
        let is_gone = std::cell::Cell::new(false);
        let of = |pid| match pid {
            20 => {
                is_gone.set(true);
                None
            }
            30 if is_gone.get() => Some(process(30, 10)),
            30 => Some(process(30, 20)),
            10 => Some(process(10, 1)),
            1 => Some(process(1, 0)),
            _ => None,
        };
        let line: Vec<i32> = line_by(30, of).iter().map(|one| one.id.pid).collect();
        assert_eq!(line, [30, 10, 1]);
    }

    #[test]
    fn a_parent_that_may_not_be_seen_ends_the_line_and_one_that_never_holds_still_leaves_none() {
        let hidden = |pid| (pid == 30).then(|| process(30, 20));
        assert_eq!(line_by(30, hidden).len(), 1);
        let turn = std::cell::Cell::new(100);
        let restless = |pid| {
            turn.set(turn.get() + 1);
            (pid == 30).then(|| process(30, turn.get()))
        };
        assert!(line_by(30, restless).is_empty());
    }

    const STAT: &str = "4242 (a) b (c)) S 1 4240 4239 34816 4242 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1000 1 18446744073709551615 0 0";

    #[test]
    fn a_name_with_parentheses_and_blanks_is_read_whole() {
        let expected = Process {
            id: ProcessId {
                pid: 4242,
                start: 987_654,
            },
            parent: 1,
            group: 4240,
            session: 4239,
            name: "a) b (c)".to_owned(),
            ended: false,
        };
        assert_eq!(parse_stat(STAT.as_bytes()), Some(expected));
    }

    #[test]
    fn a_zombie_has_ended() {
        let zombie = STAT.replace(") S ", ") Z ");
        assert_eq!(parse_stat(zombie.as_bytes()).map(|p| p.ended), Some(true));
    }

    #[test]
    fn a_cut_line_is_no_process() {
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b"1 (init"), None);
        assert_eq!(parse_stat(b"1 (init) S 0 1 1"), None);
    }
}
