//! Terminal recordings in the asciicast format: versions 1, 2 and 3 are read, version 3 is written.
//!
//! Both ends are pure: [`Reader`] takes bytes from any buffered source, plain, zstd or gzip, and gives events one by one;
//! [`Writer`] turns what happened into whole lines.

mod line;
mod reader;
mod source;
mod writer;

pub use reader::{CastError, Notes, Opened, Place, Reader};
pub use source::{Text, decompressed};
pub use writer::Writer;

use std::time::Duration;

use crate::screen::Size;

/// What a recording says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Version of the format: 1, 2 or 3.
    pub version: u8,
    /// Size at the start; 80×24 when the header does not say.
    pub size: Size,
    /// Unix time of the start.
    pub timestamp: Option<u64>,
    /// Title.
    pub title: Option<String>,
    /// The command that was recorded.
    pub command: Option<String>,
    /// The terminal's type (`TERM`).
    pub term: Option<String>,
}

impl Header {
    /// The header of a new recording of that size.
    pub fn new(size: Size) -> Self {
        Self {
            version: 3,
            size,
            timestamp: None,
            title: None,
            command: None,
            term: None,
        }
    }
}

/// One event of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Time since the start; never less than that of the event before.
    pub at: Duration,
    /// What happened.
    pub kind: Kind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The child wrote.
    Output(String),
    /// The child was written to.
    Input(String),
    /// The terminal changed its size.
    Resize(Size),
    /// A marker was set.
    Marker(String),
    /// The child ended with this status.
    Exit(i32),
    /// Something of a newer format, by its code.
    Other(String),
}
