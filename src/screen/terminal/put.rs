//! Printing what the crate would print wrong: wide characters at the margin, insert mode, no wrapping, line drawing,
//! replacement characters.

use std::io::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::overhang::is_mark;
use super::super::row::{FILLER, REPLACEMENT};
use super::Terminal;

/// Asks for the emoji form, which may be wider than the character before it.
const EMOJI: char = '\u{fe0f}';
/// What the crate lets a cell hold before it drops what is appended.
const CELL_BYTES: usize = 18;

impl Terminal {
    /// Whether the crate prints this text right wherever the cursor is.
    pub(super) fn text_passes(&mut self, text: &[u8]) -> bool {
        let plain = self.autowrap
            && !self.insert
            && !self.charsets.is_drawing()
            && self.size.rows > 1
            && (self.tabs.is_default() || !text.contains(&b'\t'));
        if !plain {
            return false;
        }
        if text.is_ascii() {
            if let Some(last) = text.iter().rev().find(|b| matches!(b, 0x20..=0x7e)) {
                self.last = Some(char::from(*last));
            }
            return true;
        }
        let Ok(text) = std::str::from_utf8(text) else {
            return false;
        };
        if text.chars().any(needs_care) {
            return false;
        }
        self.last = last_printed(text).or(self.last);
        true
    }

    /// Prints text piece by piece.
    pub(super) fn text(&mut self, text: &[u8]) {
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
        self.last = last_printed(text).or(self.last);
        let cols = self.size.cols;
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
            if c == EMOJI {
                self.flush(&mut out);
                self.put_emoji();
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
        }
        self.flush(&mut out);
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

/// Whether a character is one the crate may print wrong.
fn needs_care(c: char) -> bool {
    match c {
        // Latin to before Hangul; arrows to geometric shapes but for the few emoji; box drawing.
        '\0'..='\u{10ff}' | '\u{2010}'..='\u{2319}' | '\u{2500}'..='\u{25fc}' => false,
        EMOJI | '\u{fffd}' | FILLER | REPLACEMENT => true,
        c => is_mark(c) || c.width().is_some_and(|width| width > 1),
    }
}

/// The last character that takes up a column.
fn last_printed(text: &str) -> Option<char> {
    text.chars()
        .rev()
        .find(|c| c.width().is_some_and(|width| width > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_taken_for_narrow_hold_no_wide_character() {
        for c in ('\0'..='\u{10ff}')
            .chain('\u{2010}'..='\u{2319}')
            .chain('\u{2500}'..='\u{25fc}')
        {
            assert!(c.width().is_none_or(|width| width < 2), "{c:?}");
        }
    }

    #[test]
    fn the_stand_ins_take_one_column() {
        assert_eq!((FILLER.width(), REPLACEMENT.width()), (Some(1), Some(1)));
    }
}
