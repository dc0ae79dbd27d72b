//! Keys by the kitty protocol, with the flags a child switched on.

use super::functional::{Functional, functional, keypad};
use super::key::{Code, Key, Mods, Stroke};
use super::legacy::legacy;
use crate::screen::Modes;

/// Flags of the kitty protocol.
const DISAMBIGUATE: u8 = 1;
const EVENT_TYPES: u8 = 2;
const ALTERNATES: u8 = 4;
const ALL_KEYS: u8 = 8;
const TEXT: u8 = 16;

/// The bytes of a key with the flags in force; none for what they leave out.
pub(super) fn kitty(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
    let key = &with_its_shift(key);
    let has = |flag| modes.kitty_keys & flag != 0;
    if !is_heard(key, has) {
        return None;
    }
    let is_down = key.stroke != Stroke::Release;
    if is_down
        && !(has(ALL_KEYS) && (has(TEXT) || key.code != Code::Other(0)))
        && let Some(text) = key.typed()
    {
        return Some(text.into_bytes());
    }
    if is_down && is_as_ever(key, has) {
        return legacy(key, modes);
    }
    let stroke = match key.stroke {
        Stroke::Repeat if has(EVENT_TYPES) => 2,
        Stroke::Release => 3,
        _ => 1,
    };
    if let Some(functional) = functional(key.code) {
        return Some(kitty_functional(key, &functional, stroke));
    }
    let mut code = number(key.code)?.to_string();
    if has(ALTERNATES) {
        code.push_str(&alternates(key));
    }
    let is_text_told = has(TEXT) && has(ALL_KEYS) && is_down;
    let text = is_text_told.then(|| text_of(key)).flatten();
    Some(sequence(&code, key.mods, stroke, text.as_deref(), 'u').into_bytes())
}

/// A capital that came as text was written with Shift; the protocol names the key beneath it.
fn with_its_shift(key: &Key) -> Key {
    let mut key = key.clone();
    if let Code::Char(char) = key.code
        && lower(char) != char
    {
        key.code = Code::Char(lower(char));
        key.mods |= Mods::SHIFT;
        key.shifted = key.shifted.or(Some(char));
    }
    key
}

/// Whether the child is told of this key at all.
fn is_heard(key: &Key, has: impl Fn(u8) -> bool) -> bool {
    if has(ALL_KEYS) {
        return key.stroke != Stroke::Release || has(EVENT_TYPES);
    }
    // These three go up unheard unless all keys are told, so that a shell stays usable.
    let is_plain = matches!(key.code, Code::Enter | Code::Tab | Code::Backspace);
    let is_up = key.stroke == Stroke::Release;
    !is_modifier(key.code) && !(is_up && (is_plain || !has(EVENT_TYPES)))
}

/// Whether a key that goes down is written as without the protocol.
fn is_as_ever(key: &Key, has: impl Fn(u8) -> bool) -> bool {
    if has(ALL_KEYS) {
        return false;
    }
    if functional(key.code).is_some() {
        return !has(DISAMBIGUATE) && !has(EVENT_TYPES);
    }
    let is_repeat_told = key.stroke == Stroke::Repeat && has(EVENT_TYPES);
    match key.code {
        Code::Enter | Code::Tab | Code::Backspace if key.mods.unlocked() == Mods::NONE => true,
        _ if has(DISAMBIGUATE) || is_repeat_told => false,
        // What has no spelling of its own is told anew.
        Code::Other(number) => keypad(number).is_some(),
        Code::Char(_) => key.mods.unlocked().bits() & !0b111 == 0,
        _ => true,
    }
}

fn number(code: Code) -> Option<u32> {
    Some(match code {
        Code::Enter => 13,
        Code::Tab => 9,
        Code::Backspace => 127,
        Code::Esc => 27,
        Code::Char(char) => u32::from(char),
        Code::Other(number) => number,
        _ => return None,
    })
}

fn kitty_functional(key: &Key, functional: &Functional, stroke: u8) -> Vec<u8> {
    let with = |code: &str, last| sequence(code, key.mods, stroke, None, last);
    match (key.code, functional) {
        // F3's letter would be the cursor's place, and F13 on have numbers of their own.
        (Code::F(3), _) => with("13", '~'),
        (Code::F(n @ 13..), _) => with(&(57376 + u32::from(n) - 13).to_string(), 'u'),
        (_, Functional::Number(number)) => with(&number.to_string(), '~'),
        (_, Functional::Cursor(letter) | Functional::Ss3(letter)) => {
            let is_bare = key.mods == Mods::NONE && stroke == 1;
            with(if is_bare { "" } else { "1" }, *letter)
        }
    }
    .into_bytes()
}

fn is_modifier(code: Code) -> bool {
    matches!(code, Code::Other(57358..=57360 | 57441..=57454))
}

fn lower(char: char) -> char {
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => char,
    }
}

/// The other characters of a key, as far as the outer terminal told them.
fn alternates(key: &Key) -> String {
    let shifted = key.shifted.filter(|_| key.mods.has(Mods::SHIFT));
    match (shifted, key.base) {
        (None, None) => String::new(),
        (Some(shifted), None) => format!(":{}", u32::from(shifted)),
        (None, Some(base)) => format!("::{}", u32::from(base)),
        (Some(shifted), Some(base)) => format!(":{}:{}", u32::from(shifted), u32::from(base)),
    }
}

/// The text of a key as numbers.
fn text_of(key: &Key) -> Option<String> {
    let text = key.text.clone().or_else(|| key.typed())?;
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
    use super::*;

    fn told(key: &Key, flags: u8) -> Option<String> {
        let modes = Modes {
            kitty_keys: flags,
            ..Modes::default()
        };
        kitty(key, &modes).map(|bytes| bytes.escape_ascii().to_string())
    }

    #[test]
    fn a_capital_that_came_as_text_keeps_its_shift() {
        let key = Key::char('A');
        assert_eq!(told(&key, 1).as_deref(), Some("A"));
        assert_eq!(told(&key, 8).as_deref(), Some("\\x1b[97;2u"));
        assert_eq!(told(&key, 12).as_deref(), Some("\\x1b[97:65;2u"));
        assert_eq!(told(&key, 24).as_deref(), Some("\\x1b[97;2;65u"));
        let other = Key::new(Code::Char('A'), Mods::from_bits(5));
        assert_eq!(told(&other, 1).as_deref(), Some("\\x1b[97;6u"));
    }

    #[test]
    fn the_text_of_an_input_method_is_never_lost() {
        let key = Key {
            text: Some("\u{65e5}\u{672c}".to_owned()),
            ..Key::new(Code::Other(0), Mods::NONE)
        };
        let text = "\\xe6\\x97\\xa5\\xe6\\x9c\\xac";
        for flags in [1, 3, 5, 8, 15] {
            assert_eq!(told(&key, flags).as_deref(), Some(text), "{flags}");
        }
        assert_eq!(told(&key, 31).as_deref(), Some("\\x1b[0;;26085:26412u"));
        let legacy = legacy(&key, &Modes::default());
        assert_eq!(legacy.as_deref(), Some("\u{65e5}\u{672c}".as_bytes()));
    }

    #[test]
    fn alternates_are_told_as_far_as_they_are_known_and_shift_is_held() {
        let key = Key {
            shifted: Some('\u{421}'),
            base: Some('c'),
            ..Key::new(Code::Char('\u{441}'), Mods::CTRL)
        };
        assert_eq!(told(&key, 1).as_deref(), Some("\\x1b[1089;5u"));
        assert_eq!(told(&key, 5).as_deref(), Some("\\x1b[1089::99;5u"));
        let with_shift = Key {
            mods: Mods::from_bits(5),
            ..key
        };
        assert_eq!(
            told(&with_shift, 5).as_deref(),
            Some("\\x1b[1089:1057:99;6u")
        );
    }

    #[test]
    fn text_that_a_key_wrote_with_alt_is_told() {
        let key = Key {
            text: Some("\u{e5}".to_owned()),
            ..Key::new(Code::Char('a'), Mods::ALT)
        };
        assert_eq!(told(&key, 31).as_deref(), Some("\\x1b[97;3;229u"));
    }

    #[test]
    fn modifiers_are_heard_by_who_wants_all_keys() {
        let shift = Key::new(Code::Other(57441), Mods::SHIFT);
        assert_eq!(told(&shift, 7), None);
        assert_eq!(told(&shift, 8).as_deref(), Some("\\x1b[57441;2u"));
        let print = Key::new(Code::Other(57361), Mods::NONE);
        assert_eq!(told(&print, 1).as_deref(), Some("\\x1b[57361u"));
    }

    #[test]
    fn a_key_that_is_held_is_a_press_to_who_hears_no_events() {
        let held = |code, mods| Key {
            stroke: Stroke::Repeat,
            ..Key::new(code, mods)
        };
        let a = held(Code::Char('a'), Mods::NONE);
        let ctrl = held(Code::Char('a'), Mods::CTRL);
        assert_eq!(told(&a, 1).as_deref(), Some("a"));
        assert_eq!(told(&a, 3).as_deref(), Some("a"));
        assert_eq!(told(&a, 11).as_deref(), Some("\\x1b[97;1:2u"));
        assert_eq!(told(&ctrl, 1).as_deref(), Some("\\x1b[97;5u"));
        assert_eq!(told(&ctrl, 2).as_deref(), Some("\\x1b[97;5:2u"));
        let mut up = held(Code::Char('a'), Mods::NONE);
        up.stroke = Stroke::Release;
        assert_eq!(told(&up, 8), None);
        assert_eq!(told(&up, 10).as_deref(), Some("\\x1b[97;1:3u"));
    }

    #[test]
    fn without_disambiguation_only_what_has_no_spelling_is_told_anew() {
        let key = |code, mods| Key::new(code, mods);
        let cases = [
            (key(Code::Esc, Mods::NONE), "\\x1b"),
            (key(Code::Char('c'), Mods::CTRL), "\\x03"),
            (key(Code::Char('c'), Mods::SUPER), "\\x1b[99;9u"),
            (key(Code::Other(57417), Mods::NONE), "\\x1b[D"),
            (key(Code::Other(57428), Mods::NONE), "\\x1b[57428u"),
        ];
        for (key, wanted) in cases {
            assert_eq!(told(&key, 2).as_deref(), Some(wanted), "{key:?}");
        }
    }
}
