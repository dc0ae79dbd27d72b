//! The screen is the same however the child's bytes are cut, at every width.

use std::time::Duration;

use codriver::screen::{Extra, Line, Modes, Preview, Screen, Seen, Signal, Size};
use proptest::prelude::*;

#[derive(Debug, PartialEq)]
struct Shown {
    lines: Vec<Line>,
    visible: Vec<Line>,
    title: String,
    state: Option<String>,
    modes: Modes,
    replies: Vec<u8>,
    cursor: (u16, u16),
    in_frame: bool,
    whole: bool,
    bell: bool,
    wiped: bool,
    /// Of the rows that left the top and those of the screen.
    cells: Vec<(String, Extra)>,
    signals: Vec<Signal>,
}

fn play(size: Size, chunks: &[&[u8]]) -> Shown {
    play_seen(size, chunks, |_| Seen::default())
}

/// The same, each chunk looked through before.
fn play_seen(size: Size, chunks: &[&[u8]], mut look: impl FnMut(&[u8]) -> Seen) -> Shown {
    let mut screen = Screen::new(size, 200);
    let mut replies = Vec::new();
    let (mut bell, mut wiped) = (false, false);
    for chunk in chunks {
        let changes = screen.feed_seen(chunk, look(chunk), Duration::from_secs(1));
        bell |= changes.bell;
        wiped |= changes.wiped;
        replies.extend(screen.take_replies());
    }
    let cursor = screen.cursor();
    Shown {
        lines: screen.lines(),
        visible: screen.visible(),
        title: screen.title().to_owned(),
        state: screen.agent_state().map(str::to_owned),
        modes: screen.modes().clone(),
        replies,
        cursor: (cursor.row, cursor.col),
        in_frame: screen.in_frame(),
        whole: screen.is_whole(),
        bell,
        wiped,
        cells: cells(&screen),
        signals: screen.take_signals(),
    }
}

fn cells(screen: &Screen) -> Vec<(String, Extra)> {
    let left = screen
        .row_numbers()
        .filter_map(|number| screen.history_cells(number));
    let shown = (0..screen.size().rows).flat_map(|row| screen.row_cells(row));
    left.flatten()
        .chain(shown)
        .map(|cell| (cell.text.to_owned(), cell.extra))
        .collect()
}

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
const LINES: &[&str] = &[
    "plain line\r\n",
    "\x1b[32mgreen\x1b[m line\r\n",
    "a line that is a good deal longer than a narrow window is\r\n",
    "tab\there\r\n",
    "世界 wide\r\n",
    "❤\u{fe0f} mark\r\n",
    "naïve e\u{301}\r\n",
    "\r\n",
    "\x1b[1mbold goes on\r\n",
    "no return\n",
    "  \r\n",
    "\x1b[44mblue\x1b[K\x1b[m\r\n",
    "x\x1b[5Cgap\r\n",
    "\x07bell\r\n",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => proptest::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec()),
        3 => proptest::collection::vec(proptest::sample::select(LINES), 1..60)
            .prop_map(|lines| lines.concat().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 1..6),
    ];
    proptest::collection::vec(piece, 1..40).prop_map(|pieces| pieces.concat())
}

/// Output as a program writes that knows nothing of terminals: this is where rows are known from their bytes.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let text = proptest::sample::select(LINES).prop_map(str::to_owned);
    let runs = proptest::collection::vec(
        prop_oneof![
            4 => "[ -~]{1,30}",
            2 => proptest::sample::select(&["é", "─│┌", "世界", "❤\u{fe0f}", "e\u{301}\u{302}", "1\u{fe0f}\u{20e3}", "🎉", "\t", "👨‍👩‍👧"][..])
                .prop_map(str::to_owned),
            2 => proptest::sample::select(&["\x1b[m", "\x1b[1;31m", "\x1b[48;2;1;2;3m", "\x1b[K", "\x1b[7;38;5;9m", "\x1b[22;27m"][..])
                .prop_map(str::to_owned),
        ],
        0..12,
    )
    .prop_map(|runs| runs.concat() + "\r\n");
    let odd = proptest::sample::select(
        &[
            "\x1b[H",
            "\x1b[2A",
            "\x1b[2J",
            "\n",
            "\r",
            "\u{fffd}",
            "\x1b[?2026h",
            "\x1b[?2026l",
            "\x1b[4m",
        ][..],
    )
    .prop_map(str::to_owned);
    proptest::collection::vec(prop_oneof![8 => text, 24 => runs, 1 => odd], 1..120)
        .prop_map(|lines| lines.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_screen(
        bytes in bytes(),
        cols in 2u16..=250,
        rows in 1u16..30,
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let size = Size::new(cols, rows);
        let whole = play(size, &[&bytes]);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.sort_unstable();
        let mut chunks = Vec::new();
        let mut rest = bytes.as_slice();
        let mut done = 0;
        for place in places {
            let (chunk, after) = rest.split_at(place - done);
            chunks.push(chunk);
            rest = after;
            done = place;
        }
        chunks.push(rest);
        prop_assert_eq!(&play(size, &chunks), &whole);
        let mut preview = Preview::default();
        prop_assert_eq!(&play_seen(size, &chunks, |chunk| preview.look(chunk)), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&play(size, &single), &whole);
    }

    #[test]
    fn rows_known_from_their_bytes_are_the_rows_drawn(
        bytes in output(),
        cols in 2u16..=250,
        rows in 2u16..12,
        chunk in 200usize..5000,
    ) {
        let size = Size::new(cols, rows);
        // Single bytes never hold lines enough for any of them to be known.
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let drawn = play(size, &single);
        prop_assert_eq!(&play(size, &[&bytes]), &drawn);
        let chunks: Vec<&[u8]> = bytes.chunks(chunk).collect();
        prop_assert_eq!(&play(size, &chunks), &drawn);
        let mut preview = Preview::default();
        prop_assert_eq!(&play_seen(size, &chunks, |chunk| preview.look(chunk)), &drawn);
    }
}
