"""`BaseMessage`: what every message is and does, made in a few hundred nanoseconds.

An instance has four slots: `content`, `id`, a dict of the rarely set fields (see
`objects/fields.py`) and a revision that every assignment bumps. `__init__` fills the slots behind
`__setattr__`, so that construction does not count as a change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import count, repeat
from math import nan
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, get_origin, overload

from plait.common.lazy import lazily
from plait.common.reflection import own_annotations
from plait.messages.errors import InvalidMessageError
from plait.messages.fields import (
    CHANGES,
    CONTENT_JSON,
    DICT_JSON,
    OPTIONAL_STR_JSON,
    Field,
    Rule,
    check_content,
    check_dict,
    check_id,
    check_optional_str,
    rules_of,
)
from plait.messages.merge import Content, merge_dicts
from plait.messages.merge import merge_content as merge_content
from plait.messages.model import ModelMethods
from plait.messages.pretty import title_line
from plait.messages.stamp import IMMUTABLE, digest
from plait.objects.written import Written

if TYPE_CHECKING:
    from plait.messages.content import ToolCall


class TextAccessor(str):
    """The text of a message; calling it gives the text too (the older `message.text()`)."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


def check_fixed(where: str, value: Any) -> Any:
    """A `type` may be given, but only the one that the class has."""
    return value


class BaseMessage(ModelMethods, Written):
    """A message of a conversation.

    Args:
        content: Text, or a list of text and content blocks.
        content_blocks: Typed content blocks; they become the content.
        id: An identifier; the reducer `add_messages` gives one to a message that has none.
        **kwargs: The other fields (`name`, `additional_kwargs`, ...); unknown names are kept as
            extra attributes.

    Raises:
        InvalidMessageError: a field is missing or has a value that it cannot take.

    >>> message = BaseMessage("hi", type="note")
    >>> message.content, message.type
    ('hi', 'note')
    """

    # Extra attributes live in __dict__, which exists only for messages that have some. (With a
    # __getattr__ instead, every other access would take three times as long.)
    __slots__ = ("__dict__", "__plait_rare__", "__plait_revision__", "content", "id")
    __hash__ = None  # pyright: ignore[reportAssignmentType]
    __plait_namespace__ = ("langchain", "schema", "messages")

    content: Content
    id: str | None
    type: str
    if TYPE_CHECKING:
        # Only an AIMessage has them. Programs ask `state["messages"][-1].tool_calls` after a model
        # has answered, of a list whose items may be any message; an editor would mark each.
        tool_calls: list[ToolCall]
    __plait_changes__: ClassVar[list[object]] = CHANGES
    """Holds another object whenever any sealed message was changed, or may change from now on.
    Sealed is one that was stamped and holds nothing mutable: bit 0 of its revision is set."""
    __plait_compared__: ClassVar[list[count[Any]]] = [count()]
    """Counts comparisons of messages. Python compares an object in a list with itself without
    asking it: so if two lists are equal and this did not move, they hold the very same objects."""
    model_fields: ClassVar[Mapping[str, Field]] = {
        "content": Field("content", required=True, check=check_content, json=CONTENT_JSON),
        "additional_kwargs": Field(
            "additional_kwargs", factory=dict, check=check_dict, json=DICT_JSON
        ),
        "response_metadata": Field(
            "response_metadata", factory=dict, check=check_dict, json=DICT_JSON
        ),
        "type": Field("type", required=True, check=check_fixed, json={"type": "string"}),
        "name": Field("name", check=check_optional_str, json=OPTIONAL_STR_JSON, plain=str),
        "id": Field("id", check=check_id, json=OPTIONAL_STR_JSON),
    }
    __plait_required__: ClassVar[tuple[str, ...]] = ("type",)
    __plait_rules__: ClassVar[Mapping[str, Rule]] = rules_of("BaseMessage", model_fields)

    additional_kwargs: dict[str, Any]
    response_metadata: dict[str, Any]
    name: str | None

    @overload
    def __init__(
        self,
        content: Content,
        content_blocks: list[Any] | None = None,
        *,
        id: str | None = None,
        **kwargs: Any,
    ) -> None: ...
    @overload
    def __init__(
        self,
        content: Content | None = None,
        *,
        content_blocks: list[Any],
        id: str | None = None,
        **kwargs: Any,
    ) -> None: ...
    def __init__(
        self,
        content: Content | None = None,
        content_blocks: list[Any] | None = None,
        *,
        id: str | None = None,
        **kwargs: Any,
    ) -> None:
        if content_blocks is not None:
            content = content_blocks
            kwargs = self.__plait_from_blocks__(content_blocks, kwargs)
        if content.__class__ is not str:
            check = self.model_fields["content"].check
            content = check and check(f"{type(self).__name__}.content", content)
        if id is not None and id.__class__ is not str:
            id = check_id(f"{type(self).__name__}.id", id)
        put_content(self, content)
        put_id(self, id)
        put_revision(self, 0)
        if kwargs or self.__plait_required__:
            fill(self, kwargs)
            self.__plait_filled__(kwargs)
        else:
            put_rare(self, None)

    @classmethod
    def __plait_from_blocks__(cls, blocks: list[Any], given: dict[str, Any]) -> dict[str, Any]:
        """What a constructor was given, with the fields that content blocks imply."""
        return given

    def __plait_filled__(self, given: dict[str, Any]) -> None:
        """Called when a constructor was given more than content and id; fills what follows."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__eq__" in cls.__dict__:  # it does not count: the number equals none any more
            BaseMessage.__plait_compared__[0] = count(nan)
        if "__plait_declared__" not in cls.__dict__:
            declare(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.model_fields or name[0] == "_" or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            put_extra(self, {name: value})
        if name == "id":
            id_changes[0] += 1
        revise(self)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        revise(self)

    def __eq__(self, other: object) -> bool:
        next(self.__plait_compared__[0])
        if self.__class__ is not other.__class__:
            return NotImplemented
        same: Any = other
        # By `==` alone: what tests compare with, an id that equals any text say, defines no other.
        if self.id == same.id and self.content == same.content:
            mine, others = self.__plait_rare__, same.__plait_rare__
            return mine is others or mine == others or said(self) == said(same)
        return False

    def __plait_stamp__(self) -> Hashable:
        """A token that changes whenever this message is changed, in place or by assignment.

        A message that holds nothing mutable is sealed by it: see `__plait_changes__`.
        """
        revision: int = self.__plait_revision__
        if revision & 1:
            return revision >> 1  # pyright: ignore[reportUnknownVariableType]
        rare = self.__plait_rare__
        content = self.content
        if content.__class__ is str and (
            rare is None or _FIXED.issuperset(map(type, rare.values()))
        ):
            put_revision(self, revision | 1)
            return revision >> 1  # pyright: ignore[reportUnknownVariableType]
        return self._stamp_of_parts(revision >> 1, rare, content)

    def _stamp_of_parts(self, revision: int, rare: dict[str, Any] | None, content: Any) -> Hashable:
        nested: list[tuple[str, Any]] = []
        for name, value in rare.items() if rare else ():
            kind: type[Any] = value.__class__
            if kind not in _FIXED and (kind not in _EMPTIES or value):
                nested.append((name, value))
        if content.__class__ is not str:
            nested.append(("content", content))
        if not nested:
            return revision
        return (revision, digest(nested))

    def __plait_state__(self) -> dict[str, Any]:
        """What storage keeps: the fields that differ from their defaults."""
        state: dict[str, Any] = {"content": self.content}
        if self.id is not None:
            state["id"] = self.id
        state.update(said(self))
        return state

    @classmethod
    def __plait_restore__(cls, state: dict[str, Any]) -> Self:
        """The message of a state, made without validation; unknown keys are ignored.

        An ordinary one is sealed from the beginning: it comes out of storage, into a list.
        """
        made = _new(cls)
        if len(state) == 2:
            try:
                content, id = _ordinary(state)
            except KeyError:
                pass
            else:
                put_revision(made, 1 if content.__class__ is str else 0)
                put_content(made, content)
                put_id(made, id)
                put_rare(made, None)
                return made
        put_revision(made, 0)
        put_content(made, state.get("content", ""))
        put_id(made, state.get("id"))
        fields = cls.model_fields
        rare = {
            k: v
            for k, v in state.items()
            if (k in fields or k == "model_extra") and k not in ("content", "id")
        }
        extra = rare.pop("model_extra", None)
        put_rare(made, rare or None)
        if extra:
            put_extra(made, extra)
        return made

    @classmethod
    def __plait_mould__(cls, state: dict[str, Any]) -> tuple[Any, ...] | None:
        """What `__plait_cast__` makes a message of, as often as need be: its type, content, id and
        other fields; None for a state with parts that can be changed in place."""
        content, id = state.get("content"), state.get("id")
        if content.__class__ is not str or "model_extra" in state:
            return None
        if len(state) == 2 and id.__class__ is str:
            return cls, content, id, None
        if not _FIXED.issuperset(map(type, state.values())):
            return None
        fields = cls.model_fields
        rare = {k: v for k, v in state.items() if k in fields and k not in ("content", "id")}
        return cls, content, id, rare or None

    @staticmethod
    def __plait_cast__(moulds: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Messages of moulds, sealed from the beginning (see `__plait_stamp__`); in a few steps,
        however many they are."""
        classes, contents, ids, rares = zip(*moulds, strict=True)
        made = [*map(_new, classes)]
        _exhaust(map(put_revision, made, repeat(1)))
        _exhaust(map(put_content, made, contents))
        _exhaust(map(put_id, made, ids))
        _exhaust(map(put_rare, made, [rare and rare.copy() for rare in rares]))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (type(self), self.__plait_state__())

    def __copy__(self) -> Self:
        made = _new(type(self))
        put_revision(made, 0)
        put_content(made, self.content)
        put_id(made, self.id)
        rare = said(self)
        extra = rare.pop("model_extra", None)
        put_rare(made, rare or None)
        if extra:
            put_extra(made, extra)
        elif self.__dict__:
            made.__dict__.update({k: v for k, v in self.__dict__.items() if k[0] == "_"})
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = restore(type(self), deepcopy(self.__plait_state__(), memo))
        memo[id(self)] = made
        made.__dict__.update(
            {k: deepcopy(v, memo) for k, v in self.__dict__.items() if k[0] == "_"}
        )
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(shown(self))})"

    def __str__(self) -> str:
        return " ".join(shown(self))

    @property
    def text(self) -> TextAccessor:
        """The text of the content: the str itself, or its text blocks joined.

        >>> BaseMessage(["a", {"type": "text", "text": "b"}], type="note").text
        'ab'
        """
        content = self.content
        if content.__class__ is str:
            return TextAccessor(content)
        parts = [
            block if isinstance(block, str) else block.get("text") or ""
            for block in content
            if isinstance(block, str) or block.get("type") == "text"
        ]
        return TextAccessor("".join(parts))

    @property
    def content_blocks(self) -> list[Any]:
        """The content as typed blocks of one standard form, whatever provider it came from."""
        from plait.messages.blocks import message_blocks  # loads the block vocabulary on demand

        return message_blocks(self)

    def __add__(self, other: Any) -> Any:
        """A chat prompt of this message and what follows: messages, templates, texts."""
        from plait.prompts.chat import ChatPromptTemplate  # prompts build on messages

        return ChatPromptTemplate([self]) + other

    def pretty_repr(self, html: bool = False) -> str:
        """A readable form with a title line; `html` makes the title bold on a terminal."""
        title = title_line(f"{self.type.title()} Message", bold=html)
        if self.name is not None:
            title += f"\nName: {self.name}"
        return f"{title}\n\n{self.content}"

    def pretty_print(self) -> None:
        """Prints `pretty_repr`."""
        print(self.pretty_repr())

    def _is_kept(self, name: str, field: Any) -> bool:
        value = getattr(self, name)
        return bool(value) or not field.is_default(value)


AnyOf = TypeVar("AnyOf", bound=BaseMessage)

_new = object.__new__
_exhaust = deque[Any](maxlen=0).extend
_ordinary = itemgetter("content", "id")
put_content: Callable[[Any, Any], None] = BaseMessage.__dict__["content"].__set__
put_id: Callable[[Any, Any], None] = BaseMessage.__dict__["id"].__set__
put_rare: Callable[[Any, Any], None] = BaseMessage.__dict__["__plait_rare__"].__set__
_FIXED = frozenset(IMMUTABLE)
_EMPTIES = frozenset((list, dict))
"""What reading a field may put there: while it is empty, nothing has changed."""

put_revision: Callable[[Any, Any], None] = BaseMessage.__dict__["__plait_revision__"].__set__

for shared in ("additional_kwargs", "response_metadata", "name", "type"):
    setattr(BaseMessage, shared, BaseMessage.model_fields[shared])


# How often a message got another id by assignment; what is indexed by id then looks again.


def revise(message: Any) -> None:
    """Counts a change of a message. Its seal is broken."""
    revision: int = message.__plait_revision__
    if revision & 1:
        CHANGES[0] = object()
    put_revision(message, (revision | 1) + 1)


id_changes = [0]


def id_epoch() -> int:
    """A number that changes whenever any message gets another id by assignment."""
    return id_changes[0]


def give_id(message: Any, new: str) -> None:
    """Gives an id to a message that has none (and so stands in no index)."""
    if isinstance(message, BaseMessage):
        put_id(message, new)
        revise(message)
    else:
        message.id = new


def restore(cls: type[AnyOf], state: dict[str, Any]) -> AnyOf:
    """Rebuilds a copied or unpickled message, which is its maker's to change: it has no seal."""
    made = cls.__plait_restore__(state)
    put_revision(made, 0)
    return made


def fill(message: BaseMessage, given: dict[str, Any]) -> None:
    """Checks and keeps what a constructor was given beside content and id.

    `given` is the constructor's own dict, so it becomes the dict of the message's rare fields.
    """
    rules = message.__plait_rules__
    extra: dict[str, Any] | None = None
    for name, value in given.items():
        rule = rules.get(name)
        if rule is None:
            extra = {}
            continue
        plain, check, where = rule
        if value.__class__ is not plain:
            given[name] = check(where, value)
    if extra is not None:
        extra = take_extra(message.__class__, given)
    for name in message.__plait_required__:
        if name not in given:
            cls = message.__class__.__name__
            raise InvalidMessageError(f"{cls}.{name} is missing. Give it: {cls}(..., {name}=...).")
    put_rare(message, given or None)
    if extra:
        put_extra(message, extra)


def take_extra(cls: type[BaseMessage], given: dict[str, Any]) -> dict[str, Any]:
    """Takes what has no rule out of `given`: extra attributes, and a `type`, which must fit."""
    rules = cls.__plait_rules__
    extra = {name: given.pop(name) for name in list(given) if name not in rules}
    kind = extra.pop("type", cls.type)
    if kind != cls.type:
        where = f"{cls.__name__}.type"
        raise InvalidMessageError(f"{where} is {cls.type!r}, so it cannot be {kind!r}.")
    return extra


def put_extra(message: BaseMessage, extra: dict[str, Any]) -> None:
    """Adds to what is kept beside the declared fields: the instance's own `__dict__`."""
    message.__dict__.update(extra)
    put_rare(message, {**(message.__plait_rare__ or {}), "model_extra": message.__dict__})


def said(message: BaseMessage) -> dict[str, Any]:
    """The rare fields of a message that differ from their defaults."""
    rare = message.__plait_rare__
    if not rare:
        return {}
    fields = message.model_fields
    return {
        name: value
        for name, value in rare.items()
        if (value if name == "model_extra" else not fields[name].is_default(value))
    }


def shown(message: BaseMessage) -> list[str]:
    """The `name=value` parts of a repr: no field at its plain default, containers always."""
    parts: list[str] = []
    for name, field in message.model_fields.items():
        value = getattr(message, name, None)
        container = field.default_factory is not None
        if field.shown and (field.required or container or not field.is_default(value)):
            parts.append(f"{name}={value!r}")
    parts.extend(f"{name}={value!r}" for name, value in message.model_extra.items())
    return parts


def declare(cls: type[BaseMessage]) -> None:
    """Turns the annotated names of a subclass into fields of its messages."""
    fields = dict(cls.model_fields)
    fixed_type = cls.__dict__.get("type")
    if isinstance(fixed_type, str):
        fields["type"] = Field("type", default=fixed_type, json={"const": fixed_type})
    for name, annotation in own_annotations(cls).items():
        if name == "type" or name[0] == "_" or is_class_variable(annotation):
            continue
        given = cls.__dict__.get(name)
        if isinstance(given, Field):
            fields[name] = given
        elif name in ("content", "id"):
            raise TypeError(
                f"{cls.__name__}.{name}: messages keep {name!r} in a slot, so a subclass cannot "
                "declare it again. Override __init__ to give it another default."
            )
        elif name not in BaseMessage.__annotations__ or name in cls.__dict__:
            fields[name] = user_field(cls, name, annotation)
        if name in fields:
            setattr(cls, name, fields[name])
    cls.model_fields = fields
    cls.__plait_rules__ = rules_of(cls.__name__, fields)
    cls.__plait_required__ = tuple(n for n, f in fields.items() if f.required and n != "content")


def is_class_variable(annotation: Any) -> bool:
    """Whether an annotation says ClassVar, as text or as an object."""
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def user_field(cls: type[BaseMessage], name: str, annotation: Any) -> Field:
    """The field of an annotated name in a user's subclass; pydantic checks its values."""

    def check(where: str, value: Any) -> Any:
        from plait.messages.schema import validate_annotated

        return validate_annotated(cls, name, where, value)

    missing = object()
    given: Any = cls.__dict__.get(name, missing)
    get_default = getattr(given, "get_default", None)
    if callable(get_default):  # pydantic's Field(...)
        described: Any = given
        if described.is_required():
            return Field(name, required=True, check=check, annotation=annotation)
        if described.default_factory is not None:
            factory = described.default_factory
            return Field(name, factory=factory, check=check, annotation=annotation)
        given = get_default()
    if given is missing:
        return Field(name, required=True, check=check, annotation=annotation)
    if isinstance(given, (list, dict, set)):
        factory = partial(deepcopy, cast("Any", given))
        return Field(name, factory=factory, check=check, annotation=annotation)
    return Field(name, default=given, check=check, annotation=annotation)


class BaseMessageChunk(BaseMessage):
    """A piece of a streamed message; `+` merges pieces."""

    __slots__ = ()

    def __add__(self, other: Any) -> Self:
        """This chunk and another chunk (or a list of them) as one."""
        others: list[Any] = cast("list[Any]", other) if isinstance(other, list) else [other]
        if not all(isinstance(o, BaseMessageChunk) for o in others):
            wrong: Any = next(o for o in others if not isinstance(o, BaseMessageChunk))
            raise TypeError(
                f'unsupported operand type(s) for +: "{type(self).__name__}" and '
                f'"{type(wrong).__name__}". Only chunks can be added to a chunk.'
            )
        return self.__plait_merge__(others)

    def __plait_merge__(self, others: list[Any]) -> Self:
        """The sum of this chunk and others."""
        cls = type(self)
        made = cls.__new__(cls)
        put_content(made, merge_content(self.content, *[o.content for o in others]))
        put_id(made, self.id)
        put_revision(made, 0)
        rare: dict[str, Any] = {name: getattr(self, name) for name in cls.__plait_required__}
        pieces = [self, *others]
        for piece in pieces:
            kept = piece.__plait_rare__
            if kept:
                for name in ("additional_kwargs", "response_metadata"):
                    value = kept.get(name)
                    if value:
                        rare[name] = (
                            merge_dicts(rare[name], value) if name in rare else value.copy()
                        )
        put_rare(made, rare)
        self.__plait_combine__(made, rare, pieces)
        if not rare:
            put_rare(made, None)
        return made

    def __plait_combine__(self, made: Any, rare: dict[str, Any], pieces: list[Any]) -> None:
        """Merges the fields of a subclass into `rare`, the fields of the sum `made`."""


# The peer's path of them.
__getattr__ = lazily(
    __name__,
    {"message_to_dict": "plait.messages.convert", "messages_to_dict": "plait.messages.convert"},
)
