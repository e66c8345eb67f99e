"""What happens to a trajectory with a finding: one word per rule, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from tito_audit import _core
from tito_audit.records import shown
from tito_audit.rules.lookup import code_of

Policy: TypeAlias = Literal["raise", "warn", "log", "mask", "drop", "hash"]
"""What to do about a finding.

- ``"raise"``: raise, once the step is counted.
- ``"warn"``: a `tito_audit.DriftWarning`, one for the step.
- ``"log"``: a line in the log ``tito_audit``, one for the step: a warning where a row is wrong, was trained as
  something else or is dropped, else information.
- ``"mask"``: take the trained tokens out of the training mask for which no correct value exists, and log.
- ``"drop"``: leave the row out of the rows to keep, and log.
- ``"hash"``: compare digests, where the sampled ids are on another machine; a row that differs is left out of the rows
  to keep, and a warning tells of it.
"""

TRAINED = ("TITO110", "TITO111", "TITO306")
"""Realised drift: other ids than were sampled, or a mask that is wrong for them."""
RECORD = ("TITO001", "TITO002", "TITO005", "TITO016")
"""What is wrong with a row as it was handed over."""
DRIFT = (*(code for code in _core.CAUSES if code not in {"TITO005", "TITO207"}), "TITO301")
"""Round-trip drift, an exposure: what encoding again would do. Control-spacing is an artefact and never counts."""
_ONLY_TRAINED = ("mask", "hash")


class Policies:
    """A policy per code."""

    def __init__(self, realised: str, drift: str, rules: Mapping[str, str]) -> None:
        """Settle them.

        Args:
            realised: For `TRAINED`; of `RECORD` too, where it makes sense there, else these are warned of.
            drift: For `DRIFT`.
            rules: Code or name of a rule to its policy, which wins.

        Raises:
            UnknownCodeError: There is no such rule.
            ValueError: There is no such policy, or it is none for the rule.
        """
        of_records = "warn" if realised in _ONLY_TRAINED else realised
        self._by_code: dict[str, Policy] = {}
        for codes, policy in ((TRAINED, realised), (RECORD, of_records), (DRIFT, drift)):
            self._by_code |= {code: _known(policy, code) for code in codes}
        self._by_code |= {code: _known(policy, code) for code, policy in ((code_of(n), p) for n, p in rules.items())}

    def __getitem__(self, code: str) -> Policy:
        """Return the policy of a code; what no option speaks of is logged."""
        return self._by_code.get(code, "log")


def _known(policy: str, code: str) -> Policy:
    for known in get_args(Policy):
        if policy == known:
            if known in _ONLY_TRAINED and code not in TRAINED:
                raise ValueError(
                    f"policy {known!r} for {code}: only what was trained can be masked or compared by digest"
                )
            return known  # type: ignore[no-any-return]
    raise ValueError(f"policy={shown(policy)}: one of {', '.join(map(repr, get_args(Policy)))} is needed")
