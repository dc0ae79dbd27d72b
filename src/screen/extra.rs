//! How text is drawn beyond what the crate's cells hold: kinds and colour of underlines, blinking, hidden, struck and
//! overlined text, links.
//!
//! The crate has no room for it, so it is kept here and the cell carries a number in two characters without width,
//! which move with the cell, are overwritten and erased with it, and never show. What has no number any more is drawn
//! plainly: nothing is ever shown where it does not belong.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::line::Color;
use super::link::LinkId;

/// How a line under the text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Underline {
    /// One straight line.
    #[default]
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// What of a cell's look is no part of its `Style`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Extra {
    /// The kind of line, where the style is underlined.
    pub underline: Underline,
    /// The colour of that line; the text's when it is `Default`.
    pub underline_color: Color,
    /// Blinking, however fast.
    pub blink: bool,
    /// Hidden: there, and not to be seen.
    pub conceal: bool,
    /// Struck through.
    pub strike: bool,
    /// A line above.
    pub overline: bool,
    /// The link it belongs to.
    pub link: Option<LinkId>,
}

impl Extra {
    /// Whether no attribute is set; there may be a link.
    pub(super) fn is_plain(&self) -> bool {
        let link = self.link;
        *self
            == Self {
                link,
                ..Self::default()
            }
    }

    /// Sets all attributes back; the link stays, as SGR says nothing of it.
    pub(super) fn reset(&mut self) {
        let link = self.link;
        *self = Self {
            link,
            ..Self::default()
        };
    }
}

/// The characters of a mark: reserved code points without width, of no use to anyone.
const MARKS: u32 = 0xe0200;
/// How many of them there are.
const MARK_BASE: u32 = 2048;
/// Looks kept; more than a screen shows of them goes plain.
const KEPT: usize = 8192;
/// The longest contents a mark still fits behind (22 bytes; an append is refused from 18 on).
pub(super) const MARKED_BYTES: usize = 13;

/// Two characters that stand for a look.
pub(super) type Mark = [char; 2];

/// The looks in use.
#[derive(Debug, Default)]
pub(super) struct Extras {
    kept: VecDeque<Extra>,
    /// Number of the first one kept; numbers come back only after millions.
    first: u32,
    numbers: HashMap<Extra, u32>,
}

impl Extras {
    /// All looks that are kept, oldest first, and the number of the first.
    pub(super) fn kept(&self) -> (Vec<Extra>, u32) {
        (self.kept.iter().copied().collect(), self.first)
    }

    /// The looks that were kept before.
    pub(super) fn again((kept, first): (Vec<Extra>, u32)) -> Option<Self> {
        if kept.len() > KEPT {
            return None;
        }
        let numbers = (0..).zip(&kept);
        let numbers = numbers.map(|(at, extra): (u32, _)| (*extra, first.wrapping_add(at)));
        Some(Self {
            numbers: numbers.collect(),
            kept: kept.into(),
            first,
        })
    }

    /// Whether no cell can carry a mark.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The mark of a look. The flag says that an older one had to be forgotten.
    pub(super) fn mark(&mut self, extra: Extra) -> (Mark, bool) {
        if let Some(number) = self.numbers.get(&extra) {
            return (mark(*number), false);
        }
        let forgets = self.kept.len() == KEPT;
        if forgets && let Some(oldest) = self.kept.pop_front() {
            self.numbers.remove(&oldest);
            self.first = self.first.wrapping_add(1);
        }
        let number = self
            .first
            .wrapping_add(u32::try_from(self.kept.len()).unwrap_or(0));
        self.kept.push_back(extra);
        self.numbers.insert(extra, number);
        (mark(number), forgets)
    }

    /// The look of a cell with these contents.
    pub(super) fn of(&self, contents: &str) -> Extra {
        let mut digits = contents.chars().filter_map(digit);
        let (Some(high), Some(low)) = (digits.next(), digits.next()) else {
            return Extra::default();
        };
        let all = MARK_BASE * MARK_BASE;
        let place = (high * MARK_BASE + low + all - self.first % all) % all;
        self.kept.get(place as usize).copied().unwrap_or_default()
    }
}

fn mark(number: u32) -> Mark {
    let char = |digit: u32| char::from_u32(MARKS + digit % MARK_BASE).unwrap_or(' ');
    [char(number / MARK_BASE), char(number)]
}

fn digit(c: char) -> Option<u32> {
    u32::from(c)
        .checked_sub(MARKS)
        .filter(|digit| *digit < MARK_BASE)
}

/// Whether a character is part of a mark.
pub(super) fn is_mark(c: char) -> bool {
    digit(c).is_some()
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthChar;

    use super::*;

    fn colored(number: u32) -> Extra {
        let [_, r, g, b] = number.to_be_bytes();
        Extra {
            underline_color: Color::Rgb(r, g, b),
            ..Extra::default()
        }
    }

    #[test]
    fn marks_take_no_column() {
        for digit in 0..MARK_BASE {
            let mark = char::from_u32(MARKS + digit).expect("a code point");
            assert_eq!(mark.width(), Some(0), "{digit:x}");
        }
    }

    #[test]
    fn a_mark_leads_to_its_look_as_long_as_it_is_kept() {
        let mut extras = Extras::default();
        let marks: Vec<Mark> = (0..20_000).map(|n| extras.mark(colored(n)).0).collect();
        for (n, mark) in (0..).zip(marks) {
            let wanted = if n < 20_000 - 8192 {
                Extra::default()
            } else {
                colored(n)
            };
            assert_eq!(
                extras.of(&format!("x{}{}", mark[0], mark[1])),
                wanted,
                "{n}"
            );
        }
        assert!(!extras.mark(colored(19_999)).1);
        assert_eq!(extras.of("x"), Extra::default());
    }
}
