"""Handlers that print: what happens (`StdOut`, `File`), or the tokens of a model as they come."""

import sys
from pathlib import Path
from typing import Any, TextIO

from plait.callbacks.handlers import BaseCallbackHandler
from plait.common.closing import ClosedAtEnd
from plait.errors import ConfigError

COLORS = {"blue": "36;1", "yellow": "33;1", "pink": "38;5;200", "green": "32;1", "red": "31;1"}


def in_color(text: str, color: str) -> str:
    """A text as terminals show it in a colour, by its name or its ANSI code."""
    return f"\x1b[{COLORS.get(color, color)}m\x1b[1;3m{text}\x1b[0m"


def in_bold(text: str) -> str:
    """A text as terminals show it in bold."""
    return f"\x1b[1m{text}\x1b[0m"


class PrintingHandler(BaseCallbackHandler):
    """Prints the start and end of chains, what tools return, and texts.

    Args:
        color: "blue", "yellow", "pink", "green" or "red"; for texts that name none.
    """

    run_inline = True

    def __init__(self, color: str | None = None) -> None:
        self.color = color

    def _file(self) -> TextIO:
        return sys.stdout

    def _print(self, text: str, color: str | None = None, end: str = "") -> None:
        if color is not None:
            text = in_color(text, color)
        print(text, end=end, file=self._file(), flush=bool(end))

    def _print_heading(self, text: str) -> None:
        print(in_bold(text), file=self._file())

    def _print_result(self, text: str, color: str | None) -> None:
        self._print(text, color or self.color)

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        """Print that a chain starts."""
        known: dict[str, Any] = serialized or {}
        name = kwargs.get("name") or known.get("name") or (known.get("id") or ["<unknown>"])[-1]
        self._print("\n\n")
        self._print_heading(f"> Entering new {name} chain...")

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """Print that a chain ended."""
        self._print("\n")
        self._print_heading("> Finished chain.")

    def on_agent_action(self, action: Any, *, color: str | None = None, **kwargs: Any) -> None:
        """Print what an agent chose."""
        self._print(action.log, color or self.color)

    def on_tool_end(
        self,
        output: Any,
        color: str | None = None,
        observation_prefix: str | None = None,
        llm_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Print what a tool returned."""
        if observation_prefix is not None:
            self._print(f"\n{observation_prefix}")
        self._print_result(str(output), color)
        if llm_prefix is not None:
            self._print(f"\n{llm_prefix}")

    def on_text(self, text: str, color: str | None = None, end: str = "", **kwargs: Any) -> None:
        """Print a text."""
        self._print(text, color or self.color, end)

    def on_agent_finish(self, finish: Any, *, color: str | None = None, **kwargs: Any) -> None:
        """Print how an agent ended."""
        self._print(finish.log, color or self.color, "\n")


class StdOutCallbackHandler(PrintingHandler):
    """Prints to the standard output."""


class FileCallbackHandler(PrintingHandler, ClosedAtEnd):
    """Prints to a file; close it, or use it in a `with` block.

    Headings and results of tools are plain text there.

    Args:
        filename: The file.
        mode: "a" to add to it, "w" to write it anew.
        color: As of `PrintingHandler`.

    Raises:
        ConfigError: Something is to be printed, and the file is closed.
    """

    def __init__(self, filename: str | Path, mode: str = "a", color: str | None = None) -> None:
        super().__init__(color)
        self.file: Any = Path(filename).open(mode, encoding="utf-8")  # noqa: SIM115 - see close

    def _file(self) -> TextIO:
        if self.file.closed:
            raise ConfigError(
                f"The file {self.file.name!r} of this FileCallbackHandler is closed. Call what it "
                "is to hear inside its `with` block, or before close()."
            )
        return self.file

    def _print_heading(self, text: str) -> None:
        print(text, file=self._file())

    def _print_result(self, text: str, color: str | None) -> None:
        self._print(text)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class StreamingStdOutCallbackHandler(BaseCallbackHandler):
    """Prints the tokens of a model as they come."""

    run_inline = True

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        """Nothing is printed before the first token."""

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        """Print a token."""
        sys.stdout.write(token if isinstance(token, str) else "")
        sys.stdout.flush()
