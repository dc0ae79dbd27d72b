//! The state of the console: events in, effects out; drawing reads it (systems.md A.8, interface.md 7, console.md).
//!
//! One task owns it. Nothing here waits, and time comes with each event.

mod action;
mod binding;
pub mod choice;
mod chord;
mod composer;
mod editor;
pub mod effect;
pub mod event;
pub mod input;
mod keys;
pub mod layout;
pub mod ledger;
mod mouse;
mod overlay;
pub mod pane;
mod question;
pub mod replay;
mod round;
pub mod scroll;
pub mod terminal;
pub mod theme;
pub mod wrap;

pub use action::Action;
pub use binding::{BindingFault, Bindings};
pub use chord::{Chord, NoKey};
pub use composer::Composer;
pub use editor::Editor;
pub use effect::{Alerts, Effect};
pub use event::{Ask, Event};
pub use overlay::{Help, Overlay, Reader, Table, Tables};
pub use pane::{Life, Pane};
pub use question::Question;
pub use round::Asking;
pub use terminal::{Abilities, Depth, Notify, Terminal};

use std::sync::Arc;
use std::time::Duration;

use self::event::Branch;
use self::input::{Input, encode_focus};
use self::layout::{Layout, Places, Wish, size_of};
use self::ledger::Ledger;
use self::scroll::Scroll;
use crate::config::Profile;
use crate::pairing::Activity;
use crate::screen::{Signal, Size};

/// Which of the two panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one that plans and writes.
    Driver,
    /// The one that reviews.
    Peer,
}

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Peer => "peer",
        }
    }

    /// Its place among the two.
    pub fn at(self) -> usize {
        match self {
            Self::Driver => 0,
            Self::Peer => 1,
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Driver => Self::Peer,
            Self::Peer => Self::Driver,
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With a status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// Its terminal was closed, and nothing more is known.
    Unknown,
}

impl Ended {
    /// What a person reads.
    pub fn shown(self) -> String {
        match self {
            Self::Status(status) => format!("exit {status}"),
            Self::Signal(signal) => format!("signal {signal}"),
            Self::Unknown => "its terminal was closed".to_owned(),
        }
    }
}

/// What a console is opened with.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Columns and rows of the outer terminal.
    pub size: (u16, u16),
    /// The driver's profile; none for a person who drives by hand.
    pub driver: Option<Arc<Profile>>,
    /// The peer's profile.
    pub peer: Arc<Profile>,
    /// The repository's name.
    pub repository: String,
    /// The keys.
    pub keys: Bindings,
    /// How the panes stand.
    pub layout: Layout,
    /// Rows of scrollback kept per pane.
    pub scrollback: usize,
    /// Whether the console takes the mouse.
    pub mouse: bool,
    /// When attention is drawn to what happened.
    pub alerts: Alerts,
    /// How the peer is confined, in a word.
    pub confined: String,
    /// Whether the first-start hint is shown.
    pub hint: bool,
    /// The outer terminal, as far as its environment tells.
    pub terminal: Terminal,
    /// Plain lines, no animation.
    pub reader: bool,
}

/// One line for the person, until something newer comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Until when; none: until it is answered by a key.
    pub until: Option<Duration>,
    /// Whether something is wrong.
    pub is_fault: bool,
}

/// How long a notice stands.
const NOTICE: Duration = Duration::from_secs(8);
/// Between two pictures of the spinner.
const SPIN: Duration = Duration::from_millis(250);
/// How long the key echo of a pane is awaited.
const ECHO: Duration = Duration::from_millis(100);

/// The console.
pub struct App {
    /// What it was opened with.
    pub opening: Opening,
    /// The time of the last event.
    pub now: Duration,
    /// Columns and rows of the outer terminal.
    pub size: (u16, u16),
    /// Where everything stands; none when the terminal is too small.
    pub places: Option<Places>,
    /// The pane with the focus.
    pub focus: Role,
    /// How the panes stand when none is zoomed.
    pub layout: Layout,
    /// Whether the focused pane is shown alone.
    pub is_zoomed: bool,
    /// The driver's pane; none for a person who drives by hand.
    pub driver: Option<Pane>,
    /// The peer's pane.
    pub peer: Pane,
    /// Rounds, receipts and fallbacks.
    pub ledger: Ledger,
    /// What is being asked.
    pub asking: Option<Asking>,
    /// The outer terminal said that its colours changed; it is asked for the new ones.
    is_recoloured: bool,
    /// The message being written.
    pub composer: Composer,
    /// What lies over the panes.
    pub overlay: Option<Overlay>,
    /// The tables.
    pub tables: Tables,
    /// A pane that is scrolled up.
    pub scroll: Option<Scroll>,
    /// One line for the person.
    pub notice: Option<Notice>,
    /// Whether the prefix was pressed.
    pub is_prefixed: bool,
    /// Whether keys go to the peer when it has the focus.
    pub types_to_peer: bool,
    /// Whether the window has the focus, as far as it tells.
    pub has_focus: bool,
    /// Where the repository stands.
    pub branch: Option<Branch>,
    /// The outer terminal.
    pub terminal: Terminal,
    /// The size of a cell in pixels.
    pub cell: Option<(u16, u16)>,
    /// Whether the first-start hint is still shown.
    pub shows_hint: bool,
    /// What is replayed, when the panes show something recorded.
    pub replay: Option<replay::Replay>,
    /// Whether something that is drawn is different.
    is_changed: bool,
    /// A pane whose answer to a key is to be shown at once.
    echo: Option<(Role, Duration)>,
    /// When something was last typed to a child.
    typed: Option<Duration>,
    /// The next picture of the spinner.
    spins: Option<Duration>,
    /// The title the outer terminal has.
    title: String,
    /// A press that may become a selection.
    drag: Option<mouse::Drag>,
    /// The pane whose child was told of a button that is down.
    held: Option<Role>,
}

impl App {
    /// Opens the console; its children are to be started with the sizes of its panes.
    pub fn open(opening: Opening) -> Self {
        let size = Size::new(opening.size.0.max(2), opening.size.1.max(1));
        let pane = |role, profile: &Arc<Profile>| {
            Pane::new(role, Arc::clone(profile), size, opening.scrollback)
        };
        let mut app = Self {
            now: Duration::ZERO,
            size: opening.size,
            places: None,
            focus: if opening.driver.is_some() {
                Role::Driver
            } else {
                Role::Peer
            },
            layout: opening.layout,
            is_zoomed: opening.layout == Layout::Zoom,
            driver: opening
                .driver
                .as_ref()
                .map(|profile| pane(Role::Driver, profile)),
            peer: pane(Role::Peer, &opening.peer),
            ledger: Ledger::default(),
            asking: None,
            is_recoloured: false,
            composer: Composer::default(),
            overlay: None,
            tables: Tables::default(),
            scroll: None,
            notice: None,
            is_prefixed: false,
            types_to_peer: opening.driver.is_none(),
            has_focus: true,
            branch: None,
            terminal: opening.terminal.clone(),
            cell: None,
            shows_hint: opening.hint,
            replay: None,
            is_changed: true,
            echo: None,
            typed: None,
            spins: None,
            title: String::new(),
            drag: None,
            held: None,
            opening,
        };
        if app.size.1 >= layout::TABLE_ROWS {
            app.tables.is_shown = true;
        }
        app.arrange();
        // Nothing runs yet: the sizes hold at once.
        let due = Duration::MAX;
        for role in [Role::Driver, Role::Peer] {
            if let Some(pane) = app.pane_mut(role) {
                pane.take_size(due);
            }
        }
        app
    }

    /// A pane.
    pub fn pane(&self, role: Role) -> Option<&Pane> {
        match role {
            Role::Driver => self.driver.as_ref(),
            Role::Peer => Some(&self.peer),
        }
    }

    /// A pane.
    pub fn pane_mut(&mut self, role: Role) -> Option<&mut Pane> {
        match role {
            Role::Driver => self.driver.as_mut(),
            Role::Peer => Some(&mut self.peer),
        }
    }

    /// Rows of a pane's place, and rows of its screen above what that shows.
    pub fn window(&self, role: Role) -> (u16, u16) {
        let rows = self.places.map_or(1, |places| places.of(role).screen.rows);
        let hidden = self.pane(role).map_or(0, |pane| pane.hidden_rows(rows));
        (rows, hidden)
    }

    /// The pane with the focus.
    pub fn focused(&self) -> &Pane {
        self.pane(self.focus).unwrap_or(&self.peer)
    }

    /// Takes in what happened and says what is to be done.
    pub fn update(&mut self, event: Event<'_>, now: Duration) -> Vec<Effect> {
        self.now = now;
        let mut out = Vec::new();
        match event {
            Event::Output(role, bytes) => self.output(role, bytes, &mut out),
            Event::Input(input) => self.input(input, &mut out),
            Event::Resized(cols, rows) => self.resized(cols, rows),
            Event::Started(role) => self.started(role),
            Event::NotStarted(role, why) => self.not_started(role, why),
            Event::Exited(role, ended) => self.exited(role, ended, &mut out),
            Event::Version(role, version) => {
                if let Some(pane) = self.pane_mut(role) {
                    pane.version = Some(version);
                }
                self.is_changed = true;
            }
            Event::Turn(turn) => self.turn(*turn, &mut out),
            Event::Heard(found) => self.heard(found, &mut out),
            Event::Said => self.said(),
            Event::Answered(answered) => self.answered(*answered, &mut out),
            Event::Unanswered(why) => self.unanswered(why, &mut out),
            Event::Receipt(receipted) => {
                self.ledger.receipt(*receipted);
                self.is_changed = true;
            }
            Event::Elsewhere(runner, round) => {
                if let Some(asking) = &mut self.asking {
                    (asking.stage, asking.round) = (runner, round);
                }
                self.is_changed = true;
            }
            Event::Fallback(fell) => self.fell_back(*fell),
            Event::Asks(ask, by) => {
                let before = self.asking.is_some();
                self.ask(ask, &mut out);
                if let Some(asking) = self.asking.as_mut().filter(|_| !before) {
                    asking.by = by;
                }
            }
            Event::Left => {
                for entry in &mut self.ledger.entries {
                    entry.waits = false;
                }
                if let (Some(Overlay::Question(question)), None) = (&mut self.overlay, &self.driver)
                {
                    question.to = Role::Peer;
                }
                self.is_changed = true;
            }
            Event::Edited(text) => self.edited(text),
            Event::Notice(text) => self.say(text, false),
            Event::Branch(branch) => {
                self.is_changed |= self.branch != branch;
                self.branch = branch;
            }
            Event::Replay(news) => self.replayed(*news),
            Event::Asked => out.push(Effect::Quit),
            Event::Woke => {}
        }
        self.wake(&mut out);
        self.retitle(&mut out);
        out
    }

    /// When `update` has something to do although nothing happened.
    pub fn next_deadline(&self) -> Option<Duration> {
        let panes = [self.driver.as_ref(), Some(&self.peer)];
        let panes = panes.into_iter().flatten().filter_map(Pane::next_deadline);
        let exchange = self.asking.as_ref().and_then(Asking::next_deadline);
        let notice = self.notice.as_ref().and_then(|notice| notice.until);
        panes.chain(exchange).chain(notice).chain(self.spins).min()
    }

    /// Whether what stands around and over the panes is different since the last call.
    pub fn take_frame(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Whether something that is drawn is different since the last call, or since the frame was last taken.
    pub fn take_changed(&mut self) -> bool {
        let mut is_drawn = false;
        for role in [Role::Driver, Role::Peer] {
            let shown = self
                .places
                .is_some_and(|places| !places.of(role).screen.is_empty());
            let scroll = self.scroll.as_ref();
            // The title of a pane that is scrolled up counts the rows below.
            let is_counted = scroll.is_some_and(|scroll| scroll.role == role);
            if let Some(pane) = self.pane_mut(role)
                && pane.take_drawn()
                && shown
            {
                is_drawn = true;
                self.is_changed |= is_counted;
            }
        }
        self.is_changed || is_drawn
    }

    /// The pane in which the answer to a key is awaited, and since when.
    pub fn awaited_echo(&self) -> Option<(Role, Duration)> {
        self.echo
    }

    /// The pane in which a key was answered just now: that is to be shown at once.
    pub fn take_echo(&mut self) -> Option<Role> {
        let (role, since) = self.echo?;
        if self.now.saturating_sub(since) > ECHO {
            self.echo = None;
            return None;
        }
        self.pane(role).filter(|pane| pane.is_drawn())?;
        self.echo = None;
        Some(role)
    }

    /// Says one thing to the person.
    pub fn say(&mut self, text: impl Into<String>, is_fault: bool) {
        self.notice = Some(Notice {
            text: text.into(),
            until: (!is_fault).then_some(self.now + NOTICE),
            is_fault,
        });
        self.is_changed = true;
    }

    /// Takes in what the outer terminal tells; the driver has its colours, the peer those its rules were proven on.
    fn learn(&mut self, reply: &input::Reply, out: &mut Vec<Effect>) {
        self.terminal.learn(reply);
        // It is told of the change when it can ask for the new colours.
        let is_news =
            matches!(reply, input::Reply::Background(_)) && std::mem::take(&mut self.is_recoloured);
        if let Some(driver) = &mut self.driver {
            driver.screen.set_palette(self.terminal.palette.clone());
            if is_news && driver.is_alive() && driver.screen.modes().color_scheme {
                let scheme = if self.terminal.palette.is_dark() {
                    1
                } else {
                    2
                };
                let told = format!("\x1b[?997;{scheme}n");
                out.push(Effect::Write(Role::Driver, told.into_bytes()));
            }
        }
        self.is_changed = true;
    }

    fn output(&mut self, role: Role, bytes: &[u8], out: &mut Vec<Effect>) {
        let now = self.now;
        let Some(pane) = self.pane_mut(role) else {
            return;
        };
        let was_starting = pane.life == Life::Starting;
        let changes = pane.feed(bytes, now);
        let replies = pane.screen.take_replies();
        let signals = pane.screen.take_signals();
        let is_alive = pane.is_alive();
        if !replies.is_empty() && is_alive {
            out.push(Effect::Write(role, replies));
        }
        if changes.bell {
            out.push(Effect::Bell);
        }
        for signal in signals {
            self.signal(role, signal, out);
        }
        self.is_changed |= was_starting || changes.title || changes.state;
        if role == Role::Peer {
            self.look(out);
        }
    }

    /// What a child asks of the person's desktop: only the driver's text reaches the clipboard, and it is told.
    fn signal(&mut self, role: Role, signal: Signal, out: &mut Vec<Effect>) {
        if self.replay.is_some() {
            // It was asked then, and of another desktop.
            return;
        }
        match (role, signal) {
            (Role::Driver, Signal::Copy(text)) => {
                let count = text.chars().count();
                self.say(
                    format!("the driver put {count} characters on your clipboard"),
                    false,
                );
                out.push(Effect::Copy(text));
            }
            (Role::Peer, Signal::Copy(_)) => {
                self.say(
                    "the peer wanted to write your clipboard; it was not let",
                    false,
                );
            }
            (role, Signal::Note { title, body }) => {
                let text = format!("{}: {title} {body}", role.word());
                self.say(text.clone(), false);
                self.alert(text, out);
            }
        }
    }

    /// Takes in that a pane's child is started anew: a new screen below what stood on the old one.
    pub fn relaunch(&mut self, role: Role) {
        let (now, scrollback) = (self.now, self.opening.scrollback);
        let Some(pane) = self.pane_mut(role) else {
            return;
        };
        let mut fresh = Pane::new(
            role,
            Arc::clone(&pane.profile),
            pane.screen.size(),
            scrollback,
        );
        fresh.version = pane.version.take();
        fresh.screen = pane.screen.successor(scrollback, now);
        *pane = fresh;
        if self
            .scroll
            .as_ref()
            .is_some_and(|scroll| scroll.role == role)
        {
            self.scroll = None;
        }
        self.notice = None;
        self.arrange();
    }

    fn started(&mut self, role: Role) {
        if let Some(pane) = self.pane_mut(role) {
            pane.life = Life::Starting;
        }
        self.is_changed = true;
    }

    fn not_started(&mut self, role: Role, why: String) {
        self.say(why.clone(), true);
        if let Some(pane) = self.pane_mut(role) {
            pane.life = Life::Failed(why);
        }
    }

    fn exited(&mut self, role: Role, ended: Ended, out: &mut Vec<Effect>) {
        let now = self.now;
        let Some(pane) = self.pane_mut(role) else {
            return;
        };
        pane.end(ended, now);
        let key = self
            .opening
            .keys
            .key_of(Action::Restart)
            .unwrap_or_default();
        let prefix = self.opening.keys.prefix.shown();
        self.say(
            format!(
                "{} ended ({}) · {prefix} {key} restarts it",
                role.word(),
                ended.shown()
            ),
            true,
        );
        if role == Role::Peer {
            self.types_to_peer = self.driver.is_none();
            self.peer_ended(out);
        }
        self.alert(format!("{} ended", role.word()), out);
    }

    fn edited(&mut self, text: Result<String, String>) {
        match text {
            Ok(text) => {
                self.composer.editor = Editor::new(text.trim_end_matches('\n'));
                self.overlay = Some(Overlay::Composer);
            }
            Err(why) => self.say(why, true),
        }
        self.is_changed = true;
    }

    /// Draws attention to what happened, as the settings want it.
    fn alert(&mut self, text: String, out: &mut Vec<Effect>) {
        if self.opening.alerts.are_wanted(self.has_focus) {
            out.push(Effect::Alert(text));
        }
    }

    fn resized(&mut self, cols: u16, rows: u16) {
        self.size = (cols, rows);
        self.arrange();
    }

    /// Cuts the terminal anew and wishes the children their sizes.
    fn arrange(&mut self) {
        let wish = Wish {
            layout: if self.is_zoomed {
                Layout::Zoom
            } else {
                self.layout
            },
            focus: self.focus,
            has_driver: self.driver.is_some(),
            tables: if self.tables.is_shown {
                self.tables.rows
            } else {
                0
            },
            linear: self.opening.reader,
        };
        self.places = Places::cut(self.size, &wish);
        let now = self.now;
        if let Some(places) = self.places {
            for role in [Role::Driver, Role::Peer] {
                let size = size_of(places.of(role));
                // What was recorded has the size it had.
                if self.replay.is_some() {
                    continue;
                }
                if let (Some(pane), Some(size)) = (self.pane_mut(role), size) {
                    pane.want(size, now);
                }
            }
        }
        self.is_changed = true;
    }

    fn wake(&mut self, out: &mut Vec<Effect>) {
        let now = self.now;
        let reads = self.asking.as_ref().is_some_and(Asking::is_reading);
        // The explanation tells rule and line, which change while the state stays.
        self.is_changed |= matches!(self.overlay, Some(Overlay::Explain));
        for role in [Role::Driver, Role::Peer] {
            let Some(pane) = self.pane_mut(role) else {
                continue;
            };
            let changed = pane.wake(now);
            // What is being read is not resized; it gets its size behind the reading.
            if role == Role::Peer && reads {
                pane.hold_size(now + DEFER);
            } else if let Some(size) = pane.take_size(now) {
                out.push(Effect::Resize(role, size));
            }
            self.is_changed |= changed;
        }
        if self
            .asking
            .as_ref()
            .and_then(Asking::next_deadline)
            .is_some_and(|due| now >= due)
        {
            self.look(out);
        }
        if self
            .notice
            .as_ref()
            .and_then(|notice| notice.until)
            .is_some_and(|due| now >= due)
        {
            self.notice = None;
            self.is_changed = true;
        }
        self.spin();
    }

    /// Moves the spinner on where something is waited for, and the clock of an agent that works, and nothing else.
    fn spin(&mut self) {
        let panes = self.driver.iter().chain([&self.peer]);
        let is_busy = panes
            .filter(|pane| pane.life == Life::Running)
            .any(|pane| pane.doing.activity == Activity::Busy);
        let every = match (self.asking.is_some(), self.opening.reader) {
            (false, _) if !is_busy => {
                self.spins = None;
                return;
            }
            (_, true) => Duration::from_secs(10),
            (true, false) => SPIN,
            (false, false) => Duration::from_secs(1),
        };
        match self.spins {
            Some(due) if self.now < due => {}
            _ => {
                self.spins = Some(self.now + every);
                self.is_changed = true;
            }
        }
    }

    fn retitle(&mut self, out: &mut Vec<Effect>) {
        let state = match (&self.asking, self.ledger.open_question()) {
            (Some(asking), _) => format!(" · {}", asking.stage),
            (None, Some(_)) => " · the peer asks".to_owned(),
            (None, None) => match self.ledger.entries.last().and_then(ledger::Entry::verdict) {
                Some(verdict) => format!(" · {verdict}"),
                None => String::new(),
            },
        };
        let title = format!("codriver · {}{state}", self.opening.repository);
        if title != self.title {
            self.title.clone_from(&title);
            out.push(Effect::Title(title));
        }
    }

    fn input(&mut self, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Key(key) => self.key(&key, out),
            Input::Paste(text) => self.paste(&text, out),
            Input::PasteCut(bytes) => {
                self.say(
                    format!("the paste was too long: {bytes} bytes of it were left out"),
                    true,
                );
            }
            Input::Mouse(mouse) => self.mouse(&mouse, out),
            Input::Focus(has) => {
                self.has_focus = has;
                if let Some(bytes) = encode_focus(has, self.focused().screen.modes()) {
                    out.push(Effect::Write(self.focus, bytes.to_vec()));
                }
            }
            Input::Reply(input::Reply::CellPixels(width, height)) => {
                self.cell = Some((width, height));
            }
            Input::Reply(input::Reply::IsDark(_)) => {
                self.is_recoloured = true;
                out.push(Effect::AskColors);
            }
            Input::Reply(reply) => self.learn(&reply, out),
        }
    }

    /// Moves the focus; the children that asked for it hear of it.
    fn set_focus(&mut self, role: Role, out: &mut Vec<Effect>) {
        if role == self.focus || self.pane(role).is_none() {
            return;
        }
        for (pane, has) in [(self.focus, false), (role, true)] {
            let told = self
                .pane(pane)
                .filter(|pane| pane.is_alive())
                .and_then(|pane| encode_focus(has, pane.screen.modes()));
            if let Some(bytes) = told {
                out.push(Effect::Write(pane, bytes.to_vec()));
            }
        }
        self.focus = role;
        self.scroll = None;
        self.arrange();
    }

    /// Says that a key was sent whose echo is to be shown at once.
    fn await_echo(&mut self, role: Role) {
        self.echo = Some((role, self.now));
        self.typed = Some(self.now);
    }
}

/// How long a size waits for the end of a reading, until it is looked at again.
const DEFER: Duration = Duration::from_millis(100);
