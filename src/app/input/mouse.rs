//! The mouse: what the outer terminal tells of it, and how a child wants to hear it.

use super::key::{Code, Mods};
use super::legacy::cursor_key;
use crate::screen::{Modes, Mouse as Wanted, MouseEncoding};

/// A button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// The left one.
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
    /// Another one, by its number from 8 on.
    Extra(u8),
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// A button went down.
    Press(Button),
    /// A button went up; none where the encoding does not tell which.
    Release(Option<Button>),
    /// It moved, with this button down or with none.
    Move(Option<Button>),
    /// The wheel turned up.
    WheelUp,
    /// The wheel turned down.
    WheelDown,
    /// The wheel turned left.
    WheelLeft,
    /// The wheel turned right.
    WheelRight,
}

/// One event of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// What it did.
    pub kind: MouseKind,
    /// Column, from 0.
    pub col: u16,
    /// Row, from 0.
    pub row: u16,
    /// What was held with it.
    pub mods: Mods,
}

impl Mouse {
    /// Reads the code and the place, which count from 1. `down` is what SGR's final byte tells; none for the older
    /// encodings, where button 3 is a release.
    pub(super) fn of_code(code: u32, col: u32, row: u32, down: Option<bool>) -> Option<Self> {
        let place = |at: u32| u16::try_from(at.saturating_sub(1)).ok();
        let mut mods = Mods::NONE;
        for (bit, held) in [(4, Mods::SHIFT), (8, Mods::ALT), (16, Mods::CTRL)] {
            if code & bit != 0 {
                mods |= held;
            }
        }
        let number = code & 3;
        let button = match (code & 0b1100_0000, number) {
            (0, 0) => Some(Button::Left),
            (0, 1) => Some(Button::Middle),
            (0, 2) => Some(Button::Right),
            (128, number) => Some(Button::Extra(8 + u8::try_from(number).ok()?)),
            _ => None,
        };
        let kind = match (code & 64 != 0, number, code & 32 != 0) {
            (true, 0, _) => MouseKind::WheelUp,
            (true, 1, _) => MouseKind::WheelDown,
            (true, 2, _) => MouseKind::WheelLeft,
            (true, _, _) => MouseKind::WheelRight,
            (false, _, true) => MouseKind::Move(button),
            (false, ..) if down == Some(false) => MouseKind::Release(button),
            (false, ..) => match button {
                Some(button) => MouseKind::Press(button),
                None => MouseKind::Release(None),
            },
        };
        Some(Self {
            kind,
            col: place(col)?,
            row: place(row)?,
            mods,
        })
    }

    /// Whether the wheel turned.
    pub fn is_wheel(&self) -> bool {
        use MouseKind::{WheelDown, WheelLeft, WheelRight, WheelUp};
        matches!(self.kind, WheelUp | WheelDown | WheelLeft | WheelRight)
    }

    fn code(&self) -> u32 {
        let button = |button| match button {
            Button::Left => 0,
            Button::Middle => 1,
            Button::Right => 2,
            Button::Extra(number) => 128 + u32::from(number.saturating_sub(8)) % 4,
        };
        let kind = match self.kind {
            MouseKind::Press(pressed) => button(pressed),
            MouseKind::Release(released) => released.map_or(3, button),
            MouseKind::Move(down) => 32 + down.map_or(3, button),
            MouseKind::WheelUp => 64,
            MouseKind::WheelDown => 65,
            MouseKind::WheelLeft => 66,
            MouseKind::WheelRight => 67,
        };
        let mut code = kind;
        for (bit, held) in [(4, Mods::SHIFT), (8, Mods::ALT), (16, Mods::CTRL)] {
            if self.mods.has(held) {
                code |= bit;
            }
        }
        code
    }

    fn is_wanted(&self, wanted: Wanted) -> bool {
        match (self.kind, wanted) {
            (_, Wanted::Off) => false,
            (MouseKind::Move(None), wanted) => wanted == Wanted::Motion,
            (MouseKind::Move(Some(_)), wanted) => matches!(wanted, Wanted::Drag | Wanted::Motion),
            (MouseKind::Release(_), wanted) => wanted != Wanted::Press,
            _ => true,
        }
    }
}

/// The bytes a child with these modes gets for an event at a place of its screen; none when it does not want it.
/// `cell` is the size of a cell in pixels, where the outer terminal told it.
pub fn encode_mouse(mouse: &Mouse, modes: &Modes, cell: Option<(u16, u16)>) -> Option<Vec<u8>> {
    if !mouse.is_wanted(modes.mouse) {
        return None;
    }
    let (col, row) = (u32::from(mouse.col), u32::from(mouse.row));
    // The oldest mode tells nothing but the button.
    let code = match modes.mouse {
        Wanted::Press => mouse.code() & !0b1_1100,
        _ => mouse.code(),
    };
    let is_release = matches!(mouse.kind, MouseKind::Release(_));
    // Only SGR tells which button went up.
    let older = match is_release {
        true => (code & !0b1100_0011) | 3,
        false => code,
    };
    let sgr = |col: u32, row: u32| {
        let last = if is_release { 'm' } else { 'M' };
        format!("\x1b[<{code};{col};{row}{last}").into_bytes()
    };
    Some(match modes.mouse_encoding {
        MouseEncoding::Sgr => sgr(col + 1, row + 1),
        MouseEncoding::SgrPixels => {
            let (width, height) = cell.unwrap_or((1, 1));
            sgr(col * u32::from(width) + 1, row * u32::from(height) + 1)
        }
        MouseEncoding::Urxvt => {
            format!("\x1b[{};{};{}M", older + 32, col + 1, row + 1).into_bytes()
        }
        MouseEncoding::Utf8 => {
            let mut bytes = b"\x1b[M".to_vec();
            for value in [older + 32, col + 33, row + 33] {
                let char = char::from_u32(value).filter(|_| value < 2048)?;
                bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            bytes
        }
        MouseEncoding::Legacy => {
            let mut bytes = b"\x1b[M".to_vec();
            for value in [older + 32, col + 33, row + 33] {
                // A place this encoding has no byte for is not told, as in xterm.
                bytes.push(u8::try_from(value).ok()?);
            }
            bytes
        }
    })
}

/// The cursor keys a turn of the wheel is for a child that has the alternate screen and wants no mouse (mode 1007).
pub fn encode_wheel_as_keys(mouse: &Mouse, modes: &Modes) -> Option<Vec<u8>> {
    let code = match mouse.kind {
        MouseKind::WheelUp => Code::Up,
        MouseKind::WheelDown => Code::Down,
        _ => return None,
    };
    let applies = modes.alternate_screen && modes.alternate_scroll && modes.mouse == Wanted::Off;
    applies.then(|| cursor_key(code, modes).repeat(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(mouse: Wanted, mouse_encoding: MouseEncoding) -> Modes {
        Modes {
            mouse,
            mouse_encoding,
            ..Modes::default()
        }
    }

    fn at(kind: MouseKind, col: u16, row: u16) -> Mouse {
        Mouse {
            kind,
            col,
            row,
            mods: Mods::NONE,
        }
    }

    #[test]
    fn each_encoding_tells_what_it_can() {
        let press = at(MouseKind::Press(Button::Right), 4, 9);
        let release = at(MouseKind::Release(Some(Button::Right)), 4, 9);
        let told = |mouse: &Mouse, encoding| {
            encode_mouse(mouse, &modes(Wanted::PressRelease, encoding), Some((8, 16)))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let cases = [
            (MouseEncoding::Sgr, "\x1b[<2;5;10M", "\x1b[<2;5;10m"),
            (
                MouseEncoding::SgrPixels,
                "\x1b[<2;33;145M",
                "\x1b[<2;33;145m",
            ),
            (MouseEncoding::Urxvt, "\x1b[34;5;10M", "\x1b[35;5;10M"),
            (MouseEncoding::Legacy, "\x1b[M\"%*", "\x1b[M#%*"),
            (MouseEncoding::Utf8, "\x1b[M\"%*", "\x1b[M#%*"),
        ];
        for (encoding, down, up) in cases {
            assert_eq!(told(&press, encoding).as_deref(), Some(down));
            assert_eq!(told(&release, encoding).as_deref(), Some(up));
        }
        let far = at(MouseKind::Press(Button::Left), 300, 0);
        assert_eq!(told(&far, MouseEncoding::Legacy), None);
        assert_eq!(
            told(&far, MouseEncoding::Utf8).as_deref(),
            Some("\x1b[M \u{14d}!")
        );
    }

    #[test]
    fn a_child_hears_only_what_it_asked_for() {
        let kinds = [
            MouseKind::Press(Button::Left),
            MouseKind::Release(Some(Button::Left)),
            MouseKind::Move(Some(Button::Left)),
            MouseKind::Move(None),
            MouseKind::WheelUp,
        ];
        let heard = |wanted| {
            kinds.map(|kind| {
                let modes = modes(wanted, MouseEncoding::Sgr);
                encode_mouse(&at(kind, 0, 0), &modes, None).is_some()
            })
        };
        assert_eq!(heard(Wanted::Off), [false; 5]);
        assert_eq!(heard(Wanted::Press), [true, false, false, false, true]);
        assert_eq!(
            heard(Wanted::PressRelease),
            [true, true, false, false, true]
        );
        assert_eq!(heard(Wanted::Drag), [true, true, true, false, true]);
        assert_eq!(heard(Wanted::Motion), [true; 5]);
        let with_ctrl = Mouse {
            mods: Mods::CTRL,
            ..at(kinds[0], 0, 0)
        };
        let told = |wanted| encode_mouse(&with_ctrl, &modes(wanted, MouseEncoding::Sgr), None);
        assert_eq!(told(Wanted::Press), Some(b"\x1b[<0;1;1M".to_vec()));
        assert_eq!(told(Wanted::PressRelease), Some(b"\x1b[<16;1;1M".to_vec()));
    }

    #[test]
    fn the_wheel_is_cursor_keys_only_where_the_child_asked_for_it() {
        let wheel = at(MouseKind::WheelDown, 0, 0);
        let mut modes = Modes {
            alternate_screen: true,
            alternate_scroll: true,
            ..Modes::default()
        };
        assert_eq!(
            encode_wheel_as_keys(&wheel, &modes),
            Some(b"\x1b[B\x1b[B\x1b[B".to_vec())
        );
        modes.app_cursor = true;
        assert_eq!(
            encode_wheel_as_keys(&wheel, &modes),
            Some(b"\x1bOB\x1bOB\x1bOB".to_vec())
        );
        modes.alternate_screen = false;
        assert_eq!(encode_wheel_as_keys(&wheel, &modes), None);
    }
}
