//! The keys in force: the prefix and what follows it, and what is wrong with those of a settings file.

use std::collections::BTreeMap;

use super::action::Action;
use super::chord::{Chord, NoKey};
use super::input::Key;

/// The keys in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindings {
    /// The key before each of them.
    pub prefix: Chord,
    keys: BTreeMap<Chord, Action>,
}

/// What is wrong with the keys of a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingFault {
    /// A word that names no key.
    #[error("ui.{key}: {fault}")]
    Key {
        /// The setting.
        key: String,
        /// Why.
        fault: NoKey,
    },
    /// A name that is no action.
    #[error("ui.keys.{0}: there is no such action; known are {known}", known = names())]
    Action(String),
    /// One key for two actions.
    #[error(
        "ui.keys: `{key}` is the key of both `{first}` and `{second}`; give one of them another"
    )]
    Twice {
        /// The key.
        key: String,
        /// An action.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// A key that is the prefix.
    #[error("ui.keys.{0}: that key is the prefix, which sends itself when it is pressed twice")]
    Prefix(&'static str),
}

fn names() -> String {
    let names: Vec<&str> = Action::all().map(Action::name).collect();
    names.join(", ")
}

impl Bindings {
    /// Makes the bindings of a prefix and of what the settings change; every fault is told.
    pub fn new<'a>(
        prefix: &str,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Vec<BindingFault>> {
        let mut faults = Vec::new();
        let mut chords: BTreeMap<Action, String> = Action::all()
            .map(|action| (action, action.default_key().to_owned()))
            .collect();
        for (name, key) in changes {
            match Action::named(name) {
                Some(action) => {
                    chords.insert(action, key.to_owned());
                }
                None => faults.push(BindingFault::Action(name.chars().take(40).collect())),
            }
        }
        let mut parse = |key: String, text: &str| {
            Chord::parse(text).map_err(|fault| faults.push(BindingFault::Key { key, fault }))
        };
        let prefix = parse("prefix".to_owned(), prefix);
        let mut parsed = Vec::new();
        for (action, text) in &chords {
            // A key of no name is the wish to have none.
            if text.is_empty() {
                continue;
            }
            if let Ok(chord) = parse(format!("keys.{}", action.name()), text) {
                parsed.push((*action, chord));
            }
        }
        let mut keys: BTreeMap<Chord, Action> = BTreeMap::new();
        for (action, chord) in parsed {
            if Ok(chord) == prefix {
                faults.push(BindingFault::Prefix(action.name()));
            } else if let Some(first) = keys.insert(chord, action) {
                faults.push(BindingFault::Twice {
                    key: chord.shown(),
                    first: first.name(),
                    second: action.name(),
                });
            }
        }
        match prefix {
            Ok(prefix) if faults.is_empty() => Ok(Self { prefix, keys }),
            _ => Err(faults),
        }
    }

    /// Whether a key is the prefix.
    pub fn is_prefix(&self, key: &Key) -> bool {
        Chord::meant(key).any(|chord| chord == self.prefix)
    }

    /// What a key does behind the prefix.
    pub fn action(&self, key: &Key) -> Option<Action> {
        Chord::meant(key).find_map(|chord| self.keys.get(&chord).copied())
    }

    /// The key of an action, as a person reads it; none where it has none.
    pub fn key_of(&self, action: Action) -> Option<String> {
        let found = self.keys.iter().find(|(_, known)| **known == action);
        found.map(|(chord, _)| chord.shown())
    }
}

impl Default for Bindings {
    fn default() -> Self {
        Self::new("ctrl-]", []).expect("the defaults do not conflict: a test looks at them")
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::{Code, Mods};
    use super::*;

    #[test]
    fn every_action_has_a_name_and_a_key_of_its_own() {
        let bindings = Bindings::default();
        for action in Action::all() {
            assert_eq!(Action::named(action.name()), Some(action));
            assert!(bindings.key_of(action).is_some(), "{action:?}");
        }
        assert_eq!(bindings.prefix.shown(), "^]");
        assert_eq!(bindings.action(&Key::char('R')), Some(Action::Restart));
        assert_eq!(bindings.action(&Key::char('r')), Some(Action::Receipts));
    }

    #[test]
    fn the_settings_know_every_action_by_its_name() {
        let schema = crate::config::schema();
        let known = schema.pointer("/properties/ui/properties/keys/propertyNames/enum");
        let names: Vec<&str> = Action::all().map(Action::name).collect();
        assert_eq!(known, Some(&serde_json::json!(names)));
    }

    #[test]
    fn a_key_is_what_it_is_however_the_terminal_tells_it() {
        let bindings = Bindings::default();
        let kitty = Key {
            shifted: Some('|'),
            ..Key::new(Code::Char('\\'), Mods::SHIFT)
        };
        assert_eq!(bindings.action(&kitty), Some(Action::Columns));
        assert!(bindings.is_prefix(&Key::new(Code::Char(']'), Mods::CTRL)));
        assert!(!bindings.is_prefix(&Key::char(']')));
        let cyrillic = |char, base, mods| Key {
            base: Some(base),
            ..Key::new(Code::Char(char), mods)
        };
        assert!(bindings.is_prefix(&cyrillic('\u{44a}', ']', Mods::CTRL)));
        assert_eq!(
            bindings.action(&cyrillic('\u{432}', 'd', Mods::NONE)),
            Some(Action::Discuss)
        );
    }

    #[test]
    fn conflicts_and_unknown_names_are_all_told() {
        let faults = Bindings::new(
            "ctrl-a",
            [
                ("discuss", "b"),
                ("zoom", "ctrl-a"),
                ("jump", "j"),
                ("help", "nokey"),
            ],
        );
        let told: Vec<String> = faults
            .err()
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(
            told.iter()
                .any(|one| one.contains("`b` is the key of both"))
        );
        assert!(
            told.iter()
                .any(|one| one.starts_with("ui.keys.zoom: that key is the prefix"))
        );
        assert!(
            told.iter()
                .any(|one| one.starts_with("ui.keys.jump: there is no such action"))
        );
        assert!(
            told.iter()
                .any(|one| one.starts_with("ui.keys.help: `nokey` names no key"))
        );
    }

    #[test]
    fn a_freed_key_can_be_given_away() {
        let bindings = Bindings::new("ctrl-b", [("brief", ""), ("discuss", "b")]);
        assert_eq!(
            bindings.map(|b| b.action(&Key::char('b'))),
            Ok(Some(Action::Discuss))
        );
    }
}
