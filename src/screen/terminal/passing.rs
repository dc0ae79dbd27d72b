//! How far the crate may take the bytes as they are.
//!
//! Nearly all of what a child writes is plain text, colours and cursor positions, and every byte passes here: it is
//! written to be fast, and leaves whatever it is not sure of to the scanner.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::row::{FILLER, REPLACEMENT, is_mark};
use super::super::scan::{params_in, params_length, plain_end};
use super::super::sgr;
use super::put::EMOJI;

const ESC: u8 = 0x1b;

/// What passes in the present state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passing {
    /// Text.
    pub(super) text: bool,
    /// Tabs in it.
    pub(super) tabs: bool,
    /// Attributes.
    pub(super) styles: bool,
    /// Characters that join the one before.
    pub(super) joining: bool,
    /// Whole synchronized frames, and whether one is open now; `None` when no step of a frame passes.
    pub(super) frame: Option<bool>,
}

/// A run of whole pieces that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Its bytes.
    pub(super) length: usize,
    /// `Passing::frame` behind it.
    pub(super) frame: Option<bool>,
}

impl Passing {
    /// While no mode and no open frame forbids anything.
    pub(super) const ANYTHING: Self = Self {
        text: true,
        tabs: true,
        styles: true,
        joining: true,
        frame: Some(false),
    };

    /// The longest run at the start of `bytes` that passes. It ends before a frame whose end is not in it.
    pub(super) fn run(self, bytes: &[u8], plain: &mut PlainStyles) -> Run {
        let mut at = 0;
        let mut frame = self.frame;
        let mut opened = None;
        loop {
            if bytes.get(at) != Some(&ESC) {
                let end = if self.text {
                    self.text_end(bytes, at)
                } else {
                    at
                };
                if end == at {
                    break;
                }
                at = end;
                continue;
            }
            at += match sequence(&bytes[at..], plain) {
                Some(Sequence::Passes(length)) if self.styles || bytes[at + length - 1] != b'm' => {
                    length
                }
                Some(Sequence::Frame { open, length }) if frame.is_some() => {
                    if open && frame == Some(false) {
                        opened = Some(at);
                    } else if !open {
                        opened = None;
                    }
                    frame = Some(open);
                    length
                }
                _ => break,
            };
        }
        match opened {
            Some(length) => Run {
                length,
                frame: Some(false),
            },
            None => Run { length: at, frame },
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
                    Some(length) if self.joining || !joins(&bytes[at..at + length]) => at += length,
                    _ => return at,
                },
                _ => return at,
            }
        }
    }
}

/// Whether all of `bytes` passes while nothing forbids it.
pub(in super::super) fn passes_whole(bytes: &[u8], plain: &mut PlainStyles) -> bool {
    let run = Passing::ANYTHING.run(bytes, plain);
    run.length == bytes.len() && run.frame == Some(false)
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

/// Whether a narrow character joins the one before.
fn joins(bytes: &[u8]) -> bool {
    // Much of what agents draw is lines and shapes.
    !matches!(bytes, [0xe2, 0x94..=0x96, _])
        && std::str::from_utf8(bytes).is_ok_and(|text| text.width() == 0)
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

/// What a sequence is to the crate.
enum Sequence {
    /// It does with it what a terminal does.
    Passes(usize),
    /// A step of a frame, of which it knows nothing.
    Frame { open: bool, length: usize },
}

/// The sequence at the start of `bytes`, if it passes in any state.
fn sequence(bytes: &[u8], plain: &mut PlainStyles) -> Option<Sequence> {
    match bytes.get(1)? {
        b'[' => control_sequence(&bytes[2..], plain),
        b'M' => Some(Sequence::Passes(2)),
        _ => None,
    }
}

/// The same for what follows `ESC [`.
fn control_sequence(body: &[u8], plain: &mut PlainStyles) -> Option<Sequence> {
    let Some(words) = body.first_chunk::<16>() else {
        // The end of the bytes is near; the slow way will do.
        return private(body).or_else(|| {
            let length = body.iter().position(|b| !matches!(b, b'0'..=b'9' | b';'))?;
            passes(&body[..length], body[length]).then_some(Sequence::Passes(length + 3))
        });
    };
    let words = u128::from_le_bytes(*words);
    let mut length = params_in(words);
    if length == 16 {
        length = params_length(body);
    }
    let passes = match *body.get(length)? {
        b'm' if length <= 16 => {
            let bits = 8 * u32::try_from(length).unwrap_or(16);
            let beyond = u128::MAX.checked_shl(bits).unwrap_or(0);
            plain.holds(words & !beyond, &body[..length])
        }
        b'?' if length == 0 => return private(body),
        last => passes(&body[..length], last),
    };
    passes.then_some(Sequence::Passes(length + 3))
}

/// The private modes that pass: the cursor's visibility and the steps of a frame.
fn private(body: &[u8]) -> Option<Sequence> {
    match body {
        [b'?', b'2', b'5', b'h' | b'l', ..] => Some(Sequence::Passes(6)),
        [b'?', b'2', b'0', b'2', b'6', step @ (b'h' | b'l'), ..] => Some(Sequence::Frame {
            open: *step == b'h',
            length: 8,
        }),
        _ => None,
    }
}

/// The last parameters that turned out to be plain: a child uses few styles, and writes them over and over.
#[derive(Debug)]
pub(in super::super) struct PlainStyles {
    seen: [u128; 256],
}

impl Default for PlainStyles {
    fn default() -> Self {
        Self { seen: [0; 256] }
    }
}

impl PlainStyles {
    /// Whether these parameters are plain; `key` is their bytes.
    #[inline]
    fn holds(&mut self, key: u128, params: &[u8]) -> bool {
        // Multiplying spreads the bytes, the top bits of the product depend on all of them.
        let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
        let place = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        // No parameters at all are an empty place's key, and plain.
        if self.seen[place] == key {
            return true;
        }
        let plain = sgr::is_plain(params);
        if plain {
            self.seen[place] = key;
        }
        plain
    }
}

/// Whether the crate does a control sequence right that has nothing but digits and semicolons before its last byte.
fn passes(params: &[u8], last: u8) -> bool {
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

    const ALL: Passing = Passing {
        text: true,
        tabs: true,
        styles: true,
        joining: true,
        frame: None,
    };

    fn length(passing: Passing, bytes: &[u8]) -> usize {
        passing.run(bytes, &mut PlainStyles::default()).length
    }

    #[test]
    fn plain_output_passes_whole() {
        let bytes = "abc\tdefghijklmnopqrstuvw é─│●\r\n\x1b[1;38;5;3mx\x1b[m\x1b[?25l\x1b[3;4H\x1b[38;2;166;227;161;49m\x1b[K\x1bMyz and so on"
            .as_bytes();
        assert_eq!(length(ALL, bytes), bytes.len());
    }

    #[test]
    fn it_stops_before_what_it_does_not_know() {
        for stop in [
            "\x1b[?25$p",
            "\x1b[?7h",
            "\x1b[?2026h",
            "\x1b]0;t\x07",
            "\x1b[2J",
            "\x1b[s",
            "\x1b[5b",
            "\x1b[4:3m",
            "\x1b[21m",
            "\x1b[;m",
            "\x1b[38;5;256m",
            "\x1b7",
            "\x1b",
            "世",
            "\u{fe0f}",
            "\u{fffd}",
            "🎉",
            "\x0e",
            "\x18",
        ] {
            for tail in ["more", "a good deal more than sixteen bytes"] {
                let bytes = format!("plain text\x1b[m{stop}{tail}");
                assert_eq!(length(ALL, bytes.as_bytes()), 13, "{stop:?}");
            }
        }
        for stop in [
            &b"\xff"[..],
            b"\xe2\x94",
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xe0\x80\x80",
            b"\xc0\x80",
        ] {
            assert_eq!(length(ALL, &[b"plain", stop, b"A"].concat()), 5, "{stop:?}");
        }
        assert_eq!(length(ALL, b"plain\xe2\x94"), 5);
    }

    #[test]
    fn every_attribute_is_judged_alike_in_every_place() {
        for number in 0..=120 {
            let alone = format!("\x1b[{number}m");
            let wanted = if sgr::is_plain(number.to_string().as_bytes()) {
                alone.len()
            } else {
                0
            };
            assert_eq!(length(ALL, alone.as_bytes()), wanted, "{number}");
            let followed = format!("{alone}\x1b]0;stop there if not before\x07");
            assert_eq!(length(ALL, followed.as_bytes()), wanted, "{number}");
        }
    }

    #[test]
    fn a_frame_passes_whole_or_not_at_all() {
        let run = |bytes: &str, frame| {
            let passing = Passing { frame, ..ALL };
            passing.run(bytes.as_bytes(), &mut PlainStyles::default())
        };
        let whole = "a\x1b[?2026hb\x1b[?2026lc";
        assert_eq!(
            run(whole, Some(false)),
            Run {
                length: whole.len(),
                frame: Some(false)
            }
        );
        let open = "a\x1b[?2026hb\x1b[?2026lc\x1b[?2026hd\x1b[?2026he";
        assert_eq!(run(open, Some(false)).length, whole.len());
        let ending = "a\x1b[?2026lb";
        assert_eq!(
            run(ending, Some(true)),
            Run {
                length: ending.len(),
                frame: Some(false)
            }
        );
        assert_eq!(run("ab", Some(true)).frame, Some(true));
        assert_eq!(
            run(whole, None),
            Run {
                length: 1,
                frame: None
            }
        );
    }

    #[test]
    fn tabs_and_text_can_be_kept_from_passing() {
        let no_tabs = Passing { tabs: false, ..ALL };
        assert_eq!(length(no_tabs, b"ab\tcd"), 2);
        let no_text = Passing { text: false, ..ALL };
        assert_eq!(length(no_text, b"\x1b[mab"), 3);
        assert_eq!(length(Passing::ANYTHING, b"ab"), 2);
        let no_styles = Passing {
            styles: false,
            ..ALL
        };
        assert_eq!(length(no_styles, b"a\x1b[3;4Hb\x1b[1mc"), 8);
        let no_joining = Passing {
            joining: false,
            ..ALL
        };
        let text = "aé─▊e\u{301}";
        assert_eq!(length(no_joining, text.as_bytes()), text.len() - 2);
        assert_eq!(length(ALL, text.as_bytes()), text.len());
    }

    #[test]
    fn styles_seen_before_are_told_apart() {
        let mut plain = PlainStyles::default();
        for _ in 0..2 {
            for n in 0..=300 {
                let bytes = format!("\x1b[38;5;{n}mtext that follows it");
                let run = ALL.run(bytes.as_bytes(), &mut plain);
                assert_eq!(run.length == bytes.len(), n <= 255, "{n}");
            }
        }
        let odd = b"\x1b[38:5:1mtext that follows it";
        assert_eq!(ALL.run(odd, &mut plain).length, 0);
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
