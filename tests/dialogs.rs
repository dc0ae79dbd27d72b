//! The dialogs of the real agents, as recorded: each one that waits for the person is seen as blocked, and no other
//! screen is (A.10).

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codriver::config::bundled_profile;
use codriver::pairing::{Activity, Judgement, Signs, judge};
use codriver::recording::cast::{Kind, Opened, Reader};
use codriver::screen::Screen;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn casts(folder: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    for harness in fs::read_dir(root)? {
        let harness = harness?;
        if !harness.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(harness.path())? {
            let path = file?.path();
            if path.to_string_lossy().ends_with(".cast.zst") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Plays a recording and judges its screen at each marker that `wanted` names.
fn judgements(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Judgement>> {
    let harness = path
        .parent()
        .and_then(Path::file_name)
        .ok_or("no harness")?;
    let profile = bundled_profile(&harness.to_string_lossy());
    let Opened::Recording(reader) = Reader::open(BufReader::new(File::open(path)?))? else {
        return Err("no recording".into());
    };
    let mut screen = Screen::new(reader.header().size, 1000);
    let mut found = Vec::new();
    for event in reader {
        let event = event?;
        match event.kind {
            Kind::Output(text) => {
                screen.feed(text.as_bytes(), event.at);
            }
            Kind::Resize(size) => {
                screen.resize(size, event.at);
            }
            Kind::Marker(label) if wanted(&label) => {
                screen.wake(event.at + Duration::from_secs(1));
                let visible = screen.visible();
                let signs = Signs {
                    visible: &visible,
                    title: screen.title(),
                    state: screen.agent_state(),
                };
                found.push(judge(&signs, &profile));
            }
            _ => {}
        }
    }
    Ok(found)
}

#[test]
fn every_dialog_that_waits_is_seen_and_no_other_screen_is_one() -> Result {
    let casts = casts("dialogs")?;
    assert!(casts.len() >= 80, "{} dialogs", casts.len());
    let mut wrong = Vec::new();
    for path in casts {
        let truth = path.to_string_lossy().replace(".cast.zst", ".json");
        let truth: serde_json::Value = serde_json::from_str(&fs::read_to_string(truth)?)?;
        let waits = truth["blocked"].as_bool().ok_or("no truth")?;
        let last = judgements(&path, |label| label == "dialog")?
            .pop()
            .ok_or("no marker")?;
        if (last.activity == Activity::Blocked) != waits {
            wrong.push(format!(
                "{}: waits {waits}, judged {last:?}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn no_screen_of_an_ordinary_round_is_a_dialog() -> Result {
    for path in casts("recordings")? {
        for found in judgements(&path, |_| true)? {
            assert_ne!(
                found.activity,
                Activity::Blocked,
                "{}: {found:?}",
                path.display()
            );
        }
    }
    Ok(())
}
