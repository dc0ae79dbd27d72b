//! A pseudo-terminal with a child in it: start, read, write, resize, end.
//!
//! The child gets a session and a controlling terminal of its own, and an environment that is exactly the one given.
//! It is reaped last of all: as long as its entry stands, its number, which is also that of its group and session,
//! cannot pass to a stranger, so that a signal to the group never reaches one.
//!
//! portable-pty opens and sizes the terminal; the child is started here, since its own launcher adds `SHELL` to every
//! environment and closes the channel by which a failed exec is told. Its writer, too, would type an end when dropped.

use std::collections::HashSet;
use std::ffi::OsString;
use std::future::poll_fn;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use portable_pty::{MasterPty, PtyPair, PtySize, native_pty_system};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::limits;
use crate::world::process::{self, Process, ProcessId};
use crate::world::program::{self, ProgramError};

/// Name of an environment entry that, when given, must be unique to the launch.
///
/// A process that left the child's session and outlived its parents is known as ours by it.
pub const MARK: &str = "CODRIVER_LAUNCH";

/// Bytes of a read behind which no more is looked for at once: the answer to a key.
const SMALL: usize = 256;

/// What to start, where, and on how large a terminal.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment of the child.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Columns and rows.
    pub size: (u16, u16),
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum PtyError {
    /// The program cannot be started.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The working directory is not there or no folder.
    #[error("the working directory `{}` is missing or not a folder", .0.display())]
    WorkingDirectory(PathBuf),
    /// The system gave no terminal.
    #[error("no pseudo-terminal could be opened")]
    Open(#[source] io::Error),
    /// The system refused to run the program, which looked fine before.
    #[error("`{}` could not be started", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// The outgoing queue has no room for all of it, so nothing was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the child does not read its terminal: {waiting} bytes already wait to be typed")]
pub struct Full {
    /// Bytes that wait already.
    pub waiting: usize,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What a read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes were appended.
    Output(usize),
    /// Nothing more will come: no process has the terminal open.
    Ended,
}

/// What happened on the terminal next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// This many bytes of output were appended.
    Output(usize),
    /// The output ended; told once, after all of it.
    Ended,
    /// The child ended; told once. A process it left behind may still write.
    Exited(Exit),
}

/// What became of a child and all it had started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// How the child ended; none when even SIGKILL did not end it in time.
    pub exit: Option<Exit>,
    /// What could not be ended in time.
    pub survivors: Vec<ProcessId>,
}

/// The master side of a pseudo-terminal and the child in it. Dropping it kills the child and what it started.
pub struct Pty {
    terminal: Box<dyn MasterPty + Send>,
    /// A duplicate of the terminal's descriptor that never blocks, for what is read and written.
    channel: AsyncFd<OwnedFd>,
    child: Child,
    id: ProcessId,
    program: PathBuf,
    mark: Option<Vec<u8>>,
    children: tokio::signal::unix::Signal,
    outgoing: Vec<u8>,
    /// Output read while the child was being ended, for the next read.
    last_words: Vec<u8>,
    output_ended: bool,
    ending_told: bool,
    exit: Option<Exit>,
    exit_told: bool,
    read_after_exit: usize,
    reaped: bool,
}

impl Pty {
    /// Starts a child on a terminal of its own. Needs a runtime with IO, time and signals.
    pub fn spawn(launch: Launch) -> Result<Self, PtyError> {
        let Launch {
            argv,
            env,
            cwd,
            size,
        } = launch;
        if !cwd.is_dir() {
            return Err(PtyError::WorkingDirectory(cwd));
        }
        let cwd = std::path::absolute(&cwd).map_err(PtyError::Open)?;
        let entry = |name: &str| env.iter().rfind(|(key, _)| key == name);
        let path = entry("PATH").map(|(_, value)| value.as_os_str());
        let [word, arguments @ ..] = argv.as_slice() else {
            return Err(ProgramError::Empty.into());
        };
        let program = program::find(word, path, &cwd)?;
        let mark = entry(MARK).map(|(key, value)| [key.as_bytes(), value.as_bytes()].join(&b'='));

        // Listening begins before there is a child, so that its end cannot be missed.
        let children = signal(SignalKind::child()).map_err(PtyError::Open)?;
        process::keep_descriptors();
        let opened = |fault| PtyError::Open(io::Error::other(fault));
        let PtyPair { master, slave } = native_pty_system()
            .openpty(pty_size(size))
            .map_err(opened)?;
        let channel = channel(master.as_ref()).map_err(PtyError::Open)?;
        let tty = open_tty(master.as_ref()).map_err(PtyError::Open)?;
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .env_clear()
            .envs(env.iter().map(|(key, value)| (key, value)))
            .current_dir(&cwd);
        let child = start(command, tty).map_err(|source| PtyError::Start {
            program: program.clone(),
            source,
        })?;
        // Only once the child has the terminal: with nobody on it, reading would find its end.
        drop(slave);
        let pid = child
            .id()
            .expect("a child that was not waited for has a number")
            .cast_signed();
        Ok(Self {
            terminal: master,
            channel,
            child,
            // The child is not reaped, so its entry cannot be gone yet.
            id: ProcessId::of(pid).unwrap_or(ProcessId { pid, start: 0 }),
            program,
            mark,
            children,
            outgoing: Vec::new(),
            last_words: Vec::new(),
            output_ended: false,
            ending_told: false,
            exit: None,
            exit_told: false,
            read_after_exit: 0,
            reaped: false,
        })
    }

    /// Returns the entry of the environment that marks what belongs to this launch.
    pub fn mark(&self) -> Option<&[u8]> {
        self.mark.as_deref()
    }

    /// Returns who the child is.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Returns the absolute path of the program that was started.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Appends what the child wrote, as much as is there up to a batch, waiting for at least one byte.
    ///
    /// What is queued for the child is written meanwhile. A dropped future loses nothing.
    pub async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<ReadOutcome> {
        poll_fn(|cx| {
            self.poll_flush(cx)?;
            self.poll_read(cx, into)
        })
        .await
    }

    /// Waits for output, its end, or the child's end, and writes what is queued meanwhile.
    ///
    /// Output that is there comes before the news of an end. After both ends were told it waits for ever.
    pub async fn next(&mut self, into: &mut Vec<u8>) -> io::Result<Happened> {
        poll_fn(|cx| self.poll_next(cx, into)).await
    }

    /// Takes bytes to be typed to the child, all or none. They are written by `read`, `next` and `flush_some`.
    pub fn queue(&mut self, bytes: &[u8]) -> Result<(), Full> {
        if self.outgoing.len() + bytes.len() > limits::OUTGOING {
            return Err(Full {
                waiting: self.outgoing.len(),
            });
        }
        self.outgoing.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes what is queued as far as the terminal takes it now, without waiting.
    pub fn push(&mut self) {
        use rustix::io::Errno;
        while !self.outgoing.is_empty() {
            match rustix::io::write(self.channel.get_ref(), &self.outgoing) {
                Ok(bytes) => drop(self.outgoing.drain(..bytes)),
                Err(Errno::INTR) => {}
                // What it does not take is left to `next`, which also tells when it is gone.
                Err(_) => return,
            }
        }
    }

    /// Returns how many queued bytes the terminal has not taken yet.
    pub fn outgoing(&self) -> usize {
        self.outgoing.len()
    }

    /// Waits until the terminal has taken some of what is queued; returns at once when nothing is.
    pub async fn flush_some(&mut self) -> io::Result<()> {
        let before = self.outgoing.len();
        poll_fn(|cx| {
            self.poll_flush(cx)?;
            if before == 0 || self.outgoing.len() < before {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            }
        })
        .await
    }

    /// Tells the terminal, and by it the child, its new size.
    pub fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        self.terminal
            .resize(pty_size((cols, rows)))
            .map_err(io::Error::other)
    }

    /// Returns how the child ended, if it did.
    pub fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            // The entry is left standing, see the head of this file.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.pid()), options))?;
            self.exit = status.and_then(|status| {
                let code = status.exit_status().map(Exit::Code);
                code.or_else(|| status.terminating_signal().map(Exit::Signal))
            });
        }
        Ok(self.exit)
    }

    /// Waits for the child's end. The output may be longer than its life: read on until it ends.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        poll_fn(|cx| self.poll_exit(cx)).await
    }

    /// Ends the child and everything it started: asks, waits for at most `grace`, then kills.
    ///
    /// What the child still says is kept for the next read, up to a bound. Returns within `grace` and
    /// `limits::KILL_TIME`, also when something cannot be killed.
    pub async fn kill_group(&mut self, grace: Duration) -> io::Result<Killed> {
        let mut family = Family::default();
        if self.reaped {
            return Ok(family.killed(self.exit));
        }
        self.outgoing.clear();
        family.look(self);
        // A stopped process sees the request only once it goes on.
        for asked in [Signal::HUP, Signal::TERM, Signal::CONT] {
            self.signal_family(&family, asked);
        }
        let deadline = Instant::now() + grace;
        while !self.is_all_gone(&mut family)? && Instant::now() < deadline {
            self.listen_until(deadline.min(soon())).await?;
        }
        // Where processes cannot be listed, the group may still hold some.
        self.signal_family(&family, Signal::KILL);
        let deadline = Instant::now() + limits::KILL_TIME;
        while !self.is_all_gone(&mut family)? && Instant::now() < deadline {
            self.signal_family(&family, Signal::KILL);
            self.listen_until(soon()).await?;
        }
        let exit = self.try_wait()?;
        if exit.is_some() && family.running.is_empty() {
            // It has ended, and its status was read before.
            let _ = self.child.try_wait();
            self.reaped = true;
        }
        Ok(family.killed(exit))
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.id.pid).expect("a child's number is above zero")
    }

    fn is_all_gone(&mut self, family: &mut Family) -> io::Result<bool> {
        family.look(self);
        Ok(self.try_wait()?.is_some() && family.running.is_empty())
    }

    fn signal_family(&self, family: &Family, signal: Signal) {
        // One that is gone, or that changed its user, cannot be signalled; it shows among the survivors.
        let _ = kill_process_group(self.pid(), signal);
        // Nobody is asked twice: to some programs a second request means at once.
        let outside = |one: &&Process| one.group != self.id.pid;
        for one in family.running.iter().filter(outside) {
            let _ = one.id.send(signal);
        }
    }

    /// Reads on while something is being ended: a child blocked on a full terminal could not react.
    async fn listen_until(&mut self, deadline: Instant) -> io::Result<()> {
        let mut words = Vec::new();
        let listening = async {
            while let ReadOutcome::Output(_) = self.read(&mut words).await? {}
            io::Result::Ok(())
        };
        let listened = timeout_at(deadline, listening).await;
        let room = limits::OUTGOING.saturating_sub(self.last_words.len());
        words.truncate(room);
        self.last_words.append(&mut words);
        if let Ok(ended) = listened {
            ended?;
            sleep_until(deadline).await;
        }
        Ok(())
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<io::Result<Happened>> {
        loop {
            self.poll_flush(cx)?;
            if !self.exit_told
                && self.last_words.is_empty()
                && let Some(exit) = self.try_wait()?
            {
                return Poll::Ready(self.last_output(exit, into));
            }
            if !self.ending_told
                && let Poll::Ready(read) = self.poll_read(cx, into)?
            {
                return Poll::Ready(Ok(self.told(read)));
            }
            if self.exit_told || ready!(self.children.poll_recv(cx)).is_none() {
                return Poll::Pending;
            }
        }
    }

    /// The news of the exit can overtake that of the output, so the terminal itself is asked before it is passed on.
    /// A process left behind may write for ever: what the child wrote fits into the terminal's buffers.
    fn last_output(&mut self, exit: Exit, into: &mut Vec<u8>) -> io::Result<Happened> {
        if !self.ending_told && self.read_after_exit < 2 * limits::READ_BATCH {
            let before = into.len();
            let mut chunk = [0; 4096];
            while into.len() - before < limits::READ_BATCH && !self.output_ended {
                match rustix::io::read(self.channel.get_ref(), &mut chunk) {
                    Ok(0) | Err(Errno::IO) => self.output_ended = true,
                    Ok(bytes) => into.extend_from_slice(&chunk[..bytes]),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => break,
                    Err(fault) => return Err(fault.into()),
                }
            }
            let bytes = into.len() - before;
            self.read_after_exit += bytes;
            if bytes > 0 {
                return Ok(Happened::Output(bytes));
            }
            if self.output_ended {
                return Ok(self.told(ReadOutcome::Ended));
            }
        }
        self.exit_told = true;
        Ok(Happened::Exited(exit))
    }

    fn told(&mut self, read: ReadOutcome) -> Happened {
        match read {
            ReadOutcome::Output(bytes) => Happened::Output(bytes),
            ReadOutcome::Ended => {
                self.ending_told = true;
                Happened::Ended
            }
        }
    }

    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<io::Result<ReadOutcome>> {
        if !self.last_words.is_empty() {
            let bytes = self.last_words.len();
            into.append(&mut self.last_words);
            return Poll::Ready(Ok(ReadOutcome::Output(bytes)));
        }
        let before = into.len();
        while !self.output_ended && into.len() - before < limits::READ_BATCH {
            let mut chunk = [0; 4096];
            let Poll::Ready(mut readable) = self.channel.poll_read_ready(cx)? else {
                break;
            };
            match readable.try_io(|channel| Ok(rustix::io::read(channel, &mut chunk)?)) {
                // The last process closed its side: Linux says EIO, others give an empty read.
                Ok(Ok(0)) => self.output_ended = true,
                Ok(Err(fault)) if is_closed(&fault) => self.output_ended = true,
                Ok(Ok(bytes)) => {
                    into.extend_from_slice(&chunk[..bytes]);
                    // Looking for more makes the system bring up what is on its way, which takes its time.
                    if bytes < SMALL {
                        break;
                    }
                }
                Ok(Err(fault)) if fault.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(fault)) => return Poll::Ready(Err(fault)),
                // There is nothing yet, and the next round sets the waker.
                Err(_) => {}
            }
        }
        match into.len() - before {
            0 if self.output_ended => Poll::Ready(Ok(ReadOutcome::Ended)),
            0 => Poll::Pending,
            bytes => Poll::Ready(Ok(ReadOutcome::Output(bytes))),
        }
    }

    /// Writes what the terminal takes now; once it takes no more, the waker is set for when it does.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            let Poll::Ready(mut writable) = self.channel.poll_write_ready(cx)? else {
                return Ok(());
            };
            match writable.try_io(|channel| Ok(rustix::io::write(channel, &self.outgoing)?)) {
                Ok(Ok(bytes)) => drop(self.outgoing.drain(..bytes)),
                Ok(Err(fault)) if fault.kind() == io::ErrorKind::Interrupted => {}
                // Nobody is there any more to read it; the read side tells.
                Ok(Err(fault)) if is_closed(&fault) => self.outgoing.clear(),
                Ok(Err(fault)) => return Err(fault),
                // It takes no more now, and the next round sets the waker.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Exit>> {
        loop {
            if let Some(exit) = self.try_wait()? {
                return Poll::Ready(Ok(exit));
            }
            // Only a runtime that shuts down ends this stream.
            if ready!(self.children.poll_recv(cx)).is_none() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        let mut family = Family::default();
        // Whoever is forking right now shows up on the second or third look.
        for _ in 0..3 {
            if matches!(self.is_all_gone(&mut family), Ok(true)) {
                break;
            }
            self.signal_family(&family, Signal::KILL);
            std::thread::sleep(Duration::from_millis(1));
        }
        // Dropped, the child is left to the runtime, which reaps it.
    }
}

/// Everything a child started, as far as it can be known; it only grows while the child is being ended.
#[derive(Default)]
struct Family {
    known: HashSet<ProcessId>,
    running: Vec<Process>,
}

impl Family {
    fn look(&mut self, pty: &Pty) {
        let all = process::all();
        self.known.insert(pty.id);
        loop {
            let before = self.known.len();
            for one in &all {
                if !self.known.contains(&one.id) && self.is_ours(one, pty) {
                    self.known.insert(one.id);
                }
            }
            if self.known.len() == before {
                break;
            }
        }
        self.running = all;
        self.running
            .retain(|one| !one.ended && self.known.contains(&one.id));
    }

    fn killed(&self, exit: Option<Exit>) -> Killed {
        Killed {
            exit,
            survivors: self.running.iter().map(|one| one.id).collect(),
        }
    }

    fn is_ours(&self, one: &Process, pty: &Pty) -> bool {
        let younger = one.id.start >= pty.id.start;
        // The child's number is its group's and session's too, and it is taken until the child is reaped.
        let inside = one.session == pty.id.pid || one.group == pty.id.pid;
        let descends = || {
            let parent = |known: &ProcessId| known.pid == one.parent && known.start <= one.id.start;
            self.known.iter().any(parent)
        };
        let marked = || pty.mark.as_ref().is_some_and(|mark| one.was_given(mark));
        younger && (inside || descends() || marked())
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(5)
}

fn is_closed(fault: &io::Error) -> bool {
    fault.raw_os_error() == Some(Errno::IO.raw_os_error())
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

/// The terminal's own descriptor stays with portable-pty; what is read and written goes through a duplicate.
fn channel(terminal: &dyn MasterPty) -> io::Result<AsyncFd<OwnedFd>> {
    let raw = terminal
        .as_raw_fd()
        .ok_or_else(|| io::Error::other("the terminal has no descriptor"))?;
    #[expect(
        unsafe_code,
        reason = "portable-pty lends its descriptor only as a number"
    )]
    // SAFETY: the descriptor is open as long as the terminal it belongs to, which is borrowed for longer than this one.
    let lent = unsafe { BorrowedFd::borrow_raw(raw) };
    let channel = rustix::io::fcntl_dupfd_cloexec(lent, 0)?;
    rustix::io::ioctl_fionbio(&channel, true)?;
    #[expect(
        unsafe_code,
        reason = "tokio cannot see for itself that a descriptor stays open"
    )]
    // SAFETY: the descriptor is owned by what is returned, and is neither closed nor replaced before that is dropped.
    let channel = unsafe { AsyncFd::register(channel) }?;
    Ok(channel)
}

/// The child's side of the terminal, which must not become the terminal of the process that opens it.
fn open_tty(terminal: &dyn MasterPty) -> io::Result<OwnedFd> {
    let name = terminal
        .tty_name()
        .ok_or_else(|| io::Error::other("the terminal has no name"))?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name, flags, Mode::empty())?)
}

/// Starts a child as the leader of a session whose terminal is `tty`; a failed exec is an error here.
fn start(mut command: Command, tty: OwnedFd) -> io::Result<Child> {
    command
        .stdin(Stdio::from(tty.try_clone()?))
        .stdout(Stdio::from(tty.try_clone()?))
        .stderr(Stdio::from(tty));
    let parent = rustix::process::getpid();
    let lead_session = move || {
        // Also when this program is killed its children are to know; whoever keeps an agent ends it then.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "no safe call gives a child a session and a terminal"
    )]
    // SAFETY: between fork and exec it makes a few system calls, and none of them allocates or takes a lock.
    unsafe {
        command.pre_exec(lead_session);
    }
    command.spawn()
}
