//! `doctor`: which agents are installed, what is proven of them, and what is wrong on this machine.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::config::{
    Printed, Workplace, diagnostics_json, faults_json, files_json, files_of, read, state_of,
};
use crate::cli::Options;
use crate::config::{Diagnostic, Faults, Layers, Profile, bundled_profile, bundled_profiles, load};
use crate::world::command::{Order, run as run_command};
use crate::world::folder::{Folder, look};
use crate::world::terminal::{self, Streams};
use crate::world::{environment, program, settings_file};
use crate::{limits, plain};

/// A program looked for, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Not on this machine.
    Missing(String),
    /// It is there and will never be started, and why.
    Refused(PathBuf, String),
    /// It is there.
    Found {
        /// The program.
        path: PathBuf,
        /// Its version, or why it did not tell.
        version: Result<String, String>,
    },
    /// It is this very program.
    BuiltIn,
}

/// How a program is looked for and asked, so that the judging needs no machine.
pub struct Probe<'p> {
    /// Finds the program a word means.
    pub find: &'p dyn Fn(&OsStr) -> Result<PathBuf, String>,
    /// Whether a path lies in the repository being worked on.
    pub is_inside: &'p dyn Fn(&Path) -> bool,
    /// What a program prints when asked for its version.
    pub ask: &'p dyn Fn(&Path, &Profile) -> Result<String, String>,
}

/// Looks for one agent.
pub fn presence(profile: &Profile, probe: &Probe<'_>) -> Presence {
    let Some(word) = profile.command.first() else {
        return Presence::Missing("it has no command".to_owned());
    };
    if word == "{self}" {
        return Presence::BuiltIn;
    }
    let path = match (probe.find)(OsStr::new(word)) {
        Ok(path) => path,
        Err(why) => return Presence::Missing(why),
    };
    if (probe.is_inside)(&path) {
        let why = "it lies inside the repository being worked on and is never started";
        return Presence::Refused(path, why.to_owned());
    }
    let version = (probe.ask)(&path, profile)
        .and_then(|text| version_in(&text).ok_or_else(|| "it printed no version".to_owned()));
    Presence::Found { path, version }
}

/// The first thing in a text that looks like a version.
fn version_in(text: &str) -> Option<String> {
    static VERSION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}(?:[-+][0-9A-Za-z.+-]{1,40})?")
            .expect("the pattern is fixed")
    });
    VERSION.find(text).map(|found| found.as_str().to_owned())
}

/// What a profile's proofs are worth for the version that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Every proof is of this version.
    Proven(Vec<String>),
    /// There are proofs, but of other versions.
    Other(Vec<String>),
    /// Nothing was ever proven.
    Nothing,
}

/// Holds the proofs against the installed version.
pub fn standing(profile: &Profile, version: &str) -> Standing {
    if profile.proven.is_empty() {
        return Standing::Nothing;
    }
    let here = profile
        .proven
        .iter()
        .filter(|proven| proven.version == version);
    let parts: Vec<String> = here.map(|proven| proven.part.clone()).collect();
    if !parts.is_empty() {
        return Standing::Proven(parts);
    }
    let mut versions: Vec<String> = Vec::new();
    for proven in &profile.proven {
        if !versions.contains(&proven.version) {
            versions.push(proven.version.clone());
        }
    }
    Standing::Other(versions)
}

/// Everything the report is made of.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Agents and what became of looking for them.
    pub agents: Vec<(Profile, Presence)>,
    /// The program git.
    pub git: Presence,
    /// Relative folders of the search path.
    pub relative: Vec<String>,
    /// The layers' files.
    pub layers: Layers,
    /// Their faults.
    pub faults: Faults,
    /// What was set aside or overruled.
    pub diagnostics: Vec<Diagnostic>,
    /// Name, path and state of codriver's own folders.
    pub folders: Vec<(&'static str, Option<(PathBuf, Folder)>)>,
    /// The terminal.
    pub terminal: Terminal,
    /// The root of the repository being worked on.
    pub root: Option<PathBuf>,
}

/// The terminal this runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// `TERM`.
    pub term: Option<String>,
    /// `COLORTERM`.
    pub colorterm: Option<String>,
    /// Columns and rows.
    pub size: Option<(u16, u16)>,
    /// Which of the standard streams are terminals.
    pub streams: Streams,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
}

impl Terminal {
    /// How many colours it says it has.
    pub fn colors(&self) -> u32 {
        let term = self.term.as_deref().unwrap_or("dumb");
        match self.colorterm.as_deref() {
            _ if term == "dumb" => 0,
            Some("truecolor" | "24bit") => 1 << 24,
            _ if term.ends_with("-direct") => 1 << 24,
            _ if term.contains("256color") => 256,
            _ => 8,
        }
    }
}

/// Runs `doctor`.
pub fn run(place: &Workplace, options: &Options) -> Printed {
    let facts = gather(place, options);
    match options.json {
        true => Printed::json(&report_json(&facts)),
        false => Printed::done(report(&facts)),
    }
}

fn gather(place: &Workplace, options: &Options) -> Facts {
    let layers = read(place, options);
    let (profiles, diagnostics, faults) = match load(&layers) {
        Ok(settings) => (
            settings.profiles().cloned().collect(),
            settings.diagnostics,
            Faults(Vec::new()),
        ),
        // Only here: the report of a faulty file is still worth reading, and nothing is started from it.
        Err(faults) => (
            bundled_profiles().map(bundled_profile).collect::<Vec<_>>(),
            Vec::new(),
            faults,
        ),
    };
    let path = environment::variable("PATH");
    let find = |word: &OsStr| {
        program::find(word, path.as_deref(), &place.folder).map_err(|error| error.to_string())
    };
    let is_inside = |path: &Path| {
        place
            .root
            .as_ref()
            .is_some_and(|root| settings_file::is_inside(path, root))
    };
    // Agents take up to a second to tell their version: they are asked all at once.
    let profiles: Vec<Profile> = profiles
        .into_iter()
        .filter(|profile| !profile.command.is_empty())
        .collect();
    let agents = std::thread::scope(|scope| {
        let asked: Vec<_> = profiles
            .into_iter()
            .map(|profile| {
                scope.spawn(|| {
                    let probe = Probe {
                        find: &find,
                        is_inside: &is_inside,
                        ask: &ask_version,
                    };
                    let presence = presence(&profile, &probe);
                    (profile, presence)
                })
            })
            .collect();
        asked
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let git = Profile {
        command: vec!["git".to_owned()],
        version_args: vec!["--version".to_owned()],
        ..Profile::default()
    };
    let probe = Probe {
        find: &find,
        is_inside: &is_inside,
        ask: &ask_version,
    };
    let folders = &place.folders;
    Facts {
        agents,
        git: presence(&git, &probe),
        relative: relative_folders(path.as_deref()),
        layers,
        faults,
        diagnostics,
        folders: [
            ("config", &folders.config),
            ("state", &folders.state),
            ("runtime", &folders.runtime),
        ]
        .map(|(name, folder)| {
            (
                name,
                folder.as_ref().map(|folder| (folder.clone(), look(folder))),
            )
        })
        .to_vec(),
        terminal: Terminal {
            term: text_variable("TERM"),
            colorterm: text_variable("COLORTERM"),
            size: terminal::size(),
            streams: Streams::look(),
            no_color: environment::variable("NO_COLOR").is_some(),
        },
        root: place.root.clone(),
    }
}

fn text_variable(name: &str) -> Option<String> {
    environment::variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// Asks a program for its version, away from the repository, so that nothing of it is read.
fn ask_version(path: &Path, profile: &Profile) -> Result<String, String> {
    let words = |map: &std::collections::BTreeMap<String, String>| {
        map.iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect::<Vec<_>>()
    };
    let order = Order {
        args: profile.version_args.iter().map(OsString::from).collect(),
        env: words(&profile.env),
        env_remove: profile.env_remove.iter().map(OsString::from).collect(),
        ..Order::new(path, Path::new("/"))
    };
    let outcome = run_command(&order).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&outcome.output).into_owned();
    match outcome.status.success() {
        true => Ok(text),
        false => Err(format!(
            "asked for its version, it ended with {}",
            outcome.status
        )),
    }
}

/// The relative folders of a search path, an empty one among them: they are never searched.
fn relative_folders(path: Option<&OsStr>) -> Vec<String> {
    path.into_iter()
        .flat_map(std::env::split_paths)
        .filter(|folder| !folder.is_absolute())
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect()
}

fn shown(text: &str) -> String {
    plain::display(text, limits::QUOTE_BYTES)
}

fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// The report as a person reads it.
fn report(facts: &Facts) -> String {
    let mut text = format!("codriver {}\n\nAgents\n", env!("CARGO_PKG_VERSION"));
    let mut line = |words: String| {
        text.push_str(words.trim_end());
        text.push('\n');
    };
    for (profile, presence) in &facts.agents {
        line(format!(
            "  {:<13} {}",
            shown(&profile.name),
            told(profile, presence)
        ));
    }
    if !facts
        .agents
        .iter()
        .any(|(_, presence)| matches!(presence, Presence::Found { .. }))
    {
        line("  No agent is installed; `--peer demo` works without one.".to_owned());
    }
    line("\nSettings".to_owned());
    for (layer, file) in files_of(&facts.layers) {
        line(match file {
            Some(file) => format!(
                "  {:<13} {} ({})",
                layer.as_str(),
                shown_path(&file.path),
                state_of(file)
            ),
            None => format!("  {:<13} none: set XDG_CONFIG_HOME or HOME", layer.as_str()),
        });
    }
    for fault in &facts.faults.0 {
        line(format!("  fault: {fault}"));
    }
    for diagnostic in &facts.diagnostics {
        line(format!("  note: {diagnostic}"));
    }
    line("\nFolders".to_owned());
    for (name, folder) in &facts.folders {
        line(match folder {
            Some((path, state)) => format!(
                "  {name:<13} {} ({})",
                shown_path(path),
                folder_words(*state)
            ),
            None => format!("  {name:<13} none: set HOME"),
        });
    }
    line("\nTerminal".to_owned());
    for words in terminal_words(&facts.terminal) {
        line(format!("  {words}"));
    }
    line("\nTools".to_owned());
    line(format!("  {:<13} {}", "git", tool(&facts.git)));
    line(match &facts.root {
        Some(root) => format!("  {:<13} {}", "repository", shown_path(root)),
        None => format!(
            "  {:<13} none here; a round works without one",
            "repository"
        ),
    });
    if !facts.relative.is_empty() {
        let folders: Vec<String> = facts
            .relative
            .iter()
            .map(|folder| format!("`{}`", shown(folder)))
            .collect();
        line(format!(
            "  {:<13} relative folders in PATH are never searched: {}",
            "PATH",
            folders.join(", ")
        ));
    }
    text
}

fn told(profile: &Profile, presence: &Presence) -> String {
    match presence {
        Presence::BuiltIn => "built in".to_owned(),
        Presence::Missing(why) => format!("not installed: {}", shown(why)),
        Presence::Refused(path, why) => format!("refused: {}: {why}", shown_path(path)),
        Presence::Found { path, version } => match version {
            Ok(version) => format!(
                "{version:<12} {}  {}",
                shown_path(path),
                standing_words(&standing(profile, version))
            ),
            Err(why) => format!("{:<12} {}  {}", "version ?", shown_path(path), shown(why)),
        },
    }
}

fn standing_words(standing: &Standing) -> String {
    match standing {
        Standing::Proven(parts) => format!("proven: {}", shown(&parts.join(", "))),
        Standing::Other(versions) => {
            format!(
                "proven on {} only, not on this version",
                shown(&versions.join(", "))
            )
        }
        Standing::Nothing => "nothing proven".to_owned(),
    }
}

fn tool(presence: &Presence) -> String {
    match presence {
        Presence::Found { path, version } => {
            let version = version.as_deref().unwrap_or("version ?");
            format!("{version:<12} {}", shown_path(path))
        }
        Presence::Refused(path, why) => format!("refused: {}: {why}", shown_path(path)),
        Presence::Missing(why) => format!("{}; `--diff` needs it", shown(why)),
        Presence::BuiltIn => "built in".to_owned(),
    }
}

fn folder_words(folder: Folder) -> &'static str {
    match folder {
        Folder::Writable => "writable",
        Folder::Creatable => "made when needed",
        Folder::Closed => "cannot be written: nothing is recorded there",
        Folder::NotAFolder => "no folder: nothing is recorded there",
    }
}

fn terminal_words(terminal: &Terminal) -> Vec<String> {
    let term = terminal.term.as_deref().unwrap_or("not set");
    let size = match terminal.size {
        Some((cols, rows)) => format!("{cols}x{rows}"),
        None => "no size".to_owned(),
    };
    let colors = match terminal.colors() {
        0 => "no colours".to_owned(),
        count => format!("{count} colours"),
    };
    let off = if terminal.no_color {
        ", off by NO_COLOR"
    } else {
        ""
    };
    let streams = [
        ("standard input", terminal.streams.stdin),
        ("standard output", terminal.streams.stdout),
        ("standard error", terminal.streams.stderr),
    ];
    let piped: Vec<&str> = streams
        .into_iter()
        .filter_map(|(name, is_terminal)| (!is_terminal).then_some(name))
        .collect();
    let mut words = vec![format!("TERM {}, {size}, {colors}{off}", shown(term))];
    if !piped.is_empty() {
        words.push(format!("no terminal on {}", piped.join(", ")));
    }
    words
}

/// The report as a script reads it.
fn report_json(facts: &Facts) -> Value {
    let agents: Vec<Value> = facts
        .agents
        .iter()
        .map(|(profile, presence)| {
            let mut shown = presence_json(presence);
            shown["name"] = Value::from(profile.name.as_str());
            shown["title"] = Value::from(profile.title.as_str());
            shown["proven"] = proven_json(profile, presence);
            shown
        })
        .collect();
    let folders: serde_json::Map<String, Value> = facts
        .folders
        .iter()
        .map(|(name, folder)| {
            let shown = folder.as_ref().map(|(path, state)| {
                json!({
                    "path": path.to_string_lossy(),
                    "state": match state {
                        Folder::Writable => "writable",
                        Folder::Creatable => "creatable",
                        Folder::Closed => "closed",
                        Folder::NotAFolder => "not-a-folder",
                    },
                })
            });
            ((*name).to_owned(), json!(shown))
        })
        .collect();
    let terminal = &facts.terminal;
    json!({
        "schema": "codriver.doctor/1",
        "version": env!("CARGO_PKG_VERSION"),
        "harnesses": agents,
        "config": {
            "files": files_json(&files_of(&facts.layers)),
            "faults": faults_json(&facts.faults.0),
            "diagnostics": diagnostics_json(&facts.diagnostics),
        },
        "folders": folders,
        "terminal": {
            "term": terminal.term,
            "cols": terminal.size.map(|(cols, _)| cols),
            "rows": terminal.size.map(|(_, rows)| rows),
            "colors": terminal.colors(),
            "no_color": terminal.no_color,
            "stdin": terminal.streams.stdin,
            "stdout": terminal.streams.stdout,
            "stderr": terminal.streams.stderr,
        },
        "git": presence_json(&facts.git),
        "repository": facts.root.as_ref().map(|root| root.to_string_lossy()),
        "relative_path_entries": facts.relative,
    })
}

fn presence_json(presence: &Presence) -> Value {
    match presence {
        Presence::BuiltIn => json!({ "state": "built-in" }),
        Presence::Missing(why) => json!({ "state": "missing", "detail": shown(why) }),
        Presence::Refused(path, why) => {
            json!({ "state": "refused", "path": path.to_string_lossy(), "detail": why })
        }
        Presence::Found { path, version } => json!({
            "state": "found",
            "path": path.to_string_lossy(),
            "version": version.as_ref().ok(),
            "detail": version.as_ref().err().map(|why| shown(why)),
        }),
    }
}

fn proven_json(profile: &Profile, presence: &Presence) -> Value {
    let installed = match presence {
        Presence::Found { version, .. } => version.as_deref().ok(),
        _ => None,
    };
    profile
        .proven
        .iter()
        .map(|proven| {
            json!({
                "part": proven.part,
                "version": proven.version,
                "installed": installed.map(|version| version == proven.version),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::config::Layer;

    fn no_terminal() -> Terminal {
        Terminal {
            term: None,
            colorterm: None,
            size: None,
            streams: Streams {
                stdin: false,
                stdout: true,
                stderr: true,
            },
            no_color: false,
        }
    }

    fn codex() -> Profile {
        bundled_profile("codex")
    }

    fn look_for(
        found: Result<&str, &str>,
        inside: bool,
        answer: Result<&str, &str>,
    ) -> (Presence, u32) {
        let asked = Cell::new(0);
        let found = found.map(PathBuf::from).map_err(str::to_owned);
        let answer = answer.map(str::to_owned).map_err(str::to_owned);
        let probe = Probe {
            find: &|word| {
                assert_eq!(word, "codex");
                found.clone()
            },
            is_inside: &|_| inside,
            ask: &|_, _| {
                asked.set(asked.get() + 1);
                answer.clone()
            },
        };
        (presence(&codex(), &probe), asked.get())
    }

    #[test]
    fn a_version_is_read_out_of_what_a_program_prints() {
        for (text, version) in [
            ("codex-cli 0.171.0\n", Some("0.171.0")),
            ("2.1.197 (Claude Code)", Some("2.1.197")),
            ("v1.0.0-beta.2+x", Some("1.0.0-beta.2+x")),
            ("git version 2.39.5", Some("2.39.5")),
            ("\x1b[31mno\x1b[0m", None),
            ("7", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn an_installed_agent_is_asked_once() {
        let (presence, asked) = look_for(Ok("/bin/codex"), false, Ok("codex-cli 0.171.0"));
        assert_eq!(
            presence,
            Presence::Found {
                path: "/bin/codex".into(),
                version: Ok("0.171.0".to_owned())
            }
        );
        assert_eq!(asked, 1);
    }

    #[test]
    fn a_program_inside_the_repository_is_never_started() {
        let (presence, asked) = look_for(Ok("/repo/codex"), true, Ok("1.0"));
        assert!(matches!(presence, Presence::Refused(..)));
        assert_eq!(asked, 0);
        assert!(told(&codex(), &presence).contains("inside the repository"));
    }

    #[test]
    fn what_is_missing_is_not_started() {
        let (presence, asked) = look_for(Err("not there"), false, Ok("1.0"));
        assert_eq!(presence, Presence::Missing("not there".to_owned()));
        assert_eq!(asked, 0);
    }

    #[test]
    fn the_demo_agent_needs_no_program() {
        let probe = Probe {
            find: &|_| Err("asked".to_owned()),
            is_inside: &|_| true,
            ask: &|_, _| Err("asked".to_owned()),
        };
        assert_eq!(
            presence(&bundled_profile("demo"), &probe),
            Presence::BuiltIn
        );
    }

    #[test]
    fn a_proof_counts_for_its_version_alone() {
        let standing = |version| standing_words(&standing(&codex(), version));
        assert!(
            standing("0.171.0").starts_with("proven: "),
            "{}",
            standing("0.171.0")
        );
        assert_eq!(
            standing("0.172.0"),
            "proven on 0.171.0 only, not on this version"
        );
        assert_eq!(
            standing_words(&super::standing(&bundled_profile("gemini"), "1.0")),
            "nothing proven"
        );
    }

    #[test]
    fn relative_folders_of_the_search_path_are_told() {
        assert_eq!(
            relative_folders(Some(OsStr::new("/bin:.:bin::/usr/bin"))),
            [".", "bin", ""]
        );
        assert_eq!(relative_folders(None), Vec::<String>::new());
    }

    #[test]
    fn colours_are_told_from_the_variables() {
        let colors = |term: Option<&str>, colorterm: Option<&str>| {
            Terminal {
                term: term.map(str::to_owned),
                colorterm: colorterm.map(str::to_owned),
                ..no_terminal()
            }
            .colors()
        };
        assert_eq!(colors(None, Some("truecolor")), 0);
        assert_eq!(colors(Some("dumb"), None), 0);
        assert_eq!(colors(Some("xterm"), None), 8);
        assert_eq!(colors(Some("xterm-256color"), None), 256);
        assert_eq!(colors(Some("xterm-256color"), Some("truecolor")), 1 << 24);
    }

    #[test]
    fn a_report_says_everything_once() {
        let facts = Facts {
            agents: vec![
                (codex(), look_for(Ok("/bin/codex"), false, Ok("0.171.0")).0),
                (
                    bundled_profile("gemini"),
                    Presence::Missing("`gemini` is not on the search path".to_owned()),
                ),
                (bundled_profile("demo"), Presence::BuiltIn),
            ],
            git: Presence::Missing("`git` is not on the search path".to_owned()),
            relative: vec![".".to_owned()],
            layers: Layers {
                machine: Some(crate::config::LayerFile {
                    path: "/m.toml".into(),
                    text: Ok(None),
                }),
                ..Layers::default()
            },
            faults: Faults(Vec::new()),
            diagnostics: vec![Diagnostic {
                code: "unknown-role",
                what: "a note".to_owned(),
            }],
            folders: vec![
                ("state", Some(("/s".into(), Folder::Closed))),
                ("runtime", None),
            ],
            terminal: no_terminal(),
            root: None,
        };
        let text = report(&facts);
        for words in [
            "  codex         0.171.0      /bin/codex  proven: ",
            "  gemini        not installed: `gemini` is not on the search path\n",
            "  demo          built in\n",
            "  machine       /m.toml (not there)\n",
            "  note: a note\n",
            "  state         /s (cannot be written: nothing is recorded there)\n",
            "  runtime       none: set HOME\n",
            "  TERM not set, no size, no colours\n  no terminal on standard input\n",
            "  git           `git` is not on the search path; `--diff` needs it\n",
            "  PATH          relative folders in PATH are never searched: `.`\n",
        ] {
            assert_eq!(text.matches(words).count(), 1, "{words}\n{text}");
        }
        assert!(!text.contains("No agent is installed"));
        let json = report_json(&facts);
        assert_eq!(json["harnesses"][0]["version"], "0.171.0");
        assert_eq!(json["harnesses"][0]["proven"][0]["installed"], true);
        assert_eq!(json["harnesses"][1]["state"], "missing");
        assert_eq!(json["config"]["files"][0]["layer"], Layer::Machine.as_str());
        assert_eq!(json["folders"]["state"]["state"], "closed");
        assert_eq!(json["terminal"]["colors"], 0);
    }
}
