"""`StringPromptTemplate`: a prompt that is one text. Base of `PromptTemplate` and users' own."""

from typing import Any

from plait.prompt_values import PromptValue, StringPromptValue
from plait.prompts.base import BasePromptTemplate
from plait.prompts.template_formats import (
    PromptTemplateFormat,
    check_valid_template,
    get_template_variables,
)


class StringPromptTemplate(BasePromptTemplate, init=False):
    """A prompt that is one text. A subclass defines `format`.

    >>> class Shout(StringPromptTemplate):
    ...     end: str = "!"
    ...     def format(self, **kwargs):
    ...         return kwargs["what"].upper() + self.end
    >>> Shout(input_variables=["what"]).invoke("hi").to_string()
    'HI!'
    """

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """The text as a prompt value."""
        return StringPromptValue(self.format(**kwargs))

    async def aformat_prompt(self, **kwargs: Any) -> PromptValue:
        """The async twin of `format_prompt`."""
        return StringPromptValue(await self.aformat(**kwargs))

    def pretty_repr(self, html: bool = False) -> str:
        """The text for people, with the names of its variables in the place of values.

        Args:
            html: Mark the variables, for a terminal.
        """
        names = self.input_variables
        return self.format(**{name: marked(name) if html else f"{{{name}}}" for name in names})

    def pretty_print(self) -> None:
        """Print the text for people."""
        print(self.pretty_repr())


def marked(name: str) -> str:
    """The name of a variable, bold and yellow in a terminal."""
    return f"\x1b[33;1m\x1b[1;3m{{{name}}}\x1b[0m"


__all__ = [
    "PromptTemplateFormat",
    "StringPromptTemplate",
    "check_valid_template",
    "get_template_variables",
]
