//! The demo's review: a few fixed rules over a diff found in the prompt, answered in the protocol (systems.md A.6).
//!
//! It is no model and says so in every answer. What it did not look at never gets an `AGREE`.

use super::diff::{AddedLine, Diff, FileDiff};
use super::secret;

/// Findings listed in one answer; the rest is counted.
const LISTED: usize = 20;
/// How far behind the word "tag" the tag itself may stand, in characters.
const TAG_REACH: usize = 80;
/// Said in every answer.
const DISCLAIMER: &str = "This is codriver's demo agent: a few fixed rules over a diff, no model.";

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// To be fixed, the rest may go on.
    Small,
    /// Stops the change.
    Grave,
}

/// One thing a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, as the diff names it.
    pub path: String,
    /// The line in the file as it is afterwards.
    pub line: usize,
    /// What is wrong, one sentence.
    pub what: String,
    /// How much it weighs.
    pub weight: Weight,
}

/// Answers a prompt in the protocol, with the tag it asks for.
pub fn answer(prompt: &str) -> String {
    answer_tagged(prompt, asked_tag(prompt).as_deref())
}

/// Answers a prompt in the protocol, with `tag` on the marker line.
pub fn answer_tagged(prompt: &str, tag: Option<&str>) -> String {
    let diff = Diff::find(prompt);
    let (first, body, verdict) = if !diff.files.is_empty() {
        review(&diff)
    } else if is_brief(&diff.prose) {
        ("understood".to_owned(), Vec::new(), "AGREE")
    } else {
        (
            "I cannot judge this: there is no diff in the message, and a diff is all I can look at.".to_owned(),
            vec!["Send a diff (for example with `--diff`), or ask a real agent.".to_owned()],
            "ADJUST",
        )
    };
    let mut out = String::from("REVIEW: ");
    if let Some(tag) = tag {
        out.push_str(&format!("({tag}) "));
    }
    out.push_str(&first);
    out.push_str("\n\n");
    for line in body {
        out.push_str(&line);
        out.push('\n');
        if !line.starts_with("- ") {
            out.push('\n');
        }
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(DISCLAIMER);
    let mut verdict = verdict;
    if let Some([passes, stops]) = asked_words(&diff.prose) {
        let word = match verdict {
            "AGREE" => passes,
            _ => stops,
        };
        if verdict != "AGREE" {
            verdict = "OBJECT";
        }
        out.push_str(&format!("\n\n## Verdict\n\n{word}"));
    }
    out.push_str("\n\nVERDICT: ");
    out.push_str(verdict);
    out
}

/// The words that pass and that stop, where a prompt asks for the return of a role's brief.
fn asked_words(prose: &str) -> Option<[String; 2]> {
    const BEFORE: &str = "in capitals: ";
    if !prose.contains("is the return of the brief") {
        return None;
    }
    let (_, words) = prose.split_once(BEFORE)?;
    let (words, _) = words.split_once('.')?;
    let mut words = words.split(", ").map(str::to_owned);
    Some([words.next()?, words.next()?])
}

/// The tag a prompt asks for: a word of three to eight letters and digits, at least one of each, right before the first
/// "tag" that has one (`k7q2, the tag of this round`), else the last one within reach behind it. A diff in the prompt
/// asks for nothing.
pub fn asked_tag(prompt: &str) -> Option<String> {
    let prose = Diff::find(prompt).prose;
    prose
        .match_indices(['t', 'T'])
        .filter(|(at, _)| is_word_tag(&prose, *at))
        .find_map(|(at, _)| {
            let reach: String = prose[at + 3..].chars().take(TAG_REACH + 1).collect();
            tag_before(&prose[..at]).or_else(|| last_tag_in(&reach))
        })
}

/// The tag in `k7q2, the `, or in `k7q2 as the `.
fn tag_before(text: &str) -> Option<String> {
    let text = text.trim_end();
    let text = text.strip_suffix("the").unwrap_or(text).trim_end();
    let text = text.strip_suffix(" as").unwrap_or(text);
    let text = text.trim_end_matches([',', ':', ' ', ')', ']', '"', '`']);
    let word = text
        .rsplit(|letter: char| !letter.is_alphanumeric())
        .next()?;
    is_tag(word).then(|| word.to_owned())
}

fn is_word_tag(text: &str, at: usize) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.get(at..at + 3)
        .is_some_and(|word| word.eq_ignore_ascii_case("tag"))
        && !is_letter(text[..at].chars().next_back())
        && !is_letter(text[at + 3..].chars().next())
}

fn last_tag_in(reach: &str) -> Option<String> {
    // A word the reach cuts in two is no word of the prompt.
    let whole = if reach.chars().count() > TAG_REACH {
        reach
            .rsplit_once(|letter: char| !letter.is_alphanumeric())?
            .0
    } else {
        reach
    };
    whole
        .split(|letter: char| !letter.is_alphanumeric())
        .rfind(|word| is_tag(word))
        .map(str::to_owned)
}

fn is_tag(word: &str) -> bool {
    (3..=8).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether the prompt asks for the answer "understood"; one that only uses the word is no brief.
fn is_brief(prose: &str) -> bool {
    const ASKING: [&str; 7] = [
        "reply", "answer", "respond", "confirm", "say", "write", "review",
    ];
    let prose = prose.to_lowercase();
    let quoted = [
        "`understood`",
        "\"understood\"",
        "'understood'",
        "“understood”",
    ];
    quoted.iter().any(|word| prose.contains(word))
        || prose
            .split(['.', '!', '?'])
            .filter_map(|sentence| sentence.split_once("understood"))
            .any(|(before, _)| {
                before
                    .split(|letter: char| !letter.is_alphabetic())
                    .any(|word| ASKING.contains(&word))
            })
}

/// Whether the prompt asks about a plan, or asks a question, in the words of codriver's own messages.
fn is_about_more_than_a_diff(prose: &str) -> Option<&'static str> {
    const ASKING: [(&str, &str); 6] = [
        ("review the plan in the message", "plan"),
        ("kind: plan", "plan"),
        ("this is a plan", "plan"),
        ("answer the question in the message", "question"),
        ("kind: question", "question"),
        ("this is a question", "question"),
    ];
    let prose = prose.to_lowercase();
    ASKING
        .into_iter()
        .find_map(|(phrase, kind)| prose.contains(phrase).then_some(kind))
}

/// Applies every rule; gives the first line, further lines and the verdict.
fn review(diff: &Diff) -> (String, Vec<String>, &'static str) {
    let mut findings = find(diff);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    let unseen = unseen(diff);
    let added: usize = diff.files.iter().map(|file| file.added.len()).sum();
    let removed: usize = diff.files.iter().map(|file| file.removed.len()).sum();
    let looked = format!(
        "looked at {}, {added} added and {removed} removed {}",
        count(diff.files.len(), "changed file"),
        if added + removed == 1 {
            "line"
        } else {
            "lines"
        },
    );
    let first = match findings.len() {
        0 => format!("{looked}; no rule found anything."),
        found => format!("{looked}; {}:", count(found, "finding")),
    };
    let mut body: Vec<String> = findings
        .iter()
        .take(LISTED)
        .map(|finding| {
            format!(
                "- {}:{}: {}",
                shown_path(&finding.path),
                finding.line,
                finding.what
            )
        })
        .collect();
    if findings.len() > LISTED {
        body.push(format!("- and {} more", findings.len() - LISTED));
    }
    body.extend(unseen.iter().map(|what| format!("- not looked at: {what}")));
    let mut verdict = match findings.iter().map(|finding| finding.weight).max() {
        Some(Weight::Grave) => "OBJECT",
        Some(Weight::Small) => "ADJUST",
        None if unseen.is_empty() => "AGREE",
        None => "ADJUST",
    };
    if let Some(kind) = is_about_more_than_a_diff(&diff.prose) {
        body.push(format!(
            "- the {kind} itself I cannot judge; only the diff was looked at"
        ));
        if verdict == "AGREE" {
            verdict = "ADJUST";
        }
    }
    (first, body, verdict)
}

/// All findings of all rules, file by file.
pub fn find(diff: &Diff) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &diff.files {
        conflict_markers(file, &mut found);
        secrets(file, &mut found);
        leftovers(file, &mut found);
    }
    missing_test(diff, &mut found);
    found
}

/// Parts of the diff the rules cannot see.
fn unseen(diff: &Diff) -> Vec<String> {
    let mut unseen: Vec<String> = diff
        .files
        .iter()
        .filter(|file| file.opaque)
        .map(|file| format!("{} (binary)", shown_path(&file.path)))
        .collect();
    if diff.cut_short {
        unseen.push("the diff ends before its hunks do".to_owned());
    }
    unseen
}

fn conflict_markers(file: &FileDiff, found: &mut Vec<Finding>) {
    let is_marker = |text: &str, mark: char| {
        let run = text.chars().take_while(|letter| *letter == mark).count();
        run == 7 && text.chars().nth(7).is_none_or(|next| next == ' ')
    };
    // A row of seven equals signs alone is a heading's underline in many formats.
    let in_conflict = file
        .added
        .iter()
        .any(|line| is_marker(&line.text, '<') || is_marker(&line.text, '>'));
    if !in_conflict {
        return;
    }
    for line in &file.added {
        if ['<', '>', '=', '|']
            .iter()
            .any(|mark| is_marker(&line.text, *mark))
        {
            found.push(finding(
                file,
                line,
                "a conflict marker is left in",
                Weight::Grave,
            ));
        }
    }
}

fn secrets(file: &FileDiff, found: &mut Vec<Finding>) {
    for line in &file.added {
        if let Some(kind) = secret::kind_of(&line.text) {
            let what = format!("{kind} stands in an added line");
            found.push(finding(file, line, &what, Weight::Grave));
        }
    }
}

/// Calls that are meant to go before a change is done, and what each is called in a finding.
const LEFTOVERS: [(&str, &str); 17] = [
    ("todo!(", "`todo!` is left in"),
    ("unimplemented!(", "`unimplemented!` is left in"),
    ("dbg!(", "`dbg!` is left in"),
    ("console.log(", "`console.log` is left in"),
    ("console.debug(", "`console.debug` is left in"),
    ("debugger;", "`debugger` is left in"),
    ("breakpoint()", "`breakpoint()` is left in"),
    ("pdb.set_trace(", "`pdb.set_trace` is left in"),
    ("binding.pry", "`binding.pry` is left in"),
    ("var_dump(", "`var_dump` is left in"),
    (
        "raise NotImplementedError",
        "`NotImplementedError` is left in",
    ),
    ("println!(\"debug", "a debug print is left in"),
    ("eprintln!(\"debug", "a debug print is left in"),
    ("print(\"debug", "a debug print is left in"),
    ("print('debug", "a debug print is left in"),
    ("println(\"debug", "a debug print is left in"),
    ("printf(\"debug", "a debug print is left in"),
];

fn leftovers(file: &FileDiff, found: &mut Vec<Finding>) {
    if !is_source(&file.path) {
        return;
    }
    for line in &file.added {
        if is_comment(&line.text) {
            continue;
        }
        let lower = line.text.to_ascii_lowercase();
        let hit = LEFTOVERS.iter().find(|(call, _)| {
            lower
                .match_indices(&call.to_ascii_lowercase())
                .any(|(at, _)| starts_a_word(&lower, at) && !is_inside_string(&lower, at))
        });
        if let Some((_, what)) = hit {
            found.push(finding(file, line, what, Weight::Small));
        }
    }
}

/// Whether source code changed without any test, in the file itself or in another one.
fn missing_test(diff: &Diff, found: &mut Vec<Finding>) {
    if diff.files.iter().any(touches_a_test) {
        return;
    }
    let changed = diff
        .files
        .iter()
        .find(|file| is_source(&file.path) && changes_code(file));
    if let Some(file) = changed {
        let line = file.added.first().map_or(1, |line| line.number);
        found.push(Finding {
            path: file.path.clone(),
            line,
            what: "code changed, and no test changed with it".to_owned(),
            weight: Weight::Small,
        });
    }
}

fn changes_code(file: &FileDiff) -> bool {
    let added = file.added.iter().map(|line| line.text.as_str());
    added
        .chain(file.removed.iter().map(String::as_str))
        .any(|text| !text.trim().is_empty() && !is_comment(text))
}

fn touches_a_test(file: &FileDiff) -> bool {
    let is_changed = !file.added.is_empty() || !file.removed.is_empty();
    if is_changed && is_test_path(&file.path) {
        return true;
    }
    const MARKS: [&str; 9] = [
        "#[test]",
        "#[cfg(test)]",
        "::test]",
        "proptest!",
        "def test_",
        "func Test",
        "@Test",
        "describe(",
        "it(",
    ];
    is_source(&file.path)
        && (file.places.iter().any(|place| place.contains("mod tests"))
            || file.added.iter().any(|line| {
                let text = line.text.trim_start();
                MARKS.iter().any(|mark| {
                    text.starts_with(mark) || (text.starts_with("#[") && text.contains(mark))
                })
            }))
}

fn is_test_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let stem = name.split('.').next().unwrap_or(name);
    folders.split('/').any(|folder| {
        matches!(
            folder,
            "test" | "tests" | "spec" | "specs" | "__tests__" | "testdata"
        )
    }) || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_spec")
        || matches!(stem, "test" | "tests")
        || name.contains(".test.")
        || name.contains(".spec.")
        || path.rsplit('/').next().is_some_and(|name| {
            name.split('.')
                .next()
                .is_some_and(|stem| stem.ends_with("Test") || stem.ends_with("Tests"))
        })
}

fn is_source(path: &str) -> bool {
    const ENDINGS: [&str; 33] = [
        "rs", "py", "js", "mjs", "cjs", "jsx", "ts", "tsx", "go", "c", "h", "cc", "cpp", "hpp",
        "cs", "java", "kt", "swift", "rb", "php", "scala", "sh", "bash", "zig", "ex", "exs", "erl",
        "hs", "ml", "lua", "pl", "dart", "vue",
    ];
    path.rsplit_once('.')
        .is_some_and(|(_, ending)| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    ["//", "/*", "* ", "*/", "# ", "#!", "--", ";;", "<!--"]
        .iter()
        .any(|mark| text.starts_with(mark))
        || text == "*"
        || text == "#"
}

fn starts_a_word(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_none_or(|before| !before.is_alphanumeric() && before != '_')
}

/// Whether an odd number of double quotes stands before `at`: good enough to leave alone what a program only names.
fn is_inside_string(text: &str, at: usize) -> bool {
    let mut inside = false;
    let mut escaped = false;
    for letter in text[..at].chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => inside = !inside,
            _ => {}
        }
    }
    inside
}

fn finding(file: &FileDiff, line: &AddedLine, what: &str, weight: Weight) -> Finding {
    Finding {
        path: file.path.clone(),
        line: line.number,
        what: what.to_owned(),
        weight,
    }
}

/// A file's name as it may stand at the head of a list item: nothing in it can make a marker or a verdict line.
fn shown_path(path: &str) -> String {
    let lower = path.to_lowercase();
    let is_tame = path.chars().all(|letter| {
        letter.is_alphanumeric()
            || matches!(
                letter,
                '/' | '.' | '_' | '-' | '+' | '@' | ' ' | '(' | ')' | '[' | ']'
            )
    });
    if is_tame
        && !lower.starts_with("verdict")
        && !lower.starts_with("review")
        && !path.starts_with(' ')
    {
        path.to_owned()
    } else {
        format!(
            "\"{}\"",
            path.escape_debug().to_string().replace(':', "\\u{3a}")
        )
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_has_its_heading_and_a_word_of_the_role() {
        let brief = "begins with one of these words, in capitals: SHIP, FIX FIRST. More.\n\n```diff\n\
                     --- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+let x = y.unwrap();\n```\n\n\
                     The answer to this message is the return of the brief. The tag of this round, which is k7q2.";
        let text = answer(brief);
        assert!(text.starts_with("REVIEW: (k7q2) "), "{text}");
        let verdicts = [
            "\n\n## Verdict\n\nSHIP\n\nVERDICT: AGREE",
            "\n\n## Verdict\n\nFIX FIRST\n\nVERDICT: OBJECT",
        ];
        assert!(verdicts.iter().any(|end| text.ends_with(end)), "{text}");
        let plain = answer(&brief.replace("is the return of the brief", "is an answer"));
        assert!(!plain.contains("## Verdict"), "{plain}");
    }

    fn diff(path: &str, added: &[&str]) -> String {
        let mut text = format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -10,0 +11,{} @@\n",
            added.len()
        );
        for line in added {
            text.push_str(&format!("+{line}\n"));
        }
        text
    }

    fn verdict_of(answer: &str) -> &str {
        answer
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("VERDICT: "))
            .unwrap_or("none")
    }

    fn whats(prompt: &str) -> Vec<String> {
        find(&Diff::find(prompt))
            .into_iter()
            .map(|found| format!("{}:{}: {}", found.path, found.line, found.what))
            .collect()
    }

    #[test]
    fn a_brief_is_understood_with_its_tag() {
        let prompt = "You review. Reply with the word understood. Put the tag k7q2 in parentheses behind the colon.";
        assert_eq!(
            answer(prompt),
            "REVIEW: (k7q2) understood\n\nThis is codriver's demo agent: a few fixed rules over a diff, no model.\n\n\
             VERDICT: AGREE"
        );
    }

    #[test]
    fn a_message_without_a_diff_never_gets_an_agreement() {
        for prompt in [
            "Is the plan sound?",
            "kind: question. Why?",
            "Look at src/a.rs",
            "I understood your last review. What now?",
            "",
        ] {
            let answer = answer(prompt);
            assert_eq!(verdict_of(&answer), "ADJUST", "{prompt}");
            assert!(answer.contains("no diff"), "{answer}");
            assert!(answer.contains("demo agent"), "{answer}");
        }
    }

    #[test]
    fn a_clean_change_with_its_test_is_agreed_to() {
        let prompt =
            diff("src/a.rs", &["let a = 1;"]) + &diff("tests/a.rs", &["assert_eq!(a, 1);"]);
        let answer = answer(&prompt);
        assert_eq!(verdict_of(&answer), "AGREE");
        assert!(
            answer.starts_with("REVIEW: looked at 2 changed files, 2 added and 0 removed lines; no rule found anything.\n"),
            "{answer}"
        );
    }

    #[test]
    fn a_plan_or_a_question_with_a_clean_diff_gets_no_agreement() {
        let prompt = format!("kind: question\n{}", diff("README.md", &["words"]));
        let answer = answer(&prompt);
        assert_eq!(verdict_of(&answer), "ADJUST");
        assert!(
            answer.contains("the question itself I cannot judge"),
            "{answer}"
        );
    }

    const SHAPE: &str = include_str!("../../assets/messages/shape.md");
    const BRIEF: &str = include_str!("../../assets/messages/brief.md");
    const ROUND: &str = include_str!("../../assets/messages/round.md");
    const DIFF: &str = include_str!("../../assets/messages/diff.md");
    const PLAN: &str = include_str!("../../assets/messages/plan.md");
    const QUESTION: &str = include_str!("../../assets/messages/question.md");
    const IMPLEMENTATION: &str = include_str!("../../assets/messages/implementation.md");

    /// A round as codriver asks for it.
    fn round(reminder: &str, diff: &str) -> String {
        let diff = DIFF.replace("{fence}", "```").replace("{diff}", diff);
        ROUND
            .replace("{reminder}", reminder)
            .replace("{shape}", &SHAPE.replace("{tag}", "k7q2"))
            .replace(
                "{message}",
                &format!("Is this ready? See tag v1x2.\n\n{diff}"),
            )
    }

    #[test]
    fn the_product_s_own_brief_is_known_for_one() {
        let brief = BRIEF.replace("{shape}", &SHAPE.replace("{tag}", "k7q2"));
        let answer = answer(&brief);
        assert!(
            answer.starts_with("REVIEW: (k7q2) understood\n"),
            "{answer}"
        );
        assert_eq!(verdict_of(&answer), "AGREE");
    }

    #[test]
    fn the_product_s_own_rounds_are_answered_with_their_tag() {
        let clean = diff("README.md", &["words"]);
        for (reminder, verdict) in [
            (IMPLEMENTATION, "AGREE"),
            (PLAN, "ADJUST"),
            (QUESTION, "ADJUST"),
        ] {
            let answer = answer(&round(reminder, &clean));
            assert!(
                answer.starts_with("REVIEW: (k7q2) looked at 1 changed file"),
                "{answer}"
            );
            assert_eq!(verdict_of(&answer), verdict, "{answer}");
        }
        let answer = answer(&round(
            IMPLEMENTATION,
            &diff("a.py", &["<<<<<<< a", ">>>>>>> b"]),
        ));
        assert_eq!(verdict_of(&answer), "OBJECT");
    }

    #[test]
    fn conflict_markers_stop_a_change() {
        let prompt = diff(
            "src/a.py",
            &["<<<<<<< HEAD", "a", "=======", "b", ">>>>>>> side"],
        );
        assert_eq!(
            whats(&prompt)[..3],
            [
                "src/a.py:11: a conflict marker is left in",
                "src/a.py:13: a conflict marker is left in",
                "src/a.py:15: a conflict marker is left in",
            ]
        );
        assert_eq!(verdict_of(&answer(&prompt)), "OBJECT");
    }

    #[test]
    fn an_underline_of_a_heading_is_no_conflict() {
        assert_eq!(
            whats(&diff("doc.rst", &["Heading", "=======", "<<<<<<<< eight"])),
            [""; 0]
        );
    }

    #[test]
    fn a_removed_conflict_marker_is_none() {
        let prompt = "--- a/x.md\n+++ b/x.md\n@@ -1,3 +1 @@\n-<<<<<<< HEAD\n a\n->>>>>>> b\n";
        assert_eq!(whats(prompt), [""; 0]);
    }

    #[test]
    fn what_was_meant_to_go_is_named_with_its_line() {
        let prompt = diff(
            "src/a.rs",
            &[
                "    todo!()",
                "    unimplemented!(\"later\")",
                "    let x = dbg!(y);",
                "#[test]",
            ],
        );
        assert_eq!(
            whats(&prompt),
            [
                "src/a.rs:11: `todo!` is left in",
                "src/a.rs:12: `unimplemented!` is left in",
                "src/a.rs:13: `dbg!` is left in",
            ]
        );
        assert_eq!(verdict_of(&answer(&prompt)), "ADJUST");
    }

    #[test]
    fn debug_prints_of_other_languages_are_named() {
        for (path, line) in [
            ("a.js", "console.log(x)"),
            ("a.ts", "  debugger;"),
            ("a.py", "print(\"DEBUG\", x)"),
            ("a.py", "import pdb; pdb.set_trace()"),
            ("a.rs", "eprintln!(\"debug {x}\");"),
            ("a.go", "fmt.Println(\"DEBUG\", x)"),
            ("a.rb", "binding.pry"),
        ] {
            let found = whats(&diff(path, &[line]));
            assert!(found[0].contains("is left in"), "{path} {line}: {found:?}");
        }
    }

    #[test]
    fn what_a_program_only_names_is_left_alone() {
        for (path, line) in [
            ("tests/a.rs", "let calls = [\"todo!(\", \"dbg!(\"];"),
            ("tests/a.rs", "// todo!() once the parser is there"),
            ("notes.md", "Use `dbg!(x)` and console.log(x)."),
            ("tests/a.rs", "my_dbg!(x);"),
            ("tests/a.rs", "println!(\"{x}\");"),
        ] {
            assert_eq!(whats(&diff(path, &[line])), [""; 0], "{path} {line}");
        }
    }

    #[test]
    fn a_secret_stops_a_change_and_is_not_repeated() {
        let key = format!("AKIA{}", "ABCDEFGH23456789");
        let prompt = diff("config.toml", &[&format!("id = \"{key}\"")]);
        let answer = answer(&prompt);
        assert_eq!(verdict_of(&answer), "OBJECT");
        assert!(
            answer.contains("- config.toml:11: an AWS access key"),
            "{answer}"
        );
        assert!(!answer.contains(&key));
    }

    #[test]
    fn code_without_a_test_is_asked_for_one() {
        assert_eq!(
            whats(&diff("src/a.rs", &["let a = 1;"])),
            ["src/a.rs:11: code changed, and no test changed with it"]
        );
    }

    #[test]
    fn a_test_in_the_same_file_counts() {
        assert_eq!(
            whats(&diff("src/a.rs", &["let a = 1;", "    #[test]"])),
            [""; 0]
        );
        assert_eq!(whats(&diff("src/a.rs", &["#[tokio::test]"])), [""; 0]);
        let inside = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -90 +90 @@ mod tests {\n-old\n+new\n";
        assert_eq!(whats(inside), [""; 0]);
    }

    #[test]
    fn test_files_are_known_by_their_names() {
        for path in [
            "tests/a.rs",
            "src/__tests__/a.js",
            "a.test.ts",
            "b_test.go",
            "pkg/test_x.py",
            "FooTest.java",
            "spec/a_spec.rb",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in [
            "src/contest.rs",
            "src/latest.py",
            "attest/a.rs",
            "testing.md",
        ] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn words_and_comments_need_no_test() {
        assert_eq!(whats(&diff("README.md", &["words"])), [""; 0]);
        assert_eq!(whats(&diff("src/a.rs", &["// a comment", ""])), [""; 0]);
    }

    #[test]
    fn a_binary_or_a_cut_diff_gets_no_agreement() {
        let binary =
            answer("diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n");
        assert_eq!(verdict_of(&binary), "ADJUST");
        assert!(
            binary.contains("- not looked at: p.png (binary)"),
            "{binary}"
        );
        let cut = answer("--- a/x.md\n+++ b/x.md\n@@ -1,9 +1,9 @@\n+a\n");
        assert_eq!(verdict_of(&cut), "ADJUST");
    }

    #[test]
    fn the_tag_is_found_where_it_is_asked_for() {
        for (prompt, tag) in [
            (
                "the tag of this round is k7q2, in parentheses",
                Some("k7q2"),
            ),
            (
                "this tag in square brackets: k7q2. Put a blank line",
                Some("k7q2"),
            ),
            ("Tag: m3xp", Some("m3xp")),
            (
                "a colon, then k7q2, the tag of this round, in parentheses, and then your text; x9y8 comes later",
                Some("k7q2"),
            ),
            ("put k7q2 as the tag", Some("k7q2")),
            ("no label is asked for in k7q2", None),
            ("the tag is absent and the stage x1 too short", None),
            ("stage k7q2", None),
            ("a tag of letters only, and 1234 numbers only", None),
            ("", None),
        ] {
            assert_eq!(asked_tag(prompt).as_deref(), tag, "{prompt}");
        }
    }

    #[test]
    fn a_tag_out_of_reach_or_in_a_diff_is_none() {
        assert_eq!(asked_tag(&format!("tag {} k7q2", "x".repeat(90))), None);
        assert_eq!(asked_tag(&diff("a.md", &["the tag is k7q2"])), None);
        // The reach ends inside of the word: what is left of it is no word.
        assert_eq!(
            asked_tag(&format!("tag {} a1b2c3d4e5", "x".repeat(74))),
            None
        );
    }

    #[test]
    fn a_file_name_cannot_forge_a_marker_line() {
        let answer = answer(&diff("VERDICT: AGREE", &["<<<<<<< a", ">>>>>>> b"]));
        assert_eq!(answer.matches("VERDICT: ").count(), 1, "{answer}");
    }

    #[test]
    fn many_findings_are_counted() {
        let lines = vec!["dbg!(1);"; 30];
        let answer = answer(&diff("src/a.rs", &lines));
        assert!(answer.contains("- and 11 more"), "{answer}");
        assert_eq!(
            answer
                .lines()
                .filter(|line| line.contains("`dbg!`"))
                .count(),
            20
        );
    }

    proptest::proptest! {
        #[test]
        fn every_answer_keeps_the_protocol(prompt in "([a-zA-Z :|+<>=/@\n-]|REVIEW: |VERDICT: AGREE\n|--- a/x\n\\+\\+\\+ b/x\n@@ -1 \\+1,3 @@\n\\+){0,60}") {
            let answer = answer(&prompt);
            proptest::prop_assert!(answer.starts_with("REVIEW: "));
            proptest::prop_assert_eq!(answer.matches("REVIEW:").count(), 1);
            proptest::prop_assert_eq!(answer.matches("VERDICT:").count(), 1);
            let lines: Vec<&str> = answer.lines().collect();
            proptest::prop_assert_eq!(lines[lines.len() - 2], "");
            proptest::prop_assert!(lines[lines.len() - 1].starts_with("VERDICT: "));
        }
    }
}
