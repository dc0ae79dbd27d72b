//! The shape of a settings file: every key there is. The check of a file and `config schema` are made from it.

#![expect(
    dead_code,
    reason = "a shape is only described, by the schema derived from it; values are read from the merged tables"
)]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Value;

use super::profile::Profile;
use super::value::Millis;

/// A settings file of any layer.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
#[schemars(title = "codriver settings")]
pub(super) struct Document {
    /// Who takes part.
    pub pair: Pair,
    /// Agents, each merged key by key onto the bundled profile of its name; a new name starts from `unknown`.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$" }))]
    pub harness: BTreeMap<String, Profile>,
    /// Waiting, for agents whose profile says nothing else.
    pub defaults: Defaults,
    /// The console.
    pub ui: Ui,
    /// Where each role's work goes.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$" }))]
    pub roles: BTreeMap<String, Role>,
    /// Review routes.
    pub oracle: Oracle,
    /// Command-line runners enabled on this machine.
    pub runner: Runners,
    /// Human acceptance.
    pub accept: Accept,
    /// Recorded sessions.
    pub sessions: Sessions,
    /// Whether what a person types is recorded.
    pub record_input: Option<bool>,
    /// Folders and files a confined peer may not read.
    #[schemars(extend("items" = { "type": "string", "format": "clean-path" }))]
    pub deny_read: Vec<String>,
}

/// `[pair]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Pair {
    /// Harness of the driver.
    pub driver: Option<String>,
    /// Harness of the peer.
    pub peer: Option<String>,
    /// When a reply must carry the round's tag to count.
    pub require_tag: Option<RequireTag>,
    /// Whether no peer is started that nothing but its own switches keeps from writing.
    pub require_confinement: Option<bool>,
    /// What keeps the peer from writing.
    pub lock: Option<LockChoice>,
}

/// What keeps the peer from writing, beside its own switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockChoice {
    /// The best lock there is.
    #[default]
    Auto,
    /// A user, mount and process namespace.
    Namespace,
    /// Landlock, with a filter of system calls.
    Landlock,
    /// None.
    None,
}

/// When a reply must carry the round's tag to count (interface.md 6.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequireTag {
    /// For an agreement.
    #[default]
    Agree,
    /// For any verdict.
    Always,
    /// For none.
    Never,
}

/// `[defaults]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Defaults {
    /// Longest wait for the end of a peer's turn.
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<Millis>,
    /// How long the screen must stand still before a turn without an end mark is over.
    pub quiet_ms: Option<Millis>,
    /// How many of the last non-empty lines the idle, busy and blocked rules look at.
    #[schemars(range(min = 1, max = 200))]
    pub tail_lines: Option<u16>,
}

/// `[ui]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Ui {
    /// Key that reaches the console instead of the focused pane.
    #[schemars(extend("format" = "prefix-key"))]
    pub prefix: Option<String>,
    /// How the two panes stand.
    pub layout: Option<Layout>,
    /// Colours of the frame.
    #[schemars(extend("format" = "theme"))]
    pub theme: Option<String>,
    /// Whether the console takes the mouse.
    pub mouse: Option<bool>,
    /// When attention is drawn to what happened.
    pub notify: Option<Notify>,
    /// Signs of ASCII alone.
    pub ascii: Option<bool>,
    /// Plain lines and no animation, for a screen reader.
    pub screen_reader: Option<bool>,
    /// The key of each action behind the prefix; an empty one is none.
    #[schemars(extend("propertyNames" = { "enum": ["discuss", "brief", "other", "zoom", "receipts", "fallbacks", "timeline", "scroll", "copy", "answer", "stop", "restart", "explain", "columns", "rows", "type", "help", "redraw", "suspend", "quit"] }))]
    pub keys: BTreeMap<String, String>,
    /// Rows of scrollback kept per pane.
    #[schemars(range(min = 100, max = 100_000))]
    pub scrollback: Option<u32>,
}

/// `[sessions]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Sessions {
    /// Days after which `sessions prune` takes a session away.
    #[schemars(range(min = 0, max = 36_500))]
    pub keep_days: Option<u32>,
    /// Megabytes that all sessions together may have before it takes the oldest ones away.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub keep_mb: Option<u32>,
}

/// How the two panes stand.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum Layout {
    /// By the width of the window.
    Auto,
    /// Side by side.
    Columns,
    /// One above the other.
    Rows,
    /// The focused one alone.
    Zoom,
}

/// When attention is drawn to what happened.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum Notify {
    /// While another window has the focus.
    Auto,
    /// Also while the console has it.
    Always,
    /// Never.
    Never,
}

/// `[roles.<role>]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Role {
    /// `host`, or a runner.
    pub runner: Option<RoleRunner>,
}

/// Where a role's work goes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum RoleRunner {
    /// The agent the console already drives.
    Host,
    /// The claude runner.
    Claude,
    /// The opencode runner.
    Opencode,
    /// The codex runner.
    Codex,
    /// The gemini runner.
    Gemini,
}

/// `[oracle]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Oracle {
    /// Route of the reviewer roles.
    pub review: Option<ReviewRoute>,
    /// Where RepoPrompt listens; looked at only when a review goes there.
    pub rp: Option<Value>,
    /// Model providers.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$" }))]
    pub api: BTreeMap<String, Provider>,
    /// Models never used; every layer adds to it.
    #[schemars(inner(length(min = 1, max = 200)))]
    pub denylist: Vec<String>,
}

/// Route of the reviewer roles.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum ReviewRoute {
    /// The agent the console already drives.
    Host,
    /// RepoPrompt.
    Rp,
}

/// `[oracle.rp]`, when a review goes there.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct RepoPrompt {
    /// Address.
    #[schemars(extend("format" = "loopback-address"))]
    pub url: Option<String>,
    /// Name of the tool.
    #[schemars(length(min = 1, max = 128))]
    pub tool: Option<String>,
}

/// `[oracle.api.<provider>]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Provider {
    /// Models that may be used.
    #[schemars(inner(length(min = 1, max = 200)))]
    pub models: Vec<String>,
}

/// `[runner]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Runners {
    /// Runner that takes over when there is no host session.
    pub fallback_host: Option<RunnerName>,
    /// The claude runner.
    pub claude: Option<ClaudeRunner>,
    /// The opencode runner.
    pub opencode: Option<OpencodeRunner>,
    /// The codex runner.
    pub codex: Option<PlainRunner>,
    /// The gemini runner; nothing of it was proven.
    pub gemini: Option<PlainRunner>,
}

/// A shipped runner.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum RunnerName {
    /// The claude runner.
    Claude,
    /// The opencode runner.
    Opencode,
    /// The codex runner.
    Codex,
    /// The gemini runner.
    Gemini,
}

/// `[runner.claude]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct ClaudeRunner {
    /// Model, as provider/model.
    #[schemars(extend("format" = "provider-model"))]
    pub model: Option<String>,
    /// Whether it runs without the person's own configuration.
    pub bare: Option<bool>,
}

/// `[runner.opencode]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct OpencodeRunner {
    /// Model, as provider/model.
    #[schemars(extend("format" = "provider-model"))]
    pub model: Option<String>,
    /// Address of a server the person already runs.
    #[schemars(extend("format" = "loopback-address"))]
    pub server: Option<String>,
}

/// `[runner.codex]` and `[runner.gemini]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct PlainRunner {
    /// Model, as provider/model.
    #[schemars(extend("format" = "provider-model"))]
    pub model: Option<String>,
}

/// `[accept]`.
#[derive(Default, JsonSchema)]
#[schemars(default, deny_unknown_fields)]
pub(super) struct Accept {
    /// Life of a request shown in the console's dialog.
    #[schemars(range(min = 1))]
    pub ttl_ms: Option<Millis>,
}

/// The JSON schema of a settings file.
pub fn schema() -> Value {
    schema_of::<Document>()
}

/// The schema of `[oracle.rp]`, for a person whose reviews go there.
pub(super) fn repo_prompt_schema() -> Value {
    schema_of::<RepoPrompt>()
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    drop_null(&mut schema);
    schema
}

/// TOML has no null: a key that is not set is not there.
fn drop_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(drop_null),
        Value::Object(map) => {
            map.retain(|name, value| name != "default" || !value.is_null());
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    map.remove("anyOf");
                    for (name, value) in only {
                        map.entry(name).or_insert(value);
                    }
                }
            }
            map.values_mut().for_each(drop_null);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_names_no_null() {
        let text = schema().to_string();
        assert!(!text.contains("null"), "{text}");
    }

    #[test]
    fn every_key_is_described() {
        fn walk(schema: &Value, at: &str, bare: &mut Vec<String>) {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                for (name, value) in properties {
                    let at = format!("{at}.{name}");
                    if value.is_object() && value.get("description").is_none() {
                        bare.push(at.clone());
                    }
                    walk(value, &at, bare);
                }
            }
            if let Some(inner) = schema.get("additionalProperties") {
                walk(inner, &format!("{at}.*"), bare);
            }
        }
        let mut bare = Vec::new();
        walk(&schema(), "", &mut bare);
        assert_eq!(bare, Vec::<String>::new());
    }
}
