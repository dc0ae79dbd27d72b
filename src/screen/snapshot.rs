//! All of a screen as a value that can be written down, and the screen made of it again: what a replay starts from in the
//! middle of a recording.
//!
//! The rows that left the top are not in it: they never change once they have left, so they are kept beside it, once.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::row::Row;
use super::terminal::{self, Terminal};
use super::{Screen, Size};

/// A screen, but for the rows that left its top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    terminal: terminal::Kept,
    /// Numbers of the first row that is kept above the screen, and of the row after the last.
    first: u64,
    end: u64,
    generation: u32,
}

/// A row that left the top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRow(Row);

impl Snapshot {
    /// Numbers of the rows above the screen, counted from the first one ever.
    pub fn rows(&self) -> Range<u64> {
        self.first..self.end
    }
}

impl Screen {
    /// The screen as it is now. None between two halves of a sequence, in the middle of a synchronized frame, and for
    /// the rare screen that could not be made again to its last bit; a little later there is one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        if !self.scanner.is_idle() || self.frame.is_some() {
            return None;
        }
        let history = self.terminal.emulator.history();
        Some(Snapshot {
            terminal: self.terminal.kept()?,
            first: history.first(),
            end: history.end(),
            generation: history.generation(),
        })
    }

    /// The rows above the screen of these numbers, as far as they are kept.
    pub fn kept_rows(&self, numbers: Range<u64>) -> Vec<KeptRow> {
        let history = self.terminal.emulator.history();
        numbers
            .filter_map(|number| history.get(number).cloned().map(KeptRow))
            .collect()
    }

    /// The screen a snapshot was taken of, with these rows above it, of which it keeps `scrollback`. None when the
    /// snapshot is none that was ever taken.
    pub fn restore(snapshot: Snapshot, scrollback: usize, rows: Vec<KeptRow>) -> Option<Self> {
        let mut rows: Vec<Row> = rows.into_iter().map(|row| row.0).collect();
        rows.drain(..rows.len().saturating_sub(scrollback));
        let history = History::of(scrollback, snapshot.end, snapshot.generation, rows)?;
        let terminal = Terminal::of(snapshot.terminal, history)?;
        let mut screen = Self::new(Size::new(2, 1), 0);
        screen.terminal = terminal;
        Some(screen)
    }
}
