//! Rounds in the console: composing beside the loop, the exchange in it, the tree looked at beside it again.

use super::state::{Inner, Told};
use crate::app::event::{Answered, Receipted, Turn};
use crate::app::{Ask as Wish, Event};
use crate::cli::Exit;
use crate::flow::answer;
use crate::flow::compose::{self, Ask};
use crate::flow::failure::Failure;
use crate::flow::pane::Listen;
use crate::flow::talk::{self, Next, PEER, Seen, Stop};
use crate::limits;
use crate::pairing::{Ending, Way};
use crate::world::clock::WallTime;

use crate::flow::delivery::Delivery;

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
        for (id, receipt) in written {
            let at = time_of_day();
            self.update(Event::Receipt(Box::new(Receipted { id, receipt, at })));
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
