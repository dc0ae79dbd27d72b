//! `sessions list`: the sessions of this repository, or of all, newest first.

use std::time::Duration;

use super::kept::{Kept, folders, state};
use super::{clock, size};
use crate::cli::{ListArgs, Options};
use crate::flow::config::Printed;
use crate::flow::failure::Failure;
use crate::plain;
use crate::recording::summary::{SESSIONS_SCHEMA, Sessions, Summary};

/// Lists the sessions that were asked for.
pub(super) fn run(args: &ListArgs, repo: &str, options: &Options) -> Result<Printed, Failure> {
    let mut all = folders(&state()?)?;
    all.reverse();
    if args.ids {
        // For a shell that completes: as fast as the names can be listed.
        let ids: String = all.iter().map(|one| format!("{}\n", one.id)).collect();
        return Ok(Printed::done(ids));
    }
    let wanted = args.repo.as_deref();
    let is_here = |of: &str| match wanted {
        Some(wanted) => of.starts_with(wanted),
        None => args.all || of == repo,
    };
    let sessions: Vec<Summary> = all
        .into_iter()
        .filter(|folder| is_here(&folder.repo))
        .map(|folder| Kept::open(folder).summary)
        .filter(|summary| is_wanted(summary, args))
        .collect();
    if options.json {
        let list = Sessions {
            schema: SESSIONS_SCHEMA.to_owned(),
            sessions,
        };
        let value = serde_json::to_value(list).expect("strings and numbers are always JSON");
        return Ok(Printed::json(&value));
    }
    if sessions.is_empty() {
        let where_else = if args.all || wanted.is_some() {
            ""
        } else {
            " of this repository; --all shows those of others"
        };
        return Ok(Printed::done(format!("no sessions{where_else}\n")));
    }
    Ok(Printed::done(table(
        &sessions,
        args.all || wanted.is_some(),
    )))
}

fn is_wanted(summary: &Summary, args: &ListArgs) -> bool {
    let harness = |name: &String| {
        [&summary.driver, &summary.peer]
            .into_iter()
            .flatten()
            .any(|found| found == name)
    };
    let verdict = |word: &String| {
        let word = word.to_uppercase();
        summary
            .verdicts
            .keys()
            .any(|found| found.to_uppercase() == word)
    };
    let longer = |least: Duration| {
        summary
            .length_ms
            .is_some_and(|length| Duration::from_millis(length) >= least)
    };
    args.harness.as_ref().is_none_or(harness)
        && args.verdict.as_ref().is_none_or(verdict)
        && args.longer.is_none_or(longer)
}

fn table(sessions: &[Summary], with_repo: bool) -> String {
    let mut rows = vec![
        vec![
            "SESSION",
            "STARTED (UTC)",
            "LENGTH",
            "PANES",
            "ROUNDS",
            "SIZE",
            "STATE",
        ]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>(),
    ];
    if with_repo {
        rows[0].push("REPOSITORY".to_owned());
    }
    rows.extend(sessions.iter().map(|session| {
        let mut row = vec![
            plain::display(&session.id, 64),
            plain::display(&session.started, 64)
                .get(..16)
                .unwrap_or_default()
                .replace('T', " "),
            session
                .length_ms
                .map_or("?".to_owned(), |ms| clock(Duration::from_millis(ms))),
            panes(session),
            rounds(session),
            size(session.bytes),
            state_of(session),
        ];
        if with_repo {
            row.push(plain::display(&session.repo, 64));
        }
        row
    }));
    aligned(&rows)
}

fn state_of(session: &Summary) -> String {
    let word = session.standing.word();
    match session.faults.len() {
        0 => word.to_owned(),
        _ => format!("{word} !"),
    }
}

/// The panes' agents, the driver first.
pub(super) fn panes(session: &Summary) -> String {
    let names: Vec<String> = [&session.driver, &session.peer]
        .into_iter()
        .flatten()
        .map(|name| plain::display(name, 32))
        .collect();
    if names.is_empty() {
        return "-".to_owned();
    }
    names.join(" > ")
}

/// How many rounds there were, and what came of them.
pub(super) fn rounds(session: &Summary) -> String {
    if session.rounds == 0 {
        return "0".to_owned();
    }
    let words: Vec<String> = session
        .verdicts
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    format!("{}: {}", session.rounds, words.join(", "))
}

/// Columns as wide as their widest cell.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            rows.iter()
                .map(|row| row[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
