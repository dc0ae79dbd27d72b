//! The whole console: what of it changed is drawn, and painted.

use super::frame;
use super::paint::{Caret, Painter};
use super::pane;
use super::panel;
use super::text::{piece, row};
use super::theme::{Glyphs, Theme};
use crate::app::layout::{Area, Places, SMALLEST};
use crate::app::{Abilities, App, Depth, Life, Role, Terminal};
use crate::screen::{Damage, Size};

/// How the frame looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its colours.
    pub theme: Theme,
    /// Its signs.
    pub glyphs: Glyphs,
}

impl Look {
    /// The look for a terminal, by what it can do and the colours it has.
    pub fn of(terminal: &Terminal) -> Self {
        let theme = match terminal.abilities.depth {
            Depth::None => Theme::mono(),
            Depth::Ansi => Theme::ansi(),
            Depth::Indexed | Depth::Rgb if terminal.plain => Theme::ansi(),
            Depth::Indexed | Depth::Rgb => Theme::new(terminal.is_dark()),
        };
        Self {
            theme: theme.with(&terminal.theme),
            glyphs: match terminal.reader {
                true => Glyphs::spoken(),
                false => Glyphs::new(terminal.abilities.unicode),
            },
        }
    }
}

/// What was drawn of a pane last, so that only what changed is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    area: Area,
    size: Size,
    is_scrolled: bool,
    is_hint: bool,
    hidden: u16,
}

/// Draws the console.
#[derive(Debug)]
pub struct Console {
    painter: Painter,
    look: Look,
    places: Option<Places>,
    seen: [Option<Seen>; 2],
    /// Something lay over the panes.
    was_covered: bool,
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}

impl Console {
    /// For a terminal that shows nothing of it yet.
    pub fn new() -> Self {
        Self {
            painter: Painter::new(1, 1, Abilities::default()),
            look: Look::of(&Terminal::default()),
            places: None,
            seen: [None, None],
            was_covered: false,
        }
    }

    /// Takes in what the terminal can do and the colours it has.
    fn adapt(&mut self, terminal: &Terminal) {
        let look = Look::of(terminal);
        if self.painter.abilities() != terminal.abilities || self.look != look {
            self.painter.set_abilities(terminal.abilities);
            self.look = look;
            self.forget();
        }
    }

    /// Forgets what the terminal shows: all is drawn anew.
    pub fn forget(&mut self) {
        self.painter.forget();
        self.seen = [None, None];
        self.places = None;
    }

    /// Draws what changed, and appends the bytes that show it. `echo`: of the panes only this one has to be drawn now.
    pub fn draw(&mut self, app: &mut App, echo: Option<Role>, out: &mut Vec<u8>) {
        let (cols, rows) = app.size;
        self.adapt(&app.terminal);
        self.painter.resize(cols, rows);
        let Some(places) = app.places else {
            app.take_frame();
            self.too_small(cols, rows);
            self.painter.paint(None, out);
            return;
        };
        let mut is_framed = app.take_frame();
        if self.places != Some(places) {
            is_framed = true;
            self.places = Some(places);
            self.seen = [None, None];
            self.painter.frame().buffer.reset();
            self.painter.frame().touch_all();
        }
        let is_covered = app.overlay.is_some() || (places.tables_float && app.tables.is_shown);
        if is_covered || self.was_covered {
            self.seen = [None, None];
            is_framed = true;
        }
        self.was_covered = is_covered;
        for role in [Role::Driver, Role::Peer] {
            let waits = echo.is_some_and(|echo| echo != role) && !is_framed;
            if !waits {
                self.pane(app, role, &places);
            }
        }
        let frame = self.painter.frame();
        if is_framed {
            frame::draw(frame, app, &self.look);
            if places.tables_float {
                frame::tables(frame, app, &self.look);
            }
        }
        let caret = match &app.overlay {
            Some(_) => panel::draw(frame, app, &self.look),
            None => caret(app, &places),
        };
        self.painter.paint(caret, out);
    }

    fn pane(&mut self, app: &mut App, role: Role, places: &Places) {
        let area = places.of(role).screen;
        let at = role.at();
        if area.is_empty() {
            self.seen[at] = None;
            return;
        }
        let shows_hint = app.shows_hint;
        let reads = role == Role::Peer
            && app
                .asking
                .as_ref()
                .is_some_and(crate::app::Asking::is_reading);
        let scrolled = app.scroll.take();
        let Some(pane) = app.pane_mut(role) else {
            app.scroll = scrolled;
            return;
        };
        let mut damage = pane.screen.take_damage();
        let is_scrolled = scrolled.as_ref().is_some_and(|scroll| scroll.role == role);
        let hidden = pane.hidden_rows(area.rows);
        let seen = Seen {
            hidden,
            area,
            size: pane.screen.size(),
            is_scrolled,
            is_hint: shows_hint
                && role == Role::Peer
                && pane.life == Life::Starting
                && !is_scrolled,
        };
        // A window stretched for a reading shows what it did before.
        let own = area.rows.max(pane.profile.least_rows);
        let is_stretched = reads && (seen.size.rows, seen.size.cols) != (own, area.cols);
        let is_new = self.seen[at] != Some(seen);
        if is_new {
            damage = Damage::everything();
        }
        let frame = self.painter.frame();
        match &scrolled {
            Some(scroll) if is_scrolled => {
                pane::draw_scrolled(frame, area, &pane.screen, scroll, &self.look.theme);
            }
            _ if is_stretched => {}
            _ => pane::draw_live(frame, area, &pane.screen, hidden, &damage),
        }
        if !is_stretched {
            self.seen[at] = Some(seen);
        }
        app.scroll = scrolled;
        if let Some(Life::Failed(why)) = app.pane(role).map(|pane| &pane.life) {
            panel::failure(self.painter.frame(), area, why, &self.look);
        }
        if seen.is_hint && (is_new || is_scrolled || !damage.is_nothing()) {
            panel::hint(self.painter.frame(), area, app, &self.look);
        }
    }

    fn too_small(&mut self, cols: u16, rows: u16) {
        self.places = None;
        self.seen = [None, None];
        let frame = self.painter.frame();
        frame.buffer.reset();
        frame.touch_all();
        let area = Area::new(0, 0, cols, rows);
        let (least, most) = SMALLEST;
        let lines = [
            format!("too small: {cols}x{rows}"),
            format!("{least}x{most} is needed"),
        ];
        for (at, line) in lines.iter().enumerate() {
            let at = u16::try_from(at).unwrap_or(0);
            row(
                frame,
                area,
                at,
                &[piece(line.clone(), self.look.theme.text)],
                self.look.theme.text,
            );
        }
    }
}

/// Where the cursor stands: in the focused pane, as its child has it.
fn caret(app: &App, places: &Places) -> Option<Caret> {
    let area = places.of(app.focus).screen;
    if let Some(scroll) = &app.scroll {
        let row = u16::try_from(scroll.cursor.row.checked_sub(scroll.top)?).ok()?;
        return (row < area.rows).then(|| Caret {
            col: area.col + scroll.cursor.col.min(area.cols.saturating_sub(1)),
            row: area.row + row,
            shape: 0,
        });
    }
    if app.tables.has_keys {
        return None;
    }
    let pane = app.focused();
    let cursor = pane.screen.cursor();
    let row = cursor.row.checked_sub(pane.hidden_rows(area.rows))?;
    let is_inside = cursor.col < area.cols && row < area.rows;
    (cursor.visible && is_inside && pane.is_alive()).then(|| Caret {
        col: area.col + cursor.col,
        row: area.row + row,
        shape: pane.screen.cursor_shape(),
    })
}
