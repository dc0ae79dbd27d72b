//! A console that goes on where an earlier one ended.

use std::fs;
use std::path::PathBuf;

use codriver::recording::digest::Digest;
use codriver::recording::session::Session;

use crate::tmux::Tmux;
use crate::world::{Fault, Outcome, World};

const ADJUST: &str = "REVIEW: ({tag}) one finding.\n\nVERDICT: ADJUST";
const AGREE: &str = "REVIEW: ({tag}) it is fixed.\n\nVERDICT: AGREE";

fn ask(tmux: &Tmux, words: &str, verdict: &str) -> Outcome {
    tmux.see("● demo · fixed rules")?;
    tmux.act("d")?;
    tmux.see("to the peer")?;
    tmux.type_in(words)?;
    tmux.see(words)?;
    tmux.press(&["Enter"])?;
    tmux.see(verdict)?;
    tmux.see("Esc close")?;
    tmux.press(&["Escape"])?;
    tmux.see_no_more("Esc close")
}

/// The sessions there are, the oldest first.
fn sessions(world: &World) -> Result<Vec<(PathBuf, Session)>, Fault> {
    let mut found = Vec::new();
    for repository in fs::read_dir(world.path("state/codriver"))? {
        let folders = fs::read_dir(repository?.path().join("sessions"));
        for folder in folders.into_iter().flatten() {
            let folder = folder?.path();
            let session = serde_json::from_slice(&fs::read(folder.join("session.json"))?)?;
            found.push((folder, session));
        }
    }
    found.sort_by_key(|(folder, _)| folder.clone());
    Ok(found)
}

#[test]
fn rounds_and_receipts_go_on_in_a_session_of_its_own() -> Outcome {
    let world = World::new()?;
    let settings = world.script(&[ADJUST, AGREE], 1)?;
    let args = ["--driver", "sh", "--peer", "demo", "--config", &settings];
    let Some(tmux) = Tmux::start(world, (120, 40), &args)? else {
        return Ok(());
    };
    ask(&tmux, "Is it right?", "✎ ADJUST")?;
    tmux.act("q")?;
    tmux.is_left(0)?;

    let again = ["--resume", "--config", &settings];
    tmux.again((120, 40), &again)?;
    tmux.see("goes on with round 2")?;
    tmux.see("the driver sh has no way to resume")?;
    tmux.see("1 impl ✎ ADJUST")?;
    ask(&tmux, "And now?", "✎ ADJUST")?;
    tmux.see("2 impl ✎ ADJUST")?;
    tmux.act("q")?;
    tmux.is_left(0)?;

    let found = sessions(&tmux.world)?;
    let [(first, before), (second, after)] = found.as_slice() else {
        return Err(format!("not two sessions: {}", found.len()).into());
    };
    let resumed = after.resumed.as_ref().ok_or("it goes on with nothing")?;
    assert_eq!(resumed.session, before.id);
    assert_eq!(resumed.receipts, before.receipts);
    let lines = fs::read_to_string(first.join("receipts.jsonl"))?;
    let last = lines.lines().last().ok_or("no receipt")?;
    let lines = fs::read(second.join("receipts.jsonl"))?;
    let receipts = after.verify(&lines)?;
    assert_eq!(receipts[0].prev, Some(Digest::of(last)));
    // The chain does not hold without the session before it.
    let mut alone = after.clone();
    alone.resumed = None;
    assert!(alone.verify(&lines).is_err());
    Ok(())
}
