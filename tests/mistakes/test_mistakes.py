"""No mistake of the table goes by silently, and the page for people says what really happens."""

import pytest

from .table import DOCUMENT, Mistake, document, message_of, mistakes


@pytest.mark.parametrize("made", mistakes(), ids=lambda made: f"{made.chapter}-{made.name}")
def test_mistake_gives_its_error_and_says_what_to_do(made: Mistake) -> None:
    message = message_of(made)
    assert made.says
    for part in made.says:
        assert part in message


def test_there_are_enough_mistakes_and_each_has_its_own_title() -> None:
    titles = [made.title for made in mistakes()]
    assert len(titles) >= 25
    assert len(set(titles)) == len(titles)


def test_page_for_people_is_the_table() -> None:
    assert DOCUMENT.read_text() == document(), "run: python -m tests.mistakes.table"
