"""Random programs with `RunnableWithMessageHistory`: what comes, what goes, and who remembers."""

from tests.differential.random.dice import Dice

PLAIN = ("counted", "counted_text", "counted_list", "failing")
WITH_KEY = (*PLAIN, "counted_dict", "counted_text_dict")
TEXTS = ("'hi'", "'and you?'", "''")
MESSAGES = ("HumanMessage('hi')", "AIMessage('mine')")
LISTS = ("[HumanMessage('hi')]", "[HumanMessage('a'), AIMessage('b'), HumanMessage('c')]", "[]")


def lines(dice: Dice) -> list[str]:
    """A chat with a memory, some turns of it, and what is remembered."""
    keyed = dice.chance(0.6)
    made, asyncs, answers = _runnable(dice, keyed)
    options: list[str] = []
    if keyed:
        options.append("input_messages_key='question'")
        if dice.chance(0.7):
            options.append("history_messages_key='past'")
    if answers:
        options.append("output_messages_key='answer'")
    two = dice.chance(0.25)
    if two:
        options.append("history_factory_config=FIELDS")
    factory = "histories.of_two" if two else "histories.of"
    text = f"RunnableWithMessageHistory({', '.join([made, factory, *options])})"
    text += dice.one(["", "", "", ".with_config(tags=['t'])"])
    found = ["histories = Histories()", f"runnable = {text}"]
    found += [_call(dice, keyed, asyncs, two) for _ in range(dice.number(1, 4))]
    return [*found, "look(lambda: histories.shown())"]


def _runnable(dice: Dice, keyed: bool) -> tuple[str, bool, bool]:
    """What answers; whether it is async only; whether it answers in a dict."""
    kind = dice.share()
    if kind < 0.15:
        return "RunnableLambda(a_counted)", True, False
    if kind < 0.3 and keyed:
        prompt = "ChatPromptTemplate([('placeholder', '{past}'), ('human', '{question}')])"
        return f"{prompt} | FakeListChatModel(responses=['yes', 'no'])", False, False
    if kind < 0.3:
        return "FakeListChatModel(responses=['yes', 'no'])", False, False
    if kind < 0.5:
        return "RunnableLambda(counted) | RunnableLambda(shown)", False, False
    if kind < 0.6:
        return (
            "RunnableLambda(counted).with_fallbacks([RunnableLambda(counted_text)])",
            False,
            False,
        )
    name = dice.one(WITH_KEY)
    return f"RunnableLambda({name})", False, name.endswith("dict")


def _call(dice: Dice, keyed: bool, asyncs: bool, two: bool) -> str:
    """A turn."""
    value = dice.one(dice.one([TEXTS, MESSAGES, LISTS]))
    if keyed and dice.chance(0.95):
        value = f"{{'question': {value}}}"
    if two:
        session = dice.one(["'user': 'bob', 'talk': '1'", "'talk': '2'", "'user': 'bob'"])
    else:
        session = dice.one(["'session_id': '1'", "'session_id': '1'", "'session_id': '2'"])
    config = f"{{'configurable': {{{session}}}}}" if dice.chance(0.95) else "None"
    kind = dice.share()
    if not asyncs and kind < 0.6:
        plain = dice.one(
            [
                f"runnable.invoke({value}, {config})",
                f"drained(runnable.stream({value}, {config}))",
                f"runnable.batch([{value}], {config})",
                f"as_completed(runnable.batch_as_completed([{value}], {config}))",
            ]
        )
        return f"look(lambda: {plain})"
    if kind < 0.65:
        shape = dice.one(
            ["keys_of(runnable.get_input_jsonschema())", "[s.id for s in runnable.config_specs]"]
        )
        return f"look(lambda: {shape})"
    later = dice.one(
        [
            f"runnable.ainvoke({value}, {config})",
            f"gathered(lambda: runnable.astream({value}, {config}))",
            f"runnable.abatch([{value}], {config})",
        ]
    )
    return f"await alook({later})"
