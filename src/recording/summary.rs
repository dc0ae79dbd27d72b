//! What a list of sessions says of each (`sessions list --json`, `sessions show --json`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::receipt::{Body, Outcome, Receipt};
use super::session::Session;
use super::word::{Kind, Verdict};

/// The schema name of a [`Sessions`].
pub const SESSIONS_SCHEMA: &str = "codriver.sessions/1";

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// Always `codriver.sessions/1`.
    #[schemars(extend("const" = SESSIONS_SCHEMA))]
    pub schema: String,
    /// The sessions, newest first.
    pub sessions: Vec<Summary>,
}

/// How a session stands, its process looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It runs, so far as can be told.
    Open,
    /// It ended in order.
    Closed,
    /// The person stopped it in a round.
    Interrupted,
    /// Its process is gone, and it was never closed.
    Killed,
    /// Its file cannot be read.
    Unreadable,
}

impl Standing {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Interrupted => "interrupted",
            Self::Killed => "killed",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Its id.
    pub id: String,
    /// The key of its repository.
    pub repo: String,
    /// The folder its panes worked in.
    pub worktree: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// From the start to the end, or to the last event there is; null when nothing tells.
    pub length_ms: Option<u64>,
    /// How it stands.
    pub standing: Standing,
    /// Harness of the driver; null without one.
    pub driver: Option<String>,
    /// Harness of the peer.
    pub peer: Option<String>,
    /// Rounds that were asked, briefs left out.
    pub rounds: u32,
    /// How often each verdict was given, briefs left out; rounds without an answer stand under their outcome.
    pub verdicts: BTreeMap<String, u32>,
    /// The verdict of the last round that has one.
    pub last: Option<Verdict>,
    /// Receipts there are.
    pub receipts: u64,
    /// False when part of a pane's output is missing from its recording, or the session was killed.
    pub whole: bool,
    /// Size of its folder.
    pub bytes: u64,
    /// What is wrong with it, a sentence each.
    pub faults: Vec<String>,
}

/// The word a round counts under.
pub fn word_of(verdict: Option<Verdict>, outcome: Outcome) -> String {
    match verdict {
        Some(verdict) => verdict.word().to_owned(),
        None => outcome.word().to_owned(),
    }
}

impl Summary {
    /// Counts the rounds of a session by its receipts.
    pub fn count(&mut self, receipts: &[Receipt]) {
        self.receipts = receipts.len() as u64;
        for receipt in receipts {
            let Body::Round(round) = &receipt.body else {
                continue;
            };
            if round.kind == Kind::Brief {
                continue;
            }
            self.rounds += 1;
            *self
                .verdicts
                .entry(word_of(round.verdict, round.outcome))
                .or_default() += 1;
            self.last = round.verdict.or(self.last);
        }
    }

    /// Takes over what the session's own file says.
    pub fn take(&mut self, session: &Session) {
        let harness = |role: &str| {
            let pane = session.panes.iter().find(|pane| pane.pane == role);
            pane.map(|pane| pane.harness.clone())
        };
        self.worktree.clone_from(&session.worktree);
        self.started.clone_from(&session.started);
        self.driver = harness("driver");
        self.peer = harness("peer");
        self.whole = session.whole;
    }
}
