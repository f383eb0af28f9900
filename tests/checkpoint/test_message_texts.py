"""`message.text` can be stored wherever a str can: it is one, of a class of its own."""

from typing import Any

from langchain_core.messages import AIMessage as TheirMessage

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.graph import START, StateGraph
from plait.messages import AIMessage
from plait.types import interrupt


def test_the_text_of_a_message_is_stored_as_a_str() -> None:
    serde = JsonPlusSerializer()
    for message in (AIMessage("hello"), TheirMessage("hello")):
        value = {"text": message.text, "all": [message.text]}
        assert type(value["text"]) is not str
        back = serde.loads_typed(serde.dumps_typed(value))
        assert back == {"text": "hello", "all": ["hello"]}
        assert type(back["text"]) is str


def test_a_person_can_be_asked_about_the_text_of_a_message() -> None:
    def ask(state: Any) -> Any:
        return {"draft": interrupt({"draft": AIMessage("hello").text})}

    builder = StateGraph(dict)
    builder.add_node("ask", ask).add_edge(START, "ask")
    graph = builder.compile(InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    assert graph.invoke({}, config)["__interrupt__"][0].value == {"draft": "hello"}
