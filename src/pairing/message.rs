//! What is typed to the peer: the brief and the messages of a round, each with its tag (A.1, A.4 to A.6, A.13).
//!
//! The words are files in `assets/messages/`. None of them, however it is wrapped, makes a line that parses as a marker,
//! and the tag stands in the middle of a sentence, away from the edges.

use crate::limits;
use crate::plain;
use crate::recording::word::Kind;
use crate::refusal::Refusal;

const BRIEF: &str = include_str!("../../assets/messages/brief.md");
const SHAPE: &str = include_str!("../../assets/messages/shape.md");
const ROUND: &str = include_str!("../../assets/messages/round.md");
const PLAN: &str = include_str!("../../assets/messages/plan.md");
const IMPLEMENTATION: &str = include_str!("../../assets/messages/implementation.md");
const QUESTION: &str = include_str!("../../assets/messages/question.md");
/// What a peer is told that may hand its review in by a tool.
pub const SUBMIT: &str = include_str!("../../assets/messages/submit.md");
const DIFF: &str = include_str!("../../assets/messages/diff.md");

/// Letters and digits of a tag; those that are mistaken for one another are left out.
const LETTERS: &[u8] = b"abcdefghijkmnopqrstuvwxyz";
const DIGITS: &[u8] = b"23456789";

/// A round's tag: four of `a-z2-9`, at least one letter and one digit, from four random bytes.
pub fn tag(random: [u8; 4]) -> String {
    let pick = |set: &[u8], byte: u8| char::from(set[usize::from(byte) % set.len()]);
    // A letter first and a digit second: never a word, never a number. The other two may be either.
    let any = |byte: u8| pick(if byte & 0x80 == 0 { LETTERS } else { DIGITS }, byte & 0x7f);
    [
        pick(LETTERS, random[0]),
        pick(DIGITS, random[1]),
        any(random[2]),
        any(random[3]),
    ]
    .iter()
    .collect()
}

/// Puts values in the place of `{names}`, in one pass: a value that holds a name is not touched.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template.trim_end();
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let found = values.iter().find(|(name, _)| {
            rest[open + 1..]
                .strip_prefix(name)
                .is_some_and(|after| after.starts_with('}'))
        });
        match found {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[open + name.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &rest[open + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The role brief (A.4).
pub fn brief(harness: &str, repo: &str, allows: &str, tag: &str) -> String {
    let shape = fill(SHAPE, &[("tag", tag)]);
    fill(
        BRIEF,
        &[
            ("harness", harness),
            ("repo", repo),
            ("allows", allows),
            ("shape", &shape),
        ],
    )
}

/// One message of a round: the reminder for its kind, the shape with the tag, and what the driver says (A.5).
pub fn round(kind: Kind, message: &str, tag: &str) -> String {
    let reminder = match kind {
        Kind::Plan => PLAN,
        Kind::Question => QUESTION,
        Kind::Brief | Kind::Implementation => IMPLEMENTATION,
    };
    let shape = fill(SHAPE, &[("tag", tag)]);
    fill(
        ROUND,
        &[
            ("reminder", reminder.trim_end()),
            ("shape", &shape),
            ("message", message.trim_end()),
        ],
    )
}

/// The brief and one message in one text, for a runner that is asked once and never again (interface.md 2).
pub fn in_one(harness: &str, repo: &str, kind: Kind, message: &str, tag: &str) -> String {
    // The last paragraph of the brief asks for an answer to the brief itself.
    let (brief, _) = BRIEF.trim_end().rsplit_once("\n\n").unwrap_or((BRIEF, ""));
    let values = [
        ("harness", harness),
        ("repo", repo),
        (
            "allows",
            "You can read files and search them by name and content there.",
        ),
        ("shape", "The shape of your answer is told further down."),
    ];
    format!("{}\n\n{}", fill(brief, &values), round(kind, message, tag))
}

/// A message with a diff behind it, in a fence that nothing in the diff closes.
pub fn with_diff(message: &str, diff: &str, against: &str) -> String {
    let longest = diff.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let diff = fill(
        DIFF,
        &[
            ("against", against),
            ("fence", &fence),
            ("diff", diff.trim_end()),
        ],
    );
    if message.trim().is_empty() {
        diff
    } else {
        format!("{}\n\n{diff}", message.trim_end())
    }
}

/// Makes a message fit to be typed, or refuses it (A.9): control characters and paste terminators go, and it is neither
/// empty nor over its bound.
pub fn admit(message: &str) -> Result<String, Refusal> {
    let clean = plain::message(message);
    if clean.trim().is_empty() {
        return Err(Refusal::new(
            "message-empty",
            "the message is empty",
            "say what is to be reviewed",
        ));
    }
    if clean.len() > limits::MESSAGE_BYTES {
        return Err(Refusal::new(
            "message-too-long",
            format!(
                "the message has {} bytes, and at most {} are typed into a pane",
                clean.len(),
                limits::MESSAGE_BYTES
            ),
            "put the long part into a file in the repository and name its path in the message",
        ));
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairing::Marker;

    #[test]
    fn a_tag_has_a_letter_and_a_digit_and_no_look_alikes() {
        for a in 0..=255u8 {
            let tag = tag([a, a.wrapping_mul(7), a.wrapping_add(31), a ^ 0x5a]);
            assert_eq!(tag.len(), 4);
            assert!(
                tag.bytes().any(|b| b.is_ascii_lowercase())
                    && tag.bytes().any(|b| b.is_ascii_digit()),
                "{tag}"
            );
            assert!(!tag.contains(['0', '1', 'l']), "{tag}");
        }
    }

    #[test]
    fn none_of_our_own_words_makes_a_marker_line_at_any_width() {
        let texts = [
            brief(
                "codex",
                "/home/somebody/src/project",
                "You can read files.",
                "k7q2",
            ),
            round(Kind::Plan, "x", "k7q2"),
            round(Kind::Implementation, "x", "k7q2"),
            round(Kind::Question, "x", "k7q2"),
        ];
        for text in &texts {
            for width in 1..=250 {
                for row in wrapped(text, width) {
                    assert_eq!(Marker::parse(&row), None, "width {width}: {row}");
                }
            }
        }
    }

    /// Rows of at most `width` signs, broken at blanks where there are any.
    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let mut rows = Vec::new();
        for line in text.lines() {
            let mut row = String::new();
            for word in line.split(' ') {
                if !row.is_empty() && row.len() + 1 + word.len() > width {
                    rows.push(std::mem::take(&mut row));
                } else if !row.is_empty() {
                    row.push(' ');
                }
                row.push_str(word);
            }
            rows.push(row);
        }
        rows
    }

    #[test]
    fn the_marker_never_stands_whole_in_what_is_typed() {
        let text = round(Kind::Implementation, "REVIEW: (", "k7q2");
        assert!(!text.contains("REVIEW: (k7q2)") && !text.contains("REVIEW: k7q2"));
        let last = text.lines().last().unwrap_or_default();
        assert!(!last.contains("k7q2") && !text.starts_with("k7q2"));
    }

    #[test]
    fn a_value_that_looks_like_a_placeholder_stays_as_it_is() {
        let text = round(Kind::Plan, "use {tag} and {shape} and {", "k7q2");
        assert!(text.contains("use {tag} and {shape} and {\n"));
    }

    #[test]
    fn nothing_in_a_diff_closes_its_fence() {
        let text = with_diff("look", "+````\n+x", "against HEAD");
        assert!(text.contains("\n`````diff\n+````\n+x\n`````"), "{text}");
    }

    #[test]
    fn an_empty_or_too_long_message_is_refused_with_the_way_out() {
        assert_eq!(admit(" \u{1b}\n").unwrap_err().code, "message-empty");
        let refusal = admit(&"x".repeat(limits::MESSAGE_BYTES + 1)).unwrap_err();
        assert_eq!(refusal.code, "message-too-long");
        assert!(refusal.to_string().contains("65536") && refusal.to_string().contains("path"));
    }
}
