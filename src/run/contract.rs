//! What a return has to be (systems.md B.8): the one verifier of every route.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::limits;
use crate::recording::fallback::FailureKind;
use crate::recording::review::Word;
use crate::recording::word::Verdict;
use crate::route::Role;
use crate::runner::Broken;

/// The words a role may end with.
pub(crate) fn words(role: Role) -> &'static [Word] {
    match role {
        Role::Ruthless => &[Word::Ship, Word::FixFirst],
        Role::Security | Role::Auditor | Role::Peer | Role::Implementer => {
            &[Word::Approve, Word::Block, Word::NeedsInput]
        }
    }
}

/// Reads the word of a return.
///
/// # Errors
///
/// [`FailureKind::Invalid`], in words that hold nothing of the return.
pub fn verify(role: Role, bytes: &[u8]) -> Result<Word, Broken> {
    let invalid = |words: &str| Err(Broken::new(FailureKind::Invalid, words));
    if bytes.len() > limits::RETURN_BYTES {
        let most = limits::RETURN_BYTES >> 10;
        return invalid(&format!("the return has more than {most} KiB"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return invalid("the return is not UTF-8 text");
    };
    if text.trim().is_empty() {
        return invalid("the return is empty");
    }
    let behind = verdicts(text);
    let [behind] = behind.as_slice() else {
        let how = if behind.is_empty() {
            "no"
        } else {
            "more than one"
        };
        return invalid(&format!("the return has {how} Verdict heading"));
    };
    let line = text[*behind..].lines().find(|line| !line.trim().is_empty());
    let words = words(role);
    match words
        .iter()
        .find(|word| begins_with(line.unwrap_or_default(), **word))
    {
        Some(word) => Ok(*word),
        None => {
            let all: Vec<&str> = words.iter().map(|word| word.word()).collect();
            invalid(&format!(
                "the line under the Verdict heading begins with none of {}",
                all.join(", ")
            ))
        }
    }
}

/// Whether a report of the driver claims a verdict of its own, which only a verified return gives (B.8).
pub fn claims_verdict(report: &str) -> bool {
    !verdicts(report).is_empty()
}

/// Where the text goes on behind each heading `Verdict` that stands in no quotation, list or fence.
fn verdicts(text: &str) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut heading: Option<String> = None;
    let mut found = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) if depth == 0 => heading = Some(String::new()),
            Event::End(TagEnd::Heading(
                HeadingLevel::H1
                | HeadingLevel::H2
                | HeadingLevel::H3
                | HeadingLevel::H4
                | HeadingLevel::H5
                | HeadingLevel::H6,
            )) => {
                let title = heading.take().unwrap_or_default();
                let title = title.trim().trim_end_matches(':').trim_end();
                if title.eq_ignore_ascii_case("verdict") {
                    found.push(range.end);
                }
            }
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::FootnoteDefinition(_)) => {
                depth += 1;
            }
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition) => {
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(title) = &mut heading {
                    title.push_str(&text);
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a line begins with a word: list marks and emphasis ignored; blank, hyphen and underscore alike.
fn begins_with(line: &str, word: Word) -> bool {
    let mut rest = line.trim_start();
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < rest.len() && (number.starts_with(". ") || number.starts_with(") ")) {
        rest = &number[2..];
    } else if let Some(item) = rest.strip_prefix(['-', '*', '+'])
        && item.starts_with(' ')
    {
        rest = item;
    }
    let is_noise = |c: char| matches!(c, '*' | '_' | '`' | ' ' | '\u{a0}');
    rest = rest.trim_start_matches(is_noise);
    for wanted in word.word().chars() {
        let mut signs = rest.chars();
        let fits = match signs.next() {
            Some(' ' | '-' | '_' | '\u{a0}') => matches!(wanted, ' ' | '-'),
            Some(sign) => sign == wanted,
            None => false,
        };
        if !fits {
            return false;
        }
        rest = signs.as_str();
    }
    // Emphasis may close here, but `SHIP_IT` is another word, and a list of the choices is no choice.
    let behind = rest.trim_start_matches(is_noise);
    let is_cut_off = behind.len() == rest.len() || rest.starts_with([' ', '\u{a0}']);
    let goes_on = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '-');
    let is_other = match is_cut_off {
        true => goes_on(rest),
        false => goes_on(behind) && !rest.contains(' '),
    };
    !is_other && !behind.starts_with(['|', '/'])
}

/// The return in what a pane's agent answered, and its word (F.5). The agent says its word twice: under the heading,
/// and by the pairing word that ends its turn, which was read by all rules of a round; both have to say the same.
///
/// A terminal shows a heading without its marks, so a line that holds the heading's word alone is one again.
///
/// # Errors
///
/// [`FailureKind::Invalid`], in words that hold nothing of the answer.
pub fn host_return(
    role: Role,
    text: &str,
    said: Verdict,
    complete: bool,
) -> Result<(String, Word), Broken> {
    let invalid = |words: &str| Err(Broken::new(FailureKind::Invalid, words));
    if said == Verdict::Unparsed {
        return invalid("what the host answered could not be read whole");
    }
    let mut text = text.trim().to_owned() + "\n";
    if verdicts(&text).is_empty() {
        let is_bare = |line: &&str| {
            line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | ':'))
                == "Verdict"
        };
        if text.lines().filter(is_bare).count() == 1 {
            text = text
                .lines()
                .map(|line| {
                    if is_bare(&line) {
                        "\n## Verdict\n"
                    } else {
                        line
                    }
                })
                .collect::<Vec<_>>()
                .join("\n")
                + "\n";
        }
    }
    let word = verify(role, text.as_bytes())?;
    if word.told_by() != said {
        return invalid(
            "the host's word under its Verdict heading and the word that ends its turn differ",
        );
    }
    if word.passes() && !complete {
        return invalid(
            "part of what the host answered may be missing, and its word is one that passes",
        );
    }
    Ok((text, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(role: Role, text: &str) -> Result<Word, String> {
        verify(role, text.as_bytes()).map_err(|broken| {
            assert_eq!(broken.kind, FailureKind::Invalid);
            broken.detail.to_string()
        })
    }

    #[test]
    fn the_word_under_the_one_heading_counts() {
        for (under, word) in [
            ("SHIP", Word::Ship),
            ("FIX FIRST", Word::FixFirst),
            ("\n\n**FIX-FIRST**: two findings", Word::FixFirst),
            ("- FIX_FIRST.", Word::FixFirst),
            ("1. `SHIP` it", Word::Ship),
            ("_SHIP_", Word::Ship),
            ("SHIP, with pleasure", Word::Ship),
        ] {
            let text = format!("Fine.\n\n## Verdict\n{under}\n\nmore");
            assert_eq!(read(Role::Ruthless, &text), Ok(word), "{under}");
        }
        for (head, word) in [
            ("# VERDICT", "APPROVE"),
            ("### **Verdict**:", "APPROVE"),
            ("Verdict\n-------", "APPROVE"),
            ("## Verdict ##", "APPROVE"),
        ] {
            let text = format!("{head}\n\n{word}\n");
            assert_eq!(read(Role::Security, &text), Ok(Word::Approve), "{head}");
        }
        assert_eq!(
            read(Role::Auditor, "## Verdict\nNEEDS INPUT: which?"),
            Ok(Word::NeedsInput)
        );
    }

    #[test]
    fn what_is_no_word_of_the_role_is_none() {
        for under in [
            "",
            "ship",
            "SHIPPED",
            "SHIP-IT",
            "SHIP|FIX FIRST",
            "SHIP / FIX FIRST",
            "SHIP | FIX FIRST",
            "SHIP_IT",
            "Not SHIP",
            "APPROVE",
            "FIX",
            "FIXFIRST",
            "> SHIP",
        ] {
            let text = format!("## Verdict\n{under}\n");
            assert!(read(Role::Ruthless, &text).is_err(), "{under}");
        }
        assert!(read(Role::Security, "## Verdict\nSHIP").is_err());
    }

    #[test]
    fn none_or_several_headings_are_no_verdict() {
        let none = read(
            Role::Ruthless,
            "SHIP\nVerdict: SHIP\n```\n## Verdict\nSHIP\n```\n",
        );
        assert_eq!(none, Err("the return has no Verdict heading".to_owned()));
        let two = read(
            Role::Ruthless,
            "## Verdict\nFIX FIRST\n\n## Verdict\nSHIP\n",
        );
        assert_eq!(
            two,
            Err("the return has more than one Verdict heading".to_owned())
        );
    }

    #[test]
    fn a_quoted_heading_is_not_the_returns_own() {
        for quoted in [
            "> ## Verdict\n> SHIP",
            "- ## Verdict\n  SHIP",
            "    ## Verdict\n    SHIP",
            "~~~md\n## Verdict\nSHIP\n~~~",
        ] {
            let text = format!("{quoted}\n\ntext\n\n## Verdict\nFIX FIRST\n");
            assert_eq!(read(Role::Ruthless, &text), Ok(Word::FixFirst), "{quoted}");
            assert!(
                read(Role::Ruthless, &format!("{quoted}\n")).is_err(),
                "{quoted}"
            );
        }
    }

    #[test]
    fn bounds_hold_and_nothing_of_the_return_is_told() {
        let long = format!("## Verdict\nSHIP\n{}", "x".repeat(300 << 10));
        assert_eq!(
            read(Role::Ruthless, &long),
            Err("the return has more than 256 KiB".to_owned())
        );
        assert!(verify(Role::Ruthless, b"## Verdict\nSHIP \xff").is_err());
        assert!(read(Role::Ruthless, " \n").is_err());
        let told = read(Role::Ruthless, "## Verdict\nSECRET\n").expect_err("no word");
        assert!(!told.contains("SECRET"), "{told}");
    }

    #[test]
    fn a_driver_that_claims_a_verdict_is_seen() {
        assert!(claims_verdict("Done.\n\n## Verdict\nSHIP"));
        assert!(!claims_verdict(
            "The verdict was FIX FIRST.\n```\n## Verdict\n```"
        ));
    }

    #[test]
    fn a_host_says_its_word_twice_and_the_same() {
        let text = "One finding.\n\n## Verdict\nFIX FIRST";
        let (written, word) =
            host_return(Role::Ruthless, text, Verdict::Object, false).expect("a return");
        assert_eq!(
            (written.as_str(), word),
            ("One finding.\n\n## Verdict\nFIX FIRST\n", Word::FixFirst)
        );
        for said in [
            Verdict::Agree,
            Verdict::Adjust,
            Verdict::Escalate,
            Verdict::Unparsed,
        ] {
            assert!(
                host_return(Role::Ruthless, text, said, true).is_err(),
                "{said}"
            );
        }
        let passes = "## Verdict\nSHIP";
        assert!(host_return(Role::Ruthless, passes, Verdict::Agree, true).is_ok());
        assert!(host_return(Role::Ruthless, passes, Verdict::Agree, false).is_err());
        let asks = "## Verdict\nNEEDS-INPUT";
        assert!(host_return(Role::Security, asks, Verdict::Escalate, false).is_ok());
    }

    #[test]
    fn a_heading_the_screen_took_the_marks_of_is_one_again() {
        let text = "Fine.\n\nVerdict\nSHIP";
        let (written, word) =
            host_return(Role::Ruthless, text, Verdict::Agree, true).expect("a return");
        assert_eq!(word, Word::Ship);
        assert_eq!(verify(Role::Ruthless, written.as_bytes()), Ok(Word::Ship));
        let twice = "Verdict\nFIX FIRST\n\nVerdict\nSHIP";
        assert!(host_return(Role::Ruthless, twice, Verdict::Agree, true).is_err());
    }
}
