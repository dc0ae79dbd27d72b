//! RepoPrompt as a route: its address, the tool that is called, and what its answer says (systems.md B).

mod address;

pub use address::Address;
