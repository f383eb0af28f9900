"""Output parsers: texts and messages, whole and in chunks, and what they refuse."""

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import (
    BaseOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputKeyToolsParser,
    JsonOutputParser,
    JsonOutputToolsParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
    PydanticOutputParser,
    PydanticToolsParser,
    StrOutputParser,
    XMLOutputParser,
)
from langchain_core.prompts import ChatPromptTemplate
from pydantic import BaseModel

JSON = [
    '{"a":1}', '```json\n{"a":1}\n```', 'text ```json\n{"a": [1,2}\n``` more', "```\n[1]\n```",
    '{"a":', "null", "[1,2", '{"a":"x\ny"}', '```json\n{"a":"```"}\n```', '   {"a":1}  ',
    '{"a":1} trailing', '"str', "12", '{"a":1}}', '```{"a":1}```', '{"a":"\\',
]  # fmt: skip
NO_JSON = ["nope", "", "tru", '{"a" 1}', "{'a':1}", "[1,2,]"]
STREAMED = '{"name": "Ann", "tags": ["x, y", "é\\n"], "n": -12.5, "deep": {"ok": true, "no": null}}'


class A(BaseModel):
    x: int
    y: str | None = None


class B(BaseModel):
    z: int


def streamed(parser, chunks):
    return list(parser.transform(iter(chunks)))


async def astreamed(parser, chunks):
    async def source():
        for chunk in chunks:
            yield chunk

    return [part async for part in parser.atransform(source())]


def case_texts(env):
    parser = StrOutputParser()
    blocks = AIMessage([{"type": "text", "text": "a"}, {"type": "image", "url": "u"}, "b"])
    return [
        parser.invoke("x"),
        parser.invoke(AIMessage("y")),
        parser.invoke(blocks),
        streamed(parser, ["a", AIMessageChunk("b"), AIMessage("c"), ""]),
        streamed(parser, []),
        list(parser.stream(AIMessage("c"))),
        parser.batch(["a", AIMessage("b")]),
        env.error(lambda: parser.parse_result([])),
        env.error(parser.get_format_instructions),
    ]


def case_json(env):
    parser = JsonOutputParser()
    return [(text, parser.invoke(text)) for text in JSON]


def case_no_json(env):
    def said(text):
        try:
            return JsonOutputParser().invoke(text)
        except OutputParserException as error:
            return error.llm_output

    parser = JsonOutputParser()
    errors = [env.error(lambda text=text: parser.invoke(text)) for text in NO_JSON]
    return errors, [said(text) for text in NO_JSON]


def case_json_streams(env):
    parser = JsonOutputParser()
    fenced = f"Here: ```json\n{STREAMED}\n```"
    by = [
        [text[i : i + n] for i in range(0, len(text), n)]
        for text in (STREAMED, fenced)
        for n in (1, 3, 7)
    ]
    return [streamed(parser, chunks) for chunks in by] + [streamed(parser, ["nope", " nope"])]


def case_json_patches(env):
    return streamed(JsonOutputParser(diff=True), list('{"a":"xy","b":[1,{"c":true}]}'))


async def case_async(env):
    chunks = [AIMessageChunk(STREAMED[i : i + 4]) for i in range(0, len(STREAMED), 4)]
    return [
        await JsonOutputParser().ainvoke(AIMessage(STREAMED)),
        await astreamed(JsonOutputParser(), chunks),
        await astreamed(StrOutputParser(), chunks),
        await astreamed(CommaSeparatedListOutputParser(), ["a, ", "b", ",c"]),
        await astreamed(XMLOutputParser(parser="xml"), list("<a><b>1</b><c>2</c></a>")),
        await PydanticOutputParser(pydantic_object=A).ainvoke('{"x": 1}'),
        await env.aerror(JsonOutputParser().ainvoke("nope")),
    ]


def case_pydantic(env):
    parser = PydanticOutputParser(pydantic_object=A)
    return [
        parser.invoke('{"x":1}'),
        streamed(parser, ['{"x":1', ',"y":"a', 'b"}']),
        streamed(parser, ['{"y":"1', '2","x"', ": 3}"]),
        streamed(parser, ['{"y":1', "}"]),
        env.error(lambda: parser.invoke('{"x":"a"}')),
        env.error(lambda: parser.invoke("nope")),
        parser.OutputType,
    ]


def case_lists(env):
    comma, number, dash = (
        CommaSeparatedListOutputParser(),
        NumberedListOutputParser(),
        MarkdownListOutputParser(),
    )
    commas = ["a, b,c", 'a,"b, c",d', "", "a", '"a', "a,\nb", 'a, "x""y"', ",", " a , b "]
    numbers = ["1. a\n2. b\n\n10. c d", "no", "text 1. a 2. b", "1.a"]
    dashes = ["- a\n* b\n - c\n+ d\n-e", "no"]
    return [
        [comma.invoke(text) for text in commas],
        [number.invoke(text) for text in numbers],
        [dash.invoke(text) for text in dashes],
        streamed(comma, list("a, b, c")),
        streamed(comma, ["a", ", b,", " c"]),
        streamed(number, ["1. ", "foo\n2", " . b", "\n3. c\n"]),
        streamed(number, list("1. foo\n2. bar\n3. baz")),
        streamed(dash, [AIMessageChunk(char) for char in "- foo\n- bar"]),
    ]


def case_xml(env):
    parser = XMLOutputParser(parser="xml")
    good = [
        "<a><b>1</b><b>2</b></a>", "```xml\n<a>1</a>\n```", '<a x="1">t</a>', "<a/>",
        '<?xml version="1.0" encoding="UTF-8"?>\n<a>x</a>', "<a><b/>tail</a>", "<a>&lt;</a>",
        "<a>\n  <b> x </b>\n</a>", "<a> </a>", "<a>x<b>1</b></a>", "foo ```<a>1</a>```",
    ]  # fmt: skip
    bad = ["<a>", "nope", "text <a>1</a> text", "<a>1</a><b>2</b>", ""]
    nested = "<a><b>1</b><b>2</b><c><d>x</d></c></a>"
    return [
        [parser.invoke(text) for text in good],
        [env.error(lambda text=text: parser.invoke(text)) for text in bad],
        streamed(parser, list(nested)),
        streamed(parser, ["foo <a>", "<b>1</b></a> bar"]),
        streamed(parser, ["<a><b>1"]),
        streamed(parser, ["nope"]),
        streamed(parser, ['<a><b x="1">y</b></a><c>1</c>']),
        env.error(lambda: streamed(parser, ["<a><b/></b></a>"])),
    ]


def ai(*calls):
    return AIMessage("", tool_calls=[{"name": n, "args": a, "id": i} for n, a, i in calls])


def case_tool_calls(env):
    message = ai(("A", {"x": 1}, "1"), ("B", {"z": 2}, "2"))
    raw = {"id": "1", "function": {"name": "A", "arguments": '{"x": 1}'}, "type": "function"}
    old = AIMessage("", additional_kwargs={"tool_calls": [raw]})
    out = []
    for options in (
        {},
        {"return_id": True},
        {"first_tool_only": True},
        {"first_tool_only": True, "return_id": True},
    ):
        parsers = [JsonOutputToolsParser(**options), PydanticToolsParser(tools=[A, B], **options)]
        parsers += [JsonOutputKeyToolsParser(key_name=key, **options) for key in ("A", "B", "no")]
        for parser in parsers:
            out.append([parser.invoke(said) for said in (message, old, AIMessage("x"))])
    return out


def case_wrong_tool_calls(env):
    bad = {"id": "1", "function": {"name": "A", "arguments": '{"x": '}, "type": "function"}
    return [
        env.error(lambda: JsonOutputToolsParser().invoke("x")),
        env.error(lambda: JsonOutputToolsParser().parse("x")),
        env.error(lambda: PydanticToolsParser(tools=[A]).invoke(ai(("B", {}, "1")))),
        env.error(lambda: PydanticToolsParser(tools=[A]).invoke(ai(("A", {"x": "a"}, "1")))),
        env.error(
            lambda: JsonOutputToolsParser().invoke(
                AIMessage("", additional_kwargs={"tool_calls": [bad]})
            )
        ),
    ]


def case_streamed_tool_calls(env):
    def chunk(**fields):
        call = {"name": None, "id": None, "args": None, "index": 0, **fields}
        return AIMessageChunk("", tool_call_chunks=[call])

    chunks = [
        chunk(name="A", id="1", args=""),
        chunk(args='{"x'),
        chunk(args='": 1'),
        chunk(args="}"),
        chunk(name="B", id="2", args='{"z":', index=1),
        chunk(args="2}", index=1),
    ]
    return [
        streamed(parser, chunks)
        for parser in (
            JsonOutputToolsParser(),
            JsonOutputToolsParser(first_tool_only=True),
            JsonOutputKeyToolsParser(key_name="B"),
            JsonOutputKeyToolsParser(key_name="A", first_tool_only=True),
            PydanticToolsParser(tools=[A, B]),
            PydanticToolsParser(tools=[A, B], first_tool_only=True),
        )
    ]


def case_own_parser(env):
    class YesOrNo(BaseOutputParser[bool]):
        yes: str = "YES"

        def parse(self, text):
            if text not in (self.yes, "NO"):
                raise OutputParserException(f"not {text}", llm_output=text)
            return text == self.yes

    parser = YesOrNo(yes="JA")
    return [
        parser.invoke("JA"),
        parser.invoke(AIMessage("NO")),
        parser.OutputType,
        env.error(lambda: parser.invoke("x")),
        list((FakeListChatModel(responses=["JA"]) | parser).stream("q")),
    ]


def case_chains_stream(env):
    prompt = ChatPromptTemplate.from_messages([("human", "{q}")])
    texts = (
        prompt | GenericFakeChatModel(messages=iter(["one two three", "a b"])) | StrOutputParser()
    )
    json = prompt | FakeListChatModel(responses=['{"a": [1, "x"]}']) | JsonOutputParser()
    return [
        list(texts.stream({"q": 1})),
        texts.invoke("x"),
        list(json.stream("x")),
        json.invoke({"q": "x"}),
    ]


async def case_chain_events(env):
    prompt = ChatPromptTemplate.from_messages([("human", "{q}")])
    chain = prompt | GenericFakeChatModel(messages=iter(["one two"])) | StrOutputParser()
    events = [event async for event in chain.astream_events({"q": 1}, version="v2")]
    return [
        (e["event"], e["name"], e["tags"], e["data"].get("chunk"))
        for e in events
        if e["event"] != "on_chat_model_stream"
    ]


def case_quoted_items_streamed(env):
    return streamed(CommaSeparatedListOutputParser(), ["a, b,", " c", ', "d, e"'])


def case_xml_with_a_document_type(env):
    parser = XMLOutputParser(parser="xml")
    return env.error(lambda: parser.invoke('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'))


def case_patch_of_a_changed_number(env):
    return streamed(JsonOutputParser(diff=True), ['{"a": 1', '.0, "b": 2}'])
