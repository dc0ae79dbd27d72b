//! The rounds of a session, printed.

use super::verify::says;
use crate::cli::{Exit, Options};
use crate::flow::config::Printed;
use crate::flow::sessions::kept::Kept;
use crate::limits;
use crate::plain;
use crate::recording::digest::Digest;
use crate::recording::receipt::{Body, Receipt, RoundReceipt, Text};
use crate::recording::replay::{REPLAY_SCHEMA, Replay, ReplayRound, Verified};
use crate::recording::summary::word_of;

/// Prints the rounds, and what reading them again came to.
pub(super) fn print(kept: &Kept, verified: Option<&Verified>, options: &Options) -> Printed {
    let exit = match verified {
        Some(verified) if !verified.holds => Exit::Error,
        _ => Exit::Done,
    };
    let rounds: Vec<ReplayRound> = of(kept)
        .map(|(receipt, round)| one(kept, receipt, round))
        .collect();
    if options.json {
        let replay = Replay {
            schema: REPLAY_SCHEMA.to_owned(),
            session: kept.folder.id.clone(),
            rounds,
            verified: verified.cloned(),
        };
        let value = serde_json::to_value(replay).expect("strings and numbers are always JSON");
        return Printed {
            exit,
            ..Printed::json(&value)
        };
    }
    let mut text = String::new();
    for round in &rounds {
        text.push_str(&readable(round));
    }
    if rounds.is_empty() {
        text.push_str("no rounds\n");
    }
    if let Some(verified) = verified {
        text.push_str(&says(verified));
    }
    Printed { text, exit }
}

/// The receipts of rounds.
pub(in crate::flow) fn of(kept: &Kept) -> impl Iterator<Item = (&Receipt, &RoundReceipt)> {
    kept.receipts
        .iter()
        .filter_map(|receipt| match &receipt.body {
            Body::Round(round) => Some((receipt, &**round)),
            _ => None,
        })
}

/// The text a receipt names, when it is there and still the one that is digested.
pub(in crate::flow) fn text_of(kept: &Kept, text: Option<&Text>) -> Option<String> {
    let text = text?;
    let bytes = kept.text(text.file.as_deref()?)?;
    (Digest::of(&bytes) == text.sha256).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn one(kept: &Kept, receipt: &Receipt, round: &RoundReceipt) -> ReplayRound {
    ReplayRound {
        receipt: receipt.id.clone(),
        round: round.round,
        kind: round.kind,
        outcome: round.outcome,
        verdict: round.verdict,
        reason: round.reason,
        rationale: text_of(kept, round.texts.rationale.as_ref()),
        route: round.route.clone(),
        from: round.recording.as_ref().map(|span| span.from),
        to: round.recording.as_ref().map(|span| span.to),
    }
}

fn readable(round: &ReplayRound) -> String {
    let shown = |text: &str| plain::display(text, limits::QUOTE_BYTES);
    let name = match round.round {
        0 => round.kind.to_string(),
        number => format!("round {number}, {}", round.kind),
    };
    let mut out = format!("── {name}");
    if let (Some(from), Some(to)) = (round.from, round.to) {
        out.push_str(&format!(", {from:.1} to {to:.1} s"));
    }
    out.push_str(&format!(", {} ──\n", shown(&round.receipt)));
    let text = round.rationale.as_deref().map(plain::block);
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        out.push_str(text.trim_end());
        out.push_str("\n\n");
    } else if round.rationale.is_none() && round.verdict.is_some() {
        out.push_str("(the text is not there any more, or not the one the receipt digests)\n\n");
    }
    match round.verdict {
        Some(verdict) => out.push_str(&format!("VERDICT: {verdict}")),
        None => out.push_str(&format!("no answer: {}", word_of(None, round.outcome))),
    }
    if let Some(reason) = round.reason {
        out.push_str(&format!(" ({})", reason.sentence()));
    }
    if round.route.asked != round.route.ran {
        out.push_str(&format!(
            "\nfallback: asked {}, ran {}",
            shown(&round.route.asked),
            shown(&round.route.ran)
        ));
    }
    out.push_str("\n\n");
    out
}
