#!/usr/bin/env python3
"""Sends role reviews to an MCP server that is not ours: the Python `mcp` package serving `oracle_send`.

    repo_prompt.py [--bin target/debug/codriver] [--port N]

Needs `pip install mcp`. Each form of the transport is served: with sessions and without, answers as JSON and as an event
stream. The request must arrive whole, `new_chat` only where it is declared, and in every other case the demo agent takes
over with one receipt and its reason.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SERVER = '''
import json, sys
from mcp.server import MCPServer
case, port, log = sys.argv[1], int(sys.argv[2]), sys.argv[3]
server = MCPServer("oracle")
def note(**what):
    with open(log, "a") as file: file.write(json.dumps(what) + "\\n")
GOOD = "Two findings, planted-by-a-server.\\n\\n## Verdict\\n\\nFIX FIRST\\n"
if case == "no-tool":
    @server.tool()
    def other(message: str) -> str: return GOOD
elif case == "no-message":
    @server.tool()
    def oracle_send(text: str) -> str: return GOOD
elif case == "error":
    @server.tool()
    def oracle_send(message: str) -> str: raise ValueError("planted-by-a-server")
elif case == "no-verdict":
    @server.tool()
    def oracle_send(message: str) -> str: return "planted-by-a-server: looks fine"
elif case == "named":
    @server.tool()
    def ask_oracle(message: str, new_chat: bool = False) -> str:
        note(message=message, new_chat=new_chat)
        return GOOD
elif case == "long":
    @server.tool()
    def oracle_send(message: str) -> str: return GOOD + "x" * (300 << 10)
else:
    @server.tool()
    def oracle_send(message: str, new_chat: bool = False) -> str:
        note(message=message, new_chat=new_chat)
        return GOOD
server.run("streamable-http", host="127.0.0.1", port=port, json_response="json" in case, stateless_http="stateless" in case)
'''


def git(repo, *args):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *args], cwd=repo, check=True)


def machine(root, settings):
    for name in ("home", "config/codriver", "state", "run", "repo"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    with open(f"{root}/config/codriver/config.toml", "w") as file:
        file.write(settings)
    git(f"{root}/repo", "init", "-q")
    with open(f"{root}/repo/a.rs", "w") as file:
        file.write("fn a() {}\n")
    git(f"{root}/repo", "add", ".")
    git(f"{root}/repo", "commit", "-q", "-m", "one")
    with open(f"{root}/repo/a.rs", "w") as file:
        file.write("fn a() { b().unwrap(); }\n")
    return {
        "PATH": os.environ["PATH"], "HOME": f"{root}/home", "XDG_CONFIG_HOME": f"{root}/config",
        "XDG_STATE_HOME": f"{root}/state", "XDG_RUNTIME_DIR": f"{root}/run", "LANG": "C.UTF-8",
        "http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
    }


def wait_for(port):
    for _ in range(400):
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/mcp", timeout=1)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the server did not come up")


def run(args, case, port, wanted, settings="", role="ruthless-reviewer"):
    with tempfile.TemporaryDirectory() as root:
        log = f"{root}/log"
        tool = 'tool = "ask_oracle"\n' if case == "named" else ""
        env = machine(root, f'[oracle]\nreview = "rp"\n[oracle.rp]\nurl = "http://localhost:{port}/mcp"\n{tool}{settings}')
        server = None
        if case != "closed":
            server = subprocess.Popen([sys.executable, "-c", SERVER, case, str(port), log], stderr=subprocess.PIPE)
            wait_for(port)
        try:
            done = subprocess.run(
                [args.bin, "--peer", "demo", "--json", "review", "--role", role],
                cwd=f"{root}/repo", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        finally:
            if server:
                server.terminate()
                server.communicate()
        if done.returncode not in (0, 11):
            raise SystemExit(f"{case}: {done}")
        review = json.loads(done.stdout)
        receipts = []
        for folder, _, files in os.walk(f"{root}/state"):
            for name in files:
                text = open(f"{folder}/{name}", errors="replace").read()
                if name == "receipts.jsonl":
                    receipts += [json.loads(line) for line in text.splitlines()]
                if name not in ("return.md", "rp-return.md") and "-return.md" not in name and "planted" in text:
                    raise SystemExit(f"{case}: {name} holds what the server wrote")
        if "planted" in done.stderr or str(port) in done.stderr + done.stdout:
            raise SystemExit(f"{case}: the server's text or address was told: {done}")
        fallbacks = [one for one in receipts if one["for"] == "fallback"]
        if wanted is None:
            asked = [json.loads(line) for line in open(log)]
            ok = (review["route"] == {"asked": "rp", "ran": "rp", "model": None} and review["word"] == "FIX FIRST"
                  and review["fallback"] is None and not fallbacks and len(asked) == 1 and asked[0]["new_chat"] is True
                  and "b().unwrap()" in asked[0]["message"] and "planted" in open(review["return"]).read())
        else:
            ok = (review["route"]["ran"] == "host" and review["fallback"]["reason"] == wanted
                  and len(fallbacks) == 1 and fallbacks[0]["reason"] == wanted and fallbacks[0]["asked"] == "rp")
        if not ok:
            raise SystemExit(f"{case}: {done}\n{receipts}")
        detail = "" if wanted is None else f": {review['fallback']['detail']}"
        print(f"ok  {case}{detail}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=f"{TOP}/target/debug/codriver")
    parser.add_argument("--port", type=int, default=43210)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    cases = [
        ("sessions-sse", None), ("sessions-json", None), ("stateless-sse", None), ("stateless-json", None),
        ("named", None), ("no-tool", "refused"), ("no-message", "refused"), ("error", "refused"),
        ("no-verdict", "invalid"), ("long", "invalid"), ("closed", "unreachable"),
    ]
    for at, (case, wanted) in enumerate(cases):
        run(args, case, args.port + at, wanted)


if __name__ == "__main__":
    main()
