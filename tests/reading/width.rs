//! Properties at every width: what was said comes back, whatever the window; what was sent, cut or is old never agrees.

use std::env;

use codriver::pairing::{Asked, message};
use codriver::recording::word::{Kind, Verdict};
use proptest::prelude::*;

use crate::drawn::{AGENTS, Agent, Drawing};
use crate::measure::{Likeness, compare};

/// Few cases by default; `CODRIVER_CASES` asks for more.
pub(crate) fn cases(default: u32) -> ProptestConfig {
    let cases = env::var("CODRIVER_CASES").ok();
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(
            cases
                .and_then(|cases| cases.parse().ok())
                .unwrap_or(default),
        )
    }
}

pub(crate) fn agent() -> impl Strategy<Value = Agent> {
    prop::sample::select(AGENTS.to_vec())
}

/// A word as reviews hold them.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z]{1,12}",
        1 => "[a-z]{2,6}/[a-z]{2,7}_[a-z]{2,7}\\.rs:[0-9]{1,3}",
        1 => "[a-z]{2,8}_[a-z]{2,8}\\(\\)",
        1 => "[A-Z][a-z]{2,8}::[a-z]{2,5}_[a-z]{2,5}",
        1 => prop::sample::select(vec!["Größe", "naïve", "übrig", "“quoted”", "0.5%", "a-b-c"])
            .prop_map(str::to_owned),
    ]
}

/// A sentence: no sign that ends one stands within.
fn sentence() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..40).prop_map(|words| words.join(" ") + ".")
}

/// A review of paragraphs and lists, a blank line between any two blocks.
pub(crate) fn review() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        3 => sentence(),
        1 => prop::collection::vec(sentence(), 1..4)
            .prop_map(|items| items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")),
        1 => sentence().prop_map(|quote| format!("> {quote}")),
    ];
    (sentence(), prop::collection::vec(block, 0..6))
        .prop_map(|(first, rest)| [vec![first], rest].concat().join("\n\n"))
}

pub(crate) fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![
        Verdict::Agree,
        Verdict::Adjust,
        Verdict::Object,
        Verdict::Escalate,
    ])
}

const TAG: &str = "k7q2";

/// What codriver sends in a round.
pub(crate) fn sent(body: &str, tag: &str) -> String {
    message::round(Kind::Implementation, body, tag)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn what_was_said_comes_back_at_every_width(
        agent in agent(),
        cols in 20u16..=250,
        review in review(),
        verdict in verdict(),
        bare in any::<bool>(),
    ) {
        let sent = sent("Is it fine?", TAG);
        let mut drawing = Drawing::new(agent, cols)
            .echo(&sent)
            .reply(&format!("REVIEW: ({TAG}) {review}\n\nVERDICT: {verdict}"))
            .end()
            .composer("");
        if bare {
            drawing = drawing.bare();
        }
        let asked = Asked { sent: Some(&sent), tag: Some(TAG), ..Asked::default() };
        let reading = drawing.read(&asked);
        prop_assert_eq!(reading.verdict, verdict, "{:?}\n{}", reading.reason, text(&drawing));
        prop_assert!(reading.tagged && reading.echo && reading.ended);
        let signs = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        prop_assert_eq!(signs(&review), signs(&reading.rationale), "{}", text(&drawing));
        // In a narrow window a word may fill a row, and then nothing tells whether it ends there.
        if cols >= 40 {
            let like = compare(&review, &reading.rationale);
            let perfect = Likeness { recall: 1.0, noise: 0.0, lines: 1.0 };
            prop_assert_eq!(like, perfect, "{}\n---\n{}", reading.rationale, text(&drawing));
        }
    }
}

/// What stands below the prompt on a drawing, for the one who has to look.
pub(crate) fn text(drawing: &Drawing) -> String {
    let rows: Vec<String> = drawing
        .lines()
        .iter()
        .map(|line| line.text.clone())
        .collect();
    let from = rows.iter().rposition(|row| row.ends_with("above it."));
    rows[from.unwrap_or(0)..].join("\n")
}
