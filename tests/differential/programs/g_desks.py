"""Desks of several agents: supervisors and swarms that hand off, with memories of their own."""

import asyncio
import operator
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, ToolRuntime, create_react_agent
from langgraph.types import Command, RetryPolicy, Send, interrupt

from .desks import USER, thread
from .hooked import UNREPAIRED
from .scripted import add, ai, call, model_of, mul
from .waiting import until


def said(messages):
    return [(m.type, m.content, m.name) for m in messages]


def handoff(to, graph=Command.PARENT):
    @tool(f"transfer_to_{to}")
    def transfer(
        state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command:
        """Hand off."""
        done = ToolMessage(f"to {to}", name=f"transfer_to_{to}", tool_call_id=tool_call_id)
        update = {"messages": [*state["messages"], done], "active": to}
        return Command(goto=to, graph=graph, update=update)

    return transfer


def send_to(to):
    @tool(f"ask_{to}")
    def delegate(task_text: str, state: Annotated[dict, InjectedState]) -> Command:
        """Give a task."""
        given = {**state, "messages": [HumanMessage(task_text)]}
        return Command(goto=[Send(to, given)], graph=Command.PARENT)

    return delegate


class Desk(MessagesState):
    active: str


def swarm(env, *agents, start, saver=True):
    builder = StateGraph(Desk)
    for one in agents:
        builder.add_node(one.name, one, destinations=tuple(a.name for a in agents))
    builder.add_conditional_edges(
        START, lambda state: state.get("active") or start, [a.name for a in agents]
    )
    return builder.compile(checkpointer=env.saver() if saver else None)


def reacting(name, script, tools, **more):
    return create_react_agent(model_of(*script), tools, name=name, **more)


def made(name, script, tools=(), **more):
    return create_agent(model_of(*script), list(tools), name=name, **UNREPAIRED, **more)


def two(make, **more):
    ann = make("ann", [ai(call("transfer_to_bob")), "ann again"], [add, handoff("bob")], **more)
    bob = make("bob", ["bob here", ai(call("transfer_to_ann", "9"))], [handoff("ann")], **more)
    return ann, bob


def case_a_swarm_of_two_kinds_goes_on_with_who_was_active(env):
    results = []
    for make in (reacting, made):
        desk, config = swarm(env, *two(make), start="ann"), thread(make.__name__)
        first = desk.invoke(USER, config)
        second = desk.invoke({"messages": [("user", "back")]}, config)
        results.append([(said(one["messages"]), one["active"]) for one in (first, second)])
        results.append(len(list(desk.get_state_history(config))))
    return results


def case_a_swarm_streams_all_modes(env):
    desk = swarm(env, *two(reacting), start="ann", saver=False)
    modes = ["values", "updates", "messages", "custom", "tasks"]
    parts = [*desk.stream(USER, stream_mode=modes, subgraphs=True)]
    return [
        (
            len(ns),
            [n.split(":")[0] for n in ns],
            mode,
            sorted(part) if isinstance(part, dict) else 0,
        )
        for ns, mode, part in parts
    ]


async def case_a_swarm_in_an_async_run(env):
    async with env.asaver() as saver:
        ann, bob = two(made)
        builder = StateGraph(Desk).add_node("ann", ann).add_node("bob", bob)
        builder.add_conditional_edges(START, lambda s: s.get("active") or "ann", ["ann", "bob"])
        desk = builder.compile(checkpointer=saver)
        parts = [p async for p in desk.astream(USER, thread(), stream_mode="updates")]
        state = await desk.aget_state(thread())
        return parts, state.next, said(state.values["messages"])


def case_agents_of_a_swarm_with_memory_of_their_own(env):
    ann = made(
        "ann", [ai(call("transfer_to_bob")), "a2", "a3"], [handoff("bob")], checkpointer=True
    )
    bob = made(
        "bob", ["b1", ai(call("transfer_to_ann", "7")), "b3"], [handoff("ann")], checkpointer=True
    )
    desk, results = swarm(env, ann, bob, start="ann"), []
    for text in ("one", "two", "three"):
        result = desk.invoke({"messages": [("user", text)]}, thread())
        results.append(said(result["messages"]))
    return results


def supervisor(env, script, workers, **more):
    asks = [send_to(name) for name in workers]
    boss = reacting("boss", script, asks, version="v1", **more)  # all calls in one task
    builder = StateGraph(MessagesState)
    builder.add_node("boss", boss, destinations=(*workers, END))
    builder.add_edge(START, "boss")
    for name, worker in workers.items():
        builder.add_node(name, worker)
        builder.add_edge(name, "boss")
    return builder.compile(checkpointer=env.saver())


def case_a_supervisor_asks_two_at_once(env):
    workers = {
        "ann": made("ann", [ai(call("add", a=1, b=2)), "it is 3"], [add]),
        "bob": made("bob", [ai(call("mul", a=2, b=2)), "it is 4"], [mul]),
    }
    both = ai(call("ask_ann", "1", task_text="add"), call("ask_bob", "2", task_text="mul"))
    desk = supervisor(env, [both, "3 and 4"], workers)
    result = desk.invoke(USER, thread())
    return said(result["messages"]), desk.get_state(thread()).next


def case_a_supervisor_asks_one_twice_at_once(env):
    ann = made("ann", ["first", "second"])
    both = ai(call("ask_ann", "1", task_text="x"), call("ask_ann", "2", task_text="y"))
    desk = supervisor(env, [both, "both"], {"ann": ann})
    result = desk.invoke(USER, thread(max_concurrency=1))
    return said(result["messages"])


@tool
def pay(euro: int) -> str:
    """Pay."""
    return f"paid {euro}: {interrupt({'pay': euro})}"


def case_workers_that_ask_people_at_once(env):
    workers = {
        "ann": made("ann", [ai(call("pay", euro=1)), "ann paid"], [pay]),
        "bob": made("bob", [ai(call("pay", euro=2)), "bob paid"], [pay]),
    }
    both = ai(call("ask_ann", "1", task_text="pay"), call("ask_bob", "2", task_text="pay"))
    desk = supervisor(env, [both, "all paid"], workers)
    first = desk.invoke(USER, thread())
    asked = sorted(first["__interrupt__"], key=lambda one: one.value["pay"])
    again = supervisor(
        env, ["all paid"], {name: made(name, [f"{name} paid"], [pay]) for name in workers}
    )
    half = again.invoke(Command(resume={asked[0].id: "yes"}), thread())
    left = [one.value for one in half["__interrupt__"]]
    done = again.invoke(Command(resume="no"), thread())
    return [one.value for one in asked], left, said(done["messages"])


def case_a_worker_with_approvals(env):
    def worker():
        return made(
            "ann",
            [ai(call("add", a=1, b=2)), "sum"],
            [add],
            middleware=[HumanInTheLoopMiddleware({"add": True})],
        )

    desk = supervisor(env, [ai(call("ask_ann", task_text="x")), "done"], {"ann": worker()})
    first = desk.invoke(USER, thread())
    snapshot = desk.get_state(thread(), subgraphs=True)
    edit = {"type": "edit", "edited_action": {"name": "add", "args": {"a": 5, "b": 5}}}
    done = desk.invoke(Command(resume={"decisions": [edit]}), thread())
    return (
        [i.value for i in first["__interrupt__"]],
        snapshot.next,
        [t.name for t in snapshot.tasks],
        said(done["messages"]),
    )


def case_a_worker_that_fails_is_gone_on_with(env):
    tries = []

    @tool
    def flaky(x: int) -> str:
        """Fail once."""
        tries.append(x)
        if len(tries) == 1:
            until(lambda: any(t.name == "bob" and t.result for t in desk.get_state(thread()).tasks))
            raise ValueError("down")
        return f"up {x}"

    ann = made("ann", [ai(call("flaky", x=1)), "ann done"], [flaky])
    bob = made("bob", ["bob done"])
    both = ai(call("ask_ann", "1", task_text="x"), call("ask_bob", "2", task_text="y"))
    desk = supervisor(env, [both, "end"], {"ann": ann, "bob": bob})
    failed = env.error(lambda: desk.invoke(USER, thread()))
    snapshot = desk.get_state(thread())
    done = desk.invoke(None, thread())
    errors = [(t.name, bool(t.error)) for t in snapshot.tasks]
    return failed, snapshot.next, errors, said(done["messages"]), tries


def case_a_handoff_beside_another_call(env):
    ann = made(
        "ann", [ai(call("add", "1", a=1, b=2), call("transfer_to_bob", "2"))], [add, handoff("bob")]
    )
    bob = made("bob", ["bob here"])
    result = swarm(env, ann, bob, start="ann").invoke(USER, thread())
    return said(result["messages"]), result["active"]


def case_two_handoffs_at_once(env):
    calls = ai(call("transfer_to_bob", "1"), call("transfer_to_cid", "2"))
    ann = reacting("ann", [calls], [handoff("bob"), handoff("cid")], version="v1")
    desk = StateGraph(MessagesState).add_node("ann", ann, destinations=("bob", "cid"))
    for name in ("bob", "cid"):
        desk.add_node(name, made(name, [f"{name} here"]))
    result = desk.add_edge(START, "ann").compile().invoke(USER)
    return said(result["messages"])


def case_a_handoff_to_nobody(env):
    ann = made("ann", [ai(call("transfer_to_bob"))], [handoff("bob")])
    desk = StateGraph(Desk).add_node("ann", ann).add_edge(START, "ann").compile()
    return env.error(lambda: desk.invoke(USER)) is not None


def case_an_agent_called_in_a_node_hands_off(env):
    ann = made("ann", [ai(call("transfer_to_bob"))], [handoff("bob")])

    def node(state):
        return ann.invoke(state)

    desk = (
        StateGraph(Desk)
        .add_node("ann", node)
        .add_node("bob", lambda s: {"messages": [AIMessage("bob")]})
    )
    return said(desk.add_edge(START, "ann").compile().invoke(USER)["messages"])


def case_three_floors_of_desks(env):
    low = made("low", [ai(call("add", a=1, b=1)), "two"], [add])
    team = (
        StateGraph(MessagesState).add_node("low", low).add_edge(START, "low").compile(name="team")
    )
    top = StateGraph(MessagesState).add_node("team", team).add_edge(START, "team")
    desk = top.compile(checkpointer=env.saver())
    parts = [*desk.stream(USER, thread(), stream_mode="updates", subgraphs=True)]
    return [
        ([n.split(":")[0] for n in ns], {k: said(v["messages"]) for k, v in p.items()})
        for ns, p in parts
    ]


def case_tokens_of_several_agents(env):
    desk = swarm(env, *two(made), start="ann", saver=False)
    parts = [*desk.stream(USER, stream_mode="messages", subgraphs=True)]
    kept = ("langgraph_node", "lc_agent_name", "langgraph_step", "langgraph_triggers")
    return [(m.type, m.content, {k: meta.get(k) for k in kept}, len(ns)) for ns, (m, meta) in parts]


class Budget(MessagesState):
    spent: Annotated[int, operator.add]
    notes: Annotated[list, operator.add]


def case_state_that_agents_share(env):
    @tool
    def buy(euro: int, runtime: ToolRuntime) -> Command:
        """Buy."""
        told = ToolMessage(
            f"{runtime.state.get('spent', 0)}+{euro}", tool_call_id=runtime.tool_call_id
        )
        return Command(update={"spent": euro, "notes": [euro], "messages": [told]})

    def buyer(name, *euros):
        calls = ai(*(call("buy", str(n), euro=e) for n, e in enumerate(euros)))
        return create_agent(model_of(calls, name), [buy], state_schema=Budget, name=name)

    builder = (
        StateGraph(Budget).add_node("ann", buyer("ann", 1, 2)).add_node("bob", buyer("bob", 5))
    )
    builder.add_edge(START, "ann").add_edge("ann", "bob")
    desk = builder.compile(checkpointer=env.saver())
    result = desk.invoke({**USER, "spent": 10}, thread())
    return said(result["messages"]), result["spent"], result["notes"]


def case_an_agent_of_a_workflow(env):
    ann = made("ann", [ai(call("pay", euro=3)), "paid", "again"], [pay])

    @task
    def ask(text):
        return ann.invoke({"messages": [("user", text)]})["messages"][-1].content

    @entrypoint(checkpointer=env.saver())
    def work(texts):
        return [ask(text).result() for text in texts]

    first = work.invoke(["x"], thread())
    done = work.invoke(Command(resume="ok"), thread())
    return [i.value for i in first["__interrupt__"]] if isinstance(first, dict) else first, done


def case_agents_as_tools_with_memory(env):
    saver = env.saver()
    expert = made("expert", ["e1", "e2", "e3"], checkpointer=saver)

    @tool
    def ask_expert(text: str, runtime: ToolRuntime) -> str:
        """Ask."""
        config = {"configurable": {"thread_id": f"{runtime.config['configurable']['thread_id']}/e"}}
        result = expert.invoke({"messages": [("user", text)]}, config)
        return f"{len(result['messages'])} {result['messages'][-1].content}"

    script = [ai(call("ask_expert", text="a")), "one", ai(call("ask_expert", text="b")), "two"]
    boss = made("boss", script, [ask_expert], checkpointer=saver)
    boss.invoke(USER, thread())
    return said(boss.invoke(USER, thread())["messages"])


def case_a_worker_is_retried(env):
    tries = []

    class Flaky(AgentMiddleware):
        def before_agent(self, state, runtime):
            tries.append(len(state["messages"]))
            if len(tries) < 3:
                raise ConnectionError("down")

    ann = made("ann", ["up"], middleware=[Flaky()])
    builder = StateGraph(MessagesState)
    policy = RetryPolicy(max_attempts=3, initial_interval=0.001)
    builder.add_node("ann", ann, retry_policy=policy).add_edge(START, "ann")
    return said(builder.compile(checkpointer=env.saver()).invoke(USER, thread())["messages"]), tries


def case_breakpoints_inside_a_worker(env):
    ann = made("ann", [ai(call("add", a=1, b=2)), "sum"], [add], interrupt_before=["tools"])
    builder = StateGraph(MessagesState).add_node("ann", ann).add_edge(START, "ann")
    desk = builder.compile(checkpointer=env.saver())
    desk.invoke(USER, thread())
    inner = desk.get_state(thread(), subgraphs=True).tasks[0].state
    done = desk.invoke(None, thread())
    return inner.next, said(inner.values["messages"]), said(done["messages"])


def case_batches_of_a_desk(env):
    ann = made("ann", ["one", "two", "three"])
    desk = StateGraph(MessagesState).add_node("ann", ann).add_edge(START, "ann").compile()
    results = desk.batch([{"messages": [("user", t)]} for t in "abc"], {"max_concurrency": 1})
    return [said(one["messages"]) for one in results]


async def case_two_turns_at_once_on_two_threads(env):
    async with env.asaver() as saver:
        desk = create_agent(model_of(*["same"] * 4), [add], checkpointer=saver)
        turns = [desk.ainvoke({"messages": [("user", t)]}, thread(t)) for t in "abcd"]
        results = await asyncio.gather(*turns)
        return [said(one["messages"]) for one in results]


def case_a_tool_node_by_hand_with_routes(env):
    tools = ToolNode([add, handoff("end", None)])
    model = model_of(ai(call("add", a=1, b=1)), ai(call("transfer_to_end")))

    def think(state):
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(Desk).add_node("think", think).add_node("tools", tools)
    builder.add_node("end", lambda s: {"messages": [AIMessage("bye")]})
    builder.add_edge(START, "think").add_edge("think", "tools")
    builder.add_conditional_edges(
        "tools", lambda s: END if s.get("active") else "think", ["think", END]
    )
    desk = builder.compile(checkpointer=env.saver())
    result = desk.invoke(USER, thread())
    return said(result["messages"]), result["active"]


def case_get_state_of_a_desk_that_waits(env):
    ann = made("ann", [ai(call("pay", euro=1)), "paid"], [pay], checkpointer=True)
    desk = (
        StateGraph(MessagesState)
        .add_node("ann", ann)
        .add_edge(START, "ann")
        .compile(checkpointer=env.saver())
    )
    desk.invoke(USER, thread())
    snapshot: Any = desk.get_state(thread(), subgraphs=True)
    inner = snapshot.tasks[0].state
    asked = (
        snapshot.next,
        inner.next,
        [i.value for i in snapshot.interrupts],
        said(inner.values["messages"]),
    )
    desk.invoke(Command(resume="yes"), thread())
    desk.invoke(USER, thread())
    return asked, said(desk.get_state(thread()).values["messages"])
