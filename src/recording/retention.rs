//! Which sessions are kept: by age, then by size, and never one that is open.

use std::time::Duration;

/// What is known of a session when it is decided whether it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// When it began, since 1970; none when nothing tells.
    pub started: Option<Duration>,
    /// Size of its folder.
    pub bytes: u64,
    /// It runs, or may run.
    pub is_open: bool,
}

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Sessions that began longer ago go.
    pub age: Duration,
    /// Of those that are left the oldest go until all together are no larger, in bytes.
    pub bytes: u64,
}

/// Places of the sessions that go, oldest first.
///
/// A session that is open stays, and so does one of which nothing tells when it began; both count for the size.
pub fn choose(sessions: &[Kept], now: Duration, keep: Retention) -> Vec<usize> {
    let mut order: Vec<(Duration, usize)> = sessions
        .iter()
        .enumerate()
        .filter(|(_, session)| !session.is_open)
        .filter_map(|(at, session)| Some((session.started?, at)))
        .collect();
    order.sort_unstable();
    let mut left: u64 = sessions.iter().map(|session| session.bytes).sum();
    let mut gone = Vec::new();
    for (started, at) in order {
        if now.saturating_sub(started) > keep.age || left > keep.bytes {
            left -= sessions[at].bytes;
            gone.push(at);
        }
    }
    gone
}

/// When a session began, since 1970: by what its file says, or by the start of its id.
pub fn started(time: &str, id: &str) -> Option<Duration> {
    let of_file = time.parse::<jiff::Timestamp>().ok();
    let of_id = || {
        let stamp = id.get(..15)?;
        let time = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", stamp).ok()?;
        jiff::fmt::temporal::DateTimeParser::new()
            .parse_timestamp(format!("{time}Z"))
            .ok()
    };
    let started = of_file.or_else(of_id)?;
    u64::try_from(started.as_millisecond())
        .ok()
        .map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn kept(days: u32, bytes: u64) -> Kept {
        Kept {
            started: Some(DAY * days),
            bytes,
            is_open: false,
        }
    }

    #[test]
    fn what_is_too_old_goes_and_then_the_oldest_until_the_rest_fits() {
        let keep = Retention {
            age: DAY * 30,
            bytes: 100,
        };
        let sessions = [kept(95, 60), kept(1, 10), kept(90, 50), kept(99, 30)];
        assert_eq!(choose(&sessions, DAY * 100, keep), [1, 2]);
        assert_eq!(choose(&sessions[..1], DAY * 100, keep), Vec::<usize>::new());
    }

    #[test]
    fn what_is_open_or_has_no_date_never_goes() {
        let keep = Retention { age: DAY, bytes: 0 };
        let open = Kept {
            is_open: true,
            ..kept(1, 10)
        };
        let undated = Kept {
            started: None,
            ..kept(1, 10)
        };
        assert_eq!(
            choose(&[open, undated, kept(100, 10)], DAY * 100, keep),
            [2]
        );
    }

    #[test]
    fn the_start_is_read_off_the_file_or_off_the_id() {
        let wanted = Some(Duration::from_secs(1_767_323_045));
        assert_eq!(started("2026-01-02T03:04:05.000Z", "x"), wanted);
        assert_eq!(started("", "20260102-030405-9c41d07e"), wanted);
        assert_eq!(started("", "20261402-030405-9c41d07e"), None);
        assert_eq!(started("soon", "é"), None);
    }
}
