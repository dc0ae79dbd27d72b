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

#[test]
fn a_file_of_five_gigabytes_is_opened_at_once_and_read_as_it_is_played() -> Test {
    use codriver::flow::replay::film::{Film, Keep};
    use codriver::recording::track::Target;
    let world = World::new()?;
    let path = world.path("repo/huge.cast");
    let mut file = fs::File::create(&path)?;
    file.write_all(cast("# nothing").as_bytes())?;
    // The rest is one line without an end, which takes no room on the disk.
    file.set_len(5 << 30)?;
    drop(file);
    let film = Film::open(&path, 1000, &Keep::Nowhere)?;
    let mut moment = film.seek(Target::At(Duration::from_millis(350)))?;
    film.stop();
    let text: Vec<String> = moment
        .screen
        .lines()
        .into_iter()
        .map(|line| line.text)
        .collect();
    assert_eq!(text, ["REVIEW: fine", "", "VERDICT: AGREE"]);
    assert!(moment.step(1000).is_some());
    Ok(())
}

#[test]
fn keyframes_are_made_anew_when_the_recording_is_another_one() -> Test {
    use codriver::flow::replay::film::{Film, Keep};
    use codriver::recording::track::Target;
    let world = World::new()?;
    let path = world.path("repo/peer.cast");
    let keys = world.path("repo/peer.keys");
    let write = |word: &str| -> Result<(), Fault> {
        let lines: String = (0..9000)
            .map(|n| {
                format!("[0.01, \"o\", \"{word} {n} of the lines of this recording\\r\\n\"]\n")
            })
            .collect();
        Ok(fs::write(&path, format!("{HEAD}{lines}"))?)
    };
    let settled = |film: &Film| {
        while !film.is_done() {
            std::thread::yield_now();
        }
    };
    let last = |film: &Film| -> Result<String, Fault> {
        let moment = film.seek(Target::At(Duration::from_secs(60)))?;
        let lines = moment.screen.lines();
        Ok(lines
            .last()
            .map(|line| line.text.clone())
            .unwrap_or_default())
    };
    write("one")?;
    let film = Film::open(&path, 1000, &Keep::Beside)?;
    settled(&film);
    assert!(film.keys().count() > 0 && keys.exists());
    let wanted = last(&film)?;
    assert!(wanted.starts_with("one "), "{wanted}");
    let saved = fs::read(&keys)?;

    // The saved ones serve at once, and say the same.
    let film = Film::open(&path, 1000, &Keep::Beside)?;
    assert_eq!((film.end().is_some(), last(&film)?), (true, wanted));
    settled(&film);
    assert_eq!(film.take_notes(), Vec::<String>::new());
    assert_eq!(fs::read(&keys)?, saved);

    // In the middle something else stands, the edges and the length are the same.
    let text = fs::read_to_string(&path)?;
    let at = text.find("one 4500 ").ok_or("not there")?;
    let changed = format!("{}two{}", &text[..at], &text[at + 3..]);
    fs::write(&path, &changed)?;
    let film = Film::open(&path, 10_000, &Keep::Beside)?;
    settled(&film);
    let film = Film::open(&path, 10_000, &Keep::Beside)?;
    settled(&film);
    fs::write(&path, &text)?;
    let film = Film::open(&path, 10_000, &Keep::Beside)?;
    settled(&film);
    let notes = film.take_notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("not the one the saved keyframes were made of"),
        "{notes:?}"
    );
    let moment = film.seek(Target::At(Duration::from_secs(60)))?;
    let lines = moment.screen.lines();
    assert!(!lines.iter().any(|line| line.text.starts_with("two ")));

    // Garbage and another version are told.
    fs::write(&keys, b"codriver.keys/9\nwhat is this")?;
    let film = Film::open(&path, 1000, &Keep::Beside)?;
    settled(&film);
    let notes = film.take_notes();
    assert!(
        notes
            .iter()
            .any(|note| note.contains("another version of codriver")),
        "{notes:?}"
    );
    fs::write(&keys, b"\x00\xff")?;
    let film = Film::open(&path, 1000, &Keep::Beside)?;
    settled(&film);
    let notes = film.take_notes();
    assert!(
        notes.iter().any(|note| note.contains("damaged")),
        "{notes:?}"
    );
    Ok(())
}
