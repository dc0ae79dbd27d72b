//! Bringing the two sources of a reply together: the screen, which is always read, and the harness's own text
//! (interface.md 2). A channel confirms, completes and vetoes; it never makes an AGREE.

use super::exact::{ExactReading, read_exact};
use super::reply::Reading;
use crate::recording::word::{Agreement, Reason, Source, Verdict};

/// What a channel holds for a round; bound to it by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelText {
    /// The name of the channel, as it stands in a result.
    pub channel: &'static str,
    /// The peer's exact text; `None` when the turn failed.
    pub text: Option<String>,
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

/// Decides a round by its screen and, where there is one, its channel.
pub fn decide(screen: &Reading, channel: Option<&ChannelText>, tag: Option<&str>) -> Answer {
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
    let exact = read_exact(text, tag);
    let verdict = settle(screen, &exact, text);
    let answer = Answer {
        verdict: Verdict::Unparsed,
        reason: None,
        rationale: exact.rationale.clone(),
        raw: text.clone(),
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
        decide(screen, Some(&channel(text)), Some("k7q2")).verdict
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
        let answer = decide(&screen, Some(&failed), Some("k7q2"));
        assert_eq!(
            (answer.verdict, answer.reason),
            (Verdict::Unparsed, Some(Reason::TurnFailed))
        );
    }
}
