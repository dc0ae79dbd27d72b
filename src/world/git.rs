//! Runs git, for the builder of evidence only (F.4): where a repository is, and what changed in its working tree.
//!
//! A repository's configuration can name programs (filters, diff drivers, a file monitor, hooks, transports), and git
//! would run them while it only looks. It has no switch against that, so a diff is made in a private git folder that
//! borrows the repository's objects and a copy of its index, and whose configuration is ours. Nothing a repository
//! says is then left to run, and the person's index is not touched.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::{Instant, timeout_at};

use crate::limits;
use crate::plain;
use crate::world::process;
use crate::world::program::{self, ProgramError};

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git to run.
    #[error("git is not installed")]
    Missing(#[source] ProgramError),
    /// The folder lies in no repository.
    #[error("`{}` is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// The repository has no working tree there, or its configuration moves it elsewhere.
    #[error("the repository at `{}` has no working tree of its own there", .0.display())]
    NoWorkTree(PathBuf),
    /// Git does not know the revision, or it names no commit.
    #[error("`{}` is not a revision of this repository", plain::display(.0, limits::QUOTE_BYTES))]
    UnknownRevision(String),
    /// The working tree is as the revision has it.
    #[error("nothing to review: the working tree has no changes")]
    NothingChanged,
    /// The answer is over its bound.
    #[error("the diff is larger than {} MiB", limits::GIT_BYTES >> 20)]
    TooLarge,
    /// Git was too slow.
    #[error("git did not answer in time")]
    TooSlow,
    /// Git failed for another reason.
    #[error("git failed: {}", plain::display(.0, limits::QUOTE_BYTES))]
    Failed(String),
    /// A file or a process could not be had.
    #[error("git could not be run")]
    Io(#[from] io::Error),
}

/// A repository with a working tree, as git found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The top folder of the working tree.
    pub top: PathBuf,
    /// The folder with what belongs to this worktree.
    git_dir: PathBuf,
    /// The folder with what all worktrees of the repository share.
    pub common_dir: PathBuf,
    objects: PathBuf,
    exclude: PathBuf,
    attributes: PathBuf,
}

/// Settings that change what a working tree means and that cannot name a program.
const HARMLESS: [&str; 7] = [
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.excludesfile",
];

impl Repository {
    /// Finds the repository that holds `dir`.
    pub async fn find(dir: &Path) -> Result<Self, GitError> {
        Self::find_with(&Git::find(limits::GIT_TIME)?, dir).await
    }

    async fn find_with(git: &Git, dir: &Path) -> Result<Self, GitError> {
        let dir = dir.canonicalize()?;
        // Where the working tree is, is not taken from the configuration, which could name any folder at all.
        let named = || GitError::NoRepository(dir.clone());
        let top = dir.ancestors().find(|up| up.join(".git").exists());
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
            "--git-path",
            "objects",
            "--git-path",
            "info/exclude",
            "--git-path",
            "info/attributes",
        ];
        let answer = git.looking(&dir).args(asked).run(b"").await?;
        if !answer.status.success() {
            return Err(match answer.complaint() {
                said if said.contains("not a git repository") => named(),
                said if said.contains("must be run in a work tree") => GitError::NoWorkTree(dir),
                said => GitError::Failed(said),
            });
        }
        let lines: Vec<PathBuf> = answer
            .output
            .split(|b| *b == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| OsString::from_vec(line.to_vec()).into())
            .collect();
        let Ok([shown, git_dir, common_dir, objects, exclude, attributes]) =
            <[PathBuf; 6]>::try_from(lines)
        else {
            return Err(GitError::Failed(
                "a folder's name has a line break".to_owned(),
            ));
        };
        if top != Some(shown.as_path()) {
            return Err(GitError::NoWorkTree(dir));
        }
        Ok(Self {
            top: shown,
            git_dir,
            common_dir,
            objects,
            exclude,
            attributes,
        })
    }
}

/// Returns the change of the working tree that holds `dir` against a revision, or against the last commit.
///
/// Staged, unstaged and untracked changes are in it, ignored files are not. Binary files are named, not shown. A
/// repository without a commit is compared with nothing. All of it takes at most `limit` (`limits::GIT_TIME`).
pub async fn diff(dir: &Path, revision: Option<&str>, limit: Duration) -> Result<String, GitError> {
    let git = Git::find(limit)?;
    let repository = Repository::find_with(&git, dir).await?;
    let commit = git.resolve(&repository, revision).await?;
    let private = git.private(&repository).await?;
    let against = match commit {
        Some(commit) => commit,
        None => private.empty_tree().await?,
    };
    private.intend_to_add().await?;
    let asked = [
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--no-relative",
        "--ignore-submodules=dirty",
        "--submodule=short",
        "--end-of-options",
        &against,
        "--",
    ];
    let answer = private.git().args(asked).run(b"").await?.ok()?;
    if answer.is_empty() {
        return Err(GitError::NothingChanged);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Returns the commit a revision names, or the last one; none in a repository that has no commit yet.
///
/// # Errors
///
/// When there is no repository, or no such revision.
pub async fn commit(
    dir: &Path,
    revision: Option<&str>,
    limit: Duration,
) -> Result<Option<String>, GitError> {
    let git = Git::find(limit)?;
    let repository = Repository::find_with(&git, dir).await?;
    git.resolve(&repository, revision).await
}

/// Where a repository stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The branch; the beginning of the commit where there is none.
    pub name: String,
    /// Whether the working tree differs from the last commit, untracked files counted.
    pub is_changed: bool,
}

/// Returns where the repository that holds `dir` stands. All of it takes at most `limit`.
pub async fn head(dir: &Path, limit: Duration) -> Result<Head, GitError> {
    let git = Git::find(limit)?;
    let repository = Repository::find_with(&git, dir).await?;
    let asked = ["symbolic-ref", "--quiet", "--short", "HEAD"];
    let branch = git.looking(&repository.top).args(asked).run(b"").await?;
    let name = match branch.status.success() {
        true => branch.line(),
        false => {
            let asked = ["rev-parse", "--short", "HEAD"];
            git.looking(&repository.top)
                .args(asked)
                .run(b"")
                .await?
                .line()
        }
    };
    let private = git.private(&repository).await?;
    let asked = [
        "status",
        "--porcelain",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--no-renames",
    ];
    let answer = private.git().args(asked).run(b"").await?;
    let is_changed = match answer.status.success() {
        true => !answer.output.is_empty(),
        false => return Err(GitError::Failed(answer.complaint())),
    };
    Ok(Head { name, is_changed })
}

/// The program, and the moment by which all that is asked of it must be done.
struct Git {
    program: PathBuf,
    deadline: Instant,
}

impl Git {
    fn find(limit: Duration) -> Result<Self, GitError> {
        let path = std::env::var_os("PATH");
        let program = program::find(OsStr::new("git"), path.as_deref(), Path::new("/"))
            .map_err(GitError::Missing)?;
        Ok(Self {
            program,
            deadline: Instant::now() + limit,
        })
    }

    /// A call that only looks at names, and so reads the repository's configuration, but runs nothing it names.
    fn looking(&self, dir: &Path) -> Call {
        let mut call = self.call(dir);
        call.command.args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ]);
        call
    }

    fn call(&self, dir: &Path) -> Call {
        let mut command = Command::new(&self.program);
        command.env_clear();
        // Every variable of git's own would lead it elsewhere; these are what else it needs.
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["--no-pager", "-C"])
            .arg(dir)
            .current_dir("/")
            .process_group(0)
            .kill_on_drop(true);
        Call {
            command,
            deadline: self.deadline,
        }
    }

    /// The commit a revision names; none when nothing was named and there is no commit yet.
    async fn resolve(
        &self,
        repository: &Repository,
        revision: Option<&str>,
    ) -> Result<Option<String>, GitError> {
        let unknown = |name: &str| GitError::UnknownRevision(name.to_owned());
        let name = revision.unwrap_or("HEAD");
        if name.is_empty() || name.starts_with('-') || name.contains(['\0', '\n']) {
            return Err(unknown(name));
        }
        let wanted = format!("{name}^{{commit}}");
        let asked = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &wanted,
        ];
        let answer = self.looking(&repository.top).args(asked).run(b"").await?;
        if answer.status.success() {
            return Ok(Some(answer.line()));
        }
        if revision.is_some() {
            return Err(unknown(name));
        }
        // A branch without a commit is told apart from a HEAD that is broken.
        let asked = ["symbolic-ref", "--quiet", "HEAD"];
        let branch = self.looking(&repository.top).args(asked).run(b"").await?;
        let asked = ["show-ref", "--verify", "--quiet", "--", &branch.line()];
        let known = self.looking(&repository.top).args(asked).run(b"").await?;
        match branch.status.success() && !known.status.success() {
            true => Ok(None),
            false => Err(unknown(name)),
        }
    }

    async fn private<'a>(&'a self, repository: &'a Repository) -> Result<Private<'a>, GitError> {
        let asked = ["config", "--null", "--list"];
        let answer = self.looking(&repository.top).args(asked).run(b"").await?;
        let settings = Settings::parse(&answer.ok()?);
        let folder = tempfile::Builder::new().prefix("codriver-git-").tempdir()?;
        let private = Private {
            git: self,
            folder,
            repository,
        };
        private.fill(&settings)?;
        Ok(private)
    }
}

/// The last value of each setting.
struct Settings(Vec<(String, Vec<u8>)>);

impl Settings {
    fn parse(list: &[u8]) -> Self {
        let entries = list.split(|b| *b == 0).filter(|entry| !entry.is_empty());
        let parse = |entry: &[u8]| {
            // A key without a value counts as true.
            let at = entry.iter().position(|b| *b == b'\n');
            let (key, value) =
                at.map_or((entry, &b"true"[..]), |at| (&entry[..at], &entry[at + 1..]));
            (String::from_utf8_lossy(key).into_owned(), value.to_vec())
        };
        Self(entries.map(parse).collect())
    }

    fn get(&self, key: &str) -> Option<&[u8]> {
        let found = self.0.iter().rfind(|(name, _)| name == key);
        found.map(|(_, value)| value.as_slice())
    }

    /// The configuration of the private folder.
    fn write(&self) -> Vec<u8> {
        let format = self.get("extensions.objectformat");
        let mut out = match format {
            Some(format) => [
                b"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = ",
                quoted(format).as_slice(),
                b"\n",
            ]
            .concat(),
            None => b"[core]\n\trepositoryformatversion = 0\n".to_vec(),
        };
        out.extend_from_slice(b"[core]\n\tbare = false\n");
        for key in HARMLESS {
            if let Some(value) = self.get(key) {
                let name = key.trim_start_matches("core.");
                out.extend_from_slice(format!("\t{name} = ").as_bytes());
                out.extend_from_slice(&quoted(value));
                out.push(b'\n');
            }
        }
        out
    }
}

fn quoted(value: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in value {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// A git folder of our own over the person's working tree; gone when dropped.
struct Private<'a> {
    git: &'a Git,
    folder: tempfile::TempDir,
    repository: &'a Repository,
}

impl Private<'_> {
    fn fill(&self, settings: &Settings) -> io::Result<()> {
        let at = |name: &str| self.folder.path().join(name);
        for folder in ["objects/info", "refs/heads", "info"] {
            fs::create_dir_all(at(folder))?;
        }
        fs::write(at("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(at("config"), settings.write())?;
        let mut alternates = fs::File::create(at("objects/info/alternates"))?;
        // In quotes a path may hold anything; git undoes them.
        alternates.write_all(&quoted(self.repository.objects.as_os_str().as_bytes()))?;
        alternates.write_all(b"\n")?;
        copy_if_there(&self.repository.exclude, &at("info/exclude"))?;
        copy_if_there(&self.repository.attributes, &at("info/attributes"))?;
        copy_if_there(&self.repository.git_dir.join("index"), &at("index"))?;
        // A split index keeps most of its entries beside it.
        for entry in fs::read_dir(&self.repository.git_dir)? {
            let name = entry?.file_name();
            if name.as_bytes().starts_with(b"sharedindex.") {
                copy_if_there(
                    &self.repository.git_dir.join(&name),
                    &self.folder.path().join(&name),
                )?;
            }
        }
        Ok(())
    }

    fn git(&self) -> Call {
        let mut call = self.git.call(&self.repository.top);
        call.command
            .env("GIT_DIR", self.folder.path())
            .env("GIT_WORK_TREE", &self.repository.top)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1");
        call
    }

    async fn empty_tree(&self) -> Result<String, GitError> {
        let asked = ["hash-object", "-t", "tree", "--stdin"];
        let answer = self.git().args(asked).run(b"").await?;
        answer.ok().map(|line| one_line(&line))
    }

    /// Makes untracked files count as new ones.
    async fn intend_to_add(&self) -> Result<(), GitError> {
        let asked = ["ls-files", "-z", "--others", "--exclude-standard"];
        let untracked = self.git().args(asked).run(b"").await?.ok()?;
        // A repository within the working tree is listed as a folder; its files are not this one's.
        let names: Vec<u8> = untracked
            .split_inclusive(|b| *b == 0)
            .filter(|name| !name.ends_with(b"/\0"))
            .flatten()
            .copied()
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let asked = [
            "add",
            "--intent-to-add",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        self.git().args(asked).run(&names).await?.ok()?;
        Ok(())
    }
}

/// The copy keeps its time of change: by it git knows which entries it cannot trust.
fn copy_if_there(from: &Path, to: &Path) -> io::Result<()> {
    let changed = match fs::metadata(from) {
        Ok(metadata) => metadata.modified()?,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(fault) => return Err(fault),
    };
    fs::copy(from, to)?;
    fs::File::options()
        .write(true)
        .open(to)?
        .set_modified(changed)
}

struct Call {
    command: Command,
    deadline: Instant,
}

struct Answer {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Call {
    fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Runs git to its end, within the deadline and the bound; past either, it and what it started are killed.
    async fn run(mut self, input: &[u8]) -> Result<Answer, GitError> {
        process::keep_descriptors();
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let stderr = child.stderr.take().expect("standard error is a pipe");
        let write = async move {
            // A git that failed early does not read; what it says about that is the answer.
            let _ = stdin.write_all(input).await;
            Ok::<_, GitError>(())
        };
        let work = async {
            let errors = async { Ok::<_, GitError>(beginning(stderr, limits::QUOTE_BYTES).await?) };
            let output = bounded(stdout, limits::GIT_BYTES);
            let ((), output, errors) = tokio::try_join!(write, output, errors)?;
            let status = child.wait().await?;
            Ok(Answer {
                status,
                output,
                errors,
            })
        };
        let done = timeout_at(self.deadline, work).await;
        if matches!(done, Ok(Ok(_))) {
            group.0 = None;
        } else {
            drop(group);
            let _ = tokio::time::timeout(limits::KILL_TIME, child.wait()).await;
        }
        done.unwrap_or(Err(GitError::TooSlow))
    }
}

/// Kills a git that has not ended, and what it started, when it is dropped: also when nobody waits for it any more.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Not reaped yet, so the number is still its own. That all of it has ended already is no fault.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn bounded(mut from: impl AsyncRead + Unpin, bound: usize) -> Result<Vec<u8>, GitError> {
    let mut all = Vec::new();
    let most = bound as u64 + 1;
    (&mut from).take(most).read_to_end(&mut all).await?;
    match all.len() > bound {
        true => Err(GitError::TooLarge),
        false => Ok(all),
    }
}

/// Reads to the end but keeps only the beginning.
async fn beginning(mut from: impl AsyncRead + Unpin, keep: usize) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    (&mut from).take(keep as u64).read_to_end(&mut kept).await?;
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    Ok(kept)
}

impl Answer {
    fn ok(self) -> Result<Vec<u8>, GitError> {
        match self.status.success() {
            true => Ok(self.output),
            false => Err(GitError::Failed(self.complaint())),
        }
    }

    fn line(&self) -> String {
        one_line(&self.output)
    }

    /// The first line of what git said, without its `fatal:`; the paths in it are the repository's.
    fn complaint(&self) -> String {
        let said = String::from_utf8_lossy(&self.errors);
        let first = said.lines().next().unwrap_or("no reason given");
        let said = first
            .trim_start_matches("fatal: ")
            .trim_start_matches("error: ");
        said.to_owned()
    }
}

fn one_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
