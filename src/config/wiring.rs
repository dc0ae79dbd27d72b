//! Giving an agent that is started outside the console the tools for good: the entry in its own settings file, put in
//! and taken out without touching anything else of the file (issue TOOLS 8).

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};

/// Where an agent's settings hold its MCP servers, and the entry that is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wiring {
    /// The variable that names the settings folder.
    pub variable: String,
    /// What stands below the folder that the variable names, and not below the other one.
    pub below: String,
    /// The folder when the variable is not set, below the home folder.
    pub folder: String,
    /// The file's names; the first one that is there, else the last.
    pub files: Vec<String>,
    /// How the file is written.
    pub format: Format,
    /// The keys that lead to the entry, one below the other.
    pub key: Vec<String>,
    /// The entry as a JSON object; `{self}` is this executable.
    pub entry: String,
    /// The agent's own command that does the same; empty where it has none.
    pub by_hand: String,
}

/// How a settings file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON, with comments where the agent takes them.
    #[default]
    Json,
    /// TOML.
    Toml,
}

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WiringError {
    /// It cannot be read as what it should be.
    #[error("it is not valid {0}")]
    Syntax(&'static str),
    /// Something that should hold entries holds something else.
    #[error("its `{0}` does not hold entries by name")]
    Shape(String),
    /// A name stands there twice, and which of the two counts is the agent's secret.
    #[error("it holds `{0}` twice; take one of the two out")]
    Twice(String),
    /// The profile's own entry is wrong.
    #[error("the entry of the profile is no JSON object")]
    Entry,
}

impl Wiring {
    /// The entry, with the path of this executable in it.
    pub fn entry(&self, own: &str) -> Result<Value, WiringError> {
        let quoted = Value::from(own).to_string();
        let text = self.entry.replace("{self}", &quoted[1..quoted.len() - 1]);
        let entry: Value = serde_json::from_str(&text).map_err(|_| WiringError::Entry)?;
        match entry.is_object() && !self.key.is_empty() {
            true => Ok(entry),
            false => Err(WiringError::Entry),
        }
    }

    /// A whole file that holds the entry alone, for a person to copy from.
    pub fn alone(&self, own: &str) -> Result<String, WiringError> {
        self.add("", own)
    }

    /// The file with the entry in it; the same text when it was there.
    pub fn add(&self, text: &str, own: &str) -> Result<String, WiringError> {
        let entry = self.entry(own)?;
        within(text, |text| match self.format {
            Format::Json => self.add_json(text, &entry),
            Format::Toml => self.add_toml(text, &entry),
        })
    }

    /// The file without the entry, and without what only held it; the same text when it was not there.
    pub fn remove(&self, text: &str) -> Result<String, WiringError> {
        within(text, |text| match self.format {
            Format::Json => self.remove_json(text),
            Format::Toml => self.remove_toml(text),
        })
    }

    fn add_json(&self, text: &str, entry: &Value) -> Result<String, WiringError> {
        let root = parse(text)?;
        let top = root
            .object_value_or_create()
            .ok_or_else(|| WiringError::Shape("top".to_owned()))?;
        let (last, path) = self.key.split_last().ok_or(WiringError::Entry)?;
        let mut holder: CstObject = top;
        for name in path {
            once(&holder, name)?;
            holder = holder
                .object_value_or_create(name)
                .ok_or_else(|| WiringError::Shape(name.clone()))?;
        }
        once(&holder, last)?;
        match (holder.get(last), holder.object_value(last), entry) {
            // What the person added to it stays.
            (Some(_), Some(known), Value::Object(fields)) => {
                let mut is_same = true;
                for (name, value) in fields {
                    once(&known, name)?;
                    let before = known.get(name);
                    let plain = before
                        .as_ref()
                        .and_then(|prop| prop.value()?.to_serde_value());
                    if plain.as_ref() == Some(value) {
                        continue;
                    }
                    is_same = false;
                    match before {
                        Some(before) => before.set_value(input(value)),
                        None => {
                            known.append(name, input(value));
                        }
                    }
                }
                if is_same {
                    return Ok(text.to_owned());
                }
            }
            (Some(known), ..) => known.set_value(input(entry)),
            (None, ..) => {
                holder.append(last, input(entry));
            }
        }
        let mut out = root.to_string();
        if text.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        Ok(out)
    }

    fn remove_json(&self, text: &str) -> Result<String, WiringError> {
        let root = parse(text)?;
        let Some(top) = root.object_value() else {
            return Ok(text.to_owned());
        };
        let (last, path) = self.key.split_last().ok_or(WiringError::Entry)?;
        let mut holders = vec![top];
        for name in path {
            let Some(holder) = holders.last() else {
                return Ok(text.to_owned());
            };
            once(holder, name)?;
            let Some(holder) = holder.object_value(name) else {
                return Ok(text.to_owned());
            };
            once(&holder, last)?;
            holders.push(holder);
        }
        let known = holders.last().and_then(|holder| holder.get(last));
        let Some(known) = known else {
            return Ok(text.to_owned());
        };
        known.remove();
        for (at, name) in path.iter().enumerate().rev() {
            let holds_nothing = holders[at + 1].properties().is_empty();
            if let (true, Some(holder)) = (holds_nothing, holders[at].get(name)) {
                holder.remove();
            }
        }
        Ok(root.to_string())
    }

    fn add_toml(&self, text: &str, entry: &Value) -> Result<String, WiringError> {
        let mut document = toml(text)?;
        let (last, path) = self.key.split_last().ok_or(WiringError::Entry)?;
        let Value::Object(fields) = entry else {
            return Err(WiringError::Entry);
        };
        let mut table = toml_edit::Table::new();
        for (name, value) in fields {
            table.insert(name, toml_edit::value(toml_value(value)?));
        }
        let mut holder: &mut dyn TableLike = document.as_table_mut();
        for name in path {
            let item = holder.entry(name).or_insert_with(|| {
                let mut table = toml_edit::Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            holder = item
                .as_table_like_mut()
                .ok_or_else(|| WiringError::Shape(name.clone()))?;
        }
        if let Some(known) = holder.get_mut(last).and_then(Item::as_table_like_mut) {
            let mut is_same = true;
            // What the person added to it stays.
            for (name, value) in table.iter() {
                if known
                    .get(name)
                    .is_some_and(|known| plain(known) == plain(value))
                {
                    continue;
                }
                is_same = false;
                known.insert(name, value.clone());
            }
            return Ok(match is_same {
                true => text.to_owned(),
                false => document.to_string(),
            });
        }
        holder.insert(last, Item::Table(table));
        Ok(document.to_string())
    }

    fn remove_toml(&self, text: &str) -> Result<String, WiringError> {
        let mut document = toml(text)?;
        let (last, path) = self.key.split_last().ok_or(WiringError::Entry)?;
        let mut holder: &mut dyn TableLike = document.as_table_mut();
        for name in path {
            let Some(next) = holder.get_mut(name).and_then(Item::as_table_like_mut) else {
                return Ok(text.to_owned());
            };
            holder = next;
        }
        if holder.remove(last).is_none() {
            return Ok(text.to_owned());
        }
        Ok(document.to_string())
    }
}

/// Changes a text; a byte order mark before it stays, and so do line ends of two bytes where it has no others.
fn within(
    text: &str,
    change: impl FnOnce(&str) -> Result<String, WiringError>,
) -> Result<String, WiringError> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let changed = change(body)?;
    if changed == body {
        return Ok(text.to_owned());
    }
    let ends = body.matches('\n').count();
    let changed = match ends > 0 && body.matches("\r\n").count() == ends {
        true => changed.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => changed,
    };
    Ok(format!("{mark}{changed}"))
}

/// Refuses an object that holds a name twice.
fn once(holder: &CstObject, name: &str) -> Result<(), WiringError> {
    let same = holder.properties().into_iter().filter(|prop| {
        let known = prop.name().and_then(|known| known.decoded_value().ok());
        known.is_some_and(|known| known == name)
    });
    match same.count() {
        0 | 1 => Ok(()),
        _ => Err(WiringError::Twice(name.to_owned())),
    }
}

fn parse(text: &str) -> Result<CstRootNode, WiringError> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|_| WiringError::Syntax("JSON"))
}

fn toml(text: &str) -> Result<DocumentMut, WiringError> {
    text.parse().map_err(|_| WiringError::Syntax("TOML"))
}

/// A value of a TOML file without what stands around it.
fn plain(item: &Item) -> String {
    match item {
        Item::Value(value) => value.clone().decorated("", "").to_string(),
        other => other.to_string(),
    }
}

fn toml_value(value: &Value) -> Result<toml_edit::Value, WiringError> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64().ok_or(WiringError::Entry)?.into(),
        Value::Array(list) => {
            let list: Result<toml_edit::Array, _> = list.iter().map(toml_value).collect();
            toml_edit::Value::Array(list?)
        }
        Value::Null | Value::Object(_) => return Err(WiringError::Entry),
    })
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::bundled_profile;

    type Tested = Result<(), WiringError>;

    const OWN: &str = "/opt/co driver/codriver";

    fn of(name: &str) -> Wiring {
        bundled_profile(name).setup.unwrap_or_default()
    }

    #[test]
    fn comments_and_other_entries_stay_and_twice_is_once() -> Tested {
        let wiring = of("opencode");
        let text = "{\n  // mine\n  \"model\": \"a/b\", /* why */\n  \"mcp\": {\n    \"other\": {\"type\": \"local\"} // keep\n  }\n}\n";
        let added = wiring.add(text, OWN)?;
        for part in ["// mine", "/* why */", "// keep", "\"other\"", OWN] {
            assert!(added.contains(part), "{part}: {added}");
        }
        assert_eq!(wiring.add(&added, OWN)?, added);
        assert_eq!(wiring.remove(&added)?, text);
        Ok(())
    }

    #[test]
    fn a_toml_file_keeps_its_comments_too() -> Tested {
        let wiring = of("codex");
        let text = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let added = wiring.add(text, OWN)?;
        assert!(added.starts_with(text), "{added}");
        assert!(added.contains("[mcp_servers.codriver]\n"), "{added}");
        assert_eq!(wiring.add(&added, OWN)?, added);
        assert_eq!(wiring.remove(&added)?.trim_end(), text.trim_end());
        let inline = "mcp_servers = { other = { command = \"y\" } }\n";
        let added = wiring.add(inline, OWN)?;
        assert!(added.parse::<DocumentMut>().is_ok(), "{added}");
        assert!(
            added.contains("other") && added.contains("codriver"),
            "{added}"
        );
        Ok(())
    }

    #[test]
    fn an_empty_file_gets_the_entry_and_gives_it_back() -> Tested {
        for name in ["claude", "codex", "opencode", "gemini", "cursor-agent"] {
            let wiring = of(name);
            let alone = wiring.alone(OWN)?;
            assert!(
                alone.contains(OWN) && alone.contains("mcp"),
                "{name}: {alone}"
            );
            let rest = wiring.remove(&alone)?;
            assert!(!rest.contains("codriver"), "{name}: {rest}");
            assert_eq!(wiring.add(&alone, OWN)?, alone);
        }
        Ok(())
    }

    #[test]
    fn an_entry_of_another_path_is_replaced() -> Tested {
        let wiring = of("claude");
        let old = wiring.alone("/old/codriver")?;
        let new = wiring.add(&old, OWN)?;
        assert!(new.contains(OWN) && !new.contains("/old/"), "{new}");
        Ok(())
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_stay_as_they_are() -> Tested {
        let json = "{\r\n  \"a\": 1\r\n}\r\n";
        let toml = "a = 1\r\n\r\n[x]\r\nb = 2\r\n";
        for (name, text) in [("claude", json), ("codex", toml)] {
            for text in [text.to_owned(), format!("\u{feff}{text}")] {
                let added = of(name).add(&text, OWN)?;
                assert_eq!(
                    added.matches('\n').count(),
                    added.matches("\r\n").count(),
                    "{added:?}"
                );
                assert_eq!(of(name).add(&added, OWN)?, added);
                assert_eq!(of(name).remove(&added)?, text);
            }
        }
        Ok(())
    }

    #[test]
    fn what_a_person_added_to_the_entry_stays() -> Tested {
        let json =
            r#"{"mcpServers": {"codriver": {"command": "/old", "env": {"A": "b"} /* mine */}}}"#;
        let added = of("claude").add(json, OWN)?;
        assert!(
            added.contains(OWN) && added.contains("/* mine */") && !added.contains("/old"),
            "{added}"
        );
        let toml = "[mcp_servers.codriver]\ncommand = \"/old\"\nenabled = false # mine\n\n[mcp_servers.codriver.env]\nA = \"b\"\n";
        let added = of("codex").add(toml, OWN)?;
        for part in [
            OWN,
            "enabled = false # mine",
            "[mcp_servers.codriver.env]\nA = \"b\"",
        ] {
            assert!(added.contains(part), "{part}: {added}");
        }
        assert!(!added.contains("/old"), "{added}");
        assert_eq!(of("codex").add(&added, OWN)?, added);
        Ok(())
    }

    #[test]
    fn a_name_that_stands_there_twice_is_not_chosen_from() {
        for (text, name) in [
            (r#"{"mcpServers": {}, "mcpServers": {}}"#, "mcpServers"),
            (
                r#"{"mcpServers": {"codriver": 1, "codriver": 2}}"#,
                "codriver",
            ),
        ] {
            let twice = WiringError::Twice(name.to_owned());
            assert_eq!(of("claude").add(text, OWN), Err(twice.clone()));
            assert_eq!(of("claude").remove(text), Err(twice));
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let claude = of("claude");
        assert_eq!(claude.add("{", OWN), Err(WiringError::Syntax("JSON")));
        assert_eq!(
            claude.add("[]", OWN),
            Err(WiringError::Shape("top".to_owned()))
        );
        assert_eq!(
            claude.add("{\"mcpServers\": 7}", OWN),
            Err(WiringError::Shape("mcpServers".to_owned()))
        );
        assert_eq!(
            of("codex").add("a = ", OWN),
            Err(WiringError::Syntax("TOML"))
        );
        assert_eq!(
            of("codex").add("mcp_servers = 7\n", OWN),
            Err(WiringError::Shape("mcp_servers".to_owned()))
        );
    }
}
