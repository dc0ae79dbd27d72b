//! The name of a setting: a path of table names, shown as TOML writes it and never longer than a quotation.

use std::fmt;

use crate::{limits, plain};

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
        let is_bare = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        let shown: Vec<String> = self
            .0
            .iter()
            .map(|part| match is_bare(part) {
                true => part.clone(),
                false => format!("\"{part}\""),
            })
            .collect();
        // A name is a file's text: nothing in it may reach a terminal as it is.
        f.write_str(&plain::display(&shown.join("."), limits::QUOTE_BYTES))
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
            r#"harness."a.b\u{202e}\u{1b}[2J ""#
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        let shown = Key::new(["é".repeat(1000)]).to_string();
        assert!(shown.len() <= limits::QUOTE_BYTES);
        assert!(shown.ends_with('…'));
    }
}
