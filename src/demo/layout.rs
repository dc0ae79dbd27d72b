//! Lays Markdown blocks out in rows, in the way each agent draws them.

use super::Kind;
use super::markdown::{Align, Block, Inline, Text, parse};
use super::row::{Row, Span, bold, colour, width};
use super::table::{self, Frame};
use super::wrap::{Breaks, wrap};
use crate::screen::Style;

/// When a blank row stands between the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    Never,
    /// Where the source has one.
    Source,
    /// From the first item on that takes more than one row.
    AfterLong,
}

/// What differs between the agents in how Markdown looks.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    bullet: &'static str,
    heading_marks: bool,
    quote: &'static str,
    gap: Gap,
    /// Columns a list inside an item stands further in than the item, by depth; the marker's width when absent.
    nest: Option<[usize; 2]>,
    /// Whether further rows of an item stand under its text; else under its marker.
    hanging: bool,
    frame: Frame,
    /// What a thematic break is; a rule over the whole width when absent.
    rule: Option<&'static str>,
    breaks: Breaks,
    /// Whether `[text]` loses its brackets and is underlined.
    hides_brackets: bool,
    code: Style,
}

impl Look {
    /// The look of a kind of agent.
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Claude | Kind::Plain => Self {
                bullet: "- ",
                heading_marks: false,
                quote: "▎ ",
                gap: Gap::Never,
                nest: Some([2, 4]),
                hanging: false,
                frame: Frame::Boxed,
                rule: Some("---"),
                breaks: Breaks::Blanks,
                hides_brackets: false,
                code: colour(153),
            },
            Kind::Codex => Self {
                bullet: "• ",
                heading_marks: true,
                quote: "> ",
                gap: Gap::AfterLong,
                nest: Some([4, 4]),
                hanging: true,
                frame: Frame::Ruled,
                rule: Some("———"),
                breaks: Breaks::Blanks,
                hides_brackets: false,
                code: colour(6),
            },
            Kind::OpenCode => Self {
                bullet: "- ",
                heading_marks: false,
                quote: "│ ",
                gap: Gap::Source,
                nest: None,
                hanging: true,
                frame: Frame::Full,
                rule: None,
                breaks: Breaks::Punctuation,
                hides_brackets: true,
                code: colour(114),
            },
        }
    }
}

/// Rows of a text, and how many of them stay as they are whatever follows the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Laid {
    /// The rows.
    pub rows: Vec<Row>,
    /// Rows before the last block, or before the last item of a list at the end.
    pub settled: usize,
}

/// Lays a text out that may still grow. A line that is not whole yet may turn out to belong to the block before it, so
/// it settles nothing.
pub fn lay_growing(text: &str, look: &Look, cols: usize) -> Laid {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let laid = lay(&parse(text), look, cols);
    Laid {
        settled: lay(&parse(&text[..whole]), look, cols).settled,
        ..laid
    }
}

/// Lays blocks out in `cols` columns.
pub fn lay(blocks: &[Block], look: &Look, cols: usize) -> Laid {
    let mut laid = Laid::default();
    for block in blocks {
        if !laid.rows.is_empty() {
            laid.rows.push(Row::new());
        }
        laid.settled = laid.rows.len();
        match block {
            Block::List { .. } => {
                let (rows, last) = lay_list(block, look, cols, 0);
                laid.settled += last;
                laid.rows.extend(rows);
            }
            _ => laid.rows.extend(lay_block(block, look, cols, 0)),
        }
    }
    laid
}

fn lay_block(block: &Block, look: &Look, cols: usize, depth: usize) -> Vec<Row> {
    match block {
        Block::Paragraph(text) => lay_text(text, look, cols),
        Block::Heading(level, text) => {
            let mut text = text.clone();
            for inline in &mut text {
                inline.mark.strong = true;
            }
            if look.heading_marks {
                let mut mark = text.first().map(|inline| inline.mark).unwrap_or_default();
                mark.strong = true;
                text.insert(
                    0,
                    Inline {
                        text: "#".repeat(*level) + " ",
                        mark,
                    },
                );
            }
            lay_text(&text, look, cols)
        }
        Block::Code { lines, .. } => lines
            .iter()
            .flat_map(|line| wrap(&[plain(line)], cols, look.breaks))
            .collect(),
        Block::Quote(blocks) => {
            let inner = cols.saturating_sub(width(look.quote)).max(1);
            lay(blocks, look, inner)
                .rows
                .into_iter()
                .map(|row| row.behind(look.quote, Style::default()))
                .collect()
        }
        Block::List { .. } => lay_list(block, look, cols, depth).0,
        Block::Table { aligns, rows } => lay_table(aligns, rows, look, cols),
        Block::Rule => vec![Row::plain(match look.rule {
            Some(rule) => rule.to_owned(),
            None => "─".repeat(cols),
        })],
    }
}

/// Lays a list out; gives its rows and where the last item begins.
fn lay_list(list: &Block, look: &Look, cols: usize, depth: usize) -> (Vec<Row>, usize) {
    let Block::List {
        start,
        loose,
        items,
    } = list
    else {
        return (Vec::new(), 0);
    };
    let widest = start.map_or(0, |start| {
        let last = start + items.len().saturating_sub(1) as u64;
        last.to_string().len()
    });
    let mut rows: Vec<Row> = Vec::new();
    let mut last = 0;
    let mut was_long = false;
    for (index, item) in items.iter().enumerate() {
        let gap = match look.gap {
            Gap::Never => false,
            Gap::Source => *loose,
            Gap::AfterLong => was_long,
        };
        if gap && index > 0 {
            rows.push(Row::new());
        }
        last = rows.len();
        let marker = match start {
            Some(start) if look.nest.is_none() => format!("{:>widest$}. ", start + index as u64),
            Some(start) => format!("{}. ", start + index as u64),
            None => look.bullet.to_owned(),
        };
        let laid = lay_item(item, &marker, look, cols, depth);
        was_long |= laid.len() > 1;
        rows.extend(laid);
    }
    (rows, last)
}

fn lay_item(item: &[Block], marker: &str, look: &Look, cols: usize, depth: usize) -> Vec<Row> {
    let hang = width(marker);
    let mut rows: Vec<Row> = Vec::new();
    for block in item {
        let first = rows.is_empty();
        let indent = match (block, look.nest) {
            (Block::List { .. }, Some(nest)) if !first => nest[depth.min(1)],
            _ => hang,
        };
        let laid = match block {
            Block::Paragraph(text) if first && !look.hanging => {
                rows = lay_flush(text, marker, look, cols);
                continue;
            }
            _ => lay_block(block, look, cols.saturating_sub(indent).max(1), depth + 1),
        };
        if !first && !matches!(block, Block::List { .. }) && look.gap != Gap::Never {
            rows.push(Row::new());
        }
        for row in laid {
            let head = if rows.is_empty() {
                marker.to_owned()
            } else {
                " ".repeat(indent)
            };
            let is_blank = row.spans.is_empty() && !rows.is_empty();
            rows.push(if is_blank {
                row
            } else {
                row.behind(head, Style::default())
            });
        }
    }
    if rows.is_empty() {
        rows.push(Row::plain(marker.trim_end()));
    }
    rows
}

/// An item whose wrapped rows begin under its marker, and only the source's own lines under its text.
fn lay_flush(text: &Text, marker: &str, look: &Look, cols: usize) -> Vec<Row> {
    let hang = width(marker);
    let mut rows = Vec::new();
    for (index, mut line) in lines_of(text, look).into_iter().enumerate() {
        let head = if index == 0 {
            marker.to_owned()
        } else {
            " ".repeat(hang)
        };
        line.insert(
            0,
            Span {
                text: head,
                style: Style::default(),
            },
        );
        rows.extend(wrap(&line, cols, look.breaks));
    }
    rows
}

fn lay_text(text: &Text, look: &Look, cols: usize) -> Vec<Row> {
    lines_of(text, look)
        .iter()
        .flat_map(|line| wrap(line, cols, look.breaks))
        .collect()
}

fn lay_table(aligns: &[Align], rows: &[Vec<Text>], look: &Look, cols: usize) -> Vec<Row> {
    let cells: Vec<Vec<Vec<Span>>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| lines_of(cell, look).concat())
                .collect()
        })
        .collect();
    table::draw(&cells, aligns, look.frame, cols)
}

/// The source's lines of a text, as styled runs.
fn lines_of(text: &Text, look: &Look) -> Vec<Vec<Span>> {
    let mut lines = vec![Vec::new()];
    for inline in text {
        let style = style_of(inline, look);
        for (index, part) in inline.text.split('\n').enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            let line = lines.last_mut().expect("there is always a line");
            if look.hides_brackets && !inline.mark.code {
                push_unbracketed(line, part, style);
            } else if !part.is_empty() {
                line.push(Span {
                    text: part.to_owned(),
                    style,
                });
            }
        }
    }
    lines
}

/// Pushes text with `[word]` turned into an underlined `word`.
fn push_unbracketed(line: &mut Vec<Span>, text: &str, style: Style) {
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']').map(|at| open + at) else {
            break;
        };
        let inner = &rest[open + 1..close];
        if inner.is_empty() || inner.contains('[') {
            break;
        }
        push_span(line, &rest[..open], style);
        let underlined = Style {
            underline: true,
            ..style
        };
        push_span(line, inner, underlined);
        rest = &rest[close + 1..];
    }
    push_span(line, rest, style);
}

fn push_span(line: &mut Vec<Span>, text: &str, style: Style) {
    if !text.is_empty() {
        line.push(Span {
            text: text.to_owned(),
            style,
        });
    }
}

fn style_of(inline: &Inline, look: &Look) -> Style {
    let base = if inline.mark.code {
        look.code
    } else {
        Style::default()
    };
    Style {
        bold: base.bold || (inline.mark.strong && bold().bold),
        italic: inline.mark.emphasis,
        underline: inline.mark.link,
        ..base
    }
}

fn plain(text: &str) -> Span {
    Span {
        text: text.replace('\t', "    "),
        style: Style::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "REVIEW: The change is close, see below.\n\n# Findings\n\n## 1. Trim on one side only\n\n- `set` keeps the key **as given**\n  - nested: *blanks* stay in the map\n    - deeper: src/store.rs:10\n- `get` trims it\n  - so `get(\" a \")` never finds `\" a \"`\n\n```rust\nimpl Store {\n    pub fn set(&mut self) {}\n}\n```\n\n| call        | before | after  |\n|-------------|--------|:------:|\n| `get(\"a\")`  | hit    | hit    |\n| `get(\"\")`   | miss   | **miss** |\n\n> A store that changes its keys on one side only\n> is two stores.\n\n1. First fix `set`, and then look at every caller of it, since each of them may rely on the key.\n2. Then add the test.\n\nSee [the plan](docs/plan.md) and [k7q2] for the rest.\n\n---\n\nLast line.\nVERDICT: ADJUST";

    fn drawn(kind: Kind, text: &str, cols: usize) -> String {
        lay(&parse(text), &Look::of(kind), cols)
            .rows
            .iter()
            .map(|row| row.text().trim_end().to_owned() + "\n")
            .collect()
    }

    #[test]
    fn claude_draws_a_review_as_the_recordings_show_it() {
        insta::assert_snapshot!(drawn(Kind::Claude, SAMPLE, 78));
    }

    #[test]
    fn codex_draws_a_review_as_the_recordings_show_it() {
        insta::assert_snapshot!(drawn(Kind::Codex, SAMPLE, 78));
    }

    #[test]
    fn opencode_draws_a_review_as_the_recordings_show_it() {
        insta::assert_snapshot!(drawn(Kind::OpenCode, SAMPLE, 73));
    }

    #[test]
    fn a_verdict_right_under_an_item_is_drawn_inside_it() {
        let text = "- one\nVERDICT: OBJECT";
        assert_eq!(drawn(Kind::Codex, text, 40), "• one\n  VERDICT: OBJECT\n");
        assert_eq!(
            drawn(Kind::OpenCode, text, 40),
            "- one\n  VERDICT: OBJECT\n"
        );
    }

    #[test]
    fn ordered_items_line_up_in_opencode() {
        let text: String = (1..=10).map(|number| format!("{number}. item\n")).collect();
        let drawn = drawn(Kind::OpenCode, &text, 40);
        assert!(drawn.starts_with(" 1. item\n"), "{drawn}");
        assert!(drawn.ends_with("10. item\n"), "{drawn}");
    }

    #[test]
    fn only_the_last_item_or_block_may_still_change() {
        let rows = |text: &str| lay_growing(text, &Look::of(Kind::Claude), 40);
        assert_eq!(rows("one\n\ntwo\n").settled, 2);
        assert_eq!(rows("one\n\ntwo").settled, 0);
        assert_eq!(rows("one\n\n- a\n- b\n- c\n").settled, 4);
        assert_eq!(rows("one").settled, 0);
    }

    proptest::proptest! {
        #[test]
        fn what_is_settled_does_not_change_while_a_reply_grows(
            parts in proptest::collection::vec(
                "(word |\\*\\*bold\\*\\* |\n|\n\n|- item|  - inner|1\\. first|```|# head|> quote|---|\\| a \\| b \\||\\|---\\|---\\|)",
                1..14
            ),
            cols in 20usize..60
        ) {
            let text = parts.concat();
            for kind in [Kind::Claude, Kind::Codex] {
                let mut before: Vec<Row> = Vec::new();
                for end in 1..=text.len() {
                    let laid = lay_growing(&text[..end], &Look::of(kind), cols);
                    let kept = laid.rows.get(..before.len());
                    proptest::prop_assert_eq!(kept, Some(&before[..]), "{:?} {:?}", kind, &text[..end]);
                    before = laid.rows[..laid.settled].to_vec();
                }
            }
        }
    }
}
