"""Haystack's State: values, handlers, and what it is as plain data."""

# ruff: noqa: UP006, UP007, UP035, UP045 (types as older programs write them)

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import json
from enum import Enum
from typing import Any, Dict, List, Optional, Union

from haystack.components.agents import State
from haystack.components.agents.state import merge_lists, replace_values
from haystack.dataclasses import ChatMessage, ToolCall


class Color(Enum):
    RED = "red"


class Place:
    def __init__(self, name):
        self.name = name

    def to_dict(self):
        return {"name": self.name}

    @classmethod
    def from_dict(cls, data):
        return cls(**data)


def newest(old, new):
    return new


def written(state):
    """Its plain data, with this program's name left out."""
    return json.loads(json.dumps(state.to_dict()).replace(__name__, "program"))


def again(state):
    back = State.from_dict(json.loads(json.dumps(state.to_dict())))
    return back.schema, back.data


def case_handlers_of_their_own(env):
    return [
        merge_lists([1], [2]),
        merge_lists(1, [2]),
        merge_lists(None, [2]),
        merge_lists([1], 2),
        merge_lists(None, None),
        merge_lists((1,), (2,)),
        replace_values(1, 2),
        replace_values(None, [1]),
    ]


def case_set_and_get(env):
    state = State({"n": {"type": int}, "l": {"type": list[int]}})
    state.set("n", 1)
    state.set("n", 2)
    for value in ([1], [2, 3], 4):
        state.set("l", value)
    return (
        state.data,
        state.get("n"),
        state.get("nope"),
        state.get("nope", 7),
        state.has("n"),
        state.has("messages"),
    )


def case_schema_is_completed(env):
    return State(
        {"n": {"type": int}, "l": {"type": List[int]}, "o": {"type": Optional[list]}}
    ).schema


def case_empty_schema(env):
    return State({}).schema, State({}).data


def case_unknown_key(env):
    return env.error(lambda: State({"n": {"type": int}}).set("nope", 1))


def case_handler_of_the_schema(env):
    state = State({"n": {"type": int, "handler": lambda old, new: (old or 0) + new}}, {"n": 10})
    state.set("n", 5)
    state.set("n", 7, handler_override=lambda old, new: ("over", old, new))
    return state.get("n")


def case_handler_none(env):
    state = State({"n": {"type": int, "handler": None}})
    state.set("n", 1)
    return state.schema, state.data


def case_what_get_gives_is_a_copy(env):
    state = State({"l": {"type": list}}, {"l": [1]})
    state.get("l").append(2)
    return state.data


def case_messages_grow(env):
    state = State({}, {"messages": [ChatMessage.from_user("a")]})
    state.set("messages", [ChatMessage.from_assistant("b")])
    state.set("messages", ChatMessage.from_user("c"))
    return state.get("messages")


def case_schemas_that_are_none(env):
    return [
        env.error(lambda: State({"x": {}})),
        env.error(lambda: State({"x": {"type": "int"}})),
        env.error(lambda: State({"x": {"type": int, "handler": 5}})),
        env.error(lambda: State({"messages": {"type": list[str]}})),
    ]


def case_written(env):
    schema = {
        "n": {"type": int},
        "l": {"type": list[str]},
        "o": {"type": Optional[str]},
        "u": {"type": Union[int, str]},
        "d": {"type": dict[str, int]},
        "old": {"type": List[int]},
        "older": {"type": Dict[str, Any]},
        "any": {"type": Any},
        "own": {"type": Place, "handler": newest},
    }
    data = {"n": 1, "l": ["x"], "d": {"a": 1}, "own": Place("here")}
    return written(State(schema, data))


def case_written_values(env):
    values = [
        1,
        1.5,
        True,
        None,
        "s",
        [],
        [1, 2],
        (1, 2),
        (),
        {"a": {"b": [1]}},
        {},
        {1},
        [ChatMessage.from_user("x")],
        {"a": [ChatMessage.from_user("x")]},
        [[1], [2]],
        Color.RED,
        Place("there"),
        [Place("a"), Place("b")],
        ToolCall("t", {"a": 1}, "i"),
    ]
    return [written(State({"v": {"type": Any}}, {"v": value})) for value in values]


def case_back(env):
    schema = {
        "n": {"type": int},
        "l": {"type": list[str]},
        "o": {"type": Optional[str]},
        "u": {"type": Union[int, str]},
        "d": {"type": dict[str, int], "handler": newest},
        "old": {"type": List[int]},
    }
    data = {
        "n": 1,
        "l": ["x"],
        "d": {"a": 1},
        "messages": [
            ChatMessage.from_user("x"),
            ChatMessage.from_assistant(
                "y", tool_calls=[ToolCall("t", {"a": 1}, "i")], reasoning="r"
            ),
            ChatMessage.from_tool("z", ToolCall("t", {"a": 1}, "i"), error=True),
        ],
    }
    return again(State(schema, data))


def case_values_back(env):
    values = [1, 1.5, True, None, "s", [], (1, 2), {1}, {"a": [1]}]
    return [again(State({"v": {"type": Any}}, {"v": value}))[1] for value in values]


def case_own_classes_back(env):
    schema = {"v": {"type": Place}, "c": {"type": Optional[Color]}}
    back = again(State(schema, {"v": Place("there"), "c": Color.RED}))[1]
    return type(back["v"]).__name__, back["v"].name, back["c"]


class Stranger(Enum):
    """A class that no tool, schema or component names."""

    ONE = 1


def case_classes_that_nothing_names(env):
    return env.error(lambda: again(State({"v": {"type": Any}}, {"v": Stranger.ONE}))[1])


def case_lambdas_are_not_written(env):
    state = State({"n": {"type": int, "handler": lambda old, new: new}})
    return env.error(state.to_dict)


def case_nested_functions_are_not_written(env):
    def nested(old, new):
        return new

    return env.error(State({"n": {"type": int, "handler": nested}}).to_dict)


def case_data_that_is_none(env):
    return [
        env.error(lambda: State.from_dict({"schema": {}})),
        env.error(lambda: State.from_dict({})),
        env.error(lambda: State.from_dict({"schema": {}, "data": {"nope": 1}})),
    ]


def case_types_that_nobody_knows(env):
    def data(kind):
        empty = {
            "serialization_schema": {"type": "object", "properties": {}},
            "serialized_data": {},
        }
        return {"schema": {"v": {"type": kind}}, "data": empty}

    return [
        env.error(lambda: State.from_dict(data("nowhere.Nothing"))),
        env.error(lambda: State.from_dict(data("typing.Literal['a']"))),
        State.from_dict(data("typing.Dict[str, typing.Any]")).schema,
        State.from_dict(data("list")).schema,
    ]
