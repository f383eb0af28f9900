"""Approvals over several server processes: examples/support.py, on SQLite and on Postgres.

Payments are counted in the ledger, a file outside of the database that only appends.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Barrier
from uuid import uuid4

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


server = load(EXAMPLES / "support_story.py").server


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "support.sqlite")
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def out(tmp_path):
    return tmp_path


@pytest.fixture
def thread():
    return f"/threads/{uuid4().hex}"


def paid(out):
    """(order, euro) of each payment."""
    path = out / "ledger.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted((line["order"], line["euro"]) for line in map(json.loads, lines))


def ask(one, thread, *orders):
    """A customer wants refunds: the question about each order, by the order's number."""
    text = "Please refund " + " and ".join(f"order {number}" for number in orders)
    status, seen = one.call(f"{thread}/messages", {"text": text})
    assert status == 200, seen
    return waiting(seen)


def waiting(seen):
    return {
        asked["action_request"]["args"]["order"]: question
        for question, asked in seen["questions"].items()
    }


YES = {"type": "accept"}


def at_once(*calls):
    """Do the calls at the same time; what each gave."""
    together = Barrier(len(calls))

    def do(one, path, body):
        together.wait()
        return one.call(path, body)

    with ThreadPoolExecutor(len(calls)) as pool:
        return [each.result() for each in [pool.submit(do, *call) for call in calls]]


def test_an_answer_lands_on_a_process_that_has_never_seen_the_run(url, out, thread):
    with server(out, url) as a:
        asked = ask(a, thread, 7, 9)
        a.kill()
    assert sorted(asked) == [7, 9]
    assert paid(out) == []
    with server(out, url) as b:
        _, seen = b.call(thread)
        assert waiting(seen) == asked
        status, seen = b.call(f"{thread}/answers", {asked[9]: YES})
        assert status == 200
        assert waiting(seen) == {7: asked[7]}
        assert paid(out) == [(9, 12.0)]
        b.kill()
    with server(out, url) as c:
        less = {"type": "edit", "args": {"order": 7, "euro": 5}}
        status, seen = c.call(f"{thread}/answers", {asked[7]: less})
        assert status == 200
        assert not seen["questions"]
        assert "Refunded 5.00 euro for order 7" in seen["says"]
        assert "Refunded 12.00 euro for order 9" in seen["says"]
    assert paid(out) == [(7, 5.0), (9, 12.0)]


def test_of_two_people_who_answer_at_once_in_two_processes_one_is_told_so(url, out):
    with server(out, url) as a, server(out, url) as b:
        for round in range(1, 6):
            thread = f"/threads/{uuid4().hex}"
            asked = ask(a, thread, 9)
            path, body = f"{thread}/answers", {asked[9]: YES}
            (won, seen), (lost, refused) = sorted(
                at_once((a, path, body), (b, path, body)), key=str
            )
            assert (won, lost) == (200, 409), (paid(out), seen, refused)
            assert refused["error"] in ("UnknownInterruptError", "ThreadBusyError")
            assert paid(out) == [(9, 12.0)] * round
            assert b.call(thread)[1]["says"] == "Refunded 12.00 euro for order 9."


def test_two_people_who_answer_different_questions_at_once_both_count(url, out):
    with server(out, url) as a, server(out, url) as b:
        for round in range(1, 6):
            thread = f"/threads/{uuid4().hex}"
            asked = ask(b, thread, 7, 9)
            path = f"{thread}/answers"
            calls = [(a, path, {asked[7]: YES}), (b, path, {asked[9]: YES})]
            while calls:  # who comes while the other's run goes on is told so, and comes again
                results = at_once(*calls)
                assert {status for status, _ in results} <= {200, 409}
                late = [
                    call for call, (status, _) in zip(calls, results, strict=True) if status == 409
                ]
                for status, body in results:
                    assert status == 200 or body["error"] == "ThreadBusyError", body
                calls = late
            assert paid(out) == sorted([(7, 40.0), (9, 12.0)] * round)
            assert not a.call(thread)[1]["questions"]


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(url, out, thread):
    with server(out, url) as a, server(out, url) as b:
        asked = ask(a, thread, 9)
        status, refused = b.call(f"{thread}/answers", {asked[9]: {"type": "maybe"}})
        assert status == 422
        assert refused["error"] == "InvalidDecisionError"
        assert waiting(a.call(thread)[1]) == asked
        assert paid(out) == []
        assert b.call(f"{thread}/answers", {asked[9]: YES})[0] == 200
    assert paid(out) == [(9, 12.0)]


def test_the_story_of_the_example_ends_with_what_was_approved(url, out):
    command = [sys.executable, str(EXAMPLES / "support.py"), "--out", str(out), "--db", url]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "Server A is killed." in told.stdout
    assert told.stdout.count("409 UnknownInterruptError") == 2
    assert paid(out) == [(7, 20.0), (9, 12.0)]
