//! The program's own log: a file in the state folder, bounded, for its owner alone; never the terminal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;

use crate::limits;

/// Name of the log in its folder; the one before it has `.old` at its end.
pub const FILE: &str = "codriver.log";

/// Starts logging into `folder`, which is made when it is not there; 0 is info, 1 debug, more is trace.
///
/// On an error nothing is logged, and the program goes on without.
pub fn start(folder: &Path, verbosity: u8) -> io::Result<()> {
    let subscriber = subscriber(folder, verbosity)?;
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)
}

fn subscriber(folder: &Path, verbosity: u8) -> io::Result<impl Subscriber + Send + Sync> {
    let level = match verbosity {
        0 => "info",
        1 => "debug",
        _ => "trace",
    };
    let file = BoundedFile::open(folder, limits::LOG_BYTES)?;
    Ok(tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!(
            "{}={level}",
            env!("CARGO_PKG_NAME")
        )))
        .with_ansi(false)
        // A log that cannot be written, on a full disk say, is no news for standard error.
        .log_internal_errors(false)
        .with_writer(Mutex::new(file))
        .finish())
}

/// A file that makes room for itself: at its bound it becomes the old one and a new one begins.
struct BoundedFile {
    path: PathBuf,
    file: File,
    written: u64,
    bound: u64,
}

impl BoundedFile {
    fn open(folder: &Path, bound: u64) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let path = folder.join(FILE);
        let file = append(&path)?;
        let written = file.metadata()?.len();
        Ok(Self {
            path,
            file,
            written,
            bound,
        })
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("log.old"))?;
        self.file = append(&self.path)?;
        self.written = self.file.metadata()?.len();
        Ok(())
    }
}

impl Write for BoundedFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        if self.written > 0 && self.written + length > self.bound {
            self.begin_anew()?;
        }
        self.file.write_all(line)?;
        self.written += length;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> io::Result<u32> {
        Ok(fs::metadata(path)?.permissions().mode() & 0o777)
    }

    #[test]
    fn lines_go_to_the_file_by_level() -> io::Result<()> {
        let state = tempfile::tempdir()?;
        let folder = state.path().join("codriver/log");
        for (verbosity, expected) in [(0, 1), (1, 2), (2, 3)] {
            tracing::subscriber::with_default(subscriber(&folder, verbosity)?, || {
                tracing::info!("one");
                tracing::debug!("two");
                tracing::trace!("three");
                tracing::error!(target: "elsewhere", "not ours");
            });
            let text = fs::read_to_string(folder.join(FILE))?;
            assert_eq!(text.lines().count(), expected, "{text}");
            assert!(
                text.contains(" INFO codriver::world::log::tests: one\n"),
                "{text}"
            );
            fs::remove_file(folder.join(FILE))?;
        }
        Ok(())
    }

    #[test]
    fn folder_and_file_are_the_owners_alone() -> io::Result<()> {
        let state = tempfile::tempdir()?;
        let folder = state.path().join("log");
        BoundedFile::open(&folder, 100)?;
        assert_eq!(mode(&folder)?, 0o700);
        assert_eq!(mode(&folder.join(FILE))?, 0o600);
        Ok(())
    }

    #[test]
    fn a_full_log_becomes_the_old_one() -> io::Result<()> {
        let state = tempfile::tempdir()?;
        let (current, old) = (
            state.path().join(FILE),
            state.path().join("codriver.log.old"),
        );
        let mut log = BoundedFile::open(state.path(), 10)?;
        log.write_all(b"12345678\n")?;
        assert!(!old.exists());
        log.write_all(b"abcd\n")?;
        assert_eq!(fs::read(&old)?, b"12345678\n");
        assert_eq!(fs::read(&current)?, b"abcd\n");
        drop(log);
        let mut log = BoundedFile::open(state.path(), 10)?;
        log.write_all(b"efgh\n")?;
        log.write_all(b"longer than the bound\n")?;
        assert_eq!(fs::read(&old)?, b"abcd\nefgh\n");
        assert_eq!(fs::read(&current)?, b"longer than the bound\n");
        Ok(())
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_no_more() -> io::Result<()> {
        let state = tempfile::tempdir()?;
        fs::write(state.path().join("log"), "a file")?;
        assert!(start(&state.path().join("log"), 0).is_err());
        Ok(())
    }
}
