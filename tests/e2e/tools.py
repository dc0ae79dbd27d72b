#!/usr/bin/env python3
"""The tools with the real claude, codex and opencode, their models played by servers on loopback.

    tools.py [--bin target/debug/codriver] [--lab ../shared/lab] [--agent NAME ...] [--case NAME ...]

drives   the agent drives in the console and calls `discuss` by itself: the tool is listed, called and answered, unasked
submits  the agent is the peer and hands its review in by the tool: nothing is lost, and the receipt keeps it
vetoes   what it hands in is another verdict than the one it writes: no verdict

What is missing is skipped and said so.
"""
import argparse
import fcntl
import glob
import json
import os
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BRIEF = {"match": "with the single word understood", "text": "REVIEW: ({tag}) understood\n\nVERDICT: AGREE"}
ASKED = "Is the cache worth its keep? Please say so plainly."


def call(agent, tool, arguments):
    """One call of a codriver tool, as the model of each agent makes it."""
    if agent == "claude":
        return {"name": "mcp__codriver__" + tool, "input": arguments}
    if agent == "codex":
        return ["exec", "text(JSON.stringify(await tools.mcp__codriver__%s(%s)));" % (tool, json.dumps(arguments))]
    return {"name": "codriver_" + tool, "input": arguments}


def patched_lab(lab, into):
    """The lab with the tag filled in where a tool is called, too."""
    shutil.copytree(lab, into, dirs_exist_ok=True)
    for path in glob.glob(os.path.join(into, "fake_*.py")):
        with open(path) as file:
            text = file.read()
        text = re.sub(r'text=fill_tag\(t\["text"\], (\w+)\)',
                      r'text=fill_tag(t["text"], \1), **({"tools": json.loads(fill_tag(json.dumps(t["tools"]), \1))} if t.get("tools") else {})',
                      text)
        with open(path, "w") as file:
            file.write(text)
    return into


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment(lab_dir):
    env = dict(os.environ, LAB_DIR=lab_dir, PYTHONDONTWRITEBYTECODE="1", TERM="xterm-256color")
    for key in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "CODEX_HOME", "TMUX"):
        env.pop(key, None)
    return env


def served(args, agent, turns, lab_dir, command):
    replies = os.path.join(lab_dir, "replies.json")
    with open(replies, "w") as file:
        json.dump(turns, file)
    return [sys.executable, os.path.join(args.lab, "with_fake.py"), agent, "--replies", replies, "--port", str(free_port()), "--"] + command


def requests(agent, lab_dir):
    try:
        with open(os.path.join(lab_dir, agent + ".requests.jsonl")) as file:
            return file.read()
    except OSError:
        return ""


def drives(args, agent, lab_dir):
    turns = [{"match": "START", "tools": [call(agent, "discuss", {"message": ASKED, "kind": "question"})], "text": "I asked, and was told."},
             {"match": None, "text": "Nothing to do."}]
    command = served(args, agent, turns, lab_dir, [args.bin, "--driver", agent, "--peer", "demo"])
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(args.lab)
        os.execve(command[0], command, environment(lab_dir))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    seen, begun, typed = b"", time.time(), 0
    fault = "the call was not answered in time"
    try:
        while time.time() < begun + 90:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    seen += os.read(fd, 65536)
                except OSError:
                    fault = "the console ended: %r" % seen[-600:]
                    break
            waited = time.time() - begun
            if typed == 0 and waited > 12:
                os.write(fd, b"START now, please")
                typed = 1
            elif typed == 1 and waited > 13.5:
                os.write(fd, b"\r")
                typed = 2
            log = requests(agent, lab_dir)
            if "codriver.round/1" in log:
                fault = None
                break
        log = requests(agent, lab_dir)
        if fault is None and "fixed rules over a diff" not in log:
            fault = "the answer is not the peer's"
        if fault:
            fault += "\n" + (log[-1500:] or "no request") + "\n" + ascii(seen[-1500:])
    finally:
        try:
            os.write(fd, b"\x1dq")
            time.sleep(1)
            os.write(fd, b"y")
        except OSError:
            pass
        time.sleep(1.5)
        subprocess.run(["pkill", "-TERM", "-P", str(pid)], check=False)
        os.close(fd)
        os.waitpid(pid, 0)
    return fault


def as_peer(args, agent, lab_dir, written, handed):
    submit = call(agent, "submit_review", {"tag": "{tag}", "review": "All of it is sound.", "verdict": handed})
    turns = [BRIEF, {"match": None, "tools": [submit], "text": "REVIEW: ({tag}) All of it is sound.\n\nVERDICT: " + written}]
    command = [args.bin, "--headless", "--json", "--peer", agent, "--timeout", "100s", "discuss", "--kind", "question", ASKED]
    got = subprocess.run(served(args, agent, turns, lab_dir, command), cwd=args.lab, env=environment(lab_dir),
                         capture_output=True, text=True, timeout=200)
    if not got.stdout:
        return None, "exit %d: %s" % (got.returncode, got.stderr[-900:])
    kept = glob.glob(os.path.join(lab_dir, "home/.local/state/codriver/*/sessions/*/transcripts/*-submitted.txt"))
    if not kept:
        return None, "nothing was handed in: %s\n%s" % (got.stdout[:400], requests(agent, lab_dir)[-2500:])
    result = json.loads(got.stdout)
    print("      %s, checked by %s, %d ms" % (result["source"], result["checked_by"], result["elapsed_ms"]))
    return result, None


def submits(args, agent, lab_dir):
    result, fault = as_peer(args, agent, lab_dir, "AGREE", "AGREE")
    if fault:
        return fault
    if (result["verdict"], result["rationale"], result["complete"]) != ("AGREE", "All of it is sound.", True):
        return "%(verdict)s %(complete)s %(rationale)r" % result
    return None


def vetoes(args, agent, lab_dir):
    result, fault = as_peer(args, agent, lab_dir, "AGREE", "OBJECT")
    if fault:
        return fault
    if (result["verdict"], result["reason"]) != ("UNPARSED", "sources-differ"):
        return "%s %s" % (result["verdict"], result["reason"])
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.path.join(TOP, "target/debug/codriver"))
    parser.add_argument("--lab", default=os.path.join(TOP, "../shared/lab"))
    parser.add_argument("--agent", action="append")
    parser.add_argument("--case", action="append")
    args = parser.parse_args()
    args.bin, lab = os.path.abspath(args.bin), os.path.abspath(args.lab)
    if not os.path.exists(os.path.join(lab, "with_fake.py")):
        print("skipped: the servers that play the models are not there")
        return 0
    scratch = tempfile.mkdtemp(prefix="lab-tools-")
    args.lab = patched_lab(lab, os.path.join(scratch, "lab"))
    failed = passed = 0
    for agent in args.agent or ["claude", "codex", "opencode"]:
        program = os.environ.get(agent.upper() + "_BIN") or shutil.which(agent)
        if not program or not os.path.exists(program):
            print("skipped: %s is not installed" % agent)
            continue
        os.environ[agent.upper() + "_BIN"] = program
        os.environ["PATH"] = os.path.dirname(os.path.abspath(program)) + os.pathsep + os.environ["PATH"]
        for name, case in (("drives", drives), ("submits", submits), ("vetoes", vetoes)):
            if args.case and name not in args.case:
                continue
            lab_dir = tempfile.mkdtemp(prefix="run-", dir=scratch)
            try:
                fault = case(args, agent, lab_dir)
            except Exception as error:  # noqa: BLE001 - any failure is a finding
                fault = repr(error)[:700]
            passed, failed = passed + (not fault), failed + bool(fault)
            print("%-9s %-8s %s" % (agent, name, fault or "ok"), flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    if passed + failed:
        print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
