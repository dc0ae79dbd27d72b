//! A pane as the console knows it: whose it is, its screen, and what its agent is doing.

use std::sync::Arc;
use std::time::Duration;

use super::{Ended, Role};
use crate::config::Profile;
use crate::pairing::{Activity, Signs, judge};
use crate::screen::{Screen, Size};

/// How long after a batch of output an agent's state is judged at the latest.
const JUDGE: Duration = Duration::from_millis(250);
/// How long the output must rest for it to be judged at once.
const REST: Duration = Duration::from_millis(60);

/// Whether there is a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// It was started and has drawn nothing yet.
    Starting,
    /// It runs.
    Running,
    /// It ended.
    Ended(Ended),
    /// It could not be started; says why.
    Failed(String),
}

/// What an agent is doing, since when, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    /// What it is doing.
    pub activity: Activity,
    /// Since when.
    pub since: Duration,
    /// The rule that says so.
    pub rule: &'static str,
    /// The line or report that the rule matched; from outside.
    pub evidence: String,
}

/// A pane.
pub struct Pane {
    /// Whose it is.
    pub role: Role,
    /// The agent's profile.
    pub profile: Arc<Profile>,
    /// The version of its program, once known.
    pub version: Option<String>,
    /// Its screen.
    pub screen: Screen,
    /// Whether there is a child.
    pub life: Life,
    /// What its agent is doing.
    pub doing: Doing,
    /// Whether what it shows was recorded, so that its size is not that of its place.
    pub is_replayed: bool,
    /// When what it does is to be judged: at the latest, and when its output rests.
    judge: Option<(Duration, Duration)>,
    /// The size its place has, when the child is still to get it.
    wanted: Option<(Size, Duration)>,
    /// Something was drawn that is not shown yet.
    is_drawn: bool,
}

/// How long a new layout must stand before the children hear of it.
const DEBOUNCE: Duration = Duration::from_millis(60);

impl Pane {
    /// A pane whose child is about to be started.
    pub fn new(role: Role, profile: Arc<Profile>, size: Size, scrollback: usize) -> Self {
        Self {
            role,
            profile,
            version: None,
            screen: Screen::new(size, scrollback),
            life: Life::Starting,
            doing: Doing {
                activity: Activity::Unclear,
                since: Duration::ZERO,
                rule: "none",
                evidence: String::new(),
            },
            is_replayed: false,
            judge: None,
            wanted: None,
            is_drawn: false,
        }
    }

    /// Shows another screen than the one so far.
    pub(super) fn show(&mut self, screen: Screen, now: Duration) {
        self.screen = screen;
        self.life = Life::Running;
        self.is_drawn = true;
        self.judge_now(now);
        self.doing.since = now;
        self.judge = None;
    }

    /// The size its window got when it was recorded.
    pub(super) fn resize_replayed(&mut self, size: Size, now: Duration) {
        self.screen.resize(size, now);
        self.is_drawn = true;
    }

    /// Whether there is a child to type to.
    pub fn is_alive(&self) -> bool {
        matches!(self.life, Life::Starting | Life::Running)
    }

    /// Takes what the child wrote.
    pub fn feed(&mut self, bytes: &[u8], now: Duration) -> crate::screen::Changes {
        let changes = self.screen.feed(bytes, now);
        if self.life == Life::Starting {
            self.life = Life::Running;
        }
        self.is_drawn |= changes.drawn;
        let latest = self.judge.map_or(now + JUDGE, |(latest, _)| latest);
        self.judge = Some((latest, now + REST));
        changes
    }

    /// Takes the time; tells whether the agent does something else now.
    pub fn wake(&mut self, now: Duration) -> bool {
        if self.screen.next_deadline().is_some_and(|due| now >= due) {
            self.is_drawn |= self.screen.wake(now).drawn;
        }
        match self.judge {
            Some((latest, rest)) if now >= latest.min(rest) && !self.screen.in_frame() => {
                self.judge = None;
                self.judge_now(now)
            }
            _ => false,
        }
    }

    /// When `wake` has something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        let judged = self
            .judge
            .filter(|_| !self.screen.in_frame())
            .map(|(latest, rest)| latest.min(rest));
        let wanted = self.wanted.map(|(_, due)| due);
        [self.screen.next_deadline(), judged, wanted]
            .into_iter()
            .flatten()
            .min()
    }

    fn judge_now(&mut self, now: Duration) -> bool {
        let visible = self.screen.visible();
        let judgement = judge(
            &Signs {
                visible: &visible,
                title: self.screen.title(),
                state: self.screen.agent_state(),
            },
            &self.profile,
        );
        // Between two states nothing is told: a frame on its way says nothing worth a word.
        if judgement.activity == Activity::Unclear && self.doing.activity != Activity::Unclear {
            return false;
        }
        let is_new = judgement.activity != self.doing.activity;
        self.doing = Doing {
            since: if is_new { now } else { self.doing.since },
            activity: judgement.activity,
            rule: judgement.rule,
            evidence: judgement.evidence,
        };
        is_new
    }

    /// Wishes for another size; the child hears of it once the layout stands still.
    pub fn want(&mut self, size: Size, now: Duration) {
        let size = Size::new(size.cols, size.rows.max(self.profile.least_rows));
        self.wanted = (size != self.screen.size()).then_some((size, now + DEBOUNCE));
    }

    /// The size that is due now; the screen has it from here on.
    pub fn take_size(&mut self, now: Duration) -> Option<Size> {
        let (size, due) = self.wanted?;
        if now < due {
            return None;
        }
        self.wanted = None;
        self.screen.resize(size, now);
        self.is_drawn = true;
        Some(size)
    }

    /// Rows of the screen above what a place of so many rows shows: its end is what matters.
    pub fn hidden_rows(&self, rows: u16) -> u16 {
        if self.is_replayed {
            // Down to the last row in which something stands.
            let shown = self.screen.screen_rows();
            let last = shown.iter().rposition(|(line, _)| !line.text.is_empty());
            let last = last.and_then(|last| u16::try_from(last).ok());
            let end = last
                .map_or(0, |last| last + 1)
                .max(self.screen.cursor().row + 1);
            return end.saturating_sub(rows);
        }
        match self.profile.least_rows > rows {
            true => self.screen.size().rows.saturating_sub(rows),
            false => 0,
        }
    }

    /// Whether the child is still to get another size.
    pub fn wants_size(&self) -> Option<Size> {
        self.wanted.map(|(size, _)| size)
    }

    /// Holds a wish for a size back until this time.
    pub fn hold_size(&mut self, until: Duration) {
        if let Some((_, due)) = &mut self.wanted {
            *due = until.max(*due);
        }
    }

    /// Takes in that the child ended.
    pub fn end(&mut self, ended: Ended, now: Duration) {
        self.screen.end();
        self.life = Life::Ended(ended);
        self.judge = None;
        self.doing.since = now;
        self.is_drawn = true;
    }

    /// Whether something was drawn that is not shown yet.
    pub fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    /// Whether something was drawn since the last call.
    pub fn take_drawn(&mut self) -> bool {
        std::mem::take(&mut self.is_drawn)
    }
}
