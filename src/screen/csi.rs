//! A control sequence taken apart.

/// The parts of `ESC [ … final`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Csi<'a> {
    /// One of `<=>?`, or 0.
    pub private: u8,
    /// Digits, colons and semicolons.
    pub params: &'a [u8],
    /// Blanks to slashes.
    pub intermediates: &'a [u8],
    /// The last byte.
    pub last: u8,
}

impl<'a> Csi<'a> {
    /// Takes a whole sequence apart; `None` when its parts stand in an order no terminal accepts.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (last, rest) = bytes.strip_prefix(b"\x1b[")?.split_last()?;
        let (private, rest) = match rest.first() {
            Some(&private @ b'<'..=b'?') => (private, &rest[1..]),
            _ => (0, rest),
        };
        let split = rest
            .iter()
            .position(|b| !matches!(b, b'0'..=b';'))
            .unwrap_or(rest.len());
        let (params, intermediates) = rest.split_at(split);
        intermediates
            .iter()
            .all(|b| matches!(b, 0x20..=0x2f))
            .then_some(Self {
                private,
                params,
                intermediates,
                last: *last,
            })
    }

    /// The parameters; one left out is a zero, what follows a colon is left out.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.params.split(|b| *b == b';').map(|param| {
            param
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .fold(0u32, |sum, digit| {
                    sum.saturating_mul(10)
                        .saturating_add(u32::from(digit - b'0'))
                })
        })
    }

    /// The parameter at `index`; `default` when it is left out or zero.
    pub(super) fn number(&self, index: usize, default: u32) -> u32 {
        match self.numbers().nth(index) {
            None | Some(0) => default,
            Some(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        assert_eq!(
            Csi::parse(b"\x1b[?2026$p"),
            Some(Csi {
                private: b'?',
                params: b"2026",
                intermediates: b"$",
                last: b'p'
            })
        );
        assert_eq!(Csi::parse(b"\x1b[1?m"), None);
        assert_eq!(Csi::parse(b"\x1b[$1m"), None);
    }

    #[test]
    fn numbers_saturate_and_default() {
        let csi = Csi::parse(b"\x1b[;99999999999;4:3H").expect("a sequence");
        assert_eq!(csi.numbers().collect::<Vec<_>>(), [0, u32::MAX, 4]);
        assert_eq!((csi.number(0, 1), csi.number(7, 9)), (1, 9));
    }
}
