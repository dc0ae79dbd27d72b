//! The written forms of a time, a size and a name, shared by the files and the flags.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};

use crate::limits;
use crate::screen::Size;

/// Why a written value is refused. The value itself is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a time.
    #[error("not a time; write it like 90s, 5m, 1h30m or 1500ms (a plain number is seconds)")]
    Duration,
    /// A time outside the bounds.
    #[error("a time must be longer than zero and at most {} h", limits::LONGEST_WAIT.as_secs() / 3600)]
    DurationRange,
    /// Not a terminal size.
    #[error("not a terminal size; write it as COLSxROWS, for example 120x40")]
    Size,
    /// A terminal size outside the bounds.
    #[error(
        "a terminal size is {}x{} to {max}x{max}", limits::MIN_COLS, limits::MIN_ROWS, max = limits::MAX_SIDE
    )]
    SizeRange,
}

/// A time in milliseconds, at most `limits::LONGEST_WAIT`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(u64);

impl Millis {
    /// The longest one there is.
    pub const MAX: u64 = limits::LONGEST_WAIT.as_millis() as u64;

    /// A time, cut to whole milliseconds and to the longest one.
    pub fn of(time: Duration) -> Self {
        Self(
            u64::try_from(time.as_millis())
                .unwrap_or(Self::MAX)
                .min(Self::MAX),
        )
    }

    /// The number of milliseconds.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl From<Millis> for Duration {
    fn from(millis: Millis) -> Self {
        Self::from_millis(millis.0)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let millis = u64::deserialize(deserializer)?;
        if millis > Self::MAX {
            return Err(de::Error::custom(ValueError::DurationRange));
        }
        Ok(Self(millis))
    }
}

impl JsonSchema for Millis {
    fn schema_name() -> Cow<'static, str> {
        "Millis".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX })
    }
}

/// Reads a time as a person writes it: `90s`, `5m`, `1h30m`, `300000ms`, or plain seconds.
pub fn parse_duration(text: &str) -> Result<Duration, ValueError> {
    let millis = millis_of(text.trim()).ok_or(ValueError::Duration)?;
    let duration = Duration::from_millis(millis);
    if duration.is_zero() || duration > limits::LONGEST_WAIT {
        return Err(ValueError::DurationRange);
    }
    Ok(duration)
}

/// The sum of the parts; units fall from hours to milliseconds and none comes twice.
fn millis_of(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    if let Some(seconds) = plain_number(text) {
        return Some(seconds.saturating_mul(1_000));
    }
    let mut rest = text;
    let mut total = 0_u64;
    let mut allowed = UNITS.as_slice();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number = plain_number(&rest[..digits])?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let at = allowed
            .iter()
            .position(|(unit, _)| *unit == &rest[..letters])?;
        total = total.saturating_add(number.saturating_mul(allowed[at].1));
        allowed = &allowed[at + 1..];
        rest = &rest[letters..];
    }
    (!text.is_empty()).then_some(total)
}

/// A number of digits alone; one too large to hold is the largest there is, so that it fails as out of range.
fn plain_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Reads a terminal size written as COLSxROWS.
pub fn parse_size(text: &str) -> Result<Size, ValueError> {
    let (cols, rows) = text.trim().split_once(['x', 'X']).ok_or(ValueError::Size)?;
    let cols = plain_number(cols).ok_or(ValueError::Size)?;
    let rows = plain_number(rows).ok_or(ValueError::Size)?;
    let side = |n: u64, least: u16| {
        u16::try_from(n)
            .ok()
            .filter(|n| (least..=limits::MAX_SIDE).contains(n))
            .ok_or(ValueError::SizeRange)
    };
    Ok(Size::new(
        side(cols, limits::MIN_COLS)?,
        side(rows, limits::MIN_ROWS)?,
    ))
}

/// Reads an optional size in a settings file; an empty string is none.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Size>, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    parse_size(&text).map(Some).map_err(de::Error::custom)
}

/// What the schema says of a size.
pub(super) fn size_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "cols-x-rows", "pattern": "^([0-9]+[xX][0-9]+)?$" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_people_write_it() {
        let cases = [
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("300000ms", 300_000),
            ("45", 45_000),
            ("1m30s500ms", 90_500),
        ];
        for (text, millis) in cases {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "", "s", "5x", "-5s", "1.5s", "5 m", "5s5s", "5s1h", "1ms2", "½s",
        ] {
            assert_eq!(parse_duration(text), Err(ValueError::Duration), "{text}");
        }
        for text in ["0", "0ms", "25h", "99999999999999999999"] {
            assert_eq!(
                parse_duration(text),
                Err(ValueError::DurationRange),
                "{text}"
            );
        }
    }

    #[test]
    fn a_size_is_columns_by_rows_within_bounds() {
        assert_eq!(
            parse_size("120x40"),
            Ok(Size {
                cols: 120,
                rows: 40
            })
        );
        assert_eq!(parse_size("2X1"), Ok(Size { cols: 2, rows: 1 }));
        for text in [
            "", "120", "x", "120x", "x40", "120x40x2", "a x b", "-1x4", "+9x9",
        ] {
            assert_eq!(parse_size(text), Err(ValueError::Size), "{text}");
        }
        for text in [
            "1x1",
            "0x0",
            "2001x40",
            "80x70000",
            "99999999999999999999x1",
        ] {
            assert_eq!(parse_size(text), Err(ValueError::SizeRange), "{text}");
        }
    }
}
