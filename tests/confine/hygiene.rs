//! Nothing an agent starts outlives it or the console, and nothing outside is reached by it.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{Fault, Outcome, Outside, PROGRAM, World, locks};

tests! {
    what_is_left_behind_ends_with_the_program,
    what_is_left_behind_ends_with_a_console_that_is_killed,
    no_signal_reaches_a_process_outside,
    the_end_of_the_program_is_told_as_it_was,
    a_terminal_of_somebody_else_cannot_be_written,
}

/// A sleeper in a session of its own, whose parents are gone.
const ESCAPE: &str = "(setsid sh -c 'setsid sleep 600 & exec sleep 601' > /dev/null 2>&1 < /dev/null &); (nohup sleep 602 > /dev/null 2>&1 &); sleep 0.2";

/// Processes of this world that still run.
fn running(world: &World) -> Vec<String> {
    let mark = format!("HOME={}", world.path("home").display()).into_bytes();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.split(|byte| *byte == 0).any(|one| one == mark);
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            (is_ours && !words.is_empty()).then_some(words)
        })
        .collect()
}

fn until(what: &str, mut is: impl FnMut() -> bool) -> Outcome {
    let end = Instant::now() + Duration::from_secs(10);
    while !is() {
        if Instant::now() > end {
            return Err(format!("waited in vain for {what}").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The locks, and the keeper without one.
fn kept() -> impl Iterator<Item = &'static str> {
    locks().iter().copied().chain(["none"])
}

fn what_is_left_behind_ends_with_the_program() -> Outcome {
    for lock in kept() {
        let world = World::new()?;
        let output = world.run(lock, &["sh", "-c", ESCAPE])?;
        assert!(output.status.success(), "{lock}: {output:?}");
        assert_eq!(running(&world), Vec::<String>::new(), "{lock}");
    }
    // Without a keeper they do stay: the script is worth its name.
    let world = World::new()?;
    world.run("open", &["sh", "-c", ESCAPE])?;
    assert_eq!(running(&world).len(), 3);
    end_all(&world);
    Ok(())
}

fn end_all(world: &World) {
    let mark = format!("HOME={}", world.path("home").display()).into_bytes();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if environment.split(|byte| *byte == 0).any(|one| one == mark)
            && let Some(pid) = number.and_then(Pid::from_raw)
        {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The console is the program itself: a headless round whose peer never answers, killed in the middle of it.
fn what_is_left_behind_ends_with_a_console_that_is_killed() -> Outcome {
    for lock in kept() {
        let world = World::new()?;
        let script = world.path("peer.sh");
        fs::write(
            &script,
            format!("{ESCAPE}\necho ready > \"$TMPDIR/../ready\"\nsleep 603\n"),
        )?;
        let config = world.path("config.toml");
        let command = format!("[\"/bin/sh\", {:?}]", script.display().to_string());
        fs::write(
            &config,
            format!(
                "[pair]\nlock = \"{lock}\"\n[harness.demo]\ncommand = {command}\nversion_args = []\nchannel = \"none\"\n"
            ),
        )?;
        let mut console = world
            .command(PROGRAM)
            .args(["--headless", "--peer", "demo", "--config"])
            .arg(&config)
            .args(["--timeout", "60s", "discuss", "Well?"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let sleepers = || {
            running(&world)
                .iter()
                .filter(|words| words.starts_with("sleep 60"))
                .count()
        };
        until("the peer and what it left behind", || sleepers() == 4).map_err(
            |fault| -> Fault { format!("{lock}: {fault}: {:?}", running(&world)).into() },
        )?;
        console.kill()?;
        console.wait()?;
        until("the end of all of them", || running(&world).is_empty()).map_err(
            |fault| -> Fault { format!("{lock}: {fault}: {:?}", running(&world)).into() },
        )?;
    }
    Ok(())
}

fn no_signal_reaches_a_process_outside() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let mut outside = Outside::start(&world)?;
        let script = format!("kill -9 {}", outside.stander());
        world.run(lock, &["sh", "-c", &script])?;
        assert!(outside.is_standing(), "{lock}");
    }
    Ok(())
}

fn the_end_of_the_program_is_told_as_it_was() -> Outcome {
    for lock in kept() {
        let world = World::new()?;
        for code in [0, 1, 7, 255] {
            let output = world.run(lock, &["sh", "-c", &format!("exit {code}")])?;
            assert_eq!(output.status.code(), Some(code), "{lock}");
        }
        for signal in ["TERM", "KILL", "SEGV", "HUP"] {
            let output = world.run(
                lock,
                &["sh", "-c", &format!("ulimit -c 0; kill -{signal} $$")],
            )?;
            let told = Command::new("sh")
                .args(["-c", &format!("kill -l {signal}")])
                .output()?;
            let number = String::from_utf8_lossy(&told.stdout)
                .trim()
                .parse::<i32>()
                .ok();
            let number = number.or(match signal {
                "TERM" => Some(15),
                "KILL" => Some(9),
                "SEGV" => Some(11),
                _ => Some(1),
            });
            assert_eq!(
                output.status.signal(),
                number,
                "{lock}: {signal}: {output:?}"
            );
        }
        let output = world.run(lock, &["no-such-program"])?;
        assert_eq!(output.status.code(), Some(1), "{lock}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("no-such-program"), "{lock}: {text}");
    }
    Ok(())
}

fn a_terminal_of_somebody_else_cannot_be_written() -> Outcome {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    for lock in locks() {
        let world = World::new()?;
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let name = ptsname(&terminal, Vec::new())?.into_string()?;
        let script = format!("echo forged > {name}");
        world.run(lock, &["sh", "-c", &script])?;
        let mut waiting = [rustix::event::PollFd::new(
            &terminal,
            rustix::event::PollFlags::IN,
        )];
        let none = rustix::event::Timespec::default();
        assert_eq!(rustix::event::poll(&mut waiting, Some(&none))?, 0, "{lock}");
        // Without a lock it can.
        world.run("open", &["sh", "-c", &script])?;
        assert_eq!(rustix::event::poll(&mut waiting, Some(&none))?, 1);
    }
    Ok(())
}
