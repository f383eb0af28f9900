"""SummarizationMiddleware: when it runs, what it keeps, what the summary's model is told."""

import warnings
from unittest.mock import patch

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was asked."""

    script: list
    seen: list
    profile: dict | None = None

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self.bind(**kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append([(m.type, m.content) for m in messages])
        said = self.script.pop(0) if self.script else "SUMMARY"
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


def model_of(*script, **fields):
    return Scripted(script=list(script), seen=[], **fields)


def call(name, id, **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def talk(n):
    return [
        HumanMessage(f"question {i}", id=f"h{i}") if i % 2 == 0 else AIMessage(f"a {i}", id=f"a{i}")
        for i in range(n)
    ]


def work():
    """Two turns with tools: indices 1..4 and 6..9 belong together."""
    return [
        HumanMessage("one", id="0"),
        AIMessage("", id="1", tool_calls=[call("t", "c1"), call("t", "c2")]),
        ToolMessage("r1", tool_call_id="c1", id="2"),
        ToolMessage("r2", tool_call_id="c2", id="3"),
        AIMessage("so", id="4"),
        HumanMessage("two", id="5"),
        AIMessage("", id="6", tool_calls=[call("t", "c3")]),
        ToolMessage("r3", tool_call_id="c3", id="7"),
        AIMessage("", id="8", tool_calls=[call("t", "c4"), call("t", "c5")]),
        ToolMessage("r4", tool_call_id="c4", id="9"),
        ToolMessage("r5", tool_call_id="c5", id="10"),
    ]


def count(messages):
    return sum(len(str(m.content)) for m in messages)


def kept(update):
    """The messages that an update leaves, after the one that removes all."""
    if update is None:
        return None
    first, *rest = update["messages"]
    return (
        type(first).__name__,
        first.id,
        [
            (m.type, "the summary" if "SUMMARY" in m.content else m.content, m.additional_kwargs)
            for m in rest
        ],
    )


def after(messages, model=None, **options):
    model = model or model_of()
    middleware = SummarizationMiddleware(model, summary_prompt="Sum up: {messages}", **options)
    return kept(middleware.before_model({"messages": messages}, None))


def case_triggers_by_messages(env):
    return [after(talk(n), trigger=("messages", 5), keep=("messages", 2)) for n in (1, 4, 5, 9)]


def case_triggers_by_tokens(env):
    size = count(talk(6))
    return [
        after(talk(6), trigger=("tokens", n), keep=("messages", 2), token_counter=count)
        for n in (size - 1, size, size + 1)
    ]


def case_triggers_by_fractions(env):
    size = count(talk(6))
    return [
        after(
            talk(6),
            model_of(profile={"max_input_tokens": size * 2}),
            trigger=("fraction", share),
            keep=("messages", 1),
            token_counter=count,
        )
        for share in (0.4, 0.5, 0.51)
    ]


def case_several_triggers(env):
    size = count(talk(6))
    triggers = [
        [("messages", 100), ("tokens", 10)],
        [("messages", 100), ("tokens", 10_000)],
        {"tokens": size, "messages": 6},
        {"tokens": size, "messages": 7},
        [{"tokens": size, "messages": 7}, ("messages", 6)],
        [],
        None,
    ]
    return [
        after(talk(6), trigger=trigger, keep=("messages", 2), token_counter=count)
        for trigger in triggers
    ]


def case_tokens_that_the_model_reported(env):
    def told(tokens, provider="x"):
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        messages = talk(5)
        messages.append(
            AIMessage(
                "a",
                id="u",
                usage_metadata=usage,
                response_metadata={"model_provider": provider},
            )
        )
        return messages

    return [
        after(told(tokens), trigger=("tokens", 1000), keep=("messages", 2), token_counter=count)
        for tokens in (10, 5000)
    ]


def case_kept_messages(env):
    return [
        after(talk(9), trigger=("messages", 2), keep=("messages", n)) for n in (1, 2, 3, 8, 9, 20)
    ]


def case_kept_tokens(env):
    return [
        after(talk(9), trigger=("messages", 2), keep=("tokens", n), token_counter=count)
        for n in (1, 5, 20, 40, 10_000)
    ]


def case_kept_fractions(env):
    return [
        after(
            talk(9),
            model_of(profile={"max_input_tokens": 100}),
            trigger=("messages", 2),
            keep=("fraction", share),
            token_counter=count,
        )
        for share in (0.1, 0.3, 0.9)
    ]


def case_calls_and_results_stay_together(env):
    return [after(work(), trigger=("messages", 2), keep=("messages", n)) for n in range(1, 12)]


def case_calls_and_results_stay_together_by_tokens(env):
    return [
        after(work(), trigger=("messages", 2), keep=("tokens", n), token_counter=count)
        for n in range(1, 18, 2)
    ]


def case_a_system_message_among_them(env):
    messages = [SystemMessage("be kind", id="s"), *talk(6)]
    return after(messages, trigger=("messages", 2), keep=("messages", 2))


def case_what_the_model_is_told(env):
    model = model_of()
    after(work(), model, trigger=("messages", 2), keep=("messages", 2))
    return model.seen


def case_what_the_model_is_told_is_trimmed(env):
    found = []
    for limit in (30, 1000, None):
        model = model_of()
        after(
            talk(9),
            model,
            trigger=("messages", 2),
            keep=("messages", 1),
            trim_tokens_to_summarize=limit,
            token_counter=count,
        )
        found.append(model.seen)
    return found


def case_nothing_of_the_history_fits(env):
    model = model_of()
    options = {"trim_tokens_to_summarize": 5, "token_counter": count}
    after(talk(9), model, trigger=("messages", 2), keep=("messages", 1), **options)
    return len(model.seen)


def case_results_without_calls(env):
    messages = [
        ToolMessage("r", tool_call_id="lost", id="1"),
        HumanMessage("a", id="2"),
        ToolMessage("r", tool_call_id="lost2", id="3"),
        ToolMessage("r", tool_call_id="lost3", id="4"),
        HumanMessage("z", id="5"),
    ]
    return [after(messages, trigger=("messages", 2), keep=("messages", n)) for n in (1, 2, 3)]


def case_an_async_summarizer_in_a_sync_run(env):
    async def summarize(messages):
        return "SUMMARY"

    options = {"trigger": ("messages", 2), "keep": ("messages", 1)}
    return env.error(lambda: after(talk(4), summarizer=summarize, **options))


def case_a_summarizer_that_gives_no_text(env):
    options = {"trigger": ("messages", 2), "keep": ("messages", 1)}
    return [
        env.error(lambda: after(talk(4), summarizer=one, **options))
        for one in (lambda messages: 5, lambda messages: AIMessage("x"), 5)
    ]


def case_unknown_options(env):
    return env.error(lambda: SummarizationMiddleware(model_of(), keeep=("messages", 5)).name)


def case_the_summary(env):
    model = model_of("  what was said  ")
    middleware = SummarizationMiddleware(model, trigger=("messages", 2), keep=("messages", 1))
    update = middleware.before_model({"messages": talk(3)}, None)
    summary = update["messages"][1]
    return summary.type, "what was said" in summary.content, summary.content.endswith("  ")


def case_messages_without_ids(env):
    messages = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
    middleware = SummarizationMiddleware(model_of(), trigger=("messages", 2), keep=("messages", 1))
    update = middleware.before_model({"messages": messages}, None)
    return [m.id is not None for m in update["messages"][1:]], [m.id is not None for m in messages]


def case_a_summarizer_of_ones_own(env):
    def summarize(messages):
        return "SUMMARY of " + ",".join(m.content for m in messages)

    found = []
    for summarizer in (summarize, RunnableLambda(summarize), model_of("SUMMARY by another")):
        model = model_of()
        middleware = SummarizationMiddleware(
            model, trigger=("messages", 2), keep=("messages", 1), summarizer=summarizer
        )
        update = middleware.before_model({"messages": talk(4)}, None)
        found.append(
            (
                "SUMMARY of question 0,a 1,question 2" in update["messages"][1].content,
                "SUMMARY by another" in update["messages"][1].content,
                model.seen,
            )
        )
    return found


async def case_an_async_summarizer(env):
    async def summarize(messages):
        return f"SUMMARY of {len(messages)}"

    middleware = SummarizationMiddleware(
        model_of(), trigger=("messages", 2), keep=("messages", 1), summarizer=summarize
    )
    update = await middleware.abefore_model({"messages": talk(4)}, None)
    return "SUMMARY of 3" in update["messages"][1].content


def case_an_error_is_tried_again(env):
    found = []
    for failures in (1, 3):
        model = model_of(*[OSError("down")] * failures)
        options = {"trigger": ("messages", 2), "keep": ("messages", 1)}
        with patch("time.sleep"):  # seconds between the tries
            outcome = env.error(lambda: after(talk(4), model, **options))
        found.append((len(model.seen), outcome))
    return found


def case_wrong_options(env):
    def made(model=None, **options):
        return env.error(lambda: SummarizationMiddleware(model or model_of(), **options).name)

    return [
        made(trigger=("tokens", 0)),
        made(trigger=("messages", -3)),
        made(trigger=("lines", 1)),
        made(trigger=("fraction", 0)),
        made(trigger=("fraction", 1.5)),
        made(trigger=("fraction", 0.5)),
        made(model_of(profile={"max_input_tokens": 10}), trigger=("fraction", 0.5)),
        made(trigger={}),
        made(trigger={"tokens": 5, "lines": 1}),
        made(keep=("messages", 0)),
        made(keep=("tokens", -1)),
        made(keep=("fraction", 0.5)),
        made(keep=("lines", 1)),
    ]


def case_older_options(env):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        middleware = SummarizationMiddleware(
            model_of(), max_tokens_before_summary=10, messages_to_keep=2, token_counter=count
        )
    update = middleware.before_model({"messages": talk(6)}, None)
    return [one.category.__name__ for one in caught], kept(update)


def case_in_an_agent(env):
    model, writer = model_of("first", "second", "third"), model_of("SUMMARY one", "SUMMARY two")
    middleware = SummarizationMiddleware(writer, trigger=("messages", 4), keep=("messages", 2))
    agent = create_agent(
        model, system_prompt="Be kind.", middleware=[middleware], checkpointer=env.saver()
    )
    config = {"configurable": {"thread_id": "1"}}
    found = []
    for text in ("a", "b", "c"):
        result = agent.invoke({"messages": [("user", text)]}, config)
        found.append([(m.type, "SUMMARY" in m.content or m.content) for m in result["messages"]])
    told = [[(kind, "SUMMARY" in text or text) for kind, text in call] for call in model.seen]
    return found, told, len(writer.seen)


async def case_in_an_async_agent(env):
    model, writer = model_of("first"), model_of("SUMMARY one")
    middleware = SummarizationMiddleware(writer, trigger=("messages", 3), keep=("messages", 1))
    agent = create_agent(model, middleware=[middleware])
    result = await agent.ainvoke({"messages": [("user", "a"), ("ai", "b"), ("user", "c")]})
    return [(m.type, "SUMMARY" in m.content or m.content) for m in result["messages"]]


def case_tokens_of_a_summary_in_a_stream(env):
    model, writer = model_of("the answer"), model_of("SUMMARY one")
    middleware = SummarizationMiddleware(writer, trigger=("messages", 3), keep=("messages", 1))
    agent = create_agent(model, middleware=[middleware])
    given = {"messages": [("user", "a"), ("ai", "b"), ("user", "c")]}
    return [
        (chunk.type, "SUMMARY" in chunk.content or chunk.content, meta["langgraph_node"])
        for chunk, meta in agent.stream(given, stream_mode="messages")
    ]
