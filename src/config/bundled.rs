//! What is built in: the bundled settings and the harness profiles of `assets/harness/`.

use super::origin::{Layer, Origin};
use super::profile::Profile;

/// The settings everything starts from.
pub(super) const BUNDLED: &str = include_str!("../../assets/config.toml");
/// Where they lie in the sources.
pub(super) const BUNDLED_FILE: &str = "assets/config.toml";

/// Name and text of every bundled profile; `unknown` is what a new name starts from.
const PROFILES: [(&str, &str); 7] = [
    ("claude", include_str!("../../assets/harness/claude.toml")),
    ("codex", include_str!("../../assets/harness/codex.toml")),
    (
        "opencode",
        include_str!("../../assets/harness/opencode.toml"),
    ),
    ("gemini", include_str!("../../assets/harness/gemini.toml")),
    (
        "cursor-agent",
        include_str!("../../assets/harness/cursor-agent.toml"),
    ),
    ("demo", include_str!("../../assets/harness/demo.toml")),
    (UNKNOWN, include_str!("../../assets/harness/unknown.toml")),
];

/// The profile of a harness nothing is known about.
pub(super) const UNKNOWN: &str = "unknown";

/// The origin of the bundled settings.
pub(super) fn origin() -> Origin {
    Origin::new(Layer::Bundled, BUNDLED_FILE)
}

/// The text of the bundled settings.
pub fn bundled_text() -> &'static str {
    BUNDLED
}

/// Names of the bundled profiles, in the order they are offered.
pub fn bundled_profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// The text of a bundled profile.
pub fn bundled_profile_text(name: &str) -> Option<&'static str> {
    PROFILES
        .iter()
        .find(|(bundled, _)| *bundled == name)
        .map(|(_, text)| *text)
}

/// A bundled profile as it stands, without any settings of a person; `unknown` for a name that is none of them.
pub fn bundled_profile(name: &str) -> Profile {
    let (name, text) = PROFILES
        .iter()
        .find(|(bundled, _)| *bundled == name)
        .or(PROFILES.last())
        .expect("there are bundled profiles");
    let mut profile: Profile =
        toml::from_str(text).expect("the bundled profiles parse: a test reads each of them");
    profile.name = (*name).to_owned();
    profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_profile_parses_and_keeps_its_name() {
        for name in bundled_profiles() {
            let profile = bundled_profile(name);
            assert_eq!(profile.name, name);
            assert!(!profile.title.is_empty(), "{name} has a title");
        }
    }

    #[test]
    fn a_name_without_a_profile_is_read_as_unknown() {
        assert_eq!(bundled_profile("no-such-agent"), bundled_profile(UNKNOWN));
    }

    #[test]
    fn only_the_three_tried_agents_and_our_own_claim_to_be_proven() {
        for name in ["gemini", "cursor-agent", "unknown"] {
            assert_eq!(bundled_profile(name).proven, [], "{name}");
        }
    }
}
