//! A review as it is said to a person or a program.

use serde_json::Value;

use crate::cli::{Exit, Options};
use crate::flow::config::Printed;
use crate::plain;
use crate::recording::review::{Panel, Review, Word};

/// What came of a call.
#[derive(Debug)]
pub enum Outcome {
    /// One review, and the text of its return.
    Review(Review, String),
    /// Two, side by side, and the texts of the returns there are.
    Panel(Panel, Vec<String>),
    /// What would have been sent.
    Dry(Value),
}

impl Outcome {
    /// What a person should know beside it.
    pub fn remarks(&self) -> Vec<&str> {
        let reviews: Vec<&Review> = match self {
            Self::Review(review, _) => vec![review],
            Self::Panel(panel, _) => panel
                .seats
                .iter()
                .filter_map(|seat| seat.review.as_ref())
                .collect(),
            Self::Dry(_) => Vec::new(),
        };
        let remarks = reviews.into_iter().flat_map(|review| &review.remarks);
        remarks.map(String::as_str).collect()
    }
}

/// The result as it is printed, with the text of each return where a person reads it.
pub fn print(outcome: &Outcome, options: &Options) -> Printed {
    let exit = exit(outcome);
    let value = match outcome {
        Outcome::Review(review, _) => serde_json::to_value(review),
        Outcome::Panel(panel, _) => serde_json::to_value(panel),
        Outcome::Dry(value) => Ok(value.clone()),
    };
    if options.json {
        let value = value.expect("strings and numbers are always JSON");
        return Printed {
            text: format!("{value:#}\n"),
            exit,
        };
    }
    let text = match outcome {
        Outcome::Review(review, text) => review_text(review, Some(text)),
        Outcome::Panel(panel, texts) => panel_text(panel, texts),
        Outcome::Dry(value) => dry_text(value),
    };
    Printed { text, exit }
}

fn exit(outcome: &Outcome) -> Exit {
    let of = |word: Word| match word {
        Word::Ship | Word::Approve => Exit::Done,
        Word::FixFirst | Word::Block => Exit::Object,
        Word::NeedsInput => Exit::Escalate,
    };
    match outcome {
        Outcome::Review(review, _) => of(review.word),
        Outcome::Dry(_) => Exit::Done,
        // The gravest of what was said; a seat that is empty is graver than a word that passes.
        Outcome::Panel(panel, _) => {
            let said: Vec<Option<Word>> = panel
                .seats
                .iter()
                .map(|seat| Some(seat.review.as_ref()?.word))
                .collect();
            let has = |wanted: fn(Word) -> bool| said.iter().flatten().any(|word| wanted(*word));
            if has(|word| matches!(word, Word::FixFirst | Word::Block)) {
                Exit::Object
            } else if has(|word| word == Word::NeedsInput) {
                Exit::Escalate
            } else if said.iter().any(Option::is_none) {
                Exit::Error
            } else {
                Exit::Done
            }
        }
    }
}

fn review_text(review: &Review, text: Option<&String>) -> String {
    let mut out = String::new();
    if let Some(text) = text {
        out.push_str(plain::block(text).trim_end());
        out.push_str("\n\n");
    }
    let route = &review.route;
    let way = match route.asked == route.ran {
        true => route.ran.clone(),
        false => format!("{} in place of {}", route.ran, route.asked),
    };
    out.push_str(&format!("{} by {} ({way})\n", review.word, review.role));
    out
}

fn panel_text(panel: &Panel, texts: &[String]) -> String {
    let mut texts = texts.iter();
    let mut out = String::new();
    for seat in &panel.seats {
        out.push_str(&format!("---- {} ----\n\n", seat.route));
        match (&seat.review, &seat.failure) {
            (Some(review), _) => out.push_str(&review_text(review, texts.next())),
            (None, failure) => {
                let why = failure.as_deref().unwrap_or("no review");
                out.push_str(&format!("no review: {why}\n"));
            }
        }
        out.push('\n');
    }
    let words: Vec<String> = panel
        .seats
        .iter()
        .map(|seat| {
            let word = seat
                .review
                .as_ref()
                .map_or("none", |review| review.word.word());
            format!("{} {word}", seat.route)
        })
        .collect();
    let fact = match panel.same_word {
        true => "both say the same word",
        false => "they do not say the same word",
    };
    out.push_str(&format!("{}: {fact}\n", words.join(", ")));
    out
}

fn dry_text(value: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let item = |item: &Value| {
        let size = item["bytes"].as_u64().unwrap_or_default();
        match item["why"].as_str() {
            Some(why) => format!("nothing: {why}"),
            None => format!(
                "{}, {size} bytes, {}",
                word(&item["what"]),
                word(&item["sha256"])
            ),
        }
    };
    let mut out = format!(
        "role  {}\nbase  {}\n",
        word(&value["role"]),
        word(&value["base"])
    );
    for way in value["ways"].as_array().into_iter().flatten() {
        let then = match way["then"].as_str() {
            Some(then) => format!(", then {then}"),
            None => String::new(),
        };
        out.push_str(&format!(
            "to    {}{then}: {}\n",
            word(&way["first"]),
            item(&way["sent"])
        ));
    }
    out.push_str(&format!("brief {}\n", item(&value["brief"])));
    for way in value["ways"].as_array().into_iter().flatten() {
        if let Some(text) = way["sent"]["text"].as_str() {
            let first = word(&way["first"]);
            out.push_str(&format!(
                "\n---- to {first} ----\n{}\n",
                plain::block(text).trim_end()
            ));
        }
    }
    let brief = word(&value["brief"]["text"]);
    out.push_str(&format!(
        "\n---- brief ----\n{}\n",
        plain::block(&brief).trim_end()
    ));
    out.push_str("\nNothing was sent, started or written.\n");
    out
}
