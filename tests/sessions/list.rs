//! Listing, showing and letting go.

use std::fs;

use codriver::recording::summary::Sessions;
use codriver::recording::word::Verdict;

use super::world::{Test, World};

const BEGAN: u64 = 1_700_000_000;

fn ids(list: &serde_json::Value) -> Result<Vec<String>, serde_json::Error> {
    let list: Sessions = serde_json::from_value(list.clone())?;
    Ok(list.sessions.into_iter().map(|one| one.id).collect())
}

fn id(folder: &std::path::Path) -> String {
    folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn sessions_are_listed_newest_first_and_filtered() -> Test {
    let world = World::new()?;
    let mut first = world.begin(BEGAN, "codex");
    first.round(1, Verdict::Object);
    first.round(2, Verdict::Agree);
    let first = id(&first.close(90));
    let second = id(&world.begin(BEGAN + 60, "claude").close(5));
    let third = world
        .begin_in(BEGAN + 120, "codex", "other-000000000000")
        .close(5);
    let open = world.begin(BEGAN + 180, "demo");
    let open_id = id(&open.folder());
    open.recorder.settle(std::time::Duration::from_secs(10));

    let list = |args: &[&str]| -> Result<Vec<String>, super::world::Fault> {
        let mut all = vec!["--json", "sessions", "list"];
        all.extend(args);
        Ok(ids(&world.json(&all)?)?)
    };
    assert_eq!(list(&[])?, [&open_id, &second, &first].map(String::clone));
    assert_eq!(list(&["--all"])?.len(), 4);
    assert_eq!(list(&["--repo", "other"])?, [id(&third)]);
    assert_eq!(list(&["--harness", "codex"])?, std::slice::from_ref(&first));
    assert_eq!(
        list(&["--verdict", "object"])?,
        std::slice::from_ref(&first)
    );
    assert_eq!(list(&["--longer", "60s"])?, std::slice::from_ref(&first));

    let value = world.json(&["--json", "sessions"])?;
    assert_eq!(value["sessions"][0]["standing"], "open");
    assert_eq!(value["sessions"][2]["rounds"], 2);
    assert_eq!(value["sessions"][2]["last"], "AGREE");
    assert_eq!(value["sessions"][2]["length_ms"], 90_000);
    let shown = world.run(&["sessions"])?.out;
    assert!(shown.contains("2: 1 AGREE, 1 OBJECT"), "{shown}");
    let all = world.run(&["sessions", "list", "--ids"])?.out;
    assert_eq!(all.lines().count(), 4);
    drop(open);
    Ok(())
}

#[test]
fn a_session_is_found_by_the_start_of_its_id() -> Test {
    let world = World::new()?;
    let mut first = world.begin(BEGAN, "codex");
    let receipt = first.round(1, Verdict::Object).ok_or("no receipt")?;
    let first = first.close(90);
    world.begin(BEGAN + 1, "claude").close(5);
    let shown = world.run(&["sessions", "show", &id(&first)[..15]])?;
    assert_eq!(shown.status, Some(0), "{}", shown.err);
    assert!(
        shown.out.contains(&receipt) && shown.out.contains("OBJECT"),
        "{}",
        shown.out
    );
    let several = world.run(&["sessions", "show", "20231114"])?;
    assert_eq!(several.status, Some(1));
    assert!(
        several.err.contains("several sessions begin with"),
        "{}",
        several.err
    );
    let none = world.run(&["sessions", "show", "x\u{1b}[2J"])?;
    assert_eq!(none.status, Some(1));
    assert!(!none.err.contains('\u{1b}'), "{}", none.err);
    let last = world.json(&["--json", "sessions", "show", "last"])?;
    assert_eq!(last["peer"], "claude");
    let by_folder = world.json(&["--json", "sessions", "show", &first.to_string_lossy()])?;
    assert_eq!(by_folder["round_receipts"][0]["id"], receipt.as_str());
    Ok(())
}

#[test]
fn old_sessions_go_and_open_ones_never() -> Test {
    let world = World::new()?;
    let old = world.begin(BEGAN, "codex").close(90);
    let open = world.begin(BEGAN + 1, "codex");
    open.recorder.settle(std::time::Duration::from_secs(10));
    let folder = open.folder();
    let dry = world.json(&["--json", "sessions", "prune", "--dry-run"])?;
    assert_eq!(dry["removed"], serde_json::json!([id(&old)]));
    assert!(old.exists());
    let gone = world.run(&["sessions", "prune"])?;
    assert_eq!(gone.status, Some(0), "{}", gone.err);
    assert!(!old.exists() && folder.exists());
    world.run(&["sessions", "prune", "--megabytes", "0"])?;
    assert!(folder.exists());
    let closed = open.close(1);
    world.run(&["sessions", "prune", "--days", "36500", "--megabytes", "0"])?;
    assert!(!closed.exists());
    Ok(())
}

#[test]
fn what_is_broken_is_told_and_the_rest_is_shown() -> Test {
    let world = World::new()?;
    let mut one = world.begin(BEGAN, "codex");
    one.round(1, Verdict::Object);
    let one = one.close(90);
    let file = one.join("session.json");
    let text = fs::read_to_string(&file)?;

    fs::write(
        &file,
        text.replace("codriver.session/1", "codriver.session/9"),
    )?;
    let newer = world.run(&["sessions", "show", "last"])?;
    assert_eq!(newer.status, Some(0), "{}", newer.err);
    assert!(
        newer.out.contains("codriver.session/9") && newer.out.contains("OBJECT"),
        "{}",
        newer.out
    );

    for garbage in [&b""[..], b"\xff\xfe{", b"{\"schema\":"] {
        fs::write(&file, garbage)?;
        let shown = world.run(&["sessions", "show", "last"])?;
        assert!(
            shown.out.contains("is no session file"),
            "{}{}",
            shown.out,
            shown.err
        );
    }
    fs::remove_file(&file)?;
    let shown = world.run(&["sessions", "list"])?;
    assert!(shown.out.contains("unreadable !"), "{}", shown.out);

    fs::write(&file, &text)?;
    let receipts = one.join("receipts.jsonl");
    let lines = fs::read_to_string(&receipts)?;
    fs::write(&receipts, lines.replace("OBJECT", "AGREE"))?;
    let shown = world.run(&["sessions", "show", "last"])?;
    assert!(shown.out.contains("fault     receipts: "), "{}", shown.out);
    Ok(())
}
