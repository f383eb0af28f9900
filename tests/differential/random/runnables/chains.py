"""Random compositions of runnables, each step for the kind of value that the step before gives.

The kinds are int, str, list (of ints), dict, messages and message (of a model). Now and then a
step gets a value of the wrong kind, or one that fails: errors are compared too.
"""

from dataclasses import dataclass, field

from tests.differential.random.dice import Dice

from .calls import call

STARTS = {
    "int": ("0", "1", "2", "-3"),
    "str": ("''", "'ab'", "'hello'", "'x y'"),
    "list": ("[]", "[1, 2]", "[3]"),
    "dict": ("{'a': 1, 'b': 2}", "{'a': 'x', 'name': 'joe'}", "{'a': 2}"),
}
LAMBDAS = {
    # the kind that comes: (function, kind that goes)
    "int": (
        *(("add_one", "int"), ("double", "int"), ("a_double", "int"), ("no_odd", "int")),
        *(("shown", "str"), ("a_shown", "str"), ("count_to", "list"), ("as_dict", "dict")),
        *(("scaled", "int"), ("configured", "str"), ("never", "int"), ("question", "messages")),
        ("to_a_chain", "int"),
    ),
    "str": (
        *(("up", "str"), ("double", "str"), ("size", "int")),
        *(("each_up", "str"), ("configured", "str"), ("question", "messages"), ("as_dict", "dict")),
        *(("a_letters", "str"), ("a_each_up", "str")),
    ),
    "list": (("size", "int"), ("sum", "int"), ("double", "list"), ("shown", "str")),
    "dict": (("size", "int"), ("shown", "str"), ("configured", "str")),
    "messages": (("size", "int"), ("shown", "str")),
    "message": (("shown", "str"),),
}
GENERATORS = {"each_up", "a_each_up"}
RETRY = "with_retry(stop_after_attempt=2, wait_exponential_jitter=False)"
ASYNC = {"a_double", "a_shown", "a_letters", "a_each_up"}


@dataclass
class Made:
    """A composition so far."""

    text: str
    gives: str
    traits: set[str] = field(default_factory=set)

    def around(self, text: str, gives: str | None = None, *more: str) -> "Made":
        """The composition inside of another text, which has `{}` for it."""
        traits = self.traits | set(more)
        return Made(text.replace("{}", self.text, 1), gives or self.gives, traits)


def lines(dice: Dice) -> list[str]:
    """A composition, and three calls of it."""
    start = dice.one(list(STARTS))
    made = runnable(dice, start, dice.one([1, 2, 2, 3]))
    values = STARTS[start] if dice.chance(0.95) else ("None", "'odd'", "5")
    calls = [call(dice, made.traits, values) for _ in range(3)]
    return ["counted = Flaky(1)", f"runnable = {made.text}", *calls]


def runnable(dice: Dice, comes: str, depth: int) -> Made:
    """A runnable for one kind of value."""
    if depth == 0 or dice.chance(0.25):
        return leaf(dice, comes)
    made = dice.one([sequence, sequence, sequence, parallel, wrapped, wrapped, special])
    return made(dice, comes, depth)


def leaf(dice: Dice, comes: str) -> Made:
    """A runnable that holds no other."""
    kind = dice.share()
    if kind < 0.12:
        return Made("RunnablePassthrough()", comes)
    if kind < 0.3 and comes == "str":
        return dice.one(
            [
                Made("PromptTemplate.from_template('say {x}')", "prompt"),
                Made("ChatPromptTemplate.from_messages([('human', '{x}')])", "prompt"),
                Made("FakeListLLM(responses=['one'])", "str", {"model"}),
                Made("FakeListChatModel(responses=['yes'])", "message", {"model"}),
                Made("Found()", "any", {"retriever"}),
                Made("CommaSeparatedListOutputParser()", "any"),
                Made("StrOutputParser()", "str"),
            ]
        )
    if comes == "dict" and kind < 0.4:
        return dice.one(
            [
                Made("RunnablePick('a')", "any", {"assigned"}),
                Made("RunnablePick(['a', 'b'])", "dict", {"assigned"}),
                Made("RunnableLambda(operator.itemgetter('a'))", "any"),
                Made("PromptTemplate.from_template('{a} and {b}')", "prompt"),
                Made("ChatPromptTemplate([('system', 's {a}'), ('human', '{b}')])", "prompt"),
                Made("look_up", "any", {"tool"}),
            ]
        )
    if comes in ("messages", "prompt"):
        return Made("FakeListChatModel(responses=['yes'])", "message", {"model"})
    if comes == "message" and kind < 0.8:
        return dice.one([Made("StrOutputParser()", "str"), Made("JsonOutputParser()", "any")])
    if comes == "any":
        return dice.one(
            [Made("RunnableLambda(shown)", "str"), Made("RunnablePassthrough()", "any")]
        )
    name, gives = dice.one(LAMBDAS[comes])
    traits = {"async"} if name in ASYNC else set()
    if name == "sum":
        return Made("RunnableLambda(lambda x: sum(x))", gives)
    if name in GENERATORS:
        return Made(f"RunnableGenerator({name})", gives, traits)
    if name == "scaled" and dice.chance(0.6):
        bound = dice.one(["by=3", "by=2, more=1", "more=1, even=2"])
        return Made(f"RunnableLambda(scaled).bind({bound})", gives)
    if name == "double" and dice.chance(0.2):
        return Made("RunnableLambda(double, a_double)", gives)
    if comes == "int" and dice.chance(0.08):
        return Made(
            f"RunnableLambda(counted).{RETRY}",
            "int",
        )
    named = ", name='named'" if dice.chance(0.1) else ""
    return Made(f"RunnableLambda({name}{named})", gives, traits)


def sequence(dice: Dice, comes: str, depth: int) -> Made:
    """Steps after each other, or what stands for a sequence."""
    made = runnable(dice, comes, depth - 1)
    for _ in range(dice.number(1, 2)):
        after = runnable(dice, made.gives, depth - 1)
        form = dice.one(["({}) | ({})", "({}) | ({})", "({}).pipe({})", "RunnableSequence({}, {})"])
        text = form.replace("{}", made.text, 1).replace("{}", after.text, 1)
        made = Made(f"({text})", after.gives, made.traits | after.traits)
    if dice.chance(0.15) and comes == "dict":
        return Made(
            f"RunnablePassthrough.assign(z={made.text})",
            "dict",
            made.traits | {"loose", "assigned"},
        )
    if dice.chance(0.1) and made.gives == "dict":
        return dice.one(
            [
                made.around("({}).pick('a')", "any", "assigned"),
                made.around("({}).assign(y=size)", "dict", "loose", "assigned"),
            ]
        )
    return made


def parallel(dice: Dice, comes: str, depth: int) -> Made:
    """Steps beside each other."""
    steps = [runnable(dice, comes, depth - 1) for _ in range(dice.number(1, 3))]
    names = ["a", "b", "c"][: len(steps)]
    pairs = ", ".join(f"{n!r}: {s.text}" for n, s in zip(names, steps, strict=True))
    traits = set().union(*(s.traits for s in steps)) | {"loose"}
    form = dice.one(["RunnableParallel({{{}}})", "RunnablePassthrough() | {{{}}}"])
    return Made(f"({form.format(pairs)})", "dict", traits)


def wrapped(dice: Dice, comes: str, depth: int) -> Made:
    """A runnable with something bound to it."""
    made = runnable(dice, comes, depth - 1)
    kind = dice.number(0, 8)
    if kind == 0:
        return made.around(f"({{}}).{RETRY}")
    if kind == 1:
        other = runnable(dice, comes, depth - 1)
        errors = dice.one(["", ", exceptions_to_handle=(ValueError,)"])
        inner = Made(made.text, made.gives, made.traits | other.traits | {"fallbacks"})
        return inner.around(f"({{}}).with_fallbacks([{other.text}]{errors})")
    if kind == 2:
        return made.around("({}).with_config(tags=['t1'], metadata={'m': 1})")
    if kind == 3:
        return made.around("({}).with_config(run_name='renamed')", None, "named")
    if kind == 4:
        return made.around("({}).with_types(input_type=Any, output_type=Any)")
    if kind == 5:
        return made.around("({}).with_config(configurable={'user': 'u1'}, max_concurrency=2)")
    if kind == 6 and comes == "list":
        inner = runnable(dice, "int", depth - 1)
        return Made(f"({inner.text}).map()", "list", inner.traits | {"loose", "each"})
    if kind == 7:
        return (
            made.around("RunnableLambda(({}).invoke)", None, "inside", "assigned")
            if not made.traits & {"async"}
            else made
        )
    return made.around("({}).with_config(callbacks=[])")


def special(dice: Dice, comes: str, depth: int) -> Made:
    """Branches, routers, and alternatives."""
    one, two = (runnable(dice, comes, depth - 1) for _ in range(2))
    traits = one.traits | two.traits
    gives = one.gives if one.gives == two.gives else "any"
    if comes == "int" and dice.chance(0.5):
        routes = (
            f"RunnableLambda(which) | RouterRunnable({{'even': {one.text}, 'odd': {two.text}}})"
        )
        return Made(f"({routes})", gives, traits | {"routed"})
    if comes in ("int", "str", "list"):
        test = "is_even" if comes == "int" else "is_long"
        if any(bound in one.text + two.text for bound in (".bind(", ".with_")):
            traits |= {"untold"}  # "Runs of bound branches"
        return Made(
            f"RunnableBranch(({test}, {one.text}), {two.text})", gives, traits | {"assigned"}
        )
    if dice.chance(0.5):
        # only what is serializable has alternatives: a sequence is
        other = f"ConfigurableField(id='kind'), other={two.text}"
        made = f"(RunnablePassthrough() | {one.text}).configurable_alternatives({other})"
        return Made(made, gives, traits | {"alternatives"})
    return one
