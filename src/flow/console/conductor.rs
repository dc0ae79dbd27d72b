//! Conducts `codriver demo`: types to the driver and asks the peer as a person would, until a person does.

use std::time::Duration;

use crate::app::{App, Ask, Overlay, Role};
use crate::pairing::Activity;
use crate::recording::word::Kind;
use crate::runner::Runner;

/// What is done next, once the one before is over.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// Types a prompt to the driver and waits for its answer.
    Drive(&'static str),
    /// Asks the peer and waits for its verdict.
    Ask(Kind, &'static str),
    /// Asks a runner, which the demo does not start: the peer takes over, with a receipt.
    AskElsewhere(Runner, Kind, &'static str),
}

/// The play, about two minutes of it.
const PLAY: [Part; 9] = [
    Part::Drive("Failed payments should be retried. Plan it first, the peer reads along."),
    Part::Ask(
        Kind::Plan,
        "Plan for retrying failed payments:\n\n1. Build the retry loop around `PaymentClient::charge`.\n2. Give each call a timeout.\n3. Add a budget of three tries.",
    ),
    Part::Drive("The peer says: swap the steps, and name what a budget of zero means."),
    Part::Ask(
        Kind::Plan,
        "The steps are swapped: timeout, then loop, then budget. A budget of zero means one try; it is tested.",
    ),
    Part::Drive("It agrees. Now write it."),
    Part::AskElsewhere(
        Runner::Codex,
        Kind::Implementation,
        "The retry loop is written in src/retry.rs, and `charge` goes through it. cargo test passes.",
    ),
    Part::Drive("Fix what the peer found."),
    Part::Ask(
        Kind::Implementation,
        "Both findings are fixed: the lock is let go before the pause, the first try is no retry. There is a test with two calls at once.",
    ),
    Part::Ask(
        Kind::Question,
        "How long may a payment be retried: an hour, or a day?",
    ),
];

/// How long a person gets to read a review before the play goes on.
const READ: Duration = Duration::from_secs(7);
/// How long between two parts.
const BREATH: Duration = Duration::from_millis(1500);
/// Between a prompt and its Enter.
const ENTER: Duration = Duration::from_millis(700);
/// How long the agents get to draw themselves.
const CURTAIN: Duration = Duration::from_millis(2500);

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    /// Paste this into the driver's input box.
    Paste(&'static str),
    /// Press Enter in the driver.
    Enter,
    /// Ask the peer.
    Ask(Ask),
    /// Ask a runner.
    AskElsewhere(Runner, Ask),
    /// Close the reader.
    Close,
    /// Tell the person.
    Say(&'static str),
}

/// Where a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// Begins at this time.
    Due(Duration),
    /// The prompt is in the box; Enter is due.
    Pasted(Duration),
    /// The answer is waited for; whether it was seen to begin.
    Awaited(bool),
    /// A review is being read until this time.
    Read(Duration),
}

/// The conductor.
#[derive(Debug)]
pub(super) struct Conductor {
    at: usize,
    stand: Stand,
    /// Answers there were before the part began.
    entries: usize,
    is_over: bool,
}

impl Conductor {
    /// Begins the play once the agents are there.
    pub(super) fn open(now: Duration) -> Self {
        Self {
            at: 0,
            stand: Stand::Due(now + CURTAIN),
            entries: 0,
            is_over: false,
        }
    }

    /// A person has taken over: nothing is played any more.
    pub(super) fn stop(&mut self) -> Option<Deed> {
        let was_playing = !std::mem::replace(&mut self.is_over, true);
        was_playing.then_some(Deed::Say("the demo leaves it to you now"))
    }

    /// When `wake` has something to do although nothing happened.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        match self.stand {
            _ if self.is_over => None,
            Stand::Due(due) | Stand::Pasted(due) | Stand::Read(due) => Some(due),
            Stand::Awaited(_) => None,
        }
    }

    /// Looks at what there is, and says what is to be done.
    pub(super) fn wake(&mut self, app: &App, now: Duration) -> Option<Deed> {
        if self.is_over {
            return None;
        }
        let Some(part) = PLAY.get(self.at) else {
            self.is_over = true;
            return Some(Deed::Say(
                "the demo is over; it is yours: ^] d asks the peer, ^] q leaves",
            ));
        };
        match self.stand {
            Stand::Due(due) if now >= due => self.begin(*part, app, now),
            Stand::Pasted(due) if now >= due => {
                self.stand = Stand::Awaited(false);
                Some(Deed::Enter)
            }
            Stand::Read(due) if now >= due => {
                self.go_on(now);
                matches!(app.overlay, Some(Overlay::Reader(_))).then_some(Deed::Close)
            }
            Stand::Awaited(begun) => {
                self.await_end(*part, begun, app, now);
                None
            }
            Stand::Due(_) | Stand::Pasted(_) | Stand::Read(_) => None,
        }
    }

    fn begin(&mut self, part: Part, app: &App, now: Duration) -> Option<Deed> {
        self.entries = app.ledger.entries.len();
        match part {
            Part::Drive(prompt) => {
                self.stand = Stand::Pasted(now + ENTER);
                Some(Deed::Paste(prompt))
            }
            Part::Ask(kind, words) => {
                self.stand = Stand::Awaited(true);
                Some(Deed::Ask(discuss(kind, words)))
            }
            Part::AskElsewhere(runner, kind, words) => {
                self.stand = Stand::Awaited(true);
                Some(Deed::AskElsewhere(runner, discuss(kind, words)))
            }
        }
    }

    fn await_end(&mut self, part: Part, begun: bool, app: &App, now: Duration) {
        match part {
            Part::Drive(_) => {
                let activity = app.pane(Role::Driver).map(|pane| pane.doing.activity);
                let is_busy = activity == Some(Activity::Busy);
                if begun && !is_busy {
                    self.go_on(now);
                } else {
                    self.stand = Stand::Awaited(begun || is_busy);
                }
            }
            Part::Ask(..) | Part::AskElsewhere(..) => {
                // A brief that was given before the first message is an entry too.
                let is_over = app.asking.is_none() && app.ledger.entries.len() > self.entries;
                if is_over {
                    self.stand = Stand::Read(now + READ);
                }
            }
        }
    }

    fn go_on(&mut self, now: Duration) {
        self.at += 1;
        self.stand = Stand::Due(now + BREATH);
    }
}

fn discuss(kind: Kind, words: &str) -> Ask {
    Ask::Discuss {
        kind,
        words: words.to_owned(),
        diff: false,
    }
}
