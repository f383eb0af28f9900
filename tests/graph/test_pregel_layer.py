"""The Pregel layer where the peer has nothing to compare with: files, servers, mistakes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plait.channels import EphemeralValue, LastValue
from plait.checkpoint.memory import InMemorySaver, PersistentDict
from plait.errors import (
    ConfigError,
    CorruptCheckpointError,
    InvalidGraphError,
    InvalidInputError,
    InvalidNodeError,
    InvalidUpdateError,
    NotSupportedError,
    PlaitWarning,
    StaleGraphWarning,
)
from plait.graph import END, START, StateGraph
from plait.graph.ui import push_ui_message
from plait.pregel import ChannelWriteEntry, NodeBuilder, Pregel
from plait.pregel.protocol import PregelProtocol
from plait.pregel.remote import RemoteGraph
from plait.types import Command, interrupt


def graph(**changes: Any) -> Pregel:
    node = NodeBuilder().subscribe_only("a").do(lambda a: a + a).write_to("b")
    given: dict[str, Any] = {
        "nodes": {"n": node},
        "channels": {"a": EphemeralValue(str), "b": LastValue(str)},
        "input_channels": ["a"],
        "output_channels": ["b"],
    }
    return Pregel(**{**given, **changes})


def test_a_loop_ends_where_an_entry_skips_none() -> None:
    grow = NodeBuilder().subscribe_only("v").do(lambda v: v + v if len(v) < 10 else None)
    loop = Pregel(
        nodes={"grow": grow.write_to(ChannelWriteEntry("v", skip_none=True))},
        channels={"v": EphemeralValue(str)},
        input_channels=["v"],
        output_channels=["v"],
    )
    assert loop.invoke({"v": "a"}) == {"v": "a" * 16}


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_breakpoints_at_nodes_that_are_not_there_are_refused(where: str) -> None:
    with pytest.raises(InvalidGraphError, match="node 'm' not found"):
        graph(**{f"{where}_nodes": ["m"]})
    builder = StateGraph(dict).add_node("n", lambda state: state).add_edge(START, "n")
    with pytest.raises(InvalidGraphError, match="node 'm' not found"):
        builder.compile(**{where: ["m"]})


async def test_a_call_returns_the_parts_of_the_mode_that_it_asks_for() -> None:
    for mode in ("updates", ["values", "updates"]):
        told = graph().invoke({"a": "x"}, stream_mode=mode)
        assert told == await graph().ainvoke({"a": "x"}, stream_mode=mode)
        assert told == list(graph().stream({"a": "x"}, stream_mode=mode))


def test_mistakes_name_the_nearest_channel() -> None:
    with pytest.raises(InvalidGraphError, match=r"'bb'.*Did you mean 'b'"):
        graph(nodes={"n": NodeBuilder().subscribe_only("a").write_to("bb")})
    with pytest.raises(InvalidNodeError, match="expected a NodeBuilder"):
        graph(nodes={"n": str.upper})
    with pytest.raises(InvalidInputError, match="dict with keys among"):
        graph().invoke("x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'config_typ'"):
        graph(config_typ=dict)


def test_channels_of_two_graphs_do_not_meet() -> None:
    channels = {"a": EphemeralValue(str), "b": LastValue(str)}
    first, second = graph(channels=channels), graph(channels=channels)
    assert first.invoke({"a": "x"}) == {"b": "xx"}
    assert first.channels["b"] is not second.channels["b"]
    assert not second.channels["b"].is_available()


def test_breakpoints_can_be_set_on_a_made_graph() -> None:
    made = graph(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    made.interrupt_before_nodes = ["n"]
    assert made.invoke({"a": "x"}, config) is None
    assert made.get_state(config).next == ("n",)
    assert made.copy({"interrupt_before_nodes": ()}).invoke(None, config) == {"b": "xx"}


def test_a_question_cannot_be_asked_by_a_node_that_runs_alone() -> None:
    ask = NodeBuilder().subscribe_only("a").do(interrupt).write_to("b")
    with pytest.raises(ConfigError, match="outside of a running graph"):
        graph(nodes={"ask": ask}).nodes["ask"].invoke("?")


def test_a_command_cannot_route_where_there_are_no_routes() -> None:
    made = graph(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    made.invoke({"a": "x"}, config)
    with pytest.raises(InvalidUpdateError, match="no routes to go by"):
        made.invoke(Command(goto="n"), config)


def test_pydantic_is_loaded_when_a_schema_is_asked_for_and_not_before() -> None:
    program = """
import sys
from plait.channels import EphemeralValue, LastValue
from plait.pregel import NodeBuilder, Pregel
from plait.pregel.remote import RemoteGraph
node = NodeBuilder().subscribe_only("a").do(str).write_to("b")
made = Pregel(nodes={"n": node}, channels={"a": EphemeralValue(int), "b": LastValue(str)},
              input_channels="a", output_channels="b")
assert made.invoke(1) == "1"
assert "pydantic" not in sys.modules
assert made.get_input_jsonschema()["type"] == "integer"
assert "pydantic" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- files ---------------------------------------------------------------------------------------


def test_a_persistent_dict_comes_back_from_its_file(tmp_path: Path) -> None:
    file = str(tmp_path / "kept")
    with PersistentDict(list, filename=file, mode=0o600) as kept:
        kept["a"].append(1)
        kept["t", 1] = {"x": (1, 2)}
    again = PersistentDict(list, filename=file)
    assert dict(again) == {}
    again.load()
    assert dict(again) == {"a": [1], ("t", 1): {"x": (1, 2)}}
    assert again["new"] == []
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_persistent_dict_reads_no_pickles(tmp_path: Path) -> None:
    file = tmp_path / "pickled"
    file.write_bytes(b"\x80\x04}\x94.")
    with pytest.raises(CorruptCheckpointError):
        PersistentDict(filename=str(file)).load()
    with pytest.raises(FileNotFoundError):
        PersistentDict(filename=str(tmp_path / "nowhere")).load()
    with pytest.raises(NotSupportedError):
        PersistentDict(filename=str(file), format="json")


def test_a_read_only_persistent_dict_leaves_its_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    with PersistentDict(None, {"a": 1}, filename=str(file), flag="r") as kept:
        kept["b"] = 2
    assert not file.exists()


def test_a_saver_in_memory_takes_no_other_factory() -> None:
    with pytest.raises(NotSupportedError, match="SqliteSaver"):
        InMemorySaver(factory=PersistentDict)


# --- servers -------------------------------------------------------------------------------------


def test_graphs_here_and_on_servers_are_of_one_protocol() -> None:
    assert isinstance(graph(), PregelProtocol)
    assert isinstance(RemoteGraph("helper"), PregelProtocol)
    assert not isinstance(object(), PregelProtocol)


def test_a_url_needs_a_client_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph_sdk", None)
    with pytest.raises(NotSupportedError, match="pip install langgraph-sdk"):
        RemoteGraph("helper", url="http://localhost:1")


def test_a_remote_run_that_tells_no_state_is_warned_of() -> None:
    class Silent:
        class runs:
            @staticmethod
            def stream(**asked: Any) -> Any:
                return iter(())

    with pytest.warns(PlaitWarning, match="without telling a state"):
        assert RemoteGraph("helper", sync_client=Silent()).invoke({}) is None


# --- user interfaces -----------------------------------------------------------------------------


def test_a_component_for_a_key_that_the_state_lacks_is_refused() -> None:
    builder: StateGraph[Any] = StateGraph(dict)
    builder.add_node("n", lambda state: push_ui_message("chart", {}, state_key="ui"))
    builder.add_edge(START, "n")
    with pytest.raises(InvalidUpdateError, match="pushed to key 'ui'"):
        builder.compile().invoke({})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda b: b.add_node("late", dict), "Node 'late'"),
        (lambda b: b.add_edge("n", END), "The edge from 'n' to '__end__'"),
        (lambda b: b.add_conditional_edges("n", lambda s: END), "The conditional edge after 'n'"),
    ],
)
def test_what_is_added_after_compiling_is_warned_of(change: Any, what: str) -> None:
    builder = StateGraph(dict).add_node("n", lambda state: state).add_edge(START, "n")
    builder.compile()
    with pytest.warns(StaleGraphWarning, match=what):
        change(builder)
