//! Keys by the kitty protocol, with the flags a child switched on.

use super::functional::{Functional, functional};
use super::key::{Code, Key, Mods, Stroke};
use super::legacy::legacy;
use crate::screen::Modes;

/// Flags of the kitty protocol.
const DISAMBIGUATE: u8 = 1;
const EVENT_TYPES: u8 = 2;
const ALTERNATES: u8 = 4;
const ALL_KEYS: u8 = 8;
const TEXT: u8 = 16;

/// A key by the kitty protocol with the flags in force.
pub(super) fn kitty(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
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
