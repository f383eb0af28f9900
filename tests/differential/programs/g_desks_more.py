"""What else programs do with agents: looks at their schemas and states, hooks and memories."""

import copy
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    after_agent,
    before_agent,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import (
    InjectedState,
    InjectedStore,
    ToolRuntime,
    create_react_agent,
)
from langgraph.prebuilt.chat_agent_executor import AgentState as ReactState
from langgraph.types import Command, Send, StateUpdate, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from .desks import ADD, USER, said, thread
from .scripted import add, ai, call, model_of, mul


class Cart(AgentState):
    cart: NotRequired[list[str]]


def case_schemas_of_an_agent(env):
    agent = create_agent(
        model_of(), [add], state_schema=Cart, context_schema=TypedDict("C", {"u": str})
    )
    return (
        sorted(agent.get_input_jsonschema()["properties"]),
        sorted(agent.get_output_jsonschema()["properties"]),
        agent.get_context_jsonschema(),
        sorted(agent.nodes),
        agent.name,
    )


def case_updates_in_the_name_of_nodes(env):
    agent = create_agent(model_of("x", "y", "z"), [add], checkpointer=env.saver())
    agent.invoke(USER, thread())
    agent.update_state(thread(), {"messages": [ai(ADD)]}, as_node="model")
    waits = agent.get_state(thread()).next
    agent.invoke(None, thread())
    agent.update_state(thread(), {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    empty = said(agent.get_state(thread()).values)
    return waits, empty, said(agent.invoke(USER, thread()))


def case_a_history_made_by_hand(env):
    agent = create_agent(model_of("x"), [add], checkpointer=env.saver())
    steps = [
        [StateUpdate({"messages": [HumanMessage("one")]}, "__start__")],
        [StateUpdate({"messages": [ai(ADD)]}, "model")],
    ]
    agent.bulk_update_state(thread(), steps)
    state = agent.get_state(thread())
    return state.next, said(agent.invoke(None, thread())), len([*agent.get_state_history(thread())])


def case_histories_are_cut_by_hooks(env):
    def cut(state):
        kept = trim_messages(state["messages"], max_tokens=2, token_counter=len, start_on="human")
        return {"llm_input_messages": kept}

    model = model_of("a", "b", "c")
    agent = create_react_agent(model, [], pre_model_hook=cut, checkpointer=env.saver())
    for text in "xyz":
        result = agent.invoke({"messages": [("user", text)]}, thread())
    return said(result), model.seen


def case_histories_are_replaced_by_hooks(env):
    @before_model
    def fresh(state, runtime):
        last = state["messages"][-1]
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), SystemMessage("sum"), last]}

    model = model_of("a", "b")
    agent = create_agent(model, [], middleware=[fresh], checkpointer=env.saver())
    agent.invoke(USER, thread())
    return said(agent.invoke({"messages": [("user", "more")]}, thread())), model.seen


def case_decorators_with_all_they_take(env):
    class Note(AgentState):
        note: NotRequired[str]

    @before_agent(state_schema=Note, tools=[mul], name="starts", can_jump_to=["end"])
    def start(state, runtime):
        if state.get("note") == "stop":
            return {"jump_to": "end", "messages": [AIMessage("stopped")]}
        return {"note": "seen"}

    @after_agent(name="ends")
    def end(state, runtime):
        return {"note": state["note"] + "!"}

    @wrap_tool_call(name="slow", tools=[add])
    def calls(request, handler):
        result = handler(request)
        return result.model_copy(update={"content": f"<{result.content}>"})

    def agent():
        script = ai(call("mul", a=2, b=3), call("add", "2", a=1, b=1))
        return create_agent(model_of(script, "end"), [], middleware=[start, end, calls])

    one = agent().invoke(USER)
    two = agent().invoke({**USER, "note": "stop"})
    return said(one), one["note"], said(two), two["note"], sorted(agent().nodes)


def case_hooks_by_the_wrong_kind(env):
    class AsyncByASyncName(AgentMiddleware):
        async def before_model(self, state, runtime):
            return {"messages": [HumanMessage("a")]}

    class SyncByAnAsyncName(AgentMiddleware):
        def abefore_model(self, state, runtime):
            return {"messages": [HumanMessage("a")]}

    results = []
    for kind in (AsyncByASyncName, SyncByAnAsyncName):
        agent = create_agent(model_of("x"), [], middleware=[kind()])
        got = env.error(lambda agent=agent: said(agent.invoke(USER)))
        results.append(isinstance(got, tuple))
    return results


async def case_async_hooks_by_the_wrong_kind(env):
    class AsyncByASyncName(AgentMiddleware):
        async def before_model(self, state, runtime):
            return {"messages": [HumanMessage("a")]}

    class SyncByAnAsyncName(AgentMiddleware):
        def abefore_model(self, state, runtime):
            return {"messages": [HumanMessage("a")]}

    results = []
    for kind in (AsyncByASyncName, SyncByAnAsyncName):
        agent = create_agent(model_of("x"), [], middleware=[kind()])
        got = await env.aerror(agent.ainvoke(USER))
        results.append(got if not isinstance(got, tuple) else said(got[1]))
    return results


def case_jumps_as_text(env):
    results = []
    for given in ("end", ["end"], ("end",), ["END"]):

        def stop(state, runtime):
            return {"jump_to": "end"}

        def build(given=given):
            hook = before_model(can_jump_to=given)(stop)
            return said(create_agent(model_of("x"), [], middleware=[hook]).invoke(USER))

        got = env.error(build)
        results.append(got[0] if isinstance(got, tuple) else "error")
    return results


def case_messages_changed_in_place_by_wrappers(env):
    @wrap_model_call
    def edit(request, handler):
        request.messages.append(HumanMessage("added"))
        response = handler(request)
        response.result[0].content += "!"
        return response

    model = model_of("one", "two")
    agent = create_agent(model, [], middleware=[edit], checkpointer=env.saver())
    agent.invoke(USER, thread())
    return said(agent.invoke({"messages": [("user", "b")]}, thread())), model.seen


def case_state_changed_in_place_by_wrappers(env):
    class Log(AgentState):
        log: list

    @wrap_model_call
    def model_call(request, handler):
        request.state["messages"].append(HumanMessage("unseen"))
        request.state["log"].append("model")
        return handler(request)

    @wrap_tool_call
    def tool_call(request, handler):
        request.state["messages"].append(HumanMessage("seen"))
        return handler(request)

    model = model_of(ai(ADD), "end")
    agent = create_agent(
        model,
        [add],
        state_schema=Log,
        middleware=[model_call, tool_call],
        checkpointer=env.saver(),
    )
    result = agent.invoke({**USER, "log": []}, thread())
    return said(result), result["log"], model.seen, said(agent.get_state(thread()).values)


def case_responses_made_by_wrappers(env):
    class Cost(AgentState):
        cost: NotRequired[int]

    class Pays(AgentMiddleware):
        state_schema = Cost

        def wrap_model_call(self, request, handler):
            response = handler(request)
            return ExtendedModelResponse(response, Command(update={"cost": len(request.messages)}))

    @wrap_model_call
    def two(request, handler):
        handler(request)
        return handler(request)

    agent = create_agent(model_of("a", "b"), [], middleware=[Pays(), two])
    result = agent.invoke(USER)
    return said(result), result["cost"]


class Weather(BaseModel):
    city: str
    degrees: int


def case_forms_that_are_mended(env):
    wrong, right = (
        call("Weather", "1", city="x", degrees="hot"),
        call("Weather", "2", city="x", degrees=3),
    )
    results = []
    for handle in (True, "Try again.", ValueError, lambda e: "fn", False):
        strategy = ToolStrategy(Weather, handle_errors=handle, tool_message_content="Noted.")
        agent = create_agent(model_of(ai(wrong), ai(right)), [add], response_format=strategy)
        got = env.error(lambda agent=agent: agent.invoke(USER))
        results.append([(m[0], m[2]) for m in said(got[1])] if isinstance(got, tuple) else got)
    return results


def case_a_react_agent_with_everything(env):
    class State(ReactState):
        structured_response: Any
        count: int

    def pre(state):
        return {"count": state.get("count", 0) + 1}

    def post(state):
        last = state["messages"][-1]
        if last.tool_calls:
            interrupt({"calls": [c["name"] for c in last.tool_calls]})
        return {}

    @tool
    def remember(
        fact: str, store: Annotated[Any, InjectedStore()], state: Annotated[dict, InjectedState]
    ) -> str:
        """Remember."""
        store.put(("f",), fact, {"n": state["count"]})
        return str(len(store.search(("f",))))

    agent = create_react_agent(
        model_of(ai(call("remember", fact="a"), call("remember", "2", fact="b")), "end"),
        [remember],
        prompt="S",
        state_schema=State,
        pre_model_hook=pre,
        post_model_hook=post,
        checkpointer=env.saver(),
        store=env.store(),
        version="v2",
        name="all",
    )
    first = agent.invoke(USER, thread())
    asked = [i.value for i in first["__interrupt__"]]
    done = agent.invoke(Command(resume=True), thread(max_concurrency=1))
    return asked, said(done), done["count"], sorted(agent.nodes)


def case_copies_of_an_agent(env):
    agent = create_agent(model_of("x", "y"), [add], name="one", checkpointer=env.saver())
    other = agent.copy({"name": "two"})
    shallow = copy.copy(agent)
    return (
        other.name,
        agent.name,
        said(shallow.invoke(USER, thread("a"))),
        said(other.invoke(USER, thread("b"))),
    )


def case_a_tool_that_goes_where_it_likes(env):
    @tool
    def skip(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Skip."""
        done = ToolMessage("skipped", tool_call_id=tool_call_id)
        return Command(goto="__end__", update={"messages": [done]})

    @tool
    def fan(runtime: ToolRuntime) -> Command:
        """Fan out."""
        done = ToolMessage("fanned", tool_call_id=runtime.tool_call_id)
        return Command(
            goto=[Send("model", {"messages": [HumanMessage("side")]})], update={"messages": [done]}
        )

    results = []
    for make in (create_agent, create_react_agent):
        for name in ("skip",):
            agent = make(model_of(ai(call(name)), "after", "more"), [skip, fan])
            results.append(env.error(lambda agent=agent: said(agent.invoke(USER))))
    return results


async def case_streams_of_agents_in_version_2(env):
    agent = create_agent(model_of(ai(ADD), "end"), [add], name="desk")
    parts = [
        p async for p in agent.astream(USER, stream_mode=["updates", "messages"], version="v2")
    ]
    return [
        (
            p["type"],
            p["ns"],
            sorted(p["data"]) if isinstance(p["data"], dict) else p["data"][0].content,
        )
        for p in parts
    ]


def case_agents_share_a_store_over_threads(env):
    @tool
    def note(text: str, runtime: ToolRuntime) -> str:
        """Note."""
        who = runtime.config["configurable"]["user"]
        runtime.store.put((who, "notes"), text, {"text": text})
        return str(sorted(i.key for i in runtime.store.search((who, "notes"))))

    @dynamic_prompt
    def prompt(request):
        found = request.runtime.store.search(("ann", "notes"))
        return f"known: {sorted(i.value['text'] for i in found)}"

    model = model_of(ai(call("note", text="a")), "1", ai(call("note", text="b")), "2")
    agent = create_agent(
        model, [note], middleware=[prompt], store=env.store(), checkpointer=env.saver()
    )
    results = []
    for n in "12":
        config = {"configurable": {"thread_id": n, "user": "ann"}}
        results.append(said(agent.invoke(USER, config)))
    return results, [seen[0][0] for seen in model.seen]


def case_two_wrappers_of_which_one_answers(env):
    @wrap_tool_call
    def outer(request, handler):
        try:
            return handler(request)
        except ValueError as error:
            return ToolMessage(
                f"outer {error}", tool_call_id=request.tool_call["id"], status="error"
            )

    @wrap_tool_call
    def inner(request, handler):
        if request.tool_call["args"].get("a") == 0:
            raise ValueError("zero")
        if request.tool_call["args"].get("a") == 1:
            return ToolMessage("cached", tool_call_id=request.tool_call["id"])
        return handler(request.override(tool_call={**request.tool_call, "args": {"a": 9, "b": 9}}))

    script = ai(*(call("add", str(n), a=n, b=n) for n in range(3)))
    agent = create_agent(model_of(script, "end"), [add], middleware=[outer, inner])
    return said(agent.invoke(USER))


def case_invalid_calls_beside_good_ones(env):
    bad = {
        "name": "add",
        "args": "{a:",
        "id": "9",
        "error": "bad json",
        "type": "invalid_tool_call",
    }
    message = AIMessage("", tool_calls=[ADD], invalid_tool_calls=[bad])
    agent = create_agent(model_of(message, "end"), [add])
    return sorted(said(agent.invoke(USER)), key=str)
