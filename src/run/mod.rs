//! A run: the requests to roles that are open, their returns, and what was verified (systems.md 0.1, B.8 to B.12, C.9).

mod brief;
mod contract;
mod state;

pub use brief::{Subject, brief, contract, for_host, for_repo_prompt};
pub use contract::{claims_verdict, host_return, verify};
pub use state::{Answered, Await, Opener, Run, Verified};
