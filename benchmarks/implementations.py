"""Owns the import roots: a program asks its names here and so never knows whom it measures."""

import atexit
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

PEER = "langgraph"
PLAIT = "plait"

_open = ExitStack()
atexit.register(_open.close)


class ImplementationMissing(RuntimeError):
    """An import root lacks a module or a name that a benchmark needs."""


@dataclass(frozen=True)
class Implementation:
    """One import root. Names are looked up at use: a half-built one still runs what it can.

    >>> Implementation("langgraph").name
    'langgraph'
    """

    name: str

    def _get(self, module: str, attribute: str) -> Any:
        path = f"{self.name}.{module}"
        try:
            return getattr(import_module(path), attribute)
        except (ImportError, AttributeError) as error:
            raise ImplementationMissing(
                f"{path} does not give {attribute!r} ({error}). Install {self.name}, or measure "
                f"the peer alone with --peer-only."
            ) from error

    @property
    def StateGraph(self) -> Any:
        """The graph builder class."""
        return self._get("graph", "StateGraph")

    @property
    def START(self) -> Any:
        """The name of the virtual first node."""
        return self._get("graph", "START")

    @property
    def END(self) -> Any:
        """The name of the virtual last node."""
        return self._get("graph", "END")

    @property
    def Send(self) -> Any:
        """The class that addresses one task of a fan-out."""
        return self._get("types", "Send")

    @property
    def Command(self) -> Any:
        """The class that says what a node writes and where it leads."""
        return self._get("types", "Command")

    def type(self, name: str) -> Any:
        """A name of the vocabulary: `interrupt`, `Command`."""
        return self._get("types", name)

    @property
    def add_messages(self) -> Any:
        """The reducer of lists of messages."""
        return self._get("graph.message", "add_messages")

    @property
    def entrypoint(self) -> Any:
        """The decorator of durable functions."""
        return self._get("func", "entrypoint")

    @property
    def task(self) -> Any:
        """The decorator of the steps of a durable function."""
        return self._get("func", "task")

    def saver(self, kind: str) -> Any:
        """The saver in a SQLite file or in Postgres."""
        return self._get(f"checkpoint.{kind}", f"{kind.title()}Saver")

    def async_saver(self, kind: str) -> Any:
        """Its async twin."""
        return self._get(f"checkpoint.{kind}.aio", f"Async{kind.title()}Saver")

    @property
    def MessagesState(self) -> Any:
        """The state of one list of messages."""
        return self._get("graph", "MessagesState")

    @property
    def AIMessage(self) -> Any:
        """The message class that goes with the graphs: plait's, or langchain_core's."""
        return self._beside("messages", "langchain_core.messages", "AIMessage")

    def message(self, name: str) -> Any:
        """A message class, or a function on messages, as `AIMessage`."""
        return self._beside("messages", "langchain_core.messages", name)

    @property
    def GenericFakeChatModel(self) -> Any:
        """The fake chat model that goes with the graphs, as `AIMessage`."""
        foreign = "langchain_core.language_models.fake_chat_models"
        return self._beside("chat_models.fake", foreign, "GenericFakeChatModel")

    @property
    def BaseChatModel(self) -> Any:
        """The class that chat models derive from, as `AIMessage`."""
        return self._beside("chat_models", "langchain_core.language_models", "BaseChatModel")

    def output(self, name: str) -> Any:
        """A class of what models give back, as `AIMessage`."""
        return self._beside("outputs", "langchain_core.outputs", name)

    @property
    def create_react_agent(self) -> Any:
        """The function that makes an agent of a model and tools."""
        return self._get("prebuilt", "create_react_agent")

    @property
    def create_agent(self) -> Any:
        """The function that makes an agent with middleware, as `AIMessage`."""
        return self._beside("agents", "langchain.agents", "create_agent")

    def middleware(self, name: str) -> Any:
        """A name of middleware, as `AIMessage`."""
        return self._beside("agents.middleware", "langchain.agents.middleware", name)

    @property
    def tool(self) -> Any:
        """The decorator that makes tools, as `AIMessage`."""
        return self._beside("tools", "langchain_core.tools", "tool")

    def piece(self, package: str, name: str) -> Any:
        """A class of `prompts` or `output_parsers`, as `AIMessage`."""
        return self._beside(package, f"langchain_core.{package}", name)

    def runnable(self, name: str) -> Any:
        """A class of runnables, as `AIMessage`."""
        return self._beside("runnables", "langchain_core.runnables", name)

    def _beside(self, own: str, foreign: str, attribute: str) -> Any:
        if self.name == PEER:
            return getattr(import_module(foreign), attribute)
        return self._get(own, attribute)

    @property
    def InMemorySaver(self) -> Any:
        """The saver that keeps checkpoints in dicts."""
        return self._get("checkpoint.memory", "InMemorySaver")

    def store_op(self, name: str) -> Any:
        """The class of an operation of stores."""
        return self._get("store.base", name)

    def store(self, kind: str) -> Any:
        """A new store, in dicts or in a SQLite file, open for the whole process."""
        if kind == "memory":
            return self._get("store.memory", "InMemoryStore")()
        path = f"{_open.enter_context(TemporaryDirectory())}/items.sqlite"
        opened = self._get("store.sqlite", "SqliteStore").from_conn_string(path)
        made = _open.enter_context(opened)
        made.setup()
        return made
