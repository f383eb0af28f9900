"""Models of texts that say what they were told to say."""

from plait.chat_models.fake_more import FakeListLLM, FakeListLLMError, FakeStreamingListLLM

__all__ = ["FakeListLLM", "FakeListLLMError", "FakeStreamingListLLM"]
