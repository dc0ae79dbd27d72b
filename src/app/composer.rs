//! The composer: a message to the peer, its kind, and whether the diff goes with it.

use super::editor::Editor;
use super::event::Ask;
use super::input::{Code, Key, Mods};
use crate::recording::word::Kind;

/// The kinds a message can have, in the order they are gone through.
const KINDS: [Kind; 3] = [Kind::Implementation, Kind::Plan, Kind::Question];

/// A message being written.
#[derive(Debug, Clone, Default)]
pub struct Composer {
    /// The words.
    pub editor: Editor,
    /// Its kind.
    kind: usize,
    /// Whether the working tree's diff is appended.
    pub diff: bool,
    /// Messages sent before, oldest first.
    history: Vec<String>,
    /// Which of them is shown, and the draft it hides.
    shown: Option<(usize, String)>,
    /// Why it could not be sent.
    pub fault: Option<String>,
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Composed {
    /// It is still being written.
    Stays,
    /// It is put aside; the draft stays.
    Closes,
    /// It is to be sent.
    Sends(Ask),
    /// It is to be written in the person's editor.
    Edits(String),
}

impl Composer {
    /// The kind of the message.
    pub fn kind(&self) -> Kind {
        KINDS[self.kind]
    }

    /// Takes a key.
    pub fn key(&mut self, key: &Key) -> Composed {
        let (code, mods) = key.command();
        match (code, mods) {
            (Code::Esc, _) => return Composed::Closes,
            (Code::Enter, Mods::NONE) => return self.send(),
            (Code::Tab, Mods::NONE) => self.kind = (self.kind + 1) % KINDS.len(),
            (Code::Tab, Mods::SHIFT) => self.kind = (self.kind + KINDS.len() - 1) % KINDS.len(),
            (Code::Char('t'), Mods::CTRL) => self.diff = !self.diff,
            (Code::Char('g'), Mods::CTRL) => return Composed::Edits(self.editor.text().to_owned()),
            (Code::Char('p'), Mods::CTRL) => self.older(),
            (Code::Char('n'), Mods::CTRL) => self.newer(),
            (Code::Up, Mods::NONE) if self.editor.ends().0 => self.older(),
            (Code::Down, Mods::NONE) if self.editor.ends().1 => self.newer(),
            _ => {
                if self.editor.key(key) {
                    self.fault = None;
                }
            }
        }
        Composed::Stays
    }

    /// Takes pasted text.
    pub fn paste(&mut self, text: &str) {
        self.fault = None;
        self.editor.insert(text);
    }

    fn send(&mut self) -> Composed {
        let words = self.editor.text().trim().to_owned();
        if words.is_empty() && !self.diff {
            self.fault =
                Some("nothing to say: write a message, or attach the diff (^T)".to_owned());
            return Composed::Stays;
        }
        Composed::Sends(Ask::Discuss {
            kind: self.kind(),
            words,
            diff: self.diff,
        })
    }

    /// Takes in that the message is on its way; the next one begins empty.
    pub fn sent(&mut self) {
        let text = std::mem::take(&mut self.editor).text().to_owned();
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text);
        }
        self.shown = None;
        self.diff = false;
        self.fault = None;
    }

    fn older(&mut self) {
        let next = match &self.shown {
            Some((0, _)) => return,
            Some((at, _)) => at - 1,
            None if self.history.is_empty() => return,
            None => self.history.len() - 1,
        };
        let draft = match self.shown.take() {
            Some((_, draft)) => draft,
            None => self.editor.text().to_owned(),
        };
        self.editor = Editor::new(&self.history[next]);
        self.shown = Some((next, draft));
    }

    fn newer(&mut self) {
        let Some((at, draft)) = self.shown.take() else {
            return;
        };
        match self.history.get(at + 1) {
            Some(text) => {
                self.editor = Editor::new(text);
                self.shown = Some((at + 1, draft));
            }
            None => self.editor = Editor::new(&draft),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(composer: &mut Composer, code: Code, mods: Mods) -> Composed {
        composer.key(&Key::new(code, mods))
    }

    #[test]
    fn a_message_is_sent_with_its_kind_and_the_diff() {
        let mut composer = Composer::default();
        composer.paste("Is this right?");
        assert_eq!(press(&mut composer, Code::Tab, Mods::NONE), Composed::Stays);
        press(&mut composer, Code::Char('t'), Mods::CTRL);
        let sent = Ask::Discuss {
            kind: Kind::Plan,
            words: "Is this right?".to_owned(),
            diff: true,
        };
        assert_eq!(
            press(&mut composer, Code::Enter, Mods::NONE),
            Composed::Sends(sent)
        );
    }

    #[test]
    fn an_empty_message_is_not_sent_and_says_so() {
        let mut composer = Composer::default();
        assert_eq!(
            press(&mut composer, Code::Enter, Mods::NONE),
            Composed::Stays
        );
        assert!(composer.fault.is_some());
        press(&mut composer, Code::Char('a'), Mods::NONE);
        assert_eq!(composer.fault, None);
    }

    #[test]
    fn earlier_messages_come_back_and_the_draft_after_them() {
        let mut composer = Composer::default();
        for text in ["first", "second"] {
            composer.paste(text);
            composer.sent();
        }
        composer.paste("draft");
        let up = |composer: &mut Composer| press(composer, Code::Up, Mods::NONE);
        up(&mut composer);
        assert_eq!(composer.editor.text(), "second");
        up(&mut composer);
        up(&mut composer);
        assert_eq!(composer.editor.text(), "first");
        press(&mut composer, Code::Down, Mods::NONE);
        press(&mut composer, Code::Down, Mods::NONE);
        assert_eq!(composer.editor.text(), "draft");
    }
}
