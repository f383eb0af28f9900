"""What random programs found of messages: empty texts, unusual blocks, chunks, metadata, trims."""

import json

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
    filter_messages,
    get_buffer_string,
    merge_message_runs,
    trim_messages,
)
from langchain_core.messages.tool import default_tool_chunk_parser, default_tool_parser
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

CALL = {"name": "f", "args": {}, "id": "1"}
EMPTY = ["", [""], ["", "a"], ["a", ""], [{"type": "text", "text": ""}, "b"], [" ", "a"]]


def _words(messages):
    return sum(len(str(m.content).split()) + 1 for m in messages)


def case_empty_texts_among_blocks(env):
    messages = [c(x) for c in (HumanMessage, AIMessage, SystemMessage) for x in EMPTY]
    messages += [ChatMessage(x, role="bot") for x in EMPTY]
    return [(m.content_blocks, get_buffer_string([m], format="xml")) for m in messages]


def case_blocks_that_say_nothing_in_xml(env):
    blocks = [{"type": "reasoning"}, {"type": "image_url", "image_url": "https://a.b"}]
    return get_buffer_string([AIMessage([b]) for b in blocks], format="xml")


def case_chunks_of_one_piece_stay_apart(env):
    piece = AIMessageChunk(
        "", tool_call_chunks=[{"index": 0}, {"name": "f", "args": "{", "id": "2", "index": 0}]
    )
    text = AIMessageChunk("x")
    return [x.tool_call_chunks for x in (piece + text, piece + piece, text + piece, text + text)]


def case_order_of_token_details(env):
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage["input_token_details"] = {"x": 1, "cache_read": 2, "audio": 3}
    usage["output_token_details"] = {"reasoning": 2, "audio": 3}
    return repr(AIMessage("", usage_metadata=usage)), list(usage)


def case_metadata_of_merged_messages(env):
    given = [
        AIMessage("a", response_metadata={"n": 1}),
        AIMessage("b", response_metadata={"n": "x", "m": 2}),
        HumanMessage("c"),
        HumanMessage("d", response_metadata={"m": 2}),
    ]
    return merge_message_runs(given), given


def case_blocks_that_openai_does_not_know(env):
    blocks = [
        {"type": "text-plain", "text": "a"},
        {"type": "text-plain"},
        {"type": "reasoning", "reasoning": "r"},
        {"type": "thinking", "thinking": "t"},
        {"type": "guard_content"},
        {"type": "input_audio"},
    ]
    return [
        env.error(lambda: convert_to_openai_messages([AIMessage([b])], **options))
        for b in blocks
        for options in ({}, {"pass_through_unknown_blocks": False}, {"text_format": "block"})
    ]


def case_order_of_keys_for_openai(env):
    message = AIMessage(
        [{"type": "tool_use", "id": "9", "name": "n", "input": {}}],
        id="b",
        name="x",
        tool_calls=[CALL],
        additional_kwargs={"refusal": "r"},
    )
    return json.dumps(convert_to_openai_messages(message, include_id=True))


def case_blank_text_beside_calls(env):
    texts = [" ", "x ", " x", "a\n", ""]
    return [AIMessage(t, tool_calls=[CALL]).pretty_repr() for t in texts] + [
        AIMessage(t).pretty_repr() for t in texts
    ]


def case_parts_of_messages_that_fit(env):
    contents = [
        "a b c",
        [{"type": "text", "text": "t"}],
        [{"type": "text", "text": "a b"}, {"type": "image", "url": "x"}],
        [{"type": "image"}, "a"],
        ["a b", "c d e"],
    ]
    return [
        trim_messages(
            [HumanMessage(content)],
            max_tokens=n,
            token_counter=_words,
            allow_partial=True,
            strategy=strategy,
            text_splitter=splitter,
        )
        for content in contents
        for n in range(8)
        for strategy in ("first", "last")
        for splitter in (None, lambda text: text.split(" "))
    ]


def case_a_system_message_that_ends_nothing(env):
    given = [SystemMessage("s"), AIMessage("a")]
    return [
        trim_messages(given, max_tokens=9, token_counter=len, include_system=True, end_on=on)
        for on in ("human", "ai", "system")
    ]


def case_text_added_to_no_blocks(env):
    return (AIMessageChunk([]) + AIMessageChunk("hello")).content


def case_calls_without_an_id(env):
    return AIMessage("x", tool_calls=[{"name": "f", "args": {}, "id": None}]).content_blocks


def case_text_without_a_type(env):
    return convert_to_openai_messages([HumanMessage([{"text": "a"}])], text_format="block")


def case_files_by_their_id(env):
    return convert_to_openai_messages([HumanMessage([{"type": "file", "file_id": "a"}])])


def case_text_as_messages(env):
    return convert_to_messages("hi")


def case_formats_after_a_removal(env):
    new = HumanMessage([{"type": "image", "url": "https://a.b"}], id="2")
    remove = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    return add_messages([], [remove, new], format="langchain-openai")


def case_options_of_dumps(env):
    message = AIMessage("é 😀", id="1", tool_calls=[{"name": "f", "args": {"a": "ß"}, "id": "2"}])
    plain = HumanMessage("é")
    return [
        *(one.model_dump_json(ensure_ascii=True) for one in (message, plain)),
        message.model_dump_json(ensure_ascii=True, indent=1, exclude={"id"}),
        message.model_dump_json(ensure_ascii=False),
        message.model_dump(by_alias=True, round_trip=True, warnings=False, serialize_as_any=True),
        env.error(lambda: message.model_dump(exlude={"content"})),
        env.error(lambda: message.model_dump_json(exlude={"content"})),
    ]


def case_what_stands_beside_the_data_of_a_block(env):
    cached = {"cache_control": {"type": "ephemeral"}}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "AA"}
    blocks = [
        {"type": "image", "source": {"type": "url", "url": "https://a.b"}, **cached},
        {"type": "document", "source": pdf, "title": "t", "citations": {"enabled": True}},
        {"type": "document", "source": {"type": "text", "data": "hello"}, **cached},
        {
            "type": "input_audio",
            "input_audio": {"data": "AA", "format": "wav"},
            "id": "1",
            **cached,
        },
        {"type": "file", "file": {"file_id": "a"}, "id": "1", "index": 0, **cached},
    ]
    return HumanMessage(blocks).content_blocks


def case_blocks_of_text_that_is_none(env):
    message = AIMessage(["a", {"type": "text", "text": None}])
    return message.text, get_buffer_string([message])


def case_a_foreign_value_added_to_a_block_without_a_type(env):
    foreign = {"type": "non_standard", "value": {"a": 1}, "index": 0}
    return (AIMessageChunk([{"index": 0, "text": "q"}]) + AIMessageChunk([foreign])).content


def _made(make):
    try:
        return make()
    except ValueError:
        return "refused"


def case_counts_and_positions_of_other_types(env):
    counts = [1, 2.0, 2.5, "x", None]
    return [
        *(
            _made(
                lambda n=n: (
                    AIMessage(
                        "",
                        usage_metadata={"input_tokens": n, "output_tokens": 0, "total_tokens": 1},
                    ).usage_metadata
                )
            )
            for n in counts
        ),
        *(
            _made(lambda p=p: AIMessageChunk("", chunk_position=p).chunk_position)
            for p in (None, "last", "first", 1)
        ),
    ]


def case_thoughts_in_both_places(env):
    thought = {"type": "reasoning", "reasoning": "r"}
    contents = ["t", [], [thought], [{"type": "text", "text": "t"}, thought]]
    return [
        kind(c, additional_kwargs={"reasoning_content": "r"}).content_blocks
        for kind in (AIMessage, AIMessageChunk)
        for c in contents
    ]


def case_calls_as_openai_sends_them(env):
    functions = [
        {"name": "f", "arguments": '{"a": 1}'},
        {"name": "f", "arguments": "{"},
        {"name": "f", "arguments": ""},
        {"name": None, "arguments": "{}"},
        {"name": "f", "arguments": "null"},
    ]
    raw = [{"id": str(n), "index": n, "function": f} for n, f in enumerate(functions)]
    return default_tool_parser([*raw, {"id": "9"}]), default_tool_chunk_parser(raw)


def case_texts_in_filters(env):
    call = CALL | {"id": "call_1"}
    given = [AIMessage("a", name="al", tool_calls=[call]), HumanMessage("h", name="bo")]
    return (
        len(filter_messages(given, exclude_tool_calls="call_1")),
        len(filter_messages(given, include_names="bob")),
    )
