"""The public names of the estimators of a cluster."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import widestreet.dask


def test_the_names_are_those_of_the_batch_estimators():
    assert widestreet.dask.__all__ == ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
    for name in widestreet.dask.__all__:
        assert issubclass(getattr(widestreet.dask, name), getattr(widestreet, name))


def test_the_package_does_not_import_dask():
    code = "import sys, widestreet; assert not {'dask', 'distributed'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
