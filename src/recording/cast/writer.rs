//! Writes a recording: what happened in, whole lines of asciicast version 3 out.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Header;
use crate::screen::Size;

/// Turns events into lines.
///
/// Every method appends whole lines, so that a file that got each of them in one write is readable to its last event
/// at any moment. Times are kept in whole microseconds of the session, so that the intervals do not drift.
#[derive(Debug, Default)]
pub struct Writer {
    last_us: u128,
    output: Halves,
    input: Halves,
}

impl Writer {
    /// Starts a recording with its first line.
    pub fn new(header: &Header, lines: &mut Vec<u8>) -> Self {
        let mut term = Map::new();
        term.insert("cols".to_owned(), header.size.cols.into());
        term.insert("rows".to_owned(), header.size.rows.into());
        if let Some(kind) = &header.term {
            term.insert("type".to_owned(), kind.as_str().into());
        }
        let mut head = Map::new();
        head.insert("version".to_owned(), 3.into());
        head.insert("term".to_owned(), term.into());
        if let Some(timestamp) = header.timestamp {
            head.insert("timestamp".to_owned(), timestamp.into());
        }
        for (name, value) in [("title", &header.title), ("command", &header.command)] {
            if let Some(value) = value {
                head.insert(name.to_owned(), value.as_str().into());
            }
        }
        json_line(&Value::Object(head), lines);
        Self::default()
    }

    /// The child wrote.
    pub fn output(&mut self, at: Duration, bytes: &[u8], lines: &mut Vec<u8>) {
        let text = self.output.take(bytes);
        self.event(at, "o", &text, lines);
    }

    /// The child was written to.
    pub fn input(&mut self, at: Duration, bytes: &[u8], lines: &mut Vec<u8>) {
        let text = self.input.take(bytes);
        self.event(at, "i", &text, lines);
    }

    /// The terminal changed its size.
    pub fn resize(&mut self, at: Duration, size: Size, lines: &mut Vec<u8>) {
        self.event(at, "r", &format!("{}x{}", size.cols, size.rows), lines);
    }

    /// A marker.
    pub fn marker(&mut self, at: Duration, label: &str, lines: &mut Vec<u8>) {
        if label.is_empty() {
            self.event(at, "m", " ", lines);
        } else {
            self.event(at, "m", label, lines);
        }
    }

    /// The child ended; what was held back is written before.
    pub fn exit(&mut self, at: Duration, status: i32, lines: &mut Vec<u8>) {
        self.flush(at, lines);
        self.event(at, "x", &status.to_string(), lines);
    }

    /// Writes what was held back of a character that never became whole.
    pub fn flush(&mut self, at: Duration, lines: &mut Vec<u8>) {
        for (code, held) in [("o", self.output.end()), ("i", self.input.end())] {
            self.event(at, code, held, lines);
        }
    }

    fn event(&mut self, at: Duration, code: &str, data: &str, lines: &mut Vec<u8>) {
        if data.is_empty() {
            return;
        }
        let now = at.as_micros().max(self.last_us);
        let interval = now - self.last_us;
        self.last_us = now;
        let (seconds, micros) = (interval / 1_000_000, interval % 1_000_000);
        lines.extend_from_slice(format!("[{seconds}.{micros:06}, \"{code}\", ").as_bytes());
        serde_json::to_writer(&mut *lines, data)
            .expect("a string is always JSON and memory takes it");
        lines.extend_from_slice(b"]\n");
    }
}

fn json_line(value: &Value, lines: &mut Vec<u8>) {
    serde_json::to_writer(&mut *lines, &json!(value))
        .expect("a value is always JSON and memory takes it");
    lines.push(b'\n');
}

/// Text of a stream whose chunks may end inside a character.
#[derive(Debug, Default)]
struct Halves {
    held: Vec<u8>,
}

impl Halves {
    /// The whole characters of what is held and of `bytes`; what is no UTF-8 becomes U+FFFD.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        if self.held.is_empty()
            && let Ok(whole) = std::str::from_utf8(bytes)
        {
            return Cow::Borrowed(whole);
        }
        let joined;
        let mut rest = if self.held.is_empty() {
            bytes
        } else {
            self.held.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.held);
            &joined
        };
        let mut text = String::with_capacity(rest.len());
        loop {
            let fault = match std::str::from_utf8(rest) {
                Ok(whole) => {
                    text.push_str(whole);
                    return text.into();
                }
                Err(fault) => fault,
            };
            let (whole, after) = rest.split_at(fault.valid_up_to());
            text.push_str(std::str::from_utf8(whole).expect("it was just checked"));
            let Some(bad) = fault.error_len() else {
                self.held = after.to_vec();
                return text.into();
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &after[bad..];
        }
    }

    fn end(&mut self) -> &'static str {
        if self.held.is_empty() {
            return "";
        }
        self.held.clear();
        "\u{fffd}"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Event, Kind, Reader};
    use super::*;

    fn read(lines: &[u8]) -> Vec<Event> {
        let mut reader = Reader::open(lines)
            .expect("readable")
            .recording()
            .expect("a recording");
        let events = reader
            .by_ref()
            .map(|event| event.expect("an event"))
            .collect();
        assert_eq!(reader.notes(), super::super::Notes::default());
        events
    }

    #[test]
    fn a_recording_is_exactly_these_lines() {
        let mut header = Header::new(Size::new(80, 24));
        header.timestamp = Some(1_700_000_000);
        header.term = Some("xterm-256color".to_owned());
        header.title = Some("peer".to_owned());
        let mut lines = Vec::new();
        let mut writer = Writer::new(&header, &mut lines);
        writer.output(
            Duration::from_micros(1_500_001),
            b"a\x1b[m\r\n\xc3",
            &mut lines,
        );
        writer.resize(Duration::from_secs(2), Size::new(100, 50), &mut lines);
        writer.output(Duration::from_secs(1), b"\xa9", &mut lines);
        writer.input(Duration::from_secs(3), b"\r", &mut lines);
        writer.marker(Duration::from_secs(3), "turn \"1\"", &mut lines);
        writer.output(Duration::from_secs(3), b"\xe2\x82", &mut lines);
        writer.exit(Duration::from_secs(4), 130, &mut lines);
        let wanted = concat!(
            r#"{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":1700000000,"title":"peer"}"#,
            "\n",
            r#"[1.500001, "o", "a\u001b[m\r\n"]"#,
            "\n",
            r#"[0.499999, "r", "100x50"]"#,
            "\n",
            r#"[0.000000, "o", "é"]"#,
            "\n",
            r#"[1.000000, "i", "\r"]"#,
            "\n",
            r#"[0.000000, "m", "turn \"1\""]"#,
            "\n",
            "[1.000000, \"o\", \"\u{fffd}\"]\n",
            r#"[0.000000, "x", "130"]"#,
            "\n",
        );
        assert_eq!(String::from_utf8_lossy(&lines), wanted);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_however_it_was_cut(
            bytes in prop::collection::vec(prop_oneof![
                any::<u8>(),
                prop::sample::select("é漢😀\u{1b}\"\\".as_bytes().to_vec()),
            ], 0..200),
            cuts in prop::collection::vec((1usize..9, 0u64..3_000_000), 1..200),
        ) {
            let mut lines = Vec::new();
            let mut writer = Writer::new(&Header::new(Size::new(80, 24)), &mut lines);
            let mut now = Duration::ZERO;
            let mut rest = &bytes[..];
            let mut cuts = cuts.into_iter().cycle();
            while let (false, Some((length, pause))) = (rest.is_empty(), cuts.next()) {
                let (chunk, after) = rest.split_at(length.min(rest.len()));
                now += Duration::from_micros(pause);
                writer.output(now, chunk, &mut lines);
                rest = after;
            }
            writer.flush(now, &mut lines);
            let events = read(&lines);
            let text: String = events.iter().map(|event| match &event.kind {
                Kind::Output(text) => text.as_str(),
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
            prop_assert!(events.last().is_none_or(|event| event.at == now));
        }

        #[test]
        fn every_event_comes_back_at_its_time(
            kinds in prop::collection::vec((0u8..5, "\\PC{1,8}", any::<u16>(), 0u64..10_000_000), 0..30),
        ) {
            let mut lines = Vec::new();
            let mut writer = Writer::new(&Header::new(Size::new(80, 24)), &mut lines);
            let mut now = Duration::ZERO;
            let mut wanted = Vec::new();
            for (kind, text, number, pause) in kinds {
                now += Duration::from_micros(pause);
                let kind = match kind {
                    0 => {
                        writer.output(now, text.as_bytes(), &mut lines);
                        Kind::Output(text)
                    }
                    1 => {
                        writer.input(now, text.as_bytes(), &mut lines);
                        Kind::Input(text)
                    }
                    2 => {
                        let size = Size::new(number, number / 2);
                        writer.resize(now, size, &mut lines);
                        Kind::Resize(size)
                    }
                    3 => {
                        writer.marker(now, &text, &mut lines);
                        Kind::Marker(text)
                    }
                    _ => {
                        writer.exit(now, i32::from(number), &mut lines);
                        Kind::Exit(i32::from(number))
                    }
                };
                wanted.push(Event { at: now, kind });
            }
            prop_assert_eq!(read(&lines), wanted);
        }
    }
}
