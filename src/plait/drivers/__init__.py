"""Who runs the loop: threads (`sync`), asyncio (`aio`), a seeded simulation (`sim`).

A driver does what the engine's commands say and decides nothing.

- `base`: what all drivers share: storage commands, the scope of a task.
- `pool`: plait's own worker threads.
- `env`: the system's clock, ids and chance.
- `calls`: the handles of `@task` calls.
"""
