//! A screen that was written down and made again is the one it was, and stays so whatever comes next.

use std::time::Duration;

use codriver::screen::{Cell, KeptRow, Screen, Size, Snapshot};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

const SCROLLBACK: usize = 40;

#[derive(Debug, Clone)]
enum Step {
    Feed(Vec<u8>),
    Resize(Size),
}

/// All that can be seen of a screen, cell by cell, with its scrollback.
fn seen(screen: &Screen) -> String {
    let cells = |cells: Vec<Cell<'_>>| format!("{cells:?}");
    let mut out = format!(
        "{:?} {:?} {:?} {:?} {:?} {} {}\n",
        screen.size(),
        screen.cursor(),
        screen.modes(),
        screen.title(),
        screen.agent_state(),
        screen.cursor_shape(),
        screen.losses(),
    );
    let rows = screen.row_numbers();
    out.push_str(&format!("{rows:?} {:?}\n", screen.mark()));
    for number in rows.start..screen.top_row() {
        let row = screen.history_cells(number).map(Iterator::collect);
        out.push_str(&cells(row.unwrap_or_default()));
        out.push_str(&format!("{:?}\n", screen.history_row(number)));
    }
    for row in 0..screen.size().rows {
        out.push_str(&cells(screen.row_cells(row).collect()));
        out.push('\n');
    }
    out.push_str(&format!("{:?}\n{:?}", screen.screen_rows(), screen.lines()));
    out
}

/// The first line in which two screens differ.
fn differs(made: &Screen, live: &Screen) -> Option<String> {
    let (made, live) = (seen(made), seen(live));
    let mut lines = made.lines().zip(live.lines());
    let first = lines.find(|(made, live)| made != live);
    match first {
        Some((made, live)) => Some(format!("\nmade {made}\nlive {live}")),
        None => (made != live).then(|| "in length".to_owned()),
    }
}

fn step(screen: &mut Screen, step: &Step, now: Duration) {
    match step {
        Step::Feed(bytes) => {
            screen.feed(bytes, now);
            screen.take_replies();
            screen.take_signals();
        }
        Step::Resize(size) => {
            screen.resize(*size, now);
        }
    }
}

/// Through its written form.
fn again(screen: &Screen) -> Option<Screen> {
    let snapshot = screen.snapshot()?;
    let rows = screen.kept_rows(snapshot.rows());
    let bytes = postcard::to_stdvec(&(snapshot, rows)).expect("it can be written");
    let (snapshot, rows): (Snapshot, Vec<KeptRow>) =
        postcard::from_bytes(&bytes).expect("it can be read");
    Some(Screen::restore(snapshot, SCROLLBACK, rows).expect("it can be made again"))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fixed: Vec<&'static str> = vec![
        "some text ",
        "\r\n",
        "\r\n\r\n\r\n\r\n\r\n",
        "\u{1b}[H",
        "\u{1b}[2J",
        "\u{1b}[3J",
        "\u{1b}[K",
        "\u{1b}[?1049h",
        "\u{1b}[?1049l",
        "\u{1b}[?6h",
        "\u{1b}[?6l",
        "\u{1b}[2;5r",
        "\u{1b}[r",
        "\u{1b}[4h",
        "\u{1b}[4l",
        "\u{1b}[?7l",
        "\u{1b}[?7h",
        "\u{1b}7",
        "\u{1b}8",
        "\u{1b}[?2026h",
        "\u{1b}[?2026l",
        "\u{1b}[31;4:3;58;5;9mwavy",
        "\u{1b}[9mstruck\u{1b}[m",
        "\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\",
        "\u{1b}]0;a title\u{7}",
        "\u{1b}[22;0t",
        "\u{1b}[23;0t",
        "\u{1b}]7501;state=working\u{7}",
        "\u{1b}[>1u",
        "\u{1b}[<u",
        "\u{1b}[?2004h",
        "\u{1b}[?1003h\u{1b}[?1006h",
        "\u{1b}[?2004s",
        "\u{1b}[?2004r",
        "\u{1b}(0qqq\u{1b}(B",
        "\u{1b}H",
        "\u{1b}[3g",
        "\t",
        "\u{1b}[5b",
        "\u{1b}c",
        "\u{1b}[!p",
        "\u{1b}[",
        "1m",
        "世界",
        "e\u{301}\u{2764}\u{fe0f}",
        "a line that is long enough to be wrapped on all of the screens that there are in this test, and once more",
    ];
    let flood = (1usize..60).prop_map(|lines| {
        let lines: String = (0..lines)
            .map(|n| format!("\u{1b}[3{}mline {n}\u{1b}[m\r\n", n % 8))
            .collect();
        Step::Feed(lines.into_bytes())
    });
    prop::collection::vec(
        prop_oneof![
            12 => prop::sample::select(fixed).prop_map(|text| Step::Feed(text.as_bytes().to_vec())),
            2 => (1u16..9, 1u16..30).prop_map(|(row, col)| Step::Feed(format!("\x1b[{row};{col}H").into_bytes())),
            1 => flood,
            2 => (2u16..40, 1u16..12).prop_map(|(cols, rows)| Step::Resize(Size::new(cols, rows))),
        ],
        1..40,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn what_was_written_down_goes_on_like_the_screen_itself(
        cols in 2u16..40,
        rows in 1u16..12,
        before in steps(),
        after in steps(),
    ) {
        let mut live = Screen::new(Size::new(cols, rows), SCROLLBACK);
        let mut now = Duration::ZERO;
        for one in &before {
            now += Duration::from_millis(7);
            step(&mut live, one, now);
        }
        if let Some(mut made) = again(&live) {
            prop_assert_eq!(differs(&made, &live), None);
            for one in &after {
                now += Duration::from_millis(7);
                step(&mut live, one, now);
                step(&mut made, one, now);
                if let Some(differ) = differs(&made, &live) {
                    prop_assert!(false, "after {:?}: {}", one, differ);
                }
            }
            prop_assert_eq!(made.snapshot(), live.snapshot());
        }
    }

    #[test]
    fn bytes_that_are_no_snapshot_make_no_screen_and_no_panic(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        if let Ok(snapshot) = postcard::from_bytes::<Snapshot>(&noise) {
            Screen::restore(snapshot, SCROLLBACK, Vec::new());
        }
        let mut live = Screen::new(Size::new(20, 5), SCROLLBACK);
        live.feed("\u{1b}[?1049hx\u{1b}[1;31m世\r\na\u{1b}[2;3r".as_bytes(), Duration::ZERO);
        let mut bytes = postcard::to_stdvec(&live.snapshot()).expect("it can be written");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(Some(snapshot)) = postcard::from_bytes::<Option<Snapshot>>(&bytes)
            && let Some(mut screen) = Screen::restore(snapshot, SCROLLBACK, Vec::new())
        {
            screen.feed(b"and on\r\n\x1b[5b\x0e\tx", Duration::from_secs(1));
            screen.resize(Size::new(9, 3), Duration::from_secs(2));
            seen(&screen);
        }
    }
}

#[test]
fn nearly_every_screen_of_the_corpus_can_be_written_down() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..200 {
        let steps = steps().new_tree(&mut runner).expect("a value").current();
        let mut live = Screen::new(Size::new(30, 8), SCROLLBACK);
        for one in &steps {
            step(&mut live, one, Duration::ZERO);
            if live.in_frame() {
                continue;
            }
            match live.snapshot() {
                Some(_) => taken += 1,
                None => refused += 1,
            }
        }
    }
    // What is refused is half a sequence, mostly.
    assert!(taken > 10 * refused, "{taken} taken, {refused} refused");
}
