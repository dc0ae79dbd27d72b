//! The review of a role: its words, its result and its receipt (systems.md B.8, C.9; interface.md 2).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::fallback::Fallback;
use super::receipt::Text;
use super::word::Verdict;

/// The schema name of a [`Review`].
pub const REVIEW_SCHEMA: &str = "codriver.review/1";
/// The schema name of a [`Panel`].
pub const PANEL_SCHEMA: &str = "codriver.panel/1";

/// What a reviewer ends with. These are no pairing verdicts (F.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Word {
    /// Nothing stands in the way.
    #[serde(rename = "SHIP")]
    Ship,
    /// Something has to be mended first.
    #[serde(rename = "FIX FIRST")]
    FixFirst,
    /// Nothing stands in the way.
    #[serde(rename = "APPROVE")]
    Approve,
    /// It must not go on.
    #[serde(rename = "BLOCK")]
    Block,
    /// Only a person can decide.
    #[serde(rename = "NEEDS-INPUT")]
    NeedsInput,
}

impl Word {
    /// The word as a return and the JSON hold it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ship => "SHIP",
            Self::FixFirst => "FIX FIRST",
            Self::Approve => "APPROVE",
            Self::Block => "BLOCK",
            Self::NeedsInput => "NEEDS-INPUT",
        }
    }

    /// Whether nothing stands in the way.
    pub fn passes(self) -> bool {
        matches!(self, Self::Ship | Self::Approve)
    }

    /// The pairing word by which a host ends the turn that holds this word; a check, never a record.
    pub fn told_by(self) -> Verdict {
        match self {
            Self::Ship | Self::Approve => Verdict::Agree,
            Self::FixFirst | Self::Block => Verdict::Object,
            Self::NeedsInput => Verdict::Escalate,
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Route asked for, route taken, and the model that says it answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRoute {
    /// The route that was asked for.
    pub asked: String,
    /// The route that ran.
    pub ran: String,
    /// The model, where the route told it.
    pub model: Option<String>,
}

/// A verified review, as `review --json` and the tools answer it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Always `codriver.review/1`.
    #[schemars(extend("const" = REVIEW_SCHEMA))]
    pub schema: String,
    /// The role.
    pub role: String,
    /// Its word.
    pub word: Word,
    /// The file with the return.
    #[serde(rename = "return")]
    pub return_path: String,
    /// Digest of the return's bytes.
    pub sha256: Digest,
    /// Which way it was asked to go and went.
    pub route: ReviewRoute,
    /// Why the route that was asked did not answer; null when it did.
    pub fallback: Option<Fallback>,
    /// The receipt's id; null when none could be written.
    pub receipt: Option<String>,
    /// The run it belongs to.
    pub run: String,
    /// Its round in the run.
    pub round: u32,
    /// What a person should know beside it, in the console's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Review {
    /// The exit status of a review that ended so (interface.md 2).
    pub fn exit_code(&self) -> u8 {
        self.word.told_by().exit_code()
    }
}

/// The same request to two routes, each answer on its own; nothing is merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Panel {
    /// Always `codriver.panel/1`.
    #[schemars(extend("const" = PANEL_SCHEMA))]
    pub schema: String,
    /// The role.
    pub role: String,
    /// What came of each route, in the order they were asked for.
    pub seats: Vec<Seat>,
    /// Whether every route answered, and with the same word.
    pub same_word: bool,
}

/// What came of one route of a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seat {
    /// The route.
    pub route: String,
    /// Its review; null when it gave none.
    pub review: Option<Review>,
    /// Why it gave none, in the console's words; null when it gave one.
    pub failure: Option<String>,
}

/// What is kept of a review (C.9): two runs of one request differ in `route` alone, their fallback aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewReceipt {
    /// The role.
    pub role: String,
    /// The brief.
    pub brief: Text,
    /// Digest of what a return has to be: the words of the brief that say so.
    pub contract: Digest,
    /// Which way it was asked to go and went.
    pub route: ReviewRoute,
    /// Why the route that was asked did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Fallback")]
    pub fallback: Option<Fallback>,
    /// The word of the return.
    pub word: Word,
    /// The return.
    #[serde(rename = "return")]
    pub answer: Text,
    /// The run.
    pub run: String,
    /// Its round in the run.
    pub round: u32,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// From the request to the verified return.
    pub elapsed_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [Word; 5] = [
        Word::Ship,
        Word::FixFirst,
        Word::Approve,
        Word::Block,
        Word::NeedsInput,
    ];

    #[test]
    fn every_word_is_spelt_the_same_in_text_and_in_json() -> Result<(), serde_json::Error> {
        for word in WORDS {
            assert_eq!(serde_json::to_value(word)?, word.word());
        }
        Ok(())
    }

    #[test]
    fn a_review_has_the_fields_of_the_interface_in_their_order() -> Result<(), serde_json::Error> {
        let review = Review {
            schema: REVIEW_SCHEMA.to_owned(),
            role: "ruthless-reviewer".to_owned(),
            word: Word::FixFirst,
            return_path: "/r/return.md".to_owned(),
            sha256: Digest::of("x"),
            route: ReviewRoute {
                asked: "rp".to_owned(),
                ran: "host".to_owned(),
                model: None,
            },
            fallback: serde_json::from_str(r#"{"reason":"unreachable","detail":"d"}"#)?,
            receipt: Some("rcp_x".to_owned()),
            run: "r".to_owned(),
            round: 1,
            remarks: Vec::new(),
        };
        let digest = Digest::of("x");
        let wanted = format!(
            "{}{digest}{}",
            r#"{"schema":"codriver.review/1","role":"ruthless-reviewer","word":"FIX FIRST","return":"/r/return.md","sha256":""#,
            concat!(
                r#"","route":{"asked":"rp","ran":"host","model":null},"#,
                r#""fallback":{"reason":"unreachable","detail":"d"},"receipt":"rcp_x","run":"r","round":1}"#
            )
        );
        assert_eq!(serde_json::to_string(&review)?, wanted);
        Ok(())
    }

    #[test]
    fn the_exit_status_tells_the_word() {
        let codes = WORDS.map(|word| word.told_by().exit_code());
        assert_eq!(codes, [0, 11, 0, 11, 12]);
    }
}
