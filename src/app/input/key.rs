//! A key as a terminal can tell it.

use std::ops::{BitOr, BitOrAssign};

/// Which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// A key that writes a character, as it is without Shift where the terminal tells that.
    Char(char),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Escape.
    Esc,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor right.
    Right,
    /// Cursor left.
    Left,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Insert.
    Insert,
    /// Delete.
    Delete,
    /// The middle key of a keypad.
    Begin,
    /// A function key, from 1.
    F(u8),
    /// Any other key of the kitty protocol, by its number there: keypad, media and modifier keys; 0 is none, for text
    /// that an input method wrote.
    Other(u32),
}

/// The modifiers held with a key, as the kitty protocol counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mods(u8);

impl Mods {
    /// None.
    pub const NONE: Self = Self(0);
    /// Shift.
    pub const SHIFT: Self = Self(1);
    /// Alt.
    pub const ALT: Self = Self(2);
    /// Control.
    pub const CTRL: Self = Self(4);
    /// Super.
    pub const SUPER: Self = Self(8);
    /// NumLock, which is on.
    pub const NUM_LOCK: Self = Self(128);

    /// From the bits of a terminal's sequence, one taken off already.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The bits.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of `other` are held.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Without the locks, which change nothing about a command.
    pub fn unlocked(self) -> Self {
        Self(self.0 & 0b0011_1111)
    }

    /// Without `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Mods {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Mods {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What became of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stroke {
    /// It went down.
    #[default]
    Press,
    /// It is held.
    Repeat,
    /// It went up.
    Release,
}

/// A key, with all the terminal told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Which one.
    pub code: Code,
    /// What was held with it.
    pub mods: Mods,
    /// What became of it.
    pub stroke: Stroke,
    /// The character it writes with Shift, where the terminal tells it.
    pub shifted: Option<char>,
    /// The character it writes on the standard layout, where the terminal tells it.
    pub base: Option<char>,
    /// The text it wrote, where the terminal tells it.
    pub text: Option<String>,
}

impl Key {
    /// A press.
    pub fn new(code: Code, mods: Mods) -> Self {
        Self {
            code,
            mods,
            stroke: Stroke::Press,
            shifted: None,
            base: None,
            text: None,
        }
    }

    /// A character typed without anything held but what it takes to write it.
    pub fn char(char: char) -> Self {
        Self::new(Code::Char(char), Mods::NONE)
    }

    /// Whether it is down.
    pub fn is_press(&self) -> bool {
        self.stroke != Stroke::Release
    }

    /// The text it means where text is typed; none for a command.
    pub fn typed(&self) -> Option<String> {
        if !self.is_press() || !self.mods.unlocked().without(Mods::SHIFT).eq(&Mods::NONE) {
            return None;
        }
        if let Some(text) = &self.text {
            return Some(text.clone());
        }
        let Code::Char(char) = self.code else {
            return None;
        };
        let char = match self.mods.has(Mods::SHIFT) {
            true => self.shifted.unwrap_or_else(|| upper(char)),
            false => char,
        };
        Some(char.to_string())
    }

    /// The key and what was held, in one spelling: Shift is part of a character that it changes.
    pub fn command(&self) -> (Code, Mods) {
        let mods = self.mods.unlocked();
        let Code::Char(char) = self.code else {
            return (self.code, mods);
        };
        if !mods.has(Mods::SHIFT) {
            return (self.code, mods);
        }
        let written = self.shifted.unwrap_or_else(|| upper(char));
        match written == char {
            true if !char.is_uppercase() && !char.is_ascii_punctuation() => (self.code, mods),
            _ => (Code::Char(written), mods.without(Mods::SHIFT)),
        }
    }
}

fn upper(char: char) -> char {
    let mut upper = char.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_with_shift_is_one_command_however_the_terminal_tells_it() {
        let legacy = Key::char('D');
        let kitty = Key {
            shifted: Some('D'),
            ..Key::new(Code::Char('d'), Mods::SHIFT)
        };
        let plain_kitty = Key::new(Code::Char('d'), Mods::SHIFT);
        for key in [legacy, kitty, plain_kitty] {
            assert_eq!(key.command(), (Code::Char('D'), Mods::NONE));
            assert_eq!(key.typed().as_deref(), Some("D"));
        }
        let pipe = Key {
            shifted: Some('|'),
            ..Key::new(Code::Char('\\'), Mods::SHIFT)
        };
        assert_eq!(pipe.command(), (Code::Char('|'), Mods::NONE));
    }

    #[test]
    fn a_command_is_no_text_and_locks_change_nothing() {
        assert_eq!(Key::new(Code::Char('c'), Mods::CTRL).typed(), None);
        let locked = Key::new(Code::Char('c'), Mods::from_bits(128));
        assert_eq!(locked.typed().as_deref(), Some("c"));
        assert_eq!(locked.command(), (Code::Char('c'), Mods::NONE));
        let enter = Key::new(Code::Enter, Mods::SHIFT);
        assert_eq!(enter.command(), (Code::Enter, Mods::SHIFT));
    }
}
