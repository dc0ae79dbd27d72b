//! What `--headless replay SESSION --json` prints: the rounds of a session, and what reading them again comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::receipt::Outcome;
use super::result::Route;
use super::word::{Kind, Reason, Verdict};

/// The schema name of a [`Replay`].
pub const REPLAY_SCHEMA: &str = "codriver.replay/1";

/// The rounds of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Always `codriver.replay/1`.
    #[schemars(extend("const" = REPLAY_SCHEMA))]
    pub schema: String,
    /// The session.
    pub session: String,
    /// Its rounds by their receipts, oldest first.
    pub rounds: Vec<ReplayRound>,
    /// What reading them again comes to; null when that was not asked for.
    pub verified: Option<Verified>,
}

/// One round, as its receipt and its texts have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayRound {
    /// The receipt's id.
    pub receipt: String,
    /// The pane's round number.
    pub round: u32,
    /// What it was about.
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
    /// The verdict; null when no reply was read.
    pub verdict: Option<Verdict>,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// The text of the review; null when it is not there, or is no longer the one the receipt digests.
    pub rationale: Option<String>,
    /// Which way the round was asked to go and went.
    pub route: Route,
    /// Start in the recording, in seconds.
    pub from: Option<f64>,
    /// End in the recording, in seconds.
    pub to: Option<f64>,
}

/// What came of reading a session's rounds again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Nothing differs.
    pub holds: bool,
    /// What is wrong with the receipts as a whole; null when their chain holds.
    pub chain: Option<String>,
    /// Each receipt.
    pub rounds: Vec<VerifiedRound>,
}

/// One receipt held against the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedRound {
    /// The receipt's id.
    pub receipt: String,
    /// Whether the round was found in the recording and read again; a round without an answer is not.
    pub read_again: bool,
    /// The verdict by today's rules.
    pub verdict: Option<Verdict>,
    /// What differs, a sentence each.
    pub differences: Vec<String>,
}
