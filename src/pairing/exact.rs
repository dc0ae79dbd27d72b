//! Reading the peer's reply in the harness's own exact text, where fences, quotes and indents still stand (interface.md 2,
//! 6).

use super::marker::{Label, Marker, strip_tag};
use crate::config::RequireTag;
use crate::recording::word::{Reason, Verdict};

/// What an exact text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactReading {
    /// Its verdict.
    pub verdict: Verdict,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// The text without marker, tag and deciding verdict line.
    pub rationale: String,
    /// Whether it carries the tag.
    pub tagged: bool,
    /// Whether verdict lines with different words stand in it, quotations left out.
    pub ambiguous: bool,
}

/// Reads an exact text. Fenced, quoted and indented lines are no markers; a list item or a heading is one only as the
/// first or the last line.
pub fn read_exact(text: &str, tag: Option<&str>) -> ExactReading {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let own = own_lines(&lines);
    let last = lines.iter().rposition(|line| !line.trim().is_empty());
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let at_edge = |at: usize| Some(at) == first || Some(at) == last;
    let marker = |at: usize| {
        Marker::parse(lines[at]).filter(|marker| own[at] && (!marker.nested || at_edge(at)))
    };
    let tagged_at = tag.and_then(|tag| {
        (0..lines.len()).find_map(|at| marker(at)?.tagged(tag).map(|rest| (at, rest.to_owned())))
    });
    let tagged = tagged_at.is_some();
    let start = tagged_at.or_else(|| {
        (0..lines.len()).find_map(|at| {
            let marker = marker(at).filter(|marker| marker.label == Label::Review)?;
            let rest = tag
                .and_then(|tag| strip_tag(&marker.rest, tag))
                .unwrap_or(&marker.rest)
                .to_owned();
            Some((at, rest))
        })
    });
    let from = start.as_ref().map_or(0, |&(at, _)| at);
    let words: Vec<(usize, Verdict)> = (from..lines.len())
        .filter_map(|at| Some((at, marker(at)?.verdict()?)))
        .collect();
    let ends = words.last().copied().filter(|&(at, _)| Some(at) == last);
    let ambiguous = words.iter().any(|&(_, word)| word != words[0].1);
    let deciding = match ends {
        Some((at, word)) if word != Verdict::Agree || !ambiguous => Some((at, word)),
        _ => words.iter().copied().max_by_key(|&(_, word)| word),
    };
    let other = |at: usize| {
        let marker = marker(at).filter(|marker| marker.label == Label::Review);
        marker.is_some_and(|marker| tag.is_some_and(|tag| marker.has_other_tag(tag)))
    };
    let reason = match (last, deciding) {
        (None, _) => Some(Reason::Empty),
        (_, None) if start.is_none() => Some(Reason::NoMarker),
        (_, None) => Some(Reason::NoVerdict),
        (_, Some((_, Verdict::Agree))) if ends.is_none() => Some(Reason::NotLast),
        // What stands below another round's tag is that round's.
        (_, Some((at, Verdict::Agree))) if tagged && (from + 1..at).any(other) => {
            Some(Reason::Doubtful)
        }
        _ => None,
    };
    let head = start.as_ref().map(|(_, rest)| rest.as_str());
    let skip = start.as_ref().map_or(0, |&(at, _)| at + 1);
    let body = lines
        .iter()
        .enumerate()
        .skip(skip)
        .filter(|&(at, _)| Some(at) != deciding.map(|(at, _)| at))
        .map(|(_, line)| *line);
    let rationale = head
        .into_iter()
        .chain(body)
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned();
    ExactReading {
        verdict: match (reason, deciding) {
            (None, Some((_, word))) => word,
            _ => Verdict::Unparsed,
        },
        reason,
        rationale,
        tagged,
        ambiguous,
    }
}

/// Reads a text that nothing else confirms: a runner's final one. What must carry the tag and does not gives no verdict.
pub fn read_alone(text: &str, tag: Option<&str>, require: RequireTag) -> ExactReading {
    let exact = read_exact(text, tag);
    let needs_tag = match require {
        RequireTag::Always => true,
        RequireTag::Agree => exact.verdict == Verdict::Agree,
        RequireTag::Never => false,
    };
    if exact.reason.is_none() && tag.is_some() && needs_tag && !exact.tagged {
        return ExactReading {
            verdict: Verdict::Unparsed,
            reason: Some(Reason::Untagged),
            ..exact
        };
    }
    exact
}

/// Which lines are the writer's own words: not fenced, not quoted, not an indented code block.
fn own_lines(lines: &[&str]) -> Vec<bool> {
    let mut fence: Option<(char, usize)> = None;
    lines
        .iter()
        .map(|line| {
            let body = line.trim_start();
            let indent = line.len() - body.len();
            let sign = body.chars().next().filter(|c| matches!(c, '`' | '~'));
            let length = sign.map_or(0, |sign| body.chars().take_while(|&c| c == sign).count());
            match (fence, sign) {
                (None, Some(sign))
                    if length >= 3
                        && indent < 4
                        && !(sign == '`' && body[length..].contains('`')) =>
                {
                    fence = Some((sign, length));
                    false
                }
                (Some((open, count)), Some(sign))
                    if sign == open && length >= count && body[length..].trim().is_empty() =>
                {
                    fence = None;
                    false
                }
                (Some(_), _) => false,
                (None, _) => !body.starts_with('>') && indent < 4 && !line.starts_with('\t'),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_nothing_confirms_agrees_only_with_its_tag() {
        let read = |text: &str, require| {
            let read = read_alone(text, Some("k7q2"), require);
            (read.verdict, read.reason)
        };
        let (with, without) = (
            "REVIEW: (k7q2) fine\n\nVERDICT: AGREE",
            "REVIEW: fine\n\nVERDICT: AGREE",
        );
        let untagged = (Verdict::Unparsed, Some(Reason::Untagged));
        for require in [RequireTag::Agree, RequireTag::Always, RequireTag::Never] {
            assert_eq!(read(with, require), (Verdict::Agree, None));
        }
        assert_eq!(read(without, RequireTag::Agree), untagged);
        assert_eq!(read(without, RequireTag::Never), (Verdict::Agree, None));
        let objects = "REVIEW: no\n\nVERDICT: OBJECT";
        assert_eq!(read(objects, RequireTag::Agree), (Verdict::Object, None));
        assert_eq!(read(objects, RequireTag::Always), untagged);
    }

    #[test]
    fn fenced_quoted_and_indented_lines_are_no_verdict() {
        let text = "REVIEW: (k7q2) x\n```\nVERDICT: AGREE\n```\n> VERDICT: AGREE\n\n    VERDICT: AGREE\n- VERDICT: AGREE\n\nVERDICT: OBJECT";
        let reading = read_exact(text, Some("k7q2"));
        assert_eq!(
            (reading.verdict, reading.tagged, reading.ambiguous),
            (Verdict::Object, true, false)
        );
    }

    #[test]
    fn an_agree_within_an_open_fence_is_none() {
        let reading = read_exact("REVIEW: (k7q2) x\n```\nVERDICT: AGREE", Some("k7q2"));
        assert_eq!(
            (reading.verdict, reading.reason),
            (Verdict::Unparsed, Some(Reason::NoVerdict))
        );
    }

    #[test]
    fn an_agree_below_another_rounds_tag_is_none() {
        let text = "REVIEW: (k7q2) bad.\n\nEarlier:\n\nREVIEW: (m3xp) good\n\nVERDICT: AGREE";
        let read = read_exact(text, Some("k7q2"));
        assert_eq!(
            (read.verdict, read.reason),
            (Verdict::Unparsed, Some(Reason::Doubtful))
        );
        let fenced = "REVIEW: (k7q2) good.\n\n```\nREVIEW: (m3xp) bad\n```\n\nVERDICT: AGREE";
        assert_eq!(read_exact(fenced, Some("k7q2")).verdict, Verdict::Agree);
        let objected = text.replace("AGREE", "OBJECT");
        assert_eq!(read_exact(&objected, Some("k7q2")).verdict, Verdict::Object);
    }

    #[test]
    fn an_agree_that_text_follows_is_none() {
        let reading = read_exact("REVIEW: x\nVERDICT: AGREE\nbut wait", None);
        assert_eq!(
            (reading.verdict, reading.reason),
            (Verdict::Unparsed, Some(Reason::NotLast))
        );
    }

    #[test]
    fn a_heading_that_is_the_first_line_is_the_marker() {
        let reading = read_exact(
            "\n## REVIEW: (k7q2) one\n\n- REVIEW: (k7q2) two\n\nVERDICT: ADJUST",
            Some("k7q2"),
        );
        assert_eq!(
            (reading.tagged, reading.rationale.as_str()),
            (true, "one\n\n- REVIEW: (k7q2) two")
        );
    }

    #[test]
    fn the_text_between_marker_and_verdict_is_the_rationale() {
        let reading = read_exact(
            "REVIEW: (k7q2) one\n\n- two\n\nVERDICT: ADJUST\n",
            Some("k7q2"),
        );
        assert_eq!(reading.rationale, "one\n\n- two");
    }
}
