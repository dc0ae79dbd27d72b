//! What arrives on the demo's terminal, as keys, pastes and answers of the terminal; the same however the bytes are
//! split over reads.

/// Longest paste kept, in bytes; what comes after it is dropped.
const PASTE_BYTES: usize = 1 << 20;
/// Longest control sequence read as one; a longer one is no sequence.
const SEQUENCE_BYTES: usize = 4096;

/// One thing that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Typed text, line feeds as a terminal sends them for `Ctrl-J` included.
    Text(String),
    /// The submit key.
    Enter,
    /// Deletes backwards.
    Backspace,
    /// Interrupts, clears or quits.
    Interrupt,
    /// End of input.
    Eof,
    /// Deletes the line.
    KillLine,
    /// The escape key alone.
    Escape,
    /// A bracketed paste.
    Paste(String),
    /// The terminal answered DECRQM of synchronized output: whether it knows the mode.
    KnowsSync(bool),
    /// The terminal said where the cursor is (row and column, from 1).
    Cursor(u16, u16),
    /// Any other answer or report of the terminal: nobody typed it.
    Answer,
    /// A key the demo has no use for.
    Other,
}

impl Input {
    /// What was typed, as a terminal sends it; nothing for what the terminal says by itself.
    pub fn typed(&self) -> Option<String> {
        let keys = match self {
            Self::Text(text) => text,
            Self::Enter => "\r",
            Self::Backspace => "\x7f",
            Self::Interrupt => "\x03",
            Self::Eof => "\x04",
            Self::KillLine => "\x15",
            Self::Escape => "\x1b",
            Self::Paste(text) => return Some(format!("\x1b[200~{text}\x1b[201~")),
            Self::Other => "(a key)",
            Self::KnowsSync(_) | Self::Cursor(..) | Self::Answer => return None,
        };
        Some(keys.to_owned())
    }
}

/// Where the parser is between two bytes.
#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After `ESC [`, `ESC ]`, `ESC P` or the like: what has come so far.
    Csi(Vec<u8>),
    /// After `ESC O`.
    Ss3,
    /// A string control: until BEL or `ESC \`.
    Control {
        escaped: bool,
        length: usize,
    },
    Paste(Vec<u8>),
}

/// Turns bytes into inputs.
#[derive(Debug, Default)]
pub struct InputParser {
    state: State,
    /// Bytes of typed text that are not handed out yet: an unfinished character at the end stays here.
    text: Vec<u8>,
    out: Vec<Input>,
}

const PASTE_END: &[u8] = b"\x1b[201~";

impl InputParser {
    /// Makes a parser that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the bytes of one read.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        for byte in bytes {
            self.take(*byte);
        }
        self.give_text(false);
        std::mem::take(&mut self.out)
    }

    /// Whether a lone escape waits to be told from the head of a sequence.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Escape)
    }

    /// No further byte came for a while: a lone escape is the key.
    pub fn flush(&mut self) -> Vec<Input> {
        if self.is_waiting() {
            self.state = State::Ground;
            self.out.push(Input::Escape);
        }
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, byte: u8) {
        match std::mem::take(&mut self.state) {
            State::Ground => self.take_ground(byte),
            State::Escape => self.take_escape(byte),
            State::Csi(seen) => self.take_csi(seen, byte),
            State::Ss3 => self.out.push(Input::Other),
            State::Control { escaped, length } => self.take_control(escaped, length, byte),
            State::Paste(seen) => self.take_paste(seen, byte),
        }
    }

    fn take_ground(&mut self, byte: u8) {
        let key = match byte {
            0x1b => {
                self.give_text(true);
                self.state = State::Escape;
                return;
            }
            b'\r' => Input::Enter,
            0x7f | 0x08 => Input::Backspace,
            0x03 => Input::Interrupt,
            0x04 => Input::Eof,
            0x15 => Input::KillLine,
            b'\n' | b'\t' | 0x20..=0x7e | 0x80..=0xff => {
                self.text.push(byte);
                return;
            }
            _ => Input::Other,
        };
        self.give_text(true);
        self.out.push(key);
    }

    fn take_escape(&mut self, byte: u8) {
        match byte {
            b'[' => self.state = State::Csi(Vec::new()),
            b']' | b'P' | b'_' | b'^' | b'X' => {
                self.state = State::Control {
                    escaped: false,
                    length: 0,
                };
            }
            b'O' => self.state = State::Ss3,
            0x1b => {
                self.out.push(Input::Escape);
                self.state = State::Escape;
            }
            // Alt and a key, Alt-Enter among them: a line break in every agent.
            b'\r' | b'\n' => self.text.push(b'\n'),
            _ => self.out.push(Input::Other),
        }
    }

    fn take_csi(&mut self, mut seen: Vec<u8>, byte: u8) {
        match byte {
            0x40..=0x7e => self.end_csi(&seen, byte),
            0x1b => self.state = State::Escape,
            0x20..=0x3f if seen.len() < SEQUENCE_BYTES => {
                seen.push(byte);
                self.state = State::Csi(seen);
            }
            _ => self.out.push(Input::Other),
        }
    }

    fn end_csi(&mut self, seen: &[u8], last: u8) {
        let seen = std::str::from_utf8(seen).unwrap_or_default();
        let input = match (seen, last) {
            ("200", b'~') => {
                self.state = State::Paste(Vec::new());
                return;
            }
            ("?2026;1$" | "?2026;2$" | "?2026;3$", b'y') => Input::KnowsSync(true),
            (_, b'y') if seen.starts_with("?2026;") => Input::KnowsSync(false),
            (_, b'R') => cursor(seen).unwrap_or(Input::Other),
            // Attributes, status, window, modes; flags of the keyboard; focus; mouse.
            (_, b'c' | b'n' | b't' | b'y') => Input::Answer,
            (_, b'u') if seen.starts_with('?') => Input::Answer,
            ("", b'I' | b'O') => Input::Answer,
            (_, b'M' | b'm') if seen.starts_with('<') => Input::Answer,
            (_, b'u') => kitty_key(seen),
            _ => Input::Other,
        };
        if let Input::Text(text) = input {
            self.text.extend_from_slice(text.as_bytes());
            return;
        }
        self.out.push(input);
    }

    fn take_control(&mut self, escaped: bool, length: usize, byte: u8) {
        let ends = byte == 0x07 || (escaped && byte == b'\\') || length > SEQUENCE_BYTES;
        if ends {
            self.out.push(Input::Answer);
            return;
        }
        self.state = State::Control {
            escaped: byte == 0x1b,
            length: length + 1,
        };
    }

    fn take_paste(&mut self, mut seen: Vec<u8>, byte: u8) {
        seen.push(byte);
        if seen.len() > PASTE_BYTES + PASTE_END.len() {
            // Only what may be the end of the paste is still looked at.
            seen.remove(PASTE_BYTES);
        }
        if !seen.ends_with(PASTE_END) {
            self.state = State::Paste(seen);
            return;
        }
        seen.truncate(seen.len() - PASTE_END.len());
        let text = String::from_utf8_lossy(&seen);
        self.out
            .push(Input::Paste(text.replace("\r\n", "\n").replace('\r', "\n")));
    }

    /// Hands out the typed text; an unfinished character at its end is kept unless the text is `whole`.
    fn give_text(&mut self, whole: bool) {
        let keep = if whole { 0 } else { unfinished(&self.text) };
        let tail = self.text.split_off(self.text.len() - keep);
        let text = std::mem::replace(&mut self.text, tail);
        if !text.is_empty() {
            self.out
                .push(Input::Text(String::from_utf8_lossy(&text).into_owned()));
        }
    }
}

/// Bytes at the end that may be the head of a character.
fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let wants = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if wants > back { back } else { 0 };
    }
    0
}

fn cursor(seen: &str) -> Option<Input> {
    let (row, col) = seen.split_once(';')?;
    Some(Input::Cursor(row.parse().ok()?, col.parse().ok()?))
}

/// A key in the kitty protocol, as a terminal sends it to a program that asked for that (`CSI > 5 u`).
fn kitty_key(seen: &str) -> Input {
    let mut parts = seen.split(';');
    let code = parts.next().and_then(|part| part.split(':').next());
    let Some(Ok(code)) = code.map(str::parse::<u32>) else {
        return Input::Other;
    };
    let modifiers = parts
        .next()
        .and_then(|part| part.split(':').next())
        .and_then(|part| part.parse::<u32>().ok())
        .map_or(0, |bits| bits.saturating_sub(1));
    let (shift, control) = (modifiers & 1 != 0, modifiers & 4 != 0);
    match code {
        13 if shift => Input::Text("\n".to_owned()),
        13 => Input::Enter,
        27 => Input::Escape,
        127 => Input::Backspace,
        99 if control => Input::Interrupt,
        100 if control => Input::Eof,
        117 if control => Input::KillLine,
        106 if control => Input::Text("\n".to_owned()),
        32..=126 if !control => {
            char::from_u32(code).map_or(Input::Other, |key| Input::Text(key.to_string()))
        }
        _ => Input::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Vec<Input> {
        InputParser::new().feed(bytes)
    }

    /// All inputs of some reads, texts that only a read boundary separates joined.
    fn joined(reads: &[&[u8]]) -> Vec<Input> {
        let mut parser = InputParser::new();
        let mut all: Vec<Input> = Vec::new();
        for read in reads {
            for input in parser.feed(read) {
                match (all.last_mut(), input) {
                    (Some(Input::Text(last)), Input::Text(next)) => last.push_str(&next),
                    (_, input) => all.push(input),
                }
            }
        }
        all
    }

    #[test]
    fn typed_text_and_keys_come_in_order() {
        assert_eq!(
            parse("é ab\x7f\r".as_bytes()),
            [
                Input::Text("é ab".to_owned()),
                Input::Backspace,
                Input::Enter
            ]
        );
        assert_eq!(
            parse(b"\x03\x04\x15"),
            [Input::Interrupt, Input::Eof, Input::KillLine]
        );
    }

    #[test]
    fn a_paste_is_one_input_whatever_is_in_it() {
        assert_eq!(
            parse(b"\x1b[200~a\r\nb\x1b[31mc\n\x03\x1b[201~\r"),
            [Input::Paste("a\nb\x1b[31mc\n\x03".to_owned()), Input::Enter]
        );
    }

    #[test]
    fn a_paste_longer_than_the_bound_ends_all_the_same() {
        let mut bytes = b"\x1b[200~".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', PASTE_BYTES + 100));
        bytes.extend_from_slice(b"\x1b[201~\r");
        let inputs = parse(&bytes);
        assert!(matches!(&inputs[0], Input::Paste(text) if text.len() == PASTE_BYTES));
        assert_eq!(inputs[1..], [Input::Enter]);
    }

    #[test]
    fn answers_of_the_terminal_are_no_text() {
        assert_eq!(
            parse(
                b"\x1b[?62;22c\x1bP>|XTerm(390)\x1b\\\x1b]11;rgb:1010/1010/1010\x07\x1b[?2026;2$yx"
            ),
            [
                Input::Answer,
                Input::Answer,
                Input::Answer,
                Input::KnowsSync(true),
                Input::Text("x".to_owned())
            ]
        );
    }

    #[test]
    fn reports_are_not_typed_and_keys_are() {
        let reports =
            parse(b"\x1b[?0u\x1b[I\x1b[O\x1b[<35;1;2M\x1b[4;100;200t\x1b[?2027;0$y\x1b[0n");
        assert_eq!(reports.iter().find_map(Input::typed), None);
        let keys: String = parse(b"\x1b[A\x1b[200~a\x1b[201~b\r\x03\x1bOP")
            .iter()
            .filter_map(Input::typed)
            .collect();
        assert_eq!(keys, "(a key)\x1b[200~a\x1b[201~b\r\x03(a key)");
    }

    #[test]
    fn the_cursor_and_the_frames_are_told() {
        assert_eq!(parse(b"\x1b[12;3R"), [Input::Cursor(12, 3)]);
        assert_eq!(parse(b"\x1b[?2026;2$y"), [Input::KnowsSync(true)]);
        assert_eq!(parse(b"\x1b[?2026;0$y"), [Input::KnowsSync(false)]);
    }

    #[test]
    fn a_lone_escape_is_the_key_once_nothing_follows() {
        let mut parser = InputParser::new();
        assert_eq!(parser.feed(b"\x1b"), []);
        assert!(parser.is_waiting());
        assert_eq!(parser.flush(), [Input::Escape]);
        assert_eq!(parser.feed(b"x"), [Input::Text("x".to_owned())]);
    }

    #[test]
    fn keys_of_the_kitty_protocol_are_the_same_keys() {
        assert_eq!(
            joined(&[b"\x1b[13u\x1b[99;5u\x1b[127u\x1b[27u\x1b[97u\x1b[13;2u"]),
            [
                Input::Enter,
                Input::Interrupt,
                Input::Backspace,
                Input::Escape,
                Input::Text("a\n".to_owned())
            ]
        );
    }

    #[test]
    fn a_character_split_over_reads_is_whole() {
        let bytes = "漢é😀".as_bytes();
        let reads: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(joined(&reads), [Input::Text("漢é😀".to_owned())]);
    }

    proptest::proptest! {
        #[test]
        fn the_split_of_the_bytes_does_not_matter(
            parts in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::strategy::Just(b"\x1b[200~pasted\nt\xc3\xa9xt\x1b[201~".to_vec()),
                    proptest::strategy::Just(b"\r".to_vec()),
                    proptest::strategy::Just(b"\x1b[?62;22c".to_vec()),
                    proptest::strategy::Just(b"\x1b]11;rgb:1/1/1\x1b\\".to_vec()),
                    proptest::strategy::Just("aé漢😀".as_bytes().to_vec()),
                    proptest::collection::vec(proptest::prelude::any::<u8>(), 0..6),
                ],
                0..8
            ),
            cuts in proptest::collection::vec(0usize..200, 0..8)
        ) {
            let bytes: Vec<u8> = parts.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.push(0);
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let reads: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            proptest::prop_assert_eq!(joined(&reads), joined(&[&bytes]));
        }
    }
}
