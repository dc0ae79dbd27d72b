//! A key as a settings file names it.

use super::input::{Code, Key, Mods};

/// A key with what is held, as a binding names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chord {
    code: Code,
    mods: Mods,
}

/// Why a word names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no key; write a character, or a name such as `enter`, `tab`, `esc`, `up`, `f5`, with `ctrl-`, `alt-` or `shift-` before it"
)]
pub struct NoKey(String);

const NAMES: [(&str, Code); 15] = [
    ("enter", Code::Enter),
    ("tab", Code::Tab),
    ("backspace", Code::Backspace),
    ("esc", Code::Esc),
    ("space", Code::Char(' ')),
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("home", Code::Home),
    ("end", Code::End),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
    ("insert", Code::Insert),
    ("delete", Code::Delete),
];

impl Chord {
    /// The chord of a key that was pressed.
    pub fn of(key: &Key) -> Self {
        let (code, mods) = key.command();
        Self { code, mods }
    }

    /// Reads `ctrl-]`, `D`, `|`, `alt-enter`, `f5`.
    pub fn parse(text: &str) -> Result<Self, NoKey> {
        let none = || NoKey(text.chars().take(40).collect());
        let mut rest = text;
        let mut mods = Mods::NONE;
        for (prefix, held) in [
            ("ctrl-", Mods::CTRL),
            ("alt-", Mods::ALT),
            ("shift-", Mods::SHIFT),
        ] {
            if let Some(after) = rest.strip_prefix(prefix) {
                mods |= held;
                rest = after;
            }
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(char), None) if !char.is_control() => Code::Char(char),
            _ => NAMES
                .iter()
                .find(|(name, _)| *name == rest)
                .map(|(_, code)| *code)
                .or_else(|| function_key(rest))
                .ok_or_else(none)?,
        };
        Ok(Self::of(&Key::new(code, mods)))
    }

    /// The bytes-independent spelling a person reads: `^]`, `D`, `alt-enter`.
    pub fn shown(&self) -> String {
        let mut out = String::new();
        let is_char = matches!(self.code, Code::Char(_));
        if self.mods.has(Mods::CTRL) {
            out.push_str(if is_char { "^" } else { "ctrl-" });
        }
        if self.mods.has(Mods::ALT) {
            out.push_str("alt-");
        }
        if self.mods.has(Mods::SHIFT) {
            out.push_str("shift-");
        }
        match self.code {
            Code::Char(' ') => out.push_str("space"),
            Code::Char(char) if self.mods.has(Mods::CTRL) => out.extend(char.to_uppercase()),
            Code::Char(char) => out.push(char),
            Code::F(number) => out.push_str(&format!("f{number}")),
            code => {
                let name = NAMES.iter().find(|(_, known)| *known == code);
                out.push_str(name.map_or("?", |(name, _)| name));
            }
        }
        out
    }
}

fn function_key(text: &str) -> Option<Code> {
    let number = text.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then_some(Code::F(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_are_read_and_shown() {
        for (text, shown) in [
            ("ctrl-]", "^]"),
            ("alt-enter", "alt-enter"),
            ("D", "D"),
            ("f5", "f5"),
            ("ctrl-shift-tab", "ctrl-shift-tab"),
            ("space", "space"),
        ] {
            assert_eq!(
                Chord::parse(text).map(|chord| chord.shown()),
                Ok(shown.to_owned())
            );
        }
        for wrong in ["", "ctrl-", "hyper-x", "f99", "entr"] {
            assert!(Chord::parse(wrong).is_err(), "{wrong}");
        }
    }
}
