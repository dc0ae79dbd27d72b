//! One event as JSON text, read by hand: a general parser costs more than the emulator, and stops at what it calls no
//! Unicode.

use std::time::Duration;

use super::Kind;
use crate::screen::Size;

/// What stands in an event's line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Time or interval; 0 when negative.
    pub(super) time: Duration,
    /// The time was negative.
    pub(super) negative: bool,
    /// What happened.
    pub(super) kind: Kind,
    /// Something that is no Unicode was replaced.
    pub(super) replaced: bool,
}

/// Why a line is no event; completes "line 7 …".
pub(super) type Fault = &'static str;

const CUT: Fault = "ends inside a string";
/// How recorders write the byte that begins a terminal's sequence.
const ESC: &[u8] = br"\u001b";

/// Reads `[time, "code", data]` or, for version 1, `[time, "text"]`.
///
/// `half` carries the first half of a character over to the next output: some recorders cut between two halves.
pub(super) fn parse(text: &str, has_code: bool, half: &mut Option<u16>) -> Result<Parsed, Fault> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.blanks();
    cursor.expect(b'[', "does not start with a bracket")?;
    cursor.blanks();
    let (time, negative) = cursor.number().ok_or("has no time")?;
    cursor.comma()?;
    let mut parsed = Parsed {
        time,
        negative,
        kind: Kind::Output(String::new()),
        replaced: false,
    };
    let code = if has_code {
        let code = cursor.code().ok_or("has no event code")?;
        cursor.comma()?;
        code
    } else {
        "o"
    };
    parsed.kind = match code {
        "o" => {
            let text = cursor.string(half)?;
            parsed.replaced = text.replaced;
            Kind::Output(text.value)
        }
        "i" | "m" => {
            let mut open = None;
            let mut text = cursor.string(&mut open)?;
            if open.is_some() {
                text.value.push(char::REPLACEMENT_CHARACTER);
            }
            parsed.replaced = text.replaced || open.is_some();
            match code {
                "i" => Kind::Input(text.value),
                _ => Kind::Marker(text.value),
            }
        }
        "r" => {
            let data = cursor.string(&mut None)?.value;
            Kind::Resize(size(&data).ok_or("has a size that is none")?)
        }
        "x" => {
            let data = match cursor.peek() {
                Some(b'"') => cursor.string(&mut None)?.value,
                _ => cursor.rest().to_owned(),
            };
            Kind::Exit(
                data.trim()
                    .parse()
                    .map_err(|_| "has an exit status that is none")?,
            )
        }
        other => {
            let other = other.to_owned();
            cursor.rest();
            Kind::Other(other)
        }
    };
    cursor.blanks();
    match cursor.rest_after_bracket() {
        Some("") => Ok(parsed),
        _ => Err("does not end with a bracket"),
    }
}

/// Reads `120x40`; sizes beyond what a screen can hold are clamped.
fn size(text: &str) -> Option<Size> {
    let (cols, rows) = text.trim().split_once(['x', 'X'])?;
    let side =
        |text: &str| Some(u16::try_from(text.trim().parse::<u64>().ok()?).unwrap_or(u16::MAX));
    Some(Size::new(side(cols)?, side(rows)?))
}

struct Unescaped {
    value: String,
    replaced: bool,
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, fault: Fault) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err(fault);
        }
        self.at += 1;
        Ok(())
    }

    fn comma(&mut self) -> Result<(), Fault> {
        self.blanks();
        self.expect(b',', "misses a comma")?;
        self.blanks();
        Ok(())
    }

    /// A number of seconds, exact to the nanosecond in its usual form, and whether it was below zero.
    fn number(&mut self) -> Option<(Duration, bool)> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let mut nanos: u64 = 0;
        let mut digits = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            nanos = nanos
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
            digits += 1;
            self.at += 1;
        }
        nanos = nanos.saturating_mul(1_000_000_000);
        if self.peek() == Some(b'.') {
            self.at += 1;
            let mut unit = 100_000_000;
            while let Some(digit @ b'0'..=b'9') = self.peek() {
                nanos = nanos.saturating_add(u64::from(digit - b'0') * unit);
                unit /= 10;
                digits += 1;
                self.at += 1;
            }
        }
        if digits == 0 {
            return None;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            while matches!(self.peek(), Some(b'e' | b'E' | b'+' | b'-' | b'0'..=b'9')) {
                self.at += 1;
            }
            let seconds: f64 = self.text[start..self.at].parse().ok()?;
            let time = match Duration::try_from_secs_f64(seconds.abs()) {
                Ok(time) => time.min(Duration::from_nanos(u64::MAX)),
                Err(_) => Duration::from_nanos(u64::MAX),
            };
            return Some((
                if negative { Duration::ZERO } else { time },
                negative && !time.is_zero(),
            ));
        }
        let time = if negative {
            Duration::ZERO
        } else {
            Duration::from_nanos(nanos)
        };
        Some((time, negative && nanos > 0))
    }

    /// A short string without escapes.
    fn code(&mut self) -> Option<&'a str> {
        let rest = self.text[self.at..].strip_prefix('"')?;
        let end = rest.find('"')?;
        self.at += end + 2;
        Some(&rest[..end])
    }

    /// Everything up to the last bracket.
    fn rest(&mut self) -> &'a str {
        let start = self.at;
        if let Some(end) = self.text[start..].rfind(']') {
            self.at += end;
        }
        &self.text[start..self.at]
    }

    fn rest_after_bracket(&self) -> Option<&'a str> {
        Some(self.text[self.at..].strip_prefix(']')?.trim_end())
    }

    /// A string, its escapes undone.
    ///
    /// `half` is the first half of a character left by the string before, and receives the one this string leaves.
    fn string(&mut self, half: &mut Option<u16>) -> Result<Unescaped, Fault> {
        self.expect(b'"', "has no text")?;
        let bytes = self.text.as_bytes();
        // Escapes only shrink, so that one allocation is enough.
        let mut value = String::with_capacity(bytes.len() - self.at);
        let mut replaced = false;
        let mut open = half.take();
        loop {
            let rest = &bytes[self.at..];
            // Nearly every escape of a terminal's output is this one.
            if rest.starts_with(ESC) && open.is_none() {
                value.push('\x1b');
                self.at += ESC.len();
                continue;
            }
            let run = match rest.first() {
                Some(b'\\') => 0,
                _ => special(rest).ok_or(CUT)?,
            };
            if run > 0 {
                if open.take().is_some() {
                    value.push(char::REPLACEMENT_CHARACTER);
                    replaced = true;
                }
                value.push_str(&self.text[self.at..self.at + run]);
            }
            self.at += run + 1;
            if rest[run] == b'"' {
                break;
            }
            let (unit, length) = unescape(&rest[run + 1..])?;
            self.at += length;
            match (open.take(), unit) {
                (Some(high), 0xdc00..=0xdfff) => {
                    let joined =
                        0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
                    value.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                    continue;
                }
                (Some(_), _) => {
                    value.push(char::REPLACEMENT_CHARACTER);
                    replaced = true;
                }
                (None, _) => {}
            }
            match unit {
                0xd800..=0xdbff => open = Some(unit),
                _ => value.push(char::from_u32(u32::from(unit)).unwrap_or_else(|| {
                    replaced = true;
                    char::REPLACEMENT_CHARACTER
                })),
            }
        }
        // An empty string between two halves leaves the first one waiting.
        *half = open;
        Ok(Unescaped { value, replaced })
    }
}

/// The UTF-16 unit an escape stands for, and the bytes it takes after its backslash.
fn unescape(text: &[u8]) -> Result<(u16, usize), Fault> {
    const NONE: Fault = "has an escape that is none";
    let unit = match *text.first().ok_or(CUT)? {
        b'u' => {
            let digits = text.get(1..5).ok_or(CUT)?;
            return Ok((hex(digits).ok_or(NONE)?, 5));
        }
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        b'b' => 0x08,
        b'f' => 0x0c,
        same @ (b'"' | b'\\' | b'/') => u16::from(same),
        _ => return Err(NONE),
    };
    Ok((unit, 1))
}

/// Position of the first quote or backslash, looked for eight bytes at a time: the runs between the escapes of a
/// coloured screen are too short for a search with a set-up.
fn special(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    // The lowest byte marked is always a true one; carries can only mark bytes above it.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found =
            zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return Some(i * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let tail = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    Some(bytes.len() - rest.len() + tail)
}

fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0, |unit, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        Some(unit << 4 | u16::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Result<(u128, Kind), Fault> {
        parse(text, true, &mut None).map(|parsed| (parsed.time.as_micros(), parsed.kind))
    }

    #[test]
    fn every_kind_of_event_is_read() {
        let output = |text: &str| Kind::Output(text.to_owned());
        assert_eq!(
            event(r#"[1.5, "o", "a\u001b[m\r\n\"\\\/\t"]"#),
            Ok((1_500_000, output("a\u{1b}[m\r\n\"\\/\t")))
        );
        assert_eq!(event(r#"[0,"o",""] "#), Ok((0, output(""))));
        assert_eq!(
            event(" [ 1e-3 , \"i\" , \"é\" ] \r"),
            Ok((1_000, Kind::Input("é".to_owned())))
        );
        assert_eq!(
            event(r#"[2, "r", "100x50"]"#),
            Ok((2_000_000, Kind::Resize(Size::new(100, 50))))
        );
        assert_eq!(
            event(r#"[2, "r", "0x0"]"#),
            Ok((2_000_000, Kind::Resize(Size::new(0, 0))))
        );
        assert_eq!(
            event(r#"[2, "r", "9999999x1"]"#),
            Ok((2_000_000, Kind::Resize(Size::new(u16::MAX, 1))))
        );
        assert_eq!(
            event(r#"[3, "m", "mark"]"#),
            Ok((3_000_000, Kind::Marker("mark".to_owned())))
        );
        assert_eq!(event(r#"[3, "x", "1"]"#), Ok((3_000_000, Kind::Exit(1))));
        assert_eq!(event(r#"[3, "x", -1]"#), Ok((3_000_000, Kind::Exit(-1))));
        assert_eq!(
            event(r#"[3, "z", {"a":[1]}]"#),
            Ok((3_000_000, Kind::Other("z".to_owned())))
        );
    }

    #[test]
    fn what_is_no_event_says_why() {
        let cases = [
            ("{}", "does not start with a bracket"),
            (r#"["o", "x"]"#, "has no time"),
            ("[1.0]", "misses a comma"),
            ("[1.0, 2]", "has no event code"),
            (r#"[1.0, "o", 5]"#, "has no text"),
            (r#"[1.0, "o", "abc"#, "ends inside a string"),
            (r#"[1.0, "o", "abc\"#, "ends inside a string"),
            (r#"[1.0, "o", "abc\u00"#, "ends inside a string"),
            (r#"[1.0, "o", "\q"]"#, "has an escape that is none"),
            (r#"[1.0, "o", "\u00g0"]"#, "has an escape that is none"),
            (r#"[1.0, "o", "abc""#, "does not end with a bracket"),
            (r#"[1.0, "o", "abc"] x"#, "does not end with a bracket"),
            (r#"[1.0, "r", "80"]"#, "has a size that is none"),
            (r#"[1.0, "x", "y"]"#, "has an exit status that is none"),
        ];
        for (text, fault) in cases {
            assert_eq!(event(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn times_are_exact_and_never_below_zero() {
        let time = |text: &str| {
            parse(&format!(r#"[{text},"o",""]"#), true, &mut None).map(|p| (p.time, p.negative))
        };
        assert_eq!(time("0.000001"), Ok((Duration::from_nanos(1_000), false)));
        assert_eq!(
            time("12345.123456789123"),
            Ok((Duration::from_nanos(12_345_123_456_789), false))
        );
        assert_eq!(time("-1.5"), Ok((Duration::ZERO, true)));
        assert_eq!(time("-0.0"), Ok((Duration::ZERO, false)));
        assert_eq!(time("1E3"), Ok((Duration::from_secs(1_000), false)));
        assert_eq!(time("1e300"), Ok((Duration::from_nanos(u64::MAX), false)));
        assert_eq!(
            time("99999999999999999999999"),
            Ok((Duration::from_nanos(u64::MAX), false))
        );
    }

    #[test]
    fn halves_of_characters_are_joined_also_over_two_events() {
        let mut half = None;
        let mut output = |text: &str| {
            let parsed = parse(&format!(r#"[0,"o","{text}"]"#), true, &mut half).expect("an event");
            match parsed.kind {
                Kind::Output(text) => (text, parsed.replaced),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(output(r"\ud83d\ude00"), ("😀".to_owned(), false));
        assert_eq!(output(r"a\ud83d"), ("a".to_owned(), false));
        assert_eq!(output(r"\ude00b"), ("😀b".to_owned(), false));
        assert_eq!(output(r"\ude00"), ("\u{fffd}".to_owned(), true));
        assert_eq!(
            output(r"\ud83d\u001b[m\u001B"),
            ("\u{fffd}\u{1b}[m\u{1b}".to_owned(), true)
        );
        assert_eq!(
            output(r"\ud83dx\ud83d\n"),
            ("\u{fffd}x\u{fffd}\n".to_owned(), true)
        );
        assert_eq!(
            output(r"\ud83d\ud83d\ude00"),
            ("\u{fffd}😀".to_owned(), true)
        );
        assert_eq!(output(r"\ud83d"), (String::new(), false));
        assert_eq!(output(""), (String::new(), false));
        assert_eq!(output("x"), ("\u{fffd}x".to_owned(), true));
    }

    proptest::proptest! {
        #[test]
        fn the_quick_search_finds_what_a_plain_one_finds(
            bytes in proptest::collection::vec(proptest::sample::select(b"\"\\!#]\x00\xa2\xdc\xff".to_vec()), 0..40),
        ) {
            let plain = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            proptest::prop_assert_eq!(special(&bytes), plain);
        }
    }
}
