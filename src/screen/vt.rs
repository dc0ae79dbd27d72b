//! All of the emulator crate's screen, read off it and drawn again.
//!
//! The crate gives its cells away and takes them only as bytes, and some of its state it does not tell at all. What it
//! does not tell is found out by asking a copy; what was drawn again is read once more and counts only when it is the
//! same. So nothing here has to be believed.

use std::io::Write as _;
use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};

use super::guard;
use super::line::Style;
use super::row;
use super::sgr;

/// Stands in `Line::lengths` for the second half of a wide character.
const CONTINUES: u8 = u8::MAX;

/// The whole screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Vt {
    rows: u16,
    cols: u16,
    /// The main screen and the alternate one; the latter only when it is not as it was in the beginning.
    grids: (Grid, Option<Grid>),
    alternate: bool,
    pen: Style,
    saved_pen: Style,
    hides_cursor: bool,
    cursor: u8,
}

/// One of the two screens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Grid {
    lines: Vec<Line>,
    /// Row and column; the column is the width while a wrap is pending.
    cursor: (u16, u16),
    origin: bool,
    saved: (u16, u16),
    saved_origin: bool,
    /// First and last row of the scroll region.
    region: (u16, u16),
}

/// One row: the contents of its cells in one text, the bytes of each, and their styles in runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    text: String,
    lengths: Vec<u8>,
    styles: Vec<(u16, Style)>,
    wrapped: bool,
}

impl Vt {
    /// Reads a screen; none when there is something in it that could not be drawn again.
    pub(super) fn read(screen: &vt100::Screen) -> Option<Self> {
        // These the terminal before it keeps to itself.
        let unused = screen.application_keypad()
            || screen.application_cursor()
            || screen.bracketed_paste()
            || screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None
            || screen.mouse_protocol_encoding() != vt100::MouseProtocolEncoding::Default
            || screen.scrollback() != 0;
        if unused {
            return None;
        }
        let (rows, cols) = screen.size();
        let alternate = screen.alternate_screen();
        let other = asked(
            screen,
            if alternate {
                b"\x1b[?47l"
            } else {
                b"\x1b[?47h"
            },
        )?;
        let (shown, hidden) = (Grid::read(screen)?, Grid::read(&other)?);
        let (main, alt) = if alternate {
            (hidden, shown)
        } else {
            (shown, hidden)
        };
        let fresh = Grid::fresh(rows.get(), cols.get());
        Some(Self {
            rows: rows.get(),
            cols: cols.get(),
            grids: (main, (alternate || alt != fresh).then_some(alt)),
            alternate,
            pen: row::pen(screen),
            saved_pen: row::pen(&asked(screen, b"\x1b8")?),
            hides_cursor: screen.hide_cursor(),
            cursor: super::shape_of(screen),
        })
    }

    /// Whether the numbers in it fit together, so that what is drawn stays on the screen.
    pub(super) fn is_sound(&self) -> bool {
        let grids = [Some(&self.grids.0), self.grids.1.as_ref()];
        self.rows > 0 && self.cols > 1 && (!self.alternate || self.grids.1.is_some()) && {
            grids.into_iter().flatten().all(|grid| {
                let fits = |(row, col): (u16, u16)| row < self.rows && col <= self.cols;
                grid.lines.len() == usize::from(self.rows)
                    && fits(grid.cursor)
                    && fits(grid.saved)
                    && grid.region.0 <= grid.region.1
                    && grid.region.1 < self.rows
                    && grid.lines.iter().all(|line| line.is_sound(self.cols))
            })
        }
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (u16, u16) {
        (self.cols, self.rows)
    }

    /// Draws it on a fresh screen; none when something else came of it.
    pub(super) fn draw<C: vt100::Callbacks>(&self, parser: &mut vt100::Parser<C>) -> Option<()> {
        let mut bytes = Vec::new();
        let main = &self.grids.0;
        match (&self.grids.1, self.alternate) {
            (None, _) => main.draw(self, &mut bytes),
            (Some(alt), true) => {
                main.draw(self, &mut bytes);
                bytes.extend_from_slice(b"\x1b[?47h");
                alt.draw(self, &mut bytes);
            }
            (Some(alt), false) => {
                bytes.extend_from_slice(b"\x1b[?47h");
                alt.draw(self, &mut bytes);
                bytes.extend_from_slice(b"\x1b[?47l");
                main.draw(self, &mut bytes);
            }
        }
        sgr::write(&self.pen, &mut bytes);
        if self.hides_cursor {
            bytes.extend_from_slice(b"\x1b[?25l");
        }
        put(&mut bytes, format_args!("\x1b[{} q", self.cursor));
        guard::call(|| parser.process(&bytes)).ok()
    }
}

/// A copy of a screen that was told something.
fn asked(screen: &vt100::Screen, bytes: &[u8]) -> Option<vt100::Screen> {
    let (rows, cols) = screen.size();
    let mut parser = vt100::Parser::new(rows, cols, 0);
    *parser.screen_mut() = screen.clone();
    guard::call(|| parser.process(bytes)).ok()?;
    Some(parser.screen().clone())
}

/// Whether the origin mode is on, which shows in where home is.
fn origin(screen: &vt100::Screen) -> Option<bool> {
    let (rows, cols) = screen.size();
    let mut copy = screen.clone();
    // A region that does not begin at the top needs three rows.
    let rows = rows.max(NonZeroU16::new(3)?);
    guard::call(|| copy.set_size(rows, cols)).ok()?;
    let home = asked(&copy, b"\x1b[2;3r\x1b[H")?;
    Some(home.cursor_position().0 == 1)
}

impl Grid {
    fn fresh(rows: u16, cols: u16) -> Self {
        let line = Line {
            text: String::new(),
            lengths: vec![0; usize::from(cols)],
            styles: vec![(cols, Style::default())],
            wrapped: false,
        };
        Self {
            lines: vec![line; usize::from(rows)],
            cursor: (0, 0),
            origin: false,
            saved: (0, 0),
            saved_origin: false,
            region: (0, rows - 1),
        }
    }

    /// Reads the screen that is shown.
    fn read(screen: &vt100::Screen) -> Option<Self> {
        let (rows, _) = screen.size();
        let restored = asked(screen, b"\x1b8")?;
        // With origin mode the cursor is at the top of the region, and goes down to its end.
        let top = asked(screen, b"\x1b[?6h")?.cursor_position().0;
        let bottom = asked(screen, b"\x1b[?6h\x1b[65535B")?.cursor_position().0;
        Some(Self {
            lines: (0..rows.get())
                .map(|row| Line::read(screen, row))
                .collect::<Option<_>>()?,
            cursor: screen.cursor_position(),
            origin: origin(screen)?,
            saved: restored.cursor_position(),
            saved_origin: origin(&restored)?,
            region: (top, bottom),
        })
    }

    fn draw(&self, vt: &Vt, out: &mut Vec<u8>) {
        let (row, col) = self.saved;
        put(out, format_args!("\x1b[?6{}", switch(self.saved_origin)));
        sgr::write(&vt.saved_pen, out);
        place(row, col.min(vt.cols - 1), out);
        if col == vt.cols {
            out.push(b'x');
        }
        out.extend_from_slice(b"\x1b7\x1b[?6l");
        for (row, line) in (1u16..).zip(&self.lines) {
            put(out, format_args!("\x1b[{row};1H\x1b[m\x1b[2K"));
            line.draw(out);
            if line.wrapped {
                // Goes to the next row, which is erased before it is drawn.
                out.push(b'x');
            }
        }
        if self.region != (0, vt.rows - 1) {
            put(
                out,
                format_args!("\x1b[{};{}r", self.region.0 + 1, self.region.1 + 1),
            );
        }
        put(out, format_args!("\x1b[?6{}", switch(self.origin)));
        let (row, col) = self.cursor;
        if col < vt.cols {
            return place(row, col, out);
        }
        // A wrap is pending, which only a character in the last column brings about: the one that is there, or the one
        // of another row, from which the cursor then goes up or down.
        let lines = &self.lines;
        let own = lines
            .get(usize::from(row))
            .and_then(|line| line.last(vt.cols));
        let any = || {
            let mut rows = (0u16..).zip(lines);
            rows.find_map(|(row, line)| Some((row, line.last(vt.cols)?)))
        };
        if let Some((at, (col, text, style))) = own.map(|last| (row, last)).or_else(any) {
            place(at, col, out);
            sgr::write(&style, out);
            out.extend_from_slice(text.as_bytes());
            put(out, format_args!("\x1b[{}d", row + 1));
        }
    }
}

impl Line {
    fn read(screen: &vt100::Screen, at: u16) -> Option<Self> {
        let (_, cols) = screen.size();
        let mut line = Self {
            wrapped: screen.row_wrapped(at),
            ..Self::default()
        };
        let mut was_wide = false;
        for col in 0..cols.get() {
            let cell = screen.cell(at, col)?;
            // Halves that stand alone are nothing a character leaves behind.
            if cell.is_wide_continuation() != was_wide {
                return None;
            }
            was_wide = cell.is_wide();
            let length = match cell.is_wide_continuation() {
                true => CONTINUES,
                false => u8::try_from(cell.contents().len()).ok()?,
            };
            line.text.push_str(cell.contents());
            line.lengths.push(length);
            let style = row::style(cell);
            match line.styles.last_mut() {
                Some((count, last)) if *last == style => *count += 1,
                _ => line.styles.push((1, style)),
            }
        }
        (!was_wide).then_some(line)
    }

    fn is_sound(&self, cols: u16) -> bool {
        let bytes = self.lengths.iter().filter(|length| **length != CONTINUES);
        let bytes: usize = bytes.map(|length| usize::from(*length)).sum();
        let styled: usize = self
            .styles
            .iter()
            .map(|(count, _)| usize::from(*count))
            .sum();
        self.lengths.len() == usize::from(cols)
            && styled == usize::from(cols)
            && bytes == self.text.len()
            && self.cells().count() == usize::from(cols)
            && !self.text.contains(|c: char| c.is_control())
    }

    /// The cells: their column, contents (none for a second half) and style.
    fn cells(&self) -> impl Iterator<Item = (u16, Option<&str>, Style)> {
        let styles = self
            .styles
            .iter()
            .flat_map(|(count, style)| std::iter::repeat_n(*style, usize::from(*count)));
        let mut at = 0;
        (0u16..)
            .zip(&self.lengths)
            .zip(styles)
            .map_while(move |((col, length), style)| {
                if *length == CONTINUES {
                    return Some((col, None, style));
                }
                let text = self.text.get(at..at + usize::from(*length))?;
                at += usize::from(*length);
                Some((col, Some(text), style))
            })
    }

    /// Column, contents and style of the character in the last column, when there is one.
    fn last(&self, cols: u16) -> Option<(u16, &str, Style)> {
        let wide = self.lengths.last() == Some(&CONTINUES);
        let wanted = cols - 1 - u16::from(wide);
        let (col, text, style) = self.cells().find(|(col, ..)| *col == wanted)?;
        text.filter(|text| !text.is_empty())
            .map(|text| (col, text, style))
    }

    /// Draws the cells of a blank row, the cursor at its start.
    fn draw(&self, out: &mut Vec<u8>) {
        let mut pen = Style::default();
        let mut next = 0;
        for (col, text, style) in self.cells() {
            let Some(text) = text else {
                next += 1;
                continue;
            };
            if text.is_empty() && style == Style::default() {
                continue;
            }
            if next != col {
                put(out, format_args!("\x1b[{}G", col + 1));
                next = col;
            }
            if style != pen {
                sgr::write(&style, out);
                pen = style;
            }
            if text.is_empty() {
                out.extend_from_slice(b"\x1b[X");
            } else {
                out.extend_from_slice(text.as_bytes());
                next = col + 1;
            }
        }
    }
}

fn switch(on: bool) -> char {
    if on { 'h' } else { 'l' }
}

fn place(row: u16, col: u16, out: &mut Vec<u8>) {
    put(out, format_args!("\x1b[{}d\x1b[{}G", row + 1, col + 1));
}

fn put(out: &mut Vec<u8>, sequence: std::fmt::Arguments<'_>) {
    out.write_fmt(sequence)
        .expect("memory takes what is written");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parser(rows: u16, cols: u16) -> vt100::Parser {
        let side = |n| NonZeroU16::new(n).expect("not zero");
        vt100::Parser::new(side(rows), side(cols), 0)
    }

    /// All of a screen as the crate itself shows it to a debugger, without what cells held before, and without what is
    /// never asked for.
    fn all(screen: &vt100::Screen) -> String {
        let shown = format!("{screen:?}");
        let mut out = String::new();
        for part in shown.split("Cell { contents: [") {
            let Some((bytes, rest)) = part.split_once("], len: ") else {
                out.push_str(part);
                continue;
            };
            let len: usize = rest
                .split(',')
                .next()
                .and_then(|len| len.parse::<usize>().ok())
                .unwrap_or(0)
                & 0x1f;
            let held: Vec<&str> = bytes.split(", ").take(len).collect();
            out.push_str(&held.join(" "));
            out.push('|');
            out.push_str(rest);
        }
        let cut = |text: String, from: &str, to: &str| match text.split_once(from) {
            Some((head, tail)) => {
                let rest = tail.split_once(to).map_or("", |(_, rest)| rest);
                format!("{head}{rest}")
            }
            None => text,
        };
        let out = cut(out, "last_char: ", "}");
        cut(out, "unbounded_len: ", "}")
    }

    fn parts() -> impl Strategy<Value = Vec<u8>> {
        let fixed: Vec<&'static [u8]> = vec![
            b"text ",
            b"\r\n",
            b"\n",
            b"\r",
            b"\x08",
            b"\x1bM",
            b"\x1b7",
            b"\x1b8",
            b"\x1b[K",
            b"\x1b[1K",
            b"\x1b[2K",
            b"\x1b[J",
            b"\x1b[1J",
            b"\x1b[2J",
            b"\x1b[?6h",
            b"\x1b[?6l",
            b"\x1b[?25l",
            b"\x1b[?25h",
            b"\x1b[?47h",
            b"\x1b[?47l",
            b"\x1b[?1049h",
            b"\x1b[?1049l",
            b"\x1b[m",
            b"\x1b[1;31m",
            b"\x1b[2;48;5;9m",
            b"\x1b[7;38;2;1;2;3m",
            b"\x1b[3;4m",
            b"\x1b[4 q",
            b"\x1b[0 q",
            b"\x1b[r",
            b"\x1b[2;4r",
            b"\x1b[3;9r",
            b"\x1b[L",
            b"\x1b[2M",
            b"\x1b[P",
            b"\x1b[3@",
            b"\x1b[2X",
            b"\x1b[S",
            b"\x1b[T",
            "世界".as_bytes(),
            "e\u{301}".as_bytes(),
            "\u{2764}\u{fe0f}".as_bytes(),
            "\u{200d}".as_bytes(),
            b"a line that is long enough to be wrapped on any of the screens there are here",
        ];
        let moves =
            (1u16..12, 1u16..30).prop_map(|(row, col)| format!("\x1b[{row};{col}H").into_bytes());
        let columns = (1u16..30).prop_map(|col| format!("\x1b[{col}G").into_bytes());
        let rows = (1u16..12).prop_map(|row| format!("\x1b[{row}d").into_bytes());
        prop::collection::vec(
            prop_oneof![6 => prop::sample::select(fixed).prop_map(<[u8]>::to_vec), 2 => moves, 1 => columns, 1 => rows],
            0..60,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]
        #[test]
        fn a_screen_is_drawn_again_to_its_last_bit(
            rows in 1u16..10,
            cols in 2u16..24,
            bytes in parts(),
            more in parts(),
        ) {
            guard::install();
            let mut live = parser(rows, cols);
            prop_assume!(guard::call(|| live.process(&bytes)).is_ok());
            if let Some(vt) = Vt::read(live.screen()) {
                prop_assert!(vt.is_sound());
                let mut again = parser(rows, cols);
                prop_assert!(vt.draw(&mut again).is_some());
                if Vt::read(again.screen()).as_ref() == Some(&vt) {
                    // An alternate screen that was never shown has no rows, and one that was has blank ones.
                    for parser in [&mut live, &mut again] {
                        let bytes: &[u8] = match vt.alternate {
                            true => b"\x1b[?47l\x1b[?47h",
                            false => b"\x1b[?47h\x1b[?47l",
                        };
                        parser.process(bytes);
                    }
                    prop_assert_eq!(all(again.screen()), all(live.screen()));
                    // And goes on alike.
                    let went = guard::call(|| live.process(&more));
                    prop_assert_eq!(guard::call(|| again.process(&more)), went);
                    prop_assert_eq!(all(again.screen()), all(live.screen()));
                }
            }
        }
    }

    #[test]
    fn the_usual_screens_can_be_drawn_again() {
        for bytes in [
            "a\r\n\x1b[31mb\x1b[m\r\n世 e\u{301}",
            "\x1b[?1049h\x1b[2;4r\x1b[H\x1b[48;5;9m\x1b[2J\x1b[7mx\x1b[K",
            "a line that is long enough to be wrapped on any of the screens there are",
            "\x1b[5;5H\x1b7\x1b[1;1Hfull width full wid",
        ] {
            let mut live = parser(6, 19);
            live.process(bytes.as_bytes());
            let vt = Vt::read(live.screen()).expect("read");
            let mut again = parser(6, 19);
            vt.draw(&mut again).expect("drawn");
            assert_eq!(Vt::read(again.screen()), Some(vt), "{bytes:?}");
        }
    }
}
