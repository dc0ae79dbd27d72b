//! One round without a console: start the peer, brief it, ask, read the answer, stop it (systems.md A.4, A.5;
//! `discuss`, `ask-review` and `brief` with `--headless`).

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::channel::Ear;
use super::config::{self, Printed, Workplace};
use super::launch::{self, Prepared, PrivateFolder};
use super::pane::{Around, Launch, Pane, PaneError};
use super::recorder::{Opening, Recorder};
use crate::cli::{AskedKind, Diff, Exit, Message, Options};
use crate::config::{Layer, Profile, Settings};
use crate::limits;
use crate::pairing::{Activity, Delivered, Ending, Exchange, Heard, Order, Way, message};
use crate::plain;
use crate::recording::digest::Digest;
use crate::recording::event::Event;
use crate::recording::receipt::{Body, Outcome, RoundReceipt, Texts};
use crate::recording::result::{
    Delivery, Peer, ROUND_SCHEMA, Reading, Round, Route, SourceReading, Span, Tree,
};
use crate::recording::session::{State, repo_key};
use crate::recording::word::{Agreement, Kind, Source, Verdict};
use crate::refusal::Refusal;
use crate::screen::Size;
use crate::world::clock::{Clock, WallTime};
use crate::world::program::ProgramError;
use crate::world::pty::{self, PtyError};
use crate::world::signals::{Signal, Signals};
use crate::world::terminal::{Progress, Step};
use crate::world::{command, environment, files, git, program, random, settings_file, tree};

/// What is asked of the peer.
#[derive(Debug, Clone)]
pub enum Asked {
    /// The brief alone.
    Brief {
        /// Also when the peer was briefed before.
        force: bool,
    },
    /// One round, the brief before it.
    Discuss {
        /// What it is about.
        kind: AskedKind,
        /// The message.
        message: Message,
        /// The diff to append.
        diff: Option<Diff>,
    },
}

/// Why a round gave no result. What is said is complete; nothing else is printed.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    what: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
        }
    }

    /// An error with what lies behind it.
    pub(super) fn of(exit: Exit, error: &dyn std::error::Error) -> Self {
        let mut what = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            what.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self { exit, what }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(Exit::Refused, refusal.to_string())
    }
}

/// The pane the peer runs in.
const PEER: &str = "peer";
/// Longest wait for the recording to be on disk at the end.
const CLOSE: Duration = Duration::from_secs(2);
/// Longest the peer may take to tell its version.
const VERSION: Duration = Duration::from_secs(5);

/// What is asked, ready to be sent.
enum Ask {
    Brief { force: bool },
    Message(Kind, String),
}

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
    let profile = peer_profile(&settings)?;
    let read = |asked: &Asked| match asked {
        Asked::Brief { .. } => Ok(String::new()),
        Asked::Discuss { message, .. } => words(message),
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
                    composed = compose(words, diff.as_ref(), place) => composed?,
                };
                Ask::Message(word_of(*kind), composed)
            }
        });
    }
    let mut session = Session::open(&settings, profile, place, options);
    let ended = session.run(&asks, &mut signals, show).await;
    session.close(&ended);
    ended
}

fn word_of(kind: AskedKind) -> Kind {
    match kind {
        AskedKind::Plan => Kind::Plan,
        AskedKind::Implementation => Kind::Implementation,
        AskedKind::Question => Kind::Question,
    }
}

/// The profile of the peer that was asked for, its general settings filled in.
fn peer_profile(settings: &Settings) -> Result<Profile, Failure> {
    let name = &settings.peer.value;
    let Some(profile) = settings.profile(name) else {
        let known: Vec<&str> = settings
            .profiles()
            .map(|profile| profile.name.as_str())
            .collect();
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "no harness is called `{}`; known are {}, and [harness.{}] in your configuration adds one",
                plain::display(name, limits::QUOTE_BYTES),
                known.join(", "),
                plain::display(name, 40),
            ),
        ));
    };
    let mut profile = profile.clone();
    profile.fill_in(settings.quiet.value, settings.tail_lines.value);
    Ok(profile)
}

/// What the person says, from wherever it comes.
fn words(message: &Message) -> Result<String, Failure> {
    match message {
        Message::Words(words) => Ok(words.clone()),
        Message::File(path) => read(std::fs::File::open(path), &shown(path)),
        Message::Input => read(Ok(std::io::stdin()), "standard input"),
        Message::None => Ok(String::new()),
    }
}

/// The message as it will be sent, diff and all.
async fn compose(words: String, diff: Option<&Diff>, place: &Workplace) -> Result<String, Failure> {
    let text = match diff {
        None => words,
        Some(diff) => {
            let (revision, against) = match diff {
                Diff::Head => (None, "the working tree against the last commit".to_owned()),
                Diff::Revision(rev) => (
                    Some(rev.as_str()),
                    format!("the working tree against {}", plain::display(rev, 80)),
                ),
            };
            let change = git::diff(&place.folder, revision, limits::GIT_TIME)
                .await
                .map_err(|error| {
                    let exit = if matches!(error, git::GitError::NothingChanged) {
                        Exit::Refused
                    } else {
                        Exit::Error
                    };
                    let hint = match error {
                        git::GitError::NoRepository(_) => {
                            "; --diff needs one, a message alone does not"
                        }
                        _ => "",
                    };
                    Failure::new(exit, format!("--diff: {}{hint}", Failure::of(exit, &error)))
                })?;
            message::with_diff(&words, &change, &against)
        }
    };
    Ok(message::admit(&text)?)
}

fn shown(path: &Path) -> String {
    format!(
        "`{}`",
        plain::display(&path.to_string_lossy(), limits::QUOTE_BYTES)
    )
}

/// Reads a message, but no more of it than is needed to refuse it.
fn read(source: std::io::Result<impl Read>, name: &str) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(
            Exit::Error,
            format!("the message cannot be read from {name}: {error}"),
        )
    };
    let mut bytes = Vec::new();
    let bound = limits::MESSAGE_BYTES as u64 * 4;
    source
        .map_err(unreadable)?
        .take(bound)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(Exit::Error, format!("the message from {name} is not UTF-8 text; convert it, or name the file in a message"))
    })
}

/// A headless session: its recording, its peer, and the round that is being run.
struct Session<'a> {
    settings: &'a Settings,
    profile: Arc<Profile>,
    place: &'a Workplace,
    options: &'a Options,
    clock: Clock,
    recorder: Recorder,
    progress: Progress,
    /// What the launch needs on disk, for as long as the peer lives.
    private: Option<PrivateFolder>,
    tree: Option<tree::Tree>,
    before: Option<String>,
    /// What the launch lets the peer do, in words.
    allows: String,
    /// Whether the peer agreed to its brief; with the peer, this ends.
    briefed: bool,
    /// Rounds since then.
    round: u32,
    /// Briefs and messages so far, for the names of their texts.
    exchanges: u32,
    version: Option<tokio::task::JoinHandle<Option<String>>>,
    known_version: Option<String>,
}

impl<'a> Session<'a> {
    fn open(
        settings: &'a Settings,
        profile: Profile,
        place: &'a Workplace,
        options: &'a Options,
    ) -> Self {
        let clock = Clock::start();
        let worktree = place.root.as_deref().unwrap_or(&place.folder);
        let key = repo_key(worktree);
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
            before: None,
            allows: String::new(),
            briefed: false,
            round: 0,
            exchanges: 0,
            version: None,
            known_version: None,
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
    fn warn(&mut self, text: &str) {
        self.progress.clear();
        crate::world::terminal::say(&format!("codriver: {text}"));
    }

    fn pass_on_warnings(&mut self) {
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
        let prepared = launch::prepare(&self.profile, self.place, self.recorder.folder())?;
        let Prepared {
            launch,
            mut ear,
            allows,
            folder,
            warnings,
        } = prepared;
        self.allows = allows;
        self.private = Some(folder);
        for warning in warnings {
            self.warn(&warning);
        }
        let program = self.program(&launch)?;
        let size = self
            .options
            .size
            .or(self.profile.size)
            .unwrap_or(Size::new(120, 50));
        let mut around = Around {
            clock: &self.clock,
            signals,
            progress: &mut self.progress,
            recorder: &mut self.recorder,
        };
        let pane = Pane::start(
            PEER,
            &launch,
            Arc::clone(&self.profile),
            size,
            self.settings.scrollback.value,
            &mut around,
        );
        let mut pane = pane.map_err(|error| unstartable(&error, &self.profile))?;
        self.ask_version(&program, &launch);
        ear.started(pane.pid());
        if let Some(tree) = &mut self.tree {
            self.before = tree.fingerprint(limits::TREE_TIME).await;
        }
        let mut outcome = Ok(());
        for ask in asks {
            match self
                .answer(ask, &mut pane, &launch, &mut ear, signals)
                .await
            {
                Ok(round) => {
                    self.progress.clear();
                    show(&round);
                    for remark in remarks(&round) {
                        self.warn(&remark);
                    }
                }
                Err(failure) => {
                    outcome = Err(failure);
                    break;
                }
            }
        }
        self.progress.show(
            Step {
                name: "stopping",
                since: None,
                note: "",
            },
            self.clock.elapsed(),
        );
        let mut around = Around {
            clock: &self.clock,
            signals,
            progress: &mut self.progress,
            recorder: &mut self.recorder,
        };
        let gone = pane.stop(&mut around).await;
        self.progress.clear();
        if !gone {
            self.warn("some process of the peer could not be ended");
        }
        outcome
    }

    /// A brief (A.4), or a message with the brief before it where there was none yet (A.5).
    async fn answer(
        &mut self,
        ask: &Ask,
        pane: &mut Pane,
        launch: &Launch,
        ear: &mut Ear,
        signals: &mut Signals,
    ) -> Result<Round, Failure> {
        let mut fresh = None;
        if !self.briefed || matches!(ask, Ask::Brief { force: true }) {
            self.briefed = false;
            self.reset(pane, ear, signals).await?;
            let brief = self
                .exchange(pane, launch, Kind::Brief, 0, None, ear, signals)
                .await?;
            // Only an agreement makes the pane a briefed one, and counts its rounds anew.
            if brief.reading.verdict() == Verdict::Agree {
                self.briefed = true;
                self.round = 0;
            }
            fresh = Some(brief);
        }
        match (ask, fresh) {
            (Ask::Brief { .. }, Some(brief)) => Ok(brief),
            (Ask::Brief { .. }, None) => Ok(self.already_briefed()),
            (Ask::Message(kind, _), Some(brief)) if !self.briefed => Ok(unbriefed(brief, *kind)),
            (Ask::Message(kind, message), _) => {
                let number = self.round + 1;
                let round = self
                    .exchange(pane, launch, *kind, number, Some(message), ear, signals)
                    .await?;
                self.round = number;
                Ok(round)
            }
        }
    }

    /// The answer to a brief that was given before: nothing is sent (A.4).
    fn already_briefed(&self) -> Round {
        Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: self.recorder.id().to_owned(),
            pane: PEER.to_owned(),
            round: self.round,
            kind: Kind::Brief,
            reading: Reading::decided(Verdict::Agree, "already briefed")
                .expect("AGREE is a verdict"),
            raw_tail: None,
            source: Source::Screen,
            checked_by: None,
            agreement: Agreement::None,
            readings: Vec::new(),
            complete: true,
            ambiguous: false,
            tagged: false,
            already: true,
            peer: self.peer(),
            route: Route::host(),
            tree: Tree::between(self.before.clone(), None),
            delivery: Delivery::default(),
            started_at: WallTime::now().utc(),
            elapsed_ms: 0,
            receipt: None,
            recording: None,
        }
    }

    fn peer(&self) -> Peer {
        Peer {
            harness: self.profile.name.clone(),
            version: self.known_version.clone(),
            confined: Some("none".to_owned()),
        }
    }

    /// Asks for a new conversation where the agent has a command for it (A.4). That it does not come to rest afterwards
    /// is no fault.
    async fn reset(
        &mut self,
        pane: &mut Pane,
        ear: &mut Ear,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        if self.profile.reset_command.is_empty() {
            return Ok(());
        }
        let order = Order {
            text: self.profile.reset_command.clone(),
            way: Way::Command,
            timeout: self.timeout(),
            require: self.settings.require_tag.value,
        };
        let mut around = Around {
            clock: &self.clock,
            signals,
            progress: &mut self.progress,
            recorder: &mut self.recorder,
        };
        let ended = pane.exchange(order, "starting", 0, ear, &mut around).await;
        match ended {
            Ok((exchange, Ending::Settled)) => {
                let reset = Event::Reset {
                    pane: PEER.to_owned(),
                    settled: exchange.status().activity == Activity::Rest,
                };
                self.recorder.event(self.clock.elapsed(), reset);
                Ok(())
            }
            Ok((exchange, ending)) => {
                let facts = Facts::of(&exchange, Kind::Brief, 0, None, self.clock.elapsed());
                Err(self.fail(&facts, &ending, pane))
            }
            Err(error) => {
                let facts = Facts::new(Kind::Brief, 0, None, self.clock.elapsed());
                Err(self.break_off(&facts, &error))
            }
        }
    }

    fn timeout(&self) -> Duration {
        self.options.timeout.unwrap_or(self.settings.timeout.value)
    }

    /// One brief or one message: typed, waited for, recorded, receipted.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a session that one exchange touches"
    )]
    async fn exchange(
        &mut self,
        pane: &mut Pane,
        launch: &Launch,
        kind: Kind,
        number: u32,
        message: Option<&str>,
        ear: &mut Ear,
        signals: &mut Signals,
    ) -> Result<Round, Failure> {
        let tag = message::tag(random::bytes().map_err(|error| Failure::of(Exit::Error, &error))?);
        let text = match message {
            Some(words) => message::round(kind, words, &tag),
            None => {
                let worktree = self.place.root.as_deref().unwrap_or(&self.place.folder);
                let title = if self.profile.title.is_empty() {
                    &self.profile.name
                } else {
                    &self.profile.title
                };
                message::brief(
                    title,
                    &plain::display(&worktree.to_string_lossy(), 4096),
                    &self.allows,
                    &tag,
                )
            }
        };
        let started = self.clock.elapsed();
        let mut facts = Facts::new(kind, number, Some(tag.clone()), started);
        facts.launch = Digest::of_list(launch.argv.iter().map(|word| word.as_encoded_bytes()));
        facts.scrubbed.clone_from(&launch.scrubbed);
        self.exchanges += 1;
        let word = if message.is_some() { "round" } else { "brief" };
        let name = format!("{:02}-{word}", self.exchanges);
        facts.texts.sent = Some(self.recorder.text(&format!("{name}-sent.txt"), &text));
        let begun = Event::RoundStarted {
            pane: PEER.to_owned(),
            round: number,
            kind,
            tag: tag.clone(),
            sent: Digest::of(text.as_bytes()),
        };
        self.recorder.event(started, begun);
        let order = Order {
            text,
            way: Way::Message { tag },
            timeout: self.timeout(),
            require: self.settings.require_tag.value,
        };
        let stage = if message.is_some() {
            "waiting"
        } else {
            "briefing"
        };
        let mut around = Around {
            clock: &self.clock,
            signals,
            progress: &mut self.progress,
            recorder: &mut self.recorder,
        };
        let ended = pane.exchange(order, stage, number, ear, &mut around).await;
        let (exchange, ending) = match ended {
            Ok(ended) => ended,
            Err(error) => return Err(self.break_off(&facts, &error)),
        };
        facts.hear(&exchange, self.clock.elapsed());
        match ending {
            Ending::Answered(heard) => Ok(self.conclude(facts, &heard, pane, &name).await),
            ending => Err(self.fail(&facts, &ending, pane)),
        }
    }

    /// Makes the result and the receipt of an answer.
    async fn conclude(
        &mut self,
        mut facts: Facts,
        heard: &Heard,
        pane: &Pane,
        name: &str,
    ) -> Round {
        let ended = self.clock.elapsed();
        self.recorder.marker(pane.recording(), ended, "settled");
        let answer = &heard.answer;
        let after = match &mut self.tree {
            Some(tree) => tree.fingerprint(limits::TREE_TIME).await,
            None => None,
        };
        let tree = Tree::between(self.before.clone(), after.clone());
        self.before = after;
        self.learn_version().await;
        let file = |what: &str| format!("{name}-{what}.txt");
        facts.texts.screen = Some(self.recorder.text(&file("screen"), &heard.reading.raw));
        if let Some(text) = heard
            .channel
            .as_ref()
            .and_then(|channel| channel.text.as_ref())
        {
            facts.texts.channel = Some(self.recorder.text(&file("channel"), text));
        }
        facts.texts.rationale = Some(self.recorder.text(&file("rationale"), &answer.rationale));
        let reading = match answer.reason {
            Some(reason) => Reading::unparsed(reason, answer.rationale.clone(), answer.raw.clone()),
            None => Reading::decided(answer.verdict, answer.rationale.clone())
                .expect("an answer without a reason has a verdict"),
        };
        let span = self
            .recorder
            .folder()
            .is_some()
            .then(|| Span::new("peer.cast", facts.started, ended));
        let mut round = Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: self.recorder.id().to_owned(),
            pane: PEER.to_owned(),
            round: facts.number,
            kind: facts.kind,
            reading,
            raw_tail: answer.raw.trim().is_empty().then(|| tail(pane)),
            source: answer.source,
            checked_by: answer.checked_by.map(str::to_owned),
            agreement: answer.agreement,
            readings: answer
                .readings
                .iter()
                .flat_map(|[screen, channel]| {
                    [(Source::Screen, screen), (Source::Channel, channel)].map(
                        |(source, (verdict, rationale))| SourceReading {
                            source,
                            verdict: *verdict,
                            rationale: rationale.clone(),
                        },
                    )
                })
                .collect(),
            complete: answer.complete,
            ambiguous: answer.ambiguous,
            tagged: answer.tagged,
            already: false,
            peer: self.peer(),
            route: Route::host(),
            tree,
            delivery: facts.delivery,
            started_at: facts.wall.utc(),
            elapsed_ms: millis(ended.saturating_sub(facts.started)),
            receipt: None,
            recording: span,
        };
        let told = Event::Reply {
            pane: PEER.to_owned(),
            round: facts.number,
            source: answer.source,
            text: Digest::of(answer.raw.as_bytes()),
            rule: heard.rule.to_owned(),
        };
        self.recorder.event(ended, told);
        round.receipt = self.receipt(&facts, Outcome::Answered, Some(&round));
        let verdict = Event::Verdict {
            pane: PEER.to_owned(),
            round: facts.number,
            verdict: round.reading.verdict(),
            reason: round.reading.reason(),
            receipt: round.receipt.clone(),
            recording: round.recording.clone(),
        };
        self.recorder.event(self.clock.elapsed(), verdict);
        let verdict = round.reading.verdict();
        tracing::info!(round = facts.number, %verdict, rule = heard.rule, "round answered");
        self.pass_on_warnings();
        round
    }

    /// Writes the receipt of a round, however it ended.
    fn receipt(
        &mut self,
        facts: &Facts,
        outcome: Outcome,
        round: Option<&Round>,
    ) -> Option<String> {
        let body = RoundReceipt {
            pane: PEER.to_owned(),
            round: facts.number,
            kind: facts.kind,
            outcome,
            verdict: round.map(|round| round.reading.verdict()),
            reason: round.and_then(|round| round.reading.reason()),
            tag: facts.tag.clone(),
            tagged: round.is_some_and(|round| round.tagged),
            source: round.map(|round| round.source),
            checked_by: round.and_then(|round| round.checked_by.clone()),
            agreement: round.map_or(Agreement::None, |round| round.agreement),
            complete: round.is_some_and(|round| round.complete),
            ambiguous: round.is_some_and(|round| round.ambiguous),
            route: Route::host(),
            harness: self.profile.name.clone(),
            version: self.known_version.clone(),
            confined: Some("none".to_owned()),
            launch: facts.launch.clone(),
            scrubbed: facts.scrubbed.clone(),
            delivery: facts.delivery,
            tree: round.map_or_else(
                || Tree::between(self.before.clone(), None),
                |round| round.tree.clone(),
            ),
            texts: facts.texts.clone(),
            started_at: facts.wall.utc(),
            elapsed_ms: millis(self.clock.elapsed().saturating_sub(facts.started)),
            recording: self
                .recorder
                .folder()
                .is_some()
                .then(|| Span::new("peer.cast", facts.started, self.clock.elapsed())),
        };
        self.recorder.receipt(Body::Round(Box::new(body)))
    }

    /// Records a round that got no answer, and says what to do.
    fn fail(&mut self, facts: &Facts, ending: &Ending, pane: &Pane) -> Failure {
        let now = self.clock.elapsed();
        let peer = || PEER.to_owned();
        let (outcome, event, failure) = match ending {
            Ending::Blocked { dialog } => (
                Outcome::Blocked,
                Event::Blocked {
                    pane: peer(),
                    rule: "blocked_regex".to_owned(),
                },
                Failure::new(
                    Exit::Dialog,
                    format!(
                        "the peer ({}) waits at a dialog, and nothing was typed at it:\n{}\nstart {} yourself, answer what it asks, and try again",
                        self.profile.name,
                        quote(dialog),
                        if self.profile.title.is_empty() {
                            &self.profile.name
                        } else {
                            &self.profile.title
                        },
                    ),
                ),
            ),
            Ending::TimedOut {
                judgement,
                tail,
                starting,
            } => {
                let what = if *starting {
                    format!(
                        "the peer ({}) was not ready for input in time",
                        self.profile.name
                    )
                } else {
                    format!(
                        "the peer ({}) did not finish within {} s",
                        self.profile.name,
                        self.timeout().as_secs_f64()
                    )
                };
                (
                    Outcome::Timeout,
                    Event::Timeout {
                        pane: peer(),
                        round: facts.number,
                        state: judgement.activity.word().to_owned(),
                        rule: judgement.rule.to_owned(),
                    },
                    Failure::new(
                        Exit::TimedOut,
                        format!(
                            "{what}: pane `{PEER}` is {} by the rule {}; its last lines:\n{}",
                            judgement.activity.word(),
                            judgement.rule,
                            quote(tail),
                        ),
                    ),
                )
            }
            Ending::Unsent(why) => (
                Outcome::Unsent,
                Event::Unsent {
                    pane: peer(),
                    round: facts.number,
                },
                Failure::new(
                    Exit::Error,
                    format!(
                        "unsent: {why}; the peer's last lines:\n{}",
                        quote(&visible(pane))
                    ),
                ),
            ),
            Ending::Ended { tail } => {
                let how = match pane.exit() {
                    Some(pty::Exit::Code(code)) => format!("ended with status {code}"),
                    Some(pty::Exit::Signal(signal)) => format!("was ended by signal {signal}"),
                    None => "closed its terminal".to_owned(),
                };
                (
                    Outcome::Ended,
                    Event::Notice {
                        text: format!("peer {how}"),
                    },
                    Failure::new(
                        Exit::PeerEnded,
                        format!(
                            "the peer ({}) {how}; its last lines:\n{}",
                            self.profile.name,
                            quote(tail)
                        ),
                    ),
                )
            }
            Ending::Answered(_) | Ending::Settled => unreachable!("these endings are no failures"),
        };
        tracing::info!(round = facts.number, ?outcome, "round without an answer");
        self.recorder.event(now, event);
        self.receipt(facts, outcome, None);
        self.pass_on_warnings();
        failure
    }

    /// Records a round that was stopped from outside.
    fn break_off(&mut self, facts: &Facts, error: &PaneError) -> Failure {
        let now = self.clock.elapsed();
        match error {
            PaneError::Interrupted(signal) => {
                self.recorder.event(
                    now,
                    Event::Interrupted {
                        pane: Some(PEER.to_owned()),
                    },
                );
                self.receipt(facts, Outcome::Interrupted, None);
                let how = because(*signal);
                Failure::new(
                    Exit::Interrupted,
                    format!("{how}; the peer is stopped, and the receipt says so"),
                )
            }
            PaneError::Terminal(_) => {
                self.receipt(facts, Outcome::Ended, None);
                Failure::of(Exit::Error, error)
            }
        }
    }

    /// Finds the program to start; one that lies in the repository under review is not started (0.3).
    fn program(&self, launch: &Launch) -> Result<PathBuf, Failure> {
        let word = launch.argv.first().cloned().unwrap_or_default();
        let path = launch
            .env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.clone());
        let found = program::find(&word, path.as_deref(), &launch.folder)
            .map_err(|error| self.not_found(&error))?;
        let own = environment::own_program().ok();
        if own.as_deref() != Some(found.as_path()) && self.is_under_review(&found) {
            return Err(Failure::new(
                Exit::Error,
                format!(
                    "{} lies in the repository under review, so it is not started; set harness.{}.command to a program elsewhere",
                    shown(&found),
                    self.profile.name
                ),
            ));
        }
        Ok(found)
    }

    /// Whether a program lies in the repository under review: such a one is never started.
    fn is_under_review(&self, program: &Path) -> bool {
        self.place
            .root
            .as_deref()
            .is_some_and(|root| settings_file::is_inside(program, root))
    }

    /// Says that the peer is not installed, and what is.
    fn not_found(&self, error: &ProgramError) -> Failure {
        let path = environment::variable("PATH");
        let installed: Vec<&str> = self
            .settings
            .profiles()
            .filter(|profile| !matches!(profile.name.as_str(), "demo" | "unknown"))
            .filter(|profile| {
                profile.command.first().is_some_and(|word| {
                    program::find(word.as_ref(), path.as_deref(), &self.place.folder)
                        .is_ok_and(|found| !self.is_under_review(&found))
                })
            })
            .map(|profile| profile.name.as_str())
            .collect();
        let hint = match (installed.as_slice(), self.settings.peer.origin.layer) {
            ([], _) => "no agent is installed here; `--peer demo` runs the built-in demo agent, which needs none".to_owned(),
            (found, Layer::Bundled) => format!("installed here: {}; choose one with --peer", found.join(", ")),
            (found, _) => format!("installed here: {}; `--peer demo` runs the built-in demo agent", found.join(", ")),
        };
        let error = Failure::of(Exit::Error, error);
        Failure::new(
            Exit::Error,
            format!(
                "the peer ({}) cannot be started: {error}; {hint}",
                self.profile.name
            ),
        )
    }

    /// Asks the program for its version, beside the pane and in its environment: that ends with the pane, for it bears
    /// the mark of the same launch.
    fn ask_version(&mut self, program: &Path, launch: &Launch) {
        if environment::own_program().is_ok_and(|own| own == program) {
            self.known_version = Some(env!("CARGO_PKG_VERSION").to_owned());
            return;
        }
        if self.profile.version_args.is_empty() {
            return;
        }
        let mut order = command::Order::new(program, Path::new("/"));
        order.env_clear = true;
        order.env.clone_from(&launch.env);
        // The program may be the interpreter of another one: then that one is asked.
        let words = launch.argv.iter().take(self.profile.command.len()).skip(1);
        let asked = self.profile.version_args.iter().map(OsString::from);
        order.args = words.cloned().chain(asked).collect();
        order.deadline = VERSION;
        // One that cannot be started has no version to tell.
        let Ok(asked) = command::start(&order) else {
            return;
        };
        self.version = Some(tokio::task::spawn_blocking(move || {
            let outcome = asked.wait(&order).ok()?;
            super::doctor::version_in(&String::from_utf8_lossy(&outcome.output))
        }));
    }

    /// Takes the version if it is known by now; nobody waits for it.
    async fn learn_version(&mut self) {
        if self
            .version
            .as_ref()
            .is_some_and(tokio::task::JoinHandle::is_finished)
            && let Some(version) = self.version.take()
        {
            self.known_version = version.await.ok().flatten();
        }
    }

    /// Ends the recording and takes the private folder away.
    fn close(&mut self, ended: &Result<(), Failure>) {
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

/// What a receipt needs to know of a round beside its answer.
struct Facts {
    kind: Kind,
    number: u32,
    tag: Option<String>,
    started: Duration,
    wall: WallTime,
    launch: Digest,
    scrubbed: Vec<String>,
    texts: Texts,
    delivery: Delivery,
}

impl Facts {
    fn new(kind: Kind, number: u32, tag: Option<String>, started: Duration) -> Self {
        Self {
            kind,
            number,
            tag,
            started,
            wall: WallTime::now(),
            launch: Digest::of(b""),
            scrubbed: Vec::new(),
            texts: Texts::default(),
            delivery: Delivery::default(),
        }
    }

    fn of(
        exchange: &Exchange,
        kind: Kind,
        number: u32,
        tag: Option<String>,
        now: Duration,
    ) -> Self {
        let mut facts = Self::new(kind, number, tag, now);
        facts.hear(exchange, now);
        facts
    }

    fn hear(&mut self, exchange: &Exchange, _now: Duration) {
        let Delivered {
            pasted,
            submitted,
            turn_started,
        } = exchange.delivered();
        self.delivery = Delivery {
            pasted,
            submitted,
            turn_started,
        };
    }
}

/// A request to stop, in words.
fn because(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt | Signal::InterruptAgain => "interrupted",
        Signal::Terminate => "asked to end",
        Signal::HangUp => "the terminal is gone",
    }
}

/// What is said where a console would be needed.
pub const NO_CONSOLE: &str =
    "no console runs for this repository; add --headless to start a peer for this one round";

/// The result as it is printed: as JSON, or the review as it is and its verdict below.
pub fn print(round: &Round, options: &Options) -> Printed {
    let exit = match round.reading.verdict() {
        Verdict::Agree => Exit::Done,
        Verdict::Adjust => Exit::Adjust,
        Verdict::Object => Exit::Object,
        Verdict::Escalate => Exit::Escalate,
        Verdict::Unparsed => Exit::Unparsed,
    };
    if options.json {
        let value = serde_json::to_value(round).expect("strings and numbers are always JSON");
        return Printed {
            text: format!("{value:#}\n"),
            exit,
        };
    }
    let text = round
        .reading
        .raw()
        .unwrap_or_else(|| round.reading.rationale());
    let text = plain::block(text);
    let mut out = String::new();
    if !text.trim().is_empty() {
        out.push_str(text.trim_end());
        out.push_str("\n\n");
    }
    out.push_str(&format!("VERDICT: {}", round.reading.verdict()));
    if let Some(reason) = round.reading.reason() {
        out.push_str(&format!(" ({})", reason.sentence()));
    }
    out.push('\n');
    Printed { text: out, exit }
}

/// What a person should know beside the review.
fn remarks(round: &Round) -> Vec<String> {
    let mut out = Vec::new();
    if round.round == 0 && round.kind != Kind::Brief {
        out.push("the brief was not agreed, so the message was not sent".to_owned());
    }
    for reading in &round.readings {
        let source = match reading.source {
            Source::Channel => "the harness's record",
            Source::Screen => "the screen",
        };
        out.push(format!(
            "{source} reads {}: {}",
            reading.verdict,
            plain::display(&reading.rationale, limits::QUOTE_BYTES)
        ));
    }
    if round.reading.verdict() != Verdict::Unparsed && !round.complete {
        out.push("some of the review's text may be missing".to_owned());
    }
    if round.ambiguous {
        out.push("the reply holds verdict lines with different words".to_owned());
    }
    if round.reading.verdict() != Verdict::Unparsed && !round.tagged {
        out.push("the reply does not carry this round's tag".to_owned());
    }
    if round.tree.moved == Some(true) {
        out.push("the working tree changed during the round; this blames nobody".to_owned());
    }
    out
}

/// The answer to a message that was not sent, because the brief before it was not agreed (A.5).
fn unbriefed(brief: Round, kind: Kind) -> Round {
    let said = brief.reading.rationale();
    let rationale = format!("The brief was not agreed, so the message was not sent.\n\n{said}");
    let reading = match (brief.reading.reason(), brief.reading.raw()) {
        (Some(reason), Some(raw)) => Reading::unparsed(reason, rationale, raw),
        _ => Reading::decided(brief.reading.verdict(), rationale)
            .unwrap_or_else(|| brief.reading.clone()),
    };
    Round {
        round: 0,
        kind,
        reading,
        ..brief
    }
}

/// Why the peer could not be started.
fn unstartable(error: &PtyError, profile: &Profile) -> Failure {
    let cause = Failure::of(Exit::Error, error);
    Failure::new(
        Exit::Error,
        format!("the peer ({}) cannot be started: {cause}", profile.name),
    )
}

/// Rows of a screen as a message may quote them.
fn quote(rows: &[String]) -> String {
    if rows.is_empty() {
        return "  (nothing)".to_owned();
    }
    rows.iter()
        .map(|row| format!("  {}", plain::display(row, limits::QUOTE_BYTES)))
        .collect::<Vec<_>>()
        .join("\n")
}

fn visible(pane: &Pane) -> Vec<String> {
    let lines = pane.screen().visible();
    let rows: Vec<String> = lines
        .into_iter()
        .map(|line| line.text)
        .filter(|text| !text.is_empty())
        .collect();
    rows[rows.len().saturating_sub(limits::TAIL_LINES)..].to_vec()
}

fn tail(pane: &Pane) -> String {
    visible(pane).join("\n")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
