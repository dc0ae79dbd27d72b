//! Many lines at once leave the same screen and the same history as the same lines in pieces.

use std::time::Duration;

use codriver::screen::{Line, Screen, Size, Style};
use proptest::prelude::*;

#[derive(Debug, PartialEq)]
struct Seen {
    lines: Vec<Line>,
    visible: Vec<Line>,
    cells: Vec<(u16, u16, String, Style)>,
    cursor: (u16, u16),
    top: u64,
    is_whole: bool,
}

fn play(size: Size, chunks: &[&[u8]]) -> Seen {
    let mut screen = Screen::new(size, 300);
    for chunk in chunks {
        screen.feed(chunk, Duration::ZERO);
    }
    // What follows is drawn with the attributes left behind.
    screen.feed(b"next \x1b[3b", Duration::ZERO);
    let cursor = screen.cursor();
    Seen {
        lines: screen.lines(),
        visible: screen.visible(),
        cells: (0..size.rows)
            .flat_map(|row| screen.row_cells(row))
            .map(|cell| (cell.col, cell.width, cell.text.to_owned(), cell.style))
            .collect(),
        cursor: (cursor.row, cursor.col),
        top: screen.top_row(),
        is_whole: screen.is_whole(),
    }
}

fn part() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("a line of plain text that may wrap somewhere "),
        2 => Just("word"),
        1 => Just("\x1b[1;31m"),
        1 => Just("\x1b[m"),
        1 => Just("\x1b[44m"),
        1 => Just("\x1b[38;5;200m"),
        1 => Just("\x1b[K"),
        1 => Just("\t"),
        1 => Just("é"),
        1 => Just("世界"),
        1 => Just("\u{7}"),
        1 => Just("\x1b[2;3H"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_flood_is_what_its_pieces_are(
        cols in 2u16..60, rows in 1u16..12,
        lines in proptest::collection::vec(proptest::collection::vec(part(), 0..4), 1..40),
        times in 1usize..40,
        cut in 1usize..200,
    ) {
        let some: String = lines.iter().map(|parts| parts.concat() + "\r\n").collect();
        let mut bytes = b"\r\n".repeat(usize::from(rows));
        bytes.extend(some.repeat(times).into_bytes());
        let size = Size::new(cols, rows);
        let chunks: Vec<&[u8]> = bytes.chunks(cut).collect();
        prop_assert_eq!(play(size, &[&bytes]), play(size, &chunks));
    }
}

#[test]
fn a_long_flood_keeps_its_last_rows() {
    let mut bytes = b"\n".repeat(24);
    for line in 0..5000 {
        bytes.extend(format!("\x1b[3{}mline {line}\r\n", line % 8).into_bytes());
    }
    let mut screen = Screen::new(Size::new(80, 24), 1000);
    screen.feed(&bytes, Duration::ZERO);
    let lines = screen.lines();
    assert_eq!(lines.len(), 1000 + 23);
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line.text, format!("line {}", 5000 - 1023 + at));
    }
    assert_eq!(screen.top_row(), 5000 + 24 - 23);
}
