//! One logical line of a screen: text and the runs of equal style in it.

use serde::{Deserialize, Serialize};

/// A colour as the child asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Color {
    /// The terminal's own.
    #[default]
    Default,
    /// One of the 256 palette entries.
    Idx(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// How a run of text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Style {
    /// Foreground.
    pub fg: Color,
    /// Background.
    pub bg: Color,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined, in whatever way.
    pub underline: bool,
    /// Foreground and background swapped.
    pub inverse: bool,
}

/// A run of equal style: from `start` (bytes into the line's text) to the next run or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First byte of the run.
    pub start: usize,
    /// How it is drawn.
    pub style: Style,
}

/// One logical line: the rows that the terminal itself wrapped, joined; blanks at its end cut.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The text; a cell nothing was written to is a blank.
    pub text: String,
    /// Runs of equal style, in order; the first one starts at 0 when there is text.
    pub runs: Vec<Run>,
    /// Rows of the terminal that were joined, at least 1.
    pub rows: u16,
    /// Width of the terminal when the line was last on the screen.
    pub cols: u16,
}

impl Line {
    /// Style of the character at byte `at`.
    pub fn style_at(&self, at: usize) -> Style {
        let after = self.runs.partition_point(|run| run.start <= at);
        after
            .checked_sub(1)
            .map(|i| self.runs[i].style)
            .unwrap_or_default()
    }
}
