//! The text of one cell: what of it may reach the outer terminal, and how sure it is how wide that terminal draws it.
//!
//! The painter is the last one to look at what a child printed, so it asks here whoever drew the cell.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use crate::screen;

/// Columns a cell's text takes, as the emulator counts them; what is empty is a blank.
pub(super) fn width(text: &str) -> usize {
    match text.len() {
        0 | 1 => 1,
        _ => screen::columns(text)
            .next()
            .map_or(1, |(.., width)| usize::from(width.clamp(1, 2))),
    }
}

/// Whether every terminal takes as many columns for it as the emulator does.
///
/// They agree on single characters of the scripts and signs listed here. They do not on what is put together (variation
/// selectors, joiners), on pictographs, which become emoji or wide with the version of Unicode, and on private ones.
pub(super) fn is_sure(text: &str) -> bool {
    let mut chars = text.chars();
    let (Some(char), None) = (chars.next(), chars.next()) else {
        return text.is_empty();
    };
    matches!(char,
        // Latin, Greek, Cyrillic, Armenian.
        '\0'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{58f}'
        | '\u{1e00}'..='\u{1fff}'
        // Punctuation, money, arrows, mathematics; lines, blocks and shapes; Braille.
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203b}' | '\u{20a0}'..='\u{20bf}'
        | '\u{2190}'..='\u{2193}' | '\u{21b0}'..='\u{22ff}' | '\u{2500}'..='\u{25a9}'
        | '\u{25ac}'..='\u{25b5}' | '\u{25b7}'..='\u{25bf}' | '\u{25c1}'..='\u{25fa}'
        | '\u{2800}'..='\u{28ff}'
        // Kana, Han, Hangul, fullwidth forms.
        | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a0}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{ff01}'..='\u{ff60}'
    )
}

/// Whether it takes one column, in every terminal.
pub(super) fn is_narrow(text: &str) -> bool {
    text.len() == 1 || (!text.is_empty() && is_sure(text) && width(text) == 1)
}

/// What is written for a cell's text. `is_utf8`: the terminal reads UTF-8; where it does not, the bytes of a character
/// might be controls to it.
pub(super) fn written(text: &str, is_utf8: bool) -> Cow<'_, str> {
    match text.as_bytes() {
        [0x20..=0x7e] => return Cow::Borrowed(text),
        [] => return Cow::Borrowed(" "),
        _ => {}
    }
    if !is_utf8 {
        let sign = text
            .chars()
            .find(|char| !is_hidden(*char))
            .map_or(' ', ascii);
        return Cow::Owned(sign.to_string().repeat(width(text)));
    }
    if text.chars().any(is_hidden) {
        let text: String = text.chars().filter(|char| !is_hidden(*char)).collect();
        return Cow::Owned(on_a_cell(&text).into_owned());
    }
    on_a_cell(text)
}

/// The same with a blank below where it has no width of its own: it would join the cell before.
fn on_a_cell(text: &str) -> Cow<'_, str> {
    match text.chars().next().map(UnicodeWidthChar::width) {
        Some(Some(1..)) => Cow::Borrowed(text),
        _ => Cow::Owned(format!(" {text}")),
    }
}

/// Controls, what turns the direction of text, and what is not seen. What joins or varies signs stays.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
        )
}

/// The sign of ASCII that comes nearest.
fn ascii(char: char) -> char {
    match char {
        ' '..='~' => char,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{3000}' | '\u{2800}' => ' ',
        '─' | '━' | '┄' | '┅' | '┈' | '┉' | '╌' | '╍' | '═' | '‐'..='―' => {
            '-'
        }
        '│' | '┃' | '┆' | '┇' | '┊' | '┋' | '╎' | '╏' | '║' => '|',
        '\u{2500}'..='\u{257f}' => '+',
        '\u{2580}'..='\u{259f}' => '#',
        '·' | '•' | '●' | '∙' | '⏺' => '*',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '…' => '.',
        '›' | '❯' | '→' | '▶' | '»' => '>',
        '‹' | '❮' | '←' | '◀' | '«' => '<',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_lines_are_drawn_with_is_narrow_everywhere() {
        let narrow = |text: &&str| is_narrow(text);
        let texts = [
            "a", "\u{2502}", "\u{e9}", "", "\u{4e16}", "\u{2764}", "e\u{301}",
        ];
        let found: Vec<&str> = texts.into_iter().filter(narrow).collect();
        assert_eq!(found, ["a", "\u{2502}", "\u{e9}"]);
    }

    #[test]
    fn nothing_hidden_is_written() {
        for (text, wanted) in [
            ("a", "a"),
            ("", " "),
            ("\u{1b}", " "),
            ("\u{9b}", " "),
            ("\u{7f}", " "),
            ("x\u{202e}\u{200b}\u{feff}", "x"),
            ("\u{2066}", " "),
            ("e\u{301}", "e\u{301}"),
            ("\u{301}", " \u{301}"),
            ("世", "世"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
            ("👩\u{200d}", "👩\u{200d}"),
        ] {
            assert_eq!(written(text, true), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_terminal_that_reads_no_utf_8_gets_ascii_of_the_same_width() {
        for (text, wanted) in [
            ("a", "a"),
            ("─", "-"),
            ("┼", "+"),
            ("Û", "?"),
            ("世", "??"),
            ("e\u{301}", "e"),
            ("\u{9b}", " "),
        ] {
            assert_eq!(written(text, false), wanted, "{text:?}");
        }
    }

    #[test]
    fn terminals_differ_on_emoji_and_what_is_put_together() {
        for text in ["a", "é", "世", "─", "●", "한", "→", ""] {
            assert!(is_sure(text), "{text:?}");
        }
        for text in [
            "❤\u{fe0f}",
            "👩",
            "☺",
            "⏺",
            "✔",
            "e\u{301}",
            "\u{301}",
            "\u{e0b0}",
        ] {
            assert!(!is_sure(text), "{text:?}");
        }
    }

    #[test]
    fn what_is_sure_takes_one_or_two_columns() {
        let sure = (0x20..=0x0010_ffff).filter_map(char::from_u32);
        for char in sure.filter(|char| !char.is_control()) {
            let text = char.to_string();
            if is_sure(&text) {
                let known = screen::columns(&text).next().map(|(.., width)| width);
                assert!(matches!(known, Some(1 | 2)), "{char:?} {known:?}");
                assert_eq!(written(&text, true), text);
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_a_cell_holds_printable_text_is_written(text in any::<String>(), is_utf8: bool) {
            let written = written(&text, is_utf8);
            prop_assert!(!written.is_empty());
            prop_assert!(!written.chars().any(is_hidden));
            prop_assert!(is_utf8 || written.is_ascii());
        }
    }
}
