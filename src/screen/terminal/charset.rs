//! Character sets: ASCII and the line drawing set, in four slots of which one is in use.

use serde::{Deserialize, Serialize};

/// The slots, and the one in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Charsets {
    /// Whether the slot holds the line drawing set.
    drawing: [bool; 4],
    used: usize,
}

impl Charsets {
    /// Whether the slot in use is one there is.
    pub(super) fn is_sound(&self) -> bool {
        self.used < self.drawing.len()
    }

    /// `ESC ( name` and the like, by number of the slot.
    pub(super) fn designate(&mut self, slot: u8, name: u8) {
        if let Some(slot) = self.drawing.get_mut(usize::from(slot)) {
            *slot = name == b'0';
        }
    }

    /// Takes another slot into use.
    pub(super) fn shift(&mut self, slot: usize) {
        self.used = slot;
    }

    /// Whether characters are to be mapped.
    pub(super) fn is_drawing(&self) -> bool {
        self.drawing[self.used]
    }

    /// The character that `c` stands for.
    pub(super) fn map(&self, c: char) -> char {
        if !self.is_drawing() {
            return c;
        }
        match c {
            '_' => '\u{a0}',
            '`' => '◆',
            'a' => '▒',
            'b' => '␉',
            'c' => '␌',
            'd' => '␍',
            'e' => '␊',
            'f' => '°',
            'g' => '±',
            'h' => '␤',
            'i' => '␋',
            'j' => '┘',
            'k' => '┐',
            'l' => '┌',
            'm' => '└',
            'n' => '┼',
            'o' => '⎺',
            'p' => '⎻',
            'q' => '─',
            'r' => '⎼',
            's' => '⎽',
            't' => '├',
            'u' => '┤',
            'v' => '┴',
            'w' => '┬',
            'x' => '│',
            'y' => '≤',
            'z' => '≥',
            '{' => 'π',
            '|' => '≠',
            '}' => '£',
            '~' => '·',
            _ => c,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_slot_in_use_counts() {
        let mut charsets = Charsets::default();
        charsets.designate(1, b'0');
        assert_eq!(charsets.map('q'), 'q');
        charsets.shift(1);
        assert_eq!(charsets.map('q'), '─');
        charsets.designate(1, b'B');
        assert_eq!(charsets.map('q'), 'q');
    }
}
