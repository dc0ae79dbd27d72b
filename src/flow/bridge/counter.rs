//! The counter: takes calls in, has them done one after the other, and tells those who wait.
//!
//! Whoever keeps the peer owns one. It asks its keeper, the desk, what it needs to know, and never waits itself.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::bridge::{Call, Code, Fault, Hub, Job, Lookup, Pace, Standing, State, Work};
use crate::config::Profile;
use crate::limits;
use crate::pairing::{self, Activity, message};
use crate::screen::Screen;
use crate::world::clock::WallTime;
use crate::world::random;

/// What a pane shows and how it is read.
pub(in crate::flow) struct PaneView<'a> {
    /// Its screen.
    pub screen: &'a Screen,
    /// Its profile.
    pub profile: &'a Profile,
}

/// Whoever keeps the peer.
pub(in crate::flow) trait Desk {
    /// The panes: name, harness, state and so on, one object each.
    fn panes(&self) -> Vec<Value>;
    /// Whether there is a peer, or would be one for whoever asks something of it.
    fn has_peer(&self) -> bool;
    /// A pane by its name.
    fn view(&self, pane: &str) -> Option<PaneView<'_>>;
    /// Who has the peer beside what came over the counter.
    fn holder(&self) -> Option<String>;
    /// Why nothing can be asked of the peer now, whoever asks.
    fn refuses(&self) -> Option<Fault>;
    /// What `ping` is answered.
    fn ping(&self, standing: Standing) -> Value;
    /// What is looked up.
    fn look(&self, lookup: &Lookup) -> Result<Value, Fault>;
    /// Takes in a review that the peer handed in by a tool.
    fn submit(&mut self, line: &str) -> Result<(), Fault>;
}

/// What a call is given.
#[derive(Debug)]
pub(in crate::flow) enum Given {
    /// An answer.
    Value(Value),
    /// None.
    Fault(Fault),
    /// Something that goes on, and how the caller waits for it.
    Job {
        /// Its number.
        id: u64,
        /// What it is called by those who ask for it.
        name: String,
        /// Where it stands.
        state: watch::Receiver<State>,
        /// How it is waited for.
        how: How,
    },
    /// The peer is at work on something nobody asked for here; the call is to come again.
    Later,
}

/// How something that goes on is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) enum How {
    /// For what came of it.
    Outcome,
    /// For what was answered, as text.
    Reply,
    /// Until its text was sent.
    Sent,
    /// Not at all.
    Start,
    /// For this long, in milliseconds.
    Poll(u64),
}

/// The counter.
#[derive(Debug)]
pub(in crate::flow) struct Counter {
    /// A word of its own in the name of each round: one that another counter gave, also before a restart, names nothing
    /// here, and never a round that happens to have the same number.
    word: String,
    hub: Hub,
    watched: HashMap<u64, watch::Sender<State>>,
}

/// The name of a pane nobody named.
const PEER: &str = "peer";

impl Counter {
    /// A counter nobody has asked yet.
    pub(in crate::flow) fn open() -> Self {
        let word = random::hex(12).unwrap_or_else(|error| {
            tracing::warn!(%error, "rounds are named by the time");
            format!("{:x}", WallTime::now().since_epoch().as_nanos())
        });
        Self {
            word,
            hub: Hub::default(),
            watched: HashMap::new(),
        }
    }

    /// Answers a call as far as that can be done at once.
    pub(in crate::flow) fn answer(
        &mut self,
        call: Call,
        client: &str,
        standing: Standing,
        desk: &mut dyn Desk,
    ) -> Given {
        if standing == Standing::Reviewer && !matches!(call, Call::Submit { .. } | Call::Ping) {
            return Given::Fault(Fault::new(
                Code::NotAllowed,
                "what a reviewer runs may hand in its review and ask for nothing else here",
            ));
        }
        if standing == Standing::Driver && matches!(call, Call::Submit { .. }) {
            return Given::Fault(Fault::new(
                Code::NotAllowed,
                "a review is the reviewer's to hand in, not the driver's",
            ));
        }
        let done = match call {
            Call::Ping => Ok(desk.ping(standing)),
            Call::Panes => Ok(Value::from(desk.panes())),
            Call::Read { pane, lines } => read(pane.as_deref(), lines, desk),
            Call::Look(lookup) => desk.look(&lookup),
            Call::Explain { pane } => explain(pane.as_deref(), desk),
            Call::Submit {
                tag,
                review,
                verdict,
            } => pairing::submission(&tag, &review, verdict)
                .map_err(Fault::from)
                .and_then(|line| desk.submit(&line))
                .map(|()| json!({"recorded": true})),
            Call::Poll { round_id, wait_ms } => {
                return self.poll(&round_id, wait_ms, desk);
            }
            Call::WaitReply { pane, .. } => return self.wait_reply(pane.as_deref(), desk),
            Call::Do {
                pane,
                work,
                timeout_ms,
                pace,
            } => return self.take(pane.as_deref(), work, timeout_ms, pace, client, desk),
        };
        done.map_or_else(Given::Fault, Given::Value)
    }

    /// Takes something in that is to be done with the peer.
    fn take(
        &mut self,
        pane: Option<&str>,
        work: Work,
        timeout_ms: Option<u64>,
        pace: Pace,
        client: &str,
        desk: &dyn Desk,
    ) -> Given {
        let taken = target(pane, desk).and_then(|()| {
            if let Some(fault) = desk.refuses() {
                return Err(fault);
            }
            let work = admitted(work)?;
            let holder = desk.holder();
            self.hub.submit(client, work, timeout_ms, holder.as_deref())
        });
        match taken {
            Err(fault) => Given::Fault(fault),
            Ok(id) => {
                let holder = desk.holder();
                let state = self.hub.state(id, holder.as_deref());
                let state = state.unwrap_or(State::Running {
                    doing: String::new(),
                    sent: false,
                });
                let (tell, state) = watch::channel(state);
                self.watched.insert(id, tell);
                let how = match pace {
                    Pace::Wait => How::Outcome,
                    Pace::Sent => How::Sent,
                    Pace::Start => How::Start,
                };
                Given::Job {
                    id,
                    name: self.name_of(id),
                    state,
                    how,
                }
            }
        }
    }

    fn poll(&mut self, round_id: &str, wait_ms: u64, desk: &dyn Desk) -> Given {
        let known = self.number_of(round_id).and_then(|id| {
            let state = self.hub.state(id, desk.holder().as_deref())?;
            Some((id, state))
        });
        let Some((id, state)) = known else {
            return Given::Fault(Fault::new(
                Code::NoRound,
                format!(
                    "no round is called `{}` here; start_discuss gives the id, the last {} are kept, and none beyond its console",
                    crate::plain::display(round_id, 80),
                    limits::JOBS_KEPT
                ),
            ));
        };
        let longest = u64::try_from(limits::POLL_WAIT.as_millis()).unwrap_or(u64::MAX);
        Given::Job {
            id,
            name: self.name_of(id),
            state: self.watch(id, &state),
            how: How::Poll(wait_ms.min(longest)),
        }
    }

    fn wait_reply(&mut self, pane: Option<&str>, desk: &dyn Desk) -> Given {
        let name = pane.unwrap_or(PEER);
        let Some(view) = desk.view(name) else {
            return Given::Fault(no_pane(name, desk));
        };
        if name == PEER
            && let Some(job) = self.hub.held()
        {
            let id = job.id;
            let state = State::Running {
                doing: String::new(),
                sent: false,
            };
            return Given::Job {
                id,
                name: self.name_of(id),
                state: self.watch(id, &state),
                how: How::Reply,
            };
        }
        let judged = pairing::look(view.screen, view.profile);
        match judged.activity {
            Activity::Rest | Activity::Failed => Given::Value(last_reply(&view)),
            Activity::Blocked => Given::Fault(Fault::new(
                Code::Dialog,
                format!("the pane `{name}` waits at a dialog that only a person may answer"),
            )),
            Activity::Busy | Activity::Unclear => Given::Later,
        }
    }

    fn name_of(&self, id: u64) -> String {
        format!("rnd_{}_{id}", self.word)
    }

    fn number_of(&self, round_id: &str) -> Option<u64> {
        let (word, id) = round_id.strip_prefix("rnd_")?.split_once('_')?;
        (word == self.word).then(|| id.parse().ok()).flatten()
    }

    fn watch(&mut self, id: u64, state: &State) -> watch::Receiver<State> {
        match self.watched.get(&id) {
            Some(tell) => tell.subscribe(),
            None => {
                let (tell, receiver) = watch::channel(state.clone());
                if !matches!(state, State::Over(_)) {
                    self.watched.insert(id, tell);
                }
                receiver
            }
        }
    }

    /// The next job, if nothing has the peer.
    pub(in crate::flow) fn next(&mut self) -> Option<Job> {
        let job = self.hub.hand_on()?;
        self.spread(None);
        Some(job)
    }

    /// Whether a job waits and none has the peer.
    pub(in crate::flow) fn is_ready(&self) -> bool {
        self.hub.is_ready()
    }

    /// The job that has the peer.
    pub(in crate::flow) fn held(&self) -> Option<&Job> {
        self.hub.held()
    }

    /// Says what the job that has the peer is doing.
    pub(in crate::flow) fn note(&mut self, doing: &str, sent: bool) {
        if self.hub.note(doing, sent) {
            self.spread(None);
        }
    }

    /// The job that has the peer is over.
    pub(in crate::flow) fn finish(&mut self, outcome: Result<Value, Fault>) {
        if self.hub.finish(outcome).is_some() {
            self.spread(None);
        }
    }

    /// Nothing that waits can be done.
    pub(in crate::flow) fn clear(&mut self, fault: &Fault) {
        self.hub.clear(fault);
        self.spread(None);
    }

    /// Nobody waits for this any more: what was not begun is not begun.
    pub(in crate::flow) fn left(&mut self, id: u64) {
        if self.hub.give_up(id) {
            self.watched.remove(&id);
            self.spread(None);
        }
    }

    /// Tells all who wait where they stand.
    fn spread(&mut self, holder: Option<&str>) {
        let hub = &self.hub;
        self.watched.retain(|id, tell| {
            let Some(state) = hub.state(*id, holder) else {
                return false;
            };
            let is_over = matches!(state, State::Over(_));
            tell.send_if_modified(|known| {
                let is_news = *known != state;
                *known = state;
                is_news
            });
            !is_over
        });
    }
}

/// Checks whom something is to be said to: nobody but a peer is (A.3).
fn target(pane: Option<&str>, desk: &dyn Desk) -> Result<(), Fault> {
    match pane {
        None | Some(PEER) if desk.has_peer() => Ok(()),
        None | Some(PEER) => Err(Fault::new(
            Code::NoPeer,
            "no pane was named, and there is no peer here",
        )),
        Some(name) if desk.view(name).is_some() => Err(Fault::new(
            Code::NotAllowed,
            format!("nothing is typed into the pane `{name}` for a tool; the peer's is `{PEER}`"),
        )),
        Some(name) => Err(no_pane(name, desk)),
    }
}

fn no_pane(name: &str, desk: &dyn Desk) -> Fault {
    let panes = desk.panes();
    let known: Vec<&str> = panes
        .iter()
        .filter_map(|pane| pane["pane"].as_str())
        .collect();
    let known = match known.as_slice() {
        [] => "there is none yet: brief or discuss starts the peer".to_owned(),
        known => format!("there are {}", known.join(", ")),
    };
    Fault::new(
        Code::NoPane,
        format!(
            "there is no pane `{}`; {known}",
            crate::plain::display(name, 60)
        ),
    )
}

/// What may be typed (A.9).
fn admitted(work: Work) -> Result<Work, Fault> {
    Ok(match work {
        Work::Brief { .. } => work,
        Work::Discuss { kind, message } => Work::Discuss {
            kind,
            message: message::admit(&message)?,
        },
        Work::Say { text } => Work::Say {
            text: message::admit(&text)?,
        },
    })
}

fn read(pane: Option<&str>, lines: u32, desk: &dyn Desk) -> Result<Value, Fault> {
    let name = pane.unwrap_or(PEER);
    let view = desk.view(name).ok_or_else(|| no_pane(name, desk))?;
    let all = view.screen.lines();
    let end = all
        .iter()
        .rposition(|line| !line.text.is_empty())
        .map_or(0, |at| at + 1);
    let count = usize::try_from(lines.min(limits::READ_LINES)).unwrap_or(usize::MAX);
    let from = end.saturating_sub(count);
    let text: Vec<&str> = all[from..end]
        .iter()
        .map(|line| line.text.as_str())
        .collect();
    Ok(json!({"content": text.join("\n")}))
}

/// What the pane's agent answered last, as its screen shows it.
fn last_reply(view: &PaneView<'_>) -> Value {
    let reply = pairing::last_reply(view.screen, view.profile);
    match reply.is_empty() {
        false => json!({"reply": reply}),
        true => {
            let rows = view.screen.visible();
            let rows: Vec<&str> = rows
                .iter()
                .map(|line| line.text.as_str())
                .filter(|text| !text.is_empty())
                .collect();
            let tail = &rows[rows.len().saturating_sub(limits::TAIL_LINES)..];
            json!({"reply": "", "raw_tail": tail.join("\n")})
        }
    }
}

fn explain(pane: Option<&str>, desk: &dyn Desk) -> Result<Value, Fault> {
    let name = pane.unwrap_or(PEER);
    let view = desk.view(name).ok_or_else(|| no_pane(name, desk))?;
    let judged = pairing::look(view.screen, view.profile);
    Ok(json!({
        "pane": name,
        "harness": view.profile.name,
        "state": judged.activity.word(),
        "rule": judged.rule,
        "evidence": judged.evidence,
    }))
}
