//! SHA-256 of recorded bytes, spelt `sha256:` and 64 lower-case hexadecimal digits.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "sha256:";

/// A digest as it stands in a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

impl Digest {
    /// Digests bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        let mut text = String::with_capacity(PREFIX.len() + 64);
        text.push_str(PREFIX);
        for byte in Sha256::digest(bytes) {
            write!(text, "{byte:02x}").expect("a string takes what is written");
        }
        Self(text)
    }

    /// Digests a list so that no two different lists give the same: each part's length is digested with it.
    pub fn of_list<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Self {
        let mut whole = Vec::new();
        for part in parts {
            let part = part.as_ref();
            whole.extend_from_slice(&(part.len() as u64).to_be_bytes());
            whole.extend_from_slice(part);
        }
        Self::of(whole)
    }

    /// The whole spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.0[PREFIX.len()..]
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let hex = text.strip_prefix(PREFIX).unwrap_or_default();
        if hex.len() == 64
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Ok(Self(text));
        }
        Err("no digest of the form sha256:<64 lower-case hexadecimal digits>")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_known_one() {
        assert_eq!(
            Digest::of("abc").as_str(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn other_spellings_are_refused() {
        let good = Digest::of("").as_str().to_owned();
        assert!(Digest::try_from(good.clone()).is_ok());
        for bad in [
            good.to_uppercase(),
            good[1..].to_owned(),
            format!("{good}0"),
            String::new(),
        ] {
            assert!(Digest::try_from(bad).is_err());
        }
    }

    #[test]
    fn lists_that_join_to_the_same_text_differ() {
        assert_ne!(Digest::of_list(["ab", "c"]), Digest::of_list(["a", "bc"]));
    }
}
