//! What is said on the socket: the greeting, the calls, and what comes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Fault;
use crate::recording::word::{Kind, Verdict};

/// The protocol of this program. One that speaks another is refused by name.
pub const PROTOCOL: u32 = 1;

/// What a client says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol it speaks.
    pub codriver: u32,
    /// The version of its program.
    pub version: String,
    /// What it calls itself: `codriver discuss`, or the name an MCP client gave.
    pub name: String,
}

/// Who a client is to the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It descends from the driver.
    Driver,
    /// It descends from a peer: it may hand in a review, and nothing else.
    Reviewer,
    /// The person's own, from anywhere else.
    Person,
}

/// What a client is answered first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol that is spoken.
    pub codriver: u32,
    /// The version of the program.
    pub version: String,
    /// The session that is recorded.
    pub session: String,
    /// The folder that is worked in.
    pub worktree: String,
    /// The key of its repository.
    pub repo: String,
    /// `console`, or `headless`.
    pub mode: String,
    /// Who the client is.
    pub standing: Standing,
    /// Process number of the console.
    pub pid: u32,
}

/// What is to be done with the peer, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// The brief (A.4).
    Brief {
        /// Also when it was briefed before.
        force: bool,
    },
    /// One round (A.5).
    Discuss {
        /// What it is about.
        kind: Kind,
        /// The message.
        message: String,
    },
    /// A text typed as it is, and the turn it begins.
    Say {
        /// The text.
        text: String,
    },
}

impl Work {
    /// What it is called where someone has to wait for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Brief { .. } => "brief",
            Self::Discuss { kind, .. } => kind.word(),
            Self::Say { .. } => "send",
        }
    }
}

/// Whether a call waits for what it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// It is answered when it is over.
    Wait,
    /// It is answered when the text was seen to leave the input box.
    Sent,
    /// It is answered at once, with the round's id.
    Start,
}

/// Which peers are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Those of this repository, in any of its worktrees.
    #[default]
    Repo,
    /// Those of this console.
    Window,
    /// Those of every console of this user.
    All,
}

/// What can be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Lookup {
    /// The session and its panes.
    Session,
    /// The receipts so far.
    Receipts,
    /// The round with this number.
    Round {
        /// The number, from 1.
        number: u32,
    },
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// Whether anybody is there, and who the caller is.
    Ping,
    /// The panes of this console.
    Panes,
    /// The last lines of a pane.
    Read {
        /// The pane; none for the peer.
        pane: Option<String>,
        /// How many lines.
        lines: u32,
    },
    /// The text the peer answered last, once it rests.
    WaitReply {
        /// The pane; none for the peer.
        pane: Option<String>,
        /// Longest wait, in milliseconds.
        timeout_ms: Option<u64>,
    },
    /// Something to be done with the peer.
    Do {
        /// The pane; none for the peer.
        pane: Option<String>,
        /// What.
        work: Work,
        /// Longest wait for the peer's turn, in milliseconds.
        timeout_ms: Option<u64>,
        /// Whether to wait for it.
        pace: Pace,
    },
    /// What became of something that was begun.
    Poll {
        /// Its id.
        round_id: String,
        /// How long to wait for its end, in milliseconds.
        wait_ms: u64,
    },
    /// A review, handed in by the peer itself.
    Submit {
        /// The round's tag.
        tag: String,
        /// The review.
        review: String,
        /// Its verdict.
        verdict: Verdict,
    },
    /// A look at what is there.
    Look(Lookup),
    /// Why a pane is idle, busy or blocked.
    Explain {
        /// The pane; none for the peer.
        pane: Option<String>,
    },
}

/// What a client says behind its greeting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromClient {
    /// A call under a number of the client's own.
    Call {
        /// The number.
        id: u64,
        /// The call.
        #[serde(flatten)]
        call: Call,
    },
    /// The client no longer waits for the call with this number.
    Leave {
        /// The number.
        id: u64,
    },
}

/// What the console says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromServer {
    /// The greeting.
    Welcome(Welcome),
    /// The client is not let in.
    Refused(Fault),
    /// A call goes on.
    Progress {
        /// Its number.
        id: u64,
        /// What its round is called, for who asks for it later.
        #[serde(default)]
        round_id: String,
        /// The state in words.
        state: String,
        /// How long it has gone on, in milliseconds.
        elapsed_ms: u64,
    },
    /// A call has its answer.
    Answer {
        /// Its number.
        id: u64,
        /// The answer.
        value: Value,
    },
    /// A call has none.
    Fault {
        /// Its number.
        id: u64,
        /// Why.
        fault: Fault,
    },
}

impl FromServer {
    /// The number of the call it belongs to.
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::Progress { id, .. } | Self::Answer { id, .. } | Self::Fault { id, .. } => {
                Some(*id)
            }
            Self::Welcome(_) | Self::Refused(_) => None,
        }
    }
}
