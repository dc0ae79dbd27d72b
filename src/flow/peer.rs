//! Whom a pane is started with: the profile that was asked for, its program, and that program's version.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::config::Workplace;
use super::failure::{Failure, shown};
use super::pane::Launch;
use crate::cli::Exit;
use crate::config::{Layer, Profile, Settings};
use crate::limits;
use crate::plain;
use crate::world::program::ProgramError;
use crate::world::pty::PtyError;
use crate::world::{command, environment, program, settings_file};

/// Longest an agent may take to tell its version.
const VERSION: Duration = Duration::from_secs(5);

/// The profile of the harness that was asked for by this name, its general settings filled in.
pub(super) fn profile(settings: &Settings, name: &str) -> Result<Profile, Failure> {
    let Some(profile) = settings.profile(name) else {
        let known: Vec<&str> = settings
            .profiles()
            .map(|profile| profile.name.as_str())
            .collect();
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "no harness is called `{}`; known are {}, and [harness.{}] in your configuration adds one",
                plain::display(name, limits::QUOTE_BYTES),
                known.join(", "),
                plain::display(name, 40),
            ),
        ));
    };
    let mut profile = profile.clone();
    profile.fill_in(settings.quiet.value, settings.tail_lines.value);
    Ok(profile)
}

/// Finds the program of a launch.
pub(super) struct Finder<'a> {
    /// `peer` or `driver`, as messages name it.
    pub role: &'static str,
    /// Whom it starts.
    pub profile: &'a Profile,
    /// What is configured.
    pub settings: &'a Settings,
    /// What is under review.
    pub place: &'a Workplace,
}

impl Finder<'_> {
    /// Finds the program to start; one that lies in the repository under review is not started (0.3).
    pub(super) fn find(&self, launch: &Launch) -> Result<PathBuf, Failure> {
        let word = launch.argv.first().cloned().unwrap_or_default();
        let path = launch
            .env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.clone());
        let found = program::find(&word, path.as_deref(), &launch.folder)
            .map_err(|error| self.not_found(&error))?;
        let own = environment::own_program().ok();
        if own.as_deref() != Some(found.as_path()) && self.is_under_review(&found) {
            return Err(Failure::new(
                Exit::Error,
                format!(
                    "{} lies in the repository under review, so it is not started; set harness.{}.command to a program elsewhere",
                    shown(&found),
                    self.profile.name
                ),
            ));
        }
        Ok(found)
    }

    /// Says that the program cannot be started on a terminal.
    pub(super) fn unstartable(&self, error: &PtyError) -> Failure {
        let cause = Failure::of(Exit::Error, error);
        Failure::new(
            Exit::Error,
            format!(
                "the {} ({}) cannot be started: {cause}",
                self.role, self.profile.name
            ),
        )
    }

    /// Whether a program lies in the repository under review: such a one is never started.
    fn is_under_review(&self, program: &Path) -> bool {
        self.place
            .root
            .as_deref()
            .is_some_and(|root| settings_file::is_inside(program, root))
    }

    /// Says that the agent is not installed, and what is.
    fn not_found(&self, error: &ProgramError) -> Failure {
        let path = environment::variable("PATH");
        let installed: Vec<&str> = self
            .settings
            .profiles()
            .filter(|profile| !matches!(profile.name.as_str(), "demo" | "unknown"))
            .filter(|profile| {
                profile.command.first().is_some_and(|word| {
                    program::find(word.as_ref(), path.as_deref(), &self.place.folder)
                        .is_ok_and(|found| !self.is_under_review(&found))
                })
            })
            .map(|profile| profile.name.as_str())
            .collect();
        let role = self.role;
        let layer = match role {
            "driver" => self.settings.driver.origin.layer,
            _ => self.settings.peer.origin.layer,
        };
        let hint = match (installed.as_slice(), layer) {
            ([], _) => format!(
                "no agent is installed here; `--{role} demo` runs the built-in demo agent, which needs none"
            ),
            (found, Layer::Bundled) => format!(
                "installed here: {}; choose one with --{role}",
                found.join(", ")
            ),
            (found, _) => format!(
                "installed here: {}; `--{role} demo` runs the built-in demo agent",
                found.join(", ")
            ),
        };
        let error = Failure::of(Exit::Error, error);
        Failure::new(
            Exit::Error,
            format!(
                "the {role} ({}) cannot be started: {error}; {hint}",
                self.profile.name
            ),
        )
    }
}

/// Whether the program of a profile could be started here, so far as can be told without starting it.
pub(super) fn is_there(profile: &Profile, place: &Workplace) -> bool {
    let Some(word) = profile.command.first() else {
        return false;
    };
    let path = environment::variable("PATH");
    word == "{self}"
        || program::find(word.as_ref(), path.as_deref(), &place.folder).is_ok_and(|found| {
            let root = place.root.as_deref();
            !root.is_some_and(|root| settings_file::is_inside(&found, root))
        })
}

/// The version of an agent's program: known at once, or on its way.
#[derive(Debug)]
pub(super) enum Version {
    /// As far as it was found out.
    Known(Option<String>),
    /// The program is being asked.
    Asked(JoinHandle<Option<String>>),
}

impl Version {
    /// Asks the program for its version, beside the pane and in its environment: that ends with the pane, for it bears
    /// the mark of the same launch.
    pub(super) fn ask(profile: &Profile, program: &Path, launch: &Launch) -> Self {
        if environment::own_program().is_ok_and(|own| own == program) {
            return Self::Known(Some(env!("CARGO_PKG_VERSION").to_owned()));
        }
        if profile.version_args.is_empty() {
            return Self::Known(None);
        }
        let mut order = command::Order::new(program, Path::new("/"));
        order.env_clear = true;
        order.env.clone_from(&launch.env);
        // The program may be the interpreter of another one: then that one is asked.
        let words = launch.argv.iter().take(profile.command.len()).skip(1);
        let asked = profile.version_args.iter().map(OsString::from);
        order.args = words.cloned().chain(asked).collect();
        order.deadline = VERSION;
        // One that cannot be started has no version to tell.
        let Ok(asked) = command::start(&order) else {
            return Self::Known(None);
        };
        Self::Asked(tokio::task::spawn_blocking(move || {
            let outcome = asked.wait(&order).ok()?;
            super::doctor::version_in(&String::from_utf8_lossy(&outcome.output))
        }))
    }

    /// Waits for the version.
    pub(super) async fn wait(self) -> Option<String> {
        match self {
            Self::Known(version) => version,
            Self::Asked(asked) => asked.await.ok().flatten(),
        }
    }

    /// The version if it is known by now; nobody waits for it.
    pub(super) async fn known(&mut self) -> Option<&str> {
        if let Self::Asked(asked) = self
            && asked.is_finished()
        {
            *self = Self::Known(asked.await.ok().flatten());
        }
        match self {
            Self::Known(version) => version.as_deref(),
            Self::Asked(_) => None,
        }
    }
}
