//! The demo agent as one more hand that draws like the agents: what it says in each style, with each fault, is read off
//! the recording of its session.

use std::time::Duration;

use codriver::demo::Kind as Style;
use codriver::demo::agent::{Agent, Effect, Output, Record, Setup};
use codriver::demo::fault::Fault;
use codriver::demo::script::Script;
use codriver::limits;
use codriver::pairing::{Found, Given, Player, message, read_exact};
use codriver::recording::cast::{Event, Kind};
use codriver::recording::word::{Kind as Topic, Verdict};
use codriver::screen::Size;
use proptest::prelude::*;

use crate::measure::compare;
use crate::recording::profile;
use crate::width::{cases, review, verdict};

const TAGS: [&str; 3] = ["k7q2", "m3xp", "t2ve"];
const STYLES: [(Style, &str); 5] = [
    (Style::Claude, "claude"),
    (Style::Claude, "demo"),
    (Style::Codex, "codex"),
    (Style::OpenCode, "opencode"),
    (Style::Plain, "unknown"),
];

/// A session as it would be recorded.
struct Session {
    agent: Agent,
    now: Duration,
    events: Vec<Event>,
    records: Vec<Record>,
    over: bool,
}

impl Session {
    fn open(style: Style, size: Size, faults: &str, texts: &[String]) -> Self {
        let turns: Vec<_> = texts
            .iter()
            .map(|text| serde_json::json!({ "text": text, "chunk": 400, "delay_ms": 20 }))
            .collect();
        let script = serde_json::Value::from(turns).to_string();
        let setup = Setup {
            kind: style,
            script: Script::parse(&script).expect("the test's script is one"),
            faults: faults.parse().expect("the test's faults are known"),
            folder: "/srv/repo".to_owned(),
            session: "demo-1".to_owned(),
        };
        let (agent, output) = Agent::open(setup, size);
        let mut session = Self {
            agent,
            now: Duration::ZERO,
            events: Vec::new(),
            records: Vec::new(),
            over: false,
        };
        session.take(output);
        session.run(1_000);
        session
    }

    fn take(&mut self, output: Output) {
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        if !text.is_empty() {
            self.events.push(Event {
                at: self.now,
                kind: Kind::Output(text),
            });
        }
        for effect in output.effects {
            match effect {
                Effect::Record(record) => self.records.push(record),
                Effect::Exit(_) => self.over = true,
                Effect::Log(_) | Effect::Spawn => {}
            }
        }
    }

    /// Lets time pass, as long as it does not bring the agent to rest.
    fn run(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while let Some(due) = self.agent.next_deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            let output = self.agent.wake(self.now);
            self.take(output);
        }
        self.now = end;
    }

    fn key(&mut self, text: &str) {
        self.events.push(Event {
            at: self.now,
            kind: Kind::Input(text.to_owned()),
        });
        let output = self.agent.handle_input(text.as_bytes(), self.now);
        self.take(output);
    }

    fn ask(&mut self, text: &str) {
        self.key(&format!("\x1b[200~{text}\x1b[201~"));
        self.run(300);
        self.key("\r");
        self.run(20_000);
    }

    fn read(&self, harness: &str, size: Size) -> Vec<Found> {
        let given = Given {
            tags: TAGS.map(str::to_owned).to_vec(),
            ..Given::default()
        };
        let rules = profile(harness);
        let mut player = Player::new(size, limits::SCROLLBACK, rules, given);
        for event in &self.events {
            player.play(event);
        }
        player.finish(self.now)
    }
}

/// Asks the agent for one reply after the other.
fn session(style: Style, size: Size, faults: &str, texts: &[String]) -> Session {
    let mut session = Session::open(style, size, faults, texts);
    for tag in TAGS.iter().take(texts.len()) {
        if !session.over {
            session.ask(&message::round(
                Topic::Implementation,
                "Is the change to src/store.rs ready?",
                tag,
            ));
        }
    }
    session
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn what_the_demo_agent_says_is_read_at_every_size(
        style in 0..STYLES.len(),
        cols in 60u16..=200,
        rows in 16u16..=60,
        reviews in prop::collection::vec((review(), verdict()), 1..3),
    ) {
        let (style, harness) = STYLES[style];
        let size = Size::new(cols, rows);
        let texts: Vec<String> = reviews
            .iter()
            .map(|(review, verdict)| format!("REVIEW: ({{tag}}) {review}\n\nVERDICT: {verdict}"))
            .collect();
        let session = session(style, size, "", &texts);
        let found = session.read(harness, size);
        prop_assert_eq!(found.len(), reviews.len(), "{}", harness);
        for ((review, verdict), found) in reviews.iter().zip(&found) {
            let reading = &found.reading;
            // The alternate screen holds the tail only, and a fence at its edge says nothing.
            if style == Style::OpenCode && reading.verdict == Verdict::Unparsed {
                continue;
            }
            prop_assert_eq!(reading.verdict, *verdict, "{}: {:?} {}", harness, reading.reason, reading.raw);
            let like = compare(review, &reading.rationale);
            let whole = like.recall > 0.999 && like.noise < 0.001;
            prop_assert!(whole || !reading.complete, "{}: {:?}\n{}", harness, like, reading.rationale);
        }
    }
}

#[test]
fn no_fault_of_the_demo_agent_makes_another_verdict() {
    let texts: Vec<String> = ["AGREE", "OBJECT", "AGREE"]
        .iter()
        .map(|word| {
            format!(
                "REVIEW: ({{tag}}) The change to src/store.rs is read.\n\n- One thing.\n\nVERDICT: {word}"
            )
        })
        .collect();
    for (_, fault) in Fault::ALL {
        for (style, harness) in STYLES {
            for size in [Size::new(80, 24), Size::new(120, 40)] {
                let session = session(style, size, fault, &texts);
                let found = session.read(harness, size);
                let said = |tag: &str| {
                    let sent = |record: &&Record| record.prompt.contains(tag);
                    let record = session.records.iter().find(sent);
                    match record.filter(|record| !record.failed) {
                        Some(record) => read_exact(&record.reply, Some(tag)).verdict,
                        None => Verdict::Unparsed,
                    }
                };
                // A quoted word makes a reading more cautious, never less.
                for (at, found) in found.iter().enumerate() {
                    let read = found.reading.verdict;
                    let said = TAGS.get(at).map_or(Verdict::Unparsed, |tag| said(tag));
                    assert!(
                        read >= said,
                        "{harness} {size:?} {fault}#{at}: {said} read as {read}\n{}",
                        found.reading.raw
                    );
                }
            }
        }
    }
}
