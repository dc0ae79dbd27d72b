//! What the console does on a key (interface.md 7).

/// What a key can do behind the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Opens the composer.
    Discuss,
    /// Briefs the peer.
    Brief,
    /// Focuses the other pane.
    Other,
    /// Shows the focused pane alone, or both again.
    Zoom,
    /// Shows or hides the tables, the receipts selected.
    Receipts,
    /// Shows or hides the tables, the fallbacks selected.
    Fallbacks,
    /// Opens the reader with the last review.
    Timeline,
    /// Scrolls and searches the focused pane.
    Scroll,
    /// Copies the last review.
    CopyReview,
    /// Answers an escalation.
    Answer,
    /// Stops waiting for the answer.
    StopWaiting,
    /// Starts a pane's agent anew.
    Restart,
    /// Says why a pane counts as busy, idle or blocked.
    Explain,
    /// Panes side by side.
    Columns,
    /// Panes one above the other.
    Rows,
    /// Lets the person type into the peer.
    TypeToPeer,
    /// Shows every key.
    Help,
    /// Draws everything anew.
    Redraw,
    /// Suspends the program.
    Suspend,
    /// Ends the program.
    Quit,
}

/// An action with its name in a settings file, its key, and its line in the help.
struct Entry(Action, &'static str, &'static str, &'static str);

const ENTRIES: [Entry; 20] = [
    Entry(
        Action::Discuss,
        "discuss",
        "d",
        "discuss: write a message, ask the peer",
    ),
    Entry(Action::Brief, "brief", "b", "brief the peer"),
    Entry(Action::Other, "other", "o", "focus the other pane"),
    Entry(
        Action::Zoom,
        "zoom",
        "z",
        "show the focused pane alone, or both",
    ),
    Entry(
        Action::Receipts,
        "receipts",
        "r",
        "show or hide the receipts",
    ),
    Entry(
        Action::Fallbacks,
        "fallbacks",
        "f",
        "show or hide the fallbacks",
    ),
    Entry(
        Action::Timeline,
        "timeline",
        "t",
        "read the reviews, the last one first",
    ),
    Entry(
        Action::Scroll,
        "scroll",
        "[",
        "scroll, search, select and copy",
    ),
    Entry(Action::CopyReview, "copy", "y", "copy the last review"),
    Entry(Action::Answer, "answer", "a", "answer the peer's question"),
    Entry(
        Action::StopWaiting,
        "stop",
        "s",
        "stop waiting for the answer",
    ),
    Entry(
        Action::Restart,
        "restart",
        "R",
        "start the focused pane's agent anew",
    ),
    Entry(
        Action::Explain,
        "explain",
        "e",
        "why the pane counts as busy, idle or blocked",
    ),
    Entry(Action::Columns, "columns", "|", "panes side by side"),
    Entry(Action::Rows, "rows", "-", "panes one above the other"),
    Entry(
        Action::TypeToPeer,
        "type",
        "i",
        "type into the peer, or no longer",
    ),
    Entry(Action::Help, "help", "?", "every key"),
    Entry(Action::Redraw, "redraw", "ctrl-l", "draw everything anew"),
    Entry(Action::Suspend, "suspend", "ctrl-z", "suspend codriver"),
    Entry(Action::Quit, "quit", "q", "quit"),
];

impl Action {
    /// All of them, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        ENTRIES.iter().map(|entry| entry.0)
    }

    fn entry(self) -> &'static Entry {
        ENTRIES
            .iter()
            .find(|entry| entry.0 == self)
            .expect("every action has its entry: a test looks at all")
    }

    /// Its name in a settings file.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// The key it has where the settings say nothing.
    pub fn default_key(self) -> &'static str {
        self.entry().2
    }

    /// What it does, in one line.
    pub fn help(self) -> &'static str {
        self.entry().3
    }

    /// The action of this name.
    pub fn named(name: &str) -> Option<Self> {
        let entry = ENTRIES.iter().find(|entry| entry.1 == name)?;
        Some(entry.0)
    }
}
