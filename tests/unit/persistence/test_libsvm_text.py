"""The text format of LIBSVM: written and read without loss, and refused with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from widestreet._src.persistence import libsvm_text
from widestreet._src.persistence.archive import ArchiveError
from widestreet._src.persistence.libsvm_text import LibsvmModel

MODEL = LibsvmModel(
    svm_type="c_svc",
    kernel_type="rbf",
    coef=np.array([[0.1, -0.3, 0.2], [1e-300, 2.0, -1 / 3]]),
    rho=np.array([0.25, -1.5, np.pi]),
    vectors=sparse.csr_matrix([[0.0, 1 / 3], [0.0, 0.0], [-1e9, 5e-324]]),
    labels=np.array([7, -2, 0]),
    n_support=np.array([1, 1, 1]),
    gamma=0.1,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


def test_a_model_comes_back_exactly(path):
    libsvm_text.write(path, MODEL)
    found = libsvm_text.read(path)
    for name in ("svm_type", "kernel_type", "degree", "gamma", "coef0"):
        assert getattr(found, name) == getattr(MODEL, name)
    for name in ("coef", "rho", "labels", "n_support", "serial"):
        assert np.array_equal(getattr(found, name), getattr(MODEL, name))
    assert np.array_equal(found.vectors.toarray(), MODEL.vectors.toarray())


def test_serial_numbers_of_a_precomputed_kernel(path):
    one = replace(MODEL, kernel_type="precomputed", serial=np.array([4, 1, 9]))
    libsvm_text.write(path, one)
    found = libsvm_text.read(path)
    assert found.serial.tolist() == [4, 1, 9]
    assert "0:4" in path.read_text()


def test_probabilities_and_blank_lines_at_the_end_are_ignored(path):
    libsvm_text.write(path, MODEL)
    text = path.read_text().replace("nr_sv", "probA 1 2 3\nprobB 1 2 3\nnr_sv")
    path.write_text(text + "\n\n")
    assert libsvm_text.read(path).coef.shape == (2, 3)


WRONG = {
    "empty": lambda text: "",
    "another file": lambda text: "PK\x03\x04",
    "no vectors": lambda text: text.partition("SV\n")[0],
    "unknown word": lambda text: text.replace("rho", "roh"),
    "unknown type": lambda text: text.replace("c_svc", "d_svc"),
    "no type": lambda text: text.replace("svm_type c_svc\n", ""),
    "cut": lambda text: text[: text.rindex("\n", 0, -1)],
    "more vectors": lambda text: text + "1 2 1:3\n",
    "one coefficient": lambda text: text.replace("total_sv 3", "total_sv 4") + "1\n",
    "other number of rho": lambda text: text.replace("rho 0.25", "rho"),
    "labels that are no integers": lambda text: text.replace("label 7", "label 7.5"),
    "equal labels": lambda text: text.replace("label 7 -2", "label 7 7"),
    "counts that do not fit": lambda text: text.replace("nr_sv 1", "nr_sv 2"),
    "many classes": lambda text: text.replace("nr_class 3", "nr_class 99999999999"),
    "one class": lambda text: text.replace("nr_class 3", "nr_class 1"),
    "not finite": lambda text: text.replace("0.1 1e-300", "nan 1e-300"),
    "infinite gamma": lambda text: text.replace("gamma 0.1", "gamma 1e999"),
    "indices that fall": lambda text: text.replace("1:-", "5:-"),
    "index zero": lambda text: text.replace("2:0.33", "0:0.33"),
    "large index": lambda text: text.replace("2:0.33", "99999999999:0.33"),
    "no value": lambda text: text.replace("2:0.33", "2"),
    "no text": lambda text: text + "\u00fc",
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_model_is_refused(what, path):
    libsvm_text.write(path, MODEL)
    path.write_text(WRONG[what](path.read_text()))
    with pytest.raises(ArchiveError, match=r"some\.model is not a (complete )?model of LIBSVM: "):
        libsvm_text.read(path)
