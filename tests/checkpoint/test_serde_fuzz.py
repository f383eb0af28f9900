"""Bytes that were tampered with give typed errors: nothing hangs, nothing runs, nothing loads."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("serde_fuzz_program.py")


def test_mutated_bytes_never_run_import_or_open_anything() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3000 mutations"), done.stdout
