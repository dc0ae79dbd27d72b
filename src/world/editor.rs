//! The person's editor, in the terminal this program was started on.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

/// Runs `$VISUAL` or `$EDITOR`, else `vi`, on a file and waits for its end.
pub fn run(file: &Path) -> io::Result<()> {
    let wish = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty())
        .unwrap_or_else(|| OsString::from("vi"));
    let words = shlex::split(&wish.to_string_lossy()).unwrap_or_default();
    let [program, arguments @ ..] = words.as_slice() else {
        return Err(io::Error::other("EDITOR is no command"));
    };
    let status = Command::new(program).args(arguments).arg(file).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("`{program}` ended with {status}"))),
    }
}
