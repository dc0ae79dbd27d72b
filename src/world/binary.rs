//! Whether a program on the search path may be trusted to be what its name says (systems.md C.5).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::program::{self, ProgramError};
use super::settings_file;

/// Groups that may write everywhere anyway.
const ADMINISTRATIVE: [&str; 4] = ["root", "wheel", "admin", "sudo"];
/// Most links followed from one name.
const HOPS: usize = 40;
const OTHERS: u32 = 0o002;
const GROUP: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// Why a program is not started. None of the sentences holds a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// No folder of the search path holds it.
    #[error("its program is not on the search path")]
    Missing,
    /// The search path leads to it by a relative folder.
    #[error("the search path finds its program by a relative folder")]
    Relative,
    /// A link leads nowhere.
    #[error("its program is a link that leads nowhere")]
    Dangling,
    /// It cannot be run.
    #[error("its program cannot be run")]
    Unfit,
    /// Somebody else could replace it.
    #[error("its program, or a folder on the way to it, can be written by others")]
    Writable,
    /// It lies where the work is.
    #[error("its program lies in the folder that is worked on")]
    Inside,
}

/// Finds the program of this name as a shell would, and refuses it unless only its owner or an administrator could have
/// put it there and it lies, by every link on the way, outside `folders`.
///
/// # Errors
///
/// Why it is not to be started.
pub fn find(name: &str, path: Option<&OsStr>, folders: &[&Path]) -> Result<PathBuf, BinaryError> {
    let hit = hit(name, path)?;
    let groups = administrative();
    let mut at = hit.clone();
    for _ in 0..HOPS {
        let parent = at.parent().ok_or(BinaryError::Unfit)?;
        let parent = parent.canonicalize().map_err(|_| BinaryError::Dangling)?;
        let here = parent.join(at.file_name().ok_or(BinaryError::Unfit)?);
        if is_inside(&here, folders) || is_inside(&at, folders) {
            return Err(BinaryError::Inside);
        }
        is_safe(&here, &groups)?;
        match fs::read_link(&here) {
            Ok(target) => at = parent.join(target),
            Err(_) => {
                program::find(hit.as_os_str(), path, Path::new("/")).map_err(
                    |error| match error {
                        ProgramError::Missing(_) => BinaryError::Dangling,
                        _ => BinaryError::Unfit,
                    },
                )?;
                return Ok(hit);
            }
        }
    }
    Err(BinaryError::Dangling)
}

/// The first place of the search path that has the name, whatever stands there.
fn hit(name: &str, path: Option<&OsStr>) -> Result<PathBuf, BinaryError> {
    for folder in std::env::split_paths(path.unwrap_or_default()) {
        let candidate = folder.join(name);
        let Ok(found) = fs::symlink_metadata(&candidate) else {
            continue;
        };
        if found.is_dir() {
            continue;
        }
        if !folder.is_absolute() {
            return Err(BinaryError::Relative);
        }
        if found.is_symlink() && fs::metadata(&candidate).is_err() {
            return Err(BinaryError::Dangling);
        }
        return Ok(candidate);
    }
    Err(BinaryError::Missing)
}

fn is_inside(path: &Path, folders: &[&Path]) -> bool {
    folders
        .iter()
        .any(|folder| path.starts_with(folder) || settings_file::is_inside(path, folder))
}

/// Whether nobody but its owner and administrators can change what stands at this path.
fn is_safe(path: &Path, groups: &HashSet<u32>) -> Result<(), BinaryError> {
    let mut below: Option<fs::Metadata> = None;
    for part in path.ancestors() {
        let found = fs::symlink_metadata(part).map_err(|_| BinaryError::Dangling)?;
        let mode = found.mode();
        // The mode of a link says nothing; what it leads to is looked at on its own.
        let by_others = !found.is_symlink() && mode & OTHERS != 0;
        let by_group = !found.is_symlink() && mode & GROUP != 0 && !groups.contains(&found.gid());
        if by_others || by_group {
            // In a sticky folder only its owner and the file's can put another one in the file's place.
            let own = rustix::process::geteuid().as_raw();
            let is_kept = found.is_dir()
                && mode & STICKY != 0
                && below
                    .as_ref()
                    .is_some_and(|below| below.uid() == 0 || below.uid() == own);
            if !is_kept {
                return Err(BinaryError::Writable);
            }
        }
        below = Some(found);
    }
    Ok(())
}

/// The numbers of the administrative groups.
fn administrative() -> HashSet<u32> {
    let listed = fs::read_to_string("/etc/group").unwrap_or_default();
    let named = listed.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let is_one = ADMINISTRATIVE.contains(&fields.next()?);
        let number = fields.nth(1)?.parse().ok()?;
        is_one.then_some(number)
    });
    named.chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    type Test = Result<(), Box<dyn std::error::Error>>;

    /// A folder that only we can write, with a program `agent` in `bin`.
    fn ground() -> std::io::Result<(tempfile::TempDir, PathBuf)> {
        let root = tempfile::tempdir()?;
        let base = root.path().canonicalize()?;
        for name in ["bin", "repo", "lib"] {
            fs::create_dir(base.join(name))?;
            set(&base.join(name), 0o755)?;
        }
        put(&base.join("bin/agent"))?;
        Ok((root, base))
    }

    fn put(path: &Path) -> std::io::Result<()> {
        fs::write(path, "#!/bin/sh\n")?;
        set(path, 0o755)
    }

    fn set(path: &Path, mode: u32) -> std::io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    fn looked(base: &Path, folder: &str) -> Result<PathBuf, BinaryError> {
        find(
            "agent",
            Some(base.join(folder).as_os_str()),
            &[&base.join("repo")],
        )
    }

    #[test]
    fn a_program_of_ones_own_is_found_also_by_a_link() -> Test {
        let (_root, base) = ground()?;
        assert_eq!(looked(&base, "bin"), Ok(base.join("bin/agent")));
        symlink("../bin/agent", base.join("lib/agent"))?;
        assert_eq!(looked(&base, "lib"), Ok(base.join("lib/agent")));
        Ok(())
    }

    #[test]
    fn what_lies_in_the_work_is_refused_directly_and_through_links() -> Test {
        let (_root, base) = ground()?;
        put(&base.join("repo/agent"))?;
        assert_eq!(looked(&base, "repo"), Err(BinaryError::Inside));
        symlink("../repo/agent", base.join("lib/agent"))?;
        assert_eq!(looked(&base, "lib"), Err(BinaryError::Inside));
        // A link in the work that leads out of it again is the work's choice too.
        fs::remove_file(base.join("repo/agent"))?;
        symlink("../bin/agent", base.join("repo/agent"))?;
        assert_eq!(looked(&base, "lib"), Err(BinaryError::Inside));
        assert_eq!(looked(&base, "repo"), Err(BinaryError::Inside));
        fs::remove_file(base.join("lib/agent"))?;
        symlink("repo", base.join("shelf"))?;
        assert_eq!(looked(&base, "shelf"), Err(BinaryError::Inside));
        Ok(())
    }

    #[test]
    fn what_others_could_replace_is_refused_wherever_on_the_way() -> Test {
        let (_root, base) = ground()?;
        for (part, mode) in [("bin/agent", 0o757), ("bin", 0o777), ("bin", 0o757)] {
            set(&base.join(part), mode)?;
            assert_eq!(looked(&base, "bin"), Err(BinaryError::Writable), "{part}");
            set(&base.join(part), 0o755)?;
        }
        // A link in a safe folder does not make its target safe.
        symlink("../bin/agent", base.join("lib/agent"))?;
        set(&base.join("bin"), 0o757)?;
        assert_eq!(looked(&base, "lib"), Err(BinaryError::Writable));
        set(&base.join("bin"), 0o1777)?;
        assert_eq!(looked(&base, "lib"), Ok(base.join("lib/agent")));
        Ok(())
    }

    #[test]
    fn a_group_that_is_no_administrators_counts_as_others() -> Test {
        let (_root, base) = ground()?;
        let file = base.join("bin/agent");
        set(&file, 0o775)?;
        let found = fs::metadata(&file)?;
        let own = HashSet::from([found.gid()]);
        assert_eq!(is_safe(&file, &own), Ok(()));
        assert_eq!(is_safe(&file, &HashSet::new()), Err(BinaryError::Writable));
        Ok(())
    }

    #[test]
    fn a_relative_folder_and_a_link_to_nowhere_are_refused_where_they_come_first() -> Test {
        let (_root, base) = ground()?;
        symlink("nowhere", base.join("lib/agent"))?;
        assert_eq!(looked(&base, "lib"), Err(BinaryError::Dangling));
        let path = std::env::join_paths([base.join("lib"), base.join("bin")])?;
        assert_eq!(find("agent", Some(&path), &[]), Err(BinaryError::Dangling));
        // The tests run in the folder of the package, which has a `src`.
        assert_eq!(
            find("lib.rs", Some(OsStr::new("src")), &[]),
            Err(BinaryError::Relative)
        );
        assert_eq!(looked(&base, "repo"), Err(BinaryError::Missing));
        set(&base.join("bin/agent"), 0o644)?;
        assert_eq!(looked(&base, "bin"), Err(BinaryError::Unfit));
        Ok(())
    }
}
