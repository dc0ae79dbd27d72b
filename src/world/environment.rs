//! The environment of this process: its variables, its own file and the folder it works in.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of a variable; one that is empty counts as not set.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// All variables, in no order.
pub fn all() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

static OWN_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The program of codriver: the file this process runs from, unless it was named.
pub fn own_program() -> io::Result<PathBuf> {
    if let Some(named) = OWN_PROGRAM.get() {
        return Ok(named.clone());
    }
    let own = env::current_exe()?;
    let held = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    // A newer version may have taken its place; the one that runs can still be started by this name.
    match own.exists() || !held.exists() {
        true => Ok(own),
        false => Ok(held),
    }
}

/// Names codriver's program for a process that is another one, a test for example: codriver starts itself to shut a
/// peer in. Only the first name counts.
pub fn name_own_program(program: PathBuf) {
    // The first one stands.
    let _ = OWN_PROGRAM.set(program);
}

/// Makes a folder the one this process works in, and gives its real path.
pub fn enter(folder: &Path) -> io::Result<PathBuf> {
    env::set_current_dir(folder)?;
    env::current_dir()?.canonicalize()
}
