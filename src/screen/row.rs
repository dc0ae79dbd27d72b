//! One row as it is kept: text, runs of style, whether it runs on in the next row. And how rows are read off the
//! emulator: it writes each cell of a row into a `fmt::Write` of ours, which costs a tenth of asking cell by cell.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use vt100::capture::{BasicFormattedCaptureRange, BasicFormattedCaptureState, RowContents};

use super::Cell as Shown;
use super::extra::{self, Extra, Extras};
use super::line::{Color, Line, Run, Style};
use super::overhang::{self, Overhangs};

/// Stands in the last column when a wide character did not fit there and wrapped, so that the emulator marks the row
/// as wrapped. It is no text. A private-use character of one column; the child cannot print it (`Terminal::put`).
pub(super) const FILLER: char = '\u{10fffd}';

/// Stands for U+FFFD, which the emulator does not print. As private as the above.
pub(super) const REPLACEMENT: char = '\u{10fffc}';

/// Whether a character is part of a mark of ours on a cell, and no text.
pub(super) fn is_mark(c: char) -> bool {
    overhang::is_mark(c) || extra::is_mark(c)
}

/// What marks on cells lead to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks<'a> {
    /// What hangs on rows.
    pub overhangs: &'a Overhangs,
    /// How cells look beyond their style.
    pub extras: &'a Extras,
}

impl Marks<'_> {
    fn is_empty(self) -> bool {
        self.overhangs.is_empty() && self.extras.is_empty()
    }
}

/// One row of the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Row {
    /// Text up to the last cell that is not a plain blank.
    pub text: Box<str>,
    /// Runs of style; none when all of it is plain.
    pub runs: Box<[(u32, Style)]>,
    /// Runs of what is no style; none when there is nothing of the kind.
    pub extras: Box<[(u32, Extra)]>,
    /// The terminal went on in the next row by itself.
    pub wrapped: bool,
    /// Width of the terminal.
    pub cols: u16,
}

impl Row {
    /// Makes a row of text and runs.
    pub(super) fn new(text: &str, runs: &[(u32, Style)], wrapped: bool, cols: u16) -> Self {
        let plain = runs.iter().all(|(_, style)| *style == Style::default());
        Self {
            text: text.into(),
            runs: if plain { Box::default() } else { runs.into() },
            extras: Box::default(),
            wrapped,
            cols,
        }
    }

    /// Whether nothing stands in the row.
    pub(super) fn is_blank(&self) -> bool {
        self.text.bytes().all(|b| b == b' ')
    }
}

/// Joins rows to logical lines.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    lines: Vec<Line>,
    open: bool,
}

impl Joiner {
    /// Adds the next row.
    pub(super) fn push(&mut self, row: &Row) {
        if !self.open || self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        let base = line.text.len();
        line.text.push_str(&row.text);
        line.rows = line.rows.saturating_add(1);
        line.cols = row.cols;
        if row.runs.is_empty() {
            if !row.text.is_empty() {
                push_run(&mut line.runs, base, Style::default());
            }
        } else {
            for (start, style) in &row.runs {
                push_run(&mut line.runs, base + *start as usize, *style);
            }
        }
        self.open = row.wrapped;
        if !self.open {
            trim(line);
        }
    }

    /// Gives the lines.
    pub(super) fn finish(mut self) -> Vec<Line> {
        if self.open
            && let Some(line) = self.lines.last_mut()
        {
            trim(line);
        }
        self.lines
    }
}

fn trim(line: &mut Line) {
    let end = line.text.trim_end_matches(' ').len();
    line.text.truncate(end);
    while line.runs.last().is_some_and(|run| run.start >= end) {
        line.runs.pop();
    }
}

fn push_run(runs: &mut Vec<Run>, start: usize, style: Style) {
    if runs.last().is_none_or(|last| last.style != style) {
        runs.push(Run { start, style });
    }
}

/// Takes a row the emulator lets go of.
#[derive(Debug, Default)]
pub(super) struct RowReader {
    cells: Cells,
}

impl RowReader {
    /// Reads one row. `soft`: the caller knows that the row leaves because its text ran on.
    pub(super) fn read(
        &mut self,
        contents: &RowContents<'_>,
        marks: Marks<'_>,
        cols: u16,
        soft: bool,
    ) -> Row {
        let mut state = BasicFormattedCaptureState::new();
        self.cells.style = Style::default();
        self.cells.marks = !marks.is_empty();
        contents
            .write_formatted_basic(&mut self.cells, &mut state)
            .expect("reading a row refuses nothing");
        let wrapped = self.cells.col >= cols && (soft || is_wrapped(contents, &mut state));
        self.cells.take(wrapped, cols, marks)
    }
}

/// Whether the row just written through `state` is wrapped. The emulator does not say so, but it begins the next
/// row with a line feed when it is not.
fn is_wrapped(contents: &RowContents<'_>, state: &mut BasicFormattedCaptureState) -> bool {
    struct First(Option<char>);
    impl fmt::Write for First {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = text.chars().next();
            Err(fmt::Error)
        }
    }
    let mut first = First(None);
    // The refusal is what keeps the row from being written once more.
    let _ = contents.write_formatted_basic(&mut first, state);
    first.0 != Some('\n')
}

/// Reads all rows of a screen.
pub(super) fn read_screen(screen: &vt100::Screen, marks: Marks<'_>) -> Vec<Row> {
    let (rows, cols) = screen.size();
    let mut reader = ScreenReader {
        cells: Cells {
            marks: !marks.is_empty(),
            ..Cells::default()
        },
        marks,
        wrapped: (0..rows.get()).map(|row| screen.row_wrapped(row)).collect(),
        rows: Vec::with_capacity(usize::from(rows.get())),
        cols: cols.get(),
    };
    screen
        .write_contents_formatted_basic(&mut reader, BasicFormattedCaptureRange::Visible)
        .expect("reading a screen refuses nothing");
    reader.finish(usize::from(rows.get()))
}

struct ScreenReader<'a> {
    cells: Cells,
    marks: Marks<'a>,
    wrapped: Vec<bool>,
    rows: Vec<Row>,
    cols: u16,
}

impl ScreenReader<'_> {
    /// Ends the row that is being read.
    fn end_row(&mut self) {
        let wrapped = self.is_wrapped();
        let row = self.cells.take(wrapped, self.cols, self.marks);
        self.rows.push(row);
    }

    fn is_wrapped(&self) -> bool {
        self.wrapped.get(self.rows.len()).copied().unwrap_or(false)
    }

    fn finish(mut self, rows: usize) -> Vec<Row> {
        while self.rows.len() < rows {
            self.end_row();
        }
        self.rows
    }
}

impl fmt::Write for ScreenReader<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.cells.col >= self.cols && !self.cells.escaped && !text.starts_with('\x1b') {
            self.end_row();
        }
        self.cells.write_str(text)
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        if c == '\n' {
            // A wrapped row is not followed by a line feed: this one belongs to a blank row after it.
            while self.is_wrapped() {
                self.end_row();
            }
            self.end_row();
            return Ok(());
        }
        if self.cells.col >= self.cols && !self.cells.escaped {
            self.end_row();
        }
        self.cells.write_char(c)
    }
}

/// Collects the cells of one row.
#[derive(Debug, Default)]
struct Cells {
    text: String,
    runs: Vec<(u32, Style)>,
    style: Style,
    /// The run of this style has begun.
    begun: bool,
    /// Columns passed.
    col: u16,
    /// Inside a style sequence, which comes in bits.
    escaped: bool,
    codes: Vec<u16>,
    /// Marks are looked for.
    marks: bool,
    /// Contents of the cell that something hangs on, and the end of the text there.
    hung: Option<(Box<str>, usize)>,
    /// Contents of the cells that look like more than their style, and where their text is.
    looks: Vec<(Box<str>, Range<usize>)>,
}

impl Cells {
    fn take(&mut self, mut wrapped: bool, cols: u16, marks: Marks<'_>) -> Row {
        let mut own = self.text.len();
        if let Some((contents, end)) = self.hung.take()
            && let Some(overhang) = marks.overhangs.of(&contents)
            && self.text[end..].trim_matches(' ').is_empty()
        {
            self.text.truncate(end);
            own = end;
            self.runs.retain(|(start, _)| (*start as usize) < end);
            overhang::append(&mut self.text, &mut self.runs, &overhang.cells);
            wrapped |= overhang.wrapped;
        }
        let mut row = Row::new(&self.text, &self.runs, wrapped, cols);
        if !self.looks.is_empty() {
            row.extras = self.extras(own, marks.extras);
        }
        self.text.clear();
        self.runs.clear();
        self.col = 0;
        self.begun = false;
        row
    }

    /// The runs of what is no style in the first `own` bytes of the text.
    fn extras(&mut self, own: usize, extras: &Extras) -> Box<[(u32, Extra)]> {
        let mut runs: Vec<(u32, Extra)> = Vec::new();
        let mut begin = |start: usize, extra: Extra| {
            let start = u32::try_from(start).unwrap_or(u32::MAX);
            if runs.last().is_some_and(|(last, _)| *last == start) {
                runs.pop();
            }
            if runs.last().map_or(Extra::default(), |(_, last)| *last) != extra {
                runs.push((start, extra));
            }
        };
        for (contents, place) in self.looks.drain(..) {
            begin(place.start.min(own), extras.of(&contents));
            begin(place.end.min(own), Extra::default());
        }
        runs.into()
    }

    fn cell(&mut self, contents: &str) {
        if let [byte] = contents.as_bytes() {
            self.col += 1;
            self.begin_run();
            self.text.push(char::from(*byte));
            return;
        }
        self.col += width(contents);
        if self.marks && contents.contains(is_mark) {
            let start = self.text.len();
            if !contents.starts_with(FILLER) {
                push(&mut self.text, &mut self.runs, contents, self.style);
            }
            if contents.contains(extra::is_mark) {
                self.looks.push((contents.into(), start..self.text.len()));
            }
            if contents.contains(overhang::is_mark) {
                self.hung = Some((contents.into(), self.text.len()));
            }
        } else if !contents.starts_with(FILLER) {
            push(&mut self.text, &mut self.runs, contents, self.style);
        }
    }

    /// Begins a run when the style is another one.
    fn begin_run(&mut self) {
        if !std::mem::replace(&mut self.begun, true)
            && self.runs.last().is_none_or(|(_, last)| *last != self.style)
        {
            let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            self.runs.push((start, self.style));
        }
    }

    fn code(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\x1b' => {
                    self.escaped = true;
                    self.codes.clear();
                    self.codes.push(0);
                }
                b'0'..=b'9' => {
                    if let Some(code) = self.codes.last_mut() {
                        *code = code.wrapping_mul(10).wrapping_add(u16::from(byte - b'0'));
                    }
                }
                b';' => self.codes.push(0),
                b'm' => {
                    self.escaped = false;
                    self.begun = false;
                    apply(&mut self.style, &self.codes);
                }
                _ => {}
            }
        }
    }
}

impl fmt::Write for Cells {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.escaped || text.starts_with('\x1b') {
            self.code(text.as_bytes());
        } else {
            self.cell(text);
        }
        Ok(())
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        if self.escaped {
            self.code(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            self.cell(c.encode_utf8(&mut [0; 4]));
        }
        Ok(())
    }
}

/// Appends the contents of a cell.
pub(super) fn push(text: &mut String, runs: &mut Vec<(u32, Style)>, contents: &str, style: Style) {
    if runs.last().is_none_or(|(_, last)| *last != style) {
        let start = u32::try_from(text.len()).unwrap_or(u32::MAX);
        runs.push((start, style));
    }
    if contents.is_empty() {
        text.push(' ');
    } else if contents.len() > 4
        && (contents.contains(is_mark) || contents.starts_with(REPLACEMENT))
    {
        let shown = contents.chars().filter(|c| !is_mark(*c));
        text.extend(shown.map(|c| if c == REPLACEMENT { '\u{fffd}' } else { c }));
    } else if contents.starts_with(REPLACEMENT) {
        text.push('\u{fffd}');
    } else {
        text.push_str(contents);
    }
}

/// A cell as it is drawn.
pub(super) fn cell<'a>(cell: &'a vt100::Cell, col: u16, extras: &Extras) -> Shown<'a> {
    let contents = cell.contents();
    let text = match contents {
        "" => " ",
        text if text.starts_with(FILLER) => " ",
        text if text.starts_with(REPLACEMENT) => "\u{fffd}",
        text if text.len() <= 4 => text,
        text => text.trim_end_matches(is_mark),
    };
    Shown {
        col,
        width: if cell.is_wide() { 2 } else { 1 },
        text,
        style: style(cell),
        extra: if text.len() == contents.len() {
            Extra::default()
        } else {
            extras.of(contents)
        },
    }
}

/// The cells of a row that is no more on the screen.
pub(super) fn cells(row: &Row) -> impl Iterator<Item = Shown<'_>> {
    let mut rest = &*row.text;
    let (mut at, mut col) = (0, 0);
    let (mut runs, mut extras) = (Place::new(&row.runs), Place::new(&row.extras));
    std::iter::from_fn(move || {
        let text = first_cell(rest)?;
        let cell = Shown {
            col,
            width: width(text),
            text,
            style: runs.at(at),
            extra: extras.at(at),
        };
        rest = &rest[text.len()..];
        at += text.len();
        col = col.saturating_add(cell.width);
        Some(cell)
    })
}

/// The cells a text takes in a row, as the emulator counts them: where each begins, its text, and its columns.
pub fn columns(text: &str) -> impl Iterator<Item = (usize, &str, u16)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let cell = first_cell(&text[at..])?;
        let from = at;
        at += cell.len();
        Some((from, cell, width(cell)))
    })
}

/// The first character of a text with what joins it.
fn first_cell(text: &str) -> Option<&str> {
    if let [_, 0x20..=0x7e, ..] | [_] = text.as_bytes() {
        return Some(&text[..1]);
    }
    let mut chars = text.char_indices();
    chars.next()?;
    let end = chars.find(|(_, c)| c.width() != Some(0));
    Some(&text[..end.map_or(text.len(), |(at, _)| at)])
}

/// A place in runs that only goes on.
struct Place<'a, T> {
    runs: &'a [(u32, T)],
}

impl<'a, T: Copy + Default> Place<'a, T> {
    fn new(runs: &'a [(u32, T)]) -> Self {
        Self { runs }
    }

    /// What holds at byte `at`.
    fn at(&mut self, at: usize) -> T {
        while let [_, next, ..] = self.runs
            && next.0 as usize <= at
        {
            self.runs = &self.runs[1..];
        }
        match self.runs {
            [(start, value), ..] if *start as usize <= at => *value,
            _ => T::default(),
        }
    }
}

/// The style of a cell.
pub(super) fn style(cell: &vt100::Cell) -> Style {
    Style {
        fg: color(cell.fgcolor()),
        bg: color(cell.bgcolor()),
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
        inverse: cell.inverse(),
    }
}

/// The style new text gets.
pub(super) fn pen(screen: &vt100::Screen) -> Style {
    Style {
        fg: color(screen.fgcolor()),
        bg: color(screen.bgcolor()),
        bold: screen.bold(),
        dim: screen.dim(),
        italic: screen.italic(),
        underline: screen.underline(),
        inverse: screen.inverse(),
    }
}

fn color(color: vt100::Color) -> Color {
    match color {
        vt100::Color::Default => Color::Default,
        vt100::Color::Idx(i) => Color::Idx(i),
        vt100::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
    }
}

/// Columns of a cell's contents, counted as the emulator counts them.
fn width(contents: &str) -> u16 {
    if contents.len() == 1 {
        return 1;
    }
    let wide = match contents.rfind('\u{fe0f}') {
        Some(at) => contents[..at + '\u{fe0f}'.len_utf8()].width() > 1,
        None => contents
            .chars()
            .next()
            .is_some_and(|c| c.width().unwrap_or(1) > 1),
    };
    if wide { 2 } else { 1 }
}

/// Applies the codes the emulator writes for a change of style.
pub(super) fn apply(style: &mut Style, codes: &[u16]) {
    let mut codes = codes.iter().copied();
    let byte = |code: u16| u8::try_from(code).unwrap_or(u8::MAX);
    while let Some(code) = codes.next() {
        match code {
            0 => *style = Style::default(),
            1 => (style.bold, style.dim) = (true, false),
            2 => (style.bold, style.dim) = (false, true),
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.inverse = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underline = false,
            27 => style.inverse = false,
            30..=37 => style.fg = Color::Idx(byte(code - 30)),
            40..=47 => style.bg = Color::Idx(byte(code - 40)),
            90..=97 => style.fg = Color::Idx(byte(code - 82)),
            100..=107 => style.bg = Color::Idx(byte(code - 92)),
            39 => style.fg = Color::Default,
            49 => style.bg = Color::Default,
            38 | 48 => {
                let mut next = || byte(codes.next().unwrap_or(0));
                let color = match next() {
                    5 => Color::Idx(next()),
                    2 => Color::Rgb(next(), next(), next()),
                    _ => continue,
                };
                if code == 38 {
                    style.fg = color;
                } else {
                    style.bg = color;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(rows: u16, cols: u16, bytes: &[u8]) -> vt100::Screen {
        let side = |n| std::num::NonZeroU16::new(n).expect("a test gives sizes");
        let mut parser = vt100::Parser::new(side(rows), side(cols), 0);
        parser.process(bytes);
        parser.screen().clone()
    }

    fn read(screen: &vt100::Screen) -> Vec<Row> {
        let (overhangs, extras) = (Overhangs::default(), Extras::default());
        read_screen(
            screen,
            Marks {
                overhangs: &overhangs,
                extras: &extras,
            },
        )
    }

    fn texts(screen: &vt100::Screen) -> Vec<(String, bool)> {
        read(screen)
            .into_iter()
            .map(|row| (row.text.into_string(), row.wrapped))
            .collect()
    }

    #[test]
    fn rows_are_read_with_their_wraps() {
        let screen = screen(4, 4, b"abcdef\r\n\r\nx");
        assert_eq!(
            texts(&screen),
            [
                ("abcd".to_owned(), true),
                ("ef".to_owned(), false),
                (String::new(), false),
                ("x".to_owned(), false),
            ]
        );
    }

    #[test]
    fn a_blank_row_after_a_wrapped_one_stays_a_row() {
        let screen = screen(4, 4, b"abcdef\x1b[2K\r\nnext");
        assert_eq!(
            texts(&screen),
            [
                ("abcd".to_owned(), true),
                (String::new(), false),
                ("next".to_owned(), false),
                (String::new(), false),
            ]
        );
    }

    #[test]
    fn styles_become_runs() {
        let screen = screen(
            1,
            20,
            b"a\x1b[1;38;2;1;2;3mb\x1b[48;5;200mc\x1b[md\x1b[95mz",
        );
        let bold = Style {
            fg: Color::Rgb(1, 2, 3),
            bold: true,
            ..Style::default()
        };
        assert_eq!(
            *read(&screen)[0].runs,
            [
                (0, Style::default()),
                (1, bold),
                (
                    2,
                    Style {
                        bg: Color::Idx(200),
                        ..bold
                    }
                ),
                (3, Style::default()),
                (
                    4,
                    Style {
                        fg: Color::Idx(13),
                        ..Style::default()
                    }
                ),
            ]
        );
    }

    #[test]
    fn wide_cells_count_twice() {
        let screen = screen(2, 4, "世界x".as_bytes());
        assert_eq!(
            texts(&screen),
            [("世界".to_owned(), true), ("x".to_owned(), false)]
        );
    }
}
