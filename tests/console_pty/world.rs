//! A home and a repository of a test's own, and what the program left in them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) type Fault = Box<dyn Error>;
pub(crate) type Outcome = Result<(), Fault>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");
/// Longest wait for anything; a small machine that builds something beside it is slow.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// Between two looks at something that gives no word of itself.
const LOOK: Duration = Duration::from_millis(40);

/// Looks again and again until there is something.
pub(crate) fn until<T>(
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>, Fault>,
) -> Result<T, Fault> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() > end {
            return Err(format!("{what}: not within {LIMIT:?}").into());
        }
        std::thread::sleep(LOOK);
    }
}

/// What a person has.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Result<Self, Fault> {
        let folder = tempfile::tempdir()?;
        let world = Self { folder };
        for name in ["home", "repo", "state"] {
            fs::create_dir(world.path(name))?;
        }
        let made = Command::new("git")
            .args(["init", "--quiet", "--initial-branch=main"])
            .current_dir(world.path("repo"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .status()?;
        assert!(made.success());
        Ok(world)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The environment of the program: nothing of the caller's reaches it.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let path = |name| self.path(name).display().to_string();
        [
            ("HOME", path("home")),
            ("XDG_STATE_HOME", path("state")),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
            ("PS1", "$ ".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Has the demo agent answer messages with these texts in turn, and agree to the brief; gives the settings file.
    pub(crate) fn script(&self, texts: &[&str], delay_ms: u32) -> Result<String, Fault> {
        let turns: Vec<_> = texts
            .iter()
            .map(|text| {
                serde_json::json!({
                    "match": "The driver's message:", "text": text, "think_ms": 200, "delay_ms": delay_ms,
                })
            })
            .collect();
        let script = self.path("script.json");
        fs::write(&script, serde_json::to_vec(&turns)?)?;
        let script = script.display().to_string();
        let command = [
            "{self}",
            "demo-agent",
            "--style",
            "claude",
            "--script",
            &script,
        ];
        let settings = self.path("settings.toml");
        fs::write(
            &settings,
            format!("[harness.demo]\ncommand = {command:?}\n"),
        )?;
        Ok(settings.display().to_string())
    }

    /// Processes of this world, with what they were started as.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("HOME={}", self.path("home").display()).into_bytes();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                let environment = fs::read(entry.path().join("environ")).ok()?;
                let words = fs::read(entry.path().join("cmdline")).ok()?;
                let is_ours = environment.split(|byte| *byte == 0).any(|one| one == mark);
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                (is_ours && !words.is_empty()).then_some((pid, words))
            })
            .collect()
    }

    /// The process whose command line holds these words, once there is one.
    pub(crate) fn process(&self, word: &str) -> Result<rustix::process::Pid, Fault> {
        let found = until(&format!("a process `{word}`"), || {
            let all = self.processes();
            Ok(all.into_iter().find(|(_, words)| words.contains(word)))
        })?;
        rustix::process::Pid::from_raw(found.0).ok_or_else(|| "a process has a number".into())
    }

    /// Waits until no process of this world is left.
    pub(crate) fn is_left_alone(&self) -> Outcome {
        until("the end of all processes", || {
            Ok(self.processes().is_empty().then_some(()))
        })
        .map_err(|error| format!("{error}: {:?}", self.processes()).into())
    }

    /// The folder of the only session there was.
    pub(crate) fn session(&self) -> Result<PathBuf, Fault> {
        let below = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let all: Vec<PathBuf> = below(&self.path("state/codriver"))
            .iter()
            .flat_map(|repository| below(&repository.join("sessions")))
            .collect();
        match all.as_slice() {
            [one] => Ok(one.clone()),
            others => Err(format!("not one session: {others:?}").into()),
        }
    }

    /// The state in which the session's record was left.
    pub(crate) fn state(&self) -> Result<String, Fault> {
        let text = fs::read(self.session()?.join("session.json"))?;
        let value: serde_json::Value = serde_json::from_slice(&text)?;
        Ok(value["state"].as_str().unwrap_or_default().to_owned())
    }

    /// The outcomes of the receipts, oldest first.
    pub(crate) fn outcomes(&self) -> Result<Vec<String>, Fault> {
        let text = fs::read_to_string(self.session()?.join("receipts.jsonl"))?;
        text.lines()
            .map(|line| {
                let value: serde_json::Value = serde_json::from_str(line)?;
                let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
                Ok(format!("{} {}", word("kind"), word("outcome")))
            })
            .collect()
    }
}
