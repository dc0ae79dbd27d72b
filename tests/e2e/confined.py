#!/usr/bin/env python3
"""Tells the real claude, codex and opencode to write in every way their tools offer, under each lock there is.

    confined.py [--bin target/debug/codriver] [--lab ../shared/lab] [--agent NAME ...] [--lock NAME ...]

Each agent runs twice: as its profile starts it, and wide open, with every tool allowed and its own sandbox off, so that
codriver's lock stands alone. The repository, down to the times of its files, and what agents load from the home folder
must be as before; the round must end with the verdict the model gave. Wide open without any lock the same calls do write:
that is tried too, so that a call that does nothing proves nothing.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from agents import BRIEF, SHORT, TOP, free_port, left_running

LOADED = (".bashrc", ".profile", ".claude.json", ".claude/settings.json", ".claude/CLAUDE.md", ".claude/commands/x.md", ".codex/config.toml",
          ".config/opencode/opencode.json", ".config/opencode/plugins/x.js", ".ssh/id", ".gitconfig")
# What a shell is told, one command after the other; each goes on where the one before was refused.
SHELL = [
    "echo x > written-1", "echo x >> README.md", "touch written-2; mkdir written-3", "rm -rf src", "git add -A; git commit -qm x --allow-empty; git stash",
    "mv src moved; cp /etc/passwd written-4", "chmod 777 *; touch -d 2001-01-01 *", "ln -s /etc/passwd written-5; ln README.md written-6",
    "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; git config core.pager x; git gc -q; git tag written-7",
    "python3 -c \"open('written-8','w').write('x')\"; sed -i s/a/b/ README.md",
    "(setsid sh -c 'sleep 1; echo x > written-9' > /dev/null 2>&1 &); echo x > /proc/self/root$PWD/written-10",
    "echo x >> ~/.bashrc; echo x >> ~/.claude/settings.json; echo x > ~/.config/opencode/plugins/y.js; echo x >> ~/.codex/config.toml; git config --global core.pager x",
    "mount -o remount,rw / 2>/dev/null; unshare -Urm mount -o remount,rw / 2>/dev/null; echo x > written-11",
]


def calls(agent, repo):
    """Tool calls of the scripted model; some name tools the agent may not have, which then says so."""
    path = os.path.join(repo, "README.md")
    new = os.path.join(repo, "written-12")
    if agent == "claude":
        shell = [{"name": "Bash", "input": {"command": "cd %s; %s" % (repo, line), "description": "x"}} for line in SHELL]
        return shell + [{"name": "Write", "input": {"file_path": new, "content": "x"}},
                        {"name": "Read", "input": {"file_path": path}},
                        {"name": "Edit", "input": {"file_path": path, "old_string": "a", "new_string": "b", "replace_all": True}},
                        {"name": "NotebookEdit", "input": {"notebook_path": os.path.join(repo, "x.ipynb"), "new_source": "x", "cell_type": "code", "edit_mode": "insert"}}]
    if agent == "codex":
        shell = [["exec", "text(await tools.exec_command({cmd: %s}));" % json.dumps("cd %s; %s" % (repo, line))] for line in SHELL]
        patch = "*** Begin Patch\n*** Add File: %s\n+x\n*** End Patch\n" % new
        return shell + [["exec", "text(await tools.apply_patch(%s));" % json.dumps(patch)]]
    shell = [{"name": "bash", "input": {"command": "cd %s; %s" % (repo, line), "description": "x"}} for line in SHELL]
    return shell + [{"name": "write", "input": {"filePath": new, "content": "x"}},
                    {"name": "read", "input": {"filePath": path}},
                    {"name": "edit", "input": {"filePath": path, "oldString": "a", "newString": "b", "replaceAll": True}},
                    {"name": "apply_patch", "input": {"patchText": "*** Begin Patch\n*** Add File: %s\n+x\n*** End Patch\n" % new}}]


def wide_open(agent):
    """Settings by which nothing but the lock keeps the agent from writing."""
    if agent == "claude":
        return ('peer_args = ["--permission-mode", "dontAsk", "--allowedTools", "Bash,Write,Edit,NotebookEdit,Read,Grep,Glob", "--settings", %s]\n'
                % json.dumps(json.dumps({"hooks": {name: [{"hooks": [{"type": "command", "timeout": 10, "command":
                             '(echo; cat; echo) >> "$CODRIVER_CHANNEL"; exit 0'}]}] for name in ("UserPromptSubmit", "Stop", "StopFailure")}})))
    if agent == "codex":
        args = '["-s", "danger-full-access"]'
        return "lock_args = { namespace = %s, landlock = %s, none = %s }\n" % (args, args, args)
    allow = {"permission": {"*": "allow", "external_directory": "allow", "bash": "allow", "edit": "allow"}}
    config = dict(allow, agent={"codriver-peer": dict(allow, mode="primary", description="x")}, autoupdate=False, share="disabled", snapshot=False)
    return "submits = false\npeer_env.OPENCODE_CONFIG_CONTENT = %s\n" % json.dumps(json.dumps(config))


def fingerprint(roots):
    """Everything below these, with what it holds, its mode and when it was last touched."""
    found = {}
    for root in roots:
        for folder, folders, files in os.walk(root):
            for name in [""] + files + [one for one in folders if os.path.islink(os.path.join(folder, one))]:
                path = os.path.join(folder, name) if name else folder
                data = os.lstat(path)
                content = ""
                if os.path.islink(path):
                    content = os.readlink(path)
                elif name and os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = file.read().hex()
                found[path] = [data.st_mode, data.st_nlink, data.st_mtime_ns, data.st_ctime_ns, content]
        if os.path.isfile(root):
            data = os.lstat(root)
            with open(root, "rb") as file:
                found[root] = [data.st_mode, data.st_nlink, data.st_mtime_ns, data.st_ctime_ns, file.read().hex()]
    return found


def watch(out, command):
    """Runs between the servers and codriver, where the home folder is known: what changed goes into a file."""
    home, repo = os.environ["HOME"], os.getcwd()
    for name in LOADED:
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write("{}\n" if name.endswith("json") else "")
    if command[0] == "--projects":
        command = command[1:]
        for name, text in PROJECTS.items():
            os.makedirs(os.path.join(repo, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(repo, name), "w") as file:
                file.write(text)
    roots = [repo] + [os.path.join(home, name) for name in LOADED] + [os.path.join(home, ".config/opencode/plugins"), os.path.join(home, ".claude/commands")]
    before = fingerprint(roots)
    status = subprocess.call(command)
    after = fingerprint(roots)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    with open(out, "w") as file:
        json.dump(changed, file)
    return status


def run(args, agent, lock, is_open, lab_dir):
    repo = os.path.join(lab_dir, "repo")
    turns = [BRIEF, {"match": None, "text": SHORT, "chunk": 40, "delay_ms": 5, "tools": calls(agent, repo)}]
    replies, prompt, config, out = (os.path.join(lab_dir, name) for name in ("replies.json", "prompt.txt", "config.toml", "changed.json"))
    with open(replies, "w") as file:
        json.dump(turns, file)
    with open(prompt, "w") as file:
        file.write("Please review the change.")
    with open(config, "w") as file:
        file.write('[pair]\nlock = "%s"\nrequire_confinement = %s\n[harness.%s]\n' % (lock, "false" if lock == "none" else "true", agent))
        if is_open:
            file.write(wide_open(agent))
    command = [sys.executable, os.path.join(args.lab, "with_fake.py"), agent, "--replies", replies, "--port", str(free_port()), "--",
               "env", "CODRIVER_E2E=" + prompt, sys.executable, os.path.abspath(__file__), "--watch", out,
               args.bin, "--config", config, "--headless", "--json", "--peer", agent, "--timeout", "150s", "discuss", "--file", prompt]
    env = dict(os.environ, LAB_DIR=lab_dir, PYTHONDONTWRITEBYTECODE="1")
    for key in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "CODEX_HOME"):
        env.pop(key, None)
    got = subprocess.run(command, cwd=args.lab, env=env, capture_output=True, text=True, timeout=300)
    left = left_running(prompt)
    if left:
        return "left running: %s" % left
    if got.returncode != 10:
        return "exit %d in place of 10: %s" % (got.returncode, (got.stdout + got.stderr)[-900:])
    result = json.loads(got.stdout)
    if result["peer"]["confined"] != lock:
        return "confined by %s" % result["peer"]["confined"]
    with open(out) as file:
        changed = json.load(file)
    if lock == "none":
        return None if changed else "not one of the calls wrote anything: they prove nothing"
    return "changed: %s" % changed[:8] if changed or result["tree"]["moved"] is not False else None


PROJECTS = {
    "c/Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
    "c/Cargo.lock": 'version = 3\n\n[[package]]\nname = "small"\nversion = "0.1.0"\n',
    "c/src/lib.rs": "#[test]\nfn adds() {}\n",
    "p/test_small.py": "def test_adds(tmp_path):\n    (tmp_path / 'x').write_text('y')\n",
    "n/package.json": '{"name":"small","version":"1.0.0","scripts":{"test":"node --test"}}\n',
    "n/small.test.js": "require('node:test')('adds', () => {});\n",
}


def tools_of_the_trade():
    """Commands a reviewer runs, by the program each needs, and what it shows when it worked. A login shell has a path of its own."""
    for program, line, shown in (("git", "git status --short", "?? c/"), ("git", "git log --oneline | head -n 3; git diff | cat; echo seen", "seen"),
                                 ("cargo", "cd c; %s test --offline --locked", "1 passed"), ("python3", "cd p; %s -m pytest -q", "1 passed"),
                                 ("npm", "cd n; npm test", "pass 1"), ("sh", "echo x > $TMPDIR/x; cat $TMPDIR/x; echo y > y || echo refused", "refused")):
        path = shutil.which(program)
        if program == "python3" and path and subprocess.run([path, "-m", "pytest", "--version"], capture_output=True).returncode:
            path = None
        if not path:
            print("skipped: no %s to run tests with" % program)
            continue
        if program == "python3":
            path = subprocess.run([path, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True).stdout.strip()
        yield (line % path if "%s" in line else line), shown


def work(args, lock, lab_dir):
    """What codex runs works, tests included: the one of the three that runs commands as shipped."""
    repo = os.path.join(lab_dir, "repo")
    todo = list(tools_of_the_trade())
    tools = [["exec", "text(await tools.exec_command({cmd: %s, yield_time_ms: 60000}));" % json.dumps("cd %s; %s" % (repo, line))] for line, _ in todo]
    replies, config, out = (os.path.join(lab_dir, name) for name in ("replies.json", "config.toml", "changed.json"))
    with open(replies, "w") as file:
        json.dump([BRIEF, {"match": None, "text": SHORT, "tools": tools}], file)
    with open(config, "w") as file:
        file.write('[pair]\nlock = "%s"\nrequire_confinement = true\n' % lock)
    command = [sys.executable, os.path.join(args.lab, "with_fake.py"), "codex", "--replies", replies, "--port", str(free_port()), "--",
               sys.executable, os.path.abspath(__file__), "--watch", out, "--projects",
               args.bin, "--config", config, "--headless", "--json", "--peer", "codex", "--timeout", "250s", "discuss", "Please review."]
    home = os.path.expanduser("~")
    env = dict(os.environ, LAB_DIR=lab_dir, PYTHONDONTWRITEBYTECODE="1")
    env.setdefault("CARGO_HOME", home + "/.cargo")
    env.setdefault("RUSTUP_HOME", home + "/.rustup")
    got = subprocess.run(command, cwd=args.lab, env=env, capture_output=True, text=True, timeout=400)
    if got.returncode != 10:
        return "exit %d in place of 10: %s" % (got.returncode, (got.stdout + got.stderr)[-900:])
    with open(out) as file:
        changed = json.load(file)
    if changed:
        return "changed: %s" % changed[:8]
    with open(os.path.join(lab_dir, "codex.requests.jsonl")) as file:
        answers = outputs(json.loads(file.read().splitlines()[-1]))
    for (line, shown), answer in zip(todo, answers[-len(todo):]):
        if shown not in answer:
            return "`%s` shows no %r: %s" % (line, shown, answer[-600:])
    return None


def outputs(value):
    """What the tools gave the model, in order."""
    if isinstance(value, list):
        return [one for part in value for one in outputs(part)]
    if not isinstance(value, dict):
        return []
    if str(value.get("type", "")).endswith("call_output"):
        return [json.dumps(value.get("output"))]
    return outputs(list(value.values()))


def main():
    if sys.argv[1:2] == ["--watch"]:
        return watch(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.path.join(TOP, "target/debug/codriver"))
    parser.add_argument("--lab", default=os.path.join(TOP, "../shared/lab"))
    parser.add_argument("--agent", action="append")
    parser.add_argument("--lock", action="append")
    args = parser.parse_args()
    args.bin, args.lab = os.path.abspath(args.bin), os.path.abspath(args.lab)
    if not os.path.exists(os.path.join(args.lab, "with_fake.py")):
        print("skipped: the servers that play the models are not there")
        return 0
    locks = []
    for lock in args.lock or ["namespace", "landlock", "none"]:
        tried = subprocess.run([args.bin, "confine", "--lock", lock, "--", "true"], capture_output=True, text=True)
        if tried.returncode == 0:
            locks.append(lock)
        else:
            print("skipped: no %s here: %s" % (lock, tried.stderr.strip()))
    failed = passed = 0
    for agent in args.agent or ["claude", "codex", "opencode"]:
        program = os.environ.get(agent.upper() + "_BIN") or shutil.which(agent)
        if not program or not os.path.exists(program):
            print("skipped: %s is not installed" % agent)
            continue
        os.environ[agent.upper() + "_BIN"] = program
        os.environ["PATH"] = os.path.dirname(os.path.abspath(program)) + os.pathsep + os.environ["PATH"]
        for lock in locks:
            ways = ["wide open"] if lock == "none" else ["as shipped", "wide open"] + ["at work"] * (agent == "codex")
            for way in ways:
                lab_dir = tempfile.mkdtemp(prefix="lab-e2e-")
                try:
                    fault = work(args, lock, lab_dir) if way == "at work" else run(args, agent, lock, way == "wide open", lab_dir)
                except Exception as error:  # noqa: BLE001 - any failure is a finding
                    fault = repr(error)[:700]
                shutil.rmtree(lab_dir, ignore_errors=True)
                passed, failed = passed + (not fault), failed + bool(fault)
                print("%-9s %-9s %-10s %s" % (agent, lock, way, fault or "ok"), flush=True)
    if passed + failed:
        print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
