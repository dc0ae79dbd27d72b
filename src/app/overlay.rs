//! What lies over the panes, and the tables below them.

use super::choice::Choice;
use super::question::Question;

/// What lies over the panes and takes the keys.
#[derive(Debug)]
pub enum Overlay {
    /// The composer.
    Composer,
    /// The reader.
    Reader(Reader),
    /// An escalation.
    Question(Question),
    /// Every key.
    Help(Help),
    /// Why a pane counts as what it does.
    Explain,
    /// A receipt, by its table and its place there, and the first row shown.
    Receipt(Table, usize, usize),
    /// Sessions to choose one from.
    Choice(Choice),
    /// Whether to quit while a round runs.
    Quit,
}

/// A review being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// The entry of the ledger.
    pub entry: usize,
    /// First row shown.
    pub top: usize,
}

/// The list of keys.
#[derive(Debug, Clone, Default)]
pub struct Help {
    /// First row shown.
    pub top: usize,
    /// What is searched for.
    pub search: String,
}

/// One of the two tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Table {
    /// The receipts.
    #[default]
    Receipts,
    /// The fallbacks.
    Fallbacks,
}

/// The tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Whether they are shown.
    pub is_shown: bool,
    /// Whether they have the keys.
    pub has_keys: bool,
    /// Which of them is selected.
    pub table: Table,
    /// The selected row of each, from the newest.
    pub selected: [usize; 2],
    /// Their height, headings included.
    pub rows: u16,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            is_shown: false,
            has_keys: false,
            table: Table::Receipts,
            selected: [0, 0],
            rows: 6,
        }
    }
}

impl Tables {
    /// The selected row of the selected table, from the newest.
    pub fn at(&self) -> usize {
        self.selected[usize::from(self.table == Table::Fallbacks)]
    }

    /// Selects a row of the selected table.
    pub fn select(&mut self, at: usize) {
        self.selected[usize::from(self.table == Table::Fallbacks)] = at;
    }
}
