//! What the emulator's cells do not hold: it follows its cells, and is never shown where it does not belong.

use std::time::Duration;

use codriver::screen::{Cell, Color, Extra, Screen, Signal, Size, Underline};

const NOW: Duration = Duration::ZERO;

fn fed(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::new(Size::new(cols, rows), 100);
    screen.feed(bytes.as_bytes(), NOW);
    screen
}

/// The characters that are struck through.
fn struck<'a>(cells: impl Iterator<Item = Cell<'a>>) -> String {
    cells
        .filter(|cell| cell.extra.strike)
        .map(|cell| cell.text)
        .collect()
}

/// The same, each row of the screen.
fn struck_rows(screen: &Screen) -> Vec<String> {
    (0..screen.size().rows)
        .map(|row| struck(screen.row_cells(row)))
        .collect()
}

fn text(screen: &Screen, row: u16) -> String {
    screen.row_cells(row).map(|cell| cell.text).collect()
}

fn first(screen: &Screen) -> Extra {
    screen
        .row_cells(0)
        .next()
        .map(|cell| cell.extra)
        .unwrap_or_default()
}

#[test]
fn every_attribute_reaches_its_cell() {
    let plain = Extra::default();
    let underline = |underline| Extra { underline, ..plain };
    for (sequence, wanted) in [
        ("\x1b[4m", plain),
        ("\x1b[4:1m", plain),
        ("\x1b[4:2m", underline(Underline::Double)),
        ("\x1b[21m", underline(Underline::Double)),
        ("\x1b[4:3m", underline(Underline::Curly)),
        ("\x1b[4:4m", underline(Underline::Dotted)),
        ("\x1b[4:5m", underline(Underline::Dashed)),
        ("\x1b[4:3;24m", plain),
        ("\x1b[4:3m\x1b[4m", plain),
        (
            "\x1b[5m",
            Extra {
                blink: true,
                ..plain
            },
        ),
        (
            "\x1b[8m",
            Extra {
                conceal: true,
                ..plain
            },
        ),
        (
            "\x1b[9m",
            Extra {
                strike: true,
                ..plain
            },
        ),
        (
            "\x1b[53m",
            Extra {
                overline: true,
                ..plain
            },
        ),
        ("\x1b[9m\x1b[m", plain),
        (
            "\x1b[9m\x1b7\x1b[m\x1b8",
            Extra {
                strike: true,
                ..plain
            },
        ),
        (
            "\x1b[9m\x1b[?1049h",
            Extra {
                strike: true,
                ..plain
            },
        ),
        ("\x1b[9m\x1b[!p", plain),
        ("\x1b[9m\x1bc", plain),
    ] {
        assert_eq!(
            first(&fed(20, 3, &format!("{sequence}x"))),
            wanted,
            "{sequence:?}"
        );
    }
    let red = first(&fed(20, 3, "\x1b[4;58;2;200;1;2mx"));
    assert_eq!(red.underline_color, Color::Rgb(200, 1, 2));
}

#[test]
fn the_text_is_the_same_with_and_without() {
    for text in [
        "plain",
        "世界 wide",
        "e\u{301}\u{302}x",
        "❤\u{fe0f}x",
        "1\u{fe0f}\u{20e3}",
        "👨‍👩‍👧",
        "\u{fffd}x",
        "a\tb",
        "0123456789abcdefghij",
    ] {
        let (plain, struck) = (fed(8, 4, text), fed(8, 4, &format!("\x1b[9m{text}")));
        assert_eq!(plain.lines()[0].text, struck.lines()[0].text, "{text}");
        let cells = |screen: &Screen| -> Vec<(u16, u16, String)> {
            (0..4)
                .flat_map(|row| screen.row_cells(row))
                .map(|cell| (cell.col, cell.width, cell.text.to_owned()))
                .collect()
        };
        assert_eq!(cells(&plain), cells(&struck), "{text}");
        let marked: String = struck_rows(&struck).concat();
        let wanted: String = text.chars().filter(|c| *c != '\t').collect();
        assert_eq!(marked, wanted);
    }
}

#[test]
fn a_character_that_joins_later_keeps_the_look() {
    for cut in ["e\x1b[m", "e\x1b[m\x1b[1;5H\x1b[1;2H"] {
        let screen = fed(9, 2, &format!("\x1b[9m{cut}\u{301}x"));
        assert_eq!(struck_rows(&screen)[0], "e\u{301}");
        assert_eq!(screen.lines()[0].text, "e\u{301}x");
    }
    let screen = fed(9, 2, "\x1b[31;9m❤\x1b[0;34m\u{fe0f}x");
    let cells: Vec<_> = screen.row_cells(0).take(2).collect();
    assert_eq!(
        (cells[0].text, cells[0].width, cells[0].extra.strike),
        ("❤\u{fe0f}", 2, true)
    );
    assert_eq!(
        (cells[0].style.fg, cells[1].style.fg),
        (Color::Idx(1), Color::Idx(4))
    );
}

#[test]
fn it_moves_and_goes_with_its_cell() {
    let base = "\x1b[9mab\x1b[mcd\r\nef";
    for (sequence, wanted) in [
        ("\x1b[1;1H\x1b[2@", ["ab", ""]),
        ("\x1b[1;1H\x1b[P", ["b", ""]),
        ("\x1b[1;1Hx", ["b", ""]),
        ("\x1b[1;2H\x1b[X", ["a", ""]),
        ("\x1b[1;1H\x1b[K", ["", ""]),
        ("\x1b[1;1H\x1b[L", ["", "ab"]),
        ("\x1b[1;1H\x1bM", ["", "ab"]),
        ("\x1b[1;1H\x1b[J", ["", ""]),
        ("\x1b[1;1H\x1b[4h\x1b[9mZ", ["Zab", ""]),
        ("\x1b[9m\x1b[2;1Hy\x1b[2b", ["ab", "yyy"]),
    ] {
        let screen = fed(12, 2, &format!("{base}{sequence}"));
        assert_eq!(struck_rows(&screen), wanted, "{sequence:?}");
    }
}

#[test]
fn rows_that_left_the_top_keep_it() {
    let mut screen = fed(
        10,
        2,
        "\x1b[31ma\x1b[9mb世\x1b[m\x1b[5mc\x1b[m d\r\nplain\r\n\x1b[9mlast\x1b[2J",
    );
    let rows: Vec<String> = screen
        .row_numbers()
        .filter_map(|number| Some(struck(screen.history_cells(number)?)))
        .collect();
    assert_eq!(rows, ["b世", "", "last"]);
    let cells: Vec<_> = screen.history_cells(0).into_iter().flatten().collect();
    let places: Vec<_> = cells
        .iter()
        .map(|cell| (cell.col, cell.width, cell.text))
        .collect();
    assert_eq!(
        places,
        [
            (0, 1, "a"),
            (1, 1, "b"),
            (2, 2, "世"),
            (4, 1, "c"),
            (5, 1, " "),
            (6, 1, "d")
        ]
    );
    assert_eq!(cells[1].style.fg, Color::Idx(1));
    assert!(cells[3].extra.blink && !cells[4].extra.blink);
    assert!(screen.history_cells(3).is_none());
    screen.feed(b"\x1b[3J", NOW);
    assert!(screen.history_cells(0).is_none());
}

#[test]
fn another_size_keeps_it() {
    let mut screen = fed(10, 3, "\x1b[9mabcdef\x1b[mghij\r\nx");
    screen.resize(Size::new(4, 3), NOW);
    assert_eq!(struck_rows(&screen)[0], "abcd");
    screen.resize(Size::new(12, 3), NOW);
    assert_eq!(struck_rows(&screen)[0], "abcdef");
    assert_eq!(text(&screen, 0), "abcdefghij  ");
    assert_eq!(screen.lines()[0].text, "abcdefghij");
}

#[test]
fn a_child_cannot_print_marks() {
    let screen = fed(20, 2, "\x1b[9ma\x1b[mb\u{e0200}\u{e0200}c\u{e0081}");
    assert_eq!(struck_rows(&screen)[0], "a");
    assert_eq!(screen.lines()[0].text, "abc");
}

#[test]
fn more_looks_than_are_kept_go_plain() {
    let mut screen = fed(100, 100, "");
    for n in 0..10_000u32 {
        let (g, b) = (n / 100, n % 100);
        screen.feed(format!("\x1b[58;2;1;{g};{b}mx").as_bytes(), NOW);
    }
    assert!(screen.take_damage().is_everything());
    for row in 0..100u8 {
        for (col, cell) in (0..).zip(screen.row_cells(u16::from(row))) {
            let color = cell.extra.underline_color;
            assert!(
                matches!(color, Color::Default) || color == Color::Rgb(1, row, col),
                "{color:?} at {row}, {col}"
            );
        }
    }
    assert_eq!(first(&screen), Extra::default());
    let last = screen
        .row_cells(99)
        .last()
        .map(|cell| cell.extra.underline_color);
    assert_eq!(last, Some(Color::Rgb(1, 99, 99)));
}

#[test]
fn links_belong_to_cells() {
    let mut screen = fed(
        30,
        2,
        "a\x1b]8;id=1;https://x.y/z\x1b\\b\x1b[1mc\x1b[m\x1b]8;;\x07d\x1b]8;;javascript:x\x07e",
    );
    let linked = |screen: &Screen| -> Vec<(String, Option<String>)> {
        screen
            .row_cells(0)
            .take(5)
            .map(|cell| {
                let link = cell.extra.link.and_then(|id| screen.link(id));
                (cell.text.to_owned(), link.map(|link| link.uri.clone()))
            })
            .collect()
    };
    let uri = || Some("https://x.y/z".to_owned());
    let cell = |text: &str, uri| (text.to_owned(), uri);
    let wanted = [
        cell("a", None),
        cell("b", uri()),
        cell("c", uri()),
        cell("d", None),
        cell("e", None),
    ];
    assert_eq!(linked(&screen), wanted);
    let id = screen.row_cells(0).nth(1).and_then(|cell| cell.extra.link);
    assert_eq!(
        id.and_then(|id| screen.link(id)?.id.clone()).as_deref(),
        Some("1")
    );
    // A thousand later links push it out; the cell then has none, and no other one's.
    for n in 0..2000 {
        screen.feed(format!("\x1b[2;1H\x1b]8;;http://{n}\x07x").as_bytes(), NOW);
    }
    assert!(linked(&screen).iter().all(|(_, uri)| uri.is_none()));
}

#[test]
fn signals_are_given_once_and_not_shown() {
    let mut screen = fed(
        30,
        2,
        "a\x1b]52;c;aGk=\x07\x1b]52;c;?\x07\x1b]9;done\x1b\\\x1b]9;4;1;50\x07\x1b]777;notify;T;b;c\x07\x1b]777;other;x\x07b",
    );
    let note = |title: &str, body: &str| Signal::Note {
        title: title.to_owned(),
        body: body.to_owned(),
    };
    assert_eq!(
        screen.take_signals(),
        [
            Signal::Copy("hi".to_owned()),
            note("", "done"),
            note("T", "b;c")
        ]
    );
    assert_eq!(screen.take_signals(), []);
    assert_eq!(
        (screen.lines()[0].text.as_str(), screen.take_replies()),
        ("ab", Vec::new())
    );
}

#[test]
fn a_copy_is_bounded() {
    let copy = |groups: usize, batch: usize| {
        let mut screen = fed(30, 2, "");
        let bytes = format!("\x1b]52;c;{}\x07", "YWFh".repeat(groups));
        for chunk in bytes.as_bytes().chunks(batch) {
            screen.feed(chunk, NOW);
        }
        screen.take_signals()
    };
    let most = 100 * 1024 / 3;
    for batch in [usize::MAX, 1000] {
        assert_eq!(copy(most, batch), [Signal::Copy("aaa".repeat(most))]);
        assert_eq!(copy(most + 1, batch), []);
    }
}

#[test]
fn the_cursor_has_the_shape_the_child_wants() {
    for shape in 0..=6 {
        let mut screen = fed(10, 2, &format!("\x1b[{shape} q"));
        assert_eq!(screen.cursor_shape(), shape);
        screen.feed(b"\x1b[9 q", NOW);
        assert_eq!(screen.cursor_shape(), shape);
        screen.feed(b"\x1bc", NOW);
        assert_eq!(screen.cursor_shape(), 0);
    }
}
