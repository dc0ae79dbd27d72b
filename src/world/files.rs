//! Places in the file system: where the product's folders are, and files only their owner can read (interface.md 5).

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Name of the product's folder in each place.
const NAME: &str = "codriver";

/// Where the product's folders are, by the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    home: Option<PathBuf>,
    state: Option<PathBuf>,
    config: Option<PathBuf>,
    runtime: Option<PathBuf>,
}

/// A place the environment does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither {variable} nor HOME names a folder by an absolute path")]
pub struct PlaceError {
    /// The variable that would tell.
    pub variable: &'static str,
}

impl Places {
    /// Reads the environment through `get`. What is empty or relative counts as unset, as the base directory
    /// specification wants.
    pub fn from_env(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| {
            get(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        Self {
            home: path("HOME"),
            state: path("XDG_STATE_HOME"),
            config: path("XDG_CONFIG_HOME"),
            runtime: path("XDG_RUNTIME_DIR"),
        }
    }

    /// The person's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The folder of sessions, runs and logs.
    pub fn state(&self) -> Result<PathBuf, PlaceError> {
        self.place(self.state.as_deref(), ".local/state", "XDG_STATE_HOME")
    }

    /// The folder of the machine file.
    pub fn config(&self) -> Result<PathBuf, PlaceError> {
        self.place(self.config.as_deref(), ".config", "XDG_CONFIG_HOME")
    }

    /// The folder of sockets: the runtime folder's, else `run/` in the state folder.
    pub fn runtime(&self) -> Result<PathBuf, PlaceError> {
        match &self.runtime {
            Some(runtime) => Ok(runtime.join(NAME)),
            None => Ok(self.state()?.join("run")),
        }
    }

    /// The folder of log files.
    pub fn log(&self) -> Result<PathBuf, PlaceError> {
        Ok(self.state()?.join("log"))
    }

    fn place(
        &self,
        set: Option<&Path>,
        below_home: &str,
        variable: &'static str,
    ) -> Result<PathBuf, PlaceError> {
        match (set, &self.home) {
            (Some(set), _) => Ok(set.join(NAME)),
            (None, Some(home)) => Ok(home.join(below_home).join(NAME)),
            (None, None) => Err(PlaceError { variable }),
        }
    }
}

/// Makes a folder and the ones above it; those it makes are the owner's alone.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a folder that must not be there yet.
pub fn make_new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes a folder the top of an empty git repository, so that nothing above it counts as part of the same project.
pub fn make_repository(folder: &Path) -> io::Result<()> {
    let git = folder.join(".git");
    make_new_folder(&git)?;
    make_new_folder(&git.join("objects"))?;
    make_new_folder(&git.join("refs"))?;
    write_new(&git.join("HEAD"), b"ref: refs/heads/main\n")?;
    write_new(
        &git.join("config"),
        b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    )
}

/// Takes a folder away with all that is in it; a link in it goes, not what it leads to.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder)
}

/// Makes a symbolic link at `link` that leads to `target`.
pub fn link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Links every entry of a folder into another one, which is made.
pub fn link_entries(folder: &Path, into: &Path) -> io::Result<()> {
    make_folder(into)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        link(&entry.path(), &into.join(entry.file_name()))?;
    }
    Ok(())
}

/// Reads a text file of at most 1 MiB; none when it is not there.
pub fn read_text(path: &Path) -> io::Result<Option<String>> {
    const BYTES: u64 = 1024 * 1024;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(text))
}

/// Reads a text file of at most `most` bytes; none when it is not there. What is no file, a pipe for one, is an error.
pub fn read_file(path: &Path, most: u64) -> io::Result<Option<String>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Whether a symbolic link is there by this name.
pub fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
}

/// Whether anything is there by this name.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// How a file is opened in a folder another program may write: no link is followed, and no pipe is waited at.
const AS_IT_IS: i32 = rustix::fs::OFlags::NOFOLLOW
    .union(rustix::fs::OFlags::NONBLOCK)
    .bits()
    .cast_signed();

/// Reads the end of a file, at most `most` bytes; nothing where there is none. What another program may have put in its
/// place, a link or a pipe, is an error.
pub fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use std::io::{Seek as _, SeekFrom};
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(AS_IT_IS)
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let length = found.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Appends a line to a file, the owner's alone, in one write; nothing that another writes stands inside it. The file
/// gets no longer than `most` bytes. What another program may have put in its place, a link or a pipe, is an error.
pub fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(AS_IT_IS)
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len().saturating_add(line.len() as u64) > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.write_all(line.as_bytes())
}

/// Opens a new file, the owner's alone, for appending.
pub fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Writes a new file whole, or leaves none behind.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_file(path)?;
    file.write_all(bytes).inspect_err(|_| {
        // The first failure is the one to tell; what is left of the file is as short as the disk allowed.
        let _ = fs::remove_file(path);
    })
}

/// Replaces a file so that at any moment, also after a crash of the machine, the old or the new one is there whole.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file has mode 0600, and removes itself unless it is renamed.
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

/// Replaces a file as `replace` does; the new one has the mode of the old one.
pub fn replace_like(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mode = fs::metadata(path).ok().map(|found| found.permissions());
    replace(path, bytes)?;
    match mode {
        Some(mode) => fs::set_permissions(path, mode),
        None => Ok(()),
    }
}

/// Copies a file to a name that is not taken, mode and all.
pub fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let bytes = fs::read(from)?;
    write_new(to, &bytes)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

/// Where a path leads to, links followed; the path itself when that cannot be told.
pub fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Bytes compressed in one frame, so that reading can begin near any place.
const FRAME: usize = 1 << 20;
/// How hard is compressed.
const LEVEL: i32 = 6;

/// Puts a file compressed with zstd in the place of a plain one; whenever this is interrupted, one of the two is there
/// whole.
pub fn pack(plain: &Path, packed: &Path) -> io::Result<()> {
    let folder = packed.parent().unwrap_or(Path::new("."));
    let mut from = File::open(plain)?;
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    let mut frame = Vec::with_capacity(FRAME);
    loop {
        frame.clear();
        Read::take(&mut from, FRAME as u64).read_to_end(&mut frame)?;
        if frame.is_empty() {
            break;
        }
        file.write_all(&compressor.compress(&frame)?)?;
    }
    file.as_file().sync_all()?;
    file.persist(packed).map_err(|error| error.error)?;
    fs::remove_file(plain)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn places(vars: &[(&str, &str)]) -> Places {
        Places::from_env(|name| {
            vars.iter()
                .find(|(var, _)| *var == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn what_another_put_in_a_files_place_is_neither_written_nor_waited_for() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (line, theirs, pipe) = (
            folder.path().join("line"),
            folder.path().join("theirs"),
            folder.path().join("pipe"),
        );
        fs::write(&theirs, "theirs")?;
        link(&theirs, &line)?;
        assert!(append_line(&line, "x\n", 100).is_err());
        assert!(read_end(&line, 100).is_err());
        assert_eq!(fs::read_to_string(&theirs)?, "theirs");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)?;
        assert!(append_line(&pipe, "x\n", 100).is_err());
        assert!(read_end(&pipe, 100).is_err());
        Ok(())
    }

    #[test]
    fn a_file_of_lines_is_bounded() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lines");
        append_line(&path, "one\n", 7)?;
        assert!(append_line(&path, "two\n", 7).is_err());
        assert_eq!(read_end(&path, 100)?, b"one\n");
        Ok(())
    }

    #[test]
    fn the_home_folder_is_enough() {
        let places = places(&[("HOME", "/home/a")]);
        assert_eq!(places.home(), Some(Path::new("/home/a")));
        assert_eq!(
            places.state(),
            Ok(PathBuf::from("/home/a/.local/state/codriver"))
        );
        assert_eq!(
            places.config(),
            Ok(PathBuf::from("/home/a/.config/codriver"))
        );
        assert_eq!(
            places.runtime(),
            Ok(PathBuf::from("/home/a/.local/state/codriver/run"))
        );
        assert_eq!(
            places.log(),
            Ok(PathBuf::from("/home/a/.local/state/codriver/log"))
        );
    }

    #[test]
    fn each_variable_wins_over_the_home_folder() {
        let places = places(&[
            ("HOME", "/home/a"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
        ]);
        assert_eq!(places.state(), Ok(PathBuf::from("/s/codriver")));
        assert_eq!(places.config(), Ok(PathBuf::from("/c/codriver")));
        assert_eq!(places.runtime(), Ok(PathBuf::from("/run/user/1/codriver")));
    }

    #[test]
    fn relative_and_empty_values_count_as_unset() {
        let places = places(&[
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", ""),
        ]);
        assert_eq!(places, Places::default());
    }

    #[test]
    fn without_a_home_folder_the_missing_variable_is_named() {
        let error = places(&[]).state().expect_err("an error");
        assert_eq!(
            error.to_string(),
            "neither XDG_STATE_HOME nor HOME names a folder by an absolute path"
        );
        assert_eq!(
            places(&[]).config(),
            Err(PlaceError {
                variable: "XDG_CONFIG_HOME"
            })
        );
    }

    #[test]
    fn a_packed_file_holds_what_the_plain_one_held() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let (plain, packed) = (root.path().join("a"), root.path().join("a.zst"));
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7 % 251) as u8).collect();
        fs::write(&plain, &bytes)?;
        pack(&plain, &packed)?;
        assert!(!plain.exists());
        assert!(zstd::decode_all(File::open(&packed)?)? == bytes);
        assert_eq!(fs::metadata(&packed)?.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(root.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn folders_and_files_are_the_owners_alone() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let folder = root.path().join("a/b");
        make_folder(&folder)?;
        make_folder(&folder)?;
        assert!(make_new_folder(&folder).is_err());
        write_new(&folder.join("new"), b"one")?;
        assert!(write_new(&folder.join("new"), b"two").is_err());
        replace(&folder.join("replaced"), b"one")?;
        replace(&folder.join("replaced"), b"two")?;
        let mode = |path: &Path| fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
        assert_eq!(mode(&root.path().join("a"))?, 0o700);
        assert_eq!(mode(&folder)?, 0o700);
        assert_eq!(mode(&folder.join("new"))?, 0o600);
        assert_eq!(mode(&folder.join("replaced"))?, 0o600);
        assert_eq!(fs::read(folder.join("new"))?, b"one");
        assert_eq!(fs::read(folder.join("replaced"))?, b"two");
        assert_eq!(fs::read_dir(&folder)?.count(), 2);
        Ok(())
    }
}
