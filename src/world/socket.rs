//! The socket of a console: opened for its owner alone, and who is at the other end of it.
//!
//! A lock beside the socket says whether the program that made it still runs; so one that was left behind is told from
//! one in use without connecting to it, and two consoles that start at the same moment cannot both have it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::process::geteuid;
use tokio::net::{UnixListener, UnixStream};

use super::files;

/// Longest path a socket may have, on any of the systems.
const PATH_BYTES: usize = 103;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another program of this user has it.
    #[error("another console has the socket `{0}`")]
    Taken(String),
    /// What stands there is not ours.
    #[error(
        "`{0}` is not a socket of this user; remove it, or set XDG_RUNTIME_DIR to a folder of your own"
    )]
    Foreign(String),
    /// The path is too long for a socket.
    #[error("the path `{0}` is too long for a socket; set XDG_RUNTIME_DIR to a shorter folder")]
    TooLong(String),
    /// Nobody listens.
    #[error("nobody listens at `{0}`")]
    Nobody(String),
    /// The system refuses.
    #[error("the socket `{0}` cannot be used")]
    Io(String, #[source] io::Error),
}

/// A socket that is listened at; it goes when this does.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
    /// Which file the socket is: another console may have put its own there since.
    file: Option<(u64, u64)>,
    lock: File,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who {
    /// Its process number, where the system tells it.
    pub pid: Option<i32>,
    /// Whether it is the same user.
    pub is_ours: bool,
}

impl Listener {
    /// Opens the socket at `path`; one that was left behind is replaced.
    pub fn open(path: &Path) -> Result<Self, SocketError> {
        let shown = path.to_string_lossy().into_owned();
        let broken = |error| SocketError::Io(shown.clone(), error);
        if path.as_os_str().len() > PATH_BYTES {
            return Err(SocketError::TooLong(shown));
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        files::make_folder(folder).map_err(broken)?;
        let found = fs::symlink_metadata(folder).map_err(broken)?;
        let is_private = found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0;
        if !(found.is_dir() && is_private) {
            return Err(SocketError::Foreign(folder.to_string_lossy().into_owned()));
        }
        let lock = lock(&lock_of(path)).map_err(broken)?;
        let Some(lock) = lock else {
            return Err(SocketError::Taken(shown));
        };
        match fs::symlink_metadata(path) {
            Ok(found) => {
                if !(found.file_type().is_socket() && found.uid() == geteuid().as_raw()) {
                    return Err(SocketError::Foreign(shown));
                }
                fs::remove_file(path).map_err(broken)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(broken(error)),
        }
        let listener = UnixListener::bind(path).map_err(broken)?;
        // The folder lets nobody else in; this says so of the socket too.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(broken)?;
        Ok(Self {
            listener,
            path: path.to_path_buf(),
            file: fs::symlink_metadata(path).ok().map(|found| which(&found)),
            lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next client.
    pub async fn next(&self) -> io::Result<(UnixStream, Who)> {
        let (stream, _) = self.listener.accept().await?;
        let who = who(&stream)?;
        Ok((stream, who))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_there = |path: &Path| fs::symlink_metadata(path).ok().map(|found| which(&found));
        // One that stays behind is replaced by the next console.
        if self.file.is_some() && is_there(&self.path) == self.file {
            let _ = fs::remove_file(&self.path);
        }
        // Still held: whoever opened it meanwhile finds it taken, or finds that it is no longer the one by its name.
        let lock = lock_of(&self.path);
        let held = self.lock.metadata().ok().map(|found| which(&found));
        if held.is_some() && is_there(&lock) == held {
            let _ = fs::remove_file(&lock);
        }
    }
}

/// The lock beside a socket.
fn lock_of(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Which file it is, whatever it is called.
fn which(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Takes the lock at `path`; none when another program has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let Some(file) = try_lock(path)? else {
            return Ok(None);
        };
        // One that was taken away between its opening and its lock keeps nobody else out.
        let is_it = fs::symlink_metadata(path).is_ok_and(|found| {
            file.metadata()
                .is_ok_and(|held| which(&held) == which(&found))
        });
        if is_it {
            return Ok(Some(file));
        }
    }
}

fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Connects to the console at `path`, which must be this user's; tells who listens there too.
pub async fn connect(path: &Path) -> Result<(UnixStream, Who), SocketError> {
    let shown = path.to_string_lossy().into_owned();
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() && found.uid() == geteuid().as_raw() => {}
        Ok(_) => return Err(SocketError::Foreign(shown)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SocketError::Nobody(shown));
        }
        Err(error) => return Err(SocketError::Io(shown, error)),
    }
    let stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            return Err(SocketError::Nobody(shown));
        }
        Err(error) => return Err(SocketError::Io(shown, error)),
    };
    match who(&stream) {
        Ok(who) if who.is_ours => Ok((stream, who)),
        Ok(_) => Err(SocketError::Foreign(shown)),
        Err(error) => Err(SocketError::Io(shown, error)),
    }
}

/// The sockets of a folder.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|word| word == "sock"))
        .collect();
    found.sort();
    found
}

fn who(stream: &UnixStream) -> io::Result<Who> {
    let known = stream.peer_cred()?;
    Ok(Who {
        pid: known.pid(),
        is_ours: known.uid() == geteuid().as_raw(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[tokio::test]
    async fn a_socket_is_the_owners_alone_and_goes_with_its_listener() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run/x.sock");
        let listener = Listener::open(&path)?;
        assert_eq!(fs::metadata(&path)?.mode() & 0o777, 0o600);
        assert_eq!(
            fs::metadata(folder.path().join("run"))?.mode() & 0o777,
            0o700
        );
        let (near, far) = tokio::join!(connect(&path), listener.next());
        near?;
        let who = far?.1;
        assert!(who.is_ours);
        assert_eq!(who.pid, Some(i32::try_from(std::process::id())?));
        drop(listener);
        assert!(!path.exists());
        assert_eq!(fs::read_dir(folder.path().join("run"))?.count(), 0);
        Ok(())
    }

    #[tokio::test]
    async fn a_socket_another_console_put_there_since_stays() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.sock");
        let first = Listener::open(&path)?;
        // What a program does that clears the runtime folder.
        fs::remove_file(&path)?;
        fs::remove_file(lock_of(&path))?;
        let second = Listener::open(&path)?;
        drop(first);
        let (near, far) = tokio::join!(connect(&path), second.next());
        near?;
        far?;
        assert!(matches!(Listener::open(&path), Err(SocketError::Taken(_))));
        Ok(())
    }

    #[tokio::test]
    async fn one_left_behind_is_replaced_and_one_in_use_is_not() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.sock");
        // A listener that is dropped leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path)?);
        assert!(matches!(connect(&path).await, Err(SocketError::Nobody(_))));
        let listener = Listener::open(&path)?;
        assert!(matches!(Listener::open(&path), Err(SocketError::Taken(_))));
        drop(listener);
        Listener::open(&path)?;
        Ok(())
    }

    #[tokio::test]
    async fn what_is_no_socket_of_ours_is_refused_and_stays() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.sock");
        fs::write(&path, "kept")?;
        assert!(matches!(
            Listener::open(&path),
            Err(SocketError::Foreign(_))
        ));
        assert!(matches!(connect(&path).await, Err(SocketError::Foreign(_))));
        assert_eq!(fs::read_to_string(&path)?, "kept");
        fs::remove_file(&path)?;
        std::os::unix::fs::symlink("/nowhere", &path)?;
        assert!(matches!(
            Listener::open(&path),
            Err(SocketError::Foreign(_))
        ));
        Ok(())
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() -> Tested {
        let folder = tempfile::tempdir()?;
        let open = folder.path().join("open");
        fs::create_dir(&open)?;
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777))?;
        let refused = Listener::open(&open.join("x.sock"));
        assert!(matches!(refused, Err(SocketError::Foreign(_))));
        Ok(())
    }

    #[test]
    fn a_path_too_long_is_told_before_anything_is_made() {
        let path = Path::new("/nowhere").join("x".repeat(120));
        assert!(matches!(
            Listener::open(&path),
            Err(SocketError::TooLong(_))
        ));
    }
}
