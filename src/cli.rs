//! The command line: as it was written ([`Args`]), and as it is meant here and now ([`Call`]; interface.md 1).
//!
//! Only what is built stands in the help. Nothing here reads a file or the environment: what a call depends on beside
//! its words is in [`Surroundings`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_mangen::roff::{Roff, bold, roman};

use crate::config::{FlagValue, parse_duration, parse_size};
use crate::demo::fault::Faults;
use crate::route::{Role, Route};
use crate::screen::Size;

/// How the program ends (interface.md 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// `AGREE`, or the command did its job.
    Done,
    /// An error, said once on standard error.
    Error,
    /// Wrong usage or configuration.
    Usage,
    /// `ADJUST`.
    Adjust,
    /// `OBJECT`.
    Object,
    /// `ESCALATE`.
    Escalate,
    /// `UNPARSED`.
    Unparsed,
    /// Refused.
    Refused,
    /// Timed out.
    TimedOut,
    /// The peer ended.
    PeerEnded,
    /// The peer waits at a dialog.
    Dialog,
    /// Interrupted.
    Interrupted,
}

impl Exit {
    /// The process's exit status.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Adjust => 10,
            Self::Object => 11,
            Self::Escalate => 12,
            Self::Unparsed => 13,
            Self::Refused => 14,
            Self::TimedOut => 15,
            Self::PeerEnded => 16,
            Self::Dialog => 17,
            Self::Interrupted => 130,
        }
    }
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  codriver --headless --peer demo discuss --diff 'Is this change ready?'
  codriver --headless --peer codex discuss --kind plan --file plan.md
  git log -1 -p | codriver --headless ask-review -
  codriver extract session.cast --json
  codriver doctor";

const EXIT_STATUS: &str = "\
Exit status:
    0  AGREE, or the command did its job     13  UNPARSED
    1  an error, said on standard error      14  refused
    2  wrong usage or configuration          15  timed out
   10  ADJUST                                16  the peer ended
   11  OBJECT                                17  the peer waits at a dialog
   12  ESCALATE                             130  interrupted

The result goes to standard output, everything else to standard error. Settings: `codriver config show`.
A role review ends with 0 for SHIP and APPROVE, 11 for FIX FIRST and BLOCK, 12 for NEEDS-INPUT.";

/// The command line as it was written.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "codriver",
    version,
    styles = STYLES,
    about = "A second coding agent that reviews, and never writes",
    long_about = "codriver starts a second coding agent, the peer, in a terminal of its own, briefs it to review and never \
                  to write, asks it, and reads its answer and verdict off its screen.",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"),
    max_term_width = 100
)]
pub struct Args {
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
    /// Go on with an earlier session of this repository (default: the last one): its agents, its rounds and receipts
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// The command.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options every command takes.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Work without a terminal: start a peer, run the round, stop it
    #[arg(long, global = true)]
    pub headless: bool,

    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,

    /// Harness of the agent that plans and writes
    #[arg(long, value_name = "NAME", global = true)]
    pub driver: Option<String>,

    /// Harness of the agent that reviews (claude, codex, opencode, demo, …)
    #[arg(long, value_name = "NAME", global = true)]
    pub peer: Option<String>,

    /// Send rounds, or a review, to a command-line runner instead of the peer: host, claude, opencode, codex, gemini
    #[arg(
        long,
        value_name = "ROUTE",
        global = true,
        value_parser = ["host", "claude", "opencode", "codex", "gemini"],
        hide_possible_values = true
    )]
    pub via: Option<String>,

    /// Read FILE in place of your own configuration file
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Longest wait for one answer: 90s, 5m, 1h30m, 1500ms, or seconds
    #[arg(long, value_name = "DURATION", global = true, value_parser = parse_duration)]
    pub timeout: Option<Duration>,

    /// Start the peer without a lock: its own switches alone keep it from writing
    #[arg(long, global = true)]
    pub no_confine: bool,

    /// Size of the peer's screen
    #[arg(long, value_name = "COLSxROWS", global = true, value_parser = parse_size)]
    pub size: Option<Size>,

    /// Show no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Log more (twice for every step)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// When to use colours: auto, always, never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: ColorWhen,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What can be asked for.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Open the console: driver, peer, rounds and receipts live (the same as no command).
    Pair,

    /// Open the console with two built-in demo agents: needs no account, key or network
    Demo,

    /// Send a message to the peer for one review round
    #[command(after_help = DISCUSS_EXAMPLES)]
    Discuss(DiscussArgs),

    /// Ask for the review of an implementation (`discuss --kind implementation`)
    AskReview(MessageArgs),

    /// Have one role review the present change, along the route it is set to
    #[command(after_help = REVIEW_EXAMPLES)]
    Review(ReviewArgs),

    /// Brief the peer, and show whether it agrees to its role
    Brief {
        /// Brief it again when it was briefed before
        #[arg(long)]
        force: bool,
    },

    /// Be the MCP server of a driver, on standard input and output
    Mcp(McpArgs),

    /// Print how a driver started outside the console gets the tools, or do it
    Setup(SetupArgs),

    /// Print the reply a terminal recording or a text holds
    #[command(after_help = EXTRACT_EXAMPLES)]
    Extract(ExtractArgs),

    /// Show which rule read a recording as idle, busy or blocked, and which lines made the verdict
    Explain(ExplainArgs),

    /// Show a recorded session or a terminal recording again
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),

    /// List, show, export and let go of recorded sessions
    #[command(after_help = SESSIONS_EXAMPLES)]
    Sessions {
        /// What to do (default: list)
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },

    /// Show the receipts of this repository
    #[command(after_help = RECEIPTS_EXAMPLES)]
    Receipts {
        /// What to do (default: list)
        #[command(subcommand)]
        command: Option<ReceiptsCommand>,
    },

    /// Show which agents are installed, what is proven of them, and what is wrong here
    Doctor,

    /// Show or check the settings in force
    Config {
        /// What to do (default: show)
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },

    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Print the manual page
    Man,

    /// Run a program that can read everything and write nothing, as the peer is run
    #[command(hide = true, after_help = CONFINE_EXAMPLES)]
    Confine(ConfineArgs),

    /// Be the demo agent in this terminal
    #[command(hide = true)]
    DemoAgent(DemoArgs),
}

const DISCUSS_EXAMPLES: &str = "\
Examples:
  codriver --headless discuss --kind question 'May two writers hold this lock?'
  codriver --headless discuss --diff=main 'Ready to merge?'
  codriver --headless discuss --file plan.md --kind plan
  printf 'Short message' | codriver --headless discuss -";

const REVIEW_EXAMPLES: &str = "\
Examples:
  codriver review --role ruthless-reviewer
  codriver review --role security-reviewer --base main --via codex
  codriver review --role auditor --report notes.md --json
  codriver review --role ruthless-reviewer --panel codex,claude
  codriver review --role ruthless-reviewer --dry-run";

const RECEIPTS_EXAMPLES: &str = "\
Examples:
  codriver receipts
  codriver receipts list --since 7d --verdict object
  codriver receipts show rcp_3f2a
  codriver receipts tally --route rp --json
  codriver receipts verify";

const EXTRACT_EXAMPLES: &str = "\
Examples:
  codriver extract session.cast
  codriver extract --harness claude --tag k7q2 --sent prompt.txt session.cast --json
  tmux capture-pane -pS - | codriver extract -";

const REPLAY_EXAMPLES: &str = "\
Examples:
  codriver replay
  codriver replay last
  curl -s https://example.org/demo.cast | codriver replay -
  codriver --headless replay last
  codriver --headless replay 20260102 --verify
  codriver --headless replay session.cast --json";

/// `replay`.
#[derive(Debug, Clone, Default, PartialEq, ClapArgs)]
pub struct ReplayArgs {
    /// A session (its id, the start of it, or `last`) or an asciicast; `-` reads standard input. Without it sessions are
    /// listed to choose from
    #[arg(value_name = "SESSION|FILE", value_hint = ValueHint::FilePath)]
    pub recording: Option<String>,

    /// Read every round again from the recorded bytes and compare it with its receipt; ends with 1 when something differs
    #[arg(long)]
    pub verify: bool,

    /// The agent that drew a recording's screen (else guessed)
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
}

const SESSIONS_EXAMPLES: &str = "\
Examples:
  codriver sessions
  codriver sessions list --all --verdict object --json
  codriver sessions show 20260102
  codriver sessions export last --format html -o review.html
  codriver sessions prune --days 7 --dry-run

A session is named by its id, by the start of it, or as `last`.";

/// `sessions`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of this repository, newest first
    List(ListArgs),
    /// Show one session with its rounds
    Show {
        /// Its id, the start of it, or `last`
        #[arg(value_name = "SESSION")]
        session: String,
    },
    /// Print a session as Markdown, one HTML page, JSON or a plain recording, to pass it on
    Export(ExportArgs),
    /// Take away the sessions of all repositories that are too old or too many; never an open one
    Prune(PruneArgs),
}

/// `sessions list`.
#[derive(Debug, Clone, Default, PartialEq, ClapArgs)]
pub struct ListArgs {
    /// Of all repositories
    #[arg(long, conflicts_with = "repo")]
    pub all: bool,

    /// Of the repositories whose key begins with KEY
    #[arg(long, value_name = "KEY")]
    pub repo: Option<String>,

    /// Those in which this agent drove or reviewed
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,

    /// Those with a round of this verdict, or of this outcome (timeout, blocked, ended, …)
    #[arg(long, value_name = "WORD")]
    pub verdict: Option<String>,

    /// Those that lasted at least that long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub longer: Option<Duration>,

    /// Print the ids alone, of all repositories
    #[arg(long, hide = true)]
    pub ids: bool,
}

/// `sessions export`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct ExportArgs {
    /// Its id, the start of it, or `last`
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// As what
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    pub format: Format,

    /// Into FILE, which must not be there yet, instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Whose recording `--format cast` prints
    #[arg(long, value_name = "PANE", default_value = "peer")]
    pub pane: PaneName,
}

/// What a session is exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Markdown for a pull request
    Md,
    /// One page that plays, without a network
    Html,
    /// All there is but the recordings
    Json,
    /// A plain asciicast, without what was typed
    Cast,
}

/// One of the two panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaneName {
    /// The one that plans and writes
    Driver,
    /// The one that reviews
    Peer,
}

impl PaneName {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Peer => "peer",
        }
    }
}

/// `sessions prune`.
#[derive(Debug, Clone, Default, PartialEq, ClapArgs)]
pub struct PruneArgs {
    /// Take away those that began more days ago (default: `sessions.keep_days`)
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(..=36_500))]
    pub days: Option<u32>,

    /// Then the oldest, until all together have at most so many megabytes (default: `sessions.keep_mb`)
    #[arg(long, value_name = "MB")]
    pub megabytes: Option<u32>,

    /// Only say what would be taken away
    #[arg(long)]
    pub dry_run: bool,
}

const CONFINE_EXAMPLES: &str = "\
Examples:
  codriver confine -- sh -c 'touch x'
  codriver confine --harness codex --explain -- codex
  codriver confine --repo ~/src/project --lock landlock -- bash";

/// `discuss`.
#[derive(Debug, Clone, ClapArgs)]
pub struct DiscussArgs {
    /// What the message is about
    #[arg(long, default_value = "implementation")]
    pub kind: AskedKind,
    /// The message.
    #[command(flatten)]
    pub message: MessageArgs,
}

/// What a message is about (A.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskedKind {
    /// A plan, before it is carried out
    Plan,
    /// A change that was made
    Implementation,
    /// A question
    Question,
}

/// A message and what goes with it.
#[derive(Debug, Clone, ClapArgs)]
pub struct MessageArgs {
    /// The message; `-` reads standard input
    #[arg(value_name = "MESSAGE", conflicts_with = "file")]
    pub message: Option<String>,

    /// Read the message from FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Append the working-tree diff, against REV when given
    #[arg(long, value_name = "REV", num_args = 0..=1)]
    pub diff: Option<Option<String>>,
}

/// `setup`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct SetupArgs {
    /// The agent: claude, codex, opencode, gemini, cursor, or generic (default: all of them)
    pub harness: Option<String>,

    /// Put it into the agent's own settings; shows the change and keeps what was there
    #[arg(long, conflicts_with = "remove")]
    pub write: bool,

    /// Take it out again
    #[arg(long)]
    pub remove: bool,
}

/// `mcp`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct McpArgs {
    /// Ask the console at SOCKET and no other
    #[arg(long, value_name = "SOCKET", hide = true, value_hint = ValueHint::FilePath)]
    pub console: Option<PathBuf>,

    /// Offer submit_review alone, and append what is handed in to FILE
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "console", value_hint = ValueHint::FilePath)]
    pub submit: Option<PathBuf>,
}

/// `review`.
#[derive(Debug, Clone, ClapArgs)]
pub struct ReviewArgs {
    /// The role: ruthless-reviewer, security-reviewer or auditor
    #[arg(
        long,
        value_name = "ROLE",
        value_parser = ["ruthless-reviewer", "security-reviewer", "auditor"],
        hide_possible_values = true
    )]
    pub role: String,

    /// Review the working tree against REV (default: the last commit)
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,

    /// What the driver reports of the change, as a file; `-` reads standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Ask two routes the same, each on its own, and show both answers
    #[arg(long, value_name = "A,B")]
    pub panel: Option<String>,

    /// Print what would be sent where, and send nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `receipts`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ReceiptsCommand {
    /// List them, newest first
    List(ReceiptFilter),
    /// Show one whole
    Show {
        /// Its id, or the start of it
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Count how often routes fell back
    Tally(ReceiptFilter),
    /// Check every chain, and every text against its digest; ends with 1 when something was changed
    Verify,
}

/// Which receipts are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, ClapArgs)]
pub struct ReceiptFilter {
    /// Those since a date, a time in UTC, or so long ago: 2026-01-31, 7d, 2h30m
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Those with this verdict, reviewer's word, outcome, or reason of a fallback
    #[arg(long, value_name = "WORD")]
    pub verdict: Option<String>,

    /// Those that were asked of this route, or ran on it: host, rp, claude, …
    #[arg(long, value_name = "ROUTE")]
    pub route: Option<String>,

    /// Those of this role; pairing rounds are of the role peer
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

/// `extract`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct ExtractArgs {
    /// An asciicast (v1, v2, v3) or plain terminal text; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// The agent that drew the screen (else guessed)
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,

    /// The tag each round asked for, in order
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Vec<String>,

    /// The exact text that was sent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sent: Option<PathBuf>,

    /// Read the screen as it stood SECONDS into the recording
    #[arg(long, value_name = "SECONDS", value_parser = parse_at)]
    pub at: Option<Duration>,

    /// Print the text of the screen with its scrollback instead
    #[arg(long)]
    pub screen: bool,
}

/// `explain`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct ExplainArgs {
    /// An asciicast or plain terminal text, or a pane of the running console (driver, peer); `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// The agent that drew the screen (else guessed)
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,

    /// The tag each round asked for, in order
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Vec<String>,

    /// The exact text that was sent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sent: Option<PathBuf>,

    /// Explain the screen as it stood SECONDS into the recording
    #[arg(long, value_name = "SECONDS", value_parser = parse_at)]
    pub at: Option<Duration>,
}

/// `confine`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct ConfineArgs {
    /// The repository that is not to be written (default: the one of the present folder)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub repo: Option<PathBuf>,

    /// Whose state folders stay writable
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    pub harness: String,

    /// The lock to use (default: the best one there is)
    #[arg(long, value_name = "LOCK")]
    pub lock: Option<AskedLock>,

    /// Print what would be allowed, and start nothing
    #[arg(long)]
    pub explain: bool,

    /// What a launch has written down for this program.
    #[arg(long, value_name = "FILE", hide = true, requires = "lock", conflicts_with_all = ["repo", "explain"])]
    pub walls: Option<PathBuf>,

    /// The descriptor by which the keeper inside a namespace tells the end.
    #[arg(long, value_name = "NUMBER", hide = true, conflicts_with_all = ["walls", "repo", "explain", "lock"])]
    pub inside: Option<u32>,

    /// The program and its arguments
    #[arg(value_name = "CMD", last = true)]
    pub command: Vec<OsString>,
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskedLock {
    /// A user, mount and process namespace
    Namespace,
    /// Landlock, with a filter of system calls
    Landlock,
    /// None: the program is only kept from leaving something behind
    None,
}

/// `config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Print every setting with the layer and file it came from
    Show {
        /// Print the bundled settings and profiles as files
        #[arg(long)]
        bundled: bool,
    },
    /// Print where the configuration files are, or would be
    Path,
    /// Tell every fault of every layer; ends with 2 when there is one
    Check,
    /// Print the JSON schema of a configuration file
    Schema,
}

/// `demo-agent`.
#[derive(Debug, Clone, PartialEq, ClapArgs)]
pub struct DemoArgs {
    /// Whose screen it imitates
    #[arg(long, default_value = "claude")]
    pub style: DemoStyle,

    /// What it says and does, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub script: Option<PathBuf>,

    /// How it misbehaves, with commas between
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub fault: Faults,
}

/// Whose screen the demo agent imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoStyle {
    /// Inline, with a gutter
    Claude,
    /// Inline, with a scroll region
    Codex,
    /// On the alternate screen
    Opencode,
    /// Lines alone
    Plain,
}

fn parse_at(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "not a number of seconds".to_owned())
}

/// Reads a command line, the program's own name first.
pub fn parse<I, S>(words: I) -> Result<Args, clap::Error>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString> + Clone,
{
    Args::try_parse_from(words)
}

/// The command tree, for help, completions and the manual page.
pub fn command() -> clap::Command {
    Args::command()
}

/// The completion script of a shell. In bash, zsh and fish it asks codriver for the ids of sessions.
pub fn completions(shell: clap_complete::Shell) -> String {
    use clap_complete::Shell::{Bash, Fish, Zsh};
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "codriver", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Bash => script.push_str(include_str!("../assets/completions/sessions.bash")),
        Fish => script.push_str(include_str!("../assets/completions/sessions.fish")),
        Zsh => script = zsh_with_sessions(&script),
        _ => {}
    }
    script
}

/// Puts the functions that list sessions before the end of the script, where it runs, and names them where a session is
/// wanted.
fn zsh_with_sessions(script: &str) -> String {
    const RUNS: &str = "if [ \"$funcstack[1]\"";
    let mut out = String::with_capacity(script.len() + 1024);
    for line in script.split_inclusive('\n') {
        if line.starts_with(RUNS) {
            out.push_str(include_str!("../assets/completions/sessions.zsh"));
        }
        let wants = |name: &str| line.contains(&format!(":{name} -- "));
        if wants("session") || line.contains(":SESSION:") {
            out.push_str(&line.replace(":_default", ":_codriver_session_ids"));
        } else if wants("recording") {
            out.push_str(&line.replace(":_files", ":_codriver_session_ids_and_files"));
        } else {
            out.push_str(line);
        }
    }
    out
}

const FILES: &str = "\
Files:
$XDG_CONFIG_HOME/codriver/config.toml (usually ~/.config/codriver/config.toml)
    your settings; `codriver config show` prints all of them and where each comes from
.codriver/config.toml
    a repository's settings: review routes alone, never what is started
$XDG_STATE_HOME/codriver/ (usually ~/.local/state/codriver/)
    recorded sessions: terminal, events, texts and receipts";

/// The manual page: one for all commands, since it is printed and not installed.
pub fn manual() -> std::io::Result<String> {
    let man = clap_mangen::Man::new(command());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    Roff::new()
        .control("SH", ["COMMANDS"])
        .to_writer(&mut page)?;
    for described in command().get_subcommands() {
        // Not for every day, but to be found by who looks for it.
        if !described.is_hide_set() || described.get_name() == "confine" {
            manual_of(described, &mut page)?;
        }
    }
    man.render_options_section(&mut page)?;
    let mut foot = Roff::new();
    for text in [EXIT_STATUS, FILES, EXAMPLES] {
        let (title, rest) = text
            .split_once(":\n")
            .expect("each of these texts has a title");
        verbatim(foot.control("SH", [title.to_uppercase().as_str()]), rest);
    }
    foot.to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// One command's part of the manual page.
fn manual_of(described: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let own = described.clone().disable_help_flag(true);
    let usage = own.clone().render_usage().to_string();
    let mut head = Roff::new();
    head.control("SS", [usage.trim_start_matches("Usage: ")]);
    if let Some(about) = own.get_about() {
        head.text([roman(about.to_string())]);
    }
    for part in own.get_subcommands() {
        let about = part.get_about().map(ToString::to_string);
        head.control("TP", [])
            .text([bold(part.get_name())])
            .text([roman(about.unwrap_or_default())]);
    }
    head.to_writer(page)?;
    let mut options = Vec::new();
    clap_mangen::Man::new(own).render_options_section(&mut options)?;
    let options = String::from_utf8_lossy(&options);
    page.extend(options.replace(".SH OPTIONS\n", "").as_bytes());
    if let Some(examples) = described.get_after_help() {
        let mut foot = Roff::new();
        verbatim(foot.control("PP", []), &examples.to_string());
        foot.to_writer(page)?;
    }
    Ok(())
}

/// Adds lines that stay as they are.
fn verbatim(roff: &mut Roff, text: &str) {
    roff.control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

/// What a call depends on beside its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Standard input is a terminal.
    pub input_is_terminal: bool,
    /// Standard output is a terminal.
    pub output_is_terminal: bool,
    /// Standard error is a terminal.
    pub error_is_terminal: bool,
    /// `NO_COLOR` is set and not empty, or the terminal is dumb.
    pub no_color: bool,
}

/// A call as it is meant: every default filled in, every word given its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What every command takes.
    pub options: Options,
    /// What is asked for.
    pub task: Task,
}

/// What every command takes, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// No terminal UI, no reading of the terminal.
    pub headless: bool,
    /// The result as JSON.
    pub json: bool,
    /// Where to work; none for the present folder.
    pub directory: Option<PathBuf>,
    /// The file that stands in for the machine file.
    pub config: Option<PathBuf>,
    /// Settings given as flags.
    pub flags: Vec<FlagValue>,
    /// Longest wait for one answer.
    pub timeout: Option<Duration>,
    /// Whether the peer is started without a lock.
    pub no_confine: bool,
    /// Size of the peer's screen.
    pub size: Option<Size>,
    /// Progress on standard error.
    pub progress: Progress,
    /// How much is logged: 0 for the usual.
    pub verbose: u8,
    /// Colours on standard output.
    pub color_output: bool,
    /// Colours on standard error.
    pub color_error: bool,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Not at all.
    None,
    /// As plain lines.
    Lines,
    /// As one line that is drawn over.
    Spinner,
}

/// What is asked for, resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// The console.
    Pair,
    /// The console, going on with the session of this name, or with the last one.
    Resume(String),
    /// The console with two demo agents.
    Demo,
    /// One round.
    Discuss {
        /// What it is about.
        kind: AskedKind,
        /// The message.
        message: Message,
        /// The diff to append.
        diff: Option<Diff>,
    },
    /// The review of a role.
    Review {
        /// The role.
        role: Role,
        /// The revision the working tree is held against.
        base: Option<String>,
        /// The driver's report.
        report: Option<Message>,
        /// Two routes that are asked the same.
        panel: Option<[Route; 2]>,
        /// Only tell.
        dry_run: bool,
    },
    /// The brief alone.
    Brief {
        /// Also when it was briefed before.
        force: bool,
    },
    /// The MCP server.
    Mcp(Serving),
    /// The wiring of a driver.
    Setup(SetupArgs),
    /// The reply of a recording.
    Extract(ExtractArgs),
    /// The rules behind a recording's state and verdict.
    Explain(ExplainArgs),
    /// A session or a recording, shown again.
    Replay(ReplayArgs),
    /// The recorded sessions.
    Sessions(SessionsCommand),
    /// The receipts of the repository.
    Receipts(ReceiptsCommand),
    /// The state of this machine.
    Doctor,
    /// The settings.
    Config(ConfigCommand),
    /// A completion script.
    Completions(clap_complete::Shell),
    /// The manual page.
    Man,
    /// A program shut in.
    Confine(ConfineArgs),
    /// The demo agent.
    DemoAgent(DemoArgs),
}

/// Whom the MCP server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serving {
    /// A driver, with the console of the worktree or a peer of its own.
    Worktree,
    /// A driver, with the console at this socket.
    Console(PathBuf),
    /// A peer, whose reviews go into this file.
    Submissions(PathBuf),
}

/// Where a message comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The command line.
    Words(String),
    /// A file.
    File(PathBuf),
    /// Standard input.
    Input,
    /// Nowhere: the diff says it all.
    None,
}

/// What the working tree is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diff {
    /// The last commit.
    Head,
    /// A revision.
    Revision(String),
}

/// A command line that is well formed and still cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// No command at all.
    #[error("--headless needs a command: discuss, brief or ask-review")]
    NoCommand,
    /// A round with nothing to say.
    #[error("no message: give it as an argument, with --file FILE, or with `-` on standard input")]
    NoMessage,
    /// Nothing to be shut in.
    #[error("no program: give it behind `--`")]
    NoProgram,
    /// A revision that git would take for an option.
    #[error("{0} takes a revision, not an option")]
    Revision(&'static str),
    /// A panel that is none.
    #[error(
        "--panel takes two different routes with a comma between, for example codex,claude, and no --via"
    )]
    Panel,
    /// Resuming something that is not the console.
    #[error("--resume opens the console, so it goes with no other command and not with --headless")]
    Resume,
    /// A harness name that is empty.
    #[error("{0} takes the name of a harness")]
    Name(&'static str),
}

impl Args {
    /// Gives the words their meaning.
    pub fn resolve(self, around: &Surroundings) -> Result<Call, UsageError> {
        let role = match &self.command {
            Some(Command::Review(args)) if args.panel.is_some() && self.global.via.is_some() => {
                return Err(UsageError::Panel);
            }
            Some(Command::Review(args)) => Role::of(&args.role).unwrap_or(Role::Peer),
            _ => Role::Peer,
        };
        let options = self.global.resolve(around, role)?;
        if let Some(session) = self.resume {
            return match self.command {
                None | Some(Command::Pair) if !options.headless => Ok(Call {
                    options,
                    task: Task::Resume(session),
                }),
                _ => Err(UsageError::Resume),
            };
        }
        let task = match self.command.unwrap_or(Command::Pair) {
            Command::Pair if options.headless => return Err(UsageError::NoCommand),
            Command::Pair => Task::Pair,
            Command::Demo if options.headless => return Err(UsageError::NoCommand),
            Command::Demo => Task::Demo,
            Command::Discuss(args) => args.message.resolve(args.kind, around)?,
            Command::AskReview(args) => args.resolve(AskedKind::Implementation, around)?,
            Command::Review(args) => args.resolve(role)?,
            Command::Brief { force } => Task::Brief { force },
            Command::Mcp(McpArgs { console, submit }) => Task::Mcp(match (console, submit) {
                (_, Some(file)) => Serving::Submissions(file),
                (Some(socket), None) => Serving::Console(socket),
                (None, None) => Serving::Worktree,
            }),
            Command::Setup(args) => Task::Setup(args),
            Command::Extract(args) => Task::Extract(args),
            Command::Explain(args) => Task::Explain(args),
            Command::Replay(args) => Task::Replay(args),
            Command::Sessions { command } => Task::Sessions(
                command.unwrap_or_else(|| SessionsCommand::List(ListArgs::default())),
            ),
            Command::Receipts { command } => Task::Receipts(
                command.unwrap_or_else(|| ReceiptsCommand::List(ReceiptFilter::default())),
            ),
            Command::Doctor => Task::Doctor,
            Command::Config { command } => {
                Task::Config(command.unwrap_or(ConfigCommand::Show { bundled: false }))
            }
            Command::Completions { shell } => Task::Completions(shell),
            Command::Man => Task::Man,
            Command::Confine(args) => {
                let is_told = args.explain || args.walls.is_some();
                if args.command.is_empty() && !is_told {
                    return Err(UsageError::NoProgram);
                }
                Task::Confine(args)
            }
            Command::DemoAgent(args) => Task::DemoAgent(args),
        };
        Ok(Call { options, task })
    }
}

impl Global {
    fn resolve(self, around: &Surroundings, role: Role) -> Result<Options, UsageError> {
        let color = |is_terminal: bool| match self.color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => is_terminal && !around.no_color,
        };
        let mut flags = Vec::new();
        for (flag, key, value) in [
            ("--driver", "pair.driver", self.driver),
            ("--peer", "pair.peer", self.peer),
            ("--via", route_key(role), self.via),
        ] {
            if let Some(value) = value {
                if value.is_empty() {
                    return Err(UsageError::Name(flag));
                }
                flags.push(FlagValue { flag, key, value });
            }
        }
        Ok(Options {
            headless: self.headless,
            json: self.json,
            directory: self.directory,
            config: self.config,
            flags,
            timeout: self.timeout,
            no_confine: self.no_confine,
            size: self.size,
            progress: match (self.quiet, around.error_is_terminal) {
                (true, _) => Progress::None,
                (false, true) => Progress::Spinner,
                (false, false) => Progress::Lines,
            },
            verbose: self.verbose,
            color_output: color(around.output_is_terminal),
            color_error: color(around.error_is_terminal),
        })
    }
}

/// The key that routes a role.
fn route_key(role: Role) -> &'static str {
    match role {
        Role::Peer => "roles.peer.runner",
        Role::Ruthless => "roles.ruthless-reviewer.runner",
        Role::Security => "roles.security-reviewer.runner",
        Role::Auditor => "roles.auditor.runner",
        Role::Implementer => "roles.implementer.runner",
    }
}

impl ReviewArgs {
    fn resolve(self, role: Role) -> Result<Task, UsageError> {
        if self
            .base
            .as_ref()
            .is_some_and(|base| base.is_empty() || base.starts_with('-'))
        {
            return Err(UsageError::Revision("--base"));
        }
        let panel = match &self.panel {
            None => None,
            Some(panel) => {
                let (a, b) = panel.split_once(',').ok_or(UsageError::Panel)?;
                let of = |name: &str| Route::of(name.trim()).map_err(|_| UsageError::Panel);
                let routes = [of(a)?, of(b)?];
                if routes[0] == routes[1] {
                    return Err(UsageError::Panel);
                }
                Some(routes)
            }
        };
        let report = self.report.map(|file| match file.as_os_str() == "-" {
            true => Message::Input,
            false => Message::File(file),
        });
        Ok(Task::Review {
            role,
            base: self.base,
            report,
            panel,
            dry_run: self.dry_run,
        })
    }
}

impl MessageArgs {
    fn resolve(self, kind: AskedKind, around: &Surroundings) -> Result<Task, UsageError> {
        let (mut words, mut diff) = (self.message, self.diff);
        // `--diff 'Is this ready?'`: the value is optional, so the message behind it is taken for a revision. No
        // revision has a blank outside `@{…}` and `:/…`, and none is `-`.
        if let Some(Some(value)) = &diff
            && words.is_none()
            && self.file.is_none()
            && is_message(value)
        {
            words = Some(value.clone());
            diff = Some(None);
        }
        let diff = match diff {
            None => None,
            Some(None) => Some(Diff::Head),
            Some(Some(rev)) if rev.is_empty() || rev.starts_with('-') => {
                return Err(UsageError::Revision("--diff"));
            }
            Some(Some(rev)) => Some(Diff::Revision(rev)),
        };
        let message = match (words, self.file) {
            (Some(words), _) if words == "-" => Message::Input,
            (Some(words), _) => Message::Words(words),
            (None, Some(file)) if file.as_os_str() == "-" => Message::Input,
            (None, Some(file)) => Message::File(file),
            (None, None) if diff.is_some() => Message::None,
            (None, None) if !around.input_is_terminal => Message::Input,
            (None, None) => return Err(UsageError::NoMessage),
        };
        Ok(Task::Discuss {
            kind,
            message,
            diff,
        })
    }
}

fn is_message(value: &str) -> bool {
    value == "-"
        || (value.contains(char::is_whitespace)
            && !value.contains("@{")
            && !value.starts_with(":/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Surroundings = Surroundings {
        input_is_terminal: true,
        output_is_terminal: true,
        error_is_terminal: true,
        no_color: false,
    };

    fn call(line: &[&str]) -> Result<Call, String> {
        let words = std::iter::once("codriver").chain(line.iter().copied());
        let args = parse(words).map_err(|error| error.kind().to_string())?;
        args.resolve(&TERMINAL).map_err(|error| error.to_string())
    }

    fn discuss(line: &[&str]) -> Result<(Message, Option<Diff>), String> {
        match call(line)?.task {
            Task::Discuss { message, diff, .. } => Ok((message, diff)),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn the_command_tree_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn help_and_man_name_only_what_is_built() {
        let help = command().render_long_help().to_string();
        for absent in ["demo-agent", "no-confine"] {
            assert!(!help.contains(&format!("  {absent} ")), "{absent}");
        }
        for there in [
            "pair",
            "discuss",
            "ask-review",
            "brief",
            "review",
            "extract",
            "explain",
            "receipts",
            "doctor",
            "config",
        ] {
            assert!(help.contains(&format!("  {there} ")), "{there}");
        }
    }

    #[test]
    fn the_manual_page_describes_every_command_and_points_to_no_other_page() -> std::io::Result<()>
    {
        let page = manual()?;
        for part in [
            "discuss [OPTIONS] [MESSAGE]",
            "\\-\\-diff",
            "explain [OPTIONS] [FILE]",
            "config [COMMAND]",
            "EXIT STATUS",
            "FILES",
            "EXAMPLES",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("demo\\-agent \\-\\-") && !page.contains("(1)"));
        Ok(())
    }

    #[test]
    fn shells_ask_for_the_ids_of_sessions() {
        use clap_complete::Shell::{Bash, Fish, Zsh};
        let asks = "codriver sessions list --ids";
        for shell in [Bash, Fish, Zsh] {
            assert!(completions(shell).contains(asks), "{shell}");
        }
        let zsh = completions(Zsh);
        let shown = zsh.lines().find(|line| line.contains(":session -- "));
        assert!(
            shown.is_some_and(|line| line.contains(":_codriver_session_ids'")),
            "{shown:?}"
        );
        let runs = zsh.find("if [ \"$funcstack[1]\"");
        assert!(zsh.find("_codriver_session_ids() {") < runs, "{runs:?}");
    }

    #[test]
    fn global_options_stand_before_and_after_the_command() -> Result<(), String> {
        let before = call(&[
            "--headless",
            "--peer",
            "demo",
            "--timeout",
            "90s",
            "discuss",
            "hi",
        ])?;
        let after = call(&[
            "discuss",
            "hi",
            "--headless",
            "--peer",
            "demo",
            "--timeout",
            "90s",
        ])?;
        assert_eq!(before, after);
        assert_eq!(before.options.timeout, Some(Duration::from_secs(90)));
        assert_eq!(
            before.options.flags,
            [FlagValue {
                flag: "--peer",
                key: "pair.peer",
                value: "demo".to_owned()
            }]
        );
        Ok(())
    }

    #[test]
    fn a_message_comes_from_one_place() -> Result<(), String> {
        assert_eq!(
            discuss(&["discuss", "hi"])?,
            (Message::Words("hi".to_owned()), None)
        );
        assert_eq!(discuss(&["discuss", "-"])?, (Message::Input, None));
        assert_eq!(
            discuss(&["ask-review", "--file", "x.md"])?,
            (Message::File("x.md".into()), None)
        );
        assert!(discuss(&["discuss", "hi", "--file", "x.md"]).is_err());
        assert!(discuss(&["discuss"]).is_err());
        Ok(())
    }

    #[test]
    fn without_a_terminal_a_missing_message_is_on_standard_input() {
        let call = parse(["codriver", "discuss"])
            .ok()
            .and_then(|args| args.resolve(&Surroundings::default()).ok());
        assert!(matches!(
            call.map(|call| call.task),
            Some(Task::Discuss {
                message: Message::Input,
                ..
            })
        ));
    }

    #[test]
    fn a_diff_takes_a_revision_but_not_the_message_behind_it() -> Result<(), String> {
        let words = |text: &str| Message::Words(text.to_owned());
        let rev = |text: &str| Some(Diff::Revision(text.to_owned()));
        assert_eq!(
            discuss(&["discuss", "hi", "--diff"])?,
            (words("hi"), Some(Diff::Head))
        );
        assert_eq!(
            discuss(&["discuss", "hi", "--diff", "HEAD~2"])?,
            (words("hi"), rev("HEAD~2"))
        );
        assert_eq!(
            discuss(&["discuss", "--diff=main", "hi"])?,
            (words("hi"), rev("main"))
        );
        assert_eq!(
            discuss(&["discuss", "--diff", "is this ready?"])?,
            (words("is this ready?"), Some(Diff::Head))
        );
        assert_eq!(
            discuss(&["discuss", "--diff", "main@{1 day ago}"])?,
            (Message::None, rev("main@{1 day ago}"))
        );
        assert_eq!(
            discuss(&["discuss", "--diff", "--file", "-"])?,
            (Message::Input, Some(Diff::Head))
        );
        assert_eq!(
            discuss(&["discuss", "--diff"])?,
            (Message::None, Some(Diff::Head))
        );
        Ok(())
    }

    #[test]
    fn a_revision_is_never_an_option_of_git() {
        assert!(discuss(&["discuss", "hi", "--diff=--output=x"]).is_err());
        assert!(discuss(&["discuss", "hi", "--diff="]).is_err());
    }

    #[test]
    fn wrong_usage_is_told() {
        for line in [
            ["--size", "9", "doctor"],
            ["--timeout", "0", "doctor"],
            ["--color", "green", "doctor"],
            ["-q", "-v", "doctor"],
            ["discuss", "--kind", "poem"],
            ["extract", "--at", "-1"],
            ["extract", "--at", "nan"],
        ] {
            assert!(call(&line).is_err(), "{line:?}");
        }
        assert_eq!(
            call(&["--headless"]),
            Err(UsageError::NoCommand.to_string())
        );
        assert!(call(&["--peer", "", "doctor"]).is_err());
    }

    #[test]
    fn colours_follow_the_flag_then_the_environment_then_the_terminal() -> Result<(), clap::Error> {
        let color = |line: &[&str], around: Surroundings| {
            let words = std::iter::once("codriver").chain(line.iter().copied());
            parse(words).map(|args| {
                args.resolve(&around)
                    .map(|call| (call.options.color_output, call.options.color_error))
            })
        };
        let no_color = Surroundings {
            no_color: true,
            ..TERMINAL
        };
        assert_eq!(color(&["doctor"], TERMINAL)?, Ok((true, true)));
        assert_eq!(color(&["doctor"], no_color)?, Ok((false, false)));
        assert_eq!(
            color(&["doctor", "--color", "always"], no_color)?,
            Ok((true, true))
        );
        assert_eq!(
            color(&["doctor"], Surroundings::default())?,
            Ok((false, false))
        );
        Ok(())
    }

    #[test]
    fn tags_are_split_at_commas() -> Result<(), String> {
        let Task::Extract(args) = call(&["extract", "--tag", "k7q2,m3xp", "a.cast"])?.task else {
            return Err("not extract".to_owned());
        };
        assert_eq!(args.tag, ["k7q2", "m3xp"]);
        assert_eq!(args.file, PathBuf::from("a.cast"));
        Ok(())
    }
}
