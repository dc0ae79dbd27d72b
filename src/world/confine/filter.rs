//! A filter of system calls for what Landlock does not know: modes, owners, times and extended attributes, sockets that
//! have a name, limits of other processes, and the ring by which such calls could pass a filter unseen.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::ConfineError;

/// Bit that marks a call of the x32 interface, which has the numbers of x86-64 for what both have.
const X32: i64 = 0x4000_0000;
/// Numbers newer than the `libc` crate's tables; the same on every architecture.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;
/// Requests by which a file's flags and attributes are set, also on a descriptor that was opened for reading:
/// `FS_IOC_SETFLAGS`, its 32-bit form, `FS_IOC_FSSETXATTR` and `FS_IOC_SETVERSION`.
const SET_REQUESTS: [u64; 4] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602];

/// Refuses those calls to this process and all it starts.
pub(super) fn apply() -> Result<(), ConfineError> {
    let failed = |error: String| {
        ConfineError::lock(
            "the filter of system calls is refused",
            io::Error::other(error),
        )
    };
    let told = |error: seccompiler::Error| failed(error.to_string());
    let arch =
        TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(error.to_string()))?;
    // A program that finds no ring takes the ordinary calls.
    let filters = [
        (unknown_calls(), libc::ENOSYS),
        (refused_calls().map_err(failed)?, libc::EPERM),
    ];
    for (calls, errno) in filters {
        let filter = SeccompFilter::new(
            calls,
            SeccompAction::Allow,
            SeccompAction::Errno(errno.unsigned_abs()),
            arch,
        )
        .map_err(|error| failed(error.to_string()))?;
        let program = BpfProgram::try_from(filter).map_err(|error| failed(error.to_string()))?;
        seccompiler::apply_filter(&program).map_err(told)?;
    }
    Ok(())
}

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

fn put(calls: &mut Calls, number: i64, rules: Vec<SeccompRule>) {
    if cfg!(target_arch = "x86_64") {
        calls.insert(number | X32, rules.clone());
    }
    calls.insert(number, rules);
}

/// Calls that are answered as if the system did not have them.
fn unknown_calls() -> Calls {
    let mut calls = Calls::new();
    for number in [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ] {
        put(&mut calls, number, Vec::new());
    }
    calls
}

/// Calls that are refused.
fn refused_calls() -> Result<Calls, String> {
    let mut calls = Calls::new();
    let always = [
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        SETXATTRAT,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        REMOVEXATTRAT,
        FILE_SETATTR,
        libc::SYS_open_by_handle_at,
    ];
    for number in always.into_iter().chain(old_calls()) {
        put(&mut calls, number, Vec::new());
    }
    let is = |index, length, value| {
        SeccompCondition::new(index, length, SeccompCmpOp::Eq, value)
            .map_err(|error| error.to_string())
    };
    let is_not = |index, length, value| {
        SeccompCondition::new(index, length, SeccompCmpOp::Ne, value)
            .map_err(|error| error.to_string())
    };
    let rule = |conditions| SeccompRule::new(conditions).map_err(|error| error.to_string());
    let mut requests = Vec::new();
    for request in SET_REQUESTS {
        requests.push(rule(vec![is(1, SeccompCmpArgLen::Dword, request)?])?);
    }
    put(&mut calls, libc::SYS_ioctl, requests.clone());
    if cfg!(target_arch = "x86_64") {
        // x32 has a number of its own for it.
        calls.insert(X32 | 514, requests);
    }
    let named = is(
        0,
        SeccompCmpArgLen::Dword,
        libc::AF_UNIX.unsigned_abs().into(),
    )?;
    put(&mut calls, libc::SYS_socket, vec![rule(vec![named])?]);
    // Limits of another process: one of its own by another number is refused too, which nothing needs.
    let other = rule(vec![
        is_not(0, SeccompCmpArgLen::Dword, 0)?,
        is_not(2, SeccompCmpArgLen::Qword, 0)?,
    ])?;
    put(&mut calls, libc::SYS_prlimit64, vec![other]);
    Ok(calls)
}

/// Calls that only the older architectures have.
fn old_calls() -> Vec<i64> {
    #[cfg(target_arch = "x86_64")]
    let calls = vec![
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let calls = Vec::new();
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_for_this_machine() -> Result<(), Box<dyn std::error::Error>> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        for calls in [unknown_calls(), refused_calls()?] {
            let filter =
                SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(1), arch)?;
            assert!(!BpfProgram::try_from(filter)?.is_empty());
        }
        Ok(())
    }
}
