//! One message to an agent and its answer: ready, typed, delivered, waited for, read (A.9 to A.11).
//!
//! A state machine without IO. It is told that output came, that time passed or that the child ended; it says what to
//! type, which size to take and when to ask the channel; it ends once. Nothing is typed at a dialog, and what was typed
//! is proven to have arrived before the wait begins.

use std::sync::Arc;
use std::time::Duration;

use super::agree::{self, Answer, Beside, ChannelText};
use super::echo::essence;
use super::reply::{self, Asked, Reading};
use super::rest::{Activity, Judgement, Signs, judge, normalised};
use super::submission::Submission;
use super::{extract::common_start, grammar};
use crate::config::{Channel, Profile, RequireTag};
use crate::limits;
use crate::recording::word::Verdict;
use crate::screen::{Line, Screen, Size};

/// What is to be typed and waited for.
#[derive(Debug, Clone)]
pub struct Order {
    /// The text, already admitted (A.9).
    pub text: String,
    /// How it is typed and what ends the wait.
    pub way: Way,
    /// Longest wait for the answer.
    pub timeout: Duration,
    /// When the answer must carry its tag.
    pub require: RequireTag,
}

/// The ways of typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A message that is answered with the tag.
    Message {
        /// The tag asked for.
        tag: String,
    },
    /// A text as it is, and the turn it begins; nothing is asked of the answer.
    Say,
    /// A command of the agent itself, typed key by key; rest ends it, and not coming to rest is no fault.
    Command,
}

/// What the caller is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Write these bytes to the child.
    Type(Vec<u8>),
    /// Give the child's terminal, and the screen, this size.
    Resize(Size),
    /// Look for this round in the agent's own record, and hand what is found to `handle_channel`.
    AskChannel,
}

/// How far the delivery was proven (interface.md 2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The text was seen in the input box.
    pub pasted: bool,
    /// The box was seen to let it go.
    pub submitted: bool,
    /// The turn was seen to start.
    pub turn_started: bool,
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// An answer was read.
    Answered(Box<Heard>),
    /// A command was done with.
    Settled,
    /// The text could not be delivered; says what was seen.
    Unsent(&'static str),
    /// The agent waits at a dialog, and nothing was typed at it.
    Blocked {
        /// The dialog's rows.
        dialog: Vec<String>,
    },
    /// The time ran out.
    TimedOut {
        /// What the agent was doing, and by which rule.
        judgement: Judgement,
        /// Its last rows.
        tail: Vec<String>,
        /// Whether it was never ready to take the text.
        starting: bool,
    },
    /// The child ended.
    Ended {
        /// Its last rows.
        tail: Vec<String>,
    },
}

/// An answer with all that was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// What the sources come to.
    pub answer: Answer,
    /// The screen's reading.
    pub reading: Reading,
    /// The channel's text.
    pub channel: Option<ChannelText>,
    /// What the peer handed in by its tool.
    pub submitted: Vec<Submission>,
    /// The rule that ended the wait.
    pub rule: &'static str,
}

/// What an exchange is doing, for a person who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The stage: `starting`, `sending`, `waiting` or `reading`.
    pub stage: &'static str,
    /// What the agent is doing.
    pub activity: Activity,
    /// The rule that says so.
    pub rule: &'static str,
    /// When the stage began.
    pub since: Duration,
}

/// How long an agent may take to be ready.
const READY: Duration = Duration::from_secs(60);
/// How long a text may take to show in the input box.
const SHOWN: Duration = Duration::from_secs(10);
/// After this time any change of the screen counts as the text being shown.
const SHOWN_WEAKLY: Duration = Duration::from_secs(1);
/// How long the input box may keep a submitted text before the submit key is pressed once more.
const HELD: Duration = Duration::from_secs(2);
/// How long it may keep it then, before the text counts as unsent: a machine under load takes its time.
const HELD_AT_LAST: Duration = Duration::from_secs(10);
/// How long a turn may take to be seen to start.
const STARTED: Duration = Duration::from_secs(20);
/// Longest wait for the rest behind a command.
const COMMAND: Duration = Duration::from_secs(15);
/// How long the screen must stand still before a text of an agent that swallows keys is submitted.
const SUBMIT_STILL: Duration = Duration::from_millis(150);
/// How long the redrawing of a stretched window may take.
const STRETCHED: Duration = Duration::from_secs(5);
/// Between two looks for the channel's record.
const CHANNEL_EVERY: Duration = Duration::from_millis(15);
/// Longest wait for the channel's record once the screen is at rest.
const CHANNEL: Duration = Duration::from_millis(1500);

#[derive(Debug)]
enum Phase {
    /// Waiting for the agent to take input.
    Ready,
    /// Typed, not yet submitted.
    Typed,
    /// The submit key was pressed this often.
    Submitted { tries: u8 },
    /// Waiting for the end of the turn.
    Waiting,
    /// The window was made taller, to read what it cannot hold.
    Stretched {
        back: Size,
        /// What was read before, to fall back on.
        before: Box<Reading>,
        rule: &'static str,
    },
    /// The answer was read; the channel, or a second equal reading, is waited for.
    Checking {
        reading: Box<Reading>,
        rule: &'static str,
        until: Duration,
        /// When the channel was asked last, where there is one.
        asked: Option<Duration>,
    },
    /// Over.
    Over,
}

/// One message and its answer.
#[derive(Debug)]
pub struct Exchange {
    order: Order,
    profile: Arc<Profile>,
    phase: Phase,
    /// When the phase began.
    since: Duration,
    /// When the submit key was pressed first.
    sent: Duration,
    opened: Duration,
    delivered: Delivered,
    /// The lines before the text was typed.
    before: Vec<Line>,
    /// The screen before the text was typed, or submitted, normalised.
    reference: String,
    /// The screen as last seen, normalised, and since when it has not changed.
    still: (String, Duration),
    judgement: Option<Judgement>,
    /// The last look.
    woken: Duration,
    stretched: bool,
    /// Whether the submit key of a command was pressed once more.
    pressed_again: bool,
    /// Whether the channel was given its time.
    heard_out: bool,
    channel: Option<ChannelText>,
    /// What the peer handed in by its tool.
    submitted: Vec<Submission>,
    ending: Option<Ending>,
}

impl Exchange {
    /// Opens an exchange with an agent of `profile`.
    pub fn open(order: Order, profile: Arc<Profile>, now: Duration) -> Self {
        Self {
            order,
            profile,
            phase: Phase::Ready,
            since: now,
            sent: now,
            opened: now,
            delivered: Delivered::default(),
            before: Vec::new(),
            reference: String::new(),
            still: (String::new(), now),
            judgement: None,
            woken: now,
            stretched: false,
            pressed_again: false,
            heard_out: false,
            channel: None,
            submitted: Vec::new(),
            ending: None,
        }
    }

    /// How it ended, once it has.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// How far the delivery was proven.
    pub fn delivered(&self) -> Delivered {
        self.delivered
    }

    /// What is going on.
    pub fn status(&self) -> Status {
        let stage = match self.phase {
            Phase::Ready => "starting",
            Phase::Typed | Phase::Submitted { .. } => "sending",
            Phase::Waiting => "waiting",
            Phase::Stretched { .. } | Phase::Checking { .. } | Phase::Over => "reading",
        };
        let (activity, rule) = self
            .judgement
            .as_ref()
            .map_or((Activity::Unclear, "none"), |found| {
                (found.activity, found.rule)
            });
        Status {
            stage,
            activity,
            rule,
            since: self.since,
        }
    }

    /// The next moment at which `wake` has something to do although no output came.
    pub fn next_deadline(&self) -> Option<Duration> {
        let still = self.still.1;
        let quiet = still + self.quiet();
        // What was due at the last look was looked at then.
        let later = |moments: &[Duration]| {
            let due = moments
                .iter()
                .copied()
                .filter(|moment| *moment > self.woken);
            due.min()
        };
        match &self.phase {
            Phase::Ready => later(&[quiet, self.opened + self.ready_limit()]),
            Phase::Typed => later(&[
                (self.since + self.submit_pause()).max(still + SUBMIT_STILL),
                self.since + SHOWN_WEAKLY,
                self.since + SHOWN,
            ]),
            Phase::Submitted { .. } => later(&[
                self.since + HELD,
                self.since + HELD_AT_LAST,
                quiet,
                self.deadline(),
            ]),
            Phase::Waiting if self.order.way == Way::Command => {
                later(&[quiet, self.since + HELD, self.deadline()])
            }
            Phase::Waiting => {
                let started = if self.delivered.turn_started {
                    self.deadline()
                } else {
                    self.sent + STARTED
                };
                later(&[quiet, started, self.deadline()])
            }
            Phase::Stretched { .. } => later(&[quiet, self.since + STRETCHED]),
            Phase::Checking { until, asked, .. } => match asked {
                Some(asked) if self.channel.is_none() => Some((*asked + CHANNEL_EVERY).min(*until)),
                _ => Some(*until),
            },
            Phase::Over => None,
        }
    }

    /// Takes in that the child ended.
    pub fn handle_exit(&mut self, screen: &Screen) {
        if self.ending.is_some() {
            return;
        }
        match &self.phase {
            // The turn had come to its end before, and its answer was read.
            Phase::Checking { reading, rule, .. } => {
                let (reading, rule) = (reading.as_ref().clone(), *rule);
                self.answer(reading, rule);
            }
            // What stands on the screen of a dead agent may be cut; it gives no verdict.
            _ => self.end(Ending::Ended {
                tail: rows(&screen.visible()),
            }),
        }
    }

    /// Takes in what was found in the channel.
    pub fn handle_channel(&mut self, found: Beside, screen: &Screen, now: Duration) -> Vec<Step> {
        if let Some(channel) = found.channel {
            self.channel = Some(channel);
        }
        // Each look reads all there is.
        if !found.submitted.is_empty() {
            self.submitted = found.submitted;
        }
        self.wake(screen, now)
    }

    /// Looks at the screen, after output or when a deadline has come.
    pub fn wake(&mut self, screen: &Screen, now: Duration) -> Vec<Step> {
        let mut steps = Vec::new();
        self.woken = now;
        if self.ending.is_some() {
            return steps;
        }
        if !screen.in_frame() {
            let visible = screen.visible();
            let text = normalised(&visible, &self.profile.spinner);
            if text != self.still.0 {
                self.still = (text, now);
            }
            let signs = Signs {
                visible: &visible,
                title: screen.title(),
                state: screen.agent_state(),
            };
            self.judgement = Some(judge(&signs, &self.profile));
            self.look(screen, &visible, now, &mut steps);
        }
        if self.ending.is_none()
            && now >= self.deadline()
            && !matches!(self.phase, Phase::Checking { .. } | Phase::Stretched { .. })
        {
            self.expire(screen);
        }
        steps
    }

    fn look(&mut self, screen: &Screen, visible: &[Line], now: Duration, steps: &mut Vec<Step>) {
        let Some(judgement) = self.judgement.clone() else {
            return;
        };
        let is_still = now >= self.still.1 + self.quiet();
        // A dialog must stand still too: a frame on its way may look like one.
        let typing = matches!(
            self.phase,
            Phase::Ready | Phase::Typed | Phase::Submitted { .. } | Phase::Waiting
        );
        // The text in the input box may look like a dialog's choices.
        let own =
            matches!(self.phase, Phase::Typed | Phase::Submitted { .. }) && self.box_holds(visible);
        if typing && judgement.activity == Activity::Blocked && !own {
            if is_still {
                self.end(Ending::Blocked {
                    dialog: dialog(visible),
                });
            }
            return;
        }
        match &self.phase {
            Phase::Ready => self.look_ready(screen, &judgement, is_still, now, steps),
            Phase::Typed => self.look_typed(visible, now, steps),
            Phase::Submitted { tries } => {
                let tries = *tries;
                self.look_submitted(visible, &judgement, tries, is_still, now, steps);
            }
            Phase::Waiting => self.look_waiting(screen, &judgement, is_still, now, steps),
            Phase::Stretched { .. } => self.look_stretched(screen, is_still, now, steps),
            Phase::Checking { .. } => self.look_checking(screen, now, steps),
            Phase::Over => {}
        }
    }

    fn look_ready(
        &mut self,
        screen: &Screen,
        judgement: &Judgement,
        is_still: bool,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        let rests = matches!(judgement.activity, Activity::Rest | Activity::Failed);
        if !(rests && is_still) {
            return;
        }
        self.before = screen.lines();
        self.reference = self.still.0.clone();
        let paste = screen.modes().bracketed_paste && self.order.way != Way::Command;
        steps.push(Step::Type(keys(&self.order.text, paste)));
        self.enter(Phase::Typed, now);
        self.sent = now;
        self.still.1 = now;
    }

    fn look_typed(&mut self, visible: &[Line], now: Duration, steps: &mut Vec<Step>) {
        let waited = now.saturating_sub(self.since);
        let changed = self.still.0 != self.reference;
        self.delivered.pasted |= changed && (self.box_holds(visible) || waited >= SHOWN_WEAKLY);
        if !self.delivered.pasted {
            if waited >= SHOWN {
                self.end(Ending::Unsent(
                    "the text did not show in the agent's input box",
                ));
            }
            return;
        }
        let still = !self.profile.submit_when_quiet || now >= self.still.1 + SUBMIT_STILL;
        if waited >= self.submit_pause() && still {
            self.reference = self.still.0.clone();
            self.sent = now;
            self.still.1 = now;
            steps.push(Step::Type(b"\r".to_vec()));
            self.enter(Phase::Submitted { tries: 1 }, now);
        }
    }

    fn look_submitted(
        &mut self,
        visible: &[Line],
        judgement: &Judgement,
        tries: u8,
        is_still: bool,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        let changed = self.still.0 != self.reference;
        let busy = judgement.activity == Activity::Busy;
        self.delivered.turn_started |= busy;
        let held = self.box_holds(visible);
        if busy || (changed && !held) {
            self.delivered.submitted = true;
            self.enter(Phase::Waiting, now);
            return;
        }
        let patience = if tries > 1 { HELD_AT_LAST } else { HELD };
        if now < self.since + patience || !is_still {
            return;
        }
        if tries > 1 {
            self.end(Ending::Unsent(
                "the agent's input box kept the text after the submit key was pressed twice",
            ));
            return;
        }
        steps.push(Step::Type(b"\r".to_vec()));
        self.enter(Phase::Submitted { tries: tries + 1 }, now);
    }

    fn look_waiting(
        &mut self,
        screen: &Screen,
        judgement: &Judgement,
        is_still: bool,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        match judgement.activity {
            Activity::Busy => {
                self.delivered.turn_started = true;
                return;
            }
            Activity::Unclear | Activity::Blocked => return,
            Activity::Rest | Activity::Failed => {}
        }
        if self.order.way == Way::Command {
            if is_still && !self.box_holds(&screen.visible()) {
                self.end(Ending::Settled);
            } else if is_still && now >= self.since + HELD && !self.pressed_again {
                // A menu that opened while the command was typed took the submit key for itself.
                self.pressed_again = true;
                steps.push(Step::Type(b"\r".to_vec()));
                self.enter(Phase::Waiting, now);
                self.still.1 = now;
            }
            return;
        }
        // An end mark of the agent and a whole reply: no quiet time is waited for then. Where the agent draws a row
        // behind its replies, that row must stand too, so that nothing above it is still to come.
        let marked =
            judgement.explicit && self.delivered.turn_started && self.profile.settle_ms.get() == 0;
        if !is_still && !marked {
            return;
        }
        let reading = self.read(screen);
        if !is_still {
            let whole = reading.ended
                && reading.complete
                && reading.tagged
                && reading.ends_with == Some(reading.verdict);
            if whole && reading.verdict != Verdict::Unparsed {
                self.check(reading, judgement.rule, now, steps);
            }
            return;
        }
        let answered = reading.echo && !reading.raw.is_empty();
        if !self.delivered.turn_started && !answered {
            if now >= self.sent + STARTED {
                self.end(Ending::Unsent("the agent did not start a turn"));
            }
            return;
        }
        self.delivered.turn_started = true;
        // What the alternate screen cut off has to be seen before anything else is asked.
        if screen.modes().alternate_screen
            && !(reading.echo && reading.tagged)
            && self.can_stretch(screen)
        {
            self.stretch(reading, judgement.rule, screen, now, steps);
            return;
        }
        self.check(reading, judgement.rule, now, steps);
    }

    fn can_stretch(&self, screen: &Screen) -> bool {
        !self.stretched && self.profile.stretch_rows > screen.size().rows
    }

    /// Makes the window tall for a moment, so that the agent draws what it did not hold.
    fn stretch(
        &mut self,
        before: Reading,
        rule: &'static str,
        screen: &Screen,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        self.stretched = true;
        let back = screen.size();
        self.enter(
            Phase::Stretched {
                back,
                before: Box::new(before),
                rule,
            },
            now,
        );
        self.still.1 = now;
        steps.push(Step::Resize(Size::new(
            back.cols,
            self.profile.stretch_rows,
        )));
    }

    fn look_stretched(
        &mut self,
        screen: &Screen,
        is_still: bool,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        let Phase::Stretched { back, before, rule } = &self.phase else {
            return;
        };
        if !is_still && now < self.since + STRETCHED {
            return;
        }
        let (back, before, rule) = (*back, before.as_ref().clone(), *rule);
        // Outside the alternate screen the scrollback still holds the older copy.
        let lines = if screen.modes().alternate_screen {
            screen.lines()
        } else {
            screen.visible()
        };
        let reading = self.read_lines(&lines, screen);
        steps.push(Step::Resize(back));
        let better = reading.verdict != Verdict::Unparsed || before.verdict == Verdict::Unparsed;
        let reading = if better && reading.echo {
            reading
        } else {
            before
        };
        self.check(reading, rule, now, steps);
    }

    /// Takes a reading for the answer, and waits for what may confirm it.
    fn check(
        &mut self,
        reading: Reading,
        rule: &'static str,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        let settle = Duration::from_millis(self.profile.settle_ms.get());
        // What was not there when it was looked for is not looked for again.
        let asks =
            self.profile.channel != Channel::None && !self.heard_out && self.order.way != Way::Say;
        let wait = if asks { CHANNEL.max(settle) } else { settle };
        self.enter(
            Phase::Checking {
                reading: Box::new(reading),
                rule,
                until: now + wait,
                asked: asks.then_some(now),
            },
            now,
        );
        if asks {
            steps.push(Step::AskChannel);
        }
    }

    fn look_checking(&mut self, screen: &Screen, now: Duration, steps: &mut Vec<Step>) {
        let Phase::Checking {
            reading,
            rule,
            until,
            ..
        } = &self.phase
        else {
            return;
        };
        // A turn that goes on after all was not over.
        if self
            .judgement
            .as_ref()
            .is_some_and(|found| found.activity == Activity::Busy)
        {
            self.enter(Phase::Waiting, now);
            return;
        }
        let (rule, until) = (*rule, *until);
        let first = reading.as_ref().clone();
        if now >= until || self.is_settled_by_channel(&first, screen) {
            self.heard_out = true;
            self.settle(first, rule, screen, now, steps);
            return;
        }
        let Phase::Checking { asked, .. } = &mut self.phase else {
            return;
        };
        if self.channel.is_none()
            && let Some(last) = asked
            && now >= *last + CHANNEL_EVERY
        {
            *last = now;
            steps.push(Step::AskChannel);
        }
    }

    /// Whether the channel's text and the screen come to an answer. A screen that is not drawn to its end yet says less,
    /// or even that the turn failed; it is given its time.
    fn is_settled_by_channel(&self, first: &Reading, screen: &Screen) -> bool {
        let Some(channel) = &self.channel else {
            return false;
        };
        let now = if self.stretched {
            None
        } else {
            Some(self.read(screen))
        };
        let reading = now.as_ref().unwrap_or(first);
        channel.text.is_none()
            || agree::decide(reading, Some(channel), &self.submitted, self.tag())
                .reason
                .is_none()
    }

    fn tag(&self) -> Option<&str> {
        match &self.order.way {
            Way::Message { tag } => Some(tag),
            Way::Say | Way::Command => None,
        }
    }

    /// Takes the reading for the answer, unless more can be seen, or a second look sees something else.
    fn settle(
        &mut self,
        first: Reading,
        rule: &'static str,
        screen: &Screen,
        now: Duration,
        steps: &mut Vec<Step>,
    ) {
        // The stretched window showed more than there is now.
        if self.stretched {
            self.answer(first, rule);
            return;
        }
        if self.channel.is_none()
            && !first.complete
            && first.reason.is_none()
            && self.can_stretch(screen)
        {
            self.stretch(first, rule, screen, now, steps);
            return;
        }
        let second = self.read(screen);
        let same = second.verdict == first.verdict && second.rationale == first.rationale;
        if self.channel.is_some() || same || self.profile.settle_ms.get() == 0 {
            self.answer(second, rule);
        } else {
            self.check(second, rule, now, steps);
        }
    }

    fn answer(&mut self, reading: Reading, rule: &'static str) {
        let answer = agree::decide(&reading, self.channel.as_ref(), &self.submitted, self.tag());
        let channel = self.channel.take();
        let submitted = std::mem::take(&mut self.submitted);
        self.end(Ending::Answered(Box::new(Heard {
            answer,
            reading,
            channel,
            submitted,
            rule,
        })));
    }

    fn read(&self, screen: &Screen) -> Reading {
        self.read_lines(&screen.lines(), screen)
    }

    fn read_lines(&self, lines: &[Line], screen: &Screen) -> Reading {
        let tag = self.tag();
        let failed = self
            .judgement
            .as_ref()
            .is_some_and(|found| found.activity == Activity::Failed);
        let asked = Asked {
            sent: Some(&self.order.text),
            tag,
            since: common_start(&self.before, lines),
            screen_rows: screen.size().rows,
            windowed: screen.modes().alternate_screen,
            failed,
            require: self.order.require,
        };
        let mut reading = reply::read(lines, &self.profile.screen, &asked);
        if !screen.is_whole() {
            reading.complete = false;
        }
        reading
    }

    /// Whether the input box shows the text, or the sign that stands for a long one.
    fn box_holds(&self, visible: &[Line]) -> bool {
        let rows = grammar::rows(visible, &self.profile.screen);
        // Where no box can be told, the screen itself tells nothing of what it holds.
        let Some(from) = grammar::composer(&rows, &self.profile.screen) else {
            return false;
        };
        let shown: String = rows[from..].iter().map(|row| essence(&row.text)).collect();
        let text = essence(&self.order.text);
        let tail: String = text
            .chars()
            .rev()
            .take(24)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        (!tail.is_empty() && shown.contains(&tail))
            || rows[from..].iter().any(|row| row.text.contains("[Pasted"))
    }

    fn enter(&mut self, phase: Phase, now: Duration) {
        self.phase = phase;
        self.since = now;
    }

    fn end(&mut self, ending: Ending) {
        self.phase = Phase::Over;
        self.ending = Some(ending);
    }

    fn expire(&mut self, screen: &Screen) {
        // One that was never ready was sent nothing.
        let starting = matches!(self.phase, Phase::Ready);
        if self.order.way == Way::Command && !starting {
            // Not coming to rest is no fault, but a box that still holds the command would spoil what is typed next.
            self.end(if self.box_holds(&screen.visible()) {
                Ending::Unsent("the agent's input box kept the reset command")
            } else {
                Ending::Settled
            });
            return;
        }
        let judgement = self.judgement.clone().unwrap_or(Judgement {
            activity: Activity::Unclear,
            rule: "none",
            evidence: String::new(),
            explicit: false,
        });
        self.end(Ending::TimedOut {
            judgement,
            tail: rows(&screen.visible()),
            starting,
        });
    }

    fn quiet(&self) -> Duration {
        self.profile
            .quiet_ms
            .map_or(limits::QUIET, |quiet| Duration::from_millis(quiet.get()))
    }

    fn submit_pause(&self) -> Duration {
        let (own, or) = match self.order.way {
            Way::Message { .. } | Way::Say => (self.profile.submit_pause_ms, limits::SUBMIT_DELAY),
            Way::Command => (self.profile.reset_pause_ms, limits::SUBMIT_DELAY),
        };
        own.map_or(or, |pause| Duration::from_millis(pause.get()))
    }

    fn ready_limit(&self) -> Duration {
        self.order.timeout.min(READY)
    }

    fn deadline(&self) -> Duration {
        match (&self.phase, &self.order.way) {
            (Phase::Ready, _) => self.opened + self.ready_limit(),
            (_, Way::Command) => self.sent + COMMAND,
            (_, Way::Message { .. } | Way::Say) => self.sent + self.order.timeout,
        }
    }
}

/// The bytes that type a text.
fn keys(text: &str, paste: bool) -> Vec<u8> {
    if paste {
        format!("\x1b[200~{text}\x1b[201~").into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}

/// The rows of a screen that hold something, the last ones, bounded.
fn rows(visible: &[Line]) -> Vec<String> {
    const ROWS: usize = 12;
    let mut out: Vec<String> = visible
        .iter()
        .rev()
        .filter(|line| !line.text.is_empty())
        .take(ROWS)
        .map(|line| line.text.clone())
        .collect();
    out.reverse();
    out
}

/// The rows of a dialog.
fn dialog(visible: &[Line]) -> Vec<String> {
    rows(visible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RequireTag, bundled_profile};

    const TAG: &str = "k7q2";
    const BOX: &str = "\r\n────────────────\r\n❯ \u{a0}\r\n────────────────\r\n  ? for shortcuts";

    /// An exchange, the screen it looks at, and what it did; time stands still unless it is told to go on.
    struct Sim {
        screen: Screen,
        exchange: Exchange,
        now: Duration,
        typed: Vec<String>,
        sizes: Vec<Size>,
        asked: u32,
    }

    impl Sim {
        fn open(profile: Profile, way: Way) -> Self {
            let order = Order {
                text: "please look\nat this line of text".to_owned(),
                way,
                timeout: Duration::from_secs(60),
                require: RequireTag::Agree,
            };
            let mut sim = Self {
                screen: Screen::new(Size::new(80, 24), 1000),
                exchange: Exchange::open(order, Arc::new(profile), Duration::ZERO),
                now: Duration::ZERO,
                typed: Vec::new(),
                sizes: Vec::new(),
                asked: 0,
            };
            sim.wake();
            sim
        }

        fn message() -> Self {
            Self::open(
                plain_claude(),
                Way::Message {
                    tag: TAG.to_owned(),
                },
            )
        }

        fn wake(&mut self) {
            let steps = self.exchange.wake(&self.screen, self.now);
            self.perform(steps);
        }

        fn perform(&mut self, steps: Vec<Step>) {
            for step in steps {
                match step {
                    Step::Type(bytes) => self.typed.push(String::from_utf8(bytes).unwrap()),
                    Step::Resize(size) => {
                        self.screen.resize(size, self.now);
                        self.sizes.push(size);
                    }
                    Step::AskChannel => self.asked += 1,
                }
            }
        }

        fn draw(&mut self, bytes: &str) -> &mut Self {
            self.screen.feed(bytes.as_bytes(), self.now);
            self.wake();
            self
        }

        /// Draws a whole screen.
        fn show(&mut self, bytes: &str) -> &mut Self {
            let bytes = format!("\x1b[2J\x1b[3J\x1b[H{bytes}");
            self.draw(&bytes)
        }

        /// Lets time pass, waking at each deadline.
        fn pass(&mut self, millis: u64) -> &mut Self {
            let end = self.now + Duration::from_millis(millis);
            for _ in 0..10_000 {
                let due = self
                    .exchange
                    .next_deadline()
                    .filter(|due| *due <= end && self.exchange.ending().is_none());
                let Some(due) = due else { break };
                self.now = self.now.max(due);
                self.wake();
            }
            self.now = end;
            self.wake();
            self
        }

        /// Brings the exchange to where the text is submitted and the agent works.
        fn submitted(&mut self) -> &mut Self {
            self.draw("\x1b[?2004h").show(BOX).pass(500);
            let text = "──────────\r\n❯ \u{a0}please look\r\n  at this line of text\r\n──────────";
            self.show(text).pass(500);
            assert_eq!(self.typed.last().map(String::as_str), Some("\r"));
            self.draw("\x1b]0;⠂ works\x07").show(&format!(
                "{ECHO}\r\n\r\n✻ Working… (1s · esc to interrupt){BOX}"
            ))
        }

        fn heard(&self) -> &Heard {
            match self.exchange.ending() {
                Some(Ending::Answered(heard)) => heard,
                other => panic!("no answer: {other:?}"),
            }
        }
    }

    const ECHO: &str = "❯ please look\r\n  at this line of text";

    /// Claude's profile without what comes beside the screen.
    fn plain_claude() -> Profile {
        let mut profile = bundled_profile("claude");
        profile.channel = Channel::None;
        profile.stretch_rows = 0;
        profile
    }

    fn reply(word: &str, end: &str) -> String {
        format!("{ECHO}\r\n\r\n● REVIEW: (k7q2) fine\r\n\r\n  VERDICT: {word}\r\n\r\n{end}{BOX}")
    }

    const END: &str = "✻ Baked for 2s";

    #[test]
    fn a_message_is_pasted_then_submitted_then_answered() {
        let mut sim = Sim::message();
        sim.submitted();
        assert_eq!(
            sim.typed,
            ["\x1b[200~please look\nat this line of text\x1b[201~", "\r"]
        );
        sim.draw("\x1b]0;✳ rests\x07")
            .show(&reply("ADJUST", END))
            .pass(1);
        assert_eq!(sim.heard().answer.verdict, Verdict::Adjust);
        assert_eq!(
            sim.exchange.delivered(),
            Delivered {
                pasted: true,
                submitted: true,
                turn_started: true
            }
        );
    }

    #[test]
    fn an_end_mark_and_a_whole_reply_need_no_quiet_time() {
        let mut sim = Sim::message();
        sim.submitted();
        let at = sim.now;
        sim.draw("\x1b]0;✳ rests\x07")
            .show(&reply("AGREE", END))
            .pass(1);
        assert_eq!(sim.heard().answer.verdict, Verdict::Agree);
        assert!(sim.now - at <= Duration::from_millis(1));
    }

    #[test]
    fn without_the_row_behind_the_reply_the_screen_must_stand_still() {
        let mut sim = Sim::message();
        sim.submitted();
        sim.draw("\x1b]0;✳ rests\x07")
            .show(&reply("AGREE", ""))
            .pass(350);
        assert_eq!(sim.exchange.ending(), None);
        // More of the reply comes: the AGREE was a quotation.
        let more = reply(
            "AGREE\r\n\r\n  That is what the file says.\r\n\r\n  VERDICT: OBJECT",
            END,
        );
        sim.show(&more).pass(500);
        assert_eq!(sim.heard().answer.verdict, Verdict::Object);
    }

    #[test]
    fn busy_wins_over_an_input_box_and_a_verdict() {
        let mut sim = Sim::message();
        sim.submitted();
        sim.show(&reply("AGREE", "✻ Working… (9s · esc to interrupt)"))
            .pass(10_000);
        assert_eq!(sim.exchange.ending(), None);
    }

    #[test]
    fn nothing_is_typed_at_a_dialog() {
        let mut sim = Sim::message();
        sim.draw("\x1b[?2004h").show("Do you trust the files in this folder?\r\n\r\n❯ 1. Yes, proceed\r\n  2. No, exit\r\n").pass(5000);
        assert_eq!(sim.typed, Vec::<String>::new());
        let Some(Ending::Blocked { dialog }) = sim.exchange.ending() else {
            panic!("{:?}", sim.exchange.ending())
        };
        assert!(
            dialog.iter().any(|row| row.contains("1. Yes, proceed")),
            "{dialog:?}"
        );
    }

    #[test]
    fn a_dialog_that_opens_behind_the_paste_is_not_answered_by_the_submit_key() {
        let mut sim = Sim::message();
        sim.draw("\x1b[?2004h").show(BOX).pass(500);
        assert_eq!(sim.typed.len(), 1);
        sim.show("Update available\r\n\r\n❯ 1. Install now\r\n  2. Later\r\n")
            .pass(5000);
        assert_eq!(sim.typed.len(), 1);
        assert!(matches!(
            sim.exchange.ending(),
            Some(Ending::Blocked { .. })
        ));
    }

    #[test]
    fn a_kept_text_is_submitted_once_more_and_then_counts_as_unsent() {
        let mut sim = Sim::message();
        sim.draw("\x1b[?2004h").show(BOX).pass(500);
        let text = "──────────\r\n❯ \u{a0}please look\r\n  at this line of text\r\n──────────";
        sim.show(text).pass(1000);
        sim.pass(20_000);
        assert_eq!(sim.typed.iter().filter(|typed| *typed == "\r").count(), 2);
        assert!(
            matches!(sim.exchange.ending(), Some(Ending::Unsent(_))),
            "{:?}",
            sim.exchange.ending()
        );
    }

    #[test]
    fn a_text_that_never_shows_is_unsent_and_not_submitted() {
        let mut sim = Sim::message();
        sim.draw("\x1b[?2004h").show(BOX).pass(20_000);
        assert_eq!(sim.typed.len(), 1);
        assert!(matches!(sim.exchange.ending(), Some(Ending::Unsent(_))));
    }

    #[test]
    fn a_child_without_bracketed_paste_gets_none() {
        let mut sim = Sim::message();
        sim.show(BOX).pass(500);
        assert_eq!(sim.typed, ["please look\nat this line of text"]);
    }

    #[test]
    fn a_turn_that_never_ends_times_out_with_the_rule_that_held_it() {
        let mut sim = Sim::message();
        sim.submitted();
        sim.pass(61_000);
        let Some(Ending::TimedOut {
            judgement,
            tail,
            starting: false,
        }) = sim.exchange.ending()
        else {
            panic!("{:?}", sim.exchange.ending())
        };
        assert_eq!(
            (judgement.activity, judgement.rule),
            (Activity::Busy, "busy_regex")
        );
        assert!(!tail.is_empty());
    }

    #[test]
    fn an_agent_that_dies_in_its_turn_gives_no_verdict() {
        let mut sim = Sim::message();
        sim.submitted();
        sim.show(&reply("AGREE", ""));
        sim.exchange.handle_exit(&sim.screen);
        assert!(matches!(sim.exchange.ending(), Some(Ending::Ended { .. })));
    }

    #[test]
    fn an_open_frame_is_not_judged() {
        let mut sim = Sim::message();
        sim.submitted();
        sim.draw("\x1b]0;✳ rests\x07");
        let frame = format!("\x1b[?2026h\x1b[2J\x1b[H{}", reply("AGREE", END));
        sim.draw(&frame);
        assert_eq!(sim.exchange.ending(), None);
        sim.draw("\x1b[?2026l").pass(1);
        assert_eq!(sim.heard().answer.verdict, Verdict::Agree);
    }

    #[test]
    fn the_channel_confirms_or_vetoes() {
        for (text, verdict) in [
            ("REVIEW: (k7q2) fine\n\nVERDICT: AGREE", Verdict::Agree),
            ("REVIEW: (k7q2) fine\n\nVERDICT: OBJECT", Verdict::Unparsed),
            ("REVIEW: (k7q2) fine\n\n> VERDICT: AGREE", Verdict::Unparsed),
        ] {
            let profile = Profile {
                channel: Channel::ClaudeHook,
                ..plain_claude()
            };
            let mut sim = Sim::open(
                profile,
                Way::Message {
                    tag: TAG.to_owned(),
                },
            );
            sim.submitted();
            sim.draw("\x1b]0;✳ rests\x07")
                .show(&reply("AGREE", END))
                .pass(100);
            assert!(sim.asked > 0 && sim.exchange.ending().is_none());
            let found = ChannelText {
                channel: "stop-hook",
                text: Some(text.to_owned()),
            };
            let steps = sim.exchange.handle_channel(
                Beside {
                    channel: Some(found),
                    ..Beside::default()
                },
                &sim.screen,
                sim.now,
            );
            sim.perform(steps);
            // What differs is given the time of a late drawing.
            sim.pass(2000);
            assert_eq!(sim.heard().answer.verdict, verdict, "{text}");
        }
    }

    #[test]
    fn a_channel_that_stays_silent_is_not_waited_for_long() {
        let profile = Profile {
            channel: Channel::ClaudeHook,
            ..plain_claude()
        };
        let mut sim = Sim::open(
            profile,
            Way::Message {
                tag: TAG.to_owned(),
            },
        );
        sim.submitted();
        sim.draw("\x1b]0;✳ rests\x07")
            .show(&reply("ADJUST", END))
            .pass(1600);
        assert_eq!(sim.heard().answer.verdict, Verdict::Adjust);
        assert!((50..=110).contains(&sim.asked), "{}", sim.asked);
    }

    #[test]
    fn a_cut_alternate_screen_is_stretched_and_put_back() {
        let mut sim = Sim::open(
            Profile {
                channel: Channel::None,
                settle_ms: Default::default(),
                ..bundled_profile("opencode")
            },
            Way::Message {
                tag: TAG.to_owned(),
            },
        );
        let foot = "\r\n  ┃\r\n  ┃  Plan\r\n  ╹▀▀▀▀▀▀\r\n  ctrl+p commands";
        sim.draw("\x1b[?1049h\x1b[?2004h").show(foot).pass(500);
        sim.show(&format!("  ┃  [Pasted ~2 lines]{foot}")).pass(500);
        sim.show(&format!("{foot}  ■■■⬝⬝ esc interrupt")).pass(100);
        sim.show(&format!(
            "     the tail\r\n\r\n     VERDICT: OBJECT\r\n\r\n     ▣  Plan · M · 1.0s\r\n{foot}"
        ))
        .pass(500);
        assert_eq!(sim.sizes.len(), 1);
        sim.show(&format!(
            "  ┃  please look\r\n  ┃  at this line of text\r\n\r\n     REVIEW: (k7q2) the head\r\n     the tail\r\n\r\n     VERDICT: OBJECT\r\n\r\n     ▣  Plan · M · 1.0s\r\n{foot}"
        ))
        .pass(600);
        assert_eq!(sim.heard().answer.rationale, "the head\nthe tail");
        assert_eq!(sim.sizes.last(), Some(&Size::new(80, 24)));
    }

    #[test]
    fn a_command_to_an_agent_that_started_slowly_is_submitted_all_the_same() {
        let mut sim = Sim::open(plain_claude(), Way::Command);
        sim.exchange.order.text = "/clear".to_owned();
        sim.pass(20_000).draw("\x1b[?2004h").show(BOX).pass(500);
        assert_eq!(sim.typed, ["/clear"]);
        assert_eq!(sim.exchange.ending(), None);
        let held = "──────────\r\n❯ \u{a0}/clear\r\n──────────";
        sim.show(held).pass(2000);
        assert_eq!(sim.typed, ["/clear", "\r"]);
        // A box that never lets go of it must not get the next text.
        sim.pass(20_000);
        assert!(matches!(sim.exchange.ending(), Some(Ending::Unsent(_))));
    }

    #[test]
    fn a_command_is_typed_without_a_paste_and_ends_with_rest() {
        let mut sim = Sim::open(plain_claude(), Way::Command);
        sim.exchange.order.text = "/clear".to_owned();
        sim.draw("\x1b[?2004h").show(BOX).pass(500);
        assert_eq!(sim.typed, ["/clear"]);
        sim.show("──────────\r\n❯ \u{a0}/clear\r\n──────────")
            .pass(2000);
        assert_eq!(sim.typed, ["/clear", "\r"]);
        sim.show(&format!("❯ /clear\r\n{BOX}")).pass(1000);
        assert_eq!(sim.exchange.ending(), Some(&Ending::Settled));
    }
}
