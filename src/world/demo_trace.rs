//! What the demo agent leaves outside of its terminal: lines in a file, and a process (fault `spawn`).

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// How long the process lasts, in seconds.
const LINGER: &str = "600";

/// Appends one line to a file, which is made when it is missing.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Starts a process in a group of its own and leaves it behind, as a careless agent does.
pub fn leave_process() -> io::Result<()> {
    Command::new("sleep")
        .arg(LINGER)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(())
}
