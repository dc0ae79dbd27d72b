//! What a list of receipts says of each, and how one is chosen (`receipts list`, `receipts tally`).

use serde_json::{Value, json};

use super::receipt::{Body, Receipt};

/// What a receipt says in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// RFC 3339, UTC.
    pub at: String,
    /// `round`, `review`, `fallback`, or a kind of a newer version.
    pub kind: String,
    /// The role; `peer` for a pairing round.
    pub role: String,
    /// What it was about: `r2 plan`, `r1`.
    pub about: String,
    /// The route asked for.
    pub asked: String,
    /// The route that ran.
    pub ran: String,
    /// The verdict, the reviewer's word, the reason of a fallback, or how it ended.
    pub word: String,
    /// Whether that is a verdict or a reviewer's word.
    pub is_verdict: bool,
    /// Whether another route took over.
    pub fell_back: bool,
}

impl Row {
    /// Reads a receipt into a line.
    pub fn of(receipt: &Receipt) -> Self {
        match &receipt.body {
            Body::Round(round) => Self {
                at: round.started_at.clone(),
                kind: "round".to_owned(),
                role: "peer".to_owned(),
                about: format!("r{} {}", round.round, round.kind),
                asked: round.route.asked.clone(),
                ran: round.route.ran.clone(),
                word: match round.verdict {
                    Some(verdict) => verdict.word().to_owned(),
                    None => round.outcome.word().to_owned(),
                },
                is_verdict: round.verdict.is_some(),
                fell_back: round.fallback.is_some(),
            },
            Body::Review(review) => Self {
                at: review.started_at.clone(),
                kind: "review".to_owned(),
                role: review.role.clone(),
                about: format!("r{}", review.round),
                asked: review.route.asked.clone(),
                ran: review.route.ran.clone(),
                word: review.word.word().to_owned(),
                is_verdict: true,
                fell_back: review.fallback.is_some(),
            },
            Body::Fallback(fell) => Self {
                at: fell.at.clone(),
                kind: "fallback".to_owned(),
                role: fell.role.clone(),
                about: String::new(),
                asked: fell.asked.clone(),
                ran: fell.ran.clone(),
                word: fell.why.reason().code().to_owned(),
                is_verdict: false,
                fell_back: true,
            },
            Body::Other(fields) => {
                let text = |name: &str| {
                    let value = fields.get(name).and_then(Value::as_str);
                    value.unwrap_or_default().to_owned()
                };
                Self {
                    at: text("at"),
                    kind: text("for"),
                    role: text("role"),
                    about: String::new(),
                    asked: String::new(),
                    ran: String::new(),
                    word: String::new(),
                    is_verdict: false,
                    fell_back: false,
                }
            }
        }
    }
}

/// Which receipts are wanted; an empty one wants all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those not before this time, RFC 3339 in UTC or the beginning of it.
    pub since: Option<String>,
    /// Those with this verdict, reviewer's word, outcome or reason, in any case.
    pub verdict: Option<String>,
    /// Those that were asked of this route, or ran on it.
    pub route: Option<String>,
    /// Those of this role.
    pub role: Option<String>,
}

impl Filter {
    /// Whether a receipt is wanted.
    pub fn wants(&self, row: &Row) -> bool {
        let same = |a: &str, b: &str| {
            let plain = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
            plain(a) == plain(b)
        };
        self.since.as_ref().is_none_or(|since| row.at >= *since)
            && self
                .verdict
                .as_ref()
                .is_none_or(|word| same(word, &row.word))
            && self
                .route
                .as_ref()
                .is_none_or(|route| *route == row.asked || *route == row.ran)
            && self.role.as_ref().is_none_or(|role| *role == row.role)
    }
}

/// A receipt with its session beside it, as a list holds it.
pub fn shown(receipt: &Receipt) -> Value {
    serde_json::to_value(receipt).unwrap_or_else(|_| json!({ "id": receipt.id }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: &str, word: &str, asked: &str, ran: &str, role: &str) -> Row {
        Row {
            at: at.to_owned(),
            kind: "round".to_owned(),
            role: role.to_owned(),
            about: String::new(),
            asked: asked.to_owned(),
            ran: ran.to_owned(),
            word: word.to_owned(),
            is_verdict: true,
            fell_back: asked != ran,
        }
    }

    #[test]
    fn a_filter_wants_what_fits_all_its_parts() {
        let row = row(
            "2026-01-02T03:04:05.000Z",
            "FIX FIRST",
            "rp",
            "host",
            "auditor",
        );
        let filter = |since: &str, verdict: &str, route: &str, role: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Filter {
                since: some(since),
                verdict: some(verdict),
                route: some(route),
                role: some(role),
            }
        };
        for wanted in [
            filter("", "", "", ""),
            filter("2026-01-02", "fix-first", "rp", "auditor"),
            filter("2026-01-02T03:04:05.000Z", "FIX FIRST", "host", ""),
        ] {
            assert!(wanted.wants(&row), "{wanted:?}");
        }
        for not in [
            filter("2026-01-03", "", "", ""),
            filter("", "SHIP", "", ""),
            filter("", "", "codex", ""),
            filter("", "", "", "peer"),
        ] {
            assert!(!not.wants(&row), "{not:?}");
        }
    }
}
