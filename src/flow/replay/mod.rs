//! `replay`: a recorded session or a terminal recording, looked at again (issue SESSIONS 2, 4).

pub mod film;
mod find;
mod rounds;
mod stage;
mod story;
mod verify;

pub(super) use self::rounds::text_of;
pub(super) use self::story::Story;

use std::path::Path;

use super::config::{Printed, Workplace};
use super::console::Draw;
use super::extract;
use super::failure::Failure;
use super::sessions::kept::{self, Kept};
use super::sessions::{key_of, line};
use crate::cli::{Exit, ExtractArgs, Options, ReplayArgs};
use crate::config::Settings;

/// What is to be replayed.
enum Wanted {
    /// A session.
    Session(Box<Kept>),
    /// A recording.
    File(std::path::PathBuf),
}

/// Prints the rounds of a session or of a recording; with `--verify` reads each again and compares.
///
/// # Errors
///
/// When there is no such session or file, or it is none.
pub fn headless(
    args: &ReplayArgs,
    place: &Workplace,
    settings: &Settings,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Printed, Failure> {
    let Some(named) = &args.recording else {
        return Err(Failure::new(
            Exit::Usage,
            "--headless replay needs a session or a file: `codriver sessions list` shows what there is",
        ));
    };
    match find(named, place)? {
        Wanted::Session(kept) => {
            for fault in &kept.summary.faults {
                say(fault);
            }
            let verified = match args.verify {
                true => Some(verify::verify(&kept, settings)?),
                false => None,
            };
            Ok(rounds::print(&kept, verified.as_ref(), options))
        }
        Wanted::File(_) if args.verify => Err(Failure::new(
            Exit::Usage,
            "--verify compares a session with its receipts, and a recording alone has none",
        )),
        Wanted::File(file) => {
            let args = ExtractArgs {
                file,
                harness: args.harness.clone(),
                tag: Vec::new(),
                sent: None,
                at: None,
                screen: false,
            };
            extract::run(&args, settings, options, say)
                .map_err(|error| Failure::of(error.exit(), &error))
        }
    }
}

/// Replays in the console what is named, or what is chosen from a list of this repository's sessions.
///
/// # Errors
///
/// When there is no such session or file, it is none, or there is no terminal.
pub async fn console(
    args: &ReplayArgs,
    place: &Workplace,
    settings: &Settings,
    draw: &mut dyn Draw,
) -> Result<(), Failure> {
    if args.verify {
        return Err(Failure::new(
            Exit::Usage,
            "--verify prints what differs, so it needs --headless",
        ));
    }
    let bill = match &args.recording {
        None => stage::Bill::Choice(choices(place)?),
        Some(named) => match find(named, place)? {
            Wanted::Session(kept) => stage::Bill::Session(kept),
            Wanted::File(file) => stage::Bill::File(file),
        },
    };
    stage::run(bill, settings, place, draw).await
}

/// The sessions of this repository, or those of all when it has none: id and line of each, newest first.
fn choices(place: &Workplace) -> Result<Vec<(String, String)>, Failure> {
    let repo = key_of(place);
    let all = kept::folders(&kept::state()?)?;
    let is_here = all.iter().any(|folder| folder.repo == repo);
    let rows: Vec<(String, String)> = all
        .into_iter()
        .rev()
        .filter(|folder| !is_here || folder.repo == repo)
        .map(|folder| {
            let summary = Kept::open(folder).summary;
            (summary.id.clone(), line(&summary))
        })
        .collect();
    match rows.is_empty() {
        true => Err(Failure::new(
            Exit::Error,
            "nothing was recorded yet: `codriver demo` makes a session",
        )),
        false => Ok(rows),
    }
}

/// Finds what is meant: a session by its id, else a file.
fn find(named: &str, place: &Workplace) -> Result<Wanted, Failure> {
    let path = Path::new(named);
    if named == "-" {
        return Ok(Wanted::File(path.to_path_buf()));
    }
    match kept::find(named, &key_of(place)) {
        Ok(kept) => Ok(Wanted::Session(Box::new(kept))),
        // What is no session may be a file; then that says what is wrong with it.
        Err(_) if path.exists() => Ok(Wanted::File(path.to_path_buf())),
        Err(failure) if named.contains(['/', '.']) => Err(Failure::new(
            failure.exit,
            format!("{failure}, and there is no such file"),
        )),
        Err(failure) => Err(failure),
    }
}
