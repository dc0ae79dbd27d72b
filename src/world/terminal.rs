//! The terminal the program itself was started on: what it is, its size, the one progress line, the result.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::limits;

/// Which of the three standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
}

impl Streams {
    /// Looks at all three.
    pub fn look() -> Self {
        Self {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }
}

/// Returns the columns and rows of the terminal on standard output, error or input, the first that is one.
pub fn size() -> Option<(u16, u16)> {
    use rustix::stdio::{stderr, stdin, stdout};
    [stdout(), stderr(), stdin()]
        .into_iter()
        .filter_map(|stream| rustix::termios::tcgetwinsize(stream).ok())
        .map(|size| (size.ws_col, size.ws_row))
        .find(|size| size.0 > 0 && size.1 > 0)
}

/// When to colour, as the person said it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// As the terminal and the environment suggest.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Tells whether to colour a stream, which is a terminal or not.
    pub fn colors(self, is_terminal: bool) -> bool {
        self.resolve(is_terminal, |name| env::var_os(name))
    }

    fn resolve(self, is_terminal: bool, var: impl Fn(&str) -> Option<OsString>) -> bool {
        let set = |name| var(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if set("NO_COLOR").is_some() => false,
            Self::Auto if set("CLICOLOR_FORCE").is_some_and(|force| force != "0") => true,
            Self::Auto => {
                is_terminal
                    && set("TERM")
                        .as_deref()
                        .is_some_and(|t| t != OsStr::new("dumb"))
            }
        }
    }
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// All of it was taken.
    Whole,
    /// Nobody reads it any more (`codriver … | head`): no fault, and nothing to say.
    ReaderGone,
}

/// Prints a result on standard output.
pub fn print(text: &str) -> io::Result<Printed> {
    print_to(&mut io::stdout().lock(), text)
}

fn print_to(out: &mut impl Write, text: &str) -> io::Result<Printed> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(Printed::Whole),
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Ok(Printed::ReaderGone),
        Err(fault) => {
            let what = format!("the result cannot be written to standard output: {fault}");
            Err(io::Error::new(fault.kind(), what))
        }
    }
}

/// Says one thing to the person on standard error, in a line of its own.
pub fn say(text: &str) {
    // Nobody is left to be told when standard error itself is gone.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Where the program is: a word, for how long, and a word more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is being done, for example `waiting`.
    pub name: &'a str,
    /// When it began, if the time spent on it is worth showing.
    pub since: Option<Duration>,
    /// What is known about it, for example `busy`; may be empty.
    pub note: &'a str,
}

/// The progress line: rewritten in place on a terminal, else a line whenever name or note change.
///
/// Times count from the start of the session. Dropping it takes the line away.
pub struct Progress<W: Write = io::Stderr> {
    out: W,
    manner: Manner,
    name: String,
    note: String,
    since: Option<Duration>,
    frame: usize,
    drawn_at: Option<Duration>,
    shown: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Silent,
    Lines,
    Rewritten,
}

impl Progress {
    /// Shows progress on standard error, or nowhere when the person wants quiet.
    pub fn on_stderr(quiet: bool) -> Self {
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let manner = match io::stderr().is_terminal() && !dumb {
            _ if quiet => Manner::Silent,
            true => Manner::Rewritten,
            false => Manner::Lines,
        };
        Self::new(io::stderr(), manner)
    }
}

impl<W: Write> Progress<W> {
    const SPINNER: [&'static str; 4] = ["|", "/", "-", "\\"];

    fn new(out: W, manner: Manner) -> Self {
        Self {
            out,
            manner,
            name: String::new(),
            note: String::new(),
            since: None,
            frame: 0,
            drawn_at: None,
            shown: false,
        }
    }

    /// Shows a step. On a terminal a new name is drawn at once, anything else with the next frame.
    pub fn show(&mut self, step: Step<'_>, now: Duration) {
        let changed = self.name != step.name || self.note != step.note;
        let renamed = self.name != step.name;
        self.since = step.since;
        if changed {
            self.name = step.name.to_owned();
            self.note = step.note.to_owned();
        }
        match self.manner {
            Manner::Silent => {}
            Manner::Lines if changed => {
                let line = self.line(None);
                self.put(&format!("{line}\n"));
            }
            Manner::Lines => {}
            Manner::Rewritten if renamed => self.draw(now),
            Manner::Rewritten => self.tick(now),
        }
    }

    /// Draws the next frame if it is due.
    pub fn tick(&mut self, now: Duration) {
        if self.next_frame().is_some_and(|due| now >= due) {
            self.draw(now);
        }
    }

    /// Returns when the next frame is due; none when nothing moves.
    pub fn next_frame(&self) -> Option<Duration> {
        let moving = self.manner == Manner::Rewritten && !self.name.is_empty();
        moving.then(|| {
            self.drawn_at
                .map_or(Duration::ZERO, |at| at + limits::PROGRESS_FRAME)
        })
    }

    /// Takes the line away, so that something else can be written; the next frame brings it back.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            self.put("\r\x1b[K");
        }
    }

    fn draw(&mut self, now: Duration) {
        let spinner = Self::SPINNER[self.frame % Self::SPINNER.len()];
        self.frame += 1;
        let line = format!("{spinner} {}", self.line(Some(now)));
        // The last column stays free: a terminal that wraps there could not take the line back.
        let cols = size().map_or(80, |(cols, _)| cols);
        let line = cut(&line, usize::from(cols.saturating_sub(1)));
        self.put(&format!("\r{line}\x1b[K"));
        self.shown = true;
        self.drawn_at = Some(now);
    }

    fn line(&self, now: Option<Duration>) -> String {
        let spent = now
            .zip(self.since)
            .map(|(now, since)| clock(now.saturating_sub(since)));
        let parts = [
            self.name.as_str(),
            spent.as_deref().unwrap_or_default(),
            &self.note,
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }

    fn put(&mut self, text: &str) {
        // Progress is a courtesy: without a standard error the work goes on.
        let _ = self
            .out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush());
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// `00:21`, and `1:02:03` from an hour on.
fn clock(spent: Duration) -> String {
    let (minutes, seconds) = (spent.as_secs() / 60, spent.as_secs() % 60);
    match minutes / 60 {
        0 => format!("{minutes:02}:{seconds:02}"),
        hours => format!("{hours}:{:02}:{seconds:02}", minutes % 60),
    }
}

fn cut(line: &str, cols: usize) -> &str {
    if line.width() <= cols {
        return line;
    }
    let mut used = 0;
    let end = line.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > cols
    });
    end.map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step<'a>(name: &'a str, since: Option<u64>, note: &'a str) -> Step<'a> {
        Step {
            name,
            since: since.map(Duration::from_secs),
            note,
        }
    }

    fn shown(manner: Manner, play: impl FnOnce(&mut Progress<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        let mut progress = Progress::new(&mut out, manner);
        play(&mut progress);
        drop(progress);
        String::from_utf8(out).expect("text")
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn plain_lines_come_only_when_something_changed() {
        let text = shown(Manner::Lines, |progress| {
            progress.show(step("starting", None, ""), MS(0));
            progress.show(step("starting", None, ""), MS(900));
            progress.show(step("waiting", Some(1), "busy"), MS(1000));
            progress.show(step("waiting", Some(1), "busy"), MS(9000));
            progress.show(step("waiting", Some(1), "idle"), MS(9001));
            progress.tick(MS(20_000));
            assert_eq!(progress.next_frame(), None);
        });
        assert_eq!(text, "starting\nwaiting busy\nwaiting idle\n");
    }

    #[test]
    fn on_a_terminal_one_line_is_rewritten_and_taken_away() {
        let text = shown(Manner::Rewritten, |progress| {
            progress.show(step("starting", None, ""), MS(0));
            progress.show(step("waiting", Some(1), "busy"), MS(22_000));
        });
        assert_eq!(
            text,
            "\r| starting\x1b[K\r/ waiting 00:21 busy\x1b[K\r\x1b[K"
        );
    }

    #[test]
    fn a_terminal_sees_at_most_four_frames_a_second() {
        let text = shown(Manner::Rewritten, |progress| {
            for at in 0..=1000 {
                let note = if at % 2 == 0 { "busy" } else { "idle" };
                progress.show(step("waiting", Some(0), note), MS(at));
                progress.tick(MS(at));
            }
        });
        assert_eq!(text.matches("waiting").count(), 5);
    }

    #[test]
    fn the_next_frame_is_a_quarter_of_a_second_away() {
        shown(Manner::Rewritten, |progress| {
            assert_eq!(progress.next_frame(), None);
            progress.show(step("starting", None, ""), MS(100));
            assert_eq!(progress.next_frame(), Some(MS(350)));
        });
    }

    #[test]
    fn quiet_means_nothing_at_all() {
        let text = shown(Manner::Silent, |progress| {
            progress.show(step("starting", None, ""), MS(0));
            progress.tick(MS(900));
        });
        assert_eq!(text, "");
    }

    #[test]
    fn a_line_is_cut_by_columns() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc");
        assert_eq!(cut("日本語", 5), "日本");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn an_hour_shows_as_one() {
        assert_eq!(clock(Duration::from_secs(21)), "00:21");
        assert_eq!(clock(Duration::from_secs(3599)), "59:59");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }

    #[test]
    fn colour_follows_the_flag_then_the_environment_then_the_terminal() {
        let resolve = |choice: ColorChoice, is_terminal: bool, vars: &[(&str, &str)]| {
            choice.resolve(is_terminal, |name| {
                let found = vars.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let xterm = ("TERM", "xterm");
        let auto = ColorChoice::Auto;
        assert!(resolve(auto, true, &[xterm]));
        assert!(!resolve(auto, false, &[xterm]));
        assert!(!resolve(auto, true, &[]));
        assert!(!resolve(auto, true, &[("TERM", "dumb")]));
        assert!(!resolve(auto, true, &[xterm, ("NO_COLOR", "1")]));
        assert!(resolve(auto, true, &[xterm, ("NO_COLOR", "")]));
        assert!(resolve(auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!resolve(auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!resolve(
            auto,
            true,
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
        ));
        assert!(resolve(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!resolve(ColorChoice::Never, true, &[xterm]));
    }

    #[test]
    fn a_reader_that_left_is_no_fault() -> io::Result<()> {
        struct Pipe(io::ErrorKind);
        impl Write for Pipe {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut taken = Vec::new();
        assert_eq!(print_to(&mut taken, "result\n")?, Printed::Whole);
        assert_eq!(taken, b"result\n");
        let gone = print_to(&mut Pipe(io::ErrorKind::BrokenPipe), "result\n")?;
        assert_eq!(gone, Printed::ReaderGone);
        assert!(print_to(&mut Pipe(io::ErrorKind::StorageFull), "result\n").is_err());
        Ok(())
    }
}
