#!/usr/bin/env python3
"""Measures the console against a bare pty and tmux with the same child, in one run. Standard library only.

    cargo build --release && python3 benches/console.py [--bin target/release/codriver] [--only echo,flood,...]

echo   from a key on the outer terminal to its echo there; the child is `cat` on a raw terminal
flood  a 100 MB file through one pane, until its last line is on the outer terminal; and the other pane's echo meanwhile
idle   CPU and wake-ups of the console with two silent panes
start  from exec to the first whole frame
memory resident size with two panes of 200x50 and 10 000 filled lines each

docs/performance.md says what the figures mean. Nothing here fails on a slow machine: it prints.
"""
import argparse
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

SIZE = (200, 50)
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHILD = "stty raw -echo; printf 'READY\\n'; exec cat"


class Outer:
    """A program on an outer terminal that is read and thrown away."""

    def __init__(self, command, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "PS1": "$ "}
            os.chdir(home)
            os.execvpe(command[0], command, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        self.tail = b""

    def read(self, timeout):
        if not select.select([self.fd], [], [], timeout)[0]:
            return b""
        try:
            return os.read(self.fd, 1 << 16)
        except OSError:
            return b""

    def until(self, wanted, timeout):
        """Reads until the bytes hold what is wanted, seen without the sequences between; gives the time it took."""
        begun, tail = time.perf_counter(), b""
        while time.perf_counter() - begun < timeout:
            tail = (tail + self.read(timeout))[-65536:]
            if wanted in tail or wanted in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", tail):
                return time.perf_counter() - begun
        raise SystemExit("%r did not come: %r" % (wanted, tail[-400:]))

    def drain_until(self, wanted, timeout):
        """The same for a flood: only the end of what was read is looked at, so that the reader is not the measure."""
        begun, tail = time.perf_counter(), b""
        while time.perf_counter() - begun < timeout:
            tail = tail[-64:] + self.read(timeout)
            if wanted in tail:
                return time.perf_counter() - begun
        raise SystemExit("%r did not come: %r" % (wanted, tail[-400:]))

    def settle(self, quiet=0.4, most=8):
        end = time.perf_counter() + most
        while time.perf_counter() < end and self.read(quiet):
            pass

    def write(self, data):
        os.write(self.fd, data)

    def close(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                break
            for _ in range(100):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self.fd)
                    return
                self.read(0.02)


def commands(args, home, child):
    """How each of the three runs the child."""
    script = os.path.join(home, "child.sh")
    with open(script, "w") as file:
        file.write(child + "\n")
    conf = os.path.join(home, "tmux.conf")
    with open(conf, "w") as file:
        file.write("set -g status off\nset -sg escape-time 0\n")
    return {
        "bare": ["sh", script],
        "tmux": ["tmux", "-f", conf, "-L", "bench%d" % os.getpid(), "new-session", "sh", script],
        "codriver": [args.bin, "--driver", "sh " + script, "--peer", "demo"],
    }


def kill_tmux():
    subprocess.run(["tmux", "-L", "bench%d" % os.getpid(), "kill-server"], stderr=subprocess.DEVNULL, check=False)


def echo_times(outer, count, pause):
    """Times from a key to its echo, in microseconds. The keys differ, so that each changes a cell."""
    times, letters = [], b"abcdefghijklmnopqrstuvwxyz"
    for at in range(count):
        key = letters[at % 26:at % 26 + 1]
        if at % 60 == 59:
            outer.write(b"\r\n")
            outer.settle(0.02, 0.3)
        end = time.perf_counter() + random.uniform(*pause)
        while (left := end - time.perf_counter()) > 0:
            outer.read(left)
        begun = time.perf_counter()
        outer.write(key)
        seen = b""
        while key not in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", seen):
            got = outer.read(1.0)
            if not got:
                break
            seen += got
        times.append((time.perf_counter() - begun) * 1e6)
    return times


def shown(times):
    times = sorted(times)
    return statistics.median(times), times[int(len(times) * 0.99) - 1]


def echo(args):
    print("echo: median (p99) in microseconds, %d keys each" % args.keys)
    base = None
    for name in ("bare", "tmux", "codriver"):
        home = tempfile.mkdtemp(prefix="bench-")
        outer = Outer(commands(args, home, CHILD)[name], home)
        outer.until(b"READY", 10)
        outer.settle(1.0)
        echo_times(outer, 50, (0.002, 0.004))
        median, p99 = shown(echo_times(outer, args.keys, (0.005, 0.02)))
        base = base or median
        print("  %-9s %6.0f (%6.0f)   added %6.0f" % (name, median, p99, median - base))
        outer.close()
        kill_tmux()
        shutil.rmtree(home, ignore_errors=True)


def make_flood(path, size):
    line = "".join(chr(33 + (7 * at) % 90) for at in range(78)) + "\n"
    with open(path, "w") as file:
        file.write(line * (size // len(line)))


def flood(args):
    print("flood: MB/s of %d MB, ratio to bare" % args.megabytes)
    base = None
    path = os.path.join(tempfile.gettempdir(), "bench-flood.txt")
    make_flood(path, args.megabytes << 20)
    child = "printf 'READY\\n'; read go; cat %s; printf 'E%%s\\n' ND; exec cat" % path
    for name in ("bare", "tmux", "codriver"):
        home = tempfile.mkdtemp(prefix="bench-")
        outer = Outer(commands(args, home, child)[name], home)
        outer.until(b"READY", 10)
        outer.settle(1.0)
        outer.write(b"\r" if name != "bare" else b"\n")
        took = outer.drain_until(b"END", 300)
        speed = args.megabytes / took
        base = base or speed
        print("  %-9s %7.1f   %.2f" % (name, speed, speed / base))
        outer.close()
        kill_tmux()
        shutil.rmtree(home, ignore_errors=True)
    home = tempfile.mkdtemp(prefix="bench-")
    flooding = os.path.join(home, "flood.sh")
    with open(flooding, "w") as file:
        file.write("while :; do cat %s; done\n" % path)
    for name, peer in (("quiet", "sh -c 'exec sleep 1000'"), ("flooded", "sh " + flooding)):
        command = commands(args, home, CHILD)["codriver"]
        command[command.index("demo")] = peer
        outer = Outer(command, home)
        outer.until(b"READY", 10)
        outer.settle(0.5, 2)
        median, p99 = shown(echo_beside(outer, 200))
        print("  the other pane's echo, %-8s %6.0f (%6.0f)" % (name, median, p99))
        outer.close()
    shutil.rmtree(home, ignore_errors=True)
    os.unlink(path)


def echo_beside(outer, count):
    """The echo in the left pane while the right one draws: a word that the flood does not hold is looked for."""
    times = []
    for at in range(count):
        end = time.perf_counter() + random.uniform(0.01, 0.03)
        while (left := end - time.perf_counter()) > 0:
            outer.read(left)
        key = chr(0x4E00 + at).encode()
        begun = time.perf_counter()
        outer.write(key)
        seen = b""
        while key not in seen and time.perf_counter() - begun < 2:
            seen = (seen + outer.read(1.0))[-65536:]
        times.append((time.perf_counter() - begun) * 1e6)
        if at % 20 == 19:
            outer.write(b"\r\n")
    return times


def stat(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open("/proc/%d/status" % pid) as file:
        status = file.read()
    switches = int(re.search(r"voluntary_ctxt_switches:\s+(\d+)", status).group(1))
    resident = int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
    return int(fields[11]) + int(fields[12]), switches, resident


def idle(args):
    home = tempfile.mkdtemp(prefix="bench-")
    command = commands(args, home, CHILD)["codriver"]
    command[command.index("demo")] = "sh -c 'exec sleep 1000'"
    outer = Outer(command, home)
    outer.until(b"READY", 10)
    outer.settle(1.0)
    time.sleep(10)
    before = stat(outer.pid)
    time.sleep(args.seconds)
    after = stat(outer.pid)
    print("idle: %d ticks of CPU, %d wake-ups in %d s" % (after[0] - before[0], after[1] - before[1], args.seconds))
    outer.close()
    shutil.rmtree(home, ignore_errors=True)


def start(args):
    times = []
    for _ in range(15):
        home = tempfile.mkdtemp(prefix="bench-")
        command = commands(args, home, CHILD)["codriver"]
        begun = time.perf_counter()
        outer = Outer(command, home)
        outer.until(b"menu", 10)
        times.append((time.perf_counter() - begun) * 1e3)
        outer.close()
        shutil.rmtree(home, ignore_errors=True)
    print("start: first frame after %.1f ms (median of 15; slowest %.1f)" % (statistics.median(times), max(times)))


def memory(args):
    home = tempfile.mkdtemp(prefix="bench-")
    path = os.path.join(home, "lines.txt")
    with open(path, "w") as file:
        for at in range(11000):
            file.write(("%06d " % at + "lorem ipsum dolor sit amet " * 8)[:190] + "\n")
    child = "cat %s; printf 'READY\\n'; exec cat" % path
    command = commands(args, home, child)["codriver"]
    command[command.index("demo")] = command[2]
    outer = Outer(command, home)
    outer.until(b"READY", 20)
    outer.settle(2.0)
    print("memory: %.1f MiB resident with 10 000 lines in each of two panes" % (stat(outer.pid)[2] / 1024))
    outer.close()
    shutil.rmtree(home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(TOP, "target/release/codriver"))
    parser.add_argument("--only", default="echo,flood,idle,start,memory")
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    print("load %.1f" % os.getloadavg()[0])
    for name in args.only.split(","):
        globals()[name](args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
