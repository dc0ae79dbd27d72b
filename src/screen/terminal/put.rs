//! Printing what the crate would print wrong: wide characters at the margin, insert mode, no wrapping, line drawing,
//! replacement characters.

use std::io::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::Style;
use super::super::extra::{self, Extra};
use super::super::known::CELL_BYTES;
use super::super::row::{self, FILLER, REPLACEMENT, is_mark};
use super::super::sgr;
use super::Terminal;

/// Asks for the emoji form, which may be wider than the character before it.
pub(super) const EMOJI: char = '\u{fe0f}';
impl Terminal {
    /// Whether text goes by without the crate printing any of it wrong, from where the cursor is.
    pub(super) fn text_fits(&self, text: &[u8]) -> bool {
        let (_, col) = self.emulator.cursor();
        self.fits(text, (col, true)).is_some()
    }

    /// Prints text: line by line as it is, where the crate gets it right, else character by character.
    pub(super) fn text(&mut self, text: &[u8]) {
        let passing = self.passing();
        let known = if passing.text && passing.tabs {
            self.emulator.process_known(text)
        } else {
            0
        };
        if known > 0 {
            self.note_drawn();
        }
        let text = &text[known..];
        let mut from = 0;
        let mut at = 0;
        let mut place = (self.emulator.cursor().1, true);
        for line in text.split_inclusive(|b| *b == b'\n') {
            let end = at + line.len();
            if let Some(after) = self.fits(line, place) {
                place = after;
            } else {
                self.pass(&text[from..at]);
                self.text_slowly(line);
                place = (self.emulator.cursor().1, true);
                from = end;
            }
            at = end;
        }
        self.pass(&text[from..]);
    }

    /// Whether no character of a text comes to where the crate prints it wrong, when it begins at `place`: a column,
    /// and whether it is certain (after U+FE0F it is this one or the one before). Gives the place where it ends.
    fn fits(&self, text: &[u8], place: (u16, bool)) -> Option<(u16, bool)> {
        let passing = self.passing();
        if !passing.text || !passing.tabs && text.contains(&b'\t') {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let cols = self.size.cols;
        let (mut col, mut certain) = place;
        let joining = passing.joining;
        for c in text.chars() {
            let width = match c {
                ' '..='~' => 1,
                '\r' => {
                    (col, certain) = (0, true);
                    continue;
                }
                '\u{8}' => {
                    col = col.saturating_sub(1);
                    continue;
                }
                '\t' => {
                    col = (col - col % 8 + 8).min(cols - 1);
                    continue;
                }
                '\u{fffd}' | FILLER | REPLACEMENT => return None,
                EMOJI if joining => {
                    certain = false;
                    1
                }
                c if is_mark(c) => return None,
                c => u16::try_from(c.width().unwrap_or(0).min(2)).unwrap_or(2),
            };
            if width == 0 && !joining {
                return None;
            }
            if col + width > cols {
                if !certain || col < cols || c == EMOJI {
                    return None;
                }
                col = 0;
            } else if !certain && col + width == cols {
                return None;
            }
            col += width;
        }
        Some((col, certain))
    }

    fn text_slowly(&mut self, text: &[u8]) {
        for chunk in text.utf8_chunks() {
            let mut rest = chunk.valid();
            while !rest.is_empty() {
                let end = rest
                    .find(|c: char| c.is_ascii_control())
                    .unwrap_or(rest.len());
                let (run, after) = rest.split_at(end);
                self.put(run);
                let Some(control) = after.bytes().next() else {
                    break;
                };
                self.control(control);
                rest = &after[1..];
            }
            match chunk.invalid() {
                [] => {}
                // A C1 control of other encodings, which means nothing in UTF-8.
                [0x80..=0x9f] => {}
                _ => self.put("\u{fffd}"),
            }
        }
    }

    /// Prints characters, mapped by the character set.
    fn put(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.charsets.is_drawing() {
            let mapped: String = text.chars().map(|c| self.charsets.map(c)).collect();
            self.put_mapped(&mapped);
        } else {
            self.put_mapped(text);
        }
    }

    /// Prints characters as they are.
    pub(super) fn put_mapped(&mut self, text: &str) {
        let cols = self.size.cols;
        let mark = (self.extra != Extra::default()).then(|| self.emulator.mark(self.extra));
        let joining = self.passing().joining && mark.is_none();
        let mut out = Vec::with_capacity(text.len());
        let (_, mut col) = self.emulator.cursor();
        for c in text.chars() {
            let c = match c {
                '\u{fffd}' | FILLER | REPLACEMENT => REPLACEMENT,
                c => c,
            };
            if is_mark(c) {
                continue;
            }
            let width = match c.width() {
                Some(width) => u16::try_from(width.min(2)).unwrap_or(2),
                None => continue,
            };
            if width == 0 && !joining || c == EMOJI {
                self.flush(&mut out);
                self.join(c);
                col = self.emulator.cursor().1;
                continue;
            }
            if width > 0 {
                if col + width > cols {
                    if !self.autowrap {
                        col = cols - width;
                        write!(out, "\x1b[{}G", col + 1).expect("a vector takes every byte");
                    } else {
                        if col < cols {
                            push(&mut out, FILLER);
                        }
                        col = 0;
                    }
                }
                if self.insert {
                    write!(out, "\x1b[{width}@").expect("a vector takes every byte");
                }
                col += width;
            }
            push(&mut out, c);
            for c in mark.into_iter().flatten() {
                push(&mut out, c);
            }
        }
        self.flush(&mut out);
    }

    /// Prints a character that joins the one before, whose mark stays behind both.
    fn join(&mut self, c: char) {
        let mut out = Vec::new();
        let Some((col, contents, style)) = self.marked_cell() else {
            if c == EMOJI {
                return self.put_emoji();
            }
            push(&mut out, c);
            return self.flush(&mut out);
        };
        let (mark, text): (String, String) = contents.chars().partition(|c| extra::is_mark(*c));
        let pen = self.pen();
        write!(out, "\x1b[{}G", col + 1).expect("a vector takes every byte");
        sgr::write(&style, &mut out);
        out.extend_from_slice(text.as_bytes());
        if c == EMOJI {
            self.flush(&mut out);
            self.put_emoji();
        } else {
            push(&mut out, c);
        }
        if text.len() + c.len_utf8() <= extra::MARKED_BYTES {
            out.extend_from_slice(mark.as_bytes());
        }
        sgr::write(&pen, &mut out);
        self.flush(&mut out);
    }

    /// The cell that a joining character would join, when it carries a mark: its column, contents and style.
    fn marked_cell(&self) -> Option<(u16, String, Style)> {
        let screen = self.emulator.screen();
        let (row, col) = self.emulator.cursor();
        let col = col.min(self.size.cols).checked_sub(1)?;
        let at = |col| screen.cell(row, col).map(|cell| (col, cell));
        let (col, cell) = match at(col)? {
            (_, cell) if cell.is_wide_continuation() => at(col.checked_sub(1)?)?,
            narrow => narrow,
        };
        let contents = cell.contents();
        contents
            .contains(extra::is_mark)
            .then(|| (col, contents.to_owned(), row::style(cell)))
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            return;
        }
        if self.size.rows == 1 {
            self.emulator.process_soft(out);
        } else {
            self.emulator.process(out);
        }
        self.note_drawn();
        out.clear();
    }

    /// Prints U+FE0F. In the last column it makes a narrow character too wide for the row, which the crate gets wrong
    /// (at the foot of the screen it panics later, terminal.md 2): the character is printed anew in the next row.
    fn put_emoji(&mut self) {
        let mut out = Vec::new();
        let cols = self.size.cols;
        let (row, col) = self.emulator.cursor();
        if col >= cols
            && let Some(cell) = self.emulator.screen().cell(row, cols - 1)
            && !cell.is_wide_continuation()
            && cell.contents().len() < CELL_BYTES
        {
            let widened = format!("{}{EMOJI}", cell.contents());
            if widened.width() > 1 {
                let before = cell.contents().to_owned();
                write!(out, "\x1b[{cols}G").expect("a vector takes every byte");
                if self.autowrap {
                    push(&mut out, FILLER);
                } else {
                    write!(out, " \x1b[{}G", cols - 1).expect("a vector takes every byte");
                }
                out.extend_from_slice(before.as_bytes());
            }
        }
        push(&mut out, EMOJI);
        self.flush(&mut out);
    }
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_ins_take_one_column() {
        assert_eq!((FILLER.width(), REPLACEMENT.width()), (Some(1), Some(1)));
    }
}
