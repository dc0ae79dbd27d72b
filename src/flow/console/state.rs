//! What the console's loop holds beside the state that is drawn: children, recording, the conversation.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::child::{Child, Grounds, Started};
use super::conductor::Conductor;
use super::counter::Service;
use super::inflow::Inflow;
use crate::app::event::Branch;
use crate::app::{App, Ended, Event, Role};
use crate::cli::Options;
use crate::config::Settings;
use crate::confine::Lock;
use crate::flow::channel::Ear;
use crate::flow::compose::Ask;
use crate::flow::config::Workplace;
use crate::flow::delivery::Delivery;
use crate::flow::failure::Failure;
use crate::flow::peer::Version;
use crate::flow::recorder::{Opening, Recorder};
use crate::flow::runners::Ran;
use crate::flow::talk::{self, Desk, Seen, Sent, Stop, Talk};
use crate::limits;
use crate::pairing::{Beside, Ending};
use crate::recording::session::State;
use crate::recording::word::Kind;
use crate::route::Plan;
use crate::runner::Runner;
use crate::world::clock::{Clock, WallTime};
use crate::world::outer::{KEY_FLAGS, Outer};
use crate::world::process::ProcessId;
use crate::world::signals::Signal;
use crate::world::tree::Tree;
use crate::world::{environment, files, git, orphans};

/// Longest wait for the recording to be on disk at the end.
const CLOSE: Duration = Duration::from_secs(2);

/// What a spawned flow ends in.
pub(super) enum Told {
    /// A message is composed, or is not; the tree was looked at.
    Composed(u64, Option<Box<Tree>>, Result<Ask, Failure>, Option<String>),
    /// The tree was looked at behind an answer.
    Concluded(
        u64,
        Option<Box<Tree>>,
        Box<(Seen, Ending, Duration)>,
        Option<String>,
    ),
    /// A runner ended; the tree was looked at behind an answer.
    Ran(u64, Option<Box<Tree>>, Box<Back>, Option<String>),
    /// The peer's own record was looked at.
    Heard(u64, Box<Ear>, Beside),
    /// The version of a pane's program.
    Version(Role, Option<String>),
    /// The repository's head.
    Branch(Option<Branch>),
    /// Children ended, of which some may be nobody's.
    Orphans,
    /// The editor was left.
    Edited(Result<String, String>),
}

/// A runner that ended.
pub(super) struct Back {
    /// What it was sent with.
    pub sent: Sent,
    /// What came of it; an error where it could not even be tried.
    pub ran: Result<Ran, Failure>,
    /// When it ended.
    pub at: Duration,
}

/// A round that is at a runner.
pub(super) struct Away {
    /// Its way.
    pub plan: Plan,
    /// The runner it is at.
    pub at: Runner,
    /// What is asked, for the route that may take over.
    pub ask: (Kind, String),
    /// What the first runner fell short by, when this is the second one.
    pub told: Option<String>,
    /// When this goes, the runner is stopped.
    pub _leash: oneshot::Sender<()>,
}

/// How long the ends of children are gathered before those are let go that nobody waits for.
const GATHER: Duration = Duration::from_secs(1);

/// Keeps what the agents leave behind below this process, where it is known for what it is.
fn adopt(tell: mpsc::UnboundedSender<Told>) {
    if let Err(error) = orphans::adopt() {
        return tracing::warn!(%error, "what leaves its parents is not known any more");
    }
    let Ok(mut ends) = orphans::Ends::listen() else {
        return;
    };
    tokio::spawn(async move {
        while ends.next().await {
            tokio::time::sleep(GATHER).await;
            if tell.send(Told::Orphans).is_err() {
                return;
            }
        }
    });
}

/// The loop's own state.
pub(super) struct Inner<'a> {
    pub app: App,
    pub outer: Outer,
    pub settings: &'a Settings,
    pub place: &'a Workplace,
    pub options: &'a Options,
    pub clock: Clock,
    pub recorder: Recorder,
    pub driver: Option<Child>,
    pub peer: Option<Child>,
    pub talk: Option<Talk>,
    /// Where the peer's own record is looked for; away while that is done.
    pub ear: Option<Box<Ear>>,
    /// What of a text is on its way.
    pub delivery: Option<Delivery>,
    /// Tag and text of the exchange that goes on.
    pub sent: (String, String),
    /// The round that is at a runner.
    pub away: Option<Away>,
    /// The runner the demo only pretends to ask, for the round that is asked next.
    pub pretended: Option<Runner>,
    /// The working tree; away while it is looked at.
    pub tree: Option<Box<Tree>>,
    /// Counts what is asked, so that news of something given up are told apart.
    pub asked: u64,
    pub tell: mpsc::UnboundedSender<Told>,
    pub told: mpsc::UnboundedReceiver<Told>,
    /// The outer terminal is someone else's: an editor's.
    pub is_away: bool,
    /// That editor.
    pub editor: Option<ProcessId>,
    pub is_over: bool,
    /// Something changed that is not drawn yet.
    pub redraw: bool,
    /// Nothing is known of what the outer terminal shows.
    pub forget: bool,
    /// When the last frame was drawn.
    pub drawn: Duration,
    pub frame: Vec<u8>,
    /// Whose output was taken last.
    pub served: Role,
    /// What was read of the children.
    pub inflow: [Inflow; 2],
    /// Output that a screen has and that is not recorded yet: whose, and when it came.
    pub unrecorded: Option<(Role, Duration, Vec<u8>)>,
    /// Room for what is read next.
    pub spare: Vec<u8>,
    /// The socket and what clients ask over it.
    pub service: Service,
    /// Longest wait for what a client asked, where it said one.
    pub waits_for: Option<Duration>,
    /// Plays the demo.
    pub conductor: Option<Conductor>,
    /// What keeps the peer from writing.
    pub lock: Lock,
    /// Number of the last round of the session that is gone on with.
    pub resumes: Option<u32>,
    /// The keyboard flags and mouse mode the outer terminal has.
    pub outer_modes: (u8, u8, bool),
}

impl<'a> Inner<'a> {
    pub(super) fn open(
        app: App,
        outer: Outer,
        settings: &'a Settings,
        place: &'a Workplace,
        options: &'a Options,
    ) -> Self {
        let clock = Clock::start();
        let worktree = place.root.as_deref().unwrap_or(&place.folder);
        let state = files::Places::from_env(environment::variable).state();
        let recorder = Recorder::open(&Opening {
            state: state.as_ref().ok().cloned(),
            repo: &place.repository_key(),
            worktree,
            codriver: env!("CARGO_PKG_VERSION"),
            started: WallTime::now().since_epoch(),
        });
        tracing::info!(session = recorder.id(), "console opened");
        let (tell, told) = mpsc::unbounded_channel();
        adopt(tell.clone());
        let (service, no_socket) = Service::open(place);
        let mut inner = Self {
            app,
            outer,
            settings,
            place,
            options,
            clock,
            recorder,
            driver: None,
            peer: None,
            talk: None,
            ear: None,
            delivery: None,
            sent: Default::default(),
            away: None,
            pretended: None,
            tree: place.root.clone().map(Tree::new).map(Box::new),
            asked: 0,
            tell,
            told,
            is_away: false,
            editor: None,
            is_over: false,
            redraw: true,
            forget: true,
            drawn: Duration::ZERO,
            frame: Vec::new(),
            served: Role::Peer,
            inflow: Default::default(),
            unrecorded: None,
            spare: Vec::new(),
            service,
            waits_for: None,
            conductor: None,
            lock: Lock::None,
            resumes: None,
            outer_modes: (KEY_FLAGS, 1, false),
        };
        if let Err(error) = state {
            inner.app.say(format!("nothing is recorded: {error}"), true);
        }
        if let Some(warning) = no_socket {
            inner.app.say(warning, true);
        }
        if let Some(diagnostic) = settings.diagnostics.first() {
            inner.app.say(diagnostic.to_string(), true);
        }
        inner
    }

    pub(super) fn worktree(&self) -> PathBuf {
        let root = self.place.root.as_ref().unwrap_or(&self.place.folder);
        root.clone()
    }

    pub(super) fn child(&mut self, role: Role) -> Option<&mut Child> {
        match role {
            Role::Driver => self.driver.as_mut(),
            Role::Peer => self.peer.as_mut(),
        }
    }

    pub(super) fn drop_child(&mut self, role: Role) -> Option<Child> {
        match role {
            Role::Driver => self.driver.take(),
            Role::Peer => self.peer.take(),
        }
    }

    /// Starts the agent of a pane, the first time or anew.
    pub(super) fn start(&mut self, role: Role) {
        let Some(pane) = self.app.pane(role) else {
            return;
        };
        let (profile, size) = (pane.profile.clone(), pane.screen.size());
        let earlier = self.drop_child(role).map(|child| child.recording());
        let now = self.clock.elapsed();
        let session = self.recorder.folder().map(std::path::Path::to_path_buf);
        let grounds = Grounds {
            settings: self.settings,
            place: self.place,
            session: session.as_deref(),
            resumes: self.resumes.is_some(),
            socket: self
                .service
                .listener
                .as_ref()
                .map(|listener| listener.path().to_path_buf()),
            lock: self.lock,
        };
        let started = Child::start(
            role,
            &profile,
            size,
            earlier,
            &grounds,
            &mut self.recorder,
            now,
        );
        match started {
            Ok(started) => self.started(role, started),
            Err(failure) => {
                tracing::warn!(pane = role.word(), "not started");
                self.update(Event::NotStarted(role, failure.to_string()));
            }
        }
        self.pass_on_warnings();
    }

    fn started(&mut self, role: Role, started: Started) {
        let Started {
            child,
            ear,
            allows,
            launch,
            version,
            warnings,
        } = started;
        for warning in warnings {
            self.app.say(warning, true);
        }
        self.await_version(role, version);
        if let Some((id, mark)) = child.family() {
            let mark = mark.to_vec();
            self.know(role, id, &mark);
        }
        match role {
            Role::Driver => self.driver = Some(child),
            Role::Peer => {
                self.peer = Some(child);
                self.ear = Some(Box::new(ear));
                let opening = talk::Opening {
                    profile: self.app.peer.profile.clone(),
                    worktree: self.worktree(),
                    timeout: self.options.timeout.unwrap_or(self.settings.timeout.value),
                    require: self.settings.require_tag.value,
                };
                let resumes = self.resumes.unwrap_or(0);
                let talk = self.talk.get_or_insert_with(|| {
                    let mut talk = Talk::open(opening);
                    talk.count_from(resumes);
                    talk
                });
                talk.launched(&launch, allows);
            }
        }
        self.update(Event::Started(role));
    }

    fn await_version(&self, role: Role, version: Version) {
        let tell = self.tell.clone();
        tokio::spawn(async move {
            // Nobody listens any more when the console was left.
            let _ = tell.send(Told::Version(role, version.wait().await));
        });
    }

    /// Looks where the repository stands, beside the loop.
    pub(super) fn look_at_branch(&self) {
        let Some(root) = self.place.root.clone() else {
            return;
        };
        let tell = self.tell.clone();
        tokio::spawn(async move {
            let head = git::head(&root, limits::TREE_TIME).await.ok();
            let branch = head.map(|head| Branch {
                name: head.name,
                is_changed: head.is_changed,
            });
            let _ = tell.send(Told::Branch(branch));
        });
    }

    pub(super) fn exited(&mut self, role: Role, ended: Ended) {
        self.record();
        let now = self.clock.elapsed();
        if let Some(child) = self.child(role) {
            let (code, signal) = match ended {
                Ended::Status(code) => (Some(code), None),
                Ended::Signal(signal) => (None, Some(signal)),
                Ended::Unknown => (None, None),
            };
            let recording = child.recording();
            self.recorder.end_pane(recording, now, code, signal);
        }
        self.update(Event::Exited(role, ended));
    }

    /// Tells the person what went wrong with the recording.
    pub(super) fn pass_on_warnings(&mut self) {
        for warning in self.recorder.take_warnings() {
            self.app.say(warning, true);
        }
    }

    /// Ends the children and the recording, and gives the terminal back.
    pub(super) async fn close(mut self) {
        self.close_counter();
        let was_away = self.recall();
        let is_open = self.talk.as_ref().is_some_and(Talk::is_open);
        if is_open {
            let now = self.clock.elapsed();
            let mut desk = Desk {
                recorder: &mut self.recorder,
                now,
            };
            if let Some(talk) = &mut self.talk {
                talk.stop(&Stop::Signal(Signal::Terminate), &mut desk);
            }
        }
        if let Some(editor) = self.editor.take() {
            // It would be left behind on a terminal that is nobody's; one that has gone is gone.
            let _ = editor.send(rustix::process::Signal::TERM);
        }
        // The person has the terminal back before the last process is gone.
        self.outer.leave();
        let now = self.clock.elapsed();
        for child in self.driver.iter().chain(&self.peer) {
            if child.exit.is_none() {
                self.recorder.marker(child.recording(), now, "quit");
            }
        }
        let stop = |child: Option<Child>| async {
            match child {
                Some(child) => child.stop().await,
                None => true,
            }
        };
        let (driver, peer) = tokio::join!(stop(self.driver.take()), stop(self.peer.take()));
        if !(driver && peer) {
            crate::world::terminal::say("codriver: some process of the agents could not be ended");
        }
        let state = if is_open || was_away {
            State::Interrupted
        } else {
            State::Closed
        };
        self.recorder.close(self.clock.elapsed(), state, CLOSE);
        for warning in self.recorder.take_warnings() {
            crate::world::terminal::say(&format!("codriver: {warning}"));
        }
    }
}
