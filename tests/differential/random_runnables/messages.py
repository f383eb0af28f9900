"""Random messages, and the functions that merge, trim, filter, convert, add and write them."""

from random import Random

from .values import json_value, text, word

ROLES = ("human", "ai", "system", "user", "assistant", "tool", "developer", "function", "bot")


def lines(choose: Random) -> list[str]:
    """Some messages, and three calls with them."""
    made = [message(choose) for _ in range(choose.randint(1, 6))]
    calls = [choose.choice(CALLS)(choose) for _ in range(3)]
    return [f"given = [{', '.join(made)}]", *(f"look(lambda: {call})" for call in calls)]


def identity(choose: Random) -> str:
    """An `id` argument, of few, or none."""
    return choose.choice(["", "", f", id={choose.choice('abc')!r}"])


def name(choose: Random) -> str:
    """A `name` argument, or none."""
    return choose.choice(["", "", "", f", name={choose.choice(['joe', 'example_user'])!r}"])


def block(choose: Random) -> dict[str, object]:
    """A block of content, of any of the kinds that users write."""
    return choose.choice(
        [
            lambda: {"type": "text", "text": text(choose)},
            lambda: {"type": "text", "text": text(choose)},
            lambda: {"type": "text", "text": text(choose), "index": choose.choice([0, 1, "lc_1"])},
            lambda: {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
            lambda: {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            lambda: {"type": "image_url", "image_url": "https://a.b/c.png"},
            lambda: {"type": "image", "url": "https://a.b/c.png"},
            lambda: {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
            lambda: {"type": "image", "source_type": "url", "url": "https://a.b"},
            lambda: {
                "type": "file",
                "source_type": "base64",
                "data": "aGk=",
                "mime_type": "application/pdf",
            },
            lambda: {"type": "reasoning", "reasoning": text(choose)},
            lambda: {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"},
            lambda: {"type": "text-plain", "text": text(choose), "mime_type": "text/plain"},
            lambda: {"type": "non_standard", "value": {"a": 1}},
            lambda: {"type": "custom", "x": json_value(choose, 1)},
            lambda: {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ]
    )()


def content(choose: Random) -> str:
    """The content of a message: text, or a list of texts and blocks."""
    if choose.random() < 0.6:
        return repr(text(choose))
    items = [
        text(choose) if choose.random() < 0.25 else block(choose)
        for _ in range(choose.randint(1, 3))  # "Text added to no blocks"
    ]
    return repr(items)


def arguments(choose: Random) -> dict[str, object]:
    """The arguments of a tool call."""
    return {word(choose): json_value(choose, 1) for _ in range(choose.randint(0, 2))}


def tool_call(choose: Random) -> dict[str, object]:
    """A tool call, as `AIMessage(tool_calls=...)` takes it."""
    call = {"name": word(choose), "args": arguments(choose), "id": choose.choice(["1", "2", "3"])}
    return {**call, "type": "tool_call"} if choose.random() < 0.5 else call


def usage(choose: Random) -> dict[str, object]:
    """Token counts, some with details."""
    inputs, outputs = choose.randint(0, 9), choose.randint(0, 9)
    counts: dict[str, object] = {
        "input_tokens": inputs,
        "output_tokens": outputs,
        "total_tokens": inputs + outputs,
    }
    if choose.random() < 0.4:
        names = choose.sample(["cache_read", "audio", "cache_creation"], choose.randint(0, 2))
        counts["input_token_details"] = {n: choose.randint(0, 5) for n in names}
    if choose.random() < 0.3:
        counts["output_token_details"] = {"reasoning": choose.randint(0, 5)}
    return counts


def extras(choose: Random) -> str:
    """Further arguments that any message takes."""
    made = identity(choose) + name(choose)
    if choose.random() < 0.15:
        made += f", additional_kwargs={ {word(choose): json_value(choose, 1)}!r}"
    if choose.random() < 0.15:
        made += f", response_metadata={ {word(choose): json_value(choose, 1)}!r}"
    return made


def ai_extras(choose: Random) -> str:
    """Further arguments of an AI message."""
    made = extras(choose)
    if choose.random() < 0.4:
        made += f", tool_calls={[tool_call(choose) for _ in range(choose.randint(0, 2))]!r}"
    if choose.random() < 0.2:
        made += f", usage_metadata={usage(choose)!r}"
    if choose.random() < 0.1:
        call = {"name": "f", "args": "{broken", "id": "9", "error": None}
        made += f", invalid_tool_calls=[{call!r}]"
    return made


def message(choose: Random) -> str:
    """The expression of a message of any class."""
    kind = choose.choice(
        ["HumanMessage", "AIMessage", "AIMessage", "SystemMessage", "ToolMessage", "ChatMessage"]
    )
    if kind == "AIMessage":
        return f"AIMessage({content(choose)}{ai_extras(choose)})"
    if kind == "ToolMessage":
        more = choose.choice(["", "", ", status='error'", ", artifact={'a': 1}"])
        call = choose.choice(["1", "2", "3"])
        return f"ToolMessage({content(choose)}, tool_call_id={call!r}{more}{extras(choose)})"
    if kind == "ChatMessage":
        role = choose.choice(["bot", "user", "critic"])
        return f"ChatMessage({content(choose)}, role={role!r}{extras(choose)})"
    return f"{kind}({content(choose)}{extras(choose)})"


def chunk(choose: Random) -> str:
    """The expression of a chunk of an AI message."""
    made = content(choose) + identity(choose)
    if choose.random() < 0.5:
        parts = [
            {
                "name": choose.choice([None, "f", "g"]),
                "args": choose.choice([None, "", '{"a', '": 1', "}", '{"b": [1, ', "tru"]),
                "id": choose.choice([None, "1", "2"]),
                "index": choose.choice([0, 0, 1, None]),
                "type": "tool_call_chunk",
            }
            for _ in range(choose.randint(1, 2))
        ]
        made += f", tool_call_chunks={parts!r}"
    if choose.random() < 0.2:
        made += f", usage_metadata={usage(choose)!r}"
    if choose.random() < 0.2:
        made += f", response_metadata={ {choose.choice('ab'): json_value(choose, 1)}!r}"
    if choose.random() < 0.2:
        made += f", additional_kwargs={ {choose.choice('ab'): json_value(choose, 1)}!r}"
    if choose.random() < 0.1:
        made += ", chunk_position='last'"
    return f"AIMessageChunk({made})"


def likeness(choose: Random) -> str:
    """What `convert_to_messages` takes for a message."""
    kind = choose.randint(0, 4)
    if kind == 0:
        return message(choose)
    if kind == 1:
        return repr(text(choose))
    if kind == 2:
        return f"({choose.choice(ROLES)!r}, {content(choose)})"
    made: dict[str, object] = {"role" if kind == 3 else "type": choose.choice(ROLES)}
    made["content"] = text(choose)
    if choose.random() < 0.3:
        made[choose.choice(["name", "id", "tool_call_id", "foo"])] = choose.choice(["x", "y"])
    if choose.random() < 0.5 and set(made.values()) & {"ai", "assistant"}:
        made["tool_calls"] = [
            {"type": "function", "id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}
            if choose.random() < 0.6
            else tool_call(choose)
        ]
    return repr(made)


def likenesses(choose: Random) -> str:
    """A list of what `convert_to_messages` takes."""
    return f"[{', '.join(likeness(choose) for _ in range(choose.randint(0, 4)))}]"


def trim(choose: Random) -> str:
    """A call of `trim_messages`."""
    made = [f"max_tokens={choose.randint(0, 30)}"]
    counter = choose.choice(["words", "words", "len", "'approximate'"])
    made.append(f"token_counter={counter}")
    made.append(f"strategy={choose.choice(['first', 'last', 'last'])!r}")
    if choose.random() < 0.3:
        made.append(f"allow_partial={choose.random() < 0.7}")
    if choose.random() < 0.3:
        made.append(f"include_system={choose.random() < 0.8}")
    for side in ("start_on", "end_on"):
        if choose.random() < 0.3:
            on = choose.choice(
                ["'human'", "['human', 'tool']", "AIMessage", "[HumanMessage, 'ai']"]
            )
            made.append(f"{side}={on}")
    if choose.random() < 0.2:
        made.append("text_splitter=lambda t: t.split(' ')")
    return f"trim_messages(given, {', '.join(made)})"


def filtered(choose: Random) -> str:
    """A call of `filter_messages`."""
    made = []
    for side in ("include", "exclude"):
        if choose.random() < 0.3:
            made.append(f"{side}_names={choose.choice([['joe'], ['example_user'], []])!r}")
        if choose.random() < 0.3:
            kinds = ["['ai']", "[HumanMessage, 'tool']", "[SystemMessage]", "['human', 'chat']"]
            made.append(f"{side}_types={choose.choice(kinds)}")
        if choose.random() < 0.2:
            made.append(f"{side}_ids={choose.choice([['a'], ['b', 'c'], []])!r}")
    if choose.random() < 0.3:
        made.append(f"exclude_tool_calls={choose.choice([True, ['1'], ['2', '3'], False])!r}")
    return f"filter_messages(given{''.join(', ' + m for m in made)})"


def added(choose: Random) -> str:
    """Chunks, added in order."""
    parts = [chunk(choose) for _ in range(choose.randint(2, 4))]
    whole = choose.choice(["{}", "dumped({})", "message_chunk_to_message({})", "blocks_of({})"])
    return whole.format(f"total([{', '.join(parts)}])")


def reduced(choose: Random) -> str:
    """A call of `add_messages`."""
    right = [likeness(choose) for _ in range(choose.randint(0, 2))]
    for _ in range(choose.choice([0, 0, 1, 2])):
        right.append(f"RemoveMessage(id={choose.choice(['a', 'b', 'c', '__remove_all__'])!r})")
    # "Formats after a removal"
    form = "" if "remove_all" in str(right) else choose.choice(["", ", format='langchain-openai'"])
    return f"add_messages(copied(given), [{', '.join(right)}]{form})"


def openai(choose: Random) -> str:
    """A call of `convert_to_openai_messages`."""
    made = f"text_format={choose.choice(['string', 'block'])!r}"
    if choose.random() < 0.3:
        made += ", include_id=True"
    if choose.random() < 0.2:
        made += ", pass_through_unknown_blocks=False"
    return f"json.dumps(convert_to_openai_messages(given, {made}))"


def buffer(choose: Random) -> str:
    """A call of `get_buffer_string`."""
    made = choose.choice(["", "", ", human_prefix='H', ai_prefix='A'", ", format='xml'"])
    return f"get_buffer_string(given{made})"


CALLS = [
    lambda choose: "given",
    lambda choose: "[dumped(m) for m in given]",
    lambda choose: "merge_message_runs(given)",
    lambda choose: f"merge_message_runs(given, chunk_separator={text(choose)!r})",
    trim,
    trim,
    filtered,
    filtered,
    lambda choose: f"convert_to_messages({likenesses(choose)})",
    lambda choose: f"convert_to_messages({likenesses(choose)})",
    openai,
    lambda choose: "messages_to_dict(given)",
    lambda choose: "messages_from_dict(messages_to_dict(given)) == given",
    lambda choose: "[json.loads(m.model_dump_json()) for m in given]",
    buffer,
    added,
    added,
    added,
    lambda choose: "[blocks_of(m) for m in given]",
    lambda choose: f"add_usage({usage(choose)!r}, {usage(choose)!r})",
    lambda choose: f"subtract_usage({usage(choose)!r}, {usage(choose)!r})",
    reduced,
    reduced,
    lambda choose: "[(m.text, m.text(), m.pretty_repr()) for m in given]",
    lambda choose: "[repr(m) for m in given]",
    lambda choose: "[str(m) for m in given]",
    lambda choose: "[m.model_copy(update={'content': 'new'}) for m in given]",
    lambda choose: "[m.model_copy(update={'content': 'new'}) == m for m in given]",
    lambda choose: f"(given[0] + {choose.choice(MORE)}).format_messages()",
]
MORE = ["given[-1]", "'more'", "[HumanMessage('x')]"]
