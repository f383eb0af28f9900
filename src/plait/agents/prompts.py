"""Prompts of agents, ready to use. The texts are our own; nothing is fetched from anywhere.

`pull` knows them also by the names under which LangChain's hub has prompts of the same variables.
"""

from typing import Any

from plait.errors import InvalidValueError, nearest
from plait.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate

_HELPFUL = "You are a helpful assistant. Use your tools where they help, and say what you found."

TOOLS = ChatPromptTemplate(
    [
        ("system", _HELPFUL),
        MessagesPlaceholder("chat_history", optional=True),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)
"""For models that call tools: `input`, and `chat_history` if there is one."""

_REACT = """\
Work on the question below. You may use these tools:

{tools}

Write in exactly this form, one item per line:

Question: what you are asked
Thought: what you make of it
Action: the name of one tool, out of {tool_names}
Action Input: what you give to the tool
Observation: what the tool gave back (never write this yourself)
... Thought, Action, Action Input and Observation repeat as often as needed
Thought: I know the answer
Final Answer: the answer to the question
"""

REACT = PromptTemplate.from_template(_REACT + "\nQuestion: {input}\nThought: {agent_scratchpad}")
"""For models that take no tools: thoughts, actions and observations as text."""

REACT_CHAT = PromptTemplate.from_template(
    _REACT + "\nThe conversation so far:\n{chat_history}\n\n"
    "Question: {input}\nThought: {agent_scratchpad}"
)
"""The same with the conversation before the question, as text, in `chat_history`."""

_JSON = """\
You are a helpful assistant. You may use these tools:

{tools}

Always answer with one JSON object in a fence, and nothing after it:

```json
{{"action": "what to do", "action_input": "what it needs"}}
```

To use a tool, "action" is its name, one of {tool_names}, and "action_input" is %s.
To end, "action" is "Final Answer", and "action_input" is your answer."""

JSON_CHAT = ChatPromptTemplate(
    [
        ("system", _JSON % "the text you give to it"),
        MessagesPlaceholder("chat_history", optional=True),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)
"""For chat models that take no tools: actions as JSON, in a conversation."""

STRUCTURED_CHAT = ChatPromptTemplate(
    [
        ("system", _JSON % "an object of its arguments"),
        MessagesPlaceholder("chat_history", optional=True),
        ("human", "{input}\n\n{agent_scratchpad}"),
    ]
)
"""The same for tools with several arguments; the steps so far follow the question, as text."""

TOOL_RESPONSE = """\
The tool gave back:

{observation}

Go on. If you use this in your answer, say it in full: the person you talk to cannot see it. Answer
with one JSON object in a fence, as before."""
"""How a model that answers in JSON is told what a tool gave back."""

_PROMPTS = {
    "tools": TOOLS,
    "react": REACT,
    "react-chat": REACT_CHAT,
    "json-chat": JSON_CHAT,
    "structured-chat": STRUCTURED_CHAT,
}
_OF_HUB = {
    "hwchase17/openai-tools-agent": "tools",
    "hwchase17/openai-functions-agent": "tools",
    "hwchase17/react": "react",
    "hwchase17/react-chat": "react-chat",
    "hwchase17/react-chat-json": "json-chat",
    "hwchase17/structured-chat-agent": "structured-chat",
}


def pull(name: str) -> Any:
    """A prompt by its name.

    Args:
        name: "tools", "react", "react-chat", "json-chat", "structured-chat"; or the name of a
            prompt of LangChain's hub with the same variables, such as "hwchase17/react".

    Raises:
        InvalidValueError: There is none of that name.

    >>> sorted(pull("hwchase17/react").input_variables)
    ['agent_scratchpad', 'input', 'tool_names', 'tools']
    """
    found = _PROMPTS.get(_OF_HUB.get(name, name))
    if found is None:
        raise InvalidValueError(
            f"There is no prompt {name!r} here, and plait fetches none. "
            f"{nearest(name, [*_PROMPTS, *_OF_HUB])}"
        )
    return found


__all__ = [
    "JSON_CHAT",
    "REACT",
    "REACT_CHAT",
    "STRUCTURED_CHAT",
    "TOOLS",
    "TOOL_RESPONSE",
    "pull",
]
