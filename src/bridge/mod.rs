//! What a console, or a peer kept without one, is asked over its socket, and who has to wait for whom (issue TOOLS).
//!
//! The forms and the order alone: who connects and what travels is `flow/bridge`'s.

mod call;
mod fault;
mod frame;
mod hub;

pub use call::{
    Call, FromClient, FromServer, Hello, Lookup, PROTOCOL, Pace, Scope, Standing, Welcome, Work,
};
pub use fault::{Code, Fault};
pub use frame::{FrameError, Frames, encode};
pub use hub::{Hub, Job, State};
