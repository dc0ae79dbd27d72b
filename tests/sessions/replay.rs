//! `--headless replay` on sessions and recordings as they may be.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use codriver::recording::word::Verdict;

use super::world::{Fault, Said, Test, World};

const BEGAN: u64 = 1_700_000_000;
const HEAD: &str = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n";

/// A round as a recording shows it, with markers.
fn cast(between: &str) -> String {
    let lines = [
        r#"[0.1, "m", "prompt-sent"]"#,
        r#"[0.1, "o", "REVIEW: fine\r\n"]"#,
        between,
        r#"[0.1, "o", "\r\nVERDICT: AGREE\r\n"]"#,
        r#"[0.1, "m", "settled"]"#,
        r#"[0.1, "m", "quit"]"#,
    ];
    format!("{HEAD}{}\n", lines.join("\n"))
}

#[test]
fn where_output_was_never_recorded_no_agreement_is_read() -> Test {
    let world = World::new()?;
    let path = world.path("repo/a.cast");
    let read = || -> Result<serde_json::Value, Fault> {
        let args = ["--json", "--headless", "replay", "./a.cast"];
        Ok(world.json(&args)?["rounds"][0].take())
    };
    fs::write(&path, cast(r#"[0.1, "m", "other"]"#))?;
    assert_eq!(read()?["verdict"], "AGREE");
    fs::write(&path, cast(r#"[0.1, "m", "gap: 99 bytes are missing"]"#))?;
    let round = read()?;
    assert_eq!(round["verdict"], "UNPARSED");
    assert_eq!(round["reason"], "incomplete");
    assert_eq!(round["complete"], false);
    Ok(())
}

#[test]
fn a_recording_comes_from_a_pipe_plain_or_compressed() -> Test {
    let world = World::new()?;
    let plain = cast(r##"# nothing"##).into_bytes();
    for bytes in [plain.clone(), zstd::encode_all(&plain[..], 3)?] {
        let mut child = world
            .command(&["--headless", "replay", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        child.stdin.take().ok_or("no input")?.write_all(&bytes)?;
        let said = Said::of(&child.wait_with_output()?);
        assert!(
            said.out.ends_with("VERDICT: AGREE\n"),
            "{}{}",
            said.out,
            said.err
        );
    }
    Ok(())
}

#[test]
fn bad_input_is_told_and_the_readable_part_shown() -> Test {
    let world = World::new()?;
    let path = world.path("repo/a.cast");
    let whole = cast("# nothing");
    let run = |bytes: &[u8]| -> Result<Said, Fault> {
        fs::write(&path, bytes)?;
        world.run(&["--headless", "replay", "./a.cast"])
    };
    let cut = run(format!("{whole}[0.1, \"o\", \"ha").as_bytes())?;
    assert_eq!(cut.status, Some(0));
    assert!(
        cut.err.contains("ends in the middle of an event"),
        "{}",
        cut.err
    );
    assert!(cut.out.contains("VERDICT: AGREE"), "{}", cut.out);
    let broken = run(whole.replace("# nothing", "garbage\n[]\n{}").as_bytes())?;
    assert!(
        broken.err.contains("line 4 of the recording"),
        "{}",
        broken.err
    );
    assert!(broken.out.contains("VERDICT: "), "{}", broken.out);
    for nothing in [&b""[..], b"\xff\xfe\x00\x01", b"\x00\x00"] {
        let said = run(nothing)?;
        assert_eq!(said.status, Some(1), "{}", said.out);
        assert!(
            said.err.contains("neither a terminal recording nor text"),
            "{}",
            said.err
        );
    }
    let none = world.run(&["--headless", "replay", "nowhere.cast"])?;
    assert_eq!(none.status, Some(1));
    assert!(
        none.err.contains("and there is no such file"),
        "{}",
        none.err
    );
    assert_eq!(world.run(&["--headless", "replay"])?.status, Some(2));
    let both = world.run(&["--headless", "replay", "./a.cast", "--verify"])?;
    assert_eq!(both.status, Some(2));
    Ok(())
}

#[test]
fn a_receipt_whose_round_the_recording_lacks_is_no_receipt_that_holds() -> Test {
    let world = World::new()?;
    let mut one = world.begin(BEGAN, "demo");
    one.recorder
        .output(one.peer, Duration::from_secs(1), b"nothing was said\r\n");
    one.round(1, Verdict::Agree);
    one.close(20);
    let shown = world.run(&["--headless", "replay", "last"])?;
    assert_eq!(shown.status, Some(0));
    assert!(
        shown.out.contains("fine\n\nVERDICT: AGREE"),
        "{}",
        shown.out
    );
    let said = world.run(&["--headless", "replay", "last", "--verify"])?;
    assert_eq!(said.status, Some(1));
    assert!(
        said.out.contains("the recording shows no such round"),
        "{}",
        said.out
    );
    Ok(())
}
