//! A synchronized frame (mode 2026): held back whole until it is closed, or for as long as is bearable.
//!
//! The bytes are not given to the emulator at all, unless the child asks something inside the frame: then what is
//! shown is put aside and the frame is drawn behind it.

use std::time::Duration;

use super::csi::Csi;
use super::scan::{Piece, params_length, unfinished};
use super::terminal::is_query;
use crate::limits;

/// Bytes of a frame that are held back.
const FRAME_BYTES: usize = 4 * 1024 * 1024;

/// An open frame.
pub(super) struct Frame {
    since: Duration,
    state: State,
}

enum State {
    /// Whole pieces, and where the child opened a frame once more.
    Held {
        bytes: Vec<u8>,
        again: Option<(usize, Duration)>,
    },
    /// What was on the screen before.
    Drawn(Box<vt100::Screen>),
}

/// What a piece means to a frame that is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// It is part of it.
    Inside,
    /// Its bytes are too many to wait for the end.
    Full,
    /// It ends the frame.
    Close,
    /// It must be answered now.
    Query,
}

impl Frame {
    /// Opens a frame.
    pub(super) fn open(now: Duration) -> Self {
        Self {
            since: now,
            state: State::Held {
                bytes: Vec::new(),
                again: None,
            },
        }
    }

    /// When it is given up.
    pub(super) fn deadline(&self) -> Duration {
        self.since + limits::FRAME_CAP
    }

    /// Whether its bytes are held back.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.state, State::Held { .. })
    }

    /// Takes in what is neither a step of a frame nor a question at the start of `bytes`; gives its length.
    pub(super) fn hold_plain(&mut self, bytes: &[u8]) -> usize {
        let State::Held { bytes: held, .. } = &mut self.state else {
            return 0;
        };
        let room = (FRAME_BYTES + 1).saturating_sub(held.len());
        let length = plain_length(&bytes[..bytes.len().min(room)]);
        held.extend_from_slice(&bytes[..length]);
        length
    }

    /// Takes a piece in, or says what has to happen before it.
    pub(super) fn hold(&mut self, piece: &Piece<'_>, now: Duration) -> Held {
        let State::Held { bytes, again } = &mut self.state else {
            return Held::Full;
        };
        match step(piece) {
            Some(true) => *again = Some((bytes.len(), now)),
            Some(false) => return Held::Close,
            None if is_query(piece) => return Held::Query,
            None => {}
        }
        piece.write(bytes);
        if bytes.len() > FRAME_BYTES {
            return Held::Full;
        }
        Held::Inside
    }

    /// The bytes held back; from here on `shown` is what is seen of the screen.
    pub(super) fn draw_behind(&mut self, shown: vt100::Screen) -> Vec<u8> {
        match std::mem::replace(&mut self.state, State::Drawn(Box::new(shown))) {
            State::Held { bytes, .. } => bytes,
            State::Drawn(_) => Vec::new(),
        }
    }

    /// What is seen of the screen, when it is not the emulator's.
    pub(super) fn shown(&self) -> Option<&vt100::Screen> {
        match &self.state {
            State::Held { .. } => None,
            State::Drawn(screen) => Some(screen),
        }
    }

    /// What is seen of the screen, when it is not the emulator's.
    pub(super) fn shown_mut(&mut self) -> Option<&mut vt100::Screen> {
        match &mut self.state {
            State::Held { .. } => None,
            State::Drawn(screen) => Some(screen),
        }
    }

    /// Ends the frame and gives what was held back.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self.state {
            State::Held { bytes, .. } => bytes,
            State::Drawn(_) => Vec::new(),
        }
    }

    /// Ends the frame at its deadline: what was held back, and the later frame in it whose time is not over.
    pub(super) fn expire(self, now: Duration) -> (Vec<u8>, Option<Self>) {
        match self.state {
            State::Held {
                mut bytes,
                again: Some((at, since)),
            } if now < since + limits::FRAME_CAP => {
                let rest = bytes.split_off(at);
                let frame = Self {
                    since,
                    state: State::Held {
                        bytes: rest,
                        again: None,
                    },
                };
                (bytes, Some(frame))
            }
            State::Held { bytes, .. } => (bytes, None),
            State::Drawn(_) => (Vec::new(), None),
        }
    }
}

/// Whether the end of the frame that was just opened is in `bytes`. The usual spelling only: ESC begins a sequence
/// wherever it stands, so these bytes are an end, while another spelling is found by holding the frame back.
pub(super) fn ends_in(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"\x1b[?2026l").is_some()
}

/// Length of the whole pieces at the start of `bytes` that have nothing to say to a frame: text, the common control
/// sequences. It may stop early; it is the second look the bytes of a held frame get, so it is a quick one.
fn plain_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = memchr::memchr(0x1b, &bytes[at..]) {
        let escape = at + next;
        let rest = &bytes[escape..];
        let length = match (rest.get(1), rest.get(2..)) {
            (Some(b'['), Some([b'?', b'2', b'5', b'h' | b'l', ..])) => 6,
            (Some(b'['), Some(body)) => {
                let params = params_length(body);
                match body.get(params) {
                    Some(b'A'..=b'M' | b'P' | b'S' | b'T' | b'X' | b'`' | b'd' | b'm' | b'r') => {
                        params + 3
                    }
                    _ => return escape,
                }
            }
            (Some(b'M'), _) => 2,
            _ => return escape,
        };
        at = escape + length;
    }
    bytes.len() - unfinished(&bytes[at..])
}

/// Whether a piece opens (`true`) or ends (`false`) a frame.
fn step(piece: &Piece<'_>) -> Option<bool> {
    match piece {
        Piece::Csi(bytes) if matches!(bytes.last(), Some(b'h' | b'l')) => {
            let csi = Csi::parse(bytes)?;
            (csi.private == b'?'
                && csi.intermediates.is_empty()
                && csi.numbers().any(|mode| mode == 2026))
            .then_some(csi.last == b'h')
        }
        // A reset ends everything.
        Piece::Escape(b"\x1bc") => Some(false),
        _ => None,
    }
}
