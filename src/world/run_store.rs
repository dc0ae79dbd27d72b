//! The folder of a run: its state under a lock, its record, returns placed, taken back and kept aside (systems.md 0.6,
//! B.9 to B.12; interface.md 5).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::files;

/// The state, replaced whole.
pub const STATE: &str = "state.json";
/// One line for each thing that happened.
pub const RECORD: &str = "record.jsonl";
const LOCK: &str = "lock";
/// Pauses between two tries for a lock that is held, in milliseconds; together about four seconds.
const PAUSES: [u64; 9] = [5, 10, 20, 40, 80, 160, 320, 1000, 2500];
/// Most that is read of a state.
const STATE_BYTES: u64 = 16 << 20;

/// Why the state could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Somebody else holds the lock, and went on holding it.
    #[error("the run's lock is held by another process")]
    Busy,
    /// A file or a folder could not be had.
    #[error("the run's folder cannot be used")]
    Io(#[from] io::Error),
}

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

/// The lock of a run, held.
#[derive(Debug)]
pub struct Locked<'r> {
    folder: &'r RunFolder,
    // Closing it lets the lock go.
    _file: File,
}

impl RunFolder {
    /// Makes the folder of a new run below `<state>/<repo_key>/runs/`.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or is there already.
    pub fn create(state: &Path, repo_key: &str, id: &str) -> io::Result<Self> {
        let runs = state.join(repo_key).join("runs");
        files::make_folder(&runs)?;
        let path = runs.join(id);
        files::make_new_folder(&path)?;
        Ok(Self { path })
    }

    /// The folders of all runs of a repository, newest first.
    ///
    /// # Errors
    ///
    /// When the folder they lie in is there and cannot be read.
    pub fn all(state: &Path, repo_key: &str) -> io::Result<Vec<Self>> {
        let runs = match fs::read_dir(state.join(repo_key).join("runs")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            runs => runs?,
        };
        let mut found = Vec::new();
        for entry in runs {
            let entry = entry?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push(Self { path: entry.path() });
            }
        }
        found.sort_by(|a, b| b.path.cmp(&a.path));
        Ok(found)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder in the run's, and those above it.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn make(&self, below: &Path) -> io::Result<PathBuf> {
        let path = self.path.join(below);
        files::make_folder(&path)?;
        Ok(path)
    }

    /// Takes the lock, waiting a bounded time for whoever holds it.
    ///
    /// # Errors
    ///
    /// [`RunError::Busy`] when it stays held.
    pub async fn lock(&self) -> Result<Locked<'_>, RunError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.path.join(LOCK))?;
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    return Ok(Locked {
                        folder: self,
                        _file: file,
                    });
                }
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            if let Some(pause) = pause {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        }
        Err(RunError::Busy)
    }

    /// Reads the state as it stands; a writer replaces it whole, so no lock is needed to read.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn read(&self) -> io::Result<Option<Vec<u8>>> {
        read(&self.path.join(STATE), STATE_BYTES)
    }
}

impl Locked<'_> {
    /// Replaces the state, and makes it last.
    ///
    /// # Errors
    ///
    /// When it could not be written; the one before stands then.
    pub fn write(&self, state: &[u8]) -> io::Result<()> {
        files::replace(&self.folder.path.join(STATE), state)
    }

    /// Adds a line to the record.
    ///
    /// # Errors
    ///
    /// When it could not be written.
    pub fn record(&self, line: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.folder.path.join(RECORD))?;
        file.write_all(line)
    }

    /// Writes a return where nothing stands; false when something does, which stays as it is.
    ///
    /// # Errors
    ///
    /// When it could not be written; nothing of it is left then.
    pub fn place(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        create_whole(path, bytes)
    }
}

/// Keeps an answer that lost its place: as `<stem>.md`, `<stem>-2.md` and so on, never in the place of another file.
///
/// # Errors
///
/// When it could not be written.
pub fn keep_aside(folder: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=9_999 {
        let name = match number {
            1 => format!("{stem}.md"),
            number => format!("{stem}-{number}.md"),
        };
        let path = folder.join(name);
        if create_whole(&path, bytes)? {
            return Ok(path);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Writes a file under a name nobody has, so that it is there whole or not at all; false when somebody has the name.
fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    match fs::hard_link(file.path(), path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // A file system without hard links.
        Err(_) => match files::write_new(path, bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        },
    }
}

/// Reads at most `most` bytes and one more; none when nothing stands there.
///
/// # Errors
///
/// When what stands there is no file or cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Takes a file away if `is_ours` says so of its bytes; whether it did (B.11).
///
/// # Errors
///
/// When it is there and cannot be read or removed.
pub fn take_back(path: &Path, most: u64, is_ours: impl FnOnce(&[u8]) -> bool) -> io::Result<bool> {
    match read(path, most)? {
        Some(bytes) if is_ours(&bytes) => fs::remove_file(path).map(|()| true),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Test = Result<(), Box<dyn std::error::Error>>;

    #[tokio::test]
    async fn one_writer_at_a_time_and_the_other_is_told_that_it_is_busy() -> Test {
        let root = tempfile::tempdir()?;
        let run = RunFolder::create(root.path(), "shop", "1")?;
        assert_eq!(run.read()?, None);
        let held = run.lock().await?;
        held.write(b"one")?;
        held.record(b"a\n")?;
        assert!(matches!(run.lock().await, Err(RunError::Busy)));
        drop(held);
        let held = run.lock().await?;
        held.write(b"two")?;
        held.record(b"b\n")?;
        drop(held);
        assert_eq!(run.read()?.as_deref(), Some(&b"two"[..]));
        assert_eq!(fs::read(run.path().join(RECORD))?, b"a\nb\n");
        Ok(())
    }

    #[tokio::test]
    async fn a_writer_that_is_waited_for_is_followed() -> Test {
        let root = tempfile::tempdir()?;
        let run = RunFolder::create(root.path(), "shop", "1")?;
        let first = run.lock().await?;
        let (second, ()) = tokio::join!(run.lock(), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(first);
        });
        assert!(second.is_ok());
        Ok(())
    }

    #[tokio::test]
    async fn a_return_is_placed_where_nothing_stands_and_is_never_replaced() -> Test {
        let root = tempfile::tempdir()?;
        let run = RunFolder::create(root.path(), "shop", "1")?;
        let folder = run.make(Path::new("validate/round-1/auditor"))?;
        let path = folder.join("return.md");
        let held = run.lock().await?;
        assert!(held.place(&path, b"first")?);
        assert!(!held.place(&path, b"second")?);
        assert_eq!(fs::read(&path)?, b"first");
        assert!(!take_back(&path, 100, |bytes| bytes == b"second")?);
        assert!(take_back(&path, 100, |bytes| bytes == b"first")?);
        assert!(!path.exists());
        assert!(!take_back(&path, 100, |_| true)?);
        assert_eq!(fs::read_dir(&folder)?.count(), 0);
        Ok(())
    }

    #[test]
    fn what_lost_its_place_is_kept_under_the_next_free_name() -> Test {
        let root = tempfile::tempdir()?;
        let keep = |bytes: &[u8]| keep_aside(root.path(), "rp-return", bytes);
        assert_eq!(keep(b"one")?, root.path().join("rp-return.md"));
        assert_eq!(keep(b"two")?, root.path().join("rp-return-2.md"));
        assert_eq!(keep(b"three")?, root.path().join("rp-return-3.md"));
        assert_eq!(fs::read(root.path().join("rp-return.md"))?, b"one");
        assert_eq!(fs::read(root.path().join("rp-return-2.md"))?, b"two");
        Ok(())
    }

    #[test]
    fn runs_are_listed_newest_first_and_an_id_is_used_once() -> Test {
        let root = tempfile::tempdir()?;
        assert_eq!(RunFolder::all(root.path(), "shop")?, []);
        let first = RunFolder::create(root.path(), "shop", "20260101-1")?;
        let second = RunFolder::create(root.path(), "shop", "20260102-1")?;
        assert!(RunFolder::create(root.path(), "shop", "20260102-1").is_err());
        assert_eq!(RunFolder::all(root.path(), "shop")?, [second, first]);
        Ok(())
    }
}
