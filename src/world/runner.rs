//! A command-line runner's process: its own group, nothing on its input, bounded outputs, an end for certain (C.5).

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until};

use super::{child_end, process};
use crate::limits;

/// What is started: final, nothing is added to it on the way.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program, as found.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// All of its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it works.
    pub folder: PathBuf,
}

/// A runner that was started. Its group is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    leader: Child,
    handle: AsyncFd<OwnedFd>,
    outlets: [Outlet; 2],
    status: Option<ExitStatus>,
}

/// One of its outputs.
#[derive(Debug)]
struct Outlet {
    pipe: Option<Receiver>,
    text: Vec<u8>,
    bound: usize,
    is_cut: bool,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself; the status, when no signal did it.
    Ended(Option<i32>),
    /// Its time ran out.
    TimedOut,
}

impl Running {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// Why it could not be started.
    pub fn start(order: &Order) -> io::Result<Self> {
        process::keep_descriptors();
        let mut command = Command::new(&order.program);
        process::ask_to_end_with_us(&mut command);
        let child = command
            .args(&order.args)
            .env_clear()
            .envs(order.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&order.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let mut leader = Leader(Some(child));
        let child = leader.0.as_mut().expect("just put there");
        let outlet = |pipe: Option<OwnedFd>, bound| -> io::Result<Outlet> {
            let pipe = pipe.map(Receiver::from_owned_fd).transpose()?;
            Ok(Outlet {
                pipe,
                text: Vec::new(),
                bound,
                is_cut: false,
            })
        };
        let outlets = [
            outlet(
                child.stdout.take().map(OwnedFd::from),
                limits::RUNNER_OUTPUT,
            )?,
            outlet(child.stderr.take().map(OwnedFd::from), limits::RUNNER_ERROR)?,
        ];
        let handle = child_end::of(child)?;
        #[expect(
            unsafe_code,
            reason = "the only way to wait for a descriptor; it is owned and never changed"
        )]
        // SAFETY: an `OwnedFd` stays open and the same descriptor for as long as it is owned, and it is owned here.
        let handle = unsafe { AsyncFd::register(handle) }.map_err(io::Error::from)?;
        Ok(Self {
            leader: leader.0.take().expect("still there"),
            handle,
            outlets,
            status: None,
        })
    }

    /// Waits for its end, at most that long from now on, and ends all of its group. A dropped future loses nothing that
    /// was read.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for or read.
    pub async fn wait(&mut self, time: Duration) -> io::Result<End> {
        let end = Instant::now() + time;
        loop {
            let [output, error] = &mut self.outlets;
            tokio::select! {
                biased;
                () = sleep_until(end) => {
                    self.kill()?;
                    return Ok(End::TimedOut);
                }
                ended = self.handle.readable() => {
                    // Nothing else is ever read from it.
                    ended?.retain_ready();
                    break;
                }
                read = output.more(), if output.pipe.is_some() => read?,
                read = error.more(), if error.pipe.is_some() => read?,
            }
        }
        let status = self.kill()?;
        // What left the group may still hold the pipes; it is not ours to end.
        let grace = Instant::now() + limits::RUNNER_GRACE;
        while self.is_held() {
            let [output, error] = &mut self.outlets;
            tokio::select! {
                biased;
                () = sleep_until(grace) => break,
                read = output.more(), if output.pipe.is_some() => read?,
                read = error.more(), if error.pipe.is_some() => read?,
            }
        }
        Ok(End::Ended(status.code()))
    }

    /// Kills the whole group while its leader, ended or not, still holds the number, and collects the leader.
    ///
    /// # Errors
    ///
    /// When the leader cannot be collected.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // Nothing is left to do when there is no group any more.
        let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
        let status = self.leader.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    /// Whether somebody still holds one of its outputs open.
    pub fn is_held(&self) -> bool {
        self.outlets.iter().any(|outlet| outlet.pipe.is_some())
    }

    /// Whether it wrote more on its standard output than is taken.
    pub fn is_cut(&self) -> bool {
        self.outlets[0].is_cut
    }

    /// What it wrote on its standard output, up to the bound.
    pub fn output(&self) -> &[u8] {
        &self.outlets[0].text
    }

    /// What it wrote on its standard error, up to the bound.
    pub fn error(&self) -> &[u8] {
        &self.outlets[1].text
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A drop has nobody to tell.
        let _ = self.kill();
    }
}

/// A child until its group has a keeper.
struct Leader(Option<Child>);

impl Drop for Leader {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
        }
    }
}

impl Outlet {
    /// Reads what is there; past the bound it is read and dropped, so that the child does not wait for us.
    async fn more(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        pipe.readable().await?;
        let mut chunk = [0; 16 * 1024];
        match pipe.try_read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let room = self.bound.saturating_sub(self.text.len());
                self.text.extend_from_slice(&chunk[..count.min(room)]);
                self.is_cut |= count > room;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Makes the order of a program with these words and variables in a folder.
pub fn order(
    program: &Path,
    args: impl IntoIterator<Item = OsString>,
    env: &[(OsString, OsString)],
    folder: &Path,
) -> Order {
    Order {
        program: program.to_path_buf(),
        args: args.into_iter().collect(),
        env: env.to_vec(),
        folder: folder.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Test = Result<(), Box<dyn std::error::Error>>;

    fn shell(script: &str) -> Order {
        order(
            Path::new("/bin/sh"),
            ["-c", script].map(OsString::from),
            &[
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("PLANTED".into(), "yes".into()),
            ],
            Path::new("/"),
        )
    }

    const LONG: Duration = Duration::from_secs(30);

    fn is_running(pid: &str) -> bool {
        pid.trim()
            .parse()
            .ok()
            .and_then(process::ProcessId::of)
            .is_some_and(process::ProcessId::is_running)
    }

    /// Whether it is gone: a signal that was sent needs a moment to be obeyed.
    async fn is_gone(pid: &str) -> bool {
        for _ in 0..500 {
            if !is_running(pid) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    #[tokio::test]
    async fn outputs_status_folder_and_environment_are_as_ordered() -> Test {
        let mut run = Running::start(&shell("pwd; env | grep -c .; cat; echo err >&2; exit 3"))?;
        assert_eq!(run.wait(LONG).await?, End::Ended(Some(3)));
        // PATH and PLANTED, and what the shell itself sets.
        let output = String::from_utf8_lossy(run.output()).into_owned();
        assert!(output.starts_with("/\n"), "{output}");
        assert_eq!(run.error(), b"err\n");
        assert!(!run.is_held() && !run.is_cut());
        let inherited = Running::start(&shell("echo ${HOME-none} $PLANTED"));
        let mut run = inherited?;
        run.wait(LONG).await?;
        assert_eq!(run.output(), b"none yes\n");
        Ok(())
    }

    #[tokio::test]
    async fn past_its_time_it_dies_with_all_it_started() -> Test {
        let mut run = Running::start(&shell("sleep 600 & echo $!; echo $$; sleep 600"))?;
        assert_eq!(run.wait(Duration::from_millis(500)).await?, End::TimedOut);
        let pids = String::from_utf8_lossy(run.output()).into_owned();
        assert_eq!(pids.lines().count(), 2, "{pids}");
        for pid in pids.lines() {
            assert!(is_gone(pid).await, "{pid}");
        }
        Ok(())
    }

    #[tokio::test]
    async fn what_it_leaves_behind_in_its_group_is_ended_and_holds_nothing() -> Test {
        let mut run = Running::start(&shell("sleep 600 & echo $!"))?;
        assert_eq!(run.wait(LONG).await?, End::Ended(Some(0)));
        assert!(!run.is_held());
        assert!(is_gone(&String::from_utf8_lossy(run.output())).await);
        Ok(())
    }

    #[tokio::test]
    async fn what_left_the_group_and_holds_the_output_is_told() -> Test {
        let mut run = Running::start(&shell("setsid sleep 20 & echo x; sleep 0.2"))?;
        assert_eq!(run.wait(LONG).await?, End::Ended(Some(0)));
        assert!(run.is_held());
        assert_eq!(run.output(), b"x\n");
        Ok(())
    }

    #[tokio::test]
    async fn a_flood_is_cut_at_its_bound() -> Test {
        let megabytes = limits::RUNNER_OUTPUT / (1 << 20) + 1;
        let script = format!("head -c {megabytes}M /dev/zero; head -c 100000 /dev/zero >&2");
        let mut run = Running::start(&shell(&script))?;
        assert_eq!(run.wait(LONG).await?, End::Ended(Some(0)));
        assert!(run.is_cut());
        assert_eq!(run.output().len(), limits::RUNNER_OUTPUT);
        assert_eq!(run.error().len(), limits::RUNNER_ERROR);
        Ok(())
    }

    #[tokio::test]
    async fn a_wait_given_up_and_a_drop_leave_nobody() -> Test {
        let mut run = Running::start(&shell("echo $$; sleep 600"))?;
        let given_up = tokio::time::timeout(Duration::from_millis(500), run.wait(LONG)).await;
        assert!(given_up.is_err());
        let pid = String::from_utf8_lossy(run.output()).into_owned();
        assert!(is_running(&pid));
        drop(run);
        assert!(is_gone(&pid).await);
        Ok(())
    }

    #[tokio::test]
    async fn one_ended_by_a_signal_has_no_status() -> Test {
        let mut run = Running::start(&shell("kill -9 $$"))?;
        assert_eq!(run.wait(LONG).await?, End::Ended(None));
        assert_eq!(run.signal(), Some(9));
        assert!(Running::start(&order(Path::new("/no/such"), [], &[], Path::new("/"))).is_err());
        Ok(())
    }
}
