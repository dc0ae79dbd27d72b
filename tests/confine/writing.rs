//! Nothing changes, whatever is tried.

use std::path::Path;
use std::time::Duration;

use crate::world::{ALONE, Fault, Outcome, Outside, UNAVAILABLE, World, difference, locks, say};
use crate::{native, shell};

tests! {
    every_way_to_write_changes_nothing,
    there_are_more_than_forty_ways,
    a_linked_worktree_is_as_closed_as_its_repository,
    what_is_not_to_be_read_is_not,
    what_is_shown_of_what_is_hidden_can_be_read_and_not_written,
    what_was_opened_may_be_written,
    nothing_of_the_keeper_is_left_open_to_the_program,
}

/// How long something left behind has to do its work.
const LATE: Duration = Duration::from_millis(900);

/// A way, as the words of a program.
fn ways() -> Vec<(String, Vec<String>)> {
    let own = std::env::current_exe().unwrap_or_default();
    let own = own.display().to_string();
    let native = native::names().map(|name| {
        let words = [&own, "--way", name].map(str::to_owned).to_vec();
        (name.to_owned(), words)
    });
    let shell = shell::WAYS.iter().map(|(name, script)| {
        let words = ["sh", "-c", script].map(str::to_owned).to_vec();
        (format!("{name} (shell)"), words)
    });
    native.chain(shell).collect()
}

/// Tries a way, and tells whether it could be tried at all.
fn attempt(world: &World, outside: &Outside, lock: &str, words: &[String]) -> Result<bool, Fault> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = world.shut_in(lock, &words);
    command.env("STANDER", outside.stander().to_string());
    if outside.has_tmux() {
        command.env("HAS_TMUX", "1");
    }
    if lock != "open" {
        command.env("SHUT_IN", "1");
    }
    let output = command.output()?;
    let waits = words.iter().any(|word| word.contains("setsid"));
    if waits {
        std::thread::sleep(LATE);
    }
    Ok(output.status.code() != Some(UNAVAILABLE))
}

/// A way that changes nothing where it is free to proves nothing.
fn works_in_the_open(words: &[String]) -> Result<bool, Fault> {
    let world = World::new()?;
    let outside = Outside::start(&world)?;
    let before = world.fingerprint()?;
    let tried = attempt(&world, &outside, "open", words)?;
    Ok(tried && world.fingerprint()? != before)
}

fn every_way_to_write_changes_nothing() -> Outcome {
    let alone = locks().contains(&"namespace").then_some(ALONE);
    for lock in locks().iter().copied().chain(alone) {
        let world = World::new()?;
        let outside = Outside::start(&world)?;
        for (name, words) in ways() {
            // Named in the manual: only Landlock closes abstract sockets.
            if lock == ALONE && name.contains("abstract socket") {
                continue;
            }
            let before = world.fingerprint()?;
            attempt(&world, &outside, lock, &words)?;
            let after = world.fingerprint()?;
            if before != after {
                let told = difference(&before, &after).join("\n");
                return Err(format!("{lock}: `{name}` changed something:\n{told}").into());
            }
        }
    }
    Ok(())
}

fn there_are_more_than_forty_ways() -> Outcome {
    let all = ways();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let working = || -> Result<Vec<String>, Fault> {
        let mut idle = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some((name, words)) = all.get(at) else {
                return Ok(idle);
            };
            if !works_in_the_open(words)? {
                idle.push(name.clone());
            }
        }
    };
    let idle = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(working)).collect();
        let mut idle = Vec::new();
        for thread in threads {
            idle.push(thread.join().map_err(|_| "a thread panicked")??);
        }
        Ok::<_, Fault>(idle)
    })?;
    let idle = idle.concat();
    for name in &idle {
        say(&format!("not a way on this machine: {name}"));
    }
    let count = all.len() - idle.len();
    say(&format!("{count} ways work without a lock"));
    match count {
        40.. => Ok(()),
        _ => Err(format!("only {count} ways; idle: {idle:?}").into()),
    }
}

fn a_linked_worktree_is_as_closed_as_its_repository() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let tree = world.path("tree").display().to_string();
        world.git(&["worktree", "add", "--quiet", &tree, "other"])?;
        let before = world.fingerprint()?;
        let script = format!(
            "cd '{tree}' && echo x > new; git commit --allow-empty -qm x; git tag t; echo x > \"$REPO/.git/x\""
        );
        let mut command = world.shut_in(lock, &["sh", "-c", &script]);
        command.current_dir(&tree).output()?;
        assert_eq!(world.fingerprint()?, before, "{lock}");
        assert!(!Path::new(&tree).join("new").exists(), "{lock}");
    }
    Ok(())
}

fn what_is_not_to_be_read_is_not() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let read = "cat \"$HOME/.ssh/id\" \"$XDG_STATE_HOME/codriver/r/sessions/s/receipts.jsonl\"";
        let open = world.run("open", &["sh", "-c", read])?;
        assert_eq!(String::from_utf8_lossy(&open.stdout), "the key\n{}\n");
        let shut = world.run(lock, &["sh", "-c", read])?;
        assert_eq!(String::from_utf8_lossy(&shut.stdout), "", "{lock}");
        let rest = world.run(
            lock,
            &["sh", "-c", "cat \"$HOME/.bashrc\" a.txt /etc/passwd"],
        )?;
        assert!(rest.status.success(), "{lock}: {rest:?}");
    }
    Ok(())
}

fn what_was_opened_may_be_written() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let config = world.path("home/.config/codriver");
        std::fs::create_dir_all(&config)?;
        std::fs::write(
            config.join("config.toml"),
            "[harness.mine]\nwritable = [\"~/.mine/log\", \"~/.codex/config.toml\", \"~\"]\n"
                .replace(", \"~\"", ""),
        )?;
        let script = "echo x > \"$HOME/.mine/log/a\" && echo y >> \"$HOME/.codex/config.toml\" && ! echo z > \"$HOME/.mine/b\" && ! echo z > a.txt && echo ok > \"$TMPDIR/t\" && cat \"$TMPDIR/t\"";
        let words = [
            "confine",
            "--harness",
            "mine",
            "--lock",
            lock,
            "--",
            "sh",
            "-c",
            script,
        ];
        let output = world.command(crate::world::PROGRAM).args(words).output()?;
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "ok\n",
            "{lock}: {output:?}"
        );
        assert_eq!(
            std::fs::read_to_string(world.path("home/.mine/log/a"))?,
            "x\n"
        );
        let rest: Vec<_> = std::fs::read_dir(world.path("tmp"))?.collect();
        assert!(rest.is_empty(), "{lock}: {rest:?}");
    }
    Ok(())
}

fn nothing_of_the_keeper_is_left_open_to_the_program() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let output = world.run(lock, &["sh", "-c", "ls /proc/self/fd; grep -E '^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        // `ls` has the folder it lists open.
        let fds: Vec<&str> = text
            .lines()
            .take_while(|line| !line.contains(':'))
            .collect();
        assert_eq!(fds, ["0", "1", "2", "3"], "{lock}");
        let zero = "0000000000000000";
        for name in ["CapPrm", "CapEff", "CapAmb"] {
            assert!(text.contains(&format!("{name}:\t{zero}")), "{lock}: {text}");
        }
        assert!(text.contains("NoNewPrivs:\t1"), "{lock}: {text}");
    }
    Ok(())
}

fn what_is_shown_of_what_is_hidden_can_be_read_and_not_written() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let hidden = world.path("state/codriver");
        let shown = hidden.join("r/sessions/s");
        let own = shown.join("private");
        let stage = world.path("stage");
        std::fs::create_dir_all(&own)?;
        std::fs::create_dir_all(&stage)?;
        std::fs::write(hidden.join("r/other"), "hidden")?;
        let walls = serde_json::json!({
            "writable": [own], "readable": [shown], "unreadable": [hidden], "sealed": [],
            "stage": stage, "layered": true,
        });
        let file = world.path("walls.json");
        std::fs::write(&file, walls.to_string())?;
        let script = format!(
            "cat '{0}/receipts.jsonl'; cat '{1}/r/other'; echo x > '{0}/receipts.jsonl'; echo own > '{2}/f'; cat '{2}/f'",
            shown.display(),
            hidden.display(),
            own.display()
        );
        let mut command = world.command(crate::world::PROGRAM);
        command
            .args(["confine", "--lock", lock, "--walls"])
            .arg(&file);
        let output = command.args(["--", "/bin/sh", "-c", &script]).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "{}\nown\n", "{lock}: {output:?}");
        assert_eq!(
            std::fs::read_to_string(shown.join("receipts.jsonl"))?,
            "{}\n"
        );
    }
    Ok(())
}
