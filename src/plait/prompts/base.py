"""`BasePromptTemplate`: variables in, a prompt value out; and how a document becomes text."""

import builtins  # `dict` is a method here
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, cast

from plait.errors import (
    ConfigError,
    InvalidInputError,
    InvalidTemplateError,
    InvalidValueError,
    MissingVariablesError,
)
from plait.objects.fields import AnnotatedFields, fields_of
from plait.prompt_values import ChatPromptValueConcrete, PromptValue, StringPromptValue
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config, merge_configs
from plait.runnables.runs import acall_as_run, call_as_run

if TYPE_CHECKING:
    from pydantic import BaseModel


class BasePromptTemplate(AnnotatedFields, Runnable[Mapping[str, Any], PromptValue]):
    """A prompt with variables: a Runnable that takes their values and gives a prompt value.

    A subclass defines `format` and `format_prompt`.

    Args:
        input_variables: The names it needs.
        optional_variables: Names that may be left out.
        input_types: The types of variables that are no text, for schemas.
        output_parser: The parser of what a model answers, for whoever asks.
        partial_variables: Values given ahead, or functions that give them when they are needed.
        metadata: Metadata of its runs.
        tags: Tags of its runs.

    Raises:
        InvalidTemplateError: A variable has a name that is taken, or is needed and given ahead.
    """

    __plait_unwritten__ = ("input_types",)

    name: str | None = None
    input_variables: list[str]
    optional_variables: list[str] = []  # noqa: RUF012 - a field, copied for each instance
    input_types: builtins.dict[str, Any] = {}  # noqa: RUF012 - as above
    output_parser: Any = None
    partial_variables: Mapping[str, Any] = {}
    metadata: builtins.dict[str, Any] | None = None
    tags: list[str] | None = None

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if "stop" in self.input_variables or "stop" in self.partial_variables:
            raise InvalidTemplateError(
                "A prompt cannot have a variable named 'stop': models take an argument of that "
                "name. Rename it."
            )
        if self.partial_variables and (
            both := sorted(set(self.input_variables).intersection(self.partial_variables))
        ):
            raise InvalidTemplateError(
                f"The variables {both} are both needed and given ahead. Name them in "
                "`input_variables` or in `partial_variables`, not in both."
            )

    # --- what a subclass defines -----------------------------------------------------------------

    @abstractmethod
    def format(self, **kwargs: Any) -> Any:
        """The prompt with the values of its variables filled in."""

    async def aformat(self, **kwargs: Any) -> Any:
        """The async twin of `format`."""
        return self.format(**kwargs)

    @abstractmethod
    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """The prompt value with the values of the variables filled in."""

    async def aformat_prompt(self, **kwargs: Any) -> PromptValue:
        """The async twin of `format_prompt`."""
        return self.format_prompt(**kwargs)

    @property
    def _prompt_type(self) -> str:
        """What kind of prompt this is, for `asdict`."""
        raise NotImplementedError(f"{type(self).__name__} must define _prompt_type.")

    # --- as a runnable ---------------------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """The variables by name."""
        return dict[str, Any]

    @property
    def OutputType(self) -> Any:
        """A text or messages."""
        return StringPromptValue | ChatPromptValueConcrete

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A pydantic model of the variables."""
        from plait.prompts.schemas import model_of_variables  # schemas alone need pydantic

        return model_of_variables(self.input_variables, self.optional_variables, self.input_types)

    def get_prompts(self, config: RunnableConfig | None = None) -> list[Any]:
        """This prompt."""
        return [self]

    def invoke(
        self, input: Mapping[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> PromptValue:
        """Fill in the variables.

        Args:
            input: Their values by name; of a single variable the value alone will do.
            config: The config.
            kwargs: Ignored.

        Raises:
            MissingVariablesError: A variable has no value.
            InvalidInputError: The input is no dict and there are several variables.
        """
        return call_as_run(
            lambda _config, _run: self.format_prompt(**self.__checked(input)),
            self.get_name(),
            input,
            self.__config(config),
            **self.__told(),
        )

    def run_unheard(self, input: Mapping[str, Any], config: RunnableConfig) -> PromptValue:
        """`invoke` when nobody listens."""
        return self.format_prompt(**self.__checked(input))

    async def ainvoke(
        self, input: Mapping[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> PromptValue:
        """The async twin of `invoke`."""

        async def work(_config: Any, _run: Any) -> PromptValue:
            return await self.aformat_prompt(**self.__checked(input))

        its_config = self.__config(config)
        return await acall_as_run(work, self.get_name(), input, its_config, **self.__told())

    async def arun_unheard(self, input: Mapping[str, Any], config: RunnableConfig) -> PromptValue:
        """`ainvoke` when nobody listens."""
        return await self.aformat_prompt(**self.__checked(input))

    def __config(self, config: RunnableConfig | None) -> RunnableConfig | None:
        if not self.tags and not self.metadata:
            return config
        own = cast("RunnableConfig", {"tags": self.tags or [], "metadata": self.metadata or {}})
        return merge_configs(ensure_config(config), own)

    def __told(self) -> builtins.dict[str, Any]:
        kind = type(self)
        said: dict[str, Any] = {"lc": 1, "type": "not_implemented", "name": self.get_name()}
        said["id"] = [*kind.__module__.split("."), kind.__qualname__]
        return {"run_type": "prompt", "serialized": said}

    def __checked(self, values: Any) -> builtins.dict[str, Any]:
        if not isinstance(values, dict):
            if len(self.input_variables) != 1:
                raise InvalidInputError(
                    f"{self.get_name()} needs values for {self.input_variables}: pass a dict. "
                    f"Got {type(values).__name__}."
                )
            return {self.input_variables[0]: values}
        given = cast("dict[str, Any]", values)
        for name in self.input_variables:
            if name not in given:
                raise self._missing_variables(given)
        return given

    def _missing_variables(self, given: Mapping[str, Any]) -> MissingVariablesError:
        missing = [name for name in self.input_variables if name not in given]
        return MissingVariablesError(
            f"Input to {self.get_name()} is missing variables {missing}. "
            f"Expected: {self.input_variables}. Received: {list(given)}. If {{{missing[0]}}} is "
            f"meant as text, double its braces: {{{{{missing[0]}}}}}."
        )

    # --- copies ----------------------------------------------------------------------------------

    def partial(self, **kwargs: Any) -> Self:
        """The same prompt with values of some variables given ahead.

        A function is called each time the value is needed.
        """
        return self._changed_copy(
            input_variables=[name for name in self.input_variables if name not in kwargs],
            partial_variables={**self.partial_variables, **kwargs},
        )

    def _changed_copy(self, **changed: Any) -> Self:
        return type(self)(**{**_fields(self), **changed})

    def _with_partials(self, values: builtins.dict[str, Any]) -> builtins.dict[str, Any]:
        """The values and those given ahead; the caller's win."""
        if not self.partial_variables:
            return values
        ahead = {
            name: value() if callable(value) else value
            for name, value in self.partial_variables.items()
            if name not in values
        }
        return {**ahead, **values}

    def asdict(self, **kwargs: Any) -> builtins.dict[str, Any]:
        """`model_dump`, with `_type` where the class tells it."""
        fields = self.model_dump(**kwargs)
        with suppress(NotImplementedError):
            fields["_type"] = self._prompt_type
        return fields

    def dict(self, **kwargs: Any) -> "Mapping[str, Any]":
        """`asdict`, under its older name."""
        return self.asdict(**kwargs)

    def save(self, file_path: Any) -> None:
        """Refused: a prompt that is read back from a file would have to be rebuilt by its class.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            f"{type(self).__name__} is not saved to {str(file_path)!r}: prompts are written in "
            "Python. Keep the template in a text file and read it with "
            "PromptTemplate.from_file()."
        )


def _fields(prompt: BasePromptTemplate) -> dict[str, Any]:
    return {name: getattr(prompt, name) for name in fields_of(type(prompt))}


def format_document(doc: Any, prompt: BasePromptTemplate) -> str:
    """A document as text: its content as `{page_content}`, its metadata under their names.

    Args:
        doc: The document: `page_content` and `metadata`.
        prompt: A text prompt.

    Raises:
        InvalidInputError: The document lacks metadata that the prompt names.
    """
    return prompt.format(**_of_document(doc, prompt))


async def aformat_document(doc: Any, prompt: BasePromptTemplate) -> str:
    """The async twin of `format_document`."""
    return await prompt.aformat(**_of_document(doc, prompt))


def _of_document(doc: Any, prompt: BasePromptTemplate) -> dict[str, Any]:
    known = {"page_content": doc.page_content, **doc.metadata}
    missing = [name for name in prompt.input_variables if name not in known]
    if missing:
        raise InvalidValueError(
            f"The prompt for documents needs the metadata {missing}; this document has "
            f"{sorted(doc.metadata)}."
        )
    return {name: known[name] for name in prompt.input_variables}
