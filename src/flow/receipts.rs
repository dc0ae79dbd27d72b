//! `receipts`: the receipts of this repository, listed, shown, counted, and held against what they digest (interface.md
//! 1, 5).

use std::time::Duration;

use serde_json::{Value, json};

use super::config::{Printed, Workplace};
use super::failure::Failure;
use super::sessions::kept::{Kept, folders, state};
use crate::cli::{Exit, Options, ReceiptFilter, ReceiptsCommand};
use crate::config::parse_duration;
use crate::limits;
use crate::plain;
use crate::recording::digest::Digest;
use crate::recording::fallback::Tally;
use crate::recording::listing::{Filter, Row, shown};
use crate::recording::receipt::{Body, Receipt, Text};
use crate::recording::session::rfc3339;
use crate::world::clock::WallTime;

/// The schema name of a list of receipts.
const RECEIPTS_SCHEMA: &str = "codriver.receipts/1";
/// The schema name of a tally.
const TALLY_SCHEMA: &str = "codriver.tally/1";
/// The schema name of a verification.
const VERIFY_SCHEMA: &str = "codriver.verify/1";
/// A day, in which people count further back than in hours.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Runs `receipts`.
///
/// # Errors
///
/// When the state folder cannot be read, or there is no such receipt.
pub fn run(
    command: &ReceiptsCommand,
    place: &Workplace,
    options: &Options,
) -> Result<Printed, Failure> {
    let sessions = sessions(place)?;
    match command {
        ReceiptsCommand::List(args) => {
            let filter = filter(args)?;
            Ok(list(&chosen(&sessions, &filter), options))
        }
        ReceiptsCommand::Show { id } => show(&sessions, id, options),
        ReceiptsCommand::Tally(args) => {
            let filter = filter(args)?;
            Ok(tally(&chosen(&sessions, &filter), options))
        }
        ReceiptsCommand::Verify => Ok(verify(&sessions, options)),
    }
}

/// The sessions of the repository, oldest first.
fn sessions(place: &Workplace) -> Result<Vec<Kept>, Failure> {
    let repo = place.repository_key();
    let all = folders(&state()?)?.into_iter();
    Ok(all
        .filter(|folder| folder.repo == repo)
        .map(Kept::open)
        .collect())
}

fn filter(args: &ReceiptFilter) -> Result<Filter, Failure> {
    let since = args.since.as_deref().map(since).transpose()?;
    Ok(Filter {
        since,
        verdict: args.verdict.clone(),
        route: args.route.clone(),
        role: args.role.clone(),
    })
}

/// A date, a time, or how long ago: as the beginning of a time in UTC.
fn since(text: &str) -> Result<String, Failure> {
    let is_date = text.len() >= 10
        && text.as_bytes()[..10]
            .iter()
            .enumerate()
            .all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    if is_date {
        return Ok(text.to_owned());
    }
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
    let ago = match days {
        Some(days) => Some(DAY.saturating_mul(days)),
        None => parse_duration(text).ok(),
    };
    let Some(ago) = ago else {
        return Err(Failure::new(
            Exit::Usage,
            "--since takes a date (2026-01-31), a time in UTC, or how long ago (7d, 2h30m)",
        ));
    };
    Ok(rfc3339(WallTime::now().since_epoch().saturating_sub(ago)))
}

/// The receipts that are wanted, newest first.
fn chosen<'k>(sessions: &'k [Kept], filter: &Filter) -> Vec<(&'k Receipt, Row)> {
    let all = sessions
        .iter()
        .rev()
        .flat_map(|kept| kept.receipts.iter().rev());
    all.map(|receipt| (receipt, Row::of(receipt)))
        .filter(|(_, row)| filter.wants(row))
        .collect()
}

fn list(receipts: &[(&Receipt, Row)], options: &Options) -> Printed {
    if options.json {
        let all: Vec<Value> = receipts.iter().map(|(receipt, _)| shown(receipt)).collect();
        return Printed::json(&json!({ "schema": RECEIPTS_SCHEMA, "receipts": all }));
    }
    if receipts.is_empty() {
        return Printed::done("no receipts\n");
    }
    let lines = receipts.iter().map(|(receipt, row)| {
        let word = |text: &str| plain::display(text, 40);
        let route = match row.asked == row.ran {
            true => word(&row.ran),
            false => format!("{} → {}", word(&row.asked), word(&row.ran)),
        };
        let at = row.at.get(..19).unwrap_or(&row.at).replace('T', " ");
        let fallback = match (row.fell_back, row.kind.as_str()) {
            (true, "fallback") | (false, _) => "",
            (true, _) => "  ↩ fallback",
        };
        let line = format!(
            "{}  {}  {:<8} {:<17} {:<17} {route:<18} {}{fallback}",
            receipt.id,
            word(&at),
            word(&row.kind),
            word(&row.role),
            word(&row.about),
            word(&row.word),
        );
        format!("{}\n", line.trim_end())
    });
    Printed::done(lines.collect::<String>())
}

fn show(sessions: &[Kept], id: &str, options: &Options) -> Result<Printed, Failure> {
    let is_it = |receipt: &&Receipt| {
        let bare = receipt.id.trim_start_matches("rcp_");
        !id.is_empty() && (receipt.id.starts_with(id) || bare.starts_with(id))
    };
    let all = sessions.iter().flat_map(|kept| &kept.receipts);
    let found: Vec<&Receipt> = all.filter(is_it).collect();
    let told = plain::display(id, limits::QUOTE_BYTES);
    match found.as_slice() {
        [receipt] if options.json => Ok(Printed::json(&shown(receipt))),
        [receipt] => {
            let mut text = String::new();
            flatten("", &shown(receipt), &mut text);
            Ok(Printed::done(text))
        }
        [] => Err(Failure::new(
            Exit::Error,
            format!(
                "no receipt of this repository begins with `{told}`; `codriver receipts` lists them"
            ),
        )),
        several => Err(Failure::new(
            Exit::Error,
            format!(
                "{} receipts begin with `{told}`; write more of it",
                several.len()
            ),
        )),
    }
}

/// The fields of a value, one line each.
fn flatten(name: &str, value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = match name {
                    "" => key.clone(),
                    name => format!("{name}.{key}"),
                };
                flatten(&name, value, out);
            }
        }
        value => {
            let word = match value {
                Value::Null => "not known".to_owned(),
                Value::String(text) => plain::display(text, limits::QUOTE_BYTES),
                other => plain::display(&other.to_string(), limits::QUOTE_BYTES),
            };
            out.push_str(&format!("{name:<22} {word}\n"));
        }
    }
}

/// How often routes fell back.
fn tally(receipts: &[(&Receipt, Row)], options: &Options) -> Printed {
    let fallbacks = receipts
        .iter()
        .filter_map(|(receipt, _)| match &receipt.body {
            Body::Fallback(fell) => Some((fell.asked.as_str(), fell.role.as_str())),
            _ => None,
        });
    let tally = Tally::of(fallbacks);
    if options.json {
        let mut value = json!({ "schema": TALLY_SCHEMA });
        if let (Value::Object(all), Ok(Value::Object(counts))) =
            (&mut value, serde_json::to_value(&tally))
        {
            all.extend(counts);
        }
        return Printed::json(&value);
    }
    let mut text = format!("fallbacks  {}\n", tally.total);
    for (head, counts) in [("by route", &tally.by_runner), ("by role", &tally.by_role)] {
        for (name, count) in counts {
            text.push_str(&format!(
                "{head:<9}  {} {count}\n",
                plain::display(name, 40)
            ));
        }
    }
    Printed::done(text)
}

/// Holds each session's chain against its seal, and each digest against the text it names.
fn verify(sessions: &[Kept], options: &Options) -> Printed {
    let checked: Vec<(&Kept, Vec<String>)> =
        sessions.iter().map(|kept| (kept, faults(kept))).collect();
    let is_broken = checked.iter().any(|(_, faults)| !faults.is_empty());
    let exit = match is_broken {
        true => Exit::Error,
        false => Exit::Done,
    };
    let text = if options.json {
        let all: Vec<Value> = checked
            .iter()
            .map(|(kept, faults)| {
                json!({
                    "session": kept.folder.id,
                    "receipts": kept.receipts.len(),
                    "sound": faults.is_empty(),
                    "faults": faults,
                })
            })
            .collect();
        let whole = json!({ "schema": VERIFY_SCHEMA, "sound": !is_broken, "sessions": all });
        format!("{whole:#}\n")
    } else {
        let mut text = String::new();
        for (kept, faults) in &checked {
            let id = plain::display(&kept.folder.id, 80);
            for fault in faults {
                text.push_str(&format!("{id}: {fault}\n"));
            }
        }
        let receipts: usize = checked.iter().map(|(kept, _)| kept.receipts.len()).sum();
        let broken = checked
            .iter()
            .filter(|(_, faults)| !faults.is_empty())
            .count();
        let (sessions, how) = (
            checked.len(),
            match broken {
                0 => "all sound".to_owned(),
                broken => format!("{broken} not sound"),
            },
        );
        text.push_str(&format!(
            "{receipts} receipts in {sessions} sessions: {how}\n"
        ));
        text
    };
    Printed { text, exit }
}

/// What is wrong with the receipts of one session.
fn faults(kept: &Kept) -> Vec<String> {
    // A session that cannot be read, and a chain that does not hold, are told there.
    let mut faults: Vec<String> = kept
        .summary
        .faults
        .iter()
        .map(|fault| plain::display(fault, limits::QUOTE_BYTES))
        .collect();
    for receipt in &kept.receipts {
        for (name, text) in texts(receipt) {
            let Some(file) = &text.file else {
                continue;
            };
            let fault = match kept.text(file) {
                None => "is gone",
                Some(bytes) if Digest::of(&bytes) != text.sha256 => "was changed",
                Some(_) => continue,
            };
            faults.push(format!("the {name} text of {} {fault}", receipt.id));
        }
    }
    faults
}

/// The texts a receipt digests, by name.
fn texts(receipt: &Receipt) -> Vec<(&'static str, &Text)> {
    match &receipt.body {
        Body::Round(round) => {
            let texts = &round.texts;
            [
                ("sent", &texts.sent),
                ("screen", &texts.screen),
                ("channel", &texts.channel),
                ("rationale", &texts.rationale),
            ]
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.as_ref()?)))
            .collect()
        }
        Body::Review(review) => vec![("brief", &review.brief), ("return", &review.answer)],
        Body::Fallback(_) | Body::Other(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_moment_or_so_long_ago() {
        for date in ["2026-01-31", "2026-01-31T10:00:00Z"] {
            assert_eq!(since(date).ok().as_deref(), Some(date));
        }
        for ago in ["7d", "2h30m", "90s"] {
            let found = since(ago).unwrap_or_default();
            assert!(found.len() == 24 && found.ends_with('Z'), "{found}");
        }
        for bad in ["", "yesterday", "2026-1", "-1d", "2026/01/31"] {
            assert!(since(bad).is_err(), "{bad}");
        }
    }
}
