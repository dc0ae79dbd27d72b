//! Where the program runs: without a home, a terminal or a disk, inside of another agent, twice at once; and its flags.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use codriver::recording::word::Verdict;

use crate::world::{Fault, Outcome, PROGRAM, Peer, World, each};

tests! {
    without_a_home_it_works_and_warns_once,
    a_state_folder_that_cannot_be_written_is_one_warning,
    a_full_disk_does_not_stop_the_round,
    a_bound_on_the_size_of_files_does_not_either,
    a_reader_that_has_gone_is_no_failure,
    a_result_that_cannot_be_written_is_an_error,
    with_all_three_streams_closed_it_still_ends_in_order,
    without_any_terminal_it_works_as_cron_starts_it,
    the_terminal_s_name_does_not_matter,
    inside_of_another_agent_its_variables_do_not_reach_the_peer,
    an_agent_of_the_repository_is_never_started,
    nothing_of_the_repository_runs_beside_the_agent_either,
    without_any_agent_the_demo_agent_is_named,
    a_log_in_that_the_peer_will_not_find_is_missed_before_it_starts,
    two_rounds_at_once_in_one_repository_do_not_meet,
    a_screen_of_any_size_is_read,
    a_screen_too_small_for_anything_ends_without_an_agreement,
    wrong_usage_and_faulty_settings_end_with_2_and_start_nothing,
    a_repository_cannot_choose_the_peer_s_program,
    timeouts_are_read_in_every_form,
    quiet_says_nothing_but_an_error,
    more_is_logged_to_a_file_and_never_to_the_terminal,
    another_folder_is_worked_in_with_the_flag,
    a_program_that_cannot_be_started_is_named,
}

fn without_a_home_it_works_and_warns_once() -> Outcome {
    let world = World::new()?;
    let ended = world
        .headless(&Peer::new("demo"), &["--json", "discuss", "Well?"])?
        .without("HOME")
        .without("XDG_STATE_HOME")
        .run()?;
    let round = ended.round(10)?;
    assert_eq!((&round.receipt, &round.recording), (&None, &None));
    let warnings = ended.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("nothing is recorded") && warnings[0].contains("HOME"));
    Ok(())
}

fn a_state_folder_that_cannot_be_written_is_one_warning() -> Outcome {
    let world = World::new()?;
    let file = world.write("a-file", "")?;
    let mut cases = vec![file.join("state"), "/proc/1".into()];
    if !rustix::process::geteuid().is_root() {
        let closed = world.path("closed");
        fs::create_dir(&closed)?;
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500))?;
        cases.push(closed);
    }
    each(&cases, |state| {
        let world = World::new()?;
        let ended = world
            .headless(&Peer::new("demo"), &["--json", "discuss", "Well?"])?
            .env("XDG_STATE_HOME", state)
            .run()?;
        let round = ended.round(10)?;
        assert_eq!(round.receipt, None);
        let warnings = ended.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("not recorded"), "{warnings:?}");
        Ok(())
    })
}

/// Starts a shell in which the state folder is a disk of its own, as small as these options say.
fn on_a_small_disk(world: &World, options: &str, script: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!(
            "mount -t tmpfs -o {options} none '{}' && {script}",
            world.path("state").display()
        ));
    command
}

/// A disk of one page, which is taken.
const FULL: &str = "size=4k,nr_inodes=100";

fn a_full_disk_does_not_stop_the_round() -> Outcome {
    // Full in the middle of a round, and of everything that is made before it.
    let disks = [
        "size=64k",
        "size=4k",
        FULL,
        "nr_inodes=3",
        "nr_inodes=7",
        "nr_inodes=9",
        "nr_inodes=12",
        "nr_inodes=16",
    ];
    let world = World::new()?;
    let tried = on_a_small_disk(&world, "size=64k", "true")
        .stderr(Stdio::null())
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        // Skipped where nothing can be mounted.
        return Ok(());
    }
    each(&disks, |options| {
        let world = World::new()?;
        let mut call = world
            .headless(&Peer::new("demo"), &["--json", "discuss", "-"])?
            .input("why\n".repeat(9000).as_bytes());
        let words: Vec<String> = std::iter::once(PROGRAM.to_owned())
            .chain(call.words())
            .map(|word| format!("'{word}'"))
            .collect();
        let fill = match *options {
            FULL => format!("echo > '{}/fill' &&", world.path("state").display()),
            _ => String::new(),
        };
        let script = format!("{fill} exec {}", words.join(" "));
        let shell = on_a_small_disk(&world, options, &script);
        call.through(shell, Stdio::piped());
        let ended = call.run()?;
        let round = ended.round(10)?;
        assert_eq!(round.reading.verdict(), Verdict::Adjust);
        let warnings = ended.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("not recorded"), "{warnings:?}");
        // Nor does anything else speak up: the log, for one, cannot be written either.
        assert!(!ended.err.contains("Unable to write"), "{ended:#?}");
        Ok(())
    })
}

fn a_bound_on_the_size_of_files_does_not_either() -> Outcome {
    let world = World::new()?;
    let mut call = world
        .headless(&Peer::new("demo"), &["--json", "discuss", "-"])?
        .input("why\n".repeat(9000).as_bytes())
        .unchecked();
    let words: Vec<String> = call.words().map(|word| format!("'{word}'")).collect();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!(
        "ulimit -f 16 && exec '{PROGRAM}' {}",
        words.join(" ")
    ));
    call.through(shell, Stdio::piped());
    let ended = call.run()?;
    ended.round(10)?;
    let warnings = ended.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("not recorded"), "{warnings:?}");
    assert_eq!(world.processes(), []);
    Ok(())
}

fn a_reader_that_has_gone_is_no_failure() -> Outcome {
    let world = World::new()?;
    let mut call = world.headless(&Peer::new("demo"), &["discuss", "Well?"])?;
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    call.command.stdout(writer);
    let ended = call.run()?;
    assert_eq!(ended.code(), Some(10), "{ended:#?}");
    assert!(!ended.err.contains("codriver: "), "{}", ended.err);
    assert_eq!(world.record()?.rounds().len(), 2);
    Ok(())
}

fn a_result_that_cannot_be_written_is_an_error() -> Outcome {
    let world = World::new()?;
    let mut call = world.headless(&Peer::new("demo"), &["discuss", "Well?"])?;
    call.command
        .stdout(fs::OpenOptions::new().write(true).open("/dev/full")?);
    let ended = call.run()?;
    ended.failed(1, &["the result cannot be written", "No space left"])?;
    assert_eq!(world.record()?.rounds().len(), 2);
    Ok(())
}

fn with_all_three_streams_closed_it_still_ends_in_order() -> Outcome {
    let world = World::new()?;
    let mut call = world.headless(&Peer::new("demo"), &["discuss", "Well?"])?;
    let words: Vec<String> = call.words().map(|word| format!("'{word}'")).collect();
    let mut shell = Command::new("/bin/sh");
    let script = format!("exec '{PROGRAM}' {} <&- >&- 2>&-", words.join(" "));
    shell.arg("-c").arg(script);
    call.through(shell, Stdio::null());
    let ended = call.run()?;
    assert!(matches!(ended.code(), Some(1 | 10)), "{ended:#?}");
    assert_eq!(world.record()?.rounds().len(), 2);
    Ok(())
}

fn without_any_terminal_it_works_as_cron_starts_it() -> Outcome {
    let world = World::new()?;
    let mut call = world.headless(&Peer::new("demo"), &["--json", "discuss", "Well?"])?;
    let mut alone = Command::new("setsid");
    alone.arg("--wait").arg(PROGRAM).args(call.words());
    call.through(alone, Stdio::null());
    call.without("TERM").run()?.round(10)?;
    Ok(())
}

fn the_terminal_s_name_does_not_matter() -> Outcome {
    each(
        &[None, Some("dumb"), Some("no-such-terminal"), Some("")],
        |term| {
            let world = World::new()?;
            let call = world.headless(&Peer::new("codex"), &["--json", "discuss", "Well?"])?;
            let call = match term {
                Some(term) => call.env("TERM", term),
                None => call.without("TERM"),
            };
            call.run()?.round(10)?;
            Ok(())
        },
    )
}

fn inside_of_another_agent_its_variables_do_not_reach_the_peer() -> Outcome {
    let world = World::new()?;
    let seen = world.path("channel/seen");
    let script = format!(
        "env > '{}'\nexec '{PROGRAM}' demo-agent --style claude",
        seen.display()
    );
    let agent = world.program("agent/claude", &script)?;
    let peer = Peer::new("claude").with(&format!(
        "command = [{:?}]\nversion_args = []",
        agent.display().to_string()
    ));
    let round = world
        .headless(&peer, &["--json", "discuss", "Well?"])?
        .env("CLAUDECODE", "1")
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .env("TMUX", "/tmp/x")
        .env("GIT_DIR", "/elsewhere")
        .env("SSH_AUTH_SOCK", "/elsewhere")
        .env("LD_PRELOAD", "")
        .env("BASH_ENV", "/evil")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "7")
        .env("KEPT", "yes")
        .run()?
        .round(10)?;
    assert_eq!(round.peer.harness, "claude");
    let seen = fs::read_to_string(seen)?;
    for name in [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "TMUX",
        "GIT_DIR",
        "SSH_AUTH_SOCK",
        "BASH_ENV",
        "NO_COLOR",
        "COLUMNS",
    ] {
        assert!(
            !seen
                .lines()
                .any(|line| line.starts_with(&format!("{name}="))),
            "{name}:\n{seen}"
        );
    }
    assert!(seen.contains("KEPT=yes\n") && seen.contains("TERM=xterm-256color\n"));
    let record = world.record()?;
    let receipt = record.rounds().pop().ok_or("no receipt")?;
    for name in ["CLAUDECODE", "TMUX", "GIT_DIR", "SSH_AUTH_SOCK"] {
        assert!(
            receipt.scrubbed.iter().any(|scrubbed| scrubbed == name),
            "{:?}",
            receipt.scrubbed
        );
    }
    Ok(())
}

fn an_agent_of_the_repository_is_never_started() -> Outcome {
    let world = World::new()?;
    let touched = world.path("channel/touched");
    let script = format!("touch '{}'\nexec '{PROGRAM}' demo-agent", touched.display());
    for name in ["repo/bin/codex", "repo/codex", "repo/bin/node"] {
        world.program(name, &script)?;
    }
    let inside = world.path("repo/bin").display().to_string();
    for path in [
        "bin:.::/usr/bin:/bin".to_owned(),
        format!("{inside}:/usr/bin:/bin"),
    ] {
        let ended = world
            .call(&["--headless", "--peer", "codex", "discuss", "Well?"])
            .env("PATH", &path)
            .run()?;
        assert_eq!(ended.code(), Some(1), "{ended:#?}");
        assert!(
            ended.err.contains("the peer (codex) cannot be started")
                || ended.err.contains("lies in the repository"),
            "{ended:#?}"
        );
        assert_eq!(ended.out, "");
    }
    // A link outside leads to the same program.
    std::os::unix::fs::symlink(world.path("repo/codex"), world.path("bin/codex"))?;
    let ended = world
        .call(&["--headless", "--peer", "codex", "discuss", "Well?"])
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", world.path("bin").display()),
        )
        .run()?;
    ended.failed(1, &["lies in the repository"])?;
    assert!(!touched.exists());
    Ok(())
}

fn nothing_of_the_repository_runs_beside_the_agent_either() -> Outcome {
    let world = World::new()?;
    let touched = world.path("channel/touched");
    world.program("repo/bin/runner", &format!("touch '{}'", touched.display()))?;
    let script = format!(
        "if test \"$2\" = --version; then echo 'agent 1.2.3'; exit; fi\n\
         exec '{PROGRAM}' demo-agent"
    );
    world.program("bin/runner", &script)?;
    let agent = world.write("agent/agent", "#!/usr/bin/env runner\n")?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
    let peer = Peer::new("demo").with(&format!(
        "command = [{:?}]\nversion_args = ['--version']",
        agent.display().to_string()
    ));
    let path = format!("bin:{}:/usr/bin:/bin", world.path("bin").display());
    let round = world
        .headless(&peer, &["--json", "discuss", "Well?"])?
        .env("PATH", path)
        .run()?
        .round(10)?;
    assert_eq!(round.peer.version.as_deref(), Some("1.2.3"));
    assert!(!touched.exists());
    Ok(())
}

fn without_any_agent_the_demo_agent_is_named() -> Outcome {
    let world = World::new()?;
    let ended = world.call(&["--headless", "discuss", "Well?"]).run()?;
    ended.failed(
        1,
        &[
            "the peer (codex) cannot be started",
            "not on the search path",
            "--peer demo",
        ],
    )?;
    assert_eq!(ended.warnings().len(), 1, "{ended:#?}");
    Ok(())
}

fn a_log_in_that_the_peer_will_not_find_is_missed_before_it_starts() -> Outcome {
    let warned = |world: &World, key: Option<&str>| -> Result<bool, Fault> {
        let mut call = world.headless(&Peer::new("codex"), &["brief"])?;
        if let Some(key) = key {
            call = call.env(key, "k");
        }
        let ended = call.run()?;
        assert_eq!(ended.code(), Some(0), "{ended:#?}");
        Ok(ended.err.contains("codex may find no log-in"))
    };
    // No log-in at all, or one in the system's keyring; then a key, another provider, and the file.
    let world = World::new()?;
    assert!(warned(&world, None)?);
    world.write(
        "home/.codex/config.toml",
        "cli_auth_credentials_store = 'keyring'",
    )?;
    assert!(warned(&world, None)?);
    assert!(!warned(&world, Some("OPENAI_API_KEY"))?);
    world.write("home/.codex/config.toml", "model_provider = 'lab'")?;
    assert!(!warned(&world, None)?);
    fs::remove_file(world.path("home/.codex/config.toml"))?;
    world.write("home/.codex/auth.json", "{}")?;
    assert!(!warned(&world, None)?);
    Ok(())
}

fn two_rounds_at_once_in_one_repository_do_not_meet() -> Outcome {
    let world = World::new()?;
    let peer = Peer::new("demo");
    let first = world
        .headless(&peer, &["--json", "discuss", "first"])?
        .unchecked()
        .start()?;
    let second = world
        .headless(&peer, &["--json", "discuss", "second"])?
        .unchecked()
        .start()?;
    let (first, second) = (first.end()?.round(10)?, second.end()?.round(10)?);
    assert_ne!(first.session, second.session);
    assert_eq!(world.sessions().len(), 2);
    assert_eq!(world.processes(), []);
    Ok(())
}

fn a_screen_of_any_size_is_read() -> Outcome {
    let text = "REVIEW: ({tag}) The lock in src/very/long/path/to/some/module.rs is never released.\n\nVERDICT: OBJECT";
    let cases = [
        ("demo", "40x10"),
        ("codex", "40x12"),
        ("demo", "250x100"),
        ("codex", "2000x500"),
        ("scribe", "33x7"),
        ("scribe", "500x2000"),
    ];
    each(&cases, |(harness, size)| {
        let world = World::new()?;
        let args = ["--json", "--size", size, "discuss", "Well?"];
        let round = world
            .headless(&Peer::new(harness).says(text), &args)?
            .run()?
            .round(11)?;
        assert!(
            round
                .reading
                .rationale()
                .contains("src/very/long/path/to/some/module.rs"),
            "{:?}",
            round.reading
        );
        let record = world.record()?;
        let pane = &record.session.panes[0];
        assert_eq!(format!("{}x{}", pane.cols, pane.rows), *size);
        Ok(())
    })
}

fn a_screen_too_small_for_anything_ends_without_an_agreement() -> Outcome {
    each(&["2x1", "3x3", "10x2"], |size| {
        let world = World::new()?;
        let args = ["--size", size, "--timeout", "4s", "discuss", "Well?"];
        let ended = world.headless(&Peer::new("demo"), &args)?.run()?;
        assert!(matches!(ended.code(), Some(1 | 10 | 13 | 15)), "{ended:#?}");
        Ok(())
    })
}

fn wrong_usage_and_faulty_settings_end_with_2_and_start_nothing() -> Outcome {
    let world = World::new()?;
    let bad = world
        .write("bad.toml", "[pair]\npeer = 7\n")?
        .display()
        .to_string();
    let broken = world.write("broken.toml", "[pair\n")?.display().to_string();
    let unknown = world
        .write("unknown.toml", "[pair]\ncolour = \"red\"\n")?
        .display()
        .to_string();
    let binary = world
        .write("binary.toml", b"\xff\xfe\x00")?
        .display()
        .to_string();
    let none = world.path("none.toml").display().to_string();
    let cases: Vec<(Vec<&str>, Vec<&str>)> = vec![
        (
            vec!["--peer", "nobody", "discuss", "x"],
            vec!["--peer", "names no harness", "demo"],
        ),
        (vec!["--peer", "", "discuss", "x"], vec!["--peer"]),
        (
            vec!["--config", &none, "discuss", "x"],
            vec!["none.toml", "no such file"],
        ),
        (
            vec!["--config", &bad, "discuss", "x"],
            vec!["bad.toml", "pair.peer"],
        ),
        (
            vec!["--config", &broken, "discuss", "x"],
            vec!["broken.toml"],
        ),
        (
            vec!["--config", &unknown, "discuss", "x"],
            vec!["unknown.toml", "colour"],
        ),
        (
            vec!["--config", &binary, "discuss", "x"],
            vec!["binary.toml"],
        ),
        (vec!["--size", "0x0", "discuss", "x"], vec!["--size"]),
        (vec!["--size", "1x1", "discuss", "x"], vec!["--size"]),
        (vec!["--size", "80", "discuss", "x"], vec!["--size"]),
        (vec!["--size", "80x-1", "discuss", "x"], vec!["--size"]),
        (
            vec!["--size", "99999x99999", "discuss", "x"],
            vec!["--size"],
        ),
        (vec!["--timeout", "0", "discuss", "x"], vec!["--timeout"]),
        (vec!["--timeout", "-5s", "discuss", "x"], vec!["-5"]),
        (vec!["--timeout", "soon", "discuss", "x"], vec!["--timeout"]),
        (vec!["--timeout", "1s30", "discuss", "x"], vec!["--timeout"]),
        (vec!["--timeout", "25h", "discuss", "x"], vec!["--timeout"]),
        (vec!["-q", "-v", "discuss", "x"], vec!["-q"]),
        (vec!["discuss", "x", "--kind", "poem"], vec!["poem"]),
        (vec!["discuss", "x", "y"], vec!["y"]),
        (vec!["discuss", "x", "--file", "y"], vec!["--file"]),
        (vec!["review-everything"], vec!["review-everything"]),
    ];
    each(&cases, |(args, words)| {
        let ended = world
            .call(&[&["--headless"], args.as_slice()].concat())
            .unchecked()
            .run()?;
        ended.failed(2, words)
    })?;
    assert_eq!(world.sessions().len(), 0);
    Ok(())
}

fn a_repository_cannot_choose_the_peer_s_program() -> Outcome {
    let world = World::new()?;
    world.write(
        "repo/.codriver/config.toml",
        "[harness.demo]\ncommand = [\"/bin/true\"]\n",
    )?;
    let ended = world
        .call(&["--headless", "--peer", "demo", "discuss", "x"])
        .run()?;
    ended.failed(2, &["harness.demo.command", ".codriver/config.toml"])
}

fn timeouts_are_read_in_every_form() -> Outcome {
    each(&["1", "1s", "1000ms", "0m1s"], |form| {
        let world = World::new()?;
        let ended = world
            .headless(
                &Peer::new("scribe").fault("hang"),
                &["--timeout", form, "brief"],
            )?
            .run()?;
        ended.failed(15, &["did not finish within 1 s"])
    })
}

fn quiet_says_nothing_but_an_error() -> Outcome {
    let world = World::new()?;
    let ended = world
        .headless(&Peer::new("demo"), &["-q", "discuss", "Well?"])?
        .run()?;
    assert_eq!((ended.code(), ended.err.as_str()), (Some(10), ""));
    let ended = world
        .headless(
            &Peer::new("demo").fault("exit-at-once"),
            &["-q", "discuss", "Well?"],
        )?
        .run()?;
    ended.failed(16, &["codriver: the peer (demo) ended with status 1"])
}

fn more_is_logged_to_a_file_and_never_to_the_terminal() -> Outcome {
    let world = World::new()?;
    let ended = world
        .headless(&Peer::new("demo"), &["-vv", "discuss", "secret words"])?
        .run()?;
    assert_eq!(ended.code(), Some(10));
    let log = fs::read_to_string(world.path("state/codriver/log/codriver.log"))?;
    assert!(log.contains("pane ended"), "{log}");
    assert!(!log.contains("secret words"), "{log}");
    assert!(!ended.err.contains("pane ended"), "{}", ended.err);
    Ok(())
}

fn another_folder_is_worked_in_with_the_flag() -> Outcome {
    let world = World::new()?;
    world.write("repo/a.rs", "fn a() {}\n")?;
    let repo = world.path("repo").display().to_string();
    let args = ["--json", "-C", &repo, "discuss", "--diff"];
    world
        .headless(&Peer::new("demo"), &args)?
        .folder(&world.path("home"))
        .run()?
        .round(10)?;
    assert!(world.turns()?[0].prompt.contains(&repo));
    assert!(world.turns()?[1].prompt.contains("+fn a() {}"));
    let ended = world
        .headless(&Peer::new("demo"), &["-C", "no/such", "discuss", "x"])?
        .run()?;
    ended.failed(1, &["cannot work in `no/such`"])?;
    let ended = world.call(&["discuss", "x"]).run()?;
    ended.failed(1, &["no console runs", "--headless"])
}

fn a_program_that_cannot_be_started_is_named() -> Outcome {
    let world = World::new()?;
    let plain = world.write("agent/plain", "x")?;
    let script = world.program("agent/script", "exit 0")?;
    fs::write(&script, "#!/no/such/interpreter\n")?;
    let cases = [
        ("no-such-agent".to_owned(), "not on the search path"),
        (
            world.path("agent/none").display().to_string(),
            "does not exist",
        ),
        (plain.display().to_string(), "not executable"),
        (world.path("agent").display().to_string(), "is a folder"),
        (
            script.display().to_string(),
            "interpreter `/no/such/interpreter`",
        ),
    ];
    for (command, word) in cases {
        let peer = Peer::new("demo").with(&format!("command = [{command:?}]\nversion_args = []"));
        let ended = world.headless(&peer, &["discuss", "Well?"])?.run()?;
        ended.failed(1, &["the peer (demo) cannot be started", word])?;
    }
    Ok(())
}
