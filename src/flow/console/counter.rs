//! The console as a counter: what clients of its socket ask, and what comes of it (issue TOOLS 2).

use std::future::pending;
use std::io;

use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::state::Inner;
use crate::app::{App, Ask, Event, Role};
use crate::bridge::{Code, Fault, Lookup, PROTOCOL, Standing, Welcome, Work};
use crate::flow::bridge::{
    Counter, Desk, Family, Incoming, PaneView, serve, socket_path, standing, turn_away,
};
use crate::flow::channel::SUBMISSIONS;
use crate::flow::config::Workplace;
use crate::flow::failure::{Failure, fault_of};
use crate::flow::keeper::{brief_of, no_round};
use crate::flow::talk::{Said, Talk};
use crate::limits;
use crate::pairing::Activity;
use crate::recording::result::{Human, Round};
use crate::recording::word::{Kind, Verdict};
use crate::world::process::ProcessId;
use crate::world::socket::{Listener, SocketError, Who};
use crate::world::{files, orphans};

/// How many children, those that ended too, are known as the console's own.
const FAMILIES: usize = 64;

/// What belongs to the console's socket.
pub(super) struct Service {
    /// The socket; none when it could not be opened.
    pub listener: Option<Listener>,
    tell: mpsc::Sender<Incoming>,
    /// What clients ask.
    pub calls: mpsc::Receiver<Incoming>,
    counter: Counter,
    /// The answer of the job that has the peer, which waits for the person's decision.
    undecided: Option<Box<Round>>,
    /// A job that has the peer and that nobody waits for any more.
    left: Option<u64>,
    families: Vec<Family>,
    /// How many clients are served, but for reviewers.
    clients: std::sync::Arc<()>,
    /// How many reviewers are: they take nobody else's place.
    reviewers: std::sync::Arc<()>,
}

impl Service {
    /// Opens the socket of the worktree, or one beside it when another console has that. What is wrong is told.
    pub(super) fn open(place: &Workplace) -> (Self, Option<String>) {
        let (tell, calls) = mpsc::channel(64);
        let (listener, warning) = match listen(place) {
            Ok((listener, warning)) => (Some(listener), warning),
            Err(why) => (None, Some(format!("agents have no tools here: {why}"))),
        };
        let service = Self {
            listener,
            tell,
            calls,
            counter: Counter::open(),
            undecided: None,
            left: None,
            families: Vec::new(),
            clients: std::sync::Arc::new(()),
            reviewers: std::sync::Arc::new(()),
        };
        (service, warning)
    }
}

fn listen(place: &Workplace) -> Result<(Listener, Option<String>), String> {
    let path = socket_path(place).map_err(|error| error.to_string())?;
    let shown = |error: SocketError| Failure::of(crate::cli::Exit::Error, &error).to_string();
    match Listener::open(&path) {
        Ok(listener) => Ok((listener, None)),
        Err(SocketError::Taken(_)) => {
            let beside = path.with_extension(format!("{}.sock", std::process::id()));
            let listener = Listener::open(&beside).map_err(shown)?;
            let warning = "another console runs for this folder: `codriver discuss` goes to that one, this driver's \
                           tools come here";
            Ok((listener, Some(warning.to_owned())))
        }
        Err(error) => Err(shown(error)),
    }
}

/// Waits for the next client, or for ever where there is no socket.
pub(super) async fn next_client(listener: Option<&Listener>) -> io::Result<(UnixStream, Who)> {
    match listener {
        Some(listener) => listener.next().await,
        None => pending().await,
    }
}

/// What the console shows of itself at its counter.
struct Front<'a> {
    app: &'a App,
    place: &'a Workplace,
    session: &'a str,
    talk: Option<&'a Talk>,
    private: Option<std::path::PathBuf>,
    is_held: bool,
}

impl Front<'_> {
    fn pane(&self, role: Role) -> Option<Value> {
        let pane = self.app.pane(role)?;
        let is_peer = role == Role::Peer;
        let state = match pane.is_alive() {
            true => pane.doing.activity.word(),
            false => "ended",
        };
        let mut value = json!({
            "pane": role.word(),
            "role": role.word(),
            "harness": pane.profile.name,
            "repo": folder(self.place),
            "declared": true,
            "state": state,
            "version": pane.version,
        });
        if is_peer {
            value["briefed"] = self.talk.is_some_and(Talk::is_briefed).into();
            value["confined"] = self.talk.map(Talk::confined).into();
        }
        Some(value)
    }

    fn rounds(&self) -> impl DoubleEndedIterator<Item = &Round> {
        let entries = self.app.ledger.entries.iter();
        entries.filter_map(|entry| entry.round())
    }
}

fn folder(place: &Workplace) -> String {
    let folder = place.root.as_deref().unwrap_or(&place.folder);
    folder.to_string_lossy().into_owned()
}

impl Desk for Front<'_> {
    fn panes(&self) -> Vec<Value> {
        [Role::Driver, Role::Peer]
            .into_iter()
            .filter_map(|role| self.pane(role))
            .collect()
    }

    fn has_peer(&self) -> bool {
        true
    }

    fn view(&self, pane: &str) -> Option<PaneView<'_>> {
        let role = [Role::Driver, Role::Peer]
            .into_iter()
            .find(|role| role.word() == pane)?;
        let pane = self.app.pane(role)?;
        Some(PaneView {
            screen: &pane.screen,
            profile: &pane.profile,
        })
    }

    fn holder(&self) -> Option<String> {
        let by_hand = self.app.asking.is_some() && !self.is_held;
        by_hand.then(|| "the person at the console".to_owned())
    }

    fn refuses(&self) -> Option<Fault> {
        if !self.app.peer.is_alive() {
            return Some(Fault::new(
                Code::PeerEnded,
                "the peer has ended; the person at the console can restart it",
            ));
        }
        if self.app.ledger.awaits_person() {
            return Some(needs_person());
        }
        if self.app.asking.is_none() && self.app.peer.doing.activity == Activity::Blocked {
            return Some(Fault::new(
                Code::Dialog,
                "the peer waits at a dialog that only a person may answer, and nothing was typed at it",
            ));
        }
        None
    }

    fn ping(&self, standing: Standing) -> Value {
        let own = (standing == Standing::Driver).then_some("driver");
        let harness = own
            .and(self.app.driver.as_ref())
            .map(|pane| pane.profile.name.clone());
        json!({
            "mode": "console",
            "pane": own,
            "pane_source": if own.is_some() { "process" } else { "none" },
            "harness": harness,
            "repo": folder(self.place),
            "pid": std::process::id(),
            "registered": own.is_some(),
            "session": self.session,
            "peer": self.app.peer.profile.name,
            "peer_state": if self.app.peer.is_alive() { self.app.peer.doing.activity.word() } else { "ended" },
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    fn look(&self, lookup: &Lookup) -> Result<Value, Fault> {
        let failed = |error: serde_json::Error| Fault::new(Code::Failed, error.to_string());
        match lookup {
            Lookup::Session => Ok(json!({
                "session": self.session,
                "mode": "console",
                "worktree": folder(self.place),
                "panes": self.panes(),
                "rounds": self.rounds().map(brief_of).collect::<Vec<_>>(),
            })),
            Lookup::Receipts => {
                let receipts = self.app.ledger.receipts.iter().map(|marked| {
                    let mut value = serde_json::to_value(&marked.row.receipt)?;
                    value["id"] = marked.row.id.clone().into();
                    Ok(value)
                });
                let receipts: Result<Vec<Value>, _> = receipts.collect();
                receipts.map(Value::from).map_err(failed)
            }
            Lookup::Round { number } => {
                let mut rounds = self.rounds().rev();
                let round = rounds
                    .find(|round| round.round == *number && round.kind != Kind::Brief)
                    .ok_or_else(|| no_round(*number))?;
                serde_json::to_value(round).map_err(failed)
            }
        }
    }

    fn submit(&mut self, line: &str) -> Result<(), Fault> {
        let folder = self.private.as_ref().ok_or_else(|| {
            Fault::new(
                Code::NotAllowed,
                "there is no peer whose review could be handed in",
            )
        })?;
        files::append_line(&folder.join(SUBMISSIONS), line, limits::SUBMISSIONS_BYTES)
            .map_err(|error| Fault::new(Code::Failed, error.to_string()))
    }
}

fn needs_person() -> Fault {
    Fault::new(
        Code::NeedsPerson,
        "a question of the peer waits for the person at the console; nothing is sent before it is answered or put \
         aside",
    )
}

fn value_of(round: &Round) -> Result<Value, Fault> {
    serde_json::to_value(round).map_err(|error| Fault::new(Code::Failed, error.to_string()))
}

impl Inner<'_> {
    /// Lets a client in.
    pub(super) fn let_in(&mut self, stream: UnixStream, who: Who) {
        let service = &self.service;
        let standing = standing(who.pid, &service.families);
        let (served, most) = match standing {
            Standing::Reviewer => (&service.reviewers, limits::REVIEWERS),
            Standing::Driver | Standing::Person => (&service.clients, limits::CLIENTS),
        };
        let fault = if !who.is_ours {
            Some(Fault::new(
                Code::NotAllowed,
                "the console serves its own user alone",
            ))
        } else if std::sync::Arc::strong_count(served) > most {
            Some(Fault::new(
                Code::Busy,
                format!("{most} clients are served already"),
            ))
        } else {
            None
        };
        if let Some(fault) = fault {
            tokio::spawn(turn_away(stream, fault));
            return;
        }
        let worktree = self.worktree();
        let welcome = Welcome {
            codriver: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session: self.recorder.id().to_owned(),
            repo: self.place.repository_key(),
            worktree: worktree.to_string_lossy().into_owned(),
            mode: "console".to_owned(),
            standing,
            pid: std::process::id(),
        };
        let (calls, place) = (service.tell.clone(), std::sync::Arc::clone(served));
        tokio::spawn(async move {
            serve(stream, welcome, calls).await;
            drop(place);
        });
    }

    /// Knows a child, and what it starts, as the console's own.
    pub(super) fn know(&mut self, role: Role, id: ProcessId, mark: &[u8]) {
        let families = &mut self.service.families;
        if families.len() >= FAMILIES {
            families.remove(0);
        }
        families.push(Family {
            id,
            mark: mark.to_vec(),
            is_peer: role == Role::Peer,
        });
    }

    /// Lets go what children left behind and has ended.
    pub(super) fn let_orphans_go(&self) {
        let families = &self.service.families;
        orphans::let_go(|pid| families.iter().any(|family| family.id.pid == pid));
    }

    /// Answers what a client asks.
    pub(super) fn incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Call {
                client,
                standing,
                call,
                reply,
            } => {
                let mut front = Front {
                    app: &self.app,
                    place: self.place,
                    session: self.recorder.id(),
                    talk: self.talk.as_ref(),
                    private: self.peer.as_ref().map(super::child::Child::private),
                    is_held: self.service.counter.held().is_some(),
                };
                let counter = &mut self.service.counter;
                let given = counter.answer(call, &client, standing, &mut front);
                // Whoever asked has gone.
                let _ = reply.send(given);
            }
            // It is the console's own end that is the end of all calls.
            Incoming::Over => {}
            Incoming::Left { id, client } => {
                let is_held = self.service.counter.held().is_some_and(|job| job.id == id);
                self.service.counter.left(id);
                if is_held && self.service.undecided.is_some() {
                    self.decide(None);
                    self.update(Event::Left);
                    self.update(Event::Notice(format!(
                        "{client} no longer waits for your answer"
                    )));
                } else if is_held {
                    self.service.left = Some(id);
                    self.update(Event::Notice(format!(
                        "{client} no longer waits; the round goes on"
                    )));
                }
            }
        }
    }

    /// Begins what waits, as soon as nothing else has the peer, and says how far what has it is.
    pub(super) fn serve_counter(&mut self) {
        while self.app.asking.is_none() && self.service.counter.is_ready() {
            let front = Front {
                app: &self.app,
                place: self.place,
                session: self.recorder.id(),
                talk: self.talk.as_ref(),
                private: None,
                is_held: false,
            };
            let refused = front.refuses();
            let Some(job) = self.service.counter.next() else {
                return;
            };
            if let Some(fault) = refused {
                self.service.counter.finish(Err(fault));
                continue;
            }
            self.waits_for = job.patience();
            let ask = match job.work {
                Work::Brief { force } => Ask::Brief { force },
                Work::Discuss { kind, message } => Ask::Discuss {
                    kind,
                    words: message,
                    diff: false,
                },
                Work::Say { text } => Ask::Say { text },
            };
            self.update(Event::Asks(ask, Some(job.client)));
            if self.app.asking.is_none() && self.service.counter.held().is_some() {
                let why = self.app.cannot_ask();
                let why = why.unwrap_or_else(|| "the round could not be begun".to_owned());
                self.waits_for = None;
                self.service
                    .counter
                    .finish(Err(Fault::new(Code::Failed, why)));
            }
        }
        if self.service.counter.held().is_none() || self.service.undecided.is_some() {
            return;
        }
        if let Some(asking) = &self.app.asking {
            let exchange = asking.exchange();
            let (doing, sent) = match exchange {
                Some(exchange) => {
                    let activity = exchange.status().activity.word();
                    let sent = exchange.delivered().submitted;
                    (format!("{} {activity}", asking.stage), sent)
                }
                None => (asking.stage.to_owned(), false),
            };
            self.service.counter.note(&doing, sent);
        }
    }

    /// Gives the job that has the peer what came of it; a question of the peer's waits for the person first (A.8).
    pub(super) fn hand_over(&mut self, result: &Result<Round, Failure>) {
        self.waits_for = None;
        let service = &mut self.service;
        // What the person asks while a question of another waits is not that other's.
        if service.undecided.is_some() {
            return;
        }
        match result {
            Ok(round)
                if round.reading.verdict() == Verdict::Escalate
                    && service
                        .counter
                        .held()
                        .is_some_and(|job| service.left != Some(job.id)) =>
            {
                service
                    .counter
                    .note("waits for the person's decision at the console", true);
                service.counter.clear(&needs_person());
                service.undecided = Some(Box::new(round.clone()));
            }
            Ok(round) => service.counter.finish(value_of(round)),
            Err(failure) => {
                let fault = fault_of(failure, Code::Failed);
                service.counter.finish(Err(fault));
            }
        }
    }

    /// Says that nobody waits for the person's decision, where that is so.
    pub(super) fn tell_who_left(&mut self) {
        if self.service.undecided.is_none() {
            self.update(Event::Left);
        }
    }

    /// Gives the call that waits for it the person's decision with the peer's question, or the question alone.
    pub(super) fn decide(&mut self, answer: Option<String>) {
        let Some(mut round) = self.service.undecided.take() else {
            return;
        };
        round.human = answer.map(|answer| Human { answer });
        self.service.counter.finish(value_of(&round));
    }

    /// Gives the job that has the peer what was answered to its text.
    pub(super) fn hand_over_said(&mut self, said: &Said) {
        self.waits_for = None;
        let mut value = json!({"reply": said.reply});
        if let Some(tail) = &said.tail {
            value["raw_tail"] = tail.clone().into();
        }
        self.service.counter.finish(Ok(value));
    }

    /// Tells all who wait that the console ends.
    pub(super) fn close_counter(&mut self) {
        self.service.listener = None;
        self.decide(None);
        let gone = Fault::new(
            Code::ConsoleGone,
            "the console ended before there was an answer; what it recorded is in its session",
        );
        self.service.counter.finish(Err(gone.clone()));
        self.service.counter.clear(&gone);
        self.service.calls.close();
    }
}
