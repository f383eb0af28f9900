"""`RepairingOutputParser`: when parsing fails, the model is shown its answer and the error."""

from typing import Any, TypeVar

from plait.exceptions import OutputParserException
from plait.objects.fields import AnnotatedFields
from plait.output_parsers.base import BaseOutputParser, generation_of
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import acall_as_run, call_as_run, child_config

T = TypeVar("T")


class RepairingOutputParser(AnnotatedFields, Runnable[Any, T]):
    """A parser that asks a model to mend what cannot be parsed.

    The answer is parsed whole: while it streams, nobody can know yet that it is wrong.

    Args:
        parser: The parser.
        model: A Runnable from a text to an answer (a chat model, a chain).
        attempts: How often the model is asked again.

    Raises:
        OutputParserException: When called: the last answer cannot be parsed either.

    >>> from plait.chat_models.fake import FakeListChatModel
    >>> from plait.output_parsers import JsonOutputParser
    >>> model = FakeListChatModel(responses=['{"a": 1}'])
    >>> JsonOutputParser().with_repair(model).invoke("a is 1")
    {'a': 1}
    """

    name: str | None = None
    parser: BaseOutputParser[Any]
    model: Any
    attempts: int = 1

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> T:
        """Parse; if that fails, ask the model and parse its answer."""

        def work(config: RunnableConfig, run: Any) -> T:
            said, left = input, self.attempts
            while True:
                try:
                    return self.parser.invoke(said, child_config(config, run, "parse"))
                except OutputParserException as error:
                    if left <= 0:
                        raise
                    left -= 1
                    request = self.request(said, error)
                said = self.model.invoke(request, child_config(config, run, "repair"))

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> T:
        """The async twin of `invoke`."""

        async def work(config: RunnableConfig, run: Any) -> T:
            said, left = input, self.attempts
            while True:
                try:
                    return await self.parser.ainvoke(said, child_config(config, run, "parse"))
                except OutputParserException as error:
                    if left <= 0:
                        raise
                    left -= 1
                    request = self.request(said, error)
                said = await self.model.ainvoke(request, child_config(config, run, "repair"))

        return await acall_as_run(work, self.get_name(), input, config)

    def get_format_instructions(self) -> str:
        """What to tell a model so that its answer can be parsed."""
        return self.parser.get_format_instructions()

    def request(self, said: Any, error: OutputParserException) -> str:
        """What the model is asked: its answer, what is wrong with it, and what is expected."""
        try:
            expected = self.parser.get_format_instructions()
        except NotImplementedError:
            expected = "The same answer in a form without that error."
        return (
            "An answer could not be read by the program that it was meant for. Give it again, "
            "mended, and say nothing else.\n\n"
            f"The answer:\n{generation_of(self, said).text}\n\n"
            f"What is wrong:\n{error}\n\n"
            f"What is expected:\n{expected}"
        )


__all__ = ["RepairingOutputParser"]
