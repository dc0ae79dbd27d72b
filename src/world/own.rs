//! This program once more, for one call: asked to end when nobody waits for it any more.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use super::{environment, process};

/// What a call came to.
#[derive(Debug)]
pub struct Called {
    /// Its exit status; none when a signal ended it.
    pub status: Option<i32>,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub error: Vec<u8>,
}

/// A child that is asked to end, and so ends what it started, when this goes before it has.
struct Asked(Option<Child>);

impl Drop for Asked {
    fn drop(&mut self) {
        let id = self.0.as_ref().and_then(Child::id);
        if let Some(pid) = id.and_then(|id| Pid::from_raw(id.cast_signed())) {
            // Not reaped yet, so the number is still its own.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Calls this program with these arguments in a folder, nothing on its input, at most `bound` bytes of each output.
///
/// # Errors
///
/// When it cannot be started or read.
pub async fn call(args: &[OsString], folder: &Path, bound: usize) -> io::Result<Called> {
    process::keep_descriptors();
    let mut command = std::process::Command::new(environment::own_program()?);
    process::ask_to_end_with_us(&mut command);
    let child = Command::from(command)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut asked = Asked(Some(child));
    let child = asked.0.as_mut().expect("just put there");
    let output = bounded(child.stdout.take().expect("it is a pipe"), bound);
    let error = bounded(child.stderr.take().expect("it is a pipe"), bound);
    let (output, error) = tokio::try_join!(output, error)?;
    let status = child.wait().await?;
    asked.0 = None;
    Ok(Called {
        status: status.code(),
        output,
        error,
    })
}

/// Reads to the end but keeps only the beginning.
async fn bounded(mut from: impl AsyncRead + Unpin, bound: usize) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    (&mut from)
        .take(bound as u64)
        .read_to_end(&mut kept)
        .await?;
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    Ok(kept)
}
