//! A review that the peer hands in by its tool, beside the one it writes (issue TOOLS 5).
//!
//! It travels as a line of a file in the launch's private folder: what the peer runs can write there too, so it is a
//! channel like any other. It confirms, completes and vetoes; it never makes an AGREE.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::recording::word::Verdict;
use crate::refusal::Refusal;

/// A review that was handed in for a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The review.
    pub review: String,
    /// Its verdict.
    pub verdict: Verdict,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Handed {
    tag: String,
    review: String,
    verdict: Verdict,
}

/// The line that hands a review in, its line feed included.
pub fn submission(tag: &str, review: &str, verdict: Verdict) -> Result<String, Refusal> {
    let tag = tag.trim().trim_matches(|c: char| !c.is_alphanumeric());
    if tag.is_empty() || tag.len() > 40 {
        return Err(Refusal::new(
            "bad-tag",
            "the tag is not the one the message asked for",
            "give the tag that stands in the message this review answers",
        ));
    }
    if verdict == Verdict::Unparsed {
        return Err(Refusal::new(
            "bad-verdict",
            "UNPARSED is no verdict of a reviewer",
            "give AGREE, ADJUST, OBJECT or ESCALATE",
        ));
    }
    if review.len() > limits::SUBMITTED_BYTES {
        return Err(Refusal::new(
            "too-long",
            format!(
                "the review has {} bytes, and at most {} are taken",
                review.len(),
                limits::SUBMITTED_BYTES
            ),
            "hand in the findings alone",
        ));
    }
    let handed = Handed {
        tag: tag.to_owned(),
        review: review.to_owned(),
        verdict,
    };
    let mut line = serde_json::to_string(&handed).expect("text and a word are JSON");
    line.push('\n');
    Ok(line)
}

/// What the lines of the file hand in for the round with this tag. A line that is none is nobody's.
pub fn submitted(lines: &[u8], tag: &str) -> Vec<Submission> {
    lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Handed>(line).ok())
        .filter(|handed| handed.tag == tag && handed.verdict != Verdict::Unparsed)
        .map(|handed| Submission {
            review: handed.review,
            verdict: handed.verdict,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_in_comes_back_for_its_round_alone() -> Result<(), Refusal> {
        let mut lines = submission("(k7q2)", "two\nlines", Verdict::Adjust)?;
        lines += "no line of ours\n";
        lines += &submission("m3xp", "other", Verdict::Agree)?;
        lines += r#"{"tag":"k7q2","review":"cut"#;
        let wanted = Submission {
            review: "two\nlines".to_owned(),
            verdict: Verdict::Adjust,
        };
        assert_eq!(submitted(lines.as_bytes(), "k7q2"), [wanted]);
        Ok(())
    }

    #[test]
    fn what_is_no_review_is_refused() {
        let code = |tag: &str, review: &str, verdict| {
            submission(tag, review, verdict)
                .err()
                .map(|refusal| refusal.code)
        };
        assert_eq!(code(" ", "x", Verdict::Agree), Some("bad-tag"));
        assert_eq!(code("k7q2", "x", Verdict::Unparsed), Some("bad-verdict"));
        let long = "x".repeat(limits::SUBMITTED_BYTES + 1);
        assert_eq!(code("k7q2", &long, Verdict::Agree), Some("too-long"));
        assert_eq!(code("k7q2", "x", Verdict::Object), None);
    }
}
