//! What the outer terminal tells of itself.

use crate::screen::{Rgb, parse_rgb};

/// An answer to a question of ours, or news of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Its text colour (OSC 10).
    Foreground(Rgb),
    /// Its background (OSC 11).
    Background(Rgb),
    /// One of the first sixteen colours of its palette (OSC 4).
    Ansi(u8, Rgb),
    /// The flags of the kitty keyboard protocol it has in force; any answer says that it knows it.
    KittyFlags(u8),
    /// Its attributes (DA1).
    Attributes(Vec<u32>),
    /// Its name and version (XTVERSION).
    Version(String),
    /// A mode and what it says of it (DECRPM): 0 unknown, 1 set, 2 reset, 3 and 4 for good.
    Mode(u32, u8),
    /// The size of a cell in pixels, width and height.
    CellPixels(u16, u16),
    /// Its colours are dark ones now, or light ones.
    IsDark(bool),
    /// Something else, which nobody asked for.
    Other,
}

impl Reply {
    /// Reads the parameters and the final byte of a `CSI` sequence.
    pub(super) fn of_csi(mark: u8, middle: &[u8], numbers: &[u32], last: u8) -> Option<Self> {
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
        let small = |at: usize| u16::try_from(number(at)).ok();
        Some(match (mark, middle, last) {
            (b'?', b"", b'u') => Self::KittyFlags(u8::try_from(number(0)).unwrap_or(0)),
            (b'?', b"", b'c') => Self::Attributes(numbers.to_vec()),
            (b'?' | 0, b"$", b'y') => Self::Mode(number(0), u8::try_from(number(1)).ok()?),
            (b'?', b"", b'n') if number(0) == 997 => Self::IsDark(number(1) == 1),
            (0, b"", b't') if number(0) == 6 => Self::CellPixels(small(2)?, small(1)?),
            (0, b"", b't' | b'n' | b'c') | (b'>' | b'=' | b'?', ..) => Self::Other,
            _ => return None,
        })
    }

    /// Reads a control string: its second byte and its body.
    pub(super) fn of_string(kind: u8, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        if kind == b'P' {
            return match text.strip_prefix(">|") {
                Some(version) => Self::Version(version.to_owned()),
                None => Self::Other,
            };
        }
        match text.split_once(';') {
            Some(("10", text)) => parse_rgb(text).map_or(Self::Other, Self::Foreground),
            Some(("11", text)) => parse_rgb(text).map_or(Self::Other, Self::Background),
            Some(("4", text)) => ansi(text).unwrap_or(Self::Other),
            _ => Self::Other,
        }
    }
}

fn ansi(text: &str) -> Option<Reply> {
    let (index, color) = text.split_once(';')?;
    let index = index.parse().ok().filter(|index| *index < 16)?;
    Some(Reply::Ansi(index, parse_rgb(color)?))
}
