"""Agents inside of other things, and tools of odd shapes inside of agents."""

import asyncio
import dataclasses
from typing import Annotated, Any, NotRequired, Optional

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelRequest,
    dynamic_prompt,
    hook_config,
    wrap_model_call,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.cache.memory import InMemoryCache
from langgraph.config import get_store
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import (
    InjectedStore,
    ToolNode,
    ToolRuntime,
    create_react_agent,
    tools_condition,
)
from langgraph.types import Command
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from .desks import ADD, USER, said, thread
from .scripted import add, ai, call, model_of, mul


def case_an_agent_in_a_chain(env):
    agent = create_agent(model_of(ai(ADD), "three"), [add])
    prompt = ChatPromptTemplate.from_messages([("user", "{q}")])
    chain = (
        prompt
        | RunnableLambda(lambda value: {"messages": value.to_messages()})
        | agent
        | RunnableLambda(lambda state: state["messages"][-1])
        | StrOutputParser()
    )
    return chain.invoke({"q": "1+2"})


def case_an_agent_as_a_tool_by_itself(env):
    expert = create_agent(model_of("expert"), [], name="expert")
    asking = expert.as_tool(name="ask", description="Ask.", arg_types={"messages": list})
    boss = create_agent(
        model_of(ai(call("ask", messages=[{"role": "user", "content": "x"}])), "end"), [asking]
    )
    return asking.args, env.error(lambda: [m[0] for m in said(boss.invoke(USER))])


def case_agents_in_parallel(env):
    both = RunnableParallel(
        a=create_agent(model_of("a"), []),
        b=create_agent(model_of("b"), []) | (lambda s: len(s["messages"])),
    )
    result = both.invoke(USER)
    return said(result["a"]), result["b"]


def case_an_agent_with_fallbacks_and_retries(env):
    broken = create_agent(model_of(ValueError("down"), "up"), [])
    good = create_agent(model_of("good"), [])
    return (
        said(broken.with_fallbacks([good]).invoke(USER)),
        said(broken.with_retry(stop_after_attempt=2, wait_exponential_jitter=False).invoke(USER)),
    )


def case_an_agent_with_config_and_binding(env):
    @tool
    def look(x: int, runtime: ToolRuntime) -> str:
        """Look."""
        config = runtime.config
        return (
            f"{config['tags']} {config['metadata'].get('who')} {config['configurable'].get('shop')}"
        )

    agent = create_agent(model_of(ai(call("look", x=1)), "end"), [look])
    given = {"tags": ["t"], "metadata": {"who": "ann"}, "configurable": {"shop": "s"}}
    return [m[:2] for m in said(agent.with_config(given).invoke(USER))]


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.heard.append(("tool", serialized["name"], kwargs.get("inputs")))

    def on_tool_end(self, output, **kwargs):
        self.heard.append(("end", output.content, kwargs.get("name")))

    def on_tool_error(self, error, **kwargs):
        self.heard.append(("error", type(error).__name__))


def case_callbacks_of_a_tool_that_fails_and_one_that_works(env):
    @tool
    def boom(x: int) -> str:
        """Boom."""
        raise ToolException("no")

    boom.handle_tool_error = lambda error: f"handled {error}"
    hears = Hears()
    calls = [call("boom", x=1), call("add", "2", a="x", b=2), call("add", "3", a=1, b=2)]
    agent = create_react_agent(model_of(*[ai(one) for one in calls], "end"), [boom, add])
    return [m[::2] for m in said(agent.invoke(USER, {"callbacks": [hears]}))], hears.heard


def returns(value):
    @tool
    def give(x: int) -> Any:
        """Give."""
        return value() if callable(value) else value

    return give


class Model(BaseModel):
    a: int = 1


@dataclasses.dataclass
class Data:
    a: int = 1


def case_what_tools_return(env):
    values = {
        "none": None,
        "bool": True,
        "float": 1.5,
        "dict": {"a": [1, {"b": "é"}]},
        "tuple": (1, 2),
        "set": {1},
        "bytes": b"x",
        "model": Model(),
        "data": Data(),
        "blocks": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": "u"}}],
        "texts": ["a", "b"],
        "mixed": ["a", {"type": "text", "text": "t"}],
        "empty": [],
        "nested": [[1]],
        "ai": AIMessage("ai"),
        "tool message": ToolMessage("own", tool_call_id="1"),
        "command without an answer": Command(update={"messages": []}),
        "command goto": Command(
            goto=END, update={"messages": [ToolMessage("c", tool_call_id="1")]}
        ),
        "error": ValueError("returned"),
        "class": int,
    }
    results = {}
    for name, value in values.items():
        for make in (create_agent, create_react_agent):
            agent = make(
                model_of(ai(call("give", x=1)), "end"),
                [returns(value if name == "x" else (lambda value=value: value))],
            )
            results[name, make.__name__] = env.error(lambda agent=agent: said(agent.invoke(USER)))
    return results


class Order(BaseModel):
    """An order."""

    items: list[str] = Field(min_length=1)
    by: Optional[str] = None  # noqa: UP045

    @field_validator("items")
    @classmethod
    def known(cls, items):
        if "nothing" in items:
            raise ValueError("nothing is no item")
        return items


def case_tools_with_validators(env):
    @tool(args_schema=Order)
    def order(items: list[str], by: str | None = None) -> str:
        """Order."""
        return f"{items} {by}"

    calls = [
        call("order", "1", items=[]),
        call("order", "2", items=["nothing"]),
        call("order", "3", items=["a"]),
        call("order", "4"),
    ]
    agent = create_agent(model_of(ai(*calls), "end"), [order])
    return [(m[0], m[2]) for m in said(agent.invoke(USER))]


class Clock(BaseTool):
    name: str = "clock"
    description: str = "Tell the time."
    offset: int = 0

    def _run(self, zone: str, run_manager=None, config=None, **kwargs) -> str:
        return f"{zone}+{self.offset} {run_manager is not None}"

    async def _arun(self, zone: str, **kwargs) -> str:
        return f"async {zone}+{self.offset}"


async def case_tools_of_a_class(env):
    def agent():
        return create_agent(model_of(ai(call("clock", zone="utc")), "end"), [Clock(offset=2)])

    return said(agent().invoke(USER)), said(await agent().ainvoke(USER))


def case_a_class_as_the_place_of_tools(env):
    class Shop:
        def __init__(self):
            self.sold = []

        def sell(self, item: str) -> str:
            """Sell."""
            self.sold.append(item)
            return f"sold {item}"

    shop = Shop()
    agent = create_agent(model_of(ai(call("sell", item="a")), "end"), [shop.sell])
    return said(agent.invoke(USER)), shop.sold


class Context(BaseModel):
    user: str
    level: int = 1


def case_contexts_of_all_kinds(env):
    results = []
    for schema, value in (
        (Context, Context(user="ann")),
        (Context, {"user": "bob", "level": 3}),
        (dataclasses.make_dataclass("C", [("user", str)]), {"user": "cid"}),
        (TypedDict("T", {"user": str}), {"user": "dan"}),
        (Context, {"level": 3}),
        (Context, None),
    ):

        @tool
        def who(runtime: ToolRuntime[Any]) -> str:
            """Who."""
            return f"{runtime.context}"

        @dynamic_prompt
        def prompt(request: ModelRequest):
            return f"for {request.runtime.context}"

        model = model_of(ai(call("who")), "end")
        agent = create_agent(model, [who], middleware=[prompt], context_schema=schema)
        got = env.error(lambda agent=agent, value=value: said(agent.invoke(USER, context=value)))
        results.append((got, [seen[0][0] for seen in model.seen]))
    return results


async def case_stores_in_async_tools(env):
    @tool
    async def remember(fact: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Remember."""
        await store.aput(("facts",), fact, {"text": fact})
        found = await store.asearch(("facts",))
        return f"{len(found)} {[one.key for one in found]}"

    @tool
    async def recall(key: str) -> str:
        """Recall."""
        item = await get_store().aget(("facts",), key)
        return str(item and item.value)

    async with env.astore() as store:
        script = [
            ai(call("remember", fact="a")),
            ai(call("recall", key="a"), call("recall", "2", key="b")),
            "end",
        ]
        return said(
            await create_agent(model_of(*script), [remember, recall], store=store).ainvoke(USER)
        )


def case_tools_that_come_at_run_time(env):
    @tool
    def late(x: int) -> str:
        """Late."""
        return f"late {x}"

    class Brings(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(tools=[*request.tools, late]))

        def wrap_tool_call(self, request, handler):
            if request.tool is None and request.tool_call["name"] == "late":
                return handler(request.override(tool=late))
            return handler(request)

    model = model_of(ai(call("late", x=1), call("nope", "2")), "end")
    agent = create_agent(model, [add], middleware=[Brings()])
    return said(agent.invoke(USER)), [seen[1] for seen in model.seen]


def case_settings_of_a_call(env):
    @wrap_model_call
    def settings(request, handler):
        more = {"temperature": 0.1, "parallel_tool_calls": False}
        return handler(request.override(model_settings=more, tool_choice="add"))

    model = model_of(ai(ADD), "end")
    result = create_agent(model, [add], middleware=[settings]).invoke(USER)
    return said(result), [seen[1] for seen in model.seen]


def case_middleware_with_state_of_its_own_and_private_keys(env):
    class Counted(AgentState):
        count: NotRequired[int]
        log: NotRequired[list]

    class Counts(AgentMiddleware):
        state_schema = Counted

        def before_model(self, state, runtime):
            return {"count": state.get("count", 0) + 1}

        @hook_config(can_jump_to=["end"])
        def after_model(self, state, runtime):
            if state["count"] >= 2:
                return {"jump_to": "end", "log": ["stopped"]}

    agent = create_agent(
        model_of(ai(ADD), ai(call("add", "2", a=2, b=2)), "never"),
        [add],
        middleware=[Counts()],
        checkpointer=env.saver(),
    )
    result = agent.invoke({**USER, "log": []}, thread())
    return sorted(result), said(result), result["count"], agent.get_state(thread()).next


def case_messages_in_all_forms(env):
    forms = [
        "hi",
        ("user", "hi"),
        [("system", "s"), ("user", "hi")],
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        [HumanMessage("a", id="1"), AIMessage("b"), HumanMessage("c")],
        HumanMessage("one"),
        {"role": "user", "content": "dict"},
        [],
    ]
    return [
        env.error(
            lambda form=form: said(create_agent(model_of("x"), []).invoke({"messages": form}))
        )
        for form in forms
    ]


def case_inputs_of_an_agent_that_are_none(env):
    agent = create_agent(model_of("x"), [])
    return [
        env.error(lambda value=value: said(agent.invoke(value)))
        for value in (
            {},
            {"message": "x"},
            "hi",
            5,
            [],
            {"messages": 5},
            {"messages": [5]},
            {"messages": None},
        )
    ]


def case_caches_of_agents(env):
    model = model_of("first", "second")
    agent = create_agent(model, [], cache=InMemoryCache())
    return said(agent.invoke(USER)), said(agent.invoke(USER)), len(model.seen)


async def case_events_of_an_agent(env):
    agent = create_agent(model_of(ai(ADD), "end"), [add], name="desk")
    return [
        (e["event"], e["name"], sorted(e["data"]))
        async for e in agent.astream_events(USER, version="v2")
    ]


async def case_a_run_that_is_cancelled_and_goes_on(env):
    started = asyncio.Event()
    hold = [True]

    @tool
    async def slow(x: int) -> str:
        """Slow."""
        started.set()
        if hold:
            await asyncio.sleep(60)
        return f"slow {x}"

    async with env.asaver() as saver:
        agent = create_agent(model_of(ai(call("slow", x=1)), "end"), [slow], checkpointer=saver)
        running = asyncio.ensure_future(agent.ainvoke(USER, thread()))
        await started.wait()
        running.cancel()
        stopped = await env.aerror(running)
        state = await agent.aget_state(thread())
        hold.clear()
        return stopped, state.next, said(await agent.ainvoke(None, thread()))


def case_recursion_limits_inside(env):
    inner = create_agent(model_of(*[ai(call("add", str(n), a=n, b=n)) for n in range(9)]), [add])

    @tool
    def ask(text: str) -> str:
        """Ask."""
        return inner.invoke(USER, {"recursion_limit": 3})["messages"][-1].content

    agent = create_agent(model_of(ai(call("ask", text="x")), "end"), [ask])
    return env.error(lambda: agent.invoke(USER))


def case_a_loop_by_hand_with_a_condition(env):
    model = model_of(ai(ADD), ai(call("mul", "2", a=2, b=2)), "end")

    def think(state):
        return {"talk": [model.invoke(state["talk"])]}

    class Talk(TypedDict):
        talk: Annotated[list, lambda a, b: a + b]

    builder = StateGraph(Talk).add_node("think", think)
    builder.add_node("tools", ToolNode([add, mul], messages_key="talk"))
    builder.add_conditional_edges("think", lambda s: tools_condition(s, "talk"))
    builder.add_edge(START, "think").add_edge("tools", "think")
    graph = builder.compile(checkpointer=env.saver())
    result = graph.invoke({"talk": [HumanMessage("hi")]}, thread())
    return [(m.type, m.content) for m in result["talk"]], graph.get_graph().draw_mermaid() != ""


def case_tasks_and_agents_in_a_workflow(env):
    @task
    def plan(topic):
        return create_agent(model_of(f"plan {topic}"), []).invoke(USER)["messages"][-1].content

    @entrypoint(checkpointer=env.saver())
    def work(topics, *, previous=None):
        plans = [plan(t) for t in topics]
        done = [p.result() for p in plans]
        return entrypoint.final(value=(previous, done), save=done)

    return work.invoke(["a", "b"], thread()), work.invoke(["c"], thread())


def case_pictures_with_subagents(env):
    inner = create_agent(model_of("x"), [add], name="inner", middleware=[])
    builder = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    graph = builder.compile()
    return graph.get_graph(xray=True).draw_mermaid(), [n for n, _ in graph.get_subgraphs()]
