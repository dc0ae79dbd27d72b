//! Where a key goes: behind the prefix, to what lies over the panes, to a scrolled view, or to the focused child.

use super::choice::Chosen;
use super::composer::Composed;
use super::event::Ask;
use super::input::{Code, Key, Mods, encode_key, encode_paste};
use super::layout::Layout;
use super::pane::Life;
use super::question::Decided;
use super::replay::Wish;
use super::scroll::{Scroll, Scrolled};
use super::{Action, App, Chord, Effect, Help, Overlay, Question, Reader, Role, Table};
use crate::recording::word::Kind;

impl App {
    pub(super) fn key(&mut self, key: &Key, out: &mut Vec<Effect>) {
        let is_press = key.is_press();
        if is_press && self.replay.is_some() {
            // The time by which a notice goes stands still with the recording.
            self.notice = None;
            self.is_changed = true;
        }
        if is_press && self.is_prefixed {
            self.is_prefixed = false;
            self.is_changed = true;
            return self.prefixed(key, out);
        }
        if is_press && self.opening.keys.is_prefix(key) {
            self.is_prefixed = true;
            self.is_changed = true;
            return;
        }
        if is_press && self.notice.as_ref().is_some_and(|notice| notice.is_fault) {
            // It was seen.
            self.notice = None;
            self.is_changed = true;
        }
        if self.overlay.is_some() || self.scroll.is_some() || self.tables.has_keys {
            if is_press {
                self.is_changed = true;
                self.own_key(key, out);
            }
            return;
        }
        self.forward(key, out);
    }

    fn own_key(&mut self, key: &Key, out: &mut Vec<Effect>) {
        if self.overlay.is_some() {
            return self.overlay_key(key, out);
        }
        if self.tables.has_keys {
            return self.table_key(key);
        }
        let Some(mut scroll) = self.scroll.take() else {
            return;
        };
        let Some(pane) = self.pane(scroll.role) else {
            return;
        };
        match scroll.key(key, &pane.screen) {
            Scrolled::Stays => self.scroll = Some(scroll),
            Scrolled::Ends => {}
            Scrolled::Copies(text) => self.copy(text, out),
        }
    }

    /// Puts text on the clipboard and says so.
    pub(super) fn copy(&mut self, text: String, out: &mut Vec<Effect>) {
        if text.is_empty() {
            return;
        }
        let lines = text.lines().count();
        let what = if lines == 1 {
            format!("{} characters copied", text.chars().count())
        } else {
            format!("{lines} lines copied")
        };
        self.say(what, false);
        out.push(Effect::Copy(text));
    }

    /// Sends a key to the focused child, if it may have it.
    fn forward(&mut self, key: &Key, out: &mut Vec<Effect>) {
        if self.replay.is_some() {
            return self.replay_key(key, out);
        }
        if let Some(why) = self.cannot_type() {
            if key.is_press() && !is_modifier(key) {
                self.ended_key(key, &why, out);
            }
            return;
        }
        let role = self.focus;
        if let Some(bytes) = encode_key(key, self.focused().screen.modes()) {
            self.await_echo(role);
            out.push(Effect::Write(role, bytes));
        }
    }

    /// A key for a pane that takes none: it restarts an ended one, or is told why.
    fn ended_key(&mut self, key: &Key, why: &str, out: &mut Vec<Effect>) {
        let ended = matches!(self.focused().life, Life::Ended(_) | Life::Failed(_));
        if ended && key.command() == (Code::Char('R'), Mods::NONE) {
            return self.act(Action::Restart, out);
        }
        self.say(why.to_owned(), false);
    }

    /// Why the focused child takes no typing now.
    pub fn cannot_type(&self) -> Option<String> {
        if self.replay.is_some() {
            return Some("this is a replay: nobody is there to type to".to_owned());
        }
        let keys = &self.opening.keys;
        let prefix = keys.prefix.shown();
        let key = |action| keys.key_of(action).unwrap_or_default();
        match self.focused().life {
            Life::Ended(_) | Life::Failed(_) => {
                return Some(format!(
                    "the {} has ended · {prefix} {} restarts it",
                    self.focus.word(),
                    key(Action::Restart)
                ));
            }
            Life::Starting | Life::Running => {}
        }
        if self.focus == Role::Driver {
            return None;
        }
        if self.asking.is_some() {
            return Some("a round is going on: nobody types into the peer".to_owned());
        }
        (!self.types_to_peer).then(|| {
            format!(
                "the peer only reads · {prefix} {} types into it all the same, {prefix} {} asks it",
                key(Action::TypeToPeer),
                key(Action::Discuss)
            )
        })
    }

    pub(super) fn paste(&mut self, text: &str, out: &mut Vec<Effect>) {
        match &mut self.overlay {
            Some(Overlay::Composer) => self.composer.paste(text),
            Some(Overlay::Question(question)) => question.editor.insert(text),
            Some(_) => {}
            None if self.scroll.is_some() || self.tables.has_keys => {}
            None => match self.cannot_type() {
                Some(why) => self.say(why, false),
                None => {
                    let role = self.focus;
                    let bytes = encode_paste(text, self.focused().screen.modes());
                    self.await_echo(role);
                    out.push(Effect::Write(role, bytes));
                }
            },
        }
        self.is_changed = true;
    }

    fn prefixed(&mut self, key: &Key, out: &mut Vec<Effect>) {
        if self.opening.keys.is_prefix(key) {
            if self.overlay.is_none() && self.scroll.is_none() {
                self.forward(key, out);
            }
            return;
        }
        match self.opening.keys.action(key) {
            Some(action) => self.act(action, out),
            None if key.code == Code::Esc => {}
            None => {
                let shown = Chord::of(key).shown();
                let help = self.opening.keys.key_of(Action::Help).unwrap_or_default();
                let prefix = self.opening.keys.prefix.shown();
                self.say(
                    format!("{prefix} {shown} does nothing · {prefix} {help} lists the keys"),
                    false,
                );
            }
        }
    }

    /// Why an action cannot be done now; none when it can.
    pub fn cannot(&self, action: Action) -> Option<String> {
        let none = |what: &str| Some(what.to_owned());
        let acts = matches!(
            action,
            Action::Discuss
                | Action::Brief
                | Action::Answer
                | Action::StopWaiting
                | Action::Restart
                | Action::TypeToPeer
        );
        if self.replay.is_some() && acts {
            return none("this is a replay: nobody is there to be asked");
        }
        match action {
            Action::Brief | Action::Discuss => self.cannot_ask(),
            Action::Timeline | Action::CopyReview if self.ledger.entries.is_empty() => {
                none("no round yet")
            }
            Action::Answer if self.ledger.open_question().is_none() => {
                none("nothing was asked of you")
            }
            Action::StopWaiting if self.asking.is_none() => none("nothing is waited for"),
            Action::Other if self.driver.is_none() => none("there is only the peer"),
            Action::TypeToPeer if self.asking.is_some() => none("a round is going on"),
            Action::Restart if self.asking.is_some() && self.focus == Role::Peer => {
                none("a round is going on")
            }
            _ => None,
        }
    }

    /// Does what a key asks for.
    pub fn act(&mut self, action: Action, out: &mut Vec<Effect>) {
        self.is_changed = true;
        // A message may be written while nothing can be sent.
        if let Some(why) = self
            .cannot(action)
            .filter(|_| action != Action::Discuss || self.replay.is_some())
        {
            return self.say(why, false);
        }
        match action {
            Action::Discuss => self.overlay = Some(Overlay::Composer),
            Action::Brief => self.ask(Ask::Brief { force: true }, out),
            Action::Other => self.set_focus(self.focus.other(), out),
            Action::Zoom => {
                self.is_zoomed = !self.is_zoomed;
                self.arrange();
            }
            Action::Receipts => self.toggle(Table::Receipts),
            Action::Fallbacks => self.toggle(Table::Fallbacks),
            Action::Timeline => {
                if let Some(entry) = self.ledger.last() {
                    self.read(entry);
                }
            }
            Action::Scroll => self.begin_scroll(false),
            Action::CopyReview => {
                let text = self.ledger.entries.last().map(super::ledger::Entry::text);
                self.copy(text.unwrap_or_default(), out);
            }
            Action::Answer => {
                if let Some(entry) = self.ledger.open_question() {
                    self.overlay = Some(Overlay::Question(self.question(entry)));
                }
            }
            Action::StopWaiting => out.push(Effect::StopWaiting),
            Action::Restart => {
                let role = self.focus;
                if let Some(pane) = self.pane_mut(role) {
                    pane.life = Life::Starting;
                }
                self.notice = None;
                out.push(Effect::Restart(role));
            }
            Action::Explain => self.overlay = Some(Overlay::Explain),
            Action::Columns => self.set_layout(Layout::Columns),
            Action::Rows => self.set_layout(Layout::Rows),
            Action::TypeToPeer => self.type_to_peer(out),
            Action::Help => self.overlay = Some(Overlay::Help(Help::default())),
            Action::Redraw => out.push(Effect::Redraw),
            Action::Suspend => out.push(Effect::Suspend),
            Action::Quit => self.quit(out),
        }
    }

    fn set_layout(&mut self, layout: Layout) {
        // The same key once more leaves it to the width.
        self.layout = if self.layout == layout && !self.is_zoomed {
            Layout::Auto
        } else {
            layout
        };
        self.is_zoomed = false;
        self.arrange();
    }

    fn type_to_peer(&mut self, out: &mut Vec<Effect>) {
        self.types_to_peer = !self.types_to_peer;
        if self.types_to_peer {
            self.set_focus(Role::Peer, out);
            self.say("you type into the peer now", false);
        } else {
            self.say("the peer only reads again", false);
        }
    }

    fn quit(&mut self, out: &mut Vec<Effect>) {
        if self.asking.is_some() {
            self.overlay = Some(Overlay::Quit);
        } else {
            out.push(Effect::Quit);
        }
    }

    fn toggle(&mut self, table: Table) {
        let tables = &mut self.tables;
        if tables.is_shown && tables.table == table && tables.has_keys {
            tables.is_shown = false;
            tables.has_keys = false;
        } else {
            tables.is_shown = true;
            tables.has_keys = true;
            tables.table = table;
            tables.select(0);
            self.see(table);
        }
        self.arrange();
    }

    /// The rows of a table count as seen.
    fn see(&mut self, table: Table) {
        match table {
            Table::Receipts => self
                .ledger
                .receipts
                .iter_mut()
                .for_each(|row| row.is_seen = true),
            Table::Fallbacks => self
                .ledger
                .fallbacks
                .iter_mut()
                .for_each(|row| row.is_seen = true),
        }
    }

    pub(super) fn begin_scroll(&mut self, is_passing: bool) {
        let window = self.window(self.focus);
        self.scroll = Some(Scroll::new(
            self.focus,
            &self.focused().screen,
            window,
            is_passing,
        ));
        self.is_changed = true;
    }

    /// Opens the reader.
    pub(super) fn read(&mut self, entry: usize) {
        if let Some(found) = self.ledger.entries.get_mut(entry) {
            found.is_seen = true;
            self.overlay = Some(Overlay::Reader(Reader { entry, top: 0 }));
            self.is_changed = true;
        }
    }

    fn table_key(&mut self, key: &Key) {
        let (code, _) = key.command();
        let count = match self.tables.table {
            Table::Receipts => self.ledger.receipts.len(),
            Table::Fallbacks => self.ledger.fallbacks.len(),
        };
        let at = self.tables.at();
        match code {
            Code::Esc | Code::Char('q') => {
                self.tables.has_keys = false;
                if self.places.is_some_and(|places| places.tables_float) {
                    self.tables.is_shown = false;
                }
                self.arrange();
            }
            Code::Up | Code::Char('k') => self.tables.select(at.saturating_sub(1)),
            Code::Down | Code::Char('j') => {
                self.tables.select((at + 1).min(count.saturating_sub(1)));
            }
            Code::Tab | Code::Left | Code::Right | Code::Char('h' | 'l') => {
                self.tables.table = match self.tables.table {
                    Table::Receipts => Table::Fallbacks,
                    Table::Fallbacks => Table::Receipts,
                };
                self.see(self.tables.table);
            }
            Code::Char('+') => self.size_tables(1),
            Code::Char('-') => self.size_tables(-1),
            Code::Enter if at < count => {
                self.overlay = Some(Overlay::Receipt(self.tables.table, count - 1 - at, 0));
            }
            _ => {}
        }
    }

    fn size_tables(&mut self, by: i16) {
        self.tables.rows = self.tables.rows.saturating_add_signed(by).clamp(3, 20);
        self.arrange();
    }

    fn overlay_key(&mut self, key: &Key, out: &mut Vec<Effect>) {
        let Some(overlay) = self.overlay.take() else {
            return;
        };
        self.overlay = match overlay {
            Overlay::Composer => self.composer_key(key, out),
            Overlay::Reader(reader) => self.reader_key(reader, key, out),
            Overlay::Question(question) => self.question_key(question, key, out),
            Overlay::Help(help) => help_key(help, key),
            Overlay::Receipt(table, at, top) => receipt_key(table, at, top, key),
            Overlay::Explain => None,
            Overlay::Choice(choice) => match choice.key(key) {
                Chosen::Stays(choice) => Some(Overlay::Choice(choice)),
                Chosen::Takes(id) => {
                    out.push(Effect::Replay(Wish::Open(id)));
                    None
                }
                Chosen::Leaves => {
                    out.push(Effect::Quit);
                    None
                }
            },
            Overlay::Quit => {
                if matches!(key.command().0, Code::Char('y' | 'Y' | 'q') | Code::Enter) {
                    out.push(Effect::Quit);
                }
                None
            }
        };
    }

    fn composer_key(&mut self, key: &Key, out: &mut Vec<Effect>) -> Option<Overlay> {
        match self.composer.key(key) {
            Composed::Stays => Some(Overlay::Composer),
            Composed::Closes => None,
            Composed::Edits(text) => {
                out.push(Effect::Edit(text));
                Some(Overlay::Composer)
            }
            Composed::Sends(ask) => match self.cannot_ask() {
                Some(why) => {
                    self.composer.fault = Some(why);
                    Some(Overlay::Composer)
                }
                None => {
                    self.composer.sent();
                    self.ask(ask, out);
                    None
                }
            },
        }
    }

    fn question_key(
        &mut self,
        mut question: Question,
        key: &Key,
        out: &mut Vec<Effect>,
    ) -> Option<Overlay> {
        let waits = self.ledger.waiting(question.entry).map(str::to_owned);
        match question.key(key, self.driver.is_some() || waits.is_some()) {
            Decided::Stays => Some(Overlay::Question(question)),
            Decided::Aside => {
                if let Some(entry) = self.ledger.entries.get_mut(question.entry) {
                    entry.is_aside = true;
                }
                if let Some(client) = waits {
                    self.decided(question.entry, None, out);
                    self.say(
                        format!("{client} is told that you have not decided yet"),
                        false,
                    );
                }
                None
            }
            Decided::Answers(answer) => match self.answer(&question, &answer, out) {
                Some(fault) => {
                    question.fault = Some(fault);
                    Some(Overlay::Question(question))
                }
                None => {
                    if let Some(entry) = self.ledger.entries.get_mut(question.entry) {
                        entry.is_open = false;
                        entry.is_seen = true;
                    }
                    None
                }
            },
        }
    }

    /// Gives a person's decision to whom it is for; says why it cannot be given.
    fn answer(
        &mut self,
        question: &Question,
        answer: &str,
        out: &mut Vec<Effect>,
    ) -> Option<String> {
        let words = format!("The person decides: {answer}");
        let waits = self.ledger.waiting(question.entry).map(str::to_owned);
        match question.to {
            Role::Peer => {
                if let Some(why) = self.cannot_ask() {
                    return Some(why);
                }
                if waits.is_some() {
                    // Who asked hears of it too.
                    self.decided(question.entry, Some(answer), out);
                }
                let kind = Kind::Question;
                let diff = false;
                self.ask(Ask::Discuss { kind, words, diff }, out);
            }
            Role::Driver if waits.is_some() => {
                self.decided(question.entry, Some(answer), out);
                let client = waits.unwrap_or_default();
                self.say(format!("your answer was given to {client}"), false);
            }
            Role::Driver => {
                let Some(pane) = self.driver.as_ref().filter(|pane| pane.is_alive()) else {
                    return Some(
                        "the driver has ended; Tab gives the answer to the peer".to_owned(),
                    );
                };
                // It is pasted, not submitted: the person sees it in the driver's input box and sends it.
                let bytes = encode_paste(&words, pane.screen.modes());
                out.push(Effect::Write(Role::Driver, bytes));
                self.set_focus(Role::Driver, out);
                self.say(
                    "your answer stands in the driver's input box: Enter sends it",
                    false,
                );
            }
        }
        None
    }

    /// Gives the call that waits for it the person's decision, or that there is none.
    fn decided(&mut self, entry: usize, answer: Option<&str>, out: &mut Vec<Effect>) {
        if let Some(entry) = self.ledger.entries.get_mut(entry) {
            entry.waits = false;
        }
        out.push(Effect::Decide(answer.map(str::to_owned)));
    }

    fn reader_key(
        &mut self,
        mut reader: Reader,
        key: &Key,
        out: &mut Vec<Effect>,
    ) -> Option<Overlay> {
        let (code, mods) = key.command();
        let last = self.ledger.entries.len().saturating_sub(1);
        match (code, mods) {
            (Code::Esc | Code::Char('q'), _) => return None,
            (Code::Up | Code::Char('k'), _) => reader.top = reader.top.saturating_sub(1),
            (Code::Down | Code::Char('j'), _) => reader.top += 1,
            (Code::PageUp | Code::Char('b'), _) => reader.top = reader.top.saturating_sub(10),
            (Code::PageDown | Code::Char(' '), _) => reader.top += 10,
            (Code::Home | Code::Char('g'), _) => reader.top = 0,
            (Code::End | Code::Char('G'), _) => reader.top = usize::MAX / 2,
            (Code::Left | Code::Char('p'), _) => {
                self.read(reader.entry.saturating_sub(1));
                return self.overlay.take();
            }
            (Code::Right | Code::Char('n'), _) => {
                self.read((reader.entry + 1).min(last));
                return self.overlay.take();
            }
            (Code::Char('y'), _) => {
                let text = self
                    .ledger
                    .entries
                    .get(reader.entry)
                    .map(super::ledger::Entry::text);
                self.copy(text.unwrap_or_default(), out);
            }
            _ => {}
        }
        Some(Overlay::Reader(reader))
    }
}

fn is_modifier(key: &Key) -> bool {
    matches!(key.code, Code::Other(_))
}

fn receipt_key(table: Table, at: usize, top: usize, key: &Key) -> Option<Overlay> {
    let top = match key.command().0 {
        Code::Esc | Code::Char('q') | Code::Enter => return None,
        Code::Up | Code::Char('k') => top.saturating_sub(1),
        Code::Down | Code::Char('j') => top + 1,
        Code::PageUp => top.saturating_sub(10),
        Code::PageDown => top + 10,
        _ => top,
    };
    Some(Overlay::Receipt(table, at, top))
}

fn help_key(mut help: Help, key: &Key) -> Option<Overlay> {
    match key.code {
        Code::Esc if help.search.is_empty() => return None,
        Code::Esc => help.search.clear(),
        Code::Enter => return None,
        Code::Up => help.top = help.top.saturating_sub(1),
        Code::Down => help.top += 1,
        Code::PageUp => help.top = help.top.saturating_sub(10),
        Code::PageDown => help.top += 10,
        Code::Backspace => {
            help.search.pop();
            help.top = 0;
        }
        _ => {
            if let Some(text) = key.typed() {
                help.search.push_str(&text);
                help.top = 0;
            }
        }
    }
    Some(Overlay::Help(help))
}
