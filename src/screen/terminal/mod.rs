//! What stands between the child's bytes and the emulator: it does what the crate lacks with what the crate has
//! (terminal.md 2 and 3), keeps the modes, and answers what the child asks.
//!
//! What the crate does right is not touched: `passing` tells it apart, and it is handed on in long runs.

use serde::{Deserialize, Serialize};

mod charset;
mod passing;
mod put;
mod query;
mod resize;
mod tabs;

pub(super) use self::passing::{PlainStyles, passes_whole};
pub(super) use self::query::is_query;

use std::collections::BTreeMap;

use self::charset::Charsets;
use self::passing::{Passing, Run};
use self::resize::CutRows;
use self::tabs::Tabs;
use super::csi::Csi;
use super::emulator::{self, Emulator};
use super::extra::Extra;
use super::history::History;
use super::link::{Link, Links};
use super::modes::{KeyStack, Modes};
use super::palette::Palette;
use super::row;
use super::scan::{Piece, Scanner};
use super::signal::Signals;
use super::{Changes, Size, Style, sgr};

/// Bytes handed to the emulator in one go, about.
const RUN_BYTES: usize = 32 * 1024;
/// Titles a child may push.
const TITLE_STACK: usize = 16;
/// Longest title and longest state kept, in characters.
const TITLE_CHARS: usize = 512;

/// A step of the synchronized frame that a piece asked for (mode 2026).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameStep {
    /// What follows belongs to a frame.
    Open,
    /// The frame is whole.
    Close,
}

/// State DECSC saves beside what the crate saves, one for each screen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    charsets: Charsets,
    origin: bool,
    extra: Extra,
}

/// All that a terminal is, the rows that left it left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    emulator: emulator::Kept,
    size: (u16, u16),
    modes: Modes,
    keys: [KeyStack; 2],
    charsets: Charsets,
    saved: [Saved; 2],
    tabs: Tabs,
    insert: bool,
    autowrap: bool,
    origin: bool,
    region: (u16, u16),
    cut: [Option<CutRows>; 2],
    kept_modes: BTreeMap<u32, bool>,
    extra: Extra,
    links: (Vec<Link>, u32),
    title: String,
    titles: Vec<String>,
    agent_state: Option<String>,
    ended: bool,
    losses: u32,
}

/// The terminal in front of the emulator.
pub(super) struct Terminal {
    pub(super) emulator: Emulator,
    size: Size,
    modes: Modes,
    /// Kitty keyboard flags of the main and the alternate screen.
    keys: [KeyStack; 2],
    charsets: Charsets,
    saved: [Saved; 2],
    tabs: Tabs,
    insert: bool,
    autowrap: bool,
    origin: bool,
    /// Scroll region, first and last row.
    region: (u16, u16),
    /// What a lower window has no room for, on either screen.
    cut: [Option<CutRows>; 2],
    /// Private modes as XTSAVE kept them.
    kept_modes: BTreeMap<u32, bool>,
    plain: PlainStyles,
    /// How text is drawn beyond what the crate holds.
    extra: Extra,
    pub(super) links: Links,
    pub(super) signals: Signals,
    title: String,
    titles: Vec<String>,
    agent_state: Option<String>,
    palette: Palette,
    replies: Vec<u8>,
    ended: bool,
    /// A synchronized frame is open.
    pub(super) in_frame: bool,
    /// It is drawn while something else is shown.
    pub(super) behind: bool,
    pub(super) changes: Changes,
    losses: u32,
}

impl Terminal {
    pub(super) fn new(size: Size, scrollback: usize) -> Self {
        Self {
            emulator: Emulator::new(size, scrollback),
            size,
            modes: Modes::default(),
            keys: Default::default(),
            charsets: Charsets::default(),
            saved: Default::default(),
            tabs: Tabs::default(),
            insert: false,
            autowrap: true,
            origin: false,
            region: (0, size.rows - 1),
            cut: [None, None],
            kept_modes: BTreeMap::new(),
            plain: PlainStyles::default(),
            extra: Extra::default(),
            links: Links::default(),
            signals: Signals::default(),
            title: String::new(),
            titles: Vec::new(),
            agent_state: None,
            palette: Palette::default(),
            replies: Vec::new(),
            ended: false,
            in_frame: false,
            behind: false,
            changes: Changes::default(),
            losses: 0,
        }
    }

    /// What it is; none in the middle of a frame, or when it could not be made again.
    pub(super) fn kept(&self) -> Option<Kept> {
        if self.in_frame || self.behind {
            return None;
        }
        Some(Kept {
            emulator: self.emulator.kept()?,
            size: (self.size.cols, self.size.rows),
            modes: self.modes.clone(),
            keys: self.keys.clone(),
            charsets: self.charsets,
            saved: self.saved.clone(),
            tabs: self.tabs.clone(),
            insert: self.insert,
            autowrap: self.autowrap,
            origin: self.origin,
            region: self.region,
            cut: self.cut.clone(),
            kept_modes: self.kept_modes.clone(),
            extra: self.extra,
            links: self.links.kept(),
            title: self.title.clone(),
            titles: self.titles.clone(),
            agent_state: self.agent_state.clone(),
            ended: self.ended,
            losses: self.losses,
        })
    }

    /// Makes it again; none when it is none that could have been kept.
    pub(super) fn of(kept: Kept, history: History) -> Option<Self> {
        let size = Size::new(kept.size.0, kept.size.1);
        let (top, bottom) = kept.region;
        let charsets = [
            &kept.charsets,
            &kept.saved[0].charsets,
            &kept.saved[1].charsets,
        ];
        let is_sound = (size.cols, size.rows) == kept.size
            && top <= bottom
            && bottom < size.rows
            && charsets.into_iter().all(Charsets::is_sound);
        let emulator = Emulator::of(kept.emulator, history).filter(|_| is_sound)?;
        if emulator.screen().alternate_screen() != kept.modes.alternate_screen
            || emulator.size() != size
        {
            return None;
        }
        let mut terminal = Self::new(size, 0);
        terminal.emulator = emulator;
        terminal.modes = kept.modes;
        terminal.keys = kept.keys;
        terminal.charsets = kept.charsets;
        terminal.saved = kept.saved;
        terminal.tabs = kept.tabs;
        terminal.insert = kept.insert;
        terminal.autowrap = kept.autowrap;
        terminal.origin = kept.origin;
        terminal.region = kept.region;
        terminal.cut = kept.cut;
        terminal.kept_modes = kept.kept_modes;
        terminal.extra = kept.extra;
        terminal.links = Links::of(kept.links)?;
        terminal.title = kept.title;
        terminal.titles = kept.titles;
        terminal.agent_state = kept.agent_state;
        terminal.ended = kept.ended;
        terminal.losses = kept.losses;
        Some(terminal)
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn modes(&self) -> &Modes {
        &self.modes
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn agent_state(&self) -> Option<&str> {
        self.agent_state.as_deref()
    }

    pub(super) fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
    }

    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
        self.replies.clear();
    }

    pub(super) fn losses(&self) -> u32 {
        self.losses.saturating_add(self.emulator.losses())
    }

    /// Takes pieces of `bytes` from `at` on until one opens or closes a frame, or no whole piece is left.
    pub(super) fn advance(
        &mut self,
        scanner: &mut Scanner,
        bytes: &[u8],
        at: &mut usize,
    ) -> Option<FrameStep> {
        let mut from = *at;
        loop {
            if scanner.is_idle() {
                let window = &bytes[*at..bytes.len().min(*at + RUN_BYTES)];
                let Run { length, frame } = self.passing().run(window, &mut self.plain);
                *at += length;
                self.in_frame = frame.unwrap_or(self.in_frame);
                if *at - from >= RUN_BYTES {
                    self.pass(&bytes[from..*at]);
                    from = *at;
                }
                if length == window.len() && *at < bytes.len() {
                    continue;
                }
            }
            let begin = *at;
            let Some((piece, whole)) = scanner.next(bytes, at) else {
                self.pass(&bytes[from..begin]);
                return None;
            };
            self.pass(&bytes[from..begin]);
            if whole
                && let Piece::Text(text) = piece
                && !self.emulator.knows_rows()
                && self.text_fits(text)
            {
                from = begin;
                continue;
            }
            from = *at;
            if let Some(step) = self.take(&piece) {
                return Some(step);
            }
        }
    }

    /// Takes all of `bytes`, which begin and end with whole pieces, whatever they say of frames.
    pub(super) fn drain(&mut self, bytes: &[u8]) {
        let mut scanner = Scanner::default();
        let mut at = 0;
        while self.advance(&mut scanner, bytes, &mut at).is_some() {}
        // A character that was cut off by what came after these bytes.
        self.text(&scanner.into_rest());
    }

    /// Takes one piece.
    pub(super) fn take(&mut self, piece: &Piece<'_>) -> Option<FrameStep> {
        let passing = Passing {
            frame: None,
            ..self.passing()
        };
        if let Piece::Csi(bytes) | Piece::Escape(bytes) = piece
            && passing.run(bytes, &mut self.plain).length == bytes.len()
        {
            self.pass(bytes);
            return None;
        }
        self.act(piece)
    }

    /// Hands bytes on as they are.
    fn pass(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.emulator.process(bytes);
            self.note_drawn();
        }
    }

    /// Hands on what passes as a whole while no mode forbids it; `false` when one does.
    pub(super) fn pass_seen(&mut self, bytes: &[u8]) -> bool {
        let may_pass = self.passing() == Passing::ANYTHING;
        if may_pass {
            self.pass(bytes);
        }
        may_pass
    }

    fn note_drawn(&mut self) {
        self.changes.drawn = true;
        self.cut[self.screen_index()] = None;
    }

    /// What the crate may take as it is in the present state.
    fn passing(&self) -> Passing {
        Passing {
            text: self.autowrap
                && !self.insert
                && !self.charsets.is_drawing()
                && self.size.rows > 1
                && self.extra == Extra::default(),
            styles: self.extra.is_plain(),
            joining: self.emulator.extras().is_empty(),
            tabs: self.tabs.is_default(),
            frame: (!self.behind).then_some(self.in_frame),
        }
    }

    /// Does what a piece asks for.
    fn act(&mut self, piece: &Piece<'_>) -> Option<FrameStep> {
        match *piece {
            Piece::Text(text) => self.text(text),
            Piece::Control(byte) => self.control(byte),
            Piece::Escape(bytes) => return self.escape(bytes),
            Piece::Csi(bytes) => return Csi::parse(bytes).and_then(|csi| self.csi(&csi)),
            Piece::String {
                kind: b']',
                body,
                bell,
            } => self.osc(body, bell),
            Piece::String {
                kind: b'P', body, ..
            } => self.dcs(body),
            // Kitty graphics, privacy messages, start-of-string: nothing of them is text.
            Piece::String { .. } => {}
            Piece::Lost => self.losses = self.losses.saturating_add(1),
        }
        None
    }

    fn control(&mut self, byte: u8) {
        match byte {
            0x0e => self.charsets.shift(1),
            0x0f => self.charsets.shift(0),
            b'\t' if !self.tabs.is_default() => self.tab(1),
            _ => self.pass(&[byte]),
        }
    }

    fn escape(&mut self, bytes: &[u8]) -> Option<FrameStep> {
        match &bytes[1..] {
            b"7" => self.save_cursor(),
            b"8" => self.restore_cursor(),
            b"=" => self.set_mode(66, true),
            b">" => self.set_mode(66, false),
            b"D" => self.pass(b"\n"),
            b"E" => self.pass(b"\r\n"),
            b"H" => {
                let (_, col) = self.emulator.cursor();
                self.tabs.set(col.min(self.size.cols - 1));
            }
            b"Z" => self.primary_attributes(),
            b"c" => {
                self.reset();
                return Some(FrameStep::Close);
            }
            b"n" => self.charsets.shift(2),
            b"o" => self.charsets.shift(3),
            b"#8" => self.fill(),
            [slot @ (b'(' | b')' | b'*' | b'+'), name] => {
                self.charsets.designate(*slot - b'(', *name);
            }
            _ => {}
        }
        None
    }

    fn csi(&mut self, csi: &Csi<'_>) -> Option<FrameStep> {
        match (csi.private, csi.intermediates, csi.last) {
            (0, b"", b'm') => {
                let mut bytes = Vec::new();
                sgr::rewrite(csi.params, &mut self.extra, &mut bytes);
                self.pass(&bytes);
            }
            (0 | b'?', b"", b'J') => self.erase_display(csi.number(0, 0)),
            (b'?', b"", b'K') => self.emit(format_args!("\x1b[{}K", csi.number(0, 0).min(3))),
            (0, b"", b's') => self.save_cursor(),
            (0, b"", b'u') => self.restore_cursor(),
            (0, b"", b'b') => self.repeat(csi.number(0, 1)),
            (0, b"", b'I') => self.tab(csi.number(0, 1)),
            (0, b"", b'Z') => self.back_tab(csi.number(0, 1)),
            (0, b"", b'g') => match csi.number(0, 0) {
                0 => {
                    let (_, col) = self.emulator.cursor();
                    self.tabs.clear(col.min(self.size.cols - 1));
                }
                3 => self.tabs.clear_all(),
                _ => {}
            },
            (0, b"", b'a') => self.emit(format_args!("\x1b[{}C", csi.number(0, 1))),
            (0, b"", b'e') => self.emit(format_args!("\x1b[{}B", csi.number(0, 1))),
            (0, b"", b'r') => self.set_region(csi.number(0, 1), csi.number(1, u32::MAX)),
            (0, b"", b'h' | b'l') => {
                if csi.numbers().any(|mode| mode == 4) {
                    self.insert = csi.last == b'h';
                }
            }
            (0, b"!", b'p') => self.soft_reset(),
            (0, b" ", b'q') => self.emit(format_args!("\x1b[{} q", csi.number(0, 0))),
            (b'?', b"", b'h' | b'l') => return self.private_modes(csi),
            (b'?', b"", b's') => {
                for mode in csi.numbers() {
                    if let Some(on) = self.mode(mode) {
                        self.kept_modes.insert(mode, on);
                    }
                }
            }
            (b'?', b"", b'r') => {
                for mode in csi.numbers() {
                    if let Some(&on) = self.kept_modes.get(&mode) {
                        self.set_mode(mode, on);
                    }
                }
            }
            (b'>', b"", b'u') => self.change_keys(|keys| keys.push(csi.number(0, 0))),
            (b'<', b"", b'u') => self.change_keys(|keys| keys.pop(csi.number(0, 1))),
            (b'=', b"", b'u') => {
                self.change_keys(|keys| keys.change(csi.number(0, 0), csi.number(1, 1)));
            }
            (b'>', b"", b'm') => {
                if csi.params.is_empty() {
                    self.set_modify_other_keys(0);
                } else if csi.number(0, 0) == 4 {
                    self.set_modify_other_keys(csi.number(1, 0));
                }
            }
            (b'>', b"", b'n') => {
                if csi.number(0, 0) == 4 {
                    self.set_modify_other_keys(0);
                }
            }
            (0, b"", b't') if matches!(csi.number(0, 0), 22 | 23) => self.title_stack(csi),
            _ => self.query(csi),
        }
        None
    }

    fn private_modes(&mut self, csi: &Csi<'_>) -> Option<FrameStep> {
        let on = csi.last == b'h';
        let mut step = None;
        for mode in csi.numbers() {
            if mode == 2026 {
                step = Some(if on {
                    FrameStep::Open
                } else {
                    FrameStep::Close
                });
            } else {
                self.set_mode(mode, on);
            }
        }
        step
    }

    fn set_mode(&mut self, mode: u32, on: bool) {
        match mode {
            6 => {
                self.origin = on;
                self.emit(format_args!("\x1b[?6{}", if on { 'h' } else { 'l' }));
            }
            7 => self.autowrap = on,
            25 => self.emit(format_args!("\x1b[?25{}", if on { 'h' } else { 'l' })),
            47 | 1047 | 1049 => self.switch(mode, on),
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            _ => {
                let before = self.modes.clone();
                self.modes.set(mode, on);
                self.note_modes(&before);
            }
        }
    }

    /// The value of a mode that is known here, but for 2026.
    fn mode(&self, mode: u32) -> Option<bool> {
        match mode {
            6 => Some(self.origin),
            7 => Some(self.autowrap),
            25 => Some(!self.emulator.screen().hide_cursor()),
            47 | 1047 | 1049 => Some(self.modes.alternate_screen),
            _ => self.modes.get(mode),
        }
    }

    fn note_modes(&mut self, before: &Modes) {
        if self.modes != *before {
            self.changes.modes = true;
        }
    }

    fn screen_index(&self) -> usize {
        usize::from(self.modes.alternate_screen)
    }

    fn change_keys(&mut self, change: impl FnOnce(&mut KeyStack)) {
        let before = self.modes.clone();
        let index = self.screen_index();
        change(&mut self.keys[index]);
        self.modes.kitty_keys = self.keys[index].flags();
        self.note_modes(&before);
    }

    fn set_modify_other_keys(&mut self, level: u32) {
        let before = self.modes.clone();
        self.modes.modify_other_keys = u8::try_from(level.min(3)).unwrap_or(3);
        self.note_modes(&before);
    }

    fn saved(&self) -> Saved {
        Saved {
            charsets: self.charsets,
            origin: self.origin,
            extra: self.extra,
        }
    }

    fn save_cursor(&mut self) {
        let index = self.screen_index();
        self.saved[index] = self.saved();
        self.pass(b"\x1b7");
    }

    fn restore_cursor(&mut self) {
        let saved = &self.saved[self.screen_index()];
        self.charsets = saved.charsets;
        self.origin = saved.origin;
        self.extra = saved.extra;
        self.pass(b"\x1b8");
    }

    /// Shows the alternate or the main screen. The crate gives each a cursor, margins and an origin mode of its own;
    /// a terminal has one of each, and only 1049 puts the cursor back.
    fn switch(&mut self, mode: u32, on: bool) {
        let (row, col) = self.emulator.cursor();
        let before = self.modes.clone();
        let was = self.modes.alternate_screen;
        match (mode, on) {
            (1049, true) => {
                self.saved[self.screen_index()] = self.saved();
                self.pass(b"\x1b[?1049h");
            }
            (1049, false) => self.pass(if was { b"\x1b[?47l" } else { b"" }),
            (_, true) => self.pass(b"\x1b[?47h"),
            // 1047 leaves nothing on the alternate screen.
            (1047, false) if was => self.pass(b"\x1b[2J\x1b[?47l"),
            (_, false) => self.pass(b"\x1b[?47l"),
        }
        self.modes.alternate_screen = on;
        if was != on {
            self.restate(row, col);
            self.modes.kitty_keys = self.keys[usize::from(on)].flags();
        } else if mode == 1049 && on {
            self.restate(row, col);
        }
        if mode == 1049 && !on {
            self.restore_cursor();
        }
        self.note_modes(&before);
    }

    /// Tells the crate the margins, the origin mode and the cursor position again.
    fn restate(&mut self, row: u16, col: u16) {
        let (top, bottom) = self.region;
        let col = col.min(self.size.cols - 1) + 1;
        self.emit(format_args!("\x1b[?6l\x1b[{};{}r", top + 1, bottom + 1));
        if self.origin {
            self.emit(format_args!("\x1b[?6h"));
        }
        let row = if self.origin {
            row.saturating_sub(top)
        } else {
            row
        } + 1;
        self.emit(format_args!("\x1b[{row};{col}H"));
    }

    fn set_region(&mut self, top: u32, bottom: u32) {
        let rows = u32::from(self.size.rows);
        let bottom = bottom.min(rows);
        // A region is two rows at least; a screen of one row is its own.
        if top >= bottom && (rows > 1 || top > 1) {
            return;
        }
        let place = |n: u32| u16::try_from(n - 1).unwrap_or(u16::MAX);
        self.note_region((place(top), place(bottom)));
        self.emit(format_args!("\x1b[{top};{bottom}r"));
        // The crate leaves the cursor at the top of the region; home is the top of the screen without origin mode.
        if !self.origin {
            self.pass(b"\x1b[H");
        }
    }

    fn note_region(&mut self, region: (u16, u16)) {
        self.region = region;
        self.emulator
            .set_region_full(region == (0, self.size.rows - 1));
    }

    /// ED. What 2 clears off the main screen goes to the scrollback first; 3 empties that.
    fn erase_display(&mut self, how: u32) {
        match how {
            0 | 1 => self.emit(format_args!("\x1b[{how}J")),
            // 22 is kitty's name for what is done here anyway.
            2 | 22 => {
                self.keep_screen();
                self.pass(b"\x1b[2J");
            }
            3 => {
                self.emulator.history_mut().wipe();
                self.changes.wiped = true;
                self.changes.drawn = true;
            }
            _ => {}
        }
    }

    /// Puts what stands on the main screen into the scrollback, up to the last row that is not blank.
    fn keep_screen(&mut self) {
        if self.modes.alternate_screen {
            return;
        }
        let mut rows = self.emulator.rows(self.emulator.screen());
        let kept = rows
            .iter()
            .rposition(|row| !row.is_blank())
            .map_or(0, |n| n + 1);
        rows.truncate(kept);
        if let Some(last) = rows.last_mut() {
            last.wrapped = false;
        }
        let history = self.emulator.history_mut();
        for row in rows {
            history.push(row);
        }
    }

    /// RIS. The rows stay in the scrollback, which is not cleared.
    fn reset(&mut self) {
        if self.modes.alternate_screen {
            self.pass(b"\x1b[?47l");
            self.modes.alternate_screen = false;
        }
        self.keep_screen();
        let before = std::mem::take(&mut self.modes);
        self.pass(b"\x1bc");
        self.extra = Extra::default();
        self.keys = Default::default();
        self.charsets = Charsets::default();
        self.saved = Default::default();
        self.tabs = Tabs::default();
        self.insert = false;
        self.autowrap = true;
        self.origin = false;
        self.note_region((0, self.size.rows - 1));
        self.kept_modes.clear();
        self.note_modes(&before);
    }

    /// DECSTR: the cursor stays where it is.
    fn soft_reset(&mut self) {
        let (row, col) = self.emulator.cursor();
        let before = self.modes.clone();
        self.modes.app_cursor = false;
        self.modes.app_keypad = false;
        let index = self.screen_index();
        self.keys[index] = KeyStack::default();
        self.modes.kitty_keys = 0;
        self.insert = false;
        self.autowrap = true;
        self.origin = false;
        self.charsets = Charsets::default();
        self.note_region((0, self.size.rows - 1));
        self.extra.reset();
        self.pass(b"\x1b[m\x1b[?6l\x1b[?25h\x1b[r\x1b[H");
        self.save_cursor();
        self.restate(row, col);
        self.note_modes(&before);
    }

    /// DECALN.
    fn fill(&mut self) {
        let Size { cols, rows } = self.size;
        let pen = self.pen();
        self.note_region((0, rows - 1));
        self.origin = false;
        let mut bytes = b"\x1b[m\x1b[?6l\x1b[r".to_vec();
        for row in 1..=rows {
            bytes.extend_from_slice(format!("\x1b[{row}H").as_bytes());
            bytes.resize(bytes.len() + usize::from(cols), b'E');
        }
        bytes.extend_from_slice(b"\x1b[H");
        sgr::write(&pen, &mut bytes);
        self.pass(&bytes);
    }

    /// The attributes in force.
    fn pen(&self) -> Style {
        row::pen(self.emulator.screen())
    }

    fn tab(&mut self, count: u32) {
        let (_, mut col) = self.emulator.cursor();
        for _ in 0..count.min(u32::from(self.size.cols)) {
            col = self.tabs.next(col, self.size.cols);
        }
        self.emit(format_args!("\x1b[{}G", col + 1));
    }

    fn back_tab(&mut self, count: u32) {
        let (_, mut col) = self.emulator.cursor();
        for _ in 0..count.min(u32::from(self.size.cols)) {
            col = self.tabs.previous(col);
        }
        self.emit(format_args!("\x1b[{}G", col + 1));
    }

    /// REP, at most a screenful.
    fn repeat(&mut self, count: u32) {
        let Some(c) = self.emulator.last_printed() else {
            return;
        };
        let most = u32::from(self.size.cols) * u32::from(self.size.rows);
        let count = count.min(most).min(u32::from(u16::MAX));
        let text: String = std::iter::repeat_n(c, count as usize).collect();
        self.put_mapped(&text);
    }

    fn title_stack(&mut self, csi: &Csi<'_>) {
        // 1 is the icon's.
        if csi.number(1, 0) == 1 {
            return;
        }
        if csi.number(0, 0) == 22 {
            if self.titles.len() == TITLE_STACK {
                self.titles.remove(0);
            }
            self.titles.push(self.title.clone());
        } else if let Some(title) = self.titles.pop() {
            self.set_title(title);
        }
    }

    fn set_title(&mut self, title: String) {
        if title != self.title {
            self.title = title;
            self.changes.title = true;
        }
    }

    fn osc(&mut self, body: &[u8], bell: bool) {
        let (name, rest) = match body.iter().position(|b| *b == b';') {
            Some(split) => (&body[..split], &body[split + 1..]),
            None => (body, &b""[..]),
        };
        match name {
            b"0" | b"2" => self.set_title(visible(rest)),
            b"7501" => self.report(rest),
            b"8" => self.extra.link = self.links.open(rest),
            b"9" => self.note(rest),
            b"52" => self.signals.copy(rest),
            b"777" => self.titled_note(rest),
            b"4" => self.palette_query(rest, bell),
            b"10" | b"11" | b"12" => self.color_query(name, rest, bell),
            _ => {}
        }
    }

    /// OSC 9. What begins with a number speaks to another terminal: progress and the like.
    fn note(&mut self, body: &[u8]) {
        let number = body.iter().take_while(|b| b.is_ascii_digit()).count();
        if number == 0 || !matches!(body.get(number), None | Some(b';')) {
            self.signals.note(String::new(), visible(body));
        }
    }

    /// OSC 777: `notify`, a title, and what it says.
    fn titled_note(&mut self, body: &[u8]) {
        let mut parts = body.splitn(3, |b| *b == b';');
        if parts.next() == Some(b"notify") {
            let mut part = || visible(parts.next().unwrap_or_default());
            let (title, body) = (part(), part());
            self.signals.note(title, body);
        }
    }

    /// The agent's own report of its state: `state=working:app=codex`; `clear` takes it back.
    fn report(&mut self, body: &[u8]) {
        let text = visible(body);
        let state = text.split(':').find_map(|part| {
            let (key, value) = part.split_once('=')?;
            (key.trim() == "state").then(|| value.trim().to_owned())
        });
        let Some(state) = state else {
            return;
        };
        let state = Some(state).filter(|state| !state.is_empty() && state != "clear");
        if state != self.agent_state {
            self.agent_state = state;
            self.changes.state = true;
        }
    }

    /// Writes a sequence the crate knows and passes it.
    fn emit(&mut self, sequence: std::fmt::Arguments<'_>) {
        match sequence.as_str() {
            Some(text) => self.pass(text.as_bytes()),
            None => self.pass(sequence.to_string().as_bytes()),
        }
    }
}

/// Text of a control string: without controls, bounded.
fn visible(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .filter(|c| !c.is_control())
        .take(TITLE_CHARS)
        .collect()
}
