//! One recording, opened so that any moment of it can be looked at; its keyframes are made beside that.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sha2::{Digest as _, Sha256};

use crate::cli::Exit;
use crate::flow::failure::{Failure, shown};
use crate::limits;
use crate::recording::cast::{self, CastError, Header, Kind, Notes, Opened, Place, Reader, Writer};
use crate::recording::track::{Bound, Indexer, Keys, KeysError, Moment, Target, seek};
use crate::screen::{Preview, Seen};
use crate::world::files;
use crate::world::recording_file::{Bytes, copy};

/// Largest file of keyframes that is read.
const KEYS_BYTES: u64 = 1 << 30;
/// What is added to a recording's name to give that of its keyframes.
const KEYS: &str = "keys";

/// What a recording is read from here.
pub type Input = Box<dyn BufRead + Send>;

/// A recording that can be looked at anywhere.
#[derive(Clone)]
pub struct Film {
    header: Header,
    begin: Place,
    bytes: Bytes,
    scrollback: usize,
    shared: Arc<Shared>,
}

/// What the thread that reads it to its end has come to.
#[derive(Default)]
struct Shared {
    keys: Mutex<Keys>,
    notes: Mutex<Vec<String>>,
    /// Bytes read so far.
    read: AtomicU64,
    is_done: AtomicBool,
    is_dropped: AtomicBool,
}

/// Where keyframes are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// Beside the recording.
    Beside,
    /// Nowhere: the recording is someone else's.
    Nowhere,
}

impl Film {
    /// Opens a recording; `-` is standard input.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no recording.
    pub fn open(path: &Path, scrollback: usize, keep: &Keep) -> Result<Self, Failure> {
        let name = match path.as_os_str() == "-" {
            true => "standard input".to_owned(),
            false => shown(path),
        };
        let unreadable =
            |error: io::Error| Failure::new(Exit::Error, format!("{name} cannot be read: {error}"));
        let bytes = bytes_of(path).map_err(unreadable)?;
        let first = bytes.from(0).map_err(unreadable)?;
        let reader = match Reader::open(first) {
            Ok(Opened::Recording(reader)) => reader,
            Ok(Opened::Text(_)) => {
                return Err(Failure::new(
                    Exit::Error,
                    format!("{name} is no terminal recording (asciicast 1, 2 or 3)"),
                ));
            }
            Err(CastError::Read(error)) => return Err(unreadable(error)),
            Err(error) => {
                return Err(Failure::new(
                    Exit::Error,
                    format!("{name} is no recording that can be read: {error}"),
                ));
            }
        };
        let (bytes, reader) = match reader.place() {
            Some(_) => (bytes, reader),
            None => rewritten(reader).map_err(unreadable)?,
        };
        let begin = reader.place().expect("what is no version 1 has places");
        let film = Self {
            header: reader.header().clone(),
            begin,
            bytes,
            scrollback,
            shared: Arc::default(),
        };
        film.prepare(path, keep).map_err(unreadable)?;
        Ok(film)
    }

    /// Takes the keyframes that are there, or has them made.
    fn prepare(&self, path: &Path, keep: &Keep) -> io::Result<()> {
        let bound = Bound {
            length: self.bytes.length(),
            edges: Sha256::digest(self.bytes.edges()?).into(),
            scrollback: self.scrollback as u64,
        };
        let file = (*keep == Keep::Beside).then(|| keys_file(path));
        let found = file.as_deref().and_then(|file| read_keys(file, &bound));
        let claimed = match found {
            Some(Ok(keys)) => {
                let digest = keys.digest();
                self.shared
                    .read
                    .store(keys.end().map_or(0, |end| end.offset), Ordering::Relaxed);
                *lock(&self.shared.keys) = keys;
                digest
            }
            Some(Err(why)) => {
                lock(&self.shared.notes).push(format!("{why}; they are made anew"));
                None
            }
            None => None,
        };
        let film = self.clone();
        let work = move || film.work(claimed, file.as_deref(), bound);
        thread::Builder::new()
            .name("keyframes".to_owned())
            .spawn(work)?;
        Ok(())
    }

    /// Checks the keyframes there are against all bytes, and makes those that are not there or wrong.
    fn work(&self, claimed: Option<[u8; 32]>, file: Option<&Path>, bound: Bound) {
        let digest = self.digest();
        let is_stale = claimed.is_some() && digest.is_some() && digest != claimed;
        if is_stale {
            lock(&self.shared.notes).push(format!("{}; they are made anew", KeysError::Stale));
            *lock(&self.shared.keys) = Keys::default();
        }
        let is_kept = claimed.is_some() && !is_stale;
        let is_enough = is_kept && lock(&self.shared.keys).is_whole();
        // What cannot be read any more says so where it is looked at.
        let is_made = !is_enough && self.index().is_ok() && !self.is_dropped();
        if is_made
            && !is_kept
            && let (Some(digest), Some(file)) = (digest, file)
        {
            let mut keys = lock(&self.shared.keys);
            keys.set_digest(digest);
            let written = keys.write(bound);
            drop(keys);
            // They are only there to save time.
            if let Err(error) = files::replace(file, &written) {
                tracing::warn!(%error, "keyframes are not kept");
            }
        }
        self.shared.is_done.store(true, Ordering::Relaxed);
    }

    /// The digest of the file as it is stored.
    fn digest(&self) -> Option<[u8; 32]> {
        let mut stored = self.bytes.stored();
        let mut hash = Sha256::new();
        let mut buf = vec![0; 256 * 1024];
        loop {
            match stored.read(&mut buf) {
                Ok(0) => return Some(hash.finalize().into()),
                Ok(_) if self.is_dropped() => return None,
                Ok(read) => hash.update(&buf[..read]),
                Err(_) => return None,
            }
        }
    }

    fn is_dropped(&self) -> bool {
        self.shared.is_dropped.load(Ordering::Relaxed)
    }

    /// Reads the recording to its end and takes keyframes.
    fn index(&self) -> io::Result<()> {
        let input = self.bytes.from(self.begin.offset)?;
        let mut reader = Reader::resume(input, self.header.clone(), self.begin);
        let mut indexer = Indexer::new(&self.header, self.begin, self.scrollback);
        let mut preview = Preview::default();
        let (mut broken, mut first) = (0_u64, None);
        let mut keys = Keys::default();
        let mut published = 0;
        while let Some(event) = reader.next() {
            let place = reader.place().unwrap_or(self.begin);
            match event {
                Ok(event) => {
                    let seen = match &event.kind {
                        Kind::Output(text) => preview.look(text.as_bytes()),
                        _ => Seen::default(),
                    };
                    indexer.take(&event, seen, place, &mut keys);
                }
                Err(error) => {
                    broken += 1;
                    first.get_or_insert_with(|| error.to_string());
                }
            }
            if keys.count() > published {
                if self.is_dropped() {
                    return Ok(());
                }
                published = keys.count();
                let mut shown = lock(&self.shared.keys);
                // Saved ones reach further until these are whole.
                if shown.end().is_none() {
                    shown.publish(&keys);
                    self.shared.read.store(place.offset, Ordering::Relaxed);
                }
            }
        }
        let end = reader.place().unwrap_or(self.begin);
        indexer.finish(end, &mut keys);
        *lock(&self.shared.keys) = keys;
        self.shared.read.store(end.offset, Ordering::Relaxed);
        self.note(reader.notes(), broken, first);
        Ok(())
    }

    fn note(&self, notes: Notes, broken: u64, first: Option<String>) {
        let mut told = lock(&self.shared.notes);
        told.extend(first);
        if broken > 1 {
            told.push(format!("{broken} lines of the recording could not be read"));
        }
        if notes.cut {
            told.push(
                "the recording ends in the middle of an event; it is shown as far as it goes"
                    .to_owned(),
            );
        }
    }

    /// What the recording says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Goes to a moment.
    ///
    /// # Errors
    ///
    /// When the recording cannot be read.
    pub fn seek(&self, target: Target) -> io::Result<Moment<Input>> {
        // The keyframes are not held up while one of them is looked at.
        let keys = lock(&self.shared.keys).clone();
        let open = |offset| self.bytes.from(offset);
        seek(
            &keys,
            (&self.header, self.begin),
            target,
            self.scrollback,
            open,
        )
    }

    /// The keyframes so far.
    pub fn keys(&self) -> Keys {
        lock(&self.shared.keys).clone()
    }

    /// How far it was read.
    pub fn reach(&self) -> Option<Place> {
        lock(&self.shared.keys).reach()
    }

    /// Where it ends, once that is known.
    pub fn end(&self) -> Option<Place> {
        lock(&self.shared.keys).end()
    }

    /// Whether all of it was read, or will not be.
    pub fn is_done(&self) -> bool {
        self.shared.is_done.load(Ordering::Relaxed)
    }

    /// What had to be put right since the last call, a sentence each.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.notes))
    }

    /// Has the thread that reads it end.
    pub fn stop(&self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
    }
}

/// What is behind the lock is whole even when a thread died while it held it.
fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of a recording's keyframes.
fn keys_file(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".zst").trim_end_matches(".cast");
    path.with_file_name(format!("{name}.{KEYS}"))
}

fn read_keys(file: &Path, bound: &Bound) -> Option<Result<Keys, KeysError>> {
    let bytes = crate::world::sessions::read(file, KEYS_BYTES).ok()??;
    Some(Keys::read(&bytes, bound))
}

/// The bytes of a file or of standard input; of what cannot be read from its middle a copy.
fn bytes_of(path: &Path) -> io::Result<Bytes> {
    if path.as_os_str() == "-" {
        let input = cast::decompressed(BufReader::new(io::stdin()))?;
        return copy(input, limits::COPIED_BYTES);
    }
    if let Some(bytes) = Bytes::open(path)? {
        return Ok(bytes);
    }
    let file = BufReader::new(File::open(path)?);
    copy(cast::decompressed(file)?, limits::COPIED_BYTES)
}

/// A recording of version 1, which has no lines, as one of version 3.
fn rewritten(mut reader: Reader<Input>) -> io::Result<(Bytes, Reader<Input>)> {
    let mut lines = Vec::new();
    let mut writer = Writer::new(reader.header(), &mut lines);
    for event in reader.by_ref().flatten() {
        if let Kind::Output(text) = &event.kind {
            writer.output(event.at, text.as_bytes(), &mut lines);
        }
    }
    let bytes = copy(&lines[..], limits::COPIED_BYTES)?;
    let again = Reader::open(bytes.from(0)?).map_err(io::Error::other)?;
    let again = again.recording().ok_or(io::ErrorKind::InvalidData)?;
    Ok((bytes, again))
}
