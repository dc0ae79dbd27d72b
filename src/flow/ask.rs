//! Asking the console of the worktree from the command line (interface.md 1: `discuss` and the others without
//! `--headless`).

use std::path::Path;
use std::time::Duration;

use super::bridge::Told;
use super::compose::{self, Asked};
use super::config::{Printed, Workplace};
use super::failure::{Failure, because};
use super::{answer, mcp, round};
use crate::bridge::{Call, Code, Fault, Pace, Work};
use crate::cli::{self, Exit, Options};
use crate::plain;
use crate::recording::result::Round;
use crate::world::clock::Clock;
use crate::world::signals::Signals;
use crate::world::terminal::{Progress, Step, say};

/// Sends one round to the console and waits for its result.
pub async fn run(asked: &Asked, place: &Workplace, options: &Options) -> Result<Printed, Failure> {
    let words = match asked {
        Asked::Brief { .. } => String::new(),
        Asked::Discuss { message, .. } => compose::words(message)?,
    };
    let mut signals = Signals::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let mut progress = Progress::on_stderr(options.progress == cli::Progress::None);
    let asking = async {
        let (name, work) = match asked {
            Asked::Brief { force } => ("codriver brief", Work::Brief { force: *force }),
            Asked::Discuss { kind, diff, .. } => {
                let message = compose::compose(words, diff.as_ref(), place).await?;
                let kind = compose::word_of(*kind);
                ("codriver discuss", Work::Discuss { kind, message })
            }
        };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let call = Call::Do {
            pane: None,
            work,
            timeout_ms: options.timeout.map(millis),
            pace: Pace::Wait,
        };
        let clock = Clock::start();
        let told = |now: Told<'_>| {
            // The stage comes first, what the peer does behind it.
            let (stage, note) = now.state.split_once(' ').unwrap_or((now.state, ""));
            let since = clock
                .elapsed()
                .checked_sub(Duration::from_millis(now.elapsed_ms));
            let note = plain::display(note, 60);
            let step = Step {
                name: stage,
                since,
                note: &note,
            };
            progress.show(step, clock.elapsed());
        };
        mcp::ask_console(place, name, call, told)
            .await
            .map_err(|fault| failed(&fault))
    };
    let answer = tokio::select! {
        biased;
        signal = signals.next() => {
            let what = format!("{}; a round that was begun goes on in the console", because(signal));
            Err(Failure::new(Exit::Interrupted, what))
        }
        answer = asking => answer,
    };
    progress.clear();
    let value = answer?.ok_or_else(|| Failure::new(Exit::Error, round::NO_CONSOLE))?;
    let round: Round = serde_json::from_value(value).map_err(|_| {
        Failure::new(
            Exit::Error,
            "the console's answer is no result of a round; it may be of another version",
        )
    })?;
    for remark in answer::remarks(&round) {
        say(&format!("codriver: {remark}"));
    }
    Ok(answer::print(&round, options))
}

/// Tells which rule made a pane of the console idle, busy or blocked.
pub async fn explain(pane: &str, place: &Workplace, options: &Options) -> Result<Printed, Failure> {
    let call = Call::Explain {
        pane: Some(pane.to_owned()),
    };
    let value = mcp::ask_console(place, "codriver explain", call, |_| {})
        .await
        .map_err(|fault| failed(&fault))?;
    let value = value.ok_or_else(|| {
        Failure::new(
            Exit::Error,
            "no console runs for this repository; name a recording in place of a pane",
        )
    })?;
    let word = |name: &str| plain::display(value[name].as_str().unwrap_or_default(), 300);
    let text = if options.json {
        format!("{value:#}\n")
    } else {
        let evidence = match word("evidence").as_str() {
            "" => String::new(),
            evidence => format!("\n  {evidence}"),
        };
        format!(
            "{} ({}) is {} by the rule {}{evidence}\n",
            word("pane"),
            word("harness"),
            word("state"),
            word("rule"),
        )
    };
    Ok(Printed {
        text,
        exit: Exit::Done,
    })
}

/// Whether a word names a pane: no file of that name is there.
pub fn is_pane(word: &Path) -> bool {
    matches!(word.to_str(), Some("driver" | "peer")) && !crate::world::files::is_there(word)
}

fn failed(fault: &Fault) -> Failure {
    let exit = match fault.code {
        Code::Refused | Code::NotAllowed | Code::Busy | Code::NeedsPerson => Exit::Refused,
        Code::Timeout => Exit::TimedOut,
        Code::PeerEnded => Exit::PeerEnded,
        Code::Dialog => Exit::Dialog,
        Code::Interrupted => Exit::Interrupted,
        _ => Exit::Error,
    };
    Failure::new(exit, plain::block(&fault.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_ends_the_program_by_its_kind() {
        let exit = |code| failed(&Fault::new(code, "x")).exit;
        assert_eq!(exit(Code::Timeout), Exit::TimedOut);
        assert_eq!(exit(Code::Dialog), Exit::Dialog);
        assert_eq!(exit(Code::Busy), Exit::Refused);
        assert_eq!(exit(Code::ConsoleGone), Exit::Error);
    }

    #[test]
    fn only_a_pane_that_is_no_file_is_one() {
        assert!(is_pane(Path::new("peer")));
        assert!(!is_pane(Path::new("peer.cast")));
    }
}
