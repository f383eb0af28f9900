"""Handlers hear what they should, fail as they say, and managers pass on what is inherited."""

import asyncio
import logging
import subprocess
import sys
from copy import copy
from uuid import UUID

import langchain_core.callbacks as theirs
import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.language_models import GenericFakeChatModel as TheirModel
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

import plait.callbacks as ours
from plait.chat_models.fake import ScriptedChatModel
from plait.messages import AIMessage, HumanMessage, SystemMessage
from plait.runnables import RunnableLambda

FIELDS = ("tags", "inheritable_tags", "metadata", "inheritable_metadata", "parent_run_id")


def shape(manager):
    counts = (len(manager.handlers), len(manager.inheritable_handlers))
    return (*counts, *(copy(getattr(manager, field)) for field in FIELDS))


@pytest.mark.parametrize("kind", ["CallbackManager", "AsyncCallbackManager"])
def test_managers_inherit_handlers_tags_and_metadata_as_the_peers_do(kind):
    def program(lib):
        one, two, run_id = lib.BaseCallbackHandler(), lib.BaseCallbackHandler(), UUID(int=7)
        manager = getattr(lib, kind).configure(
            [one], [two], False, ["it"], ["lt"], {"im": 1}, {"lm": 1}
        )
        run = manager.on_chain_start(None, {"x": 1}, run_id=run_id, name="n")
        run = asyncio.run(run) if kind.startswith("Async") else run
        child = run.get_child("seq:1")
        grandchild = getattr(lib, kind).configure(child, [two, one], False, ["it2", "it"], ["lt2"])
        merged = child.merge(getattr(lib, kind)([two], [one, two], tags=["z"], metadata={"q": 1}))
        merged.tags.sort()
        return [shape(m) for m in (manager, run, child, grandchild, grandchild.copy(), merged)]

    assert program(ours) == program(theirs)


def test_adding_and_removing_on_a_manager_does_what_the_peer_does():
    def program(lib):
        manager, handler, shapes = lib.CallbackManager([]), lib.BaseCallbackHandler(), []
        for act in [
            lambda: manager.add_tags(["a", "a"]),
            lambda: manager.add_tags(["b", "a"]),
            lambda: manager.remove_tags(["a", "nope"]),
            lambda: manager.add_metadata({"m": 1}),
            lambda: manager.add_metadata({"m": 2, "n": 1}, inherit=False),
            lambda: manager.remove_metadata(["m"]),
            lambda: manager.add_handler(handler),
            lambda: manager.add_handler(handler),
            lambda: manager.set_handler(lib.BaseCallbackHandler(), inherit=False),
            lambda: manager.remove_handler(handler),
        ]:
            act()
            shapes.append(shape(manager))
        return shapes

    assert program(ours) == program(theirs)


class Everything:
    """A handler that derives from nothing and writes what it hears."""

    def __init__(self):
        self.heard = []

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.heard.append((name, args, sorted(kwargs)))


def test_all_events_reach_a_handler_with_the_arguments_of_the_peer():
    def program(lib):
        handler = Everything()
        handler.raise_error, handler.run_inline = True, True
        for flag in ("llm", "chat_model", "chain", "agent", "retriever", "retry", "custom_event"):
            setattr(handler, f"ignore_{flag}", False)
        manager = lib.CallbackManager([handler], tags=["t"], metadata={"m": 1})
        run = manager.on_chain_start(None, {"x": 1}, name="n")
        run.on_agent_action("act")
        run.on_agent_finish("fin")
        run.on_chain_end(1)
        run.on_chain_error("error")
        run = manager.on_tool_start({"name": "x"}, "in", inputs={"a": 1})
        run.on_text("hey")
        run.on_tool_end(3)
        run.on_tool_error("error")
        run = manager.on_retriever_start({"name": "x"}, "q")
        run.on_retriever_end([1])
        run.on_retriever_error("error")
        for run in manager.on_llm_start({"name": "x"}, ["p1", "p2"]):
            run.on_llm_new_token("tok", chunk=None)
            run.on_llm_end("z")
            run.on_llm_error("error")
        manager.on_chat_model_start({"name": "x"}, [["m1"], ["m2"]])
        manager.on_custom_event("n", {"d": 1})
        return handler.heard

    mine, peers = program(ours), program(theirs)
    for heard in (mine, peers):
        for _, _, keys in heard:
            assert "run_id" in keys
    # The peer hands `token` by keyword; a handler's signature takes it either way.
    strip = [(name, args, keys) for name, args, keys in mine if name != "on_llm_new_token"]
    assert strip == [(n, a, k) for n, a, k in peers if n != "on_llm_new_token"]
    assert [name for name, *_ in mine] == [name for name, *_ in peers]


def test_handlers_of_langchain_core_hear_our_runs():
    class Starts(theirs.BaseCallbackHandler):
        def __init__(self):
            self.names = []

        def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
            self.names.append(name)

        def on_chat_model_start(self, serialized, messages, **kwargs):
            self.names.append(messages[0][0].content)

    starts, usage = Starts(), UsageMetadataCallbackHandler()
    model = ScriptedChatModel(["a"])
    chain = RunnableLambda(lambda x: x + "!") | model
    chain.invoke("hi", {"callbacks": [starts, usage]})
    assert starts.names == ["RunnableSequence", "RunnableLambda", "hi!"]


def test_a_langchain_model_under_our_manager_tells_our_handlers_as_a_child():
    runs = []

    class Runs(ours.BaseCallbackHandler):
        raise_error = True

        def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **kwargs):
            runs.append((run_id, parent_run_id))

        def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id, **kwargs):
            runs.append((run_id, parent_run_id))

    model = TheirModel(messages=iter(["x"]))
    node = RunnableLambda(lambda text, config: model.invoke(text, config).content)
    assert node.invoke("hi", {"callbacks": [Runs()]}) == "x"
    assert runs[1][1] == runs[0][0]


class Failing(ours.BaseCallbackHandler):
    def on_chain_start(self, *args, **kwargs):
        raise ValueError("handler")


class Strict(Failing):
    raise_error = True


async def test_what_a_handler_raises_is_logged_and_fails_the_run_only_if_asked(caplog):
    work = RunnableLambda(lambda x: x)
    with caplog.at_level(logging.WARNING, "plait.callbacks"):
        assert work.invoke(1, {"callbacks": [Failing()]}) == 1
        assert await work.ainvoke(1, {"callbacks": [Failing()]}) == 1
    expected = "Error in Failing.on_chain_start callback: ValueError('handler')"
    assert [record.message for record in caplog.records] == [expected, expected]
    for call in (work.invoke, lambda *a: asyncio.run(work.ainvoke(*a))):
        with pytest.raises(ValueError, match="handler"):
            await asyncio.to_thread(call, 1, {"callbacks": [Strict()]})


async def test_async_handlers_are_awaited_in_async_runs_and_in_sync_ones():
    heard = []

    class Slow(ours.AsyncCallbackHandler):
        raise_error = True

        async def on_chain_start(self, serialized, inputs, **kwargs):
            await asyncio.sleep(0)
            heard.append(inputs)

    work, config = RunnableLambda(lambda x: x), {"callbacks": [Slow()]}
    await work.ainvoke("async", config)
    work.invoke("sync under a running loop", config)
    await asyncio.to_thread(work.invoke, "sync", config)
    assert heard == ["async", "sync under a running loop", "sync"]


def test_ignored_kinds_of_events_are_not_delivered():
    class Deaf(Strict):
        @property
        def ignore_chain(self):
            return True

    assert RunnableLambda(lambda x: x).invoke(1, {"callbacks": [Deaf()]}) == 1


async def test_a_handler_without_on_chat_model_start_gets_the_messages_as_text():
    prompts = []

    class Text(ours.BaseCallbackHandler):
        def on_llm_start(self, serialized, prompts_, **kwargs):
            prompts.extend(prompts_)

    model = ScriptedChatModel(["a", "b"])
    asked = [SystemMessage("s"), HumanMessage("h")]
    await model.ainvoke(asked, {"callbacks": [Text()]})
    await asyncio.to_thread(model.invoke, asked, {"callbacks": [Text()]})
    assert prompts == ["System: s\nHuman: h"] * 2


async def test_custom_events_reach_the_handlers_of_the_run_from_async_code():
    heard = []

    class Custom(ours.AsyncCallbackHandler):
        async def on_custom_event(self, name, data, *, run_id, tags=None, **kwargs):
            heard.append((name, data, tags))

    async def node(x):
        await ours.adispatch_custom_event("e", x)
        return AIMessage("done")

    await RunnableLambda(node).ainvoke(1, {"callbacks": [Custom()], "tags": ["t"]})
    assert heard == [("e", 1, ["t"])]


def test_a_run_that_nobody_hears_loads_no_manager():
    program = (
        "import sys\nfrom plait.runnables import RunnableLambda\n"
        "RunnableLambda(str).invoke(1, {'tags': ['t']})\n"
        "print([m for m in ('plait.callbacks.manager', 'asyncio', 'logging') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_tracers_of_langchain_record_what_models_say():
    tracer = RunCollectorCallbackHandler()
    chain = RunnableLambda(lambda x: ScriptedChatModel(["It is dry."]).invoke(x))
    chain.invoke("hi", {"callbacks": [tracer]})
    model = tracer.traced_runs[0].child_runs[0]
    said = model.outputs["generations"][0][0]
    assert (said["text"], said["type"], model.error) == ("It is dry.", "ChatGeneration", None)
