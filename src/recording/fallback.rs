//! What is kept when a route does not answer and another one takes over (systems.md B.13, C.7 to C.9).

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{limits, plain};

/// Why a route gave no review: one list for RepoPrompt and the runners (F.6).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Not enabled on this machine, or its program or address is missing or refused.
    Absent,
    /// The server could not be reached, or closed before an answer (RepoPrompt alone).
    Unreachable,
    /// A time bound ran out.
    Timeout,
    /// It said no.
    Refused,
    /// Its output is not what it should be.
    Unparsable,
    /// Its answer holds no review that can be recorded.
    Invalid,
    /// It could not be asked, or broke.
    Failed,
    /// It was stopped from outside.
    Interrupted,
    /// Its usage limit is reached (runners alone). Never a fallback: the review stays open.
    RateLimited,
}

impl FailureKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Absent,
        Self::Unreachable,
        Self::Timeout,
        Self::Refused,
        Self::Unparsable,
        Self::Invalid,
        Self::Failed,
        Self::Interrupted,
        Self::RateLimited,
    ];

    /// The code as the JSON holds it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Unparsable => "unparsable",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::RateLimited => "rate-limited",
        }
    }

    /// Whether another route takes over after it.
    pub fn is_fallback(self) -> bool {
        self != Self::RateLimited
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// A sentence of the console's own about what went wrong: one plain line of at most 300 bytes (G).
///
/// It holds no text from outside but a quotation its writer has bounded and made plain (0.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(!from)]
pub struct Detail(String);

impl Detail {
    /// The sentence, cut at its bound on a character boundary.
    pub fn new(words: impl AsRef<str>) -> Self {
        Self(plain::display(words.as_ref(), limits::DETAIL_BYTES))
    }

    /// The sentence.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Detail {
    fn from(words: String) -> Self {
        Self::new(words)
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why the route that was asked did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "LooseFallback")]
#[schemars(!try_from)]
pub struct Fallback {
    /// What went wrong; never `rate-limited`.
    #[schemars(transform = no_rate_limit)]
    reason: FailureKind,
    /// The same in the console's own words.
    detail: Detail,
}

impl Fallback {
    /// A fallback for this reason; none for a rate limit, after which nothing takes over.
    pub fn new(reason: FailureKind, detail: Detail) -> Option<Self> {
        reason.is_fallback().then_some(Self { reason, detail })
    }

    /// What went wrong.
    pub fn reason(&self) -> FailureKind {
        self.reason
    }

    /// The same in the console's own words.
    pub fn detail(&self) -> &Detail {
        &self.detail
    }
}

/// A fallback as it may stand in a file.
#[derive(Deserialize)]
struct LooseFallback {
    reason: FailureKind,
    detail: Detail,
}

impl TryFrom<LooseFallback> for Fallback {
    type Error = &'static str;

    fn try_from(loose: LooseFallback) -> Result<Self, Self::Error> {
        Self::new(loose.reason, loose.detail).ok_or("nothing takes over after a rate limit")
    }
}

fn no_rate_limit(schema: &mut Schema) {
    schema.insert(
        "not".to_owned(),
        json!({ "const": FailureKind::RateLimited.code() }),
    );
}

/// What is kept of one fallback (C.9): exactly one receipt each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FallbackReceipt {
    /// RFC 3339, UTC.
    pub at: String,
    /// The role that was routed; `peer` for a pairing round.
    pub role: String,
    /// The route that was asked.
    pub asked: String,
    /// Why it did not answer.
    #[serde(flatten)]
    pub why: Fallback,
    /// The route that takes over; `none` when there is no other one.
    pub ran: String,
}

/// How often routes fell back, by the route asked and by the role (C.9).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// All of them.
    pub total: u64,
    /// By the route that was asked.
    pub by_runner: BTreeMap<String, u64>,
    /// By the role.
    pub by_role: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts fallbacks, each given as the route asked and the role.
    pub fn of<'a>(fallbacks: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tally = Self::default();
        for (asked, role) in fallbacks {
            tally.total += 1;
            *tally.by_runner.entry(asked.to_owned()).or_default() += 1;
            *tally.by_role.entry(role.to_owned()).or_default() += 1;
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_spelt_the_same_in_text_and_in_json() -> Result<(), serde_json::Error> {
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_value(kind)?, kind.code());
        }
        Ok(())
    }

    #[test]
    fn a_rate_limit_is_no_fallback_not_even_out_of_a_file() {
        let detail = || Detail::new("x");
        for kind in FailureKind::ALL {
            let is_one = kind != FailureKind::RateLimited;
            assert_eq!(Fallback::new(kind, detail()).is_some(), is_one, "{kind}");
            let text = format!(r#"{{"reason":"{kind}","detail":"x"}}"#);
            let read = serde_json::from_str::<Fallback>(&text);
            assert_eq!(read.is_ok(), is_one, "{kind}");
        }
    }

    #[test]
    fn a_detail_is_one_plain_line_of_at_most_three_hundred_bytes() {
        let detail = Detail::new(format!("a\n# b\u{1b}[31m\u{202e}{}", "é".repeat(400)));
        let text = detail.as_str();
        assert!(text.len() <= 300 && text.ends_with('…'), "{text}");
        assert!(text.starts_with("a # b\\u{1b}[31m\\u{202e}é"), "{text}");
        let read: Result<Detail, _> =
            serde_json::from_str(&format!(r#""{}\u001b""#, "x".repeat(999)));
        assert!(read.is_ok_and(|detail| detail.as_str().len() <= 300));
    }

    #[test]
    fn a_receipt_has_the_fields_of_the_specification() -> Result<(), serde_json::Error> {
        let receipt = FallbackReceipt {
            at: "2026-01-02T14:03:40Z".to_owned(),
            role: "ruthless-reviewer".to_owned(),
            asked: "rp".to_owned(),
            why: Fallback::new(FailureKind::Unreachable, Detail::new("no answer"))
                .expect("a fallback"),
            ran: "host".to_owned(),
        };
        let text = serde_json::to_string(&receipt)?;
        let wanted = concat!(
            r#"{"at":"2026-01-02T14:03:40Z","role":"ruthless-reviewer","asked":"rp","#,
            r#""reason":"unreachable","detail":"no answer","ran":"host"}"#,
        );
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<FallbackReceipt>(&text)?, receipt);
        Ok(())
    }

    #[test]
    fn a_tally_counts_by_the_route_asked_and_by_the_role() -> Result<(), serde_json::Error> {
        let tally = Tally::of([
            ("rp", "ruthless-reviewer"),
            ("rp", "security-reviewer"),
            ("codex", "auditor"),
            ("codex", "ruthless-reviewer"),
        ]);
        assert_eq!(
            serde_json::to_string(&tally)?,
            concat!(
                r#"{"total":4,"by_runner":{"codex":2,"rp":2},"#,
                r#""by_role":{"auditor":1,"ruthless-reviewer":2,"security-reviewer":1}}"#,
            )
        );
        let none = serde_json::to_string(&Tally::of([]))?;
        assert_eq!(none, r#"{"total":0,"by_runner":{},"by_role":{}}"#);
        Ok(())
    }
}
