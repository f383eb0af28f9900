import uuid
from typing import Any

from plait.checkpoint.memory import InMemorySaver
from plait.config import get_stream_writer
from plait.func import entrypoint, task
from plait.types import Command, StreamWriter, interrupt


@task
def write_essay(topic: str) -> str:
    return f"An essay about topic: {topic}"


@entrypoint(checkpointer=InMemorySaver())
def workflow(topic: str) -> dict:
    essay = write_essay("cat").result()
    is_approved = interrupt({"essay": essay, "action": "Please approve/reject the essay"})
    return {"essay": essay, "is_approved": is_approved}


config = {"configurable": {"thread_id": str(uuid.uuid4())}}
for item in workflow.stream("cat", config):
    print(item)
for item in workflow.stream(Command(resume=True), config):
    print(item)


@entrypoint(checkpointer=InMemorySaver())
def accumulate(n: int, *, previous: int | None) -> entrypoint.final[int, int]:
    previous = previous or 0
    total = previous + n
    return entrypoint.final(value=previous, save=total)


c = {"configurable": {"thread_id": "my-thread"}}
print(accumulate.invoke(1, config=c))


@task
async def slow(x: int) -> int:
    return x * 2


@entrypoint()
async def par(xs: list[int]) -> list[int]:
    import asyncio

    get_stream_writer()("go")
    return await asyncio.gather(*[slow(x) for x in xs])


@entrypoint()
def streaming(x: Any, writer: StreamWriter) -> int:
    writer("hi")
    futures = [write_essay(str(i)) for i in range(3)]
    return len([f.result() for f in futures])


print(streaming.invoke(1))
