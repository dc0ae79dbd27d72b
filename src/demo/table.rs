//! Tables, drawn with the borders each agent gives them.

use super::markdown::Align;
use super::row::{Row, Span, width};
use super::wrap::{Breaks, wrap};
use crate::screen::Style;

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Box drawing around cells with a blank on each side, headers centred (claude).
    Boxed,
    /// Rules between rows and nothing between columns (codex).
    Ruled,
    /// Box drawing over the whole width, cells without a blank (opencode).
    Full,
}

/// Narrowest a column is made before the table is left too wide.
const NARROW: usize = 3;

/// Draws a table into `cols` columns; the first row is its head.
pub fn draw(cells: &[Vec<Vec<Span>>], aligns: &[Align], frame: Frame, cols: usize) -> Vec<Row> {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 {
        return Vec::new();
    }
    let widths = fit(natural(cells, columns), frame, cols);
    let mut rows = Vec::new();
    if frame != Frame::Ruled {
        rows.push(border(&widths, frame, ['┌', '┬', '┐']));
    }
    for (index, row) in cells.iter().enumerate() {
        if index > 0 {
            rows.push(match frame {
                Frame::Ruled => rule(&widths, if index == 1 { '━' } else { '─' }),
                Frame::Boxed | Frame::Full => border(&widths, frame, ['├', '┼', '┤']),
            });
        }
        rows.extend(draw_row(row, &widths, aligns, frame, index == 0));
    }
    if frame != Frame::Ruled {
        rows.push(border(&widths, frame, ['└', '┴', '┘']));
    }
    rows
}

fn natural(cells: &[Vec<Vec<Span>>], columns: usize) -> Vec<usize> {
    (0..columns)
        .map(|column| {
            cells
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| width_of(cell))
                .max()
                .unwrap_or(0)
                .max(1)
        })
        .collect()
}

/// Makes the columns as wide as the frame and the window want them.
fn fit(mut widths: Vec<usize>, frame: Frame, cols: usize) -> Vec<usize> {
    let columns = widths.len();
    let around = match frame {
        Frame::Boxed => 3 * columns + 1,
        Frame::Ruled => 4 * columns - 2,
        Frame::Full => columns + 1,
    };
    let room = cols.saturating_sub(around);
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROW) else {
            break;
        };
        *widest -= 1;
    }
    if frame == Frame::Full {
        let spare = room.saturating_sub(widths.iter().sum());
        for (index, column) in widths.iter_mut().enumerate() {
            *column += spare / columns + usize::from(index < spare % columns);
        }
    }
    widths
}

fn draw_row(
    cells: &[Vec<Span>],
    widths: &[usize],
    aligns: &[Align],
    frame: Frame,
    head: bool,
) -> Vec<Row> {
    let wrapped: Vec<Vec<Row>> = widths
        .iter()
        .enumerate()
        .map(|(column, cols)| match cells.get(column) {
            Some(cell) => wrap(cell, *cols, Breaks::Blanks),
            None => vec![Row::new()],
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    let pad = if frame == Frame::Full { "" } else { " " };
    let (edge, between) = match frame {
        Frame::Ruled => ("", "  "),
        Frame::Boxed | Frame::Full => ("│", "│"),
    };
    (0..height)
        .map(|line| {
            let mut row = Row::plain(edge);
            for (column, cols) in widths.iter().enumerate() {
                if column > 0 {
                    row.push(between, Style::default());
                }
                let cell = wrapped[column].get(line).cloned().unwrap_or_default();
                let align = match (frame, head) {
                    (Frame::Boxed, true) => Align::Centre,
                    (Frame::Full, _) => Align::Left,
                    _ => aligns.get(column).copied().unwrap_or_default(),
                };
                let spare = cols.saturating_sub(cell.width());
                let left = match align {
                    Align::Left => 0,
                    Align::Centre => spare / 2,
                    Align::Right => spare,
                };
                row.push(pad, Style::default());
                row.push(" ".repeat(left), Style::default());
                for span in cell.spans {
                    row.push(span.text, span.style);
                }
                row.push(" ".repeat(spare - left), Style::default());
                row.push(pad, Style::default());
            }
            row.push(edge, Style::default());
            row
        })
        .collect()
}

fn border(widths: &[usize], frame: Frame, [left, middle, right]: [char; 3]) -> Row {
    let pad = if frame == Frame::Boxed { 2 } else { 0 };
    let parts: Vec<String> = widths.iter().map(|cols| "─".repeat(cols + pad)).collect();
    Row::plain(format!("{left}{}{right}", parts.join(&middle.to_string())))
}

fn rule(widths: &[usize], line: char) -> Row {
    let parts: Vec<String> = widths
        .iter()
        .map(|cols| line.to_string().repeat(cols + 2))
        .collect();
    Row::plain(parts.join("  "))
}

fn width_of(cell: &[Span]) -> usize {
    cell.iter().map(|span| width(&span.text)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Vec<Vec<Span>>> {
        [
            ["File", "Line"],
            ["src/queue.rs", "18"],
            ["src/util.rs", "2"],
        ]
        .into_iter()
        .map(|row| {
            row.into_iter()
                .map(|text| {
                    vec![Span {
                        text: text.to_owned(),
                        style: Style::default(),
                    }]
                })
                .collect()
        })
        .collect()
    }

    fn drawn(frame: Frame, cols: usize) -> Vec<String> {
        draw(&table(), &[Align::Left, Align::Right], frame, cols)
            .iter()
            .map(Row::text)
            .collect()
    }

    #[test]
    fn claude_boxes_a_table() {
        assert_eq!(
            drawn(Frame::Boxed, 60),
            [
                "┌──────────────┬──────┐",
                "│     File     │ Line │",
                "├──────────────┼──────┤",
                "│ src/queue.rs │   18 │",
                "├──────────────┼──────┤",
                "│ src/util.rs  │    2 │",
                "└──────────────┴──────┘",
            ]
        );
    }

    #[test]
    fn codex_rules_a_table() {
        assert_eq!(
            drawn(Frame::Ruled, 60),
            [
                " File            Line ",
                "━━━━━━━━━━━━━━  ━━━━━━",
                " src/queue.rs      18 ",
                "──────────────  ──────",
                " src/util.rs        2 ",
            ]
        );
    }

    #[test]
    fn opencode_fills_the_width() {
        let rows = drawn(Frame::Full, 31);
        assert_eq!(rows[0], "┌──────────────────┬──────────┐");
        assert_eq!(rows[1], "│File              │Line      │");
        assert!(rows.iter().all(|row| width(row) == 31));
    }

    #[test]
    fn cells_too_wide_for_the_window_are_wrapped() {
        for frame in [Frame::Boxed, Frame::Ruled, Frame::Full] {
            let rows = drawn(frame, 18);
            assert!(rows.iter().all(|row| width(row) <= 18), "{rows:?}");
            let letters: String = rows.concat().replace(['│', ' '], "");
            assert!(letters.contains("src/"), "{letters}");
        }
    }
}
