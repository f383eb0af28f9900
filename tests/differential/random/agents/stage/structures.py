"""The forms in which an agent of a made program may have to answer, and states it may have."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from langgraph.graph.message import add_messages
from langgraph.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Weather(BaseModel):
    """The weather."""

    city: str = Field(description="where")
    degrees: float = 20.5


class Verdict(BaseModel):
    """A verdict."""

    good: bool
    why: Literal["taste", "price"] = "taste"


@dataclass
class Route:
    """A way from one place to another."""

    start: str
    end: str = "home"


class Person(TypedDict):
    """A person."""

    name: str
    age: int | None


CITY_JSON = {
    "title": "city_json",
    "description": "A city.",
    "type": "object",
    "properties": {"city": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["city"],
}

FORMS: dict[str, Any] = {
    "Weather": Weather,
    "Verdict": Verdict,
    "Route": Route,
    "Person": Person,
    "city_json": CITY_JSON,
    "Union": Weather | Verdict,
}


class NotedState(AgentState):
    notes: Annotated[list, operator.add]
    count: int


class BareState(TypedDict):
    """A state that no library wrote."""

    messages: Annotated[list, add_messages]
    remaining_steps: NotRequired[int]
    notes: NotRequired[Annotated[list, operator.add]]
    structured_response: NotRequired[Any]


class PydanticState(AgentStatePydantic):
    notes: Annotated[list, operator.add] = []
    count: int = 0


class Answered(AgentState):
    structured_response: Any
    notes: Annotated[list, operator.add]


STATES = {
    "noted": NotedState,
    "bare": BareState,
    "pydantic": PydanticState,
    "answered": Answered,
}


@dataclass
class Context:
    """Who asks."""

    user: str = "nobody"


class ContextDict(TypedDict, total=False):
    """Who asks, as a dict."""

    user: str


CONTEXTS = {"class": Context, "dict": ContextDict}
