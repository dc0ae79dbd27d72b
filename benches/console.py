#!/usr/bin/env python3
"""The console beside a bare pty and tmux, with the same child and in the same run. Standard library alone.

    cargo build --release
    python3 benches/console.py [--bin target/release/codriver] [--only echo,flood,beside,idle,start,memory]

echo    from a key on the outer terminal to its echo there; the child is `cat` on a raw terminal
flood   100 MB through one pane, until what follows them is on the outer terminal
beside  the echo of one pane while the other one floods, and while it is quiet
idle    processor time and wake-ups of all threads with two silent panes
start   from exec to the first whole frame
memory  resident size with two panes of 200x50 and 10 000 filled lines each

The three are measured by turns, so that what else the machine does hits all of them alike. As root the bench and all it
starts come before other work (nice -15). docs/performance.md tells what the figures mean; nothing here fails by them.
"""

import argparse
import collections
import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZE = (200, 50)
# Two panes of 200x50 beside each other, with what stands around them.
WIDE = (401, 61)
SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
# In no flood: seen once, it was drawn.
MARK = "\N{SNOWMAN}".encode()
MARKING = r"printf '\342\230\203'"
RAW = f"stty raw -echo; {MARKING}; exec cat"
QUIET = "sleep 1000"
NAMES = ("bare", "tmux", "codriver")


class Outer:
    """A program on an outer terminal whose output is read and thrown away."""

    def __init__(self, command, home, size=SIZE):
        self.size = size
        self.begun = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
            os.chdir(home)
            os.execvpe(command[0], command, {**env, "SHELL": "/bin/sh"})

    def read(self, timeout):
        if not select.select([self.fd], [], [], timeout)[0]:
            return b""
        return os.read(self.fd, 1 << 16)

    def until(self, wanted, timeout=60):
        """Reads as fast as it comes until a mark is there; gives the time since the start."""
        signal.alarm(timeout)
        rest = b""
        while wanted not in rest:
            rest = rest[1 - len(wanted) :] + os.read(self.fd, 1 << 16)
        signal.alarm(0)
        return time.perf_counter() - self.begun

    def settle(self, quiet=0.4, most=8.0):
        end = time.perf_counter() + most
        while time.perf_counter() < end and self.read(quiet):
            pass

    def type(self, data):
        os.write(self.fd, data)

    def echo(self, key):
        """Types a key; gives the time to its echo, in microseconds."""
        begun, seen = time.perf_counter(), b""
        self.type(key)
        while key not in SEQUENCE.sub(b"", seen):
            got = self.read(2.0)
            if not got:
                break
            seen = seen[-(1 << 14) :] + got
        return (time.perf_counter() - begun) * 1e6

    def close(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.kill(self.pid, number)
            for _ in range(150):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self.fd)
                    return
                try:
                    self.read(0.02)
                except OSError:
                    time.sleep(0.02)


class World:
    """A home for everything that is started, and the end of it all."""

    def __init__(self, binary):
        self.binary = binary
        self.socket = f"bench{os.getpid()}"
        self.conf = None
        self.opened = []

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="bench-")
        return self

    def __exit__(self, *_):
        for outer in self.opened:
            outer.close()
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.home, ignore_errors=True)

    def script(self, text):
        path = os.path.join(self.home, f"child{len(os.listdir(self.home))}.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return f"sh {path}"

    def open(self, name, child, peer=QUIET, size=SIZE, wanted=MARK):
        """Starts a child on a terminal, in one of the three, and waits until it has drawn."""
        child = self.script(child)
        command = {
            "bare": child.split(),
            "tmux": ["tmux", "-f", "/dev/null", "-L", self.socket, "new-session", child, ";", "set", "status", "off"],
            "codriver": [self.binary, "--driver", child, "--peer", self.script(peer)],
        }[name]
        outer = Outer(command, self.home, size)
        self.opened.append(outer)
        outer.first = outer.until(wanted)
        return outer

    def worker(self, name, outer):
        """The process that does the work of a terminal."""
        if name != "tmux":
            return outer.pid
        asked = ["tmux", "-L", self.socket, "display", "-p", "#{pid}"]
        return int(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout)


def usage(pid):
    """Processor time in seconds, times it was put to sleep or off, resident MiB; of all threads."""
    ran = switches = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
            ran += int(file.read().split()[0])
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            status = file.read()
        switches += sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", status)))
    resident = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024
    return ran / 1e9, switches, resident


def shown(times):
    times = sorted(times)
    return statistics.median(times), times[int(len(times) * 0.99)]


def pause(outers, seconds):
    """Reads what comes meanwhile."""
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        for fd in select.select([outer.fd for outer in outers], [], [], left)[0]:
            os.read(fd, 1 << 16)


def echo(args):
    times = collections.defaultdict(list)
    with World(args.bin) as world:
        outers = {name: world.open(name, RAW) for name in NAMES}
        pause(outers.values(), 2)
        for at in range(args.keys + 50):
            if at % 50 == 49:
                for outer in outers.values():
                    outer.type(b"\r\n")
                pause(outers.values(), 0.05)
            for name in random.sample(NAMES, len(NAMES)):
                # Each of them gets a key every 5 to 20 ms or so.
                pause(outers.values(), random.uniform(0.0017, 0.0067))
                took = outers[name].echo(b"%c" % (97 + at % 26))
                if at >= 50:
                    times[name].append(took)
    print(f"echo of {args.keys} keys: median, 99th of a hundred, and what is added to the bare pty's, in microseconds")
    base = shown(times["bare"])
    for name in NAMES:
        median, p99 = shown(times[name])
        print(f"  {name:9} {median:7.0f} {p99:7.0f}   added {median - base[0]:7.0f} {p99 - base[1]:7.0f}")


def lines_of(kind, size):
    """A file of lines that say something else each, plain or coloured."""
    words = "the quick brown fox jumps over the lazy dog and the dog sleeps on while it rains outside".split()
    block = []
    for at in range(2000):
        text = " ".join(words[at % 7 : at % 7 + 10])
        if kind == "ascii":
            block.append(f"{at:06} {text}\n")
        else:
            block.append(
                f"\x1b[38;5;{at % 256}m{at:06}\x1b[0m \x1b[1;32m{text[:20]}\x1b[0m = "
                f"\x1b[38;2;{at % 256};90;80m{text[20:50]}\x1b[39m; \x1b[2m{text[50:]}\x1b[22m\n"
            )
    block = "".join(block).encode()
    return block * (size // len(block) + 1)


def flood(args):
    for kind in ("ascii", "colour"):
        speeds, costs = collections.defaultdict(list), {}
        with tempfile.NamedTemporaryFile() as file:
            file.write(lines_of(kind, args.megabytes * 1_000_000))
            file.flush()
            child = f"{MARKING}; read go; cat {file.name}; {MARKING}; exec cat"
            for _ in range(args.times):
                for name in NAMES:
                    with World(args.bin) as world:
                        outer = world.open(name, child)
                        outer.settle()
                        pid = world.worker(name, outer)
                        before = usage(pid)[0]
                        outer.begun = time.perf_counter()
                        outer.type(b"\r")
                        took = outer.until(MARK, 300)
                        speeds[name].append(args.megabytes / took)
                        costs[name] = usage(pid)[0] - before
        print(f"flood of {args.megabytes} MB, {kind}, {args.times} times: median MB/s, of bare, of tmux, processor s")
        median = {name: statistics.median(speeds[name]) for name in NAMES}
        for name in NAMES:
            ratios = f"{median[name] / median['bare']:5.2f} {median[name] / median['tmux']:5.2f}"
            cost = "" if name == "bare" else f"   {costs[name]:5.2f}"
            print(f"  {name:9} {median[name]:7.1f}   {ratios}{cost}")


def beside(args):
    """The echo of a pane, the other one silent or flooding: a sign that the flood does not hold is looked for."""
    print("echo of one pane by what the other one does: median and 99th of a hundred, in microseconds")
    with tempfile.NamedTemporaryFile() as file:
        file.write(lines_of("ascii", 20_000_000))
        file.flush()
        for kind, peer in (("silent", QUIET), ("floods", f"while :; do cat {file.name}; done")):
            with World(args.bin) as world:
                outer, times = world.open("codriver", RAW, peer), []
                pause([outer], 2)
                for at in range(args.keys // 2):
                    pause([outer], random.uniform(0.005, 0.02))
                    times.append(outer.echo(chr(0x4E00 + at).encode()))
                    if at % 20 == 19:
                        outer.type(b"\r\n")
                median, p99 = shown(times)
                print(f"  {kind:9} {median:7.0f} {p99:7.0f}")


def idle(args):
    with World(args.bin) as world:
        outer = world.open("codriver", RAW)
        pause([outer], 10)
        before = usage(outer.pid)
        pause([outer], args.seconds)
        after = usage(outer.pid)
        share = 100 * (after[0] - before[0]) / args.seconds
        print(f"idle for {args.seconds} s: {share:.4f} % of a processor, {after[1] - before[1]} wake-ups of all threads")


def start(args):
    times = []
    for _ in range(21):
        with World(args.bin) as world:
            times.append(1000 * world.open("codriver", RAW, wanted=b"menu").first)
    print(f"first frame after {statistics.median(times):.1f} ms, median of {len(times)}; slowest {max(times):.1f}")


def memory(args):
    with World(args.bin) as world:
        path = os.path.join(world.home, "lines.txt")
        with open(path, "w", encoding="utf-8") as file:
            for at in range(10_100):
                file.write((f"{at:06} " + "the quick brown fox jumps over the lazy dog " * 5)[:199] + "\n")
        sized = os.path.join(world.home, "size")
        child = f"stty size >>{sized}; cat {path}; {MARKING}; exec cat"
        outer = world.open("codriver", child, child, WIDE)
        outer.settle(2.0)
        with open(sized, encoding="utf-8") as file:
            sizes = " and ".join(file.read().splitlines())
        print(f"{usage(outer.pid)[2]:.1f} MiB resident with 10 000 lines in each of two panes of {sizes}")


def late(*_):
    raise SystemExit("what was waited for did not come")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(TOP, "target/release/codriver"))
    parser.add_argument("--only", default="echo,flood,beside,idle,start,memory")
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    signal.signal(signal.SIGALRM, late)
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    for name in args.only.split(","):
        print(f"load {os.getloadavg()[0]:.1f}")
        globals()[name](args)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
