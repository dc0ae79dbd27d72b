//! Whatever happens in whatever order: nothing panics, and what was painted piece by piece is what is painted anew.

use codriver::app::{Effect, Ended, Event, Role};
use proptest::prelude::*;
use serde_json::json;

use crate::parts::{every_verdict, fell_back, receipted};
use crate::stage::{Stage, opening};

/// Bytes that a person can read when a case fails.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Happening {
    Output(Role, Bytes),
    Typed(Bytes),
    Resized(u16, u16),
    Answered(usize),
    Receipt(usize, bool),
    Asked,
    Unanswered,
    Ended(Role),
    Passed(u64),
}

/// What agents write, whole and in pieces that mean little.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let words: [&[u8]; 33] = [
        b"a plain word ",
        b"\r\n",
        "支払い世界".as_bytes(),
        "e\u{301}❤\u{fe0f}👩\u{200d}💻".as_bytes(),
        b"\x1b[31;1mred\x1b[0m",
        b"\x1b[48;2;10;90;40mgreen ground",
        b"\x1b]8;;https://example.org/a\x1b\\linked\x1b]8;;\x1b\\ ",
        b"\x1b[4:3;58;5;9mcurly\x1b[0m",
        b"\x1b[9mstruck",
        b"\x1b[2J",
        b"\x1b[H",
        b"\x1b[K",
        b"\x1b[5;70H",
        b"\x1b[3;3Hthere",
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\x1b[?2026h",
        b"\x1b[?2026l",
        b"\x1b[?25l",
        b"\x1b[?25h",
        b"\x1b[5 q",
        b"\x1b[3L",
        b"\x1b[2M",
        b"\x1b[2;8r\x1b[8;1H\n\n",
        b"\x1b[r",
        b"\x1bM",
        b"\x1b[4P",
        b"\x1b[3@",
        b"\x1b[?1000h\x1b[?1006h",
        b"\x1b]2;a title\x07",
        b"\x1b[6n\x1b[c",
        b"\xff\xfe\x80",
        b"line after line\r\nand one more\r\nand the last\r\n",
    ];
    let word = prop_oneof![
        9 => proptest::sample::select(words.to_vec()).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 1..12),
    ];
    proptest::collection::vec(word, 1..8).prop_map(|words| words.concat())
}

/// What a person types, by keys that mean something somewhere.
fn typed() -> impl Strategy<Value = Vec<u8>> {
    let command = proptest::sample::select(b"dborfzt[yasRe|-i?q\x0c\x1d".to_vec())
        .prop_map(|key| vec![0x1d, key]);
    let keys: [&[u8]; 24] = [
        b"j",
        b"k",
        b"v",
        b"\x16",
        b"y",
        b"/a",
        b"n",
        b"N",
        b"g",
        b"G",
        b"q",
        b"+",
        b"-",
        b"\r",
        b"\t",
        b"\x1b[A",
        b"\x1b[B",
        b"\x1b[C",
        b"\x1b[D",
        b"\x1b[5~",
        b"\x1b[6~",
        b"\x7f",
        "世".as_bytes(),
        b"\x1b[200~pasted\nin two lines\x1b[201~",
    ];
    let mouse = (0u8..3, 0u16..130, 0u16..40, any::<bool>()).prop_map(|(kind, col, row, up)| {
        let code = [0, 32, 64][usize::from(kind)];
        let last = if up { 'm' } else { 'M' };
        format!("\x1b[<{code};{};{}{last}", col + 1, row + 1).into_bytes()
    });
    prop_oneof![
        4 => command,
        5 => proptest::sample::select(keys.to_vec()).prop_map(<[u8]>::to_vec),
        2 => Just(b"\x1b".to_vec()),
        2 => mouse,
        1 => Just(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b]10;rgb:0/0/0\x1b\\".to_vec()),
        1 => Just(b"\x1b[O".to_vec()),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    let role = || prop_oneof![Just(Role::Driver), Just(Role::Peer)];
    let size = prop_oneof![
        6 => (60u16..125, 18u16..38),
        1 => (1u16..40, 1u16..14),
    ];
    prop_oneof![
        8 => (role(), output()).prop_map(|(role, bytes)| Happening::Output(role, Bytes(bytes))),
        8 => typed().prop_map(|bytes| Happening::Typed(Bytes(bytes))),
        1 => size.prop_map(|(cols, rows)| Happening::Resized(cols, rows)),
        1 => (0usize..5).prop_map(Happening::Answered),
        1 => (0usize..5, any::<bool>()).prop_map(|(at, falls)| Happening::Receipt(at, falls)),
        1 => Just(Happening::Asked),
        1 => Just(Happening::Unanswered),
        1 => role().prop_map(Happening::Ended),
        4 => prop_oneof![1u64..90, 200u64..9000].prop_map(Happening::Passed),
    ]
}

/// What of it is drawn then.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Draws {
    Nothing,
    Echo(Role),
    All,
}

fn draws() -> impl Strategy<Value = Draws> {
    prop_oneof![
        2 => Just(Draws::Nothing),
        1 => Just(Draws::Echo(Role::Driver)),
        1 => Just(Draws::Echo(Role::Peer)),
        3 => Just(Draws::All),
    ]
}

/// Has it happen.
fn happen(stage: &mut Stage, what: &Happening) -> Result<(), Box<dyn std::error::Error>> {
    match what {
        Happening::Output(role, bytes) => stage.event(Event::Output(*role, &bytes.0)),
        Happening::Typed(bytes) => stage.type_in(&bytes.0),
        Happening::Resized(cols, rows) => stage.resize(*cols, *rows),
        Happening::Answered(at) => stage.answer(&every_verdict()[*at])?,
        Happening::Receipt(at, falls) => {
            let mut more = json!({"route": {"asked": "host", "ran": "host"}});
            if *falls {
                let fell = fell_back("codex", "peer")?;
                stage.event(Event::Fallback(Box::new(fell)));
                more = json!({
                    "route": {"asked": "codex", "ran": "host"},
                    "fallback": {"reason": "refused", "detail": "it said no"},
                });
            }
            let receipt = receipted(&every_verdict()[*at], more)?;
            stage.event(Event::Receipt(Box::new(receipt)));
        }
        Happening::Asked => stage.ask("Is this right?"),
        Happening::Unanswered => stage.event(Event::Unanswered("nothing came".to_owned())),
        Happening::Ended(role) => stage.event(Event::Exited(*role, Ended::Status(1))),
        Happening::Passed(millis) => stage.pass(*millis),
    }
    // What the loop does of it.
    for effect in std::mem::take(&mut stage.effects) {
        match effect {
            Effect::Restart(role) => {
                stage.app.relaunch(role);
                stage.event(Event::Started(role));
            }
            // What came of it is told by an answer, or by none.
            Effect::Conclude => drop(stage.app.take_exchange()),
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_is_painted_piece_by_piece_is_what_is_painted_anew(
        happenings in proptest::collection::vec((happening(), draws()), 1..50),
        sync: bool,
    ) {
        let mut start = opening((110, 34));
        start.terminal.abilities.sync = sync;
        start.hint = true;
        let mut stage = Stage::open(start);
        stage.start_driver();
        for (what, draws) in &happenings {
            prop_assert!(happen(&mut stage, what).is_ok());
            match draws {
                Draws::All => stage.draw(),
                Draws::Echo(role) => stage.draw_echo(*role),
                Draws::Nothing => {}
            }
            // While an answer is read the pane keeps its old picture.
            let reads = stage.app.asking.as_ref().is_some_and(codriver::app::Asking::is_reading);
            if *draws == Draws::All && !reads {
                let anew = stage.shown_anew();
                similar(&stage.shown(), &anew, what)?;
            }
        }
        // All that was put off comes in the end.
        prop_assert!(happen(&mut stage, &Happening::Unanswered).is_ok());
        stage.pass(20_000);
        stage.draw();
        let anew = stage.shown_anew();
        similar(&stage.shown(), &anew, &Happening::Passed(20_000))?;
    }
}

/// Fails with the first row that differs.
fn similar(shown: &str, anew: &str, behind: &Happening) -> Result<(), TestCaseError> {
    let differing = shown.lines().zip(anew.lines()).find(|(a, b)| a != b);
    prop_assert!(shown == anew, "behind {behind:?}: {differing:?}\n{shown}");
    Ok(())
}
