//! Records a session as it happens: panes, events, receipts and texts into one folder (interface.md 5).
//!
//! Recording never decides whether something happens. Where it cannot go on there is one warning, the round goes on,
//! and the receipt that could not be written is missing from the result.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits;
use crate::recording::cast::{self, Header};
use crate::recording::digest::Digest;
use crate::recording::event::{Entry, Event, Trace};
use crate::recording::receipt::{Body, Chain, Seal, Text};
use crate::recording::session::{self, Pane, Resumed, Session, State};
use crate::screen::Size;
use crate::world::random;
use crate::world::store::{Log, Store, StoreError};

/// How long the console's own events are put off: to write them wakes another thread, and the echo of a key comes first.
const PUT_OFF: Duration = Duration::from_millis(100);
/// Most of them that are put off.
const PENDING: usize = 256;

const SESSION_FILE: &str = "session.json";

/// What is known of a session before it starts.
#[derive(Debug, Clone)]
pub struct Opening<'a> {
    /// The state folder; `None` records nothing.
    pub state: Option<PathBuf>,
    /// The repository's key.
    pub repo: &'a str,
    /// The folder the panes work in.
    pub worktree: &'a Path,
    /// Version of codriver.
    pub codriver: &'a str,
    /// Wall time of the start, since 1970.
    pub started: Duration,
}

/// A pane of the session, as the recorder names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneIndex(usize);

/// The record of one session.
#[derive(Debug)]
pub struct Recorder {
    session: Session,
    started: Duration,
    store: Store,
    events: Option<Log>,
    receipts: Option<Log>,
    chain: Chain,
    panes: Vec<Recorded>,
    warnings: Vec<String>,
    /// Bytes of the console's own events.
    traced: u64,
    /// The console's own events that are not written yet: nobody waits for them.
    pending: Vec<(Duration, Event)>,
}

#[derive(Debug)]
struct Recorded {
    pane: String,
    log: Option<Log>,
    cast: cast::Writer,
    /// Bytes left out since the last event that was kept.
    left_out: u64,
    is_whole: bool,
}

impl Recorder {
    /// Starts a session. A folder that cannot be made is a warning, and nothing is recorded.
    pub fn open(opening: &Opening<'_>) -> Self {
        let pid = std::process::id();
        // Without randomness the process id still tells two sessions of one second apart.
        let random = random::bytes().unwrap_or(pid.to_be_bytes());
        let id = session::session_id(opening.started, random);
        let Opening {
            repo,
            worktree,
            codriver,
            started,
            ..
        } = *opening;
        let mut recorder = Self {
            session: Session::open(&id, repo, worktree, codriver, pid, started),
            started,
            store: Store::none(),
            events: None,
            receipts: None,
            chain: Chain::new(&id, Seal::default()),
            panes: Vec::new(),
            warnings: Vec::new(),
            traced: 0,
            pending: Vec::new(),
        };
        if let Some(state) = &opening.state {
            match recorder.make_folder(state) {
                Ok(()) => recorder.save(),
                Err(error) => recorder.warn_of(&error),
            }
        }
        let codriver = codriver.to_owned();
        recorder.event(
            Duration::ZERO,
            Event::SessionStarted {
                session: id,
                codriver,
            },
        );
        recorder
    }

    fn make_folder(&mut self, state: &Path) -> Result<(), StoreError> {
        let mut store = Store::create(state, &self.session.repo, &self.session.id)?;
        self.events = store.log("events.jsonl")?;
        self.receipts = store.log("receipts.jsonl")?;
        self.store = store;
        Ok(())
    }

    /// Goes on with the receipts of an earlier session. Nothing has been receipted before.
    pub fn resume(&mut self, resumed: Resumed) {
        let seal = Seal {
            count: 0,
            head: resumed.receipts.head.clone(),
        };
        self.chain = Chain::new(&self.session.id, seal);
        self.session.resumed = Some(resumed);
        self.save();
    }

    /// The session's id; there is one even when nothing is recorded.
    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// The session's folder, when there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.store.folder()
    }

    /// Starts the recording of a pane.
    pub fn add_pane(&mut self, pane: Pane, title: &str) -> PaneIndex {
        let log = self.store.log(&pane.file).unwrap_or_else(|error| {
            self.warn_of(&error);
            None
        });
        let mut header = Header::new(Size::new(pane.cols, pane.rows));
        header.timestamp = Some(self.started.as_secs());
        header.title = Some(title.to_owned());
        header.term = Some("xterm-256color".to_owned());
        let mut lines = Vec::new();
        let recorded = Recorded {
            pane: pane.pane.clone(),
            log,
            cast: cast::Writer::new(&header, &mut lines),
            left_out: 0,
            is_whole: true,
        };
        if let Some(log) = &recorded.log {
            self.store.append(log, lines);
        }
        self.panes.push(recorded);
        self.session.panes.push(pane);
        self.save();
        PaneIndex(self.panes.len() - 1)
    }

    /// A pane's child wrote. When the disk cannot follow, the bytes are left out and a marker says so later.
    pub fn output(&mut self, pane: PaneIndex, at: Duration, bytes: &[u8]) {
        let Some(recorded) = self.panes[pane.0].running() else {
            return;
        };
        if !self.store.has_room(bytes.len()) {
            if recorded.is_whole {
                self.warnings.push(format!(
                    "the disk does not follow, so part of what the {} shows is missing from its recording",
                    recorded.pane
                ));
            }
            recorded.left_out += bytes.len() as u64;
            recorded.is_whole = false;
            self.session.whole = false;
            return;
        }
        self.tell_gap(pane, at);
        self.put(pane, |cast, lines| cast.output(at, bytes, lines));
    }

    /// A pane's child was written to. What a person types is only recorded when they asked for it; the caller knows.
    pub fn input(&mut self, pane: PaneIndex, at: Duration, bytes: &[u8]) {
        self.put(pane, |cast, lines| cast.input(at, bytes, lines));
    }

    /// A pane's window changed its size.
    pub fn resize(&mut self, pane: PaneIndex, at: Duration, size: Size) {
        self.tell_gap(pane, at);
        self.put(pane, |cast, lines| cast.resize(at, size, lines));
        let Size { cols, rows } = size;
        self.event(
            at,
            Event::Resized {
                pane: self.panes[pane.0].pane.clone(),
                cols,
                rows,
            },
        );
    }

    /// Sets a marker in a pane's recording.
    pub fn marker(&mut self, pane: PaneIndex, at: Duration, label: &str) {
        self.tell_gap(pane, at);
        self.put(pane, |cast, lines| cast.marker(at, label, lines));
    }

    /// A pane's child ended.
    pub fn end_pane(
        &mut self,
        pane: PaneIndex,
        at: Duration,
        status: Option<i32>,
        signal: Option<i32>,
    ) {
        self.tell_gap(pane, at);
        // A shell's way to say a signal as a status.
        let code = status.unwrap_or(128 + signal.unwrap_or(0));
        self.put(pane, |cast, lines| cast.exit(at, code, lines));
        self.event(
            at,
            Event::PaneEnded {
                pane: self.panes[pane.0].pane.clone(),
                status,
                signal,
            },
        );
    }

    /// Whether everything of a pane's output is in its recording, so far as is known.
    pub fn is_whole(&self, pane: PaneIndex) -> bool {
        let recorded = &self.panes[pane.0];
        recorded.is_whole && recorded.log.as_ref().is_some_and(|log| !log.is_stopped())
    }

    /// Records an event.
    pub fn event(&mut self, at: Duration, event: Event) {
        self.write_traces();
        if let Some(log) = &self.events {
            self.store
                .append(log, Entry::new(self.started, at, event).line());
        }
    }

    /// Records that the console was told something.
    pub fn saw(&mut self, at: Duration, trace: Trace) {
        self.put_off(at, Event::Saw(trace));
    }

    /// Records that the console did something.
    pub fn did(&mut self, at: Duration, trace: Trace) {
        self.put_off(at, Event::Did(trace));
    }

    /// Keeps an event for when there is time; one that is recorded at once has those before it written first.
    fn put_off(&mut self, at: Duration, event: Event) {
        self.pending.push((at, event));
        if self.pending.len() >= PENDING {
            self.write_traces();
        }
    }

    /// When the console's own events are to be written at the latest; none when there are none.
    pub fn traces_due(&self) -> Option<Duration> {
        self.pending.first().map(|(at, _)| *at + PUT_OFF)
    }

    /// Writes the console's own events.
    pub fn write_traces(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        for (at, event) in pending.drain(..) {
            self.trace(at, event);
        }
        // Its room is used again.
        self.pending = pending;
    }

    /// Records what may be left out: where the disk does not follow, and beyond a bound.
    fn trace(&mut self, at: Duration, event: Event) {
        let Some(log) = self
            .events
            .as_ref()
            .filter(|_| self.traced < limits::TRACE_BYTES)
        else {
            return;
        };
        let line = Entry::new(self.started, at, event).line();
        if !self.store.has_room(line.len()) {
            return;
        }
        self.traced += line.len() as u64;
        self.store.append(log, line);
        if self.traced >= limits::TRACE_BYTES {
            let text = "from here on the console's own events are left out: there are too many";
            let text = text.to_owned();
            self.event(at, Event::Notice { text });
        }
    }

    /// Keeps a text of a round under `transcripts/`; the digest is right also when it could not be kept.
    pub fn text(&mut self, name: &str, text: &str) -> Text {
        let kept = self.store.write_transcript(name, text);
        Text {
            sha256: Digest::of(text),
            file: kept.then(|| format!("transcripts/{name}")),
        }
    }

    /// Whether there is a text of this name.
    pub fn has_text(&self, name: &str) -> bool {
        self.store.has_transcript(name)
    }

    /// Whether receipts are written, so far as is known.
    pub fn can_write_receipts(&self) -> bool {
        self.receipts.as_ref().is_some_and(|log| !log.is_stopped())
    }

    /// Writes a receipt and gives its id; nothing when it could not be written.
    pub fn receipt(&mut self, body: Body) -> Option<String> {
        let log = self.receipts.as_ref().filter(|log| !log.is_stopped())?;
        let mut chain = self.chain.clone();
        let sealed = chain.append(body);
        if !self.store.append_now(log, sealed.line) {
            // Perhaps the session file can be written by the next time.
            self.save();
            return None;
        }
        self.session.receipts = chain.seal().clone();
        self.chain = chain;
        self.save();
        Some(sealed.id)
    }

    /// Whether anything went wrong that nobody was told of by this itself.
    pub fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// What went wrong since the last call, a sentence each.
    pub fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.store.take_warnings());
        warnings
    }

    /// Waits until everything so far is written, at most that long; whether it is.
    pub fn settle(&self, within: Duration) -> bool {
        self.store.settle(within)
    }

    /// Ends the session, waiting at most that long for the disk; whether everything was written.
    pub fn close(&mut self, at: Duration, state: State, within: Duration) -> bool {
        for pane in (0..self.panes.len()).map(PaneIndex) {
            self.tell_gap(pane, at);
            self.put(pane, |cast, lines| cast.flush(at, lines));
        }
        self.event(at, Event::SessionEnded);
        self.session.state = state;
        self.session.ended = Some(session::rfc3339(self.started.saturating_add(at)));
        self.session.whole = (0..self.panes.len()).all(|pane| self.is_whole(PaneIndex(pane)));
        self.save();
        // Warnings are read off first, since a closed store has none.
        let settled = self.store.settle(within);
        self.warnings.extend(self.store.take_warnings());
        self.store.close(within) && settled
    }

    fn put(&mut self, pane: PaneIndex, event: impl FnOnce(&mut cast::Writer, &mut Vec<u8>)) {
        let Some(recorded) = self.panes[pane.0].running() else {
            return;
        };
        let mut lines = Vec::new();
        event(&mut recorded.cast, &mut lines);
        if let Some(log) = &recorded.log
            && !lines.is_empty()
        {
            self.store.append(log, lines);
        }
    }

    /// Marks the place where output was left out.
    fn tell_gap(&mut self, pane: PaneIndex, at: Duration) {
        let recorded = &mut self.panes[pane.0];
        let bytes = std::mem::take(&mut recorded.left_out);
        if bytes == 0 {
            return;
        }
        let name = recorded.pane.clone();
        self.put(pane, |cast, lines| {
            cast.flush(at, lines);
            cast.marker(at, &format!("gap: {bytes} bytes are missing"), lines);
        });
        self.event(at, Event::Gap { pane: name, bytes });
    }

    fn save(&mut self) {
        self.store.replace(SESSION_FILE, self.session.file());
    }

    fn warn_of(&mut self, error: &StoreError) {
        let mut warning = format!("this session is not recorded: {error}");
        if let Some(source) = std::error::Error::source(error) {
            warning.push_str(&format!(": {source}"));
        }
        self.warnings.push(warning);
    }
}

impl Recorded {
    /// The pane, as long as its file takes something.
    fn running(&mut self) -> Option<&mut Self> {
        let runs = self.log.as_ref().is_some_and(|log| !log.is_stopped());
        runs.then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::recording::cast::{Kind, Reader};
    use crate::recording::receipt::verify;

    type Test = Result<(), Box<dyn std::error::Error>>;

    const LONG: Duration = Duration::from_secs(10);

    fn opening(state: Option<&Path>) -> Opening<'_> {
        Opening {
            state: state.map(Path::to_path_buf),
            repo: "shop-1",
            worktree: Path::new("/w"),
            codriver: "0.1.0",
            started: Duration::from_secs(1_700_000_000),
        }
    }

    fn pane(recorder: &mut Recorder) -> PaneIndex {
        let pane = Pane::new(
            "peer",
            "demo",
            None,
            ["codriver", "demo-agent"],
            Size::new(80, 24),
        );
        recorder.add_pane(pane, "peer: demo")
    }

    fn other(word: &str) -> Body {
        let mut fields = serde_json::Map::new();
        fields.insert("for".to_owned(), word.into());
        Body::Other(fields)
    }

    #[test]
    fn a_session_leaves_everything_in_its_folder() -> Test {
        let root = tempfile::tempdir()?;
        let mut recorder = Recorder::open(&opening(Some(root.path())));
        let peer = pane(&mut recorder);
        let second = Duration::from_secs(1);
        recorder.output(peer, second, b"hello\xc3");
        recorder.resize(peer, second, Size::new(100, 50));
        recorder.marker(peer, second, "prompt-sent");
        recorder.output(peer, 2 * second, b"\xa9");
        let text = recorder.text("r001-sent.txt", "sent");
        assert_eq!(text.file.as_deref(), Some("transcripts/r001-sent.txt"));
        let first = recorder.receipt(other("first")).ok_or("no receipt")?;
        let next = recorder.receipt(other("next")).ok_or("no receipt")?;
        assert!(recorder.is_whole(peer));
        recorder.end_pane(peer, 3 * second, None, Some(15));
        let folder = recorder.folder().ok_or("no folder")?.to_path_buf();
        assert!(recorder.close(4 * second, State::Closed, LONG));
        assert_eq!(recorder.take_warnings(), Vec::<String>::new());

        let cast = fs::read(folder.join("peer.cast"))?;
        let reader = Reader::open(&cast[..])?.recording().ok_or("no recording")?;
        let kinds: Vec<Kind> = reader
            .map(|event| event.map(|event| event.kind))
            .collect::<Result<_, _>>()?;
        let wanted = [
            Kind::Output("hello".to_owned()),
            Kind::Resize(Size::new(100, 50)),
            Kind::Marker("prompt-sent".to_owned()),
            Kind::Output("é".to_owned()),
            Kind::Exit(143),
        ];
        assert_eq!(kinds, wanted);

        let session: Session = serde_json::from_slice(&fs::read(folder.join("session.json"))?)?;
        assert_eq!(
            (session.state, session.whole, session.panes.len()),
            (State::Closed, true, 1)
        );
        assert_eq!(session.ended.as_deref(), Some("2023-11-14T22:13:24.000Z"));
        assert_eq!(
            folder.file_name().and_then(|name| name.to_str()),
            Some(&*session.id)
        );
        let receipts = verify(&fs::read(folder.join("receipts.jsonl"))?, &session.receipts)?;
        assert_eq!(
            receipts
                .iter()
                .map(|receipt| &receipt.id)
                .collect::<Vec<_>>(),
            [&first, &next]
        );

        let events = fs::read_to_string(folder.join("events.jsonl"))?;
        let names: Vec<String> = events
            .lines()
            .map(|line| {
                let value: serde_json::Value = serde_json::from_str(line)?;
                Ok(value["event"].as_str().unwrap_or_default().to_owned())
            })
            .collect::<Result<_, serde_json::Error>>()?;
        assert_eq!(
            names,
            ["session-started", "resized", "pane-ended", "session-ended"]
        );
        Ok(())
    }

    #[test]
    fn output_the_disk_cannot_follow_leaves_a_marker_in_its_place() -> Test {
        let root = tempfile::tempdir()?;
        let mut recorder = Recorder::open(&opening(Some(root.path())));
        let peer = pane(&mut recorder);
        let at = Duration::from_secs(1);
        recorder.output(peer, at, b"before\xc3");
        let flood = vec![b'x'; limits::RECORD_QUEUE_BYTES + 1];
        recorder.output(peer, at, &flood);
        recorder.output(peer, at, &flood);
        assert!(!recorder.is_whole(peer));
        assert_eq!(
            recorder.take_warnings(),
            [
                "the disk does not follow, so part of what the peer shows is missing from its recording"
            ]
        );
        recorder.output(peer, at, b"after");
        let folder = recorder.folder().ok_or("no folder")?.to_path_buf();
        assert!(recorder.close(at, State::Interrupted, LONG));

        let cast = fs::read(folder.join("peer.cast"))?;
        let reader = Reader::open(&cast[..])?.recording().ok_or("no recording")?;
        let kinds: Vec<Kind> = reader
            .map(|event| event.map(|event| event.kind))
            .collect::<Result<_, _>>()?;
        let missing = 2 * flood.len();
        let wanted = [
            Kind::Output("before".to_owned()),
            Kind::Output("\u{fffd}".to_owned()),
            Kind::Marker(format!("gap: {missing} bytes are missing")),
            Kind::Output("after".to_owned()),
        ];
        assert_eq!(kinds, wanted);
        let events = fs::read_to_string(folder.join("events.jsonl"))?;
        assert!(
            events.contains(&format!(
                r#""event":"gap","pane":"peer","bytes":{missing}}}"#
            )),
            "{events}"
        );
        let session: Session = serde_json::from_slice(&fs::read(folder.join("session.json"))?)?;
        assert_eq!((session.state, session.whole), (State::Interrupted, false));
        Ok(())
    }

    #[test]
    fn without_a_folder_a_session_still_has_its_id_and_digests() {
        let mut recorder = Recorder::open(&opening(None));
        let peer = pane(&mut recorder);
        recorder.output(peer, Duration::ZERO, b"x");
        assert_eq!(
            recorder.text("r001-sent.txt", "sent"),
            Text {
                sha256: Digest::of("sent"),
                file: None
            }
        );
        assert_eq!(recorder.receipt(other("first")), None);
        assert!(!recorder.is_whole(peer));
        assert!(recorder.id().starts_with("20231114-221320-"));
        assert!(recorder.close(Duration::ZERO, State::Closed, LONG));
        assert_eq!(recorder.take_warnings(), Vec::<String>::new());
    }

    #[test]
    fn a_state_folder_that_takes_nothing_is_one_warning() -> Test {
        let root = tempfile::tempdir()?;
        let file = root.path().join("file");
        fs::write(&file, "")?;
        let mut recorder = Recorder::open(&opening(Some(&file)));
        let peer = pane(&mut recorder);
        recorder.output(peer, Duration::ZERO, b"x");
        assert_eq!(recorder.receipt(other("first")), None);
        recorder.close(Duration::ZERO, State::Closed, LONG);
        let warnings = recorder.take_warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("this session is not recorded: the session folder "),
            "{warnings:?}"
        );
        Ok(())
    }
}
