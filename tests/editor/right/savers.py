import asyncio
import sqlite3

from plait.checkpoint.sqlite import SqliteSaver
from plait.checkpoint.sqlite.aio import AsyncSqliteSaver
from plait.graph import START, MessagesState, StateGraph


def call(state: MessagesState):
    return {"messages": "hello"}


builder = StateGraph(MessagesState)
builder.add_node(call)
builder.add_edge(START, "call")

conn = sqlite3.connect(":memory:", check_same_thread=False)
graph = builder.compile(checkpointer=SqliteSaver(conn))
config = {"configurable": {"thread_id": "1"}}
graph.invoke({"messages": [{"role": "user", "content": "hi"}]}, config)
for s in graph.get_state_history(config):
    print(s.config.get("configurable", {})["checkpoint_id"], s.next, s.created_at)


async def main():
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        g = builder.compile(checkpointer=saver)
        async for chunk in g.astream({"messages": [("user", "hi")]}, config, stream_mode="values"):
            chunk["messages"][-1].pretty_print()
        async for mode, chunk in g.astream(
            {"messages": [("user", "hi")]}, config, stream_mode=["updates", "custom"]
        ):
            print(mode, chunk)
        async for e in g.astream_events({"messages": [("user", "hi")]}, config, version="v2"):
            print(e["event"], e["name"])


asyncio.run(main())
