//! Text broken into the rows of a panel: at words, the width of characters respected.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The rows of a text at a width; a word that is too long for a row is broken. Each row says at which byte it begins.
pub fn rows(text: &str, cols: usize) -> Vec<(usize, &str)> {
    let cols = cols.max(2);
    let mut out = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        break_line(line, start, cols, &mut out);
        start += line.len() + 1;
    }
    out
}

fn break_line<'t>(line: &'t str, start: usize, cols: usize, out: &mut Vec<(usize, &'t str)>) {
    let (mut from, mut width) = (0, 0);
    // Where the row could be broken: behind the last blank.
    let mut word = 0;
    for (at, part) in line.grapheme_indices(true) {
        let wide = if part == "\t" { 1 } else { part.width() };
        while width + wide > cols && at > from {
            let end = if word > from && part != " " { word } else { at };
            out.push((start + from, line[from..end].trim_end_matches(' ')));
            from = end;
            width = line[from..at].width();
            word = from;
        }
        width += wide;
        if part == " " {
            word = at + 1;
        }
    }
    out.push((start + from, line[from..].trim_end_matches(' ')));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str, cols: usize) -> Vec<&str> {
        rows(text, cols).into_iter().map(|(_, row)| row).collect()
    }

    #[test]
    fn lines_are_broken_at_words_and_long_words_anywhere() {
        assert_eq!(texts("one two three", 8), ["one two", "three"]);
        assert_eq!(texts("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(texts("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(texts("世界世界", 5), ["世界", "世界"]);
        assert_eq!(texts("", 5), [""]);
    }

    proptest! {
        #[test]
        fn nothing_but_blanks_is_lost_and_no_row_is_too_long(text in "[ab é世\n]{0,60}", cols in 2usize..20) {
            let solid = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
            let rows = rows(&text, cols);
            let joined: String = rows.iter().map(|(_, row)| *row).collect();
            prop_assert_eq!(solid(&joined), solid(&text));
            for (at, row) in rows {
                prop_assert!(row.width() <= cols, "{row:?}");
                prop_assert!(text[at..].starts_with(row));
            }
        }
    }
}
