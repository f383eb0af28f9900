"""Whoever uses what an extra brings, without the extra, is told which one to install."""

import subprocess
import sys

import pytest

WITHOUT: list[tuple[str, str, str]] = [
    ("cli", "click", "import plait.cli; plait.cli.main()"),
    ("openai", "openai", "init_chat_model('openai:m', api_key='k').invoke('hi')"),
    ("anthropic", "anthropic", "init_chat_model('anthropic:m', api_key='k').invoke('hi')"),
    ("google", "google.genai", "init_chat_model('google:m', api_key='k').invoke('hi')"),
    ("openai", "openai", "init_embeddings('openai:m').embed_query('hi')"),
    ("google", "google.genai", "init_embeddings('google:m').embed_query('hi')"),
    ("postgres", "psycopg", "from plait.checkpoint.postgres import PostgresSaver"),
    ("postgres", "psycopg", "from plait.checkpoint.postgres.aio import AsyncPostgresSaver"),
    ("postgres", "psycopg_pool", "from plait.store.postgres import PostgresStore"),
    ("postgres", "psycopg", "from plait.chat_history import PostgresChatMessageHistory"),
    ("postgres", "psycopg", "from plait.testing import PostgresProxy"),
    ("postgres", "psycopg", "import_langgraph('postgresql://x/y', InMemorySaver())"),
    ("encrypt", "cryptography", "EncryptedSerializer.from_keys({'1': bytes(32)})"),
    ("encrypt", "cryptography", "EncryptedSerializer.from_pycryptodome_aes(key=bytes(32))"),
    ("mcp", "mcp", "from plait.tools.mcp import load_mcp_tools"),
    ("otel", "opentelemetry", "import plait.tracing.otel"),
]

BEFORE = """
import sys
sys.modules[{package!r}] = None  # as if it were not installed
from plait.chat_models import init_chat_model
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.embeddings import init_embeddings
from plait.importing import import_langgraph
{use}
"""


OF_OTHERS: list[tuple[str, str, str]] = [
    ("langchain-core", "langchain_core", "plait.chat_models.langchain"),
    ("langchain-core", "langchain_core", "plait.agents.middleware.guest_shapes"),
    ("haystack-ai", "haystack", "plait.chat_models.haystack"),
]
"""What makes others' objects plait's, by itself: nothing else of plait imports it without them."""


@pytest.mark.parametrize(("distribution", "package", "module"), OF_OTHERS)
def test_the_error_names_the_package_of_others(
    distribution: str, package: str, module: str
) -> None:
    last = _last_line(package, f"import {module}")
    assert last.startswith("plait.errors.MissingExtraError: ")
    assert f"pip install {distribution}" in last


@pytest.mark.parametrize(("extra", "package", "use"), WITHOUT)
def test_the_error_names_the_extra(extra: str, package: str, use: str) -> None:
    last = _last_line(package, use)
    assert f"pip install 'plait[{extra}]'" in last
    assert last.startswith(("plait.errors.MissingExtraError: ", "The command line needs "))


def _last_line(package: str, use: str) -> str:
    """What a program says at its end that needs a package which is not there."""
    code = BEFORE.format(package=package, use=use)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    return ran.stderr.strip().splitlines()[-1]
