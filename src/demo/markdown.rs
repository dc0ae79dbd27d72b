//! A reply's Markdown as blocks of styled text, the form every style lays out in its own way.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// How a run of text is marked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// `**strong**`
    pub strong: bool,
    /// `*emphasis*`
    pub emphasis: bool,
    /// A code span.
    pub code: bool,
    /// A link's text.
    pub link: bool,
}

/// A run of marked-up text; `\n` stands for a line break of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    /// The text.
    pub text: String,
    /// Its markup.
    pub mark: Mark,
}

/// Text of a paragraph, a heading or a table cell.
pub type Text = Vec<Inline>;

/// One block of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Prose.
    Paragraph(Text),
    /// A heading and its level.
    Heading(usize, Text),
    /// Code, line by line.
    Code {
        /// Whether a fence stood around it; else it was indented.
        fenced: bool,
        /// The lines, without the indent of an indented block.
        lines: Vec<String>,
    },
    /// A quotation.
    Quote(Vec<Block>),
    /// A list.
    List {
        /// The first number of an ordered list.
        start: Option<u64>,
        /// Whether blank lines stand between the items.
        loose: bool,
        /// The items.
        items: Vec<Vec<Block>>,
    },
    /// A table; the first row is its head.
    Table {
        /// How each column is aligned.
        aligns: Vec<Align>,
        /// The rows.
        rows: Vec<Vec<Text>>,
    },
    /// A thematic break.
    Rule,
}

/// Alignment of a table's column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Align {
    /// To the left, also where the source says nothing.
    #[default]
    Left,
    /// Centred.
    Centre,
    /// To the right.
    Right,
}

/// Reads Markdown. Of a text that is still growing, the last block may change with what follows.
pub fn parse(text: &str) -> Vec<Block> {
    let mut builder = Builder::default();
    let mut options = Options::empty();
    options.insert(Options::ENABLE_TABLES);
    options.insert(Options::ENABLE_STRIKETHROUGH);
    for event in Parser::new_ext(text, options) {
        builder.take(event);
    }
    builder.finish()
}

/// An open container.
#[derive(Debug)]
enum Open {
    Paragraph,
    Heading(usize),
    Code {
        fenced: bool,
        text: String,
    },
    Quote(Vec<Block>),
    List {
        start: Option<u64>,
        loose: bool,
        items: Vec<Vec<Block>>,
    },
    Item(Vec<Block>),
    Table {
        aligns: Vec<Align>,
        rows: Vec<Vec<Text>>,
    },
    Row(Vec<Text>),
    Html(String),
}

#[derive(Default)]
struct Builder {
    done: Vec<Block>,
    open: Vec<Open>,
    text: Text,
    mark: Mark,
    links: Vec<(String, usize)>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match self.open.last_mut() {
                Some(Open::Code { text: code, .. }) => code.push_str(&text),
                _ => self.say(&text),
            },
            Event::Code(text) => {
                let mark = Mark {
                    code: true,
                    ..self.mark
                };
                self.text.push(Inline {
                    text: text.into_string(),
                    mark,
                });
            }
            Event::Html(html) => {
                if let Some(Open::Html(text)) = self.open.last_mut() {
                    text.push_str(&html);
                }
            }
            Event::InlineHtml(text) | Event::FootnoteReference(text) => self.say(&text),
            Event::SoftBreak | Event::HardBreak => self.say("\n"),
            Event::Rule => self.block(Block::Rule),
            Event::TaskListMarker(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn say(&mut self, text: &str) {
        match self.text.last_mut() {
            Some(last) if last.mark == self.mark => last.text.push_str(text),
            _ => self.text.push(Inline {
                text: text.to_owned(),
                mark: self.mark,
            }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Emphasis => self.mark.emphasis = true,
            Tag::Strong => self.mark.strong = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.text.len()));
                self.mark.link = true;
            }
            Tag::Paragraph => {
                self.end_loose_text();
                if let [.., Open::List { loose, .. }, Open::Item(_)] = self.open.as_mut_slice() {
                    *loose = true;
                }
                self.open.push(Open::Paragraph);
            }
            Tag::Heading { level, .. } => self.push(Open::Heading(number_of(level))),
            Tag::CodeBlock(kind) => self.push(Open::Code {
                fenced: matches!(kind, CodeBlockKind::Fenced(_)),
                text: String::new(),
            }),
            Tag::BlockQuote(_) => self.push(Open::Quote(Vec::new())),
            Tag::List(start) => self.push(Open::List {
                start,
                loose: false,
                items: Vec::new(),
            }),
            Tag::Item => self.push(Open::Item(Vec::new())),
            Tag::Table(aligns) => self.push(Open::Table {
                aligns: aligns.into_iter().map(align_of).collect(),
                rows: Vec::new(),
            }),
            Tag::TableHead | Tag::TableRow => self.push(Open::Row(Vec::new())),
            Tag::HtmlBlock => self.push(Open::Html(String::new())),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis => self.mark.emphasis = false,
            TagEnd::Strong => self.mark.strong = false,
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(Open::Row(cells)) = self.open.last_mut() {
                    cells.push(cell);
                }
            }
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::HtmlBlock => self.close(),
            _ => {}
        }
    }

    /// Behind a link's text stands where it leads, unless that is the text.
    fn end_link(&mut self) {
        let Some((target, from)) = self.links.pop() else {
            return;
        };
        self.mark.link = !self.links.is_empty();
        let shown: String = self.text[from.min(self.text.len())..]
            .iter()
            .map(|inline| inline.text.as_str())
            .collect();
        if shown != target && format!("mailto:{shown}") != target {
            self.say(&format!(" ({target})"));
        }
    }

    /// Text directly in a tight item becomes a paragraph once another block begins.
    fn end_loose_text(&mut self) {
        if matches!(self.open.last(), Some(Open::Item(_))) && !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.block(Block::Paragraph(text));
        }
    }

    fn push(&mut self, open: Open) {
        self.end_loose_text();
        self.open.push(open);
    }

    fn close(&mut self) {
        self.end_loose_text();
        match self.open.pop() {
            Some(Open::Paragraph) => {
                let text = std::mem::take(&mut self.text);
                self.block(Block::Paragraph(text));
            }
            Some(Open::Heading(level)) => {
                let text = std::mem::take(&mut self.text);
                self.block(Block::Heading(level, text));
            }
            Some(Open::Code { fenced, text }) => {
                let lines = text.lines().map(str::to_owned).collect();
                self.block(Block::Code { fenced, lines });
            }
            Some(Open::Quote(blocks)) => self.block(Block::Quote(blocks)),
            Some(Open::List {
                start,
                loose,
                items,
            }) => self.block(Block::List {
                start,
                loose,
                items,
            }),
            Some(Open::Item(blocks)) => {
                if let Some(Open::List { items, .. }) = self.open.last_mut() {
                    items.push(blocks);
                }
            }
            Some(Open::Table { aligns, rows }) => self.block(Block::Table { aligns, rows }),
            Some(Open::Row(cells)) => {
                if let Some(Open::Table { rows, .. }) = self.open.last_mut() {
                    rows.push(cells);
                }
            }
            Some(Open::Html(text)) => {
                let inline = Inline {
                    text: text.trim_end().to_owned(),
                    mark: Mark::default(),
                };
                self.block(Block::Paragraph(vec![inline]));
            }
            None => {}
        }
    }

    /// Puts a finished block where it belongs.
    fn block(&mut self, block: Block) {
        match self.open.last_mut() {
            Some(Open::Quote(blocks) | Open::Item(blocks)) => blocks.push(block),
            _ => self.done.push(block),
        }
    }

    fn finish(mut self) -> Vec<Block> {
        while !self.open.is_empty() {
            self.close();
        }
        self.done
    }
}

fn number_of(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn align_of(alignment: Alignment) -> Align {
    match alignment {
        Alignment::None | Alignment::Left => Align::Left,
        Alignment::Center => Align::Centre,
        Alignment::Right => Align::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Inline {
        Inline {
            text: text.to_owned(),
            mark: Mark::default(),
        }
    }

    #[test]
    fn marks_are_dropped_and_kept_as_style() {
        let Block::Paragraph(text) = &parse("a **b** `c` *d*\ne")[0] else {
            panic!("no paragraph");
        };
        let shown: String = text.iter().map(|inline| inline.text.as_str()).collect();
        assert_eq!(shown, "a b c d\ne");
        assert!(text[1].mark.strong && text[3].mark.code && text[5].mark.emphasis);
    }

    #[test]
    fn a_link_shows_where_it_leads() {
        assert_eq!(
            parse("see [the plan](docs/plan.md)."),
            [Block::Paragraph(vec![
                plain("see "),
                Inline {
                    text: "the plan".to_owned(),
                    mark: Mark {
                        link: true,
                        ..Mark::default()
                    }
                },
                plain(" (docs/plan.md)."),
            ])]
        );
    }

    #[test]
    fn a_line_right_under_an_item_belongs_to_it() {
        let blocks = parse("- one\nVERDICT: AGREE");
        assert_eq!(
            blocks,
            [Block::List {
                start: None,
                loose: false,
                items: vec![vec![Block::Paragraph(vec![plain("one\nVERDICT: AGREE")])]]
            }]
        );
    }

    #[test]
    fn nested_lists_and_loose_ones_are_told() {
        let Block::List { loose, items, .. } = &parse("- a\n  - b\n- c")[0] else {
            panic!("no list");
        };
        assert!(!loose);
        assert_eq!(items[0].len(), 2);
        assert!(matches!(
            &parse("3. a\n\n4. b")[0],
            Block::List {
                start: Some(3),
                loose: true,
                ..
            }
        ));
    }

    #[test]
    fn code_tables_quotes_and_rules_are_blocks() {
        let blocks =
            parse("```rs\na\n  b\n```\n\n    c\n\n| x | y |\n|---|:-:|\n| 1 | 2 |\n\n> q\n\n---\n");
        assert_eq!(
            blocks,
            [
                Block::Code {
                    fenced: true,
                    lines: vec!["a".to_owned(), "  b".to_owned()]
                },
                Block::Code {
                    fenced: false,
                    lines: vec!["c".to_owned()]
                },
                Block::Table {
                    aligns: vec![Align::Left, Align::Centre],
                    rows: vec![
                        vec![vec![plain("x")], vec![plain("y")]],
                        vec![vec![plain("1")], vec![plain("2")]]
                    ]
                },
                Block::Quote(vec![Block::Paragraph(vec![plain("q")])]),
                Block::Rule,
            ]
        );
    }

    #[test]
    fn what_is_no_html_stays_text() {
        assert_eq!(
            parse("REVIEW: <your findings>"),
            [Block::Paragraph(vec![plain("REVIEW: <your findings>")])]
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_lost_from_prose(words in proptest::collection::vec("[a-z]{1,8}", 1..40)) {
            let text = words.join(" ");
            proptest::prop_assert_eq!(parse(&text), [Block::Paragraph(vec![plain(&text)])]);
        }
    }
}
