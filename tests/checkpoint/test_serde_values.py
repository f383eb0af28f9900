"""What goes in comes out: the same values, of exactly the same types, through the codec."""

import enum
import inspect
import math
import re
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from ipaddress import ip_address, ip_network
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import dateutil.tz
import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, PrivateAttr, field_validator

from plait import haystack
from plait.agents import AgentAction
from plait.checkpoint.serde import Codec, Registry, RemoteError, UnstorableValueError, own
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.checkpoint.serde.refusals import no_room
from plait.checkpoint.serde.registry import GLOBAL
from plait.documents import Blob
from plait.errors import (
    CorruptCheckpointError,
    GraphInterrupt,
    InvalidUpdateError,
    NodeTimeoutError,
    UnregisteredTypeError,
)
from plait.messages import AIMessage
from plait.outputs import ChatGeneration, ChatResult, Generation, LLMResult, RunInfo
from plait.prompt_values import ChatPromptValue, StringPromptValue
from plait.runnables.addable import AddableDict
from plait.store.base import GetOp, Item, SearchItem
from plait.types import (
    Command,
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateSnapshot,
    TimeoutPolicy,
)

CODEC = Codec()


def same(a: Any, b: Any) -> bool:
    """Equal in value and in the type of every part, -0.0 and NaN told apart."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (
            a == b and math.copysign(1, a) == math.copysign(1, b)
        )
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(x, y) and same(a[x], b[y]) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, set | frozenset):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    return bool(a == b)


def back(value: Any, codec: Codec = CODEC) -> Any:
    return codec.loads(codec.dumps(value))


PLAIN: list[Any] = [
    None, True, False, 0, 1, -1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400,
    -(10**400),
    0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 5e-324, "", "text", "\x00", "ünï 漢字 🎉",
    "\ud800",
    "a\udfffb", b"", b"\xc4\xc5", bytearray(b"\xc4x"), [bytearray(b"x")], {"k": bytearray(b"x")},
    [], {}, (), set(), frozenset(), [()], ((),), ([1], {"a": (1.0, 1, True)}),
    {1: "int", 1.5: "float", None: 0, (1, 2): 3, b"b": 4, "s": 5, frozenset({1}): 6},
    {True: 1, 2: 2}, {"\ud800": 1}, {"nested": {1: {2: (3,)}}},
    {1, "a", None, (2, 3)}, frozenset({frozenset({1}), frozenset({2})}), 1j,
    complex(-0.0, math.inf),
    Decimal("1.10"), Decimal("-0"), Decimal("Infinity"),
    Decimal("1E+5"), Fraction(1, 3), Fraction(10**50, 7),
    datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    datetime(2026, 1, 1, fold=1), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=-3), "X")),
    date(2026, 2, 28), time(1, 2, 3, 4), time(1, tzinfo=UTC, fold=1),
    timedelta(days=-1, microseconds=1),
    timezone(timedelta(hours=5, minutes=30)), UTC, ZoneInfo("UTC"),
    UUID("12345678-1234-5678-1234-567812345678"),
    Path("/tmp/x"), PurePosixPath("a/b"), PureWindowsPath("C:\\x"),
    re.compile("a+", re.I | re.M), re.compile(b"\xc4"), range(1, 10, 3), slice(1, None, 2),
    ..., SimpleNamespace(a=1, b=[(2,)]), array("d", [1.5, -0.0]), array("q"), array("H", [65535]),
    deque([1, (2,)]), deque([1], maxlen=3), Counter("aab"), Counter({(1,): 2}),
    OrderedDict([("b", 1), ("a", 2)]), OrderedDict({1: 2}),
    ip_address("10.0.0.1"), ip_address("::1"), ip_network("10.0.0.0/8"),
    int, str, dict,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda v: type(v).__name__)
def test_plain_values_come_back_exactly(value: Any) -> None:
    assert same(back(value), value)
    assert same(back({"deep": [(value,)]}), {"deep": [(value,)]})


def test_details_that_equality_does_not_see_come_back() -> None:
    assert back(datetime(2026, 1, 1, fold=1)).fold == 1
    assert back(deque([1], maxlen=3)).maxlen == 3
    assert back(re.compile("a", re.I)).flags == re.compile("a", re.I).flags
    assert back(UTC) is UTC
    assert back(ZoneInfo("Europe/Berlin")) is ZoneInfo("Europe/Berlin")
    assert list(back(OrderedDict([("b", 1), ("a", 2)]))) == ["b", "a"]
    assert back(AddableDict(text="a")) + {"text": "b"} == {"text": "ab"}
    made = back(defaultdict(list, {"a": [1]}))
    assert made.default_factory is list
    assert made["new"] == []


class Elsewhere(tzinfo):
    """A zone such as those of pytz (`zone`), pendulum (`key`) and dateutil (neither)."""

    def __init__(self, hours: float | None, **names: str) -> None:
        self.hours = hours
        self.__dict__.update(names)

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return None if self.hours is None else timedelta(hours=self.hours)

    def dst(self, when: datetime | None) -> None:
        return None

    def __repr__(self) -> str:
        return f"Elsewhere({vars(self)})"

    def tzname(self, when: datetime | None) -> str:
        return "elsewhere"


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (Elsewhere(2, zone="Europe/Rome"), ZoneInfo("Europe/Rome")),
        (Elsewhere(2, key="Europe/Rome"), ZoneInfo("Europe/Rome")),
        (Elsewhere(5, zone="Europe/Rome"), timezone(timedelta(hours=5))),
        (Elsewhere(2, zone="no/where"), timezone(timedelta(hours=2))),
        (Elsewhere(-3.5), timezone(timedelta(hours=-3.5))),
        (dateutil.tz.tzutc(), UTC),
        (dateutil.tz.tzoffset("x", 7200), timezone(timedelta(hours=2))),
    ],
    ids=repr,
)
def test_times_in_zones_of_other_packages_keep_name_or_offset(zone: Any, expected: Any) -> None:
    when = datetime(2026, 7, 1, 12, tzinfo=zone)
    for value in (when, [when], {"at": (when,)}):
        assert back(value) == value
    found = back(when)
    assert (found.isoformat(), found.tzinfo) == (when.isoformat(), expected)


def test_times_in_zones_that_know_no_offset_are_refused_and_registered_zones_kept() -> None:
    nowhere = datetime(2026, 7, 1, tzinfo=Elsewhere(None))
    with pytest.raises(UnregisteredTypeError, match="Elsewhere"):
        CODEC.dumps(nowhere)
    registry = Registry(None)
    registry.register(Elsewhere, encode=lambda zone: zone.hours, decode=Elsewhere)
    assert (
        type(back(datetime(2026, 7, 1, tzinfo=Elsewhere(1)), Codec(registry)).tzinfo) is Elsewhere
    )


def test_time_zones_of_pydantic_come_back_as_time_zones() -> None:
    class At(BaseModel):
        at: datetime

    parsed = At.model_validate_json('{"at": "2026-01-01T00:00:00+02:00"}').at
    assert back(parsed) == parsed
    assert back(parsed).utcoffset() == timedelta(hours=2)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
    | st.binary() | st.binary().map(bytearray) | st.decimals(allow_nan=False) | st.uuids()
    | st.datetimes() | st.timedeltas() | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple)
    | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner)
    | st.frozensets(st.integers() | st.text()),
    max_leaves=20,
)  # fmt: skip


@given(anything)
def test_any_nesting_comes_back_exactly(value: Any) -> None:
    assert same(back(value), value)


@given(st.frozensets(st.integers() | st.text()))
def test_equal_sets_give_equal_bytes(value: frozenset[Any]) -> None:
    again = frozenset(reversed(list(value)))
    assert CODEC.dumps(value) == CODEC.dumps(again)


WIDTHS = (0, 5, 7, 8, 15, 16, 31, 32, 63, 64)
EDGES = [(1 << bits) + d for bits in WIDTHS for d in (-1, 0, 1)]
INTS = st.sampled_from([*EDGES, *(-edge for edge in EDGES)]) | st.integers()


@given(
    st.sets(INTS)
    | st.sets(st.floats())
    | st.sets(st.text())
    | st.sets(INTS | st.booleans() | st.floats() | st.text())
)
def test_sets_are_stored_in_the_order_of_their_bytes(values: set[Any]) -> None:
    text = set(map(type, values)) <= {str}
    order = sorted(values) if text else sorted(values, key=CODEC.dumps)
    assert CODEC.dumps(values) == ormsgpack.packb(ormsgpack.Ext(5, CODEC.dumps(order)))


@given(
    st.dictionaries(
        INTS | st.none() | st.tuples(INTS) | st.text(),
        INTS | st.text() | st.binary().map(bytearray) | st.dictionaries(INTS, st.tuples(INTS)),
        min_size=1,
    ).filter(lambda made: not all(type(key) is str for key in made))
)
def test_dicts_with_other_keys_are_stored_as_keys_and_values_in_turn(made: dict[Any, Any]) -> None:
    flat = [part for pair in made.items() for part in pair]
    assert CODEC.dumps(made) == ormsgpack.packb(ormsgpack.Ext(2, CODEC.dumps(flat)))


# --- Registered classes --------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    NUMBER = 1


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    a: int
    b: Any = "later"


Old = namedtuple("Old", "x y")

calls: list[str] = []


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        calls.append("Point")

    @cached_property
    def twice(self) -> int:
        return self.x * 2


@dataclass(frozen=True, slots=True)
class Frozen:
    x: int
    inner: Point


class Base:
    __slots__ = ("__private", "shown")

    def __init__(self) -> None:
        calls.append("Base")
        self.__private = 1
        self.shown = 2

    def state(self) -> Any:
        return self.__private, self.shown


class Derived(Base):
    def __init__(self) -> None:
        super().__init__()
        self.more = [3]


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str
    point: Point | None = None
    _secret: int = PrivateAttr(default=7)

    @field_validator("name")
    @classmethod
    def checked(cls, value: str) -> str:
        calls.append("Model")
        return value


class Text(str):
    lang: str


class Bag(dict[str, int]):
    pass


class Failure(Exception):
    def __init__(self, code: int, detail: str) -> None:
        calls.append("Failure")
        super().__init__(f"{code}: {detail}")
        self.code = code


REGISTRY = Registry(None)
for _cls in (Colour, Level, Access, Pair, Old, Point, Frozen, Derived, Model, Text, Bag, Failure):
    REGISTRY.register(_cls)
KNOWING = Codec(REGISTRY)


@pytest.mark.parametrize(
    "value",
    [Colour.RED, Colour.NUMBER, Level.LOW, Access.READ | Access.WRITE, Pair(1, (2,)), Old(1, 2),
     Point(1, ["a"]), Frozen(1, Point(2)), Model(name="n", point=Point(3)), Bag(a=1)],
    ids=repr,
)  # fmt: skip
def test_registered_classes_come_back_without_running_their_code(value: Any) -> None:
    data = KNOWING.dumps({"v": [value]})
    calls.clear()
    found = KNOWING.loads(data)["v"][0]
    assert type(found) is type(value)
    assert found == value
    assert calls == []


def test_models_keep_extras_private_attributes_and_which_fields_were_set() -> None:
    model = Model(name="n", surprise=1)  # pyright: ignore[reportCallIssue]
    model._secret = 9
    found = back(model, KNOWING)
    assert found == model
    assert found._secret == 9
    assert found.model_extra == {"surprise": 1}
    assert found.model_fields_set == {"name", "surprise"}
    assert found.model_dump() == model.model_dump()


def test_values_that_validators_would_refuse_come_back_as_they_were() -> None:
    model = Model.model_construct(name=5)
    assert back(model, KNOWING).name == 5


def test_cached_properties_are_not_stored() -> None:
    point = Point(4)
    assert point.twice == 8
    assert "twice" not in back(point, KNOWING).__dict__


def test_slots_dicts_and_subclasses_of_builtins_keep_their_attributes() -> None:
    derived = back(Derived(), KNOWING)
    assert (derived.state(), derived.more) == ((1, 2), [3])
    text = Text("hello")
    text.lang = "en"
    found = back(text, KNOWING)
    assert (type(found), found, found.lang) == (Text, "hello", "en")


def test_fields_added_since_take_their_defaults_and_removed_ones_are_dropped() -> None:
    old, new = Registry(None), Registry(None)

    @dataclass
    class V1:
        a: int
        gone: int = 0

    @dataclass(slots=True)
    class V2:
        a: int
        b: str = "new"
        c: list[int] = field(default_factory=list)

    class M1(BaseModel):
        a: int
        gone: int = 0

    class M2(BaseModel):
        a: int
        b: str = "new"

    old.register(V1, name="V")
    new.register(V2, name="V")
    old.register(M1, name="M")
    new.register(M2, name="M")
    data = Codec(old).dumps([V1(1), M1(a=2)])
    assert Codec(new).loads(data) == [V2(1), M2(a=2)]


def test_functions_given_at_registration_are_used() -> None:
    registry = Registry(None)

    @registry.register(name="celsius", encode=lambda t: t.degrees, decode=lambda s: Temp(s + 0.0))
    class Temp:
        def __init__(self, degrees: float) -> None:
            self.degrees = degrees

    assert back(Temp(3.5), Codec(registry)).degrees == 3.5


def test_classes_with_the_state_protocol_use_it() -> None:
    class Message:
        def __init__(self, text: str) -> None:
            self.text = text

        def __plait_state__(self) -> Any:
            return [self.text]

        @classmethod
        def __plait_restore__(cls, state: Any) -> Any:
            message = object.__new__(cls)
            message.text = state[0]
            return message

    registry = Registry(None)
    registry.register(Message)
    assert back(Message("hi"), Codec(registry)).text == "hi"


def test_plaits_own_types_need_no_registration() -> None:
    said = AIMessage("yes", tool_calls=[{"name": "f", "args": {}, "id": "c"}])
    when = datetime(2026, 1, 2, tzinfo=UTC)
    task = PregelTask("id", "n", ("a", 1))
    values = [
        Send("n", {"a": 1}),
        Send("n", 1, timeout=3),
        Interrupt("q", "id"),
        Command(update={"a": 1}, goto=("x", Send("y", 2)), resume={"id": 1}),
        Overwrite([1]),
        TimeoutPolicy(run_timeout=1),
        task,
        StateSnapshot({"a": 1}, ("n",), {}, {"step": 1}, "now", None, (task,), ()),
        AgentAction("tool", {"a": 1}, "log"),
        Blob(data=b"x", mimetype="text/plain"),
        ChatResult([ChatGeneration(said, {"model": "m"})], {"tokens": 1}),
        LLMResult([[Generation("yes")]], run=[RunInfo("id")]),
        ChatPromptValue([said]),
        StringPromptValue("x"),
        SearchItem(("a", "b"), "k", {"x": 1}, when, when, 0.5),
        Item(value={"x": 1}, key="k", namespace=("a", "b"), created_at=when, updated_at=when),
        GetOp(("a",), "k"),
        haystack.ChatMessage.from_assistant("yes", tool_calls=[haystack.ToolCall("f", {"a": 1})]),
    ]
    assert back(values) == values
    assert [type(value) for value in back(values)] == [type(value) for value in values]
    assert back(Interrupt("q", "id", response_schema=int)).response_schema is int


@pytest.mark.parametrize(
    "value", [Generation("yes"), PregelTask("id", "n", ()), haystack.ToolCall("f", {})]
)
def test_what_graphs_stored_of_plaits_own_types_under_other_names_is_read(value: Any) -> None:
    """A type was stored as a class of the program's before it had a name of its own."""
    older = Registry(None)
    older.register(type(value))
    assert CODEC.loads(Codec(older).dumps(value)) == value


def test_the_name_of_each_of_plaits_own_types_leads_back_to_it() -> None:
    for name, (module, attribute) in own._HOME.items():
        cls: Any = own.own_class(name)
        assert (cls.__name__, own.own_class(own.own_name(cls) or "")) == (attribute, cls), module


# --- Refusals ------------------------------------------------------------------------------------


class Unknown:
    pass


class UnknownText(str):
    pass


class UnknownInt(int):
    pass


class UnknownDict(dict[str, int]):
    pass


@pytest.mark.parametrize(
    "value",
    [Unknown(), UnknownText("s"), UnknownInt(1), UnknownDict(), memoryview(b"x"), object(), len,
     lambda: 0, iter([]), Unknown, re, Pair(1), Point(1), Colour.RED, Level.LOW, Model(name="n")],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_an_unregistered_type_is_refused_at_its_first_write(value: Any) -> None:
    for holder in (value, [value], {"a": value}, (value,), {1: value}, {"s": {"t": [value]}}):
        with pytest.raises(UnregisteredTypeError):
            CODEC.dumps(holder)
    if not isinstance(value, memoryview) and type(value).__hash__ is not None:
        with pytest.raises(UnregisteredTypeError):
            CODEC.dumps({value: 1})


def test_the_refusal_names_the_type_the_line_and_the_place() -> None:
    with pytest.raises(UnregisteredTypeError) as caught:
        CODEC.dumps({"docs": [1, {"x": (Unknown(),)}]})
    text = str(caught.value)
    assert f"plait.checkpoint.serde.register({__name__}.Unknown)" in text
    assert "value['docs'][1]['x'][0]" in text


def test_the_refusal_says_only_what_helps() -> None:
    said = {cls: str(_refused(value)) for cls, value in {
        "model": Model(name="n"), "plain": Unknown(), "buffer": memoryview(b"x"),
    }.items()}  # fmt: skip
    assert "Name the type in the graph's state schema" in said["model"]
    assert "Register the type once" in said["plain"]
    assert f"register({__name__}.Unknown)" in said["plain"]
    assert "register(builtins.memoryview, encode=..., decode=...)" in said["buffer"]


@pytest.mark.parametrize(
    "value",
    [{}.keys(), OrderedDict(a=1).items(), map(str, [1]), zip([1]), iter([1])],
    ids=lambda value: type(value).__name__,
)
def test_iterators_and_views_are_to_be_stored_as_lists(value: Any) -> None:
    assert str(_refused(value)).endswith("Store list(value).")


def test_a_type_of_a_script_is_told_with_the_name_that_reads_it() -> None:
    registry = Registry(None)
    registry.register(Point, name="__main__:Point")
    data = Codec(registry).dumps(Point(1, 2))
    with pytest.raises(UnregisteredTypeError) as caught:
        CODEC.loads(data)
    assert "whose script defines" in str(caught.value)
    assert "plait.checkpoint.serde.register(Point, name='__main__:Point')" in str(caught.value)


def _refused(value: Any) -> UnregisteredTypeError:
    with pytest.raises(UnregisteredTypeError) as caught:
        CODEC.dumps(value)
    return caught.value


def test_an_unknown_type_in_bytes_is_refused_with_the_line_that_registers_it() -> None:
    data = KNOWING.dumps(Point(1))
    with pytest.raises(UnregisteredTypeError, match=r"serde\.register\(.*Point\)"):
        CODEC.loads(data)


def test_a_type_that_its_module_has_no_more_is_told_with_the_name_that_reads_it() -> None:
    registry = Registry(None)
    registry.register(Point, name=f"{__name__}:Renamed")
    with pytest.raises(UnregisteredTypeError) as caught:
        CODEC.loads(Codec(registry).dumps(Point(1)))
    assert f"register(..., name='{__name__}:Renamed')" in str(caught.value)


def test_too_deep_and_endless_values_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    knot: dict[str, Any] = {}
    knot["t"] = (knot,)
    lists: Any = []
    tuples: Any = ()
    for _ in range(3000):
        lists, tuples = [lists], (tuples,)
    for value in (endless, knot, lists, tuples, {1: lists}, {1: tuples}):
        with pytest.raises(UnstorableValueError):
            CODEC.dumps(value)


@pytest.mark.parametrize("holder", [lambda v: (v,), lambda v: {1: v}, lambda v: [v]])
def test_whatever_depth_is_accepted_can_be_read_back(holder: Any) -> None:
    value: Any = 0
    for _ in range(300):
        value = holder(value)
        try:
            data = CODEC.dumps(value)
        except UnstorableValueError:
            return
        assert CODEC.loads(data) == value
    pytest.fail("no limit was met")


def test_what_cannot_be_read_for_lack_of_stack_is_not_called_damaged() -> None:
    value: Any = 0
    for _ in range(90):
        value = (value,)
    data = CODEC.dumps(value)

    def at(depth: int) -> str:
        if depth:
            return at(depth - 1)
        try:
            return "read" if CODEC.loads(data) == value else "changed"
        except RecursionError as error:
            return str(error)

    room = sys.getrecursionlimit() - len(inspect.stack()) - 20
    outcomes = {at(depth) for depth in range(room - 300, room - 30)}
    assert outcomes == {"read", str(no_room())}


def test_a_class_whose_name_was_taken_over_is_refused() -> None:
    registry = Registry(None)

    def make() -> type:
        @dataclass
        class Same:
            x: int

        return registry.register(Same)

    first, second = make(), make()
    codec = Codec(registry)
    assert type(back(second(1), codec)) is second  # pyright: ignore[reportCallIssue]
    with pytest.raises(
        UnregisteredTypeError, match=r"another class is known .*Same, name=\.\.\.\)"
    ):
        codec.dumps(first(1))  # pyright: ignore[reportCallIssue]
    registry.register(Point, name="taken")
    registry.register(Pair, name="taken")
    with pytest.raises(UnregisteredTypeError, match=r"another class is known .* 'taken'"):
        codec.dumps(Point(1))


def test_a_keyboard_interrupt_while_encoding_is_not_lost() -> None:
    registry = Registry(None)

    def stop(_: Any) -> Any:
        raise KeyboardInterrupt

    registry.register(Unknown, encode=stop, decode=stop)
    with pytest.raises(KeyboardInterrupt):
        Codec(registry).dumps({"a": (Unknown(),)})


# --- Exceptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [ValueError("a", 1), KeyError("k"), StopIteration(3), OSError(2, "no", "file.txt"),
     KeyboardInterrupt(),
     UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), InvalidUpdateError("two writes"),
     NodeTimeoutError("n", 1.5, kind="run", run_timeout=1), ExceptionGroup("g", [ValueError(1)])],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_known_exceptions_come_back_as_themselves(error: BaseException) -> None:
    found = back(error)
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.__dict__ == error.__dict__


def test_interrupt_exceptions_keep_their_interrupts() -> None:
    assert back(GraphInterrupt([Interrupt("q", "i")])).args == ([Interrupt("q", "i")],)


def test_registered_exceptions_come_back_without_init_and_others_as_remote_errors() -> None:
    error = Failure(4, "x")
    calls.clear()
    found = back(error, KNOWING)
    assert (type(found), found.code, str(found), calls) == (Failure, 4, "4: x", [])
    remote = back(error)
    assert isinstance(remote, RemoteError)
    assert remote.type_name == f"{__name__}:Failure"
    assert "4: x" in str(remote)
    assert str(back(remote)) == str(remote)


def test_a_failure_is_recorded_even_if_what_it_carries_cannot_be() -> None:
    found = back(ValueError("bad", Unknown()))
    assert type(found) is ValueError
    assert "Unknown object" in found.args[1]


# --- The registry --------------------------------------------------------------------------------


def test_a_child_registry_inherits_and_keeps_its_own() -> None:
    parent = Registry(None)
    child = parent.child()
    codec = Codec(child)
    with pytest.raises(UnregisteredTypeError):
        codec.dumps(Point(1))
    parent.register(Point)
    assert back(Point(1), codec) == Point(1)
    child.register(Pair)
    with pytest.raises(UnregisteredTypeError):
        Codec(parent).dumps(Pair(1))


def test_registration_refuses_what_it_cannot_rebuild() -> None:
    class Odd(bytearray):
        pass

    with pytest.raises(TypeError, match="encode= and decode="):
        Registry(None).register(Odd)
    with pytest.raises(TypeError):
        Registry(None).register(Point, encode=len)
    with pytest.raises(TypeError):
        Registry(None).register(5)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_joint_registry_knows_what_both_do_also_what_they_learn_later() -> None:
    first, second = GLOBAL.child(), GLOBAL.child()
    joint = first.beside(second)
    assert first.beside(second) is joint
    assert joint.beside(first) is joint
    assert second.beside(joint) is joint
    assert first.beside(GLOBAL) is first
    codec = Codec(first).knowing(second)
    with pytest.raises(UnregisteredTypeError):
        codec.dumps([Point(1), Pair(2)])
    first.register(Point)
    second.register(Pair)
    assert codec.loads(codec.dumps([Point(1), Pair(2)])) == [Point(1), Pair(2)]
    assert first.by_type(Pair) is None
    for _ in range(20):  # it keeps the last few
        first.beside(GLOBAL.child())
    assert first.beside(second) is not joint


def test_jsonplus_round_trips_and_refuses_foreign_formats() -> None:
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed({"a": (1,)})) == {"a": (1,)}
    assert serde.loads_typed(("null", b"")) is None
    with pytest.raises(ValueError, match="msgpack"):
        serde.loads_typed(("msgpack", b"\x01"))
    widened = serde.with_msgpack_allowlist([Point, (__name__, "Pair")])
    value = [Point(1), Pair(2)]
    assert widened.loads_typed(widened.dumps_typed(value)) == value
    with pytest.warns(UserWarning, match="never pickles"):
        JsonPlusSerializer(pickle_fallback=True)


class _Ordered(BaseModel):
    item: str
    count: int = 1


@dataclass
class _Order:
    item: str
    count: int = 1


@dataclass
class _FourParts:
    a: int
    b: int
    c: int
    d: int = 4


class _FourFields(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int
    b: int
    d: int = 5


def moved(value: Any, cls: type) -> Any:
    """A value, read where its class has become another one of the same name."""
    before, after = Registry(None), Registry(None)
    before.register(type(value), name="shop:Order")
    after.register(cls, name="shop:Order")
    return Codec(after).loads(Codec(before).dumps(value))


def test_a_dataclass_that_became_a_model_is_read_and_the_other_way_round() -> None:
    model = moved(_Order("tea", 2), _Ordered)
    assert model == _Ordered(item="tea", count=2)
    assert model.model_dump_json() == '{"item":"tea","count":2}'
    assert moved(_Ordered(item="tea"), _Order) == _Order("tea")
    loose = moved(_FourParts(1, 2, 3), _FourFields)
    assert loose == _FourFields(a=1, b=2, d=4)
    loose.more = 5
    assert loose.model_dump() == {"a": 1, "b": 2, "d": 4, "more": 5}


class _Closed(BaseModel):
    a: int = 1


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


class _Declared(_Open):
    b: int = 0


class _Secretive(BaseModel):
    a: int = 1
    _seen: list[int] = PrivateAttr(default_factory=list)
    _count: int = 7
    _unset: int


class _Counting(BaseModel):
    a: int = 1
    _count: int = 7


class _Person(NamedTuple):
    name: str
    nick: str
    mail: str


class _Contact(NamedTuple):
    mail: str
    name: str
    phone: str = "none"


class _Strict(NamedTuple):
    name: str
    phone: str


@dataclass
class _Named:
    name: str
    mail: str


def test_the_fields_of_a_named_tuple_go_by_their_names() -> None:
    ada = _Person("Ada", "Countess", "ada@x")
    assert moved(ada, _Contact) == _Contact(name="Ada", mail="ada@x")
    assert moved(ada, _Named) == _Named("Ada", "ada@x")
    assert moved(_Named("Ada", "ada@x"), _Contact) == _Contact("ada@x", "Ada")
    with pytest.raises(CorruptCheckpointError, match=r"'shop:Order' \(KeyError: 'phone'\)"):
        moved(ada, _Strict)


def test_a_named_tuple_that_was_written_without_its_names_is_read() -> None:
    before, after = Registry(None), Registry(None)
    before.register(_Person, name="P", encode=list, decode=tuple)
    after.register(_Contact, name="P")
    data = Codec(before).dumps(_Person("ada@x", "Ada", "12"))
    assert Codec(after).loads(data) == _Contact("ada@x", "Ada", "12")


def test_an_enum_may_say_something_else_of_its_values() -> None:
    class Size(enum.Enum):
        SMALL = 1

        @property
        def value(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.name.lower()

    registry = Registry(None)
    registry.register(Size)
    assert back(Size.SMALL, Codec(registry)) is Size.SMALL


def test_a_member_of_an_enum_that_could_not_be_found_again_is_refused_when_it_is_written() -> None:
    @dataclass(eq=False)
    class Limit:
        calls: int

    class Plan(enum.Enum):
        FREE = Limit(10)
        NONE = float("nan")
        PAID = ("paid", 20)

    registry = Registry(None)
    registry.register(Limit)
    registry.register(Plan)
    codec = Codec(registry)
    assert back(Plan.PAID, codec) is Plan.PAID
    for member in (Plan.FREE, Plan.NONE):
        with pytest.raises(UnregisteredTypeError, match=rf"{member.name} cannot be .*__eq__"):
            codec.dumps([member])


def test_what_was_more_than_the_fields_of_a_model_is_its_field_once_that_is_declared() -> None:
    found = moved(_Open(a=2, b=3, c=4), _Declared)  # pyright: ignore[reportCallIssue]
    assert found == _Declared(a=2, b=3, c=4)  # pyright: ignore[reportCallIssue]
    assert found.model_extra == {"c": 4}


def test_a_model_that_allows_more_fields_since_or_no_more_is_as_if_made_today() -> None:
    opened = moved(_Closed(a=2), _Open)
    assert opened == _Open(a=2)
    opened.more = 5
    assert opened.model_dump() == {"a": 2, "more": 5}
    closed = moved(_Open(a=2, more=5), _Closed)  # pyright: ignore[reportCallIssue]
    assert closed == _Closed(a=2)
    assert repr(closed) == "_Closed(a=2)"


def test_private_attributes_added_since_have_their_defaults_and_removed_ones_are_dropped() -> None:
    found = moved(_Closed(a=2), _Secretive)
    assert (found, found._seen, found._count) == (_Secretive(a=2), [], 7)
    with pytest.raises(AttributeError):
        found._unset  # noqa: B018
    counted = _Counting(a=2)
    counted._count = 9
    found = moved(counted, _Secretive)
    assert (found._seen, found._count) == ([], 9)
    found._seen.append(1)
    assert moved(counted, _Secretive)._seen == []
    assert moved(found, _Closed) == _Closed(a=2)


def test_a_class_that_cannot_read_what_it_was_is_named() -> None:
    class Level(enum.Enum):
        LOW = 1

    with pytest.raises(CorruptCheckpointError, match=r"'shop:Order' .*decode="):
        moved(Level.LOW, _Order)
    with pytest.raises(CorruptCheckpointError, match=r"'shop:Order' .*decode="):
        moved(_Order("tea"), Level)


@pytest.mark.parametrize("name", ["", 5, True, "\ud800", "x" * 2000, b"x"])
def test_a_wire_name_that_no_record_could_hold_is_refused_at_once(name: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="name="):
        GLOBAL.child().register(SimpleNamespace, name=name)


def test_what_takes_values_apart_is_a_function() -> None:
    odd: Any = 5
    with pytest.raises(TypeError, match="functions"):
        GLOBAL.child().register(SimpleNamespace, encode=odd, decode=odd)
