"""`init_chat_model` beside langchain's: which class and settings come of names, fields, configs.

LangChain's packages of providers are not installed: classes of the same names stand in for them.
plait's own classes are used as they are, but answer with what they were made with, not by network.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest
from langchain.chat_models import init_chat_model as their_init
from langchain_core.language_models import BaseChatModel as TheirModel
from langchain_core.messages import AIMessage as TheirMessage
from langchain_core.outputs import ChatGeneration as TheirGeneration
from langchain_core.outputs import ChatResult as TheirResult

from plait.chat_models import init_chat_model
from plait.chat_models.anthropic.model import ChatAnthropic
from plait.chat_models.google.model import ChatGoogle
from plait.chat_models.openai.model import ChatOpenAI
from plait.messages import AIMessage
from plait.outputs import ChatGeneration, ChatResult

STANDINS = {
    "langchain_openai": "ChatOpenAI",
    "langchain_anthropic": "ChatAnthropic",
    "langchain_google_genai": "ChatGoogleGenerativeAI",
}


def shown(model: Any, asked: dict[str, Any]) -> str:
    name = type(model).__name__.replace("ChatGoogleGenerativeAI", "ChatGoogle")
    return f"{name} {model.model} {model.temperature} {model.max_tokens} {sorted(asked)}"


def standin(name: str) -> type[Any]:
    class Standin(TheirModel):
        model: str = ""
        temperature: Any = None
        max_tokens: Any = None

        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **asked: Any
        ) -> Any:
            message = TheirMessage(shown(self, asked))
            return TheirResult(generations=[TheirGeneration(message=message)])

        def bind_tools(self, tools: Any, **asked: Any) -> Any:
            return self.bind(tools=tools, **asked)

        @property
        def _llm_type(self) -> str:
            return name

    Standin.__name__ = name
    return Standin


@pytest.fixture(autouse=True)
def providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for package, name in STANDINS.items():
        module = ModuleType(package)
        module.__spec__ = ModuleSpec(package, None)
        setattr(module, name, standin(name))
        monkeypatch.setitem(sys.modules, package, module)

    def answer(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **asked: Any
    ) -> Any:
        return ChatResult([ChatGeneration(message=AIMessage(shown(self, asked)))])

    async def aanswer(self: Any, messages: Any, *args: Any, **asked: Any) -> Any:
        return answer(self, messages, *args, **asked)

    for cls in (ChatOpenAI, ChatAnthropic, ChatGoogle):
        monkeypatch.setattr(cls, "_generate", answer)
        monkeypatch.setattr(cls, "_agenerate", aanswer)
        monkeypatch.setattr(cls, "disable_streaming", True)
    yield
    cache = sys.modules["langchain.chat_models.base"]
    for value in vars(cache).values():  # what it imported from the stand-ins
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def choose(**configurable: Any) -> Any:
    return {"configurable": configurable}


def said(model: Any, config: Any = None, **kwargs: Any) -> str:
    return model.invoke("hi", config, **kwargs).content


TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
Init = Callable[..., Any]

PROGRAMS: dict[str, Callable[[Init], Any]] = {
    name: lambda init, name=name: said(init(name))
    for name in (
        "gpt-4o", "GPT-4o", "o1-mini", "o3", "chatgpt-4o-latest", "text-davinci-003", "claude-3",
        "openai:gpt-x", "openai:a:b", "openai:", "google_genai:x", "anthropic:x", "nope", "foo:bar",
        "foo-gpt-4", "open_ai:x", "gpt5", ":x", "openai/gpt-4",
    )
}  # fmt: skip
PROGRAMS |= {
    "provider apart": lambda i: said(i("x", model_provider="openai")),
    "provider with a dash": lambda i: said(i("x", model_provider="google-genai")),
    "provider against the name": lambda i: said(i("openai:x", model_provider="anthropic")),
    "unknown provider": lambda i: said(i("x", model_provider="foo")),
    "settings": lambda i: said(i("openai:x", temperature=0.5, max_tokens=3)),
    "prefix without fields": lambda i: said(i("openai:x", config_prefix="p")),
    "no text": lambda i: i(5),
    "model by config": lambda i: said(i(), choose(model="claude-3")),
    "provider by config": lambda i: said(i(), choose(model="x", model_provider="openai")),
    "settings are fixed": lambda i: said(i(temperature=1), choose(model="gpt-4", temperature=0)),
    "provider fixed": lambda i: said(i(model_provider="openai"), choose(model="x")),
    "unknown by config": lambda i: said(i(), choose(model="nope")),
    "any": lambda i: said(
        i("openai:x", configurable_fields="any"), choose(temperature=0, model="claude-3")
    ),
    "any, nothing chosen": lambda i: said(i("openai:x", configurable_fields="any", temperature=7)),
    "any with a prefix": lambda i: said(
        i("openai:x", configurable_fields="any", config_prefix="f"),
        choose(f_temperature=0, temperature=4, thread_id=1),
    ),
    "prefix with underscore": lambda i: said(
        i("openai:x", configurable_fields=("temperature",), config_prefix="f_"),
        choose(f_temperature=0),
    ),
    "some fields": lambda i: said(
        i("openai:x", configurable_fields=["temperature"]),
        choose(temperature=0, model="claude-3"),
    ),
    "no fields": lambda i: said(i("openai:x", configurable_fields=[]), choose(model="claude-3")),
    "default provider stays": lambda i: said(
        i("x", model_provider="openai", configurable_fields=("model",)), choose(model="claude-3")
    ),
    "both by config": lambda i: said(
        i("x", model_provider="openai", configurable_fields=("model", "model_provider")),
        choose(model="claude-3", model_provider="anthropic"),
    ),
    "another provider's name": lambda i: said(
        i("openai:x", configurable_fields=("model",)), choose(model="anthropic:c")
    ),
    "default by with_config": lambda i: said(i().with_config(choose(model="openai:x"))),
    "against with_config": lambda i: said(
        i().with_config(choose(model="openai:x")), choose(model="openai:y")
    ),
    "with_config and prefix": lambda i: said(
        i("openai:x", configurable_fields="any", config_prefix="f").with_config(
            **choose(f_temperature=3)
        )
    ),
    "with_config, then tools": lambda i: said(
        i().with_config({"tags": ["a"]}).bind_tools([TOOL]), choose(model="openai:x")
    ),
    "tools": lambda i: said(i().bind_tools([TOOL]), choose(model="openai:x")),
    "tools, then with_config": lambda i: said(
        i().bind_tools([TOOL]).with_config(choose(model="openai:x"))
    ),
    "bound": lambda i: said(i().bind(stop=["x"]), choose(model="openai:x")),
    "retried": lambda i: said(i().with_retry(), choose(model="openai:x")),
    "attribute of the default": lambda i: i("openai:x", configurable_fields="any").model,
    "attribute of nothing": lambda i: i().model,
    "unknown attribute": lambda i: i("openai:x", configurable_fields="any").nosuch,
    "attributes": lambda i: [
        hasattr(i(), name) for name in ("bind_tools", "with_structured_output", "model", "nosuch")
    ],
    "batch": lambda i: [m.content for m in i().batch(["a", "b"], choose(model="openai:x"))],
    "batch with a config each": lambda i: [
        m.content
        for m in i().batch(["a", "b"], [choose(model="openai:x"), choose(model="claude-3")])
    ],
    "batch_as_completed": lambda i: sorted(
        (n, m.content) for n, m in i().batch_as_completed(["a", "b"], choose(model="openai:x"))
    ),
    "stream": lambda i: [m.content for m in i().stream("a", choose(model="openai:x"))],
    "transform": lambda i: [
        m.content for m in i().transform(iter(["a"]), choose(model="openai:x"))
    ],
    "in a chain": lambda i: (i() | (lambda m: m.content)).invoke("a", choose(model="openai:x")),
}


def outcome(program: Callable[[Init], Any], init: Init) -> tuple[Any, int]:
    """The result, or the error, and how often the program was warned."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = program(init)
        except Exception as error:
            result = error
    return result, len(heard)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_make_the_same_of_it(name: str) -> None:
    theirs, their_warnings = outcome(PROGRAMS[name], their_init)
    ours, our_warnings = outcome(PROGRAMS[name], init_chat_model)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (theirs, ours)
    else:
        assert ours == theirs
    assert our_warnings == their_warnings


ASYNC = {
    "ainvoke": lambda m: m.ainvoke("a", choose(model="openai:x")),
    "abatch": lambda m: m.abatch(["a", "b"], choose(model="openai:x")),
}


@pytest.mark.parametrize("name", ASYNC)
async def test_both_do_the_same_in_an_event_loop(name: str) -> None:
    theirs, ours = await ASYNC[name](their_init()), await ASYNC[name](init_chat_model())
    assert [m.content for m in (ours if isinstance(ours, list) else [ours])] == [
        m.content for m in (theirs if isinstance(theirs, list) else [theirs])
    ]


async def test_events_are_those_of_the_chosen_model() -> None:
    def events(model: Any) -> Any:
        return model.astream_events("a", choose(model="openai:x"), version="v2")

    theirs = [(e["event"], e["name"], e["tags"]) async for e in events(their_init())]
    assert [(e["event"], e["name"], e["tags"]) async for e in events(init_chat_model())] == theirs
    assert theirs


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("o4-mini", "ChatOpenAI o4-mini"),  # refused
        ("OpenAI:x", "ChatOpenAI x"),  # refused
        ("google-genai:x", "ChatGoogle x"),  # refused; the provider alone may be spelled so
        ("gemini-2.5", "ChatGoogle gemini-2.5"),  # Vertex AI, with a warning that this will change
    ],
)
def test_names_that_are_read_in_another_way(name: str, ours: str) -> None:
    assert said(init_chat_model(name)).startswith(ours)
    theirs, _ = outcome(lambda init: said(init(name)), their_init)
    assert isinstance(theirs, Exception) or not theirs.startswith(ours)


def test_a_model_that_nobody_chose_is_named_instead_of_an_argument_inside() -> None:
    theirs, _ = outcome(lambda init: said(init()), their_init)
    ours, _ = outcome(lambda init: said(init()), init_chat_model)
    assert isinstance(theirs, TypeError)
    assert "No model was chosen" in str(ours)
