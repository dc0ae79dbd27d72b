//! Where everything stands: the outer terminal's size cut into titles, panes, strip, tables and status line (console.md).

use super::Role;
use crate::screen::Size;

/// A rectangle of the outer terminal, in cells; may be empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Area {
    /// Leftmost column.
    pub col: u16,
    /// Topmost row.
    pub row: u16,
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

impl Area {
    /// A rectangle by its corner and its sides.
    pub fn new(col: u16, row: u16, cols: u16, rows: u16) -> Self {
        Self {
            col,
            row,
            cols,
            rows,
        }
    }

    /// Whether nothing fits in it.
    pub fn is_empty(&self) -> bool {
        self.cols == 0 || self.rows == 0
    }

    /// Whether the cell lies in it.
    pub fn holds(&self, col: u16, row: u16) -> bool {
        let inside = |at: u16, from: u16, length: u16| at >= from && at - from < length;
        inside(col, self.col, self.cols) && inside(row, self.row, self.rows)
    }

    /// Cuts `rows` off its top.
    fn split_top(self, rows: u16) -> (Self, Self) {
        let rows = rows.min(self.rows);
        let rest = Self::new(self.col, self.row + rows, self.cols, self.rows - rows);
        (Self { rows, ..self }, rest)
    }

    /// Cuts `rows` off its bottom.
    fn split_bottom(self, rows: u16) -> (Self, Self) {
        let rows = rows.min(self.rows);
        let (rest, bottom) = self.split_top(self.rows - rows);
        (rest, bottom)
    }

    /// Cuts it in two side by side with a column for a rule between.
    fn split_columns(self) -> (Self, Self, Self) {
        let left = self.cols.saturating_sub(1) / 2;
        let rule = 1.min(self.cols);
        let right = self.cols - left - rule;
        (
            Self { cols: left, ..self },
            Self::new(self.col + left, self.row, rule, self.rows),
            Self::new(self.col + left + rule, self.row, right, self.rows),
        )
    }
}

/// How the two panes stand to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// Side by side where there is room for it, else one above the other.
    #[default]
    Auto,
    /// Side by side.
    Columns,
    /// One above the other.
    Rows,
    /// The focused one alone.
    Zoom,
}

/// Below this width two panes side by side leave an agent too little (issue CONSOLE 1).
const SIDE_BY_SIDE: u16 = 100;
/// Smallest terminal the console is drawn on.
pub const SMALLEST: (u16, u16) = (30, 10);
/// Lowest terminal on which tables stand below the panes; on a lower one they lie over them.
pub const TABLE_ROWS: u16 = 32;

/// What is wished of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// How the panes stand.
    pub layout: Layout,
    /// The pane with the focus: the one a zoom shows.
    pub focus: Role,
    /// Whether there is a driver at all.
    pub has_driver: bool,
    /// Rows of the tables, their headings included; 0 when they are not shown.
    pub tables: u16,
    /// Whether nothing stands beside anything else, for one who hears the screen row by row.
    pub linear: bool,
}

/// A pane's place: its title line and its screen. Empty where the pane is not shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The title line.
    pub title: Area,
    /// The screen.
    pub screen: Area,
}

/// Where everything stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    /// The whole terminal.
    pub all: Area,
    /// The top line.
    pub top: Area,
    /// The driver's pane.
    pub driver: Place,
    /// The peer's pane.
    pub peer: Place,
    /// The vertical rule between panes that stand side by side.
    pub rule: Area,
    /// Both panes with their titles: what lies over the panes lies here.
    pub panes: Area,
    /// The strip of rounds.
    pub strip: Area,
    /// The receipts, heading included.
    pub receipts: Area,
    /// The fallbacks, heading included.
    pub fallbacks: Area,
    /// The status line.
    pub status: Area,
    /// Whether the tables lie over the panes.
    pub tables_float: bool,
}

impl Places {
    /// Cuts a terminal of this size; none when it is too small for anything.
    pub fn cut(size: (u16, u16), wish: &Wish) -> Option<Self> {
        let (cols, rows) = size;
        if cols < SMALLEST.0 || rows < SMALLEST.1 {
            return None;
        }
        let all = Area::new(0, 0, cols, rows);
        let (top, rest) = all.split_top(1);
        let (rest, status) = rest.split_bottom(1);
        let tables_float = rows < TABLE_ROWS;
        let height = wish.tables.min(rest.rows / 2);
        let (rest, tables) = match tables_float {
            true => (rest, rest.split_bottom(height).1),
            false => rest.split_bottom(height),
        };
        let roomy = rows >= TABLE_ROWS;
        let (panes, strip) = rest.split_bottom(if roomy { 2 } else { 1 });
        let tables = match tables_float && height > 0 {
            true => panes.split_bottom(height).1,
            false => tables,
        };
        let (receipts, fallbacks) = match wish.linear {
            true => tables.split_top(tables.rows.div_ceil(2)),
            false => {
                let (left, _, right) = tables.split_columns();
                (left, right)
            }
        };
        let mut places = Self {
            all,
            top,
            panes,
            strip,
            status,
            receipts,
            fallbacks,
            tables_float,
            ..Self::default()
        };
        places.cut_panes(wish);
        Some(places)
    }

    fn cut_panes(&mut self, wish: &Wish) {
        let place = |area: Area| {
            let (title, screen) = area.split_top(1);
            Place { title, screen }
        };
        let layout = match wish.layout {
            Layout::Auto | Layout::Columns if wish.linear => Layout::Zoom,
            Layout::Auto if self.panes.cols >= SIDE_BY_SIDE => Layout::Columns,
            Layout::Auto => Layout::Rows,
            layout => layout,
        };
        if !wish.has_driver {
            self.peer = place(self.panes);
            return;
        }
        match (layout, wish.focus) {
            (Layout::Zoom, Role::Driver) => self.driver = place(self.panes),
            (Layout::Zoom, Role::Peer) => self.peer = place(self.panes),
            (Layout::Columns, _) => {
                let (left, rule, right) = self.panes.split_columns();
                self.driver = place(left);
                self.rule = rule;
                self.peer = place(right);
            }
            (Layout::Auto | Layout::Rows, _) => {
                let (above, below) = self.panes.split_top(self.panes.rows.div_ceil(2));
                self.driver = place(above);
                self.peer = place(below);
            }
        }
    }

    /// The place of a pane.
    pub fn of(&self, role: Role) -> Place {
        match role {
            Role::Driver => self.driver,
            Role::Peer => self.peer,
        }
    }
}

/// The size a child gets for its place; none where the pane is not shown, so that it keeps what it has.
pub fn size_of(place: Place) -> Option<Size> {
    let Area { cols, rows, .. } = place.screen;
    (!place.screen.is_empty()).then(|| Size::new(cols, rows))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wish(layout: Layout, tables: u16) -> Wish {
        Wish {
            layout,
            focus: Role::Driver,
            has_driver: true,
            tables,
            linear: false,
        }
    }

    #[test]
    fn one_who_hears_the_rows_gets_nothing_side_by_side() {
        let linear = Wish {
            linear: true,
            ..wish(Layout::Auto, 8)
        };
        let places = Places::cut((160, 45), &linear).unwrap_or_default();
        assert_eq!(places.driver.screen.cols, 160);
        assert!(places.peer.screen.is_empty() && places.rule.is_empty());
        assert_eq!([places.receipts.cols, places.fallbacks.cols], [160, 160]);
        assert!(places.fallbacks.row > places.receipts.row);
    }

    #[test]
    fn wide_terminals_have_the_panes_side_by_side_and_narrow_ones_stacked() {
        let wide = Places::cut((120, 40), &wish(Layout::Auto, 0)).unwrap_or_default();
        assert_eq!(wide.driver.screen, Area::new(0, 2, 59, 35));
        assert_eq!(wide.rule, Area::new(59, 1, 1, 36));
        assert_eq!(wide.peer.screen, Area::new(60, 2, 60, 35));
        let narrow = Places::cut((80, 24), &wish(Layout::Auto, 0)).unwrap_or_default();
        assert_eq!(narrow.driver.screen, Area::new(0, 2, 80, 10));
        assert_eq!(narrow.peer.screen, Area::new(0, 13, 80, 9));
        assert!(narrow.rule.is_empty());
    }

    #[test]
    fn a_terminal_too_small_for_anything_is_told() {
        assert_eq!(Places::cut((1, 1), &wish(Layout::Auto, 0)), None);
        assert_eq!(Places::cut((30, 9), &wish(Layout::Auto, 0)), None);
        assert!(Places::cut(SMALLEST, &wish(Layout::Auto, 8)).is_some());
    }

    #[test]
    fn without_a_driver_the_peer_has_it_all() {
        let alone = Wish {
            has_driver: false,
            ..wish(Layout::Auto, 0)
        };
        let places = Places::cut((120, 40), &alone).unwrap_or_default();
        assert_eq!(places.peer.screen, Area::new(0, 2, 120, 35));
        assert_eq!(size_of(places.driver), None);
    }

    proptest! {
        #[test]
        fn nothing_leaves_the_terminal_and_fixed_places_never_overlap(
            cols in 1u16..600, rows in 1u16..300, tables in 0u16..40, layout in 0usize..4, driver: bool,
        ) {
            let layout = [Layout::Auto, Layout::Columns, Layout::Rows, Layout::Zoom][layout];
            let wish = Wish { has_driver: driver, ..wish(layout, tables) };
            if let Some(places) = Places::cut((cols, rows), &wish) {
                let mut fixed = vec![
                    places.top, places.driver.title, places.driver.screen, places.rule,
                    places.peer.title, places.peer.screen, places.strip, places.status,
                ];
                if !places.tables_float {
                    fixed.extend([places.receipts, places.fallbacks]);
                }
                let mut taken = vec![false; usize::from(cols) * usize::from(rows)];
                for area in fixed {
                    for row in area.row..area.row + area.rows {
                        for col in area.col..area.col + area.cols {
                            prop_assert!(col < cols && row < rows);
                            let at = usize::from(row) * usize::from(cols) + usize::from(col);
                            prop_assert!(!std::mem::replace(&mut taken[at], true));
                        }
                    }
                }
                prop_assert!(!places.peer.screen.is_empty() || !places.driver.screen.is_empty());
            }
        }
    }
}
