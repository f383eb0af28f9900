"""Programs with agents, made by chance from a seed, run on the peers and on plait.

A program is plain data: what the scripted model says, which tools, hooks and options the agent has,
and what is done with it. `make.py` draws one from a seed, the files in `stage/` play it (written
against the peers, their import roots replaced for plait), `sides.py` compares, and `shrink.py`
makes a program that differs as small as it can be. The command line is `__main__.py`.
"""
