"""Schemas of graphs: input, output, context and config, as types, models and JSON."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, NotRequired, Optional, Required

from langgraph.channels import LastValue, Topic
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.managed import RemainingSteps
from langgraph.pregel import NodeBuilder, Pregel
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Partial(TypedDict, total=False):
    """What a partial state is about."""

    a: str
    b: Annotated[list[int], operator.add]
    c: Optional[int]  # noqa: UP045 (spelled as older programs spell it)
    r: RemainingSteps


class Mixed(TypedDict):
    a: str
    b: NotRequired[int]
    c: Required[Annotated[list, operator.add]]


class Short(TypedDict):
    a: str


@dataclass
class Record:
    x: int
    y: str = "q"
    z: list[int] = field(default_factory=list)


class Model(BaseModel):
    """What a model is about."""

    x: int = Field(description="the x")
    y: str = "q"


class Awkward(TypedDict):
    json: str
    copy: int
    model_name: str


def made(schema, name=None, **schemas):
    builder = StateGraph(schema, **schemas)
    builder.add_node("n", lambda state: {})
    builder.add_edge(START, "n")
    return builder.compile(name=name)


def json_of(app):
    return app.get_input_jsonschema(), app.get_output_jsonschema()


def models_of(app):
    models = app.get_input_schema(), app.get_output_schema()
    return [(model.__name__, model.model_json_schema()) for model in models]


def case_typed_dicts(env):
    return json_of(made(Partial)), json_of(made(Mixed))


def case_dataclass(env):
    return json_of(made(Record)), json_of(made(Record, name="Records"))


def case_pydantic_model(env):
    return json_of(made(Model))


def case_input_and_output_schemas(env):
    return [
        json_of(made(Partial, output_schema=Short)),
        json_of(made(Partial, input_schema=Short)),
        json_of(made(Partial, input_schema=Model, output_schema=Record)),
    ]


def case_root_states(env):
    return json_of(made(Annotated[list, operator.add])), json_of(made(int))


def case_models(env):
    apps = [
        made(Partial),
        made(Mixed),
        made(Record),
        made(Model),
        made(Partial, output_schema=Short),
        made(int),
    ]
    return [models_of(app) for app in apps]


def case_awkward_names(env):
    return json_of(made(Awkward))


def case_models_validate(env):
    taken, given = made(Partial).get_input_schema(), made(Partial).get_output_schema()
    return [
        taken.model_validate({"a": "x", "b": [1]}).model_dump(),
        env.error(lambda: taken.model_validate({"a": 5})),
        given(a="x").model_dump(),
        made(Partial).input_schema.__name__,
        made(Partial).output_schema.__name__,
    ]


def case_types(env):
    def named(typ):
        return getattr(typ, "__name__", typ)

    apps = [made(Partial), made(Record), made(Model), made(int), made(Partial, input_schema=Short)]
    return [(named(app.InputType), named(app.OutputType)) for app in apps]


def case_channels(env):
    apps = [made(Partial), made(Partial, output_schema=Short), made(int)]
    return [
        (
            app.input_channels,
            app.output_channels,
            app.stream_channels,
            app.stream_channels_list,
            app.stream_channels_asis,
            list(app.nodes),
        )
        for app in apps
    ]


def case_context(env):
    return [
        made(Partial).get_context_jsonschema(),
        *(
            made(Partial, context_schema=schema).get_context_jsonschema()
            for schema in (Short, Record, Model)
        ),
        env.error(made(Partial, context_schema=dict).get_context_jsonschema),
    ]


def case_config(env):
    plain, rich = made(Partial), made(Partial, context_schema=Record)
    return [
        plain.get_config_jsonschema(),
        rich.get_config_jsonschema(),
        rich.config_schema().__name__,
        plain.get_config_jsonschema(include=["tags", "metadata"]),
    ]


def case_entrypoints(env):
    @entrypoint()
    def plain(x: int) -> str:
        return "a"

    @entrypoint()
    def split(x: Model, *, previous=None) -> entrypoint.final[int, str]:
        return entrypoint.final(value=1, save="q")

    @entrypoint()
    def bare(x):
        return "a"

    @entrypoint(context_schema=Record)
    async def nested(x: dict[str, int]) -> list[Model]:
        return []

    return [
        (json_of(flow), flow.get_context_jsonschema(), flow.name, list(flow.nodes))
        for flow in (plain, split, bare, nested)
    ]


def case_by_hand(env):
    def app(**changes):
        node = NodeBuilder().subscribe_to("a").do(lambda x: x).write_to("b")
        channels = {"a": LastValue(int), "b": LastValue(list[str]), "t": Topic(int)}
        given = {"input_channels": ["a"], "output_channels": ["b", "t"], **changes}
        return Pregel(nodes={"n": node}, channels=channels, **given)

    return [
        json_of(app()),
        json_of(app(input_channels="a", output_channels="t")),
        json_of(app(input_channels=["a", "t"], name="Mine")),
        app().get_context_jsonschema(),
        app().get_config_jsonschema(),
    ]


def case_one_node_alone(env):
    def shout(state: Short, config):
        return {"a": state["a"] + "!" + config["configurable"].get("mark", "")}

    builder = StateGraph(Partial)
    builder.add_node("shout", shout)
    builder.add_edge(START, "shout")
    node = builder.compile().nodes["shout"]
    config = {"configurable": {"mark": "?"}}
    return node.invoke({"a": "x"}), node.invoke({"a": "x"}, config), node.bound.invoke({"a": "x"})


@dataclass
class Optionals:
    a: str
    b: Optional[int]  # noqa: UP045
    c: Annotated[float | None, "marked"]
    d: int | None = None


def case_optional_fields_of_a_dataclass(env):
    graph = StateGraph(Optionals).add_node("n", lambda state: {}).add_edge(START, "n").compile()
    schemas = [graph.get_input_jsonschema(), graph.get_output_jsonschema()]
    return schemas, env.error(lambda: graph.invoke({"a": "x"}))


@dataclass
class Counted:
    a: str
    r: RemainingSteps = 3


def case_what_the_engine_fills_in_of_a_dataclass(env):
    graph = StateGraph(Counted).add_node("n", lambda state: {}).add_edge(START, "n").compile()
    return json_of(graph)
