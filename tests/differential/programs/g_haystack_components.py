"""Components as tools: their schema, their arguments and outputs, and as plain data."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from dataclasses import dataclass, field
from typing import Any, Optional

from haystack import component
from haystack.components.agents import Agent
from haystack.components.agents.state import merge_lists
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import ComponentTool

say = ChatMessage.from_assistant
user = ChatMessage.from_user


@component
class Scripted:
    def __init__(self, *replies):
        self.replies = list(replies)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None):
        return {"replies": [self.replies.pop(0)]}


def call(tool_name, call_id="1", **arguments):
    return say(tool_calls=[ToolCall(tool_name, arguments, call_id)])


@dataclass
class Address:
    """Where somebody lives."""

    street: str
    city: str = "Oslo"


@dataclass
class Person:
    name: str
    addresses: list[Address] = field(default_factory=list)

    @classmethod
    def from_dict(cls, data):
        addresses = [Address(**one) for one in data.get("addresses", [])]
        return cls(name=data["name"] + "!", addresses=addresses)


@component
class BookGreeter:
    """Greets people."""

    def __init__(self, word: str = "hi"):
        self.word = word
        self.warm = 0

    def warm_up(self):
        self.warm += 1

    @component.output_types(text=str, count=int)
    def run(self, name: str, times: int = 1, loud: bool = False):
        """
        Greet somebody.

        :param name: Who is greeted.
        :param times: How often.
        :returns: The greeting.
        """
        text = f"{self.word} " * times + name
        return {"text": text.upper() if loud else text, "count": self.warm}


@component
class Sender:
    @component.output_types(sent=list[str])
    def run(
        self,
        person: Person,
        to: Address,
        others: Optional[list[Address]] = None,  # noqa: UP045
        plain: Optional[dict[str, Any]] = None,  # noqa: UP045
    ):
        kinds = [type(one).__name__ for one in [person, to, *(others or [])]]
        return {"sent": [person.name, to.city, *kinds, str(plain)]}


@component
class Failing:
    """Fails."""

    @component.output_types(x=int)
    def run(self, x: int):
        raise ValueError("no")


def case_named_by_the_class(env):
    tool = ComponentTool(BookGreeter())
    return tool.name, tool.description, tool.parameters, tool.tool_spec


def case_named_by_hand(env):
    tool = ComponentTool(BookGreeter(), name="greet", description="Say hello.")
    return tool.name, tool.description, tool.parameters


def case_without_docstrings(env):
    tool = ComponentTool(Sender())
    return tool.name, tool.description, tool.parameters


def case_parameters_by_hand(env):
    given = {"type": "object", "properties": {"name": {"type": "string"}}}
    return ComponentTool(BookGreeter(), parameters=given).parameters


def case_parameters_that_the_state_fills(env):
    return ComponentTool(BookGreeter(), inputs_from_state={"who": "name"}).parameters


def case_called(env):
    tool = ComponentTool(BookGreeter())
    return [
        tool.invoke(name="Bo"),
        tool.invoke(name="Bo", times=2, loud=True),
        env.error(lambda: tool.invoke(name="Bo", unknown=1)),
        env.error(lambda: tool.invoke(times=2)),
        env.error(lambda: ComponentTool(Failing()).invoke(x=1)),
    ]


def case_objects_of_dicts(env):
    tool = ComponentTool(Sender())
    person = {"name": "Bo", "addresses": [{"street": "a"}]}
    return [
        tool.invoke(person=person, to={"street": "b", "city": "Rome"}),
        tool.invoke(person=person, to={"street": "b"}, others=[{"street": "c"}], plain={"a": 1}),
        tool.invoke(person=Person("Al"), to=Address("x"), others=[Address("y")]),
        env.error(lambda: tool.invoke(person=person, to={"no": "street"})),
    ]


def case_warmed_up(env):
    tool = ComponentTool(BookGreeter())
    tool.warm_up()
    tool.warm_up()
    return tool.invoke(name="Bo")


def case_what_is_no_component(env):
    class Plain:
        def run(self, x: int):
            return {"x": x}

    return [env.error(lambda one=one: ComponentTool(one)) for one in (object(), "x")]


def case_in_an_agent(env):
    tool = ComponentTool(
        BookGreeter(),
        inputs_from_state={"who": "name"},
        outputs_to_state={"greetings": {"source": "text"}, "warm": {"source": "count"}},
        outputs_to_string={"source": "text"},
    )
    agent = Agent(
        chat_generator=Scripted(call("book_greeter", times=2), say("done")),
        tools=[tool],
        state_schema={"who": {"type": str}, "greetings": {"type": str}, "warm": {"type": int}},
    )
    agent.warm_up()
    return agent.run([user("go")], who="Bo")


def case_written_and_back(env):
    tool = ComponentTool(
        BookGreeter("hello"),
        name="greet",
        inputs_from_state={"who": "name"},
        outputs_to_state={"greetings": {"source": "text", "handler": merge_lists}},
        outputs_to_string={"source": "text", "handler": str},
    )
    written = tool.to_dict()
    again = ComponentTool.from_dict(tool.to_dict())
    del written["data"]["component"]["type"]
    del written["data"]["outputs_to_string"]["handler"]
    return written, again.invoke(name="Bo"), again.parameters


@component
class Explained:
    @component.output_types(x=int)
    def run(self, x: int, y: str = "a"):
        """
        The first line.

        More about it,
        in two lines.

        :param x:
            What it is about,
            in two lines.
        :raises ValueError: Never.
        """
        return {"x": x, "y": y}


def case_explained_in_paragraphs(env):
    return ComponentTool(Explained()).parameters


def case_filled_by_names_of_the_state(env):
    agent = Agent(
        chat_generator=Scripted(call("explained", x=1), say("done")),
        tools=[ComponentTool(Explained())],
        state_schema={"y": {"type": str}},
    )
    agent.warm_up()
    return agent.run([user("go")], y="of the state")


@component
class Untyped:
    @component.output_types(x=int)
    def run(self, x):
        return {"x": x}


def case_a_parameter_without_a_type(env):
    return env.error(lambda: ComponentTool(Untyped()))
