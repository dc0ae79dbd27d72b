//! A pane's screen in its place: exactly as in a bare terminal, live or scrolled up.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier, Style as Look};

use super::paint::{Extra, Frame};
use super::theme::Theme;
use crate::app::layout::Area;
use crate::app::scroll::Scroll;
use crate::screen::{self, Cell as Shown, Damage, LinkId, Screen, Style, Underline};

/// Draws the live screen's damaged rows, those below `hidden` ones.
pub(super) fn draw_live(
    frame: &mut Frame,
    area: Area,
    screen: &Screen,
    hidden: u16,
    damage: &Damage,
) {
    if damage.is_nothing() {
        return;
    }
    for row in 0..area.rows {
        let of_screen = row + hidden;
        if damage.has(of_screen) || of_screen >= screen.size().rows {
            draw_row(frame, area, row, screen, screen.row_cells(of_screen));
        }
    }
}

/// Draws a view of rows that scrolled, what was found and what is selected marked.
pub(super) fn draw_scrolled(
    frame: &mut Frame,
    area: Area,
    screen: &Screen,
    scroll: &Scroll,
    theme: &Theme,
) {
    for row in 0..area.rows {
        let number = scroll.top + u64::from(row);
        match number.checked_sub(screen.top_row()) {
            Some(live) => {
                let live = u16::try_from(live).unwrap_or(u16::MAX);
                draw_row(frame, area, row, screen, screen.row_cells(live));
            }
            None => match screen.history_cells(number) {
                Some(cells) => draw_row(frame, area, row, screen, cells),
                None => draw_row(frame, area, row, screen, std::iter::empty()),
            },
        }
        frame.touch(area.row + row, area.col, area.cols);
        let (cells, _) = frame.cells_mut(area.row + row, area.col, area.cols);
        mark_row(cells, scroll, number, theme);
    }
}

/// Marks what was found in a row and what is selected of it.
fn mark_row(cells: &mut [Cell], scroll: &Scroll, number: u64, theme: &Theme) {
    let selected = u16::try_from(cells.len()).ok().and_then(|cols| {
        let selection = scroll.selection?;
        selection.columns(number, cols)
    });
    // They stand in the order of their rows.
    let before = scroll.hits.partition_point(|hit| hit.row < number);
    let hits = scroll.hits[before..].iter().enumerate();
    let hits = hits.take_while(|(_, hit)| hit.row == number);
    // What is inverted already is marked by not being so.
    let inverted: Vec<bool> = cells
        .iter()
        .map(|cell| cell.modifier.contains(Modifier::REVERSED))
        .collect();
    let mut mark = |from: u16, to: u16, look: Look| {
        let (mut from, to) = (usize::from(from), usize::from(to).min(cells.len()));
        // A wide character is drawn by its first cell.
        if cells.get(from).is_some_and(|cell| cell.symbol().is_empty()) {
            from = from.saturating_sub(1);
        }
        for at in from..to {
            cells[at].set_style(look);
            if look.add_modifier.contains(Modifier::REVERSED) {
                cells[at].modifier.set(Modifier::REVERSED, !inverted[at]);
            }
        }
    };
    for (at, hit) in hits {
        let is_looked_at = scroll.hit == Some(before + at);
        let look = if is_looked_at {
            theme.selected
        } else {
            theme.hit
        };
        mark(hit.col, hit.col.saturating_add(hit.cols), look);
    }
    if let Some((from, to)) = selected {
        mark(from, to.saturating_add(1), theme.selected);
    }
}

/// Draws the cells of one row of a screen; blanks behind them. Only what is different then is painted.
fn draw_row<'s>(
    frame: &mut Frame,
    area: Area,
    row: u16,
    screen: &'s Screen,
    of_screen: impl Iterator<Item = Shown<'s>>,
) {
    let mut linked: Vec<(usize, usize, LinkId)> = Vec::new();
    let (cells, extras) = frame.cells_mut(area.row + row, area.col, area.cols);
    let (mut next, mut first, mut last) = (0, usize::MAX, 0);
    let mut change = |from: usize, to: usize| (first, last) = (first.min(from), last.max(to));
    if extras.iter().any(|extra| *extra != Extra::default()) {
        extras.fill(Extra::default());
        change(0, cells.len());
    }
    for cell in of_screen {
        let col = usize::from(cell.col);
        if col >= cells.len() {
            break;
        }
        let width = usize::from(cell.width);
        // Half of a wide character at the edge is a blank.
        let text = if col + width > cells.len() {
            " "
        } else {
            cell.text
        };
        let mut is_new = put(&mut cells[col], text, cell.style);
        if cell.extra != screen::Extra::default() {
            let extra = cell.extra;
            is_new = true;
            beyond(&mut cells[col], &mut extras[col], &extra);
            if let Some(link) = extra.link {
                linked.push((col, width, link));
            }
        }
        if width == 2 && col + 1 < cells.len() {
            is_new |= behind(&mut cells[col + 1]);
        }
        next = (col + width).min(cells.len());
        if is_new {
            change(col, next);
        }
    }
    for (at, cell) in cells.iter_mut().enumerate().skip(next) {
        if *cell != Cell::EMPTY {
            cell.reset();
            change(at, at + 1);
        }
    }
    let column = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let from = area.col.saturating_add(column(first));
    frame.touch(area.row + row, from, column(last.saturating_sub(first)));
    for (col, width, link) in linked {
        let Some(link) = screen.link(link) else {
            continue;
        };
        let id = link
            .id
            .as_deref()
            .map(|id| format!("id={id}"))
            .unwrap_or_default();
        let number = frame.link(&format!("{id};{}", link.uri));
        for at in col..(col + width).min(usize::from(area.cols)) {
            frame.set_link(area.row + row, area.col + column(at), number);
        }
    }
}

/// What of a look ratatui's style has no word for, or another one.
fn beyond(cell: &mut Cell, extra: &mut Extra, look: &screen::Extra) {
    extra.underline = match look.underline {
        Underline::Single => 1,
        Underline::Double => 2,
        Underline::Curly => 3,
        Underline::Dotted => 4,
        Underline::Dashed => 5,
    };
    extra.overline = look.overline;
    cell.underline_color = color(look.underline_color);
    cell.modifier.set(Modifier::SLOW_BLINK, look.blink);
    cell.modifier.set(Modifier::HIDDEN, look.conceal);
    cell.modifier.set(Modifier::CROSSED_OUT, look.strike);
}

/// The second half of a wide character; tells whether it is different.
fn behind(cell: &mut Cell) -> bool {
    let mut half = Cell::EMPTY;
    half.set_symbol("");
    let is_new = *cell != half;
    *cell = half;
    is_new
}

/// Puts a character into a cell; tells whether it is different.
fn put(cell: &mut Cell, text: &str, style: Style) -> bool {
    let (fg, bg, modifier) = (color(style.fg), color(style.bg), modifier(style));
    let is_same = cell.symbol() == text
        && (cell.fg, cell.bg, cell.modifier) == (fg, bg, modifier)
        && cell.underline_color == Color::Reset;
    if is_same {
        return false;
    }
    // One plain character of a plain cell is by far the most frequent.
    match text.as_bytes() {
        [byte @ 0x20..=0x7e] => cell.set_char(char::from(*byte)),
        _ => cell.set_symbol(text),
    };
    cell.fg = fg;
    cell.bg = bg;
    cell.underline_color = Color::Reset;
    cell.modifier = modifier;
    true
}

fn color(color: screen::Color) -> Color {
    match color {
        screen::Color::Default => Color::Reset,
        screen::Color::Idx(at) => Color::Indexed(at),
        screen::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
    }
}

fn modifier(style: Style) -> Modifier {
    if style
        == (Style {
            fg: style.fg,
            bg: style.bg,
            ..Style::default()
        })
    {
        return Modifier::empty();
    }
    let mut modifier = Modifier::empty();
    for (is_on, flag) in [
        (style.bold, Modifier::BOLD),
        (style.dim, Modifier::DIM),
        (style.italic, Modifier::ITALIC),
        (style.underline, Modifier::UNDERLINED),
        (style.inverse, Modifier::REVERSED),
    ] {
        modifier.set(flag, is_on);
    }
    modifier
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::scroll::{Selection, Spot};
    use crate::app::{Abilities, Role};
    use crate::screen::Size;
    use crate::ui::paint::Painter;

    const AREA: Area = Area {
        col: 2,
        row: 1,
        cols: 5,
        rows: 3,
    };

    fn screen(cols: u16, rows: u16, text: &str) -> Screen {
        let mut screen = Screen::new(Size::new(cols, rows), 10);
        screen.feed(text.as_bytes(), Duration::ZERO);
        screen
    }

    /// A frame with dots wherever nothing was drawn.
    fn dotted() -> Painter {
        let mut painter = Painter::new(9, 5, Abilities::default());
        for cell in &mut painter.frame().buffer.content {
            cell.set_symbol(".");
        }
        painter
    }

    fn rows(painter: &mut Painter) -> Vec<String> {
        let cells = painter.frame().buffer.content.chunks(9);
        cells
            .map(|row| row.iter().map(Cell::symbol).collect())
            .collect()
    }

    #[test]
    fn a_screen_is_clipped_at_its_place_or_filled_up() {
        for (screen, wanted) in [
            (
                screen(8, 4, "abcdefgh\r\nabcd世x\r\n\r\nd"),
                ["..abcde..", "..abcd ..", "..     .."],
            ),
            (
                screen(3, 2, "abc\r\n世"),
                ["..abc  ..", "..世   ..", "..     .."],
            ),
        ] {
            let mut painter = dotted();
            draw_live(painter.frame(), AREA, &screen, 0, &Damage::everything());
            let rows = rows(&mut painter);
            assert_eq!(rows[1..4], wanted);
            assert_eq!([&*rows[0], &*rows[4]], [".........", "........."]);
        }
    }

    #[test]
    fn a_link_ends_at_the_edge() {
        let screen = screen(6, 1, "abcd\x1b]8;;https://a\x1b\\世");
        let mut painter = dotted();
        draw_live(painter.frame(), AREA, &screen, 0, &Damage::everything());
        let (_, extras) = painter.frame().cells_mut(AREA.row, 0, 9);
        let linked: Vec<usize> = (0..9).filter(|at| extras[*at].link > 0).collect();
        assert_eq!(linked, [6]);
    }

    /// The columns of the first row that stand out.
    fn marked(text: &str, selection: Selection) -> Vec<usize> {
        let screen = screen(5, 3, text);
        let mut scroll = Scroll::new(Role::Driver, &screen, (3, 0), false);
        scroll.selection = Some(selection);
        let mut painter = dotted();
        let theme = Theme::new(true);
        draw_live(painter.frame(), AREA, &screen, 0, &Damage::everything());
        let plain = painter.frame().buffer.clone();
        draw_scrolled(painter.frame(), AREA, &screen, &scroll, &theme);
        let cells = |buffer: &ratatui::buffer::Buffer| {
            let row = buffer.content[9..18].iter();
            row.map(|cell| cell.modifier.contains(Modifier::REVERSED))
                .collect::<Vec<_>>()
        };
        let (before, after) = (cells(&plain), cells(&painter.frame().buffer));
        (0..9).filter(|at| before[*at] != after[*at]).collect()
    }

    fn selection(from: u16, to: u16, last_row: u64, is_block: bool) -> Selection {
        Selection {
            anchor: Spot { row: 0, col: from },
            head: Spot {
                row: last_row,
                col: to,
            },
            is_block,
        }
    }

    #[test]
    fn what_is_selected_stands_out_in_lines_and_in_blocks() {
        assert_eq!(marked("abcde", selection(1, 3, 0, false)), [3, 4, 5]);
        assert_eq!(marked("abcde", selection(3, 1, 1, false)), [5, 6]);
        assert_eq!(marked("abcde", selection(3, 1, 1, true)), [3, 4, 5]);
    }

    #[test]
    fn inverted_text_and_whole_wide_characters_stand_out_too() {
        assert_eq!(marked("a\x1b[7mbc", selection(1, 2, 0, false)), [3, 4]);
        assert_eq!(marked("a世d", selection(2, 3, 0, false)), [3, 4, 5]);
    }

    #[test]
    fn everything_a_search_found_stands_out_in_its_row() {
        let screen = screen(5, 3, "xbxb\r\n\r\nb");
        let mut scroll = Scroll::new(Role::Driver, &screen, (3, 0), false);
        scroll.search("b", &screen);
        let theme = Theme::new(true);
        let mut painter = dotted();
        draw_scrolled(painter.frame(), AREA, &screen, &scroll, &theme);
        let cells = painter.frame().buffer.content.chunks(9);
        let found = cells.enumerate().flat_map(|(row, cells)| {
            let looks = cells.iter().enumerate();
            let stands_out = looks.filter(|(_, cell)| {
                Some(cell.bg) == theme.hit.bg || cell.modifier.contains(Modifier::REVERSED)
            });
            stands_out.map(move |(col, _)| (row, col))
        });
        assert_eq!(found.collect::<Vec<_>>(), [(1, 3), (1, 5), (3, 2)]);
    }
}
