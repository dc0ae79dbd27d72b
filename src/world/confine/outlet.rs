//! The sockets of this machine that have a name in the file system: each may lead to a program that is not shut in.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Every socket a program listens on that is there under its name, in the order of their names.
pub fn bound_sockets() -> Vec<PathBuf> {
    // Where the table cannot be read, none is known.
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let mut found: Vec<PathBuf> = names_in(&table)
        .map(PathBuf::from)
        .filter(|path| {
            path.symlink_metadata()
                .is_ok_and(|found| found.file_type().is_socket())
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The number of the person this process runs for.
pub fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The folder this system gives the person's own services.
pub fn own_runtime() -> PathBuf {
    Path::new("/run/user").join(user().to_string())
}

/// The absolute names in the kernel's table; an abstract one begins with `@`.
fn names_in(table: &str) -> impl Iterator<Item = &str> {
    table.lines().skip(1).filter_map(|line| {
        let at = line.find(" /")?;
        // The name is the last column and may hold blanks; none of the columns before it begins with a slash.
        Some(&line[at + 1..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_blanks_and_an_abstract_one_is_none() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 7031 /run/a b.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 7032\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 7033 @/tmp/x\n";
        assert_eq!(names_in(table).collect::<Vec<_>>(), ["/run/a b.sock"]);
    }

    #[test]
    fn a_socket_that_is_listened_on_is_found() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&path)?;
        assert!(bound_sockets().contains(&path));
        Ok(())
    }
}
