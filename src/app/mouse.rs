//! The mouse: a click focuses, the wheel scrolls, a drag selects and copies, unless the child asked for the mouse.

use super::input::{Button, Mods, Mouse, MouseKind, encode_mouse, encode_wheel_as_keys};
use super::scroll::{Scroll, Selection, Spot, copy};
use super::{App, Effect, Overlay, Role};
use crate::screen::Mouse as Wanted;

/// Rows a turn of the wheel scrolls.
const WHEEL: i64 = 3;

/// A press that may become a selection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drag {
    role: Role,
    /// Where it was, by the number of the row: output that arrives does not move it.
    from: Spot,
    is_block: bool,
}

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
        if mouse.kind == MouseKind::Move(None) {
            // The button went up where nobody saw it.
            self.held = None;
        }
        if let Some(role) = self.held {
            return self.hold_on(role, mouse, out);
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
            self.held = is_click.then_some(role);
            return;
        }
        match mouse.kind {
            MouseKind::WheelUp => self.wheel(role, -WHEEL, out),
            MouseKind::WheelDown => self.wheel(role, WHEEL, out),
            MouseKind::Press(Button::Left) => self.drag_begins(role, &within),
            _ => {}
        }
    }

    /// A button that went down in a child's pane is the child's until it goes up, wherever that is.
    fn hold_on(&mut self, role: Role, mouse: &Mouse, out: &mut Vec<Effect>) {
        if let Some((col, row)) = self.nearest_in(role, mouse) {
            self.child_mouse(role, &Mouse { col, row, ..*mouse }, out);
        }
        if matches!(mouse.kind, MouseKind::Release(_)) {
            self.held = None;
        }
    }

    /// The place of a pane's screen that is nearest to the mouse.
    fn nearest_in(&self, role: Role, mouse: &Mouse) -> Option<(u16, u16)> {
        let area = self.places?.of(role).screen;
        let within =
            |at: u16, from: u16, count: u16| at.clamp(from, from + count.saturating_sub(1)) - from;
        Some((
            within(mouse.col, area.col, area.cols),
            within(mouse.row, area.row, area.rows),
        ))
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

    /// A press alone changes nothing that is seen: only what is dragged over becomes a selection.
    fn drag_begins(&mut self, role: Role, within: &Mouse) {
        let (_, hidden) = self.window(role);
        let scroll = self.scroll.as_mut().filter(|scroll| scroll.role == role);
        let top = match scroll {
            Some(scroll) => {
                self.is_changed |= scroll.selection.take().is_some();
                scroll.top
            }
            None => {
                let pane = self.pane(role);
                pane.map_or(0, |pane| pane.screen.top_row() + u64::from(hidden))
            }
        };
        self.drag = Some(Drag {
            role,
            from: Spot {
                row: top + u64::from(within.row),
                col: within.col,
            },
            is_block: within.mods.has(Mods::ALT),
        });
    }

    fn drag_on(&mut self, mouse: &Mouse, out: &mut Vec<Effect>) {
        let Some(drag) = self.drag else {
            return;
        };
        let Some((col, row)) = self.nearest_in(drag.role, mouse) else {
            return;
        };
        match mouse.kind {
            MouseKind::Move(Some(_)) => self.drag_to(&drag, col, row),
            MouseKind::Release(_) => self.drag_ends(&drag, out),
            _ => {}
        }
    }

    fn drag_to(&mut self, drag: &Drag, col: u16, row: u16) {
        let window = self.window(drag.role);
        let held = self.scroll.take().filter(|scroll| scroll.role == drag.role);
        let Some(pane) = self.pane(drag.role) else {
            return;
        };
        let mut scroll = held.unwrap_or_else(|| Scroll::new(drag.role, &pane.screen, window, true));
        scroll.selection.get_or_insert(Selection {
            anchor: drag.from,
            head: drag.from,
            is_block: drag.is_block,
        });
        scroll.mouse(col, row);
        self.scroll = Some(scroll);
        self.is_changed = true;
    }

    fn drag_ends(&mut self, drag: &Drag, out: &mut Vec<Effect>) {
        self.drag = None;
        let Some(mut scroll) = self.scroll.take() else {
            return;
        };
        let Some(selection) = scroll.selection.take() else {
            self.scroll = Some(scroll);
            return;
        };
        let Some(pane) = self.pane(drag.role) else {
            return;
        };
        let text = copy(&pane.screen, &selection);
        let was_live = scroll.above(&pane.screen) == 0;
        self.scroll = (!was_live).then_some(scroll);
        self.copy(text, out);
        self.is_changed = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::input::Input;
    use super::super::layout::Layout;
    use super::super::{Alerts, Bindings, Event, Opening, Terminal};
    use super::*;
    use crate::config::bundled_profile;

    fn app() -> App {
        let profile = Arc::new(bundled_profile("demo"));
        App::open(Opening {
            size: (200, 50),
            driver: Some(Arc::clone(&profile)),
            peer: profile,
            repository: "here".to_owned(),
            keys: Bindings::default(),
            layout: Layout::Columns,
            scrollback: 100,
            mouse: true,
            alerts: Alerts::Never,
            confined: "none".to_owned(),
            hint: false,
            terminal: Terminal::default(),
            reader: false,
        })
    }

    fn did(app: &mut App, event: Event<'_>) -> Vec<Effect> {
        app.update(event, Duration::ZERO)
    }

    fn moused(app: &mut App, kind: MouseKind, col: u16, row: u16) -> Vec<Effect> {
        let mods = Mods::NONE;
        let mouse = Mouse {
            kind,
            col,
            row,
            mods,
        };
        let mut effects = did(app, Event::Input(Input::Mouse(mouse)));
        effects.retain(|effect| matches!(effect, Effect::Write(..)));
        effects
    }

    #[test]
    fn a_button_is_the_childs_until_it_goes_up_wherever_that_is() {
        let mut app = app();
        did(&mut app, Event::Started(Role::Driver));
        did(&mut app, Event::Started(Role::Peer));
        did(
            &mut app,
            Event::Output(Role::Driver, b"\x1b[?1002h\x1b[?1006h"),
        );
        let area = app.places.map(|places| places.of(Role::Driver).screen);
        let area = area.expect("there is room for both");
        let (left, button) = (Button::Left, Some(Button::Left));
        let told = |bytes: String| vec![Effect::Write(Role::Driver, bytes.into_bytes())];
        let press = moused(&mut app, MouseKind::Press(left), area.col + 2, area.row + 3);
        assert_eq!(press, told("\x1b[<0;3;4M".to_owned()));
        let (col, row) = (area.cols, area.rows);
        let drag = moused(&mut app, MouseKind::Move(button), 190, area.row + 3);
        assert_eq!(drag, told(format!("\x1b[<32;{col};4M")));
        let up = moused(&mut app, MouseKind::Release(button), 190, 49);
        assert_eq!(up, told(format!("\x1b[<0;{col};{row}m")));
        assert_eq!(moused(&mut app, MouseKind::Move(button), 190, 9), []);
    }
}
