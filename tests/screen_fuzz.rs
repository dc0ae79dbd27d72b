//! Many made-up inputs: no panic reaches the caller, and text that nothing erased is there.
//!
//! `cargo test --release --test screen_fuzz -- --ignored` runs a million of them.

use std::time::Duration;

use codriver::screen::{Screen, Size};

/// A small generator of numbers (xorshift), so that a number names an input.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("an index")]
    }
}

const TEXTS: [&str; 16] = [
    "a",
    "hello world",
    "0123456789abcdefghij",
    "世",
    "世界你好",
    "❤",
    "\u{fe0f}",
    "❤\u{fe0f}",
    "👨‍👩‍👧",
    "🇫🇷",
    "👋🏻",
    "e\u{301}",
    "⺀",
    "1\u{fe0f}\u{20e3}",
    "─┐│",
    "\u{17d8}",
];
const FINALS: &[u8] = b"@ABCDEFGHIJKLMPSTXZ`abdefghlmnrstu";

/// Appends one piece of anything.
fn anything(dice: &mut Dice, size: Size, out: &mut Vec<u8>) {
    let number = |dice: &mut Dice| match dice.below(8) {
        0 => 0,
        1 => u64::from(size.rows),
        2 => u64::from(size.cols),
        3 => u64::from(size.cols).saturating_sub(1),
        4 => 999_999_999,
        n => n + dice.below(20) - 4,
    };
    match dice.below(25) {
        24 => {
            for n in 0..dice.below(40) {
                let text = dice.pick(&TEXTS);
                out.extend_from_slice(format!("{text} line {n}\r\n").as_bytes());
            }
        }
        0..=7 => out.extend_from_slice(dice.pick(&TEXTS).as_bytes()),
        8 | 9 => {
            out.extend_from_slice(dice.pick(&[
                &b"\r\n"[..],
                b"\n",
                b"\r",
                b"\t",
                b"\x08",
                b"\x0b",
            ]));
        }
        10..=13 => {
            let last = dice.pick(FINALS);
            let (a, b) = (number(dice), number(dice));
            let text = match dice.below(4) {
                0 => format!("\x1b[{}", last as char),
                1 => format!("\x1b[{a}{}", last as char),
                _ => format!("\x1b[{a};{b}{}", last as char),
            };
            out.extend_from_slice(text.as_bytes());
        }
        14 | 15 => {
            // The corners, where wide characters do their worst.
            let row = u64::from(size.rows) - dice.below(2).min(u64::from(size.rows) - 1);
            let col = u64::from(size.cols) - dice.below(3).min(u64::from(size.cols) - 1);
            out.extend_from_slice(format!("\x1b[{row};{col}H").as_bytes());
        }
        16 => {
            let mode = dice.pick(&[1u32, 6, 7, 25, 47, 1047, 1048, 1049, 2004, 2026, 1000, 1006]);
            out.extend_from_slice(format!("\x1b[?{mode}{}", dice.pick(&['h', 'l'])).as_bytes());
        }
        17 => out.extend_from_slice(dice.pick(&[
            &b"\x1b7"[..],
            b"\x1b8",
            b"\x1bM",
            b"\x1bD",
            b"\x1bE",
            b"\x1bH",
            b"\x1b(0",
            b"\x1b(B",
            b"\x0e",
            b"\x0f",
            b"\x1b[4h",
            b"\x1b[4l",
            b"\x1b#8",
            b"\x1b[!p",
            b"\x1bc",
            b"\x1b[?1049h",
            b"\x1b[?1049l",
        ])),
        18 => {
            let (r, g) = (dice.below(300), dice.below(300));
            let text = match dice.below(5) {
                0 => format!("\x1b[38;2;{r};{g};1m"),
                1 => format!("\x1b[38:2::{r}:{g}:1;4:3m"),
                2 => format!("\x1b[58;5;{r};48;5;{g}m"),
                3 => format!("\x1b[{};{}m", r % 110, g % 110),
                _ => "\x1b[m".to_owned(),
            };
            out.extend_from_slice(text.as_bytes());
        }
        19 => out.extend_from_slice(dice.pick(&[
            &b"\x1b]0;title\x07"[..],
            b"\x1b]7501;state=idle\x1b\\",
            b"\x1b]11;?\x07",
            b"\x1b[c",
            b"\x1b[6n",
            b"\x1b[>0q",
            b"\x1b[?u",
            b"\x1bP+q544e\x1b\\",
            b"\x1b[?2026$p",
            b"\x1b_G\x1b\\",
            b"\x1bP$qm\x1b\\",
        ])),
        20 => out.extend_from_slice(dice.pick(&[
            &b"\xff"[..],
            b"\xe4\xb8",
            b"\xf0\x9f\x96",
            b"\xc0\x80",
            b"\x9b1m",
            b"\xef\xbf\xbd",
        ])),
        21 => out.extend_from_slice(dice.pick(&[
            &b"\x1b[3"[..],
            b"\x1b",
            b"\x1b]0;never",
            b"\x1bPq",
            b"\x18",
            b"\x1a",
            b"\x1b[1;2\x0a3H",
            b"\x1b[?",
            b"\x1b\\",
        ])),
        22 => {
            let (top, bottom) = (number(dice), number(dice));
            out.extend_from_slice(format!("\x1b[{top};{bottom}r").as_bytes());
        }
        _ => {
            for _ in 0..dice.below(6) {
                out.push(u8::try_from(dice.below(256)).expect("a byte"));
            }
        }
    }
}

/// A side of a window: up to `most`, but mostly small, where everything meets its edge.
fn side(dice: &mut Dice, most: u64) -> u16 {
    let most = if dice.below(4) == 0 { most } else { most / 6 };
    u16::try_from(1 + dice.below(most)).expect("a small number")
}

/// One input of anything, with changes of size. Tells how often something was lost.
fn run_anything(seed: u64) -> u32 {
    let mut dice = Dice::new(seed);
    let mut size = Size::new(side(&mut dice, 120), side(&mut dice, 40));
    let mut screen = Screen::new(size, 50);
    let mut now = Duration::ZERO;
    for _ in 0..1 + dice.below(6) {
        let mut bytes = Vec::new();
        for _ in 0..1 + dice.below(12) {
            anything(&mut dice, size, &mut bytes);
        }
        screen.feed(&bytes, now);
        if dice.below(3) == 0 {
            size = Size::new(side(&mut dice, 120), side(&mut dice, 40));
            screen.resize(size, now);
        }
        if dice.below(3) == 0 {
            now += Duration::from_millis(dice.below(200));
            screen.wake(now);
        }
        if dice.below(8) == 0 {
            check_reading(&screen, size);
        }
    }
    check_reading(&screen, size);
    screen.take_replies();
    screen.losses()
}

/// What can be read fits together.
fn check_reading(screen: &Screen, size: Size) {
    assert_eq!(screen.size(), size);
    let visible = screen.visible();
    let rows: u32 = visible.iter().map(|line| u32::from(line.rows)).sum();
    assert_eq!(rows, u32::from(size.rows));
    for line in screen.lines().iter().chain(&visible) {
        assert!(!line.text.ends_with(' '));
        assert!(
            line.runs
                .iter()
                .all(|run| line.text.is_char_boundary(run.start))
        );
        assert!(line.runs.is_sorted_by(|a, b| a.start < b.start));
        assert_eq!(
            line.runs.first().map(|run| run.start),
            (!line.text.is_empty()).then_some(0)
        );
    }
    for row in 0..size.rows {
        let columns: u32 = screen
            .row_cells(row)
            .map(|cell| u32::from(cell.width))
            .sum();
        assert_eq!(columns, u32::from(size.cols), "row {row}");
    }
    let cursor = screen.cursor();
    assert!(cursor.row < size.rows && cursor.col < size.cols);
}

/// One input that erases nothing and moves nowhere, with changes of size: every character is there, in order.
fn run_plain(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut screen = Screen::new(Size::new(side(&mut dice, 120), side(&mut dice, 40)), 10_000);
    let mut wanted = vec![String::new()];
    for _ in 0..1 + dice.below(8) {
        let mut bytes = Vec::new();
        for _ in 0..1 + dice.below(10) {
            match dice.below(11) {
                10 => {
                    for n in 0..dice.below(30) {
                        let text = format!(
                            "{}line {n}",
                            dice.pick(&["", "世", "e\u{301}", "❤\u{fe0f} "])
                        );
                        bytes.extend_from_slice(format!("{text}\r\n").as_bytes());
                        wanted.last_mut().expect("a line").push_str(&text);
                        wanted.push(String::new());
                    }
                }
                0..=5 => {
                    // Marks that combine cannot stand at the beginning of a line.
                    let text = dice.pick(&[
                        "a",
                        "hello, world ",
                        "0123456789",
                        "世",
                        "世界你好",
                        "❤\u{fe0f}",
                        "🇫🇷",
                        "e\u{301}",
                        "─┐│",
                    ]);
                    bytes.extend_from_slice(text.as_bytes());
                    wanted.last_mut().expect("a line").push_str(text);
                }
                6 => {
                    bytes.extend_from_slice(dice.pick(&[&b"\r\n"[..], b"\x1bE"]));
                    wanted.push(String::new());
                }
                7 => bytes.extend_from_slice(dice.pick(&[
                    &b"\x1b[1;31m"[..],
                    b"\x1b[38:2::1:2:3;4:3m",
                    b"\x1b[m",
                    b"\x1b[58;5;1m",
                    b"\x1b[?25l",
                    b"\x1b[?2026h",
                    b"\x1b[?2026l",
                ])),
                8 => bytes.extend_from_slice(dice.pick(&[
                    &b"\x1b]0;title\x07"[..],
                    b"\x1b[6n",
                    b"\x1b[c",
                    b"\x1b_G\x1b\\",
                    b"\x1b]8;;x\x1b\\",
                    b"\x1b]0;cut\x18",
                    b"\x07",
                ])),
                _ => bytes.extend_from_slice(b"\x1b[K\x1b[J"),
            }
        }
        screen.feed(&bytes, Duration::ZERO);
        if dice.below(3) == 0 {
            screen.resize(
                Size::new(side(&mut dice, 120), side(&mut dice, 40)),
                Duration::ZERO,
            );
        }
    }
    screen.wake(Duration::from_secs(1));
    let mut wanted: Vec<&str> = wanted
        .iter()
        .map(|line| line.trim_end_matches(' '))
        .collect();
    while wanted.last().is_some_and(|line| line.is_empty()) {
        wanted.pop();
    }
    let lines: Vec<String> = screen.lines().into_iter().map(|line| line.text).collect();
    assert_eq!(lines, wanted, "seed {seed}");
    assert!(screen.is_whole(), "seed {seed}");
}

/// Runs inputs; every fourth one is plain. Gives the number of those in which something was lost.
fn run(seeds: std::ops::Range<u64>) -> u64 {
    let mut lossy = 0;
    for seed in seeds {
        let lost = std::panic::catch_unwind(|| {
            if seed % 4 == 0 {
                run_plain(seed);
                0
            } else {
                run_anything(seed)
            }
        });
        lossy += u64::from(lost.unwrap_or_else(|_| panic!("seed {seed}")) > 0);
    }
    lossy
}

#[test]
fn twenty_thousand_inputs_do_no_harm() {
    let lossy = run(0..20_000);
    println!("inputs in which the emulator was rebuilt: {lossy}");
}

#[test]
#[ignore = "takes minutes; run it in release"]
fn a_million_inputs_do_no_harm() {
    let lossy = run(1_000_000..2_000_000);
    println!("inputs in which the emulator panicked and was rebuilt: {lossy}");
}
