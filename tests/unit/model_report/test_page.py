"""The whole document: complete, without a network, safe for any text."""

from __future__ import annotations

import numpy as np

import widestreet as ws
from support.machines import data
from support.pages import Page
from widestreet._src.model_report.markup import Section, paragraph
from widestreet._src.model_report.page import document, framed
from widestreet._src.model_report.subject import Subject


def subject(labels=("no", "yes")):
    X, y = data("svc")
    return Subject.of(ws.SVC(C=2.0).fit(X, np.where(y > 0, labels[1], labels[0])))


def test_links_lead_to_sections():
    sections = [Section("one", "First", paragraph("a")), Section("two", "Second", paragraph("b"))]
    page = Page.of(document(subject(), sections))
    assert [link["href"] for link in page.named("a")] == ["#one", "#two"]
    assert [one["id"] for one in page.named("section")] == ["one", "two"]
    assert [one["aria-labelledby"] for one in page.named("section")] == ["one-title", "two-title"]
    assert page.named("html")[0]["lang"] == "en"


def test_the_page_needs_neither_network_nor_scripts():
    text = document(subject(), [])
    page = Page.of(text)
    assert page.named("script") == page.named("link") == page.named("img") == []
    assert not any(word in text for word in ("http://", "https://", "url("))
    policy = next(one for one in page.named("meta") if "http-equiv" in one)
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_light_and_dark():
    assert "prefers-color-scheme: dark" in document(subject(), [])


def test_the_summary_says_what_the_model_is():
    text = Page.of(document(subject(), [])).text
    assert "SVC(C=2.0)" in text
    assert "120" in text


def test_labels_are_text():
    page = Page.of(document(subject(("<script>alert(1)</script>", "&amp;")), []))
    assert page.named("script") == []
    assert "<script>alert(1)</script>" in page.text
    assert "&amp;" in page.text


def test_a_frame_for_notebooks_holds_the_page():
    text = document(subject(), [])
    (frame,) = Page.of(framed(text)).named("iframe")
    assert frame["srcdoc"] == text
    assert frame["sandbox"] == ""
