//! `doctor`: which agents are installed, what is proven of them, and what is wrong on this machine.

mod report;
mod routes;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::config::{Printed, Workplace, read};
use super::confine;
use crate::cli::Options;
use crate::config::{
    Diagnostic, Faults, Layers, Profile, Settings, bundled_profile, bundled_profiles, load,
    outside_path,
};
use crate::confine::{Lock, Policy};
use crate::world::command::{Order, run as run_command};
use crate::world::folder::{Folder, look};
use crate::world::terminal::{self, Streams};
use crate::world::{environment, program, settings_file};

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
pub(super) fn version_in(text: &str) -> Option<String> {
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
    /// The ways a review can go beside the host; none when the settings are faulty.
    pub routes: Vec<routes::Told>,
    /// The models that may be used.
    pub models: Vec<String>,
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
    /// What keeps the peer from writing; none where the settings cannot be read.
    pub confinement: Option<Confined>,
    /// The terminal.
    pub terminal: Terminal,
    /// The root of the repository being worked on.
    pub root: Option<PathBuf>,
}

/// What keeps the peer from writing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confined {
    /// The peer's harness.
    pub peer: String,
    /// The locks of this system, best first, and why one cannot be had.
    pub locks: Vec<(Lock, Result<(), String>)>,
    /// The one a peer gets now.
    pub used: Lock,
    /// Whether a peer without one is refused.
    pub required: bool,
    /// What the peer may write and read.
    pub policy: Policy,
    /// The variables it does not get.
    pub scrubbed: Vec<String>,
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
        true => Printed::json(&report::json(&facts)),
        false => Printed::done(report::text(&facts)),
    }
}

fn gather(place: &Workplace, options: &Options) -> Facts {
    let layers = read(place, options);
    let loaded = load(&layers);
    let search = match (text_variable("PATH"), &place.root) {
        (Some(path), Some(root)) => outside_path(&path, root),
        (path, _) => path.unwrap_or_default(),
    };
    let (profiles, diagnostics, faults, confinement) = match &loaded {
        Ok(settings) => (
            settings.profiles().cloned().collect(),
            settings.diagnostics.clone(),
            Faults(Vec::new()),
            confined(settings, place, options),
        ),
        // Only here: the report of a faulty file is still worth reading, and nothing is started from it.
        Err(faults) => (
            bundled_profiles().map(bundled_profile).collect::<Vec<_>>(),
            Vec::new(),
            faults.clone(),
            None,
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
    let ask = |path: &Path, profile: &Profile| ask_version(path, profile, &search);
    // Agents take up to a second to tell their version: they are asked all at once.
    let profiles: Vec<Profile> = profiles
        .into_iter()
        .filter(|profile| !profile.command.is_empty())
        .collect();
    let agents: Vec<(Profile, Presence)> = std::thread::scope(|scope| {
        let asked: Vec<_> = profiles
            .into_iter()
            .map(|profile| {
                scope.spawn(|| {
                    let probe = Probe {
                        find: &find,
                        is_inside: &is_inside,
                        ask: &ask,
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
    let (routes, models) = match &loaded {
        Ok(settings) => (
            routes::gather(settings, place, &agents),
            settings.routes.allowed.admitted(),
        ),
        Err(_) => Default::default(),
    };
    let git = Profile {
        command: vec!["git".to_owned()],
        version_args: vec!["--version".to_owned()],
        ..Profile::default()
    };
    let probe = Probe {
        find: &find,
        is_inside: &is_inside,
        ask: &ask,
    };
    let folders = &place.folders;
    Facts {
        agents,
        routes,
        models,
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
        confinement,
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

/// Tries each lock as the peer would be shut in by it.
fn confined(settings: &Settings, place: &Workplace, options: &Options) -> Option<Confined> {
    let profile = settings.profile(&settings.peer.value)?;
    let locks: Vec<_> = confine::locks()
        .iter()
        .map(|lock| (*lock, confine::attempt(*lock, profile, settings, place)))
        .collect();
    // The same choice a round makes, which a refusal ends.
    let used = confine::find(profile, settings, place, options).map_or(Lock::None, |it| it.lock);
    Some(Confined {
        peer: profile.name.clone(),
        locks,
        used,
        required: settings.require_confinement.value,
        policy: confine::policy_of(profile, settings, place, None),
        scrubbed: confine::scrubbed(profile),
    })
}

fn text_variable(name: &str) -> Option<String> {
    environment::variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// Asks a program for its version, away from the repository, so that nothing of it is read.
fn ask_version(path: &Path, profile: &Profile, search: &str) -> Result<String, String> {
    let words = |map: &std::collections::BTreeMap<String, String>| {
        map.iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect::<Vec<_>>()
    };
    let mut env = words(&profile.env);
    env.push(("PATH".into(), search.into()));
    let order = Order {
        args: profile.version_args.iter().map(OsString::from).collect(),
        env,
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

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
}
