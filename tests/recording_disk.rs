//! A disk that is full costs the recording and nothing else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use codriver::flow::recorder::{Opening, Recorder};
use codriver::recording::cast::Reader;
use codriver::recording::receipt::Body;
use codriver::recording::session::{Pane, Session, State};
use codriver::screen::Size;

type Test = Result<(), Box<dyn std::error::Error>>;

const LONG: Duration = Duration::from_secs(20);

/// A small file system in memory; gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where this user may not mount one.
    fn mount(at: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then(|| Self(at.to_path_buf()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()),
            "{} stays mounted",
            self.0.display()
        );
    }
}

#[test]
fn a_full_disk_leaves_whole_lines_and_one_warning() -> Test {
    let root = tempfile::tempdir()?;
    let Some(disk) = SmallDisk::mount(root.path()) else {
        eprintln!("skipped: a small disk needs the right to mount one");
        return Ok(());
    };
    let mut recorder = Recorder::open(&Opening {
        state: Some(disk.0.clone()),
        repo: "repo-1",
        worktree: Path::new("/"),
        codriver: "0",
        started: Duration::from_secs(1_700_000_000),
    });
    let pane = Pane::new("peer", "demo", None, ["demo"], Size::new(80, 24));
    let peer = recorder.add_pane(pane, "peer");
    let body = || {
        Body::Other(serde_json::Map::from_iter([(
            "for".to_owned(),
            "test".into(),
        )]))
    };
    assert!(recorder.receipt(body()).is_some());
    let line = [b'x'; 1000];
    for number in 0..1000 {
        recorder.output(peer, Duration::from_millis(number), &line);
    }
    assert!(recorder.settle(LONG));
    assert!(!recorder.is_whole(peer));
    // Small things may still fit into the rest of the last page; at some point they do not.
    let refused = (0..1000).any(|_| recorder.receipt(body()).is_none());
    assert!(refused);
    assert_eq!(recorder.text("r001-sent.txt", &"y".repeat(5000)).file, None);
    assert!(recorder.close(Duration::from_secs(1), State::Closed, LONG));
    let warnings = recorder.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("No space left on device"),
        "{warnings:?}"
    );

    let sessions = disk.0.join("repo-1/sessions");
    let folder = std::fs::read_dir(&sessions)?
        .next()
        .ok_or("no session")??
        .path();
    let cast = std::fs::read(folder.join("peer.cast"))?;
    assert_eq!(cast.last(), Some(&b'\n'), "half a line was not taken back");
    let mut reader = Reader::open(&cast[..])?.recording().ok_or("no recording")?;
    let read = reader.by_ref().collect::<Result<Vec<_>, _>>()?.len();
    assert!((100..1000).contains(&read), "{read}");
    assert!(!reader.notes().cut);
    assert!(!folder.join("transcripts/r001-sent.txt").exists());
    let session: Session = serde_json::from_slice(&std::fs::read(folder.join("session.json"))?)?;
    session.verify(&std::fs::read(folder.join("receipts.jsonl"))?)?;
    let left = std::fs::read_dir(&folder)?.filter_map(Result::ok);
    assert!(
        left.into_iter()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with(".new-"))
    );
    Ok(())
}
