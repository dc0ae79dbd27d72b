//! What the console wants done; the loop does it.

use super::Role;
use super::event::Ask;
use super::replay::Wish;
use crate::screen::Size;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write these bytes to a child: what the person typed, or an answer its terminal owes it.
    Write(Role, Vec<u8>),
    /// Write these bytes to the peer: a step of the exchange.
    Type(Vec<u8>),
    /// Give a child's terminal this size; its screen has it already.
    Resize(Role, Size),
    /// Look for the round in the peer's own record.
    AskChannel,
    /// The exchange ended; it is to be taken and concluded.
    Conclude,
    /// Ask this of the peer.
    Ask(Ask),
    /// Give the call that waits for it the person's decision; none when the person put the question aside.
    Decide(Option<String>),
    /// Stop waiting for the answer.
    StopWaiting,
    /// Start a pane's child anew, with its agent's own way to resume where it has one.
    Restart(Role),
    /// Put this text on the person's clipboard.
    Copy(String),
    /// Let the person write this text in their editor.
    Edit(String),
    /// Set the outer terminal's title.
    Title(String),
    /// Draw attention, the window being elsewhere: what happened, in one line.
    Alert(String),
    /// Ask the outer terminal what colours it has now.
    AskColors,
    /// Ring the outer terminal's bell.
    Bell,
    /// Show another moment of a replay, or another replay.
    Replay(Wish),
    /// Draw everything anew, whatever the outer terminal shows.
    Redraw,
    /// Stop the program as a shell's job.
    Suspend,
    /// End the program.
    Quit,
}

/// When attention is drawn to what happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Alerts {
    /// While another window has the focus.
    #[default]
    Away,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Alerts {
    /// Whether it is drawn now.
    pub fn are_wanted(self, has_focus: bool) -> bool {
        match self {
            Self::Away => !has_focus,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_is_drawn_as_the_settings_want_it() {
        let wanted = |alerts: Alerts| [alerts.are_wanted(false), alerts.are_wanted(true)];
        assert_eq!(wanted(Alerts::Away), [true, false]);
        assert_eq!(wanted(Alerts::Always), [true, true]);
        assert_eq!(wanted(Alerts::Never), [false, false]);
    }
}
