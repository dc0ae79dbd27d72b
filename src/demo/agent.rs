//! The demo agent itself, as a machine: input, window changes and time go in, bytes for the terminal and effects come
//! out. It never looks at a clock.

use std::collections::VecDeque;
use std::time::Duration;

use super::Kind;
use super::composer::Composer;
use super::fault::{Fault, Faults};
use super::input::{Input, InputParser};
use super::reply;
use super::review;
use super::scene::{Entry, Painter, Scene, State, Work};
use super::script::{Pace, Script, Turn};
use super::style_claude::Claude;
use super::style_codex::Codex;
use super::style_opencode::OpenCode;
use super::style_plain::Plain;
use crate::screen::Size;

/// Longest wait for the terminal's answers before something is drawn.
const OPENING: Duration = Duration::from_millis(120);
/// How long a lone escape waits for the rest of a sequence.
const ESCAPE: Duration = Duration::from_millis(40);
/// Time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);
/// How long after the footer the tail of a reply comes (fault `late-tail`).
const LATE: Duration = Duration::from_millis(1500);
/// Pause between the stub of a first try and the second one (fault `retry-stump`).
const RETRY: Duration = Duration::from_millis(300);
/// Exit status of the fault `die`.
const DIED: u8 = 3;

/// How the agent is to behave.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What it looks like.
    pub kind: Kind,
    /// What it answers; the rules of the review where this has nothing to say.
    pub script: Script,
    /// How it misbehaves.
    pub faults: Faults,
    /// The folder it says it works in.
    pub folder: String,
    /// Name of the session in its channel.
    pub session: String,
}

/// What the outside is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write down what was typed while a dialog was up.
    Log(String),
    /// Append the turn to the channel.
    Record(Record),
    /// Start a process that outlives the agent.
    Spawn,
    /// End with this status.
    Exit(u8),
}

/// A turn as the channel keeps it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Record {
    /// The session; a new one after a reset.
    pub session: String,
    /// The exact text that was sent.
    pub prompt: String,
    /// The exact text of the reply, empty when the turn failed.
    pub reply: String,
    /// Whether the turn ended in an error.
    pub failed: bool,
}

/// What came of an input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Bytes for the terminal.
    pub bytes: Vec<u8>,
    /// What else is to be done, in order, after the bytes are written.
    pub effects: Vec<Effect>,
}

#[derive(Debug)]
enum Phase {
    /// Nothing is drawn yet.
    Opening {
        until: Duration,
    },
    /// The trust question is up.
    Asking,
    Rest,
    Turn(Box<Running>),
    Ended,
}

/// A turn that is running.
#[derive(Debug)]
struct Running {
    prompt: String,
    turn: Turn,
    faults: Faults,
    began: Duration,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before the first text; so many lines of the tool log are shown.
    Thinking { tools: usize, until: Duration },
    /// Text is coming: so many characters have come.
    Writing { came: usize, next: Duration },
    /// Busy for ever.
    Stuck,
}

/// The agent.
pub struct Agent {
    setup: Setup,
    painter: Box<dyn Painter>,
    scene: Scene,
    phase: Phase,
    parser: InputParser,
    queue: VecDeque<String>,
    turns: usize,
    sessions: usize,
    next_frame: Option<Duration>,
    escape_until: Option<Duration>,
    late_tail: Option<Duration>,
    /// Whether the submit key after this paste was swallowed already.
    swallowed: bool,
    out: Output,
}

impl Agent {
    /// Starts the agent in a window.
    pub fn open(setup: Setup, size: Size) -> (Self, Output) {
        let painter: Box<dyn Painter> = match setup.kind {
            Kind::Claude => Box::new(Claude::new()),
            Kind::Codex => Box::new(Codex::new()),
            Kind::OpenCode => Box::new(OpenCode::new()),
            Kind::Plain => Box::new(Plain::new()),
        };
        let scene = Scene {
            size,
            entries: Vec::new(),
            work: None,
            state: State::Idle,
            composer: Composer::new(setup.kind),
            queued: 0,
            has_prompt: !setup.faults.has(Fault::NotIdle),
            shows_input: !setup.faults.has(Fault::NoEcho),
            asks_trust: setup.faults.has(Fault::Dialog),
            sync: false,
            start_row: 0,
            folder: setup.folder.clone(),
        };
        let mut agent = Self {
            setup,
            painter,
            scene,
            phase: Phase::Opening { until: OPENING },
            parser: InputParser::new(),
            queue: VecDeque::new(),
            turns: 0,
            sessions: 1,
            next_frame: None,
            escape_until: None,
            late_tail: None,
            swallowed: false,
            out: Output::default(),
        };
        if agent.setup.faults.has(Fault::ExitAtOnce) {
            agent.say("error: not logged in\r\n");
            agent.end(1);
        } else {
            let bytes = agent.painter.open();
            agent.say(&bytes);
        }
        let out = agent.give();
        (agent, out)
    }

    /// Takes bytes from the terminal.
    pub fn handle_input(&mut self, bytes: &[u8], now: Duration) -> Output {
        let inputs = self.parser.feed(bytes);
        self.escape_until = self.parser.is_waiting().then_some(now + ESCAPE);
        for input in inputs {
            self.take(input, now);
        }
        self.draw();
        self.give()
    }

    /// The window has another size.
    pub fn handle_resize(&mut self, size: Size, now: Duration) -> Output {
        let _ = now;
        self.scene.size = size;
        if !matches!(self.phase, Phase::Ended | Phase::Opening { .. }) {
            let bytes = self.painter.resize(&self.scene);
            self.say(&bytes);
        }
        self.give()
    }

    /// The time of the next deadline has come.
    pub fn wake(&mut self, now: Duration) -> Output {
        if self.escape_until.is_some_and(|until| until <= now) {
            self.escape_until = None;
            for input in self.parser.flush() {
                self.take(input, now);
            }
        }
        if let Phase::Opening { until } = self.phase
            && until <= now
        {
            self.opened();
        }
        if self.late_tail.is_some_and(|at| at <= now) {
            self.late_tail = None;
            for entry in &mut self.scene.entries {
                if let Entry::Reply { text, drawn, .. } = entry {
                    *drawn = text.len();
                }
            }
        }
        self.advance(now);
        if self.next_frame.is_some_and(|at| at <= now) {
            self.next_frame = Some(now + FRAME);
            if let Some(work) = &mut self.scene.work {
                work.tick += 1;
            }
        }
        if let (Some(work), Phase::Turn(running)) = (&mut self.scene.work, &self.phase) {
            work.elapsed = now.saturating_sub(running.began);
        }
        self.draw();
        self.give()
    }

    /// When [`Self::wake`] is to be called next; never, when nothing is going on.
    pub fn next_deadline(&self) -> Option<Duration> {
        let stage = match &self.phase {
            Phase::Ended => return None,
            Phase::Opening { until } => Some(*until),
            Phase::Turn(running) => match running.stage {
                Stage::Thinking { until, .. } => Some(until),
                Stage::Writing { next, .. } => Some(next),
                Stage::Stuck => None,
            },
            Phase::Asking | Phase::Rest => None,
        };
        [stage, self.next_frame, self.escape_until, self.late_tail]
            .into_iter()
            .flatten()
            .min()
    }

    /// Ends the agent from outside, the terminal restored.
    pub fn close(&mut self) -> Output {
        self.quit();
        self.give()
    }

    fn take(&mut self, input: Input, now: Duration) {
        match (&self.phase, input) {
            (Phase::Ended, _) => {}
            (_, Input::KnowsSync(knows)) => self.scene.sync = knows,
            (Phase::Opening { .. }, Input::Cursor(row, _)) => {
                self.scene.start_row = row.saturating_sub(1);
                self.opened();
            }
            (_, Input::Cursor(..) | Input::Answer) => {}
            (Phase::Asking, input) => self.take_at_dialog(&input),
            (_, input) => self.take_key(input, now),
        }
    }

    fn take_at_dialog(&mut self, input: &Input) {
        // Not the bytes as they came: answers of the terminal are among them, and a read may end inside of one.
        if let Some(typed) = input.typed() {
            self.effect(Effect::Log(typed.escape_debug().to_string()));
        }
        match input {
            Input::Enter => {
                self.scene.asks_trust = false;
                self.phase = Phase::Rest;
                let bytes = self.painter.clear(&self.scene);
                self.say(&bytes);
            }
            Input::Escape | Input::Interrupt | Input::Eof => self.quit(),
            _ => {}
        }
    }

    fn take_key(&mut self, input: Input, now: Duration) {
        if matches!(self.scene.state, State::Done | State::Error) {
            // The end of a turn is told until the next key.
            self.scene.state = State::Idle;
        }
        match input {
            Input::Text(text) => self.scene.composer.type_text(&text),
            Input::Paste(text) => {
                self.swallowed = false;
                self.scene.composer.paste(&text);
            }
            Input::Backspace => self.scene.composer.backspace(),
            Input::KillLine => self.scene.composer.clear(),
            Input::Enter => self.submit(now),
            Input::Escape => self.interrupt(),
            Input::Interrupt if !self.scene.composer.is_empty() => self.scene.composer.clear(),
            Input::Interrupt if self.scene.work.is_some() => self.interrupt(),
            Input::Eof if !self.scene.composer.is_empty() => {}
            Input::Interrupt | Input::Eof => self.quit(),
            Input::KnowsSync(_) | Input::Cursor(..) | Input::Answer | Input::Other => {}
        }
    }

    fn submit(&mut self, now: Duration) {
        if self.setup.faults.has(Fault::SwallowEnter)
            && self.scene.composer.is_fresh_paste()
            && !self.swallowed
        {
            self.swallowed = true;
            return;
        }
        // The prompt is shown once more by the style before it moves into the transcript, as it stood in the box.
        let text = self.scene.composer.take();
        match text.trim() {
            "" => {}
            "/exit" | "/quit" => self.quit(),
            "/clear" | "/new" if self.scene.work.is_none() => self.reset(text.trim()),
            _ if matches!(self.phase, Phase::Rest) => self.start(text, now),
            _ => {
                self.queue.push_back(text);
                self.scene.queued = self.queue.len();
            }
        }
    }

    fn opened(&mut self) {
        self.phase = if self.scene.asks_trust {
            Phase::Asking
        } else {
            Phase::Rest
        };
        if !self.scene.has_prompt {
            self.scene.state = State::Working;
        }
    }

    fn reset(&mut self, command: &str) {
        self.sessions += 1;
        self.scene.entries.clear();
        if self.setup.kind == Kind::Claude {
            self.scene.entries.push(Entry::Command(command.to_owned()));
        }
        self.late_tail = None;
        let bytes = self.painter.clear(&self.scene);
        self.say(&bytes);
    }

    fn start(&mut self, prompt: String, now: Duration) {
        let tag = review::asked_tag(&prompt).unwrap_or_default();
        let scripted = self.setup.script.take(&prompt);
        let faults = scripted.as_ref().map_or_else(
            || self.setup.faults.clone(),
            |turn| self.setup.faults.and(&turn.faults),
        );
        let tag = if faults.has(Fault::ForgetTag) {
            String::new()
        } else {
            tag
        };
        let mut turn = scripted.unwrap_or_else(|| {
            let asked = (!tag.is_empty()).then_some(tag.as_str());
            Turn::saying(review::answer_tagged(&prompt, asked))
        });
        turn.text = reply::fill(&turn.text, &tag);
        if faults.has(Fault::Quote) {
            turn.text = reply::quoting(&turn.text);
        }
        if faults.has(Fault::NoVerdict) || (faults.has(Fault::Stale) && self.turns > 0) {
            turn.text = reply::without_verdict(&turn.text);
        }
        if faults.has(Fault::Slow) {
            turn.pace = turn.pace.slowed();
        }
        if faults.has(Fault::Spawn) && self.turns == 0 {
            self.effect(Effect::Spawn);
        }
        if !faults.has(Fault::NoEcho) {
            self.scene.entries.push(Entry::Prompt(prompt.clone()));
        }
        let stage = if faults.has(Fault::Hang) {
            Stage::Stuck
        } else {
            thinking(&turn, 0, now)
        };
        self.scene.work = Some(Work {
            elapsed: Duration::ZERO,
            tick: 0,
            streaming: false,
            turn: self.turns,
        });
        self.scene.state = State::Working;
        self.next_frame = Some(now + FRAME);
        self.turns += 1;
        self.phase = Phase::Turn(Box::new(Running {
            prompt,
            turn,
            faults,
            began: now,
            stage,
        }));
    }

    /// Moves the running turn on as far as the time allows.
    fn advance(&mut self, now: Duration) {
        loop {
            let Phase::Turn(running) = &mut self.phase else {
                return;
            };
            match running.stage {
                Stage::Thinking { tools, until } if until <= now => self.think(tools, now),
                Stage::Writing { came, next } if next <= now => self.write(came, next, now),
                _ => return,
            }
        }
    }

    fn think(&mut self, tools: usize, now: Duration) {
        let Phase::Turn(running) = &mut self.phase else {
            return;
        };
        if let Some(line) = running.turn.tools.get(tools) {
            self.scene.entries.push(Entry::Tool(line.clone()));
            running.stage = thinking(&running.turn, tools + 1, now);
            return;
        }
        if running.faults.has(Fault::FailTurn) {
            self.fail(now);
            return;
        }
        running.stage = Stage::Writing { came: 0, next: now };
        self.scene.entries.push(Entry::Reply {
            text: String::new(),
            drawn: 0,
            open: true,
        });
        if let Some(work) = &mut self.scene.work {
            work.streaming = true;
        }
    }

    fn write(&mut self, came: usize, due: Duration, now: Duration) {
        let Phase::Turn(running) = &mut self.phase else {
            return;
        };
        let Pace {
            chunk,
            delay,
            pause,
            ..
        } = running.turn.pace;
        let all = running.turn.text.chars().count();
        let half = all / 2;
        let mut next = (came + chunk.max(1)).min(all);
        let mut wait = delay;
        if let Some((at, time)) = pause.filter(|(at, _)| came < *at && next >= *at) {
            next = at.min(all);
            wait = time;
        }
        if running.faults.has(Fault::Die) && came >= half {
            self.end(DIED);
            return;
        }
        if running.faults.has(Fault::RetryStump) && came < half && next >= half {
            // The first try breaks off in the middle of a word; the second one begins anew.
            self.show_reply(half, true);
            self.scene.entries.push(Entry::Reply {
                text: String::new(),
                drawn: 0,
                open: true,
            });
            let Phase::Turn(running) = &mut self.phase else {
                return;
            };
            running.faults = running.faults.less(Fault::RetryStump);
            running.stage = Stage::Writing {
                came: 0,
                next: now + RETRY,
            };
            return;
        }
        running.stage = Stage::Writing {
            came: next,
            next: due.max(now.saturating_sub(delay)) + wait,
        };
        self.show_reply(next, next == all);
        if next == all {
            self.finish(now);
        }
    }

    /// Brings the last reply up to so many characters.
    fn show_reply(&mut self, came: usize, whole: bool) {
        let Phase::Turn(running) = &self.phase else {
            return;
        };
        let full = &running.turn.text;
        let end = full
            .char_indices()
            .nth(came)
            .map_or(full.len(), |(at, _)| at);
        if let Some(Entry::Reply { text, drawn, open }) = self.scene.entries.last_mut() {
            full[..end].clone_into(text);
            *drawn = end;
            *open = !whole;
        }
    }

    fn finish(&mut self, now: Duration) {
        let Phase::Turn(running) = std::mem::replace(&mut self.phase, Phase::Rest) else {
            return;
        };
        if running.faults.has(Fault::LateTail)
            && self.setup.kind == Kind::OpenCode
            && let Some(Entry::Reply { text, drawn, .. }) = self.scene.entries.last_mut()
        {
            *drawn = reply::late_from(text);
            self.late_tail = Some(now + LATE);
        }
        self.scene
            .entries
            .push(Entry::Done(now.saturating_sub(running.began)));
        let reply = running.turn.text.clone();
        self.rest(State::Done, Some((running.prompt, reply, false)), now);
    }

    fn fail(&mut self, now: Duration) {
        let Phase::Turn(running) = std::mem::replace(&mut self.phase, Phase::Rest) else {
            return;
        };
        let message = "API Error: 529 the demo fails on purpose".to_owned();
        self.scene.entries.push(Entry::Failed(message));
        if self.setup.kind == Kind::Claude || self.setup.kind == Kind::Plain {
            self.scene
                .entries
                .push(Entry::Done(now.saturating_sub(running.began)));
        }
        self.rest(
            State::Error,
            Some((running.prompt, String::new(), true)),
            now,
        );
    }

    fn interrupt(&mut self) {
        let Phase::Turn(_) = &self.phase else {
            return;
        };
        self.phase = Phase::Rest;
        if let Some(Entry::Reply { open, .. }) = self.scene.entries.last_mut() {
            *open = false;
        }
        self.scene.entries.push(Entry::Interrupted);
        self.rest(State::Idle, None, Duration::ZERO);
    }

    /// Comes to rest after a turn, or goes on with the next prompt in the queue.
    fn rest(&mut self, state: State, turn: Option<(String, String, bool)>, now: Duration) {
        self.scene.work = None;
        self.scene.state = state;
        self.next_frame = None;
        self.draw();
        if let Some((prompt, reply, failed)) = turn {
            let session = format!("{}-{}", self.setup.session, self.sessions);
            self.effect(Effect::Record(Record {
                session,
                prompt,
                reply,
                failed,
            }));
        }
        if let Some(prompt) = self.queue.pop_front() {
            self.scene.queued = self.queue.len();
            self.start(prompt, now);
        }
    }

    fn quit(&mut self) {
        if matches!(self.phase, Phase::Ended) {
            return;
        }
        let bytes = self.painter.close(&self.scene);
        self.say(&bytes);
        self.end(0);
    }

    fn end(&mut self, status: u8) {
        self.phase = Phase::Ended;
        self.next_frame = None;
        self.late_tail = None;
        self.effect(Effect::Exit(status));
    }

    fn draw(&mut self) {
        if matches!(self.phase, Phase::Opening { .. } | Phase::Ended) {
            return;
        }
        let told = self.painter.tell(&self.scene);
        let drawn = self.painter.draw(&self.scene);
        self.say(&told);
        self.say(&drawn);
    }

    fn say(&mut self, bytes: &str) {
        self.out.bytes.extend_from_slice(bytes.as_bytes());
    }

    fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    fn give(&mut self) -> Output {
        std::mem::take(&mut self.out)
    }
}

fn thinking(turn: &Turn, tools: usize, now: Duration) -> Stage {
    let parts = u32::try_from(turn.tools.len() + 1).unwrap_or(u32::MAX);
    Stage::Thinking {
        tools,
        until: now + turn.pace.think / parts,
    }
}
