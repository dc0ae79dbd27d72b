//! What a review is asked with: the change, the reports, the brief, and a dry run that sends nothing.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Wish;
use super::keeper::Keeper;
use crate::cli::Exit;
use crate::flow::compose as round;
use crate::flow::config::Workplace;
use crate::flow::failure::{Failure, shown};
use crate::limits;
use crate::plain;
use crate::recording::digest::Digest;
use crate::route::{Plan, Route};
use crate::run::{self, Subject};
use crate::runner::{Broken, Draft, Request};
use crate::world::{files, git};

/// The change that is reviewed.
pub(super) struct Change {
    /// The root of the repository.
    pub dir: std::path::PathBuf,
    /// The commit it is held against; all of the tree is new where there is none.
    pub base: String,
    /// As git prints it, untracked files among it.
    pub diff: String,
    /// What who made it says of it.
    pub report: Option<String>,
}

/// The texts of one request.
pub(super) struct Composed {
    /// The brief.
    pub brief: String,
    /// What every runner is asked.
    pub request: Request,
    /// The message to a host.
    pub host: String,
    /// The request to RepoPrompt, or why there is none.
    pub repo_prompt: Result<String, Broken>,
}

/// Looks at the change. Nothing is written, and nobody is asked.
pub(super) async fn change(wish: &Wish, place: &Workplace) -> Result<Change, Failure> {
    let report = match &wish.report {
        None => None,
        Some(message) => {
            let text = round::words(message)?;
            if run::claims_verdict(&text) {
                let name = match message {
                    crate::cli::Message::File(path) => shown(path),
                    _ => "the report".to_owned(),
                };
                return Err(Failure::new(
                    Exit::Refused,
                    format!(
                        "{name} claims a verdict of its own, and only a verified return gives one; take its Verdict heading out"
                    ),
                ));
            }
            Some(plain::message(&text))
        }
    };
    let Some(root) = place.root.clone() else {
        return Err(Failure::new(
            Exit::Error,
            format!(
                "{} lies in no git repository, and a review is of a change in one",
                shown(&place.folder)
            ),
        ));
    };
    let told = |error: git::GitError| {
        let exit = match error {
            git::GitError::NothingChanged => Exit::Refused,
            _ => Exit::Error,
        };
        let hint = match error {
            git::GitError::NothingChanged if wish.base.is_none() => {
                "; --base REV reviews what was committed since REV"
            }
            _ => "",
        };
        Failure::new(exit, format!("{}{hint}", Failure::of(exit, &error)))
    };
    let base = wish.base.as_deref();
    let commit = git::commit(&root, base, limits::GIT_TIME)
        .await
        .map_err(told)?;
    let diff = git::diff(&root, base, limits::GIT_TIME)
        .await
        .map_err(told)?;
    Ok(Change {
        dir: root,
        base: commit.unwrap_or_else(|| "nothing: the repository has no commit yet".to_owned()),
        diff,
        report,
    })
}

/// Writes the texts of a request into the folder of its round.
pub(super) fn write(
    wish: &Wish,
    change: &Change,
    plan: &Plan,
    keeper: &Keeper,
    timeout: Duration,
) -> Result<Composed, Failure> {
    let reports = keeper.reports(change.report.as_deref())?;
    let composed = compose(
        wish,
        change,
        keeper.folder(),
        &reports,
        (keeper.session_id(), timeout),
    )?;
    let put = |name: &str, text: &str| {
        files::replace(&keeper.folder().join(name), text.as_bytes()).map_err(|error| {
            Failure::new(
                Exit::Error,
                format!("the brief cannot be written into the run's folder: {error}"),
            )
        })
    };
    put("change.diff", &change.diff)?;
    put("brief.md", &composed.brief)?;
    if let (Route::RepoPrompt, Ok(request)) = (plan.first, &composed.repo_prompt) {
        put("request.md", request)?;
    }
    Ok(composed)
}

fn compose(
    wish: &Wish,
    change: &Change,
    folder: &Path,
    reports: &[(u32, String)],
    (session_id, timeout): (String, Duration),
) -> Result<Composed, Failure> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (dir, file) = (text(&change.dir), text(&folder.join("change.diff")));
    let subject = Subject {
        role: wish.role,
        dir: &plain::display(&dir, 4096),
        base: &change.base,
        change: &file,
        diff: &change.diff,
        reports,
    };
    let brief = run::brief(&subject);
    let path = folder.join("brief.md");
    let request = Request::check(Draft {
        role: wish.role.name().to_owned(),
        brief: path.clone(),
        return_path: folder.join("return.md"),
        dir: change.dir.clone(),
        checkout: None,
        tools: crate::flow::runners::reading_tools(),
        session_id,
        timeout,
        words: None,
    })?;
    Ok(Composed {
        host: run::for_host(wish.role, &request.prompt(), &brief),
        repo_prompt: run::for_repo_prompt(&subject, &text(&path), &brief),
        request,
        brief,
    })
}

/// What would be sent where, with its bytes and digests; nothing is sent, started or written.
pub(super) fn dry(
    wish: &Wish,
    change: &Change,
    ways: &[Plan],
    place: &Workplace,
) -> Result<Value, Failure> {
    let state = files::Places::from_env(crate::world::environment::variable)
        .state()
        .map_err(|error| Failure::of(Exit::Error, &error))?;
    let key = place.repository_key();
    let folder = state
        .join(key)
        .join(format!("runs/RUN/validate/round-N/{}", wish.role));
    let reports: Vec<(u32, String)> = change.report.iter().map(|text| (1, text.clone())).collect();
    let composed = compose(
        wish,
        change,
        &folder,
        &reports,
        ("dry-run".to_owned(), Duration::ZERO),
    )?;
    let item = |what: &str, text: &str| {
        json!({
            "what": what,
            "bytes": text.len(),
            "sha256": Digest::of(text).as_str(),
            "text": text,
        })
    };
    let ways: Vec<Value> = ways
        .iter()
        .map(|plan| {
            let sent = match plan.first {
                Route::Host => item("message", &composed.host),
                Route::Runner(_) => item("prompt", &composed.request.prompt()),
                Route::RepoPrompt => match &composed.repo_prompt {
                    Ok(request) => item("request", request),
                    Err(broken) => json!({ "what": "nothing", "why": broken.detail.as_str() }),
                },
            };
            json!({
                "asked": plan.asked.name(),
                "first": plan.first.name(),
                "then": plan.then.map(Route::name),
                "sent": sent,
            })
        })
        .collect();
    Ok(json!({
        "schema": "codriver.dry-run/1",
        "role": wish.role.name(),
        "base": change.base,
        "ways": ways,
        "brief": item("brief", &composed.brief),
    }))
}
