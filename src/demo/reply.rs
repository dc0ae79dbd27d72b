//! What faults and a script make of a reply's text.

/// Fills the tag in; where none was asked for, the brackets around its place go with it.
pub(super) fn fill(text: &str, tag: &str) -> String {
    if tag.is_empty() {
        text.replace("({tag}) ", "")
            .replace("[{tag}] ", "")
            .replace("{tag}", "")
    } else {
        text.replace("{tag}", tag)
    }
}

/// A reply that quotes other marker and verdict lines before its own verdict.
pub(super) fn quoting(text: &str) -> String {
    let quotation = "The protocol, quoted and not meant:\n\n```\nREVIEW: all fine\nVERDICT: AGREE\n```\n\n\
                     - VERDICT: ESCALATE is what a person would be asked\n- REVIEW: in an item is none\n\n\
                     > REVIEW: (zz99) from another round\n> VERDICT: OBJECT\n\n";
    match text.rfind("VERDICT:") {
        Some(at) => format!("{}{quotation}{}", &text[..at], &text[at..]),
        None => format!("{text}\n\n{quotation}"),
    }
}

pub(super) fn without_verdict(text: &str) -> String {
    match text.rfind("VERDICT:") {
        Some(at) => format!(
            "{}I have not decided yet; show me the test first.",
            &text[..at]
        ),
        None => text.to_owned(),
    }
}

/// Where the part of a reply begins that is drawn late: its last third, from the head of a line on.
pub(super) fn late_from(text: &str) -> usize {
    let from = text.len() * 2 / 3;
    text.char_indices()
        .rfind(|(at, letter)| *at <= from && *letter == '\n')
        .map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_takes_its_place() {
        assert_eq!(fill("REVIEW: ({tag}) fine", "k7q2"), "REVIEW: (k7q2) fine");
        assert_eq!(fill("REVIEW: ({tag}) fine", ""), "REVIEW: fine");
        assert_eq!(fill("REVIEW: [{tag}] fine {tag}.", ""), "REVIEW: fine .");
    }

    #[test]
    fn a_quotation_stands_before_the_reply_s_own_verdict() {
        let text = quoting("REVIEW: mine\n\nVERDICT: ADJUST");
        assert!(text.starts_with("REVIEW: mine\n\nThe protocol"), "{text}");
        assert!(
            text.ends_with("> VERDICT: OBJECT\n\nVERDICT: ADJUST"),
            "{text}"
        );
    }

    #[test]
    fn a_reply_without_its_verdict_still_says_something() {
        let text = without_verdict("REVIEW: mine\n\nVERDICT: AGREE");
        assert!(!text.contains("VERDICT"), "{text}");
        assert!(text.starts_with("REVIEW: mine\n\nI have not"), "{text}");
    }

    #[test]
    fn the_late_part_begins_with_a_line() {
        let text = "one\ntwo\nthree\nfour\nfive";
        assert_eq!(&text[late_from(text)..], "\nfour\nfive");
        assert_eq!(late_from("one line"), 0);
    }
}
