//! Where a value came from: the layer, and the file or the flag in it (systems.md 0.2).

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{limits, plain};

/// A layer of the settings, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// A flag of this call.
    Flag,
    /// `.codriver/config.toml` of the repository.
    Repository,
    /// The person's own file.
    Machine,
    /// What is built in.
    Bundled,
}

impl Layer {
    /// The layer's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Repository => "repository",
            Self::Machine => "machine",
            Self::Bundled => "bundled",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The layer and the place in it that set a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file; the flag itself for a flag, the path in the sources for what is built in.
    pub file: PathBuf,
}

impl Origin {
    /// Makes an origin.
    pub fn new(layer: Layer, file: impl AsRef<Path>) -> Self {
        Self {
            layer,
            file: file.as_ref().to_path_buf(),
        }
    }

    /// The file as a person may see it: its name may hold anything.
    pub fn shown(&self) -> String {
        shown_path(&self.file)
    }
}

/// A path made safe to show.
pub(super) fn shown_path(path: &Path) -> String {
    plain::display(&path.to_string_lossy(), limits::QUOTE_BYTES)
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// The same source with the value changed in form.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced {
            value: form(self.value),
            origin: self.origin,
        }
    }
}
