//! Being interrupted, and being killed: nothing of the peer is left, and what was recorded is whole.

use std::fs;
use std::time::{Duration, Instant};

use codriver::recording::receipt::Outcome as Ended;
use codriver::recording::session::State;
use rustix::process::Signal;
use serde_json::json;

use crate::world::{Outcome, PROGRAM, Peer, World, each};

tests! {
    interrupted_at_any_stage_it_stops_the_peer_and_says_so,
    interrupted_before_anything_is_started_it_leaves_nothing,
    a_grandchild_in_a_session_of_its_own_ends_too,
    a_timeout_ends_them_as_well,
    killed_it_leaves_a_record_that_is_whole_and_a_peer_that_notices,
    the_second_interrupt_does_not_wait_for_a_stubborn_peer,
}

fn interrupted_at_any_stage_it_stops_the_peer_and_says_so() -> Outcome {
    let cases = [
        ("INT", Signal::INT, "starting", "interrupted"),
        ("INT", Signal::INT, "briefing busy", "interrupted"),
        ("INT", Signal::INT, "waiting busy", "interrupted"),
        ("TERM", Signal::TERM, "starting", "asked to end"),
        ("TERM", Signal::TERM, "waiting busy", "asked to end"),
        ("HUP", Signal::HUP, "briefing busy", "terminal is gone"),
        ("HUP", Signal::HUP, "waiting busy", "terminal is gone"),
    ];
    each(&cases, |(_, signal, stage, word)| {
        let world = World::new()?;
        let peer = match *stage {
            "waiting busy" => Peer::new("demo").script(&json!([
                { "match": "driver's message:", "text": "x", "fault": "hang,spawn" }
            ])),
            _ => Peer::new("demo").fault("hang").fault("spawn"),
        };
        let mut running = world.headless(&peer, &["discuss", "Well?"])?.start()?;
        running.hear(stage)?;
        let sent = Instant::now();
        running.signal(*signal)?;
        let ended = running.end()?;
        assert!(
            sent.elapsed() < Duration::from_secs(6),
            "{:?}",
            sent.elapsed()
        );
        ended.failed(130, &[word, "the peer is stopped"])?;
        let record = world.record()?;
        assert_eq!(record.session.state, State::Interrupted);
        assert!(record.session.ended.is_some() && record.session.whole);
        let last = record.rounds().pop().ok_or("no receipt")?;
        assert_eq!((last.outcome, last.verdict), (Ended::Interrupted, None));
        assert_eq!(record.happened("interrupted"), 1);
        assert_eq!(record.happened("session-ended"), 1);
        Ok(())
    })
}

fn interrupted_before_anything_is_started_it_leaves_nothing() -> Outcome {
    let world = World::new()?;
    let marker = world.path("asked");
    world.program(
        "bin/git",
        &format!("touch '{}'\nsleep 604", marker.display()),
    )?;
    let running = world
        .headless(&Peer::new("demo"), &["discuss", "--diff"])?
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", world.path("bin").display()),
        )
        .start()?;
    let end = Instant::now() + Duration::from_secs(10);
    while !marker.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::INT)?;
    running
        .end()?
        .failed(130, &["interrupted", "nothing was started"])?;
    assert_eq!(world.sessions().len(), 0);
    Ok(())
}

/// An agent that leaves a process in a session of its own, whose parent is gone, and one that ignores every request.
fn stubborn(world: &World, style: &str) -> Result<Peer, crate::world::Fault> {
    let script = format!(
        "setsid sh -c 'sleep 601 & exit'\n\
         sh -c 'trap \"\" HUP TERM INT; while :; do sleep 602; done' &\n\
         if test \"$1\" = --version; then exec sleep 603; fi\n\
         exec '{PROGRAM}' demo-agent --style {style} --fault hang"
    );
    let agent = world.program("agent/agent", &script)?;
    let command = format!("command = [{:?}]", agent.display().to_string());
    Ok(Peer::new("scribe")
        .with(&command)
        .with("version_args = ['--version']"))
}

fn a_grandchild_in_a_session_of_its_own_ends_too() -> Outcome {
    let world = World::new()?;
    let peer = stubborn(&world, "plain")?;
    let mut running = world.headless(&peer, &["discuss", "Well?"])?.start()?;
    running.hear("briefing busy")?;
    assert!(world.processes().len() >= 5, "{:?}", world.processes());
    running.signal(Signal::INT)?;
    // What is left would be told.
    running.end()?.failed(130, &["interrupted"])
}

fn a_timeout_ends_them_as_well() -> Outcome {
    let world = World::new()?;
    let peer = stubborn(&world, "plain")?;
    let ended = world
        .headless(&peer, &["--timeout", "2s", "brief"])?
        .run()?;
    ended.failed(15, &["did not finish within 2 s"])
}

fn killed_it_leaves_a_record_that_is_whole_and_a_peer_that_notices() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("demo").script(&json!([
        { "match": "driver's message:", "text": "REVIEW: ({tag}) half of it", "think_ms": 1, "fault": "hang" }
    ]));
    let mut running = world
        .headless(&peer, &["discuss", "Well?"])?
        .unchecked()
        .start()?;
    running.hear("waiting busy")?;
    running.signal(Signal::KILL)?;
    let ended = running.end()?;
    assert_eq!(ended.signal(), Some(9));
    let end = Instant::now() + Duration::from_secs(5);
    while !world.processes().is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(world.processes(), []);

    let record = world.record()?;
    assert_eq!(
        (record.session.state, &record.session.ended),
        (State::Open, &None)
    );
    let [brief] = record.rounds()[..] else {
        return Err("not one receipt".into());
    };
    let tag = brief.tag.clone().ok_or("a brief has a tag")?;
    assert_eq!(record.happened("verdict"), 1);
    let cast = record.folder.join("peer.cast").display().to_string();
    let text = fs::read_to_string(&cast)?;
    assert!(text.ends_with('\n'));
    let extracted = world
        .call(&["--json", "extract", "--tag", &tag, &cast])
        .unchecked()
        .run()?;
    let value: serde_json::Value = serde_json::from_str(&extracted.out)?;
    assert_eq!(value["rounds"][0]["verdict"], "AGREE", "{value:#}");
    assert_eq!(value["rounds"][1]["verdict"], "UNPARSED", "{value:#}");
    Ok(())
}

fn the_second_interrupt_does_not_wait_for_a_stubborn_peer() -> Outcome {
    let world = World::new()?;
    let peer = stubborn(&world, "plain")?;
    let mut running = world.headless(&peer, &["discuss", "Well?"])?.start()?;
    running.hear("briefing busy")?;
    let sent = Instant::now();
    running.signal(Signal::INT)?;
    running.signal(Signal::INT)?;
    running.end()?.failed(130, &["interrupted"])?;
    assert!(
        sent.elapsed() < Duration::from_secs(6),
        "{:?}",
        sent.elapsed()
    );
    Ok(())
}
