//! Role reviews: their way, their return, their records.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use codriver::recording::digest::Digest;
use codriver::recording::fallback::{FailureKind, FallbackReceipt};
use codriver::recording::receipt::Body;
use codriver::recording::review::{ReviewReceipt, Word};
use codriver::run::Run;
use serde_json::{Value, json};

use crate::ground::{Called, Fault, Ground, MARK, SECRET, Test, claude_says};
use crate::server::{GOOD, Manner, Server};

const RUTHLESS: [&str; 6] = [
    "--peer",
    "demo",
    "--json",
    "review",
    "--role",
    "ruthless-reviewer",
];

/// What one review came to.
struct Came {
    called: Called,
    review: Value,
    fallbacks: Vec<FallbackReceipt>,
    receipt: Option<ReviewReceipt>,
    run: Run,
}

fn review(ground: &Ground, args: &[&str]) -> Result<Came, Fault> {
    let called = ground.call(args)?;
    came(ground, called)
}

fn came(ground: &Ground, called: Called) -> Result<Came, Fault> {
    let mut fallbacks = Vec::new();
    let mut receipt = None;
    for body in ground.receipts()? {
        match body {
            Body::Fallback(fell) => fallbacks.push(*fell),
            Body::Review(done) => receipt = Some(*done),
            _ => {}
        }
    }
    let states = ground.files("state.json");
    let [state] = states.as_slice() else {
        return Err(format!("one run, not {states:?}").into());
    };
    let run = Run::read(&fs::read(state)?).ok_or("a state")?;
    Ok(Came {
        review: serde_json::from_str(&called.out).unwrap_or_default(),
        called,
        fallbacks,
        receipt,
        run,
    })
}

/// Sends a review to a server of this manner: it falls back for this reason, once, and the host gets the same brief.
fn falls_back(manner: Manner, more: &[&str], reason: FailureKind) -> Result<String, Fault> {
    let server = Server::start(manner)?;
    let ground = Ground::new(&server.settings())?;
    let args: Vec<&str> = RUTHLESS.iter().chain(more).copied().collect();
    let came = review(&ground, &args)?;
    assert_eq!(came.called.status, Some(11), "{:?}", came.called);
    assert_eq!(
        came.review["route"],
        json!({"asked": "rp", "ran": "host", "model": null})
    );
    let [fell] = came.fallbacks.as_slice() else {
        return Err(format!("one receipt: {:?}", came.fallbacks).into());
    };
    assert_eq!(
        (fell.role.as_str(), fell.asked.as_str(), fell.ran.as_str()),
        ("ruthless-reviewer", "rp", "host")
    );
    assert_eq!(fell.why.reason(), reason, "{fell:?}");
    assert_eq!(came.review["fallback"], serde_json::to_value(&fell.why)?);
    assert_eq!(came.run.fallbacks, came.fallbacks);
    assert!(came.run.awaits.is_empty());
    // What stands at the return is the host's.
    let path = PathBuf::from(came.review["return"].as_str().ok_or("a path")?);
    let text = fs::read_to_string(&path)?;
    assert!(
        text.contains("demo agent") && text.contains("## Verdict"),
        "{text}"
    );
    let brief = fs::read_to_string(path.with_file_name("brief.md"))?;
    let receipt = came.receipt.ok_or("a receipt")?;
    assert_eq!(receipt.brief.sha256, Digest::of(&brief));
    let told = ground.told(&came.called)?;
    for planted in ["planted", SECRET, &format!("localhost:{}", server.port)] {
        let places: Vec<&str> = told.lines().filter(|line| line.contains(planted)).collect();
        // The test's own variable of that name is scrubbed from no place it was never in.
        assert!(places.is_empty(), "{planted}: {places:?}");
    }
    Ok(fell.why.detail().to_string())
}

#[test]
fn a_server_answers_and_the_wire_is_in_order() -> Test {
    for manner in [
        Manner::Says(GOOD),
        Manner::ClosesWith(405),
        Manner::ClosesWith(500),
    ] {
        let server = Server::start(manner)?;
        let ground = Ground::new(&server.settings())?;
        let came = review(&ground, &RUTHLESS)?;
        assert_eq!(came.called.status, Some(0), "{:?}", came.called);
        assert_eq!(
            came.review["route"],
            json!({"asked": "rp", "ran": "rp", "model": null})
        );
        assert_eq!(came.review["word"], "SHIP");
        assert!(came.fallbacks.is_empty() && came.run.fallbacks.is_empty());
        assert_eq!(came.run.reviews[0].sha256, Digest::of(GOOD));
        assert_eq!(came.receipt.map(|receipt| receipt.word), Some(Word::Ship));
        let order = [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/list",
            "tools/call",
            "arguments message",
            "DELETE",
        ];
        assert_eq!(server.seen(), order, "{manner:?}");
    }
    Ok(())
}

#[test]
fn a_server_that_asks_back_is_told_that_there_is_no_such_method() -> Test {
    let server = Server::start(Manner::AsksBack)?;
    let ground = Ground::new(&server.settings())?;
    let came = review(&ground, &RUTHLESS)?;
    assert_eq!(came.review["route"]["ran"], "rp", "{:?}", came.called);
    let replies: Vec<String> = server
        .seen()
        .into_iter()
        .filter(|one| one.starts_with("reply"))
        .collect();
    assert_eq!(replies, ["reply -32601", "reply -32601", "reply -32601"]);
    Ok(())
}

#[test]
fn with_no_address_the_route_is_absent() -> Test {
    let ground = Ground::new("[oracle]\nreview = 'rp'\n")?;
    let came = review(&ground, &RUTHLESS)?;
    assert_eq!(
        came.review["fallback"]["reason"], "absent",
        "{:?}",
        came.called
    );
    Ok(())
}

#[test]
fn a_port_nobody_listens_at_is_unreachable() -> Test {
    let free = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = free.local_addr()?.port();
    drop(free);
    let ground = Ground::new(&format!(
        "[oracle]\nreview = 'rp'\n[oracle.rp]\nurl = 'http://127.0.0.1:{port}/'\n"
    ))?;
    let came = review(&ground, &RUTHLESS)?;
    assert_eq!(
        came.review["fallback"]["reason"], "unreachable",
        "{:?}",
        came.called
    );
    let told = ground.told(&came.called)?;
    assert!(!told.contains(&format!("127.0.0.1:{port}")), "{told}");
    Ok(())
}

#[test]
fn a_server_that_closes_in_the_call_is_unreachable() -> Test {
    falls_back(Manner::HangsUp, &[], FailureKind::Unreachable)?;
    falls_back(Manner::EmptyStream, &[], FailureKind::Unreachable)?;
    Ok(())
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_ten_seconds() -> Test {
    let detail = falls_back(Manner::Silent, &[], FailureKind::Timeout)?;
    assert_eq!(detail, "connecting and setting up took longer than 10 s");
    Ok(())
}

#[test]
fn a_tool_that_says_nothing_is_given_up() -> Test {
    falls_back(
        Manner::SilentCall,
        &["--timeout", "9s"],
        FailureKind::Timeout,
    )?;
    Ok(())
}

#[test]
fn an_error_of_the_server_is_a_refusal_in_our_words() -> Test {
    let error =
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"planted-by-a-server"}}"#;
    falls_back(
        Manner::Answers(500, "application/json", "planted"),
        &[],
        FailureKind::Refused,
    )?;
    falls_back(
        Manner::Answers(403, "text/html", "<p>planted</p>"),
        &[],
        FailureKind::Refused,
    )?;
    // The id is rarely the call's own; whatever it is, nothing of it is told.
    let server = Server::start(Manner::Answers(200, "application/json", error))?;
    let ground = Ground::new(&server.settings())?;
    let came = review(&ground, &[&RUTHLESS[..], &["--timeout", "9s"]].concat())?;
    assert_eq!(came.review["route"]["ran"], "host", "{:?}", came.called);
    assert!(!ground.told(&came.called)?.contains("planted"));
    Ok(())
}

#[test]
fn what_is_not_the_protocol_is_unparsable() -> Test {
    for (kind, body) in [
        ("text/html", "<html>planted</html>"),
        ("application/json", "{\"planted\":"),
        ("application/json", "[]"),
        ("text/event-stream", "data: planted\n\n"),
    ] {
        falls_back(
            Manner::Answers(200, kind, body),
            &[],
            FailureKind::Unparsable,
        )?;
    }
    falls_back(Manner::Redirects, &[], FailureKind::Unparsable)?;
    let detail = falls_back(Manner::Floods(9 << 20), &[], FailureKind::Unparsable)?;
    assert_eq!(detail, "its answer is larger than 8 MiB");
    Ok(())
}

#[test]
fn what_is_no_return_is_invalid_and_does_not_stay() -> Test {
    for text in [
        "planted, without a verdict",
        "## Verdict\nSHIP\n\n## Verdict\nSHIP\n",
        "## Verdict\nplanted",
    ] {
        falls_back(Manner::Says(text), &[], FailureKind::Invalid)?;
    }
    Ok(())
}

#[test]
fn a_return_somebody_wrote_meanwhile_counts_and_the_answer_is_kept_aside() -> Test {
    let ground = Ground::new("[runner.claude]\n")?;
    // The runner itself plays the host that writes while it works; it finds the place in its prompt.
    let script = format!(
        "path=$(printf '%s' \"$*\" | sed -n 's/^The return: //p')\nprintf '## Verdict\\n\\nFIX FIRST\\n' > \"$path\"\nprintf old > \"$(dirname \"$path\")/claude-return.md\"\n{}",
        claude_says(r"Kept.\\n\\n## Verdict\\n\\nSHIP")
    );
    ground.runner("claude", &script)?;
    let came = review(
        &ground,
        &[&RUTHLESS[..], &["--via", "claude", "--no-confine"]].concat(),
    )?;
    assert_eq!(came.called.status, Some(11), "{:?}", came.called);
    assert_eq!(came.review["word"], "FIX FIRST");
    assert_eq!(
        came.review["route"],
        json!({"asked": "claude", "ran": "host", "model": null})
    );
    let folder = PathBuf::from(came.review["return"].as_str().ok_or("a path")?);
    let read = |name: &str| fs::read_to_string(folder.with_file_name(name));
    assert_eq!(read("claude-return.md")?, "old");
    assert_eq!(read("claude-return-2.md")?, "Kept.\n\n## Verdict\n\nSHIP");
    let remark = came.review["remarks"][0].as_str().unwrap_or_default();
    assert!(
        remark.contains("claude-return-2.md") && remark.contains("recorded nowhere"),
        "{remark}"
    );
    assert!(came.fallbacks.is_empty());
    Ok(())
}

#[test]
fn a_runner_answers_and_two_runs_of_one_request_differ_in_the_route_alone() -> Test {
    let text = "Fine.\n\n## Verdict\n\nFIX FIRST";
    let mut receipts = Vec::new();
    for via in ["claude", "host"] {
        let ground = Ground::new("[runner.claude]\n")?;
        // Shut in or not, it can read its brief.
        let reads = "brief=$(printf '%s' \"$*\" | sed -n 's/^The brief: //p')\ngrep -q 'What is reviewed' \"$brief\" || exit 9\n";
        let says = claude_says(&text.replace('\n', r"\\n"));
        ground.runner("claude", &format!("{reads}{says}"))?;
        let came = review(&ground, &[&RUTHLESS[..], &["--via", via]].concat())?;
        assert_eq!(came.called.status, Some(11), "{:?}", came.called);
        let mut receipt = serde_json::to_value(came.receipt.ok_or("a receipt")?)?;
        let route = receipt["route"].take();
        assert_eq!(route["ran"], via);
        assert_eq!(
            route["model"],
            if via == "claude" {
                json!("m-1")
            } else {
                json!(null)
            }
        );
        // Where a run lies, and what was answered, is its own.
        for own in ["run", "started_at", "elapsed_ms", "return", "brief"] {
            receipt[own].take();
        }
        receipts.push(receipt);
    }
    assert_eq!(receipts[0], receipts[1]);
    Ok(())
}

#[test]
fn codex_writes_the_return_by_itself_and_leaves_nothing_when_it_fails() -> Test {
    let codex = |text: &str, end: &str| {
        format!(
            r#"for word in "$@"; do case "$word" in --output-last-message=*) path="${{word#*=}}";; esac; done
printf '%b' '{text}' > "$path"
printf '{{"type":"thread.started","thread_id":"t-1"}}\n'
printf '{{"type":"item.completed","item":{{"type":"agent_message","text":"%s"}}}}\n' '{text}'
{end}"#
        )
    };
    let done = r#"printf '{"type":"turn.completed"}\n'"#;
    for more in [&["--via", "codex"][..], &["--via", "codex", "--no-confine"]] {
        let ground = Ground::new("[runner.codex]\n")?;
        ground.runner("codex", &codex(r"Fine.\n\n## Verdict\n\nSHIP", done))?;
        let came = review(&ground, &[&RUTHLESS[..], more].concat())?;
        assert_eq!(
            (came.called.status, &came.review["route"]["ran"]),
            (Some(0), &json!("codex")),
            "{:?}",
            came.called
        );
    }
    for (text, end) in [
        (r"planted", done),
        (r"## Verdict\n\nSHIP", "exit 1"),
        ("", "exit 1"),
    ] {
        let ground = Ground::new("[runner.codex]\n")?;
        ground.runner("codex", &codex(text, end))?;
        let came = review(
            &ground,
            &[&RUTHLESS[..], &["--via", "codex", "--no-confine"]].concat(),
        )?;
        assert_eq!(
            came.review["route"]["ran"], "host",
            "{text}: {:?}",
            came.called
        );
        assert_eq!(came.fallbacks.len(), 1);
    }
    Ok(())
}

#[test]
fn an_interruption_leaves_the_request_to_the_host_and_no_return() -> Test {
    let server = Server::start(Manner::SilentCall)?;
    let ground = Ground::new(&server.settings())?;
    let child = ground
        .command(&RUTHLESS)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let is_called = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        server.seen().iter().any(|one| one == "tools/call")
    });
    assert!(is_called, "{:?}", server.seen());
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).ok_or("a pid")?;
    rustix::process::kill_process(id, rustix::process::Signal::INT)?;
    let output = child.wait_with_output()?;
    let called = Called {
        status: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    };
    let came = came(&ground, called)?;
    assert_eq!(came.called.status, Some(130), "{:?}", came.called);
    assert_eq!(came.fallbacks.len(), 1);
    assert_eq!(came.fallbacks[0].why.reason(), FailureKind::Interrupted);
    assert_eq!(came.fallbacks[0].ran, "host");
    let [open] = came.run.awaits.as_slice() else {
        return Err("the request stays open".into());
    };
    assert!(open.answered.is_none() && !PathBuf::from(&open.return_path).exists());
    Ok(())
}

#[test]
fn a_request_that_is_open_is_asked_once_and_taken_up_again_when_its_opener_is_gone() -> Test {
    let ground = Ground::new("[runner.claude]\n")?;
    let started = ground.at("started");
    ground.runner(
        "claude",
        &format!("touch {}; exec sleep 871", started.display()),
    )?;
    let args = [&RUTHLESS[..], &["--via", "claude", "--no-confine"]].concat();
    let mut first = ground
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let is_asked = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        started.exists()
    });
    assert!(is_asked);
    fs::remove_file(&started)?;
    let second = ground.call(&args)?;
    assert_eq!(second.status, Some(14), "{second:?}");
    assert!(
        second
            .err
            .contains("busy: this review is being asked for already"),
        "{second:?}"
    );
    assert!(!started.exists(), "nothing is started a second time");
    first.kill()?;
    first.wait()?;
    let third = ground.call(&RUTHLESS)?;
    assert_eq!(
        (third.status, &third.json()?["round"]),
        (Some(11), &json!(1)),
        "{third:?}"
    );
    let fourth = ground.call(&RUTHLESS)?;
    assert_eq!(fourth.json()?["round"], 2, "{fourth:?}");
    Ok(())
}

/// Has somebody take the run's lock once the runner works, and hold it for so long.
fn hold_lock(ground: &Ground, seconds: u64) -> std::thread::JoinHandle<Result<(), String>> {
    let state = ground.at("state");
    std::thread::spawn(move || {
        let told = |error: std::io::Error| error.to_string();
        for _ in 0..500 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let (mut locks, mut sessions) = (Vec::new(), 0);
            crate::ground::walk(&state, &mut |path| match path.file_name() {
                Some(name) if name == "lock" => locks.push(path.to_path_buf()),
                Some(name) if name == "brief.md" => sessions += 1,
                _ => {}
            });
            // The brief is written behind the lock was let go.
            if let (Some(lock), 1..) = (locks.first(), sessions) {
                let file = fs::OpenOptions::new()
                    .write(true)
                    .open(lock)
                    .map_err(told)?;
                let operation = rustix::fs::FlockOperation::LockExclusive;
                rustix::fs::flock(&file, operation).map_err(|error| error.to_string())?;
                std::thread::sleep(std::time::Duration::from_secs(seconds));
                return Ok(());
            }
        }
        Err("no lock was ever there".to_owned())
    })
}

#[test]
fn a_lock_that_stays_held_keeps_the_answer_and_says_where() -> Test {
    let ground = Ground::new("[runner.claude]\n")?;
    let says = claude_says(r"Kept.\\n\\n## Verdict\\n\\nSHIP");
    ground.runner("claude", &format!("sleep 2\n{says}"))?;
    let holder = hold_lock(&ground, 14);
    let called = ground.call(&[&RUTHLESS[..], &["--via", "claude"]].concat())?;
    assert_eq!(called.status, Some(14), "{called:?}");
    assert!(
        called.err.contains("busy") && called.err.contains("claude-return.md"),
        "{called:?}"
    );
    assert_eq!(ground.files("claude-return.md").len(), 1);
    holder.join().map_err(|_| "the holder")??;
    Ok(())
}

#[test]
fn the_receipt_of_a_fallback_is_written_although_the_lock_is_contended() -> Test {
    let ground = Ground::new("[runner.claude]\n")?;
    ground.runner("claude", "sleep 2\nexit 1")?;
    let holder = hold_lock(&ground, 7);
    let came = review(&ground, &[&RUTHLESS[..], &["--via", "claude"]].concat())?;
    assert_eq!(came.called.status, Some(11), "{:?}", came.called);
    assert_eq!((came.fallbacks.len(), came.run.fallbacks.len()), (1, 1));
    assert_eq!(came.run.tally.total, 1);
    holder.join().map_err(|_| "the holder")??;
    Ok(())
}

#[test]
fn a_panel_shows_both_answers_and_merges_nothing() -> Test {
    let ground = Ground::new("[runner.claude]\n[runner.opencode]\n")?;
    ground.runner("claude", &claude_says(r"One.\\n\\n## Verdict\\n\\nSHIP"))?;
    ground.runner(
        "opencode",
        r#"printf '{"type":"text","sessionID":"s","part":{"text":"Two.\\n\\n## Verdict\\n\\nFIX FIRST"}}\n{"type":"step_finish"}\n'"#,
    )?;
    let args = |panel: &'static str| {
        [
            "--peer",
            "demo",
            "--json",
            "review",
            "--role",
            "ruthless-reviewer",
            "--panel",
            panel,
        ]
    };
    let called = ground.call(&args("claude,opencode"))?;
    let panel = called.json()?;
    assert_eq!(called.status, Some(11), "{called:?}");
    assert_eq!(panel["same_word"], false);
    let words: Vec<&Value> = panel["seats"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|seat| &seat["review"]["word"])
        .collect();
    assert_eq!(words, ["SHIP", "FIX FIRST"]);
    // One that gives no review is an empty seat; nobody sits down in its place.
    let ground = Ground::new("[runner.claude]\n[runner.opencode]\n")?;
    ground.runner("claude", &claude_says(r"One.\\n\\n## Verdict\\n\\nSHIP"))?;
    let called = ground.call(&args("opencode,claude"))?;
    let panel = called.json()?;
    assert_eq!(called.status, Some(1), "{called:?}");
    assert_eq!(panel["seats"][0]["review"], json!(null));
    assert_eq!(panel["seats"][1]["review"]["word"], "SHIP");
    Ok(())
}

#[test]
fn a_dry_run_tells_what_would_be_sent_and_does_nothing() -> Test {
    let ground = Ground::new("[runner.claude]\n")?;
    let trace = ground.at("trace");
    ground.runner("claude", &format!("touch {}", trace.display()))?;
    let called = ground.call(&[&RUTHLESS[..], &["--via", "claude", "--dry-run"]].concat())?;
    let told = called.json()?;
    assert_eq!(
        (
            called.status,
            &told["ways"][0]["first"],
            &told["ways"][0]["then"]
        ),
        (Some(0), &json!("claude"), &json!("host"))
    );
    let sent = &told["ways"][0]["sent"];
    let text = sent["text"].as_str().unwrap_or_default();
    assert_eq!(
        (sent["bytes"].as_u64(), sent["sha256"].as_str()),
        (Some(text.len() as u64), Some(Digest::of(text).as_str()))
    );
    assert!(
        told["brief"]["text"]
            .as_str()
            .is_some_and(|brief| brief.contains("+fn a() { b() }"))
    );
    assert!(
        !trace.exists()
            && ground.files("state.json").is_empty()
            && ground.files("session.json").is_empty()
    );
    Ok(())
}

#[test]
fn a_report_goes_with_the_brief_unless_it_claims_a_verdict() -> Test {
    let ground = Ground::new("")?;
    fs::write(ground.at("notes.md"), "I changed a().\n")?;
    let args = [&RUTHLESS[..], &["--report", "../notes.md"]].concat();
    let came = review(&ground, &args)?;
    let brief =
        PathBuf::from(came.review["return"].as_str().ok_or("a path")?).with_file_name("brief.md");
    assert!(fs::read_to_string(brief)?.contains("I changed a()."));
    fs::write(ground.at("notes.md"), "Done.\n\n## Verdict\nSHIP\n")?;
    let refused = ground.call(&args)?;
    assert_eq!(refused.status, Some(14), "{refused:?}");
    assert!(
        refused.err.contains("`../notes.md` claims a verdict"),
        "{refused:?}"
    );
    Ok(())
}

#[test]
fn nothing_to_review_is_said_and_committed_work_needs_a_base() -> Test {
    let ground = Ground::new("")?;
    ground.git(&["commit", "-q", "-a", "-m", "two"])?;
    let called = ground.call(&RUTHLESS)?;
    assert_eq!(called.status, Some(14), "{called:?}");
    assert!(
        called.err.contains("nothing to review") && called.err.contains("--base"),
        "{called:?}"
    );
    let based = ground.call(&[&RUTHLESS[..], &["--base", "HEAD~1"]].concat())?;
    assert_eq!(based.status, Some(11), "{based:?}");
    fs::write(ground.at("repo/new.rs"), "fn new() {}\n")?;
    let untracked = ground.call(&RUTHLESS)?;
    assert_eq!(untracked.status, Some(11), "{untracked:?}");
    let no_such = ground.call(&[&RUTHLESS[..], &["--base", MARK]].concat())?;
    assert_eq!(no_such.status, Some(1), "{no_such:?}");
    Ok(())
}

#[test]
fn roles_that_are_not_reviewers_are_not_asked_here() -> Test {
    let ground = Ground::new("")?;
    for role in ["implementer", "peer", "poet"] {
        let called = ground.call(&["--peer", "demo", "review", "--role", role])?;
        assert_eq!(called.status, Some(2), "{called:?}");
    }
    Ok(())
}
