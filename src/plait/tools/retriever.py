"""A retriever as a tool."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from plait.tools.structured import StructuredTool


class RetrieverInput(BaseModel):
    """The arguments of a retriever tool."""

    query: str = Field(description="query to look up in retriever")


def create_retriever_tool(
    retriever: Any,
    name: str,
    description: str,
    *,
    document_prompt: Any = None,
    document_separator: str = "\n\n",
    response_format: Literal["content", "content_and_artifact"] = "content",
) -> StructuredTool:
    """A tool that answers a query with the text of the documents that a retriever finds.

    Args:
        retriever: The retriever, plait's or langchain_core's.
        name: What the model calls it.
        description: What the model reads.
        document_prompt: A prompt template for each document, of `page_content` and its metadata;
            by default the text alone.
        document_separator: What stands between two documents.
        response_format: "content_and_artifact" keeps the documents as the message's artifact.
    """

    def answer(found: Sequence[Any]) -> Any:
        text = document_separator.join(_shown(one, document_prompt) for one in found)
        return (text, list(found)) if response_format == "content_and_artifact" else text

    def search(query: str) -> Any:
        return answer(retriever.invoke(query))

    async def asearch(query: str) -> Any:
        return answer(await retriever.ainvoke(query))

    return StructuredTool(
        name=name,
        description=description,
        func=search,
        coroutine=asearch,
        args_schema=RetrieverInput,
        response_format=response_format,
    )


def _shown(document: Any, prompt: Any) -> str:
    if prompt is None:
        return document.page_content
    from plait.prompts import format_document  # only where there is a prompt

    return format_document(document, prompt)
