//! What is compressed when a session is closed is still all there.

use std::fs;
use std::time::Duration;

use super::world::{Test, World};

#[test]
fn a_long_recording_is_a_quarter_of_it_and_reads_the_same() -> Test {
    let world = World::new()?;
    let mut one = world.begin(1_700_000_000, "demo");
    let mut wanted = String::new();
    for n in 0..20_000_u32 {
        let at = Duration::from_millis(u64::from(n));
        let noise = n.wrapping_mul(2_654_435_761) % 1000;
        let line = format!(
            "\x1b[3{}mline {n} of the log, which says {noise}\x1b[m\r\n",
            n % 8
        );
        one.recorder.output(one.peer, at, line.as_bytes());
        wanted = format!("line {n} of the log, which says {noise}\n");
    }
    one.recorder.settle(Duration::from_secs(10));
    let plain = fs::metadata(one.folder().join("peer.cast"))?.len();
    let folder = one.close(30);
    assert!(!folder.join("peer.cast").exists());
    let packed = fs::metadata(folder.join("peer.cast.zst"))?.len();
    assert!(packed * 4 <= plain, "{packed} of {plain}");
    let said = world.run(&[
        "extract",
        "--screen",
        &folder.join("peer.cast.zst").to_string_lossy(),
    ])?;
    assert!(
        said.out.ends_with(&wanted),
        "{}",
        &said.out[said.out.len().saturating_sub(200)..]
    );
    let shown = world.run(&["--headless", "replay", "last", "--verify"])?;
    assert_eq!(shown.status, Some(0), "{}{}", shown.out, shown.err);
    Ok(())
}
