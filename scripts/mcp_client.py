"""Uses `foreword mcp` and `/mcp` as the official Python client of the Model Context Protocol does."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def look_around(session, expects_private):
    await session.initialize()
    names = {tool.name for tool in (await session.list_tools()).tools}
    assert {"memory_search", "memory_get", "prompt_build"} <= names, names
    assert ("prompt_explain" in names) == expects_private, names
    index = (await session.call_tool("memory_index", {})).content[0].text
    assert ("private/people.md" in index) == expects_private, index
    found = await session.call_tool("memory_search", {"query": "garden shed key"})
    assert "social/people.md" in found.content[0].text, found
    missing = await session.call_tool("memory_get", {"path": "social/nothing.md"})
    assert missing.is_error and "there is no note" in missing.content[0].text, missing


async def on_standard_streams(program, home):
    for args, owner in (["mcp"], True), (["mcp", "--user", "bob"], False):
        server = StdioServerParameters(command=program, args=["-w", home, *args], env=dict(os.environ))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await look_around(session, owner)


async def over_http(program, home):
    make = [program, "-w", home, "token", "create", "--user", "bob"]
    token = subprocess.run(make, check=True, capture_output=True, text=True).stdout.strip()
    serve = [program, "-w", home, "serve", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stderr.readline()).group(0) + "/mcp"
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx2.AsyncClient(headers=headers)
        async with streamable_http_client(url, http_client=client) as streams, ClientSession(*streams[:2]) as session:
            await look_around(session, False)
    finally:
        server.terminate()
        server.wait(timeout=30)


async def main(program):
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([program, "init", home], check=True, stdout=subprocess.DEVNULL)
        await on_standard_streams(program, home)
        await over_http(program, home)
    print("the official Python client is served on standard streams and over HTTP")


asyncio.run(main(sys.argv[1]))
