//! A script of the demo agent: what it answers, turn by turn, and how fast.

use std::time::Duration;

use regex::Regex;
use serde::Deserialize;

use super::fault::Faults;

/// The turns of a script file, used in order.
#[derive(Debug, Clone, Default)]
pub struct Script {
    turns: Vec<Turn>,
}

/// One turn: the reply and its pace.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The prompt this turn is for; any prompt when absent.
    matches: Option<Regex>,
    /// The reply, in Markdown; `{tag}` is the tag the prompt asks for.
    pub text: String,
    /// How it comes.
    pub pace: Pace,
    /// Lines of the tool log drawn before the reply.
    pub tools: Vec<String>,
    /// Faults of this turn alone.
    pub faults: Faults,
}

/// How a reply comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Characters drawn at a time.
    pub chunk: usize,
    /// Time between two chunks.
    pub delay: Duration,
    /// Time before the first one.
    pub think: Duration,
    /// Where the reply stops for a while, in characters, and for how long.
    pub pause: Option<(usize, Duration)>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            chunk: 24,
            delay: Duration::from_millis(20),
            think: Duration::from_millis(400),
            pause: None,
        }
    }
}

impl Pace {
    /// The pace of the fault `slow`.
    #[must_use]
    pub fn slowed(self) -> Self {
        Self {
            chunk: self.chunk.min(8),
            delay: self.delay.max(Duration::from_millis(80)),
            think: self.think.max(Duration::from_secs(3)),
            pause: self.pause,
        }
    }
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Not the JSON of a script.
    #[error("not a list of turns")]
    Json(#[from] serde_json::Error),
    /// A `match` that is no pattern.
    #[error("turn {turn}: `match` is no regular expression")]
    Pattern {
        /// Number of the turn, from 1.
        turn: usize,
        /// What is wrong with it.
        source: regex::Error,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "match")]
    matches: Option<String>,
    text: String,
    chunk: Option<usize>,
    delay_ms: Option<u64>,
    think_ms: Option<u64>,
    #[serde(default)]
    tools: Vec<String>,
    pause_at: Option<usize>,
    pause_ms: Option<u64>,
    #[serde(default)]
    fault: Faults,
}

impl Script {
    /// Reads a script from its JSON.
    pub fn parse(json: &str) -> Result<Self, ScriptError> {
        let written: Vec<Written> = serde_json::from_str(json)?;
        let turns = written
            .into_iter()
            .enumerate()
            .map(|(index, turn)| resolve(index + 1, turn))
            .collect::<Result<_, _>>()?;
        Ok(Self { turns })
    }

    /// Takes the first unused turn that is for this prompt.
    pub fn take(&mut self, prompt: &str) -> Option<Turn> {
        let at = self.turns.iter().position(|turn| {
            turn.matches
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(prompt))
        })?;
        Some(self.turns.remove(at))
    }
}

impl Turn {
    /// Makes a turn that says `text` at the usual pace.
    pub fn saying(text: impl Into<String>) -> Self {
        Self {
            matches: None,
            text: text.into(),
            pace: Pace::default(),
            tools: Vec::new(),
            faults: Faults::default(),
        }
    }
}

fn resolve(number: usize, turn: Written) -> Result<Turn, ScriptError> {
    let usual = Pace::default();
    let matches = turn
        .matches
        .map(|pattern| Regex::new(&pattern))
        .transpose()
        .map_err(|source| ScriptError::Pattern {
            turn: number,
            source,
        })?;
    let millis = |given: Option<u64>, usual: Duration| given.map_or(usual, Duration::from_millis);
    Ok(Turn {
        matches,
        text: turn.text,
        pace: Pace {
            chunk: turn.chunk.unwrap_or(usual.chunk).max(1),
            delay: millis(turn.delay_ms, usual.delay),
            think: millis(turn.think_ms, usual.think),
            pause: turn
                .pause_at
                .map(|at| (at, millis(turn.pause_ms, Duration::from_secs(1)))),
        },
        tools: turn.tools,
        faults: turn.fault,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fault::Fault;
    use super::*;

    #[test]
    fn turns_are_used_in_order_and_once() {
        let mut script = Script::parse(r#"[{"text":"one"},{"text":"two"}]"#).unwrap();
        let texts: Vec<_> = std::iter::from_fn(|| script.take("any"))
            .map(|turn| turn.text)
            .collect();
        assert_eq!(texts, ["one", "two"]);
    }

    #[test]
    fn a_turn_for_another_prompt_is_kept() {
        let mut script =
            Script::parse(r#"[{"match":"(?i)brief","text":"a"},{"text":"b"}]"#).unwrap();
        assert_eq!(script.take("a message").unwrap().text, "b");
        assert!(script.take("a message").is_none());
        assert_eq!(script.take("the BRIEF").unwrap().text, "a");
    }

    #[test]
    fn the_pace_and_the_faults_are_read() {
        let json = r#"[{"text":"x","chunk":0,"delay_ms":5,"think_ms":7,"tools":["Read a"],
            "pause_at":3,"pause_ms":9,"fault":"hang,slow"}]"#;
        let turn = Script::parse(json).unwrap().take("").unwrap();
        assert_eq!(
            turn.pace,
            Pace {
                chunk: 1,
                delay: Duration::from_millis(5),
                think: Duration::from_millis(7),
                pause: Some((3, Duration::from_millis(9))),
            }
        );
        assert_eq!(turn.tools, ["Read a"]);
        assert!(turn.faults.has(Fault::Hang) && turn.faults.has(Fault::Slow));
    }

    #[test]
    fn a_faulty_script_says_what_is_wrong() {
        assert!(matches!(Script::parse("{}"), Err(ScriptError::Json(_))));
        assert!(matches!(
            Script::parse(r#"[{"text":"x","colour":1}]"#),
            Err(ScriptError::Json(_))
        ));
        assert!(matches!(
            Script::parse(r#"[{"text":"x","fault":"lazy"}]"#),
            Err(ScriptError::Json(_))
        ));
        let error = Script::parse(r#"[{"text":"x"},{"match":"(","text":"x"}]"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "turn 2: `match` is no regular expression"
        );
    }
}
