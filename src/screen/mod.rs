//! The screen of a child program: bytes in, changes and logical lines out (systems.md A.11, terminal.md).
//!
//! `vt100` does the cells. Everything it lacks, and everything a child may ask of a terminal, is added here, behind
//! one type, so that the same tests could run on another crate. The way of a byte: `scan` cuts the stream into whole
//! pieces; `frame` holds a synchronized frame back; `terminal` does what the crate cannot, answers, and hands the
//! rest on; `emulator` guards the crate; `history` keeps the rows that leave the top, which are read off the crate
//! (`row`) or, for speed, off the bytes (`known`); `overhang` keeps what a narrower window would cut, `extra` what no
//! cell of the crate holds of its look.

mod csi;
mod damage;
mod emulator;
mod extra;
mod frame;
mod guard;
mod history;
mod journal;
mod known;
mod line;
mod link;
mod modes;
mod overhang;
mod palette;
mod preview;
mod row;
mod scan;
mod sgr;
mod signal;
mod snapshot;
mod terminal;
mod vt;

pub use damage::Damage;
pub use extra::{Extra, Underline};
pub use line::{Color, Line, Run, Style};
pub use link::{Link, LinkId};
pub use modes::{Modes, Mouse, MouseEncoding};
pub use palette::{Palette, Rgb, parse_rgb};
pub use preview::{Preview, Seen};
pub use row::columns;

pub use signal::Signal;
pub use snapshot::{KeptRow, Snapshot};

use std::ops::Range;
use std::time::Duration;

use self::frame::{Frame, Held};
use self::row::{Joiner, Row};
use self::scan::{Piece, Scanner};
use self::terminal::{FrameStep, Terminal};
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

/// Where the cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Column, from 0.
    pub col: u16,
    /// Row, from 0.
    pub row: u16,
    /// Whether it is shown.
    pub visible: bool,
}

/// One cell of a row, to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Column, from 0.
    pub col: u16,
    /// Columns it takes up, 1 or 2.
    pub width: u16,
    /// The character with what combines with it; a blank where nothing was written.
    pub text: &'a str,
    /// How it is drawn.
    pub style: Style,
    /// What of that is rare.
    pub extra: Extra,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

/// The cursor's shape as DECSCUSR numbers it.
fn shape_of(screen: &vt100::Screen) -> u8 {
    use vt100::CursorStyle::{
        BlinkBlock, BlinkUnderline, BlinkVerticalBar, Default, SteadyBlock, SteadyUnderline,
        SteadyVerticalBar,
    };
    match screen.cursor_style() {
        Default => 0,
        BlinkBlock => 1,
        SteadyBlock => 2,
        BlinkUnderline => 3,
        SteadyUnderline => 4,
        BlinkVerticalBar => 5,
        SteadyVerticalBar => 6,
    }
}

/// A terminal screen with its scrollback.
pub struct Screen {
    scanner: Scanner,
    terminal: Terminal,
    frame: Option<Frame>,
    /// What the frame that is drawn behind the screen has changed so far.
    behind: bool,
    /// Whether something was drawn before that frame, of which nobody was told yet.
    seen: bool,
}

impl Screen {
    /// Opens an empty screen that keeps `scrollback` rows above it.
    pub fn new(size: Size, scrollback: usize) -> Self {
        let size = Size::new(size.cols, size.rows);
        Self {
            scanner: Scanner::default(),
            terminal: Terminal::new(size, scrollback),
            frame: None,
            behind: false,
            seen: false,
        }
    }

    /// The screen of a child that is started anew: empty, of the same size, the text of this one in its scrollback. Its
    /// colours are gone with it.
    pub fn successor(&self, scrollback: usize, now: Duration) -> Self {
        let rows = usize::from(self.size().rows);
        let mut text = String::new();
        for line in self.lines() {
            text.push_str(&line.text);
            text.push_str("\r\n");
        }
        text.push_str(&"\r\n".repeat(rows));
        text.push_str("\x1b[H");
        let mut next = Self::new(self.size(), scrollback);
        let history = self.terminal.emulator.history().successor(scrollback);
        *next.terminal.emulator.history_mut() = history;
        next.feed(text.as_bytes(), now);
        next.take_replies();
        next
    }

    /// Feeds the child's output. `now` counts from the start of the session and never goes back.
    pub fn feed(&mut self, bytes: &[u8], now: Duration) -> Changes {
        self.expire(now);
        let mut at = 0;
        loop {
            if self.frame.as_ref().is_some_and(Frame::is_held) {
                if !self.hold(bytes, &mut at, now) {
                    break;
                }
            } else if let Some(step) = self.terminal.advance(&mut self.scanner, bytes, &mut at) {
                self.step(step, &bytes[at..], now);
            } else {
                break;
            }
        }
        self.changes()
    }

    /// The same for output that was looked through before.
    pub fn feed_seen(&mut self, bytes: &[u8], seen: Seen, now: Duration) -> Changes {
        if !seen.covers(bytes) || self.frame.is_some() || !self.scanner.is_idle() {
            return self.feed(bytes, now);
        }
        if !self.terminal.pass_seen(bytes) {
            return self.feed(bytes, now);
        }
        self.changes()
    }

    /// Tells the time; a frame that was open too long is shown as it is.
    pub fn wake(&mut self, now: Duration) -> Changes {
        self.expire(now);
        self.changes()
    }

    /// When `wake` has something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.frame.as_ref().map(Frame::deadline)
    }

    /// Whether the child is inside a synchronized frame; what is read meanwhile is the screen before it.
    pub fn in_frame(&self) -> bool {
        self.frame.is_some()
    }

    /// The columns and rows in force.
    pub fn size(&self) -> Size {
        self.terminal.size()
    }

    /// Changes the size; no text that stood on the screen leaves the logical lines by it.
    pub fn resize(&mut self, size: Size, now: Duration) -> Changes {
        self.expire(now);
        let size = Size::new(size.cols, size.rows);
        self.terminal.resize(size);
        if let Some(shown) = self.frame.as_mut().and_then(Frame::shown_mut)
            && !emulator::resize(shown, size)
        {
            Self::close(&mut self.frame, &mut self.terminal);
        }
        self.changes()
    }

    /// The logical lines of scrollback and screen, oldest first, soft wraps joined, blank ones at the end left out.
    /// While the alternate screen is shown, its lines only.
    pub fn lines(&self) -> Vec<Line> {
        self.lines_from(0)
    }

    /// The logical lines from a mark on; all of them when the mark is void.
    pub fn lines_since(&self, mark: Mark) -> Vec<Line> {
        let history = self.terminal.emulator.history();
        self.lines_from(if mark.generation == history.generation() {
            mark.row
        } else {
            0
        })
    }

    fn lines_from(&self, row: u64) -> Vec<Line> {
        let mut joiner = Joiner::default();
        if !self.shown().alternate_screen() {
            for row in self.terminal.emulator.history().since(row) {
                joiner.push(row);
            }
        }
        for row in &self.rows() {
            joiner.push(row);
        }
        let mut lines = joiner.finish();
        let kept = lines
            .iter()
            .rposition(|line| !line.text.is_empty())
            .map_or(0, |last| last + 1);
        lines.truncate(kept);
        lines
    }

    /// The logical lines of the rows on the screen, blank ones too: their `rows` add up to the rows of the screen.
    pub fn visible(&self) -> Vec<Line> {
        let mut joiner = Joiner::default();
        for row in &self.terminal.emulator.rows(self.shown()) {
            joiner.push(row);
        }
        joiner.finish()
    }

    /// The rows of the screen and those a lower window has no room for.
    fn rows(&self) -> Vec<Row> {
        let (above, below, joined) = self.terminal.cut_rows();
        let mut rows = above;
        rows.extend(self.terminal.emulator.rows(self.shown()));
        if !below.is_empty()
            && let Some(last) = rows.last_mut()
        {
            last.wrapped = joined;
        }
        rows.extend(below);
        rows
    }

    /// The mark of now.
    pub fn mark(&self) -> Mark {
        let history = self.terminal.emulator.history();
        Mark {
            generation: history.generation(),
            row: history.end(),
        }
    }

    /// Numbers of the rows there are, counted from the first one ever: those that left the top, then those of the
    /// screen. While the alternate screen is shown, only the latter.
    pub fn row_numbers(&self) -> Range<u64> {
        let history = self.terminal.emulator.history();
        let top = history.end();
        let first = match self.shown().alternate_screen() {
            true => top,
            false => history.first(),
        };
        first..top + u64::from(self.size().rows)
    }

    /// Number of the row at the top of the screen.
    pub fn top_row(&self) -> u64 {
        self.terminal.emulator.history().end()
    }

    /// A row that left the top, by its number, and whether it runs on in the next one.
    pub fn history_row(&self, number: u64) -> Option<(Line, bool)> {
        let row = self.terminal.emulator.history().get(number)?;
        let mut joiner = Joiner::default();
        joiner.push(row);
        joiner.finish().pop().map(|line| (line, row.wrapped))
    }

    /// The rows of the screen as lines of their own, each with whether it runs on in the next one.
    pub fn screen_rows(&self) -> Vec<(Line, bool)> {
        let rows = self.terminal.emulator.rows(self.shown());
        let line = |row: &Row| {
            let mut joiner = Joiner::default();
            joiner.push(row);
            (joiner.finish().pop().unwrap_or_default(), row.wrapped)
        };
        rows.iter().map(line).collect()
    }

    /// The cursor's shape as DECSCUSR numbers it; 0 is the terminal's own.
    pub fn cursor_shape(&self) -> u8 {
        shape_of(self.shown())
    }

    /// The cells of a row of the screen, left to right; none when there is no such row.
    pub fn row_cells(&self, row: u16) -> impl Iterator<Item = Cell<'_>> {
        let screen = self.shown();
        let extras = self.terminal.emulator.extras();
        (0..self.size().cols).filter_map(move |col| {
            let cell = screen.cell(row, col)?;
            (!cell.is_wide_continuation()).then(|| row::cell(cell, col, extras))
        })
    }

    /// The cells of a row that left the top, by its number, left to right; they may need more columns than there are
    /// now. Nothing is behind the last one.
    pub fn history_cells(&self, number: u64) -> Option<impl Iterator<Item = Cell<'_>>> {
        self.terminal.emulator.history().get(number).map(row::cells)
    }

    /// The link of a cell, while it is kept.
    pub fn link(&self, id: LinkId) -> Option<&Link> {
        self.terminal.links.get(id)
    }

    /// What the child asked of the person's desktop since the last call.
    pub fn take_signals(&mut self) -> Vec<Signal> {
        self.terminal.signals.take()
    }

    /// The cursor.
    pub fn cursor(&self) -> Cursor {
        let (row, col) = self.shown().cursor_position();
        Cursor {
            col: col.min(self.size().cols - 1),
            row,
            visible: !self.shown().hide_cursor(),
        }
    }

    /// The window title, without controls.
    pub fn title(&self) -> &str {
        self.terminal.title()
    }

    /// The state the agent reports of itself (OSC 7501), as it spells it.
    pub fn agent_state(&self) -> Option<&str> {
        self.terminal.agent_state()
    }

    /// The modes the child has set.
    pub fn modes(&self) -> &Modes {
        self.terminal.modes()
    }

    /// Whether nothing can have been lost: no panic of the emulator, no control string without an end.
    pub fn is_whole(&self) -> bool {
        self.losses() == 0
    }

    /// How often something may have been lost so far; compare two values to learn about the time between.
    pub fn losses(&self) -> u32 {
        self.terminal.losses()
    }

    /// The rows that may look different since the last call.
    pub fn take_damage(&mut self) -> Damage {
        self.terminal.emulator.take_damage()
    }

    /// The answers to what the child asked, in order; to be written to it.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.terminal.take_replies()
    }

    /// The child ended: nothing is answered any more.
    pub fn end(&mut self) {
        self.terminal.end();
    }

    /// Sets the colours that are answered.
    pub fn set_palette(&mut self, palette: Palette) {
        self.terminal.set_palette(palette);
    }

    /// The screen that is seen.
    fn shown(&self) -> &vt100::Screen {
        self.frame
            .as_ref()
            .and_then(Frame::shown)
            .unwrap_or_else(|| self.terminal.emulator.screen())
    }

    /// Holds pieces back until the frame ends, a question comes, or no piece is left (`false`).
    fn hold(&mut self, bytes: &[u8], at: &mut usize, now: Duration) -> bool {
        while let Some(frame) = &mut self.frame {
            if self.scanner.is_idle() {
                *at += frame.hold_plain(&bytes[*at..]);
            }
            let Some((piece, _)) = self.scanner.next(bytes, at) else {
                return false;
            };
            if matches!(piece, Piece::Lost) {
                self.terminal.take(&piece);
                continue;
            }
            match frame.hold(&piece, now) {
                Held::Inside => continue,
                Held::Full => {
                    Self::close(&mut self.frame, &mut self.terminal);
                }
                Held::Close => {
                    Self::close(&mut self.frame, &mut self.terminal);
                    self.terminal.take(&piece);
                }
                Held::Query => {
                    self.terminal.behind = true;
                    self.terminal.emulator.history_mut().freeze();
                    // Else what is shown would grow by blank rows in place of those that left it.
                    self.terminal.emulator.process(b"\x1b[3J");
                    let held = frame.draw_behind(self.terminal.emulator.screen().clone());
                    // What was drawn before the frame is seen all the same.
                    self.seen |= std::mem::take(&mut self.terminal.changes.drawn);
                    self.terminal.emulator.damage_all();
                    self.terminal.drain(&held);
                    self.terminal.take(&piece);
                }
            }
            return true;
        }
        true
    }

    fn step(&mut self, step: FrameStep, rest: &[u8], now: Duration) {
        match step {
            FrameStep::Open if self.frame.is_none() => {
                self.terminal.in_frame = true;
                // A frame whose end is at hand need not be held back: nobody looks in between.
                if !frame::ends_in(rest) {
                    self.frame = Some(Frame::open(now));
                }
            }
            FrameStep::Open => {}
            FrameStep::Close => Self::close(&mut self.frame, &mut self.terminal),
        }
    }

    /// Shows the frame.
    fn close(frame: &mut Option<Frame>, terminal: &mut Terminal) {
        terminal.in_frame = false;
        terminal.behind = false;
        if let Some(frame) = frame.take() {
            if frame.shown().is_some() {
                terminal.emulator.damage_all();
            }
            terminal.emulator.history_mut().thaw();
            terminal.drain(&frame.into_bytes());
        }
    }

    fn expire(&mut self, now: Duration) {
        let Some(frame) = self.frame.take_if(|frame| now >= frame.deadline()) else {
            return;
        };
        if frame.shown().is_some() {
            self.terminal.emulator.damage_all();
        }
        let (bytes, later) = frame.expire(now);
        self.terminal.emulator.history_mut().thaw();
        self.terminal.in_frame = later.is_some();
        self.terminal.behind = false;
        self.terminal.drain(&bytes);
        self.frame = later;
    }

    fn changes(&mut self) -> Changes {
        self.terminal.changes.bell |= self.terminal.emulator.take_bell();
        let mut changes = std::mem::take(&mut self.terminal.changes);
        if self.frame.as_ref().is_some_and(|frame| !frame.is_held()) {
            self.behind |= changes.drawn;
            changes.drawn = false;
        } else {
            changes.drawn |= std::mem::take(&mut self.behind);
        }
        changes.drawn |= std::mem::take(&mut self.seen);
        changes
    }
}
