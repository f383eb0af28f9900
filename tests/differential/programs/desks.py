"""What programs about desks of agents share: what is asked, and what is told of a run."""

from .scripted import call

USER = {"messages": [("user", "hi")]}
ADD = call("add", "1", a=1, b=2)


def thread(name="1", **more):
    return {"configurable": {"thread_id": name}, **more}


def said(result):
    return [(m.type, m.content, getattr(m, "status", None)) for m in result["messages"]]
