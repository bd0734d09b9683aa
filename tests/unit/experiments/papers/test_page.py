"""The page of a paper: its text has computed numbers and words only."""

from __future__ import annotations

import re
from functools import cache
from string import Formatter

import pytest

from support.checkout import ROOT
from support.experiments import answer
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.harness.words import WORDS, number
from widestreet._experiments.papers import insvr_trials, page
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._experiments.papers.paper import Findings

DOCS = ROOT / "docs" / "reproductions"


@cache
def findings_of(name) -> Findings:
    """Made-up answers to all of a full plan."""
    extra = {"mse": 1.0, "rho": 0.5, "rounds": 3, "engine_seconds": 1.0}
    extra |= {"ended": "sample", "sample_size": 9, "violators": 0}
    extra |= {f"stage_one_{what}": 5 for what in ("iterations", "seconds", "examined")}
    extra |= {"iterations": 2, "violators_each": [5, 0]}
    extra |= {"vectors_each": [3, 4], "doubled_each": [1, 0]}
    extra |= {"loo_accuracy": 0.8, "steps": 7, "processor": 0.5}
    plan = PAPERS[name].plan(False)
    return Findings(
        plan, [answer(one, **extra | made_up_cells(one) | made_up_lists(one)) for one in plan]
    )


def made_up_cells(one: Measurement) -> dict:
    """What trials of one more row find."""
    check = {"violation": 1e-12, "gap": 1e-12, "seconds": 0.1}
    cell = {"trials": 5, "failed": 0, "trials_with_case": 1, "steps": 2.0} | check
    cell |= dict.fromkeys((*insvr_trials.CASES, *insvr_trials.MORE, *insvr_trials.STAGES), 1)
    cell |= dict.fromkeys(insvr_trials.WAYS, check)
    return {"cells": [cell | {"size": size} for size in one.method.parameters.get("sizes", ())]}


def made_up_lists(one: Measurement) -> dict:
    """What measurements of several fits find."""
    asked, point = one.method.parameters, {"at": [0, 5], "objective": [1.0, 0.5]}
    end = {"ensemble": 0.1, "last": 0.2, "steps": 5}
    curve = point | {"steps": 5, "ended": True}
    curves = [curve | {"rate": rate} for rate in ("literal", "adaptive")]
    fixed = [curve | {"rate": rate} for rate in asked.get("rates", ())]
    curves += [one | {"scale": scale} for scale in ("1", "m", "2m") for one in fixed]
    cells = {"cells": [end for _ in asked["epsilons"]]} if "epsilons" in asked else {}
    return {"curves": curves, "tried": [0.9, 0.8]} | cells


@pytest.mark.parametrize("name", PAPERS)
def test_the_words_have_all_their_numbers(name):
    paper, findings = PAPERS[name], findings_of(name)
    words = page.discussion(paper, findings)
    assert "is missing" not in words
    assert "{" not in words
    empty = Findings(paper.plan(False), [])
    assert "is missing" in page.discussion(paper, empty)


@pytest.mark.parametrize("name", PAPERS)
def test_words_hold_no_measured_numbers(name):
    """Whatever has decimals comes from the records, or from the paper's own tables."""
    words = re.sub(r"\{[^}]*\}", "", PAPERS[name].words.read_text())
    assert not re.findall(r"\d\.\d", words)


def test_text_is_filled_with_words_that_fit_the_numbers():
    """Equal numbers are called equal."""
    text = page.discussion(PAPERS["ensemble"], findings_of("ensemble"))
    text = " ".join(text.split())
    assert "10.0% is equal to 10.0%" in text
    assert "much" not in text.replace('"always converges much faster"', "")


def test_a_quick_run_is_not_compared():
    paper = PAPERS["isvm"]
    assert page.discussion(paper, Findings(paper.plan(True), [], quick=True)) == page.NO_WORDS


@pytest.mark.parametrize("name", PAPERS)
def test_the_tracked_page_says_what_its_numbers_say(name):
    """It is made of the current text, and its words compare the numbers beside them."""
    places, comparisons = [], []
    pattern = ""
    text = " ".join(PAPERS[name].words.read_text(encoding="utf-8").split())
    for literal, field, spec, _ in Formatter().parse(text):
        pattern += re.escape(literal)
        if spec:
            word, other = re.fullmatch(r"(\w+) \{(\w+)\}", spec).groups()
            comparisons.append((f"words_{len(comparisons)}", word, field, other))
            pattern += rf"(?P<{comparisons[-1][0]}>[a-z ]+?(?: than| to| fast as))"
        elif field:
            pattern += f"(?P={field})" if field in places else f"(?P<{field}>.*?)"
            places.append(field)
    tracked = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    body = tracked.split("## Comparison with the paper\n")[1].split("\n## ")[0]
    found = re.fullmatch(pattern, " ".join(body.split()))
    assert found is not None
    for words, word, field, other in comparisons:
        assert found[words] == WORDS[word](number(found[field]), number(found[other]))


@pytest.mark.parametrize("name", PAPERS)
def test_text_is_shipped(name):
    assert PAPERS[name].words.is_file()
