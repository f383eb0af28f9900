"""A small MCP server, run as a process: `mcp_server.py stdio`, or `mcp_server.py http PORT`."""

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


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
