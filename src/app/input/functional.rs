//! The keys that have a number or a letter of their own.

use super::key::{Code, Mods};
use crate::screen::Modes;

/// How a functional key is written: a number and `~`, or a letter.
pub(super) enum Functional {
    Number(u32),
    /// A letter that a child may want with `ESC O` (mode 1).
    Cursor(char),
    /// A letter that stands behind `ESC O` when nothing is held.
    Ss3(char),
}

/// How this key is written; none for a key that has no such spelling.
pub(super) fn functional(code: Code) -> Option<Functional> {
    use Functional::{Cursor, Number, Ss3};
    Some(match code {
        Code::Up => Cursor('A'),
        Code::Down => Cursor('B'),
        Code::Right => Cursor('C'),
        Code::Left => Cursor('D'),
        Code::Begin => Cursor('E'),
        Code::End => Cursor('F'),
        Code::Home => Cursor('H'),
        Code::Insert => Number(2),
        Code::Delete => Number(3),
        Code::PageUp => Number(5),
        Code::PageDown => Number(6),
        Code::F(n @ 1..=4) => Ss3(char::from(b'O' + n)),
        Code::F(n) => Number(number_of(n)?),
        _ => return None,
    })
}

/// The number of a function key: those of a VT220 up to F20, and xterm's own behind them.
fn number_of(n: u8) -> Option<u32> {
    Some(u32::from(match n {
        5 => 15,
        6..=10 => n + 11,
        11..=14 => n + 12,
        15..=16 => n + 13,
        17..=20 => n + 14,
        21..=35 => n + 21,
        _ => return None,
    }))
}

/// The key of a number before `~`.
pub(super) fn of_number(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        2 => Code::Insert,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        11..=14 => Code::F(u8::try_from(number - 10).ok()?),
        57427 => Code::Begin,
        _ => Code::F((5..=35).find(|n| number_of(*n) == Some(number))?),
    })
}

/// What a key of the keypad stands for, by its number in the kitty protocol.
pub(super) fn keypad(number: u32) -> Option<Code> {
    Some(match number {
        57399..=57408 => Code::Char(char::from_digit(number - 57399, 10)?),
        57409 => Code::Char('.'),
        57410 => Code::Char('/'),
        57411 => Code::Char('*'),
        57412 => Code::Char('-'),
        57413 => Code::Char('+'),
        57414 => Code::Enter,
        57415 => Code::Char('='),
        57416 => Code::Char(','),
        57417 => Code::Left,
        57418 => Code::Right,
        57419 => Code::Up,
        57420 => Code::Down,
        57421 => Code::PageUp,
        57422 => Code::PageDown,
        57423 => Code::Home,
        57424 => Code::End,
        57425 => Code::Insert,
        57426 => Code::Delete,
        57427 => Code::Begin,
        _ => return None,
    })
}

impl Functional {
    /// As xterm writes it.
    pub(super) fn legacy(&self, mods: Mods, modes: &Modes) -> Vec<u8> {
        let held = mods.bits() + 1;
        let bare = mods == Mods::NONE;
        match self {
            Self::Number(number) if bare => format!("\x1b[{number}~"),
            Self::Number(number) => format!("\x1b[{number};{held}~"),
            Self::Cursor(letter) if bare && modes.app_cursor => format!("\x1bO{letter}"),
            Self::Cursor(letter) if bare => format!("\x1b[{letter}"),
            Self::Ss3(letter) if bare => format!("\x1bO{letter}"),
            Self::Cursor(letter) | Self::Ss3(letter) => format!("\x1b[1;{held}{letter}"),
        }
        .into_bytes()
    }
}
