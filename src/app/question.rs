//! The question panel: what the peer wants a person to decide, and the person's answer (A.7, A.8).

use super::Role;
use super::editor::Editor;
use super::input::{Code, Key, Mods};

/// An escalation that is being answered.
#[derive(Debug, Clone)]
pub struct Question {
    /// The entry of the ledger.
    pub entry: usize,
    /// The answer.
    pub editor: Editor,
    /// Who gets it: the peer, as the next message, or who drives: the call that waits for it, else the driver's input
    /// box.
    pub to: Role,
    /// First row of the question that is shown.
    pub top: usize,
    /// Why it could not be given.
    pub fault: Option<String>,
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// Nothing is decided yet.
    Stays,
    /// The question is put aside; it stays open.
    Aside,
    /// The answer is given.
    Answers(String),
}

impl Question {
    /// A question, without an answer so far.
    pub fn new(entry: usize, to: Role) -> Self {
        Self {
            entry,
            editor: Editor::default(),
            to,
            top: 0,
            fault: None,
        }
    }

    /// Takes a key. `has_driver` says whether the answer may go to who drives.
    pub fn key(&mut self, key: &Key, has_driver: bool) -> Decided {
        let (code, mods) = key.command();
        match (code, mods) {
            (Code::Esc, _) => return Decided::Aside,
            (Code::Enter, Mods::NONE) => {
                let answer = self.editor.text().trim();
                if answer.is_empty() {
                    self.fault =
                        Some("an answer is needed; Esc puts the question aside".to_owned());
                    return Decided::Stays;
                }
                return Decided::Answers(answer.to_owned());
            }
            (Code::Tab, _) if has_driver => self.to = self.to.other(),
            (Code::PageUp, _) => self.top = self.top.saturating_sub(5),
            (Code::PageDown, _) => self.top += 5,
            _ => {
                self.editor.key(key);
                self.fault = None;
            }
        }
        Decided::Stays
    }
}
