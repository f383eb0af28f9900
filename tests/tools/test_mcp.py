"""Tools of a real MCP server process, over stdio and over HTTP on loopback."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plait.errors import ConfigError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.tools import ToolException

pytest.importorskip("mcp")
from mcp import Client, MCPError, StdioServerParameters

from plait.tools.mcp import load_mcp_tools

SERVER = str(Path(__file__).parent / "mcp_server.py")
STDIO = {"command": sys.executable, "args": [SERVER, "stdio"]}


def call(name: str, **args: object) -> dict[str, object]:
    return {"type": "tool_call", "id": "1", "name": name, "args": args}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served("streamable-http") as base:
        yield f"{base}/mcp"


@contextmanager
def served(transport: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, SERVER, transport, str(port)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:  # it says when it listens
        if "running on" in line:
            break
    else:
        pytest.fail("the server ended")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


async def check(tools: list) -> None:
    named = {tool.name: tool for tool in tools}
    add, fail, picture = (named[name] for name in ("add", "fail", "picture"))
    assert add.description == "Add two numbers."
    assert add.args["a"]["type"] == "integer"
    answer = await add.ainvoke(call("add", a=2, b=3))
    assert (answer.content, answer.artifact, answer.status) == ("5", {"result": 5}, "success")
    with pytest.raises(ToolException, match="out of paper"):
        await fail.ainvoke({"reason": "out of paper"})
    with pytest.raises(ToolException, match="a"):
        await add.ainvoke({"a": "no number"})
    shown = await picture.ainvoke(call("picture", arguments="a cat"))
    assert shown.content == [
        {"type": "text", "text": "a cat"},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    ]


async def test_tools_of_a_process_answer_refuse_and_fail():
    await check(await load_mcp_tools(STDIO))


async def test_tools_of_a_url_answer_refuse_and_fail(url):
    await check(await load_mcp_tools(url))
    await check(await load_mcp_tools({"url": url, "headers": {"x-me": "plait"}}))


async def test_tools_of_an_older_server_answer_by_its_transport():
    with served("sse") as base:
        tools = await load_mcp_tools({"transport": "sse", "url": f"{base}/sse"})
        add = next(tool for tool in tools if tool.name == "add")
        assert await add.ainvoke({"a": 2}) == "3"


async def test_an_open_client_serves_all_calls():
    async with Client(StdioServerParameters(**STDIO)) as client:
        tools = await load_mcp_tools(client, prefix="little_")
        add = next(tool for tool in tools if tool.name == "little_add")
        sums = await asyncio.gather(*(add.ainvoke({"a": n}) for n in range(3)))
        assert sums == ["1", "2", "3"]
        with pytest.raises(NotImplementedError, match="only async"):
            add.invoke({"a": 1})
        inner = await load_mcp_tools(client.session)
        assert {"add", "fail", "picture"} <= {tool.name for tool in inner}


def test_tools_of_a_url_work_in_a_sync_node(url):
    tools = {tool.name: tool for tool in asyncio.run(load_mcp_tools(url, handle_tool_error=True))}

    def act(state):
        return {
            "messages": [tools[one["name"]].invoke(one) for one in state["messages"][-1].tool_calls]
        }

    graph = StateGraph(MessagesState).add_node(act).add_edge(START, "act").compile()
    calls = [call("add", a=1, b=1), {**call("fail", reason="no"), "id": "2"}]
    *_, summed, failed = graph.invoke({"messages": [AIMessage("", tool_calls=calls)]})["messages"]
    assert (summed.content, summed.tool_call_id, summed.status) == ("2", "1", "success")
    assert (failed.tool_call_id, failed.status) == ("2", "error")
    assert "no" in failed.content


async def test_what_a_tool_gives_beside_text_comes_in_blocks_that_results_may_have(url):
    tools = {tool.name: tool for tool in await load_mcp_tools(url)}
    # Providers refuse the dot in its name.
    read = await tools["files_read"].ainvoke(call("files_read", path="x"))
    assert read.content == [
        {"type": "image", "mime_type": "image/png", "base64": "aGk="},
        {"type": "file", "url": "https://x/y"},
        {"type": "file", "base64": "aGk=", "mime_type": "audio/wav"},
    ]
    given = {"config": "a", "name": "b", "server": "c"}
    measured = await tools["measure"].ainvoke({**call("measure"), "args": given})
    assert json.loads(measured.content) == measured.artifact == {"said": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "connection",
    [
        {"transport": "stdio"},
        {"transport": "websocket", "url": "ws://127.0.0.1/x"},
        {"transport": "sse", "command": "python"},
    ],
)
async def test_a_connection_to_nowhere_says_what_it_needs(connection):
    with pytest.raises(ConfigError, match="'command' to start or a 'url'"):
        await load_mcp_tools(connection)


@pytest.fixture
def nowhere() -> Iterator[str]:
    with socket.socket() as taken:  # bound, and never listened to
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"


@pytest.mark.parametrize("how", ["url", "http", "sse"])
async def test_a_server_that_cannot_be_reached_is_a_connection_error(nowhere, how):
    server = nowhere if how == "url" else {"transport": how, "url": nowhere}
    with pytest.raises(ConnectionError, match="cannot be reached"):
        await load_mcp_tools(server)


async def test_a_server_that_ends_is_an_error_of_the_tool_that_the_model_may_be_told():
    silent = {"command": sys.executable, "args": ["-c", ""]}
    with pytest.raises(MCPError, match="closed"):
        await load_mcp_tools(silent)
    tools = {tool.name: tool for tool in await load_mcp_tools(STDIO)}
    with pytest.raises(ToolException, match="'die' failed"):
        await tools["die"].ainvoke({})
    tools["die"].handle_tool_error = True
    answer = tools["die"].invoke(call("die"))  # under a running loop
    assert (answer.status, "failed" in answer.content) == ("error", True)


def test_a_url_of_a_server_that_has_gone_is_an_error_of_the_tool(nowhere, url):
    connection = {"url": url}
    tools = {tool.name: tool for tool in asyncio.run(load_mcp_tools(connection))}
    connection["url"] = nowhere
    with pytest.raises(ToolException, match="'add' failed: The MCP server cannot be reached"):
        tools["add"].invoke({"a": 1})
