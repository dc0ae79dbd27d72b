//! `config`, `doctor`, `completions` and `man` through the program itself.

use std::error::Error;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;
/// Lays something in the place of a settings file.
type Lay<'l> = &'l dyn Fn(&Path) -> std::io::Result<()>;

/// A home, a repository and a folder of programs, all of them ours.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> std::io::Result<Self> {
        let world = Self {
            dir: tempfile::tempdir()?,
        };
        for folder in ["home", "repo/.git", "repo/sub", "bin"] {
            fs::create_dir_all(world.path(folder))?;
        }
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        // The real name: a report tells it, whatever links lead there.
        self.dir
            .path()
            .canonicalize()
            .expect("it was just made")
            .join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> std::io::Result<PathBuf> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a name below the folder"))?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn machine(&self, text: &str) -> std::io::Result<PathBuf> {
        self.write("home/.config/codriver/config.toml", text)
    }

    fn repository(&self, text: &str) -> std::io::Result<PathBuf> {
        self.write("repo/.codriver/config.toml", text)
    }

    fn program(&self, name: &str, script: &str) -> std::io::Result<PathBuf> {
        let path = self.write(name, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codriver"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path("home"))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .current_dir(self.path("repo/sub"));
        command
    }

    fn run(&self, args: &[&str]) -> std::io::Result<Output> {
        self.command(args).output()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_value_is_shown_with_the_file_it_came_from() -> Outcome {
    let world = World::new()?;
    let machine = world.machine("[pair]\npeer = 'opencode'\n")?;
    let repository = world.repository("[oracle]\nreview = 'host'\n")?;
    let output = world.run(&["config", "show", "--driver", "codex"])?;
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    for line in [
        "pair.driver = \"codex\"  # flag: --driver\n".to_owned(),
        format!(
            "pair.peer = \"opencode\"  # machine: {}\n",
            machine.display()
        ),
        format!(
            "oracle.review = \"host\"  # repository: {}\n",
            repository.display()
        ),
        "defaults.quiet_ms = 400  # bundled: assets/config.toml\n".to_owned(),
        "harness.codex.reset_command = \"/clear\"  # bundled: assets/harness/codex.toml\n"
            .to_owned(),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&world.run(&["config", "--json"])?.stdout)?;
    assert_eq!(json["schema"], "codriver.config/1");
    let peer = json["settings"]
        .as_array()
        .and_then(|all| all.iter().find(|entry| entry["key"] == "pair.peer"));
    assert_eq!(
        peer,
        Some(&serde_json::json!({
            "key": "pair.peer",
            "layer": "machine",
            "file": machine,
            "value": "opencode"
        }))
    );
    Ok(())
}

#[test]
fn a_faulty_file_stops_a_command_once_and_clearly() -> Outcome {
    let world = World::new()?;
    let machine = world.machine("[pair\n")?;
    let output = world.run(&["config", "show"])?;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(out(&output), "");
    let said = err(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with(&format!(
            "codriver: {}:1:6 (machine settings): not TOML: ",
            machine.display()
        )),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_check_lists_all_faults_of_all_files() -> Outcome {
    let world = World::new()?;
    let machine = world.machine("[pair]\npeeer = 'codex'\n[harness.x]\nidle_regex = '('\n")?;
    let repository =
        world.repository("[oracle.rp]\nurl = 'http://SECRET/'\n[pair]\npeer = 'SECRET'\n")?;
    let output = world.run(&["config", "check"])?;
    assert_eq!(output.status.code(), Some(2));
    let (machine, repository) = (machine.display(), repository.display());
    assert_eq!(
        out(&output),
        format!(
            "fault: {machine}:2:1 (machine settings): unknown key `pair.peeer`; did you mean `pair.peer`?\n\
             fault: {machine}:4:1 (machine settings): `harness.x.idle_regex` is not a regular expression\n\
             fault: {repository}:2:1 (repository settings): a repository may not set `oracle.rp.url`; set it in `{machine}`\n\
             fault: {repository}:4:1 (repository settings): a repository may not set `pair.peer`; set it in `{machine}`\n"
        )
    );
    assert_eq!(err(&output), "");
    let json: serde_json::Value =
        serde_json::from_slice(&world.run(&["config", "check", "--json"])?.stdout)?;
    let codes: Vec<&str> = json["faults"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|fault| fault["code"].as_str())
        .collect();
    assert_eq!(
        codes,
        [
            "unknown-key",
            "bad-value",
            "machine-only-key",
            "machine-only-key"
        ]
    );
    assert!(!json.to_string().contains("SECRET"));
    Ok(())
}

#[test]
fn sound_files_and_no_files_check_out() -> Outcome {
    let world = World::new()?;
    let output = world.run(&["config", "check"])?;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        out(&output),
        "no configuration file; the bundled settings stand\n"
    );
    world.machine("[roles.auditor]\nrunner = 'codex'\n")?;
    world.repository("[roles.auditor]\nrunner = 'host'\n")?;
    let output = world.run(&["config", "check"])?;
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    assert!(
        text.starts_with("note: `roles.auditor.runner` is host by "),
        "{text}"
    );
    assert!(
        text.ends_with("no fault in the settings (repository, machine)\n"),
        "{text}"
    );
    Ok(())
}

#[test]
fn what_cannot_be_read_is_a_fault_and_never_hangs() -> Outcome {
    let world = World::new()?;
    let cases: [(&str, Lay<'_>); 4] = [
        ("no ordinary file", &|path| fs::create_dir_all(path)),
        ("not UTF-8", &|path| fs::write(path, [0xff])),
        ("larger than", &|path| fs::write(path, vec![b'\n'; 2 << 20])),
        ("too many levels", &|path| symlink(path, path)),
    ];
    for (words, lay) in cases {
        let path = world.path("home/.config/codriver/config.toml");
        let _ = fs::remove_dir_all(world.path("home/.config"));
        fs::create_dir_all(path.parent().ok_or("it has a parent")?)?;
        lay(&path)?;
        let output = world.run(&["config", "check"])?;
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(out(&output).contains(words), "{words}: {}", out(&output));
    }
    Ok(())
}

#[test]
fn a_file_named_by_a_flag_replaces_the_machine_file_and_must_be_there() -> Outcome {
    let world = World::new()?;
    world.machine("[pair]\npeer = 'opencode'\n")?;
    let other = world.write("other.toml", "[pair]\npeer = 'gemini'\n")?;
    let other = other.to_str().ok_or("a plain name")?;
    let output = world.run(&["--config", other, "config", "show"])?;
    assert!(out(&output).contains(&format!("pair.peer = \"gemini\"  # machine: {other}\n")));
    let output = world.run(&["--config", "/no/such.toml", "config", "show"])?;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        err(&output),
        "codriver: /no/such.toml (machine settings): cannot be read: there is no such file\n"
    );
    Ok(())
}

#[test]
fn an_unknown_harness_is_wrong_usage_and_the_near_one_is_named() -> Outcome {
    let world = World::new()?;
    let output = world.run(&["--peer", "claud", "config", "show"])?;
    assert_eq!(output.status.code(), Some(2));
    let said = err(&output);
    assert!(
        said.starts_with("codriver: flag --peer: `pair.peer` names no harness; "),
        "{said}"
    );
    assert!(said.ends_with("did you mean `claude`?\n"), "{said}");
    Ok(())
}

#[test]
fn without_a_home_the_bundled_settings_stand() -> Outcome {
    let world = World::new()?;
    let output = world
        .command(&["config", "path"])
        .env_remove("HOME")
        .output()?;
    assert_eq!(output.status.code(), Some(0));
    assert!(
        out(&output).contains("machine     none: set XDG_CONFIG_HOME or HOME\n"),
        "{}",
        out(&output)
    );
    let output = world
        .command(&["config", "show"])
        .env_remove("HOME")
        .output()?;
    assert_eq!(output.status.code(), Some(0));
    let output = world.command(&["doctor"]).env_remove("HOME").output()?;
    assert_eq!(output.status.code(), Some(0));
    Ok(())
}

#[test]
fn paths_are_shown_inside_and_outside_a_repository() -> Outcome {
    let world = World::new()?;
    world.machine("")?;
    let text = out(&world.run(&["config", "path"])?);
    let repo = world.path("repo/.codriver/config.toml");
    let machine = world.path("home/.config/codriver/config.toml");
    assert_eq!(
        text,
        format!(
            "repository  {} (not there)\nmachine     {} (read)\n",
            repo.display(),
            machine.display()
        )
    );
    let bin = world.path("bin");
    let outside = world.run(&["-C", bin.to_str().ok_or("a plain name")?, "config", "path"])?;
    assert_eq!(
        out(&outside),
        format!("machine     {} (read)\n", machine.display())
    );
    let nowhere = world.run(&["-C", "/no/such/folder", "config", "path"])?;
    assert_eq!(nowhere.status.code(), Some(1));
    assert_eq!(err(&nowhere).lines().count(), 1);
    Ok(())
}

#[test]
fn the_schema_and_the_bundled_layer_are_printed() -> Outcome {
    let world = World::new()?;
    let schema: serde_json::Value =
        serde_json::from_slice(&world.run(&["config", "schema"])?.stdout)?;
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"]["pair"]["properties"]["require_tag"]["oneOf"].is_array());
    let text = out(&world.run(&["config", "show", "--bundled"])?);
    assert!(text.contains("# ---- assets/harness/claude.toml\n"));
    assert!(text.contains("require_tag = \"agree\"\n"));
    Ok(())
}

#[test]
fn a_doctor_finds_asks_and_refuses() -> Outcome {
    let world = World::new()?;
    let started = world.path("started");
    world.program("bin/codex", "echo codex-cli 0.171.0")?;
    world.program("bin/claude", "echo '9.9.9 (Claude Code)'")?;
    world.program("bin/gemini", "sleep 600 & echo; sleep 600")?;
    world.program(
        "repo/bin/opencode",
        &format!("touch {}; echo 1.18.33", started.display()),
    )?;
    world.program(
        "repo/sub/cursor-agent",
        &format!("touch {}; echo 1.0.0", started.display()),
    )?;
    let path = format!(
        "{}::.:{}:/usr/bin:/bin",
        world.path("bin").display(),
        world.path("repo/bin").display()
    );
    let before = Instant::now();
    let output = world.command(&["doctor"]).env("PATH", &path).output()?;
    assert!(before.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    let bin = world.path("bin");
    for line in [
        format!(
            "  codex         0.171.0      {}  proven: ",
            bin.join("codex").display()
        ),
        format!(
            "  claude        9.9.9        {}  proven on 2.1.197 only, not on this version\n",
            bin.join("claude").display()
        ),
        format!(
            "  gemini        version ?    {}  ",
            bin.join("gemini").display()
        ),
        format!(
            "  opencode      refused: {}: it lies inside the repository being worked on and is never started\n",
            world.path("repo/bin/opencode").display()
        ),
        "  cursor-agent  not installed: ".to_owned(),
        "  demo          built in\n".to_owned(),
        "  PATH          relative folders in PATH are never searched: ``, `.`\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    assert!(text.contains("did not end within 5 s"), "{text}");
    assert!(!started.exists(), "nothing of the repository was started");
    world.program("bin/gemini", "exit 3")?;
    let json: serde_json::Value = serde_json::from_slice(
        &world
            .command(&["doctor", "--json"])
            .env("PATH", &path)
            .output()?
            .stdout,
    )?;
    assert_eq!(json["schema"], "codriver.doctor/1");
    let states: Vec<_> = json["harnesses"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|harness| (harness["name"].as_str(), harness["state"].as_str()))
        .collect();
    assert!(
        states.contains(&(Some("opencode"), Some("refused"))),
        "{states:?}"
    );
    Ok(())
}

#[test]
fn a_doctor_reports_faulty_settings_and_an_empty_machine() -> Outcome {
    let world = World::new()?;
    world.machine("[pair]\npeer = 3\n")?;
    let output = world
        .command(&["doctor"])
        .env("PATH", world.path("bin"))
        .output()?;
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    for line in [
        "No agent is installed; `--peer demo` works without one.\n",
        "`pair.peer` must be a string, not a whole number\n",
        "  git           `git` is not on the search path; `--diff` needs it\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    Ok(())
}

#[test]
fn completions_and_the_manual_page_are_printed() -> Outcome {
    let world = World::new()?;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = world.run(&["completions", shell])?;
        assert_eq!(output.status.code(), Some(0));
        assert!(out(&output).contains("ask-review"), "{shell}");
    }
    let page = out(&world.run(&["man"])?);
    assert!(page.contains(".TH codriver 1"), "{page}");
    Ok(())
}

#[test]
fn wrong_usage_ends_with_two_and_help_with_zero() -> Outcome {
    let world = World::new()?;
    for args in [
        &[][..],
        &["frobnicate"],
        &["config", "frobnicate"],
        &["discuss", "--kind", "poem", "x"],
        &["--size", "1", "doctor"],
        &["doctor", "--timeout", "-1s"],
    ] {
        let output = world.run(args)?;
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(out(&output), "", "{args:?}");
        assert_ne!(err(&output), "", "{args:?}");
    }
    for args in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["discuss", "--help"],
    ] {
        let output = world.run(args)?;
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_ne!(out(&output), "", "{args:?}");
    }
    Ok(())
}

#[test]
fn a_reader_that_goes_away_is_no_error() -> Outcome {
    let world = World::new()?;
    let program = env!("CARGO_BIN_EXE_codriver");
    let piped = Command::new("/bin/sh")
        .args([
            "-c",
            "{ sleep 0.2; \"$0\" config show; echo status $? >&2; } | true",
        ])
        .arg(program)
        .env("HOME", world.path("home"))
        .current_dir(world.path("repo"))
        .output()?;
    assert_eq!(err(&piped), "status 0\n");
    Ok(())
}
