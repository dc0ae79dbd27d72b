//! Bytes of the outer terminal → inputs, however the bytes are split.
//!
//! Understood are the keys of VT and xterm terminals, rxvt's, xterm's modifyOtherKeys, the kitty protocol, bracketed
//! paste, every mouse encoding, focus, and the answers to what we ask. A lone ESC is a key once nothing followed it for
//! a while; what is kept is bounded.

use std::time::Duration;

use super::key::{Code, Key, Mods};
use super::mouse::Mouse;
use super::paste::Paste;
use super::sequence::{Sequence, control, is_rxvt, letter, mods_of, number};
use super::{Input, Reply};
use crate::limits;

const ESC: u8 = 0x1b;
/// Longest sequence that is kept whole; of a longer one the rest is passed over.
const SEQUENCE_BYTES: usize = 4096;

/// What the bytes so far are the beginning of.
#[derive(Debug, Default)]
enum Part {
    /// Nothing: `kept` may hold the beginning of a character.
    #[default]
    Ground,
    /// ESC.
    Escape,
    /// `ESC [`.
    Csi,
    /// `ESC O`.
    Ss3,
    /// `ESC [ M` and its three bytes.
    X10,
    /// A control string, the last byte an ESC or not.
    String { kind: u8, escaped: bool },
    /// Between the marks of a paste.
    Paste(Paste),
}

/// The decoder.
#[derive(Debug, Default)]
pub struct Decoder {
    part: Part,
    /// The bytes since the beginning, without it.
    kept: Vec<u8>,
    /// Whether an ESC came before the beginning: Alt with a key, and the key Esc before anything else.
    alt: bool,
    /// When the beginning came.
    began: Duration,
    /// When what is kept is taken for all there is.
    due: Option<Duration>,
    out: Vec<Input>,
}

impl Decoder {
    /// Takes bytes and gives what they come to.
    pub fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<Input> {
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            if let Part::Paste(paste) = &mut self.part {
                let Some(count) = paste.take(rest) else {
                    break;
                };
                self.end_paste();
                rest = &rest[count..];
                continue;
            }
            if self.is_idle() {
                self.began = now;
            }
            self.step(*byte);
            rest = after;
        }
        self.due = self.due_at(now);
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

    fn is_idle(&self) -> bool {
        matches!(self.part, Part::Ground) && self.kept.is_empty()
    }

    /// A beginning that a key writes too waits a moment only. What no key writes may come slowly over a network, and
    /// must not be typed into a child then; but it does not wait longer because more comes, which may be typing.
    fn due_at(&self, now: Duration) -> Option<Duration> {
        Some(match self.part {
            Part::Paste(_) => now + limits::PASTE_WAIT,
            _ if self.is_idle() => return None,
            Part::X10 => self.began + limits::SEQUENCE_WAIT,
            _ if !self.kept.is_empty() => self.began + limits::SEQUENCE_WAIT,
            _ => self.began + limits::ESCAPE_WAIT,
        })
    }

    fn give_up(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        match std::mem::take(&mut self.part) {
            Part::Escape => self.alted(Key::new(Code::Esc, Mods::NONE)),
            Part::Csi if kept.is_empty() => self.typed('[', &[]),
            Part::Ss3 => self.typed('O', &kept),
            Part::String { kind, .. } if kept.is_empty() => self.typed(char::from(kind), &[]),
            Part::Paste(paste) => paste.end(&mut self.out),
            // The beginning of a sequence or of a character that has no end says nothing.
            _ => self.escape_before(),
        }
    }

    /// What looked like a beginning was Alt with a character, typed by hand, and what followed it.
    fn typed(&mut self, first: char, rest: &[u8]) {
        self.escape_before();
        self.key(Key::new(Code::Char(first), Mods::ALT));
        for byte in rest {
            self.ground(*byte);
        }
    }

    /// An ESC that came before something that is no key was the key Esc.
    fn escape_before(&mut self) {
        if std::mem::take(&mut self.alt) {
            self.key(Key::new(Code::Esc, Mods::NONE));
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
            Part::Paste(_) => {}
        }
    }

    fn ground(&mut self, byte: u8) {
        if !self.kept.is_empty() {
            return self.character(byte);
        }
        match byte {
            ESC => self.part = Part::Escape,
            0x80.. => self.character(byte),
            _ => self.alted(control(byte)),
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
                let is_first = self.kept.len() == 1;
                self.kept.clear();
                self.escape_before();
                // What broke a character off may be the beginning of the next one.
                if !is_first {
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
            // The strings a terminal answers in; the other kinds are Alt with a character.
            b']' | b'P' => {
                self.part = Part::String {
                    kind: byte,
                    escaped: false,
                };
            }
            // Two of them: Alt with what follows, a sequence too, or Esc with Alt.
            ESC => {
                self.escape_before();
                self.alt = true;
                self.part = Part::Escape;
            }
            _ => {
                self.escape_before();
                self.alt = true;
                self.ground(byte);
            }
        }
    }

    fn ss3(&mut self, byte: u8) {
        // Digits between are a modifier, as some terminals write it, and may stand behind a `1`.
        if (byte.is_ascii_digit() || byte == b';') && self.kept.len() < 4 {
            self.kept.push(byte);
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        self.part = Part::Ground;
        let last = kept.rsplit(|byte| *byte == b';').next();
        let mods = last.and_then(number).map_or(Mods::NONE, mods_of);
        let key = match byte {
            b'M' => Some(Key::new(Code::Enter, mods)),
            // rxvt writes its cursor keys with Control in small letters.
            b'a'..=b'd' => {
                letter(byte.to_ascii_uppercase()).map(|code| Key::new(code, mods | Mods::CTRL))
            }
            b'j'..=b'y' => Some(Key::new(Code::Char(char::from(byte - 0x40)), mods)),
            _ => letter(byte).map(|code| Key::new(code, mods)),
        };
        match key {
            Some(key) => self.alted(key),
            None => {
                self.typed('O', &kept);
                self.step(byte);
            }
        }
    }

    fn csi(&mut self, byte: u8) {
        match byte {
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
                let kept = std::mem::take(&mut self.kept);
                self.part = Part::Ground;
                match kept.is_empty() {
                    true => self.typed('[', &[]),
                    false => self.escape_before(),
                }
                self.ground(byte);
            }
        }
    }

    fn end_csi(&mut self, last: u8) {
        let kept = std::mem::take(&mut self.kept);
        self.part = Part::Ground;
        let Some(sequence) = Sequence::read(&kept, last) else {
            return self.escape_before();
        };
        if sequence.is_plain() && last == b'~' && sequence.first() == 200 {
            self.escape_before();
            self.part = Part::Paste(Paste::default());
            return;
        }
        match sequence.input() {
            Some(Input::Key(key)) => self.alted(key),
            other => {
                self.escape_before();
                self.out.extend(other);
            }
        }
    }

    /// Takes a byte of a mouse event in the oldest encoding, which is never one of characters: nobody switches that on.
    fn x10(&mut self, byte: u8) {
        if byte == ESC {
            self.kept.clear();
            self.escape_before();
            self.part = Part::Escape;
            return;
        }
        self.kept.push(byte);
        let [code, col, row] = self.kept[..] else {
            return;
        };
        self.kept.clear();
        self.part = Part::Ground;
        self.escape_before();
        let [code, col, row] = [code, col, row].map(|byte| u32::from(byte.saturating_sub(32)));
        let mouse = Mouse::of_code(code, col, row, None);
        self.out.extend(mouse.map(Input::Mouse));
    }

    fn string(&mut self, kind: u8, escaped: bool, byte: u8) {
        if self.kept.is_empty() && !begins_answer(kind, byte) {
            self.part = Part::Ground;
            self.typed(char::from(kind), &[]);
            return self.ground(byte);
        }
        if (escaped && byte == b'\\') || byte == 0x07 {
            let body = std::mem::take(&mut self.kept);
            self.part = Part::Ground;
            self.escape_before();
            self.out.push(Input::Reply(Reply::of_string(kind, &body)));
            return;
        }
        if escaped {
            // The ESC began something else.
            self.kept.clear();
            self.escape_before();
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

    fn end_paste(&mut self) {
        if let Part::Paste(paste) = std::mem::take(&mut self.part) {
            paste.end(&mut self.out);
        }
    }
}

/// Whether a terminal's answer in a string of this kind can begin so; else it was Alt with a character.
fn begins_answer(kind: u8, byte: u8) -> bool {
    byte.is_ascii_digit() || (kind == b'P' && matches!(byte, b'>' | b'!'))
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
            (b"\x1b]", key(char(']'), Mods::ALT)),
            (b"\x1bP", key(char('P'), Mods::ALT)),
            (b"\x1b_", key(char('_'), Mods::ALT)),
            (b"\x1bX", key(char('X'), Mods::ALT)),
            (b"\x1b[A", key(Code::Up, none)),
            (b"\x1bOA", key(Code::Up, none)),
            (b"\x1b\x1b[A", key(Code::Up, Mods::ALT)),
            (b"\x1b[1;5C", key(Code::Right, Mods::CTRL)),
            (b"\x1bOP", key(Code::F(1), none)),
            (b"\x1bO2P", key(Code::F(1), Mods::SHIFT)),
            (b"\x1bO1;5P", key(Code::F(1), Mods::CTRL)),
            (b"\x1bOM", key(Code::Enter, none)),
            (b"\x1bOk", key(char('+'), none)),
            (b"\x1b[34~", key(Code::F(20), none)),
            (b"\x1b[45;5~", key(Code::F(24), Mods::CTRL)),
            (b"\x1b[57387u", key(Code::F(24), none)),
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
        assert_eq!(
            reply(b"\x1b]4;9;rgb:ffff/0000/8080\x07"),
            Some(Reply::Ansi(9, (255, 0, 128)))
        );
        assert_eq!(
            reply(b"\x1b]4;16;rgb:ffff/0000/8080\x07"),
            Some(Reply::Other)
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

    /// Bytes in which the beginnings and the ends of what is read are frequent.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            prop::sample::select(vec![
                "\x1b",
                "\x1b[",
                "\x1bO",
                "\x1b]",
                "\x1bP",
                "\x1b[<",
                "\x1b[M",
                "\x1b[?",
                "[",
                ";",
                ":",
                "1",
                "27",
                "200~",
                "201~",
                "\x1b[200~",
                "\x1b[201~",
                "~",
                "u",
                "A",
                "R",
                "$y",
                "\x1b\\",
                "\x07",
                "é",
                "漢",
                "😀",
                " ",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn an_answer_that_comes_slowly_is_not_typed() {
        let mut decoder = Decoder::default();
        let wait = limits::ESCAPE_WAIT;
        assert_eq!(decoder.feed(b"\x1b]11;rgb:1e1e/", NOW), []);
        assert_eq!(decoder.wake(wait * 2), []);
        let reply = Reply::Background((30, 30, 46));
        assert_eq!(
            decoder.feed(b"1e1e/2e2e\x1b\\", wait * 3),
            [Input::Reply(reply)]
        );
        assert_eq!(decoder.feed(b"\x1b[1;", wait * 4), []);
        assert_eq!(decoder.wake(wait * 6), []);
        assert_eq!(decoder.feed(b"5A", wait * 7), [key(Code::Up, Mods::CTRL)]);
    }

    #[test]
    fn a_string_that_does_not_end_takes_no_typing_for_long() {
        let mut decoder = Decoder::default();
        let mut now = NOW;
        assert_eq!(decoder.feed(b"\x1b]11;", now), []);
        while now < limits::SEQUENCE_WAIT {
            now += Duration::from_millis(90);
            decoder.feed(b"x", now);
            decoder.wake(now);
        }
        assert_eq!(decoder.next_deadline(), None);
        assert_eq!(decoder.feed(b"y", now), [key(Code::Char('y'), Mods::NONE)]);
    }

    #[test]
    fn what_is_kept_of_a_long_sequence_is_bounded() {
        for begin in ["\x1b[", "\x1b]1"] {
            let mut decoder = Decoder::default();
            decoder.feed(begin.as_bytes(), NOW);
            for _ in 0..100 {
                assert_eq!(decoder.feed(&[b'1'; 1000], NOW), []);
                assert!(decoder.kept.len() <= SEQUENCE_BYTES);
            }
        }
    }

    #[test]
    fn alt_with_the_letter_of_a_string_takes_no_key_after_it() {
        let alt = |char| key(Code::Char(char), Mods::ALT);
        let plain = |char| key(Code::Char(char), Mods::NONE);
        assert_eq!(read(b"\x1bPa"), [alt('P'), plain('a')]);
        assert_eq!(read(b"\x1b]\x1b]"), [alt(']'), alt(']')]);
        assert_eq!(read(b"\x1b_Gx"), [alt('_'), plain('G'), plain('x')]);
        assert_eq!(read(b"\x1bO1z"), [alt('O'), plain('1'), plain('z')]);
    }

    #[test]
    fn escape_is_not_lost_before_what_is_no_key() {
        let escape = key(Code::Esc, Mods::NONE);
        assert_eq!(read(b"\x1b\x1b[I"), [escape.clone(), Input::Focus(true)]);
        assert_eq!(
            read(b"\x1b\x1b[?1u"),
            [escape.clone(), Input::Reply(Reply::KittyFlags(1))]
        );
        assert_eq!(
            read(b"\x1b\x1b[200~a\x1b[201~"),
            [escape.clone(), Input::Paste("a".to_owned())]
        );
        assert_eq!(
            read(b"\x1b\x1b\x1bx"),
            [escape.clone(), escape, key(Code::Char('x'), Mods::ALT)]
        );
    }

    #[test]
    fn text_of_an_input_method_comes_whole_in_either_way() {
        let chars: Vec<Input> = "日本".chars().map(|c| Input::Key(Key::char(c))).collect();
        assert_eq!(read("日本".as_bytes()), chars);
        let told = Key {
            text: Some("日本".to_owned()),
            ..Key::new(Code::Other(0), Mods::NONE)
        };
        assert_eq!(read(b"\x1b[0;;26085:26412u"), [Input::Key(told)]);
        assert_eq!(read(b"\x1b[0u"), []);
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_the_same_however_they_are_split(
            bytes in pieces(),
            cuts in proptest::collection::vec(0usize..9, 0..40),
        ) {
            let whole = read(&bytes);
            let mut decoder = Decoder::default();
            let mut parts = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts {
                let (now, after) = rest.split_at(cut.min(rest.len()));
                parts.extend(decoder.feed(now, NOW));
                rest = after;
            }
            parts.extend(decoder.feed(rest, NOW));
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
