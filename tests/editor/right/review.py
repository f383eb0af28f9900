from typing import Literal, TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.graph import END, StateGraph
from plait.types import Command, interrupt


class State(TypedDict):
    text: str
    approved: bool


def draft(state: State) -> Command[Literal["review"]]:
    return Command(update={"text": state["text"] + "!"}, goto="review")


def review(state: State) -> Command[Literal["publish", "__end__"]]:
    answer = interrupt({"q": "ok?", "text": state["text"]})
    if answer["ok"]:
        return Command(goto="publish", update={"approved": True})
    return Command(goto=END)


def publish(state: State) -> dict:
    return {"text": state["text"].upper()}


b = StateGraph(State)
b.add_node("draft", draft)
b.add_node("review", review)
b.add_node("publish", publish)
b.set_entry_point("draft")
b.set_finish_point("publish")
g = b.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
g.invoke({"text": "a"}, config)
state = g.get_state(config)
print(state.next, state.values["text"], state.tasks[0].interrupts[0].value)
print(g.invoke(Command(resume={"ok": True}), config=config))
