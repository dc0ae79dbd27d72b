//! The tools: how they are described, and what a call of one asks for.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::bridge::{Call, Code, Fault, Pace, Scope, Work};
use crate::limits;
use crate::plain;
use crate::recording::word::{Kind, Verdict};
use crate::route::Role;

const TOOLS: &str = include_str!("../../assets/mcp/tools.json");
/// The schema of a round's result, as scripts have it.
const ROUND: &str = include_str!("../../assets/schema/round.json");
/// The schema of a role review's result, as scripts have it.
const REVIEW: &str = include_str!("../../assets/schema/review.json");
const SUBMIT: &str = include_str!("../../assets/mcp/submit.json");

/// Which tools a client is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Those of a driver.
    Driver,
    /// The one of a peer.
    Peer,
}

/// A tool as it is described to a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Its name for a person.
    pub title: String,
    /// What it does, for a model.
    pub description: String,
    /// What it changes and whom it reaches, by the protocol's names.
    pub annotations: Value,
    /// The schema of its arguments.
    pub input: Map<String, Value>,
    /// The schema of its structured answer.
    pub output: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    name: String,
    title: String,
    description: String,
    annotations: Value,
    input_schema: Map<String, Value>,
    output_schema: Value,
}

impl Offer {
    /// The tools, in the order they are listed.
    pub fn tools(self) -> Vec<Described> {
        let text = match self {
            Self::Driver => TOOLS,
            Self::Peer => SUBMIT,
        };
        let written: Vec<Written> =
            serde_json::from_str(text).expect("the bundled tools are well formed");
        written.into_iter().map(Described::from).collect()
    }
}

impl From<Written> for Described {
    fn from(written: Written) -> Self {
        let output = match written.output_schema {
            Value::Object(schema) => schema,
            Value::String(name) if name == "round" => round_schema(),
            Value::String(name) if name == "review" => bundled(REVIEW),
            _ => poll_schema(),
        };
        Self {
            name: written.name,
            title: written.title,
            description: written.description,
            annotations: written.annotations,
            input: written.input_schema,
            output,
        }
    }
}

/// A bundled schema. A client that puts it among its own needs no name of ours, and warns of sizes of numbers.
fn bundled(text: &str) -> Map<String, Value> {
    let mut schema: Map<String, Value> =
        serde_json::from_str(text).expect("the bundled schema is well formed");
    schema.remove("title");
    schema.values_mut().for_each(drop_sizes);
    schema
}

/// Takes out the formats that only say how wide a number is.
fn drop_sizes(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_size = fields
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|name| {
                    ["uint", "int", "double", "float"]
                        .iter()
                        .any(|size| name.starts_with(size))
                });
            if is_size {
                fields.remove("format");
            }
            fields.values_mut().for_each(drop_sizes);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_sizes),
        _ => {}
    }
}

/// The schema of a round's result, with the id it can be asked for again by.
fn round_schema() -> Map<String, Value> {
    let mut schema = bundled(ROUND);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        let id = json!({"type": "string", "description": "The id poll_round takes."});
        fields.insert("round_id".to_owned(), id);
    }
    schema
}

/// The schema of what `start_discuss` and `poll_round` answer.
fn poll_schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "required": ["round_id", "done", "state"],
        "properties": {
            "round_id": {"type": "string"},
            "done": {"type": "boolean"},
            "state": {"type": "string", "description": "What goes on, in words."},
            "waited_ms": {"type": "integer"},
            "result": {"type": "object", "description": "The round's result, once it is done; as discuss gives it."},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                "description": "Why there is no result."
            }
        }
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// What a call of a tool asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This of whoever keeps the peer.
    Call(Call),
    /// The peers within a scope; more than one console may have to be asked.
    Peers(Scope),
    /// The review of a role.
    Review {
        /// The role.
        role: Role,
        /// The revision the working tree is held against.
        base: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    #[serde(default)]
    scope: Scope,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sending {
    pane: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    pane: String,
    #[serde(default = "lines")]
    lines: u32,
}

fn lines() -> u32 {
    200
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Waiting {
    pane: String,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Briefing {
    pane: Option<String>,
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Discussing {
    pane: Option<String>,
    message: String,
    #[serde(default)]
    kind: Asked,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    pane: Option<String>,
    prompt: String,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviewing {
    role: String,
    base: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Polling {
    round_id: String,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submitting {
    tag: String,
    review: String,
    verdict: String,
}

/// What may be asked about.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Asked {
    Plan,
    #[default]
    Implementation,
    Question,
}

impl From<Asked> for Kind {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Plan => Self::Plan,
            Asked::Implementation => Self::Implementation,
            Asked::Question => Self::Question,
        }
    }
}

/// What a call of the tool `name` asks for. A tool that is not offered is none.
pub fn wanted(offer: Offer, name: &str, arguments: Map<String, Value>) -> Result<Wanted, Fault> {
    let is_offered = offer.tools().iter().any(|tool| tool.name == name);
    if !is_offered {
        return Err(Fault::new(
            Code::BadArgument,
            format!("there is no tool `{}` here", plain::display(name, 60)),
        ));
    }
    let call = match name {
        "ping" => {
            let Nothing {} = parsed(name, arguments)?;
            Call::Ping
        }
        "list_peers" => {
            let Listing { scope } = parsed(name, arguments)?;
            return Ok(Wanted::Peers(scope));
        }
        "send" => {
            let Sending { pane, text } = parsed(name, arguments)?;
            round(Some(pane), Work::Say { text }, None, Pace::Sent)?
        }
        "read" => {
            let Reading { pane, lines } = parsed(name, arguments)?;
            if lines == 0 {
                return Err(bad(name, "`lines` is at least 1"));
            }
            Call::Read {
                pane: Some(pane),
                lines,
            }
        }
        "wait_reply" => {
            let Waiting { pane, timeout_ms } = parsed(name, arguments)?;
            Call::WaitReply {
                pane: Some(pane),
                timeout_ms: bounded(timeout_ms)?,
            }
        }
        "brief" => {
            let Briefing { pane, force } = parsed(name, arguments)?;
            round(pane, Work::Brief { force }, None, Pace::Wait)?
        }
        "discuss" | "start_discuss" => {
            let Discussing {
                pane,
                message,
                kind,
                timeout_ms,
            } = parsed(name, arguments)?;
            let pace = if name == "discuss" {
                Pace::Wait
            } else {
                Pace::Start
            };
            let kind = kind.into();
            round(pane, Work::Discuss { kind, message }, timeout_ms, pace)?
        }
        "ask_review" => {
            let Asking {
                pane,
                prompt,
                timeout_ms,
            } = parsed(name, arguments)?;
            let work = Work::Discuss {
                kind: Kind::Implementation,
                message: prompt,
            };
            round(pane, work, timeout_ms, Pace::Wait)?
        }
        "review" => {
            let Reviewing { role, base } = parsed(name, arguments)?;
            let role = Role::of(&role)
                .filter(|role| !matches!(role, Role::Peer | Role::Implementer))
                .ok_or_else(|| {
                    bad(
                        name,
                        "`role` is ruthless-reviewer, security-reviewer or auditor",
                    )
                })?;
            if base
                .as_ref()
                .is_some_and(|base| base.is_empty() || base.starts_with('-'))
            {
                return Err(bad(name, "`base` is a revision"));
            }
            return Ok(Wanted::Review { role, base });
        }
        "poll_round" => {
            let Polling { round_id, wait_ms } = parsed(name, arguments)?;
            Call::Poll { round_id, wait_ms }
        }
        _ => {
            let Submitting {
                tag,
                review,
                verdict,
            } = parsed(name, arguments)?;
            let verdict = Verdict::from_word(&verdict)
                .ok_or_else(|| bad(name, "`verdict` is AGREE, ADJUST, OBJECT or ESCALATE"))?;
            Call::Submit {
                tag,
                review,
                verdict,
            }
        }
    };
    Ok(Wanted::Call(call))
}

fn round(
    pane: Option<String>,
    work: Work,
    timeout_ms: Option<u64>,
    pace: Pace,
) -> Result<Call, Fault> {
    Ok(Call::Do {
        pane,
        work,
        timeout_ms: bounded(timeout_ms)?,
        pace,
    })
}

fn bounded(timeout_ms: Option<u64>) -> Result<Option<u64>, Fault> {
    let longest = u64::try_from(limits::LONGEST_WAIT.as_millis()).unwrap_or(u64::MAX);
    match timeout_ms {
        Some(0) => Err(Fault::new(
            Code::BadArgument,
            "`timeout_ms` is at least 1; leave it out for the usual time",
        )),
        Some(over) if over > longest => Err(Fault::new(
            Code::BadArgument,
            format!("`timeout_ms` is at most {longest}, a day"),
        )),
        within => Ok(within),
    }
}

fn parsed<T: DeserializeOwned>(name: &str, arguments: Map<String, Value>) -> Result<T, Fault> {
    // `null` is what some clients send for an argument that is left out.
    let given = arguments.into_iter().filter(|(_, value)| !value.is_null());
    serde_json::from_value(Value::Object(given.collect())).map_err(|error| {
        let why = plain::display(&error.to_string(), limits::QUOTE_BYTES);
        bad(name, &why)
    })
}

fn bad(name: &str, why: &str) -> Fault {
    Fault::new(Code::BadArgument, format!("{name}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: Value) -> Result<Wanted, Fault> {
        let Value::Object(arguments) = arguments else {
            return Err(bad(name, "no object"));
        };
        wanted(Offer::Driver, name, arguments)
    }

    #[test]
    fn the_tools_are_those_of_the_interface() {
        let names = |offer: Offer| -> Vec<String> {
            offer.tools().into_iter().map(|tool| tool.name).collect()
        };
        assert_eq!(
            names(Offer::Driver),
            [
                "ping",
                "list_peers",
                "send",
                "read",
                "wait_reply",
                "brief",
                "discuss",
                "ask_review",
                "review",
                "start_discuss",
                "poll_round"
            ]
        );
        assert_eq!(names(Offer::Peer), ["submit_review"]);
    }

    #[test]
    fn every_schema_describes_an_object_and_every_tool_says_what_it_changes() {
        for tool in Offer::Driver.tools().into_iter().chain(Offer::Peer.tools()) {
            assert_eq!(tool.input["type"], "object", "{}", tool.name);
            assert_eq!(tool.output["type"], "object", "{}", tool.name);
            for hint in ["readOnlyHint", "openWorldHint"] {
                assert!(tool.annotations[hint].is_boolean(), "{} {hint}", tool.name);
            }
        }
    }

    #[test]
    fn what_is_left_out_is_what_other_servers_take_for_it() -> Result<(), Fault> {
        let read = Call::Read {
            pane: Some("peer".to_owned()),
            lines: 200,
        };
        assert_eq!(call("read", json!({"pane": "peer"}))?, Wanted::Call(read));
        assert_eq!(call("list_peers", json!({}))?, Wanted::Peers(Scope::Repo));
        let discuss = Call::Do {
            pane: None,
            work: Work::Discuss {
                kind: Kind::Implementation,
                message: "x".to_owned(),
            },
            timeout_ms: None,
            pace: Pace::Wait,
        };
        let wanted = Wanted::Call(discuss);
        assert_eq!(
            call("discuss", json!({"message": "x", "pane": null}))?,
            wanted
        );
        assert_eq!(call("ask_review", json!({"prompt": "x"}))?, wanted);
        let brief = Call::Do {
            pane: None,
            work: Work::Brief { force: false },
            timeout_ms: None,
            pace: Pace::Wait,
        };
        assert_eq!(call("brief", json!({}))?, Wanted::Call(brief));
        Ok(())
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (name, arguments, word) in [
            ("discuss", json!({}), "message"),
            (
                "discuss",
                json!({"message": "x", "verdict": "AGREE"}),
                "verdict",
            ),
            ("discuss", json!({"message": "x", "kind": "poem"}), "poem"),
            ("discuss", json!({"message": 7}), "discuss"),
            (
                "discuss",
                json!({"message": "x", "timeout_ms": 0}),
                "timeout_ms",
            ),
            ("read", json!({"pane": "peer", "lines": -1}), "read"),
            ("submit_review", json!({}), "no tool"),
            ("nonsense\u{1b}[31m", json!({}), "no tool"),
        ] {
            let fault = call(name, arguments).err();
            let fault = fault.expect("refused");
            assert_eq!(fault.code, Code::BadArgument);
            assert!(fault.message.contains(word), "{}", fault.message);
            assert!(!fault.message.contains('\u{1b}'));
        }
    }
}
