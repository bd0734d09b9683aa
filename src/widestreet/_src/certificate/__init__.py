"""Certificates: proofs of how exact a solution is, by code that no engine uses."""

from widestreet._src.certificate.certificate import GAP_TOL, STATUSES, Certificate, unexamined
from widestreet._src.certificate.examination import Examination, examine, examine_all
from widestreet._src.certificate.margins import examine_margins
from widestreet._src.certificate.screening import scores, scores_that_matter
from widestreet._src.certificate.spot_check import disagrees

__all__ = [
    "GAP_TOL",
    "STATUSES",
    "Certificate",
    "Examination",
    "disagrees",
    "examine",
    "examine_all",
    "examine_margins",
    "scores",
    "scores_that_matter",
    "unexamined",
]
