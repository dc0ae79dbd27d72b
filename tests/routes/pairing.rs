//! Pairing rounds that go to a runner, and what takes over when it does not answer.

use std::process::Stdio;

use codriver::recording::fallback::{FailureKind, FallbackReceipt};
use codriver::recording::receipt::Body;
use codriver::recording::word::{Kind, Verdict};
use serde_json::json;

use crate::ground::{Fault, Ground, MARK, SECRET, Test, claude_says};

const ASK: [&str; 8] = [
    "--headless",
    "--json",
    "--peer",
    "demo",
    "--via",
    "claude",
    "ask-review",
    "Fine?",
];
const ENABLED: &str = "[runner.claude]\n";

fn fallbacks(bodies: &[Body]) -> Vec<&FallbackReceipt> {
    bodies
        .iter()
        .filter_map(|body| match body {
            Body::Fallback(fell) => Some(&**fell),
            _ => None,
        })
        .collect()
}

/// Routes a round to this script: it falls back for this reason, once, and the host answers. Gives the detail.
fn falls_back(
    settings: &str,
    script: Option<&str>,
    more: &[&str],
    reason: FailureKind,
) -> Result<String, Fault> {
    let ground = Ground::new(settings)?;
    if let Some(script) = script {
        ground.runner("claude", script)?;
    }
    let args: Vec<&str> = ASK.iter().chain(more).copied().collect();
    let called = ground.call(&args)?;
    let round = called.json()?;
    // The demo agent was sent no diff, and says so.
    assert_eq!(
        (called.status, &round["verdict"]),
        (Some(10), &json!("ADJUST")),
        "{called:?}"
    );
    assert_eq!(round["route"], json!({"asked": "claude", "ran": "host"}));
    assert_eq!(round["peer"]["harness"], "demo");
    let bodies = ground.receipts()?;
    let fell = fallbacks(&bodies);
    let [fell] = fell.as_slice() else {
        return Err(format!("one receipt: {bodies:?}").into());
    };
    assert_eq!(
        (fell.role.as_str(), fell.asked.as_str(), fell.ran.as_str()),
        ("peer", "claude", "host")
    );
    assert_eq!(fell.why.reason(), reason, "{fell:?}");
    assert_eq!(round["fallback"], serde_json::to_value(&fell.why)?);
    let Some(Body::Round(last)) = bodies.last() else {
        return Err("the last receipt is the round's".into());
    };
    assert_eq!(
        (last.kind, last.fallback.as_ref()),
        (Kind::Implementation, Some(&fell.why))
    );
    let told = ground.told(&called)?;
    assert!(!told.contains(MARK) && !told.contains(SECRET), "{told}");
    assert!(!ground.transcripts()?.contains(SECRET));
    Ok(fell.why.detail().to_string())
}

#[test]
fn a_runner_answers_in_place_of_the_peer() -> Test {
    let ground = Ground::new(ENABLED)?;
    let script = format!(
        "{}\nenv >&2",
        claude_says(r"REVIEW: ($tag) from a runner\\n\\nVERDICT: AGREE")
    );
    ground.runner("claude", &script)?;
    let called = ground.call(&ASK)?;
    let round = called.json()?;
    assert_eq!(called.status, Some(0), "{called:?}");
    assert_eq!(round["rationale"], "from a runner");
    assert_eq!(round["source"], "channel");
    assert_eq!(round["route"], json!({"asked": "claude", "ran": "claude"}));
    assert_eq!(round["fallback"], json!(null));
    let bodies = ground.receipts()?;
    let [Body::Round(receipt)] = bodies.as_slice() else {
        return Err(format!("one receipt, of the round: {bodies:?}").into());
    };
    assert_eq!(
        (receipt.verdict, receipt.harness.as_str()),
        (Some(Verdict::Agree), "claude")
    );
    assert!(receipt.scrubbed.iter().any(|name| name == "CLAUDECODE"));
    // The child has its credential, and nothing that would lead git elsewhere or make it nested.
    let transcript = ground.transcripts()?;
    assert!(
        transcript.starts_with("runner: claude\nrole: peer\n"),
        "{transcript}"
    );
    assert!(
        transcript.contains("---- standard error ----"),
        "{transcript}"
    );
    assert!(
        transcript.contains("ANTHROPIC_API_KEY=[redacted]"),
        "{transcript}"
    );
    for kept in ["GIT_DIR=", "GIT_CONFIG_PARAMETERS=", "CLAUDECODE=", SECRET] {
        assert!(!transcript.contains(kept), "{kept}: {transcript}");
    }
    let repo = ground.at("repo").canonicalize()?;
    assert!(
        transcript.contains(&format!("PWD={}", repo.display())),
        "{transcript}"
    );
    Ok(())
}

#[test]
fn an_agreement_without_the_tag_is_none() -> Test {
    let ground = Ground::new(ENABLED)?;
    ground.runner("claude", &claude_says(r"REVIEW: fine\\n\\nVERDICT: AGREE"))?;
    let called = ground.call(&ASK)?;
    let round = called.json()?;
    assert_eq!(
        (called.status, &round["reason"]),
        (Some(13), &json!("untagged")),
        "{called:?}"
    );
    Ok(())
}

#[test]
fn one_that_is_not_enabled_is_absent() -> Test {
    let says = claude_says("REVIEW: x");
    let detail = falls_back("", Some(&says), &[], FailureKind::Absent)?;
    assert!(detail.contains("`[runner.claude]` is missing"), "{detail}");
    Ok(())
}

#[test]
fn one_that_is_not_installed_is_absent() -> Test {
    let detail = falls_back(ENABLED, None, &[], FailureKind::Absent)?;
    assert_eq!(
        detail,
        "claude is not started: its program is not on the search path"
    );
    Ok(())
}

#[test]
fn an_error_of_its_own_is_a_refusal() -> Test {
    let script = format!(
        r#"echo '{{"type":"result","subtype":"Error {MARK}","is_error":true,"result":"{MARK}"}}'"#
    );
    let detail = falls_back(ENABLED, Some(&script), &[], FailureKind::Refused)?;
    assert_eq!(detail, "it answered with an error");
    Ok(())
}

#[test]
fn a_status_that_is_not_zero_is_a_failure_whatever_it_said() -> Test {
    let script = format!(
        "{}\necho {MARK} $ANTHROPIC_API_KEY >&2\nexit 1",
        claude_says(r"REVIEW: ($tag) fine\\n\\nVERDICT: AGREE")
    );
    let detail = falls_back(ENABLED, Some(&script), &[], FailureKind::Failed)?;
    assert_eq!(detail, "it ended with status 1");
    Ok(())
}

#[test]
fn garbage_is_unparsable() -> Test {
    let script = format!("echo {MARK}");
    falls_back(ENABLED, Some(&script), &[], FailureKind::Unparsable)?;
    Ok(())
}

#[test]
fn an_empty_answer_with_status_zero_is_invalid() -> Test {
    let detail = falls_back(ENABLED, Some(&claude_says("")), &[], FailureKind::Invalid)?;
    assert_eq!(detail, "it answered nothing");
    Ok(())
}

#[test]
fn a_runner_that_hangs_is_ended_with_what_it_started() -> Test {
    // It reads its input to the end first, which comes at once.
    let script = "cat; sleep 873 & sleep 873";
    let detail = falls_back(
        ENABLED,
        Some(script),
        &["--timeout", "9s"],
        FailureKind::Timeout,
    )?;
    assert_eq!(detail, "it did not end in its time of 9 s");
    Ok(())
}

#[test]
fn a_limit_that_is_reached_is_no_fallback() -> Test {
    let ground = Ground::new(ENABLED)?;
    let script = format!(
        r#"echo '{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","x":"{MARK}"}}}}'
exit 1"#
    );
    ground.runner("claude", &script)?;
    let called = ground.call(&ASK)?;
    assert_eq!(
        (called.status, called.out.as_str()),
        (Some(1), ""),
        "{called:?}"
    );
    assert!(
        called.err.contains("claude did not answer (rate-limited)"),
        "{called:?}"
    );
    assert_eq!(ground.receipts()?, []);
    assert!(!ground.told(&called)?.contains(MARK));
    Ok(())
}

#[test]
fn an_interruption_leaves_its_receipt_and_no_process() -> Test {
    let ground = Ground::new(ENABLED)?;
    let pid = ground.at("pid");
    ground.runner(
        "claude",
        &format!("echo $$ > {}; exec sleep 874", pid.display()),
    )?;
    let child = ground
        .command(&[&["--no-confine"], &ASK[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let started = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    assert!(started, "the runner was started");
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).ok_or("a pid")?;
    rustix::process::kill_process(id, rustix::process::Signal::INT)?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(130));
    let bodies = ground.receipts()?;
    let [Body::Fallback(fell)] = bodies.as_slice() else {
        return Err(format!("one receipt: {bodies:?}").into());
    };
    assert_eq!(
        (fell.why.reason(), fell.ran.as_str()),
        (FailureKind::Interrupted, "none")
    );
    let runner: i32 = std::fs::read_to_string(&pid)?.trim().parse()?;
    let gone = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        !std::fs::read_to_string(format!("/proc/{runner}/cmdline"))
            .is_ok_and(|line| line.contains("874"))
    });
    assert!(gone, "the runner is gone");
    Ok(())
}

#[test]
fn a_server_that_cannot_be_asked_is_told_and_not_passed_over() -> Test {
    let ground = Ground::new("[runner.opencode]\nserver = 'http://127.0.0.1:9/'\n")?;
    ground.runner("opencode", "exec false")?;
    let mut words = ASK;
    words[5] = "opencode";
    let called = ground.call(&words)?;
    let round = called.json()?;
    assert_eq!(round["fallback"]["reason"], "absent", "{called:?}");
    let detail = round["fallback"]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("runner.opencode.server"), "{detail}");
    Ok(())
}

#[test]
fn a_runner_does_not_outlive_a_console_that_is_killed() -> Test {
    for words in [&["--no-confine"][..], &[]] {
        let ground = Ground::new(ENABLED)?;
        // No word a shell would make its own process of: what is looked for is this test's alone.
        let home = ground.at("");
        ground.runner("claude", "exec sleep 875")?;
        let mut child = ground
            .command(&[words, &ASK[..]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mark = home.display().to_string();
        let runners = || -> usize {
            let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
            let ours = entries.filter(|entry| {
                let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
                let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                let about = String::from_utf8_lossy(&read("environ")).into_owned();
                about.contains(&mark) && words.contains("875")
            });
            ours.count()
        };
        let until = |wanted: &dyn Fn(usize) -> bool| {
            (0..500).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                wanted(runners())
            })
        };
        assert!(
            until(&|count| count > 0),
            "the runner was started: {words:?}"
        );
        child.kill()?;
        child.wait()?;
        assert!(until(&|count| count == 0), "the runner is gone: {words:?}");
    }
    Ok(())
}

#[test]
fn a_program_in_the_repository_is_never_started() -> Test {
    let ground = Ground::new(ENABLED)?;
    let trace = ground.at("trace");
    let script = format!("#!/bin/sh\ntouch {}\n", trace.display());
    let path = ground.at("repo/claude");
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    std::os::unix::fs::symlink("../repo/claude", ground.at("bin/claude"))?;
    let called = ground.call(&ASK)?;
    let round = called.json()?;
    assert_eq!(round["fallback"]["reason"], "absent", "{called:?}");
    assert_eq!(
        round["fallback"]["detail"],
        "claude is not started: its program lies in the folder that is worked on"
    );
    assert!(!trace.exists());
    Ok(())
}

#[test]
fn a_stand_in_takes_the_place_of_a_host_that_is_missing() -> Test {
    let settings = "[pair]\npeer = 'codex'\n[runner]\nfallback_host = 'claude'\n[runner.claude]\n[runner.opencode]\n";
    let says = claude_says(r"REVIEW: ($tag) from the stand-in\\n\\nVERDICT: OBJECT");
    // Nothing is routed: the stand-in does the host's work, and that is no fallback.
    let ground = Ground::new(settings)?;
    ground.runner("claude", &says)?;
    let called = ground.call(&["--headless", "--json", "ask-review", "Fine?"])?;
    let round = called.json()?;
    assert_eq!(called.status, Some(11), "{called:?}");
    assert_eq!(round["route"], json!({"asked": "host", "ran": "claude"}));
    assert!(fallbacks(&ground.receipts()?).is_empty());
    // Routed to a runner that is missing: a receipt, and the stand-in.
    let ground = Ground::new(settings)?;
    ground.runner("claude", &says)?;
    let called = ground.call(&[
        "--headless",
        "--json",
        "--via",
        "opencode",
        "ask-review",
        "Fine?",
    ])?;
    let round = called.json()?;
    assert_eq!(
        round["route"],
        json!({"asked": "opencode", "ran": "claude"}),
        "{called:?}"
    );
    let bodies = ground.receipts()?;
    assert_eq!(fallbacks(&bodies).len(), 1);
    assert_eq!(fallbacks(&bodies)[0].ran, "claude");
    // The stand-in itself fails: nothing is left, and the receipt says so.
    let ground = Ground::new(settings)?;
    ground.runner("claude", "exit 3")?;
    let called = ground.call(&[
        "--headless",
        "--json",
        "--via",
        "claude",
        "ask-review",
        "Fine?",
    ])?;
    assert_eq!(called.status, Some(1), "{called:?}");
    assert_eq!(fallbacks(&ground.receipts()?)[0].ran, "none");
    // Both fail: the error names both, and the first receipt stays alone.
    let ground = Ground::new(settings)?;
    ground.runner("claude", "exit 3")?;
    let called = ground.call(&[
        "--headless",
        "--json",
        "--via",
        "opencode",
        "ask-review",
        "Fine?",
    ])?;
    assert_eq!(called.status, Some(1), "{called:?}");
    for part in [
        "opencode did not answer (absent)",
        "claude did not answer (failed)",
    ] {
        assert!(called.err.contains(part), "{called:?}");
    }
    assert_eq!(fallbacks(&ground.receipts()?).len(), 1);
    Ok(())
}

#[test]
fn with_neither_host_nor_stand_in_nothing_is_started() -> Test {
    let ground = Ground::new("[pair]\npeer = 'codex'\n[runner.claude]\n")?;
    let trace = ground.at("trace");
    ground.runner("claude", &format!("touch {}", trace.display()))?;
    let called = ground.call(&["--headless", "--via", "claude", "ask-review", "Fine?"])?;
    assert_eq!(called.status, Some(14), "{called:?}");
    assert!(called.err.contains("`runner.fallback_host`"), "{called:?}");
    assert!(!trace.exists());
    Ok(())
}

#[test]
fn where_no_receipt_can_be_written_nothing_is_started() -> Test {
    let ground = Ground::new(ENABLED)?;
    let trace = ground.at("trace");
    ground.runner("claude", &format!("touch {}", trace.display()))?;
    std::fs::remove_dir(ground.at("state"))?;
    std::fs::write(ground.at("state"), "")?;
    let called = ground.call(&ASK)?;
    assert_eq!(called.status, Some(14), "{called:?}");
    assert!(!trace.exists());
    Ok(())
}
