//! A harness profile: how an agent is found, started, typed at and read, and on which version each part was proven.
//!
//! The bundled ones are the files of `assets/harness/`; a machine file changes them key by key. Every table here derives
//! `JsonSchema` too: the check of a settings file and `config schema` are made from it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::pattern::{Pattern, Patterns};
use super::private_home::PrivateHome;
use super::screen_rules::ScreenRules;
use super::value::{Millis, size, size_schema};
use super::wiring::Wiring;
use crate::confine::LockArgs;
use crate::screen::Size;

/// All that codriver knows about one agent program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Name of the harness: the profile's file name or its table in the settings. Not a key of the file.
    #[serde(skip)]
    pub name: String,
    /// Name of the agent as shown to a person.
    pub title: String,
    /// Process names the agent runs under, for a pane whose harness was not declared.
    pub binaries: Vec<String>,
    /// Argument vector that starts the agent; the program is looked up on PATH. Here, in the arguments, in the values of
    /// variables and in `allows`, `{self}` is this executable, `{repo}` the folder being worked on and `{private}` a fresh
    /// folder of the session, `{scratch}` another one for what its tools write; `{repo:quoted}` is for the inside of a JSON or TOML string.
    pub command: Vec<String>,
    /// Arguments that make the program print its version and end.
    pub version_args: Vec<String>,
    /// Arguments added when the agent drives.
    pub driver_args: Vec<String>,
    /// Arguments added when it drives and goes on with its last conversation.
    pub driver_resume_args: Vec<String>,
    /// Arguments added when it drives in the console, which give it the console's tools. `{socket}` is the console's.
    pub driver_tools_args: Vec<String>,
    /// Variables added then. A JSON object is laid over the one our own environment has.
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }))]
    pub driver_tools_env: BTreeMap<String, String>,
    /// Whether the peer may also hand its review in by a tool.
    pub submits: bool,
    /// Arguments added then.
    pub submit_args: Vec<String>,
    /// Variables added then. A JSON object is laid over the one the peer has by then.
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }))]
    pub submit_env: BTreeMap<String, String>,
    /// Arguments added when the agent is the peer, which never writes.
    pub peer_args: Vec<String>,
    /// Arguments added when the agent is the peer, by the lock it is confined by.
    pub lock_args: LockArgs,
    /// Whether the agent starts what it runs in a namespace of its own, which Landlock would not let it make.
    pub own_sandbox: bool,
    /// Where the peer is started.
    pub peer_folder: PeerFolder,
    /// The agent's settings folder as the peer gets it; without it the peer uses the person's own.
    pub private_home: Option<PrivateHome>,
    /// Variables added to the child's environment.
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }))]
    pub env: BTreeMap<String, String>,
    /// Variables added to the peer's environment only.
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }))]
    pub peer_env: BTreeMap<String, String>,
    /// Those of these variables that hold a JSON object which is merged into the one our own environment has; of it,
    /// no `permission` stays.
    pub env_merge: Vec<String>,
    /// Variables taken out of the child's environment.
    pub env_remove: Vec<String>,
    /// What this launch really lets the peer do, in words for its brief.
    pub allows: String,
    /// Parts of this profile that were proven, each with the version it was proven on.
    pub proven: Vec<Proven>,
    /// Lines that show the agent at rest.
    pub idle_regex: Patterns,
    /// Lines that show the agent at work; they win over those at rest.
    pub busy_regex: Patterns,
    /// Lines that show a dialog the person must answer.
    pub blocked_regex: Patterns,
    /// Window title while the agent works.
    pub title_busy: Option<Pattern>,
    /// Window title while the agent rests.
    pub title_idle: Option<Pattern>,
    /// The agent's own state reports (OSC 7501).
    pub osc_state: OscState,
    /// Glyphs of the agent's spinner, beside the braille patterns; they are ignored when a screen is compared.
    pub spinner: String,
    /// What is typed to begin a new conversation; empty for an agent without a reset.
    pub reset_command: String,
    /// Pause between the typed reset command and the submit key.
    pub reset_pause_ms: Option<Millis>,
    /// Pause between the pasted text and the submit key.
    pub submit_pause_ms: Option<Millis>,
    /// Whether the submit key also waits until the screen stands still.
    pub submit_when_quiet: bool,
    /// How long the screen must stand still before a turn without an end mark is over.
    pub quiet_ms: Option<Millis>,
    /// Distance of the two equal readings asked of an agent that draws parts of an answer late; 0 for none.
    pub settle_ms: Millis,
    /// How many of the last non-empty lines the idle, busy and blocked rules look at.
    #[schemars(range(min = 1, max = 200))]
    pub tail_lines: Option<u16>,
    /// Rows the window is made tall for a moment when the reply does not fit; 0 for never.
    #[schemars(range(max = 2000))]
    pub stretch_rows: u16,
    /// Fewest rows its window can have for its rules to see what they need; a lower pane shows the end of it.
    pub least_rows: u16,
    /// Size of the peer's screen without a console, as COLSxROWS.
    #[serde(deserialize_with = "size")]
    #[schemars(schema_with = "size_schema")]
    pub size: Option<Size>,
    /// The agent's exact text beside the screen.
    pub channel: Channel,
    /// Files that hold the agent's key or log-in: no other agent's peer may read them.
    #[schemars(extend("items" = { "type": "string", "format": "clean-path" }))]
    pub key_files: Vec<String>,
    /// Folders and files a confined peer may still write; a folder that is missing is made.
    #[schemars(extend("items" = { "type": "string", "format": "clean-path" }))]
    pub writable: Vec<String>,
    /// How the agent is given the tools for good, when it is started outside the console.
    pub setup: Option<Wiring>,
    /// Files the agent writes at its first start, with their text: written where they are missing for a confined peer,
    /// which may not write them itself.
    pub made_files: BTreeMap<String, String>,
    /// Folders the agent makes where they are missing, `{uid}` the person's number: made for a confined peer.
    pub made_folders: Vec<String>,
    /// Folders of the person whose entries a confined peer finds, by links, in a folder of the scratch folder.
    #[schemars(extend("additionalProperties" = { "type": "string", "format": "clean-path" }))]
    #[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*$" }))]
    pub linked_folders: BTreeMap<String, String>,
    /// How the screen is read.
    pub screen: ScreenRules,
}

impl Profile {
    /// What a person calls it.
    pub fn display_name(&self) -> &str {
        if self.title.is_empty() {
            &self.name
        } else {
            &self.title
        }
    }

    /// Fills in the general settings that the profile does not decide itself.
    pub fn fill_in(&mut self, quiet: std::time::Duration, tail_lines: usize) {
        self.quiet_ms.get_or_insert(Millis::of(quiet));
        self.tail_lines
            .get_or_insert(u16::try_from(tail_lines).unwrap_or(u16::MAX));
    }

    /// The version on which `part` was proven, if it was.
    pub fn proven_on(&self, part: &str) -> Option<&str> {
        self.proven
            .iter()
            .find(|proven| proven.part == part)
            .map(|proven| proven.version.as_str())
    }
}

/// Where the peer is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeerFolder {
    /// In the folder being worked on.
    #[default]
    Repository,
    /// In a fresh folder of the session, for an agent that loads what its folder holds.
    Private,
}

/// One part of a profile and the version of the agent it was proven on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Proven {
    /// The part: `launch`, `read-only`, `submit`, `reset`, `state`, `screen`, `dialogs`,
    /// `channel`, or a lock it starts and works under, `namespace` and `landlock`.
    pub part: String,
    /// The agent's version.
    pub version: String,
}

/// Words of the agent's own state reports (OSC 7501), by what they mean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OscState {
    /// The agent works.
    pub busy: Vec<String>,
    /// The turn is over.
    pub rest: Vec<String>,
    /// The turn ended in an error.
    pub failed: Vec<String>,
}

impl OscState {
    /// Whether the agent reports no state at all.
    pub fn is_empty(&self) -> bool {
        self.busy.is_empty() && self.rest.is_empty() && self.failed.is_empty()
    }
}

/// Where the agent's exact text can be had beside the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Nowhere: the screen stands alone.
    #[default]
    None,
    /// Claude's stop hook and session log.
    ClaudeHook,
    /// Codex's rollout file.
    CodexRollout,
    /// Opencode's local interface.
    OpencodeApi,
    /// The demo agent's log.
    DemoLog,
}
