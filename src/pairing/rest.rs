//! Busy, at rest or waiting at a dialog: what the tail of a screen, the title and the agent's own reports say (A.10).

use super::grammar::{self, Part};
use crate::config::Profile;
use crate::limits;
use crate::screen::{Line, Screen};

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It works on a turn.
    Busy,
    /// It takes input.
    Rest,
    /// It reports that its turn failed, and takes input.
    Failed,
    /// It waits at a dialog that only the person may answer.
    Blocked,
    /// None of the rules tells.
    Unclear,
}

impl Activity {
    /// The word a person sees.
    pub fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Rest => "idle",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Unclear => "unclear",
        }
    }
}

/// What was found, and which rule found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What the agent is doing.
    pub activity: Activity,
    /// The rule that decided, as the profile names it.
    pub rule: &'static str,
    /// The line or report that the rule matched; from outside, so to be shown escaped.
    pub evidence: String,
    /// Whether the sign is an explicit end mark of the agent: its own state report or its title.
    pub explicit: bool,
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'a> {
    /// The rows on the screen, oldest first.
    pub visible: &'a [Line],
    /// The window title.
    pub title: &'a str,
    /// The agent's own state report.
    pub state: Option<&'a str>,
}

/// Judges what the agent on a screen is doing.
pub fn look(screen: &Screen, profile: &Profile) -> Judgement {
    let visible = screen.visible();
    let signs = Signs {
        visible: &visible,
        title: screen.title(),
        state: screen.agent_state(),
    };
    judge(&signs, profile)
}

/// Judges what an agent is doing. Busy wins over rest, and an input box over a dialog.
pub fn judge(signs: &Signs<'_>, profile: &Profile) -> Judgement {
    let found = |activity, rule, evidence: &str, explicit| Judgement {
        activity,
        rule,
        evidence: evidence.to_owned(),
        explicit,
    };
    let state = signs.state.unwrap_or_default();
    let says = |words: &[String]| words.iter().any(|word| word == state);
    let tail = tail(signs.visible, profile);
    let idle = tail
        .iter()
        .rev()
        .find(|line| profile.idle_regex.is_match(line));
    if let Some(line) = dialog(signs.visible, idle.is_some(), profile) {
        return found(Activity::Blocked, "blocked_regex", &line, false);
    }
    if says(&profile.osc_state.busy) {
        return found(Activity::Busy, "osc_state.busy", state, true);
    }
    if let Some(line) = tail
        .iter()
        .rev()
        .find(|line| profile.busy_regex.is_match(line))
    {
        return found(Activity::Busy, "busy_regex", line, false);
    }
    if profile
        .title_busy
        .as_ref()
        .is_some_and(|title| title.is_match(signs.title))
    {
        return found(Activity::Busy, "title_busy", signs.title, true);
    }
    if says(&profile.osc_state.failed) {
        return found(Activity::Failed, "osc_state.failed", state, true);
    }
    if says(&profile.osc_state.rest) {
        return found(Activity::Rest, "osc_state.rest", state, true);
    }
    match idle {
        Some(line) => {
            let explicit = profile
                .title_idle
                .as_ref()
                .is_some_and(|title| title.is_match(signs.title));
            found(
                Activity::Rest,
                if explicit { "title_idle" } else { "idle_regex" },
                line,
                explicit,
            )
        }
        None => found(
            Activity::Unclear,
            "none",
            tail.last().map_or("", String::as_str),
            false,
        ),
    }
}

/// The row by which a dialog shows, if one does.
///
/// The rules are held against the last rows as one text. One that is written for the whole text (`(?m)`) holds whatever
/// else stands there; one for a single row only where there is no input box, since the agent may have quoted it.
fn dialog(visible: &[Line], has_box: bool, profile: &Profile) -> Option<String> {
    if profile.blocked_regex.is_empty() {
        return None;
    }
    let count = profile.tail_lines.map_or(limits::TAIL_LINES, usize::from);
    let mut rows: Vec<&str> = visible
        .iter()
        .rev()
        .map(|line| line.text.trim_end())
        .filter(|text| !text.is_empty())
        .take(count)
        .collect();
    rows.reverse();
    let text = rows.join("\n");
    profile.blocked_regex.iter().find_map(|pattern| {
        if has_box && !pattern.as_str().starts_with("(?m)") {
            return None;
        }
        // A rule for one row may be anchored at its ends.
        let at = pattern.regex().find(&text).map(|found| found.as_str());
        let row = || rows.iter().copied().find(|row| pattern.is_match(row));
        let shown = at.or_else(row)?;
        Some(shown.lines().next().unwrap_or_default().to_owned())
    })
}

/// The last non-empty rows of the screen that are neither the agent's words nor a prompt.
fn tail(visible: &[Line], profile: &Profile) -> Vec<String> {
    /// Rows above the tail that are looked at to tell what the tail belongs to.
    const ABOVE: usize = 60;
    let count = profile.tail_lines.map_or(limits::TAIL_LINES, usize::from);
    let filled = visible
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, line)| !line.text.is_empty());
    let from = filled.take(count + ABOVE).last().map_or(0, |(at, _)| at);
    let visible = &visible[from..];
    let rows = grammar::rows(visible, &profile.screen);
    let blocks = grammar::blocks(&rows, &profile.screen);
    let said = |at: usize| {
        // Where replies carry no sign, everything may be one: then the rules must stand on their own.
        profile.screen.reply.is_some()
            && blocks.iter().any(|block| {
                block.rows.contains(&at)
                    && matches!(block.part, Part::Reply | Part::Tool | Part::Echo)
            })
    };
    let mut out: Vec<String> = rows
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, row)| !row.is_blank())
        .take(count)
        .filter(|&(at, _)| !said(at))
        .map(|(_, row)| row.text.clone())
        .collect();
    out.reverse();
    out
}

/// The text of a screen as it is compared to tell whether it stands still: spinner glyphs gone, blanks collapsed, empty
/// lines dropped.
pub fn normalised(visible: &[Line], spinner: &str) -> String {
    let mut out = String::new();
    for line in visible {
        let mut blank = true;
        let mut any = false;
        for c in line.text.chars() {
            if ('\u{2800}'..='\u{28ff}').contains(&c) || (!c.is_whitespace() && spinner.contains(c))
            {
                continue;
            }
            if c.is_whitespace() {
                blank = true;
                continue;
            }
            if blank && any {
                out.push(' ');
            }
            out.push(c);
            blank = false;
            any = true;
        }
        if any {
            out.push('\n');
        }
    }
    out
}
