//! Records: terminal recordings, events, receipts and the session file (interface.md 5).

pub mod cast;
pub mod result;
pub mod word;
