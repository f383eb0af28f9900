"""LangChain's own middleware and tools, in its agent and in plait's.

They are imported by their names as texts, which the harness does not replace: both sides are given
objects of LangChain's.
"""

from importlib import import_module
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import before_model as own_before_model
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel

from .scripted import ai, call, model_of

mw = import_module("langchain.agents.middleware")
their_messages = import_module("langchain_core.messages")
their_tools = import_module("langchain_core.tools")
their_types = import_module("langgraph.types")
their_models = import_module("langchain_core.language_models.fake_chat_models")

THREAD = {"configurable": {"thread_id": "1"}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def fails(text: str) -> str:
    """Fail."""
    raise ConnectionError(text)


def kinds(messages):
    """Which classes messages are of, by the package: none of LangChain's may be left over."""
    return [type(one).__name__ for one in messages], {
        isinstance(one, (AIMessage, HumanMessage, ToolMessage)) for one in messages
    }


def played(model, tools, middleware, *turns, **options):
    agent = create_agent(model, tools, middleware=middleware, **options)
    states = [agent.invoke({"messages": [("user", turn)]}) for turn in turns or ("hi",)]
    return states, kinds(states[-1]["messages"]), model.seen


async def aplayed(model, tools, middleware):
    agent = create_agent(model, tools, middleware=middleware)
    state = await agent.ainvoke({"messages": [("user", "hi")]})
    return state, kinds(state["messages"]), model.seen


# --- their decorators and classes ----------------------------------------------------------------


def case_hooks_see_their_messages_and_update_the_state(env):
    told = []

    @mw.before_model
    def before(state, runtime):
        told.append([isinstance(m, their_messages.BaseMessage) for m in state["messages"]])
        return {"messages": [their_messages.HumanMessage("And?", id=f"more{len(told)}")]}

    @mw.after_model
    def after(state, runtime):
        told.append(type(state["messages"][-1]) is their_messages.AIMessage)

    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add], [before, after]), told


def case_hooks_remove_and_replace_messages(env):
    @mw.before_agent
    def cleared(state, runtime):
        first = their_messages.RemoveMessage(id="__remove_all__")
        return {"messages": [first, their_messages.SystemMessage("s"), *state["messages"]]}

    return played(model_of("one"), [], [cleared])


def case_hooks_jump_where_they_declare(env):
    @mw.before_model(can_jump_to=["end"])
    def stop(state, runtime):
        if len(state["messages"]) > 1:
            return {"jump_to": "end", "messages": [their_messages.AIMessage("stopped")]}

    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "3"), [add], middleware=[stop])
    drawn = sorted((e.source, e.target, e.conditional) for e in agent.get_graph().edges)
    return agent.invoke({"messages": [("user", "hi")]}), drawn


def case_state_context_and_store_of_a_class(env):
    class Counting(mw.AgentMiddleware):
        class state_schema(mw.AgentState):
            seen: int
            hidden: import_module("typing").Annotated[
                int, import_module("langchain.agents.middleware.types").PrivateStateAttr
            ]

        def before_model(self, state, runtime):
            return {"seen": state.get("seen", 0) + 1, "hidden": runtime.context["by"]}

        def after_agent(self, state, runtime):
            runtime.store.put(("n",), "n", {"n": state["seen"] + state["hidden"]})

    store = env.store()
    agent = create_agent(model_of("x"), middleware=[Counting()], store=store, context_schema=dict)
    state = agent.invoke({"messages": [("user", "hi")], "seen": 4}, context={"by": 2})
    return state, store.get(("n",), "n").value


def case_a_request_is_changed(env):
    @mw.wrap_model_call
    def changed(request, handler):
        assert isinstance(request.messages[0], their_messages.HumanMessage)
        more = [*request.messages, their_messages.HumanMessage("more")]
        request = request.override(
            messages=more,
            system_message=their_messages.SystemMessage(request.system_prompt + " B."),
            tools=request.tools[:1],
            model_settings={"temperature": 1},
        )
        return handler(request)

    def other(text: str) -> str:
        """Other."""
        return text

    return played(model_of("x"), [add, other], [changed], system_prompt="A.")


def case_messages_changed_in_place_count(env):
    @mw.wrap_model_call
    def shouting(request, handler):
        request.messages[-1].content = request.messages[-1].content.upper()
        request.messages.append(their_messages.HumanMessage("more"))
        return handler(request)

    model = model_of("x")
    create_agent(model, middleware=[shouting]).invoke({"messages": [("user", "hi")]})
    return model.seen


def case_a_response_is_changed(env):
    @mw.wrap_model_call
    def louder(request, handler):
        response = handler(request)
        return their_messages.AIMessage(response.result[0].text.upper(), id="loud")

    @mw.wrap_model_call
    def noted(request, handler):
        response = handler(request)
        command = their_types.Command(update={"messages": [their_messages.HumanMessage("noted")]})
        return mw.ExtendedModelResponse(model_response=response, command=command)

    return played(model_of("x"), [], [noted, louder])


def case_prompts_depend_on_the_request(env):
    @mw.dynamic_prompt
    def by_length(request):
        return f"There are {len(request.messages)} messages."

    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add], [by_length])


def case_tool_calls_are_wrapped(env):
    told = []

    @mw.wrap_tool_call
    def careful(request, handler):
        told.append((request.tool.name, type(request.state["messages"][-1]).__name__))
        changed = {**request.tool_call, "args": {**request.tool_call["args"], "b": 40}}
        result = handler(request.override(tool_call=changed))
        assert isinstance(result, their_messages.ToolMessage)
        return result.model_copy(update={"content": f"<{result.content}>"})

    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add], [careful]), told


def case_tool_calls_are_answered_by_a_command(env):
    @mw.wrap_tool_call
    def answered(request, handler):
        told = their_messages.ToolMessage("by hand", tool_call_id=request.tool_call["id"])
        return their_types.Command(update={"messages": [told]})

    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add], [answered])


async def case_async_hooks(env):
    class Async(mw.AgentMiddleware):
        async def abefore_model(self, state, runtime):
            return {"messages": [their_messages.HumanMessage("before", id=str(len(state)))]}

        async def awrap_model_call(self, request, handler):
            response = await handler(request.override(model_settings={"a": 1}))
            return response

        async def awrap_tool_call(self, request, handler):
            result = await handler(request)
            return result.model_copy(update={"content": "async " + result.content})

    return await aplayed(model_of(ai(call("add", a=1, b=2)), "3"), [add], [Async()])


def case_async_only_hooks_in_sync_runs(env):
    class Async(mw.AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            return await handler(request)

    return env.error(lambda: played(model_of("x"), [], [Async()]))


def case_both_kinds_in_one_agent(env):
    @own_before_model
    def own(state, runtime):
        return {"messages": [HumanMessage("own", id="own")]}

    @mw.before_model
    def theirs(state, runtime):
        return {"messages": [their_messages.HumanMessage("theirs", id="theirs")]}

    return played(model_of("x"), [], [own, theirs])


def case_two_of_one_name(env):
    @mw.before_model
    def twice(state, runtime):
        return None

    return env.error(lambda: create_agent(model_of("x"), middleware=[twice, twice]))


# --- their shipped middleware --------------------------------------------------------------------


def case_model_call_limit(env):
    limit = mw.ModelCallLimitMiddleware(run_limit=1)
    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add], [limit])


def case_model_call_limit_of_a_thread(env):
    limit = mw.ModelCallLimitMiddleware(thread_limit=2)
    agent = create_agent(model_of("a", "b", "c"), middleware=[limit], checkpointer=env.saver())
    return [agent.invoke({"messages": [("user", str(i))]}, THREAD) for i in range(3)]


def case_tool_call_limit(env):
    limit = mw.ToolCallLimitMiddleware(tool_name="add", run_limit=1)
    both = ai(call("add", a=1, b=2), call("add", "2", a=3, b=4))
    return played(model_of(both, "3"), [add], [limit])


def case_summarization(env):
    summarizer = their_models.FakeListChatModel(responses=["It was long."])
    short = mw.SummarizationMiddleware(
        model=summarizer, trigger=("messages", 4), keep=("messages", 2)
    )
    agent = create_agent(model_of("a", "b", "c"), middleware=[short], checkpointer=env.saver())
    return [agent.invoke({"messages": [("user", str(i))]}, THREAD) for i in range(3)]


def case_model_fallback(env):
    other = their_models.FakeListChatModel(responses=["the other"])
    agent = create_agent(
        model_of(ConnectionError("down")), middleware=[mw.ModelFallbackMiddleware(other)]
    )
    return agent.invoke({"messages": [("user", "hi")]})


def case_model_retry(env):
    again = mw.ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    return played(model_of(ConnectionError("down"), "up"), [], [again])


def case_tool_retry(env):
    again = mw.ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    return played(model_of(ai(call("fails", text="down")), "so"), [fails], [again])


def case_pii(env):
    hidden = mw.PIIMiddleware("email", strategy="redact")
    return played(model_of("x"), [], [hidden], "I am a@b.org.")


def case_todo_list(env):
    todos = [{"content": "a", "status": "pending"}]
    model = model_of(ai(call("write_todos", todos=todos)), "done")
    agent = create_agent(model, middleware=[mw.TodoListMiddleware(system_prompt="Plan.")])
    return agent.invoke({"messages": [("user", "hi")]}), model.seen


def case_context_editing(env):
    edit = mw.ClearToolUsesEdit(trigger=1, keep=1)
    model = model_of(ai(call("add", a=1, b=2)), ai(call("add", "2", a=1, b=2)), "done")
    return played(model, [add], [mw.ContextEditingMiddleware(edits=[edit])])


def case_tool_emulator(env):
    plays = their_models.FakeListChatModel(responses=["emulated"])
    emulator = mw.LLMToolEmulator(tools=["add"], model=plays)
    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add], [emulator])


def case_tool_error(env):
    told = mw.ToolErrorMiddleware(lambda error, request: f"It failed: {error}")
    return played(model_of(ai(call("fails", text="down")), "so"), [fails], [told])


def case_file_search(env):
    (env.tmp_path / "a.py").write_text("braid\n")
    search = mw.FilesystemFileSearchMiddleware(root_path=str(env.tmp_path), use_ripgrep=False)
    model = model_of(ai(call("glob_search", pattern="*.py")), "done")
    agent = create_agent(model, middleware=[search])
    return agent.invoke({"messages": [("user", "hi")]}), model.seen


def case_tool_selector(env):
    class Choosing(import_module("langchain_core.language_models").BaseChatModel):
        @property
        def _llm_type(self):
            return "choosing"

        def with_structured_output(self, schema, **kwargs):
            lambdas = import_module("langchain_core.runnables")
            return lambdas.RunnableLambda(lambda messages: {"tools": ["add"]})

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            raise NotImplementedError

    selector = mw.LLMToolSelectorMiddleware(model=Choosing(), max_tools=1)
    return played(model_of(ai(call("add", a=1, b=2)), "3"), [add, fails], [selector])


def case_shell(env):
    shell = mw.ShellToolMiddleware(execution_policy=mw.HostExecutionPolicy(command_timeout=20))
    script = [call("shell", command="X=5"), call("shell", "2", command="echo $X; false")]
    agent = create_agent(model_of(*map(ai, script), "done"), middleware=[shell])
    return agent.invoke({"messages": [("user", "hi")]})


async def case_shell_in_an_async_run(env):
    shell = mw.ShellToolMiddleware(execution_policy=mw.HostExecutionPolicy(command_timeout=20))
    model = model_of(ai(call("shell", command="echo hi")), "done")
    return await create_agent(model, middleware=[shell]).ainvoke({"messages": [("user", "hi")]})


class Searching(import_module("langchain_core.language_models").BaseChatModel):
    """A model of a provider that searches tools by itself."""

    script: list
    seen: list

    @property
    def _llm_type(self):
        return "anthropic-chat"

    def _get_ls_params(self, stop=None, **kwargs):
        return {"ls_provider": "anthropic", "ls_model_name": "claude", "ls_model_type": "chat"}

    def bind_tools(self, tools, **kwargs):
        self.seen.append(
            [one if isinstance(one, dict) else (one.name, one.extras) for one in tools]
        )
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        results = import_module("langchain_core.outputs")
        generation = results.ChatGeneration(message=self.script.pop(0))
        return results.ChatResult(generations=[generation])


def searched(tools):
    calls = [call("add", a=1, b=2)]
    script = [their_messages.AIMessage("", tool_calls=calls), their_messages.AIMessage("done")]
    model, search = Searching(script=script, seen=[]), mw.ProviderToolSearchMiddleware
    agent = create_agent(model, tools, middleware=[search(searchable_tools=["add"])])
    return agent.invoke({"messages": [("user", "hi")]}), model.seen[0]


def case_tools_that_the_provider_searches(env):
    return searched([their_tools.tool(add), their_tools.tool(fails)])


# --- their strategies ----------------------------------------------------------------------------


class Sum(BaseModel):
    total: int


def case_their_strategies(env):
    strategies = import_module("langchain.agents.structured_output")
    given = [
        strategies.ToolStrategy(Sum, tool_message_content="Noted."),
        strategies.ToolStrategy(Sum, handle_errors="Once more."),
        strategies.AutoStrategy(Sum),
    ]
    told = []
    for one in given:
        model = model_of(ai(call("Sum", total="many")), ai(call("Sum", "2", total=3)))
        agent = create_agent(model, response_format=one)
        error = env.error(lambda agent=agent: agent.invoke({"messages": [("user", "hi")]}))
        told.append((error, model.seen))
    return told


def case_their_strategies_in_requests(env):
    strategies = import_module("langchain.agents.structured_output")

    @mw.wrap_model_call
    def asked(request, handler):
        return handler(request.override(response_format=strategies.ToolStrategy(Sum)))

    model = model_of(ai(call("Sum", total=3)))
    agent = create_agent(model, middleware=[asked], response_format=strategies.ToolStrategy(Sum))
    return agent.invoke({"messages": [("user", "hi")]})


# --- their tools ---------------------------------------------------------------------------------


def _answering(result):
    runtime = import_module("langchain.tools").ToolRuntime

    def answering(x: int, runtime: runtime) -> Any:
        """Answer somehow."""
        assert runtime.tool_call_id == "1"
        assert runtime.context is None
        return result(runtime)

    return their_tools.tool(answering)


def _message(runtime, text="by the tool"):
    return their_messages.ToolMessage(text, tool_call_id=runtime.tool_call_id)


def _react(tool):
    agent = create_react_agent(model_of(ai(call("answering", x=1)), "done"), [tool])
    return agent.invoke({"messages": [("user", "hi")]})["messages"]


def case_their_tools_get_their_runtime(env):
    return _react(_answering(lambda runtime: f"{len(runtime.state['messages'])} messages"))


def case_their_tools_give_their_commands(env):
    def told(runtime):
        return their_types.Command(update={"messages": [_message(runtime)]})

    return _react(_answering(told))


def case_their_tools_give_lists_of_commands(env):
    def told(runtime):
        more = their_types.Command(update={"messages": [their_messages.HumanMessage("more")]})
        return [more, _message(runtime)]

    return _react(_answering(told))


def case_their_tools_give_commands_without_an_answer(env):
    empty = _answering(lambda runtime: their_types.Command(update={"messages": []}))
    return env.error(lambda: _react(empty))


def case_their_tools_lead_out_of_the_agent(env):
    from langgraph.graph import START, MessagesState, StateGraph

    def leaving(runtime):
        said = [*runtime.state["messages"], _message(runtime, "leaving")]
        return their_types.Command(graph="__parent__", goto="after", update={"messages": said})

    agent = create_react_agent(
        model_of(ai(call("answering", x=1)), "done"), [_answering(leaving)], name="inside"
    )
    builder = StateGraph(MessagesState).add_node("inside", agent)
    builder.add_node("after", lambda state: {"messages": [("user", "after")]})
    builder.add_edge(START, "inside")
    return builder.compile().invoke({"messages": [("user", "hi")]})["messages"]
