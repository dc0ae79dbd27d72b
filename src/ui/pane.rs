//! A pane's screen in its place: exactly as in a bare terminal, live or scrolled up.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

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
        for at in col..col + width {
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
