//! The events of a recording, read ahead of who plays them on a thread of its own: a recording of a hundred megabytes
//! is decoded while the screen takes what was decoded before.

use std::io::BufRead;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::recording::cast::{CastError, Event, Kind, Notes, Reader};
use crate::screen::{Preview, Seen};

/// Bytes of output after which a batch is handed over.
const BATCH_BYTES: usize = 128 * 1024;
/// Events after which it is, too.
const BATCH_EVENTS: usize = 1024;

/// Some events, in order, and what had to be put right up to there.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) events: Vec<Result<(Event, Seen), CastError>>,
    pub(super) notes: Notes,
    /// No more will be read.
    pub(super) is_last: bool,
}

/// Where the batches come from.
pub(super) enum Ahead<R: BufRead> {
    /// A thread of their own; one batch at most waits to be taken.
    Thread(Receiver<Batch>),
    /// This thread, where another one was not to be had.
    Here(Box<Batches<R>>),
}

impl<R: BufRead + Send + 'static> Ahead<R> {
    /// Begins to read. Nothing is read beyond the first event after `until`.
    pub(super) fn begin(reader: Reader<R>, until: Option<Duration>) -> Self {
        let batches = Batches {
            reader,
            until,
            preview: Preview::default(),
        };
        let (give, taken) = sync_channel::<Batches<R>>(1);
        let (sender, receiver) = sync_channel(1);
        let read = move || {
            if let Ok(batches) = taken.recv() {
                batches.hand_over(&sender);
            }
        };
        match thread::Builder::new().spawn(read) {
            Ok(_) => {
                // The thread waits for nothing else.
                let _ = give.send(batches);
                Self::Thread(receiver)
            }
            Err(_) => Self::Here(Box::new(batches)),
        }
    }

    /// The next batch.
    pub(super) fn next(&mut self) -> Batch {
        match self {
            // Who hands them over ends with the last one.
            Self::Thread(receiver) => receiver.recv().unwrap_or(Batch {
                is_last: true,
                ..Batch::default()
            }),
            Self::Here(batches) => batches.next(),
        }
    }
}

/// A recording as batches.
pub(super) struct Batches<R: BufRead> {
    reader: Reader<R>,
    until: Option<Duration>,
    preview: Preview,
}

impl<R: BufRead> Batches<R> {
    /// Hands them over up to the last one, or until nobody wants them.
    fn hand_over(mut self, to: &SyncSender<Batch>) {
        loop {
            let batch = self.next();
            let is_last = batch.is_last;
            if to.send(batch).is_err() || is_last {
                return;
            }
        }
    }

    fn next(&mut self) -> Batch {
        let mut batch = Batch::default();
        let mut bytes = 0;
        while bytes < BATCH_BYTES && batch.events.len() < BATCH_EVENTS && !batch.is_last {
            match self.reader.next() {
                Some(Ok(event)) => {
                    let mut seen = Seen::default();
                    if let Kind::Output(text) = &event.kind {
                        bytes += text.len();
                        seen = self.preview.look(text.as_bytes());
                    }
                    batch.is_last = self.until.is_some_and(|until| event.at > until);
                    batch.events.push(Ok((event, seen)));
                }
                Some(Err(error)) => {
                    batch.is_last = matches!(error, CastError::Read(_));
                    batch.events.push(Err(error));
                }
                None => batch.is_last = true,
            }
        }
        batch.notes = self.reader.notes();
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(events: usize) -> Vec<u8> {
        let mut text = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n".to_owned();
        for n in 0..events {
            text.push_str(&format!("[0.1, \"o\", \"{n} {}\"]\n", "x".repeat(n % 300)));
        }
        text.into_bytes()
    }

    fn reader(
        bytes: Vec<u8>,
    ) -> Result<Reader<std::io::Cursor<Vec<u8>>>, Box<dyn std::error::Error>> {
        let opened = Reader::open(std::io::Cursor::new(bytes))?;
        Ok(opened.recording().ok_or("no recording")?)
    }

    fn all(mut ahead: Ahead<std::io::Cursor<Vec<u8>>>) -> (Vec<Event>, Notes, usize) {
        let (mut events, mut batches) = (Vec::new(), 0);
        loop {
            let batch = ahead.next();
            batches += 1;
            events.extend(batch.events.into_iter().flatten().map(|(event, _)| event));
            if batch.is_last {
                return (events, batch.notes, batches);
            }
        }
    }

    #[test]
    fn every_event_comes_in_order_by_either_way() -> Result<(), Box<dyn std::error::Error>> {
        let wanted: Vec<Event> = reader(recording(5000))?.flatten().collect();
        let (events, notes, batches) = all(Ahead::begin(reader(recording(5000))?, None));
        assert_eq!((&events, notes), (&wanted, Notes::default()));
        assert!(batches > 4, "{batches}");
        let here = Ahead::Here(Box::new(Batches {
            reader: reader(recording(5000))?,
            until: None,
            preview: Preview::default(),
        }));
        assert_eq!(all(here).0, wanted);
        Ok(())
    }

    #[test]
    fn nothing_is_read_beyond_the_moment_that_ends_it() -> Result<(), Box<dyn std::error::Error>> {
        let until = Some(Duration::from_millis(450));
        let (events, ..) = all(Ahead::begin(reader(recording(5000))?, until));
        assert_eq!(events.len(), 5);
        Ok(())
    }

    #[test]
    fn a_recording_that_was_cut_says_so_at_the_end() -> Result<(), Box<dyn std::error::Error>> {
        for events in [0, 3, BATCH_EVENTS] {
            let mut bytes = recording(events);
            bytes.extend_from_slice(b"[0.1, \"o\", \"half");
            let (found, notes, _) = all(Ahead::begin(reader(bytes)?, None));
            assert_eq!((found.len(), notes.cut), (events, true));
        }
        Ok(())
    }
}
