//! Reads a recording once, from its start to its end, and takes keyframes on the way.

use std::time::Duration;

use super::keys::Keys;
use super::moment::{RESTARTED, apply};
use crate::recording::cast::{Event, Header, Kind, Place};
use crate::screen::{Screen, Seen};

/// Bytes of a recording between two keyframes: what is replayed between a keyframe and a moment costs a few milliseconds.
const STRETCH: u64 = 256 * 1024;
/// Events after which there is one, too, however short they are.
const STRETCH_EVENTS: u64 = 4096;
/// Markers that are listed.
const MARKERS: usize = 100_000;

/// A recording on its way to its end.
pub struct Indexer {
    screen: Screen,
    scrollback: usize,
    /// Number of the row behind the last one that is in a block.
    blocked: u64,
    last: Place,
    restarts: u32,
    markers: Vec<(Duration, String)>,
}

impl Indexer {
    /// Begins at the start of a recording.
    pub fn new(header: &Header, begin: Place, scrollback: usize) -> Self {
        Self {
            screen: Screen::new(header.size, scrollback),
            scrollback,
            blocked: 0,
            last: begin,
            restarts: 0,
            markers: Vec::new(),
        }
    }

    /// Takes in the next event, behind which the recording is at `place`, and a keyframe where one is due.
    pub fn take(&mut self, event: &Event, seen: Seen, place: Place, keys: &mut Keys) {
        apply(&mut self.screen, event, seen, self.scrollback);
        if matches!(&event.kind, Kind::Marker(label) if label == RESTARTED) {
            self.restarts += 1;
        }
        if let Kind::Marker(label) = &event.kind
            && self.markers.len() < MARKERS
        {
            self.markers.push((event.at, label.clone()));
        }
        let is_due = place.offset - self.last.offset >= STRETCH
            || place.events - self.last.events >= STRETCH_EVENTS;
        if !is_due {
            return;
        }
        // Where none can be taken, one is a little later.
        let Some(snapshot) = self.screen.snapshot() else {
            return;
        };
        let rows = snapshot.rows();
        let block = self.blocked.clamp(rows.start, rows.end)..rows.end;
        let kept = self.screen.kept_rows(block.clone());
        keys.push(place, &snapshot, (block, &kept), self.restarts);
        self.blocked = rows.end;
        self.last = place;
    }

    /// The recording is at its end.
    pub fn finish(self, end: Place, keys: &mut Keys) {
        keys.finish(end, self.markers);
    }
}
