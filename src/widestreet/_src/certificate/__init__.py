"""Certificates: proved bounds on the distance from the optimum, by code that no engine uses."""

from widestreet._src.certificate.advice import advice, worst
from widestreet._src.certificate.certificate import Certificate
from widestreet._src.certificate.examination import Examination
from widestreet._src.certificate.many import examine_all
from widestreet._src.certificate.margins import examine_margins
from widestreet._src.certificate.merging import examine, examine_parts, here
from widestreet._src.certificate.parts import Ask, Part
from widestreet._src.certificate.screening import scores
from widestreet._src.certificate.spot_check import disagrees

__all__ = [
    "Ask",
    "Certificate",
    "Examination",
    "Part",
    "advice",
    "disagrees",
    "examine",
    "examine_all",
    "examine_margins",
    "examine_parts",
    "here",
    "scores",
    "worst",
]
