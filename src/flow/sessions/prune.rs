//! `sessions prune`: lets go of what is too old or too much.

use std::time::Duration;

use serde_json::json;

use super::kept::{Kept, folders, state};
use super::size;
use crate::cli::{Exit, Options, PruneArgs};
use crate::config::Settings;
use crate::flow::config::Printed;
use crate::flow::failure::Failure;
use crate::plain;
use crate::recording::retention::{self, Retention, choose};
use crate::recording::summary::Standing;
use crate::world::clock::WallTime;
use crate::world::sessions;

const DAY: u64 = 24 * 3600;

/// Whether a session runs, or may run: one whose file cannot be read was perhaps made just now.
fn is_open(kept: &Kept, now: Duration) -> bool {
    let young = || {
        retention::started("", &kept.folder.id)
            .is_none_or(|started| now.saturating_sub(started) < Duration::from_secs(DAY))
    };
    match kept.summary.standing {
        Standing::Open => true,
        Standing::Unreadable => young(),
        _ => false,
    }
}

/// Takes away the sessions that are not kept, of all repositories.
pub(super) fn run(
    args: &PruneArgs,
    settings: &Settings,
    options: &Options,
) -> Result<Printed, Failure> {
    let keep = Retention {
        age: Duration::from_secs(DAY * u64::from(args.days.unwrap_or(settings.keep_days.value))),
        bytes: u64::from(args.megabytes.unwrap_or(settings.keep_mb.value)) * 1_000_000,
    };
    let state = state()?;
    if !args.dry_run {
        sessions::sweep(&state);
    }
    let now = WallTime::now().since_epoch();
    let all: Vec<Kept> = folders(&state)?.into_iter().map(Kept::open).collect();
    let judged: Vec<retention::Kept> = all
        .iter()
        .map(|kept| retention::Kept {
            started: retention::started(&kept.summary.started, &kept.folder.id),
            bytes: kept.summary.bytes,
            is_open: is_open(kept, now),
        })
        .collect();
    let mut gone = Vec::new();
    let mut failed = Vec::new();
    for at in choose(&judged, now, keep) {
        let kept = &all[at];
        if args.dry_run {
            gone.push(kept);
            continue;
        }
        // It may have been taken up again since it was looked at.
        if is_open(&Kept::open(kept.folder.clone()), now) {
            continue;
        }
        match sessions::remove(&kept.folder.path) {
            Ok(()) => gone.push(kept),
            Err(error) => failed.push((kept, error)),
        }
    }
    let bytes: u64 = gone.iter().map(|kept| kept.summary.bytes).sum();
    let exit = if failed.is_empty() {
        Exit::Done
    } else {
        Exit::Error
    };
    if options.json {
        let ids: Vec<&str> = gone.iter().map(|kept| kept.folder.id.as_str()).collect();
        let left: Vec<_> = failed
            .iter()
            .map(|(kept, error)| json!({ "session": kept.folder.id, "why": error.to_string() }))
            .collect();
        let printed = Printed::json(&json!({
            "schema": "codriver.prune/1",
            "dry_run": args.dry_run,
            "removed": ids,
            "bytes": bytes,
            "kept": all.len() - gone.len(),
            "failed": left,
        }));
        return Ok(Printed { exit, ..printed });
    }
    let mut out = String::new();
    for kept in &gone {
        let did = if args.dry_run {
            "would remove"
        } else {
            "removed"
        };
        out.push_str(&format!(
            "{did} {}  {}\n",
            plain::display(&kept.folder.id, 64),
            size(kept.summary.bytes)
        ));
    }
    for (kept, error) in &failed {
        out.push_str(&format!(
            "not removed {}: {error}\n",
            plain::display(&kept.folder.id, 64)
        ));
    }
    out.push_str(&format!(
        "{} of {} sessions, {}\n",
        gone.len(),
        all.len(),
        size(bytes)
    ));
    Ok(Printed { text: out, exit })
}
