//! A session that was recorded, as far as it can be read.

use std::path::{Path, PathBuf};

use crate::cli::Exit;
use crate::flow::failure::{Failure, shown};
use crate::limits;
use crate::plain;
use crate::recording::event::Entry;
use crate::recording::receipt::{self, Break, Receipt};
use crate::recording::session::{Session, State};
use crate::recording::summary::{Standing, Summary};
use crate::world::sessions::{self, Folder};
use crate::world::{environment, files};

/// A session of the state folder.
#[derive(Debug)]
pub(in crate::flow) struct Kept {
    /// Where it lies.
    pub folder: Folder,
    /// Its file, when it can be read.
    pub session: Option<Session>,
    /// Its receipts, as far as their chain holds.
    pub receipts: Vec<Receipt>,
    /// Why the chain of its receipts does not hold.
    pub broken: Option<Break>,
    /// What a list says of it.
    pub summary: Summary,
}

impl Kept {
    /// Reads what there is of a session.
    pub(in crate::flow) fn open(folder: Folder) -> Self {
        let mut summary = Summary {
            id: folder.id.clone(),
            repo: folder.repo.clone(),
            worktree: String::new(),
            started: String::new(),
            length_ms: None,
            standing: Standing::Unreadable,
            driver: None,
            peer: None,
            rounds: 0,
            verdicts: Default::default(),
            last: None,
            receipts: 0,
            whole: false,
            bytes: sessions::bytes(&folder.path),
            faults: Vec::new(),
        };
        let session = read_session(&folder.path, &mut summary.faults);
        if let Some(session) = &session {
            summary.take(session);
            summary.standing = standing(session);
            summary.whole &= summary.standing != Standing::Killed;
        }
        let (receipts, broken) = read_receipts(&folder.path, session.as_ref(), &mut summary);
        summary.count(&receipts);
        summary.length_ms = length(&folder.path, session.as_ref());
        Self {
            folder,
            session,
            receipts,
            broken,
            summary,
        }
    }

    /// The recording of a pane: as it was written, or compressed when the session was closed.
    pub(in crate::flow) fn cast(&self, pane: &str) -> Option<PathBuf> {
        let named = self.session.as_ref().and_then(|session| {
            let pane = session.panes.iter().find(|found| found.pane == pane)?;
            is_plain(&pane.file).then(|| pane.file.clone())
        });
        let file = named.unwrap_or_else(|| format!("{pane}.cast"));
        let packed = self.folder.path.join(format!("{file}.zst"));
        [self.folder.path.join(file), packed]
            .into_iter()
            .find(|path| sessions::has(path))
    }

    /// A text of a round, by the name its receipt gives; none when it is not there.
    pub(in crate::flow) fn text(&self, file: &str) -> Option<Vec<u8>> {
        let name = file.strip_prefix("transcripts/")?;
        if !is_plain(name) {
            return None;
        }
        let path = self.folder.path.join("transcripts").join(name);
        sessions::read(&path, TEXT_BYTES).ok().flatten()
    }
}

/// Largest text of a round that is read.
const TEXT_BYTES: u64 = 64 << 20;
/// Largest session file, and largest file of receipts.
const FILE_BYTES: u64 = 256 << 20;
/// Of a file of events, the end in which the last line is looked for.
const TAIL_BYTES: u64 = 256 << 10;

/// Whether a name from a record is the name of a file in its folder and nothing else.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

fn read_session(folder: &Path, faults: &mut Vec<String>) -> Option<Session> {
    let bytes = match sessions::read(&folder.join("session.json"), FILE_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            faults.push("it has no session.json".to_owned());
            return None;
        }
        Err(error) => {
            faults.push(format!("its session.json cannot be read: {error}"));
            return None;
        }
    };
    match Session::read(&bytes) {
        Ok((session, fault)) => {
            faults.extend(fault.map(|fault| fault.to_string()));
            Some(session)
        }
        Err(fault) => {
            faults.push(fault.to_string());
            None
        }
    }
}

fn standing(session: &Session) -> Standing {
    match session.state {
        State::Open if sessions::is_running(session.pid) => Standing::Open,
        State::Open => Standing::Killed,
        State::Closed => Standing::Closed,
        State::Interrupted => Standing::Interrupted,
    }
}

fn read_receipts(
    folder: &Path,
    session: Option<&Session>,
    summary: &mut Summary,
) -> (Vec<Receipt>, Option<Break>) {
    let lines = match sessions::read(&folder.join("receipts.jsonl"), FILE_BYTES) {
        Ok(lines) => lines.unwrap_or_default(),
        Err(error) => {
            summary
                .faults
                .push(format!("its receipts cannot be read: {error}"));
            return Default::default();
        }
    };
    let read = match session {
        Some(session) => session.verify(&lines),
        None => receipt::links(&lines).map(|(receipts, _)| receipts),
    };
    match read {
        Ok(receipts) => (receipts, None),
        // The last line of one that runs may be on its way.
        Err(_) if summary.standing == Standing::Open => (readable(&lines), None),
        Err(broken) => {
            summary.faults.push(format!("receipts: {broken}"));
            (readable(&lines), Some(broken))
        }
    }
}

/// The lines that are receipts, whatever their chain says.
fn readable(lines: &[u8]) -> Vec<Receipt> {
    lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// How long it lasted, in milliseconds: by its last event.
fn length(folder: &Path, session: Option<&Session>) -> Option<u64> {
    let of_file = session.and_then(|session| {
        let at = |time: &str| time.parse::<jiff::Timestamp>().ok();
        let (started, ended) = (at(&session.started)?, at(session.ended.as_ref()?)?);
        u64::try_from(ended.as_millisecond() - started.as_millisecond()).ok()
    });
    of_file.or_else(|| {
        let end = sessions::tail(&folder.join("events.jsonl"), TAIL_BYTES).ok()?;
        let lines = end.split(|byte| *byte == b'\n');
        let last = lines
            .rev()
            .find_map(|line| serde_json::from_slice::<Entry>(line).ok());
        Some(last?.at_ms)
    })
}

/// The state folder.
pub(in crate::flow) fn state() -> Result<PathBuf, Failure> {
    files::Places::from_env(environment::variable)
        .state()
        .map_err(|error| Failure::of(Exit::Error, &error))
}

/// All sessions there are, oldest first.
pub(in crate::flow) fn folders(state: &Path) -> Result<Vec<Folder>, Failure> {
    sessions::all(state).map_err(|error| {
        Failure::new(
            Exit::Error,
            format!("the sessions in {} cannot be listed: {error}", shown(state)),
        )
    })
}

/// The session of an id, of the start of one, of `last`, or of a folder.
pub(in crate::flow) fn find(wanted: &str, repo: &str) -> Result<Kept, Failure> {
    let path = Path::new(wanted);
    if wanted.contains('/') && path.is_dir() {
        let name = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        return Ok(Kept::open(Folder {
            id: name(&path),
            repo: path.ancestors().nth(2).map(name).unwrap_or_default(),
            path,
        }));
    }
    let state = state()?;
    let all = folders(&state)?;
    let told = plain::display(wanted, limits::QUOTE_BYTES);
    let found: Vec<&Folder> = match wanted {
        "last" => all
            .iter()
            .rfind(|one| one.repo == repo)
            .into_iter()
            .collect(),
        _ => match all.iter().find(|one| one.id == wanted) {
            Some(exact) => vec![exact],
            None => all
                .iter()
                .filter(|one| !wanted.is_empty() && one.id.starts_with(wanted))
                .collect(),
        },
    };
    match found[..] {
        [one] => Ok(Kept::open(one.clone())),
        [] => Err(Failure::new(
            Exit::Error,
            format!("no session begins with `{told}`; `codriver sessions list --all` shows all"),
        )),
        ref several => {
            let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).take(10).collect();
            let more = several.len() - ids.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            Err(Failure::new(
                Exit::Error,
                format!(
                    "several sessions begin with `{told}`: {}{more}",
                    ids.join(", ")
                ),
            ))
        }
    }
}
