//! An agent that misbehaves: each fault has its ending, and none of them ever makes an agreement.

use codriver::recording::receipt::Outcome as Ended;
use codriver::recording::word::{Agreement, Kind, Reason, Source, Verdict};
use serde_json::json;

use crate::world::{Outcome, Peer, World, each};

tests! {
    a_missing_verdict_is_none_whatever_stood_there_before,
    without_its_tag_a_reply_does_not_agree,
    an_agent_that_dies_in_a_reply_gives_no_verdict,
    an_agent_that_ends_at_once_is_shown_with_its_last_screen,
    an_agent_that_hangs_is_given_up_at_the_timeout,
    an_agent_that_never_rests_is_not_typed_at,
    at_a_dialog_nothing_is_typed,
    a_dialog_no_rule_knows_is_not_typed_at_either,
    a_slow_agent_is_waited_for,
    quoted_verdicts_never_make_an_agreement,
    the_whole_answer_counts_and_not_the_stump_above_it,
    what_is_drawn_after_the_footer_is_waited_for,
    a_turn_that_failed_gives_no_verdict,
    a_text_that_never_shows_is_unsent,
    a_swallowed_submit_key_is_pressed_once_more,
    what_an_agent_starts_ends_with_it,
    an_agent_that_left_a_talker_behind_has_ended_all_the_same,
    a_channel_confirms_what_the_screen_cannot_and_vetoes_a_failed_turn,
}

const AGREE: &str = "REVIEW: ({tag}) I find nothing.\n\nVERDICT: AGREE";
const OBJECT: &str = "REVIEW: ({tag}) The lock is never released,\nand the second writer waits for ever.\n\nVERDICT: OBJECT";

/// Agrees to the brief, and answers the message with a fault.
fn failing(harness: &'static str, fault: &str, text: &str) -> Peer {
    Peer::new(harness).script(&json!([
        { "match": "driver's message:", "text": text, "think_ms": 50, "delay_ms": 5, "fault": fault }
    ]))
}

fn a_missing_verdict_is_none_whatever_stood_there_before() -> Outcome {
    // `stale` leaves the brief's agreement on the screen above it.
    let cases: Vec<_> = ["demo", "codex", "opencode", "scribe"]
        .into_iter()
        .flat_map(|harness| [(harness, "no-verdict"), (harness, "stale")])
        .collect();
    each(&cases, |(harness, fault)| {
        let world = World::new()?;
        let peer = failing(harness, fault, AGREE);
        let round = world
            .headless(&peer, &["--json", "discuss", "Well?"])?
            .run()?
            .round(13)?;
        assert_eq!(round.reading.reason(), Some(Reason::NoVerdict));
        let said = round.reading.rationale();
        assert!(said.contains("I have not decided yet"), "{said}");
        Ok(())
    })
}

fn without_its_tag_a_reply_does_not_agree() -> Outcome {
    let cases = [
        ("demo", AGREE, 13),
        ("scribe", AGREE, 13),
        ("demo", OBJECT, 11),
        ("codex", OBJECT, 11),
    ];
    each(&cases, |(harness, text, status)| {
        let world = World::new()?;
        let round = world
            .headless(
                &failing(harness, "forget-tag", text),
                &["--json", "discuss", "Well?"],
            )?
            .run()?
            .round(*status)?;
        assert!(!round.tagged);
        if *status == 13 {
            assert_eq!(round.reading.reason(), Some(Reason::Untagged));
        }
        Ok(())
    })
}

fn an_agent_that_dies_in_a_reply_gives_no_verdict() -> Outcome {
    each(&["demo", "codex", "opencode", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(&failing(harness, "die", AGREE), &["discuss", "Well?"])?
            .run()?;
        ended.failed(16, &["the peer", "ended with status 3", "its last lines:"])?;
        let record = world.record()?;
        let last = record.rounds().pop().ok_or("no receipt")?;
        assert_eq!((last.outcome, last.verdict), (Ended::Ended, None));
        Ok(())
    })
}

fn an_agent_that_ends_at_once_is_shown_with_its_last_screen() -> Outcome {
    each(&["demo", "codex", "opencode", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(
                &Peer::new(harness).fault("exit-at-once"),
                &["discuss", "Well?"],
            )?
            .run()?;
        ended.failed(16, &["ended with status 1", "error: not logged in"])
    })
}

fn an_agent_that_hangs_is_given_up_at_the_timeout() -> Outcome {
    each(&["demo", "codex", "opencode", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(
                &failing(harness, "hang", AGREE),
                &["--timeout", "3s", "discuss", "Well?"],
            )?
            .run()?;
        ended.failed(
            15,
            &[
                "did not finish within 3 s",
                "pane `peer` is busy by the rule",
                "its last lines:",
            ],
        )?;
        assert!(ended.took.as_secs() < 15, "{:?}", ended.took);
        let record = world.record()?;
        let last = record.rounds().pop().ok_or("no receipt")?;
        assert_eq!(
            (last.outcome, last.verdict, last.round),
            (Ended::Timeout, None, 1)
        );
        assert_eq!(record.happened("timeout"), 1);
        Ok(())
    })
}

fn an_agent_that_never_rests_is_not_typed_at() -> Outcome {
    each(&["demo", "codex", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(
                &Peer::new(harness).fault("not-idle"),
                &["--timeout", "2s", "discuss", "Well?"],
            )?
            .run()?;
        ended.failed(15, &["was not ready for input in time"])?;
        // Its own limit for getting ready is a minute.
        assert!(ended.took.as_secs() < 30, "{:?}", ended.took);
        assert_eq!(world.turns()?.len(), 0);
        assert_eq!(world.record()?.happened("reset"), 0);
        Ok(())
    })
}

fn at_a_dialog_nothing_is_typed() -> Outcome {
    each(&["demo", "claude", "codex"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(&Peer::new(harness).fault("dialog"), &["discuss", "Well?"])?
            .run()?;
        ended.failed(
            17,
            &[
                "waits at a dialog",
                "nothing was typed",
                "trust",
                "No, exit",
                "yourself",
            ],
        )?;
        assert_eq!(world.typed()?, "");
        let record = world.record()?;
        let last = record.rounds().pop().ok_or("no receipt")?;
        assert_eq!(last.outcome, Ended::Blocked);
        assert_eq!(record.happened("blocked"), 1);
        Ok(())
    })
}

fn a_dialog_no_rule_knows_is_not_typed_at_either() -> Outcome {
    each(&["opencode", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(
                &Peer::new(harness).fault("dialog"),
                // Long enough for the dialog to be drawn on a busy machine.
                &["--timeout", "6s", "discuss", "Well?"],
            )?
            .run()?;
        assert!(matches!(ended.code(), Some(15 | 17)), "{ended:#?}");
        assert!(ended.err.contains("trust"), "{ended:#?}");
        assert_eq!(world.typed()?, "");
        Ok(())
    })
}

fn a_slow_agent_is_waited_for() -> Outcome {
    each(&["demo", "codex"], |harness| {
        let world = World::new()?;
        let round = world
            .headless(
                &failing(harness, "slow", OBJECT),
                &["--json", "discuss", "Well?"],
            )?
            .run()?
            .round(11)?;
        assert!(round.reading.rationale().contains("waits for ever."));
        assert!(round.elapsed_ms > 3000);
        Ok(())
    })
}

fn quoted_verdicts_never_make_an_agreement() -> Outcome {
    let cases: Vec<_> = ["demo", "codex", "opencode", "scribe"]
        .into_iter()
        .flat_map(|harness| [(harness, AGREE), (harness, OBJECT)])
        .collect();
    each(&cases, |(harness, text)| {
        let world = World::new()?;
        let ended = world
            .headless(
                &failing(harness, "quote", text),
                &["--json", "discuss", "Well?"],
            )?
            .run()?;
        if *text == OBJECT {
            assert_eq!(ended.round(11)?.reading.verdict(), Verdict::Object);
            return Ok(());
        }
        // Where the screen still tells a quotation from the reply's own words it may agree, as the agent did.
        let status = ended.code().unwrap_or_default();
        let round = ended.round(status)?;
        assert!(
            round.reading.verdict() == Verdict::Agree && !round.ambiguous
                || round.reading.verdict() != Verdict::Agree,
            "{round:#?}"
        );
        Ok(())
    })
}

fn the_whole_answer_counts_and_not_the_stump_above_it() -> Outcome {
    each(&["demo", "codex", "opencode", "scribe"], |harness| {
        let world = World::new()?;
        let round = world
            .headless(
                &failing(harness, "retry-stump", OBJECT),
                &["--json", "discuss", "Well?"],
            )?
            .run()?
            .round(11)?;
        let said = round.reading.rationale();
        assert!(said.contains("waits for ever."), "{said}");
        Ok(())
    })
}

fn what_is_drawn_after_the_footer_is_waited_for() -> Outcome {
    let world = World::new()?;
    let round = world
        .headless(
            &failing("opencode", "late-tail", OBJECT).unhurried(),
            &["--json", "discuss", "Well?"],
        )?
        .run()?
        .round(11)?;
    let said = round.reading.rationale();
    assert!(said.contains("waits for ever."), "{said}");
    Ok(())
}

fn a_turn_that_failed_gives_no_verdict() -> Outcome {
    each(&["demo", "codex", "opencode"], |harness| {
        let world = World::new()?;
        let round = world
            .headless(
                &failing(harness, "fail-turn", AGREE),
                &["--json", "discuss", "Well?"],
            )?
            .run()?
            .round(13)?;
        assert_eq!(round.reading.reason(), Some(Reason::TurnFailed));
        Ok(())
    })
}

fn a_text_that_never_shows_is_unsent() -> Outcome {
    each(&["demo", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(&Peer::new(harness).fault("no-echo"), &["discuss", "Well?"])?
            .run()?;
        ended.failed(1, &["unsent: the text did not show"])?;
        assert_eq!(world.turns()?.len(), 0);
        let record = world.record()?;
        let last = record.rounds().pop().ok_or("no receipt")?;
        assert_eq!((last.outcome, last.kind), (Ended::Unsent, Kind::Brief));
        Ok(())
    })
}

fn a_swallowed_submit_key_is_pressed_once_more() -> Outcome {
    each(&["demo", "codex", "opencode"], |harness| {
        let world = World::new()?;
        let peer = Peer::new(harness).fault("swallow-enter");
        world
            .headless(&peer, &["--json", "discuss", "Well?"])?
            .run()?
            .round(10)?;
        // The brief and the message, each exactly once.
        let turns = world.turns()?;
        assert_eq!(turns.len(), 2, "{turns:#?}");
        let record = world.record()?;
        let submitted = record
            .events
            .iter()
            .filter(|event| event["event"] == "submitted");
        assert_eq!(
            submitted
                .map(|event| event["keys"].as_u64())
                .collect::<Vec<_>>(),
            [Some(2); 2]
        );
        assert!(turns[0].prompt.contains("second reader in a pair"));
        assert!(turns[1].prompt.contains("Well?"));
        Ok(())
    })
}

fn what_an_agent_starts_ends_with_it() -> Outcome {
    each(&["demo", "scribe"], |harness| {
        let world = World::new()?;
        let ended = world
            .headless(&Peer::new(harness).fault("spawn"), &["discuss", "Well?"])?
            .run()?;
        assert_eq!(ended.code(), Some(10));
        Ok(())
    })
}

fn an_agent_that_left_a_talker_behind_has_ended_all_the_same() -> Outcome {
    let world = World::new()?;
    let script = "(while :; do printf x; sleep 0.05; done) &\nprintf 'fatal: no credit\\r\\n'\nsleep 0.3\nexit 4";
    let agent = world.program("agent/agent", script)?;
    let peer = Peer::new("scribe").with(&format!("command = [{:?}]", agent.display().to_string()));
    let ended = world.headless(&peer, &["discuss", "Well?"])?.run()?;
    ended.failed(16, &["ended with status 4", "fatal: no credit"])?;
    assert!(ended.took.as_secs() < 8, "{:?}", ended.took);
    Ok(())
}

fn a_channel_confirms_what_the_screen_cannot_and_vetoes_a_failed_turn() -> Outcome {
    // The demo agent as it is bundled writes its turns down beside the screen.
    let bundled = "channel = 'demo-log'\npeer_env = { CODRIVER_DEMO_CHANNEL = '{private}' }";
    let cases = [
        ("", AGREE, 0, Agreement::Same),
        ("forget-tag", AGREE, 0, Agreement::Same),
        ("quote", AGREE, 0, Agreement::Same),
        ("quote", OBJECT, 11, Agreement::Same),
        ("retry-stump", OBJECT, 11, Agreement::Same),
        ("no-verdict", AGREE, 13, Agreement::Same),
        ("fail-turn", AGREE, 13, Agreement::Differs),
    ];
    each(&cases, |(fault, text, status, agreement)| {
        let world = World::new()?;
        let peer = failing("demo", fault, text).with(bundled);
        let round = world
            .headless(&peer, &["--json", "discuss", "Well?"])?
            .run()?
            .round(*status)?;
        assert_eq!(round.agreement, *agreement, "{round:#?}");
        if *status != 13 {
            assert_eq!((round.source, round.complete), (Source::Channel, true));
            let record = world.record()?;
            let texts = &record.rounds()[1].texts;
            let file = texts.channel.as_ref().and_then(|text| text.file.as_ref());
            let channel = std::fs::read_to_string(record.folder.join(file.ok_or("not kept")?))?;
            assert!(channel.contains(round.reading.rationale()), "{channel}");
        }
        Ok(())
    })
}
