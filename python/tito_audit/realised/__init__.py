"""What the trainer scored beside what was sampled: drift that has happened, and the assertion that it has not."""

from __future__ import annotations

from tito_audit.realised.assertion import assert_trained_ids
from tito_audit.realised.compare import compare_trained
from tito_audit.realised.findings import Shows, realised_findings
from tito_audit.realised.views import KINDS, TEXT_CHANGED, UNKNOWN_KIND, Realised, RealisedBatch, RealisedSpan

__all__ = [
    "KINDS",
    "TEXT_CHANGED",
    "UNKNOWN_KIND",
    "Realised",
    "RealisedBatch",
    "RealisedSpan",
    "Shows",
    "assert_trained_ids",
    "compare_trained",
    "realised_findings",
]
