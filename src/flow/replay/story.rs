//! What came of a session's rounds, and when: the things a replay tells beside what the panes show.

use std::time::Duration;

use super::rounds::text_of;
use crate::app::event::{Answered, FellBack, Receipted};
use crate::app::replay::{Mark, News, Sign};
use crate::flow::answer;
use crate::flow::sessions::kept::Kept;
use crate::recording::receipt::{Body, RoundReceipt};
use crate::recording::result::{Peer, ROUND_SCHEMA, Reading, Round};
use crate::recording::session::rfc3339;
use crate::recording::word::{Agreement, Kind, Reason, Source, Verdict};

/// One thing that happened.
pub(in crate::flow) struct Told {
    /// When.
    pub at: Duration,
    /// Its receipt.
    receipt: usize,
}

/// What happened in a session, by time.
pub(in crate::flow) struct Story {
    kept: Kept,
    began: Duration,
    /// When each receipt was written.
    pub told: Vec<Told>,
}

impl Story {
    /// The story of a session.
    pub(in crate::flow) fn of(kept: Kept) -> Self {
        let began = kept.summary.started.parse::<jiff::Timestamp>().ok();
        let began = began.and_then(|at| u64::try_from(at.as_millisecond()).ok());
        let mut last = Duration::ZERO;
        let told = kept.receipts.iter().enumerate().map(|(receipt, found)| {
            let at = match &found.body {
                Body::Round(round) => end(round),
                // It was written between its neighbours.
                _ => None,
            };
            last = at.unwrap_or(last).max(last);
            Told { at: last, receipt }
        });
        Self {
            told: told.collect(),
            began: Duration::from_millis(began.unwrap_or(0)),
            kept,
        }
    }

    /// The places on the time line.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let mark = |told: &Told| {
            let sign = match &self.kept.receipts.get(told.receipt)?.body {
                Body::Round(round) if round.kind != Kind::Brief => Sign::Round(round.verdict),
                _ => Sign::Receipt,
            };
            Some(Mark { at: told.at, sign })
        };
        self.told.iter().filter_map(mark).collect()
    }

    /// What is told of the receipt at that place.
    pub(in crate::flow) fn news(&self, place: usize) -> Vec<News> {
        let Some(told) = self.told.get(place) else {
            return Vec::new();
        };
        let Some(found) = self.kept.receipts.get(told.receipt) else {
            return Vec::new();
        };
        let time = rfc3339(self.began.saturating_add(told.at));
        let at = time.get(11..19).unwrap_or_default().to_owned();
        match &found.body {
            Body::Round(round) => {
                let receipted = || {
                    Box::new(Receipted {
                        id: Some(found.id.clone()),
                        receipt: (**round).clone(),
                        at: at.clone(),
                    })
                };
                let came = match self.answered(&found.id, round, &at) {
                    Some(answered) => News::Round(Box::new(answered)),
                    None => News::NoAnswer(receipted()),
                };
                vec![came, News::Receipt(receipted())]
            }
            Body::Fallback(fell) => vec![News::Fallback(Box::new(FellBack {
                id: Some(found.id.clone()),
                receipt: (**fell).clone(),
                at,
            }))],
            _ => Vec::new(),
        }
    }

    fn answered(&self, id: &str, round: &RoundReceipt, at: &str) -> Option<Answered> {
        let verdict = round.verdict?;
        let text = |text| text_of(&self.kept, text);
        let gone =
            || "(the text is not there any more, or not the one the receipt digests)".to_owned();
        let rationale = text(round.texts.rationale.as_ref()).unwrap_or_else(gone);
        let reading = match verdict {
            Verdict::Unparsed => {
                let raw = text(round.texts.channel.as_ref())
                    .or_else(|| text(round.texts.screen.as_ref()))
                    .unwrap_or_default();
                Reading::unparsed(round.reason.unwrap_or(Reason::NoVerdict), rationale, raw)
            }
            verdict => Reading::decided(verdict, rationale)?,
        };
        let round = Round {
            schema: ROUND_SCHEMA.to_owned(),
            session: self.kept.folder.id.clone(),
            pane: round.pane.clone(),
            round: round.round,
            kind: round.kind,
            reading,
            raw_tail: None,
            rounds_on_topic: 0,
            human: None,
            source: round.source.unwrap_or(Source::Screen),
            checked_by: round.checked_by.clone(),
            agreement: round.agreement,
            readings: Vec::new(),
            complete: round.complete,
            ambiguous: round.ambiguous,
            tagged: round.tagged,
            already: false,
            peer: Peer {
                harness: round.harness.clone(),
                version: round.version.clone(),
                confined: round.confined.clone(),
            },
            route: round.route.clone(),
            fallback: round.fallback.clone(),
            tree: round.tree.clone(),
            delivery: round.delivery,
            started_at: round.started_at.clone(),
            elapsed_ms: round.elapsed_ms,
            receipt: Some(id.to_owned()),
            recording: round.recording.clone(),
        };
        let mut remarks = answer::remarks(&round);
        if round.agreement == Agreement::Differs {
            remarks.push("the harness's record and the screen did not say the same".to_owned());
        }
        Some(Answered {
            remarks,
            asked: String::new(),
            at: at.to_owned(),
            round,
        })
    }
}

fn end(round: &RoundReceipt) -> Option<Duration> {
    let span = round.recording.as_ref()?;
    Duration::try_from_secs_f64(span.to).ok()
}
