//! Reads what real agents kept beside their screens (`tests/channels/<agent>/`): a record, and beside it, in the `.json`
//! of its name, what was sent in each round and what the model answered.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codriver::pairing::channel::{Format, Found, Log, Wanted, opencode};
use serde::Deserialize;

#[derive(Deserialize)]
struct Truth {
    /// When the launch was, in seconds since 1970.
    since: u64,
    cwd: Option<String>,
    rounds: Vec<Round>,
}

#[derive(Deserialize)]
struct Round {
    tag: String,
    sent: String,
    text: Option<String>,
    /// `failed`, `not-yet`, or `absent` for a prompt that is not in the record; without a text only.
    found: Option<String>,
}

impl Round {
    fn wanted(&self, since: u64) -> Wanted {
        Wanted::new(&self.tag, &self.sent, Duration::from_secs(since))
    }

    fn expected(&self) -> Option<Found> {
        match (&self.text, self.found.as_deref()) {
            (Some(text), _) => Some(Found::Text(text.clone())),
            (None, Some("failed")) => Some(Found::Failed),
            (None, Some("absent")) => None,
            (None, _) => Some(Found::NotYet),
        }
    }
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The records of an agent that end in `ending`, each with its truth.
fn records(agent: &str, ending: &str) -> Outcome<Vec<(PathBuf, Vec<u8>, Truth)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/channels")
        .join(agent);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.to_string_lossy();
        let Some(stem) = name.strip_suffix(ending) else {
            continue;
        };
        let Ok(truth) = fs::read(format!("{stem}.json")) else {
            continue;
        };
        found.push((
            path.clone(),
            fs::read(&path)?,
            serde_json::from_slice(&truth)?,
        ));
    }
    assert!(!found.is_empty(), "no records of {agent}");
    Ok(found)
}

fn check_logs(agent: &str, format: Format) -> Outcome {
    for (path, bytes, truth) in records(agent, ".jsonl")? {
        let mut log = Log::open(format);
        log.take(&bytes);
        if let Some(cwd) = &truth.cwd {
            let since = Duration::from_secs(truth.since);
            assert_eq!(log.is_of(cwd, since), Some(true), "{path:?}");
            assert_eq!(log.is_of("/elsewhere", since), Some(false), "{path:?}");
            let later = since + Duration::from_secs(3600);
            assert_eq!(log.is_of(cwd, later), Some(false), "{path:?}");
        }
        for round in &truth.rounds {
            let found = log.find(&round.wanted(truth.since));
            assert_eq!(Some(found), round.expected(), "{path:?} {}", round.tag);
        }
    }
    Ok(())
}

/// However far a log was written, no round has another answer than its own.
fn check_cuts(agent: &str, format: Format) -> Outcome {
    for (path, bytes, truth) in records(agent, ".jsonl")? {
        let mut log = Log::open(format);
        for (at, piece) in bytes.chunks(61).enumerate() {
            log.take(piece);
            for round in &truth.rounds {
                let found = log.find(&round.wanted(truth.since));
                assert!(
                    found == Found::NotYet || Some(&found) == round.expected().as_ref(),
                    "{path:?} {} after piece {at}: {found:?}",
                    round.tag
                );
            }
        }
    }
    Ok(())
}

#[test]
fn claudes_hooks_tell_each_rounds_text() -> Outcome {
    check_logs("claude", Format::Claude)
}

#[test]
fn a_growing_file_of_claudes_hooks_never_tells_another_rounds_text() -> Outcome {
    check_cuts("claude", Format::Claude)
}

#[test]
fn a_rollout_of_codex_tells_each_rounds_text() -> Outcome {
    check_logs("codex", Format::Codex)
}

#[test]
fn a_growing_rollout_of_codex_never_tells_another_rounds_text() -> Outcome {
    check_cuts("codex", Format::Codex)
}

#[test]
fn opencodes_messages_tell_each_rounds_text() -> Outcome {
    for (path, bytes, truth) in records("opencode", ".api.json")? {
        for round in &truth.rounds {
            let found = opencode::find(&bytes, &round.wanted(truth.since));
            assert_eq!(found, round.expected(), "{path:?} {}", round.tag);
        }
    }
    Ok(())
}

#[test]
fn opencodes_sessions_are_told_by_folder_and_time() -> Outcome {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/channels/opencode/sessions.api.json");
    let bytes = fs::read(path)?;
    let named = |cwd, since| opencode::sessions(&bytes, cwd, Duration::from_secs(since));
    let (new, old) = (
        "ses_dd1898e0bffekCzN3WVxw4qd0D",
        "ses_dd18a14baffe2vAZ5ZM1FAR61p",
    );
    assert_eq!(named("/work/private", 1_796_075_800), [new, old]);
    assert_eq!(named("/work/private", 1_796_075_840), [new]);
    assert_eq!(named("/work", 1_796_075_800), [""; 0]);
    Ok(())
}
