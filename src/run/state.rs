//! `state.json` of a run: what is asked, what was answered, what was verified (systems.md 0.6, B.9, B.10, C.9).

use serde::{Deserialize, Serialize};

use crate::recording::digest::Digest;
use crate::recording::fallback::{FallbackReceipt, Tally};
use crate::recording::review::{ReviewRoute, Word};

/// The schema name of a [`Run`].
pub(super) const RUN_SCHEMA: &str = "codriver.run/1";

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Always `codriver.run/1`.
    pub schema: String,
    /// Its id.
    pub id: String,
    /// The folder that is worked on.
    pub worktree: String,
    /// The commit the change is held against.
    pub base: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// The requests that are open.
    pub awaits: Vec<Await>,
    /// What was verified, oldest first.
    pub reviews: Vec<Verified>,
    /// Routes that did not answer, oldest first.
    pub fallbacks: Vec<FallbackReceipt>,
    /// How often that happened.
    pub tally: Tally,
}

/// An open request to a role (0.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Await {
    /// The role.
    pub role: String,
    /// Its round in the run.
    pub round: u32,
    /// The file with the brief.
    pub brief: String,
    /// The file that answers it.
    #[serde(rename = "return")]
    pub return_path: String,
    /// The route that was asked.
    pub asked: String,
    /// Who opened it.
    pub opener: Opener,
    /// The route whose answer was placed, and its digest; only while it is that route's (B.10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Answered>,
}

/// A process, beyond its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opener {
    /// Its number.
    pub pid: i32,
    /// When it started.
    pub start: u64,
}

/// An answer that was placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The route.
    pub route: String,
    /// Digest of its bytes.
    pub sha256: Digest,
}

/// A review that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The role.
    pub role: String,
    /// Its round in the run.
    pub round: u32,
    /// Its word.
    pub word: Word,
    /// The file with the return.
    #[serde(rename = "return")]
    pub return_path: String,
    /// Digest of the bytes that were verified.
    pub sha256: Digest,
    /// Which way it was asked to go and went.
    pub route: ReviewRoute,
    /// RFC 3339, UTC.
    pub at: String,
}

impl Run {
    /// A run that begins now.
    pub fn open(id: &str, worktree: &str, base: &str, created: &str) -> Self {
        Self {
            schema: RUN_SCHEMA.to_owned(),
            id: id.to_owned(),
            worktree: worktree.to_owned(),
            base: base.to_owned(),
            created: created.to_owned(),
            awaits: Vec::new(),
            reviews: Vec::new(),
            fallbacks: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Reads a state; none when it is no state this version knows.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let run: Self = serde_json::from_slice(bytes).ok()?;
        (run.schema == RUN_SCHEMA).then_some(run)
    }

    /// The whole file.
    pub fn file(&self) -> Vec<u8> {
        let mut file =
            serde_json::to_vec_pretty(self).expect("strings and numbers are always JSON");
        file.push(b'\n');
        file
    }

    /// The open request of a role whose answer goes to this file, or any of it.
    pub fn open_of(&self, role: &str) -> Option<&Await> {
        self.awaits.iter().find(|open| open.role == role)
    }

    fn at(&mut self, return_path: &str) -> Option<&mut Await> {
        self.awaits
            .iter_mut()
            .find(|open| open.return_path == return_path)
    }

    /// Whether the request that this file answers is still open.
    pub fn is_open(&self, return_path: &str) -> bool {
        self.awaits
            .iter()
            .any(|open| open.return_path == return_path)
    }

    /// The number the next round of a role has.
    pub fn next_round(&self, role: &str) -> u32 {
        let verified = self.reviews.iter().map(|done| (&done.role, done.round));
        let open = self.awaits.iter().map(|open| (&open.role, open.round));
        let rounds = verified.chain(open).filter(|(of, _)| *of == role);
        rounds.map(|(_, round)| round).max().unwrap_or(0) + 1
    }

    /// Takes in that an answer of a route was placed (B.9).
    pub fn answered(&mut self, return_path: &str, route: &str, sha256: Digest) {
        if let Some(open) = self.at(return_path) {
            open.answered = Some(Answered {
                route: route.to_owned(),
                sha256,
            });
        }
    }

    /// Takes in that the request no longer belongs to the route whose answer was placed (B.10).
    pub fn no_longer(&mut self, return_path: &str) {
        if let Some(open) = self.at(return_path) {
            open.answered = None;
        }
    }

    /// Whose a return with these bytes is: the route's whose answer was placed with them, else the host's (B.10).
    pub fn whose(&self, return_path: &str, sha256: &Digest) -> Option<&str> {
        let open = self
            .awaits
            .iter()
            .find(|open| open.return_path == return_path)?;
        let answered = open.answered.as_ref()?;
        (answered.sha256 == *sha256).then_some(answered.route.as_str())
    }

    /// Adds a fallback.
    pub fn fell_back(&mut self, receipt: FallbackReceipt) {
        self.fallbacks.push(receipt);
        let all = self.fallbacks.iter();
        self.tally = Tally::of(all.map(|fell| (fell.asked.as_str(), fell.role.as_str())));
    }

    /// Closes a request with what was verified.
    pub fn close(&mut self, verified: Verified) {
        self.awaits
            .retain(|open| open.return_path != verified.return_path);
        self.reviews.push(verified);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(role: &str, round: u32) -> Await {
        Await {
            role: role.to_owned(),
            round,
            brief: "/b".to_owned(),
            return_path: format!("/r/{role}/{round}"),
            asked: "rp".to_owned(),
            opener: Opener { pid: 1, start: 2 },
            answered: None,
        }
    }

    fn run() -> Run {
        Run::open("1", "/w", "abc", "2026-01-02T03:04:05Z")
    }

    #[test]
    fn a_state_comes_back_and_one_of_another_version_does_not() {
        let mut run = run();
        run.awaits.push(open("auditor", 1));
        run.answered("/r/auditor/1", "rp", Digest::of("x"));
        assert_eq!(Run::read(&run.file()), Some(run.clone()));
        run.schema = "codriver.run/2".to_owned();
        assert_eq!(Run::read(&run.file()), None);
        assert_eq!(Run::read(b"{"), None);
    }

    #[test]
    fn nothing_fell_back_is_zero_and_two_empty_maps() {
        let text = String::from_utf8(run().file()).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(
            value["tally"],
            serde_json::json!({"total": 0, "by_runner": {}, "by_role": {}})
        );
    }

    #[test]
    fn a_return_is_the_routes_exactly_while_its_bytes_are() {
        let mut run = run();
        run.awaits.push(open("ruthless-reviewer", 1));
        let path = "/r/ruthless-reviewer/1";
        let (ours, theirs) = (Digest::of("ours"), Digest::of("theirs"));
        assert_eq!(run.whose(path, &ours), None);
        run.answered(path, "rp", ours.clone());
        assert_eq!(run.whose(path, &ours), Some("rp"));
        assert_eq!(run.whose(path, &theirs), None);
        run.no_longer(path);
        assert_eq!(run.whose(path, &ours), None);
    }

    #[test]
    fn rounds_count_on_for_each_role_and_a_closed_request_is_not_open() {
        let mut run = run();
        assert_eq!(run.next_round("auditor"), 1);
        run.awaits.push(open("auditor", 1));
        assert_eq!(run.next_round("auditor"), 2);
        assert_eq!(run.next_round("ruthless-reviewer"), 1);
        let path = "/r/auditor/1";
        assert!(run.is_open(path));
        run.close(Verified {
            role: "auditor".to_owned(),
            round: 1,
            word: Word::Approve,
            return_path: path.to_owned(),
            sha256: Digest::of("x"),
            route: ReviewRoute {
                asked: "host".to_owned(),
                ran: "host".to_owned(),
                model: None,
            },
            at: String::new(),
        });
        assert!(!run.is_open(path) && run.open_of("auditor").is_none());
        assert_eq!(run.next_round("auditor"), 2);
    }
}
