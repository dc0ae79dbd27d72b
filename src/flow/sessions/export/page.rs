//! A session as one HTML file that plays and asks the network for nothing.
//!
//! What the terminal showed is worked out here, by the same emulator as everywhere, and written as rows of text and their
//! colours: the page draws what it is told and interprets nothing.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::clock;
use super::super::kept::Kept;
use super::super::list::{panes, rounds};
use crate::flow::failure::Failure;
use crate::flow::replay::film::{Film, Keep};
use crate::plain;
use crate::recording::export::Export;
use crate::recording::receipt::Body;
use crate::recording::summary::word_of;
use crate::recording::track::Target;
use crate::screen::{Color, Screen, Style};

const PAGE: &str = include_str!("../../../../assets/export/page.html");
/// Between two pictures, at least.
const STEP: Duration = Duration::from_millis(80);
/// Largest pictures of one pane, as they stand in the page; beyond that there are fewer of them.
const MOST: usize = 24 << 20;

pub(super) fn write(kept: &Kept, export: &Export) -> Result<String, Failure> {
    let mut styles = Styles::default();
    let mut shown = Vec::new();
    for role in ["driver", "peer"] {
        if let Some(path) = kept.cast(role) {
            shown.push(pane(&path, role, &mut styles)?);
        }
    }
    let data = json!({ "panes": shown, "styles": styles.list });
    // Inside a script element only this ends it.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("@@TITLE@@", html(&export.session.id)),
        ("@@FACTS@@", facts(export)),
        ("@@ROUNDS@@", told(export)),
        ("@@DATA@@", data),
    ];
    Ok(filled(PAGE, &parts))
}

/// A page with its parts put in; what is put in is not looked at again.
fn filled(page: &str, parts: &[(&str, String)]) -> String {
    let mut out =
        String::with_capacity(page.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = page;
    while let Some(at) = rest.find("@@") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match parts.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, text)) => {
                out.push_str(text);
                rest = &rest[name.len()..];
            }
            None => {
                out.push_str("@@");
                rest = &rest[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn html(text: &str) -> String {
    let text = plain::block(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn facts(export: &Export) -> String {
    let session = &export.session;
    let length = session
        .length_ms
        .map_or("unknown".to_owned(), |ms| clock(Duration::from_millis(ms)));
    let mut rows = vec![
        ("Started", session.started.clone()),
        ("Length", length),
        ("Agents", panes(session)),
        ("Rounds", rounds(session)),
        ("State", session.standing.word().to_owned()),
    ];
    rows.extend(
        export
            .chain
            .clone()
            .map(|chain| ("The receipts do not hold", chain)),
    );
    rows.extend(session.faults.iter().map(|fault| ("Fault", fault.clone())));
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("<tr><th>{name}</th><td>{}</td></tr>", html(value)))
        .collect();
    format!("<table>{rows}</table>")
}

fn told(export: &Export) -> String {
    let mut out = String::new();
    for entry in &export.entries {
        match &entry.receipt.body {
            Body::Round(round) => {
                let name = match round.round {
                    0 => round.kind.to_string(),
                    number => format!("Round {number} ({})", round.kind),
                };
                let word = word_of(round.verdict, round.outcome);
                let class = round.verdict.map_or("none", |verdict| verdict.word());
                out.push_str(&format!(
                    "<h2>{}: <span class=\"verdict {class}\">{}</span></h2>",
                    html(&name),
                    html(&word)
                ));
                if let Some(reason) = round.reason {
                    out.push_str(&format!("<p>No verdict: {}.</p>", html(reason.sentence())));
                }
                match &entry.rationale {
                    Some(text) => out.push_str(&format!("<pre class=\"text\">{}</pre>", html(text.trim_end()))),
                    None if round.verdict.is_some() => out.push_str(
                        "<p>The text is not there any more, or not the one the receipt digests.</p>",
                    ),
                    None => out.push_str("<p>No reply was read.</p>"),
                }
                if round.route.asked != round.route.ran {
                    out.push_str(&format!(
                        "<p>Fallback: {} was asked, {} ran.</p>",
                        html(&round.route.asked),
                        html(&round.route.ran)
                    ));
                }
                let digest = round.texts.rationale.as_ref().map_or("", |text| text.sha256.as_str());
                out.push_str(&format!(
                    "<p>Receipt <code>{}</code>, text <code>{}</code></p>",
                    html(&entry.receipt.id),
                    html(digest)
                ));
            }
            Body::Fallback(fell) => out.push_str(&format!(
                "<h2>Fallback</h2><p>{} was asked for {}, and {} ran.</p><p>Receipt <code>{}</code></p>",
                html(&fell.asked),
                html(&fell.role),
                html(&fell.ran),
                html(&entry.receipt.id)
            )),
            _ => {}
        }
    }
    out
}

/// The styles of all rows, each once.
#[derive(Default)]
struct Styles {
    list: Vec<Value>,
    numbers: HashMap<String, usize>,
}

impl Styles {
    fn number(&mut self, style: Style) -> usize {
        let mut value = serde_json::Map::new();
        for (name, color) in [("fg", style.fg), ("bg", style.bg)] {
            match color {
                Color::Default => {}
                Color::Idx(n) => drop(value.insert(name.to_owned(), n.into())),
                Color::Rgb(r, g, b) => drop(value.insert(name.to_owned(), json!([r, g, b]))),
            }
        }
        for (name, is) in [
            ("bold", style.bold),
            ("dim", style.dim),
            ("italic", style.italic),
            ("underline", style.underline),
            ("inverse", style.inverse),
        ] {
            if is {
                value.insert(name.to_owned(), true.into());
            }
        }
        let value = Value::Object(value);
        *self.numbers.entry(value.to_string()).or_insert_with(|| {
            self.list.push(value);
            self.list.len() - 1
        })
    }
}

fn pane(path: &Path, role: &str, styles: &mut Styles) -> Result<Value, Failure> {
    let film = Film::open(path, 0, &Keep::Nowhere)?;
    film.stop();
    let mut step = STEP;
    loop {
        let (frames, length, size) = frames(&film, step, styles).map_err(|error| {
            Failure::new(
                crate::cli::Exit::Error,
                format!("the {role}'s recording cannot be read: {error}"),
            )
        })?;
        if size <= MOST || step > Duration::from_secs(3600) {
            return Ok(json!({ "name": role, "length": length, "frames": frames }));
        }
        step *= 1 + u32::try_from(size / MOST).unwrap_or(u32::MAX - 1);
    }
}

/// The pictures of a recording, no two closer than `step` but the last; how long it is, in milliseconds; and about how
/// many bytes they are.
fn frames(
    film: &Film,
    step: Duration,
    styles: &mut Styles,
) -> std::io::Result<(Vec<Value>, u64, usize)> {
    let mut moment = film.seek(Target::After(0))?;
    let mut before: Vec<Value> = Vec::new();
    let (mut frames, mut size) = (Vec::new(), 0);
    let mut due = Duration::ZERO;
    let mut last = Duration::ZERO;
    loop {
        let at = moment.next.as_ref().map(|next| next.at);
        let is_due = at.is_none_or(|at| at >= due) && !moment.screen.in_frame();
        if is_due || at.is_none() {
            let rows = picture(&moment.screen, styles);
            let changed: Vec<(usize, &Value)> = rows
                .iter()
                .enumerate()
                .filter(|(at, row)| before.get(*at) != Some(*row))
                .collect();
            if !changed.is_empty() || rows.len() != before.len() {
                let frame = json!({ "at": millis(last), "rows": rows.len(), "changed": changed });
                size += frame.to_string().len();
                frames.push(frame);
            }
            before = rows;
            due = at.unwrap_or(last) + step;
        }
        match moment.step(0) {
            Some(event) => last = event.at,
            None => return Ok((frames, millis(last), size)),
        }
    }
}

fn millis(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}

/// The rows of a screen, each as runs of text with the number of their style.
fn picture(screen: &Screen, styles: &mut Styles) -> Vec<Value> {
    (0..screen.size().rows)
        .map(|row| {
            let mut runs: Vec<(String, usize)> = Vec::new();
            for cell in screen.row_cells(row) {
                let style = styles.number(cell.style);
                let text = if cell.extra.conceal { " " } else { cell.text };
                match runs.last_mut() {
                    Some((last, of)) if *of == style => last.push_str(text),
                    _ => runs.push((text.to_owned(), style)),
                }
            }
            json!(runs)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_into_the_page_stays_text() {
        assert_eq!(
            html("<b>&\"'\u{1b}[2J\u{202e}"),
            "&lt;b&gt;&amp;&quot;&#39;\\u{1b}[2J\\u{202e}"
        );
        let parts = [("@@A@@", "@@B@@".to_owned()), ("@@B@@", "x".to_owned())];
        assert_eq!(filled("1@@A@@2@@B@@3@@", &parts), "1@@B@@2x3@@");
    }
}
