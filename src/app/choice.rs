//! A list to choose from, one line each.

use super::input::{Code, Key};

/// A list and what is chosen of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// What each stands for, and how it is shown; from outside.
    pub rows: Vec<(String, String)>,
    /// The one that is chosen.
    pub at: usize,
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing yet.
    Stays(Choice),
    /// This one.
    Takes(String),
    /// None of them.
    Leaves,
}

impl Choice {
    /// Takes a key.
    pub fn key(mut self, key: &Key) -> Chosen {
        let last = self.rows.len().saturating_sub(1);
        match key.command().0 {
            Code::Up | Code::Char('k') => self.at = self.at.saturating_sub(1),
            Code::Down | Code::Char('j') => self.at = (self.at + 1).min(last),
            Code::PageUp => self.at = self.at.saturating_sub(10),
            Code::PageDown => self.at = (self.at + 10).min(last),
            Code::Home => self.at = 0,
            Code::End => self.at = last,
            Code::Enter => {
                if let Some((id, _)) = self.rows.get(self.at) {
                    return Chosen::Takes(id.clone());
                }
            }
            Code::Esc | Code::Char('q' | 'c') => return Chosen::Leaves,
            _ => {}
        }
        Chosen::Stays(self)
    }
}
