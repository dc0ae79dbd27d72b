//! Reads every round of a session again, from the bytes of its recording and by today's rules, and compares what comes of
//! it with the receipts.

use std::time::Duration;

use super::rounds::{of, text_of};
use crate::cli::Exit;
use crate::config::Settings;
use crate::flow::extract::{Played, Source, play};
use crate::flow::failure::Failure;
use crate::flow::sessions::kept::Kept;
use crate::limits;
use crate::pairing::{ChannelText, Found, Submission, decide, submitted};
use crate::plain;
use crate::recording::digest::Digest;
use crate::recording::receipt::{Outcome, Receipt, RoundReceipt, Text};
use crate::recording::replay::{Verified, VerifiedRound};
use crate::recording::word::{Reason, Source as From, Verdict};

/// How far the moments of a receipt and of a recording may be apart: a receipt has whole milliseconds.
const SLACK: Duration = Duration::from_millis(2);

/// Reads all rounds again.
///
/// # Errors
///
/// When the recording is not there or cannot be read at all.
pub(super) fn verify(kept: &Kept, settings: &Settings) -> Result<Verified, Failure> {
    let needs = of(kept).any(|(_, round)| round.outcome == Outcome::Answered);
    let found = match needs {
        true => read_again(kept, settings)?,
        false => Vec::new(),
    };
    let rounds: Vec<VerifiedRound> = of(kept)
        .map(|(receipt, round)| compare(kept, receipt, round, &found))
        .collect();
    let chain = kept.broken.as_ref().map(ToString::to_string);
    let unreadable = kept.session.is_none();
    Ok(Verified {
        holds: chain.is_none()
            && !unreadable
            && rounds.iter().all(|round| round.differences.is_empty()),
        chain: chain
            .or_else(|| unreadable.then(|| "there is no session file to seal them".to_owned())),
        rounds,
    })
}

/// The rounds as the recording of the peer shows them.
fn read_again(kept: &Kept, settings: &Settings) -> Result<Vec<Found>, Failure> {
    let cast = kept.cast("peer").ok_or_else(|| {
        Failure::new(
            Exit::Error,
            format!(
                "the session {} has no recording of its peer",
                plain::display(&kept.folder.id, 64)
            ),
        )
    })?;
    let mut began: Vec<(Duration, String)> = of(kept)
        .filter_map(|(_, round)| Some((span(round)?.0, round.tag.clone()?)))
        .collect();
    began.sort();
    let harness = of(kept)
        .map(|(_, round)| round.harness.as_str())
        .find(|name| settings.profile(name).is_some());
    let source = Source {
        file: &cast,
        harness,
        tags: &[],
        began: &began,
        sent: None,
        until: None,
    };
    let played = play(&source, settings).map_err(|error| Failure::of(error.exit(), &error))?;
    match played {
        Played::Recording { player, end, .. } => Ok(player.finish(end)),
        Played::Text(..) => Err(Failure::new(
            Exit::Error,
            format!(
                "`{}` is no terminal recording",
                plain::display(&cast.to_string_lossy(), limits::QUOTE_BYTES)
            ),
        )),
    }
}

fn span(round: &RoundReceipt) -> Option<(Duration, Duration)> {
    let span = round.recording.as_ref()?;
    let at = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    Some((at(span.from)?, at(span.to)?))
}

fn compare(kept: &Kept, receipt: &Receipt, round: &RoundReceipt, found: &[Found]) -> VerifiedRound {
    let mut differences = Vec::new();
    let texts = &round.texts;
    for (name, text) in [
        ("sent", &texts.sent),
        ("screen", &texts.screen),
        ("channel", &texts.channel),
        ("submitted", &texts.submitted),
        ("rationale", &texts.rationale),
    ] {
        differences.extend(fault_of(kept, name, text.as_ref()));
    }
    let mut verified = VerifiedRound {
        receipt: receipt.id.clone(),
        read_again: false,
        verdict: None,
        differences,
    };
    if round.outcome != Outcome::Answered {
        return verified;
    }
    let shown = span(round).and_then(|(from, to)| {
        found
            .iter()
            .rfind(|found| found.from + SLACK >= from && found.from <= to + SLACK)
    });
    let Some(shown) = shown else {
        verified
            .differences
            .push("the recording shows no such round".to_owned());
        return verified;
    };
    verified.read_again = true;
    let answer = decide(
        &shown.reading,
        channel(kept, round).as_ref(),
        &submissions(kept, round),
        round.tag.as_deref(),
    );
    verified.verdict = Some(answer.verdict);
    let differ = &mut verified.differences;
    let word = |verdict: Option<Verdict>| verdict.map_or("none", Verdict::word);
    if Some(answer.verdict) != round.verdict {
        let why = answer.reason.map(Reason::sentence);
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        differ.push(format!(
            "the receipt says {}, and the recording reads {}{why}",
            word(round.verdict),
            answer.verdict
        ));
    } else if answer.reason != round.reason {
        let code = |reason: Option<Reason>| reason.map_or("none", Reason::code);
        differ.push(format!(
            "the receipt's reason is {}, and the recording's {}",
            code(round.reason),
            code(answer.reason)
        ));
    }
    let rationale = Digest::of(answer.rationale.as_bytes());
    if texts
        .rationale
        .as_ref()
        .is_none_or(|text| text.sha256 != rationale)
    {
        differ.push("the rationale reads differently".to_owned());
    }
    for (name, then, now) in [
        ("complete", round.complete, answer.complete),
        ("ambiguous", round.ambiguous, answer.ambiguous),
        ("tagged", round.tagged, answer.tagged),
    ] {
        if then != now {
            differ.push(format!("`{name}` was {then} and is {now}"));
        }
    }
    verified
}

/// What is wrong with a text a receipt names. One that could not be kept is no difference.
fn fault_of(kept: &Kept, name: &str, text: Option<&Text>) -> Option<String> {
    let text = text?;
    let file = text.file.as_deref()?;
    match kept.text(file) {
        None => Some(format!("the text `{name}` is not there")),
        Some(bytes) if Digest::of(&bytes) != text.sha256 => {
            Some(format!("the text `{name}` is not the one that is digested"))
        }
        Some(_) => None,
    }
}

/// What the peer handed in for a round.
fn submissions(kept: &Kept, round: &RoundReceipt) -> Vec<Submission> {
    let lines = text_of(kept, round.texts.submitted.as_ref()).unwrap_or_default();
    submitted(lines.as_bytes(), round.tag.as_deref().unwrap_or_default())
}

/// What the harness's own record said, as it was kept.
fn channel(kept: &Kept, round: &RoundReceipt) -> Option<ChannelText> {
    let heard = |text| ChannelText {
        channel: "channel",
        text,
    };
    if let Some(text) = text_of(kept, round.texts.channel.as_ref()) {
        return Some(heard(Some(text)));
    }
    // A turn that the record called failed left no text.
    let failed = round.source == Some(From::Screen)
        && round.checked_by.is_some()
        && round.reason == Some(Reason::TurnFailed);
    failed.then(|| heard(None))
}

/// What came of it, for a person.
pub(super) fn says(verified: &Verified) -> String {
    let mut out = String::new();
    if let Some(chain) = &verified.chain {
        out.push_str(&format!("differs: receipts: {chain}\n"));
    }
    for round in &verified.rounds {
        for difference in &round.differences {
            out.push_str(&format!(
                "differs: {}: {difference}\n",
                plain::display(&round.receipt, 64)
            ));
        }
    }
    let again = verified
        .rounds
        .iter()
        .filter(|round| round.read_again)
        .count();
    let all = verified.rounds.len();
    out.push_str(&match verified.holds {
        true => format!("verified: {again} of {all} rounds were read again, and nothing differs\n"),
        false => format!("not verified: {again} of {all} rounds were read again\n"),
    });
    out
}
