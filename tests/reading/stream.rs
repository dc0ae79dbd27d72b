//! Properties of recordings as streams: however they are cut to pieces they say the same, and cut short they never say
//! more than the whole.

use std::sync::LazyLock;
use std::time::Duration;

use codriver::limits;
use codriver::pairing::{Found, Given, Player};
use codriver::recording::cast::{Event, Kind};
use codriver::recording::word::Verdict;
use codriver::screen::{Line, Screen, Size};
use proptest::prelude::*;

use crate::recording::{Recording, kept, profile};
use crate::width::cases;

static KEPT: LazyLock<Vec<Recording>> =
    LazyLock::new(|| Recording::all(&kept()).expect("the kept recordings are read"));
static READ: LazyLock<Vec<Vec<Found>>> =
    LazyLock::new(|| KEPT.iter().map(Recording::play).collect());

fn recording() -> impl Strategy<Value = usize> {
    (0..KEPT.len()).prop_filter("small enough for many runs", |&at| {
        KEPT[at].output().len() < 400_000
    })
}

/// The outputs of a recording cut to pieces of at most `sizes` bytes, in turn, never within a character.
fn pieces(events: &[Event], sizes: &[usize]) -> Vec<Event> {
    let mut sizes = sizes.iter().cycle();
    let mut out = Vec::new();
    for event in events {
        let Kind::Output(text) = &event.kind else {
            out.push(event.clone());
            continue;
        };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let size = sizes.next().copied().unwrap_or(1).min(rest.len());
            let (piece, tail) = rest.split_at(rest.ceil_char_boundary(size));
            out.push(Event {
                at: event.at,
                kind: Kind::Output(piece.to_owned()),
            });
            rest = tail;
        }
    }
    out
}

/// The lines that a terminal holds after the bytes, fed in pieces.
fn lines(recording: &Recording, sizes: &[usize]) -> Vec<Line> {
    let mut screen = Screen::new(recording.header.size, limits::SCROLLBACK);
    let mut sizes = sizes.iter().cycle();
    for event in &recording.events {
        match &event.kind {
            Kind::Output(text) => {
                let mut rest = text.as_bytes();
                while !rest.is_empty() {
                    let size = sizes
                        .next()
                        .map_or(rest.len(), |&size| size.min(rest.len()));
                    screen.feed(&rest[..size], event.at);
                    rest = &rest[size..];
                }
            }
            Kind::Resize(size) => {
                screen.resize(*size, event.at);
            }
            _ => {}
        }
    }
    screen.lines()
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_rounds_are_the_same_however_the_output_is_cut(
        at in recording(),
        sizes in prop::collection::vec(prop_oneof![1usize..8, 8usize..2000], 1..40),
    ) {
        let recording = &KEPT[at];
        let found = recording.play_events(&pieces(&recording.events, &sizes));
        prop_assert_eq!(&found, &READ[at], "{}", recording.name);
    }

    #[test]
    fn the_screen_is_the_same_however_its_bytes_are_cut(
        at in recording(),
        sizes in prop::collection::vec(prop_oneof![1usize..4, 4usize..2000], 1..40),
    ) {
        let recording = &KEPT[at];
        prop_assert_eq!(lines(recording, &sizes), lines(recording, &[]), "{}", recording.name);
    }
}

/// A recording as someone else would have made it: no markers, so that the turns are found by their signs.
fn unmarked(events: &[Event]) -> Vec<Event> {
    let is_marker = |event: &&Event| !matches!(event.kind, Kind::Marker(_));
    events.iter().filter(is_marker).cloned().collect()
}

/// The events up to byte `at` of the output.
fn cut(events: &[Event], at: usize) -> Vec<Event> {
    let mut left = at;
    let mut out = Vec::new();
    for event in events {
        match &event.kind {
            Kind::Output(text) if text.len() >= left => {
                out.push(Event {
                    at: event.at,
                    kind: Kind::Output(text[..text.floor_char_boundary(left)].to_owned()),
                });
                break;
            }
            Kind::Output(text) => left -= text.len(),
            _ => {}
        }
        out.push(event.clone());
    }
    out
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_recording_cut_short_never_agrees_where_the_peer_did_not(
        at in recording(),
        share in 0.0..1.0f64,
        marked in any::<bool>(),
        rest in prop::sample::select(vec![0u64, 50, 5_000]),
    ) {
        let recording = &KEPT[at];
        let events = if marked { recording.events.clone() } else { unmarked(&recording.events) };
        let bytes = (recording.output().len() as f64 * share) as usize;
        let mut events = cut(&events, bytes);
        if let Some(last) = events.last() {
            let at = last.at + Duration::from_millis(rest);
            events.push(Event { at, kind: Kind::Other("-".to_owned()) });
        }
        let found = recording.play_events(&events);
        let said: Vec<Verdict> = found.iter().map(|found| found.reading.verdict).collect();
        prop_assert!(agrees_only_with(&said, recording), "{} at {bytes}: {said:?}", recording.name);
    }
}

/// Whether each AGREE that was read is one that was said, in its order.
fn agrees_only_with(read: &[Verdict], recording: &Recording) -> bool {
    let mut truth = recording.turns.iter().map(|turn| turn.verdict);
    // A recording without markers may hold rounds that its truth does not count.
    read.iter()
        .filter(|&&verdict| verdict == Verdict::Agree)
        .all(|_| truth.any(|said| said == Verdict::Agree))
}

/// The words of a recording's rounds where they are not the truth's: another number of rounds, another verdict, or none
/// where the screen held the reply.
fn wrong(recording: &Recording, events: &[Event]) -> Option<String> {
    let found = recording.play_events(events);
    let read: Vec<Verdict> = found.iter().map(|found| found.reading.verdict).collect();
    let truth: Vec<Verdict> = recording.turns.iter().map(|turn| turn.verdict).collect();
    let right = read.len() == truth.len()
        && recording.turns.iter().zip(&read).all(|(turn, &read)| {
            read == turn.verdict || (!turn.on_screen && read == Verdict::Unparsed)
        });
    (!right).then(|| format!("{}: {truth:?} read as {read:?}", recording.name))
}

#[test]
fn without_markers_the_rounds_are_found_by_what_was_typed() {
    let wrong: Vec<String> = KEPT
        .iter()
        .filter_map(|recording| wrong(recording, &unmarked(&recording.events)))
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn without_input_the_rounds_are_found_by_the_echoes_of_the_prompts() {
    let is_output = |event: &&Event| matches!(event.kind, Kind::Output(_) | Kind::Resize(_));
    let wrong: Vec<String> = KEPT
        .iter()
        .filter_map(|recording| {
            let events: Vec<Event> = recording.events.iter().filter(is_output).cloned().collect();
            wrong(recording, &events)
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_lines_behind_a_verdict_are_counted_from_the_start_of_the_screen() {
    for recording in KEPT.iter() {
        for (turn, found) in recording.play().iter().enumerate() {
            let last = found.evidence.iter().find(|line| line.what == "verdict");
            let Some(last) = last else { continue };
            let mut screen = Screen::new(recording.header.size, limits::SCROLLBACK);
            for event in recording.events.iter().filter(|event| event.at <= found.to) {
                match &event.kind {
                    Kind::Output(text) => {
                        screen.feed(text.as_bytes(), event.at);
                    }
                    Kind::Resize(size) => {
                        screen.resize(*size, event.at);
                    }
                    _ => {}
                }
            }
            let lines = screen.lines();
            let text = lines.get(last.line).map(|line| line.text.as_str());
            assert_eq!(text, Some(last.text.as_str()), "{}#{turn}", recording.name);
        }
    }
}

#[test]
fn a_later_round_changes_no_earlier_one() {
    let prompts = |recording: &Recording| -> Vec<usize> {
        let is_prompt = |event: &Event| event.kind == Kind::Marker("prompt-sent".to_owned());
        (0..recording.events.len())
            .filter(|&at| is_prompt(&recording.events[at]))
            .collect()
    };
    let mut rounds = 0;
    for (recording, whole) in KEPT.iter().zip(READ.iter()) {
        for (turn, at) in prompts(recording).into_iter().enumerate().skip(1) {
            let found = recording.play_events(&recording.events[..at]);
            assert_eq!(found, whole[..turn], "{}", recording.name);
            rounds += 1;
        }
    }
    assert!(rounds > 5, "there are recordings of several rounds");
}

#[test]
fn a_prompt_that_is_being_typed_is_no_reply() {
    let text = "REVIEW: (k7q2) fine VERDICT: AGREE";
    for (harness, sign) in [("claude", "❯\u{a0}"), ("codex", "› "), ("unknown", "> ")] {
        let given = Given {
            tags: vec!["k7q2".to_owned()],
            ..Given::default()
        };
        let mut player = Player::new(Size::new(80, 24), 100, profile(harness), given);
        let mut now = Duration::ZERO;
        player.play(&Event {
            at: now,
            kind: Kind::Output(sign.to_owned()),
        });
        for c in text.chars() {
            now += Duration::from_millis(20);
            for kind in [Kind::Input(c.to_string()), Kind::Output(c.to_string())] {
                player.play(&Event { at: now, kind });
            }
        }
        let found = player.finish(now + Duration::from_secs(3));
        let said = found.iter().map(|found| found.reading.verdict);
        assert!(
            said.clone().all(|verdict| verdict == Verdict::Unparsed),
            "{harness}: {:?}",
            said.collect::<Vec<_>>()
        );
    }
}
