//! Preparing the start of a peer: its folders, its environment, and where its own record will be.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::channel::Ear;
use super::config::Workplace;
use super::confine::{self, Cell, Shut};
use super::failure::Failure;
use super::pane::Launch;
use crate::cli::Exit;
use crate::config::{self, Channel, Grounds, LaunchError, PrivateHome, Profile, Seat};
use crate::confine::Lock;
use crate::limits;
use crate::pairing::message;
use crate::plain;
use crate::world::{environment, files, loopback, pty, random};

/// The folder a peer may be started in, in the folder of its launch.
const WORK: &str = "work";

/// All that is needed to start a peer.
pub(super) struct Prepared {
    /// How it is started.
    pub launch: Launch,
    /// Where its own record of a round is looked for.
    pub ear: Ear,
    /// What the launch lets it do, in words.
    pub allows: String,
    /// What the launch needs on disk.
    pub folder: PrivateFolder,
    /// What the person should know.
    pub warnings: Vec<String>,
}

/// A folder of one launch; it goes when this does.
pub(super) enum PrivateFolder {
    /// In the session's own folder.
    Session(PathBuf),
    /// Where no session folder could be had.
    Temporary {
        /// Takes the folder away when it is dropped.
        folder: tempfile::TempDir,
    },
}

impl PrivateFolder {
    /// The place to work in in it.
    pub(super) fn work(&self) -> PathBuf {
        match self {
            Self::Session(folder) => folder.join(WORK),
            Self::Temporary { folder } => folder.path().join(WORK),
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Self::Session(folder) = self {
            // What is left behind does no harm: it is the person's alone.
            let _ = files::remove_folder(folder);
        }
    }
}

/// Prepares the launch of an agent. What it needs on disk goes below `session`, the session's folder; a driver asks the
/// console at `socket`.
pub(super) fn prepare(
    profile: &Profile,
    seat: Seat,
    place: &Workplace,
    session: Option<&Path>,
    socket: Option<&Path>,
    shut: Shut<'_>,
) -> Result<Prepared, Failure> {
    let broken = |error: io::Error| {
        Failure::new(
            Exit::Error,
            format!("the launch of {} cannot be prepared: {error}", profile.name),
        )
    };
    let name = match seat {
        Seat::Driver | Seat::DriverAgain => "driver",
        Seat::Peer => "private",
    };
    let (base, folder) = private_folder(session, name).map_err(broken)?;
    let (work, home) = (base.join(WORK), base.join("home"));
    let mut warnings = Vec::new();
    // The driver is the person's own agent, with the person's own settings.
    if let (Some(private), Seat::Peer) = (&profile.private_home, seat) {
        warnings.extend(make_home(private, profile, &home)?);
    }
    let (lock, wrap) = match seat {
        Seat::Peer => {
            let mut cell = Cell::make(&base, profile, shut.settings, place).map_err(broken)?;
            cell.show(shut.show);
            (shut.lock, cell.wrap(shut.lock))
        }
        // The driver is only kept, so that nothing of it stays behind.
        Seat::Driver | Seat::DriverAgain => (Lock::None, confine::kept_words()),
    };
    let wrap = wrap.map_err(broken)?;
    let own = environment::own_program().map_err(broken)?;
    let port = loopback::free_port().map_err(broken)?;
    let password = random::hex(32).map_err(broken)?;
    let mark = random::hex(16).map_err(broken)?;
    let port_word = port.to_string();
    let home_word = home.to_string_lossy();
    let mut values = vec![
        ("port", port_word.as_str()),
        ("password", password.as_str()),
        ("home", &home_word),
    ];
    let socket = socket.map(Path::to_string_lossy);
    if let Some(socket) = &socket {
        values.push(("socket", socket));
    }
    let grounds = Grounds {
        own: &own,
        repository: place.root.as_deref().unwrap_or(&place.folder),
        private: &work,
        scratch: &confine::scratch_of(&base),
        lock,
        values: &values,
        variable: &|name| environment::variable(name)?.into_string().ok(),
    };
    let unfit = |error: LaunchError| Failure::of(Exit::Usage, &error);
    let planned = config::launch(profile, seat, &grounds).map_err(unfit)?;
    let mut allows = config::allows(profile, &grounds).map_err(unfit)?;
    if profile.submits {
        allows.push(' ');
        allows.push_str(message::SUBMIT.trim_end());
    }
    let mut env = environment::all();
    let mut scrubbed = Vec::new();
    env.retain(|(name, _)| {
        let name = name.to_string_lossy();
        let goes = planned.removes(&name);
        if goes {
            scrubbed.push(name.into_owned());
        }
        !goes
    });
    scrubbed.sort();
    let set = planned
        .env
        .into_iter()
        .chain([(pty::MARK.to_owned(), mark)]);
    for (name, value) in set {
        env.retain(|(known, _)| known != name.as_str());
        env.push((name.into(), value.into()));
    }
    let launch = Launch {
        argv: planned.argv.into_iter().map(OsString::from).collect(),
        wrap,
        lock,
        env,
        scrubbed,
        folder: planned.folder,
    };
    let channel = match seat {
        Seat::Driver | Seat::DriverAgain => Channel::None,
        Seat::Peer => profile.channel,
    };
    let ear = Ear::open(channel, &work, port, &password, &launch);
    Ok(Prepared {
        launch,
        ear,
        allows,
        folder,
        warnings,
    })
}

/// Makes the folder of a launch, the place to work in in it. Where the session's folder does not take it, the
/// temporary one does.
fn private_folder(session: Option<&Path>, name: &str) -> io::Result<(PathBuf, PrivateFolder)> {
    if let Some(folder) = session.map(|session| session.join(name))
        && files::make_new_folder(&folder).is_ok()
    {
        let made = PrivateFolder::Session(folder.clone());
        if make_work(&folder).is_ok() {
            return Ok((folder, made));
        }
    }
    let folder = tempfile::Builder::new().prefix("codriver-").tempdir()?;
    let path = folder.path().canonicalize()?;
    make_work(&path)?;
    Ok((path, PrivateFolder::Temporary { folder }))
}

/// An agent that looks for its project upwards stops at this folder. It has no commit, so no worktree can be made of it.
fn make_work(base: &Path) -> io::Result<()> {
    let work = base.join(WORK);
    files::make_new_folder(&work)?;
    files::make_repository(&work)
}

/// Makes the agent's settings folder from the person's, which is only read.
fn make_home(
    private: &PrivateHome,
    profile: &Profile,
    home: &Path,
) -> Result<Vec<String>, Failure> {
    let failed = |what: &Path, error: &dyn std::fmt::Display| {
        let what = plain::display(&what.to_string_lossy(), limits::QUOTE_BYTES);
        Failure::new(
            Exit::Error,
            format!(
                "the settings of {} cannot be taken over from `{what}`: {error}",
                profile.name
            ),
        )
    };
    files::make_new_folder(home).map_err(|error| failed(home, &error))?;
    let theirs = environment::variable(&private.variable)
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(environment::variable("HOME")?).join(&private.default)));
    let Some(theirs) = theirs else {
        return Ok(vec![format!(
            "{} starts without your settings and log-in: neither {} nor HOME is set",
            profile.name, private.variable
        )]);
    };
    let settings = theirs.join(&private.settings);
    let mut has_key = private
        .key_variables
        .iter()
        .any(|name| environment::variable(name).is_some_and(|key| !key.is_empty()));
    match files::read_text(&settings) {
        Ok(None) => {}
        Ok(Some(text)) => {
            let copy = private
                .copy(&text)
                .map_err(|error| failed(&settings, &error))?;
            let made = home.join(&private.settings);
            files::write_new(&made, copy.as_bytes()).map_err(|error| failed(&made, &error))?;
            has_key |= private.names_provider(&copy);
        }
        Err(error) => return Err(failed(&settings, &error)),
    }
    for name in &private.links {
        let target = theirs.join(name);
        if target.exists() {
            files::link(&target, &home.join(name)).map_err(|error| failed(&target, &error))?;
            has_key = true;
        }
    }
    if has_key || private.links.is_empty() {
        return Ok(Vec::new());
    }
    let theirs = plain::display(&theirs.to_string_lossy(), limits::QUOTE_BYTES);
    Ok(vec![format!(
        "{} may find no log-in: `{theirs}` has no {}, and one in the system's keyring is not found from the peer's own settings folder",
        profile.name,
        private.links.join(" or "),
    )])
}
