//! The settings in force, each with the layer and file it came from.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use toml::{Table, Value};

use super::document::{LockChoice, RequireTag};
use super::fault::{ConfigError, Diagnostic, Place, Problem};
use super::key::Key;
use super::layers::base_of;
use super::origin::{Origin, Sourced};
use super::profile::Profile;
use super::routes::Routes;
use super::value::Millis;

/// One value in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// The value.
    pub value: Value,
    /// Who set it.
    pub origin: Origin,
}

/// The settings in force.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Harness of the driver.
    pub driver: Sourced<String>,
    /// Harness of the peer.
    pub peer: Sourced<String>,
    /// When a reply must carry the round's tag to count.
    pub require_tag: Sourced<RequireTag>,
    /// Whether no peer is started that nothing but its own switches keeps from writing.
    pub require_confinement: Sourced<bool>,
    /// What keeps the peer from writing.
    pub lock: Sourced<LockChoice>,
    /// Folders and files a confined peer may not read.
    pub deny_read: Sourced<Vec<String>>,
    /// Longest wait for the end of a turn.
    pub timeout: Sourced<Duration>,
    /// How long a screen must stand still, for a profile that does not say it.
    pub quiet: Sourced<Duration>,
    /// How many lines the state rules look at, for a profile that does not say it.
    pub tail_lines: Sourced<usize>,
    /// Rows of scrollback kept per pane.
    pub scrollback: Sourced<usize>,
    /// Days after which a session is let go.
    pub keep_days: Sourced<u32>,
    /// Megabytes of all sessions together from which on the oldest ones are.
    pub keep_mb: Sourced<u32>,
    /// Whether what a person types is recorded.
    pub record_input: Sourced<bool>,
    /// Where each role's work goes, and what the ways there need.
    pub routes: Routes,
    /// What was set aside or overruled.
    pub diagnostics: Vec<Diagnostic>,
    entries: Vec<Entry>,
    profiles: BTreeMap<String, Profile>,
}

impl Settings {
    pub(super) fn from_entries(
        entries: Vec<Entry>,
        diagnostics: Vec<Diagnostic>,
    ) -> Result<Self, ConfigError> {
        let millis = |key| sourced::<Millis>(&entries, key).map(|s| s.map(Duration::from));
        Ok(Self {
            driver: sourced(&entries, "pair.driver")?,
            peer: sourced(&entries, "pair.peer")?,
            require_tag: sourced(&entries, "pair.require_tag")?,
            require_confinement: sourced(&entries, "pair.require_confinement")?,
            lock: sourced(&entries, "pair.lock")?,
            deny_read: sourced(&entries, "deny_read")?,
            timeout: millis("defaults.timeout_ms")?,
            quiet: millis("defaults.quiet_ms")?,
            tail_lines: sourced(&entries, "defaults.tail_lines")?,
            scrollback: sourced(&entries, "ui.scrollback")?,
            keep_days: sourced(&entries, "sessions.keep_days")?,
            keep_mb: sourced(&entries, "sessions.keep_mb")?,
            record_input: sourced(&entries, "record_input")?,
            profiles: profiles(&entries)?,
            routes: Routes::of(&entries),
            diagnostics,
            entries,
        })
    }

    /// Every value in force, in the order of the bundled settings, then as they were met.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The value in force of one key.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| &entry.key == key)
    }

    /// The profile of a harness.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// All profiles by name.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// How long the screen of this harness must stand still.
    pub fn quiet_of(&self, profile: &Profile) -> Duration {
        profile.quiet_ms.map_or(self.quiet.value, Duration::from)
    }

    /// How many lines the state rules of this harness look at.
    pub fn tail_lines_of(&self, profile: &Profile) -> usize {
        profile
            .tail_lines
            .map_or(self.tail_lines.value, usize::from)
    }
}

/// Merges each harness key by key onto the profile it starts from, and reads it.
fn profiles(entries: &[Entry]) -> Result<BTreeMap<String, Profile>, ConfigError> {
    let names: BTreeSet<&str> = entries.iter().filter_map(harness_of).collect();
    names
        .into_iter()
        .map(|name| {
            let mut table = Table::new();
            let base = base_of(name);
            let starts = entries
                .iter()
                .filter(|entry| harness_of(entry) == Some(base));
            let own = entries
                .iter()
                .filter(|entry| harness_of(entry) == Some(name));
            for entry in starts.chain(own) {
                put(&mut table, &entry.key.parts()[2..], entry.value.clone());
            }
            // The words to a person are those of nobody.
            if base != name && !has_own_title(entries, name) {
                table.insert("title".to_owned(), Value::String(name.to_owned()));
            }
            let mut profile: Profile = Value::Table(table).try_into().map_err(|_| {
                let last = entries
                    .iter()
                    .rfind(|entry| harness_of(entry) == Some(name));
                unfit(last, &Key::new(["harness", name]))
            })?;
            profile.name = name.to_owned();
            if profile.command.is_empty() && base != name {
                profile.command = vec![name.to_owned()];
            }
            Ok((name.to_owned(), profile))
        })
        .collect()
}

fn has_own_title(entries: &[Entry], name: &str) -> bool {
    entries
        .iter()
        .any(|entry| entry.key == Key::new(["harness", name, "title"]))
}

fn harness_of(entry: &Entry) -> Option<&str> {
    match entry.key.parts()[..] {
        ["harness", name, ..] => Some(name),
        _ => None,
    }
}

/// Puts a value where the names lead, making the tables on the way.
fn put(table: &mut Table, parts: &[&str], value: Value) {
    match parts {
        [] => {}
        [name] => {
            table.insert((*name).to_owned(), value);
        }
        [name, rest @ ..] => {
            let inner = table
                .entry((*name).to_owned())
                .or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

fn sourced<T: for<'de> Deserialize<'de>>(
    entries: &[Entry],
    key: &str,
) -> Result<Sourced<T>, ConfigError> {
    let key = Key::of(key);
    let entry = entries.iter().find(|entry| entry.key == key);
    let value = entry.and_then(|entry| entry.value.clone().try_into().ok());
    match (entry, value) {
        (Some(entry), Some(value)) => Ok(Sourced {
            value,
            origin: entry.origin.clone(),
        }),
        _ => Err(unfit(entry, &key)),
    }
}

/// A value that passed the check and still could not be read: a gap in the check, told rather than ignored.
fn unfit(entry: Option<&Entry>, key: &Key) -> ConfigError {
    let origin = entry.map_or_else(super::bundled::origin, |entry| entry.origin.clone());
    ConfigError::Value {
        place: Place {
            origin,
            line: 0,
            column: 0,
        },
        key: key.clone(),
        problem: Problem::Form("no value this version can read".to_owned()),
    }
}
