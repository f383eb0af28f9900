"""langchain_core.agents: what an agent decides, what came of it, and both as messages."""

from langchain_core.agents import AgentAction, AgentActionMessageLog, AgentFinish, AgentStep
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage


def logged(**more):
    return AgentActionMessageLog(
        tool="search",
        tool_input={"q": "é"},
        log="look",
        message_log=[AIMessage("m", id="1")],
        **more,
    )


def case_by_position(env):
    return AgentAction("search", "cats", "thought"), AgentFinish({"output": 1}, "done")


def case_by_name(env):
    return [
        AgentAction(tool="search", tool_input={"a": 1}, log=""),
        logged(),
        AgentStep(action=AgentAction("a", "b", "c"), observation=[1, "2"]),
        AgentFinish(return_values={}, log="l"),
    ]


def case_messages(env):
    plain = AgentAction("search", "cats", "thought")
    observations = ["text", 3, {"x": "é"}, ["a", {"type": "text", "text": "b"}], None, object]
    steps = [
        AgentStep(action=action, observation=seen)
        for action in (plain, logged())
        for seen in observations[:5]
    ]
    return [
        plain.messages,
        logged().messages,
        AgentFinish({"output": "x"}, "log").messages,
        [one.messages for one in steps],
        len(AgentStep(action=logged(), observation=object()).messages),
    ]


def case_equality(env):
    first = AgentAction("a", "b", "c")
    return [
        first == AgentAction("a", "b", "c"),
        first == AgentAction("a", "b", "d"),
        logged() == logged(),
        AgentStep(action=first, observation=1) == AgentStep(action=first, observation=1),
        repr(first),
        str(AgentFinish({"output": 1}, "l")),
    ]


def case_refused(env):
    return [
        env.error(lambda: AgentAction(tool=1, tool_input="x", log="")),
        env.error(lambda: AgentAction(tool="a", tool_input="x")),
        env.error(lambda: AgentAction("a", 3, "")),
        env.error(lambda: AgentActionMessageLog("a", "b", "c")),
        env.error(lambda: AgentStep(action="x", observation=1)),
        env.error(lambda: AgentFinish("x", "")),
    ]


def case_dumped(env):
    action = AgentAction("a", {"b": 1}, "c")
    return [
        action.model_dump(),
        AgentFinish({"output": 1}, "l").model_dump(),
        AgentStep(action=action, observation=2).model_dump(),
        AgentAction.model_validate(action.model_dump()),
        action.model_copy(update={"tool": "z"}),
        dumpd(action),
        dumpd(AgentFinish({"output": 1}, "l")),
    ]


def case_names(env):
    kinds = [AgentAction, AgentActionMessageLog, AgentFinish]
    return [
        [one.get_lc_namespace(), one.is_lc_serializable(), one.lc_id()] for one in kinds
    ], AgentStep.is_lc_serializable()


def case_schema(env):
    kinds = [AgentAction, AgentFinish]
    return [
        (sorted(one.model_json_schema()["properties"]), one.model_json_schema()["required"])
        for one in kinds
    ]
