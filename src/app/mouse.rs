//! The mouse: a click focuses, the wheel scrolls, a drag selects and copies, unless the child asked for the mouse.

use super::input::{Button, Mods, Mouse, MouseKind, encode_mouse, encode_wheel_as_keys};
use super::scroll::{Scroll, copy};
use super::{App, Effect, Overlay, Role};
use crate::screen::Mouse as Wanted;

/// Rows a turn of the wheel scrolls.
const WHEEL: i64 = 3;

impl App {
    pub(super) fn mouse(&mut self, mouse: &Mouse, out: &mut Vec<Effect>) {
        if !self.opening.mouse {
            return;
        }
        if let Some(Overlay::Reader(reader)) = &mut self.overlay {
            match mouse.kind {
                MouseKind::WheelUp => reader.top = reader.top.saturating_sub(3),
                MouseKind::WheelDown => reader.top += 3,
                _ => {}
            }
            self.is_changed = true;
            return;
        }
        if self.overlay.is_some() {
            return;
        }
        if self.drag.is_some() {
            return self.drag_on(mouse, out);
        }
        let Some((role, within)) = self.pane_at(mouse) else {
            return;
        };
        let is_click = matches!(mouse.kind, MouseKind::Press(_));
        if is_click && role != self.focus {
            self.set_focus(role, out);
        }
        // With Shift the mouse is the console's, whatever the child wants.
        if !mouse.mods.has(Mods::SHIFT) && self.child_mouse(role, &within, out) {
            return;
        }
        match mouse.kind {
            MouseKind::WheelUp => self.wheel(role, -WHEEL, out),
            MouseKind::WheelDown => self.wheel(role, WHEEL, out),
            MouseKind::Press(Button::Left) => self.drag_begins(role, &within),
            _ => {}
        }
    }

    /// The pane under the mouse, and the event in its own columns and rows.
    fn pane_at(&self, mouse: &Mouse) -> Option<(Role, Mouse)> {
        let places = self.places?;
        let role = [Role::Driver, Role::Peer]
            .into_iter()
            .find(|role| places.of(*role).screen.holds(mouse.col, mouse.row))?;
        let area = places.of(role).screen;
        let within = Mouse {
            col: mouse.col - area.col,
            row: mouse.row - area.row,
            ..*mouse
        };
        Some((role, within))
    }

    /// Hands the event to the child, if it wants the mouse and may be typed to.
    fn child_mouse(&mut self, role: Role, within: &Mouse, out: &mut Vec<Effect>) -> bool {
        let is_scrolled = self
            .scroll
            .as_ref()
            .is_some_and(|scroll| scroll.role == role);
        let Some(pane) = self
            .pane(role)
            .filter(|pane| pane.is_alive() && !is_scrolled)
        else {
            return false;
        };
        let within = &Mouse {
            row: within.row + self.window(role).1,
            ..*within
        };
        let modes = pane.screen.modes();
        let wants = modes.mouse != Wanted::Off;
        let bytes =
            encode_mouse(within, modes, self.cell).or_else(|| encode_wheel_as_keys(within, modes));
        if role == Role::Peer && (self.asking.is_some() || !self.types_to_peer) {
            // The peer is not touched; its own way to scroll is left to it while nothing goes on.
            let scrolls = within.is_wheel() && self.asking.is_none();
            if !scrolls {
                return false;
            }
        }
        match bytes {
            Some(bytes) => {
                self.await_echo(role);
                out.push(Effect::Write(role, bytes));
                true
            }
            None => wants,
        }
    }

    fn wheel(&mut self, role: Role, rows: i64, out: &mut Vec<Effect>) {
        if self
            .scroll
            .as_ref()
            .is_none_or(|scroll| scroll.role != role)
        {
            if rows > 0 {
                return;
            }
            self.set_focus(role, out);
            self.begin_scroll(true);
        }
        let Some(mut scroll) = self.scroll.take() else {
            return;
        };
        let ends = self
            .pane(role)
            .is_none_or(|pane| scroll.by(rows, &pane.screen));
        self.scroll = (!ends).then_some(scroll);
        self.is_changed = true;
    }

    fn drag_begins(&mut self, role: Role, within: &Mouse) {
        let window = self.window(role);
        let held = self.scroll.take();
        let Some(pane) = self.pane(role) else {
            return;
        };
        let mut scroll = match held {
            Some(scroll) if scroll.role == role => scroll,
            _ => Scroll::new(role, &pane.screen, window, true),
        };
        scroll.mouse(within.col, within.row, true, within.mods.has(Mods::ALT));
        scroll.selection = None;
        self.scroll = Some(scroll);
        self.drag = Some(role);
    }

    fn drag_on(&mut self, mouse: &Mouse, out: &mut Vec<Effect>) {
        let (Some(role), Some(places)) = (self.drag, self.places) else {
            return;
        };
        let area = places.of(role).screen;
        let col = mouse.col.clamp(
            area.col,
            (area.col + area.cols).saturating_sub(1).max(area.col),
        ) - area.col;
        let row = mouse.row.clamp(
            area.row,
            (area.row + area.rows).saturating_sub(1).max(area.row),
        ) - area.row;
        let Some(mut scroll) = self.scroll.take() else {
            self.drag = None;
            return;
        };
        match mouse.kind {
            MouseKind::Move(Some(_)) => {
                if scroll.selection.is_none() {
                    scroll.selection = Some(super::scroll::Selection {
                        anchor: scroll.cursor,
                        head: scroll.cursor,
                        is_block: mouse.mods.has(Mods::ALT),
                    });
                }
                scroll.mouse(col, row, false, false);
                self.scroll = Some(scroll);
            }
            MouseKind::Release(_) => {
                self.drag = None;
                let text = match (&scroll.selection, self.pane(role)) {
                    (Some(selection), Some(pane)) => copy(&pane.screen, selection),
                    _ => String::new(),
                };
                let was_live = self
                    .pane(role)
                    .is_some_and(|pane| scroll.above(&pane.screen) == 0);
                scroll.selection = None;
                self.scroll = (!was_live).then_some(scroll);
                self.copy(text, out);
            }
            _ => self.scroll = Some(scroll),
        }
        self.is_changed = true;
    }
}
