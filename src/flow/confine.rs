//! Confining the peer: which lock this machine offers, what it leaves open for a launch, and `confine`, the program that
//! shuts itself in before it becomes the agent.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::config::{self, Printed, Workplace};
use super::failure::Failure;
use super::peer;
use crate::cli::{AskedLock, ConfineArgs, Exit, Options};
use crate::config::{LockChoice, Profile, Settings, is_removed, kept_from_peer, scratch_env};
use crate::confine::{Grounds, Lock, Policy, policy, sandbox_exec, table};
use crate::limits;
use crate::plain;
use crate::world::command::{self, Order};
use crate::world::confine::{self as world, Walls};
use crate::world::{environment, files, program, tree};

/// The locks of Linux, best first.
const LOCKS: [Lock; 2] = [Lock::Namespace, Lock::Landlock];
/// Longest a lock may take to be tried.
const TRIAL: Duration = Duration::from_secs(5);
/// macOS's own program for it.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// What keeps the peer of a session from writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The lock.
    pub lock: Lock,
    /// Why there is none, unless nobody asked for one.
    pub lacking: Option<String>,
}

impl Confinement {
    /// What the person is told once.
    pub fn warning(&self) -> Option<String> {
        let why = self.lacking.as_ref()?;
        Some(format!(
            "the peer is not confined, its own switches alone keep it from writing: {why}"
        ))
    }
}

/// Finds the best lock this machine offers a peer of this profile, by trying each. Without any, a peer is refused where
/// the settings require one.
pub fn find(
    profile: &Profile,
    settings: &Settings,
    place: &Workplace,
    options: &Options,
) -> Result<Confinement, Failure> {
    let found = match (options.no_confine, settings.lock.value) {
        (true, _) | (_, LockChoice::None) => Confinement {
            lock: Lock::None,
            lacking: None,
        },
        (_, LockChoice::Auto) => best(&LOCKS, profile, settings, place),
        (_, LockChoice::Namespace) => best(&LOCKS[..1], profile, settings, place),
        (_, LockChoice::Landlock) => best(&LOCKS[1..], profile, settings, place),
    };
    if found.lock != Lock::None || !settings.require_confinement.value {
        return Ok(found);
    }
    let origin = settings.require_confinement.origin.shown();
    let why = found
        .lacking
        .as_deref()
        .unwrap_or("none is asked for, by --no-confine or pair.lock");
    Err(Failure::new(
        Exit::Refused,
        format!(
            "no peer is started without a lock (pair.require_confinement, {origin}): {why}; `codriver doctor` shows what this machine offers"
        ),
    ))
}

/// The locks of this system, best first.
pub fn locks() -> &'static [Lock] {
    if cfg!(target_os = "macos") {
        &[Lock::SandboxExec]
    } else {
        &LOCKS
    }
}

fn best(locks: &[Lock], profile: &Profile, settings: &Settings, place: &Workplace) -> Confinement {
    if cfg!(target_os = "macos") {
        return Confinement {
            lock: Lock::SandboxExec,
            lacking: None,
        };
    }
    let mut reasons = Vec::new();
    for lock in locks {
        match attempt(*lock, profile, settings, place) {
            Ok(()) => {
                return Confinement {
                    lock: *lock,
                    lacking: None,
                };
            }
            Err(why) => reasons.push(format!("{}: {why}", lock.word())),
        }
    }
    Confinement {
        lock: Lock::None,
        lacking: Some(reasons.join("; ")),
    }
}

/// Shuts this program in as the peer would be, to see whether it can be done.
pub fn attempt(
    lock: Lock,
    profile: &Profile,
    settings: &Settings,
    place: &Workplace,
) -> Result<(), String> {
    if lock == Lock::SandboxExec {
        return Err("its text was never proven on a Mac; it is used all the same".to_owned());
    }
    let told = |error: io::Error| error.to_string();
    let base = tempfile::Builder::new()
        .prefix("codriver-")
        .tempdir()
        .map_err(told)?;
    let cell = Cell::make(base.path(), profile, settings, place).map_err(told)?;
    let mut words = cell.wrap(lock).map_err(told)?.into_iter();
    let own = words.next().unwrap_or_default();
    let order = Order {
        args: words.collect(),
        deadline: TRIAL,
        ..Order::new(Path::new(&own), Path::new("/"))
    };
    let outcome = command::run(&order).map_err(|error| error.to_string())?;
    if outcome.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&outcome.error);
    let why = why.trim().trim_start_matches("codriver: ");
    Err(match why {
        "" => outcome.status.to_string(),
        why => plain::display(why, limits::QUOTE_BYTES),
    })
}

/// What one launch of a peer may write and read, with the folders made that it needs.
///
/// A runner of a reviewing role is confined the same way: make a cell in a fresh folder of its own, start
/// `cell.wrap(lock)` with the program and its arguments behind it, and give it [`Cell::env`].
pub struct Cell {
    /// What is allowed, in words.
    pub policy: Policy,
    base: PathBuf,
    readable: Vec<PathBuf>,
}

impl Cell {
    /// Makes it below `base`, a fresh folder of the launch that is there as long as what is started. Of its own the
    /// peer may write `work`, `home` and `scratch` there.
    pub fn make(
        base: &Path,
        profile: &Profile,
        settings: &Settings,
        place: &Workplace,
    ) -> io::Result<Self> {
        let base = base.canonicalize()?;
        for folder in ["stage", "scratch", "scratch/tmp"] {
            files::make_folder(&base.join(folder))?;
        }
        let mut policy = policy_of(profile, settings, place, Some(&base));
        for (file, text) in &policy.made {
            if let Some(folder) = file.parent()
                && files::make_folder(folder).is_ok()
            {
                // It is there already, or the agent will tell that it is not.
                let _ = files::write_new(file, text.as_bytes());
            }
        }
        for folder in &policy.made_folders {
            // Where it cannot be made here either, the agent tells.
            let _ = files::make_folder(folder);
        }
        for (name, folder) in &policy.linked {
            // A link that is missing costs the agent what it would have found there, and no more.
            let _ = files::link_entries(folder, &scratch_of(&base).join(name));
        }
        for missing in policy.writable.iter_mut().filter(|place| !place.is_there) {
            if missing.is_folder() {
                missing.is_there = files::make_folder(&missing.path).is_ok();
            }
        }
        Ok(Self {
            policy,
            base,
            readable: Vec::new(),
        })
    }

    /// Lets folders be read that lie in what is not to be read: the brief a runner is given, for example.
    pub fn show(&mut self, folders: &[&Path]) {
        let real = folders
            .iter()
            .filter_map(|folder| folder.canonicalize().ok());
        self.readable.extend(real);
    }

    /// Variables that lead the usual tools to the scratch folder.
    pub fn env(&self) -> Vec<(String, String)> {
        scratch_env(&scratch_of(&self.base).to_string_lossy())
    }

    /// The words that stand before the program, an absolute path, and its arguments, so that it is started confined by
    /// this lock or not at all.
    pub fn wrap(&self, lock: Lock) -> io::Result<Vec<OsString>> {
        if lock == Lock::SandboxExec {
            let text = sandbox_exec(&self.policy);
            return Ok([SANDBOX_EXEC, "-p", &text].map(OsString::from).to_vec());
        }
        let mut words = kept_words()?;
        if lock != Lock::None {
            let file = self.base.join("walls.json");
            files::replace(&file, &serde_json::to_vec(&self.walls())?)?;
            words.pop();
            words.pop();
            words.extend([
                lock.word().into(),
                "--walls".into(),
                file.into(),
                "--".into(),
            ]);
        }
        Ok(words)
    }

    fn walls(&self) -> Walls {
        let there = |places: &[crate::confine::Place]| {
            let there = places.iter().filter(|place| place.is_there);
            there.map(|place| place.path.clone()).collect()
        };
        Walls {
            writable: there(&self.policy.writable),
            readable: self.readable.clone(),
            unreadable: there(&self.policy.unreadable),
            sealed: there(&self.policy.sealed),
            stage: self.base.join("stage"),
            layered: self.policy.layered,
        }
    }
}

/// Where the tools that an agent runs may write, in the folder of its launch.
pub fn scratch_of(base: &Path) -> PathBuf {
    base.join("scratch")
}

/// The words before a program that is only kept, so that nothing of it is left behind.
pub fn kept_words() -> io::Result<Vec<OsString>> {
    let own = environment::own_program()?;
    let words = ["confine", "--lock", "none", "--"].map(OsString::from);
    Ok(std::iter::once(own.into_os_string()).chain(words).collect())
}

/// What a peer of this profile may write and read, for a launch whose own folders lie in `base`, if it is one.
pub fn policy_of(
    profile: &Profile,
    settings: &Settings,
    place: &Workplace,
    base: Option<&Path>,
) -> Policy {
    let home = environment::variable("HOME").map(PathBuf::from);
    let repository = place.root.as_deref().unwrap_or(&place.folder);
    let real = |path: &Path| path.canonicalize().ok();
    let mut guarded = vec![(repository.to_path_buf(), "the repository")];
    for folder in tree::git_folders(repository) {
        guarded.push((folder, "the repository's `.git`"));
    }
    let folders = &place.folders;
    for (folder, name) in [
        (&folders.state, "codriver's state folder"),
        (&folders.runtime, "codriver's runtime folder"),
        (&folders.config, "codriver's settings"),
    ] {
        if let Some(folder) = folder {
            guarded.push((real(folder).unwrap_or_else(|| folder.clone()), name));
        }
    }
    let private: Vec<PathBuf> = ["work", "home", "scratch"]
        .into_iter()
        .filter_map(|name| Some(base?.join(name)))
        .filter(|folder| folder.is_dir())
        .collect();
    let key_files: Vec<String> = settings
        .profiles()
        .flat_map(|profile| profile.key_files.iter().cloned())
        .collect();
    policy(
        profile,
        &Grounds {
            home: home.as_deref(),
            repository,
            guarded: &guarded,
            private: &private,
            state: folders.state.as_deref(),
            runtime: &world::own_runtime(),
            user: world::user(),
            deny_read: &settings.deny_read.value,
            key_files: &key_files,
            variable: &|name| environment::variable(name)?.into_string().ok(),
            real: &real,
        },
    )
}

/// The variables of our own environment that do not reach a peer of this profile.
pub fn scrubbed(profile: &Profile) -> Vec<String> {
    let removed = kept_from_peer(profile);
    let mut names: Vec<String> = environment::all()
        .into_iter()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .filter(|name| is_removed(&removed, name))
        .collect();
    names.sort();
    names
}

/// How a launch is shut in.
#[derive(Debug, Clone, Copy)]
pub struct Shut<'a> {
    /// The lock of a peer.
    pub lock: Lock,
    /// What is configured.
    pub settings: &'a Settings,
    /// Folders it is to read that lie in what is not to be read.
    pub show: &'a [&'a Path],
}

/// What became of `confine`.
#[derive(Debug)]
pub enum Outcome {
    /// It has something to print.
    Printed(Printed),
    /// The program ended; this is the status to end with.
    Ended(u8),
}

/// Runs `confine`.
pub fn run(args: &ConfineArgs, options: &Options) -> Result<Outcome, Failure> {
    let failed = |error: world::ConfineError| Failure::of(Exit::Error, &error);
    if let Some(number) = args.inside {
        let ended = world::keep_inside(&order_of(&args.command), number).map_err(failed)?;
        return Ok(Outcome::Ended(ended.repeat()));
    }
    let asked = args.lock.map(lock_of);
    if let (Some(file), Some(lock)) = (&args.walls, asked) {
        let walls = read_walls(file)?;
        // Without a program the lock is only tried.
        let order = match args.command.is_empty() {
            true => trial_order(),
            false => order_of(&args.command),
        };
        let ended = world::enter(world_lock(lock), &walls, &order, &["confine", "--inside"]);
        return Ok(Outcome::Ended(ended.map_err(failed)?.repeat()));
    }
    if asked == Some(Lock::None) {
        let order = found(&args.command, Vec::new(), Vec::new())?;
        let ended = world::enter(world::Lock::None, &Walls::default(), &order, &[]);
        return Ok(Outcome::Ended(ended.map_err(failed)?.repeat()));
    }
    by_hand(args, asked, options)
}

/// Confines a program the way the peer is, for somebody who asks.
fn by_hand(args: &ConfineArgs, asked: Option<Lock>, options: &Options) -> Result<Outcome, Failure> {
    let broken = |error: io::Error| Failure::new(Exit::Error, error.to_string());
    let started = std::env::current_dir().map_err(broken)?;
    let directory = args.repo.as_deref().or(options.directory.as_deref());
    let place = Workplace::find(directory).map_err(|error| Failure::of(Exit::Error, &error))?;
    let settings =
        config::settings(&place, options).map_err(|faults| Failure::of(Exit::Usage, &faults))?;
    let profile = peer::profile(&settings, &args.harness)?;
    if args.explain {
        let policy = policy_of(&profile, &settings, &place, None);
        let text = explained(&policy, &profile, &settings, &place, asked, options)?;
        return Ok(Outcome::Printed(Printed::done(text)));
    }
    let lock = match asked {
        Some(lock) => lock,
        None => {
            let found = find(&profile, &settings, &place, options)?;
            match (found.lock, found.lacking) {
                (Lock::None, Some(why)) => {
                    let what = format!("no lock can be had, so nothing is started: {why}");
                    return Err(Failure::new(Exit::Error, what));
                }
                (lock, _) => lock,
            }
        }
    };
    let base = tempfile::Builder::new()
        .prefix("codriver-")
        .tempdir()
        .map_err(broken)?;
    let cell = Cell::make(base.path(), &profile, &settings, &place).map_err(broken)?;
    let inner = found(&args.command, Vec::new(), Vec::new())?;
    let mut words = cell.wrap(lock).map_err(broken)?;
    words.push(inner.program.into_os_string());
    words.extend(inner.args);
    let env = cell.env().into_iter();
    let env = env.map(|(name, value)| (name.into(), value.into()));
    let gone = scrubbed(&profile).into_iter().map(OsString::from);
    let order = found(&words, env.collect(), gone.collect())?;
    // Of a repository elsewhere only the name is meant: the program runs where it was asked for.
    if args.repo.is_some() {
        environment::enter(&started).map_err(broken)?;
    }
    let ended = world::enter(world::Lock::None, &Walls::default(), &order, &[])
        .map_err(|error| Failure::of(Exit::Error, &error))?;
    drop(base);
    Ok(Outcome::Ended(ended.repeat()))
}

/// What would be allowed, as a table, with what no lock here covers.
fn explained(
    policy: &Policy,
    profile: &Profile,
    settings: &Settings,
    place: &Workplace,
    asked: Option<Lock>,
    options: &Options,
) -> Result<String, Failure> {
    let lock = match asked {
        Some(lock) => lock.word().to_owned(),
        None => {
            let found = find(profile, settings, place, options)?;
            match found.lacking {
                Some(why) => format!("none ({why})"),
                None => found.lock.word().to_owned(),
            }
        }
    };
    if cfg!(target_os = "macos") {
        return Ok(sandbox_exec(policy));
    }
    let sockets = world::bound_sockets().len();
    Ok(format!(
        "lock     {lock}\n{}write    a private folder for temporary files, made for each launch\nsealed   {sockets} sockets that are listened on now\n",
        table(policy, &scrubbed(profile)),
    ))
}

fn order_of(words: &[OsString]) -> world::Order {
    let mut words = words.iter().cloned();
    world::Order {
        program: words.next().unwrap_or_default().into(),
        args: words.collect(),
        ..world::Order::default()
    }
}

/// A program of the search path with its arguments.
fn found(
    words: &[OsString],
    env: Vec<(OsString, OsString)>,
    env_remove: Vec<OsString>,
) -> Result<world::Order, Failure> {
    let path = environment::variable("PATH");
    let folder = std::env::current_dir().map_err(|error| Failure::of(Exit::Error, &error))?;
    let word = words.first().cloned().unwrap_or_default();
    let program = program::find(&word, path.as_deref(), &folder)
        .map_err(|error| Failure::of(Exit::Error, &error))?;
    Ok(world::Order {
        program,
        args: words.iter().skip(1).cloned().collect(),
        env,
        env_remove,
    })
}

/// This program once more, which does nothing: a lock that lets it start lets others.
fn trial_order() -> world::Order {
    world::Order {
        program: environment::own_program().unwrap_or_default(),
        args: vec!["--version".into()],
        ..world::Order::default()
    }
}

fn read_walls(file: &Path) -> Result<Walls, Failure> {
    let unfit = |what: &dyn std::fmt::Display| {
        let file = plain::display(&file.to_string_lossy(), limits::QUOTE_BYTES);
        Failure::new(
            Exit::Error,
            format!("what a launch allows cannot be read from `{file}`: {what}"),
        )
    };
    let text = files::read_text(file).map_err(|error| unfit(&error))?;
    let text = text.ok_or_else(|| unfit(&"there is no such file"))?;
    serde_json::from_str(&text).map_err(|error| unfit(&error))
}

fn lock_of(asked: AskedLock) -> Lock {
    match asked {
        AskedLock::Namespace => Lock::Namespace,
        AskedLock::Landlock => Lock::Landlock,
        AskedLock::None => Lock::None,
    }
}

fn world_lock(lock: Lock) -> world::Lock {
    match lock {
        Lock::Namespace => world::Lock::Namespace,
        Lock::Landlock => world::Lock::Landlock,
        // Never given for one of these: what stands before the program then is another program, or no walls.
        Lock::SandboxExec | Lock::None => world::Lock::None,
    }
}
