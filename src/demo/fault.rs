//! Faults the demo agent can be told to have, so that what pairs with it can be tested.

use std::fmt;
use std::str::FromStr;

/// One way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Leaves the verdict line out.
    NoVerdict,
    /// Leaves the tag out.
    ForgetTag,
    /// Ends without a word in the middle of a reply.
    Die,
    /// Stays busy for ever.
    Hang,
    /// Asks at start whether the folder is trusted.
    Dialog,
    /// Thinks and writes slowly.
    Slow,
    /// Quotes other marker and verdict lines before its own verdict.
    Quote,
    /// Leaves the stub of a first try above the whole answer.
    RetryStump,
    /// Prints an error and ends before anything is drawn.
    ExitAtOnce,
    /// Never shows the prompt it was sent.
    NoEcho,
    /// Swallows the first submit key after a paste.
    SwallowEnter,
    /// Draws the tail of a reply long after its footer (opencode only).
    LateTail,
    /// Shows an error of the service in place of a reply.
    FailTurn,
    /// Answers without a verdict from the second round on, the first one's verdict still on the screen.
    Stale,
    /// Starts a process of its own, in a process group of its own.
    Spawn,
    /// Never shows its prompt and never comes to rest.
    NotIdle,
}

impl Fault {
    /// Every fault with its name on the command line.
    pub const ALL: [(Self, &'static str); 16] = [
        (Self::NoVerdict, "no-verdict"),
        (Self::ForgetTag, "forget-tag"),
        (Self::Die, "die"),
        (Self::Hang, "hang"),
        (Self::Dialog, "dialog"),
        (Self::Slow, "slow"),
        (Self::Quote, "quote"),
        (Self::RetryStump, "retry-stump"),
        (Self::ExitAtOnce, "exit-at-once"),
        (Self::NoEcho, "no-echo"),
        (Self::SwallowEnter, "swallow-enter"),
        (Self::LateTail, "late-tail"),
        (Self::FailTurn, "fail-turn"),
        (Self::Stale, "stale"),
        (Self::Spawn, "spawn"),
        (Self::NotIdle, "not-idle"),
    ];
}

/// A name that is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no fault; known are {known}", known = Fault::ALL.map(|(_, name)| name).join(", "))]
pub struct UnknownFault(String);

/// A set of faults, written with commas between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Whether `fault` is in the set.
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// The set without one fault.
    #[must_use]
    pub fn less(&self, fault: Fault) -> Self {
        Self(
            self.0
                .iter()
                .copied()
                .filter(|other| *other != fault)
                .collect(),
        )
    }

    /// Both sets together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for fault in &other.0 {
            if !all.has(*fault) {
                all.0.push(*fault);
            }
        }
        all
    }
}

impl FromStr for Faults {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let mut faults = Self::default();
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let fault = Fault::ALL
                .into_iter()
                .find_map(|(fault, known)| (known == name).then_some(fault))
                .ok_or_else(|| UnknownFault(name.to_owned()))?;
            if !faults.has(fault) {
                faults.0.push(fault);
            }
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Fault::ALL
            .into_iter()
            .filter_map(|(fault, name)| self.has(fault).then_some(name))
            .collect();
        f.write_str(&names.join(","))
    }
}

impl<'de> serde::Deserialize<'de> for Faults {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_combine_with_commas() {
        let faults: Faults = "slow, quote,slow".parse().unwrap();
        assert!(faults.has(Fault::Slow) && faults.has(Fault::Quote) && !faults.has(Fault::Die));
        assert_eq!(faults.to_string(), "slow,quote");
        assert_eq!("".parse::<Faults>().unwrap(), Faults::default());
    }

    #[test]
    fn an_unknown_fault_is_named_beside_the_known_ones() {
        let error = "slow,lazy".parse::<Faults>().unwrap_err().to_string();
        assert!(
            error.starts_with("\"lazy\" is no fault; known are no-verdict, "),
            "{error}"
        );
    }
}
