//! Rows known from the bytes that drew them.
//!
//! Reading a row off the emulator cell by cell costs about as much as drawing it. While a child does nothing but write
//! line after line at the foot of the screen, each row is blank when its line begins, so the line is the row, and the
//! rows leave at the top in the order they were written. Everything else ends that, and rows are read again.

use std::collections::VecDeque;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::line::Style;
use super::row::{self, FILLER, REPLACEMENT, Row, is_mark};
use super::scan::plain_end;
use super::sgr;

/// What the emulator lets a cell hold before it drops what is appended.
pub(super) const CELL_BYTES: usize = 18;

/// The rows of a screen whose last row is being written, when they are known.
#[derive(Debug, Default)]
pub(super) struct Known {
    active: bool,
    /// From the top to the last but one; `None`: to be read.
    rows: VecDeque<Option<Row>>,
    /// The last row so far.
    text: String,
    runs: Vec<(u32, Style)>,
    /// The attributes in force.
    style: Style,
    /// Those of the last cell written to.
    drawn: Style,
    col: u16,
    cols: u16,
    /// Where the last cell begins in the text, and its columns.
    cell: usize,
    wide: bool,
    /// Blanks passed over by a tab.
    gap: usize,
    /// A carriage return came, which only a line feed may follow.
    returned: bool,
    codes: Vec<u16>,
    /// The run of the attributes in force has begun.
    begun: bool,
}

impl Known {
    /// Whether rows are known at all.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Begins: the cursor is at the start of the last row, which is blank.
    pub(super) fn begin(&mut self, rows: u16, cols: u16, style: Style) {
        self.active = true;
        self.rows.clear();
        self.rows.resize(usize::from(rows) - 1, None);
        self.cols = cols;
        self.style = style;
        self.begin_row();
    }

    /// From here on nothing is known.
    pub(super) fn end(&mut self) {
        self.active = false;
        self.rows.clear();
    }

    /// The row that leaves at the top, when it is known.
    pub(super) fn leave(&mut self) -> Option<Row> {
        self.rows.pop_front().flatten()
    }

    /// Gives up the rows but for the last `keep`, when all of those are known that go.
    pub(super) fn give_up(&mut self, keep: usize) -> Option<Vec<Row>> {
        let going = self.rows.len().checked_sub(keep)?;
        if self.rows.iter().take(going).any(Option::is_none) {
            return None;
        }
        Some(self.rows.drain(..going).flatten().collect())
    }

    /// Follows the bytes as long as the rows stay known; gives how far.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            match self.step(&bytes[at..]) {
                Some(length) => at += length,
                None => break,
            }
        }
        at
    }

    /// One step; `None` when what it does is not known.
    fn step(&mut self, bytes: &[u8]) -> Option<usize> {
        let first = *bytes.first()?;
        if self.returned && first != b'\n' {
            return None;
        }
        match first {
            0x20..=0x7e => {
                let end = plain_end(bytes, 0);
                let text = std::str::from_utf8(&bytes[..end]).ok()?;
                self.print_plain(text);
                Some(end)
            }
            b'\r' => {
                self.returned = true;
                Some(1)
            }
            b'\n' => {
                // Without the return the next row would not begin at its start.
                if !self.returned {
                    return None;
                }
                self.end_row(false);
                Some(1)
            }
            b'\t' => {
                let to = self.col - self.col % 8 + 8;
                if to >= self.cols {
                    return None;
                }
                self.gap += usize::from(to - self.col);
                self.col = to;
                Some(1)
            }
            0x07 => Some(1),
            0x1b => self.sequence(bytes),
            0x80.. => self.characters(bytes),
            _ => None,
        }
    }

    fn sequence(&mut self, bytes: &[u8]) -> Option<usize> {
        let body = bytes.strip_prefix(b"\x1b[")?;
        let params = body.iter().position(|b| !matches!(b, b'0'..=b'9' | b';'))?;
        match body[params] {
            b'm' if sgr::is_plain(&body[..params]) => {
                self.codes.clear();
                self.codes.push(0);
                for byte in &body[..params] {
                    match (byte, self.codes.last_mut()) {
                        (b';', _) => self.codes.push(0),
                        (digit, Some(code)) => {
                            *code = code
                                .saturating_mul(10)
                                .saturating_add(u16::from(digit - b'0'));
                        }
                        _ => {}
                    }
                }
                row::apply(&mut self.style, &self.codes);
                self.begun = false;
            }
            // What follows is blank already.
            b'K' if matches!(&body[..params], b"" | b"0") && self.style == Style::default() => {}
            _ => return None,
        }
        Some(params + 3)
    }

    /// Text from its first character that is not ASCII to the next control.
    fn characters(&mut self, bytes: &[u8]) -> Option<usize> {
        let end = bytes.iter().position(|b| *b < 0x20).unwrap_or(bytes.len());
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        for (at, c) in text.char_indices() {
            if self.character(c).is_none() {
                return (at > 0).then_some(at);
            }
        }
        Some(end)
    }

    fn character(&mut self, c: char) -> Option<()> {
        let width = match c {
            ' '..='~' => 1,
            '\u{fffd}' | FILLER | REPLACEMENT => return None,
            c if is_mark(c) => return None,
            c => u16::try_from(c.width()?.min(2)).ok()?,
        };
        if width == 0 {
            return self.append(c);
        }
        if self.col + width > self.cols {
            if self.col < self.cols {
                return None;
            }
            self.end_row(true);
        }
        self.begin_cells();
        self.cell = self.text.len();
        self.text.push(c);
        self.col += width;
        self.wide = width > 1;
        Some(())
    }

    /// A character without width joins the one before.
    fn append(&mut self, c: char) -> Option<()> {
        if self.gap > 0 || (self.col == 0 && !self.text.is_empty()) {
            return None;
        }
        if self.col == 0 || self.text.len() - self.cell >= CELL_BYTES {
            return Some(());
        }
        self.text.push(c);
        if c == '\u{fe0f}' && !self.wide && self.text[self.cell..].width() > 1 {
            if self.col >= self.cols {
                return None;
            }
            self.wide = true;
            self.col += 1;
        }
        Some(())
    }

    fn print_plain(&mut self, mut text: &str) {
        while !text.is_empty() {
            if self.col >= self.cols {
                self.end_row(true);
            }
            let (now, later) = text.split_at(text.len().min(usize::from(self.cols - self.col)));
            self.begin_cells();
            self.text.push_str(now);
            self.col += u16::try_from(now.len()).unwrap_or(u16::MAX);
            self.cell = self.text.len() - 1;
            self.wide = false;
            text = later;
        }
    }

    /// Before a cell is written: the blanks passed over look like the cell before them.
    fn begin_cells(&mut self) {
        if self.gap > 0 {
            self.begin_run(self.drawn);
            self.text.extend(std::iter::repeat_n(' ', self.gap));
            self.gap = 0;
            self.begun = false;
        }
        if !self.begun {
            self.begin_run(self.style);
            self.drawn = self.style;
            self.begun = true;
        }
    }

    fn begin_run(&mut self, style: Style) {
        if self.runs.last().is_none_or(|(_, last)| *last != style) {
            let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            self.runs.push((start, style));
        }
    }

    fn end_row(&mut self, wrapped: bool) {
        let row = Row::new(&self.text, &self.runs, wrapped, self.cols);
        self.rows.push_back(Some(row));
        self.begin_row();
    }

    fn begin_row(&mut self) {
        self.text.clear();
        self.runs.clear();
        self.drawn = Style::default();
        self.col = 0;
        self.cell = 0;
        self.wide = false;
        self.gap = 0;
        self.returned = false;
        self.begun = false;
    }
}
