//! A state folder of our own, sessions recorded into it, and the program run on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use codriver::flow::recorder::{Opening, PaneIndex, Recorder};
use codriver::recording::digest::Digest;
use codriver::recording::receipt::{Body, Outcome, RoundReceipt, Texts};
use codriver::recording::result::{Delivery, Route, Span, Tree};
use codriver::recording::session::{Pane, State, repo_key};
use codriver::recording::word::{Agreement, Kind, Source, Verdict};
use codriver::screen::Size;

pub(crate) type Fault = Box<dyn std::error::Error>;
pub(crate) type Test = Result<(), Fault>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");
const LONG: Duration = Duration::from_secs(10);

pub(crate) struct World {
    root: tempfile::TempDir,
}

/// A session that is being recorded.
pub(crate) struct Recording {
    pub(crate) recorder: Recorder,
    pub(crate) peer: PaneIndex,
}

pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: Option<i32>,
}

impl World {
    pub(crate) fn new() -> Result<Self, Fault> {
        let root = tempfile::tempdir()?;
        for name in ["home", "state", "repo"] {
            fs::create_dir(root.path().join(name))?;
        }
        fs::create_dir(root.path().join("repo/.git"))?;
        Ok(Self { root })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.root.path();
        root.canonicalize().unwrap_or(root.to_path_buf()).join(name)
    }

    /// Begins a session that many seconds after 1970, with a peer of that harness.
    pub(crate) fn begin(&self, started: u64, harness: &str) -> Recording {
        let worktree = self.path("repo");
        self.begin_in(started, harness, &repo_key(&worktree))
    }

    pub(crate) fn begin_in(&self, started: u64, harness: &str, repo: &str) -> Recording {
        let worktree = self.path("repo");
        let mut recorder = Recorder::open(&Opening {
            state: Some(self.path("state").join("codriver")),
            repo,
            worktree: &worktree,
            codriver: "0.1.0",
            started: Duration::from_secs(started),
        });
        let pane = Pane::new("peer", harness, None, [harness], Size::new(80, 24));
        let peer = recorder.add_pane(pane, harness);
        Recording { recorder, peer }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Result<Said, Fault> {
        let output = self.command(args).output()?;
        Ok(Said::of(&output))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path("repo"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn json(&self, args: &[&str]) -> Result<serde_json::Value, Fault> {
        let said = self.run(args)?;
        serde_json::from_str(&said.out).map_err(|_| format!("{}{}", said.out, said.err).into())
    }
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code(),
        }
    }
}

impl Recording {
    pub(crate) fn folder(&self) -> PathBuf {
        self.recorder
            .folder()
            .unwrap_or(Path::new(""))
            .to_path_buf()
    }

    /// Writes the receipt of a round that got this verdict.
    pub(crate) fn round(&mut self, number: u32, verdict: Verdict) -> Option<String> {
        self.says(number, verdict, "fine")
    }

    /// The same, with the text of the review.
    pub(crate) fn says(&mut self, number: u32, verdict: Verdict, text: &str) -> Option<String> {
        let rationale = self
            .recorder
            .text(&format!("{number:02}-round-rationale.txt"), text);
        self.recorder.receipt(Body::Round(Box::new(RoundReceipt {
            pane: "peer".to_owned(),
            round: number,
            kind: Kind::Implementation,
            outcome: Outcome::Answered,
            verdict: Some(verdict),
            reason: None,
            tag: Some("k7q2".to_owned()),
            tagged: true,
            source: Some(Source::Screen),
            checked_by: None,
            agreement: Agreement::None,
            complete: true,
            ambiguous: false,
            route: Route::host(),
            fallback: None,
            harness: "demo".to_owned(),
            version: None,
            confined: None,
            launch: Digest::of_list(["demo"]),
            scrubbed: Vec::new(),
            delivery: Delivery::default(),
            tree: Tree::default(),
            texts: Texts {
                rationale: Some(rationale),
                ..Texts::default()
            },
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            elapsed_ms: 1500,
            recording: Some(Span::new("peer.cast", Duration::from_secs(1), LONG)),
        })))
    }

    pub(crate) fn close(mut self, after: u64) -> PathBuf {
        let folder = self.folder();
        self.recorder
            .close(Duration::from_secs(after), State::Closed, LONG);
        folder
    }
}
