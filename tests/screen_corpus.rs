//! Every recording of the shared corpus, when it is there: nothing panics, nothing is lost, splits do not matter.

use std::path::{Path, PathBuf};
use std::time::Duration;

use codriver::screen::{Screen, Size};

fn recordings() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let corpus = std::env::var_os("CODRIVER_CORPUS").map_or(corpus, PathBuf::from);
    let Ok(agents) = std::fs::read_dir(corpus) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = agents
        .flatten()
        .filter_map(|agent| std::fs::read_dir(agent.path()).ok())
        .flat_map(|files| files.flatten().map(|file| file.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "cast"))
        .collect();
    found.sort();
    found
}

struct Event {
    time: Duration,
    kind: String,
    data: String,
}

fn read(path: &Path) -> Result<(Size, Vec<Event>), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let head: serde_json::Value = serde_json::from_str(lines.next().unwrap_or_default())?;
    let side = |name: &str| head[name].as_u64().and_then(|n| u16::try_from(n).ok());
    let size = Size::new(
        side("width").ok_or("no width")?,
        side("height").ok_or("no height")?,
    );
    let mut events = Vec::new();
    for line in lines {
        let (time, kind, data): (f64, String, String) = serde_json::from_str(line)?;
        events.push(Event {
            time: Duration::from_secs_f64(time),
            kind,
            data,
        });
    }
    Ok((size, events))
}

fn play(size: Size, events: &[Event], chunk: usize) -> Screen {
    let mut screen = Screen::new(size, 10_000);
    for event in events {
        match event.kind.as_str() {
            "o" => {
                for part in event.data.as_bytes().chunks(chunk) {
                    screen.feed(part, event.time);
                }
            }
            "r" => {
                if let Some((cols, rows)) = event.data.split_once('x')
                    && let (Ok(cols), Ok(rows)) = (cols.parse(), rows.parse())
                {
                    screen.resize(Size::new(cols, rows), event.time);
                }
            }
            _ => {}
        }
    }
    screen
}

#[test]
fn every_recording_plays_through() -> Result<(), Box<dyn std::error::Error>> {
    for path in recordings() {
        let (size, events) = read(&path)?;
        let screen = play(size, &events, usize::MAX);
        assert!(screen.is_whole(), "{}", path.display());
        let again = play(size, &events, 7);
        assert_eq!(screen.lines(), again.lines(), "{}", path.display());
        assert_eq!(screen.title(), again.title(), "{}", path.display());
    }
    Ok(())
}
