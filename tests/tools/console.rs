//! The server with a console, and the console's socket itself.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::json;

use crate::client::Client;
use crate::world::{Console, Outcome, PROGRAM, World, program, until};

const ADJUST: &str = "REVIEW: ({tag}) Close the file first.\n\nVERDICT: ADJUST";
const AGREE: &str = "REVIEW: ({tag}) Nothing to add.\n\nVERDICT: AGREE";
const ESCALATE: &str = "REVIEW: ({tag}) May old files be deleted?\n\nVERDICT: ESCALATE";

#[test]
fn a_call_is_a_round_of_the_console_and_its_result_stays_there() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 300, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "none", "--peer", "demo"],
    )?;
    let mut client = Client::start(&world, &[])?;
    let ping = client.call("ping", &json!({}))?;
    assert_eq!(
        [&ping["mode"], &ping["pane"]],
        [&json!("console"), &json!(null)]
    );
    let round = client.call("discuss", &json!({"message": "Look."}))?;
    assert_eq!(
        [&round["verdict"], &round["pane"]],
        [&json!("ADJUST"), &json!("peer")]
    );
    console.see("ADJUST")?;
    let other =
        Client::start(&world, &[])?.call("poll_round", &json!({"round_id": round["round_id"]}))?;
    assert_eq!(other["result"]["rationale"], "Close the file first.");
    let session = client.request("resources/read", &json!({"uri": "codriver://session"}))?;
    assert!(session.to_string().contains("ADJUST"));
    console.kill()?;
    client.leave()?;
    world.is_left_alone()
}

#[test]
fn the_command_line_asks_the_console_and_ends_by_the_verdict() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST, AGREE], 200, "")?;
    let none = world.run(&["discuss", "Look."])?;
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no console runs"));
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "none", "--peer", "demo"],
    )?;
    let first = world.run(&["discuss", "Look."])?;
    assert_eq!(
        first.status.code(),
        Some(10),
        "{}",
        String::from_utf8_lossy(&first.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&first.stdout),
        "Close the file first.\n\nVERDICT: ADJUST\n"
    );
    let second = world.run(&["--json", "ask-review", "Look."])?;
    assert_eq!(second.status.code(), Some(0));
    let result: serde_json::Value = serde_json::from_slice(&second.stdout)?;
    assert_eq!(result["round"], 2);
    let explained = world.run(&["explain", "peer"])?;
    let told = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(
        told.starts_with("peer (demo) is idle by the rule"),
        "{told}"
    );
    let refused = world.run(&["discuss", ""])?;
    assert_eq!(refused.status.code(), Some(14));
    console.kill()
}

#[test]
fn a_console_that_goes_is_told_at_once_and_a_client_that_goes_leaves_the_round() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST, ADJUST], 2500, "")?;
    let args = ["--config", &settings, "--driver", "none", "--peer", "demo"];
    let console = Console::open(&world, &args)?;
    let mut client = Client::start(&world, &[])?;
    client.call("brief", &json!({}))?;
    client.begin("discuss", &json!({"message": "Look."}))?;
    let round_id = client.round_id()?;
    client.kill()?;
    let mut other = Client::start(&world, &[])?;
    let round = other.call(
        "poll_round",
        &json!({"round_id": round_id, "wait_ms": 30000}),
    )?;
    assert_eq!(round["result"]["verdict"], "ADJUST");
    let waiting = other.begin("discuss", &json!({"message": "Again."}))?;
    other.hear(|told| {
        told["params"]["message"]
            .as_str()
            .is_some_and(|words| words.starts_with("waiting busy"))
    })?;
    console.kill()?;
    let told = other
        .finish(waiting)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        told.contains("console-gone") || told.contains("interrupted"),
        "{told}"
    );
    Ok(())
}

#[test]
fn what_a_peer_runs_is_refused_and_what_the_driver_runs_is_known() -> Outcome {
    let world = World::new()?;
    // A peer that asks the console for a round, once as its child and once out of its own family and session.
    let script = format!(
        "#!/bin/sh\n{PROGRAM} discuss hello >direct.out 2>direct.err\n\
         setsid {PROGRAM} discuss hello >apart.out 2>apart.err </dev/null &\nwait\n\
         printf '> '\nexec sleep 60\n"
    );
    program(&world.path("peer.sh"), &script)?;
    let driver = format!(
        "#!/bin/sh\n{PROGRAM} --json explain peer >driver.out 2>driver.err\nexec sleep 60\n"
    );
    program(&world.path("driver.sh"), &driver)?;
    let peer = world.path("peer.sh").display().to_string();
    let drives = world.path("driver.sh").display().to_string();
    // Without a lock: behind one it could not even connect, nor write down what it was told.
    let console = Console::open(
        &world,
        &["--no-confine", "--driver", &drives, "--peer", &peer],
    )?;
    for name in ["direct.err", "apart.err"] {
        let told = until(name, || {
            let text = fs::read_to_string(world.path("repo").join(name)).unwrap_or_default();
            Ok((!text.is_empty()).then_some(text))
        })?;
        assert!(told.contains("what a reviewer runs"), "{name}: {told}");
    }
    let told = until("driver.out", || {
        let text = fs::read_to_string(world.path("repo/driver.out")).unwrap_or_default();
        Ok((!text.is_empty()).then_some(text))
    })?;
    assert!(told.contains("\"pane\": \"peer\""), "{told}");
    console.kill()?;
    world.is_left_alone()
}

#[test]
fn nothing_is_typed_into_the_driver_for_a_tool() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[AGREE], 100, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "cat", "--peer", "demo"],
    )?;
    let mut client = Client::start(&world, &[])?;
    for (tool, arguments) in [
        ("send", json!({"pane": "driver", "text": "rm -rf ."})),
        ("discuss", json!({"pane": "driver", "message": "x"})),
        ("brief", json!({"pane": "driver"})),
    ] {
        let told = client.refusal(tool, &arguments)?;
        assert!(told.contains("not-allowed"), "{tool}: {told}");
    }
    let told = client.refusal("read", &json!({"pane": "third"}))?;
    assert!(
        told.contains("no-pane") && told.contains("driver, peer"),
        "{told}"
    );
    console.kill()
}

#[test]
fn a_second_console_has_a_socket_of_its_own() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[AGREE], 100, "")?;
    let args = ["--config", &settings, "--driver", "none", "--peer", "demo"];
    let first = Console::open(&world, &args)?;
    let second = Console::open(&world, &args)?;
    assert_eq!(world.sockets().len(), 2);
    let mut client = Client::start(&world, &[])?;
    let peers = client.call("list_peers", &json!({}))?;
    let names: Vec<&str> = peers["peers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|peer| peer["pane"].as_str())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names[0] == "peer" && names[1].ends_with("/peer"),
        "{names:?}"
    );
    let other = client.call("read", &json!({"pane": names[1], "lines": 5}))?;
    assert!(other["content"].is_string());
    first.kill()?;
    second.kill()?;
    assert_eq!(world.sockets().len(), 0);
    Ok(())
}

#[test]
fn a_killed_console_leaves_a_socket_that_the_next_one_replaces() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 100, "")?;
    let args = ["--config", &settings, "--driver", "none", "--peer", "demo"];
    let console = Console::open(&world, &args)?;
    let socket = world.sockets().remove(0);
    console.kill()?;
    // What a console that was killed leaves: a socket nobody listens at.
    drop(std::os::unix::net::UnixListener::bind(&socket)?);
    let none = world.run(&["discuss", "Look."])?;
    assert!(String::from_utf8_lossy(&none.stderr).contains("no console runs"));
    let console = Console::start(&world, &args)?;
    until("an answer of the new console", || {
        let asked = world.run(&["discuss", "Look."])?;
        Ok((asked.status.code() == Some(10)).then_some(()))
    })?;
    console.kill()
}

#[test]
fn hostile_bytes_on_the_socket_do_the_console_no_harm() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 100, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "none", "--peer", "demo"],
    )?;
    let socket = world.sockets().remove(0);
    let hello = br#"{"codriver":1,"version":"x","name":"n"}"#;
    let frame = |body: &[u8]| {
        let mut bytes = u32::try_from(body.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes()
            .to_vec();
        bytes.extend_from_slice(body);
        bytes
    };
    let greeted = |more: &[u8]| [frame(hello), more.to_vec()].concat();
    let other = br#"{"codriver":99,"version":"9","name":"n"}"#;
    for bytes in [
        Vec::new(),
        vec![0xff; 64],
        u32::MAX.to_be_bytes().to_vec(),
        frame(b"not json"),
        frame(other),
        greeted(b"\0\0\0\x02{}"),
        greeted(&frame(br#"{"call":{"id":1,"call":"nonsense"}}"#)),
        greeted(&frame(
            br#"{"call":{"id":1,"call":"read","pane":"\u001b]0;x\u0007","lines":9}}"#,
        )),
        greeted(&[0x7f, 0xff, 0xff, 0xff]),
    ] {
        let mut stream = UnixStream::connect(&socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(&bytes)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        assert!(
            !answer.contains(&0x1b),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
    }
    // Many that say nothing do not keep the others out for ever.
    let silent: Vec<UnixStream> = (0..40)
        .map(|_| UnixStream::connect(&socket))
        .collect::<Result<_, _>>()?;
    until("a way in", || {
        let asked = world.run(&["discuss", "Look."])?;
        Ok((asked.status.code() == Some(10)).then_some(()))
    })?;
    drop(silent);
    console.kill()
}

#[test]
fn a_round_of_a_console_that_has_ended_is_no_round_of_the_next_one() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 100, "")?;
    let args = ["--config", &settings, "--driver", "none", "--peer", "demo"];
    let console = Console::open(&world, &args)?;
    let mut client = Client::start(&world, &[])?;
    let old = client.call("discuss", &json!({"message": "Shall I delete it?"}))?;
    console.kill()?;
    world.peer(&[AGREE], 100, "")?;
    let console = Console::open(&world, &args)?;
    let new = client.call("discuss", &json!({"message": "Another thing."}))?;
    assert_eq!([&old["verdict"], &new["verdict"]], ["ADJUST", "AGREE"]);
    // It was this console's first round too, and its answer is not to be taken for the other's.
    let told = client.refusal("poll_round", &json!({"round_id": old["round_id"]}))?;
    assert!(told.contains("no-round"), "{told}");
    console.kill()
}

#[test]
fn a_round_of_another_console_is_asked_for_there() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[AGREE], 100, "")?;
    let args = ["--config", &settings, "--driver", "none", "--peer", "demo"];
    let first = Console::open(&world, &args)?;
    let mut client = Client::start(&world, &[])?;
    let own = client.call("discuss", &json!({"message": "Look."}))?;
    world.peer(&[ADJUST], 100, "")?;
    let second = Console::open(&world, &args)?;
    let peers = client.call("list_peers", &json!({}))?;
    let begun = client.call(
        "start_discuss",
        &json!({"message": "Look.", "pane": peers["peers"][1]["pane"]}),
    )?;
    let polled = client.call(
        "poll_round",
        &json!({"round_id": begun["round_id"], "wait_ms": 30000}),
    )?;
    assert_eq!(
        [&own["verdict"], &polled["result"]["verdict"]],
        ["AGREE", "ADJUST"]
    );
    first.kill()?;
    second.kill()
}

#[test]
#[cfg(target_os = "linux")]
fn a_reviewer_that_left_parents_terminal_and_environment_is_refused() -> Outcome {
    let world = World::new()?;
    let variables: Vec<String> = world
        .environment()
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let clean = format!("env -i {}", variables.join(" "));
    // The shell between ends at once, so that what it started is nobody's child.
    let apart = format!(
        "setsid {clean} sh -c '(sleep 1; exec {PROGRAM} discuss hello >orphan.out 2>orphan.err) &' </dev/null\n"
    );
    // The same with the mark of the driver, which anybody may read.
    let forged = format!(
        "driver=$(cat driver.pid)\nmark=$(tr '\\0' '\\n' </proc/$driver/environ | grep ^CODRIVER_LAUNCH)\n\
         setsid {clean} \"$mark\" sh -c '(sleep 1; exec {PROGRAM} discuss hello >forged.out 2>forged.err) &' </dev/null\n"
    );
    let peer = format!(
        "#!/bin/sh\nwhile ! test -s driver.pid; do sleep 0.1; done\n{apart}{forged}printf '> '\nexec sleep 60\n"
    );
    program(&world.path("peer.sh"), &peer)?;
    program(
        &world.path("driver.sh"),
        "#!/bin/sh\necho $$ >driver.pid\nexec sleep 60\n",
    )?;
    let peer = world.path("peer.sh").display().to_string();
    let driver = world.path("driver.sh").display().to_string();
    let console = Console::open(
        &world,
        &["--no-confine", "--driver", &driver, "--peer", &peer],
    )?;
    for name in ["orphan.err", "forged.err"] {
        let told = until(name, || {
            let text = fs::read_to_string(world.path("repo").join(name)).unwrap_or_default();
            Ok((!text.is_empty()).then_some(text))
        })?;
        assert!(told.contains("what a reviewer runs"), "{name}: {told}");
    }
    // What has ended is not kept as a zombie.
    let own = console.pid()?.as_raw_nonzero().get();
    until("no zombies", || {
        let all = codriver::world::process::all();
        let dead = all.iter().any(|one| one.parent == own && one.ended);
        Ok((!dead).then_some(()))
    })?;
    console.kill()
}

#[test]
#[cfg(target_os = "linux")]
fn reviewers_take_nobody_elses_place() -> Outcome {
    let world = World::new()?;
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ping","arguments":{}}}\n"#;
    let peer = format!(
        "#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9; do\n\
         (printf '{greeting}'; sleep 60) | {PROGRAM} mcp >held.$n 2>/dev/null &\n\
         while test $(wc -l <held.$n) -lt 2; do sleep 0.1; done\ndone\n\
         printf '> '\nexec sleep 60\n"
    );
    program(&world.path("peer.sh"), &peer)?;
    let peer = world.path("peer.sh").display().to_string();
    let console = Console::open(
        &world,
        &["--no-confine", "--driver", "none", "--peer", &peer],
    )?;
    let last = until("the ninth", || {
        let text = fs::read_to_string(world.path("repo/held.9")).unwrap_or_default();
        Ok((text.lines().count() == 2).then_some(text))
    })?;
    assert!(last.contains("busy"), "{last}");
    let mut client = Client::start(&world, &[])?;
    assert_eq!(client.call("ping", &json!({}))?["mode"], "console");
    console.kill()
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_reviewer_listens_with_is_asked_nothing() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[AGREE], 100, "")?;
    let args = ["--config", &settings, "--driver", "none", "--peer", "demo"];
    let console = Console::start_in(&world, &args, &[("CODRIVER_SEAT", "peer")])?;
    until("its socket", || {
        Ok((!world.sockets().is_empty()).then_some(()))
    })?;
    let mut client = Client::start(&world, &[])?;
    let told = client.refusal("discuss", &json!({"message": "Look."}))?;
    assert!(
        told.contains("not-allowed") && told.contains("started by a reviewer"),
        "{told}"
    );
    console.kill()
}

#[test]
fn the_persons_decision_is_the_answer_of_the_call_that_asked() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ESCALATE, ESCALATE, ESCALATE, AGREE], 200, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "none", "--peer", "demo"],
    )?;
    let mut client = Client::start(&world, &[])?;
    let id = client.begin("discuss", &json!({"message": "Look."}))?;
    console.see("a test waits: your answer is given to it as yours")?;
    let mut other = Client::start(&world, &[])?;
    let told = other.refusal("discuss", &json!({"message": "And now?"}))?;
    assert!(told.contains("needs-person"), "{told}");
    console.type_in(b"Keep them.\r")?;
    let round = client.finish(id)?;
    assert_eq!(
        [&round["verdict"], &round["human"]["answer"]],
        ["ESCALATE", "Keep them."]
    );
    let is_shut = || {
        until("the end of the question", || {
            Ok((!console.shown().contains("waits: your answer")).then_some(()))
        })
    };
    is_shut()?;
    // Put aside, the question stays, and the call has it without an answer.
    let id = client.begin("discuss", &json!({"message": "Look."}))?;
    console.see("your answer is given to it as yours")?;
    console.type_in(b"\x1b")?;
    let round = client.finish(id)?;
    assert_eq!(
        [&round["verdict"], &round["human"]],
        [&json!("ESCALATE"), &json!(null)]
    );
    is_shut()?;
    // The next one may go on.
    let id = client.begin("discuss", &json!({"message": "And now?"}))?;
    console.see("your answer is given to it as yours")?;
    console.type_in(b"No.\r")?;
    assert_eq!(client.finish(id)?["human"]["answer"], "No.");
    console.kill()
}

#[test]
fn a_question_nobody_waits_for_any_more_is_still_answered_to_the_peer() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ESCALATE, AGREE], 200, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "none", "--peer", "demo"],
    )?;
    let mut client = Client::start(&world, &[])?;
    client.begin("discuss", &json!({"message": "Look."}))?;
    console.see("your answer is given to it as yours")?;
    client.kill()?;
    console.see("your answer goes to the peer as the next message")?;
    console.type_in(b"Keep them.\r")?;
    console.see("AGREE")?;
    console.kill()
}

#[test]
fn a_question_does_not_take_the_keys_of_one_who_types_to_the_driver() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ESCALATE], 600, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "cat", "--peer", "demo"],
    )?;
    let mut client = Client::start(&world, &[])?;
    let id = client.begin("discuss", &json!({"message": "Look."}))?;
    // Someone who types all the while, with Enter now and then.
    until("the peer's question", || {
        console.type_in(b"on\r")?;
        let words = client.hear(|told| {
            let words = told["params"]["message"].as_str().unwrap_or_default();
            words.starts_with("wait")
        })?;
        client.told.clear();
        let words = words["params"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        Ok(words.contains("the person's decision").then_some(()))
    })?;
    for _ in 0..5 {
        console.type_in(b"on\r")?;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(
        !console.shown().contains("asks you to decide"),
        "{}",
        console.shown()
    );
    console.type_in(b"\x1da")?;
    console.see("your answer is given to it as yours")?;
    console.type_in(b"Keep them.\r")?;
    assert_eq!(client.finish(id)?["human"]["answer"], "Keep them.");
    console.kill()
}
