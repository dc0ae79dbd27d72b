//! What is recorded of a text on its way: typed, seen in the box, submitted, the turn begun (A.9).

use std::time::Duration;

use super::recorder::{PaneIndex, Recorder};
use crate::pairing::{Delivered, Way};
use crate::recording::event::Event;

/// What of a text is on its way.
pub(super) struct Delivery {
    /// What the first submit key is recorded as.
    label: &'static str,
    /// The round of a message; a command has none.
    round: Option<u32>,
    /// Whether anything was typed.
    is_begun: bool,
    /// How often the submit key was.
    keys: u32,
    /// What was seen of the delivery.
    seen: Delivered,
}

impl Delivery {
    /// A text of a round, or a command, of which nothing was typed yet.
    pub(super) fn new(way: &Way, round: u32) -> Self {
        let (label, round) = match way {
            Way::Message { .. } => ("prompt-sent", Some(round)),
            Way::Say | Way::Command => ("command-sent", None),
        };
        Self {
            label,
            round,
            is_begun: false,
            keys: 0,
            seen: Delivered::default(),
        }
    }

    /// Records that bytes are about to be typed: the pane was ready for them.
    pub(super) fn begin(&mut self, pane: &str, recorder: &mut Recorder, now: Duration) {
        if !std::mem::replace(&mut self.is_begun, true) {
            let pane = pane.to_owned();
            recorder.event(now, Event::Ready { pane });
        }
    }

    /// Records what was typed; the marker stands behind the key, so that a reader of the recording knows by then what
    /// it sends.
    pub(super) fn typed(
        &mut self,
        bytes: &[u8],
        pane: PaneIndex,
        recorder: &mut Recorder,
        now: Duration,
    ) {
        if bytes == b"\r" {
            self.keys += 1;
            if self.keys == 1 {
                recorder.marker(pane, now, self.label);
            }
        }
    }

    /// Records what was newly seen of a message's delivery.
    pub(super) fn see(
        &mut self,
        seen: Delivered,
        pane: &str,
        recorder: &mut Recorder,
        now: Duration,
    ) {
        let Some(round) = self.round else { return };
        let before = std::mem::replace(&mut self.seen, seen);
        let pane = || pane.to_owned();
        if seen.pasted && !before.pasted {
            recorder.event(
                now,
                Event::Pasted {
                    pane: pane(),
                    round,
                },
            );
        }
        if seen.submitted && !before.submitted {
            let keys = self.keys;
            let pane = pane();
            recorder.event(now, Event::Submitted { pane, round, keys });
        }
        if seen.turn_started && !before.turn_started {
            recorder.event(
                now,
                Event::TurnStarted {
                    pane: pane(),
                    round,
                },
            );
        }
    }
}
