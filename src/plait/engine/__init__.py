"""The super-step engine: a sans-IO core that decides everything and does nothing.

- `plan`: what a compiled graph is to the engine (immutable).
- `state`: the live channels of one run, and how a super-step's writes change them.
- `frontier`: what runs next.
- `tasks`: one task, its id, its order.
- `questions`: interrupts and the answers they wait for.
- `retries`: whether and when a failed task is tried again.
- `commands`, `events`, `records`: what the loop asks of a driver, what it hears, what is stored.
- `restore`: from a stored checkpoint and a caller's input to the first super-step.
- `report`: the parts that streams carry.
- `loop`: the generator that ties them together.
"""
