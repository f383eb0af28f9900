"""Every channel through its plain class API: what an update gives, keeps, refuses and forgets."""

from collections.abc import Callable
from copy import deepcopy
from operator import add, or_

from langgraph.channels import (
    AnyValue,
    BinaryOperatorAggregate,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
    UntrackedValue,
)
from langgraph.types import Overwrite


def look(env, channel):
    """Everything that can be read from a channel."""
    return [env.error(channel.get), channel.is_available()]


def drive(env, channel, *updates):
    """What each update returns and leaves behind."""
    seen = [look(env, channel)]
    for update in updates:
        seen.append((env.error(lambda u=update: channel.update(u)), look(env, channel)))
    return seen


def case_last_value_updates(env):
    return drive(env, LastValue(int), [1], [], [2], [None], [0])


def case_last_value_refuses_two(env):
    channel = LastValue(int)
    channel.update([1])
    return [env.error(lambda: channel.update([2, 3])), channel.get()]


def case_last_value_checkpoint_round_trip(env):
    channel = LastValue(dict)
    channel.update([{"a": 1}])
    again = LastValue(dict).from_checkpoint(channel.checkpoint())
    return [channel.checkpoint(), again.get(), again.is_available()]


def case_last_value_types(env):
    channel = LastValue(int, "count")
    return [channel.ValueType, channel.UpdateType, channel.key, channel.typ]


def case_any_value_updates(env):
    return drive(env, AnyValue(int), [1], [2, 3], [], [4])


def case_any_value_keeps_the_last(env):
    channel = AnyValue(list)
    channel.update([[1], [2]])
    return [channel.get(), channel.checkpoint()]


def case_ephemeral_value_clears(env):
    return drive(env, EphemeralValue(int), [1], [], [], [2])


def case_ephemeral_value_guard(env):
    guarded, free = EphemeralValue(int), EphemeralValue(int, guard=False)
    return [env.error(lambda: guarded.update([1, 2])), free.update([1, 2]), free.get()]


def case_ephemeral_value_checkpoint(env):
    channel = EphemeralValue(int)
    channel.update([5])
    again = EphemeralValue(int).from_checkpoint(channel.checkpoint())
    return [again.get(), again.update([]), again.is_available()]


def case_untracked_value_updates(env):
    return drive(env, UntrackedValue(int), [1], [], [2])


def case_untracked_value_guard(env):
    guarded, free = UntrackedValue(int), UntrackedValue(int, guard=False)
    return [env.error(lambda: guarded.update([1, 2])), free.update([1, 2]), free.get()]


def case_untracked_value_is_not_checkpointed(env):
    channel = UntrackedValue(int)
    channel.update([5])
    again = UntrackedValue(int).from_checkpoint(channel.checkpoint())
    return [channel.get(), look(env, again)]


def case_topic_of_one_step(env):
    return drive(env, Topic(str), ["a"], ["b", "c"], [], ["d", ["e", "f"]], [])


def case_topic_accumulates(env):
    return drive(env, Topic(str, accumulate=True), ["a"], ["b", ["c", "a"]], [], ["d"])


def case_topic_checkpoint_round_trip(env):
    channel = Topic(int, accumulate=True)
    channel.update([1, [2, 3]])
    # A copy, as a saver makes one: what the original shares with its checkpoint is its affair.
    again = Topic(int, accumulate=True).from_checkpoint(deepcopy(channel.checkpoint()))
    again.update([4])
    return [channel.get(), again.get()]


def case_topic_types(env):
    channel = Topic(int)
    return [str(channel.ValueType), str(channel.UpdateType)]


def case_reducer_add(env):
    return drive(env, BinaryOperatorAggregate(int, add), [1, 2], [], [3], [-6])


def case_reducer_starts_from_the_type(env):
    kinds = [int, float, str, list, dict, set, tuple, bool]
    return [look(env, BinaryOperatorAggregate(kind, or_)) for kind in kinds]


def case_reducer_of_abstract_types(env):
    from collections.abc import Mapping, MutableSequence, Sequence, Set

    kinds = [Sequence, MutableSequence, Set, Mapping]
    return [look(env, BinaryOperatorAggregate(kind, add)) for kind in kinds]


def case_reducer_without_a_default(env):
    def keep(left, right):
        return right

    class Needy:
        def __init__(self, value):
            self.value = value

    channel = BinaryOperatorAggregate(Needy, lambda a, b: a + b)
    return [*drive(env, channel, [1], [2, 3]), look(env, BinaryOperatorAggregate(Callable, keep))]


def case_reducer_dict_merge(env):
    return drive(env, BinaryOperatorAggregate(dict, or_), [{"a": 1}], [{"b": 2}, {"a": 3}])


def case_reducer_error_propagates(env):
    return drive(env, BinaryOperatorAggregate(int, add), ["x"])


def case_reducer_overwrite(env):
    channel = BinaryOperatorAggregate(list, add)
    return drive(
        env,
        channel,
        [[1]],
        [Overwrite([9])],
        [[2], Overwrite([8]), [3]],
        [{"__overwrite__": [7]}],
        [Overwrite(value=[])],
    )


def case_reducer_two_overwrites(env):
    channel = BinaryOperatorAggregate(list, add)
    channel.update([[1]])
    return env.error(lambda: channel.update([Overwrite([2]), Overwrite([3])]))


def case_reducer_overwrite_drops_writes_after_it(env):
    channel = BinaryOperatorAggregate(list, add)
    return drive(env, channel, [Overwrite([4]), [5]], [[6], {"__overwrite__": [7]}])


def case_reducer_dict_that_looks_like_overwrite(env):
    channel = BinaryOperatorAggregate(dict, or_)
    return drive(
        env,
        channel,
        [{"a": 1}],
        [{"__overwrite__": {"b": 1}, "c": 2}],
        [{"__overwrite__": {"d": 4}}],
    )


def case_reducer_checkpoint_round_trip(env):
    channel = BinaryOperatorAggregate(list, add)
    channel.update([[1], [2]])
    again = BinaryOperatorAggregate(list, add).from_checkpoint(channel.checkpoint())
    again.update([[3]])
    return [channel.get(), again.get()]


def case_barrier_waits_for_all(env):
    return drive(env, NamedBarrierValue(str, {"a", "b"}), ["a"], [], ["a"], ["b"], ["b"])


def case_barrier_consume(env):
    channel = NamedBarrierValue(str, {"a", "b"})
    early = channel.consume()
    channel.update(["a", "b"])
    before = look(env, channel)
    return [early, before, channel.consume(), look(env, channel), channel.consume()]


def case_barrier_unknown_name(env):
    return drive(env, NamedBarrierValue(str, {"a"}), ["z"])


def case_barrier_checkpoint(env):
    channel = NamedBarrierValue(str, {"a", "b"})
    channel.update(["a"])
    again = NamedBarrierValue(str, {"a", "b"}).from_checkpoint(deepcopy(channel.checkpoint()))
    again.update(["b"])
    return [channel.is_available(), again.is_available()]


def case_barrier_after_finish(env):
    channel = NamedBarrierValueAfterFinish(str, {"a", "b"})
    seen = [channel.finish()]
    seen += drive(env, channel, ["a"], ["b"])
    seen += [channel.finish(), look(env, channel), channel.finish()]
    return [*seen, channel.consume(), look(env, channel), channel.finish()]


def case_last_value_after_finish(env):
    channel = LastValueAfterFinish(int)
    seen = [channel.finish()]
    seen += drive(env, channel, [1], [2, 3], [])
    seen += [channel.finish(), look(env, channel), channel.finish()]
    seen += [channel.consume(), look(env, channel), channel.consume()]
    return seen + drive(env, channel, [4]) + [channel.finish(), look(env, channel)]


def case_last_value_after_finish_update_unfinishes(env):
    channel = LastValueAfterFinish(int)
    channel.update([1])
    channel.finish()
    return [channel.update([2]), look(env, channel), channel.finish(), look(env, channel)]


def case_after_finish_checkpoints(env):
    channel = LastValueAfterFinish(int)
    channel.update([1])
    channel.finish()
    again = LastValueAfterFinish(int).from_checkpoint(channel.checkpoint())
    barrier = NamedBarrierValueAfterFinish(str, {"a"})
    barrier.update(["a"])
    barrier.finish()
    kept = NamedBarrierValueAfterFinish(str, {"a"}).from_checkpoint(barrier.checkpoint())
    return [look(env, again), look(env, kept)]


def case_finish_and_consume_default_to_false(env):
    channels = [LastValue(int), AnyValue(int), EphemeralValue(int), UntrackedValue(int)]
    channels += [Topic(int), BinaryOperatorAggregate(int, add), NamedBarrierValue(str, {"a"})]
    return [(channel.finish(), channel.consume()) for channel in channels]


def case_copies_are_independent(env):
    seen = []
    for channel in [LastValue(int), AnyValue(int), EphemeralValue(int), Topic(int, True)]:
        channel.update([1])
        copy = channel.copy()
        copy.update([2])
        seen.append((channel.get(), copy.get()))
    return seen


def case_equality(env):
    def plus(a, b):
        return a + b

    pairs = [
        (LastValue(int), LastValue(int)),
        (LastValue(int), LastValue(str)),
        (LastValue(int), AnyValue(int)),
        (EphemeralValue(int), EphemeralValue(int, guard=False)),
        (UntrackedValue(int), UntrackedValue(int, guard=False)),
        (Topic(int), Topic(int, accumulate=True)),
        (Topic(int, True), Topic(int, True)),
        (BinaryOperatorAggregate(int, add), BinaryOperatorAggregate(int, add)),
        (BinaryOperatorAggregate(int, plus), BinaryOperatorAggregate(int, add)),
        (
            BinaryOperatorAggregate(int, lambda a, b: a),
            BinaryOperatorAggregate(int, lambda a, b: b),
        ),
        (NamedBarrierValue(str, {"a", "b"}), NamedBarrierValue(str, {"b", "a"})),
        (NamedBarrierValue(str, {"a"}), NamedBarrierValue(str, {"b"})),
    ]
    return [left == right for left, right in pairs]


def case_equality_ignores_content(env):
    left, right = LastValue(int), LastValue(int)
    left.update([1])
    return left == right


def case_topic_tuple_and_none_writes(env):
    return drive(env, Topic(int, accumulate=True), [(1, 2)], [None], [[None]], [[]])
