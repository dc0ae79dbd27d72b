//! Pairing: messages, the reading of a reply, and the round as a state machine (systems.md A).

mod echo;
mod extract;
mod grammar;
mod marker;
mod reply;
mod rest;
mod wrap;

pub use extract::{Found, Given, Player};
pub use marker::{Label, Marker};
pub use reply::{Asked, Reading, read};
pub use rest::{Activity, Judgement, Signs, judge, normalised};
