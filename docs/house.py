"""Writes the last section of architecture.md, "Every file", from the first sentences of the files.

python docs/house.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SOURCE = DOCS.parent / "src" / "plait"
HEADING = "## Every file\n"


def main() -> None:
    """Rewrite the section in place."""
    page = DOCS / "architecture.md"
    kept = page.read_text("utf-8").partition(HEADING)[0]
    page.write_text(kept + HEADING + "\n" + every_file(), "utf-8")


def every_file() -> str:
    """One line for each Python file below src/plait, grouped by package."""
    lines: list[str] = ["Written by `docs/house.py` from the first sentence of each file.\n"]
    packages = sorted({path.parent for path in SOURCE.rglob("*.py")})
    for package in packages:
        name = package.relative_to(SOURCE.parent).as_posix()
        lines.append(f"**`{name}/`** {first_sentence(package / '__init__.py')}\n")
        files = (path for path in sorted(package.glob("*.py")) if path.name != "__init__.py")
        rows = [f"- `{path.name}`: {first_sentence(path)}\n" for path in files]
        lines.append("".join(rows))
    return "\n".join(line for line in lines if line)


def first_sentence(path: Path) -> str:
    """What a file says it owns."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "" if path.exists() else ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    match = re.match(r".*?\.(?= [A-Z`]|$)", paragraph)
    return match[0] if match else paragraph.rstrip(":") + "."


if __name__ == "__main__":
    main()
