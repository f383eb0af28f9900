"""Agents over savers: what answers, tools and hooks leave in a thread for the next turn."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Union
from uuid import UUID

from langchain.agents import AgentState as CreateAgentState
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    TodoListMiddleware,
    after_model,
    before_model,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolRuntime, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from .scripted import add, ai, call, model_of

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


class Kind(Enum):
    GOOD = "good"


class Part(BaseModel):
    name: str
    kind: Kind = Kind.GOOD


class Report(BaseModel):
    parts: list[Part]
    at: datetime


@dataclass
class Point:
    x: int
    y: int


class Place(TypedDict):
    city: str


def case_forms_of_answers_of_an_agent(env):
    results = []
    forms = [
        (Report, call("Report", parts=[{"name": "a"}], at="2026-01-02T03:04:05")),
        (Point, call("Point", x=1, y=2)),
        (Place, call("Place", city="Oslo")),
        (ToolStrategy(Union[Point, Place]), call("Place", city="Rome")),  # noqa: UP007
        (
            {"title": "Free", "type": "object", "properties": {"n": {"type": "integer"}}},
            call("Free", n=3),
        ),
    ]
    for n, (form, said) in enumerate(forms):
        thread = {"configurable": {"thread_id": str(n)}}
        options = {"response_format": form, "checkpointer": env.saver()}
        create_agent(model_of(ai(said)), [add], **options).invoke(USER, thread)
        again = create_agent(model_of("more"), [add], **options)
        results.append(again.get_state(thread).values)
    return results


def case_states_of_all_types(env):
    class State(AgentState):
        point: Point
        parts: list[Part]
        kind: Kind
        price: Decimal
        since: timedelta
        id: UUID
        names: set[str]

    given = {
        "point": Point(1, 2),
        "parts": [Part(name="a")],
        "kind": Kind.GOOD,
        "price": Decimal("1.50"),
        "since": timedelta(seconds=3),
        "id": UUID(int=5),
        "names": {"a", "b"},
    }
    options = {"state_schema": State, "checkpointer": env.saver()}
    create_react_agent(model_of("x"), [add], **options).invoke({**USER, **given}, THREAD)
    values = create_react_agent(model_of("y"), [add], **options).get_state(THREAD).values
    return {key: values[key] for key in given}, {k: type(values[k]).__name__ for k in given}


def case_tools_that_change_typed_state(env):
    class State(AgentState):
        points: list[Point]

    @tool
    def move(dx: int, runtime: ToolRuntime) -> Command:
        """Move."""
        points = [Point(one.x + dx, one.y) for one in runtime.state["points"]]
        said = ToolMessage("moved", tool_call_id=runtime.tool_call_id)
        return Command(update={"points": points, "messages": [said]})

    model = model_of(ai(call("move", dx=1)), ai(call("move", "2", dx=10)), "done")
    options = {"state_schema": State, "checkpointer": env.saver()}
    agent = create_react_agent(model, [move], **options)
    agent.invoke({**USER, "points": [Point(0, 0)]}, THREAD)
    return [one.values.get("points") for one in agent.get_state_history(THREAD)]


def case_artifacts_that_are_data(env):
    @tool(response_format="content_and_artifact")
    def found(n: int) -> tuple[str, Any]:
        """Find."""
        return f"{n} things", {"things": list(range(n)), "at": datetime(2026, 1, 2), "raw": b"\x00"}

    agent = create_agent(
        model_of(ai(call("found", n=2)), "done"), [found], checkpointer=env.saver()
    )
    agent.invoke(USER, THREAD)
    again = create_agent(model_of("x"), [found], checkpointer=env.saver())
    return again.get_state(THREAD).values["messages"][2].artifact


def case_steps_inside_tools(env):
    ran = []

    @task
    def charge(amount: int) -> str:
        ran.append(amount)
        return f"charged {amount}"

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        done = charge(amount).result()
        return f"{done}, {interrupt('receipt?')}"

    options = {"checkpointer": env.saver()}
    agent = create_react_agent(model_of(ai(call("pay", amount=5)), "done"), [pay], **options)
    asked = agent.invoke(USER, THREAD)["__interrupt__"]
    done = agent.invoke(Command(resume="yes"), THREAD)
    return [one.value for one in asked], [m.content for m in done["messages"]], ran


def case_approvals_and_a_form(env):
    model = model_of(ai(call("add", a=1, b=2)), ai(call("Point", "2", x=3, y=4)))
    agent = create_agent(
        model,
        [add],
        middleware=[HumanInTheLoopMiddleware({"add": True})],
        response_format=Point,
        checkpointer=env.saver(),
    )
    agent.invoke(USER, THREAD)
    edited = {"type": "edit", "edited_action": {"name": "add", "args": {"a": 10, "b": 2}}}
    done = agent.invoke(Command(resume={"decisions": [edited]}), THREAD)
    return done["structured_response"], [(m.type, m.content) for m in done["messages"]]


def case_todos_over_turns(env):
    todos = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "pending"}]
    model = model_of(ai(call("write_todos", todos=todos)), "one", "two")
    agent = create_agent(model, middleware=[TodoListMiddleware()], checkpointer=env.saver())
    agent.invoke(USER, THREAD)
    return agent.invoke({"messages": [("user", "again")]}, THREAD)["todos"]


def case_a_turn_that_fails_and_goes_on(env):
    tries = []

    @tool
    def flaky(n: int) -> str:
        """Flaky."""
        tries.append(n)
        if len(tries) == 1:
            raise ConnectionError("down")
        return "up"

    agent = create_agent(
        model_of(ai(call("flaky", n=1), call("add", "2", a=1, b=2)), "done"),
        [flaky, add],
        checkpointer=env.saver(),
    )
    error = env.error(lambda: agent.invoke(USER, THREAD))
    waiting = set(agent.get_state(THREAD).next)  # whether `add` had ended by then is nobody's word
    done = agent.invoke(None, THREAD)
    return error, waiting, [(m.type, m.content) for m in done["messages"]], tries


def case_durabilities(env):
    results = []
    for durability in ("sync", "async", "exit"):
        thread = {"configurable": {"thread_id": durability}}
        agent = create_agent(
            model_of(ai(call("add", a=1, b=2)), "done"), [add], checkpointer=env.saver()
        )
        agent.invoke(USER, thread, durability=durability)
        steps = [one.metadata["step"] for one in agent.get_state_history(thread)]
        results.append((steps, len(agent.get_state(thread).values["messages"])))
    return results


def case_agents_of_two_kinds_on_one_thread(env):
    saver = env.saver()
    create_react_agent(model_of("first"), [], checkpointer=saver).invoke(USER, THREAD)
    model = model_of("second")
    agent = create_agent(model, checkpointer=saver)
    return agent.invoke({"messages": [("user", "more")]}, THREAD), model.seen


def case_agents_as_nodes_with_memories_of_their_own(env):
    model = model_of("one", "two")
    inner = create_agent(model, checkpointer=True, name="inner")
    builder = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke(USER, THREAD)
    graph.invoke({"messages": [("user", "again")]}, THREAD)
    return model.seen, [(m.type, m.content) for m in graph.get_state(THREAD).values["messages"]]


def case_private_keys_are_kept_and_not_shown(env):
    from langchain.agents.middleware.types import PrivateStateAttr

    class State(CreateAgentState):
        count: Annotated[int, PrivateStateAttr]

    @before_model(state_schema=State)
    def counted(state, runtime):
        return {"count": state.get("count", 0) + 1}

    @after_model(state_schema=State)
    def told(state, runtime):
        return {"messages": [HumanMessage(f"turn {state['count']}")]}

    agent = create_agent(model_of("a", "b"), middleware=[counted, told], checkpointer=env.saver())
    first = agent.invoke(USER, THREAD)
    second = agent.invoke({"messages": [("user", "again")]}, THREAD)
    return sorted(first), [m.content for m in second["messages"]], agent.get_state(THREAD).values


def case_injected_state_after_a_question(env):
    @tool
    def ask(what: str, state: Annotated[dict, InjectedState]) -> str:
        """Ask."""
        before = len(state["messages"])
        return f"{interrupt(what)} after {before}, {state['remaining_steps'] > 0}"

    agent = create_react_agent(
        model_of(ai(call("ask", what="a"), call("ask", "2", what="b")), "done"),
        [ask],
        checkpointer=env.saver(),
    )
    asked = agent.invoke(USER, THREAD)["__interrupt__"]
    answers = {one.id: one.value.upper() for one in asked}
    again = create_react_agent(model_of("done"), [ask], checkpointer=env.saver())
    return [m.content for m in again.invoke(Command(resume=answers), THREAD)["messages"]]
