//! How fast the screen takes bytes, beside the emulator crate with as much scrollback of its own.
//!
//! The ratio counts, not the numbers: both take the same bytes, in chunks as a pty gives them, in the same run.

use std::fs;
use std::hint::black_box;
use std::io;
use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;

use codriver::recording::cast::{Header, Kind, Reader};
use codriver::screen::{Screen, Size};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const COLS: u16 = 100;
const ROWS: u16 = 50;
const SCROLLBACK: usize = 10_000;
/// Bytes of one read of a pty.
const CHUNK: usize = 16 * 1024;
const BYTES: usize = 4 * 1024 * 1024;

/// Repeats numbered pieces until there are enough bytes.
fn stream(piece: impl Fn(usize) -> String) -> Vec<u8> {
    let mut out = Vec::with_capacity(BYTES + 64 * 1024);
    let mut n = 0;
    while out.len() < BYTES {
        out.extend_from_slice(piece(n).as_bytes());
        n += 1;
    }
    out
}

fn ascii() -> Vec<u8> {
    stream(|n| {
        let text =
            "the quick brown fox jumps over the lazy dog and the dog sleeps on while it rains";
        format!("{n:06} {}\r\n", &text[n % 20..])
    })
}

fn colour() -> Vec<u8> {
    stream(|n| {
        let (a, b) = (n % 256, n * 7 % 256);
        format!(
            "\x1b[38;5;{a}mlet\x1b[0m \x1b[1;32mvalue{n}\x1b[0m = \x1b[38;2;{a};{b};80m\"text\"\x1b[39m; \x1b[2m// a remark\x1b[22m\r\n"
        )
    })
}

/// Frames that draw every row anew, as an agent on the alternate screen does.
fn redraw() -> Vec<u8> {
    stream(|n| {
        let mut frame = String::from("\x1b[?2026h\x1b[?25l");
        for row in 1..=ROWS {
            let word = (n + usize::from(row)) % 97;
            frame.push_str(&format!(
                "\x1b[{row};1H\x1b[38;5;{word}m│\x1b[0m item {word:04} of the list \x1b[1mbold\x1b[22m and the rest of the row\x1b[K"
            ));
        }
        frame.push_str("\x1b[?25h\x1b[?2026l");
        frame
    })
}

fn unicode() -> Vec<u8> {
    stream(|n| {
        let text = "● Die Prüfung läuft → 3 Dateien geändert · 検査中です、しばらくお待ちください ✓ ─── ├─ naïve café ❤\u{fe0f} 🎉";
        format!("{n:05} {text}\r\n")
    })
}

fn crate_alone(cols: u16, rows: u16) -> vt100::Parser {
    let side = |n| NonZeroU16::new(n).expect("a bench gives sizes");
    vt100::Parser::new(side(rows), side(cols), SCROLLBACK)
}

fn feed(c: &mut Criterion) {
    for (name, bytes) in [
        ("ascii", ascii()),
        ("colour", colour()),
        ("redraw", redraw()),
        ("unicode", unicode()),
    ] {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.sample_size(10);
        group.measurement_time(Duration::from_secs(3));
        group.bench_function("vt100", |b| {
            let mut parser = crate_alone(COLS, ROWS);
            b.iter(|| {
                for chunk in bytes.chunks(CHUNK) {
                    parser.process(black_box(chunk));
                }
            });
        });
        group.bench_function("screen", |b| {
            let mut screen = Screen::new(Size::new(COLS, ROWS), SCROLLBACK);
            b.iter(|| {
                for chunk in bytes.chunks(CHUNK) {
                    screen.feed(black_box(chunk), Duration::ZERO);
                }
            });
        });
        group.finish();
    }
}

/// Widest screen of a recording that is played; wider ones would fill the memory with rows.
const RECORDED_COLS: u16 = 130;

/// What an agent wrote to screens of one size, as its pty gave it.
struct Recorded {
    size: Size,
    outputs: Vec<String>,
}

/// The recordings of an agent that are kept for the tests, put together by size.
fn recorded(harness: &str) -> io::Result<Vec<Recorded>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut all: Vec<Recorded> = Vec::new();
    for entry in fs::read_dir(folder.join(harness))? {
        let path = entry?.path();
        if !path.to_string_lossy().contains(".cast") {
            continue;
        }
        let bytes = fs::read(path)?;
        let opened = Reader::open(bytes.as_slice()).map_err(io::Error::other)?;
        let reader = opened.recording().ok_or(io::ErrorKind::InvalidData)?;
        let Header { size, .. } = *reader.header();
        let outputs = reader.filter_map(|event| match event.ok()?.kind {
            Kind::Output(text) => Some(text),
            _ => None,
        });
        match all.iter_mut().find(|one| one.size == size) {
            Some(one) => one.outputs.extend(outputs),
            None if size.cols <= RECORDED_COLS => all.push(Recorded {
                size,
                outputs: outputs.collect(),
            }),
            None => {}
        }
    }
    Ok(all)
}

/// What real agents write: mostly short batches, and rows that scroll after they were drawn piece by piece.
fn agents(c: &mut Criterion) {
    for harness in ["claude", "codex", "opencode"] {
        let all = recorded(harness).expect("the recordings are in the repository");
        let bytes: usize = all
            .iter()
            .flat_map(|one| &one.outputs)
            .map(String::len)
            .sum();
        let mut group = c.benchmark_group(harness);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.sample_size(10);
        group.measurement_time(Duration::from_secs(3));
        group.bench_function("vt100", |b| {
            let alone = |one: &Recorded| crate_alone(one.size.cols, one.size.rows);
            let mut parsers: Vec<_> = all.iter().map(alone).collect();
            b.iter(|| {
                for (one, parser) in all.iter().zip(&mut parsers) {
                    for output in &one.outputs {
                        parser.process(black_box(output.as_bytes()));
                    }
                }
            });
        });
        group.bench_function("screen", |b| {
            let new = |one: &Recorded| Screen::new(one.size, SCROLLBACK);
            let mut screens: Vec<_> = all.iter().map(new).collect();
            b.iter(|| {
                for (one, screen) in all.iter().zip(&mut screens) {
                    for output in &one.outputs {
                        screen.feed(black_box(output.as_bytes()), Duration::ZERO);
                        screen.take_replies();
                    }
                }
            });
        });
        group.finish();
    }
}

fn read(c: &mut Criterion) {
    let mut screen = Screen::new(Size::new(COLS, ROWS), SCROLLBACK);
    screen.feed(&colour(), Duration::ZERO);
    let mut group = c.benchmark_group("read");
    group.sample_size(20);
    group.bench_function("lines", |b| b.iter(|| black_box(screen.lines())));
    group.bench_function("visible", |b| b.iter(|| black_box(screen.visible())));
    group.finish();
}

criterion_group!(benches, feed, agents, read);
criterion_main!(benches);
