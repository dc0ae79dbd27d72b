//! The tools, the prompt and the resources of the MCP server, and what a call of one means (interface.md 3).
//!
//! The words are files in `assets/mcp/`. The protocol itself is `rmcp`'s; see `flow/mcp.rs`.

mod prompt;
mod resource;
mod tool;

pub use prompt::{PROMPT, PROMPT_ARGUMENTS, pair};
pub use resource::{Named, RESOURCES, TEMPLATE, lookup};
pub use tool::{Described, Offer, Wanted, wanted};
