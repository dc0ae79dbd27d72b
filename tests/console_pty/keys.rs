//! Keys as a child with its modes gets them, end to end: the bytes of an outer terminal into the program on a bare
//! pseudo-terminal, and what a small child in the driver's pane reads.

use std::fs;
use std::io::{Read as _, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use codriver::screen::{Screen, Size};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::tmux::Tmux;
use crate::world::{Fault, LIMIT, Outcome, PROGRAM, World, until};

/// The child: raw, with a mode switched on; what it reads is kept in a file as it comes.
const CHILD: &str = r#"
import os, sys, tty
tty.setraw(0)
os.write(1, sys.argv[1].encode().decode("unicode_escape").encode())
kept = os.open("keys", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(1, b"ready")
while True:
    read = os.read(0, 65536)
    if not read:
        break
    os.write(kept, read)
"#;

/// The program on a terminal that knows the kitty protocol.
struct Outer {
    world: World,
    child: Box<dyn Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    output: mpsc::Receiver<Vec<u8>>,
    screen: Screen,
    begun: Instant,
    _master: Box<dyn MasterPty + Send>,
}

impl Outer {
    /// Starts the console with the child as its driver, the mode switched on.
    fn start(mode: &str) -> Result<Self, Fault> {
        let world = World::new()?;
        fs::write(world.path("repo/keys.py"), CHILD)?;
        let pair = native_pty_system().openpty(PtySize {
            cols: 120,
            rows: 40,
            ..PtySize::default()
        })?;
        let mut command = CommandBuilder::new(PROGRAM);
        let driver = format!("python3 keys.py '{mode}'");
        command.args(["--driver", &driver, "--peer", "demo"]);
        command.env_clear();
        for (name, value) in world.environment() {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        command.cwd(world.path("repo"));
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
        let mut outer = Self {
            world,
            child,
            input: pair.master.take_writer()?,
            output,
            screen: Screen::new(Size::new(120, 40), 0),
            begun: Instant::now(),
            _master: pair.master,
        };
        outer.see("ready")?;
        Ok(outer)
    }

    fn see(&mut self, wanted: &str) -> Outcome {
        let end = Instant::now() + LIMIT;
        loop {
            let rows = self.screen.screen_rows();
            let shown: String = rows.into_iter().map(|(line, _)| line.text + "\n").collect();
            if shown.contains(wanted) {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            let bytes = self
                .output
                .recv_timeout(left)
                .map_err(|_| format!("`{wanted}` is not shown:\n{shown}"))?;
            self.screen.feed(&bytes, self.begun.elapsed());
            self.input.write_all(&self.screen.take_replies())?;
        }
    }

    /// Sends bytes as the outer terminal would, and a letter behind them; gives what the child read before that.
    fn send(&mut self, bytes: &[u8]) -> Result<String, Fault> {
        let file: PathBuf = self.world.path("repo/keys");
        let before = fs::read(&file)?.len();
        self.input.write_all(bytes)?;
        self.input.write_all(b"Z")?;
        self.input.flush()?;
        until("the child's reading", || {
            // What the console shows is taken, so that it never waits for us.
            while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(1)) {
                self.screen.feed(&bytes, self.begun.elapsed());
            }
            let read = fs::read(&file)?;
            let new = read.get(before..).unwrap_or_default();
            Ok(new
                .strip_suffix(b"Z")
                .or_else(|| new.strip_suffix(b"\x1b[90;;90u"))
                .or_else(|| new.strip_suffix(b"\x1b[122;2;90u"))
                .map(|keys| keys.escape_ascii().to_string()))
        })
        .map_err(|error| {
            let read = fs::read(&file).unwrap_or_default();
            format!("{error}: {}", read.escape_ascii()).into()
        })
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compares what the child reads for what an outer terminal sends.
fn holds(mode: &str, cases: &[(&str, &[u8], &str)]) -> Outcome {
    let mut outer = Outer::start(mode)?;
    let mut wrong = Vec::new();
    for (name, sent, wanted) in cases {
        let read = outer.send(sent)?;
        if read != *wanted {
            wrong.push(format!("{name}: {read} and not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{mode}:\n{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_child_without_any_mode_gets_what_xterm_sends() -> Outcome {
    holds(
        "",
        &[
            ("a letter", b"a", "a"),
            (
                "IME text",
                "世界é".as_bytes(),
                r"\xe4\xb8\x96\xe7\x95\x8c\xc3\xa9",
            ),
            ("enter", b"\r", r"\r"),
            ("shift+enter by kitty", b"\x1b[13;2u", r"\r"),
            ("alt+enter by kitty", b"\x1b[13;3u", r"\x1b\r"),
            ("alt+enter by xterm", b"\x1b\r", r"\x1b\r"),
            ("ctrl+c", b"\x03", r"\x03"),
            ("ctrl+c by kitty", b"\x1b[99;5u", r"\x03"),
            ("escape by kitty", b"\x1b[27u", r"\x1b"),
            ("alt+b", b"\x1bb", r"\x1bb"),
            ("up", b"\x1b[A", r"\x1b[A"),
            ("ctrl+left", b"\x1b[1;5D", r"\x1b[1;5D"),
            ("home", b"\x1b[H", r"\x1b[H"),
            ("delete", b"\x1b[3~", r"\x1b[3~"),
            ("f1", b"\x1bOP", r"\x1bOP"),
            ("f5", b"\x1b[15~", r"\x1b[15~"),
            ("shift+f5", b"\x1b[15;2~", r"\x1b[15;2~"),
            ("shift+tab", b"\x1b[Z", r"\x1b[Z"),
            ("backspace", b"\x7f", r"\x7f"),
            ("a paste", b"\x1b[200~a\nb\x1b[201~", r"a\rb"),
            ("the focus", b"\x1b[O\x1b[I", ""),
            ("the mouse", b"\x1b[<35;3;5M", ""),
            ("the prefix twice", b"\x1d\x1d", r"\x1d"),
            ("a key going up", b"\x1b[97;1:3u", ""),
        ],
    )
}

#[test]
fn the_modes_of_a_child_change_what_it_gets() -> Outcome {
    holds(
        r"\x1b[?1h\x1b[?2004h\x1b[?1004h",
        &[
            ("up", b"\x1b[A", r"\x1bOA"),
            ("ctrl+up", b"\x1b[1;5A", r"\x1b[1;5A"),
            ("end", b"\x1b[F", r"\x1bOF"),
            (
                "a paste",
                b"\x1b[200~a\nb\x1b[201~",
                r"\x1b[200~a\nb\x1b[201~",
            ),
            ("the focus", b"\x1b[O\x1b[I", r"\x1b[O\x1b[I"),
        ],
    )
}

#[test]
fn xterms_other_keys_are_told_to_who_asked() -> Outcome {
    holds(
        r"\x1b[>4;2m",
        &[
            ("shift+enter by kitty", b"\x1b[13;2u", r"\x1b[27;2;13~"),
            ("shift+enter by xterm", b"\x1b[27;2;13~", r"\x1b[27;2;13~"),
            ("ctrl+enter by kitty", b"\x1b[13;5u", r"\x1b[27;5;13~"),
            ("ctrl+i by kitty", b"\x1b[105;5u", r"\x1b[27;5;105~"),
            ("enter", b"\r", r"\r"),
            ("a letter", b"a", "a"),
        ],
    )
}

#[test]
fn the_kitty_protocol_is_told_to_who_asked() -> Outcome {
    holds(
        r"\x1b[>1u",
        &[
            ("shift+enter", b"\x1b[13;2u", r"\x1b[13;2u"),
            ("escape", b"\x1b[27u", r"\x1b[27u"),
            ("ctrl+c", b"\x1b[99;5u", r"\x1b[99;5u"),
            ("ctrl+c by xterm", b"\x03", r"\x1b[99;5u"),
            ("alt+enter", b"\x1b[13;3u", r"\x1b[13;3u"),
            ("up", b"\x1b[A", r"\x1b[A"),
            ("f3", b"\x1b[13~", r"\x1b[13~"),
            ("enter", b"\r", r"\r"),
            ("a letter", b"a", "a"),
        ],
    )?;
    holds(
        r"\x1b[>3u",
        &[
            ("a key that is held", b"\x1b[1;1:2A", r"\x1b[1;1:2A"),
            ("a key going up", b"\x1b[1;1:3A", r"\x1b[1;1:3A"),
        ],
    )
}

#[test]
fn the_mouse_is_told_in_the_childs_own_places() -> Outcome {
    // The driver's screen begins in the third row of the terminal.
    holds(
        r"\x1b[?1000h\x1b[?1006h",
        &[
            ("a press", b"\x1b[<0;5;10M", r"\x1b[<0;5;8M"),
            ("a release", b"\x1b[<0;5;10m", r"\x1b[<0;5;8m"),
            ("the wheel", b"\x1b[<64;1;3M", r"\x1b[<64;1;1M"),
            ("a move", b"\x1b[<35;6;10M", ""),
        ],
    )?;
    holds(
        r"\x1b[?1003h\x1b[?1006h",
        &[("a move", b"\x1b[<35;6;10M", r"\x1b[<35;6;8M")],
    )?;
    holds(
        r"\x1b[?1000h",
        &[
            ("a press", b"\x1b[<0;5;10M", r"\x1b[M %("),
            ("up", b"\x1b[<0;5;10m", r"\x1b[M#%("),
        ],
    )
}

#[test]
fn what_tmux_can_send_arrives_as_in_a_bare_terminal() -> Outcome {
    let world = World::new()?;
    fs::write(world.path("repo/keys.py"), CHILD)?;
    let args = ["--driver", "python3 keys.py ''", "--peer", "demo"];
    let Some(tmux) = Tmux::start(world, (120, 40), &args)? else {
        return Ok(());
    };
    tmux.see("ready")?;
    let file = tmux.world.path("repo/keys");
    for (key, wanted) in [
        ("a", "a"),
        ("Enter", r"\r"),
        ("Tab", r"\t"),
        ("BTab", r"\x1b[Z"),
        ("BSpace", r"\x7f"),
        ("C-c", r"\x03"),
        ("M-b", r"\x1bb"),
        ("Up", r"\x1b[A"),
        ("C-Left", r"\x1b[1;5D"),
        ("S-Right", r"\x1b[1;2C"),
        ("Home", r"\x1b[H"),
        ("PageUp", r"\x1b[5~"),
        ("Delete", r"\x1b[3~"),
        ("F1", r"\x1bOP"),
        ("F12", r"\x1b[24~"),
        ("é", r"\xc3\xa9"),
        ("世", r"\xe4\xb8\x96"),
        ("Escape", r"\x1b"),
    ] {
        let before = fs::read(&file)?.len();
        tmux.press(&[key])?;
        until(key, || {
            let read = fs::read(&file)?;
            let new = read[before..].escape_ascii().to_string();
            match new.as_str() {
                new if new == wanted => Ok(Some(())),
                new if new.len() > wanted.len() => {
                    Err(format!("{key}: {new} and not {wanted}").into())
                }
                _ => Ok(None),
            }
        })?;
    }
    Ok(())
}
