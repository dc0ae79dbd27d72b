//! Printing what the crate would print wrong: wide characters at the margin, insert mode, no wrapping, line drawing,
//! replacement characters.

use std::io::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::overhang::is_mark;
use super::super::row::{FILLER, REPLACEMENT};
use super::Terminal;

/// Asks for the emoji form, which may be wider than the character before it.
pub(super) const EMOJI: char = '\u{fe0f}';
/// What the crate lets a cell hold before it drops what is appended.
const CELL_BYTES: usize = 18;

impl Terminal {
    /// Prints text: line by line as it is, where the crate gets it right, else character by character.
    pub(super) fn text(&mut self, text: &[u8]) {
        let passing = self.passing();
        for line in text.split_inclusive(|b| *b == b'\n') {
            if passing.text && (passing.tabs || !line.contains(&b'\t')) && self.fits(line) {
                self.last = last_printed(line).or(self.last);
                self.pass(line);
            } else {
                self.text_slowly(line);
            }
        }
    }

    /// Whether no character of a line comes to where the crate prints it wrong.
    fn fits(&self, line: &[u8]) -> bool {
        let Ok(line) = std::str::from_utf8(line) else {
            return false;
        };
        let cols = self.size.cols;
        let (_, mut col) = self.emulator.cursor();
        // After U+FE0F the column is this one or the one before.
        let mut exact = true;
        for c in line.chars() {
            let width = match c {
                '\r' => {
                    (col, exact) = (0, true);
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
                '\u{fffd}' | FILLER | REPLACEMENT => return false,
                EMOJI => {
                    exact = false;
                    1
                }
                c if is_mark(c) => return false,
                c => u16::try_from(c.width().unwrap_or(0).min(2)).unwrap_or(2),
            };
            if col + width > cols {
                if !exact || col < cols || c == EMOJI {
                    return false;
                }
                col = 0;
            } else if !exact && col + width == cols {
                return false;
            }
            col += width;
        }
        true
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
        self.last = last_printed(text.as_bytes()).or(self.last);
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

/// The last character in `text` that takes up a column.
pub(super) fn last_printed(text: &[u8]) -> Option<char> {
    let tail = &text[text.len().saturating_sub(64)..];
    let begin = tail.iter().position(|b| !(0x80..0xc0).contains(b))?;
    let find = |text: &str| {
        text.chars()
            .rev()
            .find(|c| c.width().is_some_and(|width| width > 0))
    };
    find(&String::from_utf8_lossy(&tail[begin..])).or_else(|| find(&String::from_utf8_lossy(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_ins_take_one_column() {
        assert_eq!((FILLER.width(), REPLACEMENT.width()), (Some(1), Some(1)));
    }
}
