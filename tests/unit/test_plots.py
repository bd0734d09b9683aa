"""The public displays."""

from __future__ import annotations

from widestreet import plots


def test_displays_are_those_of_the_public_module():
    for name in plots.__all__:
        assert getattr(plots, name).__module__ == "widestreet.plots"


def test_displays_follow_the_convention_of_scikit_learn():
    displays = [name for name in plots.__all__ if name.endswith("Display")]
    assert len(displays) == 5
    for name in displays:
        kind = getattr(plots, name)
        assert callable(kind.from_estimator)
        assert callable(kind.plot)
