"""Parsers of function calls: whole, streamed, and what they refuse."""

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers.openai_functions import (
    JsonKeyOutputFunctionsParser,
    JsonOutputFunctionsParser,
    OutputFunctionsParser,
    PydanticAttrOutputFunctionsParser,
    PydanticOutputFunctionsParser,
)
from langchain_core.outputs import ChatGeneration, Generation
from pydantic import BaseModel

ARGUMENTS = [
    '{"name":"a","age":1}', '{"name":"a\nb","age":1}', '{"name":', "", None, "[1]", '{"name":"a"}',
    "nope", '{"zz":1}', "null", '"x"', '{"name":"a","age":"old"}',
]  # fmt: skip


class Cookie(BaseModel):
    name: str
    age: int


class Dog(BaseModel):
    species: str


def called(arguments, name="cookie"):
    call = {"name": name, "arguments": arguments}
    return AIMessage("hi", additional_kwargs={"function_call": call})


def parsers():
    several = {"cookie": Cookie, "dog": Dog}
    return [
        JsonOutputFunctionsParser(),
        JsonOutputFunctionsParser(args_only=False),
        JsonOutputFunctionsParser(strict=True),
        JsonKeyOutputFunctionsParser(key_name="name"),
        JsonKeyOutputFunctionsParser(key_name="zz"),
        OutputFunctionsParser(),
        OutputFunctionsParser(args_only=False),
        PydanticOutputFunctionsParser(pydantic_schema=Cookie),
        PydanticOutputFunctionsParser(pydantic_schema=several),
        PydanticOutputFunctionsParser(pydantic_schema=several, args_only=False),
        PydanticAttrOutputFunctionsParser(pydantic_schema=Cookie, attr_name="age"),
    ]


def chunks():
    yield AIMessageChunk("")
    call = {"name": "cookie", "arguments": ""}
    yield AIMessageChunk("", additional_kwargs={"function_call": call})
    for part in ['{"na', 'me": "A', "nn", '", "age": 1', "2}"]:
        yield AIMessageChunk("", additional_kwargs={"function_call": {"arguments": part}})
    yield AIMessageChunk("")


def case_calls(env):
    return [[env.error(lambda p=p, a=a: p.invoke(called(a))) for a in ARGUMENTS] for p in parsers()]


def case_other_functions(env):
    dog = called('{"species":"x"}', "dog")
    cat = called('{"species":"x"}', "cat")
    return [env.error(lambda p=p, m=m: p.invoke(m)) for p in parsers() for m in (dog, cat)]


def case_no_calls(env):
    tool = AIMessage("x", tool_calls=[{"name": "cookie", "args": {"a": 1}, "id": "1"}])
    return [
        env.error(lambda p=p, said=said: p.invoke(said))
        for p in parsers()
        for said in (AIMessage("x"), tool, "x")
    ]


def case_results(env):
    one = ChatGeneration(message=called('{"name":"a","age":1}'))
    cut = ChatGeneration(message=called('{"name": "a", "ag'))
    without = ChatGeneration(message=AIMessage("x"))
    found = []
    for p in parsers():
        found += [
            env.error(lambda p=p, r=r: p.parse_result(r))
            for r in ([one, one], [], [Generation(text="x")])
        ]
        found += [
            env.error(lambda p=p, r=r: p.parse_result([r], partial=True)) for r in (cut, without)
        ]
    return found, env.error(lambda: JsonOutputFunctionsParser().parse("x"))


def case_streams(env):
    return [
        list(p.transform(chunks())) for p in parsers() if isinstance(p, JsonOutputFunctionsParser)
    ]


def case_streams_of_whole_values(env):
    pydantic = PydanticOutputFunctionsParser(pydantic_schema=Cookie)
    return list(pydantic.transform(chunks())), list(OutputFunctionsParser().transform(chunks()))


async def case_async_streams(env):
    async def source():
        for chunk in chunks():
            yield chunk

    parser = JsonOutputFunctionsParser(args_only=False)
    return [part async for part in parser.atransform(source())]


def case_patches(env):
    whole = JsonOutputFunctionsParser(diff=True)
    key = JsonKeyOutputFunctionsParser(key_name="age", diff=True)
    return list(whole.transform(chunks())), list(key.transform(chunks()))


def case_wrong_fields(env):
    several = {"cookie": Cookie}
    try:
        PydanticOutputFunctionsParser(pydantic_schema=several, args_only=True)
    except ValueError:
        return "refused"
