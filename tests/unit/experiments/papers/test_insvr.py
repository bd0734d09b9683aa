"""The plan of INSVR."""

from __future__ import annotations

from widestreet._experiments.papers.insvr import plan
from widestreet._experiments.papers.insvr_table import DEFINED, EXACT, PRINTED


def test_special_cases_are_counted_where_the_paper_printed_them():
    counted = {one.problem for one in plan(False) if one.method.name == "cases"}
    assert counted == {
        f"{name}-{kernel}" for name in PRINTED for kernel in ("linear", "poly", "rbf")
    }
    more = {one.method.name: one.problem for one in plan(False) if "cases-" in one.method.name}
    assert more == {"cases-smaller": "-".join(DEFINED), "cases-shared": "-".join(EXACT)}
