//! The cells: `vt100` without a scrollback of its own, guarded against its panics.
//!
//! Only whole pieces come in, so between two calls no escape is open in the crate and a clone of its screen is all
//! there is to save. The bytes since the last clone are kept, with a bound; after a panic the clone takes them again,
//! without the piece that broke it.

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
use vt100::capture::RowContents;

use super::Size;
use super::damage::{Damage, Reach, part};
use super::extra::{Extra, Extras, Mark};
use super::guard::{self, Panicked};
use super::history::History;
use super::journal::Journal;
use super::known::Known;
use super::overhang::Overhangs;
use super::row::{self, Marks, Row, RowReader, read_screen};
use super::scan::{Piece, Scanner};
use super::vt::Vt;

/// Bytes after which the screen is cloned again; more for a screen so large that a clone costs more than that.
const JOURNAL_BYTES: usize = 512 * 1024;
/// Lines in one batch from which on it pays to know rows from their bytes.
const KNOWN_LINES: usize = 8;
/// Most bytes whose damage is told row by row.
const PARTED_BYTES: usize = 4096;
/// Fewest bytes for which lines are not drawn that do not stay.
const SKIPPED_BYTES: usize = 8 * 1024;
/// Pieces that may break one replay before it is given up.
const BROKEN_PIECES: usize = 8;

/// All that an emulator is, its history left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    vt: Vt,
    overhangs: Overhangs,
    extras: (Vec<Extra>, u32),
    region_full: bool,
    losses: u32,
    last: Option<char>,
}

/// The emulator.
pub(super) struct Emulator {
    parser: vt100::Parser<Sink>,
    saved: vt100::Screen,
    journal: Journal,
    /// The scroll region is the whole screen.
    region_full: bool,
    losses: u32,
    damage: Damage,
}

/// What the emulator calls back.
#[derive(Debug)]
struct Sink {
    history: History,
    overhangs: Overhangs,
    extras: Extras,
    reader: RowReader,
    known: Known,
    bell: bool,
    /// A row left the top of either screen.
    scrolled: bool,
    cols: u16,
    /// The row that leaves now is the one whose text runs on.
    soft: bool,
    /// Rows that left the main screen since the clone was made.
    pushed: u64,
    /// Rows that a replay has yet to leave out, because they are in the history.
    skip: u64,
}

impl vt100::Callbacks for Sink {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.bell = true;
    }

    fn on_scroll(&mut self, contents: RowContents<'_>, alternate_screen: bool) {
        self.scrolled = true;
        if alternate_screen {
            return;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let row = self.known.leave().unwrap_or_else(|| {
            let marks = Marks {
                overhangs: &self.overhangs,
                extras: &self.extras,
            };
            self.reader.read(&contents, marks, self.cols, self.soft)
        });
        self.history.push(row);
        self.pushed += 1;
    }
}

/// Appends the sequences of `bytes` that say which attributes are in force behind them: known bytes hold no others but
/// those that erase.
fn attributes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut begin = bytes.len();
    let mut end = bytes.len();
    // From the last one on that begins anew.
    while let Some(at) = memchr::memrchr(0x1b, &bytes[..end]) {
        begin = at;
        end = at;
        if bytes[at..].starts_with(b"\x1b[m") || bytes[at..].starts_with(b"\x1b[0m") {
            break;
        }
    }
    let mut at = begin;
    while let Some(found) = memchr::memchr(0x1b, &bytes[at..]) {
        at += found;
        let length = bytes[at..]
            .iter()
            .position(u8::is_ascii_alphabetic)
            .map_or(bytes.len() - at, |last| last + 1);
        if bytes[at + length - 1] == b'm' {
            out.extend_from_slice(&bytes[at..at + length]);
        }
        at += length;
    }
}

/// Changes the size of a screen that stands alone; `false` when that broke it.
pub(super) fn resize(screen: &mut vt100::Screen, size: Size) -> bool {
    let (rows, cols) = sides(size);
    guard::call(|| screen.set_size(rows, cols)).is_ok()
}

/// Rows and columns as the crate wants them.
fn sides(size: Size) -> (NonZeroU16, NonZeroU16) {
    let side = |n| NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN);
    (side(size.rows), side(size.cols))
}

impl Emulator {
    /// An empty screen whose history keeps `scrollback` rows.
    pub(super) fn new(size: Size, scrollback: usize) -> Self {
        guard::install();
        let (rows, cols) = sides(size);
        let sink = Sink {
            history: History::new(scrollback),
            overhangs: Overhangs::default(),
            extras: Extras::default(),
            reader: RowReader::default(),
            known: Known::default(),
            bell: false,
            scrolled: false,
            cols: size.cols,
            soft: false,
            pushed: 0,
            skip: 0,
        };
        let parser = vt100::Parser::new_with_callbacks(rows, cols, 0, sink);
        let saved = parser.screen().clone();
        Self {
            parser,
            saved,
            journal: Journal::default(),
            region_full: true,
            losses: 0,
            damage: Damage::default(),
        }
    }

    /// What it is; none when that could not be made again.
    pub(super) fn kept(&self) -> Option<Kept> {
        let sink = self.parser.callbacks();
        let kept = Kept {
            vt: Vt::read(self.parser.screen())?,
            overhangs: sink.overhangs.clone(),
            extras: sink.extras.kept(),
            region_full: self.region_full,
            losses: self.losses,
            last: self.journal.last_printed(),
        };
        Self::of(kept.clone(), History::new(0))?;
        Some(kept)
    }

    /// Makes it again; none when that does not come to the same.
    pub(super) fn of(kept: Kept, history: History) -> Option<Self> {
        let (cols, rows) = kept.vt.size();
        let size = Size { cols, rows };
        if !kept.vt.is_sound() || size != Size::new(cols, rows) {
            return None;
        }
        let mut emulator = Self::new(size, 0);
        kept.vt.draw(&mut emulator.parser)?;
        if Vt::read(emulator.parser.screen())? != kept.vt {
            return None;
        }
        let sink = emulator.parser.callbacks_mut();
        sink.history = history;
        sink.overhangs = kept.overhangs;
        sink.extras = Extras::again(kept.extras)?;
        emulator.region_full = kept.region_full;
        emulator.losses = kept.losses;
        emulator.settle(kept.last);
        emulator.damage_all();
        Some(emulator)
    }

    /// The rows that may look different since the last call.
    pub(super) fn take_damage(&mut self) -> Damage {
        std::mem::replace(&mut self.damage, Damage::nothing())
    }

    /// Takes everything for different.
    pub(super) fn damage_all(&mut self) {
        self.damage.add_all();
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> Size {
        let (rows, cols) = self.parser.screen().size();
        Size {
            cols: cols.get(),
            rows: rows.get(),
        }
    }

    /// The crate's screen.
    pub(super) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Row and column of the cursor; the column is the width while a wrap is pending.
    pub(super) fn cursor(&self) -> (u16, u16) {
        self.parser.screen().cursor_position()
    }

    /// The rows that left the top.
    pub(super) fn history(&self) -> &History {
        &self.parser.callbacks().history
    }

    /// The rows that left the top.
    pub(super) fn history_mut(&mut self) -> &mut History {
        &mut self.parser.callbacks_mut().history
    }

    /// The rows of a screen, this one's or an earlier state of it.
    pub(super) fn rows(&self, screen: &vt100::Screen) -> Vec<Row> {
        let sink = self.parser.callbacks();
        let marks = Marks {
            overhangs: &sink.overhangs,
            extras: &sink.extras,
        };
        read_screen(screen, marks)
    }

    /// The looks that cells are marked with.
    pub(super) fn extras(&self) -> &Extras {
        &self.parser.callbacks().extras
    }

    /// The mark to print behind a character that looks like this.
    pub(super) fn mark(&mut self, extra: Extra) -> Mark {
        let (mark, forgets) = self.parser.callbacks_mut().extras.mark(extra);
        if forgets {
            self.damage.add_all();
        }
        mark
    }

    /// What hangs on rows.
    pub(super) fn overhangs(&self) -> &Overhangs {
        &self.parser.callbacks().overhangs
    }

    /// What hangs on rows.
    pub(super) fn overhangs_mut(&mut self) -> &mut Overhangs {
        &mut self.parser.callbacks_mut().overhangs
    }

    /// Changes the size.
    pub(super) fn resize(&mut self, size: Size) {
        let (rows, cols) = sides(size);
        self.known().end();
        self.damage.add_all();
        let parser = &mut self.parser;
        parser.callbacks_mut().cols = size.cols;
        if guard::call(|| parser.set_size(rows, cols)) == Err(Panicked) {
            self.losses = self.losses.saturating_add(1);
            self.start_over(size);
        }
        self.save();
    }

    /// An empty screen; the rows of the one before are in the history.
    fn start_over(&mut self, size: Size) {
        self.rewind();
        let journal = std::mem::take(&mut self.journal);
        let parser = &mut self.parser;
        // It did not panic the first time; if it does now, older rows are still rows.
        let _ = guard::call(|| parser.process(journal.bytes()));
        let rows = self.rows(self.parser.screen());
        let mut sink = self.take_sink(size);
        sink.skip = 0;
        for row in rows {
            sink.history.push(row);
        }
        let (rows, cols) = sides(size);
        self.parser = vt100::Parser::new_with_callbacks(rows, cols, 0, sink);
    }

    /// How often something was lost.
    pub(super) fn losses(&self) -> u32 {
        self.losses
    }

    /// Whether the bell rang since the last call.
    pub(super) fn take_bell(&mut self) -> bool {
        std::mem::take(&mut self.parser.callbacks_mut().bell)
    }

    /// Feeds text of which any row that leaves does so because it ran on (a screen of one row only).
    pub(super) fn process_soft(&mut self, bytes: &[u8]) {
        self.parser.callbacks_mut().soft = true;
        self.process(bytes);
        self.parser.callbacks_mut().soft = false;
    }

    /// Feeds whole pieces.
    pub(super) fn process(&mut self, bytes: &[u8]) {
        let mut rest = &bytes[self.process_known(bytes)..];
        if rest.is_empty() {
            return;
        }
        let begun = self.begin_known(rest);
        if self.known().is_active() {
            let followed = begun + self.known().follow(&rest[begun..]);
            self.feed_known(&rest[begun..followed]);
            rest = &rest[followed..];
            if rest.is_empty() {
                return;
            }
            self.known().end();
        } else {
            rest = &rest[begun..];
        }
        self.feed(rest);
    }

    /// Feeds the bytes as far as rows stay known, which are also those the crate prints right; gives how many.
    pub(super) fn process_known(&mut self, bytes: &[u8]) -> usize {
        if !self.known().is_active() {
            return 0;
        }
        let followed = self.known().follow(bytes);
        self.feed_known(&bytes[..followed]);
        if followed < bytes.len() {
            self.known().end();
        }
        followed
    }

    /// Feeds bytes whose rows are known. Of many lines only those are drawn that stay on the screen: the others go to
    /// the history as they are known.
    fn feed_known(&mut self, bytes: &[u8]) {
        let Some(from) = self.last_lines(bytes) else {
            return self.feed(bytes);
        };
        let rows = usize::from(self.parser.screen().size().0.get());
        let Some(gone) = self.known().give_up(rows - 1) else {
            return self.feed(bytes);
        };
        for row in gone {
            self.history_mut().push(row);
        }
        // The row that is being written ends, and the attributes are those the lines left out would have left.
        let mut drawn = b"\r\n".to_vec();
        attributes(&bytes[..from], &mut drawn);
        drawn.extend_from_slice(&bytes[from..]);
        self.save();
        // What is left out rings all the same.
        self.parser.callbacks_mut().bell |= memchr::memchr(0x07, &bytes[..from]).is_some();
        self.parser.callbacks_mut().skip = u64::MAX;
        self.damage.add_all();
        self.feed_whole(&drawn);
        self.parser.callbacks_mut().skip = 0;
        self.save();
    }

    /// Where the lines begin that stay on the screen, when there are many more before them.
    fn last_lines(&self, bytes: &[u8]) -> Option<usize> {
        let rows = usize::from(self.parser.screen().size().0.get());
        let mut from = bytes.len();
        for _ in 0..=rows {
            from = memchr::memrchr(b'\n', &bytes[..from])?;
        }
        // What is saved is worth a copy of the screen.
        (from > bytes.len() - from && from > SKIPPED_BYTES).then_some(from + 1)
    }

    /// Says whether the whole screen scrolls.
    pub(super) fn set_region_full(&mut self, full: bool) {
        self.region_full = full;
    }

    /// Whether the rows of the screen are known from their bytes.
    pub(super) fn knows_rows(&self) -> bool {
        self.parser.callbacks().known.is_active()
    }

    fn known(&mut self) -> &mut Known {
        &mut self.parser.callbacks_mut().known
    }

    /// Feeds the bytes up to where rows become known, if there are so many lines that it pays; gives how many.
    fn begin_known(&mut self, bytes: &[u8]) -> usize {
        let (rows, cols) = self.parser.screen().size();
        let last = rows.get() - 1;
        if last == 0
            || !self.region_full
            || self.cursor().0 != last
            || self.parser.screen().alternate_screen()
            || memchr::memchr_iter(b'\n', bytes).take(KNOWN_LINES).count() < KNOWN_LINES
        {
            return 0;
        }
        let line = memchr::memchr(b'\n', bytes).unwrap_or(0);
        self.feed(&bytes[..line]);
        let before = self.history().end();
        let foot = self.cursor().0 == last;
        self.feed(b"\n");
        // A row left, so the last one is blank.
        let scrolled = self.history().end() != before;
        if foot && scrolled && self.cursor() == (last, 0) {
            let style = row::pen(self.parser.screen());
            self.known().begin(rows.get(), cols.get(), style);
        }
        line + 1
    }

    fn feed(&mut self, bytes: &[u8]) {
        if self.damage.is_everything() || bytes.len() > PARTED_BYTES {
            self.damage.add_all();
            return self.feed_whole(bytes);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (length, reach) = part(rest);
            let (now, later) = rest.split_at(length);
            let before = self.cursor().0;
            self.parser.callbacks_mut().scrolled = false;
            self.feed_whole(now);
            let scrolls = self.parser.callbacks().scrolled
                // Within a region nothing tells that rows moved.
                || (!self.region_full && memchr::memchr(b'\n', now).is_some());
            match reach {
                Reach::All => self.damage.add_all(),
                Reach::Down if scrolls || !self.region_full => self.damage.add_all(),
                Reach::Down => {
                    let after = self.cursor().0;
                    // What combines with a character may belong to the end of the row above.
                    let first = before.min(after).saturating_sub(1);
                    self.damage.add_rows(first, before.max(after));
                }
                Reach::Nothing => {}
            }
            rest = later;
        }
    }

    fn feed_whole(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.journal.bytes().len() + bytes.len() > self.journal_limit() {
            self.save();
        }
        let parser = &mut self.parser;
        if guard::call(|| parser.process(bytes)) == Err(Panicked) {
            self.recover(bytes);
        } else {
            self.journal.push(bytes);
        }
    }

    fn journal_limit(&self) -> usize {
        let (rows, cols) = self.parser.screen().size();
        JOURNAL_BYTES.max(usize::from(rows.get()) * usize::from(cols.get()) * 4)
    }

    /// Makes the state of now the one a replay starts from.
    fn save(&mut self) {
        self.saved = self.parser.screen().clone();
        self.journal.clear();
        self.parser.callbacks_mut().pushed = 0;
    }

    /// Builds the screen again after `bytes` made the crate panic.
    fn recover(&mut self, bytes: &[u8]) {
        self.damage.add_all();
        let units = units(bytes);
        let mut broken: Vec<usize> = Vec::new();
        while broken.len() < BROKEN_PIECES {
            match self.replay(&units, &broken) {
                Ok(()) => break,
                Err(unit) => broken.push(unit),
            }
        }
        self.losses = self.losses.saturating_add(1);
        if broken.len() == BROKEN_PIECES {
            let (rows, cols) = self.saved.size();
            self.start_over(Size {
                cols: cols.get(),
                rows: rows.get(),
            });
        }
        self.parser.callbacks_mut().skip = 0;
        self.save();
    }

    /// Saves the state of now, in which `last` counts as the last character printed.
    pub(super) fn settle(&mut self, last: Option<char>) {
        self.journal.clear_with(last);
        self.save();
    }

    /// The last character printed.
    pub(super) fn last_printed(&self) -> Option<char> {
        self.journal.last_printed()
    }

    /// Goes back to the clone, with a fresh parser around it.
    fn rewind(&mut self) {
        let (rows, cols) = self.saved.size();
        let sink = self.take_sink(Size {
            cols: cols.get(),
            rows: rows.get(),
        });
        self.parser = vt100::Parser::new_with_callbacks(rows, cols, 0, sink);
        *self.parser.screen_mut() = self.saved.clone();
    }

    /// What is called back, taken out of a parser that is given up.
    fn take_sink(&mut self, size: Size) -> Sink {
        let sink = self.parser.callbacks_mut();
        Sink {
            scrolled: false,
            history: std::mem::replace(&mut sink.history, History::new(0)),
            overhangs: std::mem::take(&mut sink.overhangs),
            extras: std::mem::take(&mut sink.extras),
            reader: RowReader::default(),
            known: Known::default(),
            bell: sink.bell,
            cols: size.cols,
            soft: sink.soft,
            pushed: sink.pushed,
            skip: sink.pushed,
        }
    }

    /// Feeds the journal and then every unit that is not known to break it; gives the one that does.
    fn replay(&mut self, units: &[Vec<u8>], broken: &[usize]) -> Result<(), usize> {
        self.rewind();
        let parser = &mut self.parser;
        let journal = self.journal.bytes();
        let mut at = 0;
        let whole = guard::call(|| {
            parser.process(journal);
            for (i, unit) in units.iter().enumerate() {
                at = i;
                if !broken.contains(&i) {
                    parser.process(unit);
                }
            }
        });
        whole.map_err(|Panicked| at)
    }
}

/// The pieces of `bytes`, text by characters.
fn units(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut scanner = Scanner::default();
    let mut units = Vec::new();
    let mut at = 0;
    while let Some((piece, _)) = scanner.next(bytes, &mut at) {
        if let Piece::Text(text) = piece {
            for chunk in text.utf8_chunks() {
                units.extend(
                    chunk
                        .valid()
                        .chars()
                        .map(|c| c.encode_utf8(&mut [0; 4]).as_bytes().to_vec()),
                );
            }
        } else {
            let mut unit = Vec::new();
            piece.write(&mut unit);
            units.push(unit);
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes vt100 0.18.1 panic on a screen of 80 by 24 (terminal.md 2).
    const BREAKS: &str = "\x1b[24;80H\u{2764}\u{fe0f}\x1b[23;80HX";

    fn texts(emulator: &Emulator) -> Vec<String> {
        let shown = emulator.rows(emulator.screen());
        emulator
            .history()
            .since(0)
            .chain(&shown)
            .map(|row| row.text.to_string())
            .filter(|text| !text.is_empty())
            .collect()
    }

    fn emulator() -> Emulator {
        Emulator::new(Size { cols: 80, rows: 24 }, 1000)
    }

    #[test]
    fn the_reproducer_still_breaks_the_crate() {
        guard::install();
        let (rows, cols) = sides(Size { cols: 80, rows: 24 });
        let mut parser = vt100::Parser::new(rows, cols, 0);
        assert_eq!(
            guard::call(|| parser.process(BREAKS.as_bytes())),
            Err(Panicked)
        );
    }

    #[test]
    fn a_panic_costs_the_piece_that_made_it() {
        let mut emulator = emulator();
        emulator.process(b"\x1b[Hhello");
        emulator.process(format!("\x1b[2;1Hbefore{BREAKS}\x1b[3;1Hafter").as_bytes());
        emulator.process(b"\x1b[4;1Hlater");
        assert_eq!(emulator.losses(), 1);
        let texts = texts(&emulator);
        for text in ["hello", "before", "after", "later"] {
            assert!(texts.iter().any(|row| row == text), "{text} in {texts:?}");
        }
    }

    #[test]
    fn a_panic_neither_doubles_nor_drops_rows_of_the_history() {
        let mut emulator = emulator();
        let lines = |from: usize, to: usize| -> String {
            (from..to)
                .map(|n| format!("\x1b[24;1H\r\nline {n}"))
                .collect()
        };
        emulator.process(lines(0, 100).as_bytes());
        let bytes = format!("{}{BREAKS}{}", lines(100, 200), lines(200, 300));
        emulator.process(bytes.as_bytes());
        emulator.process(lines(300, 400).as_bytes());
        let texts: Vec<String> = texts(&emulator)
            .into_iter()
            .filter(|text| text.starts_with("line"))
            .filter_map(|text| text.split("  ").next().map(str::to_owned))
            .collect();
        let wanted: Vec<String> = (0..400).map(|n| format!("line {n}")).collect();
        assert_eq!(texts, wanted);
        assert_eq!(emulator.losses(), 1);
    }

    #[test]
    fn the_state_that_no_row_shows_survives_a_panic() {
        let mut emulator = emulator();
        emulator.process(b"\x1b[5;9H\x1b7\x1b[1;31m\x1b[2;4r");
        emulator.process(BREAKS.as_bytes());
        emulator.process(b"\x1b8x");
        assert_eq!(emulator.cursor(), (4, 9));
    }

    #[test]
    fn a_panic_costs_no_look() {
        let mut emulator = emulator();
        let struck = Extra {
            strike: true,
            ..Extra::default()
        };
        let mark = emulator.mark(struck);
        emulator.process(format!("x{}{}y{BREAKS}", mark[0], mark[1]).as_bytes());
        assert_eq!(emulator.losses(), 1);
        let rows = emulator.rows(emulator.screen());
        let marked = emulator
            .history()
            .since(0)
            .chain(&rows)
            .find(|row| &*row.text == "xy");
        assert_eq!(
            marked.map(|row| &*row.extras),
            Some(&[(0, struck), (1, Extra::default())][..])
        );
    }

    #[test]
    fn starting_over_keeps_the_rows() {
        let mut emulator = emulator();
        emulator.process(b"one\r\ntwo");
        emulator.start_over(Size { cols: 40, rows: 5 });
        emulator.save();
        emulator.process(b"three");
        assert_eq!(texts(&emulator), ["one", "two", "three"]);
        assert_eq!(emulator.screen().size(), sides(Size { cols: 40, rows: 5 }));
    }

    #[test]
    fn a_screen_full_of_panics_stays_a_screen() {
        let mut emulator = emulator();
        emulator.process(BREAKS.repeat(50).as_bytes());
        emulator.process(b"\x1b[Hstill here");
        assert!(texts(&emulator)[0].starts_with("still here"));
    }
}
