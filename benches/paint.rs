//! What a frame of the console costs: from a child's output to the bytes for the outer terminal.
//!
//!     cargo bench --bench paint                   # times
//!     target/release/deps/paint-… --frames N CASE # N frames of one case, to have their instructions counted
//!
//! The difference of two counts divided by that of their frames is free of what the start costs.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use codriver::app::layout::Layout;
use codriver::app::{Alerts, App, Bindings, Event, Opening, Role, Terminal};
use codriver::config::bundled_profile;
use codriver::ui::Console;
use criterion::Criterion;

/// Columns and rows of the outer terminal.
const SIZE: (u16, u16) = (200, 50);

/// What the driver writes before each frame.
type Output = fn(usize) -> Vec<u8>;

/// What changes between two frames, by name.
const CASES: [(&str, Output); 4] = [
    ("cell", |at| {
        vec![b'\r', b'a' + u8::try_from(at % 26).unwrap_or(0)]
    }),
    ("nothing", |_| Vec::new()),
    ("line", |at| {
        format!("{at:06} let value = compute(before, {at});\r\n").into_bytes()
    }),
    ("all", |at| {
        let row = |row: usize| {
            format!(
                "\x1b[{row};1H\x1b[3{}m{:90}\x1b[m",
                (at + row) % 8,
                at * row
            )
        };
        (1..50).map(row).collect::<String>().into_bytes()
    }),
];

/// A console whose two agents have filled their screens.
struct Stage {
    app: App,
    console: Console,
    now: Duration,
    out: Vec<u8>,
    at: usize,
}

impl Stage {
    fn open() -> Self {
        let profile = Arc::new(bundled_profile("unknown"));
        let app = App::open(Opening {
            size: SIZE,
            driver: Some(Arc::clone(&profile)),
            peer: profile,
            repository: "bench".to_owned(),
            keys: Bindings::default(),
            layout: Layout::Auto,
            scrollback: 10_000,
            mouse: true,
            alerts: Alerts::Never,
            confined: "none".to_owned(),
            hint: false,
            terminal: Terminal::of("xterm-256color", "truecolor", false, true),
            reader: false,
        });
        let mut stage = Self {
            app,
            console: Console::new(),
            now: Duration::ZERO,
            out: Vec::new(),
            at: 0,
        };
        for role in [Role::Driver, Role::Peer] {
            stage.app.update(Event::Started(role), stage.now);
            let text: String = (0..100)
                .map(|at| format!("{at:04} {}\r\n", "word ".repeat(15)))
                .collect();
            stage
                .app
                .update(Event::Output(role, text.as_bytes()), stage.now);
        }
        stage.now += Duration::from_secs(1);
        stage.app.update(Event::Woke, stage.now);
        stage.frame(|_| Vec::new());
        stage
    }

    /// Output, and the frame that shows it, as the console's loop does it; gives how long it is.
    fn frame(&mut self, output: Output) -> usize {
        self.at += 1;
        self.now += Duration::from_micros(10);
        let output = output(self.at);
        if !output.is_empty() {
            black_box(
                self.app
                    .update(Event::Output(Role::Driver, &output), self.now),
            );
        }
        self.out.clear();
        if self.app.take_changed() {
            self.console.draw(&mut self.app, None, &mut self.out);
        }
        self.out.len()
    }
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "--frames") {
        let count: usize = words[at + 1].parse().map_err(|_| "a number of frames")?;
        let wanted = words.get(at + 2).map_or("", String::as_str);
        let (_, case) = CASES
            .iter()
            .find(|(name, _)| *name == wanted)
            .ok_or("a case")?;
        let mut stage = Stage::open();
        let bytes: usize = (0..count).map(|_| stage.frame(*case)).sum();
        black_box(bytes);
        return Ok(());
    }
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("frame");
    for (name, case) in CASES {
        let mut stage = Stage::open();
        group.bench_function(name, |bencher| bencher.iter(|| stage.frame(case)));
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
