//! Bringing the two sources of a reply together: the screen, which is always read, and the harness's own text
//! (interface.md 2). A channel confirms, completes and vetoes; it never makes an AGREE.

use super::exact::{ExactReading, read_exact};
use super::reply::Reading;
use super::submission::Submission;
use crate::recording::word::{Agreement, Reason, Source, Verdict};

/// What a channel holds for a round; bound to it by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelText {
    /// The name of the channel, as it stands in a result.
    pub channel: &'static str,
    /// The peer's exact text; `None` when the turn failed.
    pub text: Option<String>,
}

/// What is found of a round beside the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// The agent's own text, once it is there.
    pub channel: Option<ChannelText>,
    /// What the peer handed in by its tool so far.
    pub submitted: Vec<Submission>,
}

/// A round's reply, after all sources were heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// The reply's text.
    pub rationale: String,
    /// All of the reply.
    pub raw: String,
    /// Where the rationale came from.
    pub source: Source,
    /// The source that was held against it.
    pub checked_by: Option<&'static str>,
    /// Whether they agree on the verdict.
    pub agreement: Agreement,
    /// Whether nothing can be missing from the rationale.
    pub complete: bool,
    /// Whether verdict lines with different words stand in the reply.
    pub ambiguous: bool,
    /// Whether the tag came back.
    pub tagged: bool,
    /// Both readings, when they give different verdicts: verdict and rationale of the screen, then of the channel.
    pub readings: Option<[(Verdict, String); 2]>,
}

/// The name of what a peer hands in by its tool, as it stands in a result.
const SUBMITTED: &str = "submit-review";

/// Decides a round by its screen and, where there are any, its channel and what the peer handed in.
pub fn decide(
    screen: &Reading,
    channel: Option<&ChannelText>,
    submitted: &[Submission],
    tag: Option<&str>,
) -> Answer {
    let answer = match (channel, submitted.last()) {
        (None, Some(last)) => by_submission(screen, last),
        (channel, _) => by_channel(screen, channel, tag),
    };
    veto(answer, submitted)
}

/// What was handed in is one more voice: another verdict than the one found leaves none.
fn veto(answer: Answer, submitted: &[Submission]) -> Answer {
    let words = submitted.iter().map(|one| one.verdict);
    let mut all = words
        .chain([answer.verdict])
        .filter(|word| *word != Verdict::Unparsed);
    let Some(first) = all.next() else {
        return answer;
    };
    let Some(last) = submitted.last() else {
        return answer;
    };
    if all.all(|word| word == first) {
        return answer;
    }
    let seen = (answer.verdict, answer.rationale.clone());
    let readings = answer.readings.clone();
    Answer {
        verdict: Verdict::Unparsed,
        reason: Some(Reason::SourcesDiffer),
        checked_by: Some(SUBMITTED),
        agreement: Agreement::Differs,
        complete: false,
        readings: readings.or_else(|| Some([seen, (last.verdict, last.review.clone())])),
        ..answer
    }
}

/// Decides a round by its screen and what the peer handed in, where there is no text of the agent's own.
fn by_submission(screen: &Reading, submitted: &Submission) -> Answer {
    if screen.ambiguous && submitted.verdict == Verdict::Agree {
        // It does not tell which of the lines is a quotation.
        return alone(screen);
    }
    let exact = ExactReading {
        verdict: submitted.verdict,
        reason: None,
        rationale: submitted.review.trim().to_owned(),
        tagged: true,
        ambiguous: false,
    };
    let answer = weigh(screen, exact, &submitted.review);
    match answer.verdict {
        // What it does not confirm is read off the screen as if it were not there.
        Verdict::Unparsed if answer.reason != Some(Reason::SourcesDiffer) => alone(screen),
        // The screen's own words are the reply; what was handed in may be a digest of it.
        _ if screen.complete && screen.verdict == answer.verdict => Answer {
            checked_by: Some(SUBMITTED),
            agreement: Agreement::Same,
            ..alone(screen)
        },
        _ => Answer {
            checked_by: answer.checked_by.map(|_| SUBMITTED),
            ..answer
        },
    }
}

fn by_channel(screen: &Reading, channel: Option<&ChannelText>, tag: Option<&str>) -> Answer {
    let Some(channel) = channel else {
        return alone(screen);
    };
    let Some(text) = &channel.text else {
        let answer = alone(screen);
        return Answer {
            verdict: Verdict::Unparsed,
            reason: Some(Reason::TurnFailed),
            checked_by: Some(channel.channel),
            agreement: Agreement::Differs,
            complete: false,
            ..answer
        };
    };
    weigh(screen, read_exact(text, tag), text)
}

/// Holds an exact reading of `text` against the screen's.
fn weigh(screen: &Reading, exact: ExactReading, text: &str) -> Answer {
    let verdict = settle(screen, &exact, text);
    let answer = Answer {
        verdict: Verdict::Unparsed,
        reason: None,
        rationale: exact.rationale.clone(),
        raw: text.to_owned(),
        source: Source::Channel,
        checked_by: Some("screen"),
        agreement: Agreement::Same,
        complete: true,
        ambiguous: screen.ambiguous || exact.ambiguous,
        tagged: screen.tagged || exact.tagged,
        readings: None,
    };
    match verdict {
        Settled::Same(verdict) => Answer { verdict, ..answer },
        Settled::Unread(verdict) => Answer {
            verdict,
            agreement: Agreement::None,
            ..answer
        },
        Settled::Neither(reason) => Answer {
            reason: Some(reason),
            complete: false,
            ..answer
        },
        Settled::Differ => Answer {
            reason: Some(Reason::SourcesDiffer),
            agreement: Agreement::Differs,
            complete: false,
            readings: Some([
                (screen.verdict, screen.rationale.clone()),
                (exact.verdict, exact.rationale),
            ]),
            ..answer
        },
    }
}

/// What two readings come to.
enum Settled {
    /// Both say this.
    Same(Verdict),
    /// The channel says this, and the screen could not be read that far.
    Unread(Verdict),
    /// Neither has a verdict.
    Neither(Reason),
    /// They do not say the same.
    Differ,
}

/// Letters and digits at its end by which the screen's text is known again in the exact one.
const END: usize = 48;

/// Whether the screen, of which nothing else tells the round, shows the end of `text`.
fn shows_end(screen: &Reading, text: &str) -> bool {
    let end = |text: &str| -> Vec<char> {
        let signs = text.chars().filter(|c| c.is_alphanumeric());
        let mut end: Vec<char> = signs.rev().take(END).collect();
        end.reverse();
        end
    };
    end(text).ends_with(&end(&screen.raw))
}

fn settle(screen: &Reading, exact: &ExactReading, text: &str) -> Settled {
    use Verdict::{Agree, Unparsed};
    // What the agent reports as a failed turn stays one, whatever text it left behind.
    if screen.reason == Some(Reason::TurnFailed) {
        return Settled::Neither(Reason::TurnFailed);
    }
    let agree = exact.verdict == Agree;
    match (screen.verdict, exact.verdict) {
        (Unparsed, Unparsed) => {
            Settled::Neither(exact.reason.or(screen.reason).unwrap_or(Reason::NoVerdict))
        }
        (seen, said) if seen == said => Settled::Same(said),
        // AGREE always needs a screen whose last verdict line is AGREE; then the channel may settle what is a quotation
        // and who wrote it. A screen that holds no start of the reply must hold its end, or it may be an older one's.
        (_, Agree)
            if screen.ends_with == Some(Agree)
                && (screen.reason != Some(Reason::Incomplete) || shows_end(screen, text)) =>
        {
            Settled::Same(Agree)
        }
        (Unparsed, _) if agree => Settled::Neither(screen.reason.unwrap_or(Reason::NoVerdict)),
        (Unparsed, said) => match screen.ends_with {
            Some(seen) if seen != said => Settled::Differ,
            _ if screen.words.iter().any(|&(_, word)| word == said) => Settled::Same(said),
            _ => Settled::Unread(said),
        },
        (_, said)
            if screen.ambiguous && !agree && screen.words.iter().any(|&(_, word)| word == said) =>
        {
            Settled::Same(said)
        }
        _ => Settled::Differ,
    }
}

fn alone(screen: &Reading) -> Answer {
    Answer {
        verdict: screen.verdict,
        reason: screen.reason,
        rationale: screen.rationale.clone(),
        raw: screen.raw.clone(),
        source: Source::Screen,
        checked_by: None,
        agreement: Agreement::None,
        complete: screen.complete,
        ambiguous: screen.ambiguous,
        tagged: screen.tagged,
        readings: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a screen says that ends in AGREE.
    fn ends_in_agree(verdict: Verdict, reason: Option<Reason>, raw: &str) -> Reading {
        Reading {
            verdict,
            reason,
            ends_with: Some(Verdict::Agree),
            words: vec![(3, Verdict::Agree)],
            ..Reading::unparsed(Reason::Empty, raw.to_owned())
        }
    }

    fn channel(text: &str) -> ChannelText {
        ChannelText {
            channel: "session-log",
            text: Some(text.to_owned()),
        }
    }

    fn verdict(screen: &Reading, text: &str) -> Verdict {
        decide(screen, Some(&channel(text)), &[], Some("k7q2")).verdict
    }

    const SAID: &str =
        "REVIEW: (k7q2) All of the change was read, and nothing in it is wrong.\n\nVERDICT: AGREE";

    #[test]
    fn a_channel_alone_never_agrees() {
        let screen = Reading::unparsed(Reason::NoVerdict, "REVIEW: (k7q2) All of".to_owned());
        assert_eq!(verdict(&screen, SAID), Verdict::Unparsed);
    }

    #[test]
    fn a_channel_confirms_who_wrote_an_untagged_reply() {
        let raw = "REVIEW: Fine.\n\nVERDICT: AGREE";
        let screen = ends_in_agree(Verdict::Unparsed, Some(Reason::Untagged), raw);
        assert_eq!(verdict(&screen, raw), Verdict::Agree);
        assert_eq!(
            verdict(&screen, "REVIEW: No.\n\nVERDICT: OBJECT"),
            Verdict::Unparsed
        );
    }

    #[test]
    fn a_screen_of_another_round_agrees_with_no_channel() {
        let reason = Some(Reason::Incomplete);
        let tail = "nothing in it is wrong.\n\nVERDICT: AGREE";
        let screen = ends_in_agree(Verdict::Unparsed, reason, tail);
        assert_eq!(verdict(&screen, SAID), Verdict::Agree);
        let older = "The first one is fine as it is.\n\nVERDICT: AGREE";
        let screen = ends_in_agree(Verdict::Unparsed, reason, older);
        assert_eq!(verdict(&screen, SAID), Verdict::Unparsed);
    }

    #[test]
    fn what_a_channel_shows_to_be_a_quotation_does_not_count() {
        let text = "REVIEW: (k7q2) The file says\n\n```\nVERDICT: OBJECT\n```\n\nVERDICT: AGREE";
        let screen = Reading {
            ambiguous: true,
            words: vec![(1, Verdict::Object), (3, Verdict::Agree)],
            ..ends_in_agree(Verdict::Object, None, text)
        };
        assert_eq!(verdict(&screen, text), Verdict::Agree);
        let text = "REVIEW: (k7q2) The file says\n\n```\nVERDICT: AGREE\n```";
        let screen = ends_in_agree(Verdict::Agree, None, text);
        assert_eq!(verdict(&screen, text), Verdict::Unparsed);
    }

    #[test]
    fn a_failed_turn_gives_no_verdict_whatever_stands_there() {
        let screen = ends_in_agree(Verdict::Unparsed, Some(Reason::TurnFailed), SAID);
        assert_eq!(verdict(&screen, SAID), Verdict::Unparsed);
        let failed = ChannelText {
            channel: "session-log",
            text: None,
        };
        let screen = ends_in_agree(Verdict::Agree, None, SAID);
        let answer = decide(&screen, Some(&failed), &[], Some("k7q2"));
        assert_eq!(
            (answer.verdict, answer.reason),
            (Verdict::Unparsed, Some(Reason::TurnFailed))
        );
    }

    fn handed(verdict: Verdict) -> Submission {
        Submission {
            review: "All of it was read.".to_owned(),
            verdict,
        }
    }

    /// A screen that was read whole.
    fn whole(verdict: Verdict) -> Reading {
        Reading {
            verdict,
            reason: None,
            complete: true,
            tagged: true,
            ends_with: Some(verdict),
            words: vec![(3, verdict)],
            rationale: "All of it was read.".to_owned(),
            ..Reading::unparsed(Reason::Empty, SAID.to_owned())
        }
    }

    #[test]
    fn what_is_handed_in_confirms_and_another_word_leaves_none() {
        let tag = Some("k7q2");
        let screen = whole(Verdict::Agree);
        let same = decide(&screen, None, &[handed(Verdict::Agree)], tag);
        assert_eq!(
            (same.verdict, same.agreement, same.checked_by),
            (Verdict::Agree, Agreement::Same, Some(SUBMITTED))
        );
        for submitted in [
            vec![handed(Verdict::Object)],
            vec![handed(Verdict::Object), handed(Verdict::Agree)],
            vec![handed(Verdict::Agree), handed(Verdict::Adjust)],
        ] {
            for channel in [None, Some(channel(SAID))] {
                let answer = decide(&screen, channel.as_ref(), &submitted, tag);
                assert_eq!(
                    (answer.verdict, answer.reason),
                    (Verdict::Unparsed, Some(Reason::SourcesDiffer)),
                    "{submitted:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_handed_in_never_makes_an_agreement() {
        let tag = Some("k7q2");
        let agree = [handed(Verdict::Agree)];
        let cut = Reading::unparsed(Reason::NoVerdict, "REVIEW: (k7q2) All of".to_owned());
        assert_eq!(decide(&cut, None, &agree, tag).verdict, Verdict::Unparsed);
        let nothing = Reading::unparsed(Reason::Empty, String::new());
        assert_eq!(
            decide(&nothing, None, &agree, tag).verdict,
            Verdict::Unparsed
        );
        // An objection that quotes an agreement behind it: which of the two is a quotation nobody tells.
        let quoted = Reading {
            ambiguous: true,
            words: vec![(1, Verdict::Object), (3, Verdict::Agree)],
            ends_with: Some(Verdict::Agree),
            ..whole(Verdict::Object)
        };
        assert_eq!(
            decide(&quoted, None, &agree, tag).verdict,
            Verdict::Unparsed
        );
        let failed = Reading {
            reason: Some(Reason::TurnFailed),
            verdict: Verdict::Unparsed,
            ..whole(Verdict::Agree)
        };
        assert_eq!(
            decide(&failed, None, &agree, tag).verdict,
            Verdict::Unparsed
        );
    }

    #[test]
    fn what_is_handed_in_completes_a_review_the_screen_has_lost_parts_of() {
        let screen = Reading {
            complete: false,
            ..whole(Verdict::Object)
        };
        let answer = decide(&screen, None, &[handed(Verdict::Object)], Some("k7q2"));
        assert_eq!(
            (answer.verdict, answer.complete, answer.source),
            (Verdict::Object, true, Source::Channel)
        );
    }
}
