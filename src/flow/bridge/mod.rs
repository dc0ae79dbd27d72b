//! The way between those who ask something of a peer and whoever keeps it: the console, or a server without one.

mod counter;
mod host;
mod link;
mod standing;
mod wire;

pub(super) use counter::{Counter, Desk, PaneView};
pub(super) use host::{Incoming, serve, socket_path, turn_away};
pub(super) use link::{Link, Told};
pub(super) use standing::{Family, is_reviewers, standing};
