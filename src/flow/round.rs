//! Rounds without a console: start the peer, brief it, ask, read the answer, stop it (systems.md A.4, A.5; `discuss`,
//! `ask-review` and `brief` with `--headless`).

use std::sync::Arc;
use std::time::Duration;

use super::answer;
use super::channel::Ear;
use super::compose::{self, Ask, Asked};
use super::config::{self, Workplace};
use super::confine::{self, Confinement, Shut};
use super::failure::{Failure, because};
use super::launch::{self, Prepared, PrivateFolder};
use super::pane::{Around, Pane, PaneError};
use super::peer::{self, Finder, Version};
use super::recorder::{Opening, Recorder};
use super::runners::{self, Errand};
use super::talk::{self, Desk, Next, PEER, Seen, Stop, Talk};
use crate::cli::{Exit, Options};
use crate::config::{Profile, Seat, Settings};
use crate::limits;
use crate::pairing::{Ending, Exchange};
use crate::recording::fallback::{FailureKind, Fallback};
use crate::recording::result::Round;
use crate::recording::session::State;
use crate::recording::word::Kind;
use crate::route::{self, After, Host, Plan, Role, Route};
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
    let confinement = confine::find(&profile, &settings, place, options)?;
    let mut session = Session::open(&settings, profile, place, options, confinement);
    let ended = session.run(&asks, &mut signals, show).await;
    session.close(ended.as_ref().err());
    ended
}

/// A headless session: its recording and its progress line.
pub(super) struct Session<'a> {
    pub(super) settings: &'a Settings,
    pub(super) profile: Arc<Profile>,
    pub(super) place: &'a Workplace,
    pub(super) options: &'a Options,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    progress: Progress,
    /// What the launch needs on disk, for as long as the peer lives.
    private: Option<PrivateFolder>,
    /// What keeps the peer from writing.
    confinement: Confinement,
    tree: Option<tree::Tree>,
    pub(super) talk: Talk,
    /// The peer, once somebody needed it.
    partner: Option<Partner>,
}

/// The peer of a session.
pub(super) struct Partner {
    pub(super) pane: Pane,
    pub(super) ear: Ear,
    pub(super) version: Version,
}

impl<'a> Session<'a> {
    pub(super) fn open(
        settings: &'a Settings,
        profile: Profile,
        place: &'a Workplace,
        options: &'a Options,
        confinement: Confinement,
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
        let profile = Arc::new(profile);
        let opening = talk::Opening {
            profile: Arc::clone(&profile),
            worktree: worktree.to_path_buf(),
            timeout: options.timeout.unwrap_or(settings.timeout.value),
            require: settings.require_tag.value,
        };
        let mut session = Self {
            settings,
            profile,
            place,
            options,
            clock,
            recorder,
            progress,
            private: None,
            confinement,
            tree: place.root.clone().map(tree::Tree::new),
            talk: Talk::open(opening),
            partner: None,
        };
        if let Err(error) = state {
            session.warn(&format!("nothing is recorded: {error}"));
        }
        if let Some(warning) = session.confinement.warning() {
            session.warn(&warning);
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

    /// Says what is being done, on the progress line.
    pub(super) fn show_step(&mut self, name: &'static str, note: &str) {
        let now = self.clock.elapsed();
        let step = Step {
            name,
            since: Some(now),
            note,
        };
        self.progress.show(step, now);
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
        let mut outcome = Ok(());
        for ask in asks {
            let answer = self.answer(ask, signals).await;
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
        self.stop(signals).await;
        outcome
    }

    /// One thing that is asked, to its answer, along its route (interface.md 2).
    async fn answer(&mut self, ask: &Ask, signals: &mut Signals) -> Result<Round, Failure> {
        let asked = self.settings.routes.of_role(Role::Peer);
        let Ask::Message(kind, words) = ask else {
            return self.by_host(ask, signals).await;
        };
        let host = self.host();
        let fallback_host = self.settings.routes.fallback_host;
        // With nothing routed and nothing to stand in, the host says itself why it is not there.
        if asked == Route::Host && (host == Host::There || fallback_host.is_none()) {
            return self.by_host(ask, signals).await;
        }
        let plan = route::plan(asked, host, fallback_host)?;
        let answer = self.along(&plan, ask, (*kind, words), signals).await;
        self.talk.close_way();
        answer
    }

    /// Whether there is an agent that could be the host.
    pub(super) fn host(&self) -> Host {
        match peer::is_there(&self.profile, self.place) {
            true => Host::There,
            false => Host::Missing,
        }
    }

    async fn along(
        &mut self,
        plan: &Plan,
        ask: &Ask,
        message: (Kind, &str),
        signals: &mut Signals,
    ) -> Result<Round, Failure> {
        runners::must_record(&self.recorder)?;
        let first = match self
            .elsewhere(plan.first, plan.asked, message, signals)
            .await?
        {
            Ok(round) => return Ok(round),
            Err(why) => why,
        };
        let after = plan.after(first.kind);
        let told = runners::did_not_answer(plan.first, &first);
        let Some(why) = Fallback::new(first.kind, first.detail.clone()) else {
            return Err(Failure::new(
                Exit::Error,
                format!("{told}; nothing took its place, so try again later"),
            ));
        };
        let is_interrupted = first.kind == FailureKind::Interrupted;
        self.talk.fell_back(
            plan.asked.name(),
            // Nobody waits for the round any more.
            if is_interrupted { "none" } else { after.ran() },
            why,
            &mut Desk {
                now: self.clock.elapsed(),
                recorder: &mut self.recorder,
            },
        )?;
        if is_interrupted {
            return Err(Failure::new(
                Exit::Interrupted,
                format!("{told}; the receipt says so"),
            ));
        }
        let second = match after {
            After::TakesOver(route) => route,
            After::StaysOpen | After::Nothing => {
                return Err(Failure::new(
                    Exit::Error,
                    format!("{told}; nothing else is set to take its place"),
                ));
            }
        };
        self.warn(&format!("{told}; {second} takes over"));
        let both = |failure: &dyn std::fmt::Display| format!("{told}; and {second}: {failure}");
        match second {
            Route::Host => self
                .by_host(ask, signals)
                .await
                .map_err(|failure| Failure::new(failure.exit, both(&failure))),
            route => match self.elsewhere(route, plan.asked, message, signals).await? {
                Ok(round) => Ok(round),
                Err(why) => Err(Failure::new(
                    runners::exit_of(why.kind),
                    both(&runners::did_not_answer(route, &why)),
                )),
            },
        }
    }

    /// Sends a round to a runner.
    async fn elsewhere(
        &mut self,
        route: Route,
        asked: Route,
        (kind, words): (Kind, &str),
        signals: &mut Signals,
    ) -> Result<Result<Round, crate::runner::Broken>, Failure> {
        let Route::Runner(runner) = route else {
            unreachable!("a pairing round goes to the host or to a runner");
        };
        let before = self.fingerprint().await;
        let mut desk = Desk {
            now: self.clock.elapsed(),
            recorder: &mut self.recorder,
        };
        let sent = self
            .talk
            .begin_elsewhere(runner, (kind, words), before, &mut desk)?;
        let dir = self.worktree().to_path_buf();
        let time = runners::time(self.options.timeout);
        let request = runners::round(dir, &sent.session_id, &sent.prompt, time)?;
        self.show_step("waiting", runner.name());
        let session = self.recorder.folder().map(std::path::Path::to_path_buf);
        let errand = Errand {
            runner,
            request: &request,
            writes: false,
            settings: self.settings,
            place: self.place,
            session: session.as_deref(),
            options: self.options,
        };
        let stop = async {
            signals.next().await;
        };
        let ran = runners::run(&errand, stop).await?;
        let ended = self.clock.elapsed();
        runners::keep(ran.transcript.as_ref(), &mut self.recorder)?;
        let answer = match ran.result {
            Ok(answer) => answer,
            Err(broken) => return Ok(Err(broken)),
        };
        let after = self.fingerprint().await;
        let mut desk = Desk {
            now: ended,
            recorder: &mut self.recorder,
        };
        let round =
            self.talk
                .answered_elsewhere(sent, asked.name(), &answer, ran.start, after, &mut desk);
        Ok(Ok(round))
    }

    /// One thing that is asked of the peer in its pane, which is started for it.
    pub(super) async fn by_host(
        &mut self,
        ask: &Ask,
        signals: &mut Signals,
    ) -> Result<Round, Failure> {
        let mut partner = match self.partner.take() {
            Some(partner) => partner,
            None => self.start(signals)?,
        };
        let answer = self.converse(ask, &mut partner, signals).await;
        self.partner = Some(partner);
        answer
    }

    /// Starts the peer and opens the conversation with it.
    pub(super) fn start(&mut self, signals: &mut Signals) -> Result<Partner, Failure> {
        let prepared = launch::prepare(
            &self.profile,
            Seat::Peer,
            self.place,
            self.recorder.folder(),
            None,
            Shut {
                lock: self.confinement.lock,
                settings: self.settings,
                show: &[],
            },
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
            &program,
            Arc::clone(&profile),
            size,
            scrollback,
            &mut self.around(signals),
        );
        let pane = started.map_err(|error| finder.unstartable(&error))?;
        ear.started(pane.pid());
        self.talk.launched(&launch, allows);
        Ok(Partner {
            version: Version::ask(&profile, &program, &launch),
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

    /// One thing that is asked of the peer, to its answer.
    async fn converse(
        &mut self,
        ask: &Ask,
        partner: &mut Partner,
        signals: &mut Signals,
    ) -> Result<Round, Failure> {
        let before = self.fingerprint().await;
        let (talk, mut desk) = self.talk_at();
        let mut next = talk.begin(ask.clone(), before, &mut desk);
        loop {
            let turn = match next {
                Next::Exchange(turn) => turn,
                Next::Over(result) => return *result,
                Next::Said(_) => unreachable!("only rounds are asked for here"),
            };
            let mut around = self.around(signals);
            let Partner { pane, ear, .. } = partner;
            let ended = pane
                .exchange(turn.order, turn.stage, turn.round, ear, &mut around)
                .await;
            let (exchange, ending) = match ended {
                Ok(ended) => ended,
                Err(PaneError::Interrupted(signal)) => {
                    return Err(self.give_up(&Stop::Signal(signal)));
                }
                Err(PaneError::Terminal(error)) => {
                    return Err(self.give_up(&Stop::Terminal(error)));
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
        let Partner { pane, version, .. } = partner;
        // The answer came before the tree is looked at.
        let ended = self.clock.elapsed();
        let mut after = None;
        if let Ending::Answered(_) = ending {
            self.recorder.marker(pane.recording(), ended, "settled");
            after = self.fingerprint().await;
        }
        let version = version.known().await.map(str::to_owned);
        let seen = Seen::of(exchange, pane.screen(), pane.exit());
        let (talk, mut desk) = self.talk_at();
        desk.now = ended;
        talk.learn_version(version);
        talk.handle_end(&seen, ending, after, &mut desk)
    }

    /// The conversation, and what a step of it is recorded with now.
    pub(super) fn talk_at(&mut self) -> (&mut Talk, Desk<'_>) {
        let desk = Desk {
            now: self.clock.elapsed(),
            recorder: &mut self.recorder,
        };
        (&mut self.talk, desk)
    }

    /// Ends what is asked from outside.
    pub(super) fn give_up(&mut self, stop: &Stop) -> Failure {
        let (talk, mut desk) = self.talk_at();
        talk.stop(stop, &mut desk)
    }

    pub(super) async fn fingerprint(&mut self) -> Option<String> {
        match &mut self.tree {
            Some(tree) => tree.fingerprint(limits::TREE_TIME).await,
            None => None,
        }
    }

    /// Ends the peer, if it was started, and all it started.
    pub(super) async fn stop(&mut self, signals: &mut Signals) {
        match self.partner.take() {
            Some(Partner { pane, .. }) => self.end(pane, signals).await,
            None => self.progress.clear(),
        }
    }

    /// Ends a peer and all it started.
    pub(super) async fn end(&mut self, pane: Pane, signals: &mut Signals) {
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
    pub(super) fn close(&mut self, why: Option<&Failure>) {
        // What the launch needed is of no use to anybody else.
        self.private = None;
        let state = match why {
            Some(failure) if failure.exit == Exit::Interrupted => State::Interrupted,
            _ => State::Closed,
        };
        self.recorder.close(self.clock.elapsed(), state, CLOSE);
        self.pass_on_warnings();
        self.progress.clear();
    }
}
