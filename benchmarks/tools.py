"""Owns the workload of tools: `@tool` with a pydantic schema, invoked with tool calls."""

from typing import Any

from pydantic import BaseModel, Field

from benchmarks.implementations import Implementation
from benchmarks.measure import Job, run_async


class Forecast(BaseModel):
    """The arguments of the tool."""

    city: str = Field(description="Where")
    days: int = Field(3, ge=1)
    units: str = "metric"


def _call(n: int) -> dict[str, Any]:
    args = {"city": "Oslo", "days": n % 7 + 1}
    return {"type": "tool_call", "id": str(n), "name": "forecast", "args": args}


def tools(impl: Implementation, count: int, *, run_as_async: bool) -> Job:
    """One tool, called ``count`` times as a model calls it."""

    def forecast(city: str, days: int = 3, units: str = "metric") -> str:
        """The weather to come."""
        return city

    async def aforecast(city: str, days: int = 3, units: str = "metric") -> str:
        """The weather to come."""
        return city

    if run_as_async:
        made = impl.tool(args_schema=Forecast)(aforecast)
    else:
        made = impl.tool(args_schema=Forecast)(forecast)
    calls = [_call(n) for n in range(count)]

    def run() -> list[str]:
        return [made.invoke(call).content for call in calls]

    async def run_coroutines() -> list[str]:
        return [(await made.ainvoke(call)).content for call in calls]

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def floor(count: int, *, run_as_async: bool) -> Job:
    """The schema alone: pydantic checks the arguments of each call."""
    calls = [_call(n) for n in range(count)]

    def run() -> list[str]:
        return [Forecast.model_validate(call["args"]).city for call in calls]

    async def run_coroutines() -> list[str]:
        return run()

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)
