//! Another size loses no text and makes none (terminal.md 2 and 4).

use std::time::Duration;

use codriver::screen::{Screen, Size};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

const NOW: Duration = Duration::from_secs(1);

fn fed(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::new(Size::new(cols, rows), 10_000);
    screen.feed(bytes.as_bytes(), NOW);
    screen
}

fn resize(screen: &mut Screen, cols: u16, rows: u16) {
    screen.resize(Size::new(cols, rows), NOW);
}

fn texts(screen: &Screen) -> Vec<String> {
    screen.lines().into_iter().map(|line| line.text).collect()
}

fn cells(screen: &Screen, row: u16) -> String {
    let text: String = screen
        .row_cells(row)
        .map(|cell| cell.text.to_owned())
        .collect();
    text.trim_end().to_owned()
}

#[test]
fn narrowing_keeps_what_it_cuts() {
    let mut screen = fed(10, 4, "abcdefghijklmnop\r\nEND");
    resize(&mut screen, 8, 4);
    assert_eq!(texts(&screen), ["abcdefghijklmnop", "END"]);
    assert_eq!(cells(&screen, 0), "abcdefgh");
    resize(&mut screen, 4, 4);
    assert_eq!(texts(&screen), ["abcdefghijklmnop", "END"]);
}

#[test]
fn widening_brings_it_back_to_the_cells() {
    let mut screen = fed(16, 4, "0123456789\x1b[1mabcdef");
    resize(&mut screen, 10, 4);
    assert_eq!(cells(&screen, 0), "0123456789");
    resize(&mut screen, 20, 4);
    assert_eq!(cells(&screen, 0), "0123456789abcdef");
    assert!(screen.lines()[0].style_at(12).bold);
    assert!(!screen.lines()[0].style_at(9).bold);
}

#[test]
fn rows_that_left_come_back_as_blank_ones_on_no_screen() {
    let mut behind = fed(10, 2, "a\r\nb\r\nc\r\nd\x1b[?1049halt");
    resize(&mut behind, 10, 5);
    behind.feed(b"\x1b[?1049l", NOW);
    assert_eq!(texts(&behind), ["a", "b", "c", "d"]);
    assert_eq!([cells(&behind, 0), cells(&behind, 1)], ["c", "d"]);
    // What is shown while a frame with a question in it is drawn.
    let mut frozen = fed(10, 2, "a\r\nb\r\nc\r\nd\x1b[?2026h\x1b[6n");
    resize(&mut frozen, 10, 5);
    assert_eq!([cells(&frozen, 0), cells(&frozen, 1)], ["c", "d"]);
}

#[test]
fn what_was_cut_goes_with_the_row_into_the_scrollback() {
    let mut screen = fed(10, 2, "0123456789\r\n");
    resize(&mut screen, 4, 2);
    screen.feed(b"a\r\nb\r\nc", NOW);
    assert_eq!(texts(&screen), ["0123456789", "a", "b", "c"]);
}

#[test]
fn what_was_cut_goes_when_the_child_clears_its_row() {
    for clear in ["\x1b[2K", "\x1b[2J", "\x1b[J", "\x1b[K", "\x1b[M"] {
        let mut screen = fed(10, 2, "0123456789\r\n");
        resize(&mut screen, 4, 2);
        screen.feed(format!("\x1b[H{clear}new").as_bytes(), NOW);
        let last = texts(&screen).pop();
        assert_eq!(last.as_deref(), Some("new"), "{clear:?}");
    }
}

#[test]
fn a_row_drawn_anew_in_full_width_has_nothing_of_the_old() {
    let mut screen = fed(10, 2, "0123456789\r\n");
    resize(&mut screen, 4, 2);
    screen.feed(b"\x1b[H0123\r\n4567", NOW);
    assert_eq!(texts(&screen), ["0123", "4567"]);
}

#[test]
fn soft_wraps_survive_every_width() {
    let text = "the quick brown fox jumps over the lazy dog";
    let mut screen = fed(10, 8, text);
    for cols in [12, 30, 7, 80, 3, 10, 11] {
        resize(&mut screen, cols, 8);
        assert_eq!(texts(&screen), [text], "{cols}");
    }
    screen.feed(b"!", NOW);
    assert_eq!(texts(&screen), [format!("{text}!")]);
}

#[test]
fn text_goes_on_after_a_cut_where_it_was_cut() {
    let mut screen = fed(10, 4, "abcdefghij");
    resize(&mut screen, 6, 4);
    screen.feed(b"klm", NOW);
    assert_eq!(texts(&screen), ["abcdefghijklm"]);
    let mut screen = fed(10, 4, "abcdefghij");
    resize(&mut screen, 10, 6);
    screen.feed(b"klm", NOW);
    assert_eq!(texts(&screen), ["abcdefghijklm"]);
    let mut screen = fed(10, 4, "abcdefghij");
    resize(&mut screen, 20, 4);
    screen.feed(b"klm", NOW);
    assert_eq!(texts(&screen), ["abcdefghijklm"]);
}

#[test]
fn a_wide_character_on_the_new_edge_is_kept() {
    let mut screen = fed(6, 4, "ab世cd");
    resize(&mut screen, 3, 4);
    assert_eq!(texts(&screen), ["ab世cd"]);
    screen.feed(b"\x1b[1;3Hx", NOW);
    assert_eq!(texts(&screen), ["abx"]);
}

#[test]
fn a_cell_with_many_marks_is_kept() {
    let long = "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}";
    let mut screen = fed(6, 4, &format!("ab{long}cd"));
    resize(&mut screen, 3, 4);
    assert_eq!(texts(&screen), [format!("ab{long}cd")]);
    let wrapped = format!("abcde{long}xyz");
    let mut screen = fed(6, 4, &wrapped);
    resize(&mut screen, 9, 4);
    assert_eq!(texts(&screen), [wrapped]);
}

#[test]
fn a_taller_screen_gets_no_ghost_rows() {
    let mut screen = fed(10, 3, "1\r\n2\r\n3\r\n4\r\n5");
    let before = texts(&screen);
    resize(&mut screen, 10, 9);
    assert_eq!(texts(&screen), before);
    assert_eq!(screen.cursor().row, 2);
    screen.feed(b"\r\n6", NOW);
    assert_eq!(texts(&screen), ["1", "2", "3", "4", "5", "6"]);
    resize(&mut screen, 10, 2);
    assert_eq!(texts(&screen), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn stretching_and_back_changes_no_line() {
    let text: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
    let mut screen = fed(20, 10, &text.join("\r\n"));
    resize(&mut screen, 20, 300);
    assert_eq!(texts(&screen), text);
    resize(&mut screen, 20, 10);
    assert_eq!(texts(&screen), text);
}

#[test]
fn rows_below_the_cursor_of_a_lower_screen_stay() {
    let mut screen = fed(10, 6, "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[4;1H");
    resize(&mut screen, 10, 3);
    assert_eq!(texts(&screen), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(cells(&screen, 2), "6");
    let mut high = fed(10, 6, "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[1;1H");
    resize(&mut high, 10, 3);
    assert_eq!(texts(&high), ["1", "2", "3", "4", "5", "6"]);
    resize(&mut high, 10, 5);
    assert_eq!(texts(&high), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(cells(&high, 4), "5");
    resize(&mut high, 10, 3);
    high.feed(b"new", NOW);
    assert_eq!(texts(&high), ["new", "2", "3"]);
}

#[test]
fn the_main_screen_is_resized_with_care_behind_the_alternate_one() {
    let mut screen = fed(10, 4, "abcdefghij\r\nk\x1b[?1049h\x1b[Halternate");
    resize(&mut screen, 5, 2);
    assert_eq!(texts(&screen), ["alternate"]);
    screen.feed(b"\x1b[?1049l!", NOW);
    assert_eq!(texts(&screen), ["abcdefghij", "k!"]);
}

#[test]
fn the_alternate_screen_keeps_its_lines_until_it_is_drawn() {
    let mut screen = fed(10, 4, "\x1b[?1049h\x1b[H1\r\n2\r\n3\r\n4");
    resize(&mut screen, 10, 2);
    assert_eq!(texts(&screen), ["1", "2", "3", "4"]);
    screen.feed(b"\x1b[H\x1b[2Jnew", NOW);
    assert_eq!(texts(&screen), ["new"]);
}

#[test]
fn the_attributes_in_force_stay_in_force() {
    let mut screen = fed(10, 4, "abcdefghij\x1b[1;38;2;1;2;3m");
    resize(&mut screen, 5, 4);
    screen.feed(b"x", NOW);
    let line = &screen.lines()[0];
    assert_eq!(line.text, "abcdefghijx");
    assert!(line.style_at(10).bold && !line.style_at(0).bold);
}

fn word() -> impl Strategy<Value = String> {
    proptest::string::string_regex(
        "([a-z0-9]{1,12}|[世界你好]{1,5}|é{1,3}|[🖼🎉]|❤\u{fe0f}| {1,3}|\u{fffd}){1,20}",
    )
    .expect("a pattern")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Plain text, however long its lines, however the window is dragged while it comes.
    #[test]
    fn plain_text_is_the_same_at_every_width(
        lines in proptest::collection::vec(word(), 1..12),
        sizes in proptest::collection::vec((2u16..100, 1u16..30), 0..8),
        start in (2u16..250, 1u16..40),
        step in 1usize..40,
    ) {
        let text = lines.join("\r\n");
        let mut screen = Screen::new(Size::new(start.0, start.1), 10_000);
        let chars: Vec<&str> = text.graphemes(true).collect();
        let mut sizes = sizes.into_iter();
        for part in chars.chunks(step) {
            screen.feed(part.concat().as_bytes(), NOW);
            if let Some((cols, rows)) = sizes.next() {
                screen.resize(Size::new(cols, rows), NOW);
            }
        }
        let mut wanted: Vec<String> = lines
            .iter()
            .map(|line| line.trim_end_matches(' ').to_owned())
            .collect();
        while wanted.last().is_some_and(String::is_empty) {
            wanted.pop();
        }
        prop_assert_eq!(texts(&screen), wanted);
        prop_assert!(screen.is_whole());
    }
}
