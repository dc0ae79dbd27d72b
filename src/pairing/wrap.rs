//! Undoing the wraps that agents make by hand: a line goes on where its next word would not have fitted (A.11).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// One row of a reply, its gutter taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Text without the agent's gutter; blanks in front of it are the reply's own.
    pub text: String,
    /// Column behind its last sign on the screen.
    pub end_col: usize,
    /// First column that no word reaches.
    pub limit: usize,
    /// Whether the terminal itself wrapped it.
    pub soft: bool,
    /// Row of the screen.
    pub row: usize,
    /// Whether it opens a block of the agent's own.
    pub first: bool,
}

/// One line of a reply, wraps undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub text: String,
    /// Rows of the screen it came from (first, last).
    pub rows: (usize, usize),
    /// Whether it opens a block of the agent's own.
    pub first: bool,
    /// Whether it may as well be the wrapped end of the line above.
    pub doubtful: bool,
    /// Whether it was joined between wide signs.
    pub wide: bool,
}

/// How an agent wraps.
pub(super) struct Wrap<'a> {
    /// Signs behind which a word may be broken without a blank.
    pub break_after: &'a [String],
    /// The sign drawn for the quote mark.
    pub quote: &'a str,
    /// The sign drawn for the list mark.
    pub bullet: &'a str,
    /// Whether a wrapped line of a list item goes on under the item's text.
    pub hangs: bool,
    /// Whether text of wide signs is broken at any of them.
    pub wide_breaks: bool,
}

/// A list mark at the start of a row: the column of its text, counted from the row's start.
pub(super) fn list_text(text: &str, bullet: &str) -> Option<usize> {
    let body = text.trim_start_matches(' ');
    let indent = text.len() - body.len();
    let mark = body
        .strip_prefix(['-', '*', '+', '•', '◦', '▪'])
        .or_else(|| {
            (!bullet.is_empty())
                .then(|| body.strip_prefix(bullet))
                .flatten()
        })
        .or_else(|| {
            let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            (1..=4)
                .contains(&digits)
                .then(|| body[digits..].strip_prefix(['.', ')']))
                .flatten()
        })?;
    let text = mark.trim_start_matches(' ');
    (text.len() < mark.len() || mark.is_empty()).then(|| {
        let sign = body[..body.len() - mark.len()].width();
        indent + sign + (mark.len() - text.len()).max(1)
    })
}

/// Whether a row belongs to a drawn table or is a rule.
pub(super) fn is_drawn(text: &str) -> bool {
    let body = text.trim();
    let line = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    if body.is_empty() {
        return false;
    }
    let lines = body.chars().filter(|&c| line(c)).count();
    let first = body.starts_with(line);
    // A row of cells, a border, or a rule cut to columns.
    (first && body.ends_with(line)) || body.chars().all(|c| line(c) || c == ' ') && lines > 2
}

fn is_wide(c: char) -> bool {
    c.width().unwrap_or(0) > 1
}

/// Whether a row ends a sentence, so that what follows begins anew.
fn ends_sentence(text: &str) -> bool {
    const SHORT: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."];
    let body = text.trim_end_matches(['*', '_', '`', '"', '\'', '”', '’', ')', '»', ' ']);
    body.ends_with(['.', '!', '?', '…', '。', '！', '？'])
        && !SHORT.iter().any(|word| body.ends_with(word))
}

impl Wrap<'_> {
    /// Joins the pieces of a reply to its lines. `keep` names rows that must stay lines of their own.
    pub(super) fn undo(&self, pieces: &[Piece], keep: impl Fn(&Piece) -> bool) -> Vec<Text> {
        let mut out: Vec<Text> = Vec::new();
        // The indent and text column of the line being built, and the piece it ends with.
        let mut head: Option<(usize, usize)> = None;
        for (at, piece) in pieces.iter().enumerate() {
            let above = at.checked_sub(1).map(|i| &pieces[i]);
            let quoted = self.unquoted(&piece.text);
            let join = match (above, head) {
                (Some(above), Some(head)) if !piece.first => self.joint(above, piece, head),
                _ => None,
            };
            let kept = keep(piece);
            match (join, out.last_mut()) {
                (Some(glue), Some(line)) if !kept => {
                    line.wide |= glue.is_empty()
                        && line.text.ends_with(is_wide)
                        && piece.text.trim_start().starts_with(is_wide);
                    line.text.push_str(glue);
                    line.text
                        .push_str(quoted.unwrap_or(&piece.text).trim_start());
                    line.rows.1 = piece.row;
                }
                _ => {
                    let text = self.plain(&piece.text);
                    let body = quoted.unwrap_or(&piece.text);
                    let indent = body.len() - body.trim_start().len();
                    head = (!piece.text.is_empty())
                        .then(|| (indent, list_text(body, self.bullet).unwrap_or(indent)));
                    out.push(Text {
                        text,
                        rows: (piece.row, piece.row),
                        first: piece.first,
                        doubtful: join.is_some()
                            && above.is_some_and(|above| !ends_sentence(&above.text)),
                        wide: false,
                    });
                }
            }
        }
        out
    }

    /// The row without its quote sign.
    fn unquoted<'a>(&self, text: &'a str) -> Option<&'a str> {
        let body = text.trim_start();
        [self.quote, ">"]
            .into_iter()
            .filter(|quote| !quote.is_empty())
            .find_map(|quote| {
                let rest = body.strip_prefix(quote)?;
                Some(rest.strip_prefix(' ').unwrap_or(rest))
            })
    }

    /// The row with the agent's list and quote signs as Markdown writes them.
    fn plain(&self, text: &str) -> String {
        let body = text.trim_start();
        let indent = &text[..text.len() - body.len()];
        if !self.quote.is_empty()
            && !is_drawn(text)
            && let Some(rest) = body.strip_prefix(self.quote)
        {
            return format!("{indent}> {}", rest.trim_start());
        }
        if !self.bullet.is_empty()
            && self.bullet != "-"
            && let Some(rest) = body.strip_prefix(self.bullet)
            && rest.starts_with(' ')
        {
            return format!("{indent}-{rest}");
        }
        text.to_owned()
    }

    /// What stands between two rows of one line, or that they are two lines.
    fn joint(&self, above: &Piece, piece: &Piece, head: (usize, usize)) -> Option<&'static str> {
        if above.text.is_empty()
            || piece.text.is_empty()
            || is_drawn(&above.text)
            || is_drawn(&piece.text)
        {
            return None;
        }
        let (above_quoted, quoted) = (self.unquoted(&above.text), self.unquoted(&piece.text));
        if above_quoted.is_some() != quoted.is_some() {
            return None;
        }
        let body = quoted.unwrap_or(&piece.text);
        let text = body.trim_start();
        // A number and a full stop may be the end of a place in a file as well as a list mark.
        let is_item = list_text(body, self.bullet)
            .is_some_and(|_| text.contains(' ') || !self.is_broken_word(&above.text, text));
        if text.is_empty() || is_item {
            return None;
        }
        let indent = body.len() - text.len();
        let (own, hang) = head;
        let free = above.limit.saturating_sub(above.end_col);
        // The blank between two words may be carried to the next row.
        let carried = usize::from(free <= 1);
        if indent > hang.max(own) + carried {
            return None;
        }
        let tail = above.text.rsplit(' ').next().unwrap_or(&above.text);
        let gutter = above.end_col.saturating_sub(above.text.width());
        let lead = piece.text.width() - text.width();
        let room = above.limit.saturating_sub(gutter + lead);
        // A word that fills a row by itself was cut inside.
        if free == 0 && !tail.is_empty() && tail.width() >= room {
            return Some("");
        }
        let whole = text.split(' ').next().unwrap_or(text);
        // What would have had to fit: the word, up to the first sign behind which it may be broken.
        let word = &whole[..self.breaks(whole).next().unwrap_or(whole.len())];
        if self.is_broken_word(&above.text, text) {
            // Nobody ends a line of his own like that: it is enough that the word as a whole does not fit.
            return (whole.width() > free).then_some("");
        }
        // A sentence that ends where the row does: what follows at the same indent is taken for a line of its own.
        let hanging = self.hangs && indent > own;
        if !hanging && ends_sentence(&above.text) {
            return None;
        }
        let first = text.chars().next()?;
        let last = above.text.chars().next_back()?;
        let broken = self.wide_breaks && (is_wide(first) || is_wide(last));
        if broken && free < first.width().unwrap_or(1) {
            return Some("");
        }
        // Text of wide signs is broken anywhere: what counts is its narrow start, or its first sign.
        let need = match word
            .char_indices()
            .find(|&(_, c)| self.wide_breaks && is_wide(c))
        {
            Some((0, c)) => c.width().unwrap_or(2),
            Some((at, _)) => word[..at].width(),
            None => word.width(),
        };
        if need < free {
            return None;
        }
        // So was one that fills most of it, when it is too long for any row.
        let tail = &tail[self.breaks(tail).last().unwrap_or(0)..];
        if free == 0 && tail.width() + word.width() > room && tail.width() * 2 > room {
            return Some("");
        }
        Some(" ")
    }

    /// Places within a word at which it may be broken, in order.
    fn breaks(&self, word: &str) -> impl Iterator<Item = usize> {
        word.char_indices().map(|(at, _)| at).skip(1).filter(|&at| {
            let head = &word[..at];
            self.break_after
                .iter()
                .any(|sign| head.ends_with(sign.as_str()))
        })
    }

    /// Whether a row ends inside a word: behind one of the signs that allow it, where what was written has no blank.
    fn is_broken_word(&self, above: &str, text: &str) -> bool {
        let ends = |sign: &String| above.ends_with(sign.as_str());
        let Some(sign) = self.break_after.iter().find(|sign| ends(sign)) else {
            return false;
        };
        let (Some(last), Some(next)) = (sign.chars().next_back(), text.chars().next()) else {
            return false;
        };
        let token = above.rsplit(' ').next().unwrap_or(above);
        let body = &token[..token.len() - last.len_utf8()];
        // Signs that no word begins with.
        if matches!(next, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}') {
            return true;
        }
        let lower = next.is_lowercase() || next == '_';
        match last {
            ',' | ';' | '!' | '?' => false,
            ')' | ']' | '}' => matches!(next, '(' | '['),
            ':' => body.ends_with(':') || (next.is_ascii_digit() && body.contains(['.', '/'])),
            '.' => {
                let number = body.ends_with(|c: char| c.is_ascii_digit()) && next.is_ascii_digit();
                let path = body.contains(['/', '_', ':']) && !body.contains('.') && lower;
                let call = body.ends_with(')') && lower;
                number || path || call
            }
            _ => {
                body.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | '>' | '.'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a reply without a gutter in a window of `limit` columns.
    fn undone(wrap: &Wrap<'_>, limit: usize, rows: &[&str]) -> Vec<String> {
        let pieces: Vec<Piece> = rows
            .iter()
            .enumerate()
            .map(|(row, text)| Piece {
                text: (*text).to_owned(),
                end_col: text.width(),
                limit,
                soft: false,
                row,
                first: row == 0,
            })
            .collect();
        let texts = wrap.undo(&pieces, |_| false);
        texts.into_iter().map(|line| line.text).collect()
    }

    fn wrap<'a>(break_after: &'a [String], hangs: bool) -> Wrap<'a> {
        Wrap {
            break_after,
            quote: "│",
            bullet: "-",
            hangs,
            wide_breaks: false,
        }
    }

    #[test]
    fn a_line_goes_on_where_its_next_word_did_not_fit() {
        let wrap = wrap(&[], false);
        for (rows, lines) in [
            (["one two", "three four"], vec!["one two", "three four"]),
            (["one two", "threes four"], vec!["one two threes four"]),
        ] {
            assert_eq!(undone(&wrap, 13, &rows), lines);
        }
    }

    #[test]
    fn a_list_item_and_a_blank_row_begin_anew() {
        let rows = [
            "- one two three four",
            "  five",
            "- sixxxxxxxxxxxxxxxx",
            "",
            "x",
        ];
        assert_eq!(
            undone(&wrap(&[], true), 20, &rows),
            ["- one two three four five", "- sixxxxxxxxxxxxxxxx", "", "x"]
        );
    }

    #[test]
    fn a_word_that_fills_a_row_was_cut_inside() {
        let wrap = wrap(&[], false);
        for (rows, line) in [
            (["src/lib.rs", "_and_more x"], "src/lib.rs_and_more x"),
            (["│ src/lib.", "│ rs:10 x"], "> src/lib.rs:10 x"),
        ] {
            assert_eq!(undone(&wrap, 10, &rows), [line]);
        }
    }

    #[test]
    fn only_the_part_of_a_word_up_to_its_break_had_to_fit() {
        let signs = ["/", ".", ":"].map(str::to_owned);
        for (rows, lines) in [
            // `src/` would have fitted behind `see it`, so the row ended there.
            (
                ["see it", "src/library_table.rs"],
                vec!["see it", "src/library_table.rs"],
            ),
            (
                ["see it in src/", "library_table.rs"],
                vec!["see it in src/library_table.rs"],
            ),
            (
                ["it is in src/lib.", "rs:10, at the start"],
                vec!["it is in src/lib.rs:10, at the start"],
            ),
            (
                ["and that is the end.", "src/lib.rs is well"],
                vec!["and that is the end.", "src/lib.rs is well"],
            ),
            // A word with a break inside is none that was too long for the row.
            (
                ["aaaaaaa abcdefghijkl", "src/library_table.rs"],
                vec!["aaaaaaa abcdefghijkl src/library_table.rs"],
            ),
        ] {
            assert_eq!(undone(&wrap(&signs, false), 20, &rows), lines);
        }
    }
}
