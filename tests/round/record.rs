//! The recorded session: it can be read again to the same verdict, and a silent peer costs nothing.

use std::fs;
use std::time::Duration;

use codriver::recording::receipt::verify;
use codriver::recording::result::Extract;
use codriver::recording::session::State;

use crate::schema::Schema;
use crate::world::{Fault, Outcome, Peer, World, each};

tests! {
    a_recorded_round_is_read_again_to_the_same_result,
    what_only_a_taller_window_held_is_read_again_too,
    every_round_is_verified_from_its_bytes,
    a_round_that_was_changed_is_told,
    the_receipts_show_any_change,
    waiting_for_a_silent_peer_costs_nothing,
}

const REVIEW: &str = "REVIEW: ({tag}) One thing, and it is the length of this sentence, which has to be wrapped on a narrow screen:\n\n- the list item is long as well, as long as it takes to be broken once or twice on its way to the reader\n\nVERDICT: OBJECT";

fn a_recorded_round_is_read_again_to_the_same_result() -> Outcome {
    each(&["demo", "codex", "opencode", "scribe"], |harness| {
        let world = World::new()?;
        let peer = Peer::new(harness).says(REVIEW);
        let args = ["--json", "--size", "70x40", "discuss", "Well?"];
        let round = world.headless(&peer, &args)?.run()?.round(11)?;
        let record = world.record()?;
        assert_eq!(
            (record.session.state, record.session.whole),
            (State::Closed, true)
        );
        let tags: Vec<_> = record
            .rounds()
            .iter()
            .filter_map(|round| round.tag.clone())
            .collect();
        let cast = record.folder.join("peer.cast").display().to_string();
        let args = [
            "--json",
            "extract",
            "--harness",
            harness,
            "--tag",
            &tags.join(","),
            &cast,
        ];
        let extracted = world.headless(&peer, &args)?.run()?;
        let value: serde_json::Value = serde_json::from_str(&extracted.out)?;
        Schema::named("extract")?.check(&value)?;
        let extract: Extract = serde_json::from_value(value)?;
        let found: Vec<_> = extract
            .rounds
            .iter()
            .map(|round| (round.reading.verdict(), round.reading.rationale()))
            .collect();
        let live = [
            ("AGREE", record.transcript("01-brief-rationale.txt")?),
            ("OBJECT", round.reading.rationale().to_owned()),
        ];
        assert_eq!(
            found
                .iter()
                .map(|(verdict, text)| (verdict.to_string(), (*text).to_owned()))
                .collect::<Vec<_>>(),
            live.map(|(verdict, text)| (verdict.to_owned(), text))
        );
        let span = round.recording.as_ref().ok_or("it was recorded")?;
        let last = &extract.rounds[1];
        assert!(
            last.from
                .zip(last.to)
                .is_some_and(|(from, to)| from >= span.from && to <= span.to + 0.5),
            "{last:?} {span:?}"
        );
        Ok(())
    })
}

fn what_only_a_taller_window_held_is_read_again_too() -> Outcome {
    let world = World::new()?;
    let lines: Vec<String> = (1..=120)
        .map(|line| format!("{line}. finding number {line} of the list"))
        .collect();
    let text = format!(
        "REVIEW: ({{tag}}) All of it:\n\n{}\n\nVERDICT: OBJECT",
        lines.join("\n")
    );
    let peer = Peer::new("opencode").script(&serde_json::json!([
        { "match": "driver's message:", "text": text, "think_ms": 10, "chunk": 400, "delay_ms": 1 }
    ]));
    let round = world
        .headless(&peer, &["--json", "discuss", "Well?"])?
        .run()?
        .round(11)?;
    let said = round.reading.rationale();
    for line in &lines {
        assert!(said.contains(line.as_str()), "{line} is not in {said}");
    }
    let record = world.record()?;
    let tags: Vec<_> = record
        .rounds()
        .iter()
        .filter_map(|round| round.tag.clone())
        .collect();
    let cast = record.folder.join("peer.cast").display().to_string();
    let args = [
        "--json",
        "extract",
        "--harness",
        "opencode",
        "--tag",
        &tags.join(","),
        &cast,
    ];
    let value: serde_json::Value = serde_json::from_str(&world.headless(&peer, &args)?.run()?.out)?;
    assert_eq!(value["rounds"][1]["rationale"], said);
    assert_eq!(value["rounds"][1]["verdict"], "OBJECT");
    Ok(())
}

fn every_round_is_verified_from_its_bytes() -> Outcome {
    each(&["demo", "codex", "opencode", "scribe"], |harness| {
        let world = World::new()?;
        let peer = Peer::new(harness).says(REVIEW);
        let args = ["--json", "--size", "70x40", "discuss", "Well?"];
        let round = world.headless(&peer, &args)?.run()?.round(11)?;
        let verified = world
            .headless(&peer, &["replay", "last", "--verify"])?
            .run()?;
        assert_eq!(
            verified.status.code(),
            Some(0),
            "{}{}",
            verified.out,
            verified.err
        );
        assert!(
            verified
                .out
                .ends_with("verified: 2 of 2 rounds were read again, and nothing differs\n"),
            "{}",
            verified.out
        );
        let args = ["--json", "replay", "last", "--verify"];
        let value: serde_json::Value =
            serde_json::from_str(&world.headless(&peer, &args)?.run()?.out)?;
        Schema::named("replay")?.check(&value)?;
        assert_eq!(value["rounds"][1]["rationale"], round.reading.rationale());
        assert_eq!(
            value["rounds"][1]["receipt"],
            round.receipt.as_deref().unwrap_or_default()
        );
        assert_eq!(value["verified"]["rounds"][1]["verdict"], "OBJECT");
        Ok(())
    })
}

fn a_round_that_was_changed_is_told() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("scribe").says(REVIEW);
    world.headless(&peer, &["discuss", "Well?"])?.run()?;
    let record = world.record()?;
    let verify = || -> Result<(i32, String), Fault> {
        let run = world
            .headless(&peer, &["replay", "last", "--verify"])?
            .unchecked()
            .run()?;
        Ok((run.status.code().unwrap_or(-1), run.out))
    };
    let cast = record.folder.join("peer.cast");
    let bytes = fs::read_to_string(&cast)?;

    // The reply in the recording is another one.
    fs::write(&cast, bytes.replace("OBJECT", "ADJUST"))?;
    let (status, said) = verify()?;
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("the receipt says OBJECT, and the recording reads UNPARSED")
            || said.contains("the receipt says OBJECT, and the recording reads ADJUST"),
        "{said}"
    );
    fs::write(&cast, &bytes)?;
    assert_eq!(verify()?.0, 0);

    // The kept text is another one.
    let text = record.folder.join("transcripts/02-round-rationale.txt");
    let kept = fs::read_to_string(&text)?;
    fs::write(&text, "All is well.")?;
    let (status, said) = verify()?;
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("the text `rationale` is not the one that is digested"),
        "{said}"
    );
    assert!(!said.contains("All is well"), "{said}");
    fs::write(&text, kept)?;

    // The receipt is another one, its chain written anew and its seal not.
    let receipts = record.folder.join("receipts.jsonl");
    let lines = fs::read_to_string(&receipts)?;
    fs::write(&receipts, lines.replace("OBJECT", "AGREE"))?;
    let (status, said) = verify()?;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("differs: receipts: "), "{said}");
    assert!(
        said.contains("the receipt says AGREE, and the recording reads OBJECT"),
        "{said}"
    );
    Ok(())
}

fn the_receipts_show_any_change() -> Outcome {
    let world = World::new()?;
    world
        .headless(&Peer::new("demo"), &["discuss", "Well?"])?
        .run()?;
    let record = world.record()?;
    let lines = fs::read(record.folder.join("receipts.jsonl"))?;
    let text = String::from_utf8(lines.clone())?;
    verify(&lines, &record.session.receipts)?;
    let changed = text.replacen("AGREE", "ADJUST", 1);
    assert_ne!(changed, text);
    assert!(verify(changed.as_bytes(), &record.session.receipts).is_err());
    let cut = text.lines().next().ok_or("two lines")?;
    assert!(verify(format!("{cut}\n").as_bytes(), &record.session.receipts).is_err());
    // What happened, in order.
    let names: Vec<_> = record
        .events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    let order = [
        "session-started",
        "pane-started",
        "round-started",
        "reply",
        "verdict",
        "round-started",
        "reply",
        "verdict",
        "pane-ended",
        "session-ended",
    ];
    let mut wanted = order.iter().peekable();
    for name in &names {
        if wanted.peek() == Some(&name) {
            wanted.next();
        }
    }
    assert_eq!(wanted.next(), None, "{names:?}");
    Ok(())
}

/// Time on a processor and voluntary waits of all threads of a process.
fn cost(pid: u32) -> Result<(Duration, u64), Fault> {
    let (mut time, mut waits) = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?.path();
        let spent = fs::read_to_string(thread.join("schedstat"))?;
        time += spent.split(' ').next().unwrap_or_default().parse::<u64>()?;
        let status = fs::read_to_string(thread.join("status"))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        waits += line.unwrap_or_default().trim().parse::<u64>()?;
    }
    Ok((Duration::from_nanos(time), waits))
}

fn waiting_for_a_silent_peer_costs_nothing() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("scribe").fault("hang");
    let mut running = world.headless(&peer, &["discuss", "Well?"])?.start()?;
    running.hear("briefing busy")?;
    std::thread::sleep(Duration::from_secs(1));
    let span = Duration::from_secs(3);
    let before = cost(running.pid())?;
    std::thread::sleep(span);
    let after = cost(running.pid())?;
    running.signal(rustix::process::Signal::INT)?;
    running.end()?;
    let (time, waits) = (after.0 - before.0, after.1 - before.1);
    assert!(
        time <= span * 3 / 1000,
        "{time:?} of {span:?}, {waits} waits"
    );
    assert!(waits <= 12, "{waits} waits, {time:?}");
    Ok(())
}
