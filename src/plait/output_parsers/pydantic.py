"""`PydanticOutputParser`: an instance of a pydantic model from what a model says."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from plait.exceptions import OutputParserException
from plait.output_parsers.json import JsonOutputParser, instructions_for
from plait.output_parsers.json_text import changes
from plait.typing import TypeVar

T = TypeVar("T", default=Any)


class PydanticOutputParser(JsonOutputParser[T]):
    """JSON as an instance of a pydantic model. A stream gives each instance that is valid so far.

    Args:
        pydantic_object: The model (or another type that pydantic can validate).
        diff: A stream gives JSON patches.

    >>> from pydantic import BaseModel
    >>> class City(BaseModel):
    ...     name: str
    >>> PydanticOutputParser(pydantic_object=City).invoke('{"name": "Paris"}')
    City(name='Paris')
    """

    pydantic_object: type[T]  # pyright: ignore[reportGeneralTypeIssues] - it must be given here

    @property
    def OutputType(self) -> Any:
        """The model."""
        return self.pydantic_object

    @property
    def _type(self) -> str:
        return "pydantic"

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The instance of the first candidate; if `partial`, None while it is not valid yet.

        Raises:
            OutputParserException: There is no JSON, or it is no instance.
        """
        value = super().parse_result(result, partial=partial)
        if partial:
            return None if value is None else self._of_value(value)
        return self._instance(value)

    def get_format_instructions(self) -> str:
        """What to tell a model so that it answers with an instance."""
        return instructions_for(self.pydantic_object)

    def _instance(self, value: Any) -> Any:
        model: Any = self.pydantic_object
        try:
            return _reader(model)(value)
        except ValueError as error:  # what both versions of pydantic raise
            received = json.dumps(value, ensure_ascii=False)
            raise OutputParserException(
                f"Failed to parse {getattr(model, '__name__', model)} from completion {received}. "
                f"Got: {error}",
                llm_output=received,
            ) from error

    def _of_value(self, value: Any) -> Any:
        try:
            return self._instance(value)
        except OutputParserException:
            return None

    def _diff(self, prev: Any, next: Any) -> list[dict[str, Any]]:
        return changes(None if prev is None else _plain(prev), _plain(next))


def _reader(model: Any) -> Callable[[Any], Any]:
    """What makes an instance of a value; a model may be one of pydantic's first version."""
    for method in ("model_validate", "parse_obj"):
        if hasattr(model, method):
            return getattr(model, method)
    return TypeAdapter(model).validate_python


def _plain(instance: Any) -> Any:
    return instance.model_dump() if hasattr(instance, "model_dump") else instance.dict()


__all__ = ["PydanticOutputParser"]
