"""Serializers of a program's own, and which classes a saver's serializer knows."""

import sqlite3
from dataclasses import dataclass
from typing import Any, TypedDict

from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, Command, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}
SECRET = "the secret of the program"


@dataclass
class Point:
    x: int


class Inner(BaseModel):
    text: str


class Outer(BaseModel):
    inner: Inner


class Loose(TypedDict, total=False):
    value: Any


class Named(TypedDict, total=False):
    value: Point
    text: str


def mirrored(data):
    return bytes(byte ^ 0x55 for byte in data)


class Deriving(JsonPlusSerializer):
    """A serializer that does more than the one it derives from."""

    def __init__(self, **options):
        super().__init__(**options)
        self.calls = []

    def dumps_typed(self, obj):
        self.calls.append("dumps")
        tag, data = super().dumps_typed(obj)
        return f"{tag}+mirror", mirrored(data)

    def loads_typed(self, data):
        self.calls.append("loads")
        return super().loads_typed((data[0].removesuffix("+mirror"), mirrored(data[1])))


class Holding:
    """A serializer around another one."""

    def __init__(self):
        self.inner = JsonPlusSerializer()
        self.calls = []

    def dumps_typed(self, obj):
        self.calls.append("dumps")
        tag, data = self.inner.dumps_typed(obj)
        return f"{tag}+mirror", mirrored(data)

    def loads_typed(self, data):
        self.calls.append("loads")
        return self.inner.loads_typed((data[0].removesuffix("+mirror"), mirrored(data[1])))


class Cipher:
    def encrypt(self, plaintext):
        return "mirror", mirrored(plaintext)

    def decrypt(self, ciphername, ciphertext):
        return mirrored(ciphertext)


class Noting(EncryptedSerializer):
    """An encrypting serializer that notes what it is asked."""

    def __init__(self):
        super().__init__(Cipher(), JsonPlusSerializer())
        self.calls = []

    def dumps_typed(self, obj):
        self.calls.append("dumps")
        return super().dumps_typed(obj)

    def loads_typed(self, data):
        self.calls.append("loads")
        return super().loads_typed(data)


def asking(state):
    answer = interrupt(SECRET)
    return {"value": Point(state["value"].x + 1), "text": f"{SECRET}, {answer}"}


def asked(saver):
    graph = StateGraph(Named).add_node(asking).add_edge(START, "asking").compile(saver)
    graph.invoke({"value": Point(1), "text": SECRET}, CONFIG)
    result = graph.invoke(Command(resume="yes"), CONFIG)
    return [result, graph.get_state(CONFIG).values, len(list(graph.get_state_history(CONFIG)))]


def in_a_file(env, serde):
    """What a run on a file shows, whether the file has the secret, and what was called."""
    path = env.tmp_path / f"{type(serde).__name__}.sqlite"
    conn = sqlite3.connect(path, check_same_thread=False)
    found = asked(SqliteSaver(conn, serde=serde))
    conn.close()
    there = any(SECRET.encode() in file.read_bytes() for file in env.tmp_path.iterdir())
    return [found, there, sorted(set(serde.calls))]


def case_a_serializer_that_derives(env):
    serde = Deriving()
    return [in_a_file(env, serde), asked(InMemorySaver(serde=Deriving()))]


def case_a_serializer_around_another(env):
    return [in_a_file(env, Holding()), asked(InMemorySaver(serde=Holding()))]


def case_a_serializer_that_derives_from_one_that_encrypts(env):
    return [in_a_file(env, Noting()), asked(InMemorySaver(serde=Noting()))]


def case_a_serializer_that_derives_inside_one_that_encrypts(env):
    inner = Deriving()
    saver = InMemorySaver(serde=EncryptedSerializer(Cipher(), inner))
    return [asked(saver), sorted(set(inner.calls))]


def case_a_serializer_whose_method_was_replaced(env):
    serde, calls = JsonPlusSerializer(), []
    dumps = serde.dumps_typed

    def dumps_typed(obj):
        calls.append("dumps")
        return dumps(obj)

    serde.dumps_typed = dumps_typed
    return [asked(InMemorySaver(serde=serde)), bool(calls)]


def kept(saver, value):
    graph = StateGraph(Loose).add_node("put", lambda state: {"value": [value]})
    graph = graph.add_edge(START, "put").compile(checkpointer=saver)
    return [graph.invoke({"value": value}, CONFIG), graph.get_state(CONFIG).values]


def case_classes_that_the_serializer_of_a_saver_knows(env):
    allowed = [Point, Outer, Inner]
    names = [(cls.__module__, cls.__name__) for cls in allowed]
    values = Point(1), Outer(inner=Inner(text="a"))
    found = []
    for listed in (allowed, names):
        for kind in (JsonPlusSerializer, Deriving):
            saver = InMemorySaver(serde=kind(allowed_msgpack_modules=listed))
            found += [kept(saver, value) for value in values]
        plain = JsonPlusSerializer(allowed_msgpack_modules=listed)
        saver = InMemorySaver(serde=EncryptedSerializer(Cipher(), plain))
        found += [kept(saver, value) for value in values]
    return found


def case_savers_with_an_allowlist(env):
    value = Point(1)
    found = []
    for serde in (None, Deriving(), EncryptedSerializer(Cipher())):
        saver = InMemorySaver(serde=serde).with_allowlist([Point])
        found.append([kept(saver, value), type(saver).__name__, type(saver.serde).__name__])
    return found


def cached(cache):
    ran = []

    def step(state):
        ran.append("step")
        return {"value": [state["value"], Point(2)]}

    policy = CachePolicy(key_func=lambda state: "key")
    graph = StateGraph(Loose).add_node(step, cache_policy=policy).add_edge(START, "step")
    graph = graph.compile(cache=cache)
    return [graph.invoke({"value": Point(1)}), graph.invoke({"value": Point(1)}), ran]


def case_classes_that_the_serializer_of_a_cache_knows(env):
    plain, derived = (
        kind(allowed_msgpack_modules=[Point]) for kind in (JsonPlusSerializer, Deriving)
    )
    serdes = plain, derived, EncryptedSerializer(Cipher(), plain)
    found = [cached(InMemoryCache(serde=serde)) for serde in serdes]
    return [found, sorted(set(derived.calls))]


def case_a_model_comes_with_the_models_inside(env):
    serde = JsonPlusSerializer(allowed_msgpack_modules=[Outer])
    value = [Outer(inner=Inner(text="a"))]
    return serde.loads_typed(serde.dumps_typed(value)) == value


def case_copies_with_an_allowlist(env):
    plain, derived = JsonPlusSerializer(), Deriving()
    encrypting = EncryptedSerializer(Cipher(), plain)
    saver = InMemorySaver(serde=plain)
    copies = [derived.with_msgpack_allowlist([Point]), plain.with_msgpack_allowlist([Point])]
    return [
        [type(copy).__name__ for copy in copies],
        [copy.loads_typed(copy.dumps_typed(Point(1))) for copy in copies],
        copies[0].calls,
        plain.with_msgpack_allowlist(()) is plain,
        saver.with_allowlist([]) is saver,
        InMemorySaver(serde=encrypting).with_allowlist([]).serde is encrypting,
        InMemorySaver(serde=Holding()).with_allowlist([Point]).serde.__class__.__name__,
    ]


def case_values_that_are_not_encrypted(env):
    dumped = JsonPlusSerializer().dumps_typed({"a": 1})
    return EncryptedSerializer(Cipher()).loads_typed(dumped)
