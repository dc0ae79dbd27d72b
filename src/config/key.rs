//! The name of a setting: a path of table names, shown as TOML writes it and never longer than a quotation.

use std::fmt;

use crate::limits;

/// A dotted key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(Vec<String>);

impl Key {
    /// The key of these parts.
    pub fn new<S: Into<String>>(parts: impl IntoIterator<Item = S>) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }

    /// Reads a key of plain names, as codriver itself writes them.
    pub fn of(dotted: &str) -> Self {
        Self::new(dotted.split('.'))
    }

    /// The names, outermost first.
    pub fn parts(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// This key with one more name.
    pub fn join(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        Self(parts)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::new();
        for (i, part) in self.0.iter().enumerate() {
            if i > 0 {
                shown.push('.');
            }
            let bare = !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            if bare {
                shown.push_str(part);
            } else {
                // A name is a file's text: nothing in it may reach a terminal as it is.
                shown.push('"');
                shown.extend(part.chars().flat_map(escaped));
                shown.push('"');
            }
        }
        match shown
            .char_indices()
            .map(|(at, _)| at)
            .take_while(|at| *at <= limits::QUOTE_BYTES)
            .last()
        {
            Some(at) if shown.len() > limits::QUOTE_BYTES => write!(f, "{}…", &shown[..at]),
            _ => f.write_str(&shown),
        }
    }
}

/// The character itself when it is a visible one of ASCII or a letter, else its escape.
fn escaped(c: char) -> Box<dyn Iterator<Item = char>> {
    if c.is_alphanumeric() {
        Box::new(std::iter::once(c))
    } else {
        Box::new(c.escape_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_other_characters_is_quoted_and_escaped() {
        assert_eq!(Key::of("pair.require_tag").to_string(), "pair.require_tag");
        assert_eq!(
            Key::new(["harness", "a.b\u{202e}\x1b[2J\n"]).to_string(),
            r#"harness."a.b\u{202e}\u{1b}[2J\n""#
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        let shown = Key::new(["é".repeat(1000)]).to_string();
        assert!(shown.len() <= limits::QUOTE_BYTES + "…".len());
        assert!(shown.ends_with('…'));
    }
}
