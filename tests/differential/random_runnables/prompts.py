"""Random prompts of every kind, from random texts, and what they make of random values."""

from random import Random
from typing import Any

from .messages import content, message
from .values import WORDS, json_value, text, word

FSTRING = ("{a}", "{b}", "{name}", "{x!r}", "{a:>4}", "{{x}}", "{{ {a} }}", "{city:}", "{a!s:5}")
MUSTACHE = (
    *("{{a}}", "{{{b}}}", "{{& name}}", "{{! note }}x", "{{ x }}", "{{#items}}{{name}},{{/items}}"),
    *("{{^a}}none{{/a}}", "{{#a}}yes {{b}}{{/a}}", "{{#a}}\n {{#b}}x{{/b}}\n{{/a}}\n"),
)  # no paths, and no sections of falsy items: "Templates are data"
FORMATS = ("f-string", "f-string", "mustache")


def lines(choose: Random) -> list[str]:
    """One prompt, what it declares, and what it makes of some values."""
    kind = choose.choice([string_prompt, string_prompt, chat_prompt, chat_prompt, few_shot])
    made = [f"prompt = {kind(choose)}"]
    if kind is not few_shot:  # "Partials of few-shot prompts"
        made += [f"prompt = {changed(choose)}" for _ in range(choose.randint(0, 2))]
    made.append("look(lambda: (sorted(prompt.input_variables), sorted(prompt.partial_variables)))")
    return [*made, *(f"look(lambda: {use(choose)})" for _ in range(3))]


def template(choose: Random, form: str) -> str:
    """The text of a template of one format."""
    parts = FSTRING if form == "f-string" else MUSTACHE
    pieces = [
        choose.choice(parts)
        if choose.random() < 0.6
        else choose.choice(["hi ", " ", "\n", "é", "it's"])
        for _ in range(choose.randint(0, 4))
    ]
    return "".join(pieces)


def string_prompt(choose: Random) -> str:
    """The expression of a PromptTemplate."""
    form = choose.choice(FORMATS)
    more = "" if form == "f-string" else f", template_format={form!r}"
    made = f"PromptTemplate.from_template({template(choose, form)!r}{more}"
    if choose.random() < 0.3:
        made += f", partial_variables={ {word(choose): text(choose)}!r}"
    made += ")"
    if choose.random() < 0.2 and form == "f-string":
        made += choose.choice(
            [" + 'and {b}'", f" + PromptTemplate.from_template({text_of(choose)!r})"]
        )
    return made


def text_of(choose: Random) -> str:
    """A template in f-string format."""
    return template(choose, "f-string")


def part(choose: Random, form: str) -> str:
    """What a chat prompt takes for a message."""
    written = template(choose, form)
    role = choose.choice(["human", "ai", "system", "user", "assistant"])
    kind = choose.random()
    if kind < 0.4:
        return f"({role!r}, {written!r})"
    if kind < 0.5:
        return repr(written)
    if kind < 0.6:
        name = choose.choice(["HumanMessage", "AIMessage", "SystemMessage"])
        more = "" if form == "f-string" else f", template_format={form!r}"
        return f"{name}PromptTemplate.from_template({written!r}{more})"
    if kind < 0.7:
        options = choose.choice(["", ", optional=True", ", n_messages=1"])
        return choose.choice(
            [f"MessagesPlaceholder('history'{options})", "('placeholder', '{history}')"]
        )
    if kind < 0.78:
        return message(choose)
    if kind < 0.86:
        blocks = [{"type": "text", "text": written}]
        if choose.random() < 0.5:
            url = choose.choice(["{a}", "https://x/{b}"]) if form == "f-string" else "{{a}}"
            image = {"type": "image_url", "image_url": choose.choice([url, {"url": url}])}
            blocks.append(choose.choice([image, {"type": "image", "url": url}]))
        return f"({role!r}, {blocks!r})"
    if kind < 0.93:
        return repr({"role": role, "content": written})
    return f"ChatMessagePromptTemplate.from_template({text_of(choose)!r}, role='bot')"


def chat_prompt(choose: Random) -> str:
    """The expression of a ChatPromptTemplate."""
    form = choose.choice(FORMATS)
    parts = ", ".join(part(choose, form) for _ in range(choose.randint(1, 3)))
    if form == "mustache":
        return f"ChatPromptTemplate([{parts}], template_format='mustache')"
    made = choose.choice(["ChatPromptTemplate([{}])", "ChatPromptTemplate.from_messages([{}])"])
    made = made.format(parts) if "{}" in made else made
    if choose.random() < 0.2:
        made += f" + [{part(choose, form)}]"
    return made


def few_shot(choose: Random) -> str:
    """The expression of a few-shot prompt."""
    examples = [
        {"a": text(choose).replace("{x}", "x"), "b": "out"} for _ in range(choose.randint(0, 2))
    ]
    if choose.random() < 0.5:
        return (
            f"FewShotPromptTemplate(examples={examples!r}, example_prompt="
            f"PromptTemplate.from_template('{{a}} -> {{b}}'), prefix={text_of(choose)!r}, "
            f"suffix={text_of(choose)!r}, example_separator={choose.choice([' | ', chr(10)])!r})"
        )
    inner = "ChatPromptTemplate.from_messages([('human', '{a}'), ('ai', '{b}')])"
    return f"FewShotChatMessagePromptTemplate(examples={examples!r}, example_prompt={inner})"


def changed(choose: Random) -> str:
    """The prompt with some of its variables bound."""
    value = choose.choice([repr(text(choose)), "lambda: 'called'"])
    return f"prompt.partial({word(choose)}={value})"


def values(choose: Random) -> dict[str, object]:
    """Values for most variables."""
    names = [name for name in WORDS if choose.random() < 0.85]
    made = {name: json_value(choose) for name in names}
    return truthy(made)


def truthy(value: Any) -> Any:
    """The value with no falsy items in its lists: "Templates are data"."""
    if isinstance(value, dict):
        return {name: truthy(one) for name, one in value.items()}
    if isinstance(value, list):
        return [one for one in value if one and not isinstance(one, list)]
    return value


def history(choose: Random) -> str:
    """Messages for a placeholder."""
    return choose.choice(
        [
            f"[{message(choose)}]",
            f"[('human', {text(choose)!r}), {message(choose)}]",
            "[]",
            f"[HumanMessage({content(choose)})]",
        ]
    )


def use(choose: Random) -> str:
    """A call of the prompt, or a question to it."""
    given = f"{{**{values(choose)!r}, 'history': {history(choose)}}}"
    if choose.random() < 0.15:
        given = repr(values(choose))
    return choose.choice(
        [
            f"values_of(prompt.invoke({given}))",
            f"prompt.invoke({given}).to_messages()",
            f"prompt.invoke({given}).to_string()",
            f"prompt.format(**{given})",
            f"prompt.format_prompt(**{given}).to_messages()",
            f"(list(prompt.stream({given})))",
            f"values_of(prompt.batch([{given}, {{}}], return_exceptions=True))",
            "keys_of(prompt.get_input_jsonschema())",
            "prompt.get_output_jsonschema()['title']",
            "prompt.pretty_repr()",
            "prompt.get_name()",
            "prompt.get_prompts() == [prompt]",
            "(prompt | StrOutputParser()).get_graph().draw_mermaid()",
            f"values_of(prompt.invoke({text(choose)!r}))",
            f"{word(choose)!r} in repr(prompt)",
        ]
    )
