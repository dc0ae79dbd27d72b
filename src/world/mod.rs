//! The outside: one file per outside thing, no decisions.

pub mod channel;
pub mod clipboard;
pub mod clock;
pub mod command;
pub mod demo_trace;
pub mod editor;
pub mod environment;
pub mod files;
pub mod folder;
pub mod git;
pub mod log;
pub mod loopback;
pub mod mcp;
pub mod outer;
pub mod process;
pub mod program;
pub mod pty;
pub mod random;
pub mod raw_terminal;
pub mod sessions;
pub mod settings_file;
pub mod signals;
pub mod socket;
pub mod store;
pub mod terminal;
pub mod tree;
