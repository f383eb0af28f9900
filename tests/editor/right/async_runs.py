import asyncio
import operator
from typing import Annotated

from typing_extensions import TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.config import get_stream_writer
from plait.graph import END, START, StateGraph
from plait.runnables import RunnableConfig
from plait.types import Command, Send, StreamWriter


class State(TypedDict, total=False):
    items: Annotated[list[str], operator.add]
    n: int


async def one(state: State, config: RunnableConfig, writer: StreamWriter) -> State:
    writer({"p": 1})
    await asyncio.sleep(0)
    return {"items": ["a"], "n": state.get("n", 0) + 1}


async def route(state: State) -> list[Send] | str:
    if state.get("n", 0) > 3:
        return END
    return [Send("two", {"n": i}) for i in range(2)]


async def two(state: State) -> Command:
    get_stream_writer()("x")
    return Command(update={"items": [str(state.get("n"))]})


b = StateGraph(State)
b.add_node("one", one)
b.add_node("two", two)
b.add_edge(START, "one")
b.add_conditional_edges("one", route, ["two", END])
g = b.compile(checkpointer=InMemorySaver())


async def main() -> None:
    cfg: RunnableConfig = {"configurable": {"thread_id": "t"}}
    async for ns, mode, chunk in g.astream(
        {"n": 1}, cfg, stream_mode=["updates", "custom"], subgraphs=True
    ):
        print(ns, mode, chunk)
    s = await g.aget_state(cfg)
    print(s.values["items"])
    async for h in g.aget_state_history(cfg, limit=2):
        print(h.metadata, h.parent_config)
    await g.aupdate_state(cfg, {"items": ["z"]}, as_node="two")
    r = await asyncio.gather(
        *(g.ainvoke({"n": i}, {"configurable": {"thread_id": str(i)}}) for i in range(3))
    )
    print([x["items"] for x in r])
    results = await g.abatch(
        [{"n": 1}, {"n": 2}],
        [{"configurable": {"thread_id": "a"}}, {"configurable": {"thread_id": "b"}}],
    )
    print(len(results))


asyncio.run(main())
