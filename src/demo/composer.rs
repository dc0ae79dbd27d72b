//! The input box: typed text and collapsed pastes, edited at its end.

use super::Kind;

/// A piece of what stands in the box.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Typed(String),
    /// A paste that is shown as a label only.
    Collapsed {
        label: String,
        text: String,
    },
}

/// The text a person or a program is about to send.
#[derive(Debug, Clone)]
pub struct Composer {
    kind: Kind,
    pieces: Vec<Piece>,
    /// Pastes collapsed since the start of the program.
    pastes: usize,
    /// Whether the newest input was a paste, no key since.
    pasted_last: bool,
}

impl Composer {
    /// Makes an empty box that collapses pastes as `kind` does.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            pieces: Vec::new(),
            pastes: 0,
            pasted_last: false,
        }
    }

    /// Types text.
    pub fn type_text(&mut self, text: &str) {
        self.pasted_last = false;
        self.append(text);
    }

    /// Pastes text; a long one is collapsed to a label.
    pub fn paste(&mut self, text: &str) {
        self.pasted_last = true;
        let Some(label) = self.label_of(text) else {
            self.append(text);
            return;
        };
        self.pastes += 1;
        self.pieces.push(Piece::Collapsed {
            label,
            text: text.to_owned(),
        });
    }

    /// Deletes the last character, or the last paste as a whole.
    pub fn backspace(&mut self) {
        self.pasted_last = false;
        match self.pieces.last_mut() {
            Some(Piece::Typed(text)) => {
                text.pop();
                if text.is_empty() {
                    self.pieces.pop();
                }
            }
            Some(Piece::Collapsed { .. }) => {
                self.pieces.pop();
            }
            None => {}
        }
    }

    /// Empties the box.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.pasted_last = false;
    }

    /// Takes what would be sent, and empties the box.
    pub fn take(&mut self) -> String {
        let text = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Typed(text) | Piece::Collapsed { text, .. } => text.as_str(),
            })
            .collect();
        self.clear();
        text
    }

    /// What is seen in the box.
    pub fn shown(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Typed(text) => text.as_str(),
                Piece::Collapsed { label, .. } => label.as_str(),
            })
            .collect()
    }

    /// Whether nothing stands in the box.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether the newest input was a paste.
    pub fn is_fresh_paste(&self) -> bool {
        self.pasted_last
    }

    /// Whether a paste was ever collapsed.
    pub fn has_collapsed(&self) -> bool {
        self.pastes > 0
    }

    fn append(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Typed(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Typed(text.to_owned())),
        }
    }

    /// The label of a paste that the real program would not show as it is.
    fn label_of(&self, text: &str) -> Option<String> {
        let breaks = text.matches('\n').count();
        match self.kind {
            Kind::Claude => (breaks > 2 || text.chars().count() > 800).then(|| match breaks {
                0 => format!("[Pasted text #{}]", self.pastes + 1),
                _ => format!("[Pasted text #{} +{breaks} lines]", self.pastes + 1),
            }),
            Kind::Codex => {
                let length = text.chars().count();
                (length > 1000).then(|| format!("[Pasted Content {length} chars]"))
            }
            Kind::OpenCode => (breaks >= 2 || text.chars().count() > 150)
                .then(|| format!("[Pasted ~{} lines]", breaks + 1)),
            Kind::Plain => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paste_is_shown_as_the_real_program_labels_it() {
        let text = "line\n".repeat(11) + "last";
        for (kind, label) in [
            (Kind::Claude, "[Pasted text #1 +11 lines]"),
            (Kind::OpenCode, "[Pasted ~12 lines]"),
        ] {
            let mut composer = Composer::new(kind);
            composer.paste(&text);
            assert_eq!(composer.shown(), label);
            assert_eq!(composer.take(), text);
            assert!(composer.is_empty());
        }
        let mut composer = Composer::new(Kind::Codex);
        composer.paste(&"x".repeat(5888));
        assert_eq!(composer.shown(), "[Pasted Content 5888 chars]");
    }

    #[test]
    fn a_short_paste_is_shown_as_it_is() {
        for kind in [Kind::Claude, Kind::Codex, Kind::OpenCode, Kind::Plain] {
            let mut composer = Composer::new(kind);
            composer.paste("one line");
            assert_eq!(composer.shown(), "one line");
        }
        let mut composer = Composer::new(Kind::Plain);
        composer.paste("1\n2\n3\n4");
        assert_eq!(composer.shown(), "1\n2\n3\n4");
    }

    #[test]
    fn text_around_a_paste_is_sent_in_order() {
        let mut composer = Composer::new(Kind::Claude);
        composer.type_text("see ");
        composer.paste("a\nb\nc\nd");
        composer.type_text(" end");
        assert_eq!(composer.shown(), "see [Pasted text #1 +3 lines] end");
        assert_eq!(composer.take(), "see a\nb\nc\nd end");
    }

    #[test]
    fn backspace_takes_a_character_or_a_whole_paste() {
        let mut composer = Composer::new(Kind::Claude);
        composer.type_text("aé");
        composer.paste("a\nb\nc\nd");
        composer.backspace();
        assert_eq!(composer.shown(), "aé");
        composer.backspace();
        composer.backspace();
        composer.backspace();
        assert!(composer.is_empty());
    }

    #[test]
    fn the_second_paste_of_claude_has_the_next_number() {
        let mut composer = Composer::new(Kind::Claude);
        composer.paste("a\nb\nc\nd");
        composer.take();
        composer.paste("a\nb\nc\nd");
        assert_eq!(composer.shown(), "[Pasted text #2 +3 lines]");
    }
}
