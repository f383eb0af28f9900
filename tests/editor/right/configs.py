from typing import TypedDict

from plait.graph import START, StateGraph
from plait.runnables import RunnableConfig, RunnableLambda


class State(TypedDict):
    question: str
    answer: str


def answer(state: State, config: RunnableConfig) -> dict:
    user = config["configurable"]["user_id"]
    language = config.get("configurable", {}).get("language", "en")
    tags = config["metadata"].get("tier")
    return {"answer": f"{user} ({language}, {tags}): {state['question']}"}


graph = StateGraph(State).add_node(answer).add_edge(START, "answer").compile()

config: RunnableConfig = {"configurable": {"user_id": "ann"}, "metadata": {"tier": 1}}
print(graph.invoke({"question": "Why?"}, config))

config["configurable"]["language"] = "de"
print(graph.invoke({"question": "Why?"}, config=config))

limit: RunnableConfig = {"recursion_limit": 5, "configurable": {"user_id": "bob"}}
print(graph.with_config({"tags": ["docs"]}).invoke({"question": "Who?"}, limit))

made = RunnableConfig(configurable={"user_id": "eve"}, tags=["x"], max_concurrency=2)
print(graph.batch([{"question": "a"}, {"question": "b"}], made))

chain = RunnableLambda(lambda text: text.upper()).with_config(run_name="upper")
print(chain.invoke("hi", {"callbacks": []}), chain.invoke("hi", config={"tags": ["a"]}))
