//! The locks of the system: this process shuts itself in, and then becomes the keeper of the program it was given.
//!
//! Two locks keep a peer from writing. A *namespace* shows the whole file system with everything bound read-only, the
//! exceptions bound writable, what leads out covered, and no process but its own. *Landlock* refuses writes by path,
//! and a filter of system calls what Landlock does not know. Nothing here decides what may be written: that comes in
//! as [`Walls`].

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod namespace;
mod outlet;

use std::ffi::OsString;
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

#[cfg(target_os = "linux")]
use rustix::thread::{self, CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Ended, enter, keep_inside};
#[cfg(target_os = "linux")]
pub use keeper::{Ended, keep, keep_inside};
pub use outlet::{bound_sockets, own_runtime, user};

/// What may be written, and what is covered. Every path is absolute, real and there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// Folders and files that stay writable.
    pub writable: Vec<PathBuf>,
    /// Folders inside those below that can be read all the same.
    pub readable: Vec<PathBuf>,
    /// Folders and files whose content is not to be read.
    pub unreadable: Vec<PathBuf>,
    /// Sockets, and folders of sockets, that lead out.
    pub sealed: Vec<PathBuf>,
    /// An empty folder the namespace may be built in; nothing else uses it.
    pub stage: PathBuf,
    /// Whether Landlock lies on top of the namespace. It keeps a program from making a namespace of its own.
    pub layered: bool,
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lock {
    /// A user, mount and process namespace.
    Namespace,
    /// Landlock, with a filter of system calls.
    Landlock,
    /// None; the program is only kept, so that nothing of it is left behind.
    None,
}

/// Why a program could not be shut in, or not started.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The system does not offer the lock.
    #[error("{what}")]
    Lock {
        /// The step that failed.
        what: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The program could not be started.
    #[error("`{}` cannot be started", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The program could not be waited for.
    #[error("the program cannot be waited for")]
    Wait(#[source] io::Error),
}

impl ConfineError {
    fn lock(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::Lock {
            what: what.into(),
            source: error.into(),
        }
    }
}

/// A program to be started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Order {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables added to our own.
    pub env: Vec<(OsString, OsString)>,
    /// Variables taken out of them.
    pub env_remove: Vec<OsString>,
}

impl Order {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for name in &self.env_remove {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Shuts this process in and keeps `order` in it to its end. `inner` are the arguments by which this program, started
/// anew inside a namespace, calls [`keep_inside`] with the number and the order that stand behind them.
///
/// Works once, and only while the process has a single thread. What it leaves open to a child are the standard streams.
#[cfg(target_os = "linux")]
pub fn enter(
    lock: Lock,
    walls: &Walls,
    order: &Order,
    inner: &[&str],
) -> Result<Ended, ConfineError> {
    super::process::keep_descriptors();
    match lock {
        Lock::Namespace => namespace::run(walls, order, inner),
        Lock::Landlock => {
            drop_privileges(CapabilitySet::empty())?;
            landlock::restrict(walls, landlock::Extent::Alone)?;
            filter::apply()?;
            keep(order)
        }
        Lock::None => keep(order),
    }
}

/// Gives up every capability but `kept` for good: also a program of the superuser starts without.
#[cfg(target_os = "linux")]
fn drop_privileges(kept: CapabilitySet) -> Result<(), ConfineError> {
    let failed =
        |error: rustix::io::Errno| ConfineError::lock("the privileges cannot be given up", error);
    thread::set_no_new_privs(true).map_err(failed)?;
    for bit in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        if kept.contains(capability) {
            continue;
        }
        match thread::capability_is_in_bounding_set(capability) {
            Ok(true) => match thread::remove_capability_from_bounding_set(capability) {
                // Without the privilege to change the set nothing in it can be had either: no new ones are given.
                Ok(()) | Err(rustix::io::Errno::PERM) => {}
                Err(error) => return Err(failed(error)),
            },
            Ok(false) => {}
            // Past the last one this system has.
            Err(_) => break,
        }
    }
    // Old systems have no such set.
    let _ = thread::clear_ambient_capability_set();
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    thread::set_capabilities(None, sets).map_err(failed)
}

#[cfg(target_os = "linux")]
fn names(path: &Path) -> String {
    path.display().to_string()
}
