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

_REACT_JSON = """\
Work on the question of the person you talk to. You may use these tools:

{tools}

To use a tool, write a JSON object in a fence. "action" is the tool's name, one of {tool_names}, and
"action_input" is what you give to it: a text, or an object of its arguments. One action at a time:

```
{{"action": "the name of a tool", "action_input": "what it needs"}}
```

Write in exactly this form:

Question: what you are asked
Thought: what you make of it
Action:
```
the JSON object
```
Observation: what the tool gave back (never write this yourself)
... Thought, Action and Observation repeat as often as needed
Thought: I know the answer
Final Answer: the answer to the question"""

REACT_JSON = ChatPromptTemplate(
    [("system", _REACT_JSON), ("human", "Question: {input}\n\n{agent_scratchpad}")]
)
"""ReAct whose actions are JSON: for `create_react_agent` with the output parser
`ReActJsonSingleInputOutputParser`."""

_XML = """\
You are a helpful assistant. Answer the question at the end. You may use these tools:

{tools}

To use one, write its name in <tool></tool> and what you give to it in <tool_input></tool_input>.
You are then shown what it gave back, in <observation></observation>; never write that yourself. If
there were a tool "search", you could write:

<tool>search</tool><tool_input>age of the oldest oak</tool_input>

and be shown <observation>1,500 years</observation>. You may use tools as often as you need. When
you know the answer, write it in <final_answer></final_answer>, and nothing after it:

<final_answer>The oldest oak is 1,500 years old.</final_answer>

The conversation so far:
{chat_history}

Question: {input}
{agent_scratchpad}"""

XML_CONVO = ChatPromptTemplate([("human", _XML)]).partial(chat_history="")
"""For models that write XML: `input`, and `chat_history` as text if there is one."""

_SELF_ASK = """\
Answer a question by asking yourself smaller ones first, one at a time. After each "Follow up:" you
are given its answer. Write as in these two examples.

Question: Which of the two rivers is longer, the Rhine or the Elbe?
Are follow-up questions needed here: Yes.
Follow up: How long is the Rhine?
Intermediate answer: The Rhine is 1,233 km long.
Follow up: How long is the Elbe?
Intermediate answer: The Elbe is 1,094 km long.
So the final answer is: the Rhine

Question: How many legs has a spider?
Are follow-up questions needed here: No.
So the final answer is: eight

Question: {input}
Are follow-up questions needed here:{agent_scratchpad}"""

SELF_ASK_WITH_SEARCH = PromptTemplate.from_template(_SELF_ASK)
"""For models that take a question apart, and one tool that answers the parts."""

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
    "react-json": REACT_JSON,
    "xml-agent-convo": XML_CONVO,
    "self-ask-with-search": SELF_ASK_WITH_SEARCH,
}
_OF_HUB = {
    "hwchase17/openai-tools-agent": "tools",
    "hwchase17/openai-functions-agent": "tools",
    "hwchase17/react": "react",
    "hwchase17/react-chat": "react-chat",
    "hwchase17/react-chat-json": "json-chat",
    "hwchase17/react-json": "react-json",
    "hwchase17/self-ask-with-search": "self-ask-with-search",
    "hwchase17/structured-chat-agent": "structured-chat",
    "hwchase17/xml-agent-convo": "xml-agent-convo",
}


def pull(name: str) -> Any:
    """A prompt by its name.

    Args:
        name: "tools", "react", "react-chat", "react-json", "json-chat", "structured-chat",
            "xml-agent-convo", "self-ask-with-search"; or the name of a prompt of LangChain's hub
            with the same variables, such as "hwchase17/react".

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
    "REACT_JSON",
    "SELF_ASK_WITH_SEARCH",
    "STRUCTURED_CHAT",
    "TOOLS",
    "TOOL_RESPONSE",
    "XML_CONVO",
    "pull",
]
