//! The words a record is made of: verdicts, reasons, kinds and sources (systems.md A.7; interface.md 2).
//!
//! Each is spelt here once, exactly as it stands in the JSON.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a reply says in the end (A.7).
///
/// Ordered from the least to the most cautious word; `Unparsed`, which no peer sends, stands last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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

    /// The verdict that a word of a reply stands for, in any case. `UNPARSED` is no such word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Agree, Self::Adjust, Self::Object, Self::Escalate]
            .into_iter()
            .find(|verdict| verdict.word().eq_ignore_ascii_case(word))
    }

    /// The exit status of a round that ended so (interface.md 1).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Agree => 0,
            Self::Adjust => 10,
            Self::Object => 11,
            Self::Escalate => 12,
            Self::Unparsed => 13,
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
    /// AGREE that may be the wrapped end of a sentence, or another round's.
    Doubtful,
}

impl Reason {
    /// The code as the JSON holds it.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoMarker => "no-marker",
            Self::NoVerdict => "no-verdict",
            Self::NotLast => "not-last",
            Self::Untagged => "untagged",
            Self::SourcesDiffer => "sources-differ",
            Self::Incomplete => "incomplete",
            Self::Empty => "empty",
            Self::TurnFailed => "turn-failed",
            Self::Doubtful => "doubtful",
        }
    }

    /// The reason in words for a person.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoMarker => "the reply has neither a REVIEW line nor a verdict line",
            Self::NoVerdict => "the reply has no verdict line",
            Self::NotLast => "more text follows the AGREE, so it does not end the reply",
            Self::Untagged => {
                "the reply does not carry this round's tag, so nothing proves that the peer wrote it"
            }
            Self::SourcesDiffer => {
                "the screen and the harness's own record do not give the same verdict"
            }
            Self::Incomplete => "part of the reply is not on the screen",
            Self::Empty => "the peer answered nothing",
            Self::TurnFailed => "the peer's turn ended in an error or was interrupted",
            Self::Doubtful => "the AGREE may be the wrapped end of a sentence, or another round's",
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
            Doubtful, Empty, Incomplete, NoMarker, NoVerdict, NotLast, SourcesDiffer, TurnFailed,
            Untagged,
        };
        for reason in [
            NoMarker,
            NoVerdict,
            NotLast,
            Doubtful,
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
