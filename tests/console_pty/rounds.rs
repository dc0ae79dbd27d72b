//! Rounds asked for by hand in a real tmux, and what disturbs them.

use std::fs;

use rustix::process::{Signal, kill_process};

use crate::tmux::Tmux;
use crate::world::{Fault, Outcome, World};

const ADJUST: &str = "REVIEW: ({tag}) two findings.\n\n1. The lock is held.\n2. A budget of zero.\n\nVERDICT: ADJUST";
const AGREE: &str = "REVIEW: ({tag}) both are fixed.\n\nVERDICT: AGREE";

/// A console whose peer answers with these texts.
fn start(texts: &[&str], delay_ms: u32) -> Result<Option<Tmux>, Fault> {
    let world = World::new()?;
    let settings = world.script(texts, delay_ms)?;
    let args = ["--driver", "sh", "--peer", "demo", "--config", &settings];
    let Some(tmux) = Tmux::start(world, (120, 40), &args)? else {
        return Ok(None);
    };
    tmux.see("● demo · fixed rules")?;
    Ok(Some(tmux))
}

/// Writes a message and sends it.
fn ask(tmux: &Tmux, words: &str) -> Outcome {
    tmux.act("d")?;
    tmux.see("to the peer")?;
    tmux.type_in(words)?;
    tmux.see(words)?;
    tmux.press(&["Enter"])
}

/// Closes the reader.
fn close(tmux: &Tmux) -> Outcome {
    tmux.see("Esc close")?;
    tmux.press(&["Escape"])?;
    tmux.see_no_more("Esc close")
}

#[test]
fn a_person_discusses_by_hand() -> Outcome {
    let Some(tmux) = start(&[ADJUST, AGREE], 1)? else {
        return Ok(());
    };
    ask(&tmux, "is this right?")?;
    tmux.see("1 impl ✎ ADJUST")?;
    // The reader shows the review and what was asked.
    let shown = tmux.see("2. A budget of zero.")?;
    assert!(
        shown.contains("VERDICT: ADJUST") && shown.contains("is this right?"),
        "{shown}"
    );
    close(&tmux)?;
    ask(&tmux, "and now?")?;
    let shown = tmux.see("2 impl ✔ AGREE")?;
    assert!(shown.contains("1 impl ✎ ADJUST"), "{shown}");
    tmux.see("both are fixed.")?;
    tmux.press(&["y"])?;
    tmux.see("lines copied")?;
    assert_eq!(
        tmux.tell(&["show-buffer"])?,
        "both are fixed.\n\nVERDICT: AGREE"
    );
    close(&tmux)?;
    tmux.act("q")?;
    tmux.is_left(0)?;
    assert_eq!(
        tmux.world.outcomes()?,
        [
            "brief answered",
            "implementation answered",
            "implementation answered"
        ]
    );
    Ok(())
}

#[test]
fn twenty_sizes_during_a_reply_change_nothing_of_it() -> Outcome {
    let mut text = String::from("REVIEW: ({tag}) many findings.\n\n");
    for number in 1..=30 {
        text.push_str(&format!("{number}. finding{number}x goes on for so long that it is wrapped in most of the windows there are.\n"));
    }
    text.push_str("\nVERDICT: OBJECT");
    let Some(tmux) = start(&[&text], 25)? else {
        return Ok(());
    };
    ask(&tmux, "is this right?")?;
    tmux.see("finding1x")?;
    for at in 0..20 {
        let (cols, rows) = (70 + at * 37 % 90, 22 + at * 13 % 28);
        tmux.tell(&[
            "resize-window",
            "-x",
            &cols.to_string(),
            "-y",
            &rows.to_string(),
        ])?;
        // Each is drawn before the next one comes.
        tmux.see("menu")?;
    }
    tmux.tell(&["resize-window", "-x", "120", "-y", "40"])?;
    tmux.see("1 impl ✖ OBJECT")?;
    tmux.see("Esc close")?;
    tmux.press(&["y"])?;
    tmux.see("lines copied")?;
    let copied = tmux.tell(&["show-buffer"])?;
    for number in 1..=30 {
        let wanted = format!(
            "{number}. finding{number}x goes on for so long that it is wrapped in most of the windows there are."
        );
        assert!(copied.contains(&wanted), "{wanted}\n{copied}");
    }
    Ok(())
}

#[test]
fn a_peer_that_dies_in_a_reply_is_told_and_started_anew() -> Outcome {
    let Some(tmux) = start(&[ADJUST, AGREE], 400)? else {
        return Ok(());
    };
    ask(&tmux, "is this right?")?;
    tmux.see("esc to interrupt")?;
    tmux.see("waiting 00:0")?;
    kill_process(tmux.world.process("demo-agent")?, Signal::KILL)?;
    tmux.see("no answer")?;
    tmux.see("ended (signal 9)")?;
    // A new one answers at once.
    let settings = tmux.world.script(&[AGREE], 1)?;
    assert!(fs::exists(settings)?);
    tmux.act("o")?;
    tmux.press(&["R"])?;
    tmux.see(" · idle")?;
    ask(&tmux, "and now?")?;
    tmux.see("✔ AGREE")?;
    close(&tmux)?;
    tmux.act("q")?;
    tmux.is_left(0)?;
    tmux.world.is_left_alone()?;
    let outcomes = tmux.world.outcomes()?;
    assert_eq!(
        outcomes,
        [
            "brief answered",
            "implementation ended",
            "brief answered",
            "implementation answered"
        ]
    );
    Ok(())
}

#[test]
fn quitting_asks_while_a_round_runs() -> Outcome {
    let Some(tmux) = start(&[ADJUST], 400)? else {
        return Ok(());
    };
    tmux.act("d")?;
    tmux.see("to the peer")?;
    tmux.type_in("is this right?")?;
    tmux.press(&["Enter"])?;
    tmux.see("waiting 00:0")?;
    tmux.act("q")?;
    tmux.see("a round is going on")?;
    tmux.press(&["n"])?;
    tmux.see_no_more("a round is going on")?;
    tmux.see("waiting 00:0")?;
    tmux.act("q")?;
    tmux.see("a round is going on")?;
    tmux.press(&["y"])?;
    tmux.is_left(0)?;
    tmux.world.is_left_alone()?;
    assert_eq!(tmux.world.state()?, "interrupted");
    assert_eq!(
        tmux.world.outcomes()?,
        ["brief answered", "implementation interrupted"]
    );
    Ok(())
}
