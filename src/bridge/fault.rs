//! Why a call got no answer: a stable code, a sentence, and what to do.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The stable codes a caller may test for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// An argument is missing, unknown, or not of its kind.
    BadArgument,
    /// A message is empty or too long, or something of the kind (A.9).
    Refused,
    /// The caller may not ask this.
    NotAllowed,
    /// No pane was named, and there is no peer (A.3).
    NoPeer,
    /// No pane was named, and there are several peers (A.3).
    SeveralPeers,
    /// There is no such pane.
    NoPane,
    /// There is no such round.
    NoRound,
    /// The peer is held by another caller.
    Busy,
    /// A question of the peer waits for the person (A.8).
    NeedsPerson,
    /// The peer waits at a dialog; nothing was typed at it.
    Dialog,
    /// The time ran out.
    Timeout,
    /// The text could not be delivered.
    Unsent,
    /// The peer's program ended.
    PeerEnded,
    /// The peer cannot be started.
    NotStarted,
    /// The wait was stopped.
    Interrupted,
    /// No console runs where one is needed.
    NoConsole,
    /// The console ended before there was an answer.
    ConsoleGone,
    /// The two programs do not speak the same protocol.
    Version,
    /// Something else went wrong.
    Failed,
}

impl Code {
    /// The code as it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::BadArgument => "bad-argument",
            Self::Refused => "refused",
            Self::NotAllowed => "not-allowed",
            Self::NoPeer => "no-peer",
            Self::SeveralPeers => "several-peers",
            Self::NoPane => "no-pane",
            Self::NoRound => "no-round",
            Self::Busy => "busy",
            Self::NeedsPerson => "needs-person",
            Self::Dialog => "dialog",
            Self::Timeout => "timeout",
            Self::Unsent => "unsent",
            Self::PeerEnded => "peer-ended",
            Self::NotStarted => "not-started",
            Self::Interrupted => "interrupted",
            Self::NoConsole => "no-console",
            Self::ConsoleGone => "console-gone",
            Self::Version => "version",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The stable code.
    pub code: Code,
    /// What is wrong and what to do, complete.
    pub message: String,
}

impl Fault {
    /// A fault in its words.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::Refused, refusal.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_spelt_the_same_in_text_and_in_json() -> Result<(), serde_json::Error> {
        for code in [
            Code::BadArgument,
            Code::Refused,
            Code::NotAllowed,
            Code::NoPeer,
            Code::SeveralPeers,
            Code::NoPane,
            Code::NoRound,
            Code::Busy,
            Code::NeedsPerson,
            Code::Dialog,
            Code::Timeout,
            Code::Unsent,
            Code::PeerEnded,
            Code::NotStarted,
            Code::Interrupted,
            Code::NoConsole,
            Code::ConsoleGone,
            Code::Version,
            Code::Failed,
        ] {
            assert_eq!(serde_json::to_value(code)?, code.word());
        }
        Ok(())
    }
}
