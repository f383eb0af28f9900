"""Chain groups: calls that handlers see as the children of one run; and handlers of some events."""

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainGroup,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForChainGroup,
    ChainManagerMixin,
    LLMManagerMixin,
)
from langchain_core.callbacks.base import RunManagerMixin, ToolManagerMixin
from langchain_core.callbacks.manager import atrace_as_chain_group, trace_as_chain_group
from langchain_core.runnables import RunnableLambda

UPPER = RunnableLambda(lambda text: text.upper(), name="upper")
FAILS = RunnableLambda(lambda text: 1 // 0, name="fails")


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.told = []
        self.names = {}

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **kwargs):
        self.names[run_id] = kwargs.get("name")
        parent = self.names.get(parent_run_id)
        told = {key: kwargs.get(key) for key in ("metadata", "name")}
        told["tags"] = sorted(kwargs.get("tags") or ())  # the peer merges them in any order
        self.told.append(("start", inputs, parent, told))

    def on_chain_end(self, outputs, *, run_id, **kwargs):
        self.told.append(("end", self.names[run_id], outputs))

    def on_chain_error(self, error, *, run_id, **kwargs):
        self.told.append(("error", self.names[run_id], type(error).__name__))


def case_handlers_that_are_given(env):
    heard = Hears()
    with trace_as_chain_group("both", CallbackManager.configure([heard])) as group:
        UPPER.invoke("a", {"callbacks": group})
    return heard.told


def case_calls_of_a_group(env):
    heard = Hears()
    with trace_as_chain_group("both", inputs={"x": 1}, tags=["t"], metadata={"m": 1}) as group:
        group.add_handler(heard)
        UPPER.invoke("a", {"callbacks": group})
        UPPER.invoke("b", {"callbacks": group, "tags": ["own"]})
    return heard.told, isinstance(group, CallbackManagerForChainGroup), group.ended


def case_a_group_that_says_its_end(env):
    with trace_as_chain_group("both") as group:
        group.on_chain_end({"output": UPPER.invoke("a", {"callbacks": group})})
    return group.ended, len(group.handlers)


def case_a_group_that_fails(env):
    def run():
        with trace_as_chain_group("both") as group:
            FAILS.invoke("a", {"callbacks": group})

    return env.error(run)


def case_groups_merged_and_copied(env):
    heard, other = Hears(), Hears()
    with trace_as_chain_group("both", tags=["t"]) as group:
        group.add_handler(heard)
        merged = group.merge(CallbackManager.configure([other], inheritable_tags=["u"]))
        UPPER.invoke("a", {"callbacks": merged})
        UPPER.invoke("b", {"callbacks": group.copy()})
    kinds = [isinstance(each, CallbackManagerForChainGroup) for each in (merged, group.copy())]
    return heard.told, other.told, kinds, sorted(merged.tags)


async def case_async_groups(env):
    heard = Hears()
    async with atrace_as_chain_group("both", inputs={"x": 1}) as group:
        group.add_handler(heard)
        await UPPER.ainvoke("a", {"callbacks": group})

    async def run():
        async with atrace_as_chain_group("bad") as group:
            await FAILS.ainvoke("a", {"callbacks": group})

    kind = isinstance(group, AsyncCallbackManagerForChainGroup)
    return heard.told, await env.aerror(run()), kind


def case_what_handlers_are_made_of(env):
    parts = (ChainManagerMixin, LLMManagerMixin, RunManagerMixin, ToolManagerMixin)
    return [issubclass(BaseCallbackHandler, part) for part in parts]
