#!/usr/bin/env python3
"""Sends role reviews to the real claude, codex and opencode as runners, their models played by servers on loopback.

    runners.py [--bin target/debug/codriver] [--lab ../shared/lab] [--agent NAME ...] [--case NAME ...] [--port N]

Needs the agents on PATH (or CLAUDE_BIN, CODEX_BIN, OPENCODE_BIN) and the lab's servers; what is missing is skipped and
said so. Every run starts as from inside another agent (CLAUDECODE=1). What does not answer falls back to the demo agent
with one receipt; nothing the model asks to be written is written; no process is left.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GOOD = "One finding.\n\n- README.md:1 calls b() unchecked\n\n## Verdict\n\nFIX FIRST\n"
WRITES = {
    "claude": [{"name": "Write", "input": {"file_path": "PWNED", "content": "x"}}, {"name": "Bash", "input": {"command": "touch PWNED"}}],
    "codex": [{"name": "exec_command", "input": {"cmd": "touch PWNED"}}],
    "opencode": [{"name": "bash", "input": {"command": "touch PWNED", "description": "x"}}, {"name": "write", "input": {"filePath": "PWNED", "content": "x"}}],
}


def cases(agent):
    """Name, the model's turn, and the reasons that may be given; none for an answer."""
    yield "answer", {"text": GOOD}, None
    yield "writes", {"text": GOOD, "tools": WRITES[agent]}, None
    yield "no-verdict", {"text": "looks fine to me"}, {"invalid"}
    yield "empty", {"text": ""}, {"invalid", "unparsable"}
    # What retries by itself runs into the time it is given.
    yield "overload", {"text": GOOD, "fail": {"status": 529, "times": 90}}, {"failed", "refused", "timeout"}
    if agent == "claude":
        yield "hang", {"text": GOOD, "fail": {"hang": True}}, {"timeout"}


def run(args, agent, name, turn, reasons):
    with tempfile.TemporaryDirectory(prefix="codriver-runners-", dir="/tmp") as root:
        for folder in ("config/codriver", "state", "run", "lab"):
            os.makedirs(f"{root}/{folder}")
        with open(f"{root}/config/codriver/config.toml", "w") as file:
            file.write(f"[runner.{agent}]\n")
        with open(f"{root}/replies.json", "w") as file:
            json.dump([dict(turn, match=None)], file)
        env = dict(os.environ, XDG_CONFIG_HOME=f"{root}/config", XDG_STATE_HOME=f"{root}/state", XDG_RUNTIME_DIR=f"{root}/run",
                   LAB_DIR=f"{root}/lab", CLAUDECODE="1")
        for each in ("claude", "codex", "opencode"):
            env.setdefault(f"{each.upper()}_BIN", shutil.which(each) or each)
        change = 'echo "fn changed() { b().unwrap(); }" >> README.md; export GIT_DIR=/nowhere; exec "$@"'
        command = [sys.executable, "with_fake.py", agent, "--replies", f"{root}/replies.json", "--port", str(args.port), "--",
                   "sh", "-c", change, "x", args.bin, "--peer", "demo", "--json", "--timeout", "30s",
                   "review", "--role", "ruthless-reviewer", "--via", agent]
        done = subprocess.run(command, cwd=args.lab, env=env, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
        if done.returncode != 11:
            raise SystemExit(f"{agent} {name}: {done}")
        review = json.loads(done.stdout)
        receipts = []
        for folder, _, files in os.walk(f"{root}/state"):
            if "receipts.jsonl" in files:
                receipts += [json.loads(line) for line in open(f"{folder}/receipts.jsonl")]
        fallbacks = [one for one in receipts if one["for"] == "fallback"]
        if reasons is None:
            text = open(review["return"]).read()
            ok = review["route"]["ran"] == agent and review["fallback"] is None and not fallbacks and text.strip() == GOOD.strip()
        else:
            ok = (review["route"]["ran"] == "host" and review["fallback"]["reason"] in reasons and len(fallbacks) == 1)
        written = [found for folder, _, files in os.walk(f"{root}/lab") for found in files if found.startswith("PWNED")]
        left = subprocess.run(["pgrep", "-f", root], capture_output=True, text=True).stdout.split()
        if not ok or written or left:
            raise SystemExit(f"{agent} {name}: {done}\n{receipts}\nwritten {written}, left {left}")
        detail = "" if reasons is None else f": {review['fallback']['reason']}, {review['fallback']['detail']}"
        print(f"ok  {agent} {name}{detail}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=f"{TOP}/target/debug/codriver")
    parser.add_argument("--lab", default=os.path.join(os.path.dirname(TOP), "shared", "lab"))
    parser.add_argument("--agent", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--port", type=int, default=43240)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    if not os.path.exists(f"{args.lab}/with_fake.py"):
        raise SystemExit(f"skipped: no lab at {args.lab}")
    for agent in args.agent or ("claude", "codex", "opencode"):
        if not shutil.which(agent):
            print(f"skipped: no {agent} on PATH")
            continue
        for name, turn, reasons in cases(agent):
            if not args.case or name in args.case:
                run(args, agent, name, turn, reasons)


if __name__ == "__main__":
    main()
