//! From the texts of the layers to the settings in force (systems.md 0.2, 0.3).
//!
//! Each layer is read whole and on its own, so that every fault is told with its file and place. Only layers without any
//! fault are merged: no fault falls through to a default.

use std::path::PathBuf;

use toml::Value;
use toml::de::DeTable;

use super::bundled::{BUNDLED, BUNDLED_FILE, UNKNOWN, bundled_profile_text, bundled_profiles};
use super::check::{Findings, check, nearest};
use super::document::{repo_prompt_schema, schema};
use super::fault::{ConfigError, Diagnostic, Faults, Place, Problem};
use super::key::Key;
use super::merged::{Displaced, Leaf, Merged};
use super::origin::{Layer, Origin, shown_path};
use super::routes::allowlist;
use super::settings::Settings;
use crate::refusal::Refusal;
use crate::route::Role;
use crate::runner::Model;

/// A settings file: where it is or would be, and its text when there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerFile {
    /// The file.
    pub path: PathBuf,
    /// Its text; none when there is no such file, or why it could not be read.
    pub text: Result<Option<String>, String>,
}

/// A setting given as a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagValue {
    /// The flag as the person wrote it.
    pub flag: &'static str,
    /// The key it sets.
    pub key: &'static str,
    /// Its value.
    pub value: String,
}

/// Everything the settings are made from, beside what is built in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers {
    /// Settings given as flags.
    pub flags: Vec<FlagValue>,
    /// `.codriver/config.toml`, inside a repository.
    pub repository: Option<LayerFile>,
    /// The person's file; none where no folder for it is known.
    pub machine: Option<LayerFile>,
}

impl Layers {
    /// The file to name to a person as the one that may set everything.
    fn machine_file(&self) -> String {
        match &self.machine {
            Some(file) => format!("`{}`", shown_path(&file.path)),
            None => "the machine file (set XDG_CONFIG_HOME or HOME to have one)".to_owned(),
        }
    }
}

/// Reads the layers into settings, or tells every fault of every layer.
pub fn load(layers: &Layers) -> Result<Settings, Faults> {
    let mut load = Load {
        schema: schema(),
        machine_file: layers.machine_file(),
        faults: Vec::new(),
        diagnostics: Vec::new(),
    };
    let bundled = bundled();
    let machine = load.file(Layer::Machine, layers.machine.as_ref());
    let repository = load.file(Layer::Repository, layers.repository.as_ref());
    let flags = load.flags(&layers.flags);
    let repository = load.admit(repository);
    let read = [bundled, machine, repository, flags];
    load.harnesses(&read);
    let mut merged = Merged::default();
    for layer in read {
        for leaf in layer {
            if let Some(displaced) = merged.set(leaf) {
                load.displaced(&displaced);
            }
        }
    }
    load.routes(&mut merged);
    load.review(&merged);
    if !load.faults.is_empty() {
        return Err(Faults(load.faults));
    }
    Settings::from_entries(merged.entries(), load.diagnostics).map_err(|fault| Faults(vec![fault]))
}

struct Load {
    schema: serde_json::Value,
    machine_file: String,
    faults: Vec<ConfigError>,
    diagnostics: Vec<Diagnostic>,
}

impl Load {
    fn file(&mut self, layer: Layer, file: Option<&LayerFile>) -> Vec<Leaf> {
        let Some(file) = file else {
            return Vec::new();
        };
        let origin = Origin::new(layer, &file.path);
        match &file.text {
            Ok(Some(text)) => self.text(&origin, &Key::default(), text),
            Ok(None) => Vec::new(),
            Err(why) => {
                self.faults.push(ConfigError::Unreadable {
                    place: at(&origin, None, ""),
                    why: why.clone(),
                });
                Vec::new()
            }
        }
    }

    /// Reads and checks a text whose keys stand under `under`.
    fn text(&mut self, origin: &Origin, under: &Key, text: &str) -> Vec<Leaf> {
        // A byte order mark is what some editors leave at the start of a file.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let parsed = DeTable::parse(text).and_then(|spans| Ok((spans, toml::from_str(text)?)));
        let (spans, table): (_, toml::Table) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                self.faults.push(ConfigError::Parse {
                    place: at(origin, error.span().map(|span| span.start), text),
                    what: parse_message(&error),
                });
                return Vec::new();
            }
        };
        let depth = under.parts().len();
        let place = |key: &Key| {
            let parts = key.parts();
            at(origin, offset(spans.get_ref(), &parts[depth..]), text)
        };
        let mut whole = Value::Table(table.clone());
        for part in under.parts().iter().rev() {
            whole = Value::Table([((*part).to_owned(), whole)].into_iter().collect());
        }
        let findings = check(&self.schema, &Key::default(), &whole);
        self.report(findings, origin.layer, place);
        leaves(under, &table, &place)
    }

    fn report(&mut self, findings: Findings, layer: Layer, place: impl Fn(&Key) -> Place) {
        let mut faults = Vec::new();
        for (key, suggestion) in findings.unknown {
            faults.push(ConfigError::UnknownKey {
                place: place(&key),
                key,
                suggestion,
            });
        }
        for (key, problem) in findings.problems {
            // What a repository may not set at all is refused for that alone.
            if layer == Layer::Repository && !is_open_to_repository(&key) {
                continue;
            }
            faults.push(ConfigError::Value {
                place: place(&key),
                key,
                problem,
            });
        }
        faults.sort_by_key(|fault| (fault.place().line, fault.place().column));
        self.faults.append(&mut faults);
    }

    fn flags(&mut self, flags: &[FlagValue]) -> Vec<Leaf> {
        flags
            .iter()
            .map(|flag| Leaf {
                key: Key::of(flag.key),
                value: Value::String(flag.value.clone()),
                place: at(&Origin::new(Layer::Flag, flag.flag), None, ""),
            })
            .collect()
    }

    /// Keeps what a repository may set (0.3); the rest is refused, or set aside with a diagnostic.
    fn admit(&mut self, leaves: Vec<Leaf>) -> Vec<Leaf> {
        let mut kept = Vec::new();
        for leaf in leaves {
            let unknown = self.faults.iter().any(|fault| {
                fault.place().origin == leaf.place.origin && fault.key() == Some(&leaf.key)
            });
            if unknown {
                continue;
            }
            if !is_open_to_repository(&leaf.key) {
                self.faults.push(ConfigError::Refused {
                    refusal: Refusal::new(
                        "machine-only-key",
                        format!("a repository may not set `{}`", leaf.key),
                        format!("set it in {}", self.machine_file),
                    ),
                    place: leaf.place,
                });
                continue;
            }
            if is_route(&leaf.key) && leaf.value.as_str() != Some("host") {
                self.diagnostics.push(Diagnostic {
                    code: "repository-route",
                    what: format!(
                        "{}: a repository may not route a role to a runner; `{}` is skipped, set it in {}",
                        leaf.place, leaf.key, self.machine_file
                    ),
                });
                continue;
            }
            kept.push(leaf);
        }
        kept
    }

    /// A harness named as driver or peer must be known in some layer.
    fn harnesses(&mut self, layers: &[Vec<Leaf>]) {
        let mut known: Vec<String> = bundled_profiles().map(str::to_owned).collect();
        for leaf in layers.iter().flatten() {
            if let ["harness", name, ..] = leaf.key.parts()[..]
                && !known.iter().any(|known| known == name)
            {
                known.push(name.to_owned());
            }
        }
        for leaf in layers.iter().flatten() {
            let (["pair", "driver" | "peer"], Some(name)) =
                (&leaf.key.parts()[..], leaf.value.as_str())
            else {
                continue;
            };
            if known.iter().any(|known| known == name) || is_command(leaf, name) {
                continue;
            }
            self.faults.push(ConfigError::UnknownHarness {
                place: leaf.place.clone(),
                key: leaf.key.clone(),
                known: known.clone(),
                suggestion: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            });
        }
    }

    fn displaced(&mut self, displaced: &Displaced) {
        let Displaced { by, was } = displaced;
        let host = |leaf: &Leaf| leaf.value.as_str() == Some("host");
        if by.place.origin.layer == Layer::Repository && is_route(&by.key) && host(by) && !host(was)
        {
            self.diagnostics.push(Diagnostic {
                code: "repository-host",
                what: format!(
                    "`{}` is host by {}; it displaces your own route in {}",
                    by.key, by.place, was.place
                ),
            });
        }
    }

    /// A route for a role outside the roster is set aside; the fallback must be an enabled runner, and a runner's model
    /// an admitted one (C.4).
    fn routes(&mut self, merged: &mut Merged) {
        merged.retain(|leaf| {
            let outside =
                matches!(leaf.key.parts()[..], ["roles", role, ..] if Role::of(role).is_none());
            if outside {
                self.diagnostics.push(Diagnostic {
                    code: "unknown-role",
                    what: format!(
                        "{}: `{}` is for no role there is and is skipped; roles are {}",
                        leaf.place,
                        leaf.key,
                        Role::ALL.map(Role::name).join(", ")
                    ),
                });
            }
            !outside
        });
        let allowed = allowlist(
            merged
                .under(&Key::of("oracle"))
                .map(|leaf| (&leaf.key, &leaf.value)),
        );
        for leaf in merged.under(&Key::of("runner")) {
            let (["runner", _, "model"], Some(model)) = (
                &leaf.key.parts()[..],
                leaf.value.as_str().and_then(Model::of),
            ) else {
                continue;
            };
            if let Err(refusal) = allowed.admit(&model, &leaf.key.to_string()) {
                self.faults.push(ConfigError::Refused {
                    refusal,
                    place: leaf.place.clone(),
                });
            }
        }
        let Some(fallback) = merged.get(&Key::of("runner.fallback_host")) else {
            return;
        };
        let enabled = fallback
            .value
            .as_str()
            .is_some_and(|name| merged.has_under(&Key::new(["runner", name])));
        if !enabled {
            self.faults.push(ConfigError::Value {
                place: fallback.place.clone(),
                key: fallback.key.clone(),
                problem: Problem::Form(
                    "no runner enabled on this machine; add its `[runner.…]` table".to_owned(),
                ),
            });
        }
    }

    /// The address of RepoPrompt is looked at only when a review goes there (B.3).
    fn review(&mut self, merged: &Merged) {
        let review = merged.get(&Key::of("oracle.review"));
        if review.and_then(|leaf| leaf.value.as_str()) != Some("rp") {
            return;
        }
        let under = Key::of("oracle.rp");
        let schema = repo_prompt_schema();
        for leaf in merged.under(&under) {
            let parts = leaf.key.parts();
            let value = parts[under.parts().len()..]
                .iter()
                .rev()
                .fold(leaf.value.clone(), |value, part| {
                    Value::Table([((*part).to_owned(), value)].into_iter().collect())
                });
            let findings = check(&schema, &under, &value);
            self.report(findings, leaf.place.origin.layer, |_| leaf.place.clone());
        }
    }
}

/// The bundled settings and profiles. A test checks them, so that no run has to.
/// Whether a seat is meant for a person (`none`), or a flag gives a command in place of a harness: for the driver any
/// word, for the peer only what cannot be a name, so that a slip is told.
fn is_command(leaf: &Leaf, name: &str) -> bool {
    let is_driver = leaf.key.parts() == ["pair", "driver"];
    let is_flag = leaf.place.origin.layer == Layer::Flag;
    (is_driver && name == "none") || (is_flag && (is_driver || name.contains([' ', '/'])))
}

fn bundled() -> Vec<Leaf> {
    let profiles = bundled_profiles().map(|name| {
        let text = bundled_profile_text(name).unwrap_or_default();
        (
            format!("assets/harness/{name}.toml"),
            Key::new(["harness", name]),
            text,
        )
    });
    std::iter::once((BUNDLED_FILE.to_owned(), Key::default(), BUNDLED))
        .chain(profiles)
        .flat_map(|(file, under, text)| {
            let table: toml::Table =
                toml::from_str(text).expect("what is bundled parses: a test reads all of it");
            let place = at(&Origin::new(Layer::Bundled, file), None, "");
            leaves(&under, &table, &|_| place.clone())
        })
        .collect()
}

/// What a repository may set, within the bounds of 0.3.
fn is_open_to_repository(key: &Key) -> bool {
    is_route(key) || matches!(key.parts()[..], ["oracle", "review" | "denylist"])
}

fn is_route(key: &Key) -> bool {
    matches!(key.parts()[..], ["roles", _, "runner"])
}

/// The values of a table, depth first, in the order of the file.
fn leaves(under: &Key, table: &toml::Table, place: &impl Fn(&Key) -> Place) -> Vec<Leaf> {
    let mut all = Vec::new();
    for (name, value) in table {
        let key = under.join(name);
        match value {
            Value::Table(inner) if !inner.is_empty() => all.extend(leaves(&key, inner, place)),
            _ => all.push(Leaf {
                place: place(&key),
                key,
                value: value.clone(),
            }),
        }
    }
    all
}

/// Where in the text the last part of a key stands.
fn offset(table: &DeTable<'_>, parts: &[&str]) -> Option<usize> {
    let (first, rest) = parts.split_first()?;
    let (name, value) = table.iter().find(|(name, _)| name.get_ref() == first)?;
    let here = name.span().start;
    match value.get_ref().as_table() {
        Some(inner) if !rest.is_empty() => offset(inner, rest).or(Some(here)),
        _ => Some(here),
    }
}

fn at(origin: &Origin, offset: Option<usize>, text: &str) -> Place {
    let (line, column) = match offset {
        Some(offset) => {
            let before = text.get(..offset).unwrap_or(text);
            let line = before.rsplit('\n').next().unwrap_or_default();
            (before.matches('\n').count() + 1, line.chars().count() + 1)
        }
        None => (0, 0),
    };
    Place {
        origin: origin.clone(),
        line,
        column,
    }
}

/// The parser's words without the text it stumbled over.
fn parse_message(error: &toml::de::Error) -> String {
    let message = error.message();
    let plain = !message.chars().any(char::is_control) && message.len() <= 200;
    match plain {
        true => format!("not TOML: {message}"),
        false => "not TOML".to_owned(),
    }
}

/// The name every profile starts from.
pub(super) fn base_of(name: &str) -> &str {
    match bundled_profiles().any(|bundled| bundled == name) {
        true => name,
        false => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(repository: Option<&str>, machine: Option<&str>) -> Layers {
        let file = |path: &str, text: &str| LayerFile {
            path: path.into(),
            text: Ok(Some(text.to_owned())),
        };
        Layers {
            flags: Vec::new(),
            repository: repository.map(|text| file("/repo/.codriver/config.toml", text)),
            machine: machine.map(|text| file("/home/me/config.toml", text)),
        }
    }

    fn faults(repository: Option<&str>, machine: Option<&str>) -> Vec<String> {
        match load(&layers(repository, machine)) {
            Ok(_) => Vec::new(),
            Err(Faults(faults)) => faults.iter().map(ToString::to_string).collect(),
        }
    }

    fn codes(settings: &Settings) -> Vec<&'static str> {
        settings.diagnostics.iter().map(|d| d.code).collect()
    }

    fn shown<'s>(settings: &'s Settings, key: &str) -> Option<(&'s Value, Layer)> {
        let entry = settings.get(&Key::of(key))?;
        Some((&entry.value, entry.origin.layer))
    }

    #[test]
    fn with_no_file_at_all_the_bundled_values_stand() -> Result<(), Faults> {
        let settings = load(&Layers::default())?;
        assert_eq!(settings.timeout.value, crate::limits::TURN_TIMEOUT);
        assert_eq!(settings.quiet.value, crate::limits::QUIET);
        assert_eq!(settings.tail_lines.value, crate::limits::TAIL_LINES);
        assert_eq!(settings.scrollback.value, crate::limits::SCROLLBACK);
        assert_eq!(settings.peer.value, "codex");
        assert_eq!(settings.peer.origin, super::super::bundled::origin());
        assert_eq!(settings.diagnostics, []);
        Ok(())
    }

    #[test]
    fn a_missing_file_is_no_fault() -> Result<(), Faults> {
        let missing = LayerFile {
            path: "/nowhere".into(),
            text: Ok(None),
        };
        let layers = Layers {
            machine: Some(missing.clone()),
            repository: Some(missing),
            flags: Vec::new(),
        };
        load(&layers).map(|_| ())
    }

    #[test]
    fn an_unreadable_file_is_a_fault_and_no_default_takes_its_place() {
        let layers = Layers {
            machine: Some(LayerFile {
                path: "/home/me/config.toml".into(),
                text: Err("permission denied".to_owned()),
            }),
            ..Layers::default()
        };
        let shown = load(&layers).err().map(|faults| faults.to_string());
        assert_eq!(
            shown.as_deref(),
            Some("/home/me/config.toml (machine settings): cannot be read: permission denied")
        );
    }

    #[test]
    fn what_is_no_toml_is_told_with_line_and_column_but_not_quoted() {
        let found = faults(None, Some("[pair]\npeer = SECRET-TOKEN\n"));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("/home/me/config.toml:2:8 (machine settings): not TOML: "),
            "{}",
            found[0]
        );
        assert!(!found[0].contains("SECRET"), "{}", found[0]);
    }

    #[test]
    fn a_key_written_twice_is_no_toml() {
        let found = faults(None, Some("[pair]\npeer = 'codex'\npeer = 'claude'\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("config.toml:3:1"), "{}", found[0]);
    }

    #[test]
    fn a_fault_names_file_layer_line_and_key() {
        assert_eq!(
            faults(
                None,
                Some("[defaults]\nquiet_ms = 'SECRET'\n\n[piar]\npeer = 1\n")
            ),
            [
                "/home/me/config.toml:2:1 (machine settings): `defaults.quiet_ms` must be a whole number, not a string",
                "/home/me/config.toml:4:2 (machine settings): unknown key `piar`; did you mean `pair`?",
            ]
        );
    }

    #[test]
    fn a_higher_layer_wins_key_by_key() -> Result<(), Faults> {
        let mut layers = layers(
            Some("[oracle]\nreview = 'rp'"),
            Some("[oracle]\nreview = 'host'\n[pair]\npeer = 'claude'\ndriver = 'codex'\n"),
        );
        layers.flags.push(FlagValue {
            flag: "--peer",
            key: "pair.peer",
            value: "opencode".to_owned(),
        });
        let settings = load(&layers)?;
        assert_eq!(settings.peer.value, "opencode");
        assert_eq!(settings.peer.origin, Origin::new(Layer::Flag, "--peer"));
        assert_eq!(settings.driver.value, "codex");
        assert_eq!(settings.driver.origin.layer, Layer::Machine);
        assert_eq!(settings.require_tag.origin.layer, Layer::Bundled);
        assert_eq!(
            shown(&settings, "oracle.review"),
            Some((&Value::from("rp"), Layer::Repository))
        );
        Ok(())
    }

    #[test]
    fn a_new_harness_starts_from_unknown() -> Result<(), Faults> {
        let settings = load(&layers(
            None,
            Some("[harness.aider]\nidle_regex = '^> $'\n"),
        ))?;
        let unknown = settings.profile("unknown").cloned().unwrap_or_default();
        let aider = settings.profile("aider").cloned().unwrap_or_default();
        assert!(aider.idle_regex.is_match("> "));
        assert!(!aider.idle_regex.is_match("❯"));
        assert_eq!(aider.busy_regex, unknown.busy_regex);
        assert_eq!(aider.reset_command, "");
        assert_eq!(aider.command, ["aider"]);
        assert_eq!(aider.title, "aider");
        Ok(())
    }

    #[test]
    fn a_known_harness_is_changed_key_by_key_down_to_its_environment() -> Result<(), Faults> {
        let bundled = crate::config::bundled_profile("opencode");
        let machine = "[harness.opencode]\nreset_command = '/fresh'\n[harness.opencode.peer_env]\nMINE = '1'\n";
        let settings = load(&layers(None, Some(machine)))?;
        let opencode = settings.profile("opencode").cloned().unwrap_or_default();
        let mut expected = bundled;
        expected.reset_command = "/fresh".to_owned();
        expected.peer_env.insert("MINE".to_owned(), "1".to_owned());
        assert_eq!(opencode, expected);
        Ok(())
    }

    #[test]
    fn every_bundled_profile_comes_out_as_it_went_in() -> Result<(), Faults> {
        let settings = load(&Layers::default())?;
        for name in bundled_profiles() {
            assert_eq!(
                settings.profile(name),
                Some(&crate::config::bundled_profile(name))
            );
        }
        Ok(())
    }

    #[test]
    fn a_repository_is_refused_what_it_may_not_set_without_its_value() {
        let found = faults(
            Some(
                "deny_read = ['/SECRET']\n[pair]\npeer = 'SECRET'\n[oracle.rp]\nurl = 'http://SECRET/'\n[runner.claude]\n[ui]\nmouse = 'SECRET'\n[harness.\"SECRET\\u001b\"]\ncommand = ['SECRET']\n",
            ),
            None,
        );
        let refused = |line: &str, key: &str| {
            format!(
                "/repo/.codriver/config.toml:{line} (repository settings): a repository may not set `{key}`; \
                 set it in the machine file (set XDG_CONFIG_HOME or HOME to have one)"
            )
        };
        assert_eq!(
            found,
            [
                refused("1:1", "deny_read"),
                refused("3:1", "pair.peer"),
                refused("5:1", "oracle.rp.url"),
                refused("6:9", "runner.claude"),
                refused("8:1", "ui.mouse"),
                refused("10:1", r#"harness."SECRET\u{1b}".command"#),
            ]
        );
    }

    #[test]
    fn a_refusal_names_the_machine_file() {
        let found = faults(Some("[oracle.rp]\nurl = 'http://SECRET/'"), Some(""));
        assert_eq!(
            found,
            [
                "/repo/.codriver/config.toml:2:1 (repository settings): a repository may not set `oracle.rp.url`; \
                 set it in `/home/me/config.toml`"
            ]
        );
    }

    #[test]
    fn an_unknown_key_of_a_repository_is_told_as_that() {
        assert_eq!(
            faults(Some("[oracle]\nreveiw = 'rp'"), None),
            [
                "/repo/.codriver/config.toml:2:1 (repository settings): unknown key `oracle.reveiw`; did you mean `oracle.review`?"
            ]
        );
    }

    #[test]
    fn a_repository_route_to_a_runner_is_skipped_and_told_once() -> Result<(), Faults> {
        let settings = load(&layers(
            Some("[roles.auditor]\nrunner = 'claude'"),
            Some("[roles.auditor]\nrunner = 'codex'"),
        ))?;
        assert_eq!(codes(&settings), ["repository-route"]);
        assert!(
            settings.diagnostics[0]
                .what
                .contains("/home/me/config.toml")
        );
        assert_eq!(
            shown(&settings, "roles.auditor.runner"),
            Some((&Value::from("codex"), Layer::Machine))
        );
        Ok(())
    }

    #[test]
    fn a_repository_host_displaces_a_personal_route_and_names_both() -> Result<(), Faults> {
        let settings = load(&layers(
            Some("[roles.auditor]\nrunner = 'host'\n[roles.implementer]\nrunner = 'host'"),
            Some("[roles.auditor]\nrunner = 'codex'\n[roles.implementer]\nrunner = 'host'"),
        ))?;
        assert_eq!(codes(&settings), ["repository-host"]);
        let what = &settings.diagnostics[0].what;
        assert!(what.contains("/repo/.codriver/config.toml:2:1"), "{what}");
        assert!(what.contains("/home/me/config.toml:2:1"), "{what}");
        assert_eq!(
            shown(&settings, "roles.auditor.runner"),
            Some((&Value::from("host"), Layer::Repository))
        );
        Ok(())
    }

    #[test]
    fn a_route_to_nothing_there_is_is_a_fault_in_any_layer() {
        for (repository, machine) in [
            (Some("[roles.auditor]\nrunner = 'SECRET'"), None),
            (None, Some("[roles.auditor]\nrunner = 'SECRET'")),
        ] {
            let found = faults(repository, machine);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].ends_with(
                    "`roles.auditor.runner` must be one of host, claude, opencode, codex, gemini"
                ),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_route_for_a_role_outside_the_roster_is_set_aside() -> Result<(), Faults> {
        let machine = "[roles.poet]\nrunner = 'codex'\n[roles.auditor]\nrunner = 'codex'\n";
        let settings = load(&layers(None, Some(machine)))?;
        assert_eq!(codes(&settings), ["unknown-role"]);
        assert_eq!(shown(&settings, "roles.poet.runner"), None);
        assert_eq!(
            shown(&settings, "roles.auditor.runner"),
            Some((&Value::from("codex"), Layer::Machine))
        );
        Ok(())
    }

    #[test]
    fn a_denylist_only_grows() -> Result<(), Faults> {
        let settings = load(&layers(
            Some("[oracle]\ndenylist = ['b', 'c']"),
            Some("[oracle]\ndenylist = ['a', 'b']"),
        ))?;
        let expected = Value::Array(["a", "b", "c"].map(Value::from).to_vec());
        assert_eq!(
            shown(&settings, "oracle.denylist"),
            Some((&expected, Layer::Repository))
        );
        Ok(())
    }

    #[test]
    fn a_mistake_under_oracle_rp_stops_only_who_opted_in() {
        let rp = "[oracle.rp]\nurll = 1\ntool = 2\n";
        assert_eq!(faults(None, Some(rp)), Vec::<String>::new());
        assert_eq!(
            faults(Some("[oracle]\nreview = 'rp'"), Some(rp)),
            [
                "/home/me/config.toml:3:1 (machine settings): `oracle.rp.tool` must be a string, not a whole number",
                "/home/me/config.toml:2:1 (machine settings): unknown key `oracle.rp.urll`; did you mean `oracle.rp.url`?",
            ]
        );
        assert_eq!(
            faults(None, Some("[oracle]\nreview = 'rp'\nrp = 3")),
            [
                "/home/me/config.toml:3:1 (machine settings): `oracle.rp` must be a table, not a whole number"
            ]
        );
    }

    #[test]
    fn a_fallback_must_be_enabled_and_is_never_the_host() {
        let not_enabled = faults(None, Some("[runner]\nfallback_host = 'claude'"));
        assert!(
            not_enabled[0].contains("`runner.fallback_host` is no runner enabled"),
            "{not_enabled:?}"
        );
        let host = faults(
            None,
            Some("[runner]\nfallback_host = 'host'\n[runner.claude]"),
        );
        assert!(
            host[0].contains("must be one of claude, opencode, codex, gemini"),
            "{host:?}"
        );
        let enabled = "[runner]\nfallback_host = 'claude'\n[runner.claude]\n";
        assert_eq!(faults(None, Some(enabled)), Vec::<String>::new());
    }

    #[test]
    fn a_harness_nobody_knows_is_a_fault_of_the_layer_that_names_it() {
        assert_eq!(
            faults(None, Some("[pair]\npeer = 'codexx'")),
            [
                "/home/me/config.toml:2:1 (machine settings): `pair.peer` names no harness; known are claude, codex, \
                 opencode, gemini, cursor-agent, demo, unknown; did you mean `codex`?"
            ]
        );
        let own = "[pair]\npeer = 'aider'\n[harness.aider]\n";
        assert_eq!(faults(None, Some(own)), Vec::<String>::new());
    }

    #[test]
    fn the_bundled_settings_hold_every_key_in_words() {
        fn keys(schema: &serde_json::Value, all: &mut Vec<String>) {
            if let Some(properties) = schema.get("properties").and_then(|p| p.as_object()) {
                for (name, schema) in properties {
                    all.push(name.clone());
                    keys(schema, all);
                }
            }
            if let Some(inner) = schema.get("additionalProperties") {
                keys(inner, all);
            }
        }
        let mut all = Vec::new();
        keys(&schema(), &mut all);
        let text = BUNDLED;
        let is_there = |name: &String| {
            [format!("{name} = "), format!("[{name}"), format!(".{name}")]
                .iter()
                .any(|form| text.contains(form))
        };
        let missing: Vec<_> = all.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn what_is_bundled_has_no_fault() -> Result<(), toml::de::Error> {
        for name in bundled_profiles() {
            let text = bundled_profile_text(name).unwrap_or_default();
            let profile: toml::Table = toml::from_str(text)?;
            let whole = ["harness", name]
                .iter()
                .rev()
                .fold(Value::Table(profile), |inner, name| {
                    Value::Table([((*name).to_owned(), inner)].into_iter().collect())
                });
            let Findings { unknown, problems } = check(&schema(), &Key::default(), &whole);
            assert_eq!((unknown, problems), (Vec::new(), Vec::new()), "{name}");
        }
        assert_eq!(faults(None, Some(BUNDLED)), Vec::<String>::new());
        Ok(())
    }

    #[test]
    fn every_commented_key_of_the_bundled_settings_is_a_known_one() {
        let text: String = BUNDLED
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest)
                    if rest.starts_with('[')
                        || rest
                            .split_once(" = ")
                            .is_some_and(|(key, _)| !key.contains(' ')) =>
                {
                    rest
                }
                _ => line,
            })
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(faults(None, Some(&text)), Vec::<String>::new());
    }
}
