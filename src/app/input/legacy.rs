//! Keys as xterm writes them, modifyOtherKeys included.

use super::functional::functional;
use super::key::{Code, Key, Mods};
use crate::screen::Modes;

/// A cursor key without modifiers.
pub(super) fn cursor_key(code: Code, modes: &Modes) -> Vec<u8> {
    legacy(&Key::new(code, Mods::NONE), modes).unwrap_or_default()
}

pub(super) fn legacy(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
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
