//! Settings: layers, refusals and harness profiles (systems.md 0.2, 0.3; interface.md 4).

mod bundled;
mod check;
mod document;
mod fault;
mod folder;
mod key;
mod launch;
mod layers;
mod merged;
mod origin;
mod pattern;
mod private_home;
mod profile;
mod routes;
mod screen_rules;
mod settings;
mod value;
mod wiring;

pub use bundled::{bundled_profile, bundled_profile_text, bundled_profiles, bundled_text};
pub use document::{LockChoice, RequireTag, schema};
pub use fault::{ConfigError, Diagnostic, Faults, Place, Problem};
pub use folder::Folders;
pub use key::Key;
pub use launch::{
    Grounds, Launch, LaunchError, SEAT, Seat, allows, is_removed, kept_from_peer, launch,
    outside_path, scratch_env,
};
pub use layers::{FlagValue, LayerFile, Layers, load};
pub use origin::{Layer, Origin, Sourced};
pub use pattern::{Pattern, PatternError, Patterns};
pub use private_home::{NotToml, PrivateHome};
pub use profile::{Channel, OscState, PeerFolder, Profile, Proven};
pub use routes::{Routed, Routes, RunnerSettings};
pub use screen_rules::{Links, ScreenRules};
pub use settings::{Entry, Settings};
pub use value::{Millis, ValueError, parse_duration, parse_size};
pub use wiring::{Format, Wiring, WiringError};
