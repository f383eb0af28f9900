"""Any langchain_core runnable works where plait's own does, and the other way round."""

import subprocess
import sys

import langchain_core.runnables as peer
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.utils.function_calling import convert_to_openai_tool

import plait.messages as ours
import plait.output_parsers
import plait.prompts
from plait.chat_models.fake import FakeListChatModel
from plait.prebuilt import create_react_agent
from plait.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from plait.tools import tool


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


class Echo(GenericFakeChatModel):
    """Says what it was told, to those only who speak LangChain's messages."""

    messages: object = ()

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        assert all(isinstance(message, BaseMessage) for message in messages)
        told = AIMessage(" ".join(f"{m.type}:{m.content}" for m in messages))
        return ChatResult(generations=[ChatGeneration(message=told)])

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools])


OUR_PROMPT = plait.prompts.ChatPromptTemplate.from_messages([("system", "s"), ("human", "{q}")])
OUR_TEXT = plait.prompts.PromptTemplate.from_template("{q}")
OUR_PARSER = plait.output_parsers.StrOutputParser()
LISTED = RunnableLambda(lambda x: [ours.SystemMessage("s"), ours.HumanMessage(x["q"])])
OURS_SAID = FakeListChatModel(responses=["said"])


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        (OUR_PROMPT | Echo() | OUR_PARSER, "system:s human:hi"),
        (OUR_PROMPT | Echo() | StrOutputParser(), "system:s human:hi"),
        (OUR_PROMPT | (Echo() | StrOutputParser()), "system:s human:hi"),
        (OUR_PROMPT | Echo().bind(stop=["x"]) | OUR_PARSER, "system:s human:hi"),
        (OUR_PROMPT | Echo().with_retry() | OUR_PARSER, "system:s human:hi"),
        (OUR_PROMPT | Echo().with_fallbacks([Echo()]) | OUR_PARSER, "system:s human:hi"),
        (OUR_TEXT | Echo() | OUR_PARSER, "human:hi"),
        (LISTED | Echo() | OUR_PARSER, "system:s human:hi"),
        (OUR_PROMPT | OURS_SAID | StrOutputParser(), "said"),
        (OUR_PROMPT | OURS_SAID.with_fallbacks([Echo()]) | StrOutputParser(), "said"),
        (
            RunnableLambda(lambda x: {"said": [ours.HumanMessage(x["q"])], "q": "you"})
            | ChatPromptTemplate.from_messages([("placeholder", "{said}"), ("human", "{q}")])
            | Echo()
            | OUR_PARSER,
            "human:hi human:you",
        ),
    ],
    ids=[
        *("our prompt and parser", "our prompt", "a chain", "bound", "tried again", "fallbacks"),
        *("a text", "a list", "our model", "our model with a fallback", "messages for a prompt"),
    ],
)
async def test_theirs_are_given_messages_of_their_own_kind(chain, said):
    assert chain.invoke({"q": "hi"}) == said
    assert await chain.ainvoke({"q": "hi"}) == said
    assert "".join(chain.stream({"q": "hi"})) == said
    assert "".join([chunk async for chunk in chain.astream({"q": "hi"})]) == said
    assert chain.batch([{"q": "hi"}] * 2) == [said] * 2


def test_a_model_of_theirs_in_a_chain_says_of_itself_what_it_is():
    step = (OUR_PROMPT | Echo()).last
    assert step.get_name() == "Echo"
    assert step._llm_type == Echo()._llm_type
    assert "Echo" in (OUR_PROMPT | Echo()).get_graph().draw_mermaid()
    assert repr(step) == repr(Echo())


def test_a_chain_around_a_model_of_theirs_is_an_agents_model():
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    agent = create_react_agent(RunnablePassthrough() | Echo(), [add])
    told = agent.invoke({"messages": [("user", "hi")]})["messages"][-1]
    assert (told.type, told.content) == ("ai", "human:hi")


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
