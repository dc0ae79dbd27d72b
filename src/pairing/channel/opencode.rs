//! Opencode's local API: the list of sessions, and a session's messages with their parts.
//!
//! Every answer names the prompt it belongs to. A turn with tools is several answers, of which the last one is the
//! reply. A request that was repeated leaves its stump in the same answer, as a step that was begun and not finished:
//! only what follows the last beginning of a step is the reply.

use std::time::Duration;

use serde_json::Value;

use super::{Found, Wanted, essence, is_after};

/// Most sessions that are named, newest first.
const SESSIONS: usize = 3;

/// Names the sessions of a launch in `cwd` at `since` (since 1970), newest first, from `GET /session`.
pub fn sessions(json: &[u8], cwd: &str, since: Duration) -> Vec<String> {
    let mut found: Vec<(Duration, String)> = list(json)
        .iter()
        .filter(|session| session["directory"] == cwd && session["parentID"].is_null())
        .filter_map(|session| {
            let updated = millis(&session["time"]["updated"])?;
            let id = session["id"].as_str().filter(|id| is_id(id))?;
            is_after(updated, since).then(|| (updated, id.to_owned()))
        })
        .collect();
    found.sort_by_key(|session| std::cmp::Reverse(session.0));
    found.truncate(SESSIONS);
    found.into_iter().map(|(_, id)| id).collect()
}

/// Looks for a round's answer in `GET /session/ID/message`; `None` when its prompt is not there.
pub fn find(json: &[u8], wanted: &Wanted) -> Option<Found> {
    let messages = list(json);
    let asked = messages.iter().rposition(|message| {
        let info = &message["info"];
        info["role"] == "user"
            && millis(&info["time"]["created"])
                .is_some_and(|at| wanted.is_prompt(&essence(&texts(message).join("\n")), Some(at)))
    })?;
    let prompt = messages[asked]["info"]["id"].as_str()?;
    let last = messages[asked + 1..].iter().rfind(|message| {
        let info = &message["info"];
        info["role"] == "assistant" && info["parentID"] == prompt && info["summary"] != true
    });
    Some(last.map_or(Found::NotYet, answer))
}

/// What an assistant's message comes to.
fn answer(message: &Value) -> Found {
    let info = &message["info"];
    if !info["error"].is_null() {
        return Found::Failed;
    }
    if !info["time"]["completed"].is_number() {
        return Found::NotYet;
    }
    match info["finish"].as_str() {
        // Tools were called, and their results are being thought about.
        Some("tool-calls") | None => Found::NotYet,
        // The reply was cut off.
        Some("length" | "content-filter" | "error") => Found::Failed,
        Some(_) => Found::Text(texts(message).join("\n\n")),
    }
}

/// The texts of a message's last step that someone wrote.
fn texts(message: &Value) -> Vec<&str> {
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let step = parts
        .iter()
        .rposition(|part| part["type"] == "step-start")
        .unwrap_or(0);
    parts[step..]
        .iter()
        .filter(|part| {
            part["type"] == "text" && part["synthetic"] != true && part["ignored"] != true
        })
        .filter_map(|part| part["text"].as_str().filter(|text| !text.is_empty()))
        .collect()
}

fn list(json: &[u8]) -> Vec<Value> {
    serde_json::from_slice(json).unwrap_or_default()
}

fn millis(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}

/// Whether a name can stand in an address as it is.
fn is_id(id: &str) -> bool {
    id.starts_with("ses_")
        && id.len() <= 64
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SENT: &str = "Begin with the label REVIEW and a colon, then k7q2, the tag.";

    fn wanted() -> Wanted {
        Wanted::new("k7q2", SENT, Duration::from_secs(1_000))
    }

    fn user(id: &str, tag: &str, created: u64) -> Value {
        json!({"info": {"id": id, "role": "user", "time": {"created": created}},
            "parts": [{"type": "text", "text": SENT.replace("k7q2", tag) + " "}]})
    }

    fn assistant(parent: &str, info: &Value, parts: &Value) -> Value {
        let mut message = json!({"info": {"role": "assistant", "parentID": parent,
            "time": {"created": 2_000_000, "completed": 2_000_100}, "finish": "stop"}, "parts": parts});
        for (key, value) in info.as_object().into_iter().flatten() {
            message["info"][key] = value.clone();
        }
        message
    }

    fn found(messages: &[Value]) -> Option<Found> {
        find(json!(messages).to_string().as_bytes(), &wanted())
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn start() -> Value {
        json!({"type": "step-start"})
    }

    #[test]
    fn the_stump_of_a_repeated_request_is_left_out() {
        let parts = json!([start(), text("REVIEW: (k7"), start(), text("one"), {"type": "reasoning", "text": "hm"}, text("two")]);
        let messages = [
            user("m1", "k7q2", 1_000_000),
            assistant("m1", &json!({}), &parts),
        ];
        assert_eq!(found(&messages), Some(Found::Text("one\n\ntwo".to_owned())));
    }

    #[test]
    fn a_turn_with_tools_is_answered_by_its_last_message() {
        let calls = assistant(
            "m1",
            &json!({"finish": "tool-calls"}),
            &json!([text("Let me look.")]),
        );
        let messages = [
            user("m1", "k7q2", 1_000_000),
            calls,
            assistant("m1", &json!({}), &json!([start(), text("seen")])),
        ];
        assert_eq!(found(&messages[..2]), Some(Found::NotYet));
        assert_eq!(found(&messages), Some(Found::Text("seen".to_owned())));
    }

    #[test]
    fn an_unfinished_message_is_none_yet() {
        let info = json!({"time": {"created": 2_000_000}, "finish": null});
        let messages = [
            user("m1", "k7q2", 1_000_000),
            assistant("m1", &info, &json!([start(), text("REVIEW")])),
        ];
        assert_eq!(found(&messages[..1]), Some(Found::NotYet));
        assert_eq!(found(&messages), Some(Found::NotYet));
    }

    #[test]
    fn an_error_and_a_cut_reply_are_failures() {
        for info in [
            json!({"error": {"name": "MessageAbortedError"}}),
            json!({"finish": "length"}),
            json!({"finish": "content-filter"}),
        ] {
            let messages = [
                user("m1", "k7q2", 1_000_000),
                assistant("m1", &info, &json!([start(), text("REVIEW")])),
            ];
            assert_eq!(found(&messages), Some(Found::Failed), "{info}");
        }
    }

    #[test]
    fn another_rounds_answer_is_not_this_ones() {
        let old = [
            user("m1", "a2b3", 1_000_000),
            assistant("m1", &json!({}), &json!([text("old")])),
        ];
        assert_eq!(found(&old), None);
        let [asked, answered] = old;
        let mixed = [asked, user("m2", "k7q2", 1_000_000), answered];
        assert_eq!(found(&mixed), Some(Found::NotYet));
    }

    #[test]
    fn a_prompt_from_before_the_round_does_not_count() {
        let messages = [
            user("m1", "k7q2", 900_000),
            assistant("m1", &json!({}), &json!([text("old")])),
        ];
        assert_eq!(found(&messages), None);
    }

    #[test]
    fn text_that_nobody_typed_is_no_prompt() {
        let mut message = user("m1", "k7q2", 1_000_000);
        message["parts"][0]["synthetic"] = json!(true);
        assert_eq!(found(&[message]), None);
    }

    #[test]
    fn only_the_launchs_own_sessions_are_named() {
        let session = |id: &str, directory: &str, updated: u64, parent: Value| json!({"id": id, "directory": directory, "time": {"updated": updated}, "parentID": parent});
        let list = json!([
            session("ses_old", "/w", 900_000, Value::Null),
            session("ses_one", "/w", 1_000_000, Value::Null),
            session("ses_two", "/w", 1_100_000, Value::Null),
            session("ses_else", "/v", 1_200_000, Value::Null),
            session("ses_child", "/w", 1_200_000, json!("ses_one")),
            session("ses_/../x", "/w", 1_200_000, Value::Null),
            {"id": 3}, null, 7,
        ]);
        let named = sessions(
            list.to_string().as_bytes(),
            "/w",
            Duration::from_secs(1_000),
        );
        assert_eq!(named, ["ses_two", "ses_one"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert_eq!(find(&bytes, &wanted()), None);
            prop_assert!(sessions(&bytes, "/w", Duration::ZERO).is_empty());
        }

        #[test]
        fn a_cut_answer_has_no_text(end in 0usize..600) {
            let messages = json!([
                user("m1", "k7q2", 1_000_000),
                assistant("m1", &json!({}), &json!([start(), text("whole")])),
            ]).to_string();
            let end = end.min(messages.len() - 1);
            prop_assert_eq!(find(&messages.as_bytes()[..end], &wanted()), None);
        }
    }
}
