"""Prompts: what templates give, in every way of calling them, and which are refused."""

from langchain_core.example_selectors import LengthBasedExampleSelector
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import (
    ChatMessagePromptTemplate,
    ChatPromptTemplate,
    DictPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    FewShotPromptWithTemplates,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
    StringPromptTemplate,
    SystemMessagePromptTemplate,
    format_document,
    get_template_variables,
)
from langchain_core.prompts.chat import AIMessagePromptTemplate

TEXTS = [
    "{a}", "a", "{{a}}", "{{{a}}}", "{a!r}", "{a:>5}", "{b:.2f} {a!s:<4}|", "{ a }", "{a b}",
    "{é}", "{__class__}", "{a}{a}{b}", "", "{a:}", "{1a}",
]  # fmt: skip
REFUSED = ["{a.b}", "{a[0]}", "{0}", "{a", "a}", "{a:{b}}", "{a!x}", "{a.}"]
MUSTACHE = [
    "{{a}}", "{{{a}}}", "{{&a}}", "{{b.c}}", "{{#l}}{{n}},{{/l}}", "{{#s}}{{.}},{{/s}}",
    "{{^f}}no{{/f}}", "{{#t}}yes{{/t}}", "{{!comment}}x", "{{missing}}", "{{n}}", "{{z}}", "{{f}}",
    "{{b}}", "{{ a }}", "{{b.d}}", "{{#l}}{{a}}{{n}}{{/l}}", "{{#b}}{{c}}{{a}}{{/b}}",
    "{{^el}}none{{/el}}", "{{#el}}none{{/el}}", "{{#z}}z{{/z}}", "{{^z}}z{{/z}}", "{a}",
    " {{#t}}\n yes\n {{/t}}\nend", "{{#b.d}}{{.}};{{/b.d}}", "{{s}}", "{{b.c.__class__}}",
    "{{#l}}{{#l}}{{n}}{{/l}}{{/l}}", "a\n{{! only a comment }}\nb", "{{#z}}{{.}}{{/z}}", "{{o.x}}",
]  # fmt: skip


class Object:
    x = 1

    def __str__(self):
        return "O!"


VALUES = {
    "a": '<X>&"', "b": {"c": "BC", "d": [1, 2]}, "l": [{"n": 1}, {"n": 2}], "s": ["x", "y"],
    "t": True, "f": False, "n": None, "z": 0, "el": [], "o": Object(),
}  # fmt: skip


def case_f_strings(env):
    values = {"a": "X", "b": 5, " a ": "S", "a b": "AB", "é": "E", "__class__": "C", "1a": "one"}
    prompts = [PromptTemplate.from_template(text) for text in TEXTS]
    return [(p.input_variables, p.format(**values), p.invoke(values).to_string()) for p in prompts]


def case_refused_f_strings(env):
    return [env.error(lambda t=t: PromptTemplate.from_template(t).format(a=1)) for t in REFUSED]


def case_mustache(env):
    out = []
    for text in MUSTACHE:
        prompt = PromptTemplate.from_template(text, template_format="mustache")
        out.append((text, prompt.input_variables, prompt.format(**VALUES)))
    return out


def case_inputs(env):
    one, two, none = (PromptTemplate.from_template(text) for text in ("{a}", "{a}{b}", "x"))
    return [
        one.invoke("x").to_string(),
        one.invoke(3).to_string(),
        none.invoke({}).to_string(),
        one.format(a=1, b=2),
        env.error(lambda: two.invoke("x")),
        env.error(lambda: two.invoke({"a": 1})),
        env.error(lambda: two.format(a=1)),
        env.error(lambda: none.invoke("x")),
    ]


def case_partials(env):
    prompt = PromptTemplate.from_template("{a} {b}")
    ahead = prompt.partial(a=lambda: "made")
    whole = PromptTemplate.from_template("{a}{b}", partial_variables={"a": "1"})
    return [
        ahead.input_variables,
        ahead.format(b=2),
        ahead.format(a="mine", b=2),
        whole.input_variables,
        whole.format(b=2),
        prompt.partial(other="x").input_variables,
        (prompt + "{c}").input_variables,
        (ahead + PromptTemplate.from_template("{c}")).format(b=1, c=2),
        env.error(lambda: whole + whole),
        env.error(lambda: prompt + 3),
        prompt == PromptTemplate.from_template("{a} {b}"),
        prompt.pretty_repr(),
        get_template_variables("{b}{a}{b}", "f-string"),
    ]


def case_schemas(env):
    chat = ChatPromptTemplate.from_messages(
        ["{a}", MessagesPlaceholder("h"), ("placeholder", "{o}")]
    )
    nested = PromptTemplate.from_template(
        "{{a}}{{#l}}{{n}}{{/l}}{{b.c}}", template_format="mustache"
    )
    its = chat.get_input_jsonschema()
    return [
        PromptTemplate.from_template("{a}{b}").get_input_jsonschema(),
        PromptTemplate(template="{a}", input_types={"a": int}).get_input_jsonschema(),
        nested.get_input_jsonschema()["$defs"],
        its["required"],
        sorted(its["properties"]),
    ]


def case_chat(env):
    chat = ChatPromptTemplate.from_messages(
        [
            ("system", "S {a}"),
            ("human", "{b}"),
            ("ai", "x"),
            {"role": "user", "content": "{c}"},
            "plain {a}",
            HumanMessage("{kept}"),
            (HumanMessagePromptTemplate, "k {a}"),
            ("placeholder", "{h}"),
        ]
    )
    values = {"a": 1, "b": "two", "c": [3]}
    said = [("user", "hi"), AIMessage("yo"), "plain", {"role": "system", "content": "d"}]
    return [
        chat.input_variables,
        chat.optional_variables,
        chat.invoke(values).to_messages(),
        chat.invoke({**values, "h": said}).to_messages(),
        chat.invoke(values).to_string(),
        chat.format(**values),
        chat.batch([values, {**values, "a": 2}])[1].to_string(),
        [value.to_string() for value in chat.stream(values)],
    ]


async def case_async(env):
    chat = ChatPromptTemplate.from_messages([("system", "S {a}"), MessagesPlaceholder("h")])
    text = PromptTemplate.from_template("{a}")
    return [
        (await chat.ainvoke({"a": 1, "h": ["x"]})).to_messages(),
        (await text.ainvoke({"a": 1})).to_string(),
        await chat.aformat_messages(a=1, h=[]),
        [value.to_string() async for value in text.astream({"a": 1})],
        await env.aerror(chat.ainvoke({"a": 1})),
    ]


def case_placeholders(env):
    keep = ChatPromptTemplate.from_messages([MessagesPlaceholder("h", n_messages=2)])
    optional = ChatPromptTemplate.from_messages([MessagesPlaceholder("h", optional=True)])
    needed = ChatPromptTemplate.from_messages([MessagesPlaceholder("h")])
    return [
        keep.invoke({"h": ["a", "b", "c"]}).to_messages(),
        optional.invoke({}).to_messages(),
        optional.input_variables,
        optional.partial_variables,
        env.error(lambda: needed.invoke({})),
        env.error(lambda: needed.invoke({"h": "x"})),
        env.error(lambda: ChatPromptTemplate.from_messages([("placeholder", "h")])),
        env.error(lambda: ChatPromptTemplate.from_messages([("placeholder", ["{h}", 1])])),
    ]


def case_content_blocks(env):
    chat = ChatPromptTemplate.from_messages(
        [
            (
                "human",
                [
                    {"type": "text", "text": "{a}"},
                    {"type": "image_url", "image_url": "{u}"},
                    {"type": "image_url", "image_url": {"url": "{u}", "detail": "low"}},
                    "str {a}",
                    {"type": "image", "source_type": "base64", "data": "{u}", "n": 1},
                    {"type": "text", "text": "{a}", "cache_control": {"type": "ephemeral"}},
                    {"type": "foo", "x": ["{a}", {"y": "{b}"}], "{k}": 1},
                ],
            ),
            ("system", [{"type": "text", "text": "{a}"}]),
        ]
    )
    bad = ChatPromptTemplate([("human", [{"type": "image_url", "image_url": {"detail": "{u}"}}])])
    path = ChatPromptTemplate([("human", [{"type": "image_url", "image_url": {"path": "{u}"}}])])
    return [
        chat.input_variables,
        chat.invoke({"a": "A", "b": "B", "u": "U"}).to_messages(),
        env.error(lambda: bad.invoke({"u": "x"})),
        env.error(lambda: path.invoke({"u": "x"})),
        DictPromptTemplate(template={"a": ["{x}", 1]}, template_format="f-string").invoke({"x": 2}),
    ]


def case_composition(env):
    chat = ChatPromptTemplate.from_messages(["{a}", ("ai", "{b}"), "{c}"])
    return [
        len(chat),
        chat[1:].input_variables,
        (chat + "x {d}").input_variables,
        (chat + HumanMessage("x") + ["{e}", ("ai", "{f}")]).input_variables,
        (chat.partial(a="1") + ChatPromptTemplate(["{g}"]).partial(g="5")).partial_variables,
        (SystemMessage("x") + HumanMessage("y") + "{z}").invoke("q").to_messages(),
        (MessagesPlaceholder("m") + HumanMessage("y")).input_variables,
        (HumanMessagePromptTemplate.from_template("{a}") + "b").input_variables,
        ChatPromptTemplate([ChatPromptTemplate(["{a}"]), "{b}"])
        .invoke({"a": 1, "b": 2})
        .to_string(),
        ChatPromptTemplate(["{a}"]) == ChatPromptTemplate(["{a}"]),
        ChatPromptTemplate(["{a}"]) == ChatPromptTemplate(["{b}"]),
        chat.pretty_repr(),
        ChatPromptTemplate(
            [
                AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}]),
                ToolMessage("{x}", tool_call_id="1"),
            ]
        )
        .invoke({})
        .to_messages(),
    ]


def case_what_is_no_message(env):
    wrong = [
        3,
        ("a", "b", "c"),
        ("foo", "x"),
        ("tool", "x"),
        {"role": "user", "x": 1},
        PromptTemplate,
    ]
    return [env.error(lambda w=w: ChatPromptTemplate.from_messages([w])) for w in wrong]


def case_message_templates(env):
    return [
        SystemMessagePromptTemplate.from_template("{a}").format(a=1),
        AIMessagePromptTemplate.from_template("{a}").format_messages(a=1),
        ChatMessagePromptTemplate.from_template("{a}", role="r").format(a=1),
        SystemMessagePromptTemplate.from_template("{a}", additional_kwargs={"x": 1}).format(a=1),
        SystemMessagePromptTemplate.from_template("{a}", partial_variables={"a": 1}).format(),
        HumanMessagePromptTemplate.from_template(["{a}"]).format(a=1),
        env.error(lambda: HumanMessagePromptTemplate.from_template(3)),
    ]


def case_few_shot(env):
    shown = PromptTemplate.from_template("{q}={r}")
    examples = [{"q": "1", "r": "2"}, {"q": "3", "r": "4"}]
    few = FewShotPromptTemplate(
        examples=examples,
        example_prompt=shown,
        prefix="P {p}",
        suffix="S {s}",
        input_variables=["p"],
    )
    selector = LengthBasedExampleSelector(examples=examples, example_prompt=shown, max_length=3)
    chosen = FewShotPromptTemplate(
        example_selector=selector, example_prompt=shown, suffix="{s}", example_separator="-"
    )
    parts = FewShotPromptWithTemplates(
        examples=examples,
        example_prompt=shown,
        suffix=PromptTemplate.from_template("S {s}"),
        input_variables=["s"],
    )
    turn = ChatPromptTemplate([("human", "{q}"), ("ai", "{r}")])
    chat = FewShotChatMessagePromptTemplate(examples=examples, example_prompt=turn)
    return [
        few.input_variables,
        few.format(p=1, s="{x}"),
        few.invoke({"p": 1, "s": 2}).to_string(),
        chosen.format(s="one two"),
        chosen.format(s="one"),
        parts.format(s=1),
        chat.format_messages(),
        ChatPromptTemplate([("system", "s"), chat, "{i}"]).invoke({"i": "x"}).to_messages(),
        env.error(lambda: few.format(p=1)),
    ]


def case_own_prompt(env):
    class Shout(StringPromptTemplate):
        end: str = "!"

        def format(self, **kwargs):
            return kwargs["what"].upper() + self.end

    prompt = Shout(input_variables=["what"], end="?")
    return [prompt.invoke({"what": "hi"}).to_string(), prompt.invoke("hi").to_messages()]


def case_documents(env):
    class Page:
        page_content = "text"
        metadata = {"a": "A", "b": 3}  # noqa: RUF012

    return [
        format_document(Page(), PromptTemplate.from_template("{page_content} {a} {b}")),
        env.error(lambda: format_document(Page(), PromptTemplate.from_template("{z}"))),
    ]


async def case_events(env):
    chain = ChatPromptTemplate.from_messages(["{a}"]) | (lambda value: value.to_string())
    events = [event async for event in chain.astream_events({"a": 1}, version="v2")]
    return [(event["event"], event["name"], event["tags"]) for event in events]


def case_appended(env):
    chat = ChatPromptTemplate(["{a}"])
    chat.append(("ai", "{b}"))
    return chat.input_variables


def case_braces_in_examples(env):
    shown = PromptTemplate.from_template("{q}")
    few = FewShotPromptTemplate(examples=[{"q": "{}"}], example_prompt=shown, suffix="{s}")
    return env.error(lambda: few.format(s="x"))


def case_mustache_that_runs_code(env):
    prompt = PromptTemplate.from_template("{{#f}}x{{/f}}", template_format="mustache")
    return env.error(lambda: prompt.format(f=lambda *_: "called"))


def case_unknown_argument(env):
    return env.error(
        lambda: PromptTemplate(template="{a}", tempate_format="mustache").input_variables
    )


def case_saved_to_a_file(env):
    return env.error(lambda: PromptTemplate.from_template("{a}").save(env.tmp_path / "p.json"))
