//! A session's folder: lines appended as things happen, by a thread of their own (interface.md 5).
//!
//! Nobody who records ever waits for the disk, but for a bounded moment where an answer depends on it. Each line goes
//! out in one write, so that after `kill -9` every file is whole to its last line. A file that cannot be written to
//! is given up with one warning; a line that only half fitted is taken back.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::files;
use crate::limits;

/// What the names of those files end in that are compressed when the session is closed.
const PACKED: &str = ".cast";
/// Bytes in the queue beyond which even what must not be left out is not taken.
const MOST_QUEUED: usize = 2 * limits::RECORD_QUEUE_BYTES;

/// Why a session cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A name that is none.
    #[error("a session folder cannot be named by the repository key or the id given")]
    Name,
    /// A folder could not be made.
    #[error("the session folder {} could not be made", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be made.
    #[error("{} could not be made", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The thread that writes could not be started.
    #[error("the thread that records could not be started")]
    Thread(#[source] io::Error),
}

/// A file of lines in the session's folder.
#[derive(Debug, Clone)]
pub struct Log {
    index: usize,
    stopped: Arc<AtomicBool>,
}

impl Log {
    /// Whether the file was given up.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The folder of a session, or nothing at all: then everything put into it is gone.
#[derive(Debug)]
pub struct Store {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    folder: PathBuf,
    jobs: Sender<Job>,
    ended: Receiver<()>,
    shared: Arc<Shared>,
    logs: usize,
}

/// What both sides of the queue see.
#[derive(Debug, Default)]
struct Shared {
    /// Bytes in the queue.
    queued: AtomicUsize,
    /// Nobody waits for an answer any more until the queue was empty once.
    stalled: AtomicBool,
    warnings: Mutex<Vec<String>>,
}

impl Shared {
    fn warn(&self, warning: String) {
        // A list of sentences is whole even when a thread died while it held it.
        self.warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(warning);
    }
}

enum Job {
    Adopt(LogFile),
    Append {
        log: usize,
        line: Vec<u8>,
        done: Option<SyncSender<bool>>,
    },
    Replace {
        name: &'static str,
        bytes: Vec<u8>,
    },
    Write {
        name: String,
        bytes: Vec<u8>,
        done: SyncSender<bool>,
    },
    Settle {
        done: SyncSender<bool>,
    },
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { line, .. } => line.len(),
            Self::Replace { bytes, .. } | Self::Write { bytes, .. } => bytes.len(),
            Self::Adopt(_) | Self::Settle { .. } => 0,
        }
    }
}

impl Store {
    /// Records nothing.
    pub fn none() -> Self {
        Self { running: None }
    }

    /// Makes the folder `<state>/<repo_key>/sessions/<id>/` and starts the thread that writes into it.
    pub fn create(state: &Path, repo_key: &str, id: &str) -> Result<Self, StoreError> {
        if !is_name(repo_key) || !is_name(id) {
            return Err(StoreError::Name);
        }
        let sessions = state.join(repo_key).join("sessions");
        let folder = sessions.join(id);
        let transcripts = folder.join("transcripts");
        let fault = |path: &Path| {
            let path = path.to_path_buf();
            |source| StoreError::Folder { path, source }
        };
        files::make_folder(&sessions).map_err(fault(&sessions))?;
        files::make_new_folder(&folder).map_err(fault(&folder))?;
        files::make_new_folder(&transcripts).map_err(fault(&transcripts))?;
        Ok(Self {
            running: Some(Running::start(folder)?),
        })
    }

    /// The session's folder, when there is one.
    pub fn folder(&self) -> Option<&Path> {
        Some(&self.running.as_ref()?.folder)
    }

    /// Opens a new file of lines; nothing when nothing is recorded.
    pub fn log(&mut self, name: &str) -> Result<Option<Log>, StoreError> {
        let Some(running) = &mut self.running else {
            return Ok(None);
        };
        if !is_name(name) {
            return Err(StoreError::Name);
        }
        let path = running.folder.join(name);
        let file = files::new_file(&path).map_err(|source| StoreError::File { path, source })?;
        Ok(Some(running.adopt(name, file)))
    }

    /// Whether that many more bytes can wait to be written. What may be left out asks first.
    pub fn has_room(&self, bytes: usize) -> bool {
        match &self.running {
            Some(running) => running.queued().saturating_add(bytes) <= limits::RECORD_QUEUE_BYTES,
            None => true,
        }
    }

    /// Appends a line, its line feed included, some time soon.
    pub fn append(&self, log: &Log, line: Vec<u8>) {
        let Some(running) = &self.running else {
            return;
        };
        if running.queued() > MOST_QUEUED {
            // What may be left out was left out long ago; a file that loses more than that ends here.
            if !log.stopped.swap(true, Ordering::Relaxed) {
                running.shared.warn(
                    "the disk does not answer, so this session is not recorded whole".to_owned(),
                );
            }
            return;
        }
        let job = Job::Append {
            log: log.index,
            line,
            done: None,
        };
        running.send(job);
    }

    /// Appends a line and waits a bounded moment for it. A line that was waited for in vain is not written later by
    /// surprise; one that no replaced file could count, since the last replacement failed, is not written at all.
    pub fn append_now(&self, log: &Log, line: Vec<u8>) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        let job = |done| Job::Append {
            log: log.index,
            line,
            done: Some(done),
        };
        running.ask(job).unwrap_or_else(|| {
            if !log.stopped.swap(true, Ordering::Relaxed) {
                running
                    .shared
                    .warn("the disk does not answer, so no more receipts are written".to_owned());
            }
            false
        })
    }

    /// Replaces a file of the folder, some time soon; the old or the new one is there at any moment.
    pub fn replace(&self, name: &'static str, bytes: Vec<u8>) {
        if let Some(running) = &self.running {
            running.send(Job::Replace { name, bytes });
        }
    }

    /// Writes a text to `transcripts/<name>` and waits a bounded moment for it.
    pub fn write_transcript(&self, name: &str, text: &str) -> bool {
        let Some(running) = self.running.as_ref().filter(|_| is_name(name)) else {
            return false;
        };
        let bytes = text.as_bytes().to_vec();
        let name = format!("transcripts/{name}");
        running
            .ask(|done| Job::Write { name, bytes, done })
            .unwrap_or(false)
    }

    /// Whether a text of this name was written.
    pub fn has_transcript(&self, name: &str) -> bool {
        let running = self.running.as_ref().filter(|_| is_name(name));
        running.is_some_and(|running| {
            let path = running.folder.join("transcripts").join(name);
            path.symlink_metadata().is_ok()
        })
    }

    /// Waits until everything so far is written, at most that long; whether it is.
    pub fn settle(&self, within: Duration) -> bool {
        let Some(running) = &self.running else {
            return true;
        };
        let (done, answer) = sync_channel(1);
        running.send(Job::Settle { done });
        answer.recv_timeout(within).is_ok()
    }

    /// What went wrong since the last call, a sentence each.
    pub fn take_warnings(&self) -> Vec<String> {
        match &self.running {
            Some(running) => std::mem::take(
                &mut running
                    .shared
                    .warnings
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            ),
            None => Vec::new(),
        }
    }

    /// Writes what is left and makes it durable, at most that long; whether it was done. Later calls record nothing.
    pub fn close(&mut self, within: Duration) -> bool {
        let Some(running) = self.running.take() else {
            return true;
        };
        drop(running.jobs);
        // The thread lets go of its end of the channel when it is through.
        running.ended.recv_timeout(within) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close(limits::RECORD_WAIT);
    }
}

impl Running {
    fn start(folder: PathBuf) -> Result<Self, StoreError> {
        let (jobs, queue) = channel();
        let (alive, ended) = sync_channel(0);
        let shared = Arc::new(Shared::default());
        let mut writer = Writer {
            folder: folder.clone(),
            logs: Vec::new(),
            shared: Arc::clone(&shared),
            has_failed: false,
            can_replace: true,
        };
        thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || {
                let _alive: SyncSender<()> = alive;
                writer.run(&queue);
            })
            .map_err(StoreError::Thread)?;
        Ok(Self {
            folder,
            jobs,
            ended,
            shared,
            logs: 0,
        })
    }

    fn adopt(&mut self, name: &str, file: File) -> Log {
        let log = Log {
            index: self.logs,
            stopped: Arc::default(),
        };
        self.logs += 1;
        self.send(Job::Adopt(LogFile {
            name: name.to_owned(),
            file,
            length: 0,
            stopped: Arc::clone(&log.stopped),
            must_last: false,
        }));
        log
    }

    fn queued(&self) -> usize {
        self.shared.queued.load(Ordering::Relaxed)
    }

    fn send(&self, job: Job) {
        self.shared.queued.fetch_add(job.bytes(), Ordering::Relaxed);
        // A writer that is gone has warned; what comes after it is lost as on a full disk.
        let _ = self.jobs.send(job);
    }

    /// Whether a job was done; nothing when the disk does not answer.
    fn ask(&self, job: impl FnOnce(SyncSender<bool>) -> Job) -> Option<bool> {
        if self.shared.stalled.load(Ordering::Relaxed) {
            return None;
        }
        let (done, answer) = sync_channel(1);
        self.send(job(done));
        let written = answer.recv_timeout(limits::RECORD_WAIT).ok();
        if written.is_none() {
            self.shared.stalled.store(true, Ordering::Relaxed);
        }
        written
    }
}

/// The thread's side.
struct Writer {
    folder: PathBuf,
    logs: Vec<LogFile>,
    shared: Arc<Shared>,
    has_failed: bool,
    /// The last replacement went well.
    can_replace: bool,
}

struct LogFile {
    name: String,
    file: File,
    length: u64,
    stopped: Arc<AtomicBool>,
    /// A line was waited for, so it is made durable with the next replacement.
    must_last: bool,
}

impl Writer {
    fn run(&mut self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            let bytes = job.bytes();
            self.perform(job);
            if self.shared.queued.fetch_sub(bytes, Ordering::Relaxed) == bytes {
                self.shared.stalled.store(false, Ordering::Relaxed);
            }
        }
        for log in &self.logs {
            // The last lines are written; that the machine may lose them in a crash is nothing to tell anyone.
            let _ = log.file.sync_all();
            if log.name.ends_with(PACKED) && log.length >= limits::PACKED_FROM {
                let path = self.folder.join(&log.name);
                // Then it stays as it is.
                let _ = files::pack(&path, &self.folder.join(format!("{}.zst", log.name)));
            }
        }
    }

    fn perform(&mut self, job: Job) {
        match job {
            Job::Adopt(log) => self.logs.push(log),
            Job::Append { log, line, done } => {
                let log = &mut self.logs[log];
                let counted = done.is_none() || self.can_replace;
                let outcome = if counted {
                    log.append(&line)
                } else {
                    Ok(false)
                };
                if let Some(done) = done {
                    log.must_last = true;
                    answer(&done, matches!(outcome, Ok(true)));
                }
                if let Err(error) = outcome {
                    let name = log.name.clone();
                    self.fail(&name, &error);
                }
            }
            Job::Replace { name, bytes } => {
                let outcome = files::replace(&self.folder.join(name), &bytes);
                self.can_replace = outcome.is_ok();
                if let Err(error) = outcome {
                    self.fail(name, &error);
                }
                // Only now, so that a line and the file that counts it lie close together should the process be killed.
                for log in self.logs.iter_mut().filter(|log| log.must_last) {
                    log.must_last = false;
                    // The line outlives the process in any case; a crash of the machine is met as well as it can be.
                    let _ = log.file.sync_data();
                }
            }
            Job::Write { name, bytes, done } => {
                let outcome = files::write_new(&self.folder.join(&name), &bytes);
                answer(&done, outcome.is_ok());
                if let Err(error) = outcome {
                    self.fail(&name, &error);
                }
            }
            Job::Settle { done } => answer(&done, true),
        }
    }

    /// Says the first failure; the others follow from it.
    fn fail(&mut self, name: &str, error: &io::Error) {
        if !std::mem::replace(&mut self.has_failed, true) {
            let path = self.folder.join(name);
            self.shared.warn(format!(
                "{} could not be written, so this session is not recorded whole: {error}",
                path.display()
            ));
        }
    }
}

impl LogFile {
    /// Writes the line, or nothing of it; false when the file was given up before.
    fn append(&mut self, line: &[u8]) -> io::Result<bool> {
        if self.stopped.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match self.file.write_all(line) {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(true)
            }
            Err(error) => {
                self.stopped.store(true, Ordering::Relaxed);
                // Where even that fails, a reader passes over the half line.
                let _ = self.file.set_len(self.length);
                Err(error)
            }
        }
    }
}

fn answer(done: &SyncSender<bool>, written: bool) {
    // Who asked may have stopped waiting.
    let _ = done.try_send(written);
}

/// A single plain name, neither hidden nor a way out of the folder (0.7).
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let single = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    single
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use super::*;

    type Test = Result<(), Box<dyn std::error::Error>>;

    const LONG: Duration = Duration::from_secs(10);

    fn store(root: &tempfile::TempDir) -> Result<Store, StoreError> {
        Store::create(root.path(), "repo-1", "id-1")
    }

    fn running(store: &mut Store) -> &mut Running {
        store.running.as_mut().expect("a folder")
    }

    #[test]
    fn lines_files_and_replacements_are_there_after_closing() -> Test {
        let root = tempfile::tempdir()?;
        let mut store = store(&root)?;
        let folder = root.path().join("repo-1/sessions/id-1");
        assert_eq!(store.folder(), Some(&*folder));
        let log = store.log("events.jsonl")?.expect("a log");
        store.append(&log, b"one\n".to_vec());
        assert!(store.append_now(&log, b"two\n".to_vec()));
        assert_eq!(fs::read(folder.join("events.jsonl"))?, b"one\ntwo\n");
        store.replace("session.json", b"first".to_vec());
        store.replace("session.json", b"second".to_vec());
        assert!(store.write_transcript("r001-sent.txt", "text"));
        assert!(store.settle(LONG));
        assert_eq!(fs::read(folder.join("session.json"))?, b"second");
        assert_eq!(fs::read(folder.join("transcripts/r001-sent.txt"))?, b"text");
        assert!(!store.write_transcript("r001-sent.txt", "again"));
        assert!(store.close(LONG));
        assert!(store.close(LONG));
        let mode = |name: &str| {
            fs::metadata(folder.join(name)).map(|found| found.permissions().mode() & 0o777)
        };
        for name in ["", "transcripts", "../../sessions", "../.."] {
            assert_eq!(mode(name)?, 0o700, "{name}");
        }
        for name in ["session.json", "events.jsonl", "transcripts/r001-sent.txt"] {
            assert_eq!(mode(name)?, 0o600, "{name}");
        }
        Ok(())
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() -> Test {
        let root = tempfile::tempdir()?;
        for name in [
            "", ".", "..", "a/b", "../x", "/etc", ".hidden", "a\\b", "a\nb", "a/",
        ] {
            assert!(
                matches!(
                    Store::create(root.path(), name, "id"),
                    Err(StoreError::Name)
                ),
                "{name:?}"
            );
            assert!(
                matches!(
                    Store::create(root.path(), "repo", name),
                    Err(StoreError::Name)
                ),
                "{name:?}"
            );
        }
        let mut store = store(&root)?;
        assert!(store.log("../x").is_err());
        assert!(!store.write_transcript("../x", "text"));
        Ok(())
    }

    #[test]
    fn a_state_folder_that_cannot_hold_a_session_is_an_error() -> Test {
        let root = tempfile::tempdir()?;
        let file = root.path().join("file");
        fs::write(&file, "")?;
        let error = Store::create(&file, "repo", "id").expect_err("an error");
        assert!(error.to_string().contains("could not be made"), "{error}");
        drop(store(&root)?);
        let taken = store(&root).expect_err("an id is used once");
        assert!(matches!(taken, StoreError::Folder { .. }));
        Ok(())
    }

    #[test]
    fn a_full_disk_is_said_once_and_stops_only_that_file() -> Test {
        let Ok(full) = OpenOptions::new().append(true).open("/dev/full") else {
            return Ok(());
        };
        let root = tempfile::tempdir()?;
        let mut store = store(&root)?;
        let full = running(&mut store).adopt("peer.cast", full);
        let good = store.log("events.jsonl")?.expect("a log");
        for _ in 0..3 {
            store.append(&full, b"line\n".to_vec());
        }
        assert!(!store.append_now(&full, b"line\n".to_vec()));
        assert!(full.is_stopped());
        assert!(store.append_now(&good, b"line\n".to_vec()));
        let warnings = store.take_warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("peer.cast") && warnings[0].contains("No space left"),
            "{warnings:?}"
        );
        assert!(store.take_warnings().is_empty());
        Ok(())
    }

    #[test]
    fn a_disk_that_hangs_fills_the_queue_and_holds_nobody_up() -> Test {
        let root = tempfile::tempdir()?;
        let mut store = store(&root)?;
        let (mut reader, writer) = io::pipe()?;
        let slow =
            running(&mut store).adopt("peer.cast", File::from(std::os::fd::OwnedFd::from(writer)));
        let line = vec![b'x'; 1 << 20];
        let started = Instant::now();
        let mut taken = 0;
        while store.has_room(line.len()) {
            store.append(&slow, line.clone());
            taken += line.len();
            assert!(
                taken <= 2 * limits::RECORD_QUEUE_BYTES,
                "the queue has no end"
            );
        }
        assert!(!store.append_now(&slow, b"receipt\n".to_vec()));
        assert!(!store.write_transcript("late.txt", "not waited for again"));
        assert!(!store.close(Duration::from_millis(50)));
        assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
        // Whatever was queued comes out once the disk answers; what was given up does not.
        let mut read = Vec::new();
        reader.read_to_end(&mut read)?;
        assert_eq!(read.len(), line.len());
        Ok(())
    }

    #[test]
    fn what_must_not_be_left_out_is_bounded_too() -> Test {
        let root = tempfile::tempdir()?;
        let mut store = store(&root)?;
        let (mut reader, writer) = io::pipe()?;
        let slow = running(&mut store).adopt(
            "events.jsonl",
            File::from(std::os::fd::OwnedFd::from(writer)),
        );
        store.append(&slow, vec![b'x'; 1 << 20]);
        // Only when it has begun to write does the thread hang.
        reader.read_exact(&mut [0])?;
        for _ in 0..MOST_QUEUED >> 20 {
            store.append(&slow, vec![b'x'; 1 << 20]);
            assert!(!slow.is_stopped());
        }
        store.append(&slow, b"one more".to_vec());
        assert!(slow.is_stopped());
        assert!(running(&mut store).queued() <= MOST_QUEUED + (1 << 20));
        assert_eq!(store.take_warnings().len(), 1);
        assert!(!store.close(Duration::from_millis(10)));
        Ok(())
    }

    #[test]
    fn nothing_takes_everything_and_keeps_nothing() -> Test {
        let mut store = Store::none();
        assert!(store.log("events.jsonl")?.is_none());
        assert!(store.has_room(usize::MAX));
        store.replace("session.json", Vec::new());
        assert!(!store.write_transcript("a", "text"));
        assert!(store.settle(Duration::ZERO));
        assert!(store.take_warnings().is_empty());
        assert!(store.close(Duration::ZERO));
        assert_eq!(store.folder(), None);
        Ok(())
    }
}
