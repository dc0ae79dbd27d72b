//! `--resume`: a console that goes on where an earlier session ended.
//!
//! It is a session of its own, with recordings of its own. Its rounds go on counting, and its first receipt names the last
//! one of the session before, so that one chain runs through both. What the agents remember is their own business: the
//! driver is asked to go on with its last conversation where its profile knows how, the peer begins anew, since what it had
//! lay in the folder of its launch.

use std::time::Duration;

use super::state::Inner;
use crate::app::Event;
use crate::cli::{Exit, Options};
use crate::config::{Profile, Settings};
use crate::flow::config::Workplace;
use crate::flow::failure::Failure;
use crate::flow::replay::Story;
use crate::flow::sessions::kept::{self, Kept};
use crate::plain;
use crate::recording::receipt::Body;
use crate::recording::session::Resumed;
use crate::recording::summary::Standing;

/// A session that is to be gone on with.
pub(super) struct Resumption {
    story: Story,
    resumed: Resumed,
    /// Number of the last round.
    round: u32,
}

/// The agents of a session, by the names they are seated by.
pub(super) struct Seats {
    /// The driver's; none for a person who drives by hand.
    pub driver: String,
    /// The peer's.
    pub peer: String,
}

impl Resumption {
    /// Finds the session that is named; an empty name is the last one of this repository.
    pub(super) fn find(
        named: &str,
        place: &Workplace,
        settings: &Settings,
        options: &Options,
    ) -> Result<(Self, Seats), Failure> {
        let named = if named.is_empty() { "last" } else { named };
        let kept = kept::find(named, &place.repository_key())?;
        let id = plain::display(&kept.folder.id, 64);
        let refuse = |why: String| Err(Failure::new(Exit::Refused, why));
        let Some(session) = kept.session.as_ref() else {
            return refuse(format!(
                "the session {id} cannot be resumed: {}",
                kept.summary.faults.join("; ")
            ));
        };
        if kept.summary.standing == Standing::Open {
            return refuse(format!(
                "the session {id} is still open in process {}; leave it first",
                session.pid
            ));
        }
        if let Some(broken) = &kept.broken {
            return refuse(format!(
                "the session {id} cannot be gone on with, since its receipts do not hold: {broken}"
            ));
        }
        let here = place.root.as_deref().unwrap_or(&place.folder);
        if session.worktree != here.to_string_lossy() {
            return refuse(format!(
                "the session {id} worked in `{}`; resume it from there (-C)",
                plain::display(&session.worktree, crate::limits::QUOTE_BYTES)
            ));
        }
        let by_flag = |key: &str| options.flags.iter().any(|flag| flag.key == key);
        let seat = |key, own: &str, then: Option<&String>, none: &str| match by_flag(key) {
            true => own.to_owned(),
            false => then.map_or_else(|| none.to_owned(), Clone::clone),
        };
        let seats = Seats {
            driver: seat(
                "pair.driver",
                &settings.driver.value,
                kept.summary.driver.as_ref(),
                "none",
            ),
            peer: seat(
                "pair.peer",
                &settings.peer.value,
                kept.summary.peer.as_ref(),
                &settings.peer.value,
            ),
        };
        let resumed = Resumed {
            session: kept.folder.id.clone(),
            receipts: session.receipts.clone(),
        };
        let round = last_round(&kept);
        let story = Story::of(kept);
        Ok((
            Self {
                story,
                resumed,
                round,
            },
            seats,
        ))
    }
}

/// Number of the last round that was counted.
fn last_round(kept: &Kept) -> u32 {
    let numbers = kept
        .receipts
        .iter()
        .filter_map(|receipt| match &receipt.body {
            Body::Round(round) if round.verdict.is_some() => Some(round.round),
            _ => None,
        });
    numbers.max().unwrap_or(0)
}

impl Inner<'_> {
    /// Takes up what an earlier session came to.
    pub(super) fn take_up(&mut self, resumption: Resumption) {
        let Resumption {
            story,
            resumed,
            round,
        } = resumption;
        for place in 0..story.told.len() {
            for news in story.news(place) {
                self.app
                    .update(Event::Replay(Box::new(news)), Duration::ZERO);
            }
        }
        let driver = self.app.driver.as_ref().map(|pane| said_of(&pane.profile));
        let driver = driver.unwrap_or_else(|| "you drive by hand".to_owned());
        self.resumes = Some(round);
        let text = format!(
            "{} goes on with round {} · {driver} · the peer's conversation could not be resumed: it begins anew and is briefed first",
            resumed.session,
            round + 1
        );
        self.recorder.resume(resumed);
        // What was said before stays said.
        let before = self.app.notice.take().map(|notice| notice.text);
        let told = before.map_or_else(|| text.clone(), |before| format!("{before} · {text}"));
        self.app.say(told, true);
        let text = crate::recording::event::Event::Notice { text };
        self.recorder.event(Duration::ZERO, text);
    }
}

/// What becomes of the driver's conversation.
fn said_of(profile: &Profile) -> String {
    match profile.driver_resume_args.is_empty() {
        true => format!(
            "the driver {} has no way to resume and begins anew",
            profile.name
        ),
        false => format!(
            "the driver goes on with its last conversation here ({} {})",
            profile.name,
            profile.driver_resume_args.join(" ")
        ),
    }
}
