//! The colours the terminal says it has, when a child asks.

use std::fmt::Write as _;

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// The colours of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Palette {
    /// Of text (OSC 10).
    pub foreground: Rgb,
    /// Behind text (OSC 11).
    pub background: Rgb,
    /// Of the cursor (OSC 12).
    pub cursor: Rgb,
    /// The first sixteen entries (OSC 4); the others are xterm's.
    pub ansi: [Rgb; 16],
}

impl Default for Palette {
    /// A dark terminal with xterm's colours.
    fn default() -> Self {
        Self {
            foreground: (0xe5, 0xe5, 0xe5),
            background: (0x1a, 0x1a, 0x1a),
            cursor: (0xe5, 0xe5, 0xe5),
            ansi: [
                (0x00, 0x00, 0x00),
                (0xcd, 0x00, 0x00),
                (0x00, 0xcd, 0x00),
                (0xcd, 0xcd, 0x00),
                (0x00, 0x00, 0xee),
                (0xcd, 0x00, 0xcd),
                (0x00, 0xcd, 0xcd),
                (0xe5, 0xe5, 0xe5),
                (0x7f, 0x7f, 0x7f),
                (0xff, 0x00, 0x00),
                (0x00, 0xff, 0x00),
                (0xff, 0xff, 0x00),
                (0x5c, 0x5c, 0xff),
                (0xff, 0x00, 0xff),
                (0x00, 0xff, 0xff),
                (0xff, 0xff, 0xff),
            ],
        }
    }
}

impl Palette {
    /// An entry of the 256.
    pub fn entry(&self, index: u8) -> Rgb {
        let ramp = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
        match index {
            0..=15 => self.ansi[usize::from(index)],
            16..=231 => {
                let n = index - 16;
                (ramp(n / 36), ramp(n / 6 % 6), ramp(n % 6))
            }
            232..=255 => {
                let gray = 8 + 10 * (index - 232);
                (gray, gray, gray)
            }
        }
    }

    /// Whether the background is darker than the text.
    pub fn is_dark(&self) -> bool {
        let light = |(r, g, b): Rgb| 3 * u32::from(r) + 6 * u32::from(g) + u32::from(b);
        light(self.background) < light(self.foreground)
    }
}

/// Reads a colour as xterm answers it: `rgb:` or `rgba:` and one to four hexadecimal digits for each part.
pub fn parse_rgb(text: &str) -> Option<Rgb> {
    let parts = text
        .strip_prefix("rgb:")
        .or_else(|| text.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(|part| {
        let digits = u32::try_from(part.len()).ok()?;
        let value = u32::from_str_radix(part, 16).ok()?;
        // However many digits there are, all of them set is full.
        let full = 16u32.checked_pow(digits).filter(|_| digits <= 4)? - 1;
        u8::try_from(value * 255 / full.max(1)).ok()
    });
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// Writes a colour as xterm answers it.
pub(super) fn write_rgb(out: &mut String, (r, g, b): Rgb) {
    // Writing to a string cannot fail.
    let _ = write!(out, "rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_read_at_any_precision() {
        assert_eq!(parse_rgb("rgb:ffff/8080/0000"), Some((255, 128, 0)));
        assert_eq!(parse_rgb("rgb:f/8/0"), Some((255, 136, 0)));
        assert_eq!(parse_rgb("rgba:1e1e/2020/3030/ffff"), Some((30, 32, 48)));
        for wrong in [
            "",
            "rgb:",
            "rgb:1/2",
            "rgb:x/y/z",
            "#ffffff",
            "rgb:fffff/0/0",
        ] {
            assert_eq!(parse_rgb(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_cube_and_the_grays_are_xterms() {
        let palette = Palette::default();
        assert_eq!(palette.entry(16), (0, 0, 0));
        assert_eq!(palette.entry(196), (255, 0, 0));
        assert_eq!(palette.entry(231), (255, 255, 255));
        assert_eq!(palette.entry(255), (238, 238, 238));
        assert!(palette.is_dark());
    }
}
