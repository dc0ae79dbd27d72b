//! What a child wrote, from being read until its screen has it.
//!
//! A little is taken at once. Of a child that writes more than anyone can read, what comes within a frame is gathered
//! and taken in one go: the screen need not draw the lines that are gone before they are seen, and the outer terminal
//! and the other pane have the processor meanwhile.

use std::time::Duration;

use super::FRAME;

/// Bytes within a frame from which on a child floods: four megabytes a second.
const FLOOD: usize = 32 * 1024;
/// Bytes that are gathered at most: a key does not wait longer than the screen takes for them.
const MOST: usize = 64 * 1024;

/// What was read of a child.
#[derive(Debug, Default)]
pub(super) struct Inflow {
    /// What its screen has not taken yet.
    pub bytes: Vec<u8>,
    /// How many of them were counted.
    counted: usize,
    /// When the first of them came.
    since: Duration,
    /// When the stretch began in which is counted, and what came in it.
    begun: Duration,
    came: usize,
    floods: bool,
}

impl Inflow {
    /// Takes note of what was read now.
    pub(super) fn note(&mut self, now: Duration) {
        if self.counted == 0 {
            self.since = now;
        }
        let spent = now.saturating_sub(self.begun);
        if spent >= FRAME {
            self.floods = spent < 2 * FRAME && self.came >= FLOOD;
            self.begun = now;
            self.came = 0;
        }
        self.came += self.bytes.len() - self.counted;
        self.counted = self.bytes.len();
    }

    /// When the screen is to have it; none where there is nothing.
    pub(super) fn due(&self) -> Option<Duration> {
        match self.bytes.len() {
            0 => None,
            MOST.. => Some(self.since),
            _ if self.floods => Some(self.since + FRAME),
            _ => Some(self.since),
        }
    }

    /// Takes it all, and leaves an empty vector.
    pub(super) fn take(&mut self, empty: Vec<u8>) -> Vec<u8> {
        self.counted = 0;
        std::mem::replace(&mut self.bytes, empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// When what came last is due, a piece having come every millisecond.
    fn due_at(end: u64, piece: usize) -> Option<Duration> {
        let mut inflow = Inflow::default();
        for now in 0..=end {
            if inflow.due().is_some_and(|due| due <= MS(now)) {
                inflow.take(Vec::new());
            }
            inflow.bytes.resize(inflow.bytes.len() + piece, b'x');
            inflow.note(MS(now));
        }
        inflow.due()
    }

    #[test]
    fn a_little_is_taken_at_once() {
        assert_eq!(Inflow::default().due(), None);
        assert_eq!(due_at(0, 1), Some(MS(0)));
        assert_eq!(due_at(100, 2000), Some(MS(100)));
    }

    #[test]
    fn what_a_flood_brings_is_gathered_for_a_frame() {
        assert_eq!(due_at(5, 8000), Some(MS(5)));
        // The first frame's worth is counted; from then on what comes waits for the end of its frame.
        assert_eq!(due_at(17, 8000), Some(MS(24)));
        let later = due_at(100, 8000).unwrap_or_default();
        assert!(later > MS(100) && later <= MS(100) + FRAME, "{later:?}");
    }

    #[test]
    fn no_more_is_gathered_than_a_key_can_wait_for() {
        let mut inflow = Inflow {
            floods: true,
            bytes: vec![b'x'; MOST],
            ..Inflow::default()
        };
        inflow.note(MS(3));
        assert_eq!(inflow.due(), Some(MS(3)));
    }

    #[test]
    fn after_a_rest_it_floods_no_more() {
        let mut inflow = Inflow::default();
        for at in 0..3 {
            inflow.take(Vec::new());
            inflow.bytes.resize(FLOOD, b'x');
            inflow.note(at * FRAME);
        }
        assert_eq!(inflow.due(), Some(3 * FRAME));
        inflow.take(Vec::new());
        inflow.bytes.push(b'x');
        inflow.note(5 * FRAME);
        assert_eq!(inflow.due(), Some(5 * FRAME));
    }
}
