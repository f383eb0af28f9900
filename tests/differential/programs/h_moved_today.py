"""What programs that people moved lately had found: names, texts, and edges to the end."""

import operator
from operator import itemgetter
from typing import Annotated, Any, TypedDict

from langchain_core.documents import Document
from langchain_core.language_models import LLM, FakeListChatModel, FakeListLLM
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.config import get_executor_for_config
from langchain_core.tools import tool
from langchain_core.tracers import BaseTracer
from langchain_core.utils.json_schema import dereference_refs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.managed.base import ManagedValue
from langgraph.store.base import SearchItem
from langgraph.types import Interrupt, interrupt
from pydantic import BaseModel, Field


class Said(TypedDict, total=False):
    said: Annotated[list, operator.add]


def says(word):
    return lambda state: {"said": [word]}


def case_several_nodes_lead_to_the_end_together(env):
    builder = StateGraph(Said)
    for name in ("a", "b", "c"):
        builder.add_node(name, says(name))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "c")
    builder.add_edge(["b", "c"], END)
    graph = builder.compile(checkpointer=env.saver())
    thread = {"configurable": {"thread_id": "1"}}
    picture = sorted((edge.source, edge.target) for edge in graph.get_graph().edges)
    return graph.invoke({"said": []}, thread), graph.get_state(thread).next, picture


def case_an_edge_to_the_end_from_unknown_nodes(env):
    builder = StateGraph(Said).add_node("a", says("a")).add_edge(START, "a")
    return env.error(lambda: builder.add_edge(["a", "b"], END))


class StepOf(ManagedValue[str]):
    @staticmethod
    def get(scratchpad: Any) -> str:
        return f"{scratchpad.step} of {scratchpad.stop}"


class Counted(Said, total=False):
    at: Annotated[str, StepOf]


def case_a_managed_value_of_ones_own(env):
    builder = StateGraph(Counted)
    for name in ("a", "b"):
        builder.add_node(name, lambda state: {"said": [state["at"]]})
    builder.add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}, "recursion_limit": 7}
    return graph.invoke({}, thread), graph.invoke({}, thread), env.error(StepOf.__base__)


def case_what_is_shown_of_questions_items_and_getters(env):
    day = "2024-01-01T00:00:00"
    builder = StateGraph(Said).add_node("ask", lambda state: {"said": [interrupt("Name?")]})
    asked = builder.add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    result = asked.invoke({}, {"configurable": {"thread_id": "1"}})
    chain = itemgetter("x") | RunnablePassthrough.assign(n=itemgetter("a", "b"))
    return [
        repr(Interrupt({"q": 1}, id="a")),
        repr(result["__interrupt__"][0]).replace(result["__interrupt__"][0].id, "ID"),
        repr(SearchItem(("a",), "k", {"v": 1}, day, day, 0.5)),
        repr(RunnableLambda(itemgetter("a"))),
        repr(chain),
    ]


@tool
def double(number: int) -> int:
    """Double a number."""
    return number * 2


class Finds(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]


class Notes(BaseTracer):
    """Keeps what a person who stores traces reads of each run."""

    def __init__(self):
        super().__init__()
        self.noted = []

    def _persist_run(self, run):
        self._note(run, run)

    def _on_chat_model_start(self, run):
        self.noted.append([one.name for one in self.run_map.values()])

    def _note(self, run, root):
        order = run.dotted_order.split(".")
        extra = {key: value for key, value in run.extra.items() if key != "metadata"}
        self.noted.append(
            {
                "run": (run.run_type, run.name, run.serialized and run.serialized["name"]),
                "extra": extra,
                "provider": run.metadata.get("ls_provider"),
                "events": [
                    (event["name"], sorted(event.get("kwargs", ()))) for event in run.events
                ],
                "times": (run.events[0]["time"] == run.start_time, run.end_time >= run.start_time),
                "trace": (run.trace_id == root.id, len(order), order[-1].endswith(str(run.id))),
                "latency": run.latency >= 0,
            }
        )
        for child in run.child_runs:
            self._note(child, root)


def case_what_tracers_read_of_runs(env):
    notes = Notes()
    heard = {"callbacks": [notes], "metadata": {"who": "me"}}
    chain = RunnableLambda(str) | FakeListChatModel(responses=["hey"])
    chain.invoke(1, heard)
    list(FakeListChatModel(responses=["ab"]).stream("x", heard))
    FakeListLLM(responses=["q"]).invoke("x", heard)
    double.invoke({"type": "tool_call", "name": "double", "id": "7", "args": {"number": 1}}, heard)
    Finds().invoke("q", heard)
    env.error(lambda: RunnableLambda(len).invoke(5, heard))
    return notes.noted, notes.run_map


def case_what_listeners_read_of_runs(env):
    heard = []
    chain = RunnableLambda(lambda x: RunnableLambda(len).invoke(x)).with_listeners(
        on_end=lambda run: heard.append(
            ([event["name"] for event in run.events], run.trace_id == run.id, run.metadata)
        )
    )
    chain.invoke("abc", {"metadata": {"who": "me"}})
    return heard


def refused(make):
    """Whether a program that catches what the field's classes refuse by, goes on."""
    try:
        make()
    except ValueError:
        return True
    return False


def case_documents_of_no_text_are_value_errors(env):
    return refused(lambda: Document(5)), refused(lambda: Document("x", metadata=3))


def case_an_executor_for_a_config(env):
    with get_executor_for_config({"max_concurrency": 2}) as threads:
        at_once = threads._max_workers
        results = list(threads.map(RunnableLambda(len).invoke, ["a", "bb"]))
    return at_once, results, type(threads).__name__


TREE = {
    "$defs": {
        "Name": {"type": "string"},
        "Alias": {"$ref": "#/$defs/Name"},
        "Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}},
    },
    "properties": {
        "name": {"$ref": "#/$defs/Alias", "description": "who"},
        "tree": {"$ref": "#/$defs/Node"},
        "$defs": {"items": {"$ref": "#/$defs/Name"}},
    },
}


def case_references_of_a_schema(env):
    return [
        dereference_refs(TREE),
        dereference_refs(TREE, skip_keys=()),
        dereference_refs(TREE, skip_keys=["properties"]),
        dereference_refs(TREE["properties"], full_schema=TREE),
        env.error(lambda: dereference_refs({"$ref": "#/$defs/Nobody"})),
    ]


class Echo(LLM):
    length: int = 3

    @property
    def _llm_type(self):
        return "echo"

    @property
    def _identifying_params(self):
        return {"length": self.length}

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        return prompt[: self.length]


def case_a_text_model_is_shown_with_its_params(env):
    return str(Echo(length=2))


class Person(BaseModel):
    name: str = Field(alias="userName")


def case_arguments_with_an_alias(env):
    @tool(args_schema=Person)
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    shown = [*greet.tool_call_schema.model_json_schema()["properties"]]
    called_as_shown = env.error(lambda: greet.invoke({shown[0]: "Bo"}))
    return shown, [*greet.args], greet.invoke({"userName": "Bo"}), called_as_shown
