//! What can be asked for, one file per operation, in the order of the specification.

pub mod config;
pub mod demo_agent;
pub mod doctor;
pub mod recorder;
