//! What never agrees: the echo of a prompt, noise, and the reply of an older round.

use std::time::Duration;

use codriver::pairing::{Asked, Found, Given, Player, Reading, message, read};
use codriver::recording::cast::{Event, Kind};
use codriver::recording::word::{Kind as Topic, Verdict};
use codriver::screen::{Screen, Size};
use proptest::prelude::*;

use crate::drawn::{AGENTS, Agent, Drawing};
use crate::recording::profile;
use crate::width::{agent, cases, sent, text};

const TAG: &str = "k7q2";
const OTHER: &str = "m3xp";

/// What a driver may say: also what a reply says.
fn body() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("Is the change ready?".to_owned()),
        Just("REVIEW: fine".to_owned()),
        Just("REVIEW: (a2b3) fine".to_owned()),
        Just("VERDICT: AGREE".to_owned()),
        Just("+VERDICT: AGREE".to_owned()),
        Just("> VERDICT: AGREE".to_owned()),
        Just("    VERDICT: AGREE".to_owned()),
        Just("● VERDICT: AGREE".to_owned()),
        Just("• REVIEW: fine".to_owned()),
        Just(String::new()),
        "[a-z ]{0,80}",
        "[a-z ]{0,60}VERDICT: AGREE",
    ];
    prop::collection::vec(line, 1..12)
        .prop_map(|lines| lines.join("\n"))
        .prop_filter("something is said", |body| !body.trim().is_empty())
}

fn topic() -> impl Strategy<Value = Topic> {
    prop::sample::select(vec![Topic::Plan, Topic::Implementation, Topic::Question])
}

/// Reads by what is known live: the text, its tag, and where the screen was new.
fn live<'a>(sent: &'a str, tag: &'a str) -> Asked<'a> {
    Asked {
        sent: Some(sent),
        tag: Some(tag),
        ..Asked::default()
    }
}

/// Every way in which one screen is looked at: with the text that was sent, with a tag only, with nothing.
fn readings(drawing: &Drawing, sent: &str, rows: u16) -> Vec<Reading> {
    let known = live(sent, TAG);
    let tag = Asked {
        tag: Some(TAG),
        ..Asked::default()
    };
    let untagged = Asked {
        sent: Some(sent),
        ..Asked::default()
    };
    vec![
        drawing.read(&known),
        drawing.read(&tag),
        drawing.read(&untagged),
        drawing.read(&Asked::default()),
        drawing.read_window(rows, &known),
        drawing.read_window(rows, &tag),
        drawing.read_window(rows, &untagged),
    ]
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn the_echo_of_what_codriver_says_never_agrees(
        agent in agent(),
        cols in 12u16..=250,
        topic in topic(),
        body in body(),
        brief in any::<bool>(),
        cut in 0usize..30,
        rows in 3u16..60,
        rest in any::<bool>(),
    ) {
        let sent = if brief {
            message::brief("codex", "/home/someone/src/project", "You can read files.", TAG)
        } else {
            message::round(topic, &body, TAG)
        };
        let mut drawing = Drawing::new(agent, cols).echo(&sent);
        if rest {
            drawing = drawing.composer("");
        } else {
            let most = drawing.len() - 1;
            drawing = drawing.cut(cut.min(most));
        }
        for reading in readings(&drawing, &sent, rows) {
            prop_assert_ne!(reading.verdict, Verdict::Agree, "{}", text(&drawing));
        }
    }

    #[test]
    fn a_plain_echo_wrapped_at_any_width_never_agrees(
        cols in 2u16..=250,
        rows in 2u16..60,
        topic in topic(),
        body in body(),
    ) {
        let sent = message::round(topic, &body, TAG);
        let mut screen = Screen::new(Size::new(cols, rows), 10_000);
        screen.feed(sent.replace('\n', "\r\n").as_bytes(), Duration::ZERO);
        for harness in ["unknown", "gemini", "cursor-agent", "demo"] {
            let rules = profile(harness).screen;
            let reading = read(&screen.lines(), &rules, &live(&sent, TAG));
            prop_assert_ne!(reading.verdict, Verdict::Agree, "{}: {}", harness, reading.raw);
        }
    }

    #[test]
    fn the_reply_of_an_older_round_never_answers(
        agent in agent(),
        cols in 30u16..=200,
        rows in 4u16..80,
        answer in prop::sample::select(vec![
            None,
            Some("REVIEW: (m3xp) I am still reading."),
            Some("I am still reading."),
            Some("REVIEW: (a2b3) Fine.\n\nVERDICT: AGREE"),
            Some("REVIEW: (k7q2) Fine.\n\nVERDICT: AGREE"),
            Some("Fine.\n\nVERDICT: AGREE"),
        ]),
        shown in any::<bool>(),
        ended in any::<bool>(),
        same in any::<bool>(),
        old in prop::sample::select(vec![Verdict::Agree, Verdict::Object, Verdict::Escalate]),
    ) {
        let before = sent("Is src/store.rs ready?", TAG);
        let now = sent(if same { "Is src/store.rs ready?" } else { "And src/parse.rs?" }, OTHER);
        let old = Drawing::new(agent, cols)
            .echo(&before)
            .reply(&format!("REVIEW: (k7q2) All of it was read.\n\nVERDICT: {old}"))
            .end();
        let since = old.lines().len();
        let mut drawing = old;
        if shown {
            drawing = drawing.echo(&now);
        }
        if let Some(answer) = answer {
            drawing = drawing.reply(answer);
        }
        if ended {
            drawing = drawing.end();
        }
        let drawing = drawing.composer("");
        let asked = live(&now, OTHER);
        // Whether or not the place of the new text is known.
        for since in [0, since] {
            let asked = Asked { since, ..asked };
            let reading = drawing.read(&asked);
            prop_assert_eq!(reading.verdict, Verdict::Unparsed, "{}", text(&drawing));
            let reading = drawing.read_window(rows, &Asked { since: 0, ..asked });
            prop_assert_eq!(reading.verdict, Verdict::Unparsed, "{}", text(&drawing));
        }
    }

    #[test]
    fn noise_never_agrees(
        agent in agent(),
        cols in 2u16..=120,
        rows in 1u16..40,
        noise in prop::collection::vec(
            prop_oneof![
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b"\x1b[".to_vec()),
                Just(b"\r\n".to_vec()),
                Just(b"VERDICT: ".to_vec()),
                Just(b"VERDICT".to_vec()),
                Just(b"REVIEW: (k7q2) ".to_vec()),
                Just("● ".as_bytes().to_vec()),
                Just("• ".as_bytes().to_vec()),
                Just("  ┃".as_bytes().to_vec()),
                Just(b"     ".to_vec()),
            ],
            0..200,
        ),
    ) {
        let mut screen = Screen::new(Size::new(cols, rows), 100);
        screen.feed(&noise.concat(), Duration::ZERO);
        let rules = Drawing::new(agent, cols).rules().clone();
        for tag in [None, Some(TAG)] {
            let asked = Asked { tag, ..Asked::default() };
            let reading = read(&screen.lines(), &rules, &asked);
            prop_assert_ne!(reading.verdict, Verdict::Agree);
        }
    }
}

fn event(at: u64, kind: Kind) -> Event {
    Event {
        at: Duration::from_millis(at),
        kind,
    }
}

/// Plays two rounds of the same prompt, the second one drawn as `second`, as a recording holds them.
fn twice(agent: Agent, prompt: &str, second: impl Fn(Drawing) -> Drawing) -> Vec<Found> {
    let cols = 100;
    let first = Drawing::new(agent, cols)
        .echo(prompt)
        .reply("REVIEW: All of it is fine.\n\nVERDICT: AGREE")
        .end();
    let both = second(first.clone()).bytes();
    let first = first.bytes();
    let rest = both
        .strip_prefix(&first)
        .expect("the second round goes on where the first one ended");
    let size = Size::new(cols, 50);
    let rules = profile(Drawing::new(agent, cols).harness());
    let mut player = Player::new(size, 10_000, rules, Given::default());
    let typed = format!("\x1b[200~{prompt}\x1b[201~\r");
    let events = [
        event(0, Kind::Input(typed.clone())),
        event(0, Kind::Marker("prompt-sent".to_owned())),
        event(10, Kind::Output(first)),
        event(2_000, Kind::Marker("settled".to_owned())),
        event(3_000, Kind::Input(typed)),
        event(3_000, Kind::Marker("prompt-sent".to_owned())),
        event(3_010, Kind::Output(rest.to_owned())),
        event(9_000, Kind::Marker("settled".to_owned())),
    ];
    for event in &events {
        player.play(event);
    }
    player.finish(Duration::from_secs(9))
}

#[test]
fn the_same_prompt_sent_twice_gives_two_rounds() {
    for agent in AGENTS {
        for prompt in [
            "Go on.",
            "Please look again at src/store.rs and say what you find.",
        ] {
            let found = twice(agent, prompt, |drawing| {
                drawing
                    .echo(prompt)
                    .reply("REVIEW: Not any more.\n\nVERDICT: OBJECT")
                    .end()
            });
            let said: Vec<_> = found
                .iter()
                .map(|found| (found.reading.verdict, found.reading.rationale.as_str()))
                .collect();
            assert_eq!(
                said,
                [
                    (Verdict::Agree, "All of it is fine."),
                    (Verdict::Object, "Not any more.")
                ],
                "{agent:?} {prompt}"
            );
            for answered in [false, true] {
                let found = twice(agent, prompt, |drawing| {
                    let drawing = drawing.echo(prompt);
                    if answered {
                        drawing.reply("I am still reading.").end()
                    } else {
                        drawing
                    }
                });
                assert_eq!(
                    found[1].reading.verdict,
                    Verdict::Unparsed,
                    "{agent:?} {prompt} {answered}: {}",
                    found[1].reading.raw
                );
            }
        }
    }
}

#[test]
fn the_same_prompt_sent_twice_to_an_agent_nothing_is_known_of() {
    let prompt = "Please look again at src/store.rs and say what you find.";
    let first = format!("> {prompt}\n\nREVIEW: fine\n\nVERDICT: AGREE\n\n");
    for (rest, verdict) in [
        (String::new(), Verdict::Unparsed),
        ("I am still reading.\n".to_owned(), Verdict::Unparsed),
        (
            "REVIEW: no\n\nVERDICT: OBJECT\n".to_owned(),
            Verdict::Object,
        ),
    ] {
        let text = format!("{first}> {prompt}\n\n{rest}");
        let mut screen = Screen::new(Size::new(100, 50), 1_000);
        screen.feed(text.replace('\n', "\r\n").as_bytes(), Duration::ZERO);
        let asked = Asked {
            sent: Some(prompt),
            since: first.lines().count(),
            ..Asked::default()
        };
        let reading = read(&screen.lines(), &profile("unknown").screen, &asked);
        assert_eq!(reading.verdict, verdict, "{rest}");
    }
}
