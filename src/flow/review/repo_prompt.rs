//! Asks RepoPrompt for a return (systems.md B).

use super::compose::Composed;
use super::ways::Said;
use crate::flow::failure::Failure;
use crate::flow::round::Session;
use crate::limits;
use crate::recording::fallback::FailureKind;
use crate::runner::Broken;
use crate::world::repo_prompt::{self, Fault, Order};
use crate::world::signals::Signals;

/// Asks it. Nothing is started, written or looked for: only the address that is set is contacted (B.2).
pub(super) async fn ask(
    composed: &Composed,
    session: &mut Session<'_>,
    signals: &mut Signals,
) -> Result<Said, Failure> {
    session.show_step("reviewing", "rp");
    let routes = &session.settings.routes;
    let answer = match (&routes.repo_prompt, &composed.repo_prompt) {
        (None, _) => Err(Broken::new(
            FailureKind::Absent,
            "no address of RepoPrompt is set on this machine (`oracle.rp.url`)",
        )),
        (Some(_), Err(broken)) => Err(broken.clone()),
        (Some(address), Ok(request)) => {
            let order = Order {
                host: &address.host(),
                port: address.port(),
                is_tls: address.is_tls(),
                url: &address.url(),
                tool: &routes.tool,
                message: request,
                setup: limits::RP_SETUP,
                call: session.options.timeout.unwrap_or(limits::RP_CALL),
                bound: limits::RP_ANSWER,
            };
            tracing::info!("repo prompt asked");
            tokio::select! {
                biased;
                asked = repo_prompt::ask(&order) => asked.map_err(broken),
                _ = signals.next() => Err(Broken::new(
                    FailureKind::Interrupted,
                    "it was stopped while it worked",
                )),
            }
        }
    };
    tracing::info!(
        kind = answer.as_ref().err().map(|broken| broken.kind.code()),
        "repo prompt ended"
    );
    Ok(Said {
        answer: answer.map(|text| (text, None)),
        left: Vec::new(),
    })
}

/// A fault of the conversation as the reason of a fallback (B.13).
fn broken(fault: Fault) -> Broken {
    let kind = match fault {
        Fault::Unreachable | Fault::Elsewhere | Fault::Untrusted => FailureKind::Unreachable,
        Fault::SlowSetup | Fault::SlowCall => FailureKind::Timeout,
        Fault::Error | Fault::ToolError | Fault::NoTool | Fault::NoMessage => FailureKind::Refused,
        Fault::NotTheProtocol | Fault::Redirect | Fault::TooLarge => FailureKind::Unparsable,
    };
    match fault {
        Fault::TooLarge => {
            let most = limits::RP_ANSWER >> 20;
            Broken::new(kind, format!("its answer is larger than {most} MiB"))
        }
        Fault::SlowSetup => {
            let most = limits::RP_SETUP.as_secs();
            Broken::new(
                kind,
                format!("connecting and setting up took longer than {most} s"),
            )
        }
        fault => Broken::new(kind, fault.to_string()),
    }
}
