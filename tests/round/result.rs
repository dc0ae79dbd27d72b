//! Results: text and JSON, in every style, and each verdict with its exit status.

use codriver::recording::result::Tree;
use codriver::recording::word::{Kind, Reason, Verdict};

use crate::world::{Outcome, Peer, World, each};

tests! {
    every_style_is_read_to_the_same_result,
    the_text_is_the_review_and_its_verdict_behind_it,
    each_verdict_has_its_status,
    a_reply_without_a_verdict_is_shown_whole_with_the_reason,
    a_brief_alone_is_answered_with_the_word,
    the_kind_goes_into_the_message_and_the_result,
    a_brief_that_is_not_agreed_ends_it_and_the_message_is_not_sent,
    outside_of_a_repository_it_works_and_says_nothing_of_a_tree,
    a_tree_that_moved_is_told_beside_the_verdict,
}

const STYLES: [&str; 4] = ["demo", "codex", "opencode", "scribe"];

const REVIEW: &str = "REVIEW: ({tag}) Two things before this is ready:\n\n\
    - the error of `load` is dropped, so that a missing file looks like an empty one and nobody is told about it\n\
    - no test covers the empty list\n\n\
    ```\nlet x = load()?;\n```\n\nThe rest reads well.\n\nVERDICT: ADJUST";

/// The text of the review as lines without the marks that a screen does not show.
fn words(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.replace('`', "").trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn review() -> Vec<String> {
    let text = REVIEW.replace("REVIEW: ({tag}) ", "");
    words(text.trim_end_matches("VERDICT: ADJUST"))
}

fn every_style_is_read_to_the_same_result() -> Outcome {
    each(&STYLES, |harness| {
        let world = World::new()?;
        let peer = Peer::new(harness).says(REVIEW);
        let ended = world
            .headless(&peer, &["--json", "discuss", "Is it ready?"])?
            .run()?;
        let round = ended.round(10)?;
        assert_eq!(round.reading.verdict(), Verdict::Adjust);
        assert_eq!(words(round.reading.rationale()), review());
        assert_eq!(
            (round.pane.as_str(), round.round, round.kind),
            ("peer", 1, Kind::Implementation)
        );
        assert_eq!(
            (round.complete, round.ambiguous, round.tagged),
            (true, false, true)
        );
        assert_eq!(round.peer.harness, **harness);
        assert_eq!(
            round.peer.version.as_deref(),
            Some(env!("CARGO_PKG_VERSION"))
        );
        let delivery = round.delivery;
        assert!(delivery.pasted && delivery.submitted && delivery.turn_started);
        assert_eq!(round.tree.moved, Some(false));
        assert!(round.elapsed_ms > 0 && round.elapsed_ms < ended.took.as_millis() as u64);

        // The agent got the brief and the message, each once, and nothing else.
        let turns = world.turns()?;
        assert_eq!(turns.len(), 2, "{turns:#?}");
        assert!(turns[1].prompt.contains("\n\nIs it ready?\n\n"));

        let record = world.record()?;
        let [brief, receipt] = record.rounds()[..] else {
            return Err("not two receipts".into());
        };
        assert_eq!(
            (brief.kind, brief.verdict, brief.round),
            (Kind::Brief, Some(Verdict::Agree), 0)
        );
        assert_eq!(
            (receipt.kind, receipt.verdict, receipt.round),
            (Kind::Implementation, Some(Verdict::Adjust), 1)
        );
        for event in ["pasted", "submitted", "turn-started", "reply", "verdict"] {
            assert_eq!(record.happened(event), 2, "{event}");
        }
        assert!(record.happened("ready") >= 2);
        assert_eq!(round.session, record.session.id);
        assert_eq!(round.receipt.as_ref(), Some(&record.receipts[1].id));
        Ok(())
    })
}

fn the_text_is_the_review_and_its_verdict_behind_it() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("scribe").says(REVIEW);
    let ended = world.headless(&peer, &["discuss", "Is it ready?"])?.run()?;
    let review = REVIEW
        .replace("REVIEW: ({tag}) ", "")
        .replace("\n\nVERDICT: ADJUST", "\n\nVERDICT: ADJUST\n");
    ended.text(10, &review)?;
    let said: Vec<&str> = ended.err.lines().collect();
    assert_eq!(said.first(), Some(&"starting scribe"), "{said:?}");
    for step in ["briefing", "waiting", "waiting busy", "stopping"] {
        assert!(said.contains(&step), "{step}: {said:?}");
    }
    Ok(())
}

fn each_verdict_has_its_status() -> Outcome {
    let cases = [
        ("AGREE", 0),
        ("ADJUST", 10),
        ("OBJECT", 11),
        ("ESCALATE", 12),
    ];
    each(&cases, |(word, status)| {
        let world = World::new()?;
        let peer =
            Peer::new("demo").says(&format!("REVIEW: ({{tag}}) So be it.\n\nVERDICT: {word}"));
        let ended = world
            .headless(&peer, &["ask-review", "Is it ready?"])?
            .run()?;
        ended.text(*status, &format!("So be it.\n\nVERDICT: {word}\n"))
    })
}

fn a_reply_without_a_verdict_is_shown_whole_with_the_reason() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("demo").says("REVIEW: ({tag}) I am still reading.");
    let ended = world
        .headless(&peer, &["--json", "discuss", "Is it ready?"])?
        .run()?;
    let round = ended.round(13)?;
    assert_eq!(round.reading.reason(), Some(Reason::NoVerdict));
    let raw = round.reading.raw().unwrap_or_default();
    assert!(raw.contains("I am still reading."), "{raw:?}");
    let ended = world.headless(&peer, &["discuss", "Is it ready?"])?.run()?;
    assert_eq!(ended.code(), Some(13));
    assert!(
        ended
            .out
            .contains("I am still reading.\n\nVERDICT: UNPARSED (")
    );
    Ok(())
}

fn a_brief_alone_is_answered_with_the_word() -> Outcome {
    each(&STYLES, |harness| {
        let world = World::new()?;
        let ended = world
            .headless(&Peer::new(harness), &["brief", "--json"])?
            .run()?;
        let round = ended.round(0)?;
        assert_eq!(
            (
                round.kind,
                round.round,
                round.reading.rationale().lines().next()
            ),
            (Kind::Brief, 0, Some("understood"))
        );
        assert_eq!(world.turns()?.len(), 1);
        Ok(())
    })
}

fn the_kind_goes_into_the_message_and_the_result() -> Outcome {
    let cases = [
        ("plan", Kind::Plan, "Review the plan"),
        ("question", Kind::Question, "Answer the question"),
        (
            "implementation",
            Kind::Implementation,
            "Review the implementation",
        ),
    ];
    each(&cases, |(name, kind, reminder)| {
        let world = World::new()?;
        let args = ["--json", "discuss", "--kind", name, "Well?"];
        let round = world
            .headless(&Peer::new("demo"), &args)?
            .run()?
            .round(10)?;
        assert_eq!(round.kind, *kind);
        assert!(world.turns()?[1].prompt.starts_with(reminder));
        Ok(())
    })
}

fn a_brief_that_is_not_agreed_ends_it_and_the_message_is_not_sent() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("demo").script(&serde_json::json!([
        { "text": "REVIEW: ({tag}) I only write.\n\nVERDICT: OBJECT", "think_ms": 10 }
    ]));
    let round = world
        .headless(&peer, &["--json", "discuss", "Is it ready?"])?
        .run()?
        .round(11)?;
    assert_eq!(round.round, 0);
    let said = round.reading.rationale();
    assert!(
        said.contains("not agreed") && said.contains("I only write."),
        "{said}"
    );
    assert_eq!(world.turns()?.len(), 1);
    Ok(())
}

fn outside_of_a_repository_it_works_and_says_nothing_of_a_tree() -> Outcome {
    let world = World::new()?;
    std::fs::create_dir(world.path("plain"))?;
    let round = world
        .headless(&Peer::new("demo"), &["--json", "discuss", "Well?"])?
        .folder(&world.path("plain"))
        .run()?
        .round(10)?;
    assert_eq!(round.tree, Tree::default());
    Ok(())
}

fn a_tree_that_moved_is_told_beside_the_verdict() -> Outcome {
    let world = World::new()?;
    world.write("repo/a", "1\n")?;
    world.commit()?;
    let peer = Peer::new("demo").script(&serde_json::json!([
        { "match": "driver's message:", "text": "REVIEW: ({tag}) yes\n\nVERDICT: AGREE", "think_ms": 1500 }
    ]));
    let mut running = world
        .headless(&peer, &["--json", "discuss", "Well?"])?
        .start()?;
    running.hear("waiting busy")?;
    world.write("repo/a", "2\n")?;
    let ended = running.end()?;
    assert_eq!(ended.round(0)?.tree.moved, Some(true));
    assert!(
        ended.err.contains("the working tree changed"),
        "{}",
        ended.err
    );
    Ok(())
}
