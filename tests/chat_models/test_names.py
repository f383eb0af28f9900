"""Models by name: which provider, what a config may choose, what is told when it cannot be."""

import subprocess
import sys

import pytest

from plait.chat_models import BaseChatModel, init_chat_model
from plait.chat_models.names import UnknownProviderError
from plait.errors import ConfigError, MissingExtraError


@pytest.mark.parametrize(
    ("name", "kind", "model"),
    [
        ("openai:gpt-5", "ChatOpenAI", "gpt-5"),
        ("openai:org/some:model", "ChatOpenAI", "org/some:model"),
        ("anthropic:claude-x", "ChatAnthropic", "claude-x"),
        ("google:gemini-x", "ChatGoogle", "gemini-x"),
        ("google_genai:gemini-x", "ChatGoogle", "gemini-x"),
        ("gpt-5-mini", "ChatOpenAI", "gpt-5-mini"),
        ("o3", "ChatOpenAI", "o3"),
        ("claude-sonnet-4-5", "ChatAnthropic", "claude-sonnet-4-5"),
        ("gemini-2.5-pro", "ChatGoogle", "gemini-2.5-pro"),
    ],
)
def test_a_name_says_provider_and_model(name, kind, model):
    made = init_chat_model(name)
    assert isinstance(made, BaseChatModel)
    assert (type(made).__name__, made.model) == (kind, model)


def test_the_provider_may_be_given_apart():
    assert type(init_chat_model("my-model", model_provider="openai")).__name__ == "ChatOpenAI"
    assert init_chat_model("openai:x", model_provider="openai").model == "x"


@pytest.mark.parametrize("name", ["opnai:gpt-5", "llama-3", "nobody:x"])
def test_a_name_without_a_known_provider_is_refused(name):
    with pytest.raises(UnknownProviderError) as caught:
        init_chat_model(name)
    assert isinstance(caught.value, ValueError)
    assert "openai" in str(caught.value)


def test_settings_have_one_name_each_and_the_rest_goes_to_the_provider():
    model = init_chat_model(
        "openai:m", openai_api_key="k", request_timeout=3, max_completion_tokens=9, verbosity="low"
    )
    assert (model.api_key, model.timeout, model.max_tokens) == ("k", 3, 9)
    assert model.model_kwargs == {"verbosity": "low"}
    assert "k" not in repr(model)


def test_a_config_chooses_only_what_it_may():
    model = init_chat_model(
        "openai:m", temperature=1, configurable_fields=("model", "temperature"), config_prefix="a"
    )
    chosen = model.model_for(
        {"configurable": {"a_model": "claude-x", "a_temperature": 0, "a_api_key": "evil"}}
    )
    assert (type(chosen).__name__, chosen.model, chosen.temperature) == ("ChatAnthropic",
                                                                         "claude-x", 0)  # fmt: skip
    assert chosen.api_key is None
    default = model.model_for({"configurable": {"model": "gpt-5", "thread_id": "t"}})
    assert (default.model, default.temperature) == ("m", 1)


def test_any_field_may_be_chosen_where_that_is_said():
    model = init_chat_model("openai:m", configurable_fields="any")
    chosen = model.model_for({"configurable": {"thread_id": "t", "api_key": "k", "max_tokens": 3}})
    assert (chosen.api_key, chosen.max_tokens, chosen.model_kwargs) == ("k", 3, {})


def test_a_model_that_nobody_chose_is_told():
    with pytest.raises(ConfigError, match=r"'model': 'openai:gpt-5'"):
        init_chat_model().invoke("hi")


def test_the_same_choice_gives_the_same_model_with_its_connections():
    model = init_chat_model()
    config = {"configurable": {"model": "openai:m"}}
    assert model.model_for(config) is model.model_for(config)


def test_tools_and_forms_wait_for_the_model():
    model = init_chat_model().bind_tools([{"type": "web_search"}])
    bound = model.model_for({"configurable": {"model": "openai:m"}})
    assert bound.kwargs["tools"] == [{"type": "web_search"}]


def test_with_config_chooses_for_good_and_keeps_the_rest():
    model = init_chat_model().with_config({"configurable": {"model": "openai:m"}})
    assert model.model_for(None).model == "m"
    tagged = init_chat_model().with_config(
        {"configurable": {"model": "openai:m", "thread_id": "t"}, "tags": ["x"]}
    )
    assert tagged.config["configurable"] == {"thread_id": "t"}
    assert tagged.model_for(None).bound.model == "m"


def test_no_sdk_is_imported_before_the_first_call():
    code = (
        "import sys\n"
        "from plait.chat_models import init_chat_model\n"
        "init_chat_model('openai:m'); init_chat_model('claude-x'); init_chat_model('google:m')\n"
        "heavy = ('openai', 'anthropic', 'google.genai', 'pydantic')\n"
        "print([module for module in heavy if module in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_missing_sdk_is_told_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)  # as if it were not installed
    with pytest.raises(MissingExtraError, match=r"plait\[anthropic\]"):
        init_chat_model("anthropic:m", api_key="k").invoke("hi")
