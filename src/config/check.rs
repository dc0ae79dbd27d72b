//! Holds a layer's values against the schema: every fault of a file at once, none of them repeating a value.
//!
//! It knows the words of JSON schema that our own schema uses, and the `format` names of this product.

use regex::Regex;
use serde_json::Value as Schema;
use toml::Value;

use super::fault::Problem;
use super::key::Key;
use super::pattern::Pattern;
use super::value::parse_size;
use crate::limits;
use crate::rp::Address;
use crate::runner::Model;

/// What one walk found, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Keys the schema does not have, each with a known one that looks like it.
    pub unknown: Vec<(Key, Option<Key>)>,
    /// Known keys with values they cannot have.
    pub problems: Vec<(Key, Problem)>,
}

/// Checks `value`, which stands at `key`, against `schema`.
pub(super) fn check(schema: &Schema, key: &Key, value: &Value) -> Findings {
    let mut walk = Walk {
        root: schema,
        findings: Findings::default(),
    };
    walk.value(schema, key, value);
    walk.findings
}

struct Walk<'s> {
    root: &'s Schema,
    findings: Findings,
}

impl Walk<'_> {
    fn value(&mut self, schema: &Schema, key: &Key, value: &Value) {
        if let Some(problem) = shape(schema, value) {
            return self.findings.problems.push((key.clone(), problem));
        }
        match value {
            Value::Table(table) => self.table(schema, key, table),
            Value::Array(items) => {
                if let Some(schema) = alternative(schema, value).get("items") {
                    for item in items {
                        self.value(schema, key, item);
                    }
                }
            }
            _ => {}
        }
    }

    fn table(&mut self, schema: &Schema, key: &Key, table: &toml::Table) {
        let names = schema
            .pointer("/propertyNames/pattern")
            .and_then(Schema::as_str);
        let choices = schema.get("propertyNames").and_then(choices);
        for (name, value) in table {
            let within = key;
            let key = key.join(name);
            if let Some(known) = schema.get("properties").and_then(|known| known.get(name)) {
                self.value(known, &key, value);
                continue;
            }
            match schema.get("additionalProperties") {
                Some(_) if choices.as_ref().is_some_and(|all| !all.contains(name)) => {
                    let near = nearest(name, choices.iter().flatten().map(String::as_str));
                    let suggestion = near.map(|near| within.join(near));
                    self.findings.unknown.push((key, suggestion));
                }
                Some(Schema::Bool(false)) => {
                    let suggestion = self.suggest(schema, &key, name);
                    self.findings.unknown.push((key, suggestion));
                }
                Some(_) if names.is_some_and(|names| !is_full_match(names, name)) => {
                    let problem = Problem::Form("no name that can stand there".to_owned());
                    self.findings.problems.push((key, problem));
                }
                Some(inner) => self.value(inner, &key, value),
                None => {}
            }
        }
    }

    /// The known key that an unknown one was probably meant to be: a sibling, else the same name elsewhere.
    fn suggest(&self, schema: &Schema, key: &Key, name: &str) -> Option<Key> {
        let siblings = schema.get("properties").and_then(Schema::as_object)?;
        let parts = key.parts();
        let parent = Key::new(parts[..parts.len() - 1].to_vec());
        if let Some(sibling) = nearest(name, siblings.keys().map(String::as_str)) {
            return Some(parent.join(sibling));
        }
        let tables = self.root.get("properties").and_then(Schema::as_object)?;
        tables.iter().find_map(|(table, schema)| {
            let has = schema.pointer(&format!("/properties/{name}")).is_some();
            has.then(|| Key::new([table.as_str(), name]))
        })
    }
}

/// The one of `known` that differs from `name` by a slip of the hand.
pub(super) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    // The distance grows with the product of both lengths, and a name may be as long as a file.
    if name.len() > limits::QUOTE_BYTES {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    known
        .map(|known| {
            (
                strsim::damerau_levenshtein(&plain(name), &plain(known)),
                known,
            )
        })
        .filter(|(distance, known)| *distance <= known.len().max(name.len()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// What is wrong with the value itself, its parts aside.
fn shape(schema: &Schema, value: &Value) -> Option<Problem> {
    if let Some(choices) = choices(schema) {
        let Some(text) = value.as_str() else {
            return Some(Problem::Type {
                expected: "a string".to_owned(),
                found: type_of(value),
            });
        };
        return (!choices.iter().any(|choice| choice == text)).then_some(Problem::Choice(choices));
    }
    let expected = types(schema);
    if !expected.is_empty() && !expected.iter().any(|name| is_of(name, value)) {
        return Some(Problem::Type {
            expected: expected
                .iter()
                .map(|name| worded(name))
                .collect::<Vec<_>>()
                .join(" or "),
            found: type_of(value),
        });
    }
    let schema = alternative(schema, value);
    match value {
        Value::Integer(number) => range(schema, *number),
        Value::String(text) => form(schema, text),
        _ => None,
    }
}

/// The branch of an `anyOf` that has the value's type, else the schema itself.
fn alternative<'s>(schema: &'s Schema, value: &Value) -> &'s Schema {
    schema
        .get("anyOf")
        .and_then(Schema::as_array)
        .and_then(|branches| {
            branches
                .iter()
                .find(|branch| types(branch).iter().any(|name| is_of(name, value)))
        })
        .unwrap_or(schema)
}

/// The words of an enumeration.
fn choices(schema: &Schema) -> Option<Vec<String>> {
    let words = match (schema.get("enum"), schema.get("oneOf")) {
        (Some(Schema::Array(words)), _) => words.iter().filter_map(Schema::as_str).collect(),
        (_, Some(Schema::Array(branches))) => branches
            .iter()
            .flat_map(|branch| match (branch.get("const"), branch.get("enum")) {
                (Some(word), _) => word.as_str().into_iter().collect::<Vec<_>>(),
                (_, Some(Schema::Array(words))) => {
                    words.iter().filter_map(Schema::as_str).collect()
                }
                _ => Vec::new(),
            })
            .collect::<Vec<_>>(),
        _ => return None,
    };
    Some(words.into_iter().map(str::to_owned).collect())
}

fn types(schema: &Schema) -> Vec<&str> {
    match (schema.get("type"), schema.get("anyOf")) {
        (Some(Schema::String(name)), _) => vec![name],
        (Some(Schema::Array(names)), _) => names.iter().filter_map(Schema::as_str).collect(),
        (_, Some(Schema::Array(branches))) => branches.iter().flat_map(types).collect(),
        _ => Vec::new(),
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_str(),
        "integer" => value.is_integer(),
        "number" => value.is_integer() || value.is_float(),
        "boolean" => value.is_bool(),
        "array" => value.is_array(),
        "object" => value.is_table(),
        _ => false,
    }
}

fn worded(name: &str) -> &str {
    match name {
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        other => other,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

fn range(schema: &Schema, number: i64) -> Option<Problem> {
    let bound = |name: &str| schema.get(name).and_then(Schema::as_i64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most) {
        return None;
    }
    Some(Problem::Range(match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, most) => format!("at most {}", most.unwrap_or(i64::MAX)),
    }))
}

fn form(schema: &Schema, text: &str) -> Option<Problem> {
    let wrong = |what: &str| Some(Problem::Form(what.to_owned()));
    if text.contains('\0') {
        return wrong("a text with a NUL in it, which no program can be given");
    }
    let bound = |name: &str| schema.get(name).and_then(Schema::as_u64);
    let length = text.chars().count() as u64;
    if bound("minLength").is_some_and(|least| length < least) {
        return wrong("too short a text");
    }
    if bound("maxLength").is_some_and(|most| length > most) {
        return wrong("too long a text");
    }
    match schema.get("format").and_then(Schema::as_str)? {
        "regex" => Pattern::new(text)
            .err()
            .map(|error| Problem::Form(error.to_string())),
        "cols-x-rows" if !text.is_empty() => parse_size(text)
            .err()
            .map(|error| Problem::Form(error.to_string())),
        "clean-path" if !is_clean_path(text) => wrong(
            "no absolute path without `.`, `..`, empty parts, backslashes and control characters",
        ),
        "prefix-key" if !is_prefix_key(text) => wrong(
            "no key that can be a prefix; write `ctrl-` and a letter or one of ] \\ ^ _ @, but not h, i, j, m or [",
        ),
        "theme" if !is_theme(text) => wrong(
            "no theme; write `auto`, `dark`, `light`, `ansi` or `mono`, or the name of a .toml file beside your configuration file",
        ),
        "provider-model" if Model::of(text).is_none() => {
            wrong("no model; write it as provider/model")
        }
        "loopback-address" if Address::of(text).is_none() => wrong(
            "no address on this machine; write http:// or https:// and localhost or a loopback address, without user, query and fragment",
        ),
        _ => None,
    }
}

/// Whether a path is absolute, or in the home folder, and canonical as written (0.7).
fn is_clean_path(text: &str) -> bool {
    let rest = text.strip_prefix("~/").or_else(|| text.strip_prefix('/'));
    rest.is_some_and(|rest| {
        !text.contains('\\')
            && !text.chars().any(char::is_control)
            && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
    })
}

/// Whether the key reaches us as one control byte that is no ordinary key (backspace, tab, line feed, enter, escape).
fn is_prefix_key(text: &str) -> bool {
    let Some(key) = text.strip_prefix("ctrl-") else {
        return false;
    };
    matches!(
        key.as_bytes(),
        [b'a'..=b'z' | b']' | b'\\' | b'^' | b'_' | b'@']
    ) && !matches!(key, "h" | "i" | "j" | "m")
}

/// Whether the text names colours of ours, or a file beside the configuration file.
fn is_theme(text: &str) -> bool {
    let is_file = text.strip_suffix(".toml").is_some_and(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    });
    is_file || matches!(text, "auto" | "dark" | "light" | "ansi" | "mono")
}

fn is_full_match(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::document::schema;

    fn faults(text: &str) -> Result<Vec<String>, toml::de::Error> {
        let table: toml::Table = toml::from_str(text)?;
        let findings = check(&schema(), &Key::default(), &Value::Table(table));
        let mut all: Vec<String> = findings
            .unknown
            .iter()
            .map(|(key, suggestion)| match suggestion {
                Some(meant) => format!("{key}? {meant}"),
                None => format!("{key}?"),
            })
            .collect();
        all.extend(
            findings
                .problems
                .iter()
                .map(|(key, problem)| format!("{key} {problem}")),
        );
        Ok(all)
    }

    #[test]
    fn all_faults_of_a_file_are_found_at_once() -> Result<(), toml::de::Error> {
        let found = faults(
            "timeout_ms = 1\n[pair]\npeeer = 'x'\nrequire_tag = 'SECRET'\n[defaults]\ntail_lines = 0\nquiet_ms = 'SECRET'\n",
        )?;
        assert_eq!(
            found,
            [
                "timeout_ms? defaults.timeout_ms",
                "pair.peeer? pair.peer",
                "pair.require_tag must be one of agree, always, never",
                "defaults.tail_lines must be 1 to 200",
                "defaults.quiet_ms must be a whole number, not a string",
            ]
        );
        Ok(())
    }

    #[test]
    fn a_profile_is_checked_down_to_its_patterns() -> Result<(), toml::de::Error> {
        let found = faults(
            r#"
[harness.x]
idle_regex = ['ok', '(SECRET']
busy_regex = '(SECRET'
title_busy = '['
size = "SECRET"
writable = ["../x"]
comand = []
[harness.x.env]
"A=B" = "1"
C = "a\u0000b"
[harness.x.osc_state]
buzy = []
[harness."Bad Name"]
"#,
        )?;
        assert_eq!(
            found,
            [
                "harness.x.comand? harness.x.command",
                "harness.x.osc_state.buzy? harness.x.osc_state.busy",
                "harness.x.idle_regex is not a regular expression",
                "harness.x.busy_regex is not a regular expression",
                "harness.x.title_busy is not a regular expression",
                "harness.x.size is not a terminal size; write it as COLSxROWS, for example 120x40",
                "harness.x.writable is no absolute path without `.`, `..`, empty parts, backslashes and control characters",
                "harness.x.env.\"A=B\" is no name that can stand there",
                "harness.x.env.C is a text with a NUL in it, which no program can be given",
                "harness.\"Bad Name\" is no name that can stand there",
            ]
        );
        Ok(())
    }

    #[test]
    fn an_action_that_is_nearly_one_is_told_which() -> Result<(), toml::de::Error> {
        let found = faults("[ui.keys]\ndiscus = 'x'\nbrief = 'y'\njump = 'j'\nzoom = 3\n")?;
        assert_eq!(
            found,
            [
                "ui.keys.discus? ui.keys.discuss",
                "ui.keys.jump?",
                "ui.keys.zoom must be a string, not a whole number",
            ]
        );
        Ok(())
    }

    #[test]
    fn a_list_or_a_string_is_told_when_neither_stands_there() -> Result<(), toml::de::Error> {
        assert_eq!(
            faults("[harness.x]\nidle_regex = 3\ncommand = 'codex'")?,
            [
                "harness.x.idle_regex must be a string or a list, not a whole number",
                "harness.x.command must be a list, not a string",
            ]
        );
        Ok(())
    }

    #[test]
    fn what_stands_under_oracle_rp_is_not_looked_at() -> Result<(), toml::de::Error> {
        assert_eq!(faults("[oracle.rp]\nnonsense = 1")?, Vec::<String>::new());
        assert_eq!(faults("[oracle]\nrp = 1")?, Vec::<String>::new());
        Ok(())
    }

    #[test]
    fn a_prefix_is_a_control_key_that_is_no_ordinary_one() {
        for key in ["ctrl-]", "ctrl-a", "ctrl-\\", "ctrl-@"] {
            assert!(is_prefix_key(key), "{key}");
        }
        for key in [
            "ctrl-[", "ctrl-m", "ctrl-i", "ctrl-", "a", "ctrl-ab", "Ctrl-a", "alt-a", "ctrl-é",
        ] {
            assert!(!is_prefix_key(key), "{key}");
        }
    }

    #[test]
    fn a_theme_is_a_known_one_or_a_file_beside_the_settings() {
        for theme in ["auto", "dark", "light", "ansi", "mono", "my-own_2.toml"] {
            assert!(is_theme(theme), "{theme}");
        }
        for theme in ["", "blue", ".toml", "../x.toml", "/etc/x.toml", "a b.toml"] {
            assert!(!is_theme(theme), "{theme}");
        }
    }

    #[test]
    fn a_path_is_absolute_and_clean() {
        for path in [
            "/", "/a/", "a/b", "~", "~root/x", "/a//b", "/a/../b", "/a/./b", "/a\\b", "/a\nb", "",
        ] {
            assert!(!is_clean_path(path), "{path:?}");
        }
        for path in ["/a", "~/.codex", "/a/b.c/..d"] {
            assert!(is_clean_path(path), "{path:?}");
        }
    }
}
