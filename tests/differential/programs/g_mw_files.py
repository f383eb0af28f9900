"""FilesystemFileSearchMiddleware: searching a folder by names and by contents."""

import os
import sysconfig
from contextlib import contextmanager

from langchain.agents import create_agent
from langchain.agents.middleware import FilesystemFileSearchMiddleware
from langchain_core.messages import AIMessage

from .scripted import model_of

FILES = {
    "README.md": "# Title\nplait is durable\n",
    "src/main.py": "import os\n\ndef main():\n    return 'durable'\n",
    "src/deep/util.py": "DURABLE = 1\nother = 2\n",
    "src/deep/data.json": '{"durable": true}\n',
    "web/app.ts": "const durable = 1\nconst durable2 = 2\n",
    "web/app.tsx": "x\n",
    ".hidden": "durable\n",
    "empty.txt": "",
    "bytes.bin": "durable\x00\udcff",
}


def folder(env, **options):
    root = env.tmp_path / "root"
    for age, (name, text) in enumerate(FILES.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))
    (env.tmp_path / "outside.txt").write_text("durable secret")
    given = {"use_ripgrep": False} | options
    middleware = FilesystemFileSearchMiddleware(root_path=str(root), **given)
    return {tool.name: tool for tool in middleware.tools}, root


def lines(text):
    return sorted(text.splitlines())


def case_tools(env):
    tools, _ = folder(env)
    schemas = {name: tool.tool_call_schema.model_json_schema() for name, tool in tools.items()}
    return [
        (name, list(schema["properties"]), schema["required"]) for name, schema in schemas.items()
    ]


def case_globs(env):
    tools, _ = folder(env)
    glob = tools["glob_search"]
    patterns = ["**/*.py", "*.md", "src/*.py", "**/*", "*.nope", "*", "web/*.ts*", "**/deep/*"]
    return [lines(glob.invoke({"pattern": pattern})) for pattern in patterns]


def case_globs_in_a_folder(env):
    tools, _ = folder(env)
    glob = tools["glob_search"]
    return [
        lines(glob.invoke({"pattern": "*.py", "path": path}))
        for path in ("/src", "src", "/src/deep", "/src/deep/", "/nowhere", "/")
    ]


def case_newest_first(env):
    tools, _ = folder(env)
    return tools["glob_search"].invoke({"pattern": "**/*.py"}).splitlines()


def case_ways_out(env):
    tools, root = folder(env)
    (root / "link.txt").symlink_to(env.tmp_path / "outside.txt")
    found = []
    for path in ("/..", "..", "/../", "~", "/src/../..", str(env.tmp_path)):
        found.append(lines(tools["glob_search"].invoke({"pattern": "outside*", "path": path})))
        found.append(lines(tools["grep_search"].invoke({"pattern": "secret", "path": path})))
    return [["secret" in line or "outside" in line for line in one] for one in found]


def case_greps(env):
    tools, _ = folder(env)
    grep = tools["grep_search"]
    return [
        lines(grep.invoke({"pattern": "durable", "output_mode": mode}))
        for mode in ("files_with_matches", "content", "count")
    ]


def case_greps_of_patterns(env):
    tools, _ = folder(env)
    grep = tools["grep_search"]
    patterns = [r"def \w+", "^import", "nothing at all", "[", "(?i)DURABLE = ", r"durable\d"]
    return [lines(grep.invoke({"pattern": pattern})) for pattern in patterns]


def case_greps_of_some_files(env):
    tools, _ = folder(env)
    grep = tools["grep_search"]
    return [
        lines(grep.invoke({"pattern": "durable", "include": include}))
        for include in ("*.py", "*.{ts,tsx}", "*.md", "*.nope", "app.*", "[")
    ]


def case_greps_in_a_folder(env):
    tools, _ = folder(env)
    grep = tools["grep_search"]
    return [
        lines(grep.invoke({"pattern": "durable", "path": path}))
        for path in ("/src", "/web", "/nowhere", "/README.md")
    ]


def case_large_files(env):
    tools, root = folder(env, max_file_size_mb=1)
    (root / "large.txt").write_text("durable\n" * 200_000)
    return lines(tools["grep_search"].invoke({"pattern": "durable", "include": "*.txt"}))


@contextmanager
def ripgrep():
    """The tests' ripgrep, first on the PATH."""
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{sysconfig.get_path('scripts')}:{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path


def case_greps_by_ripgrep(env):
    tools, _ = folder(env, use_ripgrep=True)
    patterns = [r"def \w+", "^import", "nothing at all", "[", "(?i)DURABLE = ", r"durable\d"]
    with ripgrep():
        return [
            lines(tools["grep_search"].invoke({"pattern": pattern, "output_mode": mode}))
            for mode in ("files_with_matches", "content", "count")
            for pattern in patterns
        ]


def case_what_ripgrep_leaves_out(env):
    tools, root = folder(env, use_ripgrep=True)
    (root / ".ignore").write_text("web\n")
    with ripgrep():
        return [
            lines(tools["grep_search"].invoke({"pattern": pattern}))
            for pattern in ("durable", r"(?<=d)urable", r"\Aconst")
        ]


def case_in_an_agent(env):
    _, root = folder(env)
    call = {"name": "grep_search", "args": {"pattern": "main"}, "id": "1", "type": "tool_call"}
    agent = create_agent(
        model_of(AIMessage("", tool_calls=[call]), "done"),
        middleware=[FilesystemFileSearchMiddleware(root_path=str(root), use_ripgrep=False)],
    )
    return [m.content for m in agent.invoke({"messages": [("user", "go")]})["messages"]]
