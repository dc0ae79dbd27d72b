//! `sessions export`: a session as a text, a page, a value or a recording that can be passed on.
//!
//! Texts of agents are inert in each of them: fenced in Markdown, text nodes in the page, strings in JSON, and without
//! control characters where a person reads them.

mod markdown;
mod page;

use std::path::Path;

use super::kept::Kept;
use crate::cli::{Exit, ExportArgs, Format};
use crate::flow::config::Printed;
use crate::flow::failure::{Failure, shown};
use crate::flow::replay::text_of;
use crate::recording::cast::{Kind, Opened, Reader, Writer};
use crate::recording::export::{EXPORT_SCHEMA, Export, ExportEntry};
use crate::recording::receipt::Body;
use crate::world::files;
use crate::world::recording_file::Bytes;

/// Exports a session, to standard output or to a file that must not be there yet.
pub(super) fn run(kept: &Kept, args: &ExportArgs) -> Result<Printed, Failure> {
    let text = match args.format {
        Format::Md => markdown::write(&export(kept)),
        Format::Html => page::write(kept, &export(kept))?,
        Format::Json => {
            let value = serde_json::to_value(export(kept));
            let value = value.expect("strings and numbers are always JSON");
            format!("{value:#}\n")
        }
        Format::Cast => cast(kept, args.pane.word())?,
    };
    match &args.output {
        None => Ok(Printed::done(text)),
        Some(path) => {
            files::write_new(path, text.as_bytes()).map_err(|error| unwritten(path, &error))?;
            Ok(Printed::done(""))
        }
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Error,
        format!("{} could not be written: {error}", shown(path)),
    )
}

/// All there is of a session but its recordings.
fn export(kept: &Kept) -> Export {
    let entry = |receipt: &crate::recording::receipt::Receipt| {
        let texts = match &receipt.body {
            Body::Round(round) => Some(&round.texts),
            _ => None,
        };
        let text = |text: Option<&Option<_>>| text_of(kept, text.and_then(Option::as_ref));
        ExportEntry {
            sent: text(texts.map(|texts| &texts.sent)),
            rationale: text(texts.map(|texts| &texts.rationale)),
            receipt: receipt.clone(),
        }
    };
    Export {
        schema: EXPORT_SCHEMA.to_owned(),
        session: kept.summary.clone(),
        chain: kept.broken.as_ref().map(ToString::to_string),
        entries: kept.receipts.iter().map(entry).collect(),
    }
}

/// The recording of a pane, plain, without what was typed.
fn cast(kept: &Kept, pane: &str) -> Result<String, Failure> {
    let path = kept.cast(pane).ok_or_else(|| {
        Failure::new(
            Exit::Error,
            format!(
                "the session {} has no recording of its {pane}",
                kept.folder.id
            ),
        )
    })?;
    let unreadable = |error: &dyn std::error::Error| {
        Failure::new(
            Exit::Error,
            format!("{} cannot be read: {error}", shown(&path)),
        )
    };
    let bytes = Bytes::open(&path).map_err(|error| unreadable(&error))?;
    let input = match bytes {
        Some(bytes) => bytes.from(0),
        None => Err(std::io::ErrorKind::InvalidData.into()),
    };
    let opened = Reader::open(input.map_err(|error| unreadable(&error))?);
    let Ok(Opened::Recording(reader)) = opened else {
        return Err(Failure::new(
            Exit::Error,
            format!("{} is no terminal recording", shown(&path)),
        ));
    };
    let mut lines = Vec::new();
    let mut writer = Writer::new(reader.header(), &mut lines);
    for event in reader.flatten() {
        match event.kind {
            Kind::Output(text) => writer.output(event.at, text.as_bytes(), &mut lines),
            Kind::Resize(size) => writer.resize(event.at, size, &mut lines),
            Kind::Marker(label) => writer.marker(event.at, &label, &mut lines),
            Kind::Exit(status) => writer.exit(event.at, status, &mut lines),
            Kind::Input(_) | Kind::Other(_) => {}
        }
    }
    Ok(String::from_utf8_lossy(&lines).into_owned())
}
