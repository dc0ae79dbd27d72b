//! How fast a recording is played, beside the emulator crate that gets the same bytes, its scrollback the same.
//!
//! `cargo bench --bench extract` measures both in this process, on a few megabytes; the ratio counts, not the numbers.
//! `cargo bench --bench extract -- --whole [MIB]` plays recordings of 100 MiB through the program itself, which reads
//! ahead on a thread of its own, and tells how long it took, its processor time and the most memory it had.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codriver::config::bundled_profile;
use codriver::pairing::{Given, Player};
use codriver::recording::cast::{Kind, Reader};
use codriver::screen::Size;
use criterion::{Criterion, Throughput};
use rustix::time::{ClockId, clock_gettime};

const COLS: u16 = 120;
const ROWS: u16 = 50;
const SCROLLBACK: usize = 10_000;
/// Decoded bytes of one event, about what a pty gives to one read.
const EVENT: usize = 4 * 1024;
const MIB: usize = 1024 * 1024;
/// Runs of a whole recording; the median is told.
const RUNS: usize = 5;

/// Appends the piece with that number.
type Piece = fn(usize, &mut String);

/// The kinds of output that are measured.
const KINDS: [(&str, Piece); 2] = [("lines", lines), ("redraw", redraw)];

/// Lines as agents and their tools print them: plain, coloured, beyond ASCII.
fn lines(n: usize, out: &mut String) {
    let (a, b) = (n % 256, n * 7 % 256);
    match n % 10 {
        0..4 => {
            let text =
                "test result: ok, and the quick brown fox jumps over the lazy dog while it rains";
            out.push_str(&format!("{n:07} {}\r\n", &text[n % 20..]));
        }
        4..7 => out.push_str(&format!(
            "\x1b[38;5;{a}mlet\x1b[0m \x1b[1;32mvalue{n}\x1b[0m = \x1b[38;2;{a};{b};80m\"text\"\x1b[39m; \x1b[2m// a remark\x1b[22m\r\n"
        )),
        7 | 8 => out.push_str(&format!(
            "{n:07} ● Die Prüfung läuft → 3 Dateien geändert · ✓ ─── ├─ naïve café\r\n"
        )),
        _ => out.push_str(&format!("{n:07} 検査中です、しばらくお待ちください 🎉 ❤\u{fe0f}\r\n")),
    }
}

/// A frame that draws every row anew, as an agent on the alternate screen does.
fn redraw(n: usize, out: &mut String) {
    out.push_str("\x1b[?2026h\x1b[?25l");
    for row in 1..=ROWS {
        let word = (n + usize::from(row)) % 97;
        out.push_str(&format!(
            "\x1b[{row};1H\x1b[38;5;{word}m│\x1b[0m item {word:04} of the list \x1b[1mbold\x1b[22m and the rest of the row\x1b[K"
        ));
    }
    out.push_str("\x1b[?25h\x1b[?2026l");
}

/// Writes a recording that decodes to `bytes`, 100 events a second.
fn record(piece: Piece, bytes: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        r#"{{"version":3,"term":{{"cols":{COLS},"rows":{ROWS}}}}}"#
    )?;
    let (mut written, mut n, mut text) = (0, 0, String::new());
    while written < bytes {
        text.clear();
        while text.len() < EVENT {
            piece(n, &mut text);
            n += 1;
        }
        written += text.len();
        let json = serde_json::to_string(&text)?;
        writeln!(out, r#"[0.01, "o", {json}]"#)?;
    }
    Ok(())
}

/// The outputs of a recording, one chunk each.
fn chunks(recording: &[u8]) -> Vec<String> {
    let opened = Reader::open(recording).expect("the bench wrote it");
    let reader = opened.recording().expect("the bench wrote a header");
    reader
        .filter_map(|event| match event.expect("the bench wrote events").kind {
            Kind::Output(text) => Some(text),
            _ => None,
        })
        .collect()
}

fn crate_alone() -> vt100::Parser {
    let side = |n| NonZeroU16::new(n).expect("a bench gives sizes");
    vt100::Parser::new(side(ROWS), side(COLS), SCROLLBACK)
}

fn feed_crate(chunks: &[String]) -> vt100::Parser {
    let mut parser = crate_alone();
    for chunk in chunks {
        parser.process(black_box(chunk.as_bytes()));
    }
    parser
}

fn play(recording: &[u8]) -> usize {
    let opened = Reader::open(recording).expect("the bench wrote it");
    let reader = opened.recording().expect("the bench wrote a header");
    let profile = bundled_profile("claude");
    let size = Size::new(COLS, ROWS);
    let mut player = Player::new(size, SCROLLBACK, profile, Given::default());
    let mut end = Duration::ZERO;
    for event in reader {
        let event = event.expect("the bench wrote events");
        end = event.at;
        player.play(&event);
    }
    player.finish(end).len()
}

fn in_process(c: &mut Criterion) {
    for (name, piece) in KINDS {
        let mut recording = Vec::new();
        record(piece, 4 * MIB, &mut recording).expect("memory takes it");
        let chunks = chunks(&recording);
        let bytes: usize = chunks.iter().map(String::len).sum();
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.sample_size(10);
        group.measurement_time(Duration::from_secs(3));
        group.bench_function("vt100", |b| b.iter(|| feed_crate(&chunks)));
        group.bench_function("extract", |b| b.iter(|| play(black_box(&recording))));
        group.finish();
    }
}

/// What one run of the program took.
struct Run {
    /// By the clock.
    seconds: f64,
    /// Of all processors.
    processor: f64,
    peak_kib: u64,
}

/// The processor time of this thread.
fn own_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The processor time of all children that were waited for.
fn children_time() -> f64 {
    let fields = fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let fields: Vec<&str> = fields
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number of ticks");
    // Linux counts 100 a second for all who read this.
    (ticks(13) + ticks(14)) / 100.0
}

fn run_program(path: &Path) -> io::Result<Run> {
    let (before, begun) = (children_time(), Instant::now());
    let mut child = Command::new(env!("CARGO_BIN_EXE_codriver"))
        .args(["extract", "--harness", "claude"])
        .arg(path)
        .stdout(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok());
        peak_kib = peak_kib.max(peak.unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(
        ended.code() == Some(0) || ended.code() == Some(14),
        "{ended}"
    );
    Ok(Run {
        seconds: begun.elapsed().as_secs_f64(),
        processor: children_time() - before,
        peak_kib,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Plays whole recordings through the program, each run beside one of the emulator crate.
#[expect(clippy::print_stdout, reason = "a bench prints what it found")]
fn whole(mib: usize) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    println!("{mib} MiB decoded, {COLS}x{ROWS}, scrollback {SCROLLBACK}; medians of {RUNS}");
    for (name, piece) in KINDS {
        let path = folder.path().join(name).with_extension("cast");
        let mut file = BufWriter::new(File::create(&path)?);
        record(piece, mib * MIB, &mut file)?;
        file.into_inner()?.sync_all()?;
        let chunks = chunks(&fs::read(&path)?);
        let bytes: usize = chunks.iter().map(String::len).sum();
        let (mut speeds, mut processors, mut theirs, mut peak) = (vec![], vec![], vec![], 0);
        for _ in 0..RUNS {
            let (before, begun) = (own_time(), Instant::now());
            drop(black_box(feed_crate(&chunks)));
            let (alone, processor) = (begun.elapsed().as_secs_f64(), own_time() - before);
            let run = run_program(&path)?;
            peak = peak.max(run.peak_kib);
            speeds.push(alone / run.seconds);
            processors.push(processor / run.processor);
            theirs.push(bytes as f64 / MIB as f64 / alone);
        }
        println!(
            "{name:8} vt100 {:6.1} MiB/s   codriver extract at {:5.1} % of its speed, {:5.1} % by processor time   VmHWM {:.1} MiB",
            median(theirs),
            100.0 * median(speeds),
            100.0 * median(processors),
            peak as f64 / 1024.0,
        );
    }
    Ok(())
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--whole");
    if arguments.next().is_some() {
        let mib = arguments.next().and_then(|mib| mib.parse().ok());
        whole(mib.unwrap_or(100)).expect("a scratch folder and the program are there");
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    in_process(&mut criterion);
    criterion.final_summary();
}
