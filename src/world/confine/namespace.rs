//! The namespace: the whole file system as it was, bound read-only, with a few places bound writable; devices, a
//! process list and shared memory of its own; and nothing that could undo any of it.
//!
//! The mounts are made by the process that shuts itself in. The one it then starts is the first of a new process
//! namespace: it sees the new process list, gives up every privilege, and ends everything when it ends.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sched::CloneFlags;
use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::mount::{self, MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{Signal, kill_process};
use rustix::thread::CapabilitySet;

use super::keeper::{self, Ended, Signals};
use super::{ConfineError, Order, Walls, drop_privileges, landlock, names, outlet};

/// Devices that carry no data anywhere, and the terminal a process is on.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Parts of the process list that are the system's, where they are there.
const SYSTEM_PARTS: [&str; 10] = [
    "sys",
    "sysrq-trigger",
    "irq",
    "bus",
    "fs",
    "acpi",
    "scsi",
    "mtrr",
    "driver",
    "latency_stats",
];
/// The name of the process's own program in every list of processes.
const OWN: &str = "/proc/self/exe";

/// Shuts this process in and keeps `order` in it to its end.
pub(super) fn run(walls: &Walls, order: &Order, inner: &[&str]) -> Result<Ended, ConfineError> {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    let folder = std::env::current_dir()
        .map_err(|error| ConfineError::lock("the working folder is not known", error))?;
    let sockets = outlet::bound_sockets();
    let flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    nix::sched::unshare(flags).map_err(|error| {
        ConfineError::lock("user namespaces are not to be had", io::Error::from(error))
    })?;
    let mapped = |file: &str, text: String| {
        fs::write(file, text)
            .map_err(|error| ConfineError::lock("the user cannot be taken along", error))
    };
    mapped("/proc/self/setgroups", "deny".to_owned())?;
    mapped("/proc/self/uid_map", format!("{0} {0} 1", uid.as_raw()))?;
    mapped("/proc/self/gid_map", format!("{0} {0} 1", gid.as_raw()))?;
    Builder { walls }.build(&sockets)?;
    // The one it stood in may lie under a new mount by now.
    std::env::set_current_dir(&folder).map_err(|error| {
        ConfineError::lock(format!("`{}` cannot be entered", names(&folder)), error)
    })?;
    start(walls, order, inner)
}

/// Starts the keeper inside, and waits for the end it tells.
fn start(walls: &Walls, order: &Order, inner: &[&str]) -> Result<Ended, ConfineError> {
    let waiting = |error: Errno| ConfineError::Wait(error.into());
    let (told, tell) = rustix::pipe::pipe().map_err(waiting)?;
    let (faults, fault) = rustix::pipe::pipe().map_err(waiting)?;
    let (mut told, mut faults, mut fault) =
        (File::from(told), File::from(faults), File::from(fault));
    for kept in [&told, &faults, &fault] {
        close_on_exec(kept).map_err(waiting)?;
    }
    let signals = Signals::block().map_err(ConfineError::Wait)?;
    let mut command = Command::new(OWN);
    command
        .args(inner)
        .arg(tell.as_raw_fd().to_string())
        .arg("--")
        .arg(&order.program)
        .args(&order.args);
    let inside = walls.clone();
    let started = keeper::start(&mut command, &signals, move || {
        let shut = shut(&inside);
        if let Err(error) = &shut {
            // Only a number comes through by itself.
            let _ = fault.write_all(told_whole(error).as_bytes());
        }
        shut.map_err(|_| io::Error::from_raw_os_error(libc::EPERM))
    });
    drop((tell, command));
    let child = match started {
        Ok(child) => child,
        Err(source) => {
            let mut what = String::new();
            // Without words of its own the number has to do.
            let _ = faults.read_to_string(&mut what);
            return Err(match what.is_empty() {
                true => ConfineError::Start {
                    program: PathBuf::from(OWN),
                    source,
                },
                false => ConfineError::lock("the namespace cannot be shut", io::Error::other(what)),
            });
        }
    };
    // Nothing of this process is needed any more but its waiting.
    drop_privileges(CapabilitySet::empty())?;
    let ended = signals.wait(child, || {
        // It is not reaped yet, so the number is still its own; with it all others end.
        let _ = kill_process(child, Signal::KILL);
    })?;
    let mut bytes = Vec::new();
    // One that was killed has told nothing: then its own end is the program's.
    let _ = told.read_to_end(&mut bytes);
    Ok(Ended::decode(&bytes).unwrap_or(ended))
}

fn told_whole(error: &ConfineError) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

fn close_on_exec(file: &File) -> Result<(), Errno> {
    let flags = rustix::io::fcntl_getfd(file)?;
    rustix::io::fcntl_setfd(file, flags | rustix::io::FdFlags::CLOEXEC)
}

/// What the first process of the namespace does before it becomes the keeper.
fn shut(walls: &Walls) -> Result<(), ConfineError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount::mount("proc", "/proc", "proc", flags, None)
        .map_err(|error| ConfineError::lock("a process list of its own is refused", error))?;
    for part in SYSTEM_PARTS {
        let path = Path::new("/proc").join(part);
        if path
            .symlink_metadata()
            .is_ok_and(|found| !found.is_symlink())
        {
            bind(&path, &path)?;
            make_read_only(&path, flags)?;
        }
    }
    // The superuser can make no namespace in this one without it. It gives a file capabilities, which count for nothing
    // here, and only where it may be written.
    let kept = match walls.layered {
        true => CapabilitySet::empty(),
        false => CapabilitySet::SETFCAP,
    };
    drop_privileges(kept)?;
    if walls.layered {
        // The namespace holds by itself; an old system has nothing to lay on top.
        let _ = landlock::restrict(walls, landlock::Extent::OnTop);
    }
    Ok(())
}

fn bind(from: &Path, to: &Path) -> Result<(), ConfineError> {
    mount::mount_bind_recursive(from, to)
        .map_err(|error| ConfineError::lock(format!("`{}` cannot be bound", names(to)), error))
}

fn make_read_only(path: &Path, flags: MountFlags) -> Result<(), ConfineError> {
    remount(path, flags | MountFlags::RDONLY)
        .map_err(|error| ConfineError::lock(format!("`{}` cannot be closed", names(path)), error))
}

fn remount(path: &Path, flags: MountFlags) -> Result<(), Errno> {
    mount::mount_remount(path, flags | MountFlags::BIND, c"")
}

/// Makes the mounts.
struct Builder<'w> {
    walls: &'w Walls,
}

impl Builder<'_> {
    fn build(&self, sockets: &[PathBuf]) -> Result<(), ConfineError> {
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        mount::mount_change("/", private)
            .map_err(|error| ConfineError::lock("the mounts cannot be made private", error))?;
        let stage = &self.walls.stage;
        memory(stage, 0o700)?;
        let devices = stage.join("dev");
        make_folder(&devices, 0o755)?;
        self.make_devices(&devices)?;
        for path in &self.walls.writable {
            bind(path, path)?;
        }
        let listed = mounts()?;
        for mount in listed.iter().filter(|mount| !mount.path.starts_with(stage)) {
            mount.close()?;
        }
        for path in &self.walls.writable {
            self.open(path, &listed)?;
        }
        mount::mount_move(&devices, "/dev")
            .map_err(|error| ConfineError::lock("the devices cannot be put in place", error))?;
        mount::unmount(stage, UnmountFlags::DETACH)
            .map_err(|error| ConfineError::lock("the stage cannot be cleared", error))?;
        self.cover_all(sockets)?;
        // Only the folder itself: the terminals and the memory in it are its own.
        make_read_only(Path::new("/dev"), MountFlags::NOSUID)?;
        self.verify()
    }

    /// Covers what is not to be read, and what leads out.
    fn cover_all(&self, sockets: &[PathBuf]) -> Result<(), ConfineError> {
        let empty = Path::new("/dev/empty");
        make_file(empty, 0)?;
        // Opened before anything above them is covered.
        let kept: Vec<(PathBuf, File)> = self
            .walls
            .writable
            .iter()
            .chain(&self.walls.readable)
            .map(|path| Ok((path.clone(), hold(path)?)))
            .collect::<Result<_, ConfineError>>()?;
        for path in &self.walls.unreadable {
            self.cover(path, empty, &kept)?;
        }
        for path in self.walls.sealed.iter().chain(sockets) {
            let is_own = self.walls.writable.iter().any(|own| path.starts_with(own));
            // What is gone or covered by now leads nowhere.
            if !is_own && path.symlink_metadata().is_ok() {
                self.cover(path, empty, &kept)?;
            }
        }
        fs::remove_file(empty)
            .map_err(|error| ConfineError::lock("the stage cannot be cleared", error))
    }

    /// The devices a terminal program needs, terminals of its own, and memory to share among its own.
    fn make_devices(&self, at: &Path) -> Result<(), ConfineError> {
        memory(at, 0o755)?;
        for name in DEVICES {
            let from = Path::new("/dev").join(name);
            if from.symlink_metadata().is_ok() {
                let to = at.join(name);
                make_file(&to, 0o666)?;
                mount::mount_bind(&from, &to).map_err(|error| {
                    ConfineError::lock(format!("`{}` cannot be bound", names(&from)), error)
                })?;
            }
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, at.join(name))
                .map_err(|error| ConfineError::lock("the devices cannot be made", error))?;
        }
        let (terminals, shared) = (at.join("pts"), at.join("shm"));
        make_folder(&terminals, 0o755)?;
        make_folder(&shared, 0o777)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        mount::mount("devpts", &terminals, "devpts", flags, options)
            .map_err(|error| ConfineError::lock("terminals of its own are refused", error))?;
        memory(&shared, 0o1777)
    }

    /// Takes the read-only flag from a place that had none.
    fn open(&self, path: &Path, listed: &[Mount]) -> Result<(), ConfineError> {
        let flags = listed
            .iter()
            .rfind(|mount| mount.path == path)
            .map_or(MountFlags::empty(), |mount| mount.flags);
        if flags.contains(MountFlags::RDONLY) {
            // It was closed before: it stays what it was.
            return Ok(());
        }
        remount(path, flags | MountFlags::NODEV | MountFlags::NOSUID).map_err(|error| {
            ConfineError::lock(format!("`{}` cannot be opened", names(path)), error)
        })
    }

    /// Covers a file or a folder; what is kept inside it is put back.
    fn cover(
        &self,
        path: &Path,
        empty: &Path,
        kept: &[(PathBuf, File)],
    ) -> Result<(), ConfineError> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        if !path.is_dir() {
            return match mount::mount_bind(empty, path) {
                // A socket that is gone by now leads nowhere.
                Err(Errno::NOENT) => Ok(()),
                Err(error) => Err(uncovered(path, error)),
                Ok(()) => make_read_only(path, flags),
            };
        }
        let inside = kept.iter().filter(|(kept, _)| kept.starts_with(path));
        let mut inside: Vec<_> = inside.collect();
        // One may lie in another one.
        inside.sort_by_key(|(kept, _)| kept);
        // One may pass through to what is kept, and list nothing.
        memory(path, 0o111)?;
        for (kept, held) in inside {
            let above = kept.parent().unwrap_or(path);
            if !above.exists() {
                make_folders(above)?;
            }
            if !kept.exists() {
                match held.metadata().is_ok_and(|found| found.is_dir()) {
                    true => make_folder(kept, 0o700)?,
                    false => make_file(kept, 0o600)?,
                }
            }
            let from = format!("/proc/self/fd/{}", held.as_raw_fd());
            bind(Path::new(&from), kept)?;
        }
        make_read_only(path, flags)
    }

    /// Sees for itself that nothing is open but what is to be.
    fn verify(&self) -> Result<(), ConfineError> {
        for mount in mounts()? {
            let is_ours = mount.path.starts_with("/dev")
                || self
                    .walls
                    .writable
                    .iter()
                    .any(|path| mount.path.starts_with(path));
            if is_ours {
                continue;
            }
            // What cannot be reached, or lies under another one, is as good as closed.
            let is_open = rustix::fs::statvfs(&mount.path)
                .is_ok_and(|found| !found.f_flag.contains(StatVfsMountFlags::RDONLY));
            if is_open {
                return Err(ConfineError::lock(
                    format!("`{}` is still writable", names(&mount.path)),
                    io::Error::from(io::ErrorKind::PermissionDenied),
                ));
            }
        }
        Ok(())
    }
}

fn hold(path: &Path) -> Result<File, ConfineError> {
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| ConfineError::lock(format!("`{}` cannot be held", names(path)), error))
}

/// A file system in memory at a folder.
fn memory(at: &Path, mode: u32) -> Result<(), ConfineError> {
    let options = std::ffi::CString::new(format!("mode={mode:o}")).unwrap_or_default();
    let flags = MountFlags::NOSUID;
    mount::mount("tmpfs", at, "tmpfs", flags, options.as_c_str())
        .map_err(|error| uncovered(at, error))
}

fn uncovered(path: &Path, error: Errno) -> ConfineError {
    ConfineError::lock(format!("`{}` cannot be covered", names(path)), error)
}

fn make_folder(path: &Path, mode: u32) -> Result<(), ConfineError> {
    DirBuilder::new()
        .mode(mode)
        .create(path)
        .map_err(|error| ConfineError::lock(format!("`{}` cannot be made", names(path)), error))
}

fn make_folders(path: &Path) -> Result<(), ConfineError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o111)
        .create(path)
        .map_err(|error| ConfineError::lock(format!("`{}` cannot be made", names(path)), error))
}

fn make_file(path: &Path, mode: u32) -> Result<(), ConfineError> {
    let made = File::create_new(path)
        .and_then(|file| file.set_permissions(fs::Permissions::from_mode(mode)));
    made.map_err(|error| ConfineError::lock(format!("`{}` cannot be made", names(path)), error))
}

/// A mount as the system lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    path: PathBuf,
    flags: MountFlags,
}

impl Mount {
    /// Makes it read-only, its other flags as they are: they cannot be taken away here.
    fn close(&self) -> Result<(), ConfineError> {
        let mut flags = self.flags | MountFlags::RDONLY;
        if self.path != Path::new("/dev") && !self.path.starts_with("/dev/") {
            flags |= MountFlags::NODEV;
        }
        match remount(&self.path, flags) {
            // Nobody of ours can get there, or something else lies on top and is listed itself.
            Ok(()) | Err(Errno::ACCESS | Errno::NOENT | Errno::INVAL | Errno::STALE) => Ok(()),
            Err(error) => Err(ConfineError::lock(
                format!("`{}` cannot be closed", names(&self.path)),
                error,
            )),
        }
    }
}

fn mounts() -> Result<Vec<Mount>, ConfineError> {
    let listed = fs::read_to_string("/proc/self/mountinfo")
        .map_err(|error| ConfineError::lock("the mounts cannot be listed", error))?;
    Ok(listed.lines().filter_map(parse_mount).collect())
}

/// Reads a line of `mountinfo`: the fifth field is the place, the sixth its flags.
fn parse_mount(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(4);
    let (path, options) = (fields.next()?, fields.next()?);
    let mut flags = MountFlags::empty();
    for option in options.split(',') {
        flags |= match option {
            "ro" => MountFlags::RDONLY,
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some(Mount {
        path: PathBuf::from(unescape(path)),
        flags,
    })
}

/// Blanks and the like stand in three octal digits behind a backslash.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let escaped = more
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        rest = match escaped {
            Some(byte) => {
                bytes.push(byte);
                &more[3..]
            }
            None => {
                bytes.push(*first);
                more
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_with_its_flags_and_its_blanks() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402/a rw,nosuid,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let expected = Mount {
            path: "/mnt 2/a".into(),
            flags: MountFlags::NOSUID | MountFlags::NOATIME,
        };
        assert_eq!(parse_mount(line), Some(expected));
        assert_eq!(parse_mount("36 35 98:0 /"), None);
        assert_eq!(unescape(r"a\b\134c\09"), r"a\b\c\09");
    }
}
