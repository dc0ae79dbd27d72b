//! Diffs of real repositories, the hostile ones among them.

use std::fs;
use std::future::Future;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use codriver::limits::GIT_TIME;
use codriver::world::git::{GitError, Repository, diff};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn within_limit<T>(work: impl Future<Output = T>) -> Fallible<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let limit = Duration::from_secs(20);
    Ok(runtime.block_on(async { tokio::time::timeout(limit, work).await })?)
}

fn diff_of(dir: &Path, revision: Option<&str>) -> Fallible<String> {
    Ok(within_limit(diff(dir, revision, GIT_TIME))??)
}

fn fault_of(dir: &Path, revision: Option<&str>) -> Fallible<GitError> {
    let fault = within_limit(diff(dir, revision, GIT_TIME))?.err();
    Ok(fault.ok_or("there was a diff")?)
}

/// A repository in a folder of its own, without the settings of whoever runs the tests.
struct Repo {
    folder: tempfile::TempDir,
}

impl Repo {
    fn empty() -> Fallible<Self> {
        Self::init(&["init", "-q", "-b", "main"])
    }

    fn init(arguments: &[&str]) -> Fallible<Self> {
        let repo = Self {
            folder: tempfile::tempdir()?,
        };
        repo.git(arguments)?;
        Ok(repo)
    }

    fn with_commit() -> Fallible<Self> {
        let repo = Self::empty()?;
        repo.put("kept.txt", "one\ntwo\nthree\n")?;
        repo.commit()?;
        Ok(repo)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> Fallible<PathBuf> {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn commit(&self) -> Fallible<()> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "x"])?;
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Fallible<String> {
        let output = Command::new("git")
            .current_dir(self.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
            .args(arguments)
            .output()?;
        Ok(String::from_utf8(output.stdout)?)
    }
}

#[test]
fn staged_unstaged_and_untracked_changes_are_all_there() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.put("kept.txt", "one\nTWO\nthree\n")?;
    repo.put("staged.txt", "staged\n")?;
    repo.git(&["add", "staged.txt"])?;
    repo.put("deep/new file.txt", "new\n")?;
    repo.put(".gitignore", "*.log\n")?;
    repo.put("noise.log", "noise\n")?;
    let before = fs::read(repo.path().join(".git/index"))?;

    let text = diff_of(repo.path(), None)?;

    let expected = "\
diff --git a/.gitignore b/.gitignore
new file mode 100644
index 0000000..397b4a7
--- /dev/null
+++ b/.gitignore
@@ -0,0 +1 @@
+*.log
diff --git a/deep/new file.txt b/deep/new file.txt
new file mode 100644
index 0000000..3e75765
--- /dev/null
+++ b/deep/new file.txt\t
@@ -0,0 +1 @@
+new
diff --git a/kept.txt b/kept.txt
index 4cb29ea..ddc897f 100644
--- a/kept.txt
+++ b/kept.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
diff --git a/staged.txt b/staged.txt
new file mode 100644
index 0000000..19d9cc8
--- /dev/null
+++ b/staged.txt
@@ -0,0 +1 @@
+staged
";
    assert_eq!(text, expected);
    assert_eq!(fs::read(repo.path().join(".git/index"))?, before);
    let left = fs::read_dir(repo.path().join(".git"))?.flatten();
    assert!(
        left.into_iter()
            .all(|entry| entry.path().extension().is_none_or(|e| e != "lock"))
    );
    Ok(())
}

#[test]
fn the_same_from_a_folder_within() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.put("deep/er/new.txt", "new\n")?;
    repo.put("kept.txt", "changed\n")?;
    let within = repo.path().join("deep/er");
    assert_eq!(diff_of(&within, None)?, diff_of(repo.path(), None)?);
    let found = within_limit(Repository::find(&within))??;
    assert_eq!(found.top, repo.path().canonicalize()?);
    assert_eq!(found.common_dir, repo.path().canonicalize()?.join(".git"));
    Ok(())
}

#[test]
fn an_unchanged_tree_is_nothing_to_review() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    // A new time of change alone is no change.
    fs::File::options()
        .write(true)
        .open(repo.path().join("kept.txt"))?
        .set_modified(std::time::SystemTime::UNIX_EPOCH)?;
    let fault = fault_of(repo.path(), None)?;
    assert!(matches!(fault, GitError::NothingChanged), "{fault:?}");
    Ok(())
}

#[test]
fn a_change_right_after_the_commit_is_seen() -> Fallible<()> {
    for _ in 0..5 {
        let repo = Repo::with_commit()?;
        repo.put("kept.txt", "one\nTWO\nthree\n")?;
        assert!(diff_of(repo.path(), None)?.contains("+TWO"));
    }
    Ok(())
}

#[test]
fn a_repository_without_a_commit_is_compared_with_nothing() -> Fallible<()> {
    let repo = Repo::empty()?;
    assert!(matches!(
        fault_of(repo.path(), None)?,
        GitError::NothingChanged
    ));
    repo.put("staged.txt", "staged\n")?;
    repo.git(&["add", "-A"])?;
    repo.put("new.txt", "new\n")?;
    let text = diff_of(repo.path(), None)?;
    assert!(
        text.contains("+staged\n") && text.contains("+new\n"),
        "{text}"
    );
    let fault = fault_of(repo.path(), Some("HEAD"))?;
    assert!(matches!(fault, GitError::UnknownRevision(_)), "{fault:?}");
    Ok(())
}

#[test]
fn a_revision_may_be_named() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.git(&["tag", "first"])?;
    repo.put("second.txt", "second\n")?;
    repo.commit()?;
    assert!(matches!(
        fault_of(repo.path(), None)?,
        GitError::NothingChanged
    ));
    for name in ["first", "HEAD~1", "main^"] {
        assert!(diff_of(repo.path(), Some(name))?.contains("+second\n"));
    }
    Ok(())
}

#[test]
fn what_is_no_revision_is_refused() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    let canary = repo.path().join("canary");
    let output = format!("--output={}", canary.display());
    for name in [
        "",
        "-",
        "--stat",
        &output,
        "nowhere",
        "HEAD:kept.txt",
        "HEAD..main",
        "a\nb",
    ] {
        let fault = fault_of(repo.path(), Some(name))?;
        assert!(
            matches!(&fault, GitError::UnknownRevision(n) if n == name),
            "{fault:?}"
        );
    }
    assert!(!canary.exists());
    Ok(())
}

#[test]
fn no_repository_and_no_working_tree_are_told_apart() -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let fault = fault_of(folder.path(), None)?;
    assert!(matches!(fault, GitError::NoRepository(_)), "{fault:?}");
    let bare = Repo::init(&["init", "-q", "--bare"])?;
    let fault = fault_of(bare.path(), None)?;
    assert!(matches!(fault, GitError::NoWorkTree(_)), "{fault:?}");
    let repo = Repo::with_commit()?;
    let fault = fault_of(&repo.path().join(".git"), None)?;
    assert!(matches!(fault, GitError::NoWorkTree(_)), "{fault:?}");
    Ok(())
}

#[test]
fn a_working_tree_moved_by_the_configuration_is_refused() -> Fallible<()> {
    let (outside, repo) = (tempfile::tempdir()?, Repo::with_commit()?);
    fs::write(outside.path().join("secret"), "secret\n")?;
    for elsewhere in [outside.path(), Path::new("/")] {
        repo.git(&["config", "core.worktree", &elsewhere.display().to_string()])?;
        let fault = fault_of(repo.path(), None)?;
        assert!(matches!(fault, GitError::NoWorkTree(_)), "{fault:?}");
    }
    Ok(())
}

#[test]
fn binary_files_are_named_and_not_shown() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.put("image.bin", [0, 159, 146, 150, 0, 1])?;
    let text = diff_of(repo.path(), None)?;
    assert!(
        text.ends_with("Binary files /dev/null and b/image.bin differ\n"),
        "{text}"
    );
    Ok(())
}

#[test]
fn names_are_quoted_modes_and_links_shown() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.put("line\nbreak ö", "x\n")?;
    symlink("/etc/passwd", repo.path().join("link"))?;
    fs::set_permissions(
        repo.path().join("kept.txt"),
        fs::Permissions::from_mode(0o755),
    )?;
    let text = diff_of(repo.path(), None)?;
    assert!(text.contains("+++ \"b/line\\nbreak \\303\\266\""), "{text}");
    assert!(
        text.contains("new file mode 120000") && text.contains("+/etc/passwd\n"),
        "{text}"
    );
    assert!(
        text.contains("old mode 100644\nnew mode 100755\n"),
        "{text}"
    );
    assert!(!text.contains("root:"), "a link was followed");
    Ok(())
}

#[test]
fn a_renamed_file_is_one_gone_and_one_new() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.git(&["config", "diff.renames", "copies"])?;
    repo.git(&["mv", "kept.txt", "moved.txt"])?;
    let text = diff_of(repo.path(), None)?;
    assert!(
        text.contains("deleted file mode") && text.contains("new file mode"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_worktree_of_its_own_and_a_repository_within_are_kept_apart() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    let other = tempfile::tempdir()?;
    let place = other.path().join("second");
    repo.git(&["worktree", "add", "-q", &place.display().to_string()])?;
    fs::write(place.join("new.txt"), "in the second\n")?;
    fs::create_dir(repo.path().join("inner"))?;
    let inner = Command::new("git")
        .args(["init", "-q"])
        .arg(repo.path().join("inner"))
        .status()?;
    assert!(inner.success());
    repo.put("inner/new.txt", "in the inner\n")?;
    repo.put("new.txt", "in the first\n")?;
    let (first, second) = (diff_of(repo.path(), None)?, diff_of(&place, None)?);
    assert!(
        first.contains("in the first") && !first.contains("in the inner"),
        "{first}"
    );
    assert!(
        second.contains("in the second") && !second.contains("in the first"),
        "{second}"
    );
    let found = within_limit(Repository::find(&place))??;
    assert_eq!(found.common_dir, repo.path().canonicalize()?.join(".git"));
    assert_eq!(found.top, place.canonicalize()?);
    Ok(())
}

#[test]
fn other_ways_of_keeping_a_repository_work_too() -> Fallible<()> {
    let sha256 = Repo::init(&["init", "-q", "-b", "main", "--object-format=sha256"])?;
    let split = Repo::empty()?;
    split.git(&["config", "core.splitIndex", "true"])?;
    let sparse = Repo::empty()?;
    for repo in [&sha256, &split, &sparse] {
        repo.put("kept.txt", "one\n")?;
        repo.put("a/b/deep.txt", "deep\n")?;
        repo.put("c/d/far.txt", "far\n")?;
        repo.commit()?;
    }
    split.git(&["update-index", "--split-index"])?;
    sparse.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "a"])?;
    assert!(!sparse.path().join("c").exists());
    for repo in [&sha256, &split, &sparse] {
        assert!(matches!(
            fault_of(repo.path(), None)?,
            GitError::NothingChanged
        ));
        repo.put("kept.txt", "two\n")?;
        repo.put("new.txt", "new\n")?;
        let text = diff_of(repo.path(), None)?;
        assert!(
            text.contains("-one\n+two\n") && text.contains("+new\n"),
            "{text}"
        );
        assert!(!text.contains("far"), "{text}");
    }
    Ok(())
}

#[test]
fn line_ends_follow_the_repositorys_harmless_settings() -> Fallible<()> {
    let repo = Repo::empty()?;
    repo.git(&["config", "core.autocrlf", "true"])?;
    repo.put("kept.txt", "one\r\ntwo\r\n")?;
    repo.put("exclude me", "x\n")?;
    fs::write(repo.path().join(".git/info/exclude"), "exclude*\n")?;
    repo.commit()?;
    assert!(matches!(
        fault_of(repo.path(), None)?,
        GitError::NothingChanged
    ));
    repo.put("kept.txt", "one\r\nTWO\r\n")?;
    assert!(diff_of(repo.path(), None)?.contains("-two\n+TWO\n"));
    Ok(())
}

#[test]
fn too_large_a_diff_is_refused() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    repo.put("large.txt", "a line of text\n".repeat(400_000))?;
    let fault = fault_of(repo.path(), None)?;
    assert!(matches!(fault, GitError::TooLarge), "{fault:?}");
    Ok(())
}

/// A repository that names a program wherever one can be named; each leaves a file behind when it runs.
fn hostile(canaries: &Path) -> Fallible<Repo> {
    let repo = Repo::with_commit()?;
    repo.put("evil.txt", "before\n")?;
    repo.put("plain.md", "before\n")?;
    repo.commit()?;
    let program = |name: &str, body: &str| -> Fallible<String> {
        let path = canaries.join(format!("{name}.sh"));
        let canary = canaries.join(format!("{name}.ran"));
        fs::write(
            &path,
            format!("#!/bin/sh\ntouch '{}'\n{body}\n", canary.display()),
        )?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path.display().to_string())
    };
    for (key, name, body) in [
        ("core.fsmonitor", "fsmonitor", "printf '/\\0'"),
        ("core.pager", "pager", "cat"),
        ("core.sshCommand", "ssh", "exit 1"),
        ("core.editor", "editor", "exit 1"),
        ("diff.external", "external", "exit 0"),
        ("diff.evil.command", "command", "exit 0"),
        ("diff.evil.textconv", "textconv", "cat \"$1\""),
        ("diff.conv.textconv", "textconv-alone", "cat \"$1\""),
        ("filter.evil.clean", "clean", "cat"),
        ("filter.evil.smudge", "smudge", "cat"),
        ("filter.odd=name.clean", "odd", "cat"),
        ("filter.long.process", "process", "exit 1"),
        ("credential.helper", "credential", "exit 1"),
    ] {
        repo.git(&["config", key, &program(name, body)?])?;
    }
    let hooks = canaries.join("hooks");
    fs::create_dir(&hooks)?;
    for hook in [
        "post-index-change",
        "pre-auto-gc",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        let path = program(hook, "exit 0")?;
        fs::copy(&path, hooks.join(hook))?;
        fs::copy(&path, repo.path().join(".git/hooks").join(hook))?;
    }
    repo.git(&["config", "core.hooksPath", &hooks.display().to_string()])?;
    repo.git(&["config", "filter.evil.required", "true"])?;
    let attributes = "*.txt filter=evil diff=evil\n*.conv diff=conv\n*.odd filter=odd=name\n*.long filter=long\n";
    repo.put(".gitattributes", attributes)?;
    fs::write(repo.path().join(".git/info/attributes"), attributes)?;
    for name in [
        "evil.txt",
        "plain.md",
        "new.txt",
        "a.conv",
        "a.odd",
        "a.long",
        "sub/new.txt",
    ] {
        repo.put(name, "after\n")?;
    }
    for canary in ran(canaries)? {
        fs::remove_file(canaries.join(canary))?;
    }
    Ok(repo)
}

fn ran(canaries: &Path) -> Fallible<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(canaries)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".ran"))
        .collect();
    names.sort_unstable();
    Ok(names)
}

#[test]
fn nothing_a_hostile_repository_names_is_run() -> Fallible<()> {
    let canaries = tempfile::tempdir()?;
    let repo = hostile(canaries.path())?;
    let text = diff_of(repo.path(), None)?;
    let again = diff_of(repo.path(), Some("HEAD~1"))?;
    assert_eq!(ran(canaries.path())?, Vec::<String>::new());
    assert!(text.contains("-before\n+after\n"), "{text}");
    assert!(again.contains("+after\n"), "{again}");
    for name in ["new.txt", "a.conv", "a.odd", "a.long", "sub/new.txt"] {
        assert!(
            text.contains(&format!("+++ b/{name}\n")),
            "{name} is missing: {text}"
        );
    }
    Ok(())
}

/// Without this, the test above could pass because the traps were laid wrong.
#[test]
fn plain_git_would_have_run_them() -> Fallible<()> {
    let canaries = tempfile::tempdir()?;
    let repo = hostile(canaries.path())?;
    repo.git(&["diff"])?;
    repo.git(&["config", "--unset", "diff.external"])?;
    repo.git(&["diff"])?;
    repo.git(&["config", "--unset", "diff.evil.command"])?;
    repo.git(&["diff"])?;
    for name in ["a.long", "a.odd", "a.conv"] {
        repo.git(&["add", name])?;
    }
    repo.git(&["diff", "HEAD"])?;
    let ran = ran(canaries.path())?;
    for trap in [
        "clean",
        "command",
        "external",
        "fsmonitor",
        "odd",
        "post-index-change",
        "process",
        "textconv",
        "textconv-alone",
    ] {
        assert!(
            ran.contains(&format!("{trap}.ran")),
            "{trap} is not among {ran:?}"
        );
    }
    Ok(())
}

#[test]
fn a_repository_that_makes_git_hang_does_not_make_us_hang() -> Fallible<()> {
    let repo = Repo::with_commit()?;
    let pipe = repo.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status()?.success());
    let config = repo.path().join(".git/config");
    let text = fs::read_to_string(&config)?;
    fs::write(
        &config,
        format!("{text}[include]\n\tpath = {}\n", pipe.display()),
    )?;
    let start = std::time::Instant::now();
    let limit = Duration::from_millis(500);
    let fault = within_limit(diff(repo.path(), None, limit))?.err();
    assert!(matches!(fault, Some(GitError::TooSlow)), "{fault:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
    Ok(())
}
