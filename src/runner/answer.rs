//! What came of a run: the answer in a runner's output, or what kept it from answering (systems.md C.6, C.7).

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::Runner;
use super::stream::{Event, events};
use crate::limits;
use crate::recording::fallback::{Detail, FailureKind};

/// A runner's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The final text.
    pub text: String,
    /// The model it says it used.
    pub model: Option<String>,
    /// Its own name for the session, when it is plain.
    pub session_id: Option<String>,
}

/// What kept a route from answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The kind.
    pub kind: FailureKind,
    /// In the console's own words.
    pub detail: Detail,
}

impl Broken {
    /// A failure of a kind, in words.
    pub fn new(kind: FailureKind, words: impl AsRef<str>) -> Self {
        Self {
            kind,
            detail: Detail::new(words),
        }
    }
}

/// How a runner's process ended, with what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended<'o> {
    /// Its standard output, up to the bound.
    pub output: &'o [u8],
    /// Whether there was more.
    pub is_cut: bool,
    /// The status it ended with; none when a signal ended it.
    pub status: Option<i32>,
    /// Whether its pipes were still held open after the grace.
    pub is_held: bool,
}

/// What a run came to: the session it named, and the answer or what kept it from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The harness's own session id, when it is plain.
    pub session_id: Option<String>,
    /// The answer.
    pub answer: Result<Answer, Broken>,
    /// Codex's last message, however it ended: it writes that to the return by itself.
    pub last: Option<String>,
}

/// Reads a run that ended. A limit that was reached wins over everything; then the way it ended, then its output.
pub fn read(runner: Runner, ended: &Ended<'_>) -> Read {
    let said = match runner {
        Runner::Gemini => gemini(ended.output),
        _ => match events(ended.output) {
            None => Said::broken("a line of its output is no event"),
            Some(events) => match runner {
                Runner::Claude => claude(&events),
                Runner::Opencode => opencode(&events),
                Runner::Codex | Runner::Gemini => codex(&events),
            },
        },
    };
    let session_id = said.session.filter(|id| SESSION.is_match(id));
    let last = said.last;
    let answer = judge(ended, said.outcome, said.limit).map(|text| Answer {
        text,
        model: said.model,
        session_id: session_id.clone(),
    });
    Read {
        session_id,
        answer,
        last,
    }
}

fn judge(
    ended: &Ended<'_>,
    outcome: Result<String, Broken>,
    limit: bool,
) -> Result<String, Broken> {
    let failed = |words: &str| Err(Broken::new(FailureKind::Failed, words));
    if limit {
        return Err(Broken::new(
            FailureKind::RateLimited,
            "its usage limit is reached",
        ));
    }
    if ended.is_cut {
        let most = limits::RUNNER_OUTPUT >> 20;
        return failed(&format!("it wrote more than {most} MiB"));
    }
    match ended.status {
        Some(0) => {}
        Some(status) => {
            let reported = match &outcome {
                Err(broken) if broken.kind == FailureKind::Refused => " after an error of its own",
                _ => "",
            };
            return failed(&format!("it ended with status {status}{reported}"));
        }
        None => return failed("it was ended by a signal"),
    }
    if ended.is_held {
        return failed("a process it left behind held its output open");
    }
    outcome
}

/// What a stream says.
struct Said {
    session: Option<String>,
    model: Option<String>,
    outcome: Result<String, Broken>,
    /// A usage limit was reached.
    limit: bool,
    /// The last text of its own.
    last: Option<String>,
}

impl Said {
    fn new(outcome: Result<String, Broken>) -> Self {
        Self {
            session: None,
            model: None,
            last: outcome.as_ref().ok().cloned(),
            outcome,
            limit: false,
        }
    }

    fn broken(words: &str) -> Self {
        Self::new(unparsable(words))
    }
}

fn unparsable(words: &str) -> Result<String, Broken> {
    Err(Broken::new(FailureKind::Unparsable, words))
}

fn refused() -> Broken {
    Broken::new(FailureKind::Refused, "it answered with an error")
}

static SESSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\A[A-Za-z0-9._-]{1,128}\z"));
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"\A[a-z][a-z0-9_-]{0,39}\z"));
static MODEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\A[A-Za-z0-9._:/@\[\]-]{1,128}\z"));

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed")
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn claude(events: &[Event]) -> Said {
    let init = events
        .iter()
        .find(|event| event.kind() == "system" && event.text(&["subtype"]) == Some("init"));
    let mut said = Said::broken("it ended without a result");
    said.session = owned(init.and_then(|init| init.text(&["session_id"])));
    said.model = owned(init.and_then(|init| init.text(&["model"])));
    said.limit = events.iter().any(|event| {
        event.kind() == "rate_limit_event"
            && [&["rate_limit_info", "status"][..], &["status"]]
                .iter()
                .any(|path| event.text(path) == Some("rejected"))
    });
    if said
        .model
        .as_ref()
        .is_some_and(|model| !MODEL.is_match(model))
    {
        said.model = None;
        said.outcome = unparsable("its name for the model is no plain one");
        return said;
    }
    let Some(result) = events.iter().rfind(|event| event.kind() == "result") else {
        return said;
    };
    let word = result.text(&["subtype"]).unwrap_or_default();
    let is_error = result.value(&["is_error"]) != Some(&Value::Bool(false));
    said.outcome = match (word, is_error, result.text(&["result"])) {
        ("success", false, Some(text)) => Ok(text.to_owned()),
        ("success", false, None) => unparsable("its result has no text"),
        ("success", true, _) => Err(refused()),
        (word, ..) if WORD.is_match(word) => Err(Broken::new(
            FailureKind::Refused,
            format!("it answered with the error `{word}`"),
        )),
        _ => Err(refused()),
    };
    said
}

fn opencode(events: &[Event]) -> Said {
    let mut said = Said::broken("it ended without a text or the end of a step");
    said.session = owned(events.iter().find_map(|event| event.text(&["sessionID"])));
    let is_limit = |event: &Event| {
        [
            &["error", "data", "statusCode"][..],
            &["error", "data", "status"],
            &["error", "statusCode"],
            &["error", "status"],
        ]
        .iter()
        .any(|path| event.value(path).and_then(Value::as_u64) == Some(429))
    };
    let mut errors = events.iter().filter(|event| event.kind() == "error");
    said.limit = errors.clone().any(is_limit);
    if errors.next().is_some() {
        said.outcome = Err(refused());
        return said;
    }
    let text = events
        .iter()
        .filter(|event| event.kind() == "text")
        .filter_map(|event| event.text(&["part", "text"]))
        .next_back();
    let is_finished = events.iter().any(|event| event.kind() == "step_finish");
    if text.is_some() || is_finished {
        said.outcome = Ok(text.unwrap_or_default().to_owned());
    }
    said
}

fn codex(events: &[Event]) -> Said {
    let mut said = Said::broken("it ended without a message or the end of a turn");
    said.session = owned(events.iter().find_map(|event| {
        let is_start = event.kind() == "thread.started";
        is_start.then(|| event.text(&["thread_id"])).flatten()
    }));
    let has = |kind: &str| events.iter().any(|event| event.kind() == kind);
    let message = events
        .iter()
        .filter(|event| {
            event.kind() == "item.completed"
                && event.text(&["item", "type"]) == Some("agent_message")
        })
        .filter_map(|event| event.text(&["item", "text"]))
        .next_back();
    said.last = owned(message);
    // It tells each reconnection as an error and goes on: one that a completed turn follows was none.
    let last = |kind: &str| events.iter().rposition(|event| event.kind() == kind);
    let is_error =
        last("error").is_some_and(|at| last("turn.completed").is_none_or(|end| end < at));
    if has("turn.failed") || is_error {
        said.outcome = Err(refused());
    } else if message.is_some() || has("turn.completed") {
        said.outcome = Ok(message.unwrap_or_default().to_owned());
    }
    said
}

/// One object, on as many lines as it likes.
fn gemini(output: &[u8]) -> Said {
    let Ok(Value::Object(fields)) = serde_json::from_slice(output) else {
        return Said::broken("its output is no JSON object");
    };
    let outcome = match (fields.get("error"), fields.get("response")) {
        (Some(error), _) if !error.is_null() => Err(refused()),
        (_, Some(Value::String(text))) => Ok(text.clone()),
        _ => unparsable("its output has no response"),
    };
    let session = fields.get("session_id").and_then(Value::as_str);
    Said {
        session: owned(session),
        ..Said::new(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(runner: Runner, output: &str, status: Option<i32>) -> Read {
        read(
            runner,
            &Ended {
                output: output.as_bytes(),
                is_cut: false,
                status,
                is_held: false,
            },
        )
    }

    fn kind(runner: Runner, output: &str, status: Option<i32>) -> Result<String, FailureKind> {
        let read = run(runner, output, status);
        read.answer
            .map(|answer| answer.text)
            .map_err(|broken| broken.kind)
    }

    const INIT: &str =
        r#"{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x","tools":[]}"#;
    const OK: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"fine"}"#;

    #[test]
    fn claude_gives_model_session_and_its_last_result() {
        let first = OK.replace("fine", "first");
        let output = format!("{INIT}\n{{\"type\":\"unheard-of\"}}\n{first}\n{OK}\n");
        assert_eq!(
            run(Runner::Claude, &output, Some(0)),
            Read {
                session_id: Some("s-1".to_owned()),
                answer: Ok(Answer {
                    text: "fine".to_owned(),
                    model: Some("claude-x".to_owned()),
                    session_id: Some("s-1".to_owned()),
                }),
                last: None,
            }
        );
    }

    #[test]
    fn claude_without_a_result_or_with_an_odd_line_is_unparsable() {
        for output in [INIT, "", "hello\n", "{\"no\":\"type\"}\n"] {
            assert_eq!(
                kind(Runner::Claude, output, Some(0)),
                Err(FailureKind::Unparsable),
                "{output}"
            );
        }
        let mixed = format!("{INIT}\nwarning: x\n{OK}");
        assert_eq!(
            kind(Runner::Claude, &mixed, Some(0)),
            Err(FailureKind::Unparsable)
        );
    }

    #[test]
    fn an_error_result_is_quoted_as_a_plain_word_or_not_at_all() {
        let detail = |subtype: &str| {
            let line = format!(
                r#"{{"type":"result","subtype":{},"is_error":true,"result":"SECRET"}}"#,
                Value::from(subtype)
            );
            let broken = run(Runner::Claude, &line, Some(0))
                .answer
                .expect_err("an error");
            assert_eq!(broken.kind, FailureKind::Refused);
            broken.detail.to_string()
        };
        assert_eq!(
            detail("error_max_turns"),
            "it answered with the error `error_max_turns`"
        );
        let long = "x".repeat(200);
        for odd in [
            "success",
            "<script>alert(1)</script>",
            long.as_str(),
            "",
            "A b",
        ] {
            assert_eq!(detail(odd), "it answered with an error", "{odd}");
        }
        // What does not say that it is no error is one.
        let silent = r#"{"type":"result","subtype":"success","result":"fine"}"#;
        assert_eq!(
            kind(Runner::Claude, silent, Some(0)),
            Err(FailureKind::Refused)
        );
    }

    #[test]
    fn a_model_that_is_no_plain_name_is_not_trimmed_but_refused() {
        for model in ["a b", " claude", "x\u{1b}[31m", "", &"m".repeat(129)] {
            let init = format!(
                r#"{{"type":"system","subtype":"init","session_id":"s","model":{}}}"#,
                Value::from(model)
            );
            let output = format!("{init}\n{OK}");
            assert_eq!(
                kind(Runner::Claude, &output, Some(0)),
                Err(FailureKind::Unparsable),
                "{model:?}"
            );
        }
    }

    #[test]
    fn a_limit_that_was_reached_wins_over_the_status_and_a_warning_is_nothing() {
        let event = |status: &str| {
            format!(r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}"}}}}"#)
        };
        for status in [Some(0), Some(1), None] {
            let output = format!("{INIT}\n{}\n", event("rejected"));
            assert_eq!(
                kind(Runner::Claude, &output, status),
                Err(FailureKind::RateLimited)
            );
        }
        let warned = format!("{INIT}\n{}\n{OK}", event("allowed_warning"));
        assert_eq!(
            kind(Runner::Claude, &warned, Some(0)),
            Ok("fine".to_owned())
        );
        let limit = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"statusCode":429,"message":"SECRET"}}}"#;
        assert_eq!(
            kind(Runner::Opencode, limit, Some(1)),
            Err(FailureKind::RateLimited)
        );
    }

    #[test]
    fn opencode_gives_its_last_text() {
        let text = |text: &str| {
            format!(r#"{{"type":"text","sessionID":"ses_1","part":{{"text":"{text}"}}}}"#)
        };
        let finish = r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop"}}"#;
        let output = format!("{}\n{}\n{finish}", text("one"), text("two"));
        let read = run(Runner::Opencode, &output, Some(0));
        assert_eq!(read.session_id.as_deref(), Some("ses_1"));
        assert_eq!(read.answer.map(|answer| answer.text), Ok("two".to_owned()));
        assert_eq!(kind(Runner::Opencode, finish, Some(0)), Ok(String::new()));
        let start = r#"{"type":"step_start","sessionID":"x"}"#;
        assert_eq!(
            kind(Runner::Opencode, start, Some(0)),
            Err(FailureKind::Unparsable)
        );
        let error = format!(
            "{}\n{}",
            text("one"),
            r#"{"type":"error","error":{"name":"X"}}"#
        );
        assert_eq!(
            kind(Runner::Opencode, &error, Some(0)),
            Err(FailureKind::Refused)
        );
    }

    #[test]
    fn codex_gives_its_last_message_of_a_turn_that_did_not_fail() {
        let start = r#"{"type":"thread.started","thread_id":"t-1"}"#;
        let message = |text: &str| {
            format!(
                r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{text}"}}}}"#
            )
        };
        let other = r#"{"type":"item.completed","item":{"type":"reasoning","text":"no"}}"#;
        let done = r#"{"type":"turn.completed","usage":{}}"#;
        let output = format!(
            "{start}\n{}\n{}\n{other}\n{done}\n{{\"type\":\"new.kind\"}}",
            message("one"),
            message("two")
        );
        let read = run(Runner::Codex, &output, Some(0));
        assert_eq!(read.session_id.as_deref(), Some("t-1"));
        assert_eq!(read.answer.map(|answer| answer.text), Ok("two".to_owned()));
        for failed in [
            r#"{"type":"turn.failed","error":{"message":"SECRET"}}"#,
            r#"{"type":"error","message":"SECRET"}"#,
        ] {
            let output = format!("{start}\n{}\n{failed}", message("one"));
            let broken = run(Runner::Codex, &output, Some(0))
                .answer
                .expect_err("an error");
            assert_eq!(broken.kind, FailureKind::Refused);
            assert!(!broken.detail.as_str().contains("SECRET"));
        }
        assert_eq!(
            kind(Runner::Codex, start, Some(0)),
            Err(FailureKind::Unparsable)
        );
        let notice = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
        let went_on = format!("{start}\n{notice}\n{}\n{done}", message("fine"));
        assert_eq!(
            kind(Runner::Codex, &went_on, Some(0)),
            Ok("fine".to_owned())
        );
        let broke = format!("{start}\n{}\n{done}\n{notice}", message("fine"));
        assert_eq!(
            kind(Runner::Codex, &broke, Some(0)),
            Err(FailureKind::Refused)
        );
    }

    #[test]
    fn gemini_gives_the_response_of_its_one_object() {
        let good = "{\n \"session_id\": \"g\",\n \"response\": \"fine\",\n \"stats\": {}\n}\n";
        assert_eq!(kind(Runner::Gemini, good, Some(0)), Ok("fine".to_owned()));
        let error = r#"{"error":{"message":"SECRET"}}"#;
        assert_eq!(
            kind(Runner::Gemini, error, Some(0)),
            Err(FailureKind::Refused)
        );
        for bad in ["", "fine", "[]", "{}", r#"{"response":1}"#] {
            assert_eq!(
                kind(Runner::Gemini, bad, Some(0)),
                Err(FailureKind::Unparsable),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_run_that_did_not_end_well_has_failed_whatever_it_wrote() {
        let output = format!("{INIT}\n{OK}");
        for status in [Some(1), Some(137), None] {
            assert_eq!(
                kind(Runner::Claude, &output, status),
                Err(FailureKind::Failed)
            );
        }
        let mut ended = Ended {
            output: output.as_bytes(),
            is_cut: true,
            status: Some(0),
            is_held: false,
        };
        let broken = read(Runner::Claude, &ended).answer.expect_err("cut");
        assert_eq!(broken.kind, FailureKind::Failed);
        assert_eq!(broken.detail.as_str(), "it wrote more than 32 MiB");
        ended.is_cut = false;
        ended.is_held = true;
        let broken = read(Runner::Claude, &ended).answer.expect_err("held");
        assert_eq!(broken.kind, FailureKind::Failed);
    }
}
