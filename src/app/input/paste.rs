//! What is between the marks of a paste: text, whatever it holds, and no more than a bound of it.

use super::Input;
use crate::limits;

const END: &[u8] = b"\x1b[201~";

/// A paste that has begun.
#[derive(Debug, Default)]
pub(super) struct Paste {
    kept: Vec<u8>,
    /// Bytes that were left out.
    cut: usize,
}

impl Paste {
    /// Takes bytes; tells how many of them belong to the paste, its mark included, when it ends in them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        let before = self.kept.len();
        // The mark may have begun in what is kept.
        let from = before.saturating_sub(END.len() - 1);
        self.kept.extend_from_slice(bytes);
        if let Some(at) = memchr::memmem::find(&self.kept[from..], END) {
            self.kept.truncate(from + at);
            return Some(from + at + END.len() - before);
        }
        let most = limits::PASTE_BYTES + END.len();
        if let Some(over) = self.kept.len().checked_sub(most + 1) {
            // The end is kept, since the mark may have begun in it.
            let first = limits::PASTE_BYTES;
            self.kept.drain(first..=first + over);
            self.cut += over + 1;
        }
        None
    }

    /// What was pasted, and how much of it was left out.
    pub(super) fn end(self, out: &mut Vec<Input>) {
        let kept = &self.kept[..self.kept.len().min(limits::PASTE_BYTES)];
        let cut = self.cut + self.kept.len() - kept.len();
        out.push(Input::Paste(String::from_utf8_lossy(kept).into_owned()));
        if cut > 0 {
            out.push(Input::PasteCut(cut));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_endless_paste_is_bounded() {
        let mut paste = Paste::default();
        let chunk = [b'x'; 100_000];
        for _ in 0..100 {
            assert_eq!(paste.take(&chunk), None);
            assert!(paste.kept.len() <= limits::PASTE_BYTES + END.len());
        }
        let mut out = Vec::new();
        paste.end(&mut out);
        let [Input::Paste(text), Input::PasteCut(cut)] = out.as_slice() else {
            panic!("a paste and what was cut: {}", out.len());
        };
        assert_eq!(text.len(), limits::PASTE_BYTES);
        assert_eq!(text.len() + cut, 100 * chunk.len());
    }

    #[test]
    fn the_mark_ends_it_wherever_it_is_split() {
        for split in 0..=END.len() {
            let mut paste = Paste::default();
            let (first, rest) = END.split_at(split);
            let begun = paste.take(&[b"abc", first].concat());
            let ended = match begun {
                Some(_) => begun,
                None => paste.take(&[rest, b"d"].concat()),
            };
            let wanted = if split == END.len() {
                3 + END.len()
            } else {
                rest.len()
            };
            assert_eq!(ended, Some(wanted), "{split}");
            assert_eq!(paste.kept, b"abc", "{split}");
        }
    }
}
