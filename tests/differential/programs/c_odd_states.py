"""States in odd shapes: objects that are the state, nested models, names like methods."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import operator
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    TypeVar,
)

from langgraph.graph import START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import ReadOnly, TypedDict

CONFIG = {"configurable": {"thread_id": "1"}}


def chain(schema, *nodes, **options):
    builder = StateGraph(schema)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


# --- dataclasses --------------------------------------------------------------------------------


@dataclass
class Order:
    x: int = 0
    lines: list = field(default_factory=lambda: ["d"])
    note: str | None = None
    other: Any = None
    text: str = "u"
    log: Annotated[list, operator.add] = field(default_factory=list)
    pair: Annotated[Any, lambda a, b: [a, b]] = None
    kw: int = field(default=3, kw_only=True)


FULL = {"x": 9, "lines": [9], "note": "9", "other": "9", "text": "9", "log": [9], "pair": [9]}


def case_a_dataclass_writes_every_field(env):
    found = []
    for given in (Order(), Order(x=1, note="N"), Order(note=None, pair=None)):
        found.append(list(chain(Order, lambda s: None).stream(given, stream_mode="values")))
        for made in (given, Command(update=given)):
            graph = chain(Order, lambda s, made=made: made)
            found.append(list(graph.stream(dict(FULL), stream_mode=["updates", "values"])))
    return found


def case_a_field_is_set_to_none(env):
    graph = chain(Order, lambda s: dataclasses.replace(s, note=None, log=[]))
    return graph.invoke({"x": 1, "note": "something"})


def case_a_second_turn_with_an_instance(env):
    graph = chain(Order, lambda s: {"log": [s.note]}, checkpointer=env.saver())
    turns = (Order(x=5, note="5", lines=[5], other=5), Order(x=6), {"x": 7})
    told = [graph.invoke(given, CONFIG) for given in turns]
    graph.update_state(CONFIG, Order(x=8))
    return told, graph.get_state(CONFIG).values


def case_missing_fields(env):
    @dataclass
    class Needs:
        x: int
        y: list = field(default_factory=list)

    return [env.error(lambda g=g: chain(Needs, lambda s: {}).invoke(g)) for g in ({"y": []}, {})]


@dataclass
class Derived:
    x: int = 0
    double: int = field(init=False, default=0)

    def __post_init__(self):
        self.double = self.x * 2


def case_fields_that_no_caller_gives(env):
    seen = []

    def node(state):
        seen.append((state.x, state.double))
        return {"x": state.x + 1}

    return env.error(lambda: chain(Derived, node, node).invoke({"x": 1})), seen


@dataclass(frozen=True, slots=True)
class Frozen:
    x: int = 0
    log: Annotated[tuple, operator.add] = ()


def case_frozen_dataclass_with_slots(env):
    nodes = (lambda s: Frozen(x=s.x + 1, log=("a",)), lambda s: {"log": (s.x,)})
    return chain(Frozen, *nodes, checkpointer=env.saver()).invoke({"x": 1, "log": ("i",)}, CONFIG)


class Plain:
    x: int = 0
    note: str | None = None

    def __init__(self, **values):
        self.__dict__.update(values)


def case_objects_of_annotated_classes(env):
    found = []
    for given in (Plain(), Plain(x=1), Plain(x=None, note="a")):
        for made in (given, Command(update=given), [given], [Command(update=given), given]):
            graph = chain(Order, lambda s, made=made: made)
            found.append(env.error(lambda graph=graph: graph.invoke(dict(FULL))))
    return found


# --- pydantic -----------------------------------------------------------------------------------


class Address(BaseModel):
    street: str
    number: int = 1


class Person(BaseModel):
    name: str
    home: Address
    others: list[Address] = Field(default_factory=list)
    tags: set[str] = set()


class Case(BaseModel):
    person: Person
    n: int = 0
    when: datetime.datetime | None = None
    log: Annotated[list[str], operator.add] = []


def case_nested_models(env):
    seen = []

    def one(state: Case):
        seen.append((type(state.person.home).__name__, state.person.tags))
        state.person.home.number += 1
        return {"person": state.person, "log": ["one"], "when": "2024-01-01T00:00:00"}

    def two(state: Case):
        seen.append((state.person.home.number, type(state.when).__name__))
        return {"person": {"name": "B", "home": {"street": "s"}}, "log": ["two"]}

    def three(state):
        seen.append((type(state.person).__name__, state.person.home))
        return {"n": 3}

    graph = chain(Case, one, two, three, checkpointer=env.saver())
    home = {"street": "x", "number": "4"}
    told = graph.invoke({"person": {"name": "A", "home": home, "tags": ["q"]}}, CONFIG)
    return told, seen, [s.values for s in graph.get_state_history(CONFIG)]


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_name: str = Field(alias="userName")
    items: Annotated[list[int], operator.add] = Field(default_factory=list, alias="theItems")


class OnlyAliased(BaseModel):
    user_name: str = Field(alias="userName")
    n: int = 0


def case_aliases(env):
    by_alias, by_name = {"userName": "A", "theItems": [1]}, {"user_name": "A", "items": [1]}
    found = []
    for given in (by_alias, by_name, Aliased(**by_alias)):
        graph = chain(Aliased, lambda s: {"user_name": s.user_name + "Z", "items": s.items})
        found.append(env.error(lambda graph=graph, given=given: graph.invoke(given)))
    for given in ({"userName": "A"}, {"user_name": "A"}, OnlyAliased(userName="A")):
        graph = chain(OnlyAliased, lambda s: {"n": len(s.user_name)})
        found.append(env.error(lambda graph=graph, given=given: graph.invoke(given)))
    graph = chain(Aliased, lambda s: Aliased(userName="new"))
    return found, env.error(lambda: graph.invoke({"user_name": "A", "items": [1]}))


class Checked(BaseModel):
    a: int = 0
    b: int = 0

    @model_validator(mode="after")
    def small(self):
        if self.a > 5:
            raise ValueError("too big")
        return self

    @field_validator("b", mode="before")
    @classmethod
    def doubled(cls, value):
        return int(value) * 2


def case_validators(env):
    seen = []

    def node(state):
        seen.append((state.a, state.b))
        return {"a": state.a + 3, "b": 1}

    graph = chain(Checked, node, node, node)
    return (
        env.error(lambda: graph.invoke({"a": 0, "b": 1})),
        seen,
        env.error(lambda: graph.invoke({"a": 7})),
    )


class Forbids(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int = 0


class Allows(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int = 0


def case_extra_fields(env):
    graphs = [chain(schema, lambda s: {"x": 2}) for schema in (Forbids, Allows)]
    return [env.error(lambda g=g: g.invoke({"x": 1, "z": 3})) for g in graphs]


class Listing(BaseModel):
    items: Annotated[list[Address], operator.add] = []
    last: Address | None = None


def case_a_reducer_of_models(env):
    seen = []

    def node(state):
        seen.append([type(item).__name__ for item in state.items])
        return {"items": [{"street": "dict"}, Address(street="m")], "last": {"street": "d"}}

    graph = chain(Listing, node, node, checkpointer=env.saver())
    return graph.invoke({}, CONFIG), seen, graph.get_state(CONFIG).values


# --- keys and types -----------------------------------------------------------------------------


class Names(TypedDict, total=False):
    keys: list
    items: Annotated[list, operator.add]
    get: str
    update: str
    copy: int
    values: str
    self: str
    config: str
    state: str
    runtime: str
    writer: str
    store: str
    input: str
    name: str


def case_keys_named_like_methods_and_arguments(env):
    given = {key: key for key in Names.__annotations__} | {"items": ["i"]}
    made = {"items": ["n"], "get": "G", "update": "U", "values": "V", "config": "C"}
    graph = chain(Names, lambda s: made, checkpointer=env.saver())
    modes = ["updates", "values"]
    told = list(graph.stream(given, CONFIG, stream_mode=modes))
    return told, [s.values for s in graph.get_state_history(CONFIG)]


def case_keys_that_are_injected_too(env):
    def node(state, config, writer, store, runtime):
        return {"config": type(config).__name__, "state": sorted(state), "store": str(store)}

    return chain(Names, node).invoke({"config": "a", "writer": "b"})


Wide = TypedDict("Wide", {"größe": int, "名前": Annotated[list, operator.add], "a b": str})


def case_names_beyond_ascii(env):
    builder = StateGraph(Wide)
    builder.add_node("узел 一", lambda s: {"名前": ["é", "\x00", "😀"], "größe": 1})
    builder.add_node("b.c/d e", lambda s: {"a b": "ß"})
    builder.add_edge(START, "узел 一")
    builder.add_edge("узел 一", "b.c/d e")
    graph = builder.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "th/réad 一 ' \" ; --"}}
    modes = ["updates", "values", "tasks"]
    told = list(graph.stream({"名前": []}, config, stream_mode=modes))
    return told, [s.values for s in graph.get_state_history(config)]


class Color(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


UserId = NewType("UserId", int)


class Types(TypedDict, total=False):
    color: Color
    point: Point
    uid: UserId
    price: decimal.Decimal
    when: datetime.date
    delta: datetime.timedelta
    u: uuid.UUID
    frozen: frozenset
    raw: bytes
    queue: deque
    lit: Literal["a", 1]
    opt: Address | Order | None
    anything: Any


def case_values_of_many_types_come_back(env):
    given = {
        "color": Color.RED,
        "point": Point(1, 2),
        "uid": UserId(3),
        "price": decimal.Decimal("1.10"),
        "when": datetime.date(2024, 1, 2),
        "delta": datetime.timedelta(1),
        "u": uuid.UUID(int=5),
        "frozen": frozenset([1]),
        "raw": b"x",
        "queue": deque([1, 2]),
        "lit": "a",
        "opt": Address(street="s"),
        "anything": {"k": [1, None, True]},
    }
    graph = chain(Types, lambda s: {"lit": 1}, checkpointer=env.saver())
    told = graph.invoke(given, CONFIG)
    again = chain(Types, lambda s: {}, checkpointer=env.saver()).get_state(CONFIG).values
    return told, {key: (type(value).__name__, value) for key, value in again.items()}


T = TypeVar("T")


class GenericModel(BaseModel, Generic[T]):
    value: T


class GenericDict(TypedDict, Generic[T]):
    value: T
    log: Annotated[list[T], operator.add]


def case_generic_states(env):
    schemas = (GenericModel[int], GenericDict[int], GenericDict)
    graphs = [chain(schema, lambda s: {"value": 2}) for schema in schemas]
    return [env.error(lambda g=g: g.invoke({"value": 1})) for g in graphs]


class Qualified(TypedDict):
    a: Required[int]
    b: NotRequired[Annotated[list, operator.add]]
    c: ReadOnly[str]
    d: Annotated[list | None, "doc", operator.add]


def case_qualifiers_as_text(env):
    graph = chain(Qualified, lambda s: {"b": [1], "c": "x"}, lambda s: {"b": [2]})
    return [env.error(lambda g=g: graph.invoke(g)) for g in ({"a": 1}, {"b": [0]}, {"d": [1]}, {})]


@pydantic_dataclass
class Form:
    n: int = 0
    tags: list[str] = Field(default_factory=list)
    note: str | None = None


def case_a_dataclass_of_pydantic_is_given_and_returned_as_an_object(env):
    graph = chain(Form, lambda s: Form(n=s.n + 1, tags=["a"]), lambda s: {"n": s.n + 1})
    return graph.invoke(Form(n=1, note="x")), graph.invoke({"n": "1"})


class Email(str):
    pass


class Settings(dict):
    pass


class Sent(TypedDict, total=False):
    to: list[Email]
    by: Settings


def case_values_of_classes_built_on_text_and_dicts(env):
    builder = StateGraph(Sent).add_node("a", lambda s: {"to": [Email("a@b")], "by": Settings(x=1)})
    builder.add_edge(START, "a")
    builder.compile(checkpointer=env.saver()).invoke({"to": []}, CONFIG)
    values = builder.compile(checkpointer=env.saver()).get_state(CONFIG).values
    return values["to"] == ["a@b"], values["by"] == {"x": 1}


class Marked(TypedDict):
    a: Annotated[int, Field(gt=0), lambda a, b: a + b]
    b: Annotated[list, operator.add, "documentation"]
    c: Annotated[list, {"x": 1}]


def case_annotations_with_other_marks(env):
    graph = chain(Marked, lambda s: {"a": 2, "b": ["x"], "c": ["y"]})
    return env.error(lambda: graph.invoke({"a": 1, "b": ["i"], "c": ["i"]}))


class Reduced(TypedDict):
    model: Annotated[Address, lambda a, b: b]
    optional: Annotated[list | None, operator.add]
    text: Annotated[list[int], operator.add]
    literal: Annotated[Literal["x"], lambda a, b: b]
    anything: Annotated[Any, lambda a, b: (a, b)]


def case_reducers_of_odd_types(env):
    found = []
    for key, value in {
        "model": Address(street="q"),
        "optional": [1],
        "text": [1],
        "literal": "x",
        "anything": 1,
    }.items():
        graph = chain(Reduced, *[lambda s, k=key, v=value: {k: v}] * 2)
        found.append(env.error(lambda graph=graph: graph.invoke({"text": []})))
    return found


def case_builtin_functions_as_reducers(env):
    class Largest(TypedDict):
        n: Annotated[float, max]

    return env.error(lambda: chain(Largest, lambda s: {"n": 1.5}).invoke({"n": 2.5}))


# --- inputs of classes that no schema names -------------------------------------------------------


class Sheet(BaseModel):
    x: int = 0
    note: str | None = None
    text: str = "sheet"
    foreign: int = 5


@dataclass
class Slip:
    x: int = 0
    note: str | None = None
    foreign: int = 5


class Log(TypedDict, total=False):
    x: int
    note: str | None
    text: str
    log: Annotated[list, operator.add]


def case_objects_of_classes_that_no_schema_names_are_inputs(env):
    found = []
    for given in (Sheet(x=1), Sheet(x=1, note="a"), Slip(x=2)):
        for schema in (Log, Order):
            node = _looks_at if schema is Log else _looks_at_object
            graph = chain(schema, node, checkpointer=env.saver())
            found.append(graph.invoke(given, CONFIG))
            found.append([graph.get_state(CONFIG).values, graph.invoke(given, CONFIG)])
            found.append([shown.values for shown in graph.get_state_history(CONFIG)])
            found.append(list(graph.stream(given, CONFIG, stream_mode=["values", "updates"])))
    return found


def _looks_at(state):
    return {"log": [sorted(state)]}


def _looks_at_object(state):
    return {"log": [[state.x, state.note]]}
