//! Looking through output before a screen takes it, so that it can be done beside what the screen does meanwhile.

use super::terminal::{PlainStyles, passes_whole};

/// Longest output a look covers; the emulator takes no more in one go.
const SEEN_BYTES: usize = 64 * 1024;

/// Looks through output, on any thread.
#[derive(Debug, Default)]
pub struct Preview {
    plain: PlainStyles,
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Length of the output, all of which the emulator may take as it is while no mode forbids it; 0 when it may not.
    length: usize,
}

impl Preview {
    /// Looks through a batch of output.
    pub fn look(&mut self, bytes: &[u8]) -> Seen {
        let passes = bytes.len() <= SEEN_BYTES && passes_whole(bytes, &mut self.plain);
        Seen {
            length: if passes { bytes.len() } else { 0 },
        }
    }
}

impl Seen {
    /// Whether these bytes, which it was made of, may pass.
    pub(super) fn covers(self, bytes: &[u8]) -> bool {
        self.length > 0 && self.length == bytes.len()
    }
}
