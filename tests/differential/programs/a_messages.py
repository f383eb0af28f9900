"""`add_messages`, by itself and as the reducer of a graph."""

from typing import Annotated, TypedDict

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.graph import END, START, MessageGraph, MessagesState, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES, push_message
from langgraph.types import Overwrite


def run(state, *nodes, given):
    graph = StateGraph(state)
    for i, node in enumerate(nodes):
        graph.add_node(f"n{i}", node)
        graph.add_edge(f"n{i - 1}" if i else START, f"n{i}")
    return graph.compile().invoke(given)


def human(text, id=None):
    return HumanMessage(text, id=id)


def case_appends_and_gives_ids(env):
    return add_messages([human("a", "1")], [human("b"), AIMessage("c", id="3")])


def case_same_id_replaces_in_place(env):
    left = [human("a", "1"), human("b", "2"), human("c", "3")]
    return add_messages(left, [AIMessage("B", id="2"), human("d", "4")])


def case_same_id_twice_on_the_right(env):
    return add_messages([human("a", "1")], [human("b", "2"), human("B", "2")])


def case_single_message_instead_of_list(env):
    return add_messages(human("a", "1"), AIMessage("b", id="2"))


def case_inputs_are_not_mutated(env):
    left, right = [human("a", "1")], [human("A", "1"), human("b")]
    merged = add_messages(left, right)
    return [left, [m.content for m in right], [m.content for m in merged], merged is left]


def case_ids_are_given_to_the_message_objects(env):
    message = human("a")
    merged = add_messages([], [message])
    return [message.id is not None, merged[0].id == message.id]


def case_coercions(env):
    return add_messages(
        [],
        [
            "plain text",
            ("user", "tuple user"),
            ("human", "tuple human"),
            ("ai", "tuple ai"),
            ("assistant", "tuple assistant"),
            ("system", "tuple system"),
            {"role": "user", "content": "dict user", "id": "u1"},
            {"role": "assistant", "content": "dict ai", "name": "bob"},
            {"role": "system", "content": "dict system"},
            {"type": "human", "content": "typed"},
            {"role": "tool", "content": "result", "tool_call_id": "t1"},
            {"role": "developer", "content": "dev"},
        ],
    )


def case_coerces_openai_tool_calls(env):
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
        ],
    }
    return add_messages([], [call])


def case_coerces_own_tool_calls(env):
    call = {
        "role": "ai",
        "content": "",
        "tool_calls": [{"name": "f", "args": {"x": 1}, "id": "c1"}],
    }
    return add_messages([], [call])


def case_bad_coercions(env):
    wrong = [
        [{"content": "no role"}],
        [{"role": "nobody", "content": "x"}],
        [("user",)],
        [42],
        [("user", "a", "b")],
    ]
    return [env.error(lambda w=w: add_messages([], w)) for w in wrong]


def case_string_and_tuple_alone(env):
    return [add_messages([], "hello"), env.error(lambda: add_messages([], ("user", "x")))]


def case_chunks_become_messages(env):
    return add_messages([AIMessageChunk("a", id="1")], [AIMessageChunk("b", id="2")])


def case_remove_by_id(env):
    left = [human("a", "1"), human("b", "2")]
    return add_messages(left, [RemoveMessage(id="1")])


def case_remove_unknown_id(env):
    return [
        env.error(lambda: add_messages([human("a", "1")], [RemoveMessage(id="9")])),
        env.error(lambda: add_messages([], [human("a", "1"), RemoveMessage(id="1")])),
    ]


def case_remove_then_add_again(env):
    left = [human("a", "1"), human("b", "2")]
    return [
        add_messages(left, [RemoveMessage(id="1"), human("A", "1")]),
        add_messages(left, [human("A", "1"), RemoveMessage(id="1")]),
    ]


def case_remove_all(env):
    left = [human("a", "1")]
    return [
        add_messages(left, [RemoveMessage(id=REMOVE_ALL_MESSAGES)]),
        add_messages(
            left, [human("x", "2"), RemoveMessage(id=REMOVE_ALL_MESSAGES), human("y", "3")]
        ),
        add_messages(left, RemoveMessage(id=REMOVE_ALL_MESSAGES)),
        REMOVE_ALL_MESSAGES,
    ]


def case_remove_all_twice(env):
    wipe = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    return add_messages([human("a", "1")], [wipe, human("b", "2"), wipe, human("c", "3")])


def case_duplicate_ids_on_the_left(env):
    left = [human("a", "1"), human("b", "1")]
    return [add_messages(left, [human("c", "1")]), add_messages(left, [RemoveMessage(id="1")])]


def case_none_sides(env):
    return [
        env.error(lambda: add_messages(None, [human("a", "1")])),
        env.error(lambda: add_messages([human("a", "1")], None)),
        add_messages([], []),
    ]


def case_partial_application(env):
    merge = add_messages(format="langchain-openai")
    return [callable(merge), env.error(lambda: add_messages([], [], format="unknown"))]


def case_format_openai(env):
    blocks = [
        {"type": "text", "text": "look"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "1234"},
        },
    ]
    tool = AIMessage(
        [{"type": "tool_use", "name": "f", "input": {"x": 1}, "id": "c1"}],
        id="2",
        tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c1"}],
    )
    merge = add_messages(format="langchain-openai")
    return merge(
        [HumanMessage(blocks, id="1")], [tool, ToolMessage("r", tool_call_id="c1", id="3")]
    )


def case_format_in_a_graph(env):
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages(format="langchain-openai")]

    def node(state):
        return {
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}], "id": "2"}]
        }

    return run(State, node, given={"messages": [("user", "a")]})


def case_messages_state(env):
    def node(state):
        return {"messages": AIMessage(f"{len(state['messages'])}", id="ai")}

    def again(state):
        return {"messages": [AIMessage("replaced", id="ai"), ("user", "more")]}

    return run(MessagesState, node, again, given={"messages": "hello"})


def case_messages_state_subclass(env):
    class State(MessagesState):
        count: int

    def node(state):
        return {"messages": [SystemMessage("s")], "count": len(state["messages"])}

    return run(State, node, given={"messages": [("user", "a")], "count": 0})


def case_two_parallel_writers(env):
    graph = StateGraph(MessagesState)
    graph.add_node("a", lambda s: {"messages": [AIMessage("a", id="a")]})
    graph.add_node("b", lambda s: {"messages": [AIMessage("b", id="b")]})
    graph.add_edge(START, "b")
    graph.add_edge(START, "a")
    return graph.compile().invoke({"messages": []})


def case_remove_in_a_graph(env):
    def drop(state):
        return {"messages": [RemoveMessage(id=m.id) for m in state["messages"][:-1]]}

    def wipe(state):
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("new", id="n")]}

    given = {"messages": [human("a"), human("b"), human("c")]}
    return [run(MessagesState, drop, given=given), run(MessagesState, drop, wipe, given=given)]


def case_remove_unknown_in_a_graph(env):
    node = lambda s: {"messages": [RemoveMessage(id="none")]}  # noqa: E731
    return env.error(lambda: run(MessagesState, node, given={"messages": ["a"]}))


def case_overwrite_messages(env):
    node = lambda s: {"messages": Overwrite([AIMessage("only", id="1")])}  # noqa: E731
    return run(MessagesState, node, given={"messages": ["a", "b"]})


def case_message_edited_in_place(env):
    def node(state):
        state["messages"][0].content = "edited"
        return {"messages": [AIMessage("after", id="2")]}

    return run(MessagesState, node, given={"messages": [human("a", "1")]})


def case_message_as_root_state(env):
    graph = StateGraph(Annotated[list, add_messages])
    graph.add_node("n", lambda s: AIMessage("b", id="2"))
    graph.add_node("m", lambda s: [("user", "c")])
    graph.add_edge(START, "n")
    graph.add_edge("n", "m")
    graph.add_edge("m", END)
    return graph.compile().invoke([human("a", "1")])


def case_other_message_kinds(env):
    return add_messages(
        [],
        [
            ChatMessage(role="narrator", content="once", id="1"),
            FunctionMessage(name="f", content="r", id="2"),
            ToolMessage("r", tool_call_id="t", id="3", status="error", artifact={"a": 1}),
            AIMessage(
                "x",
                id="4",
                usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            ),
        ],
    )


def case_messages_saved_and_reloaded(env):
    graph = StateGraph(MessagesState)
    call = {"name": "f", "args": {"x": [1]}, "id": "c1", "type": "tool_call"}
    graph.add_node("n", lambda s: {"messages": [AIMessage("b", tool_calls=[call], name="bot")]})
    graph.add_node("m", lambda s: {"messages": [ToolMessage("r", tool_call_id="c1")]})
    graph.add_edge(START, "n")
    graph.add_edge("n", "m")
    config = {"configurable": {"thread_id": "1"}}
    first = graph.compile(checkpointer=env.saver()).invoke({"messages": ["a"]}, config)
    kept = graph.compile(checkpointer=env.saver()).get_state(config).values
    return [first, kept, first == kept]


def case_push_message(env):
    def node(state):
        push_message(AIMessage("pushed", id="p"))
        return {"messages": [AIMessage("returned", id="r")]}

    return run(MessagesState, node, given={"messages": ["a"]})


def case_push_message_needs_an_id(env):
    def node(state):
        push_message(AIMessage("pushed"))
        return {}

    return env.error(lambda: run(MessagesState, node, given={"messages": ["a"]}))


def case_message_graph(env):
    graph = MessageGraph()
    graph.add_node("n", lambda messages: AIMessage(f"{len(messages)}", id="r"))
    graph.add_edge(START, "n")
    graph.add_edge("n", END)
    app = graph.compile()
    return [app.invoke([("user", "a"), "b"]), app.invoke(human("c", "1"))]
