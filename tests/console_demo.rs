//! The README's first command, as a new user runs it: the console with two demo agents, on a terminal of its own.

use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use codriver::screen::{Screen, Size};
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_codriver");

/// A program on a terminal, and what it shows.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    output: mpsc::Receiver<Vec<u8>>,
    screen: Screen,
    begun: Instant,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Terminal {
    fn start(
        args: &[&str],
        home: &std::path::Path,
        size: (u16, u16),
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let pair = native_pty_system().openpty(PtySize {
            cols: size.0,
            rows: size.1,
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(args);
        command.env_clear();
        command.env("HOME", home);
        command.env("PATH", "/usr/bin:/bin");
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.cwd(home);
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader()?;
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            input: pair.master.take_writer()?,
            output,
            screen: Screen::new(Size::new(size.0, size.1), 0),
            begun: Instant::now(),
            _master: pair.master,
        })
    }

    fn shown(&self) -> String {
        let rows = self.screen.screen_rows();
        rows.into_iter().map(|(line, _)| line.text + "\n").collect()
    }

    /// Waits until the screen shows something.
    fn see(&mut self, wanted: &str, within: Duration) -> Outcome {
        let end = Instant::now() + within;
        while !self.shown().contains(wanted) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => {
                    self.screen.feed(&bytes, self.begun.elapsed());
                    let replies = self.screen.take_replies();
                    self.input.write_all(&replies)?;
                }
                Err(_) => return Err(format!("`{wanted}` is not shown:\n{}", self.shown()).into()),
            }
        }
        Ok(())
    }

    fn press(&mut self, keys: &[u8]) -> Outcome {
        self.input.write_all(keys)?;
        Ok(self.input.flush()?)
    }

    /// Waits for the end of the program.
    fn end(&mut self, within: Duration) -> Result<u32, Box<dyn std::error::Error>> {
        let end = Instant::now() + within;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.exit_code());
            }
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(50)) {
                self.screen.feed(&bytes, self.begun.elapsed());
            }
        }
        Err(format!("it does not end:\n{}", self.shown()).into())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
    }
}

#[test]
fn the_first_command_of_the_readme_plays_a_round_and_leaves_at_a_key() -> Outcome {
    let readme = include_str!("../README.md");
    let command = readme
        .split("```sh\n")
        .nth(1)
        .and_then(|block| block.lines().next())
        .ok_or("the README has no command")?;
    let args = command
        .strip_prefix("cargo run --release --locked -- ")
        .ok_or(format!("the README begins with another command: {command}"))?;
    let args: Vec<&str> = args.split(' ').collect();
    let home = tempfile::tempdir()?;
    let mut terminal = Terminal::start(&args, home.path(), (120, 40))?;
    terminal.see("peer  demo", Duration::from_secs(10))?;
    terminal.see("1 plan ✎ ADJUST", Duration::from_secs(60))?;
    terminal.see("VERDICT: ADJUST", Duration::from_secs(5))?;
    terminal.press(b"q")?;
    terminal.press(b"\x1d")?;
    terminal.see("quit", Duration::from_secs(5))?;
    terminal.press(b"q")?;
    assert_eq!(terminal.end(Duration::from_secs(15))?, 0);
    let modes = terminal.screen.modes();
    assert!(!modes.alternate_screen && !modes.bracketed_paste && !modes.focus);
    assert_eq!(modes.kitty_keys, 0);
    Ok(())
}

#[test]
fn a_runner_the_demo_does_not_start_falls_back_to_the_peer_for_all_to_see() -> Outcome {
    let home = tempfile::tempdir()?;
    let mut terminal = Terminal::start(&["demo"], home.path(), (120, 40))?;
    terminal.see("codex did not answer (absent)", Duration::from_secs(120))?;
    terminal.see("3 impl ✎ ADJUST", Duration::from_secs(60))?;
    terminal.press(b"\x1df")?;
    terminal.see("codex → host  absent", Duration::from_secs(5))?;
    terminal.press(b"\x1bq\x1dq")?;
    Ok(())
}

#[test]
fn without_a_terminal_it_names_the_way_out() -> Outcome {
    let home = tempfile::tempdir()?;
    for term in ["xterm", "dumb"] {
        let output = std::process::Command::new(PROGRAM)
            .arg("demo")
            .env_clear()
            .env("HOME", home.path())
            .env("TERM", term)
            .stdin(std::process::Stdio::null())
            .output()?;
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr)?;
        assert!(said.contains("--headless"), "{said}");
        assert!(output.stdout.is_empty());
    }
    Ok(())
}
