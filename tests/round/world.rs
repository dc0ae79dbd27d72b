//! A home, a repository and a state folder of our own, the program run in them, and what it leaves behind.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codriver::recording::digest::Digest;
use codriver::recording::receipt::{Body, Receipt, RoundReceipt};
use codriver::recording::result::Round;
use codriver::recording::session::Session;
use rustix::process::{Pid, Signal};

use crate::schema::Schema;

pub(crate) type Outcome = Result<(), Box<dyn Error + Send + Sync>>;
pub(crate) type Fault = Box<dyn Error + Send + Sync>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");
/// Longest any single run may take; each is killed then.
const LIMIT: Duration = Duration::from_secs(40);
/// How many runs go on at once, so that the clocks of the program stay meaningful on a small machine.
pub(crate) const AT_ONCE: usize = 12;
/// A variable every process of a world inherits, by which what is left behind is found.
const MARK: &str = "CODRIVER_TEST_WORLD";

/// Leave to run something, one of a few.
struct Leave;

static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Leave {
    fn take() -> Self {
        let (count, freed) = &RUNNING;
        let mut count = freed
            .wait_while(
                count.lock().unwrap_or_else(PoisonError::into_inner),
                |count| *count >= AT_ONCE,
            )
            .unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        Self
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let (count, freed) = &RUNNING;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        freed.notify_one();
    }
}

/// Runs every case on a thread of its own; all that failed are told together.
pub(crate) fn each<T: Sync + std::fmt::Debug>(
    cases: &[T],
    check: impl Fn(&T) -> Outcome + Sync,
) -> Outcome {
    let check = &check;
    let failed: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = cases
            .iter()
            .map(|case| (case, scope.spawn(move || check(case))))
            .collect();
        running
            .into_iter()
            .filter_map(|(case, running)| {
                let why = match running.join() {
                    Ok(Ok(())) => return None,
                    Ok(Err(why)) => why.to_string(),
                    Err(panic) => {
                        match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
                            (Some(text), _) => text.clone(),
                            (_, Some(text)) => (*text).to_owned(),
                            _ => "panicked".to_owned(),
                        }
                    }
                };
                Some(format!("{case:?}:\n{why}"))
            })
            .collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

/// What a person has: a home, a repository, a state folder.
pub(crate) struct World {
    dir: tempfile::TempDir,
    mark: String,
}

impl World {
    pub(crate) fn new() -> Result<Self, Fault> {
        let dir = tempfile::tempdir()?;
        let mark = dir.path().to_string_lossy().into_owned();
        let world = Self { dir, mark };
        for folder in ["home", "state", "bin", "repo", "tmp"] {
            fs::create_dir(world.path(folder))?;
        }
        world.git(&["init", "--quiet", "--initial-branch=main"])?;
        Ok(world)
    }

    /// The real path of something in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .expect("the folder is there as long as the world")
            .join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<PathBuf, Fault> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().ok_or("a name below the folder")?)?;
        fs::write(&path, text)?;
        Ok(path)
    }

    pub(crate) fn program(&self, name: &str, script: &str) -> Result<PathBuf, Fault> {
        let path = self.write(name, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    pub(crate) fn git(&self, args: &[&str]) -> Outcome {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@b",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .current_dir(self.path("repo"))
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(())
    }

    /// Commits everything there is in the repository.
    pub(crate) fn commit(&self) -> Outcome {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"])
    }

    /// A call of the program in this world; nothing of the caller's environment reaches it.
    pub(crate) fn call(&self, args: &[&str]) -> Call<'_> {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env(MARK, &self.mark)
            .current_dir(self.path("repo"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Call {
            world: self,
            command,
            input: None,
            checks: true,
        }
    }

    /// A headless call with the demo agent, or a harness made of it, as the peer.
    pub(crate) fn headless(&self, peer: &Peer, args: &[&str]) -> Result<Call<'_>, Fault> {
        let config = self.write(&format!("{}.toml", peer.name), peer.table(self)?)?;
        let mut call = self.call(&["--headless", "--peer", peer.harness]);
        call.command.arg("--config").arg(config).args(args);
        Ok(call)
    }

    /// The turns the peer took, as it wrote them down itself.
    pub(crate) fn turns(&self) -> Result<Vec<Turn>, Fault> {
        let text = fs::read_to_string(self.path("channel/demo.jsonl")).unwrap_or_default();
        text.lines()
            .map(|line| {
                let value: serde_json::Value = serde_json::from_str(line)?;
                let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
                Ok(Turn {
                    prompt: text("prompt"),
                    reply: text("reply"),
                })
            })
            .collect()
    }

    /// What was typed at the agent's dialog.
    pub(crate) fn typed(&self) -> Result<String, Fault> {
        match fs::read_to_string(self.path("channel/typed")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            read => Ok(read.unwrap_or_default()),
        }
    }

    /// The folders of all sessions.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let folders = |path: PathBuf| -> Vec<PathBuf> {
            fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect()
        };
        folders(self.path("state/codriver"))
            .into_iter()
            .flat_map(|repository| folders(repository.join("sessions")))
            .collect()
    }

    /// The record of the only session there was.
    pub(crate) fn record(&self) -> Result<Record, Fault> {
        match self.sessions().as_slice() {
            [folder] => Record::open(folder),
            others => Err(format!("not one session: {others:?}").into()),
        }
    }

    /// Processes of this world that still run, by what they were started as.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        // A program that gets an environment of its own lacks the mark, but not the home.
        let known = [
            format!("{MARK}={}", self.mark).into_bytes(),
            format!("HOME={}", self.path("home").display()).into_bytes(),
        ];
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|process| {
                let pid = process.file_name().to_str()?.parse().ok()?;
                let environment = fs::read(process.path().join("environ")).ok()?;
                environment
                    .split(|byte| *byte == 0)
                    .any(|one| known.iter().any(|entry| one == entry))
                    .then_some(())?;
                let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                Some((pid, words))
            })
            .collect()
    }

    fn is_left_alone(&self) -> Outcome {
        let mut left = self.processes();
        // One that was killed is still listed until it is scheduled once more.
        let end = Instant::now() + Duration::from_secs(1);
        while !left.is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
            left = self.processes();
        }
        for (pid, _) in &left {
            if let Some(pid) = Pid::from_raw(*pid) {
                // It may have ended meanwhile; the test fails anyway.
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        if !left.is_empty() {
            return Err(format!("left running: {left:?}").into());
        }
        let rest: Vec<_> = fs::read_dir(self.path("tmp"))?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        if !rest.is_empty() {
            return Err(format!("left in the temporary folder: {rest:?}").into());
        }
        Ok(())
    }
}

/// One turn of the demo agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) prompt: String,
    pub(crate) reply: String,
}

/// A harness whose program is the demo agent.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    name: String,
    harness: &'static str,
    style: &'static str,
    faults: String,
    script: Option<String>,
    more: String,
}

impl Peer {
    /// One of the four styles, by the rules that read it.
    pub(crate) fn new(harness: &'static str) -> Self {
        let style = match harness {
            "demo" => "claude",
            "scribe" => "plain",
            same => same,
        };
        Self {
            name: "peer".to_owned(),
            harness,
            style,
            faults: String::new(),
            script: None,
            // Two readings seconds apart are for the real one, and for the tests that ask for them.
            more: match harness {
                "opencode" => "settle_ms = 0\n".to_owned(),
                _ => String::new(),
            },
        }
    }

    /// As the bundled profile has it: nothing of it is made quicker.
    pub(crate) fn unhurried(mut self) -> Self {
        self.more.clear();
        self
    }

    pub(crate) fn fault(mut self, name: &str) -> Self {
        if !self.faults.is_empty() {
            self.faults.push(',');
        }
        self.faults.push_str(name);
        self
    }

    /// Answers messages with this; briefs are agreed to.
    pub(crate) fn says(self, text: &str) -> Self {
        self.script(&serde_json::json!([
            { "match": "The driver's message:", "text": text, "think_ms": 50, "delay_ms": 2 }
        ]))
    }

    pub(crate) fn script(mut self, turns: &serde_json::Value) -> Self {
        self.script = Some(turns.to_string());
        self
    }

    /// Further lines of its table.
    pub(crate) fn with(mut self, lines: &str) -> Self {
        self.more.push_str(lines);
        self.more.push('\n');
        self
    }

    fn table(&self, world: &World) -> Result<String, Fault> {
        let mut command = vec!["{self}", "demo-agent", "--style", self.style];
        if !self.faults.is_empty() {
            command.extend(["--fault", &self.faults]);
        }
        let script = match &self.script {
            Some(script) => world.write("script.json", script)?.display().to_string(),
            None => String::new(),
        };
        if !script.is_empty() {
            command.extend(["--script", &script]);
        }
        let channel = world.path("channel");
        fs::create_dir_all(&channel)?;
        let mut keys = vec![
            format!("command = {command:?}"),
            "peer_args = []".to_owned(),
            "submits = false".to_owned(),
            "channel = \"none\"".to_owned(),
            "lock_args = { namespace = [], landlock = [], none = [] }".to_owned(),
            // It writes down what it was asked.
            format!("writable = [{:?}]", channel.display().to_string()),
            format!(
                "peer_env = {{ CODRIVER_DEMO_CHANNEL = {:?}, CODRIVER_DEMO_LOG = {:?} }}",
                channel.display().to_string(),
                channel.join("typed").display().to_string()
            ),
        ];
        // What the caller sets stands in the place of it.
        keys.retain(|line| {
            let key = line.split(' ').next().unwrap_or_default();
            !self.more.lines().any(|more| more.starts_with(key))
        });
        Ok(format!(
            "[harness.{}]\n{}\n{}",
            self.harness,
            keys.join("\n"),
            self.more
        ))
    }
}

/// One call of the program.
pub(crate) struct Call<'w> {
    world: &'w World,
    pub(crate) command: Command,
    input: Option<Vec<u8>>,
    checks: bool,
}

impl<'w> Call<'w> {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// The arguments of the program.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> + '_ {
        let words = self.command.get_args();
        words.map(|word| word.to_string_lossy().into_owned())
    }

    /// Starts another program in the place of this one, in the same surroundings; it is to start this one.
    pub(crate) fn through(&mut self, mut other: Command, input: Stdio) {
        other.env_clear().current_dir(self.world.path("repo"));
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                other.env(name, value);
            }
        }
        other
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.command = other;
    }

    pub(crate) fn input(mut self, bytes: &[u8]) -> Self {
        self.command.stdin(Stdio::piped());
        self.input = Some(bytes.to_vec());
        self
    }

    /// Leaves out what is checked of every run's record.
    pub(crate) fn unchecked(mut self) -> Self {
        self.checks = false;
        self
    }

    /// Runs it to its end and checks what no run may fail: no panic, nothing left running, a sound record.
    pub(crate) fn run(self) -> Result<Ended, Fault> {
        self.start()?.end()
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Result<Running<'w>, Fault> {
        let leave = Leave::take();
        // A group of its own, so that a signal of the test reaches nothing else.
        self.command.process_group(0);
        let began = Instant::now();
        let mut child = self.command.spawn()?;
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), self.input.take()) {
            std::thread::spawn(move || {
                // A program that refuses its input early closes the pipe; that is its right.
                let _ = pipe.write_all(&input);
            });
        }
        let out = child.stdout.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).map(|_| bytes)
            })
        });
        let (sender, lines) = channel();
        if let Some(pipe) = child.stderr.take() {
            std::thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                let mut line = Vec::new();
                while pipe
                    .read_until(b'\n', &mut line)
                    .is_ok_and(|count| count > 0)
                {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    line.clear();
                    if sender.send(text).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Running {
            world: self.world,
            child: Arc::new(Mutex::new(child)),
            out,
            lines,
            err: String::new(),
            began,
            checks: self.checks,
            _leave: leave,
        })
    }
}

/// The program while it runs.
pub(crate) struct Running<'w> {
    world: &'w World,
    child: Arc<Mutex<Child>>,
    out: Option<JoinHandle<std::io::Result<Vec<u8>>>>,
    lines: Receiver<String>,
    err: String,
    began: Instant,
    checks: bool,
    _leave: Leave,
}

impl Running<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.lock().id()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a line of standard error holds this.
    pub(crate) fn hear(&mut self, word: &str) -> Outcome {
        let end = self.began + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.err.push_str(&line);
                    if line.contains(word) {
                        return Ok(());
                    }
                }
                Err(_) => {
                    let _ = self.lock().kill();
                    return Err(format!("it never said {word:?}:\n{}", self.err).into());
                }
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> Outcome {
        let pid = Pid::from_child(&self.lock());
        Ok(rustix::process::kill_process(pid, signal)?)
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Result<Ended, Fault> {
        let status = self.wait()?;
        let took = self.began.elapsed();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(2)) {
            self.err.push_str(&line);
        }
        let out = match self.out.take() {
            Some(reader) => reader.join().map_err(|_| "the reader panicked")??,
            None => Vec::new(),
        };
        let ended = Ended {
            status,
            out: String::from_utf8(out)?,
            err: std::mem::take(&mut self.err),
            took,
        };
        if ended.err.contains("panicked") || ended.code() == Some(101) {
            return Err(format!("it panicked:\n{ended:?}").into());
        }
        if self.checks {
            self.world
                .is_left_alone()
                .map_err(|why| format!("{why}\n{ended:?}"))?;
            for folder in self.world.sessions() {
                Record::open(&folder)
                    .and_then(|record| record.check())
                    .map_err(|why| format!("the record of {}: {why}", folder.display()))?;
            }
        }
        Ok(ended)
    }

    fn wait(&mut self) -> Result<ExitStatus, Fault> {
        let end = self.began + LIMIT;
        // Its standard error ends with it, so nobody has to look again and again.
        loop {
            match self
                .lines
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => self.err.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        loop {
            if let Some(status) = self.lock().try_wait()? {
                return Ok(status);
            }
            if Instant::now() > end {
                self.lock().kill()?;
                self.lock().wait()?;
                return Err(format!("it did not end within {LIMIT:?}:\n{}", self.err).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The program after its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// What it said beside its progress.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.err
            .lines()
            .filter(|line| line.starts_with("codriver: "))
            .collect()
    }

    /// It ended with this status, and said all of this on standard error.
    pub(crate) fn failed(&self, code: i32, words: &[&str]) -> Outcome {
        let missing: Vec<_> = words
            .iter()
            .filter(|word| !self.err.contains(**word))
            .collect();
        if self.code() != Some(code) || !missing.is_empty() || !self.out.is_empty() {
            return Err(format!(
                "status {code}, no result and {words:?} were expected, {missing:?} is missing: {self:#?}"
            )
            .into());
        }
        Ok(())
    }

    /// It printed this result, whose verdict its status tells.
    pub(crate) fn text(&self, code: i32, text: &str) -> Outcome {
        if self.code() != Some(code) || self.out != text {
            return Err(format!("status {code} and {text:?} were expected: {self:#?}").into());
        }
        Ok(())
    }

    /// The result it printed as JSON, held against the schema.
    pub(crate) fn round(&self, code: i32) -> Result<Round, Fault> {
        if self.code() != Some(code) {
            return Err(format!("status {code} was expected: {self:#?}").into());
        }
        let value: serde_json::Value =
            serde_json::from_str(&self.out).map_err(|error| format!("{error}: {self:#?}"))?;
        Schema::named("round")?.check(&value)?;
        let round: Round = serde_json::from_value(value.clone())?;
        // Nothing beside what the schema names.
        if serde_json::to_value(&round)? != value {
            return Err(format!("not as a result is written: {value:#}").into());
        }
        Ok(round)
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// What a session left in its folder.
pub(crate) struct Record {
    pub(crate) folder: PathBuf,
    pub(crate) session: Session,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) events: Vec<serde_json::Value>,
}

impl Record {
    pub(crate) fn open(folder: &Path) -> Result<Self, Fault> {
        let session = fs::read(folder.join("session.json"))?;
        let value: serde_json::Value = serde_json::from_slice(&session)?;
        Schema::named("session")?.check(&value)?;
        let session: Session = serde_json::from_value(value)?;
        let lines = fs::read(folder.join("receipts.jsonl"))?;
        let receipts = session.verify(&lines)?;
        let events = fs::read_to_string(folder.join("events.jsonl"))?
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            folder: folder.to_path_buf(),
            session,
            receipts,
            events,
        })
    }

    pub(crate) fn rounds(&self) -> Vec<&RoundReceipt> {
        self.receipts
            .iter()
            .filter_map(|receipt| match &receipt.body {
                Body::Round(round) => Some(round.as_ref()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn happened(&self, event: &str) -> usize {
        self.events
            .iter()
            .filter(|entry| entry["event"] == event)
            .count()
    }

    pub(crate) fn transcript(&self, name: &str) -> Result<String, Fault> {
        Ok(fs::read_to_string(
            self.folder.join("transcripts").join(name),
        )?)
    }

    /// What holds for every session: records of the right form, the owner's alone, texts that are what the receipts say.
    pub(crate) fn check(&self) -> Outcome {
        let schema = Schema::named("event")?;
        for event in &self.events {
            schema.check(event)?;
        }
        let schema = Schema::named("receipt")?;
        for receipt in &self.receipts {
            schema.check(&serde_json::to_value(receipt)?)?;
        }
        for round in self.rounds() {
            let texts = &round.texts;
            let kept = [&texts.sent, &texts.screen, &texts.channel, &texts.rationale];
            for text in kept.into_iter().flatten() {
                let file = text.file.as_ref().ok_or("a text was not kept")?;
                if Digest::of(&fs::read(self.folder.join(file))?) != text.sha256 {
                    return Err(format!("{file} is not what the receipt says").into());
                }
            }
        }
        let mut open = vec![self.folder.clone()];
        while let Some(path) = open.pop() {
            let data = fs::symlink_metadata(&path)?;
            let (wanted, mode) = (
                if data.is_dir() { 0o700 } else { 0o600 },
                data.permissions().mode() & 0o777,
            );
            if mode != wanted {
                return Err(format!("{} has mode {mode:o}", path.display()).into());
            }
            if data.is_dir() {
                open.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
            }
        }
        if self.folder.join("private").exists() {
            return Err("the private folder is still there".into());
        }
        Ok(())
    }
}
