//! `session.json`: what a session was, and the seal over its receipts (interface.md 5).

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::Digest;
use super::receipt::{self, Break, Receipt, Seal};
use crate::plain;
use crate::screen::Size;

/// The schema name of a [`Session`].
pub const SESSION_SCHEMA: &str = "codriver.session/1";
/// Longest readable part of a repository key, in bytes.
const KEY_NAME_BYTES: usize = 40;

/// Why a session file is not read, or not as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It was written by a newer version.
    #[error(
        "it has the form `{0}`, which this version does not know; what can be read of it is shown"
    )]
    Newer(String),
    /// It is no session file.
    #[error("its session.json is no session file")]
    Broken,
}

/// The session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Always `codriver.session/1`.
    #[schemars(extend("const" = SESSION_SCHEMA))]
    pub schema: String,
    /// The session's id, which is also its folder's name.
    pub id: String,
    /// The key of the repository, one for all its worktrees.
    pub repo: String,
    /// The folder the panes work in.
    pub worktree: String,
    /// Version of codriver.
    pub codriver: String,
    /// Process id of codriver.
    pub pid: u32,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; null while the session is open, and for ever when it was killed.
    pub ended: Option<String>,
    /// How it stands.
    pub state: State,
    /// Its panes, in the order they were opened.
    pub panes: Vec<Pane>,
    /// Count of the receipts and digest of the last one.
    pub receipts: Seal,
    /// False when part of a pane's output is missing from its recording.
    pub whole: bool,
    /// The session that is gone on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Resumed")]
    pub resumed: Option<Resumed>,
}

/// A session that another one goes on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// Its id.
    pub session: String,
    /// Its receipts: the first one of the session that goes on names the last of these.
    pub receipts: Seal,
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Running, or killed.
    Open,
    /// Ended in order.
    Closed,
    /// Stopped by the person.
    Interrupted,
}

/// One pane of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pane {
    /// Pane id: `driver` or `peer`.
    pub pane: String,
    /// Harness name.
    pub harness: String,
    /// Version of the harness, as far as it was found out.
    pub version: Option<String>,
    /// Digest of the argument vector it was launched with.
    pub launch: Digest,
    /// Columns at the start.
    pub cols: u16,
    /// Rows at the start.
    pub rows: u16,
    /// Its recording, in the session's folder.
    pub file: String,
}

impl Pane {
    /// A pane launched with `argv`, recorded to `<pane>.cast`.
    pub fn new<T: AsRef<[u8]>>(
        pane: &str,
        harness: &str,
        version: Option<&str>,
        argv: impl IntoIterator<Item = T>,
        size: Size,
    ) -> Self {
        Self {
            pane: pane.to_owned(),
            harness: harness.to_owned(),
            version: version.map(receipt::short),
            launch: Digest::of_list(argv),
            cols: size.cols,
            rows: size.rows,
            file: format!("{pane}.cast"),
        }
    }
}

impl Session {
    /// A session that starts now.
    pub fn open(
        id: &str,
        repo: &str,
        worktree: &Path,
        codriver: &str,
        pid: u32,
        started: Duration,
    ) -> Self {
        Self {
            schema: SESSION_SCHEMA.to_owned(),
            id: id.to_owned(),
            repo: repo.to_owned(),
            worktree: worktree.to_string_lossy().into_owned(),
            codriver: codriver.to_owned(),
            pid,
            started: rfc3339(started),
            ended: None,
            state: State::Open,
            panes: Vec::new(),
            receipts: Seal::default(),
            whole: true,
            resumed: None,
        }
    }

    /// Digest of the receipt before the first one of this session.
    fn before(&self) -> Option<&Digest> {
        self.resumed.as_ref()?.receipts.head.as_ref()
    }

    /// Reads a session file. Of one of a newer form what is known is taken over, and the fault says so.
    ///
    /// # Errors
    ///
    /// When nothing of it can be read.
    pub fn read(bytes: &[u8]) -> Result<(Self, Option<Unread>), Unread> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| Unread::Broken)?;
        let word = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let schema = word("schema").ok_or(Unread::Broken)?;
        if schema == SESSION_SCHEMA {
            let session = serde_json::from_value(value).map_err(|_| Unread::Broken)?;
            return Ok((session, None));
        }
        if !schema.starts_with("codriver.session/") {
            return Err(Unread::Broken);
        }
        let part = |name: &str| value.get(name).cloned().unwrap_or_default();
        let session = Self {
            id: word("id").unwrap_or_default(),
            repo: word("repo").unwrap_or_default(),
            worktree: word("worktree").unwrap_or_default(),
            codriver: word("codriver").unwrap_or_default(),
            pid: serde_json::from_value(part("pid")).unwrap_or_default(),
            started: word("started").unwrap_or_default(),
            ended: word("ended"),
            // What cannot be told counts as running, and is never taken away by mistake.
            state: serde_json::from_value(part("state")).unwrap_or(State::Open),
            panes: serde_json::from_value(part("panes")).unwrap_or_default(),
            receipts: serde_json::from_value(part("receipts")).unwrap_or_default(),
            whole: serde_json::from_value(part("whole")).unwrap_or(false),
            resumed: serde_json::from_value(part("resumed")).ok(),
            schema: schema.clone(),
        };
        let newer = plain::display(&schema, crate::limits::QUOTE_BYTES);
        Ok((session, Some(Unread::Newer(newer))))
    }

    /// Checks the session's receipts against its seal, as [`receipt::verify`] does. A session that was killed may have
    /// one more than it counts, since the line is written first.
    pub fn verify(&self, lines: &[u8]) -> Result<Vec<Receipt>, Break> {
        let counted = receipt::verify_after(lines, self.before(), &self.receipts);
        let Err(Break::Added { found, count }) = counted else {
            return counted;
        };
        if self.state != State::Open || found != count + 1 {
            return counted;
        }
        let (receipts, _) = receipt::links_after(lines, self.before())?;
        let newest = receipts.last().and_then(|newest| newest.prev.as_ref());
        let sealed = self.receipts.head.as_ref().or(self.before());
        if newest == sealed {
            Ok(receipts)
        } else {
            Err(Break::Head)
        }
    }

    /// The whole file.
    pub fn file(&self) -> Vec<u8> {
        let mut file =
            serde_json::to_vec_pretty(self).expect("strings and numbers are always JSON");
        file.push(b'\n');
        file
    }
}

/// An id that sorts by time: `20260102-030405-1f9a` and so on, from the time since the Unix epoch and some randomness.
pub fn session_id(started: Duration, random: [u8; 4]) -> String {
    let stamp = moment(started).strftime("%Y%m%d-%H%M%S").to_string();
    format!("{stamp}-{:08x}", u32::from_be_bytes(random))
}

/// The key of the repository whose common git folder (or, without git, whose root) is `path`: its name, to be read,
/// and part of its path's digest, to be unique.
pub fn repo_key(path: &Path) -> String {
    let named = match path.file_name() {
        Some(name) if name == ".git" => path.parent().and_then(Path::file_name),
        other => other,
    };
    let name = named.unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        }
    };
    let name: String = name
        .trim_start_matches('.')
        .chars()
        .take(KEY_NAME_BYTES)
        .map(plain)
        .collect();
    let name = if name.is_empty() { "root" } else { &name };
    format!(
        "{name}-{}",
        &Digest::of(path.as_os_str().as_bytes()).hex()[..12]
    )
}

/// RFC 3339 in UTC, to the millisecond, of a time since the Unix epoch.
pub fn rfc3339(at: Duration) -> String {
    format!("{:.3}", moment(at))
}

fn moment(at: Duration) -> jiff::Timestamp {
    i64::try_from(at.as_millis())
        .ok()
        .and_then(|at| jiff::Timestamp::from_millisecond(at).ok())
        .unwrap_or(jiff::Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::receipt::{Body, Chain};
    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let id = |seconds| session_id(Duration::from_secs(seconds), [0xff, 0, 0, 1]);
        assert_eq!(id(1_700_000_000), "20231114-221320-ff000001");
        assert!(id(1_700_000_000) < id(1_700_000_001));
    }

    #[test]
    fn a_repository_key_is_readable_and_unique() {
        let key = |path: &str| repo_key(Path::new(path));
        assert!(
            key("/home/a/shop/.git").starts_with("shop-"),
            "{}",
            key("/home/a/shop/.git")
        );
        assert!(key("/srv/git/shop.git").starts_with("shop-"));
        assert!(key("/home/a/My Shop/.git").starts_with("My-Shop-"));
        assert!(key("/").starts_with("root-"));
        assert!(key("/x/..hidden").starts_with("hidden-"));
        assert_ne!(key("/home/a/shop/.git"), key("/home/b/shop/.git"));
        assert!(key(&format!("/{}", "ä".repeat(300))).len() < 60);
    }

    #[test]
    fn a_session_comes_back_as_it_was_written() -> Result<(), serde_json::Error> {
        let mut session = Session::open(
            "s",
            "shop-1",
            Path::new("/w"),
            "0.1.0",
            7,
            Duration::from_secs(1),
        );
        let argv = ["codex", "-s", "read-only"];
        session.panes.push(Pane::new(
            "peer",
            "codex",
            Some("0.171.0"),
            argv,
            Size::new(100, 50),
        ));
        assert_eq!(serde_json::from_slice::<Session>(&session.file())?, session);
        assert_eq!(session.started, "1970-01-01T00:00:01.000Z");
        assert_eq!(session.panes[0].file, "peer.cast");
        Ok(())
    }

    #[test]
    fn a_file_of_a_newer_version_is_shown_as_far_as_it_is_known() {
        let bytes = br#"{"schema":"codriver.session/2","id":"s","state":"paused","started":"t","panes":7,"new":[]}"#;
        let (session, fault) = Session::read(bytes).expect("readable");
        assert_eq!(
            (session.id.as_str(), session.state, session.panes.len()),
            ("s", State::Open, 0)
        );
        assert_eq!(fault, Some(Unread::Newer("codriver.session/2".to_owned())));
        for broken in [&b""[..], b"{", b"{}", br#"{"schema":"other/1"}"#, b"\xff"] {
            assert_eq!(Session::read(broken), Err(Unread::Broken));
        }
        let own = Session::open("s", "r", Path::new("/w"), "0", 1, Duration::ZERO);
        assert_eq!(Session::read(&own.file()), Ok((own, None)));
    }

    #[test]
    fn only_a_killed_session_may_have_one_receipt_more_than_it_counts() {
        let mut session = Session::open("s", "shop-1", Path::new("/w"), "0.1.0", 7, Duration::ZERO);
        let mut chain = Chain::new("s", Seal::default());
        let mut lines = Vec::new();
        let mut append = |lines: &mut Vec<u8>| {
            let fields = serde_json::Map::from_iter([("for".to_owned(), "x".into())]);
            lines.extend(chain.append(Body::Other(fields)).line);
            chain.seal().clone()
        };
        session.receipts = append(&mut lines);
        assert_eq!(session.verify(&lines).map(|receipts| receipts.len()), Ok(1));
        append(&mut lines);
        assert_eq!(session.verify(&lines).map(|receipts| receipts.len()), Ok(2));
        session.state = State::Closed;
        assert_eq!(
            session.verify(&lines),
            Err(Break::Added { found: 2, count: 1 })
        );
        session.state = State::Open;
        session.receipts.head = Some(Digest::of("another"));
        assert_eq!(session.verify(&lines), Err(Break::Head));
        session.receipts = Seal::default();
        assert_eq!(
            session.verify(&lines),
            Err(Break::Added { found: 2, count: 0 })
        );
    }
}
