//! The doctor's report, for a person and for a script.

use std::path::Path;

use serde_json::{Value, json};

use super::{Confined, Facts, Presence, Standing, Terminal, standing};
use crate::config::Profile;
use crate::confine::{self, Lock, table};
use crate::flow::config::{diagnostics_json, faults_json, files_json, files_of, state_of};
use crate::world::folder::Folder;
use crate::{limits, plain};

fn shown(text: &str) -> String {
    plain::display(text, limits::QUOTE_BYTES)
}

pub(super) fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// The report as a person reads it.
pub(super) fn text(facts: &Facts) -> String {
    let mut text = format!("codriver {}\n\nAgents\n", env!("CARGO_PKG_VERSION"));
    let mut line = |words: String| {
        text.push_str(words.trim_end());
        text.push('\n');
    };
    for (profile, presence) in &facts.agents {
        line(format!(
            "  {:<13} {}",
            shown(&profile.name),
            told(profile, presence)
        ));
    }
    if !facts
        .agents
        .iter()
        .any(|(_, presence)| matches!(presence, Presence::Found { .. }))
    {
        line("  No agent is installed; `--peer demo` works without one.".to_owned());
    }
    if !facts.routes.is_empty() {
        line("\nRoutes".to_owned());
        for words in super::routes::text(&facts.routes) {
            line(format!("  {words}"));
        }
        if !facts.models.is_empty() {
            line(format!(
                "  {:<13} {}",
                "models",
                shown(&facts.models.join(", "))
            ));
        }
    }
    line("\nSettings".to_owned());
    for (layer, file) in files_of(&facts.layers) {
        line(match file {
            Some(file) => format!(
                "  {:<13} {} ({})",
                layer.as_str(),
                shown_path(&file.path),
                state_of(file)
            ),
            None => format!("  {:<13} none: set XDG_CONFIG_HOME or HOME", layer.as_str()),
        });
    }
    for fault in &facts.faults.0 {
        line(format!("  fault: {fault}"));
    }
    for diagnostic in &facts.diagnostics {
        line(format!("  note: {diagnostic}"));
    }
    line("\nFolders".to_owned());
    for (name, folder) in &facts.folders {
        line(match folder {
            Some((path, state)) => format!(
                "  {name:<13} {} ({})",
                shown_path(path),
                folder_words(*state)
            ),
            None => format!("  {name:<13} none: set HOME"),
        });
    }
    if let Some(confined) = &facts.confinement {
        line(format!(
            "\nConfinement of the peer ({})",
            shown(&confined.peer)
        ));
        for words in confinement_words(confined) {
            line(format!("  {words}"));
        }
    }
    line("\nTerminal".to_owned());
    for words in terminal_words(&facts.terminal) {
        line(format!("  {words}"));
    }
    line("\nTools".to_owned());
    line(format!("  {:<13} {}", "git", tool(&facts.git)));
    line(match &facts.root {
        Some(root) => format!("  {:<13} {}", "repository", shown_path(root)),
        None => format!(
            "  {:<13} none here; a round works without one",
            "repository"
        ),
    });
    if !facts.relative.is_empty() {
        let folders: Vec<String> = facts
            .relative
            .iter()
            .map(|folder| format!("`{}`", shown(folder)))
            .collect();
        line(format!(
            "  {:<13} relative folders in PATH are never searched: {}",
            "PATH",
            folders.join(", ")
        ));
    }
    text
}

fn told(profile: &Profile, presence: &Presence) -> String {
    match presence {
        Presence::BuiltIn => "built in".to_owned(),
        Presence::Missing(why) => format!("not installed: {}", shown(why)),
        Presence::Refused(path, why) => format!("refused: {}: {why}", shown_path(path)),
        Presence::Found { path, version } => match version {
            Ok(version) => format!(
                "{version:<12} {}  {}",
                shown_path(path),
                standing_words(&standing(profile, version))
            ),
            Err(why) => format!("{:<12} {}  {}", "version ?", shown_path(path), shown(why)),
        },
    }
}

fn standing_words(standing: &Standing) -> String {
    match standing {
        Standing::Proven(parts) => format!("proven: {}", shown(&parts.join(", "))),
        Standing::Other(versions) => {
            format!(
                "proven on {} only, not on this version",
                shown(&versions.join(", "))
            )
        }
        Standing::Nothing => "nothing proven".to_owned(),
    }
}

fn tool(presence: &Presence) -> String {
    match presence {
        Presence::Found { path, version } => {
            let version = version.as_deref().unwrap_or("version ?");
            format!("{version:<12} {}", shown_path(path))
        }
        Presence::Refused(path, why) => format!("refused: {}: {why}", shown_path(path)),
        Presence::Missing(why) => format!("{}; `--diff` needs it", shown(why)),
        Presence::BuiltIn => "built in".to_owned(),
    }
}

fn folder_words(folder: Folder) -> &'static str {
    match folder {
        Folder::Writable => "writable",
        Folder::Creatable => "made when needed",
        Folder::Closed => "cannot be written: nothing is recorded there",
        Folder::NotAFolder => "no folder: nothing is recorded there",
    }
}

fn confinement_words(confined: &Confined) -> Vec<String> {
    let mut words: Vec<String> = confined
        .locks
        .iter()
        .map(|(lock, tried)| {
            let state = match tried {
                Ok(()) => "can be had".to_owned(),
                Err(why) => shown(why),
            };
            format!("{:<13} {state}", lock.word())
        })
        .collect();
    let required = match (confined.required, confined.used) {
        (true, Lock::None) => "; required, so no peer is started",
        (true, _) => "; required",
        (false, Lock::None) => "; the agent's own switches alone keep it from writing",
        (false, _) => "",
    };
    words.push(format!("{:<13} {}{required}", "used", confined.used.word()));
    let table = table(&confined.policy, &confined.scrubbed);
    words.extend(table.lines().map(str::to_owned));
    words
}

fn terminal_words(terminal: &Terminal) -> Vec<String> {
    let term = terminal.term.as_deref().unwrap_or("not set");
    let size = match terminal.size {
        Some((cols, rows)) => format!("{cols}x{rows}"),
        None => "no size".to_owned(),
    };
    let colors = match terminal.colors() {
        0 => "no colours".to_owned(),
        count => format!("{count} colours"),
    };
    let off = if terminal.no_color {
        ", off by NO_COLOR"
    } else {
        ""
    };
    let streams = [
        ("standard input", terminal.streams.stdin),
        ("standard output", terminal.streams.stdout),
        ("standard error", terminal.streams.stderr),
    ];
    let piped: Vec<&str> = streams
        .into_iter()
        .filter_map(|(name, is_terminal)| (!is_terminal).then_some(name))
        .collect();
    let mut words = vec![format!("TERM {}, {size}, {colors}{off}", shown(term))];
    if !piped.is_empty() {
        words.push(format!("no terminal on {}", piped.join(", ")));
    }
    words
}

/// The report as a script reads it.
pub(super) fn json(facts: &Facts) -> Value {
    let agents: Vec<Value> = facts
        .agents
        .iter()
        .map(|(profile, presence)| {
            let mut shown = presence_json(presence);
            shown["name"] = Value::from(profile.name.as_str());
            shown["title"] = Value::from(profile.title.as_str());
            shown["proven"] = proven_json(profile, presence);
            shown
        })
        .collect();
    let folders: serde_json::Map<String, Value> = facts
        .folders
        .iter()
        .map(|(name, folder)| {
            let shown = folder.as_ref().map(|(path, state)| {
                json!({
                    "path": path.to_string_lossy(),
                    "state": match state {
                        Folder::Writable => "writable",
                        Folder::Creatable => "creatable",
                        Folder::Closed => "closed",
                        Folder::NotAFolder => "not-a-folder",
                    },
                })
            });
            ((*name).to_owned(), json!(shown))
        })
        .collect();
    let terminal = &facts.terminal;
    json!({
        "schema": "codriver.doctor/1",
        "version": env!("CARGO_PKG_VERSION"),
        "harnesses": agents,
        "runners": super::routes::json(&facts.routes, &facts.models),
        "config": {
            "files": files_json(&files_of(&facts.layers)),
            "faults": faults_json(&facts.faults.0),
            "diagnostics": diagnostics_json(&facts.diagnostics),
        },
        "folders": folders,
        "confinement": facts.confinement.as_ref().map(confinement_json),
        "terminal": {
            "term": terminal.term,
            "cols": terminal.size.map(|(cols, _)| cols),
            "rows": terminal.size.map(|(_, rows)| rows),
            "colors": terminal.colors(),
            "no_color": terminal.no_color,
            "stdin": terminal.streams.stdin,
            "stdout": terminal.streams.stdout,
            "stderr": terminal.streams.stderr,
        },
        "git": presence_json(&facts.git),
        "repository": facts.root.as_ref().map(|root| root.to_string_lossy()),
        "relative_path_entries": facts.relative,
    })
}

fn confinement_json(confined: &Confined) -> Value {
    let places = |places: &[confine::Place]| -> Value {
        let place = |place: &confine::Place| {
            json!({
                "path": place.path.to_string_lossy(),
                "why": place.why,
                "there": place.is_there,
            })
        };
        places.iter().map(place).collect()
    };
    let locks: Value = confined
        .locks
        .iter()
        .map(|(lock, tried)| {
            json!({
                "lock": lock.word(),
                "available": tried.is_ok(),
                "detail": tried.as_ref().err().map(|why| shown(why)),
            })
        })
        .collect();
    json!({
        "peer": confined.peer,
        "used": confined.used.word(),
        "required": confined.required,
        "locks": locks,
        "writable": places(&confined.policy.writable),
        "unreadable": places(&confined.policy.unreadable),
        "sealed": places(&confined.policy.sealed),
        "unset": confined.scrubbed,
        "remarks": confined.policy.remarks,
    })
}

fn presence_json(presence: &Presence) -> Value {
    match presence {
        Presence::BuiltIn => json!({ "state": "built-in" }),
        Presence::Missing(why) => json!({ "state": "missing", "detail": shown(why) }),
        Presence::Refused(path, why) => {
            json!({ "state": "refused", "path": path.to_string_lossy(), "detail": why })
        }
        Presence::Found { path, version } => json!({
            "state": "found",
            "path": path.to_string_lossy(),
            "version": version.as_ref().ok(),
            "detail": version.as_ref().err().map(|why| shown(why)),
        }),
    }
}

fn proven_json(profile: &Profile, presence: &Presence) -> Value {
    let installed = match presence {
        Presence::Found { version, .. } => version.as_deref().ok(),
        _ => None,
    };
    profile
        .proven
        .iter()
        .map(|proven| {
            json!({
                "part": proven.part,
                "version": proven.version,
                "installed": installed.map(|version| version == proven.version),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Diagnostic, Faults, Layer, LayerFile, Layers, bundled_profile};
    use crate::world::terminal::Streams;

    fn no_terminal() -> Terminal {
        Terminal {
            term: None,
            colorterm: None,
            size: None,
            streams: Streams {
                stdin: false,
                stdout: true,
                stderr: true,
            },
            no_color: false,
        }
    }

    fn codex() -> Profile {
        bundled_profile("codex")
    }

    fn found(path: &str, version: &str) -> Presence {
        Presence::Found {
            path: path.into(),
            version: Ok(version.to_owned()),
        }
    }

    #[test]
    fn a_proof_counts_for_its_version_alone() {
        let standing = |version| standing_words(&standing(&codex(), version));
        assert!(
            standing("0.171.0").starts_with("proven: "),
            "{}",
            standing("0.171.0")
        );
        assert_eq!(
            standing("0.172.0"),
            "proven on 0.171.0 only, not on this version"
        );
        assert_eq!(
            standing_words(&super::standing(&bundled_profile("gemini"), "1.0")),
            "nothing proven"
        );
    }

    #[test]
    fn a_report_says_everything_once() {
        let facts = Facts {
            routes: Vec::new(),
            models: vec!["openai/gpt".to_owned()],
            agents: vec![
                (codex(), found("/bin/codex", "0.171.0")),
                (
                    bundled_profile("gemini"),
                    Presence::Missing("`gemini` is not on the search path".to_owned()),
                ),
                (bundled_profile("demo"), Presence::BuiltIn),
            ],
            git: Presence::Missing("`git` is not on the search path".to_owned()),
            relative: vec![".".to_owned()],
            layers: Layers {
                machine: Some(LayerFile {
                    path: "/m.toml".into(),
                    text: Ok(None),
                }),
                ..Layers::default()
            },
            faults: Faults(Vec::new()),
            diagnostics: vec![Diagnostic {
                code: "unknown-role",
                what: "a note".to_owned(),
            }],
            folders: vec![
                ("state", Some(("/s".into(), Folder::Closed))),
                ("runtime", None),
            ],
            confinement: Some(Confined {
                peer: "codex".to_owned(),
                locks: vec![
                    (Lock::Namespace, Err("refused here".to_owned())),
                    (Lock::Landlock, Ok(())),
                ],
                used: Lock::Landlock,
                required: true,
                policy: confine::Policy::default(),
                scrubbed: vec!["TMUX".to_owned()],
            }),
            terminal: no_terminal(),
            root: None,
        };
        let shown = text(&facts);
        for words in [
            "  codex         0.171.0      /bin/codex  proven: ",
            "  gemini        not installed: `gemini` is not on the search path\n",
            "  demo          built in\n",
            "  machine       /m.toml (not there)\n",
            "  note: a note\n",
            "  state         /s (cannot be written: nothing is recorded there)\n",
            "  runtime       none: set HOME\n",
            "\nConfinement of the peer (codex)\n  namespace     refused here\n  landlock      can be had\n  used          landlock; required\n  read     everything else\n  unset    TMUX\n",
            "  TERM not set, no size, no colours\n  no terminal on standard input\n",
            "  git           `git` is not on the search path; `--diff` needs it\n",
            "  PATH          relative folders in PATH are never searched: `.`\n",
        ] {
            assert_eq!(shown.matches(words).count(), 1, "{words}\n{shown}");
        }
        assert!(!shown.contains("No agent is installed"));
        let value = json(&facts);
        assert_eq!(value["harnesses"][0]["version"], "0.171.0");
        assert_eq!(value["harnesses"][0]["proven"][0]["installed"], true);
        assert_eq!(value["harnesses"][1]["state"], "missing");
        assert_eq!(
            value["config"]["files"][0]["layer"],
            Layer::Machine.as_str()
        );
        assert_eq!(value["confinement"]["locks"][1]["available"], true);
        assert_eq!(value["confinement"]["used"], "landlock");
        assert_eq!(value["folders"]["state"]["state"], "closed");
        assert_eq!(value["terminal"]["colors"], 0);
    }
}
