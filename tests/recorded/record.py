"""`python -m tests.recorded.record SITE_PACKAGES [PROGRAM...]`: ask peers, write `answers/`."""

import pprint
import sys

from tests.differential.harness import run
from tests.recorded.harness import ANSWERS, cases, programs


def main(site_packages: str, *wanted: str) -> None:
    """Run the programs on the peers of an environment."""
    sys.path.append(site_packages)
    found: dict[str, dict[str, object]] = {}
    with programs():
        for case in cases():
            if not wanted or case.program in wanted:
                found.setdefault(case.program, {})[case.id] = run(case, "langgraph")
    for program, answers in found.items():
        (ANSWERS / f"{program}.txt").write_text(pprint.pformat(answers, width=100) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
