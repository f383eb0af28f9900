"""Components as tools: their schema, their arguments and outputs, and as plain data."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from haystack import component
from haystack.components.agents import Agent
from haystack.components.agents.state import merge_lists
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import ComponentTool
from pydantic import Field

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


@component
class Bounded:
    """Counts."""

    @component.output_types(text=str)
    def run(
        self,
        times: Annotated[int, Field(ge=1, le=3, description="How often.")],
        who: Annotated[Optional[Person], "Who does it."] = None,  # noqa: UP045
        words: Annotated[list[Address], Field(max_length=1)] = (),
    ):
        """Counts.

        :param who: Whose count it is.
        """
        return {"text": f"{times} {who} {words}"}


def case_annotated_parameters(env):
    tool = ComponentTool(Bounded())
    return [
        tool.tool_spec,
        tool.invoke(times=3),
        tool.invoke(times="2", who={"name": "Bo"}, words=[{"street": "a"}]),
        env.error(lambda: tool.invoke(times=4)),
        env.error(lambda: tool.invoke(times=1, words=[{"street": "a"}, {"street": "b"}])),
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
class Foreseeing:
    @component.output_types(x=int)
    def run(self, x: int) -> "Nothing":  # noqa: F821
        return {"x": x}


def case_an_output_annotated_with_nothing_that_is(env):
    tool = ComponentTool(Foreseeing())
    return tool.parameters, tool.invoke(x=1)


@component
class Untyped:
    @component.output_types(x=int)
    def run(self, x):
        return {"x": x}


def case_a_parameter_without_a_type(env):
    return env.error(lambda: ComponentTool(Untyped()))


# --- messages and agents as what a tool is given -------------------------------------------------


@component
class Reader:
    @component.output_types(read=list[str])
    def run(self, messages: list[ChatMessage]):
        return {"read": [one.text for one in messages]}


def without_texts(schema):
    """A schema without descriptions: each side explains its own classes."""
    if isinstance(schema, dict):
        return {key: without_texts(one) for key, one in schema.items() if key != "description"}
    return [without_texts(one) for one in schema] if isinstance(schema, list) else schema


def case_messages_as_arguments(env):
    reader = ComponentTool(Reader())
    agent = Agent(
        chat_generator=Scripted(call("reader", messages=[user("a").to_dict()]), say("done")),
        tools=[reader],
    )
    agent.warm_up()
    return without_texts(reader.parameters), agent.run([user("go")])


def case_messages_of_the_state(env):
    reader = ComponentTool(Reader(), inputs_from_state={"messages": "messages"})
    agent = Agent(chat_generator=Scripted(call("reader"), say("done")), tools=[reader])
    agent.warm_up()
    return reader.parameters, agent.run([user("go")])


def helper(*replies, **kwargs):
    """An agent as a tool, which answers with its last message."""
    inner = Agent(chat_generator=Scripted(*replies), **kwargs)
    return ComponentTool(
        inner,
        name="helper",
        description="Helps.",
        inputs_from_state={"topic": "topic"} if "state_schema" in kwargs else None,
        outputs_to_string={"source": "last_message", "handler": lambda one: one.text},
        outputs_to_state={"notes": {"source": "notes"}} if "state_schema" in kwargs else None,
    )


def case_an_agent_as_a_tool(env):
    asking = call("helper", messages=[user("why?").to_dict()])
    agent = Agent(chat_generator=Scripted(asking, say("done")), tools=[helper(say("so."))])
    agent.warm_up()
    return agent.run([user("go")])


def case_an_agent_as_a_tool_that_shares_state(env):
    keys = {"topic": {"type": str}, "notes": {"type": list[str]}}
    asking = call("helper", messages=[user("why?").to_dict()], notes=["n"])
    tool = helper(say("so."), say("and so."), state_schema=keys)
    agent = Agent(
        chat_generator=Scripted(asking, asking, say("done")), tools=[tool], state_schema=keys
    )
    agent.warm_up()
    return agent.run([user("go")], topic="braids")


def case_an_agent_as_a_tool_that_fails(env):
    asking = call("helper", messages=[user("why?").to_dict()])
    agent = Agent(chat_generator=Scripted(asking, say("done")), tools=[helper()])
    agent.warm_up()
    return agent.run([user("go")])


def case_what_a_model_may_give_an_agent(env):
    return sorted(helper(say("so.")).parameters["properties"])


# --- inputs and outputs that a component declares -------------------------------------------------


@component
class Declared:
    def __init__(self):
        component.set_input_types(self, text=str, count=int)
        component.set_output_types(self, told=str)

    def run(self, **given):
        return {"told": str(sorted(given.items()))}


@component()
class DeclaredOne:
    def __init__(self):
        component.set_input_type(self, "text", str)
        component.set_input_type(self, "count", int, 5)

    @component.output_types(told=str)
    def run(self, **given):
        return {"told": str(sorted(given.items()))}


@component
class DeclaredPart:
    def __init__(self):
        component.set_input_types(self, text=str)

    @component.output_types(told=str)
    def run(self, count: int, more: int = 2, **given):
        return {"told": str((count, more, sorted(given.items())))}


def case_declared_inputs(env):
    tools = [ComponentTool(one()) for one in (Declared, DeclaredOne, DeclaredPart)]
    return [(one.tool_spec, one.invoke(text="x", count=3)) for one in tools]


def case_declared_inputs_that_are_none(env):
    @component
    class Named:
        def __init__(self, declare):
            declare(self)

        @component.output_types(x=int)
        def run(self, x: int):
            return {"x": x}

    return [
        env.error(lambda: Named(lambda one: component.set_input_types(one, y=int))),
        env.error(lambda: Named(lambda one: component.set_input_type(one, "y", int))),
        env.error(lambda: Named(lambda one: component.set_output_types(one, y=int))),
    ]
