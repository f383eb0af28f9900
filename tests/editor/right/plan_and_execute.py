import operator
from typing import Annotated, List, Tuple, Union

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from plait.graph import END, START, StateGraph
from plait.prompts import ChatPromptTemplate
from plait.testing import ScriptedChatModel


class PlanExecute(TypedDict):
    input: str
    plan: List[str]
    past_steps: Annotated[List[Tuple], operator.add]
    response: str


class Plan(BaseModel):
    """Plan to follow in future"""

    steps: List[str] = Field(description="different steps to follow, should be in sorted order")


class Response(BaseModel):
    """Response to user."""

    response: str


class Act(BaseModel):
    """Action to perform."""

    action: Union[Response, Plan] = Field(description="Action to perform.")


model = ScriptedChatModel(["x"])
planner_prompt = ChatPromptTemplate.from_messages(
    [("system", "plan"), ("placeholder", "{messages}")]
)
planner = planner_prompt | model.with_structured_output(Plan)
replanner = ChatPromptTemplate.from_template("{input} {plan}") | model.with_structured_output(Act)


async def plan_step(state: PlanExecute):
    plan = await planner.ainvoke({"messages": [("user", state["input"])]})
    return {"plan": plan.steps}


async def replan_step(state: PlanExecute):
    output = await replanner.ainvoke(state)
    if isinstance(output.action, Response):
        return {"response": output.action.response}
    else:
        return {"plan": output.action.steps}


def should_end(state: PlanExecute):
    if "response" in state and state["response"]:
        return END
    else:
        return "agent"


workflow = StateGraph(PlanExecute)
workflow.add_node("planner", plan_step)
workflow.add_node("replan", replan_step)
workflow.add_node("agent", plan_step)
workflow.add_edge(START, "planner")
workflow.add_edge("planner", "replan")
workflow.add_edge("agent", "replan")
workflow.add_conditional_edges("replan", should_end, ["agent", END])
app = workflow.compile()
