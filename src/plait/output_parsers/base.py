"""What parsers have in common: they take what a model said and give what the program needs.

`BaseOutputParser` is what users derive from: define `parse`.
"""

import builtins  # `dict` is a method here
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from plait.chat_models.results import ChatGeneration, Generation
from plait.errors import InvalidValueError
from plait.messages import AnyMessage
from plait.messages.foreign import is_message
from plait.objects.abstract import Abstract
from plait.objects.fields import AnnotatedFields
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, run_in_executor
from plait.runnables.runs import acall_as_run, call_as_run

if TYPE_CHECKING:
    from plait.output_parsers.repair import RepairingOutputParser

T = TypeVar("T")


class BaseLLMOutputParser(Abstract, Generic[T]):
    """Parses the candidates of a model's answer. A subclass defines `parse_result`."""

    __slots__ = ()

    @abstractmethod
    def parse_result(self, result: list[Any], *, partial: bool = False) -> T:
        """Parse the candidates of an answer.

        Args:
            result: Generations; the first is the likeliest.
            partial: The answer may be cut off.
        """

    async def aparse_result(self, result: list[Any], *, partial: bool = False) -> T:
        """The async twin of `parse_result`; here on a thread."""
        return await run_in_executor(None, self.parse_result, result, partial=partial)


class BaseGenerationOutputParser(
    AnnotatedFields, BaseLLMOutputParser[T], Runnable[Any, T], init=False
):
    """A Runnable that parses what a model said. A subclass defines `parse_result`."""

    name: str | None = None

    @property
    def InputType(self) -> Any:
        """A text or a message."""
        return str | AnyMessage

    @property
    def OutputType(self) -> Any:
        """The class's type argument; anything if it has none."""
        found: Any = getattr(type(self), "__orig_bases__", ())
        for base in found:
            for argument in getattr(base, "__args__", ()):
                if not isinstance(argument, TypeVar):
                    return argument
        return Any

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> T:
        """Parse a text or a message.

        Raises:
            OutputParserException: It is not what is expected.
            InvalidValueError: The input is neither a text nor a message.
        """
        return call_as_run(
            lambda _config, _run: self.parse_result([generation_of(self, input)]),
            self.get_name(),
            input,
            config,
            run_type="parser",
        )

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> T:
        """The async twin of `invoke`."""

        async def work(_config: Any, _run: Any) -> T:
            return await self.aparse_result([generation_of(self, input)])

        return await acall_as_run(work, self.get_name(), input, config, run_type="parser")

    def run_unheard(self, input: Any, config: RunnableConfig) -> T:
        """`invoke` when nobody listens."""
        return self.parse_result([generation_of(self, input)])

    async def arun_unheard(self, input: Any, config: RunnableConfig) -> T:
        """`ainvoke` when nobody listens."""
        return await self.aparse_result([generation_of(self, input)])


class BaseOutputParser(BaseGenerationOutputParser[T], init=False):
    """A Runnable that parses the text of what a model said. A subclass defines `parse`.

    Annotated fields of a subclass are its keyword arguments.

    >>> class YesOrNo(BaseOutputParser[bool]):
    ...     yes: str = "YES"
    ...     def parse(self, text):
    ...         return text.strip().upper() == self.yes
    >>> YesOrNo().invoke(" yes ")
    True
    """

    @abstractmethod
    def parse(self, text: str) -> T:
        """Parse a text.

        Raises:
            OutputParserException: It is not what is expected.
        """

    async def aparse(self, text: str) -> T:
        """The async twin of `parse`; here on a thread."""
        return await run_in_executor(None, self.parse, text)

    def parse_result(self, result: list[Any], *, partial: bool = False) -> T:
        """Parse the text of the first candidate."""
        return self.parse(result[0].text)

    def parse_with_prompt(self, completion: str, prompt: Any) -> T:
        """Parse a text, knowing the prompt that it answers; here the prompt is not needed."""
        return self.parse(completion)

    def get_format_instructions(self) -> str:
        """What to tell a model so that its answer can be parsed."""
        raise NotImplementedError(f"{type(self).__name__} has no instructions for a model.")

    def with_repair(self, model: Any, *, attempts: int = 1) -> "RepairingOutputParser[T]":
        """This parser, which shows the model its answer and the error when parsing fails.

        Args:
            model: A Runnable from a prompt to an answer.
            attempts: How often it is asked again.
        """
        from plait.output_parsers.repair import RepairingOutputParser  # builds on this module

        return RepairingOutputParser(parser=self, model=model, attempts=attempts)

    @property
    def _type(self) -> str:
        """What kind of parser this is, for `asdict`."""
        raise NotImplementedError(f"{type(self).__name__} has no _type; `asdict` needs one.")

    def asdict(self, **kwargs: Any) -> builtins.dict[str, Any]:
        """`model_dump`, with `_type` if there is one."""
        fields = self.model_dump(**kwargs)
        with suppress(NotImplementedError):
            fields["_type"] = self._type
        return fields

    def dict(self, **kwargs: Any) -> Any:
        """`asdict`, under its older name."""
        return self.asdict(**kwargs)


def generation_of(parser: Runnable[Any, Any], said: Any) -> Generation:
    """What a model said, as parsers take it.

    Raises:
        InvalidValueError: It is neither a text nor a message.
    """
    if isinstance(said, str):
        return Generation(said)
    if is_message(said):
        return ChatGeneration(said)
    raise InvalidValueError(
        f"{parser.get_name()} parses a text or a message, got {type(said).__name__}: "
        f"{repr(said)[:200]}."
    )


__all__ = ["BaseGenerationOutputParser", "BaseLLMOutputParser", "BaseOutputParser"]
