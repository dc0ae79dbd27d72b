//! Asks RepoPrompt for a return (systems.md B).

use super::compose::Composed;
use super::ways::Said;
use crate::flow::failure::Failure;
use crate::flow::round::Session;
use crate::recording::fallback::FailureKind;
use crate::runner::Broken;
use crate::world::signals::Signals;

/// Asks it.
pub(super) async fn ask(
    composed: &Composed,
    session: &mut Session<'_>,
    _signals: &mut Signals,
) -> Result<Said, Failure> {
    let answer = match (&session.settings.routes.repo_prompt, &composed.repo_prompt) {
        (None, _) => Err(Broken::new(
            FailureKind::Absent,
            "no address of RepoPrompt is set on this machine (`oracle.rp.url`)",
        )),
        (Some(_), Err(broken)) => Err(broken.clone()),
        (Some(_), Ok(_)) => Err(Broken::new(FailureKind::Failed, "")),
    };
    Ok(Said {
        answer,
        left: Vec::new(),
    })
}
