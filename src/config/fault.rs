//! What can be wrong with the settings. A message names file, layer and key, and never repeats a value.

use std::fmt;

use super::key::Key;
use super::origin::{Layer, Origin};
use crate::refusal::Refusal;

/// A place in a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Layer and file.
    pub origin: Origin,
    /// Line, counted from 1; 0 for a flag.
    pub line: usize,
    /// Column in characters, counted from 1; 0 for a flag.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.origin.shown();
        match (self.origin.layer, self.line) {
            (Layer::Flag, _) => write!(f, "flag {file}"),
            (layer, 0) => write!(f, "{file} ({layer} settings)"),
            (layer, line) => write!(f, "{file}:{line}:{} ({layer} settings)", self.column),
        }
    }
}

/// What is wrong with the value of a known key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Another type was wanted.
    #[error("must be {expected}, not {found}")]
    Type {
        /// The type or types wanted.
        expected: String,
        /// The type that stands there.
        found: &'static str,
    },
    /// A number outside its bounds.
    #[error("must be {0}")]
    Range(String),
    /// None of the words it may be.
    #[error("must be one of {}", .0.join(", "))]
    Choice(Vec<String>),
    /// A text that is not what it should be.
    #[error("is {0}")]
    Form(String),
}

/// One fault of the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("{place}: cannot be read: {why}")]
    Unreadable {
        /// Layer and file.
        place: Place,
        /// Why, in the words of the system.
        why: String,
    },
    /// The file is not TOML.
    #[error("{place}: {what}")]
    Parse {
        /// Layer, file and position.
        place: Place,
        /// What was expected there.
        what: String,
    },
    /// A key nobody knows.
    #[error("{place}: unknown key `{key}`{}", suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
    UnknownKey {
        /// Layer, file and position.
        place: Place,
        /// The key.
        key: Key,
        /// The known key that looks like it.
        suggestion: Option<Key>,
    },
    /// A known key with a value it cannot have.
    #[error("{place}: `{key}` {problem}")]
    Value {
        /// Layer, file and position.
        place: Place,
        /// The key.
        key: Key,
        /// What is wrong with the value.
        problem: Problem,
    },
    /// A harness that neither is bundled nor has a table in the settings.
    #[error("{place}: `{key}` names no harness; known are {}{}", known.join(", "), suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
    UnknownHarness {
        /// Layer, file and position.
        place: Place,
        /// The key.
        key: Key,
        /// The names known.
        known: Vec<String>,
        /// The one that looks like it.
        suggestion: Option<String>,
    },
    /// A key the repository may not set (0.3).
    #[error("{place}: {refusal}")]
    Refused {
        /// Layer, file and position.
        place: Place,
        /// Key and way out.
        refusal: Refusal,
    },
}

impl ConfigError {
    /// Where the fault is.
    pub fn place(&self) -> &Place {
        match self {
            Self::Unreadable { place, .. }
            | Self::Parse { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::Value { place, .. }
            | Self::UnknownHarness { place, .. }
            | Self::Refused { place, .. } => place,
        }
    }

    /// A stable word for the kind of fault.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::Parse { .. } => "not-toml",
            Self::UnknownKey { .. } => "unknown-key",
            Self::Value { .. } => "bad-value",
            Self::UnknownHarness { .. } => "unknown-harness",
            Self::Refused { refusal, .. } => refusal.code,
        }
    }

    /// The key at fault, where there is one.
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::UnknownKey { key, .. }
            | Self::Value { key, .. }
            | Self::UnknownHarness { key, .. } => Some(key),
            Self::Unreadable { .. } | Self::Parse { .. } | Self::Refused { .. } => None,
        }
    }
}

/// All faults of the settings, at least one, in the order of layers and lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<ConfigError>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else {
            return f.write_str("the settings are faulty");
        };
        write!(f, "{first}")?;
        match self.0.len() - 1 {
            0 => Ok(()),
            1 => f.write_str(" (and one more fault: `codriver config check` lists both)"),
            more => write!(
                f,
                " (and {more} more faults: `codriver config check` lists all)"
            ),
        }
    }
}

impl std::error::Error for Faults {}

/// Something in the settings that was set aside or overruled, and is no fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable, lower-case, hyphenated code.
    pub code: &'static str,
    /// One sentence.
    pub what: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
