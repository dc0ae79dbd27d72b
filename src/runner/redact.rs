//! Takes secrets out of what a runner wrote, before it is kept (systems.md C.10).

use std::sync::LazyLock;

use regex::Regex;

/// What stands in the place of a secret.
const GONE: &str = "[redacted]";
/// Shortest value of a variable that is looked for: a shorter one is part of ordinary text.
const LEAST: usize = 8;

/// Keys and tokens by their own shape.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"|\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abeprs]-[A-Za-z0-9-]{10,}",
        r"|\bAKIA[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}",
        r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"|(?i:\bbearer +)[A-Za-z0-9._~+/=-]{12,}",
    ))
    .expect("the pattern is fixed")
});

/// Names of variables that hold one.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:\A|_)(?:key|token|secret|password|passwd|credentials?|auth|cookie)(?:\z|_)|apikey",
    )
    .expect("the pattern is fixed")
});

/// The text with every secret gone: the values of variables named like one, and what has the shape of one.
pub fn redact<'e>(text: &str, variables: impl IntoIterator<Item = (&'e str, &'e str)>) -> String {
    let mut values: Vec<&str> = variables
        .into_iter()
        .filter(|(name, value)| NAMES.is_match(name) && value.len() >= LEAST)
        .map(|(_, value)| value)
        .collect();
    // The longest first: one may be part of another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let mut text = text.to_owned();
    for value in values {
        text = text.replace(value, GONE);
        // As it stands in a JSON string.
        let escaped = serde_json::Value::from(value).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        if escaped != value {
            text = text.replace(escaped, GONE);
        }
    }
    SHAPES.replace_all(&text, GONE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_secret_variables_go_also_inside_json() {
        let variables = [
            ("ANTHROPIC_API_KEY", "planted-key-1"),
            ("MY_TOKEN", "planted\"token\\2"),
            ("HOME", "/home/planted"),
            ("SHORT_KEY", "abc"),
        ];
        let text = r#"{"a":"planted-key-1","b":"planted\"token\\2","c":"/home/planted abc"}"#;
        assert_eq!(
            redact(text, variables),
            r#"{"a":"[redacted]","b":"[redacted]","c":"/home/planted abc"}"#
        );
    }

    #[test]
    fn what_has_the_shape_of_a_key_goes_whoever_wrote_it() {
        for secret in [
            "sk-ant-api03-fake-lab-key-0000000000000000",
            "ghp_abcdefghijklmnopqrstuvwxyz0123",
            "AKIAABCDEFGHIJKLMNOP",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh",
            "Bearer abcdef.ghijkl-mnop",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        ] {
            assert_eq!(
                redact(&format!("a {secret} b"), []),
                "a [redacted] b",
                "{secret}"
            );
        }
        let plain = "task-list sk-short keyboard AKIA a bearer of news";
        assert_eq!(redact(plain, []), plain);
    }

    #[test]
    fn a_name_is_taken_by_its_words() {
        for name in [
            "API_KEY",
            "key",
            "X_AUTH_TOKEN",
            "OPENAI_APIKEY",
            "DB_PASSWORD",
        ] {
            assert!(NAMES.is_match(name), "{name}");
        }
        for name in ["KEYBOARD", "MONKEY", "AUTHOR", "PATH", "TOKENIZERS"] {
            assert!(!NAMES.is_match(name), "{name}");
        }
    }
}
