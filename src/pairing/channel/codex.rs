//! Codex's rollout file: a head line that says where and when the session began, then what happened in it.
//!
//! A turn's prompt and its end carry the same `turn_id`; the end holds the raw text, or none when the turn failed.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::essence;
use super::log::{Entry, Event, Launch};

#[derive(Deserialize)]
struct Line<P> {
    timestamp: Option<String>,
    payload: P,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
    payload: Option<PayloadKind>,
}

#[derive(Deserialize)]
struct PayloadKind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    cwd: String,
    timestamp: String,
    /// `user`, or what started it instead; older versions do not say.
    thread_source: Option<String>,
    /// A word for a session of a person, an object for one of another agent.
    source: Option<serde_json::Value>,
}

/// A message as it goes to the model.
#[derive(Deserialize)]
struct Message {
    role: String,
    content: Vec<Piece>,
    internal_chat_message_metadata_passthrough: Option<TurnOf>,
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
}

#[derive(Deserialize)]
struct TurnOf {
    turn_id: Option<String>,
}

/// A message as it was typed.
#[derive(Deserialize)]
struct Item {
    turn_id: Option<String>,
    item: UserMessage,
}

#[derive(Deserialize)]
struct UserMessage {
    #[serde(rename = "type")]
    kind: String,
    content: Vec<Piece>,
}

/// The end of a turn.
#[derive(Deserialize)]
struct End {
    turn_id: Option<String>,
    last_agent_message: Option<String>,
    error: Option<IgnoredAny>,
}

/// Reads the first line of the file.
pub(super) fn launch(line: &[u8]) -> Option<Launch> {
    let kind: Kind = serde_json::from_slice(line).ok()?;
    if kind.kind != "session_meta" {
        return None;
    }
    let head: Head = payload(line)?.payload;
    let own = head.thread_source.is_none_or(|source| source == "user")
        && head.source.is_none_or(|source| source.is_string());
    Some(Launch {
        at: time(&head.timestamp)?,
        cwd: head.cwd,
        own,
    })
}

/// Reads one line; most say nothing of prompts and ends.
pub(super) fn entry(line: &[u8]) -> Option<Entry> {
    // The kind first: other lines have fields of the same names and other types.
    let kind: Kind = serde_json::from_slice(line).ok()?;
    let (turn, event) = match (kind.kind.as_str(), kind.payload?.kind?.as_str()) {
        ("response_item", "message") => {
            let line: Line<Message> = payload(line)?;
            if line.payload.role != "user" {
                return None;
            }
            let turn = line
                .payload
                .internal_chat_message_metadata_passthrough
                .and_then(|of| of.turn_id);
            let event = prompt(line.timestamp.as_deref(), &line.payload.content);
            (turn, event)
        }
        ("event_msg", "item_completed") => {
            let line: Line<Item> = payload(line)?;
            if line.payload.item.kind != "UserMessage" {
                return None;
            }
            let event = prompt(line.timestamp.as_deref(), &line.payload.item.content);
            (line.payload.turn_id, event)
        }
        ("event_msg", "task_complete") => {
            let end: End = payload(line)?.payload;
            let event = match (end.error, end.last_agent_message) {
                (None, Some(text)) => Event::Answer(text),
                (Some(_), _) | (None, None) => Event::Failure,
            };
            (end.turn_id, event)
        }
        ("event_msg", "turn_aborted") => {
            let end: TurnOf = payload(line)?.payload;
            (end.turn_id, Event::Failure)
        }
        _ => return None,
    };
    // One file is one session.
    Some(Entry {
        session: String::new(),
        turn,
        event,
    })
}

fn payload<P: DeserializeOwned>(line: &[u8]) -> Option<Line<P>> {
    serde_json::from_slice(line).ok()
}

fn prompt(timestamp: Option<&str>, content: &[Piece]) -> Event {
    let words = content
        .iter()
        .filter_map(|piece| piece.text.as_deref())
        .map(essence)
        .collect();
    Event::Prompt(words, timestamp.and_then(time))
}

/// The time since 1970 of an RFC 3339 reading.
fn time(text: &str) -> Option<Duration> {
    let time: Timestamp = text.parse().ok()?;
    time.duration_since(Timestamp::UNIX_EPOCH).try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Found, Log, Wanted};
    use super::*;

    const SENT: &str = "Begin with the label REVIEW and a colon, then k7q2, the tag.";

    fn found(lines: &[&str]) -> Found {
        let mut log = Log::open(Format::Codex);
        for line in lines {
            log.take(format!("{line}\n").as_bytes());
        }
        log.find(&Wanted::new("k7q2", SENT, Duration::from_secs(1_000)))
    }

    fn head(extra: &str) -> String {
        format!(
            r#"{{"type":"session_meta","payload":{{"cwd":"/w","timestamp":"1970-01-01T00:20:00.5Z"{extra}}}}}"#
        )
    }

    fn is_of(line: &str, cwd: &str, since: u64) -> Option<bool> {
        let mut log = Log::open(Format::Codex);
        log.take(line.as_bytes());
        log.take(b"\n");
        log.is_of(cwd, Duration::from_secs(since))
    }

    #[test]
    fn a_file_is_told_by_its_folder_and_its_time() {
        assert_eq!(is_of(&head(""), "/w", 1_200), Some(true));
        assert_eq!(is_of(&head(""), "/v", 1_200), Some(false));
        assert_eq!(is_of(&head(""), "/w", 1_300), Some(false));
        let log = Log::open(Format::Codex);
        assert_eq!(log.is_of("/w", Duration::ZERO), None);
    }

    #[test]
    fn a_subagents_file_is_not_the_launchs() {
        let told = |extra| is_of(&head(extra), "/w", 0);
        assert_eq!(
            told(r#","source":"cli","thread_source":"user""#),
            Some(true)
        );
        assert_eq!(told(r#","thread_source":"subagent""#), Some(false));
        assert_eq!(told(r#","source":{"subagent":"review"}"#), Some(false));
    }

    #[test]
    fn a_file_without_its_head_is_not_the_launchs() {
        assert_eq!(is_of("{}", "", 0), Some(false));
        assert_eq!(is_of("not JSON", "", 0), Some(false));
    }

    const ASKED: &str = r#"{"timestamp":"1970-01-01T00:30:00Z","type":"event_msg","payload":{"type":"item_completed","turn_id":"1","item":{"type":"UserMessage","content":[{"type":"text","text":"Begin with the label REVIEW and a colon, then k7q2, the tag."}]}}}"#;

    #[test]
    fn a_null_message_and_an_error_are_failures() {
        let end = |rest: &str| {
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"task_complete","turn_id":"1",{rest}}}}}"#
            )
        };
        for (rest, expected) in [
            (r#""last_agent_message":null"#, Found::Failed),
            (
                r#""last_agent_message":"x","error":{"message":"no"}"#,
                Found::Failed,
            ),
            (
                r#""last_agent_message":"x","error":null"#,
                Found::Text("x".to_owned()),
            ),
        ] {
            assert_eq!(found(&[&head(""), ASKED, &end(rest)]), expected, "{rest}");
        }
        let aborted =
            r#"{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#;
        assert_eq!(found(&[&head(""), ASKED, aborted]), Found::Failed);
    }

    #[test]
    fn a_prompt_from_before_the_round_does_not_count() {
        let old = ASKED.replace("00:30:00Z", "00:10:00Z");
        let end = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"1","last_agent_message":"x"}}"#;
        assert_eq!(found(&[&head(""), &old, end]), Found::NotYet);
        assert_eq!(found(&[&head(""), ASKED, end]), Found::Text("x".to_owned()));
    }

    #[test]
    fn what_the_model_or_a_tool_says_is_no_prompt() {
        let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Begin with the label REVIEW and a colon, then k7q2, the tag."}]}}"#;
        let end =
            r#"{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"x"}}"#;
        assert_eq!(found(&[&head(""), said, end]), Found::NotYet);
    }
}
