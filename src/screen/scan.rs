//! Cuts the child's bytes into whole pieces: text, controls, sequences, control strings.
//!
//! The pieces are the same however the bytes arrive, and a sequence that is not whole yet is kept here, so the
//! emulator behind never stands in the middle of one. What is kept is bounded. Bytes 0x80 to 0x9f are no controls:
//! the terminal speaks UTF-8.

use std::ops::Range;

use memchr::{memchr2, memchr3};

use crate::limits;

const BEL: u8 = 0x07;
const SO: u8 = 0x0e;
const SI: u8 = 0x0f;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;

/// Longest text piece; a panic of the emulator is looked for inside one batch of these.
const TEXT_BYTES: usize = 16 * 1024;
/// Longest escape or control sequence; a longer one is ignored as a whole.
const SEQUENCE_BYTES: usize = 1024;
/// Bytes kept of a control string; a longer one is ignored. The longest text that may be copied fits in, in base64.
const STRING_BYTES: usize = 64 + limits::COPY_BYTES.div_ceil(3) * 4;
/// A control string longer than this is taken for a lost end, which may have swallowed text.
const STRING_LOST: u64 = 1024 * 1024;

/// One whole piece of the child's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Characters and C0 controls, without ESC, SO and SI; invalid UTF-8 only where the child sent it.
    Text(&'a [u8]),
    /// SO, SI, or a control that came inside a sequence.
    Control(u8),
    /// `ESC`, intermediates, final.
    Escape(&'a [u8]),
    /// `ESC [` to the final byte, free of controls.
    Csi(&'a [u8]),
    /// A control string that was closed properly: its second byte, its body, and whether BEL closed it.
    String {
        kind: u8,
        body: &'a [u8],
        bell: bool,
    },
    /// The control string that is open outgrew every sane length.
    Lost,
}

impl Piece<'_> {
    /// Appends the bytes that scan to this piece again.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Text(bytes) | Self::Escape(bytes) | Self::Csi(bytes) => {
                out.extend_from_slice(bytes);
            }
            Self::Control(byte) => out.push(byte),
            Self::String { kind, body, bell } => {
                out.extend_from_slice(&[ESC, kind]);
                out.extend_from_slice(body);
                out.extend_from_slice(if bell { b"\x07" } else { b"\x1b\\" });
            }
            Self::Lost => {}
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// `kept` holds the beginning of a character, or nothing.
    #[default]
    Ground,
    /// `kept` holds ESC and intermediates.
    Escape,
    /// `kept` holds `ESC [` and what followed.
    Csi,
    /// `kept` holds the beginning of the body.
    String {
        kind: u8,
        /// Bytes of the body so far.
        seen: u64,
        /// The last byte was an ESC.
        escaped: bool,
    },
}

/// The cutter.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    state: State,
    kept: Vec<u8>,
    /// `kept` was handed out and is to be emptied.
    spent: bool,
}

enum What {
    Text,
    Control(u8),
    Escape,
    Csi,
    String { kind: u8, bell: bool },
    Lost,
}

/// A piece, and where it lies in the bytes (`None`: in `kept`).
struct Found {
    what: What,
    place: Option<Range<usize>>,
}

impl Found {
    fn kept(what: What) -> Option<Self> {
        Some(Self { what, place: None })
    }

    fn at(what: What, place: Range<usize>) -> Option<Self> {
        Some(Self {
            what,
            place: Some(place),
        })
    }
}

impl Scanner {
    /// Whether the next byte begins a piece.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Ground && (self.kept.is_empty() || self.spent)
    }

    /// Gives the next piece of `bytes` from `at` on and moves `at` behind it. The flag says whether the piece is
    /// exactly the bytes passed over. `None`: what is left is the beginning of a piece, kept for the next call, and
    /// `at` stands before it.
    pub(super) fn next<'a>(
        &'a mut self,
        bytes: &'a [u8],
        at: &mut usize,
    ) -> Option<(Piece<'a>, bool)> {
        if self.spent {
            self.kept.clear();
            self.spent = false;
        }
        let begin = *at;
        let mut end = begin;
        let found = self.find(bytes, &mut end)?;
        *at = end;
        let (slice, whole) = match found.place {
            Some(place) => {
                let lead = if matches!(found.what, What::String { .. }) {
                    2
                } else {
                    0
                };
                (&bytes[place.clone()], place.start == begin + lead)
            }
            None => {
                self.spent = !matches!(found.what, What::Control(_) | What::Lost);
                (self.kept.as_slice(), false)
            }
        };
        let piece = match found.what {
            What::Text => Piece::Text(slice),
            What::Control(byte) => Piece::Control(byte),
            What::Escape => Piece::Escape(slice),
            What::Csi => Piece::Csi(slice),
            What::String { kind, bell } => Piece::String {
                kind,
                body: slice,
                bell,
            },
            What::Lost => Piece::Lost,
        };
        Some((piece, whole))
    }

    /// The beginning of a character that will not be finished.
    pub(super) fn into_rest(self) -> Vec<u8> {
        if self.state == State::Ground && !self.spent {
            self.kept
        } else {
            Vec::new()
        }
    }

    fn find(&mut self, bytes: &[u8], at: &mut usize) -> Option<Found> {
        while *at < bytes.len() {
            let found = match self.state {
                State::Ground if self.kept.is_empty() => self.ground(bytes, at),
                State::Ground => self.character(bytes[*at], at),
                State::Escape => self.escape(bytes[*at], at),
                State::Csi => self.csi(bytes[*at], at),
                State::String { .. } => self.string(bytes, at),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// From the ground with nothing kept: what is whole in `bytes` is given as it stands there.
    fn ground(&mut self, bytes: &[u8], at: &mut usize) -> Option<Found> {
        let begin = *at;
        let rest = &bytes[begin..];
        let limit = rest.len().min(TEXT_BYTES);
        let stop = memchr3(ESC, SO, SI, &rest[..limit]);
        if stop != Some(0) {
            let end = stop.unwrap_or_else(|| limit - unfinished(&rest[..limit]));
            if end == 0 {
                self.kept.extend_from_slice(rest);
                *at = bytes.len();
                return None;
            }
            *at = begin + end;
            return Found::at(What::Text, begin..*at);
        }
        if rest[0] != ESC {
            *at += 1;
            return Found::at(What::Control(rest[0]), begin..*at);
        }
        match rest.get(1) {
            Some(b'[') => {
                let body = &rest[2..rest.len().min(SEQUENCE_BYTES)];
                if let Some(n) = body.iter().position(|b| !matches!(b, 0x20..=0x3f))
                    && matches!(body[n], 0x40..=0x7e)
                {
                    *at = begin + n + 3;
                    return Found::at(What::Csi, begin..*at);
                }
            }
            Some(&kind @ (b']' | b'P' | b'X' | b'^' | b'_')) => {
                let body = &rest[2..rest.len().min(STRING_BYTES)];
                if let Some(n) = string_end(kind, body) {
                    let bell = body[n] == BEL;
                    if bell || (body[n] == ESC && body.get(n + 1) == Some(&b'\\')) {
                        *at = begin + n + if bell { 3 } else { 4 };
                        return Some(Found {
                            what: What::String { kind, bell },
                            place: Some(begin + 2..begin + 2 + n),
                        });
                    }
                }
            }
            Some(0x30..=0x7e) => {
                *at = begin + 2;
                return Found::at(What::Escape, begin..*at);
            }
            _ => {}
        }
        self.begin_escape();
        *at += 1;
        None
    }

    /// Goes on with a character whose beginning is kept.
    fn character(&mut self, byte: u8, at: &mut usize) -> Option<Found> {
        self.kept.push(byte);
        match std::str::from_utf8(&self.kept) {
            Ok(_) => {
                *at += 1;
                Found::kept(What::Text)
            }
            Err(error) if error.error_len().is_none() => {
                *at += 1;
                None
            }
            Err(_) => {
                self.kept.pop();
                Found::kept(What::Text)
            }
        }
    }

    fn escape(&mut self, byte: u8, at: &mut usize) -> Option<Found> {
        if let Some(done) = self.control(byte, at) {
            return done;
        }
        *at += 1;
        match byte {
            0x20..=0x2f => self.keep(byte),
            b'[' if self.kept.len() == 1 => {
                self.kept.push(byte);
                self.state = State::Csi;
            }
            b']' | b'P' | b'X' | b'^' | b'_' if self.kept.len() == 1 => {
                self.kept.clear();
                self.state = State::String {
                    kind: byte,
                    seen: 0,
                    escaped: false,
                };
            }
            0x30..=0x7e => {
                self.state = State::Ground;
                self.kept.push(byte);
                return Found::kept(What::Escape);
            }
            _ => {}
        }
        None
    }

    fn csi(&mut self, byte: u8, at: &mut usize) -> Option<Found> {
        if let Some(done) = self.control(byte, at) {
            return done;
        }
        *at += 1;
        match byte {
            0x20..=0x3f => self.keep(byte),
            0x40..=0x7e => {
                self.state = State::Ground;
                if self.kept.len() < SEQUENCE_BYTES {
                    self.kept.push(byte);
                    return Found::kept(What::Csi);
                }
                self.kept.clear();
            }
            _ => {}
        }
        None
    }

    /// Deals with a byte that means the same in every sequence; `None` when it is none of these.
    fn control(&mut self, byte: u8, at: &mut usize) -> Option<Option<Found>> {
        match byte {
            CAN | SUB => {
                *at += 1;
                self.abort();
                Some(None)
            }
            ESC => {
                *at += 1;
                self.begin_escape();
                Some(None)
            }
            0x00..=0x1f => {
                *at += 1;
                Some(Found::kept(What::Control(byte)))
            }
            // A character where none can stand: the sequence is broken, the text is not.
            0x80.. => {
                self.abort();
                Some(None)
            }
            _ => None,
        }
    }

    fn string(&mut self, bytes: &[u8], at: &mut usize) -> Option<Found> {
        let State::String {
            kind,
            seen,
            escaped,
        } = self.state
        else {
            return None;
        };
        if escaped {
            if bytes[*at] != b'\\' {
                self.begin_escape();
                return None;
            }
            *at += 1;
            return self.close(kind, seen, false);
        }
        let rest = &bytes[*at..];
        let end = string_end(kind, rest);
        let body = &rest[..end.unwrap_or(rest.len())];
        let room = STRING_BYTES.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&body[..body.len().min(room)]);
        let total = seen + body.len() as u64;
        *at += body.len();
        self.state = State::String {
            kind,
            seen: total,
            escaped: false,
        };
        if seen <= STRING_LOST && total > STRING_LOST {
            return Found::kept(What::Lost);
        }
        let end = end?;
        *at += 1;
        match rest[end] {
            BEL => return self.close(kind, total, true),
            ESC => {
                self.state = State::String {
                    kind,
                    seen: total,
                    escaped: true,
                };
            }
            _ => self.abort(),
        }
        None
    }

    fn close(&mut self, kind: u8, seen: u64, bell: bool) -> Option<Found> {
        self.state = State::Ground;
        if seen > self.kept.len() as u64 {
            self.kept.clear();
            return None;
        }
        Found::kept(What::String { kind, bell })
    }

    fn begin_escape(&mut self) {
        self.kept.clear();
        self.kept.push(ESC);
        self.state = State::Escape;
    }

    fn abort(&mut self) {
        self.kept.clear();
        self.state = State::Ground;
    }

    fn keep(&mut self, byte: u8) {
        if self.kept.len() < SEQUENCE_BYTES {
            self.kept.push(byte);
        }
    }
}

/// Where a control string ends in `body`: BEL (OSC only), ESC, CAN or SUB.
fn string_end(kind: u8, body: &[u8]) -> Option<usize> {
    let stop = if kind == b']' {
        memchr3(BEL, ESC, CAN, body)
    } else {
        memchr2(ESC, CAN, body)
    };
    let before = &body[..stop.unwrap_or(body.len())];
    memchr::memchr(SUB, before).or(stop)
}

/// Where the printable ASCII that starts at `at` ends.
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        // A carry or a borrow can mark only bytes above one that is marked rightly, so the lowest mark is true.
        let marks = word.wrapping_sub(0x2020_2020_2020_2020)
            | word
            | word.wrapping_add(0x0101_0101_0101_0101);
        let marks = marks & 0x8080_8080_8080_8080;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(0x20..=0x7e) = bytes.get(at) {
        at += 1;
    }
    at
}

/// How many of sixteen bytes, from the first on, are digits, colons or semicolons.
pub(super) fn params_in(words: u128) -> usize {
    const ONES: u128 = u128::MAX / 0xff;
    // Below `0` the subtraction borrows, above `;` the addition carries, each into the top bit; as both can disturb
    // only bytes above one that is marked rightly, the lowest mark is true.
    let marks = words.wrapping_sub(ONES * 0x30) | words.wrapping_add(ONES * 0x44) | words;
    ((marks & (ONES * 0x80)).trailing_zeros() / 8) as usize
}

/// How many bytes, from the first on, are digits, colons or semicolons.
pub(super) fn params_length(bytes: &[u8]) -> usize {
    let begun = bytes
        .first_chunk::<16>()
        .map_or(0, |words| params_in(u128::from_le_bytes(*words)));
    if begun > 0 && begun < 16 {
        return begun;
    }
    bytes
        .iter()
        .position(|b| !matches!(b, b'0'..=b';'))
        .unwrap_or(bytes.len())
}

/// Length of the character at the end of `bytes` that is begun and not finished.
pub(super) fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let Some(lead) = tail.iter().rposition(|b| *b >= 0xc0) else {
        return 0;
    };
    match std::str::from_utf8(&tail[lead..]) {
        Err(error) if error.error_len().is_none() => tail.len() - lead,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(chunks: &[&[u8]]) -> Vec<String> {
        let mut scanner = Scanner::default();
        let mut out: Vec<String> = Vec::new();
        for chunk in chunks {
            let mut at = 0;
            while let Some((piece, _)) = scanner.next(chunk, &mut at) {
                let text = match piece {
                    Piece::Text(b) => format!("text {}", b.escape_ascii()),
                    Piece::Control(b) => format!("control {b:02x}"),
                    Piece::Escape(b) => format!("escape {}", b.escape_ascii()),
                    Piece::Csi(b) => format!("csi {}", b.escape_ascii()),
                    Piece::String { kind, body, bell } => {
                        format!("string {} {} {bell}", kind as char, body.escape_ascii())
                    }
                    Piece::Lost => "lost".to_owned(),
                };
                match out.last_mut() {
                    Some(last) if last.starts_with("text") && text.starts_with("text") => {
                        last.push_str(&text[5..]);
                    }
                    _ => out.push(text),
                }
            }
        }
        out
    }

    const MIXED: &[u8] = "aé世\r\n\x1b[1;31mred\x1b[\n2J\x1b]0;títle\x07\x1b]8;;x\x1b\\y\x1b(0q\x0e\x0f\x1b7\x1bP+q5\x1b\\\x1b]cut\x18z\x1b]x\x1b[K\x1b[3\x1b[4m\x1b\x1bM\x1b[3é\x1bé🖼\x1b_G\x07a\x1b\\"
        .as_bytes();

    #[test]
    fn plain_text_ends_at_the_first_other_byte() {
        for other in [0x00, 0x07, 0x1b, 0x1f, 0x7f, 0x80, 0xc3, 0xff] {
            for place in 0..20 {
                let mut bytes = [b'~'; 24];
                bytes[place] = other;
                assert_eq!(plain_end(&bytes, 0), place);
            }
        }
        assert_eq!(plain_end(b"ab cd", 1), 5);
        assert_eq!(plain_end(b"abcd\x1f\x20\xff~~~~~~~~", 0), 4);
    }

    #[test]
    fn parameters_end_where_they_end() {
        for other in 0..=255u8 {
            let ends = !matches!(other, b'0'..=b';');
            for place in 0..16 {
                let mut bytes = [b'7'; 16];
                bytes[place] = other;
                let length = params_in(u128::from_le_bytes(bytes));
                assert_eq!(
                    length,
                    if ends { place } else { 16 },
                    "{other:x} at {place}"
                );
            }
        }
    }

    #[test]
    fn pieces_come_out_whole() {
        assert_eq!(
            scan(&[MIXED]),
            [
                r"text a\xc3\xa9\xe4\xb8\x96\r\n",
                r"csi \x1b[1;31m",
                "text red",
                "control 0a",
                r"csi \x1b[2J",
                r"string ] 0;t\xc3\xadtle true",
                "string ] 8;;x false",
                "text y",
                r"escape \x1b(0",
                "text q",
                "control 0e",
                "control 0f",
                r"escape \x1b7",
                "string P +q5 false",
                "text z",
                r"csi \x1b[K",
                r"csi \x1b[4m",
                r"escape \x1bM",
                r"text \xc3\xa9\xc3\xa9\xf0\x9f\x96\xbc",
                r"string _ G\x07a false",
            ]
        );
    }

    #[test]
    fn pieces_are_the_same_however_the_bytes_are_split() {
        let whole = scan(&[MIXED]);
        let bytes: Vec<&[u8]> = MIXED.chunks(1).collect();
        assert_eq!(scan(&bytes), whole);
        for cut in 1..MIXED.len() {
            assert_eq!(scan(&[&MIXED[..cut], &MIXED[cut..]]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_string_without_an_end_is_bounded_and_reported_once() {
        let mut scanner = Scanner::default();
        let chunk = vec![b'x'; 100_000];
        let mut lost = 0;
        let mut at = 0;
        assert_eq!(scanner.next(b"\x1b]0;", &mut at), None);
        for _ in 0..100 {
            let mut at = 0;
            while let Some((piece, _)) = scanner.next(&chunk, &mut at) {
                assert_eq!(piece, Piece::Lost);
                lost += 1;
            }
        }
        assert_eq!(lost, 1);
        assert!(scanner.kept.capacity() <= 2 * STRING_BYTES);
        let mut at = 0;
        assert_eq!(
            scanner.next(b"\x1b[K", &mut at),
            Some((Piece::Csi(b"\x1b[K"), false))
        );
    }

    #[test]
    fn a_sequence_without_an_end_is_bounded_and_ignored() {
        let long = [b"\x1b[".as_slice(), &[b'1'; 5000], b"mx"].concat();
        assert_eq!(scan(&[&long]), ["text x"]);
        assert_eq!(scan(&[&long[..700], &long[700..]]), ["text x"]);
    }

    #[test]
    fn invalid_utf8_splits_the_same_way() {
        let bad = b"a\xe2\x94Ab\xf0\x80\x80c\xff\xe2\x94\x1b[mz\xe2";
        let whole = scan(&[bad]);
        for cut in 1..bad.len() {
            assert_eq!(scan(&[&bad[..cut], &bad[cut..]]), whole, "cut at {cut}");
        }
    }
}
