//! What lies over the panes: composer, reader, question, help, receipt, explanation (console.md).

use ratatui::style::{Modifier, Style};

use super::Look;
use super::frame::{keys, outcome, summary};
use super::paint::{Caret, Frame};
use super::text::{Piece, outside, piece, row, took};
use crate::app::choice::Choice;
use crate::app::event::{FellBack, Receipted};
use crate::app::layout::{Area, Places};
use crate::app::{Action, App, Chord, Editor, Help, Overlay, Question, Reader, Role, Table, wrap};
use crate::plain;

/// Draws what lies over the panes; gives the cursor where something is written.
pub(super) fn draw(frame: &mut Frame, app: &App, look: &Look) -> Option<Caret> {
    let (Some(places), Some(overlay)) = (app.places, &app.overlay) else {
        return None;
    };
    match overlay {
        Overlay::Composer => Some(composer(frame, &places, app, look)),
        Overlay::Reader(reader) => {
            read(frame, &places, app, *reader, look);
            None
        }
        Overlay::Question(question) => Some(ask(frame, &places, app, question, look)),
        Overlay::Help(help) => {
            list_keys(frame, &places, app, help, look);
            None
        }
        Overlay::Receipt(table, at, top) => {
            whole_receipt(frame, &places, app, (*table, *at, *top), look);
            None
        }
        Overlay::Explain => {
            explain(frame, &places, app, look);
            None
        }
        Overlay::Choice(choice) => {
            choose(frame, &places, choice, look);
            None
        }
        Overlay::Quit => {
            quit(frame, &places, app, look);
            None
        }
    }
}

/// A list to choose from, over all of the panes.
fn choose(frame: &mut Frame, places: &Places, choice: &Choice, look: &Look) {
    let theme = &look.theme;
    let heading = vec![
        piece("sessions", theme.accent),
        piece("   Enter replays one, q leaves", theme.dim),
    ];
    let inside = panel(frame, places.panes, heading, look);
    let height = usize::from(inside.rows).max(1);
    let top = (choice.at + 1).saturating_sub(height);
    for line in 0..inside.rows {
        let at = top + usize::from(line);
        let style = match at == choice.at {
            true => theme.panel.patch(theme.selected),
            false => theme.panel,
        };
        let text = choice.rows.get(at).map(|(_, text)| outside(text, 400));
        let pieces: Vec<Piece> = text.map(|text| piece(text, style)).into_iter().collect();
        row(frame, inside, line, &pieces, style);
    }
}

/// A panel: its heading, and where its text goes.
fn panel(frame: &mut Frame, area: Area, heading: Vec<Piece>, look: &Look) -> Area {
    let base = look.theme.panel;
    for at in 0..area.rows {
        row(frame, area, at, &[], base);
    }
    let mut head = vec![piece(" ", base)];
    head.extend(heading.into_iter().map(|mut piece| {
        piece.style = base.patch(piece.style);
        piece
    }));
    row(frame, area, 0, &head, base);
    if let Some(at) = area.col.checked_sub(1) {
        // What lies beside it stays apart.
        let side = Area::new(at, area.row, 1, area.rows);
        for at in 0..side.rows {
            row(
                frame,
                side,
                at,
                &[piece(look.glyphs.vertical, look.theme.rule)],
                look.theme.rule,
            );
        }
    }
    Area::new(
        area.col + 1,
        area.row + 1,
        area.cols.saturating_sub(2),
        area.rows.saturating_sub(1),
    )
}

/// At the bottom of the panes, a share of their height.
fn bottom(places: &Places, share: u16, least: u16) -> Area {
    let all = places.panes;
    let rows = (all.rows / share).max(least).min(all.rows);
    Area::new(all.col, all.row + all.rows - rows, all.cols, rows)
}

/// In the middle of the panes.
fn middle(places: &Places, cols: u16, rows: u16) -> Area {
    let all = places.panes;
    let (cols, rows) = (cols.min(all.cols), rows.min(all.rows));
    Area::new(
        all.col + (all.cols - cols) / 2,
        all.row + (all.rows - rows) / 2,
        cols,
        rows,
    )
}

/// Draws rows of text from `top` on; gives the first row that is shown in fact.
fn text(
    frame: &mut Frame,
    area: Area,
    lines: &[(String, Style)],
    top: usize,
    look: &Look,
) -> usize {
    let base = look.theme.panel;
    let top = top.min(lines.len().saturating_sub(usize::from(area.rows)));
    for at in 0..area.rows {
        let pieces: Vec<Piece> = lines
            .get(top + usize::from(at))
            .map(|(text, style)| piece(text.clone(), base.patch(*style)))
            .into_iter()
            .collect();
        row(frame, area, at, &pieces, base);
    }
    top
}

/// Text from outside as the rows of a panel.
fn wrapped(text: &str, cols: u16, style: Style) -> Vec<(String, Style)> {
    let text = plain::block(text);
    let rows = wrap::rows(&text, usize::from(cols));
    rows.into_iter()
        .map(|(_, row)| (row.to_owned(), style))
        .collect()
}

/// Draws a text that is being written, the cursor in view; gives the cursor.
fn editor(frame: &mut Frame, area: Area, editor: &Editor, look: &Look) -> Caret {
    let shown = editor.text().replace('\t', " ");
    let rows = wrap::rows(&shown, usize::from(area.cols.saturating_sub(1)));
    let at = rows
        .iter()
        .rposition(|(start, _)| *start <= editor.at())
        .unwrap_or(0);
    let (start, _) = rows.get(at).copied().unwrap_or_default();
    let before = shown.get(start..editor.at()).unwrap_or_default();
    let height = usize::from(area.rows).max(1);
    let top = (at + 1).saturating_sub(height);
    for line in 0..area.rows {
        let text = rows
            .get(top + usize::from(line))
            .map_or("", |(_, row)| *row);
        row(
            frame,
            area,
            line,
            &[piece(text, look.theme.panel)],
            look.theme.panel,
        );
    }
    let col = u16::try_from(unicode_width::UnicodeWidthStr::width(before)).unwrap_or(0);
    Caret {
        col: area.col + col.min(area.cols.saturating_sub(1)),
        row: area.row
            + u16::try_from(at - top)
                .unwrap_or(0)
                .min(area.rows.saturating_sub(1)),
        shape: 0,
    }
}

fn composer(frame: &mut Frame, places: &Places, app: &App, look: &Look) -> Caret {
    let theme = &look.theme;
    let composer = &app.composer;
    let diff = if composer.diff {
        "with the diff"
    } else {
        "no diff"
    };
    let mut head = vec![
        piece("to the peer  ", theme.accent),
        piece(
            format!("{}  ", composer.kind()),
            theme.text.add_modifier(Modifier::BOLD),
        ),
        piece(format!("{} {diff}", look.glyphs.dot), theme.dim),
    ];
    let why = composer.fault.clone().or_else(|| app.cannot_ask());
    if let Some(why) = why {
        head.push(piece(format!("  {}", outside(&why, 200)), theme.fault));
    }
    let area = bottom(places, 3, 5);
    let inside = panel(frame, area, head, look);
    editor(frame, inside, &composer.editor, look)
}

fn read(frame: &mut Frame, places: &Places, app: &App, reader: Reader, look: &Look) {
    let Some(entry) = app.ledger.entries.get(reader.entry) else {
        return;
    };
    let theme = &look.theme;
    let all = places.panes;
    let cols = if all.cols >= 90 {
        all.cols * 2 / 3
    } else {
        all.cols
    };
    let area = Area::new(all.col + all.cols - cols, all.row, cols, all.rows);
    let (word, style) = summary(entry, look);
    let number = format!("{} {}  ", entry.kind, entry.number);
    let time = format!(
        "  {} {} {}",
        took(entry.elapsed_ms),
        look.glyphs.dot,
        entry.at
    );
    let place = format!("   {}/{}", reader.entry + 1, app.ledger.entries.len());
    let inside = panel(
        frame,
        area,
        vec![
            piece(number, theme.accent),
            piece(word, style),
            piece(time, theme.dim),
            piece(place, theme.dim),
        ],
        look,
    );
    let mut lines = vec![(String::new(), theme.text)];
    for remark in &entry.remarks {
        lines.extend(wrapped(
            &format!("{} {remark}", look.glyphs.dot),
            inside.cols,
            theme.fault,
        ));
    }
    lines.extend(wrapped(&entry.text(), inside.cols, theme.text));
    if !entry.asked.is_empty() {
        lines.push((String::new(), theme.text));
        let asked = match &entry.by {
            Some(by) => format!("asked by {by}:"),
            None => "asked:".to_owned(),
        };
        lines.push((asked, theme.dim));
        lines.extend(wrapped(&entry.asked, inside.cols, theme.dim));
    }
    text(frame, inside, &lines, reader.top, look);
}

fn ask(frame: &mut Frame, places: &Places, app: &App, question: &Question, look: &Look) -> Caret {
    let theme = &look.theme;
    let area = middle(
        places,
        places.panes.cols * 4 / 5,
        places.panes.rows.saturating_sub(2).max(6),
    );
    let to = match (question.to, app.ledger.waiting(question.entry)) {
        (Role::Driver, Some(client)) => format!(
            "{} waits: your answer is given to it as yours",
            outside(client, 60)
        ),
        (Role::Driver, None) => "your answer goes into the driver's input box".to_owned(),
        (Role::Peer, _) => "your answer goes to the peer as the next message".to_owned(),
    };
    let mut head = vec![
        piece("the peer asks you to decide  ", theme.accent),
        piece(format!("{} {to}", look.glyphs.dot), theme.dim),
    ];
    if let Some(fault) = &question.fault {
        head.push(piece(format!("  {}", outside(fault, 200)), theme.fault));
    }
    let inside = panel(frame, area, head, look);
    let answer_rows = 3.min(inside.rows);
    let above = Area {
        rows: inside.rows - answer_rows,
        ..inside
    };
    let mut lines = Vec::new();
    if let Some(entry) = app.ledger.entries.get(question.entry) {
        let title = |text: &str| (text.to_owned(), theme.accent);
        lines.push(title("The peer's question and position"));
        if let crate::app::ledger::Came::Review(round) = &entry.came {
            lines.extend(wrapped(round.reading.rationale(), above.cols, theme.text));
        }
        lines.push((String::new(), theme.text));
        lines.push(title("What the peer was asked"));
        lines.extend(wrapped(&entry.asked, above.cols, theme.text));
    }
    text(frame, above, &lines, question.top, look);
    let rule = look.glyphs.horizontal.repeat(usize::from(inside.cols));
    let line = Area::new(inside.col, inside.row + above.rows, inside.cols, 1);
    row(
        frame,
        line,
        0,
        &[piece(rule, theme.panel.patch(theme.rule))],
        theme.panel,
    );
    let box_of = Area::new(
        inside.col,
        line.row + 1,
        inside.cols,
        answer_rows.saturating_sub(1),
    );
    editor(frame, box_of, &question.editor, look)
}

/// What the keys do that follow no prefix.
const OTHER_KEYS: [(&str, &str, &str); 16] = [
    ("composer", "Enter", "send the message"),
    ("composer", "Alt-Enter, ^J", "a new line"),
    (
        "composer",
        "Tab",
        "the kind: implementation, plan, question",
    ),
    ("composer", "^T", "append the working tree's diff, or not"),
    ("composer", "^G", "write it in $VISUAL or $EDITOR"),
    ("composer", "Up, Down", "earlier messages"),
    ("reader", "Left, Right", "the review before, the next one"),
    ("reader", "y", "copy the review"),
    (
        "scrolled",
        "/ n N",
        "search by a pattern, further up, further down",
    ),
    ("scrolled", "v ^V", "select running text, or a rectangle"),
    ("scrolled", "Enter, y", "copy what is selected"),
    ("tables", "Enter", "the whole receipt"),
    ("tables", "+ -", "higher, lower"),
    (
        "question",
        "Tab",
        "the answer goes to the driver, or to the peer",
    ),
    ("mouse", "wheel, drag", "scroll; select and copy"),
    (
        "mouse",
        "Shift",
        "the mouse is the console's, whatever the child wants",
    ),
];

fn list_keys(frame: &mut Frame, places: &Places, app: &App, help: &Help, look: &Look) {
    let theme = &look.theme;
    let area = middle(places, 78, places.panes.rows);
    let mut head = vec![piece("keys  ", theme.accent)];
    if !help.search.is_empty() {
        head.push(piece(
            format!("matching: {}", outside(&help.search, 60)),
            theme.text,
        ));
    }
    let inside = panel(frame, area, head, look);
    let wanted = help.search.to_lowercase();
    let matches = |text: &str| wanted.is_empty() || text.to_lowercase().contains(&wanted);
    let mut lines = Vec::new();
    for action in Action::all() {
        let key = match app.opening.keys.key_of(action) {
            Some(_) => keys(app, action),
            None => "no key".to_owned(),
        };
        let mut line = format!("{key:<16} {}", action.help());
        let mut style = theme.text;
        if let Some(why) = app.cannot(action) {
            line.push_str(&format!("  ({why})"));
            style = theme.dim;
        }
        if matches(&line) {
            lines.push((line, style));
        }
    }
    let prefix = app.opening.keys.prefix.shown();
    let twice = format!("{prefix} {prefix:<13} sends {prefix} itself");
    if matches(&twice) {
        lines.push((twice, theme.text));
    }
    let mut context = "";
    for (of, key, what) in OTHER_KEYS {
        let line = format!("{key:<16} {what}");
        if matches(&line) || matches(of) {
            if of != context {
                lines.push((String::new(), theme.text));
                lines.push((of.to_owned(), theme.accent));
                context = of;
            }
            lines.push((line, theme.text));
        }
    }
    if lines.is_empty() {
        lines.push(("no key does that".to_owned(), theme.dim));
    }
    text(frame, inside, &lines, help.top, look);
}

fn whole_receipt(
    frame: &mut Frame,
    places: &Places,
    app: &App,
    (table, at, top): (Table, usize, usize),
    look: &Look,
) {
    let ledger = &app.ledger;
    let found = match table {
        Table::Receipts => ledger.receipts.get(at).map(|marked| {
            let Receipted { id, receipt, at } = &marked.row;
            let value = serde_json::to_value(receipt).unwrap_or_default();
            (id, at, outcome(receipt.outcome), value)
        }),
        Table::Fallbacks => ledger.fallbacks.get(at).map(|marked| {
            let FellBack { id, receipt, at } = &marked.row;
            let value = serde_json::to_value(receipt).unwrap_or_default();
            (id, at, "fell back", value)
        }),
    };
    let Some((id, at, word, value)) = found else {
        return;
    };
    let theme = &look.theme;
    let area = middle(places, 90, places.panes.rows);
    let id = id.clone().unwrap_or_else(|| "not written".to_owned());
    let head = vec![
        piece("receipt  ", theme.accent),
        piece(format!("{id}  "), theme.text),
        piece(format!("{at}  {word}"), theme.dim),
    ];
    let inside = panel(frame, area, head, look);
    let mut lines = Vec::new();
    flatten("", &value, &mut |name, value| {
        let line = format!("{name:<22} {value}");
        lines.extend(wrapped(&line, inside.cols, theme.text));
    });
    text(frame, inside, &lines, top, look);
}

/// The fields of a value, one line each.
fn flatten(name: &str, value: &serde_json::Value, tell: &mut dyn FnMut(&str, &str)) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name}.{key}")
                };
                flatten(&name, value, tell);
            }
        }
        serde_json::Value::Null => tell(name, "not known"),
        serde_json::Value::String(text) => tell(name, &outside(text, 200)),
        serde_json::Value::Array(items) if items.is_empty() => tell(name, "none"),
        other => tell(name, &outside(&other.to_string(), 200)),
    }
}

fn explain(frame: &mut Frame, places: &Places, app: &App, look: &Look) {
    let theme = &look.theme;
    let area = middle(places, 84, 18);
    let inside = panel(frame, area, vec![piece("why", theme.accent)], look);
    let mut lines = Vec::new();
    for role in [Role::Driver, Role::Peer] {
        let Some(pane) = app.pane(role) else {
            continue;
        };
        let doing = &pane.doing;
        lines.push((
            format!("{} ({})", role.word(), pane.profile.name),
            theme.accent,
        ));
        let what = format!("  {} by the rule {}", doing.activity.word(), doing.rule);
        lines.extend(wrapped(&what, inside.cols, theme.text));
        if !doing.evidence.is_empty() {
            let line = format!("  its line: {}", outside(&doing.evidence, 200));
            lines.extend(wrapped(&line, inside.cols, theme.dim));
        }
        if !pane.screen.title().is_empty() {
            let line = format!("  its title: {}", outside(pane.screen.title(), 200));
            lines.extend(wrapped(&line, inside.cols, theme.dim));
        }
        if let Some(state) = pane.screen.agent_state() {
            lines.extend(wrapped(
                &format!("  it reports: {}", outside(state, 60)),
                inside.cols,
                theme.dim,
            ));
        }
        lines.push((String::new(), theme.text));
    }
    if let Some(asking) = &app.asking {
        lines.push(("the round".to_owned(), theme.accent));
        let line = match asking.exchange() {
            Some(exchange) => {
                let status = exchange.status();
                let seen = exchange.delivered();
                let yes = |is: bool| if is { "yes" } else { "not yet" };
                format!(
                    "  {}: the peer is {} by {} · pasted {} · submitted {} · turn started {}",
                    status.stage,
                    status.activity.word(),
                    status.rule,
                    yes(seen.pasted),
                    yes(seen.submitted),
                    yes(seen.turn_started),
                )
            }
            None => format!("  {}", asking.stage),
        };
        lines.extend(wrapped(&line, inside.cols, theme.text));
    }
    text(frame, inside, &lines, 0, look);
}

fn quit(frame: &mut Frame, places: &Places, app: &App, look: &Look) {
    let theme = &look.theme;
    let area = middle(places, 66, 6);
    let inside = panel(
        frame,
        area,
        vec![piece("a round is going on", theme.fault)],
        look,
    );
    let agents = match app.driver {
        Some(_) => "Both agents and all they started are ended",
        None => "The peer and all it started is ended",
    };
    let lines: Vec<(String, Style)> = wrapped(
        &format!(
            "{agents}; the receipt will say that the round was interrupted, and the recording is kept.\n\ny quit · any other key stays"
        ),
        inside.cols,
        theme.text,
    );
    text(frame, inside, &lines, 0, look);
}

/// The first-start hint, where the peer will be.
pub(super) fn hint(frame: &mut Frame, area: Area, app: &App, look: &Look) {
    let theme = &look.theme;
    let prefix = Chord::shown(&app.opening.keys.prefix);
    let key = |action| keys(app, action);
    let lines = [
        "The peer reads along and reviews; it is started so that it cannot write.".to_owned(),
        format!(
            "{} asks it for a review; its verdict comes back here.",
            key(Action::Discuss)
        ),
        format!(
            "{} shows every key, {} leaves. All else goes to the driver ({prefix} is yours).",
            key(Action::Help),
            key(Action::Quit)
        ),
    ];
    let from = area.rows.saturating_sub(5) / 2;
    for (at, line) in lines.iter().enumerate() {
        let rows = wrap::rows(line, usize::from(area.cols.saturating_sub(4)));
        let first = rows.first().map_or("", |(_, row)| *row);
        let at = from + u16::try_from(at).unwrap_or(0);
        row(
            frame,
            area,
            at,
            &[piece(format!("  {first}"), theme.dim)],
            theme.text,
        );
    }
}

/// Why there is no child, in its place.
pub(super) fn failure(frame: &mut Frame, area: Area, why: &str, look: &Look) {
    let cols = area.cols.saturating_sub(4);
    for (at, (text, style)) in wrapped(why, cols, look.theme.fault).into_iter().enumerate() {
        let at = u16::try_from(at + 1).unwrap_or(u16::MAX);
        row(
            frame,
            area,
            at,
            &[piece(format!("  {text}"), style)],
            look.theme.text,
        );
    }
}
