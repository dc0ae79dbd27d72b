//! The resources: the session, its receipts, its rounds (interface.md 3).

use crate::bridge::Lookup;

/// A resource that is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its address.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub description: &'static str,
}

/// The resources that are always there.
pub const RESOURCES: [Named; 2] = [
    Named {
        uri: "codriver://session",
        name: "session",
        description: "The session: its panes, their harnesses and states, the rounds so far.",
    },
    Named {
        uri: "codriver://receipts",
        name: "receipts",
        description: "The receipts of the session's rounds, oldest first.",
    },
];

/// The resources that are there by their number.
pub const TEMPLATE: Named = Named {
    uri: "codriver://rounds/{n}",
    name: "round",
    description: "The result of round n of the session.",
};

/// What an address stands for; none for any other one.
pub fn lookup(uri: &str) -> Option<Lookup> {
    match uri.strip_prefix("codriver://")? {
        "session" => Some(Lookup::Session),
        "receipts" => Some(Lookup::Receipts),
        path => {
            let number = path.strip_prefix("rounds/")?;
            // One way to write a number, and no sign.
            let is_plain =
                number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
            let number = number.parse().ok().filter(|_| is_plain)?;
            Some(Lookup::Round { number })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_for_one_thing_or_for_nothing() {
        assert_eq!(lookup("codriver://session"), Some(Lookup::Session));
        assert_eq!(
            lookup("codriver://rounds/12"),
            Some(Lookup::Round { number: 12 })
        );
        for none in [
            "codriver://rounds/",
            "codriver://rounds/0",
            "codriver://rounds/01",
            "codriver://rounds/+1",
            "codriver://rounds/1/2",
            "codriver://session/",
            "file:///etc/passwd",
            "codriver://rounds/99999999999",
        ] {
            assert_eq!(lookup(none), None, "{none}");
        }
    }
}
