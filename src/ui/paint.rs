//! The painter: a frame's cells → the bytes that bring the outer terminal from the last frame to this one.
//!
//! Only what says so is looked at, only cells that differ are written, and nothing is when nothing does. What is
//! written is printable characters of cells and sequences of our own; nothing a child printed gets by.

use std::io::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

use super::cluster;
use super::pen::Pen;
use crate::app::Abilities;

/// Stands in the copy of what is drawn for a cell of which nothing is known.
const UNKNOWN: &str = "\u{0}";

/// The cursor as it is to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caret {
    /// Column.
    pub col: u16,
    /// Row.
    pub row: u16,
    /// Shape, as DECSCUSR numbers it; 0 is the terminal's own.
    pub shape: u8,
}

/// What a cell of ratatui's does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extra {
    /// The kind of underline, as `SGR 4:n` numbers it; 0 and 1 are the ordinary one.
    pub underline: u8,
    /// A line above.
    pub overline: bool,
    /// A link of the frame's; 0 is none.
    pub link: u16,
}

/// Links kept by number; past that all are forgotten and drawn anew.
const LINKS: usize = 2000;

/// The cells of a frame, and the parts of rows that were drawn anew.
#[derive(Debug)]
pub struct Frame {
    /// The cells. The one behind a wide character belongs to it.
    pub buffer: Buffer,
    extras: Vec<Extra>,
    links: Vec<String>,
    /// Links were forgotten: a number that is drawn may be another one's now.
    is_relinked: bool,
    /// Of each row, the columns that may look different: from the first to before the second.
    dirty: Vec<(u16, u16)>,
}

impl Frame {
    fn new(cols: u16, rows: u16) -> Self {
        Self {
            buffer: Buffer::empty(Rect::new(0, 0, cols, rows)),
            extras: vec![Extra::default(); usize::from(cols) * usize::from(rows)],
            links: Vec::new(),
            is_relinked: false,
            dirty: vec![(0, cols); usize::from(rows)],
        }
    }

    /// The number of a link, which is `id;uri` as OSC 8 has it: printable ASCII, or there is none.
    pub fn link(&mut self, link: &str) -> u16 {
        if !link.bytes().all(|byte| byte.is_ascii_graphic()) {
            return 0;
        }
        let at = self.links.iter().rposition(|known| known == link);
        let at = at.unwrap_or_else(|| {
            if self.links.len() >= LINKS {
                // Cells that stand keep their numbers and would lead elsewhere.
                self.links.clear();
                self.is_relinked = true;
                self.extras.iter_mut().for_each(|extra| extra.link = 0);
                self.touch_all();
            }
            self.links.push(link.to_owned());
            self.links.len() - 1
        });
        u16::try_from(at + 1).unwrap_or(0)
    }

    /// Says that some columns of a row were drawn anew.
    pub fn touch(&mut self, row: u16, from: u16, cols: u16) {
        let to = from.saturating_add(cols).min(self.buffer.area.width);
        if let Some(dirty) = self.dirty.get_mut(usize::from(row))
            && from < to
        {
            *dirty = match *dirty {
                (first, last) if first < last => (first.min(from), last.max(to)),
                _ => (from, to),
            };
        }
    }

    /// Says that all of it was.
    pub fn touch_all(&mut self) {
        let cols = self.buffer.area.width;
        self.dirty.fill((0, cols));
    }

    /// The cells of a row from one column on, to be drawn, and what belongs to them beside. They count as plain.
    pub fn row_mut(&mut self, row: u16, from: u16, cols: u16) -> (&mut [Cell], &mut [Extra]) {
        self.touch(row, from, cols);
        let (cells, extras) = self.cells_mut(row, from, cols);
        extras.fill(Extra::default());
        (cells, extras)
    }

    /// The same as they are. Whoever changes one says so.
    pub fn cells_mut(&mut self, row: u16, from: u16, cols: u16) -> (&mut [Cell], &mut [Extra]) {
        let width = self.buffer.area.width;
        let (from, to) = (from.min(width), from.saturating_add(cols).min(width));
        let begin = usize::from(row) * usize::from(width);
        let range = begin + usize::from(from)..begin + usize::from(to);
        let content = &mut self.buffer.content;
        let cells = content.get_mut(range.clone()).unwrap_or_default();
        let extras = self.extras.get_mut(range).unwrap_or_default();
        (cells, extras)
    }

    /// Gives a cell a link.
    pub fn set_link(&mut self, row: u16, col: u16, link: u16) {
        let at = usize::from(row) * usize::from(self.buffer.area.width) + usize::from(col);
        if let Some(extra) = self.extras.get_mut(at) {
            extra.link = link;
        }
    }

    /// The rectangle of all of it.
    pub fn area(&self) -> Rect {
        self.buffer.area
    }
}

/// The room a cell's text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// It needs one column.
    One,
    /// It needs two and has them.
    Two,
    /// It needs two, and something else stands in the second, or the row is at its end: a blank is drawn.
    Cut,
}

impl Room {
    fn of(cell: &Cell, next: Option<&Cell>) -> Self {
        match cluster::width(cell.symbol()) {
            2 if next.is_some_and(|next| next.symbol().is_empty()) => Self::Two,
            2 => Self::Cut,
            _ => Self::One,
        }
    }
}

/// Paints one terminal.
#[derive(Debug)]
pub struct Painter {
    abilities: Abilities,
    frame: Frame,
    drawn: Buffer,
    drawn_extras: Vec<Extra>,
    /// The link that is open.
    link: u16,
    /// Nothing is known of what the terminal shows.
    is_new: bool,
    pen: Pen,
    /// Where the terminal's cursor is, when that is known.
    at: Option<(u16, u16)>,
    caret: Option<Caret>,
    /// The cursor's shape, when that is known.
    shape: Option<u8>,
    /// Whether the cursor is hidden, when that is known.
    is_hidden: Option<bool>,
}

impl Painter {
    /// A painter of a terminal of this size, of which nothing is known.
    pub fn new(cols: u16, rows: u16, abilities: Abilities) -> Self {
        Self {
            abilities,
            frame: Frame::new(cols, rows),
            drawn: Buffer::empty(Rect::new(0, 0, cols, rows)),
            drawn_extras: vec![Extra::default(); usize::from(cols) * usize::from(rows)],
            link: 0,
            is_new: true,
            pen: Pen::PLAIN,
            at: None,
            caret: None,
            shape: None,
            is_hidden: None,
        }
    }

    /// What the terminal can do.
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Takes in what the terminal can do.
    pub fn set_abilities(&mut self, abilities: Abilities) {
        if self.abilities != abilities {
            self.abilities = abilities;
            self.forget();
        }
    }

    /// Takes in another size; all is drawn anew.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        let area = Rect::new(0, 0, cols, rows);
        if self.frame.area() != area {
            self.frame = Frame::new(cols, rows);
            self.drawn = Buffer::empty(area);
            self.drawn_extras.clear();
            self.drawn_extras
                .resize(self.frame.extras.len(), Extra::default());
            self.forget();
        }
    }

    /// Forgets what the terminal shows: all is drawn anew.
    pub fn forget(&mut self) {
        self.is_new = true;
        self.drawn.reset();
        self.drawn_extras.fill(Extra::default());
        self.link = 0;
        self.frame.touch_all();
        self.pen = Pen::PLAIN;
        self.at = None;
        self.caret = None;
        self.shape = None;
        self.is_hidden = None;
    }

    /// The frame to draw in; what is not drawn anew stays.
    pub fn frame(&mut self) -> &mut Frame {
        &mut self.frame
    }

    /// Appends the bytes that show the frame, the cursor standing there, or hidden.
    pub fn paint(&mut self, caret: Option<Caret>, out: &mut Vec<u8>) {
        let begin = out.len();
        let mut rows = 0;
        if self.is_new {
            self.is_new = false;
            out.extend_from_slice(b"\x1b[0m\x1b[2J");
            rows = 2;
        }
        if std::mem::take(&mut self.frame.is_relinked) {
            let linked = self.drawn_extras.iter_mut().filter(|extra| extra.link > 0);
            linked.for_each(|extra| extra.link = u16::MAX);
        }
        for row in 0..self.frame.area().height {
            let (from, to) = std::mem::take(&mut self.frame.dirty[usize::from(row)]);
            if from < to {
                let before = out.len();
                self.paint_row(row, (usize::from(from), usize::from(to)), out);
                rows += usize::from(out.len() > before);
            }
        }
        let is_drawn = out.len() > begin;
        if is_drawn {
            self.restyle(Pen::PLAIN, out);
            self.relink(0, out);
        }
        self.place(caret, is_drawn, out);
        if is_drawn && rows > 1 {
            // The cursor is not seen wandering over what is drawn.
            let (open, close): (&[u8], &[u8]) = match self.abilities.sync {
                true => (b"\x1b[?2026h", b"\x1b[?2026l"),
                false => (
                    b"\x1b[?25l",
                    if caret.is_some() { b"\x1b[?25h" } else { b"" },
                ),
            };
            out.splice(begin..begin, open.iter().copied());
            out.extend_from_slice(close);
        }
    }

    fn paint_row(&mut self, row: u16, (first, end): (usize, usize), out: &mut Vec<u8>) {
        let cols = usize::from(self.frame.area().width);
        let from = usize::from(row) * cols;
        // Where a character may reach into the next cell, or a terminal may count columns its own way, the whole row is
        // looked at.
        let is_plain = |cells: &[Cell]| {
            let mut symbols = cells.iter().map(Cell::symbol);
            symbols.all(cluster::is_narrow)
        };
        let row_of = from..from + cols;
        let (mut col, end) = match is_plain(&self.frame.buffer.content[row_of.clone()])
            && is_plain(&self.drawn.content[row_of])
        {
            true => (first, end),
            false => (0, cols),
        };
        while col < end {
            let content = &self.frame.buffer.content;
            let next = (col + 1 < cols).then(|| &content[from + col + 1]);
            let room = Room::of(&content[from + col], next);
            let wide = room == Room::Two;
            if !self.is_drawn(from + col, room, next.is_none()) {
                let extra = self.frame.extras[from + col];
                let cell = content[from + col].clone();
                let last = if wide { col + 1 } else { col };
                let place = (u16::try_from(col).unwrap_or(u16::MAX), row);
                self.put(&cell, extra, room, place, out);
                self.drawn_extras[from + col] = extra;
                let reaches = |cell: &Cell| !cluster::is_sure(cell.symbol());
                let [old, new] = [&self.drawn.content[from + col], &cell].map(reaches);
                let is_half = cluster::width(self.drawn.content[from + last].symbol()) == 2;
                // Half of what was written over is left, or more was written over than the emulator counts.
                if is_half || old || new {
                    self.doubt(row, last + 1);
                }
                self.drawn.content[from + col] = cell;
                if wide {
                    let other = &mut self.drawn.content[from + col + 1];
                    other.reset();
                    other.set_symbol("");
                }
            }
            col += if wide { 2 } else { 1 };
        }
    }

    /// Whether the terminal shows a cell as it is in the frame.
    fn is_drawn(&self, at: usize, room: Room, is_last: bool) -> bool {
        let is_same = self.frame.buffer.content[at] == self.drawn.content[at]
            && self.frame.extras[at] == self.drawn_extras[at];
        // The other half of a wide character may have been written over, or what lay over it be gone.
        let has_half = || self.drawn.content[at + 1].symbol().is_empty();
        is_same && (room == Room::One || is_last || has_half() == (room == Room::Two))
    }

    fn put(
        &mut self,
        cell: &Cell,
        extra: Extra,
        room: Room,
        (col, row): (u16, u16),
        out: &mut Vec<u8>,
    ) {
        self.go(col, row, out);
        self.restyle(Pen::of(cell, extra), out);
        self.relink(extra.link, out);
        let symbol = cell.symbol();
        let (text, is_sure) = match room {
            Room::Cut => (" ".into(), true),
            Room::One | Room::Two => (
                cluster::written(symbol, self.abilities.utf8),
                cluster::is_sure(symbol),
            ),
        };
        let width: u16 = if room == Room::Two { 2 } else { 1 };
        if !is_sure {
            // A terminal that takes it for narrower leaves nothing of what was there.
            out.extend_from_slice(&b"  "[..usize::from(width)]);
            self.at = None;
            self.go(col, row, out);
        }
        out.extend_from_slice(text.as_bytes());
        // Terminals do not agree on where the last column ends, either.
        let next = col + width;
        self.at = (is_sure && next < self.frame.area().width).then_some((next, row));
    }

    /// Notes that nobody knows what the terminal shows from a cell on, as far as what was drawn there may reach.
    fn doubt(&mut self, row: u16, col: usize) {
        let cols = usize::from(self.frame.area().width);
        let begin = usize::from(row) * cols;
        let Some(cells) = self.drawn.content.get_mut(begin + col..begin + cols) else {
            return;
        };
        for cell in cells {
            let reaches = cluster::width(cell.symbol()) == 2 || !cluster::is_sure(cell.symbol());
            cell.set_symbol(UNKNOWN);
            if !reaches {
                break;
            }
        }
    }

    fn go(&mut self, col: u16, row: u16, out: &mut Vec<u8>) {
        match self.at {
            Some(at) if at == (col, row) => return,
            // Writing to a vector cannot fail.
            Some((at, same)) if same == row && col > at => {
                let _ = match col - at {
                    1 => write!(out, "\x1b[C"),
                    far => write!(out, "\x1b[{far}C"),
                };
            }
            _ => {
                let _ = write!(out, "\x1b[{};{}H", row + 1, col + 1);
            }
        }
        self.at = Some((col, row));
    }

    /// Opens a link, or closes the one that is open.
    fn relink(&mut self, link: u16, out: &mut Vec<u8>) {
        if self.link == link || !self.abilities.extras {
            return;
        }
        self.link = link;
        let known = usize::from(link)
            .checked_sub(1)
            .and_then(|at| self.frame.links.get(at));
        out.extend_from_slice(b"\x1b]8;");
        out.extend_from_slice(known.map_or(b";", |link| link.as_bytes()));
        out.extend_from_slice(b"\x1b\\");
    }

    fn restyle(&mut self, pen: Pen, out: &mut Vec<u8>) {
        if self.pen != pen {
            self.pen = pen;
            pen.write(self.abilities, out);
        }
    }

    fn place(&mut self, caret: Option<Caret>, is_drawn: bool, out: &mut Vec<u8>) {
        let Some(caret) = caret else {
            if self.is_hidden != Some(true) {
                self.is_hidden = Some(true);
                out.extend_from_slice(b"\x1b[?25l");
            }
            self.caret = None;
            return;
        };
        if is_drawn || self.caret != Some(caret) {
            self.go(caret.col, caret.row, out);
        }
        if self.shape != Some(caret.shape) {
            self.shape = Some(caret.shape);
            let _ = write!(out, "\x1b[{} q", caret.shape);
        }
        if self.is_hidden != Some(false) {
            self.is_hidden = Some(false);
            out.extend_from_slice(b"\x1b[?25h");
        }
        self.caret = Some(caret);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use ratatui::style::{Color, Modifier};

    use super::*;
    use crate::app::Depth;
    use crate::screen::{self, Screen, Size};

    const SIZE: (u16, u16) = (12, 5);

    /// A painter and a terminal that shows what it paints.
    struct Pair {
        painter: Painter,
        screen: Screen,
    }

    impl Pair {
        fn new(abilities: Abilities) -> Self {
            Self {
                painter: Painter::new(SIZE.0, SIZE.1, abilities),
                screen: Screen::new(Size::new(SIZE.0, SIZE.1), 0),
            }
        }

        fn show(&mut self, caret: Option<Caret>) -> Vec<u8> {
            let mut out = Vec::new();
            self.painter.paint(caret, &mut out);
            self.screen.feed(&out, Duration::ZERO);
            out
        }

        /// Puts text into the cells of a row; blanks behind.
        fn write(&mut self, row: u16, symbols: &[&str]) {
            let (cells, _) = self.painter.frame().row_mut(row, 0, SIZE.0);
            cells.iter_mut().for_each(Cell::reset);
            for (cell, symbol) in cells.iter_mut().zip(symbols) {
                cell.set_symbol(symbol);
            }
        }

        /// Text and style of each cell as the terminal shows it, and as the frame has it.
        fn pictures(&self) -> [Vec<String>; 2] {
            let shown = (0..SIZE.1).map(|row| {
                let cells = self.screen.row_cells(row);
                let text: String = cells
                    .map(|cell| format!("{}|{:?} ", cell.text, cell.style))
                    .collect();
                text
            });
            let frame = &self.painter.frame.buffer;
            let wished = (0..SIZE.1).map(|row| {
                let mut col = 0;
                let mut text = String::new();
                while col < SIZE.0 {
                    let cell = &frame[(col, row)];
                    let has_half = col + 1 < SIZE.0 && frame[(col + 1, row)].symbol().is_empty();
                    let is_wide = cluster::width(cell.symbol()) == 2;
                    let symbol = match cell.symbol() {
                        "" => " ",
                        _ if is_wide && !has_half => " ",
                        symbol => symbol,
                    };
                    text.push_str(&format!("{symbol}|{:?} ", style_of(cell)));
                    col += if is_wide && has_half { 2 } else { 1 };
                }
                text
            });
            [shown.collect(), wished.collect()]
        }
    }

    /// A terminal that counts columns its own way and knows of cursor moves alone.
    struct Other {
        width: fn(char) -> usize,
        /// The cells of the first row; nothing stands in the second half of a wide character.
        cells: Vec<String>,
        col: usize,
    }

    impl Other {
        fn new(width: fn(char) -> usize) -> Self {
            Self {
                width,
                cells: vec![" ".to_owned(); usize::from(SIZE.0)],
                col: 0,
            }
        }

        fn feed(&mut self, bytes: &[u8]) {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut chars = text.chars();
            while let Some(char) = chars.next() {
                if char == '\u{1b}' {
                    let mut sequence = String::new();
                    while !sequence.ends_with(|c: char| c.is_ascii_alphabetic()) {
                        sequence.extend(chars.next());
                    }
                    self.obey(sequence.trim_start_matches('['));
                } else {
                    self.print(char);
                }
            }
        }

        fn obey(&mut self, sequence: &str) {
            let (args, last) = sequence.split_at(sequence.len() - 1);
            let number = |at: usize| args.split(';').nth(at).and_then(|arg| arg.parse().ok());
            match last {
                "H" if number(0) == Some(1) => self.col = number(1).unwrap_or(1) - 1,
                // What stands in other rows is not looked at.
                "H" => self.col = usize::from(SIZE.0),
                "C" => self.col += number(0).unwrap_or(1),
                _ => {}
            }
        }

        fn print(&mut self, char: char) {
            let (col, width) = (self.col, (self.width)(char));
            if width == 0 || col + width > self.cells.len() {
                return;
            }
            for at in col..col + width {
                // Half of a wide character is a blank.
                if self.cells[at].is_empty() {
                    self.cells[at - 1] = " ".to_owned();
                }
                if self.cells.get(at + 1).is_some_and(String::is_empty) {
                    self.cells[at + 1] = " ".to_owned();
                }
                self.cells[at] = String::new();
            }
            self.cells[col] = char.to_string();
            self.col += width;
        }
    }

    fn style_of(cell: &Cell) -> screen::Style {
        let color = |color| match color {
            Color::Rgb(r, g, b) => screen::Color::Rgb(r, g, b),
            Color::Indexed(at) => screen::Color::Idx(at),
            _ => screen::Color::Default,
        };
        screen::Style {
            fg: color(cell.fg),
            bg: color(cell.bg),
            bold: cell.modifier.contains(Modifier::BOLD),
            underline: cell.modifier.contains(Modifier::UNDERLINED),
            inverse: cell.modifier.contains(Modifier::REVERSED),
            ..screen::Style::default()
        }
    }

    fn symbol() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            Just("a"),
            Just("é"),
            Just("世"),
            Just("─"),
            Just(" "),
            Just("❤\u{fe0f}"),
            Just("☺"),
            Just("👩\u{200d}"),
            Just("e\u{301}"),
        ]
    }

    fn color() -> impl Strategy<Value = Color> {
        prop_oneof![
            Just(Color::Reset),
            (16u8..=255).prop_map(Color::Indexed),
            (0u8..16).prop_map(Color::Indexed),
            any::<(u8, u8, u8)>().prop_map(|(r, g, b)| Color::Rgb(r, g, b)),
        ]
    }

    proptest! {
        #[test]
        fn the_terminal_shows_the_frame_however_it_came_to_it(
            changes in proptest::collection::vec(
                proptest::collection::vec(
                    (0..SIZE.0, 0..SIZE.1, symbol(), color(), color(), any::<bool>(), any::<bool>()), 0..20,
                ),
                1..6,
            ),
            sync: bool,
        ) {
            let mut pair = Pair::new(Abilities { sync, ..Abilities::default() });
            for change in changes {
                for (col, row, symbol, fg, bg, bold, reverse) in change {
                    let width = if cluster::width(symbol) == 2 { 2 } else { 1 };
                    let (cells, _) = pair.painter.frame().row_mut(row, col, width);
                    let cell = &mut cells[0];
                    cell.reset();
                    cell.set_symbol(symbol);
                    cell.fg = fg;
                    cell.bg = bg;
                    cell.modifier.set(Modifier::BOLD, bold);
                    cell.modifier.set(Modifier::REVERSED, reverse);
                    if let [_, half] = cells {
                        half.reset();
                        half.set_symbol("");
                    }
                }
                pair.show(None);
                let [shown, wished] = pair.pictures();
                prop_assert_eq!(shown, wished);
            }
        }
    }

    fn narrow(char: char) -> usize {
        match char {
            '\u{fe0f}' => 0,
            '世' => 2,
            _ => 1,
        }
    }

    fn wide(char: char) -> usize {
        if matches!(char, '☺' | '❤') {
            2
        } else {
            narrow(char)
        }
    }

    proptest! {
        #[test]
        fn what_terminals_agree_on_stands_in_its_place_on_each_of_them(
            frames in proptest::collection::vec(
                proptest::collection::vec(
                    proptest::sample::select(vec!["a", "b", "世", "☺", "❤\u{fe0f}", " "]),
                    usize::from(SIZE.0),
                ),
                1..6,
            ),
            is_wide: bool,
        ) {
            let mut pair = Pair::new(Abilities::default());
            let mut other = Other::new(if is_wide { wide } else { narrow });
            for frame in frames {
                let mut row: Vec<&str> = Vec::new();
                for symbol in frame {
                    row.push(symbol);
                    row.extend((cluster::width(symbol) == 2).then_some(""));
                }
                row.truncate(usize::from(SIZE.0));
                pair.write(0, &row);
                other.feed(&pair.show(None));
                for (col, symbol) in row.iter().enumerate() {
                    let is_cut = cluster::width(symbol) == 2 && col + 1 == row.len();
                    if cluster::is_sure(symbol) && !symbol.is_empty() {
                        let wanted = if is_cut { " " } else { symbol };
                        prop_assert_eq!(&other.cells[col], wanted, "{:?} {:?}", row, other.cells);
                    }
                }
            }
        }
    }

    #[test]
    fn a_frame_that_is_the_same_costs_no_byte() {
        let mut pair = Pair::new(Abilities::default());
        let caret = Some(Caret {
            col: 3,
            row: 1,
            shape: 0,
        });
        assert!(!pair.show(caret).is_empty());
        for row in 0..SIZE.1 {
            pair.painter.frame().touch(row, 0, SIZE.0);
        }
        assert_eq!(pair.show(caret), b"");
        pair.painter.frame().row_mut(2, 4, 1).0[0].set_symbol("x");
        let out = pair.show(caret);
        assert_eq!(out.escape_ascii().to_string(), "\\x1b[3;5Hx\\x1b[2;4H");
    }

    #[test]
    fn the_cursor_is_placed_shaped_and_hidden() {
        let mut pair = Pair::new(Abilities::default());
        let at = |col, shape| Some(Caret { col, row: 0, shape });
        pair.show(at(3, 0));
        assert_eq!(pair.show(at(4, 0)), b"\x1b[C");
        assert_eq!(pair.show(at(4, 6)), b"\x1b[6 q");
        assert_eq!(pair.show(None), b"\x1b[?25l");
        assert_eq!(pair.show(None), b"");
        let out = pair.show(at(4, 6)).escape_ascii().to_string();
        assert!(out.ends_with("\\x1b[?25h"), "{out}");
    }

    #[test]
    fn links_and_kinds_of_lines_are_passed_on_and_closed() {
        let mut pair = Pair::new(Abilities::default());
        pair.show(None);
        let link = pair.painter.frame().link("id=a;https://example.org/x");
        let (cells, extras) = pair.painter.frame().row_mut(0, 0, 2);
        cells[0].set_symbol("x").modifier = Modifier::UNDERLINED;
        cells[1].set_symbol("y");
        extras[0] = Extra {
            underline: 3,
            overline: true,
            link,
        };
        let out = pair.show(None).escape_ascii().to_string();
        let wanted = "\\x1b[1;1H\\x1b[0;4m\\x1b[53m\\x1b[4:3m\\x1b]8;id=a;https://example.org/x\\x1b\\\\x\
            \\x1b[0m\\x1b]8;;\\x1b\\\\y";
        assert_eq!(out, wanted);
        let cell = pair.screen.row_cells(0).next().map(|cell| cell.extra);
        assert!(cell.is_some_and(|extra| extra.overline && extra.link.is_some()));
    }

    #[test]
    fn nothing_but_printable_text_of_cells_is_written() {
        let mut pair = Pair::new(Abilities::default());
        let unseen = [
            "\u{1b}",
            "\u{9b}",
            "a\u{202e}",
            "\u{7}",
            "\n",
            "x\u{200b}\u{feff}",
        ];
        pair.write(0, &unseen);
        let out = String::from_utf8_lossy(&pair.show(None)).replace("\u{1b}[", "");
        let is_bad = |c: &char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}' | '\u{feff}');
        assert_eq!(out.chars().find(is_bad), None, "{out:?}");
        assert_eq!(pair.painter.frame().link(";https://a\u{1b}[2Jb"), 0);
    }

    #[test]
    fn what_a_terminal_takes_for_narrower_leaves_nothing_behind() {
        let mut pair = Pair::new(Abilities::default());
        let mut other = Other::new(|char| usize::from(char != '\u{fe0f}'));
        pair.write(0, &["a", "b", "c", "d"]);
        other.feed(&pair.show(None));
        pair.write(0, &["a", "❤\u{fe0f}", "", "d"]);
        other.feed(&pair.show(None));
        assert_eq!(other.cells[..4], ["a", "❤", " ", "d"]);
    }

    #[test]
    fn what_a_terminal_takes_for_wider_shifts_and_hides_nothing() {
        let mut pair = Pair::new(Abilities::default());
        let mut other = Other::new(|char| if char == '☺' { 2 } else { 1 });
        pair.write(0, &["☺", "b", "c", "d"]);
        other.feed(&pair.show(None));
        assert_eq!(other.cells[1..4], ["b", "c", "d"]);
        pair.write(0, &["a", "☺", "c", "d"]);
        other.feed(&pair.show(None));
        assert_eq!(other.cells[2..4], ["c", "d"]);
        pair.write(0, &["a", "b", "c", "d"]);
        other.feed(&pair.show(None));
        assert_eq!(other.cells[..4], ["a", "b", "c", "d"]);
    }

    #[test]
    fn what_lies_over_half_of_a_wide_character_is_seen() {
        let mut pair = Pair::new(Abilities::default());
        let shown = |pair: &mut Pair, row: &[&str]| {
            pair.write(0, row);
            pair.show(None);
            let text: String = pair.screen.row_cells(0).map(|cell| cell.text).collect();
            text.trim_end().to_owned()
        };
        assert_eq!(shown(&mut pair, &["a", "世", "", "b"]), "a世b");
        assert_eq!(shown(&mut pair, &["a", "世", "|", "b"]), "a |b");
        assert_eq!(shown(&mut pair, &["a", "世", "界", ""]), "a 界");
        assert_eq!(shown(&mut pair, &["a", "世", "", "b"]), "a世b");
    }

    #[test]
    fn an_accent_alone_joins_no_other_cell() {
        let mut pair = Pair::new(Abilities::default());
        pair.write(0, &["a", "\u{301}", "c"]);
        pair.show(None);
        let cells: Vec<_> = pair
            .screen
            .row_cells(0)
            .map(|cell| cell.text)
            .take(3)
            .collect();
        assert_eq!(cells, ["a", " \u{301}", "c"]);
    }

    #[test]
    fn a_link_whose_number_was_anothers_is_drawn_anew() {
        let mut pair = Pair::new(Abilities::default());
        let show = |pair: &mut Pair, uri: &str| {
            let link = pair.painter.frame().link(uri);
            pair.write(0, &["x"]);
            pair.painter.frame().set_link(0, 0, link);
            pair.show(None);
            let cell = pair.screen.row_cells(0).next();
            let link = cell.and_then(|cell| cell.extra.link);
            let shown = link.and_then(|link| pair.screen.link(link));
            shown.map(|link| format!(";{}", link.uri))
        };
        let first = ";https://a";
        assert_eq!(show(&mut pair, first).as_deref(), Some(first));
        for other in 1..LINKS {
            pair.painter.frame().link(&format!(";https://{other}"));
        }
        let last = ";https://b";
        assert_eq!(show(&mut pair, last).as_deref(), Some(last));
    }

    #[test]
    fn a_terminal_that_reads_no_utf_8_and_knows_no_links_gets_neither() {
        let mut pair = Pair::new(Abilities {
            utf8: false,
            extras: false,
            ..Abilities::default()
        });
        let link = pair.painter.frame().link(";https://a");
        pair.write(0, &["Ý", "世", "", "│"]);
        pair.painter.frame().set_link(0, 0, link);
        let out = pair.show(None);
        assert!(
            out.is_ascii() && !out.contains(&b']'),
            "{}",
            out.escape_ascii()
        );
        let text: String = pair.screen.row_cells(0).map(|cell| cell.text).collect();
        assert_eq!(text.trim_end(), "???|");
    }

    #[test]
    fn of_a_terminal_that_was_in_other_hands_the_cursor_is_told_anew() {
        let mut pair = Pair::new(Abilities {
            sync: true,
            ..Abilities::default()
        });
        let caret = Some(Caret {
            col: 3,
            row: 0,
            shape: 6,
        });
        pair.show(caret);
        pair.painter.forget();
        let out = pair.show(caret).escape_ascii().to_string();
        assert!(out.contains("\\x1b[6 q"), "{out}");
        pair.show(None);
        pair.painter.forget();
        pair.show(caret);
        assert!(pair.screen.cursor().visible);
    }

    #[test]
    fn without_colours_attributes_stay() {
        let mut pair = Pair::new(Abilities {
            depth: Depth::None,
            ..Abilities::default()
        });
        pair.show(None);
        let cell = &mut pair.painter.frame().row_mut(0, 0, 1).0[0];
        cell.set_symbol("x").fg = Color::Red;
        cell.modifier = Modifier::REVERSED;
        let out = pair.show(None).escape_ascii().to_string();
        assert!(out.contains("\\x1b[0;7mx"), "{out}");
    }
}
