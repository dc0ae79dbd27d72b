//! What a child asks of the person's desktop: copying text (OSC 52), showing a note (OSC 9 and 777). Nothing is done
//! here; whoever shows the screen decides.

use std::collections::VecDeque;

use crate::limits;

/// Signals kept for one who does not ask for them.
const KEPT: usize = 16;

/// Something asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// To copy this text. It may hold anything but invalid UTF-8.
    Copy(String),
    /// To show a note; without controls, both may be empty, but not together.
    Note {
        /// Its title.
        title: String,
        /// What it says.
        body: String,
    },
}

/// The signals nobody took yet.
#[derive(Debug, Default)]
pub(super) struct Signals(VecDeque<Signal>);

impl Signals {
    /// Takes all of them, oldest first.
    pub(super) fn take(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.0).into()
    }

    /// What follows `52;`: where to, and the text in base64. A question is not answered, nothing is emptied.
    pub(super) fn copy(&mut self, body: &[u8]) {
        let Some(split) = body.iter().position(|b| *b == b';') else {
            return;
        };
        let text = decode(&body[split + 1..]).and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(text) = text.filter(|text| !text.is_empty() && text.len() <= limits::COPY_BYTES)
        {
            // Only the last one would stay in a clipboard.
            self.0.retain(|signal| !matches!(signal, Signal::Copy(_)));
            self.push(Signal::Copy(text));
        }
    }

    /// A note.
    pub(super) fn note(&mut self, title: String, body: String) {
        if !title.is_empty() || !body.is_empty() {
            self.push(Signal::Note { title, body });
        }
    }

    fn push(&mut self, signal: Signal) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(signal);
    }
}

/// Decodes base64; `None` when it is none.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|b| **b == b'=').count();
    let digits = &text[..text.len() - padding];
    if padding > 2 || digits.len() % 4 == 1 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            bits = bits << 6 | sextet(*digit)?;
        }
        let count = group.len() * 6 / 8;
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=count]);
    }
    Some(bytes)
}

fn sextet(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_and_without_padding() {
        for (text, wanted) in [
            ("", Some("")),
            ("YQ==", Some("a")),
            ("YQ", Some("a")),
            ("YWI=", Some("ab")),
            ("YWJj", Some("abc")),
            ("YWJjZA==", Some("abcd")),
            ("4pyT", Some("✓")),
            ("YQ=", None),
            ("YQ===", None),
            ("Y", None),
            ("Y?==", None),
            ("=", None),
        ] {
            let decoded = decode(text.as_bytes());
            assert_eq!(decoded.as_deref(), wanted.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn the_last_copy_is_the_one_that_counts() {
        let mut signals = Signals::default();
        for body in ["c;YQ==", ";YWI=", "c;?", "c;!", "c;", "none", "c;/w=="] {
            signals.copy(body.as_bytes());
        }
        assert_eq!(signals.take(), [Signal::Copy("ab".to_owned())]);
        assert_eq!(signals.take(), []);
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let mut signals = Signals::default();
        for n in 0..100 {
            signals.note(String::new(), n.to_string());
        }
        signals.note(String::new(), String::new());
        let notes = signals.take();
        assert_eq!(notes.len(), KEPT);
        assert!(matches!(notes.last(), Some(Signal::Note { body, .. }) if body == "99"));
    }
}
