//! How far the crate may take the bytes as they are.
//!
//! Nearly all of what a child writes is plain text, colours and cursor positions, and every byte passes here: it is
//! written to be fast, and leaves whatever it is not sure of to the scanner.

use unicode_width::UnicodeWidthChar;

use super::super::overhang::is_mark;
use super::super::row::{FILLER, REPLACEMENT};
use super::super::scan::plain_end;
use super::super::sgr;
use super::put::EMOJI;

const ESC: u8 = 0x1b;

/// What kinds of text pass.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Passing {
    /// Any text at all.
    pub(in super::super) text: bool,
    /// Tabs in it.
    pub(in super::super) tabs: bool,
}

impl Passing {
    /// Everything there is.
    pub(in super::super) const ALL: Self = Self {
        text: true,
        tabs: true,
    };

    /// The length of the longest run of whole pieces at the start of `bytes` that pass, and where the last text in
    /// it begins and ends.
    pub(in super::super) fn length(self, bytes: &[u8]) -> (usize, std::ops::Range<usize>) {
        let mut at = 0;
        let mut text = 0..0;
        loop {
            if self.text {
                let end = self.text_end(bytes, at);
                if end > at {
                    let printed = bytes[at] >= b' ' || bytes[end - 1] >= b' ';
                    if printed || bytes[at..end].iter().any(|b| *b >= b' ') {
                        text = at..end;
                    }
                    at = end;
                }
            }
            if bytes.get(at) != Some(&ESC) {
                return (at, text);
            }
            match sequence_length(&bytes[at..]) {
                Some(length) => at += length,
                None => return (at, text),
            }
        }
    }

    /// Where the text that starts at `at` stops passing.
    fn text_end(self, bytes: &[u8], mut at: usize) -> usize {
        loop {
            at = plain_end(bytes, at);
            match bytes.get(at) {
                Some(0x7f | b'\r' | b'\n' | 0x07 | 0x08 | 0x0b | 0x0c) => at += 1,
                Some(b'\t') if self.tabs => at += 1,
                Some(0x80..) => match narrow(&bytes[at..]) {
                    Some(length) => at += length,
                    None => return at,
                },
                _ => return at,
            }
        }
    }
}

/// Length of the character at the start of `bytes`, unless it is none or one the crate may print wrong.
fn narrow(bytes: &[u8]) -> Option<usize> {
    let continuation = |b: u8| (0x80..0xc0).contains(&b).then(|| u32::from(b & 0x3f));
    match *bytes {
        [0xc2..=0xdf, b, ..] => continuation(b).map(|_| 2),
        [a @ 0xe0..=0xef, b, c, ..] => {
            let code = u32::from(a & 0x0f) << 12 | continuation(b)? << 6 | continuation(c)?;
            // What is overlong or half of a pair is no character.
            let c = char::from_u32(code).filter(|c| *c >= '\u{800}')?;
            (!needs_care(c)).then_some(3)
        }
        _ => None,
    }
}

/// Whether a character is one the crate may print wrong.
pub(super) fn needs_care(c: char) -> bool {
    match c {
        // Latin to before Hangul; punctuation to arrows and mathematics; box drawing to shapes, but for few emoji.
        '\0'..='\u{10ff}' | '\u{2010}'..='\u{2319}' | '\u{2500}'..='\u{25fc}' => false,
        EMOJI | '\u{fffd}' | FILLER | REPLACEMENT => true,
        c => is_mark(c) || c.width().is_some_and(|width| width > 1),
    }
}

/// Length of the sequence at the start of `bytes`, if the crate does what a terminal does with it.
fn sequence_length(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'[' => {
            let body = &bytes[2..];
            let params = body.iter().position(|b| !matches!(b, b'0'..=b'9' | b';'))?;
            csi_passes(&body[..params], body[params]).then_some(params + 3)
        }
        b'M' => Some(2),
        _ => None,
    }
}

/// Whether the crate does a control sequence right that has nothing but digits and semicolons before its last byte.
pub(super) fn csi_passes(params: &[u8], last: u8) -> bool {
    match last {
        b'm' => sgr::is_plain(params),
        b'A'..=b'H' | b'f' | b'K'..=b'M' | b'P' | b'S' | b'T' | b'X' | b'@' | b'd' | b'`' => true,
        b'J' => matches!(params, b"" | b"0" | b"1"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Passing = Passing::ALL;

    fn passes(bytes: &[u8]) -> usize {
        ALL.length(bytes).0
    }

    #[test]
    fn plain_output_passes_whole() {
        let bytes = "abc\tdefghijklmnopqrstuvw é─│●\r\n\x1b[1;38;5;3mx\x1b[m\x1b[3;4H\x1b[K\x1bMyz"
            .as_bytes();
        assert_eq!(passes(bytes), bytes.len());
    }

    #[test]
    fn it_stops_before_what_it_does_not_know() {
        for stop in [
            "\x1b[?25h",
            "\x1b]0;t\x07",
            "\x1b[2J",
            "\x1b[s",
            "\x1b[5b",
            "\x1b[4:3m",
            "\x1b7",
            "\x1b",
            "世",
            "\u{fe0f}",
            "\u{fffd}",
            "🎉",
            "\x0e",
            "\x18",
        ] {
            let bytes = format!("plain text\x1b[m{stop}more");
            assert_eq!(passes(bytes.as_bytes()), 13, "{stop:?}");
        }
        for stop in [
            &b"\xff"[..],
            b"\xe2\x94",
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xe0\x80\x80",
            b"\xc0\x80",
        ] {
            assert_eq!(passes(&[b"plain", stop, b"A"].concat()), 5, "{stop:?}");
        }
        assert_eq!(passes(b"plain\xe2\x94"), 5);
    }

    #[test]
    fn it_tells_where_the_last_text_is() {
        assert_eq!(ALL.length(b"ab\x1b[mcd\r\n\x1b[m\r\n").1, 5..9);
        assert_eq!(ALL.length(b"ab\x1b[m").1, 0..2);
        assert_eq!(ALL.length(b"\r\nab\r\n\x1b[m").1, 0..6);
    }

    #[test]
    fn tabs_and_text_can_be_kept_from_passing() {
        let no_tabs = Passing { tabs: false, ..ALL };
        assert_eq!(no_tabs.length(b"ab\tcd").0, 2);
        let no_text = Passing { text: false, ..ALL };
        assert_eq!(no_text.length(b"\x1b[mab").0, 3);
    }

    #[test]
    fn the_ranges_taken_for_narrow_hold_no_wide_character() {
        for c in ('\0'..='\u{10ff}')
            .chain('\u{2010}'..='\u{2319}')
            .chain('\u{2500}'..='\u{25fc}')
        {
            assert!(c.width().is_none_or(|width| width < 2), "{c:?}");
        }
    }
}
