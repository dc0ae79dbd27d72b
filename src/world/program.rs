//! Programs on disk: finding the one a command means, and seeing beforehand why it could not start.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Why a program cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The command names no program.
    #[error("the command is empty")]
    Empty,
    /// No folder of the search path holds it.
    #[error("`{}` is not on the search path", .0.display())]
    NotOnPath(OsString),
    /// The named file is not there.
    #[error("`{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// The name leads to a folder.
    #[error("`{}` is a folder, not a program", .0.display())]
    Folder(PathBuf),
    /// The file is there, but may not be run.
    #[error("`{}` is not executable", .0.display())]
    NotExecutable(PathBuf),
    /// The script names an interpreter that cannot be run.
    #[error("the interpreter `{}` of the script `{}` is missing or not executable", .interpreter.display(), .script.display())]
    Interpreter {
        /// The script.
        script: PathBuf,
        /// What its first line asks for.
        interpreter: PathBuf,
    },
}

/// Finds the program a command's first word means: absolute, executable, and its interpreter there too.
///
/// A word with a slash is taken from `cwd`, any other one from the absolute folders of `path`: a relative folder there
/// would let a repository choose what is started (0.3).
pub fn find(word: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, ProgramError> {
    if word.is_empty() {
        return Err(ProgramError::Empty);
    }
    let program = if word.as_bytes().contains(&b'/') {
        cwd.join(word)
    } else {
        search(word, path)?
    };
    check(&program)?;
    check_interpreter(&program, path, cwd)?;
    Ok(program)
}

/// As a shell does: the first executable file wins; one that may not be run is only named when there is no other.
fn search(word: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let mut unfit = None;
    for folder in std::env::split_paths(path.unwrap_or_default()) {
        if !folder.is_absolute() {
            continue;
        }
        let candidate = folder.join(word);
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(ProgramError::NotExecutable(_)) => unfit = unfit.or(Some(candidate)),
            Err(_) => {}
        }
    }
    Err(unfit.map_or_else(
        || ProgramError::NotOnPath(word.to_owned()),
        ProgramError::NotExecutable,
    ))
}

fn check(program: &Path) -> Result<(), ProgramError> {
    let named = || program.to_owned();
    let kind = program
        .metadata()
        .map_err(|_| ProgramError::Missing(named()))?
        .file_type();
    if kind.is_dir() {
        return Err(ProgramError::Folder(named()));
    }
    if !kind.is_file() || access(program, Access::EXEC_OK).is_err() {
        return Err(ProgramError::NotExecutable(named()));
    }
    Ok(())
}

fn check_interpreter(script: &Path, path: Option<&OsStr>, cwd: &Path) -> Result<(), ProgramError> {
    let Some(words) = first_line_words(script) else {
        return Ok(());
    };
    let [interpreter, arguments @ ..] = words.as_slice() else {
        return Ok(());
    };
    let missing = |interpreter: &OsStr| ProgramError::Interpreter {
        script: script.to_owned(),
        interpreter: interpreter.into(),
    };
    check(&cwd.join(interpreter)).map_err(|_| missing(interpreter))?;
    if Path::new(interpreter).file_name() != Some(OsStr::new("env")) {
        return Ok(());
    }
    // `env` would only complain once it runs. Its options and assignments come before the name.
    let is_name =
        |word: &&OsString| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
    match arguments.iter().find(is_name) {
        Some(name) if !name.as_bytes().contains(&b'/') => {
            search(name, path).map(drop).map_err(|_| missing(name))
        }
        _ => Ok(()),
    }
}

/// The words of a `#!` line; none when the file has no such line or may not be read.
fn first_line_words(script: &Path) -> Option<Vec<OsString>> {
    // Linux looks at this many bytes of the file.
    let mut head = Vec::with_capacity(256);
    File::open(script)
        .ok()?
        .take(256)
        .read_to_end(&mut head)
        .ok()?;
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    Some(words)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn put(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
        fs::write(path, text)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    fn refusal(word: &str, path: &Path, cwd: &Path) -> String {
        match find(OsStr::new(word), Some(path.as_os_str()), cwd) {
            Ok(found) => format!("found {}", found.display()),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn a_bare_word_is_taken_from_the_search_path_alone() -> Outcome {
        let (bin, cwd) = (tempfile::tempdir()?, tempfile::tempdir()?);
        put(&bin.path().join("agent"), "#!/bin/sh\n", 0o755)?;
        put(&cwd.path().join("local"), "#!/bin/sh\n", 0o755)?;
        let found = find(
            OsStr::new("agent"),
            Some(bin.path().as_os_str()),
            cwd.path(),
        )?;
        assert_eq!(found, bin.path().join("agent"));
        assert_eq!(
            refusal("local", bin.path(), cwd.path()),
            "`local` is not on the search path"
        );
        Ok(())
    }

    #[test]
    fn a_relative_folder_of_the_search_path_is_passed_over() -> Outcome {
        let cwd = tempfile::tempdir()?;
        put(&cwd.path().join("agent"), "#!/bin/sh\n", 0o755)?;
        for path in ["", ".", ":", "bin:."] {
            assert_eq!(
                refusal("agent", Path::new(path), cwd.path()),
                "`agent` is not on the search path"
            );
        }
        Ok(())
    }

    #[test]
    fn a_word_with_a_slash_is_taken_from_the_working_directory() -> Outcome {
        let cwd = tempfile::tempdir()?;
        put(&cwd.path().join("agent"), "#!/bin/sh\n", 0o755)?;
        let found = find(OsStr::new("./agent"), None, cwd.path())?;
        assert_eq!(found, cwd.path().join("./agent"));
        Ok(())
    }

    #[test]
    fn the_first_one_that_may_be_run_wins() -> Outcome {
        let (first, second) = (tempfile::tempdir()?, tempfile::tempdir()?);
        put(&first.path().join("agent"), "#!/bin/sh\n", 0o644)?;
        put(&second.path().join("agent"), "#!/bin/sh\n", 0o755)?;
        let path = std::env::join_paths([first.path(), second.path()])?;
        let found = find(OsStr::new("agent"), Some(&path), Path::new("/"))?;
        assert_eq!(found, second.path().join("agent"));
        Ok(())
    }

    #[test]
    fn each_reason_has_its_own_words() -> Outcome {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("folder"))?;
        put(&at("plain"), "#!/bin/sh\n", 0o644)?;
        put(&at("script"), "#! /nowhere/python -u\n", 0o755)?;
        put(
            &at("node"),
            "#!/usr/bin/env -S FOO=1 no-such-node --x\n",
            0o755,
        )?;
        let named = |name: &str| at(name).display().to_string();
        let say = |name: &str| refusal(&named(name), dir.path(), Path::new("/"));
        assert_eq!(refusal("", dir.path(), dir.path()), "the command is empty");
        assert_eq!(
            say("absent"),
            format!("`{}` does not exist", named("absent"))
        );
        assert_eq!(
            say("folder"),
            format!("`{}` is a folder, not a program", named("folder"))
        );
        assert_eq!(
            say("plain"),
            format!("`{}` is not executable", named("plain"))
        );
        assert_eq!(refusal("plain", dir.path(), Path::new("/")), say("plain"));
        assert_eq!(
            say("script"),
            format!(
                "the interpreter `/nowhere/python` of the script `{}` is missing or not executable",
                named("script")
            )
        );
        assert_eq!(
            say("node"),
            format!(
                "the interpreter `no-such-node` of the script `{}` is missing or not executable",
                named("node")
            )
        );
        Ok(())
    }
}
