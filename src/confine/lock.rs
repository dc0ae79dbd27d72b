//! The locks by name, and what an agent is told under each.

use schemars::JsonSchema;
use serde::Deserialize;

/// What keeps a peer from writing, beside its own switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Lock {
    /// A user, mount and process namespace.
    Namespace,
    /// Landlock, with a filter of system calls.
    Landlock,
    /// macOS's `sandbox-exec`.
    SandboxExec,
    /// Nothing.
    #[default]
    None,
}

impl Lock {
    /// Its name in badges, results and receipts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Landlock => "landlock",
            Self::SandboxExec => "sandbox-exec",
            Self::None => "none",
        }
    }
}

/// Arguments a peer gets under each lock, behind its others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LockArgs {
    /// In a namespace.
    pub namespace: Vec<String>,
    /// Under Landlock, where no sandbox of its own can start.
    pub landlock: Vec<String>,
    /// Without a lock, and under one that was never proven.
    pub none: Vec<String>,
}

impl LockArgs {
    /// The arguments under this lock.
    pub fn of(&self, lock: Lock) -> &[String] {
        match lock {
            Lock::Namespace => &self.namespace,
            Lock::Landlock => &self.landlock,
            Lock::SandboxExec | Lock::None => &self.none,
        }
    }
}
