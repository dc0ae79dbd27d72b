//! The end of a child as a descriptor that becomes readable, so that it is waited for beside its pipes.
//!
//! Linux has one of its own; elsewhere a thread waits for the child, without collecting it, and closes a pipe.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::process::Pid;

/// A descriptor that becomes readable when the child has ended. The child stays to be collected.
#[cfg(target_os = "linux")]
pub(super) fn of(child: &Child) -> io::Result<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    Ok(pidfd_open(Pid::from_child(child), PidfdFlags::empty())?)
}

/// A descriptor that becomes readable when the child has ended. The child stays to be collected.
#[cfg(not(target_os = "linux"))]
pub(super) fn of(child: &Child) -> io::Result<OwnedFd> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let (ours, theirs) = io::pipe()?;
    let id = Pid::from_child(child);
    std::thread::spawn(move || {
        // Not collected: its number stays its own until its group is gone.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(id), options) {}
        drop(theirs);
    });
    Ok(ours.into())
}
