"""f-string templates: `{name}`, and how its value is shown (`{name!r}`, `{price:.2f}`).

A template is data, never code: what stands between the braces is the name of a variable and
nothing else. A template is read once, into parts; filling it in only joins them.
"""

import re
from collections.abc import Mapping
from string import Formatter
from typing import Any

from plait.errors import InvalidTemplateError

_CONVERSIONS = {"r": repr, "s": str, "a": ascii}
_FORMATTER = Formatter()
_WIDE = re.compile(r"\d{5}")


class FString:
    """A template, read.

    Args:
        template: The text.

    Raises:
        InvalidTemplateError: It is no template, or asks for more than names to be replaced.

    >>> FString("{who} said {what!r}").fill({"who": "Ann", "what": "hi"})
    "Ann said 'hi'"
    """

    __slots__ = ("_parts", "names")

    def __init__(self, template: str) -> None:
        self._parts: list[tuple[str, str | None, str, str | None]] = []
        try:
            for literal, name, spec, conversion in _FORMATTER.parse(template):
                if name is not None:
                    _check(template, name, spec or "", conversion)
                self._parts.append((literal, name, spec or "", conversion))
        except InvalidTemplateError:
            raise
        except ValueError as error:
            raise InvalidTemplateError(
                f"This is no f-string template: {error}. A brace that is meant as text is doubled: "
                f"{{{{ and }}}}. The template: {_shown(template)}."
            ) from error
        self.names = frozenset(name for _, name, _, _ in self._parts if name is not None)

    def fill(self, values: Mapping[str, Any]) -> str:
        """The text, with the values in the place of their names.

        Raises:
            KeyError: A name has no value.
        """
        out: list[str] = []
        for literal, name, spec, conversion in self._parts:
            out.append(literal)
            if name is not None:
                value = values[name]
                if conversion:
                    value = _CONVERSIONS[conversion](value)
                out.append(format(value, spec))
        return "".join(out)


def _check(template: str, name: str, spec: str, conversion: str | None) -> None:
    if not name or name.isdigit():
        reason = f"{{{name}}} has no name; values are given by name"
    elif "." in name or "[" in name or "]" in name:
        reason = (
            f"{{{name}}} looks into a value. A template replaces plain names only: "
            "pass that value under a name of its own"
        )
    elif "{" in spec or "}" in spec:
        reason = f"{{{name}:{spec}}} has braces inside braces"
    elif _WIDE.search(spec):
        reason = f"{{{name}:{spec}}} asks for a text of more than 9,999 characters"
    elif conversion is not None and conversion not in _CONVERSIONS:
        reason = f"!{conversion} is unknown; there are !r, !s and !a"
    else:
        return
    raise InvalidTemplateError(
        f"{reason}. Double the braces if they are meant as text. The template: {_shown(template)}."
    )


def _shown(template: str) -> str:
    return repr(template if len(template) <= 200 else template[:197] + "...")
