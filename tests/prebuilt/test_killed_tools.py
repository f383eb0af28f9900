"""Processes killed while tools run, by a real SIGKILL: which effects are there, and how often.

Effects are lines in a file that outlives the processes.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from plait.chat_models import BaseChatModel
from plait.chat_models.fake import GenericFakeChatModel
from plait.checkpoint.sqlite import SqliteSaver
from plait.messages import AIMessage
from plait.outputs import ChatGeneration, ChatResult
from plait.prebuilt import ToolNode, create_react_agent
from plait.runtime import get_runtime
from plait.testing import Effects, every_crash_point, until_done
from plait.tools import tool
from plait.types import Command, UnknownOutcome
from plait.typing import MISSING

CONFIG: Any = {"configurable": {"thread_id": "1"}}
HELLO: Any = {"messages": "hi"}
NOTES = {"noted 0", "noted 1", "noted 3", "noted 4"}
FLAVORS = ("sync", "async")
VERSIONS = ("v1", "v2")


class World:
    """What tools do to the world, and when it kills who does it."""

    def __init__(self, place: Path) -> None:
        place.mkdir(exist_ok=True)
        self.place = place
        self.file = place / "effects"
        self.fatal = place / "fatal"
        self.fatal.touch()

    def act(self, what: str) -> None:
        with self.file.open("a") as effects:
            effects.write(f"{what}\n")

    def die(self) -> None:
        if self.fatal.exists():
            self.fatal.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    @property
    def effects(self) -> Counter[str]:
        return Counter(self.file.read_text().split() if self.file.exists() else ())


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def agent_of(world: World, saver: Any, version: Any, policy: Any, *said: Any, **node: Any) -> Any:
    @tool(on_unknown=policy)
    def charge(n: int) -> str:
        """Charge, and be killed."""
        world.act(f"charge-{n}")
        world.die()
        return f"receipt {n}"

    @tool
    def note(n: int) -> str:
        """Take a note."""
        world.act(f"note-{n}")
        return f"noted {n}"

    @tool
    def die(n: int) -> str:
        """Be killed when the results of all notes are stored."""
        while world.fatal.exists() and not stored(world) >= NOTES:
            sleep(0.001)
        world.die()
        return "survived"

    model = Scripted(messages=iter(said))
    tools = ToolNode([charge, note, die], **node)
    return create_react_agent(model, tools, version=version, checkpointer=saver)


def stored(world: World) -> set[str]:
    """The notes whose results the thread holds, be it as a task's or as a journaled call's."""
    with SqliteSaver(world.place / "log.db") as saver:
        found = saver.get_tuple(CONFIG)
    writes: Any = found.pending_writes if found is not None else None
    text = repr(writes)
    return {note for note in NOTES if f"'{note}'" in text}


def calls(*names: str) -> AIMessage:
    made: Any = [{"name": name, "args": {"n": n}, "id": str(n)} for n, name in enumerate(names)]
    return AIMessage("", tool_calls=made)


def run(agent: Any, given: Any, flavor: str) -> Any:
    if flavor == "async":
        return asyncio.run(agent.ainvoke(given, CONFIG))
    return agent.invoke(given, CONFIG)


def dies(world: World, flavor: str, *args: Any, **node: Any) -> None:
    """A process that runs an agent, and is killed in one of its tools."""
    pid = os.fork()
    if not pid:
        try:
            saver = SqliteSaver(world.place / "log.db")
            run(agent_of(world, saver, *args, **node), HELLO, flavor)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def told(state: Any) -> list[str]:
    return [message.content for message in state["messages"] if message.type == "tool"]


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_killed_charge_asks_instead_of_charging_twice(
    tmp_path: Path, flavor: str, version: str
) -> None:
    world = World(tmp_path)
    dies(world, flavor, version, "ask", calls("charge"))
    with SqliteSaver(tmp_path / "log.db") as saver:
        agent = agent_of(world, saver, version, "ask", "done")
        for _ in range(2):  # asking again does not charge either
            (question,) = run(agent, None, flavor)["__interrupt__"]
            assert question.value["unknown_outcome"] == "charge"
            assert question.value["input"] == {"name": "charge", "args": {"n": 0}, "id": "0"}
        end = run(agent, Command(resume={"done": "receipt found"}), flavor)
    assert told(end) == ["receipt found"]
    assert end["messages"][-1].content == "done"
    assert world.effects == {"charge-0": 1}


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("done", [True, False])
def test_a_function_looks_what_became_of_a_killed_charge(
    tmp_path: Path, flavor: str, done: bool
) -> None:
    world, seen = World(tmp_path), list[Any]()

    def look(outcome: UnknownOutcome) -> Any:
        seen.append((outcome.node, outcome.attempt, outcome.input["args"]))
        assert outcome.task_id == get_runtime().execution_info.task_id  # pyright: ignore[reportOptionalMemberAccess]
        return "receipt found" if done else MISSING

    dies(world, flavor, "v2", look, calls("charge"))
    with SqliteSaver(tmp_path / "log.db") as saver:
        end = run(agent_of(world, saver, "v2", look, "done"), None, flavor)
    assert told(end) == ["receipt found" if done else "receipt 0"]
    assert seen == [("charge", 1, {"n": 0})]
    assert world.effects == {"charge-0": 1 if done else 2}


@pytest.mark.parametrize("policy", [None, "retry"])
def test_a_tool_that_says_nothing_simply_runs_again(tmp_path: Path, policy: Any) -> None:
    world = World(tmp_path)
    dies(world, "sync", "v2", policy, calls("charge"))
    with SqliteSaver(tmp_path / "log.db") as saver:
        end = run(agent_of(world, saver, "v2", policy, "done"), None, "sync")
    assert told(end) == ["receipt 0"]
    assert world.effects == {"charge-0": 2}


FIVE = calls("note", "note", "die", "note", "note")
ANSWERS = ["noted 0", "noted 1", "survived", "noted 3", "noted 4"]


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize(("version", "journal"), [("v2", False), ("v1", True), ("v2", True)])
def test_finished_calls_of_a_killed_process_do_not_run_again(
    tmp_path: Path, flavor: str, version: str, journal: bool
) -> None:
    world = World(tmp_path)
    dies(world, flavor, version, None, FIVE, journal=journal)
    with SqliteSaver(tmp_path / "log.db") as saver:
        end = run(agent_of(world, saver, version, None, "done", journal=journal), None, flavor)
    assert told(end) == ANSWERS
    assert world.effects == {f"note-{n}": 1 for n in (0, 1, 3, 4)}


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_killed_process_leaves_a_thread_that_takes_the_next_message(
    tmp_path: Path, flavor: str
) -> None:
    world = World(tmp_path)
    dies(world, flavor, "v2", None, FIVE)
    with SqliteSaver(tmp_path / "log.db") as saver:
        agent = agent_of(world, saver, "v2", None, "hello again")
        end = run(agent, {"messages": "still there?"}, flavor)
        assert agent.get_state(CONFIG).next == ()
    kinds = [message.type for message in end["messages"]]
    assert kinds == ["human", "ai", *["tool"] * 5, "human", "ai"]
    found = told(end)
    assert found[2].startswith("Interrupted")
    assert [*found[:2], *found[3:]] == ["noted 0", "noted 1", "noted 3", "noted 4"]
    assert world.effects == {f"note-{n}": 1 for n in (0, 1, 3, 4)}


class Stateless(BaseChatModel):
    """Calls all tools at once, then is done: it knows where it is by the messages alone."""

    @property
    def _llm_type(self) -> str:
        return "stateless"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        said = AIMessage("done") if len(messages) > 1 else calls("charge", "note", "charge")
        return ChatResult([ChatGeneration(said)])


@pytest.mark.parametrize(("version", "journal"), [("v2", False), ("v1", True)])
def test_an_agent_killed_anywhere_charges_once_and_repeats_no_stored_call(
    tmp_path: Path, version: Any, journal: bool
) -> None:
    def workflow(saver: Any, effects: Effects) -> Any:
        bank = World(effects.path.parent / "bank")

        def look(outcome: UnknownOutcome) -> Any:
            n = outcome.input["args"]["n"]
            return f"receipt {n}" if bank.effects[f"charge-{n}"] else MISSING

        @tool(on_unknown=look)
        def charge(n: int) -> str:
            """Charge."""
            bank.act(f"charge-{n}")
            return f"receipt {n}"

        @tool
        def note(n: int) -> str:
            """Take a note."""
            effects.note(f"note-{n}")
            return f"noted {n}"

        node = ToolNode([charge, note], journal=journal)
        agent = create_react_agent(Stateless(), node, version=version, checkpointer=saver)
        return told(until_done(agent, HELLO, CONFIG)), sorted(bank.effects.items())

    report = every_crash_point(workflow, tmp_path, stride=2)
    charged = "[('charge-0', 1), ('charge-2', 1)]"
    assert all(point.result.endswith(f"{charged})") for point in report.points)
    assert report.counts("note-1") <= {1, 2}
    assert report.deaths > 5
