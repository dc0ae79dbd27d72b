//! Ways to write that only a program has: each a few system calls, run in a process of its own.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, MemfdFlags, Mode, OFlags, RenameFlags, Timespec,
    Timestamps, XattrFlags,
};

use crate::world::{Fault, Outcome, UNAVAILABLE, say};

/// Where a way is tried.
struct Place {
    file: PathBuf,
    repo: PathBuf,
    scratch: PathBuf,
}

type Way = fn(&Place) -> Outcome;

/// Name and function of each.
const WAYS: &[(&str, Way)] = &[
    ("open for writing", |p| write_to(&p.file)),
    ("open and truncate for reading", |p| {
        let flags = OFlags::RDONLY | OFlags::TRUNC;
        let opened = rustix::fs::open(&p.file, flags, Mode::empty());
        Ok(opened.map(drop)?)
    }),
    ("truncate", |p| {
        let path = CString::new(p.file.as_os_str().as_bytes())?;
        call(|| raw(libc::SYS_truncate, &[path.as_ptr() as usize, 1]))
    }),
    ("open relative to the folder", |p| {
        let folder = File::open(&p.repo)?;
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let file = rustix::fs::openat(&folder, "a.txt", flags, Mode::from(0o644))?;
        Ok(File::from(file).write_all(b"x")?)
    }),
    ("open again through its descriptor", |p| {
        let file = File::open(&p.file)?;
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        write_to(Path::new(&again))
    }),
    ("open again through a held path", |p| {
        let held = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(&p.file)?;
        let again = format!("/proc/self/fd/{}", held.as_raw_fd());
        write_to(Path::new(&again))
    }),
    ("a file without a name, given one", |p| {
        let flags = OFlags::TMPFILE | OFlags::WRONLY;
        let file = rustix::fs::open(&p.repo, flags, Mode::from(0o600))?;
        let held = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(rustix::fs::linkat(
            CWD,
            held,
            CWD,
            p.repo.join("named"),
            AtFlags::SYMLINK_FOLLOW,
        )?)
    }),
    ("exchange with a file outside", |p| {
        let own = p.scratch.join("own");
        fs::write(&own, "mine")?;
        Ok(rustix::fs::renameat_with(
            CWD,
            &own,
            CWD,
            &p.file,
            RenameFlags::EXCHANGE,
        )?)
    }),
    ("exchange inside", |p| {
        let other = p.repo.join("b.txt");
        Ok(rustix::fs::renameat_with(
            CWD,
            &other,
            CWD,
            &p.file,
            RenameFlags::EXCHANGE,
        )?)
    }),
    ("link of a descriptor out", |p| {
        let file = File::open(&p.file)?;
        let held = format!("/proc/self/fd/{}", file.as_raw_fd());
        let out = p.scratch.join("out");
        rustix::fs::linkat(CWD, held, CWD, &out, AtFlags::SYMLINK_FOLLOW)?;
        write_to(&out)
    }),
    ("map and write", |p| {
        let file = OpenOptions::new().read(true).write(true).open(&p.file)?;
        Ok(file.write_all_at(b"x", 0)?)
    }),
    ("a private map, protected anew", map_anew),
    ("allocate", |p| {
        let file = OpenOptions::new().write(true).open(&p.file)?;
        Ok(rustix::fs::fallocate(
            &file,
            FallocateFlags::empty(),
            0,
            8192,
        )?)
    }),
    ("copy between files", |p| {
        let from = File::open(p.repo.join("b.txt"))?;
        let to = OpenOptions::new().write(true).open(&p.file)?;
        rustix::fs::copy_file_range(&from, None, &to, None, 3)?;
        Ok(())
    }),
    ("a program in memory that writes", memory_program),
    ("a node", |p| {
        let made = rustix::fs::mknodat(
            CWD,
            p.repo.join("fifo"),
            FileType::Fifo,
            Mode::from(0o600),
            0,
        );
        Ok(made?)
    }),
    ("a device of its own", |p| {
        let disk = p.scratch.join("disk");
        let number = rustix::fs::makedev(1, 3);
        rustix::fs::mknodat(
            CWD,
            &disk,
            FileType::CharacterDevice,
            Mode::from(0o600),
            number,
        )?;
        write_to(&disk)?;
        // It can open the device it made: as good as any.
        Ok(fs::write(p.repo.join("by-device"), "x")?)
    }),
    ("a socket", |p| {
        Ok(UnixListener::bind(p.repo.join("s")).map(drop)?)
    }),
    ("mode", |p| {
        Ok(fs::set_permissions(
            &p.file,
            fs::Permissions::from_mode(0o600),
        )?)
    }),
    ("mode by a descriptor that reads", |p| {
        Ok(rustix::fs::fchmod(File::open(&p.file)?, Mode::from(0o600))?)
    }),
    ("mode by the newest call", |p| {
        let path = CString::new(p.file.as_os_str().as_bytes())?;
        let words = [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0o600, 0];
        call(|| raw(452, &words))
    }),
    ("owner", |p| {
        Ok(rustix::fs::chown(
            &p.file,
            None,
            Some(rustix::process::getgid()),
        )?)
    }),
    ("owner by a descriptor that reads", |p| {
        Ok(rustix::fs::fchown(
            File::open(&p.file)?,
            None,
            Some(rustix::process::getgid()),
        )?)
    }),
    ("times", |p| {
        Ok(rustix::fs::utimensat(
            CWD,
            &p.file,
            &times(),
            AtFlags::empty(),
        )?)
    }),
    ("times by a descriptor that reads", |p| {
        Ok(rustix::fs::futimens(File::open(&p.file)?, &times())?)
    }),
    ("an attribute", |p| {
        Ok(rustix::fs::setxattr(
            &p.file,
            "user.x",
            b"y",
            XattrFlags::empty(),
        )?)
    }),
    ("an attribute by a descriptor that reads", |p| {
        let file = File::open(&p.file)?;
        Ok(rustix::fs::fsetxattr(
            &file,
            "user.x",
            b"y",
            XattrFlags::empty(),
        )?)
    }),
    ("an attribute of a folder", |p| {
        Ok(rustix::fs::setxattr(
            &p.repo,
            "user.x",
            b"y",
            XattrFlags::empty(),
        )?)
    }),
    ("flags by a descriptor that reads", |p| {
        let file = File::open(&p.file)?;
        let flags = rustix::fs::ioctl_getflags(&file)?;
        Ok(rustix::fs::ioctl_setflags(
            &file,
            flags | rustix::fs::IFlags::NOATIME,
        )?)
    }),
    ("a ring of calls", ring),
    ("a ring of calls sets an attribute", ring_attribute),
    ("a handle through a folder that may be written", by_handle),
    ("a socket of somebody outside", |_| {
        ask(UnixStream::connect(variable("OUTSIDE_SOCKET")?)?)
    }),
    ("an abstract socket of somebody outside", |_| {
        let name = SocketAddr::from_abstract_name(variable("OUTSIDE_NAME")?)?;
        ask(UnixStream::connect_addr(&name)?)
    }),
    ("the memory of somebody outside", |p| {
        let memory = format!("/proc/{}/mem", variable("STANDER")?);
        drop(OpenOptions::new().write(true).open(memory)?);
        // Who has its memory has its hands.
        Ok(fs::write(p.repo.join("by-memory"), "x")?)
    }),
    ("another root, then back", |p| {
        rustix::process::chroot(&p.scratch)?;
        for _ in 0..64 {
            rustix::process::chdir("..")?;
        }
        rustix::process::chroot(".")?;
        write_to(&p.file)
    }),
];

/// The names of all.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    WAYS.iter().map(|(name, _)| *name)
}

/// Tries one, in a process of its own.
pub(crate) fn run(name: &str) -> ExitCode {
    let place = match place() {
        Ok(place) => place,
        Err(error) => {
            say(&error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let Some((_, way)) = WAYS.iter().find(|(known, _)| *known == name) else {
        return ExitCode::FAILURE;
    };
    match way(&place) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{name}: {error}"));
            u8::try_from(UNAVAILABLE).map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}

fn place() -> Result<Place, Fault> {
    let repo = PathBuf::from(variable("REPO")?);
    Ok(Place {
        file: repo.join("a.txt"),
        scratch: variable("TMPDIR")?.into(),
        repo,
    })
}

fn variable(name: &str) -> Result<String, Fault> {
    std::env::var(name).map_err(|_| format!("{name} is not set").into())
}

fn write_to(path: &Path) -> Outcome {
    Ok(OpenOptions::new().write(true).open(path)?.write_all(b"x")?)
}

fn times() -> Timestamps {
    let then = Timespec {
        tv_sec: 1_000_000_000,
        tv_nsec: 0,
    };
    Timestamps {
        last_access: then,
        last_modification: then,
    }
}

/// Asks somebody outside to write, and waits until it is done.
fn ask(mut stream: UnixStream) -> Outcome {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.as_str() {
        "done" => Ok(()),
        _ => Err("no answer".into()),
    }
}

fn call(make: impl FnOnce() -> i64) -> Outcome {
    match make() {
        0.. => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

fn raw(number: i64, words: &[usize]) -> i64 {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    #[expect(
        unsafe_code,
        reason = "a call that no crate has is tried by its number"
    )]
    // SAFETY: what the words point to lives as long as the call.
    unsafe {
        libc::syscall(number, word(0), word(1), word(2), word(3), word(4))
    }
}

/// A private map never reaches the file; a shared one that was opened for reading is made writable.
fn map_anew(place: &Place) -> Outcome {
    let file = File::open(&place.file)?;
    let map = raw(
        libc::SYS_mmap,
        &[
            0,
            4096,
            libc::PROT_READ as usize,
            libc::MAP_SHARED as usize,
            file.as_raw_fd() as usize,
        ],
    );
    if map < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    call(|| {
        raw(
            libc::SYS_mprotect,
            &[usize::try_from(map).unwrap_or(0), 4096, protection],
        )
    })
}

/// The shell, started from memory.
fn memory_program(place: &Place) -> Outcome {
    let memory = rustix::fs::memfd_create("program", MemfdFlags::empty())?;
    let mut file = File::from(memory);
    file.write_all(&fs::read("/bin/sh")?)?;
    let held = format!("/proc/self/fd/{}", file.as_raw_fd());
    let script = format!("echo x > '{}'", place.file.display());
    Err(Command::new(held).arg("-c").arg(script).exec().into())
}

/// Opens and writes through a ring: no filter of system calls sees it.
fn ring(place: &Place) -> Outcome {
    use io_uring::{opcode, types};
    let mut ring = io_uring::IoUring::new(4)?;
    let path = CString::new(place.file.as_os_str().as_bytes())?;
    let open = opcode::OpenAt::new(types::Fd(libc::AT_FDCWD), path.as_ptr())
        .flags(libc::O_WRONLY)
        .build();
    let opened = submit(&mut ring, &open)?;
    let text = b"by the ring";
    let length = u32::try_from(text.len())?;
    let write = opcode::Write::new(types::Fd(opened), text.as_ptr(), length).build();
    submit(&mut ring, &write).map(drop)
}

fn ring_attribute(place: &Place) -> Outcome {
    use io_uring::{opcode, types};
    let mut ring = io_uring::IoUring::new(4)?;
    let file = File::open(&place.file)?;
    let (name, value) = (c"user.ring", b"y");
    let set = opcode::FSetXattr::new(
        types::Fd(file.as_raw_fd()),
        name.as_ptr(),
        value.as_ptr().cast(),
        1,
    );
    submit(&mut ring, &set.build()).map(drop)
}

fn submit(ring: &mut io_uring::IoUring, entry: &io_uring::squeue::Entry) -> Result<i32, Fault> {
    #[expect(unsafe_code, reason = "a ring takes addresses")]
    // SAFETY: what the entry points to outlives the wait below.
    unsafe {
        ring.submission().push(entry)?;
    }
    ring.submit_and_wait(1)?;
    let done = ring.completion().next().ok_or("no completion")?.result();
    match done {
        0.. => Ok(done),
        fault => Err(std::io::Error::from_raw_os_error(-fault).into()),
    }
}

/// A handle of the file, opened through a mount that may be written: what a mount forbids, another one of the same
/// file system may allow.
fn by_handle(place: &Place) -> Outcome {
    #[repr(C)]
    struct Handle {
        length: u32,
        kind: i32,
        bytes: [u8; 128],
    }
    let mut handle = Handle {
        length: 128,
        kind: 0,
        bytes: [0; 128],
    };
    let mut mount = 0_i32;
    let path = CString::new(place.file.as_os_str().as_bytes())?;
    let words = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        (&raw mut handle) as usize,
        (&raw mut mount) as usize,
        0,
    ];
    call(|| raw(libc::SYS_name_to_handle_at, &words))?;
    let through = File::open(&place.scratch)?;
    let flags = (libc::O_WRONLY | libc::O_TRUNC) as usize;
    let words = [
        through.as_fd().as_raw_fd() as usize,
        (&raw mut handle) as usize,
        flags,
    ];
    call(|| raw(libc::SYS_open_by_handle_at, &words))
}
