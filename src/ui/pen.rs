//! How cells are drawn: colours and attributes, and the sequence that says so.

use std::io::Write as _;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::depth::nearest;
use super::paint::Extra;
use crate::app::Depth;

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

    /// Appends the sequence that sets it, whatever was set before.
    pub(super) fn write(self, depth: Depth, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[0");
        for (flag, code) in CODES {
            if self.modifier.contains(flag) {
                // Writing to a vector cannot fail.
                let _ = write!(out, ";{code}");
            }
        }
        let (kind, line) = self.underline;
        // What a terminal does not know of these it takes for the ordinary line, or for none.
        if kind > 1 && self.modifier.contains(Modifier::UNDERLINED) {
            let _ = write!(out, ";4:{kind}");
        }
        if self.overline {
            out.extend_from_slice(b";53");
        }
        color(nearest(depth, self.fg), 30, out);
        color(nearest(depth, self.bg), 40, out);
        if depth == Depth::Rgb {
            match line {
                Color::Rgb(r, g, b) => {
                    let _ = write!(out, ";58;2;{r};{g};{b}");
                }
                Color::Indexed(at) => {
                    let _ = write!(out, ";58;5;{at}");
                }
                _ => {}
            }
        }
        out.push(b'm');
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
