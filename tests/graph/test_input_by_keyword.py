"""The input of a call, by its names (reference document 004 has `input_state`)."""

import asyncio
from typing import Any, TypedDict

import pytest

from plait.errors import ConfigError
from plait.graph import START, StateGraph
from plait.pregel.remote import RemoteGraph

pytestmark = pytest.mark.filterwarnings("ignore::plait.warnings.BetaWarning")
NAMES = ["input", "input_state"]


class State(TypedDict):
    n: int


def graph() -> Any:
    builder = StateGraph(State).add_node("more", lambda state: {"n": state["n"] + 1})
    return builder.add_edge(START, "more").compile()


class Event:
    """What a server tells: the state, once."""

    event, data, id = "values", {"n": 2}, None


class Client:
    """A client of a server, which keeps the inputs that it is asked to run."""

    def __init__(self) -> None:
        self.runs, self.given = self, list[Any]()

    def stream(self, **request: Any) -> Any:
        assert "input_state" not in request
        self.given.append(request["input"])
        return iter([Event()])


class AsyncClient(Client):
    """Its async twin."""

    async def stream(self, **request: Any) -> Any:
        for event in super().stream(**request):
            yield event


def remote() -> tuple[RemoteGraph, Client, Client]:
    sync, aio = Client(), AsyncClient()
    return RemoteGraph("helper", sync_client=sync, client=aio), sync, aio


async def listed(parts: Any) -> list[Any]:
    return [part async for part in parts]


async def output_of(coming: Any) -> Any:
    return await (await coming).output()


@pytest.mark.parametrize("name", NAMES)
def test_the_input_may_be_given_by_keyword(name: str) -> None:
    given: Any = {name: {"n": 1}}
    assert graph().invoke(**given) == {"n": 2}
    assert [*graph().stream(**given, stream_mode="values")] == [{"n": 1}, {"n": 2}]
    assert asyncio.run(graph().ainvoke(**given)) == {"n": 2}


@pytest.mark.parametrize("name", NAMES)
def test_the_input_of_events_may_be_given_by_keyword(name: str) -> None:
    given: Any = {name: {"n": 1}}
    for version in ("v1", "v2"):
        events = asyncio.run(listed(graph().astream_events(**given, version=version)))
        assert events[0]["data"] == {"input": {"n": 1}}
        assert events[-1]["data"]["output"] == {"n": 2}
    assert graph().stream_events(**given, version="v3").output == {"n": 2}
    assert asyncio.run(output_of(graph().astream_events(**given, version="v3"))) == {"n": 2}
    logs = asyncio.run(listed(graph().astream_log(**given, diff=False)))
    assert logs[-1].state["final_output"] == {"more": {"n": 2}}


@pytest.mark.parametrize("name", NAMES)
def test_the_input_of_a_remote_graph_may_be_given_by_keyword(name: str) -> None:
    given: Any = {name: {"n": 1}}
    app, sync, aio = remote()
    assert app.invoke(**given) == {"n": 2}
    assert [*app.stream(**given, stream_mode="values")] == [{"n": 2}]
    assert sync.given == [{"n": 1}] * 2
    assert asyncio.run(app.ainvoke(**given)) == {"n": 2}
    assert asyncio.run(listed(app.astream(**given, stream_mode="values"))) == [{"n": 2}]
    assert asyncio.run(listed(app.astream_events(**given))) == []  # its server does the work
    assert aio.given == [{"n": 1}] * 3


TWICE: Any = {"input": {"n": 1}, "input_state": {"n": 2}}


@pytest.mark.parametrize("of_a_server", [False, True])
def test_an_input_that_is_given_twice_is_refused(of_a_server: bool) -> None:
    app: Any = remote()[0] if of_a_server else graph()
    calls = [
        lambda: app.invoke({"n": 1}, input_state={"n": 2}),
        lambda: list(app.stream(**TWICE)),
        lambda: app.stream_events(**TWICE, version="v3"),
        lambda: asyncio.run(app.ainvoke(**TWICE)),
        lambda: asyncio.run(listed(app.astream(**TWICE))),
        lambda: asyncio.run(listed(app.astream_events(**TWICE))),
        lambda: asyncio.run(output_of(app.astream_events(**TWICE, version="v3"))),
        lambda: asyncio.run(listed(app.astream_log(**TWICE))),
    ]
    for call in calls:
        with pytest.raises(ConfigError, match="given twice"):
            call()
