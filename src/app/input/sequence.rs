//! A whole `CSI` sequence → what it says, and the keys by their bytes, letters and numbers.

use super::functional::of_number;
use super::key::{Code, Key, Mods, Stroke};
use super::mouse::Mouse;
use super::{Input, Reply};

/// The key of one byte below 0x80 that stands alone.
pub(super) fn control(byte: u8) -> Key {
    match byte {
        b'\r' => Key::new(Code::Enter, Mods::NONE),
        b'\t' => Key::new(Code::Tab, Mods::NONE),
        0x7f => Key::new(Code::Backspace, Mods::NONE),
        0 => Key::new(Code::Char(' '), Mods::CTRL),
        // Ctrl-H and a Backspace that sends it cannot be told apart; LF is Ctrl-J.
        0x01..=0x1a => Key::new(Code::Char(char::from(byte + 0x60)), Mods::CTRL),
        0x1c..=0x1f => Key::new(Code::Char(char::from(byte + 0x40)), Mods::CTRL),
        _ => Key::char(char::from(byte)),
    }
}

pub(super) fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The modifiers of a parameter, which counts from 1.
pub(super) fn mods_of(parameter: u32) -> Mods {
    Mods::from_bits(u8::try_from(parameter.saturating_sub(1)).unwrap_or(0))
}

/// The key of a final letter.
pub(super) fn letter(last: u8) -> Option<Code> {
    Some(match last {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'E' => Code::Begin,
        b'F' => Code::End,
        b'H' => Code::Home,
        b'P'..=b'S' => Code::F(last - b'P' + 1),
        _ => return None,
    })
}

/// The key of a number of the kitty protocol, or of fixterms.
fn numbered(number: u32) -> Option<Code> {
    Some(match number {
        // The text of an input method, which no key wrote.
        0 => Code::Other(0),
        9 => Code::Tab,
        13 => Code::Enter,
        27 => Code::Esc,
        8 | 127 => Code::Backspace,
        57376..=57398 => Code::F(u8::try_from(number - 57376 + 13).ok()?),
        57344..=63743 => Code::Other(number),
        _ => Code::Char(char::from_u32(number).filter(|char| !char.is_control())?),
    })
}

pub(super) fn is_rxvt(kept: &[u8]) -> bool {
    !kept.is_empty() && kept.iter().all(u8::is_ascii_digit)
}

/// A whole `CSI` sequence.
pub(super) struct Sequence {
    /// `<`, `=`, `>`, `?`, or 0.
    mark: u8,
    /// Parameters, each with its parts; a part that is not there is none.
    parameters: Vec<Vec<Option<u32>>>,
    /// Bytes before the final one.
    middle: Vec<u8>,
    last: u8,
}

impl Sequence {
    pub(super) fn read(kept: &[u8], last: u8) -> Option<Self> {
        let (mark, rest) = match kept {
            [mark @ b'<'..=b'?', rest @ ..] => (*mark, rest),
            rest => (0, rest),
        };
        let end = rest
            .iter()
            .position(|byte| matches!(byte, 0x20..=0x2f))
            .unwrap_or(rest.len());
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        let part = |part: &str| match part {
            "" => Some(None),
            digits => digits.parse().ok().map(Some),
        };
        let parameters = text
            .split(';')
            .map(|parameter| parameter.split(':').map(part).collect())
            .collect::<Option<_>>()?;
        Some(Self {
            mark,
            parameters,
            middle: rest[end..].to_vec(),
            last,
        })
    }

    fn part(&self, parameter: usize, part: usize) -> Option<u32> {
        self.parameters.get(parameter)?.get(part).copied().flatten()
    }

    pub(super) fn first(&self) -> u32 {
        self.part(0, 0).unwrap_or(0)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.mark == 0 && self.middle.is_empty()
    }

    pub(super) fn input(&self) -> Option<Input> {
        match (self.mark, self.last) {
            (b'<', b'M' | b'm') => self.sgr_mouse(),
            (0, b'M') if self.middle.is_empty() => self.urxvt_mouse(),
            (0, b'I') if self.is_bare() => Some(Input::Focus(true)),
            (0, b'O') if self.is_bare() => Some(Input::Focus(false)),
            (0, _) => match self.key() {
                Some(key) => Some(Input::Key(key)),
                None => self.reply(),
            },
            _ => self.reply(),
        }
    }

    fn is_bare(&self) -> bool {
        self.middle.is_empty() && self.parameters.len() == 1 && self.part(0, 0).is_none()
    }

    fn reply(&self) -> Option<Input> {
        let numbers: Vec<u32> = (0..self.parameters.len())
            .map(|at| self.part(at, 0).unwrap_or(0))
            .collect();
        Reply::of_csi(self.mark, &self.middle, &numbers, self.last).map(Input::Reply)
    }

    fn key(&self) -> Option<Key> {
        if self.middle == b"$" && self.last == b'y' {
            return None;
        }
        let with = |code| self.told(Key::new(code, Mods::NONE));
        match self.last {
            b'u' => {
                let mut key = with(numbered(self.first())?);
                let char = |part| self.part(0, part).and_then(char::from_u32);
                key.shifted = char(1);
                key.base = char(2);
                Some(key).filter(|key| key.code != Code::Other(0) || key.text.is_some())
            }
            b'~' if self.first() == 27 && self.parameters.len() == 3 => Some(
                self.told(Key::new(numbered(self.part(2, 0)?)?, Mods::NONE))
                    .textless(),
            ),
            b'~' => Some(with(of_number(self.first())?)),
            b'Z' => Some(Key::new(Code::Tab, Mods::SHIFT)),
            // rxvt: `^` with Control, `$` with Shift, `@` with both.
            b'^' => Some(Key::new(of_number(self.first())?, Mods::CTRL)),
            b'$' => Some(Key::new(of_number(self.first())?, Mods::SHIFT)),
            b'@' => Some(Key::new(of_number(self.first())?, Mods::CTRL | Mods::SHIFT)),
            b'a'..=b'd' if self.is_bare() => Some(Key::new(
                letter(self.last.to_ascii_uppercase())?,
                Mods::SHIFT,
            )),
            // With a first parameter that is no 1 this is the cursor's place, not F3.
            b'R' if self.first() != 1 || self.parameters.len() != 2 => None,
            last => Some(with(letter(last)?)),
        }
    }

    /// Adds what the second and third parameter tell.
    fn told(&self, mut key: Key) -> Key {
        key.mods = self.part(1, 0).map_or(Mods::NONE, mods_of);
        key.stroke = match self.part(1, 1) {
            Some(2) => Stroke::Repeat,
            Some(3) => Stroke::Release,
            _ => Stroke::Press,
        };
        let text: String = self
            .parameters
            .get(2)
            .into_iter()
            .flatten()
            .filter_map(|part| char::from_u32((*part)?))
            .filter(|char| !char.is_control())
            .collect();
        key.text = (!text.is_empty()).then_some(text);
        key
    }

    fn sgr_mouse(&self) -> Option<Input> {
        let [code, col, row] = [0, 1, 2].map(|at| self.part(at, 0));
        Mouse::of_code(code?, col?, row?, Some(self.last == b'M')).map(Input::Mouse)
    }

    fn urxvt_mouse(&self) -> Option<Input> {
        let [code, col, row] = [0, 1, 2].map(|at| self.part(at, 0));
        Mouse::of_code(code?.checked_sub(32)?, col?, row?, None).map(Input::Mouse)
    }
}

impl Key {
    /// The key without the text: where the third parameter is no text.
    fn textless(mut self) -> Self {
        self.text = None;
        self
    }
}
