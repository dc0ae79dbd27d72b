//! What a reviewer does all day still works, and leaves the tree as it was.

use std::fs;
use std::process::Command;

use crate::world::{Outcome, World, locks, say};

tests! {
    a_reviewer_can_read_search_and_ask_git,
    cargo_tests_run_from_a_closed_tree,
    go_tests_run_from_a_closed_tree,
    python_tests_run_from_a_closed_tree,
    node_tests_run_from_a_closed_tree,
}

fn a_reviewer_can_read_search_and_ask_git() -> Outcome {
    for lock in locks() {
        let world = World::new()?;
        let before = world.fingerprint()?;
        for (script, shown) in [
            ("cat a.txt", "one"),
            ("grep -rn 'fn f' src", "src/lib.rs:1:pub fn f() {}"),
            ("ls -l run.sh", "run.sh"),
            ("git status --short", " M b.txt"),
            ("git diff", "+two, changed"),
            ("git log --oneline", "first"),
            ("git show --stat HEAD", "src/lib.rs"),
            ("git blame a.txt", "one"),
            ("git branch --list other", "other"),
            ("git grep -n one", "a.txt:1:one"),
            ("sh run.sh; echo $?", "0"),
            (
                "ps -o pid= | head -n 1 > /dev/null; id -u; echo seen",
                "seen",
            ),
            ("printf 'a\\nb\\n' | sort -r | head -n 1", "b"),
            ("mktemp -d > /dev/null && echo made", "made"),
            ("python3 -c 'import pty; print(\"pty\")' || echo pty", "pty"),
        ] {
            let output = world.run(lock, &["sh", "-c", script])?;
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains(shown), "{lock}: {script}: {output:?}");
            assert_eq!(world.fingerprint()?, before, "{lock}: {script}");
        }
    }
    Ok(())
}

/// Runs a project's tests under each lock; the tree stays as it is.
fn runs(tool: &str, files: &[(&str, &str)], words: &[&str], passed: &str) -> Outcome {
    let there = Command::new(words[0]).arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) && tool != "go" || !is_there(tool) {
        say(&format!("skipped: {tool} is not installed"));
        return Ok(());
    }
    for lock in locks() {
        let world = World::new()?;
        for (name, text) in files {
            let path = world.path("repo").join(name);
            fs::create_dir_all(path.parent().ok_or("a name below a folder")?)?;
            fs::write(path, text)?;
        }
        let before = world.fingerprint()?;
        let mut command = world.shut_in(lock, words);
        // Its own home has the toolchains.
        for name in ["CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT", "GOPATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if let Some(home) = std::env::home_dir() {
            for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                if std::env::var_os(name).is_none() && home.join(folder).is_dir() {
                    command.env(name, home.join(folder));
                }
            }
        }
        let output = command.output()?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(
            output.status.success() && text.contains(passed),
            "{lock}: {tool}: {text}"
        );
        assert_eq!(world.fingerprint()?, before, "{lock}: {tool}");
        say(&format!("{tool} under {lock}: ok"));
    }
    Ok(())
}

fn is_there(tool: &str) -> bool {
    let words: &[&str] = match tool {
        "pytest" => &["python3", "-m", "pytest", "--version"],
        "go" => &["go", "version"],
        other => &[other, "--version"],
    };
    let output = Command::new(words[0]).args(&words[1..]).output();
    output.is_ok_and(|output| output.status.success())
}

fn cargo_tests_run_from_a_closed_tree() -> Outcome {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\n",
        ),
        (
            "src/lib.rs",
            "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n",
        ),
    ];
    let words = ["cargo", "test", "--offline", "--locked", "--quiet"];
    runs("cargo", &files, &words, "1 passed")
}

fn go_tests_run_from_a_closed_tree() -> Outcome {
    let files = [
        ("go.mod", "module small\n\ngo 1.20\n"),
        (
            "a_test.go",
            "package small\n\nimport \"testing\"\n\nfn TestAdds(t *testing.T) {}\n",
        ),
    ];
    let files = files.map(|(name, text)| (name, text.replace("fn Test", "func Test")));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    runs("go", &files, &["go", "test", "./..."], "ok")
}

fn python_tests_run_from_a_closed_tree() -> Outcome {
    let files = [
        ("small.py", "def add(a, b):\n    return a + b\n"),
        (
            "test_small.py",
            "import small\n\ndef test_adds(tmp_path):\n    (tmp_path / 'x').write_text('y')\n    assert small.add(1, 1) == 2\n",
        ),
    ];
    runs(
        "pytest",
        &files,
        &["python3", "-m", "pytest", "-q"],
        "1 passed",
    )
}

fn node_tests_run_from_a_closed_tree() -> Outcome {
    let files = [
        (
            "package.json",
            "{\"name\":\"small\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node --test\"}}\n",
        ),
        (
            "small.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst fs = require('fs');\nconst os = require('os');\ntest('adds', () => { fs.mkdtempSync(os.tmpdir() + '/x'); assert.strictEqual(1 + 1, 2); });\n",
        ),
    ];
    runs("npm", &files, &["npm", "test"], "pass 1")
}
