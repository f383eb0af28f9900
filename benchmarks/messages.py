"""Owns the workloads of messages alone: constructing, comparing, converting for OpenAI."""

from typing import Any

from benchmarks.implementations import Implementation
from benchmarks.measure import Job, run_async


def _conversation(impl: Implementation, count: int) -> list[Any]:
    """`count` messages of four kinds, every fourth an answer with a tool call."""
    human, answer = impl.message("HumanMessage"), impl.message("AIMessage")
    result = impl.message("ToolMessage")
    made: list[Any] = []
    for n in range(count // 4):
        call = {"name": "search", "args": {"query": f"q{n}", "top": 3}, "id": f"c{n}"}
        made.append(human(f"question {n}", id=f"h{n}"))
        made.append(answer("", tool_calls=[call], id=f"a{n}"))
        made.append(result(f"result {n}", tool_call_id=f"c{n}"))
        made.append(answer(f"answer {n}", response_metadata={"n": n}))
    return made


def compare(impl: Implementation, count: int, *, run_as_async: bool) -> Job:
    """Constructs a conversation twice, and compares the two message by message."""

    def run() -> int:
        one, two = _conversation(impl, count), _conversation(impl, count)
        return sum(a == b for a, b in zip(one, two, strict=True))

    return _job(run, run_as_async)


def convert(impl: Implementation, count: int, *, run_as_async: bool) -> Job:
    """Converts a conversation to the form that OpenAI's chat API takes.

    The dicts themselves are what is compared.
    """
    messages, turn = _conversation(impl, count), impl.message("convert_to_openai_messages")
    return _job(lambda: turn(messages), run_as_async)


def floor_compare(count: int, *, run_as_async: bool) -> Job:
    """The same with plain dicts."""

    def made() -> list[dict[str, Any]]:
        return [{"type": "human", "content": f"question {n}", "id": f"h{n}"} for n in range(count)]

    return _job(lambda: sum(a == b for a, b in zip(made(), made(), strict=True)), run_as_async)


def floor_convert(count: int, *, run_as_async: bool) -> Job:
    """The same dicts, written out by hand."""

    def made() -> list[dict[str, Any]]:
        return [turn for n in range(count // 4) for turn in _turns(n)]

    return _job(made, run_as_async)


def _turns(n: int) -> tuple[dict[str, Any], ...]:
    """The four messages of number `n` of a conversation, as OpenAI's chat API takes them."""
    function = {"name": "search", "arguments": f'{{"query": "q{n}", "top": 3}}'}
    call = {"type": "function", "id": f"c{n}", "function": function}
    return (
        {"role": "user", "content": f"question {n}"},
        {"role": "assistant", "tool_calls": [call], "content": ""},
        {"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n}"},
        {"role": "assistant", "content": f"answer {n}"},
    )


def _job(run: Any, run_as_async: bool) -> Job:
    async def run_coroutine() -> Any:
        return run()

    return Job(lambda: run_async(run_coroutine())) if run_as_async else Job(run)
