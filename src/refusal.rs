//! A refusal: an expected "no" with a stable code, one sentence and the way out (systems.md 0.4).

use std::fmt;

/// Why something was not done, in words the person can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, lower-case, hyphenated code a script may test for.
    pub code: &'static str,
    /// One sentence of what is wrong, naming the object.
    pub what: String,
    /// The action that would clear it.
    pub remedy: String,
}

impl Refusal {
    /// Makes a refusal from its three parts.
    pub fn new(code: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
