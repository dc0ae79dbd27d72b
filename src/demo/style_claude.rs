//! Drawing as claude does: inline, no alternate screen and no scroll region; a frame goes back to the first row that
//! changed, and what has left the window is never touched again. Blanks are jumped over with `CSI n G`.

use super::Kind;
use super::layout::{Look, lay_growing};
use super::row::{Row, Span, bold, colour, dim, inverse, width};
use super::scene::{Entry, Painter, Scene, seconds, trust_dialog};
use super::wrap::{Breaks, wrap};
use crate::screen::{Color, Style};

const GLYPHS: [&str; 6] = ["·", "✢", "✳", "✶", "✻", "✽"];
const VERBS: [(&str, &str); 5] = [
    ("Reading", "Read"),
    ("Comparing", "Compared"),
    ("Pondering", "Pondered"),
    ("Weighing", "Weighed"),
    ("Cogitating", "Cogitated"),
];
const TITLE: &str = "Demo session";

/// The painter of the style.
#[derive(Debug, Default)]
pub(super) struct Claude {
    /// Rows of the document as they were last drawn.
    shown: Vec<Row>,
    /// Rows the document ever reached; the window shows the last ones of these.
    reach: usize,
    /// Where the cursor stands: a row of the document and a column.
    cursor: (usize, usize),
    /// Rows of the banner and the entries that stay as they are.
    settled: Vec<Row>,
    /// How many entries these are.
    entries: usize,
    cols: usize,
    told: String,
}

impl Claude {
    /// Makes a painter that has drawn nothing.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The whole document, and where in it the cursor goes.
    fn document(&mut self, scene: &Scene) -> (Vec<Row>, (usize, usize)) {
        let cols = usize::from(scene.size.cols);
        let height = usize::from(scene.size.rows);
        if self.cols != cols {
            self.cols = cols;
            self.entries = 0;
            self.settled = banner(scene, cols);
        }
        if scene.asks_trust {
            return dialog(scene, cols);
        }
        while let Some(entry) = scene
            .entries
            .get(self.entries)
            .filter(|entry| entry.is_settled())
        {
            self.settled.extend(entry_rows(entry, cols));
            self.settled.push(Row::new());
            self.entries += 1;
        }
        let mut rows = self.settled.clone();
        let (foot, cursor) = foot(scene, cols);
        for entry in &scene.entries[self.entries..] {
            rows.extend(growing_rows(
                entry,
                cols,
                height.saturating_sub(foot.len() + 2),
            ));
            rows.push(Row::new());
        }
        let base = rows.len();
        rows.extend(foot);
        (rows, (base + cursor.0, cursor.1))
    }

    fn paint(&mut self, rows: Vec<Row>, cursor: (usize, usize), height: usize) -> String {
        let mut out = String::new();
        let top = self.reach.saturating_sub(height);
        let first = rows
            .iter()
            .zip(&self.shown)
            .position(|(new, old)| new != old)
            .unwrap_or(rows.len().min(self.shown.len()))
            .max(top);
        let last = rows.len().max(self.shown.len());
        let mut at = self.cursor.0;
        if first < last {
            move_rows(&mut out, at, first);
            out.push('\r');
            at = first;
        }
        for index in first..last {
            if index > at {
                out.push_str("\r\r\n");
                at = index;
            }
            let empty = Row::new();
            let new = rows.get(index).unwrap_or(&empty);
            match self.shown.get(index) {
                Some(old) if old == new => {}
                Some(old) if !old.is_blank() => {
                    if new.is_blank() {
                        out.push_str("\x1b[2K");
                    } else {
                        new.encode(&mut out);
                        if new.width() < old.width() {
                            out.push_str("\x1b[K");
                        }
                    }
                }
                _ => new.encode_skipping(&mut out),
            }
        }
        let cursor = (
            cursor.0.max(self.reach.max(last).saturating_sub(height)),
            cursor.1,
        );
        if out.is_empty() && self.cursor == cursor {
            return out;
        }
        out.push('\r');
        move_rows(&mut out, at, cursor.0);
        if cursor.1 > 0 {
            out.push_str(&format!("\x1b[{}C", cursor.1));
        }
        self.reach = self.reach.max(last);
        self.shown = rows;
        self.cursor = cursor;
        out
    }

    /// Empties the window row by row and draws the end of the document into it.
    fn repaint(&mut self, scene: &Scene) -> String {
        let height = usize::from(scene.size.rows);
        let mut out = String::from("\x1b[H");
        for row in 0..height {
            out.push_str("\x1b[2K");
            if row + 1 < height {
                out.push_str("\x1b[1B");
            }
        }
        out.push_str("\x1b[H");
        let (rows, cursor) = self.document(scene);
        let from = rows.len().saturating_sub(height);
        // Rows above the window count as drawn: they can never be reached again.
        self.shown = rows[..from].to_vec();
        self.reach = from;
        self.cursor = (from, 0);
        out.push_str(&self.paint(rows, cursor, height));
        frame(scene, out)
    }
}

impl Painter for Claude {
    fn open(&mut self) -> String {
        "\x1b[?25l\x1b[?2004h\x1b[?1004h\x1b[?2031h\x1b]0;✳ Claude Code\x07\x1b]11;?\x1b\\\x1b[>0q\x1b[c\x1b[?2026$p\x1b[6n"
            .to_owned()
    }

    fn draw(&mut self, scene: &Scene) -> String {
        let (rows, cursor) = self.document(scene);
        let out = self.paint(rows, cursor, usize::from(scene.size.rows));
        frame(scene, out)
    }

    fn resize(&mut self, scene: &Scene) -> String {
        self.repaint(scene)
    }

    fn clear(&mut self, scene: &Scene) -> String {
        self.cols = 0;
        self.repaint(scene)
    }

    fn tell(&mut self, scene: &Scene) -> String {
        let sign = match scene.work {
            Some(work) if work.tick / 4 % 2 == 0 => "⠂",
            Some(_) => "⠐",
            None => "✳",
        };
        let title = format!("\x1b]0;{sign} {TITLE}\x07");
        if title == self.told {
            return String::new();
        }
        self.told.clone_from(&title);
        title
    }

    fn close(&mut self, _scene: &Scene) -> String {
        let mut out = String::new();
        let end = self.shown.len().saturating_sub(1);
        move_rows(&mut out, self.cursor.0, end);
        out.push_str("\r\n\x1b[?1004l\x1b[?2031l\x1b[?2004l\x1b[?25h\x1b]0;\x07");
        out.push_str("\x1b[2mThe demo session is over; nothing of it was kept.\x1b[22m\r\n");
        out
    }
}

fn frame(scene: &Scene, out: String) -> String {
    if out.is_empty() || !scene.sync {
        return out;
    }
    format!("\x1b[?2026h{out}\x1b[?2026l")
}

fn move_rows(out: &mut String, from: usize, to: usize) {
    if from > to {
        out.push_str(&format!("\x1b[{}A", from - to));
    } else if to > from {
        out.push_str(&format!("\x1b[{}B", to - from));
    }
}

fn banner(scene: &Scene, cols: usize) -> Vec<Row> {
    let border = colour(174);
    let inner = cols.saturating_sub(2);
    let title = "─── codriver demo agent ";
    let top = format!("{title}{}", "─".repeat(inner.saturating_sub(width(title))));
    let mut rows = vec![Row::new().and(format!("╭{top}╮"), border)];
    for (text, style) in [
        (String::new(), Style::default()),
        (
            "Looks like claude; fixed rules, no model".to_owned(),
            bold(),
        ),
        ("▐▛███▜▌".to_owned(), border),
        ("▝▜█████▛▘".to_owned(), border),
        ("  ▘▘ ▝▝  ".to_owned(), border),
        (scene.folder.clone(), dim()),
    ] {
        let row = Row::new().and(text, style).cut(inner);
        let left = inner.saturating_sub(row.width()) / 2;
        let row = row
            .behind(" ".repeat(left), Style::default())
            .padded(inner, Style::default())
            .behind("│", border)
            .and("│", border);
        rows.push(row);
    }
    rows.push(Row::new().and(format!("╰{}╯", "─".repeat(inner)), border));
    let mut rows: Vec<Row> = rows.into_iter().map(|row| row.cut(cols)).collect();
    rows.extend([Row::new(), Row::new()]);
    rows
}

fn dialog(scene: &Scene, cols: usize) -> (Vec<Row>, (usize, usize)) {
    let mut rows = vec![Row::new().and("─".repeat(cols), colour(220))];
    for line in trust_dialog(&scene.folder, "❯") {
        rows.push(Row::plain(format!(" {line}")).cut(cols));
    }
    let pointer = rows.len() - 4;
    (rows, (pointer, 1))
}

fn entry_rows(entry: &Entry, cols: usize) -> Vec<Row> {
    match entry {
        Entry::Prompt(text) | Entry::Command(text) => echo(text, cols),
        Entry::Tool(log) => tool(log, cols),
        Entry::Reply { text, drawn, .. } => reply(&text[..*drawn], cols).0,
        Entry::Failed(message) => {
            bulleted(vec![Row::new().and(message.as_str(), colour(211))], cols)
        }
        Entry::Done(time) => {
            let (_, past) = VERBS[usize::try_from(time.as_millis() % 5).unwrap_or_default()];
            vec![Row::new().and(format!("✻ {past} for {}", seconds(*time)), colour(246))]
        }
        Entry::Interrupted => vec![Row::new().and(
            "  ⎿  Interrupted · What should Claude do instead?",
            colour(211),
        )],
    }
}

/// A reply that still grows: what may change is cut to its last rows, so that all of it is in the window when it does.
fn growing_rows(entry: &Entry, cols: usize, room: usize) -> Vec<Row> {
    let Entry::Reply { text, drawn, .. } = entry else {
        return entry_rows(entry, cols);
    };
    let (mut rows, settled) = reply(&text[..*drawn], cols);
    let spare = (rows.len() - settled).saturating_sub(room.max(1));
    rows.drain(settled..settled + spare);
    rows
}

fn echo(text: &str, cols: usize) -> Vec<Row> {
    let ground = |index: u8| Style {
        bg: Color::Idx(237),
        ..colour(index)
    };
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let line = [Span {
            text: line.replace('\t', "    "),
            style: ground(231),
        }];
        for row in wrap(&line, cols.saturating_sub(3), Breaks::Blanks) {
            let head = if rows.is_empty() { "❯ " } else { "  " };
            rows.push(row.behind(head, ground(239)).padded(cols, ground(231)));
        }
    }
    rows
}

fn tool(log: &str, cols: usize) -> Vec<Row> {
    let mut lines = log.lines();
    let head = lines.next().unwrap_or_default();
    let Some(command) = head.strip_prefix("$ ") else {
        return vec![
            Row::new()
                .and(format!("  {head} (ctrl+o to expand)"), colour(246))
                .cut(cols),
        ];
    };
    let mut rows = vec![
        Row::new()
            .and("●", colour(114))
            .and(format!(" Bash({command})"), bold())
            .cut(cols),
    ];
    for (index, line) in lines.enumerate() {
        let head = if index == 0 { "  ⎿  " } else { "     " };
        rows.push(Row::plain(format!("{head}{line}")).cut(cols));
    }
    rows
}

/// The rows of a reply, and how many of them stay as they are.
fn reply(text: &str, cols: usize) -> (Vec<Row>, usize) {
    let laid = lay_growing(text, &Look::of(Kind::Claude), cols.saturating_sub(2).max(1));
    (bulleted(laid.rows, cols), laid.settled)
}

fn bulleted(rows: Vec<Row>, cols: usize) -> Vec<Row> {
    let rows = rows.into_iter().flat_map(|row| {
        if row.width() > cols.saturating_sub(2) {
            wrap(&row.spans, cols.saturating_sub(2), Breaks::Blanks)
        } else {
            vec![row]
        }
    });
    rows.enumerate()
        .map(|(index, row)| match index {
            0 => row.behind(" ", Style::default()).behind("●", colour(231)),
            _ if row.spans.is_empty() => row,
            _ => row.behind("  ", Style::default()),
        })
        .collect()
}

/// Spinner, box and status row; and where the cursor goes.
fn foot(scene: &Scene, cols: usize) -> (Vec<Row>, (usize, usize)) {
    let mut rows = Vec::new();
    if let Some(work) = scene.work {
        let (verb, _) = VERBS[work.turn % VERBS.len()];
        let glyph = GLYPHS[work.tick % GLYPHS.len()];
        rows.push(
            Row::new()
                .and(format!("{glyph} {verb}… "), colour(174))
                .and(
                    format!("({} · esc to interrupt)", seconds(work.elapsed)),
                    colour(246),
                )
                .cut(cols),
        );
        rows.push(Row::new());
    }
    if scene.queued > 0 {
        rows.push(
            Row::new()
                .and("  Press up to edit queued messages", colour(246))
                .cut(cols),
        );
    }
    if !scene.has_prompt {
        if rows.is_empty() {
            rows.push(
                Row::new()
                    .and("✻ Starting… (esc to interrupt)", colour(174))
                    .cut(cols),
            );
        }
        return (rows, (0, 0));
    }
    let rule = Row::new().and("─".repeat(cols), colour(244));
    rows.push(rule.clone());
    let (input, cursor) = input_rows(scene, cols);
    let cursor = (rows.len() + cursor.0, cursor.1);
    rows.extend(input);
    rows.push(rule);
    rows.extend(below_box(scene, cols));
    (rows, cursor)
}

fn input_rows(scene: &Scene, cols: usize) -> (Vec<Row>, (usize, usize)) {
    let text = if scene.shows_input {
        scene.composer.shown()
    } else {
        String::new()
    };
    let mut rows: Vec<Row> = text
        .split('\n')
        .flat_map(|line| {
            let line = [Span {
                text: line.replace('\t', "    "),
                style: Style::default(),
            }];
            wrap(&line, cols.saturating_sub(4), Breaks::Blanks)
        })
        .collect();
    // A box that would fill the window shows the end of what stands in it.
    let room = usize::from(scene.size.rows).saturating_sub(6).max(1);
    rows.drain(..rows.len().saturating_sub(room));
    let last = rows.len() - 1;
    let col = 2 + rows[last].width();
    rows[last].push(" ", inverse());
    let rows = rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| match index {
            0 => row.behind("❯\u{a0}", colour(246)),
            _ => row.behind("  ", Style::default()),
        })
        .collect();
    (rows, (last, col))
}

/// The status row; while a command is typed the list of commands takes its place.
fn below_box(scene: &Scene, cols: usize) -> Vec<Row> {
    const COMMANDS: [(&str, &str); 4] = [
        ("/clear", "Start a new session with empty context"),
        ("/new", "Start a new session with empty context"),
        ("/exit", "Exit the CLI"),
        ("/quit", "Exit the CLI"),
    ];
    let typed = scene.composer.shown();
    let listed: Vec<Row> = COMMANDS
        .into_iter()
        .filter(|(command, _)| {
            scene.shows_input && !typed.is_empty() && command.starts_with(&typed)
        })
        .map(|(command, does)| {
            Row::new()
                .and(format!("{command:<30}{does}"), colour(246))
                .cut(cols)
        })
        .collect();
    if listed.is_empty() {
        vec![status(scene, cols)]
    } else {
        listed
    }
}

fn status(scene: &Scene, cols: usize) -> Row {
    let left = if scene.work.is_some() {
        "esc to interrupt"
    } else if scene.composer.has_collapsed() {
        "paste again to expand"
    } else {
        "? for shortcuts · ← for agents"
    };
    let right = "● demo · fixed rules";
    let row = Row::new().and(format!("  {left}"), colour(246));
    let gap = cols.saturating_sub(row.width() + width(right) + 2);
    if gap == 0 {
        return row.cut(cols);
    }
    row.and(" ".repeat(gap), Style::default())
        .and(right, colour(246))
        .cut(cols)
}
