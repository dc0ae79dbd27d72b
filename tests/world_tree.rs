//! Fingerprints of real repositories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use codriver::world::tree::{Tree, head, repository_of};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const LIMIT: Duration = Duration::from_secs(20);

fn fingerprint(tree: &mut Tree, limit: Duration) -> std::io::Result<Option<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(tree.fingerprint(limit)))
}

fn git(dir: &Path, arguments: &[&str]) -> std::io::Result<String> {
    let output = Command::new("git")
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
        .args(arguments)
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn repository() -> std::io::Result<tempfile::TempDir> {
    let dir = tempfile::tempdir()?;
    let root = dir.path();
    git(root, &["init", "-q", "-b", "main"])?;
    fs::write(root.join(".gitignore"), "*.log\n/out/\n!kept.log\n")?;
    fs::write(root.join(".hidden"), "hidden\n")?;
    fs::write(root.join("file.txt"), "one\n")?;
    fs::create_dir(root.join("sub"))?;
    fs::write(root.join("sub/file.txt"), "two\n")?;
    symlink("file.txt", root.join("link"))?;
    git(root, &["add", "-A"])?;
    git(root, &["commit", "-q", "-m", "x"])?;
    fs::create_dir(root.join("out"))?;
    fs::write(root.join("out/a"), "a\n")?;
    fs::write(root.join("x.log"), "a\n")?;
    Ok(dir)
}

#[test]
fn only_what_git_would_not_ignore_moves_the_tree() -> Outcome {
    let dir = repository()?;
    let root = dir.path();
    let mut tree = Tree::new(root.to_owned());
    let start = fingerprint(&mut tree, LIMIT)?.ok_or("no fingerprint")?;
    assert_eq!(start.len(), "sha256:".len() + 64);
    assert!(start.starts_with("sha256:"));

    fs::write(root.join("x.log"), "b\n")?;
    fs::write(root.join("sub/new.log"), "b\n")?;
    fs::write(root.join("out/b"), "b\n")?;
    fs::write(root.join(".git/anything"), "b\n")?;
    fs::create_dir(root.join("empty"))?;
    assert_eq!(fingerprint(&mut tree, LIMIT)?.as_ref(), Some(&start));

    let mut all = vec![start.clone()];
    let mut moved = |what: &str| -> Outcome {
        let now = fingerprint(&mut tree, LIMIT)?.ok_or("no fingerprint")?;
        assert!(!all.contains(&now), "{what} did not move the tree");
        assert_eq!(
            fingerprint(&mut Tree::new(root.to_owned()), LIMIT)?.as_ref(),
            Some(&now)
        );
        all.push(now);
        Ok(())
    };
    fs::write(root.join("new.txt"), "")?;
    moved("an untracked file")?;
    fs::write(root.join("kept.log"), "")?;
    moved("a file taken out of the rules")?;
    fs::write(root.join(".hidden"), "other\n")?;
    moved("a hidden file's content")?;
    fs::set_permissions(root.join("file.txt"), fs::Permissions::from_mode(0o755))?;
    moved("the executable bit")?;
    fs::remove_file(root.join("link"))?;
    symlink("sub/file.txt", root.join("link"))?;
    moved("the target of a link")?;
    fs::rename(root.join("new.txt"), root.join("newer.txt"))?;
    moved("a name")?;
    fs::remove_file(root.join("sub/file.txt"))?;
    moved("a removal")?;
    git(root, &["commit", "-q", "--allow-empty", "-m", "y"])?;
    moved("a commit")?;
    Ok(())
}

#[test]
fn a_change_back_is_no_change() -> Outcome {
    let dir = repository()?;
    let mut tree = Tree::new(dir.path().to_owned());
    let start = fingerprint(&mut tree, LIMIT)?;
    for _ in 0..5 {
        fs::write(dir.path().join("file.txt"), "two\n")?;
        assert_ne!(fingerprint(&mut tree, LIMIT)?, start);
        fs::write(dir.path().join("file.txt"), "one\n")?;
        assert_eq!(fingerprint(&mut tree, LIMIT)?, start);
    }
    Ok(())
}

#[test]
fn past_the_limit_there_is_none() -> Outcome {
    let dir = repository()?;
    let mut tree = Tree::new(dir.path().to_owned());
    assert_eq!(fingerprint(&mut tree, Duration::ZERO)?, None);
    assert!(fingerprint(&mut tree, LIMIT)?.is_some());
    Ok(())
}

#[test]
fn what_hangs_is_given_up() -> Outcome {
    let dir = repository()?;
    for name in [".gitignore", "sub/.gitignore", "file.txt"] {
        let pipe = dir.path().join(name);
        let _ = fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).status()?.success());
    }
    let start = Instant::now();
    fingerprint(
        &mut Tree::new(dir.path().to_owned()),
        Duration::from_millis(300),
    )?;
    assert!(start.elapsed() < Duration::from_secs(5));
    Ok(())
}

#[test]
fn a_folder_that_is_not_there_has_no_fingerprint() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut tree = Tree::new(dir.path().join("nowhere"));
    assert_eq!(fingerprint(&mut tree, LIMIT)?, None);
    Ok(())
}

#[test]
fn head_is_what_git_says() -> Outcome {
    let dir = repository()?;
    let root = dir.path();
    let same = |root: &Path| -> Outcome {
        assert_eq!(
            head(root).ok_or("no head")?,
            git(root, &["rev-parse", "HEAD"])?
        );
        Ok(())
    };
    same(root)?;
    git(root, &["pack-refs", "--all"])?;
    assert!(!root.join(".git/refs/heads/main").exists());
    same(root)?;
    let other = tempfile::tempdir()?;
    let place = other.path().join("second");
    git(
        root,
        &[
            "worktree",
            "add",
            "-q",
            "-b",
            "second",
            &place.display().to_string(),
        ],
    )?;
    git(&place, &["commit", "-q", "--allow-empty", "-m", "y"])?;
    same(&place)?;
    assert_ne!(head(&place), head(root));
    git(root, &["checkout", "-q", "--detach"])?;
    same(root)?;
    Ok(())
}

#[test]
fn a_repository_is_one_for_all_its_worktrees_and_none_can_claim_to_be_another() -> Outcome {
    let dir = repository()?;
    let root = dir.path().canonicalize()?;
    let other = tempfile::tempdir()?;
    let place = other.path().canonicalize()?.join("second");
    let shown = place.display().to_string();
    git(&root, &["worktree", "add", "-q", "-b", "second", &shown])?;
    assert_eq!(repository_of(&root), root);
    assert_eq!(repository_of(&place), root);
    // A folder that says the same of itself, and that the repository does not know.
    let forged = other.path().canonicalize()?.join("forged");
    fs::create_dir(&forged)?;
    fs::copy(place.join(".git"), forged.join(".git"))?;
    assert_eq!(repository_of(&forged), forged);
    fs::write(forged.join(".git"), "gitdir: nowhere\n")?;
    assert_eq!(repository_of(&forged), forged);
    assert_eq!(
        repository_of(&forged.join("nothing")),
        forged.join("nothing")
    );
    Ok(())
}
