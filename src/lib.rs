//! codriver: a terminal pairing console. One coding agent drives, a second one, the peer, reads along and reviews.
//!
//! The rooms and the arrows between them are drawn in `docs/architecture.md` and held by `tests/layers.rs`.

pub mod app;
pub mod bridge;
pub mod cli;
pub mod config;
pub mod confine;
pub mod demo;
pub mod flow;
pub mod limits;
pub mod mcp;
pub mod pairing;
pub mod plain;
pub mod recording;
pub mod refusal;
pub mod route;
pub mod rp;
pub mod run;
pub mod runner;
pub mod screen;
pub mod ui;
pub mod world;
