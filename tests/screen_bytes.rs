//! The byte inputs other tools stumbled over (field-notes.md, "Byte inputs" and the terminal rows).

use std::time::Duration;

use codriver::screen::{Screen, Size};

const NOW: Duration = Duration::from_secs(1);

fn fed(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::new(Size::new(cols, rows), 1000);
    screen.feed(bytes.as_bytes(), NOW);
    screen
}

fn texts(screen: &Screen) -> Vec<String> {
    screen.lines().into_iter().map(|line| line.text).collect()
}

/// Input 1: codex inserts finished lines above its composer through a scroll region.
#[test]
fn lines_inserted_above_a_composer_are_all_kept() {
    let mut bytes = String::from("\x1b[5;1Hcomposer\x1b[1;4r\x1b[4;1H");
    for n in 1..=10 {
        bytes.push_str(&format!("\r\nline{n:02}"));
    }
    bytes.push_str("\x1b[r");
    let lines: Vec<String> = texts(&fed(20, 6, &bytes))
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    let mut wanted: Vec<String> = (1..=10).map(|n| format!("line{n:02}")).collect();
    wanted.push("composer".to_owned());
    assert_eq!(lines, wanted);
}

/// Input 2: a region at the top scrolled by a count.
#[test]
fn rows_scrolled_out_by_a_count_are_kept() {
    let rows: Vec<String> = (1..=8).map(|n| format!("row{n}")).collect();
    let screen = fed(
        20,
        8,
        &format!("{}\x1b[1;4r\x1b[3S\x1b[r", rows.join("\r\n")),
    );
    let kept: Vec<String> = texts(&screen)
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(kept, rows);
}

/// Input 3: a wide character on a screen of one column.
#[test]
fn a_screen_of_one_column_is_one_of_two() {
    let screen = fed(1, 1, "⺀");
    assert_eq!(screen.size(), Size { cols: 2, rows: 1 });
    assert_eq!(texts(&screen), ["⺀"]);
    assert!(screen.is_whole());
}

/// Input 5: dragging a split over a wide character.
#[test]
fn a_drag_over_a_wide_character_does_no_harm() {
    let mut screen = fed(4, 2, "ab你");
    screen.resize(Size::new(3, 2), NOW);
    assert_eq!(texts(&screen), ["ab你"]);
    screen.feed(b"\x1b[1;3Hx", NOW);
    assert_eq!(texts(&screen), ["abx"]);
    assert!(screen.is_whole());
}

/// Input 7: narrowing.
#[test]
fn a_narrower_window_loses_nothing() {
    let mut screen = fed(10, 4, "abcdefghijklmnop\r\nEND");
    screen.resize(Size::new(8, 4), NOW);
    assert_eq!(texts(&screen), ["abcdefghijklmnop", "END"]);
}

/// Input 9: a frame that stops half way.
#[test]
fn half_a_frame_is_not_seen() {
    let screen = fed(20, 4, "before\x1b[?2026h\x1b[2J\x1b[Hhalf");
    assert_eq!(texts(&screen), ["before"]);
}

/// Input 10: a gap without a blank.
#[test]
fn a_gap_is_a_blank() {
    assert_eq!(
        texts(&fed(40, 2, "VERDICT:\x1b[1CAGREE")),
        ["VERDICT: AGREE"]
    );
    assert_eq!(
        texts(&fed(40, 2, "REVIEW:\x1b[24Gplaced")),
        ["REVIEW:                placed"]
    );
}

/// Input 13: REP.
#[test]
fn a_character_is_repeated() {
    assert_eq!(texts(&fed(40, 2, "-\x1b[5b")), ["------"]);
}

/// Input 14: SCO save and restore.
#[test]
fn the_cursor_is_restored() {
    assert_eq!(
        texts(&fed(40, 4, "ab\x1b[s\x1b[3;3Hzz\x1b[uCD")),
        ["abCD", "", "  zz"]
    );
}

/// Input 15: mode 47.
#[test]
fn the_alternate_screen_leaves_the_main_one_alone() {
    assert_eq!(texts(&fed(20, 2, "main\x1b[?47h alt\x1b[?47l")), ["main"]);
}

/// Input 17: clearing the screen, clearing the history.
#[test]
fn clearing_keeps_and_wiping_wipes() {
    assert_eq!(texts(&fed(20, 4, "text\x1b[2J")), ["text"]);
    assert_eq!(texts(&fed(20, 2, "1\r\n2\r\n3\r\n4\x1b[3J")), ["3", "4"]);
    assert_eq!(
        texts(&fed(20, 2, "1\r\n2\r\n3\x1b[2J\x1b[3J")),
        Vec::<String>::new()
    );
}

/// Input 18: clusters take a cell for each part, as in alacritty, and U+FE0F makes its character wide.
#[test]
fn clusters_take_their_parts() {
    let screen = fed(40, 2, "🖼️|👨‍👩‍👧|🇫🇷|👋🏻|✚|");
    assert_eq!(screen.cursor().col, 20);
    assert_eq!(texts(&screen), ["🖼️|👨‍👩‍👧|🇫🇷|👋🏻|✚|"]);
}

/// Row 36: a child that waits for answers before it starts.
#[test]
fn a_child_that_asks_is_answered() {
    let mut screen = fed(80, 24, "\x1b[6n\x1b[c\x1b]11;?\x1b\\\x1b[>0q\x1b[?u");
    let replies = String::from_utf8(screen.take_replies()).expect("answers are text");
    let version = concat!("\x1bP>|codriver ", env!("CARGO_PKG_VERSION"), "\x1b\\");
    assert_eq!(
        replies,
        format!("\x1b[1;1R\x1b[?62;22c\x1b]11;rgb:1a1a/1a1a/1a1a\x1b\\{version}\x1b[?0u")
    );
}

/// Row 41: sizes no window has.
#[test]
fn impossible_sizes_are_clamped() {
    for (cols, rows) in [(0, 0), (1, 1), (2, 500), (u16::MAX, u16::MAX)] {
        let size = Size::new(cols, rows);
        assert!(size.cols >= 2 && size.rows >= 1 && size.cols <= 2000 && size.rows <= 2000);
        let mut screen = fed(80, 24, "some text\r\nand more");
        screen.resize(Size { cols, rows }, NOW);
        assert_eq!(screen.size(), size);
        assert_eq!(texts(&screen), ["some text", "and more"]);
    }
}

/// terminal.md 2: these make the crate panic.
#[test]
fn what_panics_in_the_crate_does_no_harm_here() {
    for (bytes, last) in [
        ("\x1b[24;80H\u{2764}\u{fe0f}\x1b[23;80HX", "❤\u{fe0f}"),
        ("\x1b[24;80H\u{2764}\u{fe0f}\x1b[23;79H世", "世❤\u{fe0f}"),
    ] {
        let screen = fed(80, 24, bytes);
        assert!(screen.is_whole(), "{bytes:?}");
        let lines = texts(&screen);
        let line = lines.last().expect("a line");
        assert!(line.ends_with(last), "{bytes:?} gave {line:?}");
    }
}
