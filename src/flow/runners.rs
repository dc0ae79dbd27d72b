//! Asks a command-line runner: finds and checks its program, starts it, reads what it wrote (systems.md C).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::config::Workplace;
use super::confine::{self, Shut};
use super::failure::Failure;
use super::launch::{self, Prepared};
use super::pane::Launch;
use super::peer;
use super::recorder::Recorder;
use crate::cli::{Exit, Options};
use crate::config::{Seat, Settings};
use crate::confine::Lock;
use crate::limits;
use crate::recording::digest::Digest;
use crate::recording::fallback::FailureKind;
use crate::recording::receipt::Text;
use crate::refusal::Refusal;
use crate::route::{Role, Route};
use crate::runner::{
    Answer, Broken, Draft, Ended, Invocation, Request, Runner, invocation, read, redact,
};
use crate::world::binary::{self, BinaryError};
use crate::world::environment;
use crate::world::runner::{End, Order, Running, order};

/// What a runner is sent for.
pub(super) struct Errand<'a> {
    /// The runner.
    pub runner: Runner,
    /// What it is asked.
    pub request: &'a Request,
    /// Whether its role may write.
    pub writes: bool,
    /// What is configured.
    pub settings: &'a Settings,
    /// Where the work is.
    pub place: &'a Workplace,
    /// The session's folder, where there is one.
    pub session: Option<&'a Path>,
    /// What the command line says.
    pub options: &'a Options,
}

/// How a runner was started.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    /// Digest of the argument vector; none when it was not started.
    pub digest: Option<Digest>,
    /// Names of the variables that were kept from it.
    pub scrubbed: Vec<String>,
    /// What kept it from writing.
    pub lock: Lock,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Ran {
    /// The answer, or what kept the runner from one.
    pub result: Result<Answer, Broken>,
    /// Codex's last message, however it ended: it writes that to the return by itself.
    pub last: Option<String>,
    /// What it wrote, secrets taken out; none when it wrote nothing.
    pub transcript: Option<Transcript>,
    /// How it was started.
    pub start: Start,
}

/// What a runner wrote.
#[derive(Debug)]
pub(super) struct Transcript {
    /// Name of the file it is kept in.
    name: String,
    text: String,
}

impl Ran {
    /// It was not even started.
    pub(super) fn absent(words: impl AsRef<str>) -> Self {
        Self::not_started(FailureKind::Absent, words)
    }

    fn not_started(kind: FailureKind, words: impl AsRef<str>) -> Self {
        Self {
            result: Err(Broken::new(kind, words)),
            last: None,
            transcript: None,
            start: Start::default(),
        }
    }
}

/// Runs the errand to its end, or until `stop` comes about.
///
/// # Errors
///
/// What is an error and no fallback: a model that is not admitted (C.4).
pub(super) async fn run(
    errand: &Errand<'_>,
    stop: impl Future<Output = ()>,
) -> Result<Ran, Failure> {
    let Errand {
        runner,
        request,
        settings,
        place,
        ..
    } = *errand;
    let routes = &settings.routes;
    let Some(own) = routes.runner(runner) else {
        return Ok(Ran::absent(format!(
            "the runner {runner} is not enabled on this machine: its table `[runner.{runner}]` is missing"
        )));
    };
    if own.server.is_some() {
        // Nothing shuts a server in that the person runs, so what it reviews with could write.
        return Ok(Ran::absent(format!(
            "a server of {runner} is not asked yet; take `runner.{runner}.server` out, and {runner} is started instead"
        )));
    }
    if let Some(model) = &own.model {
        routes
            .allowed
            .admit(model, &format!("runner.{runner}.model"))
            .map_err(|refusal| Failure::new(Exit::Usage, refusal.to_string()))?;
    }
    let folders: Vec<&Path> = [
        Some(request.dir()),
        request.checkout(),
        place.root.as_deref(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let path = environment::variable("PATH");
    let program = match binary::find(runner.name(), path.as_deref(), &folders) {
        Ok(program) => program,
        Err(error) => return Ok(Ran::absent(absent(runner, error))),
    };
    let profile = peer::profile(settings, runner.name())?;
    // What a failure here says may hold a path.
    // One whose role writes is the person's own hand; a reviewer is shut in as the peer is.
    let lock = match errand.writes {
        true => Lock::None,
        false => confine::find(&profile, settings, place, errand.options)?.lock,
    };
    // The brief lies among codriver's own records, which it may not read otherwise.
    let brief: Vec<&Path> = request.brief().parent().into_iter().collect();
    let shut = Shut {
        lock,
        settings,
        show: &brief,
    };
    let prepared = launch::prepare(&profile, Seat::Peer, place, errand.session, None, shut);
    let Ok(prepared) = prepared else {
        return Ok(Ran::not_started(
            FailureKind::Failed,
            format!("the launch of {runner} cannot be prepared"),
        ));
    };
    let Prepared { launch, folder, .. } = prepared;
    let mut made = invocation(runner, request, own.model.as_ref(), own.bare, errand.writes);
    if !errand.writes {
        made.shut_in(&launch.folder, launch.lock == Lock::Landlock);
    }
    let order = finish(&program, made, &launch, request.dir());
    let start = Start {
        digest: Some(digest(&order)),
        scrubbed: launch.scrubbed,
        lock: launch.lock,
    };
    let mut ran = Ran {
        start,
        ..Ran::absent("")
    };
    tracing::info!(%runner, role = request.role(), "runner started");
    match Running::start(&order) {
        Ok(mut running) => {
            let ended = tokio::select! {
                biased;
                ended = running.wait(request.timeout()) => Some(ended),
                () = stop => None,
            };
            // What is left of it is of no use to anybody.
            let _ = running.kill();
            let (session_id, last, result) = judge(errand, &running, ended.as_ref());
            tracing::info!(
                %runner,
                kind = result.as_ref().err().map(|broken| broken.kind.code()),
                bytes = running.output().len(),
                "runner ended"
            );
            ran.transcript = transcript(errand, &running, session_id, &order);
            ran.last = last;
            ran.result = result;
        }
        Err(_) => {
            ran.result = Err(Broken::new(
                FailureKind::Failed,
                format!("{runner} could not be started"),
            ));
        }
    }
    drop(folder);
    Ok(ran)
}

/// The one place where what is started becomes final: program, arguments, environment and folder. Whatever keeps a
/// runner in bounds is put around it here.
fn finish(program: &Path, made: Invocation, launch: &Launch, dir: &Path) -> Order {
    let Invocation { args, env, .. } = made;
    let mut all = launch.env.clone();
    for (name, value) in env {
        all.retain(|(known, _)| known != name);
        all.push((name.into(), value.into()));
    }
    // The words that shut it in stand before it; the first of them is this program.
    let mut words = launch.wrap.iter().cloned();
    let first = words.next().unwrap_or_else(|| program.into());
    let own = launch.wrap.first().map(|_| program.as_os_str().to_owned());
    let args = words.chain(own).chain(args.into_iter().map(OsString::from));
    order(Path::new(&first), args, &all, dir)
}

fn absent(runner: Runner, error: BinaryError) -> String {
    format!("{runner} is not started: {error}")
}

fn digest(order: &Order) -> Digest {
    let program = order.program.as_os_str();
    let words = std::iter::once(program).chain(order.args.iter().map(OsString::as_os_str));
    Digest::of_list(words.map(std::ffi::OsStr::as_encoded_bytes))
}

/// The session it named, and what came of it.
fn judge(
    errand: &Errand<'_>,
    running: &Running,
    ended: Option<&std::io::Result<End>>,
) -> (Option<String>, Option<String>, Result<Answer, Broken>) {
    let status = match ended {
        Some(Ok(End::Ended(status))) => *status,
        _ => None,
    };
    let said = read(
        errand.runner,
        &Ended {
            output: running.output(),
            is_cut: running.is_cut(),
            status,
            is_held: running.is_held(),
        },
    );
    let is_limited = matches!(&said.answer, Err(broken) if broken.kind == FailureKind::RateLimited);
    let broken = |kind, words: String| Err(Broken::new(kind, words));
    let result = match ended {
        _ if is_limited => said.answer,
        Some(Ok(End::Ended(_))) => said.answer,
        Some(Ok(End::TimedOut)) => broken(
            FailureKind::Timeout,
            format!(
                "it did not end in its time of {} s",
                errand.request.timeout().as_secs_f64()
            ),
        ),
        Some(Err(_)) => broken(
            FailureKind::Failed,
            "its output could not be read".to_owned(),
        ),
        None => broken(
            FailureKind::Interrupted,
            "it was stopped while it worked".to_owned(),
        ),
    };
    let result = match result {
        Ok(answer) if answer.text.trim().is_empty() => {
            broken(FailureKind::Invalid, "it answered nothing".to_owned())
        }
        result => result,
    };
    (said.session_id, said.last, result)
}

/// What it wrote, with its runner and role, secrets taken out (C.10).
fn transcript(
    errand: &Errand<'_>,
    running: &Running,
    session_id: Option<String>,
    order: &Order,
) -> Option<Transcript> {
    if running.output().is_empty() && running.error().is_empty() {
        return None;
    }
    let id = session_id
        .filter(|id| !id.starts_with('.'))
        .unwrap_or_else(|| errand.request.session_id().to_owned());
    let mut text = format!(
        "runner: {}\nrole: {}\n\n",
        errand.runner,
        errand.request.role()
    );
    text.push_str(&String::from_utf8_lossy(running.output()));
    if !running.error().is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str("---- standard error ----\n");
        text.push_str(&String::from_utf8_lossy(running.error()));
    }
    let variables: Vec<(String, String)> = order
        .env
        .iter()
        .map(|(name, value)| {
            let text = |word: &OsString| word.to_string_lossy().into_owned();
            (text(name), text(value))
        })
        .collect();
    let pairs = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    Some(Transcript {
        name: format!("{}-{}-{id}.txt", errand.runner, errand.request.role()),
        text: redact(&text, pairs),
    })
}

/// Keeps what a runner wrote; a second one of the same session gets a number.
///
/// # Errors
///
/// When it cannot be kept: that is an error, not a fallback (C.10).
pub(super) fn keep(
    transcript: Option<&Transcript>,
    recorder: &mut Recorder,
) -> Result<Option<Text>, Failure> {
    let Some(Transcript { name, text }) = transcript else {
        return Ok(None);
    };
    for number in 1..=99 {
        let name = match number {
            1 => name.clone(),
            number => format!("{}-{number}.txt", name.trim_end_matches(".txt")),
        };
        if recorder.has_text(&name) {
            continue;
        }
        let kept = recorder.text(&name, text);
        if kept.file.is_some() {
            return Ok(Some(kept));
        }
        break;
    }
    Err(Failure::new(
        Exit::Error,
        "what the runner wrote could not be kept, so its answer is not used; see that the state folder can be written",
    ))
}

/// Refuses to begin where what a runner writes, or a receipt, could not be kept: nothing is started then (C.8).
///
/// # Errors
///
/// That refusal.
pub(super) fn must_record(recorder: &Recorder) -> Result<(), Failure> {
    match recorder.can_write_receipts() {
        true => Ok(()),
        false => Err(Failure::new(
            Exit::Refused,
            "nothing was started: neither transcripts nor receipts can be written; see that the state folder can be written",
        )),
    }
}

/// Longest a runner may take for this call.
pub(super) fn time(asked: Option<Duration>) -> Duration {
    asked.unwrap_or(limits::RUNNER_TIME)
}

/// The tools a role that may not write is given.
pub(super) fn reading_tools() -> Vec<String> {
    ["Read", "Grep", "Glob"].map(str::to_owned).to_vec()
}

/// Says that a route did not answer, and why.
pub(super) fn did_not_answer(route: Route, why: &Broken) -> String {
    format!("{route} did not answer ({}): {}", why.kind, why.detail)
}

/// How the program ends when the last route there was failed that way.
pub(super) fn exit_of(kind: FailureKind) -> Exit {
    match kind {
        FailureKind::Timeout => Exit::TimedOut,
        FailureKind::Interrupted => Exit::Interrupted,
        _ => Exit::Error,
    }
}

/// A pairing round as a request. It has neither a brief nor a return on disk; both places are the folder of the work.
///
/// # Errors
///
/// When the folder is none a runner can be given.
pub(super) fn round(
    dir: PathBuf,
    session_id: &str,
    prompt: &str,
    timeout: Duration,
) -> Result<Request, Refusal> {
    Request::check(Draft {
        role: Role::Peer.name().to_owned(),
        brief: dir.clone(),
        return_path: dir.clone(),
        dir,
        checkout: None,
        tools: reading_tools(),
        session_id: session_id.to_owned(),
        timeout,
        words: Some(prompt.to_owned()),
    })
}
