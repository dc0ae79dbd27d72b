//! The demo agent as a program on a real pseudo-terminal. Each test has a deadline.

use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Longest any one thing may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The demo agent in a pseudo-terminal.
struct Session {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Session {
    fn start(args: &[&str], env: &[(&str, &Path)]) -> Result<Self, Box<dyn std::error::Error>> {
        let (master, child) = spawn(args, env)?;
        let mut reader = master.try_clone_reader()?;
        let writer = master.take_writer()?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            master,
            child,
            writer,
            output,
            seen: Vec::new(),
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Waits until `wanted` was printed behind what was printed before `from`.
    fn wait_for(&mut self, wanted: &str, from: usize) -> TestResult {
        let end = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&self.seen[from..]).contains(wanted) {
            match self
                .output
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.seen.extend(bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(format!("{wanted:?} never came:\n{}", self.text()).into());
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> TestResult {
        self.writer.write_all(text.as_bytes())?;
        Ok(self.writer.flush()?)
    }

    /// Waits for the end, and gives the exit status.
    fn end(&mut self) -> Result<u32, Box<dyn std::error::Error>> {
        let end = Instant::now() + PATIENCE;
        loop {
            while let Ok(bytes) = self.output.try_recv() {
                self.seen.extend(bytes);
            }
            if let Some(status) = self.child.try_wait()? {
                while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
                    self.seen.extend(bytes);
                }
                return Ok(status.exit_code());
            }
            if Instant::now() > end {
                return Err(format!("the agent did not end:\n{}", self.text()).into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Most tests have waited for its end; the others may have failed before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Spawned = (Box<dyn MasterPty + Send>, Box<dyn Child + Send + Sync>);

fn spawn(args: &[&str], env: &[(&str, &Path)]) -> Result<Spawned, Box<dyn std::error::Error>> {
    let pair = native_pty_system().openpty(size(80, 24))?;
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_codriver"));
    command.arg("demo-agent");
    command.args(args);
    command.cwd(env!("CARGO_MANIFEST_DIR"));
    command.env("TERM", "xterm-256color");
    for (name, value) in env {
        command.env(name, value);
    }
    let child = pair.slave.spawn_command(command)?;
    Ok((pair.master, child))
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

const BRIEF: &str =
    "You are the reviewing half.\n\nAnswer with a review that says understood.\nThe tag is k7q2.";

#[test]
fn a_round_on_a_real_terminal_is_answered_and_recorded() -> TestResult {
    let folder = tempfile::tempdir()?;
    let mut session = Session::start(
        &["--style", "plain"],
        &[("CODRIVER_DEMO_CHANNEL", folder.path())],
    )?;
    session.wait_for("> ", 0)?;
    // A paste in pieces, cut inside of its markers and of a character.
    let paste = format!("\x1b[200~{BRIEF} é\x1b[201~");
    for piece in paste.as_bytes().chunks(5) {
        session.writer.write_all(piece)?;
        session.writer.flush()?;
    }
    session.wait_for(" é", 0)?;
    session.write("\r")?;
    session.wait_for("VERDICT: AGREE\r\n\r\n> ", 0)?;
    session.write("\x04")?;
    assert_eq!(session.end()?, 0);
    assert!(session.text().contains("REVIEW: (k7q2) understood"));
    assert!(session.text().contains("\x1b[?2004l"));
    let channel = std::fs::read_to_string(folder.path().join("demo.jsonl"))?;
    let record: serde_json::Value = serde_json::from_str(channel.trim_end())?;
    assert_eq!(record["prompt"], format!("{BRIEF} é"));
    assert_eq!(record["failed"], false);
    assert!(
        record["reply"]
            .as_str()
            .is_some_and(|reply| reply.ends_with("VERDICT: AGREE"))
    );
    assert!(
        record["session"]
            .as_str()
            .is_some_and(|name| name.starts_with("demo-"))
    );
    Ok(())
}

#[test]
fn every_style_runs_and_ends_on_a_real_terminal() -> TestResult {
    for (style, ready) in [
        ("claude", "shortcuts"),
        ("codex", "Ask Codex to do anything"),
        ("opencode", "Ask anything"),
        ("plain", "> "),
    ] {
        let mut session = Session::start(&["--style", style], &[])?;
        session.wait_for(ready, 0)?;
        session.write("\x1b[200~hello\x1b[201~")?;
        session.wait_for("hello", 0)?;
        session.write("\r")?;
        session.wait_for("ADJUST", 0)?;
        session.write("/exit\r")?;
        assert_eq!(session.end()?, 0, "{style}");
    }
    Ok(())
}

#[test]
fn a_resize_draws_everything_again() -> TestResult {
    let mut session = Session::start(&["--style", "opencode"], &[])?;
    session.wait_for("Ask anything", 0)?;
    let from = session.seen.len();
    session.master.resize(size(120, 40))?;
    session.wait_for("\x1b[40;", from)?;
    session.wait_for("Ask anything", from)?;
    Ok(())
}

#[test]
fn a_signal_ends_it_and_restores_the_terminal() -> TestResult {
    let mut session = Session::start(&["--style", "codex"], &[])?;
    session.wait_for("Ask Codex", 0)?;
    let pid = session
        .child
        .process_id()
        .ok_or("the agent has no process id")?;
    std::process::Command::new("kill")
        .arg(pid.to_string())
        .status()?;
    assert_eq!(session.end()?, 0);
    assert!(session.text().contains("state=clear"));
    Ok(())
}

#[test]
fn a_closed_terminal_ends_it() -> TestResult {
    let (master, mut child) = spawn(&["--style", "claude"], &[])?;
    let mut reader = master.try_clone_reader()?;
    let (sender, ready) = channel();
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&seen).contains("rules") {
            match reader.read(&mut buffer) {
                Ok(count) if count > 0 => seen.extend_from_slice(&buffer[..count]),
                _ => return,
            }
        }
        // The last descriptor but the one that the test holds is closed before it hears of it.
        drop(reader);
        let _ = sender.send(());
    });
    ready.recv_timeout(PATIENCE)?;
    drop(master);
    let end = Instant::now() + PATIENCE;
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
fn a_dialog_logs_what_is_typed() -> TestResult {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("typed");
    let mut session = Session::start(&["--fault", "dialog"], &[("CODRIVER_DEMO_LOG", &log)])?;
    session.wait_for("trust", 0)?;
    assert!(!log.exists());
    session.write("hello")?;
    let end = Instant::now() + PATIENCE;
    while std::fs::read_to_string(&log).unwrap_or_default() != "hello\n" {
        assert!(Instant::now() < end, "the log never held what was typed");
        std::thread::sleep(Duration::from_millis(10));
    }
    session.write("\x03")?;
    assert_eq!(session.end()?, 0);
    Ok(())
}

#[test]
fn a_process_left_behind_has_a_group_of_its_own() -> TestResult {
    let mut session = Session::start(&["--style", "plain", "--fault", "spawn"], &[])?;
    session.wait_for("> ", 0)?;
    session.write("\x1b[200~hello\x1b[201~\r")?;
    session.wait_for("VERDICT", 0)?;
    let parent = session
        .child
        .process_id()
        .ok_or("the agent has no process id")?;
    let listed = std::process::Command::new("ps")
        .args(["-o", "pid=,pgid=,comm=", "--ppid", &parent.to_string()])
        .output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let fields: Vec<&str> = listed.split_whitespace().collect();
    let [pid, group, "sleep"] = fields[..] else {
        return Err(format!("no process was left: {listed:?}").into());
    };
    assert_eq!(pid, group);
    std::process::Command::new("kill").arg(pid).status()?;
    Ok(())
}

#[test]
fn faults_end_it_with_their_status() -> TestResult {
    let mut session = Session::start(&["--fault", "exit-at-once"], &[])?;
    assert_eq!(session.end()?, 1);
    assert!(session.text().contains("error: not logged in"));
    let mut session = Session::start(&["--style", "plain", "--fault", "die"], &[])?;
    session.wait_for("> ", 0)?;
    session.write("\x1b[200~hello\x1b[201~\r")?;
    assert_eq!(session.end()?, 3);
    Ok(())
}

#[test]
fn a_script_is_used_and_a_faulty_one_is_named() -> TestResult {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script.json");
    std::fs::write(
        &script,
        r#"[{"text":"REVIEW: ({tag}) scripted\n\nVERDICT: OBJECT","think_ms":1}]"#,
    )?;
    let path = script.to_str().ok_or("a temporary path is text")?;
    let mut session = Session::start(&["--style", "plain", "--script", path], &[])?;
    session.wait_for("> ", 0)?;
    session.write("\x1b[200~the tag is k7q2 here\x1b[201~\r")?;
    session.wait_for("VERDICT: OBJECT", 0)?;
    assert!(session.text().contains("REVIEW: (k7q2) scripted"));
    drop(session);
    std::fs::write(&script, "{}")?;
    let mut session = Session::start(&["--script", path], &[])?;
    assert_eq!(session.end()?, 1);
    assert!(
        session.text().contains("is faulty: not a list of turns"),
        "{}",
        session.text()
    );
    Ok(())
}

#[test]
fn without_a_terminal_it_says_so() -> TestResult {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_codriver"))
        .arg("demo-agent")
        .stdin(std::process::Stdio::null())
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr)?;
    assert!(
        error.starts_with("codriver: the demo agent needs a terminal to run in: "),
        "{error}"
    );
    assert_eq!(output.stdout, b"");
    Ok(())
}

#[test]
fn an_unknown_fault_is_wrong_usage() -> TestResult {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_codriver"))
        .args(["demo-agent", "--fault", "lazy"])
        .output()?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr)?.contains("\"lazy\" is no fault"));
    Ok(())
}
