//! The environment of this process: its variables and its own file.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

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
