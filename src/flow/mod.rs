//! What can be asked for, one file per operation, in the order of the specification.

pub mod channel;
pub mod config;
pub mod demo_agent;
pub mod doctor;
pub mod explain;
pub mod extract;
mod launch;
pub mod pane;
pub mod recorder;
pub mod round;
