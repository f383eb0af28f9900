"""Caches, rate limiters and retries: what a model is not asked, and what is asked again."""

import threading

import pytest

from plait.caches import BaseCache, InMemoryCache
from plait.chat_models import LLM, ChatGeneration, Generation
from plait.chat_models.fake import ScriptedChatModel
from plait.errors import (
    ConfigError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from plait.messages import AIMessage
from plait.rate_limiters import InMemoryRateLimiter
from plait.types import default_retry_on


async def test_a_known_answer_asks_no_model_and_is_a_copy():
    cache = InMemoryCache()
    model = ScriptedChatModel(["one", "two"], cache=cache)
    first = model.invoke("hi")
    first.content = "changed by its caller"
    again, later = model.invoke("hi"), await model.ainvoke("hi")
    again.content = "changed, too"
    assert (later.content, len(model.calls)) == ("one", 1)
    assert model.invoke("hi", stop=["x"]).content == "two"
    assert len(model.calls) == 2


def test_what_a_caller_changes_inside_of_an_answer_is_not_what_the_next_one_gets():
    call = {"name": "pay", "args": {"sums": [1]}, "id": "1", "type": "tool_call"}
    answer = AIMessage(
        [{"type": "text", "text": "a"}], tool_calls=[call], response_metadata={"of": {"n": 1}}
    )
    expected = repr(answer)
    model = ScriptedChatModel([answer], cache=InMemoryCache())
    for _ in range(3):
        said = model.invoke("hi")
        said.id = None
        assert repr(said) == expected
        said.content[0]["text"] = "changed"
        said.tool_calls[0]["args"]["sums"].append(2)
        said.response_metadata["of"]["n"] = 2


async def test_texts_in_a_cache_of_another_program_become_messages():
    class Shared(BaseCache):
        def lookup(self, prompt, llm_string):
            return [Generation("from elsewhere")]

        def update(self, prompt, llm_string, return_val):
            raise AssertionError("what is known is not stored again")

        def clear(self, **kwargs):
            pass

    model = ScriptedChatModel([], cache=Shared())
    assert model.invoke("hi").content == (await model.ainvoke("hi")).content == "from elsewhere"


def test_a_failed_answer_is_not_kept():
    model = ScriptedChatModel([ValueError("no"), "yes"], cache=InMemoryCache())
    with pytest.raises(ValueError, match="no"):
        model.invoke("hi")
    assert model.invoke("hi").content == "yes"


def test_a_cache_that_is_asked_for_must_be_there():
    with pytest.raises(ConfigError, match="set_llm_cache"):
        ScriptedChatModel(["x"], cache=True).invoke("hi")


def test_text_models_ask_only_for_what_is_not_known():
    asked = []

    class Echo(LLM):
        def _call(self, prompt, stop=None, run_manager=None, **kwargs):
            asked.append(prompt)
            return prompt

    model = Echo(cache=InMemoryCache())
    assert model.batch(["a", "b"]) == ["a", "b"]
    assert model.batch(["b", "c", "a"]) == ["b", "c", "a"]
    assert asked == ["a", "b", "c"]


def test_a_bucket_fills_with_time_and_holds_no_more_than_its_size():
    now = [0.0]
    limiter = InMemoryRateLimiter(requests_per_second=2, max_bucket_size=3, clock=lambda: now[0])
    assert not limiter.acquire(blocking=False)
    now[0] = 0.5
    assert limiter.acquire(blocking=False)
    assert not limiter.acquire(blocking=False)
    now[0] = 100.0
    assert [limiter.acquire(blocking=False) for _ in range(4)] == [True, True, True, False]


async def test_threads_and_tasks_wait_for_a_bucket_and_get_what_is_in_it():
    limiter = InMemoryRateLimiter(requests_per_second=1000, max_bucket_size=1)
    taken = []
    workers = [threading.Thread(target=lambda: taken.append(limiter.acquire())) for _ in range(8)]
    for worker in workers:
        worker.start()
    assert await limiter.aacquire()
    for worker in workers:
        worker.join()
    assert taken == [True] * 8


@pytest.mark.parametrize("wrong", [{"requests_per_second": 0}, {"max_bucket_size": 0.5}])
def test_a_limiter_that_lets_nothing_through_is_refused(wrong):
    with pytest.raises(ValueError, match="lets no request through"):
        InMemoryRateLimiter(**wrong)


def test_a_model_waits_for_each_request_and_not_for_known_answers():
    class Counting(InMemoryRateLimiter):
        taken = 0

        def acquire(self, *, blocking=True):
            self.taken += 1
            return True

    limiter = Counting()
    model = ScriptedChatModel(["a", "b"], rate_limiter=limiter, cache=InMemoryCache())
    model.invoke("x")
    model.invoke("x")
    list(model.stream("y"))
    assert limiter.taken == 2


def test_a_retry_policy_repeats_what_may_go_better_and_nothing_else():
    again = (ModelRateLimitError, ModelAPIError, ModelConnectionError, ModelTimeoutError)
    never = (ModelAuthenticationError, ModelInvalidRequestError)
    assert all(default_retry_on(kind("x")) for kind in again)
    assert not any(default_retry_on(kind("x")) for kind in never)


def test_candidates_of_an_answer_all_get_ids_and_none_is_told_what_is_of_them_all():
    class Two(ScriptedChatModel):
        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            result = super()._generate(messages, stop, run_manager, **kwargs)
            result.generations.append(ChatGeneration(AIMessage("other")))
            result.llm_output = {"model_name": "m"}
            return result

    (candidates,) = Two(["one"]).generate([["hi"]]).generations
    ids = [generation.message.id for generation in candidates]
    assert [name[-2:] for name in ids] == ["-0", "-1"]
    assert [g.message.response_metadata for g in candidates] == [{}, {}]
