//! The child of a pane: started in its seat, on a terminal of its own, recorded, and ended with all it started.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::app::{Ended, Role};
use crate::config::{Profile, Seat, Settings};
use crate::confine::Lock;
use crate::flow::channel::Ear;
use crate::flow::config::Workplace;
use crate::flow::confine::Shut;
use crate::flow::failure::Failure;
use crate::flow::launch::{self, Prepared, PrivateFolder};
use crate::flow::pane::Launch;
use crate::flow::peer::{Finder, Version};
use crate::flow::recorder::{PaneIndex, Recorder};
use crate::recording::event::Event;
use crate::recording::session;
use crate::screen::Size;
use crate::world::process::ProcessId;
use crate::world::pty::{self, Happened, Pty};

/// How long a child is given to end by itself before it is killed.
const GRACE: Duration = Duration::from_millis(1500);

/// What starts children.
pub(super) struct Grounds<'a> {
    /// What is configured.
    pub settings: &'a Settings,
    /// Where the console works.
    pub place: &'a Workplace,
    /// The session's folder, where there is one.
    pub session: Option<&'a Path>,
    /// Whether an earlier session is gone on with.
    pub resumes: bool,
    /// The console's socket, where there is one.
    pub socket: Option<PathBuf>,
    /// What keeps the peer from writing.
    pub lock: Lock,
}

/// A child that was started, and what is known of its launch.
pub(super) struct Started {
    /// The child.
    pub child: Child,
    /// Where its own record of a round is looked for.
    pub ear: Ear,
    /// What the launch lets it do, in words.
    pub allows: String,
    /// How it was started.
    pub launch: Launch,
    /// The version of its program.
    pub version: Version,
    /// What the person should know.
    pub warnings: Vec<String>,
}

/// A child on its terminal.
pub(super) struct Child {
    role: Role,
    pty: Pty,
    recording: PaneIndex,
    /// How it ended, once it has.
    pub exit: Option<pty::Exit>,
    output_ended: bool,
    is_told: bool,
    /// What the launch needs on disk.
    private: PrivateFolder,
}

/// News of a child.
pub(super) enum News {
    /// It wrote this many bytes into the batch.
    Output,
    /// It ended, and all it wrote was told.
    Ended(Ended),
    /// Nothing to be told.
    Nothing,
}

impl Child {
    /// Starts the agent of a pane. What it draws is recorded from its first byte.
    pub(super) fn start(
        role: Role,
        profile: &Arc<Profile>,
        size: Size,
        earlier: Option<PaneIndex>,
        grounds: &Grounds<'_>,
        recorder: &mut Recorder,
        now: Duration,
    ) -> Result<Started, Failure> {
        let seat = match (role, earlier) {
            (Role::Driver, None) if !grounds.resumes => Seat::Driver,
            (Role::Driver, None) => Seat::DriverAgain,
            (Role::Driver, Some(_)) => Seat::DriverAgain,
            (Role::Peer, _) => Seat::Peer,
        };
        let Prepared {
            launch,
            mut ear,
            allows,
            folder,
            warnings,
        } = launch::prepare(
            profile,
            seat,
            grounds.place,
            grounds.session,
            grounds.socket.as_deref(),
            Shut {
                lock: grounds.lock,
                settings: grounds.settings,
                show: &[],
            },
        )?;
        let finder = Finder {
            role: role.word(),
            profile,
            settings: grounds.settings,
            place: grounds.place,
        };
        let program = finder.find(&launch)?;
        let pty = Pty::spawn(pty::Launch {
            argv: launch.words(&program),
            env: launch.env.clone(),
            cwd: launch.folder.clone(),
            size: (size.cols, size.rows),
        })
        .map_err(|error| finder.unstartable(&error))?;
        ear.started(pty.id().pid);
        let recording = earlier.unwrap_or_else(|| {
            let argv = launch.argv.iter().map(|word| word.as_encoded_bytes());
            let pane = session::Pane::new(role.word(), &profile.name, None, argv, size);
            recorder.add_pane(pane, &profile.name)
        });
        let started = Event::PaneStarted {
            pane: role.word().to_owned(),
            harness: profile.name.clone(),
            pid: pty.id().pid.unsigned_abs(),
            cols: size.cols,
            rows: size.rows,
        };
        recorder.event(now, started);
        tracing::info!(
            pane = role.word(),
            harness = profile.name,
            pid = pty.id().pid,
            "pane started"
        );
        Ok(Started {
            version: Version::ask(profile, &program, &launch),
            child: Self {
                role,
                pty,
                recording,
                exit: None,
                output_ended: false,
                is_told: false,
                private: folder,
            },
            ear,
            allows,
            launch,
            warnings,
        })
    }

    /// Who it is, and the mark all it starts bears.
    pub(super) fn family(&self) -> Option<(ProcessId, &[u8])> {
        Some((self.pty.id(), self.pty.mark()?))
    }

    /// The folder its launch was given to itself.
    pub(super) fn private(&self) -> PathBuf {
        self.private.work()
    }

    /// Where the pane is recorded.
    pub(super) fn recording(&self) -> PaneIndex {
        self.recording
    }

    /// Waits for news; what it wrote is appended to the batch.
    pub(super) async fn next(&mut self, batch: &mut Vec<u8>) -> io::Result<News> {
        match self.pty.next(batch).await? {
            Happened::Output(_) => return Ok(News::Output),
            Happened::Ended => self.output_ended = true,
            Happened::Exited(exit) => self.exit = Some(exit),
        }
        // A process it left behind may hold the terminal; the child's end is what counts.
        if self.exit.is_some() && !self.is_told {
            self.is_told = true;
            return Ok(News::Ended(self.ended()));
        }
        Ok(News::Nothing)
    }

    /// How it ended, as the console has it.
    pub(super) fn ended(&self) -> Ended {
        match self.exit {
            Some(pty::Exit::Code(code)) => Ended::Status(code),
            Some(pty::Exit::Signal(signal)) => Ended::Signal(signal),
            None => Ended::Unknown,
        }
    }

    /// Types bytes to it at once; false when it reads nothing and there is no more room.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        tracing::trace!(pane = self.role.word(), bytes = bytes.len(), "typed");
        let is_taken = self.pty.queue(bytes).is_ok();
        self.pty.push();
        is_taken
    }

    /// Gives its terminal another size; false when it cannot have one.
    pub(super) fn resize(&mut self, size: Size) -> bool {
        self.pty.resize(size.cols, size.rows).is_ok()
    }

    /// Ends it and all it started; tells whether nothing of it is left.
    pub(super) async fn stop(mut self) -> bool {
        match self.pty.kill_group(GRACE).await {
            Ok(killed) => killed.survivors.is_empty(),
            Err(error) => {
                tracing::error!(%error, pane = self.role.word(), "the child could not be ended");
                false
            }
        }
    }
}
