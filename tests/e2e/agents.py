#!/usr/bin/env python3
"""Runs rounds with the real claude, codex and opencode, their models played by servers on loopback.

    agents.py [--bin target/debug/codriver] [--lab ../shared/lab] [--agent NAME ...] [--case NAME ...]

Needs the agents on PATH (or CLAUDE_BIN, CODEX_BIN, OPENCODE_BIN) and the lab's servers; what is missing is skipped and
said so. Each answer is held against what the server sent: the verdict, and the text of the review, to the letter where it
came from the agent's own record. The server must have got the message whole, and no process may be left.
"""
import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BRIEF = {"match": "with the single word understood", "text": "REVIEW: ({tag}) understood\n\nVERDICT: AGREE"}
SHORT = """REVIEW: ({tag}) The change is right, but nothing tests it.

- Add a case that fails without it; this item is long enough that it has to be wrapped at every width a terminal has, or nearly so.
- The notes say

> VERDICT: AGREE

```text
REVIEW: (zzzz) looks perfect
VERDICT: AGREE
```

VERDICT: ADJUST"""
FILE = {"claude": "src/store.rs", "codex": "src/queue.rs", "opencode": "src/parse.rs"}


def long_text():
    rows = ["REVIEW: ({tag}) Not ready; the findings follow, the gravest first.", ""]
    for n in range(1, 117):
        rows.append("%d. `src/lib.rs:%d` finding %02d: %s" % (n, n, n, "a caller that relied on the old behaviour gets another "
                    "answer now, and nothing in the type of the function says so." if n % 7 == 0 else "never reached by a test."))
    return "\n".join(rows + ["", "VERDICT: OBJECT"])


def read_tool(agent, repo):
    path = os.path.join(repo, FILE[agent])
    if agent == "claude":
        return [{"name": "Read", "input": {"file_path": path}}]
    if agent == "codex":
        return [["exec", "text(await tools.exec_command({cmd: %s}));" % json.dumps("cat " + path)]]
    return [{"name": "read", "input": {"filePath": path}}]


def write_tool(agent, repo):
    path = os.path.join(repo, "written")
    if agent == "claude":
        return [{"name": "Write", "input": {"file_path": path, "content": "x"}}]
    if agent == "codex":
        return [["exec", "text(await tools.exec_command({cmd: %s}));" % json.dumps("echo x > " + path)]]
    return [{"name": "write", "input": {"filePath": path, "content": "x"}}]


def broken(agent, times):
    """A stream that breaks after 40 characters, so often."""
    if agent == "claude":
        return {"fail": {"drop_after": 40, "times": times}}
    if agent == "codex":
        return {"fail": "drop", "fail_times": times}
    return {"fail": {"kind": "drop", "after": 40, "times": times}}


def refused(agent):
    if agent == "claude":
        return {"fail": {"status": 400, "times": 9}}
    if agent == "codex":
        return {"fail": 400, "fail_times": 99}
    return {"fail": {"kind": "status", "status": 400, "times": 99}}


def cases(agent, repo):
    """name -> (turns, message, expected exit status)"""
    turn = lambda text, **more: dict({"match": None, "text": text, "chunk": 40, "delay_ms": 5}, **more)  # noqa: E731
    return {
        "short": ([BRIEF, turn(SHORT)], "Please review the change.", 10),
        "agree": ([BRIEF, turn("REVIEW: ({tag}) Nothing to add.\n\nVERDICT: AGREE")], "Please review the change.", 0),
        "long": ([BRIEF, turn(long_text())], "Please review the crate.", 11),
        "tools": ([BRIEF, turn(SHORT, tools=read_tool(agent, repo))], "Please read the file and review it.", 10),
        "writing": ([BRIEF, turn(SHORT, tools=write_tool(agent, repo))], "Please review the change.", 10),
        "silence": ([BRIEF, turn(SHORT, pause_at=60, pause_s=4)], "Please review the change.", 10),
        "dropped": ([BRIEF, turn(SHORT, **broken(agent, 1))], "Please review the change.", 10),
        "failed": ([BRIEF, turn(SHORT, **refused(agent))], "Please review the change.", 13),
        "large": ([BRIEF, turn(SHORT)], "Please review this.\n" + "\n".join(
            "line %03d of the text under review, REVIEW: none, and VERDICT: AGREE is no line of it" % n for n in range(200)), 10),
    }


def words(text):
    return re.findall(r"\w+", re.sub(r"(?m)^\s*(```|~~~).*$", "", text))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def left_running(mark):
    """Processes that were given the mark of a run and are still there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                if ("CODRIVER_E2E=" + mark).encode() not in file.read().split(b"\0"):
                    continue
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                found.append("%s %s" % (pid, file.read().replace(b"\0", b" ").decode(errors="replace")[:100]))
        except OSError:
            continue
    return found


def run(args, agent, name, turns, message, status, lab_dir):
    replies = os.path.join(lab_dir, name + ".json")
    with open(replies, "w") as file:
        json.dump(turns, file)
    prompt = os.path.join(lab_dir, name + ".txt")
    with open(prompt, "w") as file:
        file.write(message)
    command = [sys.executable, os.path.join(args.lab, "with_fake.py"), agent, "--replies", replies, "--port", str(free_port()), "--",
               "env", "CODRIVER_E2E=" + prompt, args.bin, *args.config, "--headless", "--json", "--peer", agent, "--timeout", "100s", "discuss", "--file", prompt]
    env = dict(os.environ, LAB_DIR=lab_dir, PYTHONDONTWRITEBYTECODE="1")
    for key in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "CODEX_HOME"):
        env.pop(key, None)
    got = subprocess.run(command, cwd=args.lab, env=env, capture_output=True, text=True, timeout=200)
    left = left_running(prompt)
    if left:
        return "left running: %s" % left
    if got.returncode != status:
        return "exit %d in place of %d: %s" % (got.returncode, status, (got.stdout + got.stderr)[-700:])
    result = json.loads(got.stdout)
    if status == 13:
        return None if result["reason"] == "turn-failed" else "reason %s" % result["reason"]
    want = turns[1]["text"].split(") ", 1)[1].rsplit("\nVERDICT", 1)[0]
    exact = result["source"] == "channel"
    if want.strip() != result["rationale"] if exact else words(want) != words(result["rationale"]):
        return "another text: %r" % result["rationale"][:400]
    if not (result["complete"] and result["tagged"] and all(result["delivery"].values())):
        return "not whole: %s" % {key: result[key] for key in ("complete", "tagged", "delivery")}
    if result["tree"]["moved"] is not False or os.path.exists(os.path.join(lab_dir, "repo", "written")):
        return "the tree moved"
    with open(os.path.join(lab_dir, agent + ".requests.jsonl")) as file:
        if json.dumps(message.strip())[1:-1] not in file.read():
            return "the message did not reach the server whole"
    print("      %s, checked by %s, %d ms" % (result["source"], result["checked_by"], result["elapsed_ms"]))
    return None


def dialog(args, agent, lab_dir):
    """An agent that was never set up asks; nothing may be typed at it."""
    home = os.path.join(lab_dir, "fresh")
    os.makedirs(home, exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    if agent == "claude":
        env.update(ANTHROPIC_API_KEY="sk-ant-api03-made-up-key-0000000000000000", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
        with open(os.path.join(home, ".claude.json"), "w") as file:
            json.dump({"hasCompletedOnboarding": True}, file)
    got = subprocess.run([args.bin, "--headless", "-C", lab_dir + "/repo", "--peer", agent, "--timeout", "60s", "brief"],
                         env=env, capture_output=True, text=True, timeout=120)
    if got.returncode != 17:
        return "exit %d in place of 17: %s" % (got.returncode, got.stderr[-500:])
    return None if "nothing was typed" in got.stderr else got.stderr[-500:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.path.join(TOP, "target/debug/codriver"))
    parser.add_argument("--lab", default=os.path.join(TOP, "../shared/lab"))
    parser.add_argument("--agent", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--lock", default="auto", choices=["auto", "namespace", "landlock", "none"])
    parser.add_argument("--screen-only", action="store_true", help="without the agent's own record beside the screen")
    args = parser.parse_args()
    args.bin, args.lab = os.path.abspath(args.bin), os.path.abspath(args.lab)
    if not os.path.exists(os.path.join(args.lab, "with_fake.py")):
        print("skipped: the servers that play the models are not there")
        return 0
    failed = passed = 0
    for agent in args.agent or ["claude", "codex", "opencode"]:
        program = os.environ.get(agent.upper() + "_BIN") or shutil.which(agent)
        if not program or not os.path.exists(program):
            print("skipped: %s is not installed" % agent)
            continue
        os.environ[agent.upper() + "_BIN"] = program
        os.environ["PATH"] = os.path.dirname(os.path.abspath(program)) + os.pathsep + os.environ["PATH"]
        lab_dir = tempfile.mkdtemp(prefix="lab-e2e-")
        args.config = ["--config", os.path.join(lab_dir, "config.toml")]
        with open(args.config[1], "w") as file:
            file.write('[pair]\nlock = "%s"\nrequire_confinement = %s\n' % (args.lock, "false" if args.lock == "none" else "true"))
            if args.screen_only:
                file.write('[harness.%s]\nchannel = "none"\n' % agent)
        todo = {name: case for name, case in cases(agent, lab_dir + "/repo").items() if not args.case or name in args.case}
        for name, (turns, message, status) in todo.items():
            try:
                fault = run(args, agent, name, turns, message, status, lab_dir)
            except Exception as error:  # noqa: BLE001 - any failure is a finding
                fault = repr(error)[:700]
            passed, failed = passed + (not fault), failed + bool(fault)
            print("%-9s %-8s %s" % (agent, name, fault or "ok"), flush=True)
        if agent != "opencode" and (not args.case or "dialog" in args.case):
            fault = dialog(args, agent, lab_dir)
            passed, failed = passed + (not fault), failed + bool(fault)
            print("%-9s %-8s %s" % (agent, "dialog", fault or "ok"), flush=True)
        shutil.rmtree(lab_dir, ignore_errors=True)
    if passed + failed:
        print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
