//! A moment of a recording: the screen as it was, and the events that come next.

use std::io::{self, BufRead};
use std::time::Duration;

use super::keys::Keys;
use crate::recording::cast::{Event, Header, Kind, Place, Reader};
use crate::screen::{Screen, Seen};

/// Which moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Everything up to this time has happened.
    At(Duration),
    /// So many events have happened.
    After(u64),
}

/// A moment, and what comes next.
pub struct Moment<R: BufRead> {
    /// The screen.
    pub screen: Screen,
    /// When its last event happened.
    pub at: Duration,
    /// How many events have happened.
    pub events: u64,
    /// The event that comes next; none at the end.
    pub next: Option<Event>,
    /// Those behind it.
    pub rest: Reader<R>,
}

impl<R: BufRead> Moment<R> {
    /// Takes the next event, which is not shown by this.
    pub fn take(&mut self) -> Option<Event> {
        let event = std::mem::replace(&mut self.next, next(&mut self.rest))?;
        self.at = event.at;
        self.events += 1;
        Some(event)
    }

    /// Lets the next event happen.
    pub fn step(&mut self, scrollback: usize) -> Option<Event> {
        let event = self.take()?;
        apply(&mut self.screen, &event, Seen::default(), scrollback);
        Some(event)
    }

    fn is_before(&self, target: Target) -> bool {
        match (&self.next, target) {
            (None, _) => false,
            (Some(next), Target::At(at)) => next.at <= at,
            (Some(_), Target::After(events)) => self.events < events,
        }
    }
}

/// The next event that can be read.
fn next<R: BufRead>(reader: &mut Reader<R>) -> Option<Event> {
    reader.find_map(Result::ok)
}

/// Shows what an event did to the screen.
pub fn apply(screen: &mut Screen, event: &Event, seen: Seen, scrollback: usize) {
    match &event.kind {
        Kind::Output(text) => {
            screen.feed_seen(text.as_bytes(), seen, event.at);
            // Who asked was answered then.
            screen.take_replies();
            screen.take_signals();
        }
        Kind::Resize(size) => {
            screen.resize(*size, event.at);
        }
        Kind::Marker(label) if label == RESTARTED => {
            *screen = screen.successor(scrollback, event.at);
        }
        Kind::Marker(_) | Kind::Input(_) | Kind::Exit(_) | Kind::Other(_) => {}
    }
}

/// The marker of a pane whose child was started anew, on a screen of its own below what stood on the old one.
pub const RESTARTED: &str = "restarted";

/// Goes to a moment of a recording of version 2 or 3 that begins at `begin`. `open` gives its bytes from an offset on.
///
/// # Errors
///
/// When the bytes cannot be had.
pub fn seek<R: BufRead>(
    keys: &Keys,
    (header, begin): (&Header, Place),
    target: Target,
    scrollback: usize,
    open: impl FnOnce(u64) -> io::Result<R>,
) -> io::Result<Moment<R>> {
    let is_before = |place: &Place| match target {
        Target::At(at) => place.at() <= at,
        Target::After(events) => place.events <= events,
    };
    let (screen, place) = keys
        .start(is_before, scrollback)
        .unwrap_or_else(|| (Screen::new(header.size, scrollback), begin));
    let mut rest = Reader::resume(open(place.offset)?, header.clone(), place);
    let mut moment = Moment {
        screen,
        at: place.at(),
        events: place.events,
        next: next(&mut rest),
        rest,
    };
    while moment.is_before(target) {
        moment.step(scrollback);
    }
    if let Target::At(at) = target {
        moment.screen.wake(at);
    }
    Ok(moment)
}
