//! A run: the requests to roles that are open, their returns, and what was verified (systems.md 0.1, B.8 to B.12, C.9).

mod contract;
mod state;

pub use contract::{claims_verdict, host_return, verify};
pub use state::{Answered, Await, Opener, Run, Verified};
