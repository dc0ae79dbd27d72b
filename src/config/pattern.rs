//! A regular expression from a profile or a settings file, compiled with a bound when it is read.

use std::borrow::Cow;
use std::fmt;

use regex::{Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::limits;

/// Why a text is no usable pattern. The text itself is not repeated: it may be anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The expression is not well formed.
    #[error("not a regular expression")]
    Syntax,
    /// The compiled expression would be larger than `limits::PATTERN_BYTES`.
    #[error(
        "a regular expression that compiles to more than {} bytes",
        limits::PATTERN_BYTES
    )]
    TooLarge,
}

/// One compiled regular expression; two are equal when their sources are.
#[derive(Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles `source`.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        RegexBuilder::new(source)
            .size_limit(limits::PATTERN_BYTES)
            .dfa_size_limit(limits::PATTERN_BYTES)
            .build()
            .map(Self)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                _ => PatternError::Syntax,
            })
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The compiled expression.
    pub fn regex(&self) -> &Regex {
        &self.0
    }

    /// Whether it matches anywhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&source).map_err(de::Error::custom)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "regex" })
    }
}

/// Any number of patterns, written as one string or a list of them; none never matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// The patterns in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &Pattern> {
        self.0.iter()
    }

    /// Whether no pattern was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first pattern that matches `line`.
    pub fn find(&self, line: &str) -> Option<&Pattern> {
        self.0.iter().find(|pattern| pattern.is_match(line))
    }

    /// Whether one of them matches `line`.
    pub fn is_match(&self, line: &str) -> bool {
        self.find(line).is_some()
    }
}

impl FromIterator<Pattern> for Patterns {
    fn from_iter<I: IntoIterator<Item = Pattern>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;

        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Patterns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a regular expression or a list of them")
            }

            fn visit_str<E: de::Error>(self, source: &str) -> Result<Patterns, E> {
                // An empty string switches an inherited rule off; it does not match everything.
                if source.is_empty() {
                    return Ok(Patterns::default());
                }
                Pattern::new(source)
                    .map(|pattern| Patterns(vec![pattern]))
                    .map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Patterns, A::Error> {
                let mut patterns = Vec::new();
                while let Some(pattern) = seq.next_element::<Pattern>()? {
                    if !pattern.as_str().is_empty() {
                        patterns.push(pattern);
                    }
                }
                Ok(Patterns(patterns))
            }
        }

        deserializer.deserialize_any(OneOrMore)
    }
}

impl JsonSchema for Patterns {
    fn schema_name() -> Cow<'static, str> {
        "Patterns".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "format": "regex" },
                { "type": "array", "items": { "type": "string", "format": "regex" } },
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Holder {
        rule: Patterns,
    }

    fn patterns(text: &str) -> Result<Vec<String>, toml::de::Error> {
        let holder: Holder = toml::from_str(text)?;
        Ok(holder.rule.iter().map(|p| p.as_str().to_owned()).collect())
    }

    #[test]
    fn one_string_and_a_list_are_both_taken() -> Result<(), toml::de::Error> {
        assert_eq!(patterns("rule = '^a'")?, ["^a"]);
        assert_eq!(patterns("rule = ['^a', 'b$']")?, ["^a", "b$"]);
        Ok(())
    }

    #[test]
    fn an_empty_string_matches_nothing() -> Result<(), toml::de::Error> {
        let holder: Holder = toml::from_str("rule = ''")?;
        assert!(!holder.rule.is_match("anything"));
        Ok(())
    }

    #[test]
    fn a_broken_expression_is_named_without_quoting_it() {
        assert_eq!(Pattern::new("(secret"), Err(PatternError::Syntax));
        assert!(!PatternError::Syntax.to_string().contains("secret"));
    }

    #[test]
    fn an_expression_that_grows_without_bound_is_refused() {
        assert_eq!(
            Pattern::new(r"(?:\w{500}){500}"),
            Err(PatternError::TooLarge)
        );
    }
}
