//! The table of terminal.md 2: what the emulator crate lacks and the screen has, one test a row.

use std::time::Duration;

use codriver::screen::{Changes, Color, Mouse, MouseEncoding, Palette, Screen, Size, Style};

const NOW: Duration = Duration::from_secs(1);

fn screen(cols: u16, rows: u16) -> Screen {
    Screen::new(Size::new(cols, rows), 1000)
}

fn fed(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = screen(cols, rows);
    screen.feed(bytes.as_bytes(), NOW);
    screen
}

fn texts(screen: &Screen) -> Vec<String> {
    screen.lines().into_iter().map(|line| line.text).collect()
}

fn visible(screen: &Screen) -> Vec<String> {
    screen.visible().into_iter().map(|line| line.text).collect()
}

fn asked(bytes: &str) -> String {
    let mut screen = fed(80, 24, bytes);
    String::from_utf8_lossy(&screen.take_replies()).replace('\x1b', "^")
}

fn style_of(sgr: &str) -> Style {
    let screen = fed(80, 24, &format!("{sgr}x"));
    screen.lines()[0].style_at(0)
}

#[test]
fn a_frame_is_seen_whole_or_not_at_all() {
    let mut screen = fed(20, 4, "before\x1b[?2026h\x1b[2J\x1b[Hhalf");
    assert!(screen.in_frame());
    assert_eq!(texts(&screen), ["before"]);
    let changes = screen.feed(b" and half\x1b[?2026l", NOW);
    assert!(changes.drawn);
    assert_eq!(visible(&screen)[0], "half and half");
    assert!(!screen.in_frame());
}

#[test]
fn a_character_cut_off_by_the_end_of_a_frame_is_seen() {
    let mut screen = screen(20, 4);
    for chunk in [&b"\x1b[?2026ha\xc2"[..], b"\x1b[?2026lb"] {
        screen.feed(chunk, NOW);
    }
    assert_eq!(texts(&screen), ["a\u{fffd}b"]);
}

#[test]
fn a_frame_that_stays_open_is_shown_after_its_time() {
    let mut screen = fed(20, 4, "a\x1b[?2026hb");
    let deadline = screen.next_deadline().expect("a frame is open");
    assert_eq!(deadline, NOW + Duration::from_millis(150));
    assert!(!screen.wake(deadline - Duration::from_millis(1)).drawn);
    assert_eq!(texts(&screen), ["a"]);
    assert!(screen.wake(deadline).drawn);
    assert_eq!(texts(&screen), ["ab"]);
    assert_eq!(screen.next_deadline(), None);
    screen.feed(b"\x1b[?2026hc\x1b[?2026ld", deadline);
    assert_eq!(texts(&screen), ["abcd"]);
}

#[test]
fn a_frame_opened_in_an_open_frame_has_its_own_time() {
    let mut screen = fed(20, 4, "a\x1b[?2026hb");
    let later = NOW + Duration::from_millis(100);
    screen.feed(b"\x1b[?2026hc", later);
    screen.wake(NOW + Duration::from_millis(150));
    assert_eq!(texts(&screen), ["ab"]);
    screen.wake(later + Duration::from_millis(150));
    assert_eq!(texts(&screen), ["abc"]);
}

#[test]
fn a_question_inside_a_frame_is_answered_at_its_place() {
    let mut screen = fed(
        20,
        4,
        "ab\x1b[6n\x1b[?2026h\r\nxyz\x1b[6n\x1b[?2026$p\x1b[3J!",
    );
    assert_eq!(screen.take_replies(), b"\x1b[1;3R\x1b[2;4R\x1b[?2026;1$y");
    assert_eq!(texts(&screen), ["ab"]);
    assert_eq!(screen.cursor().col, 2);
    let changes = screen.feed(b"\x1b[?2026l\x1b[?2026$p", NOW);
    assert!(changes.drawn);
    assert_eq!(texts(&screen), ["ab", "xyz!"]);
    assert_eq!(screen.take_replies(), b"\x1b[?2026;2$y");
}

#[test]
fn a_frame_drawn_behind_shows_the_rows_it_began_with() {
    let mut screen = fed(20, 2, "1\r\n2\r\n3\x1b[?2026h\x1b[5n\r\n4\r\n5\x1b[3J\r\n6");
    assert_eq!(texts(&screen), ["1", "2", "3"]);
    let mark = screen.mark();
    screen.feed(b"\x1b[?2026l", NOW);
    assert_eq!(texts(&screen), ["4", "5", "6"]);
    assert_ne!(screen.mark().generation, mark.generation);
}

#[test]
fn the_alternate_screen_comes_and_goes_in_all_its_ways() {
    for (on, off) in [
        ("\x1b[?1049h", "\x1b[?1049l"),
        ("\x1b[?1047h", "\x1b[?1047l"),
        ("\x1b[?47h", "\x1b[?47l"),
    ] {
        let mut screen = fed(20, 4, &format!("main{on}"));
        assert!(screen.modes().alternate_screen);
        screen.feed(b"\x1b[HALT", NOW);
        assert_eq!(texts(&screen), ["ALT"], "{on:?}");
        screen.feed(off.as_bytes(), NOW);
        assert_eq!(texts(&screen), ["main"], "{off:?}");
        assert!(!screen.modes().alternate_screen);
    }
}

#[test]
fn only_1049_puts_the_cursor_back() {
    assert_eq!(
        texts(&fed(20, 4, "main\x1b[?1049h\x1b[3;9Halt\x1b[?1049l!")),
        ["main!"]
    );
    assert_eq!(
        visible(&fed(20, 4, "main\x1b[?47h\x1b[3;9Halt\x1b[?47l!")),
        ["main", "", "           !", ""]
    );
    assert_eq!(
        texts(&fed(20, 4, "ab\x1b[?1048h\x1b[3;3Hzz\x1b[?1048lCD")),
        ["abCD", "", "  zz"]
    );
}

#[test]
fn entering_the_alternate_screen_leaves_the_cursor_where_it_is() {
    let screen = fed(20, 4, "\x1b[2;3H\x1b[?1049hx");
    assert_eq!(visible(&screen), ["", "  x", "", ""]);
}

#[test]
fn rows_that_scroll_off_the_top_are_kept_below_a_footer() {
    let screen = fed(
        20,
        4,
        "\x1b[4;1Hfoot\x1b[1;3r\x1b[1;1Ha\nb\r\nc\r\nd\r\ne\x1b[r",
    );
    assert_eq!(texts(&screen), ["a", " b", "c", "d", "e", "foot"]);
}

#[test]
fn rows_that_scroll_inside_the_screen_are_not_kept() {
    let screen = fed(20, 4, "head\x1b[2;3r\x1b[3;1Ha\r\nb\r\nc\r\nd");
    assert_eq!(texts(&screen), ["head", "c", "d"]);
}

#[test]
fn clearing_the_screen_keeps_its_rows() {
    let screen = fed(20, 4, "one\r\ntwo\x1b[2J\x1b[Hthree");
    assert_eq!(texts(&screen), ["one", "two", "three"]);
    let alternate = fed(20, 4, "\x1b[?1049hone\x1b[2J\x1b[Htwo\x1b[?1049l");
    assert_eq!(texts(&alternate), Vec::<String>::new());
}

#[test]
fn clearing_everything_leaves_nothing_twice() {
    let mut screen = fed(20, 4, "one\r\ntwo\r\n3\r\n4\r\n5");
    let mark = screen.mark();
    let changes = screen.feed(b"\x1b[H\x1b[2J\x1b[3Jnew", NOW);
    assert!(changes.wiped);
    assert_eq!(texts(&screen), ["new"]);
    assert_eq!(screen.mark().generation, mark.generation + 1);
    assert_eq!(screen.lines_since(mark).len(), 1);
}

#[test]
fn a_reset_keeps_the_rows_and_forgets_the_modes() {
    let screen = fed(20, 4, "one\x1b[?2004h\x1b(0\x1b[1;2r\x1bcqq");
    assert_eq!(texts(&screen), ["one", "qq"]);
    assert!(!screen.modes().bracketed_paste);
    let from_alternate = fed(20, 4, "main\x1b[?1049halt\x1bcnew");
    assert_eq!(texts(&from_alternate), ["main", "new"]);
}

#[test]
fn a_wide_character_that_wraps_early_wraps() {
    let screen = fed(5, 4, "abcd世界");
    assert_eq!(texts(&screen), ["abcd世界"]);
    assert_eq!(screen.visible()[0].rows, 2);
    let separate = fed(5, 4, "abcd\r\n世界");
    assert_eq!(texts(&separate), ["abcd", "世界"]);
}

#[test]
fn without_autowrap_the_last_column_is_overwritten() {
    let screen = fed(5, 4, "\x1b[?7labcdefgh\x1b[?7h\r\n1234567");
    assert_eq!(texts(&screen), ["abcdh", "1234567"]);
    assert_eq!(texts(&fed(5, 2, "\x1b[?7labcd世")), ["abc世"]);
}

#[test]
fn the_cursor_is_saved_the_sco_way() {
    let screen = fed(20, 4, "ab\x1b[s\x1b[3;3Hzz\x1b[uCD");
    assert_eq!(texts(&screen), ["abCD", "", "  zz"]);
}

#[test]
fn index_and_next_line_move_down() {
    assert_eq!(texts(&fed(20, 4, "ab\x1bDcd\x1bEef")), ["ab", "  cd", "ef"]);
    assert_eq!(
        texts(&fed(20, 2, "1\x1bE2\x1bE3\x1bD4")),
        ["1", "2", "3", " 4"]
    );
}

#[test]
fn tab_stops_are_set_and_cleared() {
    let screen = fed(20, 2, "\x1b[3g\x1b[4G\x1bH\x1b[10G\x1bH\ra\tb\tc");
    assert_eq!(texts(&screen), ["a  b     c"]);
    let screen = fed(20, 2, "\x1b[9G\x1b[g\ra\tb");
    assert_eq!(texts(&screen), ["a               b"]);
}

#[test]
fn tabs_go_forward_and_back_by_count() {
    assert_eq!(texts(&fed(40, 1, "\x1b[2Ix")), ["                x"]);
    assert_eq!(texts(&fed(40, 1, "\x1b[20G\x1b[2Zx")), ["        x"]);
}

#[test]
fn relative_positions_are_positions() {
    assert_eq!(
        texts(&fed(20, 4, "a\x1b[3ab\x1b[2ec")),
        ["a   b", "", "     c"]
    );
}

#[test]
fn insert_mode_pushes_right() {
    let screen = fed(8, 2, "abcdef\x1b[3G\x1b[4hXY\x1b[4l_");
    assert_eq!(texts(&screen), ["abXY_def"]);
}

#[test]
fn a_soft_reset_leaves_the_text_and_the_cursor() {
    let screen = fed(
        8,
        4,
        "abc\x1b[4h\x1b[1;31m\x1b[2;3r\x1b[3;2H\x1b[!pX\x1b[1;1HY",
    );
    assert_eq!(texts(&screen), ["Ybc", "", " X"]);
    assert_eq!(screen.lines()[2].style_at(1), Style::default());
}

#[test]
fn the_alignment_test_fills_the_screen() {
    let screen = fed(3, 2, "\x1b[1mab\x1b#8x");
    assert_eq!(texts(&screen), ["xEE", "EEE"]);
    assert!(screen.lines()[0].style_at(0).bold);
}

#[test]
fn line_drawing_draws_lines() {
    assert_eq!(texts(&fed(20, 4, "\x1b(0lqqk\x1b(Bq")), ["┌──┐q"]);
    assert_eq!(texts(&fed(20, 4, "\x1b)0a\x0elq\x0fq")), ["a┌─q"]);
    assert_eq!(
        texts(&fed(20, 4, "\x1b7\x1b(0q\x1b8q\x1b(0q\x1b[!pq")),
        ["q─q"]
    );
}

#[test]
fn odd_attributes_are_sensible() {
    let underlined = Style {
        underline: true,
        ..Style::default()
    };
    assert_eq!(style_of("\x1b[4:3m"), underlined);
    assert_eq!(style_of("\x1b[21m"), underlined);
    assert_eq!(style_of("\x1b[4:3;4:0m"), Style::default());
    assert_eq!(style_of("\x1b[5;8;9;53m"), Style::default());
    assert_eq!(texts(&fed(20, 1, "\x1b[8mhidden")), ["hidden"]);
    assert_eq!(style_of("\x1b[58;5;1m"), Style::default());
    assert_eq!(style_of("\x1b[58;2;1;2;3m"), Style::default());
    let red = Style {
        fg: Color::Rgb(1, 2, 3),
        ..Style::default()
    };
    assert_eq!(style_of("\x1b[38:2::1:2:3m"), red);
    assert_eq!(style_of("\x1b[38:2:1:2:3m"), red);
    assert_eq!(style_of("\x1b[38;2;1;2;3m"), red);
    let bold = Style {
        bold: true,
        ..Style::default()
    };
    assert_eq!(style_of("\x1b[38;2;300;0;0;1m"), bold);
}

#[test]
fn repeating_is_bounded() {
    assert_eq!(texts(&fed(20, 2, "-\x1b[5b")), ["------"]);
    assert_eq!(texts(&fed(4, 1, "世\x1b[2b")), ["世世世"]);
    let screen = fed(10, 4, "x\x1b[999999999b");
    assert_eq!(texts(&screen).concat().len(), 41);
}

#[test]
fn hyperlinks_leave_their_text() {
    let screen = fed(
        20,
        2,
        "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\!",
    );
    assert_eq!(texts(&screen), ["link!"]);
}

#[test]
fn control_strings_leave_no_text() {
    let screen = fed(
        20,
        2,
        "a\x1b_Gi=1;AAAA\x1b\\b\x1bPq#0\x1b\\c\x1bXno\x1b\\d\x1b^no\x1b\\e\x1b\\f",
    );
    assert_eq!(texts(&screen), ["abcdef"]);
    assert!(screen.is_whole());
}

#[test]
fn combining_marks_stay_with_their_character() {
    assert_eq!(texts(&fed(20, 2, "e\u{301}x")), ["e\u{301}x"]);
}

#[test]
fn replacement_characters_are_text() {
    assert_eq!(texts(&fed(20, 2, "a\u{fffd}b")), ["a\u{fffd}b"]);
    let mut screen = screen(20, 2);
    screen.feed(b"a\xffb\xe2\x94c\x85d", NOW);
    assert_eq!(texts(&screen), ["a\u{fffd}b\u{fffd}cd"]);
}

#[test]
fn device_attributes_are_answered() {
    assert_eq!(asked("\x1b[c"), "^[?62;22c");
    assert_eq!(asked("\x1b[0c\x1bZ"), "^[?62;22c^[?62;22c");
    assert_eq!(asked("\x1b[>c"), "^[>1;10;0c");
    assert_eq!(asked("\x1b[=c"), "^P!|00000000^\\");
}

#[test]
fn the_version_comes_before_the_attributes_asked_after_it() {
    let answer = asked("\x1b[>0q\x1b[c");
    assert!(answer.starts_with("^P>|codriver "), "{answer}");
    assert!(answer.ends_with("^\\^[?62;22c"), "{answer}");
    assert!(asked("\x1b[>q").starts_with("^P>|"));
}

#[test]
fn status_and_position_are_reported_as_of_the_question() {
    assert_eq!(asked("\x1b[5n"), "^[0n");
    assert_eq!(asked("ab\x1b[6ncd\r\n\x1b[6n"), "^[1;3R^[2;1R");
    assert_eq!(asked("ab\x1b[?6n"), "^[?1;3;1R");
    let wide = format!("{}\x1b[6n", "x".repeat(80));
    assert_eq!(asked(&wide), "^[1;80R");
    assert_eq!(asked("\x1b[5;10r\x1b[?6h\x1b[2;2H\x1b[6n"), "^[2;2R");
}

#[test]
fn colours_are_answered_as_they_were_asked() {
    assert_eq!(asked("\x1b]11;?\x07"), "^]11;rgb:1a1a/1a1a/1a1a\x07");
    assert_eq!(
        asked("\x1b]10;?\x1b\\\x1b]12;?\x1b\\"),
        "^]10;rgb:e5e5/e5e5/e5e5^\\^]12;rgb:e5e5/e5e5/e5e5^\\"
    );
    assert_eq!(
        asked("\x1b]4;1;?;255;?\x07"),
        "^]4;1;rgb:cdcd/0000/0000\x07^]4;255;rgb:eeee/eeee/eeee\x07"
    );
    let mut screen = screen(10, 2);
    screen.set_palette(Palette {
        background: (255, 255, 255),
        foreground: (0, 0, 0),
        ..Palette::default()
    });
    screen.feed(b"\x1b]11;?\x07\x1b[?996n", NOW);
    assert_eq!(
        screen.take_replies(),
        b"\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?997;2n"
    );
}

#[test]
fn modes_are_reported() {
    assert_eq!(asked("\x1b[?2026$p"), "^[?2026;2$y");
    assert_eq!(asked("\x1b[?2004h\x1b[?2004$p"), "^[?2004;1$y");
    assert_eq!(
        asked("\x1b[?1016$p\x1b[?7$p\x1b[?25$p"),
        "^[?1016;2$y^[?7;1$y^[?25;1$y"
    );
    assert_eq!(asked("\x1b[?4711$p\x1b[?2027$p"), "^[?4711;0$y^[?2027;0$y");
    assert_eq!(asked("\x1b[4$p\x1b[4h\x1b[4$p"), "^[4;2$y^[4;1$y");
    assert_eq!(
        asked("\x1b[?1049h\x1b[?1049$p\x1b[?6$p"),
        "^[?1049;1$y^[?6;2$y"
    );
}

#[test]
fn the_keyboard_flags_are_a_stack_for_each_screen() {
    assert_eq!(asked("\x1b[?u"), "^[?0u");
    assert_eq!(asked("\x1b[>7u\x1b[?u\x1b[<u\x1b[?u"), "^[?7u^[?0u");
    assert_eq!(
        asked("\x1b[>1u\x1b[?1049h\x1b[?u\x1b[>5u\x1b[?u\x1b[?1049l\x1b[?u"),
        "^[?0u^[?5u^[?1u"
    );
    assert_eq!(asked("\x1b[=5;1u\x1b[=2;2u\x1b[?u"), "^[?7u");
}

#[test]
fn window_sizes_are_answered() {
    assert_eq!(asked("\x1b[14t"), "^[4;384;640t");
    assert_eq!(
        asked("\x1b[16t\x1b[18t\x1b[19t"),
        "^[6;16;8t^[8;24;80t^[9;24;80t"
    );
}

#[test]
fn capabilities_are_refused_and_settings_told() {
    assert_eq!(asked("\x1bP+q544e\x1b\\"), "^P0+r544e^\\");
    assert_eq!(asked("\x1bP+q\x07evil\r\x1b\\"), "^P0+r^\\");
    assert_eq!(asked("\x1b[1;38;5;3m\x1bP$qm\x1b\\"), "^P1$r0;1;38;5;3m^\\");
    assert_eq!(asked("\x1b[2;5r\x1bP$qr\x1b\\"), "^P1$r2;5r^\\");
    assert_eq!(asked("\x1bP$qz\x1b\\"), "^P0$r^\\");
}

#[test]
fn nothing_is_answered_after_the_end() {
    let mut screen = fed(80, 24, "\x1b[c");
    screen.end();
    screen.feed(b"\x1b[c\x1b[5n", NOW);
    assert_eq!(screen.take_replies(), b"");
}

#[test]
fn answers_to_a_child_that_does_not_read_are_bounded() {
    let mut screen = screen(80, 24);
    for _ in 0..100 {
        screen.feed("\x1b[c".repeat(1000).as_bytes(), NOW);
    }
    assert!(screen.take_replies().len() <= 64 * 1024);
}

#[test]
fn input_modes_are_collected_from_the_first_byte() {
    let mut screen = screen(80, 24);
    let changes = screen.feed(
        b"\x1b[?2004h\x1b[?1h\x1b=\x1b[?1002;1006h\x1b[?1004h\x1b[?1007h\x1b[>4;2m",
        NOW,
    );
    assert_eq!(
        changes,
        Changes {
            modes: true,
            ..Changes::default()
        }
    );
    let modes = screen.modes();
    assert!(modes.bracketed_paste && modes.app_cursor && modes.app_keypad);
    assert!(modes.focus && modes.alternate_scroll);
    assert_eq!(
        (modes.mouse, modes.mouse_encoding, modes.modify_other_keys),
        (Mouse::Drag, MouseEncoding::Sgr, 2)
    );
    assert!(!screen.feed(b"\x1b[?2004h", NOW).modes);
    screen.feed(b"\x1b[?2004s\x1b[?2004l", NOW);
    assert!(!screen.modes().bracketed_paste);
    screen.feed(b"\x1b[?2004r", NOW);
    assert!(screen.modes().bracketed_paste);
}

#[test]
fn the_title_is_collected_and_stacked() {
    let mut screen = screen(80, 24);
    assert!(screen.feed("\x1b]0;✳ a\tb\x07".as_bytes(), NOW).title);
    assert_eq!(screen.title(), "✳ ab");
    assert!(!screen.feed("\x1b]2;✳ ab\x1b\\".as_bytes(), NOW).title);
    screen.feed(b"\x1b[22;0t\x1b]2;inner\x07\x1b]1;icon\x07", NOW);
    assert_eq!(screen.title(), "inner");
    screen.feed(b"\x1b[23;0t", NOW);
    assert_eq!(screen.title(), "✳ ab");
}

#[test]
fn the_agents_own_state_is_collected() {
    let mut screen = screen(80, 24);
    assert_eq!(screen.agent_state(), None);
    let changes = screen.feed(b"\x1b]7501;state=working:app=codex\x1b\\", NOW);
    assert!(changes.state && !changes.drawn);
    assert_eq!(screen.agent_state(), Some("working"));
    assert!(
        !screen
            .feed(b"\x1b]7501; state=working : app=codex\x07", NOW)
            .state
    );
    screen.feed(b"\x1b]7501;state=clear\x1b\\", NOW);
    assert_eq!(screen.agent_state(), None);
}

#[test]
fn the_bell_rings_outside_control_strings() {
    let mut screen = screen(80, 24);
    assert!(screen.feed(b"a\x07", NOW).bell);
    assert!(!screen.feed(b"\x1b]0;t\x07", NOW).bell);
}

#[test]
fn can_and_sub_end_a_control_string() {
    assert_eq!(texts(&fed(20, 2, "\x1b]0;a\x18b\x1bPq\x1ac")), ["bc"]);
}

#[test]
fn a_control_string_of_a_gigabyte_neither_kills_nor_bloats() {
    let mut screen = fed(20, 2, "a\x1b]0;");
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        screen.feed(&chunk, NOW);
    }
    assert!(!screen.is_whole());
    screen.feed(b"\x07b", NOW);
    assert_eq!(texts(&screen), ["ab"]);
}

#[test]
fn a_control_string_without_an_end_is_told_of_inside_a_frame_too() {
    let mut screen = fed(20, 2, "a\x1b[?2026hb\x1b]0;");
    screen.feed(&vec![b'x'; 2 << 20], NOW);
    assert!(!screen.is_whole());
    screen.feed(b"\x07\x1b[?2026l", NOW);
    assert_eq!(texts(&screen), ["ab"]);
}

#[test]
fn a_screen_can_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Screen>();
}

#[test]
fn the_cursor_is_hidden_and_shown() {
    let mut screen = fed(20, 2, "\x1b[?25l");
    assert!(!screen.cursor().visible);
    screen.feed(b"\x1b[?25s\x1b[?25h", NOW);
    assert!(screen.cursor().visible);
    screen.feed(b"\x1b[?25r\x1b[?25$p", NOW);
    assert!(!screen.cursor().visible);
    assert_eq!(screen.take_replies(), b"\x1b[?25;2$y");
    screen.feed(b"\x1b[!p", NOW);
    assert!(screen.cursor().visible);
}

#[test]
fn cells_are_given_for_drawing() {
    let screen = fed(4, 1, "a\x1b[1m世");
    let cells: Vec<_> = screen
        .row_cells(0)
        .map(|cell| (cell.col, cell.width, cell.text.to_owned(), cell.style.bold))
        .collect();
    assert_eq!(
        cells,
        [
            (0, 1, "a".to_owned(), false),
            (1, 2, "世".to_owned(), true),
            (3, 1, " ".to_owned(), false)
        ]
    );
}

#[test]
fn marks_tell_new_lines_from_old_ones() {
    let mut screen = fed(20, 2, "1\r\n2\r\n3\r\n4\r\n");
    let mark = screen.mark();
    screen.feed(b"5\r\n6\r\n7", NOW);
    let since: Vec<_> = screen
        .lines_since(mark)
        .into_iter()
        .map(|l| l.text)
        .collect();
    assert_eq!(since, ["4", "5", "6", "7"]);
}
