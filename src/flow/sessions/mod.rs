//! `sessions`: what was recorded, listed, shown, exported and let go (issue SESSIONS 1, 5, 6).

mod export;
pub(super) mod kept;
mod list;
mod prune;
mod show;

use std::time::Duration;

use super::config::{Printed, Workplace};
use super::failure::Failure;
use crate::cli::{Options, SessionsCommand};
use crate::config::Settings;
use crate::recording::summary::Summary;

/// Runs `sessions`.
///
/// # Errors
///
/// When a session is not found or the state folder cannot be read.
pub fn run(
    command: &SessionsCommand,
    place: &Workplace,
    settings: &Settings,
    options: &Options,
) -> Result<Printed, Failure> {
    let repo = key_of(place);
    match command {
        SessionsCommand::List(args) => list::run(args, &repo, options),
        SessionsCommand::Show { session } => show::run(&kept::find(session, &repo)?, options),
        SessionsCommand::Export(args) => export::run(&kept::find(&args.session, &repo)?, args),
        SessionsCommand::Prune(args) => prune::run(args, settings, options),
    }
}

/// The key under which the sessions of a place are kept.
pub(super) fn key_of(place: &Workplace) -> String {
    place.repository_key()
}

/// A session in one line.
pub(super) fn line(summary: &Summary) -> String {
    let started = summary
        .started
        .get(..16)
        .unwrap_or_default()
        .replace('T', " ");
    let length = summary
        .length_ms
        .map_or("?".to_owned(), |ms| clock(Duration::from_millis(ms)));
    format!(
        "{started}  {length:>8}  {:<20}  {}",
        list::panes(summary),
        list::rounds(summary)
    )
}

/// A length as a person reads it: `1:02:03`, `2:03`, `0:07`.
pub(super) fn clock(length: Duration) -> String {
    let seconds = length.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A size as a person reads it.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_sizes_are_short() {
        let shown = [7, 123, 3723].map(|seconds| clock(Duration::from_secs(seconds)));
        assert_eq!(shown, ["0:07", "2:03", "1:02:03"]);
        let shown = [999, 1000, 999_949, 999_950, 2_000_000_000].map(size);
        assert_eq!(shown, ["999 B", "1.0 kB", "999.9 kB", "1.0 MB", "2.0 GB"]);
    }
}
