"""The whole page: head, summary, contents and sections in one HTML document."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from widestreet._src.model_report.markup import Markup, Section, join, shortened, table, tag
from widestreet._src.model_report.subject import Subject

# Neither scripts nor anything from elsewhere: the browser refuses both.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document(subject: Subject, sections: Sequence[Section]) -> str:
    """Return the page as a complete HTML document."""
    title = f"Report: {type(subject.given).__name__}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(_style())),
    )
    links = [tag("li", tag("a", one.title, href=f"#{one.key}")) for one in sections]
    parts = [
        tag("section", tag("h2", one.title, id=f"{one.key}-title"), one.content, id=one.key,
            aria_labelledby=f"{one.key}-title")
        for one in sections
    ]  # fmt: skip
    body = tag(
        "body",
        tag("header", tag("h1", title), _summary(subject)),
        tag("nav", tag("ul", *links), aria_label="Contents"),
        tag("main", *parts),
        tag("footer", tag("p", f"Made by widestreet {_version()}. This page needs no network.")),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def framed(page: str) -> str:
    """Return a page as an element of another one, for notebooks."""
    style = "width:100%;height:640px;border:1px solid #8888;border-radius:6px"
    return tag("iframe", srcdoc=page, sandbox="", style=style, title="Report of the model")


def _summary(subject: Subject) -> Markup:
    """Return what the model is."""
    machine = subject.machine
    n, width = machine.shape_fit_
    rows: list[tuple[str, Any]] = [("Model", tag("code", shortened(_described(subject))))]
    rows.append(("Training rows", f"{n:,}"))
    if machine.kernel != "precomputed":
        rows.append(("Features", f"{width:,}"))
    gamma = getattr(machine._kernel, "gamma", None)
    kernel = machine.kernel if isinstance(machine.kernel, str) else "a Python function"
    rows.append(("Kernel", kernel + ("" if gamma is None else f", gamma = {gamma:.6g}")))
    if subject.classes:
        labels = ", ".join(shortened(label) for label in subject.classes[:10])
        more = len(subject.classes) - 10
        rows.append(("Classes", labels + (f" and {more} more" if more > 0 else "")))
    if subject.steps is not None:
        rows.append(
            ("Steps before", join([shortened(", ".join(n for n, _ in subject.steps.steps))]))
        )
    return table("The model", (), rows)


def _described(subject: Subject) -> str:
    """Return the SVM with the parameters that are not the defaults."""
    given = ", ".join(f"{name}={value!r}" for name, value in subject.parameters())
    text = f"{type(subject.machine).__name__}({given})"
    outer = subject.wrapper
    return text if outer is None else f"{type(outer).__name__}({text})"


def _style() -> str:
    return files(__package__).joinpath("style.css").read_text(encoding="utf-8")


def _version() -> str:
    from importlib.metadata import version

    return version("widestreet")
