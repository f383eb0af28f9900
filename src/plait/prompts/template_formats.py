"""The formats that templates are written in, and templates that have been read, by their text."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from plait.errors import InvalidTemplateError
from plait.prompts.fstring import FString
from plait.prompts.mustache import Mustache

PromptTemplateFormat = Literal["f-string", "mustache"]
"""How a template is written."""


@lru_cache(512)
def read_template(template: str, template_format: str) -> FString | Mustache:
    """A template, read; reading the same one again is free.

    Raises:
        InvalidTemplateError: It cannot be read, or the format is unknown.
    """
    if template_format == "f-string":
        return FString(template)
    if template_format == "mustache":
        return Mustache(template)
    if template_format == "jinja2":
        raise InvalidTemplateError(
            "Templates in jinja2 run code, and a template is data here: write it as an f-string "
            "template ({name}) or in mustache ({{name}}, sections and lists)."
        )
    raise InvalidTemplateError(
        f"Unsupported template format: {template_format!r}. Use 'f-string' or 'mustache'."
    )


def get_template_variables(template: str, template_format: str) -> list[str]:
    """The names in a template, sorted.

    Raises:
        InvalidTemplateError: It cannot be read, or the format is unknown.

    >>> get_template_variables("{b} {a} {b}", "f-string")
    ['a', 'b']
    """
    return sorted(read_template(template, template_format).names)


def check_valid_template(
    template: str, template_format: str, input_variables: Iterable[str]
) -> None:
    """Check that variables are all that a template needs.

    Raises:
        InvalidTemplateError: It needs another one, or cannot be read.
    """
    if template_format != "f-string":
        raise InvalidTemplateError(
            f"Invalid template format {template_format!r}: only f-string templates can be checked."
        )
    given = list(input_variables)
    missing = sorted(read_template(template, template_format).names.difference(given))
    if missing:
        raise InvalidTemplateError(
            f"The template needs {missing}, which are not among its variables {given}."
        )
