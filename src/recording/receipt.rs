//! Receipts: one line per round in `receipts.jsonl`, each chained to the one before (interface.md 5).
//!
//! A receipt holds digests, places and words of our own, never text from outside (systems.md 0.4); what it digests lies
//! in `transcripts/`.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::digest::Digest;
use super::fallback::{Fallback, FallbackReceipt};
use super::result::{Delivery, Route, Span, Tree};
use super::review::ReviewReceipt;
use super::schema::open_enum;
use super::word::{Agreement, Kind, Reason, Source, Verdict};
use crate::plain;

/// The schema name of a [`Receipt`].
pub const RECEIPT_SCHEMA: &str = "codriver.receipt/1";
/// Longest word a receipt takes from a harness (its name, its version), in bytes.
const WORD_BYTES: usize = 64;

/// One line of `receipts.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Always `codriver.receipt/1`.
    #[schemars(extend("const" = RECEIPT_SCHEMA))]
    pub schema: String,
    /// `rcp_` and 24 lower-case hexadecimal digits.
    pub id: String,
    /// The session it belongs to.
    pub session: String,
    /// SHA-256 of the line before, its line feed left out; null on the first line.
    pub prev: Option<Digest>,
    /// What it is a receipt for.
    #[serde(flatten)]
    pub body: Body,
}

impl Receipt {
    /// A known kind that lacks a field is read as something newer; it is neither.
    fn is_sound(&self) -> bool {
        match &self.body {
            Body::Round(_) | Body::Fallback(_) | Body::Review(_) => true,
            Body::Other(fields) => fields
                .get("for")
                .and_then(Value::as_str)
                .is_some_and(|kind| !matches!(kind, "round" | "fallback" | "review")),
        }
    }
}

/// What a receipt is for. The list only grows: a reader keeps kinds it does not know as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "for", rename_all = "kebab-case")]
#[schemars(transform = |schema: &mut Schema| open_enum(schema, "for"))]
#[non_exhaustive]
pub enum Body {
    /// A pairing round (A).
    Round(Box<RoundReceipt>),
    /// A route that did not answer, and what takes over (B.13, C.8).
    Fallback(Box<FallbackReceipt>),
    /// A review of a role (C.9).
    Review(Box<ReviewReceipt>),
    /// A kind of a newer version.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// What is kept of a pairing round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundReceipt {
    /// The pane that was asked.
    pub pane: String,
    /// The pane's round number.
    pub round: u32,
    /// What the round is about.
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
    /// The verdict; null when no reply was read.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict; there exactly when the verdict is `UNPARSED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reason")]
    pub reason: Option<Reason>,
    /// The tag that was asked for.
    pub tag: Option<String>,
    /// The tag came back.
    pub tagged: bool,
    /// Where the rationale's text came from; null when no reply was read.
    pub source: Option<Source>,
    /// The second source that was looked at.
    pub checked_by: Option<String>,
    /// Whether that source said the same.
    pub agreement: Agreement,
    /// False when text may be missing.
    pub complete: bool,
    /// The reply holds verdict lines with different words.
    pub ambiguous: bool,
    /// Which way the round was asked to go and went.
    pub route: Route,
    /// Why the route that was asked did not answer; there exactly when another one took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Fallback")]
    pub fallback: Option<Fallback>,
    /// Harness name.
    pub harness: String,
    /// Version of the harness, as far as it was found out.
    pub version: Option<String>,
    /// How the peer was confined; `none` when it was not, null when that is not known.
    pub confined: Option<String>,
    /// Digest of the argument vector the peer was launched with.
    pub launch: Digest,
    /// Names of the variables that were kept from the peer's environment.
    pub scrubbed: Vec<String>,
    /// What was seen of the typing.
    pub delivery: Delivery,
    /// Whether the working tree moved meanwhile.
    pub tree: Tree,
    /// The texts of the round.
    pub texts: Texts,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// From the first byte typed to the outcome.
    pub elapsed_ms: u64,
    /// Where the round stands in the recording.
    pub recording: Option<Span>,
}

/// How a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A reply was read, whatever it said.
    Answered,
    /// The wait was given up.
    Timeout,
    /// The peer waits at a dialog.
    Blocked,
    /// The peer ended.
    Ended,
    /// The message could not be proven to have been delivered.
    Unsent,
    /// The person stopped it.
    Interrupted,
    /// It was not begun.
    Refused,
}

impl Outcome {
    /// The word for it, as it stands in a receipt.
    pub fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::Ended => "ended",
            Self::Unsent => "unsent",
            Self::Interrupted => "interrupted",
            Self::Refused => "refused",
        }
    }
}

/// The texts of a round, by digest and by place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Texts {
    /// What was typed.
    pub sent: Option<Text>,
    /// What the screen was read as.
    pub screen: Option<Text>,
    /// What the harness's own channel held.
    pub channel: Option<Text>,
    /// What the peer handed in by its tool, a JSON object a line; absent when that was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Text>,
    /// The rationale of the result.
    pub rationale: Option<Text>,
}

/// One text: its digest, and its file when it could be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// Digest of the exact bytes.
    pub sha256: Digest,
    /// File in the session's folder; null when it could not be written.
    pub file: Option<String>,
}

/// Count of a session's receipts, and digest of the last line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seal {
    /// How many lines there are.
    pub count: u64,
    /// Digest of the last one; null when there is none.
    pub head: Option<Digest>,
}

/// The end of a chain, to which a receipt can be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    session: String,
    seal: Seal,
}

/// A receipt that became a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Its id.
    pub id: String,
    /// The line, its line feed included.
    pub line: Vec<u8>,
}

impl Chain {
    /// The chain of a session, going on after `seal`.
    pub fn new(session: &str, seal: Seal) -> Self {
        Self {
            session: session.to_owned(),
            seal,
        }
    }

    /// Count and head.
    pub fn seal(&self) -> &Seal {
        &self.seal
    }

    /// Appends a receipt. Words that came from a harness are made plain and bounded first.
    pub fn append(&mut self, body: Body) -> Sealed {
        let body = plain_body(body);
        let said = serde_json::to_vec(&body).expect("strings and numbers are always JSON");
        let prev = self.seal.head.take();
        let place = [
            self.session.as_bytes(),
            prev.as_ref().map_or("", Digest::as_str).as_bytes(),
            &said,
        ];
        let id = format!("rcp_{}", &Digest::of_list(place).hex()[..24]);
        let receipt = Receipt {
            schema: RECEIPT_SCHEMA.to_owned(),
            id,
            session: self.session.clone(),
            prev,
            body,
        };
        let mut line = serde_json::to_vec(&receipt).expect("strings and numbers are always JSON");
        self.seal = Seal {
            count: self.seal.count + 1,
            head: Some(Digest::of(&line)),
        };
        line.push(b'\n');
        Sealed {
            id: receipt.id,
            line,
        }
    }
}

/// One line, bounded, without anything that could not be seen.
pub(super) fn short(word: &str) -> String {
    plain::display(word, WORD_BYTES)
}

fn plain_body(mut body: Body) -> Body {
    if let Body::Fallback(fell) = &mut body {
        for word in [&mut fell.role, &mut fell.asked, &mut fell.ran] {
            *word = short(word);
        }
    }
    if let Body::Review(review) = &mut body {
        let route = &mut review.route;
        for word in [&mut review.role, &mut route.asked, &mut route.ran] {
            *word = short(word);
        }
        route.model = route.model.as_deref().map(short);
    }
    if let Body::Round(round) = &mut body {
        round.harness = short(&round.harness);
        round.tag = round.tag.as_deref().map(short);
        for word in [
            &mut round.version,
            &mut round.confined,
            &mut round.checked_by,
        ] {
            *word = word.as_deref().map(short);
        }
        for name in &mut round.scrubbed {
            *name = short(name);
        }
    }
    body
}

/// Why a file of receipts is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// A line is no receipt.
    #[error("line {line} is no receipt")]
    Unreadable {
        /// Line number, from 1.
        line: u64,
    },
    /// A line does not follow the one before it.
    #[error(
        "line {line} does not follow the line before it: one of the two was changed, added, moved or taken out"
    )]
    Link {
        /// Line number, from 1.
        line: u64,
    },
    /// The last line is cut.
    #[error("the last line is cut")]
    Torn,
    /// Lines are missing at the end.
    #[error("{found} receipts are there and the session file counts {count}: the rest was cut off")]
    Missing {
        /// Lines found.
        found: u64,
        /// Lines the session file counts.
        count: u64,
    },
    /// Lines were added at the end.
    #[error(
        "{found} receipts are there and the session file counts {count}: the rest was added, or the program was killed \
         while it wrote"
    )]
    Added {
        /// Lines found.
        found: u64,
        /// Lines the session file counts.
        count: u64,
    },
    /// The last line is not the one the session file names.
    #[error("the last receipt is not the one the session file names")]
    Head,
}

/// Reads a file of receipts and checks it against its session's seal: each line follows the one before, and the last
/// one is the one the seal names.
///
/// What is not found is a file rewritten from some line on together with its session file.
pub fn verify(lines: &[u8], seal: &Seal) -> Result<Vec<Receipt>, Break> {
    verify_after(lines, None, seal)
}

/// The same for a session that goes on with another one, whose last receipt has the digest `before`. Where there is no
/// receipt yet the seal may name that one.
pub fn verify_after(
    lines: &[u8],
    before: Option<&Digest>,
    seal: &Seal,
) -> Result<Vec<Receipt>, Break> {
    let (receipts, found) = links_after(lines, before)?;
    let count = seal.count;
    if found.count < count {
        return Err(Break::Missing {
            found: found.count,
            count,
        });
    }
    if found.count > count {
        return Err(Break::Added {
            found: found.count,
            count,
        });
    }
    let is_head = found.head == seal.head || (count == 0 && seal.head.is_none());
    if !is_head {
        return Err(Break::Head);
    }
    Ok(receipts)
}

/// Reads a file of receipts and checks that each line follows the one before; gives the seal it should have.
pub fn links(lines: &[u8]) -> Result<(Vec<Receipt>, Seal), Break> {
    links_after(lines, None)
}

/// The same for a session that goes on with another one.
pub fn links_after(lines: &[u8], before: Option<&Digest>) -> Result<(Vec<Receipt>, Seal), Break> {
    let mut seal = Seal {
        count: 0,
        head: before.cloned(),
    };
    let mut receipts = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let number = seal.count + 1;
        let Some((b'\n', line)) = line.split_last() else {
            return Err(Break::Torn);
        };
        let receipt: Receipt = serde_json::from_slice(line)
            .ok()
            .filter(Receipt::is_sound)
            .ok_or(Break::Unreadable { line: number })?;
        if receipt.prev != seal.head {
            return Err(Break::Link { line: number });
        }
        seal = Seal {
            count: number,
            head: Some(Digest::of(line)),
        };
        receipts.push(receipt);
    }
    Ok((receipts, seal))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn round(number: u32) -> Body {
        Body::Round(Box::new(RoundReceipt {
            pane: "peer".to_owned(),
            round: number,
            kind: Kind::Implementation,
            outcome: Outcome::Answered,
            verdict: Some(Verdict::Adjust),
            reason: None,
            tag: Some("k7q2".to_owned()),
            tagged: true,
            source: Some(Source::Screen),
            checked_by: Some("session-log".to_owned()),
            agreement: Agreement::Same,
            complete: true,
            ambiguous: false,
            route: Route::host(),
            fallback: None,
            harness: "codex".to_owned(),
            version: Some("0.171.0".to_owned()),
            confined: None,
            launch: Digest::of_list(["codex"]),
            scrubbed: vec!["CLAUDECODE".to_owned()],
            delivery: Delivery {
                pasted: true,
                submitted: true,
                turn_started: true,
            },
            tree: Tree::default(),
            texts: Texts {
                sent: Some(Text {
                    sha256: Digest::of("sent"),
                    file: Some("transcripts/r001-sent.txt".to_owned()),
                }),
                ..Texts::default()
            },
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            elapsed_ms: 8123,
            recording: Some(Span::new(
                "peer.cast",
                Duration::from_secs(1),
                Duration::from_secs(2),
            )),
        }))
    }

    /// A file of that many receipts as lines, and its seal.
    fn file(count: u32) -> (Vec<Vec<u8>>, Seal) {
        let mut chain = Chain::new("s", Seal::default());
        let lines = (1..=count)
            .map(|number| chain.append(round(number)).line)
            .collect();
        (lines, chain.seal().clone())
    }

    #[test]
    fn an_untouched_file_verifies() -> Result<(), Break> {
        for count in 0..4 {
            let (lines, seal) = file(count);
            let receipts = verify(&lines.concat(), &seal)?;
            assert_eq!(receipts.len(), count as usize);
            assert!(
                receipts
                    .iter()
                    .zip(1..)
                    .all(|(receipt, number)| receipt.body == round(number))
            );
        }
        Ok(())
    }

    #[test]
    fn ids_are_well_formed_and_differ_even_for_equal_rounds() {
        let mut chain = Chain::new("s", Seal::default());
        let ids: Vec<String> = (0..3).map(|_| chain.append(round(1)).id).collect();
        for id in &ids {
            let hex = id.strip_prefix("rcp_").expect("the prefix");
            assert!(
                hex.len() == 24
                    && hex
                        .bytes()
                        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                "{id}"
            );
        }
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }

    #[test]
    fn an_edit_is_found_wherever_it_is() {
        let (lines, seal) = file(4);
        for edited in 0..4 {
            let mut lines = lines.clone();
            let text = String::from_utf8(lines[edited].clone()).expect("JSON is text");
            lines[edited] = text.replace("ADJUST", "AGREE").into_bytes();
            let wanted = if edited == 3 {
                Break::Head
            } else {
                Break::Link {
                    line: edited as u64 + 2,
                }
            };
            assert_eq!(verify(&lines.concat(), &seal), Err(wanted));
        }
    }

    #[test]
    fn an_insertion_a_swap_and_a_removal_are_found() {
        let (lines, seal) = file(4);
        let broken = |order: &[usize]| {
            let lines: Vec<u8> = order.iter().flat_map(|at| lines[*at].clone()).collect();
            verify(&lines, &seal).expect_err("a broken file")
        };
        assert_eq!(broken(&[0, 1, 1, 2, 3]), Break::Link { line: 3 });
        assert_eq!(broken(&[0, 2, 1, 3]), Break::Link { line: 2 });
        assert_eq!(broken(&[0, 1, 3]), Break::Link { line: 3 });
        assert_eq!(broken(&[1, 2, 3]), Break::Link { line: 1 });
        assert_eq!(broken(&[0, 1, 2]), Break::Missing { found: 3, count: 4 });
        assert_eq!(broken(&[]), Break::Missing { found: 0, count: 4 });
    }

    #[test]
    fn a_line_appended_by_another_is_found() {
        let (mut lines, seal) = file(2);
        let mut chain = Chain::new("s", seal.clone());
        lines.push(chain.append(round(3)).line);
        assert_eq!(
            verify(&lines.concat(), &seal),
            Err(Break::Added { found: 3, count: 2 })
        );
    }

    #[test]
    fn a_torn_or_foreign_line_is_found() {
        let (lines, seal) = file(2);
        let mut torn = lines.concat();
        torn.pop();
        assert_eq!(verify(&torn, &seal), Err(Break::Torn));
        assert_eq!(verify(b"{}\n", &seal), Err(Break::Unreadable { line: 1 }));
        let stump = |kind: &str| {
            format!(r#"{{"schema":"","id":"","session":"","prev":null{kind}}}"#) + "\n"
        };
        for kind in [
            "",
            r#","for":"round""#,
            r#","for":"fallback""#,
            r#","for":"review""#,
            r#","for":1"#,
        ] {
            assert_eq!(
                verify(stump(kind).as_bytes(), &seal),
                Err(Break::Unreadable { line: 1 })
            );
        }
        assert_eq!(verify(b"\n", &seal), Err(Break::Unreadable { line: 1 }));
    }

    #[test]
    fn a_chain_goes_on_after_its_seal() -> Result<(), Break> {
        let (mut lines, seal) = file(2);
        let mut chain = Chain::new("s", seal);
        lines.push(chain.append(round(3)).line);
        assert_eq!(verify(&lines.concat(), chain.seal())?.len(), 3);
        Ok(())
    }

    #[test]
    fn a_kind_of_a_newer_version_keeps_its_place_in_the_chain() -> Result<(), Break> {
        let mut chain = Chain::new("s", Seal::default());
        let mut fields = Map::new();
        fields.insert("for".to_owned(), "levitation".into());
        fields.insert("detail".to_owned(), "in our words".into());
        let other = Body::Other(fields);
        let lines = [
            chain.append(other.clone()).line,
            chain.append(round(1)).line,
        ]
        .concat();
        let receipts = verify(&lines, chain.seal())?;
        assert_eq!(receipts[0].body, other);
        assert_eq!(receipts[1].body, round(1));
        Ok(())
    }

    #[test]
    fn words_of_a_harness_are_made_plain() {
        let Body::Round(mut body) = round(1) else {
            panic!("a round");
        };
        body.version = Some(format!("1.0\n# forged\u{1b}[31m{}", "x".repeat(500)));
        let sealed = Chain::new("s", Seal::default()).append(Body::Round(body));
        let receipt: Receipt = serde_json::from_slice(&sealed.line).expect("a receipt");
        let Body::Round(body) = receipt.body else {
            panic!("a round");
        };
        let version = body.version.expect("a version");
        assert!(
            version.starts_with("1.0 # forged\\u{1b}[31mxx") && version.len() <= WORD_BYTES,
            "{version}"
        );
    }

    proptest! {
        #[test]
        fn no_change_of_a_byte_goes_unnoticed(count in 1u32..4, place in any::<prop::sample::Index>(), flip in 1u8..=255) {
            let (lines, seal) = file(count);
            let mut bytes = lines.concat();
            let at = place.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(verify(&bytes, &seal).is_err());
        }

        #[test]
        fn no_cut_goes_unnoticed(count in 1u32..4, place in any::<prop::sample::Index>()) {
            let (lines, seal) = file(count);
            let bytes = lines.concat();
            prop_assert!(verify(&bytes[..place.index(bytes.len())], &seal).is_err());
        }
    }
}
