//! A console on a terminal of the emulator, with the demo agent as its peer and a clock of the test's own.

use std::sync::Arc;
use std::time::Duration;

use codriver::app::input::Decoder;
use codriver::app::{Alerts, App, Bindings, Effect, Event, Opening, Role, Terminal};
use codriver::config::bundled_profile;
use codriver::demo::Kind;
use codriver::demo::agent::{Agent, Output, Setup};
use codriver::demo::script::Script;
use codriver::pairing::Activity;
use codriver::screen::{Cell, Color, Screen, Size, Underline};
use codriver::ui::Console;

/// What the tests open where they wish nothing else.
pub(crate) fn opening(size: (u16, u16)) -> Opening {
    let mut driver = bundled_profile("unknown");
    driver.name = "bash".to_owned();
    Opening {
        size,
        driver: Some(Arc::new(driver)),
        peer: Arc::new(bundled_profile("demo")),
        repository: "payments".to_owned(),
        keys: Bindings::default(),
        layout: codriver::app::layout::Layout::Auto,
        scrollback: 1000,
        mouse: true,
        alerts: Alerts::Away,
        confined: "namespace".to_owned(),
        hint: false,
        terminal: Terminal::of("xterm-256color", "truecolor", false, true),
        reader: false,
    }
}

/// The console, what it is drawn on, and its peer.
pub(crate) struct Stage {
    pub(crate) app: App,
    pub(crate) now: Duration,
    console: Console,
    screen: Screen,
    decoder: Decoder,
    peer: Option<Agent>,
    /// Only the answer to a key was drawn.
    is_owed: bool,
    /// What the console wanted done.
    pub(crate) effects: Vec<Effect>,
}

impl Stage {
    pub(crate) fn open(opening: Opening) -> Self {
        let (cols, rows) = opening.size;
        let app = App::open(opening);
        Self {
            app,
            now: Duration::ZERO,
            console: Console::new(),
            screen: Screen::new(Size::new(cols, rows), 0),
            decoder: Decoder::default(),
            peer: None,
            is_owed: false,
            effects: Vec::new(),
        }
    }

    /// A console whose two agents run: the driver a shell, the peer the demo agent at rest.
    pub(crate) fn running(opening: Opening) -> Self {
        let mut stage = Self::open(opening);
        stage.start_driver();
        stage.start_peer();
        stage.pass(1000);
        stage
    }

    /// Starts the driver: a shell that has listed a folder.
    pub(crate) fn start_driver(&mut self) {
        self.event(Event::Started(Role::Driver));
        self.event(Event::Version(Role::Driver, "5.2.15".to_owned()));
        self.output(
            Role::Driver,
            "\x1b[32mpayments\x1b[0m$ ls --color\r\n\
             \x1b[1;34msrc\x1b[0m  \x1b[38;5;208mCargo.toml\x1b[0m  \x1b[38;2;120;200;80m支払い.md\x1b[0m\r\n\
             \x1b[32mpayments\x1b[0m$ \x1b[7mcargo\x1b[0m \x1b[4mtest\x1b[0m",
        );
    }

    /// Starts the demo agent as the peer.
    pub(crate) fn start_peer(&mut self) {
        let setup = Setup {
            kind: Kind::Claude,
            script: Script::default(),
            faults: codriver::demo::fault::Faults::default(),
            folder: "/srv/payments".to_owned(),
            session: "demo-1".to_owned(),
        };
        let (agent, drawn) = Agent::open(setup, self.app.peer.screen.size());
        self.peer = Some(agent);
        self.event(Event::Started(Role::Peer));
        self.event(Event::Version(Role::Peer, "0.1.0".to_owned()));
        self.drawn_by_peer(&drawn);
    }

    fn drawn_by_peer(&mut self, drawn: &Output) {
        if !drawn.bytes.is_empty() {
            self.event(Event::Output(Role::Peer, &drawn.bytes));
        }
    }

    /// Tells the console what happened, and the peer what came of it for it.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        let now = self.now;
        let effects = self.app.update(event, now);
        for effect in effects {
            let answer = match (&mut self.peer, &effect) {
                (Some(peer), Effect::Type(bytes) | Effect::Write(Role::Peer, bytes)) => {
                    peer.handle_input(bytes, now)
                }
                (Some(peer), Effect::Resize(Role::Peer, size)) => peer.handle_resize(*size, now),
                _ => Output::default(),
            };
            let asks = effect == Effect::AskChannel;
            self.effects.push(effect);
            self.drawn_by_peer(&answer);
            if asks {
                self.event(Event::Heard(codriver::pairing::Beside::default()));
            }
        }
    }

    pub(crate) fn output(&mut self, role: Role, text: &str) {
        self.event(Event::Output(role, text.as_bytes()));
    }

    /// Types bytes as the terminal sends them; an escape at their end is the key.
    pub(crate) fn type_in(&mut self, bytes: &[u8]) {
        let mut inputs = self.decoder.feed(bytes, self.now);
        inputs.extend(self.decoder.wake(self.now + Duration::from_secs(1)));
        for input in inputs {
            self.event(Event::Input(input));
        }
    }

    /// Presses the prefix and a key.
    pub(crate) fn command(&mut self, key: &str) {
        self.type_in(b"\x1d");
        self.type_in(key.as_bytes());
    }

    pub(crate) fn resize(&mut self, cols: u16, rows: u16) {
        self.screen.resize(Size::new(cols, rows), self.now);
        self.event(Event::Resized(cols, rows));
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn pass(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        loop {
            let peer = self.peer.as_ref().and_then(Agent::next_deadline);
            let due = [self.app.next_deadline(), peer].into_iter().flatten().min();
            let Some(due) = due.filter(|due| *due <= end) else {
                break;
            };
            self.now = self.now.max(due);
            if peer.is_some_and(|due| self.now >= due)
                && let Some(agent) = &mut self.peer
            {
                let drawn = agent.wake(self.now);
                self.drawn_by_peer(&drawn);
            }
            self.event(Event::Woke);
        }
        self.now = end;
        self.event(Event::Woke);
    }

    /// Draws what changed, as the loop does. A time that runs may stand still for a quarter of a second.
    pub(crate) fn draw(&mut self) {
        let is_busy = |role| {
            let pane = self.app.pane(role);
            pane.is_some_and(|pane| pane.doing.activity == Activity::Busy)
        };
        if self.app.asking.is_some() || is_busy(Role::Driver) || is_busy(Role::Peer) {
            // An answer of the terminal has all of it drawn.
            self.type_in(b"\x1b[?62c");
        }
        if self.app.take_changed() | std::mem::take(&mut self.is_owed) {
            self.paint(None);
        }
    }

    /// Draws the answer to a key, as the loop does between two frames; the rest is owed.
    pub(crate) fn draw_echo(&mut self, role: Role) {
        if self.app.take_changed() | self.is_owed {
            self.paint(Some(role));
            self.is_owed = true;
        }
    }

    fn paint(&mut self, echo: Option<Role>) {
        let mut out = Vec::new();
        self.console.draw(&mut self.app, echo, &mut out);
        self.screen.feed(&out, self.now);
    }

    /// What the terminal shows: its rows, the styles in them, and the cursor.
    pub(crate) fn shown(&mut self) -> String {
        self.draw();
        picture(&self.screen)
    }

    /// What a terminal shows on which all of it is drawn anew.
    pub(crate) fn shown_anew(&mut self) -> String {
        let (cols, rows) = self.app.size;
        let mut screen = Screen::new(Size::new(cols, rows), 0);
        let mut out = Vec::new();
        Console::new().draw(&mut self.app, None, &mut out);
        screen.feed(&out, self.now);
        picture(&screen)
    }
}

/// The rows of a screen, the runs of them that are not plain, and the cursor.
pub(crate) fn picture(screen: &Screen) -> String {
    let mut text = String::new();
    let mut styles = String::new();
    for row in 0..screen.size().rows {
        let mut line = String::new();
        let mut runs: Vec<(u16, u16, String)> = Vec::new();
        for cell in screen.row_cells(row) {
            line.push_str(cell.text);
            let end = cell.col + cell.width - 1;
            let look = told(&cell);
            match runs.last_mut() {
                Some((_, last, before)) if *before == look => *last = end,
                _ => runs.push((cell.col, end, look)),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
        let told: Vec<String> = runs
            .iter()
            .filter(|(.., look)| !look.is_empty())
            .map(|(from, to, look)| format!("{from}-{to} {look}"))
            .collect();
        if !told.is_empty() {
            styles.push_str(&format!("{row:>3}: {}\n", told.join(", ")));
        }
    }
    let cursor = screen.cursor();
    let cursor = match cursor.visible {
        true => format!(
            "{},{} shape {}",
            cursor.col,
            cursor.row,
            screen.cursor_shape()
        ),
        false => "hidden".to_owned(),
    };
    format!("{text}── styles\n{styles}── cursor {cursor}\n")
}

/// How a cell is drawn, in a few words; empty when it is plain.
fn told(cell: &Cell<'_>) -> String {
    let (style, extra) = (cell.style, cell.extra);
    let color = |color| match color {
        Color::Default => None,
        Color::Idx(at) => Some(at.to_string()),
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
    };
    let words = [
        color(style.fg),
        color(style.bg).map(|color| format!("on {color}")),
        style.bold.then(|| "bold".to_owned()),
        style.dim.then(|| "dim".to_owned()),
        style.italic.then(|| "italic".to_owned()),
        style.underline.then(|| "underlined".to_owned()),
        style.inverse.then(|| "inverse".to_owned()),
        (extra.underline != Underline::Single).then(|| format!("{:?}", extra.underline)),
        color(extra.underline_color).map(|color| format!("line {color}")),
        extra.blink.then(|| "blinking".to_owned()),
        extra.conceal.then(|| "hidden".to_owned()),
        extra.strike.then(|| "struck".to_owned()),
        extra.overline.then(|| "overlined".to_owned()),
        extra.link.map(|_| "linked".to_owned()),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    words.join(" ")
}
