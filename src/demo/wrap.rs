//! Breaking styled text into rows by hand, at words, as the agents do it.

use unicode_segmentation::UnicodeSegmentation;

use super::row::{Row, Span, width};
use crate::screen::Style;

/// Where a row may end besides at blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// At blanks only.
    Blanks,
    /// Also behind punctuation, as opencode does (`src/` on one row, `main.rs` on the next).
    Punctuation,
}

/// Breaks one line of styled text into rows of at most `cols` columns. Blanks at a break are dropped, those at the head
/// of the line are kept; a word that is too long for any row is cut.
pub fn wrap(line: &[Span], cols: usize, breaks: Breaks) -> Vec<Row> {
    let cols = cols.max(1);
    let mut rows = Vec::new();
    let mut row = Row::new();
    let mut used = 0;
    for word in words(line, breaks) {
        let blanks = width_of(&word.blanks);
        let body = width_of(&word.body);
        if used > 0 && used + blanks + body > cols {
            rows.push(std::mem::take(&mut row));
            used = 0;
        } else {
            used += append(&mut row, &word.blanks, cols.saturating_sub(used));
        }
        for (cluster, style) in &word.body {
            let wide = width(cluster);
            if used > 0 && used + wide > cols {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push(*cluster, *style);
            used += wide;
        }
    }
    rows.push(row);
    rows
}

type Cluster<'a> = (&'a str, Style);

#[derive(Default)]
struct Word<'a> {
    blanks: Vec<Cluster<'a>>,
    body: Vec<Cluster<'a>>,
}

fn words(line: &[Span], breaks: Breaks) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut word = Word::default();
    let clusters = line.iter().flat_map(|span| {
        span.text
            .graphemes(true)
            .map(|cluster| (cluster, span.style))
    });
    for (cluster, style) in clusters {
        let ends = word
            .body
            .last()
            .is_some_and(|(last, _)| breaks == Breaks::Punctuation && ends_a_part(last));
        if !word.body.is_empty() && (cluster == " " || ends) {
            words.push(std::mem::take(&mut word));
        }
        if cluster == " " {
            word.blanks.push((cluster, style));
        } else {
            word.body.push((cluster, style));
        }
    }
    words.push(word);
    words
}

fn ends_a_part(cluster: &str) -> bool {
    matches!(
        cluster,
        "/" | "\\" | "." | "," | ";" | ":" | "-" | "!" | "?" | ")" | "]" | "}"
    )
}

fn width_of(clusters: &[Cluster<'_>]) -> usize {
    clusters.iter().map(|(cluster, _)| width(cluster)).sum()
}

/// Appends what fits, and gives the columns it took.
fn append(row: &mut Row, clusters: &[Cluster<'_>], left: usize) -> usize {
    let fitting = clusters.len().min(left);
    for (cluster, style) in &clusters[..fitting] {
        row.push(*cluster, *style);
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, cols: usize, breaks: Breaks) -> Vec<String> {
        let line = [Span {
            text: text.to_owned(),
            style: Style::default(),
        }];
        wrap(&line, cols, breaks).iter().map(Row::text).collect()
    }

    #[test]
    fn rows_end_at_words() {
        assert_eq!(
            texts("one two three", 8, Breaks::Blanks),
            ["one two", "three"]
        );
        assert_eq!(
            texts("one two three", 13, Breaks::Blanks),
            ["one two three"]
        );
        assert_eq!(texts("", 8, Breaks::Blanks), [""]);
    }

    #[test]
    fn a_word_too_long_for_a_row_is_cut() {
        assert_eq!(
            texts("a abcdefghij", 4, Breaks::Blanks),
            ["a", "abcd", "efgh", "ij"]
        );
    }

    #[test]
    fn an_indent_is_kept() {
        assert_eq!(
            texts("    let a = 1;", 10, Breaks::Blanks),
            ["    let a", "= 1;"]
        );
    }

    #[test]
    fn punctuation_breaks_where_the_style_does_so() {
        assert_eq!(
            texts("called from src/main.rs:4", 16, Breaks::Punctuation),
            ["called from src/", "main.rs:4"]
        );
        assert_eq!(
            texts("called from src/main.rs:4", 16, Breaks::Blanks),
            ["called from", "src/main.rs:4"]
        );
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(texts("漢字漢字", 5, Breaks::Blanks), ["漢字", "漢字"]);
    }

    proptest::proptest! {
        #[test]
        fn no_word_is_lost_and_no_row_too_wide(
            words in proptest::collection::vec("[a-zé漢.]{1,9}", 0..20),
            cols in 2usize..30
        ) {
            let text = words.join(" ");
            let rows = texts(&text, cols, Breaks::Blanks);
            for row in &rows {
                proptest::prop_assert!(width(row) <= cols, "{row:?} in {cols}");
            }
            let letters = |text: &str| text.replace(' ', "");
            proptest::prop_assert_eq!(letters(&rows.concat()), letters(&text));
        }
    }
}
