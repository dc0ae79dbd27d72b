//! The person's editor, in the terminal this program was started on.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command};

use super::process::ProcessId;

/// An editor the person is in.
#[derive(Debug)]
pub struct Editor {
    child: Child,
    program: String,
}

/// Starts `$VISUAL` or `$EDITOR`, else `vi`, on a file.
pub fn start(file: &Path) -> io::Result<Editor> {
    let wish = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty())
        .unwrap_or_else(|| OsString::from("vi"));
    let words = shlex::split(&wish.to_string_lossy()).unwrap_or_default();
    let [program, arguments @ ..] = words.as_slice() else {
        return Err(io::Error::other("EDITOR is no command"));
    };
    Ok(Editor {
        child: Command::new(program).args(arguments).arg(file).spawn()?,
        program: program.clone(),
    })
}

impl Editor {
    /// Who it is, so that it can be ended from elsewhere.
    pub fn id(&self) -> Option<ProcessId> {
        ProcessId::of(i32::try_from(self.child.id()).ok()?)
    }

    /// Waits for its end.
    pub fn wait(mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "`{}` ended with {status}",
                self.program
            ))),
        }
    }
}
