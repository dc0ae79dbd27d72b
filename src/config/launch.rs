//! How a child is started: its arguments, what its environment gains and loses, and where it runs.
//!
//! The peer's part is what keeps it from running what a repository brings. Agents ask git about the repository they
//! stand in, and git runs programs its configuration names; some load plugins of the folder they start in whatever
//! their switches say, so their profile gives them a private one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::profile::{PeerFolder, Profile};
use crate::confine::Lock;

/// Which of the two a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// It plans and writes.
    Driver,
    /// It plans and writes, and goes on with its last conversation.
    DriverAgain,
    /// It reviews.
    Peer,
}

/// What a launch depends on beside the profile.
#[derive(Clone, Copy)]
pub struct Grounds<'g> {
    /// This executable.
    pub own: &'g Path,
    /// The folder being worked on: the root of the repository, or the present folder without one.
    pub repository: &'g Path,
    /// A fresh folder of this session, empty, in no repository and in no folder that others may write.
    pub private: &'g Path,
    /// Another one of it, for what the tools that the agent runs write.
    pub scratch: &'g Path,
    /// The lock a peer is confined by.
    pub lock: Lock,
    /// Further placeholders and their values, for a channel's own arguments.
    pub values: &'g [(&'g str, &'g str)],
    /// The variables of our own environment.
    pub variable: &'g dyn Fn(&str) -> Option<String>,
}

/// How a child is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables added to our own environment.
    pub env: Vec<(String, String)>,
    /// Variables taken out of it, a `*` at the end for any rest; done before the others are added.
    pub env_remove: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
}

impl Launch {
    /// Whether a variable of our own environment does not reach the child.
    pub fn removes(&self, name: &str) -> bool {
        is_removed(&self.env_remove, name)
    }
}

/// Whether a variable is among these names, of which one may end in a `*` for any rest.
pub fn is_removed(names: &[String], name: &str) -> bool {
    names.iter().any(|removed| match removed.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => name == removed,
    })
}

/// Why no launch can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The profile names no program.
    #[error("the harness `{0}` has no command; set `harness.{0}.command`")]
    NoCommand(String),
    /// A path that cannot be an argument.
    #[error("the path of {0} is not UTF-8")]
    Path(&'static str),
}

/// Variables that tell a child of a terminal it is not in, or how its colours are to be: the screen is ours, and it is
/// read by the rules that were proven on it.
const TERMINALS: [&str; 26] = [
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "ZELLIJ",
    "ZELLIJ_SESSION_NAME",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TERM_SESSION_ID",
    "TERMINAL_EMULATOR",
    "LC_TERMINAL",
    "LC_TERMINAL_VERSION",
    "ITERM_SESSION_ID",
    "KITTY_WINDOW_ID",
    "KITTY_PID",
    "WEZTERM_PANE",
    "ALACRITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
    "VTE_VERSION",
    "KONSOLE_VERSION",
    "WT_SESSION",
    "INSIDE_EMACS",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
];

/// Variables that point git at another repository or hand it a configuration (C.5).
const GIT: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXTERNAL_DIFF",
    "GIT_EDITOR",
];

/// Variables that lead to a program which could act for the peer: an agent of keys, a bus, a display, a daemon.
const OUTLETS: [&str; 11] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Variables by which the usual tools keep what they write out of the tree, so that tests run in a read-only one.
pub fn scratch_env(scratch: &str) -> Vec<(String, String)> {
    let below = |name: &str, folder: &str| (name.to_owned(), format!("{scratch}/{folder}"));
    let is = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    vec![
        below("TMPDIR", "tmp"),
        below("CARGO_TARGET_DIR", "cargo"),
        below("GOCACHE", "go-build"),
        below("npm_config_cache", "npm"),
        is("npm_config_update_notifier", "false"),
        below("PYTHONPYCACHEPREFIX", "pycache"),
        is("PYTHONDONTWRITEBYTECODE", "1"),
        is("PYTEST_ADDOPTS", "-p no:cacheprovider"),
    ]
}

/// The names of the variables that are kept from a peer of this profile, a `*` for any rest.
pub fn kept_from_peer(profile: &Profile) -> Vec<String> {
    let always = TERMINALS.iter().chain(&NESTED).chain(&GIT).chain(&LOADERS);
    let always = always.chain(&OUTLETS).map(|name| (*name).to_owned());
    always.chain(profile.env_remove.iter().cloned()).collect()
}

/// Variables that load foreign code into every program a child starts.
const LOADERS: [&str; 6] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
];

/// What the agents tell the programs they start, and what makes one behave as if it stood inside another: nested, silent,
/// without a log, or on another screen. A `*` stands for any rest.
const NESTED: [&str; 47] = [
    "AGENT",
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_AX_SCREEN_READER",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_COORDINATOR_MODE",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_NO_FLICKER",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_SAFE_MODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_JOB_DIR",
    "CLAUDE_PROJECT_DIR",
    "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
    "CODEX_CI",
    "CODEX_EXEC_SERVER_URL",
    "CODEX_INTERNAL_*",
    "CODEX_MANAGED_*",
    "CODEX_NON_INTERACTIVE",
    "CODEX_SANDBOX*",
    "CODEX_SESSION_ID",
    "CODEX_SQLITE_HOME",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    "GH_PAGER",
    "GIT_PAGER",
    "NoDefaultCurrentDirectoryInExePath",
    "OPENCODE",
    "OPENCODE_CLIENT",
    "OPENCODE_FAST_BOOT",
    "OPENCODE_MINI",
    "OPENCODE_PERMISSION",
    "OPENCODE_PID",
    "OPENCODE_PURE",
    "OPENCODE_ROUTE",
    "OPENCODE_SERVER_*",
    "OPENCODE_TUI_CONFIG",
    "PAGER",
];

/// Settings that keep git from running a program a repository's own configuration names.
const GIT_GUARD: [(&str, &str); 3] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("diff.external", ""),
];

/// The entry of the environment all that a peer starts bears.
pub const SEAT: (&str, &str) = ("CODRIVER_SEAT", "peer");

/// Makes the launch of `profile` in `seat`.
pub fn launch(profile: &Profile, seat: Seat, grounds: &Grounds<'_>) -> Result<Launch, LaunchError> {
    if profile.command.is_empty() {
        return Err(LaunchError::NoCommand(profile.name.clone()));
    }
    let filler = Filler::new(grounds)?;
    let args = match seat {
        Seat::Driver | Seat::DriverAgain => &profile.driver_args,
        Seat::Peer => &profile.peer_args,
    };
    let again: &[String] = match seat {
        Seat::DriverAgain => &profile.driver_resume_args,
        Seat::Driver | Seat::Peer => &[],
    };
    // Without a socket there is no console to ask.
    let has_console = grounds.values.iter().any(|(name, _)| *name == "socket");
    let (tools, tools_env) = match seat {
        Seat::Driver | Seat::DriverAgain if has_console => (
            profile.driver_tools_args.as_slice(),
            Some(&profile.driver_tools_env),
        ),
        Seat::Peer if profile.submits => {
            (profile.submit_args.as_slice(), Some(&profile.submit_env))
        }
        _ => (&[][..], None),
    };
    let locked: &[String] = match seat {
        Seat::Peer => profile.lock_args.of(grounds.lock),
        Seat::Driver | Seat::DriverAgain => &[],
    };
    let argv = profile
        .command
        .iter()
        .chain(args)
        .chain(tools)
        .chain(locked)
        .chain(again);
    let mut env = vec![("TERM".to_owned(), "xterm-256color".to_owned())];
    let always = TERMINALS.iter().chain(&NESTED);
    let mut env_remove: Vec<String> = always.map(|name| (*name).to_owned()).collect();
    if !speaks_unicode(grounds.variable) {
        // LC_ALL would win over what is set here.
        env_remove.push("LC_ALL".to_owned());
        env.push(("LC_CTYPE".to_owned(), "C.UTF-8".to_owned()));
    }
    if seat == Seat::Peer {
        let foreign = GIT.iter().chain(&LOADERS).chain(&OUTLETS);
        env_remove.extend(foreign.map(|name| (*name).to_owned()));
        env.extend(scratch_env(&filler.fill("{scratch}")));
        env.extend(git_guard((grounds.variable)("GIT_CONFIG_COUNT")));
        // Without it, a mere `git status` writes the index of the person's working tree.
        env.push(("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned()));
        // By this a console knows what a reviewer runs, also a reviewer of another console.
        env.push((SEAT.0.to_owned(), SEAT.1.to_owned()));
        if let Some(path) = (grounds.variable)("PATH") {
            env.push(("PATH".to_owned(), outside_path(&path, grounds.repository)));
        }
    }
    env_remove.extend(profile.env_remove.iter().cloned());
    let peer_env = (seat == Seat::Peer).then_some(&profile.peer_env);
    for (name, value) in profile.env.iter().chain(peer_env.into_iter().flatten()) {
        env.retain(|(known, _)| known != name);
        let value = filler.fill(value);
        let theirs = profile
            .env_merge
            .contains(name)
            .then(|| (grounds.variable)(name))
            .flatten();
        let value = match theirs {
            Some(theirs) => merged(&theirs, &value),
            None => value,
        };
        env.push((name.clone(), value));
    }
    for (name, value) in tools_env.into_iter().flatten() {
        let before = env.iter().position(|(known, _)| known == name);
        let under = match before {
            Some(at) => Some(env.remove(at).1),
            None => (grounds.variable)(name),
        };
        let value = filler.fill(value);
        let value = under.map_or_else(|| value.clone(), |under| laid(&under, &value));
        env.push((name.clone(), value));
    }
    let folder = match (seat, profile.peer_folder) {
        (Seat::Peer, PeerFolder::Private) => grounds.private,
        _ => grounds.repository,
    };
    Ok(Launch {
        argv: argv.map(|word| filler.fill(word)).collect(),
        env,
        env_remove,
        folder: folder.to_path_buf(),
    })
}

/// What a profile says of the peer's rights, for its brief.
pub fn allows(profile: &Profile, grounds: &Grounds<'_>) -> Result<String, LaunchError> {
    Filler::new(grounds).map(|filler| filler.fill(&profile.allows))
}

/// A search path without its relative folders and those of the repository: the interpreter of a script, and whatever an
/// agent starts by name, is looked for there too.
pub fn outside_path(path: &str, repository: &Path) -> String {
    let outside = |folder: &&str| {
        let folder = Path::new(folder);
        folder.is_absolute() && !folder.starts_with(repository)
    };
    path.split(':')
        .filter(outside)
        .collect::<Vec<_>>()
        .join(":")
}

/// Our JSON object laid over theirs, key by key. No permission of theirs stays beside ours: one rule too many would
/// open what ours close. What is no object gives way.
fn merged(theirs: &str, ours: &str) -> String {
    fn close(value: &mut Value) {
        if let Value::Object(fields) = value {
            fields.remove("permission");
            fields.remove("tools");
            fields.values_mut().for_each(close);
        }
    }
    let (Ok(mut under), Ok(over)) = (
        serde_json::from_str::<Value>(theirs),
        serde_json::from_str::<Value>(ours),
    ) else {
        return ours.to_owned();
    };
    if !under.is_object() {
        return ours.to_owned();
    }
    close(&mut under);
    lay(&mut under, over, &|key| key != "permission");
    under.to_string()
}

/// One JSON object laid over another, key by key. What is no object gives way.
fn laid(under: &str, over: &str) -> String {
    let (Ok(mut below), Ok(above)) = (
        serde_json::from_str::<Value>(under),
        serde_json::from_str::<Value>(over),
    ) else {
        return over.to_owned();
    };
    if !below.is_object() {
        return over.to_owned();
    }
    lay(&mut below, above, &|_| true);
    below.to_string()
}

/// Lays a value over another; `goes_in` says whether what stands under a key is gone into, or replaced.
fn lay(under: &mut Value, over: Value, goes_in: &dyn Fn(&str) -> bool) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                match under.get_mut(&key) {
                    Some(known) if goes_in(&key) => lay(known, value, goes_in),
                    _ => {
                        under.insert(key, value);
                    }
                }
            }
        }
        (under, over) => *under = over,
    }
}

/// The guard as further entries behind those the person's environment already gives git.
fn git_guard(count: Option<String>) -> Vec<(String, String)> {
    let before: usize = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    let entries = GIT_GUARD.iter().enumerate().flat_map(|(i, (key, value))| {
        let n = before + i;
        [
            (format!("GIT_CONFIG_KEY_{n}"), (*key).to_owned()),
            (format!("GIT_CONFIG_VALUE_{n}"), (*value).to_owned()),
        ]
    });
    let total = (before + GIT_GUARD.len()).to_string();
    std::iter::once(("GIT_CONFIG_COUNT".to_owned(), total))
        .chain(entries)
        .collect()
}

fn speaks_unicode(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
}

/// Puts values in the place of `{name}`, and of `{name:quoted}` inside the quotes of a JSON or TOML string.
struct Filler {
    values: Vec<(String, String)>,
}

impl Filler {
    fn new(grounds: &Grounds<'_>) -> Result<Self, LaunchError> {
        let text = |path: &Path, what| {
            path.to_str()
                .map(str::to_owned)
                .ok_or(LaunchError::Path(what))
        };
        let mut values = vec![
            ("self".to_owned(), text(grounds.own, "this program")?),
            (
                "repo".to_owned(),
                text(grounds.repository, "the repository")?,
            ),
            (
                "private".to_owned(),
                text(grounds.private, "the session's folder")?,
            ),
            (
                "scratch".to_owned(),
                text(grounds.scratch, "the session's folder")?,
            ),
        ];
        let further = grounds.values.iter();
        values.extend(further.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Ok(Self { values })
    }

    /// One pass from left to right: what is put in is never read again.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            match self.placeholder(rest) {
                Some((length, value)) => {
                    filled.push_str(&value);
                    rest = &rest[length..];
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// The placeholder `text` begins with: its length and what stands for it.
    fn placeholder(&self, text: &str) -> Option<(usize, String)> {
        let end = text.find('}')?;
        let inner = &text[1..end];
        let (name, is_quoted) = match inner.strip_suffix(":quoted") {
            Some(name) => (name, true),
            None => (inner, false),
        };
        let (_, value) = self.values.iter().find(|(known, _)| known == name)?;
        let value = match is_quoted {
            true => {
                let quoted = Value::from(value.as_str()).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
            false => value.clone(),
        };
        Some((end + 1, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{bundled_profile, bundled_profiles};

    fn grounds<'g>(
        repository: &'g Path,
        variable: &'g dyn Fn(&str) -> Option<String>,
    ) -> Grounds<'g> {
        Grounds {
            own: Path::new("/bin/codriver"),
            repository,
            private: Path::new("/state/private"),
            scratch: Path::new("/state/scratch"),
            lock: Lock::None,
            values: &[("port", "4096")],
            variable,
        }
    }

    fn utf8(name: &str) -> Option<String> {
        (name == "LANG").then(|| "en_US.UTF-8".to_owned())
    }

    fn made(name: &str, seat: Seat) -> Result<Launch, LaunchError> {
        launch(
            &bundled_profile(name),
            seat,
            &grounds(Path::new("/re po"), &utf8),
        )
    }

    fn value<'l>(launch: &'l Launch, name: &str) -> Option<&'l str> {
        let mut found = launch.env.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is set twice");
        value
    }

    #[test]
    fn their_json_stays_under_ours_without_its_permissions() {
        let theirs = r#"{"model":"a/b","permission":{"bash":"allow"},"agent":{"plan":{"model":"c","permission":{"edit":"allow"},"tools":{"bash":true}}}}"#;
        let ours = r#"{"permission":{"*":"deny"},"agent":{"plan":{"permission":{"*":"deny"}}}}"#;
        assert_eq!(
            merged(theirs, ours),
            r#"{"model":"a/b","agent":{"plan":{"model":"c","permission":{"*":"deny"}}},"permission":{"*":"deny"}}"#
        );
        assert_eq!(merged("no json", ours), ours);
    }

    #[test]
    fn every_placeholder_of_the_bundled_profiles_is_known() -> Result<(), LaunchError> {
        for name in bundled_profiles().filter(|name| *name != "unknown") {
            for seat in [Seat::Driver, Seat::Peer] {
                let launch = made(name, seat)?;
                let all = launch
                    .argv
                    .iter()
                    .chain(launch.env.iter().map(|(_, value)| value));
                for text in all {
                    for left in ["{self", "{repo", "{private", "{scratch", "{port"] {
                        assert!(!text.contains(left), "{name}: {text}");
                    }
                }
            }
            let allows = allows(&bundled_profile(name), &grounds(Path::new("/r"), &utf8))?;
            assert!(
                !allows.contains('{') && !allows.is_empty(),
                "{name}: {allows}"
            );
        }
        Ok(())
    }

    #[test]
    fn agents_that_load_what_their_folder_holds_are_started_elsewhere() -> Result<(), LaunchError> {
        for (name, folder) in [
            ("claude", "/re po"),
            ("codex", "/state/private"),
            ("opencode", "/state/private"),
        ] {
            assert_eq!(made(name, Seat::Peer)?.folder, Path::new(folder), "{name}");
            assert_eq!(
                made(name, Seat::Driver)?.folder,
                Path::new("/re po"),
                "{name}"
            );
        }
        Ok(())
    }

    #[test]
    fn the_demo_agent_is_this_program() -> Result<(), LaunchError> {
        let launch = made("demo", Seat::Peer)?;
        assert_eq!(launch.argv[..2], ["/bin/codriver", "demo-agent"]);
        Ok(())
    }

    #[test]
    fn a_path_inside_quotes_cannot_leave_them() -> Result<(), LaunchError> {
        let odd = Path::new("/a\"},\"x\":{\"b\\c\n{private}");
        let launch = launch(
            &bundled_profile("opencode"),
            Seat::Peer,
            &grounds(odd, &utf8),
        )?;
        let json: Value =
            serde_json::from_str(value(&launch, "OPENCODE_CONFIG_CONTENT").unwrap_or_default())
                .unwrap_or_default();
        let allowed = &json["permission"]["external_directory"];
        assert_eq!(allowed[odd.to_str().unwrap_or_default()], "allow");
        assert_eq!(allowed.as_object().map(serde_json::Map::len), Some(3));
        assert_eq!(
            json["permission"],
            json["agent"]["codriver-peer"]["permission"]
        );
        Ok(())
    }

    #[test]
    fn what_is_put_in_is_not_read_again() -> Result<(), LaunchError> {
        let filler = Filler::new(&grounds(Path::new("/x{self}y"), &utf8))?;
        assert_eq!(
            filler.fill("{repo} {port} {other} {{self}} {"),
            "/x{self}y 4096 {other} {/bin/codriver} {"
        );
        Ok(())
    }

    #[test]
    fn a_peer_is_guarded_behind_the_persons_own_git_settings() -> Result<(), LaunchError> {
        let variable = |name: &str| match name {
            "GIT_CONFIG_COUNT" => Some("2".to_owned()),
            _ => utf8(name),
        };
        let profile = bundled_profile("claude");
        let launch = launch(&profile, Seat::Peer, &grounds(Path::new("/r"), &variable))?;
        assert_eq!(value(&launch, "GIT_CONFIG_COUNT"), Some("5"));
        assert_eq!(value(&launch, "GIT_CONFIG_KEY_0"), None);
        assert_eq!(value(&launch, "GIT_CONFIG_KEY_2"), Some("core.fsmonitor"));
        assert_eq!(value(&launch, "GIT_CONFIG_VALUE_3"), Some("/dev/null"));
        assert_eq!(value(&launch, "GIT_OPTIONAL_LOCKS"), Some("0"));
        for name in ["GIT_DIR", "TMUX", "CLAUDECODE"] {
            assert!(
                launch.env_remove.iter().any(|removed| removed == name),
                "{name}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_peer_finds_no_program_of_the_repository() {
        assert_eq!(
            outside_path(
                "/r/node_modules/.bin::.:bin:/usr/bin:/r:/r2",
                Path::new("/r")
            ),
            "/usr/bin:/r2"
        );
    }

    #[test]
    fn a_driver_keeps_its_own_git() -> Result<(), LaunchError> {
        let launch = made("claude", Seat::Driver)?;
        assert_eq!(value(&launch, "GIT_CONFIG_COUNT"), None);
        assert!(!launch.env_remove.iter().any(|name| name == "GIT_DIR"));
        assert_eq!(launch.argv, ["claude"]);
        Ok(())
    }

    #[test]
    fn a_child_always_speaks_unicode() -> Result<(), LaunchError> {
        let profile = bundled_profile("codex");
        for (all, lang, is_set) in [
            (None, None, true),
            (Some("C"), Some("en_US.UTF-8"), true),
            (None, Some("de_DE.utf8"), false),
        ] {
            let variable = |name: &str| match name {
                "LC_ALL" => all.map(str::to_owned),
                "LANG" => lang.map(str::to_owned),
                _ => None,
            };
            let launch = launch(&profile, Seat::Peer, &grounds(Path::new("/r"), &variable))?;
            assert_eq!(
                value(&launch, "LC_CTYPE"),
                is_set.then_some("C.UTF-8"),
                "{all:?} {lang:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_profile_without_a_command_cannot_be_started() {
        assert_eq!(
            made("unknown", Seat::Peer),
            Err(LaunchError::NoCommand("unknown".to_owned()))
        );
    }

    #[test]
    fn a_driver_gets_the_tools_of_the_console_it_runs_in_and_no_other_does()
    -> Result<(), LaunchError> {
        let theirs =
            r#"{"model":"a/b","mcp":{"mine":{"type":"local"}},"permission":{"edit":"ask"}}"#;
        let variable = |name: &str| (name == "OPENCODE_CONFIG_CONTENT").then(|| theirs.to_owned());
        let without = grounds(Path::new("/repo"), &variable);
        let values = [("port", "4096"), ("socket", "/run/a b.sock")];
        let with = Grounds {
            values: &values,
            ..without
        };
        for name in ["claude", "codex"] {
            let profile = bundled_profile(name);
            let words = |launch: &Launch| launch.argv.join(" ");
            let driven = launch(&profile, Seat::Driver, &with)?;
            assert!(words(&driven).contains("/run/a b.sock"), "{driven:?}");
            let alone = launch(&profile, Seat::Driver, &without)?;
            assert!(!words(&alone).contains("mcp"), "{alone:?}");
            let peer = launch(&profile, Seat::Peer, &with)?;
            assert!(!words(&peer).contains("--console"), "{peer:?}");
            assert!(words(&peer).contains("--submit"), "{peer:?}");
        }
        let driven = launch(&bundled_profile("opencode"), Seat::Driver, &with)?;
        let mut found = driven
            .env
            .iter()
            .filter(|(name, _)| name == "OPENCODE_CONFIG_CONTENT");
        let value = found
            .next()
            .map(|(_, value)| value.clone())
            .unwrap_or_default();
        let value: Value = serde_json::from_str(&value).unwrap_or_default();
        assert_eq!(value["model"], "a/b");
        assert_eq!(value["mcp"]["mine"]["type"], "local");
        // The driver is the person's own: what they allow it stays.
        assert_eq!(value["permission"]["edit"], "ask");
        assert_eq!(value["mcp"]["codriver"]["command"][3], "/run/a b.sock");
        Ok(())
    }

    #[test]
    fn a_peer_that_may_not_hand_in_has_no_tool_for_it() -> Result<(), LaunchError> {
        let variable = |_: &str| None;
        let grounds = grounds(Path::new("/repo"), &variable);
        for name in ["claude", "codex", "opencode"] {
            let mut profile = bundled_profile(name);
            profile.submits = false;
            let launch = launch(&profile, Seat::Peer, &grounds)?;
            assert!(!format!("{launch:?}").contains("submissions"), "{launch:?}");
        }
        Ok(())
    }
}
