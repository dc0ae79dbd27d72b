//! The environment of this process: its variables, its own file and the folder it works in.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The value of a variable; one that is empty counts as not set.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// All variables, in no order.
pub fn all() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// The file this process runs from.
pub fn own_program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Makes a folder the one this process works in, and gives its real path.
pub fn enter(folder: &Path) -> io::Result<PathBuf> {
    env::set_current_dir(folder)?;
    env::current_dir()?.canonicalize()
}
