//! The fingerprint of a working tree, taken before and after a round (A.14), without git.
//!
//! It covers HEAD's commit and every file git would not ignore: its path, whether it is executable, its content or the
//! target of the link. A file that is tracked although a rule ignores it is not covered, since only the index knows.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ignore::{DirEntry, WalkBuilder};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::limits;

type Hash = [u8; 32];

/// How much longer than the limit a reader is waited for that may be stuck in one call.
const SLACK: Duration = Duration::from_millis(50);

/// A working tree and what was read of it before, so that unchanged files are not read twice.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    cache: Cache,
}

#[derive(Debug, Default)]
struct Cache(HashMap<PathBuf, (Stamp, Hash)>);

/// What changes whenever a file's content does; the time of its change cannot be set by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Tree {
    /// Names the tree whose top folder is `root`.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            cache: Cache::default(),
        }
    }

    /// Returns the fingerprint, `sha256:` and 64 digits; none when it could not be had within `limit`
    /// (`limits::TREE_TIME`), or when the folder cannot be read.
    pub async fn fingerprint(&mut self, limit: Duration) -> Option<String> {
        let deadline = Instant::now() + limit;
        let (root, cache) = (self.root.clone(), std::mem::take(&mut self.cache));
        let (give, take) = oneshot::channel();
        // A thread of its own and none of the runtime's, whose end would wait for it: a file system may hang.
        std::thread::Builder::new()
            .name("tree".to_owned())
            .spawn(move || {
                let mut reader = Reader {
                    seen: cache,
                    fresh: Cache::default(),
                    deadline,
                };
                let fingerprint = reader.fingerprint(&root);
                // Nobody waits any more when the time is over.
                let _ = give.send((fingerprint, reader));
            })
            .ok()?;
        // A reader that is late says so itself, and what it has read helps the next time.
        let answer = tokio::time::timeout_at((deadline + SLACK).into(), take).await;
        let (fingerprint, mut reader) = answer.ok()?.ok()?;
        if fingerprint.is_none() {
            reader.seen.0.extend(reader.fresh.0.drain());
            std::mem::swap(&mut reader.seen, &mut reader.fresh);
        }
        self.cache = reader.fresh;
        fingerprint
    }
}

/// Reads the commit HEAD names, without git (D.6); none when no HEAD could be read.
pub fn head(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let kind = fs::symlink_metadata(&git).ok()?.file_type();
    let folder = if kind.is_dir() {
        git
    } else {
        let named = root.join(first_line(&git)?.strip_prefix("gitdir: ")?);
        let is_real = fs::symlink_metadata(&named).ok()?.is_dir();
        is_real.then_some(named)?
    };
    let content = first_line(&folder.join("HEAD"))?;
    let Some(name) = content.strip_prefix("ref: ") else {
        return commit(&content);
    };
    let is_clean = !name.contains("..")
        && !name.contains('\\')
        && name.split('/').all(|segment| !segment.is_empty());
    if !is_clean {
        return None;
    }
    let common = match first_line(&folder.join("commondir")) {
        Some(common) => folder.join(common),
        None => folder.clone(),
    };
    let loose = |folder: &Path| first_line(&folder.join(name)).and_then(|line| commit(&line));
    loose(&folder)
        .or_else(|| loose(&common))
        .or_else(|| packed(&common, name))
}

/// The folder by which a repository is told, the same for all its worktrees: the root of the main one, or the
/// repository itself where it has none. It is `root` when that cannot be told, or when the repository that `root` names
/// does not know of it.
pub fn repository_of(root: &Path) -> PathBuf {
    let main = || {
        let git = root.join(".git");
        if !fs::symlink_metadata(&git).ok()?.is_file() {
            return None;
        }
        let own = root.join(first_line(&git)?.strip_prefix("gitdir: ")?);
        let own = own.canonicalize().ok()?;
        // Anybody can write such a file; only the repository itself can name its worktrees.
        let back = Path::new(&first_line(&own.join("gitdir"))?)
            .canonicalize()
            .ok()?;
        if back != git.canonicalize().ok()? {
            return None;
        }
        let common = own
            .join(first_line(&own.join("commondir"))?)
            .canonicalize()
            .ok()?;
        match common.file_name() {
            Some(name) if name == ".git" => common.parent().map(Path::to_path_buf),
            _ => Some(common),
        }
    };
    main().unwrap_or_else(|| root.to_path_buf())
}

/// The folders git keeps a working tree's state in: that of the tree, and the one it has in common with others.
pub fn git_folders(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    let folder = match first_line(&git) {
        Some(line) => line.strip_prefix("gitdir: ").map(|named| root.join(named)),
        None => Some(git),
    };
    let Some(folder) = folder.and_then(|folder| folder.canonicalize().ok()) else {
        return Vec::new();
    };
    let common = first_line(&folder.join("commondir"))
        .and_then(|common| folder.join(common).canonicalize().ok());
    std::iter::once(folder).chain(common).collect()
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let text = read_text(&common.join("packed-refs"), limits::PACKED_REFS_BYTES)?;
    let found = text.lines().find_map(|line| {
        let (commit, named) = line.split_once(' ')?;
        (named == name).then_some(commit)
    });
    found.and_then(commit)
}

fn commit(text: &str) -> Option<String> {
    let is_hex = text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| text.to_owned())
}

fn first_line(path: &Path) -> Option<String> {
    let text = read_text(path, 4096)?;
    let line = text.lines().next()?.trim_end();
    (!line.is_empty()).then(|| line.to_owned())
}

fn read_text(path: &Path, bound: u64) -> Option<String> {
    let mut text = String::new();
    let file = open_regular(path).ok()?;
    file.take(bound).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Opens a file and nothing else: no link is followed, and no pipe is waited for.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

struct Reader {
    seen: Cache,
    fresh: Cache,
    deadline: Instant,
}

/// What stands at a path.
enum Found {
    File {
        executable: bool,
        content: Hash,
    },
    Link(PathBuf),
    /// A pipe, a socket, a device; or a file that may not be read.
    Other,
}

/// The time is over.
struct Late;

impl Reader {
    fn fingerprint(&mut self, root: &Path) -> Option<String> {
        fs::read_dir(root).ok()?;
        let mut found = Vec::new();
        for entry in walk(root) {
            self.on_time().ok()?;
            // A folder that may not be listed shows as an error: there is nothing in it to compare.
            let Ok(entry) = entry else { continue };
            let Ok(path) = entry.path().strip_prefix(root) else {
                continue;
            };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if !is_folder {
                let path = path.to_owned();
                let what = self.look(&entry, &path).ok()?;
                found.push((path, what));
            }
        }
        found.sort_unstable_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
        let mut digest = Sha256::new();
        put(
            &mut digest,
            b"head",
            head(root).unwrap_or_default().as_bytes(),
        );
        for (path, what) in &found {
            put(&mut digest, b"path", path.as_os_str().as_bytes());
            match what {
                Found::File {
                    executable: true,
                    content,
                } => put(&mut digest, b"exec", content),
                Found::File { content, .. } => put(&mut digest, b"file", content),
                Found::Link(target) => put(&mut digest, b"link", target.as_os_str().as_bytes()),
                Found::Other => put(&mut digest, b"none", b""),
            }
        }
        let hash: Hash = digest.finalize().into();
        Some(format!("sha256:{}", hex(&hash)))
    }

    fn on_time(&self) -> Result<(), Late> {
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(Late),
        }
    }

    fn look(&mut self, entry: &DirEntry, path: &Path) -> Result<Found, Late> {
        let full = entry.path();
        let Ok(metadata) = fs::symlink_metadata(full) else {
            return Ok(Found::Other);
        };
        if metadata.is_symlink() {
            return Ok(fs::read_link(full).map_or(Found::Other, Found::Link));
        }
        if !metadata.is_file() {
            return Ok(Found::Other);
        }
        let executable = metadata.permissions().mode() & 0o100 != 0;
        let stamp = Stamp::of(&metadata);
        let known = self.seen.0.get(path).filter(|(before, _)| *before == stamp);
        let content = match known {
            Some((_, content)) => *content,
            None => match self.read(full)? {
                Some(content) => content,
                None => return Ok(Found::Other),
            },
        };
        if stamp.is_settled() {
            self.fresh.0.insert(path.to_owned(), (stamp, content));
        }
        Ok(Found::File {
            executable,
            content,
        })
    }

    fn read(&self, path: &Path) -> Result<Option<Hash>, Late> {
        let Ok(mut file) = open_regular(path) else {
            return Ok(None);
        };
        let (mut digest, mut chunk) = (Sha256::new(), vec![0; 64 * 1024]);
        loop {
            self.on_time()?;
            match file.read(&mut chunk) {
                Ok(0) => return Ok(Some(digest.finalize().into())),
                Ok(bytes) => digest.update(&chunk[..bytes]),
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(None),
            }
        }
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// A file that changed a moment ago may change again without a new stamp: times are coarse on some file systems.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.is_ok_and(|now| {
            let last = self.changed.0.max(self.modified.0);
            i64::try_from(now.as_secs()).is_ok_and(|now| now - last > 2)
        })
    }
}

fn walk(root: &Path) -> ignore::Walk {
    let is_git = |entry: &DirEntry| entry.file_name() == OsStr::new(".git");
    WalkBuilder::new(root)
        .hidden(false)
        .ignore(false)
        .parents(false)
        .follow_links(false)
        .filter_entry(move |entry| !is_git(entry))
        .build()
}

/// Lengths keep one entry's bytes from passing for another's.
fn put(digest: &mut Sha256, kind: &[u8; 4], bytes: &[u8]) {
    digest.update(kind);
    digest.update((bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    const OTHER: &str = "89abcdef0123456789abcdef0123456789abcdef";

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with(files: &[(&str, &str)]) -> io::Result<Self> {
            let folder = Self(tempfile::tempdir()?);
            for (name, text) in files {
                folder.put(name, text)?;
            }
            Ok(folder)
        }

        fn put(&self, name: &str, text: &str) -> io::Result<()> {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder"))?;
            fs::write(path, text)
        }

        fn head(&self) -> Option<String> {
            head(self.0.path())
        }

        fn reader(seen: Cache) -> Reader {
            Reader {
                seen,
                fresh: Cache::default(),
                deadline: Instant::now() + Duration::from_secs(60),
            }
        }
    }

    #[test]
    fn a_head_without_a_branch_is_the_commit() -> Outcome {
        let folder = Folder::with(&[(".git/HEAD", &format!("{COMMIT}\n"))])?;
        assert_eq!(folder.head().as_deref(), Some(COMMIT));
        Ok(())
    }

    #[test]
    fn a_loose_reference_comes_before_a_packed_one() -> Outcome {
        let packed = format!("# pack-refs with: peeled\n{OTHER} refs/heads/main\n^{OTHER}\n");
        let folder = Folder::with(&[
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/packed-refs", &packed),
        ])?;
        assert_eq!(folder.head().as_deref(), Some(OTHER));
        folder.put(".git/refs/heads/main", &format!("{COMMIT}\n"))?;
        assert_eq!(folder.head().as_deref(), Some(COMMIT));
        Ok(())
    }

    #[test]
    fn a_git_file_leads_to_its_folder_and_the_common_one() -> Outcome {
        let folder = Folder::with(&[
            (".git", "gitdir: real/worktrees/one\n"),
            ("real/worktrees/one/HEAD", "ref: refs/heads/one\n"),
            ("real/worktrees/one/commondir", "../..\n"),
            ("real/refs/heads/one", COMMIT),
        ])?;
        assert_eq!(folder.head().as_deref(), Some(COMMIT));
        folder.put("real/worktrees/one/refs/heads/one", OTHER)?;
        assert_eq!(folder.head().as_deref(), Some(OTHER));
        Ok(())
    }

    #[test]
    fn nothing_else_is_followed() -> Outcome {
        let upper = COMMIT.to_uppercase();
        let long = format!("{COMMIT}{COMMIT}");
        for content in [
            "",
            "\n",
            "ref: ",
            "ref: /refs/heads/main",
            "ref: refs//main",
            "ref: refs/heads/",
            "ref: ../main",
            "ref: refs\\main",
            "ref: refs/heads/chain",
            "ref: HEAD",
            "ref: refs/heads/none",
            &COMMIT[1..],
            &upper,
            &long,
        ] {
            let folder = Folder::with(&[
                (".git/HEAD", content),
                (".git/main", COMMIT),
                (".git/refs/main", COMMIT),
                ("main", COMMIT),
                (".git/refs/heads/main", COMMIT),
                (".git/refs/heads/chain", "ref: refs/heads/main\n"),
            ])?;
            assert_eq!(folder.head(), None, "{content:?}");
        }
        Ok(())
    }

    #[test]
    fn a_git_file_that_leads_to_no_real_folder_has_no_head() -> Outcome {
        for content in [
            "",
            "gitdir: ",
            "gitdir: nowhere",
            "gitdir: file",
            "gitdir: link",
            "real",
        ] {
            let folder =
                Folder::with(&[(".git", content), ("file", COMMIT), ("real/HEAD", COMMIT)])?;
            std::os::unix::fs::symlink("real", folder.0.path().join("link"))?;
            assert_eq!(folder.head(), None, "{content:?}");
        }
        Ok(())
    }

    #[test]
    fn a_file_with_the_same_stamp_is_not_read_again() -> Outcome {
        let folder = Folder::with(&[("file", "content")])?;
        let root = folder.0.path();
        let stamp = Stamp::of(&fs::metadata(root.join("file"))?);
        let other = Stamp { size: 8, ..stamp };
        let print = |stamp| {
            let seen = HashMap::from([(PathBuf::from("file"), (stamp, [7; 32]))]);
            Folder::reader(Cache(seen)).fingerprint(root)
        };
        let read = Folder::reader(Cache::default()).fingerprint(root);
        assert_eq!(print(other), read);
        assert_ne!(print(stamp), read);
        Ok(())
    }

    #[test]
    fn a_file_that_just_changed_is_not_trusted_later() -> Outcome {
        let folder = Folder::with(&[("file", "content")])?;
        let mut reader = Folder::reader(Cache::default());
        assert!(reader.fingerprint(folder.0.path()).is_some());
        assert!(reader.fresh.0.is_empty());
        let old = Stamp {
            modified: (1, 0),
            changed: (1, 0),
            ..Stamp::of(&fs::metadata(folder.0.path().join("file"))?)
        };
        assert!(old.is_settled());
        Ok(())
    }
}
