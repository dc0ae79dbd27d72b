//! Whatever stands in a settings file, it is read or told, and no value of it is repeated.

use codriver::config::{Faults, LayerFile, Layers, load};
use proptest::prelude::*;

/// A value that must not come back, and others that look like settings.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("'SECRET'".to_owned()),
        Just("\"SECRET\\u0000\\u001b\"".to_owned()),
        Just("['SECRET', 1]".to_owned()),
        Just("{ a = 'SECRET' }".to_owned()),
        Just("SECRET".to_owned()),
        Just("1979-05-27T07:32:00Z".to_owned()),
        Just("-9223372036854775808".to_owned()),
        Just("nan".to_owned()),
        Just("true".to_owned()),
        Just("'(SECRET['".to_owned()),
    ]
}

fn key() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z_]{1,8}",
        Just("pair".to_owned()),
        Just("peer".to_owned()),
        Just("harness".to_owned()),
        Just("idle_regex".to_owned()),
        Just("osc_state".to_owned()),
        Just("roles".to_owned()),
        Just("runner".to_owned()),
        Just("oracle".to_owned()),
        Just("denylist".to_owned()),
        Just("rp".to_owned()),
        Just("env".to_owned()),
        Just("\"é\\u202e\"".to_owned()),
    ];
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("."))
}

fn document() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => key().prop_map(|key| format!("[{key}]")),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

/// A repository's file that is mostly sound.
fn opinion() -> impl Strategy<Value = String> {
    let sound = prop::sample::subsequence(
        vec![
            "oracle.review = 'rp'",
            "oracle.denylist = ['a/*', 'b']",
            "roles.auditor.runner = 'host'",
            "roles.implementer.runner = 'codex'",
            "roles.poet.runner = 'host'",
        ],
        0..=5,
    );
    let rest = prop::option::weighted(0.3, document());
    (sound, rest)
        .prop_map(|(sound, rest)| format!("{}\n{}", sound.join("\n"), rest.unwrap_or_default()))
}

fn layers(repository: String, machine: String) -> Layers {
    let file = |path: &str, text| LayerFile {
        path: path.into(),
        text: Ok(Some(text)),
    };
    Layers {
        flags: Vec::new(),
        repository: Some(file("/repo/.codriver/config.toml", repository)),
        machine: Some(file("/home/config.toml", machine)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_value_comes_back_in_a_message(repository in document(), machine in document()) {
        let messages: Vec<String> = match load(&layers(repository, machine)) {
            Ok(settings) => settings.diagnostics.iter().map(ToString::to_string).collect(),
            Err(Faults(faults)) => {
                prop_assert!(!faults.is_empty());
                faults.iter().map(ToString::to_string).collect()
            }
        };
        for message in messages {
            prop_assert!(!message.contains("SECRET"), "{message}");
            prop_assert!(!message.chars().any(|c| c.is_control() || c == '\u{202e}'), "{message:?}");
            prop_assert!(message.contains("config.toml"), "{message}");
        }
    }

    #[test]
    fn a_repository_changes_nothing_but_its_three_keys(repository in opinion()) {
        let with = load(&layers(repository, String::new()));
        let without = load(&layers(String::new(), String::new())).expect("nothing is set");
        if let Ok(with) = with {
            for entry in with.entries() {
                let key = entry.key.to_string();
                let is_open = key == "oracle.review" || key == "oracle.denylist" || (key.starts_with("roles.") && key.ends_with(".runner"));
                prop_assert!(is_open || without.get(&entry.key) == Some(entry), "{key}");
            }
        }
    }
}
