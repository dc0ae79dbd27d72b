//! Asks one route for a return: the host in its pane, a runner, or RepoPrompt.

use super::compose::Composed;
use crate::flow::compose::Ask;
use crate::flow::failure::Failure;
use crate::flow::round::Session;
use crate::flow::runners::{self, Errand};
use crate::pairing::message;
use crate::recording::digest::Digest;
use crate::recording::fallback::FailureKind;
use crate::recording::word::Kind;
use crate::route::{Role, Route};
use crate::run;
use crate::runner::{Broken, Runner};
use crate::world::signals::Signals;

/// What a route said.
pub(super) struct Said {
    /// The text of the return and the model it names, or what kept it from one.
    pub answer: Result<(String, Option<String>), Broken>,
    /// Digests of what it may have put at the return by itself.
    pub left: Vec<Digest>,
}

/// Asks a route.
///
/// # Errors
///
/// What is an error and no fallback; of the host, whatever kept it from answering.
pub(super) async fn ask(
    route: Route,
    role: Role,
    composed: &Composed,
    session: &mut Session<'_>,
    signals: &mut Signals,
) -> Result<Said, Failure> {
    match route {
        Route::Host => host(role, composed, session, signals).await,
        Route::Runner(which) => runner(which, role, composed, session, signals).await,
        Route::RepoPrompt => super::repo_prompt::ask(composed, session, signals).await,
    }
}

async fn host(
    role: Role,
    composed: &Composed,
    session: &mut Session<'_>,
    signals: &mut Signals,
) -> Result<Said, Failure> {
    let words = message::admit(&composed.host)?;
    let ask = Ask::Message(Kind::Implementation, words);
    let round = session.by_host(&ask, signals).await?;
    session.pass_on_warnings();
    let answer = if round.round == 0 {
        let words = "the host did not agree to its brief";
        Err(Broken::new(FailureKind::Invalid, words))
    } else {
        let reading = &round.reading;
        let verdict = reading.verdict();
        run::host_return(role, reading.rationale(), verdict, round.complete)
            .map(|(text, _)| (text, None))
    };
    Ok(Said {
        answer,
        left: Vec::new(),
    })
}

async fn runner(
    runner: Runner,
    role: Role,
    composed: &Composed,
    session: &mut Session<'_>,
    signals: &mut Signals,
) -> Result<Said, Failure> {
    session.show_step("reviewing", runner.name());
    let folder = session.recorder.folder().map(std::path::Path::to_path_buf);
    let errand = Errand {
        runner,
        request: &composed.request,
        writes: role.writes(),
        settings: session.settings,
        place: session.place,
        session: folder.as_deref(),
        options: session.options,
    };
    let stop = async {
        signals.next().await;
    };
    let ran = runners::run(&errand, stop).await?;
    runners::keep(ran.transcript.as_ref(), &mut session.recorder)?;
    session.pass_on_warnings();
    // Codex writes its last message to the return by itself, and an empty file when it has none.
    let left = match runner {
        Runner::Codex => [Some(""), ran.last.as_deref()]
            .into_iter()
            .flatten()
            .map(Digest::of)
            .collect(),
        Runner::Claude | Runner::Opencode | Runner::Gemini => Vec::new(),
    };
    Ok(Said {
        answer: ran.result.map(|answer| (answer.text, answer.model)),
        left,
    })
}
