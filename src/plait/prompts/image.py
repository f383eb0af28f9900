"""`ImagePromptTemplate`: an image in a message, its address and detail filled in."""

from typing import Any, cast

from plait.errors import InvalidTemplateError, InvalidValueError
from plait.prompt_values import ImagePromptValue, ImageURL, PromptValue
from plait.prompts.base import BasePromptTemplate
from plait.prompts.template_formats import PromptTemplateFormat, read_template

_TAKEN = frozenset(("url", "path", "detail"))


class ImagePromptTemplate(BasePromptTemplate):
    """An image, given by its address.

    Args:
        template: `url` and `detail`; their texts are templates.
        template_format: How they are written.
        values: The fields of `BasePromptTemplate`.

    Raises:
        InvalidTemplateError: A variable is called `url`, `path` or `detail`.

    >>> picture = ImagePromptTemplate(template={"url": "https://example.org/{name}.png"})
    >>> picture.format(name="cat")
    {'url': 'https://example.org/cat.png'}
    """

    __plait_namespace__ = ("langchain", "prompts", "image")

    template: dict[str, Any] = {}  # noqa: RUF012 - a field, copied for each instance
    template_format: PromptTemplateFormat = "f-string"

    def __init__(self, **values: Any) -> None:
        names = set(values.get("input_variables", ()))
        template_format = values.get("template_format", "f-string")
        template: dict[str, Any] = values.get("template") or {}
        for text in template.values():
            if isinstance(text, str):
                names |= read_template(text, template_format).names
        taken = sorted(names & _TAKEN)
        if taken:
            raise InvalidTemplateError(
                f"The variables {taken} of an image prompt have the names of its own parts. "
                "Rename them."
            )
        ahead: dict[str, Any] = values.get("partial_variables") or {}
        values["input_variables"] = sorted(names.difference(ahead))
        super().__init__(**values)

    @property
    def _prompt_type(self) -> str:
        return "image-prompt"

    def format(self, **kwargs: Any) -> ImageURL:
        """The image with the values filled in.

        Raises:
            InvalidValueError: It has no address, or a path in its place.
        """
        values = self._with_partials(kwargs)
        filled = {
            key: read_template(text, self.template_format).fill(values)
            if isinstance(text, str)
            else text
            for key, text in self.template.items()
        }
        if "path" in kwargs or "path" in filled:
            raise InvalidValueError(
                "An image is given by its `url`; files named by a `path` are never read. Put the "
                "file into a data URL: data:image/png;base64,..."
            )
        url = kwargs.get("url") or filled.get("url")
        if not isinstance(url, str) or not url:
            raise InvalidValueError("An image needs a `url`; this prompt gives none.")
        image: ImageURL = {"url": url}
        detail = kwargs.get("detail") or filled.get("detail")
        if detail:
            image["detail"] = cast("Any", detail)
        return image

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """The image as a prompt value."""
        return ImagePromptValue(self.format(**kwargs))

    def pretty_repr(self, html: bool = False) -> str:
        """The image for people; not written yet by anyone.

        Raises:
            NotImplementedError: always, as in LangChain.
        """
        raise NotImplementedError("An image prompt has no text to show.")


__all__ = ["ImagePromptTemplate"]
