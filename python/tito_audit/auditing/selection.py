"""Which codes an audit reports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tito_audit.rules import RULES
from tito_audit.rules.lookup import code_of

_FAMILY = re.compile(r"TITO\d{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Codes by their beginnings, as in ruff: ``TITO1`` stands for every code of that family.

    Attributes:
        select: Only these are reported; empty: all.
        ignore: These are not reported, even if selected.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @classmethod
    def of(cls, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Selection:
        """Read two lists (or one text each) of codes, names of rules, or beginnings of codes.

        Raises:
            UnknownCodeError: One of them stands for no rule.
        """
        one = [[names] if isinstance(names, str) else names for names in (select, ignore)]
        return cls(select=tuple(map(_prefix, one[0])), ignore=tuple(map(_prefix, one[1])))

    def takes(self, code: str) -> bool:
        """Whether findings of a code are reported."""
        return (not self.select or code.startswith(self.select)) and not code.startswith(self.ignore)


def _prefix(name: str) -> str:
    prefix = name.strip().upper()
    if _FAMILY.fullmatch(prefix) and any(code.startswith(prefix) for code in RULES):
        return prefix
    return code_of(name)
