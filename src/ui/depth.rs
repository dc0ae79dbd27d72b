//! Colours as the outer terminal can show them.

use ratatui::style::Color;

use crate::screen::Palette;

/// How many colours there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Depth {
    /// None: attributes alone.
    None,
    /// The sixteen of the terminal's own palette.
    Ansi,
    /// The 256 of xterm.
    Indexed,
    /// All of them.
    #[default]
    Rgb,
}

impl Depth {
    /// The nearest colour there is.
    pub fn nearest(self, color: Color) -> Color {
        match (self, color) {
            (Self::None, _) => Color::Reset,
            (Self::Rgb, color) | (_, color @ Color::Reset) => color,
            (Self::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(indexed((r, g, b))),
            (Self::Indexed, color) => color,
            (Self::Ansi, Color::Rgb(r, g, b)) => Color::Indexed(ansi((r, g, b))),
            (Self::Ansi, Color::Indexed(at)) if at >= 16 => {
                Color::Indexed(ansi(Palette::default().entry(at)))
            }
            (Self::Ansi, color) => color,
        }
    }
}

type Rgb = (u8, u8, u8);

fn distance(a: Rgb, b: Rgb) -> u32 {
    let part = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    // The eye sees green best, and blue worst.
    3 * part(a.0, b.0) + 4 * part(a.1, b.1) + 2 * part(a.2, b.2)
}

/// The nearest of the cube and the grays.
fn indexed((r, g, b): Rgb) -> u8 {
    let palette = Palette::default();
    let step = |value: u8| match value {
        0..=47 => 0,
        48..=114 => 1,
        value => (value - 35) / 40,
    };
    let cube = 16 + 36 * step(r) + 6 * step(g) + step(b);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let gray = 232 + u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or(23);
    let far = |at: u8| distance(palette.entry(at), (r, g, b));
    if far(gray) < far(cube) { gray } else { cube }
}

fn ansi(color: Rgb) -> u8 {
    let palette = Palette::default();
    (0..16)
        .min_by_key(|at| distance(palette.entry(*at), color))
        .unwrap_or(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_a_nearest_one_at_each_depth() {
        let rgb = Color::Rgb(255, 0, 0);
        assert_eq!(Depth::Rgb.nearest(rgb), rgb);
        assert_eq!(Depth::Indexed.nearest(rgb), Color::Indexed(196));
        assert_eq!(Depth::Ansi.nearest(rgb), Color::Indexed(9));
        assert_eq!(Depth::None.nearest(rgb), Color::Reset);
        assert_eq!(
            Depth::Indexed.nearest(Color::Rgb(8, 8, 8)),
            Color::Indexed(232)
        );
        assert_eq!(
            Depth::Indexed.nearest(Color::Rgb(128, 128, 128)),
            Color::Indexed(244)
        );
        assert_eq!(Depth::Ansi.nearest(Color::Indexed(196)), Color::Indexed(9));
        assert_eq!(Depth::Ansi.nearest(Color::Indexed(3)), Color::Indexed(3));
        assert_eq!(Depth::Ansi.nearest(Color::Reset), Color::Reset);
    }
}
