"""PIIMiddleware: detectors, strategies, and what of a conversation it touches."""

import asyncio
import re

from langchain.agents import create_agent
from langchain.agents.middleware import PIIDetectionError, PIIMiddleware
from langchain.agents.middleware.pii import (
    detect_credit_card,
    detect_email,
    detect_ip,
    detect_mac_address,
    detect_url,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

TEXTS = {
    "email": "me: x.y+z@ex-ample.co.uk, and <z@z.io>. a@b A@B.COM %a@b.com. a@b.com@c.com",
    "credit_card": "4532015112830366 4532-0151-1283-0366 5555 5555 5555 4444 4532015112830367 "
    "x5555555555554444 4222222222222 41111111111111111111",
    "ip": "192.168.1.1 999.1.1.1 1.2.3.4:80 01.02.03.04 10.0.0.1/8 x10.0.0.1 ip=10.0.0.2,",
    "mac_address": "00:1A:2B:3C:4D:5E 00-1a-2b-3c-4d-5e 001A.2B3C.4D5E 00:1A:2B:3C:4D",
    "url": "https://example.com/x?y=1#z (www.example.com) example.com/path example.com ftp://x.com",
}
DETECTORS = {
    "email": detect_email,
    "credit_card": detect_credit_card,
    "ip": detect_ip,
    "mac_address": detect_mac_address,
    "url": detect_url,
}


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was asked."""

    script: list
    seen: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self.bind(**kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append([(m.type, m.content) for m in messages])
        said = self.script.pop(0)
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


def model_of(*script):
    return Scripted(script=list(script), seen=[])


@tool
def look_up(name: str) -> str:
    """Look somebody up."""
    return f"{name}: {name}@x.org"


def called(id="1"):
    call = {"name": "look_up", "args": {"name": "ann"}, "id": id, "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def said(update):
    if update is None:
        return None
    return [(m.type, m.id, m.content) for m in update["messages"]]


def case_detectors(env):
    return {name: [dict(m) for m in DETECTORS[name](TEXTS[name])] for name in DETECTORS}


def case_data_of_other_forms(env):
    return [
        [m["value"] for m in detect_credit_card("amex 3782 822463 10005 diners 30569309025904")],
        [m["value"] for m in detect_ip("from 2001:db8::1 at 10:30")],
        [m["value"] for m in detect_url("HTTPS://X.ORG")],
        [m["value"] for m in detect_email("jürgen@x.org")],
    ]


def case_two_messages_of_the_user(env):
    messages = [HumanMessage("one@x.org", id="1"), HumanMessage("two@x.org", id="2")]
    return said(PIIMiddleware("email").before_model({"messages": messages}, None))


def case_strategies(env):
    def of(name, strategy):
        state = {"messages": [HumanMessage(TEXTS[name], id="h")]}
        return said(PIIMiddleware(name, strategy=strategy).before_model(state, None))

    return [of(name, strategy) for name in TEXTS for strategy in ("redact", "mask", "hash")]


def case_blocked(env):
    middleware = PIIMiddleware("email", strategy="block")
    state = {"messages": [HumanMessage("a@b.org and c@d.org")]}
    try:
        middleware.before_model(state, None)
    except PIIDetectionError as error:
        return error.pii_type, [dict(m) for m in error.matches]


def case_names(env):
    return [PIIMiddleware(name).name for name in TEXTS] + [
        PIIMiddleware("key", detector=r"sk-\d+").name
    ]


def case_wrong_arguments(env):
    return [
        env.error(lambda: PIIMiddleware("key")),
        env.error(lambda: PIIMiddleware("email", detector="(")),
        env.error(
            lambda: PIIMiddleware("email", strategy="nope").before_model(
                {"messages": [HumanMessage("a@b.org")]}, None
            )
        ),
    ]


def case_an_own_pattern_that_is_compiled(env):
    state = {"messages": [HumanMessage("keys sk-1", id="1")]}
    return env.error(
        lambda: said(PIIMiddleware("key", detector=re.compile("sk-")).before_model(state, None))
    )


def case_own_patterns(env):
    text = "keys sk-12345678 and sk-9 and sk-"
    return [
        said(
            PIIMiddleware("key", detector=r"sk-\d+", strategy=strategy).before_model(
                {"messages": [HumanMessage(text, id="1")]}, None
            )
        )
        for strategy in ("redact", "mask", "hash")
    ]


def case_own_detectors(env):
    def detect(text):
        where = text.find("secret")
        if where < 0:
            return []
        return [{"type": "word", "value": "secret", "start": where, "end": where + 6}]

    return [
        said(
            PIIMiddleware("secret", detector=detect, strategy=strategy).before_model(
                {"messages": [HumanMessage(text, id="1")]}, None
            )
        )
        for strategy in ("redact", "mask", "hash")
        for text in ("a secret here", "nothing")
    ]


def case_an_own_detector_of_a_known_type(env):
    middleware = PIIMiddleware("email", detector=r"\w+ at \w+")
    state = {"messages": [HumanMessage("ann at home, a@b.org", id="1")]}
    return said(middleware.before_model(state, None))


HISTORY = [
    HumanMessage("old@x.org", id="h1"),
    AIMessage("ai@x.org", id="a1"),
    SystemMessage("sys@x.org", id="s1"),
    HumanMessage("new@x.org", id="h2"),
    AIMessage(
        "call@x.org",
        id="a2",
        tool_calls=[{"name": "t", "args": {"to": "arg@x.org"}, "id": "1", "type": "tool_call"}],
    ),
    ToolMessage("tool1@x.org", tool_call_id="1", id="t1"),
    ToolMessage("tool2@x.org", tool_call_id="2", id="t2"),
]


def case_which_messages_before_the_model(env):
    found = []
    for on_input in (True, False):
        for on_results in (True, False):
            middleware = PIIMiddleware(
                "email",
                apply_to_input=on_input,
                apply_to_tool_results=on_results,
                apply_to_output=True,
            )
            for end in range(1, len(HISTORY) + 1):
                state = {"messages": list(HISTORY[:end])}
                update = middleware.before_model(state, None)
                found.append(
                    None if update is None else [(m.id, m.content) for m in update["messages"]]
                )
    return found


def case_which_messages_after_the_model(env):
    found = []
    for on_output in (True, False):
        middleware = PIIMiddleware("email", apply_to_output=on_output)
        for end in range(1, len(HISTORY) + 1):
            update = middleware.after_model({"messages": list(HISTORY[:end])}, None)
            found.append(
                None
                if update is None
                else [(m.id, m.content, getattr(m, "tool_calls", None)) for m in update["messages"]]
            )
    return found


def case_blocks_of_content(env):
    content = [{"type": "text", "text": "a@b.org"}, {"type": "text", "text": "c"}]
    return env.error(
        lambda: said(
            PIIMiddleware("email").before_model({"messages": [HumanMessage(content, id="1")]}, None)
        )
    )


def case_nothing_to_do(env):
    middleware = PIIMiddleware("email", apply_to_output=True, apply_to_tool_results=True)
    return [
        middleware.before_model({"messages": []}, None),
        middleware.after_model({"messages": []}, None),
        middleware.before_model({"messages": [HumanMessage("hello")]}, None),
        middleware.before_model({"messages": [HumanMessage("")]}, None),
        middleware.after_model({"messages": [AIMessage("hello")]}, None),
    ]


def case_in_an_agent(env):
    model = model_of(called(), "ann is at ann@x.org")
    agent = create_agent(
        model,
        [look_up],
        middleware=[
            PIIMiddleware("email", apply_to_output=True, apply_to_tool_results=True),
            PIIMiddleware("ip", strategy="hash"),
        ],
    )
    result = agent.invoke({"messages": [("user", "I am b@x.org at 10.0.0.1")]})
    return model.seen, [(m.type, m.content) for m in result["messages"]]


async def case_in_an_async_agent(env):
    model = model_of("call 4532015112830366")
    agent = create_agent(
        model, middleware=[PIIMiddleware("credit_card", strategy="mask", apply_to_output=True)]
    )
    result = await agent.ainvoke({"messages": [("user", "I have 5555 5555 5555 4444")]})
    return model.seen, [(m.type, m.content) for m in result["messages"]]


def case_an_agent_that_is_blocked(env):
    agent = create_agent(model_of("hi"), middleware=[PIIMiddleware("url", strategy="block")])
    return env.error(lambda: agent.invoke({"messages": [("user", "see http://x.org")]}))


def case_hooks_of_async_runs(env):
    middleware = PIIMiddleware("email", apply_to_output=True)
    state = {"messages": [HumanMessage("a@b.org", id="1"), AIMessage("c@d.org", id="2")]}

    async def both():
        return (
            said(await middleware.abefore_model(state, None)),
            said(await middleware.aafter_model(state, None)),
        )

    return asyncio.run(both())
