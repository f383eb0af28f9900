"""Parsers of agents: from what a model said to what the agent does next, or its end."""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, cast

from plait.agents.actions import AgentAction, AgentFinish, ToolAgentAction
from plait.agents.format_scratchpad import unescaped
from plait.errors import InvalidValueError
from plait.exceptions import OutputParserException
from plait.messages.foreign import kind_of
from plait.output_parsers.base import BaseOutputParser
from plait.utils.json import parse_json_markdown

FINAL_ANSWER = "Final Answer"
"""What models say where a tool's name would stand (in JSON), or before the answer (in text)."""

TEXT_ARGUMENT = "__arg1"
"""What models call the one argument of a tool that takes a text."""


class AgentOutputParser(BaseOutputParser[AgentAction | AgentFinish]):
    """Reads one action, or the end. Derive from it and define `parse`."""


class MultiActionAgentOutputParser(BaseOutputParser[list[AgentAction] | AgentFinish]):
    """Reads any number of actions, or the end. Derive from it and define `parse`."""


class ReActSingleInputOutputParser(AgentOutputParser):
    """Reads the text form of ReAct: `Action:` and `Action Input:` lines, or `Final Answer:`.

    >>> ReActSingleInputOutputParser().parse("Action: search\\nAction Input: cats").tool_input
    'cats'
    >>> ReActSingleInputOutputParser().parse("Thought: easy\\nFinal Answer: 42").return_values
    {'output': '42'}
    """

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text tells of.

        Raises:
            OutputParserException: It tells of neither, or of both. The first goes back to the
                model if the executor handles parsing errors.
        """
        action = _ACTION.search(text)
        is_end = f"{FINAL_ANSWER}:" in text
        if action and is_end:
            raise OutputParserException(
                f"The model gave a final answer and an action at once: {text}"
            )
        if action:
            return AgentAction(action["tool"].strip(), _unquoted(action["input"]), text)
        if is_end:
            return _finish(text.rsplit(f"{FINAL_ANSWER}:", 1)[-1].strip(), text)
        missing = "'Action Input:' after 'Action:'"
        if not re.search(r"Action\s*\d*\s*:", text):
            missing = "'Action:' after 'Thought:'"
        raise _unread(text, f"Invalid Format: Missing {missing}")

    def get_format_instructions(self) -> str:
        """What to tell a model."""
        return (
            "Either act:\nThought: what you think\nAction: the name of a tool\n"
            f"Action Input: its input\nor end:\nThought: what you think\n{FINAL_ANSWER}: the answer"
        )

    @property
    def _type(self) -> str:
        return "react-single-input"


_ACTION = re.compile(
    r"Action\s*\d*\s*:\s*(?P<tool>.*?)\s*Action\s*\d*\s*Input\s*\d*\s*:(?P<input>.*)", re.DOTALL
)


class JSONAgentOutputParser(AgentOutputParser):
    """Reads JSON with `action` and `action_input`, between other text or in a fence.

    The action "Final Answer" is the end.

    >>> JSONAgentOutputParser().parse('{"action": "search", "action_input": "cats"}').tool
    'search'
    """

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text holds; of a list of actions the first.

        Raises:
            OutputParserException: There is no such JSON. It goes back to the model if the
                executor handles parsing errors.
        """
        try:
            found = parse_json_markdown(text)
        except ValueError as error:
            raise _unread(text, _WANTED) from error
        if isinstance(found, list) and found:
            found = cast("list[Any]", found)[0]
        action = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        if not isinstance(action.get("action"), str):
            raise _unread(text, _WANTED)
        given = action.get("action_input")
        if action["action"] == FINAL_ANSWER:
            if "action_input" not in action:
                raise _unread(text, _WANTED)
            return _finish(given, text)
        return AgentAction(action["action"], _tool_input(given), text)

    def get_format_instructions(self) -> str:
        """What to tell a model."""
        return (
            'Answer with one JSON object: {"action": the name of a tool, "action_input": its '
            f'input}}. To end, the action is "{FINAL_ANSWER}" and the input is your answer.'
        )

    @property
    def _type(self) -> str:
        return "json-agent"


_WANTED = 'Invalid Format: answer with a JSON object that has "action" and "action_input".'


class ReActJsonSingleInputOutputParser(AgentOutputParser):
    """Reads ReAct whose action is JSON in a fence; with `Final Answer:`, a text is the end.

    >>> parser = ReActJsonSingleInputOutputParser()
    >>> parser.parse('```{"action": "search", "action_input": "cats"}```').tool_input
    'cats'
    """

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text tells of; of both the end, whose answer may have a
        fence in it.

        Raises:
            OutputParserException: It tells of neither. It goes back to the model if the executor
                handles parsing errors.
        """
        if f"{FINAL_ANSWER}:" in text:
            return _finish(text.rsplit(f"{FINAL_ANSWER}:", 1)[-1].strip(), text)
        fenced = _FENCE.search(text)
        if fenced is None:
            raise _unread(text, "Invalid Format: give a JSON action in a ``` fence.")
        decided = JSONAgentOutputParser().parse(fenced["json"])
        return decided.model_copy(update={"log": text})

    @property
    def _type(self) -> str:
        return "react-json-single-input"


_FENCE = re.compile(r"```\w*\n?(?P<json>.*?)```", re.DOTALL)


class SelfAskOutputParser(AgentOutputParser):
    """Reads the last line of a model that asks itself: the next question, or the answer.

    Args:
        followups: What may stand before a question.
        finish_string: What stands before the answer.

    >>> SelfAskOutputParser().parse("Yes.\\nFollow up: How old is he?").tool_input
    'How old is he?'
    >>> SelfAskOutputParser().parse("So the final answer is: 42").return_values
    {'output': '42'}
    """

    followups: Sequence[str] = ("Follow up:", "Followup:")
    finish_string: str = "So the final answer is:"

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The question for the tool, or the end.

        Raises:
            OutputParserException: The last line is neither. It goes back to the model if the
                executor handles parsing errors.
        """
        line = text.rstrip().rsplit("\n", 1)[-1]
        for mark in self.followups:
            if mark in line:
                return AgentAction(INTERMEDIATE_ANSWER, line.split(mark, 1)[1].strip(), text)
        if self.finish_string in line:
            return _finish(line.split(self.finish_string, 1)[1].strip(), text)
        wanted = f"'{self.followups[0]}' with a question, or '{self.finish_string}'"
        raise _unread(text, f"Invalid Format: the last line must be {wanted} with the answer.")

    @property
    def _type(self) -> str:
        return "self-ask"


INTERMEDIATE_ANSWER = "Intermediate Answer"
"""The name of the one tool of an agent that asks itself."""


class XMLAgentOutputParser(AgentOutputParser):
    """Reads XML: `<tool>` and `<tool_input>`, or `<final_answer>`; its last tag may be left open.

    Args:
        escape_format: "minimal": `[[tool]]` in a text stands for `<tool>`, and so on, as
            `format_xml` writes them; None: texts are as they are.

    >>> XMLAgentOutputParser().parse("<tool>search</tool><tool_input>cats").tool_input
    'cats'
    >>> XMLAgentOutputParser().parse("<final_answer>42</final_answer>").return_values
    {'output': '42'}
    """

    escape_format: Literal["minimal"] | None = "minimal"

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text tells of; of both the action, since what a model writes
        after it is made up.

        Raises:
            OutputParserException: It tells of neither, or of a tag several times. It goes back to
                the model if the executor handles parsing errors.
        """
        tool = self._within("tool", text)
        if tool is not None:
            return AgentAction(tool, self._within("tool_input", text) or "", text)
        answer = self._within("final_answer", text)
        if answer is None:
            raise _unread(text, _WANTED_XML)
        return _finish(answer, text)

    def _within(self, tag: str, text: str) -> str | None:
        """The text in a tag; None without."""
        found: list[str] = re.findall(f"<{tag}>(.*?)(?:</{tag}>|$)", text, re.DOTALL)
        if len(found) > 1:
            raise _unread(text, f"Invalid Format: there are {len(found)} <{tag}> tags, not one.")
        if not found:
            return None
        text = found[0].strip()
        return text if self.escape_format is None else unescaped(text)

    def get_format_instructions(self) -> str:
        """What to tell a model."""
        return (
            "Either use a tool:\n<tool>its name</tool><tool_input>its input</tool_input>\n"
            "or end:\n<final_answer>your answer</final_answer>"
        )

    @property
    def _type(self) -> str:
        return "xml-agent"


_WANTED_XML = "Invalid Format: write <tool> and <tool_input>, or <final_answer>."


class ToolsAgentOutputParser(MultiActionAgentOutputParser):
    """Reads the tool calls of a message; a message without any is the end.

    >>> from plait.messages import AIMessage
    >>> said = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "7"}])
    >>> [(action.tool, action.tool_call_id) for action in ToolsAgentOutputParser().invoke(said)]
    [('add', '7')]
    """

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The actions, or the end.

        Raises:
            InvalidValueError: There is no message of a model (it is a TypeError).
            OutputParserException: The arguments of a call are no JSON.
        """
        message: Any = getattr(result[0], "message", None)
        if kind_of(message) != "ai":
            raise InvalidValueError(
                f"{self.get_name()} reads the messages of chat models, got "
                f"{type(message if message is not None else result[0]).__name__}."
            )
        calls = message.tool_calls or _older_calls(message)
        if calls:
            return [_action_of(call, message) for call in calls]
        if message.invalid_tool_calls:
            names = ", ".join(str(one.get("name")) for one in message.invalid_tool_calls)
            raise _unread(
                str(message.invalid_tool_calls),
                f"Invalid Format: the arguments of the call of {names} are no valid JSON.",
            )
        return AgentFinish({"output": message.content}, str(message.content))

    def parse(self, text: str) -> Any:
        """Texts have no tool calls.

        Raises:
            InvalidValueError: Always.
        """
        raise InvalidValueError(f"{self.get_name()} reads messages, not texts: use invoke().")

    @property
    def _type(self) -> str:
        return "tools-agent-output-parser"


OpenAIToolsAgentOutputParser = ToolsAgentOutputParser
"""An older name."""


def _older_calls(message: Any) -> list[dict[str, Any]]:
    """Tool calls that a model left in OpenAI's form."""
    calls: list[dict[str, Any]] = []
    for call in message.additional_kwargs.get("tool_calls", ()):
        function = call["function"]
        try:
            args = json.loads(function["arguments"] or "{}")
        except ValueError as error:
            raise _unread(
                str(call), f"Invalid Format: the arguments of {function['name']!r} are no JSON."
            ) from error
        if not isinstance(args, dict):
            raise _unread(
                str(call),
                f"Invalid Format: the arguments of {function['name']!r} are no JSON object.",
            )
        calls.append({"name": function["name"], "args": args, "id": call.get("id")})
    return calls


def _action_of(call: Any, message: Any) -> ToolAgentAction:
    args = call["args"]
    given = args.get(TEXT_ARGUMENT, args)
    said = f"responded: {message.content}\n" if message.content else "\n"
    return ToolAgentAction(
        tool=call["name"],
        tool_input=given,
        log=f"\nInvoking: `{call['name']}` with `{given}`\n{said}\n",
        message_log=[message],
        tool_call_id=call["id"],
    )


def _finish(output: Any, log: str) -> AgentFinish:
    return AgentFinish({"output": output}, log)


def _tool_input(given: Any) -> Any:
    """The input of a tool: none is no arguments; what is neither text nor arguments is a text."""
    if given is None:
        return {}
    is_fine = isinstance(given, (str, dict))
    return cast("Any", given) if is_fine else json.dumps(given)


def _unquoted(text: str) -> str:
    """An input without the quotes around it; without any, its line ends are its own."""
    bare = text.strip()
    is_quoted = len(bare) > 1 and bare[0] == bare[-1] == '"'
    return bare[1:-1] if is_quoted else text.lstrip().rstrip(" ")


def _unread(text: str, observation: str) -> OutputParserException:
    """The error that an executor may send back to the model."""
    return OutputParserException(
        f"Could not parse LLM output: `{text}`",
        observation=observation,
        llm_output=text,
        send_to_llm=True,
    )


__all__ = [
    "AgentOutputParser",
    "JSONAgentOutputParser",
    "MultiActionAgentOutputParser",
    "OpenAIToolsAgentOutputParser",
    "ReActJsonSingleInputOutputParser",
    "ReActSingleInputOutputParser",
    "SelfAskOutputParser",
    "ToolAgentAction",
    "ToolsAgentOutputParser",
    "XMLAgentOutputParser",
]
