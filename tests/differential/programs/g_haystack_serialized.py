"""Haystack's agents and generators as plain data, and back."""

# ruff: noqa: UP045 (types as older programs write them)

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ.setdefault("OPENAI_API_KEY", "no key")

import copy
import json
from typing import Any, Optional

from haystack import component, default_from_dict, default_to_dict
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.tools import ToolInvoker
from haystack.dataclasses import ChatMessage
from haystack.tools import (
    Tool,
    Toolset,
    deserialize_tools_or_toolset_inplace,
    flatten_tools_or_toolsets,
    serialize_tools_or_toolset,
    warm_up_tools,
)
from haystack.utils import (
    Secret,
    deserialize_callable,
    deserialize_chatgenerator_inplace,
    deserialize_secrets_inplace,
    deserialize_type,
    serialize_callable,
    serialize_type,
)

say = ChatMessage.from_assistant


def one(a: int) -> int:
    return a


def hear(chunk):
    pass


def newest(old, new):
    return new


def tool_of(**kwargs):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    return Tool(
        **{"name": "one", "description": "d", "parameters": schema, "function": one, **kwargs}
    )


@component
class Fixed:
    """A generator that is written by what it was made with."""

    def __init__(self, text: str, times: int = 1):
        self.text = text
        self.times = times

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None):
        return {"replies": [say(self.text * self.times)]}


@component
class Own:
    """A generator that says itself how it is written."""

    def __init__(self, words):
        self.said = words

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None):
        return {"replies": [say(" ".join(self.said))]}

    def to_dict(self):
        return default_to_dict(self, words=self.said)

    @classmethod
    def from_dict(cls, data):
        return default_from_dict(cls, data)


def plain(value):
    return json.loads(json.dumps(value).replace(__name__, "program"))


def whole(**kwargs):
    return Agent(
        **{
            "chat_generator": Fixed("hi", times=2),
            "tools": [tool_of()],
            "system_prompt": "S",
            "exit_conditions": ["text", "one"],
            "state_schema": {
                "n": {"type": int},
                "l": {"type": list[str], "handler": newest},
                "o": {"type": Optional[str]},
            },
            "max_agent_steps": 7,
            "streaming_callback": hear,
            "raise_on_tool_invocation_failure": True,
            "tool_invoker_kwargs": {"max_workers": 2},
            **kwargs,
        }
    )


def case_agent(env):
    return plain(whole().to_dict())


def case_small_agent(env):
    return plain(Agent(chat_generator=Fixed("hi")).to_dict())


def case_agent_back(env):
    data = json.loads(json.dumps(whole(streaming_callback=None).to_dict()))
    back = Agent.from_dict(json.loads(json.dumps(data)))
    return back.to_dict() == data, back.run([ChatMessage.from_user("x")])


def case_callback_back(env):
    data = json.loads(json.dumps(whole().to_dict()))
    return Agent.from_dict(data).streaming_callback is hear


def case_generator_that_writes_itself(env):
    data = json.loads(json.dumps(whole(chat_generator=Own(["a", "b"])).to_dict()))
    written = plain(data)
    return written, Agent.from_dict(data).chat_generator.said


def case_toolset(env):
    data = json.loads(json.dumps(whole(tools=Toolset([tool_of()])).to_dict()))
    written = plain(data["init_parameters"]["tools"])
    return written, type(Agent.from_dict(data).tools).__name__


def case_list_of_toolsets(env):
    return plain(whole(tools=[Toolset([tool_of()])]).to_dict()["init_parameters"]["tools"])


def case_openai_generator(env):
    generator = OpenAIChatGenerator(
        model="gpt-5",
        generation_kwargs={"temperature": 0},
        api_base_url="http://localhost/v1",
        organization="o",
        timeout=3.0,
        max_retries=1,
        tools=[tool_of()],
        tools_strict=True,
        streaming_callback=hear,
    )
    return plain(generator.to_dict()), plain(OpenAIChatGenerator().to_dict())


def case_openai_generator_back(env):
    generator = OpenAIChatGenerator(
        model="gpt-5", tools=[tool_of()], streaming_callback=hear, timeout=3.0
    )
    data = json.loads(json.dumps(generator.to_dict()))
    back = OpenAIChatGenerator.from_dict(json.loads(json.dumps(data)))
    return back.to_dict() == data, back.model


def case_agent_of_openai_back(env):
    data = json.loads(json.dumps(whole(chat_generator=OpenAIChatGenerator()).to_dict()))
    back = Agent.from_dict(json.loads(json.dumps(data)))
    return back.to_dict() == data, type(back.chat_generator).__name__


def case_lambdas_are_not_written(env):
    return [
        env.error(whole(streaming_callback=lambda chunk: None).to_dict),
        env.error(whole(tools=[tool_of(function=lambda a: a)]).to_dict),
        env.error(whole(state_schema={"n": {"type": int, "handler": lambda a, b: b}}).to_dict),
    ]


def case_data_that_is_none(env):
    data = whole().to_dict()
    data["init_parameters"]["chat_generator"]["type"] = "nowhere.Nothing"
    other = whole().to_dict()
    other["init_parameters"]["tools"][0]["data"]["function"] = "nowhere.nothing"
    return [
        env.error(lambda: Agent.from_dict({"type": data["type"], "init_parameters": {}})),
        env.error(lambda: Agent.from_dict(data)),
        env.error(lambda: Agent.from_dict(other)),
    ]


def case_secrets(env):
    os.environ["PLAIT_TEST_KEY"] = "key"
    by_name = Secret.from_env_var(["NOT_SET_ANYWHERE", "PLAIT_TEST_KEY"])
    return (
        by_name.resolve_value(),
        by_name.to_dict(),
        Secret.from_dict(by_name.to_dict()).resolve_value(),
        Secret.from_token("t").resolve_value(),
        Secret.from_env_var("NOT_SET_ANYWHERE", strict=False).resolve_value(),
        env.error(lambda: Secret.from_env_var("NOT_SET_ANYWHERE").resolve_value()),
        env.error(lambda: Secret.from_token("")),
        env.error(lambda: Secret.from_token("t").to_dict()),
        env.error(lambda: OpenAIChatGenerator(api_key=Secret.from_token("t")).to_dict()),
        env.error(lambda: Secret.from_env_var([])),
        (by_name.type, str(Secret.from_token("t").type)),
    )


def case_secrets_inside_of_other_data(env):
    key = Secret.from_env_var("SOME_KEY", strict=False)

    def read(keys, **how):
        data = {"deep": {"key": key.to_dict(), "list": [{"key": key.to_dict()}]}, "key": None}
        deserialize_secrets_inplace(data, keys=keys, **how)
        return data["deep"]["key"] == key, data["deep"]["list"][0]["key"] == key, data["key"]

    return read(["key", "absent"]), read(["key", "absent"], recursive=True), read([])


@component
class Asks:
    """A component that has a chat generator, as authors write them."""

    def __init__(self, chat_generator):
        self.chat_generator = chat_generator

    @component.output_types(answer=str)
    def run(self, question: str):
        replies = self.chat_generator.run([ChatMessage.from_user(question)])["replies"]
        return {"answer": replies[0].text}

    def to_dict(self):
        return default_to_dict(self, chat_generator=self.chat_generator.to_dict())

    @classmethod
    def from_dict(cls, data):
        deserialize_chatgenerator_inplace(data["init_parameters"])
        return default_from_dict(cls, data)


def case_a_component_that_has_a_generator(env):
    made = Asks(Whole(Secret.from_env_var("SOME_KEY", strict=False)))
    back = Asks.from_dict(json.loads(json.dumps(made.to_dict())))
    wrong = [{}, {"chat_generator": None}, {"chat_generator": {"no": "type"}}]
    return (
        back.to_dict() == made.to_dict(),
        back.run("?") == made.run("?"),
        [env.error(lambda d=d: deserialize_chatgenerator_inplace(d)) for d in wrong],
        env.error(lambda: deserialize_chatgenerator_inplace({}, key="other")),
    )


def case_types_given_by_name(env):
    text = serialize_type(target=Optional[int])
    return text, deserialize_type(type_str=text) == Optional[int]


def case_types_as_text(env):
    kinds = [str, list[str], dict[str, list[int]], Optional[int], Any, list[ChatMessage], list]
    texts = [serialize_type(kind) for kind in kinds]
    return texts, [deserialize_type(text) == kind for text, kind in zip(texts, kinds, strict=True)]


@component
class Whole:
    """A generator with all that the ones of Haystack have."""

    def __init__(self, api_key=None, tools=None, streaming_callback=None):
        self.api_key = api_key
        self.tools = tools
        self.streaming_callback = streaming_callback

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None):
        names = [one.name for one in flatten_tools_or_toolsets(tools or self.tools)]
        return {"replies": [say(" ".join(names))]}

    def to_dict(self):
        heard = self.streaming_callback
        return default_to_dict(
            self,
            api_key=self.api_key.to_dict(),
            tools=serialize_tools_or_toolset(self.tools),
            streaming_callback=serialize_callable(heard) if heard else None,
        )

    @classmethod
    def from_dict(cls, data):
        given = data["init_parameters"]
        deserialize_secrets_inplace(given, keys=["api_key"])
        deserialize_tools_or_toolset_inplace(given, key="tools")
        if given["streaming_callback"]:
            given["streaming_callback"] = deserialize_callable(given["streaming_callback"])
        return default_from_dict(cls, data)


def case_generator_as_authors_write_them(env):
    key = Secret.from_env_var("SOME_KEY", strict=False)
    generator = Whole(key, [tool_of(), Toolset([tool_of(name="two")])], hear)
    agent = Agent(chat_generator=generator, streaming_callback=hear)  # so plait knows the function
    data = json.loads(json.dumps(agent.to_dict()))
    written = plain(data)
    back = Agent.from_dict(json.loads(json.dumps(data)))
    return (
        written,
        back.to_dict() == data,
        back.chat_generator.streaming_callback is hear,
        back.chat_generator.run([])["replies"],
    )


class Counted(Toolset):
    warmed = 0

    def warm_up(self):
        self.warmed += 1


def case_tools_in_all_forms(env):
    tools = Counted([tool_of(name="two")])
    warm_up_tools([tool_of(), tools])
    warm_up_tools(tools)
    warm_up_tools()
    return (
        tools.warmed,
        [len(flatten_tools_or_toolsets(one)) for one in (None, [], tools, [tool_of(), tools])],
        env.error(lambda: flatten_tools_or_toolsets([5])),
        env.error(lambda: flatten_tools_or_toolsets(5)),
        serialize_tools_or_toolset(None),
        serialize_tools_or_toolset([]),
    )


def case_data_of_another_class(env):
    own = Own(["a"]).to_dict()
    return (
        env.error(lambda: default_from_dict(Fixed, own)),
        env.error(lambda: default_from_dict(Fixed, {"init_parameters": {}})),
        default_from_dict(Fixed, default_to_dict(Fixed("hi"), text="hi")).text,
    )


def case_agents_of_another_class(env):
    agent = whole().to_dict()
    invoker = ToolInvoker([tool_of()]).to_dict()
    generator = agent["init_parameters"]["chat_generator"]
    found = []
    for kind, own in ((Agent, agent), (ToolInvoker, invoker), (OpenAIChatGenerator, generator)):
        for data in (agent, invoker, generator, {**own, "type": "nowhere.Nothing"}):
            if data is not own:
                found.append(env.error(lambda: kind.from_dict(copy.deepcopy(data))))
        nameless = {key: value for key, value in own.items() if key != "type"}
        found.append(env.error(lambda: kind.from_dict(copy.deepcopy(nameless))))
    return found


def case_components_that_are_none(env):
    return env.error(lambda: component(type("Nothing", (), {})))
