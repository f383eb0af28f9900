"""What random programs do with savers: checkpoints are put, found and listed.

Written against langgraph and loaded once per side, like `prelude.py`.
"""
# ruff: noqa: F401 - the programs use the names

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.types import Send


def numbered(number):
    """The id of a checkpoint."""
    return f"1f000000-0000-6000-8000-{number:012d}"


def at(thread, space, number=None):
    """The config of a lane, or of a checkpoint in it."""
    found = {"thread_id": thread, "checkpoint_ns": space}
    return {"configurable": found | ({} if number is None else {"checkpoint_id": numbered(number)})}


def checkpoint(number, channels):
    """A checkpoint with those values and versions."""
    made = empty_checkpoint()
    made["id"], made["ts"] = numbered(number), "2026-01-01T00:00:00+00:00"
    made["channel_values"] = {key: value for key, (value, _) in channels.items()}
    made["channel_versions"] = {key: f"{version:032}.5" for key, (_, version) in channels.items()}
    made["versions_seen"] = {"a": dict(made["channel_versions"])}
    return made


def as_saved(saved):
    """A tuple of a saver, without what the sides keep for themselves."""
    if saved is None:
        return None
    names = ("id", "ts", "v", "channel_values", "channel_versions", "versions_seen")
    kept = {name: saved.checkpoint[name] for name in names}
    return saved.config, kept, saved.metadata, saved.parent_config, saved.pending_writes


def put(saver, config, number, channels, changed, metadata):
    made = checkpoint(number, channels)
    return saver.put(config, made, metadata, {k: made["channel_versions"][k] for k in changed})


async def aput(saver, config, number, channels, changed, metadata):
    made = checkpoint(number, channels)
    new = {k: made["channel_versions"][k] for k in changed}
    return await saver.aput(config, made, metadata, new)


def put_writes(saver, config, writes, task, path):
    return saver.put_writes(config, writes, task, path)


async def aput_writes(saver, config, writes, task, path):
    return await saver.aput_writes(config, writes, task, path)


def delete_thread(saver, thread):
    return saver.delete_thread(thread)


async def adelete_thread(saver, thread):
    return await saver.adelete_thread(thread)


def found(saver, config):
    return as_saved(saver.get_tuple(config))


async def afound(saver, config):
    return as_saved(await saver.aget_tuple(config))


def saved_ones(saver, config, **options):
    return [as_saved(one) for one in saver.list(config, **options)]


async def asaved_ones(saver, config, **options):
    return [as_saved(one) async for one in saver.alist(config, **options)]


def unordered_list(saver, config, **options):
    """A list of several lanes, whose order is open."""
    return sorted(saved_ones(saver, config, **options), key=lambda one: repr(one[0]))


async def aunordered_list(saver, config, **options):
    """The async twin of `unordered_list`."""
    return sorted(await asaved_ones(saver, config, **options), key=lambda one: repr(one[0]))
