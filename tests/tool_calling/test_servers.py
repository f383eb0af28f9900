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
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


server = load(EXAMPLES / "support_story.py").server


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request, tmp_path_factory):
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("database") / "support.sqlite")
        return
    with request.getfixturevalue("postgres_server").database() as url:
        yield url


@pytest.fixture(scope="module")
def pair(url, tmp_path_factory):
    """Two servers over one database, and where they keep their ledger."""
    out = tmp_path_factory.mktemp("ledger")
    with server(out, url) as a, server(out, url) as b:
        yield a, b, out


@pytest.fixture
def thread():
    return new_thread()


def new_thread():
    return f"/threads/{uuid4().hex}"


def paid(out, since=0):
    """(order, euro) of each payment, those of the first `since` left out."""
    path = out / "ledger.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted((line["order"], line["euro"]) for line in map(json.loads, lines[since:]))


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


def test_an_answer_lands_on_a_process_that_has_never_seen_the_run(url, tmp_path, thread):
    with server(tmp_path, url) as a:
        asked = ask(a, thread, 7, 9)
        a.kill()
    assert sorted(asked) == [7, 9]
    assert paid(tmp_path) == []
    with server(tmp_path, url) as b:
        _, seen = b.call(thread)
        assert waiting(seen) == asked
        status, seen = b.call(f"{thread}/answers", {asked[9]: YES})
        assert status == 200
        assert waiting(seen) == {7: asked[7]}
        assert paid(tmp_path) == [(9, 12.0)]
        b.kill()
    with server(tmp_path, url) as c:
        less = {"type": "edit", "args": {"order": 7, "euro": 5}}
        status, seen = c.call(f"{thread}/answers", {asked[7]: less})
        assert status == 200
        assert seen["questions"] == {}
        assert "Refunded 5.00 euro for order 7" in seen["says"]
        assert "Refunded 12.00 euro for order 9" in seen["says"]
    assert paid(tmp_path) == [(7, 5.0), (9, 12.0)]


@pytest.mark.parametrize("round", range(5))
def test_of_two_people_who_answer_at_once_in_two_processes_one_is_told_so(pair, thread, round):
    a, b, out = pair
    before = len(paid(out))
    asked = ask(a, thread, 9)
    path, body = f"{thread}/answers", {asked[9]: YES}
    results = at_once((a, path, body), (b, path, body))
    (won, _), (lost, refused) = sorted(results, key=str)
    assert (won, lost) == (200, 409), results
    assert refused["error"] in ("UnknownInterruptError", "ThreadBusyError")
    assert paid(out, before) == [(9, 12.0)]
    assert b.call(thread)[1]["says"] == "Refunded 12.00 euro for order 9."


@pytest.mark.parametrize("round", range(5))
def test_two_people_who_answer_different_questions_at_once_both_count(pair, thread, round):
    a, b, out = pair
    before = len(paid(out))
    asked = ask(b, thread, 7, 9)
    path = f"{thread}/answers"
    calls = [(a, path, {asked[7]: YES}), (b, path, {asked[9]: YES})]
    while calls:  # who comes while the other's run goes on is told so, and comes again
        results = at_once(*calls)
        refused = [body["error"] for status, body in results if status != 200]
        assert set(refused) <= {"ThreadBusyError"}
        calls = [call for call, (status, _) in zip(calls, results, strict=True) if status == 409]
    assert paid(out, before) == [(7, 40.0), (9, 12.0)]
    assert a.call(thread)[1]["questions"] == {}


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(pair, thread):
    a, b, out = pair
    before = len(paid(out))
    asked = ask(a, thread, 9)
    status, refused = b.call(f"{thread}/answers", {asked[9]: {"type": "maybe"}})
    assert (status, refused["error"]) == (422, "InvalidDecisionError")
    assert waiting(a.call(thread)[1]) == asked
    assert b.call(f"{thread}/answers", {asked[9]: YES})[0] == 200
    assert paid(out, before) == [(9, 12.0)]


@pytest.mark.parametrize(
    ("what", "body", "said"),
    [
        ("messages", {}, "no messages: {}"),
        ("messages", {"text": 5}, "no messages: {'text': 5}"),
        ("messages", None, "no JSON: "),
        ("answers", [], "no answers: []"),
    ],
)
def test_a_request_that_is_none_is_told_so(pair, thread, what, body, said):
    a, _, _ = pair
    data = b"text" if body is None else json.dumps(body).encode()
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{a.address}{thread}/{what}", data))
    told = json.load(refused.value)
    assert (refused.value.code, told["error"]) == (400, "BadRequest")
    assert told["message"].startswith(said)


def test_the_story_of_the_example_ends_with_what_was_approved(url, tmp_path):
    command = [sys.executable, str(EXAMPLES / "support.py"), "--out", str(tmp_path), "--db", url]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "Server A is killed." in told.stdout
    assert told.stdout.count("409 UnknownInterruptError") == 2
    assert paid(tmp_path) == [(7, 20.0), (9, 12.0)]


def test_the_picture_in_the_docs_is_that_of_the_example(tmp_path):
    command = [sys.executable, str(EXAMPLES / "support.py"), "--picture", str(tmp_path / "s.svg")]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    kept = EXAMPLES.parent / "docs" / "pictures" / "support.svg"
    assert (tmp_path / "s.svg").read_text() == kept.read_text()
