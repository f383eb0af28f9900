"""What `loads` makes beside messages: data, read by both sides, and nothing that runs."""

import json

import langchain_core.load as peer
import pytest
from langchain_core.prompts import ChatPromptTemplate as TheirPrompt

from plait.documents import Document
from plait.errors import InvalidTemplateError
from plait.load import dumps, loads
from plait.messages import HumanMessage
from plait.output_parsers import StrOutputParser
from plait.prompts import ChatPromptTemplate, PromptTemplate
from plait.runnables import RunnableLambda

PROMPT = ChatPromptTemplate(
    [("system", "You are {who}."), ("placeholder", "{h}"), ("human", "{x}")]
)


@pytest.mark.filterwarnings("ignore")
def test_the_peer_reads_our_prompts_and_we_read_the_peers():
    read = peer.loads(dumps(PROMPT), allowed_objects="core")
    assert type(read) is TheirPrompt
    assert loads(peer.dumps(read)) == PROMPT


def test_data_is_made_with_its_constructor_which_refuses_what_does_not_fit():
    written = json.loads(dumps(PromptTemplate.from_template("{x}")))
    written["kwargs"] = {"template": "{{ x.__class__ }}", "template_format": "jinja2"}
    with pytest.raises(InvalidTemplateError, match="run code"):
        loads(json.dumps(written))


def test_a_class_of_ones_own_is_made_where_it_is_allowed_and_its_secrets_stay_outside():
    class Keyed(StrOutputParser):
        key: str
        size: int = 1

        @property
        def lc_secrets(self):
            return {"key": "THE_KEY"}

    text = dumps(Keyed(key="hush", size=2))
    assert "hush" not in text
    read = loads(text, allowed_objects=[Keyed], secrets_map={"THE_KEY": "hush"})
    assert read == Keyed(key="hush", size=2)


def test_a_message_of_ones_own_is_made_where_it_is_allowed_and_its_secrets_stay_outside():
    class Sealed(HumanMessage):
        key: str

        @property
        def lc_secrets(self):
            return {"key": "THE_KEY"}

    text = dumps(Sealed("x", key="hush"))
    assert "hush" not in text
    read = loads(text, allowed_objects=[Sealed], secrets_map={"THE_KEY": "hush"})
    assert read == Sealed("x", key="hush")


def test_only_messages_are_made_where_only_they_are_allowed():
    with pytest.raises(ValueError, match="not allowed"):
        loads(dumps(Document("x")), allowed_objects="messages")


def test_chains_and_steps_that_are_functions_are_described():
    for thing in (PROMPT | StrOutputParser(), RunnableLambda(len).map()):
        written = json.loads(dumps(thing))
        assert written["type"] == "not_implemented"
        assert written["name"] == thing.get_name()
        with pytest.raises(NotImplementedError, match="could not be written"):
            loads(json.dumps(written))
