//! A home and a repository of a test's own, a peer that says what it is told, and the console on a terminal.

use std::error::Error;
use std::fs;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codriver::screen::{Screen, Size};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

pub(crate) type Fault = Box<dyn Error>;
pub(crate) type Outcome = Result<(), Fault>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");
/// Longest wait for anything; a small machine that builds something beside it is slow.
pub(crate) const LIMIT: Duration = Duration::from_secs(40);

/// Looks again and again until there is something.
pub(crate) fn until<T>(
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>, Fault>,
) -> Result<T, Fault> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() > end {
            return Err(format!("{what}: not within {LIMIT:?}").into());
        }
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// What a person has.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Result<Self, Fault> {
        let folder = tempfile::Builder::new().prefix("t").tempdir()?;
        let world = Self { folder };
        for name in ["home", "repo", "state"] {
            fs::create_dir(world.path(name))?;
        }
        let made = Command::new("git")
            .args(["init", "--quiet", "--initial-branch=main"])
            .current_dir(world.path("repo"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .status()?;
        assert!(made.success());
        Ok(world)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let path = |name| self.path(name).display().to_string();
        [
            ("HOME", path("home")),
            ("XDG_STATE_HOME", path("state")),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Has the demo agent answer messages with these texts in turn, and agree to the brief; gives the settings file.
    pub(crate) fn peer(
        &self,
        texts: &[&str],
        think_ms: u32,
        faults: &str,
    ) -> Result<String, Fault> {
        let turns: Vec<_> = texts
            .iter()
            .map(|text| {
                serde_json::json!({"match": "The driver's message:", "text": text, "think_ms": think_ms})
            })
            .collect();
        let script = self.path("script.json");
        fs::write(&script, serde_json::to_vec(&turns)?)?;
        let mut command = vec!["{self}".to_owned(), "demo-agent".to_owned()];
        command.extend(["--script".to_owned(), script.display().to_string()]);
        if !faults.is_empty() {
            command.extend(["--fault".to_owned(), faults.to_owned()]);
        }
        let settings = self.path("settings.toml");
        fs::write(
            &settings,
            format!("[harness.demo]\ncommand = {command:?}\n"),
        )?;
        Ok(settings.display().to_string())
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Output, Fault> {
        let mut command = Command::new(PROGRAM);
        command.args(args).env_clear().envs(self.environment());
        command.current_dir(self.path("repo"));
        command.stdin(std::process::Stdio::null());
        Ok(command.output()?)
    }

    /// Processes of this world, with what they were started as.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("HOME={}", self.path("home").display()).into_bytes();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                let environment = fs::read(entry.path().join("environ")).ok()?;
                let words = fs::read(entry.path().join("cmdline")).ok()?;
                let is_ours = environment.split(|byte| *byte == 0).any(|one| one == mark);
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                (is_ours && !words.is_empty()).then_some((pid, words))
            })
            .collect()
    }

    pub(crate) fn is_left_alone(&self) -> Outcome {
        until("the end of all processes", || {
            Ok(self.processes().is_empty().then_some(()))
        })
        .map_err(|error| format!("{error}: {:?}", self.processes()).into())
    }

    /// The console's sockets.
    pub(crate) fn sockets(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state/codriver/run"));
        let mut found: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|word| word == "sock"))
            .collect();
        found.sort();
        found
    }
}

/// The console on a terminal of its own, whose screen is read beside it.
pub(crate) struct Console {
    child: Box<dyn Child + Send + Sync>,
    input: Arc<Mutex<Box<dyn Write + Send>>>,
    screen: Arc<Mutex<Screen>>,
    _master: Box<dyn MasterPty + Send>,
}

impl Console {
    /// Opens it; returns once its socket is there.
    pub(crate) fn open(world: &World, args: &[&str]) -> Result<Self, Fault> {
        let before = world.sockets().len();
        let console = Self::start(world, args)?;
        until("the console's socket", || {
            Ok((world.sockets().len() > before).then_some(()))
        })
        .map_err(|error| format!("{error}:\n{}", console.shown()))?;
        Ok(console)
    }

    /// Starts it.
    pub(crate) fn start(world: &World, args: &[&str]) -> Result<Self, Fault> {
        Self::start_in(world, args, &[])
    }

    /// Starts it with these variables beside the others.
    pub(crate) fn start_in(
        world: &World,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self, Fault> {
        let size = PtySize {
            cols: 140,
            rows: 40,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(args);
        command.env_clear();
        for (name, value) in world.environment() {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd(world.path("repo"));
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader()?;
        let input = Arc::new(Mutex::new(pair.master.take_writer()?));
        let screen = Arc::new(Mutex::new(Screen::new(Size::new(140, 40), 0)));
        let (shown, answers) = (Arc::clone(&screen), Arc::clone(&input));
        let begun = Instant::now();
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let Ok(mut screen) = shown.lock() else { return };
                screen.feed(&bytes[..count], begun.elapsed());
                let replies = screen.take_replies();
                drop(screen);
                if let Ok(mut input) = answers.lock() {
                    let _ = input.write_all(&replies);
                }
            }
        });
        Ok(Self {
            child,
            input,
            screen,
            _master: pair.master,
        })
    }

    pub(crate) fn shown(&self) -> String {
        let Ok(screen) = self.screen.lock() else {
            return String::new();
        };
        let rows = screen.screen_rows();
        rows.into_iter().map(|(line, _)| line.text + "\n").collect()
    }

    pub(crate) fn see(&self, wanted: &str) -> Outcome {
        until(wanted, || Ok(self.shown().contains(wanted).then_some(())))
            .map_err(|error| format!("{error}:\n{}", self.shown()).into())
    }

    pub(crate) fn type_in(&self, bytes: &[u8]) -> Outcome {
        let mut input = self.input.lock().map_err(|_| "the terminal is gone")?;
        input.write_all(bytes)?;
        input.flush()?;
        Ok(())
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Result<rustix::process::Pid, Fault> {
        let pid = self.child.process_id().map(i32::try_from).transpose()?;
        Ok(pid
            .and_then(rustix::process::Pid::from_raw)
            .ok_or("the console has ended")?)
    }

    /// Ends it as a closed terminal would: at once and without a question.
    pub(crate) fn kill(mut self) -> Outcome {
        let pid = self.pid()?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }
}

/// A script that can be started.
pub(crate) fn program(path: &Path, text: &str) -> Outcome {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
