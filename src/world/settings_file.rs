//! Settings files on disk: the root of the repository they may lie in, and their text, read with a bound.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Largest settings file that is read, in bytes.
pub const LARGEST: u64 = 1024 * 1024;

/// Why a file that is there was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("{}", plain(.0))]
    Io(#[from] io::Error),
    /// A folder, a pipe, a device.
    #[error("it is no ordinary file")]
    NotAFile,
    /// Over the bound.
    #[error("it is larger than {LARGEST} bytes")]
    TooLarge,
    /// Not text.
    #[error("it is not UTF-8")]
    NotText,
}

/// The system's words without its number.
fn plain(error: &io::Error) -> String {
    let shown = error.to_string();
    match shown.find(" (os error") {
        Some(at) => shown[..at].to_lowercase(),
        None => shown,
    }
}

/// Reads a settings file; none when there is no such file.
pub fn read(path: &Path) -> Result<Option<String>, ReadError> {
    // Without NONBLOCK, a pipe laid in the file's place would hold us for ever.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file: File = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file.into(),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(ReadError::Io(error.into())),
    };
    if !file.metadata()?.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ReadError::TooLarge);
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| ReadError::NotText)
}

/// The folder at or above `folder` that holds `.git`, as a folder or as the file of a worktree.
pub fn repository_root(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|above| above.join(".git").symlink_metadata().is_ok())
        .map(Path::to_path_buf)
}

/// Whether `path` lies in `folder`, directly or through links.
pub fn is_inside(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    path.starts_with(folder) || real(path).starts_with(real(folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn what_is_not_there_is_none() -> Outcome {
        let dir = tempfile::tempdir()?;
        assert!(read(&dir.path().join("x.toml"))?.is_none());
        fs::write(dir.path().join("file"), "")?;
        assert!(read(&dir.path().join("file/x.toml"))?.is_none());
        Ok(())
    }

    #[test]
    fn what_is_no_text_of_an_ordinary_file_is_told() -> Outcome {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x.toml");
        assert!(matches!(read(dir.path()), Err(ReadError::NotAFile)));
        fs::write(&path, [0xff, 0xfe])?;
        assert!(matches!(read(&path), Err(ReadError::NotText)));
        fs::write(&path, vec![b'#'; LARGEST as usize + 1])?;
        assert!(matches!(read(&path), Err(ReadError::TooLarge)));
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )?;
        assert!(matches!(read(&fifo), Err(ReadError::NotAFile)));
        Ok(())
    }

    #[test]
    fn a_root_is_found_from_below_also_in_a_worktree() -> Outcome {
        let dir = tempfile::tempdir()?;
        let root = dir.path().join("repo");
        fs::create_dir_all(root.join("a/b"))?;
        fs::write(root.join(".git"), "gitdir: elsewhere")?;
        assert_eq!(repository_root(&root.join("a/b")), Some(root.clone()));
        Ok(())
    }

    #[test]
    fn a_link_does_not_hide_that_a_file_lies_inside() -> Outcome {
        let dir = tempfile::tempdir()?;
        let root = dir.path().join("repo");
        fs::create_dir_all(root.join("bin"))?;
        fs::write(root.join("bin/claude"), "")?;
        symlink(root.join("bin"), dir.path().join("bin"))?;
        assert!(is_inside(&dir.path().join("bin/claude"), &root));
        assert!(!is_inside(&dir.path().join("other"), &root));
        Ok(())
    }
}
