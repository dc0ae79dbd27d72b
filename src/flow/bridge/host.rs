//! The side of whoever keeps the peer: greets a client, takes its calls in, and brings it what comes of them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::counter::{Given, How};
use super::wire::next;
use crate::bridge::{
    Call, Code, Fault, Frames, FromClient, FromServer, Hello, PROTOCOL, Standing, State, Welcome,
    encode,
};
use crate::flow::config::Workplace;
use crate::limits;
use crate::plain;
use crate::recording::session::repo_key;
use crate::world::environment;
use crate::world::files::{PlaceError, Places};

/// Between two looks at a peer that is at work on something nobody asked for here.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What a client wants of whoever keeps the peer.
#[derive(Debug)]
pub(in crate::flow) enum Incoming {
    /// A call.
    Call {
        /// What the client calls itself.
        client: String,
        /// Who it is.
        standing: Standing,
        /// The call.
        call: Call,
        /// Where the answer goes.
        reply: oneshot::Sender<Given>,
    },
    /// Nobody can ask anything any more.
    Over,
    /// Nobody waits for this job any more.
    Left {
        /// Its number.
        id: u64,
        /// Who waited.
        client: String,
    },
}

/// The socket of a worktree's console.
pub(in crate::flow) fn socket_path(place: &Workplace) -> Result<PathBuf, PlaceError> {
    let folder = Places::from_env(environment::variable).runtime()?;
    Ok(folder.join(format!("{}.sock", repo_key(place.worktree()))))
}

/// Serves one client until it goes.
pub(in crate::flow) async fn serve<S>(stream: S, welcome: Welcome, calls: mpsc::Sender<Incoming>)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (mut reading, mut writing) = tokio::io::split(stream);
    let mut frames = Frames::default();
    let greeted = timeout(
        limits::GREETING,
        next::<_, Hello>(&mut reading, &mut frames),
    );
    let Ok(Some(hello)) = greeted.await else {
        return;
    };
    let standing = welcome.standing;
    if hello.codriver != PROTOCOL {
        let fault = Fault::new(
            Code::Version,
            format!(
                "the console is codriver {} and this is codriver {}; start both from the same program",
                welcome.version,
                plain::display(&hello.version, 40)
            ),
        );
        return refuse(&mut writing, fault).await;
    }
    let client = plain::display(&hello.name, 60);
    let (out, mut outgoing) = mpsc::channel::<FromServer>(64);
    let greeting = FromServer::Welcome(welcome);
    // What cannot be brought to a client that has gone is nobody's.
    let writer = tokio::spawn(async move {
        if write(&mut writing, &greeting).await.is_err() {
            return;
        }
        while let Some(frame) = outgoing.recv().await {
            if write(&mut writing, &frame).await.is_err() {
                return;
            }
        }
    });
    let mut open: Vec<(u64, AbortHandle)> = Vec::new();
    while let Some(said) = next::<_, FromClient>(&mut reading, &mut frames).await {
        open.retain(|(_, task)| !task.is_finished());
        match said {
            FromClient::Leave { id } => {
                for (_, task) in open.iter().filter(|(known, _)| *known == id) {
                    task.abort();
                }
            }
            FromClient::Call { id, .. } if open.len() >= limits::CALLS => {
                let fault = Fault::new(
                    Code::Busy,
                    format!("{} calls of this client go on already", limits::CALLS),
                );
                if out.send(FromServer::Fault { id, fault }).await.is_err() {
                    break;
                }
            }
            FromClient::Call { id, call } => {
                let asked = Asked {
                    id,
                    client: client.clone(),
                    standing,
                    calls: calls.clone(),
                    out: out.clone(),
                    since: Instant::now(),
                    waits_for: None,
                };
                let task = tokio::spawn(asked.answer(call));
                open.push((id, task.abort_handle()));
            }
        }
    }
    for (_, task) in open {
        task.abort();
    }
    drop(out);
    // A client that reads nothing more keeps nobody.
    let _ = timeout(limits::GREETING, writer).await;
}

/// Tells a client why it is not let in.
pub(in crate::flow) async fn turn_away<S: AsyncWrite + Unpin>(mut stream: S, fault: Fault) {
    refuse(&mut stream, fault).await;
}

async fn refuse(writing: &mut (impl AsyncWrite + Unpin), fault: Fault) {
    // It is gone: then it need not be told.
    let _ = timeout(
        limits::GREETING,
        write(writing, &FromServer::Refused(fault)),
    )
    .await;
}

async fn write(writing: &mut (impl AsyncWrite + Unpin), frame: &FromServer) -> std::io::Result<()> {
    let bytes = encode(frame).or_else(|error| {
        // What is too long for a frame is told in one that is not.
        let fault = Fault::new(Code::Failed, format!("the answer cannot be sent: {error}"));
        encode(&match frame.id() {
            Some(id) => FromServer::Fault { id, fault },
            None => FromServer::Refused(fault),
        })
    });
    let bytes = bytes.map_err(std::io::Error::other)?;
    writing.write_all(&bytes).await?;
    writing.flush().await
}

/// One call on its way.
struct Asked {
    id: u64,
    client: String,
    standing: Standing,
    calls: mpsc::Sender<Incoming>,
    out: mpsc::Sender<FromServer>,
    since: Instant,
    /// The job it waits for.
    waits_for: Option<u64>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(id) = self.waits_for {
            let client = std::mem::take(&mut self.client);
            // With the console, its jobs are gone too.
            if let Err(TrySendError::Full(left)) =
                self.calls.try_send(Incoming::Left { id, client })
                && let Ok(runtime) = Handle::try_current()
            {
                // So many ask at this moment that it has to wait; what nobody wants is not begun all the same.
                let calls = self.calls.clone();
                runtime.spawn(async move { calls.send(left).await });
            }
        }
    }
}

impl Asked {
    async fn answer(mut self, call: Call) {
        let patience = match &call {
            Call::WaitReply { timeout_ms, .. } => {
                timeout_ms.map_or(limits::TURN_TIMEOUT, Duration::from_millis)
            }
            _ => Duration::MAX,
        };
        let patience = patience.min(limits::LONGEST_WAIT);
        let mut told = Duration::ZERO;
        let answer = loop {
            let Some(given) = self.ask(call.clone()).await else {
                break Err(gone());
            };
            match given {
                Given::Value(value) => break Ok(value),
                Given::Fault(fault) => break Err(fault),
                Given::Job {
                    id,
                    name,
                    state,
                    how,
                } => {
                    if matches!(how, How::Outcome | How::Sent) {
                        self.waits_for = Some(id);
                    }
                    break self.follow(&name, state, how, patience).await;
                }
                Given::Later if self.since.elapsed() >= patience => {
                    break Err(Fault::new(
                        Code::Timeout,
                        format!(
                            "the pane did not come to rest within {} s",
                            patience.as_secs_f64()
                        ),
                    ));
                }
                Given::Later => {
                    let waited = self.since.elapsed();
                    if waited >= told + limits::PROGRESS_EVERY {
                        told = waited;
                        let doing = "the pane is at work".to_owned();
                        let state = State::Running { doing, sent: true };
                        self.progress("", &state, waited).await;
                    }
                    sleep(LOOK_AGAIN).await;
                }
            }
        };
        self.waits_for = None;
        let frame = match answer {
            Ok(value) => FromServer::Answer { id: self.id, value },
            Err(fault) => FromServer::Fault { id: self.id, fault },
        };
        // The client has gone: what came of it is kept for who asks later.
        let _ = self.out.send(frame).await;
    }

    async fn ask(&self, call: Call) -> Option<Given> {
        let (reply, given) = oneshot::channel();
        let incoming = Incoming::Call {
            client: self.client.clone(),
            standing: self.standing,
            call,
            reply,
        };
        self.calls.send(incoming).await.ok()?;
        given.await.ok()
    }

    /// Waits for something that goes on, and tells the client how it stands.
    async fn follow(
        &mut self,
        name: &str,
        mut state: watch::Receiver<State>,
        how: How,
        patience: Duration,
    ) -> Result<Value, Fault> {
        let until = match how {
            How::Poll(wait_ms) => Duration::from_millis(wait_ms),
            How::Start => Duration::ZERO,
            How::Reply => patience,
            How::Outcome | How::Sent => Duration::MAX,
        };
        loop {
            let now = state.borrow_and_update().clone();
            let waited = self.since.elapsed();
            match (&now, how) {
                (State::Over(outcome), _) => return said(name, outcome.clone(), how),
                (State::Running { sent: true, .. }, How::Sent) => {
                    return Ok(json!({"sent": true, "round_id": name}));
                }
                (_, How::Start | How::Poll(_)) if waited >= until => {
                    return Ok(standing_of(name, &now, waited));
                }
                (_, How::Reply) if waited >= until => {
                    return Err(Fault::new(
                        Code::Timeout,
                        format!(
                            "the peer did not come to rest within {} s",
                            until.as_secs_f64()
                        ),
                    ));
                }
                _ => {}
            }
            self.progress(name, &now, waited).await;
            let pause = limits::PROGRESS_EVERY.min(until.saturating_sub(waited));
            if let Ok(Err(_)) = timeout(pause, state.changed()).await {
                return Err(gone());
            }
        }
    }

    async fn progress(&self, name: &str, state: &State, waited: Duration) {
        let frame = FromServer::Progress {
            id: self.id,
            round_id: name.to_owned(),
            state: words(state),
            elapsed_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        };
        // The client has gone; the call ends with its connection.
        let _ = self.out.send(frame).await;
    }
}

fn gone() -> Fault {
    Fault::new(
        Code::ConsoleGone,
        "the console ended before there was an answer; what it recorded is in its session",
    )
}

/// Where something stands, in words.
fn words(state: &State) -> String {
    match state {
        State::Queued { ahead, holder } => {
            format!("waits in place {}; the peer is held by {holder}", ahead + 1)
        }
        State::Running { doing, .. } => doing.clone(),
        State::Over(_) => "over".to_owned(),
    }
}

fn standing_of(name: &str, state: &State, waited: Duration) -> Value {
    json!({
        "round_id": name,
        "done": false,
        "state": words(state),
        "waited_ms": u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
    })
}

/// What came of something, as the caller wants it.
fn said(name: &str, outcome: Result<Value, Fault>, how: How) -> Result<Value, Fault> {
    match how {
        How::Sent => outcome.map(|_| json!({"sent": true, "round_id": name})),
        How::Reply => outcome.map(|value| {
            let reply = ["reply", "raw", "rationale"]
                .iter()
                .find_map(|name| value.get(name));
            let mut out = json!({"reply": reply.cloned().unwrap_or_default()});
            if let Some(tail) = value.get("raw_tail") {
                out["raw_tail"] = tail.clone();
            }
            out
        }),
        How::Outcome => outcome.map(|mut value| {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("round_id".to_owned(), name.into());
            }
            value
        }),
        How::Start | How::Poll(_) => {
            let mut out = json!({"round_id": name, "done": true, "state": "over"});
            match outcome {
                Ok(value) => out["result"] = value,
                Err(fault) => {
                    out["error"] = json!({"code": fault.code.word(), "message": fault.message});
                }
            }
            Ok(out)
        }
    }
}
