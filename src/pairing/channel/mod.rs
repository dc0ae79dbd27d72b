//! Finding a round's exact answer in what an agent keeps beside its screen: a stop hook's lines, a session log, a local
//! API's answers (interface.md 2).
//!
//! A channel is bound to the round by the prompt: its own record of what was typed must hold the line that carries this
//! round's tag. What answers is what the agent itself filed under that prompt, never what merely comes later.

mod claude;
mod codex;
mod demo;
mod log;
pub mod opencode;

use std::time::Duration;

use super::echo::essence;

pub use log::{Format, Log};

/// A round as a channel's record of the prompt is held against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Letters and digits of the sent text's line with the tag: agents change blanks, tabs and line ends, not these.
    words: String,
    /// When the text was typed, since 1970.
    since: Duration,
}

/// What a channel holds for a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The peer's exact text.
    Text(String),
    /// The turn ended in an error or was interrupted.
    Failed,
    /// Nothing yet.
    NotYet,
}

/// Fewest letters and digits a line needs to tell one prompt from another; below, the whole text is compared.
const ENOUGH: usize = 24;
/// How far two clocks' readings may be apart: records are written in milliseconds or in whole seconds.
const SLACK: Duration = Duration::from_secs(2);

impl Wanted {
    /// Describes a round by its tag, the exact text that was sent and the wall time at which it was typed.
    ///
    /// A text without the tag is found nowhere.
    pub fn new(tag: &str, sent: &str, since: Duration) -> Self {
        let line = sent.lines().find(|line| holds_word(line, tag));
        let words = match line.map(essence) {
            Some(words) if words.len() >= ENOUGH => words,
            Some(_) => essence(sent),
            None => String::new(),
        };
        Self { words, since }
    }

    /// Whether a prompt, of which the letters and digits are given, is this round's.
    fn is_prompt(&self, words: &str, at: Option<Duration>) -> bool {
        !self.words.is_empty()
            && at.is_none_or(|at| is_after(at, self.since))
            && words.contains(&self.words)
    }
}

/// Whether a record of this time can belong to what began `since`.
fn is_after(at: Duration, since: Duration) -> bool {
    at.saturating_add(SLACK) >= since
}

/// Whether a line holds `word`, with no letter or digit on either side of it.
fn holds_word(line: &str, word: &str) -> bool {
    !word.is_empty()
        && line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = "A reminder.\nBegin with the label REVIEW and a colon, then k7q2, the tag, in parentheses.\nThe end.";

    fn wanted() -> Wanted {
        Wanted::new("k7q2", SENT, Duration::from_secs(100))
    }

    #[test]
    fn blanks_and_line_ends_do_not_matter() {
        let words = essence(&SENT.replace('\n', "\r\n  ").replace(' ', "\u{a0}"));
        assert!(wanted().is_prompt(&words, None));
    }

    #[test]
    fn the_same_text_with_another_tag_is_another_round() {
        let words = essence(&SENT.replace("k7q2", "a2b3"));
        assert!(!wanted().is_prompt(&words, None));
        // The tag alone, by chance in a long text, is not enough.
        let words = format!("{words} k7q2");
        assert!(!wanted().is_prompt(&words, None));
    }

    #[test]
    fn an_older_prompt_is_another_round() {
        let words = essence(SENT);
        assert!(wanted().is_prompt(&words, Some(Duration::from_secs(99))));
        assert!(!wanted().is_prompt(&words, Some(Duration::from_secs(90))));
    }

    #[test]
    fn a_short_line_is_not_enough() {
        let sent = "Review the change to the parser, please.\n(k7q2)\nThank you.";
        let wanted = Wanted::new("k7q2", sent, Duration::ZERO);
        assert!(wanted.is_prompt(&essence(sent), None));
        assert!(!wanted.is_prompt("xk7q2x", None));
    }

    #[test]
    fn a_text_without_the_tag_as_a_word_is_found_nowhere() {
        for sent in ["", "no tag here", "xk7q2", "k7q2x"] {
            let wanted = Wanted::new("k7q2", sent, Duration::ZERO);
            assert!(!wanted.is_prompt(&essence(sent), None), "{sent}");
        }
        assert!(!Wanted::new("", "any", Duration::ZERO).is_prompt("any", None));
    }
}
