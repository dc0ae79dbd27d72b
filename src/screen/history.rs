//! The rows that left the top of the screen, oldest first, numbered from the first one ever.

use std::collections::VecDeque;

use super::row::Row;

/// The scrollback.
#[derive(Debug)]
pub(super) struct History {
    rows: VecDeque<Row>,
    /// Number of the oldest row kept.
    first: u64,
    limit: usize,
    generation: u32,
    frozen: Option<Frozen>,
}

/// What is shown while a synchronized frame is drawn.
#[derive(Debug)]
struct Frozen {
    end: u64,
    generation: u32,
    /// The rows and the number of the first, once a wipe took them.
    rows: Option<(VecDeque<Row>, u64)>,
}

impl History {
    /// An empty one that keeps `limit` rows.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            rows: VecDeque::new(),
            first: 0,
            limit,
            generation: 0,
            frozen: None,
        }
    }

    /// The rows that were kept before, the last of which is numbered one below `end`.
    pub(super) fn of(limit: usize, end: u64, generation: u32, rows: Vec<Row>) -> Option<Self> {
        let first = end.checked_sub(rows.len() as u64)?;
        (rows.len() <= limit).then(|| Self {
            rows: rows.into(),
            first,
            limit,
            generation,
            frozen: None,
        })
    }

    /// The history of a screen that follows this one: empty, its rows numbered from here on.
    pub(super) fn successor(&self, limit: usize) -> Self {
        Self {
            rows: VecDeque::new(),
            first: self.real_end(),
            limit,
            generation: self.generation.wrapping_add(1),
            frozen: None,
        }
    }

    /// Adds a row; the oldest one goes when there is no room.
    pub(super) fn push(&mut self, row: Row) {
        if self.limit == 0 {
            self.first += 1;
            return;
        }
        if self.rows.len() >= self.limit {
            self.rows.pop_front();
            self.first += 1;
        }
        self.rows.push_back(row);
    }

    /// Forgets all rows.
    pub(super) fn wipe(&mut self) {
        let first = self.first;
        self.first = self.real_end();
        let rows = std::mem::take(&mut self.rows);
        if let Some(frozen) = &mut self.frozen
            && frozen.rows.is_none()
        {
            frozen.rows = Some((rows, first));
        }
        self.generation = self.generation.wrapping_add(1);
    }

    /// Shows what is here now until `thaw`, whatever is pushed or wiped in between.
    pub(super) fn freeze(&mut self) {
        self.frozen = Some(Frozen {
            end: self.end(),
            generation: self.generation,
            rows: None,
        });
    }

    /// Shows everything again.
    pub(super) fn thaw(&mut self) {
        self.frozen = None;
    }

    /// Number of the row after the last one shown.
    pub(super) fn end(&self) -> u64 {
        match &self.frozen {
            Some(frozen) => frozen.end,
            None => self.real_end(),
        }
    }

    fn real_end(&self) -> u64 {
        self.first + self.rows.len() as u64
    }

    /// Number of the oldest row shown.
    pub(super) fn first(&self) -> u64 {
        match &self.frozen {
            Some(Frozen {
                rows: Some((_, first)),
                ..
            }) => *first,
            _ => self.first,
        }
    }

    /// The row of this number, when it is kept and shown.
    pub(super) fn get(&self, number: u64) -> Option<&Row> {
        let rows = match &self.frozen {
            Some(Frozen {
                rows: Some((rows, _)),
                ..
            }) => rows,
            _ => &self.rows,
        };
        if number >= self.end() {
            return None;
        }
        rows.get(usize::try_from(number.checked_sub(self.first())?).ok()?)
    }

    /// How often it was wiped.
    pub(super) fn generation(&self) -> u32 {
        self.frozen
            .as_ref()
            .map_or(self.generation, |frozen| frozen.generation)
    }

    /// The rows shown, from the one numbered `from` on, led by those that run on into it.
    pub(super) fn since(&self, from: u64) -> impl Iterator<Item = &Row> {
        let (rows, first) = match &self.frozen {
            Some(Frozen {
                rows: Some((rows, first)),
                ..
            }) => (rows, *first),
            _ => (&self.rows, self.first),
        };
        let place = |number: u64| {
            usize::try_from(number.saturating_sub(first))
                .unwrap_or(usize::MAX)
                .min(rows.len())
        };
        let end = place(self.end());
        let mut start = place(from).min(end);
        while start > 0 && rows[start - 1].wrapped {
            start -= 1;
        }
        rows.range(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str, wrapped: bool) -> Row {
        Row {
            text: text.into(),
            wrapped,
            ..Row::default()
        }
    }

    fn texts(history: &History, from: u64) -> Vec<&str> {
        history.since(from).map(|row| &*row.text).collect()
    }

    #[test]
    fn the_oldest_row_goes_and_the_numbers_stay() {
        let mut history = History::new(2);
        for text in ["a", "b", "c"] {
            history.push(row(text, false));
        }
        assert_eq!(history.end(), 3);
        assert_eq!(texts(&history, 0), ["b", "c"]);
        assert_eq!(texts(&history, 2), ["c"]);
    }

    #[test]
    fn rows_begin_where_their_line_begins() {
        let mut history = History::new(9);
        history.push(row("a", false));
        history.push(row("b", true));
        history.push(row("c", false));
        assert_eq!(texts(&history, 2), ["b", "c"]);
    }

    #[test]
    fn a_wipe_keeps_the_numbering() {
        let mut history = History::new(9);
        history.push(row("a", false));
        history.wipe();
        history.push(row("b", false));
        assert_eq!((history.generation(), history.end()), (1, 2));
        assert_eq!(texts(&history, 0), ["b"]);
    }

    #[test]
    fn frozen_rows_stay_whatever_happens() {
        let mut history = History::new(9);
        history.push(row("a", false));
        history.freeze();
        history.push(row("b", false));
        assert_eq!((texts(&history, 0), history.end()), (vec!["a"], 1));
        history.wipe();
        history.push(row("c", false));
        history.wipe();
        history.push(row("d", false));
        assert_eq!(
            (texts(&history, 0), history.end(), history.generation()),
            (vec!["a"], 1, 0)
        );
        history.thaw();
        assert_eq!(
            (texts(&history, 0), history.end(), history.generation()),
            (vec!["d"], 4, 2)
        );
    }
}
