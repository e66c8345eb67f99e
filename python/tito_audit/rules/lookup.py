"""A rule by what a person calls it."""

from __future__ import annotations

import difflib

from tito_audit.errors import UnknownCodeError
from tito_audit.printable import clipped, inert
from tito_audit.rules import RULES

_NEAREST = 3
_SHOWN_CHARACTERS = 60


def code_of(name: str) -> str:
    """Return the code that a person means.

    Args:
        name: A code such as ``"TITO101"``, its number, or the name of the rule, such as ``"merge"``; in any case.

    Raises:
        UnknownCodeError: There is no such rule; the message names the nearest ones.
    """
    wanted = name.strip().lower().removeprefix("tito").lstrip("-_ ")
    for code, rule in RULES.items():
        if wanted in {code.lower().removeprefix("tito"), rule.name}:
            return code
    names = {rule.name: code for code, rule in RULES.items()}
    near = [names[each] for each in difflib.get_close_matches(wanted, names, n=_NEAREST)]
    near += [code.upper() for code in difflib.get_close_matches(f"TITO{wanted}".upper(), RULES, n=_NEAREST, cutoff=0.8)]
    near += [code for each, code in names.items() if wanted and wanted in each]
    codes = list(dict.fromkeys(near))[:_NEAREST]
    nearest = f"; did you mean {' or '.join(f'{code} {RULES[code].name}' for code in codes)}?" if codes else ""
    shown = clipped(inert(name), _SHOWN_CHARACTERS)
    raise UnknownCodeError(f"there is no finding {shown!r}{nearest} (tito-audit explain lists them all)")
