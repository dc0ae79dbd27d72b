//! Keys as xterm writes them, modifyOtherKeys included.

use super::functional::{functional, keypad};
use super::key::{Code, Key, Mods};
use crate::screen::Modes;

/// A cursor key without modifiers.
pub(super) fn cursor_key(code: Code, modes: &Modes) -> Vec<u8> {
    legacy(&Key::new(code, Mods::NONE), modes).unwrap_or_default()
}

/// The bytes of a key that goes down; none for what has no spelling.
pub(super) fn legacy(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
    let mods = key.mods.unlocked();
    if let Some(functional) = functional(key.code) {
        return Some(functional.legacy(mods, modes));
    }
    if let Some(bytes) = other_key(key, mods, modes) {
        return Some(bytes);
    }
    match key.code {
        Code::Enter => Some(alted(b"\r", mods)),
        Code::Tab if mods.has(Mods::SHIFT) => Some(alted(b"\x1b[Z", mods)),
        Code::Tab => Some(alted(b"\t", mods)),
        Code::Backspace if mods.has(Mods::CTRL) => Some(alted(b"\x08", mods)),
        Code::Backspace => Some(alted(b"\x7f", mods)),
        Code::Esc => Some(alted(b"\x1b", mods)),
        Code::Char(char) => character(key, char, mods),
        Code::Other(number) => other(key, number, modes),
        _ => None,
    }
}

fn character(key: &Key, char: char, mods: Mods) -> Option<Vec<u8>> {
    // Super and its like write nothing a legacy child could read.
    if mods.bits() & !0b111 != 0 {
        return None;
    }
    if mods.has(Mods::CTRL) {
        return control(key, char).map(|byte| alted(&[byte], mods));
    }
    let text = match &key.text {
        Some(text) => text.clone(),
        None => written(key, char).to_string(),
    };
    Some(alted(text.as_bytes(), mods))
}

/// A key that has only a number in the kitty protocol: one of the keypad is what it stands for; one without any key
/// is the text that an input method wrote.
fn other(key: &Key, number: u32, modes: &Modes) -> Option<Vec<u8>> {
    let Some(code) = keypad(number) else {
        return key.typed().map(String::into_bytes);
    };
    // With NumLock the keypad writes its digits, whatever the child asked for.
    let is_bare = key.mods.unlocked() == Mods::NONE && !key.mods.has(Mods::NUM_LOCK);
    if modes.app_keypad && is_bare {
        let last = match code {
            Code::Enter => Some('M'),
            Code::Char('=') => Some('X'),
            Code::Char(char) => char::from_u32(u32::from(char) + 0x40),
            _ => None,
        };
        if let Some(last) = last {
            return Some(format!("\x1bO{last}").into_bytes());
        }
    }
    let stands_for = Key {
        code,
        ..key.clone()
    };
    legacy(&stands_for, modes)
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

/// The byte of a key with Control, as X and with it xterm has it: of what Shift makes of the key, and of the key's
/// place on the standard layout where the layout in force has another alphabet there.
fn control(key: &Key, char: char) -> Option<u8> {
    let shifted = key.shifted.filter(|_| key.mods.has(Mods::SHIFT));
    let char = [shifted, Some(char), key.base]
        .into_iter()
        .flatten()
        .find(char::is_ascii)?;
    let byte = u8::try_from(char).ok()?;
    Some(match byte {
        b' ' | b'2' => 0,
        b'3'..=b'7' => byte - b'3' + 0x1b,
        b'8' | b'?' => 0x7f,
        b'/' => 0x1f,
        b'@'..=b'~' => byte & 0x1f,
        // Nothing else has one: the character itself is what xterm sends.
        _ => byte,
    })
}

/// A key by xterm's modifyOtherKeys, where the level says so.
fn other_key(key: &Key, mods: Mods, modes: &Modes) -> Option<Vec<u8>> {
    let is_told = match modes.modify_other_keys {
        _ if mods == Mods::NONE => false,
        0 => false,
        1 => is_told_at_first(key, mods),
        _ => is_told_at_second(key.code, mods),
    };
    let code = match key.code {
        _ if !is_told => return None,
        Code::Enter => 13,
        Code::Tab => 9,
        Code::Backspace if mods.has(Mods::CTRL) => 8,
        Code::Backspace => 127,
        Code::Esc => 27,
        Code::Char(char) => u32::from(written(key, char)),
        _ => return None,
    };
    // A capital that came as text was written with Shift.
    let shift = match key.code {
        Code::Char(char) if char.is_uppercase() => Mods::SHIFT,
        _ => Mods::NONE,
    };
    let held = (mods | shift).bits() + 1;
    Some(format!("\x1b[27;{held};{code}~").into_bytes())
}

/// At the first level what has a spelling of its own keeps it.
fn is_told_at_first(key: &Key, mods: Mods) -> bool {
    let is_within = |all: Mods| mods.without(all) == Mods::NONE;
    match key.code {
        Code::Char(char) if mods.has(Mods::CTRL) => {
            let byte = control(key, char);
            // Control and a question mark is DEL only where nothing else can be said.
            let has_own = byte.is_some_and(|byte| byte < 0x20 || (byte == 0x7f && char == '8'));
            !(has_own && is_within(Mods::CTRL | Mods::SHIFT | Mods::ALT))
        }
        Code::Enter => !is_within(Mods::ALT),
        Code::Tab => mods != Mods::SHIFT && mods != Mods::ALT,
        Code::Backspace | Code::Esc => !is_within(Mods::CTRL | Mods::SHIFT | Mods::ALT),
        _ => !is_within(Mods::SHIFT | Mods::ALT),
    }
}

/// At the second level all are told, but for text: xterm tells a capital, too, yet every program takes the letter.
fn is_told_at_second(code: Code, mods: Mods) -> bool {
    match code {
        Code::Char(_) | Code::Tab => mods != Mods::SHIFT,
        Code::Backspace => mods != Mods::CTRL,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTRL_SHIFT: Mods = Mods::from_bits(5);

    fn told(key: &Key, modes: &Modes) -> Option<String> {
        legacy(key, modes).map(|bytes| bytes.escape_ascii().to_string())
    }

    #[test]
    fn control_is_of_the_key_that_shift_and_the_layout_make() {
        let key = |char, mods| Key::new(Code::Char(char), mods);
        let cases = [
            (key('@', Mods::CTRL), "\\x00"),
            (key('`', Mods::CTRL), "\\x00"),
            (key('3', Mods::CTRL), "\\x1b"),
            (key('~', Mods::CTRL), "\\x1e"),
            (key('8', Mods::CTRL), "\\x7f"),
            (key(';', Mods::CTRL), ";"),
            (key('-', CTRL_SHIFT), "-"),
            (
                Key {
                    shifted: Some('_'),
                    ..key('-', CTRL_SHIFT)
                },
                "\\x1f",
            ),
            (
                Key {
                    base: Some('c'),
                    ..key('\u{441}', Mods::CTRL)
                },
                "\\x03",
            ),
        ];
        for (key, wanted) in cases {
            assert_eq!(
                told(&key, &Modes::default()).as_deref(),
                Some(wanted),
                "{key:?}"
            );
        }
        assert_eq!(
            told(&key('\u{441}', Mods::CTRL), &Modes::default()),
            None,
            "nobody said which key that is"
        );
    }

    #[test]
    fn the_keypad_is_what_it_stands_for_unless_the_child_tells_it_apart() {
        let key = |number, bits| Key::new(Code::Other(number), Mods::from_bits(bits));
        let app = Modes {
            app_keypad: true,
            ..Modes::default()
        };
        let cases = [
            (key(57400, 0), "1", "\\x1bOq"),
            (key(57400, 128), "1", "1"),
            (key(57413, 0), "+", "\\x1bOk"),
            (key(57414, 0), "\\r", "\\x1bOM"),
            (key(57414, 2), "\\x1b\\r", "\\x1b\\r"),
            (key(57415, 0), "=", "\\x1bOX"),
            (key(57417, 0), "\\x1b[D", "\\x1b[D"),
            (key(57417, 4), "\\x1b[1;5D", "\\x1b[1;5D"),
        ];
        for (key, plain, apart) in cases {
            assert_eq!(told(&key, &Modes::default()).as_deref(), Some(plain));
            assert_eq!(told(&key, &app).as_deref(), Some(apart));
        }
        assert_eq!(told(&key(57428, 0), &app), None, "play has no spelling");
    }

    #[test]
    fn the_first_level_tells_only_what_has_no_spelling_of_its_own() {
        let first = Modes {
            modify_other_keys: 1,
            ..Modes::default()
        };
        let shifted = |char, shifted| Key {
            shifted: Some(shifted),
            ..Key::new(Code::Char(char), CTRL_SHIFT)
        };
        let cases = [
            (Key::new(Code::Char('/'), Mods::CTRL), "\\x1f"),
            (Key::new(Code::Char('8'), Mods::CTRL), "\\x7f"),
            (Key::new(Code::Char(';'), Mods::CTRL), "\\x1b[27;5;59~"),
            (shifted('/', '?'), "\\x1b[27;6;63~"),
            (shifted('-', '_'), "\\x1f"),
            (shifted('a', 'A'), "\\x01"),
            (Key::new(Code::Char('a'), Mods::from_bits(3)), "\\x1bA"),
            (Key::new(Code::Char('a'), Mods::from_bits(6)), "\\x1b\\x01"),
            (Key::new(Code::Esc, CTRL_SHIFT), "\\x1b"),
            (Key::new(Code::Backspace, CTRL_SHIFT), "\\x08"),
        ];
        for (key, wanted) in cases {
            assert_eq!(told(&key, &first).as_deref(), Some(wanted), "{key:?}");
        }
    }
}
