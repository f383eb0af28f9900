"""Types, pydantic models and JSON schemas of runnables."""

from collections.abc import AsyncIterator, Iterator
from operator import itemgetter

from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import (
    ConfigurableField,
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
    RunnableSerializable,
)
from pydantic import BaseModel


class Question(BaseModel):
    text: str
    times: int = 1


def digits(x: int) -> str:
    return str(x)


async def adigits(x: int) -> str:
    return str(x)


def asked(x: Question) -> Question:
    return x


def spell(chunks: Iterator[str]) -> Iterator[int]:
    yield 1


async def aspell(chunks: AsyncIterator[str]) -> AsyncIterator[int]:
    yield 1


class Typed(Runnable[int, str]):
    def invoke(self, input, config=None, **kwargs):
        return str(input)


class Untyped(Runnable):
    def invoke(self, input, config=None, **kwargs):
        return input


class Fields(RunnableSerializable[str, int]):
    size: int = 1

    def invoke(self, input, config=None, **kwargs):
        return self.size


def described(env, runnable):
    return [
        env.error(lambda: runnable.InputType),
        env.error(lambda: runnable.OutputType),
        env.error(lambda: runnable.get_input_jsonschema()),
        env.error(lambda: runnable.get_output_jsonschema()),
        env.error(lambda: runnable.input_schema.__name__),
        env.error(lambda: runnable.output_schema.__name__),
        env.error(lambda: runnable.get_config_jsonschema()),
        env.error(lambda: runnable.config_specs),
    ]


def case_functions(env):
    parts = [RunnableLambda(f) for f in (digits, adigits, asked, len, itemgetter("a", "b"))]
    return [described(env, part) for part in parts]


def case_lambdas(env):
    plain = RunnableLambda(lambda x: x)
    reads = RunnableLambda(lambda x: x["a"] + x["b"])
    gets = RunnableLambda(lambda x: x.get("a", 1))
    both = RunnableLambda(lambda given: (given["q"], given.get("p")))
    return [described(env, part) for part in (plain, reads, gets, both)]


def case_lambdas_on_one_line(env):
    return [RunnableLambda(f).get_input_jsonschema() for f in (lambda x: x["a"], lambda x: x["b"])]


def case_functions_that_read_keys(env):
    def reads(given):
        text = given["text"]
        return text * given["times"]

    def calls(given):
        return reads(given)

    return [described(env, RunnableLambda(f)) for f in (reads, calls)]


def case_generators(env):
    return [described(env, RunnableGenerator(f)) for f in (spell, aspell)]


def case_classes(env):
    typed = [described(env, part) for part in (Typed(), Fields())]
    return [*typed, described(env, Untyped())[2:]]


def case_sequences(env):
    return [
        described(env, RunnableLambda(digits) | Typed()),
        described(env, Typed() | RunnableLambda(len)),
        described(env, RunnableLambda(asked) | asked),
        described(env, RunnablePassthrough.assign(z=digits) | Typed()),
    ]


def case_parallels(env):
    reads_a = RunnableLambda(lambda x: x["a"])
    reads_b = RunnableLambda(lambda x: x["b"])
    return [
        described(env, RunnableParallel(a=digits, b=Typed())),
        described(env, RunnableParallel(a=reads_a, b=reads_b)),
        described(env, RunnableParallel(a=reads_a, b=digits)),
    ]


def case_passthrough_assign_pick(env):
    reads = RunnableLambda(lambda x: x["q"])
    return [
        described(env, RunnablePassthrough()),
        described(env, RunnablePassthrough.assign(z=digits)),
        described(env, RunnablePassthrough.assign(z=reads)),
        described(env, RunnablePick("a")),
        described(env, RunnablePick(["a", "b"])),
    ]


def case_keys_that_a_sequence_adds_or_picks(env):
    both = RunnableParallel(a=digits, b=digits)
    return [
        (both | RunnablePassthrough.assign(c=digits)).get_output_jsonschema(),
        (both | RunnablePick("a")).get_output_jsonschema(),
        RunnableParallel(a=RunnablePassthrough()).get_input_jsonschema(),
    ]


def case_each_router_fallbacks_retry(env):
    return [
        described(env, RunnableLambda(digits).map())[:6],
        described(env, RunnableLambda(digits).with_fallbacks([Typed()])),
        described(env, RunnableLambda(digits).with_retry()),
        described(env, RouterRunnable({"a": digits}))[2:],
        described(env, RunnableBranch((bool, digits), digits))[2:],
    ]


def case_bound_types(env):
    plain = RunnableLambda(lambda x: x)
    return [
        described(env, plain.with_types(input_type=int, output_type=str)),
        described(env, plain.with_types(input_type=Question)),
        described(env, plain.with_types(input_type=list[int]).with_types(output_type=Question)),
        described(env, RunnableLambda(digits).bind(a=1)),
        described(env, RunnableLambda(digits).with_config(tags=["t"])),
    ]


def case_configs(env):
    size = ConfigurableField(id="size", name="Size", description="how big")
    part = Fields().configurable_fields(size=size)
    chain = part | RunnableLambda(digits)
    return [
        described(env, part),
        chain.get_config_jsonschema(),
        chain.config_schema(include=["tags", "recursion_limit"]).model_json_schema()["properties"],
        RunnableParallel(a=part, b=digits).config_specs,
    ]


def case_values_are_checked(env):
    model = RunnableLambda(asked).get_input_schema()
    return [
        env.error(lambda: model.model_validate({"text": 5})),
        env.error(lambda: RunnableLambda(digits).get_input_schema().model_validate("x")),
        env.error(lambda: RunnableLambda(digits).get_input_schema().model_validate(5).root),
    ]


def _outline(schema, defs=None):
    """What a schema is made of; descriptions, and where parts are defined, are left out."""
    defs = defs or schema.get("$defs", {})
    if "$ref" in schema:
        return _outline(defs[schema["$ref"].split("/")[-1]], defs)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return [word, schema.get("title"), *(_outline(each, defs) for each in schema[word])]
    if schema.get("type") == "array":
        return ["array", _outline(schema.get("items", {}), defs)]
    return schema.get("title"), schema.get("type")


def case_models_and_prompts(env):
    model, prompt = FakeListChatModel(responses=["a"]), ChatPromptTemplate.from_template("{a}")
    return [
        (_outline(each.get_input_jsonschema()), _outline(each.get_output_jsonschema()))
        for each in (
            model,
            prompt,
            prompt | model,
            model | StrOutputParser(),
            prompt | model | StrOutputParser(),
            RunnableParallel(m=model, p=prompt),
            FakeListLLM(responses=["a"]),
            PromptTemplate.from_template("{a}") | FakeListLLM(responses=["a"]),
            model.map(),
            model.bind(stop=["a"]),
            model.with_fallbacks([model]),
            model.with_retry(),
        )
    ]
