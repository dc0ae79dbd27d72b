//! The server without a console.

use serde_json::{Value, json};

use crate::client::Client;
use crate::world::{Console, Outcome, World};

const ADJUST: &str = "REVIEW: ({tag}) Close the file first.\n\nVERDICT: ADJUST";
const ESCALATE: &str = "REVIEW: ({tag}) May old files be deleted?\n\nVERDICT: ESCALATE";
const AGREE: &str = "REVIEW: ({tag}) Nothing to add.\n\nVERDICT: AGREE";

#[test]
fn the_greeting_comes_before_any_peer_and_nothing_else_is_on_the_output() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 50, "")?;
    let mut client = Client::silent(&world, &["--config", &settings, "--peer", "demo"])?;
    let greeting = client.greet()?;
    assert_eq!(greeting["result"]["serverInfo"]["name"], "codriver");
    let tools = client.request("tools/list", &json!({}))?;
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"discuss") && !names.contains(&"submit_review"));
    let ping = client.call("ping", &json!({}))?;
    assert_eq!(ping["mode"], "headless");
    let peers = client.call("list_peers", &json!({}))?;
    assert_eq!(peers["peers"][0]["pane"], "peer");
    assert!(
        !world
            .processes()
            .iter()
            .any(|(_, words)| words.contains("demo-agent")),
        "a peer was started"
    );
    client.leave()?;
    world.is_left_alone()
}

#[test]
fn a_round_is_answered_with_its_progress_and_the_next_one_is_counted() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST, AGREE, ADJUST], 300, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let first = client.call("discuss", &json!({"message": "Look.", "kind": "plan"}))?;
    assert_eq!(
        [
            &first["verdict"],
            &first["rationale"],
            &first["round"],
            &first["rounds_on_topic"]
        ],
        [
            &json!("ADJUST"),
            &json!("Close the file first."),
            &json!(1),
            &json!(1)
        ]
    );
    assert!(
        client
            .told
            .iter()
            .any(|told| told["method"] == "notifications/progress")
    );
    let second = client.call("ask_review", &json!({"prompt": "Look again."}))?;
    assert_eq!(
        [
            &second["verdict"],
            &second["kind"],
            &second["rounds_on_topic"]
        ],
        [&json!("AGREE"), &json!("implementation"), &json!(2)]
    );
    let third = client.call("discuss", &json!({"message": "Another thing."}))?;
    assert_eq!(
        [&third["round"], &third["rounds_on_topic"]],
        [&json!(3), &json!(1)]
    );
    let brief = client.call("brief", &json!({}))?;
    assert_eq!(
        [&brief["verdict"], &brief["already"]],
        [&json!("AGREE"), &json!(true)]
    );
    let resource = client.request("resources/read", &json!({"uri": "codriver://rounds/2"}))?;
    let text = resource["result"]["contents"][0]["text"]
        .as_str()
        .unwrap_or_default();
    let kept: Value = serde_json::from_str(text)?;
    assert_eq!(kept["rationale"], "Nothing to add.");
    let receipts = client.request("resources/read", &json!({"uri": "codriver://receipts"}))?;
    let text = receipts["result"]["contents"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert_eq!(serde_json::from_str::<Vec<Value>>(text)?.len(), 4);
    client.leave()?;
    world.is_left_alone()
}

#[test]
fn a_cancelled_call_ends_the_wait_and_not_the_round() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 3000, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    client.call("brief", &json!({}))?;
    let id = client.begin("discuss", &json!({"message": "Look."}))?;
    let round_id = client.round_id()?;
    client.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }))?;
    let round = client.call(
        "poll_round",
        &json!({"round_id": round_id, "wait_ms": 20000}),
    )?;
    assert_eq!(
        [&round["done"], &round["result"]["verdict"]],
        [&json!(true), &json!("ADJUST")]
    );
    client.leave()
}

#[test]
fn a_hundred_quick_calls_are_all_answered() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 50, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let begun = (0..100)
        .map(|_| client.begin("ping", &json!({})))
        .collect::<Result<Vec<_>, _>>()?;
    for id in begun {
        assert_eq!(client.finish(id)?["mode"], "headless");
    }
    client.leave()
}

#[test]
fn two_calls_at_once_are_answered_in_their_order() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST, AGREE], 600, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let first = client.begin("discuss", &json!({"message": "One."}))?;
    let second = client.begin("discuss", &json!({"message": "Two."}))?;
    client.hear(|told| {
        let words = told["params"]["message"].as_str().unwrap_or_default();
        words.contains("held by a test (implementation)")
    })?;
    assert_eq!(client.finish(second)?["verdict"], "AGREE");
    assert_eq!(client.finish(first)?["verdict"], "ADJUST");
    Ok(())
}

#[test]
fn begun_and_polled_is_the_same_as_waited_for() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 400, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let begun = client.call("start_discuss", &json!({"message": "Look."}))?;
    assert_eq!(begun["done"], false);
    let polled = client.call(
        "poll_round",
        &json!({"round_id": begun["round_id"], "wait_ms": 30000}),
    )?;
    assert_eq!(polled["result"]["rationale"], "Close the file first.");
    let code = client.refusal("poll_round", &json!({"round_id": "rnd_77"}))?;
    assert!(code.contains("no-round"), "{code}");
    Ok(())
}

#[test]
fn a_text_is_sent_and_its_answer_waited_for_without_a_verdict() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 100, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let sent = client.call("send", &json!({"pane": "peer", "text": "hello"}))?;
    assert_eq!(sent["sent"], true);
    let reply = client.call("wait_reply", &json!({"pane": "peer"}))?;
    assert!(
        reply["reply"].as_str().is_some_and(|text| !text.is_empty()),
        "{reply}"
    );
    assert!(reply.get("verdict").is_none());
    let read = client.call("read", &json!({"pane": "peer", "lines": 400}))?;
    assert!(
        read["content"]
            .as_str()
            .is_some_and(|text| text.contains("hello")),
        "{read}"
    );
    Ok(())
}

#[test]
fn what_goes_wrong_has_a_code_and_is_no_fault_of_the_protocol() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 50, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    for (tool, arguments, code) in [
        ("discuss", json!({}), "bad-argument"),
        ("discuss", json!({"message": "  "}), "refused"),
        ("discuss", json!({"message": "x".repeat(70_000)}), "refused"),
        (
            "discuss",
            json!({"message": "x", "pane": "driver"}),
            "no-pane",
        ),
        ("read", json!({"pane": "driver"}), "no-pane"),
        (
            "submit_review",
            json!({"tag": "a1", "review": "", "verdict": "AGREE"}),
            "bad-argument",
        ),
        ("no_such_tool", json!({}), "bad-argument"),
    ] {
        let told = client.refusal(tool, &arguments)?;
        assert!(told.contains(code), "{tool}: {told}");
    }
    client.leave()?;
    let mut client = Client::start(&world, &["--peer", "claude"])?;
    let told = client.refusal("discuss", &json!({"message": "x"}))?;
    assert!(
        told.contains("not-started") && told.contains("claude"),
        "{told}"
    );
    // The next one is asked anew, not waited for in vain.
    let told = client.refusal("brief", &json!({}))?;
    assert!(told.contains("not-started"), "{told}");
    client.leave()
}

#[test]
fn a_dialog_is_told_and_not_answered_and_a_dead_peer_is_started_anew() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 50, "dialog")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let told = client.refusal("discuss", &json!({"message": "x"}))?;
    assert!(told.contains("dialog"), "{told}");
    client.leave()?;
    let settings = world.peer(&[ADJUST], 50, "die")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    for _ in 0..2 {
        let told = client.refusal("discuss", &json!({"message": "x"}))?;
        assert!(told.contains("peer-ended"), "{told}");
    }
    client.leave()?;
    world.is_left_alone()
}

#[test]
fn a_killed_server_leaves_no_peer() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 50, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    client.call("brief", &json!({}))?;
    client.kill()?;
    world.is_left_alone()
}

#[test]
fn a_peer_hands_its_review_in_by_the_one_tool_it_has() -> Outcome {
    let world = World::new()?;
    let file = world.path("handed.jsonl").display().to_string();
    // The server's own options stand behind its name.
    let mut child = std::process::Command::new(crate::world::PROGRAM)
        .args(["mcp", "--submit", &file])
        .env_clear()
        .envs(world.environment())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "p", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "submit_review",
            "arguments": {"tag": "k7q2", "review": "Fine.", "verdict": "AGREE"}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "discuss",
            "arguments": {"message": "x"}}}),
    ];
    let mut input = child.stdin.take().ok_or("no input")?;
    let output = child.stdout.take().ok_or("no output")?;
    let mut answers = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut found = Vec::new();
    for line in &lines {
        std::io::Write::write_all(&mut input, format!("{line}\n").as_bytes())?;
        if line.get("id").is_some() {
            found.push(serde_json::from_str::<Value>(
                &answers.next().ok_or("no answer")??,
            )?);
        }
    }
    drop(input);
    child.wait()?;
    assert_eq!(
        found[1]["result"]["structuredContent"],
        json!({"recorded": true})
    );
    assert_eq!(found[2]["result"]["isError"], true);
    let handed = std::fs::read(&file)?;
    assert_eq!(codriver::pairing::submitted(&handed, "k7q2").len(), 1);
    Ok(())
}

#[test]
fn a_message_of_megabytes_is_refused_in_words_and_not_dropped() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 50, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let told = client.refusal("discuss", &json!({"message": "x".repeat(3 << 20)}))?;
    assert!(told.contains("refused"), "{told}");
    client.leave()
}

#[test]
fn a_round_begun_without_a_console_is_still_had_when_one_was_opened() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 300, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let begun = client.call("start_discuss", &json!({"message": "Look."}))?;
    let poll = json!({"round_id": begun["round_id"], "wait_ms": 30000});
    assert_eq!(
        client.call("poll_round", &poll)?["result"]["verdict"],
        "ADJUST"
    );
    let settings = world.peer(&[AGREE], 50, "")?;
    let console = Console::open(
        &world,
        &["--config", &settings, "--driver", "none", "--peer", "demo"],
    )?;
    let other = client.call("discuss", &json!({"message": "Another."}))?;
    assert_eq!(other["verdict"], "AGREE");
    let polled = client.call("poll_round", &poll)?;
    assert_eq!(polled["result"]["verdict"], "ADJUST", "{polled}");
    console.kill()
}

#[test]
fn a_client_that_goes_in_a_round_leaves_a_session_that_was_brought_to_its_end() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ADJUST], 20_000, "")?;
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    client.begin("discuss", &json!({"message": "Look."}))?;
    client.round_id()?;
    client.leave()?;
    world.is_left_alone()?;
    let listed = world.run(&["--json", "sessions", "list"])?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let session = &listed["sessions"][0];
    assert_eq!(
        [&session["standing"], &session["verdicts"]["interrupted"]],
        [&json!("closed"), &json!(1)]
    );
    Ok(())
}

#[test]
fn a_question_goes_to_the_human_of_a_client_that_can_ask_one() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[ESCALATE, ESCALATE], 50, "")?;
    let mut client = Client::silent(&world, &["--config", &settings, "--peer", "demo"])?;
    client.greet_with(&json!({"elicitation": {}}))?;
    for (given, wanted) in [
        (
            json!({"action": "accept", "content": {"answer": "Keep them."}}),
            json!({"answer": "Keep them."}),
        ),
        (json!({"action": "decline"}), Value::Null),
    ] {
        let id = client.begin("discuss", &json!({"message": "Look."}))?;
        let asked = client.be_asked()?;
        assert_eq!(asked["method"], "elicitation/create");
        let words = asked["params"]["message"].as_str().unwrap_or_default();
        assert!(words.contains("May old files be deleted?"), "{asked}");
        client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": given}))?;
        let round = client.finish(id)?;
        assert_eq!(
            [&round["verdict"], &round["human"]],
            [&json!("ESCALATE"), &wanted]
        );
    }
    client.leave()?;
    // One that did not say it can is asked nothing.
    let mut client = Client::start(&world, &["--config", &settings, "--peer", "demo"])?;
    let round = client.call("discuss", &json!({"message": "Look."}))?;
    assert_eq!(
        [&round["verdict"], &round["human"]],
        [&json!("ESCALATE"), &Value::Null]
    );
    client.leave()
}

#[test]
fn what_a_reviewer_runs_gets_no_peer_of_its_own() -> Outcome {
    let world = World::new()?;
    let settings = world.peer(&[AGREE], 50, "")?;
    let args = ["--config", &settings, "--peer", "demo"];
    let mut client = Client::silent_in(&world, &args, &[("CODRIVER_SEAT", "peer")])?;
    client.greet()?;
    let told = client.refusal("discuss", &json!({"message": "Look."}))?;
    assert!(told.contains("not-allowed"), "{told}");
    client.leave()
}

#[test]
fn a_role_reviews_the_change_by_its_tool() -> Outcome {
    let world = World::new()?;
    std::fs::write(world.path("repo").join("a.rs"), "fn a() { b().unwrap() }\n")?;
    let mut client = Client::start(&world, &["--peer", "demo"])?;
    let review = client.call("review", &json!({"role": "security-reviewer"}))?;
    assert_eq!(review["schema"], "codriver.review/1", "{review}");
    assert_eq!(
        [&review["word"], &review["route"]["ran"]],
        [&json!("BLOCK"), &json!("host")]
    );
    let text = std::fs::read_to_string(review["return"].as_str().ok_or("a path")?)?;
    assert!(text.contains("## Verdict"), "{text}");
    for (arguments, code) in [
        (json!({"role": "implementer"}), "bad-argument"),
        (json!({"role": "auditor", "base": "-x"}), "bad-argument"),
        (json!({"role": "auditor", "base": "nowhere"}), "failed"),
    ] {
        let told = client.refusal("review", &arguments)?;
        assert!(told.contains(code), "{told}");
    }
    client.leave()?;
    world.is_left_alone()
}
