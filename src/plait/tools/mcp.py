"""Tools of MCP servers, by the protocol's official SDK (the extra `mcp`), over stdio or HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any, TypeAlias, TypedDict, cast

from plait.errors import ConfigError, MissingExtraError
from plait.tools.injected import Handler, ToolException
from plait.tools.structured import StructuredTool

try:
    from httpx2 import AsyncClient, Timeout  # what the SDK speaks HTTP with
    from mcp import Client, ClientSession, MCPError, StdioServerParameters, types
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
    """A server that is reached by streamable HTTP."""

    transport: str
    """ "streamable_http" or "http"; may be left out."""
    url: str
    headers: dict[str, str] | None


Connection: TypeAlias = str | StdioServerParameters | StdioConnection | HttpConnection
"""A URL, the parameters of a process, or one of the dicts."""


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
        One tool for each that the server lists.

    Raises:
        ConfigError: A connection says neither what to start nor where to go.
        MCPError: The server refuses to list its tools.
    """
    async with _opened(server) as client:
        listed = await _list(client)
    return [_tool(server, one, prefix, handle_tool_error) for one in listed]


@asynccontextmanager
async def _opened(server: Any) -> AsyncGenerator[Any]:
    """A client of the server: the one that is open already, else a new one for this block."""
    if isinstance(server, (Client, ClientSession)):
        yield server
        return
    if not isinstance(server, Mapping):
        async with Client(server) as client:
            yield client
        return
    connection = cast("Mapping[str, Any]", server)
    if "command" in connection:
        about = {key: value for key, value in connection.items() if key != "transport"}
        async with Client(StdioServerParameters(**about)) as client:
            yield client
    elif "url" in connection:
        headers = connection.get("headers")
        patience = Timeout(30, read=300)  # a tool may think for minutes before it says anything
        async with AsyncClient(headers=headers, timeout=patience, follow_redirects=True) as http:
            transport = streamable_http_client(connection["url"], http_client=http)
            async with Client(transport) as client:
                yield client
    else:
        raise ConfigError(
            f"An MCP connection needs a 'command' to start or a 'url' to go to, not {server!r}."
        )


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
        except MCPError as error:
            raise ToolException(f"MCP tool {its.name!r} failed: {error}") from error
        content = _content(result.content)
        if result.is_error:
            raise ToolException(content if isinstance(content, str) else str(content))
        return content, result.structured_content

    def call(**arguments: Any) -> tuple[Any, Any]:
        return _run_alone(acall(**arguments))

    is_open = isinstance(server, (Client, ClientSession))
    hints = its.annotations.model_dump(exclude_none=True) if its.annotations else {}
    return StructuredTool(
        name=prefix + its.name,
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


def _content(blocks: list[Any]) -> Any:
    """A text alone as text, else content blocks."""
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
        return {"type": "file", "base64": resource.blob, "mime_type": resource.mime_type}
    if isinstance(block, types.ResourceLink):
        return {"type": "file", "url": str(block.uri), "mime_type": block.mime_type}
    return {"type": "text", "text": block.model_dump_json()}
