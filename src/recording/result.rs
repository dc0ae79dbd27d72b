//! The results a script reads: one round, and the rounds found in a recording (interface.md 2).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fallback::Fallback;
use super::schema::exactly_unparsed;
use super::word::{Agreement, Kind, Reason, Source, Verdict};

/// The schema name of a [`Round`].
pub const ROUND_SCHEMA: &str = "codriver.round/1";
/// The schema name of an [`Extract`].
pub const EXTRACT_SCHEMA: &str = "codriver.extract/1";

/// What one reply says. `raw` and `reason` are there exactly when the verdict is `UNPARSED`; the fields are private
/// so that no other combination can be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "LooseReading")]
#[schemars(!try_from)]
pub struct Reading {
    /// The word of the reply.
    verdict: Verdict,
    /// The text between the marker and the deciding verdict line, gutter and wraps undone.
    rationale: String,
    /// The whole reply; there exactly when the verdict is `UNPARSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    raw: Option<String>,
    /// Why there is no verdict; there exactly when the verdict is `UNPARSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reason")]
    reason: Option<Reason>,
}

impl Reading {
    /// A reply with a verdict of its own. `None` for `UNPARSED`, which needs a reason.
    pub fn decided(verdict: Verdict, rationale: impl Into<String>) -> Option<Self> {
        (verdict != Verdict::Unparsed).then(|| Self {
            verdict,
            rationale: rationale.into(),
            raw: None,
            reason: None,
        })
    }

    /// A reply without a usable verdict: why, what can be shown of it, and all of it.
    pub fn unparsed(reason: Reason, rationale: impl Into<String>, raw: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Unparsed,
            rationale: rationale.into(),
            raw: Some(raw.into()),
            reason: Some(reason),
        }
    }

    /// The word of the reply.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The text of the review.
    pub fn rationale(&self) -> &str {
        &self.rationale
    }

    /// The whole reply, when there is no verdict.
    pub fn raw(&self) -> Option<&str> {
        self.raw.as_deref()
    }

    /// Why there is no verdict.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }
}

/// A reading as it may stand in a file.
#[derive(Deserialize)]
struct LooseReading {
    verdict: Verdict,
    rationale: String,
    raw: Option<String>,
    reason: Option<Reason>,
}

impl TryFrom<LooseReading> for Reading {
    type Error = &'static str;

    fn try_from(loose: LooseReading) -> Result<Self, Self::Error> {
        let LooseReading {
            verdict,
            rationale,
            raw,
            reason,
        } = loose;
        let unparsed = verdict == Verdict::Unparsed;
        if raw.is_some() != unparsed || reason.is_some() != unparsed {
            return Err("raw and reason must be there exactly when the verdict is UNPARSED");
        }
        Ok(Self {
            verdict,
            rationale,
            raw,
            reason,
        })
    }
}

/// One review round, as `discuss --json` and the tools answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = exactly_unparsed)]
pub struct Round {
    /// Always `codriver.round/1`.
    #[schemars(extend("const" = ROUND_SCHEMA))]
    pub schema: String,
    /// The session the round belongs to.
    pub session: String,
    /// The pane that answered.
    pub pane: String,
    /// The pane's round number; 0 when the brief before it was not agreed (A.5).
    pub round: u32,
    /// What it is about.
    pub kind: Kind,
    /// Verdict, rationale and, without a verdict, the raw reply and the reason.
    #[serde(flatten)]
    pub reading: Reading,
    /// The pane's last lines, when the reply was empty (A.11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub raw_tail: Option<String>,
    /// Where the rationale's text came from.
    pub source: Source,
    /// The second source that was looked at, by its profile's name; null when there was none.
    pub checked_by: Option<String>,
    /// Whether that source said the same.
    pub agreement: Agreement,
    /// Each source's own reading, when they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<SourceReading>,
    /// False when text between the marker and the verdict may be missing.
    pub complete: bool,
    /// The reply holds verdict lines with different words.
    pub ambiguous: bool,
    /// The round's tag came back.
    pub tagged: bool,
    /// Nothing was sent, since the pane was briefed before (A.4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// Rounds on the present topic: since the last agreement, this one counted (A.8). 0 for a brief before any.
    #[serde(default)]
    pub rounds_on_topic: u32,
    /// What the human decided, when the peer asked for that and an answer came while the call waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Human")]
    pub human: Option<Human>,
    /// Who answered.
    pub peer: Peer,
    /// Which way the round was asked to go and went.
    pub route: Route,
    /// Why the route that was asked did not answer; there exactly when another one took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Fallback")]
    pub fallback: Option<Fallback>,
    /// Whether the working tree moved meanwhile (A.14).
    pub tree: Tree,
    /// What was seen of the typing (A.9).
    pub delivery: Delivery,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// From the first byte typed to the verdict.
    pub elapsed_ms: u64,
    /// The receipt's id; null when none could be written.
    pub receipt: Option<String>,
    /// Where the round stands in the recording; null when nothing is recorded.
    pub recording: Option<Span>,
}

/// A human's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Human {
    /// The words, as they were written.
    pub answer: String,
}

/// What one source read, shown when sources differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceReading {
    /// The source.
    pub source: Source,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its rationale.
    pub rationale: String,
}

/// The agent that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    /// Harness name.
    pub harness: String,
    /// Version, as far as it was found out.
    pub version: Option<String>,
    /// How the peer was confined; `none` when it was not, null when that is not known.
    pub confined: Option<String>,
}

/// Route asked for and route taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// The route that was asked for.
    pub asked: String,
    /// The route that ran.
    pub ran: String,
}

impl Route {
    /// The peer pane, as asked.
    pub fn host() -> Self {
        Self {
            asked: "host".to_owned(),
            ran: "host".to_owned(),
        }
    }
}

/// Fingerprints of the working tree around a round (A.14); null where none could be taken in time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    /// Before the message was typed.
    pub before: Option<String>,
    /// After the reply was read.
    pub after: Option<String>,
    /// Whether they differ; null when one of them is missing.
    pub moved: Option<bool>,
}

impl Tree {
    /// Compares two fingerprints.
    pub fn between(before: Option<String>, after: Option<String>) -> Self {
        let moved = before
            .as_ref()
            .zip(after.as_ref())
            .map(|(before, after)| before != after);
        Self {
            before,
            after,
            moved,
        }
    }
}

/// What was seen of the delivery of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The text was seen in the pane.
    pub pasted: bool,
    /// The text was seen to leave the input box.
    pub submitted: bool,
    /// The turn was seen to start.
    pub turn_started: bool,
}

/// A stretch of a recording, in seconds with three decimals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// File name inside the session folder.
    pub file: String,
    /// Start.
    pub from: f64,
    /// End.
    pub to: f64,
}

impl Span {
    /// A stretch of `file`.
    pub fn new(file: impl Into<String>, from: Duration, to: Duration) -> Self {
        Self {
            file: file.into(),
            from: seconds(from),
            to: seconds(to),
        }
    }
}

/// What `extract --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extract {
    /// Always `codriver.extract/1`.
    #[schemars(extend("const" = EXTRACT_SCHEMA))]
    pub schema: String,
    /// The rounds found, oldest first.
    pub rounds: Vec<ExtractRound>,
}

impl Extract {
    /// Wraps the rounds found.
    pub fn new(rounds: Vec<ExtractRound>) -> Self {
        Self {
            schema: EXTRACT_SCHEMA.to_owned(),
            rounds,
        }
    }
}

/// One round found in a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = exactly_unparsed)]
pub struct ExtractRound {
    /// Verdict, rationale and, without a verdict, the raw reply and the reason.
    #[serde(flatten)]
    pub reading: Reading,
    /// False when text between the marker and the verdict may be missing.
    pub complete: bool,
    /// The reply holds verdict lines with different words.
    pub ambiguous: bool,
    /// The tag that was asked for came back.
    pub tagged: bool,
    /// Start in the recording, in seconds; null for plain text.
    pub from: Option<f64>,
    /// End in the recording, in seconds; null for plain text.
    pub to: Option<f64>,
}

/// Seconds of a moment, to the millisecond, as they stand in a result.
pub fn seconds(at: Duration) -> f64 {
    // Whole milliseconds divided by 1000 print with at most three decimals.
    at.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(reading: Reading) -> Round {
        Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: "s".to_owned(),
            pane: "peer".to_owned(),
            round: 1,
            kind: Kind::Implementation,
            reading,
            raw_tail: None,
            source: Source::Screen,
            checked_by: Some("session-log".to_owned()),
            agreement: Agreement::Same,
            readings: Vec::new(),
            complete: true,
            ambiguous: false,
            tagged: true,
            already: false,
            rounds_on_topic: 2,
            human: None,
            peer: Peer {
                harness: "codex".to_owned(),
                version: Some("0.171.0".to_owned()),
                confined: Some("landlock".to_owned()),
            },
            route: Route::host(),
            fallback: None,
            tree: Tree::between(Some("sha256:a".to_owned()), Some("sha256:a".to_owned())),
            delivery: Delivery {
                pasted: true,
                submitted: true,
                turn_started: true,
            },
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            elapsed_ms: 8123,
            receipt: Some("rcp_x".to_owned()),
            recording: Some(Span::new(
                "peer.cast",
                Duration::from_micros(12_345_678),
                Duration::from_millis(20_468),
            )),
        }
    }

    #[test]
    fn a_round_has_the_fields_of_the_interface_in_their_order() -> Result<(), serde_json::Error> {
        let adjust = Reading::decided(Verdict::Adjust, "fix it").expect("a verdict");
        let wanted = concat!(
            r#"{"schema":"codriver.round/1","session":"s","pane":"peer","round":1,"kind":"implementation","#,
            r#""verdict":"ADJUST","rationale":"fix it","source":"screen","checked_by":"session-log","#,
            r#""agreement":"same","complete":true,"ambiguous":false,"tagged":true,"rounds_on_topic":2,"#,
            r#""peer":{"harness":"codex","version":"0.171.0","confined":"landlock"},"#,
            r#""route":{"asked":"host","ran":"host"},"#,
            r#""tree":{"before":"sha256:a","after":"sha256:a","moved":false},"#,
            r#""delivery":{"pasted":true,"submitted":true,"turn_started":true},"#,
            r#""started_at":"2026-01-02T03:04:05Z","elapsed_ms":8123,"receipt":"rcp_x","#,
            r#""recording":{"file":"peer.cast","from":12.345,"to":20.468}}"#,
        );
        assert_eq!(serde_json::to_string(&round(adjust))?, wanted);
        Ok(())
    }

    #[test]
    fn raw_and_reason_stand_exactly_beside_unparsed() -> Result<(), serde_json::Error> {
        let unparsed = round(Reading::unparsed(
            Reason::NotLast,
            "ok",
            "REVIEW: ok\nVERDICT: AGREE\nmore",
        ));
        let value = serde_json::to_value(&unparsed)?;
        assert_eq!(value["verdict"], "UNPARSED");
        assert_eq!(value["reason"], "not-last");
        assert_eq!(value["raw"], "REVIEW: ok\nVERDICT: AGREE\nmore");
        assert_eq!(Reading::decided(Verdict::Unparsed, ""), None);
        let agree_with_raw = r#"{"verdict":"AGREE","rationale":"","raw":""}"#;
        assert!(serde_json::from_str::<Reading>(agree_with_raw).is_err());
        let bare = r#"{"verdict":"UNPARSED","rationale":"","raw":""}"#;
        assert!(serde_json::from_str::<Reading>(bare).is_err());
        Ok(())
    }

    #[test]
    fn results_come_back_as_they_were_written() -> Result<(), serde_json::Error> {
        let round = round(Reading::unparsed(Reason::Empty, "", ""));
        assert_eq!(
            serde_json::from_str::<Round>(&serde_json::to_string(&round)?)?,
            round
        );
        let extract = Extract::new(vec![ExtractRound {
            reading: Reading::decided(Verdict::Agree, "fine").expect("a verdict"),
            complete: true,
            ambiguous: false,
            tagged: false,
            from: Some(1.5),
            to: None,
        }]);
        assert_eq!(
            serde_json::from_str::<Extract>(&serde_json::to_string(&extract)?)?,
            extract
        );
        Ok(())
    }

    #[test]
    fn a_tree_that_could_not_be_read_is_not_said_to_stand_still() {
        assert_eq!(Tree::between(None, Some("sha256:a".to_owned())).moved, None);
        assert_eq!(
            Tree::between(Some("a".to_owned()), Some("b".to_owned())).moved,
            Some(true)
        );
    }
}
