//! `extract`: the rounds of a recording, or the reply of a plain text (interface.md 2).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use super::ahead::Ahead;
use super::config::Printed;
use crate::cli::{Exit, ExtractArgs, Options};
use crate::config::{Profile, Settings};
use crate::limits;
use crate::pairing::{Asked, Found, Given, Player, by_screen, by_title, read};
use crate::plain;
use crate::recording::cast::{CastError, Opened, Reader};
use crate::recording::result::{Extract, ExtractRound, Reading, seconds};
use crate::recording::word::Verdict;
use crate::screen::Line;

/// Why a file gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// It cannot be opened or read.
    #[error("{name} cannot be read")]
    Unreadable {
        /// The file, as shown.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It is neither a recording nor text.
    #[error("{name} is neither a terminal recording nor text")]
    Neither {
        /// The file, as shown.
        name: String,
    },
    /// It is a recording that cannot be read from its start.
    #[error("{name} is no recording that can be read")]
    Broken {
        /// The file, as shown.
        name: String,
        /// Why.
        source: CastError,
    },
    /// The harness is not known.
    #[error("no harness is called `{0}`")]
    Harness(String),
}

impl ExtractError {
    /// How the program ends.
    pub fn exit(&self) -> Exit {
        if matches!(self, Self::Harness(_)) {
            Exit::Usage
        } else {
            Exit::Error
        }
    }
}

/// Largest plain text that is read, in bytes.
const TEXT_BYTES: u64 = 64 * 1024 * 1024;

/// What is read, and by which rules.
pub(super) struct Source<'a> {
    /// The file, `-` for standard input.
    pub file: &'a Path,
    /// The harness that was named.
    pub harness: Option<&'a str>,
    /// One tag per round.
    pub tags: &'a [String],
    /// Tags by the moment their round began.
    pub began: &'a [(Duration, String)],
    /// A file with the text that was sent.
    pub sent: Option<&'a Path>,
    /// Nothing after this moment is played.
    pub until: Option<Duration>,
}

/// What was read.
pub(super) enum Played {
    /// A recording, played to its end.
    Recording {
        /// The player, everything fed.
        player: Box<Player>,
        /// Moment of the last event.
        end: Duration,
        /// What had to be put right on the way, in words.
        notes: Vec<String>,
    },
    /// A plain text: its lines.
    Text(Vec<Line>, Box<Profile>, Option<String>),
}

/// Prints the rounds of a file, or its screen.
pub fn run(
    args: &ExtractArgs,
    settings: &Settings,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Printed, ExtractError> {
    let source = Source {
        file: &args.file,
        harness: args.harness.as_deref(),
        tags: &args.tag,
        began: &[],
        sent: args.sent.as_deref(),
        until: args.at,
    };
    let played = play(&source, settings)?;
    if let Played::Recording { notes, .. } = &played {
        for note in notes {
            say(note);
        }
    }
    if args.screen {
        let lines = match played {
            Played::Recording { player, .. } => player.screen().lines(),
            Played::Text(lines, ..) => lines,
        };
        let text: String = lines
            .iter()
            .map(|line| plain::block(&line.text) + "\n")
            .collect();
        return Ok(Printed::done(text.trim_end_matches('\n').to_owned() + "\n"));
    }
    let rounds = match played {
        Played::Recording { player, end, .. } => {
            player.finish(end).iter().map(of_recording).collect()
        }
        Played::Text(lines, profile, sent) => vec![of_text(
            &lines,
            &profile,
            sent.as_deref(),
            args.tag.first().map(String::as_str),
        )],
    };
    if options.json {
        let value = serde_json::to_value(Extract::new(rounds))
            .expect("strings and numbers are always JSON");
        return Ok(Printed::json(&value));
    }
    Ok(Printed::done(readable(&rounds)))
}

/// Opens a file and plays it.
pub(super) fn play(source: &Source<'_>, settings: &Settings) -> Result<Played, ExtractError> {
    let name = if source.file.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        format!(
            "`{}`",
            plain::display(&source.file.to_string_lossy(), limits::QUOTE_BYTES)
        )
    };
    let unreadable = |source| ExtractError::Unreadable {
        name: name.clone(),
        source,
    };
    let named = source.harness.map(|harness| {
        settings
            .profile(harness)
            .cloned()
            .ok_or_else(|| ExtractError::Harness(plain::display(harness, limits::QUOTE_BYTES)))
    });
    let named = named.transpose()?;
    let sent = match source.sent {
        Some(path) => {
            Some(
                std::fs::read_to_string(path).map_err(|error| ExtractError::Unreadable {
                    name: format!(
                        "`{}`",
                        plain::display(&path.to_string_lossy(), limits::QUOTE_BYTES)
                    ),
                    source: error,
                })?,
            )
        }
        None => None,
    };
    let input: Box<dyn BufRead + Send> = if source.file.as_os_str() == "-" {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = File::open(source.file).map_err(unreadable)?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        Box::new(BufReader::with_capacity(256 * 1024, file))
    };
    let opened = Reader::open(input).map_err(|error| match error {
        CastError::Read(error) => unreadable(error),
        error => ExtractError::Broken {
            name: name.clone(),
            source: error,
        },
    })?;
    match opened {
        Opened::Recording(reader) => Ok(play_recording(reader, source, settings, named, sent)),
        Opened::Text(text) => {
            let mut bytes = Vec::new();
            text.take(TEXT_BYTES)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            let Ok(text) = String::from_utf8(bytes) else {
                return Err(ExtractError::Neither { name });
            };
            if text.contains('\0') || text.trim().is_empty() {
                return Err(ExtractError::Neither { name });
            }
            let lines = text_lines(&text);
            let profile = named
                .or_else(|| by_guess(None, &lines, settings))
                .unwrap_or_else(|| unknown(settings));
            Ok(Played::Text(lines, Box::new(profile), sent))
        }
    }
}

fn play_recording<R: BufRead + Send + 'static>(
    reader: Reader<R>,
    source: &Source<'_>,
    settings: &Settings,
    named: Option<Profile>,
    sent: Option<String>,
) -> Played {
    let header = reader.header().clone();
    let title = header.title.as_deref().or(header.command.as_deref());
    let given = Given {
        tags: source.tags.to_vec(),
        began: source.began.to_vec(),
        sent,
        until: source.until,
    };
    let known = named.or_else(|| by_guess(title, &[], settings));
    let choices = match known {
        Some(_) => Vec::new(),
        None => settings.profiles().cloned().collect(),
    };
    let profile = known.unwrap_or_else(|| unknown(settings));
    let mut player =
        Player::new(header.size, settings.scrollback.value, profile, given).choosing(choices);
    let mut end = Duration::ZERO;
    let mut notes = Vec::new();
    let mut broken = 0u64;
    let mut ahead = Ahead::begin(reader, source.until);
    let found = 'played: loop {
        let batch = ahead.next();
        for event in batch.events {
            match event {
                Ok((event, seen)) => {
                    end = event.at;
                    if !player.play_seen(&event, seen) {
                        break 'played batch.notes;
                    }
                }
                Err(error) => {
                    broken += 1;
                    if broken == 1 {
                        notes.push(error.to_string());
                    }
                }
            }
        }
        if batch.is_last {
            break batch.notes;
        }
    };
    if broken > 1 {
        notes.push(format!("{broken} lines of the recording could not be read"));
    }
    if found.cut {
        notes.push(
            "the recording ends in the middle of an event; it is read as far as it goes".to_owned(),
        );
    }
    if broken > 0 || found.replaced {
        player.doubt();
    }
    Played::Recording {
        player: Box::new(player),
        end,
        notes,
    }
}

/// The profile a title or a screen speaks for, by the person's own settings.
fn by_guess(title: Option<&str>, lines: &[Line], settings: &Settings) -> Option<Profile> {
    by_title(title, settings.profiles())
        .or_else(|| by_screen(lines, settings.profiles()))
        .cloned()
}

/// The profile of an agent nothing is known about.
fn unknown(settings: &Settings) -> Profile {
    settings.profile("unknown").cloned().unwrap_or_default()
}

/// The lines of a plain text, which has no size: each is taken as already whole.
fn text_lines(text: &str) -> Vec<Line> {
    text.lines()
        .map(|line| Line {
            text: line.trim_end().to_owned(),
            runs: Vec::new(),
            rows: 1,
            cols: u16::MAX,
        })
        .collect()
}

fn of_recording(found: &Found) -> ExtractRound {
    let (from, to) = (seconds(found.from), seconds(found.to));
    ExtractRound {
        from: Some(from),
        to: Some(to),
        ..of_reading(&found.reading)
    }
}

fn of_text(
    lines: &[Line],
    profile: &Profile,
    sent: Option<&str>,
    tag: Option<&str>,
) -> ExtractRound {
    let asked = Asked {
        sent,
        tag,
        ..Asked::default()
    };
    of_reading(&read(lines, &profile.screen, &asked))
}

fn of_reading(reading: &crate::pairing::Reading) -> ExtractRound {
    let result = match (reading.verdict, reading.reason) {
        (Verdict::Unparsed, reason) => Reading::unparsed(
            reason.expect("a reading without a verdict has a reason"),
            reading.rationale.clone(),
            reading.raw.clone(),
        ),
        (verdict, _) => {
            Reading::decided(verdict, reading.rationale.clone()).expect("it is a verdict")
        }
    };
    ExtractRound {
        reading: result,
        complete: reading.complete,
        ambiguous: reading.ambiguous,
        tagged: reading.tagged,
        from: None,
        to: None,
    }
}

/// The rounds as a person reads them.
fn readable(rounds: &[ExtractRound]) -> String {
    let mut out = String::new();
    for (at, round) in rounds.iter().enumerate() {
        if rounds.len() > 1 {
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&format!("── round {} ──\n", at + 1));
        }
        let text = round
            .reading
            .raw()
            .unwrap_or_else(|| round.reading.rationale());
        let text = plain::block(text);
        if !text.trim().is_empty() {
            out.push_str(text.trim_end());
            out.push_str("\n\n");
        }
        out.push_str(&format!("VERDICT: {}", round.reading.verdict()));
        if let Some(reason) = round.reading.reason() {
            out.push_str(&format!(" ({})", reason.sentence()));
        } else if !round.complete {
            out.push_str(" (some of the text may be missing)");
        }
        out.push('\n');
    }
    if rounds.is_empty() {
        out.push_str("no round found\n");
    }
    out
}
