//! The person's clipboard: through the terminal (OSC 52), and through the system's own program where there is one.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Longest text a terminal is asked to take; many take no more.
const OSC52_BYTES: usize = 74_994;

/// Longest that a clipboard's program may take.
const TIME: Duration = Duration::from_secs(3);

/// The sequence that has the terminal take a text; nothing for one that is too long for it.
pub fn osc52(text: &str) -> Vec<u8> {
    if text.len() > OSC52_BYTES {
        return Vec::new();
    }
    format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).into_bytes()
}

/// Programs that take a text on standard input, each with the variable that says there is something to take it.
const PROGRAMS: [(&str, &str, &[&str]); 4] = [
    ("WAYLAND_DISPLAY", "wl-copy", &[]),
    ("DISPLAY", "xclip", &["-selection", "clipboard"]),
    ("DISPLAY", "xsel", &["--input", "--clipboard"]),
    ("", "pbcopy", &[]),
];

/// Hands a text to the first of the system's programs that is there.
pub fn put(text: &str) -> io::Result<()> {
    let is_set = |name: &str| {
        name.is_empty() || std::env::var_os(name).is_some_and(|value| !value.is_empty())
    };
    for (variable, program, arguments) in PROGRAMS {
        if !is_set(variable) {
            continue;
        }
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            continue;
        };
        let writing = child.stdin.take().map(|mut stdin| {
            let text = text.to_owned();
            // One that reads nothing is ended, and the writing with it.
            thread::spawn(move || stdin.write_all(text.as_bytes()))
        });
        // It puts itself into the background and keeps the text there.
        let end = Instant::now() + TIME;
        while child.try_wait()?.is_none() {
            if Instant::now() > end {
                child.kill()?;
                child.wait()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        return match writing.map(thread::JoinHandle::join) {
            Some(Ok(written)) => written,
            _ => Ok(()),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_for_the_terminal_unless_it_is_too_long() {
        assert_eq!(osc52("AGREE"), b"\x1b]52;c;QUdSRUU=\x1b\\");
        assert_eq!(osc52(&"x".repeat(OSC52_BYTES + 1)), b"");
    }
}
