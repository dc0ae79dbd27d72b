//! A session looked at again, in a real terminal.

use std::fs;
use std::process::{Command, Stdio};

use crate::tmux::Tmux;
use crate::world::{Fault, Outcome, PROGRAM, World, until};

/// A session in which the peer objected.
fn recorded() -> Result<World, Fault> {
    let world = World::new()?;
    let settings = world.script(
        &["REVIEW: ({tag}) The lock is held across the call.\n\nVERDICT: OBJECT"],
        1,
    )?;
    let ended = Command::new(PROGRAM)
        .args(["--headless", "--peer", "demo", "--config", &settings])
        .args(["--size", "90x30", "discuss", "Well?"])
        .env_clear()
        .envs(world.environment())
        .current_dir(world.path("repo"))
        .stdin(Stdio::null())
        .output()?;
    assert_eq!(ended.status.code(), Some(11), "{ended:?}");
    Ok(world)
}

#[test]
fn a_session_is_played_searched_and_stepped_through() -> Outcome {
    let Some(tmux) = Tmux::start(recorded()?, (120, 40), &["replay", "last"])? else {
        return Ok(());
    };
    // It plays to its end by itself, faster.
    tmux.press(&["+", "+", "+", "+", "+"])?;
    tmux.see("paused")?;
    tmux.see("✖ OBJECT")?;
    tmux.see("The lock is held across the call.")?;
    // To the start, where nothing was said yet.
    tmux.press(&["Home"])?;
    tmux.see("00:00 / ")?;
    until("an empty ledger", || {
        Ok((!tmux.screen()?.contains("✖ OBJECT")).then_some(()))
    })?;
    // A word is found at the moment at which it comes.
    tmux.press(&["/"])?;
    tmux.see("search all moments")?;
    tmux.type_in("held across")?;
    tmux.press(&["Enter"])?;
    tmux.see("The lock is held across")?;
    tmux.press(&["/"])?;
    tmux.type_in("nobody said this")?;
    tmux.press(&["Enter"])?;
    tmux.see("`nobody said this` does not come")?;
    // By rounds, by events and by percentage.
    tmux.press(&["Home"])?;
    tmux.press(&["]"])?;
    tmux.see("✖ OBJECT")?;
    tmux.press(&["]"])?;
    tmux.see("no later round")?;
    tmux.press(&["g"])?;
    tmux.type_in("0%")?;
    tmux.press(&["Enter"])?;
    tmux.see("00:00 / ")?;
    tmux.press(&[".", ".", ".", ","])?;
    // The review is read, and nobody can be asked.
    tmux.press(&["End"])?;
    tmux.see("✖ OBJECT")?;
    tmux.press(&["t"])?;
    tmux.see("Esc close")?;
    tmux.press(&["Escape"])?;
    tmux.see_no_more("Esc close")?;
    tmux.act("d")?;
    tmux.see("this is a replay")?;
    tmux.press(&["q"])?;
    tmux.is_left(0)
}

#[test]
fn without_a_name_a_session_is_chosen() -> Outcome {
    let Some(tmux) = Tmux::start(recorded()?, (100, 30), &["replay"])? else {
        return Ok(());
    };
    tmux.see("1: 1 OBJECT")?;
    tmux.press(&["Enter"])?;
    tmux.see("replay")?;
    tmux.press(&["End"])?;
    tmux.see("1 round on this topic")?;
    tmux.see("VERDICT: OBJECT")?;
    tmux.press(&["q"])?;
    tmux.is_left(0)
}

#[test]
fn a_foreign_recording_is_one_pane() -> Outcome {
    let world = World::new()?;
    let cast = "{\"version\":1,\"width\":40,\"height\":9,\"duration\":1,\"stdout\":[[0.1,\"from \"],[0.2,\"elsewhere\\r\\n\"]]}";
    let file = world.path("repo/a.cast");
    fs::write(&file, zstd::encode_all(cast.as_bytes(), 3)?)?;
    let Some(tmux) = Tmux::start(world, (100, 30), &["replay", "a.cast"])? else {
        return Ok(());
    };
    tmux.see("recording  terminal")?;
    tmux.see("from elsewhere")?;
    tmux.press(&["q"])?;
    tmux.is_left(0)
}
