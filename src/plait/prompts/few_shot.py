"""Few-shot prompts: examples, given or chosen for each input, shown before the question."""

from collections.abc import Sequence
from typing import Any, cast

from plait.errors import InvalidTemplateError
from plait.prompts.chat import BaseChatPromptTemplate
from plait.prompts.message import BaseMessagePromptTemplate
from plait.prompts.prompt import PromptTemplate
from plait.prompts.string import StringPromptTemplate
from plait.prompts.template_formats import (
    PromptTemplateFormat,
    check_valid_template,
    read_template,
)


class FewShotPromptTemplate(StringPromptTemplate):
    """A text of a prefix, examples and a suffix.

    The values of examples are shown as they are: braces in them are text.

    Args:
        examples: Values for `example_prompt`; or an `example_selector` that chooses them.
        example_prompt: How an example becomes text.
        suffix: The template of what comes after.
        prefix: The template of what comes before.
        example_separator: What stands between the parts.
        template_format: How prefix and suffix are written.
        validate_template: Check `input_variables` instead of taking them from the templates.

    Raises:
        InvalidTemplateError: A template cannot be read, or there are not exactly one of
            `examples` and `example_selector`.

    >>> prompt = FewShotPromptTemplate(
    ...     examples=[{"q": "1+1", "a": "2"}],
    ...     example_prompt=PromptTemplate.from_template("{q}={a}"),
    ...     suffix="{question}=",
    ...     example_separator="; ",
    ... )
    >>> prompt.format(question="2+2")
    '1+1=2; 2+2='
    """

    examples: list[dict[str, Any]] | None = None
    example_selector: Any = None
    example_prompt: PromptTemplate
    suffix: str
    example_separator: str = "\n\n"
    prefix: str = ""
    template_format: PromptTemplateFormat = "f-string"
    validate_template: bool = False

    def __init__(self, **values: Any) -> None:
        _one_source(values)
        template_format = values.get("template_format", "f-string")
        ahead: dict[str, Any] = values.get("partial_variables") or {}
        texts = (values.get("prefix", ""), values.get("suffix", ""))
        if values.get("validate_template"):
            given = [*values.get("input_variables", ()), *ahead]
            check_valid_template("".join(texts), template_format, given)
        names = frozenset[str]().union(*(read_template(t, template_format).names for t in texts))
        values["input_variables"] = sorted(names.difference(ahead))
        super().__init__(**values)

    @property
    def _prompt_type(self) -> str:
        return "few_shot"

    def format(self, **kwargs: Any) -> str:
        """The text with the values filled in.

        Raises:
            MissingVariablesError: A variable has no value.
        """
        values = self._with_partials(kwargs)
        return self._joined(_chosen(self, values), values)

    async def aformat(self, **kwargs: Any) -> str:
        """The async twin of `format`."""
        values = self._with_partials(kwargs)
        return self._joined(await _achosen(self, values), values)

    def _joined(self, examples: Sequence[dict[str, Any]], values: dict[str, Any]) -> str:
        for name in self.input_variables:
            if name not in values:
                raise self._missing_variables(values)
        wanted = self.example_prompt.input_variables
        shown = [
            self.example_prompt.format(**{name: one[name] for name in wanted if name in one})
            for one in examples
        ]
        before, after = (  # one that is written stays a part, whatever its values make of it
            [read_template(text, self.template_format).fill(values)] if text else []
            for text in (self.prefix, self.suffix)
        )
        return self.example_separator.join([*before, *filter(None, shown), *after])


class FewShotPromptWithTemplates(StringPromptTemplate):
    """A few-shot text whose prefix and suffix are prompts of their own.

    Args:
        examples: Values for `example_prompt`; or an `example_selector` that chooses them.
        example_prompt: How an example becomes text.
        suffix: The prompt that comes after.
        prefix: The prompt that comes before.
        example_separator: What stands between the parts.
        validate_template: Check `input_variables` instead of taking them from the prompts.
    """

    __plait_namespace__ = ("langchain", "prompts", "few_shot_with_templates")

    examples: list[dict[str, Any]] | None = None
    example_selector: Any = None
    example_prompt: PromptTemplate
    suffix: StringPromptTemplate
    example_separator: str = "\n\n"
    prefix: StringPromptTemplate | None = None
    template_format: PromptTemplateFormat = "f-string"
    validate_template: bool = False

    def __init__(self, **values: Any) -> None:
        _one_source(values)
        prompts = [values[key] for key in ("prefix", "suffix") if values.get(key) is not None]
        names = {name for prompt in prompts for name in prompt.input_variables}
        given = values.get("input_variables")
        if values.get("validate_template") and names.difference(given or ()):
            raise InvalidTemplateError(
                f"The prompts need {sorted(names)}, not only the input_variables {given}."
            )
        ahead: dict[str, Any] = values.get("partial_variables") or {}
        values["input_variables"] = sorted(names.difference(ahead))
        super().__init__(**values)

    @property
    def _prompt_type(self) -> str:
        return "few_shot_with_templates"

    def format(self, **kwargs: Any) -> str:
        """The text with the values filled in."""
        values = self._with_partials(kwargs)
        return self._joined(_chosen(self, values), values)

    async def aformat(self, **kwargs: Any) -> str:
        """The async twin of `format`."""
        values = self._with_partials(kwargs)
        return self._joined(await _achosen(self, values), values)

    def _joined(self, examples: Sequence[dict[str, Any]], values: dict[str, Any]) -> str:
        parts = [self.example_prompt.format(**one) for one in examples]
        if self.prefix is not None:
            parts.insert(0, self.prefix.format(**values))
        parts.append(self.suffix.format(**values))
        return self.example_separator.join(part for part in parts if part)


class FewShotChatMessagePromptTemplate(BaseChatPromptTemplate):
    """Examples as messages: each is a little chat. Goes among the messages of a chat prompt.

    Args:
        examples: Values for `example_prompt`; or an `example_selector` that chooses them.
        example_prompt: How an example becomes messages.
        input_variables: What the selector is given.

    Raises:
        InvalidTemplateError: There are not exactly one of `examples` and `example_selector`.

    >>> from plait.prompts import ChatPromptTemplate
    >>> examples = FewShotChatMessagePromptTemplate(
    ...     examples=[{"q": "1+1", "a": "2"}],
    ...     example_prompt=ChatPromptTemplate([("human", "{q}"), ("ai", "{a}")]),
    ... )
    >>> [message.content for message in examples.format_messages()]
    ['1+1', '2']
    """

    examples: list[dict[str, Any]] | None = None
    example_selector: Any = None
    input_variables: list[str] = []  # noqa: RUF012 - a field, copied for each instance
    example_prompt: BaseMessagePromptTemplate | BaseChatPromptTemplate

    def __init__(self, **values: Any) -> None:
        _one_source(values)
        super().__init__(**values)

    def format_messages(self, **kwargs: Any) -> list[Any]:
        """The messages of the examples."""
        return self._messages(_chosen(self, kwargs))

    async def aformat_messages(self, **kwargs: Any) -> list[Any]:
        """The async twin of `format_messages`."""
        return self._messages(await _achosen(self, kwargs))

    def _messages(self, examples: Sequence[dict[str, Any]]) -> list[Any]:
        wanted = self.example_prompt.input_variables
        return [
            message
            for one in examples
            for message in self.example_prompt.format_messages(
                **{name: one[name] for name in wanted if name in one}
            )
        ]


def _one_source(values: dict[str, Any]) -> None:
    given = values.get("examples") is not None
    chosen = values.get("example_selector") is not None
    if given == chosen:
        raise InvalidTemplateError(
            "Only one of 'examples' and 'example_selector' should be provided"
            if given
            else "One of 'examples' and 'example_selector' should be provided"
        )


def _chosen(prompt: Any, values: dict[str, Any]) -> Sequence[dict[str, Any]]:
    if prompt.examples is not None:
        return cast("Sequence[dict[str, Any]]", prompt.examples)
    return prompt.example_selector.select_examples(values)


async def _achosen(prompt: Any, values: dict[str, Any]) -> Sequence[dict[str, Any]]:
    if prompt.examples is not None:
        return cast("Sequence[dict[str, Any]]", prompt.examples)
    return await prompt.example_selector.aselect_examples(values)


__all__ = [
    "FewShotChatMessagePromptTemplate",
    "FewShotPromptTemplate",
    "FewShotPromptWithTemplates",
]
