//! The lines of a screen that a reading rests on, for a person who asks why.

use super::reply::Reading;
use crate::screen::Line;

/// One line a reading rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its number among the logical lines, from 0.
    pub line: usize,
    /// What it is: `start`, `verdict`, or `ignored` for a verdict line that does not decide.
    pub what: &'static str,
    /// Its text; from outside, so to be shown escaped.
    pub text: String,
}

impl Evidence {
    /// The lines behind a reading of `lines`.
    pub fn of(reading: &Reading, lines: &[Line]) -> Vec<Self> {
        let text = |line: usize| {
            lines
                .get(line)
                .map(|line| line.text.clone())
                .unwrap_or_default()
        };
        let decides = reading.lines.map(|(_, last)| last);
        let start = reading.lines.map(|(first, _)| Self {
            line: first,
            what: "start",
            text: text(first),
        });
        let words = reading.words.iter().map(|&(line, _)| Self {
            line,
            what: if decides == Some(line) {
                "verdict"
            } else {
                "ignored"
            },
            text: text(line),
        });
        start.into_iter().chain(words).collect()
    }
}
