//! The console as a replay: one loop that hands the console's state what was recorded, when its time has come, and has it
//! drawn like anything else.

use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::film::{Film, Input, Keep};
use super::find::find;
use super::story::Story;
use crate::app::choice::Choice;
use crate::app::input::Decoder;
use crate::app::replay::{News, Replay, Wish};
use crate::app::{App, Effect, Ended, Event, Opening, Overlay, Role};
use crate::cli::Exit;
use crate::config::{Profile, Settings};
use crate::flow::config::Workplace;
use crate::flow::console::{self, Draw};
use crate::flow::failure::Failure;
use crate::flow::sessions::kept::{self, Kept};
use crate::plain;
use crate::recording::cast;
use crate::recording::track::{Moment, RESTARTED, Target};
use crate::screen::{Screen, Size};
use crate::world::clock::Clock;
use crate::world::outer::{Outer, OuterError, Resizes};
use crate::world::signals::Signals;
use crate::world::{clipboard, process};

/// Between two pictures while it plays, and between two looks at how far a recording was read.
const TICK: Duration = Duration::from_millis(50);
/// How long events are handed on before a picture is due.
const BUSY: Duration = Duration::from_millis(10);
/// How far it may lag behind before it goes on from where it is.
const LAG: Duration = Duration::from_millis(250);

/// What is on the stage.
pub(super) enum Bill {
    /// A list to choose from: id and line of each session.
    Choice(Vec<(String, String)>),
    /// A session.
    Session(Box<Kept>),
    /// One recording.
    File(PathBuf),
}

/// What a look beside the loop came to.
enum Told {
    Sought(u64, io::Result<(Duration, Vec<Shown>)>),
    Found(u64, io::Result<Option<Duration>>),
}

/// A pane's moment.
type Shown = (Role, Moment<Input>);

struct Stage<'a> {
    settings: &'a Settings,
    place: &'a Workplace,
    app: App,
    outer: Outer,
    clock: Clock,
    films: Vec<(Role, Film)>,
    moments: Vec<Shown>,
    story: Option<Story>,
    /// How much of the story was told.
    told: usize,
    /// The moment of the last event, and the time of day at which it was shown.
    from: Duration,
    anchor: Duration,
    /// Counts what is looked for, so that what was given up is told apart.
    asked: u64,
    is_away: bool,
    finding: Option<Arc<AtomicBool>>,
    tell: mpsc::UnboundedSender<Told>,
    heard: mpsc::UnboundedReceiver<Told>,
    is_over: bool,
    forget: bool,
    redraw: bool,
}

/// Replays on the terminal until it is left.
pub(super) async fn run(
    bill: Bill,
    settings: &Settings,
    place: &Workplace,
    draw: &mut dyn Draw,
) -> Result<(), Failure> {
    let scene = Scene::of(bill, settings)?;
    let mouse = console::flag(settings, "ui.mouse").unwrap_or(true);
    let mut outer = Outer::open(mouse).map_err(|error| match error {
        OuterError::Broken(_) => Failure::of(Exit::Error, &error),
        error => Failure::of(Exit::Usage, &error),
    })?;
    let signals = Signals::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let resizes = Resizes::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let app = scene.app(outer.size(), settings, place)?;
    outer
        .enter()
        .map_err(|error| Failure::of(Exit::Error, &error))?;
    let (tell, heard) = mpsc::unbounded_channel();
    let mut stage = Stage {
        settings,
        place,
        app,
        outer,
        clock: Clock::start(),
        films: scene.films,
        moments: Vec::new(),
        story: scene.story,
        told: 0,
        from: Duration::ZERO,
        anchor: Duration::ZERO,
        asked: 0,
        is_away: false,
        finding: None,
        tell,
        heard,
        is_over: false,
        forget: true,
        redraw: true,
    };
    stage.seek(Duration::ZERO);
    stage.run(signals, resizes, draw).await;
    stage.leave();
    Ok(())
}

/// What is needed to begin.
struct Scene {
    films: Vec<(Role, Film)>,
    story: Option<Story>,
    /// Profiles of driver and peer.
    driver: Option<Arc<Profile>>,
    peer: Arc<Profile>,
    name: String,
    is_alone: bool,
    choice: Option<Choice>,
}

impl Scene {
    fn of(bill: Bill, settings: &Settings) -> Result<Self, Failure> {
        let scrollback = settings.scrollback.value;
        let profile = |name: &str| {
            let known = settings
                .profile(name)
                .or_else(|| settings.profile("unknown"));
            let mut profile = known.cloned().unwrap_or_default();
            profile.name = plain::display(name, 64);
            Arc::new(profile)
        };
        match bill {
            Bill::Choice(rows) => Ok(Self {
                films: Vec::new(),
                story: None,
                driver: None,
                peer: profile("unknown"),
                name: "sessions".to_owned(),
                is_alone: true,
                choice: Some(Choice { rows, at: 0 }),
            }),
            Bill::File(path) => {
                let film = Film::open(&path, scrollback, &Keep::Nowhere)?;
                let name = match path.file_name() {
                    Some(name) if path.as_os_str() != "-" => name.to_string_lossy().into_owned(),
                    _ => "standard input".to_owned(),
                };
                Ok(Self {
                    peer: profile(film.header().title.as_deref().unwrap_or("terminal")),
                    films: vec![(Role::Peer, film)],
                    story: None,
                    driver: None,
                    name: plain::display(&name, 80),
                    is_alone: true,
                    choice: None,
                })
            }
            Bill::Session(kept) => {
                let mut films = Vec::new();
                let mut missing = None;
                for role in [Role::Driver, Role::Peer] {
                    let Some(path) = kept.cast(role.word()) else {
                        continue;
                    };
                    match Film::open(&path, scrollback, &Keep::Beside) {
                        Ok(film) => films.push((role, film)),
                        // The other pane may be there.
                        Err(failure) => missing = Some(failure),
                    }
                }
                if films.is_empty() {
                    return Err(missing.unwrap_or_else(|| {
                        Failure::new(
                            Exit::Error,
                            format!(
                                "the session {} has no recordings",
                                plain::display(&kept.folder.id, 64)
                            ),
                        )
                    }));
                }
                let harness = |name: &Option<String>| profile(name.as_deref().unwrap_or("unknown"));
                let has_driver = films.iter().any(|(role, _)| *role == Role::Driver);
                Ok(Self {
                    films,
                    driver: has_driver.then(|| harness(&kept.summary.driver)),
                    peer: harness(&kept.summary.peer),
                    name: plain::display(&kept.folder.id, 80),
                    is_alone: false,
                    choice: None,
                    story: Some(Story::of(*kept)),
                })
            }
        }
    }

    fn app(
        &self,
        size: (u16, u16),
        settings: &Settings,
        place: &Workplace,
    ) -> Result<App, Failure> {
        let mut app = App::open(Opening {
            size,
            driver: self.driver.clone(),
            peer: self.peer.clone(),
            repository: self.name.clone(),
            keys: console::bindings(settings)?,
            layout: console::layout(settings),
            scrollback: settings.scrollback.value,
            mouse: console::flag(settings, "ui.mouse").unwrap_or(true),
            alerts: crate::app::Alerts::Never,
            confined: "replay".to_owned(),
            hint: false,
            terminal: console::terminal(settings, place)?,
            reader: console::flag(settings, "ui.screen_reader").unwrap_or(false),
        });
        let marks = self.story.as_ref().map(Story::marks).unwrap_or_default();
        app.replay(Replay::new(&self.name, self.is_alone, marks));
        if let Some(choice) = &self.choice {
            app.overlay = Some(Overlay::Choice(choice.clone()));
        }
        Ok(app)
    }
}

/// What woke the loop.
enum Woken {
    Stop,
    Typed,
    Nothing,
    Resized,
    Told(Told),
}

impl Stage<'_> {
    async fn run(&mut self, mut signals: Signals, mut resizes: Resizes, draw: &mut dyn Draw) {
        let mut decoder = Decoder::default();
        let mut typed = Vec::new();
        while !self.is_over {
            self.show(draw);
            let due = [decoder.next_deadline(), self.due()];
            let due = due.into_iter().flatten().min();
            let instant = due.map(|due| self.clock.instant(due));
            let time = async {
                match instant {
                    Some(instant) => sleep_until(instant).await,
                    None => pending().await,
                }
            };
            typed.clear();
            let (outer, heard) = (&mut self.outer, &mut self.heard);
            let woken = tokio::select! {
                biased;
                _ = signals.next() => Woken::Stop,
                () = resizes.next() => Woken::Resized,
                read = outer.next(&mut typed) => match read {
                    Ok(true) => Woken::Typed,
                    Ok(false) => Woken::Nothing,
                    Err(_) => Woken::Stop,
                },
                Some(told) = heard.recv() => Woken::Told(told),
                () = time => Woken::Nothing,
            };
            let now = self.clock.elapsed();
            match woken {
                Woken::Stop => self.is_over = true,
                Woken::Typed => {
                    for input in decoder.feed(&typed, now) {
                        self.update(Event::Input(input));
                    }
                }
                Woken::Resized => {
                    let (cols, rows) = self.outer.size();
                    self.update(Event::Resized(cols, rows));
                }
                Woken::Told(told) => self.hear(told),
                Woken::Nothing => {}
            }
            if decoder.next_deadline().is_some_and(|due| now >= due) {
                for input in decoder.wake(now) {
                    self.update(Event::Input(input));
                }
            }
            self.advance();
            self.look_at_films();
        }
    }

    fn replay(&self) -> Option<&Replay> {
        self.app.replay.as_ref()
    }

    fn is_playing(&self) -> bool {
        !self.is_away
            && !self.films.is_empty()
            && self.replay().is_some_and(|replay| replay.is_playing)
    }

    /// When there is something to do although nothing happened.
    fn due(&self) -> Option<Duration> {
        let tick = self.clock.elapsed() + TICK;
        if self.is_playing() {
            return Some(self.next_due().map_or(tick, |(due, _)| due.min(tick)));
        }
        let grows = self.films.iter().any(|(_, film)| !film.is_done());
        grows.then_some(tick)
    }

    /// When the next thing happens that was recorded, by the clock and by the recording.
    fn next_due(&self) -> Option<(Duration, Duration)> {
        let replay = self.replay()?;
        let events = self
            .moments
            .iter()
            .filter_map(|(_, moment)| moment.next.as_ref());
        let told = self
            .story
            .as_ref()
            .and_then(|story| story.told.get(self.told));
        let next = events
            .map(|event| event.at)
            .chain(told.map(|told| told.at))
            .min()?;
        let stretch = next.saturating_sub(self.from);
        Some((self.anchor + replay.lasts(stretch), next))
    }

    /// Hands on what is due, for a bounded time.
    fn advance(&mut self) {
        let begun = self.clock.elapsed();
        while self.is_playing() {
            let now = self.clock.elapsed();
            let Some((due, next)) = self.next_due() else {
                if self.films.iter().all(|(_, film)| film.is_done()) {
                    self.news(News::Over);
                }
                return;
            };
            if now < due {
                if let Some(replay) = self.replay() {
                    let stretch = next.saturating_sub(self.from);
                    let over = now.saturating_sub(self.anchor);
                    let at = self.from + replay.within(stretch, over);
                    if at.saturating_sub(replay.at) >= TICK {
                        self.news(News::At(at));
                    }
                }
                return;
            }
            self.anchor = if now > due + LAG { now } else { due };
            self.happen(next);
            if self.clock.elapsed() > begun + BUSY {
                return;
            }
        }
    }

    /// Lets everything happen up to a moment.
    fn happen(&mut self, until: Duration) {
        self.from = until;
        let mut moments = std::mem::take(&mut self.moments);
        for (role, moment) in &mut moments {
            while moment.next.as_ref().is_some_and(|next| next.at <= until) {
                if let Some(event) = moment.take() {
                    self.show_event(*role, &event);
                }
            }
        }
        self.moments = moments;
        self.tell(until);
        self.news(News::At(until));
    }

    fn show_event(&mut self, role: Role, event: &cast::Event) {
        match &event.kind {
            cast::Kind::Output(text) => {
                self.update_at(Event::Output(role, text.as_bytes()), event.at);
            }
            cast::Kind::Resize(size) => self.news_at(News::Resized(role, *size), event.at),
            cast::Kind::Marker(label) if label == RESTARTED => {
                self.news_at(News::Restarted(role), event.at);
            }
            cast::Kind::Exit(status) => {
                self.news_at(News::Ended(role, Ended::Status(*status)), event.at);
            }
            cast::Kind::Marker(_) | cast::Kind::Input(_) | cast::Kind::Other(_) => {}
        }
    }

    /// Tells what came of the rounds up to a moment.
    fn tell(&mut self, until: Duration) {
        let Some(story) = &self.story else {
            return;
        };
        let mut news = Vec::new();
        while let Some(told) = story.told.get(self.told).filter(|told| told.at <= until) {
            news.extend(story.news(self.told).into_iter().map(|one| (told.at, one)));
            self.told += 1;
        }
        for (at, one) in news {
            self.news_at(one, at);
        }
    }

    fn news(&mut self, news: News) {
        let at = self.from;
        self.news_at(news, at);
    }

    fn news_at(&mut self, news: News, at: Duration) {
        self.update_at(Event::Replay(Box::new(news)), at);
    }

    fn update(&mut self, event: Event<'_>) {
        let at = self.replay().map_or(self.from, |replay| replay.at);
        self.update_at(event, at);
    }

    fn update_at(&mut self, event: Event<'_>, at: Duration) {
        for effect in self.app.update(event, at) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Replay(wish) => self.grant(wish),
            Effect::Copy(text) => {
                self.outer.queue(&clipboard::osc52(&text));
                tokio::task::spawn_blocking(move || {
                    // A clipboard that takes nothing is one there is not: the terminal has its own.
                    let _ = clipboard::put(&text);
                });
            }
            Effect::Title(title) => {
                let title = plain::display(&title, 200);
                self.outer.queue(format!("\x1b]2;{title}\x1b\\").as_bytes());
            }
            Effect::AskColors => self.outer.ask(),
            Effect::Redraw => self.forget = true,
            Effect::Suspend => {
                self.outer.leave();
                process::suspend();
                self.is_over |= self.outer.enter().is_err();
                self.forget = true;
                self.anchor = self.clock.elapsed();
            }
            Effect::Quit => self.is_over = true,
            // What was answered, rung and resized was so then.
            Effect::Write(..)
            | Effect::Type(_)
            | Effect::Resize(..)
            | Effect::AskChannel
            | Effect::Decide(_)
            | Effect::Conclude
            | Effect::Ask(_)
            | Effect::StopWaiting
            | Effect::Restart(_)
            | Effect::Edit(_)
            | Effect::Alert(_)
            | Effect::Bell => {}
        }
        self.redraw = true;
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Seek(at) => self.seek(at),
            Wish::Event { forward: true } => {
                if let Some((_, next)) = self.next_due() {
                    self.happen(next);
                }
            }
            Wish::Event { forward: false } => self.back(),
            Wish::Find { text, forward } => self.find(text, forward),
            Wish::StopFinding => self.stop_finding(),
            Wish::Pace => {
                self.from = self.replay().map_or(self.from, |replay| replay.at);
                self.anchor = self.clock.elapsed();
            }
            Wish::Open(id) => self.open(&id),
        }
    }

    /// Looks for a moment beside the loop.
    fn seek(&mut self, at: Duration) {
        self.stop_finding();
        self.asked += 1;
        self.is_away = true;
        let (asked, tell, films) = (self.asked, self.tell.clone(), self.films.clone());
        tokio::task::spawn_blocking(move || {
            let seek = |(role, film): (Role, Film)| Ok((role, film.seek(Target::At(at))?));
            let moments: io::Result<Vec<Shown>> = films.into_iter().map(seek).collect();
            // Nobody listens any more when the replay was left.
            let _ = tell.send(Told::Sought(asked, moments.map(|moments| (at, moments))));
        });
    }

    /// Goes to before the last event that happened.
    fn back(&mut self) {
        let last = self
            .moments
            .iter()
            .filter(|(_, moment)| moment.events > 0)
            .max_by_key(|(_, moment)| moment.at);
        let Some((role, events)) = last.map(|(role, moment)| (*role, moment.events)) else {
            return;
        };
        self.asked += 1;
        self.is_away = true;
        let (asked, tell, films) = (self.asked, self.tell.clone(), self.films.clone());
        let others: Vec<(Role, u64)> = self
            .moments
            .iter()
            .map(|(role, moment)| (*role, moment.events))
            .collect();
        tokio::task::spawn_blocking(move || {
            let moments: io::Result<Vec<Shown>> = films
                .into_iter()
                .map(|(of, film)| {
                    let stands = others.iter().find(|(role, _)| *role == of);
                    let events = match of == role {
                        true => events - 1,
                        false => stands.map_or(0, |(_, events)| *events),
                    };
                    Ok((of, film.seek(Target::After(events))?))
                })
                .collect();
            let sought = moments.map(|moments| {
                let at = moments.iter().map(|(_, moment)| moment.at).max();
                (at.unwrap_or_default(), moments)
            });
            let _ = tell.send(Told::Sought(asked, sought));
        });
    }

    fn find(&mut self, text: String, forward: bool) {
        self.stop_finding();
        self.asked += 1;
        let stop = Arc::new(AtomicBool::new(false));
        self.finding = Some(Arc::clone(&stop));
        let (asked, tell) = (self.asked, self.tell.clone());
        let films: Vec<Film> = self.films.iter().map(|(_, film)| film.clone()).collect();
        let from = self.replay().map_or(Duration::ZERO, |replay| replay.at);
        let scrollback = self.settings.scrollback.value;
        tokio::task::spawn_blocking(move || {
            let found = find(&films, &text, from, forward, scrollback, &stop);
            let _ = tell.send(Told::Found(asked, found));
        });
    }

    fn stop_finding(&mut self) {
        if let Some(stop) = self.finding.take() {
            stop.store(true, Ordering::Relaxed);
            self.asked += 1;
        }
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Sought(asked, sought) if asked == self.asked => {
                self.is_away = false;
                match sought {
                    Ok((at, moments)) => self.shown(at, moments),
                    Err(error) => self
                        .app
                        .say(format!("the recording cannot be read: {error}"), true),
                }
            }
            Told::Found(asked, found) if asked == self.asked => {
                self.finding = None;
                match found {
                    Ok(found) => {
                        self.news(News::Found(found));
                        if let Some(at) = found {
                            self.seek(at);
                        }
                    }
                    Err(error) => self
                        .app
                        .say(format!("the recording cannot be read: {error}"), true),
                }
            }
            Told::Sought(..) | Told::Found(..) => {}
        }
        self.redraw = true;
    }

    /// Shows a moment that was looked for.
    fn shown(&mut self, at: Duration, moments: Vec<Shown>) {
        self.from = at;
        self.anchor = self.clock.elapsed();
        self.moments = moments;
        let screens = self
            .moments
            .iter_mut()
            .map(|(role, moment)| {
                let empty = Screen::new(Size::new(2, 1), 0);
                let screen = std::mem::replace(&mut moment.screen, empty);
                (*role, Box::new(screen))
            })
            .collect();
        self.news(News::Moment(at, screens));
        self.told = 0;
        self.tell(at);
    }

    /// Replays another session in place of what is there.
    fn open(&mut self, id: &str) {
        let repo = crate::flow::sessions::key_of(self.place);
        let scene = kept::find(id, &repo)
            .and_then(|kept| Scene::of(Bill::Session(Box::new(kept)), self.settings))
            .and_then(|scene| {
                let app = scene.app(self.app.size, self.settings, self.place)?;
                Ok((scene, app))
            });
        match scene {
            Ok((scene, app)) => {
                let terminal = self.app.terminal.clone();
                self.app = app;
                self.app.terminal = terminal;
                self.films = scene.films;
                self.story = scene.story;
                self.forget = true;
                self.seek(Duration::ZERO);
            }
            Err(failure) => self.app.say(failure.to_string(), true),
        }
    }

    /// Tells how far the recordings were read, and what had to be put right in them.
    fn look_at_films(&mut self) {
        let mut length = Duration::ZERO;
        let mut is_all = true;
        let mut notes = Vec::new();
        for (_, film) in &self.films {
            let end = film.end();
            is_all &= end.is_some();
            length = length.max(
                end.or(film.reach())
                    .map_or(Duration::ZERO, |place| place.at()),
            );
            notes.extend(film.take_notes());
        }
        if !self.films.is_empty()
            && self
                .replay()
                .is_some_and(|replay| replay.length != (length, is_all))
        {
            self.news(News::Length(length, is_all));
        }
        for note in notes {
            self.app.say(note, false);
        }
    }

    fn show(&mut self, draw: &mut dyn Draw) {
        self.redraw |= self.app.take_changed();
        if !(self.redraw || self.forget) || !self.outer.is_clear() {
            return;
        }
        let forget = std::mem::take(&mut self.forget);
        self.redraw = false;
        let mut out = Vec::new();
        draw.draw(&mut self.app, forget, None, &mut out);
        self.outer.queue(&out);
    }

    fn leave(mut self) {
        self.stop_finding();
        for (_, film) in &self.films {
            film.stop();
        }
        self.outer.leave();
    }
}
