//! Keys as a child with its modes wants them: as xterm, or by the kitty protocol where it switched that on.

use super::key::{Code, Key, Mods, Stroke};
use crate::screen::Modes;

/// Flags of the kitty protocol.
const DISAMBIGUATE: u8 = 1;
const EVENT_TYPES: u8 = 2;
const ALTERNATES: u8 = 4;
const ALL_KEYS: u8 = 8;
const TEXT: u8 = 16;

/// The bytes a child with these modes gets for a key; none for what it cannot be told.
pub fn encode_key(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
    if modes.kitty_keys != 0 {
        return kitty(key, modes);
    }
    if !key.is_press() {
        return None;
    }
    legacy(key, modes)
}

/// What a pasted text is to a child with these modes. A terminator inside it is taken out.
pub fn encode_paste(text: &str, modes: &Modes) -> Vec<u8> {
    let text = text.replace("\x1b[201~", "").replace("\x1b[200~", "");
    if modes.bracketed_paste {
        return [b"\x1b[200~", text.as_bytes(), b"\x1b[201~"].concat();
    }
    // Unbracketed it is typing: a line ends with Enter, and nothing in it may be a command.
    let typed = text.replace("\r\n", "\r").replace('\n', "\r");
    typed
        .chars()
        .filter(|char| !char.is_control() || matches!(char, '\r' | '\t'))
        .collect::<String>()
        .into_bytes()
}

/// What a child with these modes hears of the focus.
pub fn encode_focus(has: bool, modes: &Modes) -> Option<&'static [u8]> {
    modes
        .focus
        .then_some(if has { b"\x1b[I" } else { b"\x1b[O" })
}

/// A cursor key without modifiers.
pub(super) fn cursor_key(code: Code, modes: &Modes) -> Vec<u8> {
    legacy(&Key::new(code, Mods::NONE), modes).unwrap_or_default()
}

fn legacy(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
    let mods = key.mods.unlocked();
    if let Some(functional) = functional(key.code) {
        return Some(functional.legacy(mods, modes));
    }
    match key.code {
        Code::Enter | Code::Tab | Code::Backspace | Code::Esc => {
            if let Some(bytes) = other_key(key, mods, modes) {
                return Some(bytes);
            }
            let byte = match key.code {
                Code::Enter => b'\r',
                Code::Tab if mods.has(Mods::SHIFT) => {
                    return Some(alted(b"\x1b[Z", mods));
                }
                Code::Tab => b'\t',
                Code::Backspace if mods.has(Mods::CTRL) => 0x08,
                Code::Backspace => 0x7f,
                _ => 0x1b,
            };
            Some(alted(&[byte], mods))
        }
        Code::Char(char) => {
            if let Some(bytes) = other_key(key, mods, modes) {
                return Some(bytes);
            }
            // Super and its like write nothing a legacy child could read.
            if mods.bits() & !0b111 != 0 {
                return None;
            }
            if mods.has(Mods::CTRL) {
                return control(char).map(|byte| alted(&[byte], mods));
            }
            let text = match &key.text {
                Some(text) => text.clone(),
                None => written(key, char).to_string(),
            };
            Some(alted(text.as_bytes(), mods))
        }
        Code::Other(number) => keypad(number, modes).map(|bytes| alted(&bytes, mods)),
        _ => None,
    }
}

/// The character a key writes with what is held.
fn written(key: &Key, char: char) -> char {
    let upper = Key {
        text: None,
        mods: key.mods.unlocked().without(Mods::ALT).without(Mods::CTRL),
        ..key.clone()
    };
    upper
        .typed()
        .and_then(|text| text.chars().next())
        .unwrap_or(char)
}

fn alted(bytes: &[u8], mods: Mods) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes.len() + 1);
    if mods.has(Mods::ALT) {
        all.push(0x1b);
    }
    all.extend_from_slice(bytes);
    all
}

/// The control character of a key with Control, as xterm has it.
fn control(char: char) -> Option<u8> {
    Some(match char.to_ascii_lowercase() {
        ' ' | '@' | '2' => 0x00,
        char @ 'a'..='z' => u8::try_from(char).ok()? & 0x1f,
        '[' | '3' => 0x1b,
        '\\' | '4' => 0x1c,
        ']' | '5' => 0x1d,
        '^' | '6' => 0x1e,
        '_' | '7' | '/' => 0x1f,
        '8' | '?' => 0x7f,
        // Nothing else has one: the character itself is what xterm sends.
        char if char.is_ascii() => u8::try_from(char).ok()?,
        _ => return None,
    })
}

/// A key by xterm's modifyOtherKeys, where the level says so.
fn other_key(key: &Key, mods: Mods, modes: &Modes) -> Option<Vec<u8>> {
    let level = modes.modify_other_keys;
    if level == 0 || mods == Mods::NONE {
        return None;
    }
    let code = match key.code {
        Code::Enter => 13,
        Code::Tab => 9,
        Code::Backspace => 127,
        Code::Esc => 27,
        Code::Char(char) => u32::from(written(key, char)),
        _ => return None,
    };
    let is_char = matches!(key.code, Code::Char(_));
    let only_shift = mods == Mods::SHIFT;
    let told = match level {
        // What has a spelling of its own keeps it.
        1 if is_char => {
            let has_own = match key.code {
                Code::Char(char) if mods.has(Mods::CTRL) => {
                    char.is_ascii_lowercase() || matches!(char, ' ' | '@'..='_')
                }
                _ => only_shift || mods == Mods::ALT,
            };
            !has_own
        }
        1 => match key.code {
            Code::Enter => mods != Mods::ALT,
            Code::Tab => !only_shift && mods != Mods::ALT,
            _ => !only_shift && mods != Mods::ALT && mods != Mods::CTRL,
        },
        _ => !(only_shift && (is_char || key.code == Code::Tab)),
    };
    told.then(|| format!("\x1b[27;{};{code}~", mods.bits() + 1).into_bytes())
}

/// The keypad where the kitty protocol told us of it, as the child's modes have it.
fn keypad(number: u32, modes: &Modes) -> Option<Vec<u8>> {
    let char = match number {
        57399..=57408 => char::from_u32(u32::from('0') + number - 57399)?,
        57409 => '.',
        57410 => '/',
        57411 => '*',
        57412 => '-',
        57413 => '+',
        57414 => '\r',
        57415 => '=',
        57416 => ',',
        57417..=57427 => {
            let code = [
                Code::Left,
                Code::Right,
                Code::Up,
                Code::Down,
                Code::PageUp,
                Code::PageDown,
                Code::Home,
                Code::End,
                Code::Insert,
                Code::Delete,
                Code::Begin,
            ][usize::try_from(number - 57417).ok()?];
            return legacy(&Key::new(code, Mods::NONE), modes);
        }
        _ => return None,
    };
    if modes.app_keypad {
        let last = match char {
            '\r' => 'M',
            '=' => 'X',
            char => char::from_u32(u32::from(char) + 0x40)?,
        };
        return Some(format!("\x1bO{last}").into_bytes());
    }
    Some(vec![u8::try_from(char).ok()?])
}

/// How a functional key is written: a number and `~`, or a letter.
enum Functional {
    Number(u32),
    Letter(char),
    /// A letter that a child may want with `ESC O` (mode 1).
    Cursor(char),
    /// A letter that stands behind `ESC O` when nothing is held.
    Ss3(char),
}

fn functional(code: Code) -> Option<Functional> {
    use Functional::{Cursor, Letter, Number, Ss3};
    Some(match code {
        Code::Up => Cursor('A'),
        Code::Down => Cursor('B'),
        Code::Right => Cursor('C'),
        Code::Left => Cursor('D'),
        Code::Begin => Letter('E'),
        Code::End => Cursor('F'),
        Code::Home => Cursor('H'),
        Code::Insert => Number(2),
        Code::Delete => Number(3),
        Code::PageUp => Number(5),
        Code::PageDown => Number(6),
        Code::F(n @ 1..=4) => Ss3(char::from(b'O' + n)),
        Code::F(5) => Number(15),
        Code::F(n @ 6..=10) => Number(u32::from(n) + 11),
        Code::F(n @ 11..=14) => Number(u32::from(n) + 12),
        Code::F(n @ 15..=16) => Number(u32::from(n) + 13),
        Code::F(n @ 17..=20) => Number(u32::from(n) + 14),
        _ => return None,
    })
}

impl Functional {
    fn legacy(&self, mods: Mods, modes: &Modes) -> Vec<u8> {
        let held = mods.bits() + 1;
        let bare = mods == Mods::NONE;
        match self {
            Self::Number(number) if bare => format!("\x1b[{number}~"),
            Self::Number(number) => format!("\x1b[{number};{held}~"),
            Self::Cursor(letter) if bare && modes.app_cursor => format!("\x1bO{letter}"),
            Self::Ss3(letter) if bare => format!("\x1bO{letter}"),
            Self::Cursor(letter) | Self::Letter(letter) if bare => format!("\x1b[{letter}"),
            Self::Cursor(letter) | Self::Letter(letter) | Self::Ss3(letter) => {
                format!("\x1b[1;{held}{letter}")
            }
        }
        .into_bytes()
    }
}

/// A key by the kitty protocol with the flags in force.
fn kitty(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
    let flags = modes.kitty_keys;
    let has = |flag| flags & flag != 0;
    let is_plain_key = matches!(key.code, Code::Enter | Code::Tab | Code::Backspace);
    // These three go up unheard unless all keys are told, so that a shell stays usable.
    if key.stroke == Stroke::Release && (!has(EVENT_TYPES) || (is_plain_key && !has(ALL_KEYS))) {
        return None;
    }
    let mods = key.mods;
    let stroke = match key.stroke {
        Stroke::Repeat if has(EVENT_TYPES) => 2,
        Stroke::Release => 3,
        _ => 1,
    };
    if let Some(functional) = functional(key.code) {
        if !has(DISAMBIGUATE) && !has(EVENT_TYPES) && !has(ALL_KEYS) {
            return Some(functional.legacy(mods.unlocked(), modes));
        }
        return Some(kitty_functional(key.code, &functional, mods, stroke));
    }
    let writes =
        matches!(key.code, Code::Char(_)) && mods.unlocked().without(Mods::SHIFT) == Mods::NONE;
    if !has(ALL_KEYS) {
        if (writes || (is_plain_key && mods.unlocked() == Mods::NONE)) && stroke != 3 {
            return legacy(key, modes);
        }
        // Without disambiguation only what has no spelling of its own is told anew.
        if !has(DISAMBIGUATE) && stroke == 1 && !matches!(key.code, Code::Other(_)) {
            return legacy(key, modes);
        }
    }
    if is_modifier(key.code) && !has(ALL_KEYS) {
        return None;
    }
    let number = match key.code {
        Code::Enter => 13,
        Code::Tab => 9,
        Code::Backspace => 127,
        Code::Esc => 27,
        // The key itself, not what Shift makes of it.
        Code::Char(char) => u32::from(lower(char)),
        Code::F(n @ 13..=35) => 57376 + u32::from(n) - 13,
        Code::Other(number) => number,
        _ => return None,
    };
    let mut code = number.to_string();
    if has(ALTERNATES) {
        code.push_str(&alternates(key));
    }
    let text = has(TEXT) && has(ALL_KEYS) && stroke != 3;
    let text = text.then(|| text_of(key)).flatten();
    Some(sequence(&code, mods, stroke, text.as_deref(), 'u').into_bytes())
}

fn kitty_functional(code: Code, functional: &Functional, mods: Mods, stroke: u8) -> Vec<u8> {
    // F3 would be the cursor's place, and F13 on have numbers of their own.
    if let Code::F(n) = code
        && n >= 13
    {
        let number = 57376 + u32::from(n) - 13;
        return sequence(&number.to_string(), mods, stroke, None, 'u').into_bytes();
    }
    let bare = mods == Mods::NONE && stroke == 1;
    match functional {
        _ if code == Code::F(3) => sequence("13", mods, stroke, None, '~'),
        Functional::Number(number) => sequence(&number.to_string(), mods, stroke, None, '~'),
        Functional::Cursor(letter) | Functional::Letter(letter) | Functional::Ss3(letter)
            if bare =>
        {
            format!("\x1b[{letter}")
        }
        Functional::Cursor(letter) | Functional::Letter(letter) | Functional::Ss3(letter) => {
            sequence("1", mods, stroke, None, *letter)
        }
    }
    .into_bytes()
}

fn is_modifier(code: Code) -> bool {
    matches!(code, Code::Other(57358..=57363 | 57441..=57454))
}

fn lower(char: char) -> char {
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => char,
    }
}

/// The other characters of a key, as far as the outer terminal told them or its own character does.
fn alternates(key: &Key) -> String {
    let Code::Char(char) = key.code else {
        return String::new();
    };
    let shifted = key
        .shifted
        .or_else(|| (lower(char) != char).then_some(char))
        .filter(|_| key.mods.has(Mods::SHIFT) || lower(char) != char);
    match (shifted, key.base) {
        (None, None) => String::new(),
        (Some(shifted), None) => format!(":{}", u32::from(shifted)),
        (None, Some(base)) => format!("::{}", u32::from(base)),
        (Some(shifted), Some(base)) => format!(":{}:{}", u32::from(shifted), u32::from(base)),
    }
}

/// The text of a key as numbers.
fn text_of(key: &Key) -> Option<String> {
    let text = key.typed()?;
    let numbers: Vec<String> = text
        .chars()
        .map(|char| u32::from(char).to_string())
        .collect();
    Some(numbers.join(":"))
}

fn sequence(code: &str, mods: Mods, stroke: u8, text: Option<&str>, last: char) -> String {
    let held = u16::from(mods.bits()) + 1;
    let middle = match (held, stroke, text) {
        (1, 1, None) => return format!("\x1b[{code}{last}"),
        (1, 1, Some(_)) => String::new(),
        (held, 1, _) => held.to_string(),
        (held, stroke, _) => format!("{held}:{stroke}"),
    };
    match text {
        Some(text) => format!("\x1b[{code};{middle};{text}{last}"),
        None => format!("\x1b[{code};{middle}{last}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::{Decoder, Input};
    use super::*;

    fn modes(kitty_keys: u8, modify_other_keys: u8) -> Modes {
        Modes {
            kitty_keys,
            modify_other_keys,
            ..Modes::default()
        }
    }

    fn shown(key: &Key, modes: &Modes) -> String {
        match encode_key(key, modes) {
            None => "-".to_owned(),
            Some(bytes) => bytes.escape_ascii().to_string(),
        }
    }

    /// Every key with every usual modifier, for each mode a child can be in.
    fn matrix() -> String {
        let columns: Vec<(&str, Modes)> = vec![
            ("plain", modes(0, 0)),
            (
                "app cursor",
                Modes {
                    app_cursor: true,
                    ..modes(0, 0)
                },
            ),
            ("other keys 1", modes(0, 1)),
            ("other keys 2", modes(0, 2)),
            ("kitty 1", modes(1, 0)),
            ("kitty 3", modes(3, 0)),
            ("kitty 5", modes(5, 0)),
            ("kitty 31", modes(31, 0)),
        ];
        let codes = [
            Code::Char('a'),
            Code::Char('i'),
            Code::Char('1'),
            Code::Char('/'),
            Code::Char(' '),
            Code::Char('é'),
            Code::Enter,
            Code::Tab,
            Code::Backspace,
            Code::Esc,
            Code::Up,
            Code::Home,
            Code::Delete,
            Code::PageUp,
            Code::F(1),
            Code::F(3),
            Code::F(5),
            Code::F(12),
            Code::F(13),
        ];
        let held = [
            ("", Mods::NONE),
            ("shift ", Mods::SHIFT),
            ("alt ", Mods::ALT),
            ("ctrl ", Mods::CTRL),
            ("ctrl shift ", Mods::CTRL | Mods::SHIFT),
        ];
        let mut out = String::new();
        for code in codes {
            for (name, mods) in held {
                let key = Key::new(code, mods);
                out.push_str(&format!("{name}{code:?}:"));
                for (column, modes) in &columns {
                    out.push_str(&format!(" [{column}] {}", shown(&key, modes)));
                }
                out.push('\n');
            }
        }
        out
    }

    #[test]
    fn every_key_reaches_a_child_as_its_modes_have_it() {
        insta::assert_snapshot!(matrix());
    }

    #[test]
    fn shift_enter_and_its_like_are_told_where_the_child_can_hear_it() {
        let key = |code, mods| Key::new(code, mods);
        let ctrl = Mods::CTRL;
        let cases = [
            (key(Code::Enter, Mods::SHIFT), modes(0, 0), "\\r"),
            (key(Code::Enter, Mods::SHIFT), modes(1, 0), "\\x1b[13;2u"),
            (key(Code::Enter, Mods::SHIFT), modes(0, 2), "\\x1b[27;2;13~"),
            (key(Code::Enter, Mods::ALT), modes(0, 0), "\\x1b\\r"),
            (key(Code::Right, ctrl), modes(0, 0), "\\x1b[1;5C"),
            (key(Code::Esc, Mods::NONE), modes(0, 0), "\\x1b"),
            (key(Code::Esc, Mods::NONE), modes(1, 0), "\\x1b[27u"),
            (key(Code::Char('i'), ctrl), modes(1, 0), "\\x1b[105;5u"),
            (key(Code::Char('i'), ctrl), modes(0, 0), "\\t"),
            (key(Code::Char('A'), ctrl), modes(0, 0), "\\x01"),
            (key(Code::Char('a'), Mods::NONE), modes(8, 0), "\\x1b[97u"),
            (
                key(Code::Char('a'), Mods::NONE),
                modes(24, 0),
                "\\x1b[97;;97u",
            ),
            (key(Code::Char('a'), Mods::SUPER), modes(0, 0), "-"),
            (key(Code::Other(57441), Mods::SHIFT), modes(1, 0), "-"),
            (key(Code::Other(57400), Mods::NONE), modes(0, 0), "1"),
        ];
        for (key, modes, wanted) in cases {
            assert_eq!(shown(&key, &modes), wanted, "{key:?}");
        }
    }

    #[test]
    fn a_key_going_up_is_told_only_to_who_asked() {
        let mut key = Key::char('a');
        key.stroke = Stroke::Release;
        assert_eq!(shown(&key, &modes(0, 0)), "-");
        assert_eq!(shown(&key, &modes(1, 0)), "-");
        assert_eq!(shown(&key, &modes(3, 0)), "\\x1b[97;1:3u");
        key.code = Code::Enter;
        assert_eq!(shown(&key, &modes(3, 0)), "-");
        assert_eq!(shown(&key, &modes(11, 0)), "\\x1b[13;1:3u");
    }

    #[test]
    fn a_paste_cannot_end_itself_and_is_typing_where_it_is_not_bracketed() {
        let bracketed = Modes {
            bracketed_paste: true,
            ..Modes::default()
        };
        assert_eq!(
            encode_paste("a\x1b[201~\nb", &bracketed),
            b"\x1b[200~a\nb\x1b[201~"
        );
        assert_eq!(
            encode_paste("a\r\nb\n\x1b[A\tc", &Modes::default()),
            b"a\rb\r[A\tc"
        );
    }

    proptest! {
        #[test]
        fn what_the_kitty_protocol_tells_is_read_back(
            code in prop_oneof![
                (b'a'..=b'z').prop_map(|c| Code::Char(char::from(c))),
                Just(Code::Enter), Just(Code::Esc), Just(Code::Left), Just(Code::End),
                Just(Code::Delete), (1u8..=12).prop_map(Code::F),
            ],
            bits in 0u8..16,
            stroke in prop_oneof![Just(Stroke::Press), Just(Stroke::Repeat), Just(Stroke::Release)],
        ) {
            let key = Key { stroke, ..Key::new(code, Mods::from_bits(bits)) };
            let bytes = encode_key(&key, &modes(11, 0)).unwrap_or_default();
            let read = Decoder::default().feed(&bytes, Duration::ZERO);
            prop_assert_eq!(read, vec![Input::Key(key)]);
        }
    }
}
