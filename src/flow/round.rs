//! Rounds without a console: start the peer, brief it, ask, read the answer, stop it (systems.md A.4, A.5; `discuss`,
//! `ask-review` and `brief` with `--headless`).

use std::sync::Arc;
use std::time::Duration;

use super::answer;
use super::channel::Ear;
use super::compose::{self, Ask, Asked};
use super::config::{self, Workplace};
use super::failure::{Failure, because};
use super::launch::{self, Prepared, PrivateFolder};
use super::pane::{Around, Pane, PaneError};
use super::peer::{self, Finder, Version};
use super::recorder::{Opening, Recorder};
use super::talk::{self, Desk, Next, PEER, Seen, Stop, Talk};
use crate::cli::{Exit, Options};
use crate::config::{Profile, Seat, Settings};
use crate::limits;
use crate::pairing::{Ending, Exchange};
use crate::recording::result::Round;
use crate::recording::session::State;
use crate::screen::Size;
use crate::world::clock::{Clock, WallTime};
use crate::world::signals::Signals;
use crate::world::terminal::{Progress, Step};
use crate::world::{environment, files, tree};

/// Longest wait for the recording to be on disk at the end.
const CLOSE: Duration = Duration::from_secs(2);
/// The peer's window where neither a flag nor the profile says another.
const SIZE: (u16, u16) = (120, 50);

/// What is said where a console would be needed.
pub const NO_CONSOLE: &str =
    "no console runs for this repository; add --headless to start a peer for this one round";

/// Runs what is asked, one after the other with one peer, and hands each result to `show` as soon as it is known; the
/// peer is stopped behind the last.
pub async fn run(
    asked: &[Asked],
    place: &Workplace,
    options: &Options,
    show: impl FnMut(&Round),
) -> Result<(), Failure> {
    let settings =
        config::settings(place, options).map_err(|faults| Failure::of(Exit::Usage, &faults))?;
    let profile = peer::profile(&settings, &settings.peer.value)?;
    let read = |asked: &Asked| match asked {
        Asked::Brief { .. } => Ok(String::new()),
        Asked::Discuss { message, .. } => compose::words(message),
    };
    let words = asked.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    // Only now: an interruption ends by itself what waits for standard input.
    let mut signals = Signals::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let mut asks = Vec::new();
    for (asked, words) in asked.iter().zip(words) {
        asks.push(match asked {
            Asked::Brief { force } => Ask::Brief { force: *force },
            Asked::Discuss { kind, diff, .. } => {
                let composed = tokio::select! {
                    biased;
                    signal = signals.next() => {
                        let what = format!("{}; nothing was started", because(signal));
                        return Err(Failure::new(Exit::Interrupted, what));
                    }
                    composed = compose::compose(words, diff.as_ref(), place) => composed?,
                };
                Ask::Message(compose::word_of(*kind), composed)
            }
        });
    }
    let mut session = Session::open(&settings, profile, place, options);
    let ended = session.run(&asks, &mut signals, show).await;
    session.close(&ended);
    ended
}

/// A headless session: its recording and its progress line.
pub(super) struct Session<'a> {
    settings: &'a Settings,
    pub(super) profile: Arc<Profile>,
    place: &'a Workplace,
    options: &'a Options,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    progress: Progress,
    /// What the launch needs on disk, for as long as the peer lives.
    private: Option<PrivateFolder>,
    tree: Option<tree::Tree>,
}

/// The peer of a session, and the conversation with it.
pub(super) struct Partner {
    pub(super) pane: Pane,
    pub(super) ear: Ear,
    pub(super) talk: Talk,
    pub(super) version: Version,
}

impl<'a> Session<'a> {
    pub(super) fn open(
        settings: &'a Settings,
        profile: Profile,
        place: &'a Workplace,
        options: &'a Options,
    ) -> Self {
        let clock = Clock::start();
        let worktree = place.root.as_deref().unwrap_or(&place.folder);
        let key = place.repository_key();
        let state = files::Places::from_env(environment::variable).state();
        let mut progress = Progress::on_stderr(options.progress == crate::cli::Progress::None);
        progress.show(
            Step {
                name: "starting",
                since: Some(clock.elapsed()),
                note: &profile.name,
            },
            clock.elapsed(),
        );
        let recorder = Recorder::open(&Opening {
            state: state.as_ref().ok().cloned(),
            repo: &key,
            worktree,
            codriver: env!("CARGO_PKG_VERSION"),
            started: WallTime::now().since_epoch(),
        });
        tracing::info!(
            session = recorder.id(),
            harness = profile.name,
            "session opened"
        );
        let mut session = Self {
            settings,
            profile: Arc::new(profile),
            place,
            options,
            clock,
            recorder,
            progress,
            private: None,
            tree: place.root.clone().map(tree::Tree::new),
        };
        if let Err(error) = state {
            session.warn(&format!("nothing is recorded: {error}"));
        }
        for diagnostic in &settings.diagnostics {
            session.warn(&diagnostic.to_string());
        }
        session
    }

    /// Says one thing beside the progress line.
    pub(super) fn warn(&mut self, text: &str) {
        self.progress.clear();
        crate::world::terminal::say(&format!("codriver: {text}"));
    }

    pub(super) fn pass_on_warnings(&mut self) {
        for warning in self.recorder.take_warnings() {
            self.warn(&warning);
        }
    }

    async fn run(
        &mut self,
        asks: &[Ask],
        signals: &mut Signals,
        mut show: impl FnMut(&Round),
    ) -> Result<(), Failure> {
        self.pass_on_warnings();
        let mut partner = self.start(signals)?;
        let mut outcome = Ok(());
        for ask in asks {
            let answer = self.answer(ask, &mut partner, signals).await;
            self.pass_on_warnings();
            match answer {
                Ok(round) => {
                    self.progress.clear();
                    show(&round);
                    for remark in answer::remarks(&round) {
                        self.warn(&remark);
                    }
                }
                Err(failure) => {
                    outcome = Err(failure);
                    break;
                }
            }
        }
        self.stop(partner.pane, signals).await;
        outcome
    }

    /// Starts the peer and opens the conversation with it.
    pub(super) fn start(&mut self, signals: &mut Signals) -> Result<Partner, Failure> {
        let prepared = launch::prepare(
            &self.profile,
            Seat::Peer,
            self.place,
            self.recorder.folder(),
            None,
        )?;
        let Prepared {
            launch,
            mut ear,
            allows,
            folder,
            warnings,
        } = prepared;
        self.private = Some(folder);
        let profile = Arc::clone(&self.profile);
        let finder = Finder {
            role: PEER,
            profile: &profile,
            settings: self.settings,
            place: self.place,
        };
        let program = finder.find(&launch)?;
        // Not of an agent that is not even there.
        for warning in warnings {
            self.warn(&warning);
        }
        let size = self
            .options
            .size
            .or(profile.size)
            .unwrap_or(Size::new(SIZE.0, SIZE.1));
        let scrollback = self.settings.scrollback.value;
        let started = Pane::start(
            PEER,
            &launch,
            Arc::clone(&profile),
            size,
            scrollback,
            &mut self.around(signals),
        );
        let pane = started.map_err(|error| finder.unstartable(&error))?;
        ear.started(pane.pid());
        let opening = talk::Opening {
            profile: Arc::clone(&profile),
            worktree: self.worktree().to_path_buf(),
            timeout: self.options.timeout.unwrap_or(self.settings.timeout.value),
            require: self.settings.require_tag.value,
        };
        Ok(Partner {
            version: Version::ask(&profile, &program, &launch),
            talk: Talk::open(opening, &launch, allows),
            pane,
            ear,
        })
    }

    pub(super) fn around<'b>(&'b mut self, signals: &'b mut Signals) -> Around<'b> {
        Around {
            clock: &self.clock,
            signals,
            progress: &mut self.progress,
            recorder: &mut self.recorder,
        }
    }

    pub(super) fn worktree(&self) -> &'a std::path::Path {
        self.place.root.as_deref().unwrap_or(&self.place.folder)
    }

    /// One thing that is asked, to its answer.
    async fn answer(
        &mut self,
        ask: &Ask,
        partner: &mut Partner,
        signals: &mut Signals,
    ) -> Result<Round, Failure> {
        let before = self.fingerprint().await;
        let mut next = partner.talk.begin(ask.clone(), before, &mut self.desk());
        loop {
            let turn = match next {
                Next::Exchange(turn) => turn,
                Next::Over(result) => return *result,
                Next::Said(_) => unreachable!("only rounds are asked for here"),
            };
            let mut around = self.around(signals);
            let Partner {
                pane, ear, talk, ..
            } = partner;
            let ended = pane
                .exchange(turn.order, turn.stage, turn.round, ear, &mut around)
                .await;
            let (exchange, ending) = match ended {
                Ok(ended) => ended,
                Err(PaneError::Interrupted(signal)) => {
                    return Err(talk.stop(&Stop::Signal(signal), &mut self.desk()));
                }
                Err(PaneError::Terminal(error)) => {
                    return Err(talk.stop(&Stop::Terminal(error), &mut self.desk()));
                }
            };
            next = self.conclude(&exchange, &ending, partner).await;
        }
    }

    /// Takes in how an exchange ended; tells what comes next.
    pub(super) async fn conclude(
        &mut self,
        exchange: &Exchange,
        ending: &Ending,
        partner: &mut Partner,
    ) -> Next {
        let Partner {
            pane,
            talk,
            version,
            ..
        } = partner;
        let mut after = None;
        let mut desk = self.desk();
        if let Ending::Answered(_) = ending {
            let ended = desk.now;
            desk.recorder.marker(pane.recording(), ended, "settled");
            after = self.fingerprint().await;
            desk = self.desk();
            // The answer came before the tree was looked at.
            desk.now = ended;
        }
        talk.learn_version(version.known().await.map(str::to_owned));
        let seen = Seen::of(exchange, pane.screen(), pane.exit());
        talk.handle_end(&seen, ending, after, &mut desk)
    }

    pub(super) fn desk(&mut self) -> Desk<'_> {
        Desk {
            now: self.clock.elapsed(),
            recorder: &mut self.recorder,
        }
    }

    pub(super) async fn fingerprint(&mut self) -> Option<String> {
        match &mut self.tree {
            Some(tree) => tree.fingerprint(limits::TREE_TIME).await,
            None => None,
        }
    }

    /// Ends the peer and all it started.
    pub(super) async fn stop(&mut self, pane: Pane, signals: &mut Signals) {
        let stopping = Step {
            name: "stopping",
            since: None,
            note: "",
        };
        self.progress.show(stopping, self.clock.elapsed());
        let gone = pane.stop(&mut self.around(signals)).await;
        self.progress.clear();
        if !gone {
            self.warn("some process of the peer could not be ended");
        }
    }

    /// Ends the recording and takes the private folder away.
    pub(super) fn close(&mut self, ended: &Result<(), Failure>) {
        // What the launch needed is of no use to anybody else.
        self.private = None;
        let state = match ended {
            Err(failure) if failure.exit == Exit::Interrupted => State::Interrupted,
            _ => State::Closed,
        };
        self.recorder.close(self.clock.elapsed(), state, CLOSE);
        self.pass_on_warnings();
        self.progress.clear();
    }
}
