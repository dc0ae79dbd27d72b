//! The environment of this process: variables, the present folder, its own file, its standard streams.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// The value of a variable; one that is empty counts as not set.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The present folder.
pub fn folder() -> io::Result<PathBuf> {
    env::current_dir()
}

/// The file this process runs from.
pub fn own_program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Which of standard input, output and error are terminals.
pub fn terminals() -> [bool; 3] {
    [
        io::stdin().is_terminal(),
        io::stdout().is_terminal(),
        io::stderr().is_terminal(),
    ]
}

/// Columns and rows of the terminal on one of the standard streams, output first.
pub fn terminal_size() -> Option<(u16, u16)> {
    let size = |fd| rustix::termios::tcgetwinsize(fd).ok();
    size(rustix::stdio::stdout())
        .or_else(|| size(rustix::stdio::stderr()))
        .or_else(|| size(rustix::stdio::stdin()))
        .map(|size| (size.ws_col, size.ws_row))
        .filter(|(cols, rows)| *cols > 0 && *rows > 0)
}
