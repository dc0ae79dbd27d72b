//! A home, a repository and a state folder of our own, what stands in them to the last bit, and the locks there are.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

pub(crate) type Fault = Box<dyn Error + Send + Sync>;
pub(crate) type Outcome = Result<(), Fault>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");
/// The namespace without Landlock on top.
pub(crate) const ALONE: &str = "namespace alone";
/// Status of a way that cannot be tried on this machine.
pub(crate) const UNAVAILABLE: i32 = 77;

/// The locks this machine offers; what it does not offer is said once.
pub(crate) fn locks() -> &'static [&'static str] {
    static LOCKS: OnceLock<Vec<&'static str>> = OnceLock::new();
    LOCKS.get_or_init(|| {
        let mut found = Vec::new();
        for lock in ["namespace", "landlock"] {
            let tried = Command::new(PROGRAM)
                .args(["confine", "--lock", lock, "--", "true"])
                .output();
            match tried {
                Ok(output) if output.status.success() => found.push(lock),
                Ok(output) => {
                    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                    say(&format!("skipped: no {lock} on this machine: {why}"));
                }
                Err(error) => say(&format!("skipped: {error}")),
            }
        }
        found
    })
}

/// Says something about what was not tried.
pub(crate) fn say(text: &str) {
    // Nobody may listen.
    let _ = writeln!(io::stdout(), "{text}");
}

/// What a person has.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// A repository with a commit, a change, a hook and an executable file; a home with a key; records of codriver.
    pub(crate) fn new() -> Result<Self, Fault> {
        let folder = tempfile::Builder::new().prefix("world-").tempdir()?;
        let world = Self { folder };
        for (name, text) in [
            ("repo/a.txt", "one\n"),
            ("repo/b.txt", "two\n"),
            ("repo/src/lib.rs", "pub fn f() {}\n"),
            ("repo/run.sh", "#!/bin/sh\n"),
            ("home/.bashrc", "alias x=y\n"),
            ("home/.ssh/id", "the key\n"),
            ("home/.codex/config.toml", "model = 'x'\n"),
            ("state/codriver/r/sessions/s/receipts.jsonl", "{}\n"),
        ] {
            let path = world.path(name);
            fs::create_dir_all(path.parent().ok_or("a name below a folder")?)?;
            fs::write(path, text)?;
        }
        fs::create_dir_all(world.path("tmp"))?;
        fs::create_dir_all(world.path("run"))?;
        world.git(&["init", "--quiet", "--initial-branch=main"])?;
        world.git(&["add", "--all"])?;
        world.git(&["commit", "--quiet", "--message", "first"])?;
        world.git(&["branch", "other"])?;
        fs::write(world.path("repo/b.txt"), "two, changed\n")?;
        Ok(world)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().canonicalize();
        folder
            .expect("the folder is there as long as the world")
            .join(name)
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@b")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@b")
            .env("REPO", self.path("repo"))
            .env("TMUX_SOCKET", self.path("tmux.sock"))
            .env("OUTSIDE_SOCKET", self.path("home/outside.sock"))
            .env("OUTSIDE_NAME", self.abstract_name())
            .current_dir(self.path("repo"))
            .stdin(Stdio::null());
        command
    }

    /// A program shut in by this lock; the lock `open` is none at all.
    pub(crate) fn shut_in(&self, lock: &str, words: &[&str]) -> Command {
        if lock == "open" {
            let mut command = self.command(words[0]);
            command.args(&words[1..]);
            return command;
        }
        let mut command = self.command(PROGRAM);
        command.arg("confine");
        match lock {
            // As for an agent that makes a namespace of its own: Landlock is not on top.
            ALONE => command.args(["--harness", "codex", "--lock", "namespace", "--"]),
            lock => command.args(["--lock", lock, "--"]),
        };
        command.args(words);
        command
    }

    pub(crate) fn run(&self, lock: &str, words: &[&str]) -> io::Result<Output> {
        self.shut_in(lock, words).output()
    }

    pub(crate) fn git(&self, args: &[&str]) -> Outcome {
        let output = self.command("git").args(args).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }

    fn abstract_name(&self) -> String {
        let name = self.folder.path().file_name().unwrap_or_default();
        format!("codriver-{}", name.to_string_lossy())
    }

    /// Everything that is to stay as it is, to the last bit: what it holds, what it is, and when it was last touched.
    pub(crate) fn fingerprint(&self) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        for name in ["repo", "home", "state"] {
            look(&self.path(name), &mut found)?;
        }
        found.sort();
        Ok(found)
    }
}

fn look(path: &Path, found: &mut Vec<String>) -> io::Result<()> {
    let data = path.symlink_metadata()?;
    let kind = data.file_type();
    let content = match (kind.is_symlink(), kind.is_file()) {
        (true, _) => fs::read_link(path)?.display().to_string(),
        (_, true) => format!("{:?}", fs::read(path)?),
        _ => String::new(),
    };
    // The time of the last change also tells a mode, an owner, a name more and an attribute.
    found.push(format!(
        "{} {:o} {}:{} {} {}.{} {}.{} {content}",
        path.display(),
        data.mode(),
        data.uid(),
        data.gid(),
        data.nlink(),
        data.mtime(),
        data.mtime_nsec(),
        data.ctime(),
        data.ctime_nsec(),
    ));
    if kind.is_dir() {
        for entry in fs::read_dir(path)? {
            look(&entry?.path(), found)?;
        }
    }
    Ok(())
}

/// The lines that are in one fingerprint only, cut to what a person can read.
pub(crate) fn difference(before: &[String], after: &[String]) -> Vec<String> {
    let missing = |a: &[String], b: &[String], sign: &str| -> Vec<String> {
        let only = a.iter().filter(|line| !b.contains(line));
        only.map(|line| format!("{sign} {}", line.chars().take(160).collect::<String>()))
            .collect()
    };
    [missing(before, after, "-"), missing(after, before, "+")].concat()
}

/// Programs of this person that are not shut in: a process that stands in the repository, one that writes for everyone
/// who connects, and a terminal multiplexer where there is one.
pub(crate) struct Outside {
    stander: Child,
    socket: PathBuf,
    tmux: Option<(Command, bool)>,
}

impl Outside {
    pub(crate) fn start(world: &World) -> Result<Self, Fault> {
        let stander = world.command("sleep").arg("600").spawn()?;
        let socket = world.path("home/outside.sock");
        let target = world.path("repo/by-socket");
        let named = UnixListener::bind(&socket)?;
        let name = SocketAddr::from_abstract_name(world.abstract_name())?;
        let unnamed = UnixListener::bind_addr(&name)?;
        for listener in [named, unnamed] {
            let target = target.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let Ok(mut stream) = stream else { return };
                    // The one that asks learns of it by the end of the stream.
                    let _ = fs::write(&target, "written for somebody else");
                    let _ = stream.write_all(b"done");
                }
            });
        }
        let mut tmux = world.command("tmux");
        tmux.args(["-f", "/dev/null", "-S"])
            .arg(world.path("tmux.sock"))
            .args(["new-session", "-d", "sleep 600"]);
        let runs = tmux.output().is_ok_and(|output| output.status.success());
        let mut end = world.command("tmux");
        end.arg("-S")
            .arg(world.path("tmux.sock"))
            .arg("kill-server");
        Ok(Self {
            stander,
            socket,
            tmux: Some((end, runs)),
        })
    }

    pub(crate) fn stander(&self) -> u32 {
        self.stander.id()
    }

    pub(crate) fn has_tmux(&self) -> bool {
        self.tmux.as_ref().is_some_and(|(_, runs)| *runs)
    }

    /// Whether the process that stands in the repository is still there.
    pub(crate) fn is_standing(&mut self) -> bool {
        matches!(self.stander.try_wait(), Ok(None))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // What is gone already needs no end.
        let _ = self.stander.kill();
        let _ = self.stander.wait();
        let _ = fs::remove_file(&self.socket);
        if let Some((mut end, true)) = self.tmux.take() {
            let _ = end.output();
        }
    }
}
