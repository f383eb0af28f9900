"""Small names that authors of runnables, models and handlers import from deep paths."""

import asyncio
import io
from typing import Any

from langchain_core.language_models import ModelProfile
from langchain_core.language_models.fake_chat_models import FakeChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, Generation, LLMResult
from langchain_core.outputs.chat_generation import merge_chat_generation_chunks
from langchain_core.runnables.graph import is_uuid
from langchain_core.runnables.utils import (
    accepts_config,
    accepts_run_manager,
    gather_with_concurrency,
    is_async_callable,
    is_async_generator,
)
from langchain_core.utils import (
    get_bolded_text,
    get_color_mapping,
    get_colored_text,
    print_text,
)
from langchain_core.utils.aiter import aclosing


def case_colours(env: Any) -> Any:
    names = list("abcdef")
    colours = ["blue", "yellow", "pink", "green", "red"]
    return (
        get_color_mapping(names),
        get_color_mapping(names, ["blue", "red"]),
        env.error(lambda: get_color_mapping(names, colours)),
        [get_colored_text("x", colour) for colour in colours],
        env.error(lambda: get_colored_text("x", "black")),
        get_bolded_text("x"),
    )


def case_printed(env: Any) -> Any:
    file = io.StringIO()
    print_text("plain", file=file)
    print_text("green", color="green", end="!", file=file)
    return file.getvalue()


def case_a_model_without_a_script(env: Any) -> Any:
    model = FakeChatModel()
    return model.invoke("hi").content, model._llm_type, model.model_dump()


def case_results_of_each_prompt(env: Any) -> Any:
    generations = [[Generation(text="a")], [Generation(text="b")]]
    told = [None, {"m": 2}, {"token_usage": {"x": 1}, "m": 2}]
    results = [LLMResult(generations=generations, llm_output=one) for one in told]
    return [[each.model_dump() for each in result.flatten()] for result in results]


def case_sums_of_chunks(env: Any) -> Any:
    chunks = [ChatGenerationChunk(message=AIMessageChunk(content=text)) for text in "abc"]
    sums = [merge_chat_generation_chunks(chunks[:size]) for size in (3, 1, 0)]
    return [None if one is None else one.text for one in sums]


async def a_coroutine(x: Any) -> Any:
    return x


async def a_generator(x: Any) -> Any:
    yield x


class Called:
    async def __call__(self, x: Any, config: Any = None) -> Any:
        return x


def case_what_functions_are(env: Any) -> Any:
    functions = [a_coroutine, a_generator, Called(), len, lambda config: config, int]
    return [
        (is_async_callable(one), is_async_generator(one), accepts_config(one)) for one in functions
    ], accepts_run_manager(lambda x, *, run_manager: x)


async def case_several_at_a_time(env: Any) -> Any:
    running, most = 0, 0

    async def one(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    found = await gather_with_concurrency(2, *map(one, range(5)))
    limited, most = most, 0
    return found, limited, await gather_with_concurrency(None, *map(one, range(5))), most


async def case_streams_that_are_closed(env: Any) -> Any:
    closed = []

    async def numbers() -> Any:
        try:
            for number in range(9):
                yield number
        finally:
            closed.append(True)

    async with aclosing(numbers()) as stream:
        first = await anext(stream)
    return first, closed


def case_profiles(env: Any) -> Any:
    return sorted(ModelProfile.__annotations__), ModelProfile(max_input_tokens=1)


def case_described_messages(env: Any) -> Any:
    described = HumanMessage("x").to_json_not_implemented()
    return described["type"], described["id"][-1], described["repr"]


def case_ids_of_drawn_nodes(env: Any) -> Any:
    return [is_uuid(one) for one in ("5c1a3e5e-8f3f-4b1e-9d65-0d7a1f3c9a10", "f" * 32, "node", "")]
