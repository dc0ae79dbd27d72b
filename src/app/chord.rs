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
#[error("`{word}` names no key; {remedy}")]
pub struct NoKey {
    word: String,
    remedy: String,
}

impl NoKey {
    fn new(text: &str, name: &str) -> Self {
        let near = NAMES
            .iter()
            .map(|(known, _)| *known)
            .filter(|known| name.len() <= 2 * known.len())
            .map(|known| (strsim::damerau_levenshtein(name, known), known))
            .filter(|(distance, known)| *distance <= known.len() / 3)
            .min();
        let remedy = match near {
            Some((_, known)) => {
                let held = text.get(..text.len().saturating_sub(name.len()));
                format!("did you mean `{}{known}`?", held.unwrap_or_default())
            }
            None => "write a character, or a name such as `enter`, `tab`, `esc`, `up`, `f5`, with `ctrl-`, \
                     `alt-` or `shift-` before it"
                .to_owned(),
        };
        Self {
            word: text.chars().take(40).collect(),
            remedy,
        }
    }
}

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

    /// The chords a key may be meant as: its own, and that of the same place on the standard layout where the layout in
    /// force has another alphabet there and the terminal tells.
    pub fn meant(key: &Key) -> impl Iterator<Item = Self> {
        let beneath = match (key.code, key.base) {
            (Code::Char(char), Some(base)) if !char.is_ascii() => {
                Some(Key::new(Code::Char(base), key.mods))
            }
            _ => None,
        };
        [Some(Self::of(key)), beneath.map(|key| Self::of(&key))]
            .into_iter()
            .flatten()
    }

    /// Reads `ctrl-]`, `D`, `|`, `alt-enter`, `f5`; the names and what is held in any case, the latter in any order.
    pub fn parse(text: &str) -> Result<Self, NoKey> {
        let (mods, name) = held(text);
        let mut chars = name.chars();
        let code = match (chars.next(), chars.next()) {
            // With Control there is no capital without Shift.
            (Some(char), None) if mods.has(Mods::CTRL) => {
                Some(Code::Char(char.to_ascii_lowercase()))
            }
            (Some(char), None) => Some(Code::Char(char)),
            _ => named(&name.to_ascii_lowercase()),
        };
        code.filter(|code| !matches!(code, Code::Char(char) if char.is_control()))
            .map(|code| Self::of(&Key::new(code, mods)))
            .ok_or_else(|| NoKey::new(text, name))
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

/// What is held, and the name of the key behind it.
fn held(text: &str) -> (Mods, &str) {
    const HELD: [(&str, Mods); 3] = [
        ("ctrl-", Mods::CTRL),
        ("alt-", Mods::ALT),
        ("shift-", Mods::SHIFT),
    ];
    let mut mods = Mods::NONE;
    let mut rest = text;
    while let Some((prefix, held)) = HELD.iter().find(|(prefix, held)| {
        let begins = rest.get(..prefix.len());
        !mods.has(*held) && begins.is_some_and(|begins| begins.eq_ignore_ascii_case(prefix))
    }) {
        mods |= *held;
        rest = &rest[prefix.len()..];
    }
    (mods, rest)
}

fn named(name: &str) -> Option<Code> {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, code)| *code).or_else(|| {
        let digits = name.strip_prefix('f')?;
        let number = digits.parse().ok().filter(|_| !digits.starts_with('+'))?;
        (1..=24).contains(&number).then_some(Code::F(number))
    })
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
            ("Shift-CTRL-Tab", "ctrl-shift-tab"),
            ("ctrl-A", "^A"),
            ("alt-A", "alt-A"),
            ("shift-a", "A"),
            ("PageUp", "pageup"),
            ("ctrl--", "^-"),
        ] {
            assert_eq!(
                Chord::parse(text).map(|chord| chord.shown()),
                Ok(shown.to_owned())
            );
        }
        for wrong in [
            "",
            "ctrl-",
            "ctrl-ctrl-x",
            "hyper-x",
            "f99",
            "f+5",
            "entr",
            "\u{7}",
        ] {
            assert!(Chord::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Chord::parse("ctrl-A"), Chord::parse("ctrl-a"));
    }

    #[test]
    fn a_word_that_is_nearly_a_name_is_told_the_name() {
        let told = |text| Chord::parse(text).err().map(|fault| fault.to_string());
        assert_eq!(
            told("alt-entr").as_deref(),
            Some("`alt-entr` names no key; did you mean `alt-enter`?")
        );
        let other = told("hyper-x").unwrap_or_default();
        assert!(other.contains("such as `enter`"), "{other}");
    }

    #[test]
    fn a_key_of_another_alphabet_is_meant_by_its_place() {
        let key = Key {
            base: Some(']'),
            ..Key::new(Code::Char('\u{44a}'), Mods::CTRL)
        };
        let meant: Vec<String> = Chord::meant(&key).map(|chord| chord.shown()).collect();
        assert_eq!(meant, ["^\u{42a}", "^]"]);
        let latin = Key {
            base: Some('q'),
            ..Key::new(Code::Char('a'), Mods::CTRL)
        };
        assert_eq!(Chord::meant(&latin).count(), 1);
    }
}
