//! A pane's screen in its place: exactly as in a bare terminal, live or scrolled up.

use ratatui::buffer::Cell;
use ratatui::style::{Color as Shown, Modifier};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::paint::Frame;
use super::theme::Theme;
use crate::app::layout::Area;
use crate::app::scroll::Scroll;
use crate::screen::{Color, Damage, Line, Screen, Style};

/// Draws the live screen's damaged rows.
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
            let cells = cells(frame, area, row);
            draw_row(cells, screen, of_screen);
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
        let cells = cells(frame, area, row);
        match number.checked_sub(screen.top_row()) {
            Some(live) => draw_row(cells, screen, u16::try_from(live).unwrap_or(u16::MAX)),
            None => match screen.history_row(number) {
                Some((line, _)) => draw_line(cells, &line),
                None => cells.iter_mut().for_each(Cell::reset),
            },
        }
        for (at, hit) in scroll.hits.iter().enumerate() {
            if hit.row == number {
                let look = if scroll.hit == Some(at) {
                    theme.selected
                } else {
                    theme.hit
                };
                mark(cells, hit.col, hit.col.saturating_add(hit.cols), look);
            }
        }
        let selected = scroll
            .selection
            .and_then(|selection| selection.columns(number, area.cols));
        if let Some((from, to)) = selected {
            mark(cells, from, to.saturating_add(1), theme.selected);
        }
    }
}

fn mark(cells: &mut [Cell], from: u16, to: u16, look: ratatui::style::Style) {
    let to = usize::from(to).min(cells.len());
    for cell in cells.get_mut(usize::from(from)..to).unwrap_or_default() {
        cell.set_style(look);
    }
}

fn cells(frame: &mut Frame, area: Area, row: u16) -> &mut [Cell] {
    let all = frame.row_mut(area.row + row);
    let (from, to) = (usize::from(area.col), usize::from(area.col + area.cols));
    all.get_mut(from..to).unwrap_or_default()
}

fn draw_row(cells: &mut [Cell], screen: &Screen, row: u16) {
    let mut next = 0;
    for cell in screen.row_cells(row) {
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
        put(&mut cells[col], text, cell.style);
        if width == 2 && col + 1 < cells.len() {
            behind(&mut cells[col + 1]);
        }
        next = (col + width).min(cells.len());
    }
    cells[next..].iter_mut().for_each(Cell::reset);
}

fn draw_line(cells: &mut [Cell], line: &Line) {
    let mut col = 0;
    for (at, part) in line.text.grapheme_indices(true) {
        let width = part.width().max(1);
        if col + width > cells.len() {
            break;
        }
        put(&mut cells[col], part, line.style_at(at));
        if width == 2 {
            behind(&mut cells[col + 1]);
        }
        col += width;
    }
    cells[col..].iter_mut().for_each(Cell::reset);
}

/// The second half of a wide character.
fn behind(cell: &mut Cell) {
    cell.reset();
    cell.set_symbol("");
}

fn put(cell: &mut Cell, text: &str, style: Style) {
    // One plain character of a plain cell is by far the most frequent.
    match text.as_bytes() {
        [byte @ 0x20..=0x7e] => cell.set_char(char::from(*byte)),
        _ if is_safe(text) => cell.set_symbol(text),
        _ => cell.set_symbol(
            &text
                .chars()
                .filter(|char| !is_unsafe(*char))
                .collect::<String>(),
        ),
    };
    cell.fg = color(style.fg);
    cell.bg = color(style.bg);
    cell.underline_color = Shown::Reset;
    cell.modifier = modifier(style);
}

fn is_safe(text: &str) -> bool {
    !text.chars().any(is_unsafe)
}

/// Controls and what turns the direction of text: the emulator keeps neither in a cell of its own, and neither may
/// reach the outer terminal.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn color(color: Color) -> Shown {
    match color {
        Color::Default => Shown::Reset,
        Color::Idx(at) => Shown::Indexed(at),
        Color::Rgb(r, g, b) => Shown::Rgb(r, g, b),
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
