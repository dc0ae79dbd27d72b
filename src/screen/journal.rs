//! The bytes given to the emulator since its screen was last saved.

use unicode_width::UnicodeWidthChar;

const ESC: u8 = 0x1b;

/// Whole pieces, in order.
#[derive(Debug, Default)]
pub(super) struct Journal {
    bytes: Vec<u8>,
    /// The last character printed before them.
    last: Option<char>,
}

impl Journal {
    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.last = self.last_printed();
        self.bytes.clear();
    }

    /// Begins anew, as if `last` had been printed last.
    pub(super) fn clear_with(&mut self, last: Option<char>) {
        self.last = last;
        self.bytes.clear();
    }

    /// The last character printed that takes up a column, which REP repeats. It is looked for only when it is asked
    /// for: hardly any child ever does.
    pub(super) fn last_printed(&self) -> Option<char> {
        let mut end = self.bytes.len();
        loop {
            let escape = memchr::memrchr(ESC, &self.bytes[..end]);
            let begin = escape.map_or(0, |at| at + sequence_length(&self.bytes[at..end]));
            if let Some(c) = last_printed(&self.bytes[begin..end]) {
                return Some(c);
            }
            let Some(at) = escape else {
                return self.last;
            };
            end = at;
        }
    }
}

/// Length of the whole sequence at the start of `bytes`.
fn sequence_length(bytes: &[u8]) -> usize {
    let (intermediates, body) = match bytes.get(1) {
        Some(b'[') => (0x20..=0x3f, 2),
        _ => (0x20..=0x2f, 1),
    };
    let last = bytes[body.min(bytes.len())..]
        .iter()
        .position(|b| !intermediates.contains(b));
    last.map_or(bytes.len(), |last| body + last + 1)
}

fn last_printed(text: &[u8]) -> Option<char> {
    if let Some(last @ b' '..=b'~') = text.last() {
        return Some(char::from(*last));
    }
    let find = |text: &[u8]| {
        String::from_utf8_lossy(text)
            .chars()
            .rev()
            .find(|c| c.width().is_some_and(|width| width > 0))
    };
    let tail = &text[text.len().saturating_sub(64)..];
    let begin = tail.iter().position(|b| !(0x80..0xc0).contains(b))?;
    find(&tail[begin..]).or_else(|| find(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_character_is_found_behind_whatever_follows_it() {
        for (bytes, last) in [
            ("ab\x1b[mcd\r\n\x1b[m\r\n", Some('d')),
            ("ab\x1b[mé\x1b[3;4H\x1b[?6h\x1b7\x1b[0 q", Some('é')),
            ("\x1bMx\x1bM", Some('x')),
            ("e\u{301}", Some('e')),
            ("\x1b[m\r\n", Some('?')),
            ("", Some('?')),
        ] {
            let mut journal = Journal::default();
            journal.clear_with(Some('?'));
            journal.push(bytes.as_bytes());
            assert_eq!(journal.last_printed(), last, "{bytes:?}");
        }
        let mut journal = Journal::default();
        journal.push(format!("世{}", "\r\n".repeat(100)).as_bytes());
        journal.clear();
        journal.push(b"\x1b[K");
        assert_eq!(journal.last_printed(), Some('世'));
    }
}
