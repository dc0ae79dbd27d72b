//! The demo agent as a machine: every style drives a terminal of the emulator crate, time is the test's own.

use std::num::NonZeroU16;
use std::time::Duration;

use codriver::demo::Kind;
use codriver::demo::agent::{Agent, Effect, Output, Record, Setup};
use codriver::demo::script::Script;
use codriver::screen::Size;

const KINDS: [Kind; 4] = [Kind::Claude, Kind::Codex, Kind::OpenCode, Kind::Plain];
const BRIEF: &str = "You are the reviewing half of a pair.\n\n- Read only.\n- Name files.\n\nAnswer with a review that says \
                     understood; behind the colon put the tag k7q2 in parentheses.\nThen the last line.";
const ROUND: &str = "Round 1; the tag of this round is m3xp, as before.\n\ndiff --git a/src/store.rs b/src/store.rs\n\
                     --- a/src/store.rs\n+++ b/src/store.rs\n@@ -10,3 +10,4 @@ impl Store {\n     pub fn get(&self) {\n\
                     -        self.map.get(key)\n+        dbg!(key);\n+        self.map.get(key.trim())\n     }\n\n\
                     Thank you.";

/// The agent, a terminal and a clock.
struct Stage {
    agent: Agent,
    terminal: vt100::Parser,
    now: Duration,
    raw: Vec<u8>,
    effects: Vec<Effect>,
}

impl Stage {
    fn open(kind: Kind, cols: u16, rows: u16, faults: &str, script: &str) -> Self {
        let setup = Setup {
            kind,
            script: Script::parse(script).expect("the test's script is one"),
            faults: faults.parse().expect("the test's faults are known"),
            folder: "/srv/repo".to_owned(),
            session: "demo-1".to_owned(),
        };
        let (agent, output) = Agent::open(setup, Size::new(cols, rows));
        let mut stage = Self {
            agent,
            terminal: vt100::Parser::new(some(rows), some(cols), 20_000),
            now: Duration::ZERO,
            raw: Vec::new(),
            effects: Vec::new(),
        };
        stage.take(output);
        stage
    }

    /// A stage whose agent is ready for a prompt.
    fn ready(kind: Kind, cols: u16, rows: u16) -> Self {
        let mut stage = Self::open(kind, cols, rows, "", "[]");
        stage.run(500);
        stage
    }

    fn take(&mut self, output: Output) {
        self.terminal.process(&output.bytes);
        self.raw.extend_from_slice(&output.bytes);
        self.effects.extend(output.effects);
    }

    /// Lets so many milliseconds pass.
    fn run(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while let Some(due) = self.agent.next_deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            let output = self.agent.wake(self.now);
            self.take(output);
        }
        self.now = end;
    }

    /// Lets time pass until nothing is going on any more.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            let Some(due) = self.agent.next_deadline() else {
                return;
            };
            self.now = self.now.max(due);
            let output = self.agent.wake(self.now);
            self.take(output);
        }
        panic!("the agent never came to rest:\n{}", self.text());
    }

    fn input(&mut self, bytes: &[u8]) {
        let output = self.agent.handle_input(bytes, self.now);
        self.take(output);
    }

    fn paste(&mut self, text: &str) {
        self.input(format!("\x1b[200~{text}\x1b[201~").as_bytes());
        self.run(300);
    }

    fn ask(&mut self, text: &str) {
        self.paste(text);
        self.input(b"\r");
        self.settle();
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        self.terminal.set_size(some(rows), some(cols));
        let output = self.agent.handle_resize(Size::new(cols, rows), self.now);
        self.take(output);
    }

    /// Scrollback and screen, one line a row.
    fn text(&mut self) -> String {
        let screen = self.terminal.screen_mut();
        let (rows, cols) = screen.size();
        let (rows, cols) = (rows.get(), cols.get());
        screen.set_scrollback(usize::MAX);
        let back = screen.scrollback();
        let mut lines = Vec::new();
        for at in (1..=back).rev() {
            screen.set_scrollback(at);
            lines.extend(screen.rows(0, cols).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, cols).take(usize::from(rows)));
        lines
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    fn screen(&mut self) -> String {
        let screen = self.terminal.screen_mut();
        screen.set_scrollback(0);
        let cols = screen.size().1.get();
        screen
            .rows(0, cols)
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    fn records(&self) -> Vec<Record> {
        self.effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Record(record) => Some(record.clone()),
                _ => None,
            })
            .collect()
    }

    fn raw_text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

fn some(side: u16) -> NonZeroU16 {
    NonZeroU16::new(side).expect("a test's window has no side of length nought")
}

/// Everything a person sees of a session, moment by moment.
fn session(kind: Kind, cols: u16, rows: u16) -> String {
    let mut stage = Stage::ready(kind, cols, rows);
    let mut out = String::new();
    let mut note = |name: &str, text: String| out.push_str(&format!("── {name}\n{text}"));
    note("ready", stage.screen());
    stage.paste(BRIEF);
    note("pasted", stage.screen());
    stage.input(b"\r");
    stage.run(250);
    note("busy", stage.screen());
    stage.settle();
    note("understood", stage.screen());
    stage.ask(ROUND);
    note("all", stage.text());
    out
}

#[test]
fn claude_at_80_columns() {
    insta::assert_snapshot!(session(Kind::Claude, 80, 24));
}

#[test]
fn claude_at_120_columns() {
    insta::assert_snapshot!(session(Kind::Claude, 120, 40));
}

#[test]
fn codex_at_80_columns() {
    insta::assert_snapshot!(session(Kind::Codex, 80, 24));
}

#[test]
fn codex_at_120_columns() {
    insta::assert_snapshot!(session(Kind::Codex, 120, 40));
}

#[test]
fn opencode_at_80_columns() {
    insta::assert_snapshot!(session(Kind::OpenCode, 80, 24));
}

#[test]
fn opencode_at_120_columns() {
    insta::assert_snapshot!(session(Kind::OpenCode, 120, 40));
}

#[test]
fn plain_at_80_columns() {
    insta::assert_snapshot!(session(Kind::Plain, 80, 24));
}

#[test]
fn plain_at_120_columns() {
    insta::assert_snapshot!(session(Kind::Plain, 120, 40));
}

/// A reply that no window of the tests holds.
fn long_reply(items: usize) -> String {
    let mut text = String::from("REVIEW: ({tag}) many things.\n\n");
    for number in 1..=items {
        text.push_str(&format!(
            "{number}. src/file{number}.rs:{number} - finding{number}x is one that goes on for long enough to be wrapped \
             in most of the windows there are.\n"
        ));
    }
    text + "\nVERDICT: OBJECT"
}

fn script(text: &str) -> String {
    serde_json::json!([{ "text": text }]).to_string()
}

/// How often each finding stands in a text.
fn findings(text: &str, items: usize) -> Vec<usize> {
    (1..=items)
        .map(|number| text.matches(&format!("finding{number}x")).count())
        .collect()
}

#[test]
fn a_reply_longer_than_the_window_is_whole_in_the_history() {
    for kind in [Kind::Claude, Kind::Codex, Kind::Plain] {
        for (cols, rows) in [(60, 20), (120, 40)] {
            let mut stage = Stage::open(kind, cols, rows, "", &script(&long_reply(40)));
            stage.run(500);
            stage.ask("the tag is k7q2; go");
            let text = stage.text();
            assert_eq!(
                findings(&text, 40),
                vec![1; 40],
                "{kind:?} {cols}x{rows}:\n{text}"
            );
            assert!(
                text.contains("REVIEW: (k7q2) many things."),
                "{kind:?}:\n{text}"
            );
        }
    }
}

#[test]
fn a_taller_window_shows_the_whole_transcript_of_opencode() {
    let mut stage = Stage::open(Kind::OpenCode, 80, 24, "", &script(&long_reply(40)));
    stage.run(500);
    stage.ask("the tag is k7q2; go");
    assert!(!stage.text().contains("REVIEW:"));
    let before = stage.screen();
    stage.resize(80, 300);
    let tall = stage.screen();
    assert_eq!(findings(&tall, 40), vec![1; 40], "{tall}");
    assert!(
        tall.contains("     REVIEW: (k7q2) many things.")
            && tall.contains("  ┃  the tag is k7q2; go"),
        "{tall}"
    );
    stage.resize(80, 24);
    assert_eq!(stage.screen(), before);
}

#[test]
fn a_resize_while_text_comes_keeps_the_reply() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 120, 40, "", &script(&long_reply(30)));
        stage.run(500);
        stage.paste("the tag is k7q2; go");
        stage.input(b"\r");
        stage.run(900);
        stage.resize(90, 30);
        stage.run(300);
        stage.resize(100, 35);
        stage.settle();
        if kind == Kind::OpenCode {
            stage.resize(100, 300);
        }
        let text = stage.text();
        let counts = findings(&text, 30);
        assert!(
            counts.iter().all(|count| *count > 0),
            "{kind:?} {counts:?}:\n{text}"
        );
        if kind == Kind::Codex {
            // Everything is wiped and written again: there is one copy.
            assert_eq!(counts, vec![1; 30], "{text}");
        }
        assert!(text.contains("VERDICT: OBJECT"), "{kind:?}:\n{text}");
    }
}

#[test]
fn the_pace_of_a_reply_does_not_show_in_the_end() {
    let text = "REVIEW: ({tag}) one\n\n# Head\n\n- a\n- b\n  - c\n\n```\ncode\n```\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n\
                > quoted\n\nVERDICT: ADJUST";
    for kind in KINDS {
        let end = |chunk: usize, delay: u64| {
            let script = serde_json::json!([{ "text": text, "chunk": chunk, "delay_ms": delay, "think_ms": 100 }]);
            let mut stage = Stage::open(kind, 80, 24, "", &script.to_string());
            stage.run(500);
            stage.ask("the tag is k7q2; go");
            // The time a turn took is shown, and does differ; so does how far codex moved down its area.
            stage
                .text()
                .trim_end()
                .lines()
                .filter(|line| !line.contains(" for ") && !line.contains('▣'))
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        assert_eq!(end(1, 3), end(1000, 1), "{kind:?}");
        assert_eq!(end(7, 50), end(1000, 1), "{kind:?}");
    }
}

#[test]
fn nothing_needs_an_answer_of_the_terminal_and_nothing_runs_at_rest() {
    for kind in KINDS {
        let mut stage = Stage::ready(kind, 80, 24);
        assert_eq!(stage.agent.next_deadline(), None, "{kind:?}");
        stage.ask(BRIEF);
        assert_eq!(stage.agent.next_deadline(), None, "{kind:?}");
        assert!(
            stage.text().contains("REVIEW: (k7q2) understood"),
            "{kind:?}"
        );
    }
}

#[test]
fn frames_are_synchronized_once_the_terminal_says_it_can() {
    let mut stage = Stage::ready(Kind::Claude, 80, 24);
    assert!(!stage.raw_text().contains("\x1b[?2026h"));
    stage.input(b"\x1b[?2026;2$y");
    stage.ask(BRIEF);
    let raw = stage.raw_text();
    assert!(raw.contains("\x1b[?2026h"));
    assert_eq!(
        raw.matches("\x1b[?2026h").count(),
        raw.matches("\x1b[?2026l").count()
    );
}

#[test]
fn claude_jumps_over_blanks_and_tells_its_state_by_the_title() {
    let mut stage = Stage::ready(Kind::Claude, 80, 24);
    stage.ask(BRIEF);
    let raw = stage.raw_text();
    assert!(
        raw.contains("\x1b[3GReading…\x1b[38;5;246m\x1b[12G(0s"),
        "{raw:?}"
    );
    let titles: Vec<&str> = raw
        .split("\x1b]0;")
        .skip(1)
        .filter_map(|rest| rest.chars().next().map(|sign| &rest[..sign.len_utf8()]))
        .collect();
    assert_eq!(titles.first(), Some(&"✳"));
    assert!(titles.contains(&"⠂"), "{titles:?}");
    assert_eq!(titles.last(), Some(&"✳"));
    assert!(!raw.contains("\x1b[2J") && !raw.contains("\x1b[3J") && !raw.contains("\x1b[?1049h"));
}

/// The states codex told, in order.
fn states(raw: &str) -> Vec<&str> {
    raw.split("\x1b]7501;state=")
        .skip(1)
        .filter_map(|rest| rest.split([':', '\x1b']).next())
        .collect()
}

#[test]
fn codex_tells_its_state_and_inserts_through_a_scroll_region() {
    let mut stage = Stage::ready(Kind::Codex, 80, 24);
    stage.ask(BRIEF);
    assert_eq!(states(&stage.raw_text()), ["idle", "working", "done"]);
    stage.input(b"x");
    stage.input(b"\x03");
    stage.input(b"\x03");
    assert_eq!(
        states(&stage.raw_text()),
        ["idle", "working", "done", "idle", "clear"]
    );
    assert!(stage.raw_text().contains("\x1bM") && stage.raw_text().contains("\x1b[1;"));
}

#[test]
fn codex_now_and_then_wipes_everything_and_writes_it_again() {
    let mut stage = Stage::ready(Kind::Codex, 80, 24);
    for round in 0..4 {
        stage.ask(&format!("round{round}w, without a diff"));
    }
    assert_eq!(stage.raw_text().matches("\x1b[2J\x1b[3J").count(), 1);
    let text = stage.text();
    for round in 0..4 {
        assert_eq!(text.matches(&format!("round{round}w")).count(), 1, "{text}");
    }
    assert_eq!(text.matches("VERDICT: ADJUST").count(), 4, "{text}");
}

#[test]
fn opencode_switches_its_modes_on_and_off_again() {
    let mut stage = Stage::ready(Kind::OpenCode, 80, 24);
    assert!(stage.terminal.screen().alternate_screen());
    for mode in [
        "1000h", "1002h", "1003h", "1006h", "1004h", "2004h", "2031h",
    ] {
        assert!(
            stage.raw_text().contains(&format!("\x1b[?{mode}")),
            "{mode}"
        );
    }
    assert!(stage.raw_text().contains("\x1b[>5u"));
    stage.input(b"/exit\r");
    assert!(!stage.terminal.screen().alternate_screen());
    for mode in [
        "1000l", "1002l", "1003l", "1006l", "1004l", "2004l", "2031l",
    ] {
        assert!(
            stage.raw_text().contains(&format!("\x1b[?{mode}")),
            "{mode}"
        );
    }
    assert_eq!(stage.effects, [Effect::Exit(0)]);
}

#[test]
fn every_style_leaves_the_terminal_as_it_was() {
    for kind in KINDS {
        for leave in [&b"\x03"[..], b"\x04", b"/exit\r", b"/quit\r"] {
            let mut stage = Stage::ready(kind, 80, 24);
            stage.input(leave);
            assert_eq!(stage.effects, [Effect::Exit(0)], "{kind:?} {leave:?}");
            let screen = stage.terminal.screen();
            assert!(
                !screen.bracketed_paste() && !screen.hide_cursor(),
                "{kind:?}"
            );
            assert!(!screen.alternate_screen(), "{kind:?}");
            assert_eq!(stage.agent.next_deadline(), None);
            stage.input(b"more\r");
            assert_eq!(stage.effects.len(), 1, "nothing happens after the end");
        }
    }
}

#[test]
fn a_reset_begins_a_new_session() {
    for kind in KINDS {
        let mut stage = Stage::ready(kind, 80, 24);
        stage.ask(BRIEF);
        stage.input(b"/clear");
        stage.run(300);
        stage.input(b"\r");
        assert!(
            kind == Kind::Plain || !stage.screen().contains("VERDICT"),
            "{kind:?}:\n{}",
            stage.screen()
        );
        stage.ask(ROUND);
        let sessions: Vec<String> = stage
            .records()
            .into_iter()
            .map(|record| record.session)
            .collect();
        assert_eq!(sessions, ["demo-1-1", "demo-1-2"], "{kind:?}");
    }
}

#[test]
fn claude_lists_its_commands_below_the_box() {
    let mut stage = Stage::ready(Kind::Claude, 80, 24);
    stage.input(b"/c");
    let screen = stage.screen();
    assert!(
        screen.contains("\n/clear                        Start a new session"),
        "{screen}"
    );
    assert!(!screen.contains("? for shortcuts"), "{screen}");
    stage.input(b"\x7f\x7f");
    let screen = stage.screen();
    assert!(
        screen.contains("? for shortcuts") && !screen.contains("/clear"),
        "{screen}"
    );
}

#[test]
fn the_channel_keeps_the_exact_texts() {
    let mut stage = Stage::open(
        Kind::Claude,
        80,
        24,
        "",
        &script("REVIEW: ({tag}) **bold**\n\nVERDICT: AGREE"),
    );
    stage.run(500);
    stage.ask("the tag is k7q2;\n\tgo");
    assert_eq!(
        stage.records(),
        [Record {
            session: "demo-1-1".to_owned(),
            prompt: "the tag is k7q2;\n\tgo".to_owned(),
            reply: "REVIEW: (k7q2) **bold**\n\nVERDICT: AGREE".to_owned(),
            failed: false,
        }]
    );
}

#[test]
fn a_prompt_sent_while_busy_waits_its_turn() {
    for kind in KINDS {
        let mut stage = Stage::ready(kind, 80, 40);
        stage.paste("first");
        stage.input(b"\r");
        stage.run(100);
        stage.paste("second");
        stage.input(b"\r");
        stage.settle();
        let prompts: Vec<String> = stage
            .records()
            .into_iter()
            .map(|record| record.prompt)
            .collect();
        assert_eq!(prompts, ["first", "second"], "{kind:?}");
    }
}

#[test]
fn escape_interrupts_a_turn() {
    for kind in KINDS {
        let mut stage = Stage::ready(kind, 80, 24);
        stage.paste("first");
        stage.input(b"\r");
        stage.run(100);
        stage.input(b"\x1b");
        stage.settle();
        assert_eq!(stage.records(), [], "{kind:?}");
        assert!(
            stage.text().to_lowercase().contains("interrupted"),
            "{kind:?}:\n{}",
            stage.text()
        );
        stage.ask("second");
        assert_eq!(stage.records().len(), 1, "{kind:?}");
    }
}

#[test]
fn tools_stand_above_the_reply() {
    let json = serde_json::json!([{
        "text": "REVIEW: ({tag}) fine\n\nVERDICT: AGREE",
        "tools": ["Read src/a.rs", "$ ls src\na.rs\nb.rs"],
    }])
    .to_string();
    for (kind, shown) in [
        (
            Kind::Claude,
            [
                "  Read src/a.rs (ctrl+o to expand)",
                "● Bash(ls src)",
                "  ⎿  a.rs",
            ],
        ),
        (
            Kind::Codex,
            ["  └ Read src/a.rs", "• Ran ls src", "  └ a.rs"],
        ),
        (
            Kind::OpenCode,
            ["     → Read src/a.rs", "  ┃  $ ls src", "  ┃  a.rs"],
        ),
        (Kind::Plain, ["[Read src/a.rs]", "[$ ls src]", "[a.rs]"]),
    ] {
        let mut stage = Stage::open(kind, 80, 40, "", &json);
        stage.run(500);
        stage.ask("the tag is k7q2; go");
        let text = stage.text();
        for line in shown {
            assert!(
                text.lines().any(|row| row == line),
                "{kind:?} {line:?}:\n{text}"
            );
        }
    }
}

/// A round with faults; the brief comes first.
fn faulty(kind: Kind, faults: &str) -> Stage {
    let mut stage = Stage::open(kind, 100, 50, faults, "[]");
    stage.run(500);
    stage.ask(BRIEF);
    stage.ask(ROUND);
    stage
}

#[test]
fn no_verdict_and_stale_leave_the_verdict_out() {
    for kind in KINDS {
        assert_eq!(
            faulty(kind, "no-verdict")
                .text()
                .matches("VERDICT:")
                .count(),
            0,
            "{kind:?}"
        );
        let text = faulty(kind, "stale").text();
        assert_eq!(text.matches("VERDICT: AGREE").count(), 1, "{kind:?}");
        assert_eq!(text.matches("VERDICT:").count(), 1, "{kind:?}");
    }
}

#[test]
fn forget_tag_leaves_the_tag_out() {
    for kind in KINDS {
        let text = faulty(kind, "forget-tag").text();
        assert!(
            text.contains("REVIEW: understood") && text.contains("REVIEW: looked at"),
            "{kind:?}:\n{text}"
        );
    }
}

#[test]
fn quote_shows_markers_that_are_not_meant() {
    for kind in KINDS {
        let text = faulty(kind, "quote").text();
        assert!(text.contains("REVIEW: all fine"), "{kind:?}:\n{text}");
        let last = text
            .lines()
            .rfind(|line| line.contains("VERDICT:"))
            .unwrap_or_default();
        assert!(last.ends_with("VERDICT: ADJUST"), "{kind:?} {last:?}");
    }
}

#[test]
fn retry_stump_leaves_the_first_try_above_the_answer() {
    for kind in KINDS {
        let text = faulty(kind, "retry-stump").text();
        assert_eq!(
            text.matches("REVIEW: (m3xp) looked").count(),
            2,
            "{kind:?}:\n{text}"
        );
        assert_eq!(
            text.matches("VERDICT: ADJUST").count(),
            1,
            "{kind:?}:\n{text}"
        );
    }
}

#[test]
fn no_echo_never_shows_what_was_sent() {
    for kind in KINDS {
        let mut stage = faulty(kind, "no-echo");
        let text = stage.text();
        assert!(
            !text.contains("reviewing half") && !text.contains("Pasted"),
            "{kind:?}:\n{text}"
        );
        assert!(text.contains("VERDICT: ADJUST"), "{kind:?}:\n{text}");
    }
}

#[test]
fn swallow_enter_leaves_the_text_in_the_box_until_the_second_enter() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 80, 24, "swallow-enter", "[]");
        stage.run(500);
        stage.paste("one line");
        stage.input(b"\r");
        stage.settle();
        assert_eq!(stage.records(), [], "{kind:?}");
        assert!(stage.screen().contains("one line"), "{kind:?}");
        stage.input(b"\r");
        stage.settle();
        assert_eq!(stage.records().len(), 1, "{kind:?}");
        stage.ask("two");
        assert_eq!(
            stage.records().len(),
            1,
            "{kind:?}: the second paste swallows one as well"
        );
    }
}

#[test]
fn late_tail_draws_the_end_of_a_reply_after_its_footer() {
    let mut stage = Stage::open(Kind::OpenCode, 100, 50, "late-tail", "[]");
    stage.run(500);
    stage.paste(ROUND);
    stage.input(b"\r");
    stage.run(1800);
    let early = stage.text();
    assert!(early.contains("▣  Build · Demo · "), "{early}");
    assert!(!early.contains("VERDICT: ADJUST"), "{early}");
    stage.run(1500);
    assert!(stage.text().contains("VERDICT: ADJUST"), "{}", stage.text());
}

#[test]
fn fail_turn_shows_an_error_in_place_of_a_reply() {
    for kind in KINDS {
        let mut stage = faulty(kind, "fail-turn");
        assert!(stage.text().contains("API Error: 529"), "{kind:?}");
        assert!(
            stage
                .records()
                .iter()
                .all(|record| record.failed && record.reply.is_empty())
        );
        if kind == Kind::Codex {
            assert_eq!(
                states(&stage.raw_text()),
                ["idle", "working", "error", "idle", "working", "error"]
            );
        }
    }
}

#[test]
fn die_ends_in_the_middle_of_a_reply() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 80, 24, "die", "[]");
        stage.run(500);
        stage.ask(BRIEF);
        assert_eq!(stage.effects, [Effect::Exit(3)], "{kind:?}");
        assert!(
            stage.text().contains("understood") && !stage.text().contains("VERDICT: AGREE"),
            "{kind:?}"
        );
    }
}

#[test]
fn hang_stays_busy() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 80, 24, "hang", "[]");
        stage.run(500);
        stage.paste(BRIEF);
        stage.input(b"\r");
        stage.run(60_000);
        assert!(
            stage.text().contains("interrupt"),
            "{kind:?}:\n{}",
            stage.text()
        );
        assert_eq!(stage.records(), []);
    }
}

#[test]
fn exit_at_once_says_why() {
    let mut stage = Stage::open(Kind::Claude, 80, 24, "exit-at-once", "[]");
    assert_eq!(stage.effects, [Effect::Exit(1)]);
    assert_eq!(stage.text().trim(), "error: not logged in");
}

#[test]
fn a_dialog_writes_down_what_is_typed_into_it() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 80, 24, "dialog", "[]");
        stage.run(500);
        let text = stage.screen();
        assert!(
            text.contains("Do you trust the files in this folder?"),
            "{kind:?}:\n{text}"
        );
        assert!(
            text.contains("1. Yes, I trust this folder") && text.contains("2. No, exit"),
            "{kind:?}"
        );
        assert_eq!(states(&stage.raw_text()), [""; 0]);
        assert_eq!(stage.effects, []);
        stage.input(b"\x1b[200~hello\x1b[201~");
        assert_eq!(
            stage.effects,
            [Effect::Log("\\u{1b}[200~hello\\u{1b}[201~".to_owned())],
            "{kind:?}"
        );
        stage.input(b"\r");
        stage.ask(BRIEF);
        assert_eq!(
            stage.records().len(),
            1,
            "{kind:?}: an Enter accepts, as in the real ones"
        );
    }
}

#[test]
fn answers_of_the_terminal_are_not_typed_at_a_dialog_however_they_are_split() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 80, 24, "dialog", "[]");
        stage.run(500);
        for read in [
            &b"\x1b[?62"[..],
            b";22c\x1b]11;rgb:1010/",
            b"1010/1010\x1b",
            b"\\\x1b[?2026;",
            b"2$y",
        ] {
            stage.input(read);
        }
        assert_eq!(stage.effects, [], "{kind:?}");
    }
}

#[test]
fn spawn_leaves_a_process_once() {
    let spawned = faulty(Kind::Claude, "spawn")
        .effects
        .iter()
        .filter(|effect| **effect == Effect::Spawn)
        .count();
    assert_eq!(spawned, 1);
}

#[test]
fn not_idle_never_shows_a_prompt() {
    for kind in KINDS {
        let mut stage = Stage::open(kind, 80, 24, "not-idle", "[]");
        stage.run(5000);
        let text = stage.screen();
        for prompt in ["\n❯", "\n›", "\n>", "Ask anything"] {
            assert!(!text.contains(prompt), "{kind:?} {prompt:?}:\n{text}");
        }
        assert!(text.contains("interrupt"), "{kind:?}:\n{text}");
        assert!(!states(&stage.raw_text()).contains(&"idle"), "{kind:?}");
    }
}

#[test]
fn slow_takes_seconds() {
    let mut stage = Stage::open(Kind::Claude, 80, 24, "slow", "[]");
    stage.run(500);
    stage.paste(BRIEF);
    stage.input(b"\r");
    stage.run(2900);
    assert!(!stage.text().contains("REVIEW:"));
    stage.settle();
    assert!(stage.text().contains("VERDICT: AGREE"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    #[test]
    fn any_window_and_any_input_are_drawn_without_a_panic(
        kind in proptest::sample::select(&KINDS),
        cols in 2u16..140,
        rows in 1u16..50,
        inputs in proptest::collection::vec(
            proptest::prop_oneof![
                proptest::strategy::Just(b"\x1b[200~a paste\nof several\nlines of text\nand more\x1b[201~".to_vec()),
                proptest::strategy::Just(b"\r".to_vec()),
                proptest::strategy::Just(b"\x1b".to_vec()),
                proptest::strategy::Just(b"\x7f\x7f".to_vec()),
                proptest::strategy::Just("é漢 words ".as_bytes().to_vec()),
                proptest::strategy::Just(b"/clear\r".to_vec()),
                proptest::collection::vec(proptest::prelude::any::<u8>(), 0..8),
            ],
            0..8
        ),
        sizes in proptest::collection::vec((1u16..140, 1u16..50), 0..3)
    ) {
        let mut stage = Stage::open(kind, cols, rows, "", "[]");
        stage.terminal = vt100::Parser::new(some(60), some(200), 0);
        for (index, input) in inputs.iter().enumerate() {
            stage.input(input);
            stage.run(150);
            if let Some((cols, rows)) = sizes.get(index) {
                let output = stage.agent.handle_resize(Size::new(*cols, *rows), stage.now);
                stage.take(output);
            }
        }
        stage.run(3000);
    }
}
