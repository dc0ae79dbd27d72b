//! `sessions show`: one session with its rounds.

use std::time::Duration;

use super::kept::Kept;
use super::list::{panes, rounds};
use super::{clock, size};
use crate::cli::Options;
use crate::flow::config::Printed;
use crate::flow::failure::Failure;
use crate::limits;
use crate::plain;
use crate::recording::receipt::Body;
use crate::recording::summary::word_of;

/// Shows a session.
pub(super) fn run(kept: &Kept, options: &Options) -> Result<Printed, Failure> {
    let summary = &kept.summary;
    if options.json {
        let mut value = serde_json::to_value(summary).expect("strings and numbers are always JSON");
        value["folder"] = kept.folder.path.to_string_lossy().into();
        value["session"] = serde_json::to_value(&kept.session).unwrap_or_default();
        value["round_receipts"] = serde_json::to_value(&kept.receipts).unwrap_or_default();
        return Ok(Printed::json(&value));
    }
    let shown = |text: &str| plain::display(text, limits::QUOTE_BYTES);
    let mut out = String::new();
    let mut line = |name: &str, text: &str| out.push_str(&format!("{name:<10}{text}\n"));
    line("session", &shown(&summary.id));
    line("folder", &shown(&kept.folder.path.to_string_lossy()));
    line("worktree", &shown(&summary.worktree));
    line("started", &shown(&summary.started));
    line(
        "length",
        &summary
            .length_ms
            .map_or("unknown".to_owned(), |ms| clock(Duration::from_millis(ms))),
    );
    line("state", summary.standing.word());
    line("panes", &panes(summary));
    line("rounds", &rounds(summary));
    line("receipts", &summary.receipts.to_string());
    line("size", &size(summary.bytes));
    for fault in &summary.faults {
        line("fault", &shown(fault));
    }
    if !summary.whole && kept.session.is_some() {
        line(
            "recording",
            "not whole: part of a pane's output may be missing",
        );
    }
    for receipt in &kept.receipts {
        let Body::Round(round) = &receipt.body else {
            continue;
        };
        let at = round.recording.as_ref().map_or(String::new(), |span| {
            clock(Duration::try_from_secs_f64(span.from).unwrap_or_default())
        });
        let name = match round.round {
            0 => round.kind.to_string(),
            number => format!("round {number}"),
        };
        out.push_str(&format!(
            "\n{at:>8}  {name:<9} {:<15} {:<10} {:>7.1} s  {}",
            round.kind.word(),
            word_of(round.verdict, round.outcome),
            round.elapsed_ms as f64 / 1000.0,
            shown(&receipt.id),
        ));
    }
    if !kept.receipts.is_empty() {
        out.push('\n');
    }
    Ok(Printed::done(out))
}
