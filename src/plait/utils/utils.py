"""What reads the environment for fields of models, where LangChain has it."""

from plait.utils.env import convert_to_secret_str, from_env, secret_from_env
from plait.utils.importing import guard_import

__all__ = ["convert_to_secret_str", "from_env", "guard_import", "secret_from_env"]
