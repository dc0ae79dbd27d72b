//! What Claude's hooks are given on standard input: one JSON object an event.
//!
//! The stop hook has all that is needed, some 40 ms after the screen: the prompt's hook names session and prompt, the
//! stop hook the same two and the raw text. The session log (`transcript_path`) is written later and tells no more.

use serde::Deserialize;

use super::essence;
use super::log::{Entry, Event};

#[derive(Deserialize)]
struct Line {
    session_id: String,
    prompt_id: Option<String>,
    hook_event_name: String,
    prompt: Option<String>,
    last_assistant_message: Option<String>,
    /// Set for what a subagent does.
    agent_id: Option<String>,
}

pub(super) fn entry(line: &[u8]) -> Option<Entry> {
    let line: Line = serde_json::from_slice(line).ok()?;
    if line.agent_id.is_some() {
        return None;
    }
    let event = match line.hook_event_name.as_str() {
        "UserPromptSubmit" => Event::Prompt(essence(&line.prompt?), None),
        "Stop" => Event::Answer(line.last_assistant_message.unwrap_or_default()),
        "StopFailure" => Event::Failure,
        _ => return None,
    };
    Some(Entry {
        session: line.session_id,
        turn: line.prompt_id,
        event,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subagents_end_is_not_the_turns() {
        let line = |extra: &str| {
            format!(
                r#"{{"session_id":"s","prompt_id":"p","hook_event_name":"Stop","last_assistant_message":"x"{extra}}}"#
            )
        };
        assert_eq!(
            entry(line("").as_bytes()),
            Some(Entry {
                session: "s".to_owned(),
                turn: Some("p".to_owned()),
                event: Event::Answer("x".to_owned()),
            })
        );
        assert_eq!(entry(line(r#","agent_id":"a""#).as_bytes()), None);
    }

    #[test]
    fn other_events_say_nothing() {
        let line = br#"{"session_id":"s","hook_event_name":"SessionStart","source":"clear"}"#;
        assert_eq!(entry(line), None);
    }
}
