//! Command-line runners: what one is asked, how it is started, and what its output says (systems.md C).

mod answer;
mod invocation;
mod model;
mod redact;
mod request;
mod stream;

use std::fmt;

pub use answer::{Answer, Broken, Ended, read};
pub use invocation::{Invocation, invocation};
pub use model::{Allowlist, Model};
pub use redact::redact;
pub use request::{Draft, Request};

/// A shipped runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runner {
    /// Claude Code.
    Claude,
    /// opencode.
    Opencode,
    /// Codex.
    Codex,
    /// The Gemini CLI; nothing of it was proven.
    Gemini,
}

impl Runner {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Opencode, Self::Codex, Self::Gemini];

    /// Its name, which is its program's and its profile's too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Opencode => "opencode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The runner of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|runner| runner.name() == name)
    }

    /// The version on which it was tried with its real program, and what was seen there; none for one nobody tried.
    pub fn proven(self) -> Option<(&'static str, &'static [&'static str])> {
        const SEEN: &[&str] = &[
            "answer",
            "started inside another agent",
            "time limit",
            "empty answer",
            "write refused",
        ];
        match self {
            Self::Claude => Some(("2.1.197", SEEN)),
            Self::Opencode => Some(("1.18.33", SEEN)),
            Self::Codex => Some(("0.171.0", SEEN)),
            Self::Gemini => None,
        }
    }

    /// What was never seen on its real program.
    pub fn unproven(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["a usage limit", "log-in by subscription (bare = false)"],
            Self::Opencode => &["a usage limit", "a permission question"],
            Self::Codex => &["a usage limit", "log-in by the system's keyring"],
            Self::Gemini => &["everything"],
        }
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
