//! Rows of styled text: what the styles lay out, and how a row becomes bytes for a terminal.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::screen::{Color, Style};

/// A run of text in one style, never with a line break in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// How it is drawn.
    pub style: Style,
}

/// One row of a screen, from its left edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The runs, left to right.
    pub spans: Vec<Span>,
}

impl Row {
    /// Makes an empty row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a row of one plain run.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new().and(text, Style::default())
    }

    /// Adds a run at the end.
    #[must_use]
    pub fn and(mut self, text: impl AsRef<str>, style: Style) -> Self {
        self.push(text, style);
        self
    }

    /// Adds a run at the end, joined with the last one when the styles are the same.
    pub fn push(&mut self, text: impl AsRef<str>, style: Style) {
        let text = text.as_ref();
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(Span {
                text: text.to_owned(),
                style,
            }),
        }
    }

    /// Puts `text` in front.
    #[must_use]
    pub fn behind(self, text: impl AsRef<str>, style: Style) -> Self {
        let mut row = Self::new().and(text, style);
        for span in self.spans {
            row.push(span.text, span.style);
        }
        row
    }

    /// Columns the row takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// The text without its styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Whether nothing of the row can be seen.
    pub fn is_blank(&self) -> bool {
        self.spans
            .iter()
            .all(|span| span.text.trim().is_empty() && is_skippable(span.style))
    }

    /// The row filled with blanks of `style` up to `cols`.
    #[must_use]
    pub fn padded(mut self, cols: usize, style: Style) -> Self {
        let missing = cols.saturating_sub(self.width());
        self.push(" ".repeat(missing), style);
        self
    }

    /// The row cut at `cols`, a cluster that would be halved left out.
    #[must_use]
    pub fn cut(self, cols: usize) -> Self {
        if self.width() <= cols {
            return self;
        }
        let mut row = Self::new();
        let mut left = cols;
        for span in self.spans {
            for cluster in span.text.graphemes(true) {
                let wide = width(cluster);
                if wide > left {
                    return row;
                }
                left -= wide;
                row.push(cluster, span.style);
            }
        }
        row
    }

    /// The row as bytes, every blank written.
    pub fn encode(&self, out: &mut String) {
        let mut pen = Style::default();
        for span in &self.spans {
            set_style(out, &mut pen, span.style);
            out.push_str(&span.text);
        }
        set_style(out, &mut pen, Style::default());
    }

    /// The row as bytes for a row of the screen nothing stands on: blanks are jumped over with `CSI n G`, as claude
    /// does, so that a reader that only deletes escapes loses every one of them.
    pub fn encode_skipping(&self, out: &mut String) {
        let mut pen = Style::default();
        let mut col = 0;
        let mut at = 0;
        for span in &self.spans {
            for cluster in span.text.graphemes(true) {
                let wide = width(cluster);
                if cluster == " " && is_skippable(span.style) {
                    col += wide;
                    continue;
                }
                set_style(out, &mut pen, span.style);
                if at != col {
                    out.push_str(&format!("\x1b[{}G", col + 1));
                }
                out.push_str(cluster);
                col += wide;
                at = col;
            }
        }
        set_style(out, &mut pen, Style::default());
    }
}

/// Columns of `text`, as the emulator of this product counts them.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// A style with only a foreground of the 256 colour palette.
pub fn colour(index: u8) -> Style {
    Style {
        fg: Color::Idx(index),
        ..Style::default()
    }
}

/// Bold, the terminal's own colours.
pub fn bold() -> Style {
    Style {
        bold: true,
        ..Style::default()
    }
}

/// Dim, the terminal's own colours.
pub fn dim() -> Style {
    Style {
        dim: true,
        ..Style::default()
    }
}

/// Foreground and background swapped: a drawn cursor.
pub fn inverse() -> Style {
    Style {
        inverse: true,
        ..Style::default()
    }
}

/// Whether a blank in this style looks like a cell nothing was written to.
fn is_skippable(style: Style) -> bool {
    style.bg == Color::Default && !style.underline && !style.inverse
}

/// Switches the pen from what it is to `style`.
pub fn set_style(out: &mut String, pen: &mut Style, style: Style) {
    if *pen == style {
        return;
    }
    let turned_off = (pen.bold && !style.bold)
        || (pen.dim && !style.dim)
        || (pen.italic && !style.italic)
        || (pen.underline && !style.underline)
        || (pen.inverse && !style.inverse);
    let mut codes: Vec<String> = Vec::new();
    if turned_off || style == Style::default() {
        codes.push("0".to_owned());
        *pen = Style::default();
    }
    for (on, was, code) in [
        (style.bold, pen.bold, "1"),
        (style.dim, pen.dim, "2"),
        (style.italic, pen.italic, "3"),
        (style.underline, pen.underline, "4"),
        (style.inverse, pen.inverse, "7"),
    ] {
        if on && !was {
            codes.push(code.to_owned());
        }
    }
    if style.fg != pen.fg {
        codes.push(colour_code(style.fg, 38));
    }
    if style.bg != pen.bg {
        codes.push(colour_code(style.bg, 48));
    }
    *pen = style;
    out.push_str(&format!("\x1b[{}m", codes.join(";")));
}

fn colour_code(color: Color, base: u8) -> String {
    match color {
        Color::Default => (base + 1).to_string(),
        Color::Idx(index) => format!("{base};5;{index}"),
        Color::Rgb(red, green, blue) => format!("{base};2;{red};{green};{blue}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_style_are_joined() {
        let row = Row::plain("a").and("b", Style::default()).and("c", bold());
        assert_eq!(row.spans.len(), 2);
        assert_eq!(row.text(), "abc");
    }

    #[test]
    fn a_cut_never_halves_a_wide_character() {
        assert_eq!(Row::plain("ab漢字").cut(5).text(), "ab漢");
        assert_eq!(Row::plain("ab").cut(5).text(), "ab");
    }

    #[test]
    fn blanks_are_jumped_over_and_not_written() {
        let mut out = String::new();
        Row::plain("  one two").encode_skipping(&mut out);
        assert_eq!(out, "\x1b[3Gone\x1b[7Gtwo");
    }

    #[test]
    fn blanks_on_a_coloured_ground_are_written() {
        let ground = Style {
            bg: Color::Idx(237),
            ..Style::default()
        };
        let mut out = String::new();
        Row::new().and("a b", ground).encode_skipping(&mut out);
        assert_eq!(out, "\x1b[48;5;237ma b\x1b[0m");
    }

    #[test]
    fn a_style_that_goes_off_resets_the_pen_first() {
        let mut out = String::new();
        Row::new()
            .and("a", bold())
            .and("b", colour(5))
            .and("c", Style::default())
            .encode(&mut out);
        assert_eq!(out, "\x1b[1ma\x1b[0;38;5;5mb\x1b[0mc");
    }
}
