//! What can be asked for, one file per operation, in the order of the specification.

pub mod demo_agent;
pub mod recorder;
