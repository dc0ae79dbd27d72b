//! Finds the moments at which a text stands on a screen, or passed over it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::film::Film;
use crate::recording::track::Target;
use crate::screen::{Damage, Screen};

/// The first moment behind `from`, or the last one before it, at which the text comes to stand in one of the recordings.
/// It need not be written as it is: a text without capitals is found in whatever case.
///
/// # Errors
///
/// When a recording cannot be read.
pub(super) fn find(
    films: &[Film],
    text: &str,
    from: Duration,
    forward: bool,
    scrollback: usize,
    stop: &AtomicBool,
) -> io::Result<Option<Duration>> {
    let mut best: Option<Duration> = None;
    for film in films {
        let found = match forward {
            true => first(film, text, from, best, scrollback, stop)?,
            false => last(film, text, from, scrollback, stop)?,
        };
        best = match (best, found) {
            (Some(best), Some(found)) if forward => Some(best.min(found)),
            (Some(best), Some(found)) => Some(best.max(found)),
            (best, found) => best.or(found),
        };
    }
    Ok(best)
}

fn first(
    film: &Film,
    text: &str,
    from: Duration,
    until: Option<Duration>,
    scrollback: usize,
    stop: &AtomicBool,
) -> io::Result<Option<Duration>> {
    let mut moment = film.seek(Target::At(from))?;
    let mut look = Look::new(text, &mut moment.screen);
    while let Some(event) = moment.step(scrollback) {
        if stop.load(Ordering::Relaxed) || until.is_some_and(|until| event.at >= until) {
            return Ok(None);
        }
        if look.comes(&mut moment.screen) {
            return Ok(Some(event.at));
        }
    }
    Ok(None)
}

fn last(
    film: &Film,
    text: &str,
    until: Duration,
    scrollback: usize,
    stop: &AtomicBool,
) -> io::Result<Option<Duration>> {
    let mut moment = film.seek(Target::After(0))?;
    let mut look = Look::new(text, &mut moment.screen);
    let mut found = None;
    while let Some(event) = moment.step(scrollback) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if event.at >= until {
            break;
        }
        if look.comes(&mut moment.screen) {
            found = Some(event.at);
        }
    }
    Ok(found)
}

/// Looks at a screen again and again.
struct Look {
    text: String,
    folds: bool,
    /// It stood there when it was last looked at.
    stood: bool,
    /// Number of the row behind the last one that passed.
    passed: u64,
}

impl Look {
    fn new(text: &str, screen: &mut Screen) -> Self {
        let folds = text.to_lowercase() == text;
        let mut look = Self {
            text: text.to_owned(),
            folds,
            stood: false,
            passed: screen.top_row(),
        };
        screen.take_damage();
        look.stood = look.stands(screen, &Damage::everything());
        look
    }

    /// Whether the text stands there now and did not before, or passed by meanwhile.
    fn comes(&mut self, screen: &mut Screen) -> bool {
        if screen.in_frame() {
            return false;
        }
        let damage = screen.take_damage();
        if damage.is_nothing() {
            return false;
        }
        let top = screen.top_row();
        let passed = self.passed.min(top)..top;
        self.passed = top;
        // What stood there when it was last looked at only went up.
        let fresh = passed.end - passed.start > u64::from(screen.size().rows);
        let by = fresh && {
            let mut text = String::new();
            for number in passed {
                let Some((line, wrapped)) = screen.history_row(number) else {
                    continue;
                };
                text.push_str(&line.text);
                if !wrapped {
                    text.push('\n');
                }
            }
            self.is_in(&text)
        };
        let stands = match self.stood || damage.is_everything() {
            true => self.stands(screen, &Damage::everything()),
            false => self.stands(screen, &damage),
        };
        let before = std::mem::replace(&mut self.stood, stands);
        by || (stands && !before)
    }

    /// Whether it stands in one of these rows, or over two of them.
    fn stands(&self, screen: &Screen, damage: &Damage) -> bool {
        let rows = screen.size().rows;
        let mut text = String::new();
        let is_near =
            |row: u16| (row.saturating_sub(1)..=(row + 1).min(rows - 1)).any(|row| damage.has(row));
        for row in 0..rows {
            if !is_near(row) {
                text.push('\n');
                continue;
            }
            let start = text.len();
            for cell in screen.row_cells(row) {
                text.push_str(cell.text);
            }
            let full = screen
                .row_cells(row)
                .last()
                .is_some_and(|cell| cell.text != " ");
            if !full {
                text.truncate(start + text[start..].trim_end().len());
                text.push('\n');
            }
        }
        self.is_in(&text)
    }

    fn is_in(&self, text: &str) -> bool {
        match self.folds {
            true => text.to_lowercase().contains(&self.text),
            false => text.contains(&self.text),
        }
    }
}
