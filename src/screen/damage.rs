//! Which rows of the screen may look different since they were last asked for.
//!
//! A little output is fed to the emulator in parts between which the cursor jumps; within one part it only goes down,
//! so the rows between where it was and where it is are all that can have changed. Much output, and what moves whole
//! rows, damages everything, which costs nothing to tell.

/// Rows that may look different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    all: bool,
    rows: Vec<u64>,
}

impl Default for Damage {
    fn default() -> Self {
        Self::everything()
    }
}

impl Damage {
    /// Every row.
    pub fn everything() -> Self {
        Self {
            all: true,
            rows: Vec::new(),
        }
    }

    /// No row.
    pub fn nothing() -> Self {
        Self {
            all: false,
            rows: Vec::new(),
        }
    }

    /// Whether every row may be different.
    pub fn is_everything(&self) -> bool {
        self.all
    }

    /// Whether no row is.
    pub fn is_nothing(&self) -> bool {
        !self.all && self.rows.iter().all(|rows| *rows == 0)
    }

    /// Whether this row may be different.
    pub fn has(&self, row: u16) -> bool {
        let (word, bit) = (usize::from(row) / 64, row % 64);
        self.all || self.rows.get(word).is_some_and(|rows| rows >> bit & 1 == 1)
    }

    /// Adds the rows of another one.
    pub fn add(&mut self, other: &Self) {
        self.all |= other.all;
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), 0);
        }
        for (rows, more) in self.rows.iter_mut().zip(&other.rows) {
            *rows |= more;
        }
    }

    pub(super) fn add_all(&mut self) {
        self.all = true;
        self.rows.clear();
    }

    pub(super) fn add_rows(&mut self, first: u16, last: u16) {
        for row in first..=last {
            let (word, bit) = (usize::from(row) / 64, row % 64);
            if self.rows.len() <= word {
                self.rows.resize(word + 1, 0);
            }
            self.rows[word] |= 1 << bit;
        }
    }
}

/// What a part of the output can do to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It changes rows from where the cursor is on downwards, as far as it gets.
    Down,
    /// It only moves the cursor, or changes how what follows is drawn.
    Nothing,
    /// It may change any row.
    All,
}

/// The first part of output that is made of whole pieces: its length and what it can do.
pub(super) fn part(bytes: &[u8]) -> (usize, Reach) {
    let mut at = 0;
    loop {
        let text = memchr::memchr(0x1b, &bytes[at..]).unwrap_or(bytes.len() - at);
        at += text;
        if at == bytes.len() {
            return (at, Reach::Down);
        }
        let (length, reach) = sequence(&bytes[at..]);
        match reach {
            Reach::Down => at += length,
            _ if at > 0 => return (at, Reach::Down),
            reach => return (length, reach),
        }
    }
}

/// The sequence at the beginning: its length and what it can do.
fn sequence(bytes: &[u8]) -> (usize, Reach) {
    let [_, b'[', rest @ ..] = bytes else {
        let reach = match bytes.get(1) {
            Some(b'7' | b'8' | b'=' | b'>') => Reach::Nothing,
            _ => Reach::All,
        };
        return match reach {
            Reach::Nothing => (2, reach),
            reach => (bytes.len(), reach),
        };
    };
    let Some(last) = rest.iter().position(|byte| matches!(byte, 0x40..=0x7e)) else {
        return (bytes.len(), Reach::All);
    };
    let length = last + 3;
    let reach = match (rest[last], rest.first()) {
        (b'm' | b'C' | b'D' | b'G' | b'K' | b'X' | b'P' | b'@' | b'`', _) => Reach::Down,
        (b'A' | b'B' | b'E' | b'F' | b'H' | b'f' | b'd', _) => Reach::Nothing,
        (b'h' | b'l', _) if rest.starts_with(b"?25") => Reach::Nothing,
        _ => Reach::All,
    };
    match reach {
        Reach::All => (bytes.len(), reach),
        reach => (length, reach),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_and_added() {
        let mut damage = Damage::nothing();
        assert!(damage.is_nothing());
        damage.add_rows(3, 3);
        damage.add_rows(130, 131);
        let damaged = |damage: &Damage| (0..200).filter(|row| damage.has(*row)).collect::<Vec<_>>();
        assert_eq!(damaged(&damage), [3, 130, 131]);
        let mut other = Damage::nothing();
        other.add(&damage);
        assert_eq!(other, damage);
        other.add_all();
        assert!(other.is_everything() && other.has(1999));
    }

    #[test]
    fn output_is_cut_where_the_cursor_jumps() {
        assert_eq!(part(b"abc\x1b[1mde\x1b[K\r\nf"), (15, Reach::Down));
        assert_eq!(part(b"abc\x1b[5;1Hx"), (3, Reach::Down));
        assert_eq!(part(b"\x1b[5;1Hx"), (6, Reach::Nothing));
        assert_eq!(part(b"\x1b[2Jx"), (5, Reach::All));
        assert_eq!(part(b"\x1bMx"), (3, Reach::All));
        assert_eq!(part(b"\x1b[?25lx"), (6, Reach::Nothing));
    }
}
