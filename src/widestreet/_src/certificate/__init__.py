"""Certificates: proved bounds on the distance from the optimum, by code that no engine uses."""

from widestreet._src.certificate.advice import advice, worst
from widestreet._src.certificate.certificate import Certificate
from widestreet._src.certificate.examination import Examination
from widestreet._src.certificate.many import examine_all
from widestreet._src.certificate.margins import examine_margins
from widestreet._src.certificate.merging import LocalParts, examine, examine_parts
from widestreet._src.certificate.parts import Part, Parts
from widestreet._src.certificate.screening import Limits, scores
from widestreet._src.certificate.spot_check import disagrees

__all__ = [
    "Certificate",
    "Examination",
    "Limits",
    "LocalParts",
    "Part",
    "Parts",
    "advice",
    "disagrees",
    "examine",
    "examine_all",
    "examine_margins",
    "examine_parts",
    "scores",
    "worst",
]
