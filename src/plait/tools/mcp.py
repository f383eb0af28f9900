"""Tools of MCP servers, by the protocol's official SDK (the extra `mcp`), over stdio or HTTP."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any, TypeAlias, TypedDict, cast

from plait.errors import ConfigError, MissingExtraError
from plait.tools.injected import Handler, ToolException
from plait.tools.structured import StructuredTool

try:
    from httpx2 import AsyncClient, HTTPError, Timeout  # what the SDK speaks HTTP with
    from mcp import Client, ClientSession, MCPError, StdioServerParameters, types
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client
except ImportError as error:  # pragma: no cover - where the extra is missing
    raise MissingExtraError(
        "Tools of MCP servers need the official SDK. Install it: pip install 'plait[mcp]'."
    ) from error


class StdioConnection(TypedDict, total=False):
    """A server that is started as a process and spoken to by its input and output."""

    transport: str
    """ "stdio"; may be left out."""
    command: str
    args: list[str]
    env: dict[str, str] | None
    cwd: str | None


class HttpConnection(TypedDict, total=False):
    """A server that is reached by streamable HTTP, or by the older SSE."""

    transport: str
    """ "streamable_http" (or "http"), which may be left out; or "sse"."""
    url: str
    headers: dict[str, str] | None


Connection: TypeAlias = str | StdioServerParameters | StdioConnection | HttpConnection
"""A URL, the parameters of a process, or one of the dicts."""

_CONNECTS, _ANSWERS = 30.0, 300.0
"""How many seconds a server has; a tool may think for minutes before it says anything."""
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
"""What the names of MCP tools may have, and models' providers refuse in the names of tools."""


async def load_mcp_tools(
    server: Client | ClientSession | Connection,
    *,
    prefix: str = "",
    handle_tool_error: Handler = False,
) -> list[StructuredTool]:
    """The tools of an MCP server as tools.

    Of an open client or session the tools use that one, as long as it is open, and are async only.
    Of a connection each call opens a session of its own; such tools work in sync code too.

    A tool returns text, or content blocks if there is more than text; what the server answers as
    structured content is the artifact of the tool message.

    Args:
        server: An open `mcp.Client` or `mcp.ClientSession`, or how to reach the server.
        prefix: Put before each name, where tools of several servers are used together.
        handle_tool_error: What an error of a tool becomes; see `BaseTool`.

    Returns:
        One tool for each that the server lists. Dots and slashes in its name, which models'
        providers refuse, are underscores in the tool's.

    Raises:
        ConfigError: A connection says neither what to start nor where to go, or asks for an
            unknown transport.
        ConnectionError: The server cannot be reached.
        MCPError: The server refuses to list its tools, or ends.
    """
    async with _opened(server) as client:
        listed = await _list(client)
    return [_tool(server, one, prefix, handle_tool_error) for one in listed]


@asynccontextmanager
async def _opened(server: Any) -> AsyncGenerator[Any]:
    """A client of the server: the one that is open already, else a new one for this block.

    Raises:
        ConfigError: It is no connection.
        ConnectionError: The server cannot be reached.
        MCPError: What the server, or the end of it, made of what was asked in this block.
    """
    if isinstance(server, (Client, ClientSession)):
        yield server
        return
    try:
        async with _transport(server) as transport, Client(transport) as client:
            yield client
    except (BaseExceptionGroup, HTTPError) as error:
        raise _reason(error) from None


@asynccontextmanager
async def _transport(server: Any) -> AsyncGenerator[Any]:
    """What the SDK makes a client of."""
    if not isinstance(server, Mapping):
        yield server
        return
    connection = cast("Mapping[str, Any]", server)
    kind, headers = connection.get("transport"), connection.get("headers")
    if "command" in connection and kind in (None, "stdio"):
        about = {key: value for key, value in connection.items() if key != "transport"}
        yield StdioServerParameters(**about)
    elif "url" in connection and kind == "sse":
        yield sse_client(connection["url"], headers, _CONNECTS, _ANSWERS)
    elif "url" in connection and kind in (None, "http", "streamable_http"):
        patience = Timeout(_CONNECTS, read=_ANSWERS)
        async with AsyncClient(headers=headers, timeout=patience, follow_redirects=True) as http:
            yield streamable_http_client(connection["url"], http_client=http)
    else:
        raise ConfigError(
            "An MCP connection needs a 'command' to start or a 'url' to go to, by the transport "
            f"'stdio', 'streamable_http' or 'sse', not {server!r}."
        )


def _reason(error: BaseException) -> BaseException:
    """The error that the SDK's groups are about; one of HTTP is told as a lost connection."""
    errors = [*_leaves(error)]
    error = next((one for one in errors if isinstance(one, MCPError)), errors[0])
    if not isinstance(error, HTTPError):
        return error
    lost = ConnectionError(f"The MCP server cannot be reached: {error}. Is it up, and its URL?")
    lost.__cause__ = error
    return lost


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from _leaves(inner)


async def _list(client: Client | ClientSession) -> list[types.Tool]:
    session = client.session if isinstance(client, Client) else client
    found: list[types.Tool] = []
    cursor: str | None = None
    while True:
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.list_tools(params=params)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            return found


def _tool(server: Any, its: types.Tool, prefix: str, handler: Handler) -> StructuredTool:
    async def acall(**arguments: Any) -> tuple[Any, Any]:
        try:
            async with _opened(server) as client:
                result = await client.call_tool(its.name, arguments)
        except (MCPError, OSError) as error:
            raise ToolException(f"MCP tool {its.name!r} failed: {error}") from error
        content = _content(result)
        if result.is_error:
            raise ToolException(content if isinstance(content, str) else str(content))
        return content, result.structured_content

    def call(**arguments: Any) -> tuple[Any, Any]:
        return _run_alone(acall(**arguments))

    is_open = isinstance(server, (Client, ClientSession))
    hints = its.annotations.model_dump(exclude_none=True) if its.annotations else {}
    return StructuredTool(
        name=_UNFIT.sub("_", prefix + its.name),
        description=its.description or its.title or its.name,
        args_schema=its.input_schema,
        func=None if is_open else call,
        coroutine=acall,
        response_format="content_and_artifact",
        handle_tool_error=handler,
        metadata=hints or None,
    )


def _run_alone(work: Any) -> Any:
    """Run a coroutine to its end from sync code, under a running event loop too."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:  # this thread's loop is busy running us
        return pool.submit(copy_context().run, asyncio.run, work).result()


def _content(result: types.CallToolResult) -> Any:
    """A text alone as text, else content blocks; of structured content alone, its JSON."""
    blocks: list[Any] = result.content
    if not blocks and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    if len(blocks) == 1 and isinstance(blocks[0], types.TextContent):
        return blocks[0].text
    return [_block(block) for block in blocks]


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, types.TextContent):
        return {"type": "text", "text": block.text}
    if isinstance(block, types.ImageContent):
        return {"type": "image", "base64": block.data, "mime_type": block.mime_type}
    if isinstance(block, types.AudioContent):
        return {"type": "file", "base64": block.data, "mime_type": block.mime_type}
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, types.TextResourceContents):
            return {"type": "text", "text": resource.text}
        return {**_media(resource.mime_type), "base64": resource.blob}
    if isinstance(block, types.ResourceLink):
        return {**_media(block.mime_type), "url": str(block.uri)}
    return {"type": "text", "text": block.model_dump_json()}


def _media(mime_type: str | None) -> dict[str, Any]:
    """An image, or a file: the results of tools know no other media."""
    named = {"mime_type": mime_type} if mime_type else {}
    return {"type": "image" if (mime_type or "").startswith("image/") else "file", **named}
