//! The console: one task that owns its state, hands it what happens, does what it wants done, and has it drawn.

mod child;
mod conductor;
mod counter;
mod editor;
mod inflow;
mod perform;
mod resume;
mod rounds;
mod state;
mod trace;

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::task::yield_now;
use tokio::time::sleep_until;

use self::child::{Child, News};
use self::conductor::{Conductor, Deed};
use self::counter::next_client;
use self::resume::{Resumption, Seats};
use self::state::Inner;
use super::bridge::Incoming;
use super::config::{self, Workplace};
use super::confine;
use super::failure::{Failure, shown};
use super::peer;
use crate::app::input::{Code, Decoder, Input, Key, Mods, encode_paste};
use crate::app::layout::Layout;
use crate::app::theme::{self, Paint, Part};
use crate::app::{Alerts, App, Bindings, Ended, Event, Opening, Role, Terminal};
use crate::cli::{Exit, Options};
use crate::config::{self as settings_of, Profile, Settings};
use crate::world::outer::{Outer, OuterError, Resizes};
use crate::world::signals::Signals;
use crate::world::socket::Who;
use crate::world::{environment, files, program};

/// Between two frames while output floods.
const FRAME: Duration = Duration::from_millis(12);
/// How long the other pane is not read for while the echo of a key is on its way.
const PATIENCE: Duration = Duration::from_millis(4);

/// Draws the console: what changed of it, as bytes for the outer terminal. `forget`: nothing is known of what that
/// shows.
pub trait Draw {
    /// Appends the bytes. `echo`: of the panes only this one has to be shown now, since a key is answered in it.
    fn draw(&mut self, app: &mut App, forget: bool, echo: Option<Role>, out: &mut Vec<u8>);
}

/// Opens the console and stays in it until it is left.
pub async fn run(place: &Workplace, options: &Options, draw: &mut dyn Draw) -> Result<(), Failure> {
    let settings =
        config::settings(place, options).map_err(|faults| Failure::of(Exit::Usage, &faults))?;
    let seats = Seats {
        driver: settings.driver.value.clone(),
        peer: settings.peer.value.clone(),
    };
    let agents = agents(&settings, &seats, place)?;
    open(&settings, agents, place, options, draw, Begin::Fresh).await
}

/// Opens the console with the agents of an earlier session and goes on where that ended; an empty name is the last one.
pub async fn resume(
    named: &str,
    place: &Workplace,
    options: &Options,
    draw: &mut dyn Draw,
) -> Result<(), Failure> {
    let settings =
        config::settings(place, options).map_err(|faults| Failure::of(Exit::Usage, &faults))?;
    let (resumption, seats) = Resumption::find(named, place, &settings, options)?;
    let agents = agents(&settings, &seats, place)?;
    let begin = Begin::Again(Box::new(resumption));
    open(&settings, agents, place, options, draw, begin).await
}

/// How a console begins.
enum Begin {
    /// With nothing before it.
    Fresh,
    /// With a part that is played.
    Demo(Conductor),
    /// Where an earlier session ended.
    Again(Box<Resumption>),
}

/// The profiles of driver and peer.
type Agents = (Option<Arc<Profile>>, Arc<Profile>);

fn agents(settings: &Settings, seats: &Seats, place: &Workplace) -> Result<Agents, Failure> {
    let driver = match seats.driver.as_str() {
        "none" => None,
        name => Some(Arc::new(seated(settings, name, place)?)),
    };
    Ok((driver, Arc::new(seated(settings, &seats.peer, place)?)))
}

/// Opens the console with two demo agents that play a part until the person takes over.
pub async fn demo(
    place: &Workplace,
    options: &Options,
    draw: &mut dyn Draw,
) -> Result<(), Failure> {
    let settings =
        config::settings(place, options).map_err(|faults| Failure::of(Exit::Usage, &faults))?;
    let unwritable = |error: io::Error| {
        Failure::new(
            Exit::Error,
            format!("the demo's parts cannot be written: {error}"),
        )
    };
    let folder = tempfile::Builder::new()
        .prefix("codriver-demo-")
        .tempdir()
        .map_err(unwritable)?;
    let seat = |name: &str, part: &str| {
        let file = folder.path().join(name);
        files::write_new(&file, part.as_bytes()).map_err(unwritable)?;
        let mut profile = peer::profile(&settings, "demo")?;
        profile
            .command
            .extend(["--script".to_owned(), file.to_string_lossy().into_owned()]);
        Ok::<_, Failure>(Arc::new(profile))
    };
    let driver = seat(
        "driver.json",
        include_str!("../../../assets/demo/driver.json"),
    )?;
    let peer = seat(
        "reviewer.json",
        include_str!("../../../assets/demo/reviewer.json"),
    )?;
    let conductor = Conductor::open(Duration::ZERO);
    open(
        &settings,
        (Some(driver), peer),
        place,
        options,
        draw,
        Begin::Demo(conductor),
    )
    .await
}

async fn open(
    settings: &Settings,
    (driver, peer): Agents,
    place: &Workplace,
    options: &Options,
    draw: &mut dyn Draw,
    begin: Begin,
) -> Result<(), Failure> {
    let confinement = confine::find(&peer, settings, place, options)?;
    let mouse = flag(settings, "ui.mouse").unwrap_or(true);
    let mut outer = Outer::open(mouse).map_err(|error| match error {
        OuterError::Broken(_) => Failure::of(Exit::Error, &error),
        error => Failure::of(Exit::Usage, &error),
    })?;
    let signals = Signals::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let resizes = Resizes::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let opening = Opening {
        size: outer.size(),
        driver,
        peer,
        repository: name_of(place),
        keys: bindings(settings)?,
        layout: layout(settings),
        scrollback: settings.scrollback.value,
        mouse,
        alerts: match word(settings, "ui.notify").as_deref() {
            Some("always") => Alerts::Always,
            Some("never") => Alerts::Never,
            _ => Alerts::Away,
        },
        confined: confinement.lock.word().to_owned(),
        hint: is_first_start(),
        terminal: terminal(settings, place)?,
        reader: flag(settings, "ui.screen_reader").unwrap_or(false),
    };
    outer
        .enter()
        .map_err(|error| Failure::of(Exit::Error, &error))?;
    let app = App::open(opening);
    let mut inner = Inner::open(app, outer, settings, place, options);
    inner.lock = confinement.lock;
    if let Some(warning) = confinement.warning() {
        inner.app.say(warning, true);
    }
    match begin {
        Begin::Fresh => {}
        Begin::Demo(conductor) => inner.conductor = Some(conductor),
        Begin::Again(resumption) => inner.take_up(*resumption),
    }
    inner.run(Outside { signals, resizes }, draw).await;
    inner.close().await;
    Ok(())
}

/// The profile of a pane: a harness by its name, or any command.
fn seated(settings: &Settings, name: &str, place: &Workplace) -> Result<Profile, Failure> {
    if settings.profile(name).is_some() {
        return peer::profile(settings, name);
    }
    let words = shlex::split(name).unwrap_or_default();
    let path = environment::variable("PATH");
    let is_program = words
        .first()
        .is_some_and(|word| program::find(word.as_ref(), path.as_deref(), &place.folder).is_ok());
    if !is_program {
        return peer::profile(settings, name);
    }
    let mut profile = peer::profile(settings, "unknown")?;
    profile.name = words
        .first()
        .map_or("", |word| word.rsplit('/').next().unwrap_or(word))
        .to_owned();
    profile.title = String::new();
    profile.command = words;
    Ok(profile)
}

fn name_of(place: &Workplace) -> String {
    let root = place.root.as_deref().unwrap_or(&place.folder);
    let name = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "/".to_owned())
}

fn word(settings: &Settings, key: &str) -> Option<String> {
    let entry = settings.get(&settings_of::Key::of(key))?;
    entry.value.as_str().map(str::to_owned)
}

pub(super) fn flag(settings: &Settings, key: &str) -> Option<bool> {
    settings.get(&settings_of::Key::of(key))?.value.as_bool()
}

pub(super) fn layout(settings: &Settings) -> Layout {
    match word(settings, "ui.layout").as_deref() {
        Some("columns") => Layout::Columns,
        Some("rows") => Layout::Rows,
        Some("zoom") => Layout::Zoom,
        _ => Layout::Auto,
    }
}

/// The keys in force; a settings file may give two actions one key.
pub(super) fn bindings(settings: &Settings) -> Result<Bindings, Failure> {
    let prefix = word(settings, "ui.prefix").unwrap_or_else(|| "ctrl-]".to_owned());
    let changes: Vec<(String, String)> = settings
        .entries()
        .iter()
        .filter_map(|entry| match entry.key.parts().as_slice() {
            ["ui", "keys", name] => Some(((*name).to_owned(), entry.value.as_str()?.to_owned())),
            _ => None,
        })
        .collect();
    let changes = changes
        .iter()
        .map(|(name, key)| (name.as_str(), key.as_str()));
    Bindings::new(&prefix, changes).map_err(|faults| {
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Failure::new(Exit::Usage, told.join("; "))
    })
}

pub(super) fn terminal(settings: &Settings, place: &Workplace) -> Result<Terminal, Failure> {
    let variable = |name| {
        let value = environment::variable(name)?;
        Some(value.to_string_lossy().into_owned())
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    let locale = locale.unwrap_or_default().to_lowercase();
    let unicode = locale.contains("utf-8") || locale.contains("utf8");
    let theme = word(settings, "ui.theme").unwrap_or_default();
    let no_color = variable("NO_COLOR").is_some() || theme == "mono";
    let mut terminal = Terminal::of(
        &variable("TERM").unwrap_or_default(),
        &variable("COLORTERM").unwrap_or_default(),
        no_color,
        unicode && !flag(settings, "ui.ascii").unwrap_or(false),
    );
    terminal.take_locale(&locale);
    terminal.reader = flag(settings, "ui.screen_reader").unwrap_or(false);
    match theme.as_str() {
        "dark" => terminal.fixed = Some(true),
        "light" => terminal.fixed = Some(false),
        "ansi" => terminal.plain = true,
        file if file.ends_with(".toml") => terminal.theme = theme_file(file, place)?,
        _ => {}
    }
    Ok(terminal)
}

/// Reads a theme file beside the configuration file.
fn theme_file(name: &str, place: &Workplace) -> Result<Vec<(Part, Paint)>, Failure> {
    let folder = place.folders.config.clone().unwrap_or_default();
    let path = folder.join(name);
    let fault = |what: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("the theme {}: {what}", shown(&path)))
    };
    let text = files::read_text(&path).map_err(|error| fault(&error))?;
    let text = text.ok_or_else(|| fault(&"there is no such file"))?;
    theme::parse(&text).map_err(|error| fault(&error))
}

/// Whether no console was ever opened by this person: its hint is shown once.
fn is_first_start() -> bool {
    let state = files::Places::from_env(environment::variable).state();
    // Where nothing can be kept, it is shown each time.
    state.is_ok_and(|state| {
        files::make_folder(&state).is_ok() && files::new_file(&state.join("seen-hint")).is_ok()
    })
}

/// What the system tells.
struct Outside {
    signals: Signals,
    resizes: Resizes,
}

/// What woke the loop.
enum Woken {
    Stop,
    Typed,
    Drained,
    Gone,
    Resized,
    Child(Role, io::Result<News>),
    Told(state::Told),
    Client(UnixStream, Who),
    Call(Incoming),
    Time,
}

impl Inner<'_> {
    async fn run(&mut self, mut outside: Outside, draw: &mut dyn Draw) {
        let mut decoder = Decoder::default();
        let mut typed = Vec::new();
        // The person sees the console before the agents are started.
        self.draw(draw, None);
        self.start(Role::Driver);
        self.start(Role::Peer);
        self.look_at_branch();
        self.redraw = true;
        while !self.is_over {
            let conducted = self.conductor.as_ref().and_then(Conductor::next_deadline);
            let due = [
                self.app.next_deadline(),
                decoder.next_deadline(),
                self.frame_due(),
                self.inflow_due(),
                self.recorder.traces_due(),
                conducted,
            ];
            let due = due.into_iter().flatten().min();
            typed.clear();
            let woken = self.wait(&mut outside, due, &mut typed).await;
            let now = self.clock.elapsed();
            let is_output = matches!(woken, Woken::Child(_, Ok(News::Output)));
            let waits = matches!(woken, Woken::Typed | Woken::Drained | Woken::Time);
            if !is_output && (!waits || self.app.asking.is_some()) {
                // What it wrote before comes first; a round is not judged on a screen that lacks it.
                self.take_inflow(None);
            }
            match woken {
                Woken::Stop | Woken::Gone => self.update(Event::Asked),
                Woken::Typed => {
                    for input in decoder.feed(&typed, now) {
                        self.input(input);
                    }
                }
                Woken::Resized => {
                    let (cols, rows) = self.outer.size();
                    self.update(Event::Resized(cols, rows));
                }
                Woken::Child(role, news) => self.child_news(role, news),
                Woken::Told(told) => self.told(told),
                Woken::Client(stream, who) => self.let_in(stream, who),
                Woken::Call(incoming) => self.incoming(incoming),
                Woken::Drained | Woken::Time => {}
            }
            if decoder.next_deadline().is_some_and(|due| now >= due) {
                for input in decoder.wake(now) {
                    self.input(input);
                }
            }
            if due.is_some_and(|due| now >= due) {
                self.update(Event::Woke);
            }
            self.take_inflow(Some(now));
            self.conduct();
            self.serve_counter();
            self.show(draw);
            // Behind the drawing: the person does not wait for the disk.
            self.record();
            let now = self.clock.elapsed();
            if self.recorder.traces_due().is_some_and(|due| now >= due) {
                self.recorder.write_traces();
            }
            if is_output {
                // As long as there is output nobody asks the system whether a key came.
                yield_now().await;
            }
        }
    }

    /// Waits until something happens.
    async fn wait(
        &mut self,
        outside: &mut Outside,
        due: Option<Duration>,
        typed: &mut Vec<u8>,
    ) -> Woken {
        let waits = self.waits().map(|(role, _)| role);
        let Self {
            outer,
            driver,
            peer,
            told,
            clock,
            is_away,
            inflow: [of_driver, of_peer],
            served,
            service,
            ..
        } = self;
        let clients = next_client(service.listener.as_ref());
        let due = due.map(|due| clock.instant(due));
        let time = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => pending().await,
            }
        };
        let typing = async {
            match is_away {
                true => pending().await,
                false => outer.next(typed).await,
            }
        };
        // The two children take turns, so that one that floods does not keep the other from being heard.
        let children = async {
            let driver = next_of(driver, &mut of_driver.bytes, waits == Some(Role::Driver));
            let peer = next_of(peer, &mut of_peer.bytes, waits == Some(Role::Peer));
            match served {
                Role::Driver => tokio::select! {
                    biased;
                    news = peer => (Role::Peer, news),
                    news = driver => (Role::Driver, news),
                },
                Role::Peer => tokio::select! {
                    biased;
                    news = driver => (Role::Driver, news),
                    news = peer => (Role::Peer, news),
                },
            }
        };
        tokio::select! {
            biased;
            _ = outside.signals.next() => Woken::Stop,
            () = outside.resizes.next() => Woken::Resized,
            read = typing => match read {
                Ok(true) => Woken::Typed,
                Ok(false) => Woken::Drained,
                Err(_) => Woken::Gone,
            },
            Some(told) = told.recv() => Woken::Told(told),
            Some(incoming) = service.calls.recv() => Woken::Call(incoming),
            Ok((stream, who)) = clients => Woken::Client(stream, who),
            (role, news) = children => Woken::Child(role, news),
            () = time => Woken::Time,
        }
    }

    /// The pane whose output has to wait for the echo of a key in the other one, and until when.
    fn waits(&self) -> Option<(Role, Duration)> {
        let (role, since) = self.app.awaited_echo()?;
        if role == Role::Driver && self.app.asking.is_some() {
            // In a round nothing the peer writes is read late: its silence means something.
            return None;
        }
        let until = since + PATIENCE;
        (self.clock.elapsed() < until).then_some((role.other(), until))
    }

    /// When what the children wrote is to be taken.
    fn inflow_due(&self) -> Option<Duration> {
        let waits = self.waits();
        let due = [Role::Driver, Role::Peer].into_iter().filter_map(|role| {
            let until = waits.filter(|(waiting, _)| *waiting == role);
            let due = self.inflow[role.at()].due();
            due.into_iter().chain(until.map(|(_, until)| until)).max()
        });
        due.min()
    }

    /// Hands on what the children wrote, as far as it is due by now, or all of it.
    pub(super) fn take_inflow(&mut self, by: Option<Duration>) {
        for role in [Role::Driver, Role::Peer] {
            let Some(due) = self.inflow[role.at()].due() else {
                continue;
            };
            let is_echo = self.app.awaited_echo().is_some_and(|(of, _)| of == role);
            let is_later = by.is_some_and(|now| {
                now < due && !is_echo || self.waits().is_some_and(|(waiting, _)| waiting == role)
            });
            if !is_later {
                self.take_output(role);
            }
        }
    }

    /// When what changed is to be drawn.
    fn frame_due(&self) -> Option<Duration> {
        (self.redraw && self.can_draw()).then(|| self.drawn + FRAME)
    }

    fn can_draw(&self) -> bool {
        self.outer.is_clear() && !self.is_away
    }

    /// Draws what changed: at once for the answer to a key and where nothing was drawn a while ago, else with the
    /// next frame.
    fn show(&mut self, draw: &mut dyn Draw) {
        let now = self.clock.elapsed();
        let echo = self.app.take_echo();
        // What changed before does not hold an echo up.
        let has_more = self.redraw;
        self.redraw |= self.app.take_changed();
        if !self.redraw || !self.can_draw() {
            return;
        }
        if echo.is_some() || now >= self.drawn + FRAME {
            self.draw(draw, echo.filter(|_| has_more));
        }
    }

    /// Draws; `echo`: of the panes only this one.
    fn draw(&mut self, draw: &mut dyn Draw, echo: Option<Role>) {
        let forget = std::mem::take(&mut self.forget);
        let mut out = std::mem::take(&mut self.frame);
        out.clear();
        draw.draw(&mut self.app, forget, echo, &mut out);
        self.outer.queue(&out);
        self.frame = out;
        if echo.is_none() {
            self.redraw = false;
            self.drawn = self.clock.elapsed();
        }
    }

    fn input(&mut self, input: Input) {
        let is_typing = match &input {
            Input::Key(key) => key.is_press(),
            Input::Paste(_) => true,
            _ => false,
        };
        // Reading on is no taking over.
        let takes_over = is_typing && self.app.overlay.is_none();
        if takes_over
            && let Some(Deed::Say(words)) = self.conductor.as_mut().and_then(Conductor::stop)
        {
            self.update(Event::Notice(words.to_owned()));
        }
        self.update(Event::Input(input));
        self.adapt_outer();
    }

    /// Does what the demo's conductor wants.
    fn conduct(&mut self) {
        let now = self.clock.elapsed();
        while let Some(deed) = self
            .conductor
            .as_mut()
            .and_then(|conductor| conductor.wake(&self.app, now))
        {
            match deed {
                Deed::Paste(text) => {
                    let bytes = encode_paste(text, self.app.focused().screen.modes());
                    self.type_to_driver(&bytes);
                }
                Deed::Enter => self.type_to_driver(b"\r"),
                Deed::Ask(ask) => self.update(Event::Asks(ask, None)),
                Deed::AskElsewhere(runner, ask) => {
                    self.pretended = Some(runner);
                    self.update(Event::Asks(ask, None));
                }
                Deed::Close => {
                    self.update(Event::Input(Input::Key(Key::new(Code::Esc, Mods::NONE))));
                }
                Deed::Say(words) => self.update(Event::Notice(words.to_owned())),
            }
        }
    }

    fn type_to_driver(&mut self, bytes: &[u8]) {
        if let Some(driver) = &mut self.driver {
            driver.write(bytes);
        }
    }

    fn child_news(&mut self, role: Role, news: io::Result<News>) {
        self.served = role;
        match news {
            Ok(News::Output) => self.inflow[role.at()].note(self.clock.elapsed()),
            Ok(News::Ended(ended)) => self.exited(role, ended),
            Ok(News::Nothing) => {}
            Err(error) => {
                tracing::error!(%error, pane = role.word(), "the terminal failed");
                self.exited(role, Ended::Unknown);
                self.drop_child(role);
            }
        }
    }
}

async fn next_of(child: &mut Option<Child>, batch: &mut Vec<u8>, waits: bool) -> io::Result<News> {
    match child {
        Some(child) if !waits => child.next(batch).await,
        _ => pending().await,
    }
}
