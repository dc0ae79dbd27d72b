//! What the children's own children leave behind: kept below this process, so that it is still known whose they were.
//!
//! A process whose parent ends is otherwise given to the system's first one, and nothing tells it then from a program
//! the person started. Only Linux can do that.

use std::io;

use rustix::process::{Pid, WaitId, WaitIdOptions, getsid, waitid};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::process::Process;

/// Has this process be the parent of what its descendants leave behind, from now on.
pub fn adopt() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Tells when children end.
#[derive(Debug)]
pub struct Ends(Signal);

impl Ends {
    /// Begins to listen.
    pub fn listen() -> io::Result<Self> {
        signal(SignalKind::child()).map(Self)
    }

    /// Waits for the next end; false when there will be none.
    pub async fn next(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}

/// Lets those go that have ended and that this process did not start itself. What it starts stays in its own session,
/// or leads one and is among `own`.
pub fn let_go(own: impl Fn(i32) -> bool) {
    let Ok(session) = getsid(None) else {
        return;
    };
    let session = session.as_raw_pid();
    for pid in children() {
        let is_left = Process::of(pid)
            .is_some_and(|child| child.ended && child.session != session && !own(pid));
        if let (true, Some(pid)) = (is_left, Pid::from_raw(pid)) {
            // One that is gone already is no loss.
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
            );
        }
    }
}

/// The children of this process, those that ended too; none where the system does not list them.
fn children() -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let pids: Vec<i32> = list
                .split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect();
            pids
        })
        .collect()
}
