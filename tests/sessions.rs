//! `sessions` through the program itself, on sessions as the recorder leaves them.

#[path = "sessions/world.rs"]
mod world;

#[path = "sessions/list.rs"]
mod list;

#[path = "sessions/replay.rs"]
mod replay;

#[path = "sessions/packed.rs"]
mod packed;

#[path = "sessions/export.rs"]
mod export;
