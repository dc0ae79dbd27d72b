//! The roles, and the names of the routes their work can go.

use std::fmt;

use crate::runner::Runner;

/// What somebody is asked to be (0.1); `peer` is the pairing rounds' own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The other side of a pairing round.
    Peer,
    /// Reviews a change without mercy.
    Ruthless,
    /// Reviews a change for what it exposes.
    Security,
    /// Holds a change against what was asked for.
    Auditor,
    /// Writes.
    Implementer,
}

impl Role {
    /// The roster (C.3).
    pub const ALL: [Self; 5] = [
        Self::Peer,
        Self::Ruthless,
        Self::Security,
        Self::Auditor,
        Self::Implementer,
    ];

    /// The name as it stands in settings and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Ruthless => "ruthless-reviewer",
            Self::Security => "security-reviewer",
            Self::Auditor => "auditor",
            Self::Implementer => "implementer",
        }
    }

    /// The role of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether RepoPrompt may be asked for it (B.1).
    pub fn takes_repo_prompt(self) -> bool {
        matches!(self, Self::Ruthless | Self::Security)
    }

    /// Whether it may write (C.5, C.6).
    pub fn writes(self) -> bool {
        self == Self::Implementer
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where work goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// The agent the console drives.
    Host,
    /// RepoPrompt.
    RepoPrompt,
    /// A command-line runner.
    Runner(Runner),
}

/// A name that is no route's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no route has that name; routes are host, rp, claude, opencode, codex and gemini")]
pub struct RouteName;

impl Route {
    /// The name as it stands in settings and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::RepoPrompt => "rp",
            Self::Runner(runner) => runner.name(),
        }
    }

    /// The route of a name.
    pub fn of(name: &str) -> Result<Self, RouteName> {
        match name {
            "host" => Ok(Self::Host),
            "rp" => Ok(Self::RepoPrompt),
            name => Runner::of(name).map(Self::Runner).ok_or(RouteName),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for role in Role::ALL {
            assert_eq!(Role::of(role.name()), Some(role));
        }
        assert_eq!(Role::of("poet"), None);
        let runners = Runner::ALL.into_iter().map(Route::Runner);
        for route in [Route::Host, Route::RepoPrompt].into_iter().chain(runners) {
            assert_eq!(Route::of(route.name()), Ok(route));
        }
        assert_eq!(Route::of("RP"), Err(RouteName));
    }
}
