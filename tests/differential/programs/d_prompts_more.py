"""What random programs found of prompts: empty texts in blocks, few-shot prompts and mustache."""

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import (
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
    SystemMessagePromptTemplate,
)

ONE = PromptTemplate.from_template("{a}!")


def _few_shot(**parts):
    return FewShotPromptTemplate(examples=[{"a": "t"}], example_prompt=ONE, **parts)


def case_empty_texts_among_blocks(env):
    contents = [
        [""],
        ["", "x"],
        ["{a}", "x"],
        [{"type": "text", "text": ""}, {"type": "text", "text": "{a}"}],
        [{"type": "text", "text": "", "cache_control": {"type": "x"}}],
    ]
    return [
        ChatPromptTemplate([(role, content)]).format_messages(a="")
        for content in contents
        for role in ("human", "ai", "system")
    ]


def case_parts_that_values_empty(env):
    return [
        _few_shot(prefix="{b}", suffix="{b}").format(b=""),
        _few_shot(suffix="").format(),
        _few_shot(suffix="{b}", prefix="p").format(b=""),
    ]


def case_falsy_values_of_mustache(env):
    prompt = PromptTemplate.from_template("{{a}}|{{{a}}}|{{& a}}", template_format="mustache")
    return [prompt.format(a=a) for a in ({}, [], "", None, 0, 0.0, False, (), "x", [0], {"b": 1})]


def case_partials_of_few_shot_prompts(env):
    prompt = _few_shot(suffix="{b}")
    prompt.invoke({"b": "x"})
    return env.error(lambda: prompt.partial(b="x").format())


def case_falsy_items_of_mustache_sections(env):
    prompt = PromptTemplate.from_template("{{#a}}item {{/a}}", template_format="mustache")
    return prompt.format(a=[{}, 0, 1])


def case_names_inside_of_false(env):
    return PromptTemplate.from_template("{{a.b}}", template_format="mustache").format(a=False)


def case_blocks_without_their_values(env):
    blocks = (
        {"type": "text", "text": "{{a}}"},
        {"type": "text", "text": "{{#a}}yes{{/a}}{{^a}}no{{/a}}"},
        {"type": "image_url", "image_url": {"url": "https://example.org/{{a}}"}},
        {"type": "audio", "data": "{{a}}"},
    )
    prompts = [
        ChatPromptTemplate([("human", [one, "{{b}}"])], template_format="mustache")
        for one in blocks
    ]
    return [
        (env.error(lambda p=p: p.format_messages(b=1)), p.format_messages(a="x", b=1))
        for p in prompts
    ]


def case_schemas_of_mustache_sections(env):
    templates = [
        "{{#a}}x{{/a}}",
        "{{^a}}{{b}}{{/a}}",
        "{{#a}}{{#b}}q{{/b}}{{/a}}",
        "{{#a}}x{{/a}}{{a}}",
        "{{a}}{{#a}}x{{/a}}",
        "{{a.b}}{{#a.b}}y{{/a.b}}",
    ]
    return [
        PromptTemplate.from_template(t, template_format="mustache").get_input_jsonschema()
        for t in templates
    ]


def _placeholder(name="h", **options):
    try:
        return MessagesPlaceholder(name, **options).input_variables
    except ValueError:
        return "refused"


def case_wrong_options_of_a_placeholder(env):
    return [
        *(_placeholder(n_messages=n) for n in ("x", 1.5, 0, [1])),
        *(_placeholder(optional=o) for o in (None, "x", 2, True)),
        *(_placeholder(name) for name in (None, 3, ["h"], "h")),
        MessagesPlaceholder("h", n_messages=2.0).n_messages,
        MessagesPlaceholder("h", optional=1).optional,
    ]


def case_prompts_as_dicts(env):
    few = _few_shot(suffix="{b}", prefix="p").asdict()
    chat = FewShotChatMessagePromptTemplate(
        examples=[{"a": "t"}], example_prompt=ChatPromptTemplate([("human", "{a}")])
    ).asdict()
    chat.pop("example_prompt")
    parsed = PromptTemplate(template="x", output_parser=StrOutputParser()).asdict()
    return few, chat, parsed, ONE.asdict()


def case_dicts_of_the_messages_of_a_prompt(env):
    return ChatPromptTemplate([("human", "{a}")]).asdict()["messages"]


def case_message_templates_from_files(env):
    path = env.tmp_path / "template.txt"
    path.write_text("{{a}} {a} é", encoding="utf-8")
    read = SystemMessagePromptTemplate.from_template_file
    return [
        read(path, input_variables=["a"]).format(a=1),
        read(path, input_variables=["a"], template_format="mustache").format(a=1),
        read(path, input_variables=[], partial_variables={"a": 2}).format(),
    ]
