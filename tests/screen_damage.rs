//! No row of the screen looks different without being told.

use std::time::Duration;

use codriver::screen::{Extra, Screen, Size, Style};
use proptest::prelude::*;

/// Things children write, whole and broken.
const PIECES: &[&str] = &[
    "a",
    "word ",
    "a longer run of plain text ",
    "\r\n",
    "\n",
    "\t",
    "é",
    "─│",
    "世界",
    "❤\u{fe0f}",
    "👨‍👩‍👧",
    "e\u{301}",
    "\u{fe0f}",
    "\u{fffd}",
    "\x1b[m",
    "\x1b[1;31m",
    "\x1b[38;5;200m",
    "\x1b[38:2::1:2:3m",
    "\x1b[4:3m",
    "\x1b[9m",
    "\x1b[5;53m",
    "\x1b[58;5;1m",
    "\u{302}",
    "\x1b[38;2;300;0;0m",
    "\x1b[H",
    "\x1b[3;5H",
    "\x1b[2;9r",
    "\x1b[r",
    "\x1b[K",
    "\x1b[2J",
    "\x1b[3J",
    "\x1b[J",
    "\x1b[2L",
    "\x1b[M",
    "\x1b[5X",
    "\x1b[4h",
    "\x1b[4l",
    "\x1b[?7l",
    "\x1b[?7h",
    "\x1b[s",
    "\x1b[u",
    "\x1b7",
    "\x1b8",
    "\x1b[9b",
    "\x1bD",
    "\x1bM",
    "\x1bE",
    "\x1bH",
    "\x1b[?2026h",
    "\x1b[?2026l",
    "\x1b[?25;2026h",
    "\x1b[?2026;25l",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b[?47l",
    "\x1b[?2004h",
    "\x1b[?1006h",
    "\x1b[>7u",
    "\x1b[<u",
    "\x1b[>4;2m",
    "\x1b[!p",
    "\x1bc",
    "\x1b(0",
    "\x1b(B",
    "\x0e",
    "\x0f",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[>0q",
    "\x1b[?2026$p",
    "\x1b[?u",
    "\x1b]11;?\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b[18t",
    "\x1b]0;a título\x07",
    "\x1b]2;other\x1b\\",
    "\x1b]7501;state=working:app=x\x1b\\",
    "\x1b]8;;http://x\x1b\\",
    "\x1b]8;id=1;http://y\x07",
    "\x1b]8;;\x07",
    "\x1b]52;c;YQ==\x07",
    "\x1b]9;note\x07",
    "\x1b_Gi=1\x1b\\",
    "\x07",
    "\x08",
    "\x1b[3\n1m",
    "\x1b]0;cut\x18",
    "\x1b]never",
    "\x1b[12",
    "\x1b",
    "\x1b\\",
    "\u{9b}",
];

type Row = Vec<(u16, u16, String, Style, Extra)>;

/// A row as it is drawn.
fn row(screen: &Screen, row: u16) -> Row {
    screen
        .row_cells(row)
        .map(|cell| {
            (
                cell.col,
                cell.width,
                cell.text.to_owned(),
                cell.style,
                cell.extra,
            )
        })
        .collect()
}

fn picture(screen: &Screen) -> Vec<Row> {
    (0..screen.size().rows).map(|at| row(screen, at)).collect()
}

/// Feeds the batches, looking at the damage after each.
fn play(size: Size, batches: &[Vec<u8>], resize: Option<Size>) -> Result<(), TestCaseError> {
    let mut screen = Screen::new(size, 50);
    let mut drawn = picture(&screen);
    for (at, batch) in batches.iter().enumerate() {
        let now = Duration::from_millis(100 * at as u64);
        if let (Some(size), true) = (resize, at == batches.len() / 2) {
            screen.resize(size, now);
        }
        screen.feed(batch, now);
        let damage = screen.take_damage();
        let seen = picture(&screen);
        for (at, row) in seen.iter().enumerate() {
            let told = damage.has(u16::try_from(at).unwrap_or(u16::MAX));
            prop_assert!(
                told || drawn.get(at) == Some(row),
                "row {at} is different and not told after {:?}",
                batch.escape_ascii().to_string()
            );
        }
        drawn = seen;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_looks_different_is_told(
        cols in 2u16..40, rows in 1u16..8,
        batches in proptest::collection::vec(proptest::collection::vec(0..PIECES.len(), 1..6), 1..12),
        resize in proptest::option::of((2u16..40, 1u16..8)),
    ) {
        let batches: Vec<Vec<u8>> = batches
            .iter()
            .map(|pieces| pieces.iter().flat_map(|at| PIECES[*at].bytes()).collect())
            .collect();
        let resize = resize.map(|(cols, rows)| Size::new(cols, rows));
        play(Size::new(cols, rows), &batches, resize)?;
    }

    #[test]
    fn any_bytes_are_told(batches in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..8)) {
        play(Size::new(20, 5), &batches, None)?;
    }
}

#[test]
fn a_typed_letter_is_one_row() {
    let mut screen = Screen::new(Size::new(80, 24), 100);
    screen.feed(b"\x1b[2J\x1b[10;1H> ", Duration::ZERO);
    screen.take_damage();
    screen.feed(b"a", Duration::ZERO);
    let damage = screen.take_damage();
    let rows: Vec<u16> = (0..24).filter(|row| damage.has(*row)).collect();
    // The row above, since what combines with a character may belong to its end.
    assert_eq!(rows, [8, 9]);
    screen.feed(b"\x1b[3;1H", Duration::ZERO);
    assert!(screen.take_damage().is_nothing());
    screen.feed(b"\x1b[24;1Hx\n", Duration::ZERO);
    assert!(screen.take_damage().is_everything());
}

#[test]
fn what_was_drawn_before_a_frame_is_told_although_the_frame_asks_something() {
    let mut screen = Screen::new(Size::new(20, 4), 0);
    let changes = screen.feed(b"before\x1b[?2026h\x1b[6nbehind", Duration::ZERO);
    assert!(changes.drawn);
    assert!(screen.screen_rows()[0].0.text == "before");
    assert!(!screen.feed(b"more", Duration::ZERO).drawn);
    assert!(screen.feed(b"\x1b[?2026l", Duration::ZERO).drawn);
}
