//! Reads a recording event by event, as far as it can be read.

use std::borrow::Cow;
use std::io::{self, BufRead, Cursor, Read};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::{Source, Text};
use super::{Event, Header, line};
use crate::screen::Size;

/// Longest event that is read, in bytes of JSON.
const EVENT_BYTES: usize = 64 * 1024 * 1024;
/// Size of a recording that does not give one.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Why a recording, or one of its events, could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CastError {
    /// The source failed; nothing comes after it.
    #[error("the recording could not be read")]
    Read(#[source] io::Error),
    /// The header is broken.
    #[error("the header of the recording is no JSON object")]
    Header,
    /// A version that is not known.
    #[error("the recording has version {0}, and only 1, 2 and 3 are known")]
    Version(u64),
    /// One event is broken; the ones after it can be read.
    #[error("line {line} of the recording {fault}")]
    Event {
        /// Line number, from 1.
        line: u64,
        /// Completes the sentence.
        fault: &'static str,
    },
}

/// What had to be put right on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes {
    /// The recording ends inside an event or inside its compressed form.
    pub cut: bool,
    /// Bytes or escapes that are no Unicode were replaced.
    pub replaced: bool,
    /// A time before that of the event before was raised to it.
    pub clamped: bool,
}

/// A place between two events of a recording, from which reading can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Bytes before it, decompressed.
    pub offset: u64,
    /// Lines before it.
    pub line: u64,
    /// Events before it, those that could not be read left out.
    pub events: u64,
    /// The moment of the last of them, in nanoseconds from the start.
    pub nanos: u64,
    /// The first half of a character that the last output ended in.
    pub half: Option<u16>,
}

impl Place {
    /// The moment of the last event before it.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }
}

/// What a file turned out to be.
pub enum Opened<R: BufRead> {
    /// A recording.
    Recording(Reader<R>),
    /// Anything else, from its first byte.
    Text(Text<R>),
}

impl<R: BufRead> Opened<R> {
    /// The recording, if it is one.
    pub fn recording(self) -> Option<Reader<R>> {
        match self {
            Self::Recording(reader) => Some(reader),
            Self::Text(_) => None,
        }
    }
}

/// The events of a recording, in order, with times counted from its start.
///
/// An `Err` of kind [`CastError::Event`] stands for one event; the next call goes on after it. Memory is bounded by
/// the largest event.
pub struct Reader<R: BufRead> {
    scan: Scan<R>,
    header: Header,
    notes: Notes,
    at: Duration,
    half: Option<u16>,
    text: Vec<u8>,
    ended: bool,
    offset: u64,
    events: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    pub fn open(input: R) -> Result<Opened<R>, CastError> {
        let mut scan = Scan {
            input: Source::open(input).map_err(CastError::Read)?,
            line: 1,
            seen: Some(Vec::new()),
        };
        let mut fields = Fields::default();
        let found = match scan.header(&mut fields) {
            Ok(()) => Ok(false),
            Err(Stop::Cut) => Ok(true),
            Err(Stop::Broken) => Err(CastError::Header),
            Err(Stop::Failed(error)) => Err(CastError::Read(error)),
        };
        let Some(version) = fields.version.filter(|_| fields.tells_a_recording()) else {
            if let Err(error @ CastError::Read(_)) = found {
                return Err(error);
            }
            let seen = Cursor::new(scan.seen.take().unwrap_or_default());
            return Ok(Opened::Text(Text(seen.chain(scan.input))));
        };
        if !(1..=3).contains(&version) {
            return Err(CastError::Version(version));
        }
        let cut = found?;
        let offset = scan.seen.take().map_or(0, |seen| seen.len() as u64);
        let ended = cut && !fields.list && fields.held.is_none();
        if let Some((held, line)) = fields.held.take() {
            scan.input = Source::Held(Cursor::new(held));
            scan.line = line;
        }
        Ok(Opened::Recording(Self {
            scan,
            header: fields.header(version),
            notes: Notes {
                cut,
                ..Notes::default()
            },
            at: Duration::ZERO,
            half: None,
            text: Vec::new(),
            ended,
            offset,
            events: 0,
        }))
    }

    /// Goes on from a place of a recording of version 2 or 3; `input` begins there, and is not compressed.
    pub fn resume(input: R, header: Header, place: Place) -> Self {
        Self {
            scan: Scan {
                input: Source::plain(input),
                line: place.line,
                seen: None,
            },
            header,
            notes: Notes::default(),
            at: place.at(),
            half: place.half,
            text: Vec::new(),
            ended: false,
            offset: place.offset,
            events: place.events,
        }
    }

    /// The place behind the last event; none in a recording of version 1, which is one object.
    pub fn place(&self) -> Option<Place> {
        (self.header.version > 1).then(|| Place {
            offset: self.offset,
            line: self.scan.line,
            events: self.events,
            nanos: u64::try_from(self.at.as_nanos()).unwrap_or(u64::MAX),
            half: self.half,
        })
    }

    /// What the recording says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What had to be put right so far.
    pub fn notes(&self) -> Notes {
        self.notes
    }

    /// The next event's text into `self.text`, and the line it begins in.
    fn advance(&mut self) -> Result<Option<u64>, CastError> {
        if self.header.version == 1 {
            self.next_element()
        } else {
            self.next_line()
        }
    }

    fn next_line(&mut self) -> Result<Option<u64>, CastError> {
        loop {
            let line = self.scan.line;
            self.text.clear();
            let found = self
                .scan
                .input
                .by_ref()
                .take(EVENT_BYTES as u64)
                .read_until(b'\n', &mut self.text);
            self.offset += self.text.len() as u64;
            self.ended_early(found)?;
            self.scan.line += 1;
            let whole = self.text.pop_if(|last| *last == b'\n').is_some();
            if !whole && self.text.len() == EVENT_BYTES {
                self.text.clear();
                let rest = self.scan.input.skip_until(b'\n');
                self.offset += rest.as_ref().map_or(0, |length| *length as u64);
                self.ended_early(rest)?;
                return Err(CastError::Event {
                    line,
                    fault: "is too long",
                });
            }
            self.ended |= !whole;
            match self.text.trim_ascii_start().first() {
                None if self.ended => return Ok(None),
                None | Some(b'#') => {}
                Some(_) => return Ok(Some(line)),
            }
        }
    }

    /// A compressed recording that was cut ends like one that was not.
    fn ended_early(&mut self, found: io::Result<usize>) -> Result<(), CastError> {
        match found {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.ended = true;
                self.notes.cut = true;
                Ok(())
            }
            Err(error) => {
                self.ended = true;
                Err(CastError::Read(error))
            }
            Ok(_) => Ok(()),
        }
    }

    fn next_element(&mut self) -> Result<Option<u64>, CastError> {
        self.text.clear();
        let line = self.scan.line;
        let found = self.scan.element(&mut self.text);
        self.ended = !matches!(found, Ok(true));
        match found {
            Ok(true) => Ok(Some(line)),
            Ok(false) => Ok(None),
            Err(Stop::Cut) => {
                self.notes.cut = true;
                Ok(None)
            }
            Err(Stop::Failed(error)) => self.ended_early(Err(error)).map(|()| None),
            Err(Stop::Broken) => Err(CastError::Event {
                line: self.scan.line,
                fault: "is no list of events",
            }),
        }
    }

    fn event(&mut self, line: u64) -> Result<Event, CastError> {
        // The check alone is several times as fast as the replacing, and nearly always enough.
        let text = match str::from_utf8(&self.text) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(&self.text),
        };
        self.notes.replaced |= matches!(text, Cow::Owned(_));
        let parsed = line::parse(&text, self.header.version > 1, &mut self.half)
            .map_err(|fault| CastError::Event { line, fault })?;
        self.notes.replaced |= parsed.replaced;
        let at = match self.header.version {
            2 => parsed.time,
            _ => self.at.saturating_add(parsed.time),
        };
        self.notes.clamped |= parsed.negative || at < self.at;
        self.at = self.at.max(at);
        Ok(Event {
            at: self.at,
            kind: parsed.kind,
        })
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, CastError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let line = match self.advance() {
            Ok(line) => line?,
            Err(error) => return Some(Err(error)),
        };
        match self.event(line) {
            // The last line of a recorder that was killed.
            Err(CastError::Event { .. }) if self.ended => {
                self.notes.cut = true;
                None
            }
            event => {
                self.events += u64::from(event.is_ok());
                Some(event)
            }
        }
    }
}

/// Why scanning stopped.
enum Stop {
    Cut,
    Broken,
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut,
            _ => Self::Failed(error),
        }
    }
}

/// What the header object holds.
#[derive(Default)]
struct Fields {
    version: Option<u64>,
    known: serde_json::Map<String, Value>,
    /// The scanner stands inside the `stdout` list of version 1.
    list: bool,
    /// That list, when it came before the size, and the line it began in.
    held: Option<(Vec<u8>, u64)>,
}

impl Fields {
    /// Other JSON files have a `version` too.
    fn tells_a_recording(&self) -> bool {
        let names = [
            "width",
            "height",
            "term",
            "timestamp",
            "env",
            "duration",
            "title",
        ];
        self.list || self.held.is_some() || names.iter().any(|name| self.known.contains_key(*name))
    }

    fn header(&self, version: u64) -> Header {
        let term = self.known.get("term").and_then(Value::as_object);
        let (cols, rows) = match term {
            Some(term) => (term.get("cols"), term.get("rows")),
            None => (self.known.get("width"), self.known.get("height")),
        };
        let side = |value: Option<&Value>, default: u16| {
            let number = value.and_then(Value::as_f64);
            number.map_or(default, |number| {
                number.clamp(0.0, f64::from(u16::MAX)) as u16
            })
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let env_term = self.known.get("env").and_then(|env| env.get("TERM"));
        Header {
            version: version as u8,
            size: Size::new(side(cols, DEFAULT_SIZE.0), side(rows, DEFAULT_SIZE.1)),
            timestamp: self
                .known
                .get("timestamp")
                .and_then(Value::as_f64)
                .map(|at| at as u64),
            title: text(self.known.get("title")),
            command: text(self.known.get("command")),
            term: text(term.and_then(|term| term.get("type")).or(env_term)),
        }
    }
}

/// A byte-wise JSON scanner, for the header and for version 1, which is one object over the whole file.
struct Scan<R: BufRead> {
    input: Source<R>,
    line: u64,
    /// What was read, as long as it may turn out to be no recording.
    seen: Option<Vec<u8>>,
}

impl<R: BufRead> Scan<R> {
    fn peek(&mut self) -> Result<u8, Stop> {
        self.input.fill_buf()?.first().copied().ok_or(Stop::Cut)
    }

    fn take(&mut self) -> Result<u8, Stop> {
        let byte = self.peek()?;
        self.input.consume(1);
        self.line += u64::from(byte == b'\n');
        if let Some(seen) = &mut self.seen {
            seen.push(byte);
        }
        Ok(byte)
    }

    fn next(&mut self) -> Result<u8, Stop> {
        loop {
            let byte = self.take()?;
            if !byte.is_ascii_whitespace() {
                return Ok(byte);
            }
        }
    }

    fn skip_blanks(&mut self) -> Result<u8, Stop> {
        while self.peek()?.is_ascii_whitespace() {
            self.take()?;
        }
        self.peek()
    }

    /// Reads the object at the start, up to its end or into the list of events of version 1.
    fn header(&mut self, fields: &mut Fields) -> Result<(), Stop> {
        if self.peek()? == 0xef {
            for mark in [0xef, 0xbb, 0xbf] {
                if self.take()? != mark {
                    return Err(Stop::Broken);
                }
            }
        }
        if self.skip_blanks()? != b'{' {
            return Err(Stop::Broken);
        }
        self.take()?;
        let mut text = Vec::new();
        loop {
            match self.skip_blanks()? {
                b'}' => break,
                b',' => {
                    self.take()?;
                    continue;
                }
                b'"' => {}
                _ => return Err(Stop::Broken),
            }
            text.clear();
            self.value(&mut text)?;
            let name: String = serde_json::from_slice(&text).map_err(|_| Stop::Broken)?;
            if self.next()? != b':' {
                return Err(Stop::Broken);
            }
            let first = self.skip_blanks()?;
            if name == "stdout" && first == b'[' {
                let sized =
                    fields.known.contains_key("width") && fields.known.contains_key("height");
                if sized && fields.version == Some(1) {
                    self.take()?;
                    fields.list = true;
                    return Ok(());
                }
                let line = self.line;
                let mut held = Vec::new();
                let found = self.value(&mut held);
                held.drain(..held.len().min(1));
                fields.held = Some((held, line));
                found?;
                continue;
            }
            text.clear();
            self.value(&mut text)?;
            let value = serde_json::from_slice(&text).map_err(|_| Stop::Broken)?;
            if name == "version" {
                fields.version = Value::as_u64(&value);
            } else {
                fields.known.insert(name, value);
            }
        }
        self.take()?;
        Ok(())
    }

    /// The next element of a list whose opening bracket was read; false at its end.
    fn element(&mut self, text: &mut Vec<u8>) -> Result<bool, Stop> {
        loop {
            match self.skip_blanks()? {
                b']' => return Ok(false),
                b',' => {
                    self.take()?;
                }
                b'[' | b'{' | b'"' => {
                    self.value(text)?;
                    return Ok(true);
                }
                _ => return Err(Stop::Broken),
            }
        }
    }

    /// One JSON value as it stands there; whether it is one is not checked.
    fn value(&mut self, text: &mut Vec<u8>) -> Result<(), Stop> {
        let mut depth = 0_usize;
        loop {
            if text.len() >= EVENT_BYTES {
                return Err(Stop::Broken);
            }
            let byte = self.peek()?;
            match byte {
                b'"' => {
                    self.quoted(text)?;
                    if depth == 0 {
                        return Ok(());
                    }
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth == 0 => return Ok(()),
                b']' | b'}' => depth -= 1,
                b',' if depth == 0 => return Ok(()),
                _ if depth == 0 && byte.is_ascii_whitespace() => return Ok(()),
                _ => {}
            }
            text.push(self.take()?);
            if depth == 0 && matches!(byte, b']' | b'}') {
                return Ok(());
            }
        }
    }

    fn quoted(&mut self, text: &mut Vec<u8>) -> Result<(), Stop> {
        text.push(self.take()?);
        while text.len() < EVENT_BYTES {
            let byte = self.take()?;
            text.push(byte);
            match byte {
                b'\\' => text.push(self.take()?),
                b'"' => return Ok(()),
                _ => {}
            }
        }
        Err(Stop::Broken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Kind;
    use std::io::Write as _;

    use super::*;

    fn open(bytes: &[u8]) -> Reader<&[u8]> {
        Reader::open(bytes)
            .expect("readable")
            .recording()
            .expect("a recording")
    }

    fn output(at: u64, text: &str) -> Event {
        Event {
            at: Duration::from_millis(at),
            kind: Kind::Output(text.to_owned()),
        }
    }

    fn events(reader: &mut Reader<&[u8]>) -> Vec<Event> {
        reader.map(|event| event.expect("an event")).collect()
    }

    #[test]
    fn version_1_counts_intervals_inside_one_object() {
        let file = br#"{
          "version": 1, "width": 100, "height": 50, "command": "sh", "title": null, "env": {"TERM": "xterm"},
          "stdout": [ [0.5, "a\u001b[m"], [0.25,"b]\"}"] ],
          "duration": 0.75 }"#;
        let mut reader = open(file);
        assert_eq!(
            reader.header(),
            &Header {
                version: 1,
                size: Size::new(100, 50),
                timestamp: None,
                title: None,
                command: Some("sh".to_owned()),
                term: Some("xterm".to_owned()),
            }
        );
        assert_eq!(
            events(&mut reader),
            [output(500, "a\u{1b}[m"), output(750, "b]\"}")]
        );
        assert_eq!(reader.notes(), Notes::default());
    }

    #[test]
    fn version_1_may_give_its_size_after_its_events() {
        let mut reader = open(br#"{"stdout":[[1,"a"],[1,"b"]],"width":30,"height":9,"version":1}"#);
        assert_eq!(reader.header().size, Size::new(30, 9));
        assert_eq!(events(&mut reader), [output(1000, "a"), output(2000, "b")]);
    }

    #[test]
    fn version_1_is_read_up_to_where_it_was_cut() {
        let mut reader = open(br#"{"version":1,"width":30,"height":9,"stdout":[[1,"a"],[1,"b"#);
        assert_eq!(events(&mut reader), [output(1000, "a")]);
        assert!(reader.notes().cut);
    }

    #[test]
    fn version_1_cut_before_its_size_still_has_events() {
        let mut reader = open(br#"{"version":1,"stdout":[[1,"a"],[1,"b"#);
        assert_eq!(events(&mut reader), [output(1000, "a")]);
        assert!(reader.notes().cut);
    }

    #[test]
    fn version_2_counts_from_the_start() {
        let file = b"{\"version\": 2, \"width\": 80, \"height\": 24, \"timestamp\": 17, \"title\": \"t\", \"env\": {\"TERM\": \"vt\"}}\n\
            [0.5, \"o\", \"a\"]\r\n\n[1.25, \"o\", \"b\"]";
        let mut reader = open(file);
        assert_eq!(
            reader.header(),
            &Header {
                version: 2,
                size: Size::new(80, 24),
                timestamp: Some(17),
                title: Some("t".to_owned()),
                command: None,
                term: Some("vt".to_owned()),
            }
        );
        assert_eq!(events(&mut reader), [output(500, "a"), output(1250, "b")]);
        assert_eq!(reader.notes(), Notes::default());
    }

    #[test]
    fn version_3_counts_intervals_and_knows_comments() {
        let file = b"{\"version\":3,\"term\":{\"cols\":90,\"rows\":30,\"type\":\"xt\"},\"command\":\"c\"}\n\
            # a comment\n[0.5, \"o\", \"a\"]\n# [1, \"o\", \"no\"]\n[0.25, \"o\", \"b\"]\n[1, \"x\", \"3\"]\n";
        let mut reader = open(file);
        assert_eq!(reader.header().size, Size::new(90, 30));
        assert_eq!(reader.header().term.as_deref(), Some("xt"));
        assert_eq!(reader.header().command.as_deref(), Some("c"));
        let exit = Event {
            at: Duration::from_millis(1750),
            kind: Kind::Exit(3),
        };
        assert_eq!(
            events(&mut reader),
            [output(500, "a"), output(750, "b"), exit]
        );
    }

    #[test]
    fn a_cut_last_line_ends_the_recording_without_an_error() {
        let mut reader =
            open(b"{\"version\":2,\"width\":80,\"height\":24}\n[1,\"o\",\"a\"]\n[2,\"o\",\"b");
        assert_eq!(events(&mut reader), [output(1000, "a")]);
        assert!(reader.notes().cut);
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named_and_passed() {
        let mut reader = open(b"{\"version\":2,\"width\":80,\"height\":24}\n[1,\"o\",\"a\"]\ngarbage\n[2,\"o\",\"b\"]\n");
        assert_eq!(reader.next().and_then(Result::ok), Some(output(1000, "a")));
        let error = reader.next().and_then(Result::err).expect("an error");
        assert_eq!(
            error.to_string(),
            "line 3 of the recording does not start with a bracket"
        );
        assert_eq!(reader.next().and_then(Result::ok), Some(output(2000, "b")));
        assert!(reader.next().is_none());
        assert!(!reader.notes().cut);
    }

    #[test]
    fn times_that_go_back_stand_still() {
        let mut reader =
            open(b"{\"version\":2,\"width\":80,\"height\":24}\n[2,\"o\",\"a\"]\n[1,\"o\",\"b\"]\n");
        assert_eq!(events(&mut reader), [output(2000, "a"), output(2000, "b")]);
        assert!(reader.notes().clamped);
        let mut reader = open(b"{\"version\":3,\"term\":{}}\n[2,\"o\",\"a\"]\n[-1,\"o\",\"b\"]\n");
        assert_eq!(events(&mut reader), [output(2000, "a"), output(2000, "b")]);
        assert!(reader.notes().clamped);
        assert_eq!(reader.header().size, Size::new(80, 24));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced_and_noted() {
        let mut reader =
            open(b"{\"version\":2,\"width\":80,\"height\":24}\n[1,\"o\",\"a\xff\xc3\"]\n");
        assert_eq!(events(&mut reader), [output(1000, "a\u{fffd}\u{fffd}")]);
        assert!(reader.notes().replaced);
    }

    #[test]
    fn a_size_of_nothing_is_clamped() {
        let reader = open(b"{\"version\":2,\"width\":0,\"height\":-3.5}\n");
        assert_eq!(reader.header().size, Size::new(0, 0));
    }

    #[test]
    fn what_is_no_recording_comes_back_whole() {
        let cases: [&[u8]; 9] = [
            b"",
            b"REVIEW: fine\nVERDICT: AGREE\n",
            b"{",
            b"{\"version\": 3, \"sources\": []}\n{}",
            b"{\"version\": \"1.0\", \"title\": \"a package\"}",
            b"{\"a\": 1}\n[1, \"o\", \"x\"]\n",
            b"\xef\xbb\xbftext",
            b"\xefno mark",
            b"{\"stdout\": [[1, \"a\"]]}",
        ];
        for bytes in cases {
            let Ok(Opened::Text(mut text)) = Reader::open(bytes) else {
                panic!(
                    "{:?} is taken as a recording",
                    String::from_utf8_lossy(bytes)
                );
            };
            let mut read = Vec::new();
            text.read_to_end(&mut read).expect("memory reads");
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn an_unknown_version_is_named() {
        let error = Reader::open(&b"{\"version\":4,\"term\":{}}\n"[..])
            .err()
            .expect("an error");
        assert_eq!(
            error.to_string(),
            "the recording has version 4, and only 1, 2 and 3 are known"
        );
    }

    #[test]
    fn a_header_cut_short_is_a_recording_without_events() {
        let mut reader = open(b"{\"version\":2,\"width\":81,\"hei");
        assert_eq!(reader.header().size, Size::new(81, 24));
        assert!(reader.notes().cut);
        assert!(reader.next().is_none());
    }

    #[test]
    fn a_byte_order_mark_is_passed() {
        let reader = open(b"\xef\xbb\xbf{\"version\":2,\"width\":80,\"height\":24}\n");
        assert_eq!(reader.header().version, 2);
    }

    #[test]
    fn a_compressed_recording_is_read_as_far_as_it_goes() -> Result<(), Box<dyn std::error::Error>>
    {
        let mut file = b"{\"version\":2,\"width\":80,\"height\":24}\n".to_vec();
        for i in 0..20_000_u32 {
            let noise = i.wrapping_mul(2_654_435_761);
            file.extend_from_slice(format!("[{i}, \"o\", \"{noise:x}\"]\n").as_bytes());
        }
        let packed = zstd::encode_all(&file[..], 1)?;
        let mut whole = open(&packed);
        assert_eq!(events(&mut whole).len(), 20_000);
        assert!(!whole.notes().cut);
        let mut cut = open(&packed[..packed.len() - 9]);
        let read = events(&mut cut).len();
        assert!(cut.notes().cut);
        assert!((1..20_000).contains(&read), "{read}");
        let gzip = |bytes: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(bytes)?;
            packed.finish()
        };
        let packed = gzip(&file)?;
        let mut whole = open(&packed);
        assert_eq!(events(&mut whole).len(), 20_000);
        assert!(!whole.notes().cut);
        let mut cut = open(&packed[..packed.len() - 9]);
        let read = events(&mut cut).len();
        assert!(cut.notes().cut);
        assert!((1..=20_000).contains(&read), "{read}");
        // Members one behind the other are one file.
        let (head, tail) = file.split_at(file.len() / 2);
        let mut members = gzip(head)?;
        members.extend(gzip(tail)?);
        assert_eq!(events(&mut open(&members)).len(), 20_000);
        let packed = zstd::encode_all(&b"plain"[..], 1)?;
        let Opened::Text(mut text) = Reader::open(&packed[..])? else {
            panic!("plain text is taken as a recording");
        };
        let mut plain = String::new();
        text.read_to_string(&mut plain)?;
        assert_eq!(plain, "plain");
        Ok(())
    }

    #[test]
    fn a_line_without_end_is_refused_and_passed() {
        let head = b"{\"version\":2,\"width\":80,\"height\":24}\n[1,\"o\",\"";
        let endless = Read::take(io::repeat(b'x'), EVENT_BYTES as u64 + 10);
        let tail = &b"\"]\n[2,\"o\",\"b\"]\n"[..];
        let input = io::BufReader::new(head.chain(endless).chain(tail));
        let mut reader = Reader::open(input)
            .expect("readable")
            .recording()
            .expect("a recording");
        let error = reader.next().and_then(Result::err).expect("an error");
        assert_eq!(error.to_string(), "line 2 of the recording is too long");
        assert_eq!(reader.next().and_then(Result::ok), Some(output(2000, "b")));
    }

    #[test]
    fn reading_goes_on_from_any_place() {
        let files: [&[u8]; 2] = [
            b"\xef\xbb\xbf {\"version\":2,\n\"width\":80,\"height\":24}\n[1,\"o\",\"a\\ud83d\"]\n\ngarbage\n[2,\"o\",\"\\ude00b\"]\n[3,\"o\",\"c",
            b"{\"version\":3,\"term\":{\"cols\":8,\"rows\":2}}\r\n# x\n[1,\"o\",\"a\"]\n[0.5,\"i\",\"q\"]\n[1,\"m\",\"b\"]",
        ];
        for file in files {
            let mut whole = open(file);
            let mut places = vec![whole.place().expect("a place")];
            let mut all = Vec::new();
            while let Some(event) = whole.next() {
                all.push(event.map_err(|error| error.to_string()));
                places.push(whole.place().expect("a place"));
            }
            for (at, place) in places.iter().enumerate() {
                let offset = usize::try_from(place.offset).expect("small");
                let rest = Reader::resume(&file[offset..], whole.header().clone(), *place);
                let rest: Vec<_> = rest
                    .map(|event| event.map_err(|error| error.to_string()))
                    .collect();
                assert_eq!(rest, all[at..], "{place:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_go_back(
            head in 0usize..5,
            noise in prop::collection::vec(prop_oneof![
                any::<u8>(),
                prop::sample::select(b"[]{}\",:\\ux0123456789.-eoirmx#\n ".to_vec()),
            ], 0..400),
        ) {
            let heads: [&[u8]; 5] = [
                b"",
                b"{\"version\":1,\"width\":8,\"height\":2,\"stdout\":[",
                b"{\"version\":2,\"width\":8,\"height\":2}\n",
                b"{\"version\":3,\"term\":{\"cols\":8}}\n",
                b"{\"stdout\":[",
            ];
            let bytes = [heads[head], &noise].concat();
            match Reader::open(&bytes[..]) {
                Ok(Opened::Recording(reader)) => {
                    let mut last = Duration::ZERO;
                    for event in reader.take(bytes.len() + 1).flatten() {
                        prop_assert!(event.at >= last);
                        last = event.at;
                    }
                }
                Ok(Opened::Text(mut text)) => {
                    let mut read = Vec::new();
                    text.read_to_end(&mut read).expect("memory reads");
                    prop_assert_eq!(read, bytes);
                }
                Err(_) => {}
            }
        }
    }
}
