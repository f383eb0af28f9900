"""What generated programs of the functional API found, each as small as it gets."""

from langgraph.func import entrypoint, task
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


def told(app, given, mode="tasks"):
    """What a stream of tasks tells, as short as it can be."""
    parts = []
    try:
        for part in app.stream(given, CONFIG, stream_mode=mode):
            end = "result" in part and (
                part["result"],
                len(part["interrupts"]),
                bool(part["error"]),
            )
            parts.append((part["name"], end))
    except ValueError:
        parts.append("failed")
    return parts


def case_tasks_of_a_call_that_asks(env):
    @task
    def done(x):
        return [x]

    @task
    def asks(x):
        return interrupt(x)

    @entrypoint(checkpointer=env.saver())
    def app(given):
        return [done(given).result(), asks("q").result()]

    return [told(app, given) for given in ("in", None, Command(resume="yes"))]


def case_tasks_of_calls_that_fail(env):
    calls = []

    @task
    def fails(x):
        calls.append(x)
        if len(calls) < 3:
            raise ValueError(x)
        return x

    @task
    def calls_it(x):
        return fails(x).result()

    @entrypoint(checkpointer=env.saver())
    def app(given):
        try:
            fails("caught").result()
        except ValueError:
            pass
        return calls_it(given).result()

    return [told(app, given) for given in ("in", None)]


def case_tasks_that_had_ended_when_the_run_failed(env):
    calls = []

    @task
    def done(x):
        return [x]

    @entrypoint(checkpointer=env.saver())
    def app(given):
        found = [each.result() for each in [done(1), done(2)]]
        calls.append(given)
        if len(calls) == 1:
            raise ValueError
        return found

    first = told(app, "in")
    return sorted(first, key=str), sorted(told(app, None), key=str)


def case_a_question_of_a_task_in_an_entrypoint_inside(env):
    @task
    def asks(x):
        return interrupt(x)

    @entrypoint()
    def inner(given):
        return asks(given).result()

    @entrypoint(checkpointer=env.saver())
    def app(given):
        return [inner.invoke(given)]

    asked = app.invoke("q", CONFIG)["__interrupt__"]
    return (
        len(asked),
        len({question.id for question in asked}),
        app.invoke(Command(resume="a"), CONFIG),
    )
