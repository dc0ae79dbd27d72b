//! Which lock a peer gets, where it is told, and what happens where there is none.

use std::fs;
use std::process::Output;

use crate::world::{Fault, Outcome, PROGRAM, World, locks, say};

tests! {
    the_lock_is_named_in_the_result_and_the_receipt,
    without_namespaces_landlock_is_taken,
    without_any_lock_it_is_said_once_and_a_peer_that_needs_one_is_refused,
    who_requires_a_lock_cannot_do_without,
    the_policy_is_explained_and_nothing_is_started,
}

/// Lets a program live where no further user namespace can be made; ends with 77 where that cannot be arranged.
const NO_NAMESPACES: &str =
    "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh";

/// Briefs the demo agent with these settings, behind some words of a shell.
fn brief(world: &World, before: &str, pair: &str, more: &[&str]) -> Result<Output, Fault> {
    let config = world.path("config.toml");
    fs::write(&config, format!("[pair]\n{pair}\n"))?;
    let script = format!("{before} \"$@\"");
    let words = ["--headless", "--json", "--peer", "demo", "--config"];
    let mut command = world.command("sh");
    command.args(["-c", &script, "sh", PROGRAM]).args(words);
    Ok(command.arg(config).args(more).arg("brief").output()?)
}

fn confined_by(output: &Output) -> Result<String, Fault> {
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        let err = String::from_utf8_lossy(&output.stderr);
        format!("{error}: {:?}: {err}", output.status)
    })?;
    Ok(result["peer"]["confined"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

fn can_go_without_namespaces(world: &World) -> Result<bool, Fault> {
    let script = format!("{NO_NAMESPACES} true");
    let can = world.run("open", &["sh", "-c", &script])?.status.success();
    if !can {
        say("skipped: user namespaces cannot be taken away here");
    }
    Ok(can)
}

fn the_lock_is_named_in_the_result_and_the_receipt() -> Outcome {
    for lock in locks().iter().copied().chain(["none"]) {
        let world = World::new()?;
        let output = brief(&world, "", &format!("lock = \"{lock}\""), &[])?;
        assert_eq!(confined_by(&output)?, lock);
        let mut receipts = String::new();
        for folder in fs::read_dir(world.path("state/codriver"))?.flatten() {
            for session in fs::read_dir(folder.path().join("sessions"))
                .into_iter()
                .flatten()
                .flatten()
            {
                receipts +=
                    &fs::read_to_string(session.path().join("receipts.jsonl")).unwrap_or_default();
            }
        }
        let named = format!("\"confined\":\"{lock}\"");
        assert_eq!(receipts.matches(&named).count(), 1, "{receipts}");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("not confined"), "{lock}: {err}");
    }
    Ok(())
}

fn without_namespaces_landlock_is_taken() -> Outcome {
    let world = World::new()?;
    if locks().contains(&"landlock") && can_go_without_namespaces(&world)? {
        let output = brief(&world, NO_NAMESPACES, "", &[])?;
        assert_eq!(confined_by(&output)?, "landlock");
    }
    Ok(())
}

fn without_any_lock_it_is_said_once_and_a_peer_that_needs_one_is_refused() -> Outcome {
    let world = World::new()?;
    if !can_go_without_namespaces(&world)? {
        return Ok(());
    }
    let output = brief(&world, NO_NAMESPACES, "lock = \"namespace\"", &[])?;
    assert_eq!(confined_by(&output)?, "none");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(err.matches("not confined").count(), 1, "{err}");
    let required = "lock = \"namespace\"\nrequire_confinement = true";
    let output = brief(&world, NO_NAMESPACES, required, &[])?;
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(14), "{err}");
    assert!(err.contains("pair.require_confinement"), "{err}");
    assert!(output.stdout.is_empty());
    Ok(())
}

fn who_requires_a_lock_cannot_do_without() -> Outcome {
    let world = World::new()?;
    for (pair, more) in [
        ("require_confinement = true", &["--no-confine"][..]),
        ("require_confinement = true\nlock = \"none\"", &[]),
    ] {
        let output = brief(&world, "", pair, more)?;
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(14), "{err}");
        assert!(err.contains("--no-confine"), "{err}");
    }
    let output = brief(&world, "", "", &["--no-confine"])?;
    assert_eq!(confined_by(&output)?, "none");
    Ok(())
}

fn the_policy_is_explained_and_nothing_is_started() -> Outcome {
    let world = World::new()?;
    let words = [
        "confine",
        "--harness",
        "codex",
        "--explain",
        "--",
        "touch",
        "started",
    ];
    let output = world.command(PROGRAM).args(words).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let home = world.path("home");
    for line in [
        format!("write    {}", home.join(".codex/auth.json").display()),
        format!("no read  {}", home.join(".ssh").display()),
        format!("no read  {}", world.path("state/codriver").display()),
        format!("sealed   {}", world.path("run").display()),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    assert!(!world.path("repo/started").exists());
    Ok(())
}
