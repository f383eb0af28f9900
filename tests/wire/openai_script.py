"""Answers of OpenAI, as its two APIs send them."""


def completion(message, finish="stop", **usage):
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-test-1",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": None, **message},
                     "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12,
                  "prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": 0},
                  "completion_tokens_details": {
                      "reasoning_tokens": 3, "audio_tokens": 0,
                      "accepted_prediction_tokens": 4, "rejected_prediction_tokens": 0}},
    }  # fmt: skip


def chunk(delta=None, finish=None, **rest):
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "gpt-test-1", "system_fingerprint": "fp_1", "choices": choices,
            **rest}  # fmt: skip


def call(name, arguments, call_id):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def call_delta(index, name=None, arguments=None, call_id=None):
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    head = {"id": call_id, "type": "function"} if call_id else {}
    return {"tool_calls": [{"index": index, **head, "function": function}]}


USAGE = completion({})["usage"]


def texts(*words):
    """A streamed answer of words, with its usage at the end."""
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": w}) for w in words),
            chunk({}, "stop"), chunk(usage=USAGE)]  # fmt: skip


def response(output, status="completed", **rest):
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-test-1",
        "status": status, "error": None, "incomplete_details": None, "instructions": None,
        "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "output": output,
        "usage": {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 2},
                  "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3},
                  "total_tokens": 12},
        **rest,
    }  # fmt: skip


def text_item(text, annotations=()):
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [part]}  # fmt: skip


def call_item(name, arguments, call_id):
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name,
            "arguments": arguments, "status": "completed"}  # fmt: skip


def thought_item(*summaries, **rest):
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, **rest}


def response_events(answer):
    """The events that stream a response: each text and arguments in two halves."""
    yield {"type": "response.created", "response": {**answer, "output": [], "usage": None,
                                                    "status": "in_progress"}}  # fmt: skip
    for index, item in enumerate(answer["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empty = {"content": [], "summary": [], "arguments": "", "encrypted_content": None}
        started = {k: empty.get(k, v) for k, v in item.items()}
        yield {"type": "response.output_item.added", **at, "item": started}
        if item["type"] == "message":
            for number, part in enumerate(item["content"]):
                here = {**at, "content_index": number}
                text = part["text"]
                for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield {"type": "response.output_text.delta", **here, "delta": half,
                           "logprobs": []}  # fmt: skip
                for n, annotation in enumerate(part["annotations"]):
                    yield {"type": "response.output_text.annotation.added", **here,
                           "annotation_index": n, "annotation": annotation}  # fmt: skip
        elif item["type"] == "function_call":
            args = item["arguments"]
            for half in (args[: len(args) // 2], args[len(args) // 2 :]):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": half}
        elif item["type"] == "reasoning":
            for number, part in enumerate(item["summary"]):
                here = {**at, "summary_index": number}
                yield {"type": "response.reasoning_summary_part.added", **here,
                       "part": {"type": "summary_text", "text": ""}}  # fmt: skip
                yield {"type": "response.reasoning_summary_text.delta", **here,
                       "delta": part["text"]}  # fmt: skip
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": "response.completed", "response": answer}


def numbered(events):
    return [{**event, "sequence_number": n} for n, event in enumerate(events)]
