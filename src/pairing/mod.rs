//! Pairing: messages, the reading of a reply, and the round as a state machine (systems.md A).

mod agree;
pub mod channel;
mod echo;
mod evidence;
mod exact;
mod exchange;
mod extract;
mod grammar;
mod guess;
mod marker;
pub mod message;
mod reply;
mod rest;
mod submission;
mod wrap;

pub use agree::{Answer, Beside, ChannelText, decide};
pub use evidence::Evidence;
pub use exact::{ExactReading, read_alone, read_exact};
pub use exchange::{Delivered, Ending, Exchange, Heard, Order, Status, Step, Way};
pub use extract::{Found, Given, Player};
pub use guess::{by_screen, by_title, guess};
pub use marker::{Label, Marker};
pub use reply::{Asked, Reading, last_reply, read};
pub use rest::{Activity, Judgement, Signs, judge, look, normalised};
pub use submission::{Submission, submission, submitted};
