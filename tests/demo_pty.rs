//! The demo agent as a program on a real pseudo-terminal, each test within a time limit.

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use codriver::world::process;
use codriver::world::pty::{Exit, Launch, Pty, ReadOutcome};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const LIMIT: Duration = Duration::from_secs(20);
const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");
const BRIEF: &str =
    "You are the reviewing half.\n\nAnswer with a review that says understood.\nThe tag is k7q2.";

fn within_limit(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { tokio::time::timeout(LIMIT, work).await? })
}

/// The demo agent in a pseudo-terminal, and all it has printed.
struct Session {
    pty: Pty,
    seen: Vec<u8>,
}

impl Session {
    fn start(args: &[&str], env: &[(&str, &Path)]) -> Result<Self, Box<dyn std::error::Error>> {
        let mut argv = vec![OsString::from(PROGRAM), "demo-agent".into()];
        argv.extend(args.iter().map(OsString::from));
        let mut all = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("TERM".into(), "xterm-256color".into()),
        ];
        all.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
        let pty = Pty::spawn(Launch {
            argv,
            env: all,
            cwd: "/".into(),
            size: (80, 24),
        })?;
        Ok(Self {
            pty,
            seen: Vec::new(),
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Reads until `word` stands behind the first `from` bytes.
    async fn hear(&mut self, word: &str, from: usize) -> Outcome {
        while !String::from_utf8_lossy(&self.seen[from..]).contains(word) {
            if self.pty.read(&mut self.seen).await? == ReadOutcome::Ended {
                return Err(format!("it ended before it said {word:?}:\n{}", self.text()).into());
            }
        }
        Ok(())
    }

    async fn write(&mut self, text: &[u8]) -> Outcome {
        self.pty.queue(text)?;
        while self.pty.outgoing() > 0 {
            self.pty.flush_some().await?;
        }
        Ok(())
    }

    async fn end(&mut self) -> Result<Exit, Box<dyn std::error::Error>> {
        while let ReadOutcome::Output(_) = self.pty.read(&mut self.seen).await? {}
        Ok(self.pty.wait().await?)
    }
}

#[test]
fn a_round_on_a_real_terminal_is_answered_and_recorded() -> Outcome {
    within_limit(async {
        let folder = tempfile::tempdir()?;
        let env = [("CODRIVER_DEMO_CHANNEL", folder.path())];
        let mut session = Session::start(&["--style", "plain"], &env)?;
        session.hear("> ", 0).await?;
        // A paste in pieces, cut inside of its markers and of a character.
        let paste = format!("\x1b[200~{BRIEF} é\x1b[201~");
        for piece in paste.as_bytes().chunks(5) {
            session.write(piece).await?;
        }
        session.hear(" é", 0).await?;
        session.write(b"\r").await?;
        session.hear("VERDICT: AGREE\r\n\r\n> ", 0).await?;
        session.write(b"\x04").await?;
        assert_eq!(session.end().await?, Exit::Code(0));
        assert!(session.text().contains("REVIEW: (k7q2) understood"));
        assert!(session.text().contains("\x1b[?2004l"));
        let channel = fs::read_to_string(folder.path().join("demo.jsonl"))?;
        let record: serde_json::Value = serde_json::from_str(channel.trim_end())?;
        let text = |key: &str| record[key].as_str().unwrap_or_default();
        assert_eq!(text("prompt"), format!("{BRIEF} é"));
        assert!(text("reply").ends_with("VERDICT: AGREE"));
        assert!(text("session").starts_with("demo-"));
        assert_eq!(record["failed"], false);
        Ok(())
    })
}

#[test]
fn every_style_runs_and_ends_on_a_real_terminal() -> Outcome {
    within_limit(async {
        for (style, ready) in [
            ("claude", "shortcuts"),
            ("codex", "Ask Codex to do anything"),
            ("opencode", "Ask anything"),
            ("plain", "> "),
        ] {
            let mut session = Session::start(&["--style", style], &[])?;
            session.hear(ready, 0).await?;
            session.write(b"\x1b[200~hello\x1b[201~").await?;
            session.hear("hello", 0).await?;
            session.write(b"\r").await?;
            session.hear("ADJUST", 0).await?;
            session.write(b"/exit\r").await?;
            assert_eq!(session.end().await?, Exit::Code(0), "{style}");
        }
        Ok(())
    })
}

#[test]
fn a_resize_draws_everything_again() -> Outcome {
    within_limit(async {
        let mut session = Session::start(&["--style", "opencode"], &[])?;
        session.hear("Ask anything", 0).await?;
        let from = session.seen.len();
        session.pty.resize(120, 40)?;
        session.hear("\x1b[40;", from).await?;
        session.hear("Ask anything", from).await
    })
}

#[test]
fn a_signal_ends_it_and_restores_the_terminal() -> Outcome {
    within_limit(async {
        let mut session = Session::start(&["--style", "codex"], &[])?;
        session.hear("Ask Codex", 0).await?;
        session.pty.id().send(rustix::process::Signal::TERM)?;
        assert_eq!(session.end().await?, Exit::Code(0));
        assert!(session.text().contains("state=clear"));
        Ok(())
    })
}

#[test]
fn a_closed_terminal_ends_it() -> Outcome {
    // The product's own terminal kills its child when it is dropped, so this one is another.
    let pair = native_pty_system().openpty(PtySize::default())?;
    let mut command = CommandBuilder::new(PROGRAM);
    command.arg("demo-agent");
    let mut child = pair.slave.spawn_command(command)?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let (sender, ready) = mpsc::channel();
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&seen).contains("shortcuts") {
            match reader.read(&mut buffer) {
                Ok(count) if count > 0 => seen.extend_from_slice(&buffer[..count]),
                _ => return,
            }
        }
        drop(reader);
        // The test has given up when nobody listens any more.
        let _ = sender.send(());
    });
    ready.recv_timeout(LIMIT)?;
    drop(pair.master);
    let end = Instant::now() + LIMIT;
    while child.try_wait()?.is_none() {
        if Instant::now() > end {
            child.kill()?;
            return Err("the agent outlived its terminal".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[test]
fn a_dialog_logs_what_is_typed() -> Outcome {
    within_limit(async {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("typed");
        let mut session = Session::start(&["--fault", "dialog"], &[("CODRIVER_DEMO_LOG", &log)])?;
        session.hear("trust", 0).await?;
        assert!(!log.exists());
        session.write(b"hello").await?;
        while fs::read_to_string(&log).unwrap_or_default() != "hello\n" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        session.write(b"\x03").await?;
        assert_eq!(session.end().await?, Exit::Code(0));
        Ok(())
    })
}

#[test]
fn a_process_left_behind_has_a_group_of_its_own() -> Outcome {
    within_limit(async {
        let mut session = Session::start(&["--style", "plain", "--fault", "spawn"], &[])?;
        session.hear("> ", 0).await?;
        session.write(b"\x1b[200~hello\x1b[201~\r").await?;
        session.hear("VERDICT", 0).await?;
        let left = process::descendants(session.pty.id());
        let [sleep] = left.as_slice() else {
            return Err(format!("not one process was left: {left:?}").into());
        };
        assert_eq!(sleep.name, "sleep");
        assert_eq!(sleep.group, sleep.id.pid);
        sleep.id.send(rustix::process::Signal::KILL)?;
        Ok(())
    })
}

#[test]
fn faults_end_it_with_their_status() -> Outcome {
    within_limit(async {
        let mut session = Session::start(&["--fault", "exit-at-once"], &[])?;
        assert_eq!(session.end().await?, Exit::Code(1));
        assert!(session.text().contains("error: not logged in"));
        let mut session = Session::start(&["--style", "plain", "--fault", "die"], &[])?;
        session.hear("> ", 0).await?;
        session.write(b"\x1b[200~hello\x1b[201~\r").await?;
        assert_eq!(session.end().await?, Exit::Code(3));
        Ok(())
    })
}

#[test]
fn a_script_is_used_and_a_faulty_one_is_named() -> Outcome {
    within_limit(async {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join("script.json");
        fs::write(
            &script,
            r#"[{"text":"REVIEW: ({tag}) scripted\n\nVERDICT: OBJECT","think_ms":1}]"#,
        )?;
        let path = script.to_str().ok_or("a temporary path is text")?;
        let mut session = Session::start(&["--style", "plain", "--script", path], &[])?;
        session.hear("> ", 0).await?;
        session
            .write(b"\x1b[200~the tag is k7q2 here\x1b[201~\r")
            .await?;
        session.hear("VERDICT: OBJECT", 0).await?;
        assert!(session.text().contains("REVIEW: (k7q2) scripted"));
        fs::write(&script, "{}")?;
        let mut session = Session::start(&["--script", path], &[])?;
        assert_eq!(session.end().await?, Exit::Code(1));
        assert!(
            session.text().contains("is faulty: not a list of turns"),
            "{}",
            session.text()
        );
        Ok(())
    })
}

#[test]
fn without_a_terminal_it_says_so() -> Outcome {
    let output = Command::new(PROGRAM)
        .arg("demo-agent")
        .stdin(Stdio::null())
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr)?;
    assert!(
        error.contains("the demo agent needs a terminal to run in"),
        "{error}"
    );
    assert_eq!(output.stdout, b"");
    Ok(())
}

#[test]
fn an_unknown_fault_is_wrong_usage() -> Outcome {
    let output = Command::new(PROGRAM)
        .args(["demo-agent", "--fault", "lazy"])
        .output()?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr)?.contains("lazy"));
    Ok(())
}
