//! Colours and glyphs of the frame around the panes (console.md, rules of taste).

use ratatui::style::{Color, Modifier, Style};

use crate::app::theme::{Paint, Part};
use crate::recording::word::Verdict;

/// The colours of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// What has the focus.
    pub accent: Style,
    /// Text.
    pub text: Style,
    /// Text of less weight.
    pub dim: Style,
    /// Rules between the parts.
    pub rule: Style,
    /// Something is wrong.
    pub fault: Style,
    /// What was found by a search.
    pub hit: Style,
    /// What is selected.
    pub selected: Style,
    /// Over the panes: composer, reader, help.
    pub panel: Style,
    verdicts: [Style; 5],
}

fn fg(color: Color) -> Style {
    Style::new().fg(color)
}

impl Theme {
    /// For a dark background, or a light one.
    pub fn new(is_dark: bool) -> Self {
        let pick = |dark: u8, light: u8| Color::Indexed(if is_dark { dark } else { light });
        let gray = pick(245, 242);
        Self {
            accent: fg(pick(75, 25)).add_modifier(Modifier::BOLD),
            text: Style::new(),
            dim: fg(gray),
            rule: fg(pick(239, 250)),
            fault: fg(pick(203, 160)),
            hit: Style::new().bg(pick(58, 229)),
            selected: Style::new().add_modifier(Modifier::REVERSED),
            panel: Style::new().bg(pick(235, 255)),
            verdicts: [
                fg(pick(78, 28)),
                fg(pick(221, 136)),
                fg(pick(203, 160)),
                fg(pick(176, 127)),
                fg(gray),
            ],
        }
    }

    /// For a terminal with sixteen colours of its own.
    pub fn ansi() -> Self {
        let color = |at| Color::Indexed(at);
        Self {
            accent: fg(color(6)).add_modifier(Modifier::BOLD),
            text: Style::new(),
            dim: Style::new().add_modifier(Modifier::DIM),
            rule: Style::new().add_modifier(Modifier::DIM),
            fault: fg(color(1)),
            hit: Style::new().add_modifier(Modifier::UNDERLINED),
            selected: Style::new().add_modifier(Modifier::REVERSED),
            panel: Style::new(),
            verdicts: [
                fg(color(2)),
                fg(color(3)),
                fg(color(1)),
                fg(color(5)),
                Style::new().add_modifier(Modifier::DIM),
            ],
        }
    }

    /// Without any colour: attributes and glyphs say it all.
    pub fn mono() -> Self {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        Self {
            accent: bold,
            fault: bold,
            verdicts: [
                bold,
                bold,
                bold,
                bold,
                Style::new().add_modifier(Modifier::DIM),
            ],
            ..Self::ansi()
        }
    }

    /// With what a theme file changes.
    pub fn with(mut self, changes: &[(Part, Paint)]) -> Self {
        for (part, paint) in changes {
            let color = match *paint {
                Paint::Indexed(at) => Color::Indexed(at),
                Paint::Rgb(r, g, b) => Color::Rgb(r, g, b),
            };
            match part {
                Part::Accent => self.accent.fg = Some(color),
                Part::Dim => self.dim.fg = Some(color),
                Part::Rule => self.rule.fg = Some(color),
                Part::Fault => self.fault.fg = Some(color),
                Part::Agree => self.verdicts[0].fg = Some(color),
                Part::Adjust => self.verdicts[1].fg = Some(color),
                Part::Object => self.verdicts[2].fg = Some(color),
                Part::Escalate => self.verdicts[3].fg = Some(color),
                Part::Unparsed => self.verdicts[4].fg = Some(color),
                Part::Panel => self.panel.bg = Some(color),
                Part::Hit => self.hit.bg = Some(color),
            }
        }
        self
    }

    /// How a verdict is drawn.
    pub fn verdict(&self, verdict: Verdict) -> Style {
        self.verdicts[match verdict {
            Verdict::Agree => 0,
            Verdict::Adjust => 1,
            Verdict::Object => 2,
            Verdict::Escalate => 3,
            Verdict::Unparsed => 4,
        }]
    }
}

/// The signs of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// The vertical rule.
    pub vertical: &'static str,
    /// The horizontal rule.
    pub horizontal: &'static str,
    /// Between two facts.
    pub dot: &'static str,
    /// From one route to another.
    pub arrow: &'static str,
    /// A route that did not answer.
    pub back: &'static str,
    /// The peer only reads.
    pub shield: &'static str,
    /// A branch.
    pub branch: &'static str,
    /// Something was left out.
    pub more: &'static str,
    verdicts: [&'static str; 5],
    spinner: [&'static str; 4],
}

impl Glyphs {
    /// With Unicode, or in ASCII alone.
    pub fn new(unicode: bool) -> Self {
        if unicode {
            Self {
                vertical: "│",
                horizontal: "─",
                dot: "·",
                arrow: "→",
                back: "↩",
                shield: "⛨",
                branch: "⎇",
                more: "…",
                verdicts: ["✔", "✎", "✖", "⚑", "?"],
                spinner: ["◐", "◓", "◑", "◒"],
            }
        } else {
            Self {
                vertical: "|",
                horizontal: "-",
                dot: "-",
                arrow: ">",
                back: "<",
                shield: "#",
                branch: "@",
                more: "..",
                verdicts: ["+", "~", "x", "!", "?"],
                spinner: ["|", "/", "-", "\\"],
            }
        }
    }

    /// In words, for one who hears them: what only decorates is blank, and nothing moves.
    pub fn spoken() -> Self {
        Self {
            vertical: " ",
            horizontal: " ",
            dot: ",",
            arrow: "to",
            back: "instead",
            shield: "",
            branch: "on",
            more: "and more",
            verdicts: [""; 5],
            spinner: [""; 4],
        }
    }

    /// The sign of a verdict.
    pub fn verdict(&self, verdict: Verdict) -> &'static str {
        self.verdicts[match verdict {
            Verdict::Agree => 0,
            Verdict::Adjust => 1,
            Verdict::Object => 2,
            Verdict::Escalate => 3,
            Verdict::Unparsed => 4,
        }]
    }

    /// A picture of the spinner, by the time.
    pub fn spinner(&self, time: std::time::Duration) -> &'static str {
        let picture = usize::try_from(time.as_millis() / 250 % 4).unwrap_or(0);
        self.spinner[picture]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_a_sign_and_a_look_of_its_own() {
        let all = [
            Verdict::Agree,
            Verdict::Adjust,
            Verdict::Object,
            Verdict::Escalate,
            Verdict::Unparsed,
        ];
        for glyphs in [Glyphs::new(true), Glyphs::new(false)] {
            let signs: std::collections::BTreeSet<_> =
                all.iter().map(|v| glyphs.verdict(*v)).collect();
            assert_eq!(signs.len(), 5);
        }
        for theme in [Theme::new(true), Theme::new(false), Theme::ansi()] {
            let looks: std::collections::HashSet<_> =
                all.iter().map(|v| theme.verdict(*v)).collect();
            assert_eq!(looks.len(), 5);
        }
    }
}
