"""A template is data: whatever it says, it replaces names, or is refused with a typed error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.errors import InvalidInputError, InvalidTemplateError, MissingVariablesError
from plait.prompts import ChatPromptTemplate, DictPromptTemplate, PromptTemplate

SECRET = "hunter2"


class Account:
    """What an attacker would like to look into."""

    password = SECRET

    def __init__(self) -> None:
        self.items = [SECRET]
        self.touched: list[str] = []

    def __getattribute__(self, name: str):
        if not name.startswith("__") and name != "touched":
            self.touched.append(name)
        return object.__getattribute__(self, name)

    def __str__(self) -> str:
        return "account"


ATTACKS = [
    "{a.password}",
    "{a.__class__.__init__.__globals__}",
    "{a[0]}",
    "{a.items[0]}",
    "{a!r:{a.password}}",
    "{0.password}",
    "{:{a}}",
    "{a:>99999999999}",
    "{a:.99999999f}",
]


@pytest.mark.parametrize("template", ATTACKS)
def test_a_format_string_attack_is_refused_when_the_template_is_read(template: str) -> None:
    with pytest.raises(InvalidTemplateError):
        PromptTemplate.from_template(template)
    with pytest.raises(InvalidTemplateError):
        ChatPromptTemplate([("human", [{"type": "text", "text": template, "x": 1}])])


@pytest.mark.parametrize("template", ["{{a.password}}", "{{#a}}{{password}}{{/a}}", "{{a.items}}"])
def test_mustache_never_touches_an_attribute(template: str) -> None:
    account = Account()
    prompt = PromptTemplate.from_template(template, template_format="mustache")
    assert SECRET not in prompt.format(a=account)
    assert account.touched == []


def test_mustache_calls_no_function() -> None:
    called: list[int] = []
    prompt = PromptTemplate.from_template("{{#f}}x{{/f}}", template_format="mustache")
    with pytest.raises(InvalidInputError, match="runs no code"):
        prompt.format(f=lambda *_: called.append(1))
    assert called == []


@pytest.mark.parametrize("template", ["{{> file}}", "{{=<% %>=}}", "{{a.0}}", "{{#a}}" * 1000])
def test_what_mustache_leaves_out_is_refused(template: str) -> None:
    with pytest.raises(InvalidTemplateError):
        PromptTemplate.from_template(template, template_format="mustache")


def test_jinja_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(InvalidTemplateError, match="mustache"):
        PromptTemplate.from_template("{{ a }}", template_format="jinja2")  # type: ignore[arg-type]


def test_a_dict_that_nests_too_deep_is_refused() -> None:
    deep: dict = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(InvalidTemplateError, match="deeper"):
        DictPromptTemplate(template=deep)


TEXT = st.text(alphabet="ab{}!:.[]0 #/^&>=_\n", max_size=60)


@given(TEXT, st.sampled_from(["f-string", "mustache"]))
def test_any_template_is_filled_or_refused_with_a_typed_error(template: str, how: str) -> None:
    account = Account()
    try:
        prompt = PromptTemplate.from_template(template, template_format=how)  # type: ignore[arg-type]
    except InvalidTemplateError:
        return
    values = dict.fromkeys(prompt.input_variables, account)
    try:
        assert SECRET not in prompt.format(**values)
    except (ValueError, TypeError) as error:  # a format that this value does not take
        assert "format" in str(error)  # noqa: PT017 - one of two good ends
    assert account.touched == []


@given(st.text(max_size=200))
def test_values_are_never_read_as_templates(value: str) -> None:
    prompt = PromptTemplate.from_template("<{a}|{b}>")
    assert prompt.format(a=value, b="{a}") == f"<{value}|{{a}}>"


def test_a_missing_variable_is_named_with_what_was_given() -> None:
    prompt = ChatPromptTemplate([("human", "{question} {topic}")])
    with pytest.raises(
        MissingVariablesError, match=r"missing variables \['topic'\].*Received: \['qu"
    ):
        prompt.invoke({"question": "?"})


def test_an_appended_message_brings_its_variables() -> None:
    prompt = ChatPromptTemplate(["{a}"])
    prompt.append(("ai", "{b}"))
    prompt.extend(["{c}"])
    assert prompt.input_variables == ["a", "b", "c"]
    assert prompt.partial(a="1")[:1].invoke({}).to_string() == "Human: 1"
