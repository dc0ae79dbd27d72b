#!/usr/bin/env python3
"""Takes a picture of the console as SVG: runs a command in tmux and draws what stands on the screen after a while.

    python3 docs/capture.py docs/console.svg --after 62 -- target/release/codriver demo

Needs tmux. The picture is text: it can be searched, and it is the same on every machine but for fonts.
"""
import argparse
import html
import re
import subprocess
import sys
import time
import unicodedata

CELL = (8.4, 18)
ANSI = ["#1a1a1a", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
        "#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff"]


def color(number):
    if number < 16:
        return ANSI[number]
    if number < 232:
        n = number - 16
        return "#%02x%02x%02x" % tuple(0 if step == 0 else 55 + 40 * step for step in (n // 36, n // 6 % 6, n % 6))
    return "#%02x%02x%02x" % ((8 + 10 * (number - 232),) * 3)


class Pen:
    def __init__(self):
        self.reset()

    def reset(self):
        self.fg = self.bg = None
        self.bold = self.dim = self.italic = self.underline = self.inverse = False

    def take(self, codes):
        codes = [int(code or 0) for code in codes.replace(":", ";").split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 3, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code in (23, 24, 27):
                setattr(self, {23: "italic", 24: "underline", 27: "inverse"}[code], False)
            elif code in (38, 48):
                kind = codes.pop(0)
                value = color(codes.pop(0)) if kind == 5 else "#%02x%02x%02x" % tuple(codes.pop(0) for _ in range(3))
                setattr(self, "fg" if code == 38 else "bg", value)
            elif code in (39, 49):
                setattr(self, "fg" if code == 39 else "bg", None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.fg = ANSI[code - 30 if code < 90 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.bg = ANSI[code - 40 if code < 100 else code - 92]

    def look(self):
        fg, bg = self.fg or "#d4d4d4", self.bg or "#1a1a1a"
        if self.inverse:
            fg, bg = bg, fg
        return fg, bg, self.bold, self.dim, self.italic, self.underline


def runs(line):
    """Pieces of a line: column, columns, text and look."""
    pen, col, out = Pen(), 0, []
    for part in re.split(r"(\x1b\[[0-9;:]*m)", line):
        match = re.fullmatch(r"\x1b\[([0-9;:]*)m", part)
        if match:
            pen.take(match.group(1))
            continue
        for char in re.sub(r"\x1b\][^\x1b\x07]*(\x1b\\|\x07)", "", part):
            wide = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
            look = pen.look()
            if out and out[-1][3] == look and out[-1][0] + out[-1][1] == col:
                out[-1][1] += wide
                out[-1][2] += char
            else:
                out.append([col, wide, char, look])
            col += wide
    return out


def draw(lines, cols):
    width, height = cols * CELL[0] + 20, len(lines) * CELL[1] + 20
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14">' % (width, height),
           '<rect width="100%" height="100%" rx="6" fill="#1a1a1a"/>']
    for row, line in enumerate(lines):
        top = 10 + row * CELL[1]
        for col, wide, text, (fg, bg, bold, dim, italic, underline) in runs(line):
            left, across = 10 + col * CELL[0], wide * CELL[0]
            if bg != "#1a1a1a":
                out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (left, top, across, CELL[1], bg))
            if not text.strip():
                continue
            style = ' font-weight="bold"' * bold + ' opacity="0.6"' * dim + ' font-style="italic"' * italic + ' text-decoration="underline"' * underline
            out.append('<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s" xml:space="preserve"%s>%s</text>'
                       % (left, top + 13.5, across, fg, style, html.escape(text)))
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--size", default="120x36")
    parser.add_argument("--after", type=float, default=30, help="seconds")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    cols, rows = (int(side) for side in args.size.split("x"))
    tmux = ["tmux", "-L", "codriver-capture", "-f", "/dev/null"]
    inside = ["env", "TERM=tmux-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"] + args.command
    subprocess.run(tmux + ["new-session", "-d", "-x", str(cols), "-y", str(rows), *inside], check=True)
    try:
        time.sleep(args.after)
        shown = subprocess.run(tmux + ["capture-pane", "-p", "-e", "-N"], check=True, capture_output=True, text=True).stdout
    finally:
        subprocess.run(tmux + ["kill-server"], check=False)
    lines = shown.split("\n")[:rows]
    with open(args.file, "w") as file:
        file.write(draw(lines, cols))
    print("%s: %d lines" % (args.file, len(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
