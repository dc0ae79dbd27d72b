//! A session being looked at again: where in it one is, how fast it goes on, and the keys for that.
//!
//! What the panes show comes through the same events as from live children; this only says which moment is wanted. Time is
//! the recording's.

use std::time::Duration;

use super::event::{Answered, FellBack, Receipted};
use super::input::{Code, Key, Mods};
use super::{App, Editor, Effect, Ended, Overlay, Role};
use crate::recording::word::Verdict;
use crate::screen::{Screen, Size};

/// The speeds there are.
const SPEEDS: [f64; 8] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Place of the usual one.
const USUAL: usize = 2;
/// Longest time in which nothing happens that is waited through.
const IDLE: Duration = Duration::from_secs(2);
/// How far an arrow goes.
const STEP: Duration = Duration::from_secs(5);

/// What happened in a replay.
#[derive(Debug)]
pub enum News {
    /// Another moment is shown: what each pane's screen is then. What came of the rounds is told anew behind it.
    Moment(Duration, Vec<(Role, Box<Screen>)>),
    /// Time went on.
    At(Duration),
    /// A pane's window changed its size then.
    Resized(Role, Size),
    /// A pane's child was started anew then.
    Restarted(Role),
    /// A pane's child ended then.
    Ended(Role, Ended),
    /// A round had its answer then.
    Round(Box<Answered>),
    /// A round had none; says why.
    NoAnswer(Box<Receipted>),
    /// A receipt was written then.
    Receipt(Box<Receipted>),
    /// A route did not answer then.
    Fallback(Box<FellBack>),
    /// How long all of it lasts, and whether that is known to be all.
    Length(Duration, bool),
    /// What was searched for stands on a screen at this moment; none when it does not come.
    Found(Option<Duration>),
    /// There is nothing more to be played.
    Over,
}

/// What a step goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next thing that was recorded.
    Event,
    /// The next round.
    Round,
    /// The next receipt.
    Receipt,
}

/// What is wanted of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Show this moment.
    Seek(Duration),
    /// Show the next event, or the one before.
    Event {
        /// The next one.
        forward: bool,
    },
    /// Find a moment at which this text stands on a screen.
    Find {
        /// The text.
        text: String,
        /// Behind this moment, or before it.
        forward: bool,
    },
    /// Stop looking.
    StopFinding,
    /// It goes on, or stands still, or at another speed.
    Pace,
    /// Replay this session.
    Open(String),
}

/// What is marked on the time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A round, with its verdict.
    Round(Option<Verdict>),
    /// A receipt that is no round's.
    Receipt,
}

/// A place on the time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Duration,
    /// What.
    pub sign: Sign,
}

/// What is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// A time, or a percentage.
    Go(Editor),
    /// What is searched for.
    Search(Editor),
}

/// A replay.
#[derive(Debug)]
pub struct Replay {
    /// What is replayed, from outside.
    pub name: String,
    /// Whether it is one recording and no session.
    pub is_alone: bool,
    /// The moment that is shown.
    pub at: Duration,
    /// How long all of it lasts, and whether that is known to be all.
    pub length: (Duration, bool),
    /// Whether it goes on.
    pub is_playing: bool,
    /// What is marked, by time.
    pub marks: Vec<Mark>,
    /// What is being typed.
    pub prompt: Option<Prompt>,
    /// What is looked for now.
    pub seeks: Option<String>,
    /// What was searched for last.
    pub sought: String,
    speed: usize,
}

impl Replay {
    /// A replay that stands at its start.
    pub fn new(name: &str, is_alone: bool, marks: Vec<Mark>) -> Self {
        Self {
            name: name.to_owned(),
            is_alone,
            at: Duration::ZERO,
            length: (Duration::ZERO, false),
            is_playing: true,
            marks,
            prompt: None,
            seeks: None,
            sought: String::new(),
            speed: USUAL,
        }
    }

    /// How fast it goes on.
    pub fn speed(&self) -> f64 {
        SPEEDS[self.speed]
    }

    /// How long a stretch of the recording takes in which nothing happens.
    pub fn lasts(&self, stretch: Duration) -> Duration {
        stretch.min(IDLE).div_f64(self.speed())
    }

    /// The moment shown when so much of such a stretch is over.
    pub fn within(&self, stretch: Duration, over: Duration) -> Duration {
        let whole = self.lasts(stretch);
        match whole.is_zero() {
            true => stretch,
            false => stretch.mul_f64((over.as_secs_f64() / whole.as_secs_f64()).min(1.0)),
        }
    }

    /// The mark behind or before the moment that is shown.
    fn mark(&self, forward: bool, of: impl Fn(Sign) -> bool) -> Option<Duration> {
        let mut marks = self.marks.iter().filter(|mark| of(mark.sign));
        let mark = match forward {
            true => marks.find(|mark| mark.at > self.at),
            false => marks.rfind(|mark| mark.at < self.at),
        };
        mark.map(|mark| mark.at)
    }

    /// The moment a text means: `90`, `1:30`, `1:02:03`, `45%`.
    fn moment(&self, text: &str) -> Option<Duration> {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let part: f64 = percent.trim().parse().ok()?;
            return (0.0..=100.0)
                .contains(&part)
                .then(|| self.length.0.mul_f64(part / 100.0));
        }
        let mut seconds = 0.0;
        for part in text.split(':') {
            let part: f64 = part.parse().ok().filter(|part| *part >= 0.0)?;
            seconds = seconds * 60.0 + part;
        }
        Duration::try_from_secs_f64(seconds).ok()
    }
}

impl App {
    /// Makes the console a replay of what was recorded.
    pub fn replay(&mut self, replay: Replay) {
        self.replay = Some(replay);
        self.shows_hint = false;
        self.types_to_peer = false;
        for role in [Role::Driver, Role::Peer] {
            if let Some(pane) = self.pane_mut(role) {
                pane.is_replayed = true;
            }
        }
        self.arrange();
    }

    /// Takes in what happened in the replay.
    pub(super) fn replayed(&mut self, news: News) {
        let now = self.now;
        self.is_changed = true;
        match news {
            News::Moment(at, screens) => {
                self.scroll = None;
                self.ledger = super::ledger::Ledger::default();
                for (role, screen) in screens {
                    if let Some(pane) = self.pane_mut(role) {
                        pane.show(*screen, at);
                    }
                }
                if let Some(replay) = &mut self.replay {
                    replay.at = at;
                    replay.seeks = None;
                }
            }
            News::At(at) => {
                if let Some(replay) = &mut self.replay {
                    replay.at = at;
                }
            }
            News::Resized(role, size) => {
                if let Some(pane) = self.pane_mut(role) {
                    pane.resize_replayed(size, now);
                }
            }
            News::Restarted(role) => {
                let scrollback = self.opening.scrollback;
                if let Some(pane) = self.pane_mut(role) {
                    let next = pane.screen.successor(scrollback, now);
                    pane.show(next, now);
                }
            }
            News::Ended(role, ended) => {
                if let Some(pane) = self.pane_mut(role) {
                    pane.end(ended, now);
                }
            }
            News::Round(answered) => {
                self.ledger.answer(*answered);
                self.see_all();
            }
            News::NoAnswer(receipted) => {
                let body = &receipted.receipt;
                let why = format!("no answer: {}", body.outcome.word());
                self.ledger
                    .nothing(body.round, body.kind, String::new(), why, body.elapsed_ms);
                self.see_all();
            }
            News::Receipt(receipted) => {
                self.ledger.receipt(*receipted);
                self.see_all();
            }
            News::Fallback(fell) => {
                self.ledger.fallback(*fell);
                self.see_all();
            }
            News::Length(length, is_all) => {
                if let Some(replay) = &mut self.replay {
                    replay.length = (length, is_all);
                }
            }
            News::Found(found) => {
                let text = match &mut self.replay {
                    Some(replay) => {
                        replay.seeks = None;
                        replay.sought.clone()
                    }
                    None => return,
                };
                if found.is_none() {
                    self.say(format!("`{text}` does not come"), false);
                }
            }
            News::Over => {
                if let Some(replay) = &mut self.replay {
                    replay.is_playing = false;
                }
            }
        }
    }

    /// Nothing in a replay is news.
    fn see_all(&mut self) {
        for entry in &mut self.ledger.entries {
            entry.is_seen = true;
            entry.is_open = false;
        }
        for row in &mut self.ledger.receipts {
            row.is_seen = true;
        }
        for row in &mut self.ledger.fallbacks {
            row.is_seen = true;
        }
    }

    /// A key that nothing over the panes takes.
    pub(super) fn replay_key(&mut self, key: &Key, out: &mut Vec<Effect>) {
        if !key.is_press() {
            return;
        }
        self.is_changed = true;
        let Some(replay) = &mut self.replay else {
            return;
        };
        if let Some(prompt) = replay.prompt.take() {
            return self.prompt_key(prompt, key, out);
        }
        let (at, end) = (replay.at, replay.length.0);
        let mut seek = |at: Duration| out.push(Effect::Replay(Wish::Seek(at)));
        match key.command() {
            (Code::Char(' '), _) => {
                replay.is_playing = !replay.is_playing;
                if replay.is_playing && replay.length.1 && at >= end {
                    seek(Duration::ZERO);
                }
                out.push(Effect::Replay(Wish::Pace));
            }
            (Code::Char('+' | '>' | '='), _) => {
                replay.speed = (replay.speed + 1).min(SPEEDS.len() - 1);
                out.push(Effect::Replay(Wish::Pace));
            }
            (Code::Char('-' | '<'), _) => {
                replay.speed = replay.speed.saturating_sub(1);
                out.push(Effect::Replay(Wish::Pace));
            }
            (Code::Right, Mods::NONE) => seek((at + STEP).min(end.max(at))),
            (Code::Left, Mods::NONE) => seek(at.saturating_sub(STEP)),
            (Code::Home, _) => seek(Duration::ZERO),
            (Code::End, _) => seek(end),
            (Code::Char(digit @ '0'..='9'), Mods::NONE) => {
                let tenth = f64::from(digit.to_digit(10).unwrap_or(0)) / 10.0;
                seek(end.mul_f64(tenth));
            }
            (Code::Char('.'), _) => self.replay_step(Step::Event, true, out),
            (Code::Char(','), _) => self.replay_step(Step::Event, false, out),
            (Code::Char(']'), _) => self.replay_step(Step::Round, true, out),
            (Code::Char('['), _) => self.replay_step(Step::Round, false, out),
            (Code::Char('}'), _) => self.replay_step(Step::Receipt, true, out),
            (Code::Char('{'), _) => self.replay_step(Step::Receipt, false, out),
            (Code::Char('g'), Mods::NONE) => {
                replay.prompt = Some(Prompt::Go(Editor::default()));
            }
            (Code::Char('/'), _) => {
                replay.prompt = Some(Prompt::Search(Editor::default()));
            }
            (Code::Char('n'), Mods::NONE) => self.find(true, out),
            (Code::Char('N'), _) => self.find(false, out),
            (Code::Char('v'), Mods::NONE) => self.begin_scroll(false),
            (Code::Tab | Code::Char('o'), Mods::NONE) => self.act(super::Action::Other, out),
            (Code::Char('z'), Mods::NONE) => self.act(super::Action::Zoom, out),
            (Code::Char('t'), Mods::NONE) => self.act(super::Action::Timeline, out),
            (Code::Char('r'), Mods::NONE) => self.act(super::Action::Receipts, out),
            (Code::Char('f'), Mods::NONE) => self.act(super::Action::Fallbacks, out),
            (Code::Char('y'), Mods::NONE) => self.act(super::Action::CopyReview, out),
            (Code::Char('?'), _) => self.overlay = Some(Overlay::Help(super::Help::default())),
            (Code::Char('q'), Mods::NONE) | (Code::Char('c'), Mods::CTRL) => out.push(Effect::Quit),
            (Code::Esc, _) if replay.seeks.take().is_some() => {
                out.push(Effect::Replay(Wish::StopFinding));
            }
            _ => {}
        }
    }

    fn replay_step(&mut self, step: Step, forward: bool, out: &mut Vec<Effect>) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        replay.is_playing = false;
        let (what, mark) = match step {
            Step::Event => return out.push(Effect::Replay(Wish::Event { forward })),
            Step::Round => (
                "round",
                replay.mark(forward, |sign| matches!(sign, Sign::Round(_))),
            ),
            Step::Receipt => ("receipt", replay.mark(forward, |_| true)),
        };
        match (mark, forward) {
            (Some(at), _) => out.push(Effect::Replay(Wish::Seek(at))),
            (None, true) => self.say(format!("no later {what}"), false),
            (None, false) => self.say(format!("no earlier {what}"), false),
        }
    }

    fn find(&mut self, forward: bool, out: &mut Vec<Effect>) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        if replay.sought.is_empty() {
            return self.say("nothing was searched for yet: / does", false);
        }
        let text = replay.sought.clone();
        replay.is_playing = false;
        replay.seeks = Some(text.clone());
        out.push(Effect::Replay(Wish::Find { text, forward }));
    }

    fn prompt_key(&mut self, prompt: Prompt, key: &Key, out: &mut Vec<Effect>) {
        let code = key.command().0;
        let Some(replay) = &mut self.replay else {
            return;
        };
        match (prompt, code) {
            (_, Code::Esc) => {}
            (Prompt::Go(editor), Code::Enter) => match replay.moment(editor.text()) {
                Some(at) => out.push(Effect::Replay(Wish::Seek(at.min(replay.length.0.max(at))))),
                None => self.say("a time like 90, 1:30 or 1:02:03, or a part like 45%", false),
            },
            (Prompt::Search(editor), Code::Enter) => {
                if !editor.text().is_empty() {
                    editor.text().clone_into(&mut replay.sought);
                }
                self.find(true, out);
            }
            (Prompt::Go(mut editor), _) => {
                editor.key(key);
                replay.prompt = Some(Prompt::Go(editor));
            }
            (Prompt::Search(mut editor), _) => {
                editor.key(key);
                replay.prompt = Some(Prompt::Search(editor));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay() -> Replay {
        let mark = |at, sign| Mark {
            at: Duration::from_secs(at),
            sign,
        };
        let marks = vec![
            mark(10, Sign::Round(Some(Verdict::Object))),
            mark(15, Sign::Receipt),
            mark(20, Sign::Round(None)),
        ];
        let mut replay = Replay::new("s", false, marks);
        replay.length = (Duration::from_secs(200), true);
        replay
    }

    #[test]
    fn a_moment_is_a_time_or_a_part() {
        let replay = replay();
        let moment = |text: &str| replay.moment(text).map(|at| at.as_millis());
        assert_eq!(moment("90"), Some(90_000));
        assert_eq!(moment(" 1:30.5"), Some(90_500));
        assert_eq!(moment("1:02:03"), Some(3_723_000));
        assert_eq!(moment("45%"), Some(90_000));
        for none in ["", "x", "-1", "101%", "1:x", "nan%"] {
            assert_eq!(moment(none), None, "{none}");
        }
    }

    #[test]
    fn idle_time_is_capped_and_speed_divides_the_rest() {
        let mut replay = replay();
        let seconds = Duration::from_secs;
        assert_eq!(replay.lasts(seconds(1)), seconds(1));
        assert_eq!(replay.lasts(seconds(100)), seconds(2));
        replay.speed = SPEEDS.len() - 1;
        assert_eq!(replay.lasts(seconds(1)), Duration::from_micros(31_250));
        replay.speed = 0;
        assert_eq!(replay.lasts(seconds(100)), seconds(8));
        assert_eq!(replay.within(seconds(100), seconds(4)), seconds(50));
        assert_eq!(replay.within(seconds(100), seconds(9)), seconds(100));
        assert_eq!(replay.within(Duration::ZERO, seconds(9)), Duration::ZERO);
    }

    #[test]
    fn steps_go_to_the_next_mark_of_their_kind() {
        let mut replay = replay();
        let is_round = |sign: Sign| matches!(sign, Sign::Round(_));
        let seconds = |at| Some(Duration::from_secs(at));
        replay.at = Duration::from_secs(10);
        assert_eq!(replay.mark(true, is_round), seconds(20));
        assert_eq!(replay.mark(true, |_| true), seconds(15));
        assert_eq!(replay.mark(false, is_round), None);
        replay.at = Duration::from_secs(21);
        assert_eq!(replay.mark(false, is_round), seconds(20));
        assert_eq!(replay.mark(true, |_| true), None);
    }
}
