//! Every recording below `tests/recordings/` is a case; the shared corpus is run as well where it is there.

use std::path::PathBuf;

use crate::measure::{Figures, Scored};
use crate::recording::{Outcome, Recording, corpus, kept, walk};

/// Reads every turn of the recordings below a folder.
fn score(recordings: &[Recording]) -> Vec<Scored> {
    let mut scored = Vec::new();
    for recording in recordings {
        let found = recording.play();
        for (at, turn) in recording.turns.iter().enumerate() {
            let name = format!("{}#{at}", recording.name);
            scored.push(Scored::new(name, turn, found.get(at)));
        }
    }
    scored
}

/// What is less than perfect and the figures of all, for the one who has to look.
fn report(scored: &[Scored]) -> String {
    let mut out = String::new();
    for one in scored {
        let like = one.likeness;
        let poor = one.is_readable()
            && (like.recall < 0.995 || like.noise > 0.005 || like.lines < 0.95 || !one.complete);
        if one.fault().is_some() || poor {
            out += &format!(
                "{}: {} read as {}, recall {:.3} noise {:.3} lines {:.2} complete {}\n",
                one.name, one.said, one.read, like.recall, like.noise, like.lines, one.complete
            );
        }
    }
    out + &format!("{:?}", Figures::of(scored))
}

/// Asks every turn for what its truth allows, and all of them together for what the issue asks.
fn hold(scored: &[Scored]) {
    let faults: Vec<_> = scored
        .iter()
        .filter_map(|one| Some((one.name.as_str(), one.fault()?)))
        .collect();
    assert_eq!(faults, []);
    assert_eq!(Figures::of(scored).faults(), [""; 0]);
}

#[test]
fn every_kept_recording_is_read_as_its_truth_says() -> Outcome {
    let recordings = Recording::all(&kept())?;
    assert!(recordings.len() >= 60, "the recordings are there");
    let scored = score(&recordings);
    println!("{}", report(&scored));
    hold(&scored);
    Ok(())
}

#[test]
fn every_kept_recording_has_its_truth_and_every_truth_its_recording() -> Outcome {
    let casts = walk(&kept(), &[".cast", ".cast.zst"])?;
    let truths = walk(&kept(), &[".json"])?;
    let stem = |path: &PathBuf| {
        path.to_string_lossy()
            .replace(".cast.zst", "")
            .replace(".cast", "")
            .replace(".json", "")
    };
    let (casts, truths): (Vec<_>, Vec<_>) = (
        casts.iter().map(stem).collect(),
        truths.iter().map(stem).collect(),
    );
    assert_eq!(casts, truths);
    Ok(())
}

#[test]
fn the_whole_corpus_reaches_what_was_asked() -> Outcome {
    let Some(folder) = corpus() else {
        println!("no corpus beside the project: set CODRIVER_CORPUS to run it");
        return Ok(());
    };
    let scored = score(&Recording::all(&folder)?);
    println!("{}", report(&scored));
    hold(&scored);
    Ok(())
}
