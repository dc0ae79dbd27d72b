//! The keys that have a number or a letter of their own.

use super::key::{Code, Mods};
use crate::screen::Modes;

/// How a functional key is written: a number and `~`, or a letter.
pub(super) enum Functional {
    Number(u32),
    Letter(char),
    /// A letter that a child may want with `ESC O` (mode 1).
    Cursor(char),
    /// A letter that stands behind `ESC O` when nothing is held.
    Ss3(char),
}

pub(super) fn functional(code: Code) -> Option<Functional> {
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
    pub(super) fn legacy(&self, mods: Mods, modes: &Modes) -> Vec<u8> {
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
