"""`DictPromptTemplate`: a dict, such as a block of a message, whose texts are templates."""

from collections.abc import Callable
from typing import Any, cast

from plait.errors import InvalidTemplateError
from plait.objects.fields import AnnotatedFields
from plait.prompts.template_formats import PromptTemplateFormat, read_template
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import call_as_run

DEEPEST = 100
"""How deep dicts and lists nest at most."""


class DictPromptTemplate(AnnotatedFields, Runnable[dict[str, Any], dict[str, Any]]):
    """A dict whose texts, at any depth, are templates; keys and other values stay as they are.

    Args:
        template: The dict.
        template_format: How its texts are written.

    Raises:
        InvalidTemplateError: A text cannot be read, or the dict nests too deep.

    >>> block = DictPromptTemplate(template={"type": "text", "text": ["{a}", 1]})
    >>> block.invoke({"a": "x"})
    {'type': 'text', 'text': ['x', 1]}
    """

    __plait_namespace__ = ("langchain_core", "prompts", "dict")

    name: str | None = None
    template: dict[str, Any]
    template_format: PromptTemplateFormat = "f-string"

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.input_variables = self._names()

    def _names(self) -> list[str]:
        """The names in all texts, sorted."""
        names: set[str] = set()

        def look(text: str) -> str:
            names.update(read_template(text, self.template_format).names)
            return text

        _each_text(self.template, look, 0)
        return sorted(names)

    def format(self, **kwargs: Any) -> dict[str, Any]:
        """The dict with the values filled in."""

        def fill(text: str) -> str:
            return read_template(text, self.template_format).fill(kwargs)

        return _each_text(self.template, fill, 0)

    async def aformat(self, **kwargs: Any) -> dict[str, Any]:
        """The async twin of `format`."""
        return self.format(**kwargs)

    def invoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """The dict with the values filled in."""
        return call_as_run(
            lambda _config, _run: self.format(**input),
            self.get_name(),
            input,
            config,
            run_type="prompt",
        )

    def pretty_repr(self, *, html: bool = False) -> str:
        """The dict for people.

        Raises:
            NotImplementedError: always, as in LangChain.
        """
        raise NotImplementedError("A prompt that is a dict has no text to show.")


def _each_text(value: Any, change: Callable[[str], str], depth: int) -> Any:
    """A copy of nested dicts and lists with each text changed."""
    if isinstance(value, str):
        return change(value)
    if depth > DEEPEST:
        raise InvalidTemplateError(f"A prompt that is a dict nests deeper than {DEEPEST}.")
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _each_text(inner, change, depth + 1) for key, inner in fields.items()}
    if isinstance(value, (list, tuple)):
        items = [_each_text(inner, change, depth + 1) for inner in cast("list[Any]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    return value


__all__ = ["DictPromptTemplate"]
