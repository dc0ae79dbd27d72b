//! Drawing as opencode does: on the alternate screen, the whole window cell by cell, the transcript scrolled to its end.
//! The terminal keeps no history; a taller window shows more of the transcript.

use std::time::Duration;

use super::Kind;
use super::grid::Grid;
use super::layout::{Look, lay};
use super::markdown;
use super::row::{Row, Span, width};
use super::scene::{Entry, Painter, Scene, trust_dialog};
use super::wrap::{Breaks, wrap};
use crate::screen::{Color, Style};

const GROUND: Color = Color::Rgb(10, 10, 10);
const PANEL: Color = Color::Rgb(20, 20, 20);
const BOX: Color = Color::Rgb(30, 30, 30);
const ACCENT: Color = Color::Rgb(92, 156, 245);
const TEXT: Color = Color::Rgb(238, 238, 238);
const MUTED: Color = Color::Rgb(128, 128, 128);
/// Columns before the text of a reply or inside of a gutter.
const INDENT: usize = 5;
/// Columns the moving bar of a running turn takes.
const BAR: usize = 8;

/// The painter of the style.
#[derive(Debug, Default)]
pub(super) struct OpenCode {
    shown: Option<Grid>,
    cursor: (usize, usize),
    /// Rows of the entries that stay as they are, for a width.
    settled: Vec<Row>,
    entries: usize,
    cols: usize,
    title: String,
}

impl OpenCode {
    pub(super) fn new() -> Self {
        Self::default()
    }

    fn transcript(&mut self, scene: &Scene) -> Vec<Row> {
        let cols = usize::from(scene.size.cols);
        if self.cols != cols {
            self.cols = cols;
            self.entries = 0;
            self.settled = Vec::new();
        }
        while let Some(entry) = scene
            .entries
            .get(self.entries)
            .filter(|entry| entry.is_settled())
        {
            let next = scene.entries.get(self.entries + 1);
            if next.is_none() && matches!(entry, Entry::Tool(_)) {
                // Whether a blank row follows depends on what comes next.
                break;
            }
            self.settled.extend(entry_rows(entry, next, cols));
            self.entries += 1;
        }
        let mut rows = self.settled.clone();
        for (index, entry) in scene.entries.iter().enumerate().skip(self.entries) {
            rows.extend(entry_rows(entry, scene.entries.get(index + 1), cols));
        }
        if scene.work.is_some_and(|work| work.streaming) {
            rows.push(footer("Build · Demo", None));
            rows.push(Row::new());
        }
        rows
    }

    /// The whole window, and where the cursor goes.
    fn window(&mut self, scene: &Scene) -> (Vec<Row>, (usize, usize)) {
        let height = usize::from(scene.size.rows);
        if scene.asks_trust {
            let rows: Vec<Row> = trust_dialog(&scene.folder, "❯")
                .into_iter()
                .map(|line| Row::new().and(format!("   {line}"), ink(TEXT)))
                .collect();
            return (rows, (6, 3));
        }
        if scene.entries.is_empty() && scene.work.is_none() {
            return home(scene);
        }
        let transcript = self.transcript(scene);
        let (input, cursor) = input_box(scene, 2);
        let room = height.saturating_sub(input.len() + 2);
        let mut rows = vec![Row::new()];
        rows.extend(transcript);
        let cut = rows.len().saturating_sub(room);
        rows.drain(..cut);
        rows.resize(room, Row::new());
        let base = rows.len();
        rows.extend(input);
        rows.push(status(scene));
        rows.push(Row::new());
        (rows, (base + cursor.0, cursor.1))
    }

    fn paint(&mut self, scene: &Scene) -> String {
        let (rows, cursor) = self.window(scene);
        let ground = Style {
            fg: Color::Rgb(255, 255, 255),
            bg: GROUND,
            ..Style::default()
        };
        let grid = Grid::of(&rows, scene.size, ground);
        let mut out = String::new();
        grid.encode_over(self.shown.as_ref(), &mut out);
        self.shown = Some(grid);
        if out.is_empty() && cursor == self.cursor {
            return out;
        }
        self.cursor = cursor;
        format!(
            "\x1b[?2026h\x1b[?25l{out}\x1b[0m\x1b[{};{}H\x1b[?25h\x1b[?2026l",
            cursor.0 + 1,
            cursor.1 + 1
        )
    }
}

impl Painter for OpenCode {
    fn open(&mut self) -> String {
        [
            "\x1b[?2031h\x1b]10;?\x07\x1b]11;?\x07\x1b[>0q\x1b[?25l\x1b[s\x1b[6n\x1bP+q4d73\x1b\\",
            "\x1b[?1016$p\x1b[?2027$p\x1b[?2031$p\x1b[?1004$p\x1b[?2004$p\x1b[?2026$p\x1b[?u",
            "\x1b[?1049h\x1b[>4;1m\x1b[?2027h\x1b[?2004h\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[14t",
            "\x1b]4;0;?\x07\x1b_Gi=31337,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c\x1b[?1004h\x1b[>4;0m\x1b[>5u",
        ]
        .concat()
    }

    fn draw(&mut self, scene: &Scene) -> String {
        self.paint(scene)
    }

    fn resize(&mut self, scene: &Scene) -> String {
        self.shown = None;
        self.paint(scene)
    }

    fn clear(&mut self, scene: &Scene) -> String {
        self.cols = 0;
        self.paint(scene)
    }

    fn tell(&mut self, scene: &Scene) -> String {
        let title = if scene.entries.is_empty() {
            "\x1b]0;OpenCode\x07"
        } else {
            "\x1b]0;OC | Demo session\x07"
        };
        if self.title == title {
            return String::new();
        }
        title.clone_into(&mut self.title);
        self.title.clone()
    }

    fn close(&mut self, _scene: &Scene) -> String {
        "\x1b[?25h\x1b[0m\x1b[<u\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[?1049l\x1b[?2031l\
         \x1b]0;\x07\r\n  The demo session is over; nothing of it was kept.\r\n"
            .to_owned()
    }
}

fn ink(fg: Color) -> Style {
    Style {
        fg,
        ..Style::default()
    }
}

fn on(bg: Color, fg: Color) -> Style {
    Style {
        fg,
        bg,
        ..Style::default()
    }
}

/// The rows of an entry, the blank row behind it included.
fn entry_rows(entry: &Entry, next: Option<&Entry>, cols: usize) -> Vec<Row> {
    let mut rows = match entry {
        Entry::Prompt(text) | Entry::Command(text) => guttered(text, cols),
        Entry::Tool(log) => {
            let rows = tool(log, cols);
            let goes_on =
                rows.len() == 1 && matches!(next, Some(Entry::Tool(log)) if !log.starts_with("$ "));
            if goes_on {
                return rows;
            }
            rows
        }
        Entry::Reply { text, drawn, .. } => reply(&text[..*drawn], cols),
        Entry::Failed(message) => {
            let mut rows = guttered(message, cols);
            rows.push(Row::new());
            rows.push(footer("Build · Demo", None));
            rows
        }
        Entry::Done(time) => vec![footer("Build · Demo", Some(&short(*time)))],
        Entry::Interrupted => vec![footer("Build · Demo", Some("interrupted"))],
    };
    rows.push(Row::new());
    rows
}

fn footer(name: &str, time: Option<&str>) -> Row {
    let time = time.map(|time| format!(" · {time}")).unwrap_or_default();
    Row::new()
        .and("     ▣", ink(ACCENT))
        .and(format!("  {name}"), ink(TEXT))
        .and(time, ink(MUTED))
}

fn short(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis}ms"),
        millis => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
    }
}

/// Text behind the gutter that marks all that is no reply: prompts, output of tools, errors.
fn guttered(text: &str, cols: usize) -> Vec<Row> {
    let inner = cols.saturating_sub(INDENT + 4).max(1);
    let mut lines = vec![Row::new()];
    for line in text.split('\n') {
        let line = [Span {
            text: line.replace('\t', "    "),
            style: on(PANEL, TEXT),
        }];
        lines.extend(wrap(&line, inner, Breaks::Punctuation));
    }
    lines.push(Row::new());
    lines
        .into_iter()
        .map(|row| {
            row.behind("  ", on(PANEL, TEXT))
                .padded(cols.saturating_sub(5), on(PANEL, TEXT))
                .behind("┃", on(PANEL, ACCENT))
                .behind("  ", Style::default())
        })
        .collect()
}

fn tool(log: &str, cols: usize) -> Vec<Row> {
    match log.split_once('\n') {
        Some((head, output)) if head.starts_with("$ ") => {
            guttered(&format!("{head}\n\n{output}"), cols)
        }
        _ if log.starts_with("$ ") => guttered(log, cols),
        _ => vec![
            Row::new()
                .and(format!("     → {}", log.replace('\n', " ")), ink(MUTED))
                .cut(cols),
        ],
    }
}

fn reply(text: &str, cols: usize) -> Vec<Row> {
    let inner = cols.saturating_sub(INDENT + 2).max(1);
    lay(&markdown::parse(text), &Look::of(Kind::OpenCode), inner)
        .rows
        .into_iter()
        .map(|row| match row.spans.is_empty() {
            true => row,
            false => row.behind(" ".repeat(INDENT), Style::default()),
        })
        .collect()
}

/// The screen before the first prompt.
fn home(scene: &Scene) -> (Vec<Row>, (usize, usize)) {
    let cols = usize::from(scene.size.cols);
    let height = usize::from(scene.size.rows);
    let (input, cursor) = input_box(scene, 3);
    let top = (height / 2).min(height.saturating_sub(input.len() + 2));
    let mut rows = vec![Row::new(); top.saturating_sub(4)];
    for text in [
        "codriver demo agent",
        "looks like opencode; fixed rules, no model",
        "",
        "",
    ] {
        if rows.len() < top {
            let left = cols.saturating_sub(width(text)) / 2;
            rows.push(
                Row::new()
                    .and(" ".repeat(left), Style::default())
                    .and(text, ink(TEXT)),
            );
        }
    }
    let base = rows.len();
    rows.extend(input);
    let keys = "tab agents  ctrl+p commands";
    let left = cols.saturating_sub(width(keys) + 2);
    rows.push(
        Row::new()
            .and(" ".repeat(left), Style::default())
            .and(keys, ink(MUTED)),
    );
    while rows.len() + 2 < height {
        rows.push(Row::new());
    }
    rows.push(if scene.has_prompt {
        Row::new().and(format!("  {}", scene.folder), ink(MUTED))
    } else {
        status(scene)
    });
    (rows, (base + cursor.0, cursor.1))
}

/// The input box, and where in it the cursor goes.
fn input_box(scene: &Scene, margin: usize) -> (Vec<Row>, (usize, usize)) {
    let cols = usize::from(scene.size.cols);
    let inner = cols.saturating_sub(2 * margin + 4).max(1);
    if !scene.has_prompt {
        return (Vec::new(), (0, 0));
    }
    let text = if scene.shows_input {
        scene.composer.shown()
    } else {
        String::new()
    };
    let hint = text.is_empty() && scene.entries.is_empty();
    let style = on(BOX, if hint { MUTED } else { TEXT });
    let shown = if hint {
        "Ask anything… \"Fix broken tests\""
    } else {
        &text
    };
    let mut lines: Vec<Row> = shown
        .split('\n')
        .flat_map(|line| {
            let line = [Span {
                text: line.replace('\t', "    "),
                style,
            }];
            wrap(&line, inner, Breaks::Punctuation)
        })
        .collect();
    let room = usize::from(scene.size.rows).saturating_sub(8).max(1);
    lines.drain(..lines.len().saturating_sub(room));
    let last = lines.len() - 1;
    let col = if hint { 0 } else { lines[last].width() };
    let name = Row::new()
        .and("Build", on(BOX, ACCENT))
        .and(" · ", on(BOX, MUTED))
        .and("Demo", on(BOX, TEXT))
        .and(" codriver", on(BOX, MUTED));
    let lead = " ".repeat(margin);
    let wide = cols.saturating_sub(2 * margin + 1);
    let mut rows: Vec<Row> = [Row::new()]
        .into_iter()
        .chain(lines)
        .chain([Row::new(), name])
        .map(|row| {
            row.behind("  ", style)
                .padded(wide, style)
                .behind("┃", on(BOX, ACCENT))
                .behind(lead.as_str(), Style::default())
        })
        .collect();
    rows.push(
        Row::new()
            .and(lead, Style::default())
            .and("╹", ink(ACCENT))
            .and("▀".repeat(cols.saturating_sub(2 * margin + 1)), ink(BOX)),
    );
    (rows, (1 + last, margin + 3 + col))
}

fn status(scene: &Scene) -> Row {
    let cols = usize::from(scene.size.cols);
    let failed = scene
        .entries
        .iter()
        .rev()
        .find(|entry| matches!(entry, Entry::Failed(_) | Entry::Done(_)));
    let right = match (scene.work, failed) {
        (None, Some(Entry::Done(_))) if scene.has_prompt => "1.1K (1%)  ctrl+p commands",
        _ => "tab agents  ctrl+p commands",
    };
    let left = match scene.work {
        Some(work) => Row::new()
            .and("   ", Style::default())
            .and(bar(work.tick), ink(ACCENT))
            .and("  esc interrupt", ink(TEXT)),
        None if !scene.has_prompt => Row::new()
            .and("   ■■■⬝⬝⬝⬝⬝", ink(ACCENT))
            .and("  esc interrupt", ink(TEXT)),
        None => Row::new().and(format!("   {}", scene.folder), ink(MUTED)),
    };
    let gap = cols.saturating_sub(left.width() + width(right) + 2);
    if gap == 0 {
        return left.cut(cols);
    }
    left.and(" ".repeat(gap), Style::default())
        .and(right, ink(MUTED))
}

/// The moving bar: up to four squares that run through it.
fn bar(tick: usize) -> String {
    let at = tick % (BAR + 4);
    (0..BAR)
        .map(|cell| {
            if cell <= at && cell + 4 > at {
                '■'
            } else {
                '⬝'
            }
        })
        .collect()
}
