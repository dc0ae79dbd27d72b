//! The exchange with the peer: driven by what its screen shows, ended once (systems.md A.8 to A.11).

use std::sync::Arc;
use std::time::Duration;

use super::event::{Answered, Ask, FellBack, Turn};
use super::{Action, App, Effect, Overlay, Question, Role};
use crate::pairing::{Activity, Beside, Ending, Exchange, Step};
use crate::recording::word::{Kind, Verdict};

/// How long after a key the person still counts as typing.
const TYPING: Duration = Duration::from_secs(2);

/// What is being asked of the peer.
#[derive(Debug)]
pub struct Asking {
    /// What it is about.
    pub kind: Kind,
    /// The words.
    pub words: String,
    /// The client that asked; none for the person.
    pub by: Option<String>,
    /// When it was asked.
    pub since: Duration,
    /// `composing`, `starting`, `briefing`, `waiting`, or the runner that was asked.
    pub stage: &'static str,
    /// The round's number; 0 until the message is on its way.
    pub round: u32,
    /// Whether the first look at a stage is over: a stretched window shows the old picture.
    exchange: Option<Exchange>,
    /// Whether the ending was told.
    is_told: bool,
}

impl Asking {
    /// Something was asked just now.
    pub fn new(kind: Kind, words: String, now: Duration) -> Self {
        Self {
            kind,
            words,
            by: None,
            since: now,
            stage: "composing",
            round: 0,
            exchange: None,
            is_told: false,
        }
    }

    /// The exchange, while there is one.
    pub fn exchange(&self) -> Option<&Exchange> {
        self.exchange.as_ref()
    }

    /// Whether the peer's screen is being read: it keeps its size then.
    pub fn is_reading(&self) -> bool {
        self.exchange
            .as_ref()
            .is_some_and(|exchange| exchange.status().stage == "reading")
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        let exchange = self.exchange.as_ref().filter(|_| !self.is_told)?;
        exchange.next_deadline()
    }
}

impl App {
    /// Asks something of the peer, if that can be done now.
    pub(super) fn ask(&mut self, ask: Ask, out: &mut Vec<Effect>) {
        if let Some(why) = self.cannot_ask() {
            self.say(why, true);
            return;
        }
        let (kind, words) = match &ask {
            Ask::Brief { .. } => (Kind::Brief, String::new()),
            Ask::Discuss { kind, words, .. } => (*kind, words.clone()),
            Ask::Say { text } => (Kind::Question, text.clone()),
        };
        self.asking = Some(Asking::new(kind, words, self.now));
        self.notice = None;
        self.types_to_peer = false;
        self.shows_hint = false;
        self.is_changed = true;
        out.push(Effect::Ask(ask));
    }

    /// Why nothing can be asked now.
    pub fn cannot_ask(&self) -> Option<String> {
        if self.asking.is_some() {
            return Some("a round is going on".to_owned());
        }
        if !self.peer.is_alive() {
            return Some("the peer has ended".to_owned());
        }
        if self.peer.doing.activity == Activity::Blocked {
            return Some(
                "the peer waits at a dialog: answer it first (i types into the peer)".to_owned(),
            );
        }
        None
    }

    /// An exchange begins.
    pub(super) fn turn(&mut self, turn: Turn, out: &mut Vec<Effect>) {
        let Some(asking) = &mut self.asking else {
            return;
        };
        asking.stage = turn.stage;
        asking.round = turn.round;
        asking.is_told = false;
        // A scrolled view would hide what goes on.
        if self
            .scroll
            .as_ref()
            .is_some_and(|scroll| scroll.role == Role::Peer)
        {
            self.scroll = None;
        }
        let exchange = Exchange::open(turn.order, Arc::clone(&self.peer.profile), self.now);
        asking.exchange = Some(exchange);
        self.is_changed = true;
        self.look(out);
    }

    /// Lets the exchange look at the screen.
    pub(super) fn look(&mut self, out: &mut Vec<Effect>) {
        self.drive(out, Exchange::wake);
    }

    pub(super) fn heard(&mut self, found: Beside, out: &mut Vec<Effect>) {
        self.drive(out, |exchange, screen, now| {
            exchange.handle_channel(found, screen, now)
        });
    }

    pub(super) fn peer_ended(&mut self, out: &mut Vec<Effect>) {
        self.drive(out, |exchange, screen, _| {
            exchange.handle_exit(screen);
            Vec::new()
        });
    }

    fn drive(
        &mut self,
        out: &mut Vec<Effect>,
        move_on: impl FnOnce(&mut Exchange, &crate::screen::Screen, Duration) -> Vec<Step>,
    ) {
        let now = self.now;
        let Some(asking) = &mut self.asking else {
            return;
        };
        let Some(exchange) = asking.exchange.as_mut().filter(|_| !asking.is_told) else {
            return;
        };
        for step in move_on(exchange, &self.peer.screen, now) {
            match step {
                Step::Type(bytes) => out.push(Effect::Type(bytes)),
                Step::Resize(size) => {
                    self.peer.screen.resize(size, now);
                    out.push(Effect::Resize(Role::Peer, size));
                }
                Step::AskChannel => out.push(Effect::AskChannel),
            }
        }
        if exchange.ending().is_some() {
            asking.is_told = true;
            out.push(Effect::Conclude);
        }
    }

    /// Gives the exchange that ended, to be concluded.
    pub fn take_exchange(&mut self) -> Option<(Exchange, Ending)> {
        let exchange = self.asking.as_mut()?.exchange.take()?;
        let ending = exchange.ending()?.clone();
        Some((exchange, ending))
    }

    pub(super) fn answered(&mut self, answered: Answered, out: &mut Vec<Effect>) {
        let by = self.asking.take().and_then(|asking| asking.by);
        self.is_changed = true;
        // The pane's place may be another one than when the reading began.
        self.arrange();
        let verdict = answered.round.reading.verdict();
        let kind = answered.round.kind;
        let number = answered.round.round;
        self.ledger.answer(answered);
        let entry = self.ledger.last().unwrap_or_default();
        let by_tool = by.is_some();
        if let Some(kept) = self.ledger.entries.get_mut(entry) {
            kept.by = by;
            kept.waits = by_tool && kept.is_open;
        }
        self.alert(format!("{kind} {number}: {verdict}"), out);
        if self.opening.reader {
            self.say(format!("{kind} {number}: {verdict}"), false);
        }
        if kind == Kind::Brief && verdict == Verdict::Agree {
            self.say("the peer is briefed", false);
            self.ledger.entries[entry].is_seen = true;
            return;
        }
        if verdict == Verdict::Escalate {
            let question = self.question(entry);
            self.offer(Overlay::Question(question));
        } else if !by_tool {
            // What the driver asked itself it reads itself; nothing is laid over it.
            self.offer(Overlay::Reader(super::Reader { entry, top: 0 }));
        }
        if self.ledger.is_stuck() {
            let count = self.ledger.of_topic();
            self.say(
                format!("{count} rounds on this topic without AGREE: have a look yourself"),
                true,
            );
        }
    }

    /// The peer's turn behind a text that is no round is over.
    pub(super) fn said(&mut self) {
        if self.asking.take().is_some() {
            self.arrange();
            self.is_changed = true;
        }
    }

    /// A question of the peer, put to the person.
    pub(super) fn question(&self, entry: usize) -> Question {
        let drives = self.driver.is_some() || self.ledger.waiting(entry).is_some();
        Question::new(entry, if drives { Role::Driver } else { Role::Peer })
    }

    /// Opens something over the panes, unless the person is writing: then the strip tells of it. A key that was meant
    /// for the driver must not answer anything.
    fn offer(&mut self, overlay: Overlay) {
        if self.overlay.is_none() && self.scroll.is_none() && !self.is_typing() {
            if let Overlay::Reader(reader) = &overlay
                && let Some(entry) = self.ledger.entries.get_mut(reader.entry)
            {
                entry.is_seen = true;
            }
            self.overlay = Some(overlay);
        }
    }

    /// Whether the person is typing to a child.
    fn is_typing(&self) -> bool {
        let since = self.typed.map(|at| self.now.saturating_sub(at));
        since.is_some_and(|since| since <= TYPING)
    }

    /// A route did not answer: said at once, for the round goes on elsewhere.
    pub(super) fn fell_back(&mut self, fell: FellBack) {
        let receipt = &fell.receipt;
        let words = format!(
            "{} did not answer ({}): {}; {}",
            receipt.asked,
            receipt.why.reason(),
            receipt.why.detail(),
            match receipt.ran.as_str() {
                "none" => "nothing takes over".to_owned(),
                ran => format!("{ran} takes over"),
            }
        );
        self.ledger.fallback(fell);
        self.say(words, true);
        self.is_changed = true;
    }

    pub(super) fn unanswered(&mut self, why: String, out: &mut Vec<Effect>) {
        let Some(asking) = self.asking.take() else {
            return;
        };
        self.arrange();
        let elapsed = self.now.saturating_sub(asking.since);
        let first = why.lines().next().unwrap_or_default().to_owned();
        self.ledger.nothing(
            asking.round,
            asking.kind,
            asking.words,
            why,
            u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        );
        let key = self
            .opening
            .keys
            .key_of(Action::Timeline)
            .unwrap_or_default();
        let prefix = self.opening.keys.prefix.shown();
        self.alert(first.clone(), out);
        self.say(format!("{first} · {prefix} {key} details"), true);
    }
}
