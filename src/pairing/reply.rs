//! Reading the peer's reply off its screen: where it starts, where it ends, which word it gives (A.11, A.12,
//! interface.md 6). Values in, values out; what the screen cannot tell is not invented.

use std::collections::HashSet;

use super::echo;
use super::grammar::{self, Block, Part, Row};
use super::marker::{Label, Marker, strip_tag};
use super::wrap::{Piece, Text, Wrap};
use crate::config::{Profile, RequireTag, ScreenRules};
use crate::recording::word::{Reason, Verdict};
use crate::screen::{Line, Screen};

/// What is known of a round when its reply is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// The text that was sent.
    pub sent: Option<&'a str>,
    /// The tag that was asked for.
    pub tag: Option<&'a str>,
    /// Number of the first line that was not there before the text was sent; used when no echo is found.
    pub since: usize,
    /// Rows of the screen, to tell a reply that is longer than it.
    pub screen_rows: u16,
    /// Whether the screen shows a window of a longer text that the terminal does not keep.
    pub windowed: bool,
    /// Whether the agent itself reported that the turn failed.
    pub failed: bool,
    /// When a reply must carry the tag that was asked for.
    pub require: RequireTag,
}

/// What the screen says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The verdict by the screen alone.
    pub verdict: Verdict,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// The reply's text without marker, tag and deciding verdict line.
    pub rationale: String,
    /// All that follows the echo.
    pub raw: String,
    /// Whether nothing between marker and verdict can be missing.
    pub complete: bool,
    /// Whether verdict lines with different words stand in the reply.
    pub ambiguous: bool,
    /// Whether the reply carries the tag.
    pub tagged: bool,
    /// The word of the verdict line that ends the turn, if one does and cannot be anything else.
    pub ends_with: Option<Verdict>,
    /// Lines of the screen from the marker to the deciding verdict line.
    pub lines: Option<(usize, usize)>,
    /// Every verdict line of the reply: line of the screen and word.
    pub words: Vec<(usize, Verdict)>,
    /// Whether the echo of the sent text was found.
    pub echo: bool,
    /// Whether the agent's own end of the turn is drawn behind the reply, where it draws one.
    pub ended: bool,
}

impl Reading {
    /// Whether this is the same reply as `before`, read again when more of it was drawn: half of its lines are.
    pub(super) fn goes_on_from(&self, before: &Self) -> bool {
        let lines = |reading: &Self| -> HashSet<String> {
            let lines = reading.raw.lines().map(str::trim);
            lines
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let (now, before) = (lines(self), lines(before));
        2 * now.intersection(&before).count() >= now.len().min(before.len())
    }

    pub(super) fn unparsed(reason: Reason, raw: String) -> Self {
        Self {
            verdict: Verdict::Unparsed,
            reason: Some(reason),
            rationale: raw.clone(),
            raw,
            complete: false,
            ambiguous: false,
            tagged: false,
            ends_with: None,
            lines: None,
            words: Vec::new(),
            echo: false,
            ended: false,
        }
    }
}

/// Reads the reply off the lines of a screen.
pub fn read(lines: &[Line], rules: &ScreenRules, asked: &Asked<'_>) -> Reading {
    let rows = grammar::rows(lines, rules);
    let blocks = grammar::blocks(&rows, rules);
    let turn = Turn::find(&rows, &blocks, rules, asked);
    turn.read(&rows, rules, asked)
}

/// What the agent on a screen answered last, marker or no marker; empty when that cannot be told.
pub fn last_reply(screen: &Screen, profile: &Profile) -> String {
    let asked = Asked {
        sent: None,
        tag: None,
        since: 0,
        screen_rows: screen.size().rows,
        windowed: screen.modes().alternate_screen,
        failed: false,
        require: RequireTag::Never,
    };
    read(&screen.lines(), &profile.screen, &asked).raw
}

/// A prompt as an agent shows it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Echo {
    /// Its letters and digits.
    text: String,
    /// How many prompts of the same text stand above it.
    nth: usize,
    /// Whether it is a command to the agent, not a message.
    pub is_command: bool,
}

impl Echo {
    /// Whether both are the same prompt; one of them may have lost its top at the edge of a window.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        if self.text == other.text {
            return self.nth == other.nth;
        }
        let (short, long) = if self.text.len() < other.text.len() {
            (self, other)
        } else {
            (other, self)
        };
        short.text.len() >= echo::ENOUGH && long.text.ends_with(&short.text)
    }
}

/// The last prompt that a screen shows as sent, where the agent draws prompts so that they can be told.
pub(super) fn last_echo(lines: &[Line], rules: &ScreenRules) -> Option<Echo> {
    let rows = grammar::rows(lines, rules);
    let blocks = grammar::blocks(&rows, rules);
    let text = |block: &Block| -> String {
        let rows = rows[block.rows.clone()].iter();
        rows.map(|row| echo::essence(&row.text)).collect()
    };
    let mut echoes = blocks.iter().filter(|block| block.part == Part::Echo);
    let last = echoes.next_back()?;
    let said = rows[last.rows.start]
        .text
        .trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/');
    let is_command = last.rows.len() == 1 && super::extract::is_command(said);
    let last = text(last);
    let nth = echoes.filter(|block| text(block) == last).count();
    Some(Echo {
        text: last,
        nth,
        is_command,
    })
}

/// The blocks that answer what was sent.
struct Turn {
    blocks: Vec<Block>,
    /// Whether the echo was found, so that nothing before the answer is taken for it.
    echo: bool,
    /// Whether only the end of it was: it may be an older one that ends in the same words.
    tail: bool,
}

impl Turn {
    fn find(rows: &[Row], blocks: &[Block], rules: &ScreenRules, asked: &Asked<'_>) -> Self {
        let starts_reply = |range: std::ops::Range<usize>| {
            blocks
                .iter()
                .filter(|block| block.part == Part::Reply)
                .flat_map(|block| block.rows.clone())
                .filter(|row| range.contains(row))
                .any(|row| {
                    Marker::parse(&rows[row].text).is_some_and(|marker| match asked.tag {
                        Some(tag) => marker.tagged(tag).is_some(),
                        None => marker.label == Label::Review,
                    })
                })
        };
        let is_echo = |row| {
            blocks
                .iter()
                .any(|block| block.part == Part::Echo && block.rows.contains(&row))
        };
        let sought = echo::Sought {
            box_at: grammar::composer(rows, rules).unwrap_or(rows.len()),
            since: if asked.windowed { 0 } else { asked.since },
            is_echo: &is_echo,
            answered: &starts_reply,
            is_tagged: asked.tag.is_some(),
        };
        let by_text = asked.sent.and_then(|sent| echo::find(rows, sent, &sought));
        let tail = by_text.is_some_and(|shown| !shown.whole);
        let by_text = by_text.map(|shown| shown.end);
        let shown = || blocks.iter().filter(|block| block.part == Part::Echo);
        let (from, echo) = match (by_text, asked.sent) {
            (Some(end), _) => {
                // The rest of a block that holds the echo is the echo, where blocks can be told apart.
                let block = shown().find(|block| block.rows.contains(&(end - 1)));
                let whole = block.filter(|_| rules.reply.is_some() || rules.gutter.is_some());
                (whole.map_or(end, |block| block.rows.end.max(end)), true)
            }
            (None, None) => match shown().next_back() {
                Some(block) => (block.rows.end, true),
                None => (asked.since, asked.since > 0 || !asked.windowed),
            },
            (None, Some(_)) => (asked.since, false),
        };
        let blocks = blocks
            .iter()
            .filter(|block| block.rows.end > from)
            .map(|block| Block {
                rows: block.rows.start.max(from)..block.rows.end,
                ..block.clone()
            })
            .collect();
        Self { blocks, echo, tail }
    }

    /// The rows of the reply blocks, gutter taken off.
    fn pieces(&self, rows: &[Row]) -> Vec<Piece> {
        let mut out: Vec<Piece> = Vec::new();
        for block in self.blocks.iter().filter(|block| block.part == Part::Reply) {
            if !out.is_empty() {
                let row = block.rows.start;
                out.push(Piece {
                    text: String::new(),
                    end_col: 0,
                    limit: 1,
                    soft: false,
                    row,
                    first: false,
                });
            }
            for at in block.rows.clone() {
                let row = &rows[at];
                let first = at == block.rows.start && block.bullet > 0;
                let cut = if first {
                    block.bullet
                } else {
                    block.indent.min(row.indent())
                };
                let text = row.text.chars().scan(0, |cols, c| {
                    let before = *cols;
                    *cols += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
                    Some((before, c))
                });
                let text: String = text
                    .filter(|&(before, _)| before >= cut)
                    .map(|(_, c)| if c == '\u{a0}' { ' ' } else { c })
                    .collect();
                out.push(Piece {
                    text,
                    end_col: row.end_col,
                    limit: row.limit,
                    soft: row.soft,
                    row: at,
                    first,
                });
            }
        }
        out
    }

    fn read(&self, rows: &[Row], rules: &ScreenRules, asked: &Asked<'_>) -> Reading {
        let pieces = self.pieces(rows);
        let wrap = Wrap {
            break_after: &rules.break_after,
            quote: &rules.quote,
            bullet: &rules.bullet,
            hangs: rules.hangs,
            wide_breaks: rules.wide_breaks,
        };
        let last_row = pieces
            .iter()
            .rev()
            .find(|piece| !piece.text.is_empty())
            .map(|piece| piece.row);
        // A row that states a verdict and ends the reply stays a line, whatever stands above it.
        let texts = wrap.undo(&pieces, |piece| {
            Some(piece.row) == last_row
                && Marker::parse(&piece.text).is_some_and(|marker| marker.verdict().is_some())
        });
        let raw = paragraph(texts.iter());
        if last_row.is_none() {
            let reason = if asked.failed || self.failed(0) {
                Reason::TurnFailed
            } else {
                Reason::Empty
            };
            return Reading {
                echo: self.echo,
                ..Reading::unparsed(reason, raw)
            };
        }
        let found = Found::gather(&texts, asked.tag);
        let start = found.start(&texts, rules);
        let mut reading = found.decide(&texts, start.as_ref(), asked, self, raw);
        reading.echo = self.echo;
        if let (Some(start), true) = (&start, reading.complete) {
            let span = &texts[start.at..];
            let upto = reading.lines.map_or(0, |(_, last)| last);
            reading.complete =
                !missing(span, rules, asked, rows) && !self.is_broken(texts[start.at].rows.0, upto);
        }
        if reading.reason.is_some() {
            reading.complete = false;
        }
        reading
    }

    /// Whether the turn ended in an error, an interruption, or not at all; `row` is the last one that was read.
    fn failed(&self, row: usize) -> bool {
        self.blocks
            .iter()
            .filter(|block| block.rows.start > row)
            .any(|block| matches!(block.part, Part::Error | Part::Unended))
    }

    /// Whether the agent's own end of the turn stands behind `row`.
    fn ended(&self, row: usize) -> bool {
        self.blocks
            .iter()
            .any(|block| block.part == Part::End && block.rows.start > row)
    }

    /// Whether something other than the end of the turn follows `row`.
    fn goes_on(&self, row: usize) -> bool {
        self.blocks
            .iter()
            .filter(|block| block.rows.start > row)
            .any(|block| !matches!(block.part, Part::End | Part::Frame))
    }

    /// Whether `row` is the first of what the agent said behind something else that is still on the screen.
    fn opens(&self, row: usize) -> bool {
        let before = |block: &&Block| block.rows.start < row && block.part != Part::Frame;
        self.blocks
            .iter()
            .any(|block| block.part == Part::Reply && block.rows.start == row)
            && self
                .blocks
                .iter()
                .rfind(before)
                .is_some_and(|block| matches!(block.part, Part::Tool | Part::Echo))
    }

    /// Whether rows that are no reply's stand between two rows of one: they may be its own all the same.
    fn is_broken(&self, first: usize, last: usize) -> bool {
        self.blocks
            .iter()
            .filter(|block| block.rows.start > first && block.rows.start < last)
            .any(|block| block.part != Part::Reply)
    }
}

/// Whether part of a reply may be missing from the screen although both its ends are there.
fn missing(span: &[Text], rules: &ScreenRules, asked: &Asked<'_>, rows: &[Row]) -> bool {
    let (first, last) = match (span.first(), span.last()) {
        (Some(first), Some(last)) => (first.rows.0, last.rows.1),
        _ => return true,
    };
    let height = last + 1 - first;
    if rules.loses_rows && height > usize::from(asked.screen_rows) {
        return true;
    }
    if !asked.windowed && rules.inline_rows > 0 && height > usize::from(rules.inline_rows) {
        return true;
    }
    if rules.loses_paragraphs
        && rows[first..=last]
            .windows(2)
            .any(|pair| pair[0].is_blank() && pair[1].is_blank())
    {
        return true;
    }
    if rules.loses_wide && span.iter().any(|line| line.wide) {
        return true;
    }
    if rows[first..=last].iter().any(|row| row.cut_link) {
        return true;
    }
    rules.draws_late
        && span.iter().any(|line| {
            let text = line.text.trim();
            text == "-"
                || super::wrap::list_text(&line.text, "")
                    .is_some_and(|column| column >= line.text.len())
        })
}

/// Joins lines to a text, no blank lines at its ends and never two in a row.
fn paragraph<'a>(texts: impl Iterator<Item = &'a Text>) -> String {
    join(texts.map(|line| line.text.as_str()))
}

fn join<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let mut blank = 0;
    for line in lines {
        let line = line.trim_end();
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        out.push_str(line);
    }
    out
}

/// Where a reply starts.
#[derive(Debug, Clone)]
struct Start {
    /// Number of the line.
    at: usize,
    /// What follows the label, and the tag, on it.
    rest: String,
    /// Lines that the label and the tag take away whole.
    skip: usize,
    tagged: bool,
    /// Whether no other line could be the start as well.
    sure: bool,
    /// Whether it stands in a list, a quotation or a heading.
    nested: bool,
    /// Whether it carries what may be the tag of another round.
    foreign: bool,
}

/// The marker lines of a reply.
struct Found {
    starts: Vec<Start>,
    /// Lines that begin what may be the reply of another round.
    others: Vec<usize>,
    words: Vec<(usize, Verdict)>,
}

impl Found {
    fn gather(texts: &[Text], tag: Option<&str>) -> Self {
        let mut starts = Vec::new();
        let mut others = Vec::new();
        let mut words = Vec::new();
        for (at, line) in texts.iter().enumerate() {
            let Some(marker) = Marker::parse(&line.text) else {
                continue;
            };
            if let Some(verdict) = marker.verdict() {
                words.push((at, verdict));
            }
            if marker.label != Label::Review {
                continue;
            }
            let here = tag
                .and_then(|tag| marker.tagged(tag))
                .map(|rest| (rest.to_owned(), 0));
            // Some agents break the line behind the label.
            let below = || {
                let next = texts.get(at + 1).filter(|_| marker.rest.is_empty())?;
                strip_tag(&next.text, tag?).map(|rest| (rest.to_owned(), 1))
            };
            let foreign = tag.is_some_and(|tag| marker.has_other_tag(tag));
            if foreign {
                others.push(at);
            }
            let (tagged, (rest, skip)) = match here.or_else(below) {
                Some(found) => (true, found),
                None => (false, (marker.rest.clone(), 0)),
            };
            starts.push(Start {
                at,
                rest,
                skip,
                tagged,
                sure: true,
                nested: marker.nested && !line.first,
                foreign,
            });
        }
        // A list item, a quotation or a heading is a quoted one wherever there is another.
        let own = |start: &Start| !start.nested;
        let tagged = starts.iter().any(|start| start.tagged);
        if starts
            .iter()
            .any(|start| own(start) && start.tagged == tagged)
        {
            starts.retain(own);
        }
        Self {
            starts,
            others,
            words,
        }
    }

    /// Chooses the line at which the reply starts (interface.md 6.1).
    fn start(&self, texts: &[Text], rules: &ScreenRules) -> Option<Start> {
        let tagged = self.starts.iter().any(|start| start.tagged);
        let all: Vec<&Start> = self
            .starts
            .iter()
            .filter(|start| start.tagged == tagged)
            .collect();
        let last_word = self.words.last().map(|&(at, _)| at);
        let reached: Vec<&Start> = all
            .iter()
            .copied()
            .filter(|start| last_word.is_some_and(|word| word > start.at))
            .collect();
        let all = if reached.is_empty() { all } else { reached };
        let last = *all.last()?;
        // An agent that draws a sign in front of each of its blocks says where a reply begins.
        if rules.reply.is_some()
            && let Some(head) = all.iter().rev().find(|start| texts[start.at].first)
        {
            return Some((*head).clone());
        }
        let mut best = last;
        let mut sure = !last.nested || self.starts.iter().all(|start| start.nested);
        for start in all.iter().rev().skip(1) {
            let between = self
                .words
                .iter()
                .any(|&(at, _)| at > start.at && at < best.at);
            if is_stub(texts, start, best) {
                continue;
            }
            // Without a verdict between them the later one begins anew; with one it may be a quotation.
            let quoted = self
                .words
                .iter()
                .find(|&&(at, _)| at > best.at)
                .map(|&(at, _)| at)
                != last_word;
            if start.tagged || between || quoted {
                best = start;
                sure = false;
            }
        }
        Some(Start {
            sure,
            ..best.clone()
        })
    }

    /// Decides the verdict (A.12, interface.md 6.2 to 6.5).
    fn decide(
        &self,
        texts: &[Text],
        start: Option<&Start>,
        asked: &Asked<'_>,
        turn: &Turn,
        raw: String,
    ) -> Reading {
        let from = start.map_or(0, |start| start.at);
        let words: Vec<(usize, Verdict)> = self
            .words
            .iter()
            .copied()
            .filter(|&(at, _)| at >= from)
            .collect();
        let last_line = texts
            .iter()
            .rposition(|line| !line.text.is_empty())
            .unwrap_or(0);
        let last_row = texts[last_line].rows.1;
        let ends = words
            .last()
            .copied()
            .filter(|&(at, _)| at == last_line && !turn.goes_on(last_row));
        let ambiguous = words.iter().any(|&(_, word)| word != words[0].1);
        let deciding = match ends {
            // A quotation never turns an objection into an agreement.
            Some((at, word)) if word != Verdict::Agree || !ambiguous => Some((at, word)),
            _ => words.iter().copied().max_by_key(|&(_, word)| word),
        };
        let tagged = start.is_some_and(|start| start.tagged);
        let opens = start.is_some_and(|start| turn.opens(texts[start.at].rows.0));
        // On a window of a longer text a marker line may be one that the reply quotes, its own being out of sight.
        let seen = opens
            || !asked.windowed
            || turn.echo
            || start.is_none_or(|start| texts[start.at].first);
        let end = End {
            ends: ends.map(|(_, word)| word),
            sure: ends.is_some_and(|(at, _)| !texts[at].doubtful),
            // What stands below another round's tag is that round's, until the peer's own record tells otherwise.
            other: start.is_some_and(|start| start.tagged)
                && self.others.iter().any(|&at| at > from && at < last_line),
            failed: asked.failed || turn.failed(last_row),
            // Without the echo nothing but the tag tells this reply from an older one, and its start may be gone.
            cut: !tagged
                && if turn.echo {
                    turn.tail && start.is_some_and(|start| start.foreign)
                } else {
                    asked.tag.is_some() || (asked.windowed && !opens)
                },
        };
        let reason = self.reason(start, deciding.map(|(_, word)| word), &end, asked);
        let line_of = |at: usize| texts[at].rows;
        Reading {
            verdict: match (reason, deciding) {
                (None, Some((_, word))) => word,
                _ => Verdict::Unparsed,
            },
            reason,
            rationale: body(texts, start, deciding.map(|(at, _)| at)),
            raw,
            complete: start.is_none_or(|start| start.sure) && seen && !end.cut,
            ambiguous,
            tagged,
            ends_with: end.ends.filter(|_| end.sure && !end.failed),
            lines: deciding.map(|(at, _)| (line_of(from).0, line_of(at).1)),
            words: words
                .iter()
                .map(|&(at, word)| (line_of(at).0, word))
                .collect(),
            echo: turn.echo,
            ended: turn.ended(last_row),
        }
    }

    /// Why the reply has no verdict, if it has none.
    fn reason(
        &self,
        start: Option<&Start>,
        word: Option<Verdict>,
        end: &End,
        asked: &Asked<'_>,
    ) -> Option<Reason> {
        if end.failed {
            return Some(Reason::TurnFailed);
        }
        // Where no tag was asked for, a cut reply still tells its word when that word ends the turn and is no AGREE.
        let cautious =
            asked.tag.is_none() && end.sure && end.ends.is_some_and(|word| word != Verdict::Agree);
        if end.cut && !cautious {
            return Some(Reason::Incomplete);
        }
        let Some(word) = word else {
            let started = start.is_some() || !self.starts.is_empty();
            return Some(if started {
                Reason::NoVerdict
            } else {
                Reason::NoMarker
            });
        };
        let tagged = start.is_some_and(|start| start.tagged);
        let untagged = asked.tag.is_some() && !tagged;
        if word != Verdict::Agree {
            return (untagged && asked.require == RequireTag::Always).then_some(Reason::Untagged);
        }
        if end.ends.is_none() {
            return Some(Reason::NotLast);
        }
        if !end.sure || end.other {
            return Some(Reason::Doubtful);
        }
        (untagged && asked.require != RequireTag::Never).then_some(Reason::Untagged)
    }
}

/// How a turn ends.
struct End {
    /// The word of the verdict line that nothing follows.
    ends: Option<Verdict>,
    /// Whether that line cannot be the wrapped end of a sentence.
    sure: bool,
    /// Whether it stands below the beginning of another round's reply.
    other: bool,
    /// Whether the turn failed.
    failed: bool,
    /// Whether the start of the reply may be gone from the screen.
    cut: bool,
}

/// The text between the start and the end of a reply, without its marker lines. Without a start it is what follows the
/// last separator before the verdict, tool activity left out (A.12.3).
fn body(texts: &[Text], start: Option<&Start>, deciding: Option<usize>) -> String {
    let rest = |from: usize| {
        texts
            .iter()
            .enumerate()
            .skip(from)
            .filter(move |&(at, _)| Some(at) != deciding)
            .map(|(_, line)| line.text.as_str())
    };
    match start {
        Some(start) => join(
            [start.rest.as_str()]
                .into_iter()
                .chain(rest(start.at + 1 + start.skip)),
        ),
        None => {
            let upto = deciding.unwrap_or(texts.len());
            let from = texts[..upto]
                .iter()
                .rposition(|line| is_separator(&line.text))
                .map_or(0, |at| at + 1);
            join(rest(from).filter(|line| !is_activity(line)))
        }
    }
}

/// A line of three or more dashes.
fn is_separator(line: &str) -> bool {
    let body = line.trim();
    body.chars().count() >= 3 && body.chars().all(|c| matches!(c, '─' | '—' | '-'))
}

/// A line of a tool's log (A.12.3).
fn is_activity(line: &str) -> bool {
    const VERBS: [&str; 6] = [
        "Ran",
        "Explored",
        "Started",
        "Interacted",
        "Completed",
        "Hook failed",
    ];
    let body = line.trim_start();
    let after = |sign: &str| body.strip_prefix(sign).map(str::trim_start);
    if let Some(body) = after("•").or_else(|| after("⏺")) {
        return VERBS.iter().any(|verb| {
            body.strip_prefix(verb)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        });
    }
    body.starts_with(['└', '│']) || (body.starts_with("… +") && body.contains(" lines"))
}

/// Whether what stands at `early` is the cut beginning of what stands at `late`: the stub of a try that failed.
fn is_stub(texts: &[Text], early: &Start, late: &Start) -> bool {
    let of = |from: usize, to: usize| -> String {
        texts[from..to]
            .iter()
            .map(|line| echo::essence(&line.text))
            .collect()
    };
    let stub = of(early.at, late.at);
    of(late.at, texts.len()).starts_with(&stub)
}
