"""Any langchain_core runnable works where plait's own does, and the other way round."""

import subprocess
import sys

import langchain_core.runnables as peer
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from plait.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough


def one_more(x):
    return x + 1


THEIRS = peer.RunnableLambda(lambda x: x * 10)
OURS = RunnableLambda(one_more)


@pytest.mark.parametrize(
    ("chain", "result"),
    [
        (OURS | THEIRS, 20),
        (THEIRS | OURS, 11),
        (THEIRS | OURS | THEIRS, 110),
        (OURS | {"a": THEIRS, "b": OURS}, {"a": 20, "b": 3}),
        ({"a": THEIRS, "b": OURS} | RunnablePassthrough(), {"a": 10, "b": 2}),
        (THEIRS | {"a": OURS}, {"a": 11}),
        (peer.RunnableParallel(a=OURS, b=THEIRS), {"a": 2, "b": 10}),
        (RunnableParallel(a=OURS, b=THEIRS), {"a": 2, "b": 10}),
        (OURS >> THEIRS, 20),
        (OURS.with_fallbacks([THEIRS]), 2),
        (RunnableLambda(lambda x: 1 / 0).with_fallbacks([THEIRS]), 10),
        (peer.RunnableLambda(lambda x: 1 / 0).with_fallbacks([OURS]), 2),
    ],
)
async def test_they_compose_from_either_side(chain, result):
    assert chain.invoke(1) == result
    assert await chain.ainvoke(1) == result
    assert chain.batch([1, 1]) == [result, result]


def test_theirs_stream_through_ours_and_back():
    def letters(chunks):
        for chunk in chunks:
            yield from chunk

    theirs = peer.RunnableGenerator(letters)
    assert list((RunnablePassthrough() | theirs | RunnablePassthrough()).stream("ab")) == ["a", "b"]
    assert list((theirs | RunnablePassthrough()).stream("ab")) == ["a", "b"]


async def test_a_real_prompt_model_and_parser_stream_through_ours():
    def chain():
        model = GenericFakeChatModel(messages=iter([AIMessage("hello you there")]))
        prompt = ChatPromptTemplate.from_messages([("user", "{q}")])
        return (
            {"q": RunnablePassthrough()}
            | RunnablePassthrough()
            | prompt
            | model
            | StrOutputParser()
        )

    words = ["hello", " ", "you", " ", "there"]
    assert [chunk for chunk in chain().stream("hi") if chunk] == words
    assert [chunk async for chunk in chain().astream("hi") if chunk] == words


def test_one_handler_hears_both_as_one_tree():
    heard = []

    class Hears(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **kwargs):
            heard.append((kwargs.get("name"), run_id, parent_run_id))

    chain = OURS | peer.RunnableLambda(one_more, name="theirs") | OURS
    chain.invoke(1, {"callbacks": [Hears()]})
    (root, root_id, none), *steps = heard
    assert (root, none) == ("RunnableSequence", None)
    assert [name for name, _, _ in steps] == ["one_more", "theirs", "one_more"]
    assert {parent for _, _, parent in steps} == {root_id}


def test_ours_are_instances_of_theirs_once_both_are_loaded():
    assert isinstance(OURS, peer.Runnable)
    assert not issubclass(dict, peer.Runnable)


def test_plait_runs_chains_without_loading_langchain_core():
    program = """
import sys
from plait.runnables import RunnableLambda, RunnablePassthrough
chain = RunnableLambda(len) | {"n": RunnablePassthrough()} | RunnablePassthrough.assign(m=len)
assert chain.invoke("abc") == {"n": 3, "m": 1}
assert list(chain.stream("abc"))
assert not [name for name in sys.modules if name.startswith(("langchain", "langgraph"))]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
