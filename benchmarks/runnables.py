"""Owns the workloads of chains: lambdas in sequence, side by side, in a batch, and streamed."""

from collections.abc import Iterator

from benchmarks.implementations import Implementation
from benchmarks.measure import Job

STEPS = 10


def _plus_one(x: int) -> int:
    return x + 1


def sequence(impl: Implementation, calls: int) -> Job:
    """A sequence of 10 lambdas, invoked over and over."""
    chain = impl.runnable("RunnableSequence")(*[_plus_one] * STEPS)
    return Job(lambda: [chain.invoke(n) for n in range(calls)])


def sequence_floor(calls: int) -> Job:
    """The functions, called one after the other."""

    def run(x: int) -> int:
        for _ in range(STEPS):
            x = _plus_one(x)
        return x

    return Job(lambda: [run(n) for n in range(calls)])


def parallel(impl: Implementation, calls: int) -> Job:
    """10 lambdas side by side, invoked over and over."""
    steps = {f"step {n}": _plus_one for n in range(STEPS)}
    chain = impl.runnable("RunnableParallel")(steps)
    return Job(lambda: [chain.invoke(n) for n in range(calls)])


def parallel_floor(calls: int) -> Job:
    """The functions, called one after the other."""
    names = [f"step {n}" for n in range(STEPS)]
    return Job(lambda: [{name: _plus_one(n) for name in names} for n in range(calls)])


def batch(impl: Implementation, size: int) -> Job:
    """A batch of one lambda."""
    chain = impl.runnable("RunnableLambda")(_plus_one)
    return Job(lambda: chain.batch(list(range(size))))


def batch_floor(size: int) -> Job:
    """The function, called for each."""
    return Job(lambda: [_plus_one(n) for n in range(size)])


def _letters(chunks: Iterator[str]) -> Iterator[str]:
    for chunk in chunks:
        yield from chunk


def _upper(chunks: Iterator[str]) -> Iterator[str]:
    for chunk in chunks:
        yield chunk.upper()


def stream(impl: Implementation, chunks: int) -> Job:
    """Chunks through two generators and a passthrough."""
    generator, passthrough = (
        impl.runnable("RunnableGenerator"),
        impl.runnable("RunnablePassthrough"),
    )
    chain = generator(_letters) | passthrough() | _upper
    text = "x" * chunks
    return Job(lambda: list(chain.stream(text)))


def stream_floor(chunks: int) -> Job:
    """The generators, one in the other."""
    text = "x" * chunks
    return Job(lambda: list(_upper(_letters(iter([text])))))
