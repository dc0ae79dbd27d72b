//! Frames of the console, at the sizes people have: reviewed like code.

use std::sync::Arc;

use codriver::app::event::Branch;
use codriver::app::{Effect, Ended, Event, Opening, Role, Terminal};
use codriver::config::bundled_profile;
use codriver::recording::word::Verdict;
use serde_json::json;

use crate::parts::{ADJUST, every_verdict, fell_back, receipted};
use crate::stage::{Stage, opening};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

/// Compares what a terminal of each size shows.
fn at_each_size(
    name: &str,
    prepare: impl Fn(Opening) -> Result<Stage, Box<dyn std::error::Error>>,
) -> Outcome {
    for (cols, rows) in SIZES {
        let mut stage = prepare(opening((cols, rows)))?;
        insta::assert_snapshot!(format!("{name}_{cols}x{rows}"), stage.shown());
    }
    Ok(())
}

/// A console whose agents run, in a repository with changes.
fn running(opening: Opening) -> Stage {
    let mut stage = Stage::running(opening);
    stage.event(Event::Branch(Some(Branch {
        name: "retry-loop".to_owned(),
        is_changed: true,
    })));
    stage
}

/// A console behind a round of each verdict; all but the last two were looked at.
fn with_rounds(opening: Opening) -> Result<Stage, Box<dyn std::error::Error>> {
    let mut stage = running(opening);
    for answer in every_verdict() {
        stage.answer(&answer)?;
        if matches!(answer.verdict, Verdict::Unparsed | Verdict::Escalate) {
            let last = stage.app.ledger.entries.last_mut();
            last.ok_or("an answer is an entry")?.is_seen = false;
        }
        stage.close();
    }
    Ok(stage)
}

#[test]
fn the_first_start_shows_what_to_do() -> Outcome {
    at_each_size("fresh", |opening| {
        Ok(Stage::open(Opening {
            hint: true,
            ..opening
        }))
    })
}

#[test]
fn both_agents_run() -> Outcome {
    at_each_size("running", |opening| Ok(running(opening)))
}

#[test]
fn a_round_is_waited_for() -> Outcome {
    at_each_size("waiting", |opening| {
        let mut stage = running(opening);
        stage.ask("Plan for retrying failed payments.");
        stage.pass(700);
        Ok(stage)
    })
}

#[test]
fn the_strip_tells_every_verdict_and_what_is_new() -> Outcome {
    at_each_size("rounds", |opening| {
        let mut stage = with_rounds(opening)?;
        // What it had to say is over.
        stage.type_in(b"\x1dz\x1dz");
        Ok(stage)
    })
}

#[test]
fn a_message_is_written() -> Outcome {
    at_each_size("composer", |opening| {
        let mut stage = running(opening);
        stage.command("d");
        stage.type_in("Is 支払い right?\x1b\rA second line that goes on for so long that it has to be wrapped in a window of a hundred and twenty columns.\t\x14".as_bytes());
        Ok(stage)
    })
}

#[test]
fn a_review_is_read() -> Outcome {
    at_each_size("reader", |opening| {
        let mut stage = running(opening);
        stage.answer(&ADJUST)?;
        Ok(stage)
    })
}

#[test]
fn a_question_is_answered() -> Outcome {
    at_each_size("question", |opening| {
        let mut stage = running(opening);
        let [.., question] = every_verdict();
        stage.answer(&question)?;
        stage.type_in(b"An hour, and tell them.");
        Ok(stage)
    })
}

#[test]
fn every_key_is_listed() -> Outcome {
    at_each_size("help", |opening| {
        let mut stage = running(opening);
        stage.command("?");
        Ok(stage)
    })
}

#[test]
fn keys_are_searched_for() -> Outcome {
    let mut stage = running(opening((80, 24)));
    stage.command("?");
    stage.type_in(b"copy");
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn the_receipts_have_the_keys() -> Outcome {
    at_each_size("receipts", |opening| {
        let mut stage = with_rounds(opening)?;
        let more = json!({
            "route": {"asked": "codex", "ran": "host"},
            "fallback": {"reason": "timeout", "detail": "it did not end within 60 s"},
            "tree": {"before": "sha256:a", "after": "sha256:b", "moved": true},
        });
        for (asked, role) in [
            ("codex", "peer"),
            ("rp", "ruthless-reviewer"),
            ("rp", "peer"),
        ] {
            stage.event(Event::Fallback(Box::new(fell_back(asked, role)?)));
        }
        let fallback = receipted(&ADJUST, more)?;
        stage.event(Event::Receipt(Box::new(fallback)));
        let stopped = receipted(&ADJUST, json!({"outcome": "interrupted", "verdict": null}))?;
        stage.command("r");
        stage.event(Event::Receipt(Box::new(stopped)));
        stage.type_in(b"j");
        Ok(stage)
    })
}

#[test]
fn a_receipt_is_shown_whole() -> Outcome {
    let mut stage = with_rounds(opening((120, 40)))?;
    stage.command("r");
    stage.type_in(b"j\r");
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_fallback_is_said_at_once_and_shown_whole() -> Outcome {
    let mut stage = with_rounds(opening((120, 40)))?;
    stage.event(Event::Fallback(Box::new(fell_back("codex", "peer")?)));
    insta::assert_snapshot!("a_fallback_is_said_at_once", stage.shown());
    stage.command("f");
    stage.type_in(b"\r");
    insta::assert_snapshot!("a_fallback_is_shown_whole", stage.shown());
    Ok(())
}

#[test]
fn the_rule_that_holds_a_round_is_explained() -> Outcome {
    let mut stage = running(opening((120, 40)));
    stage.ask("Plan for retrying failed payments.");
    stage.pass(350);
    stage.command("e");
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_pane_is_scrolled_searched_and_selected() -> Outcome {
    at_each_size("scrolled", |opening| {
        let mut stage = running(opening);
        for number in 1..=120 {
            let line = format!("\r\nline {number:>3}: 支払い \x1b[31mred\x1b[0m");
            stage.output(Role::Driver, &line);
        }
        stage.command("[");
        stage.type_in(b"/e *1*2:\rnn");
        stage.type_in(b"vjlll");
        stage.output(Role::Driver, "\r\nwhat arrives meanwhile moves nothing");
        Ok(stage)
    })
}

#[test]
fn the_menu_tells_what_cannot_be_done() -> Outcome {
    at_each_size("menu", |opening| {
        let mut stage = running(opening);
        stage.type_in(b"\x1d");
        Ok(stage)
    })
}

#[test]
fn one_pane_has_it_all() -> Outcome {
    let mut stage = running(opening((120, 40)));
    stage.command("o");
    stage.command("z");
    stage.pass(200);
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_person_drives_by_hand() -> Outcome {
    let mut stage = Stage::open(Opening {
        driver: None,
        ..opening((120, 40))
    });
    stage.start_peer();
    stage.pass(1000);
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_terminal_too_small_says_so_and_recovers() -> Outcome {
    let mut shown = String::new();
    let mut stage = running(opening((80, 24)));
    let before = stage.shown();
    for (cols, rows) in [(1, 1), (2, 1), (29, 9), (29, 24), (80, 9)] {
        stage.resize(cols, rows);
        shown.push_str(&format!("═ {cols}x{rows}\n{}", stage.shown()));
    }
    insta::assert_snapshot!(shown);
    stage.resize(80, 24);
    stage.pass(500);
    assert_eq!(stage.shown(), before);
    Ok(())
}

#[test]
fn a_huge_terminal_is_filled_to_its_edges() -> Outcome {
    let mut stage = with_rounds(opening((500, 200)))?;
    let shown = stage.shown();
    let rows: Vec<&str> = shown.lines().collect();
    assert!(
        rows[0].starts_with(" payments ⎇ retry-loop*"),
        "{}",
        rows[0]
    );
    assert_eq!(rows[100].find('│'), Some(249));
    assert!(rows[199].starts_with(" ^] menu") || rows[199].starts_with(" 3 rounds"));
    let peer = stage.app.peer.screen.size();
    assert_eq!((peer.cols, peer.rows), (250, 189));
    assert_eq!(shown, stage.shown_anew());
    Ok(())
}

#[test]
fn ascii_is_enough() -> Outcome {
    let mut stage = with_rounds(Opening {
        terminal: Terminal::of("xterm-256color", "", false, false),
        ..opening((120, 40))
    })?;
    // The frame alone: what an agent draws is the agent's.
    stage.command("t");
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn one_who_hears_the_screen_gets_words_row_by_row() -> Outcome {
    let mut opening = opening((100, 36));
    opening.reader = true;
    opening.terminal.reader = true;
    let mut stage = with_rounds(opening)?;
    stage.command("r");
    let shown = stage.shown();
    assert!(!shown.contains(['│', '✔', '✎', '◐', '⛨']), "{shown}");
    insta::assert_snapshot!(shown);
    Ok(())
}

#[test]
fn without_colours_words_and_signs_tell_all() -> Outcome {
    let mut stage = with_rounds(Opening {
        terminal: Terminal::of("xterm-256color", "truecolor", true, true),
        ..opening((120, 40))
    })?;
    let shown = stage.shown();
    insta::assert_snapshot!(shown);
    Ok(())
}

#[test]
fn sixteen_colours_are_the_terminals_own() -> Outcome {
    let mut stage = with_rounds(Opening {
        terminal: Terminal::of("linux", "", false, true),
        ..opening((80, 24))
    })?;
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_light_terminal_is_told_by_its_background() -> Outcome {
    let mut stage = with_rounds(opening((120, 40)))?;
    stage.draw();
    stage.type_in(b"\x1b]10;rgb:1010/1010/1010\x1b\\\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\");
    stage.command("t");
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_driver_that_wants_to_know_is_told_when_the_colours_have_changed() {
    let mut stage = running(opening((120, 40)));
    let told = |stage: &Stage| -> Vec<u8> {
        let effects = stage.effects.iter();
        let written = effects.filter_map(|effect| match effect {
            Effect::Write(Role::Driver, bytes) => Some(bytes.clone()),
            _ => None,
        });
        written.flatten().collect()
    };
    let light = b"\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\";
    stage.effects.clear();
    stage.type_in(b"\x1b[?997;2n");
    stage.type_in(light);
    assert!(stage.effects.contains(&Effect::AskColors));
    assert_eq!(told(&stage), b"");
    stage.output(Role::Driver, "\x1b[?2031h");
    stage.effects.clear();
    stage.type_in(b"\x1b[?997;2n");
    assert_eq!(told(&stage), b"", "before its colours are known");
    stage.type_in(light);
    assert_eq!(told(&stage), b"\x1b[?997;2n");
}

#[test]
fn a_peer_that_ended_keeps_its_screen() -> Outcome {
    let mut stage = running(opening((120, 40)));
    stage.event(Event::Exited(Role::Peer, Ended::Status(1)));
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn an_agent_that_cannot_be_started_says_why() -> Outcome {
    let mut stage = Stage::open(opening((80, 24)));
    stage.start_driver();
    let why = "the peer `codex` is not installed: no `codex` in PATH".to_owned();
    stage.event(Event::NotStarted(Role::Peer, why));
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn quitting_asks_while_a_round_runs() -> Outcome {
    let mut stage = running(opening((120, 40)));
    stage.ask("Plan for retrying failed payments.");
    stage.pass(350);
    stage.command("q");
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn three_rounds_without_agreement_are_worth_a_warning() -> Outcome {
    let mut stage = running(opening((120, 40)));
    for _ in 0..3 {
        stage.answer(&ADJUST)?;
        stage.close();
    }
    let shown = stage.shown();
    let top = shown.lines().next().unwrap_or_default();
    assert!(
        top.ends_with("3 rounds on this topic without AGREE"),
        "{top}"
    );
    Ok(())
}

#[test]
fn a_harness_whose_rules_need_rows_shows_the_end_of_them() -> Outcome {
    let mut stage = Stage::open(Opening {
        peer: Arc::new(bundled_profile("opencode")),
        ..opening((80, 24))
    });
    stage.start_driver();
    stage.event(Event::Started(Role::Peer));
    let rows = stage.app.peer.screen.size().rows;
    for row in 1..=rows {
        stage.output(Role::Peer, &format!("\x1b[{row};1Hrow {row}"));
    }
    insta::assert_snapshot!(stage.shown());
    Ok(())
}

#[test]
fn a_frame_counts_columns_as_the_panes_do() {
    let mut stage = running(Opening {
        repository: "👩\u{200d}💻❤\u{fe0f}x".to_owned(),
        ..opening((120, 40))
    });
    let text = "\r\n👩\u{200d}💻❤\u{fe0f}x end";
    stage.output(Role::Driver, text);
    let shown = stage.shown();
    assert!(shown.contains("👩\u{200d}💻❤\u{fe0f}x end"), "{shown}");
    // The name, drawn over what was there, leaves nothing of it.
    assert!(
        shown.starts_with(" 👩\u{200d}💻❤\u{fe0f}x ⎇ retry-loop*\n"),
        "{shown}"
    );
    stage.output(Role::Driver, "\r\x1b[K");
    assert_eq!(stage.shown(), stage.shown_anew());
    stage.output(Role::Driver, &format!("{text}{}", "\r\n".repeat(60)));
    stage.command("[");
    stage.type_in(b"/end\r");
    // Scrolled up, found and marked where it stands.
    let shown = stage.shown();
    let hit = shown.split("── styles").nth(1).unwrap_or_default();
    assert!(hit.contains(" 8-10 inverse"), "{shown}");
}

#[test]
fn a_press_alone_changes_nothing_and_a_drag_selects_what_was_pressed_on() {
    let mut stage = running(opening((120, 40)));
    let before = stage.shown();
    stage.type_in(b"\x1b[<0;1;4M");
    assert_eq!(stage.shown_anew(), before);
    // Meanwhile the row moves up by one.
    let rows = usize::from(stage.app.window(Role::Driver).0);
    stage.output(Role::Driver, &"\r\n".repeat(rows - 2));
    stage.type_in(b"\x1b[<32;3;3M\x1b[<0;3;3m");
    let copied: Vec<_> = stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Copy(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(copied, ["src"]);
}

#[test]
fn rows_that_arrive_below_a_scrolled_pane_are_counted() {
    let mut stage = running(opening((120, 40)));
    stage.output(Role::Driver, &"\r\n".repeat(40));
    stage.type_in(b"\x1b[<64;2;3M");
    let title = |stage: &mut Stage| stage.shown().lines().nth(1).unwrap_or_default().to_owned();
    assert!(
        title(&mut stage).contains("scrolled 3 │"),
        "{}",
        title(&mut stage)
    );
    stage.output(Role::Driver, "\r\n\r\n");
    assert!(
        title(&mut stage).contains("scrolled 5 │"),
        "{}",
        title(&mut stage)
    );
    // A frame that is never ended comes by the time.
    stage.output(Role::Driver, "\x1b[?2026h\r\n");
    stage.pass(5000);
    assert!(
        title(&mut stage).contains("scrolled 6 │"),
        "{}",
        title(&mut stage)
    );
}

#[test]
fn an_explanation_follows_what_it_explains() {
    let mut stage = running(opening((120, 40)));
    stage.command("e");
    let before = stage.shown();
    stage.output(Role::Driver, " --quiet");
    stage.pass(500);
    assert!(before.contains("its line: payments$ cargo test"));
    let shown = stage.shown();
    assert!(
        shown.contains("its line: payments$ cargo test --quiet"),
        "{shown}"
    );
}

#[test]
fn a_pane_that_is_scrolled_up_shows_its_rows_and_no_hint() {
    let mut stage = Stage::open(Opening {
        hint: true,
        ..opening((120, 40))
    });
    assert!(stage.shown().contains("reads along and reviews"));
    stage.type_in(b"\x1b[<64;80;3M");
    assert!(!stage.shown().contains("reads along and reviews"));
    stage.type_in(b"q");
    assert!(stage.shown().contains("reads along and reviews"));
}
