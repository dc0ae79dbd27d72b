//! Screens drawn by hand, the way each agent draws: what it was sent, what it says, its tools and its frame, wrapped at
//! words for any width and coloured as the recordings show.

use std::sync::LazyLock;
use std::time::Duration;

use codriver::config::{ScreenRules, bundled_profile};
use codriver::pairing::{Asked, Reading, read};
use codriver::screen::{Line, Screen, Size};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The agents whose drawing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Opencode,
}

pub(crate) const AGENTS: [Agent; 3] = [Agent::Claude, Agent::Codex, Agent::Opencode];

/// What is drawn differently from one agent to the next.
struct Look {
    harness: &'static str,
    /// First and further rows of a prompt.
    echo: [&'static str; 2],
    /// First and further rows of the agent's own words.
    reply: [&'static str; 2],
    /// Columns at the right edge that stay empty.
    right: usize,
    /// The list and the quote mark.
    bullet: &'static str,
    quote: &'static str,
    /// Signs behind which a word is broken.
    breaks: &'static [&'static str],
    /// Styles of prompts, of the agent's words, and of everything else.
    styles: [&'static str; 3],
}

impl Agent {
    fn look(self) -> Look {
        match self {
            Self::Claude => Look {
                harness: "claude",
                echo: ["❯ ", "  "],
                reply: ["● ", "  "],
                right: 1,
                bullet: "-",
                quote: "▎",
                breaks: &[],
                styles: ["38;5;231;48;5;237", "0", "38;5;246"],
            },
            Self::Codex => Look {
                harness: "codex",
                echo: ["› ", "  "],
                reply: ["• ", "  "],
                right: 1,
                bullet: "•",
                quote: ">",
                breaks: &[],
                styles: ["48;5;237", "0", "2"],
            },
            Self::Opencode => Look {
                harness: "opencode",
                echo: ["  ┃  ", "  ┃  "],
                reply: ["     ", "     "],
                right: 3,
                bullet: "-",
                quote: "│",
                breaks: &[
                    "-", "/", "\\", ".", ",", ";", ":", "!", "?", "(", ")", "[", "]", "{", "}",
                ],
                styles: [
                    "38;2;238;238;238;48;2;20;20;20",
                    "38;2;238;238;238;48;2;10;10;10",
                    "38;2;128;128;128;48;2;10;10;10",
                ],
            },
        }
    }
}

/// A screen being drawn, top to bottom.
#[derive(Clone)]
pub(crate) struct Drawing {
    agent: Agent,
    cols: u16,
    /// Style and text of each row.
    rows: Vec<(&'static str, String)>,
    /// Whether colours are left out.
    bare: bool,
}

impl Drawing {
    pub(crate) fn new(agent: Agent, cols: u16) -> Self {
        Self {
            agent,
            cols,
            rows: Vec::new(),
            bare: false,
        }
    }

    /// The same without any colour.
    pub(crate) fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    fn row(&mut self, style: usize, text: &str) {
        let style = self.agent.look().styles[style];
        self.rows.push((style, text.to_owned()));
    }

    pub(crate) fn blank(mut self) -> Self {
        self.row(2, "");
        self
    }

    /// Rows of the frame, as they stand.
    pub(crate) fn chrome(mut self, text: &str) -> Self {
        for line in text.lines() {
            self.row(2, line);
        }
        self
    }

    /// A prompt as it is shown again.
    pub(crate) fn echo(mut self, text: &str) -> Self {
        let look = self.agent.look();
        let width = usize::from(self.cols).saturating_sub(look.echo[0].width() + look.right);
        if self.agent == Agent::Opencode {
            self.row(0, look.echo[0].trim_end());
        }
        let mut first = true;
        for line in text.lines() {
            for row in wrap(line, width, 0, &[]) {
                let head = look.echo[usize::from(!first)];
                first = false;
                let row = format!("{head}{row}");
                self.row(0, row.trim_end());
            }
        }
        if self.agent == Agent::Opencode {
            self.row(0, look.echo[0].trim_end());
        }
        self.blank()
    }

    /// The agent's own words. Lines are paragraphs, list items or quotes; Markdown's other signs are not drawn here.
    pub(crate) fn reply(mut self, text: &str) -> Self {
        let look = self.agent.look();
        let width = usize::from(self.cols).saturating_sub(look.reply[0].width() + look.right);
        let mut first = true;
        for line in text.lines() {
            let body = line.trim_start();
            let indent = " ".repeat(line.len() - body.len());
            let (mark, body) = match (body.strip_prefix("- "), body.strip_prefix("> ")) {
                (Some(item), _) => (format!("{} ", look.bullet), item),
                (_, Some(quote)) => (format!("{} ", look.quote), quote),
                _ => (String::new(), body),
            };
            let hang = indent.width() + mark.width();
            let is_quote = line.trim_start().starts_with("> ");
            for (at, row) in wrap(body, width.saturating_sub(hang), 0, look.breaks)
                .into_iter()
                .enumerate()
            {
                let head = look.reply[usize::from(!first)];
                first = false;
                let lead = if at == 0 || is_quote {
                    format!("{indent}{mark}")
                } else {
                    " ".repeat(hang)
                };
                let row = format!("{head}{lead}{row}");
                self.row(1, row.trim_end());
            }
        }
        self.blank()
    }

    /// A tool's call and its output.
    pub(crate) fn tool(mut self, call: &str, output: &str) -> Self {
        let (head, first, further) = match self.agent {
            Agent::Claude => (format!("● Bash({call})"), "  ⎿  ", "     "),
            Agent::Codex => (format!("• Ran {call}"), "  └ ", "    "),
            Agent::Opencode => (format!("  ┃  $ {call}"), "  ┃  ", "  ┃  "),
        };
        self.row(2, &head);
        for (at, line) in output.lines().enumerate() {
            let lead = if at == 0 { first } else { further };
            self.row(2, format!("{lead}{line}").trim_end());
        }
        self.blank()
    }

    /// An error of the service.
    pub(crate) fn error(mut self, text: &str) -> Self {
        match self.agent {
            Agent::Claude => self.row(2, &format!("● API Error: {text}")),
            Agent::Codex => self.row(2, &format!("■ {text}")),
            Agent::Opencode => {
                self.row(0, "  ┃");
                self.row(0, &format!("  ┃  {text}"));
                self.row(0, "  ┃");
                return self.blank().chrome("     ▣  Build · Fake Model").blank();
            }
        }
        self.blank()
    }

    /// The agent's own end of a turn.
    pub(crate) fn end(self) -> Self {
        let row = match self.agent {
            Agent::Claude => "✻ Baked for 3s",
            Agent::Codex => "  Worked for 3s • 16:17",
            Agent::Opencode => "     ▣  Build · Fake Model · 3.1s",
        };
        self.chrome(row).blank()
    }

    /// The input box, with what it holds, and all below it.
    pub(crate) fn composer(mut self, draft: &str) -> Self {
        let cols = usize::from(self.cols);
        let lines: Vec<&str> = draft.lines().collect();
        let lines = if lines.is_empty() { vec![""] } else { lines };
        match self.agent {
            Agent::Claude => {
                self.row(2, &"─".repeat(cols));
                for (at, line) in lines.iter().enumerate() {
                    let head = if at == 0 { "❯\u{a0}" } else { "  " };
                    self.row(1, &format!("{head}{line}"));
                }
                self.row(2, &"─".repeat(cols));
                self.row(2, "  ? for shortcuts");
            }
            Agent::Codex => {
                for (at, line) in lines.iter().enumerate() {
                    let head = if at == 0 { "› " } else { "  " };
                    self.row(0, &format!("{head}{line}"));
                }
                self.row(2, "");
                self.row(2, "  GPT-6 · /tmp/repo");
            }
            Agent::Opencode => {
                self.row(0, "  ┃");
                for line in lines {
                    self.row(0, format!("  ┃  {line}").trim_end());
                }
                self.row(0, "  ┃  Build · Fake Model");
                self.row(0, &format!("  ╹{}", "▀".repeat(cols.saturating_sub(3))));
                self.row(2, "   /tmp/repo   ctrl+p commands");
            }
        }
        self
    }

    /// What was drawn so far, less the last `rows` rows.
    pub(crate) fn cut(mut self, rows: usize) -> Self {
        self.rows.truncate(self.rows.len().saturating_sub(rows));
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The bytes that draw it.
    pub(crate) fn bytes(&self) -> String {
        let mut out = String::new();
        for (at, (style, text)) in self.rows.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            if self.bare {
                out.push_str(text);
            } else {
                out.push_str(&format!("\x1b[{style}m{text}\x1b[m"));
            }
        }
        out
    }

    /// The lines of a terminal that holds all of it.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.shown("", 50)
    }

    /// The lines of an alternate screen of `rows` rows, which holds the end of it only.
    pub(crate) fn window(&self, rows: u16) -> Vec<Line> {
        self.shown("\x1b[?1049h", rows)
    }

    fn shown(&self, mode: &str, rows: u16) -> Vec<Line> {
        let mut screen = Screen::new(Size::new(self.cols, rows), 10_000);
        screen.feed(format!("{mode}{}", self.bytes()).as_bytes(), Duration::ZERO);
        screen.lines()
    }

    /// Reads it as the agent's own.
    pub(crate) fn read(&self, asked: &Asked<'_>) -> Reading {
        let asked = Asked {
            screen_rows: 50,
            ..*asked
        };
        read(&self.lines(), self.rules(), &asked)
    }

    /// Reads what an alternate screen of `rows` rows shows of it.
    pub(crate) fn read_window(&self, rows: u16, asked: &Asked<'_>) -> Reading {
        let asked = Asked {
            screen_rows: rows,
            windowed: true,
            ..*asked
        };
        read(&self.window(rows), self.rules(), &asked)
    }

    /// Name of the harness.
    pub(crate) fn harness(&self) -> &'static str {
        self.agent.look().harness
    }

    /// How the agent's screen is read.
    pub(crate) fn rules(&self) -> &'static ScreenRules {
        static RULES: LazyLock<[ScreenRules; 3]> =
            LazyLock::new(|| AGENTS.map(|agent| bundled_profile(agent.look().harness).screen));
        &RULES[self.agent as usize]
    }
}

/// Breaks a line at words so that no row is wider than `width`; a word that is wider by itself is broken anywhere.
fn wrap(line: &str, width: usize, hang: usize, breaks: &[&str]) -> Vec<String> {
    let width = width.max(1);
    let mut rows = Vec::new();
    let mut row = String::new();
    for (at, word) in line.split(' ').enumerate() {
        for (part, piece) in pieces(word, breaks).into_iter().enumerate() {
            let gap = usize::from(at > 0 && part == 0);
            let room = width.saturating_sub(if rows.is_empty() { 0 } else { hang });
            if row.width() + gap + piece.width() <= room || (row.is_empty() && gap == 0) {
                row.push_str(&" ".repeat(gap));
                row.push_str(piece);
            } else {
                rows.push(std::mem::take(&mut row));
                row.push_str(piece);
            }
            while row.width() > width {
                let mut used = 0;
                let cut = row
                    .char_indices()
                    .find(|&(_, c)| {
                        used += c.width().unwrap_or(0);
                        used > width
                    })
                    .map_or(row.len(), |(at, _)| at)
                    .max(row.chars().next().map_or(1, char::len_utf8));
                if cut >= row.len() {
                    break;
                }
                let rest = row.split_off(cut);
                rows.push(std::mem::replace(&mut row, rest));
            }
        }
    }
    rows.push(row);
    rows
}

/// The parts of a word at whose ends it may be broken.
fn pieces<'a>(word: &'a str, breaks: &[&str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut from = 0;
    for (at, _) in word.char_indices().skip(1) {
        if breaks.iter().any(|sign| word[..at].ends_with(sign)) {
            out.push(&word[from..at]);
            from = at;
        }
    }
    out.push(&word[from..]);
    out
}

#[test]
fn a_drawn_reply_looks_like_the_agent() {
    let rows = |agent| {
        let drawing = Drawing::new(agent, 30)
            .echo("Is it fine?")
            .reply("REVIEW: (k7q2) Nearly, but not quite so.\n\n- one\n\nVERDICT: ADJUST")
            .end();
        let lines = drawing.lines();
        lines
            .iter()
            .map(|line| line.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        rows(Agent::Codex),
        [
            "› Is it fine?",
            "",
            "• REVIEW: (k7q2) Nearly, but",
            "  not quite so.",
            "",
            "  • one",
            "",
            "  VERDICT: ADJUST",
            "",
            "  Worked for 3s • 16:17"
        ]
    );
    assert_eq!(rows(Agent::Claude)[2], "● REVIEW: (k7q2) Nearly, but");
    assert_eq!(rows(Agent::Opencode)[4], "     REVIEW: (k7q2) Nearly,");
}
