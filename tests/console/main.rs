//! The console without a process: events in, bytes for a terminal out, and what that terminal shows then.

mod frames;
mod incremental;
mod parts;
mod stage;
