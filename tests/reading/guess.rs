//! The harness is guessed from the screen alone: every recording, its title hidden.

use codriver::limits;
use codriver::pairing::guess;
use codriver::recording::cast::Kind;
use codriver::screen::Screen;

use crate::recording::{Outcome, Recording, corpus, kept};

/// What the screens of a recording are guessed to be, at each of its markers.
fn guesses(recording: &Recording) -> Vec<(String, &'static str)> {
    let mut screen = Screen::new(recording.header.size, limits::SCROLLBACK);
    let mut out = Vec::new();
    for event in &recording.events {
        match &event.kind {
            Kind::Output(text) => {
                screen.feed(text.as_bytes(), event.at);
            }
            Kind::Resize(size) => {
                screen.resize(*size, event.at);
            }
            Kind::Marker(label) if label != "quit" => {
                out.push((label.clone(), guess(None, &screen.lines())));
            }
            _ => {}
        }
    }
    out
}

#[test]
fn every_screen_tells_which_agent_drew_it() -> Outcome {
    let folder = corpus().unwrap_or_else(kept);
    let mut wrong = Vec::new();
    for recording in Recording::all(&folder)? {
        for (label, guess) in guesses(&recording) {
            if guess != recording.harness {
                wrong.push(format!("{} at {label}: {guess}", recording.name));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    Ok(())
}

#[test]
fn without_its_title_a_recording_is_read_the_same() -> Outcome {
    for recording in Recording::all(&kept())? {
        assert_eq!(
            recording.play_untitled(),
            recording.play(),
            "{}",
            recording.name
        );
    }
    Ok(())
}
