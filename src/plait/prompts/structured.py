"""`StructuredPrompt`: a chat prompt that brings the schema of its answer to the model after it."""

from collections.abc import Mapping, Sequence
from typing import Any

from plait.errors import InvalidTemplateError, NotSupportedError
from plait.objects.fields import fields_of
from plait.prompts.chat import ChatPromptTemplate
from plait.prompts.template_formats import PromptTemplateFormat
from plait.runnables import Runnable


class StructuredPrompt(ChatPromptTemplate):
    """A chat prompt with a schema: the model that it is piped to answers in its form.

    Args:
        messages: As for `ChatPromptTemplate`.
        schema_: What `with_structured_output` of the model takes.
        structured_output_kwargs: What else it takes; other keywords that are no fields, too.

    Raises:
        InvalidTemplateError: There is no schema.

    >>> prompt = StructuredPrompt([("human", "{question}")], {"title": "Answer"}, strict=True)
    >>> prompt.schema_, prompt.structured_output_kwargs
    ({'title': 'Answer'}, {'strict': True})
    """

    __plait_namespace__ = ("langchain_core", "prompts", "structured")

    schema_: Any
    structured_output_kwargs: dict[str, Any]

    def __init__(
        self,
        messages: Sequence[Any],
        schema_: Any = None,
        *,
        structured_output_kwargs: dict[str, Any] | None = None,
        template_format: PromptTemplateFormat = "f-string",
        **values: Any,
    ) -> None:
        schema = schema_ or values.pop("schema", None)
        if not schema:
            raise InvalidTemplateError(
                f"A StructuredPrompt needs the schema of the answer, not {schema!r}: a pydantic "
                "class or a JSON schema."
            )
        known = fields_of(type(self))
        options = {name: values.pop(name) for name in [*values] if name not in known}
        super().__init__(
            messages,
            template_format=template_format,
            schema_=schema,
            structured_output_kwargs={**(structured_output_kwargs or {}), **options},
            **values,
        )

    @classmethod
    def from_messages_and_schema(
        cls, messages: Sequence[Any], schema: Any, **kwargs: Any
    ) -> "StructuredPrompt":
        """From messages, a schema, and what else `with_structured_output` takes."""
        return cls(messages, schema, **kwargs)

    def __or__(self, other: Any) -> Runnable[Mapping[str, Any], Any]:
        return self.pipe(other)

    def pipe(self, *others: Any, name: str | None = None) -> Runnable[Mapping[str, Any], Any]:
        """This prompt, the model with the schema, and further steps.

        Raises:
            NotSupportedError: What comes first is no model.
        """
        if not others:
            return super().pipe(name=name)
        model, *rest = others
        if isinstance(model, type) or not hasattr(model, "with_structured_output"):
            raise NotSupportedError(
                "A StructuredPrompt is piped to a language model, which answers in the form of "
                f"its schema; {type(model).__name__} is none. Put the model right after it."
            )
        asked: Runnable[Any, Any] = model.with_structured_output(
            self.schema_, **self.structured_output_kwargs
        )
        return super().pipe(asked, *rest, name=name)


__all__ = ["StructuredPrompt"]
