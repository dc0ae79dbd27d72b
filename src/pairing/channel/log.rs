//! A log that an agent appends lines of JSON to, taken in as it grows, and the search in it.
//!
//! Whatever is no whole line of the expected shape is passed over: a line being written, a foreign kind, any bytes at
//! all. What is not understood can so keep an answer from being found, never make one up.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Found, Wanted, claude, codex, demo, is_after};

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What Claude's hooks were given, one event a line.
    Claude,
    /// A rollout file of codex.
    Codex,
    /// The demo agent's log.
    Demo,
}

/// Longest line that is looked at, in bytes.
const LINE: usize = 8 << 20;
/// Most that is kept of prompts and answers, in bytes; the oldest go first.
const KEPT: usize = 32 << 20;

/// A log as far as it was read.
#[derive(Debug)]
pub struct Log {
    format: Format,
    /// The line that has not ended.
    open: Vec<u8>,
    /// Whether the rest of the line is passed over.
    skips: bool,
    entries: VecDeque<Entry>,
    kept: usize,
    launch: Option<Launch>,
}

/// What one line says of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The conversation.
    pub(super) session: String,
    /// The turn, where the agent names it.
    pub(super) turn: Option<String>,
    pub(super) event: Event,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// A prompt was taken: its letters and digits, and when.
    Prompt(String, Option<Duration>),
    /// The turn ended with this text.
    Answer(String),
    /// The turn ended without one.
    Failure,
}

/// Who wrote a log, from its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) cwd: String,
    pub(super) at: Duration,
    /// Whether a person talks in it, not another agent.
    pub(super) own: bool,
}

impl Log {
    /// Opens an empty log.
    pub fn open(format: Format) -> Self {
        Self {
            format,
            open: Vec::new(),
            skips: false,
            entries: VecDeque::new(),
            kept: 0,
            launch: None,
        }
    }

    /// Takes in the bytes that follow, however they are split.
    pub fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if self.open.is_empty() {
                if !self.skips {
                    self.take_line(line);
                }
            } else {
                self.append(line);
                let whole = std::mem::take(&mut self.open);
                if !self.skips {
                    self.take_line(&whole);
                }
            }
            self.skips = false;
            rest = after;
        }
        self.append(rest);
    }

    /// Takes in that bytes are missing before those that follow.
    pub fn skip(&mut self) {
        self.open = Vec::new();
        self.skips = true;
    }

    /// Whether it is the log of a launch in `cwd` at `since` (since 1970); `None` until its first line was read.
    pub fn is_of(&self, cwd: &str, since: Duration) -> Option<bool> {
        self.launch
            .as_ref()
            .map(|launch| launch.own && launch.cwd == cwd && is_after(launch.at, since))
    }

    /// Looks for a round's answer.
    pub fn find(&self, wanted: &Wanted) -> Found {
        let asked = self.entries.iter().rposition(|entry| match &entry.event {
            Event::Prompt(words, at) => wanted.is_prompt(words, *at),
            Event::Answer(_) | Event::Failure => false,
        });
        let Some(asked) = asked else {
            return Found::NotYet;
        };
        let prompt = &self.entries[asked];
        let mut texts: Vec<&str> = Vec::new();
        let mut failed = false;
        for entry in self.entries.range(asked + 1..) {
            if entry.session != prompt.session {
                continue;
            }
            let named = prompt.turn.is_some() && entry.turn.is_some();
            if named && entry.turn != prompt.turn {
                continue;
            }
            match &entry.event {
                // Without names, all up to the next prompt is the answer.
                Event::Prompt(..) if !named => break,
                Event::Prompt(..) => {}
                // A turn that a hook of the person's sent on ends more than once; all of it is the reply.
                Event::Answer(text) => {
                    failed = false;
                    if texts.last() != Some(&text.as_str()) {
                        texts.push(text);
                    }
                }
                Event::Failure => {
                    failed = true;
                    texts.clear();
                }
            }
        }
        match (failed, texts.is_empty()) {
            (true, _) => Found::Failed,
            (false, true) => Found::NotYet,
            (false, false) => Found::Text(texts.join("\n\n")),
        }
    }

    /// Keeps a piece of the open line, within its bound.
    fn append(&mut self, piece: &[u8]) {
        if self.skips {
            return;
        }
        if self.open.len() + piece.len() > LINE {
            self.skip();
            return;
        }
        self.open.extend_from_slice(piece);
    }

    fn take_line(&mut self, line: &[u8]) {
        let entry = match self.format {
            Format::Claude => claude::entry(line).into_iter().collect(),
            Format::Demo => demo::entries(line),
            Format::Codex => {
                if self.launch.is_none() {
                    // A file that does not begin with its head is none of ours.
                    self.launch = Some(codex::launch(line).unwrap_or(Launch {
                        cwd: String::new(),
                        at: Duration::ZERO,
                        own: false,
                    }));
                }
                codex::entry(line).into_iter().collect::<Vec<_>>()
            }
        };
        for entry in entry {
            self.kept += entry.size();
            self.entries.push_back(entry);
        }
        while self.kept > KEPT
            && let Some(oldest) = self.entries.pop_front()
        {
            self.kept -= oldest.size();
        }
    }
}

impl Entry {
    /// About the memory it takes.
    fn size(&self) -> usize {
        let text = match &self.event {
            Event::Prompt(text, _) | Event::Answer(text) => text.len(),
            Event::Failure => 0,
        };
        size_of::<Self>() + self.session.len() + self.turn.as_ref().map_or(0, String::len) + text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SENT: &str = "Begin with the label REVIEW and a colon, then k7q2, the tag.";

    fn wanted() -> Wanted {
        Wanted::new("k7q2", SENT, Duration::ZERO)
    }

    fn prompt(session: &str, turn: &str, tag: &str) -> String {
        let text = SENT.replace("k7q2", tag);
        format!(
            r#"{{"session_id":"{session}","prompt_id":{turn},"hook_event_name":"UserPromptSubmit","prompt":"{text}"}}"#
        )
    }

    fn stop(session: &str, turn: &str, text: &str) -> String {
        format!(
            r#"{{"session_id":"{session}","prompt_id":{turn},"hook_event_name":"Stop","last_assistant_message":"{text}"}}"#
        )
    }

    fn failure(session: &str, turn: &str) -> String {
        format!(
            r#"{{"session_id":"{session}","prompt_id":{turn},"hook_event_name":"StopFailure","last_assistant_message":"no"}}"#
        )
    }

    fn found(lines: &[String]) -> Found {
        let mut log = Log::open(Format::Claude);
        for line in lines {
            log.take(format!("\n{line}\n").as_bytes());
        }
        log.find(&wanted())
    }

    fn text(text: &str) -> Found {
        Found::Text(text.to_owned())
    }

    #[test]
    fn an_earlier_rounds_answer_is_not_this_ones() {
        let lines = [prompt("s", "\"1\"", "a2b3"), stop("s", "\"1\"", "old")];
        assert_eq!(found(&lines), Found::NotYet);
        let [first, old] = lines;
        let again = [
            first,
            prompt("s", "\"2\"", "k7q2"),
            old,
            stop("s", "\"2\"", "new"),
        ];
        assert_eq!(found(&again[..3]), Found::NotYet);
        assert_eq!(found(&again), text("new"));
    }

    #[test]
    fn a_later_turns_answer_is_not_this_ones() {
        let lines = [
            prompt("s", "\"1\"", "k7q2"),
            prompt("s", "\"2\"", "a2b3"),
            stop("s", "\"2\"", "later"),
        ];
        assert_eq!(found(&lines), Found::NotYet);
    }

    #[test]
    fn without_names_of_turns_the_next_prompt_ends_the_answer() {
        let lines = [
            prompt("s", "null", "k7q2"),
            prompt("s", "null", "a2b3"),
            stop("s", "null", "later"),
        ];
        assert_eq!(found(&lines), Found::NotYet);
        let lines = [prompt("s", "null", "k7q2"), stop("s", "null", "this")];
        assert_eq!(found(&lines), text("this"));
    }

    #[test]
    fn another_session_does_not_answer() {
        let lines = [prompt("s", "\"1\"", "k7q2"), stop("t", "\"1\"", "foreign")];
        assert_eq!(found(&lines), Found::NotYet);
    }

    #[test]
    fn a_failed_turn_has_no_text() {
        let lines = [prompt("s", "\"1\"", "k7q2"), failure("s", "\"1\"")];
        assert_eq!(found(&lines), Found::Failed);
        let lines = [
            prompt("s", "\"1\"", "k7q2"),
            stop("s", "\"1\"", "half"),
            failure("s", "\"1\""),
        ];
        assert_eq!(found(&lines), Found::Failed);
    }

    #[test]
    fn a_turn_that_was_sent_on_is_one_reply() {
        let lines = [
            prompt("s", "\"1\"", "k7q2"),
            stop("s", "\"1\"", "first"),
            stop("s", "\"1\"", "first"),
            stop("s", "\"1\"", "more"),
        ];
        assert_eq!(found(&lines), text("first\n\nmore"));
    }

    #[test]
    fn the_last_of_two_equal_prompts_is_meant() {
        let lines = [
            prompt("s", "\"1\"", "k7q2"),
            stop("s", "\"1\"", "first"),
            prompt("s", "\"2\"", "k7q2"),
        ];
        assert_eq!(found(&lines), Found::NotYet);
    }

    #[test]
    fn a_line_that_is_being_written_does_not_count() {
        let lines = format!(
            "{}\n{}",
            prompt("s", "\"1\"", "k7q2"),
            stop("s", "\"1\"", "this")
        );
        let mut log = Log::open(Format::Claude);
        log.take(lines.as_bytes());
        assert_eq!(log.find(&wanted()), Found::NotYet);
        log.take(b"\n");
        assert_eq!(log.find(&wanted()), text("this"));
    }

    #[test]
    fn a_line_over_its_bound_is_passed_over() {
        let mut log = Log::open(Format::Claude);
        for _ in 0..9 {
            log.take(&vec![b'x'; 1 << 20]);
        }
        assert!(log.open.len() <= LINE);
        log.take(format!("\n{}\n", prompt("s", "\"1\"", "k7q2")).as_bytes());
        log.take(format!("{}\n", stop("s", "\"1\"", "this")).as_bytes());
        assert_eq!(log.find(&wanted()), text("this"));
    }

    #[test]
    fn after_a_gap_the_cut_line_is_passed_over() {
        let mut log = Log::open(Format::Claude);
        log.take(b"{\"session_id\":");
        log.skip();
        log.take(format!("\"s\"}}\n{}\n", prompt("s", "\"1\"", "k7q2")).as_bytes());
        log.take(format!("{}\n", stop("s", "\"1\"", "this")).as_bytes());
        assert_eq!(log.find(&wanted()), text("this"));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut log = Log::open(Format::Claude);
        let big = "x".repeat(1 << 20);
        for turn in 0..40 {
            log.take(format!("{}\n", stop("s", &format!("\"{turn}\""), &big)).as_bytes());
        }
        assert!(log.kept <= KEPT);
        assert_eq!(log.kept, log.entries.iter().map(Entry::size).sum::<usize>());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_fault(
            format in prop_oneof![Just(Format::Claude), Just(Format::Codex), Just(Format::Demo)],
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let mut log = Log::open(format);
            log.take(&bytes);
            prop_assert_eq!(log.find(&wanted()), Found::NotYet);
        }

        #[test]
        fn the_answer_is_the_same_however_the_bytes_are_split(
            cuts in proptest::collection::vec(0usize..600, 0..6),
            end in 0usize..600,
        ) {
            let lines = [
                prompt("s", "\"1\"", "a2b3"),
                stop("s", "\"1\"", "old"),
                prompt("s", "\"2\"", "k7q2"),
                stop("s", "\"2\"", "neu \u{fc}"),
            ];
            let all = lines.join("\n") + "\n";
            let all = &all.as_bytes()[..end.min(all.len())];
            let mut whole = Log::open(Format::Claude);
            whole.take(all);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).collect();
            cuts.extend([0, all.len()]);
            cuts.sort_unstable();
            let mut split = Log::open(Format::Claude);
            for pair in cuts.windows(2) {
                split.take(&all[pair[0]..pair[1]]);
            }
            prop_assert_eq!(split.find(&wanted()), whole.find(&wanted()));
            prop_assert_ne!(split.find(&wanted()), text("old"));
        }
    }
}
