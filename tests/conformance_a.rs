//! The conformance cases of pairing that concern reading a reply and telling rest from work (conformance.md A, 1 to 29),
//! and the byte inputs of the field notes that concern them. A case's number stands in front of it.

use codriver::config::bundled_profile;
use codriver::pairing::{Activity, Asked, Reading, Signs, judge, normalised, read};
use codriver::recording::word::{Reason, Verdict};
use codriver::screen::{Line, Screen, Size};
use std::time::Duration;

/// Wide enough that no line of these cases can be a wrapped one.
const WIDE: u16 = 1000;

/// Lines as a terminal of `cols` columns holds them.
fn lines(text: &str, cols: u16) -> Vec<Line> {
    text.split('\n')
        .map(|text| Line {
            text: text.trim_end().to_owned(),
            runs: Vec::new(),
            rows: 1,
            cols,
        })
        .collect()
}

fn reading(harness: &str, text: &str, asked: &Asked<'_>) -> Reading {
    read(&lines(text, WIDE), &bundled_profile(harness).screen, asked)
}

/// A screen of nothing but a reply.
fn plain(text: &str) -> Reading {
    reading("unknown", text, &Asked::default())
}

/// Verdict and rationale.
fn told(reading: &Reading) -> (Verdict, &str) {
    (reading.verdict, &reading.rationale)
}

#[test]
fn a1_a_verdict_line_ends_a_reply_without_a_marker() {
    let reading = plain("Looks fine.\n\nVERDICT: AGREE");
    assert_eq!(told(&reading), (Verdict::Agree, "Looks fine."));
}

#[test]
fn a2_a_bullet_before_the_verdict_is_no_part_of_it() {
    let reading = plain("The lock is never let go.\nOn line 4.\n\n• VERDICT: ADJUST");
    assert_eq!(
        told(&reading),
        (Verdict::Adjust, "The lock is never let go.\nOn line 4.")
    );
}

#[test]
fn a3_text_behind_an_objection_is_kept() {
    let reading = plain("⏺ VERDICT: OBJECT\nSince the test is gone.");
    assert_eq!(told(&reading), (Verdict::Object, "Since the test is gone."));
}

#[test]
fn a4_a5_a18_emphasis_case_and_a_full_stop_change_no_verdict() {
    for (line, verdict) in [
        ("**VERDICT:** ESCALATE", Verdict::Escalate),
        ("verdict: agree", Verdict::Agree),
        ("VERDICT: AGREE.", Verdict::Agree),
    ] {
        assert_eq!(
            told(&plain(&format!("Said.\n\n{line}"))),
            (verdict, "Said."),
            "{line}"
        );
    }
}

#[test]
fn a6_without_a_verdict_the_whole_reply_is_kept() {
    let reading = plain("First.\n\nSecond.");
    assert_eq!(told(&reading), (Verdict::Unparsed, "First.\n\nSecond."));
    assert_eq!(reading.raw, "First.\n\nSecond.");
    assert_eq!(reading.reason, Some(Reason::NoMarker));
}

#[test]
fn a7_noise_before_the_marker_is_left_out() {
    let reading = plain("some noise\nREVIEW: A\nB\nVERDICT: OBJECT");
    assert_eq!(told(&reading), (Verdict::Object, "A\nB"));
}

#[test]
fn a8_what_looks_like_activity_within_a_review_is_kept() {
    let reading = plain("REVIEW: A\n└ recurses\n• Ran fine\nVERDICT: OBJECT");
    assert_eq!(
        told(&reading),
        (Verdict::Object, "A\n└ recurses\n• Ran fine")
    );
}

#[test]
fn a9_a_brief_is_understood() {
    let reading = plain("REVIEW: understood\nVERDICT: AGREE");
    assert_eq!(told(&reading), (Verdict::Agree, "understood"));
}

#[test]
fn a10_without_a_marker_activity_and_what_stands_above_a_separator_are_left_out() {
    let reading = plain(
        "• Ran git diff\n  └ diff --git a/x b/x\n  │ +1\n    … +40 lines\n────────\n\
         The change is sound.\n└ tail\n│ more\n… +12 lines\n• Explored\nOnly the test is missing.\n\nVERDICT: ADJUST",
    );
    assert_eq!(
        told(&reading),
        (
            Verdict::Adjust,
            "The change is sound.\nOnly the test is missing."
        )
    );
}

#[test]
fn a13_the_last_of_two_markers_counts() {
    let reading = plain("REVIEW: first try\nREVIEW: second try\nVERDICT: ADJUST");
    assert_eq!(told(&reading), (Verdict::Adjust, "second try"));
}

#[test]
fn a17_another_word_is_no_verdict() {
    let reading = plain("Well.\n\nVERDICT: AGREEMENT reached");
    assert_eq!(reading.verdict, Verdict::Unparsed);
}

const SENT: &str =
    "Please review src/store.rs.\n\nBegin with the label and this tag: k7q2.\nThen what you found.";

#[test]
fn a19_two_echoes_of_the_prompt_and_the_input_box_are_no_part_of_the_reply() {
    let echo = "› Please review src/store.rs.\n\n  Begin with the label and this tag: k7q2.\n  Then what you found.\n";
    let screen = format!(
        "{echo}\n{echo}\n\n• REVIEW: (k7q2) Fine, but for line 9.\n\n  VERDICT: ADJUST\n\n\n› Ask Codex to do anything\n\n  \
         gpt-6-sol · /repo"
    );
    let asked = Asked {
        sent: Some(SENT),
        tag: Some("k7q2"),
        ..Asked::default()
    };
    let reading = reading("codex", &screen, &asked);
    assert_eq!(told(&reading), (Verdict::Adjust, "Fine, but for line 9."));
    assert!(reading.echo && reading.tagged && reading.complete);
}

#[test]
fn a20_the_frame_of_claude_is_no_part_of_the_reply() {
    let rule = "─".repeat(80);
    let screen = format!(
        "❯ Please review src/store.rs.\n\n  Begin with the label and this tag: k7q2.\n  Then what you found.\n\n\
         ● REVIEW: (k7q2) Fine.\n\n  VERDICT: AGREE\n\n✻ Baked for 3s\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts\n  ● high · /effort"
    );
    let asked = Asked {
        sent: Some(SENT),
        tag: Some("k7q2"),
        ..Asked::default()
    };
    let reading = reading("claude", &screen, &asked);
    assert_eq!(told(&reading), (Verdict::Agree, "Fine."));
    assert_eq!(reading.raw, "REVIEW: (k7q2) Fine.\n\nVERDICT: AGREE");
}

#[test]
fn a22_without_an_echo_the_reply_is_what_is_new() {
    let before = "REVIEW: of the round before\nVERDICT: OBJECT\n";
    let screen = format!("{before}REVIEW: new\nVERDICT: ADJUST");
    let asked = Asked {
        sent: Some("Something that scrolled out long ago."),
        since: 2,
        ..Asked::default()
    };
    let reading = reading("unknown", &screen, &asked);
    assert_eq!(told(&reading), (Verdict::Adjust, "new"));
    assert_eq!(reading.raw, "REVIEW: new\nVERDICT: ADJUST");
}

#[test]
fn a23_nothing_behind_the_echo_is_an_empty_reply() {
    let asked = Asked {
        sent: Some("Is it fine?"),
        ..Asked::default()
    };
    let reading = reading("unknown", "> Is it fine?\n\n> ", &asked);
    assert_eq!(
        (reading.verdict, reading.reason, reading.raw.as_str()),
        (Verdict::Unparsed, Some(Reason::Empty), "")
    );
}

/// What the rules say about rows on a screen.
fn activity(harness: &str, rows: &str) -> (Activity, &'static str) {
    let visible = lines(rows, 80);
    let signs = Signs {
        visible: &visible,
        title: "",
        state: None,
    };
    let judgement = judge(&signs, &bundled_profile(harness));
    (judgement.activity, judgement.rule)
}

#[test]
fn a25_an_idle_prompt_five_rows_above_the_bottom_is_seen() {
    let rows = "said\n\n❯ \n────\n  ? for shortcuts\n  one\n  two\n  three";
    assert_eq!(activity("unknown", rows).0, Activity::Rest);
}

#[test]
fn a26_busy_wins_over_an_idle_prompt() {
    let rule = "─".repeat(80);
    let rows = |above: &str| format!("● Said.\n\n{above}\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts");
    let busy = rows("✻ Leavening… (6s · esc to interrupt)");
    for harness in ["claude", "unknown"] {
        assert_eq!(activity(harness, &busy).0, Activity::Busy, "{harness}");
        assert_eq!(
            activity(harness, &rows("✻ Baked for 6s")).0,
            Activity::Rest,
            "{harness}"
        );
    }
}

#[test]
fn a27_spinner_frames_do_not_make_a_screen_move() {
    let still = |text: &str| normalised(&lines(text, 80), "·✢✳");
    assert_eq!(still("⠋ working\n\n\n❯"), still("⠙  working \n❯"));
    assert_eq!(still("✢ working"), still("✳ working"));
    assert_ne!(still("⠋ working"), still("⠋ worked"));
}

#[test]
fn a29_the_prompt_of_codex_is_idle_with_and_without_its_placeholder() {
    for prompt in ["›", "› Ask Codex to do anything"] {
        let rows = format!("• Said.\n\n\n{prompt}\n\n  gpt-6-sol · /repo");
        assert_eq!(
            activity("codex", &rows),
            (Activity::Rest, "idle_regex"),
            "{prompt}"
        );
    }
}

#[test]
fn byte_input_10_words_placed_by_the_cursor_are_read_from_cells() {
    let mut screen = Screen::new(Size::new(60, 10), 100);
    screen.feed(
        b"REVIEW:\x1b[1Cfine\r\nVERDICT:\x1b[1CAGREE\r\n\x1b[1mx\x1b[3D\x1b[K",
        Duration::ZERO,
    );
    let rules = bundled_profile("unknown").screen;
    let reading = read(&screen.lines(), &rules, &Asked::default());
    assert_eq!(told(&reading), (Verdict::Agree, "fine"));
    let mut screen = Screen::new(Size::new(60, 10), 100);
    screen.feed(
        b"REVIEW: x\r\n\x1b[4GVERDICT:\x1b[24GOBJECT",
        Duration::ZERO,
    );
    let reading = read(&screen.lines(), &rules, &Asked::default());
    assert_eq!(told(&reading), (Verdict::Object, "x"));
}

#[test]
fn byte_input_21_each_way_to_draw_a_verdict_line_is_decided() {
    for (line, verdict) in [
        ("| VERDICT: OBJECT", Verdict::Object),
        ("> VERDICT: OBJECT", Verdict::Object),
        ("## VERDICT: OBJECT", Verdict::Object),
        ("VERDICT: **OBJECT**", Verdict::Object),
        ("VERDICT：AGREE", Verdict::Agree),
        ("VERDICT:\u{a0}AGREE", Verdict::Agree),
        ("VER\u{200b}DICT: AG\u{200b}REE", Verdict::Agree),
        ("VERDICT: AGREE|ADJUST|OBJECT|ESCALATE", Verdict::Unparsed),
        ("VERDICT: AGREE to confirm the plan", Verdict::Unparsed),
        ("VERDICT:\n  AGREE", Verdict::Unparsed),
    ] {
        let reading = plain(&format!("REVIEW: x.\n{line}"));
        assert_eq!(reading.verdict, verdict, "{line}");
    }
}

#[test]
fn field_note_4_an_echo_never_answers_for_the_reply() {
    let sent = "Answer with a REVIEW line.\nVERDICT: AGREE|ADJUST|OBJECT|ESCALATE\nVERDICT: AGREE means no corrections.";
    let asked = Asked {
        sent: Some(sent),
        ..Asked::default()
    };
    let alone = reading("unknown", sent, &asked);
    assert_eq!(alone.verdict, Verdict::Unparsed);
    let answered = reading(
        "unknown",
        &format!("{sent}\nREVIEW: x\nVERDICT: OBJECT"),
        &asked,
    );
    assert_eq!(told(&answered), (Verdict::Object, "x"));
}

#[test]
fn field_note_9_a_quoted_diff_never_agrees_for_the_peer() {
    let quoted = "REVIEW: the new test holds these lines:\n+REVIEW: ok\n+VERDICT: AGREE\n REVIEW: ok\n VERDICT: AGREE\n\nVERDICT: OBJECT";
    assert_eq!(plain(quoted).verdict, Verdict::Object);
    let cut = quoted.trim_end_matches("\n\nVERDICT: OBJECT");
    for text in [&format!("{cut}\n\nand that is wrong"), "", "exit 401"] {
        assert_ne!(plain(text).verdict, Verdict::Agree, "{text}");
    }
}

#[test]
fn field_note_12_a_path_longer_than_the_window_comes_back_whole() {
    let path = "src/a_rather_long_folder/and_another_one/and_yet_another_one/with_a_file_of_a_long_name.rs:120";
    let mut screen = Screen::new(Size::new(40, 20), 100);
    screen.feed(
        format!("REVIEW: see\r\n{path}\r\nfor it.\r\n\r\nVERDICT: ADJUST").as_bytes(),
        Duration::ZERO,
    );
    let rules = bundled_profile("unknown").screen;
    let reading = read(&screen.lines(), &rules, &Asked::default());
    assert_eq!(reading.verdict, Verdict::Adjust);
    assert!(reading.rationale.contains(path), "{}", reading.rationale);
}

#[test]
fn field_note_16_a_visible_prompt_is_no_rest_while_the_agent_works() {
    let rule = "─".repeat(80);
    for line in [
        "✻ Leavening… (6s · ↓ 31 tokens)",
        "· Pondering...",
        "✽ Tinkering… (0s · ↓ 31 tokens)",
    ] {
        let rows = format!("● Said.\n\n{line}\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts");
        assert_eq!(activity("claude", &rows).0, Activity::Busy, "{line}");
    }
}
