"""The page about a model in a browser without a network: it shows the numbers of the model."""

from __future__ import annotations

import shutil

import pytest

import widestreet as ws
from support.machines import data

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
NUMBERS = """() => Object.fromEntries(
  [...document.querySelectorAll("data")].map((one) => [one.dataset.name, one.value]))"""
OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"
COLOUR = "() => getComputedStyle(document.body).backgroundColor"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    X, y = data("svc", 60)
    model = ws.SVC().fit(X, y)
    path = tmp_path_factory.mktemp("pages") / "report.html"
    model.report(X, y, X=X, y=y).write_html(path)
    return model, path


def test_the_numbers_are_those_of_the_model(browser, written):
    model, path = written
    context = browser.new_context(offline=True)
    page, events = context.new_page(), []
    page.on("console", lambda message: events.append(message.text))
    page.on("pageerror", lambda error: events.append(str(error)))
    page.on("request", lambda request: events.append(request.url))
    page.goto(path.as_uri())
    assert events == [path.as_uri()]
    numbers, proof = page.evaluate(NUMBERS), model.certificate_
    for name in ("gap", "kkt_violation", "rounding", "primal_objective", "n_rows"):
        assert float(numbers[f"certificate.{name}"]) == getattr(proof, name)
    X, y = data("svc", 60)
    assert float(numbers["test.accuracy"]) == model.score(X, y)
    context.close()


@pytest.mark.parametrize("width", [360, 1100])
def test_light_and_dark_on_narrow_and_wide_screens(browser, written, width):
    colours = set()
    for scheme in ("light", "dark"):
        size = {"width": width, "height": 800}
        context = browser.new_context(offline=True, color_scheme=scheme, viewport=size)
        page = context.new_page()
        page.goto(written[1].as_uri())
        colours.add(page.evaluate(COLOUR))
        assert page.evaluate(OVERFLOW) <= 0
        context.close()
    assert len(colours) == 2


def test_readers_of_screens_hear_pictures_and_sections(browser, written):
    page = browser.new_context(offline=True).new_page()
    page.goto(written[1].as_uri())
    assert page.get_by_role("img").count() == page.locator("svg").count() > 4
    assert page.get_by_role("region", name="Certificate", exact=True).count() == 1
    assert page.get_by_role("heading", name="Leave-one-out").count() == 1
    page.get_by_role("link", name="Support vectors").click()
    assert page.url.endswith("#support")
