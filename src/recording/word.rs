//! The words a record is made of: verdicts, reasons, kinds and sources (systems.md A.7; interface.md 2).
//!
//! Each is spelt here once, exactly as it stands in the JSON.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a reply says in the end (A.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// No corrections.
    Agree,
    /// Agreement once the corrections listed are applied.
    Adjust,
    /// Stop, with reasons.
    Object,
    /// A question only the requesting human can decide.
    Escalate,
    /// No usable verdict line; never sent by a peer.
    Unparsed,
}

impl Verdict {
    /// The word as a peer writes it and the JSON holds it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agree => "AGREE",
            Self::Adjust => "ADJUST",
            Self::Object => "OBJECT",
            Self::Escalate => "ESCALATE",
            Self::Unparsed => "UNPARSED",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Why a reply gave no verdict (interface.md 2 and 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Neither a marker line nor a verdict line.
    NoMarker,
    /// A marker line without a verdict line after it.
    NoVerdict,
    /// AGREE, and then more text.
    NotLast,
    /// AGREE in a newer reply than the one that was read, or in an older one.
    NotNewest,
    /// AGREE without the tag that was asked for, and no channel to confirm it.
    Untagged,
    /// Screen and channel read different verdicts.
    SourcesDiffer,
    /// Text between the marker and the verdict may be missing.
    Incomplete,
    /// Nothing at all.
    Empty,
    /// The turn ended in an error, an interruption or a crash.
    TurnFailed,
}

impl Reason {
    /// The code as the JSON holds it.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoMarker => "no-marker",
            Self::NoVerdict => "no-verdict",
            Self::NotLast => "not-last",
            Self::NotNewest => "not-newest",
            Self::Untagged => "untagged",
            Self::SourcesDiffer => "sources-differ",
            Self::Incomplete => "incomplete",
            Self::Empty => "empty",
            Self::TurnFailed => "turn-failed",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// What a round is about (A.2, A.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The role brief.
    Brief,
    /// A plan, before it is carried out.
    Plan,
    /// A change that was made.
    Implementation,
    /// A question.
    Question,
}

impl Kind {
    /// The word as the command line and the JSON hold it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Plan => "plan",
            Self::Implementation => "implementation",
            Self::Question => "question",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Where a rationale's text came from (interface.md 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The harness's own exact text.
    Channel,
    /// The logical lines of the pane.
    Screen,
}

/// Whether a second source said the same verdict (interface.md 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// It did.
    Same,
    /// It said another one.
    Differs,
    /// There was no second source.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_spelt_the_same_in_text_and_in_json() -> Result<(), serde_json::Error> {
        use Verdict::{Adjust, Agree, Escalate, Object, Unparsed};
        for verdict in [Agree, Adjust, Object, Escalate, Unparsed] {
            assert_eq!(serde_json::to_value(verdict)?, verdict.word());
        }
        use Reason::{
            Empty, Incomplete, NoMarker, NoVerdict, NotLast, NotNewest, SourcesDiffer, TurnFailed,
            Untagged,
        };
        for reason in [
            NoMarker,
            NoVerdict,
            NotLast,
            NotNewest,
            Untagged,
            SourcesDiffer,
            Incomplete,
            Empty,
            TurnFailed,
        ] {
            assert_eq!(serde_json::to_value(reason)?, reason.code());
        }
        for kind in [
            Kind::Brief,
            Kind::Plan,
            Kind::Implementation,
            Kind::Question,
        ] {
            assert_eq!(serde_json::to_value(kind)?, kind.word());
        }
        Ok(())
    }
}
