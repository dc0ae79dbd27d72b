#!/usr/bin/env python3
"""From the last byte of a reply to its verdict, and what waiting costs; on the built-in demo agent.

    cargo build --release
    python3 benches/round.py target/release/codriver [ROUNDS]

Every round starts codriver anew, with a home of its own. The end of the reply is the last output of its turn in
`peer.cast`; the verdict is taken where it arrives: at the reading end of codriver's standard output.
"""

import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TURNS = [
    {"text": "REVIEW: ({tag}) Understood.\n\nVERDICT: AGREE"},
    {
        "text": "REVIEW: ({tag}) The second step leaves the lock open when the first one fails, see `src/lock.rs`.\n\n"
        "- Close it before the return.\n- Say so in the test.\n\nVERDICT: ADJUST"
    },
]
QUIET_MS = 400


class World:
    """A home, a folder to work in, and the settings of one way of measuring."""

    def __init__(self, binary, folder, style, channel, faults=()):
        self.binary = binary
        self.folder = folder
        self.work = os.path.join(folder, "work")
        config = os.path.join(folder, "config", "codriver")
        os.makedirs(self.work)
        os.makedirs(config)
        script = os.path.join(folder, "script.json")
        with open(script, "w", encoding="utf-8") as file:
            json.dump(TURNS, file)
        command = ["{self}", "demo-agent", "--style", style, "--script", script]
        for fault in faults:
            command += ["--fault", fault]
        # A new name starts from the profile of an agent nothing is known about.
        self.peer = "demo" if style == "claude" else style
        lines = [f"[harness.{self.peer}]", f"command = {json.dumps(command)}", f'channel = "{channel}"']
        if style != "claude":
            lines.append('peer_env = { CODRIVER_DEMO_CHANNEL = "{private}" }')
        with open(os.path.join(config, "config.toml"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def start(self, *extra):
        env = dict(
            os.environ,
            HOME=self.folder,
            XDG_CONFIG_HOME=os.path.join(self.folder, "config"),
            XDG_STATE_HOME=os.path.join(self.folder, "state"),
        )
        arguments = ["--headless", "--peer", self.peer, *extra, "discuss", "Shall we?"]
        return subprocess.Popen(
            [self.binary, *arguments],
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def newest(self):
        """The folder of the session opened last."""
        found = []
        for folder, _, files in os.walk(os.path.join(self.folder, "state")):
            if "events.jsonl" in files:
                found.append((os.path.getmtime(os.path.join(folder, "events.jsonl")), folder))
        return max(found)[1]


def events_of(folder):
    with open(os.path.join(folder, "events.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def cast_of(folder):
    """The events of the recording, with times from its start."""
    at = 0.0
    with open(os.path.join(folder, "peer.cast"), encoding="utf-8") as file:
        next(file)
        for line in file:
            if line.startswith("["):
                interval, code, data = json.loads(line)
                at += interval
                yield at, code, data


def epoch_of(events):
    """When the session's clock was at zero, since 1970; events tell their time in whole milliseconds."""
    starts = []
    for event in events:
        wall = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
        starts.append(wall.timestamp() - event["at_ms"] / 1000)
    return statistics.median(starts)


def one_round(world, size):
    child = world.start("--size", size)
    arrived = None
    for line in child.stdout:
        if line.startswith(b"VERDICT: "):
            arrived = time.time()
            verdict = line.decode().strip()
    said = child.stderr.read().decode()
    child.wait()
    if arrived is None or not verdict.startswith("VERDICT: ADJUST"):
        raise SystemExit(f"no verdict: {said}")
    folder = world.newest()
    events = events_of(folder)
    last = read = None
    for at, code, data in cast_of(folder):
        if code == "o" and read is None:
            last = at
        elif code == "m" and data.startswith("prompt-sent"):
            read = None
        elif code == "m" and data.startswith("settled") and read is None:
            read = at
    verdict = [event["at_ms"] for event in events if event["event"] == "verdict"][-1]
    return {
        "read": (read - last) * 1000,
        "verdict": verdict - last * 1000,
        "printed": (arrived - epoch_of(events) - last) * 1000,
    }


def rounds(binary, style, channel, count, size="120x50"):
    with tempfile.TemporaryDirectory() as folder:
        world = World(binary, folder, style, channel)
        taken = [one_round(world, size) for _ in range(count)]
    row = {key: statistics.median(one[key] for one in taken) for key in taken[0]}
    worst = max(one["printed"] for one in taken)
    name = f"{style} {size}, channel {channel}"
    print(
        f"{name:34} read {row['read']:7.1f}  verdict {row['verdict']:7.1f}  "
        f"printed {row['printed']:7.1f}  worst {worst:7.1f}  ms",
        flush=True,
    )


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    switches = 0
    ran = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            switches += sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", file.read())))
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
            ran += int(file.read().split()[0])
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK"), ran / 1e9, switches


def waiting(binary, seconds):
    with tempfile.TemporaryDirectory() as folder:
        world = World(binary, folder, "plain", "none", ["hang"])
        child = world.start("--timeout", "120")
        time.sleep(8)
        before, begun = cpu_of(child.pid), time.monotonic()
        time.sleep(seconds)
        after, took = cpu_of(child.pid), time.monotonic() - begun
        child.terminate()
        said = child.communicate()[1].decode().strip()
        shares = [100 * (new - old) / took for new, old in zip(after[:2], before[:2])]
        sent = [data for _, code, data in cast_of(world.newest()) if code == "m"]
        print(
            f"waiting {took:.0f} s on a silent child: {shares[0]:.3f} % by ticks, {shares[1]:.4f} % by the scheduler, "
            f"{after[2] - before[2]} context switches (after {sent}; {said})"
        )


def main():
    binary = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print(f"medians of {count} rounds; quiet_ms is {QUIET_MS} where nothing else is set")
    for style in ("claude", "plain"):
        for channel in ("demo-log", "none"):
            rounds(binary, style, channel, count)
    rounds(binary, "claude", "none", count, "120x250")
    waiting(binary, 20)


if __name__ == "__main__":
    main()
