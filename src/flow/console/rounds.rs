//! Rounds in the console: composing beside the loop, the exchange in it, the tree looked at beside it again.

use tokio::sync::oneshot;

use super::state::{Away, Back, Inner, Told};
use crate::app::event::{Answered, FellBack, Receipted, Turn};
use crate::app::{Ask as Wish, Event};
use crate::cli::Exit;
use crate::flow::answer;
use crate::flow::compose::{self, Ask};
use crate::flow::delivery::Delivery;
use crate::flow::failure::Failure;
use crate::flow::pane::Listen;
use crate::flow::runners::{self, Errand, Ran};
use crate::flow::talk::{self, Next, PEER, Seen, Stop, Written};
use crate::limits;
use crate::pairing::{Ending, Way};
use crate::recording::fallback::{Detail, FailureKind, Fallback};
use crate::recording::word::Kind;
use crate::route::{self, After, Host, Plan, Route};
use crate::runner::Runner;
use crate::world::clock::WallTime;

/// How long the demo waits for a runner it does not start.
const PRETENCE: std::time::Duration = std::time::Duration::from_millis(1800);

impl Inner<'_> {
    /// Composes what is asked and looks at the working tree, beside the loop.
    pub(super) fn ask(&mut self, wish: Wish) {
        self.asked += 1;
        let (number, tell) = (self.asked, self.tell.clone());
        let mut tree = self.tree.take();
        let place = self.place.clone();
        tokio::spawn(async move {
            let ask = match wish {
                Wish::Brief { force } => Ok(Ask::Brief { force }),
                Wish::Say { text } => Ok(Ask::Say(text)),
                Wish::Discuss { kind, words, diff } => {
                    let diff = diff.then_some(crate::cli::Diff::Head);
                    let composed = compose::compose(words, diff.as_ref(), &place).await;
                    composed.map(|text| Ask::Message(kind, text))
                }
            };
            let before = match &mut tree {
                Some(tree) => tree.fingerprint(limits::TREE_TIME).await,
                None => None,
            };
            // Nobody listens any more when the console was left.
            let _ = tell.send(Told::Composed(number, tree, ask, before));
        });
    }

    pub(super) fn composed(&mut self, ask: Result<Ask, Failure>, before: Option<String>) {
        let ask = match ask {
            Ok(ask) => ask,
            Err(failure) => return self.unanswered(failure),
        };
        if let Ask::Message(kind, words) = &ask {
            let routes = &self.settings.routes;
            let asked = match (self.pretended, &self.conductor) {
                (Some(runner), _) => Route::Runner(runner),
                // The demo needs nothing of this machine.
                (None, Some(_)) => Route::Host,
                (None, None) => routes.of_role(route::Role::Peer),
            };
            // The peer is there, or nothing could have been asked.
            let plan = route::plan(asked, Host::There, routes.fallback_host);
            match plan {
                Ok(plan) => {
                    if let Route::Runner(runner) = plan.first {
                        let ask = (*kind, words.clone());
                        return self.send_elsewhere(plan, runner, ask, None, before);
                    }
                }
                Err(refusal) => return self.update(Event::Unanswered(refusal.to_string())),
            }
        }
        self.begin_host(ask, before);
    }

    fn begin_host(&mut self, ask: Ask, before: Option<String>) {
        let now = self.clock.elapsed();
        let mut desk = talk::Desk {
            recorder: &mut self.recorder,
            now,
        };
        let Some(talk) = &mut self.talk else {
            let failure = Failure::new(Exit::Error, "the peer was not started");
            return self.unanswered(failure);
        };
        talk.wait_for(self.waits_for);
        let next = talk.begin(ask, before, &mut desk);
        self.go_on(next);
    }

    /// Sends a round to a runner, which works beside the loop.
    fn send_elsewhere(
        &mut self,
        plan: Plan,
        runner: Runner,
        ask: (Kind, String),
        told: Option<String>,
        before: Option<String>,
    ) {
        let now = self.clock.elapsed();
        if let Err(failure) = runners::must_record(&self.recorder) {
            return self.update(Event::Unanswered(failure.to_string()));
        }
        let mut desk = talk::Desk {
            recorder: &mut self.recorder,
            now,
        };
        let Some(talk) = &mut self.talk else {
            return self.update(Event::Unanswered("the peer was not started".to_owned()));
        };
        let sent = match talk.begin_elsewhere(runner, (ask.0, &ask.1), before, &mut desk) {
            Ok(sent) => sent,
            Err(failure) => return self.update(Event::Unanswered(failure.to_string())),
        };
        let round = sent.round();
        let (leash, slipped) = oneshot::channel();
        self.away = Some(Away {
            plan,
            at: runner,
            ask,
            told,
            _leash: leash,
        });
        let (number, tell) = (self.asked, self.tell.clone());
        let (settings, place) = (self.settings.clone(), self.place.clone());
        let options = self.options.clone();
        let session = self.recorder.folder().map(std::path::Path::to_path_buf);
        let dir = self.worktree();
        let timeout = runners::time(self.options.timeout);
        let mut tree = self.tree.take();
        let clock = self.clock;
        let is_pretended = self.pretended.take().is_some();
        tokio::spawn(async move {
            if is_pretended {
                tokio::time::sleep(PRETENCE).await;
                let ran = Ok(Ran::absent("the demo starts no runner"));
                let at = clock.elapsed();
                let back = Box::new(Back { sent, ran, at });
                // Nobody listens any more when the console was left.
                let _ = tell.send(Told::Ran(number, tree, back, None));
                return;
            }
            let stop = async {
                // Whoever held it has let go.
                let _ = slipped.await;
            };
            let request = runners::round(dir, &sent.session_id, &sent.prompt, timeout);
            let ran = match request {
                Ok(request) => {
                    let errand = Errand {
                        runner,
                        request: &request,
                        writes: false,
                        settings: &settings,
                        place: &place,
                        session: session.as_deref(),
                        options: &options,
                    };
                    runners::run(&errand, stop).await
                }
                Err(refusal) => Err(refusal.into()),
            };
            let at = clock.elapsed();
            let after = match (&ran, &mut tree) {
                (Ok(Ran { result: Ok(_), .. }), Some(tree)) => {
                    tree.fingerprint(limits::TREE_TIME).await
                }
                _ => None,
            };
            let back = Box::new(Back { sent, ran, at });
            // Nobody listens any more when the console was left.
            let _ = tell.send(Told::Ran(number, tree, back, after));
        });
        self.update(Event::Elsewhere(runner.name(), round));
    }

    /// A runner came back: with an answer, or with what kept it from one, and then the next route is asked.
    pub(super) fn ran(&mut self, back: Back, after: Option<String>) {
        let Some(away) = self.away.take() else {
            return;
        };
        let Back { sent, ran, at } = back;
        let ran = ran.and_then(|ran| {
            runners::keep(ran.transcript.as_ref(), &mut self.recorder)?;
            Ok(ran)
        });
        let mut desk = talk::Desk {
            recorder: &mut self.recorder,
            now: at,
        };
        let Some(talk) = &mut self.talk else {
            return;
        };
        let over = |result: Result<_, Failure>| Next::Over(Box::new(result));
        let broken = match ran.map(|ran| (ran.result, ran.start)) {
            Err(failure) => return self.go_on(over(Err(failure))),
            Ok((Ok(answer), start)) => {
                let asked = away.plan.asked.name();
                let round = talk.answered_elsewhere(sent, asked, &answer, start, after, &mut desk);
                return self.go_on(over(Ok(round)));
            }
            Ok((Err(broken), _)) => broken,
        };
        let told = runners::did_not_answer(Route::Runner(away.at), &broken);
        if let Some(first) = away.told {
            let what = format!("{first}; and {told}");
            let failure = Failure::new(runners::exit_of(broken.kind), what);
            return self.go_on(over(Err(failure)));
        }
        let follows = away.plan.after(broken.kind);
        let Some(why) = Fallback::new(broken.kind, broken.detail) else {
            let what = format!("{told}; nothing took its place, so try again later");
            return self.go_on(over(Err(Failure::new(Exit::Error, what))));
        };
        let asked = away.plan.asked.name();
        if let Err(failure) = talk.fell_back(asked, follows.ran(), why, &mut desk) {
            return self.go_on(over(Err(failure)));
        }
        let before = talk.before();
        self.tell_receipts();
        let (kind, words) = away.ask;
        match follows {
            After::TakesOver(Route::Runner(next)) => {
                self.send_elsewhere(away.plan, next, (kind, words), Some(told), before);
            }
            After::TakesOver(_) => self.begin_host(Ask::Message(kind, words), before),
            After::StaysOpen | After::Nothing => {
                let what = format!("{told}; nothing else is set to take its place");
                self.go_on(over(Err(Failure::new(Exit::Error, what))));
            }
        }
    }

    /// Stops the runner a round is at, and says so in a receipt; whether there was one.
    pub(super) fn recall(&mut self) -> bool {
        let Some(away) = self.away.take() else {
            return false;
        };
        let now = self.clock.elapsed();
        let mut desk = talk::Desk {
            recorder: &mut self.recorder,
            now,
        };
        let words = Detail::new("it was stopped while it worked");
        if let (Some(talk), Some(why)) = (
            &mut self.talk,
            Fallback::new(FailureKind::Interrupted, words),
        ) {
            // A receipt that could not be written is told of the recording.
            let _ = talk.fell_back(away.plan.asked.name(), "none", why, &mut desk);
            talk.close_way();
        }
        true
    }

    /// Begins the next exchange, or tells what came of it all.
    fn go_on(&mut self, next: Next) {
        self.tell_receipts();
        match next {
            Next::Exchange(turn) => {
                let talk::Turn {
                    order,
                    stage,
                    round,
                } = turn;
                self.delivery = Some(Delivery::new(&order.way, round));
                let tag = match &order.way {
                    Way::Message { tag } => tag.clone(),
                    Way::Say | Way::Command => String::new(),
                };
                self.sent = (tag, order.text.clone());
                let turn = Turn {
                    order,
                    stage,
                    round,
                };
                self.update(Event::Turn(Box::new(turn)));
            }
            Next::Said(said) => {
                self.delivery = None;
                self.hand_over_said(&said);
                self.update(Event::Said);
            }
            Next::Over(result) => {
                self.delivery = None;
                if let Some(talk) = &mut self.talk {
                    talk.close_way();
                }
                self.look_at_branch();
                self.hand_over(&result);
                match *result {
                    Ok(round) => {
                        let asked = self.app.asking.as_ref().map(|asking| asking.words.clone());
                        let answered = Answered {
                            remarks: answer::remarks(&round),
                            round,
                            asked: asked.unwrap_or_default(),
                            at: time_of_day(),
                        };
                        self.update(Event::Answered(Box::new(answered)));
                        self.tell_who_left();
                    }
                    Err(failure) => self.update(Event::Unanswered(failure.to_string())),
                }
            }
        }
        self.pass_on_warnings();
    }

    /// The exchange ended: the tree is looked at behind an answer, beside the loop.
    pub(super) fn conclude(&mut self) {
        let Some((exchange, ending)) = self.app.take_exchange() else {
            return;
        };
        let ended = self.clock.elapsed();
        self.see_delivery(exchange.delivered());
        let exit = self.peer.as_ref().and_then(|child| child.exit);
        let seen = Seen::of(&exchange, &self.app.peer.screen, exit);
        let Ending::Answered(_) = ending else {
            return self.concluded(&seen, &ending, ended, None);
        };
        if let Some(child) = &self.peer {
            self.recorder.marker(child.recording(), ended, "settled");
        }
        let (number, tell) = (self.asked, self.tell.clone());
        let mut tree = self.tree.take();
        tokio::spawn(async move {
            let after = match &mut tree {
                Some(tree) => tree.fingerprint(limits::TREE_TIME).await,
                None => None,
            };
            let ended = Box::new((seen, ending, ended));
            let _ = tell.send(Told::Concluded(number, tree, ended, after));
        });
    }

    pub(super) fn concluded(
        &mut self,
        seen: &Seen,
        ending: &Ending,
        ended: std::time::Duration,
        after: Option<String>,
    ) {
        let mut desk = talk::Desk {
            recorder: &mut self.recorder,
            // The answer came before the tree was looked at.
            now: ended,
        };
        let Some(talk) = self.talk.as_mut().filter(|talk| talk.is_open()) else {
            return;
        };
        let next = talk.handle_end(seen, ending, after, &mut desk);
        self.go_on(next);
    }

    /// Gives up waiting; the peer's turn is left to it.
    pub(super) fn stop_waiting(&mut self) {
        self.asked += 1;
        if self.recall() {
            self.tell_receipts();
            let what = "you stopped waiting; the runner was stopped, and the receipt says so";
            return self.update(Event::Unanswered(what.to_owned()));
        }
        let now = self.clock.elapsed();
        let mut desk = talk::Desk {
            recorder: &mut self.recorder,
            now,
        };
        let Some(talk) = &mut self.talk else {
            return;
        };
        let failure = talk.stop(&Stop::Person, &mut desk);
        self.delivery = None;
        self.tell_receipts();
        self.unanswered(failure);
    }

    /// What was asked got no answer.
    fn unanswered(&mut self, failure: Failure) {
        let told = failure.to_string();
        self.hand_over(&Err(failure));
        self.update(Event::Unanswered(told));
    }

    fn tell_receipts(&mut self) {
        let written = match &mut self.talk {
            Some(talk) => talk.take_receipts(),
            None => Vec::new(),
        };
        for written in written {
            let at = time_of_day();
            let event = match written {
                Written::Round(id, receipt) => Event::Receipt(Box::new(Receipted {
                    id,
                    receipt: *receipt,
                    at,
                })),
                Written::Fallback(id, receipt) => {
                    Event::Fallback(Box::new(FellBack { id, receipt, at }))
                }
            };
            self.update(event);
        }
    }

    /// Looks for the round in the peer's own record, beside the loop; one look at a time.
    pub(super) fn ask_channel(&mut self) {
        let Some(mut ear) = self.ear.take() else {
            return;
        };
        let (number, tell) = (self.asked, self.tell.clone());
        let (tag, sent) = self.sent.clone();
        tokio::spawn(async move {
            let found = ear.listen(&tag, &sent).await;
            let _ = tell.send(Told::Heard(number, ear, found));
        });
    }

    pub(super) fn see_delivery(&mut self, seen: crate::pairing::Delivered) {
        let now = self.clock.elapsed();
        if let Some(delivery) = &mut self.delivery {
            delivery.see(seen, PEER, &mut self.recorder, now);
        }
    }
}

/// The person's time of day.
pub(super) fn time_of_day() -> String {
    let local = WallTime::now().local();
    local.get(11..19).unwrap_or_default().to_owned()
}
