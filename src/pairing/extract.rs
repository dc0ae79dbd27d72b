//! The rounds of a recording: its bytes played into a screen, and read where a turn has ended (interface.md 2).

use std::time::Duration;

use super::evidence::Evidence;
use super::guess;
use super::reply::{self, Asked, Echo, Reading};
use super::rest::{Activity, Signs, judge};
use crate::config::Profile;
use crate::recording::cast::{Event, Kind};
use crate::recording::track::RESTARTED;
use crate::recording::word::{Reason, Verdict};
use crate::screen::{Line, Mark, Screen, Seen, Size};

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
    /// Tags by the moment their round began, oldest first, where that is known; a round has the last one before it.
    pub began: Vec<(Duration, String)>,
    /// The text that was sent, when the recording does not hold it.
    pub sent: Option<String>,
    /// Nothing after this moment is played.
    pub until: Option<Duration>,
}

/// Plays a recording and collects its rounds.
pub struct Player {
    screen: Screen,
    scrollback: usize,
    profile: Profile,
    /// Profiles of which the screen may still choose one.
    choices: Vec<Profile>,
    given: Given,
    /// Input since the last submit, to find what was sent.
    typed: Typed,
    open: Option<Open>,
    found: Vec<Found>,
    marked: bool,
    /// Moment of the last output that was not yet judged.
    pending: Option<Duration>,
    /// Where the screen ended when the agent was last seen at rest, and the moment of the first output since.
    rested: Option<Mark>,
    stirred: Option<Duration>,
    doubted: bool,
    /// When output is missing that was never recorded.
    gaps: Vec<Duration>,
}

/// A round whose end was not seen yet.
struct Open {
    from: Duration,
    sent: Option<String>,
    /// Where the screen began then, how many lines stood above it, and what stood on it.
    mark: Option<Mark>,
    above: usize,
    since: Vec<Line>,
    /// The prompt as the screen shows it, where the recording does not hold what was typed.
    echo: Option<Echo>,
    readings: Vec<Taken>,
    busy_seen: bool,
}

/// One reading of a round.
struct Taken {
    at: Duration,
    reading: Reading,
    evidence: Vec<Evidence>,
}

impl Open {
    fn new(from: Duration, mark: Option<Mark>) -> Self {
        Self {
            from,
            mark,
            above: 0,
            sent: None,
            since: Vec::new(),
            echo: None,
            readings: Vec::new(),
            busy_seen: false,
        }
    }
}

impl Player {
    /// Opens a player for a terminal of `size`.
    pub fn new(size: Size, scrollback: usize, profile: Profile, given: Given) -> Self {
        Self {
            screen: Screen::new(size, scrollback),
            scrollback,
            profile,
            choices: Vec::new(),
            given,
            typed: Typed::default(),
            open: None,
            found: Vec::new(),
            marked: false,
            pending: None,
            rested: None,
            stirred: None,
            doubted: false,
            gaps: Vec::new(),
        }
    }

    /// Lets the screen choose among `profiles`, as soon as it shows which agent drew it.
    pub fn choosing(self, profiles: Vec<Profile>) -> Self {
        Self {
            choices: profiles,
            ..self
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
        self.play_seen(event, Seen::default())
    }

    /// Plays one event whose output was looked through before.
    pub fn play_seen(&mut self, event: &Event, seen: Seen) -> bool {
        if self.given.until.is_some_and(|until| event.at > until) {
            return false;
        }
        self.judge_quiet(event.at);
        match &event.kind {
            Kind::Output(text) => {
                self.screen.feed_seen(text.as_bytes(), seen, event.at);
                self.pending = Some(event.at);
                self.stirred.get_or_insert(event.at);
            }
            Kind::Input(text) => {
                let sent = self.typed.feed(text).filter(|_| !self.marked);
                match sent {
                    // A command to the agent ends what went before and is answered by nothing.
                    Some(sent) if is_command(&sent) => self.close(),
                    Some(sent) => self.begin(event.at, Some(sent)),
                    None => {}
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
            self.choose();
            self.follow(at);
            // A recording that ends in the middle of a turn, or has no prompt of its own, is read as it stands.
            let unread = match &self.open {
                Some(open) => open.readings.is_empty(),
                None => self.found.is_empty(),
            };
            if unread {
                let activity = self.activity();
                self.read(at, matches!(activity, Activity::Busy | Activity::Blocked));
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

    /// Takes the profile that the screen speaks for.
    fn choose(&mut self) {
        if self.choices.is_empty() {
            return;
        }
        let lines = self.screen.visible();
        if let Some(profile) = guess::by_screen(&lines, self.choices.iter()) {
            self.profile = profile.clone();
            self.choices.clear();
        }
    }

    fn marker(&mut self, label: &str, at: Duration) {
        self.choose();
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
            "reply-complete" | "settled" | "settled-late" => self.read(at, false),
            "quit" => self.close(),
            RESTARTED => {
                self.close();
                self.screen = self.screen.successor(self.scrollback, at);
            }
            "gap:" => self.gaps.push(at),
            _ => {}
        }
    }

    fn begin(&mut self, from: Duration, sent: Option<String>) {
        self.close();
        let sent = sent
            .or_else(|| self.given.sent.clone())
            .filter(|sent| !is_command(sent));
        let mark = self.screen.mark();
        let since = self.screen.lines_since(mark);
        self.open = Some(Open {
            sent,
            above: self.screen.lines().len().saturating_sub(since.len()),
            since,
            ..Open::new(from, Some(mark))
        });
    }

    /// Begins a round where the screen shows another prompt than that of the round before, when nothing else tells.
    fn follow(&mut self, at: Duration) {
        if self.typed.last.is_some() {
            return;
        }
        let from = self.stirred.unwrap_or(at);
        let shown = |mark| reply::last_echo(&self.lines(mark), &self.profile.screen);
        let open = self.open.as_ref();
        let known = open.and_then(|open| open.echo.as_ref());
        let begins = match (shown(open.and_then(|open| open.mark)), known) {
            (Some(shown), Some(known)) => !shown.is_same(known),
            (Some(_), None) => true,
            // A window that a long answer fills: a turn that ended on it is a round, once.
            (None, _) => {
                let now = self.look(at, self.rested, None, false).reading;
                let before = open.and_then(|open| open.readings.last());
                let other =
                    |before: &Taken| before.reading.ended && !now.goes_on_from(&before.reading);
                now.ended && before.is_none_or(other)
            }
        };
        if !begins {
            return;
        }
        let echo = shown(self.rested);
        self.close();
        if echo.as_ref().is_some_and(|echo| echo.is_command) {
            return;
        }
        self.open = Some(Open {
            sent: self.given.sent.clone(),
            above: self.screen.lines().len() - self.lines(self.rested).len(),
            echo,
            ..Open::new(from, self.rested)
        });
    }

    /// The lines from a mark on, or all of them.
    fn lines(&self, mark: Option<Mark>) -> Vec<Line> {
        match mark {
            Some(mark) => self.screen.lines_since(mark),
            None => self.screen.lines(),
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let from = open.from;
        // What is typed at a question of the agent's own is short, and nothing shows it again or answers it.
        let is_short = |sent: &String| sent.trim().chars().count() <= 3;
        let key = !self.marked && !open.busy_seen && open.sent.as_ref().is_some_and(is_short);
        if let Some(taken) = best(open.readings) {
            let reading = taken.reading;
            if key && !reading.echo && reading.reason == Some(Reason::Empty) {
                return;
            }
            self.found.push(Found {
                reading,
                evidence: taken.evidence,
                from,
                to: taken.at,
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

    /// Reads the screen as it stands; `cut` says that the turn is not over.
    fn read(&mut self, at: Duration, cut: bool) {
        let mut open = self.open.take().unwrap_or_else(|| Open {
            sent: self.given.sent.clone(),
            ..Open::new(Duration::ZERO, None)
        });
        let mut taken = self.look(at, open.mark, Some(&open), cut);
        // A wiped history counts from its start again.
        let is_void = |mark: Mark| mark.generation != self.screen.mark().generation;
        if !open.mark.is_some_and(is_void) {
            for line in &mut taken.evidence {
                line.line += open.above;
            }
        }
        open.readings.push(taken);
        self.open = Some(open);
    }

    fn look(&self, at: Duration, mark: Option<Mark>, open: Option<&Open>, cut: bool) -> Taken {
        let lines = self.lines(mark);
        let tags = &self.given.tags;
        let from = open.map_or(at, |open| open.from);
        let began = &self.given.began;
        let of_moment = began.iter().rfind(|(began, _)| *began <= from);
        let of_place = || tags.get(self.found.len()).or(tags.last());
        let tag = of_moment.map(|(_, tag)| tag).or_else(of_place);
        let failed = &self.profile.osc_state.failed;
        let state = self.screen.agent_state();
        let asked = Asked {
            sent: open.and_then(|open| open.sent.as_deref()),
            tag: tag.map(String::as_str),
            since: open.map_or(0, |open| common_start(&open.since, &lines)),
            screen_rows: self.screen.size().rows,
            windowed: self.screen.modes().alternate_screen,
            failed: cut || state.is_some_and(|state| failed.iter().any(|word| word == state)),
            ..Asked::default()
        };
        let mut reading = reply::read(&lines, &self.profile.screen, &asked);
        reading.complete &= self.screen.is_whole();
        if self.gaps.iter().any(|gap| *gap >= from) {
            reading.complete = false;
            // What is missing may have taken it back.
            if reading.verdict == Verdict::Agree {
                reading.verdict = Verdict::Unparsed;
                reading.reason = Some(Reason::Incomplete);
            }
        }
        let evidence = Evidence::of(&reading, &lines);
        Taken {
            at,
            reading,
            evidence,
        }
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
        self.choose();
        match self.activity() {
            Activity::Busy => {
                if let Some(open) = &mut self.open {
                    open.busy_seen = true;
                }
            }
            Activity::Rest | Activity::Failed => {
                self.follow(at);
                if self.open.is_some() {
                    self.read(at + quiet, false);
                }
                self.rested = Some(self.screen.mark());
                self.stirred = None;
            }
            Activity::Blocked | Activity::Unclear => {}
        }
    }

    fn activity(&self) -> Activity {
        let visible = self.screen.visible();
        let signs = Signs {
            visible: &visible,
            title: self.screen.title(),
            state: self.screen.agent_state(),
        };
        judge(&signs, &self.profile).activity
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
pub(super) fn is_command(sent: &str) -> bool {
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
