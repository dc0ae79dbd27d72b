//! Ways to write that a shell has: the usual tools, git, and programs that act for others.

/// Name and script of each. `$REPO` is the repository, `$TMPDIR` a folder that may be written, `$STANDER` a process
/// outside that stands in the repository. A script that cannot be tried here ends with 77.
pub(crate) const WAYS: &[(&str, &str)] = &[
    ("redirection", "echo x > \"$REPO/a.txt\""),
    ("redirection that appends", "echo x >> \"$REPO/a.txt\""),
    ("new file", "echo x > \"$REPO/new\""),
    ("no clobber", "set -C; echo x > \"$REPO/new\""),
    ("touch", "touch \"$REPO/a.txt\""),
    ("touch with a time", "touch -d 2001-01-01 \"$REPO/a.txt\""),
    ("tee", "echo x | tee \"$REPO/a.txt\" > /dev/null"),
    (
        "dd",
        "dd if=/dev/zero of=\"$REPO/a.txt\" bs=1 count=1 conv=notrunc 2> /dev/null",
    ),
    ("sed -i", "sed -i s/one/two/ \"$REPO/a.txt\""),
    ("cp", "cp \"$REPO/b.txt\" \"$REPO/a.txt\""),
    ("mv inside", "mv \"$REPO/a.txt\" \"$REPO/c.txt\""),
    ("mv a folder", "mv \"$REPO/src\" \"$REPO/lib\""),
    (
        "mv over it from outside",
        "echo x > \"$TMPDIR/x\"; mv -f \"$TMPDIR/x\" \"$REPO/a.txt\"",
    ),
    ("mv it out", "mv \"$REPO/a.txt\" \"$TMPDIR/\""),
    ("rm", "rm \"$REPO/a.txt\""),
    ("mkdir", "mkdir \"$REPO/folder\""),
    ("chmod", "chmod 600 \"$REPO/a.txt\""),
    ("chmod of a folder", "chmod 700 \"$REPO/src\""),
    (
        "hard link out and write",
        "ln \"$REPO/a.txt\" \"$TMPDIR/link\" && echo x > \"$TMPDIR/link\"",
    ),
    (
        "hard link in",
        "echo x > \"$TMPDIR/x\"; ln \"$TMPDIR/x\" \"$REPO/linked\"",
    ),
    ("symbolic link in", "ln -s /etc/passwd \"$REPO/link\""),
    (
        "symbolic link swapped in",
        "ln -s /etc/passwd \"$TMPDIR/l\"; mv -f \"$TMPDIR/l\" \"$REPO/a.txt\"",
    ),
    (
        "write through a link outside",
        "ln -s \"$REPO\" \"$TMPDIR/r\"; echo x > \"$TMPDIR/r/a.txt\"",
    ),
    (
        "write up from outside",
        "mkdir -p \"$TMPDIR/a/b\"; cd \"$TMPDIR/a/b\"; d=; while [ ! -e \"$d$REPO\" ] || [ -z \"$d\" ]; do d=../$d; [ ${#d} -gt 300 ] && exit 1; done; echo x > \"$d$REPO/a.txt\"",
    ),
    ("fifo", "mkfifo \"$REPO/fifo\""),
    (
        "python",
        "command -v python3 > /dev/null || exit 77; python3 -c 'import os; open(os.environ[\"REPO\"] + \"/a.txt\", \"w\").write(\"x\")'",
    ),
    (
        "perl",
        "command -v perl > /dev/null || exit 77; perl -e 'open F, \">\", \"$ENV{REPO}/a.txt\"; print F 1'",
    ),
    (
        "tar",
        "cd \"$TMPDIR\" && echo x > a.txt && tar cf t.tar a.txt && tar xf t.tar -C \"$REPO\"",
    ),
    (
        "a script of its own",
        "printf '#!/bin/sh\\necho x > \"$REPO/a.txt\"\\n' > \"$TMPDIR/s\"; chmod +x \"$TMPDIR/s\"; sh \"$TMPDIR/s\"",
    ),
    (
        "process list of itself",
        "echo x > \"/proc/self/root$REPO/a.txt\"",
    ),
    (
        "process list of the parent",
        "echo x > \"/proc/$PPID/root$REPO/a.txt\" || echo x > \"/proc/$PPID/cwd/a.txt\"",
    ),
    (
        "process list of somebody outside",
        "echo x > \"/proc/$STANDER/cwd/a.txt\"",
    ),
    (
        "root of somebody outside",
        "echo x > \"/proc/$STANDER/root$REPO/a.txt\"",
    ),
    ("git add", "cd \"$REPO\" && git add b.txt"),
    ("git commit", "cd \"$REPO\" && git commit -qam x"),
    (
        "git commit elsewhere",
        "cd / && git -C \"$REPO\" commit -q --allow-empty -m x",
    ),
    ("git gc", "cd \"$REPO\" && git gc -q --prune=now"),
    ("git stash", "cd \"$REPO\" && git stash -q"),
    ("git checkout", "cd \"$REPO\" && git checkout -q -- b.txt"),
    ("git switch", "cd \"$REPO\" && git switch -q other"),
    ("git tag", "cd \"$REPO\" && git tag t"),
    (
        "git config",
        "cd \"$REPO\" && git config core.pager 'touch x'",
    ),
    (
        "git config of the person",
        "git config --global core.pager 'touch x'",
    ),
    (
        "git hook",
        "printf '#!/bin/sh\\n' > \"$REPO/.git/hooks/pre-commit\"",
    ),
    (
        "git update-index",
        "cd \"$REPO\" && git update-index --assume-unchanged a.txt",
    ),
    (
        "git status that refreshes",
        "cd \"$REPO\" && unset GIT_OPTIONAL_LOCKS && touch -r /bin/sh \"$REPO/none\" 2> /dev/null; sleep 1.1; git update-index --refresh; git status > /dev/null",
    ),
    (
        "git worktree",
        "cd \"$REPO\" && git worktree add -q \"$TMPDIR/w\" other",
    ),
    (
        "git with another index",
        "cd \"$REPO\" && GIT_INDEX_FILE=\"$TMPDIR/i\" git add a.txt b.txt && GIT_INDEX_FILE=\"$TMPDIR/i\" git commit -qm x",
    ),
    (
        "git clean",
        "cd \"$REPO\" && touch \"$REPO/junk\"; git clean -fdq",
    ),
    ("shell profile", "echo x >> \"$HOME/.bashrc\""),
    (
        "settings of an agent",
        "echo x >> \"$HOME/.codex/config.toml\"",
    ),
    (
        "settings of codriver",
        "mkdir -p \"$HOME/.config/codriver\" && echo > \"$HOME/.config/codriver/config.toml\"",
    ),
    (
        "records of codriver",
        "echo x >> \"$XDG_STATE_HOME/codriver/r/sessions/s/receipts.jsonl\"",
    ),
    (
        "a daemon that waits",
        "(setsid sh -c 'sleep 0.4; echo x > \"$REPO/late\"' > /dev/null 2>&1 &) ; exit 0",
    ),
    (
        "a daemon that asks again and again",
        "(setsid sh -c 'for i in 1 2 3 4 5; do sleep 0.1; echo x >> \"$REPO/late\"; done' > /dev/null 2>&1 &) ; exit 0",
    ),
    (
        "tmux run-shell",
        "[ -n \"$HAS_TMUX\" ] || exit 77; tmux -S \"$TMUX_SOCKET\" run-shell \"touch '$REPO/by-tmux'\"",
    ),
    (
        "tmux new-window",
        "[ -n \"$HAS_TMUX\" ] || exit 77; tmux -S \"$TMUX_SOCKET\" new-window -d \"touch '$REPO/by-tmux'\"; sleep 0.5",
    ),
    (
        "systemd-run",
        "systemctl --user is-active default.target > /dev/null 2>&1 || exit 77; systemd-run --user --wait touch \"$REPO/by-systemd\"",
    ),
    (
        "docker",
        "[ -n \"$SHUT_IN\" ] && docker info > /dev/null 2>&1 || exit 77; docker run --rm -v \"$REPO:/r\" busybox touch /r/by-docker",
    ),
    (
        "remount",
        "[ -n \"$SHUT_IN\" ] && { mount -o remount,rw /; mount -o remount,bind,rw /; mount -o remount,bind,rw \"$REPO\"; } 2> /dev/null; echo x > \"$REPO/a.txt\"",
    ),
    (
        "a namespace inside",
        "unshare -Urm true 2> /dev/null || { [ -n \"$SHUT_IN\" ] || exit 77; }; unshare -Urm sh -c 'mount -o remount,rw / ; mount -o remount,bind,rw /; mount --bind \"$REPO\" \"$TMPDIR\"; mount -o remount,bind,rw \"$TMPDIR\"; umount -l \"$REPO\"; echo x > \"$TMPDIR/a.txt\"; echo x > \"$REPO/a.txt\"' 2> /dev/null",
    ),
    (
        "a mount on top, then away",
        "[ -n \"$SHUT_IN\" ] && { umount -l /proc/sys; umount -l \"$TMPDIR\"; umount -l /dev; } 2> /dev/null; echo x > \"$REPO/a.txt\"",
    ),
    (
        "chattr",
        "command -v chattr > /dev/null || exit 77; chattr +A \"$REPO/a.txt\" || exit 77; chattr -A \"$REPO/a.txt\"",
    ),
    (
        "setfattr",
        "command -v setfattr > /dev/null || exit 77; setfattr -n user.x -v y \"$REPO/a.txt\" || exit 77",
    ),
    (
        "install",
        "install -m 755 \"$REPO/a.txt\" \"$REPO/installed\"",
    ),
    (
        "truncate",
        "command -v truncate > /dev/null || exit 77; truncate -s 0 \"$REPO/a.txt\"",
    ),
    (
        "fallocate",
        "command -v fallocate > /dev/null || exit 77; fallocate -l 4096 \"$REPO/a.txt\"",
    ),
];
