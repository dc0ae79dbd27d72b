//! What a session goes through, one line of `events.jsonl` each.
//!
//! The list only grows: a reader keeps kinds it does not know as they are.

use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::digest::Digest;
use super::fallback::FailureKind;
use super::result::Span;
use super::schema::open_enum;
use super::session::rfc3339;
use super::word::{Kind, Reason, Source, Verdict};

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Milliseconds since the session started, by a clock that never goes back.
    pub at_ms: u64,
    /// The same moment as RFC 3339, UTC.
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Entry {
    /// An event `at` that long after the session's start, itself given as time since the Unix epoch.
    pub fn new(started: Duration, at: Duration, event: Event) -> Self {
        Self {
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            time: rfc3339(started.saturating_add(at)),
            event,
        }
    }

    /// The line, its line feed included.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("strings and numbers are always JSON");
        line.push(b'\n');
        line
    }
}

/// What the console was told or did, without its texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The kind, in a word.
    pub what: String,
    /// Pane id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub pane: Option<String>,
    /// Bytes it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub bytes: Option<u64>,
    /// Columns and rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(u16, u16)")]
    pub size: Option<(u16, u16)>,
    /// What a person typed, where `record_input` is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[schemars(transform = |schema: &mut Schema| open_enum(schema, "event"))]
#[non_exhaustive]
pub enum Event {
    /// The session began.
    SessionStarted {
        /// Its id.
        session: String,
        /// Version of codriver.
        codriver: String,
    },
    /// A pane's child was started.
    PaneStarted {
        /// Pane id.
        pane: String,
        /// Harness name.
        harness: String,
        /// Process id.
        pid: u32,
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// A pane's window changed its size.
    Resized {
        /// Pane id.
        pane: String,
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// A pane's agent is ready for a message.
    Ready {
        /// Pane id.
        pane: String,
    },
    /// A pane's agent waits at a dialog (A.10).
    Blocked {
        /// Pane id.
        pane: String,
        /// The rule that told.
        rule: String,
    },
    /// A pane's agent was told to forget (A.4).
    Reset {
        /// Pane id.
        pane: String,
        /// Whether it came to rest afterwards.
        settled: bool,
    },
    /// A round began.
    RoundStarted {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
        /// What it is about.
        kind: Kind,
        /// The tag it asks for.
        tag: String,
        /// Digest of the text sent.
        sent: Digest,
    },
    /// The text was seen in the pane.
    Pasted {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
    },
    /// The submit key was typed, and the text was seen to leave the box.
    Submitted {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
        /// How often the key was typed.
        keys: u32,
    },
    /// The agent was seen to work.
    TurnStarted {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
    },
    /// The end of the turn was seen, and a text is at hand.
    Reply {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
        /// Where the text is from.
        source: Source,
        /// Its digest.
        text: Digest,
        /// The rule that told the end.
        rule: String,
    },
    /// The round was decided.
    Verdict {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
        /// The word.
        verdict: Verdict,
        /// Why there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Reason")]
        reason: Option<Reason>,
        /// The receipt's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        receipt: Option<String>,
        /// Where the round stands in the recording.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        recording: Option<Span>,
    },
    /// A route did not answer, and another one takes over.
    Fallback {
        /// The role that was routed; `peer` for a pairing round.
        role: String,
        /// The route that was asked.
        asked: String,
        /// The route that takes over; `none` when there is no other one.
        ran: String,
        /// Why.
        reason: FailureKind,
        /// The receipt's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        receipt: Option<String>,
    },
    /// A message could not be proven to have been delivered.
    Unsent {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
    },
    /// The wait for the end of a turn was given up.
    Timeout {
        /// Pane id.
        pane: String,
        /// Round number.
        round: u32,
        /// The pane's state then.
        state: String,
        /// The rule behind that state.
        rule: String,
    },
    /// The person stopped a round or the program.
    Interrupted {
        /// Pane id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        pane: Option<String>,
    },
    /// A pane's child ended.
    PaneEnded {
        /// Pane id.
        pane: String,
        /// Its exit status, when it was not ended by a signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "i32")]
        status: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "i32")]
        signal: Option<i32>,
    },
    /// Part of a pane's output is missing from its recording.
    Gap {
        /// Pane id.
        pane: String,
        /// Bytes that are missing.
        bytes: u64,
    },
    /// The person was told something, in the program's own words.
    Notice {
        /// The sentence.
        text: String,
    },
    /// The console was told something.
    Saw(Trace),
    /// The console did something.
    Did(Trace),
    /// The session ended in order.
    SessionEnded,
    /// A kind of a newer version.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(event: Event) -> Entry {
        Entry::new(
            Duration::from_secs(1_700_000_000),
            Duration::from_millis(1_500),
            event,
        )
    }

    #[test]
    fn a_line_holds_both_times_the_event_and_its_fields() {
        let submitted = entry(Event::Submitted {
            pane: "peer".to_owned(),
            round: 2,
            keys: 1,
        });
        let wanted = concat!(
            r#"{"at_ms":1500,"time":"2023-11-14T22:13:21.500Z","event":"submitted","#,
            r#""pane":"peer","round":2,"keys":1}"#,
            "\n",
        );
        assert_eq!(String::from_utf8_lossy(&submitted.line()), wanted);
    }

    #[test]
    fn events_come_back_as_they_were_written() -> Result<(), serde_json::Error> {
        let events = [
            Event::SessionEnded,
            Event::Ready {
                pane: "peer".to_owned(),
            },
            Event::Interrupted { pane: None },
            Event::Saw(Trace {
                what: "output".to_owned(),
                pane: Some("peer".to_owned()),
                bytes: Some(3),
                size: Some((80, 24)),
                text: None,
            }),
            Event::PaneEnded {
                pane: "peer".to_owned(),
                status: Some(0),
                signal: None,
            },
            Event::Verdict {
                pane: "peer".to_owned(),
                round: 1,
                verdict: Verdict::Unparsed,
                reason: Some(Reason::NoVerdict),
                receipt: Some("rcp_0".to_owned()),
                recording: Some(Span::new(
                    "peer.cast",
                    Duration::ZERO,
                    Duration::from_secs(1),
                )),
            },
        ];
        for event in events {
            let entry = entry(event);
            assert_eq!(serde_json::from_slice::<Entry>(&entry.line())?, entry);
        }
        Ok(())
    }

    #[test]
    fn a_kind_of_a_newer_version_is_kept() -> Result<(), serde_json::Error> {
        let line = r#"{"at_ms":1,"time":"t","event":"levitated","height":[1,2]}"#;
        let entry: Entry = serde_json::from_str(line)?;
        let Event::Other(fields) = &entry.event else {
            panic!("{entry:?}");
        };
        assert_eq!(fields["event"], "levitated");
        assert_eq!(serde_json::to_string(&entry)?, line);
        Ok(())
    }
}
