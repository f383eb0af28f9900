"""Programs as newcomers write them with `create_agent`: middleware, structured answers, memory."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRequest,
    ModelResponse,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    after_model,
    before_agent,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .newcomers import calls, shown

CONFIG = {"configurable": {"thread_id": "1"}}


class Scripted(GenericFakeChatModel):
    """A model that says what it is told to, and keeps what it was asked."""

    asked: Any = None
    tools: Any = None

    def bind_tools(self, tools, **kwargs):
        self.tools.append(sorted(getattr(each, "name", str(each)) for each in tools))
        return self

    def _generate(self, messages, *args, **kwargs):
        self.asked.append([(each.type, each.content) for each in messages])
        return super()._generate(messages, *args, **kwargs)


def says(*messages):
    given = [AIMessage(each) if isinstance(each, str) else each for each in messages]
    return Scripted(messages=iter(given), asked=[], tools=[])


@tool
def get_weather(city: str) -> str:
    """Get weather for a given city."""
    return f"It's always sunny in {city}!"


def case_a_first_agent(env):
    model = says(calls("get_weather", {"city": "sf"}), "Sunny.")
    agent = create_agent(model, tools=[get_weather], system_prompt="You are helpful")
    done = agent.invoke({"messages": [{"role": "user", "content": "weather in sf?"}]})
    return shown(done["messages"]), model.asked, model.tools[-1]


def case_an_agent_that_remembers(env):
    @dataclass
    class Context:
        user_id: str

    @tool
    def get_user_location(runtime: ToolRuntime[Context]) -> str:
        """Retrieve user information based on user ID."""
        return "Florida" if runtime.context.user_id == "1" else "SF"

    @dataclass
    class ResponseFormat:
        punny_response: str
        weather_conditions: str | None = None

    answer = {"punny_response": "sun-derful", "weather_conditions": "sunny"}
    model = says(
        calls("get_user_location", {}),
        calls("ResponseFormat", answer, id="c2"),
        calls("ResponseFormat", {"punny_response": "welcome"}, id="c3"),
    )
    agent = create_agent(
        model=model,
        system_prompt="You pun.",
        tools=[get_user_location, get_weather],
        context_schema=Context,
        response_format=ToolStrategy(ResponseFormat),
        checkpointer=InMemorySaver(),
    )
    told = []
    for text in ("weather outside?", "thanks"):
        given = {"messages": [{"role": "user", "content": text}]}
        done = agent.invoke(given, config=CONFIG, context=Context(user_id="1"))
        found = done["structured_response"]
        told.append((found.punny_response, found.weather_conditions, len(done["messages"])))
    return told


def case_structured_answers(env):
    class ContactInfo(BaseModel):
        """Contact information for a person."""

        name: str = Field(description="The name")
        email: str = Field(description="The email")

    good = {"name": "John", "email": "j@x.org"}
    told = []
    for form in (
        ContactInfo,
        ToolStrategy(ContactInfo),
        ToolStrategy(ContactInfo.model_json_schema()),
    ):
        model = says(calls("ContactInfo", {"name": "John"}), calls("ContactInfo", good, id="c2"))
        agent = create_agent(model, tools=[], response_format=form)
        try:
            done = agent.invoke({"messages": [("user", "Extract")]})
        except StopIteration:
            told.append("asked on")
            continue
        told.append((done["structured_response"], [m.type for m in done["messages"]]))
    model = says('{"name": "John", "email": "j@x.org"}')
    agent = create_agent(model, tools=[], response_format=ProviderStrategy(ContactInfo))
    return told, agent.invoke({"messages": [("user", "Extract")]})["structured_response"]


def case_prompts_by_role(env):
    class Context(TypedDict):
        user_role: str

    @dynamic_prompt
    def user_role_prompt(request: ModelRequest) -> str:
        role = request.runtime.context.get("user_role", "user")
        return f"You help. Be {'technical' if role == 'expert' else 'simple'}."

    model = says("a", "b")
    agent = create_agent(
        model, [get_weather], middleware=[user_role_prompt], context_schema=Context
    )
    for role in ("expert", "beginner"):
        agent.invoke({"messages": [("user", "ML?")]}, context={"user_role": role})
    return model.asked


def case_models_by_length(env):
    basic, advanced = says("basic"), says("advanced")

    @wrap_model_call
    def select(request: ModelRequest, handler) -> ModelResponse:
        chosen = advanced if len(request.state["messages"]) > 2 else basic
        return handler(request.override(model=chosen))

    agent = create_agent(model=basic, tools=[get_weather], middleware=[select])
    told = [agent.invoke({"messages": [("user", "x")] * n})["messages"][-1].content for n in (1, 3)]
    return told, basic.tools, advanced.tools


def case_errors_of_tools(env):
    @tool
    def broken(x: int) -> int:
        """Breaks."""
        raise ValueError("no")

    @wrap_tool_call
    def handle(request, handler):
        try:
            return handler(request)
        except Exception as e:
            return ToolMessage(f"Tool error: ({e})", tool_call_id=request.tool_call["id"])

    model = says(calls("broken", {"x": 1}), "Sorry.")
    agent = create_agent(model, [broken], middleware=[handle])
    return shown(agent.invoke({"messages": "go"})["messages"])


def case_a_state_of_ones_own(env):
    class CustomState(AgentState):
        user_preferences: dict
        count: NotRequired[Annotated[int, operator.add]]

    class Counting(AgentMiddleware):
        state_schema = CustomState
        tools = (get_weather,)

        def before_model(self, state: CustomState, runtime) -> dict[str, Any] | None:
            return {"count": 1}

        def after_agent(self, state, runtime):
            return {"user_preferences": {**state["user_preferences"], "seen": state["count"]}}

    model = says(calls("get_weather", {"city": "x"}), "Done.")
    agent = create_agent(model, tools=[], middleware=[Counting()])
    done = agent.invoke({"messages": [("user", "go")], "user_preferences": {"style": "brief"}})
    return done["count"], done["user_preferences"], shown(done["messages"]), model.tools[-1]


def case_messages_before_and_after_the_model(env):
    @before_model
    def trim(state: AgentState, runtime: Runtime) -> dict[str, Any] | None:
        messages = state["messages"]
        if len(messages) <= 3:
            return None
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), messages[0], *messages[-2:]]}

    @after_model
    def validate(state: AgentState, runtime: Runtime) -> dict | None:
        last = state["messages"][-1]
        if "secret" in last.content:
            return {"messages": [RemoveMessage(id=last.id), AIMessage("[removed]")]}
        return None

    @before_agent(can_jump_to=["end"])
    def block(state: AgentState, runtime: Runtime) -> dict[str, Any] | None:
        if "hack" in state["messages"][-1].content:
            return {"messages": [AIMessage("I cannot.")], "jump_to": "end"}
        return None

    model = says("one", "a secret", "three", "four")
    agent = create_agent(
        model, [], middleware=[trim, validate, block], checkpointer=InMemorySaver()
    )
    told = []
    for text in ("a", "b", "c", "hack", "d"):
        done = agent.invoke({"messages": [HumanMessage(text)]}, CONFIG)
        told.append(shown(done["messages"]))
    return told, model.asked


def case_reviews_by_middleware(env):
    @tool
    def write_file(path: str) -> str:
        """Write."""
        return f"wrote {path}"

    def build(*messages):
        return create_agent(
            says(*messages),
            [write_file, get_weather],
            middleware=[
                HumanInTheLoopMiddleware(
                    interrupt_on={
                        "write_file": True,
                        "get_weather": {"allowed_decisions": ["approve", "reject"]},
                    },
                    description_prefix="Pending",
                )
            ],
            checkpointer=InMemorySaver(),
        )

    told = []
    for decision in (
        {"type": "approve"},
        {"type": "edit", "edited_action": {"name": "write_file", "args": {"path": "b"}}},
        {"type": "reject", "message": "No."},
    ):
        agent = build(calls("write_file", {"path": "a"}), "Done.")
        asked = agent.invoke({"messages": [("user", "write")]}, CONFIG)["__interrupt__"][0].value
        done = agent.invoke(Command(resume={"decisions": [decision]}), CONFIG)
        told.append((asked["action_requests"], shown(done["messages"])))
    return told


def case_summaries_and_limits(env):
    model = says("r1", "r2", "r3")
    summing = SummarizationMiddleware(
        model=says("SUM", "SUM2"), trigger=("messages", 4), keep=("messages", 2)
    )
    agent = create_agent(model, [], middleware=[summing], checkpointer=InMemorySaver())
    told = []
    for text in ("a", "b", "c"):
        kept = shown(agent.invoke({"messages": text}, CONFIG)["messages"])
        # What introduces a summary is worded differently.
        told.append([(kind, said.rsplit("\n", 1)[-1]) for kind, said, _ in kept])
    looping = says(*[calls("get_weather", {"city": "x"}, id=f"c{n}") for n in range(9)])
    limited = create_agent(
        looping,
        [get_weather],
        middleware=[ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")],
    )
    tools = says(*[calls("get_weather", {"city": "x"}, id=f"c{n}") for n in range(3)], "done")
    capped = create_agent(tools, [get_weather], middleware=[ToolCallLimitMiddleware(run_limit=1)])
    ends = [shown(each.invoke({"messages": "go"})["messages"]) for each in (limited, capped)]
    return told, ends


def case_lists_of_tasks_and_retries(env):
    tried = []

    @tool
    def flaky(x: int) -> int:
        """Fails at first."""
        tried.append(x)
        if len(tried) < 2:
            raise ConnectionError("down")
        return x

    todos = [{"content": "look", "status": "in_progress"}]
    model = says(calls("write_todos", {"todos": todos}), calls("flaky", {"x": 1}, id="c2"), "ok")
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    agent = create_agent(model, [flaky], middleware=[TodoListMiddleware(), retry])
    done = agent.invoke({"messages": "go"})
    return done["todos"], shown(done["messages"]), tried


def case_tools_that_write_and_remember(env):
    @tool
    def save(name: str, runtime: ToolRuntime) -> Command:
        """Save a name."""
        runtime.store.put(("users",), "1", {"name": name})
        writer = runtime.stream_writer
        writer(f"saving {name}")
        message = ToolMessage("saved", tool_call_id=runtime.tool_call_id)
        return Command(update={"user_name": name, "messages": [message]})

    @tool
    def greet(runtime: ToolRuntime) -> str:
        """Greet."""
        return f"Hi {runtime.state['user_name']}, {runtime.store.get(('users',), '1').value}"

    class State(AgentState):
        user_name: str

    model = says(calls("save", {"name": "Ann"}), calls("greet", {}, id="c2"), "Done.")
    agent = create_agent(model, [save, greet], state_schema=State, store=InMemoryStore())
    told = []
    given = {"messages": [("user", "I am Ann")]}
    for mode, chunk in agent.stream(given, stream_mode=["updates", "custom"]):
        told.append((mode, chunk if mode == "custom" else sorted(chunk)))
    return told


def case_subagents_as_tools(env):
    calendar = create_agent(says("Booked."), [], system_prompt="You book.", name="calendar")

    @tool("schedule", description="Schedule events in natural language.")
    def schedule(request: str) -> str:
        done = calendar.invoke({"messages": [{"role": "user", "content": request}]})
        return done["messages"][-1].text

    supervisor = create_agent(
        says(calls("schedule", {"request": "tomorrow"}), "It is booked."), [schedule]
    )
    told = []
    for ns, chunk in supervisor.stream({"messages": "book"}, stream_mode="updates", subgraphs=True):
        told.append((len(ns), sorted(chunk)))
    return told


def case_a_router_with_parallel_agents(env):
    class State(TypedDict):
        query: str
        results: Annotated[list[dict], operator.add]
        answer: str

    agents = {
        name: create_agent(says(f"{name} says"), [], name=name) for name in ("github", "slack")
    }

    def classify(state: State):
        return [Send(name, {"query": state["query"]}) for name in agents]

    def ask(name):
        def node(state):
            done = agents[name].invoke({"messages": [("user", state["query"])]})
            return {"results": [{"source": name, "result": done["messages"][-1].content}]}

        return node

    builder = StateGraph(State)
    for name in agents:
        builder.add_node(name, ask(name)).add_edge(name, "synthesize")
    builder.add_node(
        "synthesize", lambda s: {"answer": " | ".join(r["result"] for r in s["results"])}
    )
    builder.add_conditional_edges(START, classify, [*agents]).add_edge("synthesize", END)
    return builder.compile().invoke({"query": "auth?"})


def case_agents_that_hand_over(env):
    class State(MessagesState):
        active: NotRequired[str]

    @tool
    def transfer_to_sales(runtime: ToolRuntime) -> Command:
        """Transfer to sales."""
        last = next(m for m in reversed(runtime.state["messages"]) if isinstance(m, AIMessage))
        told = ToolMessage("Transferred", tool_call_id=runtime.tool_call_id)
        return Command(
            goto="sales", update={"active": "sales", "messages": [last, told]}, graph=Command.PARENT
        )

    support = create_agent(
        says(calls("transfer_to_sales", {})), [transfer_to_sales], name="support"
    )
    sales = create_agent(says("Buy it.", "Still here."), [], name="sales")

    def route(state: State) -> Literal["support", "sales"]:
        return state.get("active") or "support"

    builder = StateGraph(State)
    builder.add_node("support", lambda s: support.invoke(s))
    builder.add_node("sales", lambda s: sales.invoke(s))
    builder.add_conditional_edges(START, route, ["support", "sales"])
    graph = builder.compile(checkpointer=env.saver())
    told = [graph.invoke({"messages": [("user", t)]}, CONFIG) for t in ("hi", "again")]
    return [(each["active"], shown(each["messages"])) for each in told]


async def case_tokens_of_an_agent(env):
    model = says(calls("get_weather", {"city": "sf"}, content="let me look"), "It is sunny")
    agent = create_agent(model, [get_weather])
    told = []
    async for token, metadata in agent.astream({"messages": "weather?"}, stream_mode="messages"):
        told.append((metadata["langgraph_node"], token.content_blocks, token.type))
    return told


def case_a_picture_of_an_agent(env):
    @before_model
    def log(state, runtime):
        return None

    @after_model(can_jump_to=["end"])
    def check(state, runtime):
        return None

    agent = create_agent(says("x"), [get_weather], middleware=[log, check])
    return agent.get_graph().draw_mermaid(), sorted(agent.get_output_jsonschema()["properties"])
