//! A stream of events, a JSON object with a `type` on each line (systems.md C.6).

use serde_json::{Map, Value};

/// One event.
#[derive(Debug)]
pub(super) struct Event(Map<String, Value>);

impl Event {
    /// The kind of the event.
    pub(super) fn kind(&self) -> &str {
        self.text(&["type"]).unwrap_or_default()
    }

    /// The value at a path of names.
    pub(super) fn value(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.0.get(*first)?, |value, name| value.get(*name))
    }

    /// The text at a path of names.
    pub(super) fn text(&self, path: &[&str]) -> Option<&str> {
        self.value(path)?.as_str()
    }
}

/// Reads every line; none when a line that is not blank is no such object.
pub(super) fn events(output: &[u8]) -> Option<Vec<Event>> {
    let text = std::str::from_utf8(output).ok()?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let Ok(Value::Object(fields)) = serde_json::from_str(line) else {
                return None;
            };
            let has_kind = fields.get("type").is_some_and(Value::is_string);
            has_kind.then_some(Event(fields))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_event_makes_it_no_stream() {
        let good = b"{\"type\":\"a\"}\n\n  \r\n{\"type\":\"b\",\"x\":{\"y\":\"z\"}}";
        let events = events(good).expect("a stream");
        assert_eq!(events.len(), 2);
        assert_eq!(events[1].text(&["x", "y"]), Some("z"));
        assert_eq!(events[1].text(&["x", "q"]), None);
        for bad in [
            "text",
            "[]",
            "{}",
            "{\"type\":1}",
            "{\"type\":\"a\"} x",
            "1",
            "{\"type\":\"a\"",
        ] {
            let whole = format!("{{\"type\":\"a\"}}\n{bad}\n");
            assert!(super::events(whole.as_bytes()).is_none(), "{bad}");
        }
        assert!(super::events(b"{\"type\":\"\xff\"}").is_none());
        assert_eq!(super::events(b"").map(|all| all.len()), Some(0));
    }
}
