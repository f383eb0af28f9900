"""Questions in the form of an agent inbox: a list of requests asks, a list of responses answers."""

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.interrupt import (
    ActionRequest,
    HumanInterrupt,
    HumanInterruptConfig,
    HumanResponse,
)
from langgraph.types import Command, interrupt

from .scripted import ai, call, model_of

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
OPEN = HumanInterruptConfig(
    allow_ignore=True, allow_respond=True, allow_edit=True, allow_accept=True
)


@tool
def send(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent {text!r} to {to}"


def review(made):
    """Ask about one tool call; what answers it."""
    wanted = ActionRequest(action=made["name"], args=made["args"])
    asked = HumanInterrupt(action_request=wanted, config=OPEN, description="Look at this mail.")
    response: HumanResponse = interrupt([asked])[0]
    if response["type"] == "accept":
        said = send.invoke(made["args"])
    elif response["type"] == "edit":
        said = send.invoke(response["args"]["args"])
    elif response["type"] == "response":
        said = f"The person says: {response['args']}"
    else:
        said = "The person ignored it."
    return ToolMessage(said, tool_call_id=made["id"], name=made["name"])


def inbox(env):
    """A model, and a node that asks about each of its calls, one after the other."""
    model = model_of(ai(call("send", "a", to="ann", text="hello")), "done")

    def ask(state):
        return {"messages": [model.invoke(state["messages"])]}

    def people(state):
        return {"messages": [review(one) for one in state["messages"][-1].tool_calls]}

    builder = StateGraph(MessagesState).add_node("ask", ask).add_node("people", people)
    builder.add_edge(START, "ask").add_edge("people", "ask")
    builder.add_conditional_edges(
        "ask", lambda s: "people" if s["messages"][-1].tool_calls else END, ["people", END]
    )
    return builder.compile(checkpointer=env.saver())


EDITED = ActionRequest(action="send", args={"to": "bob", "text": "hi"})
RESPONSES = {
    "accept": HumanResponse(type="accept", args=None),
    "edit": HumanResponse(type="edit", args=EDITED),
    "response": HumanResponse(type="response", args="not yet"),
    "ignore": HumanResponse(type="ignore", args=None),
}


def case_each_response(env):
    found = []
    for kind, response in RESPONSES.items():
        thread = {"configurable": {"thread_id": kind}}
        graph = inbox(env)
        graph.invoke(USER, thread)
        waiting = [one.value for one in graph.get_state(thread).interrupts]
        done = graph.invoke(Command(resume=[response]), thread)
        found.append((waiting, done["messages"]))
    return found


def case_a_tool_that_asks_itself(env):
    """The tool of an agent is wrapped in one that asks, as inboxes document it."""

    @tool("send", args_schema=send.args_schema)
    def asking(**given):
        """Send a mail, if a person agrees."""
        made = {"name": "send", "args": given, "id": "0"}
        return review(made).content

    model = model_of(ai(call("send", "a", to="ann", text="hello")), "done")
    agent = create_react_agent(model, [asking], checkpointer=env.saver())
    first = agent.invoke(USER, THREAD)
    asked = [one.value for one in first["__interrupt__"]]
    return asked, agent.invoke(Command(resume=[RESPONSES["edit"]]), THREAD)["messages"]


def case_keys_of_the_types(env):
    kinds = (ActionRequest, HumanInterrupt, HumanInterruptConfig, HumanResponse)
    return [
        (one.__name__, sorted(one.__annotations__), sorted(one.__required_keys__)) for one in kinds
    ]
