"""A runnable's pieces: itself as a tool, and the prompts inside it."""

import asyncio
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import (
    ChatPromptTemplate,
    FewShotPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.runnables import (
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Pair(BaseModel):
    """Two numbers."""

    a: int = Field(description="the first")
    b: int = 3


class Typed(TypedDict):
    a: int
    b: list[str]


def sums(pair: dict[str, Any]) -> int:
    return pair["a"] + pair["b"]


def of_typed(given: Typed) -> str:
    return f"{given['a']} {given['b']}"


def of_text(text: str) -> str:
    """Says it loudly."""
    return text + "!"


def call(**args):
    return {"type": "tool_call", "name": "t", "id": "1", "args": args}


def described(made):
    schema = made.args_schema.model_json_schema() if made.args_schema else None
    return type(made).__name__, made.name, made.description, made.args, schema


def case_tools_described(env):
    text = RunnableLambda(of_text)
    model = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
    chain = ChatPromptTemplate.from_template("{topic} in {tone}") | model | StrOutputParser()
    return (
        described(RunnableLambda(sums).as_tool(arg_types={"a": int, "b": int})),
        described(RunnableLambda(sums).as_tool(Pair)),
        described(RunnableLambda(sums).as_tool(Pair, name="add", description="Adds.")),
        described(RunnableLambda(of_typed).as_tool()),
        described(text.as_tool()),
        described(text.as_tool(name="loud", description="Loud.")),
        described((text | text).as_tool()),
        described(chain.as_tool(name="write", description="Writes.")),
        described(chain.as_tool(arg_types={"topic": str, "tone": str}, name="w")),
        described(text.with_config(run_name="named").as_tool()),
        described(RunnableParallel(x=of_text, y=of_text).as_tool(name="both")),
    )


def case_tools_run(env):
    add = RunnableLambda(sums).as_tool(Pair, name="t")
    text = RunnableLambda(of_text).as_tool(name="t")
    made = add.invoke(call(a=1))
    return (
        add.invoke({"a": 1, "b": "2"}),
        (made.content, made.name, made.tool_call_id, made.status),
        add.batch([{"a": 1}, {"a": 2}]),
        text.invoke("hi"),
        text.invoke(call(__arg1="hi")).content,
        RunnableLambda(of_typed).as_tool().invoke({"a": 1, "b": ["x"]}),
        env.error(lambda: add.invoke({"b": 1})),
        env.error(lambda: text.invoke({"x": "hi", "y": "ho"})),
    )


def case_tools_of_unknown_arguments(env):
    return (
        env.error(lambda: RunnableLambda(lambda x: x).as_tool()),
        env.error(lambda: RunnableLambda(sums).as_tool()),
        env.error(lambda: RunnablePassthrough().as_tool(name="p")),
    )


class Partly(TypedDict, total=False):
    text: str
    limit: int


def case_tools_of_keys_that_may_be_left_out(env):
    def told(given: Partly) -> str:
        return str(given)

    made = RunnableLambda(told).as_tool(name="told", description="Tells.")
    return env.error(lambda: made.invoke({"text": "x"}))


async def case_tools_run_async(env):
    async def later(pair: dict[str, Any]) -> int:
        await asyncio.sleep(0)
        return pair["a"] + pair["b"]

    add = RunnableLambda(sums, afunc=later).as_tool(Pair, name="t")
    only = RunnableLambda(later).as_tool(Pair, name="only")
    return (
        await add.ainvoke({"a": 1}),
        (await add.ainvoke(call(a=4))).content,
        await only.ainvoke({"a": 1}),
        await only.abatch([{"a": 1}, {"a": 2}]),
        env.error(lambda: only.invoke({"a": 1})),
    )


def case_tools_bound(env):
    """A tool made of a chain is a runnable again, and sees the config."""
    seen: list[Any] = []

    def look(pair: dict[str, Any], config: Any) -> int:
        seen.append((config.get("tags"), config.get("configurable", {}).get("who")))
        return pair["a"]

    add = RunnableLambda(look).as_tool(Pair, name="look")
    both = add | of_text_of
    return both.invoke({"a": 1}, {"tags": ["x"], "configurable": {"who": "me"}}), seen


def of_text_of(n: Any) -> str:
    return f"{n}!"


def texts(runnable):
    return [(type(p).__name__, sorted(p.input_variables)) for p in runnable.get_prompts()]


def case_prompts_inside(env):
    model = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
    chat = ChatPromptTemplate.from_messages(
        [("system", "Be {tone}."), MessagesPlaceholder("history", optional=True), ("user", "{q}")]
    )
    text = PromptTemplate.from_template("Tell of {topic}.")
    shots = FewShotPromptTemplate(
        examples=[{"x": "1"}], example_prompt=PromptTemplate.from_template("{x}"), suffix="{y}"
    )
    return (
        texts(chat),
        texts(text),
        texts(shots),
        texts(model),
        texts(chat | model),
        texts(text | model | StrOutputParser() | of_text_of | text),
        texts(RunnableParallel(a=chat | model, b=text)),
        texts({"topic": RunnablePassthrough()} | text | model),
        texts(RunnablePassthrough.assign(said=text) | of_text_of),
        texts(RunnableBranch((bool, chat), text)),
        texts(chat.with_config(tags=["x"]) | model),
        texts(chat.partial(tone="kind") | model.bind(stop=["x"])),
        texts((text | model).with_retry()),
        texts((text | model).with_fallbacks([chat | model])),
        texts(RunnableLambda(lambda q: text.invoke(q))),
        [p == text for p in (text | model).get_prompts()],
        [p is text for p in (text | model).get_prompts({"tags": ["x"]})],
    )


def case_prompts_inside_a_sequence_in_a_function(env):
    text = PromptTemplate.from_template("Tell of {topic}.")

    def ask(topic):
        return (text | of_text_of).invoke(topic)

    return texts(RunnableLambda(ask))
