//! What is asked of the peer, and the message it becomes: words from wherever they come, the diff, the bounds.

use std::io::Read;

use super::config::Workplace;
use super::failure::{Failure, shown};
use crate::cli::{AskedKind, Diff, Exit, Message};
use crate::limits;
use crate::pairing::message;
use crate::plain;
use crate::recording::word::Kind;
use crate::world::git;

/// What is asked of the peer.
#[derive(Debug, Clone)]
pub enum Asked {
    /// The brief alone.
    Brief {
        /// Also when the peer was briefed before.
        force: bool,
    },
    /// One round, the brief before it.
    Discuss {
        /// What it is about.
        kind: AskedKind,
        /// The message.
        message: Message,
        /// The diff to append.
        diff: Option<Diff>,
    },
}

/// What is asked, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The brief alone.
    Brief {
        /// Also when the peer was briefed before.
        force: bool,
    },
    /// One round about something, with the message as it is sent.
    Message(Kind, String),
    /// A text as it is, and the turn it begins; it is no round.
    Say(String),
}

pub(super) fn word_of(kind: AskedKind) -> Kind {
    match kind {
        AskedKind::Plan => Kind::Plan,
        AskedKind::Implementation => Kind::Implementation,
        AskedKind::Question => Kind::Question,
    }
}

/// What the person says, from wherever it comes.
pub(super) fn words(message: &Message) -> Result<String, Failure> {
    match message {
        Message::Words(words) => Ok(words.clone()),
        Message::File(path) => read(std::fs::File::open(path), &shown(path)),
        Message::Input => read(Ok(std::io::stdin()), "standard input"),
        Message::None => Ok(String::new()),
    }
}

/// The message as it will be sent, diff and all.
pub(super) async fn compose(
    words: String,
    diff: Option<&Diff>,
    place: &Workplace,
) -> Result<String, Failure> {
    let text = match diff {
        None => words,
        Some(diff) => {
            let (revision, against) = match diff {
                Diff::Head => (None, "the working tree against the last commit".to_owned()),
                Diff::Revision(rev) => (
                    Some(rev.as_str()),
                    format!("the working tree against {}", plain::display(rev, 80)),
                ),
            };
            let change = git::diff(&place.folder, revision, limits::GIT_TIME)
                .await
                .map_err(|error| {
                    let exit = if matches!(error, git::GitError::NothingChanged) {
                        Exit::Refused
                    } else {
                        Exit::Error
                    };
                    let hint = match error {
                        git::GitError::NoRepository(_) => {
                            "; --diff needs one, a message alone does not"
                        }
                        // `--diff 'Ready?'`: one word behind the option is its value, whatever was meant.
                        git::GitError::UnknownRevision(_) if words.is_empty() => {
                            "; a message goes before --diff, or behind `--diff --`"
                        }
                        _ => "",
                    };
                    Failure::new(exit, format!("--diff: {}{hint}", Failure::of(exit, &error)))
                })?;
            message::with_diff(&words, &change, &against)
        }
    };
    Ok(message::admit(&text)?)
}

/// Reads a message, but no more of it than is needed to refuse it.
fn read(source: std::io::Result<impl Read>, name: &str) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(
            Exit::Error,
            format!("the message cannot be read from {name}: {error}"),
        )
    };
    let mut bytes = Vec::new();
    let bound = limits::MESSAGE_BYTES as u64 * 4;
    source
        .map_err(unreadable)?
        .take(bound)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(Exit::Error, format!("the message from {name} is not UTF-8 text; convert it, or name the file in a message"))
    })
}
