"""Helpers that packages around LangGraph import, from where they import them."""

from contextlib import suppress
from typing import Annotated, Any, Generic, TypeVar

from langchain_core.caches import RETURN_VAL_TYPE
from langchain_core.language_models import LangSmithParams
from langchain_core.messages.content import KNOWN_BLOCK_TYPES
from langchain_core.messages.utils import convert_to_openai_data_block, is_data_content_block
from langchain_core.prompts.chat import MessageLikeRepresentation
from langchain_core.tools.base import get_all_basemodel_annotations
from langchain_core.utils import get_pydantic_field_names, pre_init
from langchain_core.utils.pydantic import PydanticBaseModel, TypeBaseModel
from langgraph.checkpoint.base import ERROR
from langgraph.checkpoint.base import RunnableConfig as ConfigOfSavers
from langgraph.checkpoint.base import uuid6 as uuid6_of_base
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph.state import RunnableConfig, StateGraph, StateNodeSpec
from langgraph.prebuilt.chat_agent_executor import StructuredResponse, StructuredResponseSchema
from langgraph.pregel.debug import CheckpointPayload, TaskPayload, TaskResultPayload
from langgraph.typing import StateLike
from pydantic import BaseModel, Field

T = TypeVar("T")
B = TypeVar("B", bound=int)


class Page(BaseModel):
    size: int = Field(10, alias="pageSize")
    title: Annotated[str, "shown"] = ""


class Of(Page, Generic[T]):
    item: T
    size: float


class Bound(BaseModel, Generic[B]):
    one: B


class Named(BaseModel):
    size: int = 3
    title: str | None = None

    @pre_init
    def name_it(cls, values):
        return {**values, "title": f"{values['size']} lines"}


def case_annotations_of_models(env):
    told = []
    for model in (Page, Of, Of[int], Of[list[str]], Bound, Bound[bool]):
        told.append([(k, str(v)) for k, v in get_all_basemodel_annotations(model).items()])
    return told


def case_names_of_fields(env):
    return [sorted(get_pydantic_field_names(model)) for model in (Page, Named)]


def case_before_a_model_is_made(env):
    told = [Named().model_dump(), Named(size=5).model_dump(), Named(title="x").model_dump()]
    with suppress(ValueError):
        told.append(Named(size="many").model_dump())
    return told


def case_ids_of_checkpoints(env):
    ids = [uuid6() for _ in range(50)]
    fixed = uuid6(node=7, clock_seq=5)
    return (
        {each.version for each in ids},
        [*map(str, ids)] == sorted(map(str, ids)),
        len({*ids}),
        (fixed.node, fixed.clock_seq, uuid6(clock_seq=-2).clock_seq),
        uuid6_of_base is uuid6,
    )


def case_blocks(env):
    blocks = [
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "image", "base64": "aaaa", "mime_type": "image/png"},
        {"type": "file", "base64": "aaaa", "mime_type": "application/pdf", "filename": "a.pdf"},
        {"type": "audio", "base64": "aaaa", "mime_type": "audio/wav"},
    ]
    told: list[Any] = [[is_data_content_block(each) for each in [*blocks, {"type": "text"}]]]
    told += [convert_to_openai_data_block(each) for each in blocks]
    return told, sorted(KNOWN_BLOCK_TYPES)


def case_names_of_types(env):
    return (
        RunnableConfig is ConfigOfSavers,
        issubclass(Page, PydanticBaseModel) if isinstance(PydanticBaseModel, type) else True,
        ERROR,
        sorted(LangSmithParams.__annotations__),
        all(
            each is not None
            for each in (
                RETURN_VAL_TYPE,
                MessageLikeRepresentation,
                StructuredResponse,
                StructuredResponseSchema,
                CheckpointPayload,
                TaskPayload,
                TaskResultPayload,
                TypeBaseModel,
            )
        ),
    )


def case_names_of_states_and_nodes(env):
    builder = StateGraph(dict).add_node("n", lambda state: state)
    return StateLike is not None, [isinstance(one, StateNodeSpec) for one in builder.nodes.values()]
