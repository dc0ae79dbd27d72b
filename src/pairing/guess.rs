//! Which agent drew a screen, where nobody says: by the recording's title, else by what the screen shows
//! (interface.md 2, `extract`).

use std::sync::LazyLock;

use crate::config::{Profile, bundled_profile, bundled_profiles};
use crate::screen::Line;

/// The bundled profiles, read once.
static BUNDLED: LazyLock<Vec<(&'static str, Profile)>> = LazyLock::new(|| {
    bundled_profiles()
        .map(|name| (name, bundled_profile(name)))
        .collect()
});

/// Name of the harness that drew `lines`: the one that `title` names, else the one whose signature they show, else
/// `unknown`.
pub fn guess(title: Option<&str>, lines: &[Line]) -> &'static str {
    let profiles = || BUNDLED.iter().map(|(_, profile)| profile);
    let found = by_title(title, profiles()).or_else(|| by_screen(lines, profiles()));
    BUNDLED
        .iter()
        .find(|(name, _)| found.is_some_and(|profile| profile.name == *name))
        .map_or("unknown", |(name, _)| name)
}

/// The profile that a title, or a command line, begins with: its own name or that of its program.
pub fn by_title<'a>(
    title: Option<&str>,
    mut profiles: impl Iterator<Item = &'a Profile>,
) -> Option<&'a Profile> {
    let word = title?.split_whitespace().next()?;
    let program = word.rsplit('/').next().unwrap_or(word);
    profiles.find(|profile| {
        program.eq_ignore_ascii_case(&profile.name)
            || profile
                .binaries
                .iter()
                .any(|binary| binary.eq_ignore_ascii_case(program))
    })
}

/// The profile of which most signatures stand on a screen; none when two have as many.
pub fn by_screen<'a>(
    lines: &[Line],
    profiles: impl Iterator<Item = &'a Profile>,
) -> Option<&'a Profile> {
    let mut found: Vec<(usize, &Profile)> = profiles
        .map(|profile| {
            let shown = profile.screen.signature.iter().filter(|signature| {
                lines
                    .iter()
                    .any(|line| signature.is_match(line.text.trim_end()))
            });
            (shown.count(), profile)
        })
        .filter(|&(count, _)| count > 0)
        .collect();
    found.sort_by_key(|&(count, _)| count);
    let (most, profile) = found.pop()?;
    found
        .last()
        .is_none_or(|&(next, _)| next < most)
        .then_some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.lines()
            .map(|line| Line {
                text: line.to_owned(),
                runs: Vec::new(),
                rows: 1,
                cols: 100,
            })
            .collect()
    }

    #[test]
    fn a_title_or_a_command_names_the_harness() {
        for (title, harness) in [
            ("claude 2.1.197 short", "claude"),
            ("Codex session", "codex"),
            ("/usr/local/bin/opencode --agent plan", "opencode"),
            ("cursor-agent", "cursor-agent"),
            ("my claude notes", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(guess(Some(title), &[]), harness, "{title}");
        }
    }

    #[test]
    fn the_title_goes_before_the_screen() {
        let lines = lines("  >_ OpenAI Codex (v0.171.0)");
        assert_eq!(guess(None, &lines), "codex");
        assert_eq!(guess(Some("claude"), &lines), "claude");
        assert_eq!(guess(Some("notes"), &lines), "codex");
    }

    #[test]
    fn the_most_signatures_decide_and_a_draw_decides_nothing() {
        let claude = "─── Claude Code v2.1 ──";
        let codex = "  >_ OpenAI Codex (v0.171.0)";
        let both = format!("{claude}\n{codex}");
        assert_eq!(guess(None, &lines(&both)), "unknown");
        let both = format!("{both}\n› Ask Codex to do anything");
        assert_eq!(guess(None, &lines(&both)), "codex");
    }

    #[test]
    fn the_signs_that_replies_are_written_with_speak_for_nobody() {
        for text in [
            "some text\n> ",
            "• Ran git diff\n  └ x\n• VERDICT: ADJUST",
            "⏺ REVIEW: fine\n  ⎿  x\n● VERDICT: AGREE",
            "❯ cargo test\n› x\n  ┃  x\n✦ x\n■ x",
        ] {
            assert_eq!(guess(None, &lines(text)), "unknown", "{text}");
        }
    }
}
