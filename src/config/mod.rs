//! Settings: layers, refusals and harness profiles (systems.md 0.2, 0.3; interface.md 4).

mod bundled;
mod pattern;
mod profile;
mod value;

pub use bundled::{bundled_profile, bundled_profile_text, bundled_profiles};
pub use pattern::{Pattern, PatternError, Patterns};
pub use profile::{Channel, OscState, Profile, Proven, ScreenRules};
pub use value::{Millis, ValueError, parse_duration, parse_size};
