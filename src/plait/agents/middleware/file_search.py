"""`FilesystemFileSearchMiddleware`: a model searches the files of one folder, and no others.

Paths are told as if the folder were the root of the file system. Whatever a path, a pattern or a
symbolic link says: a file whose real place is outside of the folder is not found.

Where ripgrep is installed it says in which files a search by contents is worth while, so that
Python has to read only those. What is found is the same.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.options import check_numbers
from plait.errors import ConfigError
from plait.tools import StructuredTool

NO_FILES = "No files found"
NO_MATCHES = "No matches found"
OutputMode = Literal["files_with_matches", "content", "count"]

_RIPGREP = (
    *("rg", "--no-config", "--no-messages", "--files-with-matches", "--null"),
    *("--hidden", "--no-ignore", "--text", "--encoding=none"),  # no file is left out
    # Of other letters and ends of lines, the two think differently: Python reads such files.
    r"--regexp=[^\x00-\x7f]|[\r\x0b\x0c\x1c-\x1f]",
)
_READ_OTHERWISE = re.compile(r"\\[A<>]|\\[Bb]\{|&&|--|~~|\[[^\]]*\[|\{\s|\s\}|\(\?[a-z]*x")
"""Patterns that ripgrep reads otherwise than Python; those that it cannot read, it refuses."""

GLOB = """\
Find files by name. Give a pattern such as `**/*.py` or `docs/*.md`, and a folder to start in if \
not all are wanted. Returns their paths, one a line, the one that was changed last first."""
GREP = """\
Find files by what is in them. Give a regular expression, which is looked for line by line; if not \
all files are wanted, a folder to start in, and `include`, a pattern of names such as `*.py` or \
`*.{ts,tsx}`. Returns the paths (`files_with_matches`), the lines as `path:line:text` (`content`), \
or how many lines there are as `path:number` (`count`)."""


class FilesystemFileSearchMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives the model two tools to search the files of a folder: `glob_search` and `grep_search`.

    Args:
        root_path: the folder. Nothing outside of it is found.
        use_ripgrep: let ripgrep (`rg`), if it is on the PATH, choose the files that are read.
        max_file_size_mb: the contents of larger files are not searched.

    Raises:
        ConfigError: there is no such folder.

    >>> search = FilesystemFileSearchMiddleware(root_path=os.curdir)
    >>> [tool.name for tool in search.tools]
    ['glob_search', 'grep_search']
    """

    def __init__(
        self, *, root_path: str, use_ripgrep: bool = True, max_file_size_mb: int = 10
    ) -> None:
        super().__init__()
        check_numbers(max_file_size_mb=max_file_size_mb)
        self.root_path = Path(root_path).resolve()
        if not self.root_path.is_dir():
            raise ConfigError(f"root_path={root_path!r} is no folder that can be searched.")
        self.use_ripgrep = use_ripgrep
        self.max_file_size_bytes = max_file_size_mb * 1024 * 1024
        make = StructuredTool.from_function
        self.glob_search = make(self._glob, name="glob_search", description=GLOB)
        """The tool that finds files by name."""
        self.grep_search = make(self._grep, name="grep_search", description=GREP)
        """The tool that finds files by what is in them."""
        self.tools = [self.glob_search, self.grep_search]

    def _glob(self, pattern: str, path: str = "/") -> str:
        """The paths of files whose path below a folder fits a pattern, newest first."""
        start = self._folder(path)
        if start is None or not pattern.strip("/"):
            return NO_FILES
        found = [file for file in start.glob(pattern.lstrip("/")) if self._is_inside(file)]
        files = sorted((file for file in found if file.is_file()), key=_changed, reverse=True)
        return "\n".join(map(self._shown, files)) or NO_FILES

    def _grep(
        self,
        pattern: str,
        path: str = "/",
        include: str | None = None,
        output_mode: OutputMode = "files_with_matches",
    ) -> str:
        """The files below a folder that have a line in which a regular expression is found."""
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            return f"Invalid regex pattern: {error}"
        start = self._folder(path)
        if start is None:
            return NO_MATCHES
        names = ["*"] if include is None else _patterns(include)
        if names is None:
            return "Invalid include pattern"
        chosen = self._chosen(start, pattern) if self.use_ripgrep else None
        lines = [
            line
            for file in (self._files(start) if chosen is None else chosen)
            if any(fnmatch(file.name, name) for name in names)
            for line in self._told(file, wanted, output_mode)
        ]
        return "\n".join(lines) or NO_MATCHES

    def _told(self, file: Path, wanted: re.Pattern[str], mode: OutputMode) -> list[str]:
        """What is told of one file."""
        hits = [(at, line) for at, line in self._lines(file) if wanted.search(line)]
        if not hits:
            return []
        shown = self._shown(file)
        if mode == "files_with_matches":
            return [shown]
        if mode == "count":
            return [f"{shown}:{len(hits)}"]
        return [f"{shown}:{at}:{line}" for at, line in hits]

    # --- files -----------------------------------------------------------------------------------

    def _folder(self, path: str) -> Path | None:
        """The folder that a path means; None where there is none inside the root."""
        folder = self.root_path / path.lstrip("/")
        return folder if folder.is_dir() and self._is_inside(folder) else None

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root_path)

    def _chosen(self, start: Path, pattern: str) -> list[Path] | None:
        """The files below a folder that ripgrep finds; None if it cannot say."""
        if _READ_OTHERWISE.search(pattern):
            return None
        size = f"--max-filesize={int(self.max_file_size_bytes)}"
        line = [*_RIPGREP, size, f"--regexp={pattern}", "--", str(start)]
        try:
            ran = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except (OSError, ValueError):  # it is not there, or takes no such pattern
            return None
        if ran.stderr or ran.returncode not in (0, 1, 2):  # 2 alone: a file could not be read
            return None
        names = ran.stdout.split(b"\0")[:-1]
        return sorted((Path(os.fsdecode(name)) for name in names), key=_place)

    def _files(self, start: Path) -> Iterator[Path]:
        """The files below a folder, in order; those behind symbolic links are left out."""
        for folder, below, names in os.walk(start):
            below.sort()
            for name in sorted(names):
                file = Path(folder, name)
                if not file.is_symlink() and file.is_file():
                    yield file

    def _lines(self, file: Path) -> list[tuple[int, str]]:
        """The numbered lines of a text; none of what is no text, too large, or cannot be read."""
        try:
            if file.stat().st_size > self.max_file_size_bytes:
                return []
            return list(enumerate(file.read_text("utf-8").splitlines(), 1))
        except (OSError, UnicodeDecodeError):
            return []

    def _shown(self, file: Path) -> str:
        """The path as the model sees it."""
        return f"/{Path(os.path.normpath(file)).relative_to(self.root_path).as_posix()}"


def _place(file: Path) -> list[tuple[bool, str]]:
    """Where a file comes in order: the files of a folder by name, then those of its folders."""
    return [*((True, folder) for folder in file.parts[:-1]), (False, file.name)]


def _changed(file: Path) -> float:
    return file.stat().st_mtime


def _patterns(include: str) -> list[str] | None:
    """What names may be like; None, if that is no pattern.

    >>> _patterns("*.{ts,tsx}"), _patterns("*.{ts")
    (['*.ts', '*.tsx'], None)
    """
    depth = 0
    for sign in re.sub(r"[^{}]", "", include):
        depth += 1 if sign == "{" else -1
        if depth < 0:
            return None
    if depth or "{}" in include or re.search(r"[\0\r\n]", include):
        return None
    return _alternatives(include or "*")


def _alternatives(pattern: str) -> list[str]:
    """A pattern with braces as patterns without."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [
        made for choice in found[1].split(",") for made in _alternatives(f"{before}{choice}{after}")
    ]


__all__ = ["FilesystemFileSearchMiddleware"]
