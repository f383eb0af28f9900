"""ContextEditingMiddleware, TodoListMiddleware and LLMToolEmulator."""

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    LLMToolEmulator,
    TodoListMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was asked."""

    script: list
    seen: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        named = [one if isinstance(one, dict) else {"name": one.name} for one in tools]
        return self.bind(tools=named, **kwargs)

    def get_num_tokens_from_messages(self, messages, tools=None):
        return sum(len(str(m.content)) for m in messages)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append([(m.type, m.content, getattr(m, "tool_calls", None)) for m in messages])
        said = self.script.pop(0)
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


def model_of(*script):
    return Scripted(script=list(script), seen=[])


def call(name, id, **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def ai(*calls, text=""):
    return AIMessage(text, tool_calls=list(calls))


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query} " * 20


@tool
def note(text: str) -> str:
    """Write a note."""
    return f"noted {text} " * 20


def history():
    messages = [HumanMessage("go", id="h")]
    for i in range(6):
        name = "note" if i == 1 else "search"
        messages.append(ai(call(name, f"c{i}", query=f"q{i}" * 5), text=f"step {i}"))
        messages.append(
            ToolMessage(
                f"result {i} " * 10, tool_call_id=f"c{i}", name=name, id=f"t{i}", artifact=[i]
            )
        )
    return messages


def shown(messages):
    return [
        (
            m.type,
            m.content,
            getattr(m, "tool_calls", None),
            getattr(m, "artifact", None),
            m.response_metadata,
            m.additional_kwargs,
        )
        for m in messages
    ]


def length(messages):
    return sum(len(str(m.content)) for m in messages)


def edited(count=length, **options):
    messages = history()
    ClearToolUsesEdit(**options).apply(messages, count_tokens=count)
    return shown(messages)


def case_clearing_tool_results(env):
    return [
        edited(trigger=100),
        edited(trigger=100_000),
        edited(trigger=100, keep=0),
        edited(trigger=100, keep=20),
        edited(trigger=100, keep=1, exclude_tools=["note"]),
        edited(trigger=100, keep=1, clear_tool_inputs=True),
        edited(trigger=100, keep=1, placeholder="gone"),
        edited(trigger=100, keep=0, clear_at_least=150),
        edited(trigger=100, keep=0, clear_at_least=10_000),
        edited(trigger=length(history())),
        edited(trigger=length(history()) - 1),
    ]


def case_clearing_twice(env):
    messages = history()
    edit = ClearToolUsesEdit(trigger=100, keep=2, clear_tool_inputs=True)
    edit.apply(messages, count_tokens=length)
    edit.apply(messages, count_tokens=length)
    return shown(messages)


def case_clearing_what_is_not_there(env):
    messages = [
        HumanMessage("x" * 50),
        ToolMessage("y" * 500, tool_call_id="lost", id="1"),
        ai(call("search", "a", query="q")),
    ]
    edit = ClearToolUsesEdit(trigger=10, keep=0)
    edit.apply(messages, count_tokens=length)
    empty = []
    edit.apply(empty, count_tokens=length)
    return shown(messages), empty


def case_defaults(env):
    edit = ClearToolUsesEdit()
    middleware = ContextEditingMiddleware()
    return (
        [
            getattr(edit, name)
            for name in (
                "trigger",
                "clear_at_least",
                "keep",
                "clear_tool_inputs",
                "exclude_tools",
                "placeholder",
            )
        ],
        middleware.name,
        middleware.token_count_method,
        [type(one).__name__ for one in middleware.edits],
    )


def loop(*middleware):
    model = model_of(
        ai(call("search", "1", query="a")),
        ai(call("search", "2", query="b")),
        ai(call("note", "3", text="c")),
        "done",
    )
    return model, create_agent(model, [search, note], middleware=list(middleware))


def case_in_an_agent(env):
    edit = ClearToolUsesEdit(trigger=30, keep=1)
    model, agent = loop(ContextEditingMiddleware(edits=[edit]))
    result = agent.invoke({"messages": [("user", "go")]})
    return model.seen, shown(result["messages"])


def case_tokens_counted_by_the_model(env):
    edit = ClearToolUsesEdit(trigger=300, keep=0, clear_tool_inputs=True)
    model, agent = loop(ContextEditingMiddleware(edits=[edit], token_count_method="model"))
    agent.invoke({"messages": [("user", "go")]})
    return model.seen


def case_tokens_counted_by_a_function(env):
    edit = ClearToolUsesEdit(trigger=3, keep=0)
    model, agent = loop(ContextEditingMiddleware(edits=[edit], token_counter=len))
    agent.invoke({"messages": [("user", "go")]})
    return model.seen


def case_what_is_counted(env):
    counted = []

    def count(messages):
        counted.append([m.type for m in messages])
        return 1

    found = []
    for options in ({}, {"token_count_method": "model"}, {"token_counter": count}):
        model = model_of(ai(call("search", "1", query="a")), "done")
        edit = ClearToolUsesEdit(trigger=600, keep=0)
        agent = create_agent(
            model,
            [search],
            system_prompt="long " * 1000,
            middleware=[ContextEditingMiddleware(edits=[edit], **options)],
        )
        agent.invoke({"messages": [("user", "go")]})
        found.append([(kind, len(content)) for kind, content, _ in model.seen[-1]])
    return found, counted


def case_an_unknown_method_of_counting(env):
    return env.error(lambda: ContextEditingMiddleware(token_count_method="words").name)


def case_an_edit_of_ones_own(env):
    class Shorten:
        def apply(self, messages, *, count_tokens):
            messages[0].content = messages[0].content[:2]
            del messages[1:-1]

    model, agent = loop(ContextEditingMiddleware(edits=[Shorten()]))
    result = agent.invoke({"messages": [("user", "go on")]})
    return model.seen, shown(result["messages"])


def case_several_edits(env):
    edits = [
        ClearToolUsesEdit(trigger=3, keep=1, placeholder="first"),
        ClearToolUsesEdit(trigger=3, keep=0, placeholder="second", exclude_tools=("note",)),
    ]
    model, agent = loop(ContextEditingMiddleware(edits=edits, token_counter=len))
    agent.invoke({"messages": [("user", "go")]})
    return model.seen


async def case_in_an_async_agent(env):
    edit = ClearToolUsesEdit(trigger=3, keep=0)
    model, agent = loop(ContextEditingMiddleware(edits=[edit], token_counter=len))
    await agent.ainvoke({"messages": [("user", "go")]})
    return model.seen


# --- to-do lists ---------------------------------------------------------------------------------

TODOS = [{"content": "look", "status": "in_progress"}, {"content": "tell", "status": "pending"}]
DONE = [{"content": "look", "status": "completed"}, {"content": "tell", "status": "completed"}]


def planner(*script, **options):
    model = model_of(*script)
    given = {"system_prompt": "Plan.", "tool_description": "Writes todos."} | options
    return model, create_agent(model, [search], middleware=[TodoListMiddleware(**given)])


def case_todos(env):
    model, agent = planner(
        ai(call("write_todos", "1", todos=TODOS)),
        ai(call("search", "2", query="x"), call("write_todos", "3", todos=DONE)),
        "done",
    )
    result = agent.invoke({"messages": [("user", "go")]})
    return model.seen, shown(result["messages"]), result["todos"]


def case_todos_streamed(env):
    _, agent = planner(ai(call("write_todos", "1", todos=TODOS)), "done")
    return list(agent.stream({"messages": [("user", "go")]}, stream_mode="updates"))


def case_two_lists_at_once(env):
    _model, agent = planner(
        ai(call("write_todos", "1", todos=TODOS), call("write_todos", "2", todos=DONE)), "done"
    )
    result = agent.invoke({"messages": [("user", "go")]})
    messages = [(m.type, getattr(m, "status", None)) for m in result["messages"]]
    return messages, result.get("todos")


def case_two_lists_and_another_call(env):
    _model, agent = planner(
        ai(
            call("write_todos", "1", todos=TODOS),
            call("search", "2", query="x"),
            call("write_todos", "3", todos=DONE),
        ),
        "done",
    )
    result = agent.invoke({"messages": [("user", "go")]})
    messages = [
        (m.type, getattr(m, "status", None), getattr(m, "tool_call_id", None))
        for m in result["messages"]
    ]
    return messages, result.get("todos")


def case_wrong_todos(env):
    _model, agent = planner(
        ai(call("write_todos", "1", todos=[{"content": "x", "status": "never"}])), "done"
    )
    result = agent.invoke({"messages": [("user", "go")]})
    return [(m.type, getattr(m, "status", None)) for m in result["messages"]], result.get("todos")


def case_todos_beside_a_system_prompt(env):
    model = model_of("done")
    agent = create_agent(
        model, system_prompt="Be brief.", middleware=[TodoListMiddleware(system_prompt="Plan.")]
    )
    agent.invoke({"messages": [("user", "go")]})
    return model.seen


def case_todos_cannot_be_given(env):
    _, agent = planner("done")
    return agent.invoke({"messages": [("user", "go")], "todos": TODOS}).get("todos")


async def case_async_todos(env):
    _model, agent = planner(ai(call("write_todos", "1", todos=TODOS)), "done")
    result = await agent.ainvoke({"messages": [("user", "go")]})
    return shown(result["messages"]), result["todos"]


def case_the_tool(env):
    tool = TodoListMiddleware(tool_description="Writes todos.").tools[0]
    schema = tool.tool_call_schema.model_json_schema()
    return tool.name, tool.description, schema["properties"]["todos"]["type"], schema["required"]


# --- emulated tools ------------------------------------------------------------------------------


def emulated(tools, *answers):
    model = model_of(ai(call("search", "1", query="a"), call("note", "2", text="b")), "done")
    double = model_of(*answers)
    middleware = [LLMToolEmulator(tools=tools, model=double)]
    agent = create_agent(model, [search, note], middleware=middleware)
    result = agent.invoke({"messages": [("user", "go")]})
    return [
        (m.type, m.content, getattr(m, "name", None), getattr(m, "status", None))
        for m in result["messages"]
    ], len(double.seen)


def case_some_tools_emulated(env):
    return [
        emulated(["search"], "made up"),
        emulated([note], "made up"),
        emulated([], "made up"),
        emulated(["unknown"], "made up"),
    ]


def case_all_tools_emulated(env):
    return emulated(None, "same", "same")


async def case_emulated_in_an_async_agent(env):
    model = model_of(ai(call("search", "1", query="a")), "done")
    double = model_of("made up")
    agent = create_agent(model, [search], middleware=[LLMToolEmulator(model=double)])
    result = await agent.ainvoke({"messages": [("user", "go")]})
    return [(m.type, m.content) for m in result["messages"]]


def case_an_emulator_without_a_model(env):
    return env.error(lambda: LLMToolEmulator().name)
