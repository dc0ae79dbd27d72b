//! One message to an agent and its answer: ready, typed, delivered, waited for, read (A.9 to A.11).
//!
//! A state machine without IO. It is told that output came, that time passed or that the child ended; it says what to
//! type, which size to take and when to ask the channel; it ends once. Nothing is typed at a dialog, and what was typed
//! is proven to have arrived before the wait begins.

use std::sync::Arc;
use std::time::Duration;

use super::agree::{self, Answer, ChannelText};
use super::echo::essence;
use super::reply::{self, Asked, Reading};
use super::rest::{Activity, Judgement, Signs, judge, normalised};
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
/// How long the input box may keep a submitted text before the submit key is pressed once more, and then once more
/// before the text counts as unsent.
const HELD: Duration = Duration::from_secs(2);
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
    Stretched { back: Size },
    /// The answer was read; the channel, or a second equal reading, is waited for.
    Checking {
        reading: Box<Reading>,
        rule: &'static str,
        until: Duration,
        settle: bool,
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
    stretched: bool,
    asked_at: Option<Duration>,
    channel: Option<ChannelText>,
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
            stretched: false,
            asked_at: None,
            channel: None,
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
        let later = |moments: &[Duration]| moments.iter().min().copied();
        match &self.phase {
            Phase::Ready => later(&[quiet, self.opened + self.ready_limit()]),
            Phase::Typed => later(&[
                (self.since + self.submit_pause()).max(still + SUBMIT_STILL),
                self.since + SHOWN_WEAKLY,
                self.since + SHOWN,
            ]),
            Phase::Submitted { .. } => later(&[self.since + HELD, quiet, self.deadline()]),
            Phase::Waiting => {
                let started = if self.delivered.turn_started {
                    self.deadline()
                } else {
                    self.sent + STARTED
                };
                later(&[quiet, started, self.deadline()])
            }
            Phase::Stretched { .. } => later(&[quiet, self.since + STRETCHED]),
            Phase::Checking { until, .. } => match self.asked_at {
                Some(asked) => later(&[asked + CHANNEL_EVERY, *until]),
                None => Some(*until),
            },
            Phase::Over => None,
        }
    }

    /// Takes in that the child ended.
    pub fn handle_exit(&mut self, screen: &Screen) {
        if self.ending.is_none() {
            // What stands on the screen of a dead agent may be cut; it gives no verdict.
            self.end(Ending::Ended {
                tail: rows(&screen.visible()),
            });
        }
    }

    /// Takes in what was found in the channel.
    pub fn handle_channel(
        &mut self,
        found: Option<ChannelText>,
        screen: &Screen,
        now: Duration,
    ) -> Vec<Step> {
        if let Some(found) = found {
            self.channel = Some(found);
        }
        self.wake(screen, now)
    }

    /// Looks at the screen, after output or when a deadline has come.
    pub fn wake(&mut self, screen: &Screen, now: Duration) -> Vec<Step> {
        let mut steps = Vec::new();
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
        if typing && judgement.activity == Activity::Blocked {
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
            Phase::Stretched { back } => {
                let back = *back;
                if is_still || now >= self.since + STRETCHED {
                    let reading = self.read(screen);
                    steps.push(Step::Resize(back));
                    self.check(reading, "stretched", now, steps);
                }
            }
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
        let paste = screen.modes().bracketed_paste && matches!(self.order.way, Way::Message { .. });
        steps.push(Step::Type(keys(&self.order.text, paste)));
        self.enter(Phase::Typed, now);
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
        if now < self.since + HELD || !is_still {
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
            if is_still {
                self.end(Ending::Settled);
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
        if self.wants_stretch(screen, &reading) {
            self.stretched = true;
            let size = screen.size();
            self.enter(Phase::Stretched { back: size }, now);
            self.still.1 = now;
            steps.push(Step::Resize(Size::new(
                size.cols,
                self.profile.stretch_rows,
            )));
            return;
        }
        self.check(reading, judgement.rule, now, steps);
    }

    /// Whether a taller window may show what this one cannot.
    fn wants_stretch(&self, screen: &Screen, reading: &Reading) -> bool {
        screen.modes().alternate_screen
            && !self.stretched
            && self.profile.stretch_rows > screen.size().rows
            && (!reading.echo || !reading.tagged)
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
        let has_channel = self.profile.channel != Channel::None;
        if !has_channel && settle.is_zero() {
            self.answer(reading, rule);
            return;
        }
        let wait = if has_channel {
            CHANNEL.max(settle)
        } else {
            settle
        };
        self.enter(
            Phase::Checking {
                reading: Box::new(reading),
                rule,
                until: now + wait,
                settle: !settle.is_zero(),
            },
            now,
        );
        if has_channel {
            self.asked_at = Some(now);
            steps.push(Step::AskChannel);
        }
    }

    fn look_checking(&mut self, screen: &Screen, now: Duration, steps: &mut Vec<Step>) {
        let Phase::Checking {
            reading,
            rule,
            until,
            settle,
        } = &self.phase
        else {
            return;
        };
        let (first, rule, until, settle) = (reading.as_ref().clone(), *rule, *until, *settle);
        // A turn that goes on after all was not over.
        if self
            .judgement
            .as_ref()
            .is_some_and(|found| found.activity == Activity::Busy)
        {
            self.asked_at = None;
            self.enter(Phase::Waiting, now);
            return;
        }
        if self.channel.is_some() {
            // The screen may have been completed since; the later reading is the better one.
            let reading = if self.stretched {
                first
            } else {
                self.read(screen)
            };
            self.answer(reading, rule);
            return;
        }
        if now >= until {
            if settle && !self.stretched {
                let second = self.read(screen);
                let same = second.verdict == first.verdict && second.rationale == first.rationale;
                if !same {
                    self.check(second, rule, now, steps);
                    return;
                }
            }
            self.answer(first, rule);
            return;
        }
        if self
            .asked_at
            .is_some_and(|asked| now >= asked + CHANNEL_EVERY)
        {
            self.asked_at = Some(now);
            steps.push(Step::AskChannel);
        }
    }

    fn answer(&mut self, reading: Reading, rule: &'static str) {
        let tag = match &self.order.way {
            Way::Message { tag } => Some(tag.as_str()),
            Way::Command => None,
        };
        let answer = agree::decide(&reading, self.channel.as_ref(), tag);
        let channel = self.channel.take();
        self.end(Ending::Answered(Box::new(Heard {
            answer,
            reading,
            channel,
            rule,
        })));
    }

    fn read(&self, screen: &Screen) -> Reading {
        let lines = screen.lines();
        let tag = match &self.order.way {
            Way::Message { tag } => Some(tag.as_str()),
            Way::Command => None,
        };
        let failed = self
            .judgement
            .as_ref()
            .is_some_and(|found| found.activity == Activity::Failed);
        let asked = Asked {
            sent: Some(&self.order.text),
            tag,
            since: common_start(&self.before, &lines),
            screen_rows: screen.size().rows,
            windowed: screen.modes().alternate_screen,
            failed,
            require: self.order.require,
        };
        let mut reading = reply::read(&lines, &self.profile.screen, &asked);
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
        if self.order.way == Way::Command {
            self.end(Ending::Settled);
            return;
        }
        let judgement = self.judgement.clone().unwrap_or(Judgement {
            activity: Activity::Unclear,
            rule: "none",
            evidence: String::new(),
            explicit: false,
        });
        let starting = matches!(self.phase, Phase::Ready);
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
            Way::Message { .. } => (self.profile.submit_pause_ms, limits::SUBMIT_DELAY),
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
            (_, Way::Command) => self.opened + COMMAND,
            (_, Way::Message { .. }) => self.sent + self.order.timeout,
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
