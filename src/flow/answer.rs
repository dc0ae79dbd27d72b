//! A round's result as it is said to a person or a program.

use super::config::Printed;
use crate::cli::{Exit, Options};
use crate::limits;
use crate::plain;
use crate::recording::result::Round;
use crate::recording::word::{Kind, Source, Verdict};

/// The result as it is printed: as JSON, or the review as it is and its verdict below.
pub fn print(round: &Round, options: &Options) -> Printed {
    let exit = match round.reading.verdict() {
        Verdict::Agree => Exit::Done,
        Verdict::Adjust => Exit::Adjust,
        Verdict::Object => Exit::Object,
        Verdict::Escalate => Exit::Escalate,
        Verdict::Unparsed => Exit::Unparsed,
    };
    if options.json {
        let value = serde_json::to_value(round).expect("strings and numbers are always JSON");
        return Printed {
            text: format!("{value:#}\n"),
            exit,
        };
    }
    let text = round
        .reading
        .raw()
        .unwrap_or_else(|| round.reading.rationale());
    let text = plain::block(text);
    let mut out = String::new();
    if !text.trim().is_empty() {
        out.push_str(text.trim_end());
        out.push_str("\n\n");
    }
    out.push_str(&format!("VERDICT: {}", round.reading.verdict()));
    if let Some(reason) = round.reading.reason() {
        out.push_str(&format!(" ({})", reason.sentence()));
    }
    out.push('\n');
    Printed { text: out, exit }
}

/// What a person should know beside the review.
pub(super) fn remarks(round: &Round) -> Vec<String> {
    let mut out = Vec::new();
    if round.round == 0 && round.kind != Kind::Brief {
        out.push("the brief was not agreed, so the message was not sent".to_owned());
    }
    for reading in &round.readings {
        let source = match reading.source {
            Source::Channel => "the harness's record",
            Source::Screen => "the screen",
        };
        out.push(format!(
            "{source} reads {}: {}",
            reading.verdict,
            plain::display(&reading.rationale, limits::QUOTE_BYTES)
        ));
    }
    if round.reading.verdict() != Verdict::Unparsed && !round.complete {
        out.push("some of the review's text may be missing".to_owned());
    }
    if let Some(human) = &round.human {
        let answer = plain::display(&human.answer, limits::MESSAGE_BYTES);
        out.push(format!("the person at the console decides: {answer}"));
    }
    if round.ambiguous {
        out.push("the reply holds verdict lines with different words".to_owned());
    }
    if round.reading.verdict() != Verdict::Unparsed && !round.tagged {
        out.push("the reply does not carry this round's tag".to_owned());
    }
    if round.tree.moved == Some(true) {
        out.push("the working tree changed during the round; this blames nobody".to_owned());
    }
    out
}
