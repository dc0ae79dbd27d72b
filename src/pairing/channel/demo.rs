//! The demo agent's log: one line a turn, prompt and reply together.

use serde::Deserialize;

use super::essence;
use super::log::{Entry, Event};

#[derive(Deserialize)]
struct Line {
    session: String,
    prompt: String,
    reply: String,
    failed: bool,
}

pub(super) fn entries(line: &[u8]) -> Vec<Entry> {
    let Ok(line) = serde_json::from_slice::<Line>(line) else {
        return Vec::new();
    };
    let end = if line.failed {
        Event::Failure
    } else {
        Event::Answer(line.reply)
    };
    [Event::Prompt(essence(&line.prompt), None), end]
        .map(|event| Entry {
            session: line.session.clone(),
            turn: None,
            event,
        })
        .into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Format, Found, Log, Wanted};

    fn found(lines: &str) -> Found {
        let sent = "Begin with the label REVIEW and a colon, then k7q2, the tag.";
        let mut log = Log::open(Format::Demo);
        log.take(lines.as_bytes());
        log.find(&Wanted::new("k7q2", sent, Duration::ZERO))
    }

    fn line(tag: &str, reply: &str, failed: bool) -> String {
        format!(
            r#"{{"session":"s","prompt":"Begin with the label REVIEW and a colon, then {tag}, the tag.","reply":"{reply}","failed":{failed}}}"#
        ) + "\n"
    }

    #[test]
    fn a_turns_reply_is_its_own() {
        let (first, second) = (line("k7q2", "one", false), line("a2b3", "two", false));
        assert_eq!(found(&second), Found::NotYet);
        assert_eq!(
            found(&(first.clone() + &second)),
            Found::Text("one".to_owned())
        );
        assert_eq!(found(&(second + &first)), Found::Text("one".to_owned()));
    }

    #[test]
    fn a_failed_turn_has_no_text() {
        assert_eq!(found(&line("k7q2", "", true)), Found::Failed);
    }
}
