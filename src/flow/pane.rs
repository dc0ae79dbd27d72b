//! A pane: a child on a pseudo-terminal, its screen and its recording, and the exchanges with it (systems.md A).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep_until;

use super::delivery::Delivery;
use super::recorder::{PaneIndex, Recorder};
use crate::config::Profile;
use crate::confine::Lock;
use crate::pairing::{Activity, Beside, Ending, Exchange, Order, Step, Way};
use crate::recording::event::Event;
use crate::recording::session;
use crate::screen::{Screen, Size};
use crate::world::clock::Clock;
use crate::world::pty::{self, Happened, Pty, PtyError};
use crate::world::signals::{Signal, Signals};
use crate::world::terminal::{Progress, Step as Shown};

/// How long a child is given to end by itself before it is killed.
const GRACE: Duration = Duration::from_millis(1500);
/// How long the output of a child that ended may still take to be read.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Where an agent's own record of a round is looked for.
pub trait Listen {
    /// What is there of the round with this tag now.
    fn listen(&mut self, tag: &str, sent: &str) -> impl Future<Output = Beside>;
}

/// How a child is started, environment and all.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments of the agent.
    pub argv: Vec<OsString>,
    /// What stands before them: this program, which shuts itself in and keeps the agent.
    pub wrap: Vec<OsString>,
    /// What confines it.
    pub lock: Lock,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Names of the variables that were kept from it, and of those that were set anew.
    pub scrubbed: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
}

impl Launch {
    /// The words that are started, the agent's program as it was found.
    pub fn words(&self, program: &Path) -> Vec<OsString> {
        let args = self.argv.iter().skip(1).cloned();
        let agent = std::iter::once(program.as_os_str().to_owned()).chain(args);
        self.wrap.iter().cloned().chain(agent).collect()
    }
}

/// What a pane needs from whoever opens it.
pub struct Around<'a> {
    /// The clock of the session.
    pub clock: &'a Clock,
    /// Requests to stop.
    pub signals: &'a mut Signals,
    /// The progress line.
    pub progress: &'a mut Progress,
    /// The session's recording.
    pub recorder: &'a mut Recorder,
}

/// What a person was told last.
struct Told {
    stage: String,
    since: Duration,
    activity: Activity,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            stage: String::new(),
            since: Duration::ZERO,
            activity: Activity::Unclear,
        }
    }
}

impl Told {
    /// When this stage began.
    fn since(&mut self, stage: &str, now: Duration) -> Duration {
        if self.stage != stage {
            stage.clone_into(&mut self.stage);
            self.since = now;
        }
        self.since
    }
}

/// Why an exchange gave no ending of its own.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted(Signal),
    /// The terminal failed.
    #[error("the peer's terminal failed")]
    Terminal(#[source] io::Error),
}

/// An exchange on its way.
pub(super) struct Going {
    /// The exchange.
    pub exchange: Exchange,
    /// What a person is told meanwhile.
    pub stage: &'static str,
    tag: String,
    sent: String,
    delivery: Delivery,
    told: Told,
}

/// A child, its terminal and its screen.
pub struct Pane {
    name: &'static str,
    pty: Pty,
    screen: Screen,
    profile: Arc<Profile>,
    recording: PaneIndex,
    exit: Option<pty::Exit>,
    /// Until when the output of a child that ended is waited for.
    last_words: Option<Duration>,
    output_ended: bool,
    batch: Vec<u8>,
}

impl Pane {
    /// Starts a child. What it draws is recorded from its first byte.
    pub fn start(
        name: &'static str,
        launch: &Launch,
        program: &Path,
        profile: Arc<Profile>,
        size: Size,
        scrollback: usize,
        around: &mut Around<'_>,
    ) -> Result<Self, PtyError> {
        let pty = Pty::spawn(pty::Launch {
            argv: launch.words(program),
            env: launch.env.clone(),
            cwd: launch.folder.clone(),
            size: (size.cols, size.rows),
        })?;
        let argv = launch.argv.iter().map(|word| word.as_encoded_bytes());
        let pane = session::Pane::new(name, &profile.name, None, argv, size);
        let recording = around.recorder.add_pane(pane, &profile.name);
        tracing::info!(
            pane = name,
            harness = profile.name,
            pid = pty.id().pid,
            "pane started"
        );
        let started = Event::PaneStarted {
            pane: name.to_owned(),
            harness: profile.name.clone(),
            pid: pty.id().pid.unsigned_abs(),
            cols: size.cols,
            rows: size.rows,
        };
        around.recorder.event(around.clock.elapsed(), started);
        Ok(Self {
            name,
            pty,
            screen: Screen::new(size, scrollback),
            profile,
            recording,
            exit: None,
            last_words: None,
            output_ended: false,
            batch: Vec::new(),
        })
    }

    /// The screen as it stands.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Where the pane is recorded.
    pub fn recording(&self) -> PaneIndex {
        self.recording
    }

    /// Process id of the child.
    pub fn pid(&self) -> i32 {
        self.pty.id().pid
    }

    /// How the child ended, once it has.
    pub fn exit(&self) -> Option<pty::Exit> {
        self.exit
    }

    /// Sends one message of a round, or a command, and waits for what becomes of it.
    pub async fn exchange(
        &mut self,
        order: Order,
        stage: &'static str,
        round: u32,
        ear: &mut impl Listen,
        around: &mut Around<'_>,
    ) -> Result<(Exchange, Ending), PaneError> {
        let mut going = self.begin(order, stage, round, around.clock.elapsed());
        loop {
            self.look(&mut going, ear, around).await;
            if let Some(ending) = going.exchange.ending() {
                let ending = ending.clone();
                return Ok((going.exchange, ending));
            }
            self.wait(going.exchange.next_deadline(), around).await?;
        }
    }

    /// Begins an exchange; nothing is typed before it is looked at.
    pub(super) fn begin(
        &self,
        order: Order,
        stage: &'static str,
        round: u32,
        now: Duration,
    ) -> Going {
        Going {
            tag: match &order.way {
                Way::Message { tag } => tag.clone(),
                Way::Say | Way::Command => String::new(),
            },
            sent: order.text.clone(),
            delivery: Delivery::new(&order.way, round),
            told: Told::default(),
            stage,
            exchange: Exchange::open(order, Arc::clone(&self.profile), now),
        }
    }

    /// Lets an exchange look at the screen as it stands, and does what it wants done.
    pub(super) async fn look(
        &mut self,
        going: &mut Going,
        ear: &mut impl Listen,
        around: &mut Around<'_>,
    ) {
        let now = around.clock.elapsed();
        let mut steps = if self.exit.is_some() && self.output_ended {
            going.exchange.handle_exit(&self.screen);
            Vec::new()
        } else {
            going.exchange.wake(&self.screen, now)
        };
        loop {
            let mut ask = false;
            for step in steps.drain(..) {
                ask |= self.perform(step, &mut going.delivery, around);
            }
            if !ask {
                break;
            }
            let heard = ear.listen(&going.tag, &going.sent).await;
            steps = going
                .exchange
                .handle_channel(heard, &self.screen, around.clock.elapsed());
        }
        let now = around.clock.elapsed();
        let seen = going.exchange.delivered();
        going.delivery.see(seen, self.name, around.recorder, now);
        self.tell(&going.exchange, &mut going.told, going.stage, around, now);
    }

    /// Whether the child has ended and all it wrote was read.
    pub(super) fn is_over(&self) -> bool {
        self.exit.is_some() && self.output_ended
    }

    /// Waits for output, a deadline or the end of the child; returns when the screen is to be looked at again. Given up,
    /// it has lost nothing.
    pub(super) async fn wait(
        &mut self,
        deadline: Option<Duration>,
        around: &mut Around<'_>,
    ) -> Result<(), PaneError> {
        let now = around.clock.elapsed();
        // The frame of a screen that was left open has a deadline of its own, and so has the output of a dead child.
        let last_words = self.last_words.filter(|_| !self.output_ended);
        let due = [
            deadline,
            self.screen.next_deadline(),
            last_words,
            around.progress.next_frame(),
        ];
        let due = due
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(now + Duration::from_secs(3600));
        self.batch.clear();
        tokio::select! {
            biased;
            signal = around.signals.next() => return Err(PaneError::Interrupted(signal)),
            happened = self.pty.next(&mut self.batch) => match happened.map_err(PaneError::Terminal)? {
                Happened::Output(_) => self.take_output(around),
                Happened::Ended => self.output_ended = true,
                Happened::Exited(exit) => {
                    self.exit = Some(exit);
                    // A process it left behind may write on and on.
                    self.last_words = Some(around.clock.elapsed() + LAST_WORDS);
                    let (code, signal) = match exit {
                        pty::Exit::Code(code) => (Some(code), None),
                        pty::Exit::Signal(signal) => (None, Some(signal)),
                    };
                    around.recorder.end_pane(self.recording, around.clock.elapsed(), code, signal);
                    self.screen.end();
                }
            },
            () = sleep_until(around.clock.instant(due)) => {}
        }
        let now = around.clock.elapsed();
        if last_words.is_some_and(|last| now >= last) {
            self.output_ended = true;
        }
        if self
            .screen
            .next_deadline()
            .is_some_and(|deadline| now >= deadline)
        {
            self.screen.wake(now);
        }
        around.progress.tick(now);
        Ok(())
    }

    /// Feeds what the child wrote to its screen, and gives it the answers a terminal owes it.
    fn take_output(&mut self, around: &mut Around<'_>) {
        let now = around.clock.elapsed();
        self.screen.feed(&self.batch, now);
        around.recorder.output(self.recording, now, &self.batch);
        let replies = self.screen.take_replies();
        if !replies.is_empty() {
            self.write(&replies, around);
        }
    }

    /// Performs a step; tells whether it asks for the channel.
    fn perform(&mut self, step: Step, delivery: &mut Delivery, around: &mut Around<'_>) -> bool {
        let now = around.clock.elapsed();
        match step {
            Step::Type(bytes) => {
                delivery.begin(self.name, around.recorder, now);
                self.write(&bytes, around);
                delivery.typed(&bytes, self.recording, around.recorder, now);
                false
            }
            Step::Resize(size) => {
                if size.rows < self.screen.size().rows {
                    // What only the taller window held was read just now, and is to be found again.
                    around.recorder.marker(self.recording, now, "settled");
                }
                // A terminal that cannot be resized keeps its size, and the screen with it.
                if self.pty.resize(size.cols, size.rows).is_ok() {
                    self.screen.resize(size, now);
                    around.recorder.resize(self.recording, now, size);
                }
                false
            }
            Step::AskChannel => true,
        }
    }

    fn write(&mut self, bytes: &[u8], around: &mut Around<'_>) {
        tracing::trace!(pane = self.name, bytes = bytes.len(), "typed");
        // A child that reads nothing fills the queue; the exchange then finds its text unsent and says so.
        match self.pty.queue(bytes) {
            Ok(()) => around
                .recorder
                .input(self.recording, around.clock.elapsed(), bytes),
            Err(full) => tracing::warn!(
                waiting = full.waiting,
                "the child does not read its terminal"
            ),
        }
    }

    /// Tells the log and the person what was newly seen.
    fn tell(
        &self,
        exchange: &Exchange,
        told: &mut Told,
        stage: &str,
        around: &mut Around<'_>,
        now: Duration,
    ) {
        let status = exchange.status();
        // Between two states nothing is told: a frame on its way says nothing worth a line.
        if status.activity != Activity::Unclear && status.activity != told.activity {
            told.activity = status.activity;
            let (activity, rule) = (status.activity.word(), status.rule);
            tracing::debug!(pane = self.name, stage, activity, rule, "pane judged");
        }
        let busy = matches!(told.activity, Activity::Busy | Activity::Blocked);
        let note = if busy { told.activity.word() } else { "" };
        let since = told.since(stage, now);
        around.progress.show(
            Shown {
                name: stage,
                since: Some(since),
                note,
            },
            now,
        );
    }

    /// Ends the child and all it started. Returns whether nothing of it is left.
    pub async fn stop(mut self, around: &mut Around<'_>) -> bool {
        if self.exit.is_none() {
            around
                .recorder
                .marker(self.recording, around.clock.elapsed(), "quit");
        }
        let gone = match self.pty.kill_group(GRACE).await {
            Ok(killed) => {
                if self.exit.is_none()
                    && let Some(exit) = killed.exit
                {
                    let (code, signal) = match exit {
                        pty::Exit::Code(code) => (Some(code), None),
                        pty::Exit::Signal(signal) => (None, Some(signal)),
                    };
                    around
                        .recorder
                        .end_pane(self.recording, around.clock.elapsed(), code, signal);
                }
                killed.survivors.is_empty()
            }
            Err(error) => {
                tracing::error!(%error, "the peer could not be ended");
                false
            }
        };
        tracing::info!(pane = self.name, gone, "pane ended");
        gone
    }
}
