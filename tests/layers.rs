//! Holds the rooms apart: who may import whom, and what rules may not touch (house style; `docs/architecture.md`).
//!
//! It reads the sources: every `crate::room` path outside tests counts as an import of that room, and every `std` path
//! of the outside, written out or by a `use` in braces, counts as touching it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms that decide: values in, values out.
const RULES: &[&str] = &[
    "plain",
    "bridge",
    "config",
    "confine",
    "screen",
    "run",
    "pairing",
    "runner",
    "rp",
    "mcp",
    "recording",
    "route",
    "acceptance",
    "review",
    "demo",
];

/// Everyone may import these.
const COMMON: &[&str] = &["limits", "refusal"];

/// Parts of `std`, and crates, that a rule may not touch.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "std::os::fd",
    "std::os::unix::fs",
    "std::os::unix::net",
    "std::os::unix::process",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "tokio",
    "rustix",
    "portable_pty",
    "tempfile",
    "getrandom",
    "ureq",
    "ignore",
    "jiff::tz",
];

/// Calls that look at a clock or a file without naming either.
const CALLS: &[&str] = &[
    "::now(",
    ".exists()",
    ".canonicalize()",
    ".metadata()",
    ".symlink_metadata()",
    ".is_dir()",
    ".is_file()",
    ".is_symlink()",
    ".read_dir()",
    ".read_link()",
];

/// Paths a file may hold all the same, each with its reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "flow",
        "crate::cli",
        "a flow is asked for in the words of the command line",
    ),
    (
        "cli.rs",
        "crate::config",
        "a flag is read in the written forms of the settings",
    ),
    (
        "cli.rs",
        "crate::screen",
        "a flag may be the size of a screen",
    ),
    (
        "cli.rs",
        "crate::route",
        "a role and a route are what the settings name so",
    ),
    (
        "cli.rs",
        "crate::demo",
        "the demo agent's flags are its own types",
    ),
];

/// What a room may import beside itself and the common ones.
fn may_import(room: &str, other: &str) -> bool {
    let is_rule = |name: &str| RULES.contains(&name);
    if room == other || COMMON.contains(&other) {
        return true;
    }
    match room {
        "limits" | "refusal" => false,
        // The emulator's types are what the rest reads; nothing below it.
        "world" => other == "plain",
        "flow" => is_rule(other) || other == "world" || other == "app",
        "app" => is_rule(other),
        "ui" => other == "app" || is_rule(other),
        "main.rs" => true,
        "lib.rs" | "cli.rs" => false,
        rule if is_rule(rule) => is_rule(other),
        _ => false,
    }
}

struct Source {
    /// Path below `src`.
    path: PathBuf,
    /// The room, or the file itself at the top.
    room: String,
    /// The code: comments, strings and test modules taken out.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files
        .into_iter()
        .map(|file| {
            let path = file
                .strip_prefix(&root)
                .expect("the file was found there")
                .to_path_buf();
            let first = path
                .iter()
                .next()
                .and_then(|name| name.to_str())
                .expect("a source has a plain name");
            let room = match first {
                "limits.rs" | "refusal.rs" => first.trim_end_matches(".rs"),
                other => other,
            };
            Source {
                room: room.to_owned(),
                code: code_of(&fs::read_to_string(&file).expect("a source is readable text")),
                path,
            }
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && path.file_stem().is_some_and(|stem| stem != "tests")
        {
            files.push(path);
        }
    }
    files.sort();
}

/// The code alone: without comments, literals and everything from the test module on, which stands at the foot.
fn code_of(text: &str) -> String {
    let text = match text.find("#[cfg(test)]\nmod tests") {
        Some(at) => &text[..at],
        None => text,
    };
    let mut code = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                for c in chars.by_ref() {
                    if c == '\n' {
                        code.push('\n');
                        break;
                    }
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            'r' if !code.ends_with(is_word) && matches!(chars.peek(), Some('"' | '#')) => {
                let mut hashes = 0;
                while chars.peek() == Some(&'#') {
                    chars.next();
                    hashes += 1;
                }
                if chars.peek() != Some(&'"') {
                    // A raw name.
                    continue;
                }
                chars.next();
                let end = format!("\"{}", "#".repeat(hashes));
                let mut held = String::new();
                for c in chars.by_ref() {
                    held.push(c);
                    if held.ends_with(&end) {
                        break;
                    }
                }
                code.push_str("\"\"");
            }
            '"' => {
                let mut is_escaped = false;
                for c in chars.by_ref() {
                    match c {
                        _ if is_escaped => is_escaped = false,
                        '\\' => is_escaped = true,
                        '"' => break,
                        _ => {}
                    }
                }
                code.push_str("\"\"");
            }
            '\'' => {
                // A character, or a lifetime.
                let rest: Vec<char> = chars.clone().take(2).collect();
                if rest.first() == Some(&'\\') {
                    chars.next();
                    chars.next();
                    for c in chars.by_ref() {
                        if c == '\'' {
                            break;
                        }
                    }
                } else if rest.get(1) == Some(&'\'') {
                    chars.next();
                    chars.next();
                }
                code.push('\'');
            }
            _ => code.push(c),
        }
    }
    code
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every path in the code, the braces of `use` spelled out: `std::{fs, io}` gives `std::fs` and `std::io`.
fn paths(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at]
            .rfind(|c| !is_word(c))
            .map_or(0, |at| at + char_len(rest, at));
        let is_inner = rest[..start].ends_with("::");
        let head = &rest[start..at];
        if !head.is_empty() && !is_inner {
            let (tails, end) = tail(&rest[at + 2..]);
            for tail in tails {
                found.insert(format!("{head}::{tail}"));
            }
            rest = &rest[at + 2 + end..];
        } else {
            rest = &rest[at + 2..];
        }
    }
    found
}

fn char_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// The ends of a path that begins here, and where it stops.
fn tail(text: &str) -> (Vec<String>, usize) {
    let trimmed = text.trim_start();
    let skipped = text.len() - trimmed.len();
    if let Some(inner) = trimmed.strip_prefix('{') {
        let mut all = Vec::new();
        let mut at = 0;
        loop {
            let piece = &inner[at..];
            let blank = piece.len() - piece.trim_start_matches([' ', '\n', ',', '\t']).len();
            at += blank;
            match inner[at..].chars().next() {
                None => return (all, text.len()),
                Some('}') => return (all, skipped + 1 + at + 1),
                Some(_) => {}
            }
            let (tails, end) = tail(&inner[at..]);
            all.extend(tails);
            at += end.max(1);
            if let Some(renamed) = inner[at..].strip_prefix(" as ") {
                at += 4 + renamed.find(|c| !is_word(c)).unwrap_or(renamed.len());
            }
        }
    }
    let end = trimmed.find(|c| !is_word(c)).unwrap_or(trimmed.len());
    let word = &trimmed[..end];
    match trimmed[end..].strip_prefix("::") {
        Some(rest) if !word.is_empty() => {
            let (tails, more) = tail(rest);
            let tails = tails
                .into_iter()
                .map(|tail| match tail.as_str() {
                    "" | "self" => word.to_owned(),
                    _ => format!("{word}::{tail}"),
                })
                .collect();
            (tails, skipped + end + 2 + more)
        }
        _ => (vec![word.to_owned()], skipped + end),
    }
}

fn is_excepted(source: &Source, path: &str) -> bool {
    EXCEPTIONS.iter().any(|(place, allowed, _)| {
        source.path.starts_with(place)
            && (path == *allowed || path.starts_with(&format!("{allowed}::")))
    })
}

/// The rooms a file may not have imported.
fn wrong_imports(source: &Source) -> Vec<String> {
    paths(&source.code)
        .into_iter()
        .filter(|path| {
            let mut parts = path.split("::");
            let is_own = match (parts.next(), source.room.as_str()) {
                (Some("crate"), _) | (Some("codriver"), "main.rs") => true,
                _ => return false,
            };
            let other = parts.next().unwrap_or_default();
            is_own && !may_import(&source.room, other) && !is_excepted(source, path)
        })
        .map(|path| format!("{}: {path}", source.path.display()))
        .collect()
}

/// What a rule touches of the outside.
fn wrong_touches(source: &Source) -> Vec<String> {
    if !RULES.contains(&source.room.as_str())
        && source.room != "app"
        && !["limits", "refusal", "cli.rs", "app"].contains(&source.room.as_str())
    {
        return Vec::new();
    }
    let known = paths(&source.code);
    // `use std::time; time::Instant::now()` is the same touch.
    let shortened: BTreeSet<String> = known
        .iter()
        .filter(|path| !path.starts_with("std::"))
        .map(|path| format!("std::{path}"))
        .collect();
    known
        .iter()
        .chain(&shortened)
        .filter(|path| {
            OUTSIDE
                .iter()
                .any(|outside| *path == outside || path.starts_with(&format!("{outside}::")))
        })
        .map(String::as_str)
        .chain(
            CALLS
                .iter()
                .copied()
                .filter(|call| source.code.contains(call)),
        )
        .filter(|path| !is_excepted(source, path))
        .map(|path| format!("{}: {path}", source.path.display()))
        .collect()
}

#[test]
fn imports_point_one_way() {
    let wrong: Vec<String> = sources().iter().flat_map(wrong_imports).collect();
    assert!(
        wrong.is_empty(),
        "imports against the table:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn rules_do_not_touch_the_outside() {
    let wrong: Vec<String> = sources().iter().flat_map(wrong_touches).collect();
    assert!(
        wrong.is_empty(),
        "rules that touch the outside:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_exception_is_still_needed() {
    let sources = sources();
    for (place, allowed, _) in EXCEPTIONS {
        let used = sources
            .iter()
            .filter(|source| source.path.starts_with(place))
            .any(|source| {
                paths(&source.code)
                    .iter()
                    .any(|path| path.starts_with(allowed))
            });
        assert!(used, "{place} no longer needs {allowed}");
    }
}

#[test]
fn every_room_is_in_the_table() {
    for source in sources() {
        let room = source.room.as_str();
        let known = RULES.contains(&room)
            || COMMON.contains(&room)
            || ["world", "flow", "app", "ui", "main.rs", "lib.rs", "cli.rs"].contains(&room);
        assert!(known, "{room} is in no row of the table");
    }
}

fn source(room: &str, code: &str) -> Source {
    Source {
        path: PathBuf::from(room).join("x.rs"),
        room: room.to_owned(),
        code: code_of(code),
    }
}

#[test]
fn a_wrong_import_is_seen_however_it_is_written() {
    for (room, code) in [
        ("pairing", "use crate::world::pty::Pty;"),
        ("pairing", "use crate::{limits, world};"),
        (
            "pairing",
            "use crate::{\n    limits,\n    flow::{demo_agent, config as c},\n};",
        ),
        ("pairing", "fn f() { crate::world::pty::go() }"),
        ("world", "use crate::config::Settings;"),
        ("world", "use crate::screen::Size;"),
        ("ui", "use crate::world::pty;"),
        ("ui", "use crate::flow::config;"),
        ("app", "use crate::ui::frame;"),
        ("flow", "use crate::ui::frame;"),
        ("plain", "const A: &str = \"//\"; use crate::world::pty;"),
        (
            "plain",
            "fn f<'a>(c: char) { if c == '\"' { crate::world::x() } }",
        ),
        (
            "plain",
            "const A: &str = r#\"a\"b\"#; use crate::world::pty;",
        ),
    ] {
        assert!(
            !wrong_imports(&source(room, code)).is_empty(),
            "{room}: {code}"
        );
    }
}

#[test]
fn a_touch_of_the_outside_is_seen_however_it_is_written() {
    for code in [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "use std::time::{Duration, Instant};",
        "use std::time; fn f() { time::Instant::now(); }",
        "fn f() { std::env::var(\"X\"); }",
        "use tokio::time::sleep;",
        "use std::io::{self, Read}; fn f() { io::stdin(); }",
        "fn f() { Timestamp::now(); }",
        "fn f(path: &Path) -> bool { path.exists() }",
    ] {
        assert!(
            !wrong_touches(&source("pairing", code)).is_empty(),
            "{code}"
        );
    }
}

#[test]
fn what_is_allowed_is_not_seen() {
    for (room, code) in [
        (
            "pairing",
            "// use crate::world::pty;\nuse crate::screen::Size; use std::time::Duration;",
        ),
        (
            "pairing",
            "/* crate::world::x */ const A: &str = \"crate::world::x std::fs\";",
        ),
        (
            "pairing",
            "fn f() {}\n#[cfg(test)]\nmod tests { use crate::world::pty; use std::fs; }",
        ),
        (
            "world",
            "use crate::plain::display; use crate::{limits, refusal::Refusal}; use std::fs;",
        ),
        ("world", "use crate::world::program; use super::pty;"),
        (
            "flow",
            "use crate::world::pty; use crate::config::Settings; use std::thread;",
        ),
    ] {
        let source = source(room, code);
        assert_eq!(wrong_imports(&source), Vec::<String>::new(), "{code}");
        assert_eq!(wrong_touches(&source), Vec::<String>::new(), "{code}");
    }
}
