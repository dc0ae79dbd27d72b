//! `replay`: a recorded session or a terminal recording, looked at again (issue SESSIONS 2, 4).

pub mod film;
mod rounds;
mod verify;

use std::path::Path;

use super::config::{Printed, Workplace};
use super::extract;
use super::failure::Failure;
use super::sessions::kept::{self, Kept};
use super::sessions::key_of;
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
    if !options.headless {
        return Err(Failure::new(
            Exit::Usage,
            "replay shows nothing in the console yet; --headless prints the rounds",
        ));
    }
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
