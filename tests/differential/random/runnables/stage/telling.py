"""What random programs tell of a call: results, events in order or by run, notes of a handler.

Written against langchain_core and loaded once per side, like `prelude.py`.
"""

from langchain_core.callbacks import BaseCallbackHandler


def values_of(found):
    """Prompt values as what they hold; the sides have different classes for them."""
    if isinstance(found, list):
        return [values_of(item) for item in found]
    if hasattr(found, "to_messages"):
        text = "Text" if type(found).__name__ == "StringPromptValue" else "Chat"
        return (text, found.to_string(), found.to_messages())
    return found


class Notes(BaseCallbackHandler):
    """Every event that a handler is told, by run."""

    def __init__(self):
        self.runs = {}
        self.order = []

    def note(self, event, run_id, parent_run_id, **more):
        if run_id not in self.runs:
            self.runs[run_id] = (parent_run_id, [])
            self.order.append(run_id)
        self.runs[run_id][1].append((event, {k: v for k, v in more.items() if v is not None}))

    def on_chain_start(
        self,
        serialized,
        inputs,
        *,
        run_id,
        parent_run_id=None,
        tags=None,
        metadata=None,
        name=None,
        **kwargs,
    ):
        self.note(
            "start",
            run_id,
            parent_run_id,
            inputs=inputs,
            tags=sorted(tags or []),
            metadata=own(metadata),
            name=name,
            kind=kwargs.get("run_type"),
        )

    def on_chain_end(self, outputs, *, run_id, parent_run_id=None, **kwargs):
        self.note("end", run_id, parent_run_id, outputs=outputs)

    def on_chain_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.note("error", run_id, parent_run_id, error=error)

    def on_chat_model_start(
        self,
        serialized,
        messages,
        *,
        run_id,
        parent_run_id=None,
        tags=None,
        metadata=None,
        name=None,
        **kwargs,
    ):
        self.note(
            "model",
            run_id,
            parent_run_id,
            messages=messages,
            tags=sorted(tags or []),
            metadata=own(metadata),
            name=name,
        )

    def on_llm_start(self, serialized, prompts, *, run_id, parent_run_id=None, tags=None, **kwargs):
        self.note("llm", run_id, parent_run_id, prompts=prompts, tags=sorted(tags or []))

    def on_llm_new_token(self, token, *, chunk=None, run_id, parent_run_id=None, **kwargs):
        self.note("token", run_id, parent_run_id, token=token)

    def on_llm_end(self, response, *, run_id, parent_run_id=None, **kwargs):
        texts = [[g.text for g in row] for row in response.generations]
        self.note("answered", run_id, parent_run_id, texts=texts)

    def on_llm_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.note("model error", run_id, parent_run_id, error=error)

    def on_retry(self, state, *, run_id, parent_run_id=None, **kwargs):
        self.note("retry", run_id, parent_run_id)

    def on_tool_start(self, serialized, text, *, run_id, parent_run_id=None, inputs=None, **kwargs):
        self.note("tool", run_id, parent_run_id, text=text, inputs=inputs)

    def on_tool_end(self, output, *, run_id, parent_run_id=None, **kwargs):
        self.note("tool end", run_id, parent_run_id, output=output)

    def on_tool_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.note("tool error", run_id, parent_run_id, error=error)

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, **kwargs):
        self.note("retriever", run_id, parent_run_id, query=query)

    def on_retriever_end(self, documents, *, run_id, parent_run_id=None, **kwargs):
        self.note("found", run_id, parent_run_id, documents=documents)

    def __repr__(self):
        return "Notes()"

    def settled(self, loose):
        """The tree, unless a step failed beside others: which of them ran is left to chance."""
        return None if loose and "error" in repr(self.runs.values()) else self.tree()

    def tree(self, parent=None):
        """What was noted, as a tree; runs beside each other are sorted: they may be parallel."""
        runs = [(r, e) for r in self.order for p, e in [self.runs[r]] if p == parent]
        return sorted(
            ([e, self.tree(r)] for r, e in runs), key=lambda run: repr(ordered(values_of_all(run)))
        )


def ordered(found):
    """The same with dicts by their keys, and without ids, to sort by."""
    if isinstance(found, dict):
        kept = (k for k in sorted(found, key=str) if "checkpoint_ns" not in str(k))
        return [(k, ordered(found[k])) for k in kept]
    if isinstance(found, list) or type(found) is tuple:
        return [ordered(one) for one in found]
    return found


def values_of_all(found):
    """The result of any call, of which only what the sides share is kept."""
    if isinstance(found, dict):
        return {k: values_of_all(v) for k, v in found.items()}
    if isinstance(found, list) or type(found) is tuple:
        return type(found)(values_of_all(v) for v in found)
    if hasattr(found, "invoke"):
        return type(found).__name__
    return values_of(found)


def own(metadata):
    """Metadata without what the peer keeps for its vendor's tracer ("Metadata for LangSmith")."""
    return {k: v for k, v in (metadata or {}).items() if not k.startswith(("ls_", "lc_"))}


def noted(call, loose=True):
    """What a call gives or raises, and what a handler was told meanwhile."""
    notes = Notes()
    try:
        result = call([notes])
    except Exception as error:
        result = error
    return values_of_all([result, notes.settled(loose)])


async def anoted(call, loose=True):
    """The async twin of `noted`."""
    notes = Notes()
    try:
        result = await call([notes])
    except Exception as error:
        result = error
    return values_of_all([result, notes.settled(loose)])


async def gathered(begin):
    """The items of an async stream, and its error, raised at once or on the way."""
    found = []
    try:
        async for item in begin():
            found.append(item)
    except Exception as error:
        found.append(error)
    return values_of_all(found)


def drained(stream):
    """The items of a stream, and its error."""
    found = []
    try:
        for item in stream:
            found.append(item)
    except Exception as error:
        found.append(error)
    return values_of_all(found)


SILENT = ("RunnableBranch", "RunnableWithFallbacks")  # "Events of branches and fallbacks"


async def happened(events, loose=True, inputs=False):
    """Events of `astream_events`: in order, or starts and ends by run where runs are parallel."""
    found, runs = [], {}
    try:
        async for event in events:
            kind, name, data = event["event"], event["name"], dict(event["data"])
            if kind == "on_chain_stream" and (loose or name in SILENT):
                continue
            data.pop("error", None)
            if not inputs or not data.get("input"):  # "Empty inputs in events"
                data.pop("input", None)
            row = (kind, name, sorted(event["tags"]), own(event["metadata"]), data)
            found.append(values_of_all(row))
            runs.setdefault(event["run_id"], []).append(values_of_all(row))
    except Exception as error:
        found.append(error)
    if loose and found and isinstance(found[-1], Exception):
        return "failed"  # which of parallel steps failed first is left to chance
    return sorted(runs.values(), key=lambda run: repr(ordered(run))) if loose else found


async def logged(patches):
    """The state that patches of `astream_log` lead to."""
    state = None
    async for patch in patches:
        state = patch if state is None else state + patch
    logs = state.state["logs"]
    left = ("id", "start_time", "end_time", "metadata")
    plain_logs = {n: {k: v for k, v in log.items() if k not in left} for n, log in logs.items()}
    for name in plain_logs.keys() & set(SILENT):
        plain_logs[name]["streamed_output"] = None
    whole = {k: state.state[k] for k in ("streamed_output", "final_output", "name", "type")}
    return values_of_all([whole, plain_logs])


def as_completed(found):
    """What `batch_as_completed` gives, by the place of the input."""
    return values_of_all(sorted(found, key=lambda row: row[0]))


async def awaited(found):
    """What awaiting gives, with prompt values as what they hold."""
    return values_of_all(await found)
