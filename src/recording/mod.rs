//! Records: terminal recordings, events, receipts and the session file (interface.md 5).

pub mod cast;
pub mod digest;
pub mod event;
pub mod fallback;
pub mod receipt;
pub mod result;
mod schema;
pub mod session;
pub mod word;
