//! Who has the peer: one at a time, the others in the order they came; and what became of what was done.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::{Code, Fault, Work};
use crate::limits;

/// Something that waits for the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// Who asked.
    pub client: String,
    /// What.
    pub work: Work,
    /// Longest wait for the peer's turn, in milliseconds.
    pub timeout_ms: Option<u64>,
}

impl Job {
    /// How long the peer's turn is waited for, where the caller said so.
    pub fn patience(&self) -> Option<Duration> {
        let asked = self.timeout_ms.map(Duration::from_millis)?;
        Some(asked.min(limits::LONGEST_WAIT))
    }
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Others come first.
    Queued {
        /// How many.
        ahead: usize,
        /// Who has the peer now.
        holder: String,
    },
    /// It is being done.
    Running {
        /// What goes on, in words.
        doing: String,
        /// Whether its text was seen to leave the input box.
        sent: bool,
    },
    /// It is over.
    Over(Result<Value, Fault>),
}

/// The order of those who ask.
#[derive(Debug, Default)]
pub struct Hub {
    last: u64,
    /// Who has the peer, and what it is doing.
    held: Option<(Job, String, bool)>,
    waiting: VecDeque<Job>,
    over: VecDeque<(u64, Result<Value, Fault>)>,
}

impl Hub {
    /// Takes something in. `holder` is who has the peer beside what came over the hub: the person at the console.
    pub fn submit(
        &mut self,
        client: &str,
        work: Work,
        timeout_ms: Option<u64>,
        holder: Option<&str>,
    ) -> Result<u64, Fault> {
        if self.waiting.len() >= limits::JOBS_WAITING {
            return Err(Fault::new(
                Code::Busy,
                format!(
                    "the peer is held by {}, and {} others wait; try again when a round is over",
                    self.holder(holder),
                    self.waiting.len()
                ),
            ));
        }
        self.last += 1;
        self.waiting.push_back(Job {
            id: self.last,
            client: client.to_owned(),
            work,
            timeout_ms,
        });
        Ok(self.last)
    }

    /// The next job, which has the peer from now on; none while another one has it.
    pub fn hand_on(&mut self) -> Option<Job> {
        if self.held.is_some() {
            return None;
        }
        let job = self.waiting.pop_front()?;
        self.held = Some((job.clone(), "composing".to_owned(), false));
        Some(job)
    }

    /// Whether a job waits and nothing has the peer.
    pub fn is_ready(&self) -> bool {
        self.held.is_none() && !self.waiting.is_empty()
    }

    /// The job that has the peer.
    pub fn held(&self) -> Option<&Job> {
        self.held.as_ref().map(|(job, ..)| job)
    }

    /// Says what the job that has the peer is doing; tells whether that is news.
    pub fn note(&mut self, doing: &str, sent: bool) -> bool {
        let Some((_, known, is_sent)) = &mut self.held else {
            return false;
        };
        let is_news = known != doing || *is_sent != sent;
        if is_news {
            doing.clone_into(known);
            *is_sent |= sent;
        }
        is_news
    }

    /// The job that has the peer is over; tells its number.
    pub fn finish(&mut self, outcome: Result<Value, Fault>) -> Option<u64> {
        let (job, ..) = self.held.take()?;
        self.keep(job.id, outcome);
        Some(job.id)
    }

    /// Nothing that waits can be done any more; tells the numbers.
    pub fn clear(&mut self, fault: &Fault) -> Vec<u64> {
        let waiting = std::mem::take(&mut self.waiting);
        let ids: Vec<u64> = waiting.iter().map(|job| job.id).collect();
        for id in &ids {
            self.keep(*id, Err(fault.clone()));
        }
        ids
    }

    /// Gives up a job that waits and that nobody wants any more; one that has the peer goes on.
    pub fn give_up(&mut self, id: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|job| job.id != id);
        self.waiting.len() != before
    }

    /// Where a job stands; none when it is not known, or no longer. `holder` as for `submit`.
    pub fn state(&self, id: u64, holder: Option<&str>) -> Option<State> {
        if let Some((job, doing, sent)) = &self.held
            && job.id == id
        {
            return Some(State::Running {
                doing: doing.clone(),
                sent: *sent,
            });
        }
        if let Some(at) = self.waiting.iter().position(|job| job.id == id) {
            let others = usize::from(self.held.is_some() || holder.is_some());
            return Some(State::Queued {
                ahead: at + others,
                holder: self.holder(holder),
            });
        }
        let over = self.over.iter().find(|(known, _)| *known == id)?;
        Some(State::Over(over.1.clone()))
    }

    fn holder(&self, other: Option<&str>) -> String {
        match &self.held {
            Some((job, ..)) => format!("{} ({})", job.client, job.work.word()),
            None => other.unwrap_or("nobody").to_owned(),
        }
    }

    fn keep(&mut self, id: u64, outcome: Result<Value, Fault>) {
        if self.over.len() >= limits::JOBS_KEPT {
            self.over.pop_front();
        }
        self.over.push_back((id, outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::word::Kind;

    fn plan() -> Work {
        Work::Discuss {
            kind: Kind::Plan,
            message: "x".to_owned(),
        }
    }

    #[test]
    fn one_has_the_peer_and_the_others_wait_in_their_order() -> Result<(), Fault> {
        let mut hub = Hub::default();
        let first = hub.submit("driver", plan(), None, None)?;
        let second = hub.submit("shell", Work::Brief { force: true }, None, None)?;
        assert_eq!(hub.hand_on().map(|job| job.id), Some(first));
        assert_eq!(hub.hand_on(), None);
        assert_eq!(
            hub.state(second, None),
            Some(State::Queued {
                ahead: 1,
                holder: "driver (plan)".to_owned()
            })
        );
        assert!(hub.note("waiting busy", true));
        assert!(!hub.note("waiting busy", true));
        assert_eq!(hub.finish(Ok(Value::from(1))), Some(first));
        assert_eq!(
            hub.state(first, None),
            Some(State::Over(Ok(Value::from(1))))
        );
        assert!(hub.is_ready());
        assert_eq!(hub.hand_on().map(|job| job.id), Some(second));
        Ok(())
    }

    #[test]
    fn no_caller_waits_longer_than_a_day() -> Result<(), Fault> {
        let mut hub = Hub::default();
        hub.submit("a", plan(), Some(u64::MAX), None)?;
        let job = hub
            .hand_on()
            .ok_or_else(|| Fault::new(Code::Failed, "no job"))?;
        assert_eq!(job.patience(), Some(limits::LONGEST_WAIT));
        Ok(())
    }

    #[test]
    fn too_many_are_told_who_has_the_peer() -> Result<(), Fault> {
        let mut hub = Hub::default();
        for _ in 0..limits::JOBS_WAITING {
            hub.submit("a", plan(), None, Some("you"))?;
        }
        let fault = hub.submit("b", plan(), None, Some("you")).err();
        let fault = fault.ok_or_else(|| Fault::new(Code::Failed, "taken in"))?;
        assert_eq!(fault.code, Code::Busy);
        assert!(fault.message.contains("held by you"), "{}", fault.message);
        Ok(())
    }

    #[test]
    fn who_leaves_gives_up_its_place_but_not_a_round_that_goes_on() -> Result<(), Fault> {
        let mut hub = Hub::default();
        let first = hub.submit("a", plan(), None, None)?;
        let second = hub.submit("b", plan(), None, None)?;
        hub.hand_on();
        assert!(!hub.give_up(first));
        assert!(hub.give_up(second));
        assert_eq!(hub.state(second, None), None);
        assert!(matches!(
            hub.state(first, None),
            Some(State::Running { .. })
        ));
        Ok(())
    }

    #[test]
    fn old_outcomes_go_so_that_the_memory_is_bounded() -> Result<(), Fault> {
        let mut hub = Hub::default();
        for _ in 0..limits::JOBS_KEPT + 3 {
            hub.submit("a", plan(), None, None)?;
            hub.hand_on();
            hub.finish(Ok(Value::Null));
        }
        assert_eq!(hub.state(1, None), None);
        assert!(hub.state(4, None).is_some());
        Ok(())
    }

    #[test]
    fn all_that_wait_hear_that_nothing_can_be_done() -> Result<(), Fault> {
        let mut hub = Hub::default();
        let id = hub.submit("a", plan(), None, None)?;
        let fault = Fault::new(Code::PeerEnded, "the peer has ended");
        assert_eq!(hub.clear(&fault), [id]);
        assert_eq!(hub.state(id, None), Some(State::Over(Err(fault))));
        Ok(())
    }
}
