//! A session that is killed without a word leaves files that are whole to what was written.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use codriver::flow::recorder::{Opening, Recorder};
use codriver::recording::cast::{Kind, Reader};
use codriver::recording::event::{Entry, Event};
use codriver::recording::receipt::Body;
use codriver::recording::session::{Pane, Session, State};
use codriver::screen::Size;

type Test = Result<(), Box<dyn std::error::Error>>;

const STATE: &str = "CODRIVER_TEST_KILL_STATE";
const LONG: Duration = Duration::from_secs(20);

/// Not a test of its own: what the other test starts and kills.
#[test]
fn the_one_that_is_killed() {
    let Some(state) = std::env::var_os(STATE) else {
        return;
    };
    let mut recorder = Recorder::open(&Opening {
        state: Some(PathBuf::from(state)),
        repo: "repo-1",
        worktree: Path::new("/"),
        codriver: "0",
        started: Duration::from_secs(1_700_000_000),
    });
    let pane = Pane::new("peer", "demo", None, ["demo"], Size::new(80, 24));
    let peer = recorder.add_pane(pane, "peer");
    for number in 0_u64.. {
        let at = Duration::from_millis(number);
        recorder.output(
            peer,
            at,
            format!("<{number}>{}", "é\u{1b}[m ".repeat(40)).as_bytes(),
        );
        recorder.event(
            at,
            Event::Notice {
                text: number.to_string(),
            },
        );
        if number % 20 == 0 {
            let fields = serde_json::Map::from_iter([("for".to_owned(), "test".into())]);
            assert!(recorder.receipt(Body::Other(fields)).is_some());
            assert!(recorder.settle(LONG));
            println!("written {number}");
        }
    }
}

#[test]
fn killed_at_any_moment_a_session_is_whole_to_its_last_line() -> Test {
    for rounds in [1, 2, 5, 9, 14] {
        let root = tempfile::tempdir()?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--exact", "the_one_that_is_killed", "--nocapture"])
            .env(STATE, root.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut said = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let written = |line: &str| {
            line.rsplit_once("written ")
                .and_then(|(_, number)| number.parse::<u64>().ok())
        };
        let mut last = None;
        for _ in 0..rounds {
            last = said
                .by_ref()
                .map_while(Result::ok)
                .find_map(|line| written(&line));
        }
        child.kill()?;
        child.wait()?;
        last = said
            .map_while(Result::ok)
            .filter_map(|line| written(&line))
            .last()
            .or(last);
        check(root.path(), last.ok_or("the child said nothing")?)?;
    }
    Ok(())
}

/// Everything said to be written is there, and nothing is out of order.
fn check(state: &Path, last: u64) -> Test {
    let sessions = state.join("repo-1/sessions");
    let folder = std::fs::read_dir(&sessions)?
        .next()
        .ok_or("no session")??
        .path();

    let cast = std::fs::read(folder.join("peer.cast"))?;
    let mut reader = Reader::open(&cast[..])?.recording().ok_or("no recording")?;
    let mut next = 0;
    for event in reader.by_ref() {
        if let Kind::Output(text) = event?.kind {
            assert!(
                text.starts_with(&format!("<{next}>")),
                "{next} is missing: {text}"
            );
            next += 1;
        }
    }
    assert!(next > last, "{next} of more than {last}");
    assert!(!reader.notes().replaced);

    let events = std::fs::read(folder.join("events.jsonl"))?;
    let mut next = 0;
    for line in events
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        if let Event::Notice { text } = serde_json::from_slice::<Entry>(line)?.event {
            assert_eq!(text, next.to_string());
            next += 1;
        }
    }
    assert!(next > last, "{next} of more than {last}");

    let session: Session = serde_json::from_slice(&std::fs::read(folder.join("session.json"))?)?;
    assert_eq!(
        (session.state, session.ended.as_deref()),
        (State::Open, None)
    );
    let receipts = session.verify(&std::fs::read(folder.join("receipts.jsonl"))?)?;
    assert!(receipts.len() as u64 > last / 20);
    Ok(())
}
