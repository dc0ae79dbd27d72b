//! The conversation with one peer (systems.md A.4, A.5): which exchange comes next, and what an ended one comes to.
//!
//! It does not wait. Whoever carries the bytes, with or without a console, begins each exchange it asks for and hands
//! back how it ended; the texts, events and receipts of a round are recorded here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::compose::Ask;
use super::failure::{Failure, because, quote};
use super::pane::Launch;
use super::recorder::Recorder;
use super::runners::Start;
use crate::cli::Exit;
use crate::config::{Profile, RequireTag};
use crate::confine::Lock;
use crate::limits;
use crate::pairing::{
    self, Activity, Delivered, Ending, Exchange, Heard, Judgement, Order, Status, Way, message,
    submission,
};
use crate::plain;
use crate::recording::digest::Digest;
use crate::recording::event::Event;
use crate::recording::fallback::{Fallback, FallbackReceipt};
use crate::recording::receipt::{Body, Outcome, RoundReceipt, Texts};
use crate::recording::result::{
    Delivery, Peer, ROUND_SCHEMA, Reading, Round, Route, SourceReading, Span, Tree,
};
use crate::recording::word::{Agreement, Kind, Source, Verdict};
use crate::runner::{Answer, Runner};
use crate::screen::Screen;
use crate::world::clock::WallTime;
use crate::world::signals::Signal;
use crate::world::{pty, random};

/// The pane the peer runs in.
pub(super) const PEER: &str = "peer";

/// What a conversation is opened with.
#[derive(Debug)]
pub(super) struct Opening {
    /// The peer's profile.
    pub profile: Arc<Profile>,
    /// The repository, or the folder, under review.
    pub worktree: PathBuf,
    /// Longest wait for an answer.
    pub timeout: Duration,
    /// When an answer must carry its tag.
    pub require: RequireTag,
}

/// What a step of the conversation is recorded with.
pub(super) struct Desk<'a> {
    /// The session's recording.
    pub recorder: &'a mut Recorder,
    /// The time of the session.
    pub now: Duration,
}

/// An exchange that is to be carried out.
#[derive(Debug)]
pub(super) struct Turn {
    /// What is typed and waited for.
    pub order: Order,
    /// What a person is told meanwhile: `starting`, `briefing` or `waiting`.
    pub stage: &'static str,
    /// The round's number; 0 for a reset or a brief.
    pub round: u32,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    /// This exchange.
    Exchange(Turn),
    /// Nothing: what was asked for has its answer, or none.
    Over(Box<Result<Round, Failure>>),
    /// Nothing: a text was said, and this is what was answered.
    Said(Said),
}

/// What was answered to a text that is no round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// The answer as the screen shows it.
    pub reply: String,
    /// The last rows of the pane, when nothing was answered.
    pub tail: Option<String>,
}

/// What is known of an exchange that ended, beside its ending.
#[derive(Debug)]
pub(super) struct Seen {
    /// What was seen of the typing.
    pub delivered: Delivered,
    /// What the peer was doing.
    pub status: Status,
    /// The last rows of its screen.
    pub tail: Vec<String>,
    /// How the child ended, if it did.
    pub exit: Option<pty::Exit>,
}

impl Seen {
    /// Looks at an exchange and the screen it was held on.
    pub(super) fn of(exchange: &Exchange, screen: &Screen, exit: Option<pty::Exit>) -> Self {
        Self {
            delivered: exchange.delivered(),
            status: exchange.status(),
            tail: tail(screen),
            exit,
        }
    }
}

/// Why a round was stopped from outside.
#[derive(Debug)]
pub(super) enum Stop {
    /// A request to stop the program.
    Signal(Signal),
    /// The person no longer waits; the peer is left as it is.
    Person,
    /// The terminal failed.
    Terminal(std::io::Error),
}

/// Where an ask stands.
#[derive(Debug)]
enum Stage {
    Reset,
    Brief(Facts),
    Message(Facts),
    Say(Facts),
}

/// A round that was sent to a runner.
#[derive(Debug)]
pub(super) struct Sent {
    facts: Facts,
    runner: Runner,
    /// What it is asked.
    pub prompt: String,
    /// What its transcript is named by when it tells no session of its own.
    pub session_id: String,
}

impl Sent {
    /// The round's number.
    pub(super) fn round(&self) -> u32 {
        self.facts.number
    }
}

/// A receipt that was written, or was to be.
#[derive(Debug)]
pub(super) enum Written {
    /// Of a round.
    Round(Option<String>, Box<RoundReceipt>),
    /// Of a fallback.
    Fallback(Option<String>, FallbackReceipt),
}

/// The conversation with one peer.
#[derive(Debug)]
pub(super) struct Talk {
    opening: Opening,
    /// Digest of how the peer was launched; nothing's digest before that.
    launch: Digest,
    scrubbed: Vec<String>,
    /// What keeps the peer from writing.
    lock: Lock,
    /// What the launch lets the peer do, in words.
    allows: String,
    version: Option<String>,
    /// Whether the peer agreed to its brief; with the peer, this ends.
    briefed: bool,
    /// Rounds since then.
    round: u32,
    /// Where their numbers begin: behind the last round of the session that is gone on with.
    first: u32,
    /// Briefs and messages so far, for the names of their texts.
    exchanges: u32,
    /// The working tree before the exchange.
    before: Option<String>,
    current: Option<(Ask, Stage)>,
    /// Longest wait for what is asked, where that is not the general one.
    timeout: Option<Duration>,
    /// Rounds since the last agreement (A.8).
    on_topic: u32,
    /// The route the present round was to go, and why it did not; none when it goes where it was to go.
    instead: Option<(Route, Fallback)>,
    /// Receipts written since they were last taken.
    written: Vec<Written>,
}

impl Talk {
    /// Opens the conversation with a peer that is launched when it is needed.
    pub(super) fn open(opening: Opening) -> Self {
        Self {
            opening,
            launch: Digest::of_list::<&[u8]>([]),
            scrubbed: Vec::new(),
            lock: Lock::None,
            allows: String::new(),
            version: None,
            briefed: false,
            round: 0,
            first: 0,
            exchanges: 0,
            before: None,
            current: None,
            timeout: None,
            on_topic: 0,
            instead: None,
            written: Vec::new(),
        }
    }

    /// Has the rounds counted from this number on.
    pub(super) fn count_from(&mut self, last: u32) {
        self.first = last;
        self.round = last;
    }

    /// Takes in that the peer was launched, perhaps anew: a mark of its brief died with the old one (A.4).
    pub(super) fn launched(&mut self, launch: &Launch, allows: String) {
        self.launch = digest_of(launch);
        self.scrubbed.clone_from(&launch.scrubbed);
        self.lock = launch.lock;
        self.allows = allows;
        self.briefed = false;
    }

    /// Sets the longest wait for what is begun next, where that is not the general one.
    pub(super) fn wait_for(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Takes in the version of the peer's program.
    pub(super) fn learn_version(&mut self, version: Option<String>) {
        self.version = version.or(self.version.take());
    }

    /// Whether something is being asked.
    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// Whether the peer agreed to its brief.
    pub(super) fn is_briefed(&self) -> bool {
        self.briefed
    }

    /// How the peer is confined, in a word.
    pub(super) fn confined(&self) -> &'static str {
        self.lock.word()
    }

    /// The receipts written since the last call, each with its id when it could be written.
    pub(super) fn take_receipts(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.written)
    }

    /// Begins a round that goes to a runner: the brief, the message and a tag in one text (interface.md 2). `before` is
    /// the fingerprint of the working tree.
    ///
    /// # Errors
    ///
    /// When no tag could be made.
    pub(super) fn begin_elsewhere(
        &mut self,
        runner: Runner,
        (kind, words): (Kind, &str),
        before: Option<String>,
        desk: &mut Desk<'_>,
    ) -> Result<Sent, Failure> {
        self.before = before;
        let tag = new_tag()?;
        let worktree = plain::display(&self.opening.worktree.to_string_lossy(), 4096);
        let prompt = message::in_one(runner.name(), &worktree, kind, words, &tag);
        let number = self.round + 1;
        let (facts, _) = self.begin_exchange(kind, number, tag, prompt.clone(), desk);
        Ok(Sent {
            session_id: format!("{}.{}", desk.recorder.id(), facts.name),
            facts,
            runner,
            prompt,
        })
    }

    /// Makes the result and the receipt of a runner's answer, read by the rules for a harness's own text.
    pub(super) fn answered_elsewhere(
        &mut self,
        sent: Sent,
        asked: &str,
        answer: &Answer,
        start: Start,
        after: Option<String>,
        desk: &mut Desk<'_>,
    ) -> Round {
        let Sent {
            mut facts, runner, ..
        } = sent;
        let text = &answer.text;
        let channel = facts.file("channel");
        facts.texts.channel = Some(desk.recorder.text(&channel, text));
        let exact = pairing::read_alone(text, facts.tag.as_deref(), self.opening.require);
        let reading = match exact.reason {
            Some(reason) => Reading::unparsed(reason, exact.rationale.clone(), text.clone()),
            None => Reading::decided(exact.verdict, exact.rationale.clone())
                .expect("a reading without a reason has a verdict"),
        };
        let rationale = facts.file("rationale");
        facts.texts.rationale = Some(desk.recorder.text(&rationale, reading.rationale()));
        let tree = Tree::between(self.before.clone(), after.clone());
        self.before = after;
        self.round = facts.number;
        self.on_topic += 1;
        let mut round = Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: desk.recorder.id().to_owned(),
            pane: PEER.to_owned(),
            round: facts.number,
            kind: facts.kind,
            reading,
            raw_tail: None,
            source: Source::Channel,
            checked_by: None,
            agreement: Agreement::None,
            readings: Vec::new(),
            complete: exact.reason.is_none(),
            ambiguous: exact.ambiguous,
            tagged: exact.tagged,
            already: false,
            rounds_on_topic: self.on_topic,
            human: None,
            peer: Peer {
                harness: runner.name().to_owned(),
                version: None,
                confined: Some(start.lock.word().to_owned()),
            },
            route: Route {
                asked: asked.to_owned(),
                ran: runner.name().to_owned(),
            },
            fallback: self.fallback(),
            tree,
            delivery: facts.delivery,
            started_at: facts.wall.utc(),
            elapsed_ms: millis(desk.now.saturating_sub(facts.started)),
            receipt: None,
            recording: None,
        };
        let told = Event::Reply {
            pane: PEER.to_owned(),
            round: facts.number,
            source: Source::Channel,
            text: Digest::of(text.as_bytes()),
            rule: "runner".to_owned(),
        };
        desk.recorder.event(desk.now, told);
        let mut body = self.receipt_body(&facts, Outcome::Answered, Some(&round), desk);
        body.launch = start.digest.unwrap_or_else(|| Digest::of_list::<&[u8]>([]));
        body.scrubbed = start.scrubbed;
        body.recording = None;
        round.receipt = self.write(body, desk);
        if round.reading.verdict() == Verdict::Agree {
            self.on_topic = 0;
        }
        self.tell_verdict(&round, "runner", desk);
        round
    }

    /// Writes the one receipt of a route that did not answer; the round that follows carries it (C.8).
    ///
    /// # Errors
    ///
    /// When it could not be written: nothing goes on then.
    pub(super) fn fell_back(
        &mut self,
        asked: &str,
        ran: &str,
        why: Fallback,
        desk: &mut Desk<'_>,
    ) -> Result<(), Failure> {
        let receipt = FallbackReceipt {
            at: WallTime::now().utc(),
            role: PEER.to_owned(),
            asked: asked.to_owned(),
            why: why.clone(),
            ran: ran.to_owned(),
        };
        let id = desk
            .recorder
            .receipt(Body::Fallback(Box::new(receipt.clone())));
        let told = Event::Fallback {
            role: PEER.to_owned(),
            asked: asked.to_owned(),
            ran: ran.to_owned(),
            reason: why.reason(),
            receipt: id.clone(),
        };
        desk.recorder.event(desk.now, told);
        tracing::info!(asked, ran, reason = why.reason().code(), "fell back");
        self.instead = Some((
            Route {
                asked: asked.to_owned(),
                ran: ran.to_owned(),
            },
            why,
        ));
        let is_written = id.is_some();
        self.written.push(Written::Fallback(id, receipt));
        if is_written {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Error,
            format!(
                "{asked} did not answer, and the receipt of that could not be written, so nothing took its place; see that the state folder can be written"
            ),
        ))
    }

    /// The fingerprint of the working tree before what is being asked.
    pub(super) fn before(&self) -> Option<String> {
        self.before.clone()
    }

    /// Takes in that what was asked is over, whatever came of it: the next one goes where it is to go.
    pub(super) fn close_way(&mut self) {
        self.instead = None;
    }

    fn route(&self) -> Route {
        let instead = self.instead.as_ref();
        instead.map_or_else(Route::host, |(route, _)| route.clone())
    }

    fn fallback(&self) -> Option<Fallback> {
        self.instead.as_ref().map(|(_, why)| why.clone())
    }

    /// Begins what is asked: a brief (A.4), or a message with the brief before it where there was none yet (A.5).
    /// `before` is the fingerprint of the working tree.
    pub(super) fn begin(&mut self, ask: Ask, before: Option<String>, desk: &mut Desk<'_>) -> Next {
        self.before = before;
        match &ask {
            Ask::Brief { force: false } if self.briefed => {
                Next::Over(Box::new(Ok(self.already_briefed(desk))))
            }
            Ask::Message(..) if self.briefed => self.begin_message(ask, desk),
            Ask::Say(_) => self.begin_say(ask, desk),
            Ask::Brief { .. } | Ask::Message(..) => {
                self.briefed = false;
                self.begin_reset(ask, desk)
            }
        }
    }

    /// Takes in how the exchange ended that was asked for last. `after` is the fingerprint of the working tree behind
    /// an answer.
    ///
    /// # Panics
    ///
    /// When no exchange was asked for.
    pub(super) fn handle_end(
        &mut self,
        seen: &Seen,
        ending: &Ending,
        after: Option<String>,
        desk: &mut Desk<'_>,
    ) -> Next {
        let (ask, stage) = self.current.take().expect("an exchange was asked for");
        match (stage, ending) {
            (Stage::Reset, Ending::Settled) => {
                let reset = Event::Reset {
                    pane: PEER.to_owned(),
                    settled: seen.status.activity == Activity::Rest,
                };
                desk.recorder.event(desk.now, reset);
                self.begin_brief(ask, desk)
            }
            (Stage::Reset, ending) => {
                let mut facts = Facts::new(Kind::Brief, 0, None, desk.now);
                facts.hear(seen);
                over(Err(self.fail(&facts, ending, seen, desk)))
            }
            (Stage::Brief(mut facts), Ending::Answered(heard)) => {
                facts.hear(seen);
                let brief = self.conclude(facts, heard, seen, after, desk);
                // Only an agreement makes the pane a briefed one, and counts its rounds anew.
                if brief.reading.verdict() == Verdict::Agree {
                    self.briefed = true;
                    self.round = self.first;
                }
                match ask {
                    Ask::Brief { .. } => over(Ok(brief)),
                    Ask::Message(kind, _) if !self.briefed => over(Ok(unbriefed(brief, kind))),
                    Ask::Message(..) => self.begin_message(ask, desk),
                    Ask::Say(_) => unreachable!("a text is said without a brief"),
                }
            }
            (Stage::Message(mut facts), Ending::Answered(heard)) => {
                facts.hear(seen);
                self.round = facts.number;
                self.on_topic += 1;
                let round = self.conclude(facts, heard, seen, after, desk);
                if round.reading.verdict() == Verdict::Agree {
                    self.on_topic = 0;
                }
                over(Ok(round))
            }
            (Stage::Say(_), Ending::Answered(heard)) => Next::Said(said(heard, seen)),
            (Stage::Say(mut facts), ending) => {
                facts.hear(seen);
                over(Err(self.unsaid(&facts, ending, seen, desk)))
            }
            (Stage::Brief(mut facts) | Stage::Message(mut facts), ending) => {
                facts.hear(seen);
                over(Err(self.fail(&facts, ending, seen, desk)))
            }
        }
    }

    /// Ends what is asked from outside, and records it. What was not begun is only told.
    pub(super) fn stop(&mut self, stop: &Stop, desk: &mut Desk<'_>) -> Failure {
        let facts = match self.current.take() {
            Some((_, Stage::Brief(facts) | Stage::Message(facts))) => facts,
            Some((_, Stage::Say(_))) => {
                let what = "the wait was stopped; what the peer answers is not read";
                return Failure::new(Exit::Interrupted, what);
            }
            Some((_, Stage::Reset)) | None => Facts::new(Kind::Brief, 0, None, desk.now),
        };
        let how = match stop {
            Stop::Signal(signal) => format!(
                "{}; the peer is stopped, and the receipt says so",
                because(*signal)
            ),
            Stop::Person => {
                "you stopped waiting; the peer goes on, and what it answers is not read".to_owned()
            }
            Stop::Terminal(error) => {
                self.receipt(&facts, Outcome::Ended, None, desk);
                return Failure::new(Exit::Error, format!("the peer's terminal failed: {error}"));
            }
        };
        let pane = Some(PEER.to_owned());
        desk.recorder.event(desk.now, Event::Interrupted { pane });
        self.receipt(&facts, Outcome::Interrupted, None, desk);
        Failure::new(Exit::Interrupted, how)
    }

    /// Asks for a new conversation where the agent has a command for it (A.4). That it does not come to rest afterwards
    /// is no fault.
    fn begin_reset(&mut self, ask: Ask, desk: &mut Desk<'_>) -> Next {
        if self.opening.profile.reset_command.is_empty() {
            return self.begin_brief(ask, desk);
        }
        self.current = Some((ask, Stage::Reset));
        Next::Exchange(Turn {
            order: self.order(self.opening.profile.reset_command.clone(), Way::Command),
            stage: "starting",
            round: 0,
        })
    }

    fn begin_brief(&mut self, ask: Ask, desk: &mut Desk<'_>) -> Next {
        let tag = match new_tag() {
            Ok(tag) => tag,
            Err(failure) => return over(Err(failure)),
        };
        let worktree = self.opening.worktree.to_string_lossy();
        let text = message::brief(
            self.opening.profile.display_name(),
            &plain::display(&worktree, 4096),
            &self.allows,
            &tag,
        );
        let (facts, order) = self.begin_exchange(Kind::Brief, 0, tag, text, desk);
        self.current = Some((ask, Stage::Brief(facts)));
        Next::Exchange(Turn {
            order,
            stage: "briefing",
            round: 0,
        })
    }

    /// Types a text as it is. It is no round: it bears no tag, it is not counted, and there is no receipt of it.
    fn begin_say(&mut self, ask: Ask, desk: &mut Desk<'_>) -> Next {
        let Ask::Say(text) = &ask else {
            unreachable!("only a text is said");
        };
        let order = self.order(text.clone(), Way::Say);
        self.exchanges += 1;
        let name = format!("{:02}-said.txt", self.exchanges);
        desk.recorder.text(&name, text);
        let facts = Facts::new(Kind::Question, 0, None, desk.now);
        self.current = Some((ask, Stage::Say(facts)));
        Next::Exchange(Turn {
            order,
            stage: "waiting",
            round: 0,
        })
    }

    fn begin_message(&mut self, ask: Ask, desk: &mut Desk<'_>) -> Next {
        let Ask::Message(kind, words) = &ask else {
            unreachable!("only a message is sent as one");
        };
        let tag = match new_tag() {
            Ok(tag) => tag,
            Err(failure) => return over(Err(failure)),
        };
        let (kind, number) = (*kind, self.round + 1);
        let text = message::round(kind, words, &tag);
        let (facts, order) = self.begin_exchange(kind, number, tag, text, desk);
        self.current = Some((ask, Stage::Message(facts)));
        Next::Exchange(Turn {
            order,
            stage: "waiting",
            round: number,
        })
    }

    /// Records that one brief or one message is on its way.
    fn begin_exchange(
        &mut self,
        kind: Kind,
        number: u32,
        tag: String,
        text: String,
        desk: &mut Desk<'_>,
    ) -> (Facts, Order) {
        let mut facts = Facts::new(kind, number, Some(tag.clone()), desk.now);
        self.exchanges += 1;
        let word = if kind == Kind::Brief {
            "brief"
        } else {
            "round"
        };
        facts.name = format!("{:02}-{word}", self.exchanges);
        facts.texts.sent = Some(desk.recorder.text(&facts.file("sent"), &text));
        let begun = Event::RoundStarted {
            pane: PEER.to_owned(),
            round: number,
            kind,
            tag: tag.clone(),
            sent: Digest::of(text.as_bytes()),
        };
        desk.recorder.event(desk.now, begun);
        (facts, self.order(text, Way::Message { tag }))
    }

    fn order(&self, text: String, way: Way) -> Order {
        Order {
            text,
            way,
            timeout: self.timeout.unwrap_or(self.opening.timeout),
            require: self.opening.require,
        }
    }

    /// The answer to a brief that was given before: nothing is sent (A.4).
    fn already_briefed(&self, desk: &Desk<'_>) -> Round {
        Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: desk.recorder.id().to_owned(),
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
            rounds_on_topic: self.on_topic,
            human: None,
            peer: self.peer(),
            route: self.route(),
            fallback: self.fallback(),
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
            harness: self.opening.profile.name.clone(),
            version: self.version.clone(),
            confined: Some(self.confined().to_owned()),
        }
    }

    /// Makes the result and the receipt of an answer.
    fn conclude(
        &mut self,
        mut facts: Facts,
        heard: &Heard,
        seen: &Seen,
        after: Option<String>,
        desk: &mut Desk<'_>,
    ) -> Round {
        let ended = desk.now;
        let answer = &heard.answer;
        let tree = Tree::between(self.before.clone(), after.clone());
        self.before = after;
        keep_texts(&mut facts, heard, desk.recorder);
        let reading = match answer.reason {
            Some(reason) => Reading::unparsed(reason, answer.rationale.clone(), answer.raw.clone()),
            None => Reading::decided(answer.verdict, answer.rationale.clone())
                .expect("an answer without a reason has a verdict"),
        };
        let mut round = Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: desk.recorder.id().to_owned(),
            pane: PEER.to_owned(),
            round: facts.number,
            kind: facts.kind,
            reading,
            raw_tail: answer.raw.trim().is_empty().then(|| seen.tail.join("\n")),
            source: answer.source,
            checked_by: answer.checked_by.map(str::to_owned),
            agreement: answer.agreement,
            readings: readings(heard),
            complete: answer.complete,
            ambiguous: answer.ambiguous,
            tagged: answer.tagged,
            already: false,
            rounds_on_topic: self.on_topic,
            human: None,
            peer: self.peer(),
            route: self.route(),
            fallback: self.fallback(),
            tree,
            delivery: facts.delivery,
            started_at: facts.wall.utc(),
            elapsed_ms: millis(ended.saturating_sub(facts.started)),
            receipt: None,
            recording: span(&facts, desk),
        };
        let told = Event::Reply {
            pane: PEER.to_owned(),
            round: facts.number,
            source: answer.source,
            text: Digest::of(answer.raw.as_bytes()),
            rule: heard.rule.to_owned(),
        };
        desk.recorder.event(ended, told);
        round.receipt = self.receipt(&facts, Outcome::Answered, Some(&round), desk);
        self.tell_verdict(&round, heard.rule, desk);
        round
    }

    fn tell_verdict(&self, round: &Round, rule: &str, desk: &mut Desk<'_>) {
        let verdict = round.reading.verdict();
        let told = Event::Verdict {
            pane: PEER.to_owned(),
            round: round.round,
            verdict,
            reason: round.reading.reason(),
            receipt: round.receipt.clone(),
            recording: round.recording.clone(),
        };
        desk.recorder.event(desk.now, told);
        tracing::info!(round = round.round, %verdict, rule, "round answered");
    }

    /// Writes the receipt of a round, however it ended.
    fn receipt(
        &mut self,
        facts: &Facts,
        outcome: Outcome,
        round: Option<&Round>,
        desk: &mut Desk<'_>,
    ) -> Option<String> {
        let body = self.receipt_body(facts, outcome, round, desk);
        self.write(body, desk)
    }

    fn write(&mut self, body: RoundReceipt, desk: &mut Desk<'_>) -> Option<String> {
        let body = Box::new(body);
        let id = desk.recorder.receipt(Body::Round(body.clone()));
        self.written.push(Written::Round(id.clone(), body));
        id
    }

    fn receipt_body(
        &self,
        facts: &Facts,
        outcome: Outcome,
        round: Option<&Round>,
        desk: &Desk<'_>,
    ) -> RoundReceipt {
        let peer = round.map_or_else(|| self.peer(), |round| round.peer.clone());
        RoundReceipt {
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
            route: round.map_or_else(|| self.route(), |round| round.route.clone()),
            fallback: self.fallback(),
            harness: peer.harness,
            version: peer.version,
            confined: peer.confined,
            launch: self.launch.clone(),
            scrubbed: self.scrubbed.clone(),
            delivery: facts.delivery,
            tree: round.map_or_else(
                || Tree::between(self.before.clone(), None),
                |round| round.tree.clone(),
            ),
            texts: facts.texts.clone(),
            started_at: facts.wall.utc(),
            elapsed_ms: millis(desk.now.saturating_sub(facts.started)),
            recording: span(facts, desk),
        }
    }

    /// Says why a text that is no round got no answer.
    fn unsaid(&self, facts: &Facts, ending: &Ending, seen: &Seen, desk: &mut Desk<'_>) -> Failure {
        let (_, event, failure) = self.outcome(facts, ending, seen);
        desk.recorder.event(desk.now, event);
        failure
    }

    /// Records a round that got no answer, and says what to do.
    fn fail(
        &mut self,
        facts: &Facts,
        ending: &Ending,
        seen: &Seen,
        desk: &mut Desk<'_>,
    ) -> Failure {
        let (outcome, event, failure) = self.outcome(facts, ending, seen);
        tracing::info!(round = facts.number, ?outcome, "round without an answer");
        desk.recorder.event(desk.now, event);
        self.receipt(facts, outcome, None, desk);
        failure
    }

    fn outcome(&self, facts: &Facts, ending: &Ending, seen: &Seen) -> (Outcome, Event, Failure) {
        match ending {
            Ending::Blocked { dialog } => self.blocked(dialog),
            Ending::TimedOut {
                judgement,
                tail,
                starting,
            } => self.timed_out(facts, judgement, tail, *starting),
            Ending::Unsent(why) => unsent(facts, why, seen),
            Ending::Ended { tail } => self.ended(tail, seen.exit),
            Ending::Answered(_) | Ending::Settled => unreachable!("these endings are no failures"),
        }
    }

    fn blocked(&self, dialog: &[String]) -> (Outcome, Event, Failure) {
        let profile = &self.opening.profile;
        let event = Event::Blocked {
            pane: PEER.to_owned(),
            rule: "blocked_regex".to_owned(),
        };
        let what = format!(
            "the peer ({}) waits at a dialog, and nothing was typed at it:\n{}\nstart {} yourself, answer what it asks, and try again",
            profile.name,
            quote(dialog),
            profile.display_name(),
        );
        (Outcome::Blocked, event, Failure::new(Exit::Dialog, what))
    }

    fn timed_out(
        &self,
        facts: &Facts,
        judgement: &Judgement,
        tail: &[String],
        starting: bool,
    ) -> (Outcome, Event, Failure) {
        let name = &self.opening.profile.name;
        let what = if starting {
            format!("the peer ({name}) was not ready for input in time")
        } else {
            let time = self.timeout.unwrap_or(self.opening.timeout).as_secs_f64();
            format!("the peer ({name}) did not finish within {time} s")
        };
        let activity = judgement.activity.word();
        let event = Event::Timeout {
            pane: PEER.to_owned(),
            round: facts.number,
            state: activity.to_owned(),
            rule: judgement.rule.to_owned(),
        };
        let what = format!(
            "{what}: pane `{PEER}` is {activity} by the rule {}; its last lines:\n{}",
            judgement.rule,
            quote(tail),
        );
        (Outcome::Timeout, event, Failure::new(Exit::TimedOut, what))
    }

    fn ended(&self, tail: &[String], exit: Option<pty::Exit>) -> (Outcome, Event, Failure) {
        let how = match exit {
            Some(pty::Exit::Code(code)) => format!("ended with status {code}"),
            Some(pty::Exit::Signal(signal)) => format!("was ended by signal {signal}"),
            None => "closed its terminal".to_owned(),
        };
        let event = Event::Notice {
            text: format!("peer {how}"),
        };
        let what = format!(
            "the peer ({}) {how}; its last lines:\n{}",
            self.opening.profile.name,
            quote(tail)
        );
        (Outcome::Ended, event, Failure::new(Exit::PeerEnded, what))
    }
}

fn said(heard: &Heard, seen: &Seen) -> Said {
    let reply = heard.reading.raw.clone();
    let tail = reply.is_empty().then(|| seen.tail.join("\n"));
    Said { reply, tail }
}

fn unsent(facts: &Facts, why: &str, seen: &Seen) -> (Outcome, Event, Failure) {
    let event = Event::Unsent {
        pane: PEER.to_owned(),
        round: facts.number,
    };
    let what = format!(
        "unsent: {why}; the peer's last lines:\n{}",
        quote(&seen.tail)
    );
    (Outcome::Unsent, event, Failure::new(Exit::Error, what))
}

/// What a receipt needs to know of a round beside its answer.
#[derive(Debug)]
struct Facts {
    kind: Kind,
    number: u32,
    tag: Option<String>,
    /// What the round's texts are named by.
    name: String,
    started: Duration,
    wall: WallTime,
    texts: Texts,
    delivery: Delivery,
}

impl Facts {
    fn new(kind: Kind, number: u32, tag: Option<String>, started: Duration) -> Self {
        Self {
            kind,
            number,
            tag,
            name: String::new(),
            started,
            wall: WallTime::now(),
            texts: Texts::default(),
            delivery: Delivery::default(),
        }
    }

    fn hear(&mut self, seen: &Seen) {
        let Delivered {
            pasted,
            submitted,
            turn_started,
        } = seen.delivered;
        self.delivery = Delivery {
            pasted,
            submitted,
            turn_started,
        };
    }

    fn file(&self, what: &str) -> String {
        format!("{}-{what}.txt", self.name)
    }
}

fn over(result: Result<Round, Failure>) -> Next {
    Next::Over(Box::new(result))
}

fn new_tag() -> Result<String, Failure> {
    let random = random::bytes().map_err(|error| Failure::of(Exit::Error, &error))?;
    Ok(message::tag(random))
}

fn digest_of(launch: &Launch) -> Digest {
    Digest::of_list(launch.argv.iter().map(|word| word.as_encoded_bytes()))
}

fn span(facts: &Facts, desk: &Desk<'_>) -> Option<Span> {
    let recorded = desk.recorder.folder().is_some();
    recorded.then(|| Span::new("peer.cast", facts.started, desk.now))
}

/// Keeps what each source said, and what came of it.
fn keep_texts(facts: &mut Facts, heard: &Heard, recorder: &mut Recorder) {
    let screen = facts.file("screen");
    facts.texts.screen = Some(recorder.text(&screen, &heard.reading.raw));
    let channel = heard.channel.as_ref();
    if let Some(text) = channel.and_then(|channel| channel.text.as_ref()) {
        let name = facts.file("channel");
        facts.texts.channel = Some(recorder.text(&name, text));
    }
    if !heard.submitted.is_empty() {
        let tag = facts.tag.clone().unwrap_or_default();
        let handed_in = heard.submitted.iter();
        let lines: String = handed_in
            .filter_map(|one| submission(&tag, &one.review, one.verdict).ok())
            .collect();
        let name = facts.file("submitted");
        facts.texts.submitted = Some(recorder.text(&name, &lines));
    }
    let rationale = facts.file("rationale");
    facts.texts.rationale = Some(recorder.text(&rationale, &heard.answer.rationale));
}

/// What two sources said that do not agree.
fn readings(heard: &Heard) -> Vec<SourceReading> {
    let both = heard
        .answer
        .readings
        .iter()
        .flat_map(|[screen, channel]| [(Source::Screen, screen), (Source::Channel, channel)]);
    both.map(|(source, (verdict, rationale))| SourceReading {
        source,
        verdict: *verdict,
        rationale: rationale.clone(),
    })
    .collect()
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

/// The last rows of a screen that hold something.
fn tail(screen: &Screen) -> Vec<String> {
    let rows: Vec<String> = screen
        .visible()
        .into_iter()
        .map(|line| line.text)
        .filter(|text| !text.is_empty())
        .collect();
    rows[rows.len().saturating_sub(limits::TAIL_LINES)..].to_vec()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
