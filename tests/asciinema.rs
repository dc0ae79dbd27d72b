//! The real asciinema reads what is recorded, when it is installed (3.0 or newer, on PATH or in `ASCIINEMA`); without it
//! this says so and passes.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use codriver::recording::cast::{Header, Writer};
use codriver::screen::Size;

type Test = Result<(), Box<dyn std::error::Error>>;

/// The program, when it knows version 3 of the format.
fn asciinema() -> Option<String> {
    let program = std::env::var("ASCIINEMA").unwrap_or_else(|_| "asciinema".to_owned());
    let told = Command::new(&program).arg("--version").output().ok()?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let version = told.split_whitespace().last()?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major >= 3).then_some(program)
}

#[test]
fn asciinema_reads_every_kind_of_event() -> Test {
    let Some(program) = asciinema() else {
        let note = "asciinema 3 is not installed: nothing was checked\n";
        std::io::stderr().write_all(note.as_bytes())?;
        return Ok(());
    };
    let root = tempfile::tempdir()?;
    let path = root.path().join("a.cast");
    let mut lines = Vec::new();
    let mut header = Header::new(Size::new(80, 24));
    header.timestamp = Some(1_700_000_000);
    header.title = Some("peer \"x\"".to_owned());
    header.term = Some("xterm-256color".to_owned());
    let mut writer = Writer::new(&header, &mut lines);
    let text = "\x1b[31mred\x1b[m 世界 e\u{301} \\\"\r\n";
    let at = Duration::from_millis;
    // Also cut inside a character.
    let (head, tail) = text.as_bytes().split_at(13);
    writer.output(at(10), head, &mut lines);
    writer.input(at(20), b"typed\r", &mut lines);
    writer.output(at(30), tail, &mut lines);
    writer.resize(at(40), Size::new(100, 30), &mut lines);
    writer.marker(at(50), "prompt-sent", &mut lines);
    writer.output(at(60), b"no UTF-8: \xff\r\n", &mut lines);
    writer.exit(at(70), 143, &mut lines);
    std::fs::write(&path, &lines)?;
    let convert = |format: &str| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let out = root.path().join(format);
        let ran = Command::new(&program)
            .args(["convert", "--output-format", format])
            .args([&path, &out])
            .output()?;
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        Ok(std::fs::read(out)?)
    };
    let shown = String::from_utf8(convert("raw")?)?;
    assert_eq!(
        shown
            .replace("\x1b[8;24;80t", "")
            .replace("\x1b[8;30;100t", ""),
        format!("{text}no UTF-8: \u{fffd}\r\n")
    );
    let plain = String::from_utf8(convert("txt")?)?;
    assert_eq!(plain.lines().next(), Some("red 世界 e\u{301} \\\""));
    convert("asciicast-v2")?;
    Ok(())
}
