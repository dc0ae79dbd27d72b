//! A machine of its own for one test: home, repository, a search path with scripted runners.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use codriver::recording::receipt::{Body, Receipt};
use codriver::recording::session::Session;
use serde_json::Value;

pub(crate) type Fault = Box<dyn std::error::Error>;
pub(crate) type Test = Result<(), Fault>;

/// Text of a runner and of the environment that must never be seen outside a transcript.
pub(crate) const MARK: &str = "planted-by-a-runner";
/// A credential in the environment: it must not even be in a transcript.
pub(crate) const SECRET: &str = "planted-credential-0123456789";

/// The machine.
pub(crate) struct Ground {
    root: tempfile::TempDir,
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Called {
    /// Its exit status.
    pub(crate) status: Option<i32>,
    /// Its standard output.
    pub(crate) out: String,
    /// Its standard error.
    pub(crate) err: String,
}

impl Called {
    /// Its output as JSON.
    pub(crate) fn json(&self) -> Result<Value, Fault> {
        serde_json::from_str(&self.out).map_err(|error| format!("{error}: {self:?}").into())
    }
}

impl Ground {
    /// A machine with a repository that has one change, and these machine settings.
    pub(crate) fn new(settings: &str) -> Result<Self, Fault> {
        let root = tempfile::tempdir()?;
        let ground = Self { root };
        for folder in [
            "home",
            "bin",
            "repo",
            "config/codriver",
            "state",
            "run",
            "tmp",
        ] {
            fs::create_dir_all(ground.at(folder))?;
        }
        fs::set_permissions(ground.at("bin"), fs::Permissions::from_mode(0o755))?;
        fs::write(ground.at("config/codriver/config.toml"), settings)?;
        ground.git(&["init", "-q", "-b", "main"])?;
        fs::write(ground.at("repo/a.rs"), "fn a() {}\n")?;
        ground.git(&["add", "."])?;
        ground.git(&["commit", "-q", "-m", "one"])?;
        fs::write(ground.at("repo/a.rs"), "fn a() { b() }\n")?;
        Ok(ground)
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn git(&self, args: &[&str]) -> Test {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(self.at("repo"))
            .env("HOME", self.at("home"))
            .status()?;
        match done.success() {
            true => Ok(()),
            false => Err(format!("git {args:?}").into()),
        }
    }

    /// Puts a runner on the search path.
    pub(crate) fn runner(&self, name: &str, script: &str) -> Test {
        let path = self.at("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// A call of the program.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.at("bin").display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_codriver"));
        command
            .args(args)
            .current_dir(self.at("repo"))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.at("home"))
            .env("XDG_CONFIG_HOME", self.at("config"))
            .env("XDG_STATE_HOME", self.at("state"))
            .env("XDG_RUNTIME_DIR", self.at("run"))
            .env("TMPDIR", self.at("tmp"))
            .env("LANG", "C.UTF-8")
            .env("ANTHROPIC_API_KEY", SECRET)
            .env("CLAUDECODE", "1")
            .env("GIT_DIR", "/nowhere")
            .env("GIT_CONFIG_PARAMETERS", "'core.pager=false'")
            .stdin(Stdio::null());
        command
    }

    /// Calls the program.
    pub(crate) fn call(&self, args: &[&str]) -> Result<Called, Fault> {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(args).output()?;
        Ok(Called {
            status: status.code(),
            out: String::from_utf8(stdout)?,
            err: String::from_utf8(stderr)?,
        })
    }

    /// Files of this name below the state folder.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect(&self.at("state"), &mut found);
        found.retain(|path| path.file_name().is_some_and(|file| file == name));
        found
    }

    /// The receipts of the one session there is, its seal checked.
    pub(crate) fn receipts(&self) -> Result<Vec<Body>, Fault> {
        let files = self.files("session.json");
        let [file] = files.as_slice() else {
            return Err(format!("one session, not {files:?}").into());
        };
        let session: Session = serde_json::from_slice(&fs::read(file)?)?;
        let lines = fs::read(file.with_file_name("receipts.jsonl"))?;
        let receipts: Vec<Receipt> = session.verify(&lines)?;
        Ok(receipts.into_iter().map(|receipt| receipt.body).collect())
    }

    /// Every transcript of a runner, put together.
    pub(crate) fn transcripts(&self) -> Result<String, Fault> {
        let mut all = Vec::new();
        collect(&self.at("state"), &mut all);
        let mut text = String::new();
        for path in all.iter().filter(|path| is_runners(path)) {
            text.push_str(&fs::read_to_string(path)?);
        }
        Ok(text)
    }

    /// Everything the program said or kept, but for what a runner wrote and was told.
    pub(crate) fn told(&self, called: &Called) -> Result<String, Fault> {
        let mut text = format!("{}\n{}", called.out, called.err);
        let mut all = Vec::new();
        collect(&self.at("state"), &mut all);
        for path in all.iter().filter(|path| !is_runners(path)) {
            text.push_str(&String::from_utf8_lossy(&fs::read(path)?));
        }
        Ok(text)
    }
}

fn is_runners(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_transcript = path
        .parent()
        .is_some_and(|folder| folder.ends_with("transcripts"));
    is_transcript
        && ["claude-", "opencode-", "codex-", "gemini-"]
            .iter()
            .any(|head| name.starts_with(head))
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect(&path, found),
            false => found.push(path),
        }
    }
}

/// A script of the claude runner that answers with a result.
pub(crate) fn claude_says(result: &str) -> String {
    format!(
        r#"tag=$(printf '%s' "$*" | grep -o 'which is [a-z0-9]*' | tail -1 | cut -d' ' -f3)
printf '{{"type":"system","subtype":"init","session_id":"s-1","model":"m-1"}}\n'
printf '{{"type":"result","subtype":"success","is_error":false,"result":"%s"}}\n' "{result}""#
    )
}

/// Tells every file below a folder.
pub(crate) fn walk(folder: &Path, tell: &mut dyn FnMut(&Path)) {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found.iter().for_each(|path| tell(path));
}
