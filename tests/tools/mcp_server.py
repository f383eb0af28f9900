"""A small MCP server, run as a process.

`mcp_server.py stdio`, `mcp_server.py streamable-http PORT`, `mcp_server.py sse PORT`.
"""

import os
import sys

from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("little")


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(reason: str) -> str:
    """Fail for a reason."""
    raise ToolError(reason)


@server.tool(structured_output=False)
def picture(arguments: str) -> list[types.TextContent | types.ImageContent]:
    """A picture with a caption."""
    return [
        types.TextContent(type="text", text=arguments),
        types.ImageContent(type="image", data="aGk=", mime_type="image/png"),
    ]


@server.tool(name="files.read", structured_output=False)
def read(path: str) -> list[types.EmbeddedResource | types.ResourceLink | types.AudioContent]:
    """Resources of several kinds."""
    seen = types.BlobResourceContents(uri=f"file:///{path}", blob="aGk=", mime_type="image/png")
    return [
        types.EmbeddedResource(type="resource", resource=seen),
        types.ResourceLink(type="resource_link", uri="https://x/y", name="y"),
        types.AudioContent(type="audio", data="aGk=", mime_type="audio/wav"),
    ]


@server.tool()
def measure(config: str, name: str, server: str) -> types.CallToolResult:
    """Structured content alone; arguments that have names of the program's own."""
    return types.CallToolResult(content=[], structured_content={"said": [config, name, server]})


@server.tool()
def die() -> str:
    """End the server."""
    os._exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run(sys.argv[1], port=int(sys.argv[2]))
