"""Models of all providers without a key: one error of plait's, whatever the SDK raises."""

import pytest

from plait.chat_models import init_chat_model
from plait.errors import ModelAuthenticationError

KEYS = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
MORE = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-test-1", "google:gemini-3"])
async def test_a_model_without_a_key_says_where_one_may_come_from(name, wire, monkeypatch):
    for key in KEYS + MORE:
        monkeypatch.delenv(key, raising=False)
    model = init_chat_model(name, base_url=wire.url, max_retries=0)
    said = rf"{name} failed: .*Check the key \(api_key=\.\.\., or the environment\)"
    with pytest.raises(ModelAuthenticationError, match=said) as failed:
        model.invoke("?")
    assert failed.value.__cause__ is not None
    assert not failed.value.is_retryable
    with pytest.raises(ModelAuthenticationError, match=said):
        list(model.stream("?"))
    with pytest.raises(ModelAuthenticationError, match=said):
        await model.ainvoke("?")
    with pytest.raises(ModelAuthenticationError, match=said):
        [part async for part in model.astream("?")]
    assert wire.requests == []
