//! The screen of a child program: bytes in, changes and logical lines out (systems.md A.11, terminal.md).
//!
//! `vt100` does the cells. Everything it lacks, and everything a child may ask of a terminal, is added here, behind
//! one type, so that the same tests could run on another crate.

mod line;

pub use line::{Color, Line, Run, Style};

use std::time::Duration;

use crate::limits;

/// Columns and rows of a terminal; never below 2 by 1 and never above `limits::MAX_SIDE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

impl Size {
    /// Makes a size, clamped to what the emulator can hold.
    pub fn new(cols: u16, rows: u16) -> Self {
        Self {
            cols: cols.clamp(limits::MIN_COLS, limits::MAX_SIDE),
            rows: rows.clamp(limits::MIN_ROWS, limits::MAX_SIDE),
        }
    }
}

/// What a batch of bytes changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// A cell, the cursor or the scrollback changed, and no synchronized frame holds it back.
    pub drawn: bool,
    /// The window title changed.
    pub title: bool,
    /// The agent's own state report (OSC 7501) changed.
    pub state: bool,
    /// The bell rang.
    pub bell: bool,
    /// The scrollback was wiped (`ESC[3J`), so that earlier marks are void.
    pub wiped: bool,
    /// A mode the pane's input depends on changed.
    pub modes: bool,
}

/// A place in a screen's history: everything from here on is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// How often the history was wiped before.
    pub generation: u32,
    /// Number of the row (counted from the first one ever) that was the top of the screen.
    pub row: u64,
}

#[derive(Default)]
struct Cb {
    title: String,
    state: Option<String>,
    wipe: bool,
}
impl vt100::Callbacks for Cb {
    fn set_window_title(&mut self, _: &mut vt100::Screen, t: &[u8]) {
        self.title = String::from_utf8_lossy(t).into_owned();
    }
    fn unhandled_csi(
        &mut self,
        s: &mut vt100::Screen,
        _: Option<u8>,
        _: Option<u8>,
        p: &[&[u16]],
        c: char,
    ) {
        if c == 'J' && p.first().is_some_and(|p| p.first() == Some(&3)) {
            s.clear_scrollback();
            self.wipe = true;
        }
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, p: &[&[u8]]) {
        if p.first() == Some(&&b"7501"[..]) {
            let t = p[1..]
                .iter()
                .map(|x| String::from_utf8_lossy(x).into_owned())
                .collect::<Vec<_>>()
                .join(";");
            for part in t.split([';', ':']) {
                if let Some(v) = part.strip_prefix("state=") {
                    self.state = if v == "clear" {
                        None
                    } else {
                        Some(v.to_owned())
                    };
                }
            }
        }
    }
}

/// A terminal screen with its scrollback.
pub struct Screen {
    parser: vt100::Parser<Cb>,
    size: Size,
}

impl Screen {
    /// Opens an empty screen that keeps `scrollback` rows above it.
    pub fn new(size: Size, scrollback: usize) -> Self {
        let rows = std::num::NonZeroU16::new(size.rows).expect("a size has at least one row");
        let cols = std::num::NonZeroU16::new(size.cols).expect("a size has at least two columns");
        Self {
            parser: vt100::Parser::new_with_callbacks(rows, cols, scrollback, Cb::default()),
            size,
        }
    }

    /// Feeds the child's output. `now` counts from the start of the session and never goes back.
    pub fn feed(&mut self, bytes: &[u8], now: Duration) -> Changes {
        let _ = now;
        self.parser.process(bytes);
        Changes {
            drawn: true,
            ..Changes::default()
        }
    }

    /// Visible rows.
    pub fn visible(&mut self) -> Vec<Line> {
        let n = usize::from(self.size.rows);
        let all = self.lines();
        all[all.len().saturating_sub(n)..].to_vec()
    }
    /// Title.
    pub fn title(&self) -> &str {
        &self.parser.callbacks().title
    }
    /// State.
    pub fn agent_state(&self) -> Option<&str> {
        self.parser.callbacks().state.as_deref()
    }
    /// Alternate.
    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }
    /// Whole.
    pub fn is_whole(&self) -> bool {
        true
    }
    /// The columns and rows in force.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Changes the size; no text that stood on the screen leaves the logical lines by it.
    pub fn resize(&mut self, size: Size, now: Duration) -> Changes {
        let _ = now;
        let rows = std::num::NonZeroU16::new(size.rows).expect("a size has at least one row");
        let cols = std::num::NonZeroU16::new(size.cols).expect("a size has at least two columns");
        self.parser.set_size(rows, cols);
        self.size = size;
        Changes {
            drawn: true,
            ..Changes::default()
        }
    }

    /// The logical lines of scrollback and screen, oldest first, soft wraps joined.
    pub fn lines(&mut self) -> Vec<Line> {
        let cols = self.size.cols;
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let back = self.parser.screen().scrollback();
        let rows = usize::from(self.size.rows);
        let mut out: Vec<Line> = Vec::new();
        let mut joined = false;
        let mut take = |screen: &vt100::Screen, row: u16, out: &mut Vec<Line>| {
            let mut text = String::new();
            let mut runs = Vec::new();
            for col in 0..cols {
                let Some(cell) = screen.cell(row, col) else {
                    continue;
                };
                if cell.is_wide_continuation() {
                    continue;
                }
                let style = line::style_of(cell);
                let at = text.len();
                if cell.has_contents() {
                    text.push_str(cell.contents())
                } else {
                    text.push(' ')
                }
                line::push_run(&mut runs, at, style);
            }
            let wrapped = screen.row_wrapped(row);
            if !wrapped {
                text.truncate(text.trim_end().len());
            }
            if joined && let Some(last) = out.last_mut() {
                let base = last.text.len();
                last.text.push_str(&text);
                for run in runs {
                    line::push_run(&mut last.runs, base + run.start, run.style);
                }
                last.rows += 1;
            } else {
                out.push(Line {
                    text,
                    runs,
                    rows: 1,
                    cols,
                });
            }
            joined = wrapped;
        };
        let mut at = back;
        while at > 0 {
            self.parser.screen_mut().set_scrollback(at);
            for row in 0..rows.min(at) {
                take(self.parser.screen(), row as u16, &mut out);
            }
            at = at.saturating_sub(rows);
        }
        self.parser.screen_mut().set_scrollback(0);
        for row in 0..self.size.rows {
            take(self.parser.screen(), row, &mut out);
        }
        out
    }
}
