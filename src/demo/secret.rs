//! Strings that look like a secret: known shapes of keys, and high-entropy values assigned to a telling name.

use std::sync::LazyLock;

use regex::Regex;

/// Bits per character from which a value counts as random; English and identifiers stay below it.
const RANDOM: f64 = 3.5;

/// Shapes that are a secret whatever stands around them.
static SHAPES: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    [
        ("an AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
        ("a GitHub token", r"\bgh[pousr]_[0-9A-Za-z]{36,}\b"),
        ("a GitHub token", r"\bgithub_pat_[0-9A-Za-z_]{40,}\b"),
        ("a Slack token", r"\bxox[abprs]-[0-9A-Za-z-]{10,}"),
        ("a Google API key", r"\bAIza[0-9A-Za-z_-]{35}"),
        ("a Stripe key", r"\b[sr]k_live_[0-9A-Za-z]{16,}"),
        ("an API key", r"\bsk-[0-9A-Za-z_-]{32,}"),
    ]
    .into_iter()
    .map(|(kind, shape)| (kind, Regex::new(shape).expect("the shape is a constant")))
    .collect()
});

static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)(?:token|secret|passw(?:or)?d|api_?-?key|credential|auth)[\w.-]*["'\]]*\s*(?::|:=|=|=>|:\s*[&\w<>' ]+=)\s*["'`]([0-9A-Za-z+/=_.~-]{20,})["'`]"#,
    )
    .expect("the pattern is a constant")
});

/// Says what kind of secret a line seems to hold; never the secret itself.
pub fn kind_of(line: &str) -> Option<&'static str> {
    for (kind, shape) in SHAPES.iter() {
        if shape
            .find_iter(line)
            .any(|found| !found.as_str().ends_with("EXAMPLE"))
        {
            return Some(kind);
        }
    }
    ASSIGNMENT
        .captures_iter(line)
        .any(|found| is_random(&found[1]))
        .then_some("a value that looks like a secret")
}

/// Whether a value is a mix of letters and digits without the regularity of words.
fn is_random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && entropy(value) >= RANDOM
}

/// Shannon entropy in bits per character.
fn entropy(value: &str) -> f64 {
    let mut counts = [0usize; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let all = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = *count as f64 / all;
            -share * share.log2()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins two halves, so that this file itself holds no such string.
    fn joined(head: &str, tail: &str) -> String {
        format!("{head}{tail}")
    }

    #[test]
    fn known_shapes_are_named() {
        for (line, kind) in [
            (joined("AKIA", "ABCDEFGH23456789"), "an AWS access key"),
            (
                joined("-----BEGIN RSA ", "PRIVATE KEY-----"),
                "a private key",
            ),
            (joined("-----BEGIN ", "PRIVATE KEY-----"), "a private key"),
            (
                joined("-----BEGIN OPENSSH ", "PRIVATE KEY-----"),
                "a private key",
            ),
            (joined("ghp_", &"a1B2".repeat(9)), "a GitHub token"),
            (joined("xoxb-", "1234567890-abcdef"), "a Slack token"),
            (joined("sk_live_", "abcdef0123456789"), "a Stripe key"),
            (joined("sk-", &"a1B2".repeat(10)), "an API key"),
        ] {
            assert_eq!(
                kind_of(&format!("let x = \"{line}\";")),
                Some(kind),
                "{line}"
            );
        }
    }

    #[test]
    fn a_random_value_under_a_telling_name_is_one() {
        let value = joined("q8Zk2LwX", "9vBn4RtY7mPd1");
        for line in [
            format!("token = \"{value}\""),
            format!("const API_KEY: &str = \"{value}\";"),
            format!("\"client_secret\": \"{value}\","),
            format!("password := '{value}'"),
            format!("auth_token='{value}'"),
        ] {
            assert_eq!(
                kind_of(&line),
                Some("a value that looks like a secret"),
                "{line}"
            );
        }
    }

    #[test]
    fn ordinary_values_are_none() {
        for line in [
            "token = \"changeme\"",
            "token = \"aaaaaaaaaaaaaaaaaaaaaaaa1\"",
            "let token = read_token(path)?;",
            "secret = \"please-set-this-in-the-environment\"",
            "path = \"q8Zk2LwX9vBn4RtY7mPd1\"",
            "let author = \"someone with a rather long name\";",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN PUBLIC KEY-----",
        ] {
            assert_eq!(kind_of(line), None, "{line}");
        }
    }
}
