//! A short-lived program run to its end: its own process group, a deadline, bounded output, nothing on its input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::child_end;

/// How long output is still read when the program itself has ended and something it left behind holds its pipes.
const AFTER_END: Duration = Duration::from_millis(200);

/// What to run.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program, as found.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables added to its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Variables taken out of it.
    pub env_remove: Vec<OsString>,
    /// Whether these variables are all it gets, and none of ours.
    pub env_clear: bool,
    /// Where it runs.
    pub folder: PathBuf,
    /// How long it may take.
    pub deadline: Duration,
    /// How much of each of its outputs is kept, in bytes.
    pub bound: usize,
}

impl Order {
    /// Runs `program` in `folder` with the usual bounds.
    pub fn new(program: &Path, folder: &Path) -> Self {
        Self {
            program: program.to_path_buf(),
            args: Vec::new(),
            env: Vec::new(),
            env_remove: Vec::new(),
            env_clear: false,
            folder: folder.to_path_buf(),
            deadline: Duration::from_secs(5),
            bound: 64 * 1024,
        }
    }
}

/// How it went.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote on standard output, up to the bound.
    pub output: Vec<u8>,
    /// What it wrote on standard error, up to the bound.
    pub error: Vec<u8>,
}

/// Why it did not come to an end.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("`{}` cannot be started", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It ran past its deadline and was killed with its whole group.
    #[error("`{}` did not end within {} s", program.display(), deadline.as_secs())]
    Deadline {
        /// The program.
        program: PathBuf,
        /// The deadline.
        deadline: Duration,
    },
    /// Its output could not be read.
    #[error("the output of `{}` cannot be read", program.display())]
    Read {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Runs it, and leaves nothing of its process group behind.
pub fn run(order: &Order) -> Result<Outcome, CommandError> {
    start(order)?.wait(order)
}

/// Starts it; somebody else may wait for it.
pub fn start(order: &Order) -> Result<Group, CommandError> {
    let mut command = Command::new(&order.program);
    if order.env_clear {
        command.env_clear();
    }
    command
        .args(&order.args)
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    for name in &order.env_remove {
        command.env_remove(name);
    }
    let child = command.spawn().map_err(|source| CommandError::Start {
        program: order.program.clone(),
        source,
    })?;
    Ok(Group {
        leader: child,
        is_reaped: false,
    })
}

/// A child that leads its own process group; the group is killed when this is dropped.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    is_reaped: bool,
}

impl Group {
    /// Waits for its end as the order says, from now on.
    pub fn wait(mut self, order: &Order) -> Result<Outcome, CommandError> {
        let read = |source| CommandError::Read {
            program: order.program.clone(),
            source,
        };
        let mut end = Instant::now() + order.deadline;
        let mut outlets = [
            Outlet::new(self.leader.stdout.take().map(OwnedFd::from)).map_err(read)?,
            Outlet::new(self.leader.stderr.take().map(OwnedFd::from)).map_err(read)?,
        ];
        let handle = child_end::of(&self.leader).map_err(read)?;
        let mut has_ended = false;
        loop {
            for outlet in &mut outlets {
                outlet.drain(order.bound).map_err(read)?;
            }
            let is_read = outlets.iter().all(|outlet| outlet.pipe.is_none());
            let left = end.saturating_duration_since(Instant::now());
            if has_ended && (is_read || left.is_zero()) {
                let status = self.end().map_err(read)?;
                let [output, error] = outlets.map(|outlet| outlet.text);
                return Ok(Outcome {
                    status,
                    output,
                    error,
                });
            }
            if left.is_zero() {
                return Err(CommandError::Deadline {
                    program: order.program.clone(),
                    deadline: order.deadline,
                });
            }
            let mut fds = vec![PollFd::new(&handle, PollFlags::IN)];
            if has_ended {
                fds.clear();
            }
            let pipes = outlets.iter().filter_map(|outlet| outlet.pipe.as_ref());
            fds.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            let timeout = Timespec::try_from(left).unwrap_or_default();
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(read(error.into())),
            }
            if !has_ended && fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP) {
                has_ended = true;
                end = end.min(Instant::now() + AFTER_END);
            }
        }
    }

    /// Kills the group while its leader, ended or not, still holds the number, and collects the leader.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // Nothing is left to do when there is no group any more.
        let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
        self.is_reaped = true;
        self.leader.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_reaped {
            // A drop has nobody to tell.
            let _ = self.end();
        }
    }
}

/// One output of the child.
struct Outlet {
    pipe: Option<File>,
    text: Vec<u8>,
}

impl Outlet {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            let flags = rustix::fs::fcntl_getfl(pipe.as_fd())?;
            rustix::fs::fcntl_setfl(pipe.as_fd(), flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        Ok(Self {
            pipe: pipe.map(File::from),
            text: Vec::new(),
        })
    }

    /// Reads what is there; past the bound it is read and dropped, so that the child does not wait for us.
    fn drain(&mut self, bound: usize) -> io::Result<()> {
        let mut chunk = [0; 8192];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = bound.saturating_sub(self.text.len());
                    self.text.extend_from_slice(&chunk[..count.min(room)]);
                    if room == 0 {
                        // One piece at a time, so that a flood cannot hold us past the deadline.
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Order {
        Order {
            args: vec!["-c".into(), script.into()],
            deadline: Duration::from_secs(5),
            ..Order::new(Path::new("/bin/sh"), Path::new("/"))
        }
    }

    #[test]
    fn both_outputs_and_the_status_come_back() -> Result<(), CommandError> {
        let outcome = run(&shell("echo out; echo err >&2; pwd; exit 3"))?;
        assert_eq!(outcome.output, b"out\n/\n");
        assert_eq!(outcome.error, b"err\n");
        assert_eq!(outcome.status.code(), Some(3));
        Ok(())
    }

    #[test]
    fn standard_input_is_empty() -> Result<(), CommandError> {
        assert_eq!(run(&shell("cat; echo end"))?.output, b"end\n");
        Ok(())
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_what_it_started() {
        let mut order = shell("sleep 7654 & echo $!; wait");
        order.deadline = Duration::from_millis(300);
        let started = Instant::now();
        assert!(matches!(run(&order), Err(CommandError::Deadline { .. })));
        assert!(started.elapsed() < Duration::from_secs(3));
        let listed = run(&shell("ps -eo args | grep -c '[s]leep 7654'"));
        assert_eq!(
            listed.ok().map(|outcome| outcome.output),
            Some(b"0\n".to_vec())
        );
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_answer() -> Result<(), CommandError> {
        let started = Instant::now();
        let outcome = run(&shell("sleep 7655 & echo 1.2.3"))?;
        assert_eq!(outcome.output, b"1.2.3\n");
        assert!(started.elapsed() < Duration::from_secs(3));
        Ok(())
    }

    #[test]
    fn a_flood_is_cut_and_still_ends_at_the_deadline() {
        let mut order = shell("yes");
        order.deadline = Duration::from_millis(300);
        order.bound = 10;
        assert!(matches!(run(&order), Err(CommandError::Deadline { .. })));
        let cut = run(&Order {
            bound: 4,
            ..shell("echo 1234567")
        });
        assert_eq!(
            cut.ok().map(|outcome| outcome.output),
            Some(b"1234".to_vec())
        );
    }

    #[test]
    fn variables_are_added_and_taken_out() -> Result<(), CommandError> {
        let mut order = shell("echo ${A-none} ${HOME-none}");
        order.env = vec![("A".into(), "1".into())];
        order.env_remove = vec!["HOME".into()];
        assert_eq!(run(&order)?.output, b"1 none\n");
        order.env_remove.clear();
        order.env_clear = true;
        assert_eq!(run(&order)?.output, b"1 none\n");
        Ok(())
    }

    #[test]
    fn what_is_not_there_cannot_be_started() {
        let order = Order::new(Path::new("/no/such/program"), Path::new("/"));
        assert!(matches!(run(&order), Err(CommandError::Start { .. })));
    }
}
