//! What can be asked for, one file per operation, in the order of the specification.

mod ahead;
pub mod answer;
pub mod ask;
mod bridge;
pub mod channel;
pub mod compose;
pub mod config;
pub mod console;
mod delivery;
pub mod demo_agent;
pub mod doctor;
pub mod explain;
pub mod extract;
pub mod failure;
mod keeper;
mod launch;
pub mod mcp;
pub mod pane;
mod peer;
pub mod recorder;
pub mod replay;
pub mod review;
pub mod round;
mod runners;
pub mod sessions;
pub mod setup;
mod talk;
