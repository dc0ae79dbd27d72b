//! What happened, as the console is told it.

use super::input::Input;
use super::{Ended, Role, replay};
use crate::pairing::{Beside, Order};
use crate::recording::fallback::FallbackReceipt;
use crate::recording::receipt::RoundReceipt;
use crate::recording::result::Round;
use crate::recording::word::Kind;

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The person typed, pasted, moved the mouse; or the outer terminal told something.
    Input(Input),
    /// The outer terminal has this many columns and rows now.
    Resized(u16, u16),
    /// A child wrote.
    Output(Role, &'a [u8]),
    /// A child was started.
    Started(Role),
    /// A child could not be started; says why.
    NotStarted(Role, String),
    /// A child ended, and all it wrote was told.
    Exited(Role, Ended),
    /// The version of a pane's program was learned.
    Version(Role, String),
    /// An exchange with the peer begins.
    Turn(Box<Turn>),
    /// The round of this number went to a runner.
    Elsewhere(&'static str, u32),
    /// What was found in the peer's own record, and what it handed in.
    Heard(Beside),
    /// What was asked has its answer.
    Answered(Box<Answered>),
    /// What was asked got no answer; says why, in full.
    Unanswered(String),
    /// A text that is no round was said, and the peer's turn is over.
    Said,
    /// A receipt was written.
    Receipt(Box<Receipted>),
    /// A route did not answer, and another one takes over: its receipt was written.
    Fallback(Box<FellBack>),
    /// Someone asks this of the peer: the person, or the client of this name.
    Asks(Ask, Option<String>),
    /// The client whose question waits for the person waits no longer.
    Left,
    /// The editor was left; the text as it is now, or why there is none.
    Edited(Result<String, String>),
    /// Something the person should know.
    Notice(String),
    /// The repository's branch, and whether anything in it is changed.
    Branch(Option<Branch>),
    /// Something in a replay.
    Replay(Box<replay::News>),
    /// Someone asked the program to end.
    Asked,
    /// Time passed.
    Woke,
}

/// An exchange that begins.
#[derive(Debug)]
pub struct Turn {
    /// What is typed and waited for.
    pub order: Order,
    /// `starting`, `briefing` or `waiting`.
    pub stage: &'static str,
    /// The round's number; 0 for a reset or a brief.
    pub round: u32,
}

/// An answer that was read.
#[derive(Debug)]
pub struct Answered {
    /// The result.
    pub round: Round,
    /// The message it answers, as the driver or the person said it.
    pub asked: String,
    /// What a person should know beside it.
    pub remarks: Vec<String>,
    /// The person's time of day, `14:02:11`.
    pub at: String,
}

/// A receipt that was written.
#[derive(Debug)]
pub struct Receipted {
    /// Its id; none when it could not be written.
    pub id: Option<String>,
    /// What it says.
    pub receipt: RoundReceipt,
    /// The person's time of day, `14:02:11`.
    pub at: String,
}

/// A receipt of a fallback that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FellBack {
    /// Its id; none when it could not be written.
    pub id: Option<String>,
    /// What it says.
    pub receipt: FallbackReceipt,
    /// The person's time of day, `14:02:11`.
    pub at: String,
}

/// Where the repository stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The branch, or the commit where there is none.
    pub name: String,
    /// Whether the working tree differs from the last commit.
    pub is_changed: bool,
}

/// What is to be asked of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The brief alone.
    Brief {
        /// Also when it was briefed before.
        force: bool,
    },
    /// One round.
    Discuss {
        /// What it is about.
        kind: Kind,
        /// The words.
        words: String,
        /// Whether the working tree's diff is appended.
        diff: bool,
    },
    /// A text typed as it is; it is no round.
    Say {
        /// The text.
        text: String,
    },
}
