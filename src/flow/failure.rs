//! Why an operation gave no result: one sentence for the person, and how the program ends.

use std::path::Path;

use crate::bridge::{Code, Fault};
use crate::cli::Exit;
use crate::limits;
use crate::plain;
use crate::refusal::Refusal;
use crate::world::signals::Signal;

/// Why a round gave no result. What is said is complete; nothing else is printed.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    what: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
        }
    }

    /// An error with what lies behind it.
    pub(super) fn of(exit: Exit, error: &dyn std::error::Error) -> Self {
        let mut what = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            what.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self { exit, what }
    }
}

/// A failure as a caller is told it. `or` is the code of one whose kind tells nothing more.
pub(super) fn fault_of(failure: &Failure, or: Code) -> Fault {
    let code = match failure.exit {
        Exit::Refused => Code::Refused,
        Exit::TimedOut => Code::Timeout,
        Exit::PeerEnded => Code::PeerEnded,
        Exit::Dialog => Code::Dialog,
        Exit::Interrupted => Code::Interrupted,
        _ if failure.what.starts_with("unsent:") => Code::Unsent,
        _ => or,
    };
    Fault::new(code, failure.to_string())
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(Exit::Refused, refusal.to_string())
    }
}

/// A request to stop, in words.
pub(super) fn because(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt | Signal::InterruptAgain => "interrupted",
        Signal::Terminate => "asked to end",
        Signal::HangUp => "the terminal is gone",
    }
}

/// A path as a message shows it.
pub(super) fn shown(path: &Path) -> String {
    format!(
        "`{}`",
        plain::display(&path.to_string_lossy(), limits::QUOTE_BYTES)
    )
}

/// Rows of a screen as a message may quote them.
pub(super) fn quote(rows: &[String]) -> String {
    if rows.is_empty() {
        return "  (nothing)".to_owned();
    }
    rows.iter()
        .map(|row| format!("  {}", plain::display(row, limits::QUOTE_BYTES)))
        .collect::<Vec<_>>()
        .join("\n")
}
