//! However the console ends: nothing is left behind, and the terminal is given back.

use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};

use crate::tmux::Tmux;
use crate::world::{Fault, Outcome, PROGRAM, World, until};

/// A console whose driver has started something of its own.
fn start() -> Result<Option<Tmux>, Fault> {
    let args = ["--driver", "sh", "--peer", "demo"];
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &args)? else {
        return Ok(None);
    };
    tmux.see("● demo · fixed rules")?;
    tmux.type_in("sleep 601 & sleep 602")?;
    tmux.press(&["Enter"])?;
    tmux.world.process("sleep 601")?;
    tmux.world.process("sleep 602")?;
    Ok(Some(tmux))
}

/// Nothing of it is left, and the record is closed.
fn is_over(world: &World) -> Outcome {
    world.is_left_alone()?;
    until("the record's end", || {
        Ok((world.state()? == "closed").then_some(()))
    })
}

#[test]
fn a_signal_ends_it_and_all_it_started() -> Outcome {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let Some(tmux) = start()? else {
            return Ok(());
        };
        let program = tmux.world.process(&format!("{PROGRAM} --driver"))?;
        kill_process(program, signal)?;
        tmux.is_left(0)
            .map_err(|error| format!("{signal:?}: {error}"))?;
        is_over(&tmux.world)?;
    }
    Ok(())
}

#[test]
fn a_terminal_that_goes_away_ends_it_and_all_it_started() -> Outcome {
    let Some(tmux) = start()? else {
        return Ok(());
    };
    tmux.tell(&["kill-server"])?;
    is_over(&tmux.world)
}

#[test]
fn a_suspended_console_gives_the_terminal_to_the_shell_and_takes_it_back() -> Outcome {
    let Some(tmux) = start()? else {
        return Ok(());
    };
    tmux.act("C-z")?;
    let shown = tmux.see("STOPPED")?;
    assert!(!shown.contains("no round yet"), "{shown}");
    tmux.press(&["Enter"])?;
    tmux.see("no round yet")?;
    tmux.act("q")?;
    tmux.is_left(0)?;
    is_over(&tmux.world)
}

#[test]
fn without_a_terminal_it_names_the_way_out() -> Outcome {
    let world = World::new()?;
    for term in ["xterm-256color", "dumb"] {
        let output = Command::new(PROGRAM)
            .args(["--driver", "sh", "--peer", "demo"])
            .env_clear()
            .envs(world.environment())
            .env("TERM", term)
            .current_dir(world.path("repo"))
            .stdin(Stdio::null())
            .output()?;
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr)?;
        assert!(said.contains("--headless"), "{said}");
        assert!(output.stdout.is_empty());
    }
    Ok(())
}
