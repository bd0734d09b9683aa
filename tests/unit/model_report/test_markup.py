"""Elements of the page: everything that is text is escaped."""

from __future__ import annotations

import numpy as np
import pytest

from support.pages import Page
from widestreet._src.model_report.markup import (
    Markup,
    details,
    in_digits,
    in_time,
    join,
    number,
    shortened,
    table,
    tag,
)


def test_text_and_attributes_are_escaped():
    text = "<b title='x'>&\""
    page = Page.of(tag("p", text, title=text))
    assert page.elements == [("p", {"title": text})]
    assert page.words == [text] or "".join(page.words) == text


def test_markup_is_not_escaped_twice():
    inner = tag("em", "a < b")
    assert tag("p", inner) == "<p><em>a &lt; b</em></p>"
    assert join([inner, "<"]) == f"{inner}&lt;"


def test_attributes_without_a_value_are_left_out():
    assert (
        tag("rect", class_="bar", stroke_width=2, x=None) == '<rect class="bar" stroke-width="2"/>'
    )


@pytest.mark.parametrize("value", [0.1 + 0.2, np.float64(1e-300), 7, float("nan"), float("inf")])
def test_numbers_have_all_their_digits(value):
    page = Page.of(number("a.b", value))
    np.testing.assert_equal(page.numbers["a.b"], value)


def test_tables_say_what_their_cells_are():
    page = Page.of(table("<caption>", ("name", "value"), [("a", 1), ("b", 2)]))
    assert [cell["scope"] for cell in page.named("th")] == ["col", "col", "row", "row"]
    assert len(page.named("td")) == 2
    assert "<caption>" in page.text


def test_details_and_long_names():
    assert Page.of(details("more", Markup("<p>x</p>"))).named("summary") == [{}]
    assert len(shortened("x" * 1000)) < 100
    assert shortened(3) == "3"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (12345.678, "12,346"), (0.01, "0.01"), (1e-9, "1e-09"), (123456, "123,456"),
     (-0.5, "-0.5"), (float("inf"), "inf"), (2.0, "2")],
)  # fmt: skip
def test_numbers_for_readers(value, text):
    assert in_digits(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0123, "12.3 ms"), (5.0, "5 s"), (600.0, "10 min"), (7200.0, "2 h")]
)
def test_times_for_readers(seconds, text):
    assert in_time(seconds) == text
