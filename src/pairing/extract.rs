//! The rounds of a recording: its bytes played into a screen, and read where a turn has ended (interface.md 2).

use std::time::Duration;

use super::evidence::Evidence;
use super::reply::{self, Asked, Reading};
use super::rest::{Activity, Signs, judge};
use crate::config::Profile;
use crate::recording::cast::{Event, Kind};
use crate::recording::word::{Reason, Verdict};
use crate::screen::{Line, Screen, Size};

/// One round of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What its screen said.
    pub reading: Reading,
    /// The lines of the screen that this rests on.
    pub evidence: Vec<Evidence>,
    /// When the prompt was sent.
    pub from: Duration,
    /// When the reading was taken.
    pub to: Duration,
}

/// What the caller knows beforehand.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// One tag per round; the last one holds for the rest.
    pub tags: Vec<String>,
    /// The text that was sent, when the recording does not hold it.
    pub sent: Option<String>,
    /// Nothing after this moment is played.
    pub until: Option<Duration>,
}

/// Plays a recording and collects its rounds.
pub struct Player {
    screen: Screen,
    profile: Profile,
    given: Given,
    /// Input since the last submit, to find what was sent.
    typed: Typed,
    open: Option<Open>,
    found: Vec<Found>,
    marked: bool,
    /// Moment of the last output that was not yet judged.
    pending: Option<Duration>,
    doubted: bool,
}

/// A round whose end was not seen yet.
struct Open {
    from: Duration,
    sent: Option<String>,
    since: Vec<Line>,
    readings: Vec<Taken>,
    busy_seen: bool,
}

/// One reading of a round.
struct Taken {
    at: Duration,
    reading: Reading,
    evidence: Vec<Evidence>,
}

impl Player {
    /// Opens a player for a terminal of `size`.
    pub fn new(size: Size, scrollback: usize, profile: Profile, given: Given) -> Self {
        Self {
            screen: Screen::new(size, scrollback),
            profile,
            given,
            typed: Typed::default(),
            open: None,
            found: Vec::new(),
            marked: false,
            pending: None,
            doubted: false,
        }
    }

    /// The screen as it stands.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// The profile it reads by.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Takes in that part of the recording could not be read: nothing it shows is whole.
    pub fn doubt(&mut self) {
        self.doubted = true;
    }

    /// Plays one event. Returns false when nothing more is to be played.
    pub fn play(&mut self, event: &Event) -> bool {
        if self.given.until.is_some_and(|until| event.at > until) {
            return false;
        }
        self.judge_quiet(event.at);
        match &event.kind {
            Kind::Output(text) => {
                self.screen.feed(text.as_bytes(), event.at);
                self.pending = Some(event.at);
            }
            Kind::Input(text) => {
                if let Some(sent) = self.typed.feed(text)
                    && !self.marked
                {
                    self.begin(event.at, Some(sent));
                }
            }
            Kind::Resize(size) => {
                self.screen.resize(*size, event.at);
            }
            Kind::Marker(label) => self.marker(label, event.at),
            Kind::Exit(_) | Kind::Other(_) => {}
        }
        true
    }

    /// Ends the recording and gives its rounds.
    pub fn finish(mut self, at: Duration) -> Vec<Found> {
        self.judge_quiet(Duration::MAX);
        if !self.marked {
            // A recording that ends in the middle of a turn, or has no prompt of its own, is read as it stands.
            if self
                .open
                .as_ref()
                .is_none_or(|open| open.readings.is_empty())
            {
                self.read(at);
            }
        }
        self.close();
        if self.doubted {
            for found in &mut self.found {
                found.reading.complete = false;
            }
        }
        self.found
    }

    fn marker(&mut self, label: &str, at: Duration) {
        let name = label.split(' ').next().unwrap_or_default();
        match name {
            "prompt-sent" => {
                if !self.marked {
                    self.marked = true;
                    self.open = None;
                    self.found.clear();
                }
                let sent = self.typed.last.take();
                self.begin(at, sent);
            }
            "reply-complete" | "settled" | "settled-late" => self.read(at),
            "quit" => self.close(),
            _ => {}
        }
    }

    fn begin(&mut self, at: Duration, sent: Option<String>) {
        self.close();
        let sent = sent
            .or_else(|| self.given.sent.clone())
            .filter(|sent| !is_command(sent));
        let since = self.screen.lines();
        self.open = Some(Open {
            from: at,
            sent,
            since,
            readings: Vec::new(),
            busy_seen: false,
        });
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let from = open.from;
        if let Some(Taken {
            at: to,
            reading,
            evidence,
        }) = best(open.readings)
        {
            self.found.push(Found {
                reading,
                evidence,
                from,
                to,
            });
        } else if self.marked || open.busy_seen {
            let reading = Reading::unparsed(Reason::Empty, String::new());
            self.found.push(Found {
                reading,
                evidence: Vec::new(),
                from,
                to: from,
            });
        }
    }

    fn read(&mut self, at: Duration) {
        let lines = self.screen.lines();
        let tag = self
            .given
            .tags
            .get(self.found.len())
            .or(self.given.tags.last())
            .cloned();
        let open = self.open.get_or_insert_with(|| Open {
            from: Duration::ZERO,
            sent: self.given.sent.clone(),
            since: Vec::new(),
            readings: Vec::new(),
            busy_seen: false,
        });
        let failed = self.screen.agent_state().is_some_and(|state| {
            self.profile
                .osc_state
                .failed
                .iter()
                .any(|word| word == state)
        });
        let asked = Asked {
            sent: open.sent.as_deref(),
            tag: tag.as_deref(),
            since: common_start(&open.since, &lines),
            screen_rows: self.screen.size().rows,
            windowed: self.screen.modes().alternate_screen,
            failed,
            ..Asked::default()
        };
        let mut reading = reply::read(&lines, &self.profile.screen, &asked);
        reading.complete &= self.screen.is_whole();
        let evidence = Evidence::of(&reading, &lines);
        open.readings.push(Taken {
            at,
            reading,
            evidence,
        });
    }

    /// Judges the screen when the output before `now` has stood still long enough.
    fn judge_quiet(&mut self, now: Duration) {
        let quiet = self.profile.quiet_ms.map_or(crate::limits::QUIET, |quiet| {
            Duration::from_millis(quiet.get())
        });
        let Some(at) = self.pending else { return };
        if self.marked || now.saturating_sub(at) < quiet {
            return;
        }
        self.pending = None;
        let visible = self.screen.visible();
        let signs = Signs {
            visible: &visible,
            title: self.screen.title(),
            state: self.screen.agent_state(),
        };
        let activity = judge(&signs, &self.profile).activity;
        match activity {
            Activity::Busy => {
                if let Some(open) = &mut self.open {
                    open.busy_seen = true;
                }
            }
            Activity::Rest | Activity::Failed if self.open.is_some() => self.read(at + quiet),
            _ => {}
        }
    }
}

/// Of the readings of one round, all taken at rest, the one to believe: the last one, unless it lacks the start or the end
/// of the reply and an earlier one saw both.
fn best(readings: Vec<Taken>) -> Option<Taken> {
    let said = |reading: &Reading| {
        reading.verdict != Verdict::Unparsed
            || !matches!(
                reading.reason,
                Some(Reason::Incomplete | Reason::NoMarker | Reason::Empty | Reason::Untagged)
            )
    };
    let last = readings
        .iter()
        .rposition(|taken| said(&taken.reading))
        .unwrap_or(readings.len().checked_sub(1)?);
    let believed = &readings[last].reading;
    let fuller = readings[..last].iter().rposition(|Taken { reading, .. }| {
        !believed.complete
            && reading.complete
            && reading.verdict == believed.verdict
            && reading.rationale.len() >= believed.rationale.len()
    });
    readings.into_iter().nth(fuller.unwrap_or(last))
}

/// How many lines at the start are the same in both.
pub(super) fn common_start(before: &[Line], now: &[Line]) -> usize {
    before
        .iter()
        .zip(now)
        .take_while(|(before, now)| before.text == now.text)
        .count()
}

/// Whether what was typed is a command to the agent, not a message.
fn is_command(sent: &str) -> bool {
    sent.starts_with('/') && !sent.trim_end().contains(['\n', ' '])
}

/// What was typed into a terminal, told from the answers to its queries.
#[derive(Default)]
struct Typed {
    text: String,
    paste: Option<String>,
    /// The last text that was submitted.
    last: Option<String>,
}

impl Typed {
    /// Takes input in; a text that was submitted comes out.
    fn feed(&mut self, input: &str) -> Option<String> {
        const OPEN: &str = "\x1b[200~";
        const CLOSE: &str = "\x1b[201~";
        let mut rest = input;
        let mut sent = None;
        while !rest.is_empty() {
            if let Some(paste) = &mut self.paste {
                let end = rest.find(CLOSE);
                paste.push_str(&rest[..end.unwrap_or(rest.len())]);
                rest = end.map_or("", |end| &rest[end + CLOSE.len()..]);
                if end.is_some() {
                    self.text.push_str(&self.paste.take().unwrap_or_default());
                }
            } else if let Some(after) = rest.strip_prefix(OPEN) {
                self.paste = Some(String::new());
                rest = after;
            } else if rest.starts_with('\x1b') {
                rest = after_escape(rest);
            } else if let Some(after) = rest.strip_prefix('\r') {
                rest = after;
                let text = std::mem::take(&mut self.text);
                if !text.trim().is_empty() {
                    self.last = Some(text.clone());
                    sent = Some(text);
                }
            } else {
                let c = rest.chars().next().unwrap_or_default();
                if !c.is_control() || c == '\n' || c == '\t' {
                    self.text.push(c);
                }
                rest = &rest[c.len_utf8()..];
            }
        }
        sent
    }
}

/// What follows an escape sequence at the start of `text`.
fn after_escape(text: &str) -> &str {
    let body = &text[1..];
    let Some(kind) = body.chars().next() else {
        return "";
    };
    let rest = &body[kind.len_utf8()..];
    match kind {
        '[' => rest
            .find(|c: char| ('@'..='~').contains(&c))
            .map_or("", |end| &rest[end + 1..]),
        ']' | 'P' | '_' | '^' | 'X' => match (rest.find('\x07'), rest.find("\x1b\\")) {
            (Some(bell), end) if end.is_none_or(|end| bell < end) => &rest[bell + 1..],
            (_, Some(end)) => &rest[end + 2..],
            _ => "",
        },
        'O' => rest.chars().next().map_or("", |c| &rest[c.len_utf8()..]),
        _ => rest,
    }
}
