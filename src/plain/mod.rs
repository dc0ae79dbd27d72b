//! Outside text made safe to show (systems.md 0.5) and to type (A.9).
//!
//! Text of an agent, a server, a file name or a record never reaches a terminal, a Markdown page or a pane as it is: it
//! goes through one of the three functions here. What cannot be seen is shown escaped as `\u{1b}`; emoji keep the
//! joiners and variation selectors they are made of.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Stands where text was cut.
const ELLIPSIS: &str = "…";

/// Emoji sequences to keep as they are (`keep`), or one character to escape (`hide`).
static UNSEEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<keep>\p{ExtPict}\x{fe0f}?\p{EMod}?(?:\x{200d}\p{ExtPict}\x{fe0f}?\p{EMod}?)*",
        r"|[0-9#*]\x{fe0f}\x{20e3})",
        r"|(?P<hide>[\p{Cc}\p{Zl}\p{Zp}[\p{Cf}\p{DI}--\p{PCM}]])",
    ))
    .expect("the pattern is fixed and tested")
});

/// What Markdown would take as the start of a heading, quote, list, rule, fence, table, link target or HTML block.
static STRUCTURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:(?P<number>[0-9]{1,9})[.)](?:\s|$)",
        r"|[#>|<\[*_]|[-+](?:\s|$)|(?:-\s*){3,}$|=+$|```|~~~)",
    ))
    .expect("the pattern is fixed and tested")
});

/// Makes one line of at most `max_bytes` bytes out of outside text (0.5).
///
/// Line breaks and other white space become single blanks, control, bidirectional and invisible characters are shown
/// escaped, Markdown structure at the start is neutralised with a backslash, and what was cut is marked by an ellipsis.
pub fn display(text: &str, max_bytes: usize) -> String {
    // A few times the bound is enough to fill it, whatever is collapsed; the rest of a huge text is never touched.
    let mut line = String::with_capacity(text.len().min(max_bytes.saturating_add(16)));
    let mut more = false;
    for word in text.split_whitespace() {
        if line.len() > max_bytes {
            more = true;
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let end = boundary(word, max_bytes.saturating_add(1));
        line.push_str(&word[..end]);
        if end < word.len() {
            more = true;
            break;
        }
    }
    let mut line = escape(&line).into_owned();
    if let Some(found) = STRUCTURE.captures(&line) {
        let at = found.name("number").map_or(0, |number| number.end());
        line.insert(at, '\\');
    }
    if line.len() > max_bytes || more {
        if max_bytes < ELLIPSIS.len() {
            return String::new();
        }
        line.truncate(boundary(&line, max_bytes - ELLIPSIS.len()));
        // What joined two signs joins nothing once the second is cut off, and would be hidden.
        while *escape(&line) != line {
            line.pop();
        }
        line.push_str(ELLIPSIS);
    }
    line
}

/// Makes outside text safe to print over several lines: line feeds and tabs stay, whatever else cannot be seen is
/// shown escaped (0.5).
pub fn block(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    UNSEEN
        .replace_all(&text, |found: &Captures<'_>| match &found[0] {
            "\n" | "\t" => found[0].to_owned(),
            _ => shown(found),
        })
        .into_owned()
}

/// Makes a message safe to type into a pane (A.9): line feeds and tabs stay, other control characters go, and so do
/// the brackets of a paste, also those that only form when something between is removed.
pub fn message(text: &str) -> String {
    let opens = |c: char| c == '\u{1b}' || c == '\u{9b}';
    let text: String = text
        .replace("\r\n", "\n")
        .chars()
        .filter(|c| !c.is_control() || opens(*c) || matches!(c, '\n' | '\t'))
        .collect();
    let mut kept = without_brackets(&text);
    kept.retain(|c| !opens(c));
    kept
}

/// A text without the brackets of a paste, also those that only form when one between goes.
pub fn without_brackets(text: &str) -> String {
    const BRACKETS: [&str; 4] = ["\u{1b}[201~", "\u{1b}[200~", "\u{9b}201~", "\u{9b}200~"];
    let mut kept = String::with_capacity(text.len());
    for part in text.split_inclusive('~') {
        kept.push_str(part);
        if let Some(bracket) = BRACKETS.iter().find(|bracket| kept.ends_with(**bracket)) {
            kept.truncate(kept.len() - bracket.len());
        }
    }
    kept
}

/// The last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    // Replace by `str::floor_char_boundary` when the MSRV reaches 1.91.
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

fn escape(text: &str) -> Cow<'_, str> {
    UNSEEN.replace_all(text, shown)
}

fn shown(found: &Captures<'_>) -> String {
    match found.name("hide") {
        Some(hidden) => hidden
            .as_str()
            .chars()
            .map(|c| c.escape_unicode().to_string())
            .collect(),
        None => found[0].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text in which the dangerous characters are as frequent as the harmless ones.
    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            (0u32..0xa0)
                .prop_filter_map("a character", char::from_u32)
                .prop_map(String::from),
            prop::sample::select(vec![
                "\u{1b}[201~",
                "\u{1b}[200~",
                "\u{9b}201~",
                "\u{1b}",
                "[20",
                "1~",
                "\r\n",
                "\n",
                "\t",
                "# ",
                "> ",
                "- ",
                "1. ",
                "---",
                "===",
                "```",
                "* ",
                "\\",
                "\u{202e}",
                "\u{200d}",
                "\u{fe0f}",
                "👩",
                "💻",
                "👋🏻",
                "1",
                "#",
                "\u{20e3}",
                " ",
                "é",
                "漢",
            ])
            .prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    fn is_hidden(c: char) -> bool {
        c.is_control()
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    }

    #[test]
    fn line_breaks_collapse_and_controls_show() {
        assert_eq!(
            display("a\r\n\n b\u{1b}[31m\u{202e}c\u{7f}", 100),
            "a b\\u{1b}[31m\\u{202e}c\\u{7f}"
        );
    }

    #[test]
    fn markdown_structure_at_the_start_is_neutralised() {
        let cases = [
            ("# Blockers", "\\# Blockers"),
            ("\n\n## x", "\\## x"),
            ("> quoted", "\\> quoted"),
            ("- item", "\\- item"),
            ("+ item", "\\+ item"),
            ("* item", "\\* item"),
            ("**Verdict**", "\\**Verdict**"),
            ("12. item", "12\\. item"),
            ("3) item", "3\\) item"),
            ("---", "\\---"),
            ("- - -", "\\- - -"),
            ("===", "\\==="),
            ("```sh", "\\```sh"),
            ("~~~", "\\~~~"),
            ("| a | b |", "\\| a | b |"),
            ("<h1>x", "\\<h1>x"),
            ("[x]: y", "\\[x]: y"),
            ("--flag stays", "--flag stays"),
            ("-5 stays", "-5 stays"),
            ("3.5 stays", "3.5 stays"),
        ];
        for (text, wanted) in cases {
            assert_eq!(display(text, 100), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_says_so() {
        assert_eq!(display("äääää", 10), "äääää");
        assert_eq!(display("ääääää", 10), "äää…");
        assert_eq!(display("abc", 2), "");
        assert_eq!(display(&"x ".repeat(1 << 20), 7), "x x …");
        assert_eq!(display(&"x".repeat(1 << 20), 7), "xxxx…");
    }

    #[test]
    fn emoji_stay_readable_and_loose_joiners_show() {
        let emoji = "👩‍💻 ❤️ 👋🏻 1️⃣ 🏳️‍🌈 🇫🇷 🖼️";
        assert_eq!(display(emoji, 200), emoji);
        assert_eq!(block(emoji), emoji);
        assert_eq!(block("a\u{200d}b\u{fe0f}"), "a\\u{200d}b\\u{fe0f}");
        assert_eq!(block("🏴\u{e0067}"), "🏴\\u{e0067}");
    }

    #[test]
    fn a_block_keeps_lines_and_tabs() {
        assert_eq!(
            block("a\r\n\tb\rc\u{85}\u{2028}"),
            "a\n\tb\\u{d}c\\u{85}\\u{2028}"
        );
        assert_eq!(block("# heading\n- item"), "# heading\n- item");
    }

    #[test]
    fn a_message_loses_controls_and_paste_brackets() {
        let cases = [
            ("a\r\nb\tc\u{0}\u{7f}\u{85}", "a\nb\tc"),
            ("a\u{1b}[201~b", "ab"),
            ("a\u{9b}201~b", "ab"),
            ("a\u{1b}[2\u{1b}[201~01~b", "ab"),
            ("a\u{1b}[20\u{0}1~b", "ab"),
            ("a\u{1b}[200~b\u{1b}\u{1b}[201~", "ab"),
            ("literal [201~ stays", "literal [201~ stays"),
            ("\u{1b}[31mred", "[31mred"),
        ];
        for (text, wanted) in cases {
            assert_eq!(message(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_cut_leaves_no_joiner_behind() {
        assert_eq!(display("¡👩\u{200d}👋🏻", 12), "¡👩…");
        assert_eq!(display("ab1\u{fe0f}\u{20e3}cd", 9), "ab1…");
    }

    proptest! {
        #[test]
        fn display_is_one_bounded_clean_line(text in nasty(), bound in 0usize..80) {
            let line = display(&text, bound);
            prop_assert!(line.len() <= bound);
            prop_assert!(!line.chars().any(is_hidden), "{line:?}");
            prop_assert!(!STRUCTURE.is_match(&line), "{line:?}");
            prop_assert_eq!(display(&line, bound), line);
        }

        #[test]
        fn block_shows_everything_hidden(text in nasty()) {
            let shown = block(&text);
            prop_assert!(!shown.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'), "{shown:?}");
            prop_assert_eq!(block(&shown), shown);
        }

        #[test]
        fn a_message_holds_no_control_but_line_feed_and_tab(text in nasty()) {
            let typed = message(&text);
            prop_assert!(!typed.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{typed:?}");
            prop_assert_eq!(message(&typed), typed);
        }
    }
}
