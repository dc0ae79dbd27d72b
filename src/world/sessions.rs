//! The folders of recorded sessions: found, measured, read and taken away (interface.md 5).

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::files;
use super::process::ProcessId;

/// What a folder that is being taken away is called meanwhile, so that half of it is no session.
const GONE: &str = ".gone-";

/// The folder of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder {
    /// The session's id, which is the folder's name.
    pub id: String,
    /// The key of its repository.
    pub repo: String,
    /// The folder.
    pub path: PathBuf,
}

/// All sessions below the state folder, oldest first. Links are not followed.
///
/// # Errors
///
/// When the state folder is there and cannot be read.
pub fn all(state: &Path) -> io::Result<Vec<Folder>> {
    let mut found = Vec::new();
    for (repo, path) in folders(state)? {
        // A repository whose folder cannot be read has no sessions that could be shown.
        for (id, path) in folders(&path.join("sessions")).unwrap_or_default() {
            found.push(Folder {
                id,
                repo: repo.clone(),
                path,
            });
        }
    }
    found.sort();
    Ok(found)
}

/// The folders in a folder, by name; none when it is not there.
fn folders(path: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let Some(name) = entry.file_name().to_str()
            && is_folder
            && !name.starts_with('.')
        {
            found.push((name.to_owned(), entry.path()));
        }
    }
    Ok(found)
}

/// Reads at most `most` bytes of a file of a session; none when it is not there.
///
/// # Errors
///
/// When it cannot be read, or holds more.
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
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(bytes))
}

/// The last `most` bytes of a file.
///
/// # Errors
///
/// When it cannot be read.
pub fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether there is a file of this name.
pub fn has(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Bytes of all files in a folder and the folders in it.
pub fn bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    let of = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |found| found.len()),
        _ => 0,
    };
    entries.flatten().map(of).sum()
}

/// Whether a process of this number runs. A number that was given to another one counts: in doubt a session is open.
pub fn is_running(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(ProcessId::of)
        .is_some_and(ProcessId::is_running)
}

/// Takes the folder of a session away.
///
/// # Errors
///
/// When part of it is left.
pub fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let gone = parent.join(format!("{GONE}{}", name.to_string_lossy()));
    fs::rename(path, &gone)?;
    files::remove_folder(&gone)
}

/// Takes away what an earlier removal left half done.
pub fn sweep(state: &Path) {
    let repositories = folders(state).unwrap_or_default();
    for (_, repository) in repositories {
        let entries = fs::read_dir(repository.join("sessions")).into_iter();
        for entry in entries.flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(GONE) {
                // What cannot be taken away now is tried again the next time.
                let _ = files::remove_folder(&entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_all_repositories_are_found_oldest_first() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        for name in ["b-2/sessions/2", "a-1/sessions/3", "a-1/sessions/1", "log"] {
            fs::create_dir_all(root.path().join(name))?;
        }
        fs::create_dir_all(root.path().join("a-1/sessions/.gone-0"))?;
        std::os::unix::fs::symlink(
            root.path().join("a-1/sessions/1"),
            root.path().join("a-1/sessions/4"),
        )?;
        let ids = |found: Vec<Folder>| -> Vec<String> {
            found.into_iter().map(|folder| folder.id).collect()
        };
        assert_eq!(ids(all(root.path())?), ["1", "2", "3"]);
        assert_eq!(all(&root.path().join("nowhere"))?, []);
        remove(&root.path().join("a-1/sessions/1"))?;
        assert_eq!(ids(all(root.path())?), ["2", "3"]);
        sweep(root.path());
        assert!(!root.path().join("a-1/sessions/.gone-0").exists());
        assert!(root.path().join("a-1/sessions/3").exists());
        Ok(())
    }

    #[test]
    fn files_are_read_up_to_their_bound() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let path = root.path().join("file");
        assert_eq!(read(&path, 9)?, None);
        fs::write(&path, "123456789")?;
        assert_eq!(read(&path, 9)?.as_deref(), Some(&b"123456789"[..]));
        assert!(read(&path, 8).is_err());
        assert_eq!(tail(&path, 2)?, b"89");
        assert_eq!(bytes(root.path()), 9);
        assert!(is_running(std::process::id()));
        assert!(!is_running(u32::MAX));
        Ok(())
    }
}
