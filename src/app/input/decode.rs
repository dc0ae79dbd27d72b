//! Bytes of the outer terminal → inputs, however the bytes are split.
//!
//! Understood are the keys of VT and xterm terminals, rxvt's, xterm's modifyOtherKeys, the kitty protocol, bracketed
//! paste, every mouse encoding, focus, and the answers to what we ask. A lone ESC is a key once nothing followed it for
//! a while; what is kept is bounded.

use std::time::Duration;

use super::key::{Code, Key, Mods};
use super::mouse::Mouse;
use super::sequence::{Sequence, control, is_rxvt, letter, mods_of, number};
use super::{Input, Reply};
use crate::limits;

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";
/// Longest sequence that is kept whole; of a longer one the rest is passed over.
const SEQUENCE_BYTES: usize = 4096;

/// What the bytes so far are the beginning of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Nothing: `kept` may hold the beginning of a character.
    Ground,
    /// ESC.
    Escape,
    /// `ESC [`.
    Csi,
    /// `ESC O`.
    Ss3,
    /// `ESC [ M` and its three bytes or characters.
    X10,
    /// A control string, the last byte an ESC or not.
    String { kind: u8, escaped: bool },
    /// Between the marks of a paste.
    Paste,
}

/// The decoder.
#[derive(Debug)]
pub struct Decoder {
    part: Part,
    /// The bytes since the beginning, without it.
    kept: Vec<u8>,
    /// Whether an ESC came before the beginning.
    alt: bool,
    /// Bytes of a paste that were left out.
    cut: usize,
    /// When what is kept is taken for all there is.
    due: Option<Duration>,
    out: Vec<Input>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            part: Part::Ground,
            kept: Vec::new(),
            alt: false,
            cut: 0,
            due: None,
            out: Vec::new(),
        }
    }
}

impl Decoder {
    /// Takes bytes and gives what they come to.
    pub fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<Input> {
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            if self.part == Part::Paste {
                rest = self.take_paste(rest);
                continue;
            }
            self.step(*byte);
            rest = after;
        }
        let wait = match self.part {
            Part::Ground if self.kept.is_empty() => None,
            Part::Paste => Some(limits::PASTE_WAIT),
            _ => Some(limits::ESCAPE_WAIT),
        };
        self.due = wait.map(|wait| now + wait);
        std::mem::take(&mut self.out)
    }

    /// When `wake` has something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.due
    }

    /// Takes the time: a beginning that nothing followed is what it is.
    pub fn wake(&mut self, now: Duration) -> Vec<Input> {
        if self.due.is_some_and(|due| now >= due) {
            self.due = None;
            self.give_up();
        }
        std::mem::take(&mut self.out)
    }

    fn give_up(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let alt = std::mem::take(&mut self.alt);
        match std::mem::replace(&mut self.part, Part::Ground) {
            Part::Escape => {
                let mods = if alt { Mods::ALT } else { Mods::NONE };
                self.key(Key::new(Code::Esc, mods));
            }
            // Alt and a bracket, or an O, typed by hand.
            Part::Csi if kept.is_empty() => self.key(Key::new(Code::Char('['), Mods::ALT)),
            Part::Ss3 if kept.is_empty() => self.key(Key::new(Code::Char('O'), Mods::ALT)),
            Part::String { kind, .. } if kept.is_empty() => {
                self.key(Key::new(Code::Char(char::from(kind)), Mods::ALT));
            }
            Part::Paste => self.end_paste(&kept),
            // The beginning of a sequence or of a character that has no end says nothing.
            _ => {}
        }
    }

    fn step(&mut self, byte: u8) {
        match self.part {
            Part::Ground => self.ground(byte),
            Part::Escape => self.escape(byte),
            Part::Ss3 => self.ss3(byte),
            Part::Csi => self.csi(byte),
            Part::X10 => self.x10(byte),
            Part::String { kind, escaped } => self.string(kind, escaped, byte),
            Part::Paste => {}
        }
    }

    fn ground(&mut self, byte: u8) {
        if !self.kept.is_empty() {
            return self.character(byte);
        }
        match byte {
            ESC => self.part = Part::Escape,
            0x80.. => self.character(byte),
            _ => {
                let key = control(byte);
                self.alted(key);
            }
        }
    }

    /// Takes a byte of a character beyond ASCII.
    fn character(&mut self, byte: u8) {
        self.kept.push(byte);
        match std::str::from_utf8(&self.kept) {
            Ok(text) => {
                let char = text.chars().next();
                self.kept.clear();
                if let Some(char) = char {
                    self.alted(Key::char(char));
                }
            }
            Err(error) if error.error_len().is_some() => {
                self.kept.clear();
                self.alt = false;
                // What follows an incomplete character may be the beginning of the next one.
                if byte < 0x80
                    || std::str::from_utf8(&[byte]).is_err_and(|e| e.error_len().is_none())
                {
                    self.ground(byte);
                }
            }
            Err(_) => {}
        }
    }

    /// A key that an ESC before it makes one with Alt.
    fn alted(&mut self, mut key: Key) {
        if std::mem::take(&mut self.alt) {
            key.mods |= Mods::ALT;
        }
        self.key(key);
    }

    fn key(&mut self, key: Key) {
        self.out.push(Input::Key(key));
    }

    fn escape(&mut self, byte: u8) {
        self.part = Part::Ground;
        match byte {
            b'[' => self.part = Part::Csi,
            b'O' => self.part = Part::Ss3,
            b']' | b'P' | b'_' | b'^' | b'X' => {
                self.part = Part::String {
                    kind: byte,
                    escaped: false,
                };
            }
            // Two of them: Alt with what follows, a sequence too, or Esc with Alt.
            ESC if !self.alt => {
                self.alt = true;
                self.part = Part::Escape;
            }
            ESC => {
                self.key(Key::new(Code::Esc, Mods::NONE));
                self.part = Part::Escape;
            }
            _ => {
                if std::mem::replace(&mut self.alt, true) {
                    self.key(Key::new(Code::Esc, Mods::NONE));
                }
                self.ground(byte);
            }
        }
    }

    fn ss3(&mut self, byte: u8) {
        // A digit between is a modifier, as some terminals write it.
        if byte.is_ascii_digit() && self.kept.len() < 4 {
            self.kept.push(byte);
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        self.part = Part::Ground;
        let mods = number(&kept).map_or(Mods::NONE, mods_of);
        let code = match byte {
            b'M' => Some(Code::Enter),
            // rxvt writes its cursor keys with Control in small letters.
            b'a'..=b'd' => letter(byte.to_ascii_uppercase()),
            _ => letter(byte),
        };
        match code {
            Some(code) => {
                let ctrl = if byte.is_ascii_lowercase() && byte <= b'd' {
                    Mods::CTRL
                } else {
                    Mods::NONE
                };
                self.alted(Key::new(code, mods | ctrl));
            }
            None if matches!(byte, b'j'..=b'y') => {
                let char = char::from(byte - 0x40);
                self.alted(Key::new(Code::Char(char), mods));
            }
            None => {
                self.alt = false;
                // Alt with O, then something else.
                self.key(Key::new(Code::Char('O'), Mods::ALT));
                self.step(byte);
            }
        }
    }

    fn csi(&mut self, byte: u8) {
        match byte {
            ESC => {
                self.kept.clear();
                self.alt = false;
                self.part = Part::Escape;
            }
            b'M' if self.kept.is_empty() => self.part = Part::X10,
            // The Linux console's function keys.
            b'[' if self.kept.is_empty() => self.kept.push(byte),
            b'A'..=b'E' if self.kept == b"[" => {
                self.kept.clear();
                self.part = Part::Ground;
                self.alted(Key::new(Code::F(byte - b'A' + 1), Mods::NONE));
            }
            // rxvt ends its keys with Shift in `$`.
            b'$' if is_rxvt(&self.kept) => self.end_csi(byte),
            0x40..=0x7e => self.end_csi(byte),
            0x20..=0x3f => {
                if self.kept.len() < SEQUENCE_BYTES {
                    self.kept.push(byte);
                }
            }
            // Nothing else stands in a sequence: it was none.
            _ => {
                self.kept.clear();
                self.alt = false;
                self.part = Part::Ground;
                self.ground(byte);
            }
        }
    }

    fn end_csi(&mut self, last: u8) {
        let kept = std::mem::take(&mut self.kept);
        let alt = std::mem::take(&mut self.alt);
        self.part = Part::Ground;
        let Some(sequence) = Sequence::read(&kept, last) else {
            return;
        };
        if sequence.is_plain() && last == b'~' && sequence.first() == 200 {
            self.part = Part::Paste;
            self.cut = 0;
            return;
        }
        if let Some(mut input) = sequence.input() {
            if let (true, Input::Key(key)) = (alt, &mut input) {
                key.mods |= Mods::ALT;
            }
            self.out.push(input);
        }
    }

    fn x10(&mut self, byte: u8) {
        self.kept.push(byte);
        // Each of the three is a byte, or a character where the coordinates are written as such.
        let text = std::str::from_utf8(&self.kept);
        let count = match text {
            Ok(text) => text.chars().count(),
            Err(error) if error.error_len().is_none() && self.kept.len() < 7 => return,
            Err(_) => self.kept.len(),
        };
        if count < 3 {
            return;
        }
        let values: Vec<u32> = match text {
            Ok(text) => text.chars().map(u32::from).collect(),
            Err(_) => self.kept.iter().map(|byte| u32::from(*byte)).collect(),
        };
        self.kept.clear();
        self.part = Part::Ground;
        self.alt = false;
        let [code, col, row] = [values[0], values[1], values[2]].map(|n| n.saturating_sub(32));
        if let Some(mouse) = Mouse::of_code(code, col, row, None) {
            self.out.push(Input::Mouse(mouse));
        }
    }

    fn string(&mut self, kind: u8, escaped: bool, byte: u8) {
        let ends = (escaped && byte == b'\\') || byte == 0x07;
        if ends {
            let body = std::mem::take(&mut self.kept);
            self.part = Part::Ground;
            self.alt = false;
            self.out.push(Input::Reply(Reply::of_string(kind, &body)));
            return;
        }
        if escaped {
            // The ESC began something else.
            self.kept.clear();
            self.alt = false;
            self.part = Part::Escape;
            return self.escape(byte);
        }
        if byte != ESC && self.kept.len() < SEQUENCE_BYTES {
            self.kept.push(byte);
        }
        self.part = Part::String {
            kind,
            escaped: byte == ESC,
        };
    }

    /// Takes pasted bytes and gives those behind the paste.
    fn take_paste<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let before = self.kept.len();
        // The mark may have begun in what is kept.
        let from = before.saturating_sub(PASTE_END.len() - 1);
        self.kept.extend_from_slice(bytes);
        let found = memchr::memmem::find(&self.kept[from..], PASTE_END).map(|at| from + at);
        match found {
            Some(at) => {
                let kept = std::mem::take(&mut self.kept);
                self.part = Part::Ground;
                self.end_paste(&kept[..at]);
                &bytes[at + PASTE_END.len() - before..]
            }
            None => {
                let over = self
                    .kept
                    .len()
                    .saturating_sub(limits::PASTE_BYTES + PASTE_END.len());
                if over > 0 {
                    // The end is kept, since the mark may have begun in it.
                    let from = limits::PASTE_BYTES;
                    self.kept.drain(from..from + over);
                    self.cut += over;
                }
                &[]
            }
        }
    }

    fn end_paste(&mut self, bytes: &[u8]) {
        let kept = &bytes[..bytes.len().min(limits::PASTE_BYTES)];
        let cut = self.cut + bytes.len() - kept.len();
        self.cut = 0;
        self.alt = false;
        let text = String::from_utf8_lossy(kept).into_owned();
        self.out.push(Input::Paste(text));
        if cut > 0 {
            self.out.push(Input::PasteCut(cut));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::key::Stroke;
    use super::super::mouse::{Button, MouseKind};
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn read(bytes: &[u8]) -> Vec<Input> {
        let mut decoder = Decoder::default();
        let mut out = decoder.feed(bytes, NOW);
        out.extend(decoder.wake(Duration::from_secs(60)));
        out
    }

    fn key(code: Code, mods: Mods) -> Input {
        Input::Key(Key::new(code, mods))
    }

    #[test]
    fn the_keys_of_each_kind_of_terminal_are_read() {
        let char = Code::Char;
        let none = Mods::NONE;
        let cases: &[(&[u8], Input)] = &[
            (b"a", key(char('a'), none)),
            ("é".as_bytes(), key(char('é'), none)),
            (b"\r", key(Code::Enter, none)),
            (b"\x03", key(char('c'), Mods::CTRL)),
            (b"\x1d", key(char(']'), Mods::CTRL)),
            (b"\0", key(char(' '), Mods::CTRL)),
            (b"\x7f", key(Code::Backspace, none)),
            (b"\x1b", key(Code::Esc, none)),
            (b"\x1b\x1b", key(Code::Esc, Mods::ALT)),
            (b"\x1bd", key(char('d'), Mods::ALT)),
            (b"\x1b\r", key(Code::Enter, Mods::ALT)),
            (b"\x1b[", key(char('['), Mods::ALT)),
            (b"\x1bO", key(char('O'), Mods::ALT)),
            (b"\x1b[A", key(Code::Up, none)),
            (b"\x1bOA", key(Code::Up, none)),
            (b"\x1b\x1b[A", key(Code::Up, Mods::ALT)),
            (b"\x1b[1;5C", key(Code::Right, Mods::CTRL)),
            (b"\x1bOP", key(Code::F(1), none)),
            (b"\x1b[[C", key(Code::F(3), none)),
            (b"\x1b[1;2R", key(Code::F(3), Mods::SHIFT)),
            (b"\x1b[15~", key(Code::F(5), none)),
            (b"\x1b[24;6~", key(Code::F(12), Mods::CTRL | Mods::SHIFT)),
            (b"\x1b[3~", key(Code::Delete, none)),
            (b"\x1b[3^", key(Code::Delete, Mods::CTRL)),
            (b"\x1b[3$", key(Code::Delete, Mods::SHIFT)),
            (b"\x1bOa", key(Code::Up, Mods::CTRL)),
            (b"\x1b[a", key(Code::Up, Mods::SHIFT)),
            (b"\x1b[Z", key(Code::Tab, Mods::SHIFT)),
            (b"\x1b[27;2;13~", key(Code::Enter, Mods::SHIFT)),
            (b"\x1b[13;2u", key(Code::Enter, Mods::SHIFT)),
            (b"\x1b[27u", key(Code::Esc, none)),
            (b"\x1b[57441;2u", key(Code::Other(57441), Mods::SHIFT)),
            (b"\x1b[I", Input::Focus(true)),
            (b"\x1b[O", Input::Focus(false)),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(
                read(bytes),
                std::slice::from_ref(wanted),
                "{}",
                bytes.escape_ascii()
            );
        }
    }

    #[test]
    fn all_that_the_kitty_protocol_tells_is_kept() {
        let told = Key {
            code: Code::Char('a'),
            mods: Mods::SHIFT,
            stroke: Stroke::Repeat,
            shifted: Some('A'),
            base: Some('q'),
            text: Some("A".to_owned()),
        };
        assert_eq!(read(b"\x1b[97:65:113;2:2;65u"), [Input::Key(told)]);
    }

    #[test]
    fn a_paste_is_text_whatever_it_holds() {
        let pasted = |text: &str| Input::Paste(text.to_owned());
        assert_eq!(
            read(b"\x1b[200~a\x1b[Ab\r\n\x1b[201~"),
            [pasted("a\x1b[Ab\r\n")]
        );
        assert_eq!(read(b"\x1b[200~\xff\x1b[201~"), [pasted("\u{fffd}")]);
        // The end that does not come is not waited for.
        assert_eq!(read(b"\x1b[200~cut"), [pasted("cut")]);
        let mut long = b"\x1b[200~".to_vec();
        long.extend(vec![b'x'; limits::PASTE_BYTES + 10]);
        long.extend(b"\x1b[201~y");
        let read = read(&long);
        assert_eq!(read.len(), 3);
        assert!(matches!(&read[0], Input::Paste(text) if text.len() == limits::PASTE_BYTES));
        assert_eq!(
            read[1..],
            [Input::PasteCut(10), key(Code::Char('y'), Mods::NONE)]
        );
    }

    #[test]
    fn the_mouse_is_read_in_each_encoding() {
        let at = |kind, col, row| {
            let mods = Mods::NONE;
            Input::Mouse(Mouse {
                kind,
                col,
                row,
                mods,
            })
        };
        let left = Button::Left;
        assert_eq!(read(b"\x1b[<0;5;10M"), [at(MouseKind::Press(left), 4, 9)]);
        assert_eq!(
            read(b"\x1b[<0;5;10m"),
            [at(MouseKind::Release(Some(left)), 4, 9)]
        );
        assert_eq!(read(b"\x1b[<35;5;10M"), [at(MouseKind::Move(None), 4, 9)]);
        assert_eq!(read(b"\x1b[<65;1;1M"), [at(MouseKind::WheelDown, 0, 0)]);
        assert_eq!(read(b"\x1b[M %*"), [at(MouseKind::Press(left), 4, 9)]);
        assert_eq!(read(b"\x1b[M#%*"), [at(MouseKind::Release(None), 4, 9)]);
        assert_eq!(read(b"\x1b[32;5;10M"), [at(MouseKind::Press(left), 4, 9)]);
    }

    #[test]
    fn what_the_terminal_answers_is_no_key() {
        let reply = |bytes| match read(bytes).as_slice() {
            [Input::Reply(reply)] => Some(reply.clone()),
            _ => None,
        };
        assert_eq!(
            reply(b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"),
            Some(Reply::Background((30, 30, 46)))
        );
        assert_eq!(
            reply(b"\x1b]10;rgb:ff/ff/ff\x07"),
            Some(Reply::Foreground((255, 255, 255)))
        );
        assert_eq!(reply(b"\x1b[?1u"), Some(Reply::KittyFlags(1)));
        assert_eq!(
            reply(b"\x1b[?62;4;22c"),
            Some(Reply::Attributes(vec![62, 4, 22]))
        );
        assert_eq!(
            reply(b"\x1bP>|foot(1.2)\x1b\\"),
            Some(Reply::Version("foot(1.2)".to_owned()))
        );
        assert_eq!(reply(b"\x1b[?2026;2$y"), Some(Reply::Mode(2026, 2)));
        assert_eq!(reply(b"\x1b[6;18;9t"), Some(Reply::CellPixels(9, 18)));
        assert_eq!(reply(b"\x1b[?997;1n"), Some(Reply::IsDark(true)));
        assert_eq!(reply(b"\x1b[>1;10;0c"), Some(Reply::Other));
    }

    #[test]
    fn a_lone_escape_waits_for_what_may_follow() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\x1b", NOW), []);
        let due = decoder.next_deadline().unwrap_or_default();
        assert_eq!(due, limits::ESCAPE_WAIT);
        assert_eq!(decoder.wake(due / 2), []);
        assert_eq!(decoder.wake(due), [key(Code::Esc, Mods::NONE)]);
        assert_eq!(decoder.next_deadline(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_the_same_however_they_are_split(
            bytes in proptest::collection::vec(prop_oneof![
                any::<u8>(),
                Just(0x1bu8), Just(b'['), Just(b'O'), Just(b';'), Just(b'~'), Just(b'M'), Just(b'u'),
            ], 0..60),
            cut in 0usize..60,
        ) {
            let whole = read(&bytes);
            let mut decoder = Decoder::default();
            let cut = cut.min(bytes.len());
            let mut parts = decoder.feed(&bytes[..cut], NOW);
            parts.extend(decoder.feed(&bytes[cut..], NOW));
            parts.extend(decoder.wake(Duration::from_secs(60)));
            prop_assert_eq!(parts, whole);
        }

        #[test]
        fn pasted_text_comes_back(text in "\\PC{0,200}", cut in 1usize..40) {
            let bytes = [b"\x1b[200~", text.as_bytes(), b"\x1b[201~"].concat();
            let mut decoder = Decoder::default();
            let out: Vec<Input> = bytes.chunks(cut).flat_map(|part| decoder.feed(part, NOW)).collect();
            prop_assert_eq!(out, vec![Input::Paste(text)]);
        }
    }
}
