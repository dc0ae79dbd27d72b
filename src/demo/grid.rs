//! A whole window of cells, and the bytes that turn one window into another: what full-screen agents send.

use unicode_segmentation::UnicodeSegmentation;

use super::row::{Row, set_style, width};
use crate::screen::{Size, Style};

/// One cell; the second half of a wide character is an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    text: String,
    style: Style,
}

/// A window of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// Fills a window with rows, from the top; what is missing is blank on `ground`.
    pub fn of(rows: &[Row], size: Size, ground: Style) -> Self {
        let cols = usize::from(size.cols);
        let rows = (0..usize::from(size.rows))
            .map(|index| cells(rows.get(index), cols, ground))
            .collect();
        Self { rows }
    }

    /// The bytes that draw this window over `before`; every cell when the windows differ in size.
    pub fn encode_over(&self, before: Option<&Self>, out: &mut String) {
        for (index, row) in self.rows.iter().enumerate() {
            let old = before
                .filter(|before| before.rows.len() == self.rows.len())
                .and_then(|before| before.rows.get(index))
                .filter(|old| old.len() == row.len());
            encode_row(index, row, old, out);
        }
    }
}

fn cells(row: Option<&Row>, cols: usize, ground: Style) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(cols);
    for span in row.into_iter().flat_map(|row| &row.spans) {
        let style = Style {
            bg: match span.style.bg {
                crate::screen::Color::Default => ground.bg,
                own => own,
            },
            ..span.style
        };
        for cluster in span.text.graphemes(true) {
            let wide = width(cluster);
            if cells.len() + wide > cols {
                break;
            }
            for half in 0..wide {
                let text = if half == 0 { cluster } else { "" };
                cells.push(Cell {
                    text: text.to_owned(),
                    style,
                });
            }
        }
    }
    cells.resize(
        cols,
        Cell {
            text: " ".to_owned(),
            style: ground,
        },
    );
    cells
}

/// Writes the runs of cells that differ, each with its place and its style.
fn encode_row(index: usize, row: &[Cell], old: Option<&Vec<Cell>>, out: &mut String) {
    let differs = |col: usize| old.is_none_or(|old| old[col] != row[col]);
    let mut col = 0;
    while col < row.len() {
        if !differs(col) {
            col += 1;
            continue;
        }
        // The first half of a wide character goes with its second one.
        while col > 0 && row[col].text.is_empty() {
            col -= 1;
        }
        let style = row[col].style;
        out.push_str(&format!("\x1b[{};{}H", index + 1, col + 1));
        let mut pen = Style::default();
        set_style(out, &mut pen, style);
        let start = col;
        while col < row.len()
            && (col == start
                || row[col].text.is_empty()
                || (row[col].style == style && differs(col)))
        {
            out.push_str(&row[col].text);
            col += 1;
        }
        out.push_str("\x1b[0m");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { cols: 6, rows: 2 };

    fn grid(rows: &[&str]) -> Grid {
        let rows: Vec<Row> = rows.iter().map(|text| Row::plain(*text)).collect();
        Grid::of(&rows, SIZE, Style::default())
    }

    fn bytes(new: &Grid, old: Option<&Grid>) -> String {
        let mut out = String::new();
        new.encode_over(old, &mut out);
        out
    }

    #[test]
    fn the_first_window_is_drawn_whole() {
        assert_eq!(
            bytes(&grid(&["ab"]), None),
            "\x1b[1;1Hab    \x1b[0m\x1b[2;1H      \x1b[0m"
        );
    }

    #[test]
    fn only_what_changed_is_drawn_again() {
        let old = grid(&["abcdef", "x"]);
        assert_eq!(
            bytes(&grid(&["abXdeY", "x"]), Some(&old)),
            "\x1b[1;3HX\x1b[0m\x1b[1;6HY\x1b[0m"
        );
        assert_eq!(bytes(&old, Some(&old)), "");
    }

    #[test]
    fn a_wide_character_is_drawn_as_one() {
        let old = grid(&["漢a"]);
        assert_eq!(bytes(&grid(&["字a"]), Some(&old)), "\x1b[1;1H字\x1b[0m");
        assert_eq!(bytes(&grid(&["ab漢字c"]), None).matches("漢字").count(), 1);
    }

    #[test]
    fn a_window_of_another_size_is_drawn_whole() {
        let old = Grid::of(
            &[Row::plain("ab")],
            Size { cols: 6, rows: 3 },
            Style::default(),
        );
        assert!(bytes(&grid(&["ab"]), Some(&old)).starts_with("\x1b[1;1Hab"));
    }
}
