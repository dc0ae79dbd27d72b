//! Records: terminal recordings, events, receipts and the session file (interface.md 5).

pub mod cast;
pub mod digest;
pub mod event;
pub mod export;
pub mod fallback;
pub mod listing;
pub mod receipt;
pub mod replay;
pub mod result;
pub mod retention;
pub mod review;
mod schema;
pub mod session;
pub mod summary;
pub mod track;
pub mod word;
