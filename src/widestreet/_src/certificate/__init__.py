"""Certificates: proved bounds on the distance from the optimum, by code that no engine uses."""

from widestreet._src.certificate.advice import advice, worst
from widestreet._src.certificate.certificate import Certificate
from widestreet._src.certificate.earlier_scores import Arrays, Change, Examined, Record, distance
from widestreet._src.certificate.examination_result import Examination
from widestreet._src.certificate.examine_point import LocalParts, examine, examine_parts
from widestreet._src.certificate.float64_where_needed import (
    FLOAT64_FRACTION,
    Limits,
    scores,
    screens,
)
from widestreet._src.certificate.gap_estimate import GapEstimate, Stratum, estimate
from widestreet._src.certificate.gap_terms import excess_of, gap_terms
from widestreet._src.certificate.hard_margin_gap import examine_margins
from widestreet._src.certificate.part_of_rows import Part, Parts
from widestreet._src.certificate.several_duals import examine_all
from widestreet._src.certificate.spot_check import disagrees

__all__ = [
    "FLOAT64_FRACTION",
    "Arrays",
    "Certificate",
    "Change",
    "Examination",
    "Examined",
    "GapEstimate",
    "Limits",
    "LocalParts",
    "Part",
    "Parts",
    "Record",
    "Stratum",
    "advice",
    "disagrees",
    "distance",
    "estimate",
    "examine",
    "examine_all",
    "examine_margins",
    "examine_parts",
    "excess_of",
    "gap_terms",
    "scores",
    "screens",
    "worst",
]
