//! Real children on real pseudo-terminals, each within a time limit.

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use codriver::limits;
use codriver::world::process::{self, ProcessId};
use codriver::world::pty::{Exit, Happened, Launch, MARK, Pty, PtyError, ReadOutcome};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const LIMIT: Duration = Duration::from_secs(20);

fn within_limit<T>(
    work: impl Future<Output = Result<T, Box<dyn std::error::Error>>>,
) -> Result<T, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { tokio::time::timeout(LIMIT, work).await? })
}

fn launch(script: &str) -> Launch {
    Launch {
        argv: ["sh", "-c", script].map(OsString::from).to_vec(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        cwd: "/".into(),
        size: (80, 24),
    }
}

fn shell(script: &str) -> Result<Pty, PtyError> {
    Pty::spawn(launch(script))
}

async fn read_to_end(pty: &mut Pty) -> std::io::Result<String> {
    let mut all = Vec::new();
    while let ReadOutcome::Output(_) = pty.read(&mut all).await? {}
    Ok(String::from_utf8_lossy(&all).into_owned())
}

/// Reads until the child has said `word`.
async fn hear(pty: &mut Pty, word: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if text.contains(word) {
            return Ok(text);
        }
        if pty.read(&mut all).await? == ReadOutcome::Ended {
            return Err(format!("the child ended before it said {word:?}: {text:?}").into());
        }
    }
}

/// The number a child printed after `label`.
fn number_after(text: &str, label: &str) -> Result<i32, Box<dyn std::error::Error>> {
    let rest = text.split(label).nth(1).ok_or("no such label")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse()?)
}

fn refused(launch: Launch) -> String {
    let spawned = within_limit(async { Ok(Pty::spawn(launch).err()) });
    let fault = spawned.expect("the runtime starts").expect("it is refused");
    fault.to_string()
}

#[test]
fn what_the_child_says_is_read() -> Outcome {
    within_limit(async {
        let mut pty = shell("printf hello; exit 3")?;
        assert_eq!(read_to_end(&mut pty).await?, "hello");
        assert_eq!(pty.wait().await?, Exit::Code(3));
        assert_eq!(pty.wait().await?, Exit::Code(3));
        Ok(())
    })
}

#[test]
fn a_signal_is_told_apart_from_a_status() -> Outcome {
    within_limit(async {
        let mut pty = shell("kill -9 $$")?;
        assert_eq!(pty.wait().await?, Exit::Signal(9));
        Ok(())
    })
}

#[test]
fn the_end_of_the_child_is_heard_without_output() -> Outcome {
    within_limit(async {
        let mut pty = shell("exec sleep 0.2")?;
        assert_eq!(pty.try_wait()?, None);
        assert_eq!(pty.wait().await?, Exit::Code(0));
        Ok(())
    })
}

#[test]
fn all_output_comes_before_its_end() -> Outcome {
    within_limit(async {
        let mut pty = shell("stty raw -echo; seq 200000; printf last")?;
        let text = read_to_end(&mut pty).await?;
        assert!(text.starts_with("1\n2\n"));
        assert!(text.ends_with("\n200000\nlast"));
        assert_eq!(text.lines().count(), 200_001);
        assert_eq!(pty.read(&mut Vec::new()).await?, ReadOutcome::Ended);
        Ok(())
    })
}

#[test]
fn each_end_is_told_once_and_output_first() -> Outcome {
    within_limit(async {
        let mut pty = shell("seq 50000; exit 4")?;
        let (mut output, mut ended, mut exited) = (Vec::new(), 0, 0);
        while ended == 0 || exited == 0 {
            match pty.next(&mut output).await? {
                Happened::Output(_) => assert_eq!(ended, 0, "output after its end"),
                Happened::Ended => ended += 1,
                Happened::Exited(exit) => {
                    assert_eq!(exit, Exit::Code(4));
                    exited += 1;
                }
            }
        }
        assert_eq!(String::from_utf8(output.clone())?.lines().count(), 50_000);
        let more = tokio::time::timeout(Duration::from_millis(100), pty.next(&mut output));
        assert!(more.await.is_err(), "an end was told twice");
        Ok(())
    })
}

#[test]
fn a_child_with_a_leftover_on_its_terminal_has_still_exited() -> Outcome {
    within_limit(async {
        let mut pty = shell("trap '' HUP; sleep 30 & printf gone; exit 0")?;
        let mut output = Vec::new();
        loop {
            if let Happened::Exited(exit) = pty.next(&mut output).await? {
                assert_eq!(exit, Exit::Code(0));
                break;
            }
        }
        assert_eq!(output, b"gone");
        let killed = pty.kill_group(Duration::ZERO).await?;
        assert_eq!(killed.survivors, []);
        assert_eq!(pty.read(&mut output).await?, ReadOutcome::Ended);
        Ok(())
    })
}

#[test]
fn what_is_queued_arrives_in_order_and_whole() -> Outcome {
    within_limit(async {
        let mut pty = shell("stty raw -echo; printf ready; sleep 0.3; head -c 200000 | cksum")?;
        hear(&mut pty, "ready").await?;
        let text: Vec<u8> = (0..200_000_u32).map(|i| (i * 7 % 251) as u8).collect();
        pty.queue(&text)?;
        let answer = hear(&mut pty, "200000").await?;
        let mut file = tempfile::NamedTempFile::new()?;
        std::io::Write::write_all(&mut file, &text)?;
        let cksum = std::process::Command::new("cksum")
            .stdin(file.reopen()?)
            .output()?;
        assert_eq!(answer.trim(), String::from_utf8(cksum.stdout)?.trim());
        assert_eq!(pty.outgoing(), 0);
        Ok(())
    })
}

#[test]
fn a_child_that_never_reads_does_not_stop_the_loop() -> Outcome {
    within_limit(async {
        let mut pty = shell("stty raw -echo; while :; do echo tick; sleep 0.05; done")?;
        hear(&mut pty, "tick").await?;
        pty.queue(&vec![b'x'; 200_000])?;
        for _ in 0..5 {
            hear(&mut pty, "tick").await?;
        }
        let waiting = pty.outgoing();
        assert!(waiting > 0, "a terminal holds less than this");
        let flush = tokio::time::timeout(Duration::from_millis(100), pty.flush_some());
        assert!(flush.await.is_err(), "nobody read");
        let full = pty
            .queue(&vec![b'x'; limits::OUTGOING])
            .err()
            .ok_or("it was taken")?;
        assert_eq!(full.waiting, waiting);
        assert_eq!(
            pty.outgoing(),
            waiting,
            "a refused text leaves nothing behind"
        );
        Ok(())
    })
}

#[test]
fn the_size_is_there_from_the_start_and_a_resize_reaches_the_child() -> Outcome {
    within_limit(async {
        let mut pty = shell(
            "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.02; done",
        )?;
        assert!(hear(&mut pty, "ready").await?.starts_with("24 80\r\n"));
        pty.resize(131, 47)?;
        assert_eq!(read_to_end(&mut pty).await?, "47 131\r\n");
        Ok(())
    })
}

#[test]
fn the_environment_is_exactly_the_one_given() -> Outcome {
    within_limit(async {
        let mut launch = launch("");
        launch.argv = vec!["/usr/bin/env".into(), "-0".into()];
        launch.env = vec![
            ("ONE".into(), "1 = one".into()),
            ("PATH".into(), "/bin".into()),
        ];
        let mut pty = Pty::spawn(launch)?;
        let text = read_to_end(&mut pty).await?;
        let mut entries: Vec<&str> = text.split_terminator('\0').collect();
        entries.sort_unstable();
        assert_eq!(entries, ["ONE=1 = one", "PATH=/bin"]);
        Ok(())
    })
}

#[test]
fn the_child_has_no_descriptor_but_its_terminal() -> Outcome {
    within_limit(async {
        let file = tempfile::tempfile()?;
        // As if whoever started us had left it open.
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
        let mut launch = launch("");
        launch.argv = vec!["ls".into(), "-1".into(), "/proc/self/fd".into()];
        let mut pty = Pty::spawn(launch)?;
        let text = read_to_end(&mut pty).await?;
        // The fourth is the folder that is being listed.
        assert_eq!(text.lines().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
        Ok(())
    })
}

#[test]
fn nobody_is_asked_twice_to_end() -> Outcome {
    within_limit(async {
        let script =
            "trap '' HUP; trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done";
        let mut pty = shell(script)?;
        hear(&mut pty, "ready").await?;
        pty.kill_group(Duration::from_millis(500)).await?;
        let text = read_to_end(&mut pty).await?;
        assert_eq!(text.matches("asked").count(), 1, "{text:?}");
        Ok(())
    })
}

#[test]
fn the_child_leads_a_session_with_this_terminal() -> Outcome {
    within_limit(async {
        let mut pty = shell("echo pid $$ >/dev/tty; cat /proc/self/stat; pwd; sleep 30")?;
        let text = hear(&mut pty, "/\r\n").await?;
        let pid = pty.id().pid;
        assert_eq!(number_after(&text, "pid ")?, pid);
        let child = process::Process::of(pid).ok_or("it is running")?;
        assert_eq!((child.group, child.session), (pid, pid));
        assert_eq!(child.parent, i32::try_from(std::process::id())?);
        assert_eq!(pty.program(), Path::new("/usr/bin/sh"));
        Ok(())
    })
}

#[test]
fn it_starts_in_the_folder_asked_for() -> Outcome {
    within_limit(async {
        let dir = tempfile::tempdir()?;
        let mut launch = launch("pwd -P");
        launch.cwd = dir.path().to_owned();
        let mut pty = Pty::spawn(launch)?;
        let expected = format!("{}\r\n", dir.path().canonicalize()?.display());
        assert_eq!(read_to_end(&mut pty).await?, expected);
        Ok(())
    })
}

#[test]
fn what_cannot_start_is_refused_by_name() -> Outcome {
    let dir = tempfile::tempdir()?;
    let at = |name: &str| dir.path().join(name);
    fs::write(at("script"), "#!/no/such/interpreter\n")?;
    fs::set_permissions(at("script"), fs::Permissions::from_mode(0o755))?;
    fs::write(at("plain"), "")?;
    let with = |word: &Path| Launch {
        argv: vec![word.into()],
        ..launch("")
    };
    let shown = |name: &str| at(name).display().to_string();

    assert_eq!(
        refused(Launch {
            argv: vec![],
            ..launch("")
        }),
        "the command is empty"
    );
    assert_eq!(
        refused(with(Path::new("no-such-agent"))),
        "`no-such-agent` is not on the search path"
    );
    assert_eq!(
        refused(with(&at("absent"))),
        format!("`{}` does not exist", shown("absent"))
    );
    assert_eq!(
        refused(with(&at("plain"))),
        format!("`{}` is not executable", shown("plain"))
    );
    assert_eq!(
        refused(with(dir.path())),
        format!("`{}` is a folder, not a program", dir.path().display())
    );
    assert_eq!(
        refused(with(&at("script"))),
        format!(
            "the interpreter `/no/such/interpreter` of the script `{}` is missing or not executable",
            shown("script")
        )
    );
    let no_folder = Launch {
        cwd: at("nowhere"),
        ..launch("true")
    };
    assert_eq!(
        refused(no_folder),
        format!(
            "the working directory `{}` is missing or not a folder",
            shown("nowhere")
        )
    );
    Ok(())
}

#[test]
fn a_program_the_system_refuses_says_so() -> Outcome {
    let long = "x".repeat(3 << 20);
    let launch = Launch {
        argv: vec!["true".into(), long.into()],
        ..launch("")
    };
    within_limit(async {
        let fault = Pty::spawn(launch).err().ok_or("it was started")?;
        let PtyError::Start { program, source } = fault else {
            return Err(format!("another fault: {fault}").into());
        };
        assert_eq!(program, Path::new("/usr/bin/true"));
        assert_eq!(source.kind(), std::io::ErrorKind::ArgumentListTooLong);
        Ok(())
    })
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_binary_whose_loader_is_missing_says_so() -> Outcome {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("agent");
    let mut binary = fs::read("/usr/bin/true")?;
    let at = binary.windows(8).position(|bytes| bytes == b"ld-linux");
    let at = at.ok_or("it names its loader")?;
    binary[at..at + 2].copy_from_slice(b"no");
    fs::write(&program, binary)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let launch = Launch {
        argv: vec![program.clone().into()],
        ..launch("")
    };
    within_limit(async {
        let fault = Pty::spawn(launch).err().ok_or("it was started")?;
        let PtyError::Start {
            program: of,
            source,
        } = fault
        else {
            return Err(format!("another fault: {fault}").into());
        };
        assert_eq!(of, program);
        assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        Ok(())
    })
}

#[test]
fn a_willing_child_ends_well_within_the_grace() -> Outcome {
    within_limit(async {
        let mut pty = shell(
            "trap 'echo bye; exit 7' TERM; trap '' HUP; echo ready; while :; do sleep 0.02; done",
        )?;
        hear(&mut pty, "ready").await?;
        let start = Instant::now();
        let killed = pty.kill_group(Duration::from_secs(10)).await?;
        assert_eq!(killed.exit, Some(Exit::Code(7)));
        assert_eq!(killed.survivors, []);
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(read_to_end(&mut pty).await?.ends_with("bye\r\n"));
        let again = pty.kill_group(Duration::from_secs(10)).await?;
        assert_eq!(again.exit, Some(Exit::Code(7)));
        Ok(())
    })
}

#[test]
fn a_child_that_ignores_the_request_is_killed_after_the_grace() -> Outcome {
    within_limit(async {
        let mut pty = shell("trap '' TERM HUP; echo ready; while :; do sleep 1; done")?;
        hear(&mut pty, "ready").await?;
        let (start, grace) = (Instant::now(), Duration::from_millis(300));
        let killed = pty.kill_group(grace).await?;
        assert_eq!(killed.exit, Some(Exit::Signal(9)));
        assert_eq!(killed.survivors, []);
        assert!(start.elapsed() >= grace);
        assert!(start.elapsed() < grace + Duration::from_secs(2));
        Ok(())
    })
}

#[test]
fn a_child_stuck_on_a_full_terminal_still_hears_the_request() -> Outcome {
    within_limit(async {
        let mut pty =
            shell("trap 'exit 5' TERM; trap '' HUP; echo ready; seq 100000; sleep 30 & wait")?;
        hear(&mut pty, "ready").await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let killed = pty.kill_group(Duration::from_secs(5)).await?;
        assert_eq!(killed.survivors, []);
        assert!(matches!(
            killed.exit,
            Some(Exit::Code(5) | Exit::Signal(15))
        ));
        Ok(())
    })
}

#[test]
fn a_stopped_child_is_ended_too() -> Outcome {
    within_limit(async {
        let mut pty = shell("echo ready; kill -STOP $$; sleep 30")?;
        hear(&mut pty, "ready").await?;
        let killed = pty.kill_group(Duration::from_secs(5)).await?;
        assert!(matches!(killed.exit, Some(Exit::Signal(1 | 15))));
        Ok(())
    })
}

#[test]
fn a_grandchild_in_its_own_session_goes_too() -> Outcome {
    within_limit(async {
        let script =
            "setsid sh -c 'trap \"\" HUP TERM; echo far $$ .; while :; do sleep 1; done' & wait";
        let mut pty = shell(script)?;
        let text = hear(&mut pty, ".").await?;
        let far = ProcessId::of(number_after(&text, "far ")?).ok_or("it is running")?;
        let found = process::descendants(pty.id());
        assert!(found.iter().any(|one| one.id == far));
        let killed = pty.kill_group(Duration::from_millis(200)).await?;
        assert_eq!(killed.survivors, []);
        assert!(!far.is_running());
        Ok(())
    })
}

#[test]
fn a_marked_process_that_left_its_parents_goes_too() -> Outcome {
    within_limit(async {
        // The shell between them is gone, and so is every tie but the environment.
        let script = "setsid sh -c '(trap \"\" HUP TERM; exec sleep 30 >/dev/null 2>&1 </dev/null) & echo far $! .'; wait; sleep 30";
        let mut launch = launch(script);
        launch
            .env
            .push((MARK.into(), format!("test-{}", std::process::id()).into()));
        let mut pty = Pty::spawn(launch)?;
        let text = hear(&mut pty, ".").await?;
        let far = ProcessId::of(number_after(&text, "far ")?).ok_or("it is running")?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(
            process::descendants(pty.id())
                .iter()
                .all(|one| one.id != far)
        );
        let killed = pty.kill_group(Duration::from_millis(100)).await?;
        assert_eq!(killed.survivors, []);
        assert!(!far.is_running());
        Ok(())
    })
}

#[test]
fn a_process_of_somebody_else_is_left_alone() -> Outcome {
    within_limit(async {
        let mut other = std::process::Command::new("sleep").arg("30").spawn()?;
        let mut pty = shell("sleep 30")?;
        pty.kill_group(Duration::ZERO).await?;
        assert!(other.try_wait()?.is_none());
        let stranger = ProcessId {
            start: 1,
            ..ProcessId::of(other.id().cast_signed()).ok_or("it is running")?
        };
        assert!(!stranger.is_running());
        assert!(!stranger.send(rustix::process::Signal::KILL)?);
        assert!(other.try_wait()?.is_none());
        other.kill()?;
        other.wait()?;
        Ok(())
    })
}

#[test]
fn a_dropped_terminal_leaves_nothing_running() -> Outcome {
    within_limit(async {
        let script = "trap '' HUP TERM; setsid sleep 30 & echo far $! .; sleep 30";
        let mut pty = shell(script)?;
        let text = hear(&mut pty, ".").await?;
        let far = ProcessId::of(number_after(&text, "far ")?).ok_or("it is running")?;
        let near = pty.id();
        drop(pty);
        let deadline = Instant::now() + Duration::from_secs(5);
        while (near.is_running() || far.is_running()) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!near.is_running() && !far.is_running());
        Ok(())
    })
}
