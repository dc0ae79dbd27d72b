//! Looking at any moment of a long recording: `cargo bench --bench replay`.
//!
//! The recording has a million events and a hundred megabytes: an agent that draws over itself in colours, answers of
//! some hundred lines that pass, and now and then another size. What is printed are times of this machine; that every
//! moment is the right one is a test's (`tests/track.rs`) and is looked at once more here.

#![expect(clippy::print_stdout, reason = "a bench tells what it measured")]

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use codriver::flow::replay::film::{Film, Keep};
use codriver::recording::cast::{Header, Reader, Writer};
use codriver::recording::track::{Target, apply};
use codriver::screen::{Screen, Seen, Size};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const EVENTS: u64 = 1_000_000;
const SCROLLBACK: usize = 10_000;
const SEEKS: u64 = 2_000;

/// A row of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

const WORDS: [&str; 16] = [
    "the", "parser", "holds", "a", "lock", "while", "it", "reads", "from", "socket", "and",
    "drops", "none", "of", "them", "again",
];

fn words(numbers: &mut Numbers, count: u64) -> String {
    (0..count)
        .map(|_| WORDS[numbers.next(16) as usize])
        .collect::<Vec<_>>()
        .join(" ")
}

fn write(path: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let mut lines = Vec::new();
    let mut writer = Writer::new(&Header::new(Size::new(120, 40)), &mut lines);
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let (mut now, mut bytes) = (Duration::ZERO, 0);
    for event in 0..EVENTS {
        now += Duration::from_micros(500 + numbers.next(40_000));
        let text = match event % 100 {
            0 if event % 20_000 == 0 => {
                let size = Size::new(100 + numbers.next(60) as u16, 30 + numbers.next(20) as u16);
                writer.resize(now, size, &mut lines);
                continue;
            }
            // Lines that pass.
            0..=9 => format!(
                "\x1b[38;5;{}m  {}\x1b[m\r\n",
                numbers.next(256),
                words(&mut numbers, 11)
            ),
            // A spinner and a status line.
            10..=59 => format!(
                "\x1b[s\x1b[{};3H\x1b[2m{} {:>6} tokens\x1b[m\x1b[u",
                28 + numbers.next(2),
                ['⠋', '⠙', '⠹', '⠸'][(event % 4) as usize],
                event
            ),
            // A word at a time.
            _ => format!(
                "{} \x1b[1m{}\x1b[22m ",
                words(&mut numbers, 5),
                words(&mut numbers, 2)
            ),
        };
        writer.output(now, text.as_bytes(), &mut lines);
        if lines.len() > 1 << 16 {
            bytes += lines.len() as u64;
            file.write_all(&lines)?;
            lines.clear();
        }
    }
    file.write_all(&lines)?;
    file.flush()?;
    Ok(bytes + lines.len() as u64)
}

fn seen(screen: &Screen) -> String {
    let mut out = format!("{:?}{:?}", screen.cursor(), screen.row_numbers());
    for line in screen.lines() {
        out.push_str(&format!("{line:?}"));
    }
    out
}

fn settle(film: &Film) {
    while !film.is_done() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn seeks(film: &Film, last: Duration) -> Outcome {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut times: Vec<Duration> = (0..SEEKS)
        .map(|_| {
            let at = Duration::from_micros(numbers.next(u64::try_from(last.as_micros())?));
            let begun = Instant::now();
            let moment = film.seek(Target::At(at))?;
            let took = begun.elapsed();
            drop(moment);
            Ok(took)
        })
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    times.sort();
    let of = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "seek        median {:.1?}, p99 {:.1?}, longest {:.1?} ({SEEKS} at random)",
        of(0.5),
        of(0.99),
        of(1.0)
    );
    Ok(())
}

/// What writing lines down costs beside showing them: a flood of coloured lines in batches, as a console takes them.
fn recording() -> Outcome {
    let mut numbers = Numbers(7);
    let batch: String = (0..300)
        .map(|n| format!("\x1b[3{}m{}\x1b[m\r\n", n % 8, words(&mut numbers, 14)))
        .collect();
    let rounds = 2_000;
    let begun = Instant::now();
    let mut screen = Screen::new(Size::new(200, 50), SCROLLBACK);
    for _ in 0..rounds {
        screen.feed(batch.as_bytes(), Duration::ZERO);
    }
    let shown = begun.elapsed();
    let mut lines = Vec::new();
    let mut writer = Writer::new(&Header::new(Size::new(200, 50)), &mut lines);
    let begun = Instant::now();
    for _ in 0..rounds {
        lines.clear();
        writer.output(Duration::ZERO, batch.as_bytes(), &mut lines);
    }
    let written = begun.elapsed();
    println!(
        "recording   {:.1} % of what the screen takes for the same flood ({:.0} MB in {written:.2?} and {shown:.2?})",
        written.as_secs_f64() * 100.0 / shown.as_secs_f64(),
        (batch.len() * rounds) as f64 / 1e6
    );
    Ok(())
}

fn main() -> Outcome {
    recording()?;
    let root = tempfile::tempdir()?;
    let path = root.path().join("peer.cast");
    let bytes = write(&path)?;
    println!("recording   {:.1} MB, {EVENTS} events", bytes as f64 / 1e6);

    let begun = Instant::now();
    let file = std::io::BufReader::with_capacity(1 << 18, std::fs::File::open(&path)?);
    let reader = Reader::open(file)?.recording().ok_or("a recording")?;
    let mut screen = Screen::new(reader.header().size, SCROLLBACK);
    let mut last = Duration::ZERO;
    let mut marks = Vec::new();
    for (at, event) in (1u64..).zip(reader) {
        let event = event?;
        last = event.at;
        apply(&mut screen, &event, Seen::default(), SCROLLBACK);
        if at % 99_991 == 0 {
            marks.push((at, seen(&screen)));
        }
    }
    println!(
        "whole       {:.2?} from start to end, in one go",
        begun.elapsed()
    );

    let begun = Instant::now();
    let film = Film::open(&path, SCROLLBACK, &Keep::Beside)?;
    film.seek(Target::At(Duration::ZERO))?;
    println!("first look  {:.1?} without keyframes", begun.elapsed());
    settle(&film);
    let took = begun.elapsed();
    let saved = std::fs::metadata(path.with_extension("keys"))?.len();
    println!(
        "keyframes   {} in {took:.2?}; {:.2} MB in memory, {:.3} MB saved ({:.2} % of the recording)",
        film.keys().count(),
        film.keys().size() as f64 / 1e6,
        saved as f64 / 1e6,
        saved as f64 * 100.0 / bytes as f64
    );
    seeks(&film, last)?;

    let begun = Instant::now();
    let film = Film::open(&path, SCROLLBACK, &Keep::Beside)?;
    film.seek(Target::At(last / 2))?;
    println!(
        "open        {:.1?} with saved keyframes, a moment in the middle shown",
        begun.elapsed()
    );
    seeks(&film, last)?;
    settle(&film);
    println!("            and again when those were checked against the bytes:");
    seeks(&film, last)?;
    let packed = root.path().join("packed.zst");
    let begun = Instant::now();
    codriver::world::files::pack(&path, &packed)?;
    let size = std::fs::metadata(&packed)?.len();
    println!(
        "packed      {:.3} of the plain recording, in {:.2?}",
        size as f64 / bytes as f64,
        begun.elapsed()
    );
    let film = Film::open(&packed, SCROLLBACK, &Keep::Nowhere)?;
    settle(&film);
    println!("            and seeking in it:");
    seeks(&film, last)?;
    for (at, wanted) in marks {
        let moment = film.seek(Target::After(at))?;
        assert!(seen(&moment.screen) == wanted, "after event {at}");
    }
    println!("same        at every moment that was compared");
    Ok(())
}
