//! What the doctor says of each runner and of RepoPrompt: found where, which models, what is proven, how it went last.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Presence;
use crate::config::{Profile, Settings};
use crate::flow::config::Workplace;
use crate::flow::sessions::kept::{Kept, folders, state};
use crate::recording::receipt::Body;
use crate::route::{Role, Route};
use crate::runner::Runner;
use crate::world::{binary, environment};

/// How many runs are looked back upon.
const LAST: usize = 10;
/// How many sessions are searched for them.
const SESSIONS: usize = 100;

/// What is known of one route that is not the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The route.
    pub route: Route,
    /// Whether this machine's settings enable it.
    pub is_enabled: bool,
    /// Its program, or why it is not started; none for RepoPrompt, which is a server.
    pub program: Option<Result<PathBuf, String>>,
    /// The version its program tells.
    pub version: Option<String>,
    /// The model it is asked to use.
    pub model: Option<String>,
    /// How its last runs in this repository ended, newest first.
    pub last: Vec<String>,
}

/// Looks at every route. No address is contacted and no program started: the versions were asked of the agents before.
pub(super) fn gather(
    settings: &Settings,
    place: &Workplace,
    agents: &[(Profile, Presence)],
) -> Vec<Told> {
    let ends = ends(place);
    let path = environment::variable("PATH");
    let folders: Vec<&Path> = place.root.iter().map(PathBuf::as_path).collect();
    let of = |route: Route| -> Vec<String> {
        let own = ends.iter().filter(|(of, _)| of == route.name());
        own.take(LAST).map(|(_, word)| word.clone()).collect()
    };
    let runners = Runner::ALL.map(|runner| {
        let own = settings.routes.runner(runner);
        let found = binary::find(runner.name(), path.as_deref(), &folders);
        let version = agents
            .iter()
            .find_map(|(profile, presence)| match presence {
                Presence::Found { path, version }
                    if profile.name == runner.name() && found.as_ref() == Ok(path) =>
                {
                    version.as_ref().ok().cloned()
                }
                _ => None,
            });
        Told {
            route: Route::Runner(runner),
            is_enabled: own.is_some(),
            program: Some(found.map_err(|error| error.to_string())),
            version,
            model: own
                .and_then(|own| own.model.as_ref())
                .map(ToString::to_string),
            last: of(Route::Runner(runner)),
        }
    });
    let asks = Role::ALL
        .iter()
        .any(|role| settings.routes.of_role(*role) == Route::RepoPrompt);
    let repo_prompt = Told {
        route: Route::RepoPrompt,
        is_enabled: asks && settings.routes.repo_prompt.is_some(),
        program: None,
        version: None,
        model: None,
        last: of(Route::RepoPrompt),
    };
    runners.into_iter().chain([repo_prompt]).collect()
}

/// Routes and how their runs ended, newest first: a verdict, a reviewer's word, or the reason of a fallback.
fn ends(place: &Workplace) -> Vec<(String, String)> {
    let Ok(all) = state().and_then(|state| folders(&state)) else {
        return Vec::new();
    };
    let repo = place.repository_key();
    let own = all.into_iter().rev().filter(|folder| folder.repo == repo);
    own.take(SESSIONS)
        .map(Kept::open)
        .flat_map(|kept| kept.receipts.into_iter().rev())
        .filter_map(|receipt| match receipt.body {
            Body::Fallback(fell) => Some((fell.asked, fell.why.reason().code().to_owned())),
            Body::Review(review) if review.route.ran != "host" => {
                Some((review.route.ran, review.word.word().to_owned()))
            }
            Body::Round(round) if round.route.ran != "host" => {
                let word = match round.verdict {
                    Some(verdict) => verdict.word(),
                    None => round.outcome.word(),
                };
                Some((round.route.ran, word.to_owned()))
            }
            _ => None,
        })
        .collect()
}

/// What was proven of a route on a live program, and what never was.
fn proof(told: &Told) -> (String, &'static [&'static str]) {
    let Route::Runner(runner) = told.route else {
        return (
            "proven against an independent server of its protocol".to_owned(),
            &["the program itself"],
        );
    };
    let words = match (runner.proven(), &told.version) {
        (None, _) => "nothing proven".to_owned(),
        (Some((version, parts)), Some(here)) if here == version => {
            format!("proven: {}", parts.join(", "))
        }
        (Some((version, _)), _) => format!("proven on {version} only"),
    };
    (words, runner.unproven())
}

/// The lines of the report.
pub(super) fn text(all: &[Told]) -> Vec<String> {
    let mut lines = Vec::new();
    for told in all {
        let enabled = match told.is_enabled {
            true => "enabled",
            false => "not enabled",
        };
        let program = match &told.program {
            None => String::new(),
            Some(Ok(path)) => {
                let version = told.version.as_deref().unwrap_or("version ?");
                format!("  {version}  {}", super::report::shown_path(path))
            }
            Some(Err(why)) => format!("  {why}"),
        };
        let model = told
            .model
            .as_ref()
            .map_or(String::new(), |model| format!("  model {model}"));
        lines.push(format!(
            "{:<13} {enabled}{program}{model}",
            told.route.name()
        ));
        let (proven, unproven) = proof(told);
        lines.push(format!("{:<13} {proven}", ""));
        if !unproven.is_empty() {
            lines.push(format!("{:<13} never proven: {}", "", unproven.join(", ")));
        }
        if !told.last.is_empty() {
            lines.push(format!("{:<13} last runs: {}", "", told.last.join(", ")));
        }
    }
    lines
}

/// The report as a script reads it.
pub(super) fn json(all: &[Told], models: &[String]) -> Value {
    let routes: Vec<Value> = all
        .iter()
        .map(|told| {
            let (proven, unproven) = proof(told);
            json!({
                "route": told.route.name(),
                "enabled": told.is_enabled,
                "path": told.program.as_ref().and_then(|found| Some(found.as_ref().ok()?.to_string_lossy())),
                "refused": told.program.as_ref().and_then(|found| found.as_ref().err()),
                "version": told.version,
                "model": told.model,
                "proven": proven,
                "never_proven": unproven,
                "last": told.last,
            })
        })
        .collect();
    json!({ "routes": routes, "admitted_models": models })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(route: Route) -> Told {
        Told {
            route,
            is_enabled: true,
            program: Some(Ok("/bin/x".into())),
            version: Some("0.171.0".to_owned()),
            model: None,
            last: vec!["AGREE".to_owned(), "timeout".to_owned()],
        }
    }

    #[test]
    fn a_runner_says_what_is_proven_and_what_never_was() {
        let lines = text(&[told(Route::Runner(Runner::Codex))]).join("\n");
        for part in [
            "codex",
            "enabled  0.171.0  /bin/x",
            "proven: ",
            "never proven: ",
            "last runs: AGREE, timeout",
        ] {
            assert!(lines.contains(part), "{part}\n{lines}");
        }
        let other = text(&[told(Route::Runner(Runner::Claude))]).join("\n");
        assert!(other.contains("proven on 2.1.197 only"), "{other}");
        let gemini = text(&[told(Route::Runner(Runner::Gemini))]).join("\n");
        assert!(gemini.contains("nothing proven"), "{gemini}");
    }

    #[test]
    fn no_address_is_told() {
        let told = Told {
            program: None,
            ..told(Route::RepoPrompt)
        };
        let value = json(std::slice::from_ref(&told), &[]);
        assert_eq!(value["routes"][0]["path"], Value::Null);
        assert!(!value.to_string().contains("http"));
    }
}
