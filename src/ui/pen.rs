//! How cells are drawn: colours and attributes, and the sequence that says so.

use std::io::Write as _;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::depth::nearest;
use super::paint::Extra;
use crate::app::{Abilities, Depth};

/// The codes of the attributes.
const CODES: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// How a cell is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
    /// The kind of underline, as `SGR 4:n` numbers it, and its colour.
    underline: (u8, Color),
    overline: bool,
}

impl Pen {
    /// Nothing is set.
    pub(super) const PLAIN: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        modifier: Modifier::empty(),
        underline: (0, Color::Reset),
        overline: false,
    };

    /// How a cell is to be drawn.
    pub(super) fn of(cell: &Cell, extra: Extra) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
            underline: (extra.underline, cell.underline_color),
            overline: extra.overline,
        }
    }

    /// Appends the sequences that set it, whatever was set before.
    pub(super) fn write(self, abilities: Abilities, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[0");
        for (flag, code) in CODES {
            if self.modifier.contains(flag) {
                // Writing to a vector cannot fail.
                let _ = write!(out, ";{code}");
            }
        }
        color(nearest(abilities.depth, self.fg), 30, out);
        color(nearest(abilities.depth, self.bg), 40, out);
        out.push(b'm');
        if abilities.extras {
            self.write_extras(abilities.depth, out);
        }
    }

    /// What not every terminal knows. Each is a sequence of its own and with colons: who does not know one drops that
    /// one alone, and takes none of its numbers for an attribute.
    fn write_extras(self, depth: Depth, out: &mut Vec<u8>) {
        if self.overline {
            out.extend_from_slice(b"\x1b[53m");
        }
        let (kind, line) = self.underline;
        if !self.modifier.contains(Modifier::UNDERLINED) {
            return;
        }
        if kind > 1 {
            let _ = write!(out, "\x1b[4:{kind}m");
        }
        let _ = match nearest(depth, line) {
            Color::Rgb(r, g, b) => write!(out, "\x1b[58:2::{r}:{g}:{b}m"),
            Color::Indexed(at) => write!(out, "\x1b[58:5:{at}m"),
            _ => Ok(()),
        };
    }
}

fn color(color: Color, base: u8, out: &mut Vec<u8>) {
    let named = |at: u8| match at {
        0..=7 => base + at,
        at => base + 60 + at - 8,
    };
    // Writing to a vector cannot fail.
    let _ = match color {
        Color::Reset => return,
        Color::Rgb(r, g, b) => write!(out, ";{};2;{r};{g};{b}", base + 8),
        Color::Indexed(at @ 0..=15) => write!(out, ";{}", named(at)),
        Color::Indexed(at) => write!(out, ";{};5;{at}", base + 8),
        Color::Black => write!(out, ";{}", named(0)),
        Color::Red => write!(out, ";{}", named(1)),
        Color::Green => write!(out, ";{}", named(2)),
        Color::Yellow => write!(out, ";{}", named(3)),
        Color::Blue => write!(out, ";{}", named(4)),
        Color::Magenta => write!(out, ";{}", named(5)),
        Color::Cyan => write!(out, ";{}", named(6)),
        Color::Gray => write!(out, ";{}", named(7)),
        Color::DarkGray => write!(out, ";{}", named(8)),
        Color::LightRed => write!(out, ";{}", named(9)),
        Color::LightGreen => write!(out, ";{}", named(10)),
        Color::LightYellow => write!(out, ";{}", named(11)),
        Color::LightBlue => write!(out, ";{}", named(12)),
        Color::LightMagenta => write!(out, ";{}", named(13)),
        Color::LightCyan => write!(out, ";{}", named(14)),
        Color::White => write!(out, ";{}", named(15)),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pen: Pen, abilities: Abilities) -> String {
        let mut out = Vec::new();
        pen.write(abilities, &mut out);
        out.escape_ascii().to_string()
    }

    #[test]
    fn what_a_terminal_may_not_know_is_said_apart_or_not_at_all() {
        let pen = Pen {
            fg: Color::Indexed(9),
            modifier: Modifier::UNDERLINED,
            underline: (3, Color::Rgb(1, 2, 3)),
            overline: true,
            ..Pen::PLAIN
        };
        let all = Abilities::default();
        assert_eq!(
            written(pen, all),
            "\\x1b[0;4;91m\\x1b[53m\\x1b[4:3m\\x1b[58:2::1:2:3m"
        );
        let indexed = Abilities {
            depth: Depth::Indexed,
            ..all
        };
        assert!(written(pen, indexed).ends_with("\\x1b[58:5:16m"));
        let colorless = Abilities {
            depth: Depth::None,
            ..all
        };
        assert_eq!(written(pen, colorless), "\\x1b[0;4m\\x1b[53m\\x1b[4:3m");
        let old = Abilities {
            extras: false,
            ..all
        };
        assert_eq!(written(pen, old), "\\x1b[0;4;91m");
    }
}
