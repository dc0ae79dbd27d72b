//! Colours as the outer terminal can show them.

use ratatui::style::Color;

use crate::app::Depth;
use crate::screen::Palette;

/// The nearest colour there is at a depth.
pub(super) fn nearest(depth: Depth, color: Color) -> Color {
    match (depth, color) {
        (Depth::None, _) => Color::Reset,
        (Depth::Rgb, color) | (_, color @ Color::Reset) => color,
        (Depth::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(indexed((r, g, b))),
        (Depth::Indexed, color) => color,
        (Depth::Ansi, Color::Rgb(r, g, b)) => Color::Indexed(ansi((r, g, b))),
        (Depth::Ansi, Color::Indexed(at)) if at >= 16 => {
            Color::Indexed(ansi(Palette::default().entry(at)))
        }
        (Depth::Ansi, color) => color,
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
    // The mean by the weights of the distance is the nearest gray there could be.
    let mean = (3 * u16::from(r) + 4 * u16::from(g) + 2 * u16::from(b)) / 9;
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_colour_of_the_cube_and_the_grays_is_nearer(color in any::<Rgb>()) {
            let palette = Palette::default();
            let far = |at: u8| distance(palette.entry(at), color);
            let found = far(indexed(color));
            let least = (16..=255).map(far).min();
            prop_assert_eq!(Some(found), least);
        }
    }

    #[test]
    fn every_colour_has_a_nearest_one_at_each_depth() {
        let rgb = Color::Rgb(255, 0, 0);
        assert_eq!(nearest(Depth::Rgb, rgb), rgb);
        assert_eq!(nearest(Depth::Indexed, rgb), Color::Indexed(196));
        assert_eq!(nearest(Depth::Ansi, rgb), Color::Indexed(9));
        assert_eq!(nearest(Depth::None, rgb), Color::Reset);
        assert_eq!(
            nearest(Depth::Indexed, Color::Rgb(8, 8, 8)),
            Color::Indexed(232)
        );
        assert_eq!(
            nearest(Depth::Indexed, Color::Rgb(128, 128, 128)),
            Color::Indexed(244)
        );
        assert_eq!(nearest(Depth::Ansi, Color::Indexed(196)), Color::Indexed(9));
        assert_eq!(nearest(Depth::Ansi, Color::Indexed(3)), Color::Indexed(3));
        assert_eq!(nearest(Depth::Ansi, Color::Reset), Color::Reset);
    }
}
