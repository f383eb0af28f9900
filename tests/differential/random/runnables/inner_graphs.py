"""Random chains with graphs inside, graphs with chains inside, and both as tools."""

from tests.differential.random.dice import Dice

from .calls import call
from .chains import RETRY, Made

STATES = ("{'n': 1, 'log': ['in']}", "{'n': 2}", "{'log': []}", "{}")
WORDS = ("'hello'", "''", "'x y'")
NODES = ("more", "told", "odd_only", "broken")


def lines(dice: Dice) -> list[str]:
    """A composition with a graph in it, and calls of it; or of what it is as a tool."""
    if dice.chance(0.25):
        made, values = talk(dice), WORDS
    else:
        made, values = chain(dice, dice.one([1, 2, 2, 3])), STATES
    found = ["counted = Flaky(1)", f"runnable = {made.text}"]
    if values is STATES and dice.chance(0.25):
        return [*found, *as_tool(dice, made)]
    calls = [call(dice, made.traits, values) for _ in range(3)]
    # Which inputs an inner run tells again at its end differs with what is in it.
    return [*found, *(one.replace("inputs=True", "inputs=False") for one in calls)]


def talk(dice: Dice) -> Made:
    """A graph or an agent that answers a text."""
    model = dice.one(
        [
            "FakeListChatModel(responses=['yes'])",
            "GenericFakeChatModel(messages=iter(['well then'] * 9))",
        ]
    )
    inner = f"chatting({model})"
    text = f"(RunnableLambda(lambda text: {{'messages': [hello(text)]}}) | {inner}"
    if dice.chance(0.7):
        text += " | RunnableLambda(lambda state: state['messages'][-1].content)"
    return Made(text + ")", "any", {"model", "assigned", "loose", "untold"})


def chain(dice: Dice, depth: int) -> Made:
    """What takes a state and gives one."""
    if depth == 0 or dice.chance(0.2):
        return graph(dice, 0)
    kind = dice.number(0, 7)
    inner = chain(dice, depth - 1)
    if kind <= 1:
        after = chain(dice, depth - 1)
        return Made(f"({inner.text} | {after.text})", "state", inner.traits | after.traits)
    if kind == 2:
        return inner.around(f"({{}}).{RETRY}")
    if kind == 3:
        other = chain(dice, depth - 1)
        traits = inner.traits | other.traits | {"fallbacks"}
        return Made(f"({inner.text}).with_fallbacks([{other.text}])", "state", traits)
    if kind == 4:
        return inner.around("({}).with_config(run_name='renamed')", None, "named")
    if kind == 5:
        steps = "{'n': RunnableLambda(size), 'log': ({}) | RunnablePick('log')}"
        return inner.around(f"(RunnablePassthrough() | {steps})", None, "loose", "assigned")
    if kind == 6:
        return inner.around(
            "RunnableLambda(lambda state: ({}).invoke(state))", None, "inside", "assigned"
        )
    return graph(dice, depth)


def graph(dice: Dice, depth: int) -> Made:
    """A graph of functions and chains."""
    traits = {"assigned", "loose"}  # "Events of branches and fallbacks"
    nodes: list[str] = []
    for _ in range(dice.number(1, 3)):
        if depth and dice.chance(0.4):
            inner = chain(dice, depth - 1)
            traits |= inner.traits
            # "A sequence as a node", "Retries that are watched"
            differs = "|" in inner.text or RETRY in inner.text
            alone = f"RunnableLambda(lambda state: ({inner.text}).invoke(state))"
            nodes.append(alone if differs else inner.text)
        elif dice.chance(0.06):
            nodes.append("a_more")
            traits.add("async")
        else:
            nodes.append(dice.one(NODES[:2] if dice.chance(0.8) else NODES))
    if len(nodes) > 1 and dice.chance(0.2) and len(set(nodes) & {"told"}) == len(set(nodes)):
        return Made(f"beside({', '.join(nodes)})", "state", traits | {"loose"})
    return Made(f"counting({', '.join(nodes)})", "state", traits)


def as_tool(dice: Dice, made: Made) -> list[str]:
    """The composition as a tool."""
    options = ["name='tool_of'", "description='It.'"]
    options.append(dice.one(["arg_types={'n': int}", "arg_types={'n': int, 'log': list}"]))
    given = dice.one(["{'n': 1}", "{'n': 1, 'log': ['in']}", "{}", "{'n': 'x'}"])
    asked = f"{{'name': 'tool_of', 'args': {given}, 'id': 'c1', 'type': 'tool_call'}}"
    calls = [f"made.{'a' * asyncs}invoke({one})" for asyncs in (0, 1) for one in (given, asked)]
    if "async" in made.traits:
        calls = calls[2:]
    found = [f"made = runnable.as_tool({', '.join(options)})"]
    found.append("look(lambda: (made.name, made.description, made.args))")
    for one in calls:
        found.append(f"await alook({one})" if ".ainvoke" in one else f"look(lambda: {one})")
    return found
