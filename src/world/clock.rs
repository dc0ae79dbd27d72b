//! Time: the monotonic age of the session, and the wall clock as records write it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

/// Counts from the start of the session; rules get its readings as plain durations.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts counting now.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Returns the time since the start; it never goes back.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the runtime's instant for a reading, so that a rule's deadline can be slept until.
    pub fn instant(&self, at: Duration) -> tokio::time::Instant {
        // A deadline beyond what an instant can hold is as good as a year away.
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        let at = at.min(self.elapsed().saturating_add(year));
        tokio::time::Instant::from_std(self.start + at)
    }
}

/// The present wall time, taken once and written in whatever way a record needs.
#[derive(Debug, Clone, Copy)]
pub struct WallTime {
    time: Timestamp,
    offset: Offset,
}

impl WallTime {
    /// Reads the wall clock and the person's time zone.
    pub fn now() -> Self {
        let time = Timestamp::now();
        let offset = TimeZone::system().to_offset(time);
        Self { time, offset }
    }

    /// Writes RFC 3339 in UTC with milliseconds and `Z`.
    pub fn utc(&self) -> String {
        format!("{:.3}", self.time)
    }

    /// Writes RFC 3339 with the person's offset from UTC, in whole seconds.
    pub fn local(&self) -> String {
        format!("{:.0}", self.time.display_with_offset(self.offset))
    }

    /// Returns the time since 1970, as rules take it; a clock set before then counts as 1970.
    pub fn since_epoch(&self) -> Duration {
        self.time
            .duration_since(Timestamp::UNIX_EPOCH)
            .try_into()
            .unwrap_or_default()
    }

    /// Returns the seconds since 1970, as the head of a terminal recording wants them.
    pub fn unix(&self) -> i64 {
        self.time.as_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, hours: i8) -> WallTime {
        WallTime {
            time: text.parse().expect("a timestamp"),
            offset: jiff::tz::offset(hours),
        }
    }

    #[test]
    fn utc_has_milliseconds_and_z() {
        let time = at("2026-03-04T05:06:07.089123Z", 2);
        assert_eq!(time.utc(), "2026-03-04T05:06:07.089Z");
    }

    #[test]
    fn local_names_the_offset() {
        let time = at("2026-03-04T23:06:07.089Z", 2);
        assert_eq!(time.local(), "2026-03-05T01:06:07+02:00");
        assert_eq!(
            at("2026-03-04T23:06:07Z", 0).local(),
            "2026-03-04T23:06:07+00:00"
        );
    }

    #[test]
    fn unix_counts_whole_seconds() {
        assert_eq!(at("1970-01-01T00:01:00.9Z", -5).unix(), 60);
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = Clock::start();
        let first = clock.elapsed();
        assert!(clock.elapsed() >= first);
    }

    #[test]
    fn the_farthest_deadline_is_still_an_instant() {
        let clock = Clock::start();
        assert!(clock.instant(Duration::MAX) > tokio::time::Instant::now());
    }
}
