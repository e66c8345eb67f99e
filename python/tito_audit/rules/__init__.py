"""The one catalogue of findings: code, name, severity, and what a person needs to know about each.

The command, the reports, the documentation and the tests read it from here. Of each cause `Rule.iff` is the definition:
two people who classify a drift span with it come to the same cause. Where several fit, the first in this order wins:
unknown-id, unknown-token, invalid-utf8, special-text, special-skipped, cleanup-spaces, normalizer, control-spacing,
prefix-space, byte-fallback, id-alias, pretoken-boundary, whole-word, unreachable-token, merge.
"""

from __future__ import annotations

from tito_audit.rules.continuity import CONTINUITY
from tito_audit.rules.identity import IDENTITY
from tito_audit.rules.record import RECORD
from tito_audit.rules.shape import SEVERITIES, Rule, Severity
from tito_audit.rules.signal import SIGNAL
from tito_audit.rules.text import OTHER_BYTES, SAME_BYTES
from tito_audit.rules.training import OWNERSHIP, TRAINED_IDS

__all__ = ["RULES", "SEVERITIES", "Rule", "Severity", "rule"]


def rule(code: str) -> Rule:
    """Return the rule with a code.

    Raises:
        KeyError: No such code.
    """
    return RULES[code]


RULES: dict[str, Rule] = {
    each.code: each
    for each in (*RECORD, *SAME_BYTES, *TRAINED_IDS, *OTHER_BYTES, *OWNERSHIP, *IDENTITY, *CONTINUITY, *SIGNAL)
}
"""Code to rule, in the order of the codes."""
