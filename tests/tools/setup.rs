//! `setup` on a person's own files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::world::{Fault, Outcome, World};

fn told(world: &World, args: &[&str]) -> Result<(Option<i32>, String), Fault> {
    let output = world.run(args)?;
    let both = [output.stdout, output.stderr].concat();
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&both).into_owned(),
    ))
}

#[test]
fn what_is_written_is_shown_kept_and_taken_out_again() -> Outcome {
    let world = World::new()?;
    let folder = world.path("home/.config/opencode");
    fs::create_dir_all(&folder)?;
    let file = folder.join("opencode.json");
    let before = "{\n  // the model\n  \"model\": \"a/b\"\n}\n";
    fs::write(&file, before)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640))?;
    let (code, words) = told(&world, &["setup", "opencode", "--write"])?;
    assert_eq!(code, Some(0), "{words}");
    assert!(
        words.contains("+  \"mcp\": {") && words.contains("kept as it was"),
        "{words}"
    );
    let after = fs::read_to_string(&file)?;
    assert!(
        after.contains("// the model") && after.contains("codriver"),
        "{after}"
    );
    assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o777, 0o640);
    let (_, words) = told(&world, &["setup", "opencode", "--write"])?;
    assert!(words.contains("nothing was changed"), "{words}");
    assert_eq!(fs::read_to_string(&file)?, after);
    told(&world, &["setup", "opencode", "--remove"])?;
    assert_eq!(fs::read_to_string(&file)?, before);
    let kept = fs::read_dir(&folder)?.flatten().filter(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .contains("before-codriver")
    });
    assert_eq!(kept.count(), 2);
    Ok(())
}

#[test]
fn a_link_stays_one_and_a_broken_file_stays_as_it_is() -> Outcome {
    let world = World::new()?;
    fs::create_dir_all(world.path("home/.codex"))?;
    fs::write(world.path("dotfile.toml"), "model = \"x\" # mine\n")?;
    let link = world.path("home/.codex/config.toml");
    std::os::unix::fs::symlink(world.path("dotfile.toml"), &link)?;
    told(&world, &["setup", "codex", "--write"])?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    let text = fs::read_to_string(world.path("dotfile.toml"))?;
    assert!(text.starts_with("model = \"x\" # mine\n") && text.contains("[mcp_servers.codriver]"));
    fs::write(world.path("home/.claude.json"), "{ broken")?;
    let (code, words) = told(&world, &["setup", "claude", "--write"])?;
    assert_eq!(code, Some(1));
    assert!(
        words.contains(".claude.json") && words.contains("not valid JSON"),
        "{words}"
    );
    assert_eq!(
        fs::read_to_string(world.path("home/.claude.json"))?,
        "{ broken"
    );
    Ok(())
}

#[test]
fn every_harness_is_printed_and_an_unknown_one_is_told() -> Outcome {
    let world = World::new()?;
    let (code, words) = told(&world, &["setup"])?;
    assert_eq!(code, Some(0));
    for word in [
        "Claude Code",
        "Codex",
        "opencode",
        "Gemini CLI",
        "Cursor Agent",
        "mcpServers",
    ] {
        assert!(words.contains(word), "{word}: {words}");
    }
    let (code, words) = told(&world, &["setup", "cursor", "--json"])?;
    let value: serde_json::Value = serde_json::from_str(&words)?;
    assert_eq!(
        (code, &value["entry"]["args"]),
        (Some(0), &serde_json::json!(["mcp"]))
    );
    let (code, words) = told(&world, &["setup", "emacs"])?;
    assert_eq!(code, Some(2));
    assert!(words.contains("generic"), "{words}");
    assert_eq!(told(&world, &["setup", "--write"])?.0, Some(2));
    Ok(())
}

#[test]
fn a_place_that_holds_no_file_is_told_and_stays() -> Outcome {
    let world = World::new()?;
    let file = world.path("home/.claude.json");
    std::os::unix::fs::symlink(world.path("nowhere"), &file)?;
    let (code, words) = told(&world, &["setup", "claude", "--write"])?;
    assert_eq!(code, Some(1));
    assert!(words.contains("leads nowhere"), "{words}");
    assert!(fs::symlink_metadata(&file)?.is_symlink());
    fs::remove_file(&file)?;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0)?;
    let (code, words) = told(&world, &["setup", "claude", "--write"])?;
    assert_eq!(code, Some(1));
    assert!(words.contains("not a file"), "{words}");
    fs::remove_file(&file)?;
    // Some agents keep their history beside their settings.
    let long = format!("{{\"history\": \"{}\"}}\n", "x".repeat(3 << 20));
    fs::write(&file, &long)?;
    let (code, words) = told(&world, &["setup", "claude", "--write"])?;
    assert_eq!(code, Some(0), "{}", &words[..words.len().min(300)]);
    let relative = std::process::Command::new(crate::world::PROGRAM)
        .args(["setup", "claude", "--write"])
        .env_clear()
        .envs(world.environment())
        .env("HOME", "here")
        .current_dir(world.path("repo"))
        .output()?;
    assert_eq!(relative.status.code(), Some(1));
    assert!(!world.path("repo/here").exists());
    Ok(())
}
