//! Another size. The crate cuts rows for good, forgets which of them ran on, clamps a pending wrap, and drops the
//! rows below the cursor of a lower screen; all of that is read before and put back after.

use serde::{Deserialize, Serialize};

use super::super::Size;
use super::super::overhang::{self, FullRow};
use super::super::row::Row;
use super::super::sgr;
use super::Terminal;

/// Rows a lower window has no room for. They stay in the lines until the child draws again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CutRows {
    above: Vec<FullRow>,
    below: Vec<FullRow>,
    /// The last row of the screen runs on in the first one below.
    joined: bool,
}

/// One screen before the change, its rows numbered as they will be after it.
struct Before {
    rows: Vec<FullRow>,
    cursor: (u16, u16),
}

impl Terminal {
    /// Changes the size of both screens.
    pub(in super::super) fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        // Else the crate counts the rows that left and puts as many blank ones on top of a taller screen.
        self.emulator.process(b"\x1b[3J");
        let pen = self.pen();
        let last = self.emulator.last_printed();
        let hidden = self.modes.alternate_screen.then(|| {
            // The main screen has rows that left, whichever of the two is shown.
            self.emulator.process(b"\x1b[?47l\x1b[3J");
            let before = self.before(size, 0);
            self.emulator.process(b"\x1b[?47h");
            before
        });
        let shown = self.before(size, self.screen_index());
        let reshaped = size.cols != self.size.cols;
        self.emulator.resize(size);
        self.size = size;
        self.note_region((0, size.rows - 1));
        if reshaped {
            self.emulator.overhangs_mut().clear();
        }
        if let Some(hidden) = hidden {
            self.emulator.process(b"\x1b[?47l");
            self.after(&hidden, reshaped);
            self.emulator.process(b"\x1b[?47h");
        }
        self.after(&shown, reshaped);
        let mut bytes = Vec::new();
        sgr::write(&pen, &mut bytes);
        self.emulator.process(&bytes);
        self.emulator.settle(last);
        self.changes.drawn = true;
    }

    /// Reads the screen in use and makes room: rows leave it at the top as long as the cursor does not.
    fn before(&mut self, size: Size, index: usize) -> Before {
        let mut rows = overhang::read(self.emulator.screen(), self.emulator.overhangs());
        let (row, mut col) = self.emulator.cursor();
        if col >= self.size.cols
            && let Some(full) = rows.get(usize::from(row))
        {
            // Behind the last column is behind all that hangs on the row.
            col = col.max(u16::try_from(full.width()).unwrap_or(u16::MAX));
        }
        let mut cut = self.cut[index].take().unwrap_or_default();
        let lost = usize::from(self.size.rows.saturating_sub(size.rows));
        if lost == 0 {
            for row in &mut cut.below {
                row.stale = true;
            }
            rows.append(&mut cut.below);
            if cut.joined
                && let Some(last) = rows.get_mut(usize::from(self.size.rows) - 1)
            {
                last.wrapped = true;
                last.stale = true;
            }
            if rows.len() > usize::from(size.rows) {
                cut.below = rows.split_off(usize::from(size.rows));
            }
            self.keep(index, cut);
            return Before {
                rows,
                cursor: (row, col),
            };
        }
        let last = rows
            .iter()
            .rposition(|row| !row.is_blank())
            .unwrap_or(0)
            .max(usize::from(row));
        let blank = rows.len() - 1 - last;
        let up = if index == 0 {
            lost.saturating_sub(blank).min(usize::from(row))
        } else {
            usize::from((row + 1).saturating_sub(size.rows))
        };
        let left: Vec<FullRow> = rows.drain(..up).collect();
        self.scroll(up, row);
        let row = row - u16::try_from(up).unwrap_or(row);
        if index == 1 {
            cut.above.extend(left);
        }
        let mut below = rows.split_off(usize::from(size.rows).min(rows.len()));
        below.truncate((last + 1).saturating_sub(up + usize::from(size.rows)));
        if !below.is_empty() {
            cut.joined = rows.last().is_some_and(|row| row.wrapped);
        }
        below.append(&mut cut.below);
        cut.below = below;
        self.keep(index, cut);
        Before {
            rows,
            cursor: (row, col),
        }
    }

    fn keep(&mut self, index: usize, cut: CutRows) {
        if !cut.above.is_empty() || !cut.below.is_empty() {
            self.cut[index] = Some(cut);
        }
    }

    /// Lets rows go at the top of the screen in use and leaves the cursor in its row.
    fn scroll(&mut self, count: usize, row: u16) {
        let mut bytes = format!("\x1b[m\x1b[r\x1b[{}H", self.size.rows).into_bytes();
        bytes.resize(bytes.len() + count, b'\n');
        let row = usize::from(row + 1).saturating_sub(count);
        bytes.extend_from_slice(format!("\x1b[{row}H").as_bytes());
        self.emulator.process(&bytes);
    }

    /// Writes what the crate has forgotten onto the screen in use.
    fn after(&mut self, before: &Before, reshaped: bool) {
        let Size { cols, rows } = self.size;
        let (row, col) = before.cursor;
        let mut bytes = Vec::new();
        for (at, full) in (0..rows).zip(&before.rows) {
            let forgotten = reshaped && (full.wrapped || full.width() > u32::from(cols));
            if full.stale || forgotten {
                full.paint(at, cols, self.emulator.overhangs_mut(), &mut bytes);
            }
        }
        let full = before.rows.get(usize::from(row));
        match full {
            // The cursor stood behind the text, which fills the row: it waits to wrap.
            Some(full) if col >= cols && full.width() >= u32::from(cols) => {
                full.paint(row, cols, self.emulator.overhangs_mut(), &mut bytes);
            }
            _ => {
                let col = col.min(cols - 1);
                bytes.extend_from_slice(format!("\x1b[{};{}H", row + 1, col + 1).as_bytes());
            }
        }
        self.emulator.process(&bytes);
    }

    /// The rows above and below the screen in use, which a lower window has no room for; and whether the last row
    /// of the screen runs on in them.
    pub(in super::super) fn cut_rows(&self) -> (Vec<Row>, Vec<Row>, bool) {
        let Some(cut) = &self.cut[self.screen_index()] else {
            return Default::default();
        };
        let rows = |rows: &[FullRow]| rows.iter().map(|row| row.row(self.size.cols)).collect();
        (rows(&cut.above), rows(&cut.below), cut.joined)
    }
}
