//! What a change of width would take from a row: the text beyond the new last column, and the knowledge that the row
//! ran on in the next one. The crate forgets both.
//!
//! It is kept here and hung on the row by two characters without width in the last cell that stays. They move with
//! the row when it scrolls, and go when the child overwrites or erases that cell: then what hung on it is gone for the
//! child, too, and for us. So a plain text stays whole, and an agent that draws anew leaves nothing of the old.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::{Deserialize, Serialize};

use super::line::Style;
use super::row::{self, FILLER, Row};
use super::sgr;

/// The characters of a mark: reserved code points without width, of no use to anyone.
const MARKS: u32 = 0xe0080;
/// How many of them there are.
const MARK_BASE: u16 = 128;
/// The longest contents a mark still fits behind (22 bytes; an append is refused from 18 on).
const MARKED_BYTES: usize = 13;

/// One cell, as far as it can be written again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FullCell {
    /// The contents; empty for a cell nothing was written to.
    pub(super) text: Box<str>,
    /// How it is drawn.
    pub(super) style: Style,
    /// Columns.
    pub(super) width: u16,
}

impl FullCell {
    fn is_blank(&self) -> bool {
        self.text.is_empty() && self.style == Style::default()
    }
}

/// What hangs on a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Overhang {
    /// The cells beyond the last column.
    pub(super) cells: Vec<FullCell>,
    /// The terminal went on in the next row by itself.
    pub(super) wrapped: bool,
}

/// Everything that hangs on rows now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Overhangs {
    hung: BTreeMap<u16, Overhang>,
    next: u16,
}

impl Overhangs {
    /// Whether nothing hangs anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.hung.is_empty()
    }

    /// Forgets all; the rows that carry marks are written anew by the caller.
    pub(super) fn clear(&mut self) {
        self.hung.clear();
    }

    /// What hangs on a cell with these contents.
    pub(super) fn of(&self, contents: &str) -> Option<&Overhang> {
        let mut digits = contents.chars().filter_map(digit);
        let number = digits.next()? * MARK_BASE + digits.next()?;
        self.hung.get(&number)
    }

    /// Takes something in and gives the mark to hang it on.
    fn hang(&mut self, overhang: Overhang) -> [char; 2] {
        let number = self.next;
        self.next = (self.next + 1) % (MARK_BASE * MARK_BASE);
        self.hung.insert(number, overhang);
        let mark = |digit: u16| char::from_u32(MARKS + u32::from(digit)).unwrap_or(FILLER);
        [mark(number / MARK_BASE), mark(number % MARK_BASE)]
    }
}

fn digit(c: char) -> Option<u16> {
    let digit = u32::from(c).checked_sub(MARKS)?;
    u16::try_from(digit).ok().filter(|digit| *digit < MARK_BASE)
}

/// Whether a character is part of a mark.
pub(super) fn is_mark(c: char) -> bool {
    digit(c).is_some()
}

/// A row with all that belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FullRow {
    /// Its cells, up to the last one that was written to.
    pub(super) cells: Vec<FullCell>,
    /// The terminal went on in the next row by itself.
    pub(super) wrapped: bool,
    /// It must be written anew, because it carries a mark or is not on the screen.
    pub(super) stale: bool,
}

impl FullRow {
    /// Columns it needs.
    pub(super) fn width(&self) -> u32 {
        self.cells.iter().map(|cell| u32::from(cell.width)).sum()
    }

    /// Whether nothing stands in it.
    pub(super) fn is_blank(&self) -> bool {
        self.cells
            .iter()
            .all(|cell| cell.text.trim_matches(' ').is_empty())
    }

    /// The row as it is kept.
    pub(super) fn row(&self, cols: u16) -> Row {
        let mut text = String::new();
        let mut runs: Vec<(u32, Style)> = Vec::new();
        append(&mut text, &mut runs, &self.cells);
        Row::new(&text, &runs, self.wrapped, cols)
    }

    /// Writes the sequences that draw the row at `at` (from 0) of a screen of `cols` columns; what does not fit is
    /// hung on it.
    pub(super) fn paint(&self, at: u16, cols: u16, overhangs: &mut Overhangs, out: &mut Vec<u8>) {
        let (mut kept, mut col) = (0, 0);
        for cell in &self.cells {
            if col + cell.width > cols {
                break;
            }
            col += cell.width;
            kept += 1;
        }
        let cut = kept < self.cells.len();
        let marked = cut || self.wrapped;
        while marked && kept > 0 && self.cells[kept - 1].text.len() > MARKED_BYTES {
            kept -= 1;
            col -= self.cells[kept].width;
        }
        sequence(out, format_args!("\x1b[{};1H\x1b[m\x1b[2K", at + 1));
        let anchored = marked && kept > 0 && (col == cols || !cut);
        write_cells(&self.cells[..kept], anchored, out);
        if !marked {
            return;
        }
        if !anchored {
            let fillers = if cut { cols - col } else { 1 };
            sequence(out, format_args!("\x1b[{}G", col + 1));
            for _ in 0..fillers {
                push(out, FILLER);
            }
        }
        let mark = overhangs.hang(Overhang {
            cells: self.cells[kept..].to_vec(),
            wrapped: self.wrapped,
        });
        for c in mark {
            push(out, c);
        }
    }
}

/// Writes cells from the first column on. Plain blanks are passed over, but for the last when something hangs on it.
fn write_cells(cells: &[FullCell], anchored: bool, out: &mut Vec<u8>) {
    let mut style = Style::default();
    let mut col = 0;
    let mut jump = false;
    for (i, cell) in cells.iter().enumerate() {
        let anchor = anchored && i + 1 == cells.len();
        if cell.is_blank() && !anchor {
            jump = true;
        } else {
            if std::mem::take(&mut jump) {
                sequence(out, format_args!("\x1b[{}G", col + 1));
            }
            if cell.style != style {
                style = cell.style;
                sgr::write(&style, out);
            }
            let text: &str = if cell.text.is_empty() {
                " "
            } else {
                &cell.text
            };
            out.extend_from_slice(text.as_bytes());
        }
        col += cell.width;
    }
}

/// Appends the text of cells and their styles.
pub(super) fn append(text: &mut String, runs: &mut Vec<(u32, Style)>, cells: &[FullCell]) {
    for cell in cells {
        if cell.text.starts_with(FILLER) {
            continue;
        }
        row::push(text, runs, &cell.text, cell.style);
    }
}

/// Reads all rows of a screen with all that hangs on them.
pub(super) fn read(screen: &vt100::Screen, overhangs: &Overhangs) -> Vec<FullRow> {
    let (rows, _) = screen.size();
    (0..rows.get())
        .map(|row| read_row(screen, row, overhangs))
        .collect()
}

fn read_row(screen: &vt100::Screen, at: u16, overhangs: &Overhangs) -> FullRow {
    let (_, cols) = screen.size();
    let mut row = FullRow {
        wrapped: screen.row_wrapped(at),
        ..FullRow::default()
    };
    let mut hung: Option<(usize, &Overhang)> = None;
    for cell in (0..cols.get()).filter_map(|col| screen.cell(at, col)) {
        if cell.is_wide_continuation() {
            continue;
        }
        let contents = cell.contents();
        if contents.contains(is_mark) {
            row.stale = true;
            hung = overhangs.of(contents).map(|overhang| {
                (
                    row.cells.len() + usize::from(!contents.starts_with(FILLER)),
                    overhang,
                )
            });
        }
        row.cells.push(FullCell {
            text: if contents.starts_with(FILLER) {
                FILLER.to_string().into()
            } else {
                contents.replace(is_mark, "").into()
            },
            style: row::style(cell),
            width: if cell.is_wide() { 2 } else { 1 },
        });
    }
    // A row ends with its last cell that was written to, but for the gap before a wide character.
    let end = |cells: &[FullCell]| {
        cells
            .iter()
            .rposition(|cell| !cell.text.is_empty() && !cell.text.starts_with(FILLER))
            .map_or(0, |last| last + 1)
    };
    let used = end(&row.cells);
    match hung {
        Some((place, overhang)) if used <= place => {
            row.cells.truncate(place);
            while row
                .cells
                .last()
                .is_some_and(|cell| cell.text.starts_with(FILLER))
            {
                row.cells.pop();
            }
            row.cells.extend(overhang.cells.iter().cloned());
            row.wrapped |= overhang.wrapped;
        }
        _ => row.cells.truncate(used),
    }
    row
}

fn sequence(out: &mut Vec<u8>, sequence: std::fmt::Arguments<'_>) {
    out.write_fmt(sequence).expect("a vector takes every byte");
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthChar;

    use super::*;

    #[test]
    fn marks_take_no_column() {
        for digit in 0..u32::from(MARK_BASE) {
            let mark = char::from_u32(MARKS + digit).expect("a code point");
            assert_eq!(mark.width(), Some(0), "{digit:x}");
        }
    }

    #[test]
    fn a_mark_leads_to_what_was_hung_on_it() {
        let mut overhangs = Overhangs::default();
        for _ in 0..200 {
            overhangs.hang(Overhang::default());
        }
        let mark = overhangs.hang(Overhang {
            wrapped: true,
            ..Overhang::default()
        });
        let contents = format!("x{}{}", mark[0], mark[1]);
        assert!(overhangs.of(&contents).is_some_and(|hung| hung.wrapped));
        assert!(overhangs.of("x").is_none());
    }
}
