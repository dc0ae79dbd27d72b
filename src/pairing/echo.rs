//! Finding what was sent on the screen that shows it again (A.11).
//!
//! Agents wrap it, take its Markdown apart and cut its blanks, so only letters and digits are compared.

use super::grammar::Row;

/// Letters and digits in order, with the row each stands in.
pub(super) struct Stream {
    text: String,
    /// Byte offsets of `text` at which a row begins, with the row's number.
    rows: Vec<(usize, usize)>,
}

/// What of a text is compared.
pub(super) fn essence(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

impl Stream {
    pub(super) fn of(rows: &[Row], from: usize) -> Self {
        let mut text = String::new();
        let mut starts = Vec::new();
        for (at, row) in rows.iter().enumerate().skip(from) {
            starts.push((text.len(), at));
            text.extend(row.text.chars().filter(|c| c.is_alphanumeric()));
        }
        Self { text, rows: starts }
    }

    /// The row that holds byte `at`.
    fn row(&self, at: usize) -> usize {
        let after = self.rows.partition_point(|&(start, _)| start <= at);
        self.rows[after.saturating_sub(1)].1
    }

    /// The rows of each place where `last` ends what may be the rest of `whole`: as far as the screen or the block goes
    /// back, nothing else stands there.
    fn tails(&self, whole: &str, last: &str, sought: &Sought<'_>) -> Vec<(usize, usize)> {
        let shown = |end: usize| {
            let pairs = self.text[..end].chars().rev().zip(whole.chars().rev());
            pairs
                .take_while(|(here, there)| here == there)
                .map(|(here, _)| here.len_utf8())
                .sum::<usize>()
        };
        let mut out = Vec::new();
        for (at, _) in self.text.match_indices(last) {
            let end = at + last.len();
            let shown = shown(end);
            let from = end - shown;
            let row = self.row(from);
            let opens = self.starts_at(from)
                && (sought.is_echo)(row)
                && !row.checked_sub(1).is_some_and(sought.is_echo);
            let likely = !sought.is_tagged && shown >= whole.len().min(last.len() + ENOUGH);
            if from == 0 || opens || likely {
                out.push((row, self.row(end - 1)));
            }
        }
        out
    }

    /// Whether a row begins at byte `at`.
    fn starts_at(&self, at: usize) -> bool {
        self.rows
            .binary_search_by_key(&at, |&(start, _)| start)
            .is_ok()
    }

    /// The rows (first, last) of each place where `needle` stands, in order, none overlapping.
    pub(super) fn find(&self, needle: &str) -> Vec<(usize, usize)> {
        if needle.is_empty() || self.rows.is_empty() {
            return Vec::new();
        }
        self.text
            .match_indices(needle)
            .map(|(at, found)| (self.row(at), self.row(at + found.len() - 1)))
            .collect()
    }
}

/// Shortest essence by which a cut echo is told from a chance likeness, in bytes.
pub(super) const ENOUGH: usize = 12;

/// What is known of the rows that the echo is sought in.
pub(super) struct Sought<'a> {
    /// Row at which the input box begins: what stands in it was not sent yet.
    pub box_at: usize,
    /// Row up to which the screen stood like this before the text was sent; 0 where that says nothing.
    pub since: usize,
    /// Whether the agent draws a row as one of a prompt that was sent.
    pub is_echo: &'a dyn Fn(usize) -> bool,
    /// Whether a reply begins among rows.
    pub answered: &'a dyn Fn(std::ops::Range<usize>) -> bool,
    /// Whether a tag tells the reply, so that no echo is better than one of an older text.
    pub is_tagged: bool,
}

/// Where the sent text is shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// The row behind it.
    pub end: usize,
    /// Whether all of it was seen.
    pub whole: bool,
}

/// The echo of `sent`: the last place where it stands whole before a reply to it has begun. When its top is gone, its last
/// line decides.
pub(super) fn find(rows: &[Row], sent: &str, sought: &Sought<'_>) -> Option<Shown> {
    let stream = Stream::of(rows, 0);
    let whole = essence(sent);
    let last = sent
        .lines()
        .rev()
        .map(essence)
        .find(|line| !line.is_empty())?;
    let mut places = stream.find(&whole);
    let is_whole = !places.is_empty();
    if !is_whole && last.len() >= ENOUGH {
        places = stream.tails(&whole, &last, sought);
    }
    if places.iter().any(|&(first, _)| first < sought.box_at) {
        places.retain(|&(first, _)| first < sought.box_at);
    }
    // What something had answered before the text was sent is the echo of an older one.
    places.retain(|&(_, end)| {
        let between = rows.get(end + 1..sought.since).unwrap_or_default();
        between.iter().all(Row::is_blank)
    });
    let mut found: Option<usize> = None;
    for (first, end) in places {
        match found {
            // A quotation of the sent text inside the answer is not the echo.
            Some(before) if (sought.answered)(before..first) && !(sought.is_echo)(first) => break,
            _ => found = Some(end + 1),
        }
    }
    found.map(|end| Shown {
        end,
        whole: is_whole,
    })
}
