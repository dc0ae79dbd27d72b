//! What an agent keeps beside its screen: files that grow, and a local API behind a port that is the agent's own.
//!
//! Whatever is read here lies within reach of others: a file is read only when it is a plain one of the person's, never
//! through a link, and a port is asked only when the process that was started holds it.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan as _};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use super::process::{self, ProcessId};
use crate::limits;

/// Most that is read of a file at once.
const CHUNK: u64 = 1 << 20;
/// Most files of one listing that are opened.
const FILES: usize = 32;
/// How far the clocks of the file system and of the person may be apart.
const SLACK: Duration = Duration::from_secs(2);
/// What a rollout file is called.
const ROLLOUT: (&[u8], &[u8]) = (b"rollout-", b".jsonl");
/// The name by which opencode's API knows the one who asks.
const USER: &str = "opencode";

/// Follows a file that is appended to.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<File>,
    read: u64,
}

/// What a file gained.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    /// The bytes that follow; none when there is nothing new.
    pub bytes: Vec<u8>,
    /// Whether bytes are missing before them: too many came at once, or the file was made shorter.
    pub gap: bool,
}

impl Tail {
    /// Follows the file at `path`, which need not be there yet.
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: None,
            read: 0,
        }
    }

    /// Reads the next piece of what is new; to be called again until there is none.
    pub fn fetch(&mut self) -> io::Result<News> {
        let mut news = News::default();
        if self.file.is_none() {
            self.file = match open_own(CWD, self.path.as_os_str()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(news),
                opened => Some(opened?),
            };
        }
        let Some(file) = &self.file else {
            return Ok(news);
        };
        let length = file.metadata()?.len();
        if length < self.read {
            (self.read, news.gap) = (0, true);
        }
        // The beginning is always read: it says whose file it is.
        let unread = length - self.read;
        if self.read > 0 && unread > limits::CHANNEL_FILE_BYTES {
            (self.read, news.gap) = (length - limits::CHANNEL_FILE_BYTES, true);
        }
        let piece = (length - self.read).min(CHUNK);
        news.bytes = vec![0; usize::try_from(piece).unwrap_or_default()];
        let count = file.read_at(&mut news.bytes, self.read)?;
        news.bytes.truncate(count);
        self.read += count as u64;
        Ok(news)
    }
}

/// Finds the files in which codex records its sessions: `sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`.
#[derive(Debug)]
pub struct Rollouts {
    sessions: PathBuf,
    /// Names that were looked at.
    seen: HashSet<OsString>,
}

impl Rollouts {
    /// Looks below a CODEX_HOME, which need not be there yet.
    pub fn of(home: &Path) -> Self {
        Self {
            sessions: home.join("sessions"),
            seen: HashSet::new(),
        }
    }

    /// Opens the files written since then (since 1970) that were not looked at before, newest first.
    ///
    /// Only the folders of the days around then and around now are listed. The agent names them by its own time zone.
    pub fn look(&mut self, since: Duration) -> io::Result<Vec<Tail>> {
        let mut found = Vec::new();
        let sessions = match open_folder(CWD, self.sessions.as_os_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            opened => opened?,
        };
        for day in days(since).into_iter().rev() {
            match open_day(sessions.as_fd(), day) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => self.list(&opened?, day, since, &mut found)?,
            }
        }
        Ok(found)
    }

    fn list(
        &mut self,
        folder: &OwnedFd,
        day: Date,
        since: Duration,
        found: &mut Vec<Tail>,
    ) -> io::Result<()> {
        let mut names: Vec<OsString> = Dir::read_from(folder)?
            .filter_map(|entry| {
                let name = OsStr::from_bytes(entry.ok()?.file_name().to_bytes()).to_owned();
                let (head, end) = ROLLOUT;
                let fits = name.as_bytes().starts_with(head) && name.as_bytes().ends_with(end);
                (fits && !self.seen.contains(&name)).then_some(name)
            })
            .collect();
        // The name begins with the time.
        names.sort_unstable_by(|a, b| b.cmp(a));
        for name in names {
            if found.len() >= FILES {
                break;
            }
            // One that is no plain file, or not ours, is not looked at again either.
            if let Ok(file) = open_own(folder, &name) {
                let written = file.metadata()?.mtime();
                let written = Duration::from_secs(u64::try_from(written).unwrap_or_default());
                if written.saturating_add(SLACK) >= since {
                    found.push(Tail {
                        path: self.sessions.join(day_path(day)).join(&name),
                        file: Some(file),
                        read: 0,
                    });
                }
            }
            self.seen.insert(name);
        }
        Ok(())
    }
}

/// The days around then and around now, in any time zone.
fn days(since: Duration) -> BTreeSet<Date> {
    let now = Timestamp::now();
    let then = i64::try_from(since.as_secs())
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok());
    [Some(now), then]
        .into_iter()
        .flatten()
        .map(|time| Offset::UTC.to_datetime(time).date())
        .flat_map(|day| [-1, 0, 1].map(|step: i32| day.checked_add(step.days()).unwrap_or(day)))
        .collect()
}

fn day_path(day: Date) -> String {
    format!("{:04}/{:02}/{:02}", day.year(), day.month(), day.day())
}

fn open_day(sessions: impl AsFd, day: Date) -> io::Result<OwnedFd> {
    let year = open_folder(sessions, OsStr::new(&format!("{:04}", day.year())))?;
    let month = open_folder(&year, OsStr::new(&format!("{:02}", day.month())))?;
    open_folder(&month, OsStr::new(&format!("{:02}", day.day())))
}

/// Opens a folder that is no link.
fn open_folder(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

/// Opens a plain file of the person's that is no link.
fn open_own(parent: impl AsFd, name: &OsStr) -> io::Result<File> {
    // Opening a pipe that nobody writes to would wait for a writer.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(parent, name, flags, Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is no plain file of yours",
        ));
    }
    Ok(file)
}

/// Asks the API that an agent serves on a port of this machine.
#[derive(Debug)]
pub struct Api {
    port: u16,
    password: String,
    peer: ProcessId,
    agent: ureq::Agent,
    /// The socket that listens on the port, once it was found to be the agent's.
    listener: Option<u64>,
}

/// Why the API cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Nobody listens, or it cannot be told who does.
    #[error("nobody is known to listen on port {0}")]
    Silent(u16),
    /// Another process listens.
    #[error("port {0} is held by a process that is not the peer's")]
    Stranger(u16),
    /// No answer, or none that counts.
    #[error("the peer's API gave no answer")]
    Request(#[source] Box<ureq::Error>),
}

impl From<ureq::Error> for ApiError {
    fn from(error: ureq::Error) -> Self {
        Self::Request(Box::new(error))
    }
}

impl Api {
    /// Will ask 127.0.0.1 on `port`, where `peer` or a process descending from it listens. The password must be fit to
    /// stand in an address: letters and digits.
    pub fn of(port: u16, password: &str, peer: ProcessId) -> Self {
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .timeout_connect(Some(limits::CHANNEL_CONNECT))
            .timeout_global(Some(limits::CHANNEL_REQUEST))
            .build();
        Self {
            port,
            password: password.to_owned(),
            peer,
            agent: config.new_agent(),
            listener: None,
        }
    }

    /// Asks for `path` and returns the body of an answer of status 200.
    pub fn get(&mut self, path: &str) -> Result<Vec<u8>, ApiError> {
        self.check()?;
        let (port, password) = (self.port, &self.password);
        let address = format!("http://{USER}:{password}@127.0.0.1:{port}{path}");
        let answer = self.agent.get(address).call()?;
        // A redirection is no answer.
        if answer.status() != 200 {
            return Err(ureq::Error::StatusCode(answer.status().as_u16()).into());
        }
        let body = answer.into_body().into_with_config();
        Ok(body.limit(limits::CHANNEL_BODY_BYTES).read_to_vec()?)
    }

    /// Sees to it that the port is the agent's: before the first request the socket is looked for among its open files,
    /// later it must still be the same one.
    fn check(&mut self) -> Result<(), ApiError> {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        // Two sockets on one port share what comes in: then it is not known whom one talks to.
        let [socket] = listeners(&table, self.port)[..] else {
            return Err(ApiError::Silent(self.port));
        };
        if self.listener == Some(socket) {
            return Ok(());
        }
        let family = process::descendants(self.peer);
        let family = family.iter().map(|process| process.id).chain([self.peer]);
        if !family.into_iter().any(|id| holds(id, socket)) {
            return Err(ApiError::Stranger(self.port));
        }
        self.listener = Some(socket);
        Ok(())
    }
}

/// Whether a process has the socket open.
fn holds(process: ProcessId, socket: u64) -> bool {
    let name = format!("socket:[{socket}]");
    let open = std::fs::read_dir(format!("/proc/{}/fd", process.pid));
    process.is_running()
        && open.is_ok_and(|mut open| {
            open.any(|entry| {
                entry
                    .and_then(|entry| std::fs::read_link(entry.path()))
                    .is_ok_and(|target| target.as_os_str() == name.as_str())
            })
        })
}

/// The sockets that listen on a port of 127.0.0.1, from `/proc/net/tcp`.
fn listeners(table: &str, port: u16) -> Vec<u64> {
    // The address is a number in the machine's own order, the port is not; state 0A is LISTEN.
    let local = format!("{:08X}:{port:04X}", u32::from_ne_bytes([127, 0, 0, 1]));
    table
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let listens = fields.get(1) == Some(&local.as_str()) && fields.get(3) == Some(&"0A");
            listens.then(|| fields.get(9)?.parse().ok()).flatten()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn all(tail: &mut Tail) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let news = tail.fetch()?;
            if news.bytes.is_empty() {
                return Ok(all);
            }
            all.extend(news.bytes);
        }
    }

    #[test]
    fn a_file_is_read_as_it_grows() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("log");
        let mut tail = Tail::of(&path);
        assert_eq!(tail.fetch()?, News::default());
        let mut file = File::create(&path)?;
        file.write_all(b"one\ntw")?;
        assert_eq!(all(&mut tail)?, b"one\ntw");
        assert_eq!(tail.fetch()?, News::default());
        file.write_all(b"o\n")?;
        assert_eq!(all(&mut tail)?, b"o\n");
        Ok(())
    }

    #[test]
    fn a_file_made_shorter_is_read_anew_with_a_gap() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("log");
        fs::write(&path, "a long text")?;
        let mut tail = Tail::of(&path);
        assert_eq!(all(&mut tail)?, b"a long text");
        // The same file, not a new one of its name.
        let file = fs::OpenOptions::new().write(true).open(&path)?;
        file.set_len(0)?;
        (&file).write_all(b"new")?;
        let news = tail.fetch()?;
        assert_eq!((news.bytes.as_slice(), news.gap), (&b"new"[..], true));
        Ok(())
    }

    #[test]
    fn of_too_much_at_once_the_end_is_read() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("log");
        fs::write(&path, "head\n")?;
        let mut tail = Tail::of(&path);
        assert_eq!(all(&mut tail)?, b"head\n");
        let file = fs::OpenOptions::new().append(true).open(&path)?;
        file.set_len(limits::CHANNEL_FILE_BYTES + 100)?;
        (&file).write_all(b"end\n")?;
        let news = tail.fetch()?;
        assert!(news.gap);
        assert_eq!(news.bytes.len() as u64, CHUNK);
        let rest = all(&mut tail)?;
        assert_eq!(
            news.bytes.len() as u64 + rest.len() as u64,
            limits::CHANNEL_FILE_BYTES
        );
        assert!(rest.ends_with(b"end\n"));
        Ok(())
    }

    #[test]
    fn a_link_a_folder_and_a_pipe_are_not_read() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "secret")?;
        symlink(&file, &link)?;
        assert!(Tail::of(&link).fetch().is_err());
        assert!(Tail::of(folder.path()).fetch().is_err());
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )?;
        assert!(Tail::of(&pipe).fetch().is_err());
        Ok(())
    }

    fn today() -> (Duration, String) {
        let now = Timestamp::now();
        let since = u64::try_from(now.as_second()).unwrap_or_default();
        (
            Duration::from_secs(since),
            day_path(Offset::UTC.to_datetime(now).date()),
        )
    }

    #[test]
    fn new_rollouts_are_found_once_and_newest_first() -> Outcome {
        let home = tempfile::tempdir()?;
        let mut rollouts = Rollouts::of(home.path());
        let (now, day) = today();
        assert!(rollouts.look(now)?.is_empty());
        let day = home.path().join("sessions").join(day);
        fs::create_dir_all(&day)?;
        for name in [
            "rollout-2026-01-01T10-00-00-a.jsonl",
            "rollout-2026-01-01T11-00-00-b.jsonl",
            "other.jsonl",
            "rollout-x.txt",
        ] {
            fs::write(day.join(name), name)?;
        }
        let mut found = rollouts.look(now)?;
        let texts: Vec<Vec<u8>> = found.iter_mut().map(all).collect::<io::Result<_>>()?;
        assert_eq!(
            texts,
            [
                b"rollout-2026-01-01T11-00-00-b.jsonl",
                b"rollout-2026-01-01T10-00-00-a.jsonl"
            ]
        );
        assert!(rollouts.look(now)?.is_empty());
        fs::write(day.join("rollout-2026-01-01T12-00-00-c.jsonl"), "c")?;
        assert_eq!(rollouts.look(now)?.len(), 1);
        Ok(())
    }

    #[test]
    fn rollouts_of_before_are_left_alone() -> Outcome {
        let home = tempfile::tempdir()?;
        let (now, day) = today();
        let day = home.path().join("sessions").join(day);
        fs::create_dir_all(&day)?;
        fs::write(day.join("rollout-a.jsonl"), "a")?;
        let later = now + Duration::from_secs(3600);
        assert!(Rollouts::of(home.path()).look(later)?.is_empty());
        assert_eq!(Rollouts::of(home.path()).look(now)?.len(), 1);
        Ok(())
    }

    #[test]
    fn a_linked_rollout_and_a_linked_folder_are_not_followed() -> Outcome {
        let (home, outside) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let (now, day) = today();
        fs::create_dir_all(outside.path().join(&day))?;
        let file = outside.path().join(&day).join("rollout-a.jsonl");
        fs::write(&file, "a")?;
        let sessions = home.path().join("sessions");
        symlink(outside.path(), &sessions)?;
        assert!(Rollouts::of(home.path()).look(now).is_err());
        fs::remove_file(&sessions)?;
        fs::create_dir_all(sessions.join(&day))?;
        symlink(&file, sessions.join(&day).join("rollout-a.jsonl"))?;
        assert!(Rollouts::of(home.path()).look(now)?.is_empty());
        Ok(())
    }

    #[test]
    fn the_days_around_then_and_now_are_looked_at() {
        let (now, _) = today();
        assert_eq!(days(now).len(), 3);
        assert_eq!(days(now - Duration::from_secs(10 * 86_400)).len(), 6);
        assert_eq!(days(Duration::MAX).len(), 3);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn only_listeners_of_the_very_address_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 0100007F:AB42 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 118757 1 0 100 0 0 10 0\n   \
             1: 00000000:AB42 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 118758 1 0 100 0 0 10 0\n   \
             2: 0100007F:AB42 0100007F:CA20 01 00000000:00000000 00:00000000 00000000     0        0 118759 1 0 100 0 0 10 0\n   \
             3: 0100007F:AB41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 118760 1 0 100 0 0 10 0\n";
        assert_eq!(listeners(table, 0xAB42), [118_757]);
        assert_eq!(listeners(table, 0xAB43), [0; 0]);
        assert_eq!(listeners("cut 0100007F:AB42 x 0A", 0xAB42), [0; 0]);
    }
}
