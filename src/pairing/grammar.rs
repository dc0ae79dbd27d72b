//! Telling the rows of an agent's screen apart: what was sent, what the agent says, its tools, its frame (A.11).

use unicode_width::UnicodeWidthStr;

use super::marker::Marker;
use super::wrap::is_drawn;
use crate::config::{Links, Pattern, ScreenRules};
use crate::screen::{Color, Line, Style};

/// One row as the reader of replies sees it: a logical line with its frame cut away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The text, blanks at its end cut.
    pub text: String,
    /// Column behind the last sign of the last terminal row that the line covers.
    pub end_col: usize,
    /// Whether the terminal itself wrapped the line.
    pub soft: bool,
    /// First column that no word of a reply reaches.
    pub limit: usize,
    /// Whether a link stands in it whose label cannot be told from the text.
    pub cut_link: bool,
    /// How it is drawn.
    tones: Tones,
}

/// The colours of a row; whatever a style adds to them belongs to the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tone {
    fg: Color,
    bg: Color,
    dim: bool,
    inverse: bool,
}

impl From<Style> for Tone {
    fn from(style: Style) -> Self {
        Self {
            fg: style.fg,
            bg: style.bg,
            dim: style.dim,
            inverse: style.inverse,
        }
    }
}

/// The tone of a row's first sign, of its last one, and the one that most of it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tones {
    first: Tone,
    last: Tone,
    most: Tone,
}

impl Tones {
    fn of(text: &str, line: &Line) -> Self {
        if let [run] = line.runs.as_slice() {
            let tone = Tone::from(run.style);
            return Self {
                first: tone,
                last: tone,
                most: tone,
            };
        }
        let mut found: Vec<(Tone, usize)> = Vec::new();
        let mut tones = Self::default();
        for (at, run) in line.runs.iter().enumerate() {
            let end = line.runs.get(at + 1).map_or(text.len(), |next| next.start);
            let Some(part) = text.get(run.start..end.min(text.len())) else {
                continue;
            };
            let signs = part.chars().filter(|c| !c.is_whitespace()).count();
            if signs == 0 {
                continue;
            }
            let tone = Tone::from(run.style);
            if found.is_empty() {
                tones.first = tone;
            }
            tones.last = tone;
            match found.iter_mut().find(|(known, _)| *known == tone) {
                Some((_, count)) => *count += signs,
                None => found.push((tone, signs)),
            }
        }
        tones.most = found
            .iter()
            .max_by_key(|&&(_, count)| count)
            .map_or(Tone::default(), |&(tone, _)| tone);
        tones
    }
}

impl Row {
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Blank columns in front of the text.
    pub(super) fn indent(&self) -> usize {
        self.text
            .chars()
            .take_while(|&c| c == ' ' || c == '\u{a0}')
            .count()
    }
}

/// What a run of rows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A prompt that was sent.
    Echo,
    /// The agent's own words.
    Reply,
    /// A tool's call and its output.
    Tool,
    /// An error of the agent or its service.
    Error,
    /// The end of a turn.
    End,
    /// A turn that has not ended, or not well.
    Unended,
    /// The input box and everything below it, status lines, the start-up picture.
    Frame,
    /// Rows that go on like a reply where none is open: nothing tells whose they are.
    Stray,
}

/// A run of rows that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub part: Part,
    /// Numbers of its rows; blank rows at its end are left out.
    pub rows: std::ops::Range<usize>,
    /// Columns in front of its text.
    pub indent: usize,
    /// Columns of the sign that opens the first row, counted from its start.
    pub bullet: usize,
}

/// Rows of text that an input box holds at most.
const BOX_ROWS: usize = 12;
/// Rows of text that stand below an input box at most.
const STATUS_ROWS: usize = 4;

/// Cuts the lines of a screen to rows.
pub(super) fn rows(lines: &[Line], rules: &ScreenRules) -> Vec<Row> {
    let cut = sidebar(lines, rules);
    lines
        .iter()
        .map(|line| {
            let cols = usize::from(line.cols).max(1);
            let text = match cut {
                Some(cut) if line.rows <= 1 => columns(&line.text, cut),
                _ => &line.text,
            };
            let text = text.trim_end_matches(|c: char| c.is_whitespace());
            let tones = Tones::of(text, line);
            let width = text.width();
            let above = usize::from(line.rows.saturating_sub(1)) * cols;
            let (text, cut_link) = link(text, line, rules.links);
            Row {
                text,
                cut_link,
                tones,
                end_col: width.saturating_sub(above),
                soft: line.rows > 1,
                limit: cut
                    .unwrap_or(cols)
                    .saturating_sub(usize::from(rules.right))
                    .max(1),
            }
        })
        .collect()
}

/// Restores the Markdown of links where their style shows it, and tells whether one is shown that cannot be restored.
fn link(text: &str, line: &Line, links: Links) -> (String, bool) {
    if links == Links::Plain {
        return (text.to_owned(), false);
    }
    /// A run of underlined text: its bytes and its colour.
    type Underlined = (std::ops::Range<usize>, Color);
    let mut found: Vec<Underlined> = Vec::new();
    for (at, run) in line.runs.iter().enumerate() {
        let end = line
            .runs
            .get(at + 1)
            .map_or(text.len(), |next| next.start)
            .min(text.len());
        if !run.style.underline
            || run.start >= end
            || !text.is_char_boundary(run.start)
            || !text.is_char_boundary(end)
        {
            continue;
        }
        match found.last_mut() {
            Some((range, color)) if range.end == run.start && *color == run.style.fg => {
                range.end = end;
            }
            _ => found.push((run.start..end, run.style.fg)),
        }
    }
    if links == Links::Target {
        let target = |range: &std::ops::Range<usize>| {
            text[..range.start].ends_with('(') && text[range.end..].starts_with(')')
        };
        return (
            text.to_owned(),
            found.iter().any(|(range, _)| target(range)),
        );
    }
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some((range, _)) = found.get(at) {
        let label = &text[range.clone()];
        at += 1;
        let target = found
            .get(at)
            .map(|(range, _)| range.clone())
            .filter(|target| {
                let body = &text[target.clone()];
                text[range.end..target.start].trim().is_empty()
                    && body.starts_with('(')
                    && body.ends_with(')')
            });
        // A bare address is drawn like a label; what touches the edge of the row may go on in the next one.
        let bare = label.contains("://")
            || label.starts_with('(')
            || (target.is_none() && range.end >= text.len());
        if bare || label.trim() != label {
            continue;
        }
        out.push_str(&text[done..range.start]);
        out.push('[');
        out.push_str(label);
        out.push(']');
        done = range.end;
        if let Some(target) = target {
            out.push_str(&text[target.clone()]);
            done = target.end;
            at += 1;
        }
    }
    out.push_str(&text[done..]);
    (out, false)
}

/// The column at which the bar at the right edge begins, if there is one.
fn sidebar(lines: &[Line], rules: &ScreenRules) -> Option<usize> {
    let cols = lines.last()?.cols;
    if rules.sidebar == 0 || cols <= rules.sidebar_above {
        return None;
    }
    let cut = usize::from(cols.checked_sub(rules.sidebar)?);
    // Where text comes near the edge and goes on behind it there is no bar.
    let margin = usize::from(rules.right).max(1);
    let free = lines.iter().filter(|line| line.cols == cols).all(|line| {
        let left = columns(&line.text, cut);
        left.len() == line.text.len() || left.trim_end().width() + margin <= left.width()
    });
    free.then_some(cut)
}

/// The first `cols` columns of `text`.
fn columns(text: &str, cols: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used > cols {
            return &text[..at];
        }
    }
    text
}

/// Cuts rows to blocks by an agent's rules.
pub(super) fn blocks(rows: &[Row], rules: &ScreenRules) -> Vec<Block> {
    let below = input(rows, rules);
    let end = below.as_ref().map_or(rows.len(), |below| below.row);
    let varied = is_varied(rows);
    let mut out: Vec<Block> = Vec::new();
    let mut gutter = false;
    let mut blank = true;
    for (at, row) in rows.iter().enumerate().take(end) {
        let in_gutter = is_gutter(row, rules);
        if row.is_blank() {
            gutter = false;
            blank = true;
            continue;
        }
        let said = match out.last() {
            Some(block) if varied => Said::of(block, row, rows),
            _ => Said::No,
        };
        let start = start(row, rules, in_gutter, gutter, said);
        gutter = in_gutter;
        match (start, out.last_mut()) {
            (Some(part), _) => out.push(open(part, at, row, rules)),
            (None, Some(last)) if blank && is_stray(last.part, row, rules) => {
                out.push(open(Part::Stray, at, row, rules));
            }
            (None, Some(last)) if in_gutter || continues(last.part, rules) => {
                last.rows.end = at + 1;
            }
            (None, _) => out.push(open(loose(rules), at, row, rules)),
        }
        blank = false;
    }
    for block in &mut out {
        refine(block, rows, rules);
    }
    if let Some(below) = below {
        out.push(Block {
            part: if below.sure { Part::Frame } else { Part::Stray },
            rows: below.row..rows.len(),
            indent: 0,
            bullet: 0,
        });
    }
    out
}

/// Whether rows differ in their colours.
fn is_varied(rows: &[Row]) -> bool {
    let mut tones = rows
        .iter()
        .filter(|row| !row.is_blank())
        .map(|row| row.tones.most);
    let first = tones.next();
    tones.any(|tone| Some(tone) != first)
}

/// Whether a row stands in the colours of the reply above it, so that the agent says it, whatever it looks like. It tells
/// nothing where all rows have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// It does not.
    No,
    /// Its end does: the start may be a word of code, or a sign of the frame.
    AtEnd,
    /// Its start does.
    FromStart,
}

impl Said {
    fn of(block: &Block, row: &Row, rows: &[Row]) -> Self {
        let voice = rows[block.rows.start].tones.most;
        if block.part != Part::Reply || block.indent == 0 || row.indent() < block.indent {
            Self::No
        } else if row.tones.first == voice {
            Self::FromStart
        } else if row.tones.last == voice {
            Self::AtEnd
        } else {
            Self::No
        }
    }
}

/// Whether a row that opens nothing stands where a reply would, behind something that ended it.
fn is_stray(above: Part, row: &Row, rules: &ScreenRules) -> bool {
    rules.reply.is_some()
        && rules.indent > 0
        && row.indent() == usize::from(rules.indent)
        && matches!(
            above,
            Part::End | Part::Unended | Part::Frame | Part::Tool | Part::Stray
        )
}

/// What a row that opens no block of its own belongs to when nothing above claims it.
fn loose(rules: &ScreenRules) -> Part {
    if rules.reply.is_some() {
        Part::Frame
    } else {
        Part::Reply
    }
}

/// Whether a block of this kind goes on over rows that open none.
fn continues(part: Part, rules: &ScreenRules) -> bool {
    match part {
        Part::End | Part::Unended => false,
        // Where replies carry no sign, only the gutter or the sent text tells where they begin.
        Part::Tool | Part::Error | Part::Frame | Part::Echo => rules.reply.is_some(),
        Part::Reply | Part::Stray => true,
    }
}

fn is_gutter(row: &Row, rules: &ScreenRules) -> bool {
    rules
        .gutter
        .as_ref()
        .is_some_and(|gutter| gutter.is_match(&row.text))
}

/// What block a row opens, if it opens one.
fn start(
    row: &Row,
    rules: &ScreenRules,
    in_gutter: bool,
    was_gutter: bool,
    said: Said,
) -> Option<Part> {
    let text = &row.text;
    let opens = |pattern: &Option<Pattern>| {
        pattern
            .as_ref()
            .and_then(|pattern| pattern.regex().find(text))
    };
    let fails = || rules.error.is_match(text) || rules.unended.is_match(text);
    match said {
        Said::FromStart if !in_gutter => return None,
        // An error is the one thing that must not be missed.
        Said::AtEnd if !in_gutter && !fails() => return None,
        _ => {}
    }
    let reply = opens(&rules.reply);
    // A sign and a label make a reply, whatever a tool may be called.
    if reply.is_some_and(|sign| Marker::parse(&text[sign.end()..]).is_some()) {
        Some(Part::Reply)
    } else if rules.end.is_match(text) {
        Some(Part::End)
    } else if rules.unended.is_match(text) {
        Some(Part::Unended)
    } else if rules.frame.is_match(text) {
        Some(Part::Frame)
    } else if in_gutter {
        (!was_gutter).then_some(Part::Echo)
    } else if was_gutter {
        Some(loose(rules))
    } else if rules.error.is_match(text) {
        Some(Part::Error)
    } else if rules.tool.is_match(text) {
        Some(Part::Tool)
    } else if reply.is_some() {
        Some(Part::Reply)
    } else if opens(&rules.echo).is_some() {
        Some(Part::Echo)
    } else {
        None
    }
}

fn open(part: Part, at: usize, row: &Row, rules: &ScreenRules) -> Block {
    let opened = (part == Part::Reply)
        .then_some(rules.reply.as_ref())
        .flatten()
        .and_then(|reply| reply.regex().find(&row.text));
    let bullet = opened.map_or(0, |found| found.as_str().width());
    let indent = if rules.reply.is_none() || bullet == usize::from(rules.indent) {
        usize::from(rules.indent)
    } else {
        0
    };
    Block {
        part,
        rows: at..at + 1,
        indent,
        bullet,
    }
}

/// Settles what needs more than the first row: a tool's output under a sign that replies have too, a gutter group that is
/// a tool's, and the real indent of a reply without a sign.
fn refine(block: &mut Block, rows: &[Row], rules: &ScreenRules) {
    let body = || {
        rows[block.rows.clone()]
            .iter()
            .filter(|row| !row.is_blank())
    };
    match block.part {
        Part::Reply if rules.reply.is_none() => {
            let least = body().map(Row::indent).min().unwrap_or(0);
            block.indent = block.indent.min(least);
        }
        Part::Reply => {
            let first = body().next().map_or("", |row| row.text.as_str());
            let is_marker = Marker::parse(first).is_some();
            let child = rules.tool_child.as_ref();
            if !is_marker
                && child.is_some_and(|child| body().skip(1).any(|row| child.is_match(&row.text)))
            {
                block.part = Part::Tool;
            }
        }
        Part::Echo => {
            let Some(gutter) = &rules.gutter else { return };
            let said = body()
                .map(|row| gutter.regex().replace(&row.text, "").trim().to_owned())
                .find(|text| !text.is_empty());
            if said.is_some_and(|text| rules.tool.is_match(&text)) {
                block.part = Part::Tool;
            }
        }
        _ => {}
    }
}

/// Where the input box begins.
struct Input {
    row: usize,
    /// Whether it can be nothing else.
    sure: bool,
}

/// The row at which the input box begins: the last row that opens one and that nothing said follows.
pub(super) fn composer(rows: &[Row], rules: &ScreenRules) -> Option<usize> {
    input(rows, rules).map(|input| input.row)
}

fn input(rows: &[Row], rules: &ScreenRules) -> Option<Input> {
    let pattern = rules.composer.as_ref()?;
    let at = rows.iter().rposition(|row| pattern.is_match(&row.text))?;
    let below = &rows[at + 1..];
    let said = |row: &Row| {
        rules.end.is_match(&row.text)
            || rules.error.is_match(&row.text)
            || rules
                .reply
                .as_ref()
                .is_some_and(|reply| reply.is_match(&row.text))
    };
    if below.iter().any(said) {
        return None;
    }
    // A box drawn with a gutter: its last row was found, its first one is sought.
    let mut top = at;
    while top > 0 && is_gutter(&rows[top - 1], rules) && rules.gutter.is_some() {
        top -= 1;
    }
    let lid = top > 0
        && rules
            .composer_top
            .as_ref()
            .is_some_and(|rule| rule.is_match(&rows[top - 1].text));
    let row = top - usize::from(lid);
    if rules.reply.is_some() || rules.gutter.is_some() {
        return Some(Input { row, sure: true });
    }
    // Where replies carry no sign, a quotation or a command that the agent shows looks like the box.
    let text = rows[at]
        .text
        .trim_matches(|c: char| c.is_whitespace() || "│┃".contains(c));
    let bare = text.chars().count() == 1;
    let rest: Vec<&Row> = below.iter().filter(|row| !row.is_blank()).collect();
    let boxed = lid && rest.iter().take(BOX_ROWS).any(|row| is_drawn(&row.text));
    let free = lid || at == 0 || rows[at - 1].is_blank();
    let says = |row: &&Row| Marker::parse(&row.text).is_some();
    if boxed || (bare && rest.is_empty()) {
        Some(Input { row, sure: true })
    } else if free && rest.len() <= STATUS_ROWS && !rest.iter().any(says) {
        Some(Input { row, sure: false })
    } else {
        None
    }
}
