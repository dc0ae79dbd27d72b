//! Several rounds with one peer: how they are numbered, and that none answers for another (A.4, A.5).
//!
//! `CODRIVER_LIVE_PEER=codex cargo test --test several_rounds -- --ignored` runs two with a real agent.

use std::fs;
use std::path::Path;

use codriver::cli::{self, AskedKind, Message, Surroundings};
use codriver::flow::compose::Asked;
use codriver::flow::config::Workplace;
use codriver::flow::round;
use codriver::recording::result::Round;
use codriver::recording::word::Verdict;
use codriver::world::environment::name_own_program;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn discuss(words: &str) -> Asked {
    Asked::Discuss {
        kind: AskedKind::Question,
        message: Message::Words(words.to_owned()),
        diff: None,
    }
}

/// Runs what is asked with the peer that `config` describes, in `folder`.
fn ask(asked: &[Asked], folder: &Path, words: &[&str]) -> Result<Vec<Round>> {
    let line = ["codriver", "--headless", "-q"]
        .iter()
        .chain(words)
        .chain(&["brief"]);
    let call = cli::parse(line.copied())?.resolve(&Surroundings::default())?;
    let place = Workplace::find(Some(folder))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut rounds = Vec::new();
    runtime.block_on(round::run(asked, &place, &call.options, |round| {
        rounds.push(round.clone());
    }))?;
    Ok(rounds)
}

/// The folders of the person are found by the environment, which a test cannot change for itself alone.
#[test]
fn rounds_are_counted_from_the_last_brief_that_was_agreed() -> Result {
    let home = tempfile::tempdir()?;
    let inner = std::process::Command::new(std::env::current_exe()?)
        .args(["--ignored", "--exact", "in_a_home_of_its_own"])
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path().join("state"))
        .env("XDG_CONFIG_HOME", home.path().join("config"))
        .output()?;
    let said = String::from_utf8_lossy(&inner.stdout);
    assert!(
        inner.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&inner.stderr)
    );
    Ok(())
}

#[test]
#[ignore = "run by the test above, with a home of its own"]
fn in_a_home_of_its_own() -> Result {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script.json");
    let understood = "REVIEW: ({tag}) understood\n\nVERDICT: AGREE";
    let turns = serde_json::json!([
        {"text": understood},
        {"text": "REVIEW: ({tag}) one\n\nVERDICT: OBJECT"},
        {"text": "REVIEW: ({tag}) two, and no word"},
        {"text": "REVIEW: ({tag}) three\n\nVERDICT: AGREE"},
        {"text": understood},
        {"text": "REVIEW: ({tag}) one again\n\nVERDICT: ADJUST"},
    ]);
    fs::write(&script, turns.to_string())?;
    let config = folder.path().join("config.toml");
    let program = env!("CARGO_BIN_EXE_codriver");
    name_own_program(program.into());
    fs::write(
        &config,
        format!(
            "[harness.demo]\ncommand = [{program:?}, \"demo-agent\", \"--script\", {script:?}]\n"
        ),
    )?;
    let asked = [
        Asked::Brief { force: false },
        discuss("first"),
        discuss("second"),
        discuss("third"),
        Asked::Brief { force: false },
        Asked::Brief { force: true },
        discuss("fourth"),
    ];
    let config = config.to_str().ok_or("an odd path")?;
    let rounds = ask(
        &asked,
        folder.path(),
        &["--peer", "demo", "--config", config],
    )?;
    let told: Vec<_> = rounds
        .iter()
        .map(|round| {
            (
                round.round,
                round.reading.verdict(),
                round.already,
                round.reading.rationale(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (0, Verdict::Agree, false, "understood"),
            (1, Verdict::Object, false, "one"),
            // A round without a verdict counts too; the word of the one before is not taken for its own.
            (2, Verdict::Unparsed, false, "two, and no word"),
            (3, Verdict::Agree, false, "three"),
            (3, Verdict::Agree, true, "already briefed"),
            (0, Verdict::Agree, false, "understood"),
            (1, Verdict::Adjust, false, "one again"),
        ]
    );
    Ok(())
}

#[test]
#[ignore = "needs a real agent and a server that plays its model"]
fn two_rounds_with_a_real_agent() -> Result {
    let peer = std::env::var("CODRIVER_LIVE_PEER")?;
    name_own_program(env!("CARGO_BIN_EXE_codriver").into());
    let place = std::env::current_dir()?;
    let place = std::env::var("CODRIVER_LIVE_FOLDER").map_or(place, Into::into);
    let asked = [
        Asked::Brief { force: false },
        discuss("Round one: is the change right?"),
        discuss("Round two: it was changed as you asked. Is it right now?"),
    ];
    let rounds = ask(&asked, &place, &["--peer", &peer])?;
    let told: Vec<_> = rounds
        .iter()
        .map(|round| (round.round, round.reading.verdict()))
        .collect();
    assert_eq!(
        told,
        [
            (0, Verdict::Agree),
            (1, Verdict::Object),
            (2, Verdict::Agree)
        ]
    );
    assert!(rounds.iter().all(|round| round.complete && round.tagged));
    println!("{}", serde_json::to_string_pretty(&rounds)?);
    Ok(())
}
