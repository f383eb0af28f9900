"""Random messages, and the functions that merge, trim, filter, convert, add and write them."""

from tests.differential.random.dice import Dice

from .values import json_value, text, word

ROLES = ("human", "ai", "system", "user", "assistant", "tool", "developer", "function", "bot")


def lines(dice: Dice) -> list[str]:
    """Some messages, and three calls with them."""
    made = [message(dice) for _ in range(dice.number(1, 6))]
    calls = [dice.one(CALLS)(dice) for _ in range(3)]
    return [f"given = [{', '.join(made)}]", *(f"look(lambda: {call})" for call in calls)]


def identity(dice: Dice) -> str:
    """An `id` argument, of few, or none."""
    return dice.one(["", "", f", id={dice.one('abc')!r}"])


def name(dice: Dice) -> str:
    """A `name` argument, or none."""
    return dice.one(["", "", "", f", name={dice.one(['joe', 'example_user'])!r}"])


def block(dice: Dice) -> dict[str, object]:
    """A block of content, of any of the kinds that users write."""
    return dice.one(
        [
            lambda: {"type": "text", "text": text(dice)},
            lambda: {"type": "text", "text": text(dice)},
            lambda: {"type": "text", "text": text(dice), "index": dice.one([0, 1, "lc_1"])},
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
            lambda: {"type": "reasoning", "reasoning": text(dice)},
            lambda: {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"},
            lambda: {"type": "text-plain", "text": text(dice), "mime_type": "text/plain"},
            lambda: {"type": "non_standard", "value": {"a": 1}},
            lambda: {"type": "custom", "x": json_value(dice, 1)},
            lambda: {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ]
    )()


def content(dice: Dice) -> str:
    """The content of a message: text, or a list of texts and blocks."""
    if dice.chance(0.6):
        return repr(text(dice))
    items = [
        text(dice) if dice.chance(0.25) else block(dice)
        for _ in range(dice.number(1, 3))  # "Text added to no blocks"
    ]
    return repr(items)


def arguments(dice: Dice) -> dict[str, object]:
    """The arguments of a tool call."""
    return {word(dice): json_value(dice, 1) for _ in range(dice.number(0, 2))}


def tool_call(dice: Dice) -> dict[str, object]:
    """A tool call, as `AIMessage(tool_calls=...)` takes it."""
    call = {"name": word(dice), "args": arguments(dice), "id": dice.one(["1", "2", "3"])}
    return {**call, "type": "tool_call"} if dice.chance(0.5) else call


def usage(dice: Dice) -> dict[str, object]:
    """Token counts, some with details."""
    inputs, outputs = dice.number(0, 9), dice.number(0, 9)
    counts: dict[str, object] = {
        "input_tokens": inputs,
        "output_tokens": outputs,
        "total_tokens": inputs + outputs,
    }
    if dice.chance(0.4):
        names = dice.mixed(["cache_read", "audio", "cache_creation"], 0, 2)
        counts["input_token_details"] = {n: dice.number(0, 5) for n in names}
    if dice.chance(0.3):
        counts["output_token_details"] = {"reasoning": dice.number(0, 5)}
    return counts


def extras(dice: Dice) -> str:
    """Further arguments that any message takes."""
    made = identity(dice) + name(dice)
    if dice.chance(0.15):
        made += f", additional_kwargs={ {word(dice): json_value(dice, 1)}!r}"
    if dice.chance(0.15):
        made += f", response_metadata={ {word(dice): json_value(dice, 1)}!r}"
    return made


def ai_extras(dice: Dice) -> str:
    """Further arguments of an AI message."""
    made = extras(dice)
    if dice.chance(0.4):
        made += f", tool_calls={[tool_call(dice) for _ in range(dice.number(0, 2))]!r}"
    if dice.chance(0.2):
        made += f", usage_metadata={usage(dice)!r}"
    if dice.chance(0.1):
        call = {"name": "f", "args": "broken", "id": "9", "error": None}
        made += f", invalid_tool_calls=[{call!r}]"
    return made


def message(dice: Dice) -> str:
    """The expression of a message of any class."""
    kind = dice.one(
        ["HumanMessage", "AIMessage", "AIMessage", "SystemMessage", "ToolMessage", "ChatMessage"]
    )
    if kind == "AIMessage":
        return f"AIMessage({content(dice)}{ai_extras(dice)})"
    if kind == "ToolMessage":
        more = dice.one(["", "", ", status='error'", ", artifact={'a': 1}"])
        call = dice.one(["1", "2", "3"])
        return f"ToolMessage({content(dice)}, tool_call_id={call!r}{more}{extras(dice)})"
    if kind == "ChatMessage":
        role = dice.one(["bot", "user", "critic"])
        return f"ChatMessage({content(dice)}, role={role!r}{extras(dice)})"
    return f"{kind}({content(dice)}{extras(dice)})"


def chunk(dice: Dice) -> str:
    """The expression of a chunk of an AI message."""
    made = content(dice) + identity(dice)
    if dice.chance(0.5):
        parts = [
            {
                "name": dice.one([None, "f", "g"]),
                "args": dice.one([None, "", '{"a', '": 1', "}", '{"b": [1, ', "tru"]),
                "id": dice.one([None, "1", "2"]),
                "index": dice.one([0, 0, 1, None]),
                "type": "tool_call_chunk",
            }
            for _ in range(dice.number(1, 2))
        ]
        made += f", tool_call_chunks={parts!r}"
    if dice.chance(0.2):
        made += f", usage_metadata={usage(dice)!r}"
    if dice.chance(0.2):
        made += f", response_metadata={ {dice.one('ab'): json_value(dice, 1)}!r}"
    if dice.chance(0.2):
        made += f", additional_kwargs={ {dice.one('ab'): json_value(dice, 1)}!r}"
    if dice.chance(0.1):
        made += ", chunk_position='last'"
    return f"AIMessageChunk({made})"


def likeness(dice: Dice) -> str:
    """What `convert_to_messages` takes for a message."""
    kind = dice.number(0, 4)
    if kind == 0:
        return message(dice)
    if kind == 1:
        return repr(text(dice))
    if kind == 2:
        return f"({dice.one(ROLES)!r}, {content(dice)})"
    made: dict[str, object] = {"role" if kind == 3 else "type": dice.one(ROLES)}
    made["content"] = text(dice)
    if dice.chance(0.3):
        made[dice.one(["name", "id", "tool_call_id", "foo"])] = dice.one(["x", "y"])
    if dice.chance(0.5) and set(made.values()) & {"ai", "assistant"}:
        made["tool_calls"] = [
            {"type": "function", "id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}
            if dice.chance(0.6)
            else tool_call(dice)
        ]
    return repr(made)


def likenesses(dice: Dice) -> str:
    """A list of what `convert_to_messages` takes."""
    return f"[{', '.join(likeness(dice) for _ in range(dice.number(0, 4)))}]"


def trim(dice: Dice) -> str:
    """A call of `trim_messages`."""
    made = [f"max_tokens={dice.number(0, 30)}"]
    counter = dice.one(["words", "words", "len", "'approximate'"])
    made.append(f"token_counter={counter}")
    made.append(f"strategy={dice.one(['first', 'last', 'last'])!r}")
    if dice.chance(0.3):
        made.append(f"allow_partial={dice.chance(0.7)}")
    if dice.chance(0.3):
        made.append(f"include_system={dice.chance(0.8)}")
    for side in ("start_on", "end_on"):
        if dice.chance(0.3):
            on = dice.one(["'human'", "['human', 'tool']", "AIMessage", "[HumanMessage, 'ai']"])
            made.append(f"{side}={on}")
    if dice.chance(0.2):
        made.append("text_splitter=lambda t: t.split(' ')")
    return f"trim_messages(given, {', '.join(made)})"


def filtered(dice: Dice) -> str:
    """A call of `filter_messages`."""
    made = []
    for side in ("include", "exclude"):
        if dice.chance(0.3):
            made.append(f"{side}_names={dice.one([['joe'], ['example_user'], []])!r}")
        if dice.chance(0.3):
            kinds = ["['ai']", "[HumanMessage, 'tool']", "[SystemMessage]", "['human', 'chat']"]
            made.append(f"{side}_types={dice.one(kinds)}")
        if dice.chance(0.2):
            made.append(f"{side}_ids={dice.one([['a'], ['b', 'c'], []])!r}")
    if dice.chance(0.3):
        made.append(f"exclude_tool_calls={dice.one([True, ['1'], ['2', '3'], False])!r}")
    return f"filter_messages(given{''.join(', ' + m for m in made)})"


def added(dice: Dice) -> str:
    """Chunks, added in order."""
    parts = [chunk(dice) for _ in range(dice.number(2, 4))]
    whole = dice.one(["{}", "dumped({})", "message_chunk_to_message({})", "blocks_of({})"])
    if "to_message" in whole and any("tool_call_chunks" in part for part in parts):
        whole = "{}"  # "Calls that are cut off in a stream" are another message
    return whole.format(f"total([{', '.join(parts)}])")


def reduced(dice: Dice) -> str:
    """A call of `add_messages`."""
    right = [likeness(dice) for _ in range(dice.number(0, 2))]
    for _ in range(dice.one([0, 0, 1, 2])):
        right.append(f"RemoveMessage(id={dice.one(['a', 'b', 'c', '__remove_all__'])!r})")
    # "Formats after a removal"
    form = "" if "remove_all" in str(right) else dice.one(["", ", format='langchain-openai'"])
    return f"add_messages(copied(given), [{', '.join(right)}]{form})"


def openai(dice: Dice) -> str:
    """A call of `convert_to_openai_messages`."""
    made = f"text_format={dice.one(['string', 'block'])!r}"
    if dice.chance(0.3):
        made += ", include_id=True"
    if dice.chance(0.2):
        made += ", pass_through_unknown_blocks=False"
    return f"json.dumps(convert_to_openai_messages(given, {made}))"


def buffer(dice: Dice) -> str:
    """A call of `get_buffer_string`."""
    made = dice.one(["", "", ", human_prefix='H', ai_prefix='A'", ", format='xml'"])
    return f"get_buffer_string(given{made})"


CALLS = [
    lambda dice: "given",
    lambda dice: "[dumped(m) for m in given]",
    lambda dice: "merge_message_runs(given)",
    lambda dice: f"merge_message_runs(given, chunk_separator={text(dice)!r})",
    trim,
    trim,
    filtered,
    filtered,
    lambda dice: f"convert_to_messages({likenesses(dice)})",
    lambda dice: f"convert_to_messages({likenesses(dice)})",
    openai,
    lambda dice: "messages_to_dict(given)",
    lambda dice: "messages_from_dict(messages_to_dict(given)) == given",
    lambda dice: "[json.loads(m.model_dump_json()) for m in given]",
    buffer,
    added,
    added,
    added,
    lambda dice: "[blocks_of(m) for m in given]",
    lambda dice: f"add_usage({usage(dice)!r}, {usage(dice)!r})",
    lambda dice: f"subtract_usage({usage(dice)!r}, {usage(dice)!r})",
    reduced,
    reduced,
    lambda dice: "[(m.text, m.text(), m.pretty_repr()) for m in given]",
    lambda dice: "[repr(m) for m in given]",
    lambda dice: "[str(m) for m in given]",
    lambda dice: "[m.model_copy(update={'content': 'new'}) for m in given]",
    lambda dice: "[m.model_copy(update={'content': 'new'}) == m for m in given]",
    lambda dice: f"(given[0] + {dice.one(MORE)}).format_messages()",
]
MORE = ["given[-1]", "'more'", "[HumanMessage('x')]"]
