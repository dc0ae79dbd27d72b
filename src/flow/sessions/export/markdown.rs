//! A session as Markdown that a colleague can read in a pull request.

use std::fmt::Write as _;
use std::time::Duration;

use super::super::clock;
use super::super::list::{panes, rounds};
use crate::limits;
use crate::plain;
use crate::recording::export::{Export, ExportEntry};
use crate::recording::receipt::{Body, RoundReceipt};
use crate::recording::summary::word_of;

pub(super) fn write(export: &Export) -> String {
    let session = &export.session;
    let mut out = format!("# Review session {}\n\n", code(&session.id));
    let length = session
        .length_ms
        .map_or("unknown".to_owned(), |ms| clock(Duration::from_millis(ms)));
    let facts = [
        ("Started", code(&session.started)),
        ("Length", length),
        ("Agents", code(&panes(session))),
        ("Rounds", code(&rounds(session))),
        ("State", session.standing.word().to_owned()),
    ];
    for (name, value) in facts {
        line(&mut out, &format!("- {name}: {value}"));
    }
    if let Some(chain) = &export.chain {
        line(
            &mut out,
            &format!("- **The receipts do not hold:** {}", code(chain)),
        );
    }
    for fault in &session.faults {
        line(&mut out, &format!("- Fault: {}", code(fault)));
    }
    for entry in &export.entries {
        out.push('\n');
        match &entry.receipt.body {
            Body::Round(round) => write_round(&mut out, entry, round),
            Body::Fallback(fell) => {
                line(&mut out, "## Fallback\n");
                let why = serde_json::to_string(&fell).unwrap_or_default();
                line(
                    &mut out,
                    &format!(
                        "{} was asked for {}, and {} ran.\n",
                        code(&fell.asked),
                        code(&fell.role),
                        code(&fell.ran)
                    ),
                );
                out.push_str(&fenced(&why));
                line(&mut out, &format!("\nReceipt {}", code(&entry.receipt.id)));
            }
            _ => line(
                &mut out,
                &format!(
                    "## Receipt {} of a kind this version does not know",
                    code(&entry.receipt.id)
                ),
            ),
        }
    }
    out
}

fn write_round(out: &mut String, entry: &ExportEntry, round: &RoundReceipt) {
    let name = match round.round {
        0 => round.kind.to_string(),
        number => format!("Round {number} ({})", round.kind),
    };
    let word = word_of(round.verdict, round.outcome);
    line(out, &format!("## {name}: {word}\n"));
    match &entry.rationale {
        Some(text) if !text.trim().is_empty() => out.push_str(&fenced(text)),
        Some(_) => line(out, "(no text)"),
        None if round.verdict.is_some() => {
            line(
                out,
                "(The text is not there any more, or not the one the receipt digests.)",
            );
        }
        None => line(out, "(No reply was read.)"),
    }
    if let Some(reason) = round.reason {
        line(out, &format!("\nNo verdict: {}.", reason.sentence()));
    }
    out.push('\n');
    line(out, &format!("- Receipt: {}", code(&entry.receipt.id)));
    line(out, &format!("- Harness: {}", code(&round.harness)));
    line(
        out,
        &format!("- Took: {:.1} s", round.elapsed_ms as f64 / 1000.0),
    );
    if round.route.asked != round.route.ran {
        line(
            out,
            &format!(
                "- Fallback: {} was asked, {} ran",
                code(&round.route.asked),
                code(&round.route.ran)
            ),
        );
    }
    if round.tree.moved == Some(true) {
        line(out, "- The working tree changed during the round.");
    }
    if round.verdict.is_some() && !round.complete {
        line(out, "- Some of the text may be missing.");
    }
    for (name, text) in [
        ("sent", &round.texts.sent),
        ("screen", &round.texts.screen),
        ("channel", &round.texts.channel),
        ("rationale", &round.texts.rationale),
    ] {
        if let Some(text) = text {
            line(
                out,
                &format!(
                    "- Digest of the text {}: {}",
                    code(name),
                    code(text.sha256.as_str())
                ),
            );
        }
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("memory takes what is written");
}

/// Text from outside in a line, as code: nothing in it takes effect.
pub(super) fn code(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().take(limits::QUOTE_BYTES).collect();
    let text = plain::block(&text);
    let ticks = "`".repeat(longest(&text, '`') + 1);
    match text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        true => format!("{ticks} {text} {ticks}"),
        false => format!("{ticks}{text}{ticks}"),
    }
}

/// Text from outside in a fence it cannot close.
fn fenced(text: &str) -> String {
    let text = plain::block(text);
    let fence = "`".repeat(longest(&text, '`').max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// The longest run of a character.
fn longest(text: &str, of: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_closes_a_fence_or_a_span() {
        let text = "a\n````\n# not a heading\n<img src=x>\n~~~\n\u{1b}[2J@someone #1";
        let fenced = fenced(text);
        assert!(fenced.starts_with("`````text\n") && fenced.ends_with("\n`````\n"));
        assert!(!fenced.contains('\u{1b}'));
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code("two\nlines # x"), "`two lines # x`");
    }
}
