"""Random prompts of every kind, from random texts, and what they make of random values."""

from typing import Any

from tests.differential.random.dice import Dice

from .messages import content, message
from .values import WORDS, json_value, text, word

FSTRING = ("{a}", "{b}", "{name}", "{x!r}", "{a:>4}", "{{x}}", "{{ {a} }}", "{city:}", "{a!s:5}")
MUSTACHE = (
    *("{{a}}", "{{{b}}}", "{{& name}}", "{{! note }}x", "{{ x }}", "{{#items}}{{name}},{{/items}}"),
    *("{{^a}}none{{/a}}", "{{#a}}yes {{b}}{{/a}}", "{{#a}}\n {{#b}}x{{/b}}\n{{/a}}\n"),
)  # no paths, and no sections of falsy items: "Templates are data"
FORMATS = ("f-string", "f-string", "mustache")


def lines(dice: Dice) -> list[str]:
    """One prompt, what it declares, and what it makes of some values."""
    kind = dice.one([string_prompt, string_prompt, chat_prompt, chat_prompt, few_shot])
    made = [f"prompt = {kind(dice)}"]
    if kind is not few_shot:  # "Partials of few-shot prompts"
        made += [f"prompt = {changed(dice)}" for _ in range(dice.number(0, 2))]
    made.append("look(lambda: (sorted(prompt.input_variables), sorted(prompt.partial_variables)))")
    return [*made, *(f"look(lambda: {use(dice)})" for _ in range(3))]


def template(dice: Dice, form: str) -> str:
    """The text of a template of one format."""
    parts = FSTRING if form == "f-string" else MUSTACHE
    pieces = [
        dice.one(parts) if dice.chance(0.6) else dice.one(["hi ", " ", "\n", "é", "it's"])
        for _ in range(dice.number(0, 4))
    ]
    return "".join(pieces)


def string_prompt(dice: Dice) -> str:
    """The expression of a PromptTemplate."""
    form = dice.one(FORMATS)
    more = "" if form == "f-string" else f", template_format={form!r}"
    made = f"PromptTemplate.from_template({template(dice, form)!r}{more}"
    if dice.chance(0.3):
        made += f", partial_variables={ {word(dice): text(dice)}!r}"
    made += ")"
    if dice.chance(0.2) and form == "f-string":
        made += dice.one([" + 'and {b}'", f" + PromptTemplate.from_template({text_of(dice)!r})"])
    return made


def text_of(dice: Dice) -> str:
    """A template in f-string format."""
    return template(dice, "f-string")


def part(dice: Dice, form: str) -> str:
    """What a chat prompt takes for a message."""
    written = template(dice, form)
    role = dice.one(["human", "ai", "system", "user", "assistant"])
    kind = dice.share()
    if kind < 0.4:
        return f"({role!r}, {written!r})"
    if kind < 0.5:
        return repr(written)
    if kind < 0.6:
        name = dice.one(["HumanMessage", "AIMessage", "SystemMessage"])
        more = "" if form == "f-string" else f", template_format={form!r}"
        return f"{name}PromptTemplate.from_template({written!r}{more})"
    if kind < 0.7:
        options = dice.one(["", ", optional=True", ", n_messages=1"])
        return dice.one(
            [f"MessagesPlaceholder('history'{options})", "('placeholder', '{history}')"]
        )
    if kind < 0.78:
        return message(dice)
    if kind < 0.86:
        blocks = [{"type": "text", "text": written}]
        if dice.chance(0.5):
            url = dice.one(["{a}", "https://x/{b}"]) if form == "f-string" else "{{a}}"
            image = {"type": "image_url", "image_url": dice.one([url, {"url": url}])}
            blocks.append(dice.one([image, {"type": "image", "url": url}]))
        return f"({role!r}, {blocks!r})"
    if kind < 0.93:
        return repr({"role": role, "content": written})
    return f"ChatMessagePromptTemplate.from_template({text_of(dice)!r}, role='bot')"


def chat_prompt(dice: Dice) -> str:
    """The expression of a ChatPromptTemplate."""
    form = dice.one(FORMATS)
    parts = ", ".join(part(dice, form) for _ in range(dice.number(1, 3)))
    if form == "mustache":
        return f"ChatPromptTemplate([{parts}], template_format='mustache')"
    made = dice.one(["ChatPromptTemplate([{}])", "ChatPromptTemplate.from_messages([{}])"])
    made = made.format(parts) if "{}" in made else made
    if dice.chance(0.2):
        made += f" + [{part(dice, form)}]"
    return made


def few_shot(dice: Dice) -> str:
    """The expression of a few-shot prompt."""
    examples = [{"a": text(dice).replace("{x}", "x"), "b": "out"} for _ in range(dice.number(0, 2))]
    if dice.chance(0.5):
        return (
            f"FewShotPromptTemplate(examples={examples!r}, example_prompt="
            f"PromptTemplate.from_template('{{a}} -> {{b}}'), prefix={text_of(dice)!r}, "
            f"suffix={text_of(dice)!r}, example_separator={dice.one([' | ', chr(10)])!r})"
        )
    inner = "ChatPromptTemplate.from_messages([('human', '{a}'), ('ai', '{b}')])"
    return f"FewShotChatMessagePromptTemplate(examples={examples!r}, example_prompt={inner})"


def changed(dice: Dice) -> str:
    """The prompt with some of its variables bound."""
    value = dice.one([repr(text(dice)), "lambda: 'called'"])
    return f"prompt.partial({word(dice)}={value})"


def values(dice: Dice) -> dict[str, object]:
    """Values for most variables."""
    names = [name for name in WORDS if dice.chance(0.85)]
    made = {name: json_value(dice) for name in names}
    return truthy(made)


def truthy(value: Any) -> Any:
    """The value with no falsy items in its lists: "Templates are data"."""
    if isinstance(value, dict):
        return {name: truthy(one) for name, one in value.items()}
    if isinstance(value, list):
        return [one for one in value if one and not isinstance(one, list)]
    return value


def history(dice: Dice) -> str:
    """Messages for a placeholder."""
    return dice.one(
        [
            f"[{message(dice)}]",
            f"[('human', {text(dice)!r}), {message(dice)}]",
            "[]",
            f"[HumanMessage({content(dice)})]",
        ]
    )


def use(dice: Dice) -> str:
    """A call of the prompt, or a question to it."""
    given = f"{{**{values(dice)!r}, 'history': {history(dice)}}}"
    if dice.chance(0.15):
        given = repr(values(dice))
    return dice.one(
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
            f"values_of(prompt.invoke({text(dice)!r}))",
            f"{word(dice)!r} in repr(prompt)",
        ]
    )
