//! What is to be seen of the demo agent at one moment, and what a style must be able to draw.

use std::time::Duration;

use super::composer::Composer;
use crate::screen::Size;

/// One piece of the transcript. Pieces are only ever added, and only the last reply still grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A message that was sent.
    Prompt(String),
    /// A command that was given, such as `/clear`.
    Command(String),
    /// One line of the tool log; what stands behind a line break is the tool's output.
    Tool(String),
    /// A reply, in Markdown.
    Reply {
        /// What has come so far.
        text: String,
        /// How much of it is drawn, in bytes.
        drawn: usize,
        /// Whether more will come.
        open: bool,
    },
    /// An error of the service in place of a reply.
    Failed(String),
    /// The end of a turn, and how long it took.
    Done(Duration),
    /// The turn was interrupted.
    Interrupted,
}

impl Entry {
    /// Whether the entry stays as it is.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Reply { text, drawn, open } => !open && *drawn == text.len(),
            _ => true,
        }
    }
}

/// A turn that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Time since the turn began.
    pub elapsed: Duration,
    /// Counts the frames of the spinner.
    pub tick: usize,
    /// Whether text of the reply is coming.
    pub streaming: bool,
    /// Number of the turn, from 0.
    pub turn: usize,
}

/// What the agent tells the terminal about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waits for a prompt.
    Idle,
    /// A turn is running.
    Working,
    /// A turn ended with a reply.
    Done,
    /// A turn failed.
    Error,
}

/// All there is to draw.
#[derive(Debug)]
pub struct Scene {
    /// The window.
    pub size: Size,
    /// The transcript.
    pub entries: Vec<Entry>,
    /// The running turn.
    pub work: Option<Work>,
    /// The state last told to the terminal.
    pub state: State,
    /// The input box.
    pub composer: Composer,
    /// Prompts that wait for the running turn to end.
    pub queued: usize,
    /// Whether the input box is drawn at all.
    pub has_prompt: bool,
    /// Whether what stands in the input box is drawn.
    pub shows_input: bool,
    /// Whether the question whether the folder is trusted is up.
    pub asks_trust: bool,
    /// Whether frames are wrapped in synchronized output.
    pub sync: bool,
    /// Where the cursor stood at the start, counted from 0.
    pub start_row: u16,
    /// The folder the agent works in.
    pub folder: String,
}

/// A style: draws scenes as bytes for a terminal, knowing what it drew before.
pub trait Painter {
    /// Switches modes on and asks the terminal what the real agent asks.
    fn open(&mut self) -> String;
    /// Brings the screen up to date.
    fn draw(&mut self, scene: &Scene) -> String;
    /// Draws again after the window changed.
    fn resize(&mut self, scene: &Scene) -> String;
    /// Begins a new session; the transcript is empty or holds the command alone.
    fn clear(&mut self, scene: &Scene) -> String;
    /// Tells the terminal the state, by title or a control string; called at each change and each frame.
    fn tell(&mut self, scene: &Scene) -> String;
    /// Restores the terminal.
    fn close(&mut self, scene: &Scene) -> String;
}

/// Seconds, as the agents print a short time.
pub fn seconds(time: Duration) -> String {
    let all = time.as_secs();
    match all {
        0..60 => format!("{all}s"),
        _ => format!("{}m {}s", all / 60, all % 60),
    }
}

/// The lines of the question whether the folder is trusted, the first choice marked.
pub fn trust_dialog(folder: &str, pointer: &str) -> Vec<String> {
    vec![
        "Accessing workspace:".to_owned(),
        String::new(),
        folder.to_owned(),
        String::new(),
        "Do you trust the files in this folder?".to_owned(),
        String::new(),
        format!("{pointer} 1. Yes, I trust this folder"),
        "  2. No, exit".to_owned(),
        String::new(),
        "Enter to confirm · Esc to cancel".to_owned(),
    ]
}
