"""`widestreet reproduce`: its arguments."""

from __future__ import annotations

import pytest

from widestreet._experiments.papers.catalogue import PAPERS
from widestreet.cli import main


def test_every_paper_is_named_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in PAPERS)
