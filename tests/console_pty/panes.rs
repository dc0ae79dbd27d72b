//! The panes in a real tmux: typing, menus, layout, scrollback, pastes, and children that misbehave.

use std::fs;

use crate::tmux::Tmux;
use crate::world::{Outcome, World, until};

const PAIR: [&str; 4] = ["--driver", "sh", "--peer", "demo"];

#[test]
fn what_is_typed_reaches_the_driver_and_its_echo_is_seen() -> Outcome {
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &PAIR)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    tmux.see("peer  demo")?;
    // What is typed before the shell is ready is echoed by its terminal, in front of the prompt.
    tmux.see("\n$")?;
    tmux.type_in("echo mark$((40+2))")?;
    tmux.see("$ echo mark$((40+2))")?;
    tmux.press(&["Enter"])?;
    tmux.see("mark42")?;
    // The peer only reads, and says so.
    tmux.act("o")?;
    tmux.type_in("x")?;
    tmux.see("the peer only reads")?;
    tmux.act("q")?;
    tmux.is_left(0)?;
    tmux.world.is_left_alone()?;
    assert_eq!(tmux.world.state()?, "closed");
    Ok(())
}

#[test]
fn the_keys_behind_the_prefix_answer() -> Outcome {
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &PAIR)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    tmux.press(&["C-]"])?;
    tmux.see("d discuss o other z zoom")?;
    tmux.press(&["Escape"])?;
    tmux.see("^] menu")?;
    for (key, shown) in [
        ("?", "discuss: write a message"),
        ("e", "driver (sh)"),
        ("d", "to the peer"),
    ] {
        tmux.act(key)?;
        tmux.see(shown)?;
        tmux.press(&["Escape"])?;
        tmux.see_no_more(shown)?;
    }
    for (key, told) in [
        ("x", "^] x does nothing"),
        ("t", "no round yet"),
        ("a", "nothing was asked of you"),
        ("s", "nothing is waited for"),
        ("i", "you type into the peer now"),
        ("i", "the peer only reads again"),
    ] {
        tmux.act(key)?;
        tmux.see(told)?;
    }
    // Twice it is the child's: the shell's terminal echoes it.
    tmux.act("o")?;
    tmux.type_in("cat")?;
    tmux.press(&["Enter", "C-]", "C-]"])?;
    tmux.see("^]\n").or_else(|_| tmux.see("^]  "))?;
    Ok(())
}

#[test]
fn a_child_hears_of_its_size_once_the_layout_stands() -> Outcome {
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &PAIR)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    let size = |wanted: &str| -> Outcome {
        tmux.type_in("clear")?;
        tmux.press(&["Enter"])?;
        // The shell may be asked before it has heard of it.
        until(wanted, || {
            tmux.type_in("stty size")?;
            tmux.press(&["Enter"])?;
            Ok(tmux.screen()?.contains(wanted).then_some(()))
        })
        .map_err(|error| format!("{error}\n{}", tmux.screen().unwrap_or_default()).into())
    };
    size("29 59")?;
    tmux.act("z")?;
    size("29 120")?;
    tmux.act("z")?;
    tmux.act("-")?;
    size("14 120")?;
    tmux.tell(&["resize-window", "-x", "80", "-y", "24"])?;
    size("10 80")?;
    Ok(())
}

#[test]
fn a_pane_is_scrolled_searched_and_copied_from() -> Outcome {
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &PAIR)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    tmux.type_in("seq -f 'line %g of it' 300")?;
    tmux.press(&["Enter"])?;
    tmux.see("line 300 of it")?;
    tmux.act("[")?;
    tmux.see("scrolled 0")?;
    tmux.type_in("/line 4[2]")?;
    tmux.see("/line 4[2]")?;
    tmux.press(&["Enter"])?;
    let shown = tmux.see("line 42 of it")?;
    assert!(!shown.contains("line 300 of it"));
    tmux.type_in("vllllll")?;
    tmux.press(&["Enter"])?;
    tmux.see("7 characters copied")?;
    until("the text in tmux's buffer", || {
        Ok(tmux
            .tell(&["show-buffer"])
            .ok()
            .filter(|text| text == "line 42"))
    })?;
    tmux.see("line 300 of it")?;
    Ok(())
}

#[test]
fn a_large_paste_arrives_whole() -> Outcome {
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &PAIR)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    let text: String = (0..5000)
        .map(|at| format!("{at:>5} pasted, not typed: ünïcödé 世界 …\n"))
        .collect();
    assert!(text.len() > 200_000);
    let source = tmux.world.path("source");
    fs::write(&source, &text)?;
    tmux.type_in("stty -echo; cat > pasted; stty echo; echo all$((0+0))there")?;
    tmux.press(&["Enter"])?;
    tmux.world.process("cat ")?;
    tmux.tell(&["load-buffer", &source.display().to_string()])?;
    tmux.tell(&["paste-buffer", "-p"])?;
    tmux.press(&["C-d"])?;
    tmux.see("all0there")?;
    let arrived = fs::read_to_string(tmux.world.path("repo/pasted"))?;
    assert_eq!(arrived.len(), text.len());
    assert!(arrived == text);
    Ok(())
}

#[test]
fn a_child_that_never_reads_is_told_of_and_holds_nothing_up() -> Outcome {
    let args = ["--driver", "sleep 600", "--peer", "demo"];
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &args)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    let source = tmux.world.path("source");
    fs::write(&source, "nobody reads this line\n".repeat(40_000))?;
    tmux.tell(&["load-buffer", &source.display().to_string()])?;
    for _ in 0..4 {
        tmux.tell(&["paste-buffer", "-p"])?;
    }
    tmux.see("the driver does not read what is typed")?;
    tmux.act("?")?;
    tmux.see("discuss: write a message")?;
    tmux.press(&["Escape"])?;
    tmux.see_no_more("discuss: write a message")?;
    tmux.act("q")?;
    tmux.is_left(0)?;
    tmux.world.is_left_alone()
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such_and_do_no_harm() -> Outcome {
    let Some(tmux) = Tmux::start(World::new()?, (120, 40), &PAIR)? else {
        return Ok(());
    };
    tmux.see("no round yet")?;
    tmux.type_in(r"printf 'a\377\376b\300\200c\355\240\200d \033]2;x\233y\033\\ end\n'")?;
    tmux.press(&["Enter"])?;
    tmux.see(" end\n").or_else(|_| tmux.see(" end "))?;
    tmux.type_in("head -c 200000 /dev/urandom; clear; echo still$((1+1))here")?;
    tmux.press(&["Enter"])?;
    tmux.see("still2here")?;
    Ok(())
}
