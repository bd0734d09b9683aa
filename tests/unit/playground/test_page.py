"""The page in a browser: mouse, touch and keyboard, and a certificate after every action."""

from __future__ import annotations

import shutil
import threading
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

from conftest import TOL
from widestreet import SVC
from widestreet._src.playground.assets import script, text_of
from widestreet._src.playground.server import PlaygroundServer
from widestreet._src.playground.session import Session

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

# Waits until the page shows a later state and nothing is under way; returns what it shows.
SHOWN = """async (before) => {
  const page = document.querySelector(".ws-play");
  const done = () => Number(page.dataset.version) > before && page.dataset.busy === "false";
  const changed = (resolve) =>
    new MutationObserver(() => done() && resolve()).observe(page, { attributes: true });
  const late = (resolve, reject) => setTimeout(() => reject(new Error("no answer")), 30000);
  if (!done()) await Promise.race([new Promise(changed), new Promise(late)]);
  const figures = [...document.querySelectorAll("[data-figure]")];
  const values = figures.map((one) => [one.dataset.figure, Number(one.dataset.value)]);
  const status = document.querySelector(".ws-badge").textContent;
  return [Number(page.dataset.version), status, Object.fromEntries(values)];
}"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Player:
    """A page, and what a person does with it."""

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.messages = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.goto(server.address)
        page.wait_for_selector(".ws-play")
        self.version = 0
        self.wait()
        self.box = page.locator("canvas").bounding_box()

    def wait(self):
        """Wait until the page shows the state after an action, and nothing is under way."""
        self.version, self.status, self.figures = self.page.evaluate(SHOWN, self.version)

    @contextmanager
    def acting(self):
        yield
        self.wait()

    @property
    def points(self):
        return self.server.session.board.points

    @property
    def parameters(self):
        return self.server.session.board.parameters

    def place(self, x, y):
        """The place on the screen of a point of the plane."""
        box = self.box
        return (
            box["x"] + (0.5 + x / 3.0) * box["width"],
            box["y"] + (0.5 - y / 2.0) * box["height"],
        )

    def assert_certified(self):
        """The certificate on the page is that of a refit on the points."""
        assert self.status == "optimal"
        assert self.figures["n_rows"] == len(self.points)
        X = np.array([[p.x, p.y] for p in self.points])
        y = np.array([p.label for p in self.points])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refit = SVC(**self.parameters, tol=TOL.violation, gap_tol=None, n_jobs=1).fit(X, y)
        dual = refit.certificate_.dual_objective
        assert self.figures["dual_objective"] == pytest.approx(dual, rel=TOL.objective_rel)
        primal = self.figures["primal_objective"]
        assert primal == pytest.approx(dual, rel=TOL.objective_rel)
        model = self.server.session.board.learner.estimator
        difference = np.abs(model.decision_function(X) - refit.decision_function(X)).max()
        assert difference <= TOL.decision


@pytest.fixture
def player(browser):
    yield from served(browser)


@pytest.fixture
def finger(browser):
    yield from served(browser, has_touch=True)


def served(browser, **options):
    options |= {"reduced_motion": "reduce", "viewport": {"width": 1100, "height": 800}}
    context = browser.new_context(**options)
    with PlaygroundServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        found = Player(context.new_page(), server)
        yield found
        assert found.messages == []
        context.close()
        server.shutdown()
        thread.join()


def test_points_are_added_forgotten_and_dragged(player, rng, request):
    mouse, page = player.page.mouse, player.page
    added, forgotten, dragged = (
        (200, 100, 20) if request.config.getoption("--full") else (30, 12, 4)
    )
    with player.acting():
        page.get_by_role("button", name="Remove all").click()
    assert player.points == []
    for k in range(added):
        label = (k + 5) // 10 % 2
        if k % 10 in (0, 5):
            page.get_by_role("radio").nth(label).check()
        x, y = np.clip(rng.normal(0.6 * label - 0.3, (0.4, 0.3)), (-1.4, -0.9), (1.4, 0.9))
        with player.acting():
            mouse.click(*player.place(x, y))
        assert player.points[-1].label == label
        assert abs(player.points[-1].x - x) < 0.01
        assert len(player.points) == k + 1
        if k >= 5:  # there are points of both classes
            player.assert_certified()
    for _ in range(forgotten):
        at = rng.uniform((-1.4, -0.9), (1.4, 0.9))
        distance = [np.hypot(p.x - at[0], p.y - at[1]) for p in player.points]
        before = {p.id: d for p, d in zip(player.points, distance, strict=True)}
        with player.acting():
            mouse.click(*player.place(*at), button="right")
        [gone] = set(before) - {p.id for p in player.points}
        assert before[gone] < min(distance) + 0.01
        player.assert_certified()
    for _ in range(dragged):
        chosen = player.points[int(rng.integers(len(player.points)))]
        end = rng.uniform((-1.4, -0.9), (1.4, 0.9))
        mouse.move(*player.place(chosen.x, chosen.y))
        mouse.down()
        with player.acting():
            mouse.move(*player.place(*end), steps=4)
        mouse.up()
        assert any(abs(p.x - end[0]) < 0.01 and abs(p.y - end[1]) < 0.01 for p in player.points)
        assert len(player.points) == added - forgotten
        player.assert_certified()


@pytest.mark.parametrize("name", ["C", "gamma"])
def test_sliders_change_parameters(player, name):
    before = player.parameters[name]
    slider = player.page.locator(f'input[name="{name}"]')
    for key in ["ArrowRight", "ArrowLeft", "PageUp", "Home", "End"]:
        with player.acting():
            slider.press(key)
        player.assert_certified()
    assert player.parameters[name] > before


def test_the_keyboard_does_what_the_mouse_does(player):
    page, before = player.page, len(player.points)
    page.focus("canvas")
    for key in ["2", "ArrowRight", "ArrowUp", "ArrowUp"]:
        page.keyboard.press(key)
    with player.acting():
        page.keyboard.press("Enter")
    new = player.points[-1]
    assert (len(player.points), new.x, new.y, new.label) == (before + 1, 0.05, 0.1, 1)
    page.keyboard.press("m")
    with player.acting():
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("m")
    assert (player.points[-1].x, player.points[-1].y) == (0.0, 0.1)
    with player.acting():
        page.keyboard.press("Delete")
    assert new.id not in {p.id for p in player.points}
    player.assert_certified()


def test_a_tap_adds_and_a_long_press_forgets(finger):
    page, before = finger.page, len(finger.points)
    left, top = finger.place(0.9, -0.8)
    with finger.acting():
        page.touchscreen.tap(left, top)
    new = finger.points[-1]
    assert len(finger.points) == before + 1
    touch = page.context.new_cdp_session(page)
    with finger.acting():
        down = {"type": "touchStart", "touchPoints": [{"x": left, "y": top}]}
        touch.send("Input.dispatchTouchEvent", down)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert new.id not in {p.id for p in finger.points}


@pytest.mark.parametrize("tab", ["Classification", "Regression", "One-class", "Ensemble"])
def test_every_tab(player, tab):
    page = player.page
    with player.acting():
        page.get_by_role("tab", name=tab).click()
    assert page.get_by_role("tab", name=tab).get_attribute("aria-selected") == "true"
    before = len(player.points)
    with player.acting():
        page.mouse.click(*player.place(0.2, 0.1))
    assert len(player.points) == before + 1
    with player.acting():
        page.get_by_role("button", name="Compare with a refit").click()
    assert float(page.get_attribute(".ws-play", "data-difference")) <= TOL.decision
    for select in page.get_by_role("combobox").all():
        for value in select.evaluate("one => [...one.options].map((option) => option.value)"):
            if value and select.is_visible():
                with player.acting():
                    select.select_option(value)
    page.get_by_role("button", name="Replay").click()
    with player.acting():
        page.get_by_role("button", name="Remove all").click()
    assert player.points == []


def test_controls_have_names(player):
    unnamed = player.page.evaluate(
        "[...document.querySelectorAll('button, select, input, canvas')].filter((one) =>"
        " !one.getAttribute('aria-label') && !one.labels?.length && !one.textContent.trim()).length"
    )
    assert unnamed == 0
    assert player.page.get_by_role("status").count() >= 1


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_colours(browser, scheme, other):
    for found in served(browser, color_scheme=scheme):
        page = found.page
        assert page.get_attribute(".ws-play", "data-theme") == scheme
        page.get_by_role("button", name=f"Switch to {other} colours").click()
        assert page.get_attribute(".ws-play", "data-theme") == other


def test_a_refused_message_is_shown(player, monkeypatch):
    monkeypatch.setattr("widestreet._src.playground.board.MOST_POINTS", len(player.points))
    before = len(player.points)
    player.page.mouse.click(*player.place(0.0, 0.0))
    player.page.get_by_role("alert").filter(has_text="at most").wait_for()
    assert len(player.points) == before
    player.messages.clear()  # the browser reports the status of the answer
    with player.acting():
        player.page.mouse.click(*player.place(0.0, 0.0), button="right")
    assert not player.page.get_by_role("alert").is_visible()


def test_models_move_along_the_path(browser):
    for found in served(browser):
        page = found.page
        page.emulate_media(reduced_motion="no-preference")
        page.evaluate(
            "() => new MutationObserver((all) => all.forEach((one) =>"
            " (window.moved ??= []).push(one.target.dataset.moving)))"
            ".observe(document.querySelector('.ws-play'), { attributeFilter: ['data-moving'] })"
        )
        with found.acting():
            page.locator('input[name="C"]').press("End")
        page.wait_for_selector('.ws-play[data-moving="false"]')
        assert "true" in page.evaluate("() => window.moved")
        assert found.figures["pieces"] >= found.figures["frames"] > 1
        found.assert_certified()


def test_a_notebook_shows_the_same_page(browser):
    session, page = Session("regression"), browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.expose_function("answer", lambda number, message: session.handle(message))
    page.add_style_tag(content=text_of("page.css"))
    page.evaluate(
        """async (script) => {
          const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
          const { render } = (await import(address)).default;
          const listeners = [];
          const send = async ({ number, message }) => {
            const state = await window.answer(number, message);
            listeners.forEach((act) => act({ number, state }));
          };
          const model = { on: (name, act) => listeners.push(act), send };
          const el = document.body.appendChild(document.createElement("div"));
          window.end = render({ model, el });
        }""",
        script(),
    )
    page.wait_for_selector(".ws-play[data-version='1']")
    before = len(session.board.points)
    page.locator("canvas").click()
    page.wait_for_selector(".ws-play[data-version='2']")
    assert len(session.board.points) == before + 1
    page.evaluate("() => window.end()")
    assert errors == []
    page.close()
