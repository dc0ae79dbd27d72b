//! `receipts`: what is listed, counted, and found to have been changed.

use std::fs;

use serde_json::{Value, json};

use crate::ground::{Fault, Ground, Test, claude_says};

/// A repository with a round by a runner, and a review that fell back.
fn ground() -> Result<Ground, Fault> {
    let ground = Ground::new("[runner.claude]\n")?;
    ground.runner(
        "claude",
        &claude_says(r"REVIEW: ($tag) fine\\n\\nVERDICT: ADJUST"),
    )?;
    let round = ground.call(&[
        "--headless",
        "--peer",
        "demo",
        "--via",
        "claude",
        "ask-review",
        "Fine?",
    ])?;
    assert_eq!(round.status, Some(10), "{round:?}");
    let review = ground.call(&[
        "--peer",
        "demo",
        "--via",
        "codex",
        "review",
        "--role",
        "security-reviewer",
    ])?;
    assert_eq!(review.status, Some(11), "{review:?}");
    Ok(ground)
}

fn listed(ground: &Ground, args: &[&str]) -> Result<Vec<Value>, Fault> {
    let called = ground.call(&[&["--json", "receipts", "list"], args].concat())?;
    assert_eq!(called.status, Some(0), "{called:?}");
    let list = called.json()?;
    Ok(list["receipts"].as_array().cloned().unwrap_or_default())
}

#[test]
fn receipts_are_listed_chosen_shown_and_counted() -> Test {
    let ground = ground()?;
    // The round of the runner; the fallback, the host's brief and round, and the review.
    assert_eq!(listed(&ground, &[])?.len(), 5);
    for (args, count) in [
        (["--verdict", "adjust"], 1),
        (["--verdict", "BLOCK"], 1),
        (["--verdict", "absent"], 1),
        (["--role", "security-reviewer"], 2),
        (["--route", "claude"], 1),
        (["--route", "codex"], 2),
        (["--since", "1d"], 5),
        (["--since", "2999-01-01"], 0),
    ] {
        assert_eq!(listed(&ground, &args)?.len(), count, "{args:?}");
    }
    let first = &listed(&ground, &["--verdict", "adjust"])?[0];
    let id = first["id"].as_str().ok_or("an id")?;
    let shown = ground
        .call(&["--json", "receipts", "show", &id[..16]])?
        .json()?;
    assert_eq!(&shown, first);
    assert_eq!(ground.call(&["receipts", "show", "rcp_"])?.status, Some(1));
    assert_eq!(ground.call(&["receipts", "show", ""])?.status, Some(1));
    let tally = ground.call(&["--json", "receipts", "tally"])?.json()?;
    assert_eq!(
        tally,
        json!({"schema": "codriver.tally/1", "total": 1, "by_runner": {"codex": 1}, "by_role": {"security-reviewer": 1}})
    );
    let none = ground
        .call(&["--json", "receipts", "tally", "--route", "rp"])?
        .json()?;
    assert_eq!(
        (&none["total"], &none["by_runner"]),
        (&json!(0), &json!({}))
    );
    assert_eq!(
        ground
            .call(&["receipts", "list", "--since", "soon"])?
            .status,
        Some(2)
    );
    Ok(())
}

#[test]
fn what_was_changed_is_found_wherever_it_is() -> Test {
    let ground = ground()?;
    let verified = |wanted: i32| -> Result<String, Fault> {
        let called = ground.call(&["receipts", "verify"])?;
        assert_eq!(called.status, Some(wanted), "{called:?}");
        Ok(called.out)
    };
    assert_eq!(verified(0)?, "5 receipts in 2 sessions: all sound\n");
    for file in ground.files("receipts.jsonl") {
        let before = fs::read_to_string(&file)?;
        assert!(before.contains("\"started_at\":\"2"), "{before}");
        fs::write(
            &file,
            before.replace("\"started_at\":\"2", "\"started_at\":\"1"),
        )?;
        assert!(verified(1)?.contains("receipts: "));
        fs::write(&file, before)?;
    }
    let returns: Vec<_> = ["return", "brief"]
        .iter()
        .flat_map(|what| {
            let mut all = Vec::new();
            for session in ground.files("session.json") {
                let folder = session.with_file_name("transcripts");
                for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    if name.ends_with(&format!("-{what}.md")) {
                        all.push(entry.path());
                    }
                }
            }
            all
        })
        .collect();
    assert_eq!(returns.len(), 2, "{returns:?}");
    for path in &returns {
        let before = fs::read(path)?;
        fs::write(path, "another text")?;
        assert!(verified(1)?.contains("was changed"));
        fs::remove_file(path)?;
        assert!(verified(1)?.contains("is gone"));
        fs::write(path, before)?;
    }
    assert!(verified(0)?.contains("all sound"));
    Ok(())
}

#[test]
fn where_nothing_was_recorded_there_is_nothing_to_show() -> Test {
    let ground = Ground::new("")?;
    let called = ground.call(&["receipts"])?;
    assert_eq!(
        (called.status, called.out.as_str()),
        (Some(0), "no receipts\n")
    );
    let tally = ground.call(&["receipts", "tally"])?;
    assert_eq!(tally.out, "fallbacks  0\n");
    assert_eq!(
        ground.call(&["receipts", "verify"])?.out,
        "0 receipts in 0 sessions: all sound\n"
    );
    Ok(())
}
