"""`PromptTemplate`: a text with names to be replaced."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from plait.errors import InvalidTemplateError
from plait.prompts.mustache import Mustache
from plait.prompts.string import StringPromptTemplate
from plait.prompts.template_formats import (
    PromptTemplateFormat,
    check_valid_template,
    read_template,
)
from plait.runnables.config import RunnableConfig

if TYPE_CHECKING:
    from pydantic import BaseModel


class PromptTemplate(StringPromptTemplate):
    """A text with names to be replaced: a Runnable from their values to a prompt value.

    Args:
        template: The text.
        template_format: "f-string" (`{name}`) or "mustache" (`{{name}}`).
        validate_template: Check `input_variables` instead of taking them from the template.
        values: The fields of `BasePromptTemplate`.

    Raises:
        InvalidTemplateError: The template cannot be read.

    >>> prompt = PromptTemplate.from_template("{count} {thing}s")
    >>> prompt.invoke({"count": 3, "thing": "cat"}).to_string()
    '3 cats'
    >>> (prompt.partial(thing="dog") + "!").format(count=2)
    '2 dogs!'
    """

    __plait_namespace__ = ("langchain", "prompts", "prompt")

    template: str
    template_format: PromptTemplateFormat = "f-string"
    validate_template: bool = False

    def __init__(self, **values: Any) -> None:
        text = values.get("template")
        if text is None:
            raise InvalidTemplateError("PromptTemplate needs a `template`: the text of the prompt.")
        template_format = values.get("template_format", "f-string")
        partials: Mapping[str, Any] = values.get("partial_variables") or {}
        names = read_template(text, template_format).names
        if values.get("validate_template"):
            given = [*values.get("input_variables", ()), *partials]
            check_valid_template(text, template_format, given)
        values["partial_variables"] = partials
        values["input_variables"] = sorted(names.difference(partials))
        super().__init__(**values)

    @property
    def _prompt_type(self) -> str:
        return "prompt"

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A pydantic model of the variables."""
        if self.template_format != "mustache":
            return super().get_input_schema(config)
        from plait.prompts.schemas import model_of_mustache  # schemas alone need pydantic

        return model_of_mustache(Mustache(self.template))

    def format(self, **kwargs: Any) -> str:
        """The text with the values filled in.

        Raises:
            MissingVariablesError: A variable has no value.
        """
        values = self._with_partials(kwargs)
        try:
            return read_template(self.template, self.template_format).fill(values)
        except KeyError:
            if all(name in values for name in self.input_variables):
                raise  # of a value that cannot show itself
            raise self._missing_variables(values) from None

    def __add__(self, other: object) -> "PromptTemplate":
        if isinstance(other, str):
            other = PromptTemplate(template=other, template_format=self.template_format)
        if not isinstance(other, PromptTemplate):
            raise NotImplementedError(
                f"A prompt and {type(other).__name__} do not add. Add a text or a PromptTemplate."
            )
        if other.template_format != self.template_format:
            raise InvalidTemplateError(
                f"A template in {self.template_format} and one in {other.template_format} do not "
                "add: write both in one format."
            )
        twice = sorted(set(self.partial_variables).intersection(other.partial_variables))
        if twice:
            raise InvalidTemplateError(f"Both prompts have values for {twice}: give them to one.")
        return PromptTemplate(
            template=self.template + other.template,
            template_format=self.template_format,
            partial_variables={**self.partial_variables, **other.partial_variables},
            validate_template=self.validate_template and other.validate_template,
        )

    @classmethod
    def from_template(
        cls,
        template: str,
        *,
        template_format: PromptTemplateFormat = "f-string",
        partial_variables: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A prompt from its text; its variables are the names in it."""
        ahead = dict(partial_variables or {})
        return cls(
            template=template, template_format=template_format, partial_variables=ahead, **kwargs
        )

    @classmethod
    def from_file(
        cls, template_file: str | Path, encoding: str | None = None, **kwargs: Any
    ) -> Self:
        """A prompt from a file that holds its text."""
        return cls.from_template(Path(template_file).read_text(encoding), **kwargs)

    @classmethod
    def from_examples(
        cls,
        examples: Sequence[str],
        suffix: str,
        input_variables: Sequence[str],
        example_separator: str = "\n\n",
        prefix: str = "",
        **kwargs: Any,
    ) -> Self:
        """A prompt of a prefix, examples and a suffix, each apart from the next."""
        template = example_separator.join([prefix, *examples, suffix])
        return cls(template=template, input_variables=list(input_variables), **kwargs)


__all__ = ["PromptTemplate"]
