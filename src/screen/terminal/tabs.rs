//! Tab stops: every eighth column until a child sets its own.

use serde::{Deserialize, Serialize};

use crate::limits;

/// The stops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tabs {
    /// One flag for each column there can be; nothing while the stops are the usual ones.
    own: Option<Vec<bool>>,
}

impl Tabs {
    /// Whether the stops are the usual ones, which the crate knows.
    pub(super) fn is_default(&self) -> bool {
        self.own.is_none()
    }

    /// Sets a stop (HTS).
    pub(super) fn set(&mut self, col: u16) {
        self.put(col, true);
    }

    /// Takes a stop away (TBC 0).
    pub(super) fn clear(&mut self, col: u16) {
        self.put(col, false);
    }

    /// Takes all stops away (TBC 3).
    pub(super) fn clear_all(&mut self) {
        self.own = Some(vec![false; usize::from(limits::MAX_SIDE)]);
    }

    fn put(&mut self, col: u16, stop: bool) {
        let own = self.own.get_or_insert_with(|| {
            (0..limits::MAX_SIDE)
                .map(|col| col.is_multiple_of(8))
                .collect()
        });
        if let Some(flag) = own.get_mut(usize::from(col)) {
            *flag = stop;
        }
    }

    fn is_stop(&self, col: u16) -> bool {
        match &self.own {
            Some(own) => own.get(usize::from(col)).copied().unwrap_or(false),
            None => col.is_multiple_of(8),
        }
    }

    /// The stop after `col`, or the last column.
    pub(super) fn next(&self, col: u16, cols: u16) -> u16 {
        (col.saturating_add(1)..cols)
            .find(|col| self.is_stop(*col))
            .unwrap_or(cols - 1)
    }

    /// The stop before `col`, or the first column.
    pub(super) fn previous(&self, col: u16) -> u16 {
        (0..col).rev().find(|col| self.is_stop(*col)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_found_both_ways() {
        let mut tabs = Tabs::default();
        assert_eq!(
            (tabs.next(0, 80), tabs.next(79, 80), tabs.previous(9)),
            (8, 79, 8)
        );
        tabs.set(3);
        tabs.clear(8);
        assert_eq!((tabs.next(0, 80), tabs.next(3, 80)), (3, 16));
        tabs.clear_all();
        assert_eq!((tabs.next(0, 80), tabs.previous(50)), (79, 0));
    }
}
