//! A tmux of the test's own, with the console in its only pane.

use std::fs;
use std::process::{Command, Output};

use crate::world::{Fault, Outcome, PROGRAM, World, until};

/// What the pane runs: the terminal's settings before and behind the console, and how that ended. A console that stops
/// as a shell's job goes on at the next line.
const AROUND: &str = r#"
set -m
stty -g > before
"$0" "$@" 2> said
status=$?
if [ $status -gt 145 ]; then
    echo STOPPED
    read line
    fg > job
    status=$?
fi
echo "LEFT $status"
stty -g > after
exec sleep 600
"#;

/// A tmux with one window.
pub(crate) struct Tmux {
    pub(crate) world: World,
    socket: String,
}

impl Tmux {
    /// Starts the console with these arguments; none where there is no tmux.
    pub(crate) fn start(
        world: World,
        (cols, rows): (u16, u16),
        args: &[&str],
    ) -> Result<Option<Self>, Fault> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skipped();
            return Ok(None);
        }
        let socket = world.path("tmux").display().to_string();
        let settings = world.path("tmux.conf");
        fs::write(
            &settings,
            "set -g set-clipboard on\nset -s escape-time 0\nset -g focus-events on\nset -g history-limit 1000\n",
        )?;
        let tmux = Self { world, socket };
        tmux.begin((cols, rows), args)?;
        Ok(Some(tmux))
    }

    /// Starts the program once more, in a terminal of its own, behind the one that was left.
    pub(crate) fn again(&self, size: (u16, u16), args: &[&str]) -> Outcome {
        self.tell(&["kill-server"])?;
        // A server that is asked to end listens a moment longer, and takes whoever comes then with it.
        until("the end of the terminal's server", || {
            let gone = Command::new("tmux")
                .args(["-S", &self.socket, "list-sessions"])
                .output()?;
            Ok((!gone.status.success()).then_some(()))
        })?;
        // It may leave its socket; one that has gone is gone.
        let _ = fs::remove_file(&self.socket);
        self.begin(size, args)
    }

    fn begin(&self, (cols, rows): (u16, u16), args: &[&str]) -> Outcome {
        let tmux = self;
        let mut command = tmux.command();
        command.arg("-f").arg(self.world.path("tmux.conf"));
        command.args([
            "new-session",
            "-d",
            "-x",
            &cols.to_string(),
            "-y",
            &rows.to_string(),
        ]);
        command.arg("-c").arg(tmux.world.path("repo"));
        // Only the console has the marks of this world, not what is around it.
        command.args(["sh", "-c"]);
        command.arg(format!("cd {} && {AROUND}", tmux.world.path("").display()));
        command.args(["env", "-i", "-C"]);
        command.arg(tmux.world.path("repo"));
        for (name, value) in tmux.world.environment() {
            command.arg(format!("{name}={value}"));
        }
        command.args(["TERM=tmux-256color", "COLORTERM=truecolor", PROGRAM]);
        command.args(args);
        run(&mut command)?;
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket);
        command.env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("LANG", "C.UTF-8");
        command.env("HOME", self.world.path(""));
        command
    }

    /// A command of tmux, and what it prints.
    pub(crate) fn tell(&self, args: &[&str]) -> Result<String, Fault> {
        let output = run(self.command().args(args))?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Presses keys by tmux's names.
    pub(crate) fn press(&self, keys: &[&str]) -> Outcome {
        let mut args = vec!["send-keys"];
        args.extend(keys);
        self.tell(&args).map(drop)
    }

    /// Types text.
    pub(crate) fn type_in(&self, text: &str) -> Outcome {
        self.tell(&["send-keys", "-l", text]).map(drop)
    }

    /// Presses the prefix and a key.
    pub(crate) fn act(&self, key: &str) -> Outcome {
        self.press(&["C-]", key])
    }

    pub(crate) fn screen(&self) -> Result<String, Fault> {
        self.tell(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows something; gives the screen.
    pub(crate) fn see(&self, wanted: &str) -> Result<String, Fault> {
        let mut last = String::new();
        let found = until(wanted, || {
            last = self.screen()?;
            Ok(last.contains(wanted).then_some(()))
        });
        match found {
            Ok(()) => Ok(last),
            Err(error) => Err(format!("{error}\n{last}").into()),
        }
    }

    /// Waits until the screen shows something no more.
    pub(crate) fn see_no_more(&self, wanted: &str) -> Outcome {
        until(&format!("the end of {wanted}"), || {
            Ok((!self.screen()?.contains(wanted)).then_some(()))
        })
    }

    /// Waits until the console was left; the terminal is as it was found.
    pub(crate) fn is_left(&self, status: u8) -> Outcome {
        self.see(&format!("LEFT {status}"))?;
        until("the terminal's settings", || {
            Ok(fs::read_to_string(self.world.path("after"))
                .ok()
                .filter(|text| text.ends_with('\n')))
        })?;
        let read = |name: &str| fs::read_to_string(self.world.path(name));
        assert_eq!(read("before")?, read("after")?, "the terminal's settings");
        let modes = self.tell(&[
            "display-message",
            "-p",
            "#{alternate_on}#{bracket_paste_flag}#{mouse_any_flag}#{cursor_flag}#{keypad_cursor_flag}",
        ])?;
        // An older tmux does not know whether pastes are bracketed.
        assert!(["00010\n", "0010\n"].contains(&modes.as_str()), "{modes}");
        assert_eq!(read("said")?, "", "said at the end");
        Ok(())
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may be gone: some tests end it.
        let _ = self.command().arg("kill-server").output();
        for (pid, _) in self.world.processes() {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                // It may have ended meanwhile.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test that cannot be made says so")]
fn skipped() {
    eprintln!("skipped: there is no tmux here, and this test needs one");
}

fn run(command: &mut Command) -> Result<Output, Fault> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {said}").into());
    }
    Ok(output)
}
