//! A moment that is reached from a keyframe is the one a replay from the start comes to, scrollback and all.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::time::Duration;

use codriver::recording::cast::{Header, Place, Reader, Writer};
use codriver::recording::track::{Bound, Indexer, Keys, KeysError, Target, seek};
use codriver::screen::{Screen, Seen, Size};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

const SCROLLBACK: usize = 500;

/// All that can be seen of a screen.
fn seen(screen: &Screen) -> String {
    let rows = screen.row_numbers();
    let mut out = format!(
        "{:?} {:?} {:?} {:?} {rows:?} {:?}\n",
        screen.size(),
        screen.cursor(),
        screen.modes(),
        screen.title(),
        screen.mark()
    );
    for number in rows.start..screen.top_row() {
        let cells: Option<Vec<_>> = screen.history_cells(number).map(Iterator::collect);
        out.push_str(&format!("{cells:?} {:?}\n", screen.history_row(number)));
    }
    for row in 0..screen.size().rows {
        let cells: Vec<_> = screen.row_cells(row).collect();
        out.push_str(&format!("{cells:?}\n"));
    }
    out
}

/// A recording in which an agent draws over itself, lines pass, the window changes and the child is started anew.
fn recording(parts: &[(u8, u16)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&Header::new(Size::new(60, 12)), &mut file);
    let mut now = Duration::ZERO;
    for (at, (kind, size)) in parts.iter().enumerate() {
        now += Duration::from_micros(u64::from(*size) * 37);
        let text = match kind {
            0..=3 => (0..*size % 300)
                .map(|n| {
                    let noise =
                        (at as u64 * 7919 + u64::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    format!("\x1b[3{}mline {n} {noise:016x}\x1b[m\r\n", n % 8)
                })
                .collect(),
            4..=7 => format!(
                "\x1b[?2026h\x1b[{};1H\x1b[2Kthe status of {at} \x1b[7m{}\x1b[m\x1b[?2026l",
                1 + size % 12,
                "x".repeat(usize::from(size % 50))
            ),
            8 => "\x1b[?1049h\x1b[Hover all of it".to_owned(),
            9 => "\x1b[?1049l".to_owned(),
            10 => "\x1b[3J".to_owned(),
            11 => {
                writer.marker(now, "restarted", &mut file);
                continue;
            }
            12 => {
                writer.resize(now, Size::new(20 + size % 60, 3 + size % 20), &mut file);
                continue;
            }
            _ => format!(
                "\x1b[2;5r\x1b[5;1H{}\r\n\x1b[r世界\x1b[",
                "wrap ".repeat(usize::from(size % 40))
            ),
        };
        writer.output(now, text.as_bytes(), &mut file);
    }
    file
}

struct Whole {
    file: Vec<u8>,
    header: Header,
    begin: Place,
    keys: Keys,
    /// When each event happened, the start before them.
    times: Vec<Duration>,
    /// The screen after some of them.
    screens: BTreeMap<usize, String>,
}

fn index(file: Vec<u8>, every: usize) -> Whole {
    let reader = Reader::open(Cursor::new(file.clone())).expect("readable");
    let mut reader = reader.recording().expect("a recording");
    let header = reader.header().clone();
    let begin = reader.place().expect("version 3");
    let mut indexer = Indexer::new(&header, begin, SCROLLBACK);
    let mut keys = Keys::default();
    let mut live = Screen::new(header.size, SCROLLBACK);
    let mut times = vec![Duration::ZERO];
    let mut screens = BTreeMap::from([(0, seen(&live))]);
    while let Some(event) = reader.next() {
        let event = event.expect("an event");
        indexer.take(
            &event,
            Seen::default(),
            reader.place().expect("version 3"),
            &mut keys,
        );
        codriver::recording::track::apply(&mut live, &event, Seen::default(), SCROLLBACK);
        if times.len().is_multiple_of(every) {
            screens.insert(times.len(), seen(&live));
        }
        times.push(event.at);
    }
    screens.insert(times.len() - 1, seen(&live));
    indexer.finish(reader.place().expect("version 3"), &mut keys);
    Whole {
        file,
        header,
        begin,
        keys,
        times,
        screens,
    }
}

impl Whole {
    fn at(&self, keys: &Keys, target: Target) -> String {
        let open = |offset| {
            let mut bytes = Cursor::new(&self.file[..]);
            bytes.set_position(offset);
            Ok(bytes)
        };
        let moment = seek(keys, (&self.header, self.begin), target, SCROLLBACK, open);
        seen(&moment.expect("memory reads").screen)
    }
}

/// The first line in which two screens differ, from where they do.
fn differs(found: &str, wanted: &str) -> String {
    let mut lines = found.lines().zip(wanted.lines()).enumerate();
    let Some((line, (found, wanted))) = lines.find(|(_, (found, wanted))| found != wanted) else {
        return "in length".to_owned();
    };
    let same = found.bytes().zip(wanted.bytes());
    let at = same.take_while(|(found, wanted)| found == wanted).count();
    let part = |text: &str| {
        text.chars()
            .skip(at.saturating_sub(120))
            .take(300)
            .collect::<String>()
    };
    format!("line {line}\n{}\nwanted\n{}", part(found), part(wanted))
}

fn parts() -> impl Strategy<Value = Vec<(u8, u16)>> {
    prop::collection::vec((0u8..14, any::<u16>()), 1..400)
}

fn bound(length: u64) -> Bound {
    Bound {
        length,
        edges: [7; 32],
        scrollback: SCROLLBACK as u64,
    }
}

#[test]
fn every_moment_is_the_one_a_whole_replay_comes_to() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut keyframes = 0;
    for _ in 0..4 {
        let parts: Vec<(u8, u16)> = (0..4)
            .flat_map(|_| parts().new_tree(&mut runner).expect("a value").current())
            .collect();
        let whole = index(recording(&parts), 37);
        keyframes += whole.keys.count();
        let saved = whole.keys.write(bound(1));
        let saved = Keys::read(&saved, &bound(1)).expect("as it was written");
        for (at, wanted) in &whole.screens {
            for keys in [&whole.keys, &saved] {
                let found = whole.at(keys, Target::After(*at as u64));
                assert!(
                    found == *wanted,
                    "after event {at}: {}",
                    differs(&found, wanted)
                );
            }
        }
        let (at, wanted) = whole.screens.iter().nth(3).expect("there are some");
        assert!(whole.at(&Keys::default(), Target::After(*at as u64)) == *wanted);
    }
    assert!(keyframes > 15, "{keyframes}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn a_replayed_screen_is_the_live_one_at_every_event(
        cols in 2u16..50,
        rows in 1u16..15,
        steps in prop::collection::vec((0usize..14, 1usize..40, 2u16..50, 1u16..15, 0u64..200), 1..60),
    ) {
        let texts = [
            "plain text that is long enough to be wrapped ", "\r\n", "\x1b[31;1mcolour\x1b[m", "世界 e\u{301} ❤\u{fe0f}",
            "\x1b[?1049h", "\x1b[?1049l", "\x1b[2J\x1b[H", "\x1b[?2026h", "\x1b[?2026l", "\x1b[3;5r", "\x1b]0;title\x07",
            "\x1b[5;5Hhere", "\x1b[3J",
        ];
        let size = Size::new(cols, rows);
        let mut file = Vec::new();
        let mut writer = Writer::new(&Header::new(size), &mut file);
        let mut live = Screen::new(size, SCROLLBACK);
        let mut wanted = Vec::new();
        let (mut now, mut rest) = (Duration::ZERO, Vec::new());
        for (kind, cut, cols, rows, pause) in steps {
            now += Duration::from_millis(pause);
            if kind == texts.len() {
                live.resize(Size::new(cols, rows), now);
                writer.resize(now, Size::new(cols, rows), &mut file);
            } else {
                rest.extend_from_slice(texts[kind].as_bytes());
                // A child is read in pieces that may end in the middle of a character.
                let bytes: Vec<u8> = rest.drain(..cut.min(rest.len())).collect();
                live.feed(&bytes, now);
                live.take_replies();
                writer.output(now, &bytes, &mut file);
            }
            // A console looks up when a frame has been open for too long.
            live.wake(now);
            wanted.push((file.len(), now, seen(&live)));
        }
        for (length, now, wanted) in wanted {
            let reader = Reader::open(&file[..length]).expect("readable").recording().expect("a recording");
            let mut screen = Screen::new(reader.header().size, SCROLLBACK);
            for event in reader {
                codriver::recording::track::apply(&mut screen, &event.expect("an event"), Seen::default(), SCROLLBACK);
            }
            screen.wake(now);
            prop_assert!(seen(&screen) == wanted, "{}", differs(&seen(&screen), &wanted));
        }
    }
}

#[test]
fn a_time_is_reached_behind_all_its_events() {
    let parts = [
        (0, 299),
        (12, 5),
        (4, 9),
        (4, 0),
        (4, 0),
        (0, 280),
        (1, 250),
        (2, 290),
    ];
    let whole = index(recording(&parts.repeat(20)), 1);
    for at in (0..whole.times.len()).step_by(11) {
        let time = whole.times[at];
        let last = whole
            .times
            .iter()
            .rposition(|of| *of == time)
            .expect("it is one");
        for time in [time, time + Duration::from_nanos(1)] {
            assert!(
                whole.at(&whole.keys, Target::At(time)) == whole.screens[&last],
                "{at}"
            );
        }
    }
    let (_, end) = whole.screens.last_key_value().expect("there is one");
    assert!(whole.at(&whole.keys, Target::At(Duration::MAX)) == *end);
}

#[test]
fn keyframes_take_a_hundredth_at_most_and_rows_left_out_come_back() {
    let whole = index(recording(&[(0, 299), (1, 298), (2, 297)].repeat(300)), 150);
    let saved = whole.keys.write(bound(1));
    let most = whole.file.len() / 100 + 8 * 1024;
    assert!(
        saved.len() <= most,
        "{} of {}",
        saved.len(),
        whole.file.len()
    );
    let saved = Keys::read(&saved, &bound(1)).expect("as it was written");
    assert!(whole.keys.is_whole() && !saved.is_whole());
    assert!(whole.keys.count() > 10);
    for (at, wanted) in &whole.screens {
        assert!(
            whole.at(&whole.keys, Target::After(*at as u64)) == *wanted,
            "{at}"
        );
    }
}

#[test]
fn keyframes_of_another_file_or_version_are_refused() {
    let whole = index(recording(&[(0, 299), (4, 9)].repeat(60)), 1000);
    let file = whole.keys.write(bound(5));
    assert!(Keys::read(&file, &bound(5)).is_ok());
    assert_eq!(Keys::read(&file, &bound(6)).err(), Some(KeysError::Stale));
    let mut newer = file.clone();
    newer[14] = b'2';
    assert_eq!(
        Keys::read(&newer, &bound(5)).err(),
        Some(KeysError::Version)
    );
    for at in (0..file.len()).step_by(1 + file.len() / 97) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x10;
        assert!(Keys::read(&damaged, &bound(5)).is_err(), "{at}");
        assert!(Keys::read(&file[..at], &bound(5)).is_err(), "{at}");
    }
    let mut longer = file.clone();
    longer.write_all(b"x").expect("memory takes it");
    assert!(Keys::read(&longer, &bound(5)).is_err());
}
