//! The settings: read from where they lie, and `config show`, `path`, `check` and `schema` (systems.md 0.2, interface.md 4).

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{ConfigCommand, Exit, Options};
use crate::config::{
    ConfigError, Diagnostic, Entry, Faults, Folders, Key, Layer, LayerFile, Layers, Routed,
    Settings, bundled_profile_text, bundled_profiles, bundled_text, load, schema,
};
use crate::plain;
use crate::recording::session::repo_key;
use crate::world::{environment, settings_file, tree};

/// Where a call works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workplace {
    /// The folder, absolute.
    pub folder: PathBuf,
    /// The root of the repository it lies in.
    pub root: Option<PathBuf>,
    /// The folders of this person.
    pub folders: Folders,
}

/// Why there is no folder to work in.
#[derive(Debug, thiserror::Error)]
pub enum WorkplaceError {
    /// The folder of `-C` or the present one cannot be used.
    #[error("cannot work in `{}`", plain::display(&.0.to_string_lossy(), crate::limits::QUOTE_BYTES))]
    Folder(PathBuf, #[source] std::io::Error),
}

impl Workplace {
    /// Finds it: the present folder. That of `-C` becomes it first, so that relative names are meant from there.
    pub fn find(directory: Option<&Path>) -> Result<Self, WorkplaceError> {
        let wanted = directory.unwrap_or(Path::new("."));
        let folder = environment::enter(wanted)
            .map_err(|error| WorkplaceError::Folder(wanted.to_path_buf(), error))?;
        Ok(Self {
            root: settings_file::repository_root(&folder),
            folder,
            folders: Folders::of(environment::variable),
        })
    }

    /// What is worked in: the repository's root, or the folder where there is none.
    pub fn worktree(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.folder)
    }

    /// The key of the repository, one for all its worktrees (interface.md 5).
    pub fn repository_key(&self) -> String {
        repo_key(&tree::repository_of(self.worktree()))
    }

    /// The repository's settings file.
    pub fn repository_file(&self) -> Option<PathBuf> {
        self.root
            .as_ref()
            .map(|root| root.join(".codriver/config.toml"))
    }
}

/// Reads the files of all layers; nothing is judged yet.
pub fn read(place: &Workplace, options: &Options) -> Layers {
    let file = |path: PathBuf| LayerFile {
        text: settings_file::read(&path).map_err(|error| error.to_string()),
        path,
    };
    let machine = match &options.config {
        // A file that was asked for by name must be there.
        Some(path) => {
            let mut named = file(path.clone());
            if named.text == Ok(None) {
                named.text = Err("there is no such file".to_owned());
            }
            Some(named)
        }
        None => place.folders.machine_file().map(file),
    };
    Layers {
        flags: options.flags.clone(),
        repository: place.repository_file().map(file),
        machine,
    }
}

/// The settings in force for this call.
pub fn settings(place: &Workplace, options: &Options) -> Result<Settings, Faults> {
    load(&read(place, options))
}

/// What a command prints on standard output, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The text, its last line ended.
    pub text: String,
    /// The exit.
    pub exit: Exit,
}

impl Printed {
    /// A text of a command that did its job.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exit: Exit::Done,
        }
    }

    /// A value of a command that did its job.
    pub fn json(value: &Value) -> Self {
        Self::done(format!("{value:#}\n"))
    }
}

/// Runs `config`.
pub fn run(
    command: ConfigCommand,
    place: &Workplace,
    options: &Options,
) -> Result<Printed, Faults> {
    match command {
        ConfigCommand::Show { bundled: true } => Ok(bundled(options.json)),
        ConfigCommand::Show { bundled: false } => {
            let settings = settings(place, options)?;
            Ok(show(&settings, options.json))
        }
        ConfigCommand::Path => Ok(paths(&read(place, options), options.json)),
        ConfigCommand::Check => Ok(check(&read(place, options), options.json)),
        ConfigCommand::Schema => Ok(Printed::json(&schema())),
    }
}

/// The bundled layer as it is: the settings, then each profile.
fn bundled(json: bool) -> Printed {
    let profiles = bundled_profiles().map(|name| {
        let text = bundled_profile_text(name).unwrap_or_default();
        (format!("assets/harness/{name}.toml"), text)
    });
    let files = std::iter::once(("assets/config.toml".to_owned(), bundled_text())).chain(profiles);
    if json {
        let files: Vec<Value> = files
            .map(|(file, text)| json!({ "file": file, "text": text }))
            .collect();
        return Printed::json(&json!({ "schema": "codriver.config/1", "files": files }));
    }
    let texts: Vec<String> = files
        .map(|(file, text)| format!("# ---- {file}\n\n{text}"))
        .collect();
    Printed::done(texts.join("\n"))
}

/// Every value with the layer and file it came from, one a line, in a form TOML reads.
fn show(settings: &Settings, json: bool) -> Printed {
    if json {
        let entries: Vec<Value> = settings.entries().iter().map(entry_json).collect();
        return Printed::json(&json!({
            "schema": "codriver.config/1",
            "settings": entries,
            "routes": settings.routes.roles().iter().map(route_json).collect::<Vec<_>>(),
            "diagnostics": diagnostics_json(&settings.diagnostics),
        }));
    }
    let mut text = String::new();
    for entry in settings.entries() {
        let value = match is_private(entry) {
            true => "\"…\"".to_owned(),
            false => inline(&entry.value),
        };
        let note = if is_private(entry) { ", not shown" } else { "" };
        let line = format!(
            "{} = {value}  # {}: {}{note}",
            entry.key,
            entry.origin.layer,
            entry.origin.shown()
        );
        text.push_str(&line);
        text.push('\n');
    }
    text.push('\n');
    for routed in settings.routes.roles() {
        let by = match &routed.by {
            Some((key, origin)) => format!("{key}, {}: {}", origin.layer, origin.shown()),
            None => "nothing set".to_owned(),
        };
        text.push_str(&format!(
            "# route of {}: {} ({by})\n",
            routed.role, routed.route
        ));
    }
    Printed::done(text)
}

/// The route of a role and what decided it.
fn route_json(routed: &Routed) -> Value {
    json!({
        "role": routed.role.name(),
        "route": routed.route.name(),
        "key": routed.by.as_ref().map(|(key, _)| key.to_string()),
        "layer": routed.by.as_ref().map(|(_, origin)| origin.layer.as_str()),
        "file": routed.by.as_ref().map(|(_, origin)| origin.file.to_string_lossy()),
    })
}

/// A value as TOML on one line, with everything that cannot be seen escaped.
fn inline(value: &toml::Value) -> String {
    let all = |parts: Vec<String>| parts.join(", ");
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Array(items) => format!("[{}]", all(items.iter().map(inline).collect())),
        toml::Value::Table(table) if table.is_empty() => "{}".to_owned(),
        toml::Value::Table(table) => {
            let pairs = table
                .iter()
                .map(|(name, value)| format!("{} = {}", Key::new([name]), inline(value)));
            format!("{{ {} }}", all(pairs.collect()))
        }
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if plain::block(c.encode_utf8(&mut [0; 4])).starts_with(c) => quoted.push(c),
            // Writing to a string cannot fail.
            _ => drop(write!(quoted, "\\U{:08X}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a value may be a credential or the address of a service: those are never shown (0.4).
fn is_private(entry: &Entry) -> bool {
    entry.origin.layer != Layer::Bundled
        && matches!(
            entry.key.parts()[..],
            ["harness", _, "env" | "peer_env", ..]
                | ["oracle", "rp", ..]
                | ["runner", "opencode", "server"]
        )
}

fn entry_json(entry: &Entry) -> Value {
    let mut shown = json!({
        "key": entry.key.to_string(),
        "layer": entry.origin.layer.as_str(),
        "file": entry.origin.file.to_string_lossy(),
    });
    match is_private(entry) {
        true => shown["hidden"] = Value::Bool(true),
        false => shown["value"] = value_json(&entry.value),
    }
    shown
}

fn value_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(truth) => Value::from(*truth),
        toml::Value::Datetime(time) => Value::from(time.to_string()),
        toml::Value::Array(items) => items.iter().map(value_json).collect(),
        toml::Value::Table(table) => table
            .iter()
            .map(|(name, value)| (name.clone(), value_json(value)))
            .collect(),
    }
}

/// Where the files are or would be.
fn paths(layers: &Layers, json: bool) -> Printed {
    let files = files_of(layers);
    if json {
        return Printed::json(&json!({
            "schema": "codriver.config/1",
            "files": files_json(&files),
        }));
    }
    let text: String = files
        .iter()
        .map(|(layer, file)| {
            let path = file.map_or("none: set XDG_CONFIG_HOME or HOME".to_owned(), |file| {
                plain::block(&file.path.to_string_lossy()).replace(['\n', '\t'], " ")
            });
            let state = match file {
                Some(file) => format!(" ({})", state_of(file)),
                None => String::new(),
            };
            format!("{:<11} {path}{state}\n", layer.as_str())
        })
        .collect();
    Printed::done(text)
}

/// The files of the layers that can have one here; outside a repository there is none for it.
pub(super) fn files_of(layers: &Layers) -> Vec<(Layer, Option<&LayerFile>)> {
    let repository = layers
        .repository
        .as_ref()
        .map(|file| (Layer::Repository, Some(file)));
    repository
        .into_iter()
        .chain([(Layer::Machine, layers.machine.as_ref())])
        .collect()
}

pub(super) fn state_of(file: &LayerFile) -> &'static str {
    match &file.text {
        Ok(Some(_)) => "read",
        Ok(None) => "not there",
        Err(_) => "unreadable",
    }
}

pub(super) fn files_json(files: &[(Layer, Option<&LayerFile>)]) -> Value {
    files
        .iter()
        .map(|(layer, file)| {
            json!({
                "layer": layer.as_str(),
                "file": file.map(|file| file.path.to_string_lossy()),
                "state": file.map(state_of),
            })
        })
        .collect()
}

/// All faults of all layers.
fn check(layers: &Layers, json: bool) -> Printed {
    let mut keys = None;
    let (faults, diagnostics) = match load(layers) {
        Ok(settings) => {
            keys = super::console::bindings(&settings).err();
            (Vec::new(), settings.diagnostics)
        }
        Err(Faults(faults)) => (faults, Vec::new()),
    };
    let exit = match faults.is_empty() && keys.is_none() {
        true => Exit::Done,
        false => Exit::Usage,
    };
    if json {
        let text = Printed::json(&json!({
            "schema": "codriver.config/1",
            "files": files_json(&files_of(layers)),
            "faults": faults_json(&faults).as_array().cloned().unwrap_or_default().into_iter()
                .chain(keys.iter().map(|fault| json!({ "code": "keys", "message": fault.to_string() })))
                .collect::<Vec<_>>(),
            "diagnostics": diagnostics_json(&diagnostics),
        }))
        .text;
        return Printed { text, exit };
    }
    let mut text = String::new();
    for fault in &faults {
        let _ = writeln!(text, "fault: {fault}");
    }
    if let Some(fault) = &keys {
        let _ = writeln!(text, "fault: {fault}");
    }
    for diagnostic in &diagnostics {
        let _ = writeln!(text, "note: {diagnostic}");
    }
    if faults.is_empty() && keys.is_none() {
        let read: Vec<String> = files_of(layers)
            .into_iter()
            .filter_map(|(layer, file)| file.map(|file| (layer, file)))
            .filter(|(_, file)| matches!(file.text, Ok(Some(_))))
            .map(|(layer, _)| layer.to_string())
            .collect();
        let what = match read.is_empty() {
            true => "no configuration file; the bundled settings stand".to_owned(),
            false => format!("no fault in the settings ({})", read.join(", ")),
        };
        let _ = writeln!(text, "{what}");
    }
    Printed { text, exit }
}

pub(super) fn faults_json(faults: &[ConfigError]) -> Value {
    faults
        .iter()
        .map(|fault| {
            let place = fault.place();
            json!({
                "code": fault.code(),
                "message": fault.to_string(),
                "layer": place.origin.layer.as_str(),
                "file": place.origin.file.to_string_lossy(),
                "line": (place.line > 0).then_some(place.line),
                "column": (place.line > 0).then_some(place.column),
                "key": fault.key().map(Key::to_string),
            })
        })
        .collect()
}

pub(super) fn diagnostics_json(diagnostics: &[Diagnostic]) -> Value {
    diagnostics
        .iter()
        .map(|diagnostic| json!({ "code": diagnostic.code, "message": diagnostic.what }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(machine: &str) -> Layers {
        Layers {
            machine: Some(LayerFile {
                path: "/m.toml".into(),
                text: Ok(Some(machine.to_owned())),
            }),
            ..Layers::default()
        }
    }

    #[test]
    fn what_is_shown_is_toml_again() -> Result<(), Box<dyn std::error::Error>> {
        let machine = "[harness.x]\nidle_regex = 'a\"\\\\b'\ncommand = ['x', 'a  b']\nallows = \"one\\ntwo\\u001b\\u202e\"\n[runner.codex]\n";
        let settings = load(&layers(machine))?;
        let text = show(&settings, false).text;
        let table: toml::Table = toml::from_str(&text)?;
        for entry in settings.entries() {
            let mut value = &toml::Value::Table(table.clone());
            for part in entry.key.parts() {
                value = value.get(part).ok_or(part)?;
            }
            assert_eq!(value, &entry.value, "{}", entry.key);
        }
        assert!(
            text.contains("harness.x.command = [\"x\", \"a  b\"]  # machine: /m.toml\n"),
            "{text}"
        );
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'));
        Ok(())
    }

    #[test]
    fn variables_and_addresses_of_a_person_are_not_shown() -> Result<(), Faults> {
        let machine = "[harness.codex.env]\nKEY = 'SECRET'\n[oracle.rp]\nurl = 'http://SECRET'\n[runner.opencode]\nserver = 'http://localhost/SECRET'\n";
        let settings = load(&layers(machine))?;
        for json in [false, true] {
            let text = show(&settings, json).text;
            assert!(
                text.contains("KEY") && text.contains("oracle.rp.url"),
                "{text}"
            );
            assert!(!text.contains("SECRET"), "{text}");
        }
        Ok(())
    }

    #[test]
    fn the_layer_that_decided_each_route_is_told() -> Result<(), Faults> {
        let machine =
            "[oracle]\nreview = 'rp'\n[runner.codex]\n[roles.auditor]\nrunner = 'codex'\n";
        let settings = load(&layers(machine))?;
        let text = show(&settings, false).text;
        let file = settings.routes.roles()[1]
            .by
            .as_ref()
            .map(|(_, origin)| origin.shown());
        let file = file.unwrap_or_default();
        for line in [
            "# route of peer: host (nothing set)".to_owned(),
            format!("# route of ruthless-reviewer: rp (oracle.review, machine: {file})"),
            format!("# route of auditor: codex (roles.auditor.runner, machine: {file})"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let json: Value = serde_json::from_str(&show(&settings, true).text).unwrap_or_default();
        assert_eq!(json["routes"][3]["role"], "auditor");
        assert_eq!(json["routes"][3]["layer"], "machine");
        assert_eq!(json["routes"][4]["layer"], Value::Null);
        Ok(())
    }

    #[test]
    fn a_check_lists_every_fault_and_ends_as_wrong_configuration() {
        let printed = check(&layers("a = 1\nb = 2\n"), false);
        assert_eq!(printed.exit, Exit::Usage);
        assert_eq!(printed.text.lines().count(), 2);
        assert_eq!(check(&layers(""), false).exit, Exit::Done);
    }

    #[test]
    fn the_bundled_layer_is_printed_whole() {
        let text = bundled(false).text;
        assert!(text.contains(bundled_text()));
        for name in bundled_profiles() {
            assert!(text.contains(&format!("# ---- assets/harness/{name}.toml\n")));
        }
    }
}
