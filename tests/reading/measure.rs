//! How well a rationale tells what the model said: recall, noise and lines, Markdown's own signs left out.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use codriver::recording::word::Verdict;
use regex::Regex;

use crate::recording::Turn;

/// A rationale held against the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Likeness {
    /// Share of the truth's words that stand in the rationale, in order.
    pub(crate) recall: f64,
    /// Share of the rationale's words that are not in the truth.
    pub(crate) noise: f64,
    /// Share of the truth's lines that stand in the rationale as one line.
    pub(crate) lines: f64,
}

/// Holds `got` against `truth`.
pub(crate) fn compare(truth: &str, got: &str) -> Likeness {
    let (said, read) = (words(truth), words(got));
    if said.is_empty() {
        let empty = read.is_empty();
        return Likeness {
            recall: f64::from(u8::from(empty)),
            noise: f64::from(u8::from(!empty)),
            lines: 1.0,
        };
    }
    let same = common(&said, &read);
    let lines = lines(truth);
    let drawn: HashSet<String> = self::lines(got).into_iter().collect();
    let whole = lines.iter().filter(|line| drawn.contains(*line)).count();
    Likeness {
        recall: share(same, said.len()),
        noise: share(read.len() - same, read.len().max(1)),
        lines: share(whole, lines.len()),
    }
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

static FENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\s*(```|~~~).*$"));
static GAP: LazyLock<Regex> = LazyLock::new(|| regex(r"[\s─-╿]+"));
static SIGN: LazyLock<Regex> = LazyLock::new(|| regex(r"[^\p{L}\p{N}]+"));
static EMPHASIS: LazyLock<Regex> = LazyLock::new(|| regex(r"[`*~]+"));
static DRAWN: LazyLock<Regex> = LazyLock::new(|| regex(r"[#>|]+|[─━│┃┌┐└┘├┤┬┴┼═║╹▀▎▌]+"));
static LINK: LazyLock<Regex> = LazyLock::new(|| regex(r"\[([^\]]+)\]\(([^)]+)\)"));
static BULLET: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*(?:[-•*+◦▪]|\d+[.)])\s+"));
static BARE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:\s*(?:```.*|[-:| ]{3,}|\s*))$"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the test's patterns are well formed")
}

/// Letters and digits only: punctuation, marks and fence lines do not count.
fn words(text: &str) -> Vec<String> {
    let text = FENCE.replace_all(text, "");
    let text = EMPHASIS.replace_all(&text, "");
    GAP.split(&text)
        .map(|word| SIGN.replace_all(word, "").into_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The lines that hold something, marks and doubled blanks taken out.
fn lines(text: &str) -> Vec<String> {
    text.split('\n')
        .filter(|line| !BARE.is_match(line))
        .map(plain)
        .filter(|line| !line.is_empty())
        .collect()
}

fn plain(line: &str) -> String {
    let line = LINK.replace_all(line, "$1 ($2)");
    let line = BULLET.replace(&line, "");
    let line = EMPHASIS.replace_all(&line, "");
    let line = DRAWN.replace_all(&line, " ");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many words the matching blocks of two texts hold: the longest one, then the same on each side of it.
fn common(a: &[String], b: &[String]) -> usize {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, word) in b.iter().enumerate() {
        places.entry(word).or_default().push(at);
    }
    let mut sum = 0;
    let mut open = vec![(0..a.len(), 0..b.len())];
    while let Some((left, right)) = open.pop() {
        // Length of the block that ends at each place of `b`, for the word of `a` before.
        let mut ending: HashMap<usize, usize> = HashMap::new();
        let mut best = (left.start, right.start, 0);
        for at in left.clone() {
            let mut here = HashMap::new();
            for &place in places.get(a[at].as_str()).into_iter().flatten() {
                if place < right.start {
                    continue;
                }
                if place >= right.end {
                    break;
                }
                let before = place.checked_sub(1).and_then(|place| ending.get(&place));
                let size = before.map_or(1, |size| size + 1);
                here.insert(place, size);
                if size > best.2 {
                    best = (at + 1 - size, place + 1 - size, size);
                }
            }
            ending = here;
        }
        let (from_a, from_b, size) = best;
        if size == 0 {
            continue;
        }
        sum += size;
        open.push((left.start..from_a, right.start..from_b));
        open.push((from_a + size..left.end, from_b + size..right.end));
    }
    sum
}

/// What was read of one turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    pub(crate) name: String,
    pub(crate) said: Verdict,
    pub(crate) read: Verdict,
    pub(crate) likeness: Likeness,
    pub(crate) complete: bool,
    pub(crate) held: bool,
}

impl Scored {
    /// Holds a turn's reading against its truth; a turn that was not found at all counts as an honest UNPARSED.
    pub(crate) fn new(name: String, turn: &Turn, read: Option<&codriver::pairing::Found>) -> Self {
        let reading = read.map(|found| &found.reading);
        let rationale = reading.map_or("", |reading| reading.rationale.as_str());
        Self {
            name,
            said: turn.verdict,
            read: reading.map_or(Verdict::Unparsed, |reading| reading.verdict),
            likeness: match turn.verdict {
                Verdict::Unparsed => Likeness {
                    recall: 1.0,
                    noise: 0.0,
                    lines: 1.0,
                },
                _ => compare(&turn.review, rationale),
            },
            complete: reading.is_some_and(|reading| reading.complete),
            held: turn.on_screen,
        }
    }

    /// Whether the verdict is the truth's, or an honest UNPARSED where the screen did not hold the reply.
    pub(crate) fn is_right(&self) -> bool {
        self.read == self.said || (!self.held && self.read == Verdict::Unparsed)
    }

    pub(crate) fn is_false_agree(&self) -> bool {
        self.read == Verdict::Agree && self.said != Verdict::Agree
    }

    /// Whether words are missing from a rationale that calls itself complete.
    pub(crate) fn is_silent_loss(&self) -> bool {
        self.likeness.recall < 0.995
            && self.complete
            && self.said != Verdict::Unparsed
            && self.read != Verdict::Unparsed
    }

    /// What is wrong with this one turn, whatever the others are like.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let all = self.likeness.recall >= 0.995 && self.likeness.noise <= 0.005;
        if self.is_false_agree() {
            Some("a false AGREE")
        } else if !self.is_right() {
            Some("another verdict")
        } else if self.is_silent_loss() {
            Some("text lost silently")
        } else if self.is_readable() && !all && self.complete {
            Some("text added silently")
        } else {
            None
        }
    }

    /// Whether the whole reply stood on the screen, so that all of it is asked for.
    pub(crate) fn is_readable(&self) -> bool {
        self.held && self.said != Verdict::Unparsed
    }
}

/// The figures of many turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) rounds: usize,
    pub(crate) verdict: f64,
    pub(crate) false_agree: usize,
    pub(crate) silent_loss: usize,
    pub(crate) recall: f64,
    pub(crate) noise: f64,
    pub(crate) lines: f64,
    pub(crate) timid: f64,
    pub(crate) honest_misses: usize,
}

impl Figures {
    pub(crate) fn of(scored: &[Scored]) -> Self {
        let count = |is: &dyn Fn(&Scored) -> bool| scored.iter().filter(|one| is(one)).count();
        let readable: Vec<&Scored> = scored.iter().filter(|one| one.is_readable()).collect();
        let mean = |of: &dyn Fn(&Scored) -> f64| {
            readable.iter().map(|one| of(one)).sum::<f64>() / readable.len().max(1) as f64
        };
        Self {
            rounds: scored.len(),
            verdict: share(count(&Scored::is_right), scored.len().max(1)),
            false_agree: count(&Scored::is_false_agree),
            silent_loss: count(&Scored::is_silent_loss),
            recall: mean(&|one| one.likeness.recall),
            noise: mean(&|one| one.likeness.noise),
            lines: mean(&|one| one.likeness.lines),
            timid: mean(&|one| f64::from(u8::from(!one.complete && one.likeness.recall >= 0.995))),
            honest_misses: count(&|one| {
                !one.held && one.read == Verdict::Unparsed && one.said != Verdict::Unparsed
            }),
        }
    }

    /// What the issue asks for, and what of it is not reached.
    pub(crate) fn faults(&self) -> Vec<&'static str> {
        [
            (self.verdict < 1.0, "verdict below 1"),
            (self.false_agree > 0, "a false AGREE"),
            (self.silent_loss > 0, "text lost silently"),
            (self.recall < 0.995, "recall below 0.995"),
            (self.noise > 0.005, "noise above 0.005"),
            (self.lines < 0.95, "lines below 0.95"),
            (self.timid > 0.05, "timid above 0.05"),
        ]
        .into_iter()
        .filter_map(|(is, fault)| is.then_some(fault))
        .collect()
    }
}

#[test]
fn markdown_and_layout_do_not_count() {
    let truth = "# Head\n\n- `a_b` and **c**\n\n| x | y |\n|---|---|\n| 1 | 2 |";
    let drawn = "Head\n\n• a_b and c\n\n┌───┬───┐\n│ x │ y │\n├───┼───┤\n│ 1 │ 2 │\n└───┴───┘";
    let like = compare(truth, drawn);
    assert_eq!((like.recall, like.noise, like.lines), (1.0, 0.0, 1.0));
}

#[test]
fn missing_and_added_words_and_broken_lines_count() {
    let like = compare("one two three four", "one two\nthree five");
    assert_eq!((like.recall, like.noise, like.lines), (0.75, 0.25, 0.0));
}

#[test]
fn blocks_count_in_their_order_only() {
    let like = compare("a b c d", "c d a b");
    assert_eq!((like.recall, like.noise), (0.5, 0.5));
}
