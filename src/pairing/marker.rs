//! Marker lines: `REVIEW:` and `VERDICT:` as agents draw them, and the round tag behind the first (A.12, interface.md 6).

use crate::recording::word::Verdict;

/// A line that begins with one of the two labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Which label.
    pub label: Label,
    /// Whether list, quote or heading marks stand before the label.
    pub nested: bool,
    /// What follows the colon, trimmed, as it was written.
    pub rest: String,
    /// The same as a reader sees it.
    seen: String,
    /// The emphasis signs and table bars in front of `rest`'s first word.
    opened: String,
}

/// The two labels of the reply's shape (A.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Starts a reply.
    Review,
    /// Ends it.
    Verdict,
}

/// Gutter, bullet and emphasis signs that may stand before a label.
const NOISE: &str = "•●⏺*_->#▎│|`";
/// Signs that close an emphasis.
const EMPHASIS: &[char] = &['*', '_', '`'];
/// Signs that may stand between the colon and the tag.
const OPENING: &[char] = &['(', '[', '{', '<', '（', '【', ' ', '*', '_', '`', '\u{a0}'];
/// Bars between the cells of a table.
const BARS: &[char] = &['│', '|'];
/// A label stands this near the start of a line, or it is none.
const LABEL_WITHIN: usize = 64;

/// Characters that show nothing: they are left out before anything is compared. Those that turn the order of others
/// around are none of them: what they make of a line is not what its characters say.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// The line as a reader sees it: invisible signs gone, every kind of blank a blank, a fullwidth colon a colon.
fn as_seen(line: &str) -> String {
    line.chars()
        .filter(|&c| !is_invisible(c))
        .map(|c| match c {
            '\u{ff1a}' | '\u{fe55}' | '\u{a789}' => ':',
            c if c.is_whitespace() => ' ',
            c => c,
        })
        .collect()
}

impl Marker {
    /// Reads a line as a marker line, or finds that it is none.
    pub fn parse(line: &str) -> Option<Self> {
        // Most lines hold neither label; look before anything is allocated.
        let lower = |c: char| c.to_ascii_lowercase();
        if !line
            .chars()
            .take(LABEL_WITHIN)
            .any(|c| matches!(lower(c), 'r' | 'v'))
        {
            return None;
        }
        let seen = as_seen(line);
        let body = seen.trim_start_matches(|c: char| c == ' ' || NOISE.contains(c));
        let (label, after) = [(Label::Review, "review"), (Label::Verdict, "verdict")]
            .into_iter()
            .find_map(|(label, word)| {
                let head = body.get(..word.len())?;
                head.eq_ignore_ascii_case(word)
                    .then(|| (label, &body[word.len()..]))
            })?;
        let after = after
            .trim_start_matches(EMPHASIS)
            .trim_start_matches(' ')
            .strip_prefix(':')?;
        let noise = &seen[..seen.len() - body.len()];
        let nested = noise.contains(['-', '>', '•', '#', '▎', '│', '|']) || noise.trim() == "*";
        let rest = after.trim();
        let word = rest.trim_start_matches(|c: char| c == ' ' || EMPHASIS.contains(&c));
        let opened = noise
            .chars()
            .chain(rest[..rest.len() - word.len()].chars())
            .filter(|c| EMPHASIS.contains(c) || BARS.contains(c))
            .collect();
        let rest = if noise.contains(EMPHASIS) { word } else { rest };
        let blanks = after.len() - after.trim_end().len();
        let written = tail_of(line, rest.chars().count() + blanks).trim_end();
        Some(Self {
            label,
            nested,
            rest: written.to_owned(),
            seen: rest.to_owned(),
            opened,
        })
    }

    /// The verdict this line states: one of the four words, followed by nothing but a full stop, blanks, closing emphasis
    /// or the empty cells of a table row.
    pub fn verdict(&self) -> Option<Verdict> {
        if self.label != Label::Verdict {
            return None;
        }
        let rest = self.seen.trim_start_matches(EMPHASIS);
        let end = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let verdict = Verdict::from_word(&rest[..end])?;
        // Only an emphasis that was opened before the word is closed behind it.
        let closing = |c: char| EMPHASIS.contains(&c) && self.opened.contains(c);
        let tail = rest[end..].trim_start_matches(closing);
        let tail = tail
            .strip_prefix('.')
            .unwrap_or(tail)
            .trim_start_matches(closing);
        let bar = |c: char| BARS.contains(&c) && self.opened.contains(c);
        let cells =
            tail.starts_with(' ') && tail.contains(bar) && tail.chars().all(|c| c == ' ' || bar(c));
        (cells || tail.trim().is_empty()).then_some(verdict)
    }

    /// Whether the line carries `tag` right behind the colon, bare or in brackets; then what follows it.
    pub fn tagged<'a>(&'a self, tag: &str) -> Option<&'a str> {
        let rest = (self.label == Label::Review).then(|| strip_tag(&self.seen, tag))??;
        Some(tail_of(&self.rest, rest.chars().count()))
    }

    /// Whether a word that may be a tag as long as `tag`, letters and digits mixed, stands where the tag is expected.
    pub(super) fn has_other_tag(&self, tag: &str) -> bool {
        let word = self.seen.trim_start_matches(OPENING);
        let word = &word[..word
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(word.len())];
        word.len() == tag.len()
            && !word.eq_ignore_ascii_case(tag)
            && word.contains(|c: char| c.is_ascii_digit())
            && word.contains(|c: char| c.is_ascii_alphabetic())
    }
}

/// The end of `written` that a reader sees as `count` characters.
fn tail_of(written: &str, count: usize) -> &str {
    let Some(skip) = count.checked_sub(1) else {
        return "";
    };
    let from = written
        .char_indices()
        .rev()
        .filter(|&(_, c)| !is_invisible(c))
        .nth(skip)
        .map_or(0, |(at, _)| at);
    &written[from..]
}

/// Takes `tag`, bare or in brackets, off the start of `text`.
pub(super) fn strip_tag<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let close: &[char] = &[')', ']', '}', '>', '）', '】', '*', '_', '`'];
    let body = text.trim_start_matches(OPENING);
    let head = body.get(..tag.len())?;
    if tag.is_empty() || !head.eq_ignore_ascii_case(tag) {
        return None;
    }
    let after = &body[tag.len()..];
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-') {
        return None;
    }
    let opened = text.len() - body.len();
    let bracketed = text[..opened].contains(['(', '[', '{', '<', '（', '【']);
    let after = after.trim_start_matches(EMPHASIS);
    // Only the brackets that were opened are closed: `(k7q2) (see below)` keeps its second pair.
    let after = if bracketed {
        after.strip_prefix(close).unwrap_or(after)
    } else {
        after
    };
    Some(after.trim_start_matches(EMPHASIS).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(line: &str) -> Option<Verdict> {
        Marker::parse(line).and_then(|marker| marker.verdict())
    }

    #[test]
    fn a_verdict_is_read_as_what_it_shows() {
        for line in [
            "VERDICT: AGREE",
            "verdict: agree",
            "VERDICT: AGREE.",
            "**VERDICT:** AGREE",
            "**VERDICT**: AGREE",
            "VERDICT: **AGREE**",
            "VERDICT: **AGREE.**",
            "VERDICT: `AGREE`",
            "• VERDICT: AGREE",
            "⏺ VERDICT: AGREE",
            "> VERDICT: AGREE",
            "## VERDICT: AGREE",
            "│ VERDICT: AGREE",
            "│VERDICT: AGREE      │      │",
            "| VERDICT: AGREE",
            "| VERDICT: AGREE |     |",
            "VERDICT：AGREE",
            "VERDICT:\u{a0}AGREE",
            "VER\u{200b}DICT: AGREE",
            "   VERDICT:   AGREE   ",
            "__VERDICT:__ AGREE",
        ] {
            assert_eq!(verdict(line), Some(Verdict::Agree), "{line}");
        }
    }

    #[test]
    fn anything_behind_the_word_makes_it_none() {
        for line in [
            "VERDICT: AGREE|ADJUST|OBJECT|ESCALATE",
            "VERDICT: AGREE/ADJUST",
            "| VERDICT: AGREE | ADJUST |",
            "VERDICT: AGREE |",
            "VERDICT: AGREE │",
            "│ VERDICT: AGREE |",
            "VERDICT: AGREE-ish",
            "VERDICT: AGREE_",
            "VERDICT: AGREE**",
            "VERDICT: AGREEMENT reached",
            "VERDICT: AGREE to that.",
            "VERDICT: AGREE to confirm the plan",
            "VERDICT: AGREE, mostly",
            "VERDICT: AGREE?",
            "VERDICT: AGREE..",
            "VERDICT:",
            "VERDICT AGREE",
            "My VERDICT: AGREE",
            "1. VERDICT: AGREE",
            "VERDICT: I AGREE",
            "VERDICT: UNPARSED",
            "REVIEW: AGREE",
            "VERDICT: AGREÉ",
            "VERDICT: \u{202e}EERGA",
            "VERDICT: AG\u{202e}REE",
        ] {
            assert_eq!(verdict(line), None, "{line}");
        }
    }

    #[test]
    fn another_tag_is_a_word_of_its_length_with_a_letter_and_a_digit() {
        let other = |line: &str| Marker::parse(line).unwrap().has_other_tag("k7q2");
        for line in ["REVIEW: (m3xp) fine", "REVIEW: [m3xp]", "REVIEW: m3xp fine"] {
            assert!(other(line), "{line}");
        }
        for line in [
            "REVIEW: (k7q2) fine",
            "REVIEW: K7Q2",
            "REVIEW: Fine.",
            "REVIEW: 2024 was",
            "REVIEW: (m3xpq)",
            "REVIEW:",
        ] {
            assert!(!other(line), "{line}");
        }
    }

    #[test]
    fn the_tag_stands_right_behind_the_colon_bare_or_in_any_brackets() {
        for line in [
            "REVIEW: (k7q2) fine",
            "REVIEW: [k7q2] fine",
            "REVIEW: k7q2 fine",
            "**REVIEW:** (K7Q2) fine",
            "REVIEW:(k7q2)fine",
        ] {
            assert_eq!(
                Marker::parse(line).unwrap().tagged("k7q2"),
                Some("fine"),
                "{line}"
            );
        }
        for line in [
            "REVIEW: fine k7q2",
            "REVIEW: (k7q2x) fine",
            "REVIEW: (k7q3) fine",
            "VERDICT: (k7q2)",
            "REVIEW: k7q2-b",
        ] {
            assert_eq!(Marker::parse(line).unwrap().tagged("k7q2"), None, "{line}");
        }
        assert_eq!(
            Marker::parse("REVIEW: （k\u{200b}7q2）这里：\u{a0}a\u{200b}b ")
                .unwrap()
                .tagged("k7q2"),
            Some("这里：\u{a0}a\u{200b}b")
        );
        assert_eq!(
            Marker::parse("REVIEW: (k7q2) (see below)")
                .unwrap()
                .tagged("k7q2"),
            Some("(see below)")
        );
    }
}
