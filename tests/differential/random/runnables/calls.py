"""Random calls of a runnable: whole, in batches, in streams, with listeners, and its pictures."""

from tests.differential.random.dice import Dice

CONFIGS = (
    *("None", "None", "{'tags': ['x']}", "{'metadata': {'k': 1}, 'tags': ['x', 'y']}"),
    *("{'run_name': 'outer'}", "{'configurable': {'kind': 'other', 'user': 'u2'}}"),
    *("{'max_concurrency': 1}", "{'recursion_limit': 3}"),
)
SHAPES = (
    *(
        "runnable.get_name()",
        "runnable.get_graph().draw_mermaid()",
        "runnable.get_graph().draw_ascii()",
    ),
    *("runnable.get_input_jsonschema()", "keys_of(runnable.get_output_jsonschema())"),
    *("runnable.config_schema().model_json_schema()", "[s.id for s in runnable.config_specs]"),
    *("len(runnable.get_prompts())", "picture(runnable)"),
)
UNTOLD = {"fallbacks", "each", "untold"}
"""Whose runs differ: "Names of the runs of fallbacks", "Runs of steps inside a map"."""


def call(dice: Dice, traits: set[str], values: tuple[str, ...]) -> str:
    """A statement that calls `runnable` and notes what comes of it."""
    value, config = dice.one(values), dice.one(CONFIGS)
    if "fallbacks" in traits and "run_name" in config:
        config = "None"  # "Names of the runs of fallbacks"
    kind = dice.share()
    if kind < 0.12:
        shape = dice.one(SHAPES)
        if traits & {"loose", "assigned"} and "jsonschema" in shape:
            shape = "runnable.get_name()"  # "Schemas of chains"
        if traits & {"loose", "assigned"} and "mermaid" in shape:
            shape = "picture(runnable)"  # "Names in Mermaid text"
        return f"look(lambda: {shape})"
    if kind < 0.45 and "async" not in traits:
        return f"look(lambda: {sync(dice, traits, value, values, config)})"
    if kind < 0.75:
        return f"await alook({whole(dice, traits, value, values, config)})"
    # "Events of map"; which steps beside one that failed had ended is left to chance.
    if "each" in traits or traits >= {"fallbacks", "loose"}:
        return f"await alook(runnable.ainvoke({value}, {config}))"
    return f"await alook({streamed(dice, traits, value, config)})"


def batch(dice: Dice, values: tuple[str, ...]) -> str:
    """The inputs of a batch."""
    return ", ".join(dice.one(values) for _ in range(dice.number(0, 3)))


def sync(dice: Dice, traits: set[str], value: str, values: tuple[str, ...], config: str) -> str:
    """A sync call."""
    inputs = batch(dice, values)
    catch = "" if "fallbacks" in traits else ", return_exceptions=True"
    plain = [
        f"runnable.invoke({value}, {config})",
        f"runnable.batch([{inputs}], {config}{catch})",
        f"as_completed(runnable.batch_as_completed([{inputs}], {config}{catch}))",
    ]
    if "loose" in traits:
        plain.append(f"total(runnable.stream({value}, {config}))")
    else:
        plain.append(f"drained(runnable.stream({value}, {config}))")
        plain.append(f"drained(runnable.transform(iter([{value}]), {config}))")
    if dice.chance(0.5) or traits & UNTOLD:
        return dice.one(plain)
    told = told_config(config)
    call = dice.one(
        [
            f"runnable.invoke({value}, {told})",
            f"total(runnable.stream({value}, {told}))",
            f"runnable.batch([{inputs}], {told}{catch})",
        ]
    )
    return f"noted(lambda notes: {call}, loose={'loose' in traits})"


def told_config(config: str) -> str:
    """A config with the handler of `noted`; one run at a time, so that its notes have an order."""
    return f"{{**({config} or {{}}), 'max_concurrency': 1, 'callbacks': notes}}"


def whole(dice: Dice, traits: set[str], value: str, values: tuple[str, ...], config: str) -> str:
    """An async call for the whole result."""
    inputs = batch(dice, values)
    catch = "" if "fallbacks" in traits else ", return_exceptions=True"
    if dice.chance(0.5) or traits & UNTOLD:
        calls = [f"ainvoke({value}, {config})", f"abatch([{inputs}], {config}{catch})"]
        return f"runnable.{dice.one(calls)}"
    told = told_config(config)
    calls = [f"ainvoke({value}, {told})", f"abatch([{inputs}], {told}{catch})"]
    call = f"lambda notes: runnable.{dice.one(calls)}"
    return f"anoted({call}, loose={'loose' in traits})"


def streamed(dice: Dice, traits: set[str], value: str, config: str) -> str:
    """An async stream of chunks, events or patches."""
    loose = "loose" in traits
    kind = dice.share()
    if kind < 0.4 and not loose:
        return dice.one(
            [
                f"gathered(lambda: runnable.astream({value}, {config}))",
                f"gathered(lambda: runnable.atransform(given_once({value}), {config}))",
            ]
        )
    if kind < 0.5 and not loose:
        return f"logged(runnable.astream_log({value}, {config}))"
    version = "'v2'"  # "Events of version 1"
    filters = dice.one(
        [
            "",
            "",
            "",
            ", include_types=['chain']",
            ", exclude_tags=['t1']",
            ", include_names=['renamed', 'RunnableSequence']",
        ]
    )
    return (
        f"happened(runnable.astream_events({value}, {config}, version={version}{filters}), "
        f"loose={loose}, inputs={not filters})"
    )
