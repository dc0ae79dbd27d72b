//! What is asked first, and what takes over: decided here and nowhere else (systems.md C.8, B.13).

use super::role::Route;
use crate::recording::fallback::FailureKind;
use crate::refusal::Refusal;
use crate::runner::Runner;

/// Whether there is an agent the console drives, or could start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// There is.
    There,
    /// There is not.
    Missing,
}

/// The way of one piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The route that was asked for, as records name it.
    pub asked: Route,
    /// The one that is asked first.
    pub first: Route,
    /// The one that takes over when the first does not answer, with a receipt.
    pub then: Option<Route>,
}

/// What follows when the first route did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing: the request stays open, and no receipt is written (a usage limit).
    StaysOpen,
    /// One receipt, and this route takes over.
    TakesOver(Route),
    /// One receipt that says so, and an error: there is no other route.
    Nothing,
}

impl Plan {
    /// What follows when the first route failed that way (C.7, C.8).
    pub fn after(&self, kind: FailureKind) -> After {
        match self.then {
            _ if !kind.is_fallback() => After::StaysOpen,
            Some(route) => After::TakesOver(route),
            None => After::Nothing,
        }
    }
}

impl After {
    /// The route that takes over, as a receipt names it.
    pub fn ran(self) -> &'static str {
        match self {
            Self::TakesOver(route) => route.name(),
            Self::StaysOpen | Self::Nothing => "none",
        }
    }
}

/// Why nothing can be asked at all: told before anything is started.
pub type NoRoute = Refusal;

/// Plans the way of work that was routed to `asked`.
///
/// # Errors
///
/// A refusal that names `runner.fallback_host` when there is neither a host nor a runner to take its place.
pub fn plan(asked: Route, host: Host, fallback_host: Option<Runner>) -> Result<Plan, NoRoute> {
    let takes_over = match (host, fallback_host) {
        (Host::There, _) => Route::Host,
        (Host::Missing, Some(runner)) => Route::Runner(runner),
        (Host::Missing, None) => {
            return Err(Refusal::new(
                "no-host",
                "there is no agent to be the host, and no runner is set to take its place",
                "start one with --peer, or set `runner.fallback_host` in the machine file",
            ));
        }
    };
    Ok(match asked {
        // The host's work has nowhere to fall back to: what stands in for a missing host is no fallback.
        Route::Host => Plan {
            asked,
            first: takes_over,
            then: None,
        },
        Route::RepoPrompt | Route::Runner(_) => Plan {
            asked,
            first: asked,
            then: (takes_over != asked).then_some(takes_over),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: Route = Route::Runner(Runner::Claude);
    const OPENCODE: Route = Route::Runner(Runner::Opencode);

    fn way(asked: Route, host: Host, fallback: Option<Runner>) -> Option<(Route, Option<Route>)> {
        let plan = plan(asked, host, fallback).ok()?;
        assert_eq!(plan.asked, asked);
        Some((plan.first, plan.then))
    }

    #[test]
    fn what_is_not_routed_stays_with_the_host() {
        assert_eq!(
            way(Route::Host, Host::There, None),
            Some((Route::Host, None))
        );
        assert_eq!(
            way(Route::Host, Host::There, Some(Runner::Claude)),
            Some((Route::Host, None))
        );
    }

    #[test]
    fn without_a_host_its_stand_in_does_the_hosts_work() {
        assert_eq!(
            way(Route::Host, Host::Missing, Some(Runner::Claude)),
            Some((CLAUDE, None))
        );
    }

    #[test]
    fn a_route_falls_back_to_the_host_or_its_stand_in() {
        assert_eq!(
            way(OPENCODE, Host::There, Some(Runner::Claude)),
            Some((OPENCODE, Some(Route::Host)))
        );
        assert_eq!(
            way(OPENCODE, Host::Missing, Some(Runner::Claude)),
            Some((OPENCODE, Some(CLAUDE)))
        );
        assert_eq!(
            way(Route::RepoPrompt, Host::There, None),
            Some((Route::RepoPrompt, Some(Route::Host)))
        );
    }

    #[test]
    fn the_stand_in_has_nothing_behind_it() {
        assert_eq!(
            way(CLAUDE, Host::Missing, Some(Runner::Claude)),
            Some((CLAUDE, None))
        );
    }

    #[test]
    fn every_failure_but_a_limit_goes_on_to_the_next_route() -> Result<(), Refusal> {
        let with = plan(OPENCODE, Host::There, None)?;
        let without = plan(CLAUDE, Host::Missing, Some(Runner::Claude))?;
        for kind in FailureKind::ALL {
            let (wanted, alone) = match kind {
                FailureKind::RateLimited => (After::StaysOpen, After::StaysOpen),
                _ => (After::TakesOver(Route::Host), After::Nothing),
            };
            assert_eq!(with.after(kind), wanted, "{kind}");
            assert_eq!(without.after(kind), alone, "{kind}");
        }
        assert_eq!(with.after(FailureKind::Absent).ran(), "host");
        assert_eq!(without.after(FailureKind::Absent).ran(), "none");
        Ok(())
    }

    #[test]
    fn with_neither_host_nor_stand_in_nothing_is_started() {
        for asked in [Route::Host, Route::RepoPrompt, CLAUDE] {
            let refusal = plan(asked, Host::Missing, None).expect_err("a refusal");
            assert!(refusal.to_string().contains("`runner.fallback_host`"));
        }
    }
}
