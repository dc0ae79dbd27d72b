//! The modes a child sets that say how keys, pastes and the mouse reach it, from its first byte on.

use serde::{Deserialize, Serialize};

/// Which mouse events the child asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Mouse {
    /// None.
    #[default]
    Off,
    /// Presses (mode 9).
    Press,
    /// Presses and releases (mode 1000).
    PressRelease,
    /// And moves while a button is down (mode 1002).
    Drag,
    /// And every move (mode 1003).
    Motion,
}

/// How mouse events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MouseEncoding {
    /// One byte for each coordinate.
    #[default]
    Legacy,
    /// One character for each coordinate (mode 1005).
    Utf8,
    /// Decimal, with `<` (mode 1006).
    Sgr,
    /// Decimal, without `<` (mode 1015).
    Urxvt,
    /// As `Sgr`, in pixels (mode 1016).
    SgrPixels,
}

/// The modes in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// Pasted text is wrapped in `ESC [ 200 ~` and `ESC [ 201 ~` (mode 2004).
    pub bracketed_paste: bool,
    /// Cursor keys are sent as `ESC O` (mode 1).
    pub app_cursor: bool,
    /// The keypad sends its own sequences (`ESC =`, mode 66).
    pub app_keypad: bool,
    /// Focus changes are reported (mode 1004).
    pub focus: bool,
    /// Mouse events wanted.
    pub mouse: Mouse,
    /// How they are written.
    pub mouse_encoding: MouseEncoding,
    /// The wheel sends cursor keys on the alternate screen (mode 1007).
    pub alternate_scroll: bool,
    /// Flags of the kitty keyboard protocol, those on top of the stack of the present screen.
    pub kitty_keys: u8,
    /// Level of xterm's modifyOtherKeys.
    pub modify_other_keys: u8,
    /// The alternate screen is shown.
    pub alternate_screen: bool,
    /// Changes of the colour scheme are reported (mode 2031).
    pub color_scheme: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            bracketed_paste: false,
            app_cursor: false,
            app_keypad: false,
            focus: false,
            mouse: Mouse::Off,
            mouse_encoding: MouseEncoding::Legacy,
            alternate_scroll: false,
            kitty_keys: 0,
            modify_other_keys: 0,
            alternate_screen: false,
            color_scheme: false,
        }
    }
}

impl Modes {
    /// Sets one of the modes that are nothing but a value here; tells whether `mode` is one.
    pub(super) fn set(&mut self, mode: u32, on: bool) -> bool {
        match mode {
            1 => self.app_cursor = on,
            9 => self.mouse(Mouse::Press, on),
            66 => self.app_keypad = on,
            1000 => self.mouse(Mouse::PressRelease, on),
            1002 => self.mouse(Mouse::Drag, on),
            1003 => self.mouse(Mouse::Motion, on),
            1004 => self.focus = on,
            1005 => self.encoding(MouseEncoding::Utf8, on),
            1006 => self.encoding(MouseEncoding::Sgr, on),
            1007 => self.alternate_scroll = on,
            1015 => self.encoding(MouseEncoding::Urxvt, on),
            1016 => self.encoding(MouseEncoding::SgrPixels, on),
            2004 => self.bracketed_paste = on,
            2031 => self.color_scheme = on,
            _ => return false,
        }
        true
    }

    /// Whether one of these modes is on; `None` when `mode` is none of them.
    pub(super) fn get(&self, mode: u32) -> Option<bool> {
        Some(match mode {
            1 => self.app_cursor,
            9 => self.mouse == Mouse::Press,
            66 => self.app_keypad,
            1000 => self.mouse == Mouse::PressRelease,
            1002 => self.mouse == Mouse::Drag,
            1003 => self.mouse == Mouse::Motion,
            1004 => self.focus,
            1005 => self.mouse_encoding == MouseEncoding::Utf8,
            1006 => self.mouse_encoding == MouseEncoding::Sgr,
            1007 => self.alternate_scroll,
            1015 => self.mouse_encoding == MouseEncoding::Urxvt,
            1016 => self.mouse_encoding == MouseEncoding::SgrPixels,
            2004 => self.bracketed_paste,
            2031 => self.color_scheme,
            _ => return None,
        })
    }

    fn mouse(&mut self, mouse: Mouse, on: bool) {
        self.mouse = if on { mouse } else { Mouse::Off };
    }

    fn encoding(&mut self, encoding: MouseEncoding, on: bool) {
        if on {
            self.mouse_encoding = encoding;
        } else if self.mouse_encoding == encoding {
            self.mouse_encoding = MouseEncoding::Legacy;
        }
    }
}

/// Entries a stack of kitty keyboard flags holds; the oldest one goes.
const KEY_STACK: usize = 16;
/// The flags the protocol defines.
const KEY_FLAGS: u32 = 0b1_1111;

/// The flags of the kitty keyboard protocol on one screen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeyStack {
    below: Vec<u8>,
    top: u8,
}

impl KeyStack {
    /// The flags in force.
    pub(super) fn flags(&self) -> u8 {
        self.top
    }

    /// `CSI > flags u`.
    pub(super) fn push(&mut self, flags: u32) {
        if self.below.len() == KEY_STACK {
            self.below.remove(0);
        }
        self.below.push(self.top);
        self.top = low(flags);
    }

    /// `CSI < count u`.
    pub(super) fn pop(&mut self, count: u32) {
        for _ in 0..count.min(KEY_STACK as u32 + 1) {
            self.top = self.below.pop().unwrap_or(0);
        }
    }

    /// `CSI = flags ; how u`: 1 sets all, 2 adds, 3 takes away.
    pub(super) fn change(&mut self, flags: u32, how: u32) {
        let flags = low(flags);
        match how {
            1 => self.top = flags,
            2 => self.top |= flags,
            3 => self.top &= !flags,
            _ => {}
        }
    }
}

fn low(flags: u32) -> u8 {
    u8::try_from(flags & KEY_FLAGS).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_flags_stack_and_unstack() {
        let mut keys = KeyStack::default();
        keys.push(1);
        keys.push(7);
        keys.change(8, 2);
        assert_eq!(keys.flags(), 15);
        keys.change(4, 3);
        assert_eq!(keys.flags(), 11);
        keys.pop(1);
        assert_eq!(keys.flags(), 1);
        keys.pop(1000);
        assert_eq!(keys.flags(), 0);
    }

    #[test]
    fn the_stack_of_key_flags_is_bounded() {
        let mut keys = KeyStack::default();
        for _ in 0..1000 {
            keys.push(31);
        }
        assert_eq!(keys.below.len(), KEY_STACK);
    }

    #[test]
    fn turning_another_mouse_encoding_off_changes_nothing() {
        let mut modes = Modes::default();
        assert!(modes.set(1006, true));
        assert!(modes.set(1015, false));
        assert_eq!(modes.mouse_encoding, MouseEncoding::Sgr);
        assert!(!modes.set(4711, true));
    }
}
