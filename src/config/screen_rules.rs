//! How an agent draws its screen: the data the reader of replies is driven by (A.11, terminal.md 1).

use schemars::JsonSchema;
use serde::Deserialize;

use super::pattern::{Pattern, Patterns};

/// How the rows of an agent's screen are told apart. Every pattern is held against one row, blanks at its end cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenRules {
    /// Rows by which a screen shows that this agent drew it; each counts once.
    pub signature: Patterns,
    /// First row of a prompt that was sent, as the agent shows it again.
    pub echo: Option<Pattern>,
    /// First row of a block of the agent's own words. Without it every row that is nothing else belongs to the reply.
    pub reply: Option<Pattern>,
    /// Rows that begin with this are never the reply: a prompt, a tool's output, an error or the input box.
    pub gutter: Option<Pattern>,
    /// First row of a tool's block.
    pub tool: Patterns,
    /// A row that makes the block above it a tool's, when it directly follows the first one.
    pub tool_child: Option<Pattern>,
    /// First row of an error of the agent or its service; the turn failed when it is the last thing said.
    pub error: Patterns,
    /// The row that ends a turn.
    pub end: Patterns,
    /// A row in the place of `end` when the turn did not end well, or has not ended.
    pub unended: Patterns,
    /// First row of the input box, which ends everything that was said.
    pub composer: Option<Pattern>,
    /// A row that belongs to the input box when it stands directly above it.
    pub composer_top: Option<Pattern>,
    /// Rows of the frame that may stand anywhere: status lines, hints.
    pub frame: Patterns,
    /// Columns in front of each row of a reply.
    pub indent: u16,
    /// Columns at the right edge that a reply never uses.
    pub right: u16,
    /// Width of a bar at the right edge that belongs to the frame.
    pub sidebar: u16,
    /// The bar is there when the window is wider than this.
    pub sidebar_above: u16,
    /// Signs behind which a word may be broken without a blank.
    pub break_after: Vec<String>,
    /// Whether a wrapped line of a list item goes on under the item's text.
    pub hangs: bool,
    /// Whether text of wide signs is broken at any of them.
    pub wide_breaks: bool,
    /// How links are drawn.
    pub links: Links,
    /// Sign that the agent draws for the list mark `-`.
    pub bullet: String,
    /// Sign that the agent draws for the quote mark `>`.
    pub quote: String,
    /// Whether a reply longer than the screen may miss a row that was never drawn.
    pub loses_rows: bool,
    /// Rows up to which a reply is drawn whole outside the alternate screen; 0 where that is no question.
    pub inline_rows: u16,
    /// Whether two blank rows in a reply mean that a paragraph was never drawn.
    pub loses_paragraphs: bool,
    /// Whether a sign may be lost where text of wide signs is broken.
    pub loses_wide: bool,
    /// Whether a list mark without text means that the row was not drawn yet.
    pub draws_late: bool,
}

/// How an agent draws the link `[label](target)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// Nothing tells a link from text.
    #[default]
    Plain,
    /// Label and target underlined, the target in parentheses, each in a colour of its own: the link can be restored.
    Underlined,
    /// The target underlined within parentheses: that there was a link is seen, but not where its label began.
    Target,
}
