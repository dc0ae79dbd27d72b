//! What comes of rounds, made by hand: answers and receipts of fixed times.

use codriver::app::event::{Answered, FellBack, Receipted, Turn};
use codriver::app::{Ask, Event};
use codriver::config::RequireTag;
use codriver::pairing::{Order, Way};
use codriver::recording::word::{Kind, Verdict};
use serde_json::{Value, json};

use crate::stage::Stage;

type Fault = Box<dyn std::error::Error>;

/// One answer.
pub(crate) struct Answer {
    pub(crate) number: u32,
    pub(crate) kind: Kind,
    pub(crate) verdict: Verdict,
    pub(crate) rationale: &'static str,
    pub(crate) asked: &'static str,
    pub(crate) elapsed_ms: u64,
}

/// A plan that is to be adjusted.
pub(crate) const ADJUST: Answer = Answer {
    number: 1,
    kind: Kind::Plan,
    verdict: Verdict::Adjust,
    rationale: "Two findings, both small.\n\n\
                1. `src/retry.rs:14`: the budget is read once more behind the lock, so that two calls at once may each take the last try.\n\
                2. Name what a budget of zero means.\n\n\
                Apply both and go on; 支払い needs no change.",
    asked: "Plan for retrying failed payments:\n\n1. Build the retry loop.\n2. Give each call a timeout.",
    elapsed_ms: 12_300,
};

/// The answers of a session, one of each verdict.
pub(crate) fn every_verdict() -> [Answer; 5] {
    let answer = |number, kind, verdict, rationale, elapsed_ms| Answer {
        number,
        kind,
        verdict,
        rationale,
        asked: "Is this right?",
        elapsed_ms,
    };
    [
        ADJUST,
        answer(
            2,
            Kind::Plan,
            Verdict::Agree,
            "Both findings are in the plan now.",
            9_000,
        ),
        answer(
            3,
            Kind::Implementation,
            Verdict::Object,
            "The lock is held while it sleeps.",
            849,
        ),
        answer(
            4,
            Kind::Implementation,
            Verdict::Unparsed,
            "Looks fine to me",
            200_000,
        ),
        answer(
            5,
            Kind::Question,
            Verdict::Escalate,
            "How long may a payment be retried?\n\nAn hour loses the night's payments; a day may charge a card that was closed. I would take the hour.",
            31_000,
        ),
    ]
}

fn base(answer: &Answer) -> Value {
    json!({
        "pane": "peer", "round": answer.number, "kind": answer.kind,
        "verdict": answer.verdict,
        "source": "screen", "checked_by": "session-log", "agreement": "same",
        "complete": true, "ambiguous": false, "tagged": true,
        "route": {"asked": "host", "ran": "host"},
        "tree": {"before": "sha256:a", "after": "sha256:a", "moved": false},
        "delivery": {"pasted": true, "submitted": true, "turn_started": true},
        "started_at": "2026-01-02T14:02:03Z", "elapsed_ms": answer.elapsed_ms,
        "recording": {"file": "peer.cast", "from": 12.345, "to": 20.468},
    })
}

fn with(mut value: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
        fields.extend(more);
    }
    value
}

/// The answer as the console is told it.
pub(crate) fn answered(answer: &Answer) -> Result<Answered, Fault> {
    let mut round = with(
        base(answer),
        json!({
            "schema": "codriver.round/1", "session": "s", "rationale": answer.rationale,
            "peer": {"harness": "demo", "version": "0.1.0", "confined": "namespace"},
            "receipt": "rcp_0123456789abcdef01234567",
        }),
    );
    if answer.verdict == Verdict::Unparsed {
        round = with(
            round,
            json!({"raw": format!("{}\n\nAGREE, I think", answer.rationale), "reason": "no-verdict"}),
        );
    }
    Ok(Answered {
        round: serde_json::from_value(round)?,
        asked: answer.asked.to_owned(),
        remarks: Vec::new(),
        at: format!("14:02:{:02}", answer.number),
    })
}

/// The receipt of an answer; `more` changes single fields.
pub(crate) fn receipted(answer: &Answer, more: Value) -> Result<Receipted, Fault> {
    let digest = format!("sha256:{}", "ab".repeat(32));
    let receipt = with(
        base(answer),
        json!({
            "outcome": "answered", "tag": format!("k{}q2", answer.number),
            "harness": "demo", "version": "0.1.0", "confined": "namespace",
            "launch": digest, "scrubbed": ["AWS_SECRET_ACCESS_KEY"],
            "texts": {
                "sent": {"sha256": digest, "file": "transcripts/1-sent.txt"},
                "screen": {"sha256": digest, "file": "transcripts/1-screen.txt"},
                "channel": null, "rationale": {"sha256": digest, "file": null},
            },
        }),
    );
    let mut receipt = with(receipt, more);
    if answer.verdict == Verdict::Unparsed {
        receipt = with(receipt, json!({"reason": "no-verdict"}));
    }
    Ok(Receipted {
        id: Some(format!("rcp_{:024x}", 0xabc_def0 + answer.number)),
        receipt: serde_json::from_value(receipt)?,
        at: format!("14:02:{:02}", answer.number),
    })
}

/// A route that did not answer.
pub(crate) fn fell_back(asked: &str, role: &str) -> Result<FellBack, Fault> {
    Ok(FellBack {
        id: Some("rcp_00000000000000000000beef".to_owned()),
        receipt: serde_json::from_value(json!({
            "at": "2026-01-02T14:03:40Z", "role": role, "asked": asked, "ran": "host",
            "reason": "unreachable", "detail": "nothing listens at the address that is set",
        }))?,
        at: "14:03:40".to_owned(),
    })
}

/// The message of a round.
pub(crate) fn turn(words: &str) -> Turn {
    Turn {
        order: Order {
            text: format!("{words}\n\nThe tag of this round is k7q2, as before.\nThank you."),
            way: Way::Message {
                tag: "k7q2".to_owned(),
            },
            timeout: std::time::Duration::from_secs(300),
            require: RequireTag::Agree,
        },
        stage: "waiting",
        round: 1,
    }
}

impl Stage {
    /// Has a round end with an answer.
    pub(crate) fn answer(&mut self, answer: &Answer) -> Result<(), Fault> {
        self.event(Event::Receipt(Box::new(receipted(answer, json!({}))?)));
        self.event(Event::Answered(Box::new(answered(answer)?)));
        Ok(())
    }

    /// Closes what the last answer opened.
    pub(crate) fn close(&mut self) {
        if self.app.overlay.is_some() {
            self.type_in(b"\x1b");
        }
    }

    /// Has the person ask, and the message typed to the peer.
    pub(crate) fn ask(&mut self, words: &str) {
        let ask = Ask::Discuss {
            kind: Kind::Plan,
            words: words.to_owned(),
            diff: false,
        };
        self.event(Event::Asks(ask, None));
        self.event(Event::Turn(Box::new(turn(words))));
    }
}
