//! The frame around the panes: top line, titles, rule, strip of rounds, tables, status line (console.md).

use std::collections::BTreeMap;

use ratatui::style::{Modifier, Style};

use super::Look;
use super::paint::Frame;
use super::text::{Piece, clock, line, outside, piece, row, took, width};
use crate::app::event::{FellBack, Receipted};
use crate::app::layout::Area;
use crate::app::ledger::{Came, Entry};
use crate::app::replay::{Prompt, Replay, Sign};
use crate::app::{Action, App, Life, Overlay, Pane, Role, Table};
use crate::pairing::{Activity, Exchange};
use crate::recording::receipt::Outcome;
use crate::recording::word::{Kind, Source};

/// Draws all of it but the panes' screens.
pub(super) fn draw(frame: &mut Frame, app: &App, look: &Look) {
    let Some(places) = app.places else {
        return;
    };
    top(frame, places.top, app, look);
    for role in [Role::Driver, Role::Peer] {
        if let Some(pane) = app.pane(role) {
            title(frame, places.of(role).title, pane, app, look);
        }
    }
    rule(frame, places.rule, look);
    match &app.replay {
        Some(replay) => timeline(frame, places.strip, replay, look),
        None => strip(frame, places.strip, app, look),
    }
    if !places.tables_float {
        tables(frame, app, look);
    }
    status(frame, places.status, app, look);
}

fn blank(style: Style) -> Piece {
    piece(" ", style)
}

fn top(frame: &mut Frame, area: Area, app: &App, look: &Look) {
    let (theme, glyphs) = (&look.theme, &look.glyphs);
    let name = outside(&app.opening.repository, 40);
    let mut left = vec![piece(format!(" {name}"), theme.accent)];
    if let Some(branch) = &app.branch {
        let changed = if branch.is_changed { "*" } else { "" };
        let text = format!(" {} {}{changed}", glyphs.branch, outside(&branch.name, 40));
        left.push(piece(text, theme.dim));
    }
    let mut right = hidden(app, look);
    let rounds = app.ledger.of_topic();
    if let Some(asking) = &app.asking {
        let waited = clock(app.now.saturating_sub(asking.since));
        let what = match asking.kind {
            Kind::Brief => "brief".to_owned(),
            kind => format!("round {} of this topic {} {kind}", rounds + 1, glyphs.dot),
        };
        let spinner = match glyphs.spinner(app.now) {
            "" => String::new(),
            picture => format!("{picture} "),
        };
        right.push(piece(format!("{what}   "), theme.dim));
        right.push(piece(
            format!("{spinner}{} {waited} ", asking.stage),
            theme.accent,
        ));
    } else if app.ledger.is_stuck() {
        let text = format!("{rounds} rounds on this topic without AGREE ");
        right.push(piece(text, theme.fault));
    } else if rounds > 0 {
        let plural = if rounds == 1 { "" } else { "s" };
        right.push(piece(
            format!("{rounds} round{plural} on this topic "),
            theme.dim,
        ));
    }
    line(frame, area, &left, &right, &blank(theme.text));
}

/// What the pane does that is not shown.
fn hidden(app: &App, look: &Look) -> Vec<Piece> {
    let Some(places) = app.places else {
        return Vec::new();
    };
    let mut panes = app.driver.iter().chain([&app.peer]);
    let Some(pane) = panes.find(|pane| places.of(pane.role).screen.is_empty()) else {
        return Vec::new();
    };
    let (state, style) = state(pane, app, look);
    vec![
        piece(format!("{} ", pane.role.word()), look.theme.dim),
        piece(format!("{state}   "), style.patch(look.theme.dim)),
    ]
}

fn title(frame: &mut Frame, area: Area, pane: &Pane, app: &App, look: &Look) {
    let (theme, glyphs) = (&look.theme, &look.glyphs);
    let has_focus = pane.role == app.focus;
    let (name, rest) = match has_focus {
        true => (theme.accent, theme.text),
        false => (theme.dim, theme.dim),
    };
    let version = pane.version.as_deref().map(short).unwrap_or_default();
    let word = match &app.replay {
        Some(replay) if replay.is_alone => "recording",
        _ => pane.role.word(),
    };
    let mut left = vec![
        piece(format!(" {word}"), name),
        piece(
            format!("  {} {version}", pane.profile.name)
                .trim_end()
                .to_owned(),
            rest,
        ),
    ];
    let dot = format!(" {} ", glyphs.dot);
    if pane.role == Role::Peer {
        let badge = format!("{dot}read-only {} {}", glyphs.shield, app.opening.confined);
        left.push(piece(badge, theme.dim));
    }
    let (state, style) = state(pane, app, look);
    left.push(piece(dot.clone(), theme.dim));
    left.push(piece(
        state,
        if has_focus {
            style
        } else {
            style.patch(theme.dim)
        },
    ));
    let mut right = Vec::new();
    if let Some(scroll) = app
        .scroll
        .as_ref()
        .filter(|scroll| scroll.role == pane.role)
    {
        let above = scroll.above(&pane.screen);
        let hits = match (scroll.hit, scroll.hits.len()) {
            (Some(at), count) => format!("{}/{count} ", at + 1),
            (None, _) => String::new(),
        };
        right.push(piece(format!("{hits}scrolled {above} "), theme.accent));
    } else if pane.role == Role::Peer && app.types_to_peer && has_focus && app.driver.is_some() {
        right.push(piece("you type here ", theme.accent));
    }
    line(frame, area, &left, &right, &blank(theme.text));
}

/// The first two numbers of a version are what a person knows it by.
fn short(version: &str) -> String {
    outside(version, 20)
}

fn state(pane: &Pane, app: &App, look: &Look) -> (String, Style) {
    let theme = &look.theme;
    let since = || clock(app.now.saturating_sub(pane.doing.since));
    match &pane.life {
        Life::Ended(ended) => return (format!("ended ({})", ended.shown()), theme.fault),
        Life::Failed(_) => return ("not started".to_owned(), theme.fault),
        Life::Starting => return ("starting".to_owned(), theme.dim),
        Life::Running => {}
    }
    match pane.doing.activity {
        Activity::Busy => (format!("busy {}", since()), theme.accent),
        Activity::Rest => ("idle".to_owned(), theme.text),
        Activity::Failed => ("its turn failed".to_owned(), theme.fault),
        Activity::Blocked => ("waits at a dialog".to_owned(), theme.fault),
        Activity::Unclear => ("running".to_owned(), theme.dim),
    }
}

fn rule(frame: &mut Frame, area: Area, look: &Look) {
    for at in 0..area.rows {
        row(
            frame,
            area,
            at,
            &[piece(look.glyphs.vertical, look.theme.rule)],
            look.theme.rule,
        );
    }
}

fn heading(frame: &mut Frame, area: Area, name: &str, right: &str, style: Style, look: &Look) {
    let rule = look.theme.rule;
    let dash = look.glyphs.horizontal;
    let left = [
        piece(format!("{dash} "), rule),
        piece(name, style),
        piece(" ", rule),
    ];
    let right = match right.is_empty() {
        true => Vec::new(),
        false => vec![piece(format!(" {right} "), look.theme.dim)],
    };
    let head = Area { rows: 1, ..area };
    line(frame, head, &left, &right, &piece(dash, rule));
}

/// The time line of a replay, with its rounds; above it, where there is room, where it stands.
fn timeline(frame: &mut Frame, area: Area, replay: &Replay, look: &Look) {
    let (theme, glyphs) = (&look.theme, &look.glyphs);
    let mut body = area;
    let length = replay.length.0.max(replay.at);
    let more = if replay.length.1 { "" } else { "+" };
    let state = match replay.is_playing {
        true => format!("{}x", replay.speed()),
        false => "paused".to_owned(),
    };
    let told = format!(
        "{state} {} {} / {}{more}",
        glyphs.dot,
        clock(replay.at),
        clock(length)
    );
    if area.rows > 1 {
        heading(frame, area, "replay", &told, theme.accent, look);
        body = Area::new(area.col, area.row + 1, area.cols, 1);
    }
    let right = match area.rows {
        1 => vec![piece(format!(" {told} "), theme.dim)],
        _ => Vec::new(),
    };
    let cols = usize::from(body.cols.saturating_sub(2 + width(&right)));
    let mut cells: Vec<Piece> = Vec::with_capacity(cols + 1);
    let place = |at: std::time::Duration| match length.is_zero() {
        true => 0,
        false => {
            let part = at.as_secs_f64() / length.as_secs_f64();
            ((part * cols.saturating_sub(1) as f64) as usize).min(cols.saturating_sub(1))
        }
    };
    let now = place(replay.at);
    for at in 0..cols {
        let style = if at <= now { theme.accent } else { theme.rule };
        cells.push(piece(glyphs.horizontal, style));
    }
    for mark in &replay.marks {
        let Some(cell) = cells.get_mut(place(mark.at)) else {
            continue;
        };
        *cell = match mark.sign {
            Sign::Round(Some(verdict)) => piece(glyphs.verdict(verdict), theme.verdict(verdict)),
            Sign::Round(None) => piece("!", theme.fault),
            Sign::Receipt => piece(glyphs.dot, theme.text),
        };
    }
    if let Some(cell) = cells.get_mut(now) {
        cell.style = cell.style.add_modifier(Modifier::REVERSED);
    }
    let mut line_of = vec![piece(" ", theme.text)];
    line_of.extend(cells);
    line(frame, body, &line_of, &right, &blank(theme.text));
}

/// What can be done in a replay, or what is being typed.
fn replay_status(replay: &Replay, look: &Look) -> Vec<Piece> {
    let theme = &look.theme;
    match (&replay.prompt, &replay.seeks) {
        (Some(Prompt::Go(editor)), _) => vec![
            piece(" go to (1:30 or 45%): ", theme.accent),
            piece(outside(editor.text(), 40), theme.text),
            piece("_", theme.accent),
        ],
        (Some(Prompt::Search(editor)), _) => vec![
            piece(" search all moments: ", theme.accent),
            piece(outside(editor.text(), 100), theme.text),
            piece("_", theme.accent),
        ],
        (None, Some(text)) => vec![piece(
            format!(" looking for `{}`   Esc stops", outside(text, 60)),
            theme.accent,
        )],
        (None, None) => {
            let mut out = vec![piece(" space ", theme.accent)];
            let pause = if replay.is_playing { "pause" } else { "play" };
            let words = format!(
                "{pause}  +- speed  ←→ 5 s  ,. event  [] round  {{}} receipt  g go  / search  v copy  t reviews  q quit"
            );
            out.push(piece(words, theme.dim));
            out
        }
    }
}

fn strip(frame: &mut Frame, area: Area, app: &App, look: &Look) {
    let theme = &look.theme;
    let mut body = area;
    if area.rows > 1 {
        heading(frame, area, "rounds", "", theme.dim, look);
        body = Area::new(area.col, area.row + 1, area.cols, 1);
    }
    let dot = || piece(format!(" {} ", look.glyphs.dot), theme.dim);
    let mut cells: Vec<Vec<Piece>> = app
        .ledger
        .rounds()
        .map(|(_, entry)| cell(entry, look))
        .collect();
    if let Some(asking) = &app.asking {
        cells.push(vec![
            piece(
                format!("{} {} ", asking.round.max(1), asking.kind),
                theme.text,
            ),
            piece(
                format!(
                    "{} {}",
                    look.glyphs.spinner(app.now),
                    clock(app.now.saturating_sub(asking.since))
                ),
                theme.accent,
            ),
            piece(
                asking
                    .by
                    .as_ref()
                    .map_or_else(String::new, |by| format!(" {} {by}", look.glyphs.dot)),
                theme.dim,
            ),
        ]);
    }
    // The newest are what matters: the oldest go when there is no room.
    let room = body.cols.saturating_sub(3);
    let mut from = cells.len();
    let mut used = 0;
    while from > 0 {
        let wide = width(&cells[from - 1]) + 3;
        if used + wide > room {
            break;
        }
        used += wide;
        from -= 1;
    }
    let mut line_of = vec![piece(" ", theme.text)];
    if from > 0 {
        line_of.push(piece(look.glyphs.more, theme.dim));
    }
    if cells.is_empty() {
        let key = keys(app, Action::Discuss);
        line_of.push(piece(
            format!("no round yet {} {key} discuss", look.glyphs.dot),
            theme.dim,
        ));
    }
    let is_cut = from > 0;
    for (at, cell) in cells.drain(from..).enumerate() {
        if at > 0 || is_cut {
            line_of.push(dot());
        }
        line_of.extend(cell);
    }
    line(frame, body, &line_of, &[], &blank(theme.text));
}

/// A round in the strip; inverted until it was looked at.
fn cell(entry: &Entry, look: &Look) -> Vec<Piece> {
    let theme = &look.theme;
    let new = |style: Style| match entry.is_seen {
        true => style,
        false => style.add_modifier(Modifier::REVERSED),
    };
    let kind = match entry.kind {
        Kind::Implementation => "impl".to_owned(),
        kind => kind.to_string(),
    };
    let (text, style) = match entry.verdict() {
        Some(verdict) => (
            format!("{} {verdict}", look.glyphs.verdict(verdict)),
            theme.verdict(verdict),
        ),
        None => ("no answer".to_owned(), theme.fault),
    };
    vec![
        piece(format!("{} {kind} ", entry.number), new(theme.text)),
        piece(text, new(style.add_modifier(Modifier::BOLD))),
        piece(format!(" {}", took(entry.elapsed_ms)), new(theme.dim)),
    ]
}

/// The prefix and the key of an action.
pub(super) fn keys(app: &App, action: Action) -> String {
    let keys = &app.opening.keys;
    let key = keys.key_of(action).unwrap_or_default();
    format!("{} {key}", keys.prefix.shown())
}

pub(super) fn tables(frame: &mut Frame, app: &App, look: &Look) {
    let Some(places) = app.places else {
        return;
    };
    let tables = &app.tables;
    let style = |table| match tables.has_keys && tables.table == table {
        true => look.theme.accent,
        false => look.theme.dim,
    };
    let area = places.receipts;
    if area.is_empty() {
        return;
    }
    let selected = |table| (tables.has_keys && tables.table == table).then(|| tables.at());
    heading(frame, area, "receipts", "", style(Table::Receipts), look);
    let receipts = app.ledger.receipts.iter().rev();
    let rows = receipts.map(|marked| (receipt(&marked.row, look), marked.is_seen));
    body(frame, area, rows, selected(Table::Receipts), look);
    if let Some(gap) = Some(Area::new(area.col + area.cols, area.row, 1, area.rows)) {
        for at in 0..gap.rows {
            let sign = if at == 0 {
                look.glyphs.horizontal
            } else {
                look.glyphs.vertical
            };
            row(
                frame,
                gap,
                at,
                &[piece(sign, look.theme.rule)],
                look.theme.rule,
            );
        }
    }
    let area = places.fallbacks;
    let tally = tally(app, area.cols, look);
    heading(
        frame,
        area,
        "fallbacks",
        &tally,
        style(Table::Fallbacks),
        look,
    );
    let fallbacks = app.ledger.fallbacks.iter().rev();
    let rows = fallbacks.map(|marked| (fallback(&marked.row, look), marked.is_seen));
    body(frame, area, rows, selected(Table::Fallbacks), look);
}

/// How often each route, and each role, fell back: as much of it as there is room for.
fn tally(app: &App, cols: u16, look: &Look) -> String {
    let tally = app.ledger.tally();
    if tally.total == 0 {
        return String::new();
    }
    let counts = |by: &BTreeMap<String, u64>| -> Vec<String> {
        let counts = by.iter();
        counts
            .map(|(name, count)| format!("{} {count}", outside(name, 20)))
            .collect()
    };
    let dot = format!(" {} ", look.glyphs.dot);
    let (runners, roles) = (counts(&tally.by_runner), counts(&tally.by_role));
    let all = [runners.as_slice(), &roles].concat().join(&dot);
    let least = tally.total.to_string();
    // The heading has its name, and the rule around it.
    let room = cols.saturating_sub(16);
    [all, runners.join(&dot)]
        .into_iter()
        .find(|text| width(&[piece(text.clone(), look.theme.dim)]) <= room)
        .unwrap_or(least)
}

fn body(
    frame: &mut Frame,
    area: Area,
    rows: impl Iterator<Item = (Vec<Piece>, bool)>,
    selected: Option<usize>,
    look: &Look,
) {
    let inside = Area::new(
        area.col,
        area.row + 1,
        area.cols,
        area.rows.saturating_sub(1),
    );
    let height = usize::from(inside.rows);
    let skip = selected.map_or(0, |at| (at + 1).saturating_sub(height));
    let mut rows = rows.skip(skip);
    for at in 0..inside.rows {
        let mut pieces = vec![piece(" ", look.theme.text)];
        let mut base = look.theme.text;
        if let Some((more, is_seen)) = rows.next() {
            pieces.extend(more);
            if !is_seen {
                base = base.add_modifier(Modifier::BOLD);
            }
            if selected == Some(usize::from(at) + skip) {
                base = base.patch(look.theme.selected);
            }
        }
        for piece in &mut pieces {
            piece.style = piece.style.patch(base);
        }
        row(frame, inside, at, &pieces, base);
    }
}

fn receipt(receipted: &Receipted, look: &Look) -> Vec<Piece> {
    let theme = &look.theme;
    let body = &receipted.receipt;
    let (word, style) = match body.verdict {
        Some(verdict) => (
            format!("{} {verdict}", look.glyphs.verdict(verdict)),
            theme.verdict(verdict),
        ),
        None => (outcome(body.outcome).to_owned(), theme.fault),
    };
    let round = match body.kind {
        Kind::Brief => "brief".to_owned(),
        _ => format!("r{}", body.round),
    };
    let source = match (body.source, &body.checked_by) {
        // The screen is always read: only another source is worth a word.
        (Some(source), Some(by)) if by != "screen" => {
            format!("{}+{}", source_word(source), outside(by, 16))
        }
        (Some(source), _) => source_word(source).to_owned(),
        (None, _) => look.glyphs.dot.to_owned(),
    };
    let moved = match body.tree.moved {
        Some(true) => "tree moved  ",
        Some(false) | None => "",
    };
    let id = receipted.id.as_deref().unwrap_or("not written");
    let id: String = id.trim_start_matches("rcp_").chars().take(6).collect();
    let route = match body.route.asked == body.route.ran {
        true => outside(&body.route.ran, 12),
        false => format!(
            "{} {} {}",
            outside(&body.route.asked, 12),
            look.glyphs.arrow,
            outside(&body.route.ran, 12)
        ),
    };
    let fallback = match &body.fallback {
        Some(_) => format!("{} fallback  ", look.glyphs.back),
        None => String::new(),
    };
    vec![
        piece(format!("{}  ", receipted.at), theme.dim),
        piece(format!("{round:<5}  "), theme.text),
        piece(format!("{route}  "), theme.dim),
        piece(format!("{word:<10}  "), style),
        piece(fallback, theme.fault),
        piece(moved, theme.fault),
        piece(
            format!("{:<4}  ", body.tag.as_deref().unwrap_or("")),
            theme.dim,
        ),
        piece(format!("{id}  "), theme.dim),
        piece(source, theme.dim),
    ]
}

fn source_word(source: Source) -> &'static str {
    match source {
        Source::Channel => "channel",
        Source::Screen => "screen",
    }
}

/// What a person reads for how a round ended.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Timeout => "timed out",
        Outcome::Blocked => "dialog",
        Outcome::Ended => "peer ended",
        Outcome::Unsent => "unsent",
        Outcome::Interrupted => "stopped",
        Outcome::Refused => "refused",
    }
}

fn fallback(fell: &FellBack, look: &Look) -> Vec<Piece> {
    let theme = &look.theme;
    let fallback = &fell.receipt;
    vec![
        piece(format!("{}  ", fell.at), theme.dim),
        piece(format!("{}  ", outside(&fallback.role, 20)), theme.text),
        piece(
            format!(
                "{} {} {}  ",
                outside(&fallback.asked, 12),
                look.glyphs.arrow,
                outside(&fallback.ran, 12)
            ),
            theme.text,
        ),
        piece(format!("{}  ", fallback.why.reason()), theme.fault),
        piece(outside(fallback.why.detail().as_str(), 120), theme.dim),
    ]
}

fn status(frame: &mut Frame, area: Area, app: &App, look: &Look) {
    let theme = &look.theme;
    let dot = look.glyphs.dot;
    if let Some(notice) = &app.notice
        && !app.is_prefixed
    {
        let style = if notice.is_fault {
            theme.fault
        } else {
            theme.accent
        };
        let text = format!(" {}", outside(&notice.text, 400));
        return line(frame, area, &[piece(text, style)], &[], &blank(theme.text));
    }
    let prefix = app.opening.keys.prefix.shown();
    let left = if app.is_prefixed {
        menu(app, look)
    } else if let (Some(replay), None) = (&app.replay, hints(app)) {
        replay_status(replay, look)
    } else if let Some(hints) = hints(app) {
        vec![piece(format!(" {hints}"), theme.dim)]
    } else {
        let mut left = vec![piece(format!(" {prefix} menu  "), theme.accent)];
        let shown = [
            (Action::Discuss, "discuss"),
            (Action::Other, "other pane"),
            (Action::Zoom, "zoom"),
            (Action::Timeline, "reviews"),
            (Action::Explain, "why"),
            (Action::Help, "keys"),
        ];
        for (action, word) in shown {
            let Some(key) = app.opening.keys.key_of(action) else {
                continue;
            };
            let style = if app.cannot(action).is_some() {
                theme.rule
            } else {
                theme.dim
            };
            left.push(piece(format!(" {key} {word}  "), style));
        }
        left
    };
    let mut right = Vec::new();
    if let Some(asking) = &app.asking {
        let rule = asking.exchange().map(Exchange::status);
        if let Some(status) = rule {
            let text = format!(
                "{} by {} {dot} {} why ",
                status.activity.word(),
                status.rule,
                keys(app, Action::Explain)
            );
            right.push(piece(text, theme.dim));
        }
    }
    line(frame, area, &left, &right, &blank(theme.text));
}

/// What can follow the prefix: what cannot be done now is dim, with its reason.
fn menu(app: &App, look: &Look) -> Vec<Piece> {
    let theme = &look.theme;
    let mut out = vec![piece(
        format!(" {} ", app.opening.keys.prefix.shown()),
        theme.accent,
    )];
    // What matters most comes first: on a narrow terminal the rest is cut, and the help has all of it.
    let shown = [
        (Action::Discuss, "discuss"),
        (Action::Answer, "answer"),
        (Action::StopWaiting, "stop"),
        (Action::Other, "other"),
        (Action::Zoom, "zoom"),
        (Action::Help, "keys"),
        (Action::Quit, "quit"),
        (Action::Timeline, "reviews"),
        (Action::Scroll, "scroll"),
        (Action::Receipts, "receipts"),
        (Action::Brief, "brief"),
        (Action::Restart, "restart"),
        (Action::TypeToPeer, "type to peer"),
        (Action::CopyReview, "copy"),
    ];
    for (action, word) in shown {
        let Some(key) = app.opening.keys.key_of(action) else {
            continue;
        };
        match app.cannot(action) {
            Some(_) if matches!(action, Action::Answer | Action::StopWaiting) => {}
            Some(why) if action == Action::Discuss => {
                out.push(piece(format!(" {key} {word} ({why})"), theme.rule));
            }
            Some(_) => out.push(piece(format!(" {key} {word}"), theme.rule)),
            None => {
                out.push(piece(format!(" {key}"), theme.accent));
                out.push(piece(format!(" {word}"), theme.text));
            }
        }
    }
    out
}

/// The keys of what has them now.
fn hints(app: &App) -> Option<String> {
    if let Some(overlay) = &app.overlay {
        return Some(match overlay {
            Overlay::Composer => "Enter send · Alt-Enter new line · Tab kind · ^T diff · ^G editor · ↑ history · Esc put aside".to_owned(),
            Overlay::Reader(_) => "↑↓ scroll · ←→ previous, next · y copy · Esc close".to_owned(),
            Overlay::Question(question)
                if app.driver.is_some() || app.ledger.waiting(question.entry).is_some() =>
            {
                "Enter answer · Tab to driver or peer · Esc put aside".to_owned()
            }
            Overlay::Question(_) => "Enter answer · Esc put aside".to_owned(),
            Overlay::Help(_) => "type to search · ↑↓ scroll · Esc close".to_owned(),
            Overlay::Receipt(..) => "↑↓ scroll · Esc close".to_owned(),
            Overlay::Choice(_) => "↑↓ choose · Enter replay · q quit".to_owned(),
            Overlay::Explain => "any key closes".to_owned(),
            Overlay::Quit => "y quit · any other key stays".to_owned(),
        });
    }
    if let Some(scroll) = &app.scroll {
        if let Some(typing) = &scroll.typing {
            let fault = scroll
                .fault
                .as_deref()
                .map(|fault| format!("  ({fault})"))
                .unwrap_or_default();
            return Some(format!("/{}{fault}", outside(typing.text(), 200)));
        }
        let fault = scroll
            .fault
            .as_deref()
            .map(|fault| format!("{fault} · "))
            .unwrap_or_default();
        return Some(format!(
            "{fault}↑↓ PgUp PgDn g G · / search · n N · v select · ^v block · Enter copy · q back"
        ));
    }
    if app.tables.has_keys {
        return Some(
            "↑↓ select · Enter whole receipt · Tab other table · + - height · Esc back".to_owned(),
        );
    }
    None
}

/// What came of an entry, in one line.
pub(super) fn summary(entry: &Entry, look: &Look) -> (String, Style) {
    match &entry.came {
        Came::Review(round) => {
            let verdict = round.reading.verdict();
            (
                format!("{} {verdict}", look.glyphs.verdict(verdict)),
                look.theme.verdict(verdict).add_modifier(Modifier::BOLD),
            )
        }
        Came::Nothing(_) => ("no answer".to_owned(), look.theme.fault),
    }
}
