//! The state of the console: events in, effects out; drawing reads it (systems.md A.8, interface.md 7).

pub mod input;
pub mod layout;

/// Which of the two panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one that plans and writes.
    Driver,
    /// The one that reviews.
    Peer,
}

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Peer => "peer",
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Driver => Self::Peer,
            Self::Peer => Self::Driver,
        }
    }
}
