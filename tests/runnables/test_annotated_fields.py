"""`AnnotatedFields`: what a class says is read once, and read again when the class changes."""

import gc
import random
import subprocess
import sys
import weakref
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from pydantic import Field, ValidationError

from plait.language_models import BaseChatModel
from plait.objects import fields
from plait.objects.fields import AnnotatedFields, fields_of
from plait.tools import BaseTool, tool

FRESH = Field(default_factory=list)


class Base(AnnotatedFields):
    first: Any
    second: Any = [1]  # noqa: RUF012 - a field, copied for each instance
    shared: ClassVar[int] = 3
    _private: int = 4
    _later: int


class Derived(Base):
    third: Any = {}  # noqa: RUF012 - a field, copied for each instance
    fresh: Any = FRESH
    named: Any = Field(None, alias="other")
    first: Any = 7


def test_annotations_are_read_once_for_a_class_however_many_objects_it_has() -> None:
    class Own(Base):
        pass

    with patch.object(fields, "own_annotations", wraps=fields.own_annotations) as read:
        for number in range(50):
            Own(first=number)
    assert read.call_count <= len(Own.__mro__)


def test_a_default_that_is_set_on_the_class_later_is_seen() -> None:
    class Parent(AnnotatedFields):
        size: int = 1
        kind: str

    class Child(Parent):
        more: int = 2

    assert vars(Child(kind="a")) == {"size": 1, "kind": "a", "more": 2}
    Parent.size = 5
    assert Child(kind="a").size == 5
    Child.size = 6
    assert (Child(kind="a").size, Parent(kind="a").size) == (6, 5)
    Parent.kind = "b"
    assert Child().kind == "b"
    del Parent.kind
    with pytest.raises(ValidationError, match=r"kind\n  Field required"):
        Child()
    Child.more = property(lambda self: 9)  # pyright: ignore[reportAttributeAccessIssue]
    assert "more" not in fields_of(Child)


def test_objects_share_no_containers_and_the_class_may_change_its_own() -> None:
    one, two = Derived(), Derived()
    one.second.append(2)
    one.third["a"] = 1
    one.fresh.append(1)
    assert (two.second, two.third, two.fresh) == ([1], {}, [])

    class Own(AnnotatedFields):
        items: list[int] = []  # noqa: RUF012 - a field, copied for each instance

    assert Own().items == []
    Own.items.append(3)
    assert Own().items == [3]


def test_a_setter_of_ones_own_is_called_for_each_field() -> None:
    class Told(Base):
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, (value, "told"))

    assert vars(Told(first=1)) == {
        "first": (1, "told"),
        "second": ([1], "told"),
        "_private": (4, "told"),
    }


@pytest.mark.parametrize("kind", [Base, Derived])
def test_values_are_taken_as_when_they_are_set_one_by_one(kind: type[Base]) -> None:
    names = ["first", "second", "third", "fresh", "named", "other", "_private", "_later", "no"]
    draw = random.Random(3)
    for _ in range(300):
        given = {name: object() for name in draw.sample(names, draw.randint(0, 4))}

        def made(given: dict[str, Any] = given) -> Any:
            try:
                return list(vars(kind(**given)).items())
            except (TypeError, ValidationError) as error:
                return str(error)

        quickly = made()
        with patch.object(fields._Fields, "fit", lambda self, values: False):
            assert made() == quickly


def test_a_tool_has_its_own_plan_after_its_fields_are_set_again() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add.invoke({"a": 1}) == 2
    add.func = lambda a, b=1: a * 10
    assert add.invoke({"a": 1}) == 10


def test_a_class_goes_once_nobody_has_it() -> None:
    def made() -> weakref.ref[Any]:
        class Own(AnnotatedFields):
            size: int

        assert Own(size="4").size == 4
        return weakref.ref(Own)

    left = made()
    gc.collect()
    assert left() is None


def test_names_that_only_type_checkers_know_are_not_checked() -> None:
    class Own(AnnotatedFields):
        it: "Unimported"  # pyright: ignore[reportUndefinedVariable] # noqa: F821
        size: "int"

    assert vars(Own(it=3, size="4")) == {"it": 3, "size": 4}


def test_a_model_of_langchain_may_stand_in_a_field() -> None:
    class Ask(BaseTool):
        name: str = "ask"
        description: str = "Asks."
        llm: BaseChatModel

        def _run(self, question: str) -> str:
            return str(self.llm.invoke(question).content)

    guest = pytest.importorskip("langchain_core.language_models").FakeListChatModel
    assert Ask(llm=guest(responses=["yes"])).invoke({"question": "Is it?"}) == "yes"
    with pytest.raises(ValidationError, match="instance of BaseChatModel"):
        Ask(llm=Ask)


def test_defaults_of_a_class_are_not_checked_and_load_nothing() -> None:
    code = (
        "import sys\n"
        "from plait.objects.fields import AnnotatedFields\n"
        "class Own(AnnotatedFields):\n"
        "    size: int = 3\n"
        "assert Own().size == 3 and 'pydantic' not in sys.modules\n"
        "assert Own(size='4').size == 4 and 'pydantic' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
