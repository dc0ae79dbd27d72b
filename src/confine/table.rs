//! A policy as a person reads it.

use std::fmt::Write;

use super::{Place, Policy};
use crate::{limits, plain};

/// The policy as a table: what is done, where, and why. `scrubbed` are the variables that are kept from the agent.
pub fn table(policy: &Policy, scrubbed: &[String]) -> String {
    let mut rows = vec![(
        "read".to_owned(),
        "everything else".to_owned(),
        String::new(),
    )];
    for (word, places) in [
        ("write", &policy.writable),
        ("no read", &policy.unreadable),
        ("sealed", &policy.sealed),
    ] {
        rows.extend(places.iter().map(|place| row(word, place)));
    }
    if !scrubbed.is_empty() {
        rows.push((
            "unset".to_owned(),
            shown(&scrubbed.join(" ")),
            String::new(),
        ));
    }
    let width = rows
        .iter()
        .filter(|(_, _, why)| !why.is_empty())
        .map(|(_, path, _)| path.chars().count())
        .max()
        .unwrap_or(0)
        .min(60);
    let mut text = String::new();
    for (word, path, why) in rows {
        let line = format!("{word:<8} {path:<width$}  {why}");
        // A String takes all that is written.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for remark in &policy.remarks {
        let _ = writeln!(text, "note     {}", shown(remark));
    }
    text
}

fn row(word: &str, place: &Place) -> (String, String, String) {
    let mut why = place.why.clone();
    if !place.is_there {
        why.push_str(match word {
            "write" if place.is_folder() => ", made when needed",
            _ => ", not there",
        });
    }
    (
        word.to_owned(),
        shown(&place.path.to_string_lossy()),
        shown(&why),
    )
}

fn shown(text: &str) -> String {
    plain::display(text, limits::QUOTE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_place_with_its_reason() {
        let place = |path: &str, why: &str, is_there| Place {
            path: path.into(),
            why: why.to_owned(),
            is_there,
        };
        let policy = Policy {
            writable: vec![
                place("/s/work", "private to this launch", true),
                place("/h/.a/log", "harness.a.writable", false),
            ],
            unreadable: vec![place("/h/.ssh", "deny_read", false)],
            sealed: vec![place("/run/docker.sock", "docker", true)],
            remarks: vec!["`/h` is not made writable: it holds the repository".to_owned()],
            layered: true,
            ..Policy::default()
        };
        let expected = "\
read     everything else
write    /s/work           private to this launch
write    /h/.a/log         harness.a.writable, made when needed
no read  /h/.ssh           deny_read, not there
sealed   /run/docker.sock  docker
unset    GIT_DIR TMUX
note     `/h` is not made writable: it holds the repository
";
        let scrubbed = ["GIT_DIR".to_owned(), "TMUX".to_owned()];
        assert_eq!(table(&policy, &scrubbed), expected);
    }
}
