//! Lines of the frame: pieces of text side by side, cut where there is no more room.

use ratatui::buffer::Cell;
use ratatui::style::Style;

use super::paint::Frame;
use crate::app::layout::Area;
use crate::{plain, screen};

/// A piece of text and how it is drawn.
pub(super) struct Piece {
    pub text: String,
    pub style: Style,
}

/// A piece of text.
pub(super) fn piece(text: impl Into<String>, style: Style) -> Piece {
    Piece {
        text: text.into(),
        style,
    }
}

/// Columns of pieces side by side.
pub(super) fn width(pieces: &[Piece]) -> u16 {
    let cells = pieces.iter().flat_map(|piece| screen::columns(&piece.text));
    cells.fold(0, |all: u16, (.., wide)| all.saturating_add(wide))
}

/// Draws a line: what stands at its left, and at its right what there is room for. `fill` is drawn between.
pub(super) fn line(frame: &mut Frame, area: Area, left: &[Piece], right: &[Piece], fill: &Piece) {
    if area.is_empty() {
        return;
    }
    let (cells, _) = frame.row_mut(area.row, area.col, area.cols);
    for cell in cells.iter_mut() {
        cell.reset();
        cell.set_symbol(&fill.text);
        cell.set_style(fill.style);
    }
    let left_end = put(cells, 0, left);
    let room = cells.len().saturating_sub(usize::from(width(right)));
    if !right.is_empty() && room > left_end {
        put(cells, room, right);
    }
}

/// Draws one line of text in a row of an area that begins at `col`.
pub(super) fn row(frame: &mut Frame, area: Area, at: u16, pieces: &[Piece], base: Style) {
    if at >= area.rows {
        return;
    }
    let one = Area {
        row: area.row + at,
        rows: 1,
        ..area
    };
    line(frame, one, pieces, &[], &piece(" ", base));
}

/// Puts pieces into cells from a column on; gives the column behind them.
fn put(cells: &mut [Cell], from: usize, pieces: &[Piece]) -> usize {
    let mut col = from;
    for piece in pieces {
        for (_, part, wide) in screen::columns(&piece.text) {
            let wide = usize::from(wide);
            if col + wide > cells.len() {
                return cells.len();
            }
            cells[col].set_symbol(part);
            cells[col].set_style(piece.style);
            if wide == 2 {
                cells[col + 1].set_symbol("");
            }
            col += wide;
        }
    }
    col
}

/// Text from outside as one line of the frame, bounded.
pub(super) fn outside(text: &str, bytes: usize) -> String {
    plain::display(text, bytes)
}

/// A time as it is shown while it runs: `00:21`, `1:02:03`.
pub(super) fn clock(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A time that is over: `0.8 s`, `12 s`, `3 min`.
pub(super) fn took(millis: u64) -> String {
    match millis {
        0..=9_949 => format!("{}.{} s", (millis + 50) / 1000, (millis + 50) % 1000 / 100),
        9_950..=119_999 => format!("{} s", (millis + 500) / 1000),
        _ => format!("{} min", (millis + 30_000) / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(clock(Duration::from_secs(21)), "00:21");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
        assert_eq!(
            [took(849), took(12_300), took(200_000)],
            ["0.8 s", "12 s", "3 min"]
        );
    }
}
