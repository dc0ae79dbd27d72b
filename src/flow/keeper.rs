//! The keeper: a peer without a console, for the MCP server of a driver that was started elsewhere (issue TOOLS 3).
//!
//! It is there from the first call on and starts the peer with the first brief or message. The peer ends with the
//! server, and after a while in which nobody asked it anything.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::bridge::{Counter, Desk, Incoming, PaneView};
use super::compose::Ask;
use super::config::{self, Workplace};
use super::confine;
use super::failure::{Failure, fault_of};
use super::pane::{Going, PaneError};
use super::peer;
use super::round::{Partner, Session};
use super::talk::{Next, Stop, Talk, Written};
use crate::bridge::{Code, Fault, Job, Lookup, Standing, Work};
use crate::cli::{Exit, Options};
use crate::limits;
use crate::recording::result::Round;
use crate::recording::word::Kind;
use crate::world::signals::{Signal, Signals};

/// Keeps a peer for those whose calls come, until a signal comes or nobody can call any more.
pub(super) async fn run(
    place: &Workplace,
    options: &Options,
    calls: mpsc::Receiver<Incoming>,
) -> Result<(), Failure> {
    let signals = Signals::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let mut keeper = Keeper {
        place,
        options,
        calls,
        signals,
        counter: Counter::open(),
        notes: Notes::default(),
    };
    loop {
        let Some(()) = keeper.wait_for_work().await else {
            return Ok(());
        };
        match keeper.keep().await {
            Ok(Over::Idle) => {}
            Ok(Over::Stopped) => return Ok(()),
            Err(failure) => {
                let fault = fault_of(&failure, Code::NotStarted);
                keeper.counter.clear(&fault);
            }
        }
    }
}

/// Why a peer is no longer kept.
enum Over {
    /// Nobody asked it anything, or it ended by itself.
    Idle,
    /// The server ends.
    Stopped,
}

/// What is known of the rounds so far, whichever peer answered.
#[derive(Debug, Default)]
struct Notes {
    session: String,
    harness: Option<String>,
    rounds: Vec<Round>,
    receipts: Vec<Value>,
}

struct Keeper<'a> {
    place: &'a Workplace,
    options: &'a Options,
    calls: mpsc::Receiver<Incoming>,
    signals: Signals,
    counter: Counter,
    notes: Notes,
}

/// The desk of a keeper: what it shows of itself.
struct Front<'a> {
    notes: &'a Notes,
    place: &'a Workplace,
    partner: Option<&'a Partner>,
    talk: Option<&'a Talk>,
    profile: Option<&'a crate::config::Profile>,
}

impl Desk for Front<'_> {
    fn panes(&self) -> Vec<Value> {
        let (harness, state) = match (self.profile, self.partner) {
            (Some(profile), Some(partner)) => {
                let judged = crate::pairing::look(partner.pane.screen(), profile);
                (profile.name.clone(), judged.activity.word())
            }
            _ => (
                self.notes.harness.clone().unwrap_or_default(),
                "not started",
            ),
        };
        vec![json!({
            "pane": "peer",
            "role": "peer",
            "harness": harness,
            "repo": folder(self.place),
            "declared": true,
            "state": state,
            "briefed": self.talk.is_some_and(Talk::is_briefed),
            "confined": self.talk.map(Talk::confined),
        })]
    }

    fn has_peer(&self) -> bool {
        true
    }

    fn view(&self, pane: &str) -> Option<PaneView<'_>> {
        match (pane, self.partner, self.profile) {
            ("peer", Some(partner), Some(profile)) => Some(PaneView {
                screen: partner.pane.screen(),
                profile,
            }),
            _ => None,
        }
    }

    fn holder(&self) -> Option<String> {
        None
    }

    fn refuses(&self) -> Option<Fault> {
        None
    }

    fn ping(&self, _: Standing) -> Value {
        json!({
            "mode": "headless",
            "pane": null,
            "pane_source": "none",
            "harness": null,
            "repo": folder(self.place),
            "pid": std::process::id(),
            "registered": false,
            "session": self.notes.session,
            "peer": self.notes.harness,
            "peer_state": if self.partner.is_some() { "started" } else { "not started" },
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    fn look(&self, lookup: &Lookup) -> Result<Value, Fault> {
        match lookup {
            Lookup::Session => Ok(json!({
                "session": self.notes.session,
                "mode": "headless",
                "worktree": folder(self.place),
                "panes": self.panes(),
                "rounds": self.notes.rounds.iter().map(brief_of).collect::<Vec<_>>(),
            })),
            Lookup::Receipts => Ok(Value::from(self.notes.receipts.clone())),
            Lookup::Round { number } => {
                let mut rounds = self.notes.rounds.iter().rev();
                let round =
                    rounds.find(|round| round.round == *number && round.kind != Kind::Brief);
                let round = round.ok_or_else(|| no_round(*number))?;
                serde_json::to_value(round)
                    .map_err(|error| Fault::new(Code::Failed, error.to_string()))
            }
        }
    }

    fn submit(&mut self, _: &str) -> Result<(), Fault> {
        Err(Fault::new(
            Code::NotAllowed,
            "a review is handed in by the tool the peer was started with",
        ))
    }
}

fn folder(place: &Workplace) -> String {
    let folder = place.root.as_deref().unwrap_or(&place.folder);
    folder.to_string_lossy().into_owned()
}

/// A round in one line of a list.
pub(super) fn brief_of(round: &Round) -> Value {
    json!({
        "round": round.round,
        "kind": round.kind,
        "verdict": round.reading.verdict(),
        "receipt": round.receipt,
        "elapsed_ms": round.elapsed_ms,
    })
}

pub(super) fn no_round(number: u32) -> Fault {
    Fault::new(
        Code::NoRound,
        format!("this session has no round {number} yet"),
    )
}

impl Keeper<'_> {
    /// Answers calls until something is to be done with the peer; none when the server ends.
    async fn wait_for_work(&mut self) -> Option<()> {
        if self.notes.harness.is_none() {
            // Only to name it; what is wrong with the settings is told when the peer is to be started.
            let settings = config::settings(self.place, self.options).ok();
            self.notes.harness = settings.map(|settings| settings.peer.value.clone());
        }
        while !self.counter.is_ready() {
            let incoming = tokio::select! {
                biased;
                _ = self.signals.next() => return None,
                incoming = self.calls.recv() => incoming?,
            };
            if matches!(incoming, Incoming::Over) {
                return None;
            }
            let mut front = Front {
                notes: &self.notes,
                place: self.place,
                partner: None,
                talk: None,
                profile: None,
            };
            take(&mut self.counter, incoming, &mut front);
        }
        Some(())
    }

    /// Starts the peer and serves it until it is no longer needed.
    async fn keep(&mut self) -> Result<Over, Failure> {
        let settings = config::settings(self.place, self.options)
            .map_err(|faults| Failure::of(Exit::Usage, &faults))?;
        let profile = peer::profile(&settings, &settings.peer.value)?;
        let confinement = confine::find(&profile, &settings, self.place, self.options)?;
        let mut session = Session::open(&settings, profile, self.place, self.options, confinement);
        session.recorder.id().clone_into(&mut self.notes.session);
        self.notes.harness = Some(session.profile.name.clone());
        let started = session.start(&mut self.signals);
        let mut partner = match started {
            Ok(partner) => partner,
            Err(failure) => {
                session.close(Some(&failure));
                return Err(failure);
            }
        };
        let over = self.serve(&mut session, &mut partner).await;
        let stopped = Fault::new(
            Code::PeerEnded,
            "the peer has ended; ask again for a new one",
        );
        if self.counter.held().is_some() {
            self.counter.finish(Err(stopped.clone()));
        }
        session.end(partner.pane, &mut self.signals).await;
        session.close(None);
        Ok(over)
    }

    async fn serve(&mut self, session: &mut Session<'_>, partner: &mut Partner) -> Over {
        let mut going: Option<Going> = None;
        let mut asked = session.clock.elapsed();
        loop {
            if going.is_none()
                && let Some(job) = self.counter.next()
            {
                going = self.begin(job, session, partner).await;
            }
            if let Some(exchange) = &mut going {
                let Partner { pane, ear, .. } = partner;
                let mut around = session.around(&mut self.signals);
                pane.look(exchange, ear, &mut around).await;
                let status = exchange.exchange.status();
                let doing = format!("{} {}", exchange.stage, status.activity.word());
                let sent = exchange.exchange.delivered().submitted;
                self.counter.note(&doing, sent);
            }
            let ended = going
                .as_ref()
                .and_then(|exchange| exchange.exchange.ending().cloned());
            if let (Some(ending), Some(exchange)) = (
                ended,
                going.take_if(|exchange| exchange.exchange.ending().is_some()),
            ) {
                let next = session.conclude(&exchange.exchange, &ending, partner).await;
                going = self.go_on(next, session, partner);
                asked = session.clock.elapsed();
                continue;
            }
            let now = session.clock.elapsed();
            if going.is_none() && (partner.pane.is_over() || now >= asked + limits::KEPT_IDLE) {
                return Over::Idle;
            }
            let deadline = match &going {
                Some(exchange) => exchange.exchange.next_deadline(),
                None if self.counter.is_ready() => continue,
                None => Some(asked + limits::KEPT_IDLE),
            };
            let mut around = session.around(&mut self.signals);
            let incoming = tokio::select! {
                incoming = self.calls.recv() => incoming,
                waited = partner.pane.wait(deadline, &mut around) => {
                    let stop = match waited {
                        Ok(()) => continue,
                        Err(PaneError::Interrupted(signal)) => Stop::Signal(signal),
                        Err(PaneError::Terminal(error)) => Stop::Terminal(error),
                    };
                    let is_signal = matches!(stop, Stop::Signal(_));
                    self.give_up(&stop, going.is_some(), session);
                    return if is_signal { Over::Stopped } else { Over::Idle };
                }
            };
            let incoming = incoming.filter(|incoming| !matches!(incoming, Incoming::Over));
            let Some(incoming) = incoming else {
                let stop = Stop::Signal(Signal::HangUp);
                self.give_up(&stop, going.is_some(), session);
                return Over::Stopped;
            };
            if going.is_none() {
                asked = session.clock.elapsed();
            }
            let profile = std::sync::Arc::clone(&session.profile);
            let mut front = Front {
                notes: &self.notes,
                place: self.place,
                partner: Some(partner),
                talk: Some(&session.talk),
                profile: Some(&profile),
            };
            take(&mut self.counter, incoming, &mut front);
        }
    }

    fn give_up(&mut self, stop: &Stop, is_going: bool, session: &mut Session<'_>) {
        if !is_going {
            return;
        }
        let failure = session.give_up(stop);
        self.counter
            .finish(Err(fault_of(&failure, Code::Interrupted)));
    }

    /// Begins a job with the peer.
    async fn begin(
        &mut self,
        job: Job,
        session: &mut Session<'_>,
        partner: &mut Partner,
    ) -> Option<Going> {
        let before = session.fingerprint().await;
        session.talk.wait_for(job.patience());
        let ask = match job.work {
            Work::Brief { force } => Ask::Brief { force },
            Work::Discuss { kind, message } => Ask::Message(kind, message),
            Work::Say { text } => Ask::Say(text),
        };
        let (talk, mut desk) = session.talk_at();
        let next = talk.begin(ask, before, &mut desk);
        self.go_on(next, session, partner)
    }

    /// Begins the next exchange, or gives the job what came of it.
    fn go_on(
        &mut self,
        next: Next,
        session: &mut Session<'_>,
        partner: &mut Partner,
    ) -> Option<Going> {
        for written in session.talk.take_receipts() {
            let (id, value) = match written {
                Written::Round(id, receipt) => (id, serde_json::to_value(&receipt)),
                Written::Fallback(id, receipt) => (id, serde_json::to_value(&receipt)),
            };
            let mut value = value.unwrap_or_default();
            value["id"] = id.into();
            keep(&mut self.notes.receipts, value);
        }
        session.pass_on_warnings();
        match next {
            Next::Exchange(turn) => {
                let now = session.clock.elapsed();
                let going = partner.pane.begin(turn.order, turn.stage, turn.round, now);
                return Some(going);
            }
            Next::Said(said) => {
                let mut value = json!({"reply": said.reply});
                if let Some(tail) = said.tail {
                    value["raw_tail"] = tail.into();
                }
                self.counter.finish(Ok(value));
            }
            Next::Over(result) => match *result {
                Ok(round) => {
                    let value = serde_json::to_value(&round);
                    keep(&mut self.notes.rounds, round);
                    let value = value.map_err(|error| Fault::new(Code::Failed, error.to_string()));
                    self.counter.finish(value);
                }
                Err(failure) => {
                    self.counter.finish(Err(fault_of(&failure, Code::Failed)));
                }
            },
        }
        None
    }
}

/// Adds to a list of bounded length; the oldest goes.
fn keep<T>(list: &mut Vec<T>, one: T) {
    if list.len() >= limits::NOTES_KEPT {
        list.remove(0);
    }
    list.push(one);
}

/// Answers what came in.
fn take(counter: &mut Counter, incoming: Incoming, front: &mut Front<'_>) {
    match incoming {
        Incoming::Call {
            client,
            standing,
            call,
            reply,
        } => {
            let given = counter.answer(call, &client, standing, front);
            // Whoever asked has gone.
            let _ = reply.send(given);
        }
        Incoming::Left { id, .. } => counter.left(id),
        // Whoever waits for calls has taken it.
        Incoming::Over => {}
    }
}
