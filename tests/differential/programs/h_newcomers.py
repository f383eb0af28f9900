"""Programs as newcomers write them from the tutorials: chatbots, memory, agents, reviews."""

import json
import operator
from typing import Annotated, Any, Literal

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver, MemorySaver
from langgraph.config import get_store
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import (
    InjectedState,
    InjectedStore,
    ToolNode,
    create_react_agent,
    tools_condition,
)
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .newcomers import calls, says, shown

CONFIG = {"configurable": {"thread_id": "1"}}


# --- chatbots -------------------------------------------------------------------------------------


class ChatState(TypedDict):
    messages: Annotated[list, add_messages]


def case_a_chatbot_with_memory(env):
    llm = says("Hi Bob!", "You are Bob.", "I do not know.")
    builder = StateGraph(ChatState)

    def chatbot(state: ChatState):
        return {"messages": [llm.invoke(state["messages"])]}

    builder.add_node("chatbot", chatbot)
    builder.add_edge(START, "chatbot")
    builder.add_edge("chatbot", END)
    graph = builder.compile(checkpointer=MemorySaver())
    told = []
    for text, thread in (("I am Bob", "1"), ("Who am I?", "1"), ("Who am I?", "2")):
        config = {"configurable": {"thread_id": thread}}
        for event in graph.stream({"messages": [("user", text)]}, config, stream_mode="values"):
            told.append(shown(event["messages"][-1:]))
    snapshot = graph.get_state(CONFIG)
    return told, snapshot.next, len(snapshot.values["messages"])


def case_a_chatbot_with_a_tool(env):
    @tool
    def search(query: str) -> str:
        """Search the web."""
        return json.dumps({"found": query})

    llm = says(calls("search", {"query": "langgraph"}), "It is a library.")

    class State(TypedDict):
        messages: Annotated[list, add_messages]

    def chatbot(state: State):
        return {"messages": [llm.bind_tools([search]).invoke(state["messages"])]}

    builder = StateGraph(State)
    builder.add_node("chatbot", chatbot)
    builder.add_node("tools", ToolNode(tools=[search]))
    builder.add_conditional_edges("chatbot", tools_condition)
    builder.add_edge("tools", "chatbot")
    builder.set_entry_point("chatbot")
    graph = builder.compile(checkpointer=InMemorySaver())
    events = list(
        graph.stream({"messages": [HumanMessage("What?")]}, CONFIG, stream_mode="updates")
    )
    return [(name, shown(each["messages"])) for event in events for name, each in event.items()]


def case_human_assistance(env):
    @tool
    def human_assistance(query: str) -> str:
        """Request assistance from a human."""
        human_response = interrupt({"query": query})
        return human_response["data"]

    llm = says(calls("human_assistance", {"query": "help"}), "We help.")

    def chatbot(state: MessagesState):
        message = llm.invoke(state["messages"])
        assert len(message.tool_calls) <= 1
        return {"messages": [message]}

    builder = StateGraph(MessagesState)
    builder.add_node("chatbot", chatbot)
    builder.add_node("tools", ToolNode([human_assistance]))
    builder.add_conditional_edges(
        "chatbot", tools_condition, {"tools": "tools", "__end__": "__end__"}
    )
    builder.add_edge("tools", "chatbot")
    builder.add_edge(START, "chatbot")
    graph = builder.compile(checkpointer=env.saver())
    first = list(graph.stream({"messages": "Hi"}, CONFIG, stream_mode="updates"))
    waits = graph.get_state(CONFIG)
    answered = graph.invoke(Command(resume={"data": "Use it."}), CONFIG)
    asked = first[-1]["__interrupt__"][0].value
    return asked, waits.next, shown(answered["messages"])


def case_custom_state_written_by_a_tool(env):
    class State(TypedDict):
        messages: Annotated[list, add_messages]
        name: str
        birthday: str

    @tool
    def check(
        name: str, birthday: str, tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command:
        """Check facts with a person."""
        response = interrupt({"question": "Is this correct?", "name": name, "birthday": birthday})
        if response.get("correct", "")[0].lower() == "y":
            verified, text = birthday, "Correct"
        else:
            verified, text = response.get("birthday", birthday), f"Made a correction: {response}"
        update = {
            "name": name,
            "birthday": verified,
            "messages": [ToolMessage(text, tool_call_id=tool_call_id)],
        }
        return Command(update=update)

    llm = says(calls("check", {"name": "LG", "birthday": "Jan 1"}), "Done.")
    builder = StateGraph(State)
    builder.add_node("chatbot", lambda s: {"messages": [llm.invoke(s["messages"])]})
    builder.add_node("tools", ToolNode([check]))
    builder.add_conditional_edges("chatbot", tools_condition)
    builder.add_edge("tools", "chatbot")
    builder.add_edge(START, "chatbot")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"messages": [("user", "When was it born?")]}, CONFIG)
    graph.invoke(Command(resume={"correct": "no", "birthday": "Jan 17"}), CONFIG)
    values = graph.get_state(CONFIG).values
    graph.update_state(CONFIG, {"name": "LangGraph (library)"})
    after = graph.get_state(CONFIG).values
    return (
        {k: v for k, v in values.items() if k != "messages"},
        after["name"],
        len(after["messages"]),
    )


def case_time_travel_of_a_chatbot(env):
    llm = says("one", "two", "three")
    builder = StateGraph(MessagesState)
    builder.add_node("chatbot", lambda s: {"messages": [llm.invoke(s["messages"])]})
    builder.add_edge(START, "chatbot")
    graph = builder.compile(checkpointer=env.saver())
    for text in ("a", "b"):
        graph.invoke({"messages": [("user", text)]}, CONFIG)
    to_replay = None
    counts = []
    for state in graph.get_state_history(CONFIG):
        counts.append((len(state.values["messages"]), state.next))
        if len(state.values["messages"]) == 3:
            to_replay = state
    replayed = [
        shown(e["messages"]) for e in graph.stream(None, to_replay.config, stream_mode="values")
    ]
    return counts, replayed, to_replay.next


def case_deleting_and_trimming_messages(env):
    def delete_messages(state):
        messages = state["messages"]
        if len(messages) > 2:
            return {"messages": [RemoveMessage(id=m.id) for m in messages[:2]]}
        return None

    seen = []
    llm = says("one", "two", "three")

    def call_model(state: MessagesState):
        trimmed = trim_messages(
            state["messages"],
            strategy="last",
            token_counter=count_tokens_approximately,
            max_tokens=30,
            start_on="human",
            end_on=("human", "tool"),
        )
        seen.append(len(trimmed))
        return {"messages": llm.invoke(trimmed)}

    builder = StateGraph(MessagesState).add_sequence([call_model, delete_messages])
    builder.add_edge(START, "call_model")
    graph = builder.compile(checkpointer=env.saver())
    told = []
    for text in ("hi! I'm bob", "what's my name?", "and again?"):
        for event in graph.stream({"messages": [HumanMessage(text)]}, CONFIG, stream_mode="values"):
            told.append([(m.type, m.content) for m in event["messages"]])
    return told, seen


def case_a_running_summary(env):
    class State(MessagesState):
        summary: str

    llm = says("reply 1", "reply 2", "SUMMARY", "reply 3", "SUMMARY 2")

    def call_model(state: State):
        summary = state.get("summary", "")
        messages = state["messages"]
        if summary:
            messages = [SystemMessage(content=f"Summary: {summary}"), *messages]
        return {"messages": [llm.invoke(messages)]}

    def should_continue(state: State) -> Literal["summarize", END]:
        return "summarize" if len(state["messages"]) > 3 else END

    def summarize(state: State):
        response = llm.invoke([*state["messages"], HumanMessage("Summarize")])
        delete = [RemoveMessage(id=m.id) for m in state["messages"][:-2]]
        return {"summary": response.content, "messages": delete}

    builder = StateGraph(State)
    builder.add_node("conversation", call_model)
    builder.add_node(summarize)
    builder.add_edge(START, "conversation")
    builder.add_conditional_edges("conversation", should_continue)
    builder.add_edge("summarize", END)
    graph = builder.compile(checkpointer=env.saver())
    told = [graph.invoke({"messages": [HumanMessage(t)]}, CONFIG) for t in ("a", "b", "c")]
    return [(each.get("summary"), shown(each["messages"])) for each in told]


# --- agents ---------------------------------------------------------------------------------------


def case_a_react_agent_from_scratch(env):
    @tool
    def get_weather(location: str) -> str:
        """Get the weather."""
        return "It's sunny in " + location

    by_name = {each.name: each for each in [get_weather]}

    class AgentState(TypedDict):
        messages: Annotated[list[BaseMessage], add_messages]

    llm = says(calls("get_weather", {"location": "SF"}), "Sunny.")

    def tool_node(state: AgentState):
        outputs = []
        for call in state["messages"][-1].tool_calls:
            result = by_name[call["name"]].invoke(call["args"])
            outputs.append(
                ToolMessage(content=json.dumps(result), name=call["name"], tool_call_id=call["id"])
            )
        return {"messages": outputs}

    def call_model(state: AgentState, config: RunnableConfig):
        return {"messages": [llm.invoke([SystemMessage("Be nice"), *state["messages"]], config)]}

    def should_continue(state: AgentState):
        return "continue" if state["messages"][-1].tool_calls else "end"

    workflow = StateGraph(AgentState)
    workflow.add_node("agent", call_model)
    workflow.add_node("tools", tool_node)
    workflow.set_entry_point("agent")
    workflow.add_conditional_edges("agent", should_continue, {"continue": "tools", "end": END})
    workflow.add_edge("tools", "agent")
    graph = workflow.compile()
    picture = graph.get_graph().draw_mermaid()
    return shown(graph.invoke({"messages": [("user", "weather?")]})["messages"]), picture


def case_a_react_agent_in_the_functional_api(env):
    @tool
    def get_weather(location: str) -> str:
        """Get the weather."""
        return "sunny in " + location

    llm = says(calls("get_weather", {"location": "SF"}), "Sunny.", "You are welcome.")

    @task
    def call_model(messages):
        return llm.bind_tools([get_weather]).invoke(messages)

    @task
    def call_tool(tool_call):
        return get_weather.invoke(tool_call)

    @entrypoint(checkpointer=env.saver())
    def agent(messages, previous):
        if previous is not None:
            messages = add_messages(previous, messages)
        response = call_model(messages).result()
        while response.tool_calls:
            futures = [call_tool(call) for call in response.tool_calls]
            messages = add_messages(messages, [response, *[f.result() for f in futures]])
            response = call_model(messages).result()
        messages = add_messages(messages, response)
        return entrypoint.final(value=response, save=messages)

    told = [list(each) for each in agent.stream([HumanMessage("weather?")], CONFIG)]
    last = agent.invoke([HumanMessage("thanks")], CONFIG)
    return told, last.content, agent.get_state(CONFIG).values.content


def case_reviews_of_tool_calls(env):
    @tool
    def weather_search(city: str):
        """Search for the weather."""
        return "Sunny in " + city

    def result_of(call, content):
        return {
            "role": "tool",
            "name": call["name"],
            "content": content,
            "tool_call_id": call["id"],
        }

    def build(*messages):
        llm = says(*messages)

        def call_llm(state):
            return {"messages": [llm.bind_tools([weather_search]).invoke(state["messages"])]}

        def human_review(state) -> Command[Literal["call_llm", "run_tool"]]:
            last = state["messages"][-1]
            call = last.tool_calls[-1]
            review = interrupt({"question": "Is this correct?", "tool_call": call})
            action, data = review["action"], review.get("data")
            if action == "continue":
                return Command(goto="run_tool")
            if action == "update":
                updated = {
                    "role": "ai",
                    "content": last.content,
                    "tool_calls": [{"id": call["id"], "name": call["name"], "args": data}],
                    "id": last.id,
                }
                return Command(goto="run_tool", update={"messages": [updated]})
            message = {
                "role": "tool",
                "content": data,
                "name": call["name"],
                "tool_call_id": call["id"],
            }
            return Command(goto="call_llm", update={"messages": [message]})

        def run_tool(state):
            new = []
            for call in state["messages"][-1].tool_calls:
                result = weather_search.invoke(call["args"])
                new.append(
                    {
                        "role": "tool",
                        "name": call["name"],
                        "content": result,
                        "tool_call_id": call["id"],
                    }
                )
            return {"messages": new}

        def route(state) -> Literal[END, "human_review"]:
            return END if len(state["messages"][-1].tool_calls) == 0 else "human_review"

        builder = StateGraph(MessagesState)
        for node in (call_llm, run_tool, human_review):
            builder.add_node(node)
        builder.add_edge(START, "call_llm")
        builder.add_conditional_edges("call_llm", route)
        builder.add_edge("run_tool", "call_llm")
        return builder.compile(checkpointer=InMemorySaver())

    told = []
    for answer in (
        {"action": "continue"},
        {"action": "update", "data": {"city": "San Francisco, USA"}},
        {"action": "feedback", "data": "Use <city>, <country>"},
    ):
        graph = build(calls("weather_search", {"city": "SF"}), "Sunny!")
        graph.invoke({"messages": [{"role": "user", "content": "weather?"}]}, CONFIG)
        waits = graph.get_state(CONFIG)
        done = graph.invoke(Command(resume=answer), CONFIG)
        told.append((waits.next, waits.tasks[0].interrupts[0].value, shown(done["messages"])))
    return told


def case_injected_state_and_store(env):
    store = InMemoryStore()
    store.put(("prefs",), "bob", {"likes": "tea"})

    @tool
    def preference(
        what: str,
        state: Annotated[dict, InjectedState],
        user: Annotated[str, InjectedState("user")],
        memory: Annotated[BaseStore, InjectedStore()],
        config: RunnableConfig,
    ) -> str:
        """Look a preference up."""
        found = memory.get(("prefs",), user).value
        thread = config["configurable"]["thread_id"]
        return f"{what}: {found['likes']} ({len(state['messages'])} messages, thread {thread})"

    class State(MessagesState):
        user: str

    llm = says(calls("preference", {"what": "drink"}), "Tea.")
    builder = StateGraph(State)
    builder.add_node("agent", lambda s: {"messages": llm.invoke(s["messages"])})
    builder.add_node("tools", ToolNode([preference]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    graph = builder.compile(checkpointer=env.saver(), store=store)
    done = graph.invoke({"messages": [("user", "drink?")], "user": "bob"}, CONFIG)
    return shown(done["messages"]), preference.tool_call_schema.model_json_schema()["properties"]


def case_long_term_memory(env):
    store = InMemoryStore(index={"embed": DeterministicFakeEmbedding(size=8), "dims": 8})
    llm = says("Noted.", "You are Bob.")

    class Context(TypedDict):
        user_id: str

    def call_model(state: MessagesState, runtime: Runtime[Context], *, store: BaseStore):
        namespace = ("memories", runtime.context["user_id"])
        memories = runtime.store.search(namespace, query=str(state["messages"][-1].content))
        info = "\n".join(d.value["data"] for d in memories)
        last = state["messages"][-1]
        if "remember" in last.content.lower():
            store.put(namespace, "one", {"data": "User name is Bob"})
        answer = llm.invoke([SystemMessage(f"User info: {info}"), *state["messages"]])
        return {"messages": [answer, AIMessage(f"knew: {info}")]}

    builder = StateGraph(MessagesState, context_schema=Context).add_node(call_model)
    graph = builder.add_edge(START, "call_model").compile(checkpointer=env.saver(), store=store)
    told = []
    for thread, user in (("1", "1"), ("2", "1"), ("3", "2")):
        config = {"configurable": {"thread_id": thread}}
        given = {"messages": [("user", "Remember: I am Bob" if thread == "1" else "Who am I?")]}
        if thread == "3":
            llm = says("No idea.")
        done = graph.invoke(given, config, context={"user_id": user})
        told.append(shown(done["messages"]))
    found = store.search(("memories",))
    return told, [(each.namespace, each.key, each.value) for each in found]


# --- small things ---------------------------------------------------------------------------------


def case_different_schemas(env):
    class InputState(TypedDict):
        user_input: str

    class OutputState(TypedDict):
        graph_output: str

    class OverallState(TypedDict):
        foo: str
        user_input: str
        graph_output: str

    class PrivateState(TypedDict):
        bar: str

    def node_1(state: InputState) -> OverallState:
        return {"foo": state["user_input"] + " name"}

    def node_2(state: OverallState) -> PrivateState:
        return {"bar": state["foo"] + " is"}

    def node_3(state: PrivateState) -> OutputState:
        return {"graph_output": state["bar"] + " Lance"}

    builder = StateGraph(OverallState, input_schema=InputState, output_schema=OutputState)
    builder.add_sequence([node_1, node_2, node_3]).add_edge(START, "node_1")
    graph = builder.compile()
    told = list(graph.stream({"user_input": "My"}, stream_mode="updates"))
    return graph.invoke({"user_input": "My"}), told, graph.get_output_jsonschema()["properties"]


def case_pydantic_states_validate(env):
    class OverallState(BaseModel):
        a: str
        messages: Annotated[list[AnyMessage], add_messages] = Field(default_factory=list)

    def node(state: OverallState):
        return {"a": "goodbye", "messages": [("ai", f"bye {state.a}")]}

    graph = StateGraph(OverallState).add_node(node).add_edge(START, "node").compile()
    done = graph.invoke({"a": "hello"})
    return done["a"], shown(done["messages"]), env.error(lambda: graph.invoke({"a": 123}))


def case_a_structured_answer(env):
    class WeatherResponse(BaseModel):
        conditions: str

    answer = calls("WeatherResponse", {"conditions": "sunny"})
    model = says(answer)
    chain = model | (lambda m: WeatherResponse(**m.tool_calls[0]["args"]))
    parser = JsonOutputParser(pydantic_object=WeatherResponse)
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Say {format}"), MessagesPlaceholder("history"), ("human", "{q}")]
    ).partial(format="json")
    value = prompt.invoke({"history": [("ai", "earlier")], "q": "weather?"})
    parsed = (prompt | says('{"conditions": "rain"}') | parser).invoke({"history": [], "q": "w"})
    return chain.invoke("weather?").conditions, shown(value.to_messages()), parsed


def case_a_store_inside_nodes_and_tools(env):
    @tool
    def save_user(name: str, config: RunnableConfig) -> str:
        """Save a user."""
        get_store().put(("users",), config["configurable"]["user_id"], {"name": name})
        return "saved"

    store = InMemoryStore()
    agent = create_react_agent(
        says(calls("save_user", {"name": "Ann"}), "Done."), [save_user], store=store
    )
    done = agent.invoke({"messages": "hi"}, {"configurable": {"user_id": "u1"}})
    return shown(done["messages"]), store.get(("users",), "u1").value


def case_branches_that_run_beside_each_other(env):
    class State(TypedDict):
        aggregate: Annotated[list, operator.add]
        which: str

    def node(name):
        return lambda state: {"aggregate": [name]}

    builder = StateGraph(State)
    for name in "abcde":
        builder.add_node(name, node(name))
    builder.add_edge(START, "a")
    builder.add_conditional_edges(
        "a", lambda s: ["c", "d"] if s["which"] == "cd" else ["b", "c"], ["b", "c", "d"]
    )
    for name in "bcd":
        builder.add_edge(name, "e")
    builder.add_edge("e", END)
    graph = builder.compile()
    return [graph.invoke({"aggregate": [], "which": each}) for each in ("bc", "cd")]


def case_a_picture_of_an_agent(env):
    @tool
    def f(x: int) -> int:
        """F."""
        return x

    agent = create_react_agent(says("x"), [f])
    return agent.get_graph().draw_mermaid(), agent.get_graph().draw_mermaid(with_styles=False)


def case_what_is_told_of_messages(env):
    message = AIMessage(
        "hi", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    )
    both: Any = message + HumanMessage("you")
    return message.pretty_repr(), str(both), message.text, message.usage_metadata, repr(message)


def case_what_prompts_and_answers_print(env):
    prompt = ChatPromptTemplate.from_messages([("human", "{x}")])
    made = [
        PromptTemplate.from_template("a {b}"),
        prompt.messages[0].prompt,
        MessagesPlaceholder("h", optional=True),
        prompt.invoke({"x": 1}),
        Generation(text="x", generation_info={"n": 1}),
        ChatGeneration(message=HumanMessage("x")),
        ChatResult(generations=[]),
        LLMResult(generations=[]),
    ]
    return [(str(each), repr(each)) for each in made]
