//! A pane scrolled up: its place, a search, a selection. Rows have numbers that output does not change, so nothing
//! jumps while it arrives.

use regex::{Regex, RegexBuilder};

use super::Role;
use super::editor::Editor;
use super::input::{Code, Key, Mods};
use crate::limits;
use crate::screen::{self, Line, Screen};

/// A place in a pane: the number of a row, and a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The row's number.
    pub row: u64,
    /// The column.
    pub col: u16,
}

/// What is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Where it began.
    pub anchor: Spot,
    /// Where it ends, that cell included.
    pub head: Spot,
    /// A rectangle, not running text.
    pub is_block: bool,
}

impl Selection {
    /// The columns of a row that are selected, the last one included; none when the row has none.
    pub fn columns(&self, row: u64, cols: u16) -> Option<(u16, u16)> {
        let (from, to) = (self.anchor.min(self.head), self.anchor.max(self.head));
        if row < from.row || row > to.row {
            return None;
        }
        if self.is_block {
            let (left, right) = (
                self.anchor.col.min(self.head.col),
                self.anchor.col.max(self.head.col),
            );
            return Some((left, right));
        }
        let left = if row == from.row { from.col } else { 0 };
        let right = if row == to.row {
            to.col
        } else {
            cols.saturating_sub(1)
        };
        Some((left, right))
    }
}

/// A place a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// The row it begins in.
    pub row: u64,
    /// Its first column.
    pub col: u16,
    /// Its columns in that row.
    pub cols: u16,
}

/// A pane scrolled up.
#[derive(Debug)]
pub struct Scroll {
    /// Which pane.
    pub role: Role,
    /// Number of the row at the top.
    pub top: u64,
    /// The cursor, from which a selection begins.
    pub cursor: Spot,
    /// What is selected.
    pub selection: Option<Selection>,
    /// The search being typed.
    pub typing: Option<Editor>,
    /// The search in force.
    pattern: Option<Regex>,
    /// What it found.
    pub hits: Vec<Hit>,
    /// Which of them is looked at.
    pub hit: Option<usize>,
    /// What is wrong with the search.
    pub fault: Option<String>,
    /// Whether it ends by itself at the bottom: it began with the wheel.
    is_passing: bool,
    /// Where it was before the search.
    before: u64,
    /// Rows the pane's place has, and rows of the live screen above them.
    rows: u16,
    hidden: u16,
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scrolled {
    /// It goes on.
    Stays,
    /// The pane is live again.
    Ends,
    /// This text is to be copied, and the pane is live again.
    Copies(String),
}

impl Scroll {
    /// Begins at what is seen of the pane. `is_passing`: it ends when the bottom is reached.
    pub fn new(role: Role, screen: &Screen, (rows, hidden): (u16, u16), is_passing: bool) -> Self {
        let cursor = screen.cursor();
        Self {
            role,
            top: screen.top_row() + u64::from(hidden),
            cursor: Spot {
                row: screen.top_row() + u64::from(cursor.row),
                col: cursor.col,
            },
            selection: None,
            typing: None,
            pattern: None,
            hits: Vec::new(),
            hit: None,
            fault: None,
            is_passing,
            before: 0,
            rows: rows.max(1),
            hidden,
        }
    }

    /// The top of the view at the bottom of it all.
    fn bottom(&self, screen: &Screen) -> u64 {
        screen.top_row() + u64::from(self.hidden)
    }

    /// How many rows the top is above the live screen.
    pub fn above(&self, screen: &Screen) -> u64 {
        self.bottom(screen).saturating_sub(self.top)
    }

    /// Moves the view; tells whether it is at the bottom and ends there.
    pub fn by(&mut self, rows: i64, screen: &Screen) -> bool {
        let first = screen.row_numbers().start;
        let last = self.bottom(screen);
        self.top = self
            .top
            .saturating_add_signed(rows)
            .clamp(first, last.max(first));
        let bottom = self.top + u64::from(self.rows) - 1;
        self.cursor.row = self.cursor.row.clamp(self.top, bottom);
        self.is_passing && self.top == last && rows > 0 && self.selection.is_none()
    }

    /// Takes a key.
    pub fn key(&mut self, key: &Key, screen: &Screen) -> Scrolled {
        if self.typing.is_some() {
            self.search_key(key, screen);
            return Scrolled::Stays;
        }
        let page = i64::from(self.rows).max(2) - 1;
        let (code, mods) = key.command();
        match (code, mods) {
            (Code::Char('q'), Mods::NONE) => return Scrolled::Ends,
            (Code::Esc, _) if self.selection.is_some() => self.selection = None,
            (Code::Esc, _) => return Scrolled::Ends,
            (Code::Char('c'), Mods::CTRL) => return Scrolled::Ends,
            (Code::Up | Code::Char('k'), Mods::NONE) => self.step(-1, 0, screen),
            (Code::Down | Code::Char('j'), Mods::NONE) => self.step(1, 0, screen),
            (Code::Left | Code::Char('h'), Mods::NONE) => self.step(0, -1, screen),
            (Code::Right | Code::Char('l'), Mods::NONE) => self.step(0, 1, screen),
            (Code::Home | Code::Char('0'), _) => self.cursor.col = 0,
            (Code::End | Code::Char('$'), _) => self.cursor.col = screen.size().cols - 1,
            (Code::PageUp, _) | (Code::Char('b'), Mods::CTRL) => self.jump(-page, screen),
            (Code::PageDown | Code::Char(' '), Mods::NONE) | (Code::Char('f'), Mods::CTRL) => {
                self.jump(page, screen);
            }
            (Code::Char('u'), Mods::CTRL) => self.jump(-page / 2, screen),
            (Code::Char('d'), Mods::CTRL) => self.jump(page / 2, screen),
            (Code::Char('g'), Mods::NONE) => self.go(screen.row_numbers().start, screen),
            (Code::Char('G'), Mods::NONE) => self.go(screen.row_numbers().end - 1, screen),
            (Code::Char('v'), Mods::NONE) => self.select(false),
            (Code::Char('v'), Mods::CTRL) => self.select(true),
            (Code::Char('/'), Mods::NONE) => {
                self.before = self.top;
                self.typing = Some(Editor::default());
            }
            (Code::Char('n'), Mods::NONE) => self.next(true, screen),
            (Code::Char('N'), Mods::NONE) => self.next(false, screen),
            (Code::Enter | Code::Char('y'), Mods::NONE) => {
                return match self.selection {
                    Some(selection) => Scrolled::Copies(copy(screen, &selection)),
                    None => Scrolled::Stays,
                };
            }
            _ => {}
        }
        Scrolled::Stays
    }

    fn jump(&mut self, rows: i64, screen: &Screen) {
        self.cursor.row = self.cursor.row.saturating_add_signed(rows);
        self.by(rows, screen);
        self.drag();
    }

    fn step(&mut self, rows: i64, cols: i32, screen: &Screen) {
        let col = i32::from(self.cursor.col) + cols;
        self.cursor.col = u16::try_from(col.max(0))
            .unwrap_or(0)
            .min(screen.size().cols - 1);
        self.go(self.cursor.row.saturating_add_signed(rows), screen);
    }

    /// Brings the cursor to a row and the row into view.
    fn go(&mut self, row: u64, screen: &Screen) {
        let numbers = screen.row_numbers();
        self.cursor.row = row.clamp(numbers.start, numbers.end - 1);
        let rows = u64::from(self.rows);
        if self.cursor.row < self.top {
            self.top = self.cursor.row;
        } else if self.cursor.row >= self.top + rows {
            self.top = self.cursor.row + 1 - rows;
        }
        self.drag();
    }

    fn drag(&mut self) {
        if let Some(selection) = &mut self.selection {
            selection.head = self.cursor;
        }
    }

    fn select(&mut self, is_block: bool) {
        self.is_passing = false;
        self.selection = match self.selection {
            Some(selection) if selection.is_block == is_block => None,
            Some(selection) => Some(Selection {
                is_block,
                ..selection
            }),
            None => Some(Selection {
                anchor: self.cursor,
                head: self.cursor,
                is_block,
            }),
        };
    }

    /// Moves the cursor, and the end of a selection with it, to a place of the view.
    pub fn mouse(&mut self, col: u16, row: u16) {
        self.cursor = Spot {
            row: self.top + u64::from(row),
            col,
        };
        self.drag();
    }

    fn search_key(&mut self, key: &Key, screen: &Screen) {
        let Some(editor) = &mut self.typing else {
            return;
        };
        match key.code {
            Code::Esc => {
                self.typing = None;
                self.top = self.before;
                self.forget();
            }
            Code::Enter => self.typing = None,
            _ => {
                editor.key(key);
                let text = editor.text().replace('\n', "");
                self.search(&text, screen);
            }
        }
    }

    fn forget(&mut self) {
        self.pattern = None;
        self.hits.clear();
        self.hit = None;
        self.fault = None;
    }

    /// Searches for a pattern; small letters stand for capitals too.
    pub fn search(&mut self, text: &str, screen: &Screen) {
        self.forget();
        if text.is_empty() {
            return;
        }
        let pattern = RegexBuilder::new(text)
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .size_limit(limits::PATTERN_BYTES)
            .build();
        match pattern {
            Ok(pattern) => {
                self.hits = hits(screen, &pattern);
                self.pattern = Some(pattern);
                self.hit = self.hits.iter().rposition(|hit| hit.row <= self.cursor.row);
                self.hit = self
                    .hit
                    .or(if self.hits.is_empty() { None } else { Some(0) });
                self.show_hit(screen);
                if self.hits.is_empty() {
                    self.fault = Some("nothing found".to_owned());
                }
            }
            Err(_) => self.fault = Some("not a pattern yet".to_owned()),
        }
    }

    /// Goes to the hit before this one (what was found first lies further up), or behind it.
    fn next(&mut self, up: bool, screen: &Screen) {
        let Some(pattern) = self.pattern.clone() else {
            return;
        };
        // What arrived since is found too.
        let at = self.hit.and_then(|at| self.hits.get(at).copied());
        self.hits = hits(screen, &pattern);
        let place = at.map_or((self.cursor.row, self.cursor.col), |hit| (hit.row, hit.col));
        let of = |hit: &Hit| (hit.row, hit.col);
        self.hit = if up {
            let found = self.hits.iter().rposition(|hit| of(hit) < place);
            found.or(self.hits.len().checked_sub(1))
        } else {
            let found = self.hits.iter().position(|hit| of(hit) > place);
            found.or(if self.hits.is_empty() { None } else { Some(0) })
        };
        self.show_hit(screen);
    }

    fn show_hit(&mut self, screen: &Screen) {
        if let Some(hit) = self.hit.and_then(|at| self.hits.get(at).copied()) {
            self.cursor.col = hit.col;
            self.go(hit.row, screen);
        }
    }
}

/// A row of a pane by its number, and whether it runs on.
fn row(screen: &Screen, live: &[(Line, bool)], number: u64) -> Option<(String, bool)> {
    let found = match number.checked_sub(screen.top_row()) {
        Some(at) => live.get(usize::try_from(at).ok()?).cloned(),
        None => screen.history_row(number),
    };
    found.map(|(line, wrapped)| (line.text, wrapped))
}

/// The logical lines of a pane: number of the first row, the text, and where each of its rows begins in it.
fn lines(screen: &Screen) -> Vec<(u64, String, Vec<usize>)> {
    let live = screen.screen_rows();
    let mut out: Vec<(u64, String, Vec<usize>)> = Vec::new();
    let mut runs_on = false;
    for number in screen.row_numbers() {
        let Some((text, wrapped)) = row(screen, &live, number) else {
            continue;
        };
        match out.last_mut() {
            Some((_, line, starts)) if runs_on => {
                starts.push(line.len());
                line.push_str(&text);
            }
            _ => out.push((number, text, vec![0])),
        }
        runs_on = wrapped;
    }
    out
}

fn hits(screen: &Screen, pattern: &Regex) -> Vec<Hit> {
    let mut out = Vec::new();
    for (first, text, starts) in lines(screen) {
        for found in pattern.find_iter(&text) {
            if found.is_empty() || out.len() >= limits::SEARCH_HITS {
                continue;
            }
            let at = starts.partition_point(|start| *start <= found.start()) - 1;
            let end = starts
                .get(at + 1)
                .copied()
                .unwrap_or(text.len())
                .min(found.end());
            let width = |text: &str| {
                screen::columns(text).fold(0, |all: u16, (.., wide)| all.saturating_add(wide))
            };
            out.push(Hit {
                row: first + at as u64,
                col: width(&text[starts[at]..found.start()]),
                cols: width(&text[found.start()..end]),
            });
        }
    }
    out
}

/// The cells of a row from one column to another, that one included.
fn part(text: &str, from: u16, to: u16) -> String {
    let mut col = 0;
    let mut out = String::new();
    for (_, part, width) in screen::columns(text) {
        if col >= from && col <= to {
            out.push_str(part);
        }
        col = col.saturating_add(width);
    }
    out
}

/// The selected text: running text as logical lines, a rectangle as its rows.
pub fn copy(screen: &Screen, selection: &Selection) -> String {
    let live = screen.screen_rows();
    let (from, to) = (
        selection.anchor.min(selection.head).row,
        selection.anchor.max(selection.head).row,
    );
    let numbers = screen.row_numbers();
    let cols = screen.size().cols;
    let mut out = String::new();
    for number in from.max(numbers.start)..=to.min(numbers.end - 1) {
        let Some((text, wrapped)) = row(screen, &live, number) else {
            continue;
        };
        let Some((left, right)) = selection.columns(number, cols) else {
            continue;
        };
        let text = part(&text, left, right);
        let runs_on = wrapped && !selection.is_block && number < to;
        out.push_str(if runs_on { &text } else { text.trim_end() });
        if !runs_on && number < to {
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::screen::Size;

    fn screen() -> Screen {
        let mut screen = Screen::new(Size::new(10, 4), 100);
        let text = "first line\r\nsecond line that wraps\r\nthird\r\n世界 wide\r\nlast";
        screen.feed(text.as_bytes(), Duration::ZERO);
        screen
    }

    fn press(scroll: &mut Scroll, screen: &Screen, keys: &str) -> Scrolled {
        let mut last = Scrolled::Stays;
        for char in keys.chars() {
            let key = match char {
                '\r' => Key::new(Code::Enter, Mods::NONE),
                char => Key::char(char),
            };
            last = scroll.key(&key, screen);
        }
        last
    }

    #[test]
    fn the_view_stays_while_output_arrives() {
        let mut screen = screen();
        let mut scroll = Scroll::new(Role::Peer, &screen, (4, 0), false);
        press(&mut scroll, &screen, "g");
        assert_eq!((scroll.top, scroll.above(&screen)), (0, 3));
        screen.feed(b"\r\nmore\r\nand more", Duration::ZERO);
        assert_eq!((scroll.top, scroll.above(&screen)), (0, 5));
        assert_eq!(press(&mut scroll, &screen, "q"), Scrolled::Ends);
    }

    #[test]
    fn what_the_wheel_began_ends_at_the_bottom() {
        let screen = screen();
        let mut scroll = Scroll::new(Role::Peer, &screen, (4, 0), true);
        assert!(!scroll.by(-2, &screen));
        assert!(!scroll.by(1, &screen));
        assert!(scroll.by(1, &screen));
    }

    #[test]
    fn a_search_goes_over_wraps_and_from_hit_to_hit() {
        let screen = screen();
        let mut scroll = Scroll::new(Role::Peer, &screen, (4, 0), false);
        press(&mut scroll, &screen, "/line th\r");
        assert_eq!(
            scroll.hits,
            [Hit {
                row: 1,
                col: 7,
                cols: 3
            }]
        );
        assert_eq!(scroll.cursor, Spot { row: 1, col: 7 });
        press(&mut scroll, &screen, "/i");
        let rows: Vec<u64> = scroll.hits.iter().map(|hit| hit.row).collect();
        assert_eq!(rows, [0, 0, 1, 4, 5]);
        press(&mut scroll, &screen, "\rn");
        assert_eq!(scroll.cursor.row, 0);
        press(&mut scroll, &screen, "N");
        assert!(scroll.fault.is_none());
        press(&mut scroll, &screen, "/(");
        assert_eq!(scroll.fault.as_deref(), Some("not a pattern yet"));
    }

    #[test]
    fn running_text_is_copied_as_lines_and_a_rectangle_as_rows() {
        let screen = screen();
        let spot = |row, col| Spot { row, col };
        let running = Selection {
            anchor: spot(1, 0),
            head: spot(5, 3),
            is_block: false,
        };
        assert_eq!(
            copy(&screen, &running),
            "second line that wraps\nthird\n世界"
        );
        let block = Selection {
            anchor: spot(0, 0),
            head: spot(1, 2),
            is_block: true,
        };
        assert_eq!(copy(&screen, &block), "fir\nsec");
    }
}
