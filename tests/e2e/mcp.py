#!/usr/bin/env python3
"""The MCP server against a client of other hands: the `mcp` package for Python, which checks every answer's schema.

    mcp.py [--bin target/debug/codriver]

Skipped, and said so, where that package is not installed.
"""
import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path = [path for path in sys.path if os.path.abspath(path or ".") != HERE]  # this file has the package's name

try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError:
    print("skipped: the Python package `mcp` is not installed")
    sys.exit(0)


def field(thing, *names):
    """A field, by the name it has in this version of the package."""
    for name in names:
        if hasattr(thing, name):
            return getattr(thing, name)
    raise AttributeError(names)


def content(result):
    assert not field(result, "is_error", "isError"), result
    return field(result, "structured_content", "structuredContent")


async def talk(program, home):
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    server = StdioServerParameters(command=program, args=["--peer", "demo", "mcp"], env=env, cwd=os.path.join(home, "repo"))
    begun = time.time()
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as client:
        greeting = await client.initialize()
        print("greeted in %d ms, protocol %s" % ((time.time() - begun) * 1000, field(greeting, "protocol_version", "protocolVersion")))
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"ping", "discuss", "ask_review", "brief", "start_discuss", "poll_round"} <= set(tools), tools
        for tool in tools.values():
            assert field(tool, "input_schema", "inputSchema")["type"] == "object" and field(tool, "output_schema", "outputSchema"), tool
        assert content(await client.call_tool("ping", {}))["mode"] == "headless"
        assert content(await client.call_tool("list_peers", {"scope": "all"}))["peers"][0]["harness"] == "demo"
        told = []

        async def progress(done, total, message):
            told.append(message)

        result = content(await client.call_tool("discuss", {"message": "Is a cache worth it?", "kind": "plan"}, progress_callback=progress))
        assert result["verdict"] == "ADJUST" and result["round"] == 1 and result["complete"], result
        assert any("waiting" in message for message in told), told
        begun_id = content(await client.call_tool("start_discuss", {"message": "And a second one?", "kind": "question"}))["round_id"]
        polled = content(await client.call_tool("poll_round", {"round_id": begun_id, "wait_ms": 30000}))
        assert polled["done"] and polled["result"]["round"] == 2, polled
        refused = await client.call_tool("poll_round", {"round_id": "rnd_99"})
        assert field(refused, "is_error", "isError") and "no-round" in refused.content[0].text, refused
        assert content(await client.call_tool("brief", {}))["already"]
        assert content(await client.call_tool("send", {"pane": "peer", "text": "hello there"}))["sent"]
        assert content(await client.call_tool("wait_reply", {"pane": "peer"}))["reply"]
        assert "hello there" in content(await client.call_tool("read", {"pane": "peer", "lines": 200}))["content"]
        assert len((await client.list_resources()).resources) == 2
        assert '"ADJUST"' in (await client.read_resource("codriver://rounds/1")).contents[0].text
        words = (await client.get_prompt("pair", {"kind": "plan"})).messages[0].content.text
        assert "`ESCALATE`" in words and "kind `plan`" in words, words


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.path.join(TOP, "target/debug/codriver"))
    program = os.path.abspath(parser.parse_args().bin)
    with tempfile.TemporaryDirectory() as home:
        os.mkdir(os.path.join(home, "repo"))
        subprocess.run(["git", "init", "--quiet", os.path.join(home, "repo")], check=True)
        asyncio.run(asyncio.wait_for(talk(program, home), 120))
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
