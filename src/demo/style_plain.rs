//! Drawing as a program nobody has a profile for: line by line, no colour, no cursor movement but back to the head of a
//! line. The terminal wraps.

use super::scene::{Entry, Painter, Scene, trust_dialog};

const BUSY: &str = "working (esc to interrupt)";

/// What the last line of the terminal holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Line {
    #[default]
    Empty,
    /// The prompt and what stands behind it.
    Prompt(String),
    Busy,
    /// A reply of which some has been printed.
    Reply,
}

/// The painter of the style.
#[derive(Debug, Default)]
pub(super) struct Plain {
    line: Line,
    /// Entries that are printed.
    entries: usize,
    /// Bytes of the growing reply that are printed.
    printed: usize,
    asked: bool,
}

impl Plain {
    /// Makes a painter that has printed nothing.
    pub(super) fn new() -> Self {
        Self::default()
    }

    fn leave_line(&mut self, out: &mut String) {
        match std::mem::take(&mut self.line) {
            Line::Empty => {}
            Line::Busy => out.push_str("\r\x1b[K"),
            Line::Prompt(_) | Line::Reply => out.push_str("\r\n"),
        }
    }

    fn print_entries(&mut self, scene: &Scene, out: &mut String) {
        while let Some(entry) = scene.entries.get(self.entries) {
            match entry {
                Entry::Prompt(text) | Entry::Command(text) => {
                    match &self.line {
                        Line::Prompt(line) if text.starts_with(line.as_str()) => {
                            print(out, &text[line.len()..]);
                        }
                        _ => {
                            self.leave_line(out);
                            print(out, &format!("> {text}"));
                        }
                    }
                    self.line = Line::Empty;
                    out.push_str("\r\n\r\n");
                }
                Entry::Tool(log) => {
                    self.leave_line(out);
                    print(out, &format!("[{}]\n", log.replace('\n', "]\n[")));
                }
                Entry::Reply { text, drawn, .. } => {
                    if self.line != Line::Reply {
                        if text.is_empty() {
                            return;
                        }
                        self.leave_line(out);
                        self.line = Line::Reply;
                    }
                    print(out, &text[self.printed..*drawn]);
                    self.printed = *drawn;
                    if !entry.is_settled() {
                        return;
                    }
                    self.printed = 0;
                    self.leave_line(out);
                }
                Entry::Failed(message) => {
                    self.leave_line(out);
                    print(out, &format!("error: {message}\n"));
                }
                Entry::Done(_) => {
                    self.leave_line(out);
                    print(out, "\n");
                }
                Entry::Interrupted => {
                    self.leave_line(out);
                    print(out, "interrupted\n\n");
                }
            }
            self.entries += 1;
        }
    }

    fn show_line(&mut self, scene: &Scene, out: &mut String) {
        if scene.work.is_some() || !scene.has_prompt {
            if matches!(self.line, Line::Empty | Line::Prompt(_)) {
                self.leave_line(out);
                out.push_str(BUSY);
                self.line = Line::Busy;
            }
            return;
        }
        let text = if scene.shows_input {
            scene.composer.shown()
        } else {
            String::new()
        };
        match &self.line {
            Line::Prompt(old) if *old == text => return,
            Line::Prompt(old) if text.starts_with(old.as_str()) => print(out, &text[old.len()..]),
            Line::Prompt(old) if is_one_less(old, &text) => out.push_str("\x08 \x08"),
            _ => {
                self.leave_line(out);
                print(out, &format!("> {text}"));
            }
        }
        self.line = Line::Prompt(text);
    }
}

impl Painter for Plain {
    fn open(&mut self) -> String {
        "\x1b[?2004h\x1b[c".to_owned()
    }

    fn draw(&mut self, scene: &Scene) -> String {
        let mut out = String::new();
        if scene.asks_trust {
            if !self.asked {
                print(
                    &mut out,
                    &(trust_dialog(&scene.folder, ">").join("\n") + "\n"),
                );
                self.asked = true;
            }
            return out;
        }
        self.print_entries(scene, &mut out);
        self.show_line(scene, &mut out);
        out
    }

    fn resize(&mut self, scene: &Scene) -> String {
        self.draw(scene)
    }

    fn clear(&mut self, scene: &Scene) -> String {
        let mut out = String::new();
        self.leave_line(&mut out);
        print(&mut out, "new session\n\n");
        self.entries = scene.entries.len();
        self.printed = 0;
        self.show_line(scene, &mut out);
        out
    }

    fn tell(&mut self, _scene: &Scene) -> String {
        String::new()
    }

    fn close(&mut self, _scene: &Scene) -> String {
        let mut out = String::new();
        self.leave_line(&mut out);
        out.push_str("\x1b[?2004l");
        print(&mut out, "bye\n");
        out
    }
}

/// Whether `new` is `old` without its last character, on one line and one column wide, so that a backspace can undo it.
fn is_one_less(old: &str, new: &str) -> bool {
    old.strip_prefix(new).is_some_and(|rest| {
        rest.chars().count() == 1 && super::row::width(rest) == 1 && rest != "\n"
    })
}

fn print(out: &mut String, text: &str) {
    out.push_str(&text.replace('\n', "\r\n"));
}
