//! Runs the demo agent in the terminal it was started in: one loop over its input, the window's size, the signals that
//! end it and its own next deadline.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::demo::Kind;
use crate::demo::agent::{Agent, Effect, Output, Record, Setup};
use crate::demo::fault::Faults;
use crate::demo::script::{Script, ScriptError};
use crate::screen::Size;
use crate::world::raw_terminal::RawTerminal;
use crate::world::signals::Signals;
use crate::world::{demo_trace, random};

/// Columns and rows taken for a window that has no size.
const SIZE: (u16, u16) = (80, 24);
/// File of the channel, in its folder.
const CHANNEL: &str = "demo.jsonl";

/// What the command line and the environment ask for.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// What the agent looks like.
    pub kind: Kind,
    /// The script to answer from.
    pub script: Option<PathBuf>,
    /// How to misbehave.
    pub faults: Faults,
    /// Folder of the channel (`CODRIVER_DEMO_CHANNEL`).
    pub channel: Option<PathBuf>,
    /// File for what is typed while a dialog is up (`CODRIVER_DEMO_LOG`).
    pub log: Option<PathBuf>,
}

/// Why the demo agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The script cannot be read.
    #[error("cannot read the script {path:?}")]
    Unreadable {
        /// The script.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The script is none.
    #[error("the script {path:?} is faulty")]
    Script {
        /// The script.
        path: PathBuf,
        /// What is wrong.
        source: ScriptError,
    },
    /// Standard input is no terminal, or something the loop needs is missing.
    #[error("the demo agent needs a terminal to run in")]
    Terminal(#[source] io::Error),
    /// Not enough randomness for a session's name.
    #[error("cannot name the session")]
    Name(#[source] io::Error),
}

/// Runs the demo agent until it ends; gives its exit status.
pub fn run(options: &DemoOptions) -> Result<u8, DemoError> {
    let script = match &options.script {
        Some(path) => read_script(path)?,
        None => Script::default(),
    };
    let setup = Setup {
        kind: options.kind,
        script,
        faults: options.faults.clone(),
        folder: std::env::current_dir()
            .map_or_else(|_| ".".to_owned(), |path| path.display().to_string()),
        session: format!("demo-{}", random::hex(8).map_err(DemoError::Name)?),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(DemoError::Terminal)?;
    runtime
        .block_on(serve(setup, options))
        .map_err(DemoError::Terminal)
}

fn read_script(path: &Path) -> Result<Script, DemoError> {
    let json = std::fs::read_to_string(path).map_err(|source| DemoError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Script::parse(&json).map_err(|source| DemoError::Script {
        path: path.to_owned(),
        source,
    })
}

/// What happened to the terminal.
enum Happened {
    Input(Vec<u8>),
    Resized,
    /// A signal asked the agent to end.
    Told,
    /// The other side of the terminal is gone.
    Closed,
    Due,
}

/// All the loop waits for but its own deadline.
struct Sources {
    reads: mpsc::Receiver<Vec<u8>>,
    resized: Signal,
    stopped: Signals,
}

async fn serve(setup: Setup, options: &DemoOptions) -> io::Result<u8> {
    let terminal = RawTerminal::open()?;
    let mut sources = Sources {
        reads: terminal.reads()?,
        resized: signal(SignalKind::window_change())?,
        stopped: Signals::listen()?,
    };
    let started = Instant::now();
    let (mut agent, output) = Agent::open(setup, size_of(&terminal));
    let mut status = perform(output, &terminal, options)?;
    while status.is_none() {
        let due = agent.next_deadline().map(|due| started + due);
        let happened = next(&mut sources, due).await;
        let now = started.elapsed();
        let output = match happened {
            Happened::Input(bytes) => agent.handle_input(&bytes, now),
            Happened::Resized => agent.handle_resize(size_of(&terminal), now),
            Happened::Told => agent.close(),
            Happened::Closed => return Ok(0),
            Happened::Due => agent.wake(now),
        };
        status = perform(output, &terminal, options)?;
    }
    Ok(status.unwrap_or_default())
}

async fn next(sources: &mut Sources, due: Option<Instant>) -> Happened {
    let deadline = async {
        match due {
            Some(due) => tokio::time::sleep_until(due.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = sources.stopped.next() => Happened::Told,
        _ = sources.resized.recv() => Happened::Resized,
        // Before the deadline: the rest of a sequence that has come is not to find its escape taken for a key.
        read = sources.reads.recv() => read.map_or(Happened::Closed, Happened::Input),
        () = deadline => Happened::Due,
    }
}

fn size_of(terminal: &RawTerminal) -> Size {
    let (cols, rows) = terminal.size().unwrap_or(SIZE);
    Size::new(cols, rows)
}

/// Writes the bytes, then does what else is asked for; gives the exit status when the agent has ended.
fn perform(
    output: Output,
    terminal: &RawTerminal,
    options: &DemoOptions,
) -> io::Result<Option<u8>> {
    terminal.write(&output.bytes)?;
    let mut ended = None;
    for effect in output.effects {
        match effect {
            Effect::Exit(status) => ended = Some(status),
            Effect::Spawn => demo_trace::leave_process()?,
            Effect::Log(typed) => {
                if let Some(path) = &options.log {
                    demo_trace::append_line(path, &typed)?;
                }
            }
            Effect::Record(record) => {
                if let Some(folder) = &options.channel {
                    // As with the real ones, what an agent notes for others does not hold it up.
                    let _ = demo_trace::append_line(&folder.join(CHANNEL), &json(&record));
                }
            }
        }
    }
    Ok(ended)
}

fn json(record: &Record) -> String {
    serde_json::to_string(record).expect("a record of strings is always JSON")
}
