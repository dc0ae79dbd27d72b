//! A recording that can be looked at anywhere: keyframes from which a replay begins, and the way from there to a moment.
//!
//! A keyframe is a screen written down, with the place in the recording at which it stood so. What it saves is time and
//! nothing else: without any, a moment is reached from the start, and it looks the same.

mod index;
mod keys;
mod moment;

pub use index::Indexer;
pub use keys::{Bound, Keys, KeysError};
pub use moment::{Moment, RESTARTED, Target, apply, seek};
