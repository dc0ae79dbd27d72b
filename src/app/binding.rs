//! Keys of the console: the prefix, what follows it, and what each does (interface.md 7).

use std::collections::BTreeMap;

use super::input::{Code, Key, Mods};

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

/// A key with what is held, as a binding names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chord {
    code: Code,
    mods: Mods,
}

/// Why a word names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no key; write a character, or a name such as `enter`, `tab`, `esc`, `up`, `f5`, with `ctrl-`, `alt-` or `shift-` before it"
)]
pub struct NoKey(String);

const NAMES: [(&str, Code); 15] = [
    ("enter", Code::Enter),
    ("tab", Code::Tab),
    ("backspace", Code::Backspace),
    ("esc", Code::Esc),
    ("space", Code::Char(' ')),
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("home", Code::Home),
    ("end", Code::End),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
    ("insert", Code::Insert),
    ("delete", Code::Delete),
];

impl Chord {
    /// The chord of a key that was pressed.
    pub fn of(key: &Key) -> Self {
        let (code, mods) = key.command();
        Self { code, mods }
    }

    /// Reads `ctrl-]`, `D`, `|`, `alt-enter`, `f5`.
    pub fn parse(text: &str) -> Result<Self, NoKey> {
        let none = || NoKey(text.chars().take(40).collect());
        let mut rest = text;
        let mut mods = Mods::NONE;
        for (prefix, held) in [
            ("ctrl-", Mods::CTRL),
            ("alt-", Mods::ALT),
            ("shift-", Mods::SHIFT),
        ] {
            if let Some(after) = rest.strip_prefix(prefix) {
                mods |= held;
                rest = after;
            }
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(char), None) if !char.is_control() => Code::Char(char),
            _ => NAMES
                .iter()
                .find(|(name, _)| *name == rest)
                .map(|(_, code)| *code)
                .or_else(|| function_key(rest))
                .ok_or_else(none)?,
        };
        Ok(Self::of(&Key::new(code, mods)))
    }

    /// The bytes-independent spelling a person reads: `^]`, `D`, `alt-enter`.
    pub fn shown(&self) -> String {
        let mut out = String::new();
        let is_char = matches!(self.code, Code::Char(_));
        if self.mods.has(Mods::CTRL) {
            out.push_str(if is_char { "^" } else { "ctrl-" });
        }
        if self.mods.has(Mods::ALT) {
            out.push_str("alt-");
        }
        if self.mods.has(Mods::SHIFT) {
            out.push_str("shift-");
        }
        match self.code {
            Code::Char(' ') => out.push_str("space"),
            Code::Char(char) if self.mods.has(Mods::CTRL) => out.extend(char.to_uppercase()),
            Code::Char(char) => out.push(char),
            Code::F(number) => out.push_str(&format!("f{number}")),
            code => {
                let name = NAMES.iter().find(|(_, known)| *known == code);
                out.push_str(name.map_or("?", |(name, _)| name));
            }
        }
        out
    }
}

fn function_key(text: &str) -> Option<Code> {
    let number = text.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then_some(Code::F(number))
}

/// The keys in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindings {
    /// The key before each of them.
    pub prefix: Chord,
    keys: BTreeMap<Chord, Action>,
}

/// What is wrong with the keys of a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingFault {
    /// A word that names no key.
    #[error("ui.{key}: {fault}")]
    Key {
        /// The setting.
        key: String,
        /// Why.
        fault: NoKey,
    },
    /// A name that is no action.
    #[error("ui.keys.{0}: there is no such action; known are {known}", known = names())]
    Action(String),
    /// One key for two actions.
    #[error(
        "ui.keys: `{key}` is the key of both `{first}` and `{second}`; give one of them another"
    )]
    Twice {
        /// The key.
        key: String,
        /// An action.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// A key that is the prefix.
    #[error("ui.keys.{0}: that key is the prefix, which sends itself when it is pressed twice")]
    Prefix(&'static str),
}

fn names() -> String {
    let names: Vec<&str> = Action::all().map(Action::name).collect();
    names.join(", ")
}

impl Bindings {
    /// Makes the bindings of a prefix and of what the settings change; every fault is told.
    pub fn new<'a>(
        prefix: &str,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Vec<BindingFault>> {
        let mut faults = Vec::new();
        let mut chords: BTreeMap<Action, String> = Action::all()
            .map(|action| (action, action.default_key().to_owned()))
            .collect();
        for (name, key) in changes {
            match Action::named(name) {
                Some(action) => {
                    chords.insert(action, key.to_owned());
                }
                None => faults.push(BindingFault::Action(name.chars().take(40).collect())),
            }
        }
        let mut parse = |key: String, text: &str| {
            Chord::parse(text).map_err(|fault| faults.push(BindingFault::Key { key, fault }))
        };
        let prefix = parse("prefix".to_owned(), prefix);
        let mut parsed = Vec::new();
        for (action, text) in &chords {
            // A key of no name is the wish to have none.
            if text.is_empty() {
                continue;
            }
            if let Ok(chord) = parse(format!("keys.{}", action.name()), text) {
                parsed.push((*action, chord));
            }
        }
        let mut keys: BTreeMap<Chord, Action> = BTreeMap::new();
        for (action, chord) in parsed {
            if Ok(chord) == prefix {
                faults.push(BindingFault::Prefix(action.name()));
            } else if let Some(first) = keys.insert(chord, action) {
                faults.push(BindingFault::Twice {
                    key: chord.shown(),
                    first: first.name(),
                    second: action.name(),
                });
            }
        }
        match prefix {
            Ok(prefix) if faults.is_empty() => Ok(Self { prefix, keys }),
            _ => Err(faults),
        }
    }

    /// What a key does behind the prefix.
    pub fn action(&self, key: &Key) -> Option<Action> {
        self.keys.get(&Chord::of(key)).copied()
    }

    /// The key of an action, as a person reads it; none where it has none.
    pub fn key_of(&self, action: Action) -> Option<String> {
        let found = self.keys.iter().find(|(_, known)| **known == action);
        found.map(|(chord, _)| chord.shown())
    }
}

impl Default for Bindings {
    fn default() -> Self {
        Self::new("ctrl-]", []).expect("the defaults do not conflict: a test looks at them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_a_name_and_a_key_of_its_own() {
        let bindings = Bindings::default();
        for action in Action::all() {
            assert_eq!(Action::named(action.name()), Some(action));
            assert!(bindings.key_of(action).is_some(), "{action:?}");
        }
        assert_eq!(bindings.prefix.shown(), "^]");
        assert_eq!(bindings.action(&Key::char('R')), Some(Action::Restart));
        assert_eq!(bindings.action(&Key::char('r')), Some(Action::Receipts));
    }

    #[test]
    fn the_settings_know_every_action_by_its_name() {
        let schema = crate::config::schema().to_string();
        let names: Vec<&str> = Action::all().map(Action::name).collect();
        assert!(schema.contains(&format!("^({})$", names.join("|"))));
    }

    #[test]
    fn a_key_is_what_it_is_however_the_terminal_tells_it() {
        let bindings = Bindings::default();
        let kitty = Key {
            shifted: Some('|'),
            ..Key::new(Code::Char('\\'), Mods::SHIFT)
        };
        assert_eq!(bindings.action(&kitty), Some(Action::Columns));
        assert_eq!(
            Chord::of(&Key::new(Code::Char(']'), Mods::CTRL)),
            bindings.prefix
        );
    }

    #[test]
    fn names_of_keys_are_read_and_shown() {
        for (text, shown) in [
            ("ctrl-]", "^]"),
            ("alt-enter", "alt-enter"),
            ("D", "D"),
            ("f5", "f5"),
            ("ctrl-shift-tab", "ctrl-shift-tab"),
            ("space", "space"),
        ] {
            assert_eq!(
                Chord::parse(text).map(|chord| chord.shown()),
                Ok(shown.to_owned())
            );
        }
        for wrong in ["", "ctrl-", "hyper-x", "f99", "entr"] {
            assert!(Chord::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn conflicts_and_unknown_names_are_all_told() {
        let faults = Bindings::new(
            "ctrl-a",
            [
                ("discuss", "b"),
                ("zoom", "ctrl-a"),
                ("jump", "j"),
                ("help", "nokey"),
            ],
        );
        let told: Vec<String> = faults
            .err()
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(
            told.iter()
                .any(|one| one.contains("`b` is the key of both"))
        );
        assert!(
            told.iter()
                .any(|one| one.starts_with("ui.keys.zoom: that key is the prefix"))
        );
        assert!(
            told.iter()
                .any(|one| one.starts_with("ui.keys.jump: there is no such action"))
        );
        assert!(
            told.iter()
                .any(|one| one.starts_with("ui.keys.help: `nokey` names no key"))
        );
    }

    #[test]
    fn a_freed_key_can_be_given_away() {
        let bindings = Bindings::new("ctrl-b", [("brief", ""), ("discuss", "b")]);
        assert_eq!(
            bindings.map(|b| b.action(&Key::char('b'))),
            Ok(Some(Action::Discuss))
        );
    }
}
