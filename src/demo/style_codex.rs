//! Drawing as codex does with `--no-alt-screen`: a small area at the bottom that is drawn again and again, and finished
//! lines that are inserted above it through a scroll region. After a resize, and now and then without one, everything
//! is wiped (scrollback included) and written again.

use super::Kind;
use super::layout::{Look, lay, lay_growing};
use super::markdown;
use super::row::{Row, Span, bold, colour, dim, width};
use super::scene::{Entry, Painter, Scene, State, seconds, trust_dialog};
use super::wrap::{Breaks, wrap};
use crate::screen::{Color, Style};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const TITLE: &str = "Demo session";
const WIPE: &str = "\x1b[r\x1b[0m\x1b[H\x1b[2J\x1b[3J\x1b[H";
/// One turn in so many wipes everything right after it was sent.
const WIPING: usize = 3;

/// The painter of the style.
#[derive(Debug, Default)]
pub(super) struct Codex {
    /// First row of the area, from 0.
    top: usize,
    /// Rows of the area as they were last drawn.
    area: Vec<Row>,
    cursor: (usize, usize),
    /// Whether the area and the banner were ever drawn.
    begun: bool,
    /// Entries that are in the history.
    entries: usize,
    /// Rows of the growing reply that are in the history.
    rows: usize,
    /// The turn that was wiped for already.
    wiped: usize,
    title: String,
    state: Option<State>,
}

impl Codex {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Moves into the history what will not change any more.
    fn settle(&mut self, scene: &Scene, out: &mut String) {
        let cols = usize::from(scene.size.cols);
        if !self.begun {
            self.begun = true;
            self.insert(scene, banner(scene, cols), out);
        }
        while let Some(entry) = scene.entries.get(self.entries) {
            if let Entry::Reply { text, drawn, .. } = entry {
                let (rows, settled) = reply(&text[..*drawn], cols);
                let ready = if entry.is_settled() {
                    rows.len()
                } else {
                    settled
                };
                let fresh: Vec<Row> = rows.into_iter().take(ready).skip(self.rows).collect();
                if self.rows == 0 && !fresh.is_empty() {
                    self.insert(scene, vec![Row::new()], out);
                }
                self.insert(scene, fresh, out);
                self.rows = ready;
                if !entry.is_settled() {
                    return;
                }
                self.rows = 0;
            } else {
                let mut rows = vec![Row::new()];
                rows.extend(entry_rows(entry, cols));
                self.insert(scene, rows, out);
            }
            self.entries += 1;
        }
    }

    /// Inserts rows above the area: while there is room below it the area moves down, then the rows above scroll out.
    fn insert(&mut self, scene: &Scene, rows: Vec<Row>, out: &mut String) {
        if rows.is_empty() {
            return;
        }
        let height = usize::from(scene.size.rows);
        let from = self.top.saturating_sub(1);
        let room = height.saturating_sub(self.top + self.area.len());
        let down = rows.len().min(room);
        if down > 0 {
            out.push_str(&format!(
                "\x1b[{};{height}r\x1b[{};1H",
                self.top + 1,
                self.top + 1
            ));
            out.push_str(&"\x1bM".repeat(down));
            out.push_str("\x1b[r");
            self.top += down;
        }
        out.push_str(&format!("\x1b[1;{}r\x1b[{};1H", self.top, from + 1));
        for row in rows {
            out.push_str("\r\n");
            encode_filled(&row, out);
        }
        out.push_str("\x1b[r");
    }

    /// Draws the area where it stands, after making room for it.
    fn draw_area(&mut self, scene: &Scene, out: &mut String) {
        let height = usize::from(scene.size.rows);
        let (mut rows, cursor) = area(scene, self.rows, self.entries);
        let most = height.saturating_sub(2).max(1);
        let cut = rows.len().saturating_sub(most);
        rows.drain(..cut);
        let cursor = (cursor.0.saturating_sub(cut), cursor.1);
        let beyond = (self.top + rows.len()).saturating_sub(height);
        if beyond > 0 {
            // The rows above give way, the oldest into the scrollback.
            out.push_str(&format!("\x1b[1;{}r\x1b[{};1H", self.top, self.top));
            out.push_str(&"\r\n".repeat(beyond));
            out.push_str("\x1b[r");
            self.top -= beyond;
        }
        if rows.len() != self.area.len() || beyond > 0 {
            out.push_str(&format!("\x1b[{};1H\x1b[J", self.top + 1));
            self.area = vec![Row::new(); rows.len()];
        }
        for (index, (new, old)) in rows.iter().zip(&self.area).enumerate() {
            if new != old {
                out.push_str(&format!("\x1b[{};1H", self.top + index + 1));
                encode_filled(new, out);
            }
        }
        if !out.is_empty() || cursor != self.cursor {
            out.push_str(&format!(
                "\x1b[{};{}H",
                self.top + cursor.0 + 1,
                cursor.1 + 1
            ));
        }
        self.area = rows;
        self.cursor = cursor;
    }

    fn paint(&mut self, scene: &Scene, mut out: String) -> String {
        if !self.begun {
            // The area comes first, alone; the banner is the first thing inserted above it.
            self.top = usize::from(scene.start_row.min(scene.size.rows.saturating_sub(1)));
            self.make_room(scene, &mut out);
            self.draw_area(scene, &mut out);
        }
        let before = self.top;
        self.settle(scene, &mut out);
        if self.top != before {
            // The area was moved with its rows by the scroll region: draw all of it anew, as codex does.
            out.push_str(&format!("\x1b[{};1H\x1b[J", self.top + 1));
            self.area = vec![Row::new(); self.area.len()];
        }
        self.draw_area(scene, &mut out);
        if out.is_empty() {
            return out;
        }
        format!("\x1b[?2026h\x1b[?25l{out}\x1b[?25h\x1b[?2026l")
    }

    /// At the start the cursor may stand so low that the area does not fit below it.
    fn make_room(&mut self, scene: &Scene, out: &mut String) {
        let height = usize::from(scene.size.rows);
        let rows = area(scene, 0, 0)
            .0
            .len()
            .min(height.saturating_sub(2).max(1));
        let beyond = (self.top + rows).saturating_sub(height);
        if beyond > 0 {
            out.push_str(&format!("\x1b[{height};1H"));
            out.push_str(&"\r\n".repeat(beyond));
            self.top -= beyond;
        }
    }

    fn rewrite(&mut self, scene: &Scene) -> String {
        *self = Self {
            wiped: self.wiped,
            title: std::mem::take(&mut self.title),
            state: self.state,
            ..Self::default()
        };
        let start = Scene {
            start_row: 0,
            entries: scene.entries.clone(),
            folder: scene.folder.clone(),
            composer: scene.composer.clone(),
            ..*scene
        };
        self.paint(&start, WIPE.to_owned())
    }
}

impl Painter for Codex {
    fn open(&mut self) -> String {
        "\x1b[?2004h\x1b[>4;0m\x1b[>7u\x1b[?1004h\x1b[?u\x1b[?1007$p\x1b[c\x1b[6n\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b[>0q".to_owned()
    }

    fn draw(&mut self, scene: &Scene) -> String {
        if let Some(work) = scene.work
            && work.turn % WIPING == WIPING - 1
            && work.turn != self.wiped
        {
            self.wiped = work.turn;
            return self.rewrite(scene);
        }
        self.paint(scene, String::new())
    }

    fn resize(&mut self, scene: &Scene) -> String {
        self.rewrite(scene)
    }

    fn clear(&mut self, scene: &Scene) -> String {
        self.rewrite(scene)
    }

    fn tell(&mut self, scene: &Scene) -> String {
        let mut out = String::new();
        // While a dialog is up no state is told at all.
        if !scene.asks_trust && self.state != Some(scene.state) {
            self.state = Some(scene.state);
            let state = match scene.state {
                State::Idle => "idle",
                State::Working => "working",
                State::Done => "done",
                State::Error => "error",
            };
            out.push_str(&format!("\x1b]7501;state={state}:app=codex\x1b\\"));
        }
        let folder = scene.folder.rsplit('/').next().unwrap_or_default();
        let name = if scene.entries.is_empty() {
            folder.to_owned()
        } else {
            format!("{TITLE} | {folder}")
        };
        let title = match scene.work {
            Some(work) => format!("\x1b]0;{} {name}\x07", SPINNER[work.tick % SPINNER.len()]),
            None => format!("\x1b]0;{name}\x07"),
        };
        if title != self.title {
            out.push_str(&title);
            self.title = title;
        }
        out
    }

    fn close(&mut self, _scene: &Scene) -> String {
        format!(
            "\x1b[{};1H\x1b[J\x1b]0;\x07\x1b[<u\x1b[>4;0m\x1b[?2004l\x1b[?1004l\x1b[?25h\x1b]7501;state=clear\x1b\\\
             The demo session is over; nothing of it was kept.\r\n",
            self.top + 1
        )
    }
}

/// Writes a row over the one that stands there: its ground to the right edge first.
fn encode_filled(row: &Row, out: &mut String) {
    let ground = Style {
        bg: row
            .spans
            .first()
            .map_or(Color::Default, |span| span.style.bg),
        ..Style::default()
    };
    let mut pen = Style::default();
    super::row::set_style(out, &mut pen, ground);
    out.push_str("\x1b[K");
    super::row::set_style(out, &mut pen, Style::default());
    row.encode(out);
}

fn ground(index: u8, style: Style) -> Style {
    Style {
        bg: Color::Idx(index),
        ..style
    }
}

fn banner(scene: &Scene, cols: usize) -> Vec<Row> {
    let tip = "Tip: This is codriver's demo agent; it looks like codex, but has fixed rules and no model.";
    let tip = [Span {
        text: tip.to_owned(),
        style: Style::default(),
    }];
    let mut rows = vec![
        Row::new(),
        Row::new()
            .and("  >_ ", colour(75))
            .and("codriver demo agent", bold()),
        Row::new()
            .and(format!("     {}", scene.folder), dim())
            .cut(cols),
        Row::new(),
    ];
    rows.extend(indented(wrap(&tip, cols.saturating_sub(2), Breaks::Blanks)));
    rows
}

fn indented(rows: Vec<Row>) -> impl Iterator<Item = Row> {
    rows.into_iter().map(|row| match row.spans.is_empty() {
        true => row,
        false => row.behind("  ", Style::default()),
    })
}

fn entry_rows(entry: &Entry, cols: usize) -> Vec<Row> {
    match entry {
        Entry::Prompt(text) | Entry::Command(text) => echo(text, cols),
        Entry::Tool(log) => tool(log, cols),
        Entry::Reply { text, drawn, .. } => reply(&text[..*drawn], cols).0,
        Entry::Failed(message) => {
            let line = [Span {
                text: format!("■ {message}"),
                style: colour(203),
            }];
            wrap(&line, cols, Breaks::Blanks)
        }
        Entry::Done(time) => {
            let time = match time.as_secs() {
                0 => "<1s".to_owned(),
                _ => seconds(*time),
            };
            vec![Row::new().and(format!("  Worked for {time}"), dim())]
        }
        Entry::Interrupted => vec![
            Row::new()
                .and(
                    "■ Conversation interrupted - use /feedback if something went wrong",
                    colour(203),
                )
                .cut(cols),
        ],
    }
}

/// A prompt is drawn as Markdown, on a ground of its own with a row of padding above and below.
fn echo(text: &str, cols: usize) -> Vec<Row> {
    let laid = lay(
        &markdown::parse(text),
        &Look::of(Kind::Codex),
        cols.saturating_sub(2).max(1),
    );
    let pad = Row::new().and(" ", ground(237, Style::default()));
    let mut rows = vec![pad.clone()];
    for (index, row) in laid.rows.into_iter().enumerate() {
        let mut grounded = Row::new();
        for span in row.spans {
            grounded.push(span.text, ground(237, span.style));
        }
        rows.push(match index {
            0 => grounded.behind(
                "› ",
                ground(
                    237,
                    Style {
                        bold: true,
                        dim: true,
                        ..Style::default()
                    },
                ),
            ),
            _ => grounded.behind("  ", ground(237, Style::default())),
        });
    }
    rows.push(pad);
    rows
}

fn tool(log: &str, cols: usize) -> Vec<Row> {
    let mut lines = log.lines();
    let head = lines.next().unwrap_or_default();
    let (title, first) = match head.strip_prefix("$ ") {
        Some(command) => (format!("Ran {command}"), None),
        None => ("Explored".to_owned(), Some(head)),
    };
    let mut rows = vec![Row::new().and("• ", dim()).and(title, bold()).cut(cols)];
    for (index, line) in first.into_iter().chain(lines).enumerate() {
        let head = if index == 0 { "  └ " } else { "    " };
        rows.push(
            Row::new()
                .and(head, dim())
                .and(line, Style::default())
                .cut(cols),
        );
    }
    rows
}

/// The rows of a reply, and how many of them stay as they are.
fn reply(text: &str, cols: usize) -> (Vec<Row>, usize) {
    let laid = lay_growing(text, &Look::of(Kind::Codex), cols.saturating_sub(2).max(1));
    let rows = laid
        .rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| match index {
            0 => row.behind("• ", dim()),
            _ if row.spans.is_empty() => row,
            _ => row.behind("  ", Style::default()),
        })
        .collect();
    (rows, laid.settled)
}

/// The area at the bottom, and where in it the cursor goes.
fn area(scene: &Scene, printed: usize, entries: usize) -> (Vec<Row>, (usize, usize)) {
    let cols = usize::from(scene.size.cols);
    let mut rows = vec![Row::new()];
    if scene.asks_trust {
        for line in trust_dialog(&scene.folder, "›") {
            rows.push(Row::plain(line).cut(cols));
        }
        let pointer = rows.len() - 4;
        return (rows, (pointer, 0));
    }
    let live = live_rows(scene, printed, entries, cols);
    if !live.is_empty() {
        rows.extend(live);
        rows.push(Row::new());
    } else if scene.work.is_some() || !scene.has_prompt {
        let (elapsed, bullet) = match scene.work {
            Some(work) if work.tick / 4 % 2 == 1 => (work.elapsed, "◦ "),
            Some(work) => (work.elapsed, "• "),
            None => Default::default(),
        };
        rows.push(
            Row::new()
                .and(bullet, Style::default())
                .and(format!("Working ({} • ", seconds(elapsed)), dim())
                .and("esc", bold())
                .and(" to interrupt)", dim())
                .cut(cols),
        );
        rows.push(Row::new());
    }
    if scene.queued > 0 {
        rows.push(
            Row::new()
                .and("  • Queued follow-up messages", dim())
                .cut(cols),
        );
    }
    if !scene.has_prompt {
        return (rows, (0, 0));
    }
    let pad = Row::new().and(" ", ground(236, Style::default()));
    rows.push(pad.clone());
    let (input, cursor) = input_rows(scene, cols);
    let cursor = (rows.len() + cursor.0, cursor.1);
    rows.extend(input);
    rows.push(pad);
    rows.push(
        Row::new()
            .and("  Demo rules fixed", colour(223))
            .and(" · ", colour(244))
            .and(scene.folder.as_str(), colour(151))
            .cut(cols),
    );
    let hint = if scene.composer.is_empty() {
        "  ← for agents · ? for shortcuts"
    } else {
        ""
    };
    rows.push(Row::new().and(hint, colour(244)).cut(cols));
    (rows, cursor)
}

/// Rows of the growing reply that are not in the history yet, no more than the window has room for.
fn live_rows(scene: &Scene, printed: usize, entries: usize, cols: usize) -> Vec<Row> {
    let Some(Entry::Reply {
        text,
        drawn,
        open: true,
    }) = scene.entries.get(entries)
    else {
        return Vec::new();
    };
    let (rows, _) = reply(&text[..*drawn], cols);
    let rows: Vec<Row> = rows.into_iter().skip(printed).collect();
    let room = usize::from(scene.size.rows).saturating_sub(11).max(1);
    let cut = rows.len().saturating_sub(room);
    rows.into_iter().skip(cut).collect()
}

fn input_rows(scene: &Scene, cols: usize) -> (Vec<Row>, (usize, usize)) {
    let pen = ground(236, Style::default());
    let text = if scene.shows_input {
        scene.composer.shown()
    } else {
        String::new()
    };
    let pointer = ground(236, bold());
    if text.is_empty() {
        let row = Row::new()
            .and("› ", pointer)
            .and("Ask Codex to do anything", ground(236, dim()))
            .cut(cols);
        return (vec![row], (0, 2.min(cols - 1)));
    }
    let mut rows: Vec<Row> = text
        .split('\n')
        .flat_map(|line| {
            let line = [Span {
                text: line.replace('\t', "    "),
                style: pen,
            }];
            wrap(&line, cols.saturating_sub(3), Breaks::Blanks)
        })
        .collect();
    let room = usize::from(scene.size.rows).saturating_sub(9).max(1);
    rows.drain(..rows.len().saturating_sub(room));
    let last = rows.len() - 1;
    let col = 2 + width(&rows[last].text());
    let rows = rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| match index {
            0 => row.behind("› ", pointer),
            _ => row.behind("  ", pen),
        })
        .collect();
    (rows, (last, col))
}
