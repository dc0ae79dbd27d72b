//! Landlock: what may be written, by path, for this process and all it starts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::{ConfineError, Walls, names};

/// The first version that covers every way to change a file's bytes and its place.
const LEAST: ABI = ABI::V3;
/// The newest one that is known here.
const BEST: ABI = ABI::V10;

/// Devices that carry no data anywhere.
const DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
];

/// How much is left to Landlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// It stands alone.
    Alone,
    /// It lies on top of a namespace, which has its own devices and covers what is not to be read.
    OnTop,
}

/// Restricts this process.
pub(super) fn restrict(walls: &Walls, extent: Extent) -> Result<(), ConfineError> {
    let failed = |error: RulesetError| {
        ConfineError::lock(
            "Landlock of Linux 6.2 or newer is not to be had",
            io::Error::other(error),
        )
    };
    let mut ruleset = ruleset().map_err(failed)?;
    let all = AccessFs::from_all(BEST);
    let read = AccessFs::from_read(BEST);
    for (path, access) in readable(walls, extent, read) {
        ruleset = allow(ruleset, &path, access)?;
    }
    for path in &walls.readable {
        ruleset = allow(ruleset, path, read)?;
    }
    for path in &walls.writable {
        ruleset = allow(ruleset, path, all)?;
    }
    let device = AccessFs::WriteFile | AccessFs::ReadFile | AccessFs::IoctlDev;
    for path in DEVICES {
        ruleset = allow(ruleset, Path::new(path), device)?;
    }
    match extent {
        // Those of the namespace: no terminal and no memory of anybody else is among them.
        Extent::OnTop => {
            ruleset = allow(ruleset, Path::new("/dev/pts"), device | AccessFs::ReadDir)?;
            ruleset = allow(ruleset, Path::new("/dev/shm"), all)?;
        }
        Extent::Alone => {
            if let Ok(own) = rustix::termios::ttyname(rustix::stdio::stdin(), Vec::new()) {
                let own = PathBuf::from(String::from_utf8_lossy(own.as_bytes()).into_owned());
                ruleset = allow(ruleset, &own, device)?;
            }
        }
    }
    let status = ruleset.restrict_self().map_err(failed)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(ConfineError::lock(
            "Landlock of Linux 6.2 or newer is not to be had",
            io::Error::from(io::ErrorKind::Unsupported),
        )),
        _ => Ok(()),
    }
}

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(BEST))?
        .scope(Scope::from_all(BEST))?
        .create()
}

/// Lets `path` and what is below it be used so. What is not there needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, ConfineError> {
    let Ok(found) = path.metadata() else {
        return Ok(ruleset);
    };
    let access = if found.is_dir() {
        access
    } else {
        access & AccessFs::from_file(BEST)
    };
    let failed = |error: &dyn std::fmt::Display| {
        ConfineError::lock(
            format!("Landlock takes no rule for `{}`", names(path)),
            io::Error::other(error.to_string()),
        )
    };
    let Ok(held) = PathFd::new(path) else {
        // What this process may not even look at it cannot write either.
        return Ok(ruleset);
    };
    ruleset
        .add_rule(PathBeneath::new(held, access))
        .map_err(|error| failed(&error))
}

/// What may be read: everything, but for what is not to be.
///
/// A rule can only allow. So beside the way to what is hidden each neighbour is allowed by itself; names can be listed
/// everywhere. What comes to be later beside the way cannot be read.
fn readable(
    walls: &Walls,
    extent: Extent,
    read: BitFlags<AccessFs>,
) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let root = PathBuf::from("/");
    if extent == Extent::OnTop || walls.unreadable.is_empty() {
        return vec![(root, read)];
    }
    let hidden: BTreeSet<&Path> = walls.unreadable.iter().map(PathBuf::as_path).collect();
    let ways: BTreeSet<&Path> = hidden
        .iter()
        .flat_map(|path| path.ancestors().skip(1))
        .collect();
    let mut rules = vec![(root, AccessFs::ReadDir.into())];
    for way in ways.iter().filter(|way| !within(way, &hidden)) {
        for entry in fs::read_dir(way).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if is_link || hidden.contains(path.as_path()) || ways.contains(path.as_path()) {
                continue;
            }
            rules.push((path, read));
        }
    }
    rules
}

/// Whether a path is one of these, or below one.
fn within(path: &Path, these: &BTreeSet<&Path>) -> bool {
    path.ancestors().any(|above| these.contains(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_the_way_to_what_is_hidden_everything_is_readable() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let home = folder.path().canonicalize()?;
        for name in ["keys", "other", ".config/cloud", ".config/editor"] {
            fs::create_dir_all(home.join(name))?;
        }
        let walls = Walls {
            unreadable: vec![home.join("keys"), home.join(".config/cloud")],
            ..Walls::default()
        };
        let read = AccessFs::from_read(BEST);
        let rules = readable(&walls, Extent::Alone, read);
        let inside: Vec<_> = rules
            .iter()
            .filter(|(path, _)| path.starts_with(&home))
            .map(|(path, access)| (path.strip_prefix(&home).unwrap_or(path), *access))
            .collect();
        let expected = [
            (Path::new("other"), read),
            (Path::new(".config/editor"), read),
        ];
        assert_eq!(inside.len(), 2, "{inside:?}");
        for one in expected {
            assert!(inside.contains(&one), "{inside:?}");
        }
        assert_eq!(rules[0], (PathBuf::from("/"), AccessFs::ReadDir.into()));
        let all = readable(&walls, Extent::OnTop, read);
        assert_eq!(all, [(PathBuf::from("/"), read)]);
        Ok(())
    }
}
