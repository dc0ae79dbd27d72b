//! Every bound of the product in one place (systems.md G and A).

use std::time::Duration;

/// Longest wait for the end of a peer's turn unless a caller says otherwise (A.10).
pub const TURN_TIMEOUT: Duration = Duration::from_secs(300);
/// How long the normalised screen must stand still before a turn without an end mark is over (A.10).
pub const QUIET: Duration = Duration::from_millis(400);
/// How many of the last non-empty lines the busy, idle and dialog rules look at (A.10).
pub const TAIL_LINES: usize = 12;
/// Rows of scrollback kept per pane (A.11).
pub const SCROLLBACK: usize = 10_000;
/// Pause between the pasted text and the submit key (A.9).
pub const SUBMIT_DELAY: Duration = Duration::from_millis(250);
/// Largest message typed into a pane, in bytes (A.9).
pub const MESSAGE_BYTES: usize = 64 * 1024;
/// Longest a synchronized frame may hold the screen back (issue ROUND 2).
pub const FRAME_CAP: Duration = Duration::from_millis(150);
/// Smallest screen the emulator is ever asked for.
pub const MIN_COLS: u16 = 2;
/// Smallest screen the emulator is ever asked for.
pub const MIN_ROWS: u16 = 1;
/// Largest screen a recording or a flag may ask for, each way.
pub const MAX_SIDE: u16 = 2_000;
/// Longest piece of outside text quoted in an error or a detail, in bytes (0.4, G).
pub const QUOTE_BYTES: usize = 300;
/// Longest detail of a receipt, in bytes (G).
pub const DETAIL_BYTES: usize = 300;
/// Largest compiled form of a pattern from a settings file or a profile, in bytes.
pub const PATTERN_BYTES: usize = 1024 * 1024;
/// Longest time a setting or a flag may ask to wait.
pub const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);
/// Bytes taken from a pane's terminal in one batch.
pub const READ_BATCH: usize = 32 * 1024;
/// Bytes that may wait for a child that does not read its terminal.
pub const OUTGOING: usize = 2 * 1024 * 1024;
/// Longest a killed process group may take to be gone before it is reported as surviving.
pub const KILL_TIME: Duration = Duration::from_secs(2);
/// Size at which the log becomes the old one and a new one begins.
pub const LOG_BYTES: u64 = 4 << 20;
/// Pause between two frames of the progress line on a terminal.
pub const PROGRESS_FRAME: Duration = Duration::from_millis(250);
/// Longest that everything asked of git for one diff may take.
pub const GIT_TIME: Duration = Duration::from_secs(10);
/// Most that git may answer.
pub const GIT_BYTES: usize = 4 << 20;
/// Longest that the fingerprint of a working tree may take before it is given up (A.14).
pub const TREE_TIME: Duration = Duration::from_secs(2);
/// Most that is read of a repository's packed references.
pub const PACKED_REFS_BYTES: u64 = 64 << 20;
/// Bytes that may wait to be written to a session's folder before a pane's output is left out of its recording.
pub const RECORD_QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// Most that is copied of a recording that comes from a pipe or cannot be read from its middle.
pub const COPIED_BYTES: u64 = 16 << 30;
/// Bytes of a console's own events in one session; what comes beyond is left out.
pub const TRACE_BYTES: u64 = 64 << 20;
/// A recording smaller than this is left as it is when its session is closed.
pub const PACKED_FROM: u64 = 256 * 1024;
/// Longest wait for a line or a file whose being written an answer depends on.
pub const RECORD_WAIT: Duration = Duration::from_secs(1);
/// Most that is read at once of a file an agent writes beside its screen; of more, the end is read.
pub const CHANNEL_FILE_BYTES: u64 = 64 << 20;
/// Most that an agent's local API may answer.
pub const CHANNEL_BODY_BYTES: u64 = 8 << 20;
/// Longest that connecting to an agent's local API may take.
pub const CHANNEL_CONNECT: Duration = Duration::from_secs(1);
/// Longest that a request to an agent's local API may take in all.
pub const CHANNEL_REQUEST: Duration = Duration::from_secs(2);
/// Most of one paste that is taken.
pub const PASTE_BYTES: usize = 1024 * 1024;
/// How long a lone ESC, or another beginning of a sequence that is a key, too, waits for the rest of it.
pub const ESCAPE_WAIT: Duration = Duration::from_millis(25);
/// How long a sequence may take to come, from its beginning on.
pub const SEQUENCE_WAIT: Duration = Duration::from_secs(1);
/// How long a paste may stand still before its end mark is given up.
pub const PASTE_WAIT: Duration = Duration::from_secs(5);
/// Most places a search in a pane marks.
pub const SEARCH_HITS: usize = 10_000;
/// Longest address a link on a screen may have.
pub const LINK_BYTES: usize = 2048;
/// Links kept per screen; the oldest one goes.
pub const LINKS: usize = 1024;
/// Longest text a child may ask to be copied.
pub const COPY_BYTES: usize = 100 * 1024;
/// Largest frame on a console's socket, in bytes: a round's result with its raw text and room to spare.
pub const FRAME_BYTES: usize = 4 << 20;
/// Jobs that may wait for a peer.
pub const JOBS_WAITING: usize = 8;
/// Outcomes of jobs that are kept for those who ask later.
pub const JOBS_KEPT: usize = 32;
/// Rounds and receipts a server without a console keeps to be looked at.
pub const NOTES_KEPT: usize = 200;
/// Clients of one console at the same time, but for reviewers.
pub const CLIENTS: usize = 32;
/// Reviewers that are clients of one console at the same time, beside the others.
pub const REVIEWERS: usize = 8;
/// Calls of one client at the same time.
pub const CALLS: usize = 256;
/// Longest that greeting a client, or being greeted, may take.
pub const GREETING: Duration = Duration::from_secs(2);
/// Longest that `poll_round` waits.
pub const POLL_WAIT: Duration = Duration::from_secs(60);
/// How often a waiting call is told that it goes on.
pub const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// How long a call may hear nothing of its console, which says something twenty times as often, before it is given up.
pub const SILENCE: Duration = Duration::from_secs(40);
/// Most lines of a pane that are read at once.
pub const READ_LINES: u32 = 5000;
/// How long a peer without a console is kept while nobody asks it anything.
pub const KEPT_IDLE: Duration = Duration::from_secs(15 * 60);
/// Longest part of a peer's question that a client is given to show its human, in bytes.
pub const QUESTION_BYTES: usize = 8 * 1024;
/// Most that all reviews handed in to one launch may come to, in bytes.
pub const SUBMISSIONS_BYTES: u64 = 8 << 20;
/// Largest settings file of an agent that is changed, in bytes: some keep their history in it.
pub const SETTINGS_BYTES: u64 = 64 << 20;
/// Longest that ending the peer of a server may take whose client has gone, before it is killed.
pub const KEEPER_END: Duration = Duration::from_secs(10);
/// Largest review that is handed in by a tool, in bytes.
pub const SUBMITTED_BYTES: usize = 256 * 1024;
/// Longest a runner may take unless a caller says otherwise (G).
pub const RUNNER_TIME: Duration = Duration::from_secs(60 * 60);
/// Most of a runner's standard output that is taken (G).
pub const RUNNER_OUTPUT: usize = 32 << 20;
/// Most of a runner's standard error that is kept (G).
pub const RUNNER_ERROR: usize = 64 << 10;
/// How long a runner's pipes may stay open behind its end (G).
pub const RUNNER_GRACE: Duration = Duration::from_secs(5);
/// Largest return (B.7).
pub const RETURN_BYTES: usize = 256 << 10;
/// Largest diff a request to RepoPrompt holds (B.6).
pub const RP_DIFF_BYTES: usize = 512 << 10;
/// Longest that connecting to RepoPrompt and setting up may take together (B.7).
pub const RP_SETUP: Duration = Duration::from_secs(10);
/// Longest that RepoPrompt's tool may take (B.7).
pub const RP_CALL: Duration = Duration::from_secs(30 * 60);
/// Most of an answer of RepoPrompt that is read (B.7).
pub const RP_ANSWER: usize = 8 << 20;
