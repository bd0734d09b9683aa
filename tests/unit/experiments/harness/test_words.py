"""Words that are computed from the numbers beside them."""

from __future__ import annotations

import pytest

from widestreet._experiments.harness.words import faster, fill, named, number, share, than


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (1.0, 2.0, "much lower than"),
        (1.0, 1.9, "lower than"),
        (1.0, 1.04, "slightly lower than"),
        (2.2, 2.2, "equal to"),
        (1.04, 1.0, "slightly higher than"),
        (1.9, 1.0, "higher than"),
        (2.0, 1.0, "much higher than"),
        (-1.0, 0.5, "lower than"),
        (0.5, 0.0, "higher than"),
    ],
)
def test_sizes(a, b, words):
    assert than(a, b) == words


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (1.0, 3.0, "much faster than"),
        (1.0, 1.5, "faster than"),
        (1.0, 1.02, "about as fast as"),
        (1.5, 1.0, "slower than"),
        (3.0, 1.0, "much slower than"),
    ],
)
def test_times(a, b, words):
    assert faster(a, b) == words


def test_printed_numbers_are_read():
    assert number("more than 1,234.5") == 1234.5
    assert number("+0.19") == 0.19
    assert number("94%") == 94


def test_words_compare_what_is_printed():
    facts = {"ours": "2.2", "theirs": "2.2", "paper": "1,100"}
    text = "{ours}% is {ours:than {theirs}} {theirs}%, {paper:faster {ours}}\nit; {ours:>3}"
    assert fill(text, facts) == "2.2% is equal to 2.2%, much slower than it; 2.2"
    with pytest.raises(KeyError, match="missing"):
        fill("{missing}", facts)


def test_paragraphs_are_wrapped():
    text = "{word} " * 30 + "\n\n- {word}"
    lines = fill(text, {"word": "horse-drawn"}).split("\n")
    assert max(map(len, lines)) <= 100
    assert lines[-2:] == ["", "- horse-drawn"]


def test_names_and_shares():
    assert named(["a", "b"]) == "`a`, `b`"
    assert named([]) == "none"
    assert [share(range(n), range(3)) for n in (0, 2, 3)] == ["none of 3", "2 of 3", "all 3"]
