//! What came of the rounds so far: reviews, receipts, fallbacks.

use super::event::{Answered, FellBack, Receipted};
use crate::recording::fallback::Tally;
use crate::recording::result::Round;
use crate::recording::word::{Kind, Verdict};

/// Rounds without an agreement after which a topic is worth a warning (A.8).
const MANY: usize = 3;

/// How one ask ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    /// An answer was read.
    Review(Box<Round>),
    /// None was; says why.
    Nothing(String),
}

/// One ask and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The round's number; 0 for a brief, or for a message that was not sent.
    pub number: u32,
    /// What it was about.
    pub kind: Kind,
    /// The message.
    pub asked: String,
    /// The client that asked; none for the person.
    pub by: Option<String>,
    /// How it ended.
    pub came: Came,
    /// What a person should know beside it.
    pub remarks: Vec<String>,
    /// The person's time of day.
    pub at: String,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether the person has looked at it.
    pub is_seen: bool,
    /// Whether it is an escalation the person has not answered.
    pub is_open: bool,
    /// Whether the person has put it aside: it stays open, and others may go on.
    pub is_aside: bool,
    /// Whether the call that asked waits for that answer.
    pub waits: bool,
}

impl Entry {
    /// The verdict; none when nothing was read.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.came {
            Came::Review(round) => Some(round.reading.verdict()),
            Came::Nothing(_) => None,
        }
    }

    /// The result; none when nothing was read.
    pub fn round(&self) -> Option<&Round> {
        match &self.came {
            Came::Review(round) => Some(round),
            Came::Nothing(_) => None,
        }
    }

    /// The review as clean text, or why there is none.
    pub fn text(&self) -> String {
        match &self.came {
            Came::Nothing(why) => why.clone(),
            Came::Review(round) => {
                let reading = &round.reading;
                let text = reading
                    .raw()
                    .unwrap_or_else(|| reading.rationale())
                    .trim_end();
                let mut out = String::from(text);
                if !out.is_empty() {
                    out.push_str("\n\n");
                }
                out.push_str(&format!("VERDICT: {}", reading.verdict()));
                if let Some(reason) = reading.reason() {
                    out.push_str(&format!(" ({})", reason.sentence()));
                }
                out
            }
        }
    }
}

/// A row of a table, and whether the person has seen it.
#[derive(Debug)]
pub struct Marked<T> {
    /// The row.
    pub row: T,
    /// Whether it was seen.
    pub is_seen: bool,
}

/// All of it, oldest first.
#[derive(Debug, Default)]
pub struct Ledger {
    /// What was asked.
    pub entries: Vec<Entry>,
    /// The receipts.
    pub receipts: Vec<Marked<Receipted>>,
    /// The fallbacks.
    pub fallbacks: Vec<Marked<FellBack>>,
}

impl Ledger {
    /// Adds an answer.
    pub fn answer(&mut self, answered: Answered) {
        let Answered {
            round,
            asked,
            remarks,
            at,
        } = answered;
        self.entries.push(Entry {
            number: round.round,
            kind: round.kind,
            asked,
            by: None,
            remarks,
            at,
            elapsed_ms: round.elapsed_ms,
            is_seen: false,
            is_open: round.reading.verdict() == Verdict::Escalate,
            is_aside: false,
            waits: false,
            came: Came::Review(Box::new(round)),
        });
    }

    /// Adds an ask that got no answer.
    pub fn nothing(
        &mut self,
        number: u32,
        kind: Kind,
        asked: String,
        why: String,
        elapsed_ms: u64,
    ) {
        self.entries.push(Entry {
            number,
            kind,
            asked,
            by: None,
            came: Came::Nothing(why),
            remarks: Vec::new(),
            at: String::new(),
            elapsed_ms,
            is_seen: false,
            is_open: false,
            is_aside: false,
            waits: false,
        });
    }

    /// Adds a fallback.
    pub fn fallback(&mut self, fell: FellBack) {
        self.fallbacks.push(Marked {
            row: fell,
            is_seen: false,
        });
    }

    /// How often each route and each role fell back.
    pub fn tally(&self) -> Tally {
        let all = self.fallbacks.iter().map(|marked| &marked.row.receipt);
        Tally::of(all.map(|fell| (fell.asked.as_str(), fell.role.as_str())))
    }

    /// Adds a receipt.
    pub fn receipt(&mut self, receipted: Receipted) {
        self.receipts.push(Marked {
            row: receipted,
            is_seen: false,
        });
    }

    /// The rounds: what was asked but for briefs.
    pub fn rounds(&self) -> impl DoubleEndedIterator<Item = (usize, &Entry)> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| entry.kind != Kind::Brief)
    }

    /// Rounds of the present topic: those since the last agreement.
    pub fn of_topic(&self) -> usize {
        self.rounds()
            .rev()
            .take_while(|(_, entry)| entry.verdict() != Some(Verdict::Agree))
            .count()
    }

    /// Whether the present topic has gone on for so long that a person should look at it (A.8).
    pub fn is_stuck(&self) -> bool {
        self.of_topic() >= MANY
    }

    /// The last review that can be read.
    pub fn last(&self) -> Option<usize> {
        self.entries.len().checked_sub(1)
    }

    /// Whether a question waits for the person that was neither answered nor put aside: nothing is asked before (A.8).
    pub fn awaits_person(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.is_open && !entry.is_aside)
    }

    /// The client whose call waits for the person's answer to this entry.
    pub fn waiting(&self, entry: usize) -> Option<&str> {
        let entry = self.entries.get(entry).filter(|entry| entry.waits)?;
        entry.by.as_deref()
    }

    /// The last escalation that waits for the person.
    pub fn open_question(&self) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.is_open)
    }
}
