//! The embedded demo agent: a script, the styles it draws in, and a small honest review of a diff.

pub mod agent;
pub mod composer;
pub mod diff;
pub mod fault;
pub mod grid;
pub mod input;
pub mod layout;
pub mod markdown;
mod reply;
pub mod review;
pub mod row;
pub mod scene;
pub mod script;
pub mod secret;
mod style_claude;
mod style_codex;
mod style_opencode;
mod style_plain;
pub mod table;
pub mod wrap;

/// Which agent the demo looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Inline, as claude draws.
    Claude,
    /// Inline with a scroll region, as codex draws.
    Codex,
    /// On the alternate screen, as opencode draws.
    OpenCode,
    /// Line by line, as a program nobody knows draws.
    Plain,
}
